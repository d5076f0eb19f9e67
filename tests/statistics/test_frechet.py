"""The certified Fréchet mean: right, equivariant, never farther from the exact mean than it says, else refused."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean
from manifolds.examples import SPACES, at, isometry, seeds
from riemdp.manifolds.capabilities import FrechetModel
from riemdp.statistics.frechet import solve

every_space = pytest.mark.parametrize("space", SPACES, ids=repr)


def spread(space, share=0.98):
    """The radius of a ball in which means are unique; a moderate one where all are."""
    return share * min(space.uniqueness_radius, 2.0)


def cloud(space, n, radius, rng):
    """n points in a ball of the given radius around a random centre, most of them near its rim."""
    center = space.random_point(1, rng)[0]
    directions = rng.standard_normal((n, space.dim))
    lengths = radius * rng.random((n, 1)) ** (1 / 3)
    return center, at(space, lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True), center)


# --- means known by construction ---------------------------------------------------------------------------------


@every_space
@given(seed=seeds)
def test_mean_of_pairs_symmetric_about_a_point_is_the_point(space, seed):
    rng = np.random.default_rng(seed)
    center = space.random_point(1, rng)[0]
    arms = rng.standard_normal((6, space.dim))
    arms *= spread(space) / np.linalg.norm(arms, axis=1).max()
    result = rd.frechet_mean(at(space, np.concatenate([arms, -arms]), center), space)
    assert space.dist(result.point, center) <= result.error_bound + 1e-12


@every_space
@given(seed=seeds)
def test_mean_of_points_on_a_geodesic_is_their_mean_position(space, seed):
    rng = np.random.default_rng(seed)
    center, direction = space.random_point(1, rng)[0], rng.standard_normal(space.dim)
    positions = spread(space) * rng.uniform(-1, 1, (9, 1))
    line = direction / np.linalg.norm(direction)
    result = rd.frechet_mean(at(space, positions * line, center), space)
    assert space.dist(result.point, at(space, positions.mean() * line, center)) <= result.error_bound + 1e-12


@every_space
def test_one_record_and_equal_records_are_their_own_mean(space):
    x = space.random_point(1, 3)
    for records in (x, np.repeat(x, 7, axis=0)):
        result = rd.frechet_mean(records, space)
        assert space.dist(result.point, x[0]) <= result.error_bound + 1e-15
        assert result.error_bound <= 1e-10
        assert space.contains(result.point)


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Sphere(3, curvature=4.0), rd.KendallShapes(4)], ids=repr)
@pytest.mark.parametrize("near_cut", [0.5, 0.9, 0.99])
def test_a_record_next_to_the_cut_locus_of_the_mean_pulls_as_it_should(space, near_cut):
    """Many records at one place, one almost as far as the cut locus: a ball of uniqueness still holds them."""
    far = near_cut * 2 * space.uniqueness_radius
    line = np.eye(space.dim)[0]
    x = at(space, np.concatenate([np.zeros((20_000, 1)), [[far]]]) * line, space.origin)
    result = rd.frechet_mean(x, space)
    assert space.dist(result.point, at(space, far / 20_001 * line, space.origin)) <= result.error_bound + 1e-12


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.KendallShapes(4)], ids=repr)
@pytest.mark.parametrize("near_cut", [0.9999, 0.999999, 1 - 1e-12])
@pytest.mark.parametrize("n", [1, 30, 5000])
def test_a_record_at_the_cut_locus_is_refused_or_right(space, near_cut, n):
    far = near_cut * 2 * space.uniqueness_radius
    line = np.eye(space.dim)[0]
    x = at(space, np.concatenate([np.zeros((n, 1)), [[far]]]) * line, space.origin)
    try:
        result = rd.frechet_mean(x, space)
    except rd.ConvergenceError:
        return
    assert space.dist(result.point, at(space, far / (n + 1) * line, space.origin)) <= result.error_bound + 1e-12


# --- equivariance ----------------------------------------------------------------------------------------------------


@every_space
@given(seed=seeds)
def test_mean_moves_with_isometries(space, seed):
    rng = np.random.default_rng(seed)
    _, x = cloud(space, 12, spread(space, 0.7), rng)
    g = isometry(space, rng)
    mean, moved = rd.frechet_mean(x, space), rd.frechet_mean(space.project(g(x)), space)
    gap = space.dist(space.project(g(mean.point)), moved.point)
    assert gap <= mean.error_bound + moved.error_bound + 1e-11


@every_space
@given(seed=seeds)
def test_mean_does_not_depend_on_order_or_duplication(space, seed):
    rng = np.random.default_rng(seed)
    _, x = cloud(space, 11, spread(space, 0.7), rng)
    mean = rd.frechet_mean(x, space)
    for same in (x[rng.permutation(11)], np.concatenate([x, x[::-1], x])):
        other = rd.frechet_mean(same, space)
        assert space.dist(mean.point, other.point) <= mean.error_bound + other.error_bound


@every_space
def test_mean_minimises_the_sum_of_squared_distances(space):
    rng = np.random.default_rng(8)
    _, x = cloud(space, 15, spread(space, 0.6), rng)
    mean = rd.frechet_mean(x, space).point
    around = at(space, 1e-3 * rng.standard_normal((30, space.dim)), mean)
    values = (space.dist(around[:, None], x) ** 2).sum(axis=1)
    assert (values > (space.dist(mean, x) ** 2).sum()).all()


# --- the certificate, against 60 digits ------------------------------------------------------------------------------


CERTIFIED = [
    rd.Euclidean(3),
    rd.Sphere(1),
    rd.Sphere(2),
    rd.Sphere(3, curvature=9.0),
    rd.Hyperbolic(2),
    rd.Hyperbolic(3, curvature=-4.0),
    rd.KendallShapes(3),
    rd.KendallShapes(5),
    rd.SPDLogEuclidean(2),
    rd.SPDLogEuclidean(4),
    rd.SPDAffine(2),
]


@pytest.mark.parametrize("space", CERTIFIED, ids=repr)
@pytest.mark.parametrize("share", [0.05, 0.7, 0.98])
def test_certificate_holds_against_the_exact_mean(space, share):
    """The distance to the exact mean of the very floats passed, for loose and tight tolerances."""
    rng = np.random.default_rng(int(100 * share))
    center, x = cloud(space, 7, spread(space, share), rng)
    tight = rd.frechet_mean(x, space)
    truth = exact_mean(space, x, tight.point)
    reference = exact(space)
    assert distance(space, reference.read(center), truth) < space.uniqueness_radius
    for tol in (1e-1, 1e-3, 1e-6, 1e-10, 2 * tight.error_bound):
        result = rd.frechet_mean(x, space, tol=tol)
        assert result.error_bound <= tol
        assert distance(space, reference.read(result.point), truth) <= result.error_bound


@pytest.mark.parametrize("share", [1.0, 3.0])
def test_certificate_holds_for_larger_matrices_and_far_points(share):
    rng = np.random.default_rng(7)
    for space in (rd.SPDAffine(3), rd.Hyperbolic(2)):
        _, x = cloud(space, 4, 2 * share, rng)
        result = rd.frechet_mean(x, space)
        truth = exact_mean(space, x, result.point)
        assert distance(space, exact(space).read(result.point), truth) <= result.error_bound


@pytest.mark.parametrize("space", [rd.SPDLogEuclidean(3), rd.SPDAffine(2)], ids=repr)
def test_certificate_holds_for_many_records(space):
    """Enough records for the compiled kernels; they repeat, so that the exact mean is that of a few."""
    _, few = cloud(space, 6, 2.0, np.random.default_rng(5))
    result = rd.frechet_mean(np.tile(few, (8000, 1, 1)), space, tol=1e-9)
    truth = exact_mean(space, few, result.point)
    assert distance(space, exact(space).read(result.point), truth) <= result.error_bound


@pytest.mark.parametrize("value", [0.1, 3.0, 1e-7])
def test_certificate_survives_long_sums_of_equal_numbers(value):
    """Rounding errors of equal terms all have one sign: the worst case of a long sum."""
    n = 300_001
    flat = rd.frechet_mean(np.full((n, 1), value), rd.Euclidean(1))
    assert abs(flat.point[0] - value) <= flat.error_bound
    for space in (rd.SPDLogEuclidean(1), rd.SPDAffine(1), rd.SPDLogEuclidean(2)):
        result = rd.frechet_mean(value * np.tile(np.eye(space.k), (n, 1, 1)), space)
        assert space.dist(result.point, value * np.eye(space.k)) <= result.error_bound


@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.SPDLogEuclidean(3), rd.KendallShapes(5), rd.Sphere(2)], ids=repr)
@pytest.mark.parametrize("n", [40, 20_000])
def test_records_within_the_tolerance_stand_for_their_projections(space, n):
    x = space.random_point(n, 0)
    noisy = x * (1 + 1e-9 * np.random.default_rng(1).standard_normal(x.shape))
    mean, clean = rd.frechet_mean(noisy, space), rd.frechet_mean(space.project(noisy), space)
    assert space.dist(mean.point, clean.point) <= mean.error_bound + clean.error_bound


@pytest.mark.parametrize("exponent", [-300, -200, -160, -120, 120, 152, 160, 200, 300])
@pytest.mark.parametrize("n", [50, 20_000])
@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.SPDLogEuclidean(3)], ids=repr)
def test_scaled_matrices_have_a_scaled_mean(space, n, exponent):
    """Units do not matter, from 1e-300 to 1e300."""
    x = space.random_point(n, 0)
    mean, scaled = rd.frechet_mean(x, space), rd.frechet_mean(x * 10.0**exponent, space, tol=1e-9)
    gap = space.dist(mean.point, scaled.point / 10.0**exponent)
    assert gap <= mean.error_bound + scaled.error_bound + 1e-12


# --- without a tolerance: as accurate as float64 can certify ---------------------------------------------------------


@every_space
@pytest.mark.parametrize("radius", [1e-9, 1e-3, 0.98])
@pytest.mark.parametrize("n", [2, 50, 3000])
def test_by_default_no_smaller_bound_is_to_be_had_and_no_pass_is_wasted(space, radius, n):
    _, x = cloud(space, n, spread(space, radius), np.random.default_rng(n))
    mean = rd.frechet_mean(space.project(x), space)
    refused(space.project(x), space, tol=mean.error_bound / 1.5)
    if isinstance(space, (rd.Product, rd.RigidMotions)):  # factors share a tolerance evenly, whatever they can do
        assert mean.iterations <= rd.frechet_mean(space.project(x), space, tol=1e-9).iterations + 1
    else:
        assert mean.iterations == rd.frechet_mean(space.project(x), space, tol=mean.error_bound).iterations


def mixing(k, condition, rng):
    """Channels that record nearly the same, so that covariances get this condition."""
    basis = np.linalg.qr(rng.standard_normal((k, k)))[0]
    return np.linalg.cholesky((basis * np.geomspace(1.0, condition, k)) @ basis.T)


def ill_conditioned(k, condition, n, rng):
    """Covariance matrices of n recordings of such channels."""
    samples = mixing(k, condition, rng) @ rng.standard_normal((n, k, 8 * k))
    return samples @ samples.swapaxes(1, 2) / (8 * k)


@pytest.mark.parametrize("make_space", [rd.SPDAffine, rd.SPDLogEuclidean])
@pytest.mark.parametrize(("k", "condition", "n", "expected"), [(32, 4e4, 60, 1e-7), (256, 10.0, 5, 1e-8)])
def test_ordinary_matrices_that_a_tolerance_of_1e_10_refuses_have_a_mean(make_space, k, condition, n, expected):
    x = ill_conditioned(k, condition, n, np.random.default_rng(0))
    refused(x, make_space(k), tol=1e-10)
    result = rd.frechet_mean(x, make_space(k))
    assert 1e-10 < result.error_bound < expected


def test_eeg_of_channels_that_record_nearly_the_same_has_a_mean(shared_data):
    x = shared_data("eeg_erp_cov")["cov"]
    mix = mixing(x.shape[-1], 1e3, np.random.default_rng(1))
    x = mix @ x @ mix.T
    for space in (rd.SPDAffine(x.shape[-1]), rd.SPDLogEuclidean(x.shape[-1])):
        refused(x, space, tol=1e-10)
        assert rd.frechet_mean(x, space).error_bound < 1e-6


@dataclass
class Stuck:
    """Records of a line whose gradient float64 cannot make smaller than 1e-9, though its rounding is less."""

    space: rd.Space

    def start(self):
        return self.space.read(self.space.origin, "x")

    def model(self, x):
        return replace(self.space.local_model(x[None], x), descent=np.array([1e-9]), rounding=1e-16)

    def certify(self, x, model):
        pass


def test_a_gradient_that_stands_still_above_its_rounding_ends_the_search():
    result = solve(Stuck(rd.Hyperbolic(1)), None, 50)
    assert result.error_bound == pytest.approx(1e-9)
    assert result.iterations <= 5


# --- refusals ------------------------------------------------------------------------------------------------------


def refused(x, space, tol=1e-10):
    with pytest.raises(rd.ConvergenceError) as caught:
        rd.frechet_mean(x, space, tol=tol)
    return str(caught.value)


def sphere_cases():
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((500, 3))
    angles = 2 * np.pi * np.arange(7) / 7
    yield "antipodes", rd.Sphere(2), np.array([[0, 0, 1.0], [0, 0, -1.0]])
    point = whole[0] / np.linalg.norm(whole[0])
    yield "antipodes up to rounding", rd.Sphere(2), np.array([point, -point * (1 + 3e-16)])
    yield "antipodes with company", rd.Sphere(2), np.array([[0, 0, 1.0], [0, 0, -1.0], [1.0, 0, 0]])
    yield "whole sphere", rd.Sphere(2), whole / np.linalg.norm(whole, axis=1, keepdims=True)
    yield "axes", rd.Sphere(3), np.concatenate([np.eye(4), -np.eye(4)])
    yield "great circle", rd.Sphere(2), np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    yield "circle", rd.Sphere(1), np.stack([np.cos(angles), np.sin(angles)], axis=1)
    yield "half circle", rd.Sphere(1), np.array([[1.0, 0], [0, 1.0], [-1.0, 0]])
    shapes = rng.standard_normal((300, 4, 2))
    yield "all shapes", rd.KendallShapes(4), rd.KendallShapes(4).project(shapes)
    triangle = rd.KendallShapes(3).origin
    yield "a triangle and its mirror image", rd.KendallShapes(3), np.array([triangle, triangle * [1, -1]])


@pytest.mark.parametrize(("space", "x"), [pytest.param(s, x, id=name) for name, s, x in sphere_cases()])
def test_mean_that_may_not_be_unique_is_refused(space, x):
    refused(x, space)
    refused(np.repeat(x, 3, axis=0), space)


@pytest.mark.parametrize("tol", [None, 1e-10])
@pytest.mark.parametrize("space", [rd.Sphere(1), rd.Sphere(2)], ids=repr)
def test_ten_points_around_a_circle_are_too_spread_and_no_tolerance_is_advised(space, tol):
    angles = 2 * np.pi * np.arange(10) / 10
    x = np.pad(np.stack([np.cos(angles), np.sin(angles)], axis=1), [(0, 0), (0, space.d - 1)])
    message = refused(x, space, tol)
    assert re.search("too spread .* radius 1.571", message)
    assert not re.search("tol|max_iter", message)


def test_product_with_one_factor_that_has_no_mean_is_refused():
    space = rd.Product(rd.Sphere(2), rd.Euclidean(1))
    refused(np.array([[0, 0, 1.0, 5.0], [0, 0, -1.0, 5.0]]), space)


@every_space
def test_tolerance_below_rounding_is_refused_and_the_remedy_works(space):
    _, x = cloud(space, 20, spread(space, 0.5), np.random.default_rng(2))
    message = refused(x, space, tol=1e-19)
    for _ in space.factors or [space]:  # a product may ask once for each factor
        offered = 1.0001 * float(re.search(r"tol >= ([0-9.e+-]+)", message).group(1).rstrip("."))
        try:
            assert rd.frechet_mean(x, space, tol=offered).error_bound <= offered
            break
        except rd.ConvergenceError as error:
            message = str(error)
    else:
        pytest.fail(message)


@pytest.mark.parametrize("tol", [None, 1e-10])
def test_too_few_passes_are_refused(tol):
    space = rd.SPDAffine(3)
    x = space.random_point(30, 0)
    with pytest.raises(rd.ConvergenceError, match=r"max_iter = 1 passes .best bound .*: raise max_iter"):
        rd.frechet_mean(x, space, tol, max_iter=1)


@pytest.mark.parametrize("space", [rd.SPDAffine(2), rd.SPDLogEuclidean(2)], ids=repr)
def test_a_bound_that_means_nothing_is_accepted_on_demand_only(space):
    """Condition 1e15: the logarithms are wrong in their first digits."""
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    x = np.array([np.diag([3e7, 3e-8]), turn @ np.diag([3e-8, 3e7]) @ turn.T, np.eye(2)])
    message = refused(x, space, None)
    assert "float64 is too coarse" in message
    offered = 1.0001 * float(re.search(r"tol = ([0-9.e+-]+)", message).group(1).rstrip("."))
    assert 0.01 < rd.frechet_mean(x, space, tol=offered).error_bound <= offered


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tol", [None, 1e-10])
def test_records_beyond_float64_are_not_called_spread(tol):
    """On hyperbolic space every mean is unique."""
    far, space = 700.0, rd.Hyperbolic(2)
    x = np.array([[np.cosh(far), np.sinh(far), 0], [np.cosh(far), -0.6 * np.sinh(far), 0.8 * np.sinh(far)], [1, 0, 0]])
    assert "too far apart for float64" in refused(space.project(x), space, tol)


@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.SPDLogEuclidean(3)], ids=repr)
@pytest.mark.parametrize("n", [5, 20_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 0.0])
@pytest.mark.parametrize("entry", [(0, 0), (2, 2)])
def test_one_record_that_is_not_positive_definite_is_named(space, n, bad, entry):
    x = np.tile(np.eye(3), (n, 1, 1))
    x[n // 2][entry] = bad
    with pytest.raises(rd.InputError, match=rf"X\[{n // 2}\]"):
        rd.frechet_mean(x, space)


@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.SPDLogEuclidean(3)], ids=repr)
@pytest.mark.parametrize("n", [5, 20_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.0, -1.5, 1e160, 1e300])
@pytest.mark.parametrize("asymmetric", [False, True])
def test_one_record_with_a_bad_entry_off_the_diagonal_is_named(space, n, bad, asymmetric):
    x = np.tile(np.eye(3), (n, 1, 1))
    x[n // 2, 0, 1] = bad
    x[n // 2, 1, 0] = 0.0 if asymmetric else bad
    with pytest.raises(rd.InputError, match=rf"X\[{n // 2}\]"):
        rd.frechet_mean(x, space)


# --- real data -------------------------------------------------------------------------------------------------------


def spd_sets(data):
    eeg = data("eeg_erp_cov")["cov"]
    dti = data("dti_tensors")
    return {
        "eeg": eeg,
        "eeg, the part that varies": eeg[:, 16:, 16:],
        "connectomes": data("connectome_corr28")["corr"],
        "dti 64": dti["small64_tensors"],
        "dti 101": dti["small101_tensors"],
    }


@pytest.mark.parametrize("make_space", [rd.SPDAffine, rd.SPDLogEuclidean])
def test_means_of_real_matrices_certify(shared_data, make_space):
    for name, x in spd_sets(shared_data).items():
        result = rd.frechet_mean(x, make_space(x.shape[-1]))
        assert result.error_bound <= 1e-10, name


def test_means_of_real_matrices_agree_with_pyriemann(shared_data, pyriemann):
    sets = spd_sets(shared_data)
    for name in ("dti 64", "connectomes"):
        x = sets[name]
        affine, flat = rd.SPDAffine(x.shape[-1]), rd.SPDLogEuclidean(x.shape[-1])
        theirs = pyriemann.mean.mean_riemann(x, tol=1e-12, maxiter=100)
        assert affine.dist(rd.frechet_mean(x, affine).point, theirs) <= 1e-8
        theirs = pyriemann.mean.mean_logeuclid(x)
        assert flat.dist(rd.frechet_mean(x, flat).point, theirs) <= 1e-10


def test_means_of_real_directions_certify(shared_data, geomstats):
    data, space = shared_data("sphere_S2"), rd.Sphere(2)
    one_polarity = data["paleomag_mcmurdo"][data["paleomag_mcmurdo_polarity"] == "n"]
    result = rd.frechet_mean(space.project(one_polarity), space)
    assert result.error_bound <= 1e-10
    theirs = geomstats.FrechetMean(geomstats.Hypersphere(2))
    theirs.set(epsilon=1e-22, max_iter=1000)
    assert space.dist(result.point, theirs.fit(one_polarity).estimate_) <= 1e-8


def test_sunspots_of_one_hemisphere_and_side_certify_and_all_of_them_do_not(shared_data):
    space = rd.Sphere(2)
    births = space.project(shared_data("sphere_S2")["sunspots"])
    facing = births[births[:, 0] > 0.2]
    assert len(facing) > 10_000
    assert rd.frechet_mean(facing, space).error_bound <= 1e-10
    refused(births, space)


LANDMARKS = [
    ("landmarks_shapes_R", name)
    for name in ("gorf", "gorm", "panf", "panm", "pongof", "pongom", "apes", "digit3", "schizophrenia")
    + ("mice", "mice_outlines", "qcet2", "qlet2", "qset2", "rats", "sand")
] + [("landmarks_misc", name) for name in ("mosquito_wings", "hearts", "plethodon", "pupfish", "hands")]


@pytest.mark.parametrize(("file", "name"), LANDMARKS)
def test_means_of_real_shapes_certify(shared_data, file, name):
    raw = shared_data(file)[name]
    space = rd.KendallShapes(raw.shape[1])
    result = rd.frechet_mean(space.project(raw), space)
    assert result.error_bound <= 1e-10
    assert result.iterations <= 6


# --- cost ------------------------------------------------------------------------------------------------------------


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


MEMORY = """
import resource, numpy as np, riemdp as rd
space = rd.{space}(3)
rd.frechet_mean(space.random_point(20_000, 0), space)
x = np.empty((1_000_000, 3, 3))
for start in range(0, len(x), 50_000):
    x[start : start + 50_000] = space.random_point(50_000, start)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rd.frechet_mean(x, space, tol=1e-8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize("space", ["SPDAffine", "SPDLogEuclidean"])
def test_a_million_matrices_need_little_memory_beside_the_input(space):
    """At most 50 MB above the peak of holding the input and having worked before."""
    assert int(run(MEMORY.format(space=space))) <= 50_000


def test_import_is_light():
    heavy = "numba sklearn matplotlib flint dp_accounting dask pandas scipy.stats typer rich".split()
    code = f"import sys, riemdp; print([name for name in {heavy!r} if name in sys.modules])"
    assert run(code).strip() == "[]"


def test_small_means_do_not_wait_for_a_compiler():
    code = (
        "import sys, riemdp as rd\n"
        "space = rd.SPDAffine(5)\n"
        "rd.frechet_mean(space.random_point(500, 0), space)\n"
        "print('numba' in sys.modules)"
    )
    assert run(code).strip() == "False"


class Unfinished(rd.Hyperbolic):
    """A curved space that lacks what means are computed from."""

    def has(self, kind):
        return kind is not FrechetModel and super().has(kind)


def test_a_curved_space_without_a_model_is_not_told_that_its_mean_has_a_closed_form():
    space = Unfinished(2)
    refusal = r"Unfinished\(d=2, curvature=-1.0\) has no Fréchet model \(it is no FrechetModel\)"
    with pytest.raises(rd.MechanismError, match=refusal):
        rd.frechet_mean([space.origin], space)
    for whole in (space, rd.Product(rd.Euclidean(2), space)):
        with pytest.raises(rd.MechanismError, match=refusal):
            rd.private_mean([whole.origin], rd.Ball(whole, whole.origin, 1.0), rd.PureDP(1.0))
    with pytest.raises(rd.MechanismError, match="has no Fréchet model"):
        rd.Euclidean(2).capability(FrechetModel)


@pytest.mark.parametrize("form", ["pairs", "complex"])
@pytest.mark.parametrize("k", [3, 8])
def test_raw_landmarks_are_taken_as_a_release_takes_them(k, form):
    """Moved, turned and scaled: the mean is that of the shapes."""
    space, rng = rd.KendallShapes(k), np.random.default_rng(0)
    shape = rng.standard_normal((k, 2))
    raw = 40 * (shape + 0.05 * rng.standard_normal((30, k, 2))) + [300.0, -200.0]
    X = raw if form == "pairs" else raw @ [1, 1j]
    found, expected = rd.frechet_mean(X, space), rd.frechet_mean(space.project(X), space)
    assert space.dist(found.point, expected.point) < 1e-12
    assert found.point.shape == X.shape[1:]
    ball = rd.Ball(space, space.project(shape), 0.3)
    released = rd.private_mean(X, ball, rd.PureDP(1e12)).value
    assert space.dist(released if form == "pairs" else released @ [1, 1j], found.point) < 1e-4
    with pytest.raises(rd.InputError, match=r"X\[3\] is not a point of KendallShapes.*: leave out configurations whose landmarks all coincide"):
        rd.frechet_mean(np.where(np.arange(30)[:, None, None] == 3, 7.0, raw), space)


def test_raw_landmarks_in_a_product():
    space = rd.Product(rd.Sphere(2), rd.KendallShapes(4))
    X = space.random_point(9, 0)
    raw = X.copy()
    raw[:, 3:] = 5 * X[:, 3:] + 2
    assert space.dist(rd.frechet_mean(raw, space).point, rd.frechet_mean(X, space).point) < 1e-12
