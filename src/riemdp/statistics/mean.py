"""Private means: plan, release and simulate; the public face of `Query` and `Prepared`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from riemdp.accounting.guarantee import Guarantee, as_guarantee
from riemdp.accounting.unit import unit_of
from riemdp.arguments import finite_number, whole_number
from riemdp.balls import Ball
from riemdp.ellipsoids import Ellipsoid
from riemdp.errors import InputError, MechanismError
from riemdp.io.identities import identities
from riemdp.io.values import Kind, written
from riemdp.mechanisms import MECHANISMS, by_name
from riemdp.mechanisms.wrapped import Wrapped
from riemdp.names import CalibrationName, MechanismName, SecondMoments
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.releases.plan import Plan
from riemdp.releases.release import Release
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.adaptive import Adaptive, adaptive_for
from riemdp.statistics.base import Statistic
from riemdp.statistics.catalogue import StatisticName, require_known, statistic_names
from riemdp.statistics.foresight import predicted
from riemdp.statistics.intrinsic import IntrinsicMean
from riemdp.statistics.median import Median
from riemdp.statistics.moments import Moments
from riemdp.statistics.plans import PlanTable
from riemdp.statistics.prepared import Prepared, prepare, require_ledger
from riemdp.statistics.query import Query
from riemdp.statistics.regression import GeodesicRegression
from riemdp.statistics.shaped import ShapedMean
from riemdp.statistics.worth import Doubt, warn_of
from riemdp.written import BallMapping, as_ball

SIMULATED = [*statistic_names(), Median.name]
PLANNED = [*SIMULATED, GeodesicRegression.name]
PlannedName: TypeAlias = Literal[StatisticName, "geometric-median", "geodesic-regression"]


def plan(
    ball: Ball | Ellipsoid | BallMapping,
    n: int | None,
    guarantee: Guarantee | str,
    *,
    calibration: CalibrationName = "analytic",
    footpoint: Any = None,
    statistic: PlannedName = "frechet-mean",
    second: SecondMoments = "auto",
    adapt: bool | Adaptation = False,
    spread: float | None = None,
    t_bounds: tuple[float, float] | None = None,
    groups: Any = None,
) -> PlanTable:
    """What each mechanism that can give the guarantee would do with n records in the ball, best first.

    Needs no data: the predicted error is how far noise moves the mean of the records as moved into the ball (root mean
    square distance), if that mean is the footpoint; it says nothing about records outside the ball, nor about how
    well the records stand for others. With `adapt`, also the best one with adaptation (its `rounds` > 0), supposing
    that nearly all records are within `spread` of their mean; a `note` says what that costs, or that adaptation
    cannot help.

    Parameters
    ----------
    ball : Ball, Ellipsoid or mapping
        The public ball, or ellipsoid, that holds the records; a mapping as in a YAML file, such as
        {"space": "spd-affine", "size": 3, "eigenvalues": [0.05, 5]}.
    n : int or None
        The number of records, which is public; of people, if the release will protect them. With `groups`, None
        counts them.
    guarantee : Guarantee or str
        What the release may spend, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    calibration : str
        Of Gaussian noise for ApproxDP: "analytic", the least that is enough, or "classical", the textbook's.
    footpoint : array of shape point_shape, optional
        A public point at which wrapped mechanisms add their noise; by default the ball's centre.
    statistic : str
        "frechet-mean", "tangent-mean": the mean of the logarithms at the ball's centre, "summary": the mean within
        a `private_summary`, "geometric-median": `private_median`, or "geodesic-regression": the velocity of a
        `private_regression`, if t is spread evenly over its bounds.
    second : {"auto", "full", "diagonal", "trace"}
        Which second moments the summary releases, as of `private_summary`; for statistic="summary" alone.
    adapt : bool or Adaptation
        Whether, and how, to show a row with adaptation to the records as well.
    spread : float, optional
        With `adapt`: the distance to their mean that nearly all records are supposed to have at most. Rounds in balls
        are foreseen; the shapes that may make the error smaller are not (`simulate` shows them, of records made up).
        Of a median: the distance to it that half of the records are supposed to have at most; the ball's radius
        without it. Of a regression with `adapt`: the distance to the geodesic of nearly all.
    t_bounds : tuple of float, optional
        Of a regression: the public bounds of t, in units of which the error of the velocity is; (-1, 1) without it.
    groups : sequence of ids, optional
        Whose record each is: n is then the number of different ids, and `spread` is one of people.

    Returns
    -------
    list of Plan
        A row for each mechanism, the smallest predicted error first.

    Raises
    ------
    InputError
        If an argument is not as described.
    MechanismError
        If no mechanism can give the guarantee in this ball.

    See Also
    --------
    private_mean : Makes the release.
    simulate : Draws of what might be released.

    Examples
    --------
    >>> import riemdp as rd
    >>> ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.5, 2.0)
    >>> for row in rd.plan(ball, 1000, rd.PureDP(1.0)):
    ...     print(f"{row.mechanism:20}{row.expected_error:.4f}")
    wrapped-laplace     0.0068
    riemannian-laplace  0.0068
    kng                 0.0136
    """
    _require_name(statistic, [*PLANNED, *statistic_names()])
    asked: dict[str, Any] = {"calibration": calibration, "footpoint": footpoint, "adapt": adapt}
    asked |= {"statistic": with_second(statistic, second)}
    if statistic in (Median.name, GeodesicRegression.name):
        made = _of_many(placed(ball, asked)[0], how_many(n, groups), as_guarantee(guarantee), t_bounds, asked)
        return PlanTable([_row(made, spread)], made.ball, made.n, made.guarantee)
    place, asked = placed(ball, asked)
    query = Query(place, how_many(n, groups), as_guarantee(guarantee), **asked)
    is_shaped = isinstance(ball, Ellipsoid)
    return PlanTable(_plans(query, spread), query.ball, query.n, query.guarantee, is_shaped=is_shaped)


def _of_many(
    ball: Ball, n: int, guarantee: Guarantee, t_bounds: tuple[float, float] | None, asked: dict[str, Any]
) -> Median | GeodesicRegression:
    """The public side of what is made of many releases; options that belong to means are refused."""
    if asked["statistic"] == Median.name:
        _refuse_options(asked)
        return Median(ball, n, guarantee)
    _refuse_options(asked | {"adapt": False})
    return GeodesicRegression(ball, n, guarantee, t_bounds or (-1.0, 1.0), asked["adapt"])


def _row(made: Median | GeodesicRegression, spread: float | None) -> Plan:
    """The row of its plan, for a spread that is supposed."""
    if spread is not None and not finite_number(spread, "spread") > 0:
        raise InputError(f"spread = {spread!r}: pass a positive distance.")
    return made.plan if spread is None else made.plan_for(float(spread))


def _refuse_options(asked: dict[str, Any]) -> None:
    """Raise an InputError for what belongs to means."""
    usual = {"mechanism": "auto", "calibration": "analytic", "footpoint": None, "adapt": False}
    odd = [name for name, value in usual.items() if asked.get(name, value) is not value and asked[name] != value]
    if odd:
        raise InputError(f"{odd[0]} belongs to means: leave it out for statistic = {asked['statistic']!r}.")


def _plans(query: Query, spread: float | None) -> list[Plan]:
    """The plans of all mechanisms, and of adaptation if it was asked for."""
    if query.adapt is False:
        return query.plan_all()
    adaptive = adaptive_for(query)
    if spread is None or not finite_number(spread, "spread") >= 0:
        raise InputError(f"spread = {spread!r}: with adapt, pass the distance to their mean that records may have.")
    return _beside(query, adaptive, float(spread))


def how_many(n: int | None, groups: Any) -> int:
    """How many there are to be: records, or the people of these ids."""
    if groups is None:
        return whole_number(n, "n", 1)
    people = identities(groups).count
    if n is not None and n != people:
        raise InputError(f"n = {n!r} is not the number of people in groups, {people}: leave n out, by n=None.")
    return whole_number(people, "n", 1)


def _beside(query: Query, adaptive: Adaptive | None, spread: float) -> list[Plan]:
    """Plans without adaptation, and the one with it in its place."""
    try:
        plain = query.plan_all()
    except MechanismError:  # too large a ball for a mean in float64, which the private one need not be
        if adaptive is None:
            raise
        plain = []
    if adaptive is None:
        return [replace(row, note="adaptation cannot help: too few records for this guarantee") for row in plain]
    adapted = predicted(adaptive, spread)
    is_foreseen = not adaptive.begins_with_radius
    if plain and is_foreseen and adapted.expected_error >= plain[0].expected_error:
        adapted = replace(adapted, note=f"adaptation does not help with such a spread; {adapted.note}")
    return sorted([*plain, adapted], key=lambda row: row.expected_error)


def _require_name(statistic: Any, names: Iterable[str]) -> None:
    """One of these, or a statistic itself, as those who write one may pass."""
    if not isinstance(statistic, Statistic):
        require_known("statistic", statistic, list(dict.fromkeys(names)))


def with_second(statistic: str | Statistic, second: str) -> str | Statistic:
    """The statistic with these second moments, which belong to a summary: any other has none to choose."""
    summary = Moments(second)  # refuses what is no choice, whatever the statistic
    if isinstance(statistic, str) and statistic == summary.name:
        return summary
    if second != "auto":
        raise InputError(f"second = {second!r} belongs to statistic = 'summary': pass that, or leave second out.")
    return statistic


def placed(ball: Ball | Ellipsoid | BallMapping, asked: dict[str, Any]) -> tuple[Ball, dict[str, Any]]:
    """The ball that holds the records, and what is asked of them: in an ellipsoid, in its shape."""
    if not isinstance(ball, Ellipsoid):
        return as_ball(ball), asked
    mechanism = asked.get("mechanism", "auto")
    if mechanism in MECHANISMS and not isinstance(by_name(mechanism), Wrapped):
        raise MechanismError(f"mechanism = {mechanism!r} has no noise in the shape of an Ellipsoid: pass a Ball.")
    return ball.ball, asked | {"statistic": _shaped(ball, asked.get("statistic", IntrinsicMean.name))}


def _shaped(ellipsoid: Ellipsoid, statistic: str | Statistic) -> Statistic:
    """The statistic in the shape of the ellipsoid."""
    if statistic == IntrinsicMean.name:
        return ShapedMean.within(ellipsoid.space, ellipsoid.reach, ellipsoid.narrowing)
    summary = Moments() if statistic == Moments.name else statistic
    if not isinstance(summary, Moments):
        name = summary.name if isinstance(summary, Statistic) else summary
        raise InputError(f"statistic = {name!r} is not offered in an Ellipsoid: pass a Ball, such as its own `ball`.")
    if summary.second not in ("auto", "full"):
        raise InputError(f"second = {summary.second!r} tells no spread in an Ellipsoid: pass 'full', or a Ball.")
    return replace(summary, second="full", radius=ellipsoid.reach, axes=ellipsoid.narrowing)


def rehearse(ball: Ball | BallMapping, n: int, guarantee: Guarantee | str, **asked: Any) -> Prepared:
    """What `private_mean` of n records would do, from public things alone; raises whatever it would refuse.

    `asked` are its options, and whether the source `can_gather` all records in memory.
    """
    return prepare(Query(as_ball(ball), n, as_guarantee(guarantee), **asked))


def doubts(ball: Ball | BallMapping, n: int, guarantee: Guarantee | str, **asked: Any) -> list[Doubt]:
    """What public numbers say against a private mean of n records that `rehearse` does not refuse."""
    return rehearse(ball, n, guarantee, **asked).doubts


def private_mean(
    X: Any,
    ball: Ball | Ellipsoid | BallMapping,
    guarantee: Guarantee | str,
    *,
    mechanism: MechanismName = "auto",
    calibration: CalibrationName = "analytic",
    footpoint: Any = None,
    statistic: StatisticName = "frechet-mean",
    adapt: bool | Adaptation = False,
    groups: Any = None,
    unit: str | None = None,
    ledger: Ledger | None = None,
    note: str = "",
) -> Release:
    """A differentially private Fréchet mean of the records X (n, *point_shape) in a public ball.

    Values of records never raise: one outside the ball is moved onto it, an unusable one to its centre. A
    UselessRelease warning, before anything is spent, says that the predicted error is more than half of the ball's
    radius, delta above 1/n, or the guarantee no stronger than one that epsilon = 20 implies; a NoAdaptation warning,
    that `adapt` does nothing.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The records: an array, a list of arrays, a memory-mapped file, a data frame or a Dask array.
    ball : Ball, Ellipsoid or mapping
        The public ball, or ellipsoid, that holds the records; a mapping as in a YAML file, such as
        {"space": "spd-affine", "size": 3, "eigenvalues": [0.05, 5]}.
    guarantee : Guarantee or str
        What the release may spend, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    mechanism : str
        "auto" takes the one with the smallest predicted error; by name: "wrapped-laplace", "wrapped-gaussian",
        "riemannian-laplace", "kng", and as baselines "extrinsic-laplace", "extrinsic-gaussian" and
        "pointwise-laplace".
    calibration : str
        Of Gaussian noise for ApproxDP: "analytic", the least that is enough, or "classical", the textbook's.
    footpoint : array of shape point_shape, optional
        A public point at which wrapped mechanisms add their noise; by default the ball's centre.
    statistic : str
        "frechet-mean", "tangent-mean": the mean of the logarithms at the ball's centre, or "summary": the mean within
        a `private_summary`.
    adapt : bool or Adaptation
        Whether, and how, to spend part of the guarantee on a private ball, or with Gaussian noise an ellipsoid, as
        small as the records allow. Where that cannot pay off, which public numbers decide, it does nothing and warns.
    groups : sequence of ids, of shape (n,), optional
        Whose record each is, if people have several: texts, numbers, categories or objects; a record whose id is
        missing is a person of its own. The mean is then one over people, each of whom counts once, by the mean of the
        logs of their own records at the centre, and the guarantee protects a person with all of their records.
        `Release.n` is the number of people, which is public; who has how many records is not.
    unit : str, optional
        What they are, "patient" say: `Release.unit`, by default "group".
    ledger : Ledger, optional
        From which the guarantee is reserved before any noise is drawn.
    note : str
        Which data these are, in a few words: the ledger's description ends with it.

    Returns
    -------
    Release
        `value` is the private mean, a point of the space; it and everything else in it may be published.

    Raises
    ------
    InputError
        If an argument, or the shape or type of X, is not as described. Values of records never raise.
    MechanismError
        If no mechanism, or not the one asked for, gives the guarantee in this ball.
    BudgetExceeded
        If the ledger refuses; nothing was spent.

    Warns
    -----
    UselessRelease
        If public numbers say that the release is worth nothing.
    NoAdaptation
        If `adapt` was asked for and does nothing.

    See Also
    --------
    plan : What to expect, without data.
    check : How the records lie in the ball; not private.
    frechet_mean : The mean without privacy.
    private_mean_of_sums : Of records in several places.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> X = rd.SPDAffine(2).random_point(1000, 0)
    >>> ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.1, 10.0)
    >>> release = rd.private_mean(X, ball, rd.GDP(1.0))
    >>> release.value.shape, release.mechanism
    ((2, 2), 'wrapped-gaussian')
    """
    require_ledger(ledger)
    asked = {"mechanism": mechanism, "calibration": calibration, "footpoint": footpoint, "statistic": statistic}
    records, prepared = prepared_for(X, ball, guarantee, groups, unit, adapt=adapt, **asked)
    warn_of(prepared.doubts)
    return prepared.release(records, ledger, note)


def prepared_for(
    X: Any, ball: Ball | Ellipsoid | BallMapping, guarantee: Guarantee | str, groups: Any, unit: str | None,
    **asked: Any,
) -> tuple[Bounded, Prepared]:  # fmt: skip
    """The records, of which nothing has been read but their form, and what will be done with them."""
    require_known("mechanism", asked["mechanism"], ["auto", *MECHANISMS])
    protected = unit_of(groups, unit)
    place, asked = placed(ball, asked)
    records = Bounded(X, place, groups)
    return records, rehearse(records.ball, records.n, guarantee, unit=protected, can_gather=records.can_gather, **asked)


class Simulation(np.ndarray[Any, np.dtype[np.float64]]):
    """Seeded draws (size, *point_shape) of what a mechanism might release: never a release."""

    is_release = False


def simulate(
    X: Any,
    ball: Ball | Ellipsoid | BallMapping,
    guarantee: Guarantee | str,
    *,
    size: int,
    seed: int,
    mechanism: MechanismName = "auto",
    calibration: CalibrationName = "analytic",
    footpoint: Any = None,
    statistic: PlannedName = "frechet-mean",
    second: SecondMoments = "auto",
    adapt: bool | Adaptation = False,
    groups: Any = None,
    unit: str | None = None,
) -> Simulation:
    """Draw from the law of `private_mean(X, ...)`, in float64 and seeded: not private, never to publish.

    For tests, pictures and studies of accuracy: a release is never seeded, and its noise is exact.

    Parameters
    ----------
    X, ball, guarantee : as of private_mean
        The records, the public ball that holds them, and what a release would spend.
    size : int
        How many draws.
    seed : int
        Of the pseudo-random numbers, 0 or more.
    mechanism, calibration, footpoint : as of private_mean
        Which noise, how much of it, and where it is added.
    statistic : str
        As of `private_mean`, or "geometric-median": what `private_median` releases.
    second : {"auto", "full", "diagonal", "trace"}
        Which second moments the summary releases, as of `private_summary`; for statistic="summary" alone.
    adapt, groups, unit : as of private_mean
        Whether a private ball is found first, and whose record each is.

    Returns
    -------
    Simulation of shape (size, *point_shape)
        An array of points, marked as no release.

    Raises
    ------
    InputError
        If an argument, or the shape or type of X, is not as described.
    MechanismError
        If no mechanism, or not the one asked for, gives the guarantee in this ball.

    See Also
    --------
    private_mean : The release itself.
    plan : The expected error, without data.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    >>> rd.simulate(np.zeros((100, 2)), ball, rd.GDP(1.0), size=5, seed=0).shape
    (5, 2)
    """
    count, start = whole_number(size, "size", 1), whole_number(seed, "seed", 0)
    _require_name(statistic, [*SIMULATED, *statistic_names()])
    asked: dict[str, Any] = {"mechanism": mechanism, "calibration": calibration, "footpoint": footpoint}
    asked |= {"statistic": with_second(statistic, second)}
    if statistic == Median.name:
        _refuse_options(asked | {"adapt": adapt})
        unit_of(groups, unit)
        records = Bounded(X, placed(ball, asked)[0], groups)
        return simulated(Median(records.ball, records.n, as_guarantee(guarantee)), records, count, start)
    records, prepared = prepared_for(X, ball, guarantee, groups, unit, adapt=adapt, **asked)
    return simulated(prepared, records, count, start, prepared.query.kind)


def simulated(prepared: Prepared | Median, records: Bounded, size: int, seed: int, kind: Kind = "point") -> Simulation:
    """Draws from the law of what was prepared."""
    ball, drawn = records.ball, prepared.simulate(records, np.random.default_rng(seed), size)
    return np.asarray(written(drawn, kind, ball.space, ball.center)).view(Simulation)
