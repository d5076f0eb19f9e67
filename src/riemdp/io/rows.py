"""What records are turned into, one by one: rows of numbers, block by block of a source.

Rows are computed whenever a pass over them is made, so that memory does not grow with the records; or kept, if they
are few. The code that computes them is chosen by the number of all records (`kernels_for`), so that both ways, and
every worker, give the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from riemdp.io.sources import Task, sent
from riemdp.kernels.spectral import kernels_chosen_for, kernels_for
from riemdp.kernels.threads import map_ranges, one_blas_thread

Array = NDArray[Any]
T = TypeVar("T")
Turn = Callable[[Array], Array]  # a block of rows into another, each row by itself; picklable

MOST_KEPT = 2**24  # numbers: 128 MB


class Blocks(Protocol):
    """Whatever hands out rows in blocks: a source of records, rows that are held, people."""

    @property
    def n(self) -> int:
        """How many rows there are."""

    @property
    def is_local(self) -> bool:
        """Whether this process may hold what it computes from every row."""

    def map(self, task: Task[T]) -> list[T]:
        """[task(block, place of its first row)] for every block, in order."""

    def each(self, task: Task[T]) -> Iterator[T]:
        """The results of `map`, one by one."""


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """The records of a source, turned into rows of numbers."""

    source: Blocks
    turns: tuple[Turn, ...] = ()

    def map(self, task: Task[T]) -> list[T]:
        """[task(rows of a block, place of its first one)] for every block, in order; the task must be picklable."""
        return self.source.map(self._on_records(task))

    def total(self, task: Task[T]) -> T:
        """The sum of what `map` gives, added up as it comes: no more than a few of the results are held."""
        return reduce(operator.add, self.source.each(self._on_records(task)))

    def _on_records(self, task: Task[T]) -> Task[T]:
        return _Turned(kernels_chosen_for(self.source.n), self.turns, task)

    def turned(self, turn: Callable[[Array], Any]) -> Rows:
        """Rows that `turn` makes of these, block by block, when they are asked for."""
        return replace(self, turns=(*self.turns, turn))

    def each(self, turn: Callable[[Array], T]) -> list[T]:
        """[turn(rows of a block)] for every block."""
        found: list[Any] = self.turned(turn).map(_itself)
        return found

    def columns(self, start: int, stop: int) -> Rows:
        """Some of the numbers of each row."""
        return self.turned(partial(_columns, start=start, stop=stop))

    def kept(self, numbers: int) -> Rows:
        """These rows, held in memory if so many numbers of each are few, and if the records are on this machine."""
        is_held = isinstance(self.source, Held) and not self.turns
        if is_held or not self.source.is_local or self.source.n * numbers > MOST_KEPT:
            return self
        return Rows(Held(tuple(self.map(_itself))))

    def all(self) -> Array:
        """All rows at once, in memory."""
        return np.concatenate(self.map(_itself))


def _itself(rows: Array, start: int) -> Array:  # noqa: ARG001
    return rows


def _columns(rows: Array, start: int, stop: int) -> Array:
    return np.ascontiguousarray(rows[:, start:stop])


@dataclass(frozen=True, eq=False, repr=False)
class _Turned(Generic[T]):
    """A task on blocks of records, from one on rows; it may run anywhere, so it brings along what chooses the code."""

    records: int
    turns: tuple[Turn, ...]
    task: Task[T]

    def within(self, start: int, stop: int) -> _Turned[T]:
        """The task as it is sent to where these records are."""
        return replace(self, task=sent(self.task, start, stop))

    def __call__(self, rows: Array, start: int) -> T:
        with kernels_for(self.records), np.errstate(all="ignore"):
            for turn in self.turns:
                rows = turn(rows)
            return self.task(rows, start)


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Blocks that were computed before, and are held in memory: few enough that no pass over them takes long."""

    blocks: tuple[Array, ...]
    first: int = 0  # the place of the first row
    is_local: ClassVar[bool] = True

    @property
    def n(self) -> int:
        """How many rows there are."""
        return sum(map(len, self.blocks))

    def map(self, task: Task[T]) -> list[T]:
        """[task(block, place of its first row)] for every block, in order, as a source does."""
        starts = list(accumulate(map(len, self.blocks), initial=self.first))
        with one_blas_thread():
            return map_ranges(lambda i, _: task(self.blocks[i], starts[i]), len(self.blocks), 1)

    def each(self, task: Task[T]) -> Iterator[T]:
        """The results of `map`, one by one."""
        return iter(self.map(task))
