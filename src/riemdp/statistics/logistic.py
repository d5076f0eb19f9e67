"""Multinomial logistic regression by private descent.

The gradient of a record's loss is an outer product: its residual (probabilities minus the indicator of its class)
times its features. Both are whole multiples of powers of two with few bits, so that a matrix product adds up the
gradients of a block of records exactly, whatever the order (docs/proofs/classifiers.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from riemdp.accounting.guarantee import GDP, PureDP
from riemdp.balls import Ball
from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.calibration import _largest
from riemdp.releases.plan import Plan
from riemdp.statistics.adaptation import split
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Exact
from riemdp.statistics.class_means import Labelled
from riemdp.statistics.class_moments import NoisyClasses
from riemdp.statistics.descent import AVERAGED, Descent, Objective, kept_in_average
from riemdp.statistics.discriminant import Discriminant
from riemdp.statistics.features import FEATURE_BITS, INTERCEPT, Features, LabelledFeatures, row_products
from riemdp.statistics.linear_classifiers import Learnt, LinearClassifier
from riemdp.statistics.worth import USELESS

LONGEST_GRADIENT = 0.125
RESIDUAL_BITS = 19
# Gradients are whole multiples of this.
GRID = LONGEST_GRADIENT * 2.0 ** -(RESIDUAL_BITS + FEATURE_BITS)
LARGEST_STEP = 800.0


@dataclass(frozen=True, eq=False)
class LogisticLoss(Objective):
    """-log p(class | features), p = softmax(features @ weights); the point is weights (d + 1, classes), flattened."""

    dim: int
    class_weights: Array
    step: float

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.class_weights)

    @cached_property
    def body(self) -> Ball:
        """Gradients up to LONGEST_GRADIENT."""
        return vectors_up_to(LONGEST_GRADIENT, (self.dim + 1) * self.classes)

    def mean_gradient(self, records: LabelledFeatures, point: Array) -> Array:
        """The sum over all records in whole numbers, divided once."""
        factors = partial(_gradients, weights=self._matrix(point), of_class=self.class_weights)
        return np.ravel(records.mean_product(factors)) * GRID

    def moved(self, point: Array, gradient: Visible) -> Array:
        """A step against the gradient; what all classes have in common tells nothing, and is left out."""
        slope = self._matrix(gradient.vectors)
        return np.asarray(point - self.step * np.ravel(slope - slope.mean(axis=1, keepdims=True)))

    def average(self, points: list[Array]) -> Array:
        """The mean of points that were passed on the way."""
        return np.asarray(np.mean(points, axis=0))

    def _matrix(self, point: Array) -> Array:
        return point.reshape(self.dim + 1, self.classes)


def _gradients(x: Array, labels: Array, *, weights: Array, of_class: Array) -> tuple[Array, Array]:
    """Features and residuals of a block, in whole numbers: each gradient is their product, in units of GRID."""
    residuals = _residuals(row_products(x, weights), labels, of_class)
    return x * 2.0**FEATURE_BITS, _forced(residuals, np.sqrt(np.square(x).sum(axis=1)))


def _residuals(scores: Array, labels: Array, of_class: Array) -> Array:
    """Probabilities minus the indicator of the record's class, times the weight of that class; 0 without a class."""
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    residuals = scores / scores.sum(axis=1, keepdims=True)
    has_class = (labels >= 0) & (labels < len(of_class))
    places = np.where(has_class, labels, 0)
    residuals[np.arange(len(labels)), places] -= 1.0
    return np.asarray(residuals * np.where(has_class, of_class[places], 0.0)[:, None])


def _forced(residuals: Array, feature_lengths: Array) -> Array:
    """Residuals in units of 2^-RESIDUAL_BITS LONGEST_GRADIENT, shortened so that each times its features is within 1.

    The last check is certain: squares of such whole numbers add up without error.
    """
    unit = 2.0**RESIDUAL_BITS
    room = (1 - 2.0**-RESIDUAL_BITS) / np.maximum(feature_lengths, INTERCEPT)
    scaled = residuals / LONGEST_GRADIENT
    sizes = np.sqrt(np.square(scaled).sum(axis=1))
    whole = np.trunc(scaled * (np.minimum(1.0, room / sizes) * unit)[:, None])
    products = np.sqrt(np.square(whole).sum(axis=1)) * feature_lengths
    whole[~(products <= unit * (1 - 2.0**-40))] = 0.0  # what is not a number too
    return np.asarray(whole)


# --- the classifier ----------------------------------------------------------------------------------------------

# More steps than the least only if each would otherwise be too long. With pure epsilon every step adds to the noise: so
# many fewer that noise falls as the guarantee grows.
LEAST_STEPS, MOST_STEPS, PURE_STEPS = 60, 200, 5
# Shares of steps grow with this power of what of each stays in the average. (With pure epsilon they are equal.)
EARLY = 0.5
REACH = 1.5  # how far all steps may lead together, in units of n strength: beyond, noise grows faster than they gain


def _usual_steps(needed: int, is_pure: bool) -> int:
    """How many steps there are, if so many of the largest would lead as far as they may."""
    if is_pure:
        return min(max(math.isqrt(needed), PURE_STEPS), LEAST_STEPS)
    return min(max(needed, LEAST_STEPS), MOST_STEPS)


@dataclass(frozen=True, eq=False)
class LogisticRegression(LinearClassifier):
    """By descent: steps of one length from 0, whose later points are averaged.

    With pure epsilon every step adds to the noise. If even a few would drown in it, there is one unless more are asked
    for: along class sums, whose noise is that of each class by itself.
    """

    name: ClassVar[str] = "logistic-regression"

    steps: int | None = None  # by default as many as public numbers say

    @cached_property
    def descent(self) -> Descent:
        """How many steps and how long they are, from public numbers."""
        share, far = self.shares.learnt, REACH * self.n * self._strength / LONGEST_GRADIENT
        steps = self.steps or _usual_steps(math.ceil(far / LARGEST_STEP), isinstance(share, PureDP))
        loss = LogisticLoss(self.ball.space.dim, self.class_weights, min(far / steps, LARGEST_STEP))
        weights = np.ones(steps) if isinstance(share, PureDP) else kept_in_average(steps, AVERAGED) ** EARLY
        return Descent(loss, self.n, tuple(split(share, (weights / weights.sum()).tolist())))

    @property
    def _strength(self) -> float:
        """The mu of what is learnt; for pure epsilon, by which noise of so many numbers is as large in each."""
        share, numbers = self.shares.learnt, (self.ball.space.dim + 1) * self.classes
        return share.epsilon / math.sqrt(numbers) if isinstance(share, PureDP) else _largest(GDP, share)

    @cached_property
    def only_step(self) -> Discriminant | None:
        """What the sums of the classes are asked from, if they are all that is asked."""
        is_pure = isinstance(self.shares.learnt, PureDP)
        if self.steps is not None or not is_pure or self._noise_of_steps <= USELESS:
            return None
        facts = (self.ball, self.n, self.guarantee, self.labels, self.class_weights, self.adapt, self.unit)
        return Discriminant(*facts)

    @cached_property
    def plan(self) -> Plan:
        """Of the first step; the error is that of the weights, where no record pulls them back, and less elsewhere."""
        if self.only_step is not None:
            return replace(self.only_step.plan, note="one step, along sums of the classes")
        step = self.descent.plans()[0]
        error = step.expected_error * self.descent.drift * self._loss.step * math.sqrt(1 - 1 / max(self.classes, 2))
        note = f"{len(self.descent.shares)} steps along their mean gradient, the first with this noise"
        return replace(step, guarantee=self.guarantee, expected_error=error, note=note)

    @property
    def _loss(self) -> LogisticLoss:
        assert isinstance(self.descent.objective, LogisticLoss)
        return self.descent.objective

    def _first_step(self, noisy: NoisyClasses) -> Array:
        return noisy.step(self.class_weights)

    @property
    def noise(self) -> float:
        """Of the steps, or of the one that is taken instead of them."""
        return self._noise_of_steps if self.only_step is None else self.only_step.noise

    @property
    def _noise_of_steps(self) -> float:
        """Along the gradient, against as many of the greatest length that a class of equal share can have."""
        descent, body = self.descent, self._loss.body
        of_class = descent.plans()[0].expected_error * descent.drift / math.sqrt(self.classes)
        return self.classes * of_class / (len(descent.shares) * body.radius)

    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """The weights to which the steps lead."""
        if self.only_step is not None:
            return self.only_step.learnt(records, features, chance, self._first_step, "1 step")
        descent, known = self.descent, LabelledFeatures.of(records, features)
        path = descent.run(known, chance, np.zeros(descent.objective.body.space.dim))
        stage = descent.stage(self.shares.learnt, records.records.ball)
        return Learnt(path.point.reshape(-1, self.classes), path.grid, stage)
