"""Worst-case audits: an adversary who knows everything but one record never does better than is claimed.

Neighbouring data sets at opposite ends of the ball, on every space and for every type of guarantee, 10^6
simulated draws. Whatever is claimed says P(S | X) <= e^epsilon P(S | X') + delta(epsilon) for all events S and all
epsilon; exact (Clopper-Pearson) confidence bounds, together valid with 99.99 %, must not contradict it. The same
audit of a planted mechanism with half the noise must. All draws are seeded: the outcome is always the same.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import special, stats

import riemdp as rd

HALF_DRAWS = 500_000  # from each of the neighbours
EVENTS = np.linspace(0.05, 0.95, 13)  # thresholds on the likelihood ratio's quantiles, and the same reversed
EPSILONS = [0.25, 0.5, 1.0, 2.0, 3.0]
ERROR = 1e-4

AUDITED = {
    "line": (rd.Euclidean(1), 2),
    "space": (rd.Euclidean(3), 2),
    "log-euclidean": (rd.SPDLogEuclidean(2), 2),
    "affine": (rd.SPDAffine(2), 2),
    "hyperbolic": (rd.Hyperbolic(2, curvature=-4.0), 2),
    "circle": (rd.Sphere(1), 101),
    "sphere": (rd.Sphere(2), 101),
    "shapes": (rd.KendallShapes(4), 101),
    "product": (rd.Product(rd.Sphere(2), rd.Euclidean(1)), 101),
}


# --- what is claimed, as delta(epsilon), in formulas of its own ----------------------------------------------


def pure(epsilon):
    """Randomised response: (e^e - e^at)+ / (1 + e^e)."""
    return lambda at: max(0.0, (math.exp(epsilon) - math.exp(at)) / (1 + math.exp(epsilon)))


def gdp(mu):
    return lambda at: special.ndtr(mu / 2 - at / mu) - math.exp(at) * special.ndtr(-mu / 2 - at / mu)


def zcdp(rho):
    """Bun and Steinke 2016, Proposition 1.3."""
    return lambda at: math.exp(-((at - rho) ** 2) / (4 * rho)) if at > rho else 1.0


def rdp(alpha, epsilon):
    """Mironov 2017, Proposition 3."""
    return lambda at: min(1.0, math.exp(-(alpha - 1) * (at - epsilon)))


def approx(epsilon, delta):
    """At epsilon itself; a larger delta for smaller epsilons, from the same tests: only upwards."""
    return lambda at: delta if at >= epsilon else 1.0


DELTA = float(gdp(1.0)(1.0))
CLAIMS = {
    "PureDP": (rd.PureDP(1.0), pure(1.0)),
    "GDP": (rd.GDP(1.0), gdp(1.0)),
    "ZCDP": (rd.ZCDP(0.5), zcdp(0.5)),
    "RDP": (rd.RDP(3.0, 1.5), rdp(3.0, 1.5)),
    "ApproxDP": (rd.ApproxDP(1.0, DELTA), approx(1.0, DELTA)),
}


# --- the draws ------------------------------------------------------------------------------------------------


def neighbours(space, n):
    """Two data sets of a ball: a record jumps from one end to the other.

    Elsewhere along the geodesic of all the others; in positive curvature these are two clusters at ±r e1, and it
    jumps from r e2 to -r e2.
    """
    ball = rd.Ball(space, space.random_point(1, 0)[0], 0.5 * min(space.uniqueness_radius, 1.0))
    e = np.eye(space.dim) * ball.radius
    clusters = np.where(np.arange(n)[:, None] % 2 == 0, e[0], -e[0])
    jump = e[1] if space.curvature_bounds[1] > 0 and space.dim > 1 else e[0]
    pair = []
    for last in (jump, -jump):
        clusters[-1] = last
        pair.append(space._write(space._exp(clusters.copy(), ball._inner_center), ball.center))
    return ball, pair


@cache
def coordinates(name, mechanism):
    """(exact coordinates of both means, draws of both in coordinates at the centre, scale)."""
    space, n = AUDITED[name]
    ball, pair = neighbours(space, n)
    guarantee = rd.PureDP(1.0) if mechanism == "wrapped-laplace" else rd.GDP(1.0)
    (plan,) = (p for p in rd.plan(ball, n, guarantee) if p.mechanism == mechanism)
    ask = {"mechanism": mechanism, "size": HALF_DRAWS}
    draws = [rd.simulate(X, ball, guarantee, seed=i, **ask) for i, X in enumerate(pair)]
    logs = [space._log(space._read(np.asarray(d), "draws"), ball._inner_center) for d in draws]
    means = [rd.frechet_mean(X, space).point for X in pair]
    exact = [space._log(space._read(m, "mean"), ball._inner_center) for m in means]
    return exact, logs, plan.scale


def likelihood_ratio(mechanism, exact, points):
    """log p(points | X) - log p(points | X'), up to its positive scale."""
    power = 1 if mechanism == "wrapped-laplace" else 2
    return sum(s * np.linalg.norm(points - x, axis=1) ** power for s, x in zip((-1, 1), exact, strict=True))


# --- the audit --------------------------------------------------------------------------------------------


def clopper_pearson(counts, total, error):
    """(lower, upper) confidence bounds, each wrong with probability `error`."""
    lower = np.where(counts > 0, stats.beta.ppf(error, counts, total - counts + 1), 0.0)
    upper = np.where(counts < total, stats.beta.isf(error, counts + 1, total - counts), 1.0)
    return lower, upper


def excess(mechanism, exact, points, delta):
    """The largest P(S | X) - e^epsilon P(S | X') - delta(epsilon) that is certain, over events and epsilons.

    The thresholds of the events are quantiles of the first tenth of the draws, which does not take part in the test.
    """
    ratios = [likelihood_ratio(mechanism, exact, p) for p in points]
    tenth = HALF_DRAWS // 10
    cuts = np.quantile(np.concatenate([r[:tenth] for r in ratios]), EVENTS)
    total = HALF_DRAWS - tenth
    above = [total - np.searchsorted(np.sort(r[tenth:]), cuts) for r in ratios]
    error = ERROR / (4 * len(cuts))  # two bounds each for the events and for their complements
    worst = -np.inf
    for p, q in [(above[0], above[1]), (total - above[1], total - above[0])]:
        lower, upper = clopper_pearson(p, total, error)[0], clopper_pearson(q, total, error)[1]
        worst = max(worst, *((lower - math.exp(at) * upper).max() - delta(at) for at in EPSILONS))
    return worst


def plans_for(name, guarantee):
    space, n = AUDITED[name]
    ball, _ = neighbours(space, n)
    return {plan.mechanism: plan for plan in rd.plan(ball, n, guarantee)}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("name", AUDITED)
def test_no_claim_is_contradicted_and_half_the_noise_is_caught(name, claim):
    guarantee, delta = CLAIMS[claim]
    mechanism = "wrapped-laplace" if claim == "PureDP" else "wrapped-gaussian"
    exact, points, scale = coordinates(name, mechanism)
    # The draws of the GDP audit serve all Gaussian claims: these are chosen to have the same scale.
    assert plans_for(name, guarantee)[mechanism].scale == pytest.approx(scale, rel=1e-9)
    assert excess(mechanism, exact, points, delta) <= 0
    halved = [x + (p - x) / 2 for x, p in zip(exact, points, strict=True)]
    assert excess(mechanism, exact, halved, delta) > 0.05


@pytest.mark.parametrize("claim", ["GDP", "ZCDP", "RDP", "ApproxDP"])
@pytest.mark.parametrize("name", ["sphere", "affine"])
def test_neither_is_the_laplace_mechanism_for_the_other_claims(name, claim):
    """Its own scale, by conversion: fewer draws, of a simulation of exactly that claim."""
    guarantee, delta = CLAIMS[claim]
    exact, points, scale = coordinates(name, "wrapped-laplace")
    factor = plans_for(name, guarantee)["wrapped-laplace"].scale / scale
    scaled = [x + (p - x) * factor for x, p in zip(exact, points, strict=True)]
    assert excess("wrapped-laplace", exact, scaled, delta) <= 0


@pytest.mark.parametrize("name", AUDITED)
def test_the_neighbours_are_nearly_the_worst(name):
    """Their distance is at least 90 % of the sensitivity: an audit of easy neighbours would prove nothing."""
    exact, _, _ = coordinates(name, "wrapped-gaussian")
    sensitivity = plans_for(name, rd.GDP(1.0))["wrapped-gaussian"].sensitivity
    share = np.linalg.norm(exact[0] - exact[1]) / sensitivity
    assert 0.9 < share <= 1


def test_the_bounds_are_those_of_clopper_and_pearson():
    lower, upper = clopper_pearson(np.array([0, 3, 10]), 10, 0.025)
    for count, low, high in zip((0, 3, 10), lower, upper, strict=True):
        interval = stats.binomtest(count, 10).proportion_ci(0.95, method="exact")
        assert (low, high) == pytest.approx((interval.low, interval.high), abs=1e-12)
