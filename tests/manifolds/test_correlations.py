"""Correlation matrices: geomstats, unit diagonals, the ball of a least eigenvalue, and matrices that are hardly of full rank."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean

SPACE = rd.Correlations(5)


def with_least_eigenvalue(k, low, rng, n):
    """Correlations of a few common factors, of which the least eigenvalue is at least `low`."""
    loads = rng.standard_normal((n, k, rng.integers(1, k + 1))) * np.exp(rng.uniform(-2, 2, (n, k, 1)))
    raw = rd.Correlations(k).project(loads @ loads.swapaxes(1, 2) + 1e-9 * np.eye(k))
    least = np.linalg.eigvalsh(raw)[:, 0]
    share = np.maximum(0.0, (low - least) / (1 - least))[:, None, None]
    return (1 - share) * raw + share * np.eye(k)


def test_geometry_is_that_of_geomstats(geomstats):
    from geomstats.geometry.full_rank_correlation_matrices import FullRankCorrelationMatrices, OffLogMetric

    theirs = FullRankCorrelationMatrices(5, equip=False)
    theirs.equip_with_metric(OffLogMetric, alpha=1.0, beta=0.0, gamma=0.0)
    a, b = np.split(SPACE.random_point(12, 0), 2)
    np.testing.assert_allclose(SPACE.dist(a, b), theirs.metric.dist(a, b), rtol=1e-12)
    np.testing.assert_allclose(SPACE.log(b, a), theirs.metric.log(b, a), atol=1e-12)
    np.testing.assert_allclose(SPACE.exp(SPACE.log(b, a), a), b, atol=1e-12)


def test_project_takes_covariances_of_any_unit():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 5, 9))
    covariances, units = a @ a.swapaxes(1, 2), np.exp(rng.uniform(-8, 8, (6, 5)))
    found = SPACE.project(covariances * units[:, :, None] * units[:, None, :])
    np.testing.assert_allclose(found, SPACE.project(covariances), atol=1e-14)
    assert (np.diagonal(found, axis1=1, axis2=2) == 1).all()


@pytest.mark.parametrize("length", [1e-300, 1e-3, 3.0, 20.0, 60.0, 1e3, 1e100])
def test_every_vector_has_its_matrix(length):
    """Up to where float64 ends the chart finds it back; beyond, it is a correlation matrix all the same."""
    rng = np.random.default_rng(int(np.log10(length)) + 400)
    for _ in range(5):
        direction = rng.standard_normal(SPACE.dim)
        values = length * direction / np.linalg.norm(direction)
        point = SPACE.from_ambient(values)
        assert SPACE.contains(point)
        assert (np.diagonal(point) == 1).all()
        if length <= 20:
            assert np.linalg.norm(SPACE.to_chart(point) - values) <= SPACE._log_rounding(point)


def test_no_search_for_a_diagonal_depends_on_its_neighbours():
    """Easy ones, hard ones and impossible ones side by side give what each gives by itself, and the chart finds it back."""
    rng = np.random.default_rng(5)
    values = rng.standard_normal((40, SPACE.dim)) * np.array([1e-200, 0.1, 1.0, 5.0])[rng.integers(4, size=(40, 1))]
    values[7], values[30] = np.nan, 1e3
    together = SPACE.from_chart(values)
    assert np.array_equal(together, np.stack([SPACE.from_chart(one) for one in values]), equal_nan=True)
    assert np.isnan(together[[7, 30]]).all()
    short = np.linalg.norm(values, axis=1) < 6
    assert short.sum() > 25
    assert np.abs(SPACE.to_chart(together[short]) - values[short]).max() < 1e-9


@pytest.mark.parametrize("low", [1e-3, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_all_matrices_with_a_least_eigenvalue_are_in_their_ball(low, k):
    space, rng = rd.Correlations(k), np.random.default_rng(k)
    ball = rd.Ball.from_eigenvalue_bounds(space, low)
    assert np.array_equal(ball.center, np.eye(k))
    records = np.concatenate([with_least_eigenvalue(k, low, rng, 300) for _ in range(4)])
    pair = low * np.eye(k) + (1 - low) * np.ones((k, k))  # all equally correlated, at the bound
    distances = space.dist(np.concatenate([records, pair[None]]), np.eye(k))
    assert distances.max() <= ball.radius
    assert k > 2 or distances.max() >= 0.99 * ball.radius


def test_eigenvalue_bounds_need_both_ends_where_the_trace_is_free():
    with pytest.raises(rd.InputError, match="high is missing"):
        rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), 0.1)


@pytest.mark.parametrize("mechanism", ["auto", "riemannian-laplace", "wrapped-laplace"])
def test_a_private_mean_has_the_diagonal_one(mechanism):
    ball = rd.Ball.from_eigenvalue_bounds(SPACE, 0.05)
    release = rd.private_mean(SPACE.random_point(400, 0), ball, rd.PureDP(0.5), mechanism=mechanism)
    assert SPACE.contains(release.value)
    assert np.abs(np.diagonal(release.value) - 1).max() <= 1e-12


def test_raw_covariances_are_records_and_bad_ones_count_as_the_centre():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((200, 5, 12))
    x = a @ a.swapaxes(1, 2) * 1e5
    ball, guarantee = rd.Ball(SPACE, np.eye(5), 3.0), rd.GDP(1e6)
    clean = rd.private_mean(SPACE.project(x), ball, guarantee).value
    assert SPACE.dist(clean, rd.private_mean(x, ball, guarantee).value) < 1e-4
    for bad in (np.nan, np.inf, 0.0, -1e300, 5e-324):
        x[7] = bad
        assert SPACE.contains(rd.private_mean(x, ball, guarantee).value)


@pytest.mark.parametrize("least", [0.2, 1e-5])
def test_a_mean_is_as_near_to_the_exact_one_as_it_says(least):
    space = rd.Correlations(3)
    x = with_least_eigenvalue(3, least, np.random.default_rng(1), 3)
    found = rd.frechet_mean(x[np.arange(300) % 3], space)
    truth = exact_mean(space, x, found.point)
    assert distance(space, exact(space).read(found.point), truth) <= found.error_bound < 1e-12 / least
