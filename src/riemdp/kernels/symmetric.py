"""Compiled kernels on many symmetric matrices: eigenvalues, and fused sums of (whitened) logarithms.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import boolean, float64, int64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, helper, inlined, largest, options
from riemdp.kernels.constants import ASYMMETRY, CONDITIONING, LANES, LARGEST_JACOBI, SMALLEST, SQUARES
from riemdp.kernels.jacobi import by_jacobi
from riemdp.kernels.logarithms import SQRT2, add_hessian, log_spectrum, raise_lost, rebuild_block
from riemdp.kernels.preparing import bound_by_trace, bound_norm, gather, least_pivot, scale_down, whiten_block
from riemdp.kernels.tridiagonal import implicit_ql, tridiagonalise

# What `spectra` is asked for: one of the first three, and with SUM maybe the last two, added.
EIGENVECTORS, RECORDS, SUM, UPPERS, HESSIAN = 1, 2, 4, 8, 16

# One signature each: read-only and writable input share one compilation.
_records = ArrayType(float64, 3, "C", readonly=True)
_factor = ArrayType(float64, 2, "C", readonly=True)
_vector, _matrix, _stack = float64[::1], float64[:, ::1], float64[:, :, ::1]


@helper
def _magnitudes(w: Array) -> Array:
    """|w|, entry by entry."""
    size = np.empty(w.shape)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            size[i, j] = abs(w[i, j])
    return size


@helper
def _no_facts() -> Array:
    """What is kept per lane, before the first record: SMALLEST is infinite, the rest 0."""
    facts = np.zeros((4, LANES))
    for lane in range(LANES):
        facts[SMALLEST, lane] = np.inf
    return facts


@inlined
def _diagonalise(a: Array, v: Array, d: Array, e: Array, scale: Array) -> None:
    """Eigenvalues in d, eigenvectors in the rows of `v`, of each lane by itself; `a`, `e` and `scale` are used up."""
    scale_down(a, scale)
    if a.shape[0] <= LARGEST_JACOBI:
        by_jacobi(a, v, d)
    else:
        tridiagonalise(a, v, d, e)
        implicit_ql(d, e, v)
    for p in range(d.shape[0]):
        for lane in range(LANES):
            d[p, lane] *= scale[0, lane]


@helper
def _store_eigenvectors(d: Array, v: Array, first: int, live: int, values: Array, vectors: Array) -> None:
    """Eigenvalues and eigenvectors (columns) of each record of a block."""
    k = d.shape[0]
    for lane in range(live):
        for p in range(k):
            values[first + lane, p] = d[p, lane]
            for i in range(k):
                vectors[first + lane, i, p] = v[p, i, lane]


@helper
def _store_record(y: Array, least: Array, k: int, first: int, live: int, out: Array, pivots: Array) -> None:
    """The least pivots, and vecd of the matrices with these upper triangles: diagonal, sqrt2·strict upper triangle."""
    for lane in range(live):
        pivots[first + lane] = least[lane]
    entry, other = 0, k
    for i in range(k):
        for lane in range(live):
            out[first + lane, i] = y[entry, lane]
        entry += 1
        for _ in range(i + 1, k):
            for lane in range(live):
                out[first + lane, other] = SQRT2 * y[entry, lane]
            entry, other = entry + 1, other + 1


@inlined
def _store_upper(y: Array, first: int, live: int, out: Array) -> None:
    """The upper triangle of each record of a block, row by row."""
    for lane in range(live):
        for entry in range(y.shape[0]):
            out[first + lane, entry] = y[entry, lane]


@inlined
def _add_block(y: Array, lanes_total: Array) -> None:
    """Add lane by lane: the lanes are added up at the end."""
    for entry in range(y.shape[0]):
        for lane in range(LANES):
            lanes_total[entry, lane] += y[entry, lane]


@helper
def _add_lanes(rows: Array, out: Array) -> None:
    """Add up the lanes of each row."""
    for row in range(rows.shape[0]):
        for lane in range(LANES):
            out[row] += rows[row, lane]


@inlined
def _add_facts(facts: Array, asymmetry: Array, stats: Array) -> None:
    """Add what was kept per lane to the statistics."""
    for lane in range(LANES):
        smallest = facts[SMALLEST, lane]
        stats[SMALLEST] = stats[SMALLEST] if stats[SMALLEST] <= smallest else smallest
        stats[CONDITIONING] += facts[CONDITIONING, lane]
        stats[SQUARES] += facts[SQUARES, lane]
    stats[ASYMMETRY] = max(stats[ASYMMETRY], largest(asymmetry, 0))


@njit(void(_records, _factor, boolean, int64, _vector, _matrix, _vector, _vector, _vector, _matrix, _stack), **options)
def spectra(
    x: Array, w: Array, whiten: bool, wanted: int,
    total: Array, each: Array, hessian: Array, stats: Array, pivots: Array, values: Array, vectors: Array,
) -> None:  # fmt: skip
    """Diagonalise y_i = w x_i wᵀ for all records, w lower triangular (taken as the identity if not `whiten`).

    One kernel, so that it is compiled once, for three uses; arrays for what is not `wanted` are empty.

    - EIGENVECTORS: the eigenvalues go to `values` (in no order), the eigenvectors to `vectors` (columns).
    - RECORDS: vecd(log(y_i)), with eigenvalues lost to rounding raised, goes to `each`, the least pivot of x_i to
      `pivots`.
    - SUM: the sum of log(y_i), as upper triangle row by row, goes to `total`; the smallest eigenvalue, the sum of
      norm bound / smallest eigenvalue, the sum of squared norms and the asymmetry beyond the tolerance to `stats`,
      see `riemdp.kernels.spectral.LogSum`. With UPPERS the upper triangles of all log(y_i) go to `each`, with
      HESSIAN the sum of `add_hessian` to `hessian`.
    """
    n, k = x.shape[0], x.shape[1]
    entries = 0 if wanted == EIGENVECTORS else k * (k + 1) // 2
    a, v, t = np.empty((k, k, LANES)), np.empty((k, k, LANES)), np.empty((k, k, LANES))
    d, e, logs, rows = np.empty((k, LANES)), np.empty((k, LANES)), np.empty((k, LANES)), np.empty((k, 2, LANES))
    scale, scratch, bits = np.empty((2, LANES)), np.empty((2, LANES)), np.empty(LANES, np.int64)
    y, plane = np.empty((entries, LANES)), np.empty((entries + 1, LANES))
    bound, least = np.empty(LANES), np.empty(LANES)
    lanes_total, lanes_hessian = np.zeros((entries, LANES)), np.zeros((hessian.shape[0], LANES))
    size, asymmetry, facts = _magnitudes(w), np.zeros((1, LANES)), _no_facts()
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        gather(x, first, live, a, asymmetry)
        if wanted & RECORDS:
            least_pivot(a, t, least)
        if whiten:
            bound_norm(w, size, a, rows, v, t, bound)  # v is free until the eigenvectors come
            whiten_block(w, a, t)
        else:
            bound_by_trace(a, bound)
        _diagonalise(a, v, d, e, scale)
        if wanted & EIGENVECTORS:
            _store_eigenvectors(d, v, first, live, values, vectors)
            continue
        if wanted & RECORDS:
            raise_lost(d, bound)
        log_spectrum(d, logs, bits, live, bound, facts)
        rebuild_block(logs, v, scratch, y)
        if wanted & RECORDS:
            _store_record(y, least, k, first, live, each, pivots)
        if wanted & SUM:
            _add_block(y, lanes_total)
        if wanted & UPPERS:
            _store_upper(y, first, live, each)
        if wanted & HESSIAN:
            add_hessian(d, logs, v, scratch, plane, lanes_hessian)
    if wanted & SUM:
        _add_facts(facts, asymmetry, stats)
        _add_lanes(lanes_total, total)
        _add_lanes(lanes_hessian, hessian)


@inlined
def _add_upper(sign: float, a: Array, live: int, out: Array) -> None:
    """Add the upper triangles (times the sign) of the live lanes to the rows of `out`."""
    entry = 0
    for i in range(a.shape[0]):
        for j in range(i, a.shape[0]):
            for lane in range(live):
                out[entry, lane] += sign * a[i, j, lane]
            entry += 1


@inlined
def _eliminate(a: Array, p: int, column: Array, state: Array) -> None:
    """One step of Gauss and Jordan on the upper triangle: after all of them `a` holds minus its inverse."""
    k = a.shape[0]
    for lane in range(LANES):
        state[0, lane] = 1.0 / a[p, p, lane]
    for i in range(k):
        for lane in range(LANES):
            column[i, lane] = a[min(i, p), max(i, p), lane]
    for i in range(k):
        for lane in range(LANES):
            state[1, lane] = column[i, lane] * state[0, lane]
        for j in range(i, k):
            for lane in range(LANES):
                a[i, j, lane] -= state[1, lane] * column[j, lane]
        for lane in range(LANES):
            a[min(i, p), max(i, p), lane] = state[1, lane]
    for lane in range(LANES):
        a[p, p, lane] = -state[0, lane]


@njit(void(_records, _vector, _vector), **options)
def sum_inverses(x: Array, total: Array, inverses: Array) -> None:
    """Add up positive definite matrices, and their inverses, as upper triangles row by row."""
    n, k, entries = x.shape[0], x.shape[1], total.shape[0]
    a, column, state, unused = np.empty((k, k, LANES)), np.empty((k, LANES)), np.empty((2, LANES)), np.zeros((1, LANES))
    lanes_total, lanes_inverses = np.zeros((entries, LANES)), np.zeros((entries, LANES))
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        gather(x, first, live, a, unused)
        _add_upper(1.0, a, live, lanes_total)
        for p in range(k):
            _eliminate(a, p, column, state)
        _add_upper(-1.0, a, live, lanes_inverses)
    _add_lanes(lanes_total, total)
    _add_lanes(lanes_inverses, inverses)


@njit(void(_factor, _records, _stack), **options)
def rebuild(values: Array, vectors: Array, out: Array) -> None:
    """V diag(values) Vᵀ of many small matrices, exactly symmetric."""
    n, k = values.shape
    for m in range(n):
        for i in range(k):
            for j in range(i, k):
                total = 0.0
                for p in range(k):
                    total += values[m, p] * vectors[m, i, p] * vectors[m, j, p]
                out[m, i, j] = total
                out[m, j, i] = total


_NO_VECTOR, _NO_MATRIX, _NO_STACK = np.empty(0), np.empty((0, 0)), np.empty((0, 0, 0))


def eigh(x: Array, values: Array, vectors: Array) -> None:
    """Eigenvalues (in no order) and eigenvectors (columns) of symmetric matrices."""
    spectra(
        x, np.eye(x.shape[1]), False, EIGENVECTORS,
        _NO_VECTOR, _NO_MATRIX, _NO_VECTOR, _NO_VECTOR, _NO_VECTOR, values, vectors,
    )  # fmt: skip


@dataclass(frozen=True)
class LogSums:
    """Sums over the records of log(w x_i wᵀ); what was not asked for is empty."""

    total: Array  # upper triangle of their sum, row by row
    uppers: Array  # (n, entries): upper triangles of all of them
    excess: Array  # upper triangle of the sum of the Hessians minus 1
    stats: Array  # at SMALLEST, CONDITIONING, SQUARES, ASYMMETRY


def sum_logs(x: Array, w: Array, whiten: bool, with_uppers: bool, with_hessian: bool) -> LogSums:
    """The sum of the logarithms of w x_i wᵀ and, if asked for, their upper triangles and Hessians."""
    entries = len(w) * (len(w) + 1) // 2
    sums = LogSums(
        total=np.zeros(entries),
        uppers=np.empty((len(x), entries) if with_uppers else (0, 0)),
        excess=np.zeros(entries * (entries + 1) // 2 if with_hessian else 0),
        stats=np.array([np.inf, 0.0, 0.0, 0.0]),
    )
    wanted = SUM | (UPPERS if with_uppers else 0) | (HESSIAN if with_hessian else 0)
    spectra(
        x, w, whiten, wanted,
        sums.total, sums.uppers, sums.excess, sums.stats, _NO_VECTOR, _NO_MATRIX, _NO_STACK,
    )  # fmt: skip
    return sums


def record_logs(x: Array, w: Array, whiten: bool, out: Array) -> Array:
    """Write vecd(log(w x_i wᵀ)) of each record; return numbers that are above 0 if x_i is positive definite."""
    pivots = np.empty(len(x))
    spectra(
        x, w, whiten, RECORDS,
        _NO_VECTOR, out, _NO_VECTOR, _NO_VECTOR, pivots, _NO_MATRIX, _NO_STACK,
    )  # fmt: skip
    return pivots
