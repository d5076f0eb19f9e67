"""What the estimators share: the arguments of `private_mean`, how records are read, and fits that cannot half-fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.io.cells import numbers
from riemdp.io.sources import is_dask, source_of
from riemdp.manifolds.base import Array
from riemdp.names import CalibrationName, MechanismName
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.releases.release import Release
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.catalogue import StatisticName
from riemdp.statistics.mean import private_mean
from riemdp.written import BallMapping, as_ball

MODEL_FORMAT = 1  # of estimators in pickles; those without a number are older


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: the arguments of `private_mean`, and how they read records.

    Fields are the arguments of `__init__`, which does nothing but keep them, as scikit-learn wants it.
    """

    ball: Ball | BallMapping | Callable[[int], Ball]
    guarantee: Guarantee | str
    mechanism: MechanismName = "auto"
    calibration: CalibrationName = "analytic"
    footpoint: Any = None
    statistic: StatisticName = "frechet-mean"
    adapt: bool | Adaptation = False
    unit: str | None = None
    ledger: Ledger | None = None
    note: str = ""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # a release draws fresh noise; nothing seeded is ever one
        tags.input_tags.allow_nan = tags.input_tags.string = True  # values of records never raise
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds, with the number of its format: a model was paid for, later versions have to read it."""
        return dict(super().__getstate__()) | {"_format": MODEL_FORMAT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = {name: value for name, value in state.items() if name != "_format"}
        if state.get("_format", 0) > MODEL_FORMAT:
            name, number = type(self).__name__, state["_format"]
            raise InputError(f"the {name} was saved by a newer riemdp (format {number}): upgrade riemdp.")
        super().__setstate__(self._later_state(known) | known)

    def _later_state(self, known: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """What an older model may lack: parameters that were added since, as if they had not been given."""
        arguments = signature(type(self)).parameters.items()
        return {name: one.default for name, one in arguments if one.default is not Parameter.empty}

    @property
    def _asked(self) -> dict[str, Any]:
        names = ("mechanism", "calibration", "footpoint", "statistic", "adapt")
        return {name: getattr(self, name) for name in names}

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """Arrays as scikit-learn wants them; no value of a record raises."""
        records = self._numbers(X)
        _require_rows(records)
        is_complex = np.iscomplexobj(records)
        check: Callable[..., Any] = check_X_y if y else check_array
        with np.errstate(all="ignore"):  # a long double may be beyond float64
            found = check(
                _pairs(records) if is_complex else records,
                *y, dtype=np.float64, ensure_all_finite=False, allow_nd=True, estimator=self,
            )  # fmt: skip
        validate_data(self, X if hasattr(X, "columns") else records, reset=reset, skip_check_array=True)  # names
        if not is_complex:
            return found
        self._public_ball(records).space.shape_of_point(records.dtype)  # raises if its points are real
        return (records, found[1]) if y else records

    def _numbers(self, X: Any) -> Any:
        """The records as numbers, planar landmarks as real ones; what is no array is left to scikit-learn."""
        ball = as_ball(self.ball) if _has_size(self.ball) else self.ball
        if not isinstance(ball, Ball):
            return numbers(X, None)
        records, space = ball.space.numbers(X), ball.space
        if not np.iscomplexobj(records):
            return records
        with np.errstate(all="ignore"):
            return space.write(space.read(records, "X"), ball.center)

    def _dask_array(self, X: Any) -> Any:
        """As it is: what scikit-learn validates it would load into memory."""
        self.n_features_in_ = math.prod(source_of(X).shape[1:2])
        return X

    def _public_ball(self, X: Array) -> Ball:
        return as_ball(self.ball(X.shape[1]) if callable(self.ball) else self.ball, shape=tuple(X.shape))

    def _fit_records(self, X: Any, groups: Any) -> Self:
        """What `fit` does with records alone: release their mean."""
        return self._fit_release(X, groups, private_mean, **self._asked)

    def _fit_release(self, X: Any, groups: Any, make: Callable[..., Release], **asked: Any) -> Self:
        """What `make` releases of the records, and what all releases of a mean tell."""
        with all_or_nothing(self):
            records = self._dask_array(X) if is_dask(X) else self._validated(X)
            ball = self._public_ball(records)
            asked |= {"groups": groups, "unit": self.unit, "ledger": self.ledger, "note": self.note}
            self.release_: Any = make(records, ball, self.guarantee, **asked)
            self.ball_, self.mean_, self.guarantee_ = ball, self.release_.value, self.release_.guarantee
        return self

    def _points(self, X: Any) -> Array:
        """The records as `fit` treats them, in the form of the space's primitives: moved into the ball one by one."""
        check_is_fitted(self)
        coords = Bounded(self._validated(X, reset=False), self.ball_)._coordinates.all()
        return np.asarray(self.ball_.space.exp_coords(coords, self.ball_.inner_center))

    def _logs_at_mean(self, X: Any) -> Array:
        """Coordinates (n, dim) of the records at `mean_`."""
        points, space = self._points(X), self.ball_.space
        return np.asarray(space.log_coords(points, space.read(self.mean_, "mean_")))


class FitWithoutLabels:
    """The `fit` of estimators that learn from records alone."""

    _fit_records: ClassVar[Callable[..., Any]]

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Release what is learnt of the records, privately.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            The records.
        y : object, optional
            Ignored: scikit-learn's pipelines pass it.
        groups : sequence of ids, of shape (n,), optional
            Whose record each is, if people have several: then a person with all of their records is protected.

        Returns
        -------
        Self
            The estimator itself, fitted.

        Raises
        ------
        InputError, MechanismError, BudgetExceeded
            As the release does, of which the estimator is one (`private_mean`, `private_summary`), or if its own
            arguments make no sense; nothing is then changed. Values of records never raise.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0)
        >>> fitted = rd.PrivateFrechetMean(ball=ball, guarantee="mu=1").fit(np.tile(np.eye(2), (100, 1, 1)))
        >>> fitted.release_.n
        100
        """
        fitted: Self = self._fit_records(X, groups)
        return fitted


def _has_size(ball: Any) -> TypeGuard[BallMapping]:
    """Whether a ball that is written down says how large its space is; else the records do."""
    return isinstance(ball, Mapping) and "size" in ball


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was: without attributes, or with those already paid for."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _require_rows(records: Any) -> None:
    """Raise if there is no axis but that of the records: scikit-learn would show what it refuses."""
    if np.ndim(records) < 2:
        how = "with X[:, None] if each record is one number, with X[None] if all of it is one record"
        raise InputError(f"X has shape {np.shape(records)}: Reshape your data, {how}.")


def _pairs(records: Array) -> Array:
    """Complex numbers as pairs of real ones: scikit-learn takes no others, and shows those that it refuses."""
    return np.ascontiguousarray(records, dtype=np.complex128).view(np.float64)
