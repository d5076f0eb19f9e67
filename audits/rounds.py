"""Adaptive releases alone, and all that they draw: `python audits/rounds.py --spaces line circle --draws 3000`

The adaptive rows of product.py, means, summaries and people, without its tests in float64 and of last bits: so all
draws are releases, from the operating system's bits. Of all pairs of neighbours one is examined: where the laws are
farthest apart among those where the number of stages is left to chance, or among all if there is none. Two adversaries
look at the same releases:

laws        knows both data sets and every law, and computes how much likelier was what was drawn (witness.py);
published   sees what is published, and learns from a quarter of the draws how to tell the neighbours apart; the number
            of stages, which depends on the records, is one of the numbers that may tell.

Rows of Gaussian differential privacy are examined at mu = 3: as many draws prove more of a larger claim, 400 of each
neighbour 70 % of it, where they would prove a quarter of mu = 1. All lower bounds of one run are right together with
probability CONFIDENCE.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import riemdp as rd
from product import CONFIDENCE, SPACES, Array, Case, all_cases, bounded, neighbours, show, transcript
from riemdp.audit import Audit, audit_draws
from riemdp.neighbours import Pair
from riemdp.statistics.prepared import prepare
from witness import Witness, witnessed

CLAIM = rd.GDP(3.0)
PILOTS = 4  # releases of each neighbour, of each pair
Release = Callable[[Pair], tuple[rd.Release, Witness]]  # of the first, and what it tells against the second


@dataclass(frozen=True)
class Row:
    """Claimed against measured, and how many stages there were."""

    case: Case
    neighbours: str
    stages: tuple[int, int]
    laws: Audit
    published: Audit

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the claim."""
        return self.laws.holds and self.published.holds

    @property
    def line(self) -> str:
        """Of a table in Markdown."""
        claim = show(self.case.claimed.parameters, "{} {:g}")
        bounds = [show(found.lower, "{} ≥ {:.3g}") for found in (self.laws, self.published)]
        cells = [self.case.place, self.case.name, claim, *bounds, f"{self.laws.draws:,}", self.neighbours]
        return "| " + " | ".join([*cells, "{} to {}".format(*self.stages), "yes" if self.holds else "**NO**"]) + " |"


def releases(case: Case) -> Release:
    """As `private_mean` makes them, but that what is public is prepared once."""
    prepared = prepare(case.query)

    def release(pair: Pair) -> tuple[rd.Release, Witness]:
        own, other = (bounded(X, case.ball, case.people) for X in pair)
        return witnessed(prepared, own, other)

    return release


def examine(case: Case, draws: int, confidence: float, make: Callable[[Case], Release] = releases) -> Row:
    """By both adversaries; `make` instead of the product's own releases, to plant a bug."""
    release = make(case)
    name, pair = farthest(neighbours(case), release)
    found = [[release(one) for _ in range(draws)] for one in (pair, pair[::-1])]
    evidence = [[[sign * told.evidence] for _, told in some] for sign, some in zip((1, -1), found, strict=True)]
    seen = [np.stack([transcript(each, case.ball) for each, _ in some]) for some in found]
    each = 1 - (1 - confidence) / 2
    audits = [audit_draws(*both, case.claimed, confidence=each) for both in (map(np.array, evidence), seen)]
    counts = [len(one.stages) for some in found for one, _ in some]
    return Row(case, name, (min(counts), max(counts)), *audits)


def farthest(pairs: dict[str, Pair], release: Release) -> tuple[str, Pair]:
    """The pair whose laws are farthest apart, where rounds are left to chance, by a few releases of each."""
    varied, apart = dict[str, bool](), dict[str, float]()
    for name, pair in pairs.items():
        tried = [release(one) for one in (pair, pair[::-1]) for _ in range(PILOTS)]
        varied[name] = len({len(one.stages) for one, _ in tried}) > 1
        apart[name] = float(np.mean([told.apart for _, told in tried]))
    name = max(pairs, key=lambda name: (varied[name], apart[name]))
    return name, pairs[name]


def adaptive_cases() -> list[Case]:
    """Those of the product, with the claim of which draws prove most."""
    some = [case for case in all_cases() if case.adapt]
    return [replace(case, claimed=CLAIM) if isinstance(case.claimed, rd.GDP) else case for case in some]


def main() -> None:
    """A line for each row; exit code 1 if a claim is contradicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3000, help="releases of each neighbour")
    parser.add_argument("--spaces", nargs="+", choices=SPACES, metavar="NAME", help="no others, named as in the tables")
    parser.add_argument("--only", default="", help="rows whose mechanism has this in its name, such as 'summary'")
    options = parser.parse_args()
    places = options.spaces or SPACES
    cases = [case for case in adaptive_cases() if case.place in places and options.only in case.name]
    confidence, holds = 1 - (1 - CONFIDENCE) / len(cases), True
    for case in cases:
        row = examine(case, options.draws, confidence)
        holds = holds and row.holds
        print(row.line, flush=True)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
