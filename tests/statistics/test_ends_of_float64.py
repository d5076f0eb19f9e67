"""Public choices at the ends of what is allowed: whatever is not refused beforehand is released, without a word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import riemdp as rd
from riemdp.manifolds.transport import transport


@pytest.fixture(autouse=True)
def only_public_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", rd.UselessRelease)
        warnings.simplefilter("ignore", rd.NoAdaptation)
        yield


def at_centre(ball, n):
    return np.stack([ball.center] * n)


@pytest.mark.parametrize("space", [rd.Euclidean(3), rd.Hyperbolic(2), rd.SPDAffine(2), rd.HPDAffine(2)], ids=repr)
@pytest.mark.parametrize("radius", [1e-100, 1e-81, 1e77, 9e99])
@pytest.mark.parametrize("guarantee", [rd.GDP(0.2), rd.PureDP(1.0)], ids=repr)
def test_summaries_in_balls_of_any_size(space, radius, guarantee):
    """Once, the fourth power of a large radius was beyond float64, after the release was paid for."""
    ball = rd.Ball(space, space.origin, radius)
    made = rd.private_summary(at_centre(ball, 3), ball, guarantee, second="full")
    assert np.isfinite(made.covariance).all()
    assert np.isfinite(made.modes(1).variances).all()


@pytest.mark.parametrize("space", [rd.Torus(3), rd.Euclidean(2)], ids=repr)
@pytest.mark.parametrize("radius", [1e-100, 3e-97])
def test_bodies_do_not_shrink_below_the_smallest_ball(space, radius):
    """Once, a shape that was found on the way asked for a ball of radius below 1e-100."""
    lengths = np.geomspace(1e-3, 1.0, space.dim)
    shape = rd.Ellipsoid(space, space.origin, lengths, radius)
    for _ in range(5):
        assert rd.private_mean(at_centre(shape.ball, 300), shape, rd.ZCDP(1e4), adapt=True).n == 300


def test_velocities_that_float64_cannot_hold_are_refused():
    """Once, that of a large ball within hardly any time was infinite."""
    ball, close = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 9e99), (0.0, 1e-300)
    with pytest.raises(rd.InputError, match="too close to each other"):
        rd.private_regression(at_centre(ball, 9), np.zeros(9), ball, rd.GDP(1.0), t_bounds=close)
    small = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 0.1)
    made = rd.private_regression(at_centre(small, 9), np.zeros(9), small, rd.GDP(1.0), t_bounds=close)
    assert np.isfinite(made.velocity).all()


@pytest.mark.parametrize("guarantee", [rd.GDP(1e-18), rd.ZCDP(1e-30), rd.PureDP(1e-12)], ids=repr)
@pytest.mark.parametrize("model", [rd.PrivateLDA, rd.PrivateLogisticRegression])
def test_classifiers_of_nothing_but_noise(model, guarantee):
    """Once, a covariance made of noise had no Cholesky factor."""
    space = rd.SPDLogEuclidean(6)
    ball = rd.Ball(space, np.eye(6), 0.89)
    for _ in range(5):
        fitted = model(ball=ball, guarantee=guarantee, classes=[0, 1, 2]).fit(at_centre(ball, 2), [0, 1])
        assert np.isfinite(fitted.release_.value).all()


@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(0.1), rd.ZCDP(0.3)], ids=repr)
@pytest.mark.parametrize("rounds", [1, 2, 7])
@pytest.mark.parametrize("left", [1e-16, 3e-16, 1e-12, 1e-7, 2e-6])
def test_rounds_that_leave_next_to_nothing(guarantee, rounds, left):
    """Once, shares that add up to all but a rounding were accepted, and stopped by an assertion when all was paid."""
    center = 0.3 / rounds
    radius = (0.7 - left) / rounds
    if left < 1e-6:
        with pytest.raises(rd.InputError, match="leave nothing for the mean"):
            rd.Adaptation(rounds=rounds, center_share=center, radius_share=radius)
        return
    ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    how = rd.Adaptation(rounds=rounds, center_share=center, radius_share=radius)
    assert rd.private_mean(at_centre(ball, 3000), ball, guarantee, adapt=how).n == 3000


def test_a_regression_far_from_the_origin_says_nothing_of_overflows():
    plane = rd.Hyperbolic(2)
    far = plane.exp(plane.from_coordinates(np.array([500.0, 260.0]), plane.origin), plane.origin)
    ball, t = rd.Ball(plane, far, 0.5), np.linspace(0, 1, 64)
    fit = rd.private_regression(at_centre(ball, 64), t, ball, rd.GDP(1e40), t_bounds=(0, 1))
    assert np.isfinite(fit.velocity).all()


def test_a_velocity_that_float64_cannot_hold_is_shortened():
    space = rd.SPDAffine(2)
    ball, t = rd.Ball(space, 1e200 * np.eye(2), 0.3), np.linspace(0, 1e-150, 64)
    fit = rd.private_regression(at_centre(ball, 64), t, ball, rd.GDP(1e-9), t_bounds=(0, 1e-150))
    assert np.isfinite(fit.velocity).all()
    assert np.array_equal(rd.Release.from_dict(fit.to_dict()).velocity, fit.velocity)


@pytest.mark.parametrize("length", [350.0, 500.0, 700.0])
def test_vectors_are_carried_to_the_end_of_float64_without_a_word(length):
    space = rd.Hyperbolic(5)
    ends = [space.exp_coords(np.array([sign * length, 0.0, 1.0, 0.0, 0.0]), space.read(space.origin, "origin")) for sign in (-1, 1)]
    turned = transport(space, *ends)
    np.testing.assert_allclose(turned @ turned.T, np.eye(5), atol=1e-12)
