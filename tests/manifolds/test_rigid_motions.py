"""Rigid motions: the product that they are, homogeneous matrices, and the unit of length."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import riemdp as rd
from riemdp.manifolds import space_class
from riemdp.manifolds.description import ArrayForm
from riemdp.written import as_ball

SPACE = rd.RigidMotions(0.5)


def motions(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return SPACE.project((Rotation.from_rotvec(0.3 * rng.standard_normal((n, 3))), rng.standard_normal((n, 3))))


def test_it_is_the_product_with_a_unit_of_length():
    x = motions()
    flat = np.concatenate([x[:, :3, :3].reshape(-1, 9), x[:, :3, 3] / 0.5], axis=1)
    np.testing.assert_allclose(SPACE.dist(x[:30], x[30:]), SPACE.model.dist(flat[:30], flat[30:]), rtol=1e-12)
    mean, same = rd.frechet_mean(x, SPACE).point, rd.frechet_mean(flat, SPACE.model).point
    np.testing.assert_allclose(mean[:3, :3].reshape(-1), same[:9], atol=1e-12)
    np.testing.assert_allclose(mean[:3, 3], 0.5 * same[9:], atol=1e-12)
    np.testing.assert_allclose(mean[:3, 3], x[:, :3, 3].mean(axis=0), atol=1e-12)


def test_logs_are_homogeneous_vectors():
    a, b = motions(2)
    v = SPACE.log(b, a)
    np.testing.assert_array_equal(v[3], 0)
    np.testing.assert_allclose(v[:3, 3], b[:3, 3] - a[:3, 3], atol=1e-14)
    np.testing.assert_allclose(SPACE.exp(v, a), b, atol=1e-13)


def test_scipys_rigid_transforms_are_read():
    transform = pytest.importorskip("scipy.spatial.transform")
    if not hasattr(transform, "RigidTransform"):
        pytest.skip("SciPy has them from 1.16 on")
    x = motions(5)
    theirs = transform.RigidTransform.from_matrix(x)
    for given in (theirs, list(theirs)):
        np.testing.assert_allclose(SPACE.project(given), x, atol=1e-14)
    release = rd.private_mean(theirs, rd.Ball(SPACE, np.eye(4), 1.2), rd.GDP(1.0))
    assert SPACE.contains(release.value)


def test_what_is_no_rigid_motion_is_refused():
    bad = motions(3)
    bad[1, 3] = [0, 0, 0.1, 1]
    assert SPACE.contains(bad).tolist() == [True, False, True]
    with pytest.raises(rd.InputError, match=r"raw\[1\] cannot be projected"):
        SPACE.project(bad)
    for length in (0.0, -1.0, np.inf, "m"):
        with pytest.raises(rd.InputError, match="length"):
            rd.RigidMotions(length)


@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "riemannian-laplace"])
def test_releases_are_rigid_motions(mechanism):
    guarantee = rd.GDP(2.0) if mechanism == "wrapped-gaussian" else rd.PureDP(9.0)
    release = rd.private_mean(motions(500), rd.Ball(SPACE, np.eye(4), 1.2), guarantee, mechanism=mechanism)
    r = release.value[:3, :3]
    assert np.abs(r.T @ r - np.eye(3)).max() < 1e-12
    assert release.value[3].tolist() == [0, 0, 0, 1]
    assert rd.Release.from_dict(release.to_dict()).space == SPACE


def test_the_unit_of_length_is_never_guessed():
    with pytest.raises(rd.InputError, match="--size"):
        space_class("rigid-motions").size_in(ArrayForm((10, 4, 4)))
    written = {"space": "rigid-motions", "center": "identity", "radius": 1.0}
    with pytest.raises(rd.InputError, match="write the length of RigidMotions"):
        rd.plan(written, n=100, guarantee="epsilon=1")
    assert as_ball({**written, "size": 0.05}).space == rd.RigidMotions(0.05)
