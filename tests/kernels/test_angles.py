"""Angles from cosines, compiled and not, against 40 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import riemdp as rd
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import kernels_for
from riemdp.manifolds.local_model import MANY, Angles

TINY_ANGLES = np.logspace(-11, -1, 150)
COSINES = np.concatenate([np.linspace(-0.999, 1, 801), 1 - TINY_ANGLES, TINY_ANGLES - 1, [0.5, -0.5, 0.0]])


def exact_stretch(cosine: float) -> float:
    with mpmath.workdps(40):
        c = mpmath.mpf(cosine)
        return float(mpmath.acos(c) / mpmath.sqrt((1 - c) * (1 + c))) if c < 1 else 1.0


@pytest.mark.parametrize("records", [0, MANY])
def test_angle_over_sine_is_right_to_the_last_digits(records):
    with kernels_for(records):
        found = Angles.of(COSINES).stretch
    exact = np.array([exact_stretch(c) for c in COSINES])
    assert np.abs(found / exact - 1).max() <= 8 * UNIT_ROUNDOFF


@pytest.mark.parametrize("records", [0, MANY])
def test_cosines_a_little_outside_and_antipodes_stay_finite(records):
    with kernels_for(records):
        angles = Angles.of(np.array([[1 + 1e-15, -1 - 1e-15], [1.0, -1.0]]))
    assert np.array_equal(angles.cosine, [[1, -1], [1, -1]])
    assert np.array_equal(angles.stretch, np.ones((2, 2)))  # of an antipode no direction counts


def test_the_compiled_code_is_chosen_by_the_number_of_angles():
    cosines = np.resize(COSINES, MANY)
    with kernels_for(MANY):
        compiled = Angles.of(COSINES).stretch
    assert np.array_equal(Angles.of(cosines).stretch[: len(COSINES)], compiled)
    assert not np.array_equal(Angles.of(COSINES).stretch, compiled)  # the last digits tell them apart


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_cosine_is_no_angle(value):
    for records in (0, MANY):
        with kernels_for(records), np.errstate(invalid="ignore"):
            found = Angles.of(np.array([value, 0.5])).stretch
        assert np.isnan(found[0]) == np.isnan(value)
        assert np.isfinite(found[1])


@pytest.mark.parametrize("records", [0, MANY])
def test_bends_are_right_where_they_are_used(records):
    cosines = COSINES[(1 - COSINES) * (1 + COSINES) > 1e-3]
    with kernels_for(records):
        found, near = Angles.of(cosines).bend, Angles.of(np.array([1.0, 1 - 1e-10])).bend
    with mpmath.workdps(40):
        exact = [float((1 - c * mpmath.mpf(exact_stretch(float(c)))) / (1 - c * c)) for c in map(mpmath.mpf, cosines)]
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    np.testing.assert_allclose(near, 1 / 3, rtol=1e-8)


@pytest.mark.parametrize("bad", [None, 1 + 1e-14, 1 - 1e-14, 0.0, np.nan, np.inf])
def test_many_rows_are_looked_at_one_by_one(bad):
    space = rd.Sphere(4, curvature=0.3)
    points = space.random_point(MANY, 0)
    if bad is not None:
        points[4711] *= bad
    with np.errstate(invalid="ignore"):
        assert (space.settle(points) is points) == (bad is None)


def test_the_weighted_second_moment_is_the_sum_of_squares():
    from riemdp.kernels.angles import second_moment

    rng = np.random.default_rng(0)
    rows, weights, moment = rng.standard_normal((999, 3)), rng.standard_normal(999), np.empty((3, 3))
    second_moment(rows, weights, moment)
    np.testing.assert_allclose(moment, np.einsum("i,ij,ik->jk", weights, rows, rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_the_step_of_a_mean_is_the_same_with_and_without_compiled_code(d):
    space = rd.Sphere(d, curvature=0.3)
    points, x, g = space.random_point(500, 1), space.random_point(1, 2)[0], 1e-3 * np.arange(1.0, d + 1)
    steps = []
    for records in (0, MANY):
        with kernels_for(records):
            steps.append(space.local_model(points, x).step(g))
    np.testing.assert_allclose(*steps, rtol=1e-12)
    assert np.linalg.norm(steps[0] / g - 1) > 0.01  # far from doing nothing
