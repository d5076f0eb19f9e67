"""Points released by one rounding: against 60-digit references, on the grid, whatever the precision and the input.

The one statistical test rejects at p < 1e-8 on each of its spaces, and must reject scales 3 % off.
"""

from __future__ import annotations

import math
import sys
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.linalg import expm

from manifolds.exact import CHARTS, adjoint, exact, from_real_form, in_chart, length, lift
from manifolds.examples import SPACES
from riemdp import randomness
from riemdp.arithmetic import working_precision
from riemdp.distributions.ideal import point_grid, rounded_point
from riemdp.errors import InputError, MechanismError
from riemdp.manifolds import (
    Euclidean,
    Grassmann,
    HPDAffine,
    Hyperbolic,
    KendallShapes,
    Product,
    Rotations,
    SPDAffine,
    Sphere,
    Torus,
)
from riemdp.manifolds.capabilities import ClosedFormMean
from riemdp.manifolds.spd import invvecd
from riemdp.randomness import normals, replay

LEVEL = 1e-8
FINE = 2.0**-44


def each(spaces):
    return pytest.mark.parametrize("space", spaces, ids=repr)


def origin(space):
    return space.read(space.origin, "origin")


def base_at(space, distance, seed=0):
    """A point at this distance of the origin, in the form that primitives take."""
    direction = np.random.default_rng(seed).standard_normal(space.dim)
    return space.exp_coords(distance * direction / np.linalg.norm(direction), origin(space))


def near(space):
    return base_at(space, min(0.7, 0.4 * space.injectivity_radius))


def vectors(space, size, seed=1):
    """Coordinates of all lengths up to half of the injectivity radius."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((size, space.dim))
    lengths = min(1.0, space.injectivity_radius / 2) * rng.uniform(0.1, 1, (size, 1))
    return lengths * v / np.linalg.norm(v, axis=1, keepdims=True)


def balls(v):
    return [arb(x) for x in v.tolist()]


def drawn(space, scale, tape):
    """coords(bits) of `scale` times a standard normal vector."""
    return lambda bits: [arb(scale) * z for z in normals(replay(tape, bits), space.dim)]


def ideal_entries(space, v, base, bits=400):
    """The entries as mpmath numbers."""
    with working_precision(bits):
        return np.array([mp.mpf(x.mid()) for x in space.ideal_exp(balls(v), base)], dtype=object)


# --- exp and log density against references -------------------------------------------------------------------


def of_factors(function, space, entries, *rest):
    """What the function finds for each factor of a product (or for a space that is none) and its own entries."""
    if not space.factors:
        return [function(space, entries, *rest)]
    parts = np.split(entries, np.cumsum([math.prod(factor.ambient_shape) for factor in space.factors])[:-1])
    found = zip(space.factors, parts, *(space.inner_parts(points) for points in rest), strict=True)
    return [function(*arguments) for arguments in found]


def exact_point(space, entries):
    """The point with these entries, as its reference has it."""
    if isinstance(space, KendallShapes):
        return entries[::2] + 1j * entries[1::2]
    if isinstance(space, HPDAffine):
        return from_real_form(entries.reshape(2 * space.k, 2 * space.k))
    if isinstance(space, Torus):
        return np.array([mp.atan2(sine, cosine) for cosine, sine in entries.reshape(-1, 2)])
    return entries.reshape(space.point_shape) if isinstance(space, SPDAffine | Rotations | Grassmann) else entries


def exact_base(space, base):
    """The point that a base stands for: the one of its floats, or one next to it where the space computes some."""
    reference = exact(space)
    told = reference.read(space.write(base, space.origin))
    is_written_otherwise = getattr(space, "model", None) == "poincare"
    if isinstance(space, Euclidean | Sphere | Hyperbolic | KendallShapes) and not is_written_otherwise:
        return told
    found = exact_point(space, ideal_entries(space, np.zeros(space.dim), base))
    assert reference.norm(reference.log(found, told), told) < 1e-14 * (1 + space.dim)
    return found


def reference_coordinates(space, entries, base):
    """Orthonormal ones of log_base of the point with these entries."""
    reference, p = exact(space), exact_base(space, base)
    log = reference.log(exact_point(space, entries), p)
    return log if in_chart(space) or isinstance(space, Euclidean) else reference.coordinates(log, p)


@each(SPACES)
@pytest.mark.parametrize("far", [False, True])
def test_ideal_exp_is_the_exponential_map_in_an_orthonormal_basis(space, far):
    """log_base, by the reference, of the points has the inner products of the coordinates, to 30 digits."""
    base, v = near(space) if far else origin(space), vectors(space, 4)
    logs = [np.concatenate(of_factors(reference_coordinates, space, ideal_entries(space, c, base), base)) for c in v]
    for i, a in enumerate(logs):
        for j, b in enumerate(logs):
            assert abs(a @ b - lift(v[i]) @ lift(v[j])) < mp.mpf(10) ** -30


def off_sphere(space, entries):
    return abs(length(entries) / lift(space.radius)[()] - 1)


def off_hyperboloid(space, entries):
    return abs((entries[0] ** 2 - sum(entries[1:] ** 2)) / lift(space.radius)[()] ** 2 - 1)


def off_preshapes(space, entries):
    """Centred, of size 1, and turned towards the origin."""
    z, o = exact_point(space, entries), lift(origin(space))
    product = sum(mp.conj(a) * b for a, b in zip(o, z, strict=True))
    assert mp.re(product) > 0
    return max(abs(sum(z)), abs(length(z) - 1), abs(mp.im(product)))


def off_definite(space, entries):
    matrix = exact_point(space, entries)
    assert min(mp.eigsy(mp.matrix(matrix.tolist()), eigvals_only=True)) > 0
    return abs(matrix - matrix.T).max()


def off_complex_definite(space, entries):
    """Hermitian, every complex entry a block [[a, -b], [b, a]]."""
    matrix, blocks = exact_point(space, entries), entries.reshape(space.k, 2, space.k, 2)
    assert min(mp.eighe(mp.matrix(matrix.tolist()), eigvals_only=True)) > 0
    form = abs(blocks[:, 0, :, 0] - blocks[:, 1, :, 1]).max(), abs(blocks[:, 1, :, 0] + blocks[:, 0, :, 1]).max()
    return max(*form, length(matrix - adjoint(matrix)))


def off_rotations(space, entries):
    matrix = exact_point(space, entries)
    assert mp.det(mp.matrix(matrix.tolist())) > 0
    return abs(matrix.T @ matrix - lift(np.eye(3))).max()


def off_projectors(space, entries):
    """Symmetric, its own square, of rank p."""
    matrix = exact_point(space, entries)
    rank = abs(np.trace(matrix) - space.p)
    return max(rank, abs(matrix - matrix.T).max(), abs(matrix @ matrix - matrix).max())


def off_circles(space, entries):
    return max(abs(length(pair) - 1) for pair in entries.reshape(-1, 2))


# How far entries are from those of a point; where all vectors are points there is nothing to see.
OFF = {
    Sphere: off_sphere,
    Hyperbolic: off_hyperboloid,
    KendallShapes: off_preshapes,
    SPDAffine: off_definite,
    HPDAffine: off_complex_definite,
    Rotations: off_rotations,
    Torus: off_circles,
    Grassmann: off_projectors,
    **dict.fromkeys([Euclidean, *CHARTS], lambda space, entries: 0 if entries.shape == (space.dim,) else 1),
}


@each(SPACES)
def test_ideal_points_lie_exactly_on_the_space(space):
    entries = ideal_entries(space, vectors(space, 1)[0], near(space))
    distances = of_factors(lambda factor, own: OFF[type(factor)](factor, own), space, entries)
    assert max(distances) < mp.mpf(10) ** -50


def test_the_entries_depend_on_the_shape_not_on_the_phase_of_the_base():
    space = KendallShapes(5)
    base, zero = near(space), np.zeros(space.dim)
    a, b = (ideal_entries(space, zero, p) for p in (base, base * np.exp(2j)))
    assert max(abs(a - b)) < 1e-15


@each(SPACES)
def test_distances_in_float64_agree(space):
    base = near(space)
    for v in vectors(space, 3):
        point = rounded_point(space, base, lambda bits, v=v: balls(v), 2.0**-52)
        assert abs(float(space.distance(base, point)) - np.linalg.norm(v)) < 1e-14 * (1 + space.dim)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_affine_against_scipy(k):
    space = SPDAffine(k)
    base, v = near(space), vectors(space, 1)[0]
    factor = np.linalg.cholesky(base)
    expected = factor @ expm(invvecd(v)) @ factor.T
    assert np.allclose(ideal_entries(space, v, base).astype(float).reshape(k, k), expected, rtol=0, atol=1e-14)


def log_sinhcs(roots):
    """Of the halves of all differences, added up."""
    halves = [(a - b) / 2 for a, b in combinations(roots, 2)]
    return sum((mp.log(mp.sinh(x) / x) for x in halves), start=mp.mpf(0))


def hermitian_with(v, k):
    """The matrix of which v are the coordinates: its diagonal, then sqrt 2 times real and imaginary parts above it."""
    matrix, (i, j) = np.diag(v[:k]).astype(object), np.triu_indices(k, 1)
    real, imaginary = v[k : k + len(i)], v[k + len(i) :] if len(v) == k * k and k > 1 else 0
    above = (real + mp.mpc(0, 1) * imaginary) / mp.sqrt(2)
    matrix[i, j], matrix[j, i] = above, np.array([mp.conj(x) for x in above], dtype=object)
    return mp.matrix(matrix.tolist())


def reference_log_density(space, v):
    """The table of volume densities, in 60 digits."""
    v = lift(v)
    t = length(v)
    if isinstance(space, Sphere):
        return (space.d - 1) * mp.log(mp.sinc(t / lift(space.radius)[()]))
    if isinstance(space, Hyperbolic):
        x = t / lift(space.radius)[()]
        return (space.d - 1) * mp.log(mp.sinh(x) / x)
    if isinstance(space, KendallShapes):
        return (2 * space.k - 6) * mp.log(mp.sinc(t)) + mp.log(mp.sinc(2 * t))
    if isinstance(space, Rotations):
        return 2 * mp.log(mp.sinc(t / 2))
    if isinstance(space, Grassmann):
        block = mp.matrix(v.reshape(-1, space.p).tolist())
        angles = [mp.sqrt(abs(x)) for x in mp.eigsy(block.T * block, eigvals_only=True)]
        pairs = sum((mp.log(mp.sinc(a - b) * mp.sinc(a + b)) for a, b in combinations(angles, 2)), start=mp.mpf(0))
        return pairs + (space.n - 2 * space.p) * sum(mp.log(mp.sinc(a)) for a in angles)
    if isinstance(space, SPDAffine | HPDAffine):
        once = log_sinhcs(mp.eighe(hermitian_with(v, space.k), eigvals_only=True))
        return once if isinstance(space, SPDAffine) else 2 * once
    return mp.mpf(0)


@each(SPACES)
def test_log_densities_against_the_table(space):
    for v in vectors(space, 3):
        parts = zip(space.factors, space.split_coords(v), strict=True) if space.factors else [(space, v)]
        with working_precision(400):
            value = space.ideal_log_density(balls(v))
            expected = sum((reference_log_density(factor, own) for factor, own in parts), start=mp.mpf(0))
            assert abs(mp.mpf(value.mid()) - expected) < mp.mpf(10) ** -40


@each(SPACES)
def test_log_densities_agree_with_those_in_float64(space):
    for v in vectors(space, 3):
        with working_precision(256):
            assert float(space.ideal_log_density(balls(v))) == pytest.approx(float(space.log_density(v)), abs=1e-13)


@each(SPACES)
def test_the_density_at_zero_is_one(space):
    with working_precision(256):
        assert space.ideal_log_density([arb(0)] * space.dim) == 0


CUT = [Sphere(2), Sphere(1, curvature=4.0), KendallShapes(5), Product(Euclidean(2), Sphere(2))]


def on_last_axis(space, t):
    return [arb(0)] * (space.dim - 1) + [t]


@each(CUT)
def test_beyond_the_injectivity_radius_everything_is_rejected(space):
    """A trial is accepted if log u < log J - bound, rejected if log u >= log J - bound, undecided else."""
    reach = arb.pi() * space.injectivity_radius / math.pi
    for t, accepted, rejected in [(reach * 0.9, True, False), (reach * 1.1, False, True), (reach + arb(0, 1e-9), False, False)]:
        threshold = space.ideal_log_density(on_last_axis(space, t)) - arb(3)
        assert ((arb(-1000) < threshold), (arb(-1000) >= threshold)) == (accepted, rejected)


def test_wide_balls_leave_the_affine_density_undecided():
    wide = [arb(0, 1e300), arb.nan()]
    for x in wide:
        value = SPDAffine(2).ideal_log_density([x, arb(0), x])
        assert not value < 5
        assert not value >= 5


# --- enclosures --------------------------------------------------------------------------------------------


@each(SPACES)
def test_enclosures_shrink_and_stay_consistent(space):
    tape, base = [], near(space)
    coords = drawn(space, 0.1, tape)
    widths, entries = [], []
    for bits in (64, 256, 1024):
        with working_precision(2 * bits):
            found = space.ideal_exp(coords(bits), base)
            entries.append(found)
            widths.append(max(x.rad() for x in found))
            density = space.ideal_log_density(coords(bits))
    assert widths[0] < 2.0**-45
    assert widths[1] < widths[0] * arb(2) ** -180
    assert widths[2] < widths[1] * arb(2) ** -700
    assert density.rad() < arb(2) ** -900
    for rough, sharp in zip(entries[0], entries[2], strict=True):
        assert rough.contains(sharp)


@each(SPACES)
@pytest.mark.parametrize("first_bits", [4, 40])
def test_the_draw_does_not_depend_on_how_many_bits_come_first(space, first_bits, monkeypatch):
    """The same tape gives the same point; few bits are tried first, when no more are known."""
    base, tape, grid = near(space), [], point_grid(space, 0.1, 1.0)
    points = []
    for bits in (first_bits, 2048):
        monkeypatch.setattr(randomness, "FIRST_BITS", bits)
        points.append(rounded_point(space, base, drawn(space, 0.1, tape), grid))
    assert np.array_equal(*points)


def test_undecided_attempts_are_tried_again():
    asked = []

    def coords(bits):
        asked.append(bits)
        return [arb.nan() if len(asked) < 3 else arb(0.25)]

    assert rounded_point(Euclidean(1), np.zeros(1), coords, 0.5) == [0.5]
    assert asked == [128, 256, 512]


def test_precision_is_restored():
    before = ctx.prec
    rounded_point(Sphere(2), origin(Sphere(2)), lambda bits: [arb(0.1), arb(0.2)], FINE)
    assert ctx.prec == before


# --- the grid ------------------------------------------------------------------------------------------------


@pytest.fixture
def raw(monkeypatch):
    """rounded_point without its clean-up."""

    def entries(space, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(type(space), "from_ambient", lambda self, ambient: ambient)
            return rounded_point(space, *arguments).reshape(-1)

    return entries


@each(SPACES)
@pytest.mark.parametrize("grid", [2.0**-10, 2.0**-30])
def test_entries_are_the_nearest_multiples_of_the_grid(space, grid, raw):
    base = near(space)
    for v in vectors(space, 3):
        entries = raw(space, base, lambda bits, v=v: balls(v), grid)
        assert np.array_equal(entries, grid * np.round(entries / grid))
        assert max(abs(lift(entries) - ideal_entries(space, v, base))) <= grid / 2


def test_neighbouring_bases_have_the_same_outputs(raw):
    """On a coarse grid of the circle every output is met from both; each has a probability of at least 2 %."""
    space = Sphere(1)
    bases = [base_at(space, 0.3), base_at(space, 0.3 + 1e-3)]
    met = [{tuple(raw(space, base, drawn(space, 3.0, []), 0.5)) for _ in range(1200)} for base in bases]
    assert met[0] == met[1]
    assert len(met[0]) == 16


@each(SPACES)
@pytest.mark.parametrize("scale", [1e-6, 0.05])
def test_rounding_moves_by_less_than_a_millionth_of_the_scale(space, scale):
    base, grid = near(space), point_grid(space, scale, 1.0)
    for v in vectors(space, 4):
        rough, fine = (rounded_point(space, base, lambda bits, v=v: balls(v), g) for g in (grid, 2.0**-60))
        assert space.distance(rough, fine) <= scale * 2.0**-20 + 1e-14 * (1 + space.dim)


@each(SPACES)
def test_the_grid_is_a_power_of_two_and_not_finer_than_needed(space):
    grid = point_grid(space, 0.01, 0.5)
    assert math.frexp(grid)[0] == 0.5
    finest = math.exp(-0.5 - 0.01 * (space.dim + 12 * math.sqrt(space.dim) + 30))
    entries = math.prod(space.point_shape) * 3
    assert grid >= 0.01 * 2.0**-22 * finest / math.sqrt(entries)


@each(SPACES)
def test_a_change_of_the_entries_moves_the_point_by_at_most_that(space):
    """`ambient_step` bounds it, up to the edge of the region."""
    rng, reach = np.random.default_rng(5), 2.0
    for size in (size for size in (1e-3, 0.3, 40.0) if floats_hold(space, reach + size)):
        step = space.ambient_step(size, reach)
        for seed in range(5):
            base = base_at(space, min(reach, 0.9 * space.injectivity_radius), seed)
            entries = ideal_entries(space, np.zeros(space.dim), base).astype(float)
            change = rng.standard_normal(entries.shape)
            change *= step / np.linalg.norm(change)
            before, after = (space.from_ambient(x.reshape(space.ambient_shape)) for x in (entries, entries + _symmetric(space, change)))
            assert space.distance(before, after) <= size * (1 + 1e-9) + 1e-12


def floats_hold(space, radius):
    """Whether the points up to there are more than roundings of matrices."""
    return not space.has(ClosedFormMean) or space.point_rounding(radius) < math.inf


def _symmetric(space, change):
    if space.factors:
        return _symmetric_factor(space, change)
    if not isinstance(space, SPDAffine | HPDAffine):
        return change
    matrix = change.reshape(space.inner_shape)
    return ((matrix + matrix.T) / 2).reshape(-1)


def _symmetric_factor(space, change):
    parts = np.split(change, np.cumsum([math.prod(f.ambient_shape) for f in space.factors])[:-1])
    return np.concatenate([_symmetric(f, part) for f, part in zip(space.factors, parts, strict=True)])


@pytest.mark.parametrize(
    ("space", "scale", "radius"),
    [(Euclidean(2), 1e-300, 1.0), (SPDAffine(2), 0.1, 700.0), (SPDAffine(1), 30.0, 1.0), (Hyperbolic(1), 1e6, 1.0)],
)
def test_no_room_for_a_grid(space, scale, radius):
    with pytest.raises(MechanismError, match=r"scale = .* leaves no room for a grid.*use a smaller ball"):
        point_grid(space, scale, radius)


@pytest.mark.parametrize(("scale", "radius"), [(0.0, 1.0), (-1.0, 1.0), (math.inf, 1.0), (math.nan, 1.0), (1.0, -1.0), (1.0, math.inf)])
def test_bad_scales_and_radii(scale, radius):
    with pytest.raises(InputError, match="scale = "):
        point_grid(Sphere(2), scale, radius)


# --- the law ---------------------------------------------------------------------------------------------------


def p_value(probabilities):
    """Of 'independent and uniform': Kolmogorov-Smirnov and the squared normal scores, Bonferroni."""
    scores = special.ndtri(probabilities)
    squares = special.chdtr(len(scores), scores @ scores)
    return 3 * min(2 * min(squares, 1 - squares), stats.kstest(probabilities, "uniform").pvalue)


LAWS = [Product(Sphere(13), Hyperbolic(13), SPDAffine(5)), KendallShapes(22)]


@each(LAWS)
def test_normal_coordinates_give_chi_distances(space):
    """rho(base, released point)/scale ~ chi_d; 3 % more or less shows in the sum of squares, 80,000 chi-squares."""
    scale, size, base = 0.05, 80_000 // space.dim, near(space)
    grid = point_grid(space, scale, 1.0)
    points = np.array([rounded_point(space, base, drawn(space, scale, []), grid) for _ in range(size)])
    squares = (space.distance(base, points) / scale) ** 2

    def total_p(factor):
        below = special.chdtr(size * space.dim, factor**2 * squares.sum())
        return 2 * min(below, special.chdtrc(size * space.dim, factor**2 * squares.sum()))

    assert total_p(1.0) > LEVEL
    assert total_p(1.03) < LEVEL
    assert total_p(1 / 1.03) < LEVEL
    assert p_value(special.chdtr(space.dim, squares)) > LEVEL


# --- nothing fails -----------------------------------------------------------------------------------------------


@each(SPACES)
@pytest.mark.parametrize("scale", [1e-250, 1e-12, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("distance", [0.0, 5.0])
def test_extreme_scales_and_bases(space, scale, distance):
    base = base_at(space, distance)
    for grid in (2.0**-990, min(2.0**-20, scale), 1024.0):
        point = rounded_point(space, base, drawn(space, scale, []), grid)
        assert space.contains(space.write(point, space.origin))


NUMBERS = st.one_of(
    st.just(0.0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([5e-324, 2.0**-997, 1e-150, 1e150, sys.float_info.max, -sys.float_info.max]),
    st.floats(-2, 2),
)


@each(SPACES)
@given(data=st.data())
def test_any_rounded_numbers_become_a_point(space, data):
    size = math.prod(space.ambient_shape)
    numbers = data.draw(st.one_of(st.lists(NUMBERS, min_size=size, max_size=size), NUMBERS.map(lambda x: [x] * size)))
    ambient = _halves_symmetric(space, np.array(numbers))
    point = space.from_ambient(ambient.reshape(space.ambient_shape))
    assert space.contains(space.write(point, space.origin))


def _halves_symmetric(space, entries):
    if isinstance(space, SPDAffine):
        upper = np.triu(entries.reshape(space.k, space.k))
        return (upper + np.triu(upper, 1).T).reshape(-1)
    if space.factors:
        parts = np.split(entries, np.cumsum([math.prod(f.ambient_shape) for f in space.factors])[:-1])
        return np.concatenate([_halves_symmetric(f, part) for f, part in zip(space.factors, parts, strict=True)])
    return entries


@each(SPACES)
def test_zero_noise_and_zero_entries(space):
    base = near(space)
    here = rounded_point(space, base, lambda bits: [arb(0)] * space.dim, FINE)
    assert space.distance(here, base) < 1e-11
    assert space.contains(space.write(space.from_ambient(np.zeros(space.ambient_shape)), space.origin))


def test_a_base_whose_pivot_entry_is_zero():
    """Frames pivot on the largest entry, so that no base divides by zero."""
    for space, base in [(Sphere(2), [1.0, 0.0, 0.0]), (Hyperbolic(2), [1.0, 0.0, 0.0])]:
        point = rounded_point(space, np.array(base), lambda bits: [arb(0.3), arb(0.4)], FINE)
        assert float(space.distance(np.array(base), point)) == pytest.approx(0.5, abs=1e-12)
    square = KendallShapes(4)
    base = square.to_points(np.array([1.0, 1.0 / 3, -1.0, -1.0 / 3 + 0j]))
    point = rounded_point(square, base, lambda bits: [arb(0.1)] * 4, FINE)
    assert float(square.distance(base, point)) == pytest.approx(0.2, abs=1e-12)
