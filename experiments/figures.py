"""All figures of the papers and the new ones, or some: python experiments/figures.py [NAME ...] [--quick] [--redraw].

A figure is a file of this folder that is named after its paper and defines FIGURE. Results are kept in figures/ and
computed again only if the script, the library or the data have changed.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence

from harness import HERE, Figure, make, options

PAPERS = ("le", "rl", "ew", "kng", "new")


def names() -> list[str]:
    """Of all figures, paper by paper."""
    return [path.stem for paper in PAPERS for path in sorted(HERE.glob(f"{paper}_*.py")) if "common" not in path.stem]


def figure(name: str) -> Figure:
    """The figure of a script."""
    found: Figure = importlib.import_module(name).FIGURE
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = options(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(names())}; default all")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(names()):
        parser.error(f"no figure is called {', '.join(sorted(unknown))}: choose among {', '.join(names())}")
    start = time.perf_counter()
    for name in chosen.names or names():
        make(figure(name), chosen.out, chosen.quick, chosen.redraw)
    sys.stdout.write(f"{len(chosen.names or names())} figures in {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
