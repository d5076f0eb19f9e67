"""Compiled Cholesky factors of many symmetric matrices, written as the chart of the log-Cholesky metric.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, helper, inlined, options
from riemdp.kernels.constants import ASYMMETRY, CONDITIONING, LANES, SMALLEST, SQUARES
from riemdp.kernels.logarithms import logarithm
from riemdp.kernels.preparing import gather

_records = ArrayType(float64, 3, "C", readonly=True)
_vector, _matrix = float64[::1], float64[:, ::1]


@inlined
def _factorise(a: Array, inverted: Array, pivots: Array) -> None:
    """The upper triangle of `a` becomes the transposed Cholesky factor; `inverted` is 1 over its diagonal."""
    k = a.shape[0]
    for p in range(k):
        for lane in range(LANES):
            pivots[p, lane] = a[p, p, lane]
            a[p, p, lane] = math.sqrt(a[p, p, lane])
            inverted[p, lane] = 1.0 / a[p, p, lane]
        for j in range(p + 1, k):
            for lane in range(LANES):
                a[p, j, lane] *= inverted[p, lane]
        for i in range(p + 1, k):
            for j in range(i, k):
                for lane in range(LANES):
                    a[i, j, lane] -= a[p, i, lane] * a[p, j, lane]


@inlined
def _condition(a: Array, diagonal: Array, inverted: Array, inverse: Array, bound: Array) -> None:
    """tr(D A⁻¹ D) (1 + |L|) of each matrix A = L Lᵀ, D² the diagonal of A: column by column of L⁻¹."""
    k = a.shape[0]
    for lane in range(LANES):
        bound[0, lane] = 0.0
        bound[1, lane] = 0.0
    for p in range(k):
        for lane in range(LANES):
            bound[1, lane] += diagonal[p, lane]
        for i in range(p, k):
            for lane in range(LANES):
                inverse[i, lane] = 1.0 if i == p else 0.0
            for m in range(p, i):
                for lane in range(LANES):
                    inverse[i, lane] -= a[m, i, lane] * inverse[m, lane]
            for lane in range(LANES):
                inverse[i, lane] *= inverted[i, lane]
                bound[0, lane] += diagonal[p, lane] * inverse[i, lane] * inverse[i, lane]
    for lane in range(LANES):
        bound[0, lane] *= 1.0 + math.sqrt(bound[1, lane])


@inlined
def _take_logarithms(a: Array, pivots: Array, bits: Any) -> None:
    """The diagonal of the factors becomes its logarithm, half of that of the pivots."""
    for p in range(a.shape[0]):
        logarithm(pivots[p], bits, a[p, p])
        for lane in range(LANES):
            a[p, p, lane] *= 0.5


@inlined
def _least(pivots: Array, least: Array) -> None:
    """The least pivot of each matrix; NaN if one is."""
    for lane in range(LANES):
        least[lane] = pivots[0, lane]
    for p in range(1, pivots.shape[0]):
        for lane in range(LANES):
            least[lane] = pivots[p, lane] if not pivots[p, lane] >= least[lane] else least[lane]


@helper
def _store(a: Array, least: Array, first: int, live: int, each: Array, pivots: Array) -> None:
    """The chart of each record: the diagonal, then the rest row by row; and its least pivot."""
    k = a.shape[0]
    for lane in range(live):
        pivots[first + lane] = least[lane]
        entry = k
        for i in range(k):
            each[first + lane, i] = a[i, i, lane]
            for j in range(i + 1, k):
                each[first + lane, entry] = a[i, j, lane]
                entry += 1


@inlined
def _add(a: Array, live: int, sums: Array) -> None:
    """The same order as `_store`, lane by lane, and the squares of all in the last row."""
    k, entry, squares = a.shape[0], a.shape[0], sums.shape[0] - 1
    for i in range(k):
        for lane in range(live):
            sums[i, lane] += a[i, i, lane]
            sums[squares, lane] += a[i, i, lane] * a[i, i, lane]
        for j in range(i + 1, k):
            for lane in range(live):
                sums[entry, lane] += a[i, j, lane]
                sums[squares, lane] += a[i, j, lane] * a[i, j, lane]
            entry += 1


@njit(void(_records, boolean, _vector, _vector, _matrix, _vector), **options)
def log_cholesky(x: Array, summed: bool, total: Array, stats: Array, each: Array, pivots: Array) -> None:
    """(log diag L, strict lower triangle of L) of x_i = L Lᵀ: the sum to `total`, or each one to `each`.

    `summed`: the smallest pivot of all, the sum of `_condition`, the sum of squares and the asymmetry beyond the
    tolerance go to `stats`. Else the least pivot of each record goes to `pivots`: not above 0 if x_i has no factor.
    """
    n, k = x.shape[0], x.shape[1]
    a, squares, diagonal = np.empty((k, k, LANES)), np.empty((k, LANES)), np.empty((k, LANES))
    inverse, inverted, bound = np.empty((k, LANES)), np.empty((k, LANES)), np.empty((2, LANES))
    least, asymmetry, bits = np.empty(LANES), np.zeros((1, LANES)), np.empty(LANES, np.int64)
    sums = np.zeros((k * (k + 1) // 2 + 1, LANES))
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        gather(x, first, live, a, asymmetry)
        for p in range(k):
            for lane in range(LANES):
                diagonal[p, lane] = a[p, p, lane]
        _factorise(a, inverted, squares)
        _least(squares, least)
        if summed:
            _condition(a, diagonal, inverted, inverse, bound)
        _take_logarithms(a, squares, bits)
        if not summed:
            _store(a, least, first, live, each, pivots)
            continue
        _add(a, live, sums)
        for lane in range(live):
            stats[SMALLEST] = least[lane] if not least[lane] >= stats[SMALLEST] else stats[SMALLEST]
            stats[CONDITIONING] += bound[0, lane]
    if summed:
        for lane in range(LANES):
            for entry in range(total.shape[0]):
                total[entry] += sums[entry, lane]
            stats[SQUARES] += sums[total.shape[0], lane]
            stats[ASYMMETRY] = max(stats[ASYMMETRY], asymmetry[0, lane])
