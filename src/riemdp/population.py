"""How far the mean of a summary may be from that of the population: sampling, and the noise of the release.

Both moments were released, so the covariance of the mean's error is known, but for the noise and the sampling of the
covariance itself. A region is an ellipsoid of it; its quantile is that of Hotelling's law for as many degrees of
freedom as the covariance is known to, for the least favourable covariance where not all of it is known
(docs/proofs/regions.md, section 5). Asymptotic: coverage is measured (docs/guides/regions.md). All of it is
post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, fdtri

from riemdp.balls import mean_rounding
from riemdp.manifolds import Space
from riemdp.regions import (
    Chart,
    InCoordinates,
    Region,
    Released,
    laplace_quantile,
    normal_quantile,
    probability,
    rounding,
)

Array = NDArray[Any]
FEWEST_DEGREES = 2.0  # of the law of what is hardly known
DRAWS = 2**14  # for a quantile without a formula


# --- what is needed of a summary --------------------------------------------------------------------------------


class Variances(Protocol):
    """Variances along orthonormal directions, in columns."""

    @property
    def variances(self) -> Array:
        """The variance along each direction, cleared of noise."""

    @property
    def directions(self) -> Array:
        """Orthonormal directions, in columns."""

    @property
    def significant(self) -> Array:
        """Which variances are seen through the noise; others are but a share of their sum."""


class Moments(Protocol):
    """Noisy moments of the records' coordinates at the centre of a ball."""

    @property
    def kind(self) -> str:
        """Which second moments there are: full, diagonal or trace."""

    @property
    def first_noise(self) -> float:
        """Standard deviation of the noise in each coordinate of the mean."""

    @property
    def second_noise(self) -> float:
        """Standard deviation of the noise in each number of the second moments."""

    @property
    def radius(self) -> float:
        """No vector whose moments were taken is longer."""

    def narrowed_about_mean(self) -> Variances:
        """The covariance, cleared of noise, in coordinates in which that is the same in all directions."""

    def turn(self, space: Space) -> Array:
        """What takes the first moment to the coordinates of the mean."""

    def mean_coordinates(self, space: Space) -> Array:
        """The coordinates of the mean."""


class Summarised(Released, Protocol):
    """A release of both moments, of coordinates at the centre of its ball."""

    @property
    def moments(self) -> Moments:
        """The noisy moments, as they were released."""

    @property
    def n(self) -> int:
        """The number of records, or of people."""


# --- the error of a mean ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weights:
    """T = sum of weights times chi-squares of so many degrees; the noise's share of each weight may be of random size.

    The weights are those of the least favourable covariance among those that are not known apart.
    """

    weights: Array  # (groups,)
    noise: Array  # (groups,), the part of the weights that is the noise of the release
    degrees: tuple[int, ...]
    is_laplace: bool

    def stretch(self, level: float) -> float:
        """The quantile of T over that of a chi-square law: 1 where all is known and the noise is normal.

        Both are those of the same draws, so that what these are off nearly cancels.
        """
        if not self.is_laplace and np.ptp(self.weights) == 0:
            return 1.0
        squares, variance = _squares(self.degrees)
        weights = self.weights + (variance - 1) * self.noise if self.is_laplace else self.weights
        stretched, plain = (weights * squares).sum(axis=1), squares.sum(axis=1)
        return float(np.quantile(stretched, level) / np.quantile(plain, level))


@lru_cache(maxsize=16)
def _squares(degrees: tuple[int, ...]) -> tuple[Array, Array]:
    """Draws with a fixed seed: chi-squares, and the variance of isotropic Laplace noise, which is normal given it.

    It is a chi-square of d + 1 degrees (docs/proofs/ideal_noise.md), here over its mean.
    """
    rng, dim = np.random.default_rng(0), sum(degrees)
    squares = np.stack([rng.chisquare(count, DRAWS) for count in degrees], axis=1)
    return squares, rng.chisquare(dim + 1, (DRAWS, 1)) / (dim + 1)


@dataclass(frozen=True, eq=False)
class MeanError:
    """The mean in coordinates, the covariance of its error, and how well that is known."""

    chart: Chart
    coords: Array
    axes: Array  # (d, d), A of the covariance A Aᵀ
    degrees: float  # of freedom of the covariance
    known: int  # how many numbers of its spectrum are estimated
    weights: Weights

    @property
    def dim(self) -> int:
        """The dimension of the space."""
        return len(self.coords)

    def quantile(self, level: float) -> float:
        """The quantile of deltaᵀ S⁻¹ delta, delta the error and S its estimated covariance."""
        return self.weights.stretch(level) * hotelling(self.dim, self.degrees, self.known).ppf(level)


@dataclass(frozen=True)
class Hotelling:
    """The law factor times F(dim, degrees)."""

    factor: float
    dim: int
    degrees: float

    def ppf(self, level: float) -> float:
        """The quantile of the law at this level."""
        return float(self.factor * fdtri(self.dim, self.degrees, level))

    def sf(self, value: float) -> float:
        """The probability of more than the value."""
        return float(fdtrc(self.dim, self.degrees, value / self.factor))


def hotelling(dim: int, degrees: float, known: int) -> Hotelling:
    """Hotelling's T² of a covariance of which `known` numbers are estimated, to so many degrees of freedom."""
    left = max(degrees - known + 1, FEWEST_DEGREES)
    return Hotelling(dim * max(degrees, FEWEST_DEGREES) / left, dim, left)


def mean_error(summary: Summarised) -> MeanError:
    """T (C/n + s₁²) Tᵀ, C of the coordinates whose moments were taken, and T what makes a mean of the first."""
    space, moments, n = summary.space, summary.moments, summary.n
    spread = moments.narrowed_about_mean()
    variances = spread.variances / n + moments.first_noise**2
    return MeanError(
        chart=Chart(space, summary.ball.inner_center, np.zeros(space.dim)),
        coords=moments.mean_coordinates(space),
        axes=(moments.turn(space) @ spread.directions) * np.sqrt(variances),
        degrees=_degrees(moments, spread, variances, n),
        known=int(spread.significant.sum()) + (not spread.significant.all()),
        weights=_least_favourable(moments, spread, variances, n, summary.mechanism),
    )


def _degrees(moments: Moments, spread: Variances, variances: Array, n: int) -> float:
    """2/v is the relative variance of a variance in Wishart's law; a share of a sum is known better than an entry."""
    unseen = max(int((~spread.significant).sum()), 1)
    shared = np.where(spread.significant, 1.0, unseen)
    sampling = (spread.variances / (n * variances)) ** 2 / n
    noise = (moments.second_noise / (n * variances)) ** 2 / 2 / (unseen if moments.kind == "trace" else 1)
    return float(1 / np.mean((sampling + noise) / shared))


def _least_favourable(moments: Moments, spread: Variances, variances: Array, n: int, mechanism: str) -> Weights:
    """Of what is known as a sum only, as much as can be in one direction: so quantiles of usual levels are largest."""
    noise, is_laplace = moments.first_noise**2 / variances, mechanism.endswith("laplace")
    hidden = ~spread.significant if moments.kind == "full" else np.ones(len(variances), dtype=bool)
    count, seen = int(hidden.sum()), int((~hidden).sum())
    groups = [(1.0, float(noise[~hidden].mean()), seen)] if seen else []
    if count == 1:
        groups.append((1.0, float(noise[hidden][0]), 1))
    elif count > 1:
        least = float(noise[hidden].min())
        most = count - (count - 1) * least
        if moments.kind == "full":  # a larger variance would have been seen
            edge = moments.second_noise * math.sqrt(2 * len(variances)) / n
            most = min(most, max(edge / float(variances[hidden].max()) + least, 1.0))
        groups += [(most, least, 1), ((count - most) / (count - 1), least, count - 1)]
    weights, share, degrees = zip(*groups, strict=True)
    return Weights(np.array(weights), np.array(share), degrees, is_laplace)


# --- regions ----------------------------------------------------------------------------------------------------


def population_region(summary: Summarised, level: Any) -> Region:
    """The ellipsoid of the error's covariance."""
    share, error = probability(level), mean_error(summary)
    shape = InCoordinates(error.chart, error.coords, error.axes)
    return Region(share, "population", summary.space, math.sqrt(error.quantile(share)), shape)


def summary_region(summary: Summarised, level: Any) -> Region:
    """Where the mean of the records is: the noise of the first moment, turned as the mean itself."""
    share, space, moments = probability(level), summary.space, summary.moments
    quantile = laplace_quantile if summary.mechanism.endswith("laplace") else normal_quantile
    chart = Chart(space, summary.ball.inner_center, np.zeros(space.dim))
    shape = InCoordinates(chart, moments.mean_coordinates(space), moments.turn(space))
    radius = summary.scale * (quantile(space.dim, share) + rounding(space.dim)) + mean_rounding(moments.radius)
    return Region(share, "records", space, radius, shape)


SUMMARY_REGIONS = {"records": summary_region, "population": population_region}
