"""Linear discriminant analysis from private moments: class sums and a second moment of features, in one release.

What is made of the noisy numbers is post-processing (`class_moments`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.releases.plan import Plan
from riemdp.releases.release import Stage
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Exact
from riemdp.statistics.class_means import Labelled
from riemdp.statistics.class_moments import ClassMoments, NoisyClasses
from riemdp.statistics.features import Features, LabelledFeatures
from riemdp.statistics.linear_classifiers import Learnt, LinearClassifier
from riemdp.statistics.query import Query


@dataclass(frozen=True, eq=False)
class Discriminant(LinearClassifier):
    """Scores m_cᵀ S⁻¹ (u - m_c/2) + log p_c, with S the covariance within classes of features u."""

    name: ClassVar[str] = "linear-discriminant"

    @cached_property
    def query(self) -> Query:
        """What is asked of the features."""
        body = vectors_up_to(1.0, self.ball.space.dim)
        return Query(body, self.n, self.shares.learnt, mechanism=self.mechanism, statistic=ClassMoments(self.classes))

    @cached_property
    def plan(self) -> Plan:
        """The plan of the moments; its error is that of the class means of features, which are no longer than 1."""
        return replace(self.query.plan(), guarantee=self.guarantee, note="class sums and the second moment at once")

    @property
    def noise(self) -> float:
        """In the mean of a class of equal share."""
        return self.plan.expected_error / math.sqrt(self.classes)

    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """Moments of the features, and what follows from them."""
        weights = partial(NoisyClasses.weights, class_weights=self.class_weights, even=self.within is not None)
        return self.learnt(records, features, chance, weights, self.name)

    def learnt(
        self, records: Labelled, features: Features, chance: Exact, weights: Callable[[NoisyClasses], Array], task: str
    ) -> Learnt:
        """Whatever weights are made of the classes' moments, one draw of which is all that is spent."""
        place, plan, law = records.records.ball, self.plan, self.query.law(self.plan)
        assert isinstance(law.statistic, ClassMoments)
        known: Any = LabelledFeatures.of(records, features)
        drawn = chance.point(law, known)
        noisy = NoisyClasses.of([one.vectors[0] for one in drawn.noisy], law.statistic, plan.scale, self.n)
        facts = (plan.mechanism, plan.sensitivity, plan.scale, place.center, place.radius)
        return Learnt(weights(noisy), drawn.grid, Stage(task, self.shares.learnt, *facts))
