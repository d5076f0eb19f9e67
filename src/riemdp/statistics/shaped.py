"""A mean with noise in the shape of an ellipsoid: a linear release of narrowed coordinates, widened again.

Records' coordinates v at the ball's centre are narrowed to u = S⁻¹ v, forced into |u| <= R, and their moments released
as in a summary; the mean is exp(H⁻¹ S E[u]), H the Hessian of the Fréchet function from the second moment. The noise
has length |S|/sqrt(d) times that of a ball of radius R (docs/proofs/shaped.md).
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from riemdp.axes import LEAST_NOISE, Axes
from riemdp.balls import Ball, mean_rounding
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array, Space
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Bounded
from riemdp.regions import Noisy
from riemdp.releases.release import Release
from riemdp.statistics.base import Statistic, refuse_footpoint
from riemdp.statistics.moments import Moments
from riemdp.summaries.spread import NoisyMoments


@dataclass(frozen=True, eq=False)
class ShapedMean(Statistic):
    """The Fréchet mean of records in an ellipsoid around the ball's centre, by their moments."""

    name: ClassVar[str] = "frechet-mean"

    moments: Moments  # of narrowed coordinates, which are released

    @classmethod
    def within(cls, space: Space, radius: float, axes: Axes | None) -> ShapedMean:
        """With the second moments that the Hessian needs; in a flat space just their trace, for the fill."""
        return cls(Moments("trace" if space.is_flat else "auto", radius=radius, axes=axes))

    def with_noise(self, mechanism: Mechanism) -> ShapedMean:
        """The statistic with the weights that belong to this noise."""
        return replace(self, moments=self.moments.with_noise(mechanism))

    def with_scale(self, scale: float) -> ShapedMean:
        """The statistic that knows the scale of its noise."""
        return replace(self, moments=self.moments.with_scale(scale))

    def supposes(self, space: Space) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing: it is linear."""
        return ()

    # --- the release -------------------------------------------------------------------------------------------

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """That of moments of vectors up to the radius."""
        refuse_footpoint(footpoint, "mean in an ellipsoid")
        return self.moments.sensitivity(ball, n, footpoint)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """A ball of vectors for each moment."""
        return self.moments.rooms(ball)

    def value(self, records: Bounded, footpoint: Array) -> tuple[Array, Array]:
        """Both moments of narrowed coordinates, from exact sums."""
        return self.moments.value(records, footpoint)

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """Root mean square distance by which noise moves the mean."""
        return self.moments.expected_error(mechanism, scale, ball)

    # --- post-processing ---------------------------------------------------------------------------------------

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Array:  # noqa: ARG002
        """The mean of each draw."""
        second = noisy[1].vectors

        def means(first: Array) -> Array:
            pairs = zip(first, second, strict=True)
            return np.stack([self._mean(self.noisy(*pair, ball), ball.space) for pair in pairs])

        with one_blas_thread():
            return carry(noisy[0].then(means), np.zeros(ball.space.dim), ball)

    def completed(self, release: Release, noisy: list[Visible]) -> Release:
        """With its fill, and what regions are made of."""
        moments = self.noisy(noisy[0].vectors[0], noisy[1].vectors[0], release.ball)
        turn = self._turn(moments, release.space)
        vector = moments.first if turn is None else turn @ moments.first
        told = Noisy(vector, np.zeros(release.space.dim), mean_rounding(moments.radius), turn)
        return replace(release, fill=moments.fill, noisy=told)

    def noisy(self, first: Array, second: Array, ball: Ball) -> NoisyMoments:
        """One draw, in the units of the narrowed coordinates."""
        return self.moments.noisy(first, second, ball)

    def _mean(self, moments: NoisyMoments, space: Space) -> Array:
        """Coordinates at the centre."""
        return moments.widened(moments.first) if self._is_plain(space) else moments.mean_coordinates(space)

    def _is_plain(self, space: Space) -> bool:
        """Whether the tangent mean will do: in a flat space, and for a centre in a body where a trace would mislead."""
        return space.is_flat or (self.moments.is_coarse and self.moments.second == "trace")

    def _turn(self, moments: NoisyMoments, space: Space) -> Array | None:
        """What takes the first moment to the coordinates of the mean; None if it is the mean's."""
        if not self._is_plain(space):
            return moments.turn(space)
        return None if moments.axes is None else moments.wide


# --- which axes ------------------------------------------------------------------------------------------------------

# Noise counts as so much larger than it is when a variance is to be told from it: a false axis costs much.
CAUTION = 1.05
# Other axes are taken if they promise so many times less noise.
WORTH = 1.05
LEAST_REST = 0.01  # of all variance: what the directions that are not seen have together, at least
LEAST_SHARE_OF_SQUARE = 1e-12


def fitted_axes(moments: NoisyMoments, old: Axes | None, power: float = LEAST_NOISE) -> Axes | None:
    """The axes for which moments, in coordinates narrowed by the old ones, promise the least noise; or the old ones.

    Those of the coordinates, or any, with the variances that are seen through the noise; the others have even shares.
    """
    kinds = ["diagonal", "full"] if moments.kind == "full" else [moments.kind]
    total = max(moments.narrowed_total, LEAST_SHARE_OF_SQUARE * moments.radius**2)
    today = math.sqrt(total) * (math.sqrt(moments.dim) if old is None else old.size)
    found = list[tuple[float, Axes]]()
    with one_blas_thread(), suppress(np.linalg.LinAlgError):  # what cannot be found is not taken
        found += [one for kind in kinds if (one := _fitted(moments.seen_as(kind), old, power)) is not None]
    best = min(found, key=lambda pair: pair[0], default=(math.inf, old))
    return best[1] if best[0] * WORTH < today else old


def _fitted(moments: NoisyMoments, old: Axes | None, power: float) -> tuple[float, Axes] | None:
    """(noise, axes) for what is seen; None if nothing is, or if the old axes are not those of the coordinates."""
    cautious = replace(moments, second_noise=CAUTION * moments.second_noise)
    spread = cautious.narrowed_about_mean()
    if not spread.significant.any() or (moments.kind == "diagonal" and old is not None and not old.is_diagonal):
        return None
    least = LEAST_REST * spread.total / moments.dim
    spread = replace(spread, variances=np.maximum(spread.variances, least))
    if moments.kind == "diagonal":
        variances = spread.directions @ spread.variances * (1.0 if old is None else old.matrix**2)  # in their places
        return _noise(variances, power), Axes.for_variances(variances, None, power)
    if old is None:
        return _noise(spread.variances, power), Axes.for_variances(spread.variances, spread.directions, power)
    variances, directions = np.linalg.eigh(old.widened(old.widened(spread.matrix).T))
    variances = np.maximum(variances, LEAST_SHARE_OF_SQUARE * variances.max())
    return _noise(variances, power), Axes.for_variances(variances, directions, power)


def _noise(variances: Array, power: float) -> float:
    """In proportion to that of a mean, with axes C^power (docs/proofs/shaped.md, section 3); tr C^½ is the least."""
    return float(np.sqrt((variances ** (2 * power)).sum() * (variances ** (1 - 2 * power)).sum()))
