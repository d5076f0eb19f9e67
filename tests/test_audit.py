"""The audit itself: its bounds are right as often as it says, tight, and turn a wrong claim down.

References are coins and closed forms. All draws are seeded; where a test would depend on luck under other seeds, it
fails with probability below 1e-8.
"""

from __future__ import annotations

import math
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.audit import Audit, _at_least, _at_most, _divergence, audit, audit_draws, audit_neighbours, coordinates
from riemdp.neighbours import fooling_neighbours, spare_outliers, worst_neighbours

SURE = 1 - 1e-8
DRAWS = 1_000_000
P, Q = 0.6, 0.3


def coins(p, size, seed):
    return (np.random.default_rng(seed).random(size) < p).astype(float)


def laplace(size, seed, *, shift=0.0, scale=1.0, dim=1):
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((size, dim))
    noise = normal / np.linalg.norm(normal, axis=1, keepdims=True) * rng.standard_gamma(dim, (size, 1))
    return scale * noise + shift * np.eye(dim)[0]


def gaussian(size, seed, *, shift=0.0, dim=1):
    return np.random.default_rng(seed).standard_normal((size, dim)) + shift * np.eye(dim)[0]


# --- what a coin P and a coin Q prove, with 50 digits --------------------------------------------------------


def renyi(alpha, p=P, q=Q):
    terms = mpmath.mpf(p) ** alpha * mpmath.mpf(q) ** (1 - alpha), (1 - mpmath.mpf(p)) ** alpha * (1 - mpmath.mpf(q)) ** (1 - alpha)
    return mpmath.log(sum(terms)) / (alpha - 1)


def probit(p):
    return mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(p) - 1)


def zcdp_of_coins():
    pairs = [(P, Q), (Q, P)]
    return max(renyi(1 + mpmath.mpf(10) ** (k / 20), *pair) / (1 + mpmath.mpf(10) ** (k / 20)) for k in range(-80, 81) for pair in pairs)


TRUTH = {
    # heads are likelier under the first coin, tails under the second
    "PureDP": (rd.PureDP(1.0), {"epsilon": mpmath.log(2)}),
    "ApproxDP": (rd.ApproxDP(0.5, 0.1), {"epsilon": mpmath.log(mpmath.mpf("0.5") / mpmath.mpf("0.3")), "delta": 0.6 - 0.3 * mpmath.exp(0.5)}),
    "GDP": (rd.GDP(1.0), {"mu": probit(P) - probit(Q)}),
    "ZCDP": (rd.ZCDP(1.0), {"rho": zcdp_of_coins()}),
    "RDP": (rd.RDP(3.0, 1.0), {"epsilon": max(renyi(3), renyi(3, Q, P))}),
}


@pytest.mark.parametrize("claim", TRUTH)
def test_bounds_are_close_to_the_truth(claim):
    guarantee, truth = TRUTH[claim]
    found = audit_draws(coins(P, DRAWS, 1), coins(Q, DRAWS, 2), guarantee)
    assert set(found.lower) == set(truth)
    for name, value in truth.items():
        assert 0.94 * value < found.lower[name] <= value
    epsilon = truth["epsilon"] if claim == "ApproxDP" else math.log(2)
    assert 0.97 * epsilon < found.epsilon_lower <= epsilon


@pytest.mark.parametrize("claim", TRUTH)
def test_bounds_are_right_as_often_as_stated(claim):
    """200 audits of 1,000 draws at 80 %; and often enough nearly wrong, or the test would prove nothing."""
    guarantee, truth = TRUTH[claim]
    audits = 200
    found = [audit_draws(coins(P, 1000, 2 * i), coins(Q, 1000, 2 * i + 1), guarantee, confidence=0.8) for i in range(audits)]
    wrong = [any(a.lower[name] > value for name, value in truth.items()) for a in found]
    assert sum(wrong) <= stats.binom.isf(1e-9, audits, 0.2)
    nearly = [any(a.lower[name] > 0.8 * value for name, value in truth.items()) for a in found]
    assert sum(nearly) > 10


def test_the_search_for_a_test_does_not_count_as_evidence():
    """Two laws that are the same: searched and tested on the same draws, the bound would mostly be above 0."""
    found = [audit_draws(gaussian(500, 2 * i, dim=3), gaussian(500, 2 * i + 1, dim=3), rd.PureDP(1.0), confidence=0.5) for i in range(200)]
    assert sum(a.epsilon_lower > 0 for a in found) <= stats.binom.isf(1e-9, 200, 0.5)


def test_binomial_bounds_are_those_of_clopper_and_pearson():
    hits = np.array([0, 1, 3, 9, 10])
    lower, upper = _at_least(hits, 10, 0.025), _at_most(hits, 10, 0.025)
    for hit, low, high in zip(hits, lower, upper, strict=True):
        interval = stats.binomtest(int(hit), 10).proportion_ci(0.95, method="exact")
        assert (low, high) == pytest.approx((interval.low, interval.high), abs=1e-12)


# --- laws with densities, and 3 % too little noise -----------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1 / 1.03, False)])
def test_gaussian_noise_of_the_right_scale_and_not_three_percent_less(dim, factor, holds):
    a, b = gaussian(DRAWS, 3, dim=dim), gaussian(DRAWS, 4, shift=1 / factor, dim=dim)
    found = audit_draws(a, b, rd.GDP(1.0), confidence=SURE)
    assert found.holds is holds
    assert found.lower["mu"] > 0.97 / factor


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1 / 1.03, False)])
def test_laplace_noise_of_the_right_scale_and_not_three_percent_less(factor, holds):
    a, b = laplace(DRAWS, 5), laplace(DRAWS, 6, shift=1 / factor)
    found = audit_draws(a, b, rd.PureDP(1.0), confidence=SURE)
    assert found.holds is holds
    assert found.epsilon_lower > 0.96 / factor


def drawn_spread(size, seed, shift):
    """A coordinate whose noise has a spread that is drawn and small, and five large ones that tell nothing."""
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.normal(-25, 1.2, size))
    return np.column_stack([spread * (shift + rng.standard_normal(size)), rng.standard_normal((size, 5)), np.log(spread)])


@pytest.mark.parametrize(("shift", "holds"), [(1.0, True), (1.1, False)])
def test_noise_of_a_drawn_spread_beside_large_coordinates(shift, holds):
    """Given the spread the laws are mu = shift apart; the sign, of probability Phi(shift/2), proves exactly that."""
    a, b = drawn_spread(DRAWS, 7, shift / 2), drawn_spread(DRAWS, 8, -shift / 2)
    found = audit_draws(a, b, rd.GDP(1.0), confidence=SURE)
    assert found.holds is holds
    assert found.lower["mu"] > 0.95 * shift


DELTA = float(rd.GDP(1.0).to_approx(epsilon=1.0).delta)
CLAIMS = [rd.ApproxDP(1.0, DELTA), rd.GDP(1.0), rd.ZCDP(0.5), rd.RDP(3.0, 1.5)]


@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_half_the_noise_contradicts_every_kind_of_claim(claim):
    a = gaussian(DRAWS // 5, 7, dim=3)
    assert audit_draws(a, gaussian(DRAWS // 5, 8, shift=1.0, dim=3), claim, confidence=SURE).holds
    assert not audit_draws(a, gaussian(DRAWS // 5, 8, shift=2.0, dim=3), claim, confidence=SURE).holds


def test_every_linear_change_of_coordinates_shows_as_much():
    a, b = laplace(DRAWS // 5, 9, dim=3), laplace(DRAWS // 5, 10, shift=1.0, dim=3)
    skewed = np.array([[1.0, 5.0, 0.0], [0.0, 0.01, 0.0], [3.0, 0.0, 100.0]])
    straight = audit_draws(a, b, rd.PureDP(1.0)).epsilon_lower
    assert straight > 0.7
    assert audit_draws(a @ skewed, b @ skewed, rd.PureDP(1.0)).epsilon_lower == pytest.approx(straight, rel=0.02)


def test_an_output_that_only_one_neighbour_can_have_is_found():
    narrow, wide = (np.random.default_rng(s).random(10_000) * width for s, width in ((11, 1.0), (12, 2.0)))
    for pair in [(narrow, wide), (wide, narrow)]:
        assert audit_draws(*pair, rd.PureDP(1.0)).epsilon_lower > 5


def test_no_noise_at_all_is_found():
    zeros, ones = np.zeros((1000, 2)), np.ones((1000, 2))
    assert audit_draws(zeros, ones, rd.PureDP(1.0)).epsilon_lower > 4
    assert audit_draws(zeros, zeros, rd.PureDP(1.0)).epsilon_lower == 0


# --- K-norm gradient with half its noise: within a ball the normaliser counts ----------------------------------


def truncated_laplace(size, seed, center, scale, radius):
    """On [-radius, radius], by inversion: the K-norm gradient law on a circle, or on a line without the cut."""
    u = np.random.default_rng(seed).random(size)
    below, above = stats.laplace.cdf(-radius, center, scale), stats.laplace.cdf(radius, center, scale)
    return stats.laplace.ppf(below + u * (above - below), center, scale)


@pytest.mark.parametrize(("factor", "radius", "holds"), [(2.0, 1.0, True), (1.0, 1.0, False), (1.0, np.inf, True)])
def test_kng_at_the_rim_needs_its_factor_of_two_only_where_it_is_cut_off(factor, radius, holds):
    """At scale Delta/epsilon the cut law leaks epsilon + log(2 - e^-epsilon) = 1.49 at the rim; uncut, 1."""
    n, epsilon = 100, 1.0
    scale = factor * (2 / n) / epsilon
    a, b = (truncated_laplace(300_000, i, mean, scale, radius) for i, mean in enumerate((1.0, 1 - 2 / n)))
    found = audit_draws(a, b, rd.PureDP(epsilon), confidence=SURE)
    assert found.holds is holds
    assert found.epsilon_lower > (1.2 if not holds else 0.4)


# --- on worst-case data ----------------------------------------------------------------------------------------

SPACES = {
    "line": rd.Euclidean(1),
    "log-euclidean": rd.SPDLogEuclidean(2),
    "affine": rd.SPDAffine(3),
    "hyperbolic": rd.Hyperbolic(2, curvature=-4.0),
    "circle": rd.Sphere(1),
    "sphere": rd.Sphere(3, curvature=2.0),
    "shapes": rd.KendallShapes(5),
    "product": rd.Product(rd.Euclidean(2), rd.Product(rd.Hyperbolic(2), rd.Sphere(2))),
}


def ball_of(space):
    return rd.Ball(space, space.random_point(1, 0)[0], 0.5 * min(space.uniqueness_radius, 1.0))


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("name", SPACES)
def test_neighbours_differ_in_one_record_and_fill_the_ball(name, n):
    space, ball = SPACES[name], ball_of(SPACES[name])
    for first, second in worst_neighbours(ball, n).values():
        assert first.shape == second.shape == (n, *space.point_shape)
        assert np.array_equal(first[:-1], second[:-1])
        assert space.dist(first[-1], second[-1]) == pytest.approx(2 * ball.radius, rel=1e-6)
        assert (space.dist(ball.center, first) <= ball.radius * (1 + 1e-9)).all()


@pytest.mark.parametrize("n", [100, 101])
@pytest.mark.parametrize("name", SPACES)
def test_their_means_are_nearly_as_far_apart_as_can_be(name, n):
    """At least 98 % of the sharp sensitivity of the exact mean (a circle has no curved plane: 2r/n)."""
    space, ball = SPACES[name], ball_of(SPACES[name])
    s = math.sqrt(max(space.curvature_bounds[1], 0.0)) if space.dim > 1 else 0.0
    sharp = 2 * math.tan(ball.radius * s) / (s * n) if s else 2 * ball.radius / n
    moved = [space.dist(*(rd.frechet_mean(X, space).point for X in pair)) for pair in worst_neighbours(ball, n).values()]
    assert 0.98 * sharp < max(moved) <= sharp * (1 + 1e-6)


def test_an_audit_says_what_it_did():
    ball, told = rd.Ball(rd.Sphere(2), [0, 0, 1.0], 0.5), []
    found = audit(ball, 50, rd.GDP(0.5), mechanism="wrapped-gaussian", draws=20_000, progress=told.append)
    (plan,) = (p for p in rd.plan(ball, 50, rd.GDP(0.5)) if p.mechanism == "wrapped-gaussian")
    assert (found.mechanism, found.scale, found.sensitivity) == (plan.mechanism, plan.scale, plan.sensitivity)
    assert (found.claimed, found.draws, found.confidence) == (rd.GDP(0.5), 20_000, 0.9999)
    assert found.neighbours in worst_neighbours(ball, 50)
    assert sum(told) == 2 * 20_000
    assert found.holds
    assert 0.35 < found.lower["mu"] <= 0.5
    assert found.to_dict()["claimed"] == rd.GDP(0.5).to_dict()
    assert found.to_dict()["holds"] is True


def test_the_seed_decides():
    ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    run = [audit(ball, 5, rd.PureDP(1.0), draws=2000, seed=seed) for seed in (0, 0, 1)]
    assert run[0] == run[1] != run[2]


def test_blocks_change_nothing_but_the_seeds(monkeypatch):
    ball = rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)
    monkeypatch.setattr(sys.modules[Audit.__module__], "BLOCK", 4000)  # 1,000 matrices
    told = []
    found = audit(ball, 5, rd.GDP(1.0), draws=50_500, progress=told.append)
    assert max(told) == 1000
    assert sum(told) == 2 * 50_500
    assert 0.9 < found.lower["mu"] <= 1.0


def test_footpoint_statistic_and_calibration_are_passed_on():
    ball = rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)
    tangent = audit(ball, 5, rd.GDP(1.0), draws=1000, statistic="tangent-mean", mechanism="wrapped-gaussian")
    classical = audit(ball, 5, rd.ApproxDP(0.5, 1e-3), draws=1000, calibration="classical", mechanism="wrapped-gaussian")
    moved = audit(rd.Ball(rd.Sphere(2), [0, 0, 1.0], 0.5), 5, rd.GDP(1.0), draws=1000, footpoint=[0, 0.6, 0.8], mechanism="wrapped-gaussian")
    assert tangent.sensitivity == pytest.approx(0.4, rel=1e-9)
    assert classical.scale == pytest.approx(classical.sensitivity * math.sqrt(2 * math.log(1.25e3)) / 0.5, rel=1e-9)
    centred = audit(rd.Ball(rd.Sphere(2), [0, 0, 1.0], 0.5), 5, rd.GDP(1.0), draws=1000, mechanism="wrapped-gaussian")
    assert moved.sensitivity > centred.sensitivity


# --- adaptive releases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("name", SPACES)
def test_data_made_to_fool_differ_in_one_record_and_stay_in_the_ball(name, n):
    space, ball = SPACES[name], ball_of(SPACES[name])
    pairs = fooling_neighbours(ball, n, 3)
    assert set(pairs) == {"boundary", "lone", "outwards", "outliers"}
    for first, second in pairs.values():
        assert first.shape == second.shape == (n, *space.point_shape)
        assert np.array_equal(first[:-1], second[:-1])
        assert (space.dist(ball.center, np.concatenate([first, second])) <= ball.radius * (1 + 1e-9)).all()


def test_data_made_to_fool_are_what_they_are_called():
    ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 2.0)
    pairs = fooling_neighbours(ball, 10, 3)
    assert np.allclose(np.linalg.norm(pairs["boundary"], axis=2), 2.0)
    assert len(np.unique(pairs["boundary"][0], axis=0)) == 4
    assert (pairs["lone"][0][:-1] == 0).all()
    assert [X[-1, 0] for X in pairs["lone"]] == [2.0, -2.0]
    assert [np.count_nonzero(X) for X in pairs["outwards"]] == [0, 1]
    assert [np.count_nonzero(X[:, 0] == 2.0) for X in pairs["outliers"]] == [3, 4]


def test_as_many_outliers_as_the_noise_hides():
    ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    assert spare_outliers(ball, 1000, rd.GDP(1.0)) == 4  # noise of standard deviation 2/n
    assert spare_outliers(ball, 1000, rd.GDP(0.1)) == 40
    assert spare_outliers(ball, 10, rd.GDP(0.01)) == 4  # not more than half


LINE = rd.Ball(rd.Euclidean(1), [0.0], 1.0)


def test_an_adaptive_release_is_audited_on_data_made_to_fool_it():
    told = []
    found = audit(LINE, 200, rd.GDP(1.0), adapt=True, draws=200, progress=told.append)
    assert found.holds
    assert found.adapt
    assert (found.mechanism, found.scale, found.sensitivity, found.draws) == ("auto", None, None, 200)
    assert sum(told) == 2 * 200
    assert found.to_dict()["adapt"] is True


def test_an_adaptive_release_with_a_third_of_the_noise_is_caught():
    """It spends mu = 3 and claims 1: the pair of clusters tells, by a wide margin (found: 2.1)."""

    def draw(X, size, seed):
        return coordinates(rd.simulate(X, LINE, rd.GDP(3.0), adapt=True, size=size, seed=seed), LINE)

    found = audit_neighbours({"clusters": worst_neighbours(LINE, 200)["clusters"]}, draw, rd.GDP(1.0), draws=300)
    assert not found.holds
    assert found.lower["mu"] > 1.5


def test_adaptation_that_cannot_pay_off_is_audited_as_the_plain_release_it_is():
    plain, adaptive = (audit(LINE, 3, rd.PureDP(0.5), adapt=adapt, draws=40_000) for adapt in (False, True))
    assert plain.holds
    assert adaptive.holds
    assert 0.2 < adaptive.epsilon_lower <= 0.5


def test_holds_compares_with_the_claim():
    for bound, holds in ((0.99, True), (1.0, True), (1.01, False)):
        assert Audit(rd.PureDP(1.0), {"epsilon": bound}, bound, 0.9999, 100).holds is holds
    assert not Audit(rd.ApproxDP(1.0, 0.1), {"epsilon": 0.9, "delta": 0.11}, 0.9, 0.9999, 100).holds


# --- mistakes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"draws": 10}, "draws = 10"),
        ({"draws": 1e6}, "draws = 1000000.0"),
        ({"confidence": 1.0}, "confidence = 1.0"),
        ({"confidence": "high"}, "confidence = 'high'"),
        ({"seed": -1}, "seed = -1"),
        ({"n": 0}, "n = 0"),
        ({"guarantee": 1.0}, "guarantee = 1.0"),
        ({"ball": "ball"}, "ball = 'ball'"),
        ({"mechanism": "mcmc"}, "mechanism = 'mcmc'"),
        ({"mechanism": ["auto"]}, r"mechanism = \['auto'\]"),
        ({"statistic": "median"}, "statistic = 'median'"),
        ({"adapt": "yes"}, "adapt = 'yes'"),
        ({"adapt": True, "footpoint": [0.5]}, "footpoint must be left out"),
    ],
)
def test_mistakes_are_named(change, says):
    good = {"ball": rd.Ball(rd.Euclidean(1), [0.0], 1.0), "n": 5, "guarantee": rd.PureDP(1.0), "draws": 1000}
    with pytest.raises(rd.InputError, match=says):
        audit(**good | change)


@pytest.mark.parametrize(
    ("a", "says"),
    [
        (np.zeros(10), "a has shape"),
        (np.zeros((200, 3, 3)), "a has shape"),
        (np.full(200, np.nan), "a holds NaN"),
        (np.full(200, 1e150), "a holds numbers beyond"),
        (np.zeros((200, 3)), "coordinates"),
        (["x"] * 200, "a has dtype"),
    ],
)
def test_mistakes_in_draws_are_named(a, says):
    with pytest.raises(rd.InputError, match=says):
        audit_draws(a, np.zeros((200, 2)), rd.PureDP(1.0))


def test_a_claim_must_be_a_guarantee():
    with pytest.raises(rd.InputError, match=r"guarantee = 1\.0"):
        audit_draws(np.zeros(200), np.zeros(200), 1.0)


def test_rounding_does_not_contradict_a_renyi_order_close_to_one():
    """Two equal coins diverge by nothing; what the logarithms round is divided by alpha - 1."""
    p = np.linspace(0.01, 0.99, 99)
    for order in (1 + 1e-14, 1 + 1e-8, 1.5, 1e300):
        assert (_divergence(np.nextafter(p, 1), p, order) <= 1e-12).all()
