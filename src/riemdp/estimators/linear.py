"""Linear classifiers of which every learnt number is private, labels included. Proof: docs/proofs/classifiers.md."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from riemdp.accounting.guarantee import Guarantee, as_guarantee
from riemdp.accounting.unit import RECORD, unit_of
from riemdp.arguments import finite_number, whole_number
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.estimators.base import PrivateEstimator, all_or_nothing
from riemdp.estimators.mdm import _labels, _public_classes, _require_labels
from riemdp.io.sources import is_dask
from riemdp.manifolds.base import Array
from riemdp.privacy.ledger import Ledger
from riemdp.releases.plan import Plan
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.discriminant import Discriminant
from riemdp.statistics.linear_classifiers import LinearClassifier, with_labels
from riemdp.statistics.logistic import LogisticRegression
from riemdp.statistics.prepared import require_ledger
from riemdp.statistics.worth import warn_of
from riemdp.written import BallMapping, as_ball

ClassWeight = Mapping[Any, float] | None


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifierMixin(ClassifierMixin):  # type: ignore[misc]
    """What linear classifiers share, beside what all estimators do: how they are fitted and saved, and predict.

    Fields are the arguments of `__init__`: not those of a mean, which other estimators have.
    """

    ball: Ball | BallMapping | Callable[[int], Ball]
    guarantee: Guarantee | str
    classes: Any = None
    class_weight: ClassWeight = None
    adapt: bool | Adaptation = True
    unit: str | None = None
    ledger: Ledger | None = None
    note: str = ""
    release_: ClassifierRelease = field(init=False)
    _learns: ClassVar[type[LinearClassifier]]
    _validated: ClassVar[Callable[..., Any]]
    _dask_array: ClassVar[Callable[..., Any]]
    _public_ball: ClassVar[Callable[..., Ball]]

    @abstractmethod
    def _learner(self, ball: Ball, n: int, labels: tuple[Any, ...], class_weights: Array) -> LinearClassifier:
        """The public side of the fit."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn from records with labels, both private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            The records; of Dask, if `classes` are given.
        y : array of shape (n,)
            Their labels, which are held in memory. One that is missing, or none of `classes`, counts for nothing.
        groups : sequence of ids, of shape (n,), optional
            Whose record each is, if people have several: then a person with all of their records is protected, and
            counts as one, in equal parts in each of the classes that they are in.

        Returns
        -------
        LinearClassifierMixin
            Itself, fitted.

        Raises
        ------
        InputError, MechanismError, BudgetExceeded
            From public things alone, before anything is spent; nothing is then changed.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat([[-1.0], [1.0]], 500, axis=0), np.repeat(["low", "high"], 500)
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
        >>> model = rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["low", "high"]).fit(X, y)
        >>> model.predict([[1.5]]).tolist()
        ['high']
        """
        require_ledger(self.ledger)
        with all_or_nothing(self):
            X, self.classes_, labels = self._read(X, y)
            self.ball_, unit = self._public_ball(X), unit_of(groups, self.unit)
            records, labelled = with_labels(X, self.ball_, labels, len(self.classes_), groups)
            learner = self._learner_of(self.ball_, records.n, self.classes_, unit)
            warn_of(learner.doubts)
            self.release_ = learner.release(records, labelled, self.ledger, self.note)
            self.guarantee_ = self.release_.guarantee
        return self

    def plan(self, n: int, n_features: int | None = None) -> Plan:
        """Predict the noise of a fit, from public numbers alone.

        Parameters
        ----------
        n : int
            How many records there would be.
        n_features : int, optional
            X.shape[1], if the ball is a function of it.

        Returns
        -------
        Plan
            `expected_error` is the root mean square of the noise in what is learnt, and `note` says what it is
            about: too few records for the guarantee and the classes, and how many would do.

        Raises
        ------
        InputError, MechanismError
            What a fit would refuse; without `classes` nothing can be said.

        Examples
        --------
        >>> import riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
        >>> rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["low", "high"]).plan(1000).mechanism
        'wrapped-gaussian'
        """
        ball = as_ball(self.ball(whole_number(n_features, "n_features", 1)) if callable(self.ball) else self.ball)
        learner = self._learner_of(ball, whole_number(n, "n", 1), _public_classes(self.classes))
        return replace(learner.plan, note=" ".join([f"{learner.plan.note}.", *(d.in_numbers for d in learner.doubts)]))

    def _learner_of(self, ball: Ball, n: int, classes: Array, unit: str = RECORD) -> LinearClassifier:
        return replace(self._learner(ball, n, tuple(classes.tolist()), self._weights(classes)), unit=unit)

    def _read(self, X: Any, y: Any) -> tuple[Any, Array, Array]:
        """Records, classes, and the place of each record's label among them.

        Labels are looked at as a whole only if they are to say which classes there are, which then are public.
        """
        if self.classes is not None:
            records, classes = self._dask_array(X) if is_dask(X) else self._validated(X), _public_classes(self.classes)
            return records, classes, _labels(y.compute() if is_dask(y) else y, len(records), classes)
        if is_dask(X):
            raise InputError("X is a Dask array: pass classes=, the public list of all labels.")
        _require_labels(y, "classes=, the public list of all labels")
        records, labels = self._validated(X, y)
        check_classification_targets(labels)
        classes, places = np.unique(labels, return_inverse=True)
        return records, classes, places

    def _weights(self, classes: Array) -> Array:
        """Public weights of the classes, the largest of them 1."""
        given: Any = {} if self.class_weight is None else self.class_weight
        if given == "balanced":
            raise InputError("class_weight = 'balanced' counts private labels: pass a mapping of public weights.")
        if not isinstance(given, Mapping):
            raise InputError(f"class_weight = {given!r}: pass a mapping from classes to weights.")
        if unknown := [label for label in given if label not in classes]:
            raise InputError(f"class_weight has {unknown[0]!r}: pass weights of {', '.join(map(str, classes))}.")
        weights = np.array([finite_number(given.get(label, 1.0), "class_weight") for label in classes.tolist()])
        if not (weights > 0).all():
            raise InputError(f"class_weight = {given!r}: pass weights above 0.")
        return np.asarray(weights / weights.max())

    @property
    def coef_(self) -> Array:
        """(classes, dim), for two classes (1, dim): weights of coordinates at the centre of `release_.ball`."""
        coef = self.release_.coef
        return coef[1:] - coef[:1] if len(coef) == 2 else coef

    @property
    def intercept_(self) -> Array:
        """(classes,), for two classes (1,): scores of a record at that centre, if none is shortened."""
        intercept = self.release_.intercept
        return intercept[1:] - intercept[:1] if len(intercept) == 2 else intercept

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.release_.scores(self._validated(X, reset=False))

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes (n, classes), for two classes of the second one (n,). NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records; one outside `release_.ball` is moved onto it, an unusable one to its centre, as in `fit`.

        Returns
        -------
        array of shape (n, classes)
            Or (n,) for two classes.

        Raises
        ------
        InputError
            If the shape or type of X is not that of records.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat([[-1.0], [1.0]], 500, axis=0), np.repeat(["low", "high"], 500)
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
        >>> model = rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["low", "high"]).fit(X, y)
        >>> model.decision_function(X).shape
        (1000,)
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Array:
        """The class with the largest score. NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records, as of `decision_function`.

        Returns
        -------
        array of shape (n,)
            Labels.

        Raises
        ------
        InputError
            As `decision_function` does.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat([[-1.0], [1.0]], 500, axis=0), np.repeat(["low", "high"], 500)
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
        >>> model = rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["low", "high"]).fit(X, y)
        >>> model.predict([[-1.5]]).tolist()
        ['low']
        """
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the scores (n, classes). NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records, as of `decision_function`.

        Returns
        -------
        array of shape (n, classes)
            Numbers that sum to 1 for each record.

        Raises
        ------
        InputError
            As `decision_function` does.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat(np.eye(3), 500, axis=0), np.repeat(["a", "b", "c"], 500)
        >>> asked = {"ball": rd.Ball(rd.Euclidean(3), np.zeros(3), 2.0), "guarantee": rd.GDP(1.0)}
        >>> rd.PrivateLDA(**asked, classes=["a", "b", "c"]).fit(X, y).predict_proba(X[:5]).shape
        (5, 3)
        """
        return np.asarray(softmax(self._scores(X)))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fitted model as JSON: weights, guarantee, and the ledger's entry.

        Parameters
        ----------
        path : str or Path
            A name that ends in `.json`.
        force : bool
            Whether to replace a file that is there already.

        Raises
        ------
        InputError
            As `Release.save` does.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat([[-1.0], [1.0]], 500, axis=0), np.repeat(["low", "high"], 500)
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
        >>> model = rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["low", "high"]).fit(X, y)
        >>> model.save("classifier.json")
        """
        check_is_fitted(self)
        self.release_.save(path, force=force)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote: a fitted model, which a further fit would spend as much for.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Returns
        -------
        LinearClassifierMixin
            Fitted; without a ledger.

        Raises
        ------
        InputError
            If there is no such file, or it holds no model of this kind.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat([[-1.0], [1.0]], 500, axis=0), np.repeat(["low", "high"], 500)
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
        >>> model = rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["low", "high"]).fit(X, y)
        >>> model.save("saved_classifier.json")
        >>> rd.PrivateLDA.load("saved_classifier.json").classes_.tolist()
        ['high', 'low']
        """
        release = ClassifierRelease.load(path)
        assert isinstance(release, ClassifierRelease)  # whatever else the file holds is refused
        if release.statistic != cls._learns.name:
            raise InputError(f"the file holds a {release.statistic}: use the class that wrote it, not {cls.__name__}.")
        ball, classes = Ball(release.space, release.center, release.radius), np.asarray(release.labels)
        model = cls(ball=ball, guarantee=release.guarantee, classes=classes)
        model.release_, model.ball_, model.classes_ = release, ball, classes
        model.guarantee_, model.n_features_in_ = release.guarantee, math.prod(release.space.point_shape[:1])
        return model


class PrivateLogisticRegression(LinearClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Multinomial logistic regression on tangent vectors, in which every learnt number is private.

    It takes points as they are, and sees them from the ball's centre or, in spaces that curve back, from a private
    mean. That mean says where the records are, a private shape in which directions they spread, and private moments of
    classes how within these; in coordinates in which they do so evenly, a descent with noisy gradients finds the
    weights. Labels are private: a record may be replaced by one of any class.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball, as for `PrivateFrechetMean`.
    guarantee : Guarantee or str
        What a fit spends. Pure epsilon needs far more records than the others.
    classes : array of shape (classes,), optional
        The public list of all labels. Without it, those that occur in y are taken, and count as public.
    class_weight : mapping, optional
        Public weights of classes, by label; 1 for those left out.
    adapt : bool or Adaptation
        Whether to look for a private ball within the given one first.
    unit : str, optional
        With `fit(groups=)`: what is protected, "patient" say, instead of "group".
    steps : int, optional
        Of the descent; by default 60, up to 200 for many records, and 5 or 1 for pure epsilon.
    ledger : Ledger, optional
        From which the guarantee is reserved before any noise is drawn.
    note : str
        Which data these are, for the ledger.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels.
    coef_ : array of shape (classes, dim)
        Weights of coordinates at the centre of `release_.ball`; (1, dim) for two classes.
    intercept_ : array of shape (classes,)
        Scores at that centre; (1,) for two classes.
    release_ : Release
        All that may be known of the fit.
    guarantee_ : Guarantee
        What is proved, with its assumptions.
    ball_ : Ball
        The public ball.

    See Also
    --------
    PrivateLDA : Without iterations; for few classes and many records.
    PrivateMDM : The nearest private class mean.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=4000)
    >>> X = rng.normal(size=(4000, 3)) + 2.0 * y[:, None]
    >>> ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 10.0)
    >>> model = rd.PrivateLogisticRegression(ball=ball, guarantee=rd.GDP(1.0), classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _learns = LogisticRegression

    def __init__(
        self,
        *,
        ball: Ball | BallMapping | Callable[[int], Ball],
        guarantee: Guarantee | str,
        classes: Any = None,
        class_weight: ClassWeight = None,
        adapt: bool | Adaptation = True,
        unit: str | None = None,
        steps: int | None = None,
        ledger: Ledger | None = None,
        note: str = "",
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.classes = classes
        self.class_weight = class_weight
        self.adapt = adapt
        self.unit = unit
        self.steps = steps
        self.ledger = ledger
        self.note = note

    def _learner(self, ball: Ball, n: int, labels: tuple[Any, ...], class_weights: Array) -> LogisticRegression:
        steps = None if self.steps is None else whole_number(self.steps, "steps", 1)
        return LogisticRegression(ball, n, as_guarantee(self.guarantee), labels, class_weights, self.adapt, steps=steps)


class PrivateLDA(LinearClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Linear discriminant analysis on tangent vectors, from moments alone: no iterations.

    A private mean, a private shape and the spread within classes come first; then the sums of all classes and the
    second moment, in coordinates in which the records spread evenly, in one release. Class means are shrunk by the
    noise that they are known to have. Labels are private.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball, as for `PrivateFrechetMean`.
    guarantee : Guarantee or str
        What a fit spends.
    classes : array of shape (classes,), optional
        The public list of all labels. Without it, those that occur in y are taken, and count as public.
    class_weight : mapping, optional
        Public weights of classes, by label, beside their shares among the records; 1 for those left out.
    adapt, unit, ledger, note : as of PrivateLogisticRegression
        Whether to look for a private ball first, what `fit(groups=)` protects, where the guarantee is booked.

    Attributes
    ----------
    classes_, coef_, intercept_ : as of PrivateLogisticRegression
        Labels, weights and scores.
    release_, guarantee_, ball_ : as of PrivateLogisticRegression
        All that may be known of the fit, what is proved of it, and the public ball.

    See Also
    --------
    PrivateLogisticRegression : Usually better.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> y = np.repeat(["a", "b", "c"], 1000)
    >>> X = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 1000, axis=0)
    >>> ball = rd.Ball(rd.Euclidean(2), [1.0, 1.0], 8.0)
    >>> model = rd.PrivateLDA(ball=ball, guarantee=rd.GDP(1.0), classes=["a", "b", "c"]).fit(X, y)
    >>> model.predict([[4.0, 0.0]]).tolist()
    ['b']
    """

    _learns = Discriminant

    def _learner(self, ball: Ball, n: int, labels: tuple[Any, ...], class_weights: Array) -> Discriminant:
        return Discriminant(ball, n, as_guarantee(self.guarantee), labels, class_weights, self.adapt)
