"""Compiled angles from cosines, and lengths of many vectors.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math

from numba import boolean, float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, options

HALF_PI = math.pi / 2
# arcsin x = x + x z P(z)/Q(z), z = x² <= 1/4: fdlibm's, error below one unit in the last place.
P_0, P_1, P_2, P_3, P_4, P_5 = (
    1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
    -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05,
)  # fmt: skip
Q_1, Q_2, Q_3, Q_4 = (
    -2.40339491173441421878e+00, 2.02094576023350569471e+00, -6.88283971605453293030e-01, 7.70381505559019352791e-02,
)  # fmt: skip


_numbers, _vector = ArrayType(float64, 1, "C", readonly=True), float64[::1]
_rows = ArrayType(float64, 2, "C", readonly=True)


@njit(void(_numbers, _vector, _vector), **options)
def stretches(cosine: Array, clipped: Array, stretch: Array) -> None:
    """The cosines brought into [-1, 1], and angle / sine: one division and one root each, in a loop that vectorises."""
    is_any_obtuse = False
    for i in range(cosine.shape[0]):
        c = cosine[i]
        c = 1.0 if c > 1.0 else c
        c = -1.0 if c < -1.0 else c
        clipped[i] = c
        is_any_obtuse |= c < -0.5
        # The angle is 2 arcsin x and its sine 2 x sqrt(1 - x²), x² = (1 - c)/2, or they are pi/2 - arcsin c and
        # sqrt(1 - c²).
        is_acute = c > 0.5
        z = 0.5 - 0.5 * c if is_acute else c * c
        below = 1.0 + z * (Q_1 + z * (Q_2 + z * (Q_3 + z * Q_4)))
        above = below + z * (P_0 + z * (P_1 + z * (P_2 + z * (P_3 + z * (P_4 + z * P_5)))))
        stretch[i] = (above if is_acute else HALF_PI * below - c * above) / (below * math.sqrt(1.0 - z))
    if is_any_obtuse:
        for i in range(cosine.shape[0]):
            if clipped[i] < -0.5:
                square = (1.0 - clipped[i]) * (1.0 + clipped[i])
                stretch[i] = math.acos(clipped[i]) / math.sqrt(square) if square >= 1e-12 else 1.0 + square / 6.0


@njit(void(_numbers, _numbers, _vector), **options)
def bends(cosine: Array, stretch: Array, out: Array) -> None:
    """(1 - angle cot(angle)) / sine²."""
    for i in range(cosine.shape[0]):
        c = cosine[i]
        square = (1.0 - c) * (1.0 + c)
        out[i] = 1.0 / 3.0 if square < 1e-8 else (1.0 - stretch[i] * c) / square


@njit(void(_rows, _numbers, float64[:, ::1]), **options)
def second_moment(rows: Array, weights: Array, out: Array) -> None:
    """The sum of w x xᵀ over rows x of three numbers, and their weights w."""
    xx = xy = xz = yy = yz = zz = 0.0
    for i in range(rows.shape[0]):
        x, y, z = rows[i, 0], rows[i, 1], rows[i, 2]
        wx, wy, wz = weights[i] * x, weights[i] * y, weights[i] * z
        xx += wx * x
        xy += wx * y
        xz += wx * z
        yy += wy * y
        yz += wy * z
        zz += wz * z
    out[0, 0], out[0, 1], out[0, 2] = xx, xy, xz
    out[1, 0], out[1, 1], out[1, 2] = xy, yy, yz
    out[2, 0], out[2, 1], out[2, 2] = xz, yz, zz


@njit(boolean(_rows, float64, float64), **options)
def all_squares_within(rows: Array, low: float, high: float) -> bool:
    """Whether the squared length of every row is in [low, high]: not so if one is not finite."""
    good = True
    for i in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[i, j] * rows[i, j]
        good &= (low <= square) & (square <= high)
    return good
