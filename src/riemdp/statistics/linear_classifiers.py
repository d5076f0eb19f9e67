"""Linear classifiers of which every learnt number is private: a summary, a length, then the classifier's own release.

All stages are under one reservation, with shares of the guarantee that are fixed in advance, and each is a linear
release: nothing is supposed about floating-point arithmetic (docs/proofs/classifiers.md). Why these shares:
docs/decisions/0028-classifiers.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee, PureDP
from riemdp.accounting.unit import RECORD, assumptions, counted, several
from riemdp.caching import cached_property
from riemdp.kernels.spectral import kernels_for
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import ENTROPY, Drawn, Plan, Reservation, Stage, recorded, reserved
from riemdp.statistics.adaptation import Adaptation, divisible, split
from riemdp.statistics.adaptive import Exact
from riemdp.statistics.class_means import ANY_CLASS, ANY_CLASSES, Labelled
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.features import Features, length_law, length_stage, whitening, with_private_length
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import Prepared, prepare
from riemdp.statistics.query import Query
from riemdp.statistics.worth import DOUBTFUL, NOTHING_ADAPTED, USELESS, Doubt, about_promise, what_would_do
from riemdp.summaries.summary import Summary

# Shares of the guarantee of the summary (with its rounds of adaptation, if any) and of the length of features.
SUMMARY_SHARE, LENGTH_SHARE = 0.25, 0.02


def with_labels(X: Any, ball: Ball, labels: Array, classes: int, groups: Any = None) -> tuple[Bounded, Labelled]:
    """Who is counted, the records or people, and what is to be told apart: records, or people's in each class."""
    records = Bounded(X, ball, groups)
    if records._identities is None:
        return records, Labelled(records, labels)
    return records, Labelled.of_people(X, ball, records._identities, labels, classes)


@dataclass(frozen=True)
class Learnt:
    """Weights (d + 1, classes) with noise, on which grid they were drawn, and the stage on record."""

    weights: Array
    grid: float | None
    stage: Stage


@dataclass(frozen=True, eq=False)
class LinearClassifier(ABC):
    """The public side of a private linear classifier: everything but the records and what is drawn."""

    name: ClassVar[str]  # of the statistic that is released

    ball: Ball
    n: int
    guarantee: Guarantee
    labels: tuple[Any, ...]
    class_weights: Array  # (classes,), public, the largest of them 1
    adapt: bool | Adaptation = True
    unit: str = RECORD  # what n counts, and the guarantee protects

    def __post_init__(self) -> None:
        Query(self.ball, self.n, self.guarantee)  # refuses what is none of these

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.labels)

    @cached_property
    def shares(self) -> list[Guarantee]:
        """Of the summary, the length and what is learnt."""
        weights = [SUMMARY_SHARE, LENGTH_SHARE, 1 - SUMMARY_SHARE - LENGTH_SHARE]
        return split(divisible(self.guarantee)[0], weights)

    @cached_property
    def summary(self) -> Prepared:
        """Where the records are, and how they spread."""
        asked: dict[str, Any] = {"statistic": Moments(), "mechanism": self.mechanism, "adapt": self.adapt}
        return prepare(Query(self.ball, self.n, self.shares[0], unit=self.unit, **asked))

    @property
    def mechanism(self) -> str:
        """Gaussian noise wherever it gives the guarantee: the second moments then cost nothing."""
        return "wrapped-laplace" if isinstance(self.shares[0], PureDP) else "wrapped-gaussian"

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """Of what is learnt, for the whole guarantee; raises what learning would refuse."""

    @property
    @abstractmethod
    def noise(self) -> float:
        """What noise does to the weights of one class of many, as a share of the most that its records can do."""

    @abstractmethod
    def learn(self, records: Labelled, features: Features, chance: Exact) -> Learnt:
        """The weights, for the last share."""

    @property
    def doubts(self) -> list[Doubt]:
        """What public numbers say against the release."""
        in_vain = [NOTHING_ADAPTED] if self.adapt and isinstance(self.summary.how, Plan) else []
        return [*about_promise(self.guarantee, self.n), *self._doubts_about_noise(), *in_vain]

    def _doubts_about_noise(self) -> list[Doubt]:
        share = self.noise
        if share <= DOUBTFUL:
            return []
        verdict = "guessing is as good" if share > USELESS else "what comes out is mostly noise"
        text = (
            f"with n = {self.n:,} and {self.classes} classes, noise moves the weights of a class by about {share:.2g} "
            f"of what its {several(self.unit)} can: {verdict}."
        )
        remedy = partial(what_would_do, self._noise_for, self.n, self.guarantee, 1.0, f"{DOUBTFUL:g}")
        advice = "Have more records or spend more; plan() says how much."
        return [Doubt(text, advice, is_grave=share > USELESS, remedy=remedy)]

    def _noise_for(self, n: int, guarantee: Guarantee) -> float:
        return replace(self, n=n, guarantee=guarantee).noise

    def release(self, records: Bounded, labelled: Labelled, ledger: Ledger | None, note: str) -> ClassifierRelease:
        """All stages under one reservation; whatever can be refused is so before.

        `records` are those, or people, that are counted, and `labelled` what is to be told apart.
        """
        self.plan  # noqa: B018 refuses
        why = ANY_CLASS if self.unit == RECORD else ANY_CLASSES
        claimed = self.guarantee.with_assumptions(*assumptions(self.unit), ENTROPY, why, *self.summary.assumptions)
        what = f"{self.name} of {counted(self.n, self.unit)}"
        with reserved(claimed, what, ledger, note, self.unit) as paid, kernels_for(self.n), one_blas_thread():
            return self._under(paid, records, labelled)

    def _under(self, paid: Reservation, records: Bounded, labelled: Labelled) -> ClassifierRelease:
        chance, summary = Exact(paid), self.summary.under(paid, records)
        assert isinstance(summary, Summary)
        place, law = summary.ball, length_law(self.n, self.shares[1])
        features = with_private_length(whitening(summary.moments, place.radius), records.moved(place), law, chance)
        learnt = self.learn(replace(labelled, records=labelled.records.moved(place)), features, chance)
        stages = (*summary.stages, length_stage(features, self.shares[1], law, place), learnt.stage)
        return self._recorded(paid, learnt, features, stages)

    def _recorded(
        self, paid: Reservation, learnt: Learnt, features: Features, stages: tuple[Stage, ...]
    ) -> ClassifierRelease:
        drawn = Drawn([np.ravel(learnt.weights)], learnt.grid)
        facts: dict[str, Any] = {"ball": self.ball, "statistic": self.name, "n": self.n, "kind": "numbers"}
        made = recorded(drawn, paid, self.plan, stages=stages, **facts)
        return ClassifierRelease(**vars(made), features=features, labels=self.labels, entry=paid.entry)
