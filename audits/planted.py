"""Bugs that the audit must catch, as ways to make releases: none of them is in the product.

Each takes the case that it spoils and gives points as `product.released` does. `python audits/planted.py`
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import riemdp as rd
import riemdp.randomness
from product import (
    CONFIDENCE,
    Array,
    Budget,
    Case,
    Points,
    Row,
    drawn,
    examine,
    records_of,
    released,
    show,
    summary,
    two_sites,
)
from riemdp.accounting.guarantee import GDP
from riemdp.audit import Audit
from riemdp.mechanisms import by_name
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.noise import grid_step
from riemdp.statistics import adaptive
from riemdp.statistics.adaptation import Allowance
from riemdp.statistics.adaptive import REACH_OF_SPREAD, Adaptive
from riemdp.statistics.chance import Seeded
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import prepare
from riemdp.statistics.query import Query
from riemdp.statistics.shaped import ShapedMean
from riemdp.statistics.sites import pooled_value


def half_noise(case: Case) -> Points:
    """Half of the calibrated scale."""
    plan = case.query.plan()
    return drawn(case.query, replace(plan, scale=plan.scale / 2), case.ball)


def wrong_adjacency(case: Case) -> Points:
    """Calibrated for adding or removing a record, r/n, while neighbours replace one, 2r/n."""
    plan = case.query.plan()
    scale = by_name(plan.mechanism).calibrate(case.claimed, plan.sensitivity / 2, "analytic")
    return drawn(case.query, replace(plan, scale=scale), case.ball)


def radius_from_data(case: Case) -> Points:
    """The ball is as large as the records need: its radius, and with it the noise, depends on one of them."""

    def points(X: Array, size: int) -> Array:
        radius = float(np.max(case.ball.space.dist(case.ball.center, X)))
        ball = rd.Ball(case.ball.space, case.ball.center, max(radius, 1e-6))
        query = replace(case.query, ball=ball)
        return drawn(query, query.plan(), ball)(X, size)

    return points


def float_noise(case: Case) -> Points:
    """Laplace noise of the right scale, drawn and added in float64 (Mironov 2012); in one dimension."""
    scale, rng = case.query.plan().scale, np.random.default_rng(0)
    return lambda X, size: X.mean(axis=0) + rng.laplace(0.0, scale, (size, 1))


def file_twice(case: Case) -> Points:
    """The sites' sums pooled together with a copy of each: noise for twice the records, each of which counts twice."""
    query = replace(case.query, n=2 * case.n)
    return drawn(query, query.plan(), case.ball, lambda X: pooled_value(2 * two_sites(X, case.ball)))


class TooLittleWeight(Moments):
    """Weights a tenth smaller than those that cost nothing."""

    def weights(self, ball: rd.Ball) -> Array:
        """Of all numbers."""
        return 0.9 * super().weights(ball)


def too_little_weight(case: Case) -> Points:
    """Second moments over a weight that is too small by a tenth, with the noise of the right one."""
    return by_floats(case, TooLittleWeight(case.second))


def by_floats(case: Case, statistic: Moments) -> Points:
    """As it would be drawn, by fast noise: a few percent too much take more draws than are exact."""
    law, rng = replace(case.query, statistic=statistic).law(case.query.plan()), np.random.default_rng(0)
    grid = grid_step(law.scale)

    def points(X: Array, size: int) -> Array:
        value = np.concatenate(law.value(Bounded(X, case.ball)))
        noise = law.scale * rng.standard_normal((size, len(value)))
        return np.asarray(grid * np.rint((value + noise) / grid))

    return points


class WeightOfRadius(Moments):
    """The trace, which reaches farther, over the weight of one that does not."""

    def weight_of_trace(self, ball: rd.Ball) -> float:
        """By the radius in the place of the wider one."""
        return super().weight_of_trace(ball) / self.reach**2


def weight_of_radius(case: Case) -> Points:
    """A trace of vectors beyond the radius, with a weight by the radius."""
    return by_floats(case, WeightOfRadius(**vars(case.moments)))


def records_for_people(case: Case) -> Points:
    """Noise for the number of records, as if each were a person; a person has several, and all of them are replaced."""

    def points(X: Array, size: int) -> Array:
        records, _ = records_of(X, case.people)
        query = replace(case.query, n=len(records))
        return drawn(query, query.plan(), case.ball)(records, size)

    return points


def unclipped_moments(case: Case) -> Points:
    """The first moment of the records as moved into the ball, the second ones of the records as they are."""
    query, wide = case.query, rd.Ball(case.ball.space, case.ball.center, 4 * case.ball.radius)
    statistic = query.law(query.plan()).statistic
    assert isinstance(statistic, Moments)
    weights = statistic.weights(case.ball).tolist()

    def value(X: Array) -> tuple[Array, Array]:
        first, _ = statistic.value(Bounded(X, case.ball), np.zeros(case.ball.space.dim))
        return first, Bounded(X, wide).moment_sums(case.second).means(weights)[1]

    return drawn(query, query.plan(), case.ball, value)


@dataclass(frozen=True, eq=False)
class Unforced(Moments):
    """Of narrowed coordinates that are as long as they like."""

    def vectors(self, records: Bounded) -> Bounded:
        """In a ball of vectors that is four times too large, added in steps of the right one."""
        assert self.radius is not None
        return Moments(radius=4 * self.radius, axes=self.axes).vectors(records)


def narrow_unforced(case: Case) -> Points:
    """Noise in the shape of an ellipsoid, around records that are moved into the ball only."""
    query = replace(case.query, statistic=ShapedMean(Unforced(**vars(case.ellipsoid.moments))))
    return drawn(query, query.plan(), case.ball)


FILTERED = 300  # records


class CountedTwice(Allowance):
    """What rounds have not spent is there twice."""

    @property
    def rest(self) -> GDP:
        """Squares of mu add up."""
        left = super().rest
        assert isinstance(left, GDP)
        return replace(left, mu=math.sqrt(2) * left.mu)


def filtered(allowance: type[Allowance], draws: int, confidence: float) -> Audit:
    """Rounds that stop by themselves, on a line, and what a last release of all that they left gives away.

    Records fill the line, so that rounds end soon, but one, which is at either end. The value is seen in units of the
    noise's scale, which is published.
    """
    query = Query(rd.Ball(rd.Euclidean(1), [0.0], 1.0), FILTERED, rd.GDP(1.0), adapt=True)
    rng, others = np.random.default_rng(0), np.linspace(-1.0, 1.0, FILTERED - 1)

    def seen(X: Array) -> Array:
        last = how.run(Bounded(X, query.ball), Seeded(rng))
        return np.asarray(last.drawn.points[0] / last.plan.scale)

    with replaced(adaptive, Allowance=allowance):
        how = prepare(query).how
        assert isinstance(how, Adaptive)
        told = [np.stack([seen(np.append(end, others)[:, None]) for _ in range(draws)]) for end in (1.0, -1.0)]
    return rd.audit_draws(*told, query.guarantee, confidence=confidence)


def one_record_per_class(case: Case) -> Points:
    """The recipe of an old guide: one record per person *and class*, class means in parallel, each with all of it.

    Everybody is in two classes, at the same place. What an attacker makes of the two class means is their mean.
    """
    class_mean = drawn(case.query, case.query.plan(), case.ball)
    return lambda X, size: (class_mean(X, size) + class_mean(X, size)) / 2


PERIOD = 64


def reused_seed(case: Case) -> Points:
    """A generator with a fixed seed in place of the operating system, started again every PERIOD releases."""
    draw = released(case)

    def points(X: Array, size: int) -> Array:
        batches = [min(PERIOD, size - start) for start in range(0, size, PERIOD)]
        return np.concatenate([_started_again(draw, X, batch) for batch in batches])

    return points


def _started_again(draw: Points, X: Array, size: int) -> Array:
    with system_randomness(seed=7):
        return draw(X, size)


@contextmanager
def system_randomness(seed: int) -> Iterator[None]:
    """Numbers of a seeded generator where a release asks the operating system."""
    generator = random.Random(seed)
    source = SimpleNamespace(randbits=generator.getrandbits), SimpleNamespace(urandom=generator.randbytes)
    with replaced(riemdp.randomness, secrets=source[0], os=source[1]):
        yield


@contextmanager
def replaced(module: ModuleType, **others: Any) -> Iterator[None]:
    """Other things in the place of what a module has, for a while."""
    before = {name: getattr(module, name) for name in others}
    vars(module).update(others)
    try:
        yield
    finally:
        vars(module).update(before)


@dataclass(frozen=True)
class Bug:
    """One of them, and where it is planted."""

    case: Case
    plant: Callable[[Case], Points]
    caught_by: str  # the test that must see it: "release", "bits" or "repeats"
    draws: int = 1000
    margin: float = 1.15  # what is found is more than this times the claim

    def examine(self, confidence: float) -> Row:
        """As the product is examined; by numbers of draws that do not depend on their speed."""
        return examine(self.case, Budget(20_000, self.draws, math.inf, confidence), self.plant(self.case))


BUGS: dict[str, Bug] = {
    "half noise": Bug(Case("SPD(2), affine-invariant", "wrapped-gaussian", rd.GDP(1.0)), half_noise, "release"),
    "wrong adjacency": Bug(Case("sphere", "wrapped-gaussian", rd.GDP(1.0)), wrong_adjacency, "release"),
    "data-dependent radius": Bug(Case("circle", "wrapped-laplace", rd.PureDP(1.0)), radius_from_data, "release"),
    "float noise": Bug(Case("line", "wrapped-laplace", rd.PureDP(1.0)), float_noise, "bits", 50_000),
    "a file twice": Bug(Case("line", "wrapped-gaussian", rd.GDP(1.0), sites=True), file_twice, "release"),
    "weight too small": Bug(summary("line", "trace", rd.GDP(1.0)), too_little_weight, "release", 300_000, 1.0),
    "weight of the radius": Bug(
        replace(summary("line", "full", rd.GDP(1.0)), reach=REACH_OF_SPREAD), weight_of_radius, "release", 300_000, 1.05
    ),
    "moments unclipped": Bug(summary("line", "full", rd.GDP(1.0)), unclipped_moments, "release"),
    "narrow, unforced": Bug(Case("sphere", "wrapped-gaussian", rd.GDP(1.0), shaped=True), narrow_unforced, "release"),
    "records for people": Bug(
        Case("line", "wrapped-laplace", rd.PureDP(1.0), people=True), records_for_people, "release"
    ),
    "a record per class": Bug(
        Case("line", "wrapped-gaussian", rd.GDP(1.0), people=True), one_record_per_class, "release", 8000
    ),
    "reused seed": Bug(Case("hyperbolic plane", "riemannian-laplace", rd.PureDP(1.0)), reused_seed, "repeats"),
}


def verdicts(row: Row) -> dict[str, bool]:
    """Which tests of a row are passed."""
    again = row.repeats <= row.repeats_allowed
    return {"float64": row.float64.holds, "release": row.release.holds, "bits": row.bits.holds, "repeats": again}


def main() -> None:
    """A line for each bug; exit code 1 if one is not caught."""
    print("| bug | space | mechanism | claimed | release | last bits | repeats | caught by |\n|" + "---|" * 8)
    missed = 0
    for name, bug in BUGS.items():
        row = bug.examine(CONFIDENCE)
        caught = [test for test, holds in verdicts(row).items() if not holds]
        missed += bug.caught_by not in caught
        cells = [row.space, row.mechanism, show(bug.case.claimed.parameters, "{} {:g}")]
        cells += [show(test.bounds, "{} ≥ {:.3g}") for test in (row.release, row.bits)]
        print(f"| {' | '.join([name, *cells, str(row.repeats), ', '.join(caught) or 'nothing'])} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
