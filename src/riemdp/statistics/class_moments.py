"""Moments of classes: sums of features in each class, its share, and the second moment of all, in one release.

With Gaussian noise the second moment costs nothing beside the class sums (docs/proofs/classifiers.md, section 4). What
is made of the noisy numbers is post-processing: class means, shrunk by the noise that they are known to have, and
the covariance within classes, which is that of all records less that between the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from riemdp.arithmetic import round_up
from riemdp.balls import Ball
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, Wrapped, require_wrapped
from riemdp.statistics.base import Statistic, refuse_footpoint, vectors_up_to
from riemdp.statistics.features import FEATURE_BITS, INTERCEPT, LEAST_OF_EDGE, LEAST_SPREAD, LabelledFeatures
from riemdp.statistics.sensitivity import with_solver_error
from riemdp.summaries.spread import NoisyMoments, noise_edge

LEAST_RATIO = 1e-10  # of variances that float64 tells apart
LEAST_WITHIN = 0.2  # of the variance of all records, that within classes is not believed to be less
ROOT_OF_TWO = 1.4142135623730951  # not below it
ROOT_OF_HALF = 0.7071067811865475  # not above it


@dataclass(frozen=True)
class ClassMoments(Statistic):
    """(S_c, w p_c) for each class, S_c = (1/n) sum_{y_i = c} u_i of features |u| <= 1, p_c the class's share; and M2/c.

    Gaussian noise: w = 1/sqrt2, c = sqrt2, Euclidean sensitivity 2/n. Laplace noise, isotropic for each class by
    itself: w = d^(-1/4), no second moment, and the sum of lengths has sensitivity 2 sqrt(1 + w²)/n.
    """

    name: ClassVar[str] = "class-moments"
    kind: ClassVar[str] = "numbers"

    classes: int
    noise: Wrapped = WRAPPED_GAUSSIAN

    def with_noise(self, mechanism: Mechanism) -> ClassMoments:
        """The statistic with the weights that belong to this noise."""
        return replace(self, noise=require_wrapped(mechanism))

    @property
    def is_gaussian(self) -> bool:
        """Whether the Euclidean norm measures the sensitivity; else a sum of lengths does."""
        return self.noise.name == WRAPPED_GAUSSIAN.name

    def weight(self, dim: int) -> float:
        """w, of the classes' shares."""
        return ROOT_OF_HALF if self.is_gaussian else float(dim) ** -0.25

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """In the norm that belongs to the noise, plus twice what is rounded."""
        refuse_footpoint(footpoint, self.name)
        extra = 0.0 if self.is_gaussian else self.weight(ball.space.dim)
        return with_solver_error(round_up(lambda w: 2 * (1 + w**2).sqrt() / n, extra), 4 * UNIT_ROUNDOFF)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """One for each class, and one for the second moment."""
        dim = ball.space.dim
        of_class = vectors_up_to(math.hypot(1.0, self.weight(dim)), dim + 1)
        return (of_class,) * self.classes + (vectors_up_to(1.0, dim * (dim + 1) // 2),) * self.is_gaussian

    def value(self, records: LabelledFeatures, footpoint: Array) -> Array | tuple[Array, ...]:  # noqa: ARG002
        """All sums are exact; each number is rounded once for the quotient, and once for its weight."""
        means = records.mean_product(partial(_moments, classes=self.classes))
        sums, second = means[: self.classes], means[self.classes :, :-1] * 4.0**-FEATURE_BITS
        sums = sums * np.append(np.full(sums.shape[1] - 1, 2.0**-FEATURE_BITS), self.weight(sums.shape[1] - 1))
        values = (*sums, _weighted_triangle(second)) if self.is_gaussian else tuple(sums)
        return values if len(values) > 1 else values[0]

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:  # noqa: ARG002
        """Predicted error of the class means, for classes of equal size."""
        dim = ball.space.dim
        return float(self.classes**1.5) * scale * math.sqrt(dim * self.variance(dim))

    def variance(self, dim: int) -> float:
        """Variance of the noise in one coordinate of a class's sum, at scale 1."""
        return self.noise.mean_square(dim + 1) / (dim + 1)

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Array:  # noqa: ARG002
        """All that was drawn, as one row of numbers."""
        return np.concatenate([one.vectors for one in noisy], axis=1)


def _moments(x: Array, labels: Array, *, classes: int) -> tuple[Array, Array]:
    """In whole numbers: the class of each row, and u if it has one; and (u, 1). Products have 38 bits at most."""
    vectors, of_class = x[:, :-1] * 2.0**FEATURE_BITS, labels[:, None] == np.arange(classes)
    seen = np.where(of_class.any(axis=1, keepdims=True), vectors, 0.0)
    return np.column_stack([of_class.astype(np.float64), seen]), np.column_stack([vectors, np.ones(len(x))])


def _weighted_triangle(matrix: Array) -> Array:
    """The diagonal over sqrt2, then what is above it, which counts sqrt2 in the norm of matrices."""
    return np.concatenate([matrix.diagonal() / ROOT_OF_TWO, matrix[np.triu_indices(len(matrix), 1)]])


def _matrix(triangle: Array, dim: int) -> Array:
    """The inverse of `_weighted_triangle`."""
    matrix, (i, j) = np.diag(triangle[:dim] * ROOT_OF_TWO), np.triu_indices(dim, 1)
    matrix[i, j] = matrix[j, i] = triangle[dim:]
    return matrix


# --- what is made of them ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NoisyClasses:
    """What is known of the classes: sums (classes, d) of features over n, with noise of this variance, and shares.

    The covariance (d, d) is that of all features, as far as it is known.
    """

    sums: Array
    noise: float
    shares: Array
    covariance: Array

    @classmethod
    def of(cls, noisy: list[Array], statistic: ClassMoments, scale: float, n: int) -> NoisyClasses:
        """From what was drawn; shares add up to 1 and none is below 1/n.

        Without a second moment, features are taken to be even, and as long as most of them are.
        """
        numbers, dim = np.stack(noisy[: statistic.classes]), len(noisy[0]) - 1
        shares = numbers[:, -1] / statistic.weight(dim)
        shares = np.maximum(shares + (1 - shares.sum()) / len(shares), 1 / n)
        covariance = np.eye(dim) / dim
        if statistic.is_gaussian:
            covariance = _certain(moments_of_all(noisy, scale))
        return cls(numbers[:, :-1], scale**2 * statistic.variance(dim), shares / shares.sum(), covariance)

    def means(self) -> Array:
        """Class means about the common one, shrunk as James and Stein do by the noise that each is known to have."""
        means = self.sums / self.shares[:, None] - self.sums.sum(axis=0)
        squares = np.square(means).sum(axis=1)
        noise = means.shape[1] * self.noise / self.shares**2
        return np.asarray(means * np.maximum(1 - noise / np.maximum(squares, 1e-300), 0.0)[:, None])

    def step(self, class_weights: Array) -> Array:
        """(d + 1, classes): the gradient of the logistic loss at 0, as far as a discriminant of even features would go.

        Sums, not means: a share that noise has made small does not blow anything up.
        """
        sums = class_weights[:, None] * np.column_stack([self.sums, INTERCEPT * self.shares])
        slope = sums - sums.mean(axis=0)
        noise = slope[:, :-1].size * self.noise / max(float(np.square(slope[:, :-1]).sum()), 1e-300)
        return np.asarray(slope.T * slope.size * max(1 - noise, LEAST_WITHIN))

    def weights(self, class_weights: Array, even: bool = False) -> Array:
        """(d + 1, classes), from the class means and the covariance of all records.

        If features have been made `even` within classes, of their covariance nothing but the trace is believed.
        """
        means = self.means()
        solved = means / self._variance_within(means) if even else self._solved(means)
        constants = np.log(self.shares * class_weights) - (solved * means).sum(axis=1) / 2
        return np.vstack([solved.T, (constants - solved @ self.sums.sum(axis=0)) / INTERCEPT])

    def _solved(self, means: Array) -> Array:
        """In coordinates in which the covariance is the identity, what is within is 1 less what is between classes."""
        root = np.linalg.cholesky(self.covariance)
        evened = np.linalg.solve(root, means.T)
        values, vectors = np.linalg.eigh((evened * self.shares) @ evened.T)
        back = np.linalg.solve(root.T, vectors)
        return np.asarray(means @ (back / np.maximum(1 - values, LEAST_WITHIN)) @ back.T)

    def _variance_within(self, means: Array) -> float:
        """The same in all directions."""
        total = float(np.trace(self.covariance))
        between = float(self.shares @ np.square(means).sum(axis=1))
        return float(max(total - between, LEAST_WITHIN * total) / len(self.covariance))


def moments_of_all(noisy: list[Array], scale: float) -> NoisyMoments:
    """Of the features of all records that have a class, from what was drawn with Gaussian noise."""
    *sums, triangle = noisy
    first, noise = np.sum(sums, axis=0)[:-1], scale * math.sqrt(len(sums))
    return NoisyMoments("full", first, _matrix(triangle, len(first)), noise, ROOT_OF_TWO * scale, 1.0)


def _certain(moments: NoisyMoments) -> Array:
    """The covariance of features; what noise or float64 hides is not believed to be small."""
    spread = moments.about_mean()
    floor = max(LEAST_OF_EDGE * noise_edge(moments.dim, moments.second_noise), LEAST_SPREAD**2)
    variances = np.maximum(spread.variances, max(floor, LEAST_RATIO * spread.variances.max()))
    return np.asarray((spread.directions * variances) @ spread.directions.T)
