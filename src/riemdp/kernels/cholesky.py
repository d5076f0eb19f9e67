"""Compiled Cholesky factors of many symmetric matrices, written as the chart of the log-Cholesky metric.

Eight matrices at a time, each in its lane (`riemdp.kernels.lanes`): row k i + j of `a` holds their entries (i, j).

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, helper, inlined, options
from riemdp.kernels.constants import (
    ASYMMETRY,
    CONDITIONING,
    QUICK,
    SMALLEST,
    SQUARES,
    SYMMETRY_TOL,
    TOGETHER,
    WIDTH,
)
from riemdp.kernels.lanes import (
    Lanes,
    any_above,
    infinite_above,
    larger,
    load,
    magnitude,
    powers,
    root,
    same,
    smaller,
    store,
    transpose,
)
from riemdp.kernels.logarithms import logarithms

_records = ArrayType(float64, 3, "C", readonly=True)
HALF_LN2 = math.log(2.0) / 2
_vector, _matrix = float64[::1], float64[:, ::1]


@helper
def _rows(count: int) -> Array:
    """Room for so many times eight numbers, that begins with a line of the cache: no row lies across two of them."""
    room = np.empty((count + 1) * WIDTH)
    start = -(room.ctypes.data // room.itemsize) % WIDTH
    return room[start : start + count * WIDTH].reshape(count, WIDTH)


@helper
def _rows_of(count: int, value: float) -> Array:
    """Room for so many times eight numbers, all of them this value."""
    rows: Array = _rows(count)
    for row in range(count):
        store(rows, row, same(value))
    return rows


@inlined
def _copy(x: Array, start: int, a: Array) -> None:
    """The records x[start : start + WIDTH], as many as there are, and identities."""
    k = x.shape[1]
    if start + WIDTH <= x.shape[0] and k * k >= WIDTH:
        for entry in range(0, k * k, WIDTH):
            begin = min(entry, k * k - WIDTH)
            transpose(x, start * k * k + begin, k * k, a, begin)
    else:
        for i in range(k):
            for j in range(k):
                for lane in range(WIDTH):
                    known = start + lane < x.shape[0]
                    a[i * k + j, lane] = x[start + lane, i, j] if known else (1.0 if i == j else 0.0)


@inlined
def _gather(x: Array, start: int, a: Array, asymmetry: Lanes) -> Lanes:
    """The symmetric part of these records into the upper triangle.

    Returned is how far entries (i, j) and (j, i) are apart, beyond the tolerance and at worst.
    """
    k = x.shape[1]
    _copy(x, start, a)
    for i in range(k - 1):
        for j in range(i + 1, k):
            upper, lower = load(a, k * i + j), load(a, k * j + i)
            allowed = SYMMETRY_TOL * (magnitude(load(a, k * i + i)) + magnitude(load(a, k * j + j)))
            asymmetry = larger(magnitude(upper - lower) - allowed, asymmetry)
            store(a, k * i + j, 0.5 * upper + 0.5 * lower)
    return asymmetry


@inlined
def _factorise(a: Array, deviations: Array, inverted: Array, pivots: Array) -> None:
    """The upper triangle of `a` becomes the transposed Cholesky factor; `inverted` is 1 over its diagonal.

    `deviations` are the roots of the diagonal of `a` before.
    """
    k = pivots.shape[0]
    for p in range(k):
        pivot = load(a, k * p + p)
        store(deviations, p, root(pivot))
        for m in range(p):
            entry = load(a, k * m + p)
            pivot = pivot - entry * entry
        diagonal = root(pivot)
        inverse = 1.0 / diagonal
        store(pivots, p, pivot)
        store(a, k * p + p, diagonal)
        store(inverted, p, inverse)
        for j in range(p + 1, k):
            rest = load(a, k * p + j)
            for m in range(p):
                rest = rest - load(a, k * m + p) * load(a, k * m + j)
            store(a, k * p + j, rest * inverse)


@inlined
def _bound_row(row: Lanes, spread: Lanes, square: Lanes, lost: Lanes) -> tuple[Lanes, Lanes]:
    """One more row of `riemdp.kernels.factors.conditioning`: w_i of w = |L⁻¹| d, and g_i of g = |L| w.

    `square` is that of the result, `lost` the sum of the squares of w.
    """
    own = row * row
    return square + 0.25 * own * own + spread * spread * lost, lost + own


@inlined
def _bound_quickly(a: Array, deviations: Array, inverted: Array, rows: Array) -> tuple[Lanes, Lanes]:
    """No less than `_bound_sharply`, often not much more: L with all signs against it. |L| rows comes for nothing."""
    k = rows.shape[0]
    square, lost = same(0.0), same(0.0)
    for i in range(k):
        deviation = load(deviations, i)
        product = deviation
        for m in range(i):
            product = product + magnitude(load(a, k * m + i)) * load(rows, m)
        row = product * load(inverted, i)
        store(rows, i, row)
        square, lost = _bound_row(row, 2.0 * product - deviation, square, lost)
    return square, lost


@inlined
def _bound_sharply(a: Array, deviations: Array, inverted: Array, column: Array, rows: Array) -> tuple[Lanes, Lanes]:
    """rows = |L⁻¹| d for the deviations d, column by column of L⁻¹ D; then their products with |L|."""
    k = rows.shape[0]
    for i in range(k):
        store(rows, i, same(0.0))
    for p in range(k):
        for i in range(p, k):
            entry = load(deviations, p) if i == p else same(0.0)
            for m in range(p, i):
                entry = entry - load(a, k * m + i) * load(column, m)
            entry = entry * load(inverted, i)
            store(column, i, entry)
            store(rows, i, load(rows, i) + magnitude(entry))
    square, lost = same(0.0), same(0.0)
    for i in range(k):
        row = load(rows, i)
        spread = load(a, k * i + i) * row
        for m in range(i):
            spread = spread + magnitude(load(a, k * m + i)) * load(rows, m)
        square, lost = _bound_row(row, spread, square, lost)
    return square, lost


@inlined
def _multiply(pivots: Array, products: Array, exponents: Array, squares: Lanes) -> Lanes:
    """products *= m, exponents += e, squares += (log 2 (|e| + 1/2)/2)² >= (log x/2)² for the pivots x = 2^e m.

    So that there is one logarithm of many numbers. What is no number, or none above 0, shows elsewhere.
    """
    for p in range(pivots.shape[0]):
        mantissa, exponent = powers(load(pivots, p))
        length = HALF_LN2 * (magnitude(exponent) + 0.5)
        store(products, p, load(products, p) * mantissa)
        store(exponents, p, load(exponents, p) + exponent)
        squares = squares + length * length
    return squares


@inlined
def _add(a: Array, k: int, sums: Array, squares: Lanes) -> Lanes:
    """What is off the diagonal, in the order of `_store`, to `sums`, and the squares of it."""
    entry = k
    for i in range(k):
        for j in range(i + 1, k):
            value = load(a, k * i + j)
            store(sums, entry, load(sums, entry) + value)
            squares = squares + value * value
            entry += 1
    return squares


@helper
def _conclude(products: Array, exponents: Array, sums: Array, total: Array) -> None:
    """What was collected lane by lane is added to the total, the diagonal as half of its logarithms; then anew."""
    for p in range(products.shape[0]):
        product, exponent = 1.0, 0.0
        for lane in range(WIDTH):
            product *= products[p, lane]
            exponent += exponents[p, lane]
        total[p] += 0.5 * math.log(product) + HALF_LN2 * exponent
        store(products, p, same(1.0))
        store(exponents, p, same(0.0))
    for entry in range(products.shape[0], total.shape[0]):
        added = 0.0
        for lane in range(WIDTH):
            added += sums[entry, lane]
        total[entry] += added
        store(sums, entry, same(0.0))


@inlined
def _least(pivots: Array, least: Lanes) -> Lanes:
    """The least pivot of each lane so far; NaN once one is."""
    for p in range(pivots.shape[0]):
        least = smaller(load(pivots, p), least)
    return least


@inlined
def _take_logarithms(pivots: Array, logs: Array) -> None:
    """Those of the diagonal of the factors: half of those of the pivots."""
    for p in range(pivots.shape[0]):
        store(logs, p, 0.5 * logarithms(load(pivots, p)))


@helper
def _store(a: Array, logs: Array, least: Array, start: int, each: Array, smallest: Array) -> None:
    """The chart of each record: the diagonal, then the rest row by row; and its least pivot."""
    k = logs.shape[0]
    for lane in range(min(WIDTH, each.shape[0] - start)):
        smallest[start + lane] = least[0, lane]
        entry = k
        for i in range(k):
            each[start + lane, i] = logs[i, lane]
            for j in range(i + 1, k):
                each[start + lane, entry] = a[k * i + j, lane]
                entry += 1


@njit(void(_records, _matrix, _vector), **options)
def record_factors(x: Array, each: Array, smallest: Array) -> None:
    """(log diag L, strict lower triangle of L) of each x_i = L Lᵀ, and its least pivot: not above 0 if it has no L."""
    n, k = x.shape[0], x.shape[1]
    a, logs, least = _rows(k * k), _rows(k), _rows(1)
    deviations, inverted, pivots = _rows(k), _rows(k), _rows(k)
    for start in range(0, n, WIDTH):
        _gather(x, start, a, same(0.0))
        _factorise(a, deviations, inverted, pivots)
        store(least, 0, _least(pivots, same(np.inf)))
        _take_logarithms(pivots, logs)
        _store(a, logs, least, start, each, smallest)


@helper
def _leave_out(live: int, counted: Array, pivots: Array) -> None:
    """The identities after the last record count neither for the least pivot nor for the conditioning."""
    for lane in range(live, WIDTH):
        counted[0, lane] = 0.0
        for p in range(pivots.shape[0]):
            pivots[p, lane] = np.inf


@helper
def _add_facts(facts: Array, stats: Array) -> None:
    """From what was found lane by lane to one of each."""
    for lane in range(WIDTH):
        stats[SQUARES] += facts[SQUARES, lane]
        stats[CONDITIONING] += facts[CONDITIONING, lane]
        least = facts[SMALLEST, lane]
        stats[SMALLEST] = least if not least >= stats[SMALLEST] else stats[SMALLEST]
        stats[ASYMMETRY] = max(stats[ASYMMETRY], facts[ASYMMETRY, lane])


@njit(void(_records, float64, _vector, _vector), **options)
def sum_factors(x: Array, most: float, total: Array, stats: Array) -> None:
    """The charts of `record_factors`, added to `total`.

    The smallest pivot, the sum of `conditioning` (infinite if one sum of squares of w is beyond `most`), no less than
    the sum of squares and the asymmetry beyond the tolerance go to `stats`.
    """
    n, k = x.shape[0], x.shape[1]
    a, facts = _rows(k * k), _rows(4)
    deviations, inverted, pivots, column, rows = _rows(k), _rows(k), _rows(k), _rows(k), _rows(k)
    sums, products, exponents = _rows_of(total.shape[0], 0.0), _rows_of(k, 1.0), _rows_of(k, 0.0)
    counted = _rows_of(1, 1.0)
    least, conditioning, squares, asymmetry = same(np.inf), same(0.0), same(0.0), same(0.0)
    for start in range(0, n, WIDTH):
        asymmetry = _gather(x, start, a, asymmetry)
        _factorise(a, deviations, inverted, pivots)
        square, lost = _bound_quickly(a, deviations, inverted, rows)
        if any_above(lost, QUICK):
            square, lost = _bound_sharply(a, deviations, inverted, column, rows)
        squares = _add(a, k, sums, _multiply(pivots, products, exponents, squares))
        if start + WIDTH > n:
            _leave_out(n - start, counted, pivots)
        least = _least(pivots, least)
        conditioning = conditioning + load(counted, 0) * (root(square) + infinite_above(lost, most))
        if (start + WIDTH) % (TOGETHER * WIDTH) == 0:
            _conclude(products, exponents, sums, total)
    _conclude(products, exponents, sums, total)
    store(facts, SMALLEST, least)
    store(facts, CONDITIONING, conditioning)
    store(facts, SQUARES, squares)
    store(facts, ASYMMETRY, asymmetry)
    _add_facts(facts, stats)
