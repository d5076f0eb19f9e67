"""The means of the classes of labelled records: one release for each class, or one of all of them.

With public labels a record, replaced within its class, changes one class mean only. With private labels all classes are
one release of a sum of bounded vectors: each record's own, in the place of its class, and its share in the count of
that class. Proofs: docs/proofs/private_mdm.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.arithmetic import round_up
from riemdp.errors import InputError, MechanismError
from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.manifolds import Euclidean, Product
from riemdp.manifolds.base import FARTHEST, Array
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE, Wrapped
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.noise import grid_step
from riemdp.privacy.release import ENTROPY, PUBLIC, Drawn, Plan, Release, described, release, reserved
from riemdp.statistics.mean import ROUNDING, doubts, private_mean, rehearse, request_for
from riemdp.statistics.sensitivity import tangent_mean_sensitivity, with_solver_error
from riemdp.statistics.worth import Doubt, doubts_about, settled, warn_of
from riemdp.version import __version__

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
    _check_ledger(ledger)
    extra = [text for group in groups for text in rehearse(ball, Bounded(group, ball).n, guarantee, **asked)]
    joint = guarantee.with_assumptions(PUBLIC, ENTROPY, ROUNDING, WITHIN_CLASSES, *extra)
    warn_of(doubts(ball, min(map(len, groups)), guarantee, **asked))
    total = sum(map(len, groups))
    text = described(f"means of {len(groups)} classes of {total} records", note)
    with reserved(joint, text, ledger), settled():
        return tuple(private_mean(group, ball, joint, **asked) for group in groups)


def _check_ledger(ledger: Any) -> None:
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")


# --- labels private: all classes in one release ------------------------------------------------------------


@dataclass(frozen=True)
class ClassSums:
    """T_c = (S_c, w p_c) for each of K classes: S_c = (1/n) sum_{y_i = c} log_m0(x_i), p_c = (1/n) #{i: y_i = c}.

    Gaussian noise: w = r, Euclidean sensitivity 2r/n. Laplace noise, isotropic in each T_c by itself: w = r d^(-1/4),
    and sum_c ‖T_c‖ has sensitivity 2 sqrt(r² + w²)/n. No other weight has a smaller worst-case error
    (docs/proofs/private_mdm.md).
    """

    ball: Ball
    n: int
    noise: Wrapped

    @property
    def is_gaussian(self) -> bool:
        """Which of the two norms measures the sensitivity."""
        return self.noise.name == WRAPPED_GAUSSIAN.name

    @property
    def weight(self) -> float:
        """w, public."""
        return self.ball.radius * (1.0 if self.is_gaussian else self.ball.space.dim**-0.25)

    @property
    def sensitivity(self) -> float:
        """In the norm that belongs to the noise, plus twice the rounding of the sums."""
        exact = round_up(lambda r, w: 2 * (r**2 + w**2).sqrt() / self.n, self.ball.radius, self.weight)
        if self.is_gaussian:
            exact = tangent_mean_sensitivity(self.ball.radius, self.n)
        return with_solver_error(exact, 128 * UNIT_ROUNDOFF * self.ball.radius)

    @property
    def variance(self) -> float:
        """Of the noise in one coordinate of T_c, at scale 1."""
        return self.noise.mean_square(self.ball.space.dim + 1) / (self.ball.space.dim + 1)

    def value(self, records: Array, labels: Array, classes: Array) -> Array:
        """T (classes, dim + 1). All logs are taken at once and all sums run over n rows: class sizes are private."""
        logs = np.column_stack([Bounded(records, self.ball)._coordinates.all(), np.full(self.n, self.weight)])
        flat = Euclidean(logs.shape[1])
        parts = (np.where((labels == label)[:, None], logs, 0.0) for label in classes)
        return np.stack([flat.closed_form_mean(part).point for part in parts])

    def draw(self, sums: Array, scale: float) -> Visible:
        """T with independent noise on each T_c, rounded once: all that leaves this class is a function of it."""
        grid = grid_step(scale)
        return Visible(np.array([self.noise.add_noise(row, scale, grid) for row in sums]))

    def point(self, noisy: Visible, scale: float) -> Drawn:
        """Post-processing: the class means as one point of the product."""
        means = self.means(noisy)
        return Drawn(Product(*[self.ball.space] * len(means)).assemble(list(means))[None], grid_step(scale))

    def rare(self, noisy: Visible, scale: float) -> Array:
        """Post-processing: which classes may well have no record, by their noisy shares; never the largest one."""
        shares, deviation = noisy.vectors[:, -1], scale * math.sqrt(self.variance)
        return np.asarray((shares < RARE * deviation) & (shares < shares.max()))

    def means(self, noisy: Visible) -> Array:
        """Post-processing: the shares add up to 1 and are at least 1/n, and a mean lies in the ball."""
        return carry(noisy.then(self._coords), np.zeros(self.ball.space.dim), self.ball)

    def _coords(self, noisy: Array) -> Array:
        noisy = np.clip(noisy, -FARTHEST, FARTHEST)
        shares = noisy[:, -1] / self.weight
        shares = np.maximum(shares + (1 - shares.sum()) / len(shares), 1 / self.n)
        coords = noisy[:, :-1] / shares[:, None]
        with np.errstate(over="ignore"):  # a length beyond float64 gives the centre
            length = np.maximum(np.linalg.norm(coords, axis=1, keepdims=True), self.ball.radius)
        return np.asarray(coords * (self.ball.radius / length))

    def plan(self, classes: int, guarantee: Guarantee, calibration: str) -> Plan:
        """Scale and predicted error, to first order and for classes of equal size around the ball's centre."""
        scale, dim = self.noise.calibrate(guarantee, self.sensitivity, calibration), self.ball.space.dim
        self.noise.check(self.ball, self.n, self.sensitivity, scale)
        error = classes**1.5 * scale * math.sqrt(dim * self.variance)
        return Plan(self.noise.name, guarantee, self.sensitivity, scale, error)


def joint_means(
    records: Array, labels: Array, classes: Array, ball: Ball, guarantee: Guarantee, ledger: Ledger | None,
    *, mechanism: str, calibration: str, note: str,
) -> tuple[Release, Array]:  # fmt: skip
    """The means of all classes as one release, private also in the labels; and which classes are rare in it."""
    _check_ledger(ledger)
    n = Bounded(records, ball).n
    request_for(ball, n, guarantee, calibration, None, "tangent-mean")  # refuses what is no ball, guarantee, ...
    sums, best = _best_noise(ball, n, len(classes), guarantee, mechanism, calibration)
    warn_of(_doubts_about_classes(ball, n, len(classes), guarantee, mechanism, calibration))
    rare = np.zeros(len(classes), dtype=bool)

    def draw(value: Array) -> Drawn:
        noisy = sums.draw(value, best.scale)
        rare[:] = sums.rare(noisy, best.scale)
        return sums.point(noisy, best.scale)

    made = release(
        lambda: sums.value(records, labels, classes),
        draw,
        best,
        ball=_copies(ball, len(classes)),
        statistic=CLASS_MEANS,
        n=n,
        version=__version__,
        assumptions=(ROUNDING, ANY_CLASS),
        ledger=ledger,
        note=note,
    )
    return made, rare


def _best_noise(
    ball: Ball, n: int, classes: int, guarantee: Guarantee, mechanism: str, calibration: str
) -> tuple[ClassSums, Plan]:
    """The named noise, or the one of the two that can give the guarantee with the least predicted error."""
    noises = [noise for noise in (WRAPPED_GAUSSIAN, WRAPPED_LAPLACE) if mechanism in ("auto", noise.name)]
    found, refusal = [], MechanismError(
        f"mechanism = {mechanism!r} cannot keep labels private: use 'auto', 'wrapped-laplace' or 'wrapped-gaussian'."
    )  # fmt: skip
    for sums in (ClassSums(ball, n, noise) for noise in noises):
        try:
            found.append((sums, sums.plan(classes, guarantee, calibration)))
        except MechanismError as error:
            refusal = error
    if not found:
        raise refusal
    return min(found, key=lambda pair: pair[1].expected_error)


def _doubts_about_classes(
    ball: Ball, n: int, classes: int, guarantee: Guarantee, mechanism: str, calibration: str
) -> list[Doubt]:
    """What public numbers say against the means of classes, of equal size for all that is known."""

    def predict(records: int, promise: Guarantee) -> float:
        _, plan = _best_noise(ball, records, classes, promise, mechanism, calibration)
        return plan.expected_error / math.sqrt(classes)  # of one class mean

    return doubts_about(predict, n, guarantee, ball.radius)


def _copies(ball: Ball, count: int) -> Ball:
    """The same ball in each factor of a product, for the record: the release's centre and radius."""
    space = Product(*[ball.space] * count)
    return Ball(space, space.join([ball.center] * count), ball.radius)
