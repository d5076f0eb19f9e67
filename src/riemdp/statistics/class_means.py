"""The means of the classes of labelled records: one release for each class, or one of all of them.

With public labels a record, replaced within its class, changes one class mean only. With private labels all classes are
one release of a sum of bounded vectors: each record's own, in the place of its class, and its share in the count of
that class. Proofs: docs/proofs/private_mdm.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.arithmetic import round_up
from riemdp.errors import MechanismError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds import Product
from riemdp.manifolds.base import FARTHEST, Array
from riemdp.mechanisms import Mechanism, by_name
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE, Wrapped
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import ENTROPY, PUBLIC, Plan, Release, recorded, reserved
from riemdp.statistics.base import ROUNDING, Statistic, vectors_up_to
from riemdp.statistics.mean import rehearse
from riemdp.statistics.prepared import require_ledger
from riemdp.statistics.query import Query
from riemdp.statistics.sensitivity import tangent_mean_sensitivity, with_solver_error
from riemdp.statistics.worth import Doubt, doubts_about, warn_of

CLASS_MEANS = "tangent-means-of-classes"  # those of a PrivateMDM with private labels: a point of a product
WITHIN_CLASSES = (
    "a record is replaced within its class, and a person contributes to one class only: labels and class sizes are"
    " public, and one class mean changes (parallel composition)"
)
ANY_CLASS = "the set of classes is public; a record may be replaced by one of any class, and class sizes are private"
RARE = 3  # standard deviations of the noise: a class without records has a larger share in less than 1 % of fits

# --- labels public: one release per class, paid for once ---------------------------------------------------


def parallel_means(
    groups: list[Array], ball: Ball, guarantee: Guarantee, ledger: Ledger | None, note: str, **asked: Any
) -> tuple[Release, ...]:
    """A private mean of each group, each with the whole guarantee; whatever can be refused is so before it is paid."""
    require_ledger(ledger)
    records = [Bounded(group, ball) for group in groups]
    prepared = [rehearse(ball, group.n, guarantee, **asked) for group in records]
    extra = [text for one in prepared for text in one.assumptions]
    joint = guarantee.with_assumptions(PUBLIC, ENTROPY, WITHIN_CLASSES, *extra)
    warn_of(min(prepared, key=lambda one: one.query.n).doubts)
    total = sum(group.n for group in records)
    with reserved(joint, f"means of {len(groups)} classes of {total} records", ledger, note) as paid:
        return tuple(one.under(paid, group) for one, group in zip(prepared, records, strict=True))


# --- labels private: all classes in one release ------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    """Records and the place of each one's class among all of them; any other number stands for none."""

    records: Bounded
    labels: Array


@dataclass(frozen=True)
class ClassSums(Statistic):
    """T_c = (S_c, w p_c) for each of K classes: S_c = (1/n) sum_{y_i = c} log_m0(x_i), p_c = (1/n) #{i: y_i = c}.

    Gaussian noise: w = r, Euclidean sensitivity 2r/n. Laplace noise, isotropic in each T_c by itself: w = r d^(-1/4),
    and sum_c ‖T_c‖ has sensitivity 2 sqrt(r² + w²)/n. No other weight has a smaller worst-case error
    (docs/proofs/private_mdm.md). What is made of the noisy T are the class means, one point of a product.
    """

    name: ClassVar[str] = CLASS_MEANS

    classes: int
    noise: Wrapped = WRAPPED_GAUSSIAN

    def with_noise(self, mechanism: Mechanism) -> ClassSums:
        """With the weights that belong to it."""
        assert isinstance(mechanism, Wrapped)  # no other takes coordinates
        return replace(self, noise=mechanism)

    @property
    def is_gaussian(self) -> bool:
        """Which of the two norms measures the sensitivity."""
        return self.noise.name == WRAPPED_GAUSSIAN.name

    def weight(self, ball: Ball) -> float:
        """w, public."""
        return ball.radius * (1.0 if self.is_gaussian else ball.space.dim**-0.25)

    def variance(self, dim: int) -> float:
        """Of the noise in one coordinate of T_c, at scale 1, for records of this dimension."""
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
        ball, n = records.records.ball, records.records.n
        logs, body = records.records._coordinates.all(), vectors_up_to(ball.radius, ball.space.dim)

        def one_class(place: int) -> Array:
            chosen = records.labels == place
            logs_of_class = Bounded(np.where(chosen[:, None], logs, 0.0), body)
            share = np.count_nonzero(chosen) / n
            return np.append(logs_of_class.coordinate_mean().point, self.weight(ball) * share)

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


def joint_means(
    records: Array, labels: Array, classes: int, ball: Ball, guarantee: Guarantee, ledger: Ledger | None,
    *, mechanism: str, calibration: str, note: str,
) -> tuple[Release, Array]:  # fmt: skip
    """The means of all classes as one release, private also in the labels; and which classes are rare in it."""
    require_ledger(ledger)
    inside = Bounded(records, ball)
    query = Query(ball, inside.n, guarantee, calibration=calibration, statistic=ClassSums(classes))
    query = replace(query, mechanism=_noise_for_labels(mechanism))
    plan = query.plan()
    warn_of(_doubts_about_classes(query, classes, plan))
    law, what = query.law(plan), f"{CLASS_MEANS} of {inside.n} records, {plan.mechanism}"
    with reserved(guarantee.with_assumptions(PUBLIC, ENTROPY, ROUNDING, ANY_CLASS), what, ledger, note) as paid:
        drawn = paid.draw(lambda: law.value(Labelled(inside, labels)), law)
        made = recorded(drawn, paid, plan, ball=_copies(ball, classes), statistic=CLASS_MEANS, n=inside.n)
    return made, ClassSums(classes).with_noise(by_name(plan.mechanism)).rare(drawn.noisy, plan.scale)


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

    return doubts_about(predict, query.n, query.guarantee, query.ball.radius, of_one(plan))


def _copies(ball: Ball, count: int) -> Ball:
    """The same ball in each factor of a product, for the record: the release's centre and radius."""
    space = Product(*[ball.space] * count)
    return Ball(space, space.join([ball.center] * count), ball.radius)
