"""The envelope lies above the density, exactly; growth bounds hold; both arithmetics agree."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from riemdp.arithmetic import working_precision
from riemdp.distributions import RiemannianGaussian, RiemannianLaplace
from riemdp.distributions.envelope import BALLS, to_balls
from riemdp.manifolds import Euclidean, Hyperbolic, KendallShapes, Product, SPDAffine, Sphere
from riemdp.manifolds.growth import Growth, affine_growth, comparison_growth, product_growth

CASES = [
    RiemannianLaplace(Euclidean(1), np.zeros(1), 2.0),
    RiemannianGaussian(Euclidean(2), np.zeros(2), 1.0),
    RiemannianLaplace(Euclidean(1000), np.zeros(1000), 0.01),
    RiemannianLaplace(Sphere(1), Sphere(1).origin, 1e12),
    RiemannianLaplace(Sphere(9), Sphere(9).origin, 1.0),
    RiemannianLaplace(Sphere(2, curvature=7.0), Sphere(2, curvature=7.0).origin, 1e-5),
    RiemannianLaplace(Hyperbolic(4), Hyperbolic(4).origin, 0.3333),
    RiemannianGaussian(Hyperbolic(3), Hyperbolic(3).origin, 5.0),
    RiemannianLaplace(KendallShapes(50), KendallShapes(50).origin, 0.02),
    RiemannianLaplace(KendallShapes(50), KendallShapes(50).origin, 1e-4),
    RiemannianLaplace(SPDAffine(2), np.eye(2), 1.3),
    RiemannianLaplace(SPDAffine(5), np.eye(5), 0.1),
    RiemannianGaussian(SPDAffine(4), np.eye(4), 2.0),
    RiemannianLaplace(Product(Sphere(2), Sphere(3)), Product(Sphere(2), Sphere(3)).origin, 1.0),
]
ids = [f"{type(law).__name__}-{law.space!r}-{law.scale:g}" for law in CASES]


def inside(envelope, share):
    """A point of each segment; infinite ones are entered up to ten knots deep."""
    stop = np.where(np.isinf(envelope.stop), 10 * envelope.start + 1, envelope.stop)
    return np.nextafter(envelope.start + share * (stop - envelope.start), np.inf)


@pytest.mark.parametrize("law", CASES, ids=ids)
@given(share=st.floats(0, 1))
def test_the_envelope_is_above_the_density(law, share):
    """In balls: concave part plus growth never exceeds the line, up to the balls' own width, past which it is equal."""
    envelope = law.envelope
    t = np.minimum(inside(envelope, share), law.space.longest_vector / (1 + 2.0**-30))
    index = np.flatnonzero((t >= envelope.start) & (t <= envelope.stop))
    with working_precision(400):
        lines, at = envelope.lines(BALLS, to_balls), to_balls(t[index])
        constant, linear, square = to_balls(envelope.growth[:, index])
        density = law._concave(at, BALLS)[0] + constant + linear * at + square * at * at
        gap = lines.log_height(index, at) - density
    assert len(index) > 0
    assert all(not (g < 0) and g.rad() < 1e-60 for g in gap)


@pytest.mark.parametrize("law", CASES, ids=ids)
def test_segments_cover_the_interval(law):
    envelope = law.envelope
    assert envelope.start[0] == 0
    np.testing.assert_array_equal(envelope.start[1:], envelope.stop[:-1])
    assert envelope.stop[-1] == law.space.longest_vector
    assert (envelope.start < envelope.stop).all()
    assert (envelope.growth[2][np.isinf(envelope.stop)] == 0).all()
    if math.isfinite(law.space.longest_vector):
        with working_precision(200):
            radii = [arb(f.injectivity_radius) for f in law.space.factors or [law.space]]
            assert arb(law.space.longest_vector) > sum(r * r for r in radii).sqrt() * (1 + arb(2) ** -50)


@pytest.mark.parametrize("law", CASES, ids=ids)
def test_both_arithmetics_agree(law):
    floats = law.envelope.float_lines
    with working_precision(256):
        balls = law.envelope.lines(BALLS, to_balls)
    for name in ("end", "rate", "height", "mass"):
        size = np.abs(getattr(floats, name)).max()
        np.testing.assert_allclose(getattr(balls, name).astype(float), getattr(floats, name), rtol=1e-6, atol=1e-9 * size)
    assert (floats.rate > 0).all()
    assert all(rate > 0 for rate in balls.rate)


@pytest.mark.parametrize("law", CASES, ids=ids)
def test_masses_and_inversion(law):
    """Against the integral of the exponential of the line, up to the common factor; u = 0 and 1 are the ends."""
    lines, envelope = law.envelope.float_lines, law.envelope
    top = lines.height.max()
    for i in range(0, len(lines.mass), 5):
        stop = envelope.stop[i] if math.isfinite(envelope.stop[i]) else envelope.start[i] + 60 / lines.rate[i]
        split = lines.invert(i, 0.3, np)
        whole, part = (
            quad(lambda t, i=i: math.exp(lines.log_height(i, t) - top), *sorted(ends), epsabs=0)[0]
            for ends in [(envelope.start[i], stop), (lines.end[i], split)]
        )
        assert lines.mass[i] == pytest.approx(whole, rel=1e-6, abs=1e-280)
        assert part == pytest.approx(0.3 * whole, rel=1e-6, abs=1e-280)


def test_choosing_a_segment_waits_for_enough_digits():
    with working_precision(128):
        lines = CASES[4].envelope.lines(BALLS, to_balls)
        edge = lines.edges[7]
        assert lines.choose(edge.mid() + arb("1e-30")) == 8
        assert lines.choose(edge.mid() - arb("1e-30")) == 7
        assert lines.choose(edge) is None
        assert lines.choose(arb(0.5, 0.5)) is None
        assert lines.choose(arb(0)) == 0
        assert lines.choose(arb(1)) == len(lines.mass) - 1


def test_negative_numbers_have_log_minus_infinity():
    assert BALLS.log(arb(-1)) == arb.neg_inf()
    assert BALLS.log(arb(0, 1)).is_nan()


# --- growth -----------------------------------------------------------------------------------------------


def log_sinhc(x):
    return (x.sinh() / x).log() if x != 0 else arb(0)


def affine_log_density(values):
    return sum((log_sinhc(abs(arb(a) - arb(b)) / 2) for a, b in combinations(values, 2)), start=arb(0))


def bound(growth, t):
    return arb(growth.constant) + arb(growth.linear) * t + arb(growth.square) * t * t


def worst_eigenvalues(k, t):
    """The direction in which log J is largest, by fixed-point iteration (log J is convex)."""
    r = np.linspace(-1, 1, k) * t
    for _ in range(300):
        x = (r[:, None] - r) / 2 + np.eye(k)
        pull = (np.where(np.eye(k) > 0, 0, 1 / np.tanh(x) - 1 / x)).sum(axis=1)
        r = t * pull / np.linalg.norm(pull)
    return r


@pytest.mark.parametrize("k", [2, 3, 5, 9, 20])
@pytest.mark.parametrize("t", [1e-5, 0.3, 2.0, 9.0, 40.0])
def test_affine_growth(k, t):
    """Above log J in random and in the worst directions, at many lengths; near the worst case at its own."""
    rng, growth = np.random.default_rng(k), affine_growth(k, t)
    worst = worst_eigenvalues(k, t)
    with working_precision(300):
        for values in [worst, worst * 0.5, worst * 3, worst * 30, *(rng.standard_normal((5, k)) * t)]:
            length = sum(arb(v) * arb(v) for v in values.tolist()).sqrt()
            assert affine_log_density(values.tolist()) < bound(growth, length)
        slack = float(bound(growth, arb(t)) / affine_log_density(worst.tolist()))
    assert slack < 1.06


def test_affine_growth_of_a_line():
    assert affine_growth(1, 2.0) == Growth(0.0, 0.0, 0.0)
    assert affine_growth(3, math.inf).linear == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("curvature", [-3.7, -1.0, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("t", [1e-4, 0.5, 3.0, 30.0, math.inf])
def test_comparison_growth(curvature, t):
    growth = comparison_growth(4, curvature, t)
    with working_precision(300):
        root = abs(arb(curvature)).sqrt()
        for length in (1e-6, 0.1, 1.0, 2.9, 25.0):
            x = root * length
            if curvature <= 0:
                assert 4 * log_sinhc(x) <= bound(growth, arb(length))
            elif x < arb.pi():
                assert 4 * (x.sin() / x).log() < bound(growth, arb(length))
    if curvature < 0 and t < 10:
        exact = 4 * math.log(math.sinh(math.sqrt(-curvature) * t) / (math.sqrt(-curvature) * t))
        assert float(bound(growth, arb(t))) == pytest.approx(exact, rel=1e-2)


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9), st.floats(-9, 9), st.floats(0, 9)), min_size=1, max_size=4))
def test_product_growth(factors):
    """At lengths t_i of the parts, the parts' bounds add up to at most the product's."""
    growth = product_growth(Growth(*factor[:3]) for factor in factors)
    with working_precision(200):
        parts = sum((bound(Growth(*factor[:3]), arb(factor[3])) for factor in factors), start=arb(0))
        length = sum((arb(f[3]) * arb(f[3]) for f in factors), start=arb(0)).sqrt()
        assert parts <= bound(growth, length) + arb("1e-50")
