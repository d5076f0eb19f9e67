"""Normal noise that is exact and rounded once: Karney's algorithm N on the operating system's digits.

A standard normal is ±(k + x), k a whole number and x in (0, 1) known by its digits; all that is done to find it is
to compare digits of uniform numbers (C. F. F. Karney, Sampling exactly from the normal distribution, ACM TOMS 42,
2016). Then value + scale (k + x) is rounded in whole numbers, with as many digits of x as that takes: no float
touches it. The compiled code does the same a hundred times faster, and leaves to the code here whatever its few
digits do not decide (docs/proofs/exact_normals.md).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from riemdp.randomness import as_floats, system_digits

Array = npt.NDArray[np.float64]

DIGIT_BITS = 16
DIGITS_EACH = 24  # that a normal takes, on average and rounded up
MANY_DIGITS, FEW_DIGITS = 2**17, 2**12  # drawn at a time; left when more are drawn
# So many normals are worth loading the compiled code, or, once it is loaded, worth calling it.
WORTH_LOADING, WORTH_CALLING = 2**15, 2**8
LARGEST_WHOLE = 2.0**62  # of a value in units of the grid, for the compiled code


class Stream:
    """Endless random digits, drawn ahead of use. It lives during one call: no two processes ever share one."""

    def __init__(self) -> None:
        self.bits, self.position = DIGIT_BITS, 0
        self.drawn = system_digits(0, self.bits)

    def next(self) -> int:
        """The next random digit; more are drawn where none is left."""
        if self.position == len(self.drawn):
            self._draw(DIGITS_EACH)
        self.position += 1
        return int(self.drawn[self.position - 1])

    def provide(self, normals: int) -> None:
        """Draw ahead for so many normals, or some of them, unless there are digits for many."""
        if len(self.drawn) - self.position < min(DIGITS_EACH * normals, FEW_DIGITS):
            self._draw(min(DIGITS_EACH * normals, MANY_DIGITS))

    def _draw(self, count: int) -> None:
        fresh = system_digits(count, self.bits)
        self.drawn, self.position = np.concatenate([self.drawn[self.position :], fresh]), 0


class Uniform:
    """A uniform real number on (0, 1): its first digit, and more of them where those do not decide."""

    __slots__ = ("_stream", "digits")

    def __init__(self, stream: Stream) -> None:
        self._stream, self.digits = stream, [stream.next()]

    def digit(self, place: int) -> int:
        """The digit at this place of the number: a known one, or one more that is drawn now."""
        if place == len(self.digits):
            self.digits.append(self._stream.next())
        return self.digits[place]

    def is_below(self, other: Uniform) -> bool:
        """Whether it is the smaller number: decided by the first digit in which they differ."""
        place = 0
        while self.digit(place) == other.digit(place):
            place += 1
        return self.digits[place] < other.digits[place]

    def is_below_half(self) -> bool:
        """Whether the number is below 1/2, which its first bit tells."""
        return self.digits[0] < 1 << self._stream.bits - 1

    def ends(self) -> tuple[Fraction, Fraction]:
        """The interval in which the digits that are known leave it."""
        number = 0
        for digit in self.digits:
            number = number << self._stream.bits | digit
        width = Fraction(1, 1 << self._stream.bits * len(self.digits))
        return number * width, (number + 1) * width


@dataclass(frozen=True)
class Normal:
    """A standard normal number ±(whole + fraction)."""

    sign: int
    whole: int
    fraction: Uniform


def standard_normal(stream: Stream) -> Normal:
    """Algorithm N: a whole part k with probability ∝ exp(-k²/2), and a fraction x kept with exp(-x (2k + x)/2)."""
    while True:
        whole = 0
        while is_kept_by_half(stream):
            whole += 1
        if not all(is_kept_by_half(stream) for _ in range(whole * (whole - 1))):
            continue
        fraction = Uniform(stream)
        if all(is_kept(whole, fraction, stream) for _ in range(whole + 1)):
            return Normal(1 if Uniform(stream).is_below_half() else -1, whole, fraction)


def is_kept_by_half(stream: Stream) -> bool:
    """With probability exp(-1/2): if 1/2 > u_1 > u_2 > ... holds for an even number of terms."""
    last = Uniform(stream)
    if not last.is_below_half():
        return True
    terms = 1
    while (following := Uniform(stream)).is_below(last):
        last, terms = following, terms + 1
    return terms % 2 == 0


def is_kept(whole: int, fraction: Uniform, stream: Stream) -> bool:
    """With probability exp(-x (2k + x)/(2k + 2)): if x > u_1 > u_2 > ... holds for an even number of lucky terms."""
    last, terms = fraction, 0
    while (following := Uniform(stream)).is_below(last) and _is_lucky(whole, fraction, stream):
        last, terms = following, terms + 1
    return terms % 2 == 0


def _is_lucky(whole: int, fraction: Uniform, stream: Stream) -> bool:
    """True with probability (2k + x)/(2k + 2)."""
    chosen = _whole_below(2 * whole + 2, stream)
    return chosen < 2 * whole or (chosen == 2 * whole and Uniform(stream).is_below(fraction))


def _whole_below(limit: int, stream: Stream) -> int:
    """A uniform whole number: of so many digits, drawn again if it is one of those that cannot be shared out evenly."""
    places = -(-limit.bit_length() // stream.bits)
    size = 1 << places * stream.bits
    while True:
        number = 0
        for _ in range(places):
            number = number << stream.bits | stream.next()
        if number < size - size % limit:
            return number % limit


def rounded_sum(center: Fraction, scale: Fraction, normal: Normal) -> int:
    """floor(center + scale z + 1/2): digits of z are drawn until both ends of what they leave agree."""
    while True:
        low, high = (
            math.floor(center + normal.sign * scale * (normal.whole + end) + Fraction(1, 2))
            for end in normal.fraction.ends()
        )
        if low == high:
            return low
        normal.fraction.digit(len(normal.fraction.digits))


def add_normals(values: Array, scale: float, grid: float) -> Array:
    """The floats nearest to grid floor((x_j + scale z_j)/grid + 1/2), for independent standard normals z_j."""
    stream, fixed = Stream(), FixedPoint.of(values, scale, grid)

    def one(x: float) -> int:
        return rounded_sum(Fraction(x) / Fraction(grid), Fraction(scale) / Fraction(grid), standard_normal(stream))

    if fixed is None:
        return as_floats([one(x) for x in values.tolist()], grid)
    multiples, done = np.empty(len(values), np.int64), 0
    while done < len(values):
        done += fixed.fill(multiples, done, stream)
        if done < len(values):  # which the compiled code left open
            multiples[done] = one(float(values[done]))
            done += 1
    return _products(multiples, grid)


def _products(multiples: npt.NDArray[np.int64], grid: float) -> Array:
    """Multiples of the grid as floats: all at once where the multiples are floats themselves."""
    if np.abs(multiples).max() <= 2**53 and grid < 2.0**900:
        return np.asarray(multiples * grid)
    return as_floats(multiples.tolist(), grid)


def is_worth_it(size: int) -> bool:
    """Whether so many normals are worth the compiled code: more so, if it is loaded already."""
    is_loaded = hasattr(sys.modules.get("riemdp.kernels.exact_normals"), "rounded_normals")  # its last definition
    return size >= (WORTH_CALLING if is_loaded else WORTH_LOADING)


@dataclass(frozen=True)
class FixedPoint:
    """Values and scale in units of the grid, as the compiled code takes them.

    The scale is mantissa 2^-shift, mantissa < 2^53; a value is within 2^-52 of wholes_j + fractions_j 2^-64.
    """

    wholes: npt.NDArray[np.int64]
    fractions: npt.NDArray[np.uint64]
    mantissa: int
    shift: int

    @classmethod
    def of(cls, values: Array, scale: float, grid: float) -> FixedPoint | None:
        """None if there is no room for that."""
        (share, exponent), (_, grid_exponent) = math.frexp(scale), math.frexp(grid)
        shift = 52 - exponent + grid_exponent
        with np.errstate(over="ignore", under="ignore"):
            units = np.ldexp(values, 1 - grid_exponent)
        if not (0 <= shift < 64 and np.abs(units).max() < LARGEST_WHOLE):
            return None
        wholes = np.floor(units)
        rests = np.minimum(units - wholes, 1 - 2.0**-53)
        return cls(wholes.astype(np.int64), (rests * 2.0**64).astype(np.uint64), int(share * 2**53), shift)

    def fill(self, multiples: npt.NDArray[np.int64], start: int, stream: Stream) -> int:
        """Write those from `start` on, as many as the digits at hand decide; how many."""
        from riemdp.kernels.exact_normals import rounded_normals

        stream.provide(len(multiples) - start)
        position = np.array([stream.position])
        decided = rounded_normals(
            stream.drawn, stream.bits, position, self.wholes[start:], self.fractions[start:],
            np.uint64(self.mantissa), self.shift, multiples[start:],
        )  # fmt: skip
        stream.position = int(position[0])
        return decided
