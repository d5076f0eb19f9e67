"""The log-Cholesky metric: its public ball, its rounding, and both ways to compute it."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean
from manifolds.examples import rotation
from riemdp.kernels.factors import record_factors, sum_factors
from riemdp.kernels.spectral import kernels_for


def with_spectrum(k, low, high, rng, n):
    """Matrices with eigenvalues in [low, high], many at an end."""
    values = np.exp(rng.uniform(np.log(low), np.log(high), (n, k)))
    values = np.where(rng.random((n, k)) < 0.7, np.where(rng.random((n, k)) < 0.5, low, high), values)
    turns = np.stack([rotation(k, rng) for _ in range(n)])
    return turns @ (values[..., None] * turns.swapaxes(1, 2))


@pytest.mark.parametrize(("low", "high"), [(0.05, 5.0), (1e-3, 1e-2), (1e-4, 10.0), (20.0, 30.0), (0.9, 1.1)])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_spectra_are_in_their_ball_and_it_is_not_wasteful(low, high, k):
    rng, space = np.random.default_rng(0), rd.SPDLogCholesky(k)
    ball = rd.Ball.from_eigenvalue_bounds(space, low, high)
    assert np.allclose(ball.center, np.sqrt(low * high) * np.eye(k))
    distances = space.dist(space.project(with_spectrum(k, low, high, rng, 400)), ball.center)
    assert distances.max() <= ball.radius
    if k <= 2:  # there the bound is attained
        angle = np.linspace(0, np.pi, 2001)[:, None]
        u = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)[:, :k] if k == 2 else np.ones((1, 1))
        extreme = low * np.eye(k) + (high - low) * u[:, :, None] * u[:, None, :]
        assert space.dist(space.project(extreme), ball.center).max() >= (0.8 if k == 2 else 0.999) * ball.radius


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_both_ways_find_the_same_factors(k):
    rng = np.random.default_rng(k)
    x = with_spectrum(k, 1e-3, 1e3, rng, 150)
    x[3], x[10, 0, 0], x[20] = -np.eye(k), np.nan, 1e200 * x[20]
    with kernels_for(0):
        plain, usable = record_factors(x)
    with kernels_for(10**7):
        compiled, also = record_factors(x)
    assert usable.tolist() == also.tolist()
    assert usable.sum() == 148
    scale = 1 + np.abs(plain[usable])
    assert (np.abs(plain[usable] - compiled[usable]) / scale).max() < 1e-9
    good = x[usable]
    for records in (0, 10**7):
        with kernels_for(records):
            sums = sum_factors(good)
        assert sums.is_valid
        np.testing.assert_allclose(sums.total, plain[usable].sum(axis=0), rtol=1e-9, atol=1e-7)
        with kernels_for(records):
            assert not sum_factors(x).is_valid


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("many", [False, True])
def test_a_mean_is_as_near_to_the_exact_one_as_it_says(condition, many):
    """Of three distinct records, repeated: the reference has 60 digits."""
    rng, space = np.random.default_rng(7), rd.SPDLogCholesky(3)
    distinct = space.project(with_spectrum(3, 1 / condition, condition, rng, 3))
    n = 2**14 if many else 3
    found = rd.frechet_mean(distinct[np.arange(n) % 3], space)
    truth = exact_mean(space, distinct, found.point, np.bincount(np.arange(n) % 3).tolist())
    error = distance(space, exact(space).read(found.point), truth)
    assert error <= found.error_bound
    assert found.error_bound < 1e-12 * condition**2


def test_the_public_mean_refuses_what_is_no_matrix_of_the_space():
    space = rd.SPDLogCholesky(2)
    x = np.stack([np.eye(2)] * 5)
    x[3] = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(rd.InputError, match=r"X\[3\] is not a point"):
        rd.frechet_mean(x, space)


@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "riemannian-laplace", "kng"])
def test_releases_are_matrices_of_the_space(mechanism):
    space = rd.SPDLogCholesky(3)
    ball = rd.Ball(space, np.eye(3), 1.0)
    release = rd.private_mean(space.random_point(500, 0), ball, rd.PureDP(5.0) if mechanism != "wrapped-gaussian" else rd.GDP(5.0), mechanism=mechanism)
    assert space.contains(release.value)
    assert rd.Release.from_dict(release.to_dict()).space == space
