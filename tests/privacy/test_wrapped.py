"""Laws of the wrapped mechanisms: of real releases, of simulations, and of the error they predict.

Every statistical test rejects at p < 1e-8; there are fewer than 100 of them here, so that together they raise
a false alarm less than once in 10^6 runs. Each law has controls, 3 % too much and too little noise, which the
same test must reject.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats

import riemdp as rd
from manifolds.examples import SPACES
from reproducible import reproducible_bits
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE
from riemdp.mechanisms.wrapped import _expected_error as expected_error

LEVEL = 1e-8
all_spaces = pytest.mark.parametrize("space", SPACES, ids=repr)
WRAPPED = {m.name: m for m in (WRAPPED_LAPLACE, WRAPPED_GAUSSIAN)}
mechanisms = pytest.mark.parametrize("mechanism", WRAPPED.values(), ids=list(WRAPPED))


# --- the hypothesis tests --------------------------------------------------------------------------------


def p_value(probabilities):
    """Of 'independent and uniform on [0, 1]': the smallest of three exact tests, times three (Bonferroni).

    Kolmogorov-Smirnov sees any shape; the mean and the sum of squares of the normal scores see shifts and
    scales, the latter with far greater power.
    """
    scores = special.ndtri(np.clip(probabilities, 1e-300, 1 - 2.0**-53))
    mean = 2 * special.ndtr(-abs(scores.sum()) / math.sqrt(len(scores)))
    squares = special.chdtr(len(scores), scores @ scores)
    shape = stats.kstest(probabilities, "uniform").pvalue
    return 3 * min(mean, 2 * min(squares, 1 - squares), shape)


def assert_law(sample, cdf):
    """The sample follows the law, and neither 3 % more nor 3 % less does."""
    assert p_value(cdf(sample)) > LEVEL
    assert p_value(cdf(1.03 * sample)) < LEVEL
    assert p_value(cdf(sample / 1.03)) < LEVEL


def lengths_cdf(mechanism, dim):
    """chi_d for the Gaussian, Gamma(d) for the Laplace mechanism."""
    if mechanism == "wrapped-gaussian":
        return lambda r: special.chdtr(dim, r**2)
    return lambda r: special.gammainc(dim, r)


def assert_uniform_directions(noise):
    """The share of the first half of the axes in the squared length is Beta; axes 3 % off must show."""
    dim = noise.shape[1]
    half = dim // 2
    stretch = np.where(np.arange(dim) < half, 1.03, 1 / 1.03)

    def p(vectors):
        share = (vectors[:, :half] ** 2).sum(1) / (vectors**2).sum(1)
        return p_value(special.betainc(half / 2, (dim - half) / 2, share))

    assert p(noise) > LEVEL
    assert p(noise * stretch) < LEVEL
    assert p(noise / stretch) < LEVEL


# --- real releases ------------------------------------------------------------------------------------------

RELEASED = {  # enough coordinates that the controls fail by more than ten standard deviations
    "sphere": (rd.Sphere(200), "wrapped-laplace", 0.002, 850),
    "shapes": (rd.KendallShapes(52), "wrapped-gaussian", 0.01, 850),
    "flat": (rd.SPDLogEuclidean(13), "wrapped-gaussian", 0.5, 950),
    "affine": (rd.SPDAffine(13), "wrapped-gaussian", 0.05, 950),
}


@cache
def released(name):
    """(mechanism, noise in units of the scale): the log at the footpoint of real releases, minus the exact one.

    One record, so that the exact mean is known: the record. Neither it nor the footpoint is the centre.
    """
    space, mechanism, radius, count = RELEASED[name]
    center = space.random_point(1, 0)[0]
    ball = rd.Ball(space, center, radius)
    record, footpoint = rim(space, center, [0.5 * radius, -0.5 * radius])
    guarantee = rd.PureDP(2.0) if mechanism == "wrapped-laplace" else rd.GDP(2.0)
    ask = {"mechanism": mechanism, "footpoint": footpoint}
    with reproducible_bits(name):
        releases = [rd.private_mean(record[None], ball, guarantee, **ask) for _ in range(count)]
    values = np.array([release.value for release in releases])
    coords = space.log_coords(space.read(values, "values"), space.read(footpoint, "footpoint"))
    exact = space.log_coords(space.read(record, "record"), space.read(footpoint, "footpoint"))
    return mechanism, (coords - exact) / releases[0].scale


def rim(space, center, positions):
    """Points on a geodesic through the centre."""
    coords = np.zeros((len(positions), space.dim))
    coords[:, 1] = positions
    return space.exp(space.from_coordinates(coords, center), center)


@pytest.mark.parametrize("name", RELEASED)
def test_releases_follow_the_law(name):
    mechanism, noise = released(name)
    assert_law(np.linalg.norm(noise, axis=1), lengths_cdf(mechanism, noise.shape[1]))
    assert_uniform_directions(noise)
    if mechanism == "wrapped-gaussian":
        assert_law(noise.ravel(), special.ndtr)


# --- simulations ----------------------------------------------------------------------------------------------


SIMULATED = [
    rd.Euclidean(1),
    rd.Sphere(1),
    rd.Sphere(3, curvature=9.0),
    rd.Hyperbolic(2, curvature=-4.0),
    rd.SPDAffine(2),
    rd.SPDLogEuclidean(2),
    rd.KendallShapes(4),
    rd.Product(rd.Sphere(2), rd.Hyperbolic(1), rd.Euclidean(1)),
]


def simulated_noise(space, mechanism, size=100_000):
    """Noise of a simulation, in units of the scale, read off its points; noise short of the cut locus."""
    center = space.random_point(1, 1)[0]
    n = 4000 if np.isfinite(space.injectivity_radius) else 10
    ball = rd.Ball(space, center, 0.3 * min(space.uniqueness_radius, 1.0))
    X = rim(space, center, [0.0] * n) if space.dim > 1 else np.repeat(center[None], n, axis=0)
    guarantee = rd.PureDP(1.0) if mechanism == "wrapped-laplace" else rd.ApproxDP(1.0, 1e-6)
    plan = next(p for p in rd.plan(ball, n, guarantee) if p.mechanism == mechanism)
    assert plan.scale * WRAPPED[mechanism].longest(space.dim) < space.injectivity_radius
    draws = rd.simulate(X, ball, guarantee, mechanism=mechanism, size=size, seed=17)
    return space.log_coords(space.read(np.asarray(draws), "draws"), ball.inner_center) / plan.scale


@pytest.mark.parametrize("space", SIMULATED, ids=repr)
@mechanisms
def test_simulations_follow_the_law(space, mechanism):
    noise = simulated_noise(space, mechanism.name)
    assert_law(np.linalg.norm(noise, axis=1), lengths_cdf(mechanism.name, space.dim))
    if space.dim > 1:
        assert_uniform_directions(noise)
    else:
        assert stats.binomtest(int((noise > 0).sum()), noise.size).pvalue > LEVEL
    if mechanism.name == "wrapped-gaussian":
        assert_law(noise[:, 0], special.ndtr)


# --- the flat case: the tangent Gaussian mechanism --------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5, 10, 20, 30])
def test_flat_error_is_sigma_squared_d(k):
    """E rho² = sigma² d, n = 500, radius sqrt(k)/4, delta = 1e-6; the classical sigma lies above the analytic one."""
    space, n, delta = rd.SPDLogEuclidean(k), 500, 1e-6
    ball = rd.Ball(space, np.eye(k), math.sqrt(k) / 4)
    X, draws = np.broadcast_to(np.eye(k), (n, k, k)), 4000 // k
    for epsilon in (0.1, 0.2, 0.3, 0.4):
        ask = {"mechanism": "wrapped-gaussian", "size": draws, "seed": 5}
        errors = {}
        for calibration in ("analytic", "classical"):
            plan = rd.plan(ball, n, rd.ApproxDP(epsilon, delta), calibration=calibration)
            plan = next(p for p in plan if p.mechanism == "wrapped-gaussian")
            sample = rd.simulate(X, ball, rd.ApproxDP(epsilon, delta), calibration=calibration, **ask)
            squares = space.dist(np.asarray(sample), np.eye(k)) ** 2 / plan.scale**2
            chance = special.chdtr(space.dim * draws, squares.sum())
            assert LEVEL < chance < 1 - LEVEL
            assert plan.expected_error == pytest.approx(plan.scale * math.sqrt(space.dim), rel=1e-12)
            errors[calibration] = plan.expected_error
        classical = 2 * ball.radius / n * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        assert errors["classical"] == pytest.approx(classical * math.sqrt(space.dim), rel=1e-9)
        assert 1.1 < errors["classical"] / errors["analytic"] < 1.6


# --- the predicted error --------------------------------------------------------------------------------------


@all_spaces
@mechanisms
@pytest.mark.parametrize("scale", [0.01, 0.6])
def test_expected_error_is_that_of_a_simulation(space, mechanism, scale):
    """Independent draws; at scale 0.6 the noise wraps around spheres and shapes. Six standard errors."""
    origin = space.read(space.origin, "origin")
    noise = scale * mechanism.noise(np.random.default_rng(99), 4096, space.dim)
    squares = space.distance(origin, space.exp_coords(noise, origin)) ** 2
    standard_error = squares.std() / math.sqrt(len(squares))
    wraps = scale * mechanism.longest(space.dim) > space.injectivity_radius
    allowed = 6 * standard_error * (math.sqrt(2) if wraps else 1)
    assert expected_error(mechanism, scale, space) ** 2 == pytest.approx(squares.mean(), abs=allowed)


@mechanisms
def test_expected_error_on_a_sphere_where_noise_wraps_is_that_of_the_uniform_law(mechanism):
    """Huge noise is uniform on the circle: E rho² = pi²/3."""
    assert expected_error(mechanism, 1e4, rd.Sphere(1)) ** 2 == pytest.approx(np.pi**2 / 3, rel=0.1)


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 15, 45, 465, 10_000])
def test_noise_is_almost_never_longer_than_its_stated_longest(dim):
    assert special.chdtrc(dim, WRAPPED_GAUSSIAN.longest(dim) ** 2) < 1e-12
    assert special.gammaincc(dim, WRAPPED_LAPLACE.longest(dim)) < 1e-12


@mechanisms
@pytest.mark.parametrize("dim", [1, 3, 45])
def test_mean_square_is_that_of_the_law(mechanism, dim):
    """d for the Gaussian, d(d + 1) for the Laplace mechanism, by quadrature of the radial law."""
    law = stats.chi(dim) if mechanism is WRAPPED_GAUSSIAN else stats.gamma(dim)
    assert mechanism.mean_square(dim) == pytest.approx(law.expect(lambda r: r**2), rel=1e-6)


@mechanisms
def test_the_scale_grows_as_privacy_does(mechanism):
    kinds = [lambda x: rd.ApproxDP(x, 1e-6), lambda x: rd.GDP(x), lambda x: rd.ZCDP(x), lambda x: rd.RDP(3.0, x)]
    for kind in kinds:
        scales = [mechanism.calibrate(kind(x), 1.0, "analytic") for x in (0.1, 0.5, 0.9)]
        assert all(a > b > 0 for a, b in pairwise(scales))


@pytest.mark.parametrize(
    ("mechanism", "guarantee", "method", "error"),
    [
        (WRAPPED_GAUSSIAN, rd.PureDP(1.0), "analytic", rd.MechanismError),
        (WRAPPED_GAUSSIAN, rd.GDP(1.0), "classical", rd.MechanismError),
        (WRAPPED_GAUSSIAN, rd.ApproxDP(1.0, 1e-6), "classical", rd.InputError),
        (WRAPPED_GAUSSIAN, rd.ApproxDP(0.5, 1e-6), "other", rd.InputError),
        (WRAPPED_LAPLACE, rd.PureDP(1.0), "classical", rd.MechanismError),
    ],
)
def test_what_a_mechanism_cannot_give(mechanism, guarantee, method, error):
    with pytest.raises(error):
        mechanism.calibrate(guarantee, 1.0, method)


# --- carrying noise over ------------------------------------------------------------------------------------


@all_spaces
@pytest.mark.parametrize("length", [1e3, 1e100])
def test_noise_of_any_length_leads_to_a_point(space, length, recwarn):
    """Post-processing: what float64 cannot hold is shortened, never lost."""
    ball = rd.Ball(space, space.random_point(1, 2)[0], 0.3 * min(space.uniqueness_radius, 1.0))
    noise = length * np.random.default_rng(0).standard_normal((3, space.dim))
    foot = ball.footpoint_coords(space.random_point(1, 3)[0])
    for footpoint in (np.zeros(space.dim), foot):
        assert space.holds(carry(Visible(noise), footpoint, ball)).all()
    assert not recwarn.list
