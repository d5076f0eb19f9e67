"""What is refused, and what would do instead: from public things alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from riemdp.arguments import rounded_down, rounded_up
from riemdp.balls import LARGEST_RADIUS, SMALLEST_RADIUS, Ball
from riemdp.errors import MechanismError
from riemdp.manifolds.base import Space
from riemdp.mechanisms import by_name
from riemdp.releases.plan import Plan

Works = Callable[[float], bool]  # whether the means in balls of this radius are offered
PRECISION = 1e-4  # relative, of the radii that are found


def require_mechanism(asked: str, plan: Plan, what: str) -> None:
    """Raise unless it is the one by which this is released."""
    if asked not in ("auto", plan.mechanism):
        by_name(asked)  # refuses what is no name
        raise MechanismError(
            f"mechanism = {asked!r}: {what} has {plan.mechanism!r} noise for this guarantee; pass that, or nothing."
        )


def too_coarse(ball: Ball, n: int, works: Works) -> MechanismError:
    """float64 cannot compute every mean in that ball accurately; the reason is looked for when the message is read."""
    return MechanismError(partial(_reason, ball, n, works))


def _reason(ball: Ball, n: int, works: Works) -> str:
    goal = f"to compute every Fréchet mean of {n} records of {ball.space!r} accurately in float64"
    if works(ball.radius):
        return f"footpoint is too far from the ball's centre {goal}: pass a nearer one, or none."
    usable = _usable_radius(ball.space, works)
    if usable is None:
        return f"n = {n} is too large {goal}, in any ball: pass statistic='tangent-mean'."
    if ball.radius > usable:
        fault, remedy = "large", f"at most {rounded_down(_last(works, usable, min(ball.radius, LARGEST_RADIUS)))}"
    else:
        fault, remedy = "small", f"at least {rounded_up(_last(works, usable, max(ball.radius, SMALLEST_RADIUS)))}"
    return f"radius = {ball.radius!r} is too {fault} {goal}: pass {remedy}, or statistic='tangent-mean'."


def _usable_radius(space: Space, works: Works) -> float | None:
    """A radius that works: none, if none between the scale of the curvature and a billionth of it does."""
    steepest = max(map(abs, space.curvature_bounds))
    scale = steepest**-0.5 if steepest > 0 else 1.0
    return next(filter(works, (scale * 10 ** (-j / 4) for j in range(36))), None)


def _last(works: Works, good: float, bad: float) -> float:
    """The last radius that works on the way from a good one to a bad one."""
    while abs(math.log(bad / good)) > PRECISION:
        middle = math.sqrt(good) * math.sqrt(bad)
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return good
