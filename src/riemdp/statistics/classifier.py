"""A released linear classifier: everything that it takes to classify, none of it private; may be published whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riemdp.errors import InputError
from riemdp.io.values import WRITER, plain_labels, read_labels
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Bounded
from riemdp.releases.release import Release
from riemdp.statistics.features import INTERCEPT, Features

OWN = ("features", "labels", "entry")  # fields, beside those of every release


@dataclass(frozen=True, eq=False)
class ClassifierRelease(Release):
    """What a classifier has learnt: `value` are its weights, `ball` is where it looks at records.

    Whatever is computed from it is post-processing; what it says of a record is a function of that record, and is
    not private. `entry` is the ledger's, if there was one.
    """

    features: Features = field(kw_only=True, repr=False)
    labels: tuple[Any, ...] = field(kw_only=True)
    entry: int | None = field(default=None, kw_only=True)

    @property
    def weights(self) -> Array:
        """The released weights and intercepts, of shape (d + 1, classes)."""
        return np.asarray(self.value).reshape(-1, len(self.labels))

    def scores(self, X: Any) -> Array:
        """(n, classes), of records that are treated as those it learnt from were."""
        coords = Bounded(X, self.ball)._coordinates.all()
        return np.asarray(self.features(coords) @ self.weights)

    def predict(self, X: Any) -> list[Any]:
        """The label with the largest score, of each record."""
        return [self.labels[place] for place in self.scores(X).argmax(axis=1)]

    @property
    def coef(self) -> Array:
        """(classes, d): weights of the coordinates at the ball's centre, as far as no record is shortened."""
        return np.asarray(self.weights[:-1].T @ self.features.matrix / self.features.length)

    @property
    def intercept(self) -> Array:
        """(classes,): scores of a record at the ball's centre, if none is shortened."""
        at_centre = np.append(self.features.scaled(np.zeros((1, self.space.dim))), INTERCEPT)
        return np.asarray(at_centre @ self.weights)

    # --- files -----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes the same; labels that are no numbers become texts."""
        return super().to_dict() | {"features": self.features.to_dict(), "labels": plain_labels(self.labels)}

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        read = super()._read({name: value for name, value in found.items() if name not in OWN})
        features = Features.from_dict(found["features"], read["space"].dim)
        labels, entry = read_labels(found["labels"]), found.get("entry")
        if np.shape(read["value"]) != ((read["space"].dim + 1) * len(labels),):
            raise InputError(f"value does not fit the labels of the classifier: pass what {WRITER} wrote.")
        if entry is not None and (type(entry) is not int or entry < 1):
            raise InputError(f"entry = {entry!r:.100} is not that of a ledger: pass what {WRITER} wrote.")
        return read | {"features": features, "labels": labels, "entry": entry}
