"""Linear classifiers of which every learnt number is private: a summary, a length, then the classifier's own release.

All stages are under one reservation, with shares of the guarantee that are fixed in advance, and each is a linear
release: nothing is supposed about floating-point arithmetic (docs/proofs/classifiers.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riemdp.accounting.guarantee import GDP, Guarantee, PureDP
from riemdp.caching import cached_property
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.calibration import _largest
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import ENTROPY, PUBLIC, Plan, Release, Reservation, Stage, recorded, reserved
from riemdp.privacy.summary import Summary
from riemdp.statistics.adaptation import Adaptation, divisible, split
from riemdp.statistics.adaptive import Exact
from riemdp.statistics.class_means import ANY_CLASS
from riemdp.statistics.descent import Descent
from riemdp.statistics.features import Features, length_law, whitening, with_private_length
from riemdp.statistics.logistic import LabelledFeatures, LogisticLoss, step_length
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import Prepared, prepare
from riemdp.statistics.quantile import MECHANISM
from riemdp.statistics.query import Query

# Shares of the guarantee of the summary (with its rounds of adaptation, if any) and of the length of features.
SUMMARY_SHARE, LENGTH_SHARE = 0.2, 0.02
STEPS, PURE_STEPS = 100, 5  # of a descent; with pure epsilon each costs as much noise as all others together


@dataclass(frozen=True, eq=False)
class LinearModel:
    """What a classifier has learnt, all of it released: where records are looked at, their features, the weights."""

    place: Ball
    features: Features
    weights: Array  # (d + 1, classes)

    def scores(self, coords: Array) -> Array:
        """(n, classes), of coordinates at the centre of the place."""
        return np.asarray(self.features(coords) @ self.weights)


@dataclass(frozen=True, eq=False)
class LogisticRegression:
    """The public side of a private logistic regression: everything but the records and what is drawn."""

    ball: Ball
    n: int
    guarantee: Guarantee
    class_weights: Array  # (classes,), public
    adapt: bool | Adaptation = True
    steps: int | None = None

    @cached_property
    def shares(self) -> tuple[Guarantee, Guarantee, Guarantee]:
        """Of the summary, the length and the descent."""
        whole = divisible(self.guarantee)[0]
        summary, length, rest = split(whole, [SUMMARY_SHARE, LENGTH_SHARE, 1 - SUMMARY_SHARE - LENGTH_SHARE])
        return summary, length, rest

    @cached_property
    def summary(self) -> Prepared:
        """Where the records are, and how they spread."""
        return prepare(Query(self.ball, self.n, self.shares[0], statistic=Moments(), adapt=self.adapt))

    @cached_property
    def descent(self) -> Descent:
        """Equal steps, as many as public numbers say."""
        is_pure, share = isinstance(self.shares[2], PureDP), self.shares[2]
        steps = self.steps or (PURE_STEPS if is_pure else STEPS)
        numbers = (self.ball.space.dim + 1) * len(self.class_weights)
        strength = share.epsilon / math.sqrt(numbers) if isinstance(share, PureDP) else _largest(GDP, share)
        loss = LogisticLoss(self.ball.space.dim, self.class_weights, step_length(self.n, strength, steps))
        return Descent(loss, self.n, tuple(split(share, [1 / steps] * steps)))

    def insist(self) -> None:
        """Raise whatever a release would refuse, from public numbers."""
        length_law(self.n, self.shares[1])
        self.summary, self.descent.plans()  # noqa: B018

    def release(
        self, records: Bounded, labels: Array, ledger: Ledger | None, note: str
    ) -> tuple[LinearModel, Release]:
        """All stages under one reservation."""
        self.insist()
        claimed = self.guarantee.with_assumptions(PUBLIC, ENTROPY, ANY_CLASS)
        what = f"logistic regression of {self.n} records, {len(self.descent.shares)} steps"
        with reserved(claimed, what, ledger, note) as paid:
            return self._under(paid, records, labels)

    def _under(self, paid: Reservation, records: Bounded, labels: Array) -> tuple[LinearModel, Release]:
        chance, summary = Exact(paid), self.summary.under(paid, records)
        assert isinstance(summary, Summary)
        place = summary.ball
        inside = records.moved(place)
        features = whitening(summary.moments, place.radius)
        features = with_private_length(features, inside, length_law(self.n, self.shares[1]), chance)
        known = LabelledFeatures.of(inside, labels, features)
        path = self.descent.run(known, chance, np.zeros(self.descent.objective.body.space.dim))
        model = LinearModel(place, features, path.point.reshape(-1, len(self.class_weights)))
        return model, None  # type: ignore[return-value]
