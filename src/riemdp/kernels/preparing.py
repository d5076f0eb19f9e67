"""What is done to a block of symmetric matrices before it is diagonalised: gathered, bounded, whitened, scaled."""

from __future__ import annotations

import math

import numpy as np

from riemdp.kernels.blocks import Array, helper, inlined, largest
from riemdp.kernels.constants import LANES, LARGEST_JACOBI, SMALLEST_NORMAL, SYMMETRY_TOL

LINE = 8  # lanes that share a line of the cache: records are read by so many, each line of a block is written once


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
        scale[0, lane] = max(size, SMALLEST_NORMAL) if unusual else 1.0  # below it there are no powers of two left
        scale[1, lane] = 1.0 if unusual else 0.0
    bits = scale.view(np.int64)
    for lane in range(LANES):
        bits[0, lane] &= 0x7FF0000000000000
    return bool(largest(scale, 1) > 0.0)


@helper
def scale_down(a: Array, scale: Array) -> None:
    """Divide each matrix by its scale, so that squares neither under- nor overflow."""
    if _scales(a, scale):
        for i in range(a.shape[0]):
            for j in range(i, a.shape[0]):
                for lane in range(LANES):
                    a[i, j, lane] /= scale[0, lane]


@inlined
def _copy(x: Array, start: int, live: int, a: Array) -> None:
    """The records x[start : start + live] into a block, padded with identities."""
    k = x.shape[1]
    for first in range(0, live // LINE * LINE, LINE):
        for i in range(k):
            for j in range(k):
                for lane in range(first, first + LINE):
                    a[i, j, lane] = x[start + lane, i, j]
    for i in range(k):
        for j in range(k):
            for lane in range(live // LINE * LINE, live):
                a[i, j, lane] = x[start + lane, i, j]
            for lane in range(live, LANES):
                a[i, j, lane] = 1.0 if i == j else 0.0


@helper
def gather(x: Array, start: int, live: int, a: Array, asymmetry: Array) -> None:
    """The symmetric part of x[start : start + live] into the upper triangle of a block, padded with identities.

    How far entries (i, j) and (j, i) are apart, beyond the tolerance and at worst, goes to `asymmetry`.
    """
    _copy(x, start, live, a)
    for i in range(x.shape[1] - 1):
        for j in range(i + 1, x.shape[1]):
            for lane in range(LANES):
                upper, lower, worst = a[i, j, lane], a[j, i, lane], asymmetry[0, lane]
                gap = abs(upper - lower) - SYMMETRY_TOL * (abs(a[i, i, lane]) + abs(a[j, j, lane]))
                asymmetry[0, lane] = gap if gap > worst else worst
                a[i, j, lane] = 0.5 * upper + 0.5 * lower


@helper
def bound_by_trace(a: Array, bound: Array) -> None:
    """tr a >= ‖a‖ for a positive definite a."""
    for lane in range(LANES):
        bound[lane] = a[0, 0, lane]
    for i in range(1, a.shape[0]):
        for lane in range(LANES):
            bound[lane] += a[i, i, lane]


@helper
def _quick_norm_bound(w: Array, a: Array, rows: Array, bound: Array) -> None:
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
            bound[lane] = 0.0
        for m in range(i + 1):
            f = abs(w[i, m])
            for lane in range(LANES):
                bound[lane] += f * rows[m, 0, lane]
        for m in range(i + 1):
            f = abs(w[i, m])
            for lane in range(LANES):
                rows[m, 1, lane] += f * bound[lane]
    for lane in range(LANES):
        bound[lane] = 0.0
    for i in range(k):
        for j in range(i, k):
            weight = 1.0 if i == j else 2.0
            for lane in range(LANES):
                bound[lane] += weight * rows[i, 1, lane] * abs(a[i, j, lane]) * rows[j, 1, lane]
    for lane in range(LANES):
        bound[lane] = math.sqrt(bound[lane])


@inlined
def _add_multiples(f: float, x: Array, g: float, y: Array, out: Array) -> None:
    """out += f x + g y: two at a time, since loading and storing `out` takes longer than the products."""
    for lane in range(LANES):
        out[lane] += f * x[lane] + g * y[lane]


@helper
def whiten_block(w: Array, a: Array, t: Array) -> None:
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
def _norm_bound(size: Array, a: Array, m: Array, t: Array, bound: Array) -> None:
    """‖M‖, M = |w| |a| |w|ᵀ and size = |w| (`m` and `t` are scratch)."""
    k = a.shape[0]
    for i in range(k):
        for j in range(i, k):
            for lane in range(LANES):
                m[i, j, lane] = abs(a[i, j, lane])
    whiten_block(size, m, t)
    for lane in range(LANES):
        bound[lane] = 0.0
    for i in range(k):
        for j in range(i, k):
            weight = 1.0 if i == j else 2.0
            for lane in range(LANES):
                bound[lane] += weight * m[i, j, lane] * m[i, j, lane]
    for lane in range(LANES):
        bound[lane] = math.sqrt(bound[lane])


@inlined
def bound_norm(w: Array, size: Array, a: Array, rows: Array, m: Array, t: Array, bound: Array) -> None:
    """A bound on ‖ |w| |a| |w|ᵀ ‖, to which rounding errors are proportional: the cheapest that is sharp enough."""
    if a.shape[0] <= LARGEST_JACOBI:
        _quick_norm_bound(w, a, rows, bound)
    else:
        _norm_bound(size, a, m, t, bound)


@helper
def least_pivot(a: Array, t: Array, least: Array) -> None:
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
