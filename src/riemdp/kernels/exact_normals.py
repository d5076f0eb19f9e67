"""Compiled algorithm N, rounded: many normals a second, by the first digit of every uniform number alone.

The same function of the digits as riemdp.exact_normals, step by step, or no answer: where two digits are equal, where
they run out, or where 64 bits of a normal do not decide how it is rounded, it stops before that normal.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, uint64
from numba.core.types import Array as ArrayType
from numba.core.types import uint16

from riemdp.kernels.blocks import helper, options

Array = np.ndarray[Any, Any]
Word = Any  # 64 bits without a sign, which numba would turn into a float beside a signed number
NO, YES, OPEN = 0, 1, -1  # answers; open: the digits do not say
HALF_WORD = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
CUT = np.uint64(1 << 13)
ONE_HALF = np.uint64(1 << 63)  # of a unit, as a fraction of 64 bits


@helper
def _next(digits: Array, at: Array) -> int:
    """The next digit; OPEN if there is none."""
    if at[0] >= digits.shape[0]:
        return OPEN
    at[0] += 1
    return int(digits[at[0] - 1])


@helper
def _is_below(first: int, second: int) -> int:
    """Whether one uniform number is below another, by a digit of each."""
    if first < 0 or second < 0 or first == second:
        return OPEN
    return YES if first < second else NO


@helper
def _is_kept_by_half(digits: Array, half: int, at: Array) -> int:
    """YES with probability exp(-1/2); OPEN where digits run out or are equal."""
    last = _next(digits, at)
    if last < 0:
        return OPEN
    if last >= half:
        return YES
    terms = 1
    while True:
        following = _next(digits, at)
        below = _is_below(following, last)
        if below == OPEN:
            return OPEN
        if below == NO:
            return YES if terms % 2 == 0 else NO
        last, terms = following, terms + 1


@helper
def _whole_below(limit: int, digits: Array, bits: int, at: Array) -> int:
    """A uniform whole number below the limit; OPEN where digits run out."""
    places, size = 1, 1 << bits
    while size <= limit:
        places, size = places + 1, size << bits
    while True:
        number = 0
        for _ in range(places):
            digit = _next(digits, at)
            if digit < 0:
                return OPEN
            number = number << bits | digit
        if number < size - size % limit:
            return number % limit


@helper
def _is_lucky(whole: int, fraction: int, digits: Array, bits: int, at: Array) -> int:
    """YES with probability (2k + x)/(2k + 2); OPEN where a digit does not decide."""
    chosen = _whole_below(2 * whole + 2, digits, bits, at)
    if chosen != 2 * whole:
        return OPEN if chosen < 0 else (YES if chosen < 2 * whole else NO)
    is_below: int = _is_below(_next(digits, at), fraction)
    return is_below


@helper
def _is_kept(whole: int, fraction: int, digits: Array, bits: int, at: Array) -> int:
    """YES with probability exp(-x (2k + x)/(2k + 2)); OPEN where a digit does not decide."""
    last, terms = fraction, 0
    while True:
        following = _next(digits, at)
        goes_on = _is_below(following, last)
        if goes_on == YES:
            goes_on = _is_lucky(whole, fraction, digits, bits, at)
        if goes_on == OPEN:
            return OPEN
        if goes_on == NO:
            return YES if terms % 2 == 0 else NO
        last, terms = following, terms + 1


@helper
def _whole_part(digits: Array, half: int, at: Array) -> int:
    """k with probability ∝ exp(-k²/2), or a negative number: -2 to try again, OPEN."""
    whole = 0
    while True:
        kept = _is_kept_by_half(digits, half, at)
        if kept == OPEN:
            return OPEN
        if kept == NO:
            break
        whole += 1
    for _ in range(whole * (whole - 1)):
        kept = _is_kept_by_half(digits, half, at)
        if kept != YES:
            return OPEN if kept == OPEN else -2
    return whole


@helper
def _is_kept_often(whole: int, fraction: int, digits: Array, bits: int, at: Array) -> int:
    """YES with probability exp(-x (2k + x)/2): kept k + 1 times; OPEN as above."""
    for _ in range(whole + 1):
        kept: int = _is_kept(whole, fraction, digits, bits, at)
        if kept != YES:
            return kept
    return YES


@helper
def _standard_normal(digits: Array, bits: int, at: Array, found: Array) -> int:
    """(whole part, first digit of the fraction, 1 if negative) into `found`; YES, or OPEN."""
    half = 1 << (bits - 1)
    while True:
        whole = _whole_part(digits, half, at)
        if whole == OPEN:
            return OPEN
        if whole < 0:
            continue
        fraction = _next(digits, at)
        if fraction < 0:
            return OPEN
        kept = _is_kept_often(whole, fraction, digits, bits, at)
        if kept == OPEN:
            return OPEN
        if kept == YES:
            break
    sign = _next(digits, at)
    if sign < 0:
        return OPEN
    found[0], found[1], found[2] = whole, fraction, sign >= half
    return YES


@helper
def _fraction_bits(first: int, digits: Array, bits: int, at: Array) -> tuple[bool, Word]:
    """The fraction's first 64 bits, from its first digit and new ones; whether there were enough."""
    fraction = np.uint64(first)
    for _ in range(64 // bits - 1):
        digit = _next(digits, at)
        if digit < 0:
            return False, np.uint64(0)
        fraction = (fraction << np.uint64(bits)) | np.uint64(digit)
    return True, fraction


@helper
def _high_product(a: Word, b: Word) -> Word:
    """The upper 64 bits of the product of two numbers of 64 bits."""
    a_low, a_high = a & LOW_HALF, a >> HALF_WORD
    b_low, b_high = b & LOW_HALF, b >> HALF_WORD
    middle = a_high * b_low + (a_low * b_low >> HALF_WORD)
    other = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> HALF_WORD) + (other >> HALF_WORD)


@njit(
    int64(
        ArrayType(uint16, 1, "C", readonly=True), int64, int64[::1],
        ArrayType(int64, 1, "C", readonly=True), ArrayType(uint64, 1, "C", readonly=True),
        uint64, int64, int64[::1],
    ),
    **options,
)  # fmt: skip
def rounded_normals(
    digits: Array, bits: int, at: Array, wholes: Array, fractions: Array, mantissa: Word, shift: int, out: Array
) -> int:
    """floor(c_j + s z_j + 1/2) into `out`; how many, from the first on; `at` is where the digits of the next begin.

    c_j is within 2^-52 of wholes_j + fractions_j 2^-64, and s = mantissa 2^-shift, 0 <= shift < 64, mantissa < 2^53.
    A fraction of z that is known to 64 bits leaves s z within mantissa 2^(-64 - shift), and cutting it to 64 bits adds
    less than 2^-64: nearer than all this to a whole number, nothing is decided.
    """
    found = np.zeros(3, np.int64)
    down = np.uint64(shift)
    doubt = (mantissa >> down) + CUT
    for j in range(len(out)):
        start = at[0]
        answered = _standard_normal(digits, bits, at, found) == YES
        enough, fraction = False, np.uint64(0)
        if answered:
            enough, fraction = _fraction_bits(found[1], digits, bits, at)
        high = _high_product(mantissa, fraction) + mantissa * np.uint64(found[0])
        low = mantissa * fraction
        size = np.int64(high >> down)
        part = low >> down
        if shift > 0:
            part |= high << (np.uint64(64) - down)
        place = fractions[j] + ONE_HALF
        whole = wholes[j] + (1 if place < ONE_HALF else 0)
        if found[2]:
            whole -= size + (1 if place < part else 0)
            place -= part
        else:
            place += part
            whole += size + (1 if place < part else 0)
        if not enough or place < doubt or ~place < doubt:
            at[0] = start
            return j
        out[j] = whole
    return len(out)
