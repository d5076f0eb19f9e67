"""What is made of the eigenvalues and eigenvectors of a block: logarithms, their matrices, Hessians of distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemdp.kernels.blocks import Array, helper, inlined
from riemdp.kernels.constants import CONDITIONING, LANES, SMALLEST, SQUARES, UNIT_ROUNDOFF
from riemdp.kernels.lanes import Lanes, powers

SQRT2 = math.sqrt(2.0)
OFFSET = 2.0**52 + 1023
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG_1, LOG_2, LOG_3, LOG_4, LOG_5, LOG_6, LOG_7 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)

LOW = 3  # the row of what is kept per lane after SMALLEST, CONDITIONING, SQUARES: the least eigenvalue of the block


@inlined
def split_powers(number: Any, bits: Any) -> None:
    """x = 2^e m with m in [sqrt(1/2), sqrt(2)), lane by lane.

    The bits of positive normal doubles x become those of m; `bits` becomes those of the double e + OFFSET.
    """
    for lane in range(LANES):
        raised = number[lane] + 0x00095F6200000000  # moves sqrt(1/2) to a power of two
        bits[lane] = (raised >> 52) | 0x4330000000000000  # the double 2^52 + (exponent + 1023)
        number[lane] = (raised & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E00000000


@inlined
def _of_parts(m: Any, e: Any) -> Any:
    """log(2^e m): fdlibm's method (error below one unit in the last place), a polynomial in (m - 1)/(m + 1)."""
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = z * (LOG_1 + z * (LOG_2 + z * (LOG_3 + z * (LOG_4 + z * (LOG_5 + z * (LOG_6 + z * LOG_7))))))
    half = 0.5 * f * f
    return e * LN2_HIGH + (f - (half - (s * (half + series) + e * LN2_LOW)))


@inlined
def logarithm(x: Array, bits: Any, out: Array) -> None:
    """Natural logarithm of positive normal numbers, lane by lane; `bits` is scratch of 64-bit integers.

    numba calls the scalar libm for `log`; this is without a branch: x = 2^e m as in `split_powers`.
    """
    for lane in range(LANES):
        out[lane] = x[lane]
    split_powers(out.view(np.int64), bits)
    exponent = bits.view(np.float64)
    for lane in range(LANES):
        out[lane] = _of_parts(out[lane], exponent[lane] - OFFSET)


@inlined
def logarithms(x: Lanes) -> Lanes:
    """The same for numbers in a register."""
    m, e = powers(x)
    return _of_parts(m, e)


@helper
def log_spectrum(d: Array, logs: Array, bits: Any, live: int, bound: Array, facts: Array) -> None:
    """Logarithms of the eigenvalues of a block, and each lane's share of the statistics; dead lanes turn into 1."""
    k = d.shape[0]
    for p in range(k):
        for lane in range(live, LANES):
            d[p, lane] = 1.0
        logarithm(d[p], bits, logs[p])
        for lane in range(LANES):
            facts[SQUARES, lane] += logs[p, lane] * logs[p, lane] + 0.0 * d[p, lane]  # NaN if d is not finite
    for lane in range(LANES):
        facts[LOW, lane] = d[0, lane]
    for p in range(1, k):
        for lane in range(LANES):
            value, low = d[p, lane], facts[LOW, lane]
            facts[LOW, lane] = value if value < low else low
    for lane in range(live, LANES):
        bound[lane] = 0.0
        facts[LOW, lane] = np.inf
    for lane in range(LANES):
        low, least = facts[LOW, lane], facts[SMALLEST, lane]
        facts[CONDITIONING, lane] += bound[lane] / low
        facts[SMALLEST, lane] = least if least <= low else low


@helper
def raise_lost(d: Array, top: Array) -> None:
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
def rebuild_block(values: Array, v: Array, scratch: Array, y: Array) -> None:
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
def add_hessian(d: Array, logs: Array, v: Array, scratch: Array, plane: Array, lanes_hessian: Array) -> None:
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
