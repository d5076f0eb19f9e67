"""Private geodesic regression: how points change with one number of each record, whose bounds are public.

Each round releases moments of the residuals about the geodesic that one has (`TrendMoments`) and changes it by least
squares; the first is about the ball's centre. In flat spaces one round is all; elsewhere a second one is about the
geodesic itself; with `adapt`, residuals get a private radius between rounds. All rounds are under one reservation
(docs/proofs/regression.md); why these shares: docs/decisions/0029-median-and-regression.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee, PureDP, as_guarantee
from riemdp.accounting.unit import RECORD, assumptions, counted, unit_of
from riemdp.arguments import finite_number
from riemdp.balls import Ball
from riemdp.caching import cached_property
from riemdp.errors import InputError
from riemdp.io.cells import single_numbers
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array
from riemdp.mechanisms import by_name
from riemdp.names import MechanismName
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.reservation import ENTROPY, Reservation, reserved
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.recorded import recorded
from riemdp.releases.release import Stage
from riemdp.statistics.adaptation import divisible, split
from riemdp.statistics.adaptive import DEEPEST, LARGEST_CENTER_ERROR
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Chance, Exact
from riemdp.statistics.median import CERTAINTY, MOST_DISTANCES
from riemdp.statistics.prepared import require_ledger
from riemdp.statistics.quantile import MECHANISM, STEPS, RadiusLaw, looseness, radius_strength
from riemdp.statistics.query import Query
from riemdp.statistics.refusals import require_mechanism
from riemdp.statistics.trend import EVEN, Fit, Numbered, Trend, TrendMoments, noise_deviation
from riemdp.statistics.worth import Doubt, Subject, doubts_about, nothing_adapted, warn_of
from riemdp.summaries.regression import Regression
from riemdp.written import BallMapping, as_ball

REGRESSION = "geodesic-regression"
T_BOUNDS = "the bounds of the numbers are public; a record is replaced together with its number"
# Shares of each round: of its moments, and of the radius that follows, but for the last.
FLAT, CURVED = [1.0], [0.25, 0.75]
ADAPTED, ADAPTED_PURE = [0.08, 0.04, 0.08, 0.04, 0.76], [0.15, 0.1, 0.75]
SMALLEST = 1e-90  # radius of residuals
FASTEST = 1e300  # velocity, in units of the space and of t, that float64 can hold


@dataclass(frozen=True)
class Round:
    """What a round released: the fit, by which plan, its grid, and the stage on record."""

    fit: Fit
    plan: Plan
    grid: float | None
    stage: Stage


@dataclass(frozen=True, eq=False)
class GeodesicRegression:
    """The public side of a private regression: everything but the records and what is drawn."""

    name: ClassVar[str] = REGRESSION

    ball: Ball
    n: int
    guarantee: Guarantee
    t_bounds: tuple[float, float] = (-1.0, 1.0)
    adapt: bool = False
    unit: str = RECORD  # what n counts, and the guarantee protects

    def __post_init__(self) -> None:
        Query(self.ball, self.n, self.guarantee)  # refuses what is none of these
        if not isinstance(self.adapt, bool):
            raise InputError(f"adapt = {self.adapt!r}: pass True or False.")
        object.__setattr__(self, "t_bounds", read_bounds(self.t_bounds))
        if self.ball.radius > FASTEST * self.half:
            raise InputError(f"t_bounds = {self.t_bounds!r}: too close to each other for such a ball; change units.")

    @cached_property
    def whole(self) -> Guarantee:
        """What is shared out: the guarantee, or what implies it; undivided where there is one release."""
        return self.guarantee if self.weights == FLAT else divisible(self.guarantee)[0]

    @cached_property
    def weights(self) -> list[float]:
        """Shares of all releases, in order."""
        plain = FLAT if self.ball.space.is_flat else CURVED
        if not self.adapt:
            return plain
        adapted = ADAPTED_PURE if isinstance(divisible(self.guarantee)[0], PureDP) else ADAPTED
        return adapted if self._can_pay_off(adapted) else plain

    def _can_pay_off(self, weights: list[float]) -> bool:
        """Whether a first fit is precise enough for a smaller radius to mean something: from public numbers."""
        shares = split(divisible(self.guarantee)[0], weights)
        first, radius = self._query(self.ball.radius, shares[0]).plan(), self.ball.radius
        precise = first.expected_error <= LARGEST_CENTER_ERROR * radius
        return precise and radius_strength(shares[1]) * self.n / 2 > CERTAINTY

    @property
    def is_adapted(self) -> bool:
        """Whether the radii of residuals are private: found and paid for."""
        return self.weights not in (FLAT, CURVED)

    @cached_property
    def shares(self) -> list[Guarantee]:
        """The guarantees of all releases, in order."""
        return split(self.whole, self.weights) if len(self.weights) > 1 else [self.whole]

    @property
    def of_moments(self) -> list[Guarantee]:
        """The shares of the moments of each round."""
        return self.shares[::2] if self.is_adapted else self.shares

    def _query(self, radius: float, share: Guarantee) -> Query:
        body = vectors_up_to(radius, self.ball.space.dim)
        return Query(body, self.n, share, statistic=TrendMoments(body))

    @cached_property
    def plan(self) -> Plan:
        """The last release if no smaller radius is found; the error is that of the velocity, per unit of t."""
        return self._planned(self.ball.radius)

    def plan_for(self, spread: float) -> Plan:
        """The plan if nearly all records are within `spread` of the geodesic: a public supposition."""
        return self._planned(min(looseness() * spread, self.ball.radius) if self.is_adapted else self.ball.radius)

    def _planned(self, radius: float) -> Plan:
        found = self._query(radius, self.shares[-1]).plan()
        note = f"of the velocity per unit of t, if t is even over its bounds; residuals within {radius:.3g}"
        error, rounds = found.expected_error / self.half, len(self.of_moments) - 1 if self.is_adapted else 0
        return replace(found, guarantee=self.guarantee, expected_error=error, note=note, rounds=rounds)

    @property
    def half(self) -> float:
        """Half of the length of the interval that bounds t."""
        return (self.t_bounds[1] - self.t_bounds[0]) / 2

    @property
    def doubts(self) -> list[Doubt]:
        """What public numbers say against the release."""
        error = self._error_for(self.n, self.guarantee)
        about = Subject(self.n, self.unit, "geodesic")
        found = doubts_about(about, self._error_for, self.guarantee, self.ball.radius, error)
        return [*found, nothing_adapted(self.unit)] if self.adapt and not self.is_adapted else found

    def _error_for(self, n: int, guarantee: Guarantee) -> float:
        """The error of the geodesic's end against its middle, which is to be compared with the radius."""
        return replace(self, n=n, guarantee=guarantee, t_bounds=(-1.0, 1.0)).plan.expected_error

    # --- the release -------------------------------------------------------------------------------------------

    def release(self, records: Bounded, s: Array, ledger: Ledger | None = None, note: str = "") -> Regression:
        """All rounds under one reservation; whatever can be refused is so before. s: numbers scaled to [-1, 1]."""
        for share in self.of_moments:
            self._query(self.ball.radius, share).plan()  # refuses
        claimed = self.guarantee.with_assumptions(*assumptions(self.unit), ENTROPY, T_BOUNDS)
        with reserved(claimed, f"{self.name} of {counted(self.n, self.unit)}", ledger, note, self.unit) as paid:
            return self._recorded(paid, self.find(records, s, Exact(paid)))

    def find(self, records: Bounded, s: Array, chance: Chance) -> list[Round | Stage]:
        """All rounds, and the stages of radii between them."""
        seen, radius, found = Numbered(records, s, Trend.at_centre(self.ball)), self.ball.radius, list[Round | Stage]()
        with one_blas_thread():
            for place, share in enumerate(self.of_moments):
                found.append(last := self._round(seen, radius, share, chance))
                seen = replace(seen, trend=last.fit.trend)
                if self.is_adapted and place + 1 < len(self.of_moments):
                    radius = self._radius(seen, radius, last, self.shares[2 * place + 1], chance, found)
        return found

    def _round(self, seen: Numbered, radius: float, share: Guarantee, chance: Chance) -> Round:
        """Moments of residuals about the geodesic, and the one that fits them better."""
        query = self._query(radius, share)
        plan = query.plan()
        drawn = chance.point(query.law(plan), seen)
        noise = noise_deviation(by_name(plan.mechanism), plan.scale, self.ball.space.dim)
        fit = Fit.of(drawn.points[0], radius, noise, seen.trend)
        facts = (plan.mechanism, plan.sensitivity, plan.scale, seen.trend.middle, radius)
        return Round(fit, plan, drawn.grid, Stage("moments", share, *facts))

    def _radius(
        self, seen: Numbered, radius: float, last: Round, share: Guarantee, chance: Chance, found: list[Round | Stage]
    ) -> float:
        """A private one that leaves few residuals outside; its stage is added to what was found."""
        law, body = self._law(radius, share), vectors_up_to(radius, self.ball.space.dim)
        radii = self._radii(radius, last.plan.expected_error, law)
        chosen = radii[chance.step(law, lambda: seen.outside(radii[1:], body))]
        found.append(Stage("radius", share, MECHANISM, 1.0, 1 / law.strength, seen.trend.middle, chosen))
        return chosen

    def _law(self, radius: float, share: Guarantee) -> RadiusLaw:
        """As many records may be outside for nothing as would move the velocity as much as noise does."""
        error = self._query(radius, self.shares[-1]).plan().expected_error
        return RadiusLaw(radius_strength(share), math.floor(min(self.n * error * EVEN / radius, self.n / 2)))

    def _radii(self, radius: float, error: float, law: RadiusLaw) -> list[float]:
        """A falling list, down to a part of the error of the fit, as far as the law can tell them apart."""
        told = (law.strength * (self.n - law.spare) - CERTAINTY) / math.log(2)
        room = STEPS * math.log2(radius / max(DEEPEST * error, SMALLEST))
        count = max(1, min(MOST_DISTANCES, math.floor(told), math.floor(room)))
        return [radius * math.exp2(-step / STEPS) for step in range(count)]

    def _recorded(self, paid: Reservation, found: list[Round | Stage]) -> Regression:
        stages = tuple(one.stage if isinstance(one, Round) else one for one in found)
        last = found[-1]
        assert isinstance(last, Round)
        fit = last.fit
        value, end = fit.trend.ends()
        told = stages if len(stages) > 1 else ()
        facts: dict[str, Any] = {"ball": self.ball, "statistic": self.name, "n": self.n, "stages": told}
        made = recorded(Drawn([value], last.grid), paid, replace(last.plan, expected_error=fit.error), **facts)
        return Regression(**vars(made) | self._learnt(made.value, end, fit))

    def _velocity(self, value: Any, end: Array) -> Array:
        """Per unit of t; where the centre is so far out that float64 cannot hold it, the longest that it can."""
        space = self.ball.space
        with np.errstate(all="ignore"):
            way = np.nan_to_num(space.log(space.write(end, self.ball.center), value))
            velocity = way / self.half
            return np.asarray(velocity if np.isfinite(velocity).all() else way * (FASTEST / np.abs(way).max()))

    def _learnt(self, value: Any, end: Array, fit: Fit) -> dict[str, Any]:
        """What a regression has beside what every release has."""
        velocity = self._velocity(value, end)
        of_s = {"s_mean": fit.middle, "s_variance": fit.variance}
        spread = {"noise": fit.noise, "residual": fit.residual, "r_squared": fit.r_squared}
        return {"velocity": velocity, "t_bounds": self.t_bounds, **of_s, **spread}


def read_bounds(bounds: Any) -> tuple[float, float]:
    """Two numbers, the lower one first; anything else is an InputError."""
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise InputError(f"t_bounds = {bounds!r}: pass two public numbers, such as (20.0, 90.0).") from None
    lo, hi = finite_number(low, "t_bounds"), finite_number(high, "t_bounds")
    if not 0 < (hi - lo) / 2 < math.inf:
        raise InputError(f"t_bounds = {bounds!r}: pass the lower bound first, then a larger one.")
    return lo, hi


def scaled(t: Any, n: int, bounds: tuple[float, float]) -> Array:
    """Numbers of n records as s in [-1, 1]: those outside the bounds moved onto them, what is none in the middle."""
    cells = single_numbers(t)
    if cells.dtype.kind not in "fiub" or cells.shape not in ((n,), (n, 1)):
        found = f"t has shape {cells.shape} and type {cells.dtype}"
        raise InputError(f"{found}: pass one number for each of the {n} records.")
    half, middle = (bounds[1] - bounds[0]) / 2, bounds[0] + (bounds[1] - bounds[0]) / 2
    with np.errstate(all="ignore"):
        s = np.clip((cells.reshape(n).astype(np.float64) - middle) / half, -1.0, 1.0)
    return np.where(np.isnan(s), 0.0, s)


def private_regression(
    X: Any,
    t: Any,
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    t_bounds: tuple[float, float],
    mechanism: MechanismName = "auto",
    adapt: bool = False,
    groups: Any = None,
    unit: str | None = None,
    ledger: Ledger | None = None,
    note: str = "",
) -> Regression:
    """A differentially private geodesic regression of the records X (n, *point_shape) on one number t of each.

    The geodesic along which points change with t, by least squares of distances; records and numbers are private, the
    bounds of the numbers are public. To first order: residuals are carried along the geodesic by parallel transport,
    where exact least squares in a curved space would carry them by Jacobi fields. Values never raise: a record outside
    the ball is moved onto it, an unusable one to its centre; a t outside the bounds is moved onto them, one that is no
    number to their middle.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The records, as `private_mean` takes them.
    t : array of shape (n,)
        A number of each record, such as an age.
    ball : Ball or mapping
        The public ball that holds the records.
    guarantee : Guarantee or str
        What the release may spend, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    t_bounds : tuple of float
        The least and the largest t, public: chosen without looking at the data.
    mechanism : str
        "auto", or the name of the one that the guarantee allows: "wrapped-laplace" for pure epsilon, else
        "wrapped-gaussian".
    adapt : bool
        Whether to spend part of the guarantee on a private radius of the residuals about the geodesic, as small as
        they allow. Where that cannot pay off, which public numbers decide, it does nothing and warns.
    groups : sequence of ids, of shape (n,), optional
        Whose record each is: a person with any number of records, each with its own t, then counts as one, by the mean
        of what their records add to the fit, and the guarantee protects them with all of their records.
    unit, ledger, note : as of private_mean
        What people are called, where the guarantee is booked, and which data these are.

    Returns
    -------
    Regression
        `value` is the point at the middle of the bounds, `velocity` the tangent vector there, per unit of t.

    Raises
    ------
    InputError
        If an argument, or the shape or type of X or t, is not as described. Values of records never raise.
    MechanismError
        If no mechanism gives the guarantee in this ball.
    BudgetExceeded
        If the ledger refuses; nothing was spent.

    Warns
    -----
    UselessRelease, NoAdaptation
        As `private_mean` does, from public numbers alone.

    See Also
    --------
    plan : With `statistic="geodesic-regression"`, what error of the velocity to expect.
    PrivateGeodesicRegression : The same as an estimator.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> t = np.random.default_rng(0).uniform(20.0, 90.0, 5000)
    >>> X = np.column_stack([t / 100, np.zeros(5000)])
    >>> fit = rd.private_regression(X, t, rd.Ball(rd.Euclidean(2), [0.5, 0.0], 1.0), "mu=1", t_bounds=(20.0, 90.0))
    >>> bool(abs(fit.velocity[0] - 0.01) < 0.001), fit.predict([20.0, 90.0]).shape
    (True, (2, 2))
    """
    require_ledger(ledger)
    protected, records = unit_of(groups, unit), Bounded(X, as_ball(ball), groups)
    asked = GeodesicRegression(records.ball, records.n, as_guarantee(guarantee), t_bounds, adapt, protected)
    require_mechanism(mechanism, asked.plan, "a regression")
    s = scaled(t, records.given, asked.t_bounds)
    warn_of(asked.doubts)
    return asked.release(records, s, ledger, note)
