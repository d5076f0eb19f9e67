"""Ellipsoids: what records become is a function of each alone and stays inside, noise has the shape that is promised,
and all bits are the same however records are stored.

Simulations are seeded; statistical tests have a false-positive rate of 1e-6 or less each, and a control that must fail.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.axes import Axes
from riemdp.io.rows import Rows
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.moments import Moments
from riemdp.statistics.shaped import ShapedMean, fitted_axes
from riemdp.summaries.spread import NoisyMoments, Spread

SPACES = [rd.Euclidean(4), rd.SPDAffine(2), rd.Sphere(3), rd.Hyperbolic(3), rd.KendallShapes(4), rd.Rotations(),
          rd.Product(rd.Euclidean(1), rd.Sphere(2))]  # fmt: skip
all_of_these = pytest.mark.parametrize("space", SPACES, ids=repr)


def turned(dim, lengths, seed=0):
    """A matrix with these half axes, in random directions."""
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
    return (rotation * lengths) @ rotation.T


def points_at(coords, space, center):
    base = np.broadcast_to(space.read(center, "center"), (len(coords), *space.inner_shape))
    return space.write(space.exp_coords(coords, base), center)


# --- narrowing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 45, 600])
def test_narrowing_is_exact_so_blocks_do_not_matter(dim):
    """One rounding of the exact product, whatever the block: against fractions, and row by row."""
    rng = np.random.default_rng(dim)
    axes = Axes.of_inverse(np.linalg.inv(turned(dim, np.geomspace(0.01, 1.0, dim))))
    grid = -47
    coords = np.rint(rng.standard_normal((50, dim)) / math.sqrt(dim) * 2.0**45) * 2.0**grid
    whole = axes.narrowed(coords, grid)
    assert all(np.array_equal(axes.narrowed(coords[i : i + 1], grid)[0], whole[i]) for i in range(50))
    assert np.array_equal(axes.narrowed(coords[::-1], grid)[::-1], whole)
    exact = sum(Fraction(a) * Fraction(v) for a, v in zip(axes.inverse[1], coords[7], strict=True))
    assert abs(Fraction(whole[7, 1]) - exact) <= abs(exact) * Fraction(1, 2**50) + Fraction(1, 2**80)


@pytest.mark.parametrize("inverse", [np.array([3.0, 1.0, 7.0]), np.linalg.inv(turned(3, [1.0, 0.2, 0.05]))], ids=["diagonal", "full"])
def test_widening_undoes_narrowing_and_the_longest_axis_is_one(inverse):
    axes = Axes.of_inverse(inverse)
    coords = np.rint(np.random.default_rng(0).standard_normal((20, 3)) * 2.0**40) * 2.0**-47
    assert np.allclose(axes.widened(axes.narrowed(coords, -47)), coords, rtol=1e-9, atol=1e-12)
    matrix = np.diag(axes.matrix) if axes.is_diagonal else axes.matrix
    assert np.linalg.norm(matrix, 2) == pytest.approx(1.0, rel=1e-5)
    assert axes.size == pytest.approx(np.linalg.norm(matrix))


@all_of_these
def test_nothing_that_a_record_holds_raises_or_leaves_the_body(space, recwarn):
    """Wild records, of any size, in the narrowest of directions: lengths are exact integers at most the radius."""
    center = space.random_point(1, 3)[0]
    shape = rd.Ellipsoid(space, center, turned(space.dim, np.geomspace(0.01, 1.0, space.dim)), 0.4)
    good = space.random_point(8, 1)
    with np.errstate(all="ignore"):
        wild = np.concatenate([good, *(good[:2] * factor for factor in (np.nan, np.inf, 1e300, -1.0, 5e-324, 0.0))])
    statistic = Moments(radius=shape.reach, axes=shape.narrowing)
    vectors = statistic.vectors(Bounded(wild, shape.ball))._coordinates.all()
    steps = [[int(v) for v in row] for row in vectors * 2.0**-vectors_grid(statistic, shape)]
    most = int(math.ldexp(shape.reach, -vectors_grid(statistic, shape))) + 1
    assert all(sum(v * v for v in row) <= most**2 for row in steps)
    assert space.contains(rd.private_mean(wild, shape, rd.GDP(5.0)).value)
    summary = rd.private_summary(wild, shape, rd.GDP(5.0))
    assert space.contains(summary.value)
    assert np.isfinite(summary.covariance).all()
    assert {w.category for w in recwarn.list} <= {rd.UselessRelease}


def vectors_grid(statistic, shape):
    return statistic.room(shape.ball).grid


def test_coarse_sums_are_those_of_cut_coordinates():
    """Against Python's integers; and the moments stay those of vectors of the ball."""
    ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.3)
    X = np.random.default_rng(0).standard_normal((5000, 3))
    records = Bounded(X, ball)
    steps = np.trunc(records._coordinates.all() * 2.0 ** -(ball.grid + 32)).astype(np.int64).astype(object)
    for second in ("full", "diagonal", "trace"):
        found = records.coarse_moment_sums(second)
        assert list(found.first_total) == [int(s) << 32 for s in steps.sum(axis=0)]
        products = steps.T @ steps
        expected = {
            "full": [*products.diagonal(), products[0, 1], products[0, 2], products[1, 2], products.trace()],
            "diagonal": [*products.diagonal(), products.trace()],
            "trace": [products.trace()],
        }[second]
        assert [s << found.second_bits for s in found.second_total] == [int(p) << 64 for p in expected]


class Repeated:
    """One block of rows, so many times: more records than any memory holds."""

    is_local = True

    def __init__(self, block, times):
        self.block, self.times, self.n = block, times, len(block) * times

    def each(self, task):
        return itertools.repeat(task(self.block, 0), self.times)


@pytest.mark.parametrize("times", [1, 2**16 + 1, 2**17])
@pytest.mark.parametrize("second", ["full", "diagonal", "trace"])
def test_coarse_sums_of_billions_are_exact(second, times):
    """2^31 records on the rim: squares of 2^32 steps each add up to more than 64 bits hold."""
    ball = vectors_up_to(1.0, 1)
    records = Bounded.__new__(Bounded)
    block = np.full((2**14, 1), 1 - 2.0**-17)
    records.ball, records._rows = ball, Rows(Repeated(block, times))
    records.n = records._rows.source.n
    first, squares = records.coarse_moment_sums(second).means([1.0] * (1 + (second != "trace")))
    length = block[0, 0] if records.n > 2**30 else np.floor(block[0, 0] * 2**15) / 2**15
    assert first[0] == length
    assert (squares == length**2).all()



# --- the noise ------------------------------------------------------------------------------------------------


def test_the_noise_has_the_shape_that_is_promised():
    """Coordinates of 400 releases along the axes are normal with standard deviation scale times the axis, by
    Kolmogorov and Smirnov at 1e-8; with the axes exchanged they are not."""
    axes, n = np.array([1.0, 0.25]), 50
    shape = rd.Ellipsoid(rd.Euclidean(2), [0.0, 0.0], axes, 2.0)
    releases = [rd.private_mean(np.zeros((n, 2)), shape, rd.GDP(1.0)) for _ in range(400)]
    values = np.stack([one.value for one in releases])
    assert releases[0].scale == pytest.approx(2 * 2.0 / n, rel=1e-6)
    for i in (0, 1):
        assert stats.kstest(values[:, i] / (releases[0].scale * axes[i]), "norm").pvalue > 1e-8
        assert stats.kstest(values[:, i] / (releases[0].scale * axes[1 - i]), "norm").pvalue < 1e-8


@all_of_these
def test_the_error_is_as_predicted_and_less_than_in_a_ball(space):
    """Records in the ellipsoid: within six standard errors (8 %) of the prediction, and below that of the ball."""
    rng, center = np.random.default_rng(0), space.random_point(1, 3)[0]
    axes = turned(space.dim, np.geomspace(0.05, 1.0, space.dim))
    coords = rng.standard_normal((2000, space.dim))
    coords *= 0.3 * rng.random((2000, 1)) / np.linalg.norm(coords, axis=1, keepdims=True)
    X = points_at(coords @ axes.T, space, center)
    shape = rd.Ellipsoid(space, center, axes, 0.3)
    mean = rd.frechet_mean(X, space).point
    draws = rd.simulate(X, shape, rd.GDP(1.0), size=400, seed=0)
    error = math.sqrt(np.mean(space.dist(np.asarray(draws), mean) ** 2))
    assert error == pytest.approx(rd.plan(shape, 2000, rd.GDP(1.0))[0].expected_error, rel=0.15)
    assert error < rd.plan(rd.Ball(space, center, 0.3), 2000, rd.GDP(1.0))[0].expected_error


@all_of_these
def test_regions_have_the_shape_and_hold_the_mean(space):
    """200 releases at 90 %: between 160 and 197 hold it (binomial, 1e-6 and less); a third of the radius does not."""
    rng, center = np.random.default_rng(1), space.random_point(1, 3)[0]
    axes = turned(space.dim, np.geomspace(0.1, 1.0, space.dim))
    coords = 0.02 * rng.standard_normal((300, space.dim)) @ axes.T
    X, shape = points_at(coords, space, center), rd.Ellipsoid(space, center, axes, 0.2)
    mean = rd.frechet_mean(X, space).point
    releases = [rd.private_mean(X, shape, rd.GDP(1.0)) for _ in range(200)]
    regions = [release.region(0.9) for release in releases]
    assert 160 <= sum(bool(region.contains(mean)) for region in regions) <= 197
    lengths = [float(region.shape.lengths(space.read_points(mean, "x"))) for region in regions]
    assert sum(length <= region.radius / 3 for length, region in zip(lengths, regions, strict=True)) < 160


def test_a_release_in_an_ellipsoid_is_saved_and_read(tmp_path):
    shape = rd.Ellipsoid(rd.Sphere(2), [0.0, 0.0, 1.0], [1.0, 0.2], 0.4)
    release = rd.private_mean(np.tile([0.0, 0.0, 1.0], (500, 1)), shape, rd.GDP(1.0))
    release.save(tmp_path / "r.json")
    again = rd.Release.load(tmp_path / "r.json")
    assert np.array_equal(again.noisy.axes, release.noisy.axes)
    assert bool(again.region(0.999999).contains([0.0, 0.0, 1.0]))
    assert again.guarantee == release.guarantee


def test_the_guarantee_supposes_nothing_about_rounding():
    X, ball = np.tile(np.eye(3), (3000, 1, 1)), rd.Ball(rd.SPDAffine(3), np.eye(3), 2.0)
    texts = rd.private_mean(X, ball, rd.GDP(1.0), adapt=True).guarantee.assumptions
    assert not any("rounding" in text for text in texts)
    assert any("rounding" in text for text in rd.private_mean(X, ball, rd.GDP(1.0)).guarantee.assumptions)


# --- which axes ------------------------------------------------------------------------------------------------


def test_axes_are_those_of_the_fourth_root_and_noise_alone_makes_none():
    variances = np.array([1.0, 0.04, 0.04, 0.01])
    seen = NoisyMoments("diagonal", np.zeros(4), variances, 1e-6, 1e-6, 3.0)
    axes = fitted_axes(seen, None)
    assert np.allclose(axes.matrix / axes.matrix[0], variances**0.25, rtol=1e-3)
    even = NoisyMoments("full", np.zeros(4), np.eye(4), 1e-6, 1e-6, 3.0)
    assert fitted_axes(even, None) is None
    rng, found = np.random.default_rng(0), 0
    for _ in range(200):
        noise = rng.standard_normal((20, 20))
        found += fitted_axes(NoisyMoments("full", np.zeros(20), (noise + noise.T) / 2 + np.eye(20), 1.0, 1.0, 10.0), None) is not None
    assert found <= 10


# --- public ellipsoids -------------------------------------------------------------------------------------------


@all_of_these
def test_other_peoples_data_make_an_ellipsoid_that_holds_them(space):
    rng, center = np.random.default_rng(0), space.random_point(1, 3)[0]
    scales = np.geomspace(0.02, 0.2, space.dim)
    public = points_at(rng.standard_normal((400, space.dim)) * scales, space, center)
    shape = rd.Ellipsoid.from_public(space, public, coverage=0.99)
    lengths = np.linalg.norm(np.linalg.solve(shape.axes, space.log_coords(space.read_points(public, "x"), shape.ball.inner_center).T), axis=0)
    assert (lengths <= shape.radius).mean() == pytest.approx(0.99, abs=0.005)
    assert "Ellipsoid" in repr(shape)


@pytest.mark.parametrize("dim", [2, 21, 150])
@pytest.mark.parametrize("is_turned", [False, True])
def test_the_narrowest_ellipsoid_keeps_its_axes(dim, is_turned):
    """Its matrix has few bits; once, axes that were allowed became 0 or a singular matrix."""
    lengths = np.geomspace(1.001e-4, 1.0, dim)
    shape = rd.Ellipsoid(rd.Euclidean(dim), np.zeros(dim), turned(dim, lengths) if is_turned else lengths, 1.0)
    kept = shape.narrowing.matrix
    found = np.sort(np.abs(kept)) if kept.ndim == 1 else np.sort(np.linalg.svd(kept, compute_uv=False))
    assert np.allclose(found, lengths / lengths.max(), rtol=0.05)


POINTS = np.zeros((3, 2))
WRONG = [
    ({"space": "plane"}, "space"),
    ({"axes": [1.0, 0.0]}, "axes"),
    ({"axes": [[1.0, 1.0], [1.0, 1.0]]}, "axes"),
    ({"axes": [1.0, 1e-5]}, "axes"),
    ({"axes": [1.0, np.nan]}, "axes"),
    ({"axes": np.eye(3)}, "axes"),
    ({"axes": "round"}, "axes"),
    ({"radius": 0.0}, "radius"),
    ({"radius": math.inf}, "radius"),
    ({"radius": 1e-200}, "radius"),
    ({"axes": [1e200, 1e200]}, "axes up to 1e\\+200"),
    ({"center": [0.0, 0.0, 0.0]}, "center"),
]


@pytest.mark.parametrize(("wrong", "word"), WRONG)
def test_wrong_ellipsoids_are_refused_in_one_sentence(wrong, word):
    right = {"space": rd.Euclidean(2), "center": [0.0, 0.0], "axes": [1.0, 0.5], "radius": 1.0}
    with pytest.raises(rd.InputError, match=word) as caught:
        rd.Ellipsoid(**right | wrong)
    assert "\n" not in str(caught.value)


def test_a_matrix_of_more_dimensions_than_products_are_exact_in_is_refused():
    dim = 4001
    rd.Ellipsoid(rd.Euclidean(dim), np.zeros(dim), np.ones(dim), 1.0)
    with pytest.raises(rd.InputError, match="beyond 4,000 dimensions, pass a diagonal"):
        rd.Ellipsoid(rd.Euclidean(dim), np.zeros(dim), np.eye(dim), 1.0)


@pytest.mark.parametrize("public", [POINTS, POINTS[:1], np.ones(2)])
def test_too_few_public_points_are_refused(public):
    with pytest.raises(rd.InputError, match="public_points"):
        rd.Ellipsoid.from_public(rd.Euclidean(2), public)


# --- summaries --------------------------------------------------------------------------------------------------------


@all_of_these
@pytest.mark.parametrize("guarantee", [rd.GDP(2000.0), rd.PureDP(20000.0)], ids=str)
def test_a_summary_in_an_ellipsoid_is_that_of_the_records(space, guarantee, tmp_path):
    """Hardly any noise, and room for all records: mean, covariance and modes are theirs, in coordinates at the mean."""
    coords, center = np.random.default_rng(5).uniform(-1, 1, (2000, space.dim)), space.random_point(1, 3)[0]
    X = points_at(0.2 * coords * np.linspace(1.0, 0.4, space.dim) / math.sqrt(space.dim), space, center)
    shape = rd.Ellipsoid(space, center, turned(space.dim, np.geomspace(0.5, 1.0, space.dim)), 0.45)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.UselessRelease)
        made, plain = (rd.private_summary(X, place, guarantee) for place in (shape, rd.Ball(space, center, 0.45)))
    assert made.moments.axes is not None
    assert space.dist(made.value, plain.value) < 1e-4
    size = np.linalg.norm(plain.covariance)
    assert np.linalg.norm(made.covariance - plain.covariance) < 0.02 * size
    assert made.modes().significant.all()
    assert made.modes(1).ratios == pytest.approx(plain.modes(1).ratios, rel=0.02)
    made.save(tmp_path / "made.json")
    assert np.array_equal(rd.Summary.load(tmp_path / "made.json").covariance, made.covariance)


@all_of_these
@pytest.mark.parametrize("n", [1, 7, 2**14])
def test_neighbours_move_the_moments_as_far_as_the_sensitivity_and_no_farther(space, n):
    """All records in one place, in a generic direction; one of them goes to the other end of the ellipsoid, beyond it, or
    anywhere. Differences are taken by fractions."""
    center, rng = space.random_point(1, 3)[0], np.random.default_rng(n)
    axes = turned(space.dim, np.geomspace(0.2, 1.0, space.dim))
    shape = rd.Ellipsoid(space, center, axes, 0.4)
    statistic = Moments("full", radius=shape.reach, axes=shape.narrowing)
    allowed = Fraction(statistic.sensitivity(shape.ball, n, np.zeros(space.dim)))
    unit = rng.standard_normal(space.dim)
    unit /= np.linalg.norm(unit)

    def moments(last):
        rows = np.broadcast_to(axes @ unit * 0.4, (n, space.dim)).copy()
        rows[-1] = axes @ last * 0.4
        return np.concatenate(statistic.value(Bounded(points_at(rows, space, center), shape.ball), np.zeros(space.dim)))

    def moved(last):
        return sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(moments(last), here, strict=True))

    here = moments(unit)
    assert 0.999**2 < moved(-unit) / allowed**2 <= 1
    for last in (-1.2 * unit, *rng.standard_normal((5, space.dim))):
        assert moved(last) <= allowed**2


def test_regions_of_a_summary_in_an_ellipsoid_hold_what_they_promise():
    """Of 300 releases of records of a skew law: each region misses in 20 % of them, within five standard errors; those
    of even noise of the same size, which a ball would have, do not."""
    rng, axes = np.random.default_rng(0), np.array([1.0, 0.3, 0.1])
    shape, hits = rd.Ellipsoid(rd.Euclidean(3), np.zeros(3), axes, 5.0), np.zeros((300, 3))
    for i in range(len(hits)):
        X = rng.standard_normal((400, 3)) * axes
        made = rd.private_summary(X, shape, rd.GDP(0.5))
        even = replace(made, moments=replace(made.moments, axes=np.full(3, np.linalg.norm(axes) / math.sqrt(3))))
        exact = X.mean(axis=0)
        hits[i] = [made.region(0.8).contains(exact), made.region(0.8, of="population").contains(np.zeros(3)),
                   even.region(0.8).contains(exact)]
    share = hits.mean(axis=0)
    assert np.abs(share[:2] - 0.8).max() < 5 * math.sqrt(0.16 / len(hits))
    assert abs(share[2] - 0.8) > 5 * math.sqrt(0.16 / len(hits))


def test_two_groups_in_ellipsoids_are_compared():
    """No difference has p-values spread evenly, by Kolmogorov and Smirnov at 1e-6; a difference along the narrow axis,
    too small for a ball of the same reach, is seen."""
    rng, axes = np.random.default_rng(1), np.array([1.0, 0.02])
    shape, ball = rd.Ellipsoid(rd.Euclidean(2), [0.0, 0.0], axes, 4.0), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 4.0)

    def p_value(place, shift):
        groups = (rng.standard_normal((500, 2)) * axes + [0.0, off] for off in (0.0, shift))
        return rd.compare(*(rd.private_summary(X, place, rd.GDP(1.0)) for X in groups)).p_value

    assert stats.kstest([p_value(shape, 0.0) for _ in range(150)], "uniform").pvalue > 1e-6
    assert p_value(shape, 0.01) < 1e-3 < p_value(ball, 0.01)


def test_a_direction_is_seen_if_most_of_its_variance_is():
    spread = Spread(np.array([4.0, 1.0]), np.eye(2), np.array([True, False]))
    turned_little = spread.widened(np.diag([1.0, 0.5]))
    assert turned_little.significant.tolist() == [True, False]
    assert turned_little.variances.tolist() == [4.0, 0.25]
    exchanged = spread.widened(np.diag([0.1, 3.0]))
    assert exchanged.variances == pytest.approx([9.0, 0.04])
    assert exchanged.significant.tolist() == [False, True]
    assert (exchanged.chosen(None).tolist(), exchanged.chosen(1).tolist(), exchanged.chosen(5).tolist()) == ([1], [0], [0, 1])


def test_adaptive_summaries_take_the_shape_of_the_records():
    """Of 20 each: with a shape the mean of records along a line is nearer than in balls, and the spread as near."""
    rng, dim = np.random.default_rng(2), 8
    X = rng.standard_normal((4000, dim)) * np.array([1.0] + [0.02] * (dim - 1))
    ball, exact = rd.Ball(rd.Euclidean(dim), np.zeros(dim), 10.0), X.mean(axis=0)
    true = np.sqrt(X.var(axis=0).sum())
    errors, off = {}, {}
    for shaped in (True, False):
        made = [rd.private_summary(X, ball, rd.GDP(1.0), adapt=rd.Adaptation(shape=shaped)) for _ in range(20)]
        errors[shaped] = np.median([np.linalg.norm(one.value - exact) for one in made])
        off[shaped] = np.median([abs(one.dispersion / true - 1) for one in made])
        assert all((one.moments.axes is not None) == shaped for one in made)
    assert errors[True] < 0.8 * errors[False]
    assert off[True] < 0.02


def test_public_points_of_no_space_are_refused():
    with pytest.raises(rd.InputError, match="space = 'plane'"):
        rd.Ellipsoid.from_public("plane", POINTS)


def test_what_has_no_shape_is_refused_in_an_ellipsoid(tmp_path):
    shape = rd.Ellipsoid(rd.Euclidean(2), [0.0, 0.0], [1.0, 0.5], 1.0)
    ledger = rd.Ledger(tmp_path / "l.db", budget=rd.GDP(1.0))
    for second in ("trace", "diagonal"):
        with pytest.raises(rd.InputError, match=f"second = '{second}' tells no spread in an Ellipsoid: pass 'full'"):
            rd.private_summary(POINTS, shape, rd.GDP(1.0), second=second, ledger=ledger)
    for wrong in ({"statistic": "tangent-mean"}, {"mechanism": "kng"}, {"mechanism": "riemannian-laplace"}):
        with pytest.raises(rd.RiemdpError, match="Ellipsoid"):
            rd.private_mean(POINTS, shape, rd.GDP(1.0), ledger=ledger, **wrong)
    assert ledger.history() == []


def test_moments_in_rounds_are_coarse_and_those_of_the_release_are_not():
    assert not ShapedMean.within(rd.Euclidean(2), 1.0, None).moments.is_coarse
    assert Moments("full", is_coarse=True).which(2) == "full"
