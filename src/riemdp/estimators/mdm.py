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
from riemdp.errors import InputError
from riemdp.estimators.base import PrivateEstimator, all_or_nothing
from riemdp.io.cells import equals_itself, places
from riemdp.manifolds.base import Array
from riemdp.statistics.class_means import joint_means, parallel_means

ONE_CLASS = "protects a record within its class: one per person, who is in one class only"
ONE_RECORD = "protects a record: one per person"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMDM(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, PrivateEstimator  # type: ignore[misc]
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

    private_labels: bool = False
    classes: Any = None

    def _later_state(self, known: dict[str, Any]) -> dict[str, Any]:
        """Also that no class was left out, if it was fitted before any could be."""
        fitted = {"left_out_": np.zeros(len(known["classes_"]), dtype=bool)} if "classes_" in known else {}
        return super()._later_state(known) | fitted

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """As scikit-learn writes it; and a comment, since what is protected is easily mistaken."""
        text: str = super().__repr__(N_CHAR_MAX)
        return f"{text}  # {ONE_RECORD if self.private_labels else ONE_CLASS}"

    def fit(self, X: Any, y: Any) -> Self:
        """Release the private means of the classes of the records X (n, *point_shape) with labels y (n,).

        A person must have one record, in one class: see the class.
        """
        with all_or_nothing(self):
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
            records, labels, len(self.classes_), self.ball_, as_guarantee(self.guarantee), self.ledger,
            mechanism=self.mechanism, calibration=self.calibration, note=self.note,
        )  # fmt: skip
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
