"""A draw becomes a release: the one place where a Release is made, after it was paid for."""

from __future__ import annotations

from riemdp.balls import Ball
from riemdp.io.values import Kind, written
from riemdp.privacy.reservation import Reservation
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.release import Release, Stage
from riemdp.version import __version__


def recorded(
    drawn: Drawn, paid: Reservation, plan: Plan, *, ball: Ball, statistic: str, n: int,
    kind: Kind = "point", stages: tuple[Stage, ...] = (),
) -> Release:  # fmt: skip
    """The one draw as a Release, which claims the very guarantee that was reserved for it."""
    [value], grid = drawn.points, drawn.grid
    return Release(
        value=written(value, kind, ball.space, ball.center),
        statistic=statistic,
        guarantee=paid.guarantee,
        mechanism=plan.mechanism,
        scale=plan.scale,
        sensitivity=plan.sensitivity,
        expected_error=plan.expected_error,
        grid=grid,
        space=ball.space,
        center=ball.center,
        radius=ball.radius,
        n=n,
        version=__version__,
        stages=stages,
        kind=kind,
        unit=paid.unit,
        noisy=drawn.told,
    )
