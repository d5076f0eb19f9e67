"""Classification by the nearest private class mean, and how its labels are read. Proof: docs/proofs/private_mdm.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets

from riemdp.accounting.guarantee import as_guarantee
from riemdp.accounting.unit import unit_of
from riemdp.errors import InputError
from riemdp.estimators.base import PrivateEstimator, all_or_nothing
from riemdp.io.cells import equals_itself, places
from riemdp.io.identities import identities
from riemdp.manifolds.base import Array
from riemdp.names import MembershipName
from riemdp.releases.release import Release
from riemdp.statistics.catalogue import require_known
from riemdp.statistics.class_means import JointMeans, means_of_all_classes, means_of_one_label, parallel_means
from riemdp.statistics.prepared import require_ledger
from riemdp.statistics.worth import warn_of

ONE_CLASS = "protects a record within its class, one per person, who is in one class only; or people, by fit(groups=)"
ONE_RECORD = "protects a record: one per person; or people, by fit(groups=)"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMDM(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    PrivateEstimator,
):
    """Minimum distance to private class means: of people by `groups`, else of records, ONE each, in ONE class only.

    Without `groups` the guarantee protects a record that is replaced within its class. A person with records in two
    classes changes two class means and is protected more weakly: GDP(mu) becomes sqrt(2) mu, PureDP(epsilon)
    2 epsilon, and so on for more classes. Without privacy this is pyRiemann's MDM (Barachant et al. 2012).

    By default labels and class sizes are public: each class mean is released with the whole guarantee, since a
    record, replaced within its class, changes only one of them (parallel composition). `guarantee_.assumptions`
    says so, and the ledger is charged once.

    With private labels a record may change its class as well. The class means, all in one release, are then those of
    the logs at the ball's centre (the tangent mean, whatever `statistic`), by wrapped Laplace or Gaussian noise. A
    class with few records or none has a mean that is mostly noise: where its share of the records, as released, is
    within three standard deviations of the noise from 0, it is `left_out_`, and no record is predicted to be in it.
    `score` on private records is not private.

    If people have several records each, `fit(X, y, groups=ids)` protects a person with all of their records, in
    whatever classes they are: see `membership`.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball, as for `PrivateFrechetMean`.
    guarantee : Guarantee or str
        What a fit spends, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    mechanism, calibration, footpoint, statistic, adapt, unit, ledger, note : as of private_mean
        How each class mean is released; neither `footpoint` nor `adapt` with private labels, or people of any
        membership.
    private_labels : bool
        Whether labels are private too.
    classes : sequence, optional
        With private labels: the public set of all labels. A record with any other label, or none, counts for nothing.
        With public labels the classes are those that occur in y.
    membership : str
        With `fit(groups=)`: what is public about the classes of a person. "any": nothing; a person in s classes counts
        as 1/s in each, and all class means are one release as with private labels, but that the set of labels is
        public. "all": every person has records in every class, as in a cued experiment; the class means share the
        guarantee. "one": every person has one label, which is public (parallel composition). `guarantee_.assumptions`
        says which; ids that contradict it are refused.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    means_ : array of shape (n_classes, *point_shape)
        The private class means.
    left_out_ : array of bool of shape (n_classes,)
        Classes that stand for hardly any record.
    guarantee_ : Guarantee
        What is proved, with its assumptions.
    releases_ : tuple of Release
        One per class; with private labels, or people in any classes, one: a point of the product of a copy of the
        space per class.
    ball_ : Ball
        The public ball.
    n_features_in_ : int
        X.shape[1].

    See Also
    --------
    PrivateFrechetMean : One mean.
    PrivateTangentSpace : Vectors for other classifiers.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> X = np.concatenate([np.tile(np.eye(2), (200, 1, 1)), np.tile(4 * np.eye(2), (200, 1, 1))])
    >>> y = np.repeat(["small", "large"], 200)
    >>> ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.5, 8.0)
    >>> rd.PrivateMDM(ball=ball, guarantee=rd.GDP(1.0)).fit(X, y).predict([np.eye(2)]).tolist()
    ['small']
    """

    private_labels: bool = False
    classes: Any = None
    membership: MembershipName = "any"

    def _later_state(self, known: dict[str, Any]) -> dict[str, Any]:
        """Also that no class was left out, if it was fitted before any could be."""
        fitted = {"left_out_": np.zeros(len(known["classes_"]), dtype=bool)} if "classes_" in known else {}
        return super()._later_state(known) | fitted

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """As scikit-learn writes it; and a comment, since what is protected is easily mistaken."""
        text: str = super().__repr__(N_CHAR_MAX)
        return f"{text}  # {ONE_RECORD if self.private_labels else ONE_CLASS}"

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release the private means of the classes.

        Without groups a person must have one record, in one class: see the class.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            The records.
        y : array of shape (n,)
            Their labels.
        groups : sequence of ids, of shape (n,), optional
            Whose record each is, if people have several: then a person with all of their records is protected.

        Returns
        -------
        PrivateMDM
            Itself, fitted.

        Raises
        ------
        InputError, MechanismError, BudgetExceeded
            As `private_mean` does; nothing is then changed. Values of records never raise.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0), np.tile(np.eye(2), (400, 1, 1))
        >>> rd.PrivateMDM(ball=ball, guarantee="mu=1").fit(X, np.repeat([0, 1], 200)).means_.shape
        (2, 2, 2)
        """
        require_known("membership", self.membership, ["any", "all", "one"])
        if groups is None and self.membership != "any":
            raise InputError(f"membership = {self.membership!r} is about people: pass groups= to fit, or leave it out.")
        with all_or_nothing(self):
            if self.private_labels:
                self._fit_private_labels(X, y, groups)
            else:
                self._fit_public_labels(X, y, groups)
        return self

    def _fit_public_labels(self, X: Any, y: Any, groups: Any) -> None:
        _require_labels(y, "private_labels=True")
        records, labels = self._validated(X, y)
        check_classification_targets(labels)
        self.ball_, self.classes_ = self._public_ball(records), np.unique(labels)
        if groups is not None and self.membership == "any":
            self._fit_joint(records, places(labels.tolist(), self.classes_.tolist()), groups)
            return
        self.releases_ = self._class_releases(records, labels, groups)
        self.guarantee_ = self.releases_[0].guarantee
        self.means_ = np.stack([release.value for release in self.releases_])
        self.left_out_ = np.zeros(len(self.classes_), dtype=bool)  # every class is one that occurs

    def _class_releases(self, records: Array, labels: Array, groups: Any) -> tuple[Release, ...]:
        """One for each class, by what is public about people and classes."""
        unit, of_class = unit_of(groups, self.unit), [labels == label for label in self.classes_]
        ball, promise, book = self.ball_, as_guarantee(self.guarantee), self.ledger
        if groups is None:
            parted = [records[chosen] for chosen in of_class]
            return parallel_means(parted, ball, promise, book, self.note, **self._asked)
        who = identities(groups, len(records)).codes
        parts = [(records[chosen], who[chosen]) for chosen in of_class]
        _require_membership(self.membership, [set(ids.tolist()) for _, ids in parts])
        release = means_of_one_label if self.membership == "one" else means_of_all_classes
        return release(parts, ball, promise, book, self.note, unit, **self._asked)

    def _fit_private_labels(self, X: Any, y: Any, groups: Any) -> None:
        if self.membership != "any":
            raise InputError(f"membership = {self.membership!r} is public: leave it out with private_labels=True.")
        records = self._validated(X)
        self.ball_, self.classes_ = self._public_ball(records), _public_classes(self.classes)
        self._fit_joint(records, _labels(y, len(records), self.classes_), groups)

    def _fit_joint(self, records: Array, labels: Array, groups: Any) -> None:
        """All classes in one release, whose labels are private."""
        why = "private_labels=True" if self.private_labels else "groups and membership='any'"
        if self.footpoint is not None:
            raise InputError(f"footpoint must be left out with {why}: the noise is at the ball's centre.")
        if self.adapt:
            raise InputError(f"adapt = {self.adapt!r}: leave it out with {why}, which does not adapt.")
        require_ledger(self.ledger)
        asked = JointMeans.of(
            records, labels, tuple(self.classes_.tolist()), self.ball_, as_guarantee(self.guarantee),
            mechanism=self.mechanism, calibration=self.calibration, groups=groups, unit=unit_of(groups, self.unit),
        )  # fmt: skip
        warn_of(asked.doubts)
        joint = asked.release(self.ledger, self.note)
        self.releases_, self.guarantee_ = (joint,), joint.guarantee
        self.means_, self.left_out_ = joint.means, np.array(joint.left_out)

    def transform(self, X: Any) -> Array:
        """Distance of each record to each class mean. NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records; one outside the ball is moved onto it, an unusable one to its centre, as in `fit`.

        Returns
        -------
        array of shape (n, n_classes)
            Distances, in the space's unit of length.

        Raises
        ------
        InputError
            If the shape or type of X is not that of records.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0), np.tile(np.eye(2), (400, 1, 1))
        >>> fitted = rd.PrivateMDM(ball=ball, guarantee="mu=1").fit(X, np.repeat([0, 1], 200))
        >>> fitted.transform(X[:5]).shape
        (5, 2)
        """
        return self._distances(X)

    def predict(self, X: Any) -> Array:
        """The class with the nearest mean, of those that are not `left_out_`. NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records, as of `transform`.

        Returns
        -------
        array of shape (n,)
            Labels.

        Raises
        ------
        InputError
            As `transform` does.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0), np.tile(np.eye(2), (400, 1, 1))
        >>> fitted = rd.PrivateMDM(ball=ball, guarantee="mu=1").fit(X, np.repeat([0, 1], 200))
        >>> fitted.predict(X[:5]).shape
        (5,)
        """
        nearest = self._possible_distances(X).argmin(axis=1)
        return np.asarray(self.classes_[nearest])

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the negative squared distances, as pyRiemann has it; 0 for classes `left_out_`. NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records, as of `transform`.

        Returns
        -------
        array of shape (n, n_classes)
            Numbers that sum to 1 for each record; not calibrated probabilities.

        Raises
        ------
        InputError
            As `transform` does.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X, y = np.repeat([[-1.0], [1.0]], 200, axis=0), np.repeat(["low", "high"], 200)
        >>> model = rd.PrivateMDM(ball=rd.Ball(rd.Euclidean(1), [0.0], 2.0), guarantee="mu=1").fit(X, y)
        >>> bool(np.allclose(model.predict_proba(X).sum(axis=1), 1.0))
        True
        """
        return np.asarray(softmax(-(self._possible_distances(X) ** 2)))

    def _possible_distances(self, X: Any) -> Array:
        """Distances to the class means, infinite to those that stand for hardly any record."""
        distances = self._distances(X)
        return np.where(self.left_out_, np.inf, distances)

    def _distances(self, X: Any) -> Array:
        """What `transform` returns, before scikit-learn makes a data frame of it."""
        points, space = self._points(X), self.ball_.space
        with np.errstate(all="ignore"):  # noise may have carried a mean to the end of float64
            return np.stack([space.distance(mean, points) for mean in space.read(self.means_, "means_")], axis=1)

    @property
    def _n_features_out(self) -> int:
        return len(self.classes_)


# --- labels ----------------------------------------------------------------------------------------------


def _require_labels(y: Any, instead: str) -> None:
    """Raise if some label is missing or no label at all: they are public here; `instead` is what keeps them private."""
    is_plain = isinstance(getattr(y, "dtype", None), np.dtype) and y.dtype.kind != "O"
    if y is not None and not is_plain and np.iterable(y) and not all(map(equals_itself, y)):
        raise InputError(f"y holds missing labels, or lists: pass one label for each record, or {instead}.")


def _require_membership(membership: str, people: list[set[int]]) -> None:
    """Raise unless the people of each class are as `membership` says, which makes that public."""
    everyone = set().union(*people)
    if membership == "one" and sum(map(len, people)) > len(everyone):
        raise InputError("membership = 'one', but some id has records in several classes: pass membership='any'.")
    if membership == "all" and any(found != everyone for found in people):
        raise InputError("membership = 'all', but some id has no record in some class: pass membership='any'.")


def _public_classes(classes: Any) -> Array:
    if classes is None or np.ndim(classes) != 1 or len(classes) == 0:
        raise InputError(f"classes = {classes!r}: pass the public list of all labels, since they are private.")
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
    """The shape of a list of labels; one that holds nothing but lists is a table."""
    if not isinstance(y, Sequence) or isinstance(y, str | bytes):
        raise InputError(f"y is a {type(y).__name__}: pass a list of labels.")
    is_table = len(y) > 0 and all(isinstance(label, list | tuple) for label in y)
    return (len(y), len(y[0])) if is_table else (len(y),)
