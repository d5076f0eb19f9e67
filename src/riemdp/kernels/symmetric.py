"""Compiled kernels on many symmetric matrices: eigenvalues, and fused sums of (whitened) logarithms.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import LANES, Array, helper, inlined, largest, options
from riemdp.kernels.jacobi import by_jacobi
from riemdp.kernels.spectral import LARGEST_JACOBI, SYMMETRY_TOL
from riemdp.kernels.tridiagonal import implicit_ql, tridiagonalise

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG_1, LOG_2, LOG_3, LOG_4, LOG_5, LOG_6, LOG_7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)

# Rows of what is kept per lane.
SMALLEST, CONDITIONING, SQUARES, LOW = range(4)

# One signature each: read-only and writable input share one compilation.
_records = ArrayType(float64, 3, "C", readonly=True)
_factor = ArrayType(float64, 2, "C", readonly=True)

@inlined
def _scales(a: Array, scale: Array) -> bool:
    """A power of two near each matrix's largest entry, 1 where there is no need; returns whether there is any."""
    for lane in range(LANES):
        scale[0, lane] = 0.0
    for i in range(a.shape[0]):
        for j in range(i, a.shape[0]):
            for lane in range(LANES):
                size, known = abs(a[i, j, lane]), scale[0, lane]
                scale[0, lane] = size if size > known else known
    for lane in range(LANES):
        size = scale[0, lane]
        unusual = ((size > 1e100) & (size < np.inf)) | ((size > 0.0) & (size < 1e-100))
        scale[0, lane] = size if unusual else 1.0
        scale[1, lane] = 1.0 if unusual else 0.0
    bits = scale.view(np.int64)
    for lane in range(LANES):
        bits[0, lane] &= 0x7FF0000000000000
    return bool(largest(scale, 1) > 0.0)


@helper
def _scale_down(a: Array, scale: Array) -> None:
    """Divide each matrix by its scale, so that squares neither under- nor overflow."""
    if _scales(a, scale):
        for i in range(a.shape[0]):
            for j in range(i, a.shape[0]):
                for lane in range(LANES):
                    a[i, j, lane] /= scale[0, lane]


@helper
def _gather(x: Array, start: int, live: int, a: Array, asymmetry: Array) -> None:
    """Symmetric part of x[start : start + live] into a block, padded with identities."""
    k = x.shape[1]
    for lane in range(live):
        for i in range(k):
            for j in range(k):
                a[i, j, lane] = x[start + lane, i, j]
    for i in range(k):
        for j in range(k):
            for lane in range(live, LANES):
                a[i, j, lane] = 1.0 if i == j else 0.0
    for i in range(k - 1):
        for j in range(i + 1, k):
            for lane in range(LANES):
                upper, lower = a[i, j, lane], a[j, i, lane]
                gap = abs(upper - lower) - SYMMETRY_TOL * (abs(a[i, i, lane]) + abs(a[j, j, lane]))
                asymmetry[0, lane] = gap if gap > asymmetry[0, lane] else asymmetry[0, lane]
                a[i, j, lane] = 0.5 * upper + 0.5 * lower
                a[j, i, lane] = a[i, j, lane]


@helper
def _growth(a: Array, growth: Array) -> None:
    """Frobenius norms of the matrices of a block (upper triangles)."""
    for lane in range(LANES):
        growth[lane] = 0.0
    for i in range(a.shape[0]):
        for j in range(i, a.shape[0]):
            weight = 1.0 if i == j else 2.0
            for lane in range(LANES):
                growth[lane] += weight * a[i, j, lane] * a[i, j, lane]
    for lane in range(LANES):
        growth[lane] = math.sqrt(growth[lane])


@helper
def _quick_growth(w: Array, a: Array, roots: Array, whiten: bool, growth: Array) -> None:
    """‖ |w| sqrt(diag a) ‖², which bounds ‖ |w| |a| |w|ᵀ ‖ for a positive definite a: cheaper, not as sharp."""
    k = a.shape[0]
    for lane in range(LANES):
        growth[lane] = 0.0
    if not whiten:  # the trace
        for i in range(k):
            for lane in range(LANES):
                growth[lane] += a[i, i, lane]
        return
    for i in range(k):
        for lane in range(LANES):
            roots[i, 0, lane] = math.sqrt(a[i, i, lane])
    for i in range(k):
        for lane in range(LANES):
            roots[i, 1, lane] = 0.0
        for m in range(i + 1):
            f = abs(w[i, m])
            for lane in range(LANES):
                roots[i, 1, lane] += f * roots[m, 0, lane]
        for lane in range(LANES):
            growth[lane] += roots[i, 1, lane] * roots[i, 1, lane]


@helper
def _magnitudes(a: Array, b: Array) -> None:
    """b = |a|."""
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            for lane in range(LANES):
                b[i, j, lane] = abs(a[i, j, lane])


@helper
def _whiten(w: Array, a: Array, t: Array) -> None:
    """Upper triangle of a <- w a wᵀ for a lower triangular w (`t` is scratch)."""
    k = a.shape[0]
    for i in range(k):
        for j in range(k):
            for lane in range(LANES):
                t[i, j, lane] = 0.0
            for m in range(i + 1):
                f = w[i, m]
                for lane in range(LANES):
                    t[i, j, lane] += f * a[m, j, lane]
    for i in range(k):
        for j in range(i, k):
            for lane in range(LANES):
                a[i, j, lane] = 0.0
            for m in range(j + 1):
                f = w[j, m]
                for lane in range(LANES):
                    a[i, j, lane] += f * t[i, m, lane]


@inlined
def _logarithm(x: Array, bits: Any, out: Array) -> None:
    """Natural logarithm of positive normal numbers, lane by lane; `bits` is scratch of 64-bit integers.

    numba calls the scalar libm for `log`; this is fdlibm's method (error below one unit in the last place)
    without a branch: x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m by a polynomial in (m - 1)/(m + 1).
    """
    number = out.view(np.int64)
    for lane in range(LANES):
        out[lane] = x[lane]
    for lane in range(LANES):
        raised = number[lane] + 0x00095F6200000000  # moves sqrt(1/2) to a power of two
        bits[lane] = (raised >> 52) | 0x4330000000000000  # the double 2^52 + (exponent + 1023)
        number[lane] = (raised & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E00000000
    exponent = bits.view(np.float64)
    for lane in range(LANES):
        e = exponent[lane] - 4503599627371519.0
        f = out[lane] - 1.0
        s = f / (2.0 + f)
        z = s * s
        series = z * (LOG_1 + z * (LOG_2 + z * (LOG_3 + z * (LOG_4 + z * (LOG_5 + z * (LOG_6 + z * LOG_7))))))
        half = 0.5 * f * f
        out[lane] = e * LN2_HIGH + (f - (half - (s * (half + series) + e * LN2_LOW)))


@helper
def _log_spectrum(d: Array, logs: Array, bits: Any, live: int, growth: Array, facts: Array) -> None:
    """Logarithms of the eigenvalues of a block (0 in dead lanes), and each lane's share of the statistics."""
    k = d.shape[0]
    for p in range(k):
        _logarithm(d[p], bits, logs[p])
        for lane in range(live, LANES):
            logs[p, lane] = 0.0
        for lane in range(LANES):
            facts[SQUARES, lane] += logs[p, lane] * logs[p, lane] + 0.0 * d[p, lane]  # NaN if d is not finite
    for lane in range(LANES):
        facts[LOW, lane] = d[0, lane]
    for p in range(1, k):
        for lane in range(LANES):
            value, low = d[p, lane], facts[LOW, lane]
            facts[LOW, lane] = value if value < low else low
    for lane in range(live, LANES):
        growth[lane] = 0.0
        facts[LOW, lane] = np.inf
    for lane in range(LANES):
        low, least = facts[LOW, lane], facts[SMALLEST, lane]
        facts[CONDITIONING, lane] += growth[lane] / low
        facts[SMALLEST, lane] = least if least <= low else low


@helper
def _rebuild(values: Array, v: Array, scratch: Array, y: Array) -> None:
    """y = V diag(values) Vᵀ, its upper triangle row by row, lane by lane."""
    k = v.shape[0]
    for entry in range(y.shape[0]):
        for lane in range(LANES):
            y[entry, lane] = 0.0
    for p in range(k):
        entry = 0
        for i in range(k):
            for lane in range(LANES):
                scratch[lane] = values[p, lane] * v[p, i, lane]
            for j in range(i, k):
                for lane in range(LANES):
                    y[entry, lane] += scratch[lane] * v[p, j, lane]
                entry += 1


@helper
def _store(d: Array, v: Array, first: int, live: int, values: Array, vectors: Array) -> None:
    k = d.shape[0]
    for lane in range(live):
        for p in range(k):
            values[first + lane, p] = d[p, lane]
            for i in range(k):
                vectors[first + lane, i, p] = v[p, i, lane]


_vector, _matrix, _stack = float64[::1], float64[:, ::1], float64[:, :, ::1]


@njit(void(_records, _factor, boolean, _vector, _matrix, _vector, _matrix, _stack), **options)
def spectra(
    x: Array, w: Array, whiten: bool, total: Array, uppers: Array, stats: Array, values: Array, vectors: Array
) -> None:
    """Diagonalise y_i = w x_i wᵀ for all records, w lower triangular (taken as the identity if not `whiten`).

    One kernel, so that it is compiled once, for two uses; what is not wanted is passed as an empty array.
    `values` (in no order) and `vectors` (columns) receive the eigenvalues and eigenvectors; `total` the sum of
    log(y_i), as upper triangle row by row, and `uppers` those of all log(y_i); `stats` [smallest eigenvalue,
    sum of growth / smallest eigenvalue, sum of squared norms, asymmetry beyond the tolerance], see
    `riemdp.kernels.spectral.LogSum`.
    """
    n, k, entries = x.shape[0], x.shape[1], total.shape[0]
    a, v, t = np.empty((k, k, LANES)), np.empty((k, k, LANES)), np.empty((k, k, LANES))
    scratch, growth, bits = np.empty(LANES), np.empty(LANES), np.empty(LANES, np.int64)
    roots = np.empty((k, 2, LANES))
    logs, y = np.empty((k, LANES)), np.empty((entries, LANES))
    d, e, scale = np.empty((k, LANES)), np.empty((k, LANES)), np.empty((2, LANES))
    lanes_total, asymmetry, facts = np.zeros((entries, LANES)), np.zeros((1, LANES)), np.zeros((4, LANES))
    for lane in range(LANES):
        facts[SMALLEST, lane] = np.inf
    size = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            size[i, j] = abs(w[i, j])
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        _gather(x, first, live, a, asymmetry)
        if k <= LARGEST_JACOBI or not whiten:
            _quick_growth(w, a, roots, whiten, growth)
        else:
            _magnitudes(a, v)  # v is free until the eigenvectors come
            _whiten(size, v, t)
            _growth(v, growth)
        if whiten:
            _whiten(w, a, t)
        _scale_down(a, scale)
        if k <= LARGEST_JACOBI:
            by_jacobi(a, v, d)
        else:
            tridiagonalise(a, v, d, e)
            implicit_ql(d, e, v)
        for p in range(k):
            for lane in range(LANES):
                d[p, lane] *= scale[0, lane]
        if values.shape[0] > 0:
            _store(d, v, first, live, values, vectors)
        if entries > 0:
            _log_spectrum(d, logs, bits, live, growth, facts)
            _rebuild(logs, v, scratch, y)
            for entry in range(entries):
                for lane in range(LANES):
                    lanes_total[entry, lane] += y[entry, lane]
            if uppers.shape[0] > 0:
                for lane in range(live):
                    for entry in range(entries):
                        uppers[first + lane, entry] = y[entry, lane]
    for lane in range(LANES):
        stats[0] = stats[0] if stats[0] <= facts[SMALLEST, lane] else facts[SMALLEST, lane]
        stats[1] += facts[CONDITIONING, lane]
        stats[2] += facts[SQUARES, lane]
    stats[3] = max(stats[3], largest(asymmetry, 0))
    for entry in range(entries):
        for lane in range(LANES):
            total[entry] += lanes_total[entry, lane]


def eigh(x: Array, values: Array, vectors: Array) -> None:
    """Eigenvalues (in no order) and eigenvectors (columns) of symmetric matrices."""
    none = np.empty((0, 0))
    spectra(x, np.eye(x.shape[1]), False, np.empty(0), none, np.zeros(4), values, vectors)


def sum_logs(x: Array, w: Array, whiten: bool, total: Array, uppers: Array, stats: Array) -> None:
    """The sum of the logarithms of w x_i wᵀ and, if there is room for them, their upper triangles."""
    spectra(x, w, whiten, total, uppers, stats, np.empty((0, 0)), np.empty((0, 0, 0)))
