"""A random point as a real one, published after one rounding to a public grid.

The release is a fixed function of the ideal point exp_base(v), v a random tangent vector known to as many digits
as the rounding asks for: it keeps every guarantee of the ideal law (docs/proofs/rounded_point.md).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from riemdp.errors import InputError, MechanismError
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.capabilities import ExactPoints
from riemdp.randomness import round_to_grid

if TYPE_CHECKING:
    from flint import arb

SMALLEST_GRID = 1e-300
# Rounding moves a point by at most this share of the noise's scale.
FINENESS = 2.0**-20


def rounded_point(space: Space, base: Array, coords: Callable[[int], list[arb]], grid: float) -> Array:
    """exp_base(v), its ambient entries x rounded to g floor(x/g + 1/2), as a point close to them.

    `base` and the result are in the form that the space's primitives take; `coords(bits)` encloses the
    coordinates of v in an orthonormal basis, the same real numbers whatever the bits. The base stands for an exact
    point (`ExactPoints.ideal_exp`). What follows the rounding is post-processing that cannot fail.
    """
    exact = space.capability(ExactPoints)
    rounded = round_to_grid(lambda bits: [_in_float_range(x) for x in exact.ideal_exp(coords(bits), base)], grid)
    return exact.from_ambient(rounded.reshape(exact.ambient_shape))


def _in_float_range(x: arb) -> arb:
    """The nearest number in the range of floats; farther out, floors would have more digits than memory."""
    from flint import arb

    return arb.min(arb.max(x, -sys.float_info.max), sys.float_info.max)


def point_grid(space: Space, scale: float, radius: float) -> float:
    """The public grid of a point released around the origin, from a ball of this radius, with this scale.

    It is the largest power of two such that rounding all m ambient entries, a change of at most sqrt(m) g/2,
    moves a point by at most scale/2^20 if it is no farther from the origin than radius + (d + 12 sqrt d + 30) scale
    (which a Gamma(d) length exceeds with probability below 1e-12). Privacy holds for every public grid.
    """
    if not (0 < scale < math.inf and 0 <= radius < math.inf):
        raise InputError(f"scale = {scale!r}, radius = {radius!r}: pass a positive and a nonnegative finite float.")
    exact = space.capability(ExactPoints)
    farthest = radius + (space.dim + 12 * math.sqrt(space.dim) + 30) * scale
    size = 2 * exact.ambient_step(FINENESS * scale, farthest) / math.sqrt(math.prod(exact.ambient_shape))
    if not size > 2 * SMALLEST_GRID:
        raise MechanismError(
            f"scale = {scale!r} in a ball of radius {radius!r} leaves no room for a grid of floats in {space!r}: "
            "use a smaller ball, units in which the scale is neither tiny nor huge, or a wrapped mechanism."
        )
    return math.ldexp(1.0, math.frexp(size)[1] - 1)
