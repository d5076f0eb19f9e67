"""Neighbouring data sets, chosen so that a release of them gives away as much as it can."""

from __future__ import annotations

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.arguments import whole_number
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Ball
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
    """About how many outliers move the mean by as much as the noise does: as many are left outside for nothing."""
    error = plan(ball, n, guarantee, statistic="tangent-mean")[0].expected_error
    return max(1, min(round(n * error / ball.radius), (n - 1) // 2))


def _jump(others: Array, ends: Pair, ball: Ball) -> Pair:
    """The other records, given by coordinates at the centre, with one more at either end."""
    points = (ball.space.exp_coords(np.vstack([others, last]), ball.inner_center) for last in ends)
    first, second = (ball.space.write(p, ball.center) for p in points)
    return first, second
