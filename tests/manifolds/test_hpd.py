"""Hermitian matrices: geomstats, the real forms, files, and complex releases from start to end."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from manifolds.examples import unitary
from riemdp.kernels.hermitian import as_complex, as_real

KINDS = [rd.HPDAffine, rd.HPDLogEuclidean]


def cross_spectra(n, k, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, k, 2 * k, 2)) @ [1, 1j]
    return a @ a.conj().swapaxes(1, 2) / (2 * k)


@pytest.mark.parametrize(("kind", "metric"), [(rd.HPDAffine, "HPDAffineMetric"), (rd.HPDLogEuclidean, "HPDLogEuclideanMetric")])
def test_geometry_is_that_of_geomstats(geomstats, kind, metric):
    from geomstats.geometry import hpd_matrices

    ours, theirs = kind(3), hpd_matrices.HPDMatrices(3, equip=False)
    theirs.equip_with_metric(getattr(hpd_matrices, metric))
    a, b = np.split(cross_spectra(12, 3), 2)
    np.testing.assert_allclose(ours.dist(a, b), theirs.metric.dist(a, b), rtol=1e-11)
    np.testing.assert_allclose(ours.log(b, a), theirs.metric.log(b, a), atol=1e-10)
    np.testing.assert_allclose(ours.exp(ours.log(b, a), a), b, atol=1e-11)


def test_real_forms_are_products_and_their_factors():
    a, b = cross_spectra(2, 3)
    np.testing.assert_allclose(as_real(a) @ as_real(b), as_real(a @ b), atol=1e-12)
    np.testing.assert_allclose(np.linalg.cholesky(as_real(a)), as_real(np.linalg.cholesky(a)), atol=1e-14)
    np.testing.assert_array_equal(as_complex(as_real(a)), a)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [np.inf, 1j * np.inf, complex(-np.inf, np.inf), np.nan, 1.7e308 + 1.7e308j, 5e-324j])
def test_estimators_are_silent_about_odd_complex_numbers(kind, odd):
    """Once, an infinite imaginary part warned."""
    X = cross_spectra(400, 2)
    X[3, 0, 1] = X[5] = odd
    ball = rd.Ball(kind(2), np.eye(2), 2.0)
    for model in (rd.PrivateFrechetMean, rd.PrivateTangentSpace, rd.PrivatePGA):
        assert model(ball=ball, guarantee=rd.GDP(1.0)).fit(X).release_.n == 400


@pytest.mark.parametrize("kind", KINDS)
def test_real_matrices_have_the_real_mean(kind):
    """A mean of real matrices is theirs in the real space, with the same distances."""
    real = {rd.HPDAffine: rd.SPDAffine, rd.HPDLogEuclidean: rd.SPDLogEuclidean}[kind](3)
    x = real.random_point(50, 0)
    ours = rd.frechet_mean(x, kind(3))
    np.testing.assert_allclose(ours.point, rd.frechet_mean(x, real).point, atol=1e-11)
    np.testing.assert_allclose(kind(3).dist(x[:20], x[20:40]), real.dist(x[:20], x[20:40]), rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [40, 5000])
def test_a_record_that_is_no_point_is_named(kind, n):
    for bad in (-np.eye(2), np.full((2, 2), np.nan), [[1, 0.5j], [0.5j, 1]], [[1, 0], [0, 0]]):
        x = cross_spectra(n, 2)
        x[n // 2] = bad
        with pytest.raises(rd.InputError, match=rf"^X\[{n // 2}\] is not a point of {kind.__name__}\(k=2\)"):
            rd.frechet_mean(x, kind(2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [40, 20_000])
def test_means_are_those_of_pyriemann(kind, n):
    """Once, compiled code was wrong by 1e-6 in one of some thousand matrices, and its certificate with it."""
    mean = pytest.importorskip("pyriemann.geometry.mean", exc_type=ImportError)
    x = kind(3).random_point(n, 0)
    theirs = mean.mean_logeuclid(x) if kind is rd.HPDLogEuclidean else mean.mean_riemann(x, tol=1e-13, maxiter=200)
    found = rd.frechet_mean(x, kind(3))
    assert kind(3).dist(found.point, theirs) <= found.error_bound + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_all_spectra_are_in_their_ball(kind):
    rng, space = np.random.default_rng(0), kind(3)
    ball = rd.Ball.from_eigenvalue_bounds(space, 0.05, 5.0)
    turns = np.stack([unitary(3, rng) for _ in range(200)])
    values = np.exp(rng.uniform(np.log(0.05), np.log(5.0), (200, 3, 1)))
    values[:50] = rng.choice([0.05, 5.0], (50, 3, 1))
    x = space.project(turns @ (values * turns.conj().swapaxes(1, 2)))
    distances = space.dist(x, ball.center)
    assert 0.999 * ball.radius < distances.max() <= ball.radius * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "riemannian-laplace"])
def test_a_release_is_complex_hermitian_and_survives_a_file(kind, mechanism, tmp_path):
    space, x = kind(2), cross_spectra(800, 2)
    ball = rd.Ball.from_eigenvalue_bounds(space, 0.1, 5.0)
    guarantee = rd.GDP(1.0) if mechanism == "wrapped-gaussian" else rd.PureDP(5.0)
    release = rd.private_mean(x, ball, guarantee, mechanism=mechanism)
    assert np.iscomplexobj(release.value)
    np.testing.assert_array_equal(release.value, release.value.conj().T)
    assert np.linalg.eigvalsh(release.value)[0] > 0
    release.save(tmp_path / "mean.json")
    again = rd.Release.load(tmp_path / "mean.json")
    np.testing.assert_array_equal(again.value, release.value)
    assert "imaginary" in json.loads((tmp_path / "mean.json").read_text())["value"]


@pytest.mark.parametrize("kind", KINDS)
def test_bad_records_count_as_the_centre(kind):
    space, x = kind(2), cross_spectra(100, 2)
    ball = rd.Ball(space, np.eye(2), 1.5)
    for bad in (np.nan, 1j * np.inf, 0.0, -1e300j, 5e-324):
        x[3] = bad
        assert space.contains(rd.private_mean(x, ball, rd.GDP(1.0)).value)
    with pytest.raises(rd.InputError, match="X has shape"):
        rd.private_mean(x[:, 0], ball, rd.GDP(1.0))


def test_the_riemannian_law_has_the_right_volume():
    """Distances of Riemannian Gaussian draws against quadrature of the two eigenvalues' density, at p > 1e-6."""
    space, scale = rd.HPDAffine(2), 0.8
    draws = rd.RiemannianGaussian(space, np.eye(2), scale).sample(8000, 1)
    apart = np.abs(np.diff(np.log(np.linalg.eigvalsh(draws)), axis=1))[:, 0]
    grid = np.linspace(0, 25, 200_001)

    def law(power):  # the density of the gap: exp(-gap²/(4 s²)) gap² sinhc(gap/2)^power
        density = np.exp(-(grid**2) / (4 * scale**2)) * grid**2 * (np.sinh(grid / 2) / np.maximum(grid / 2, 1e-9)) ** power
        return lambda t: np.interp(t, grid, np.cumsum(density) / density.sum())

    assert stats.kstest(apart, law(2)).pvalue > 1e-6
    assert stats.kstest(apart, law(1)).pvalue < 1e-6


# --- complex points in products, estimators and files --------------------------------------------------------------


def two_kinds(n=300):
    """Cross-spectra of two channels that follow each other, in phase or a quarter behind: the real parts tell nothing."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    noise = rng.standard_normal((n, 2, 12, 2)) @ [1, 1j]
    noise[:, 1] = 0.6 * noise[:, 1] + 0.8 * np.where(labels, 1j, -1j)[:, None] * noise[:, 0]
    return noise @ noise.conj().swapaxes(1, 2) / 24, labels


def test_a_product_holds_complex_points_as_pairs():
    space = rd.Product(rd.HPDAffine(2), rd.Euclidean(1))
    x, heights = two_kinds(40)[0], np.linspace(-1, 1, 40)[:, None]
    points = space.project((x, heights))
    assert points.shape == (40, 9)
    assert points.dtype == float
    back, also = space.split(points)
    assert np.array_equal(back, rd.HPDAffine(2).project(x))
    assert np.array_equal(also, heights)
    mean = rd.frechet_mean(points, space)
    parts = rd.frechet_mean(x, rd.HPDAffine(2)).point, [0.0]
    assert space.dist(mean.point, space.join(parts)) < 1e-12
    np.testing.assert_allclose(space.dist(points[0], points[1]), np.hypot(rd.HPDAffine(2).dist(x[0], x[1]), 2 / 39))
    release = rd.private_mean(points, rd.Ball(space, space.origin, 3.0), rd.PureDP(3.0))
    assert space.contains(release.value)
    assert np.array_equal(rd.Release.from_dict(json.loads(json.dumps(release.to_dict()))).value, release.value)


@pytest.mark.parametrize("odd", [None, "text", 1.0, np.eye(3), [1.0, 2.0], [[1.0, None], [0.0, 1.0]]], ids=repr)
@pytest.mark.parametrize("make", [list, lambda records: np.array([*records, None], dtype=object)[:-1], tuple], ids=["list", "objects", "tuple"])
def test_a_record_of_another_form_never_raises_and_leaves_the_others(odd, make):
    space = rd.HPDAffine(2)
    x = space.random_point(6, 0)
    read = space.numbers(make([odd, *x]))
    assert read.dtype == np.complex128
    assert np.array_equal(read[1:], x)
    assert np.isnan(read[0]).any()
    assert space.contains(rd.private_mean(make([odd, *x]), rd.Ball(space, np.eye(2), 1.0), rd.PureDP(1.0)).value)


@pytest.mark.parametrize("kind", [rd.PrivateMDM, rd.PrivateLDA, rd.PrivateLogisticRegression])
@pytest.mark.parametrize("space", [rd.HPDAffine(2), rd.HPDLogEuclidean(2)], ids=repr)
def test_classifiers_take_complex_matrices_and_use_their_phases(kind, space):
    x, labels = two_kinds()
    chosen = {} if kind is rd.PrivateMDM else {"classes": [0, 1]}
    model = kind(ball=rd.Ball(space, np.eye(2), 2.0), guarantee=rd.GDP(20.0), **chosen).fit(x, labels)
    assert model.score(x, labels) > 0.9
    assert model.score(x.conj(), labels) < 0.1


def test_tangent_spaces_of_complex_matrices_and_pipelines():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    x, labels = two_kinds()
    tangent = rd.PrivateTangentSpace(ball=rd.Ball(rd.HPDAffine(2), np.eye(2), 2.0), guarantee=rd.GDP(20.0))
    assert make_pipeline(tangent, LogisticRegression()).fit(x, labels).score(x, labels) > 0.9
    assert tangent.fit(x).transform(x).shape == (300, 4)


def test_estimators_of_real_spaces_refuse_complex_records_and_show_none():
    for x, ball in ((np.full((9, 2, 2), 1j), rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)), (np.full((9, 2), 1j), lambda d: rd.Ball(rd.Euclidean(d), np.zeros(d), 1.0))):
        with pytest.raises(rd.InputError) as refusal:
            rd.PrivateFrechetMean(ball=ball, guarantee=rd.GDP(1.0)).fit(x)
        assert "omplex" in str(refusal.value)
        assert "pass real numbers" in str(refusal.value)
        assert "1.j" not in str(refusal.value)


def test_files_of_complex_matrices(tmp_path):
    """Arrays are read; of a table only the real parts would be."""
    from typer.testing import CliRunner

    from riemdp.cli import app

    x = two_kinds(60)[0]
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "x.csv", x.real.reshape(60, 4), delimiter=",")
    line = ["--space", "hpd-affine", "--center", "identity", "--radius", "2", "--mu", "9", "--out", str(tmp_path / "m.npy")]
    refused = CliRunner().invoke(app, ["mean", str(tmp_path / "x.csv"), *line], prog_name="riemdp")
    assert refused.exit_code == 2
    assert "is a table of real numbers: HPDAffine(k=2) has complex points, save .npy." in refused.stderr.replace("\n", " ")
    assert not (tmp_path / "m.npy").exists()
    done = CliRunner().invoke(app, ["mean", str(tmp_path / "x.npy"), *line], prog_name="riemdp")
    assert done.exit_code == 0
    assert rd.HPDAffine(2).dist(np.load(tmp_path / "m.npy"), rd.frechet_mean(x, rd.HPDAffine(2)).point) < 1


@pytest.mark.parametrize("n", [1, 30, 3000])
def test_a_mean_is_hermitian_to_the_bit(n):
    mean = rd.frechet_mean(rd.HPDLogEuclidean(3).random_point(n, 0), rd.HPDLogEuclidean(3)).point
    np.testing.assert_array_equal(mean, mean.conj().T)
