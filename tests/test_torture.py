"""Records as bad as float64 allows: the guarantee stands, the output is a point, and nothing takes for ever."""

from __future__ import annotations

import tracemalloc
import warnings
from time import monotonic

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import with_others
from riemdp.mechanisms import MECHANISMS
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.intrinsic import IntrinsicMean, TangentMean

RADIUS = {rd.KendallShapes: 0.3, rd.Sphere: 0.6, rd.Product: 0.2}
SPACES = with_others([
    rd.Euclidean(3), rd.Sphere(2), rd.Sphere(2, curvature=1e-4), rd.Hyperbolic(2), rd.Hyperbolic(3, curvature=-9.0), rd.SPDAffine(2),
    rd.SPDAffine(3), rd.SPDLogEuclidean(2), rd.KendallShapes(4), rd.Product(rd.Sphere(2), rd.SPDAffine(2)),
])  # fmt: skip
SMALLEST = [rd.Euclidean(1), rd.Sphere(1), rd.Hyperbolic(1), rd.SPDAffine(1), rd.SPDLogEuclidean(1), rd.KendallShapes(3)]
LARGEST = [rd.Euclidean(100), rd.Sphere(100), rd.Hyperbolic(100), rd.KendallShapes(100)]
PURE, GAUSSIAN = rd.PureDP(1.0), rd.GDP(1.0)


def ball_of(space):
    return rd.Ball(space, space.origin, RADIUS.get(type(space), 0.5))


def fill(space, value):
    return np.full(space.point_shape, value)


def numbers(space):
    """Records of one and the same number, or nearly."""
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e-310, 1e-300, 1e300, -1e300, 1.7e308, 1e154, 1.0]
    return {f"all {value!r}": fill(space, value) for value in special}


def strange(space):
    """Records that are nearly points, and points that are hardly any."""
    rng, origin = np.random.default_rng(0), space.origin
    point = space.random_point(1, rng)[0]
    with_nan = point.copy()
    with_nan.flat[-1] = np.nan
    uneven = point.copy()
    uneven.flat[0] = 1e300
    found = {
        "origin": origin, "antipode": -origin, "point": point, "one nan": with_nan, "one huge": uneven, "tiny": 1e-300 * point,
        "huge": 1e300 * point, "denormal": 5e-324 * np.sign(point), "noise": 1e3 * rng.standard_normal(space.point_shape),
    }  # fmt: skip
    if isinstance(space, rd.SPDAffine | rd.SPDLogEuclidean):
        k = space.k
        lower = np.tril(np.ones((k, k))) + k * np.eye(k)
        found |= {
            "singular": np.ones((k, k)), "indefinite": np.diag(np.linspace(-1, 1, k)), "not symmetric": lower, "zero row": np.diag([0.0, *[1.0] * (k - 1)]),
            "ill conditioned": np.diag(np.geomspace(1e-300, 1e300, k)), "nearly singular": np.ones((k, k)) + 1e-17 * np.eye(k), "skew": lower - lower.T,
        }  # fmt: skip
    if isinstance(space, rd.KendallShapes):
        collapsed, pair = np.ones((space.k, 2)), np.ones((space.k, 2))
        pair[0] = 1 + 1e-15
        line = np.stack([np.arange(space.k), np.zeros(space.k)], axis=1)
        found |= {"coincident": collapsed, "nearly coincident": pair, "collinear": line, "mirrored": origin * [1, -1], "far away": origin + 1e200}
    if isinstance(space, rd.Hyperbolic):
        found |= {"time only": np.array([1e300, *[0.0] * space.d]), "lightlike": np.array([1.0, 1.0, *[0.0] * (space.d - 1)])}
    return found


def records(space):
    """Every bad record, by name."""
    return numbers(space) | strange(space)


def batches(space):
    """Data sets of bad records: each alone, in pairs with the next, all equal, and all together."""
    bad = list(records(space).values())
    alone = [x[None] for x in bad]
    pairs = [np.stack(pair) for pair in zip(bad[::3], bad[1::3], strict=False)]
    return [*alone, *pairs, np.stack(bad), np.stack([strange(space)["point"]] * 7), np.stack([strange(space)["antipode"]] * 5)]


def mechanisms_for(ball, n):
    """What plan lists for pure and for Gaussian privacy."""
    return [(row, guarantee) for guarantee in (PURE, GAUSSIAN) for row in rd.plan(ball, n, guarantee)]


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", rd.UselessRelease)  # by public numbers: few records
        yield


@pytest.mark.parametrize("space", SPACES + SMALLEST, ids=repr)
def test_the_release_is_a_point_and_says_what_the_plan_said(space):
    """Each bad record alone and with another, by the mechanism whose turn it is; all of them by every mechanism."""
    ball, sets = ball_of(space), batches(space)
    turns = {n: mechanisms_for(ball, n) for n in {len(X) for X in sets}}
    for number, X in enumerate(sets):
        planned = turns[len(X)]
        for row, guarantee in planned if len(X) > 2 else [planned[number % len(planned)]]:
            made = rd.private_mean(X, ball, guarantee, mechanism=row.mechanism)
            assert np.isfinite(made.value).all()
            assert space.contains(made.value).all()
            assert (made.scale, made.sensitivity, made.expected_error) == (row.scale, row.sensitivity, row.expected_error)
            assert made.guarantee == guarantee


@pytest.mark.parametrize("space", SPACES + SMALLEST, ids=repr)
@pytest.mark.parametrize("statistic", [TangentMean(), IntrinsicMean()], ids=["tangent-mean", "frechet-mean"])
def test_no_bad_record_moves_the_value_by_more_than_the_sensitivity(space, statistic):
    """Neighbours that differ in one bad record, beside one, two or nine others: in the ball, and close enough."""
    ball, bad = ball_of(space), list(records(space).values())
    foot = np.zeros(space.dim)
    for others in ([], bad[:1], space.random_point(9, np.random.default_rng(1))):
        sets = [np.stack([*others, x]) for x in bad]
        values = np.stack([statistic.value(Bounded(X, ball), foot) for X in sets])
        assert np.isfinite(values).all()
        assert np.linalg.norm(values, axis=1).max() <= ball.radius * (1 + 1e-12)
        apart = np.linalg.norm(values[:, None] - values[None], axis=-1).max()
        assert apart <= statistic.sensitivity(ball, len(sets[0]), foot)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_the_sensitivity_would_not_hold_for_raw_records(space):
    """The control: without the ball, the same records are far farther apart than the sensitivity, or not even finite."""
    flat = np.stack([x.ravel() for x in records(space).values()])
    with np.errstate(all="ignore"):
        apart = np.linalg.norm(flat[:, None] - flat[None], axis=-1).max()
    assert not apart < 1e3 * TangentMean().sensitivity(ball_of(space), 1, np.zeros(space.dim))


@pytest.mark.parametrize("space", LARGEST, ids=repr)
@pytest.mark.parametrize("n", [1, 2])
def test_high_dimensions_take_bounded_time_and_memory(space, n):
    """Every mechanism that plan lists; the limits are some twenty times what a quiet machine takes."""
    ball, bad = ball_of(space), list(records(space).values())
    started = monotonic()
    tracemalloc.start()
    for row in rd.plan(ball, n, PURE):
        made = rd.private_mean(np.stack(bad[:n]), ball, PURE, mechanism=row.mechanism)
        assert space.contains(made.value).all()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500e6
    assert monotonic() - started < 60


@pytest.mark.parametrize("space", [rd.SPDAffine(100), rd.SPDLogEuclidean(100)], ids=repr)
def test_hundred_by_hundred_matrices(space):
    bad = records(space)
    X = np.stack([bad["all nan"], bad["singular"], bad["not symmetric"], bad["ill conditioned"], bad["point"]])
    ball, started = ball_of(space), monotonic()
    made = rd.private_mean(X, ball, GAUSSIAN)
    assert space.contains(made.value).all()
    assert made.sensitivity == rd.private_mean(np.stack([bad["point"]] * 5), ball, GAUSSIAN).sensitivity
    assert monotonic() - started < 120


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_time_does_not_explode_with_bad_records(space):
    """A thousand bad records by every mechanism, within what is wide for a thousand good ones."""
    bad = list(records(space).values())
    X = np.stack([bad[i % len(bad)] for i in range(1000)])
    started = monotonic()
    for row in rd.plan(ball_of(space), len(X), PURE):
        rd.private_mean(X, ball_of(space), PURE, mechanism=row.mechanism)
    assert monotonic() - started < 60


@pytest.mark.parametrize("name", [name for name, mechanism in MECHANISMS.items() if mechanism.is_baseline])
def test_baselines_too(name):
    space = rd.KendallShapes(4) if name.startswith("pointwise") else rd.SPDAffine(2)
    guarantee = rd.ApproxDP(1.0, 1e-6) if name.endswith("gaussian") else PURE
    for X in batches(space):
        made = rd.private_mean(X, ball_of(space), guarantee, mechanism=name)
        assert space.contains(made.value).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_adaptation_too(space):
    """A private ball among bad records is a ball within the given one, and its stages are within the guarantee."""
    bad = list(records(space).values())
    X = np.stack([bad[i % len(bad)] for i in range(600)])
    made = rd.private_mean(X, ball_of(space), rd.GDP(20.0), adapt=True)
    assert space.contains(made.value).all()
    assert made.ball.radius <= ball_of(space).radius


@pytest.mark.parametrize("big", [1e200, 1e300, 1.7e308])
def test_a_centre_at_the_end_of_float64(big):
    """Not even exp(0) is a finite matrix there: the release is the centre, and still a point."""
    for space in (rd.SPDLogEuclidean(2), rd.SPDAffine(2)):
        ball = rd.Ball(space, np.diag([1.0, big]), 0.25)
        made = rd.private_mean(space.random_point(3, np.random.default_rng(0)), ball, PURE, mechanism="wrapped-laplace")
        assert space.contains(made.value).all()


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Product(rd.Sphere(2), rd.Euclidean(1)), rd.KendallShapes(4)], ids=repr)
@pytest.mark.parametrize("epsilon", [1e4, 2.0**31, 1e20, 1e49])
def test_little_noise_is_drawn_or_refused_in_time(space, epsilon):
    """The K-norm gradient law starves when the noise is smaller than the tolerance of the mean; others do not."""
    X, ball, started = space.random_point(3, np.random.default_rng(5)), ball_of(space), monotonic()
    with pytest.raises(rd.MechanismError, match="wrapped-laplace"):
        rd.private_mean(X, ball, rd.PureDP(epsilon), mechanism="kng")
    for mechanism in ("riemannian-laplace", "wrapped-laplace"):
        assert space.contains(rd.private_mean(X, ball, rd.PureDP(epsilon), mechanism=mechanism).value).all()
    assert monotonic() - started < 60


@pytest.mark.parametrize("epsilon", [1e51, 1e300, 1.7e308])
def test_what_promises_nothing_is_refused(epsilon):
    for mechanism in ("riemannian-laplace", "wrapped-laplace", "kng"):
        with pytest.raises(rd.MechanismError, match="promises nothing"):
            rd.private_mean(np.eye(3)[:1], rd.Ball(rd.Sphere(2), [0, 0, 1], 0.5), rd.PureDP(epsilon), mechanism=mechanism)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("epsilon", [1e-3, 1e-10, 1e-17])
def test_mere_noise_is_a_point_that_can_be_kept(space, epsilon, tmp_path):
    """Noise far larger than the space, or beyond exp's range: still points with a finite expected error."""
    X, ball = space.random_point(3, np.random.default_rng(0)), ball_of(space)
    for guarantee, mechanism in ((rd.PureDP(epsilon), "auto"), (rd.GDP(epsilon), "wrapped-gaussian")):
        made = rd.private_mean(X, ball, guarantee, mechanism=mechanism)
        assert space.contains(made.value).all()
        made.save(tmp_path / "mean.json", force=True)
        assert np.allclose(rd.Release.load(tmp_path / "mean.json").value, made.value, rtol=1e-12, atol=0)


@pytest.mark.parametrize("epsilon", [1e-21, 1e-160, 5e-324])
def test_nothing_but_noise_is_refused(epsilon):
    ball, X = rd.Ball(rd.Product(rd.Sphere(2), rd.Euclidean(1)), [0, 0, 1, 0], 0.2), np.array([[0.0, 0, 1, 0]])
    for guarantee, names in ((rd.PureDP(epsilon), ("wrapped-laplace", "riemannian-laplace", "kng", "auto")), (rd.GDP(epsilon), ("wrapped-gaussian",))):
        for name in names:
            with pytest.raises(rd.RiemdpError, match=r"nothing but noise|exceeds every float"):
                rd.private_mean(X, ball, guarantee, mechanism=name)
