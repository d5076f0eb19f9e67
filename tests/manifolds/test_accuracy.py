"""The accuracy of exp and log that docs/accuracy.md states, from tiny to huge vectors and for bad conditioning.

u is the unit roundoff, t the length of the vector. `bound` repeats the table of the page.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.linalg import norm
from scipy.stats import ortho_group

import riemdp as rd
from manifolds.exact import distance, exact, lift

U = 2.0**-53
LENGTHS = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0, 20.0, 30.0]
TRIALS = 12


def vectors(space, t, rng):
    """Coordinates of vectors of length t: along an axis, of mixed signs, random."""
    c = rng.standard_normal((TRIALS, space.dim))
    c[0] = np.eye(space.dim)[0]
    c[1] = np.eye(space.dim)[0] - np.eye(space.dim)[min(1, space.dim - 1)] * (space.dim > 1)
    return t * c / norm(c, axis=1, keepdims=True)


def round_trip(space, c, base):
    """Error of log(exp(c)) - c in coordinates; finite, and every step a valid point or vector."""
    end = space.exp(space.from_coordinates(c, base), base)
    assert space.contains(end).all()
    back = space.coordinates(space.log(end, base), base)
    assert np.isfinite(back).all()
    assert np.isfinite(space.dist(base, end)).all()
    return norm(back - c, axis=-1)


def ill_conditioned(k, condition, rng):
    """SPD matrices with this condition number, in all sorts of bases and units."""
    turns = ortho_group.rvs(k, size=TRIALS, random_state=rng) if k > 1 else np.ones((TRIALS, 1, 1))
    values = condition ** -np.linspace(0, 1, k) * 10.0 ** rng.uniform(-3, 3, (TRIALS, 1))
    p = (turns * values[:, None, :]) @ np.swapaxes(turns, 1, 2)
    return (p + np.swapaxes(p, 1, 2)) / 2


# --- the stated bounds -----------------------------------------------------------------------------------------------


def spread(a):
    """Largest minus smallest eigenvalue."""
    return np.ptp(np.linalg.eigvalsh(a), axis=-1)


def affine_bound(space, c, base):
    """10 k² u (κ(p) e^s + t), s the spread of the eigenvalues of the whitened vector (at most √2 t)."""
    whitened = rd.SPDLogEuclidean(space.k).invvecd(c)
    return 10 * space.k**2 * U * (np.linalg.cond(base) * np.exp(spread(whitened)) + norm(c, axis=-1))


def log_euclidean_bound(space, c, base):
    """10 k² u (κ(p) + κ(q) + ‖log p‖ + t), q = exp_p(v)."""
    logs = space.coordinates(space.log(base, space.origin), space.origin)
    conditions = np.linalg.cond(base) + np.exp(spread(space.invvecd(logs + c)))
    return 10 * space.k**2 * U * (conditions + norm(logs, axis=-1) + norm(c, axis=-1))


BOUNDS = {rd.SPDAffine: affine_bound, rd.SPDLogEuclidean: log_euclidean_bound}


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("make", list(BOUNDS))
def test_matrices(make, condition, k):
    """Where the bound exceeds 1 (float64 cannot hold the matrix) only sane, finite results are promised."""
    space, rng = make(k), np.random.default_rng(k)
    for t in LENGTHS:
        base, c = ill_conditioned(k, condition, rng), vectors(space, t, rng)
        error, bound = round_trip(space, c, base), BOUNDS[make](space, c, base)
        assert ((error <= bound) | (bound > 1)).all(), t
        assert (error <= 2 * t + 80 * np.sqrt(k)).all(), t


@pytest.mark.parametrize("space", [rd.Sphere(1), rd.Sphere(2), rd.Sphere(9), rd.Sphere(3, curvature=0.01)], ids=repr)
def test_spheres(space):
    """20 u R / sinc(t/R), up to 1e-5 of the cut locus."""
    rng = np.random.default_rng(0)
    base = space.project(rng.standard_normal((TRIALS, space.d + 1)))
    lengths = [t for t in LENGTHS if t < np.pi * space.radius]
    for t in [*lengths, *(space.radius * np.array([2.0, 3.0, 3.1, 3.14, 3.1415, 3.14158]))]:
        error = round_trip(space, vectors(space, t, rng), base)
        assert (error <= 20 * U * space.radius / np.sinc(t / space.radius / np.pi)).all(), t


@pytest.mark.parametrize("space", [rd.KendallShapes(3), rd.KendallShapes(6), rd.KendallShapes(50)], ids=repr)
def test_shapes(space):
    """(10 + k) u / sinc(2t), up to 1e-5 of the cut locus at π/2."""
    rng = np.random.default_rng(0)
    base = space.project(rng.standard_normal((TRIALS, space.k, 2)))
    for t in [t for t in LENGTHS if t < np.pi / 2] + [1.5, 1.57, 1.5707, 1.57078]:
        error = round_trip(space, vectors(space, t, rng), base)
        assert (error <= (10 + space.k) * U / np.sinc(2 * t / np.pi)).all(), t


@pytest.mark.parametrize(
    "space", [rd.Hyperbolic(1), rd.Hyperbolic(2), rd.Hyperbolic(5), rd.Hyperbolic(3, curvature=-4.0)], ids=repr
)
@pytest.mark.parametrize("away", [0.0, 1.0, 5.0, 10.0, 20.0, 30.0])
def test_hyperbolic_space(space, away):
    """20 u R cosh(b/R)(1 + t/R), b the distance of the base point to the origin; inwards, outwards and across."""
    rng = np.random.default_rng(0)
    outwards = vectors(space, away, rng)
    base = space.exp(space.from_coordinates(outwards, space.origin), space.origin)
    for t in LENGTHS:
        direction = vectors(space, t, rng)
        if away:
            direction[2:4] = t / away * outwards[2:4] * [[1], [-1]]
        error = round_trip(space, direction, base)
        assert (error <= 20 * U * space.radius * np.cosh(away / space.radius) * (1 + t / space.radius)).all(), t


def test_flat_space():
    """2 u (|p| + t)."""
    space, rng = rd.Euclidean(4), np.random.default_rng(0)
    for size in (1e-12, 1.0, 1e12):
        base = size * rng.standard_normal((TRIALS, 4))
        for t in LENGTHS:
            error = round_trip(space, vectors(space, t, rng), base)
            assert (error <= 2 * U * (norm(base, axis=1) + t)).all()


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Sphere(3, curvature=4.0), rd.KendallShapes(4)], ids=repr)
@pytest.mark.parametrize("t", [4.0, 10.0, 30.0])
def test_vectors_past_the_cut_locus_wrap_around(space, t):
    """exp goes on along the geodesic; log then finds a shorter way to the same point."""
    base = space.random_point(TRIALS, 0)
    end = space.exp(space.from_coordinates(vectors(space, t, np.random.default_rng(0)), base), base)
    assert space.contains(end).all()
    shorter = space.log(end, base)
    assert (space.norm(shorter, base) <= space.injectivity_radius + 1e-9).all()
    assert space.dist(space.exp(shorter, base), end).max() <= 1e-13


def test_antipodes_have_a_logarithm():
    """Any direction leads there; the length is right."""
    for space in (rd.Sphere(1), rd.Sphere(3), rd.Sphere(2, curvature=4.0)):
        x = space.random_point(5, 0)
        logs = space.log(-x, x)
        np.testing.assert_allclose(space.norm(logs, x), space.injectivity_radius)
        np.testing.assert_allclose(space.exp(logs, x), -x, atol=1e-14)


# --- not only the round trip: against 60 digits ----------------------------------------------------------------------


@pytest.mark.parametrize("t", [1e-9, 1e-3, 3.0, 10.0])
def test_log_is_right_and_not_just_the_inverse_of_exp(t):
    """The exact exponential of the computed log of a stored point ends at that point, as closely as stated."""
    rng = np.random.default_rng(1)
    cases = [
        (rd.Hyperbolic(2), rd.Hyperbolic(2).exp([0.0, 8.0, -8.0], rd.Hyperbolic(2).origin), 20 * U * np.cosh(12) * 40),
        (rd.SPDAffine(2), ill_conditioned(2, 1e6, rng)[0], None),
        (rd.Sphere(2), rd.Sphere(2).random_point(1, 0)[0], 20 * U),
    ]
    for space, base, bound in cases:
        length = min(t, 2.0) if isinstance(space, rd.Sphere) else t
        c = vectors(space, length, rng)[2]
        end = space.exp(space.from_coordinates(c, base), base)
        reference, log = exact(space), space.log(end, base)
        start, goal = reference.read(base), reference.read(end)
        error = reference.norm(lift(log) - reference.log(goal, start), start)
        assert error <= (affine_bound(space, c, base) if bound is None else bound)


@pytest.mark.parametrize("away", [0.0, 5.0, 15.0, 25.0])
@pytest.mark.parametrize("t", [1e-6, 1.0, 10.0])
def test_hyperbolic_distances_far_out_are_right(away, t):
    """Two points far from the origin and near each other: a naive boost would lose cosh(b/R) once more."""
    space, rng = rd.Hyperbolic(3), np.random.default_rng(2)
    base = space.exp(space.from_coordinates(vectors(space, away, rng), space.origin), space.origin)
    end = space.exp(space.from_coordinates(vectors(space, t, rng), base), base)
    reference = exact(space)
    for p, q, found in zip(base, end, space.dist(base, end), strict=True):
        truth = distance(space, reference.read(p), reference.read(q))
        assert abs(found - truth) <= 20 * U * np.cosh(away) * (1 + t)


# --- and the page ----------------------------------------------------------------------------------------------------


def test_the_page_states_these_bounds():
    page = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    stated = ["10 k² u (κ(p) e^s + t)", "10 k² u (κ(p) + κ(q) + ‖log p‖ + t)", "20 u R / sinc(t/R)", "(10 + k) u / sinc(2t)"]
    for formula in [*stated, "20 u R cosh(b/R) (1 + t/R)", "2 u (|p| + t)"]:
        assert formula in page.replace("\\|", "|")
