"""Neighbouring data sets, chosen so that a release of them gives away as much as it can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.arguments import whole_number
from riemdp.balls import Ball
from riemdp.manifolds.base import Array
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.mean import plan

Pair = tuple[Array, Array]


def worst_neighbours(ball: Ball, n: int) -> dict[str, Pair]:
    """Data sets of n records in the ball, by name, that differ in one record and whose means differ the most.

    rim: all records at exp(r e1), one of which jumps to exp(-r e1). Attains the sensitivity if k_max <= 0, and is
    where a law that is cut off at the ball's rim has the least room.
    clusters: at exp(±r e1), one record jumps from exp(r e2) to exp(-r e2), e1 and e2 in a plane of greatest curvature:
    attains it for n -> infinity if k_max > 0 (docs/proofs/mean_sensitivity.md); otherwise along e1.
    """
    whole_number(n, "n", 1)
    along, across = (ball.radius * np.eye(ball.space.dim)[axis] for axis in ball.space.most_curved_axes)
    one_side, both_sides = np.ones(n - 1), (-1.0) ** np.arange(n - 1)
    both_sides[(n - 1) // 2 * 2 :] = 0.0  # an odd one out goes to the centre
    return {
        "rim": _jump(np.outer(one_side, along), (along, -along), ball),
        "clusters": _jump(np.outer(both_sides, along), (across, -across), ball),
    }


def fooling_neighbours(ball: Ball, n: int, outliers: int) -> dict[str, Pair]:
    """Data sets of n records that differ in one, by name: made to fool what looks for a centre and a radius.

    boundary: all records on the boundary, at exp(±r e_i), the axes in turn; one jumps across.
    lone: all at the centre, one jumps across the ball: attains the sensitivity in every smaller ball around them.
    outwards: all at the centre, one goes to the rim: one more record outside every radius.
    outliers: all at exp(-r e1) but for so many copies of one outlier at exp(r e1), which one more record joins.
    """
    whole_number(n, "n", 1)
    along, none = ball.radius * np.eye(ball.space.dim)[0], np.zeros(ball.space.dim)
    turns, heap = np.arange(n - 1), np.zeros((n - 1, ball.space.dim))
    around = ball.radius * np.eye(ball.space.dim)[turns // 2 % ball.space.dim] * ((-1.0) ** turns)[:, None]
    sides = np.where(turns < outliers, 1.0, -1.0)
    return {
        "boundary": _jump(around, (along, -along), ball),
        "lone": _jump(heap, (along, -along), ball),
        "outwards": _jump(heap, (none, along), ball),
        "outliers": _jump(np.outer(sides, along), (-along, along), ball),
    }


def spare_outliers(ball: Ball, n: int, guarantee: Guarantee) -> int:
    """About how many outliers an adaptive release leaves outside for nothing."""
    error = plan(ball, n, guarantee, statistic="tangent-mean")[0].expected_error
    return max(1, min(round(Adaptation().spare * n * error / ball.radius), (n - 1) // 2))


@dataclass(frozen=True, eq=False)
class Grouped:
    """Records, and whose each of them is."""

    records: Array
    groups: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the records."""
        return self.records.shape

    @classmethod
    def of(cls, people: Array, counts: Array) -> Grouped:
        """So many records of each person, one after the other, all of them where the person is."""
        return cls(np.repeat(people, counts, axis=0), np.repeat(np.arange(len(people)), counts))


def whole_people(pairs: dict[str, Pair], counts: Array) -> dict[str, tuple[Grouped, Grouped]]:
    """Pairs of which the last row is replaced, as people with so many records each; the new one has some more.

    All records of a person lie where the row was, so that the person moves the mean as far as one can.
    """
    more = np.append(counts[:-1], 3 * counts[-1] + 1)
    return {name: (Grouped.of(one, counts), Grouped.of(other, more)) for name, (one, other) in pairs.items()}


def _jump(others: Array, ends: Pair, ball: Ball) -> Pair:
    """The other records, given by coordinates at the centre, with one more at either end."""
    points = (ball.space.exp_coords(np.vstack([others, last]), ball.inner_center) for last in ends)
    first, second = (ball.space.write(p, ball.center) for p in points)
    return first, second
