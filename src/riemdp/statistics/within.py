"""Features that are even within classes: what tells classes apart is then longer than what does not.

Two releases: moments of classes, and the second moment of what each record's features differ by from the noisy mean of
its class. The second has no more noise than a shape of all records, since that mean is public by then
(docs/proofs/classifiers.md, section 5); that it is a little off makes records look a little wider, evenly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.manifolds.base import Array
from riemdp.releases.plan import Plan
from riemdp.releases.release import Stage
from riemdp.statistics.base import Statistic, vectors_up_to
from riemdp.statistics.chance import Exact
from riemdp.statistics.class_means import Labelled
from riemdp.statistics.class_moments import ClassMoments, NoisyClasses, moments_of_all
from riemdp.statistics.features import FEATURE_BITS, Features, LabelledFeatures, whitened
from riemdp.statistics.query import Query
from riemdp.statistics.shape import ROOT_OF_HALF, SecondMoment, spread_of
from riemdp.summaries.spread import Spread


@dataclass(frozen=True, eq=False)
class SpreadWithin(Statistic):
    """M = (1/n) sum w wᵀ, w what features of a record and the public mean of its class differ by, |w| <= 1."""

    name: ClassVar[str] = "spread-within-classes"
    kind: ClassVar[str] = SecondMoment.kind

    means: Array  # (classes, d), public
    features: Features  # of what is left; public

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """The sensitivity of second moments of unit vectors."""
        return SecondMoment().sensitivity(ball, n, footpoint)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """Matrices of norm 1 at most."""
        return SecondMoment().rooms(ball)

    def value(self, records: LabelledFeatures, footpoint: Array) -> Array:  # noqa: ARG002
        """The numbers of a second moment: quotients of integers, each rounded once, and once for its weight."""
        matrix = records.mean_product(partial(_left, means=self.means, features=self.features)) * 4.0**-FEATURE_BITS
        return np.concatenate([matrix.diagonal(), matrix[np.triu_indices(len(matrix), 1)] / ROOT_OF_HALF])


def _left(x: Array, labels: Array, *, means: Array, features: Features) -> tuple[Array, Array]:
    """w of each row in whole numbers, twice; 0 without a class."""
    has_class = (labels >= 0) & (labels < len(means))
    left = features.vectors(x[:, :-1] - means[np.where(has_class, labels, 0)])
    whole = np.where(has_class[:, None], left * 2.0**FEATURE_BITS, 0.0)
    return whole, whole


@dataclass(frozen=True, eq=False)
class Within:
    """The public side of both releases, of n records with features of this dimension; noise is Gaussian."""

    dim: int
    n: int
    classes: int
    shares: tuple[Guarantee, Guarantee]
    mechanism: str

    def plans(self) -> tuple[Plan, Plan]:
        """Noise of both releases; raises what either would refuse, before anything is spent."""
        spread = self._spread(np.zeros((self.classes, self.dim)), _as_they_are(self.dim))
        return self._moments.plan(), spread.plan()

    @property
    def _moments(self) -> Query:
        return self._query(self.shares[0], ClassMoments(self.classes))

    def _spread(self, means: Array, features: Features) -> Query:
        return self._query(self.shares[1], SpreadWithin(means, features))

    def _query(self, share: Guarantee, statistic: Any) -> Query:
        return Query(vectors_up_to(1.0, self.dim), self.n, share, mechanism=self.mechanism, statistic=statistic)

    def evened(self, features: Features, records: Labelled, chance: Exact) -> tuple[Features, list[Stage]]:
        """Features in which the spread within classes is the identity, as far as noise lets one see; what was done."""
        known, place = LabelledFeatures.of(records, features), records.records.ball
        found, first = self._of_classes(known, place, chance)
        query = self._spread(found.means, whitened(_as_they_are(self.dim), found.spread, found.noise))
        plan = query.plan()
        drawn = chance.point(query.law(plan), known)
        noise = plan.expected_error / math.sqrt(drawn.points.shape[1])
        even = whitened(whitened(features, found.spread, found.noise), spread_of(drawn.points[0], noise), noise)
        return even, [first, _stage("spread within classes", query, plan, place)]

    def _of_classes(self, known: LabelledFeatures, place: Ball, chance: Exact) -> tuple[_Found, Stage]:
        query = self._moments
        plan = query.plan()
        law = query.law(plan)
        assert isinstance(law.statistic, ClassMoments)
        noisy = [one.vectors[0] for one in chance.point(law, known).noisy]
        classes, of_all = NoisyClasses.of(noisy, law.statistic, plan.scale, self.n), moments_of_all(noisy, plan.scale)
        found = _Found(classes.means() + of_all.first, of_all.about_mean(), of_all.second_noise)
        return found, _stage("moments of classes", query, plan, place)


@dataclass(frozen=True, eq=False)
class _Found:
    """Means of the classes' features, the spread of all of them, and its noise."""

    means: Array
    spread: Spread
    noise: float


def _as_they_are(dim: int) -> Features:
    return Features(np.eye(dim), np.zeros(dim), 1.0)


def _stage(task: str, query: Query, plan: Plan, place: Ball) -> Stage:
    facts = (plan.mechanism, plan.sensitivity, plan.scale, place.center, place.radius)
    return Stage(task, query.guarantee, *facts)
