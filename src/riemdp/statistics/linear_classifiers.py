"""Linear classifiers of which every learnt number is private: a summary, a shape and a length, then its own release.

All stages are under one reservation, with shares of the guarantee that are fixed in advance, and each is a linear
release: nothing is supposed about floating-point arithmetic (docs/proofs/classifiers.md). Why these shares:
docs/decisions/0028-classifiers.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee, PureDP
from riemdp.accounting.unit import RECORD, assumptions, counted, several
from riemdp.balls import Ball
from riemdp.caching import cached_property
from riemdp.kernels.spectral import kernels_for, without_waiting
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array
from riemdp.mechanisms import by_name
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.reservation import ENTROPY, Reservation, reserved
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.recorded import recorded
from riemdp.releases.release import Stage
from riemdp.statistics.adaptation import Adaptation, divisible, split
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Exact
from riemdp.statistics.class_means import ANY_CLASS, ANY_CLASSES, Labelled
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.features import Features, centred, length_law, length_stage, whitened, with_private_length
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import Prepared, prepare
from riemdp.statistics.query import Query
from riemdp.statistics.shape import SecondMoment, spread_of
from riemdp.statistics.within import Within
from riemdp.statistics.worth import DOUBTFUL, USELESS, Doubt, Subject, about_promise, nothing_adapted, what_would_do
from riemdp.summaries.summary import Summary

# Shares of the guarantee of the summary (with its rounds of adaptation, if any), the shape and the length of features,
# and of moments of classes and the spread within them.
SUMMARY_SHARE, SHAPE_SHARE, LENGTH_SHARE = 0.08, 0.05, 0.02
CLASSES_SHARE, WITHIN_SHARE = 0.05, 0.1
# Where the records are is what costs most under pure epsilon, and there is nothing but a shape beside it.
PURE_SUMMARY_SHARE, PURE_SHAPE_SHARE = 0.5, 0.1


@dataclass(frozen=True)
class Shares:
    """Of the guarantee: of the summary and the length, of what is learnt, and of what makes features even, if any."""

    summary: Guarantee
    length: Guarantee
    learnt: Guarantee
    shape: Guarantee | None = None
    within: tuple[Guarantee, Guarantee] | None = None  # of moments of classes, and of the spread within them

    @classmethod
    def of(cls, whole: Guarantee, has_shape: bool) -> Shares:
        """Shares that are constants: of the kind of guarantee, and of whether a shape is asked for."""
        pure = isinstance(whole, PureDP)
        even = [PURE_SHAPE_SHARE] if pure else [SHAPE_SHARE, CLASSES_SHARE, WITHIN_SHARE]
        weights = [PURE_SUMMARY_SHARE if pure else SUMMARY_SHARE, LENGTH_SHARE, *even[: len(even) * has_shape]]
        summary, length, *shares, learnt = split(whole, [*weights, 1 - sum(weights)])
        if not shares:
            return cls(summary, length, learnt)
        return cls(summary, length, learnt, shares[0], None if pure else (shares[1], shares[2]))


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
    def shares(self) -> Shares:
        """Fixed in advance, from public numbers."""
        whole = divisible(self.guarantee)[0]
        second = Moments().with_noise(by_name(_mechanism(whole)))
        return Shares.of(whole, has_shape=second.which(self.ball.space.dim) == "full")

    @cached_property
    def summary(self) -> Prepared:
        """Where the records are, and how far they spread."""
        asked: dict[str, Any] = {"statistic": Moments("trace"), "mechanism": self.mechanism, "adapt": self.adapt}
        return prepare(Query(self.ball, self.n, self.shares.summary, unit=self.unit, **asked))

    @cached_property
    def shape(self) -> Query | None:
        """In which directions they spread, of unit vectors; None where that would be noise, or too many numbers."""
        if self.shares.shape is None:
            return None
        body = vectors_up_to(1.0, self.ball.space.dim)
        return Query(body, self.n, self.shares.shape, mechanism=self.mechanism, statistic=SecondMoment())

    @cached_property
    def within(self) -> Within | None:
        """What makes features even within classes; None where there is no shape, or no Gaussian noise."""
        if self.shares.within is None:
            return None
        return Within(self.ball.space.dim, self.n, self.classes, self.shares.within, self.mechanism)

    @property
    def mechanism(self) -> str:
        """Gaussian noise wherever it gives the guarantee."""
        return _mechanism(self.shares.summary)

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
        in_vain = [nothing_adapted(self.unit)] if self.adapt and isinstance(self.summary.how, Plan) else []
        promise = about_promise(self.guarantee, Subject(self.n, self.unit))
        return [*promise, *self._doubts_about_noise(), *in_vain]

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
        advice = f"Have more {several(self.unit)} or spend more; plan() says how much."
        return [Doubt(text, advice, is_grave=share > USELESS, remedy=remedy)]

    def _noise_for(self, n: int, guarantee: Guarantee) -> float:
        return replace(self, n=n, guarantee=guarantee).noise

    def release(self, records: Bounded, labelled: Labelled, ledger: Ledger | None, note: str) -> ClassifierRelease:
        """All stages under one reservation; whatever can be refused is so before.

        `records` are those, or people, that are counted, and `labelled` what is to be told apart.
        """
        _ = self.plan, self.shape and self.shape.plan(), self.within and self.within.plans()
        why = ANY_CLASS if self.unit == RECORD else ANY_CLASSES
        claimed = self.guarantee.with_assumptions(*assumptions(self.unit), ENTROPY, why, *self.summary.assumptions)
        what = f"{self.name} of {counted(self.n, self.unit)}"
        with reserved(claimed, what, ledger, note, self.unit) as paid, kernels_for(self.n), one_blas_thread():
            return self._under(paid, records, labelled)

    def _under(self, paid: Reservation, records: Bounded, labelled: Labelled) -> ClassifierRelease:
        chance, summary = Exact(paid), self.summary.under(paid, records)
        assert isinstance(summary, Summary)
        around, law = _around_mean(summary), length_law(self.n, self.shares.length)
        ball, mean = seen_from(self.ball, around)
        place, labelled = records.moved(ball), replace(labelled, records=labelled.records.moved(ball))
        features, stages = self._shaped(centred(summary.moments, mean), place, chance)
        if self.within is not None:
            features, further = self.within.evened(features, labelled, chance)
            stages = [*stages, *further]
        features = with_private_length(features, place, around.radius, law, chance)
        learnt = self.learn(labelled, features, chance)
        length = length_stage(features, self.shares.length, law, place.ball)
        return self._recorded(paid, learnt, features, (*self._of_summary(summary), *stages, length, learnt.stage))

    def _of_summary(self, summary: Summary) -> tuple[Stage, ...]:
        """Rounds of adaptation and what they led to; without them the summary itself, which has its share as well."""
        facts = (summary.mechanism, summary.sensitivity, summary.scale, summary.center, summary.radius)
        return summary.stages or (Stage("mean", self.shares.summary, *facts),)

    def _shaped(self, features: Features, place: Bounded, chance: Exact) -> tuple[Features, list[Stage]]:
        """Features that are even in all directions, and the stage on record; if no shape is asked for, as they are."""
        if self.shape is None:
            return features, []
        plan, ball = self.shape.plan(), place.ball
        drawn = chance.point(self.shape.law(plan), place.mapped(features.scaled, self.shape.ball))
        facts = (plan.mechanism, plan.sensitivity, plan.scale, ball.center, ball.radius)
        noise = plan.expected_error / math.sqrt(drawn.points.shape[1])
        stage = Stage("shape", self.shape.guarantee, *facts)
        return whitened(features, spread_of(drawn.points[0], noise), noise), [stage]

    def _recorded(
        self, paid: Reservation, learnt: Learnt, features: Features, stages: tuple[Stage, ...]
    ) -> ClassifierRelease:
        drawn = Drawn([np.ravel(learnt.weights)], learnt.grid)
        facts: dict[str, Any] = {"ball": self.ball, "statistic": self.name, "n": self.n, "kind": "numbers"}
        made = recorded(drawn, paid, self.plan, stages=stages, **facts)
        return ClassifierRelease(**vars(made), features=features, labels=self.labels, entry=paid.entry)


def _mechanism(share: Guarantee) -> str:
    """Gaussian noise wherever it gives the guarantee: a trace then costs nothing beside a mean."""
    return "wrapped-laplace" if isinstance(share, PureDP) else "wrapped-gaussian"


def seen_from(given: Ball, around_mean: Ball) -> tuple[Ball, Array]:
    """The ball at whose centre features are taken, and the coordinates of the private mean there.

    The given one where geodesics never meet again: its centre has no noise, and coordinates there never lie farther
    apart than the records. Elsewhere they are straight around the mean only; in a flat space all centres do the same.
    """
    space = given.space
    if space.is_flat or math.isfinite(space.uniqueness_radius):
        return around_mean, np.zeros(space.dim)
    with without_waiting():
        return given, Bounded(around_mean.center[None], given)._coordinates.all()[0]


def _around_mean(summary: Summary) -> Ball:
    """Around the released mean, which is known better than the centre that it was found from.

    It is read like a record, so that it is moved into the ball if noise has carried it out.
    """
    ball = summary.ball
    with without_waiting():  # and with the same bits in every process
        coords = Visible(Bounded(summary.value[None], ball)._coordinates.all())
        center = carry(coords, np.zeros(ball.space.dim), ball)[0]
    return Ball(ball.space, ball.space.write(center, ball.center), ball.radius)
