"""What spaces say of themselves is made of these, and the list of all spaces by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from riemdp.errors import InputError

Array = NDArray[Any]

# The picture that every space has: orthonormal coordinates at the public centre (`riemdp.plots` lists the others).
COORDINATES = "coordinates"
PACKAGE = "riemdp"
# Every class of spaces that has been defined, abstract ones too, by its name: `Space` enters each of its subclasses.
KNOWN: dict[str, type[Any]] = {}


def register(kind: type[Any]) -> None:
    """Make a class of spaces known by its name; defined again, as in a notebook, it replaces itself."""
    known = KNOWN.get(kind.__name__)
    if known is not None and is_of_package(known) and not is_of_package(kind):
        reason = "riemdp has a space of this name, by which saved releases are read"
        raise InputError(f"class {kind.__name__}: {reason}; give yours another one.")
    KNOWN[kind.__name__] = kind


def is_of_package(kind: type[Any]) -> bool:
    """Whether the class is one of this package's own."""
    return kind.__module__.partition(".")[0] == PACKAGE


@dataclass(frozen=True)
class ArrayForm:
    """How an array holds records: all that a space needs to tell its size from it."""

    shape: tuple[int, ...]
    is_table: bool = False  # a row for each record, all of its numbers one after the other
    is_complex: bool = False

    @property
    def last(self) -> int:
        """Length of the last axis."""
        return self.shape[-1] if self.shape else 1


@dataclass(frozen=True, eq=False)
class Seen:
    """What was measured of all records."""

    values: Array  # by record; NaN where it makes no sense
    distances: Array  # to the ball's centre; NaN for records that a release replaces by it
    radius: float  # of the ball


@dataclass(frozen=True)
class Remark:
    """Something that is easily mistaken about raw records: what to measure of each, and what to say of all."""

    measure: Callable[[Any, Array, Array, float], Array]  # (space, points, centre, radius) -> a number for each point
    words: Callable[[Seen], str]  # empty if all is well
