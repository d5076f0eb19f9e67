"""Records wherever they are, handed out in blocks that depend on nothing but their number and shape.

Rows [i B, (i+1) B) of the records are block i, whatever chunks they are stored in: B follows from the shape of one
record, which is public. A task sees one block; the results come back in order. So whatever is computed from them
is the same, bit for bit, for an array in memory, a memory map, a zarr array or a Dask array of any chunks, on any
number of threads or workers. A source knows nothing of spaces or privacy.
"""

from __future__ import annotations

import math
import mmap
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from riemdp.arguments import as_array
from riemdp.errors import InputError
from riemdp.io.cells import as_stated
from riemdp.kernels.threads import each_range, one_blas_thread, this_thread_only
from riemdp.version import __version__

Array = NDArray[Any]
T = TypeVar("T")
Task = Callable[[Array, int], T]  # of a block and the place of its first record
Progress = Callable[[int, int], None]  # blocks done, of how many

MOST_ROWS, MOST_NUMBERS = 2**14, 2**20  # in a block: enough for the compiled kernels, little beside the records

AT_ONCE = 64  # chunks whose results a scheduler of this machine may hold before they are taken from it
AROUND = 2**16  # bytes: systems map not only the page that is touched, but some around it


def block_rows(record_shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Records in a block: a power of two, from the numbers in a record alone (a complex one counts as two)."""
    numbers = max(1, math.prod(record_shape) * (2 if dtype.kind == "c" else 1))
    fitting = max(1, MOST_NUMBERS // numbers)
    return min(MOST_ROWS, 1 << (fitting.bit_length() - 1))


class Source(ABC):
    """Raw records of any real or complex type, in canonical blocks; shows nothing of them but shape and type."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_local: bool  # whether this process may hold what it computes from every record

    @property
    def n(self) -> int:
        """How many records there are."""
        return self.shape[0]

    @property
    def block(self) -> int:
        """The number of records in a block."""
        return block_rows(self.shape[1:], self.dtype)

    def map(self, task: Task[T]) -> list[T]:
        """[task(block, place of its first record)] for every block, in order of the records.

        The task must be picklable, and a function of the block alone: it may run elsewhere, and again.
        """
        return list(self.each(task))

    def each(self, task: Task[T]) -> Generator[T, None, None]:
        """The results of `map`, one by one: for those that are added up and not kept."""
        done = 0
        with closing(self._parts(task)) as parts:  # an interrupt ends them too, at once
            for part in parts:
                yield from part
                done += len(part)
                self._report(done)

    def _report(self, done: int) -> None:
        progress = _progress.get()
        if progress is not None:
            progress(done, -(-self.n // self.block))

    @abstractmethod
    def _parts(self, task: Task[T]) -> Generator[list[T], None, None]:
        """The results of the blocks, some at a time, in order."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype})"


def source_of(X: Any, name: str = "X") -> Source:
    """Where to get the blocks of X: a Dask array, anything with shape, dtype and slices of rows, or a list."""
    if isinstance(X, Source):
        return X
    if is_dask(X):
        return DaskSource.of(X, name)
    return ArraySource(X if _has_rows(X) else as_array(X, name))


def _has_rows(X: Any) -> bool:
    """Whether slices of X are arrays of its own type: not so for sparse matrices, say."""
    if not isinstance(getattr(X, "dtype", None), np.dtype) or not getattr(X, "shape", ()):
        return False
    none = np.asarray(X[:0])
    return none.dtype == X.dtype and none.shape[1:] == tuple(X.shape[1:])


# --- progress ----------------------------------------------------------------------------------------------

_progress: ContextVar[Progress | None] = ContextVar("riemdp_progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Within it every pass over a source calls progress(blocks done, blocks of the pass)."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def stepwise(items: Sequence[T]) -> Iterator[T]:
    """The items, one by one; a progress that can tell steps, whose number is public, sees them go by."""
    tell = getattr(_progress.get(), "step", None)
    for done, item in enumerate(items):
        if tell is not None:
            tell(done, len(items))
        yield item


# --- one machine: arrays, memory maps, and whatever is read by slices of rows ---------------------------------


@dataclass(frozen=True, repr=False)
class ArraySource(Source):
    """Rows of an array, a memory map, or something that reads slices of rows from disk: zarr, HDF5."""

    rows: Any
    is_local = True

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of records, then the shape of one."""
        return tuple(self.rows.shape)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The type of their numbers."""
        found: np.dtype[Any] = self.rows.dtype
        return found

    def _parts(self, task: Task[T]) -> Generator[list[T], None, None]:
        with one_blas_thread():
            yield from each_range(lambda i, j: run_blocks(self._read(i, j), task, i), self.n, self._grain)

    @property
    def _grain(self) -> int:
        """Rows read at once: a block, or as many as cover a stored chunk, which is decoded whole anyway."""
        chunks = None if isinstance(self.rows, np.ndarray) else getattr(self.rows, "chunks", None)
        stored = chunks[0] if isinstance(chunks, tuple) and isinstance(chunks[0], int) else 1
        return self.block * -(-min(stored, self.n) // self.block)

    def _read(self, start: int, stop: int) -> Array:
        return np.asarray(self.rows[start:stop])


def run_blocks(rows: Array, task: Task[T], start: int) -> list[T]:
    """The task on every block of these rows, the first of which is a block's first."""
    step = block_rows(rows.shape[1:], rows.dtype)
    return [_run_block(rows[i : i + step], task, start + i) for i in range(0, len(rows), step)]


def _run_block(block: Array, task: Task[T], start: int) -> T:
    try:
        return task(block, start)
    finally:
        forget_pages(block)


def forget_pages(block: Array) -> None:
    """Let go of the memory that a read-only memory map took for this block; the file's own cache may keep it."""
    mapped = _memory_map(block)
    if mapped is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    first = _address(np.frombuffer(mapped, np.uint8, 1))
    for low, high in _stretches(block):
        start = max(low // AROUND * AROUND - first, 0)
        stop = min(-(-high // AROUND) * AROUND - first, len(mapped))
        mapped.madvise(mmap.MADV_DONTNEED, start, stop - start)


def _memory_map(array: Any) -> mmap.mmap | None:
    """The map below an array; None also if it may hold changes that no file has."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.mode != "c":
            return array._mmap  # type: ignore[attr-defined, no-any-return]
        array = array.base
    return None


def _stretches(block: Array) -> Iterator[tuple[int, int]]:
    """Where the block begins and ends in memory, if it is one piece; else each of a record's numbers by itself."""
    if block.flags.c_contiguous:
        yield _address(block), _address(block) + block.nbytes
        return
    for place in np.ndindex(block.shape[1:]):
        ends = [_address(block[i : i + 1, *place]) for i in (0, len(block) - 1)]
        yield min(ends), max(ends) + block.itemsize


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


# --- several processes or machines: Dask ----------------------------------------------------------------------


def is_dask(X: Any) -> bool:
    """Whether it is a collection of Dask; nobody holds one who has not imported it."""
    dask = sys.modules.get("dask")
    return dask is not None and dask.is_dask_collection(X)


@dataclass(frozen=True, repr=False)
class DaskSource(Source):
    """A Dask array, worked on where its chunks are: by threads, by local processes or by a cluster."""

    array: Any
    is_local = False

    @classmethod
    def of(cls, X: Any, name: str = "X") -> DaskSource:
        """In chunks of whole blocks of whole records, each as close as possible to what it was.

        A chunk need not be of the type that its array states: no cell of one that is not may raise, here or in Dask.
        """
        import dask.array as da

        if not isinstance(X, da.Array):
            raise InputError(f"{name} is a {type(X).__name__} of Dask: pass a Dask array.")
        if any(math.isnan(size) for size in X.shape):
            raise InputError(f"{name} is a Dask array of unknown chunk sizes: call its compute_chunk_sizes() first.")
        if X.ndim == 0 or 0 in X.shape:
            return cls(X)
        step, X = block_rows(X.shape[1:], X.dtype), X.map_blocks(as_stated, X.dtype, dtype=X.dtype, meta=X._meta)
        return cls(X.rechunk((_whole_blocks(X.chunks[0], step), *((size,) for size in X.shape[1:]))))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of records, then the shape of one."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The type of their numbers."""
        found: np.dtype[Any] = self.array.dtype
        return found

    def _parts(self, task: Task[T]) -> Generator[list[T], None, None]:
        from dask import delayed
        from dask.base import get_scheduler

        starts = np.cumsum([0, *self.array.chunks[0][:-1]]).tolist()
        run, chunks = delayed(_run_chunk, pure=False), self._hidden().to_delayed().ravel()
        spans = zip(chunks, starts, [*starts[1:], self.n], strict=True)
        parts = [run(chunk, sent(task, start, stop), start, __version__) for chunk, start, stop in spans]
        client = getattr(get_scheduler(collections=parts), "__self__", None)
        if hasattr(client, "gather"):  # of dask.distributed
            yield from _gathered(parts, client)
        else:
            for i in range(0, len(parts), AT_ONCE):
                yield self._computed(parts[i : i + AT_ONCE])

    def _hidden(self) -> Any:
        """The same chunks, hidden by whoever makes them, in the same task if Dask can."""
        return self.array.map_blocks(Hidden, meta=np.empty((0,) * self.array.ndim, self.dtype))

    def _computed(self, parts: list[Any]) -> list[Any]:
        """All results, by a scheduler of this machine."""
        import dask

        keys, done = {part.key for part in parts}, 0

        def count(key: Any, result: Any, *_: Any) -> None:
            nonlocal done
            if key in keys:
                done += len(result)
                self._report(done)

        with dask.callbacks.Callback(posttask=count):
            return [result for part in dask.compute(*parts) for result in part]


def sent(task: Task[T], start: int, stop: int) -> Task[T]:
    """The task as it is sent to a chunk: one that brings something along for each record leaves the rest behind."""
    within: Callable[[int, int], Task[T]] | None = getattr(task, "within", None)
    return task if within is None else within(start, stop)


def _whole_blocks(chunks: Iterable[int], step: int) -> tuple[int, ...]:
    """Sizes of chunks whose borders are the nearest multiples of the step."""
    borders = np.cumsum([0, *chunks])
    moved = {min(int(border + step // 2) // step * step, int(borders[-1])) for border in borders[1:-1]}
    return tuple(b - a for a, b in pairwise(sorted({0, *moved, int(borders[-1])})))


@dataclass(frozen=True, eq=False, repr=False)
class Hidden:
    """A chunk on its way into a task. Schedulers may log the arguments of a task that failed: this shows nothing."""

    rows: Any

    def __sizeof__(self) -> int:  # by which Dask counts a worker's memory
        return object.__sizeof__(self) + int(self.rows.nbytes)


def _run_chunk(chunk: Hidden, task: Task[T], start: int, version: str) -> list[T]:
    """On a worker: one of several, so that it starts no threads of its own."""
    if version != __version__:
        raise InputError(f"a worker has riemdp {__version__}, not {version}: install the same one everywhere.")
    with this_thread_only(), one_blas_thread():
        return run_blocks(np.asarray(chunk.rows), task, start)


def _gathered(parts: list[Any], client: Any) -> Generator[Any, None, None]:
    """From a cluster, each as soon as it and all before it are done; an interrupt calls the rest off."""
    futures = deque(client.compute(parts))
    try:
        while futures:
            yield futures[0].result()
            futures.popleft()  # the cluster may forget it
    except BaseException:
        client.cancel(list(futures))
        raise
