"""The release arithmetic: the ideal real-valued mechanism, rounded once to a public grid.

A release is y_j = g floor((x_j + noise_j)/g + 1/2) with a *real* random noise: the operating system gives its
binary digits, as many as ball arithmetic needs to decide every floor; no float touches it. A function of the
ideal mechanism's output keeps its guarantees (docs/proofs/rounded_once.md; the laws: ideal_noise.md).
"""

from __future__ import annotations

import math
import secrets
import sys
from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from riemdp.arithmetic import working_precision
from riemdp.errors import InputError

if TYPE_CHECKING:
    from flint import arb

    Noise = Callable[[Iterator[arb], int], list[arb]]

Array = npt.NDArray[np.float64]
T = TypeVar("T")

FIRST_BITS = 128  # digits of each uniform at first, enough but with probability < 2^-80; then twice as many

def decide(attempt: Callable[[int], T | None]) -> T:
    """Call `attempt` with ever more bits, at twice that precision, until its answer is not None."""
    bits, answer = FIRST_BITS, None
    while answer is None:
        with working_precision(2 * bits):
            answer = attempt(bits)
        bits *= 2
    return answer


class LazyUniform:
    """A uniform real number on [0, 1]: binary digits are drawn on demand and, once drawn, never change."""

    __slots__ = ("_digits", "_known")

    def __init__(self) -> None:
        self._digits, self._known = 0, 0

    def ball(self, bits: int) -> arb:
        """A ball around [k, k+1] 2^-b, where the number lies once b >= `bits` digits are known."""
        from flint import arb

        missing = bits - self._known
        if missing > 0:
            self._digits, self._known = self._digits << missing | secrets.randbits(missing), bits
        return arb((2 * self._digits + 1, -self._known - 1), (1, -self._known - 1))


def grid_step(scale: float) -> float:
    """The public grid of a release: the largest power of two at most scale/2^20."""
    _check_scale(scale)
    step = math.ldexp(1.0, math.frexp(scale)[1] - 21)
    if step == 0.0:
        raise InputError(f"scale = {scale!r} leaves no room for a grid of floats; use units that enlarge it.")
    return step


def add_gaussian(values: Array, scale: float, grid: float) -> Array:
    """Ideal Gaussian mechanism, rounded once to the grid: values + scale Z, Z standard normal in R^d."""
    return _rounded_once(values, scale, grid, _normals)


def add_laplace(values: Array, scale: float, grid: float) -> Array:
    """Ideal Laplace mechanism, rounded once to the grid: density ∝ exp(-|y - values|/scale) on R^d."""
    return _rounded_once(values, scale, grid, _isotropic_laplace)


def _normals(uniforms: Iterator[arb], size: int) -> list[arb]:
    """Independent standard normals, two from two uniforms (Box and Muller 1958)."""
    pairs = (_box_muller(next(uniforms), next(uniforms)) for _ in range((size + 1) // 2))
    return list(chain.from_iterable(pairs))[:size]


def _box_muller(u: arb, v: arb) -> tuple[arb, arb]:
    """sqrt(-2 ln u) (cos 2 pi v, sin 2 pi v)."""
    length = (-2 * u.log()).sqrt()
    sine, cosine = (2 * v).sin_cos_pi()
    return length * cosine, length * sine


def _chi_square(uniforms: Iterator[arb], degrees: int) -> arb:
    """Chi-square of 2m degrees: -2 ln(u_1 ... u_m); of 2m + 1: plus the square of a normal."""
    exponentials = -2 * math.prod(islice(uniforms, degrees // 2 - 1), start=next(uniforms)).log()
    return sum((z * z for z in _normals(uniforms, degrees % 2)), start=exponentials)


def _isotropic_laplace(uniforms: Iterator[arb], size: int) -> list[arb]:
    """Density ∝ exp(-|y|), that is R U with R ~ Gamma(d, 1), as sqrt(chi-square of d + 1 degrees) times Z."""
    length = _chi_square(uniforms, size + 1).sqrt()
    return [length * z for z in _normals(uniforms, size)]


def _replay(tape: list[LazyUniform], bits: int) -> Iterator[arb]:
    """The tape's uniforms from its start, known to `bits` bits; the tape grows as it is read."""
    for position in count():
        if position == len(tape):
            tape.append(LazyUniform())
        yield tape[position].ball(bits)


def _rounded_once(values: Array, scale: float, grid: float, noise: Noise) -> Array:
    """The floats nearest to g floor((x_j + scale noise_j)/g + 1/2), with every floor decided exactly."""
    from flint import arb

    _check(values, scale, grid)
    coordinates, tape = values.tolist(), list[LazyUniform]()

    def multiples(bits: int) -> list[int] | None:
        step, ratio = arb(grid), arb(scale) / arb(grid)
        draws = zip(coordinates, noise(_replay(tape, bits), len(coordinates)), strict=True)
        floors = [(arb(x) / step + ratio * z + 0.5).floor().unique_fmpz() for x, z in draws]
        decided = [int(floor) for floor in floors if floor is not None]
        return decided if len(decided) == len(floors) else None

    return _as_floats(decide(multiples), grid)


def _as_floats(multiples: list[int], grid: float) -> Array:
    """k g as the nearest float, itself a multiple of g; past the float range the last multiple inside it."""
    top, bottom = grid.as_integer_ratio()
    last = int(sys.float_info.max) * bottom // top
    return np.array([min(max(k, -last), last) * top / bottom for k in multiples])


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
