"""Summaries: mean, spread and modes from one release, against what exact records give."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import riemdp as rd
from riemdp.kernels.spectral import kernels_for
from riemdp.manifolds.capabilities import Curvature
from riemdp.manifolds.transport import transport
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.adaptive import REACH_OF_SPREAD
from riemdp.statistics.base import linear_sensitivity, vectors_up_to
from riemdp.statistics.fill import WithFill
from riemdp.statistics.prepared import prepare
from riemdp.statistics.query import Query
from riemdp.summaries.spread import NoisyMoments, Spread, mean_curvature, noise_edge, noise_edges

CURVED = [rd.Sphere(2), rd.Sphere(3, 9.0), rd.Hyperbolic(3), rd.SPDAffine(3), rd.KendallShapes(3), rd.KendallShapes(6)]
LATER = [rd.Rotations(), rd.RigidMotions(1.0), rd.Grassmann(4, 2), rd.HPDAffine(2), rd.Simplex(4)]
ROUND = [rd.Torus(3), rd.Product(rd.Torus(2), rd.Sphere(2, 1e-8))]  # as good as flat, but one comes back
NO_NOISE = 1e-9


def point(space, coords):
    """With these coordinates at the origin, as users see it."""
    return space.write(space.exp_coords(np.asarray(coords), space.read(space.origin, "origin")), space.origin)


def records(space, n, spread, off=0.0, seed=0):
    """Of that root mean square distance to a point `off` the origin, more along some directions than others."""
    rng = np.random.default_rng(seed)
    coords = np.clip(rng.standard_normal((n, space.dim)), -2, 2) * np.linspace(1.0, 0.3, space.dim)
    coords *= spread / np.sqrt(np.square(coords).sum(axis=1).mean())
    base = space.read(point(space, off * np.eye(space.dim)[0]), "base")
    return space.write(space.exp_coords(coords, base), space.origin)


def without_noise(X, ball):
    """The moments that a release would have if it had no noise."""
    v = Bounded(X, ball)._coordinates.all()
    return NoisyMoments("full", v.mean(axis=0), v.T @ v / len(v), NO_NOISE, NO_NOISE, ball.radius)


def summary(X, ball, guarantee="mu=1", **asked):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.UselessRelease)
        return rd.private_summary(X, ball, guarantee, **asked)


# --- curvature and transport ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", CURVED, ids=repr)
def test_curvature_is_what_the_hessian_of_squared_distances_lacks(space):
    """By differences of second order of rho²/2 around a point a short way off: I - R_v/3 up to |v|⁴."""
    origin, rng = space.read(space.origin, "origin"), np.random.default_rng(0)
    v = rng.standard_normal(space.dim)
    v *= 0.05 / np.linalg.norm(v) / np.sqrt(np.abs(space.curvature_bounds).max())
    x, h = space.exp_coords(v, origin), 1e-4

    def energy(u):
        return 0.5 * space.distance(space.exp_coords(u, origin), x) ** 2

    steps = h * np.eye(space.dim)
    hessian = [[energy(a + b) - energy(a - b) - energy(b - a) + energy(-a - b) for b in steps] for a in steps]
    expected = 3 * (np.eye(space.dim) - np.array(hessian) / (4 * h**2))
    found = space.capability(Curvature).mean_curvature(np.outer(v, v))
    assert found == pytest.approx(expected, abs=2e-3 * np.abs(found).max())
    assert np.linalg.norm(found - 2 * found) > 0.1 * np.linalg.norm(found)  # the control: twice as much would not do


def test_curvature_of_a_product_is_that_of_its_factors():
    space = rd.Product(rd.Sphere(2), rd.Euclidean(1), rd.SPDAffine(2))
    A = np.random.default_rng(1).standard_normal((6, 6))
    moment = A @ A.T
    found = mean_curvature(space, moment)
    assert np.array_equal(found[:2, :2], rd.Sphere(2).mean_curvature(moment[:2, :2]))
    assert np.array_equal(found[3:, 3:], rd.SPDAffine(2).mean_curvature(moment[3:, 3:]))
    assert not found[2].any()
    assert not found[:2, 2:].any()


@pytest.mark.parametrize("space", [*CURVED, rd.Product(rd.Sphere(2), rd.Euclidean(2)), *ROUND, *LATER], ids=repr)
def test_transport_is_that_of_levi_civita(space):
    """Back and forth it is nothing, along the way it takes the velocity with it, and it is orthogonal."""
    rng = np.random.default_rng(2)
    start, way = space.read(point(space, 0.1 * rng.standard_normal(space.dim)), "x"), 0.2 * rng.standard_normal(space.dim)
    end = space.exp_coords(way, start)
    there, back = transport(space, start, end), transport(space, end, start)
    assert there @ there.T == pytest.approx(np.eye(space.dim), abs=1e-12)
    assert back @ there == pytest.approx(np.eye(space.dim), abs=1e-9)
    assert there @ way == pytest.approx(-space.log_coords(start, end), abs=1e-9)


def test_transport_around_a_triangle_turns_by_its_area():
    """The control that it is not just any orthogonal map: Gauss and Bonnet on the octant, of area pi/2."""
    corners = [np.array(c, dtype=float) for c in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    around = np.eye(2)
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        around = transport(rd.Sphere(2), start, end) @ around
    assert around @ around == pytest.approx(-np.eye(2), abs=1e-12)


# --- from moments to a mean ----------------------------------------------------------------------------------------

# (space, spread, distance of the centre, how much of the tangent mean's error may be left); MATH.md, section 12.
CORRECTED = [
    (rd.SPDAffine(3), 1.0, 0.5, 0.1), (rd.SPDAffine(3), 1.5, 0.5, 0.2), (rd.Sphere(2), 0.5, 0.2, 0.2),
    (rd.Hyperbolic(2), 1.0, 0.3, 0.2), (rd.KendallShapes(5), 0.2, 0.1, 0.1), (rd.KendallShapes(8), 0.3, 0.1, 0.2),
]  # fmt: skip


@pytest.mark.parametrize(("space", "spread", "off", "left"), CORRECTED, ids=lambda x: repr(x))
def test_second_moments_turn_the_tangent_mean_into_the_frechet_mean(space, spread, off, left):
    X = records(space, 1500, spread, off)
    ball = rd.Ball(space, space.origin, min(0.99 * space.uniqueness_radius, 20.0))
    moments, mean = without_noise(X, ball), space.read(rd.frechet_mean(X, space).point, "mean")
    tangent, found = moments.first, moments.mean_coordinates(space)
    errors = [float(space.distance(ball.at_origin(coords), mean)) for coords in (tangent, found)]
    assert errors[1] < left * errors[0]


def test_a_wrong_sign_of_the_curvature_would_show():
    """The control: away from the Fréchet mean it is worse than no correction."""
    space, ball = rd.Sphere(2), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.5)
    X = records(space, 1500, 0.5, 0.2)
    moments, mean = without_noise(X, ball), rd.frechet_mean(X, space).point
    right = moments.mean_coordinates(space)
    errors = [float(space.distance(ball.at_origin(c), mean)) for c in (right, moments.first, 2 * moments.first - right)]
    assert errors[0] < errors[1] < errors[2]


def test_a_space_that_does_not_know_its_curvature_has_the_tangent_mean():
    class Plain(rd.Sphere):
        def has(self, kind):
            return kind is not Curvature and super().has(kind)

    X, ball = records(rd.Sphere(2), 300, 0.4), rd.Ball(Plain(2), [0.0, 0.0, 1.0], 1.0)
    moments = without_noise(X, ball)
    assert np.array_equal(moments.mean_coordinates(ball.space), moments.first)


@pytest.mark.parametrize("noise", [1.0, 1e3, 1e100])
@pytest.mark.parametrize("space", [rd.Sphere(2), rd.SPDAffine(2), rd.KendallShapes(4)], ids=repr)
def test_no_noise_is_too_much_for_the_correction(space, noise):
    rng, dim = np.random.default_rng(3), space.dim
    A = noise * rng.standard_normal((dim, dim))
    moments = NoisyMoments("full", noise * rng.standard_normal(dim), A + A.T, noise, noise, 0.5)
    found = moments.mean_coordinates(space)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) < 5 * np.linalg.norm(moments.first)


# --- spread --------------------------------------------------------------------------------------------------------


def test_flat_spread_is_that_of_the_records():
    """n so large that noise is far below all three variances."""
    rng, n = np.random.default_rng(4), 200_000
    X = np.clip(rng.standard_normal((n, 3)) * [0.8, 0.4, 0.2], -1.5, 1.5) + [0.5, -0.3, 0.0]
    made = rd.private_summary(X, rd.Ball(rd.Euclidean(3), np.zeros(3), 4.0), rd.GDP(1.0))
    exact = np.cov(X.T, bias=True)
    assert made.covariance == pytest.approx(exact, abs=2e-3)
    assert made.dispersion == pytest.approx(np.sqrt(np.trace(exact)), rel=1e-3)
    modes = made.modes()
    assert modes.significant.tolist() == [True, True, True]
    assert modes.variances == pytest.approx(np.linalg.eigvalsh(exact)[::-1], rel=0.03)
    assert modes.ratios.sum() == pytest.approx(1.0)
    assert np.abs(modes.directions) == pytest.approx(np.eye(3), abs=0.02)
    assert len(made.modes(2)) == 2


@pytest.mark.parametrize("second", ["full", "diagonal", "trace"])
@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0)])
def test_every_kind_of_second_moment_gives_the_dispersion(second, guarantee):
    X, ball = records(rd.SPDAffine(2), 20_000, 0.5), rd.Ball(rd.SPDAffine(2), np.eye(2), 2.0)
    made = rd.private_summary(X, ball, guarantee, second=second)
    v = Bounded(X, ball)._coordinates.all()
    assert made.dispersion == pytest.approx(np.sqrt(np.square(v - v.mean(axis=0)).sum(axis=1).mean()), rel=0.02)
    assert np.linalg.eigvalsh(made.covariance).min() >= -1e-15
    assert made.moments.kind == second
    assert made.fill == pytest.approx(np.sqrt(np.square(v).sum(axis=1).mean()) / 2, abs=0.01)


@pytest.mark.parametrize("space", CURVED, ids=repr)
def test_curved_spread_is_in_coordinates_at_the_mean(space):
    """Modes are orthonormal tangent vectors there, and the covariance is that of the logs at the exact mean."""
    spread = 0.2 / np.sqrt(np.abs(space.curvature_bounds).max())
    X = records(space, 30_000, spread, spread)
    made = rd.private_summary(X, rd.Ball(space, space.origin, 5 * spread), rd.GDP(2.0), adapt=True)
    mean = rd.frechet_mean(X, space).point
    logs = space.coordinates(space.log(X, made.value), made.value)
    assert space.dist(made.value, mean) < 0.02 * spread
    assert made.covariance == pytest.approx(logs.T @ logs / len(logs), abs=0.03 * spread**2)
    modes = made.modes()
    assert modes.directions.shape == (len(modes), *space.point_shape)
    assert modes.significant.all()
    products = [[space.inner(a, b, made.value) for b in modes.directions] for a in modes.directions]
    assert np.array(products) == pytest.approx(np.eye(len(modes)), abs=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 10, 60])
def test_noise_alone_is_hardly_ever_significant(dim):
    """At most one in twenty, stated for large dimensions; by 300 draws with a fixed seed."""
    rng = np.random.default_rng(dim)
    A = rng.standard_normal((300, dim, dim))
    largest = np.linalg.eigvalsh((A + np.swapaxes(A, 1, 2)) / 2)[:, -1]  # deviation 1 on the diagonal, 1/sqrt2 beside
    assert (largest > noise_edge(dim, 1.0)).mean() < 0.1
    assert (largest > 0.4 * noise_edge(dim, 1.0)).mean() > 0.1


def noisy_matrices(true, size=400, noise=1.0):
    """Draws of a diagonal matrix with noise, that is 1 on the diagonal and 1/sqrt2 beside it."""
    dim = len(true)
    A = np.random.default_rng(dim).standard_normal((size, dim, dim))
    return noise * (A + np.swapaxes(A, 1, 2)) / 2 + np.diag(true)


@pytest.mark.parametrize("dim", [6, 30])
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_more_modes_than_there_are_are_hardly_ever_found(dim, rank):
    """After so many true ones, the next is compared with the noise in the dimensions that they leave: once in twenty."""
    true = np.array([20.0 * dim, 12.0 * dim, 8.0 * dim, 5.0 * dim][:rank] + [0.0] * (dim - rank))
    found = [NoisyMoments("full", np.zeros(dim), one, NO_NOISE, 1.0, 1e3).about_centre() for one in noisy_matrices(true)]
    counts = np.array([cleared.significant.sum() for cleared in found])
    assert (counts >= rank).all()
    assert (counts > rank).mean() < 0.1
    assert (np.diff(noise_edges(dim, 1.0)) < 0).all()
    assert noise_edges(dim, 1.0)[0] == noise_edge(dim, 1.0)


def test_true_eigenvalues_that_push_one_another_are_cleared_of_that_too():
    """Of three, in 6 dimensions; the control takes the smaller ones for alone, which makes them too small."""
    dim, true = 6, np.array([30.0, 9.0, 6.0, 0.0, 0.0, 0.0])
    drawn = noisy_matrices(true, 2000)
    found = [NoisyMoments("full", np.zeros(dim), one, NO_NOISE, 1.0, 1e3).about_centre().variances[:3] for one in drawn]
    assert np.mean(found, axis=0) == pytest.approx(true[:3], abs=0.12)
    values = np.linalg.eigvalsh(drawn)[:, ::-1][:, :3]
    alone = (values + np.sqrt(np.maximum(values**2 - 2 * dim, 0))) / 2
    assert abs(alone[:, 2].mean() - 6) > 0.4


def test_no_more_modes_are_seen_in_wide_coordinates_than_in_narrow_ones():
    """Where nothing is left for the others, their variances are roundings: they were called seen."""
    rng, dim = np.random.default_rng(0), 20
    narrow = np.where(np.arange(dim) < 2, 1.0, 0.0) * np.linspace(1, 0.2, dim)
    for _ in range(50):
        turns = [np.linalg.qr(rng.standard_normal((dim, dim)))[0] for _ in range(2)]
        spread = Spread(narrow, turns[0], np.arange(dim) < 2)
        assert spread.widened((turns[1] * np.linspace(1, 0.3, dim)) @ turns[1].T).significant.tolist() == [True] * 2 + [False] * 18


@pytest.mark.parametrize("noise", [5e-324, 1e-310, 1e-200, 1e200])
def test_moments_of_any_file_have_a_spread(noise):
    made = NoisyMoments("full", np.zeros(3), np.diag([1.0, 0.5, 1e-300]), 1.0, noise, 1.0).about_mean()
    assert np.isfinite(made.matrix).all()
    assert (np.diff(made.variances) <= 0).all()


def test_eigenvalues_next_to_one_another_keep_their_order():
    close = NoisyMoments("full", np.zeros(12), np.diag(30 + 0.02 * np.arange(12)), NO_NOISE, 1.0, 1e9).about_centre()
    assert (np.diff(close.variances) <= 0).all()


@pytest.mark.parametrize("second", ["trace", "diagonal"])
def test_very_many_dimensions_need_no_matrix(second, tmp_path):
    """It was made after the budget was spent, and did not fit into memory."""
    dim = 20_000
    book, space = rd.Ledger(tmp_path / "budget.db", rd.GDP(5.0)), rd.Euclidean(dim)
    X = np.random.default_rng(0).standard_normal((1000, dim), dtype=np.float32) * np.float32(0.3 / dim**0.5)
    made = rd.private_summary(X, rd.Ball(space, np.zeros(dim), 1.0), rd.GDP(5.0), second=second, ledger=book)
    assert made.dispersion == pytest.approx(0.3, abs=0.01)
    assert book.history()[0].status == "released"
    with pytest.raises(rd.InputError, match=r"20,000 dimensions: a matrix of them has too many numbers"):
        _ = made.covariance
    if second == "trace":
        assert len(made.modes()) == 0
    curved = rd.Ball(rd.Sphere(dim), np.eye(1, dim + 1)[0], 0.5)
    with pytest.raises(rd.MechanismError, match=r"20,000 dimensions where it is curved, at most 10,000: take private_mean"):
        rd.private_summary(np.ones((5, dim + 1)), curved, rd.GDP(5.0), second=second)


def test_eigenvalues_beyond_the_edge_are_cleared_of_noise():
    """In 100 dimensions noise makes an eigenvalue of 1.4 one of 1.8: what is stated is near the true one, on average."""
    rng, dim, noise = np.random.default_rng(5), 100, 0.1
    true, found, raw = 1.4, [], []
    for _ in range(20):
        A = rng.standard_normal((dim, dim))
        second = noise * (A + A.T) / 2 + np.diag([true, *[0.0] * (dim - 1)])
        cleared = NoisyMoments("full", np.zeros(dim), second, NO_NOISE, noise, 100.0).about_centre()
        assert 1 <= cleared.significant.sum() <= 2  # noise is beyond its edge once in twenty times
        found.append(cleared.variances[0])
        raw.append(np.linalg.eigvalsh(second)[-1])
    assert np.mean(found) == pytest.approx(true, rel=0.04)
    assert np.mean(raw) > 1.2 * true  # the control: what noise makes of it


def test_summaries_of_one_record_and_of_identical_ones_work():
    ball = rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)
    for n, guarantee in ((1, rd.GDP(1.0)), (1, rd.PureDP(1.0)), (50, rd.GDP(0.01))):
        made = summary(np.stack([np.eye(2)] * n), ball, guarantee)
        assert made.n == n
        assert np.isfinite(made.covariance).all()
        assert 0 <= made.dispersion <= np.sqrt(3)
        assert made.modes(5).directions.shape == (3, 2, 2)
    with pytest.warns(rd.UselessRelease, match="with n = 1"):
        rd.private_summary(np.eye(2)[None], ball, rd.GDP(1.0))


@pytest.mark.parametrize("bad", [0, -1, 1.5, "two"])
def test_a_number_of_modes_is_a_whole_one(bad):
    made = summary(np.zeros((9, 2)), rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0))
    with pytest.raises(rd.InputError, match="n = "):
        made.modes(bad)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("second", ["full", "trace"])
def test_values_of_records_never_raise_nor_show(scale, second, capsys):
    X = scale * np.array([[np.nan, 1], [np.inf, -np.inf], [1e8, 1e-8], [5e-324, 0], [0, 0]] * 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", rd.UselessRelease)
        made = rd.private_summary(X, rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0), rd.GDP(1.0), second=second)
    assert made.n == 150
    assert np.isfinite(made.covariance).all()
    assert capsys.readouterr() == ("", "")


# --- the whole release -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["full", "diagonal", "trace"])
@pytest.mark.parametrize("adapt", [False, True])
def test_files_hold_all_of_it(second, adapt, tmp_path):
    X, ball = records(rd.KendallShapes(4), 2000, 0.1), rd.Ball(rd.KendallShapes(4), rd.KendallShapes(4).origin, 0.5)
    made = rd.private_summary(X, ball, rd.GDP(1.0), second=second, adapt=adapt)
    made.modes()  # what was computed from it does not get into the file
    made.save(tmp_path / "summary.json")
    for read in (rd.Release.load(tmp_path / "summary.json"), rd.Summary.load(tmp_path / "summary.json")):
        assert isinstance(read, rd.Summary)
        assert read.to_dict() == made.to_dict()
        assert np.array_equal(read.covariance, made.covariance)
        assert (read.dispersion, read.fill) == (made.dispersion, made.fill)
    assert set(json.loads((tmp_path / "summary.json").read_text())["moments"]) == {
        "kind", "first", "second", "first_noise", "second_noise", "radius", "axes"}  # fmt: skip


@pytest.mark.parametrize("adapt", [False, rd.Adaptation(shape=False)], ids=str)
def test_files_from_before_there_were_shapes_are_read(adapt):
    X, ball = records(rd.Sphere(2), 2000, 0.1), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    made = rd.private_summary(X, ball, rd.GDP(1.0), adapt=adapt)
    data = made.to_dict() | {"format": 4}
    data["moments"] = {name: value for name, value in data["moments"].items() if name not in ("radius", "axes")}
    read = rd.Release.from_dict(data).to_dict()
    assert read["moments"].pop("radius") == (made.stages[-1].radius if adapt else ball.radius)
    expected = made.to_dict()
    expected["moments"].pop("radius")  # today's are of vectors that reach farther than the stage's radius
    assert read == expected


def test_a_mean_is_no_summary(tmp_path):
    rd.private_mean(np.zeros((99, 1)), rd.Ball(rd.Euclidean(1), [0.0], 1.0), rd.GDP(1.0)).save(tmp_path / "mean.json")
    with pytest.raises(rd.InputError, match="the release is no Summary"):
        rd.Summary.load(tmp_path / "mean.json")


SPOILED = [
    {"moments": None}, {"moments": {}}, {"moments": {"kind": "full"}}, {"class": "Median"}, {"class": 3}, {"fill": 2.0},
    {"fill": "full"}, {"first": [0.0]}, {"second": [[0.0, 1.0], [2.0, 0.0]]}, {"second": 1.0}, {"kind": "half"},
    {"first_noise": -1.0}, {"second_noise": "x"}, {"first": [np.nan, 0.0]}, {"more": 1}, {"axes": [1.0]},
    {"axes": [[1.0, np.inf], [0.0, 1.0]]}, {"radius": 0.0}, {"radius": None},
]  # fmt: skip


@pytest.mark.parametrize("spoiled", SPOILED, ids=str)
def test_files_that_are_no_summary_get_a_sentence(spoiled):
    data = summary(np.zeros((9, 2)), rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0)).to_dict()
    top = {"moments", "class", "fill"}
    data |= {"moments": data["moments"] | {k: v for k, v in spoiled.items() if k not in top}}
    with pytest.raises(rd.InputError, match=r"pass what|no Release"):
        rd.Release.from_dict(data | {k: v for k, v in spoiled.items() if k in top})


def test_a_summary_is_planned_simulated_and_paid_for_as_a_mean_is(tmp_path):
    X, ball = records(rd.Sphere(2), 3000, 0.3), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.5)
    plans = rd.plan(ball, 3000, rd.GDP(1.0), statistic="summary")
    assert [plan.mechanism for plan in plans] == ["wrapped-gaussian", "wrapped-laplace"]
    drawn = rd.simulate(X, ball, rd.GDP(1.0), statistic="summary", size=400, seed=0)
    errors = rd.Sphere(2).dist(drawn, rd.frechet_mean(X, rd.Sphere(2)).point)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(plans[0].expected_error, rel=0.25)
    adapted = rd.plan(ball, 3000, rd.GDP(1.0), statistic="summary", adapt=True, spread=0.5)[0]
    assert adapted.rounds > 0
    assert adapted.expected_error < 0.6 * plans[0].expected_error
    book = rd.Ledger(tmp_path / "budget.db", rd.GDP(1.0))
    rd.private_summary(X, ball, rd.GDP(1.0), ledger=book, note="stars")
    assert book.history()[0].description == "summary of 3,000 records, wrapped-gaussian: stars"
    with pytest.raises(rd.BudgetExceeded):
        rd.private_summary(X, ball, rd.GDP(0.1), ledger=book)


def test_adaptive_summaries_tell_the_trace_beyond_their_radius_but_not_beyond_a_ball_that_was_given():
    X, ball = records(rd.SPDAffine(2), 2000, 0.1), rd.Ball(rd.SPDAffine(2), np.eye(2), 3.0)
    made = rd.private_summary(X, ball, rd.GDP(1.0), adapt=True)
    radius = made.stages[-1].radius
    assert made.moments.radius == REACH_OF_SPREAD * radius
    alone = linear_sensitivity(vectors_up_to(radius, 3), 2000)
    assert made.sensitivity == pytest.approx((0.9 + 1 / 0.9) / 2 * alone, rel=1e-12)  # for less noise in the matrix
    how = prepare(Query(ball, 2000, rd.GDP(1.0), statistic="summary", adapt=True)).how
    shrunk = how.start.around(ball.center, 1.0, None)
    assert [how.last_query(body, how.whole).statistic.reach for body in (how.start, shrunk)] == [1.0, REACH_OF_SPREAD]
    usual = prepare(Query(ball, 2000, rd.GDP(1.0), adapt=True)).how.weights
    assert how.weights == usual
    assert how.efforts() == [usual, (0.05, 3 * usual.radius)]  # the last radii are more precise
    given = rd.Adaptation(radius_share=0.01)
    assert prepare(Query(ball, 2000, rd.GDP(1.0), statistic="summary", adapt=given)).how.efforts()[1].radius == 0.01
    assert rd.private_summary(X, ball, rd.GDP(1.0)).moments.radius == ball.radius
    pure = rd.private_summary(X, ball, rd.PureDP(1.0), adapt=True)
    assert pure.moments.radius == pure.stages[-1].radius


def test_a_private_centre_alone_is_refused():
    ball = rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0)
    alone = rd.Adaptation(rounds=1, center_share=0.3, radius_share=0.0)
    with pytest.raises(rd.InputError, match="'summary' lives at the ball's centre"):
        rd.private_summary(np.zeros((500, 2)), ball, rd.GDP(1.0), adapt=alone)


# --- how full the ball is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [rd.Euclidean(2), rd.SPDLogEuclidean(2), rd.Sphere(2), rd.SPDAffine(2)], ids=repr)
@pytest.mark.parametrize("statistic", ["frechet-mean", "tangent-mean"])
def test_means_with_gaussian_noise_tell_how_full_the_ball_is(space, statistic):
    X, ball = records(space, 20_000, 0.4), rd.Ball(space, space.origin, 1.0)
    made = rd.private_mean(X, ball, rd.GDP(1.0), statistic=statistic)
    exact = np.sqrt(np.square(Bounded(X, ball)._coordinates.all()).sum(axis=1).mean())
    assert made.fill == pytest.approx(exact, abs=0.01)


def test_fill_costs_nothing_where_it_is_linear_and_hardly_anything_elsewhere():
    for space, guarantee, most in ((rd.Euclidean(2), rd.GDP(1.0), 1.0), (rd.Euclidean(2), rd.PureDP(1.0), 1.0),
                                   (rd.Sphere(2), rd.GDP(1.0), 1.005), (rd.Sphere(2), rd.PureDP(1.0), 1.0)):  # fmt: skip
        query = Query(rd.Ball(space, space.origin, 1.0), 1000, guarantee)
        sensitivity = {fill: rd.statistics.mean.replace(query, can_fill=fill).plan().sensitivity for fill in (True, False)}
        assert sensitivity[False] <= sensitivity[True] <= most * sensitivity[False]
        assert (sensitivity[True] == sensitivity[False]) is (most == 1.0)


def test_fill_is_none_where_it_would_cost_something():
    X, ball = records(rd.Sphere(2), 500, 0.3), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.0)
    for mechanism in ("wrapped-laplace", "riemannian-laplace", "kng", "extrinsic-laplace"):
        assert rd.private_mean(X, ball, rd.PureDP(1.0), mechanism=mechanism).fill is None
    assert rd.private_mean(X, ball, rd.PureDP(1.0), statistic="tangent-mean").fill > 0


def test_a_ball_that_all_records_leave_is_full():
    X = np.random.default_rng(0).normal(size=(2000, 2)) + 1000
    assert rd.private_mean(X, rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0), rd.GDP(1.0)).fill > 0.98


@pytest.mark.parametrize("kind", ["frechet-mean", "tangent-mean"])
def test_no_record_moves_mean_and_fill_farther_than_stated(kind):
    """Together, on pairs that are the worst for either: across the ball, and along a line of it."""
    space, n = rd.Sphere(2), 12
    ball = rd.Ball(space, space.origin, 1.2)
    query = Query(ball, n, rd.GDP(1.0), statistic=kind)
    law = query.law(query.plan())
    assert isinstance(law.statistic, WithFill)
    limit, others = query.plan().sensitivity, np.zeros((n - 1, 2))
    for end in (-1.0, 2 - np.sqrt(5), 0.0):
        pair = [point(space, np.vstack([others, 1.2 * share * np.eye(2)[:1]])) for share in (1.0, end)]
        values = [np.concatenate(law.value(Bounded(X, ball))) for X in pair]
        moved = np.linalg.norm(values[0] - values[1])
        assert moved <= limit
        if kind == "tangent-mean" and end != 0.0:
            assert moved > 0.999 * limit


# --- sites -----------------------------------------------------------------------------------------------------------


def test_a_summary_of_sums_is_that_of_all_records(tmp_path):
    space, key = rd.SPDAffine(2), bytes(range(32))
    X, ball = records(space, 40_000, 0.5), rd.Ball(space, np.eye(2), 2.0)
    for second in ("full", "diagonal", "trace"):
        parts = {"a": X[:10], "b": X[10:20_000], "c": X[20_000:]}
        sums = [rd.site_sum(part, ball, site=name, study="s", second=second) for name, part in parts.items()]
        for one in sums:
            one.save(tmp_path / f"{second}-{one.site}.json", key=key)
        read = [rd.SiteSum.load(tmp_path / f"{second}-{name}.json", key=key) for name in parts]
        with kernels_for(len(X)):
            pooled, exact = rd.statistics.sites.pooled_moments(read), Bounded(X, ball).moment_sums(second)
        assert (pooled.first_total, pooled.second_total) == (exact.first_total, exact.second_total)
        made = rd.private_summary_of_sums(read, rd.GDP(1.0))
        assert made.n == 40_000
        assert made.moments.kind == second
        assert made.sensitivity == rd.plan(ball, 40_000, rd.GDP(1.0), statistic="summary")[0].sensitivity
        assert made.dispersion == pytest.approx(0.5, rel=0.05)
        assert rd.private_mean_of_sums(read, rd.GDP(1.0)).fill is None


def test_sums_without_or_with_other_second_moments_are_refused():
    ball = rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0)
    kinds = [None, "full", "trace"]
    sums = [rd.site_sum(np.zeros((9, 2)), ball, site=str(kind), study="s", second=kind) for kind in kinds]
    for some in (sums[:1], sums[1:], sums):
        with pytest.raises(rd.InputError, match="the same second moments"):
            rd.private_summary_of_sums(some, rd.GDP(1.0))
    with pytest.raises(rd.InputError, match="second = 'auto': pass None or one of"):
        rd.site_sum(np.zeros((9, 2)), ball, site="x", study="s", second="auto")


@pytest.mark.parametrize("spoil", [lambda s: s[:-1], lambda s: (*s[:-1], -1), lambda s: (-1, *s[1:]), lambda s: (*s[:-1], 10**40)])
def test_second_moments_that_no_records_have_are_refused(spoil):
    ball = rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0)
    good = rd.site_sum(np.full((9, 2), 0.5), ball, site="x", study="s", second="full")
    with pytest.raises(rd.InputError, match="not those of a site's sum"):
        rd.SiteSum(ball, 9, good.total, "x", "s", second="full", second_total=spoil(good.second_total))
