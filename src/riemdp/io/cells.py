"""Records and labels of any type as numbers and classes: one adapter in front of every entry point.

What is done follows from public things alone: the type of an array, its shape, and the form of a point. No cell
raises, is shown or is logged, whatever it holds: one that is no number becomes NaN, which makes its record
unusable; a record of another form is NaN altogether; a label that is none of the classes matches none.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]

REAL = (int, float, str, np.integer, np.floating, np.bool_, Decimal, Fraction)
COMPLEX = (*REAL, complex, np.complexfloating)
NO_CLASS = -1


def number(cell: Any) -> float:
    """The number in a cell; NaN if there is none, or none that a float can hold."""
    try:
        return float(cell) if isinstance(cell, REAL) else math.nan
    except Exception:  # whatever the cell is, it is private
        return math.nan


def complex_number(cell: Any) -> complex:
    """The complex number in a cell; NaN if there is none, or none that floats can hold."""
    try:
        return complex(cell) if isinstance(cell, COMPLEX) else complex(math.nan)
    except Exception:
        return complex(math.nan)


def equals_itself(label: Any) -> bool:
    """Whether it can be told from others: not so for NaN, pd.NA or an array."""
    try:
        return label is not None and bool(label == label)
    except Exception:
        return False


def is_missing(cell: Any) -> bool:
    """Whether an id is none: an empty text, or nothing that equals itself."""
    try:
        return not cell.strip() if isinstance(cell, str | bytes) else not equals_itself(cell)
    except Exception:  # of a text of one's own
        return True


def listed(piece: Any) -> Sequence[Any]:
    """The cells of an array as Python's objects; bytes for texts that are none, with characters that do not exist."""
    if not isinstance(piece, np.ndarray):
        return piece  # type: ignore[no-any-return]
    try:
        return piece.tolist()  # type: ignore[no-any-return]
    except Exception:
        return [_text(piece[place : place + 1]) for place in range(len(piece))]


def _text(cell: Array) -> Any:
    try:
        return cell.tolist()[0]
    except Exception:
        return cell.tobytes().rstrip(b"\0")


def places(labels: Iterable[Any], classes: Sequence[Any]) -> Array:
    """The place of each label among the classes, which are public; NO_CLASS for whatever is none of them."""
    known = {label: place for place, label in enumerate(classes)}

    def place(label: Any) -> int:
        try:
            return known.get(label, NO_CLASS)
        except Exception:  # no hash, no truth value, ...
            return NO_CLASS

    return np.array([place(label) for label in labels], dtype=np.int64)


def numbers(X: Any, shape: Shape | None, complex_shape: Shape | None = None) -> Any:
    """X itself if its type is one of numbers (or no array at all), else an array of the numbers in its cells.

    `shape` is that of a record: None if it is not known, then most records of a list have it. `complex_shape` is
    one that records of complex numbers may have: the same, or without the axis that holds their two parts.
    """
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype):
        return _of_objects(X, shape, complex_shape) if dtype.kind == "O" else X
    if isinstance(X, Sequence) and not isinstance(X, str | bytes):
        return _of_list(X, shape, complex_shape)
    array = _quietly(_as_numpy, X)  # of a frame, a nullable array, a tensor
    if array is None or array.dtype.kind in "fiuc":
        return X if array is None else array
    return _of_objects(array.astype(object), shape, complex_shape)


def as_stated(rows: Any, dtype: np.dtype[Any]) -> Array:
    """Rows that are stated to be numbers of this type; if they are of one that holds other things, cell by cell."""
    array = np.asarray(rows)
    if array.dtype.kind in ("f", "i", "u", dtype.kind):
        return array
    cells = array.astype(object)
    return _turned(cells, complex_number, np.complex128) if dtype.kind == "c" else _turned(cells, number, np.float64)


def single_numbers(values: Any) -> Array:
    """One number of each record, alone or in a list or row of its own; what has another type or form is left as it is.

    Each cell is looked at by itself, so that none decides what becomes of the others.
    """
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    array: Array | None = _quietly(np.asarray, values)
    if array is not None and array.dtype.kind in "fiub":
        return array
    if not is_list and (array is None or array.dtype.kind not in "OSU" or array.shape[1:] not in ((), (1,))):
        return np.asarray(None if array is None else array)
    cells = values if is_list or array is None else array.ravel().tolist()
    return np.array([number(_only(cell)) for cell in cells], dtype=np.float64)


def _only(cell: Any) -> Any:
    """The one cell in a list of one; anything else as it is."""
    inner = _quietly(lambda value: _cells(value, (1,)), cell)
    return cell if inner is None else inner[0]


def _of_list(X: Sequence[Any], shape: Shape | None, complex_shape: Shape | None) -> Array:
    """What NumPy makes of a list, if that has a type of numbers; else its records, each by itself."""
    array: Array | None = _quietly(np.asarray, X)
    if array is not None and array.shape[1:] == complex_shape and array.dtype.kind in "fiuc":
        with np.errstate(all="ignore"):  # a long double may be beyond float64
            return array.astype(np.complex128)  # also if no record has an imaginary part
    if array is not None and array.dtype.kind in "fiu":
        return array
    if array is not None and shape is not None and array.shape[1:] not in (shape, complex_shape):
        return np.full(array.shape, math.nan)  # all records have one form, and it is not that of a point
    return _of_records(X, _commonest(X) if shape is None else shape, complex_shape)


def _of_objects(X: Any, shape: Shape | None, complex_shape: Shape | None) -> Any:
    """An array of objects, which are cells or whole records; one of Dask is left where it is."""
    if X.ndim != 1:
        is_complex = complex_shape is not None and X.shape[1:] == complex_shape
        return _each(X, complex_number, np.complex128) if is_complex else _each(X, number, np.float64)
    if hasattr(X, "map_blocks"):
        return _of_dask_records(X, shape or (), complex_shape)
    return _of_records(list(X), _commonest(X) if shape is None else shape, complex_shape)


def _of_dask_records(X: Any, shape: Shape, complex_shape: Shape | None) -> Any:
    inner, kind = (complex_shape, np.complex128) if complex_shape else (shape, np.float64)
    axes, chunks = list(range(1, 1 + len(inner))), (X.chunks[0], *((size,) for size in inner))
    return X.map_blocks(_of_records, shape, complex_shape, dtype=kind, new_axis=axes, chunks=chunks)


def _each(X: Any, turn: Callable[[Any], Any], kind: type) -> Any:
    return X.map_blocks(_turned, turn, kind, dtype=kind) if hasattr(X, "map_blocks") else _turned(X[...], turn, kind)


def _turned(cells: Array, turn: Callable[[Any], Any], kind: type) -> Array:
    with np.errstate(all="ignore"):  # what floats cannot hold
        return np.asarray(np.frompyfunc(turn, 1, 1)(cells), dtype=kind)


def _of_records(records: Any, shape: Shape, complex_shape: Shape | None) -> Array:
    """(n, *shape), or (n, *complex_shape) if there is one; NaN for records of another shape."""
    if complex_shape is None:
        return np.array([_row(record, shape) for record in records]).reshape(-1, *shape)
    rows = [_complex_row(record, shape, complex_shape) for record in records]
    return np.array(rows).reshape(-1, *complex_shape)


def _row(record: Any, shape: Shape) -> list[float]:
    cells = _quietly(lambda value: _cells(value, shape), record)
    return [math.nan] * math.prod(shape) if cells is None else [number(cell) for cell in cells]


def _complex_row(record: Any, shape: Shape, complex_shape: Shape) -> list[complex]:
    """Complex numbers; where `shape` has an axis more, its last one, it holds the two parts of each."""
    pairs = _quietly(lambda value: _cells(value, shape), record) if shape != complex_shape else None
    if pairs is not None:
        parts = [number(cell) for cell in pairs]
        return [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    whole = _quietly(lambda value: _cells(value, complex_shape), record)
    return [complex(math.nan)] * math.prod(complex_shape) if whole is None else list(map(complex_number, whole))


def _cells(value: Any, shape: Shape) -> list[Any] | None:
    """The cells of a record of this shape, row by row; None if it has another."""
    if not shape:
        return [value]
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if not isinstance(value, list | tuple) or len(value) != shape[0]:
        return None
    parts = [_cells(part, shape[1:]) for part in value]
    return list(chain.from_iterable(part for part in parts if part)) if None not in parts else None


def _commonest(records: Iterable[Any]) -> Shape:
    """The shape that most records have."""
    made = (_quietly(lambda value: np.array(value, dtype=object), record) for record in records)
    return Counter(() if array is None else array.shape for array in made).most_common(1)[0][0]


def _as_numpy(X: Any) -> Array | None:
    """An array of another library, by either exchange that it may offer; None if it offers none."""
    if hasattr(X, "__array__"):
        return np.asarray(X)
    return np.from_dlpack(X) if hasattr(X, "__dlpack__") else None


def _quietly(make: Callable[[Any], Any], value: Any) -> Any:
    """What is made of a value, or None: without a word about what is wrong, which may quote a cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(value)
        except Exception:
            return None
