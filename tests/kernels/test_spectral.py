"""The batched kernels against LAPACK and against 60 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from manifolds.exact import length, lift, of_symmetric
from riemdp.kernels import spectral, symmetric
from riemdp.kernels.spectral import UNIT_ROUNDOFF

SIZES = [*range(1, 13), 16, 21, 24]


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


def compiled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The compiled path, whatever the size of the input."""
    values, vectors = np.empty(x.shape[:2]), np.empty(x.shape)
    symmetric.eigh(np.ascontiguousarray(x), values, vectors)
    return values, vectors


def assert_decomposes(x, values, vectors):
    """Residual, orthogonality and eigenvalues to a few units of roundoff of the norm."""
    k = x.shape[-1]
    size = np.linalg.norm(x, axis=(1, 2))
    residual = np.linalg.norm(x @ vectors - vectors * values[:, None, :], axis=(1, 2))
    assert (residual <= 40 * k * UNIT_ROUNDOFF * size).all()
    gram = np.swapaxes(vectors, 1, 2) @ vectors - np.eye(k)
    assert np.abs(gram).max() <= 40 * k * UNIT_ROUNDOFF
    gap = np.abs(np.sort(values, axis=1) - np.linalg.eigvalsh(x)).max(axis=1)
    assert (gap <= 40 * k * UNIT_ROUNDOFF * size).all()


# --- eigh ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_decomposes(k, kind):
    rng = np.random.default_rng(k)
    x = conjugate(spectra(kind, 37, k, rng), rotations(37, k, rng))
    assert_decomposes(x, *compiled(x))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 65])
def test_compiled_takes_any_number_of_matrices(n):
    rng = np.random.default_rng(n)
    x = spectral.symmetric_part(rng.standard_normal((n, 5, 5)))
    assert_decomposes(x, *compiled(x))


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_compiled_does_not_mind_the_unit(k, scale):
    rng = np.random.default_rng(0)
    x = spectral.symmetric_part(rng.standard_normal((40, k, k)))
    assert_decomposes(x * scale / scale, *(part / s for part, s in zip(compiled(x * scale), (scale, 1), strict=True)))


@pytest.mark.parametrize("k", [2, 3, 8])
def test_compiled_decomposes_special_matrices(k):
    """Diagonal, zero, rank one, indefinite, permutation: no division by zero, no endless sweeps."""
    ones = np.ones((k, k))
    x = np.stack([np.eye(k), 0 * ones, ones, -ones, np.diag(np.arange(k) - 1.0), np.eye(k)[::-1], ones - np.eye(k)])
    values, vectors = compiled(x)
    assert_decomposes(x + 0, values, vectors)


def test_compiled_finds_small_eigenvalues_of_graded_matrices():
    """Entries d_i h_ij d_j with a well-conditioned h: every eigenvalue to high relative accuracy."""
    rng = np.random.default_rng(3)
    d = 10.0 ** np.array([0, -5, -10])
    h = np.eye(3) + 0.2 * spectral.symmetric_part(rng.uniform(-1, 1, (20, 3, 3)))
    x = d[:, None] * h * d
    values = np.sort(compiled(x)[0], axis=1)
    for matrix, found in zip(x, values, strict=True):
        truth = sorted(mp.eigsy(mp.matrix(lift(matrix).tolist()), eigvals_only=True))
        assert all(abs(a / b - 1) < 1e-13 for a, b in zip(found.tolist(), truth, strict=True))


@pytest.mark.parametrize("k", [3, 9])
def test_a_matrix_is_decomposed_alike_in_any_company(k):
    """Bit for bit: sensitivity proofs count on records not seeing each other."""
    rng = np.random.default_rng(1)
    x = conjugate(spectra("random", 64, k, rng), rotations(64, k, rng))
    crowd = conjugate(spectra("ill-conditioned", 64, k, rng), rotations(64, k, rng))
    crowd[5::7] = x[5::7]
    for alone, together in zip(compiled(x), compiled(crowd), strict=True):
        np.testing.assert_array_equal(alone[5::7], together[5::7])


@pytest.mark.parametrize(("k", "n"), [(3, 100), (3, 20_000), (30, 50), (1, 7)])
def test_eigh_exp_and_log_agree_on_every_path(k, n):
    rng = np.random.default_rng(0)
    x = np.repeat(conjugate(spectra("random", 10, k, rng), rotations(10, k, rng)), n // 10 + 1, axis=0)[:n]
    values, vectors = spectral.eigh(x)
    assert_decomposes(x, values, vectors)
    np.testing.assert_allclose(spectral.exp(spectral.log(x)), x, rtol=1e-12, atol=1e-12)
    deep = spectral.eigh(x.reshape(n, 1, k, k))
    assert deep[0].shape == (n, 1, k)
    assert np.isnan(spectral.log(-x)).all()


def test_read_only_float32_and_strided_input():
    rng = np.random.default_rng(0)
    x = conjugate(spectra("random", 30_000, 3, rng), rotations(30_000, 3, rng))
    x.setflags(write=False)
    reference = spectral.sum_logs(x).total
    np.testing.assert_array_equal(spectral.sum_logs(np.repeat(x, 2, axis=0)[::2]).total, reference)
    np.testing.assert_array_equal(spectral.sum_logs(np.asfortranarray(x)).total, reference)
    np.testing.assert_array_equal(spectral.sum_logs(x.astype(">f8")).total, reference)
    single = x.astype(np.float32)
    np.testing.assert_array_equal(spectral.sum_logs(single).total, spectral.sum_logs(single.astype(float)).total)


# --- the sum of logarithms -------------------------------------------------------------------------------------------


def lower(k, rng):
    return np.linalg.cholesky(np.eye(k) + 0.1 * np.ones((k, k))) * rng.uniform(0.5, 2)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("whiten", [False, True])
def test_both_paths_sum_the_same_logarithms(k, whiten, monkeypatch):
    """NumPy and Jacobi, forced on the same records, agree within the sum of their bounds."""
    rng = np.random.default_rng(k)
    x = conjugate(spectra("random", 70, k, rng), rotations(70, k, rng))
    w = lower(k, rng) if whiten else None
    found = {}
    for path in (True, False):
        monkeypatch.setattr(spectral, "_compiled", lambda n, k, path=path: path)
        found[path] = spectral.sum_logs(x, w, moments=True)
    gap = np.linalg.norm(found[True].total - found[False].total) / 70
    assert gap <= found[True].rounding + found[False].rounding
    for field in ("smallest", "conditioning", "squares"):
        assert getattr(found[True], field) == pytest.approx(getattr(found[False], field), rel=1e-9)
    np.testing.assert_allclose(found[True].moments, found[False].moments, rtol=0, atol=1e-12)


def test_moments_are_the_mean_products_of_the_entries():
    rng = np.random.default_rng(0)
    x = conjugate(spectra("random", 90, 3, rng), rotations(90, 3, rng))
    entries = spectral.log(x)[:, *np.triu_indices(3)]
    np.testing.assert_allclose(spectral.sum_logs(x, moments=True).moments, entries.T @ entries / 90, atol=1e-13)


def exact_total(x, w):
    factor = lift(np.eye(x.shape[-1]) if w is None else w)
    return sum(of_symmetric(mp.log, factor @ lift(record) @ factor.T) for record in x)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("whiten", [False, True])
def test_rounding_is_a_bound_and_not_a_wild_one(k, kind, compiled, whiten, monkeypatch):
    """Against 60 digits; on well-conditioned records it stays below 1e4 units of roundoff."""
    monkeypatch.setattr(spectral, "_compiled", lambda n, k: compiled)
    rng = np.random.default_rng(k)
    x = conjugate(spectra(kind, 4, k, rng), rotations(4, k, rng))
    w = lower(k, rng) if whiten else None
    sums = spectral.sum_logs(x, w)
    error = length(lift(sums.total) - exact_total(x, w)) / len(x)
    assert sums.is_valid
    assert error <= sums.rounding
    if kind in ("random", "clustered", "repeated", "all equal"):
        assert sums.rounding <= 2e4 * UNIT_ROUNDOFF


@pytest.mark.parametrize("compiled", [False, True])
def test_rounding_is_a_bound_for_many_records(compiled, monkeypatch):
    """Records repeat, so that their exact sum is that of a few: what is tested is the long addition."""
    monkeypatch.setattr(spectral, "_compiled", lambda n, k: compiled)
    rng = np.random.default_rng(0)
    few = conjugate(spectra("random", 5, 3, rng), rotations(5, 3, rng))
    sums = spectral.sum_logs(np.tile(few, (6001, 1, 1)))
    error = length(lift(sums.total / sums.count) - exact_total(few, None) / 5)
    assert error <= sums.rounding <= 1e-11


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("entry", "value"), [((0, 0), -1.0), ((1, 1), 0.0), ((0, 0), np.nan), ((1, 0), 2.0), ((0, 1), np.nan), ((2, 2), -np.inf)]
)
def test_invalid_records_are_noticed(compiled, entry, value, monkeypatch):
    monkeypatch.setattr(spectral, "_compiled", lambda n, k: compiled)
    x = np.tile(np.eye(3), (100, 1, 1))
    assert spectral.sum_logs(x).is_valid
    x[57][entry] = value
    assert not spectral.sum_logs(x).is_valid


# --- the vector logarithm ------------------------------------------------------------------------------------------


def kernel_log(values: np.ndarray) -> np.ndarray:
    """log as the compiled kernel computes it: of 1 x 1 matrices, one at a time."""
    out = []
    for value in values:
        total, stats = np.zeros(1), np.array([np.inf, 0.0, 0.0, 0.0])
        symmetric.sum_logs(np.array([[[value]]]), np.eye(1), False, total, np.zeros((0, 0)), stats)
        out.append(total[0])
    return np.array(out)


def ulps_off(values):
    found = kernel_log(values)
    truth = [mp.log(mp.mpf(v)) for v in values.tolist()]
    return [float(abs(mp.mpf(f) - t) / mp.mpf(math.ulp(float(t)))) for f, t in zip(found.tolist(), truth, strict=True)]


@given(st.lists(st.floats(2.3e-308, 1.7e308), min_size=1, max_size=20))
def test_vector_logarithm_is_accurate_to_one_unit_in_the_last_place(values):
    assert max(ulps_off(np.array(values))) <= 1.0


def test_vector_logarithm_around_one_and_at_its_seams():
    near_one = np.concatenate([1 + np.ldexp(1.0, -np.arange(1, 53)), 1 - np.ldexp(1.0, -np.arange(1, 54))])
    root = math.sqrt(0.5)
    seams = [x * 2.0**e for x in (root, math.nextafter(root, 0), math.nextafter(root, 1), 1.0) for e in range(-5, 6)]
    dense = np.exp(np.random.default_rng(0).uniform(-3, 3, 3000))
    assert max(ulps_off(np.concatenate([near_one, seams, dense]))) <= 1.0
    assert kernel_log(np.array([1.0]))[0] == 0.0
