"""Cyclic Jacobi over blocks of 32 symmetric matrices at once, compiled with numba.

A block is a structure of arrays: entry (i, j) of all 32 matrices lies contiguously, so that the innermost
loop of every routine runs across the block and vectorises. Only the upper triangle is kept up to date.
Jacobi rather than QR because every matrix of a block does the same rotations in the same order, and because
it finds the small eigenvalues of graded positive definite matrices to high relative accuracy
(Demmel and Veselić 1992).

Everything is generic in the size of the matrices, releases the GIL (`riemdp.kernels.threads` runs it on row
ranges in parallel) and avoids array methods and slices, which would triple the time to compile.
Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, njit, void
from numba.core.types import Array as ArrayType

LANES = 32
MAX_SWEEPS = 30
# A sweep squares the off-diagonal part: when all entries were below sqrt(this) times their diagonal
# entries before it, what is left after it is under the unit roundoff.
NEGLIGIBLE = 1e-18
TINY = 1e-290
SYMMETRY_TOL = 1e-8

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG_1, LOG_2, LOG_3, LOG_4, LOG_5, LOG_6, LOG_7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)

Array = np.ndarray[Any, np.dtype[np.float64]]

_options: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"},
}
_internal: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_options}
helper = njit(**_internal)
# A call that is not inlined passes ten words per array: as long as the loop it runs.
inlined = njit(forceinline=True, **_internal)

# One signature each: read-only and writable input share one compilation.
_records = ArrayType(float64, 3, "C", readonly=True)
_factor = ArrayType(float64, 2, "C", readonly=True)


@inlined
def _largest(x: Array) -> float:
    """Maximum over the lanes."""
    result = x[0]
    for lane in range(1, LANES):
        result = max(result, x[lane])
    return float(result)


@inlined
def _rotate(a: Array, i: int, p: int, j: int, q: int, c: Array, s: Array) -> None:
    """(x, y) <- (c x - s y, s x + c y) for the entries x = a[i, p] and y = a[j, q], lane by lane."""
    for lane in range(LANES):
        x, y = a[i, p, lane], a[j, q, lane]
        a[i, p, lane] = c[lane] * x - s[lane] * y
        a[j, q, lane] = s[lane] * x + c[lane] * y


@inlined
def _angles(a: Array, p: int, q: int, c: Array, s: Array, worst: Array, active: Array) -> None:
    """Rotations that annihilate a[p, q] in active lanes; `worst` > 0 where it was not yet negligible."""
    for lane in range(LANES):
        x, y, r = a[p, p, lane], a[q, q, lane], a[p, q, lane]
        excess = r * r - NEGLIGIBLE * abs(x * y)
        worst[lane] = excess if excess > worst[lane] else worst[lane]
        d = y - x
        root = abs(d) + math.sqrt(d * d + 4.0 * r * r) + TINY
        t = active[lane] * (2.0 * r / (root if d >= 0.0 else -root))
        cosine = 1.0 / math.sqrt(1.0 + t * t)
        c[lane] = cosine
        s[lane] = t * cosine
        a[p, p, lane] = x - t * r
        a[q, q, lane] = y + t * r
        a[p, q, lane] = (1.0 - active[lane]) * r


@inlined
def _sweep(a: Array, v: Array, c: Array, s: Array, worst: Array, active: Array) -> None:
    """One cyclic sweep; row p of `v` is the p-th eigenvector."""
    k = a.shape[0]
    for p in range(k - 1):
        for q in range(p + 1, k):
            _angles(a, p, q, c, s, worst, active)
            for i in range(p):
                _rotate(a, i, p, i, q, c, s)
            for i in range(p + 1, q):
                _rotate(a, p, i, i, q, c, s)
            for i in range(q + 1, k):
                _rotate(a, p, i, q, i, c, s)
            for i in range(k):
                _rotate(v, p, i, q, i, c, s)


@helper
def _diagonalise(a: Array, v: Array, c: Array, s: Array) -> None:
    """Eigenvalues on the diagonal of `a`, eigenvectors in the rows of `v`.

    A lane that has converged rests (rotations by 0) until all have, so that the result for a matrix does not
    depend, not even by rounding, on the others of its block: sensitivity proofs count on that.
    """
    k = a.shape[0]
    for i in range(k):
        for j in range(k):
            for lane in range(LANES):
                v[i, j, lane] = 1.0 if i == j else 0.0
    worst, active = np.empty(LANES), np.ones(LANES)
    for _ in range(MAX_SWEEPS):
        for lane in range(LANES):
            worst[lane] = 0.0
        _sweep(a, v, c, s, worst, active)
        for lane in range(LANES):
            active[lane] = 1.0 if worst[lane] > 0.0 else 0.0
        if k <= 2 or _largest(active) == 0.0:
            return


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
                asymmetry[lane] = gap if gap > asymmetry[lane] else asymmetry[lane]
                a[i, j, lane] = 0.5 * upper + 0.5 * lower
                a[j, i, lane] = a[i, j, lane]


@helper
def _growth(w: Array, a: Array, root: Array, growth: Array) -> None:
    """growth = ‖ |w| sqrt(diag a) ‖², which bounds ‖ |w| |a| |w|ᵀ ‖ for a positive definite a."""
    k = a.shape[0]
    for lane in range(LANES):
        growth[lane] = 0.0
    for i in range(k):
        for lane in range(LANES):
            root[lane] = 0.0
        for m in range(i + 1):
            f = abs(w[i, m])
            for lane in range(LANES):
                root[lane] += f * math.sqrt(a[m, m, lane])
        for lane in range(LANES):
            growth[lane] += root[lane] * root[lane]


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
def _log_spectrum(a: Array, logs: Array, bits: Any, live: int, growth: Array, stats: Array) -> None:
    """Logarithms of the diagonal of a block (0 in dead lanes) and what they add to the first three stats."""
    k = a.shape[0]
    for p in range(k):
        _logarithm(a[p, p], bits, logs[p])
        for lane in range(live, LANES):
            logs[p, lane] = 0.0
        for lane in range(live):
            stats[2] += logs[p, lane] * logs[p, lane]
    for lane in range(live):
        low = a[0, 0, lane]
        for p in range(1, k):
            low = min(low, a[p, p, lane])
        stats[0] = min(stats[0], low)
        stats[1] += growth[lane] / low


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


@njit(**{**_internal, "fastmath": {"contract", "nsz", "reassoc"}})
def _add_moments(y: Array, moments: Array) -> None:
    """moments[a, b] += sum over the lanes of y_a y_b, for a <= b."""
    for a in range(moments.shape[0]):
        for b in range(a, moments.shape[0]):
            total = 0.0
            for lane in range(LANES):
                total += y[a, lane] * y[b, lane]
            moments[a, b] += total


@njit(void(_records, _factor, boolean, float64[::1], float64[:, ::1], float64[::1]), **_options)
def sum_logs(x: Array, w: Array, whiten: bool, total: Array, moments: Array, stats: Array) -> None:
    """Add log(w x_i wᵀ) to `total`, w lower triangular (taken as the identity if not `whiten`).

    Matrices are summed as their upper triangles, row by row; `moments`, if not empty, receives the upper
    triangle of the sum of the products of all pairs of entries. `stats` collects [smallest eigenvalue,
    sum of growth / smallest eigenvalue, sum of squared norms, asymmetry beyond the tolerance].
    """
    n, k, entries = x.shape[0], x.shape[1], total.shape[0]
    a, v, t = np.empty((k, k, LANES)), np.empty((k, k, LANES)), np.empty((k, k, LANES))
    c, s, growth = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    logs, bits, y = np.empty((k, LANES)), np.empty(LANES, np.int64), np.empty((entries, LANES))
    lanes_total, asymmetry = np.zeros((entries, LANES)), np.zeros(LANES)
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        _gather(x, first, live, a, asymmetry)
        _growth(w, a, c, growth)
        if whiten:
            _whiten(w, a, t)
        _diagonalise(a, v, c, s)
        _log_spectrum(a, logs, bits, live, growth, stats)
        _rebuild(logs, v, c, y)
        for entry in range(entries):
            for lane in range(LANES):
                lanes_total[entry, lane] += y[entry, lane]
        _add_moments(y, moments)
    stats[3] = max(stats[3], _largest(asymmetry))
    for entry in range(entries):
        for lane in range(LANES):
            total[entry] += lanes_total[entry, lane]


@njit(void(_records, float64[:, ::1], float64[:, :, ::1]), **_options)
def eigh(x: Array, values: Array, vectors: Array) -> None:
    """Eigenvalues (not sorted) and eigenvectors (columns) of every symmetric matrix of `x`."""
    n, k = x.shape[0], x.shape[1]
    a, v = np.empty((k, k, LANES)), np.empty((k, k, LANES))
    c, s, asymmetry = np.empty(LANES), np.empty(LANES), np.zeros(LANES)
    for first in range(0, n, LANES):
        live = min(LANES, n - first)
        _gather(x, first, live, a, asymmetry)
        _diagonalise(a, v, c, s)
        for lane in range(live):
            for p in range(k):
                values[first + lane, p] = a[p, p, lane]
                for i in range(k):
                    vectors[first + lane, i, p] = v[p, i, lane]
