"""Compiled Cholesky factors of many symmetric matrices, written as the chart of the log-Cholesky metric.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, helper, inlined, largest, options
from riemdp.kernels.constants import ASYMMETRY, CONDITIONING, LANES, SMALLEST, SQUARES
from riemdp.kernels.logarithms import OFFSET, logarithm, split_powers
from riemdp.kernels.preparing import gather

_records = ArrayType(float64, 3, "C", readonly=True)
QUICK = 2.0**10  # up to such a sum of squares the rows of `_bound_quickly` are good enough
TOGETHER = 512  # numbers in [sqrt(1/2), sqrt(2)) whose product is within range
HALF_LN2 = math.log(2.0) / 2
_vector, _matrix = float64[::1], float64[:, ::1]


@inlined
def _less_products(a: Array, i: int, b: Array, j: int, first: int, last: int, out: Array) -> None:
    """out -= sum of a[m, i] b[m, j] over first <= m < last: two at a time, since loading and storing take longest."""
    for m in range(first, last - 1, 2):
        for lane in range(LANES):
            out[lane] -= a[m, i, lane] * b[m, j, lane] + a[m + 1, i, lane] * b[m + 1, j, lane]
    if (last - first) % 2 == 1:
        for lane in range(LANES):
            out[lane] -= a[last - 1, i, lane] * b[last - 1, j, lane]


@inlined
def _factorise(a: Array, inverted: Array, pivots: Array) -> None:
    """The upper triangle of `a` becomes the transposed Cholesky factor; `inverted` is 1 over its diagonal."""
    k = a.shape[0]
    for p in range(k):
        for j in range(p, k):
            _less_products(a, p, a, j, 0, p, a[p, j])
        for lane in range(LANES):
            pivots[p, lane] = a[p, p, lane]
            a[p, p, lane] = math.sqrt(a[p, p, lane])
            inverted[p, lane] = 1.0 / a[p, p, lane]
        for j in range(p + 1, k):
            for lane in range(LANES):
                a[p, j, lane] *= inverted[p, lane]


@inlined
def _clear(bound: Array) -> None:
    for lane in range(LANES):
        bound[0, lane] = 0.0
        bound[1, lane] = 0.0


@inlined
def _bound_row(row: float, spread: float, bound: Array, lane: int) -> None:
    """One more row of `riemdp.kernels.factors.conditioning`: w_i of w = |L⁻¹| d, and g_i of g = |L| w.

    bound[0] is the square of the result, bound[1] the sum of the squares of w.
    """
    square = row * row
    bound[0, lane] += 0.25 * square * square + spread * spread * bound[1, lane]
    bound[1, lane] += square


@inlined
def _bound_quickly(a: Array, deviations: Array, inverted: Array, rows: Array, bound: Array) -> None:
    """No less than `_bound_sharply`, often not much more: L with all signs against it. |L| rows comes for nothing."""
    _clear(bound)
    for i in range(a.shape[0]):
        for lane in range(LANES):
            rows[i, lane] = deviations[i, lane]
        for m in range(i):
            for lane in range(LANES):
                rows[i, lane] += abs(a[m, i, lane]) * rows[m, lane]
        for lane in range(LANES):
            row = rows[i, lane] * inverted[i, lane]
            _bound_row(row, 2.0 * rows[i, lane] - deviations[i, lane], bound, lane)
            rows[i, lane] = row


@inlined
def _bound_sharply(a: Array, deviations: Array, inverted: Array, column: Array, rows: Array, bound: Array) -> None:
    """rows = |L⁻¹| d for the deviations d, column by column of L⁻¹ D; then their products with |L|."""
    k = a.shape[0]
    for i in range(k):
        for lane in range(LANES):
            rows[i, lane] = 0.0
    for p in range(k):
        for i in range(p, k):
            for lane in range(LANES):
                column[i, 0, lane] = deviations[p, lane] if i == p else 0.0
            _less_products(a, i, column, 0, p, i, column[i, 0])
            for lane in range(LANES):
                column[i, 0, lane] *= inverted[i, lane]
                rows[i, lane] += abs(column[i, 0, lane])
    _clear(bound)
    for i in range(k):
        for lane in range(LANES):
            column[i, 0, lane] = a[i, i, lane] * rows[i, lane]
        for m in range(i):
            for lane in range(LANES):
                column[i, 0, lane] += abs(a[m, i, lane]) * rows[m, lane]
        for lane in range(LANES):
            _bound_row(rows[i, lane], column[i, 0, lane], bound, lane)


@inlined
def _multiply(pivots: Array, bits: Any, mantissas: Array, products: Array, exponents: Array, squares: Array) -> None:
    """products *= m, exponents += e, squares += (log 2 (|e| + 1/2)/2)² >= (log x/2)² for the pivots x = 2^e m.

    So that there is one logarithm of many numbers. What is no number, or none above 0, shows elsewhere.
    """
    exponent = bits.view(np.float64)
    for p in range(pivots.shape[0]):
        for lane in range(LANES):
            mantissas[lane] = pivots[p, lane]
        split_powers(mantissas.view(np.int64), bits)
        for lane in range(LANES):
            e = exponent[lane] - OFFSET
            size = HALF_LN2 * (abs(e) + 0.5)
            products[p, lane] *= mantissas[lane]
            exponents[p, lane] += e
            squares[lane] += size * size


@helper
def _add_logarithms(products: Array, exponents: Array, bits: Any, logs: Array, sums: Array) -> None:
    """Half of the logarithms of what `_multiply` has collected, which begins anew."""
    for p in range(products.shape[0]):
        logarithm(products[p], bits, logs)
        for lane in range(LANES):
            sums[p, lane] += 0.5 * logs[lane] + HALF_LN2 * exponents[p, lane]
            products[p, lane] = 1.0
            exponents[p, lane] = 0.0


@inlined
def _take_logarithms(a: Array, pivots: Array, bits: Any) -> None:
    """The diagonal of the factors becomes its logarithm, half of that of the pivots."""
    for p in range(a.shape[0]):
        logarithm(pivots[p], bits, a[p, p])
        for lane in range(LANES):
            a[p, p, lane] *= 0.5


@inlined
def _smaller(a: Array, row: int, least: Array) -> None:
    """least <- the smaller of it and a[row], lane by lane; NaN once one is."""
    for lane in range(LANES):
        new, known = a[row, lane], least[lane]
        least[lane] = known if (known <= new) | (known != known) else new


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
def _add(a: Array, sums: Array) -> None:
    """What is off the diagonal in the order of `_store`, lane by lane, and the squares of all."""
    k, entry, squares = a.shape[0], a.shape[0], sums.shape[0] - 1
    for i in range(k):
        for j in range(i + 1, k):
            for lane in range(LANES):
                sums[entry, lane] += a[i, j, lane]
                sums[squares, lane] += a[i, j, lane] * a[i, j, lane]
            entry += 1


@njit(void(_records, _matrix, _vector), **options)
def record_factors(x: Array, each: Array, pivots: Array) -> None:
    """(log diag L, strict lower triangle of L) of each x_i = L Lᵀ, and its least pivot: not above 0 if it has no L."""
    n, k = x.shape[0], x.shape[1]
    a, squares, inverted = np.empty((k, k, LANES)), np.empty((k, LANES)), np.empty((k, LANES))
    least, unused, bits = np.empty(LANES), np.zeros((1, LANES)), np.empty(LANES, np.int64)
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        gather(x, first, live, a, unused)
        _factorise(a, inverted, squares)
        for lane in range(LANES):
            least[lane] = np.inf
        for p in range(k):
            _smaller(squares, p, least)
        _take_logarithms(a, squares, bits)
        _store(a, least, first, live, each, pivots)


@helper
def _conclude(sums: Array, least: Array, conditioning: Array, asymmetry: Array, total: Array, stats: Array) -> None:
    """From what was found lane by lane to one of each."""
    for lane in range(LANES):
        for entry in range(total.shape[0]):
            total[entry] += sums[entry, lane]
        stats[SQUARES] += sums[total.shape[0], lane]
        stats[CONDITIONING] += conditioning[lane]
        stats[SMALLEST] = least[lane] if not least[lane] >= stats[SMALLEST] else stats[SMALLEST]
        stats[ASYMMETRY] = max(stats[ASYMMETRY], asymmetry[0, lane])


@njit(void(_records, float64, _vector, _vector), **options)
def sum_factors(x: Array, most: float, total: Array, stats: Array) -> None:
    """The charts of `record_factors`, added to `total`.

    The smallest pivot, the sum of `conditioning` (infinite if one sum of squares of w is beyond `most`), no less than
    the sum of squares and the asymmetry beyond the tolerance go to `stats`.
    """
    n, k = x.shape[0], x.shape[1]
    a, pivots, inverted = np.empty((k, k, LANES)), np.empty((k, LANES)), np.empty((k, LANES))
    deviations, column, rows = np.empty((k, LANES)), np.empty((k, 1, LANES)), np.empty((k, LANES))
    bound, asymmetry, bits = np.empty((2, LANES)), np.zeros((1, LANES)), np.empty(LANES, np.int64)
    least, conditioning, scratch = np.full(LANES, np.inf), np.zeros(LANES), np.empty(LANES)
    sums, products, exponents = np.zeros((total.shape[0] + 1, LANES)), np.ones((k, LANES)), np.zeros((k, LANES))
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        gather(x, first, live, a, asymmetry)
        for p in range(k):
            for lane in range(LANES):
                deviations[p, lane] = math.sqrt(a[p, p, lane])
        _factorise(a, inverted, pivots)
        _bound_quickly(a, deviations, inverted, rows, bound)
        if largest(bound, 1) > QUICK:
            _bound_sharply(a, deviations, inverted, column, rows, bound)
        _multiply(pivots, bits, scratch, products, exponents, sums[total.shape[0]])
        if first % (TOGETHER * LANES) == 0:
            _add_logarithms(products, exponents, bits, scratch, sums)
        _add(a, sums)
        for lane in range(live, LANES):
            bound[0, lane] = 0.0
            for p in range(k):
                pivots[p, lane] = np.inf
        for p in range(k):
            _smaller(pivots, p, least)
        for lane in range(LANES):
            conditioning[lane] += math.sqrt(bound[0, lane]) + (np.inf if bound[1, lane] > most else 0.0)
    _add_logarithms(products, exponents, bits, scratch, sums)
    _conclude(sums, least, conditioning, asymmetry, total, stats)
