"""The log-Cholesky metric: its public ball, its rounding, and both ways to compute it."""

from __future__ import annotations

import itertools
import subprocess
import sys

import mpmath
import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean
from manifolds.examples import rotation
from riemdp.kernels.constants import CONDITIONING, SMALLEST, SQUARES, UNIT_ROUNDOFF
from riemdp.kernels.factors import (
    FEW_ROWS,
    _entries_sum,
    _lapack_sum,
    conditioning,
    conditioning_of_one,
    factor_rounding,
    log_cholesky,
    most_lost,
    record_factors,
    sum_factors,
)
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


@pytest.mark.parametrize("n", [1, 127, 128, 129, 700])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_entry_by_entry_the_sums_and_their_bounds_are_those_of_lapack(k, n):
    for low, high, loose in ((0.8, 1.2, 1.0 if k < 3 else 2.0), (1e-3, 1e3, 1.0)):
        x = with_spectrum(k, low, high, np.random.default_rng(k), n)
        (total, found), (same, expected) = _entries_sum(x)(0, n), _lapack_sum(x)(0, n)
        np.testing.assert_allclose(total, same, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[[SMALLEST, SQUARES]], expected[[SMALLEST, SQUARES]], rtol=1e-7)
        assert (1 - 1e-7) * expected[CONDITIONING] <= found[CONDITIONING] <= (loose + 1e-7) * expected[CONDITIONING]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, 0.0])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (1, 0), (0, 1)])
def test_entry_by_entry_no_bad_record_is_overlooked(k, bad, place):
    x = with_spectrum(k, 1.0, 2.0, np.random.default_rng(k), 300)
    x[0] = np.eye(k) + 0.1
    with kernels_for(0):
        assert sum_factors(x).is_valid
        x[0][place] = bad
        assert not sum_factors(x).is_valid


def test_every_point_of_a_chart_tells_that_chart_and_what_has_none_is_not_made_up():
    """Charts like those that noise makes in ever wider balls; a lifted matrix would lie anywhere."""
    space, rng = rd.SPDLogCholesky(8), np.random.default_rng(0)
    charts = rng.normal(size=(400, space.dim)) * 10.0 ** rng.uniform(-20, 3, size=(400, 1))
    points = space.from_chart(charts)
    held = space.holds(points)
    assert 0.3 < held.mean() < 0.95
    assert np.isnan(points[~held]).all()
    errors = np.linalg.norm(space.to_chart(points[held]) - charts[held], axis=1)
    assert (errors <= 1e-3 * np.maximum(1, np.linalg.norm(charts[held], axis=1))).all()
    assert held[np.linalg.norm(charts, axis=1) < 5].all()


@pytest.mark.parametrize("k", [1, 2, 3, 9, FEW_ROWS, FEW_ROWS + 1])
@pytest.mark.parametrize("spread", [1.2, 1e6])
def test_the_bound_of_one_matrix_is_that_of_many_or_a_little_more(k, spread):
    for x in with_spectrum(k, 1 / spread, spread, np.random.default_rng(k), 20):
        factor = np.linalg.cholesky(x)
        sharp = float(conditioning(factor, np.sqrt(np.diagonal(x))))
        found = conditioning_of_one(factor)
        assert (1 - 1e-7) * sharp <= found <= 4 * sharp


def test_small_matrices_load_no_compiled_code():
    """In a new process, 10^5 2 x 2 matrices have their mean before it would be loaded."""
    code = "import riemdp as rd, sys; s = rd.SPDLogCholesky(2); rd.frechet_mean(s.random_point(10**5, 0), s)"
    code += "; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_a_factor_has_the_same_bits_whoever_its_neighbours_are(k):
    """Eight matrices are computed together, and those after the last eight in another way."""
    rng = np.random.default_rng(k)
    x = with_spectrum(k, 1e-3, 1e3, rng, 29)
    with kernels_for(10**7):
        charts, _ = record_factors(x)
        for i in (0, 7, 8, 28):
            assert np.array_equal(record_factors(x[i : i + 1])[0][0], charts[i])
        neighbours = np.full((29, k, k), np.nan)
        neighbours[::2], neighbours[13] = 1e300, x[28]
        assert np.array_equal(record_factors(neighbours)[0][13], charts[28])


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16])
def test_what_fills_up_the_last_eight_does_not_count(n):
    x = np.tile(np.diag([5.0, 7.0, 11.0]), (n, 1, 1))
    with kernels_for(10**7):
        sums, one = sum_factors(x), sum_factors(x[:1])
    assert sums.smallest == one.smallest == pytest.approx(5.0)
    assert sums.conditioning == pytest.approx(n * one.conditioning)
    np.testing.assert_allclose(sums.total, n * one.total, rtol=1e-14)


def factors_and_perturbed(k, rng, size):
    """A factor with its deviations, all A ± e d_i d_j of every choice of signs, and e: `size` / sum of w²."""
    factor = 2 * np.tril(rng.standard_normal((k, k)), -1) + np.diag(np.exp(rng.standard_normal(k)))
    deviations, (i, j) = np.linalg.norm(factor, axis=1), np.triu_indices(k)
    e = size / ((np.abs(np.linalg.inv(factor)) @ deviations) ** 2).sum()
    signs = np.zeros((2 ** len(i), k, k))
    signs[:, i, j] = signs[:, j, i] = list(itertools.product([-1, 1], repeat=len(i)))
    return factor, deviations, factor @ factor.T + e * signs * np.outer(deviations, deviations), e


@pytest.mark.parametrize(("size", "most"), [(1e-5, 1.001), (1 / 8, 1.31)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_rounding_moves_a_chart_farther_than_its_conditioning_and_some_do_as_far(k, size, most):
    """The lemma of the proof, in first order and at the end of what it allows, for the worst of all signs."""
    shares, rng = [], np.random.default_rng(k)
    for _ in range(30):
        factor, deviations, perturbed, e = factors_and_perturbed(k, rng, size)
        moved = np.linalg.norm(log_cholesky(np.linalg.cholesky(perturbed)) - log_cholesky(factor), axis=-1).max()
        shares.append(moved / (e * conditioning(factor, deviations)))
    assert 0.95 < max(shares) <= most  # half of the bound would be too little


@pytest.mark.parametrize("k", [1, 3, 9])
def test_compiled_code_bounds_the_same_and_no_tighter(k):
    """For good conditions by a quicker bound, which is larger, but not by much."""
    for condition, loose in ((1.5, 4.0), (1e3, 1.0 + 1e-6)):
        x = with_spectrum(k, 1 / condition, condition, np.random.default_rng(k), 300)
        with kernels_for(0):
            plain = sum_factors(x).conditioning
        with kernels_for(10**7):
            compiled = sum_factors(x).conditioning
        assert plain * (1 - 1e-6) <= compiled <= plain * loose


def test_no_bound_is_given_for_matrices_that_are_singular_to_float64():
    x = np.stack([np.eye(2), [[1.0, 1.0], [1.0, 1.0 + 2.0**-51]]] * 100)
    for records in (0, 10**7):
        with kernels_for(records), pytest.raises(rd.ConvergenceError, match="and proves nothing: improve their condition"):
            rd.frechet_mean(x, rd.SPDLogCholesky(2), tol=1e3)
    assert most_lost(2) * 8 * 4 * UNIT_ROUNDOFF == 1


@pytest.mark.parametrize("numbers", [[1.41], [0.71], [1.41, 0.71, 1.0], [1e-300, 3e300, 7e-5], [0.5]])
def test_one_logarithm_of_many_numbers_is_the_sum_of_theirs(numbers):
    """Their product would leave the range of float64 many times."""
    n = 2**21
    with kernels_for(10**7):
        sums = sum_factors(np.resize(numbers, (n, 1, 1)))
    counts = np.bincount(np.arange(n) % len(numbers)).tolist()
    with mpmath.workdps(40):
        exact = [mpmath.log(x) / 2 for x in numbers]
        mean = mpmath.fsum(c * log for c, log in zip(counts, exact, strict=True)) / n
        error = abs(sums.total[0] / mpmath.mpf(n) - mean)
    assert error <= sums.rounding - factor_rounding(1, sums.conditioning / n)
    square = float(mpmath.fsum(c * log**2 for c, log in zip(counts, exact, strict=True)))
    assert square <= sums.squares <= 2 * square + n * (np.log(2) / 2) ** 2


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e3])
@pytest.mark.parametrize(("many", "k"), [(False, 3), (True, 3), (False, 9)])
def test_a_mean_is_as_near_to_the_exact_one_as_it_says(condition, many, k):
    """Of three distinct records, repeated: the reference has 60 digits."""
    rng, space = np.random.default_rng(7), rd.SPDLogCholesky(k)
    distinct = space.project(with_spectrum(k, 1 / condition, condition, rng, 3))
    n = 2**14 if many else 3
    found = rd.frechet_mean(distinct[np.arange(n) % 3], space)
    truth = exact_mean(space, distinct, found.point, np.bincount(np.arange(n) % 3).tolist())
    error = distance(space, exact(space).read(found.point), truth)
    assert error <= found.error_bound
    assert found.error_bound < (1e-14 if k == 3 else 1e-11) * condition**2


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
