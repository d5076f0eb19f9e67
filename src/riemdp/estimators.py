"""scikit-learn estimators: private means, classification by the nearest private class mean, tangent vectors.

What `fit` learns is released through `riemdp.privacy.release`, so it is private; what `predict` and `transform` say
about a record is a function of that record and is not. A ledger counts every fit: clones, folds, grids, threads and
processes all spend from its file. Proofs: docs/proofs/private_mdm.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array, check_X_y
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from riemdp.arguments import finite_array
from riemdp.errors import InputError
from riemdp.io.cells import equals_itself, numbers, places
from riemdp.io.sources import is_dask, source_of
from riemdp.manifolds import Product
from riemdp.manifolds.base import Array
from riemdp.manifolds.upper_triangles import from_upper_triangles, require_matrices, upper_triangles
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.guarantee import Guarantee, as_guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.written import BallMapping, as_ball
from riemdp.statistics.adaptive import Adaptation
from riemdp.statistics.class_means import joint_means, parallel_means
from riemdp.statistics.mean import private_mean, require_known

ONE_CLASS = "protects a record within its class: one per person, who is in one class only"
ONE_RECORD = "protects a record: one per person"


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: the arguments of `private_mean`, and how they read records."""

    def __init__(
        self,
        *,
        ball: Ball | BallMapping | Callable[[int], Ball],
        guarantee: Guarantee | str,
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
        ball = as_ball(self.ball) if _has_size(self.ball) else self.ball
        if not isinstance(ball, Ball):
            return numbers(X, None)
        records, space = ball.space.numbers(X), ball.space
        if not np.iscomplexobj(records):
            return records
        return space.write(space.read(records, "X"), ball.center)

    def _dask_array(self, X: Any) -> Any:
        """As it is: what scikit-learn validates it would load into memory."""
        self.n_features_in_ = math.prod(source_of(X).shape[1:2])
        return X

    def _public_ball(self, X: Array) -> Ball:
        return as_ball(self.ball(X.shape[1]) if callable(self.ball) else self.ball, features=math.prod(X.shape[1:2]))

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


def _has_size(ball: Any) -> TypeGuard[BallMapping]:
    """Whether a ball that is written down says how large its space is; else the records do."""
    return isinstance(ball, Mapping) and "size" in ball


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

    `ball` is a public Ball, or a mapping that describes one, without a "size" if the number of features (X.shape[1])
    gives it, or a function from that number to a ball; to be pickled it must be defined in a module. `guarantee` is
    what a fit spends, also as a text. The other arguments are those of `private_mean`.

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

    `basis` is "orthonormal", in which lengths are distances, or "pyriemann" for matrices: the coordinates that
    pyRiemann's TangentSpace gives of the same record at the same mean.
    """

    def __init__(
        self,
        *,
        ball: Ball | BallMapping | Callable[[int], Ball],
        guarantee: Guarantee | str,
        mechanism: str = "auto",
        calibration: str = "analytic",
        footpoint: Any = None,
        statistic: str = "frechet-mean",
        adapt: bool | Adaptation = False,
        basis: str = "orthonormal",
        ledger: Ledger | None = None,
        note: str = "",
    ) -> None:
        super().__init__(
            ball=ball, guarantee=guarantee, mechanism=mechanism, calibration=calibration,
            footpoint=footpoint, statistic=statistic, adapt=adapt, ledger=ledger, note=note,
        )  # fmt: skip
        self.basis = basis

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Release a private mean of the records X (n, *point_shape); y is ignored."""
        require_known("basis", self.basis, ["orthonormal", "pyriemann"])
        return self._fit_mean(X)

    def _public_ball(self, X: Array) -> Ball:
        ball = super()._public_ball(X)
        if self.basis == "pyriemann":
            require_matrices(ball.space)
        return ball

    def transform(self, X: Any) -> Array:
        """log of each record at `mean_`, in the basis asked for (n, dim). NOT private.

        A record outside the ball is first moved onto it, an unusable one to its centre, as in `fit`.
        """
        points, space = self._points(X), self.ball_.space
        coords = np.asarray(space.log_coords(points, space.read(self.mean_, "mean_")))
        return coords if self.basis == "orthonormal" else upper_triangles(coords, space, self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """The points whose tangent vectors at `mean_` these are: exp of what `transform` gives. NOT private.

        Parameters
        ----------
        X : array of shape (n, dim)
            Tangent vectors in the basis of `transform`.

        Returns
        -------
        array of shape (n, *point_shape)
            A record comes back as `fit` used it: moved into the ball if it was outside.

        Raises
        ------
        InputError
            If X has another shape, or holds what is no number.
        """
        check_is_fitted(self)
        space, vectors = self.ball_.space, finite_array(X, "X")
        if vectors.ndim != 2 or vectors.shape[1] != space.dim:
            raise InputError(f"X has shape {vectors.shape}: pass tangent vectors of shape (n, {space.dim}).")
        coords = vectors if self.basis == "orthonormal" else from_upper_triangles(vectors, space, self.mean_)
        return space.exp(space.from_coordinates(coords, self.mean_), self.mean_)

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
        ball: Ball | BallMapping | Callable[[int], Ball],
        guarantee: Guarantee | str,
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
        self.releases_ = parallel_means(
            groups, self.ball_, as_guarantee(self.guarantee), self.ledger, self.note, **self._asked
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
        joint, self.left_out_ = joint_means(
            records, labels, np.arange(len(self.classes_)), self.ball_, as_guarantee(self.guarantee), self.ledger,
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


# --- labels ----------------------------------------------------------------------------------------------


def _require_labels(y: Any) -> None:
    """Raise if some label is missing or no label at all: they are public here."""
    is_plain = isinstance(getattr(y, "dtype", None), np.dtype) and y.dtype.kind != "O"
    if y is not None and not is_plain and np.iterable(y) and not all(map(equals_itself, y)):
        raise InputError("y holds missing labels, or lists: pass one label for each record, or private_labels=True.")


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
