"""The scalar functions of the comparison geometries against 60 digits, through zero and across their seams."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import manifolds.exact  # noqa: F401  (sets 60 digits)
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds import scalars
from riemdp.manifolds.scalars import SHORT, norm, unit
from riemdp.manifolds.sphere import Sphere, _from_pole, _to_pole

POSITIVE = np.concatenate([10.0 ** np.linspace(-300, 0, 61), [9.99e-5, 1e-4, 1.01e-4], np.linspace(0.01, 3.1, 50)])
LARGE = np.concatenate([POSITIVE, np.linspace(3, 600, 40)])


def quotient(over, under):
    return lambda t: over(t) / under(t) if t else mp.mpf(1)


FUNCTIONS = {
    "sinc": (quotient(mp.sin, mp.mpf), POSITIVE),
    "sinhc": (quotient(mp.sinh, mp.mpf), LARGE),
    "t_coth": (quotient(mp.mpf, mp.tanh), LARGE),
    "t_cot": (quotient(mp.mpf, mp.tan), np.concatenate([POSITIVE, [3.14, 3.14159]])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_accurate_to_a_few_units_of_roundoff(name):
    truth, t = FUNCTIONS[name]
    function = getattr(scalars, name)
    expected = np.array([float(truth(mp.mpf(v))) for v in t.tolist()])
    # Near a zero (t cot t at pi/2) the error is that of the argument.
    np.testing.assert_allclose(function(t), expected, rtol=2e-15, atol=4e-16)
    np.testing.assert_array_equal(function(-t), function(t))
    assert function(np.zeros(1)) == 1.0


def test_log_sinhc_does_not_overflow():
    t = np.concatenate([LARGE, [1e3, 1e100]])
    expected = [float(mp.log(mp.sinh(mp.mpf(v)) / mp.mpf(v))) if v < 1e50 else v for v in t.tolist()]
    np.testing.assert_allclose(scalars.log_sinhc(t), expected, rtol=1e-7, atol=4e-16)
    np.testing.assert_allclose(scalars.log_sinhc(t[t > 0.1]), np.array(expected)[t > 0.1], rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_norms_neither_underflow_nor_overflow(scale):
    x = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(scalars.norm(x * scale), [5 * scale, 0.0], rtol=1e-15)
    np.testing.assert_allclose(scalars.norm(x * scale * 1j), [5 * scale, 0.0], rtol=1e-15)
    np.testing.assert_allclose(scalars.unit(x[:1] * scale), [[0.6, 0.0, 0.8]], rtol=1e-15)


def test_directions_of_subnormal_vectors_have_length_one():
    unit = scalars.unit(np.array([[5e-324, 5e-324], [5e-324, 0.0]]))
    np.testing.assert_allclose(unit, [[np.sqrt(0.5), np.sqrt(0.5)], [1, 0]], rtol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3, 10, SHORT, SHORT + 1, 40])
def test_one_vector_has_the_bits_that_it_has_among_many(k):
    rng = np.random.default_rng(k)
    many = rng.standard_normal((500, k)) * 10.0 ** rng.integers(-300, 300, (500, 1))
    assert np.array_equal(norm(many), [norm(x) for x in many])
    assert np.array_equal(unit(many), [unit(x) for x in many])
    for x, length in zip(many, norm(many), strict=True):
        exact = mp.sqrt(mp.fsum(mp.mpf(part) ** 2 for part in x.tolist()))
        assert abs(length / exact - 1) <= (2 + k / 2) * UNIT_ROUNDOFF


@pytest.mark.parametrize("d", [1, 2, 9, SHORT - 1, SHORT, 20])
def test_so_have_its_coordinates_at_a_point_of_a_sphere(d):
    rng = np.random.default_rng(d)
    p, v, c = unit(rng.standard_normal((200, d + 1))), rng.standard_normal((200, d + 1)), rng.standard_normal((200, d))
    assert np.array_equal(_to_pole(v, p), [_to_pole(x, y) for x, y in zip(v, p, strict=True)])
    assert np.array_equal(_from_pole(c, p), [_from_pole(x, y) for x, y in zip(c, p, strict=True)])
    space, step = Sphere(d, curvature=0.7), c * np.logspace(-9, 1, 200)[:, None]
    assert np.array_equal(space.exp_coords(step, p), [space.exp_coords(x, y) for x, y in zip(step, p, strict=True)])


@pytest.mark.parametrize("odd", [[np.nan, 0, 1], [0, np.nan, 0], [1, 2, np.nan], [np.inf, 1, 0], [-np.inf, np.inf, 0]])
def test_what_is_not_finite_has_no_length(odd):
    with np.errstate(invalid="ignore"):
        assert np.isnan(norm(np.array(odd)))
        assert np.isnan(norm(np.array([odd]))).all()


def test_lengths_of_nothing_and_of_the_smallest_number():
    assert norm(np.zeros(3)) == norm(np.zeros((2, 3))).max() == norm(np.zeros((2, 0))).max() == 0
    assert norm(np.array([5e-324, 0.0])) == 5e-324
