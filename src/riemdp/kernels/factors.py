"""Cholesky factors of many small matrices: compiled or by LAPACK, as `riemdp.kernels.spectral` chooses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.kernels.constants import (
    ASYMMETRY,
    CONDITIONING,
    QUICK,
    SMALLEST,
    SMALLEST_NORMAL,
    SQUARES,
    TOGETHER,
    UNIT_ROUNDOFF,
    WIDTH,
)
from riemdp.kernels.spectral import (
    SMALL_WORK,
    _compiled,
    _floats,
    _grain,
    added,
    asymmetry,
    in_tasks,
    positive_definite,
    statistics,
    symmetric_part,
)
from riemdp.kernels.threads import map_ranges

Array = NDArray[Any]
BLOCK = TOGETHER * WIDTH  # records that the compiled code adds up by themselves
ONE_THREAD = 2**20  # numbers: the factors of fewer are found before a second thread has woken up
BY_ENTRIES = 3  # up to this size a record is a few numbers, and NumPy is faster entry by entry than matrix by matrix
WORTH_LOADING = 2**24  # n k³ from which compiled code repays its loading, if NumPy goes entry by entry and k < 3
FEW_ROWS = 16  # of one matrix, for which Python is faster than NumPy
SIDE = 128  # of the squares in which entries are added up
LONG = 2**22  # numbers whose factors take some milliseconds


@cache
def strict_upper(k: int) -> tuple[Array, Array]:
    """Rows and columns of the entries above the diagonal, row by row."""
    return np.triu_indices(k, 1)


def log_cholesky(factor: Array) -> Array:
    """(log diag L, strict lower triangle of L, column by column) of lower triangular matrices (..., k, k)."""
    i, j = strict_upper(factor.shape[-1])
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return np.concatenate([np.log(diagonal), factor[..., j, i]], axis=-1)


def conditioning(factor: Array, deviations: Array) -> Array:
    """How far the chart of A = L Lᵀ moves if each A_ij moves by at most d_i d_j, d_i² = A_ii, in first order.

    sqrt(sum_j w_j⁴/4 + sum_{j<i} g_i² w_j²), w = |L⁻¹| d and g = |L| w; infinite where `most_lost` forbids the first
    order: docs/proofs/spaces/spd_log_cholesky.md.
    """
    scaled = factor / deviations[..., :, None]  # rows of length 1
    rows = np.abs(np.linalg.inv(scaled)).sum(axis=-1)
    spread = deviations * (np.abs(scaled) @ rows[..., None])[..., 0]
    squares = rows**2
    before = np.cumsum(squares, axis=-1) - squares
    bound = np.sqrt((squares**2 / 4 + spread**2 * before).sum(axis=-1))
    return np.where(squares.sum(axis=-1) > most_lost(factor.shape[-1]), np.inf, bound)


def conditioning_of_one(factor: Array) -> float:
    """`conditioning` of L Lᵀ, or a little more: for few rows as the compiled code has it, number by number."""
    if len(factor) <= FEW_ROWS:
        quick, lost = _condition_numbers(factor.tolist())
        if lost <= QUICK:
            return quick
    return float(conditioning(factor, np.linalg.norm(factor, axis=1)))


def _condition_numbers(rows: list[list[float]]) -> tuple[float, float]:
    """`_condition_entries` of the one matrix whose factor has these rows."""
    bound, before, widths = 0.0, 0.0, list[float]()
    for i, row in enumerate(rows):
        deviation = math.hypot(*row)
        reached = deviation + sum(abs(entry) * width for entry, width in zip(row, widths, strict=False))
        width, spread = reached / row[i], 2 * reached - deviation
        square = width * width
        bound, before = bound + square * square / 4 + spread * spread * before, before + square
        widths.append(width)
    return math.sqrt(bound), before


def most_lost(k: int) -> float:
    """The largest sum of w_j² for which the roundings of a factor, (k + 2) u w_i w_j, are as good as of first order."""
    return 1 / (8 * (k + 2) * UNIT_ROUNDOFF)


@dataclass(frozen=True)
class FactorSum:
    """Sum of the charts (log diag L, strict lower triangle) of n matrices, and what bounds its rounding."""

    total: Array
    count: int
    smallest: float  # pivot of all
    conditioning: float  # sum of `conditioning`; NaN if a matrix has no factor, infinite if one has hardly any
    squares: float  # sum of the charts' squared lengths
    asymmetry: float  # > 0 if some record is not symmetric within SYMMETRY_TOL
    chain: int  # of additions that a number takes part in, at most, and 16 more
    k: int

    @property
    def is_valid(self) -> bool:
        """Every record was symmetric and positive definite."""
        known = math.isfinite(self.squares) and not math.isnan(self.conditioning)
        return self.smallest > SMALLEST_NORMAL and self.asymmetry <= 0.0 and known

    @property
    def rounding(self) -> float:
        """Bound on the error of `total / count`, first order in u: docs/proofs/spaces/spd_log_cholesky.md."""
        mean = self.conditioning / self.count
        return factor_rounding(self.k, mean) + UNIT_ROUNDOFF * self.chain * math.sqrt(self.squares / self.count)


def factor_rounding(k: int, conditioned: float) -> float:
    """Bound on the error of the chart of a matrix of this `conditioning`."""
    return 2 * (k + 2) * UNIT_ROUNDOFF * conditioned


@dataclass(frozen=True)
class _Way:
    """How the factors of n matrices are found: by which code, and how many in one task."""

    compiled: bool
    grain: int
    by_entries: bool = False

    @classmethod
    def of_sum(cls, n: int, k: int) -> _Way:
        """As `of`, but small matrices that are only added up go entry by entry where compiled code is not worth it."""
        worth = WORTH_LOADING if k < BY_ENTRIES else None
        by_entries = k <= BY_ENTRIES and not _compiled(n, k, "cholesky", worth)
        return cls(False, SIDE**2, by_entries) if by_entries else cls.of(n, k)

    @classmethod
    def of(cls, n: int, k: int) -> _Way:
        """A single task if there is little to do, else eight, or more of a few milliseconds each."""
        if not _compiled(n, k, "cholesky"):
            return cls(False, max(1, n) if n * k**3 < SMALL_WORK else _grain(n, k))
        if n * k**2 < ONE_THREAD:
            return cls(True, n)
        return cls(True, BLOCK * min(-(-n // (8 * BLOCK)), max(1, LONG // (k**2 * BLOCK))))

    def chain(self, n: int) -> int:
        """The longest chain of additions, and 16 more: docs/proofs/spaces/spd_log_cholesky.md."""
        steps = TOGETHER + WIDTH + self.grain // BLOCK if self.compiled else self.grain
        steps = 2 * SIDE if self.by_entries else steps
        return steps + 16 + n // self.grain


def sum_factors(x: Array) -> FactorSum:
    """The charts of the records (n, k, k), added up; never more than a block of them is held."""
    n, k = len(x), x.shape[-1]
    way = _Way.of_sum(n, k)
    make = _compiled_sum if way.compiled else _entries_sum if way.by_entries else _lapack_sum
    run = map_ranges if way.compiled or way.by_entries else in_tasks  # only LAPACK has threads of its own
    totals, parts = zip(*run(make(x), n, way.grain), strict=True)
    stats = statistics(list(parts))
    return FactorSum(
        total=added(list(totals)),
        count=n,
        smallest=stats[SMALLEST],
        conditioning=stats[CONDITIONING],
        squares=stats[SQUARES],
        asymmetry=stats[ASYMMETRY],
        chain=way.chain(n),
        k=k,
    )


def record_factors(x: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The chart of each record by itself, and which records have a positive definite symmetric part."""
    n, k = len(x), x.shape[-1]
    charts, way = np.empty((n, k * (k + 1) // 2)), _Way.of(n, k)
    make = _compiled_each if way.compiled else _lapack_each
    return charts, np.concatenate(in_tasks(make(x, charts), n, way.grain))


def _compiled_sum(x: Array) -> Callable[[int, int], tuple[Array, Array]]:
    from riemdp.kernels import cholesky

    def task(i: int, j: int) -> tuple[Array, Array]:
        total, stats = np.zeros(x.shape[-1] * (x.shape[-1] + 1) // 2), np.array([np.inf, 0.0, 0.0, 0.0])
        cholesky.sum_factors(_floats(x[i:j]), most_lost(x.shape[-1]), total, stats)
        return total, stats

    return task


def _compiled_each(x: Array, out: Array) -> Callable[[int, int], NDArray[np.bool_]]:
    from riemdp.kernels import cholesky

    def task(i: int, j: int) -> NDArray[np.bool_]:
        pivots = np.empty(j - i)
        cholesky.record_factors(_floats(x[i:j]), out[i:j], pivots)
        return np.asarray(pivots > 0) & np.isfinite(out[i:j]).all(axis=1)

    return task


def _lapack_sum(x: Array) -> Callable[[int, int], tuple[Array, Array]]:
    def task(i: int, j: int) -> tuple[Array, Array]:
        block = _floats(x[i:j])
        with np.errstate(all="ignore"):
            charts, usable, factors = _factors(symmetric_part(block))
            if not usable.all():
                return charts.sum(axis=0), np.array([np.nan, np.nan, np.nan, 0.0])
            skew = asymmetry(block).max()
            bound = conditioning(factors, np.sqrt(np.diagonal(block, axis1=1, axis2=2))).sum()
        least = np.diagonal(factors, axis1=1, axis2=2).min() ** 2
        return charts.sum(axis=0), np.array([least, bound, (charts**2).sum(), skew])

    return task


def _entries_sum(x: Array) -> Callable[[int, int], tuple[Array, Array]]:
    """Each entry of all matrices at once: as Cholesky's algorithm goes, with vectors for numbers."""
    k = x.shape[-1]

    def task(i: int, j: int) -> tuple[Array, Array]:
        block = np.array(x[i:j].transpose(1, 2, 0), dtype=np.float64, order="C")
        with np.errstate(all="ignore"):
            skew = float(asymmetry(block.T).max())
            factor, pivots = _factor_entries(symmetric_part(block.T).T)
            charts = np.zeros((k * (k + 1) // 2, -(-(j - i) // SIDE) * SIDE))
            charts[:k, : j - i] = 0.5 * np.log(pivots)
            for place, (c, r) in enumerate(zip(*strict_upper(k), strict=True), start=k):
                charts[place, : j - i] = factor[r][c]
            least = float(pivots.min())
            bound = _sharp_enough(factor, np.sqrt(block[range(k), range(k)])) if least > 0 else math.nan
            total = charts.reshape(len(charts), SIDE, -1).sum(axis=1).sum(axis=1)
            return total, np.array([least, bound, np.vdot(charts, charts), skew])

    return task


def _factor_entries(block: Array) -> tuple[list[list[Array]], Array]:
    """The rows of L, up to the diagonal, of the symmetric matrices block[:, :, m]; and the pivots."""
    k, pivots = len(block), np.empty(block.shape[1:])
    rows: list[list[Array]] = []
    for r in range(k):
        row: list[Array] = []
        for c in range(r):
            rest = block[r, c]
            for m in range(c):
                rest = rest - row[m] * rows[c][m]
            row.append(rest / rows[c][c])
        pivot = block[r, r]
        for entry in row:
            pivot = pivot - entry * entry
        pivots[r] = pivot
        rows.append([*row, np.sqrt(pivot)])
    return rows, pivots


def _condition_entries(factor: list[list[Array]], deviations: Array) -> tuple[float, float]:
    """The sum of `conditioning`, or for three rows no less, of the matrices with these rows of factors; the largest w².

    w by forward substitution with absolute values, as the compiled code: docs/proofs/spaces/spd_log_cholesky.md.
    """
    before = np.ones(deviations.shape[1])  # w of the first row, whose only entry is its length
    widths, bound = [before], before / 4
    for row, deviation in zip(factor[1:], deviations[1:], strict=True):
        reached = deviation
        for entry, width in zip(row[:-1], widths, strict=True):
            reached = reached + np.abs(entry) * width
        widths.append(reached / row[-1])
        spread, square = 2 * reached - deviation, widths[-1] * widths[-1]
        bound = bound + square * square / 4 + spread * spread * before
        before = before + square
    lost = float(before.max())
    return math.inf if lost > most_lost(len(factor)) else float(np.sqrt(bound).sum()), lost


def _sharp_enough(factor: list[list[Array]], deviations: Array) -> float:
    """The sum of `conditioning`: of two rows at once, of three as the compiled code has it, else by LAPACK."""
    quick, lost = _condition_entries(factor, deviations)
    if len(factor) < BY_ENTRIES or lost <= QUICK:
        return quick
    k, matrices = len(factor), np.zeros((deviations.shape[1], len(factor), len(factor)))
    for r, c in itertools.combinations_with_replacement(range(k), 2):
        matrices[:, c, r] = factor[c][r]
    return float(conditioning(matrices, deviations.T).sum())


def _lapack_each(x: Array, out: Array) -> Callable[[int, int], NDArray[np.bool_]]:
    def task(i: int, j: int) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            out[i:j], usable, _ = _factors(symmetric_part(_floats(x[i:j])))
        return usable

    return task


def _factors(block: Array) -> tuple[Array, NDArray[np.bool_], Array]:
    """The charts of symmetric matrices, those that have one, and their factors; the identity stands for the others."""
    factors = _factors_of_all(block)
    if factors is not None:
        return log_cholesky(factors), np.ones(len(block), dtype=bool), factors
    usable = positive_definite(block)
    factors = np.linalg.cholesky(np.where(usable[:, None, None], block, np.eye(block.shape[-1])))
    return log_cholesky(factors), usable, factors


def _factors_of_all(block: Array) -> Array | None:
    """None if one of the matrices has no factor."""
    try:
        factors = np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return None
    return factors if np.isfinite(factors).all() else None
