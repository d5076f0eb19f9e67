"""Linear discriminant analysis from private moments: class sums and a second moment of features, in one release.

With Gaussian noise the second moment costs nothing beside the class sums (docs/proofs/classifiers.md, section 4). What
is made of the noisy numbers is post-processing: class means, shrunk by the noise that they are known to have, and
the covariance within classes, which is that of all records less that between the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.bounded import Ball
from riemdp.privacy.release import Plan, Stage
from riemdp.privacy.spread import NoisyMoments, noise_edge
from riemdp.statistics.adaptive import Exact
from riemdp.statistics.base import Statistic, linear_sensitivity, vectors_up_to
from riemdp.statistics.class_means import ClassSums, Labelled
from riemdp.statistics.features import INTERCEPT, LEAST_OF_EDGE, Features
from riemdp.statistics.linear_classifiers import Learnt, LinearClassifier
from riemdp.statistics.moments import Moments
from riemdp.statistics.query import Query

LEAST_WITHIN = 0.05  # of the variance of all records, that within classes is not believed to be less


@dataclass(frozen=True)
class ClassMoments(Statistic):
    """(S_c, r p_c/sqrt2) for each class, as in `ClassSums`, and M2/(sqrt2 r): Euclidean sensitivity 2r/n.

    With Laplace noise a second moment is not free: there it is left out, and these are the class sums.
    """

    name: ClassVar[str] = "class-moments"
    kind: ClassVar[str] = "numbers"

    sums: ClassSums
    second: Moments = Moments("full")

    def with_noise(self, mechanism: Mechanism) -> Statistic:
        """With the weights that belong to it."""
        noisy = replace(self, sums=self.sums.with_noise(mechanism), second=self.second.with_noise(mechanism))
        return noisy if noisy.sums.is_gaussian else noisy.sums

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """That of a mean of vectors of the ball; what is rounded is far less than the last term counts."""
        return linear_sensitivity(ball, n)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """One for each class, and one for the second moment."""
        return (*self.sums.rooms(ball), self.second.rooms(ball)[1])

    def value(self, records: Labelled, footpoint: Array) -> tuple[Array, ...]:
        """All sums are exact, each number of them is rounded once or twice."""
        sums = self.sums.value(records, footpoint)
        lighter = [np.append(one[:-1], one[-1] / math.sqrt(2)) for one in sums]
        return (*lighter, self.second.value(records.records, footpoint)[1])

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """Of the class means, as for the class sums alone."""
        return self.sums.expected_error(mechanism, scale, ball)

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Array:  # noqa: ARG002
        """All of it, as numbers."""
        return np.concatenate([one.vectors for one in noisy], axis=1)


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
        statistic = ClassMoments(ClassSums(self.classes))
        return Query(self.body, self.n, self.shares[2], mechanism=self.mechanism, statistic=statistic)

    @cached_property
    def plan(self) -> Plan:
        """Of the sums."""
        return self.query.plan()

    def insist(self) -> None:
        """Raise what the sums would."""
        self.plan  # noqa: B018

    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """Moments of the features, and what follows from them."""
        place, plan, law = records.records.ball, self.plan, self.query.law(self.plan)
        vectors = Labelled(records.records.mapped(features.vectors, self.body), records.labels)
        drawn = chance.point(law, vectors)
        noisy = NoisyClasses.of(drawn.noisy, law.statistic, plan.scale, self.body, self.n)
        stage = Stage(self.name, self.shares[2], plan.mechanism, plan.sensitivity, plan.scale, place.center, place.radius)
        return Learnt(noisy.weights(self.class_weights), plan, drawn.grid, stage)


@dataclass(frozen=True, eq=False)
class NoisyClasses:
    """Sums (classes, d) of the features of each class over n, with noise of this variance; the classes' shares; and the
    covariance (d, d) of all features, as far as it is known."""

    sums: Array
    noise: float
    shares: Array
    covariance: Array

    @classmethod
    def of(cls, noisy: list[Visible], statistic: Statistic, scale: float, body: Ball, n: int) -> NoisyClasses:
        """From what was drawn; shares add up to 1 and none is below 1/n."""
        joint = statistic if isinstance(statistic, ClassMoments) else None
        sums = joint.sums if joint else statistic
        assert isinstance(sums, ClassSums)
        numbers = np.stack([one.vectors[0] for one in noisy[: sums.classes]])
        shares = numbers[:, -1] / sums.weight(body) * (math.sqrt(2) if joint else 1.0)
        shares = np.maximum(shares + (1 - shares.sum()) / len(shares), 1 / n)
        total = numbers[:, :-1].sum(axis=0)
        covariance = np.eye(body.space.dim) / body.space.dim
        if joint:
            moments = joint.second.with_scale(scale).noisy(total, noisy[-1].vectors[0], body)
            covariance = _certain_covariance(moments, body.radius)
        return cls(numbers[:, :-1], scale**2 * sums.variance(body.space.dim), shares / shares.sum(), covariance)

    def means(self) -> Array:
        """Class means about the common one, shrunk as James and Stein do by the noise that each is known to have."""
        means = self.sums / self.shares[:, None] - self.sums.sum(axis=0)
        squares = np.square(means).sum(axis=1)
        noise = means.shape[1] * self.noise / self.shares**2
        return np.asarray(means * np.maximum(1 - noise / np.maximum(squares, 1e-300), 0.0)[:, None])

    def weights(self, class_weights: Array) -> Array:
        """(d + 1, classes), from the class means and the covariance of all records."""
        means, whole = self.means(), np.linalg.cholesky(self.covariance)
        between = np.linalg.solve(whole, (means.T * self.shares) @ means) @ np.linalg.inv(whole).T
        values, vectors = np.linalg.eigh((between + between.T) / 2)
        back = np.linalg.solve(whole.T, vectors)
        solved = means @ (back / np.maximum(1 - values, LEAST_WITHIN)) @ back.T
        constants = np.log(self.shares * class_weights) - (solved * means).sum(axis=1) / 2
        return np.vstack([solved.T, (constants - solved @ self.sums.sum(axis=0)) / INTERCEPT])


def _certain_covariance(moments: NoisyMoments, radius: float) -> Array:
    """That of the features; what noise hides is not believed to be small."""
    spread = moments.about_mean(radius)
    floor = LEAST_OF_EDGE * noise_edge(moments.dim, moments.second_noise)
    return np.asarray((spread.directions * np.maximum(spread.variances, floor)) @ spread.directions.T)
