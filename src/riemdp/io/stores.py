"""Arrays that stay in their files: each has a shape, a dtype and slices of rows, and is pickled by its name.

Nothing is read but the rows that are asked for, nothing stays open in between. So a folder may hold more files than
a system maps at once, and a worker on another machine reads the files by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.caching import cached_property
from riemdp.errors import InputError

Array = NDArray[Any]

INSTALL = 'install it with pip install ".[dask]" in a clone of riemdp'


@contextmanager
def one_sentence(path: Path, remedy: str) -> Iterator[None]:
    """Whatever a broken file makes its library raise becomes one sentence, without a word about its content."""
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        raise InputError(f"{str(path)!r} needs {error.name}: {INSTALL}, or save an .npy file.") from None
    except Exception:
        raise InputError(f"{str(path)!r} cannot be read: {remedy}.") from None


@dataclass(frozen=True)
class Columns:
    """Which columns of a table make a record: names, or places from 1, or ranges of places such as 2-10."""

    asked: tuple[str, ...]
    option: str = "--columns"  # by which the user asks

    @classmethod
    def parse(cls, text: str) -> Columns:
        """From what a user types, separated by commas."""
        parts = tuple(part.strip() for part in text.split(","))
        if not all(parts):
            raise InputError(f"--columns {text}: pass names or places of columns, for example 2-10 or x,y,z.")
        return cls(parts)

    @property
    def has_names(self) -> bool:
        """Whoever names a column of a .csv file says that its first line holds names."""
        return not all(map(_is_place, self.asked))

    def places(self, count: int, names: Sequence[str] | None, path: Path) -> list[int]:
        """Where they are, from 0, in a table of so many columns; a name goes before a place."""
        return [place for part in self.asked for place in self._places(part, count, names or (), path)]

    def _places(self, part: str, count: int, names: Sequence[str], path: Path) -> range:
        if part in names:
            return range(list(names).index(part), list(names).index(part) + 1)
        first, dash, last = part.partition("-")
        if not _is_place(part):
            hint = "" if names else "; it has no names, unless --header says that its first line holds them"
            remedy = f"pass one of 1 to {count} with {self.option}"
            raise InputError(f"{str(path)!r} has no column {part!r}{hint}: {remedy}.")
        span = range(int(first) - 1, int(last if dash else first))
        if not span or span.start < 0 or span.stop > count:
            raise InputError(f"{str(path)!r} has no columns {part}: pass some of 1 to {count} with {self.option}.")
        return span


def _is_place(part: str) -> bool:
    """Whether it is the place of a column, or a range of them."""
    first, dash, last = part.partition("-")
    return first.isdecimal() and (last if dash else first).isdecimal()


def chosen_columns(
    columns: Columns | None, without: Columns | None, count: int, names: Sequence[str] | None, path: Path
) -> list[int]:
    """The places of those that are asked for, or of all, but for those that are left out."""
    asked = list(range(count)) if columns is None else columns.places(count, names, path)
    left_out = [] if without is None else without.places(count, names, path)
    return [place for place in asked if place not in left_out]


@dataclass(frozen=True, repr=False)
class Npy:
    """The array of a file that numpy.save wrote."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def open(cls, path: Path) -> Npy:
        """What the header of the file says; the numbers stay on the disk."""
        array = _memory_map(path)
        return cls(path.absolute(), array.shape, array.dtype)

    def map(self) -> Array:
        """The whole array, as a memory map."""
        return _memory_map(self.path)

    def __getitem__(self, rows: slice) -> Array:
        return np.array(_memory_map(self.path)[rows])


def _memory_map(path: Path) -> Array:
    with one_sentence(path, "save it again, with numpy.save, as an array of numbers"):
        array: Array = np.lib.format.open_memmap(path, mode="r")  # type: ignore[no-untyped-call]
        return array


@dataclass(frozen=True, repr=False)
class Parquet:
    """The columns of a table, in order: numbers, or lists of numbers; not the index that pandas adds."""

    path: Path
    names: tuple[str, ...]
    widths: tuple[int, ...]  # numbers in a row of each column
    starts: tuple[int, ...]  # where row groups begin, and where the last one ends

    dtype = np.dtype(np.float64)

    @classmethod
    def open(cls, path: Path, columns: Columns | None = None, without: Columns | None = None) -> Parquet:
        """Read the footer; columns of lists are gone through, group by group, for their length is nowhere else."""
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            schema, groups = file.schema_arrow, range(file.num_row_groups)
            found = [name for name in schema.names if not name.startswith("__index_level_")]
            names = tuple(found[i] for i in chosen_columns(columns, without, len(found), found, path))
            _require_numbers(path, {name: schema.field(name).type for name in names})
            widths = tuple(_width(file, name, schema.field(name).type) for name in names)
            rows = [file.metadata.row_group(i).num_rows for i in groups]
        if not names:
            raise ValueError("no columns")
        if min(rows, default=0) < 0:
            raise ValueError("a negative number of rows")
        return cls(path.absolute(), names, widths, tuple(accumulate(rows, initial=0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and numbers in each."""
        return self.starts[-1], sum(self.widths)

    @property
    def chunks(self) -> tuple[int, int]:
        """The largest row group: it is decoded whole."""
        return max(np.diff(self.starts).tolist(), default=1), sum(self.widths)

    def __getitem__(self, rows: slice) -> Array:
        from pyarrow import parquet

        start, stop, _ = rows.indices(self.shape[0])
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, stop - 1)
        groups = list(range(first, last)) if start < stop else []
        with one_sentence(self.path, "save it again"), parquet.ParquetFile(self.path) as file:
            table = file.read_row_groups(groups, columns=list(self.names), use_threads=False)
            table = table.slice(start - self.starts[first], stop - start)
            numbers = [_cells(table.column(name), width) for name, width in zip(self.names, self.widths, strict=True)]
        return np.concatenate(numbers, axis=1, dtype=np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)


@dataclass(frozen=True, repr=False)
class ParquetCells:
    """The cells of one column of a table as Python's objects, None where there is none: ids of any type."""

    path: Path
    name: str
    starts: tuple[int, ...]  # where row groups begin, and where the last one ends

    dtype = np.dtype(object)

    @classmethod
    def open(cls, path: Path, column: Columns | None) -> ParquetCells:
        """The column that is asked for, or the only one."""
        from pyarrow import parquet

        with one_sentence(path, "save a table with a column of ids"), parquet.ParquetFile(path) as file:
            found = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
            rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            places = range(len(found)) if column is None else column.places(len(found), found, path)
            if len(places) != 1:
                raise InputError(f"{str(path)!r} has {len(found)} columns: name the one with ids, as {path.name}:NAME.")
            return cls(path.absolute(), found[places[0]], tuple(accumulate(rows, initial=0)))

    @property
    def shape(self) -> tuple[int]:
        """How many rows there are."""
        return (self.starts[-1],)

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(self.shape[0])
        cells = np.empty(stop - start, dtype=object)
        for first, found in self._groups(start, stop):
            low, high = max(start, first), min(stop, first + len(found))
            for place in range(low, high):
                cells[place - start] = found[place - first]
        return cells

    def _groups(self, start: int, stop: int) -> Iterator[tuple[int, list[Any]]]:
        """(first row, cells) of the row groups that have some of these rows."""
        groups = range(bisect_right(self.starts, start) - 1, bisect_right(self.starts, stop - 1))
        return ((self.starts[i], python_cells(column)) for i, column in zip(groups, self._columns(groups), strict=True))

    def chunks(self) -> Iterator[Any]:
        """All cells, in order, as arrays of Arrow."""
        return (chunk for column in self._columns(range(len(self.starts) - 1)) for chunk in column.chunks)

    def _columns(self, groups: range) -> Iterator[Any]:
        """The column in each of these row groups."""
        from pyarrow import parquet

        with one_sentence(self.path, "save it again"), parquet.ParquetFile(self.path) as file:
            for i in groups:
                yield file.read_row_group(i, columns=[self.name]).column(0)


def python_cells(column: Any) -> list[Any]:
    """The cells of a column of Arrow as Python's objects; those that Python cannot hold as Arrow's own."""
    try:
        return list(column.to_pylist())
    except Exception:
        return [_python_cell(cell) for cell in column]


def _python_cell(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # a text in no known code, a date before the first one
        return cell


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _require_numbers(path: Path, kinds: dict[str, Any]) -> None:
    """Raise an InputError unless all columns hold numbers, by the schema alone, which is public."""
    from pyarrow import types

    for name, kind in kinds.items():
        cell = kind.value_type if _is_list(kind) else kind
        if not (types.is_integer(cell) or types.is_floating(cell) or types.is_boolean(cell)):
            what = f"a column {name} of type {kind}"
            raise InputError(f"{str(path)!r} has {what}: pick columns of numbers with --columns.")


def _width(file: Any, name: str, kind: Any) -> int:
    """Numbers in a row of a column: those of most of its lists."""
    from pyarrow import compute, types

    if not _is_list(kind):
        return 1
    if types.is_fixed_size_list(kind):
        return int(kind.list_size)
    lengths: Counter[int] = Counter()
    for i in range(file.num_row_groups):
        column = file.read_row_group(i, columns=[name]).column(name)
        for found in compute.value_counts(compute.list_value_length(column)).to_pylist():
            lengths[found["values"] or 0] += found["counts"]
    return lengths.most_common(1)[0][0] if lengths else 0


def _cells(column: Any, width: int) -> Array:
    """The numbers of a column (rows, width); NaN for what is missing, and for a list of another length."""
    from pyarrow import compute

    if not _is_list(column.type):
        return _numbers(column).reshape(-1, 1)
    fits = compute.fill_null(compute.equal(compute.list_value_length(column), width), False)
    cells = np.full((len(column), width), np.nan)
    cells[fits.to_numpy()] = _numbers(column.filter(fits).combine_chunks().flatten()).reshape(-1, width)
    return cells


def _numbers(column: Any) -> Array:
    """NaN for missing ones; truths are 0 and 1."""
    from pyarrow import float64, types

    if types.is_boolean(column.type):
        column = column.cast(float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


@dataclass(frozen=True, repr=False)
class Zarr:
    """An array that zarr opened."""

    path: Path
    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its numbers."""
        found: np.dtype[Any] = self.array.dtype
        return found

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of a chunk, which is decoded as a whole."""
        return tuple(self.array.chunks)

    def __getitem__(self, rows: slice) -> Array:
        with one_sentence(self.path, "save it again, with zarr.save"):
            return np.asarray(self.array[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)


@dataclass(frozen=True, repr=False)
class Joined:
    """Records of stored arrays, one array after the other; an array of the shape of a record is one record."""

    parts: tuple[Any, ...]
    record_shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Joined(shape={self.shape}, dtype={self.dtype})"

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """A type that holds the numbers of all parts."""
        return np.result_type(*{part.dtype for part in self.parts})

    @cached_property
    def _starts(self) -> list[int]:
        counts = (1 if part.shape == self.record_shape else part.shape[0] for part in self.parts)
        return list(accumulate(counts, initial=0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of records, then the shape of one."""
        return (self._starts[-1], *self.record_shape)

    @property
    def ndim(self) -> int:
        """The number of axes: that of a record, and one for the records."""
        return len(self.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Records that have to be decoded at once."""
        return max((getattr(part, "chunks", None) or (1,))[0] for part in self.parts), *self.record_shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Array:
        rows, *rest = index if isinstance(index, tuple) else (index,)
        start, stop, step = rows.indices(len(self))
        pieces = list(self._pieces(start, stop)) or [np.empty((0, *self.record_shape))]
        found = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        result: Array = found.astype(self.dtype, copy=False)[(slice(None, None, step), *rest)]
        return result

    def _pieces(self, start: int, stop: int) -> Iterator[Array]:
        for i in range(bisect_right(self._starts, start) - 1, bisect_right(self._starts, stop - 1)):
            before, part = self._starts[i], self.parts[i]
            if part.shape == self.record_shape:
                yield part[:][None]
            else:
                yield np.asarray(part[max(start - before, 0) : stop - before]).reshape(-1, *self.record_shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)
