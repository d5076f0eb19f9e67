"""The flat torus: angles that jump, means that do not, and laws on the cube."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.manifolds.torus import wrapped
from riemdp.statistics.fill import BESIDE_FRECHET
from riemdp.statistics.sensitivity import SOLVER_SHARE

SPACE = rd.Torus(3)


def test_it_is_a_product_of_circles_in_other_words():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-10, 10, (2, 40, 3))
    circles = rd.Product(*[rd.Sphere(1)] * 3)

    def on_circles(x):
        return np.stack([np.cos(x), np.sin(x)], axis=-1).reshape(-1, 6)

    np.testing.assert_allclose(SPACE.dist(a, b), circles.dist(on_circles(a), on_circles(b)), rtol=1e-12)
    x = SPACE.project(a * 0.1 + 3.1)  # around the jump
    mean, same = rd.frechet_mean(x, SPACE).point, rd.frechet_mean(on_circles(x), circles).point
    np.testing.assert_allclose(on_circles(mean[None])[0], same, atol=1e-12)


def test_project_takes_whole_turns_off():
    np.testing.assert_allclose(rd.Torus(1).project([[7.0], [-4.0], [np.pi], [1e6]])[:3, 0], [7 - 2 * np.pi, 2 * np.pi - 4, np.pi])


def test_large_angles_come_between_minus_pi_and_pi_too():
    """Once, of 1e18 some 256 radians were left; exact remainders are no larger than half a turn."""
    x = np.array([[1e18], [-1e300], [1e16 + 2], [1e6], [5e-324]])
    points = rd.Torus(1).project(x)
    assert np.all(np.abs(points) <= np.pi)
    np.testing.assert_array_equal(points[-1], x[-1])
    made = rd.private_mean(np.zeros((3, 1)), rd.Ball(rd.Torus(1), [0.0], 0.5), rd.GDP(1e-18), mechanism="wrapped-gaussian")
    assert np.all(np.abs(made.value) <= np.pi)


def test_angles_have_the_same_bits_whoever_their_neighbours_are():
    """If all are between -pi and pi nothing is taken off; with a larger one among them, nothing of the others is."""
    x = np.array([0.0, -0.0, 5e-324, 1.0, -3.1, np.pi, -np.pi])
    alone, together = wrapped(x), wrapped(np.append(x, 7.0))[:-1]
    assert alone.tobytes() == together.tobytes()
    assert alone is not x


def test_angles_all_over_have_no_certified_mean():
    with pytest.raises(rd.ConvergenceError, match=r"radius 1\.571"):
        rd.frechet_mean(np.random.default_rng(0).uniform(-np.pi, np.pi, (500, 3)), SPACE)


def test_the_sensitivity_is_that_of_a_flat_space():
    """But for what the solver may be off by, twice over, and what the fill of the ball costs beside a Fréchet mean."""
    ball = rd.Ball(SPACE, [3.0, 0.0, -3.0], 1.3)
    flat = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.3)
    ours, theirs = (rd.plan(b, 1000, rd.GDP(1.0))[0].sensitivity for b in (ball, flat))
    fill = np.hypot(1, 1 / (2 * BESIDE_FRECHET))
    assert theirs < ours < theirs * fill * (1 + 2 * SOLVER_SHARE) * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "wrapped-laplace", "riemannian-laplace", "kng"])
def test_releases_around_the_jump(mechanism):
    x = np.random.default_rng(1).normal(np.pi, 0.3, (4000, 3))
    guarantee = rd.GDP(20.0) if mechanism == "wrapped-gaussian" else rd.PureDP(20.0)
    release = rd.private_mean(x, rd.Ball(SPACE, [np.pi] * 3, 1.4), guarantee, mechanism=mechanism)
    assert (np.abs(release.value) <= np.pi).all()
    assert SPACE.dist(release.value, [np.pi] * 3) < 0.1


def test_wide_laws_fill_the_cube_evenly():
    """A Riemannian Gaussian of an enormous scale is uniform, at p > 1e-6; within the ball of radius pi alone it is not."""
    draws = rd.RiemannianGaussian(rd.Torus(2), np.zeros(2), 1e6).sample(20_000, 1)
    assert stats.kstest(draws[:, 0], stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-6
    inside = draws[np.linalg.norm(draws, axis=1) < np.pi]
    assert stats.kstest(inside[:, 0], stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue < 1e-6
