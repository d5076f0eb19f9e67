"""Private means: what is computed is within the claimed tolerance of the truth and never moves by more than
the claimed sensitivity, for all records whatever; what cannot be done is refused before anything is read.
"""

from __future__ import annotations

import itertools
import math
import pickle
import re
import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean
from manifolds.examples import SPACES
from riemdp.manifolds import radii
from riemdp.mechanisms import MECHANISMS
from riemdp.privacy import bounded
from riemdp.privacy.bounded import Bounded
from riemdp.statistics import intrinsic
from riemdp.statistics.adaptation import FOOTPOINT
from riemdp.statistics.catalogue import STATISTICS, statistic_for, statistic_names
from riemdp.statistics.frechet import FrechetMean, error_bound
from riemdp.statistics.intrinsic import IntrinsicMean, MeanPoint, TangentMean
from riemdp.statistics.mean import rehearse
from riemdp.statistics.query import Query

CURVED = [
    rd.Sphere(2),
    rd.Sphere(4, curvature=9.0),
    rd.Hyperbolic(2),
    rd.Hyperbolic(3, curvature=-4.0),
    rd.SPDAffine(3),
    rd.KendallShapes(3),
    rd.KendallShapes(5),
    rd.Product(rd.Sphere(2), rd.SPDAffine(2), rd.Euclidean(2)),
    rd.Product(rd.SPDLogEuclidean(2), rd.Hyperbolic(2)),
]
curved = pytest.mark.parametrize("space", CURVED, ids=repr)
all_spaces = pytest.mark.parametrize("space", SPACES, ids=repr)


def widest(space):
    """The largest radius that is allowed in positive curvature, a moderate one elsewhere."""
    return min(0.9 * space.uniqueness_radius, 2.0)


def records_at(coords, ball):
    """Records with these coordinates at the centre."""
    return ball.space.write(ball.space.exp_coords(coords, ball.inner_center), ball.center)


def some_ball(space, radius):
    return rd.Ball(space, space.random_point(1, 3)[0], radius)


def value(coords, ball, foot):
    """The computed statistic, as a release would compute it."""
    return IntrinsicMean().value(Bounded(records_at(coords, ball), ball), foot)


def axes(space):
    return np.eye(space.dim)


# --- the computed value against the truth ---------------------------------------------------------------


def mp_sphere(coords):
    v = mpmath.matrix(coords.tolist())
    t = mpmath.norm(v)
    sinc = mpmath.sin(t) / t if t else mpmath.mpf(1)
    return [*(sinc * c for c in v), mpmath.cos(t)]


def mp_sphere_log(x, y):
    cosine = sum(a * b for a, b in zip(x, y, strict=True))
    aside = [b - cosine * a for a, b in zip(x, y, strict=True)]
    sine = mpmath.sqrt(sum(a * a for a in aside))
    angle = mpmath.atan2(sine, cosine)
    return [a * (angle / sine if sine else 1) for a in aside], angle


def mp_hyperbolic(coords):
    v = mpmath.matrix(coords.tolist())
    t = mpmath.norm(v)
    sinhc = mpmath.sinh(t) / t if t else mpmath.mpf(1)
    return [mpmath.cosh(t), *(sinhc * c for c in v)]


def mp_hyperbolic_log(x, y):
    cosh = x[0] * y[0] - sum(a * b for a, b in zip(x[1:], y[1:], strict=True))
    aside = [b - cosh * a for a, b in zip(x, y, strict=True)]
    sinh = mpmath.sqrt(max(cosh * cosh - 1, 0))
    angle = mpmath.asinh(sinh)
    return [a * (angle / sinh if sinh else 1) for a in aside], angle


@pytest.mark.parametrize("radius", [0.1, 1.0, 1.41])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_on_the_sphere_the_value_is_within_tolerance(radius, n):
    """By the certificate in 50 digits: |grad F|/h, h the mean of t cot t at the records, with room for the reach."""
    space = rd.Sphere(2)
    ball, rng = rd.Ball(space, space.origin, radius), np.random.default_rng(n)
    _, tolerance = intrinsic._sensitivity_and_error(ball, n, np.zeros(2))
    for _ in range(5):
        coords = bounded._to_ball(records_at(rim(rng, n, 2, radius), ball), ball)
        found = value(coords, ball, np.zeros(2))
        with mpmath.workdps(50):
            x = mp_sphere(found)
            logs = [mp_sphere_log(x, mp_sphere(c)) for c in coords]
            gradient = mpmath.norm([sum(column) / n for column in zip(*(v for v, _ in logs), strict=True)])
            room = mpmath.mpf("1e-3")
            h = sum(q * mpmath.cot(q) if q else 1 for q in (angle + room for _, angle in logs)) / n
            stretch = radius / mpmath.sin(radius)  # of log on the ball
            assert h > 0
            assert gradient / h < room
            assert gradient / h * stretch <= tolerance


@pytest.mark.parametrize(("radius", "n"), [(0.5, 3), (5.0, 4), (20.0, 3), (25.0, 6), (25.0, 500)])
def test_on_hyperbolic_space_the_value_is_within_tolerance(radius, n):
    """There rho(x, mean) <= |grad F(x)|; at radius 25 float64 is so coarse that rounding sets the tolerance."""
    space = rd.Hyperbolic(2)
    ball, rng = rd.Ball(space, space.origin, radius), np.random.default_rng(n)
    _, tolerance = intrinsic._sensitivity_and_error(ball, n, np.zeros(2))
    for _ in range(4):
        coords = bounded._to_ball(records_at(rim(rng, n, 2, radius), ball), ball)
        found = value(coords, ball, np.zeros(2))
        unique, counts = np.unique(coords, axis=0, return_counts=True)
        with mpmath.workdps(80):
            x = mp_hyperbolic(found)
            logs = [mp_hyperbolic_log(x, mp_hyperbolic(c))[0] for c in unique]
            columns = zip(*logs, strict=True)
            total = [sum(m * c for m, c in zip(counts.tolist(), column, strict=True)) / n for column in columns]
            gradient = mpmath.sqrt(abs(sum(c * c for c in total[1:]) - total[0] ** 2))
            assert gradient <= tolerance


@pytest.mark.parametrize(("radius", "n"), [(0.5, 3), (3.0, 4), (6.0, 3), (5.0, 200)])
def test_on_affine_matrices_the_value_is_within_tolerance(radius, n):
    space = rd.SPDAffine(2)
    ball, rng = rd.Ball(space, space.origin, radius), np.random.default_rng(n)
    _, tolerance = intrinsic._sensitivity_and_error(ball, n, np.zeros(3))
    for _ in range(4):
        coords = bounded._to_ball(records_at(rim(rng, n, 3, radius), ball), ball)
        found = value(coords, ball, np.zeros(3))
        unique, counts = np.unique(coords, axis=0, return_counts=True)
        with mpmath.workdps(50):
            half_inverse = mp_function(mp_symmetric(found), lambda t: mpmath.exp(-t / 2))
            total = mpmath.zeros(2)
            for c, m in zip(unique, counts.tolist(), strict=True):
                point = mp_function(mp_symmetric(c), mpmath.exp)
                total += m * mp_function(half_inverse * point * half_inverse, mpmath.log) / n
            assert mpmath.mnorm(total, "f") <= tolerance


def mp_symmetric(coords):
    a, b, c = map(mpmath.mpf, coords.tolist())
    return mpmath.matrix([[a, c / mpmath.sqrt(2)], [c / mpmath.sqrt(2), b]])


def mp_function(matrix, f):
    values, vectors = mpmath.eigsy(matrix)
    return vectors * mpmath.diag([f(v) for v in values]) * vectors.T


def rim(rng, n, dim, radius):
    """n records at a few places of the rim."""
    places = rng.standard_normal((min(n, 3), dim))
    places *= radius / np.linalg.norm(places, axis=1, keepdims=True)
    return places[rng.integers(len(places), size=n)]


@curved
def test_a_footpoint_changes_the_coordinates_not_the_mean(space):
    """exp at either footpoint leads to the same point."""
    ball = some_ball(space, 0.5 * widest(space))
    coords = np.random.default_rng(1).uniform(-1, 1, (6, space.dim)) * ball.radius / math.sqrt(space.dim)
    foot = 0.5 * ball.radius * axes(space)[0]
    (_, tolerance), (_, other) = (intrinsic._sensitivity_and_error(ball, 6, f) for f in (foot, 0 * foot))
    one = space.exp_coords(value(coords, ball, foot), ball.at_origin(foot))
    two = ball.at_origin(value(coords, ball, 0 * foot))
    assert space.distance(one, two) <= tolerance + other


@pytest.mark.parametrize("distance", [0.5, 8.0, 16.0])
def test_coordinates_at_a_far_footpoint_count_its_rounding(distance):
    """log at a far point of hyperbolic space is coarse: its error, found in 60 digits, is within the limit."""
    space, rng = rd.Hyperbolic(2), np.random.default_rng(3)
    ball = rd.Ball(space, space.origin, 1.0)
    foot = distance * axes(space)[0]
    limit = intrinsic._rounding_limit(space, max(1.0, distance), 10**6)
    p = ball.at_origin(foot)
    for x in ball.at_origin(hard(rng, space, 20, 1.0)):
        with mpmath.workdps(60):
            exact = mp_boosted_log(p[1:].tolist(), x[1:].tolist())
            error = mpmath.norm([e - float(c) for e, c in zip(exact, space.log_coords(x, p), strict=True)])
        assert error <= limit
    assert intrinsic._sensitivity_and_error(ball, 10**6, foot)[1] >= 4 * limit
    with pytest.raises(rd.MechanismError, match="footpoint"):
        intrinsic._sensitivity_and_error(ball, 10**6, 30.0 * axes(space)[0])


def mp_boosted_log(p, q):
    """log at p of q, given by their space parts, in the frame of the boost that takes p to the origin."""
    p, q = mpmath.matrix(p), mpmath.matrix(q)
    p0, q0 = (mpmath.sqrt(1 + mpmath.norm(v) ** 2) for v in (p, q))
    moved = q + p * ((p.T * q)[0] / (1 + p0) - q0)
    size = mpmath.norm(moved)
    return [c * mpmath.asinh(size) / size for c in moved]


@pytest.mark.parametrize("space", [rd.Euclidean(3), rd.SPDLogEuclidean(2), rd.Sphere(2), rd.KendallShapes(4)], ids=repr)
def test_the_tangent_mean_is_the_mean_of_the_logs(space):
    ball = some_ball(space, 0.5 * min(space.uniqueness_radius, 1.0))
    X = space.random_point(7, 0)
    found = TangentMean().value(Bounded(X, ball), np.zeros(space.dim))
    assert found == pytest.approx(bounded._to_ball(space.read(X, "X"), ball).mean(axis=0), abs=1e-15)


# --- no data set makes the solver fail ------------------------------------------------------------------


def hard(rng, space, n, radius):
    """A few clusters, most of them on the rim."""
    k = int(rng.integers(1, 5))
    directions = rng.standard_normal((k, space.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    if rng.random() < 0.3:
        directions = axes(space)[rng.integers(space.dim, size=k)] * rng.choice([-1, 1], (k, 1))
    depth = 1.0 if rng.random() < 0.5 else rng.random((n, 1)) ** 0.2
    return directions[rng.integers(k, size=n)] * depth * radius


def largest_radius(space, n):
    """The largest ball in which a mean of n records may be asked for."""
    low, high = 0.01, 0.9 * min(space.uniqueness_radius, 60.0)
    for _ in range(30):
        middle = (low + high) / 2
        try:
            intrinsic._sensitivity_and_error(rd.Ball(space, space.origin, middle), n, np.zeros(space.dim))
            low = middle
        except rd.MechanismError:
            high = middle
    return low


@pytest.mark.parametrize("space", [*CURVED[:7], rd.SPDAffine(5), rd.Hyperbolic(9)], ids=repr)
@pytest.mark.parametrize("newton", [True, False])
def test_every_data_set_in_the_ball_has_a_certified_value(space, newton, monkeypatch):
    """In the largest ball allowed; by Newton's method, which gets lost here and there, or without it."""
    if not newton:
        monkeypatch.setattr(intrinsic, "solve", lost)
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4, 5, 50):
        ball = rd.Ball(space, space.origin, largest_radius(space, n))
        for _ in range(3):
            coords = hard(rng, space, n, ball.radius)
            found = value(coords, ball, np.zeros(space.dim))
            assert np.linalg.norm(found) <= ball.radius * 1.05
            records = Bounded(records_at(coords, ball), ball)
            assert error_bound(records.model(ball.at_origin(found))) <= intrinsic._sensitivity_and_error(ball, n, 0 * found)[1]


def lost(*_, **__):
    raise rd.ConvergenceError("lost")


# --- no certificate, no exception ----------------------------------------------------------------------

BALLS = [  # of each space, from as small as a public ball may be up to wide ones
    (rd.Sphere(2), 1e-12),
    (rd.Sphere(2), 0.7),
    (rd.Sphere(3, curvature=9.0), 0.35),
    (rd.KendallShapes(3), 1e-12),
    (rd.KendallShapes(4), 0.5),
    (rd.Hyperbolic(2), 1e-11),
    (rd.Hyperbolic(2), 5.0),
    (rd.SPDAffine(2), 1e-11),
    (rd.SPDAffine(2), 3.0),
]
balls = pytest.mark.parametrize(("space", "radius"), BALLS, ids=str)


@pytest.fixture
def uncertain(monkeypatch):
    """Newton's method fails, and so does every certificate."""
    monkeypatch.setattr(intrinsic, "solve", lost)
    monkeypatch.setattr(intrinsic, "error_bound", lambda _: math.inf)


@balls
def test_where_nothing_can_be_certified_the_value_is_within_tolerance_all_the_same(space, radius, uncertain):
    """After the public number of steps, by 60 digits; even if every gradient is as wrong as it may be."""
    ball, rng, n = rd.Ball(space, space.origin, radius), np.random.default_rng(1), 5
    _, tolerance = intrinsic._sensitivity_and_error(ball, n, np.zeros(space.dim))
    limit = intrinsic._rounding_limit(space, radius, n)
    for wrong in (0.0, 0.9 * limit):
        records = Misled(records_at(hard(rng, space, n, radius), ball), ball, wrong)
        found = intrinsic._descend(records, tolerance / 2)
        truth = exact_mean(space, records._around_origin.all(), found)
        assert distance(space, exact(space).read(found), truth) <= tolerance / 2
        assert records.passes == intrinsic._passes(space, radius)


class Misled(Bounded):
    """Records whose gradients are wrong by a given length, in a direction that stays long enough to add up."""

    def __init__(self, X, ball, wrong):
        super().__init__(X, ball)
        self.wrong, self.passes = wrong, 0

    def model(self, x):
        self.passes += 1
        true = super().model(x)
        aside = np.eye(self.space.dim)[self.passes // 50 % self.space.dim]
        return replace(true, descent=true.descent + self.wrong * aside)


@balls
@pytest.mark.parametrize("harm", ["an exception", "no numbers", "a huge gradient"])
def test_a_value_needs_no_luck_with_the_arithmetic(space, radius, harm, uncertain, monkeypatch):
    """Were the bounds on rounding errors false, a release would still end, near the ball, without a word."""

    def model(self, x):
        if harm == "an exception":
            raise ValueError("-inf + inf in fsum")
        return replace(usual(self, x), descent=np.full(space.dim, math.nan if harm == "no numbers" else 1e30))

    usual = Bounded.model
    monkeypatch.setattr(Bounded, "model", model)
    ball = some_ball(space, radius)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = value(np.zeros((3, space.dim)), ball, np.zeros(space.dim))
        point = MeanPoint().value(Bounded(records_at(np.zeros((3, space.dim)), ball), ball), np.zeros(space.dim))
    assert np.linalg.norm(found) <= 2.1 * radius
    assert space.contains(space.write(point, ball.center))


# Where the computed mean of 2^14 equal shapes was off by nearly 3,000 roundings, and thrice the tolerance.
UNLUCKY = np.array(
    [
        [-1.7556802074520903e-09, 1.957970797704633e-08],
        [6.016520249875656e-09, 7.941162795283688e-09],
        [1.4661419903885833e-08, 9.187227560481454e-09],
    ]
)


@pytest.mark.parametrize("unlucky", UNLUCKY, ids=str)
def test_a_tight_cluster_of_shapes_and_its_neighbour_are_released_in_a_few_passes(unlucky, monkeypatch):
    """2^14 records in a ball of radius 2.05e-8: one of the two once took 200,000 passes, and then an exception."""
    passes, usual = [], Bounded.model

    def model(self, x):
        passes.append(1)
        assert len(passes) <= 40
        return usual(self, x)

    monkeypatch.setattr(Bounded, "model", model)
    space = rd.KendallShapes(3)
    ball = rd.Ball(space, space.origin, 2.05e-8)
    cluster = np.repeat(records_at(unlucky, ball)[None], 2**14, axis=0)
    neighbour = cluster.copy()
    neighbour[5] = records_at(-unlucky, ball)
    for X in (cluster, neighbour):
        assert rd.private_mean(X, ball, rd.PureDP(1.0)).n == 2**14
    records = Bounded(cluster, ball)
    found = IntrinsicMean().value(records, np.zeros(2))
    assert np.linalg.norm(found - records._coordinates.all()[0]) <= intrinsic._sensitivity_and_error(ball, 2**14, np.zeros(2))[1]


def test_newtons_method_alone_would_fail():
    """Three records of hyperbolic space at distance 20: without the descent, an error that depends on the data."""
    space = rd.Hyperbolic(2)
    ball, rng = rd.Ball(space, space.origin, 20.0), np.random.default_rng(0)
    failures = 0
    for _ in range(60):
        records = Bounded(records_at(hard(rng, space, 4, 20.0), ball), ball)
        try:
            intrinsic.solve(records, 1e-3, max_iter=50)
        except rd.ConvergenceError:
            failures += 1
            intrinsic._descend(records, 1e-3)
    assert failures > 0


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.KendallShapes(4)], ids=repr)
def test_a_critical_point_far_away_is_not_taken_for_the_mean(space, monkeypatch):
    """Were Newton's method to return one, certified as it may be, the descent would find the mean."""
    ball = rd.Ball(space, space.origin, 0.3 * space.uniqueness_radius)
    coords = 0.1 * ball.radius * np.ones((3, space.dim))
    far = ball.at_origin(1.1 * space.uniqueness_radius * axes(space)[0])
    monkeypatch.setattr(intrinsic, "solve", lambda *_, **__: FrechetMean(far, 0.0, 1))
    assert value(coords, ball, np.zeros(space.dim)) == pytest.approx(coords[0], abs=1e-3 * ball.radius)


@pytest.mark.parametrize("space", CURVED[:7], ids=repr)
def test_a_safe_step_stays_in_the_ball_and_shrinks_the_function(space):
    """docs/proofs/bounded.md, section 4: from any point of the ball, for any records in it."""
    radius = widest(space)
    ball, rng = rd.Ball(space, space.origin, radius), np.random.default_rng(4)
    step = intrinsic._safe_step(space, radius)
    assert 0 < step <= 1
    for _ in range(60):
        records = Bounded(records_at(hard(rng, space, 5, radius), ball), ball)
        x = ball.at_origin(hard(rng, space, 1, radius)[0])
        after = space.exp_coords(step * records.model(x).descent, x)
        before = (space.distance(x, records._around_origin.all()) ** 2).sum()
        assert (space.distance(after, records._around_origin.all()) ** 2).sum() <= before * (1 + 1e-12)
        assert space.distance(ball.at_origin(np.zeros(space.dim)), after) <= radius * (1 + 1e-9)


# --- adversarial neighbours -----------------------------------------------------------------------------


def neighbours(space, n, radius, rng):
    """Pairs that differ in the last record: opposite ends, two clusters and a jump across, all at random."""
    e = axes(space)
    for i, j in [(0, 0), (0, space.dim - 1), (space.dim // 2, 0)]:
        clusters = np.where(np.arange(n)[:, None] % 2 == 0, e[i], -e[i]) * radius
        yield clusters, e[j] * radius, -e[j] * radius
        yield np.repeat(e[i : i + 1] * radius, n, 0), e[j] * radius, -e[j] * radius
        yield np.zeros((n, space.dim)), e[j] * radius, -e[j] * radius
    for _ in range(4):
        ends = hard(rng, space, 2, radius)
        yield hard(rng, space, n, radius), ends[0], ends[1]


def movement(base, one, two, ball, foot):
    pair = []
    for last in (one, two):
        coords = base.copy()
        coords[-1] = last
        pair.append(value(coords, ball, foot))
    return float(np.linalg.norm(pair[0] - pair[1]))


@curved
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_no_neighbour_moves_the_computed_value_by_more_than_the_sensitivity(space, share):
    """Footpoint at the centre, and elsewhere."""
    rng = np.random.default_rng(5)
    ball = some_ball(space, (0.6 if share else 1.0) * widest(space))
    foot = share * ball.radius * axes(space)[-1]
    for n in (1, 2, 3, 20):
        allowed = IntrinsicMean().sensitivity(ball, n, foot)
        moves = [movement(*pair, ball, foot) for pair in neighbours(space, n, ball.radius, rng)]
        assert max(moves) <= allowed
        assert max(moves) > 0.2 * allowed


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Hyperbolic(2)], ids=repr)
def test_hill_climbing_finds_no_worse_neighbour(space):
    rng, n = np.random.default_rng(6), 3
    ball = rd.Ball(space, space.origin, 0.8 * widest(space))
    foot = np.zeros(space.dim)
    allowed = IntrinsicMean().sensitivity(ball, n, foot)
    best, state = 0.0, hard(rng, space, n + 1, ball.radius)
    for _ in range(150):
        trial = bounded._to_ball(records_at(state + 0.3 * rng.standard_normal(state.shape), ball), ball)
        moved = movement(trial[:n], trial[n - 1], trial[n], ball, foot)
        if moved > best:
            best, state = moved, trial
    assert 0.5 * allowed < best <= allowed


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.KendallShapes(3), rd.KendallShapes(6)], ids=repr)
def test_in_positive_curvature_the_sensitivity_is_nearly_attained(space):
    """Two clusters at ±r e1, one record from r e2 to -r e2, in the plane of largest curvature; n = 2001."""
    n, ball = 2001, rd.Ball(space, space.origin, 0.5 * space.uniqueness_radius)
    e, foot = axes(space), np.zeros(space.dim)
    clusters = np.where(np.arange(n)[:, None] % 2 == 0, e[0], -e[0]) * ball.radius
    moved = movement(clusters, ball.radius * e[1], -ball.radius * e[1], ball, foot)
    allowed = IntrinsicMean().sensitivity(ball, n, foot)
    assert 0.99 * allowed < moved <= allowed


MANY = [rd.SPDAffine(5), rd.SPDAffine(2), rd.Sphere(2), rd.Product(rd.SPDAffine(5), rd.Euclidean(1))]


@pytest.mark.parametrize("space", MANY, ids=repr)
def test_nor_with_many_records_in_compiled_code(space):
    """n k^3 >= 2^18: opposite ends move the mean by nearly 2r/n, and not by more than is claimed."""
    n, radius = 9000, 0.8
    ball = rd.Ball(space, space.origin, radius)
    base = np.random.default_rng(7).uniform(-0.5, 0.5, (n, space.dim)) * radius / math.sqrt(space.dim)
    e, foot = axes(space), np.zeros(space.dim)
    moved = movement(base, radius * e[0], -radius * e[0], ball, foot)
    assert 0.8 * 2 * radius / n < moved <= IntrinsicMean().sensitivity(ball, n, foot)


@all_spaces
def test_the_tangent_mean_moves_by_two_radii_over_n(space):
    ball = some_ball(space, 0.9 * min(space.uniqueness_radius, 1.0))
    foot, e = np.zeros(space.dim), axes(space)
    for n in (1, 7):
        base = np.repeat(e[:1] * ball.radius, n, 0)
        pair = []
        for sign in (1, -1):
            base[-1] = sign * ball.radius * e[0]
            pair.append(TangentMean().value(Bounded(records_at(base, ball), ball), foot))
        moved, allowed = np.linalg.norm(pair[0] - pair[1]), TangentMean().sensitivity(ball, n, foot)
        assert allowed * (1 - 1e-9) < moved <= allowed


# --- records of every kind ------------------------------------------------------------------------------

SIZES = [0.0, -1.0, 5e-324, 1e-300, 1e154, 1e300, 1.7e308, np.inf, np.nan]


@all_spaces
@pytest.mark.parametrize("statistic", statistic_names())
def test_no_record_raises_warns_prints_or_logs(space, statistic, capfd, caplog, recwarn):
    points = space.random_point(3, 0)
    with np.errstate(all="ignore"):
        X = np.concatenate([points, *(size * points for size in SIZES)])
    ball = some_ball(space, 0.5 * min(space.uniqueness_radius, 1.0))
    for records in (X, X[:1], X[-2:]):
        result = rd.private_mean(records, ball, rd.GDP(1.0), statistic=statistic)
        assert np.isfinite(result.value).all()
        assert result.kind != "point" or space.contains(result.value)
        assert result.n == len(records)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert {warning.category for warning in recwarn.list} <= {rd.UselessRelease}  # by public numbers: few records


@all_spaces
def test_unusable_records_count_as_the_centre(space):
    """Seeded simulations of both data sets agree draw for draw."""
    ball = some_ball(space, 0.5 * min(space.uniqueness_radius, 1.0))
    X = space.random_point(4, 2)
    one, two = X.copy(), X.copy()
    one[1], two[1] = np.nan, ball.center
    a, b = (rd.simulate(records, ball, rd.GDP(1.0), size=3, seed=1) for records in (one, two))
    assert np.asarray(a) == pytest.approx(np.asarray(b), abs=1e-9)


# --- wrong arguments ------------------------------------------------------------------------------------

SPHERE = rd.Ball(rd.Sphere(2), [0, 0, 1], 0.5)
ONES = np.ones((4, 3))
PURE, APPROX = rd.PureDP(1.0), rd.ApproxDP(0.5, 1e-6)

WRONG = [
    ({"X": np.ones((4, 2))}, rd.InputError, "X"),
    ({"X": np.ones(3)}, rd.InputError, "X"),
    ({"X": np.ones((0, 3))}, rd.InputError, "X"),
    ({"X": 1j * ONES}, rd.InputError, "X"),
    ({"X": "records"}, rd.InputError, "X"),
    ({"X": [[1, 2], [3, 4]]}, rd.InputError, "X"),
    ({"ball": 0.5}, rd.InputError, "ball"),
    ({"ball": None}, rd.InputError, "ball"),
    ({"guarantee": 1.0}, rd.InputError, "guarantee"),
    ({"guarantee": None}, rd.InputError, "guarantee"),
    ({"guarantee": rd.PureDP}, rd.InputError, "guarantee"),
    ({"mechanism": "laplace"}, rd.InputError, "mechanism"),
    ({"mechanism": None}, rd.InputError, "mechanism"),
    ({"mechanism": ["auto"]}, rd.InputError, "mechanism"),
    ({"mechanism": "wrapped-gaussian"}, rd.MechanismError, "PureDP"),
    ({"calibration": "exact"}, rd.InputError, "calibration"),
    ({"calibration": {}}, rd.InputError, "calibration"),
    ({"calibration": "classical"}, rd.MechanismError, "classical"),
    ({"calibration": "classical", "mechanism": "wrapped-laplace"}, rd.MechanismError, "classical"),
    ({"calibration": "classical", "guarantee": rd.ApproxDP(1.0, 1e-6)}, rd.InputError, "epsilon"),
    ({"calibration": "classical", "guarantee": rd.GDP(1.0)}, rd.MechanismError, "classical"),
    ({"statistic": "median"}, rd.InputError, "statistic"),
    ({"statistic": None}, rd.InputError, "statistic"),
    ({"statistic": "tangent-mean", "footpoint": [0, 1, 0]}, rd.InputError, "footpoint"),
    ({"footpoint": [0, 0, 2]}, rd.InputError, "footpoint"),
    ({"footpoint": [0, 1]}, rd.InputError, "footpoint"),
    ({"footpoint": [[0, 0, 1]]}, rd.InputError, "footpoint"),
    ({"footpoint": [0, 0, np.nan]}, rd.InputError, "footpoint"),
    ({"footpoint": [0, 0, -1]}, rd.InputError, "footpoint"),
    ({"ball": rd.Ball(rd.Sphere(2), [0, 0, 1], 1.5)}, rd.MechanismError, "radius = 1.5 is too large .* pass at most 1.41, or"),
    ({"ball": rd.Ball(rd.Sphere(2), [0, 0, 1], 1e-16)}, rd.MechanismError, "radius = 1e-16 is too small .* pass at least"),
    ({"ball": rd.Ball(rd.SPDAffine(3), np.eye(3), 50.0), "X": np.ones((4, 3, 3))}, rd.MechanismError, "radius"),
    ({"ball": rd.Ball(rd.Hyperbolic(2), [1, 0, 0], 1e90)}, rd.MechanismError, "radius"),
    ({"ball": rd.Ball(rd.Euclidean(3), [0, 0, 0], 1e100), "guarantee": rd.PureDP(1e-300)}, rd.InputError, "exceeds"),
]


@pytest.mark.parametrize(("wrong", "error", "word"), WRONG)
def test_wrong_arguments_are_refused_before_anything_is_read_or_spent(wrong, error, word, tmp_path, monkeypatch):
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.ApproxDP(5.0, 1e-3))
    before = (tmp_path / "ledger.db").read_bytes()
    monkeypatch.setattr(bounded, "_to_ball", lambda *_: pytest.fail("read"))
    right = {"X": ONES, "ball": SPHERE, "guarantee": PURE, "ledger": ledger}
    with pytest.raises(error, match=word) as caught:
        rd.private_mean(**right | wrong)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "ledger.db").read_bytes() == before


def advised(space, radius, n):
    """What a refusal of this radius advises: 'most' or 'least', and the number."""
    with pytest.raises(rd.MechanismError) as caught:
        rd.plan(rd.Ball(space, space.origin, radius), n, PURE)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return re.search(r"pass at (most|least) ([\d.e-]+\d), or statistic='tangent-mean'\.$", str(caught.value)).groups()


@curved
@pytest.mark.parametrize("n", [1, 100, 10**6])
def test_a_refused_radius_is_answered_with_the_one_that_works(space, n):
    """With the last that does for every mechanism, to 2 %; and the tangent mean works with the refused one."""
    wide = 0.95 * space.uniqueness_radius if math.isfinite(space.uniqueness_radius) else 1e3
    for radius, side, further in ((wide, "most", 1.02), (1e-30, "least", 0.98)):
        found, number = advised(space, radius, n)
        assert found == side
        assert rd.plan(rd.Ball(space, space.origin, float(number)), n, PURE)
        assert rd.plan(rd.Ball(space, space.origin, radius), n, PURE, statistic="tangent-mean")
        assert intrinsic._is_offered(space, float(number), n)
        assert not intrinsic._is_offered(space, further * float(number), n)


def test_too_many_records_for_any_radius_are_named():
    with pytest.raises(rd.MechanismError, match=r"n = 10000000000000 is too large .* in any ball: pass statistic='tangent-mean'"):
        rd.plan(SPHERE, 10**13, PURE)


@pytest.mark.parametrize(
    ("space", "radius", "says"),
    [
        (rd.Sphere(2), 1.6, r"pass at most 1\.41\.$"),
        (rd.Sphere(2), 30, r"pass at most 1\.41; if these are degrees, pass 0\.523\.$"),
        (rd.Sphere(2, curvature=4.0), 30, r"pass at most 0\.706; if these are degrees, pass 0\.261\.$"),
        (rd.Sphere(2), 100, r"pass at most 1\.41; it is the length of an arc, not degrees\.$"),
        (rd.KendallShapes(5), 20, r"pass at most 0\.706; if these are degrees, pass 0\.349\.$"),
        (rd.Product(rd.Sphere(2), rd.Euclidean(2)), 30, r"pass at most 1\.41\.$"),
    ],
)
def test_a_ball_that_is_too_large_names_the_largest_and_suspects_degrees(space, radius, says):
    with pytest.raises(rd.InputError, match=says) as caught:
        rd.Ball(space, space.origin, radius)
    for number in re.findall(r"pass (?:at most )?(\d\.\d+)", str(caught.value)):
        assert rd.plan(rd.Ball(space, space.origin, float(number)), 100, PURE)
    assert radii.USABLE == intrinsic.LARGEST_BALL


@pytest.mark.parametrize("ledger", ["ledger.db", 3, {}, rd.GDP(1.0)])
def test_a_ledger_must_be_one(ledger):
    with pytest.raises(rd.InputError, match="ledger"):
        rd.private_mean(ONES, SPHERE, PURE, ledger=ledger)


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", None, True])
def test_plan_needs_a_number_of_records(n):
    with pytest.raises(rd.InputError, match="n"):
        rd.plan(SPHERE, n, PURE)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("size", 0), ("size", 1.5), ("seed", None), ("seed", -1), ("seed", "a"), ("seed", 1.5), ("mechanism", "x")],
)
def test_wrong_arguments_of_a_simulation(name, wrong):
    with pytest.raises(rd.InputError, match=name):
        rd.simulate(**{"X": ONES, "ball": SPHERE, "guarantee": PURE, "size": 2, "seed": 0} | {name: wrong})


def test_seed_and_size_have_no_default():
    with pytest.raises(TypeError):
        rd.simulate(ONES, SPHERE, PURE)


# --- plan, auto, simulate ---------------------------------------------------------------------------------

GUARANTEES = [PURE, APPROX, rd.ApproxDP(5.0, 1e-2), rd.GDP(0.5), rd.RDP(8.0, 0.3), rd.ZCDP(0.1)]


@all_spaces
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_plans_are_sorted_and_auto_takes_the_first(space, guarantee):
    ball = some_ball(space, 0.5 * min(space.uniqueness_radius, 1.0))
    plans = rd.plan(ball, 6, guarantee)
    errors = [plan.expected_error for plan in plans]
    assert errors == sorted(errors)
    planned = {plan.mechanism for plan in plans}
    assert planned >= {"wrapped-laplace"} if guarantee == PURE else {"wrapped-laplace", "wrapped-gaussian"}
    X = space.random_point(6, 0)
    for mechanism in MECHANISMS.values():  # those left out are baselines, or say why they cannot
        if mechanism.name not in planned and not mechanism.is_baseline:
            with pytest.raises(rd.MechanismError):
                rd.private_mean(X, ball, guarantee, mechanism=mechanism.name)
    result = rd.private_mean(X, ball, guarantee)
    best = next(plan for plan in plans if not MECHANISMS[plan.mechanism].assumptions)
    assert (result.mechanism, result.scale, result.sensitivity) == (best.mechanism, best.scale, best.sensitivity)
    assert result.expected_error == best.expected_error
    assert result.guarantee <= guarantee


def test_auto_prefers_each_mechanism_somewhere():
    small, large = (rd.Ball(rd.Euclidean(d), np.zeros(d), 1.0) for d in (1, 100))
    assert rd.plan(small, 10, rd.ApproxDP(1.0, 1e-9))[0].mechanism == "wrapped-laplace"
    assert rd.plan(large, 10, rd.ApproxDP(1.0, 1e-9))[0].mechanism == "wrapped-gaussian"


@pytest.mark.parametrize("space", [*CURVED, rd.Euclidean(2), rd.Sphere(1), rd.SPDLogEuclidean(2)], ids=repr)
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_the_predicted_error_is_that_of_simulations_around_the_centre(space, epsilon):
    """x̄ = centre; on spheres and shapes epsilon = 0.5 sends the noise round and round. Six standard errors."""
    ball, n = some_ball(space, 0.5 * min(space.uniqueness_radius, 1.0)), 3
    X = np.repeat(ball.center[None], n, axis=0)
    for plan in rd.plan(ball, n, rd.ApproxDP(epsilon, 1e-4)):
        if plan.expected_error > 10 and np.isinf(space.injectivity_radius):
            continue  # close to where a law ceases to exist its points are beyond float64
        ask = {"mechanism": plan.mechanism, "size": 4000, "seed": 8}
        draws = rd.simulate(X, ball, rd.ApproxDP(epsilon, 1e-4), **ask)
        squares = space.dist(np.asarray(draws), ball.center) ** 2
        allowed = 6 * math.sqrt(2) * squares.std() / math.sqrt(len(squares))
        assert plan.expected_error**2 == pytest.approx(squares.mean(), abs=allowed)


def test_flat_spaces_need_no_iteration_and_no_footpoint():
    ball = rd.Ball(rd.SPDLogEuclidean(2), np.eye(2), 1.0)
    plain, moved = (rd.plan(ball, 5, PURE, footpoint=f)[0] for f in (None, 3 * np.eye(2)))
    assert plain == moved
    assert plain.sensitivity == pytest.approx(0.4, rel=1e-12)


@all_spaces
def test_simulations_repeat_themselves_and_are_marked(space):
    ball = some_ball(space, 0.5 * min(space.uniqueness_radius, 1.0))
    X = space.random_point(3, 0)
    one, two, other = (rd.simulate(X, ball, rd.GDP(1.0), size=4, seed=seed) for seed in (1, 1, 2))
    assert one.shape == (4, *space.point_shape)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert type(one).__name__ == "Simulation"
    assert one.is_release is False
    assert not isinstance(one, rd.Release)
    assert not hasattr(one, "guarantee")
    assert not hasattr(one, "save")
    assert type(one[0]).__name__ == "Simulation"
    assert np.asarray(space.contains(np.asarray(one))).all()


def test_no_release_takes_a_seed():
    with pytest.raises(TypeError):
        rd.private_mean(ONES, SPHERE, PURE, seed=1)


@pytest.mark.parametrize("n", [2**53 + 1, 10**400])
def test_more_records_than_floats_can_count_are_refused(n):
    with pytest.raises(rd.InputError, match="n is larger"):
        rd.plan(SPHERE, n, PURE)


# --- the name that was asked for ------------------------------------------------------------------------------------


FLAT = [rd.Euclidean(2), rd.SPDLogEuclidean(2), rd.SPDAffine(1), rd.Product(rd.Euclidean(1), rd.SPDLogEuclidean(2))]


@pytest.mark.parametrize("space", [*FLAT, rd.Sphere(2)], ids=repr)
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda mechanism: mechanism.name)
def test_the_statistic_of_the_name_or_a_refusal(space, mechanism):
    """In flat spaces too, where both means are the same."""
    foot = np.zeros(space.dim)
    for name in (*statistic_names(), "median", ""):
        if (mechanism.input, name) in STATISTICS:
            assert statistic_for(mechanism, name, foot).without_fill().name == name
        else:
            with pytest.raises(rd.MechanismError, match=f"statistic = {name!r} belongs to wrapped mechanisms"):
                statistic_for(mechanism, name, foot)


@pytest.mark.parametrize("space", FLAT, ids=repr)
def test_in_flat_spaces_the_two_means_are_one(space):
    """The same value, sensitivity and error, bit for bit; a release says which was asked for."""
    ball, X, foot = rd.Ball(space, space.random_point(1, 1)[0], 0.7), space.random_point(9, 0), np.zeros(space.dim)
    for statistic in (IntrinsicMean(), MeanPoint()):
        assert statistic.sensitivity(ball, 9, foot) == TangentMean().sensitivity(ball, 9, foot)
        assert np.array_equal(statistic.value(Bounded(X, ball), foot), TangentMean().value(Bounded(X, ball), foot))
    for name in statistic_names():
        assert rd.private_mean(X, ball, rd.GDP(1.0), statistic=name).statistic == name
    with pytest.raises(rd.MechanismError, match="belongs to wrapped"):
        rd.private_mean(X, ball, rd.PureDP(1.0), statistic="tangent-mean", mechanism="riemannian-laplace")


class Saddle(rd.Hyperbolic):
    """Somebody's own space, of which no more is known than bounds of both signs."""

    @property
    def curvature_bounds(self):
        return (-1.0, 0.25)


@pytest.mark.parametrize("mechanism", ["wrapped-laplace", "riemannian-laplace", "kng"])
def test_a_space_that_curves_both_ways_has_no_proved_mean(mechanism, tmp_path):
    """Products do as well, but their factors, which are solved one by one, do not."""
    space, ledger = Saddle(2), rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(2.0))
    X, ball = space.random_point(9, 0), rd.Ball(space, space.origin, 0.5)
    with pytest.raises(rd.MechanismError, match=r"Saddle.* has curvature of both signs: pass statistic='tangent-mean'"):
        rd.private_mean(X, ball, rd.PureDP(1.0), mechanism=mechanism, ledger=ledger)
    assert ledger.history() == []
    assert rd.private_mean(X, ball, rd.PureDP(1.0), statistic="tangent-mean").n == 9
    pair = rd.Product(rd.Product(rd.Sphere(2), rd.Hyperbolic(2)), rd.Euclidean(1))
    assert rd.private_mean(pair.random_point(9, 0), rd.Ball(pair, pair.origin, 0.5), rd.PureDP(1.0)).n == 9


# --- whatever a draw would refuse, a rehearsal does ------------------------------------------------------------------


def test_a_point_without_a_grid_is_refused_before_it_is_paid_for(tmp_path):
    """Noise ten times as large as the unit of curvature: its points need entries beyond float64."""
    space = rd.Hyperbolic(1)
    ball, ledger = rd.Ball(space, space.origin, 1.0), rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(1.0))
    ask = {"mechanism": "riemannian-laplace"}
    with pytest.raises(rd.MechanismError, match="no room for a grid"):
        rehearse(ball, 1, rd.PureDP(0.2), **ask)
    with pytest.raises(rd.MechanismError, match="no room for a grid"):
        rd.private_mean(space.origin[None], ball, rd.PureDP(0.2), ledger=ledger, **ask)
    assert ledger.history() == []
    assert "riemannian-laplace" not in [row.mechanism for row in rd.plan(ball, 1, rd.PureDP(0.2))]
    assert rd.private_mean(space.origin[None], ball, rd.PureDP(0.2), ledger=ledger).mechanism == "wrapped-laplace"


EVERYWHERE = [*FLAT, *SPACES, rd.Hyperbolic(1), rd.Sphere(1), rd.Sphere(2, curvature=1e8), rd.Hyperbolic(2, curvature=-1e-8)]


@pytest.mark.parametrize("space", EVERYWHERE, ids=repr)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_planned_can_be_drawn_at_every_scale(space, mechanism):
    """Radii, numbers of records and strengths at their ends and in between: a draw neither raises nor takes for ever.

    The private value is that of a single record, which any number of equal ones have too.
    """
    top, accepted = min(space.uniqueness_radius, 1e100), 0
    for radius in (1e-100, 1e-8, min(0.5, 0.8 * top), 0.999 * top):
        ball = rd.Ball(space, space.random_point(1, 3)[0], radius)
        for n, strength in itertools.product((1, 10**6), (1e-15, 0.2, 20.0, 1e45)):
            for guarantee in (rd.PureDP(strength), rd.GDP(strength)):
                query = Query(ball, n, guarantee, mechanism)
                try:
                    best = query.plan()
                except rd.MechanismError:
                    continue
                law = query.law(best)
                drawn = law.draw(law.value(Bounded(ball.center[None], ball)), 2)
                accepted += 1
                assert space.contains(space.write(drawn.points, ball.center)).all()
                assert 0 < best.expected_error < np.inf
    assert accepted or MECHANISMS[mechanism].is_baseline


def test_a_private_footpoint_of_the_tangent_mean_is_refused_in_every_ball():
    """Also where the ball is so small that its rim is its centre in float64."""
    space = rd.SPDAffine(3)
    for radius in (1.0, 1e-78):
        with pytest.raises(rd.InputError, match="lives at the ball's centre"):
            rehearse(rd.Ball(space, np.eye(3), radius), 9, rd.GDP(1.0), statistic="tangent-mean", adapt=FOOTPOINT)
