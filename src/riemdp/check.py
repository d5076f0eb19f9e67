"""The curator's own look at the records before a release. Not private: keep what it says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.privacy.bounded import Ball, Bounded, logs_at_center
from riemdp.rows import Rows

Array = NDArray[Any]
QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Check:
    """How records lie in a ball. **Not private**: for the curator's eyes, never to publish or to choose a ball by."""

    n: int
    unusable: int  # not finite, or no point of the space: a release takes the ball's centre instead
    outside: int  # a release moves them onto the ball's rim
    radius: float
    distances: dict[float, float]  # quantiles of the distances of usable records to the centre

    @property
    def inside(self) -> int:
        """Records that a release uses as they are."""
        return self.n - self.unusable - self.outside

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        quantiles = {f"{level:g}": value for level, value in self.distances.items()}
        return {"riemdp": "check", "private": False} | vars(self) | {"inside": self.inside, "distances": quantiles}

    def __str__(self) -> str:
        quantiles = ", ".join(f"{q:.0%}: {value:.4g}" for q, value in self.distances.items())
        return (
            f"NOT PRIVATE. {self.n:,} records: {self.inside:,} in the ball, {self.outside:,} outside (a release moves "
            f"them onto its rim), {self.unusable:,} unusable (a release takes the centre instead). Distances to the "
            f"centre, quantiles {quantiles or 'none'}; radius {self.radius:.4g}."
        )


def check(X: Any, ball: Ball) -> Check:
    """Look at the records X (n, *point_shape): what a release in this ball would do to them. Not private."""
    distances = Rows(Bounded(X, ball)._raw, (partial(_distances, ball),)).all()
    usable = distances[np.isfinite(distances)]
    levels = np.quantile(usable, QUANTILES).tolist() if usable.size else []
    return Check(
        n=len(distances),
        unusable=len(distances) - usable.size,
        outside=int((usable > ball.radius).sum()),
        radius=ball.radius,
        distances=dict(zip(QUANTILES, levels, strict=False)),
    )


def _distances(ball: Ball, raw: Array) -> Array:
    """Distances of records to the centre; NaN for those that a release replaces by it."""
    coords, usable = logs_at_center(raw, ball)
    return np.where(usable, np.linalg.norm(coords, axis=1), np.nan)
