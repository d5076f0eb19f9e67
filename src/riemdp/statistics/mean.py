"""Private means: plan, release and simulate; each mechanism with the statistic whose value it takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from riemdp.arguments import finite_number, whole_number
from riemdp.errors import InputError, MechanismError
from riemdp.kernels.spectral import kernels_for
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array
from riemdp.mechanisms import MECHANISMS, Mechanism, by_name
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.guarantee import Guarantee, as_guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import ENTROPY, PUBLIC, Drawn, Plan, Release, described, release, reserved
from riemdp.privacy.written import BallMapping, as_ball
from riemdp.statistics.adaptive import Adaptation, Adaptive, Exact, Seeded, adaptation, prepare
from riemdp.statistics.ambient import AlignedLandmarks, AmbientMean
from riemdp.statistics.gradient import GradientField
from riemdp.statistics.intrinsic import IntrinsicMean, MeanPoint, TangentMean
from riemdp.statistics.plans import Request
from riemdp.statistics.worth import Doubt, doubts_about_mean, warn_of
from riemdp.version import __version__

MOST_RECORDS = 2**53  # which floats count exactly
ROUNDING = "the stated bounds on the rounding errors of the mean's evaluation hold"


class Statistic(Protocol):
    """A summary of the records, in the form in which a kind of mechanism takes it."""

    name: ClassVar[str]

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """How far replacing one record moves the computed value, from public inputs."""

    def value(self, records: Bounded, footpoint: Array) -> Any:
        """The private value."""


# By what a mechanism takes, then by what the user asks for.
INPUTS: dict[str, dict[str, Statistic]] = {
    "coordinates": {"frechet-mean": IntrinsicMean(), "tangent-mean": TangentMean()},
    "point": {"frechet-mean": MeanPoint()},
    "gradient": {"frechet-mean": GradientField()},
    "ambient": {"frechet-mean": AmbientMean()},
    "landmarks": {"frechet-mean": AlignedLandmarks()},
}
STATISTICS = tuple(INPUTS["coordinates"])


def require_known(argument: str, name: Any, names: Iterable[str]) -> None:
    """Raise an InputError that lists the names, if it is none of them."""
    if not isinstance(name, str) or name not in names:
        raise InputError(f"{argument} = {name!r}: pass one of {', '.join(map(repr, names))}.")


def statistic_for(mechanism: Mechanism, name: str, footpoint: Array) -> Statistic:
    """The summary of that name in the form that the mechanism takes."""
    if footpoint.any() and not mechanism.takes_footpoint:
        raise MechanismError(f"footpoint belongs to wrapped mechanisms: leave it out for {mechanism.name}.")
    if name not in INPUTS[mechanism.input]:
        raise MechanismError(f"statistic = {name!r} belongs to wrapped mechanisms: leave it out for {mechanism.name}.")
    return INPUTS[mechanism.input][name]


def request_for(ball: Ball, n: int, guarantee: Guarantee, calibration: str, footpoint: Any, statistic: str) -> Request:
    """What mechanisms would do, asked with these public things; whatever is wrong about them is refused here."""
    if not isinstance(ball, Ball):
        raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
    if not isinstance(guarantee, Guarantee):
        raise InputError(f"guarantee = {guarantee!r}: pass for example PureDP(1.0) or GDP(0.5).")
    if n > MOST_RECORDS:
        raise InputError(f"n is larger than {MOST_RECORDS:,}: pass the number of records.")
    require_known("calibration", calibration, ["analytic", "classical"])
    require_known("statistic", statistic, STATISTICS)
    foot = ball.footpoint_coords(footpoint)

    def sensitivity(mechanism: Mechanism) -> float:
        return statistic_for(mechanism, statistic, foot).sensitivity(ball, n, foot)

    return Request(ball, n, guarantee, calibration, sensitivity)


@dataclass(frozen=True)
class Query:
    """What is asked about n records, whatever the ball and the budget."""

    n: int
    mechanism: str = "auto"
    calibration: str = "analytic"
    footpoint: Any = None
    statistic: str = "frechet-mean"
    can_gather: bool = True  # whether all records may be held in memory at once

    def request(self, ball: Ball, guarantee: Guarantee) -> Request:
        """In this ball, for this guarantee."""
        return request_for(ball, self.n, guarantee, self.calibration, self.footpoint, self.statistic)

    def plan(self, ball: Ball, guarantee: Guarantee) -> Plan:
        """The mechanism that was named, or the best one."""
        best = self.request(ball, guarantee).choose(self.mechanism)
        if not self.can_gather and by_name(best.mechanism).input == "gradient":
            raise MechanismError(
                f"mechanism = {self.mechanism!r} needs all records in memory at once: pass a NumPy array instead of a "
                "Dask array, or use mechanism='auto'."
            )
        return best

    def value(self, plan: Plan, records: Bounded) -> Any:
        """The private value, as the plan's mechanism takes it."""
        foot = records.ball.footpoint_coords(self.footpoint)
        statistic = statistic_for(by_name(plan.mechanism), self.statistic, foot)
        with kernels_for(records.n), one_blas_thread():
            return statistic.value(records, foot)

    def draw(self, plan: Plan, value: Any, ball: Ball, size: int = 1) -> Drawn:
        """One draw, for a release; more of them for an audit."""
        return by_name(plan.mechanism).draw(value, plan.scale, ball, ball.footpoint_coords(self.footpoint), size)

    def simulate(self, plan: Plan, value: Any, ball: Ball, rng: np.random.Generator, size: int) -> Array:
        """Seeded draws."""
        foot = ball.footpoint_coords(self.footpoint)
        return by_name(plan.mechanism).simulate(value, plan.scale, ball, foot, rng, size)


def adaptive_for(query: Query, ball: Ball, guarantee: Guarantee, adapt: bool | Adaptation) -> Adaptive | None:
    """How the release adapts to the records; None if it does not, or if that cannot pay off."""
    options = adaptation(adapt)
    if options is None:
        return None
    query.request(ball, guarantee)  # refuses what is no ball, guarantee, ...
    if query.footpoint is not None:
        raise InputError("footpoint must be left out with adapt: the private centre is the footpoint.")
    if options.radius_share == 0 and query.statistic == TangentMean.name and not ball.space.is_flat:
        raise InputError("statistic = 'tangent-mean' lives at the ball's centre: with radius_share = 0, leave it out.")
    if query.calibration != "analytic":
        raise MechanismError(f"calibration = {query.calibration!r} cannot be shared out: leave it out with adapt.")
    if query.mechanism != "auto" and by_name(query.mechanism).is_baseline:
        raise MechanismError(f"mechanism = {query.mechanism!r} is a baseline: leave it out with adapt.")
    center = Query(query.n, statistic="tangent-mean")
    return prepare(ball, guarantee, options, center, query)


def plan(
    ball: Ball | BallMapping,
    n: int,
    guarantee: Guarantee | str,
    *,
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
    adapt: bool | Adaptation = False,
    spread: float | None = None,
) -> list[Plan]:
    """What each mechanism that can give the guarantee would do with n records in the ball, best first.

    Needs no data: the predicted error is how far noise moves the mean of the records as moved into the ball (root mean
    square distance), if that mean is the footpoint; it says nothing about records outside the ball, nor about how
    well the records stand for others. With `adapt`, also the best one with adaptation (its `rounds` > 0), supposing
    that nearly all records are within `spread` of their mean; a `note` says what that costs, or that adaptation
    cannot help.
    """
    ball, guarantee = as_ball(ball), as_guarantee(guarantee)
    query = Query(whole_number(n, "n", 1), "auto", calibration, footpoint, statistic)
    if adapt is False:
        return query.request(ball, guarantee).plan_all()
    adaptive = adaptive_for(query, ball, guarantee, adapt)
    if spread is None or not finite_number(spread, "spread") >= 0:
        raise InputError(f"spread = {spread!r}: with adapt, pass the distance to their mean that records may have.")
    return _beside(query, ball, guarantee, adaptive, float(spread))


def _beside(query: Query, ball: Ball, guarantee: Guarantee, adaptive: Adaptive | None, spread: float) -> list[Plan]:
    """Plans without adaptation, and the one with it in its place."""
    try:
        plain = query.request(ball, guarantee).plan_all()
    except MechanismError:  # too large a ball for a mean in float64, which the private one need not be
        if adaptive is None:
            raise
        plain = []
    if adaptive is None:
        return [replace(row, note="adaptation cannot help: too few records for this guarantee") for row in plain]
    adapted = adaptive.predict(spread)
    if plain and adapted.expected_error >= plain[0].expected_error:
        adapted = replace(adapted, note=f"adaptation does not help with such a spread; {adapted.note}")
    return sorted([*plain, adapted], key=lambda row: row.expected_error)


def rehearse(
    ball: Ball | BallMapping,
    n: int,
    guarantee: Guarantee | str,
    *,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
    adapt: bool | Adaptation = False,
    can_gather: bool = True,
) -> tuple[str, ...]:
    """Raise whatever `private_mean` of n records would refuse, from public things alone; else what it would suppose."""
    ball, guarantee = as_ball(ball), as_guarantee(guarantee)
    require_known("mechanism", mechanism, ["auto", *MECHANISMS])
    query = Query(n, mechanism, calibration, footpoint, statistic, can_gather)
    if adaptive_for(query, ball, guarantee, adapt) is None:
        mechanism = query.plan(ball, guarantee).mechanism
    return () if mechanism == "auto" else by_name(mechanism).assumptions


def doubts(
    ball: Ball, n: int, guarantee: Guarantee, *, adapt: bool | Adaptation = False, **asked: Any
) -> list[Doubt]:
    """What public numbers say against a private mean of n records that `rehearse` does not refuse."""
    query = Query(n, **asked)
    adaptive = adaptive_for(query, ball, guarantee, adapt)
    return doubts_about_mean(query, ball, guarantee, adapt=bool(adapt), adaptive=adaptive)


def private_mean(
    X: Any,
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
    adapt: bool | Adaptation = False,
    ledger: Ledger | None = None,
    note: str = "",
) -> Release:
    """A differentially private Fréchet mean of the records X (n, *point_shape) in a public ball.

    Values of records never raise: one outside the ball is moved onto it, an unusable one to its centre.
    With a ledger the guarantee is reserved before any noise is drawn, under a description that ends with the
    `note`: say which data these are. `calibration="classical"` is the
    classical Gaussian; `footpoint` (public) is where wrapped mechanisms add their noise, by default the
    ball's centre; `statistic="tangent-mean"` releases the mean of the logs at the centre instead.
    `adapt=True` spends part of the guarantee on a private ball within the given one, as small as the records
    allow (see `Adaptation`); where that cannot pay off, which public numbers decide, it does nothing, with a
    NoAdaptation warning. A UselessRelease warning, before anything is spent, says that the predicted error is more
    than half of the ball's radius, delta above 1/n, or the guarantee no stronger than one that epsilon = 20 implies.
    """
    ball, guarantee = as_ball(ball), as_guarantee(guarantee)
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
    require_known("mechanism", mechanism, ["auto", *MECHANISMS])
    records = Bounded(X, ball)
    query = Query(records.n, mechanism, calibration, footpoint, statistic, records.can_gather)
    adaptive = adaptive_for(query, ball, guarantee, adapt)
    warn_of(doubts_about_mean(query, ball, guarantee, adapt=bool(adapt), adaptive=adaptive))
    if adaptive is not None:
        return adapted_mean(records, adaptive, ledger, note)
    best = query.plan(ball, guarantee)
    return release(
        lambda: query.value(best, records),
        lambda value: query.draw(best, value, ball),
        best,
        ball=ball,
        statistic=statistic,
        n=records.n,
        version=__version__,
        assumptions=(ROUNDING, *by_name(best.mechanism).assumptions),
        ledger=ledger,
        note=note,
    )


def adapted_mean(records: Bounded, adaptive: Adaptive, ledger: Ledger | None, note: str = "") -> Release:
    """One reservation for all stages, then all of them."""
    query = adaptive.mean
    supposed = () if query.mechanism == "auto" else by_name(query.mechanism).assumptions
    whole = adaptive.guarantee.with_assumptions(PUBLIC, ENTROPY, ROUNDING, *supposed)
    text = f"{query.statistic} of {records.n} records, {query.mechanism}, {adaptive.rounds} rounds of adaptation"
    with reserved(whole, described(text, note), ledger) as paid, one_blas_thread():
        found, last = adaptive.finish(adaptive.find(records, Exact(paid)))
        return release(
            lambda: found.query.value(last, found.records),
            lambda value: found.query.draw(last, value, found.records.ball),
            last,
            ball=adaptive.ball,
            statistic=query.statistic,
            n=records.n,
            version=__version__,
            assumptions=(ROUNDING, *supposed),
            stages=found.stages,
        )


class Simulation(np.ndarray[Any, np.dtype[np.float64]]):
    """Seeded draws (size, *point_shape) of what a mechanism might release: never a release."""

    is_release = False


def simulate(
    X: Any,
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    size: int,
    seed: int,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
    adapt: bool | Adaptation = False,
) -> Simulation:
    """`size` draws from the law of `private_mean(X, ...)`, in float64 and seeded: not private, never to publish."""
    ball, guarantee = as_ball(ball), as_guarantee(guarantee)
    count, rng = whole_number(size, "size", 1), np.random.default_rng(whole_number(seed, "seed", 0))
    require_known("mechanism", mechanism, ["auto", *MECHANISMS])
    records = Bounded(X, ball)
    query = Query(records.n, mechanism, calibration, footpoint, statistic, records.can_gather)
    adaptive = adaptive_for(query, ball, guarantee, adapt)
    if adaptive is not None:
        points = np.stack([_adapted_draw(records, adaptive, rng) for _ in range(count)])
    else:
        best = query.plan(ball, guarantee)
        points = query.simulate(best, query.value(best, records), ball, rng, count)
    return ball.space.write(points, ball.center).view(Simulation)


def _adapted_draw(records: Bounded, adaptive: Adaptive, rng: np.random.Generator) -> Array:
    """One simulated adaptive release."""
    chance = Seeded(rng)
    found, last = adaptive.finish(adaptive.find(records, chance))
    return np.asarray(chance.point(found.query, last, found.records).points[0])
