"""Rotations against SciPy and geomstats; what `project` takes; means that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.transform import Rotation

import riemdp as rd
from riemdp.kernels.spectral import kernels_for
from riemdp.manifolds.rotations import _quaternions, relative_quaternions

SPACE = rd.Rotations()


def some(n=50, spread=0.5, seed=0):
    return Rotation.from_rotvec(spread * np.random.default_rng(seed).standard_normal((n, 3)))


def test_geometry_is_that_of_scipy():
    a, b = some(), some(seed=1)
    np.testing.assert_allclose(SPACE.dist(a.as_matrix(), b.as_matrix()), (a.inv() * b).magnitude(), rtol=1e-12)
    logs = SPACE.coordinates(SPACE.log(b.as_matrix(), a.as_matrix()), a.as_matrix())
    np.testing.assert_allclose(logs, (a.inv() * b).as_rotvec(), atol=1e-12)
    np.testing.assert_allclose(SPACE.exp(SPACE.from_coordinates(logs, a.as_matrix()), a.as_matrix()), b.as_matrix(), atol=1e-13)


def test_geometry_is_that_of_geomstats(geomstats):
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal

    a, b = some(20).as_matrix(), some(20, seed=1).as_matrix()
    theirs = SpecialOrthogonal(3).metric
    np.testing.assert_allclose(SPACE.dist(a, b), theirs.dist(a, b), rtol=1e-11)
    np.testing.assert_allclose(SPACE.log(b, a), theirs.log(b, a), atol=1e-11)
    np.testing.assert_allclose(SPACE.exp(SPACE.log(b, a), a), theirs.exp(SPACE.log(b, a), a), atol=1e-11)


def test_project_takes_what_people_have():
    r = some(7)
    expected = r.as_matrix()
    for given in (expected, r, r.as_quat(), -r.as_quat(), 3.0 * r.as_quat(), r.as_rotvec(), 2.5 * expected):
        np.testing.assert_allclose(SPACE.project(given), expected, atol=1e-14)
    np.testing.assert_allclose(SPACE.project(r.as_quat(scalar_first=True), scalar_first=True), expected, atol=1e-14)
    np.testing.assert_allclose(SPACE.project(r[:3].as_rotvec(), form="rotvec"), expected[:3], atol=1e-14)
    np.testing.assert_allclose(SPACE.project(r[0]), expected[0], atol=1e-14)
    np.testing.assert_allclose(SPACE.project(list(r)), expected, atol=1e-14)  # a list of single ones
    noisy = expected + 1e-3 * np.random.default_rng(0).standard_normal(expected.shape)
    left, _, right = np.linalg.svd(noisy)
    np.testing.assert_allclose(SPACE.project(noisy), left @ right, atol=1e-13)


@pytest.mark.parametrize(
    ("raw", "options", "words"),
    [
        (np.diag([1.0, 1.0, -1.0]), {}, "cannot be projected"),
        (np.zeros(4), {}, "cannot be projected"),
        (np.ones((2, 5)), {}, "pass matrices"),
        (5 * np.ones((3, 3)), {}, "form='rotvec'"),
        (np.eye(3), {"form": "euler"}, "form = 'euler'"),
        (np.ones(4), {"form": "matrix"}, "pass matrices"),
        ([np.nan, 0, 0, 1.0], {}, "cannot be projected"),
        ([1j, 0, 0, 1.0], {}, "complex"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_rotation_is_refused(raw, options, words):
    with pytest.raises(rd.InputError, match=words):
        SPACE.project(raw, **options)


def test_quaternions_for_points_are_refused_with_the_way_to_make_points_of_them():
    with pytest.raises(rd.InputError, match=r"takes shape \(..., 3, 3\); space.project\(\) makes such of quaternions"):
        rd.private_mean(some().as_quat(), rd.Ball.largest(SPACE), rd.PureDP(1.0))
    with pytest.raises(rd.InputError, match=r"takes shape \(..., 3\)\."):  # coordinates are something else
        SPACE.from_coordinates(np.ones((5, 4)), np.eye(3))


def test_a_list_of_rotations_is_read_as_their_stack_is_and_what_else_is_in_it_counts_as_unusable():
    turns = some()
    np.testing.assert_array_equal(SPACE.numbers(list(turns)), turns.as_matrix())
    odd = SPACE.numbers([None, *turns, "text", turns[:2]])
    np.testing.assert_array_equal(odd[1:51], turns.as_matrix())
    assert np.isnan(odd[[0, 51, 52]]).all()


def test_both_ways_find_the_same_quaternions():
    """From all sides, half turns and the identity among them."""
    turns = np.concatenate([Rotation.random(500, rng=0).as_matrix(), np.eye(3)[None], Rotation.from_rotvec(np.pi * np.eye(3)).as_matrix()])
    base = Rotation.random(rng=1).as_matrix()
    with kernels_for(10**6):
        compiled = relative_quaternions(turns, base)
    plain = _quaternions(base.T @ turns)
    assert np.abs(np.abs((compiled * plain).sum(axis=1)) - 1).max() < 1e-15
    assert (compiled[:, 3] >= 0).all()
    np.testing.assert_allclose(np.abs(plain), np.abs(Rotation.from_matrix(base.T @ turns).as_quat()), atol=1e-14)


def test_a_mean_of_rotations_is_a_rotation_and_close_to_the_chordal_one():
    r = some(2000, 0.3)
    mean = rd.frechet_mean(r, SPACE)
    assert np.abs(mean.point.T @ mean.point - np.eye(3)).max() < 1e-14
    assert mean.error_bound < 1e-12
    assert SPACE.dist(mean.point, r.mean().as_matrix()) < 0.01
    gradient = (Rotation.from_matrix(mean.point).inv() * r).as_rotvec().mean(axis=0)
    assert np.linalg.norm(gradient) < 1e-12


def test_rotations_all_over_have_no_certified_mean():
    with pytest.raises(rd.ConvergenceError, match=r"radius 1\.571 of Rotations"):
        rd.frechet_mean(Rotation.random(500, rng=0), SPACE)


def test_balls_beyond_the_half_turn_are_refused_with_the_limit():
    with pytest.raises(rd.InputError, match=r"below 1\.5708; pass at most 1\.41"):
        rd.Ball(SPACE, np.eye(3), 2.0)
    with pytest.raises(rd.InputError, match=r"if these are degrees, pass 0\.785"):
        rd.Ball(SPACE, np.eye(3), 45.0)


@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "wrapped-laplace", "riemannian-laplace", "kng"])
def test_releases_are_rotations_even_of_records_far_outside(mechanism):
    """Of records all over they are those of the records moved into the ball; a SciPy object will do."""
    guarantee = rd.GDP(2.0) if mechanism == "wrapped-gaussian" else rd.PureDP(2.0)
    release = rd.private_mean(Rotation.random(300, rng=0), rd.Ball(SPACE, np.eye(3), 1.2), guarantee, mechanism=mechanism)
    assert np.abs(release.value.T @ release.value - np.eye(3)).max() < 1e-12
    assert np.linalg.det(release.value) > 0
    assert rd.Release.from_dict(release.to_dict()).space == SPACE


def test_a_wide_law_is_uniform():
    """At an enormous scale the Riemannian Gaussian is Haar measure: (t - sin t)/pi, at p > 1e-6; a wrong one is not."""
    wide = rd.RiemannianGaussian(SPACE, np.eye(3), 1e6).sample(20_000, 1)
    angles = SPACE.dist(wide, np.eye(3))
    assert stats.kstest(angles, lambda t: (t - np.sin(t)) / np.pi).pvalue > 1e-6
    assert stats.kstest(angles, lambda t: t / np.pi).pvalue < 1e-6
    assert stats.kstest(SPACE.dist(Rotation.random(20_000, rng=2), np.eye(3)), lambda t: (t - np.sin(t)) / np.pi).pvalue > 1e-6
