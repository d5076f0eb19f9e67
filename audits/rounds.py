"""Adaptive releases alone, and all that they publish: `python audits/rounds.py --spaces line circle --draws 3000`

The adaptive rows of product.py, means, summaries and people, without its tests in float64 and of last bits: so all
draws are releases, from the operating system's bits. A quarter of them chooses the worst pair of neighbours, and how
to tell them apart; the number of stages, which depends on the records, is one of the numbers that may tell. All lower
bounds of one run are right together with probability CONFIDENCE.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

from product import (
    CONFIDENCE,
    SPACES,
    Array,
    Case,
    Measured,
    adaptive_releases,
    all_cases,
    neighbours,
    show,
    transcript,
)
from riemdp.audit import audit_neighbours


@dataclass(frozen=True)
class Row:
    """Claimed against measured, and how many stages there were."""

    case: Case
    found: Measured
    stages: tuple[int, int]

    @property
    def line(self) -> str:
        """Of a table in Markdown."""
        claim, bounds = show(self.case.claimed.parameters, "{} {:g}"), show(self.found.bounds, "{} ≥ {:.3g}")
        cells = [self.case.place, self.case.name, claim, bounds, f"{self.found.draws:,}", self.found.neighbours]
        cells += ["{} to {}".format(*self.stages), "yes" if self.found.holds else "**NO**"]
        return "| " + " | ".join(cells) + " |"


def examine(case: Case, draws: int, confidence: float) -> Row:
    """On the worst of all pairs of neighbours."""
    make, counts = adaptive_releases(case), set[int]()

    def draw(X: Array, *, size: int, seed: int) -> Array:  # noqa: ARG001  the operating system has none
        releases = list(make(X, size))
        counts.update(len(release.stages) for release in releases)
        return np.stack([transcript(release, case.ball) for release in releases])

    found = audit_neighbours(neighbours(case), draw, case.claimed, draws=draws, confidence=confidence)
    return Row(case, Measured.of(found), (min(counts), max(counts)))


def main() -> None:
    """A line for each row; exit code 1 if a claim is contradicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3000, help="releases of each neighbour")
    parser.add_argument("--spaces", nargs="+", choices=SPACES, metavar="NAME", help="no others, named as in the tables")
    options = parser.parse_args()
    cases = [case for case in all_cases() if case.adapt and case.place in (options.spaces or SPACES)]
    confidence, holds = 1 - (1 - CONFIDENCE) / len(cases), True
    for case in cases:
        row = examine(case, options.draws, confidence)
        holds = holds and row.found.holds
        print(row.line, flush=True)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
