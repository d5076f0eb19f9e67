"""The batched kernels against LAPACK and against 60 digits."""

from __future__ import annotations

import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from manifolds.exact import length, lift, of_symmetric
from riemdp.kernels import spectral
from riemdp.kernels.constants import LARGEST_JACOBI, UNIT_ROUNDOFF

SIZES = [*range(1, 25), spectral.LARGEST_COMPILED]
PATHS = {"compiled": 0, "lapack": math.inf}


@pytest.fixture(params=list(PATHS))
def path(request, monkeypatch):
    """Forces one of the two ways, whatever the size of the input."""
    monkeypatch.setattr(spectral, "SMALL_WORK", PATHS[request.param])
    return request.param


@pytest.fixture
def compiled(monkeypatch):
    """Forces the compiled way."""
    monkeypatch.setattr(spectral, "SMALL_WORK", 0)


def rotations(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    if k == 1:
        return np.ones((n, 1, 1))
    return ortho_group.rvs(k, size=n, random_state=rng).reshape(n, k, k)


def conjugate(values: np.ndarray, turns: np.ndarray) -> np.ndarray:
    return spectral.symmetric_part((turns * values[:, None, :]) @ np.swapaxes(turns, 1, 2))


def spectra(kind: str, n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Eigenvalues (n, k), positive."""
    spread = np.linspace(0, 1, k)
    return {
        "random": lambda: np.exp(rng.standard_normal((n, k))),
        "ill-conditioned": lambda: 10.0 ** (-12 * spread) * np.ones((n, 1)),
        "clustered": lambda: 1 + 1e-9 * rng.standard_normal((n, k)),
        "repeated": lambda: np.where(spread < 0.5, 2.0, 5.0) * np.ones((n, 1)),
        "all equal": lambda: np.full((n, k), 3.0),
        "one small": lambda: np.where(spread == 1, 1e-8, 1.0) * np.ones((n, 1)),
    }[kind]()


KINDS = ["random", "ill-conditioned", "clustered", "repeated", "all equal", "one small"]


def records(kind: str, n: int, k: int, seed: int = 0) -> np.ndarray:
    """Positive definite matrices of a kind."""
    rng = np.random.default_rng(seed)
    return conjugate(spectra(kind, n, k, rng), rotations(n, k, rng))


def assert_decomposes(x, values, vectors):
    """Residual, orthogonality and eigenvalues to a few units of roundoff of the norm."""
    k = x.shape[-1]
    allowed = 40 * k * UNIT_ROUNDOFF
    size = np.linalg.norm(x, axis=(1, 2))
    residual = np.linalg.norm(x @ vectors - vectors * values[:, None, :], axis=(1, 2))
    assert (residual <= allowed * size).all()
    assert np.abs(np.swapaxes(vectors, 1, 2) @ vectors - np.eye(k)).max() <= allowed
    assert (np.abs(np.sort(values, axis=1) - np.linalg.eigvalsh(x)).max(axis=1) <= allowed * size).all()


# --- eigenvalues -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("compiled")
def test_compiled_blocks_decompose(k, kind):
    x = records(kind, 37, k)
    assert_decomposes(x, *spectral.eigh(x))


@pytest.mark.parametrize(("k", "times"), [(5, (2, 3)), (6, (2, 2, 2)), (7, (3, 4)), (8, (2, 2, 2, 2)), (8, (4, 4))])
@pytest.mark.usefixtures("compiled")
def test_equal_eigenvalues_of_many_matrices(k, times):
    """Once, in one of some thousands, dust between equal eigenvalues was taken for a small angle, which it was not."""
    rng = np.random.default_rng(k)
    values = np.repeat(np.exp(rng.standard_normal((40_000, len(times)))), times, axis=1)
    x = conjugate(values, np.linalg.qr(rng.standard_normal((40_000, k, k)))[0])
    assert_decomposes(x, *spectral.eigh(x))


@pytest.mark.parametrize("n", [1, 31, 63, 64, 65, 130])
@pytest.mark.parametrize("k", [3, 9])
@pytest.mark.usefixtures("compiled")
def test_compiled_blocks_take_any_number_of_matrices(n, k):
    x = spectral.symmetric_part(np.random.default_rng(n).standard_normal((n, k, k)))
    assert_decomposes(x, *spectral.eigh(x))


@pytest.mark.parametrize("k", [2, 3, 7, 12])
@pytest.mark.parametrize("exponent", [-300, -200, -150, -100, 100, 150, 200, 300])
@pytest.mark.usefixtures("compiled")
def test_compiled_blocks_do_not_mind_the_unit(k, exponent):
    scale = 2.0 ** round(exponent / math.log10(2))
    x = spectral.symmetric_part(np.random.default_rng(0).standard_normal((40, k, k)))
    values, vectors = spectral.eigh(x * scale)
    assert_decomposes(x, values / scale, vectors)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("exponent", [-308, -311, -316, -323])
@pytest.mark.usefixtures("compiled")
def test_compiled_blocks_decompose_what_is_next_to_zero(k, exponent):
    """Floats lose digits there, but nothing becomes NaN."""
    smallest = 5e-324
    x = spectral.symmetric_part(np.random.default_rng(0).standard_normal((40, k, k)) * 10.0**exponent)
    values, vectors = spectral.eigh(x)
    assert_decomposes(np.broadcast_to(np.eye(k), x.shape), np.ones((40, k)), vectors)
    rebuilt = (vectors * (values / smallest)[:, None]) @ np.swapaxes(vectors, 1, 2)
    assert np.abs(rebuilt - x / smallest).max() <= 1e-13 * np.abs(x / smallest).max() + 4 * k


@pytest.mark.parametrize("k", [2, 3, 8, 15])
@pytest.mark.usefixtures("compiled")
def test_compiled_blocks_decompose_special_matrices(k):
    """Diagonal, zero, rank one, indefinite, permutation: no division by zero, no endless iteration."""
    ones, steps, identity = np.ones((k, k)), np.diag(np.arange(k) - 1.0), np.eye(k)
    neighbours = np.diag(np.full(k - 1, -1.0), 1) + np.diag(np.full(k - 1, -1.0), -1)
    arrow = np.eye(k)
    arrow[0], arrow[:, 0] = 1.0, 1.0
    blocks = np.kron(np.eye(2), np.ones((k, k)))[k // 2 : k // 2 + k, k // 2 : k // 2 + k]
    x = [identity, 0 * ones, ones, -ones, steps, identity[::-1], ones - identity, arrow, blocks]
    x += [2 * identity + neighbours, steps + 1e-9 * ones, identity + 1e-16 * ones, steps + 1e-200 * ones]
    assert_decomposes(np.stack(x), *spectral.eigh(np.stack(x)))


@pytest.mark.usefixtures("compiled")
def test_small_eigenvalues_of_small_graded_matrices_are_found():
    """Entries d_i h_ij d_j with a well-conditioned h: every eigenvalue to high relative accuracy."""
    d = 10.0 ** np.array([0, -5, -10])
    h = np.eye(3) + 0.2 * spectral.symmetric_part(np.random.default_rng(3).uniform(-1, 1, (20, 3, 3)))
    x = d[:, None] * h * d
    for matrix, found in zip(x, np.sort(spectral.eigh(x)[0], axis=1), strict=True):
        truth = sorted(mp.eigsy(mp.matrix(lift(matrix).tolist()), eigvals_only=True))
        assert all(abs(a / b - 1) < 1e-13 for a, b in zip(found.tolist(), truth, strict=True))


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.usefixtures("compiled")
def test_close_eigenvalues_of_graded_matrices_are_found(gap):
    """Two close small eigenvalues beside a large one: rotations with the large one mix them at second order.

    Entries d_i h_ij d_j with h near the identity: every eigenvalue to high relative accuracy.
    """
    d = np.array([1.0, 1e-5, 1e-5 * (1 + gap), 1e-9])
    size = 10.0 ** -np.arange(1.0, 11.0)
    h = np.eye(4) + size[:, None, None] * spectral.symmetric_part(np.random.default_rng(5).uniform(-1, 1, (10, 4, 4)))
    x = d[:, None] * h * d
    for matrix, found in zip(x, np.sort(spectral.eigh(x)[0], axis=1), strict=True):
        truth = sorted(mp.eigsy(mp.matrix(lift(matrix).tolist()), eigvals_only=True))
        assert all(abs(a / b - 1) < 1e-14 for a, b in zip(found.tolist(), truth, strict=True))


@pytest.mark.parametrize("k", [2, 3, 5, 9, 14])
@pytest.mark.usefixtures("compiled")
def test_a_matrix_is_decomposed_alike_in_any_company(k):
    """Bit for bit: sensitivity proofs count on records not seeing each other."""
    x, crowd = records("random", 64, k, seed=1), records("ill-conditioned", 64, k, seed=2)
    crowd[3], crowd[11] = np.nan, 0.0
    crowd[5::7] = x[5::7]
    for alone, together in zip(spectral.eigh(x), spectral.eigh(crowd), strict=True):
        np.testing.assert_array_equal(alone[5::7], together[5::7])


def low_rank(n, k, seed=3):
    """The identity and a little more: most eigenvalues are equal, but for roundings."""
    v = np.random.default_rng(seed).standard_normal((n, k, 2))
    return spectral.symmetric_part(v @ np.swapaxes(v, 1, 2) + np.eye(k))


@pytest.mark.parametrize("k", [2, 5, 9, 10, 11, 14, 23, 24])
@pytest.mark.parametrize("kind", [*KINDS, "low rank"])
@pytest.mark.usefixtures("compiled")
def test_a_matrix_is_decomposed_alike_at_any_place_of_a_block(k, kind):
    """Once, matrices with equal eigenvalues, which split early, were rounded by where others of the block did."""
    x = low_rank(41, k) if kind == "low rank" else records(kind, 41, k, seed=1)
    whole, logs = spectral.eigh(x), spectral.record_logs(x)[0]
    for start in (*range(1, 12), 30, 39):
        for part, all_of_it in zip((*spectral.eigh(x[start:]), spectral.record_logs(x[start:])[0]), (*whole, logs), strict=True):
            np.testing.assert_array_equal(part, all_of_it[start:])


@pytest.mark.parametrize(("k", "n"), [(3, 100), (3, 20_000), (30, 50), (1, 7), (50, 8)])
def test_eigh_exp_and_log_agree_at_every_size(k, n):
    x = np.resize(records("random", 10, k), (n, k, k))
    values, vectors = spectral.eigh(x)
    assert_decomposes(x, values, vectors)
    np.testing.assert_allclose(spectral.exp(spectral.log(x)), x, rtol=1e-12, atol=1e-12)
    assert spectral.eigh(x.reshape(n, 1, k, k))[0].shape == (n, 1, k)
    assert np.isnan(spectral.log(-x)).all()


def test_read_only_strided_and_narrow_input():
    x = np.resize(records("random", 100, 3), (30_000, 3, 3))
    x.setflags(write=False)
    reference = spectral.sum_logs(x).total
    for same in (np.repeat(x, 2, axis=0)[::2], np.asfortranarray(x), x.astype(">f8")):
        np.testing.assert_array_equal(spectral.sum_logs(same).total, reference)
    single = x.astype(np.float32)
    np.testing.assert_array_equal(spectral.sum_logs(single).total, spectral.sum_logs(single.astype(float)).total)


# --- the sum of logarithms -------------------------------------------------------------------------------------------


def lower(k: int) -> np.ndarray:
    """A lower triangular factor."""
    return 0.7 * np.linalg.cholesky(np.eye(k) + 0.1 * np.ones((k, k)))


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("whiten", [False, True])
def test_both_ways_sum_the_same_logarithms(k, whiten, monkeypatch):
    """Forced on the same records, they agree within the sum of their bounds."""
    x, found = records("random", 70, k), []
    for work in PATHS.values():
        monkeypatch.setattr(spectral, "SMALL_WORK", work)
        sums = spectral.sum_logs(x, lower(k) if whiten else None, moments=True)
        found.append((sums, sums.rounding))
    (a, a_error), (b, b_error) = found
    assert np.linalg.norm(a.total - b.total) / 70 <= a_error + b_error
    for field in ("smallest", "conditioning", "squares"):
        assert getattr(a, field) == pytest.approx(getattr(b, field), rel=1e-9)
    np.testing.assert_allclose(a.moments, b.moments, rtol=0, atol=1e-12)


def test_moments_are_the_mean_products_of_the_entries():
    x = records("random", 90, 3)
    entries = spectral.log(x)[:, *np.triu_indices(3)]
    np.testing.assert_allclose(spectral.sum_logs(x, moments=True).moments, entries.T @ entries / 90, atol=1e-13)


def hessian_by_definition(x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Second differences of the mean of rho(exp(v), x_i)²/2 in the coordinates v of vecd, rho affine-invariant."""
    k, n = x.shape[-1], len(x)
    i, j = np.triu_indices(k, 1)
    basis = np.zeros((k * (k + 1) // 2, k, k))
    basis[range(k), range(k), range(k)] = 1.0
    basis[range(k, len(basis)), i, j] = basis[range(k, len(basis)), j, i] = math.sqrt(0.5)

    def cost(v):
        back = spectral.exp(-0.5 * v)
        return (np.log(np.linalg.eigvalsh(back @ x @ back)) ** 2).sum() / (2 * n)

    def second(a, b):
        corners = [s * t * cost(step * (s * a + t * b)) for s in (1, -1) for t in (1, -1)]
        return math.fsum(corners) / (4 * step**2)

    return np.array([[second(a, b) for b in basis] for a in basis])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.usefixtures("compiled")
def test_hessian_is_that_of_half_the_squared_distance(k):
    """For records spread out, clustered and equal to the identity, where its formula is 0/0."""
    x = np.concatenate([records("random", 20, k), records("clustered", 9, k), np.tile(np.eye(k), (6, 1, 1))])
    found = spectral.sum_logs(x, np.eye(k), hessian=True).hessian
    np.testing.assert_allclose(found, hessian_by_definition(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [1, 31, 33])
@pytest.mark.usefixtures("compiled")
def test_the_padding_of_a_block_counts_in_no_sum(n):
    """Dead lanes are whitened as the others are: the sums over n records are those over each of them."""
    x, w = records("random", n, 4), lower(4)
    together = spectral.sum_logs(x, w, hessian=True)
    alone = [spectral.sum_logs(record[None], w, hessian=True) for record in x]
    for field in ("hessian", "total", "conditioning", "squares"):
        mean = np.mean([getattr(one, field) for one in alone], axis=0) * (1 if field == "hessian" else n)
        np.testing.assert_allclose(getattr(together, field), mean, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 9, 30])
@pytest.mark.parametrize("exponent", [-300, 0, 300])
@pytest.mark.usefixtures("path")
def test_mean_and_mean_of_the_inverses(k, exponent):
    x = records("random", 45, k)
    mean, inverse = spectral.mean_and_inverse(x * 10.0**exponent)
    np.testing.assert_allclose(mean / 10.0**exponent, x.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(inverse * 10.0**exponent, np.linalg.inv(x).mean(axis=0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [2, 5, 8, 9, 14])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("path")
def test_conditioning_is_a_bound_and_sharp_for_large_matrices(k, kind):
    """Sum of ‖ |w| |x_i| |w|ᵀ ‖ / (smallest eigenvalue); up to k = 8 no more than the trace bound on that norm."""
    x, w = records(kind, 33, k), lower(k)
    smallest = np.linalg.eigvalsh(w @ x @ w.T)[:, 0]
    exact = (np.linalg.norm(np.abs(w) @ np.abs(x) @ np.abs(w).T, axis=(1, 2)) / smallest).sum()
    by_trace = (((np.sqrt(np.diagonal(x, axis1=1, axis2=2)) @ np.abs(w).T) ** 2).sum(axis=1) / smallest).sum()
    loose = by_trace if k <= LARGEST_JACOBI else exact
    slack = {"ill-conditioned": 1e-2, "one small": 1e-5}.get(kind, 1e-9)  # the smallest eigenvalue is known no better
    assert exact * (1 - slack) <= spectral.sum_logs(x, w).conditioning <= loose * (1 + slack)


def exact_total(x, w=None):
    factor = lift(np.eye(x.shape[-1]) if w is None else w)
    return sum(of_symmetric(mp.log, factor @ lift(record) @ factor.T) for record in x)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.usefixtures("path")
def test_rounding_is_a_bound_and_not_a_wild_one(k, kind, whiten):
    """Against 60 digits; on well-conditioned records it stays below 2e4 units of roundoff."""
    x, w = records(kind, 3, k), lower(k) if whiten else None
    sums = spectral.sum_logs(x, w)
    assert sums.is_valid
    assert length(lift(sums.total) - exact_total(x, w)) / len(x) <= sums.rounding
    if kind in ("random", "clustered", "repeated", "all equal"):
        assert sums.rounding <= 2e4 * UNIT_ROUNDOFF


@pytest.mark.usefixtures("path")
def test_rounding_is_a_bound_for_many_records():
    """Records repeat, so that their exact sum is that of a few: what is tested is the long addition."""
    few = records("random", 5, 3)
    sums = spectral.sum_logs(np.tile(few, (6001, 1, 1)))
    error = length(lift(sums.total / sums.count) - exact_total(few) / 5)
    assert error <= sums.rounding <= 1e-11


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("entry", [(0, 0), (2, 2), (0, 1), (2, 1)])
@pytest.mark.parametrize("value", [-2.0, 0.0, np.nan, np.inf, -np.inf, 1e160, -1e300])
@pytest.mark.usefixtures("path")
def test_invalid_records_are_noticed(k, entry, value):
    """Negative, singular, asymmetric, not finite, or so large off the diagonal that squares overflow."""
    x = np.tile(np.eye(k), (100, 1, 1))
    assert spectral.sum_logs(x).is_valid
    x[57][entry] = value
    on_diagonal = entry[0] == entry[1]
    still_valid = value == 1e160 if on_diagonal else value == 0.0
    assert spectral.sum_logs(x).is_valid == still_valid
    x[57][entry[::-1]] = value
    assert spectral.sum_logs(x).is_valid == still_valid


# --- the vector logarithm ------------------------------------------------------------------------------------------


def kernel_log(values: np.ndarray) -> np.ndarray:
    """log as the compiled kernel computes it: of 1 x 1 matrices, one at a time."""
    return np.array([spectral.sum_logs(np.array([[[value]]])).total[0, 0] for value in values])


def ulps_off(values: np.ndarray) -> float:
    found = kernel_log(values)
    truth = [mp.log(mp.mpf(v)) for v in values.tolist()]
    pairs = zip(found.tolist(), truth, strict=True)
    return max(float(abs(mp.mpf(f) - t) / mp.mpf(math.ulp(float(t)))) for f, t in pairs)


@given(st.lists(st.floats(2.3e-308, 1.7e308), min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("compiled")
def test_vector_logarithm_is_accurate_to_one_unit_in_the_last_place(values):
    assert ulps_off(np.array(values)) <= 1.0


@pytest.mark.usefixtures("compiled")
def test_vector_logarithm_around_one_and_at_its_seams():
    near_one = np.concatenate([1 + np.ldexp(1.0, -np.arange(1, 53)), 1 - np.ldexp(1.0, -np.arange(1, 54))])
    root = math.sqrt(0.5)
    seams = [x * 2.0**e for x in (root, math.nextafter(root, 0), math.nextafter(root, 1), 1.0) for e in range(-5, 6)]
    dense = np.exp(np.random.default_rng(0).uniform(-3, 3, 3000))
    assert ulps_off(np.concatenate([near_one, seams, dense])) <= 1.0
    assert kernel_log(np.array([1.0]))[0] == 0.0


def test_forecasts_do_not_wait_for_the_compiler():
    code = (
        "import sys, numpy as np, riemdp as rd\n"
        "ball = rd.Ball(rd.SPDAffine(4), np.eye(4), 1.0)\n"
        "assert len(rd.plan(ball, 500, rd.PureDP(1.0))) == 3\n"
        "assert 'riemdp.kernels.symmetric' not in sys.modules and 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


# --- one record at a time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 8, 9, 24])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("kind", ["random", "one small", "repeated"])
def test_both_ways_take_the_same_logarithm_of_each_record(k, whiten, kind, monkeypatch):
    x, w, found = records(kind, 70, k), lower(k) if whiten else None, []
    x += np.triu(np.full((k, k), 1e-3), 1)  # only the symmetric part counts
    for work in PATHS.values():
        monkeypatch.setattr(spectral, "SMALL_WORK", work)
        logs, usable = spectral.record_logs(x, w)
        found.append((logs, usable))
    assert np.array_equal(found[0][1], found[1][1])
    assert usable.all() or kind == "one small"
    np.testing.assert_allclose(found[0][0][usable], found[1][0][usable], rtol=0, atol=1e-6 if kind == "one small" else 1e-12)
    whitened = spectral.symmetric_part(x) if w is None else w @ spectral.symmetric_part(x) @ w.T
    rows, columns = np.triu_indices(k, 1)
    matrix = spectral.log(whitened)
    expected = np.column_stack([np.diagonal(matrix, axis1=1, axis2=2), math.sqrt(2) * matrix[:, rows, columns]])
    np.testing.assert_allclose(found[0][0][usable], expected[usable], rtol=0, atol=1e-6 if kind == "one small" else 1e-12)


@pytest.mark.parametrize("k", [2, 3, 9])
@pytest.mark.usefixtures("path")
def test_records_that_are_not_positive_definite_are_told_apart_by_themselves(k):
    good = records("random", 40, k)
    x, bad = good.copy(), np.arange(3, 40, 5)
    for place, change in zip(bad, [0.0, -1.0, -1e-8, -1e300, np.nan, np.inf, -np.inf, 0.0], strict=True):
        x[place] = np.eye(k)
        x[place, -1, -1] = change
    with np.errstate(all="ignore"):
        logs, usable = spectral.record_logs(x)
    rest = np.setdiff1d(np.arange(40), bad)
    assert usable[rest].all()
    assert not usable[np.setdiff1d(bad, bad[[5]])].any()  # what is infinite never gets here
    assert np.array_equal(logs[rest], spectral.record_logs(good)[0][rest])


@pytest.mark.parametrize("exponent", [-300, 300])
@pytest.mark.usefixtures("path")
def test_records_of_any_size_have_logarithms(exponent):
    logs, usable = spectral.record_logs(10.0**exponent * records("random", 10, 3))
    assert usable.all()
    assert logs[:, :3].mean() == pytest.approx(exponent * math.log(10), abs=2)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_both_ways_rebuild_the_same_matrices(k, monkeypatch):
    values, vectors = np.linalg.eigh(records("random", 50, k))
    found = []
    for work in PATHS.values():
        monkeypatch.setattr(spectral, "SMALL_WORK", work)
        found.append(spectral.rebuild(values.reshape(5, 10, k), vectors.reshape(5, 10, k, k)))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-13 * np.abs(values).max())
    assert np.array_equal(found[0], np.swapaxes(found[0], -1, -2))


def test_the_number_of_all_records_chooses_the_code():
    """Not the number of those at hand, nor what is loaded; an outer choice goes before the default."""
    from riemdp.kernels import symmetric  # noqa: F401  (loaded from here on)

    assert spectral._compiled(10**4, 5)
    with spectral.kernels_for(100):
        assert not spectral._compiled(10**4, 5)
        assert spectral.kernels_chosen_for(7) == 100
        with spectral.kernels_for(10**6):
            assert spectral._compiled(1, 5)
            assert not spectral._compiled(1, spectral.LARGEST_COMPILED + 1)
    with spectral.without_waiting():
        assert not spectral._compiled(10**9, 5)
    assert spectral.kernels_chosen_for(7) == 7
