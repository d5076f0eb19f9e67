"""Randomness of releases: real numbers from the operating system's bits, as exact as a decision asks for.

A real random number is known by its binary digits. Ball arithmetic computes with as many as are known and says
when they do not decide; then more are drawn. No float touches it (docs/proofs/rounded_once.md).
"""

from __future__ import annotations

import math
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from riemdp.arithmetic import working_precision

if TYPE_CHECKING:
    from flint import arb

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

    __slots__ = ("_ball", "_digits", "_known")

    def __init__(self) -> None:
        self._digits, self._known = 0, 0

    def ball(self, bits: int) -> arb:
        """A ball around [k, k+1] 2^-b, where the number lies once b >= `bits` > 0 digits are known."""
        if (missing := bits - self._known) > 0:
            from flint import arb

            self._digits, self._known = self._digits << missing | secrets.randbits(missing), bits
            self._ball = arb((2 * self._digits + 1, -bits - 1), (1, -bits - 1))
        return self._ball


def replay(tape: list[LazyUniform], bits: int) -> Iterator[arb]:
    """The tape's uniforms from its start, known to `bits` bits; the tape grows as it is read."""
    for position in count():
        if position == len(tape):
            tape.append(LazyUniform())
        yield tape[position].ball(bits)


def normals(uniforms: Iterator[arb], size: int) -> list[arb]:
    """Independent standard normals, two from two uniforms (Box and Muller 1958)."""
    pairs = (_box_muller(next(uniforms), next(uniforms)) for _ in range((size + 1) // 2))
    return list(chain.from_iterable(pairs))[:size]


def _box_muller(u: arb, v: arb) -> tuple[arb, arb]:
    """sqrt(-2 ln u) (cos 2 pi v, sin 2 pi v)."""
    length = (-2 * u.log()).sqrt()
    sine, cosine = (2 * v).sin_cos_pi()
    return length * cosine, length * sine


def round_to_grid(numbers: Callable[[int], list[arb]], grid: float) -> Array:
    """The floats nearest to g floor(x_j/g + 1/2), every floor decided; numbers(bits) encloses the real x_j."""
    from flint import arb

    def multiples(bits: int) -> list[int] | None:
        step = arb(grid)
        floors = [(x / step + 0.5).floor().unique_fmpz() for x in numbers(bits)]
        decided = [int(floor) for floor in floors if floor is not None]
        return decided if len(decided) == len(floors) else None

    return as_floats(decide(multiples), grid)


def as_floats(multiples: list[int], grid: float) -> Array:
    """k g as the nearest float, itself a multiple of g; past the float range the last multiple inside it."""
    top, bottom = grid.as_integer_ratio()
    last = int(sys.float_info.max) * bottom // top
    return np.array([min(max(k, -last), last) * top / bottom for k in multiples])


def system_digits(count: int, bits: int) -> npt.NDArray[np.uint16]:
    """So many random digits of at most 16 bits each."""
    return np.frombuffer(os.urandom(2 * count), dtype=np.uint16) >> np.uint16(16 - bits)


class Randomness(Protocol):
    """Uniforms and normals: a numpy Generator, or SystemRandomness."""

    def random(self, size: int) -> Array:
        """Uniforms between 0 and 1, 1 excluded."""

    def standard_normal(self, size: tuple[int, ...]) -> Array:
        """Independent standard normal numbers."""


class SystemRandomness:
    """float64 uniforms and normals from the operating system's bits, where a numpy Generator would be seeded."""

    def random(self, size: int | tuple[int, ...]) -> Array:
        """Uniforms on (0, 1): odd multiples of 2^-53."""
        bits = np.frombuffer(os.urandom(8 * int(np.prod(size))), dtype=np.uint64) >> np.uint64(12)
        return ((2.0 * bits.astype(np.float64) + 1.0) * 2.0**-53).reshape(size)

    def standard_normal(self, size: int | tuple[int, ...]) -> Array:
        """Independent standard normals (Box and Muller 1958)."""
        half = (int(np.prod(size)) + 1) // 2
        length, angle = np.sqrt(-2 * np.log(self.random(half))), 2 * math.pi * self.random(half)
        both: npt.NDArray[Any] = np.concatenate([length * np.cos(angle), length * np.sin(angle)])
        return both[: int(np.prod(size))].reshape(size)
