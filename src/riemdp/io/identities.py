"""Whose record is whose: a number for each record's person, from ids of any type.

Ids are private. What is done with them follows from their type and shape; no id raises, is shown or is logged. People
are numbered in the order in which they first appear, so the numbers depend on the ids alone, not on where they are
stored. A missing id (None, NaN, NaT, pd.NA, an empty text), or one that cannot be compared, is a person of its own.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.io.cells import is_missing, listed
from riemdp.io.sources import forget_pages, is_dask
from riemdp.io.stores import ParquetCells, python_cells
from riemdp.io.texts import ARROW_TEXTS, Texts

Array = NDArray[Any]
STEP = 2**18  # ids looked at at once
NUMBERS = "iubfmM"  # kinds of arrays whose ids are 64 bits each, or fewer
CODED = "coded"  # the kind of columns that say which of some cells each id is


@dataclass(frozen=True, eq=False, repr=False)
class Identities:
    """The number of each record's person, and how many people there are; who has how many records is private."""

    codes: Array  # (records,)
    count: int

    def __repr__(self) -> str:
        return f"Identities(count={self.count})"


@dataclass(frozen=True, eq=False, repr=False)
class _Coded:
    """Ids as places among cells, -1 where there is none."""

    cells: Any  # a list, or an array of Arrow
    places: Array


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    """Ids as they are stored: how many, of which kind, and how to read them piece by piece."""

    shape: tuple[Any, ...]
    kind: str
    pieces: Callable[[], Iterable[Any]]  # arrays, lists of cells; if coded, coded ids or arrays of Arrow


def identities(groups: Any, records: int | None = None) -> Identities:
    """The people of so many records, or of however many; an InputError if there is not one id for each.

    Beside the ids themselves, memory is at most 16 bytes a record; for texts also their bytes and some 40 more for
    each person, for objects what Python needs to know each person's.
    """
    if isinstance(groups, Identities):
        return groups
    column = _column(groups)
    if len(column.shape) != 1 or records not in (None, *column.shape):
        how_many = "record" if records is None else f"of the {records} records"
        is_named = records is not None and column.shape == (records + 1,)
        hint = " If the first is the column's name, leave it out, or say so: FILE:NAME." if is_named else ""
        raise InputError(f"groups has shape {column.shape}: pass one id for each {how_many}.{hint}")
    if column.kind in NUMBERS:
        return _of_numbers(column)
    return _of_texts(column) or (_of_codes if column.kind == CODED else _of_cells)(column)


def _kind(dtype: np.dtype[Any]) -> str:
    """How ids of this type are compared; numbers of more than 64 bits as objects."""
    return dtype.kind if dtype.itemsize <= 8 or dtype.kind not in NUMBERS else "O"


# --- the forms in which ids come -----------------------------------------------------------------------------


def _column(groups: Any) -> _Column:
    """A column of ids: from arrays, columns of tables, lists, and whatever is read by slices of rows."""
    if is_dask(groups):
        return _of_dask(groups)
    if isinstance(groups, ParquetCells):
        return _Column(groups.shape, CODED, lambda: _pieces(groups.chunks()))
    categories = getattr(groups, "cat", groups)
    if hasattr(categories, "codes") and hasattr(categories, "categories"):  # of pandas
        return _of_categories(np.asarray(categories.codes), categories.categories)
    if isinstance(groups, Sequence) and not isinstance(groups, str | bytes):
        return _of_list(groups)
    if (arrow := _arrow(groups)) is not None:
        return _Column((len(arrow),), CODED, lambda: _pieces(getattr(arrow, "chunks", [arrow])))
    if hasattr(getattr(groups, "dtype", None), "numpy_dtype"):  # numbers of pandas, some of which may be missing
        return _of_array(_masked(groups))
    return _of_array(groups)


def _of_array(groups: Any) -> _Column:
    """An array of NumPy, or what turns itself into one, or has slices that are some."""
    is_numpy = isinstance(getattr(groups, "dtype", None), np.dtype)
    ids: Any = groups if is_numpy else np.asarray(groups, dtype=object) if hasattr(groups, "__array__") else None
    if hasattr(ids, "to_numpy"):
        ids = ids.to_numpy()
    if not hasattr(ids, "shape"):
        raise InputError(f"groups is a {type(groups).__name__}: pass a list, an array or a column of ids.")
    if isinstance(ids, np.ma.MaskedArray) and ids.ndim == 1 and _kind(ids.dtype) not in NUMBERS:
        return _of_list(ids.tolist())
    column = _Column(tuple(ids.shape), _kind(ids.dtype), lambda: _slices(ids))
    return _faster(column, ids) if column.kind == "O" else column


def _of_list(groups: Sequence[Any]) -> _Column:
    """A list of nothing but lists is a table, whose rows are no ids."""
    if len(groups) and all(isinstance(one, list | np.ndarray) for one in groups):
        raise InputError("groups is a list of lists: pass a list of ids, one for each record.")
    return _faster(_Column((len(groups),), "O", lambda: _batches(iter(groups))), groups)


def _faster(column: _Column, cells: Any) -> _Column:
    """A column of Python's objects; if the first is an integer, perhaps all are, and numbers are compared faster."""
    if not (len(column.shape) == 1 and column.shape[0] and type(cells[0]) is int):
        return column
    return _Column(column.shape, "i", lambda: map(_whole_numbers, column.pieces()))


def _whole_numbers(cells: Sequence[Any] | Array) -> Any:
    """The array of cells that are Python's own integers, of 64 bits at most; others as they are.

    Cells of other types may be equal to integers by rules of their own, so only a dictionary can tell.
    """
    if all(type(cell) is int for cell in cells):
        with suppress(OverflowError):
            return np.array(cells, dtype=np.int64)
    return cells


def _batches(cells: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(cells, STEP)):
        yield batch


def _of_categories(places: Array, categories: Any) -> _Column:
    return _Column(places.shape, CODED, lambda: [_Coded(categories.tolist(), places)])


def _masked(groups: Any) -> Array:
    """A column of numbers that may be missing, by themselves and which of them are."""
    values = groups.to_numpy(dtype=groups.dtype.numpy_dtype, na_value=0)
    return np.ma.masked_array(values, np.asarray(groups.isna()))  # type: ignore[no-untyped-call]


def _arrow(groups: Any) -> Any:
    """The Arrow array that this is, or that pandas keeps a column in, or polars one of texts; None if there is none."""
    if hasattr(groups, "dictionary_encode"):
        return groups
    if hasattr(groups, "to_arrow") and str(groups.dtype).startswith(("String", "Categorical", "Enum")):
        with suppress(ImportError):  # polars does without Arrow
            return groups.to_arrow()
    dtype = getattr(groups, "dtype", None)
    if getattr(dtype, "storage", None) == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
        return getattr(groups, "array", groups).__arrow_array__()
    return None


def _pieces(chunks: Iterable[Any]) -> Iterator[Any]:
    """Arrays of Arrow; those of texts in slices."""
    for chunk in chunks:
        step = STEP if str(chunk.type) in ARROW_TEXTS else max(len(chunk), 1)
        yield from (chunk.slice(start, step) for start in range(0, len(chunk), step))


def _encoded(piece: Any) -> _Coded:
    """An Arrow array as places among its different cells; as many as there are ids, if Arrow cannot compare them."""
    if isinstance(piece, _Coded):
        return piece
    try:
        coded = piece if hasattr(piece, "indices") else piece.dictionary_encode()
    except NotImplementedError:  # for the type, which is public
        return _Coded(piece, np.arange(len(piece)))
    places = coded.indices
    signed = places.cast("int64") if str(places.type).startswith("u") else places
    return _Coded(coded.dictionary, signed.fill_null(-1).to_numpy())


def _of_dask(groups: Any) -> _Column:
    """A Dask array, or a column of a Dask table; chunks are read one by one."""
    array = groups.to_dask_array(lengths=True) if hasattr(groups, "to_dask_array") else groups
    if not hasattr(array, "blocks") or any(size != size for size in array.shape):
        raise InputError(f"groups is a {type(groups).__name__} of Dask: pass a Dask array of known chunk sizes.")
    places = range(array.npartitions)
    return _Column(tuple(array.shape), _kind(array.dtype), lambda: (_computed(array, place) for place in places))


def _computed(array: Any, place: int) -> Array:
    return np.asarray(array.blocks[place].compute())


def _slices(ids: Any) -> Iterator[Array]:
    """A memory map's pages are forgotten once they are used."""
    for start in range(0, ids.shape[0], STEP):
        piece = ids[start : start + STEP]
        piece = piece if isinstance(piece, np.ma.MaskedArray) else np.asarray(piece)
        yield piece
        forget_pages(piece)


# --- many texts: a table of their bytes ---------------------------------------------------------------------------


def _are_worth_compiled_code(records: int) -> bool:
    """Worth loading it for, which takes as much memory as a dictionary; or, if such code is loaded, worth a call."""
    return records < 2**31 and (records >= 2**21 or (records >= 2**12 and "riemdp.kernels.blocks" in sys.modules))


def _of_texts(column: _Column) -> Identities | None:
    """People whose ids are texts; None if some are neither texts nor missing."""
    found = _numbered(column) if _are_worth_compiled_code(column.shape[0]) else None
    return None if found is None else _people(*_in_turn(*found))


def _numbered(column: _Column) -> tuple[Array, Array, int] | None:
    """The number of each id's text, which of them are missing, and how many numbers there are; the table is gone then.

    At -1, in places and in numbers: whatever is no text.
    """
    texts, codes, start = Texts(of_bytes=column.kind == "S"), np.empty(column.shape, dtype=np.int32), 0
    for piece in column.pieces():
        coded = _encoded(piece) if hasattr(piece, "indices") else piece
        is_coded = isinstance(coded, _Coded)
        known = texts.places(coded.cells if is_coded else coded)
        if known is None:
            return None
        for here in _of_places(known, coded.places) if is_coded else [known]:
            codes[start : start + len(here)] = here
            start += len(here)
    blank = np.append(texts.blank(), True)
    missing = np.empty(column.shape, dtype=bool)
    for first in range(0, len(codes), STEP):
        missing[first : first + STEP] = blank[codes[first : first + STEP]]
    return codes, missing, len(blank)


def _of_places(known: Array, places: Array) -> Iterator[Array]:
    """What is known of the cells at these places, some at a time; of none, at -1, nothing is."""
    known = np.append(known, np.int32(-1))
    return (known[here] for here in _slices(places))


# --- texts and objects: a dictionary ---------------------------------------------------------------------------


class _Numbers(defaultdict[Any, int]):
    """The number of each id, new ones in turn, all by C's own calls; whatever raises has one that nobody else has."""

    def __init__(self) -> None:
        self._turn = count()
        super().__init__(self._turn.__next__)

    def all(self, cells: Sequence[Any]) -> list[int]:
        """The numbers of all cells, in order, whatever they hold: nothing raises.

        In one call as far as it goes. It stops at a cell without a hash, or without a truth of an equation: private,
        like all about it.
        """
        found: list[int] = []
        rest = iter(cells)
        while len(found) < len(cells):
            with suppress(Exception):
                found.extend(map(self.__getitem__, rest))
            if len(found) < len(cells):
                found.append(next(self._turn))
        return found

    def missing(self) -> Array:
        """Whether each number that was given is that of no id, so that each of its records is somebody else's."""
        missing = np.zeros(next(self._turn), dtype=bool)
        missing[[number for cell, number in self.items() if is_missing(cell)]] = True
        return missing


def _of_cells(column: _Column) -> Identities:
    numbers, start = _Numbers(), 0
    ranks = np.empty(column.shape, dtype=np.int64)
    for piece in column.pieces():
        ranks[start : start + len(piece)] = numbers.all(listed(piece))
        start += len(piece)
    return _without_missing(numbers, ranks, np.zeros(column.shape, dtype=bool))


def _of_codes(column: _Column) -> Identities:
    """The different cells of a piece in the dictionary; numbers of their places in the order of the records."""
    numbers, (records,) = _Numbers(), column.shape
    ranks, missing = np.empty(records, dtype=np.int64), np.zeros(records, dtype=bool)
    _look_up(column, numbers, ranks, missing)
    return _without_missing(numbers, ranks, missing)


def _look_up(column: _Column, numbers: _Numbers, ranks: Array, missing: Array) -> None:
    """The number of each id's cell, and which ids have none; apart, so that the column's pieces are gone then."""
    start = 0
    for piece in column.pieces():
        coded = _encoded(piece)
        cells = python_cells(coded.cells) if hasattr(coded.cells, "buffers") else coded.cells
        known = np.array([*numbers.all(cells), 0])  # at -1: whatever is missing
        for places in _slices(coded.places):
            stop = start + len(places)
            ranks[start:stop], missing[start:stop] = known[places], places < 0
            start = stop


def _without_missing(numbers: _Numbers, ranks: Array, missing: Array) -> Identities:
    """People, of whom those whose numbers are no ids have one record each."""
    no_ids = numbers.missing()
    if len(no_ids):
        missing |= no_ids[ranks]
    return _people(*_in_turn(ranks, missing, max(len(no_ids), 1)))


# --- numbers: sorted -------------------------------------------------------------------------------------------


def _of_numbers(column: _Column) -> Identities:
    """Keys of 64 bits, sorted; or, if they are close to each other, as they are.

    Chunks of Dask need not be of the type that their table states: those of a column of whole numbers are floats where
    an id is missing. Nor need all cells of a list be of the type of the first. The bits of different types do not
    compare; their cells do.
    """
    (records,), types = column.shape, set[Any]()
    keys, missing, start = np.empty(records, dtype=np.int64), np.zeros(records, dtype=bool), 0
    for piece in column.pieces():
        types.add(getattr(piece, "dtype", np.dtype(object)))
        if len(types) > 1 or not all(_kind(dtype) in NUMBERS for dtype in types):
            return _of_cells(column)
        stop = start + len(piece)
        keys[start:stop], missing[start:stop] = _key(piece)
        start = stop
    return _people(*_in_turn(keys, missing, _ranked(keys)))


def _key(ids: Array) -> tuple[Array, Array]:
    """64 bits that are equal for equal ids of this type (-0 is 0), and which of them are missing."""
    masked, ids = np.ma.getmaskarray(ids), np.asarray(ids)  # type: ignore[no-untyped-call]
    missing = masked | (np.isnat(ids) if ids.dtype.kind in "mM" else ids != ids)
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
        numbers[here[unseen[::-1]]] = unseen[::-1]  # of several places the last one stays, here that of the first id
        first = unseen[numbers[here[unseen]] == unseen]
        is_new = none.copy()
        is_new[first] = True
        turn = known + np.cumsum(is_new) - 1
        numbers[here[first]] = turn[first]
        ranks[start : start + STEP] = np.where(none, turn, numbers[here])
        known = int(turn[-1]) + 1
    return ranks, known


def _people(codes: Array, count: int) -> Identities:
    return Identities(codes.astype(np.int32, copy=False) if count < 2**31 else codes, count)
