"""Ball arithmetic with flint's `arb`: formulas enclosed, and rounded to the side that is asked for."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

import riemdp.forking  # noqa: F401  flint is imported by whoever computes first, maybe beside a fork()

if TYPE_CHECKING:
    from flint import arb

LEAST_GAP = 2.0**-53  # between logarithms: nearer to 0 a gap would say that the goal is reached, which is not known

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must find the lock free and the precision restored
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Set flint's precision, of which a process has only one, and restore it; one thread at a time."""
    from flint import ctx

    with _lock:
        before, ctx.prec = ctx.prec, bits
        try:
            yield
        finally:
            ctx.prec = before


def round_up(formula: Callable[..., arb], *numbers: float | Fraction) -> float:
    """The least float provably not below formula(*numbers), enclosed more and more precisely until sharp."""
    ball = _enclosure(formula, numbers)
    nearest = _upper_end(ball)
    return nearest if nearest >= ball else math.nextafter(nearest, math.inf)


def round_up_decimal(formula: Callable[..., arb], *numbers: float | Fraction) -> float:
    """The least float whose decimal is provably not below formula(*numbers), a number that is not negative."""
    ball = _enclosure(formula, numbers)
    found = math.nextafter(_upper_end(ball), -math.inf)  # a decimal is less than a float away from its own float
    while found < math.inf and not _ball(decimal(found)) >= ball:
        found = math.nextafter(found, math.inf)
    return found


def least_float(value: Fraction) -> float:
    """The least float that is not below this number, found without rounding errors."""
    nearest = nearest_float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def decimal(number: float) -> Fraction:
    """What a float means to whoever typed it: the shortest decimal that it prints as, exactly."""
    return Fraction(repr(number))


def least_decimal(value: Fraction, power: int = 1) -> float:
    """The least float whose decimal, to the power 1 or 2, is at least this nonnegative number; exact."""
    found = math.nextafter(_nearest_root(value, power), -math.inf)
    while found < math.inf and not (found >= 0 and decimal(found) ** power >= value):
        found = math.nextafter(found, math.inf)
    return found


def largest_decimal(value: Fraction, power: int = 1) -> float:
    """The largest float whose decimal, to the power 1 or 2, is at most this nonnegative number; exact."""
    found = min(least_decimal(value, power), math.nextafter(math.inf, 0.0))
    return found if decimal(found) ** power <= value else math.nextafter(found, 0.0)


def _nearest_root(value: Fraction, power: int) -> float:
    """About the power-th root, to 60 bits before it is rounded."""
    if power == 1:
        return nearest_float(value)
    top, bottom = value.as_integer_ratio()
    return nearest_float(Fraction(math.isqrt(top * bottom << 128), bottom << 64))


def nearest_float(value: Fraction) -> float:
    """The float nearest to it, infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _enclosure(formula: Callable[..., arb], numbers: tuple[float | Fraction, ...]) -> arb:
    """A ball that holds formula(*numbers), small enough to round: precision is raised until 64 bits are certain."""
    for bits in (128, 384, 4500):
        with working_precision(bits):
            ball = formula(*map(_ball, numbers))
            nearest = _upper_end(ball)
        if nearest == 0 or ball.rel_accuracy_bits() >= 64:
            break
    return ball


def _ball(number: float | Fraction) -> arb:
    """The number as a ball: a float without error, a fraction to the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(*number.as_integer_ratio())) if isinstance(number, Fraction) else arb(number)


def _upper_end(ball: arb) -> float:
    """The float nearest to the upper end of a ball, infinite if it has none."""
    return float(ball.upper()) if ball.is_finite() else math.inf


def largest_float(value: Callable[[float], float], goal: float, *probes: float) -> float:
    """The largest positive float x with value(x) <= goal, for an increasing function; 0 if there is none.

    Bisects the bit patterns, which order the floats, or interpolates log value by the Illinois rule (Dowell,
    Jarratt 1971) where that is possible; the probes are tried first, from the last to the first.
    """
    bracket = _Bracket()
    untried = np.array(probes, float).view(np.int64).tolist()
    while bracket.high - bracket.low > 1:
        middle = untried.pop() if untried else bracket.guess()
        middle = min(max(middle, bracket.low + 1), bracket.high - 1)
        found = value(_float_of_bits(middle))
        if found <= goal:
            bracket.raise_low(middle, _log_ratio(found, goal))
        else:
            bracket.lower_high(middle, _log_ratio(found, goal))
    return _float_of_bits(bracket.low)


@dataclass
class _Bracket:
    """Bit patterns of two floats: at `low` the value is at most the goal, at `high` it is not.

    Until they are moved they are those of 0 and infinity. The gaps are log(value/goal), NaN where it is unknown.
    """

    low: int = 0
    high: int = 2047 << 52
    gap_low: float = math.nan
    gap_high: float = math.nan
    moved_low: bool = False  # by the last interpolation
    moved_high: bool = False

    @property
    def can_interpolate(self) -> bool:
        """The goal is known to lie between the values at both ends."""
        return self.gap_low < 0 < self.gap_high

    def guess(self) -> int:
        """Where a straight line between the gaps vanishes; the middle if they are unknown."""
        share = self.gap_low / (self.gap_low - self.gap_high) if self.can_interpolate else 0.5
        return self.low + int((self.high - self.low) * share)

    def raise_low(self, bits: int, gap: float) -> None:
        """Move `low`; if it moves twice in a row the other gap is halved, lest `high` stay for ever (Illinois)."""
        interpolated = self.can_interpolate
        if self.moved_low:
            self.gap_high /= 2
        self.low, self.gap_low = bits, min(gap, -LEAST_GAP)
        self.moved_low, self.moved_high = interpolated, False

    def lower_high(self, bits: int, gap: float) -> None:
        """Move `high`, in the same way."""
        interpolated = self.can_interpolate
        if self.moved_high:
            self.gap_low /= 2
        self.high, self.gap_high = bits, max(gap, LEAST_GAP)
        self.moved_low, self.moved_high = False, interpolated


def _log_ratio(found: float, goal: float) -> float:
    """log(found/goal), NaN where that is not a number."""
    ratio = found / goal
    return math.log(ratio) if 0 < ratio < math.inf else math.nan


def _float_of_bits(bits: int) -> float:
    """The float with this bit pattern."""
    return np.int64(bits).view(np.float64).item()
