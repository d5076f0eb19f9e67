"""One row for each person: the mean of their own records' coordinates, exact, on the ball's grid.

A person's row is a function of that person's records alone, and as long as the radius at most: whatever holds for
records of a ball holds for people (docs/proofs/people.md). Sums are added in integers, so a row has the same bits
wherever the records lie: in any order, block or chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.caching import cached_property
from riemdp.io.identities import Identities
from riemdp.io.rows import MOST_KEPT, Held
from riemdp.io.sources import Source, Task, block_rows
from riemdp.kernels.spectral import kernels_chosen_for, kernels_for

Array = NDArray[Any]
# A sum of whole numbers is kept in two words: high 2^HALF + low. Those of 2^38 records, each below 1.5 2^48, fit.
HALF = 24
MASK = 2**HALF - 1


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """People as rows of coordinates, in blocks like those of a source; made by passes over the records."""

    records: Source
    coordinates: Callable[..., Array]  # of a block of raw records, and what is beside them; each record by itself
    identities: Identities
    grid: int  # coordinates are cut to multiples of 2^grid, fewer than 1.5 2^48 of them
    dim: int
    beside: tuple[Array, ...] = ()  # something else of each record, such as a number

    @property
    def n(self) -> int:
        """How many people there are."""
        return self.identities.count

    @property
    def is_local(self) -> bool:
        """Whether this process may hold all people's rows: public, since n is."""
        return self.records.is_local or self.n * self.dim <= MOST_KEPT

    def map(self, task: Task[Any]) -> list[Any]:
        """[task(block, place of its first person)] for every block, in order, as a source does."""
        return list(self.each(task))

    def each(self, task: Task[Any]) -> Iterator[Any]:
        """The results of `map`, one by one."""
        return (result for part in self._parts() for result in part.map(task))

    def _parts(self) -> Iterator[Held]:
        """All people, as many at a time as may be held in memory: a pass over the records for each part."""
        if self.n * self.dim <= MOST_KEPT:
            yield self._held
            return
        size = max(1, MOST_KEPT // (4 * self.dim) // self._block) * self._block
        for start in range(0, self.n, size):
            yield self._part(start, min(start + size, self.n))

    @cached_property
    def _held(self) -> Held:
        return self._part(0, self.n)

    def _part(self, start: int, stop: int) -> Held:
        """The rows of some people."""
        totals = _Totals.of(stop - start, self.dim)
        for part in self.records.each(self._task(start, stop)):
            totals.add(part)
        blocks = [slice(i, i + self._block) for i in range(0, stop - start, self._block)]
        rows = totals.high.view(np.float64)  # in the place of the sums, which nobody needs any more
        for block in blocks:
            rows[block] = totals.means(block) * 2.0**self.grid
        return Held(tuple(rows[block] for block in blocks), start)

    def _task(self, start: int, stop: int, combine: np.ufunc = np.add) -> _PerPerson:
        codes, kernels = self.identities.codes, kernels_chosen_for(self.n)  # the number of records is private
        return _PerPerson(self.coordinates, self.grid, kernels, codes, start, stop, self.beside, combine)

    def largest(self) -> Array:
        """(n, dim): the largest of each person's own records' coordinates, but 0 at least."""
        found = np.zeros((self.n, self.dim), np.int64)
        for part in self.records.each(self._task(0, self.n, np.maximum)):
            found[part.people] = np.maximum(found[part.people], part.sums)
        return np.asarray(found * 2.0**self.grid)

    @property
    def _block(self) -> int:
        return block_rows((self.dim,), np.dtype(np.float64))


@dataclass(frozen=True, eq=False, repr=False)
class _Sums:
    """By person, of a block: whose records these are, the sum (or largest) of their coordinates, and their number."""

    people: Array
    sums: Array  # (people, dim) of 64 bits: a block has 2^14 records at most
    counts: Array

    @classmethod
    def of(cls, codes: Array, steps: Array, combine: np.ufunc) -> _Sums:
        """Sums over the rows of each person, who appear once, by their numbers in rising order."""
        order = np.argsort(codes)
        codes, steps = codes[order], np.take(steps, order, axis=0)
        ends = np.flatnonzero(np.diff(codes, append=-1))  # numbers of people are not below 0
        counts = np.diff(ends, prepend=-1)
        if combine is np.add:  # a third of the time that `reduceat` takes; the sum of a whole block fits as well
            sums = np.diff(np.take(np.cumsum(steps, axis=0), ends, axis=0), axis=0, prepend=0)
        else:
            sums = combine.reduceat(steps, ends - counts + 1, axis=0)
        return cls(codes[ends], sums, counts)


_NOBODY = _Sums(np.empty(0, np.int64), np.empty((0, 1), np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class _PerPerson:
    """A task on a block of records: sums by person, of those from `start` to before `stop`."""

    coordinates: Callable[..., Array]
    grid: int
    kernels: int
    codes: Array  # of the records from `first` on
    start: int
    stop: int
    beside: tuple[Array, ...]  # of the same records
    combine: np.ufunc
    first: int = 0

    def within(self, first: int, last: int) -> _PerPerson:
        """The task for these records alone, to be sent to where they are."""
        codes, *beside = self._those(first, last)
        return replace(self, codes=codes, beside=tuple(beside), first=first)

    def _those(self, first: int, last: int) -> list[Array]:
        """Whose these records are, and what is beside them."""
        return [one[first - self.first : last - self.first] for one in (self.codes, *self.beside)]

    def __call__(self, rows: Array, start: int) -> _Sums:
        codes, *beside = self._those(start, start + len(rows))
        chosen = (codes >= self.start) & (codes < self.stop)
        if not chosen.any():
            return _NOBODY
        if not chosen.all():
            rows, codes, *beside = (one[chosen] for one in (rows, codes, *beside))
        return _Sums.of(codes - self.start, self._steps(rows, *beside), self.combine)

    def _steps(self, *records: Array) -> Array:
        """One record goes twice: NumPy rounds a single row of complex numbers otherwise, and N is private."""
        count = len(records[0])
        if count == 1:
            records = tuple(np.repeat(one, 2, axis=0) for one in records)
        with kernels_for(self.kernels), np.errstate(all="ignore"):
            return (self.coordinates(*records)[:count] * 2.0**-self.grid).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _Totals:
    """By person: the sum of all records' coordinates in two words, and their number."""

    high: Array
    low: Array
    counts: Array

    @classmethod
    def of(cls, people: int, dim: int) -> _Totals:
        """Totals of so many people, of whom no record has been seen yet."""
        return cls(np.zeros((people, dim), np.int64), np.zeros((people, dim), np.int32), np.zeros(people, np.int64))

    def add(self, part: _Sums) -> None:
        """Add a block's sums: s = (s >> HALF) 2^HALF + (s & MASK), also below 0; beyond its bits low is carried."""
        low = np.take(self.low, part.people, axis=0) + (part.sums & MASK)
        self.high[part.people] = np.take(self.high, part.people, axis=0) + ((part.sums >> HALF) + (low >> HALF))
        self.low[part.people] = low & MASK
        self.counts[part.people] += part.counts

    def means(self, people: slice) -> Array:
        """Of some people: sums over numbers of records, cut towards 0, exactly.

        With high = q m + rest, 0 <= rest < m: sum/m = q 2^HALF + (rest 2^HALF + low)/m, and what is divided fits.
        """
        m = self.counts[people, None]
        whole, rest = np.divmod(self.high[people], m)
        part, left = np.divmod((rest << HALF) + self.low[people], m)
        down = (whole << HALF) + part
        return np.asarray(down + ((down < 0) & (left > 0)), dtype=np.float64)
