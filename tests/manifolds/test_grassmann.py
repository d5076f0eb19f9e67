"""Subspaces: principal angles by SciPy, forms of input, the law of random ones, releases, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import subspace_angles

import riemdp as rd

SPACE = rd.Grassmann(6, 2)


def bases(n, seed=0, space=SPACE):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, space.n, space.p)))[0]


@pytest.mark.parametrize("space", [rd.Grassmann(3), rd.Grassmann(4, 2), SPACE, rd.Grassmann(20, 7)], ids=repr)
def test_distances_are_norms_of_the_principal_angles(space):
    a, b = bases(20, 0, space), bases(20, 1, space)
    expected = [np.linalg.norm(subspace_angles(x, y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(space.dist(space.project(a), space.project(b)), expected, rtol=1e-12)


def test_right_angles_are_far_and_small_ones_close():
    axes = np.eye(6)
    far = SPACE.project(axes[:, 2:4])
    assert SPACE.dist(SPACE.origin, far) == pytest.approx(np.pi / np.sqrt(2), rel=1e-15)
    assert SPACE.dist(SPACE.origin, SPACE.project(axes[:, [0, 5]])) == pytest.approx(np.pi / 2, rel=1e-15)
    tiny = SPACE.project(axes[:, :2] + 1e-9 * axes[:, 2:4])
    assert SPACE.dist(SPACE.origin, tiny) == pytest.approx(np.sqrt(2) * 1e-9, rel=1e-12)


def test_project_takes_bases_projectors_and_covariances():
    rng, basis = np.random.default_rng(2), bases(5)
    projectors = SPACE.project(basis)
    np.testing.assert_allclose(projectors, basis @ basis.swapaxes(1, 2), atol=1e-15)
    mixed = 1e200 * basis @ rng.standard_normal((5, 2, 2))
    np.testing.assert_allclose(SPACE.project(mixed), projectors, atol=1e-13)
    np.testing.assert_allclose(SPACE.project(1e-300 * projectors), projectors, atol=1e-14)
    np.testing.assert_allclose(SPACE.project(3 * projectors + np.eye(6)), projectors, atol=1e-14)  # as a covariance
    assert SPACE.contains(projectors).all()
    assert not SPACE.contains(np.eye(6)[None] - projectors).any()  # of another dimension


def test_vectors_in_the_rows_of_a_square_matrix_are_not_taken_for_one():
    lines = rd.Grassmann(5)
    vectors = np.random.default_rng(0).standard_normal((5, 5))
    with pytest.raises(rd.InputError, match=r"far from symmetric.* pass bases, in columns, of shape \(..., 5, 1\)"):
        lines.project(vectors)
    with pytest.raises(rd.InputError, match=r"space.project\(\) makes such of bases \(..., n, p\)"):
        lines.project(np.ones((6, 5)))
    assert lines.contains(lines.project(vectors[..., None])).all()


@pytest.mark.parametrize("raw", [np.zeros((6, 2)), np.ones((6, 2)), np.full((6, 2), np.nan), np.eye(6), np.full((6, 6), np.inf), -np.eye(6)], ids=str)
def test_what_tells_no_subspace_is_refused(raw):
    with pytest.raises(rd.InputError, match=r"raw cannot be projected .* leave out records"):
        SPACE.project(raw)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (4, 0), (4, 3), (4, 1.5), ("4", 1)])
def test_sizes_that_are_none_are_refused(n, p):
    with pytest.raises(rd.InputError):
        rd.Grassmann(n, p)


def test_a_wide_law_is_uniform():
    """At an enormous scale the Riemannian Gaussian is uniform: as spans of normal vectors, at p > 1e-6; another is not."""
    space = rd.Grassmann(5, 2)
    wide = rd.RiemannianGaussian(space, space.origin, 1e6).sample(4000, 1)
    truth = space.dist(space.project(bases(4000, 3, space)), space.origin)
    assert stats.ks_2samp(space.dist(wide, space.origin), truth).pvalue > 1e-6
    assert stats.ks_2samp(0.95 * space.dist(wide, space.origin), truth).pvalue < 1e-6
    across = np.einsum("nij,ij->n", wide, space.project(np.eye(5)[:, 2:4]))
    assert stats.ks_2samp(across, np.einsum("nij,ij->n", space.project(bases(4000, 4, space)), space.origin)).pvalue > 1e-6


@pytest.mark.parametrize("mechanism", ["wrapped-laplace", "riemannian-laplace", "auto"])
def test_a_private_mean_is_a_projector(mechanism):
    ball = rd.Ball(SPACE, SPACE.origin, 0.6)
    data = SPACE.random_point(200, 0)
    data[:3] = np.array([np.nan, 0.0, 1e300])[:, None, None]
    release = rd.private_mean(data, ball, rd.PureDP(1.0), mechanism=mechanism)
    np.testing.assert_allclose(release.value @ release.value, release.value, atol=1e-12)
    assert np.trace(release.value) == pytest.approx(2, abs=1e-12)
    assert rd.Release.from_dict(release.to_dict()).space == SPACE


def test_a_ball_in_which_means_are_not_unique_is_refused_with_the_limit():
    with pytest.raises(rd.InputError, match=r"0\.785398"):
        rd.private_mean(SPACE.random_point(9, 0), rd.Ball(SPACE, SPACE.origin, 0.8), rd.GDP(1.0))


def test_a_mean_is_where_the_logs_cancel():
    data = SPACE.random_point(50, 5)
    found = rd.frechet_mean(data, SPACE)
    assert found.error_bound < 1e-12
    assert np.linalg.norm(SPACE.log(data, found.point).mean(axis=0)) < 1e-13


def test_its_summary_is_near_that_of_the_records():
    ball, data = rd.Ball(SPACE, SPACE.origin, 0.6), SPACE.random_point(500, 6)
    release = rd.private_summary(data, ball, rd.GDP(1e6))
    assert SPACE.dist(release.value, rd.frechet_mean(data, SPACE).point) < 0.02


def test_the_command_line_names_its_dimension():
    from riemdp.cli.options import parse_space

    assert parse_space("grassmann", 5) == rd.Grassmann(5, 1)
    assert parse_space("grassmann-2", 5) == rd.Grassmann(5, 2)
    with pytest.raises(rd.InputError, match="more than half"):
        parse_space("grassmann-3", 5)
