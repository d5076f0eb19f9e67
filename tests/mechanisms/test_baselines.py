"""The baselines: sensitivities that adversaries reach but never pass, laws of releases, refusals.

Every statistical test rejects at p < 1e-8.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import special, stats

import riemdp as rd
from riemdp.manifolds.spd import invvecd, matrix_log, vecd
from riemdp.mechanisms import MECHANISMS
from riemdp.mechanisms.baselines import EXTRINSIC_GAUSSIAN, EXTRINSIC_LAPLACE, landmark_widths, nearest_points
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.bounded import Bounded
from riemdp.statistics import ambient as ambient_module
from riemdp.statistics.ambient import AlignedLandmarks, AmbientMean
from riemdp.statistics.mean import rehearse

LEVEL = 1e-8
BASELINES = ["extrinsic-laplace", "extrinsic-gaussian", "pointwise-laplace"]
spd = pytest.mark.parametrize("kind", [rd.SPDAffine, rd.SPDLogEuclidean])


def ambient_means(ball, *data):
    """The private values of data sets."""
    return [AmbientMean().value(Bounded(X, ball), np.zeros(ball.space.dim)) for X in data]


def in_ball(space, center, coords):
    """Points with these coordinates at the centre."""
    return space.exp(space.from_coordinates(coords, center), center)


def random_coords(rng, size, dim, radius):
    """Vectors of length at most the radius, half of them on the rim."""
    coords = rng.standard_normal((size, dim))
    length = radius * np.where(rng.random((size, 1)) < 0.5, 1.0, rng.random((size, 1)))
    return coords / np.linalg.norm(coords, axis=1, keepdims=True) * length


# --- sensitivities --------------------------------------------------------------------------------------------


@spd
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_neighbours_exceed_the_sensitivity_of_matrices(kind, k):
    rng, space = np.random.default_rng(k), kind(k)
    for trial in range(40):
        center = space.random_point(1, trial)[0]
        radius, n = rng.uniform(0.1, 2.0), int(rng.integers(1, 6))
        ball = rd.Ball(space, center, radius)
        coords = random_coords(rng, n + 1, space.dim, radius)
        coords[:-1] = np.where(rng.random() < 0.5, coords[:1], coords[:-1])  # all at one place, or spread
        X, Y = in_ball(space, center, coords[:-1]), in_ball(space, center, np.vstack([coords[:-2], coords[-1:]]))
        a, b = ambient_means(ball, X, Y)
        assert np.linalg.norm(a - b) <= AmbientMean().sensitivity(ball, n, np.zeros(space.dim))


@spd
def test_the_sensitivity_of_matrices_is_nearly_reached_and_the_printed_one_exceeded(kind):
    """One by one matrices: records at e^r, one of which jumps to e^-r."""
    n, r = 200, 1.0
    ball = rd.Ball(kind(1), [[1.0]], r)
    X = np.full((n, 1, 1), math.exp(r))
    Y = np.concatenate([X[1:], [[[math.exp(-r)]]]])
    a, b = ambient_means(ball, X, Y)
    moved, bound = float(np.abs(a - b)[0]), AmbientMean().sensitivity(ball, n, np.zeros(1))
    assert 0.98 * bound < moved <= bound
    assert bound == pytest.approx(2 * r * math.exp(r) / n, rel=3e-3)
    assert moved > 1.5 * 2 * (math.exp(r) - 1) / n  # as printed


@pytest.mark.parametrize("curvature", [1.0, 4.0])
def test_the_sensitivity_on_the_sphere_is_reached(curvature):
    space = rd.Sphere(3, curvature=curvature)
    center = space.random_point(1, 0)[0]
    radius, n = 0.6 * space.uniqueness_radius, 7
    ball = rd.Ball(space, center, radius)
    bound = AmbientMean().sensitivity(ball, n, np.zeros(3))
    R = 1 / math.sqrt(curvature)
    assert bound == pytest.approx(2 * R * math.sin(radius / R) / n, rel=1e-9)
    coords = np.zeros((n + 1, 3))
    coords[-2:, 0] = [radius, -radius]
    X, Y = in_ball(space, center, coords[:-1]), in_ball(space, center, np.delete(coords, -2, axis=0))
    a, b = ambient_means(ball, X, Y)
    assert bound * (1 - 1e-6) <= np.linalg.norm(a - b) <= bound


def test_no_aligned_record_leaves_its_interval_and_some_reach_its_ends():
    rng, space = np.random.default_rng(0), rd.KendallShapes(5)
    center = space.random_point(1, 4)[0]
    ball = rd.Ball(space, center, 0.3)
    flat = ball.inner_center.view(np.float64)
    reached = np.zeros((2, 10))
    for j in range(10):
        # Towards and away from the axis j, among horizontal directions.
        towards = space.to_coords(np.eye(10)[j].view(np.complex128), ball.inner_center)
        coords = np.vstack([towards, -towards]) / np.linalg.norm(towards) * 0.3
        coords = np.vstack([coords, random_coords(rng, 500, space.dim, 0.3)])
        aligned = space.exp_coords(coords, ball.inner_center).view(np.float64)
        assert (aligned @ flat >= math.cos(0.3) - 1e-12).all()
        reached[:, j] = aligned[:, j].max(), aligned[:, j].min()
    widths = landmark_widths(ball)
    assert ((reached[0] - reached[1]) <= widths).all()
    assert ((reached[0] - reached[1]) > 0.5 * widths).all()


def test_landmarks_of_neighbours_differ_by_less_than_stated():
    rng, space, n = np.random.default_rng(1), rd.KendallShapes(4), 5
    ball = rd.Ball(space, space.random_point(1, 2)[0], 0.3)
    sensitivity = AlignedLandmarks().sensitivity(ball, n, np.zeros(4))
    assert sensitivity == pytest.approx(2 * 4 / n, rel=1e-9)
    for _ in range(100):
        coords = random_coords(rng, n + 1, 4, 0.3)
        shapes = in_ball(space, ball.center, coords)
        turned = shapes.view(np.complex128)[..., 0] * np.exp(2j * np.pi * rng.random((n + 1, 1)))  # alignment undoes it
        X, Y = turned[:-1], np.delete(turned, -2, axis=0)
        a, b = (AlignedLandmarks().value(Bounded(Z, ball), np.zeros(4)) for Z in (X, Y))
        assert (np.abs(a - b) / landmark_widths(ball)).sum() <= sensitivity
        assert (np.abs(a - b) <= landmark_widths(ball) / n * (1 + 1e-9)).all()


# --- laws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mechanism", "cdf"), [
    (EXTRINSIC_LAPLACE, lambda d, r: special.gammainc(d, r)),
    (EXTRINSIC_GAUSSIAN, lambda d, r: special.chdtr(d, r**2)),
])  # fmt: skip
def test_noise_in_the_ambient_space(mechanism, cdf):
    value = np.array([0.3, -2.0, 1.0])
    noise = (mechanism.noisy(value, 0.7, np.random.default_rng(3), 200_000) - value) / 0.7
    lengths = np.linalg.norm(noise, axis=1)
    assert stats.kstest(cdf(3, lengths), "uniform").pvalue > LEVEL
    assert stats.kstest(cdf(3, 1.03 * lengths), "uniform").pvalue < LEVEL
    assert stats.kstest(cdf(3, lengths / 1.03), "uniform").pvalue < LEVEL


CASES = [
    ("extrinsic-laplace", rd.SPDAffine(2), rd.PureDP(1.0)),
    ("extrinsic-gaussian", rd.SPDLogEuclidean(2), rd.GDP(1.0)),
    ("extrinsic-laplace", rd.Sphere(2), rd.PureDP(1.0)),
    ("extrinsic-gaussian", rd.Sphere(3, curvature=2.0), rd.ApproxDP(1.0, 1e-5)),
    ("pointwise-laplace", rd.KendallShapes(4), rd.PureDP(1.0)),
]


@pytest.mark.parametrize(("mechanism", "space", "guarantee"), CASES)
def test_releases_and_simulations_have_one_law(mechanism, space, guarantee):
    """Distances to the centre, two samples; a tenth more noise must show."""
    radius = 0.3 * min(1.0, space.uniqueness_radius)
    ball, X = rd.Ball(space, space.random_point(1, 1)[0], radius), space.random_point(10, 0)
    releases = [rd.private_mean(X, ball, guarantee, mechanism=mechanism) for _ in range(700)]
    values = np.array([release.value for release in releases])
    assert space.contains(values).all()
    assert {(r.mechanism, r.scale, r.grid) for r in releases} == {(mechanism, releases[0].scale, releases[0].grid)}
    drawn = space.dist(values, ball.center)
    simulated = rd.simulate(X, ball, guarantee, mechanism=mechanism, size=50_000, seed=5)
    assert stats.ks_2samp(drawn, space.dist(np.asarray(simulated), ball.center)).pvalue > LEVEL
    stronger = {"PureDP": rd.PureDP(0.6), "GDP": rd.GDP(0.6), "ApproxDP": rd.ApproxDP(0.5, 1e-5)}
    wrong = rd.simulate(X, ball, stronger[type(guarantee).__name__], mechanism=mechanism, size=50_000, seed=5)
    assert stats.ks_2samp(drawn, space.dist(np.asarray(wrong), ball.center)).pvalue < LEVEL


@pytest.mark.parametrize(("mechanism", "space", "guarantee"), CASES)
def test_the_predicted_error_is_that_of_records_at_the_centre(mechanism, space, guarantee):
    ball = rd.Ball(space, space.random_point(1, 1)[0], 0.3 * min(1.0, space.uniqueness_radius))
    X = np.repeat(ball.center[None], 50, axis=0)
    predicted = rd.private_mean(X, ball, guarantee, mechanism=mechanism).expected_error
    simulated = rd.simulate(X, ball, guarantee, mechanism=mechanism, size=20_000, seed=8)
    error = math.sqrt(np.mean(space.dist(np.asarray(simulated), ball.center) ** 2))
    assert predicted == pytest.approx(error, rel=0.1)


# --- back to the space, refusals ----------------------------------------------------------------------------------


@spd
def test_matrices_get_eigenvalues_not_below_those_of_the_ball(kind):
    ball = rd.Ball(kind(2), np.diag([2.0, 0.5]), 1.0)
    vectors = vecd(np.array([np.diag([-3.0, 4.0]), np.eye(2), np.zeros((2, 2))]))
    points = nearest_points(Visible(vectors), ball)
    floor = 0.5 * math.exp(-1.0)
    assert np.linalg.eigvalsh(points).min() >= floor * (1 - 1e-12)
    assert points[1] == pytest.approx(np.eye(2))
    assert points[0] == pytest.approx(np.diag([floor, 4.0]))
    assert invvecd(vectors).shape == points.shape


def test_a_zero_vector_becomes_the_centre_of_the_sphere():
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.6, 0.8], 0.5)
    assert nearest_points(Visible(np.zeros((1, 3))), ball)[0] == pytest.approx(ball.center)


@pytest.mark.parametrize("name", BASELINES)
def test_auto_and_plan_never_pick_a_baseline(name):
    assert MECHANISMS[name].is_baseline
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    assert name not in {plan.mechanism for plan in rd.plan(ball, 20, rd.GDP(1.0))}


@pytest.mark.parametrize(("name", "space"), [
    ("extrinsic-laplace", rd.Hyperbolic(2)),
    ("extrinsic-gaussian", rd.KendallShapes(4)),
    ("extrinsic-gaussian", rd.Euclidean(2)),
    ("extrinsic-laplace", rd.Product(rd.Sphere(2), rd.SPDAffine(2))),
    ("pointwise-laplace", rd.Sphere(2)),
    ("pointwise-laplace", rd.Euclidean(3)),
])  # fmt: skip
def test_other_spaces_are_refused_by_name(name, space, tmp_path):
    ball, ledger = rd.Ball(space, space.origin, 0.3), rd.Ledger(tmp_path / "l.db", budget=rd.GDP(9.0))
    says = r"{} has no (embedding|landmarks) \(it is no \w+\): .* is for (spheres and matrices|shapes), use mechanism='auto'\."
    with pytest.raises(rd.MechanismError, match=says.format(re.escape(repr(space)))):
        rd.private_mean(space.random_point(5, 0), ball, rd.GDP(1.0), mechanism=name, ledger=ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("name", BASELINES)
def test_footpoints_and_the_tangent_mean_belong_to_wrapped_mechanisms(name):
    space = rd.KendallShapes(4) if name == "pointwise-laplace" else rd.Sphere(2)
    X = space.random_point(5, 0)
    ball = rd.Ball(space, space.origin, 0.3)
    near = in_ball(space, space.origin, np.full((1, space.dim), 0.05))[0]
    with pytest.raises(rd.MechanismError, match="footpoint belongs to wrapped mechanisms"):
        rd.private_mean(X, ball, rd.GDP(1.0), mechanism=name, footpoint=near)
    with pytest.raises(rd.MechanismError, match="statistic = 'tangent-mean' belongs to wrapped"):
        rd.private_mean(X, ball, rd.GDP(1.0), mechanism=name, statistic="tangent-mean")


def test_guarantees_that_a_baseline_cannot_give():
    ball, X = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5), rd.Sphere(2).random_point(5, 0)
    with pytest.raises(rd.MechanismError):
        rd.private_mean(X, ball, rd.PureDP(1.0), mechanism="extrinsic-gaussian")
    with pytest.raises(rd.MechanismError, match="calibration"):
        rd.private_mean(X, ball, rd.ApproxDP(0.5, 1e-6), mechanism="extrinsic-laplace", calibration="classical")
    classical = rd.private_mean(
        X, ball, rd.ApproxDP(0.5, 1e-6), mechanism="extrinsic-gaussian", calibration="classical"
    )
    assert classical.scale >= classical.sensitivity * math.sqrt(2 * math.log(1.25e6)) / 0.5


# --- the ends of float64 ----------------------------------------------------------------------------------------


def generic_center(k, size, rng):
    """A matrix with eigenvalues from size down to 1e-3 of it, in a frame of no particular directions."""
    frame, _ = np.linalg.qr(rng.standard_normal((k, k)))
    matrix = (frame * np.geomspace(1.0, 1e-3, k)) @ frame.T
    return size * (matrix + matrix.T) / 2


def farthest_apart(ball, n, rng, trials):
    """The largest distance of values of neighbours, of tight clusters and of records that are spread, over the bound."""
    space, size = ball.space, float(np.abs(ball.center).max())
    bound, worst = AmbientMean().sensitivity(ball, n, np.zeros(space.dim)) / size, 0.0
    for _ in range(trials):
        coords = random_coords(rng, n + 1, space.dim, ball.radius)
        points = space.exp_coords(coords, ball.center)
        a, b = ambient_means(ball, points[:-1], np.delete(points, -2, axis=0))
        worst = max(worst, float(np.linalg.norm(a / size - b / size)))
    return worst / bound


@spd
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("size", [1e-300, 1e-60, 1e60, 1e150, 1e300])
def test_the_size_of_the_centre_is_paid_for(kind, k, size):
    """log m0 of size 690 is rounded to 1e-13, and exp makes a relative error of that: it shows where the ball is small."""
    rng = np.random.default_rng(k)
    for radius in (1e-13, 1e-12, 1e-10, 1e-2):
        ball = rd.Ball(kind(k), generic_center(k, size, rng), radius)
        try:
            assert farthest_apart(ball, int(rng.integers(1, 4)), rng, 40) <= 1
        except rd.MechanismError:
            assert kind is rd.SPDAffine  # where the mean cannot be computed in so small a ball
            assert k > 1


@pytest.mark.parametrize("n", [3, 2**14])
def test_tight_clusters_around_a_huge_centre(n):
    """All records at one place but one, which jumps across the ball; compiled code for many records."""
    rng, space = np.random.default_rng(n), rd.SPDLogEuclidean(2)
    ball = rd.Ball(space, generic_center(2, 1e250, rng), 1e-9)
    bound = AmbientMean().sensitivity(ball, n, np.zeros(3)) / 1e250
    for _ in range(5):
        coords = np.repeat(random_coords(rng, 1, 3, ball.radius), n, axis=0)
        other = coords.copy()
        other[n // 2] *= -1
        a, b = ambient_means(ball, *(space.exp_coords(v, ball.center) for v in (coords, other)))
        assert np.linalg.norm(a / 1e250 - b / 1e250) <= bound


@pytest.mark.parametrize(("kind", "k", "size", "radius"), [
    (rd.SPDLogEuclidean, 1, 1.0, 712.0), (rd.SPDLogEuclidean, 2, 1.0, 708.5), (rd.SPDLogEuclidean, 2, 1e300, 19.0),
    (rd.SPDLogEuclidean, 2, 1e-300, 19.0), (rd.SPDAffine, 1, 1.0, 712.0), (rd.SPDAffine, 2, 1e303, 12.0), (rd.SPDLogEuclidean, 2, 1.0, 1e90),
])  # fmt: skip
def test_balls_that_float64_does_not_hold_are_refused_before_anything_is_read(kind, k, size, radius, tmp_path, monkeypatch):
    ball, ledger = rd.Ball(kind(k), size * np.eye(k), radius), rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(1.0))
    monkeypatch.setattr("riemdp.privacy.bounded._to_ball", lambda *_: pytest.fail("read"))
    with pytest.raises(rd.MechanismError, match=r"eigenvalues|float64"):
        rd.private_mean(np.stack([np.eye(k)] * 9), ball, rd.PureDP(1.0), mechanism="extrinsic-laplace", ledger=ledger)
    assert ledger.history() == []
    with pytest.raises(rd.MechanismError, match=r"eigenvalues|float64"):
        rehearse(ball, 9, rd.PureDP(1.0), mechanism="extrinsic-laplace")


@pytest.mark.parametrize("n", [20_000, 100_000])
def test_many_records_do_not_make_room_for_means_beyond_float64(n):
    """2r e^r/n is a float again where e^r is none: the mean of the largest floats was halved there, that of its neighbour not."""
    ball = rd.Ball(rd.SPDLogEuclidean(1), [[1.0]], 712.0)
    with pytest.raises(rd.MechanismError, match="eigenvalues"):
        AmbientMean().sensitivity(ball, n, np.zeros(1))
    with pytest.raises(rd.MechanismError, match="eigenvalues"):
        rehearse(ball, n, rd.PureDP(1.0), mechanism="extrinsic-laplace")


@pytest.mark.parametrize("size", [1.0, 1e-280, 1e290])
def test_nothing_is_halved_at_the_largest_radius_that_is_left(size):
    """1 x 1 matrices: records at the rim, one of which moves; the bound is nearly reached, and not passed."""
    radius, n = 0.999 * min(708 - math.log(size), math.log(size) + 707) - 1, 1000
    ball = rd.Ball(rd.SPDLogEuclidean(1), [[size]], radius)
    rim = math.exp(math.log(size) + radius)
    X = np.full((n, 1, 1), rim)
    Y = X.copy()
    Y[0] = rim * math.exp(-1e-3 * n)  # moves the mean by 1e-3
    a, b = ambient_means(ball, X, Y)
    bound = AmbientMean().sensitivity(ball, n, np.zeros(1))
    assert np.isfinite([*a, *b, bound]).all()
    assert 0.5e-3 * bound / (2 * radius / n) < abs(a[0] - b[0]) <= bound


def test_what_float64_cannot_hold_becomes_the_centre():
    """Post-processing of noise beyond the largest float, or of none at all."""
    sphere, matrices = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5), rd.Ball(rd.SPDLogEuclidean(2), 1e300 * np.eye(2), 0.5)
    far = np.array([[1.7e308] * 3, [-1.7e308] * 3, [0.0] * 3, [np.inf] * 3, [np.nan] * 3])
    for ball in (sphere, matrices):
        assert ball.space.contains(nearest_points(Visible(far), ball)).all()


@spd
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e150, 1e300])
def test_the_stated_rounding_of_matrices(kind, k, size):
    """exp_m0(v) against 60 digits, of the float logarithm (or Cholesky factor) of a generic centre, for short and long v."""
    import mpmath

    rng, space = np.random.default_rng(k), kind(k)
    for radius in (1e-12, 0.5, 12.0):
        center = generic_center(k, size, rng)
        ball = rd.Ball(space, center, radius)
        for v in random_coords(rng, 4, space.dim, radius):
            computed = ambient_module._at_center(ball, v[None])[0]
            with mpmath.workdps(60):
                if kind is rd.SPDLogEuclidean:
                    exact = mpmath.expm(mpmath.matrix(matrix_log(center)) + mpmath.matrix(invvecd(v)))
                else:
                    factor = mpmath.matrix(np.linalg.cholesky(center))
                    exact = factor * mpmath.expm(mpmath.matrix(invvecd(v))) * factor.T
                error = mpmath.mnorm(mpmath.matrix(computed) - exact, "f") / mpmath.mpf(size)
            largest = np.linalg.eigvalsh(center / size)[-1] * math.exp(np.linalg.norm(v))
            assert float(error) <= ambient_module._rounding(ball) * largest
