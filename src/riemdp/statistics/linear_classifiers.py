"""Linear classifiers of which every learnt number is private: a summary, a length, then the classifier's own release.

All stages are under one reservation, with shares of the guarantee that are fixed in advance, and each is a linear
release: nothing is supposed about floating-point arithmetic (docs/proofs/classifiers.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee, PureDP
from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import ENTROPY, PUBLIC, Drawn, Plan, Release, Reservation, Stage, recorded, reserved
from riemdp.privacy.summary import Summary
from riemdp.statistics.adaptation import Adaptation, divisible, split
from riemdp.statistics.adaptive import Exact
from riemdp.statistics.class_means import ANY_CLASS, Labelled
from riemdp.statistics.features import Features, length_law, length_stage, whitening, with_private_length
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import Prepared, prepare
from riemdp.statistics.quantile import RadiusLaw
from riemdp.statistics.query import Query

# Shares of the guarantee of the summary (with its rounds of adaptation, if any) and of the length of features.
SUMMARY_SHARE, LENGTH_SHARE = 0.25, 0.02


@dataclass(frozen=True, eq=False)
class LinearModel:
    """What a classifier has learnt, all of it released: where records are looked at, their features, the weights."""

    place: Ball
    features: Features
    weights: Array  # (d + 1, classes)

    def scores(self, coords: Array) -> Array:
        """(n, classes), of coordinates at the centre of the place."""
        return np.asarray(self.features(coords) @ self.weights)

    @property
    def coef(self) -> Array:
        """(classes, d): weights of the coordinates at the place's centre, as far as no record is shortened."""
        return np.asarray(self.weights[:-1].T @ self.features.matrix) / self.features.length

    @property
    def intercept(self) -> Array:
        """(classes,): scores of a record at the place's centre."""
        at_centre = self.features(np.zeros((1, self.place.space.dim)))
        return np.asarray(at_centre @ self.weights)[0]


@dataclass(frozen=True)
class Learnt:
    """Weights (d + 1, classes) with noise, by which plan they were drawn, on which grid, and the stage on record."""

    weights: Array
    plan: Plan
    grid: float | None
    stage: Stage


@dataclass(frozen=True, eq=False)
class LinearClassifier(ABC):
    """The public side of a private linear classifier: everything but the records and what is drawn."""

    name: ClassVar[str]  # of the statistic that is released

    ball: Ball
    n: int
    guarantee: Guarantee
    class_weights: Array  # (classes,), public
    adapt: bool | Adaptation = True

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.class_weights)

    @cached_property
    def shares(self) -> list[Guarantee]:
        """Of the summary, the length and what is learnt."""
        weights = [SUMMARY_SHARE, LENGTH_SHARE, 1 - SUMMARY_SHARE - LENGTH_SHARE]
        return split(divisible(self.guarantee)[0], weights)

    def summary(self) -> Prepared:
        """Where the records are, and how they spread."""
        asked = {"statistic": Moments(), "mechanism": self.mechanism, "adapt": self.adapt}
        return prepare(Query(self.ball, self.n, self.shares[0], **asked))

    @property
    def mechanism(self) -> str:
        """Gaussian noise wherever it gives the guarantee: the second moments then cost nothing."""
        return "wrapped-laplace" if isinstance(self.shares[0], PureDP) else "wrapped-gaussian"

    @abstractmethod
    def insist(self) -> None:
        """Raise what learning would refuse, from public numbers."""

    @abstractmethod
    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """The weights, for the last share."""

    def release(self, records: Bounded, labels: Array, ledger: Ledger | None, note: str) -> tuple[LinearModel, Release]:
        """All stages under one reservation; whatever can be refused is so before."""
        prepared, law = self.summary(), length_law(self.n, self.shares[1])
        self.insist()
        claimed = self.guarantee.with_assumptions(PUBLIC, ENTROPY, ANY_CLASS)
        with reserved(claimed, f"{self.name} of {self.n} records", ledger, note) as paid:
            return self._under(paid, records, labels, prepared, law)

    def _under(
        self, paid: Reservation, records: Bounded, labels: Array, prepared: Prepared, law: RadiusLaw
    ) -> tuple[LinearModel, Release]:
        chance, summary = Exact(paid), prepared.under(paid, records)
        assert isinstance(summary, Summary)
        place = summary.ball
        inside = records.moved(place)
        features = with_private_length(whitening(summary.moments, place.radius), inside, law, chance)
        learnt = self.learn(Labelled(inside, labels), features, chance)
        stages = (*summary.stages, length_stage(features, self.shares[1], law, place), learnt.stage)
        facts = {"ball": self.ball, "statistic": self.name, "n": self.n, "kind": "numbers", "stages": stages}
        drawn = Drawn([np.ravel(learnt.weights)], learnt.grid)
        return LinearModel(place, features, learnt.weights), recorded(drawn, paid, learnt.plan, **facts)
