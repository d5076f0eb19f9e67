"""Riemannian Laplace and K-norm gradient as mechanisms: releases, simulations, predictions, refusals.

Their laws are tested against independent references in tests/distributions; here, that releases and simulations
are draws of those laws around the right place and at the right scale. Every statistical test rejects at p < 1e-8.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import riemdp as rd
from riemdp.statistics.sensitivity import kng_sensitivity

LEVEL = 1e-8
INTRINSIC = ["riemannian-laplace", "kng"]
SPACES = [
    rd.Euclidean(2),
    rd.SPDLogEuclidean(2),
    rd.SPDAffine(2),
    rd.Sphere(2),
    rd.Sphere(1, curvature=4.0),
    rd.Hyperbolic(3, curvature=-0.5),
    rd.KendallShapes(4),
    rd.Product(rd.Sphere(2), rd.Hyperbolic(2)),
]
both = pytest.mark.parametrize("mechanism", INTRINSIC)
all_spaces = pytest.mark.parametrize("space", SPACES, ids=repr)


def some_ball(space, share=0.4):
    return rd.Ball(space, space.random_point(1, 1)[0], share * min(1.0, space.uniqueness_radius))


def some_records(ball, n, seed=0):
    """Records in the ball, off its centre."""
    coords = np.random.default_rng(seed).standard_normal((n, ball.space.dim))
    coords *= 0.3 * ball.radius / np.linalg.norm(coords, axis=1, keepdims=True)
    coords[:, 0] += 0.4 * ball.radius
    return ball.space.exp(ball.space.from_coordinates(coords, ball.center), ball.center)


def distances(points, ball):
    return ball.space.dist(np.asarray(points), ball.center)


@both
@all_spaces
def test_releases_and_simulations_have_one_law(space, mechanism):
    """Distances to the centre, two samples; the noise of a smaller epsilon must show."""
    ball = some_ball(space)
    X, guarantee = some_records(ball, 30), rd.PureDP(4.0)
    releases = [rd.private_mean(X, ball, guarantee, mechanism=mechanism) for _ in range(250)]
    values = np.array([release.value for release in releases])
    assert space.contains(values).all()
    drawn = distances(values, ball)
    simulated = rd.simulate(X, ball, guarantee, mechanism=mechanism, size=20_000, seed=5)
    assert stats.ks_2samp(drawn, distances(simulated, ball)).pvalue > LEVEL
    wrong = rd.simulate(X, ball, rd.PureDP(1.2), mechanism=mechanism, size=20_000, seed=5)
    assert stats.ks_2samp(drawn, distances(wrong, ball)).pvalue < LEVEL


def density_cdf(density, end):
    """Distribution function on [0, end], by quadrature on a fine grid."""
    grid = np.linspace(0, end, 20_001)
    mass = integrate.cumulative_simpson(density(grid), x=grid, initial=0)
    return lambda t: np.interp(t, grid, mass / mass[-1])


RADIAL = [
    (rd.Sphere(2), lambda t: np.sin(t), math.pi),
    (rd.Hyperbolic(3), lambda t: np.sinh(t) ** 2, 8.0),
    (rd.KendallShapes(4), lambda t: np.sin(t) ** 3 * np.cos(t), math.pi / 2),
]


@pytest.mark.parametrize(("space", "area", "end"), RADIAL)
def test_simulated_distances_to_the_mean_follow_the_radial_law(space, area, end):
    """All records at one place, which is the mean; scale Delta/epsilon, and not 7 % more or less."""
    ball = some_ball(space)
    X = np.repeat(some_records(ball, 1), 40, axis=0)
    guarantee = rd.PureDP(2.0)
    scale = rd.private_mean(X, ball, guarantee, mechanism="riemannian-laplace").scale
    assert scale == pytest.approx({0: 2 * ball.radius, 1: 2 * math.tan(ball.radius), 4: math.tan(2 * ball.radius)}[
        max(0, space.curvature_bounds[1])] / 40 / 2.0, rel=3e-3)  # fmt: skip
    draws = rd.simulate(X, ball, guarantee, mechanism="riemannian-laplace", size=40_000, seed=1)
    t = space.dist(np.asarray(draws), X[0])
    for factor, fits in ((1.0, True), (1.07, False), (1 / 1.07, False)):
        cdf = density_cdf(lambda u, s=factor * scale: area(u) * np.exp(-u / s), end)
        assert (stats.kstest(cdf(t), "uniform").pvalue > LEVEL) == fits


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.KendallShapes(4), rd.Euclidean(3), rd.Hyperbolic(2)], ids=repr)
def test_kng_of_records_at_the_centre_is_a_laplace_law_cut_to_the_ball(space):
    """There ‖grad F‖ = rho: a closed form, with scale 2 Delta/epsilon."""
    ball = some_ball(space)
    X, n = np.repeat(ball.center[None], 30, axis=0), 30
    release = rd.private_mean(X, ball, rd.PureDP(2.0), mechanism="kng")
    k_max = space.curvature_bounds[1]
    delta = kng_sensitivity(ball.radius, n, k_max, space.injectivity_radius)
    assert release.scale == pytest.approx(2 * delta / 2.0, rel=1e-12)
    t = distances(rd.simulate(X, ball, rd.PureDP(2.0), mechanism="kng", size=40_000, seed=3), ball)
    end = ball.radius if k_max > 0 else 60 * release.scale
    assert t.max() <= end
    unit = np.eye(space.dim)[0]
    for factor, fits in ((1.0, True), (1.1, False), (1 / 1.1, False)):

        def density(u, s=factor * release.scale):
            return u ** (space.dim - 1) * np.exp(space.log_density(u[:, None] * unit) - u / s)

        assert (stats.kstest(density_cdf(density, end)(t), "uniform").pvalue > LEVEL) == fits


@both
@all_spaces
def test_the_predicted_error_is_that_of_records_at_the_centre(space, mechanism):
    ball = some_ball(space)
    X = np.repeat(ball.center[None], 30, axis=0)
    predicted = rd.private_mean(X, ball, rd.PureDP(3.0), mechanism=mechanism).expected_error
    draws = rd.simulate(X, ball, rd.PureDP(3.0), mechanism=mechanism, size=20_000, seed=2)
    assert predicted == pytest.approx(math.sqrt(np.mean(distances(draws, ball) ** 2)), rel=0.05)


def test_flat_riemannian_laplace_is_wrapped_laplace():
    ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    plans = {plan.mechanism: plan for plan in rd.plan(ball, 50, rd.PureDP(1.0))}
    one, other = plans["riemannian-laplace"], plans["wrapped-laplace"]
    assert (one.scale, one.sensitivity) == (other.scale, other.sensitivity)
    assert one.expected_error == pytest.approx(other.expected_error, rel=1e-6)
    X = np.random.default_rng(0).standard_normal((50, 3))
    draws = rd.simulate(X, ball, rd.PureDP(1.0), mechanism="riemannian-laplace", size=50_000, seed=0)
    mean = (X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))).mean(axis=0)
    lengths = np.linalg.norm(np.asarray(draws) - mean, axis=1) / one.scale
    assert stats.kstest(special.gammainc(3, lengths), "uniform").pvalue > LEVEL


# --- what a release says ---------------------------------------------------------------------------------------


def test_kng_says_that_its_numerics_are_idealized_and_is_not_chosen_by_auto(tmp_path):
    ball = some_ball(rd.Sphere(2))
    X = some_records(ball, 30)
    release = rd.private_mean(X, ball, rd.PureDP(1.0), mechanism="kng")
    assert any("idealized numerics" in text for text in release.guarantee.assumptions)
    assert release.grid is None
    release.save(tmp_path / "mean.json")
    assert json.loads((tmp_path / "mean.json").read_text())["grid"] is None
    assert rd.Release.load(tmp_path / "mean.json").grid is None
    exact = rd.private_mean(X, ball, rd.PureDP(1.0), mechanism="riemannian-laplace")
    assert not any("idealized" in text for text in exact.guarantee.assumptions)
    assert exact.grid is not None
    assert math.frexp(exact.grid)[0] == 0.5
    wide = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.3)  # so noisy that staying in the ball pays
    assert rd.plan(wide, 1, rd.PureDP(0.1))[0].mechanism == "kng"
    assert rd.private_mean([[0.0, 0.0, 1.0]], wide, rd.PureDP(0.1)).mechanism != "kng"


@both
def test_other_guarantees_come_by_conversion(mechanism):
    ball = some_ball(rd.Sphere(2))
    X = some_records(ball, 20)
    pure = rd.private_mean(X, ball, rd.PureDP(1.0), mechanism=mechanism)
    implied = rd.GDP(-2 * special.ndtri(1 / (1 + math.e)))
    converted = rd.private_mean(X, ball, implied, mechanism=mechanism)
    assert converted.scale == pytest.approx(pure.scale, rel=1e-6)
    assert isinstance(converted.guarantee, rd.GDP)


@both
def test_kng_stays_in_the_ball_in_positive_curvature(mechanism):
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.2)
    draws = rd.simulate([[0.0, 0.0, 1.0]], ball, rd.PureDP(0.5), mechanism=mechanism, size=500, seed=0)
    assert (distances(draws, ball).max() <= 0.2 * (1 + 1e-12)) == (mechanism == "kng")


# --- refusals: before anything is read or spent ----------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr("riemdp.privacy.bounded._to_ball", lambda *_: pytest.fail("read"))
    return rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(100.0))


@both
@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.Hyperbolic(4, curvature=-2.0)], ids=repr)
def test_a_scale_past_the_limit_is_refused_with_what_would_work(space, mechanism, ledger):
    ball, X = some_ball(space), space.random_point(10, 0)
    with pytest.raises(rd.MechanismError, match=r"exists only below .* n \* epsilon above .*wrapped-laplace") as caught:
        rd.private_mean(X, ball, rd.PureDP(0.01), mechanism=mechanism, ledger=ledger)
    assert ledger.history() == []
    needed = float(str(caught.value).split("epsilon above ")[1].split(" ")[0])
    assert not [p for p in rd.plan(ball, 10, rd.PureDP(0.98 * needed / 10)) if p.mechanism == mechanism]
    limit = {"SPDAffine": 2 * math.sqrt(3 / 24), "Hyperbolic": 1 / (3 * math.sqrt(2))}[type(space).__name__]
    share = 2 if mechanism == "kng" else 1
    assert needed == pytest.approx(share * 2 * ball.radius / limit, rel=5e-3)


def test_kng_that_would_take_too_long_is_refused(ledger):
    space = rd.KendallShapes(60)
    ball = rd.Ball(space, space.origin, 0.7)
    with pytest.raises(rd.MechanismError, match=r"trials .*wrapped-laplace"):
        rd.private_mean(space.random_point(10, 0), ball, rd.PureDP(20.0), mechanism="kng", ledger=ledger)
    assert ledger.history() == []


@both
def test_footpoint_statistic_and_calibration_are_those_of_other_mechanisms(mechanism, ledger):
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.3)
    ask = {"mechanism": mechanism, "ledger": ledger}
    for wrong, words in (
        ({"footpoint": [0.0, 0.6, 0.8]}, "footpoint belongs to wrapped"),
        ({"statistic": "tangent-mean"}, "belongs to wrapped"),
        ({"calibration": "classical"}, "belongs to Gaussian noise"),
    ):
        with pytest.raises(rd.MechanismError, match=words):
            rd.private_mean([[0.0, 0.0, 1.0]], ball, rd.PureDP(1.0), **ask, **wrong)
    assert ledger.history() == []
