"""Compiled unit quaternions of many rotation matrices.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

import math

from numba import boolean, float64, njit, void
from numba.core.types import Array as ArrayType

from riemdp.kernels.blocks import Array, options

_matrices = ArrayType(float64, 3, "C", readonly=True)
_matrix = ArrayType(float64, 2, "C", readonly=True)


@njit(void(_matrices, _matrix, float64, float64[:, ::1]), **options)
def relative_quaternions(matrices: Array, base: Array, size: float, out: Array) -> None:
    """The quaternions (x, y, z, w), w >= 0, of the rotations baseᵀ m, with this length.

    That row of 4 q qᵀ is taken whose diagonal is the largest: at least 1.
    """
    b00, b01, b02 = base[0, 0], base[0, 1], base[0, 2]
    b10, b11, b12 = base[1, 0], base[1, 1], base[1, 2]
    b20, b21, b22 = base[2, 0], base[2, 1], base[2, 2]
    for i in range(matrices.shape[0]):
        m = matrices[i]
        r00 = b00 * m[0, 0] + b10 * m[1, 0] + b20 * m[2, 0]
        r01 = b00 * m[0, 1] + b10 * m[1, 1] + b20 * m[2, 1]
        r02 = b00 * m[0, 2] + b10 * m[1, 2] + b20 * m[2, 2]
        r10 = b01 * m[0, 0] + b11 * m[1, 0] + b21 * m[2, 0]
        r11 = b01 * m[0, 1] + b11 * m[1, 1] + b21 * m[2, 1]
        r12 = b01 * m[0, 2] + b11 * m[1, 2] + b21 * m[2, 2]
        r20 = b02 * m[0, 0] + b12 * m[1, 0] + b22 * m[2, 0]
        r21 = b02 * m[0, 1] + b12 * m[1, 1] + b22 * m[2, 1]
        r22 = b02 * m[0, 2] + b12 * m[1, 2] + b22 * m[2, 2]
        trace = r00 + r11 + r22
        if trace >= r00 and trace >= r11 and trace >= r22:
            x, y, z, w = r21 - r12, r02 - r20, r10 - r01, 1.0 + trace
        elif r00 >= r11 and r00 >= r22:
            x, y, z, w = 1.0 + r00 - r11 - r22, r01 + r10, r02 + r20, r21 - r12
        elif r11 >= r22:
            x, y, z, w = r01 + r10, 1.0 - r00 + r11 - r22, r12 + r21, r02 - r20
        else:
            x, y, z, w = r02 + r20, r12 + r21, 1.0 - r00 - r11 + r22, r10 - r01
        scale = math.copysign(size, w) / math.sqrt(x * x + y * y + z * z + w * w)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = scale * x, scale * y, scale * z, scale * w


@njit(boolean(_matrices, float64), **options)
def all_rotations(matrices: Array, tolerance: float) -> bool:
    """Whether |mᵀm - 1|² <= tolerance² and det m > 0 for all matrices; not so if one is not finite."""
    good = True
    for i in range(matrices.shape[0]):
        m = matrices[i]
        a, b, c = m[0, 0], m[1, 0], m[2, 0]
        d, e, f = m[0, 1], m[1, 1], m[2, 1]
        g, h, k = m[0, 2], m[1, 2], m[2, 2]
        first, second, third = a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + k * k - 1.0
        off = (a * d + b * e + c * f) ** 2 + (a * g + b * h + c * k) ** 2 + (d * g + e * h + f * k) ** 2
        square = first * first + second * second + third * third + 2.0 * off
        det = a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g)
        good &= (square <= tolerance * tolerance) & (det > 0.0)
    return good
