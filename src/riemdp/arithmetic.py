"""Ball arithmetic with flint's `arb`: formulas enclosed, and rounded to the side that is asked for."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

import riemdp.forking  # noqa: F401  flint is imported by whoever computes first, maybe beside a fork()

if TYPE_CHECKING:
    from flint import arb

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
    """The least float that is not below; exact."""
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
    top, bottom = value.as_integer_ratio()
    return nearest_float(value if power == 1 else Fraction(math.isqrt(top * bottom << 128), bottom << 64))


def nearest_float(value: Fraction) -> float:
    """The float nearest to it, infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _enclosure(formula: Callable[..., arb], numbers: tuple[float | Fraction, ...]) -> arb:
    for bits in (128, 384, 4500):
        with working_precision(bits):
            ball = formula(*map(_ball, numbers))
            nearest = _upper_end(ball)
        if nearest == 0 or ball.rel_accuracy_bits() >= 64:
            break
    return ball


def _ball(number: float | Fraction) -> arb:
    from flint import arb, fmpq

    return arb(fmpq(*number.as_integer_ratio())) if isinstance(number, Fraction) else arb(number)


def _upper_end(ball: arb) -> float:
    """The float nearest to it."""
    return float(ball.upper()) if ball.is_finite() else math.inf


def largest_float(value: Callable[[float], float], goal: float, *probes: float) -> float:
    """The largest positive float x with value(x) <= goal, for an increasing function; 0 if there is none.

    Bisects the bit patterns, which order the floats, or interpolates log value by the Illinois rule (Dowell,
    Jarratt 1971) where that is possible; the probes are tried first, from the last to the first.
    """
    low, high, left, right, side = 0, 2047 << 52, math.nan, math.nan, 0  # left, right: log(value/goal)
    untried = np.array(probes, float).view(np.int64).tolist()
    while high - low > 1:
        known = left < 0 < right
        share = left / (left - right) if known else 0.5
        middle = untried.pop() if untried else low + int((high - low) * share)
        middle = min(max(middle, low + 1), high - 1)
        found = value(np.int64(middle).view(np.float64).item())
        gap = math.log(found / goal) if 0 < found / goal < math.inf else math.nan
        if found <= goal:
            low, left, right, side = middle, min(gap, -(2.0**-53)), right / (2 if side < 0 else 1), -known
        else:
            high, left, right, side = middle, left / (2 if side > 0 else 1), max(gap, 2.0**-53), +known
    return np.int64(low).view(np.float64).item()
