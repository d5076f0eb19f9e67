"""Audits of the median's steps and the regression's moments, and bugs that they must catch. `python audits/descents.py`

Neighbours differ in one record, which goes from one side to the other, while all others are at the point where
gradients are taken. Of a descent every noisy gradient counts, since all iterates are public.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import riemdp as rd
from classifiers import CLAIMED, CONFIDENCE, DRAWS, N, Watched
from riemdp.accounting.guarantee import Guarantee
from riemdp.audit import Audit, audit_draws
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation
from riemdp.statistics.adaptation import split
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.descent import Descent
from riemdp.statistics.median import Pulls
from riemdp.statistics.query import Query
from riemdp.statistics.trend import LONGEST, Numbered, Trend, TrendMoments, moments

Array = np.ndarray[Any, np.dtype[Any]]
Draws = Callable[[Array, int], Array]  # (records, size) -> what an adversary looks at, (size, 1)

BALL = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.0)
PULLS = Pulls(BALL, width=0.01)
STILL = np.append(np.zeros(2), 1e-9)  # the centre, and steps that lead nowhere
SMALL = 0.25  # radius of residuals: many records are outside


def neighbours() -> tuple[Array, Array]:
    """All records at the centre, but for one on either side of the rim."""
    coords = np.zeros((2, N, 2))
    coords[:, -1, 0] = 1.0, -1.0
    first, second = BALL.space.exp(BALL.space.from_coordinates(coords, BALL.center), BALL.center)
    return first, second


# --- releases ------------------------------------------------------------------------------------------------


def steps(claimed: Guarantee, pulls: Pulls = PULLS, paid: int = 2, extra: int = 0) -> Draws:
    """All steps, those paid for and `extra` ones: the sum of their noisy pulls, along the one that is sought."""
    shares = split(claimed, [1 / paid] * paid) if paid > 1 else [claimed]
    descent = Descent(pulls, N, (*shares, *[shares[0]] * extra))
    sought = np.subtract(*(pulls.mean_gradient(Bounded(X, BALL), STILL) for X in neighbours()))

    def one(records: Bounded) -> Array:
        chance = Watched(Reservation(claimed))
        descent.run(records, chance, STILL)
        return np.sum(chance.seen, axis=0) @ sought[:, None]

    def draws(X: Array, size: int) -> Array:
        records = Bounded(X, BALL)
        return np.stack([one(records) for _ in range(size)])

    return draws


def trend(claimed: Guarantee, make: Callable[[Any], TrendMoments] = TrendMoments, copies: int = 1) -> Draws:
    """The moments of residuals about the centre, all of one number, along what is sought.

    With copies, the record that differs is that of a person with so many of them.
    """
    body, who = vectors_up_to(SMALL, 2), [*range(N - 1), *[N - 1] * copies]
    query = Query(body, N, claimed, statistic=make(body))
    law = query.law(query.plan())

    def value(X: Array) -> Any:
        records = Bounded(X[who], BALL, who if copies > 1 else None)
        return law.value(Numbered(records, np.ones(len(who)), Trend.at_centre(BALL)))

    sought = np.subtract(*map(value, neighbours()))
    return lambda X, size: law.draw(value(X), size).points @ sought[:, None]


# --- bugs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PullsForcedLate(Pulls):
    """The mean of all pulls, of records as far as they are, is forced into the ball, not each of them."""

    def mean_gradient(self, records: Bounded, point: Array) -> Array:  # noqa: ARG002
        """Of logs in units of the width, which are as long as they are."""
        mean = np.mean(records._coordinates.all() / self.width / 4, axis=0)
        return np.asarray(mean * min(1.0, 1.0 / max(float(np.linalg.norm(mean)), 1e-300)))


@dataclass(frozen=True)
class MomentsForcedLate(TrendMoments):
    """Residuals are as long as they are; only their sum is forced."""

    def value(self, records: Numbered, footpoint: Array) -> Array:  # noqa: ARG002
        """In float64."""
        mean = moments(records.records._coordinates.all(), records.s, self.body.radius).mean(axis=0)
        return np.asarray(mean * min(1.0, LONGEST * self.body.radius / float(np.linalg.norm(mean))))


@dataclass(frozen=True)
class EveryRecordCounts(TrendMoments):
    """The sum over all records of all people, over the number of people."""

    def value(self, records: Numbered, footpoint: Array) -> Array:  # noqa: ARG002
        """In float64."""
        of_records = Numbered(Bounded(records.records._raw, BALL), records.s, records.trend)
        return np.array(of_records.sums(self.body), dtype=float) * 2.0**self.body.grid / records.records.n


def sound() -> Iterator[tuple[str, Guarantee, Draws]]:
    """What the product releases."""
    for noise, claimed in CLAIMED.items():
        yield f"steps of the median, {noise}", claimed, steps(claimed)
        yield f"moments of a regression, {noise}", claimed, trend(claimed)
        yield f"moments of a regression of people, {noise}", claimed, trend(claimed, copies=5)


BUGS: dict[str, Draws] = {
    "median, clip after the sum": steps(CLAIMED["gaussian"], PullsForcedLate(BALL, width=0.05)),
    "median, one step too many": steps(CLAIMED["gaussian"], paid=1, extra=1),
    "regression, clip after the sum": trend(CLAIMED["gaussian"], MomentsForcedLate),
    "regression, every record of a person counts": trend(CLAIMED["gaussian"], EveryRecordCounts, copies=5),
}


def examine(draws: Draws, claimed: Guarantee, confidence: float, size: int) -> Audit:
    """What an adversary can prove from so many draws of each neighbour."""
    first, second = (draws(X, size) for X in neighbours())
    return audit_draws(first, second, claimed, confidence=confidence)


def main() -> None:
    """A line for each; exit code 1 if the product is contradicted, or a bug is not."""
    wrong = 0
    for name, claimed, draws in sound():
        found = examine(draws, claimed, CONFIDENCE, DRAWS)
        wrong += not found.holds
        print(f"{name}: claimed {claimed}, found {found.lower}", flush=True)
    for name, draws in BUGS.items():
        found = examine(draws, CLAIMED["gaussian"], CONFIDENCE, DRAWS)
        wrong += found.holds
        print(f"planted, {name}: found {found.lower}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
