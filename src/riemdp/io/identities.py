"""Whose record is whose: a number for each record's person, from ids of any type.

Ids are private. What is done with them follows from their type and shape; no id raises, is shown or is logged. People
are numbered in the order in which they first appear, so the numbers depend on the ids alone, not on where they are
stored. A missing id (None, NaN, NaT, pd.NA, an empty text), or one that cannot be compared, is a person of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.io.cells import equals_itself
from riemdp.io.sources import forget_pages, is_dask

Array = NDArray[Any]
STEP = 2**18  # ids looked at at once
NUMBERS = "iubfmM"  # kinds of arrays whose ids are 64 bits each, or fewer


@dataclass(frozen=True, eq=False, repr=False)
class Identities:
    """The number of each record's person, and how many people there are; who has how many records is private."""

    codes: Array  # (records,)
    count: int

    def __repr__(self) -> str:
        return f"Identities(count={self.count})"


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    """Ids as they are stored: how many, of which kind, and how to read them piece by piece."""

    shape: tuple[Any, ...]
    kind: str
    pieces: Callable[[], Iterable[Array]]


def identities(groups: Any, records: int | None = None) -> Identities:
    """The people of so many records, or of however many; an InputError if there is not one id for each.

    Beside the ids themselves, memory is at most 16 bytes a record; for texts and objects also what Python needs to
    know each person's.
    """
    if isinstance(groups, Identities):
        return groups
    column = _column(groups)
    if len(column.shape) != 1 or records not in (None, *column.shape):
        how_many = "record" if records is None else f"of the {records} records"
        raise InputError(f"groups has shape {column.shape}: pass one id for each {how_many}.")
    return _of_numbers(column) if column.kind in NUMBERS else _of_cells(column)


# --- the forms in which ids come -----------------------------------------------------------------------------


def _column(groups: Any) -> _Column:
    """A column of ids: from arrays, columns of tables, lists, and whatever is read by slices of rows."""
    if is_dask(groups):
        return _of_dask(groups)
    categories = getattr(groups, "cat", groups)
    if hasattr(categories, "codes") and hasattr(categories, "categories"):  # of pandas
        return _of_categories(np.asarray(categories.codes))
    if isinstance(groups, Sequence) and not isinstance(groups, str | bytes):
        return _of_list(groups)
    array: Any = groups if isinstance(getattr(groups, "dtype", None), np.dtype) else _objects(groups)
    if hasattr(array, "to_numpy"):
        array = array.to_numpy()
    if not hasattr(array, "shape"):
        raise InputError(f"groups is a {type(groups).__name__}: pass a list, an array or a column of ids.")
    if isinstance(array, np.ma.MaskedArray):
        array = _cells(array.tolist())
    return _Column(tuple(array.shape), _kind(array.dtype), lambda: _slices(array))


def _of_list(groups: Sequence[Any]) -> _Column:
    """A list of nothing but lists is a table, whose rows are no ids."""
    if len(groups) and all(isinstance(one, list | np.ndarray) for one in groups):
        raise InputError("groups is a list of lists: pass a list of ids, one for each record.")
    return _Column((len(groups),), "O", lambda: [_cells(groups)])


def _of_categories(codes: Array) -> _Column:
    """Codes of categories, below 0 if there is none: times, of which NumPy knows missing ones."""
    none = np.timedelta64("NaT", "s")
    return _Column(codes.shape, "m", lambda: [np.where(codes < 0, none, codes.astype("m8[s]"))])


def _of_dask(groups: Any) -> _Column:
    """A Dask array, or a column of a Dask table; chunks are read one by one."""
    array = groups.to_dask_array(lengths=True) if hasattr(groups, "to_dask_array") else groups
    if not hasattr(array, "blocks") or any(size != size for size in array.shape):
        raise InputError(f"groups is a {type(groups).__name__} of Dask: pass a Dask array of known chunk sizes.")
    places = range(array.npartitions)
    return _Column(tuple(array.shape), _kind(array.dtype), lambda: (_computed(array, place) for place in places))


def _kind(dtype: np.dtype[Any]) -> str:
    """Of ids of this type. Long doubles are objects: in 64 bits different ones would be one, or beyond all numbers."""
    return "O" if dtype == np.longdouble and dtype.itemsize > 8 else dtype.kind


def _computed(array: Any, place: int) -> Array:
    return np.asarray(array.blocks[place].compute())


def _objects(groups: Any) -> Array | None:
    """The cells of another library's array as objects; None if it is no array."""
    if hasattr(groups, "to_pylist"):  # of Arrow: its own arrays turn whole numbers beside missing ones into floats
        return _cells(groups.to_pylist())
    return np.asarray(groups, dtype=object) if hasattr(groups, "__array__") else None


def _cells(cells: Sequence[Any]) -> Array:
    """An array of these very objects: NumPy would look into them."""
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def _slices(array: Any) -> Iterator[Array]:
    """A memory map's pages are forgotten once they are used."""
    for start in range(0, array.shape[0], STEP):
        piece = np.asarray(array[start : start + STEP])
        yield piece
        forget_pages(piece)


# --- texts and objects: a dictionary ---------------------------------------------------------------------------


class _Numbers(dict[Any, int]):
    """The number of each id, new ones in turn; whatever is no id gets a number that nobody else has."""

    count = 0

    def __missing__(self, cell: Any) -> int:
        """One that is not known: all that is missing, too, since it is never kept."""
        number = self.new()
        if not _is_missing(cell):
            self[cell] = number
        return number

    def new(self) -> int:
        """A number that no id has yet."""
        self.count += 1
        return self.count - 1

    def all(self, cells: list[Any]) -> list[int]:
        """The numbers of all cells, in order."""
        return [self.one(cell) for cell in cells]

    def one(self, cell: Any) -> int:
        """The number of a cell, whatever it holds: nothing raises."""
        known = self.count
        try:
            return self[cell]
        except Exception:  # no hash, or no truth of an equation: private, like all about it
            return self.new() if self.count == known else self.count - 1


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str | bytes):
        return not cell.strip()
    return not equals_itself(cell)


def _of_cells(column: _Column) -> Identities:
    numbers, start = _Numbers(), 0
    codes = np.empty(column.shape, dtype=np.int64)
    for piece in column.pieces():
        codes[start : start + len(piece)] = numbers.all(piece.tolist())
        start += len(piece)
    return _people(codes, numbers.count)


# --- numbers: sorted -------------------------------------------------------------------------------------------


def _of_numbers(column: _Column) -> Identities:
    """Keys of 64 bits, sorted; or, if they are close to each other, as they are."""
    (records,) = column.shape
    keys, missing, start = np.empty(records, dtype=np.int64), np.zeros(records, dtype=bool), 0
    for piece in column.pieces():
        stop = start + len(piece)
        keys[start:stop], missing[start:stop] = _key(piece)
        start = stop
    return _people(*_in_turn(keys, missing, _ranked(keys)))


def _key(ids: Array) -> tuple[Array, Array]:
    """64 bits that are equal for equal ids of this type (-0 is 0), and which of them are missing."""
    missing = np.isnat(ids) if ids.dtype.kind in "mM" else ids != ids
    wide = ids.astype(np.float64) + 0.0 if ids.dtype.kind == "f" else ids
    keys = wide.view(np.int64) if wide.dtype.itemsize == 8 else wide.astype(np.int64)
    return np.where(missing, 0, keys), missing


def _ranked(keys: Array) -> int:
    """Turn keys, in place, into numbers below the one that is returned, equal for equal keys only."""
    if not len(keys):
        return 0
    least, most = int(keys.min()), int(keys.max())
    if most - least <= len(keys):
        keys -= least
        return most - least + 1
    order, rank, last = np.argsort(keys), -1, None
    for start in range(0, len(keys), STEP):
        places = order[start : start + STEP]
        found = keys[places]
        is_new = np.append(last is None or found[0] != last, found[1:] != found[:-1])
        ranks, last = rank + np.cumsum(is_new), found[-1]
        keys[places], rank = ranks, int(ranks[-1])
    return rank + 1


def _in_turn(ranks: Array, missing: Array, count: int) -> tuple[Array, int]:
    """Ranks and missing ids numbered in the order in which they first appear, in place; how many numbers that takes."""
    numbers, known = np.full(count, -1, dtype=np.int64), 0
    for start in range(0, len(ranks), STEP):
        here, none = ranks[start : start + STEP], missing[start : start + STEP]
        unseen = np.flatnonzero((numbers[here] < 0) & ~none)
        _, first = np.unique(here[unseen], return_index=True)
        is_new = none.copy()
        is_new[unseen[first]] = True
        turn = known + np.cumsum(is_new) - 1
        numbers[here[unseen[first]]] = turn[unseen[first]]
        ranks[start : start + STEP] = np.where(none, turn, numbers[here])
        known = int(turn[-1]) + 1
    return ranks, known


def _people(codes: Array, count: int) -> Identities:
    return Identities(codes.astype(np.int32) if count < 2**31 else codes, count)
