"""Linear discriminant analysis from private moments: class sums of whitened features, one release, no iterations.

What is made of the noisy sums is post-processing: class means, shrunk by the noise that they are known to have, and the
covariance within classes, which is that of all records less that between the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.bounded import Ball
from riemdp.privacy.release import Plan, Stage
from riemdp.statistics.adaptive import Exact
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.class_means import ClassSums, Labelled
from riemdp.statistics.features import INTERCEPT, Features
from riemdp.statistics.linear_classifiers import Learnt, LinearClassifier
from riemdp.statistics.query import Query

LEAST_WITHIN = 0.05  # of the variance of all records, that within classes is not believed to be less


@dataclass(frozen=True, eq=False)
class Discriminant(LinearClassifier):
    """Scores m_cᵀ S⁻¹ (u - m_c/2) + log p_c, with S the covariance within classes of features u."""

    name: ClassVar[str] = "linear-discriminant"

    @cached_property
    def body(self) -> Ball:
        """Where the features live."""
        return vectors_up_to(1.0, self.ball.space.dim)

    @cached_property
    def query(self) -> Query:
        """What is asked of the features."""
        return Query(self.body, self.n, self.shares[2], statistic=ClassSums(self.classes))

    @cached_property
    def plan(self) -> Plan:
        """Of the class sums."""
        return self.query.plan()

    def insist(self) -> None:
        """Raise what the class sums would."""
        self.plan  # noqa: B018

    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """Class sums of the features, and what follows from them."""
        place, plan = records.records.ball, self.plan
        vectors = Labelled(records.records.mapped(features.vectors, self.body), records.labels)
        law = self.query.law(plan)
        drawn = chance.point(law, vectors)
        statistic = law.statistic
        assert isinstance(statistic, ClassSums)
        sums = NoisySums.of(drawn.noisy, statistic, plan.scale, self.body, self.n)
        stage = Stage("class sums", self.shares[2], plan.mechanism, plan.sensitivity, plan.scale, place.center, place.radius)
        return Learnt(sums.weights(features.length, self.class_weights), plan, drawn.grid, stage)


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Sums (classes, d) of the features of each class over n, the classes' shares, and the variance of the sums' noise."""

    sums: Array
    shares: Array
    noise: float

    @classmethod
    def of(cls, noisy: list[Visible], statistic: ClassSums, scale: float, body: Ball, n: int) -> NoisySums:
        """From what was drawn; shares add up to 1 and none is below 1/n."""
        numbers = np.stack([one.vectors[0] for one in noisy])
        shares = numbers[:, -1] / statistic.weight(body)
        shares = np.maximum(shares + (1 - shares.sum()) / len(shares), 1 / n)
        return cls(numbers[:, :-1], shares / shares.sum(), scale**2 * statistic.variance(body.space.dim))

    def means(self) -> Array:
        """Class means about the common one, shrunk as James and Stein do by the noise that each is known to have."""
        means = self.sums / self.shares[:, None] - self.sums.sum(axis=0)
        squares = np.square(means).sum(axis=1)
        noise = means.shape[1] * self.noise / self.shares**2
        return np.asarray(means * np.maximum(1 - noise / np.maximum(squares, 1e-300), 0.0)[:, None])

    def weights(self, length: float, class_weights: Array) -> Array:
        """(d + 1, classes): of whitened features, whose covariance is the identity over length²."""
        means, dim = self.means() * length, self.sums.shape[1]
        values, vectors = np.linalg.eigh(np.eye(dim) - (means.T * self.shares) @ means)
        solved = means @ (vectors / np.maximum(values, LEAST_WITHIN)) @ vectors.T
        prior = np.log(self.shares * class_weights)
        common = self.sums.sum(axis=0) * length
        constants = prior - (solved * means).sum(axis=1) / 2 - solved @ common
        return np.vstack([solved.T * length, constants / INTERCEPT])
