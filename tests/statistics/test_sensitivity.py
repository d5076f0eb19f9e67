"""Sensitivities: closed forms at 50 digits, laws, and adversarial searches of neighbouring data sets.

The searches use their own few lines of geometry (sphere, complex projective space, hyperbolic disc).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riemdp.errors import InputError
from riemdp.statistics.sensitivity import (
    coordinates_lipschitz,
    coordinates_sensitivity,
    kng_sensitivity,
    mean_sensitivity,
    mean_sensitivity_as_printed,
    solver_tolerance,
    tangent_mean_sensitivity,
    with_solver_error,
)

Array = np.ndarray
mp = mpmath.mp.clone()
mp.dps = 50

# Radius, then n times the published bound, the one by Rauch's theorem and the sharp one (curvature 1).
TABLE = [
    (math.pi / 8, 1.215, 0.8724, 0.8284),
    (0.6, 3.94, 1.5452, 1.3683),
    (0.75, 26.7, 2.2571, 1.8632),
    (1.2, None, 8.650, 5.144),
]
FRACTIONS = st.floats(0.001, 0.999)
CURVATURES = st.floats(1e-6, 1e6)
RECORDS = st.integers(1, 10**9)


# --- references at 50 digits -----------------------------------------------------------------------


def sharp(r: float, n: int, k_max: float) -> mpmath.mpf:
    s = mp.sqrt(mp.mpf(k_max))
    return 2 * mp.tan(mp.mpf(r) * s) / (s * n)


def hessian_factor(r: mpmath.mpf, e: mpmath.mpf) -> mpmath.mpf:
    q = mp.acos(mp.cos(r) / mp.cos(e)) if e < r else mp.mpf(0)
    return mp.tan(q) / q if q else mp.mpf(1)


def rauch(r: float) -> mpmath.mpf:
    """The bound with Rauch's chord 2r w/sin w, on a grid: what the sharp bound improves on."""
    grid = [mp.mpf(r) * i / 400 for i in range(401)]
    return max(2 * r * (r + e) / mp.sin(r + e) * hessian_factor(mp.mpf(r), e) for e in grid)


def longest_chord(r: float) -> mpmath.mpf:
    """S(r) from its primal form, the longest chord perpendicular to the axis."""
    r = mp.mpf(r)

    def slope(q: mpmath.mpf) -> mpmath.mpf:
        return mp.diff(lambda t: t**2 * (1 - (mp.tan(t / 2) / mp.tan(r)) ** 2), q)

    q = mp.findroot(slope, (r, 2 * r * mp.mpf("0.9999")), solver="anderson")
    return 2 * q * mp.sqrt(1 - (mp.tan(q / 2) / mp.tan(r)) ** 2)


def assert_just_above(value: float, reference: mpmath.mpf, slack: float = 2e-14) -> None:
    assert reference <= mp.mpf(value) <= reference * (1 + mp.mpf(slack))


@pytest.mark.parametrize(("r", "printed", "by_rauch", "exact"), TABLE)
def test_table(r: float, printed: float | None, by_rauch: float, exact: float) -> None:
    value = mean_sensitivity(r, 1, 1.0, math.pi)
    assert value == pytest.approx(exact, abs=6e-4)
    assert coordinates_sensitivity(r, 1, 1.0, math.pi) == pytest.approx(exact, abs=6e-4)
    assert float(rauch(r)) == pytest.approx(by_rauch, abs=6e-4)
    assert value < rauch(r)
    if printed is not None:
        assert mean_sensitivity_as_printed(r, 1, 1.0) == pytest.approx(printed, rel=2e-3)
        assert rauch(r) < mean_sensitivity_as_printed(r, 1, 1.0)


@settings(deadline=None)
@given(FRACTIONS, CURVATURES, RECORDS)
def test_rounded_up_and_no_more(fraction: float, k_max: float, n: int) -> None:
    horizon = math.pi / math.sqrt(k_max)
    r = fraction * horizon / 2
    slack = 1e-14 / (1 - fraction)    # the condition of the tangent near its pole
    assert_just_above(mean_sensitivity(r, n, k_max, math.inf), sharp(r, n, k_max), slack)
    footpoint = (1 - fraction) * horizon / 2
    s = mp.sqrt(mp.mpf(k_max))
    stretch = mp.sinc(r * s) / mp.sinc((mp.mpf(r) + footpoint) * s)
    moved = coordinates_sensitivity(r, n, k_max, math.inf, footpoint)
    assert_just_above(moved, sharp(r, n, k_max) * stretch, 2 * slack)
    assert_just_above(coordinates_lipschitz(r, k_max, math.inf), 1 / mp.sinc(r * s))


@pytest.mark.parametrize("r", [1e-9, 0.1, math.pi / 8, 0.75, 1.2, 1.5])
def test_longest_chord_is_rounded_up_and_no_more(r: float) -> None:
    assert_just_above(kng_sensitivity(r, 1, 1.0, math.pi), longest_chord(r))


def test_longest_chord_at_an_eighth_of_pi() -> None:
    value = kng_sensitivity(math.pi / 8, 1, 1.0, math.pi)
    a = math.pi / 4
    assert value == pytest.approx(0.8061732350858917, rel=1e-14)
    assert value < math.pi / 4 * a / math.sin(a) == pytest.approx(0.872, abs=5e-4)


@settings(deadline=None)
@given(st.floats(1e-100, 1e100), st.integers(1, 10**20), st.floats(-1e6, 0.0))
def test_without_positive_curvature_all_are_2r_over_n(r: float, n: int, k_max: float) -> None:
    exact = 2 * mp.mpf(r) / n
    for bound in (mean_sensitivity, coordinates_sensitivity, kng_sensitivity):
        assert_just_above(bound(r, n, k_max, math.inf), exact)
    assert_just_above(coordinates_sensitivity(r, n, k_max, math.inf, 7.0), exact)
    assert_just_above(tangent_mean_sensitivity(r, n), exact)
    assert_just_above(mean_sensitivity_as_printed(r, n, k_max), exact)
    assert coordinates_lipschitz(r, k_max, math.inf, 7.0) == 1.0


# --- laws ------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(FRACTIONS, CURVATURES)
def test_scaling_law(fraction: float, c: float) -> None:
    r = fraction * math.pi / 2
    for bound in (mean_sensitivity, kng_sensitivity, coordinates_sensitivity):
        scaled = bound(r / math.sqrt(c), 10, c, math.inf) * math.sqrt(c)
        assert scaled == pytest.approx(bound(r, 10, 1.0, math.inf), rel=1e-11)


def test_monotone_in_radius_records_and_footpoint() -> None:
    radii = np.linspace(0.01, 1.5, 60)
    for bound in (mean_sensitivity, kng_sensitivity, coordinates_sensitivity):
        assert np.all(np.diff([bound(r, 9, 1.0, math.pi) for r in radii]) > 0)
        assert np.all(np.diff([bound(0.7, n, 1.0, math.pi) for n in range(1, 40)]) < 0)
    moved = [coordinates_sensitivity(0.7, 9, 1.0, math.pi, d) for d in np.linspace(0, 2.4, 40)]
    assert np.all(np.diff(moved) > 0)


def test_small_curvature_tends_to_flat() -> None:
    for bound in (mean_sensitivity, kng_sensitivity, coordinates_sensitivity):
        assert bound(0.5, 1, 1e-12, math.inf) == pytest.approx(1.0, rel=1e-11)


# --- the lemma behind the bound, by brute force in the model sphere --------------------------------


def image_diameter(r: float, e: float) -> float:
    """Diameter of the log image, seen from distance e off the centre, of the spherical ball of radius r."""
    turn = np.linspace(0, 2 * np.pi, 361)
    sphere = SPHERE
    origin = sphere.exp(e * sphere.basis[0], sphere.center)
    rim = sphere.exp(r * (np.cos(turn)[:, None] * sphere.basis[0] + np.sin(turn)[:, None] * sphere.basis[1]),
                     sphere.center)
    image = sphere.log(rim, origin)
    return float(np.linalg.norm(image[:, None] - image[None], axis=-1).max())


@pytest.mark.parametrize("r", [0.1, math.pi / 8, 0.6, 0.75, 1.2, 1.5])
def test_no_velocity_exceeds_the_bound(r: float) -> None:
    """n times the speed of the mean, and of its coordinates, at every distance e to the centre."""
    mean, coordinates = (bound(r, 1, 1.0, math.pi) for bound in (mean_sensitivity, coordinates_sensitivity))
    moved, gradient = coordinates_sensitivity(r, 1, 1.0, math.pi, 0.4), kng_sensitivity(r, 1, 1.0, math.pi)
    speeds = []
    for e in np.linspace(0, r, 13):
        chord = image_diameter(r, e)
        speed = chord * float(hessian_factor(mp.mpf(r), mp.mpf(e)))
        assert chord <= gradient * (1 + 1e-7)
        assert speed / np.sinc(e / np.pi) <= coordinates * (1 + 1e-7)
        assert speed / np.sinc((e + 0.4) / np.pi) <= moved * (1 + 1e-7)
        speeds.append(speed)
    assert max(speeds) <= mean * (1 + 1e-7)
    assert speeds[0] == pytest.approx(mean, rel=1e-4)
    assert chord == pytest.approx(gradient, rel=1e-4)


# --- adversarial search ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """A space of unit vectors: its log, curvature bound, a centre and two orthonormal directions there."""

    log: Callable[[Array, Array], Array]
    k_max: float
    injectivity_radius: float
    center: Array
    basis: Array

    def exp(self, tangent: Array, point: Array) -> Array:
        length = np.linalg.norm(tangent, axis=-1, keepdims=True)
        return np.cos(length) * point + np.sinc(length / np.pi) * tangent

    def facts(self) -> tuple[float, float]:
        return self.k_max, self.injectivity_radius


def sphere_log(point: Array, base: Array) -> Array:
    across = point - np.sum(point * base, axis=-1, keepdims=True) * base
    sine = np.linalg.norm(across, axis=-1, keepdims=True)
    angle = np.arctan2(sine, np.sum(point * base, axis=-1, keepdims=True))
    return across * np.where(sine > 0, angle / np.where(sine > 0, sine, 1.0), 1.0)


def projective_log(point: Array, base: Array) -> Array:
    """Log of CP^m (curvature 1 to 4): rotate the representative onto the base point, then as on a sphere."""
    inner = np.sum(np.conj(base) * point, axis=-1, keepdims=True)
    across = point * np.conj(inner) / np.abs(inner) - np.abs(inner) * base
    sine = np.linalg.norm(across, axis=-1, keepdims=True)
    return across * np.where(sine > 0, np.arctan2(sine, np.abs(inner)) / np.where(sine > 0, sine, 1.0), 1.0)


SPHERE = Model(sphere_log, 1.0, math.pi, np.array([0.0, 0.0, 1.0]), np.eye(3)[:2])
# The second direction is i times the first: together they span the line of curvature 4.
SHAPES = Model(projective_log, 4.0, math.pi / 2, np.array([0j, 0j, 1 + 0j]),
               np.array([[1, 0, 0], [1j, 0, 0], [0, 1, 0], [0, 1j, 0]]))
MODELS = [pytest.param(SPHERE, id="sphere"), pytest.param(SHAPES, id="shapes")]


def frechet_mean(space: Model, points: Array, weights: Array) -> Array:
    """Means of a batch (batch, records, ambient) by unit gradient steps, which contract since Hess F <= 1."""
    mean = np.broadcast_to(space.center, points[:, 0].shape)
    for _ in range(400):
        step = np.einsum("j,bjk->bk", weights, space.log(points, mean[:, None]))
        mean = space.exp(step, mean)
        mean = mean / np.linalg.norm(mean, axis=-1, keepdims=True)
        if np.linalg.norm(step, axis=-1).max() < 1e-14:
            break
    assert np.linalg.norm(step, axis=-1).max() < 1e-12
    return mean


def neighbouring_means(space: Model, tangents: Array, n: int) -> tuple[Array, Array]:
    """Means of (n - 1)/2, (n - 1)/2 and 1 records, the last one at tangents[:, 2] and then at [:, 3]."""
    points = space.exp(tangents, space.center)
    weights = np.array([(n - 1) / 2, (n - 1) / 2, 1.0]) / n
    return tuple(frechet_mean(space, points[:, [0, 1, last]], weights) for last in (2, 3))


def distance(space: Model, a: Array, b: Array) -> Array:
    return np.linalg.norm(space.log(a, b), axis=-1)


def coordinate_distance(space: Model, a: Array, b: Array) -> Array:
    return np.linalg.norm(space.log(a, space.center) - space.log(b, space.center), axis=-1)


def worst_case(space: Model, r: float) -> Array:
    """Two clusters at opposite rim points, one record jumping across, in the plane of largest curvature."""
    return r * np.array([[space.basis[0], -space.basis[0], space.basis[1], -space.basis[1]]])


def climb(space: Model, r: float, points: int, score: Callable[[Array], Array], rounds: int) -> float:
    """Best score found by 64 random hill climbers over tangents of length <= r; deterministic."""
    rng = np.random.default_rng(20240)

    def clipped(coordinates: Array) -> Array:
        length = np.linalg.norm(coordinates, axis=-1, keepdims=True)
        return coordinates * np.minimum(1.0, r / length)

    best = clipped(rng.normal(size=(64, points, len(space.basis))) * 2 * r)
    value = score(best @ space.basis)
    for i in range(rounds):
        trial = clipped(best + rng.normal(size=best.shape) * r * 0.5 * 0.97**i)
        found = score(trial @ space.basis)
        better = found > value
        best, value = np.where(better[:, None, None], trial, best), np.maximum(found, value)
    return float(value.max())


@pytest.mark.parametrize("space", MODELS)
@pytest.mark.parametrize("gap", [distance, coordinate_distance])
@pytest.mark.parametrize("scaled_radius", [math.pi / 8, 0.75, 1.2])
def test_worst_case_attains_the_bound(space: Model, gap: Callable, scaled_radius: float) -> None:
    r, n = scaled_radius / math.sqrt(space.k_max), 2001
    found = gap(space, *neighbouring_means(space, worst_case(space, r), n))[0]
    for bound in (mean_sensitivity, coordinates_sensitivity):
        assert 0.998 < found / bound(r, n, *space.facts()) <= 1.0


@pytest.mark.parametrize("space", MODELS)
@pytest.mark.parametrize("gap", [distance, coordinate_distance])
@pytest.mark.parametrize(("scaled_radius", "n"), [(0.6, 101), (1.2, 101), (1.2, 5)])
def test_search_of_neighbours(space: Model, gap: Callable, scaled_radius: float, n: int) -> None:
    r = scaled_radius / math.sqrt(space.k_max)
    found = climb(space, r, 4, lambda v: gap(space, *neighbouring_means(space, v, n)), rounds=50)
    attained = found / coordinates_sensitivity(r, n, *space.facts())
    assert attained <= 1.0
    assert n == 5 or attained > 0.9


@pytest.mark.parametrize("offset", [0.3, 1.0])
def test_search_of_neighbours_seen_from_another_footpoint(offset: float) -> None:
    r, n = 0.75, 101
    footpoint = SPHERE.exp(offset * SPHERE.basis[0], SPHERE.center)

    def gap(tangents: Array) -> Array:
        before, after = neighbouring_means(SPHERE, tangents, n)
        return np.linalg.norm(SPHERE.log(before, footpoint) - SPHERE.log(after, footpoint), axis=-1)

    found = climb(SPHERE, r, 4, gap, rounds=50)
    assert mean_sensitivity(r, n, *SPHERE.facts()) < found or offset < 1
    assert found <= coordinates_sensitivity(r, n, *SPHERE.facts(), offset)


@pytest.mark.parametrize("space", MODELS)
@pytest.mark.parametrize("scaled_radius", [math.pi / 8, 0.75, 1.2])
def test_search_of_gradients(space: Model, scaled_radius: float) -> None:
    r = scaled_radius / math.sqrt(space.k_max)

    def chord(tangents: Array) -> Array:
        y, a, b = np.moveaxis(space.exp(tangents, space.center), 1, 0)
        return np.linalg.norm(space.log(a, y) - space.log(b, y), axis=-1)

    attained = climb(space, r, 3, chord, rounds=300) / kng_sensitivity(r, 1, *space.facts())
    assert 0.99 < attained <= 1.0 + 1e-12


def disc_log(point: Array, base: Array) -> Array:
    """Log of the hyperbolic plane (curvature -1) in Poincaré's disc, as a complex number."""
    moved = (point - base) / (1 - np.conj(base) * point)
    size = np.abs(moved)
    return moved * np.where(size > 0, 2 * np.arctanh(size) / np.where(size > 0, size, 1.0), 2.0)


def disc_exp(tangent: Array, base: Array) -> Array:
    length = np.abs(tangent)
    moved = tangent * np.where(length > 0, np.tanh(length / 2) / np.where(length > 0, length, 1.0), 0.5)
    return (moved + base) / (1 + np.conj(base) * moved)


def test_search_of_neighbours_in_negative_curvature() -> None:
    r, n, rng = 1.5, 11, np.random.default_rng(7)
    tangents = r * np.exp(2j * np.pi * rng.random((1000, 4))) * rng.random((1000, 4)) ** 0.1
    tangents[0] = [r, r, r, -r]    # attains the bound: along one geodesic the space is flat
    points = disc_exp(tangents, 0j)
    means = []
    for last in (2, 3):
        mean = np.zeros(1000, complex)
        for _ in range(200):
            step = disc_log(points[:, [0, 1, last]], mean[:, None]) @ np.array([5, 5, 1]) / n
            mean = disc_exp(step / (2 * r / math.tanh(2 * r)), mean)
        assert np.abs(step).max() < 1e-12
        means.append(mean)
    bound = mean_sensitivity(r, n, -1.0, math.inf)
    moved, coordinates = np.abs(disc_log(*means)), np.abs(disc_log(means[0], 0j) - disc_log(means[1], 0j))
    assert moved.max() <= bound * (1 + 1e-12)
    assert coordinates.max() <= coordinates_sensitivity(r, n, -1.0, math.inf) * (1 + 1e-12)
    assert moved[0] == pytest.approx(bound, rel=1e-12)


def test_lipschitz_constant_of_the_coordinates() -> None:
    r, offset, step = 0.75, 0.5, 1e-5
    footpoint = SPHERE.exp(-offset * SPHERE.basis[0], SPHERE.center)
    far = SPHERE.exp(r * np.stack([SPHERE.basis[0], SPHERE.basis[0] + step * SPHERE.basis[1]]), SPHERE.center)
    moved = np.linalg.norm(np.diff(SPHERE.log(far, footpoint), axis=0)) / distance(SPHERE, far[0], far[1])
    assert moved == pytest.approx(coordinates_lipschitz(r, *SPHERE.facts(), offset), rel=1e-6)


# --- the solver's error ----------------------------------------------------------------------------


def test_solver_error_is_added_twice_and_rounded_up() -> None:
    assert solver_tolerance(0.5) == 0.0005
    assert with_solver_error(0.25, 0.125) == 0.5
    assert with_solver_error(0.25, 0.125, lipschitz=2.0) == 0.75
    for sensitivity, error in [(0.1, 1e-4), (1.0, 1e-20), (3.3e-5, 1.1e-7)]:
        assert_just_above(with_solver_error(sensitivity, error), mp.mpf(sensitivity) + 2 * mp.mpf(error))
    assert with_solver_error(0.1, solver_tolerance(0.1)) <= 0.1 * 1.002 * (1 + 1e-15)


# --- limits and bad input --------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [mean_sensitivity, coordinates_sensitivity, kng_sensitivity])
@pytest.mark.parametrize(("k_max", "injectivity_radius", "limit"), [
    (1.0, math.pi, math.pi / 2),        # the sphere
    (4.0, math.pi / 2, math.pi / 4),    # planar shapes
    (0.25, 2 * math.pi, math.pi),       # a larger sphere
    (1.0, 1.0, 0.5),                    # short closed geodesics
    (-1.0, 1.0, 0.5),
])
def test_radius_limit(bound: Callable, k_max: float, injectivity_radius: float, limit: float) -> None:
    assert math.isfinite(bound(limit * (1 - 1e-9), 5, k_max, injectivity_radius))
    for r in (limit, limit * 1.01, 100.0):
        with pytest.raises(InputError, match=f"radius=.* below {limit:.6g}"):
            bound(r, 5, k_max, injectivity_radius)


def test_other_limits() -> None:
    with pytest.raises(InputError, match=r"footpoint_distance=2.2 must be below 2.14159"):
        coordinates_sensitivity(1.0, 5, 1.0, math.pi, 2.2)
    with pytest.raises(InputError, match=r"radius=0.8 must be below 0.785398"):
        mean_sensitivity_as_printed(0.8, 5, 1.0)
    with pytest.raises(InputError, match="beyond the range of floats"):
        tangent_mean_sensitivity(1e308, 1)


@pytest.mark.parametrize("bound", [mean_sensitivity, coordinates_sensitivity, kng_sensitivity])
@pytest.mark.parametrize(("position", "name", "values"), [
    (0, "radius", (0.0, -1.0, math.nan, math.inf, "wide", None)),
    (1, "n", (0, -3, 2.5, math.nan, "many", None)),
    (2, "k_max", (math.nan, math.inf, "flat", 10**400)),
    (3, "injectivity_radius", (0.0, -1.0, math.nan, "long")),
])
def test_bad_input(bound: Callable, position: int, name: str, values: tuple) -> None:
    for value in values:
        arguments = [0.3, 10, 1.0, math.pi]
        arguments[position] = value
        with pytest.raises(InputError, match=f"^{name}="):
            bound(*arguments)


def test_bad_input_of_the_rest() -> None:
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(InputError, match=r"^footpoint_distance="):
            coordinates_sensitivity(0.3, 10, 1.0, math.pi, bad)
        with pytest.raises(InputError, match=r"^sensitivity="):
            solver_tolerance(bad)
        with pytest.raises(InputError, match=r"^solver_error="):
            with_solver_error(1.0, bad)
        with pytest.raises(InputError, match=r"^lipschitz="):
            with_solver_error(1.0, 0.1, bad)
    with pytest.raises(InputError, match=r"^radius="):
        tangent_mean_sensitivity(-1.0, 3)
