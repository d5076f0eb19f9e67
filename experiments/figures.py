"""All figures of the papers and the new ones, or some: python experiments/figures.py [NAME ...] [--quick] [--redraw].

With --docs, small copies of the pictures go to docs/assets/figures/.

A figure is a file of this folder that is named after its paper and defines FIGURE. Results are kept in figures/ and
computed again only if the script, the library or the data have changed.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from harness import HERE, Figure, make, options

DOCS = HERE.parent / "docs" / "assets" / "figures"
PAPERS = ("le", "rl", "ew", "kng", "new")


def names() -> list[str]:
    """Of all figures, paper by paper."""
    return [path.stem for paper in PAPERS for path in sorted(HERE.glob(f"{paper}_*.py")) if "common" not in path.stem]


def figure(name: str) -> Figure:
    """The figure of a script."""
    found: Figure = importlib.import_module(name).FIGURE
    return found


def small_copy(picture: Path, target: Path, width: int = 900, colours: int = 256) -> None:
    """For the documentation: fewer pixels, fewer colours."""
    from PIL import Image

    with Image.open(picture) as image:
        height = round(image.height * width / image.width)
        small = image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The usual method spends its colours where there are many pixels, and the few of a small mark turn grey.
    small.quantize(colours, method=Image.Quantize.MAXCOVERAGE, kmeans=3).save(target, optimize=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = options(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(names())}; default all")
    parser.add_argument("--docs", action="store_true", help="also write small copies for the documentation")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(names()):
        parser.error(f"no figure is called {', '.join(sorted(unknown))}: choose among {', '.join(names())}")
    start = time.perf_counter()
    for name in chosen.names or names():
        make(figure(name), chosen.out, chosen.quick, chosen.redraw)
        if chosen.docs and not chosen.quick:
            small_copy(chosen.out / f"{name}.png", DOCS / f"{name}.png")
    sys.stdout.write(f"{len(chosen.names or names())} figures in {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
