"""The curator's own look at the records before a release. Not private: keep what it says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from riemdp.display import shown
from riemdp.io.rows import Rows
from riemdp.manifolds.description import Seen
from riemdp.privacy.bounded import Ball, Bounded, logs_at_center
from riemdp.written import BallMapping, as_ball

Array = NDArray[Any]
NOT_PRIVATE = "NOT PRIVATE: for your own eyes. Do not publish this, and do not choose a ball or a budget by it."
QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)


@shown
@dataclass(frozen=True, repr=False)
class Check:
    """How records lie in a ball. **Not private**: for the curator's eyes, never to publish or to choose a ball by."""

    warning: ClassVar[str] = NOT_PRIVATE

    n: int
    unusable: int  # not finite, or no point of the space: a release takes the ball's centre instead
    outside: int  # a release moves them onto the ball's rim
    radius: float
    distances: dict[float, float]  # quantiles of the distances of usable records to the centre
    findings: tuple[str, ...] = ()  # what looks wrong with the data or the ball, in words

    @property
    def inside(self) -> int:
        """Records that a release uses as they are."""
        return self.n - self.unusable - self.outside

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        quantiles = {f"{level:g}": value for level, value in self.distances.items()}
        known = vars(self) | {"inside": self.inside, "distances": quantiles, "findings": list(self.findings)}
        return {"riemdp": "check", "private": False, "warning": self.warning} | known


def check(X: Any, ball: Ball | BallMapping) -> Check:
    """Look at the records X (n, *point_shape): what a release in this ball would do to them. Not private.

    `findings` name what is easily mistaken: matrices that are not symmetric, other units than the centre's, shapes
    that are mirror images of the centre's kind; each space says what it is of its records.
    """
    ball = as_ball(ball)
    distances, *measured = Rows(Bounded(X, ball)._raw, (partial(_looks, ball),)).all().T
    usable = distances[np.isfinite(distances)]
    levels = np.quantile(usable, QUANTILES).tolist() if usable.size else []
    return Check(
        n=len(distances),
        unusable=len(distances) - usable.size,
        outside=int((usable > ball.radius).sum()),
        radius=ball.radius,
        distances=dict(zip(QUANTILES, levels, strict=False)),
        findings=_findings(ball, distances, measured),
    )


def _looks(ball: Ball, raw: Array) -> Array:
    """By record: its distance to the centre, NaN if a release takes the centre instead; what its space measures."""
    coords, usable = logs_at_center(raw, ball)
    distance = np.where(usable, np.linalg.norm(coords, axis=1), np.nan)
    space, points, center = ball.space, ball.space.read(raw, "X"), ball.inner_center
    return np.column_stack([distance, *(one.measure(space, points, center, ball.radius) for one in space.remarks)])


def _findings(ball: Ball, distances: Array, measured: list[Array]) -> tuple[str, ...]:
    """What the space remarks about its records, if anything."""
    pairs = zip(ball.space.remarks, measured, strict=True)
    texts = (remark.words(Seen(values, distances, ball.radius)) for remark, values in pairs)
    return tuple(text for text in texts if text)
