"""The release arithmetic: the ideal real-valued mechanism, rounded once to a public grid.

A release is y_j = g floor((x_j + noise_j)/g + 1/2) with a *real* random noise: the operating system gives its
binary digits, as many as ball arithmetic needs to decide every floor; no float touches it. A function of the
ideal mechanism's output keeps its guarantees (docs/proofs/rounded_once.md; the laws: ideal_noise.md).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from riemdp.errors import InputError
from riemdp.exact_normals import add_normals, is_worth_it
from riemdp.randomness import LazyUniform, normals, replay, round_to_grid

if TYPE_CHECKING:
    from flint import arb

    Noise = Callable[[Iterator[arb], int], list[arb]]

Array = npt.NDArray[np.float64]


def grid_step(scale: float) -> float:
    """The public grid of a release: the largest power of two at most scale/2^20."""
    _check_scale(scale)
    step = math.ldexp(1.0, math.frexp(scale)[1] - 21)
    if step == 0.0:
        raise InputError(f"scale = {scale!r} leaves no room for a grid of floats; use units that enlarge it.")
    return step


def add_gaussian(values: Array, scale: float, grid: float) -> Array:
    """Ideal Gaussian mechanism, rounded once to the grid: values + scale Z, Z standard normal in R^d."""
    _check(values, scale, grid)
    if is_worth_it(values.size):
        return add_normals(values, scale, grid)
    return _rounded_once(values, scale, grid, normals)


def add_laplace(values: Array, scale: float, grid: float) -> Array:
    """Ideal Laplace mechanism, rounded once to the grid: density ∝ exp(-|y - values|/scale) on R^d."""
    _check(values, scale, grid)
    return _rounded_once(values, scale, grid, _isotropic_laplace)


def _chi_square(uniforms: Iterator[arb], degrees: int) -> arb:
    """Chi-square of 2m degrees: -2 ln(u_1 ... u_m); of 2m + 1: plus the square of a normal."""
    exponentials = -2 * math.prod(islice(uniforms, degrees // 2 - 1), start=next(uniforms)).log()
    return sum((z * z for z in normals(uniforms, degrees % 2)), start=exponentials)


def _isotropic_laplace(uniforms: Iterator[arb], size: int) -> list[arb]:
    """Density ∝ exp(-|y|), that is R U with R ~ Gamma(d, 1), as sqrt(chi-square of d + 1 degrees) times Z."""
    length = _chi_square(uniforms, size + 1).sqrt()
    return [length * z for z in normals(uniforms, size)]


def _rounded_once(values: Array, scale: float, grid: float, noise: Noise) -> Array:
    """The floats nearest to g floor((x_j + scale noise_j)/g + 1/2), with every floor decided exactly."""
    from flint import arb

    coordinates, tape = values.tolist(), list[LazyUniform]()

    def sums(bits: int) -> list[arb]:
        draws = noise(replay(tape, bits), len(coordinates))
        return [arb(x) + arb(scale) * z for x, z in zip(coordinates, draws, strict=True)]

    return round_to_grid(sums, grid)


def _check_scale(scale: float) -> None:
    if not (isinstance(scale, float) and 0 < scale <= sys.float_info.max):
        raise InputError(f"scale = {scale!r} must be a positive finite float; pass the calibrated one.")


def _check(values: Array, scale: float, grid: float) -> None:
    """Refuse what has no release; the message says nothing of the values, which are private."""
    _check_scale(scale)
    if not isinstance(grid, float) or math.frexp(grid)[0] != 0.5:
        raise InputError(f"grid = {grid!r} must be a power of two; use grid_step(scale).")
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
        raise InputError("values must be a one-dimensional float64 array; pass coordinates.")
    if values.size == 0 or not np.isfinite(values).all():
        raise InputError("values must be finite and at least one; pass the coordinates of a point.")
