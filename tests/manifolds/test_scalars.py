"""The scalar functions of the comparison geometries against 60 digits, through zero and across their seams."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import manifolds.exact  # noqa: F401  (sets 60 digits)
from riemdp.manifolds import scalars

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
