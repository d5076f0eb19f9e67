"""The private means of several classes as one release: which mean is whose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riemdp.errors import InputError
from riemdp.io.values import WRITER, plain_labels, read_labels
from riemdp.manifolds.base import Array
from riemdp.releases.release import Release

OWN = ("labels", "left_out")  # fields, beside those of every release


@dataclass(frozen=True, eq=False, repr=False)
class ClassMeans(Release):
    """`value` is a point of the product of a copy of the space for each of the classes, whose names are `labels`.

    A class that is `left_out` stands for hardly any record, as far as its noisy share tells: its mean is noise.
    """

    labels: tuple[Any, ...] = field(kw_only=True)
    left_out: tuple[bool, ...] = field(kw_only=True)

    @property
    def means(self) -> Array:
        """The released means, of shape (classes, *point_shape)."""
        return np.stack(self.space.split(self.value))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes the same; labels that are no numbers become texts."""
        return super().to_dict() | {"labels": plain_labels(self.labels), "left_out": list(self.left_out)}

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        read = super()._read({name: value for name, value in found.items() if name not in OWN})
        labels, left_out = read_labels(found["labels"]), found["left_out"]
        is_right = isinstance(left_out, list) and all(type(one) is bool for one in left_out)
        if not is_right or not len(labels) == len(left_out) == len(read["space"].factors):
            raise InputError(f"labels do not fit the means of the classes: pass what {WRITER} wrote.")
        return read | {"labels": labels, "left_out": tuple(left_out)}
