"""Compiled kernels on many symmetric matrices: eigenvalues, and fused sums of (whitened) logarithms.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, helper, inlined, largest, options
from riemdp.kernels.jacobi import by_jacobi
from riemdp.kernels.spectral import LANES, LARGEST_JACOBI, SYMMETRY_TOL, UNIT_ROUNDOFF
from riemdp.kernels.tridiagonal import implicit_ql, tridiagonalise

SQRT2 = math.sqrt(2.0)
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


@inlined
def _pair(x: Array, start: int, live: int, i: int, j: int, a: Array, asymmetry: Array) -> None:
    """Mean of the entries (i, j) and (j, i) of the records (0 in dead lanes), and how far they are apart."""
    for lane in range(live):
        upper, lower, worst = x[start + lane, i, j], x[start + lane, j, i], asymmetry[0, lane]
        gap = abs(upper - lower) - SYMMETRY_TOL * (abs(a[i, i, lane]) + abs(a[j, j, lane]))
        asymmetry[0, lane] = gap if gap > worst else worst
        a[i, j, lane] = 0.5 * upper + 0.5 * lower
    for lane in range(live, LANES):
        a[i, j, lane] = 0.0


@helper
def _gather(x: Array, start: int, live: int, a: Array, asymmetry: Array) -> None:
    """Upper triangle of the symmetric part of x[start : start + live] into a block, padded with identities."""
    k = x.shape[1]
    for i in range(k):
        for lane in range(live):
            a[i, i, lane] = x[start + lane, i, i]
        for lane in range(live, LANES):
            a[i, i, lane] = 1.0
    for i in range(k - 1):
        for j in range(i + 1, k):
            _pair(x, start, live, i, j, a, asymmetry)


@helper
def _trace(a: Array, growth: Array) -> None:
    """tr a >= ‖a‖ for a positive definite a."""
    for lane in range(LANES):
        growth[lane] = a[0, 0, lane]
    for i in range(1, a.shape[0]):
        for lane in range(LANES):
            growth[lane] += a[i, i, lane]


@helper
def _quick_growth(w: Array, a: Array, rows: Array, growth: Array) -> None:
    """sqrt(bᵀ M b) >= ‖M‖ for M = |w| |a| |w|ᵀ and b = |w| sqrt(diag a), without forming M.

    For a positive definite a, |a_ij| <= sqrt(a_ii a_jj), hence M_ij <= b_i b_j and sum M_ij² <= sum M_ij b_i b_j.
    Sharp if M is diagonal or of rank one, and never above ‖b‖².
    """
    k = a.shape[0]
    for i in range(k):
        for lane in range(LANES):
            rows[i, 0, lane] = math.sqrt(a[i, i, lane])
            rows[i, 1, lane] = 0.0
    for i in range(k):
        for lane in range(LANES):
            growth[lane] = 0.0
        for m in range(i + 1):
            f = abs(w[i, m])
            for lane in range(LANES):
                growth[lane] += f * rows[m, 0, lane]
        for m in range(i + 1):
            f = abs(w[i, m])
            for lane in range(LANES):
                rows[m, 1, lane] += f * growth[lane]
    for lane in range(LANES):
        growth[lane] = 0.0
    for i in range(k):
        for j in range(i, k):
            weight = 1.0 if i == j else 2.0
            for lane in range(LANES):
                growth[lane] += weight * rows[i, 1, lane] * abs(a[i, j, lane]) * rows[j, 1, lane]
    for lane in range(LANES):
        growth[lane] = math.sqrt(growth[lane])


@inlined
def _add_multiples(f: float, x: Array, g: float, y: Array, out: Array) -> None:
    """out += f x + g y: two at a time, since loading and storing `out` takes longer than the products."""
    for lane in range(LANES):
        out[lane] += f * x[lane] + g * y[lane]


@helper
def _whiten(w: Array, a: Array, t: Array) -> None:
    """Upper triangle of a <- w a wᵀ for a lower triangular w (`t` is scratch)."""
    k = a.shape[0]
    for i in range(k):
        for j in range(i):
            for lane in range(LANES):
                a[i, j, lane] = a[j, i, lane]
    for i in range(k):
        for j in range(k):
            for lane in range(LANES):
                t[i, j, lane] = w[i, 0] * a[0, j, lane]
        for m in range(1, i + 1, 2):  # w is 0 right of the diagonal
            after = min(m + 1, k - 1)
            f, g = w[i, m], w[i, after] if after > m else 0.0
            for j in range(k):
                _add_multiples(f, a[m, j], g, a[after, j], t[i, j])
    for i in range(k):
        for j in range(i, k):
            for lane in range(LANES):
                a[i, j, lane] = w[j, 0] * t[i, 0, lane]
            for m in range(1, j + 1, 2):
                after = min(m + 1, k - 1)
                f, g = w[j, m], w[j, after] if after > m else 0.0
                _add_multiples(f, t[i, m], g, t[i, after], a[i, j])


@helper
def _growth(size: Array, a: Array, m: Array, t: Array, growth: Array) -> None:
    """‖M‖, M = |w| |a| |w|ᵀ and size = |w| (`m` and `t` are scratch)."""
    k = a.shape[0]
    for i in range(k):
        for j in range(i, k):
            for lane in range(LANES):
                m[i, j, lane] = abs(a[i, j, lane])
    _whiten(size, m, t)
    for lane in range(LANES):
        growth[lane] = 0.0
    for i in range(k):
        for j in range(i, k):
            weight = 1.0 if i == j else 2.0
            for lane in range(LANES):
                growth[lane] += weight * m[i, j, lane] * m[i, j, lane]
    for lane in range(LANES):
        growth[lane] = math.sqrt(growth[lane])


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
    """Logarithms of the eigenvalues of a block, and each lane's share of the statistics; dead lanes turn into 1."""
    k = d.shape[0]
    for p in range(k):
        for lane in range(live, LANES):
            d[p, lane] = 1.0
        _logarithm(d[p], bits, logs[p])
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
def _least_pivot(a: Array, t: Array, least: Array) -> None:
    """The least pivot of Gauss's elimination: positive where a matrix is positive definite (`t` is scratch)."""
    k = a.shape[0]
    for i in range(k):
        for j in range(i, k):
            for lane in range(LANES):
                t[i, j, lane] = a[i, j, lane]
    for lane in range(LANES):
        least[lane] = t[0, 0, lane]
    for p in range(1, k):
        for i in range(p, k):
            for j in range(i, k):
                for lane in range(LANES):
                    t[i, j, lane] -= t[p - 1, i, lane] / t[p - 1, p - 1, lane] * t[p - 1, j, lane]
        for lane in range(LANES):
            pivot, known = t[p, p, lane], least[lane]
            least[lane] = known if known < pivot else pivot  # not a number if a pivot is none, unless one is smaller


@helper
def _raise_lost(d: Array, top: Array) -> None:
    """Eigenvalues that rounding may have lost count as u times the largest (`top` is scratch)."""
    k = d.shape[0]
    for lane in range(LANES):
        top[lane] = d[0, lane]
    for p in range(1, k):
        for lane in range(LANES):
            top[lane] = d[p, lane] if d[p, lane] > top[lane] else top[lane]
    for p in range(k):
        for lane in range(LANES):
            floor = UNIT_ROUNDOFF * top[lane]
            d[p, lane] = d[p, lane] if d[p, lane] > floor else floor


@helper
def _add_lanes(rows: Array, out: Array) -> None:
    for row in range(rows.shape[0]):
        for lane in range(LANES):
            out[row] += rows[row, lane]


@helper
def _rebuild(values: Array, v: Array, scratch: Array, y: Array) -> None:
    """y = V diag(values) Vᵀ, its upper triangle row by row, lane by lane; two eigenvectors at a time."""
    k = v.shape[0]
    for entry in range(y.shape[0]):
        for lane in range(LANES):
            y[entry, lane] = 0.0
    for p in range(0, k, 2):
        q, other = min(p + 1, k - 1), 1.0 if p + 1 < k else 0.0
        entry = 0
        for i in range(k):
            for lane in range(LANES):
                scratch[0, lane] = values[p, lane] * v[p, i, lane]
                scratch[1, lane] = other * values[q, lane] * v[q, i, lane]
            for j in range(i, k):
                for lane in range(LANES):
                    y[entry, lane] += scratch[0, lane] * v[p, j, lane] + scratch[1, lane] * v[q, j, lane]
                entry += 1


@inlined
def _excess(d: Array, logs: Array, p: int, q: int, out: Array) -> None:
    """t coth t - 1 for t = (log d_p - log d_q)/2, of which ratio = tanh t is rational in d."""
    for lane in range(LANES):
        ratio = (d[p, lane] - d[q, lane]) / (d[p, lane] + d[q, lane])
        square, t = ratio * ratio, 0.5 * (logs[p, lane] - logs[q, lane])
        usable = square > 1e-6
        quotient = t / (ratio if usable else 1.0) - 1.0
        out[lane] = quotient if usable else square * (1.0 / 3.0 + 0.2 * square)


@inlined
def _plane(v: Array, p: int, q: int, out: Array) -> None:
    """vecd of the unit matrix (v_p v_qᵀ + v_q v_pᵀ)/sqrt2: the diagonal, then sqrt2·strict upper triangle."""
    k, entry = v.shape[0], v.shape[0]
    for i in range(k):
        for lane in range(LANES):
            out[i, lane] = SQRT2 * v[p, i, lane] * v[q, i, lane]
        for j in range(i + 1, k):
            for lane in range(LANES):
                out[entry, lane] = v[p, i, lane] * v[q, j, lane] + v[p, j, lane] * v[q, i, lane]
            entry += 1


@helper
def _add_hessian(d: Array, logs: Array, v: Array, scratch: Array, plane: Array, lanes_hessian: Array) -> None:
    """Add sum over p < q of (t coth t - 1) e eᵀ, e = `_plane`: the Hessian of rho²/2 at the identity, minus 1.

    The upper triangle, row by row (Pennec 2019, section 4.2, which has it in the eigenbasis).
    """
    k, entries = v.shape[0], plane.shape[0] - 1
    for p in range(k - 1):
        for q in range(p + 1, k):
            _excess(d, logs, p, q, plane[entries])
            _plane(v, p, q, plane)
            position = 0
            for e in range(entries):
                for lane in range(LANES):
                    scratch[0, lane] = plane[entries, lane] * plane[e, lane]
                for f in range(e, entries):
                    for lane in range(LANES):
                        lanes_hessian[position, lane] += scratch[0, lane] * plane[f, lane]
                    position += 1


@helper
def _store(d: Array, v: Array, first: int, live: int, values: Array, vectors: Array) -> None:
    k = d.shape[0]
    for lane in range(live):
        for p in range(k):
            values[first + lane, p] = d[p, lane]
            for i in range(k):
                vectors[first + lane, i, p] = v[p, i, lane]


@helper
def _store_record(y: Array, k: int, first: int, live: int, out: Array) -> None:
    """vecd of a symmetric matrix with this upper triangle: the diagonal, then sqrt2·strict upper triangle."""
    entry, other = 0, k
    for i in range(k):
        for lane in range(live):
            out[first + lane, i] = y[entry, lane]
        entry += 1
        for _ in range(i + 1, k):
            for lane in range(live):
                out[first + lane, other] = SQRT2 * y[entry, lane]
            entry, other = entry + 1, other + 1


_vector, _matrix, _stack = float64[::1], float64[:, ::1], float64[:, :, ::1]


@njit(void(_records, _factor, boolean, _vector, _matrix, _vector, _vector, _matrix, _stack), **options)
def spectra(
    x: Array, w: Array, whiten: bool,
    total: Array, uppers: Array, hessian: Array, stats: Array, values: Array, vectors: Array,
) -> None:  # fmt: skip
    """Diagonalise y_i = w x_i wᵀ for all records, w lower triangular (taken as the identity if not `whiten`).

    One kernel, so that it is compiled once, for three uses; what is not wanted is passed as an empty array.
    `values` (in no order) and `vectors` (columns) receive the eigenvalues and eigenvectors; `total` the sum of
    log(y_i), as upper triangle row by row, and `uppers` those of all log(y_i); `hessian` the sum of
    `_add_hessian`; `stats` [smallest eigenvalue, sum of growth / smallest eigenvalue, sum of squared norms,
    asymmetry beyond the tolerance], see `riemdp.kernels.spectral.LogSum`. If `stats` goes on, records
    count one by one: its rest receives the least pivots of the x_i, `uppers` vecd(log(y_i)), with eigenvalues lost to
    rounding raised.
    """
    n, k, entries = x.shape[0], x.shape[1], total.shape[0]
    a, v, t = np.empty((k, k, LANES)), np.empty((k, k, LANES)), np.empty((k, k, LANES))
    scratch, growth, bits = np.empty((2, LANES)), np.empty(LANES), np.empty(LANES, np.int64)
    rows, size = np.empty((k, 2, LANES)), np.empty((k, k))
    for i in range(k):
        for j in range(k):
            size[i, j] = abs(w[i, j])
    logs, y = np.empty((k, LANES)), np.empty((entries, LANES))
    d, e, scale = np.empty((k, LANES)), np.empty((k, LANES)), np.empty((2, LANES))
    lanes_total, asymmetry, facts = np.zeros((entries, LANES)), np.zeros((1, LANES)), np.zeros((4, LANES))
    plane, lanes_hessian = np.empty((entries + 1, LANES)), np.zeros((hessian.shape[0], LANES))
    one_by_one, least = stats.shape[0] > 4, np.empty(LANES)
    for lane in range(LANES):
        facts[SMALLEST, lane] = np.inf
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        _gather(x, first, live, a, asymmetry)
        if one_by_one:
            _least_pivot(a, t, least)
        if not whiten:
            _trace(a, growth)
        elif k <= LARGEST_JACOBI:
            _quick_growth(w, a, rows, growth)
        else:
            _growth(size, a, v, t, growth)  # v is free until the eigenvectors come
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
        if one_by_one:
            _raise_lost(d, growth)
        if entries > 0:
            _log_spectrum(d, logs, bits, live, growth, facts)
            _rebuild(logs, v, scratch, y)
            for entry in range(entries):
                for lane in range(LANES):
                    lanes_total[entry, lane] += y[entry, lane]
            if hessian.shape[0] > 0:
                _add_hessian(d, logs, v, scratch, plane, lanes_hessian)
            if one_by_one:
                _store_record(y, k, first, live, uppers)
                for lane in range(live):
                    stats[4 + first + lane] = least[lane]
            elif uppers.shape[0] > 0:
                for lane in range(live):
                    for entry in range(entries):
                        uppers[first + lane, entry] = y[entry, lane]
    for lane in range(LANES):
        stats[0] = stats[0] if stats[0] <= facts[SMALLEST, lane] else facts[SMALLEST, lane]
        stats[1] += facts[CONDITIONING, lane]
        stats[2] += facts[SQUARES, lane]
    stats[3] = max(stats[3], largest(asymmetry, 0))
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
        _gather(x, first, live, a, unused)
        _add_upper(1.0, a, live, lanes_total)
        for p in range(k):
            _eliminate(a, p, column, state)
        _add_upper(-1.0, a, live, lanes_inverses)
    _add_lanes(lanes_total, total)
    _add_lanes(lanes_inverses, inverses)


def eigh(x: Array, values: Array, vectors: Array) -> None:
    """Eigenvalues (in no order) and eigenvectors (columns) of symmetric matrices."""
    nothing = np.empty(0)
    spectra(x, np.eye(x.shape[1]), False, nothing, np.empty((0, 0)), nothing, np.zeros(4), values, vectors)


def sum_logs(
    x: Array, w: Array, whiten: bool, total: Array, uppers: Array, hessian: Array, stats: Array
) -> None:
    """The sum of the logarithms of w x_i wᵀ and, if there is room for them, their upper triangles and Hessians."""
    spectra(x, w, whiten, total, uppers, hessian, stats, np.empty((0, 0)), np.empty((0, 0, 0)))


@njit(void(ArrayType(float64, 2, "C", readonly=True), _records, _stack), **options)
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


def record_logs(x: Array, w: Array, whiten: bool, out: Array) -> Array:
    """Write vecd(log(w x_i wᵀ)) of each record; return numbers that are above 0 if x_i is positive definite."""
    total, stats = np.zeros(out.shape[1]), np.zeros(4 + len(x))
    spectra(x, w, whiten, total, out, np.empty(0), stats, np.empty((0, 0)), np.empty((0, 0, 0)))
    return stats[4:]
