"""Multinomial logistic regression by private descent.

The gradient of a record's loss is an outer product: its residual (probabilities minus the indicator of its class)
times its features. Both are whole multiples of powers of two with few bits, so that a matrix product adds up the
gradients of a block of records exactly, whatever the order (docs/proofs/classifiers.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from riemdp.accounting.guarantee import GDP, PureDP
from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.bounded import Ball
from riemdp.privacy.calibration import _largest
from riemdp.statistics.adaptation import split
from riemdp.statistics.adaptive import Exact
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.class_means import Labelled
from riemdp.statistics.descent import Descent, Objective
from riemdp.statistics.features import FEATURE_BITS, INTERCEPT, Features, LabelledFeatures
from riemdp.statistics.linear_classifiers import Learnt, LinearClassifier

LONGEST_GRADIENT = 0.25
RESIDUAL_BITS = 19
# Gradients are whole multiples of this.
GRID = LONGEST_GRADIENT * 2.0 ** -(RESIDUAL_BITS + FEATURE_BITS)
LARGEST_STEP = 400.0


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
        public = {"weights": self._matrix(point), "of_class": self.class_weights}
        task = partial(_sum_of_gradients, labels=records.labels, **public)
        total = sum(block.astype(object) for block in records.features.map(task))
        return np.array([int(entry) / records.n for entry in np.ravel(total)]) * GRID

    def moved(self, point: Array, gradient: Visible) -> Array:
        """A step against the gradient; what all classes have in common tells nothing, and is left out."""
        slope = self._matrix(gradient.vectors)
        return np.asarray(point - self.step * np.ravel(slope - slope.mean(axis=1, keepdims=True)))

    def average(self, points: list[Array]) -> Array:
        """Their mean."""
        return np.asarray(np.mean(points, axis=0))

    def _matrix(self, point: Array) -> Array:
        return point.reshape(self.dim + 1, self.classes)


def _sum_of_gradients(x: Array, start: int, *, labels: Array, weights: Array, of_class: Array) -> Array:
    """Sum over a block of features ⊗ residuals, in units of GRID: exact, as products of integers below 2^53."""
    residuals = _residuals(x @ weights, labels[start : start + len(x)], of_class)
    whole = _forced(residuals, np.sqrt(np.square(x).sum(axis=1)))
    return np.asarray((x * 2.0**FEATURE_BITS).T @ whole).astype(np.int64)


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

STEPS, PURE_STEPS = 100, 5  # with pure epsilon, each step costs as much noise as all others together


@dataclass(frozen=True, eq=False)
class LogisticRegression(LinearClassifier):
    """By descent: equal steps from 0, whose later points are averaged."""

    name: ClassVar[str] = "logistic-regression"

    steps: int | None = None

    @cached_property
    def descent(self) -> Descent:
        """How many steps and how long they are, from public numbers.

        All together may lead n strength far, beyond which their noise grows faster than they gain.
        """
        share, dim = self.shares[2], self.ball.space.dim
        is_pure, numbers = isinstance(share, PureDP), (dim + 1) * self.classes
        steps = self.steps or (PURE_STEPS if is_pure else STEPS)
        strength = share.epsilon / math.sqrt(numbers) if isinstance(share, PureDP) else _largest(GDP, share)
        step = min(self.n * strength / (steps * LONGEST_GRADIENT), LARGEST_STEP)
        return Descent(LogisticLoss(dim, self.class_weights, step), self.n, tuple(split(share, [1 / steps] * steps)))

    def insist(self) -> None:
        """Raise what some step would."""
        self.descent.plans()

    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """The weights to which the steps lead."""
        descent, known = self.descent, LabelledFeatures.of(records.records, records.labels, features)
        path = descent.run(known, chance, np.zeros(descent.objective.body.space.dim))
        stage = descent.stage(self.shares[2], records.records.ball)
        return Learnt(path.point.reshape(-1, self.classes), path.plan, path.grid, stage)
