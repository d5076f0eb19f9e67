"""The simplex: counts, the sphere that it is a part of, and what happens at its edge."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from riemdp.testing import check_space

SPACE = rd.Simplex(4)


def shares(n=50, seed=0, k=4, concentration=1.0):
    return np.random.default_rng(seed).dirichlet(np.full(k, concentration), n)


def test_distances_are_fisher_and_rao():
    p, q = shares(), shares(seed=1)
    np.testing.assert_allclose(SPACE.dist(p, q), 2 * np.arccos(np.sqrt(p * q).sum(axis=1)), rtol=1e-10)
    u, v = (x - x.mean(axis=1, keepdims=True) for x in (shares(seed=2), shares(seed=3)))
    np.testing.assert_allclose(SPACE.inner(u, v, p), (u * v / p).sum(axis=1), rtol=1e-9, atol=1e-12)


def test_inside_it_keeps_the_axioms():
    """Around the middle, with vectors that do not reach the edge."""
    rng, base = np.random.default_rng(0), shares(20, concentration=50.0)
    c = rng.standard_normal((20, 3))
    c *= 0.3 / np.linalg.norm(c, axis=1, keepdims=True)
    vectors = SPACE.from_coordinates(c, base)
    ends = SPACE.exp(vectors, base)
    np.testing.assert_allclose(SPACE.coordinates(vectors, base), c, atol=1e-12)
    np.testing.assert_allclose(SPACE.dist(base, ends), 0.3, atol=1e-12)
    np.testing.assert_allclose(SPACE.log(ends, base), vectors, atol=1e-12)
    np.testing.assert_allclose(vectors.sum(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(ends.sum(axis=1), 1, atol=1e-14)


def test_project_takes_counts_and_refuses_what_is_none():
    np.testing.assert_allclose(SPACE.project([[3, 1, 0, 0], [10, 10, 10, 10]]), [[0.75, 0.25, 0, 0], [0.25] * 4])
    assert SPACE.contains([[0.5, 0.5, 0, 0], [0.5, 0.6, 0, 0], [-0.5, 0.5, 0.5, 0.5], [1, -1e-12, 0, 0]]).tolist() == [True, False, False, True]
    for bad in ([0, 0, 0, 0], [1, 1, 1, -1], [1, np.nan, 1, 1]):
        with pytest.raises(rd.InputError, match="cannot be projected"):
            SPACE.project(bad)


@pytest.mark.parametrize("concentration", [0.1, 1.0, 10.0])
def test_means_stay_inside_and_are_those_of_the_sphere(concentration):
    x = shares(300, concentration=concentration)
    x[:40, 0] = 0  # on an edge
    x = SPACE.project(x)
    mean = rd.frechet_mean(x, SPACE)
    same = rd.frechet_mean(np.sqrt(x), rd.Sphere(3)).point
    assert (same > 0).all()
    np.testing.assert_allclose(mean.point, same**2, atol=1e-12)


@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "wrapped-laplace", "riemannian-laplace", "kng"])
def test_releases_are_shares_even_with_much_noise(mechanism):
    guarantee = rd.GDP(0.5) if mechanism == "wrapped-gaussian" else rd.PureDP(0.5)
    ball = rd.Ball.largest(SPACE)
    release = rd.private_mean(shares(30), ball, guarantee, mechanism=mechanism)
    assert (release.value >= 0).all()
    assert abs(release.value.sum() - 1) < 1e-12
    assert rd.Release.from_dict(release.to_dict()).space == SPACE


def test_reflection_takes_no_release_farther_from_any_point():
    rng, sphere = np.random.default_rng(3), rd.Sphere(3, curvature=0.25)
    out, inside = sphere.project(rng.standard_normal((500, 4))), shares(500)
    written = SPACE.write(out, SPACE.origin)
    assert (SPACE.dist(written, inside) <= sphere.dist(out, 2 * np.sqrt(inside)) + 1e-12).all()


@pytest.mark.parametrize("k", [2, 5, 40])
def test_the_whole_simplex_is_in_its_largest_ball(k):
    ball = rd.Ball.largest(rd.Simplex(k))
    corners = ball.space.dist(np.eye(k), ball.center)
    assert corners.max() <= ball.radius <= corners.max() * (1 + 1e-12)
    rd.plan(ball, 1000, rd.GDP(1.0))


def test_bounded_spaces_alone_have_a_largest_ball():
    with pytest.raises(rd.InputError, match="no largest one"):
        rd.Ball.largest(rd.SPDAffine(3))
    assert rd.Ball.largest(rd.Sphere(2)).radius == pytest.approx(0.9 * np.pi / 2)


def test_records_that_are_no_shares_count_as_the_centre():
    x, ball = shares(100), rd.Ball(SPACE, SPACE.origin, 1.0)
    for bad in (np.nan, np.inf, -1.0, 0.0, 1e300, 5e-324):
        x[3] = bad
        assert SPACE.contains(rd.private_mean(x, ball, rd.GDP(1.0)).value)


def test_the_model_keeps_the_promises_of_a_space():
    check_space(SPACE.model)


def test_counts_that_are_not_finite_are_none_and_batches_must_fit():
    for bad in (np.inf, -np.inf, np.nan):
        with pytest.raises(rd.InputError):
            SPACE.project([1.0, bad, 2.0, 3.0])
    with pytest.raises(rd.InputError, match="leading axes do not broadcast"):
        SPACE.exp(np.zeros((3, 4)), SPACE.random_point(2, 0))


def test_what_it_lacks_is_said_of_it_and_not_of_the_sphere_behind_it():
    with pytest.raises(rd.MechanismError, match=r"^Simplex\(k=4\) has no landmarks"):
        rd.private_mean(np.full((9, 4), 0.25), rd.Ball.largest(rd.Simplex(4)), rd.PureDP(1.0), mechanism="pointwise-laplace")
