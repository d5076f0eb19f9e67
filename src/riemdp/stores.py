"""Arrays that stay in their files: each has a shape, a dtype and slices of rows, and is pickled by its name.

Nothing is read but the rows that are asked for, nothing stays open in between. So a folder may hold more files than
a system maps at once, and a worker on another machine reads the files by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
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
        raise InputError(f"'{path}' needs {error.name}: {INSTALL}, or save an .npy file.") from None
    except Exception:
        raise InputError(f"'{path}' cannot be read: {remedy}.") from None


@dataclass(frozen=True, repr=False)
class Npy:
    """The array of a file that numpy.save wrote."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def open(cls, path: Path) -> Npy:
        """Read the header."""
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
    width: int  # numbers in a row
    starts: tuple[int, ...]  # where row groups begin, and where the last one ends

    dtype = np.dtype(np.float64)

    @classmethod
    def open(cls, path: Path) -> Parquet:
        """Read the footer; columns of lists are gone through, group by group, for their length is nowhere else."""
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            schema, groups = file.schema_arrow, range(file.num_row_groups)
            names = tuple(name for name in schema.names if not name.startswith("__index_level_"))
            width = sum(_width(file, name, schema.field(name).type) for name in names)
            rows = [file.metadata.row_group(i).num_rows for i in groups]
        if not names:
            raise ValueError("no columns")
        if min(rows, default=0) < 0:
            raise ValueError("a negative number of rows")
        return cls(path.absolute(), names, width, tuple(accumulate(rows, initial=0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and numbers in each."""
        return self.starts[-1], self.width

    @property
    def chunks(self) -> tuple[int, int]:
        """The largest row group: it is decoded whole."""
        return max(np.diff(self.starts).tolist(), default=1), self.width

    def __getitem__(self, rows: slice) -> Array:
        from pyarrow import parquet

        start, stop, _ = rows.indices(self.shape[0])
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, stop - 1)
        groups = list(range(first, last)) if start < stop else []
        with one_sentence(self.path, "save it again"), parquet.ParquetFile(self.path) as file:
            table = file.read_row_groups(groups, columns=list(self.names), use_threads=False)
        table = table.slice(start - self.starts[first], stop - start)
        numbers = [_flat(table.column(name)).reshape(len(table), -1) for name in self.names]
        return np.concatenate(numbers, axis=1, dtype=np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)


def _width(file: Any, name: str, kind: Any) -> int:
    """Numbers in a row of a column."""
    from pyarrow import compute, types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    number = kind.value_type if lists else kind
    if not (types.is_integer(number) or types.is_floating(number) or types.is_boolean(number)):
        raise ValueError(f"column {name}")
    if not lists:
        return 1
    lengths: set[int | None] = set()
    for i in range(file.num_row_groups):
        column = file.read_row_group(i, columns=[name]).column(name)
        lengths.update(compute.list_value_length(column).unique().to_pylist())
    if None in lengths or len(lengths) != 1:
        raise ValueError(f"column {name}")
    return lengths.pop() or 0


def _flat(column: Any) -> Array:
    """All numbers of a column, those of lists one after the other; NaN for missing ones."""
    lists = hasattr(column.type, "value_type")
    return np.asarray((column.combine_chunks().flatten() if lists else column).to_numpy(zero_copy_only=False))


@dataclass(frozen=True, repr=False)
class Zarr:
    """An array that zarr opened."""

    path: Path
    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole array."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its numbers."""
        found: np.dtype[Any] = self.array.dtype
        return found

    @property
    def chunks(self) -> tuple[int, ...]:
        """Each is decoded whole."""
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
        """That holds all."""
        return np.result_type(*{part.dtype for part in self.parts})

    @cached_property
    def _starts(self) -> list[int]:
        counts = (1 if part.shape == self.record_shape else part.shape[0] for part in self.parts)
        return list(accumulate(counts, initial=0))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of all records."""
        return (self._starts[-1], *self.record_shape)

    @property
    def ndim(self) -> int:
        """Axes."""
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
