"""Private means: plan, release and simulate; each mechanism with the statistic whose value it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

import numpy as np

from riemdp.errors import InputError, MechanismError
from riemdp.manifolds.base import Array, whole_number
from riemdp.mechanisms import MECHANISMS, Mechanism, by_name
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import Plan, Release, release
from riemdp.statistics.ambient import AlignedLandmarks, AmbientMean
from riemdp.statistics.gradient import GradientField
from riemdp.statistics.intrinsic import IntrinsicMean, MeanPoint, TangentMean, mean_as_coordinates
from riemdp.statistics.plans import Request
from riemdp.version import __version__

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


def _known(argument: str, name: Any, names: Iterable[str]) -> None:
    if not isinstance(name, str) or name not in names:
        raise InputError(f"{argument} = {name!r}: pass one of {', '.join(map(repr, names))}.")


def _statistic(mechanism: Mechanism, name: str, ball: Ball, footpoint: Array) -> Statistic:
    """The summary of that name in the form that the mechanism takes."""
    if footpoint.any() and not mechanism.takes_footpoint:
        raise MechanismError(f"footpoint belongs to wrapped mechanisms: leave it out for {mechanism.name}.")
    if mechanism.input in ("coordinates", "point") and ball.space.is_flat:  # all the same
        return mean_as_coordinates(ball.space)
    if name not in INPUTS[mechanism.input]:
        raise MechanismError(f"statistic = {name!r} belongs to wrapped mechanisms: leave it out for {mechanism.name}.")
    return INPUTS[mechanism.input][name]


def _request(ball: Ball, n: int, guarantee: Guarantee, calibration: str, footpoint: Any, statistic: str) -> Request:
    if not isinstance(ball, Ball):
        raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
    if not isinstance(guarantee, Guarantee):
        raise InputError(f"guarantee = {guarantee!r}: pass for example PureDP(1.0) or GDP(0.5).")
    _known("calibration", calibration, ["analytic", "classical"])
    _known("statistic", statistic, STATISTICS)
    foot = ball.footpoint_coords(footpoint)

    def sensitivity(mechanism: Mechanism) -> float:
        return _statistic(mechanism, statistic, ball, foot).sensitivity(ball, n, foot)

    return Request(ball, n, guarantee, calibration, sensitivity)


def plan(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
) -> list[Plan]:
    """What each mechanism that can give the guarantee would do with n records in the ball, best first.

    Needs no data: the predicted error supposes that the true mean is the footpoint.
    """
    return _request(ball, whole_number(n, "n", 1), guarantee, calibration, footpoint, statistic).plan_all()


def private_mean(
    X: Any,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
    ledger: Ledger | None = None,
) -> Release:
    """A differentially private Fréchet mean of the records X (n, *point_shape) in a public ball.

    Values of records never raise: one outside the ball is moved onto it, an unusable one to its centre.
    With a ledger the guarantee is reserved before any noise is drawn. `calibration="classical"` is the
    classical Gaussian; `footpoint` (public) is where wrapped mechanisms add their noise, by default the
    ball's centre; `statistic="tangent-mean"` releases the mean of the logs at the centre instead.
    """
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
    _known("mechanism", mechanism, ["auto", *MECHANISMS])
    records = Bounded(X, ball)
    best = _request(ball, records.n, guarantee, calibration, footpoint, statistic).choose(mechanism)
    chosen, foot = by_name(best.mechanism), ball.footpoint_coords(footpoint)
    summary = _statistic(chosen, statistic, ball, foot)
    return release(
        lambda: summary.value(records, foot),
        lambda value: chosen.draw(value, best.scale, ball, foot),
        best,
        ball=ball,
        statistic=statistic,
        n=records.n,
        version=__version__,
        assumptions=(ROUNDING, *chosen.assumptions),
        ledger=ledger,
    )


class Simulation(np.ndarray[Any, np.dtype[np.float64]]):
    """Seeded draws (size, *point_shape) of what a mechanism might release: never a release."""

    is_release = False


def simulate(
    X: Any,
    ball: Ball,
    guarantee: Guarantee,
    *,
    size: int,
    seed: int,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
) -> Simulation:
    """`size` draws from the law of `private_mean(X, ...)`, in float64 and seeded: not private, never to publish."""
    count, rng = whole_number(size, "size", 1), np.random.default_rng(whole_number(seed, "seed", 0))
    _known("mechanism", mechanism, ["auto", *MECHANISMS])
    records = Bounded(X, ball)
    best = _request(ball, records.n, guarantee, calibration, footpoint, statistic).choose(mechanism)
    chosen, foot = by_name(best.mechanism), ball.footpoint_coords(footpoint)
    value = _statistic(chosen, statistic, ball, foot).value(records, foot)
    points = chosen.simulate(value, best.scale, ball, foot, rng, count)
    return ball.space._write(points, ball.center).view(Simulation)
