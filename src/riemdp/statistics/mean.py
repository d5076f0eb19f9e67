"""Private means: plan, release and simulate; the public face of `Query` and `Prepared`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee, as_guarantee
from riemdp.arguments import finite_number, whole_number
from riemdp.errors import InputError, MechanismError
from riemdp.io.values import written
from riemdp.mechanisms import MECHANISMS
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import Plan, Release
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.adaptive import Adaptive, adaptive_for
from riemdp.statistics.catalogue import require_known
from riemdp.statistics.prepared import Prepared, prepare, require_ledger
from riemdp.statistics.query import Query
from riemdp.statistics.worth import Doubt, warn_of
from riemdp.written import BallMapping, as_ball


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
    asked: dict[str, Any] = {"calibration": calibration, "footpoint": footpoint, "statistic": statistic, "adapt": adapt}
    query = Query(as_ball(ball), whole_number(n, "n", 1), as_guarantee(guarantee), **asked)
    if adapt is False:
        return query.plan_all()
    adaptive = adaptive_for(query)
    if spread is None or not finite_number(spread, "spread") >= 0:
        raise InputError(f"spread = {spread!r}: with adapt, pass the distance to their mean that records may have.")
    return _beside(query, adaptive, float(spread))


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
    adapted = adaptive.predict(spread)
    if plain and adapted.expected_error >= plain[0].expected_error:
        adapted = replace(adapted, note=f"adaptation does not help with such a spread; {adapted.note}")
    return sorted([*plain, adapted], key=lambda row: row.expected_error)


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
    require_ledger(ledger)
    asked = {"mechanism": mechanism, "calibration": calibration, "footpoint": footpoint, "statistic": statistic}
    records, prepared = prepared_for(X, ball, guarantee, adapt=adapt, **asked)
    warn_of(prepared.doubts)
    return prepared.release(records, ledger, note)


def prepared_for(
    X: Any, ball: Ball | BallMapping, guarantee: Guarantee | str, **asked: Any
) -> tuple[Bounded, Prepared]:
    """The records, of which nothing has been read but their form, and what will be done with them."""
    require_known("mechanism", asked["mechanism"], ["auto", *MECHANISMS])
    records = Bounded(X, as_ball(ball))
    return records, rehearse(records.ball, records.n, guarantee, can_gather=records.can_gather, **asked)


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
    count, start = whole_number(size, "size", 1), whole_number(seed, "seed", 0)
    asked = {"mechanism": mechanism, "calibration": calibration, "footpoint": footpoint, "statistic": statistic}
    records, prepared = prepared_for(X, ball, guarantee, adapt=adapt, **asked)
    return simulated(prepared, records, count, start)


def simulated(prepared: Prepared, records: Bounded, size: int, seed: int) -> Simulation:
    """Draws from the law of what was prepared."""
    ball, drawn = records.ball, prepared.simulate(records, np.random.default_rng(seed), size)
    return np.asarray(written(drawn, prepared.query.kind, ball.space, ball.center)).view(Simulation)
