"""The means of the classes of labelled records: one release for each class, or one of all of them.

With public labels a record, replaced within its class, changes one class mean only. With private labels all classes are
one release of a sum of bounded vectors: each record's own, in the place of its class, and its share in the count of
that class. People with several records may be in several classes, so that class means are not released in parallel
unless each has one public label. Proofs: docs/proofs/private_mdm.md, docs/proofs/people.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.accounting.unit import RECORD, assumptions, counted
from riemdp.arithmetic import round_up
from riemdp.balls import Ball
from riemdp.caching import cached_property
from riemdp.errors import MechanismError
from riemdp.io.identities import Identities, identities
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds import Product
from riemdp.manifolds.base import FARTHEST, Array
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE, Wrapped, require_wrapped
from riemdp.privacy.bounded import Bounded, mean_of_sum
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.reservation import ENTROPY, reserved
from riemdp.releases.plan import Plan
from riemdp.releases.recorded import recorded
from riemdp.releases.release import Release
from riemdp.statistics.adaptation import divisible, split
from riemdp.statistics.base import Statistic, vectors_up_to
from riemdp.statistics.prepared import prepare, require_ledger
from riemdp.statistics.query import Query
from riemdp.statistics.sensitivity import tangent_mean_sensitivity, with_solver_error
from riemdp.statistics.worth import Doubt, Subject, doubts_about, warn_of
from riemdp.summaries.class_means import ClassMeans

CLASS_MEANS = "tangent-means-of-classes"  # those of a PrivateMDM with private labels: a point of a product
WITHIN_CLASSES = (
    "a record is replaced within its class, and a person contributes to one class only: labels and class sizes are"
    " public, and one class mean changes (parallel composition)"
)
ONE_LABEL = "one label per id, which is public, as are class sizes: one class mean changes (parallel composition)"
ALL_CLASSES = "every id has records in all classes, which is public: the class means share the guarantee"
ANY_CLASSES = "the set of classes is public; which classes an id has records in is not"
ANY_CLASS = "the set of classes is public; a record may be replaced by one of any class, and class sizes are private"
RARE = 3  # standard deviations of the noise: a class without records has a larger share in less than 1 % of fits

# --- a release for each class, paid for once ---------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One class: its records or people, and what its mean may spend."""

    records: Bounded
    guarantee: Guarantee


@dataclass(frozen=True)
class Whole:
    """What all class means promise together, for which unit and why, and where it is written down."""

    guarantee: Guarantee
    why: str
    ledger: Ledger | None
    note: str
    unit: str = RECORD


def parallel_means(
    groups: list[Any], ball: Ball, guarantee: Guarantee, ledger: Ledger | None, note: str, **asked: Any
) -> tuple[Release, ...]:
    """A private mean of each group of records, each with the whole guarantee: a record is in one of them."""
    parts = [Part(Bounded(group, ball), guarantee) for group in groups]
    total = sum(part.records.n for part in parts)
    return _each_mean(parts, total, Whole(guarantee, WITHIN_CLASSES, ledger, note), **asked)


def means_of_one_label(
    classes: list[tuple[Any, Any]], ball: Ball, guarantee: Guarantee, ledger: Ledger | None, note: str, unit: str,
    **asked: Any,
) -> tuple[Release, ...]:  # fmt: skip
    """A private mean of each class's (records, ids), if no id is in two classes: that is public."""
    parts = [Part(Bounded(records, ball, ids), guarantee) for records, ids in classes]
    total = sum(part.records.n for part in parts)
    return _each_mean(parts, total, Whole(guarantee, ONE_LABEL, ledger, note, unit), **asked)


def means_of_all_classes(
    classes: list[tuple[Any, Any]], ball: Ball, guarantee: Guarantee, ledger: Ledger | None, note: str, unit: str,
    **asked: Any,
) -> tuple[Release, ...]:  # fmt: skip
    """A private mean of each class's (records, ids), if every id is in all classes: they share the guarantee."""
    records = [Bounded(one, ball, ids) for one, ids in classes]
    whole = Whole(guarantee, ALL_CLASSES, ledger, note, unit)
    shares = _best_shares(records[0], guarantee, len(records), **asked)
    return _each_mean([Part(*part) for part in zip(records, shares, strict=True)], records[0].n, whole, **asked)


def _best_shares(records: Bounded, guarantee: Guarantee, classes: int, **asked: Any) -> list[Guarantee]:
    """Equal shares: of GDP(mu), mu/sqrt(K), as joint Gaussian noise for K means has it (docs/proofs/people.md)."""
    candidates, refusals = [split(whole, [1 / classes] * classes) for whole in divisible(guarantee)], []
    errors = dict[int, float]()
    for place, shares in enumerate(candidates):
        try:
            errors[place] = replace(_query(records, shares[0], **asked), adapt=False).plan().expected_error
        except MechanismError as refusal:
            refusals.append(refusal)
    if not errors:
        raise refusals[0]
    return candidates[min(errors, key=errors.__getitem__)]


def _query(records: Bounded, guarantee: Guarantee, **asked: Any) -> Query:
    return Query(records.ball, records.n, guarantee, can_gather=records.can_gather, **asked)


def _each_mean(parts: list[Part], total: int, whole: Whole, **asked: Any) -> tuple[Release, ...]:
    """A private mean of each class under one reservation; whatever can be refused is so before it is paid."""
    require_ledger(whole.ledger)
    prepared = [prepare(_query(part.records, part.guarantee, unit=whole.unit, **asked)) for part in parts]
    extra = [text for one in prepared for text in one.assumptions]
    joint = whole.guarantee.with_assumptions(*assumptions(whole.unit), ENTROPY, whole.why, *extra)
    warn_of(min(prepared, key=lambda one: one.query.n).doubts)
    what = f"means of {len(parts)} classes of {counted(total, whole.unit)}"
    with reserved(joint, what, whole.ledger, whole.note, whole.unit) as paid:
        return tuple(one.under(paid, part.records) for one, part in zip(prepared, parts, strict=True))


# --- labels private: all classes in one release ------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Labelled:
    """Records and the place of each one's class among all of them; any other number stands for none.

    Of people there is a row for each of the classes that they are in: `among` how many, that many parts make up one
    person of the `people` in all.
    """

    records: Bounded
    labels: Array
    among: Array | int = 1
    people: int | None = None

    @classmethod
    def of_people(cls, X: Any, ball: Ball, who: Identities, labels: Array, classes: int) -> Labelled:
        """The mean of each one's records in each class; records of no class count for nothing."""
        pairs = who.codes.astype(np.int64) * (classes + 1) + (labels + 1)  # NO_CLASS is -1
        cells = identities(pairs)
        pair_of = np.empty(cells.count, np.int64)
        pair_of[cells.codes] = pairs
        person, label = pair_of // (classes + 1), pair_of % (classes + 1) - 1
        among = np.bincount(person[label >= 0], minlength=who.count)[person]
        return cls(Bounded(X, ball, cells), label, np.maximum(among, 1), who.count)

    @property
    def n(self) -> int:
        """How many records, or people, there are: public."""
        return self.records.n if self.people is None else self.people

    def parts(self) -> Array:
        """Each row's coordinates over the number of its person's classes, cut towards 0 to the grid: exact."""
        logs, step = self.records._coordinates.all(), 2.0**self.records.ball.grid
        if isinstance(self.among, int):
            return logs
        steps, among = (logs / step).astype(np.int64), self.among[:, None]
        return np.asarray(np.sign(steps) * (np.abs(steps) // among) * step)

    def share(self, chosen: Array) -> float:
        """What the chosen rows are of all records or people, rounded once."""
        if isinstance(self.among, int):
            return np.count_nonzero(chosen) / self.n
        counts = np.bincount(self.among[chosen])
        return float(sum(Fraction(int(count), max(size, 1)) for size, count in enumerate(counts)) / self.n)


@dataclass(frozen=True)
class ClassSums(Statistic):
    """T_c = (S_c, w p_c) for each of K classes: S_c = (1/n) sum_{y_i = c} log_m0(x_i), p_c = (1/n) #{i: y_i = c}.

    A person in s classes counts in each of them as 1/s: (a_c, w)/s, a_c the mean of their logs in class c.
    Gaussian noise: w = r, Euclidean sensitivity 2r/n. Laplace noise, isotropic in each T_c by itself: w = r d^(-1/4),
    and sum_c ‖T_c‖ has sensitivity 2 sqrt(r² + w²)/n. No other weight has a smaller worst-case error
    (docs/proofs/private_mdm.md). What is made of the noisy T are the class means, one point of a product.
    """

    name: ClassVar[str] = CLASS_MEANS

    classes: int
    noise: Wrapped = WRAPPED_GAUSSIAN

    def with_noise(self, mechanism: Mechanism) -> ClassSums:
        """The statistic with the weight w that belongs to this noise."""
        return replace(self, noise=require_wrapped(mechanism))

    @property
    def is_gaussian(self) -> bool:
        """Whether the Euclidean norm measures the sensitivity; else a sum of lengths does."""
        return self.noise.name == WRAPPED_GAUSSIAN.name

    def weight(self, ball: Ball) -> float:
        """w, the weight of a class's share beside its logs: public."""
        return ball.radius * (1.0 if self.is_gaussian else ball.space.dim**-0.25)

    def variance(self, dim: int) -> float:
        """Variance of the noise in one coordinate of T_c, at scale 1, for records of this dimension."""
        return self.noise.mean_square(dim + 1) / (dim + 1)

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """In the norm that belongs to the noise, plus twice the rounding of the sums."""
        exact = round_up(lambda r, w: 2 * (r**2 + w**2).sqrt() / n, ball.radius, self.weight(ball))
        if self.is_gaussian:
            exact = tangent_mean_sensitivity(ball.radius, n)
        return with_solver_error(exact, 128 * UNIT_ROUNDOFF * ball.radius)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """One for each class: its noise is independent of that of the others."""
        longest = math.hypot(ball.radius, self.weight(ball))
        return (vectors_up_to(longest, ball.space.dim + 1),) * self.classes

    def value(self, records: Labelled, footpoint: Array) -> tuple[Array, ...]:  # noqa: ARG002
        """T_c of each class. All logs are taken at once and all sums run over n rows: class sizes are private."""
        ball = records.records.ball
        logs, body = records.parts(), vectors_up_to(ball.radius, ball.space.dim)

        def one_class(place: int) -> Array:
            chosen = records.labels == place
            sums = Bounded(np.where(chosen[:, None], logs, 0.0), body).coordinate_sum()
            return np.append(mean_of_sum(sums, records.n, body).point, self.weight(ball) * records.share(chosen))

        return tuple(one_class(place) for place in range(self.classes))

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:  # noqa: ARG002
        """To first order and for classes of equal size around the ball's centre."""
        dim = ball.space.dim
        return float(self.classes**1.5) * scale * math.sqrt(dim * self.variance(dim))

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Array:
        """Post-processing: the class means of each draw as one point of the product."""
        draws = np.stack([sums.vectors for sums in noisy], axis=1)
        product = Product(*[ball.space] * self.classes)
        return np.stack([product.assemble(list(self.means(Visible(one), ball, n))) for one in draws])

    def means(self, noisy: Visible, ball: Ball, n: int) -> Array:
        """Post-processing: the shares add up to 1 and are at least 1/n, and a mean lies in the ball."""
        return carry(noisy.then(lambda sums: self._coords(sums, ball, n)), np.zeros(ball.space.dim), ball)

    def _coords(self, noisy: Array, ball: Ball, n: int) -> Array:
        noisy = np.clip(noisy, -FARTHEST, FARTHEST)
        shares = noisy[:, -1] / self.weight(ball)
        shares = np.maximum(shares + (1 - shares.sum()) / len(shares), 1 / n)
        coords = noisy[:, :-1] / shares[:, None]
        with np.errstate(over="ignore"):  # a length beyond float64 gives the centre
            length = np.maximum(np.linalg.norm(coords, axis=1, keepdims=True), ball.radius)
        return np.asarray(coords * (ball.radius / length))

    def rare(self, noisy: list[Visible], scale: float) -> Array:
        """Post-processing: which classes may well have no record, by their noisy shares; never the largest one."""
        shares = np.array([sums.vectors[0, -1] for sums in noisy])
        deviation = scale * math.sqrt(self.variance(noisy[0].vectors.shape[1] - 1))
        return np.asarray((shares < RARE * deviation) & (shares < shares.max()))


@dataclass(frozen=True, eq=False)
class JointMeans:
    """The means of all classes as one release, private also in the labels: everything public about it is settled."""

    records: Labelled
    labels: tuple[Any, ...]
    query: Query
    why: str

    @classmethod
    def of(
        cls, X: Any, among: Array, labels: tuple[Any, ...], ball: Ball, guarantee: Guarantee,
        *, mechanism: str = "auto", calibration: str = "analytic", groups: Any = None, unit: str = RECORD,
    ) -> JointMeans:  # fmt: skip
        """Means of records whose labels have these places among all; of people, if groups say whose they are."""
        records, why = Labelled(Bounded(X, ball), among), ANY_CLASS
        if groups is not None:
            who = identities(groups, records.n)
            records, why = Labelled.of_people(X, ball, who, among, len(labels)), ANY_CLASSES
        asked: dict[str, Any] = {"mechanism": _noise_for_labels(mechanism), "calibration": calibration, "unit": unit}
        return cls(records, labels, Query(ball, records.n, guarantee, statistic=ClassSums(len(labels)), **asked), why)

    @cached_property
    def plan(self) -> Plan:
        """Refuses what does not exist."""
        return self.query.plan()

    @property
    def doubts(self) -> list[Doubt]:
        """What public numbers say against it."""
        return _doubts_about_classes(self.query, len(self.labels), self.plan)

    def release(self, ledger: Ledger | None, note: str = "") -> ClassMeans:
        """Made, once it is paid for."""
        query, plan, n = self.query, self.plan, self.records.n
        law, what = query.law(plan), f"{CLASS_MEANS} of {counted(n, query.unit)}, {plan.mechanism}"
        joint = query.guarantee.with_assumptions(*assumptions(query.unit), ENTROPY, self.why)
        with reserved(joint, what, ledger, note, query.unit) as paid:
            drawn = paid.draw(lambda: law.value(self.records), law)
            made = recorded(drawn, paid, plan, ball=_copies(query.ball, len(self.labels)), statistic=CLASS_MEANS, n=n)
        sums = law.statistic
        assert isinstance(sums, ClassSums)
        left_out = tuple(sums.rare(drawn.noisy, plan.scale).tolist())
        return ClassMeans(**vars(made), labels=self.labels, left_out=left_out)


def _noise_for_labels(mechanism: str) -> str:
    """The mechanism, unless its value is no sum of vectors."""
    if mechanism not in ("auto", WRAPPED_LAPLACE.name, WRAPPED_GAUSSIAN.name):
        raise MechanismError(
            f"mechanism = {mechanism!r} cannot keep labels private: "
            "use 'auto', 'wrapped-laplace' or 'wrapped-gaussian'."
        )
    return mechanism


def _doubts_about_classes(query: Query, classes: int, plan: Plan) -> list[Doubt]:
    """What public numbers say against the means of classes, of equal size for all that is known."""

    def of_one(joint: Plan) -> float:
        return joint.expected_error / math.sqrt(classes)

    def predict(records: int, promise: Guarantee) -> float:
        return of_one(replace(query, n=records, guarantee=promise).plan())

    about = Subject(query.n, query.unit, "mean of each class")
    return doubts_about(about, predict, query.guarantee, query.ball.radius, of_one(plan))


def _copies(ball: Ball, count: int) -> Ball:
    """The same ball in each factor of a product, for the record: the release's centre and radius."""
    space = Product(*[ball.space] * count)
    return Ball(space, space.join([ball.center] * count), ball.radius)
