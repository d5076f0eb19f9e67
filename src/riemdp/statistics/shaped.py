"""A mean with noise in the shape of an ellipsoid: a linear release of narrowed coordinates, widened again.

Records' coordinates v at the ball's centre are narrowed to u = S⁻¹ v, forced into |u| <= R, and their moments released
as in a summary; the mean is exp(H⁻¹ S E[u]), H the Hessian of the Fréchet function from the second moment. The noise
has length |S|/sqrt(d) times that of a ball of radius R (docs/proofs/shaped.md).
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np

from riemdp.axes import Axes
from riemdp.balls import Ball, mean_rounding
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array, Space
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Bounded
from riemdp.regions import Noisy
from riemdp.releases.release import Release
from riemdp.statistics.base import Statistic, refuse_footpoint, vectors_up_to
from riemdp.statistics.moments import Moments
from riemdp.summaries.spread import NoisyMoments, inverse_hessian


@dataclass(frozen=True, eq=False)
class ShapedMean(Statistic):
    """The Fréchet mean of records in an ellipsoid around the ball's centre, by their moments."""

    name: ClassVar[str] = "frechet-mean"

    radius: float  # of the narrowed coordinates
    axes: Axes | None = None  # without them, the ball itself
    moments: Moments = field(default_factory=Moments)  # how they are released, in narrowed coordinates

    @classmethod
    def within(cls, space: Space, radius: float, axes: Axes | None) -> ShapedMean:
        """With the second moments that the Hessian needs; in a flat space just their trace, for the fill."""
        return cls(radius, axes, Moments("trace" if space.is_flat else "auto"))

    def with_noise(self, mechanism: Mechanism) -> ShapedMean:
        """The statistic with the weights that belong to this noise."""
        return replace(self, moments=self.moments.with_noise(mechanism))

    def with_scale(self, scale: float) -> ShapedMean:
        """The statistic that knows the scale of its noise."""
        return replace(self, moments=self.moments.with_scale(scale))

    def supposes(self, space: Space) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing: it is linear."""
        return ()

    def room(self, ball: Ball) -> Ball:
        """The ball in which narrowed coordinates are."""
        return vectors_up_to(self.radius, ball.space.dim)

    # --- the release -------------------------------------------------------------------------------------------

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """That of moments of vectors up to the radius."""
        refuse_footpoint(footpoint, "mean in an ellipsoid")
        return self.moments.sensitivity(self.room(ball), n, footpoint)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """A ball of vectors for each moment."""
        return self.moments.rooms(self.room(ball))

    def vectors(self, records: Bounded) -> Bounded:
        """Narrowed coordinates, each by itself, forced into the ellipsoid."""
        turn = partial(_narrowed, axes=self.axes, grid=records.ball.grid)
        return records.mapped(turn, self.room(records.ball))

    def value(self, records: Bounded, footpoint: Array) -> tuple[Array, Array]:
        """Both moments of narrowed coordinates, from exact sums."""
        return self.moments.value(self.vectors(records), footpoint)

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """Root mean square distance by which noise moves the mean."""
        return mechanism.expected_error(scale * self.stretch(ball.space.dim) / math.sqrt(ball.space.dim), ball)

    def stretch(self, dim: int) -> float:
        """By how much noise grows over that of one coordinate."""
        return math.sqrt(dim) if self.axes is None else self.axes.size

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
        off = mean_rounding(self.room(release.ball).radius)
        told = Noisy(turn @ moments.first, np.zeros(release.space.dim), off, turn)
        return replace(release, fill=moments.fill(self.radius), noisy=told)

    def noisy(self, first: Array, second: Array, ball: Ball) -> NoisyMoments:
        """One draw, in the units of the narrowed coordinates."""
        return self.moments.noisy(first, second, self.room(ball))

    def _mean(self, moments: NoisyMoments, space: Space) -> Array:
        """Coordinates at the centre."""
        if self._is_plain(space):
            return moments.first if self.axes is None else self.axes.widened(moments.first)
        return np.asarray(self._turn(moments, space) @ moments.first)

    def _is_plain(self, space: Space) -> bool:
        """Whether the tangent mean will do: in a flat space, and for a centre in a body where a trace would mislead."""
        return space.is_flat or (self.moments.is_coarse and self.moments.second == "trace")

    def _turn(self, moments: NoisyMoments, space: Space) -> Array:
        """H⁻¹ S (d, d): what takes the first moment to the coordinates of the mean."""
        wide = np.eye(space.dim) if self.axes is None else self.axes.widened(np.eye(space.dim)).T
        if self._is_plain(space):
            return wide
        return np.asarray(inverse_hessian(space, wide @ moments.about_centre(self.radius).matrix @ wide.T) @ wide)


def _narrowed(coords: Array, axes: Axes | None, grid: int) -> Array:
    return coords if axes is None else axes.narrowed(coords, grid)


# --- which axes ------------------------------------------------------------------------------------------------------

# Noise counts as so much larger than it is when a variance is to be told from it: a false axis costs much.
CAUTION = 1.05
# Other axes are taken if they promise so many times less noise.
WORTH = 1.05
LEAST_REST = 0.01  # of all variance: what the directions that are not seen have together, at least


def fitted_axes(moments: NoisyMoments, radius: float, old: Axes | None) -> Axes | None:
    """The axes for which moments, in coordinates narrowed by the old ones, promise the least noise; or the old ones.

    Those of the coordinates, or any, with the variances that are seen through the noise; the others have even shares.
    """
    kinds = ["diagonal", "full"] if moments.kind == "full" else [moments.kind]
    total = max(moments.trace_about_mean, LEAST_SHARE_OF_SQUARE * radius**2)
    today = math.sqrt(total) * (math.sqrt(moments.dim) if old is None else old.size)
    found = list[tuple[float, Axes]]()
    with one_blas_thread(), suppress(np.linalg.LinAlgError):  # what cannot be found is not taken
        found += [one for kind in kinds if (one := _fitted(moments.seen_as(kind), radius, old)) is not None]
    best = min(found, key=lambda pair: pair[0], default=(math.inf, old))
    return best[1] if best[0] * WORTH < today else old


LEAST_SHARE_OF_SQUARE = 1e-12


def _fitted(moments: NoisyMoments, radius: float, old: Axes | None) -> tuple[float, Axes] | None:
    """(tr C^½, axes) of what is seen; None if nothing is, or if the old axes are not those of the coordinates."""
    cautious = replace(moments, second_noise=CAUTION * moments.second_noise)
    spread = cautious.about_mean(radius)
    if not spread.significant.any() or (moments.kind == "diagonal" and old is not None and not old.is_diagonal):
        return None
    least = LEAST_REST * spread.total / moments.dim
    spread = replace(spread, variances=np.maximum(spread.variances, least))
    if moments.kind == "diagonal":
        variances = spread.directions @ spread.variances * (1.0 if old is None else old.matrix**2)  # in their places
        return float(np.sqrt(variances).sum()), Axes.for_variances(variances)
    if old is None:
        return float(np.sqrt(spread.variances).sum()), Axes.for_variances(spread.variances, spread.directions)
    variances, directions = np.linalg.eigh(old.widened(old.widened(spread.matrix).T))
    variances = np.maximum(variances, LEAST_SHARE_OF_SQUARE * variances.max())
    return float(np.sqrt(variances).sum()), Axes.for_variances(variances, directions)
