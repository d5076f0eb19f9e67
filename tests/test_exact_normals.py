"""Normals by comparing digits: their law, the compiled code against the plain one, and the rounding.

Every statistical test rejects at p < 1e-8; there are fewer than 100 of them here. Each law has controls that must
fail: 3 % too much and too little noise (12 % where draws are few), and mistakes that are easily made with digits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from riemdp import exact_normals, randomness
from riemdp.exact_normals import (
    FixedPoint,
    Normal,
    Stream,
    add_normals,
    is_kept,
    is_kept_by_half,
    rounded_sum,
    standard_normal,
)
from riemdp.privacy.noise import add_gaussian, grid_step

LEVEL = 1e-8


class Given(Stream):
    """Digits of a seed, as many as it takes."""

    def __init__(self, seed, bits=16):
        super().__init__()
        self.bits, self._rng = bits, np.random.default_rng(seed)

    def _draw(self, count):
        fresh = self._rng.integers(0, 1 << self.bits, count).astype(np.uint16)
        self.drawn, self.position = np.concatenate([self.drawn[self.position :], fresh]), 0


@pytest.fixture(params=[2, 8, 16])
def bits(request, monkeypatch):
    """With few bits a digit, ties and digits that do not decide are the rule."""
    monkeypatch.setattr(exact_normals, "DIGIT_BITS", request.param)
    return request.param


def p_value(z):
    """Of 'independent standard normals': shape, mean and variance, Bonferroni."""
    n = len(z)
    squares = special.chdtr(n, z @ z)
    mean = 2 * special.ndtr(-abs(z.sum()) / math.sqrt(n))
    return 3 * min(stats.kstest(z, "norm").pvalue, mean, 2 * min(squares, 1 - squares))


def frequency_p_value(hits, n, probability):
    return stats.binomtest(hits, n, probability).pvalue


# --- the law ------------------------------------------------------------------------------------------------


def test_large_vectors_are_normal(bits):
    """From the few digits of the compiled code and from the many of the plain one, as they come."""
    n, scale = 12_000 if bits < 8 else 200_000, 0.7
    z = (add_normals(np.full(n, 0.3), scale, grid_step(scale)) - 0.3) / scale
    too_much = 1.03 if n > 10**5 else 1.12
    assert p_value(z) > LEVEL
    assert p_value(too_much * z) < LEVEL
    assert p_value(z / too_much) < LEVEL


def test_neighbouring_normals_are_independent():
    z = add_normals(np.zeros(200_000), 1.0, grid_step(1.0))
    product = z[:-1] * z[1:]
    assert 2 * special.ndtr(-abs(product.sum()) / math.sqrt(len(product))) > LEVEL
    assert frequency_p_value(int((product > 0).sum()), len(product), 0.5) > LEVEL


def test_the_tail_is_that_of_a_normal():
    z = add_normals(np.zeros(1_000_000), 1.0, grid_step(1.0))
    for limit in (3.0, 4.0):
        assert frequency_p_value(int((abs(z) > limit).sum()), len(z), 2 * special.ndtr(-limit)) > LEVEL


@pytest.mark.parametrize("bits", [1, 3, 16])
def test_steps_have_their_probabilities(bits):
    n, stream = 8000, Given(bits, bits)
    halves = sum(is_kept_by_half(stream) for _ in range(n))
    assert frequency_p_value(halves, n, math.exp(-0.5)) > LEVEL
    assert frequency_p_value(halves, n, math.exp(-0.6)) < LEVEL
    for whole in (0, 1, 4):
        fractions = [exact_normals.Uniform(stream) for _ in range(n)]
        kept = [is_kept(whole, x, stream) for x in fractions]
        x = np.linspace(0, 1, 20_001)
        expected = np.exp(-x * (2 * whole + x) / (2 * whole + 2)).mean()
        assert frequency_p_value(sum(kept), n, expected) > LEVEL


def halves_p_value(stream, n):
    """Of the exact probabilities of k + {0, 1/2} <= |z| < k + {1/2, 1}, by the first bit of the fraction."""
    normals = [standard_normal(stream) for _ in range(n)]
    cells = [2 * z.whole + (not z.fraction.is_below_half()) for z in normals]
    expected = 2 * n * np.diff(special.ndtr(np.r_[np.arange(7) / 2, np.inf]))
    return stats.chisquare(np.bincount(np.minimum(cells, 6), minlength=7), expected).pvalue


def test_digits_of_one_bit_are_enough():
    assert halves_p_value(Given(5, 1), 8000) > LEVEL


def equal_is_not_below(self, other):
    return self.digits[0] < other.digits[0]


def equal_is_below(self, other):
    return self.digits[0] <= other.digits[0]


@pytest.mark.parametrize("mistake", [equal_is_not_below, equal_is_below])
def test_mistakes_with_digits_would_show(mistake, monkeypatch):
    monkeypatch.setattr(exact_normals.Uniform, "is_below", mistake)
    assert halves_p_value(Given(5, 1), 30_000) < LEVEL


# --- the compiled code --------------------------------------------------------------------------------------


def plainly(values, scale, grid, stream):
    """The plain code alone."""
    return [
        rounded_sum(Fraction(x) / Fraction(grid), Fraction(scale) / Fraction(grid), standard_normal(stream))
        for x in values.tolist()
    ]


@pytest.mark.parametrize("bits", [2, 4, 8, 16])
@pytest.mark.parametrize(("scale", "grid"), [
    (1.0, 2.0**-20), (0.7, 2.0**-21), (math.pi, 2.0**-10), (1.0, 1.0), (1.9, 2.0**-51), (3e-200, 2.0**-683),
])  # fmt: skip
def test_compiled_and_plain_code_are_the_same_function_of_the_digits(bits, scale, grid):
    """Wherever the compiled code answers; where it does not, it leaves all digits to the plain one."""
    rng = np.random.default_rng(7)
    values = rng.standard_normal(300) * scale * 10.0 ** rng.integers(-30, 2, 300)
    fixed, stream, compared = FixedPoint.of(values, scale, grid), Given(3, bits), 0
    out = np.empty(len(values), np.int64)
    for start in range(len(values)):
        stream.provide(1)
        before, digits = stream.position, stream.drawn
        one = FixedPoint(fixed.wholes[: start + 1], fixed.fractions[: start + 1], fixed.mantissa, fixed.shift)
        decided = one.fill(out[: start + 1], start, stream)
        after, rest = stream.position, len(stream.drawn)
        stream.drawn, stream.position = digits, before
        [expected] = plainly(values[start : start + 1], scale, grid, stream)
        if decided:
            assert out[start] == expected
            compared += 1
            stream.position = after if rest == len(digits) else stream.position
        else:
            assert after == before
    assert compared > (5 if bits == 2 else 100)


def test_the_compiled_code_answers_nearly_always():
    fixed, stream = FixedPoint.of(np.zeros(5000), 1.0, grid_step(1.0)), Given(1)
    out, done, calls = np.empty(5000, np.int64), 0, 0
    while done < 5000:
        done += fixed.fill(out, done, stream)
        if done < 5000 and len(stream.drawn) - stream.position > 1000:
            calls += 1
            standard_normal(stream)
            done += 1
    assert calls < 25  # a tie of 16 bits once in some 4,000 normals


# --- the rounding -------------------------------------------------------------------------------------------


def test_rounding_looks_at_as_many_digits_as_it_takes():
    """z just above and just below 1/2: the first digits agree with both."""
    for last, expected in ((0, 0), (1, 1)):
        stream = Given(0, 1)
        stream.drawn, stream.position = np.array([0] + [1] * 200 + [last], np.uint16), 0
        fraction = exact_normals.Uniform(stream)  # 0.0111...1 or 0.0111...0, then more
        z = Normal(1, 0, fraction)
        center = Fraction(0) if last == 0 else Fraction(1, 2**201)
        assert rounded_sum(center, Fraction(1), z) == expected
        assert len(fraction.digits) > 190


@pytest.mark.parametrize("x", [0.0, -0.0, 5e-324, -5e-324, 1e-30, -1e-30, 0.3, -0.3, 2.0**61, -(2.0**61), 1e300])
def test_values_in_units_of_the_grid(x):
    fixed = FixedPoint.of(np.array([x]), 1.0, 2.0**-20)
    exact = Fraction(x) * 2**20
    if abs(exact) >= 2**62:
        assert fixed is None
    else:
        told = Fraction(int(fixed.wholes[0])) + Fraction(int(fixed.fractions[0]), 2**64)
        assert abs(told - exact) <= Fraction(1, 2**52)
        assert Fraction(fixed.mantissa, 2**fixed.shift) == 2**20


@pytest.mark.parametrize(("scale", "grid"), [(1e300, grid_step(1e300)), (1e-300, grid_step(1e-300)), (1.0, 2.0**-90)])
def test_any_scale_and_grid(scale, grid):
    """The grid of the last is too fine for the compiled code."""
    size = 300 if FixedPoint.of(np.zeros(1), scale, grid) is None else 20_000
    released = add_normals(np.zeros(size), scale, grid)
    assert p_value(released / scale) > LEVEL
    assert all((Fraction(y) / Fraction(grid)).denominator == 1 for y in released[:50].tolist())


def test_every_residue_of_the_grid_is_as_likely():
    for x in (0.0, math.pi, -1e8):
        released = add_gaussian(np.full(2**15, x), 1.0, grid_step(1.0)) / grid_step(1.0)
        counts = np.bincount(np.mod(released, 8).astype(int), minlength=8)
        assert stats.chisquare(counts).pvalue > LEVEL


# --- where the digits come from -------------------------------------------------------------------------------


@pytest.mark.system_randomness
def test_no_two_calls_share_digits():
    first, second = (add_normals(np.zeros(500), 1.0, grid_step(1.0)) for _ in range(2))
    assert len(set(first) & set(second)) < 5


def test_digits_are_the_operating_systems(monkeypatch):
    asked = []

    def urandom(count):
        asked.append(count)
        return np.random.default_rng(len(asked)).bytes(count)

    monkeypatch.setattr(randomness.os, "urandom", urandom)
    released = add_normals(np.zeros(1000), 1.0, grid_step(1.0))
    taken, asked[:] = list(asked), []
    assert (add_normals(np.zeros(1000), 1.0, grid_step(1.0)) == released).all()
    assert asked == taken
    assert sum(taken) > 2 * 17 * 1000
