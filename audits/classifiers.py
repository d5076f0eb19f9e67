"""Audits of what linear classifiers release, and bugs that they must catch. `python audits/classifiers.py`

Neighbours differ in one record, at the rim, among others that have no class: nothing else hides it. Of a descent every
noisy gradient counts, since all iterates are public; of a discriminant the weights that come out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import riemdp as rd
from riemdp.accounting.guarantee import Guarantee
from riemdp.audit import Audit, audit_draws
from riemdp.io.rows import Held, Rows
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation
from riemdp.releases.drawn import Drawn
from riemdp.statistics.adaptation import split
from riemdp.statistics.base import ReleaseLaw, vectors_up_to
from riemdp.statistics.chance import Exact
from riemdp.statistics.class_moments import ClassMoments, NoisyClasses
from riemdp.statistics.descent import Descent
from riemdp.statistics.features import Features, LabelledFeatures
from riemdp.statistics.logistic import LogisticLoss, _residuals
from riemdp.statistics.query import Query
from riemdp.statistics.shape import SecondMoment
from riemdp.statistics.within import SpreadWithin

Array = np.ndarray[Any, np.dtype[Any]]
Draws = Callable[[Any, int], Array]  # (records, size) -> all that is published, (size, numbers)

N, CLASSES = 20, 2
CONFIDENCE, DRAWS = 0.999, 4000
CLAIMED: dict[str, Guarantee] = {"gaussian": rd.GDP(1.0), "laplace": rd.PureDP(1.0)}
LOSS = LogisticLoss(1, np.ones(CLASSES), step=1.0)
UNIT_DISC = vectors_up_to(1.0, 2)
LINE, PLANE = (Features(np.eye(dim), np.zeros(dim), 1.0) for dim in (1, 2))


def labelled(coords: Array, labels: Array, features: Features = LINE) -> LabelledFeatures:
    """Records of one coordinate, or of two."""
    return LabelledFeatures(Rows(Held((features(coords),))), labels, len(coords))


def neighbours() -> tuple[LabelledFeatures, LabelledFeatures]:
    """One record at either end, of the first class and of the second; all others have no class."""
    pair = [(np.zeros((N, 1)), np.full(N, -1)) for _ in range(2)]
    for (coords, labels), end, label in zip(pair, (1.0, -1.0), (0, 0), strict=True):
        coords[-1], labels[-1] = end, label
    return labelled(*pair[0]), labelled(*pair[1])


def across(longest: float = 1.0) -> tuple[Bounded, Bounded]:
    """One record along either of two axes, forced into a disc of this radius; all others at its centre."""
    pair = np.zeros((2, N, 2))
    pair[0, -1, 0] = pair[1, -1, 1] = 3.0
    first, second = (Bounded(rows, vectors_up_to(longest, 2)) for rows in pair)
    return first, second


def crossed() -> tuple[LabelledFeatures, LabelledFeatures]:
    """One record of the first class along either of two axes; all others have no class."""
    labels = np.where(np.arange(N) == N - 1, 0, -1)
    first, second = (labelled(np.vstack([np.zeros((N - 1, 2)), axis]), labels, PLANE) for axis in np.eye(2))
    return first, second


# --- releases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Watched(Exact):
    """Draws as a release makes them, and remembers them: each step of a descent is public."""

    seen: list[Array] = field(default_factory=list)

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """The same."""
        drawn = super().point(law, records)
        self.seen.append(drawn.points[0])
        return drawn


def descent(claimed: Guarantee, loss: LogisticLoss = LOSS, paid: int = 2, extra: int = 0) -> Draws:
    """All steps, those paid for and `extra` ones: the sum of their noisy gradients, along the one that is sought."""
    shares = split(claimed, [1 / paid] * paid)
    steps, start = Descent(loss, N, (*shares, *[shares[0]] * extra)), np.zeros(loss.body.space.dim)
    sought = np.subtract(*(loss.mean_gradient(records, start) for records in neighbours()))

    def one(records: LabelledFeatures) -> Array:
        chance = Watched(Reservation(claimed))
        steps.run(records, chance, start)
        return np.sum(chance.seen, axis=0) @ sought[:, None]

    return lambda records, size: np.stack([one(records) for _ in range(size)])


def discriminant(claimed: Guarantee, shares: Callable[[LabelledFeatures], Array] | None = None) -> Draws:
    """The weights of a discriminant, from one release of all moments; `shares` of classes instead of released ones."""
    query = Query(vectors_up_to(1.0, 1), N, claimed, mechanism=_noise(claimed), statistic=ClassMoments(CLASSES))
    plan = query.plan()
    law = query.law(plan)

    def one(records: LabelledFeatures, noisy: list[Array]) -> Array:
        assert isinstance(law.statistic, ClassMoments)
        found = NoisyClasses.of(noisy, law.statistic, plan.scale, N)
        known = found if shares is None else replace(found, shares=shares(records))
        return np.concatenate([known.weights(np.ones(CLASSES)).ravel(), *noisy])

    def draws(records: LabelledFeatures, size: int) -> Array:
        drawn = law.draw(law.value(records), size).noisy
        return np.stack([one(records, [room.vectors[i] for room in drawn]) for i in range(size)])

    return draws


def shape(claimed: Guarantee) -> Draws:
    """The second moment of unit vectors, with noise."""
    query = Query(UNIT_DISC, N, claimed, mechanism=_noise(claimed), statistic=SecondMoment())
    law = query.law(query.plan())
    return lambda records, size: np.asarray(law.draw(law.value(records), size).points)


def within(claimed: Guarantee, kind: type[Features] = Features) -> Draws:
    """The spread within classes, with noise, about public means; features are of this kind, and long."""
    statistic = SpreadWithin(np.zeros((CLASSES, 2)), kind(np.eye(2), np.zeros(2), 0.5))
    query = Query(UNIT_DISC, N, claimed, mechanism=_noise(claimed), statistic=statistic)
    law = query.law(query.plan())
    return lambda records, size: np.asarray(law.draw(law.value(records), size).points)


def _noise(claimed: Guarantee) -> str:
    return "wrapped-laplace" if isinstance(claimed, rd.PureDP) else "wrapped-gaussian"


# --- bugs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ForcedLate(LogisticLoss):
    """The sum of all gradients is forced into the ball, not each of them."""

    def mean_gradient(self, records: LabelledFeatures, point: Array) -> Array:
        """Of gradients as long as they are."""
        x = records.features.all()
        residuals = _residuals(x @ point.reshape(self.dim + 1, self.classes), records.labels, self.class_weights)
        mean = (x.T @ residuals).ravel() / records.n
        return np.asarray(mean * min(1.0, self.body.radius / np.linalg.norm(mean)))


class Unshortened(Features):
    """As long as they are."""

    def vectors(self, coords: Array) -> Array:
        """Not forced into any ball."""
        return self.scaled(coords)


def counted(records: LabelledFeatures) -> Array:
    """Shares of classes as they are, without noise; none is 0."""
    counts = np.bincount(records.labels[records.labels >= 0], minlength=CLASSES) + 1.0
    return np.asarray(counts / counts.sum())


def other_class() -> tuple[LabelledFeatures, LabelledFeatures]:
    """One record, whose class is all that differs."""
    first, _ = neighbours()
    return first, replace(first, labels=np.where(first.labels == 0, 1, first.labels))


def sound() -> Iterator[tuple[str, Guarantee, Draws]]:
    """What the product releases."""
    for noise, claimed in CLAIMED.items():
        yield f"shape, {noise}", claimed, shape(claimed)
        yield f"spread within classes, {noise}", claimed, within(claimed)
        yield f"descent, {noise}", claimed, descent(claimed)
        yield f"discriminant, {noise}", claimed, discriminant(claimed)


BUGS: dict[str, Draws] = {
    "clip after the sum": descent(CLAIMED["gaussian"], ForcedLate(1, np.ones(CLASSES), step=1.0)),
    "one step too many": descent(CLAIMED["gaussian"], paid=1, extra=1),
    "labels leak through class counts": discriminant(CLAIMED["gaussian"], counted),
    "shape of records that are not shortened": shape(CLAIMED["gaussian"]),
    "spread within classes of features that are not shortened": within(CLAIMED["gaussian"], Unshortened),
}


def neighbours_for(name: str) -> tuple[Any, Any]:
    """Whom a release, or a bug, tells apart best."""
    if "within" in name:
        return crossed()
    if "shape" in name:
        return across(2.0 if name in BUGS else 1.0)
    return other_class() if "labels" in name else neighbours()


def examine(name: str, draws: Draws, claimed: Guarantee, confidence: float, size: int) -> Audit:
    """What an adversary can prove from so many draws of each neighbour."""
    first, second = (draws(records, size) for records in neighbours_for(name))
    return audit_draws(first, second, claimed, confidence=confidence)


def main() -> None:
    """A line for each; exit code 1 if the product is contradicted, or a bug is not."""
    wrong = 0
    for name, claimed, draws in sound():
        found = examine(name, draws, claimed, CONFIDENCE, DRAWS)
        wrong += not found.holds
        print(f"{name}: claimed {claimed}, found {found.lower}", flush=True)
    for name, draws in BUGS.items():
        found = examine(name, draws, CLAIMED["gaussian"], CONFIDENCE, DRAWS)
        wrong += found.holds
        print(f"planted, {name}: found {found.lower}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
