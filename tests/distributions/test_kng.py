"""K-norm gradient: the law against brute-force integration and Metropolis chains, and every bound it rests on.

Every statistical test rejects at p < 1e-8, with seeds that are fixed; there are fewer than 60 of them. Each has
controls, the same draws against the law of a wrong scale, that must be rejected.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from riemdp.distributions.kng import KNG, _Floor, _flow_bound, expected_trials
from riemdp.distributions.riemannian import is_radial
from riemdp.errors import InputError, MechanismError
from riemdp.manifolds import Euclidean, Hyperbolic, KendallShapes, Product, Space, SPDAffine, SPDLogEuclidean, Sphere
from riemdp.manifolds.capabilities import GradientBounds
from riemdp.randomness import SystemRandomness
from riemdp.statistics.sensitivity import kng_sensitivity

sys.path.append(str(Path(__file__).parents[2]))
metropolis = importlib.import_module("experiments.metropolis")

LEVEL = 1e-8
Z_LEVEL = -stats.norm.ppf(LEVEL / 2)


def origin(space):
    return space.read(space.origin, "origin")


def spread(space, n, radius, kind, rng):
    """Records within the radius: anywhere, on the rim in a complex line, at both ends of an axis, or to one side."""
    v = rng.standard_normal((n, space.dim))
    if kind == "line":
        v[:, 2:] = 0
    if kind == "axis":
        v[:, 1:] = 0
    if kind == "side":
        v[:, 0] += 4
    length = radius * (rng.random(n) ** 0.3 if kind in ("anywhere", "side") else np.ones(n))
    return space.exp_coords(v * (length / np.linalg.norm(v, axis=1))[:, None], origin(space))


def mean_of(space, points):
    x = origin(space)
    for _ in range(100):
        x = space.exp_coords(space.log_coords(points, x).mean(axis=0), x)
    return x


def gradient_norms(space, points, x):
    """By definition: a loop over the candidates."""
    return np.array([np.linalg.norm(space.log_coords(points, y).mean(axis=0)) for y in x])


def ball_of(space, radius):
    return radius if space.curvature_bounds[1] > 0 else math.inf


# --- the circle: truncated Laplace, in closed form ----------------------------------------------------------


def truncated_laplace_cdf(x, mean, scale, radius):
    def integral(y):
        return np.where(y < mean, np.exp((y - mean) / scale), 2 - np.exp(-(y - mean) / scale))

    return (integral(x) - integral(-radius)) / (integral(radius) - integral(-radius))


@pytest.mark.parametrize("start", [0.0, 0.2, -0.7])
def test_circle_follows_the_truncated_laplace_law(start):
    """On the circle grad F(x) is x minus the mean of the records, in angles."""
    angles, scale, radius = np.array([0.1, 0.5, -0.2, 0.6, 0.45]), 0.3, 0.7
    circle = Sphere(1)
    points = circle.exp_coords(angles[:, None], origin(circle))
    law = KNG(circle, points, circle.exp_coords(np.array([start]), origin(circle)), scale, radius)
    draws = circle.log_coords(law.sample(40_000, np.random.default_rng(1)), origin(circle))[:, 0]

    def p_value(scale):
        return stats.kstest(draws, lambda x: truncated_laplace_cdf(x, angles.mean(), scale, radius)).pvalue

    assert p_value(scale) > LEVEL
    assert p_value(1.15 * scale) < LEVEL
    assert p_value(scale / 1.15) < LEVEL


# --- the sphere: cells of a grid ------------------------------------------------------------------------------


def sphere_cells(points, scale, radius, rings=5, sectors=8, fine=50):
    """Probabilities of rings x sectors around the pole, by the midpoint rule on a fine grid; logs written out anew."""
    theta = (np.arange(rings * fine) + 0.5) * radius / (rings * fine)
    phi = (np.arange(sectors * fine) + 0.5) * 2 * np.pi / (sectors * fine)
    t, p = np.meshgrid(theta, phi, indexing="ij")
    x = np.stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)], axis=-1)
    gradient = np.zeros_like(x)
    for q in points:
        cosine = x @ q
        angle = np.arccos(np.clip(cosine, -1, 1))
        gradient += (angle / np.sin(angle))[..., None] * (q - cosine[..., None] * x) / len(points)
    weight = np.sin(t) * np.exp(-np.linalg.norm(gradient, axis=-1) / scale)
    cells = weight.reshape(rings, fine, sectors, fine).sum(axis=(1, 3))
    return cells / cells.sum()


def sphere_counts(draws, radius, rings=5, sectors=8):
    theta = np.arccos(draws[:, 2])
    assert theta.max() <= radius * (1 + 1e-12)
    phi = np.arctan2(draws[:, 1], draws[:, 0]) % (2 * np.pi)
    edges = [np.linspace(0, radius * (1 + 1e-12), rings + 1), np.linspace(0, 2 * np.pi, sectors + 1)]
    return np.histogram2d(theta, phi, edges)[0]


def cells_p_value(counts, probabilities):
    """Pearson's test, with cells of fewer than 100 expected draws thrown together."""
    expected = counts.sum() * probabilities.ravel()
    small = expected < 100
    observed = np.append(counts.ravel()[~small], counts.ravel()[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < 100:
        observed, expected = observed[:-1], expected[:-1] * observed[:-1].sum() / expected[:-1].sum()
    return stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize(
    ("kind", "n", "scale", "radius", "start"),
    [
        ("anywhere", 7, 0.08, np.pi / 8, "mean"),
        ("side", 4, 0.15, np.pi / 8, "record"),
        ("axis", 6, 0.3, 0.75, "pole"),
        ("anywhere", 3, 0.2, 1.3, "mean"),
        ("line", 9, 0.3, 1.4, "rim"),
    ],
)
def test_sphere_against_brute_force(kind, n, scale, radius, start):
    sphere, rng = Sphere(2), np.random.default_rng(5)
    points = spread(sphere, n, radius, kind, rng)
    rim = sphere.exp_coords(np.array([0.0, 1.1 * radius]), origin(sphere))
    centre = {"mean": mean_of(sphere, points), "record": points[0], "pole": origin(sphere), "rim": rim}[start]
    counts = sphere_counts(KNG(sphere, points, centre, scale, radius).sample(20_000, rng), radius)
    assert cells_p_value(counts, sphere_cells(points, scale, radius)) > LEVEL
    assert cells_p_value(counts, sphere_cells(points, 1.15 * scale, radius)) < LEVEL
    assert cells_p_value(counts, sphere_cells(points, scale / 1.15, radius)) < LEVEL


def test_curvature_is_a_change_of_units():
    """On the sphere of curvature 4 everything is half as long."""
    one, four, rng = Sphere(2), Sphere(2, curvature=4.0), np.random.default_rng(2)
    points = spread(one, 5, 0.7, "anywhere", rng)
    law = KNG(four, points / 2, mean_of(four, points / 2), 0.05, 0.35)
    counts = sphere_counts(2 * law.sample(20_000, rng), 0.7)
    assert cells_p_value(counts, sphere_cells(points, 0.1, 0.7)) > LEVEL
    assert cells_p_value(counts, sphere_cells(points, 0.115, 0.7)) < LEVEL


@pytest.mark.parametrize("distance", [0.05, 0.3, 0.4])
def test_centre_near_the_rim_in_many_dimensions(distance):
    """One record: the law is exp(-rho(x, x_1)/scale) in the ball, of (t, cosine) in closed form up to quadrature."""
    d, scale, radius = 9, 0.04, 0.4
    sphere, rng = Sphere(d), np.random.default_rng(3)
    record = sphere.exp_coords(distance * np.eye(d)[0], origin(sphere))
    law = KNG(sphere, record[None], record, scale, radius)
    draws = sphere.distance(record, law.sample(20_000, rng))

    def cdf(scale):
        t, z = np.meshgrid(np.linspace(0, 0.8, 801)[1:], (np.arange(1000) + 0.5) / 500 - 1, indexing="ij")
        inside = math.cos(distance) * np.cos(t) + math.sin(distance) * np.sin(t) * z >= math.cos(radius)
        density = (np.sin(t) ** (d - 1) * np.exp(-t / scale) * (1 - z**2) ** ((d - 3) / 2) * inside).sum(axis=1)
        sums = np.cumsum(density) - density / 2
        return lambda x: np.interp(x, t[:, 0], sums / density.sum())

    assert law.acceptance > 0.3
    assert stats.kstest(draws, cdf(scale)).pvalue > LEVEL
    assert stats.kstest(draws, cdf(1.15 * scale)).pvalue < LEVEL
    assert stats.kstest(draws, cdf(scale / 1.15)).pvalue < LEVEL


# --- SPD(2): moments on a grid ------------------------------------------------------------------------------------


def log_2x2(a, b, c):
    """Logarithm of [[a, b], [b, c]]: the combination of 1 and the matrix with the right eigenvalues."""
    half, gap = (a + c) / 2, np.sqrt(((a - c) / 2) ** 2 + b**2)
    slope = np.where(gap > 1e-12, np.log((half + gap) / (half - gap)) / np.maximum(2 * gap, 1e-12), 1 / half)
    shift = np.log((half + gap) * (half - gap)) / 2 - slope * half
    return shift + slope * a, slope * b, shift + slope * c


def exp_2x2(a, b, c):
    half, gap = (a + c) / 2, np.sqrt(((a - c) / 2) ** 2 + b**2)
    slope = np.where(gap > 1e-12, np.sinh(gap) / np.maximum(gap, 1e-12), 1.0)
    factor = np.exp(half)
    return (factor * (np.cosh(gap) + slope * (a - half)), factor * slope * b, factor * (np.cosh(gap) + slope * (c - half)))


def congruence(r, x):
    """r x r for symmetric 2 x 2 matrices, entry by entry."""
    (a, b, c), (p, q, s) = r, x
    return (
        a * a * p + 2 * a * b * q + b * b * s,
        a * b * p + (a * c + b * b) * q + b * c * s,
        b * b * p + 2 * b * c * q + c * c * s,
    )


def spd_grid(points, reach, cells):
    """‖grad F‖, volume and functionals over a grid of symmetric logarithms (y_11, y_22, sqrt2 y_12)."""
    line = (np.arange(cells) + 0.5) / cells * 2 * reach - reach
    a, c, b = np.meshgrid(line, line, line / math.sqrt(2), indexing="ij")
    inverse_root = exp_2x2(-a / 2, -b / 2, -c / 2)
    total = np.zeros((3, *a.shape))
    for p in points:
        total += np.array(log_2x2(*congruence(inverse_root, (p[0, 0], p[0, 1], p[1, 1])))) / len(points)
    gradient = np.sqrt(total[0] ** 2 + 2 * total[1] ** 2 + total[2] ** 2)
    gap = np.sqrt(((a - c) / 2) ** 2 + b**2)
    volume = np.where(gap > 1e-12, np.sinh(gap) / np.maximum(gap, 1e-12), 1.0)
    return gradient.ravel(), volume.ravel(), spd_functionals(np.stack([a, c, b], axis=-1).reshape(-1, 3))


def spd_functionals(y):
    a, c, b = y.T
    return np.stack([a + c, a - c, b, a**2 + c**2 + 2 * b**2, (a - c) ** 2, np.abs(a + c)], axis=-1)


def test_spd_against_brute_force():
    space, scale, rng = SPDAffine(2), 0.2, np.random.default_rng(4)
    points = spread(space, 4, 0.8, "anywhere", rng)
    draws = space.log_coords(KNG(space, points, points[1], scale, math.inf).sample(20_000, rng), origin(space))
    values = spd_functionals(np.stack([draws[:, 0], draws[:, 1], draws[:, 2] / math.sqrt(2)], axis=-1))
    gradient, volume, functionals = spd_grid(points, 2.4, 48)

    def largest_z(scale):
        weight = volume * np.exp(-gradient / scale)
        expected = weight @ functionals / weight.sum()
        return np.abs((values.mean(axis=0) - expected) / (values.std(axis=0) / math.sqrt(len(values)))).max()

    assert largest_z(scale) < Z_LEVEL
    assert largest_z(1.15 * scale) > Z_LEVEL
    assert largest_z(scale / 1.15) > Z_LEVEL


# --- where nothing else exists: Metropolis chains -----------------------------------------------------------------

CHAINED = [
    (KendallShapes(3), 0.6, 0.15),
    (KendallShapes(4), 0.35, 0.05),
    (Hyperbolic(3), 1.0, 0.2),
    (Product(Sphere(2), Euclidean(1)), 0.7, 0.12),
    (Product(SPDAffine(2), KendallShapes(3), Hyperbolic(2)), 0.5, 0.04),
]


def chain_functionals(space, points):
    """The coordinates at the origin, their squares, and the distances to two points."""

    def functionals(x):
        coords = space.log_coords(x, origin(space))
        distances = [space.distance(p, x) for p in (points[0], points[1])]
        return np.concatenate([coords, coords**2, np.stack(distances, axis=-1)], axis=-1)

    return functionals


@pytest.mark.parametrize(("space", "radius", "scale"), CHAINED, ids=repr)
def test_against_a_chain(space, radius, scale):
    """The chains are independent: the means over each give an honest standard error, whatever their autocorrelation."""
    rng = np.random.default_rng(8)
    points = spread(space, 4, radius, "side", rng)
    centre, ball = mean_of(space, points), ball_of(space, radius)
    of = chain_functionals(space, points)

    target = metropolis.kng(space, points, scale, ball)
    chains = metropolis.chains(space, target, centre, 400, scale)
    chains.tune(150, rng)
    chains.advance(60, rng)
    means = chains.record(12, 10, rng, of).mean(axis=0)

    def largest_z(scale):
        values = of(KNG(space, points, centre, scale, ball).sample(6_000, rng))
        errors = np.sqrt(means.var(axis=0) / len(means) + values.var(axis=0) / len(values))
        return np.abs((values.mean(axis=0) - means.mean(axis=0)) / errors).max()

    assert largest_z(scale) < Z_LEVEL
    assert largest_z(1.25 * scale) > Z_LEVEL
    assert largest_z(scale / 1.25) > Z_LEVEL


# --- the bounds ---------------------------------------------------------------------------------------------------

SPACES: list[tuple[Space, float]] = [
    (Euclidean(1), 1.0),
    (Euclidean(3), 1.0),
    (SPDLogEuclidean(2), 1.0),
    (Sphere(1), 1.4),
    (Sphere(2), np.pi / 8),
    (Sphere(2), 1.45),
    (Sphere(7, curvature=4.0), 0.6),
    (Hyperbolic(1), 1.0),
    (Hyperbolic(4), 2.0),
    (Hyperbolic(2, curvature=-4.0), 1.0),
    (SPDAffine(3), 1.5),
    (KendallShapes(3), 0.75),
    (KendallShapes(4), 0.7),
    (KendallShapes(12), 0.3),
    (Product(Sphere(3), Euclidean(2)), 0.7),
    (Product(SPDAffine(2), KendallShapes(4), Hyperbolic(2)), 0.7),
]
KINDS = ["anywhere", "line", "axis", "side"]


def laws(space, radius):
    """Laws of few records of every kind, seen from the mean, the origin, a record and a point beyond the rim."""
    rng = np.random.default_rng(6)
    for i, kind in enumerate(KINDS):
        points = spread(space, 1 + i, radius, kind, rng)
        beyond = space.exp_coords(1.2 * radius * np.eye(space.dim)[-1], origin(space))
        for centre in (mean_of(space, points), origin(space), points[0], beyond):
            scale = min(0.05 * (1 + i), 0.3 / (1e-9 + space.growth_rate)) * radius
            yield points, KNG(space, points, centre, scale, ball_of(space, radius)), rng


def random_candidates(law, rng, size=80):
    """Candidates in the ball at all distances of the cells, half of them exactly between the centre and the ball's points."""
    space, cells = law._space, law._cells
    stop = min(cells.envelope.stop[-1], 4.0)
    v = rng.standard_normal((size, space.dim))
    inner = v / np.linalg.norm(v, axis=1, keepdims=True) * (min(law._radius, 2.0) * rng.random((size, 1)) ** (1 / space.dim))
    v[::2] = space.log_coords(space.exp_coords(inner, law._origin), law._centre)[::2]
    t = np.where(np.arange(size) % 2, stop * rng.random(size), np.linalg.norm(v, axis=1))
    v *= (t / np.linalg.norm(v, axis=1))[:, None]
    x = space.exp_coords(v, law._centre)
    inside = (space.distance(law._origin, x) <= law._radius) & (t > 0) & (t < cells.envelope.stop[-1])
    cell = np.searchsorted(cells.envelope.stop, t[inside])
    return x[inside], v[inside], t[inside], cell


@pytest.mark.parametrize("radius", [1e-12, 1e-8, 1e-6, 1e-3, 0.5])
def test_the_bound_from_the_ball_is_as_accurate_in_small_balls(radius):
    """limit = h/T is some 1/r² times as large as the bound itself: against 50 digits, at the mean and beside it."""
    limit, rate = _flow_bound(Sphere(2), radius)
    for gap in (0.0, 1e-3 * radius):
        floor = _Floor(np.array([radius]), np.ones(1), gap, limit, rate)
        for t in radius * np.array([1e-4, 0.1, 1.0, 2.0]):
            with mpmath.workdps(50):
                far, T, g = map(mpmath.mpf, (limit, rate, gap))
                exact = far * (1 - mpmath.exp(-T * mpmath.mpf(float(t))) / (1 - g / far))
            assert abs(float(floor.afar(np.array([t]))[0] - exact)) <= 1e-13 * max(t, gap)


@pytest.mark.parametrize(("space", "radius"), SPACES, ids=repr)
def test_gradient_and_lines_are_on_the_right_side_of_their_bounds(space, radius):
    """‖grad F‖ >= l(t) at every candidate, and every line lies above the logarithm of the law of t, times J."""
    smallest = np.inf
    for points, law, rng in laws(space, radius):
        x, v, t, cell = random_candidates(law, rng)
        smallest = min(smallest, (gradient_norms(space, points, x) - law._cells.lower_bound(cell, t)).min())
        excess = law._cells.excess(cell, t, law._scale) - (0 if is_radial(space) else space.log_density(v))
        assert (excess > -1e-9).all()
    assert smallest > -1e-12 * (1 + radius)
    assert smallest < 0.05  # nor far below: one record, seen from itself, has ‖grad F‖ = l(t)


@pytest.mark.parametrize("space", [Sphere(6), KendallShapes(6), Product(Sphere(3), Euclidean(2))], ids=repr)
def test_no_point_of_the_ball_is_outside_the_caps(space):
    radius = 0.9 * space.uniqueness_radius
    for _, law, rng in laws(space, radius):
        _, v, t, cell = random_candidates(law, rng)
        length = np.linalg.norm(law._inwards)
        cosine = (v @ law._inwards) / np.maximum(t * length, 1e-300)
        narrow = law._cells.caps.is_narrow[cell]
        assert (cosine[narrow] >= law._cells.caps.least[cell][narrow] - 1e-9).all()


@pytest.mark.parametrize(("space", "radius"), SPACES, ids=repr)
def test_gradient_norms_are_those_of_the_definition(space, radius):
    rng = np.random.default_rng(7)
    points, x = spread(space, 9, radius, "anywhere", rng), spread(space, 5, radius, "anywhere", rng)
    expected = gradient_norms(space, points, x)
    np.testing.assert_allclose(space.gradient_norms(points, x), expected, rtol=1e-10, atol=1e-13)


def test_gradient_norms_of_many_matrices():
    space, rng = SPDAffine(3), np.random.default_rng(7)
    points, x = spread(space, 10_000, 1.0, "anywhere", rng), spread(space, 3, 1.0, "anywhere", rng)
    np.testing.assert_allclose(space.gradient_norms(points, x), gradient_norms(space, points, x), rtol=1e-10)


@pytest.mark.parametrize(("space", "radius"), SPACES, ids=repr)
def test_hessian_floor_is_below_second_differences(space, radius):
    """And falls with the distance; in positive curvature it beats the bound of curvature alone."""
    rng, step = np.random.default_rng(9), 1e-3
    points = spread(space, 4, radius, "line", rng)
    centre, farthest = mean_of(space, points), 2 * ball_of(space, radius)
    times = np.linspace(0.01, 0.5 * radius, 8)
    floor = space.hessian_floor(points, centre, times, farthest)
    assert (np.diff(floor) <= 1e-12).all()
    assert (floor >= GradientBounds.hessian_floor(space, points, centre, times, farthest) - 1e-12).all()
    directions = rng.standard_normal((50, space.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)

    def energy(t):
        return (space.distance(points[:, None], space.exp_coords(t * directions, centre)) ** 2).mean(axis=0) / 2

    for t, bound in zip(times, floor, strict=True):
        hessian = (energy(t + step) - 2 * energy(t) + energy(t - step)) / step**2
        assert hessian.min() > bound - 1e-5


# --- trials, refusals, sources ------------------------------------------------------------------------------------


def shapes_law(radius, rank, offset, rng, n=400):
    """Shapes of 50 landmarks that vary in few directions, their mean away from the ball's centre."""
    space = KendallShapes(50)
    v = np.zeros((n, space.dim))
    v[:, :rank] = rng.standard_normal((n, rank))
    v *= ((1 - offset) * radius * rng.random(n) ** 0.3 / np.linalg.norm(v, axis=1))[:, None]
    v[:, 0] += offset * radius
    points = space.exp_coords(v, origin(space))
    scale = 2 * kng_sensitivity(radius, n, 4.0, math.pi / 2)
    return KNG(space, points, mean_of(space, points), scale, radius)


@pytest.mark.parametrize("radius", [0.1, 0.2])
@pytest.mark.parametrize("rank", [2, 20])
@pytest.mark.parametrize("offset", [0.0, 0.5, 0.95])
def test_fifty_landmarks_are_practical(radius, rank, offset):
    rng = np.random.default_rng(10)
    law = shapes_law(radius, rank, offset, rng)
    law.sample(20, rng)
    assert law.acceptance > 0.05


def test_acceptance_counts_the_candidates_up_to_the_last_draw():
    rng, sphere = np.random.default_rng(11), Sphere(2)
    points = spread(sphere, 50, np.pi / 8, "anywhere", rng)
    law = KNG(sphere, points, mean_of(sphere, points), 0.02, np.pi / 8)
    law.sample(5000, rng)
    assert law.acceptance > 0.9
    assert abs(law.acceptance - 1 / law.trials(20_000, rng)) < 0.02


def test_public_forecast_of_the_trials():
    """Of the order of what the worst records need, without any."""
    space, scale = KendallShapes(50), 2 * kng_sensitivity(0.2, 400, 4.0, math.pi / 2)
    forecast = expected_trials(space, 400, 0.2, scale)
    rng = np.random.default_rng(12)
    points = spread(space, 400, 0.2, "axis", rng)
    actual = KNG(space, points, mean_of(space, points), scale, 0.2).trials(2000, rng)
    assert actual / 3 < forecast < 3 * actual
    assert expected_trials(space, 400, 0.6, scale) > 1e6
    assert expected_trials(Sphere(2), 200, np.pi / 8, 0.008) < 1.2
    assert expected_trials(SPDAffine(3), 200, 1.5, 0.03) < 3


def test_law_that_does_not_exist_is_refused():
    space = SPDAffine(2)
    with pytest.raises(MechanismError, match=r"scale = 1\.5: .* exists only below 1\.414"):
        KNG(space, np.eye(2)[None], np.eye(2), 1.5, math.inf)


@pytest.mark.parametrize(("scale", "radius"), [(0.0, 0.5), (math.nan, 0.5), ("1", 0.5), (1.0, 2.0), (1.0, 0.0), (1.0, math.inf)])
def test_bad_numbers_are_refused(scale, radius):
    sphere = Sphere(2)
    with pytest.raises(InputError, match=r"scale|radius"):
        KNG(sphere, sphere.origin[None], sphere.origin, scale, radius)


@pytest.mark.system_randomness
def test_draws_from_the_operating_system():
    sphere = Sphere(2)
    points = spread(sphere, 20, 0.5, "anywhere", np.random.default_rng(13))
    law = KNG(sphere, points, mean_of(sphere, points), 0.1, 0.5)
    draws = law.sample(3, SystemRandomness())
    assert sphere.contains(draws).all()
    assert not np.array_equal(draws, law.sample(3, SystemRandomness()))


def test_same_seed_same_draws():
    space = KendallShapes(5)
    points = spread(space, 6, 0.3, "anywhere", np.random.default_rng(14))
    a, b = (KNG(space, points, points[0], 0.05, 0.3).sample(7, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
