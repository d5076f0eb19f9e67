"""What cannot be asked together with `adapt`."""

from __future__ import annotations

from riemdp.errors import InputError, MechanismError
from riemdp.mechanisms import by_name
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.intrinsic import TangentMean
from riemdp.statistics.moments import Moments
from riemdp.statistics.query import Query
from riemdp.statistics.shaped import ShapedMean


def refuse_with_adaptation(query: Query, options: Adaptation) -> None:
    """Raise it, from public options alone."""
    if query.footpoint is not None:
        raise InputError("footpoint must be left out with adapt: the private centre is the footpoint.")
    if options.radius_share == 0 and _lives_at_centre(query):
        name = query.statistic_name
        raise InputError(f"statistic = {name!r} lives at the ball's centre, which radius_share = 0 leaves as it is.")
    if query.calibration != "analytic":
        raise MechanismError(f"calibration = {query.calibration!r} cannot be shared out: leave it out with adapt.")
    if query.mechanism != "auto" and by_name(query.mechanism).is_baseline:
        raise MechanismError(f"mechanism = {query.mechanism!r} is a baseline: leave it out with adapt.")


def _lives_at_centre(query: Query) -> bool:
    """Whether the statistic takes no footpoint: then nothing is gained from a private centre alone."""
    is_tangent = query.statistic_name == TangentMean.name and not query.ball.space.is_flat
    return is_tangent or query.statistic_name == Moments.name or isinstance(query.statistic, ShapedMean)
