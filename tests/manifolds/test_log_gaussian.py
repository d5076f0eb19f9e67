"""The vector space of SPD matrices and its log-Gaussian law.

Each statistical test rejects a right sampler with probability 1e-8, and a sampler with a wrong scale (3 %) surely.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import chi2, kstest

import riemdp as rd
from manifolds.examples import points

FALSE_POSITIVE = 1e-8
SPACE = rd.SPDLogEuclidean(3)
matrices = points(SPACE)
numbers = st.floats(-2, 2)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


# --- ⊕ ⊖ ⊙ -----------------------------------------------------------------------------------------------------------


@given(a=matrices, b=matrices, c=matrices, s=numbers, t=numbers)
def test_matrices_are_a_vector_space(a, b, c, s, t):
    plus, minus, times = SPACE.oplus, SPACE.ominus, SPACE.odot
    zero = np.eye(3)
    same(plus(a, b), plus(b, a))
    same(plus(plus(a, b), c), plus(a, plus(b, c)))
    same(plus(a, zero), a)
    same(minus(a, a), np.broadcast_to(zero, a.shape))
    same(plus(minus(a, b), b), a)
    same(times(s, times(t, a)), times(s * t, a))
    same(times(1.0, a), a)
    same(times(s + t, a), plus(times(s, a), times(t, a)))
    same(times(s, plus(a, b)), plus(times(s, a), times(s, b)))
    same(minus(a, b), plus(a, times(-1.0, b)))


@given(a=matrices, b=matrices)
def test_distance_is_the_norm_of_the_difference(a, b):
    difference = SPACE.log(SPACE.ominus(a, b), np.eye(3))
    np.testing.assert_allclose(SPACE.norm(difference, np.eye(3)), SPACE.dist(a, b), atol=1e-11)


def test_inverse_and_powers():
    a = SPACE.random_point(5, 0)
    same(SPACE.odot(-1.0, a), np.linalg.inv(a))
    same(SPACE.odot(2.0, a), a @ a)
    same(SPACE.odot(0.0, a), np.broadcast_to(np.eye(3), a.shape))
    half = SPACE.odot(0.5, a)
    same(half @ half, a)
    same(SPACE.odot(np.arange(4.0)[:, None], a)[3], a @ a @ a)


@given(a=matrices)
def test_vecd_is_an_isometry_with_inverse(a):
    c = SPACE.vecd(a)
    same(SPACE.invvecd(c), a)
    np.testing.assert_allclose(np.linalg.norm(c, axis=-1), np.linalg.norm(a, axis=(-2, -1)), rtol=1e-14)
    np.testing.assert_allclose(SPACE.vecd([[1, 2, 3], [2, 4, 5], [3, 5, 6]])[:3], [1, 4, 6])


# --- the density -----------------------------------------------------------------------------------------------------


def test_density_of_1x1_matrices_is_the_log_normal_one():
    law = rd.LogGaussian([[2.0]], [[0.3]])
    x = np.linspace(0.1, 9, 40)
    expected = np.exp(-0.5 * (np.log(x / 2)) ** 2 / 0.3) / (x * np.sqrt(2 * np.pi * 0.3))
    np.testing.assert_allclose(law.density(x[:, None, None]), expected, rtol=1e-12)
    total, _ = integrate.quad(lambda t: law.density([[t]]), 0, 200, epsabs=1e-10, limit=200)
    assert total == pytest.approx(1.0, abs=1e-8)


def polar(a, b, angle):
    """Matrices with eigenvalues a, b, and the angle of their first axis."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    values = np.stack(np.broadcast_arrays(a, b), -1)
    x = (turn * values[..., None, :]) @ np.swapaxes(turn, -1, -2)
    return (x + np.swapaxes(x, -1, -2)) / 2


def integral(law):
    """∫ density dvecd(X) over 2x2 matrices: dvecd = sqrt2 (a - b) da db d(angle), in u = log a, v = log b, u > v.

    Gauss-Legendre in u and v around the mean, equally spaced angles (spectrally accurate for a periodic function).
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    center = np.log(np.linalg.eigvalsh(law.mean)).mean()
    total = 0.0
    angles = np.pi * np.arange(48) / 48
    top, wide = nodes * 4.5 + center, weights * 4.5  # u
    for u, w in zip(top, wide, strict=True):
        low = center - 6.0
        v = low + (u - low) * (nodes + 1) / 2
        x = polar(np.exp(u), np.exp(v)[:, None], angles)
        measure = np.sqrt(2) * (np.exp(u) - np.exp(v)) * np.exp(u + v)
        total += w * (u - low) / 2 * (weights * measure * law.density(x).mean(axis=1) * np.pi).sum()
    return total


@pytest.mark.parametrize(
    ("mean", "covariance"),
    [
        (np.eye(2), 0.3 * np.eye(3)),
        ([[2.0, 0.5], [0.5, 1.0]], [[0.3, 0.1, 0.0], [0.1, 0.25, 0.05], [0.0, 0.05, 0.4]]),
    ],
)
def test_density_of_2x2_matrices_integrates_to_one(mean, covariance):
    assert integral(rd.LogGaussian(mean, covariance)) == pytest.approx(1.0, abs=1e-6)


def test_density_at_repeated_eigenvalues_is_finite_and_continuous():
    law = rd.LogGaussian(np.diag([1.0, 2.0, 3.0]), 0.5 * np.eye(6))
    for exact_tie in (np.eye(3), 2 * np.eye(3), np.diag([1.0, 1.0, 4.0])):
        tie = law.log_density(exact_tie)
        assert np.isfinite(tie)
        for gap in (1e-3, 1e-5, 1e-8, 1e-12):
            near = exact_tie + np.diag([gap, 0.0, -gap])
            assert law.log_density(near) == pytest.approx(tie, abs=40 * gap + 1e-12)


def test_density_is_batched_and_is_the_exponential_of_its_logarithm():
    law = rd.LogGaussian(np.eye(3), np.eye(6))
    x = SPACE.random_point(6, 0).reshape(2, 3, 3, 3)
    assert law.log_density(x).shape == (2, 3)
    np.testing.assert_allclose(law.density(x), np.exp(law.log_density(x)))
    assert law.log_density(x[0, 0]).shape == ()


# --- the sampler -------------------------------------------------------------------------------------------------------


def standardised(law, x):
    """vecd(log x) minus its mean, decorrelated: standard normal if x follows the law."""
    space = rd.SPDLogEuclidean(law.mean.shape[0])
    factor = np.linalg.cholesky(law.covariance)
    return np.linalg.solve(factor, (space.vecd(_log(x)) - space.vecd(_log(law.mean))).T).T


def _log(x):
    values, vectors = np.linalg.eigh(x)
    return (vectors * np.log(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def rejected(law, x) -> bool:
    """Kolmogorov-Smirnov tests of the coordinates and of the radius, at the false-positive rate in all."""
    z = standardised(law, x)
    tests = [kstest(column, "norm").pvalue for column in z.T]
    tests.append(kstest((z**2).sum(axis=1), chi2(z.shape[1]).cdf).pvalue)
    return min(tests) < FALSE_POSITIVE / len(tests)


def wishart_like(k, seed):
    d = k * (k + 1) // 2
    a = np.random.default_rng(seed).standard_normal((d, 2 * d))
    return 0.2 * a @ a.T / (2 * d)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_sampler_follows_the_law_and_wrong_scales_do_not(k):
    mean = rd.SPDLogEuclidean(k).random_point(1, 1)[0]
    law = rd.LogGaussian(mean, wishart_like(k, 0))
    x = law.sample(80_000, np.random.default_rng(5))
    assert x.shape == (80_000, k, k)
    assert not rejected(law, x)
    for wrong in (0.97, 1.03):
        assert rejected(rd.LogGaussian(mean, wrong**2 * law.covariance), x)


def test_sampler_is_seeded_and_its_mean_is_the_mean():
    law = rd.LogGaussian([[2.0, 0.3], [0.3, 1.0]], wishart_like(2, 0))
    x = law.sample(20_000, 7)
    np.testing.assert_array_equal(x, law.sample(20_000, 7))
    space = rd.SPDLogEuclidean(2)
    z = standardised(law, rd.frechet_mean(x, space).point[None])[0] * np.sqrt(20_000)
    assert chi2(3).sf(z @ z) > FALSE_POSITIVE
