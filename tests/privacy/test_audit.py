"""Worst-case audits: an adversary who knows everything but one record never does better than is claimed.

Every mechanism on every space, on neighbouring data sets at opposite ends of the ball; for the wrapped ones every type
of guarantee with 10^6 simulated draws, and planted mechanisms with half the noise, which must be caught. The bounds of
an audit are wrong with probability 1e-4; all draws are seeded: the outcome is always the same.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np
import pytest

import riemdp as rd
from riemdp.audit import audit, audit_draws
from riemdp.mechanisms import MECHANISMS
from riemdp.neighbours import worst_neighbours

HALF_DRAWS = 500_000  # from each of the neighbours
FEW_DRAWS = {"kng": 4_000}  # where a draw takes long

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
DELTA = rd.GDP(1.0).to_approx(epsilon=1.0).delta
# All have the same scale of Gaussian noise.
GAUSSIAN = [rd.GDP(1.0), rd.ZCDP(0.5), rd.RDP(3.0, 1.5), rd.ApproxDP(1.0, DELTA)]
CLAIMS = [rd.PureDP(1.0), *GAUSSIAN]


def setting(name):
    space, n = AUDITED[name]
    return rd.Ball(space, space.random_point(1, 0)[0], 0.5 * min(space.uniqueness_radius, 1.0)), n


def plans_for(name, guarantee):
    return {plan.mechanism: plan for plan in rd.plan(*setting(name), guarantee)}


@cache
def coordinates(name, mechanism):
    """(exact coordinates of both means, draws of both in coordinates at the centre, scale)."""
    ball, n = setting(name)
    pair = worst_neighbours(ball, n)["clusters"]
    guarantee = rd.PureDP(1.0) if mechanism == "wrapped-laplace" else rd.GDP(1.0)
    draws = [rd.simulate(X, ball, guarantee, mechanism=mechanism, size=HALF_DRAWS, seed=i) for i, X in enumerate(pair)]
    means = [rd.frechet_mean(X, ball.space).point for X in pair]
    exact, logs = ([ball.space.log_coords(ball.space.read(np.asarray(p), "p"), ball.inner_center) for p in points] for points in (means, draws))
    return exact, logs, plans_for(name, guarantee)[mechanism].scale


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: type(claim).__name__)
@pytest.mark.parametrize("name", AUDITED)
def test_no_claim_is_contradicted_and_half_the_noise_is_caught(name, claim):
    mechanism = "wrapped-laplace" if isinstance(claim, rd.PureDP) else "wrapped-gaussian"
    exact, points, scale = coordinates(name, mechanism)
    # The draws of the GDP audit serve all Gaussian claims.
    assert plans_for(name, claim)[mechanism].scale == pytest.approx(scale, rel=1e-9)
    assert audit_draws(*points, claim).holds
    halved = [x + (p[:100_000] - x) / 2 for x, p in zip(exact, points, strict=True)]
    caught = audit_draws(*halved, claim)
    assert not caught.holds
    assert all(bound > 1.2 * claim.parameters[parameter] for parameter, bound in caught.lower.items())


@pytest.mark.parametrize("claim", GAUSSIAN, ids=lambda claim: type(claim).__name__)
@pytest.mark.parametrize("name", ["sphere", "affine"])
def test_neither_is_the_laplace_mechanism_for_the_other_claims(name, claim):
    assert audit(*setting(name), claim, mechanism="wrapped-laplace", draws=100_000).holds


@pytest.mark.parametrize("name", AUDITED)
def test_no_mechanism_that_exists_here_contradicts_its_own_claim(name):
    found = {}
    for mechanism in MECHANISMS:
        claim = rd.GDP(1.0) if "gaussian" in mechanism else rd.PureDP(1.0)
        with suppress(rd.MechanismError):
            found[mechanism] = audit(*setting(name), claim, mechanism=mechanism, draws=FEW_DRAWS.get(mechanism, 100_000))
    assert set(found) >= {"wrapped-laplace", "wrapped-gaussian"}
    assert [mechanism for mechanism in found if not found[mechanism].holds] == []


def test_kng_without_its_factor_of_two_is_caught_at_the_rim_of_a_ball():
    """Scale Delta/epsilon is that of PureDP(2): there is less room at the rim, and the normaliser tells.

    On the sphere this takes 10^6 draws; where nothing is cut off (k_max <= 0) it would be private, or nearly so.
    """
    ball, n = setting("circle")
    pair = worst_neighbours(ball, n)["rim"]
    draws = [rd.simulate(X, ball, rd.PureDP(2.0), mechanism="kng", size=100_000, seed=i) for i, X in enumerate(pair)]
    logs = [ball.space.log_coords(np.asarray(points), ball.inner_center) for points in draws]
    assert audit_draws(*logs, rd.PureDP(1.0)).epsilon_lower > 1.1


@pytest.mark.parametrize("name", AUDITED)
def test_the_neighbours_are_nearly_the_worst(name):
    """Their distance is at least 90 % of the sensitivity: an audit of easy neighbours would prove nothing."""
    exact, _, _ = coordinates(name, "wrapped-gaussian")
    sensitivity = plans_for(name, rd.GDP(1.0))["wrapped-gaussian"].sensitivity
    share = np.linalg.norm(exact[0] - exact[1]) / sensitivity
    assert 0.9 < share <= 1
