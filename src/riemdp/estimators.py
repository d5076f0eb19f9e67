"""scikit-learn estimators: private means, classification by the nearest private class mean, tangent vectors.

What `fit` learns is released through `riemdp.privacy.release`, so it is private; what `predict` and `transform` say
about a record is a function of that record and is not. A ledger counts every fit: clones, folds, grids, threads and
processes all spend from its file. Proofs: docs/proofs/private_mdm.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array, check_X_y
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from riemdp.arithmetic import round_up
from riemdp.cells import equals_itself, numbers, places
from riemdp.errors import InputError, MechanismError
from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.manifolds import Euclidean, Product
from riemdp.manifolds.base import FARTHEST, Array
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE, Wrapped
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.noise import grid_step
from riemdp.privacy.release import ENTROPY, PUBLIC, Drawn, Plan, Release, described, release
from riemdp.sources import is_dask, source_of
from riemdp.statistics.adaptive import Adaptation
from riemdp.statistics.mean import CLASS_MEANS, ROUNDING, WITHIN_CLASSES, doubts, private_mean, rehearse, request_for
from riemdp.statistics.sensitivity import tangent_mean_sensitivity, with_solver_error
from riemdp.statistics.worth import Doubt, doubts_about, settled, warn_of
from riemdp.version import __version__

ANY_CLASS = "the set of classes is public; a record may be replaced by one of any class, and class sizes are private"
ONE_CLASS = "protects a record within its class: one per person, who is in one class only"
ONE_RECORD = "protects a record: one per person"
RARE = 3  # standard deviations of the noise: a class without records has a larger share in less than 1 % of fits


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: the arguments of `private_mean`, and how they read records."""

    def __init__(
        self,
        *,
        ball: Ball | Callable[[int], Ball],
        guarantee: Guarantee,
        mechanism: str = "auto",
        calibration: str = "analytic",
        footpoint: Any = None,
        statistic: str = "frechet-mean",
        adapt: bool | Adaptation = False,
        ledger: Ledger | None = None,
        note: str = "",
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.mechanism = mechanism
        self.calibration = calibration
        self.footpoint = footpoint
        self.statistic = statistic
        self.adapt = adapt
        self.ledger = ledger
        self.note = note

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # a release draws fresh noise; nothing seeded is ever one
        tags.input_tags.allow_nan = tags.input_tags.string = True  # values of records never raise
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _asked(self) -> dict[str, Any]:
        names = ("mechanism", "calibration", "footpoint", "statistic", "adapt")
        return {name: getattr(self, name) for name in names}

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """Arrays as scikit-learn wants them; no value of a record raises."""
        records = self._numbers(X)
        check: Callable[..., Any] = check_X_y if y else check_array
        found = check(records, *y, dtype=np.float64, ensure_all_finite=False, allow_nd=True, estimator=self)
        validate_data(self, X if hasattr(X, "columns") else records, reset=reset, skip_check_array=True)  # names
        return found

    def _numbers(self, X: Any) -> Any:
        """The records as real numbers, planar landmarks too; what is no array of records is left to scikit-learn."""
        if not isinstance(self.ball, Ball):
            return numbers(X, None)
        records, space = self.ball.space.numbers(X), self.ball.space
        if not np.iscomplexobj(records):
            return records
        return space.write(space.read(records, "X"), self.ball.center)

    def _dask_array(self, X: Any) -> Any:
        """As it is: what scikit-learn validates it would load into memory."""
        self.n_features_in_ = math.prod(source_of(X).shape[1:2])
        return X

    def _public_ball(self, X: Array) -> Ball:
        return self.ball(X.shape[1]) if callable(self.ball) else self.ball

    def _fit_mean(self, X: Any) -> Self:
        with _all_or_nothing(self):
            records = self._dask_array(X) if is_dask(X) else self._validated(X)
            ball = self._public_ball(records)
            self.release_ = private_mean(
                records, ball, self.guarantee, ledger=self.ledger, note=self.note, **self._asked
            )
            self.ball_, self.mean_, self.guarantee_ = ball, self.release_.value, self.release_.guarantee
        return self

    def _points(self, X: Any) -> Array:
        """The records as `fit` treats them, in the form of the space's primitives: moved into the ball one by one."""
        check_is_fitted(self)
        coords = Bounded(self._validated(X, reset=False), self.ball_)._coordinates.all()
        return np.asarray(self.ball_.space.exp_coords(coords, self.ball_.inner_center))


@contextmanager
def _all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was: without attributes, or with those already paid for."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class PrivateFrechetMean(_PrivateEstimator):
    """A differentially private Fréchet mean: `private_mean` as an estimator.

    `ball` is a public Ball, or a function from the number of features (X.shape[1]) to one; to be pickled it must be
    defined in a module. `guarantee` is what a fit spends. The other arguments are those of `private_mean`.

    After `fit(X)`: `mean_` (a point), `release_`, `guarantee_` (with its assumptions), `ball_`, `n_features_in_`.
    A fit that the ledger refuses raises BudgetExceeded and changes nothing.

    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0)
    >>> PrivateFrechetMean(ball=ball, guarantee=rd.GDP(1.0)).fit(np.tile(np.eye(2), (100, 1, 1))).mean_.shape
    (2, 2)
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Release a private mean of the records X (n, *point_shape); y is ignored."""
        return self._fit_mean(X)


class PrivateTangentSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _PrivateEstimator):  # type: ignore[misc]
    """Tangent vectors at a private mean, for any classifier or regression of vectors after it.

    `fit` releases a private mean as PrivateFrechetMean does, whose arguments and attributes it has. `transform`
    gives each record's own tangent vector: that is NOT private, and neither is what a following step learns from it.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Release a private mean of the records X (n, *point_shape); y is ignored."""
        return self._fit_mean(X)

    def transform(self, X: Any) -> Array:
        """log of each record at `mean_`, in an orthonormal basis (n, dim): lengths are distances. NOT private.

        A record outside the ball is first moved onto it, an unusable one to its centre, as in `fit`.
        """
        points, space = self._points(X), self.ball_.space
        return np.asarray(space.log_coords(points, space.read(self.mean_, "mean_")))

    @property
    def _n_features_out(self) -> int:
        return int(self.ball_.space.dim)


class PrivateMDM(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, _PrivateEstimator  # type: ignore[misc]
):
    """Minimum distance to private class means, for records of which a person has ONE, in ONE class only.

    The guarantee protects a record that is replaced within its class. A person with records in two classes changes
    two class means and is protected more weakly: GDP(mu) becomes sqrt(2) mu, PureDP(epsilon) 2 epsilon, and so on
    for more classes. Without privacy this is pyRiemann's MDM (Barachant et al. 2012).

    By default labels and class sizes are public: each class mean is released with the whole guarantee, since a
    record, replaced within its class, changes only one of them (parallel composition). `guarantee_.assumptions`
    says so, and the ledger is charged once.

    `private_labels=True` lets a record change its class as well. `classes`, the set of labels, must then be given
    and public; a record with any other label, or none, counts for nothing. The class means, all in one release, are
    those of the logs at the ball's centre (the tangent mean, whatever `statistic`), by wrapped Laplace or Gaussian
    noise. A class with few records or none has a mean that is mostly noise: where its share of the records, as
    released, is within three standard deviations of the noise from 0, it is `left_out_`, and no record is predicted
    to be in it. With public labels the classes are those that occur in y.

    The other arguments are those of PrivateFrechetMean. After `fit(X, y)`: `classes_`, `means_` (classes,
    *point_shape), `left_out_` (classes,), `guarantee_`, `releases_` (one per class; with private labels one, a point
    of the product of a copy of the space per class), `ball_`, `n_features_in_`. `score` on private records is not
    private.
    """

    def __init__(
        self,
        *,
        ball: Ball | Callable[[int], Ball],
        guarantee: Guarantee,
        mechanism: str = "auto",
        calibration: str = "analytic",
        footpoint: Any = None,
        statistic: str = "frechet-mean",
        adapt: bool | Adaptation = False,
        private_labels: bool = False,
        classes: Any = None,
        ledger: Ledger | None = None,
        note: str = "",
    ) -> None:
        super().__init__(
            ball=ball, guarantee=guarantee, mechanism=mechanism, calibration=calibration,
            footpoint=footpoint, statistic=statistic, adapt=adapt, ledger=ledger, note=note,
        )  # fmt: skip
        self.private_labels = private_labels
        self.classes = classes

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """As scikit-learn writes it; and a comment, since what is protected is easily mistaken."""
        text: str = super().__repr__(N_CHAR_MAX)
        return f"{text}  # {ONE_RECORD if self.private_labels else ONE_CLASS}"

    def fit(self, X: Any, y: Any) -> Self:
        """Release the private means of the classes of the records X (n, *point_shape) with labels y (n,).

        A person must have one record, in one class: see the class.
        """
        with _all_or_nothing(self):
            if self.private_labels:
                self._fit_private_labels(X, y)
            else:
                self._fit_public_labels(X, y)
        return self

    def _fit_public_labels(self, X: Any, y: Any) -> None:
        _require_labels(y)
        records, labels = self._validated(X, y)
        check_classification_targets(labels)
        self.ball_, self.classes_ = self._public_ball(records), np.unique(labels)
        groups = [records[labels == label] for label in self.classes_]
        self.releases_ = _parallel_means(
            groups, self.ball_, self.guarantee, self.ledger, self.note, **self._asked
        )
        self.guarantee_ = self.releases_[0].guarantee
        self.means_ = np.stack([release.value for release in self.releases_])
        self.left_out_ = np.zeros(len(self.classes_), dtype=bool)  # every class is one that occurs

    def _fit_private_labels(self, X: Any, y: Any) -> None:
        if self.footpoint is not None:
            raise InputError("footpoint must be left out with private_labels=True: the noise is at the ball's centre.")
        if self.adapt:
            raise InputError(f"adapt = {self.adapt!r}: leave it out with private_labels=True, which does not adapt.")
        records = self._validated(X)
        self.ball_, self.classes_ = self._public_ball(records), _public_classes(self.classes)
        labels = _labels(y, len(records), self.classes_)
        joint, self.left_out_ = _joint_means(
            records, labels, np.arange(len(self.classes_)), self.ball_, self.guarantee, self.ledger,
            mechanism=self.mechanism, calibration=self.calibration, note=self.note,
        )  # fmt: skip
        assert isinstance(joint.space, Product)
        self.releases_, self.guarantee_ = (joint,), joint.guarantee
        self.means_ = np.stack(joint.space.split(joint.value))

    def transform(self, X: Any) -> Array:
        """Distance of each record to each class mean (n, classes). NOT private.

        A record outside the ball is first moved onto it, an unusable one to its centre, as in `fit`.
        """
        return self._distances(X)

    def predict(self, X: Any) -> Array:
        """The class with the nearest mean, of those that are not `left_out_`. NOT private."""
        nearest = self._possible_distances(X).argmin(axis=1)
        return np.asarray(self.classes_[nearest])

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the negative squared distances, as pyRiemann has it; 0 for classes `left_out_`. NOT private."""
        return np.asarray(softmax(-(self._possible_distances(X) ** 2)))

    def _possible_distances(self, X: Any) -> Array:
        """Distances to the class means, infinite to those that stand for hardly any record."""
        distances = self._distances(X)
        return np.where(self.left_out_, np.inf, distances)

    def _distances(self, X: Any) -> Array:
        """What `transform` returns, before scikit-learn makes a data frame of it."""
        points, space = self._points(X), self.ball_.space
        return np.stack([space.distance(mean, points) for mean in space.read(self.means_, "means_")], axis=1)

    @property
    def _n_features_out(self) -> int:
        return len(self.classes_)


# --- labels public: one release per class, paid for once ---------------------------------------------------


def _parallel_means(
    groups: list[Array], ball: Ball, guarantee: Guarantee, ledger: Ledger | None, note: str, **asked: Any
) -> tuple[Release, ...]:
    """A private mean of each group, each with the whole guarantee; whatever can be refused is so before it is paid."""
    _check_ledger(ledger)
    extra = [text for group in groups for text in rehearse(ball, Bounded(group, ball).n, guarantee, **asked)]
    joint = guarantee.with_assumptions(PUBLIC, ENTROPY, ROUNDING, WITHIN_CLASSES, *extra)
    warn_of(doubts(ball, min(map(len, groups)), guarantee, **asked))
    total = sum(map(len, groups))
    text = described(f"means of {len(groups)} classes of {total} records", note)
    entry = ledger.reserve(joint, text) if ledger else None
    with settled():
        releases = tuple(private_mean(group, ball, joint, **asked) for group in groups)
    if ledger and entry is not None:
        ledger.confirm(entry)
    return releases


def _require_labels(y: Any) -> None:
    """Raise if some label is missing or no label at all: they are public here."""
    is_plain = isinstance(getattr(y, "dtype", None), np.dtype) and y.dtype.kind != "O"
    if y is not None and not is_plain and np.iterable(y) and not all(map(equals_itself, y)):
        raise InputError("y holds missing labels, or lists: pass one label for each record, or private_labels=True.")


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


def _joint_means(
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


def _public_classes(classes: Any) -> Array:
    if classes is None or np.ndim(classes) != 1 or len(classes) == 0:
        raise InputError(f"classes = {classes!r}: with private_labels=True pass the public list of all labels.")
    return np.unique(np.asarray(classes))


def _labels(y: Any, n: int, classes: Array) -> Array:
    """The place among the classes of each record's label; which ones they are is private, so nothing else is checked.

    Each label is looked up by itself: as an array, one text among numbers would turn all of them into texts.
    """
    shape = tuple(y.shape) if hasattr(y, "shape") else _shape_of_list(y)
    if shape != (n,):
        raise InputError(f"y has shape {shape}: pass one label for each of the {n} records.")
    return places(list(y), list(classes))


def _shape_of_list(y: Any) -> tuple[int, ...]:
    """Of a list of labels; one that holds nothing but lists is a table."""
    if not isinstance(y, Sequence) or isinstance(y, str | bytes):
        raise InputError(f"y is a {type(y).__name__}: pass a list of labels.")
    is_table = len(y) > 0 and all(isinstance(label, list | tuple) for label in y)
    return (len(y), len(y[0])) if is_table else (len(y),)
