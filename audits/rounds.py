"""Adaptive releases alone, and all that they draw: `python audits/rounds.py --spaces line circle --draws 3000`

The adaptive rows of product.py, means, summaries and people, without its tests in float64 and of last bits: so all
draws are releases, from the operating system's bits. Two adversaries look at the same releases:

laws        knows both data sets and every law, and computes how much likelier was what was drawn (witness.py): the
            event that it was likelier of the one than of the other;
published   sees what is published, and learns from a quarter of the draws how to tell the neighbours apart; the number
            of stages, which depends on the records, is one of the numbers that may tell.

Neighbours are PAIRS: the first, where how many rounds there are is left to chance, unless a few releases say that laws
of another are farther apart. Rows of Gaussian differential privacy are examined at mu = 3, for
as many draws prove more of a larger claim. All lower bounds of one run are right together with probability CONFIDENCE.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import riemdp as rd
from product import CONFIDENCE, SPACES, Case, all_cases, bounded, neighbours, show, transcript
from riemdp.accounting.guarantee import Guarantee
from riemdp.audit import _measures, _proved, audit_draws
from riemdp.neighbours import Pair
from riemdp.statistics.prepared import prepare
from witness import Witness, witnessed

CLAIM = rd.GDP(3.0)
PAIRS = ("scattered", "boundary", "clusters")  # one record attains the sensitivity in every body, or in the first
PILOTS, NEARLY = 3, 0.8  # releases of each pair; as far apart, in squared scales
# Where a private centre would be mostly noise. In so many dimensions only large claims show.
MANY, RECORDS, LARGE_CLAIM = rd.Euclidean(45), 70, rd.PureDP(20.0)
Release = Callable[[Pair], tuple[rd.Release, Witness]]  # of the first, and what it tells against the second


@dataclass(frozen=True)
class RadiusAlone(Case):
    """An adaptive release of pure epsilon that draws a radius around the given centre, and no centre."""

    @property
    def n(self) -> int:
        """Records."""
        return RECORDS

    @property
    def ball(self) -> rd.Ball:
        """Of so many numbers that a centre is not worth its price."""
        return rd.Ball(MANY, MANY.origin, 0.5)


@dataclass(frozen=True)
class Row:
    """Claimed against measured, and how many stages there were."""

    case: Case
    neighbours: str
    stages: tuple[int, int]
    draws: int
    laws: dict[str, float]
    published: dict[str, float]

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the claim."""
        claimed, found = self.case.claimed.parameters, (self.laws, self.published)
        return all(bound <= claimed[name] for bounds in found for name, bound in bounds.items())

    @property
    def line(self) -> str:
        """Of a table in Markdown."""
        claim = show(self.case.claimed.parameters, "{} {:g}")
        bounds = [show(found, "{} ≥ {:.3g}") for found in (self.laws, self.published)]
        cells = [self.case.place, self.case.name, claim, *bounds, f"{self.draws:,}", self.neighbours]
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
    release, pairs = make(case), neighbours(case)
    name, pair = farthest({name: pairs[name] for name in PAIRS}, release)
    found = [[release(one) for _ in range(draws)] for one in (pair, pair[::-1])]
    error = (1 - confidence) / 2
    seen = [np.stack([transcript(each, case.ball) for each, _ in some]) for some in found]
    published = audit_draws(*seen, case.claimed, confidence=1 - error)
    laws = by_the_laws([[told.evidence for _, told in some] for some in found], case.claimed, error)
    counts = [len(one.stages) for some in found for one, _ in some]
    return Row(case, name, (min(counts), max(counts)), draws, laws, published.lower)


def by_the_laws(evidence: list[list[float]], claimed: Guarantee, error: float) -> dict[str, float]:
    """What the event proves that a draw was likelier of the first records than of the second.

    Evidence is against the other records, whichever a draw is of; the event needs no choice, so all draws count.
    """
    first, second = (np.count_nonzero(np.array(some) > 0) for some in evidence)
    totals = np.array([len(some) for some in evidence])
    hits = np.array([first, totals[1] - second])
    measures = {name: measure for name, measure in _measures(claimed).items() if name in claimed.parameters}
    return {name: float(_proved(measure, hits, totals, error / len(measures))) for name, measure in measures.items()}


def farthest(pairs: dict[str, Pair], release: Release) -> tuple[str, Pair]:
    """The first pair, unless the laws of another are much farther apart, by a few releases of each."""
    apart = {name: np.mean([release(pair)[1].apart for _ in range(PILOTS)]) for name, pair in pairs.items()}
    first, best = next(iter(pairs)), max(pairs, key=lambda name: apart[name])
    name = first if apart[first] >= NEARLY * apart[best] else best
    return name, pairs[name]


def adaptive_cases() -> list[Case]:
    """Those of the product, with the claim of which draws prove most."""
    some = [case for case in all_cases() if case.adapt] + [RadiusAlone(repr(MANY), "auto", LARGE_CLAIM, adapt=True)]
    return [replace(case, claimed=CLAIM) if isinstance(case.claimed, rd.GDP) else case for case in some]


def main() -> None:
    """A line for each row; exit code 1 if a claim is contradicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3000, help="releases of each neighbour")
    every = [*SPACES, repr(MANY)]
    parser.add_argument("--spaces", nargs="+", choices=every, metavar="NAME", help="no others, named as in the tables")
    parser.add_argument("--only", default="", help="rows whose mechanism has this in its name, such as 'summary'")
    options = parser.parse_args()
    places = options.spaces or every
    cases = [case for case in adaptive_cases() if case.place in places and options.only in case.name]
    confidence, holds = 1 - (1 - CONFIDENCE) / len(cases), True
    for case in cases:
        row = examine(case, options.draws, confidence)
        holds = holds and row.holds
        print(row.line, flush=True)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
