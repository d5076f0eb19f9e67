"""The private radius: its law against exact fractions of all neighbours, its strength against high precision, its draws.

References are mpmath and direct sums; statistical tests fail with probability below 1e-8.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.privacy.bounded import Bounded
from riemdp.statistics import quantile
from riemdp.statistics.quantile import STEPS, RadiusLaw, looseness, radius_strength


def probabilities(law, outside):
    """The law as documented, in 60 digits."""
    with mpmath.workdps(60):
        weights = [mpmath.mpf(1)]
        for j, m in enumerate(outside, 1):
            weights.append(mpmath.mpf(2) ** j * mpmath.exp(-mpmath.mpf(law.strength) * max(m - law.spare, 0)))
        return [w / sum(weights) for w in weights]


def counts(distances, radii):
    return [sum(x > t for x in distances) for t in radii]


def all_pairs(n):
    """Every multiset of n places in a list of 4 radii, with every replacement of its first record."""
    places = (0.5, 1.5, 2.5, 3.5, 4.5)
    for rest in itertools.combinations_with_replacement(places, n - 1):
        for one, two in itertools.combinations(places, 2):
            yield (*rest, one), (*rest, two)


# --- privacy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spare", [0, 1, 2])
@pytest.mark.parametrize("strength", [0.3, 2.0])
def test_no_neighbour_is_told_apart_by_more_than_the_strength(spare, strength):
    """All log-ratios of a pair lie within [a, a + strength]: strength-DP, and bounded range; and it is attained."""
    law, radii, widest = RadiusLaw(strength, spare), (4, 3, 2, 1), 0.0
    for one, two in all_pairs(4):
        p, q = (probabilities(law, counts(x, radii)) for x in (one, two))
        logs = [mpmath.log(a / b) for a, b in zip(p, q, strict=True)]
        assert max(map(abs, logs)) <= strength * (1 + 1e-12)
        assert max(logs) - min(logs) <= strength * (1 + 1e-12)
        widest = max(widest, max(logs) - min(logs))
    assert widest > 0.99 * strength


@pytest.mark.parametrize("mu", [1e-3, 0.1, 0.5, 1.0, 3.0, 8.0])
def test_the_strength_is_the_largest_that_is_mu_gdp(mu):
    """A pair of coins with log-odds that differ by the strength: Phi^-1(p) - Phi^-1(q) <= mu, and equal if symmetric."""
    strength = radius_strength(rd.GDP(mu))

    def probit_of_odds(x):
        return mpmath.sqrt(2) * mpmath.erfinv(2 / (1 + mpmath.exp(-x)) - 1)

    with mpmath.workdps(60):
        half = mpmath.mpf(strength) / 2
        gap = 2 * probit_of_odds(half)
        assert mu * (1 - mpmath.mpf(2) ** -50) < gap <= mu
        for shift in (0.1, 1.0, 3.0, 10.0):
            assert probit_of_odds(half + shift) - probit_of_odds(-half + shift) <= gap


@pytest.mark.parametrize(
    ("share", "mu"),
    [(rd.ZCDP(0.02), 0.2), (rd.RDP(4.0, 0.08), 0.2)],
)
def test_other_guarantees_go_through_gdp(share, mu):
    assert radius_strength(share) == pytest.approx(radius_strength(rd.GDP(mu)), rel=1e-12)


def test_pure_privacy_takes_the_strength_as_it_is():
    assert radius_strength(rd.PureDP(0.25)) == 0.25
    for epsilon in (0.1, 0.3):  # the float 0.1 is above its decimal, 0.3 below
        assert Fraction(radius_strength(rd.PureDP(epsilon))) <= Fraction(repr(epsilon)) < Fraction(epsilon) + Fraction(1, 10**16)


@pytest.mark.parametrize("mu", [1e6, 1e10, 1e300])
def test_the_strength_stops_growing_where_arithmetic_would_lose_it(mu):
    assert radius_strength(rd.GDP(mu)) == radius_strength(rd.GDP(1000.0)) == pytest.approx(250_000, rel=1e-3)


def test_three_percent_more_strength_would_break_the_claim():
    strength = 1.03 * radius_strength(rd.GDP(0.5))
    p = 1 / (1 + math.exp(-strength / 2))
    assert 2 * stats.norm.ppf(p) > 0.5 * 1.02


# --- draws -------------------------------------------------------------------------------------------------

# The price of each step is about what it is worth, so that all steps are drawn and a small change of strength shows.
LAW = RadiusLaw(0.4, 2)
OUTSIDE = [2 + round(j * math.log(2) / LAW.strength) for j in range(1, 25)]


def goodness(steps, law):
    expected = np.array([float(p) for p in probabilities(law, OUTSIDE)]) * len(steps)
    return stats.chisquare(np.bincount(steps, minlength=len(expected)), expected).pvalue


@pytest.mark.parametrize("kind", ["exact", "seeded"])
def test_draws_follow_the_law_and_not_one_three_percent_off(kind):
    rng = np.random.default_rng(0)
    steps = [LAW.draw(OUTSIDE) if kind == "exact" else LAW.simulate(OUTSIDE, rng) for _ in range(8000)]
    assert goodness(steps, LAW) > 1e-9
    assert goodness(steps, RadiusLaw(1.03 * LAW.strength, 2)) < 1e-9
    assert goodness(steps, RadiusLaw(0.97 * LAW.strength, 2)) < 1e-9


class Fixed:
    """A uniform number whose first digits are given."""

    def __init__(self, value):
        self.value, self.asked = value, []

    def ball(self, bits):
        from flint import arb

        self.asked.append(bits)
        return arb(self.value, f"1e-{bits // 10}")


@pytest.mark.parametrize("offset", [-1e-20, 1e-20])
def test_a_number_on_the_edge_is_refined_until_it_decides(offset, monkeypatch):
    """u within 1e-20 of P(step 0) = 1/3: 128 bits are not enough here, more are asked for."""
    with mpmath.workdps(40):
        text = mpmath.nstr(mpmath.mpf(1) / 3 + offset, 40)
    number = Fixed(text)
    monkeypatch.setattr(quantile, "LazyUniform", lambda: number)
    assert RadiusLaw(1.0, 5).draw([3]) == (0 if offset < 0 else 1)
    assert len(number.asked) > 1


@pytest.mark.parametrize("strength", [1e-12, 1e4])
def test_extreme_strengths_and_counts_are_drawn(strength):
    law = RadiusLaw(strength, 0)
    outside = [0, 10**6, 10**9]
    assert 0 <= law.draw(outside) <= 3
    assert 0 <= law.simulate(outside, np.random.default_rng(0)) <= 3
    if strength > 1:
        assert {law.draw(outside) for _ in range(200)} == {0, 1}


def test_with_no_further_radius_there_is_nothing_to_draw():
    assert RadiusLaw(1.0, 0).draw([]) == 0
    assert RadiusLaw(1.0, 0).simulate([], np.random.default_rng(0)) == 0


def test_the_stated_excess_is_that_of_a_long_list():
    """Free down to step 40, unaffordable after it."""
    law, free = RadiusLaw(50.0, 0), 40
    p = probabilities(law, [0] * free + [100] * 10)
    square = sum(w * mpmath.mpf(2) ** (2 * (free - j) / mpmath.mpf(STEPS)) for j, w in enumerate(p))
    assert mpmath.sqrt(square) == pytest.approx(looseness(), rel=1e-3)


@pytest.mark.parametrize("steps", [1, 5, 30])
def test_the_price_is_where_radius_and_records_balance(steps):
    law = RadiusLaw(0.2, 3)
    given_up = law.price(steps)
    assert steps * math.log(2) - law.strength * given_up == pytest.approx(0, abs=1e-12)


# --- counts ------------------------------------------------------------------------------------------------


def test_counts_are_those_of_the_distances_and_nan_is_at_the_centre():
    ball = rd.Ball(rd.Euclidean(2), [1.0, 0.0], 2.0)
    X = np.array([[1, 0], [1.5, 0], [1, -0.75], [np.nan, 0], [9e99, 9e99], [-1e9, 0], [1, 1.999]])
    assert Bounded(X, ball).outside([1.0, 0.6, 0.1]) == [3, 4, 5]


def test_one_record_changes_all_counts_the_same_way_by_one_at_most():
    rng, space = np.random.default_rng(1), rd.SPDAffine(3)
    ball = rd.Ball(space, space.random_point(1, 3)[0], 2.0)
    X = space.random_point(40, 0)
    radii = list(np.geomspace(0.05, 1.9, 30))
    before = np.array(Bounded(X, ball).outside(radii))
    for _ in range(20):
        other = X.copy()
        other[rng.integers(40)] = rng.choice([1e-9, 1.0, np.nan, 1e200]) * space.random_point(1, int(rng.integers(99)))[0]
        change = np.array(Bounded(other, ball).outside(radii)) - before
        assert np.ptp(change) <= 1
        assert np.abs(change).max() <= 1


def test_shrinking_is_the_same_as_reading_the_records_into_the_smaller_ball():
    space = rd.SPDAffine(3)
    X = np.concatenate([space.random_point(50, 0), np.full((1, 3, 3), np.nan), 1e9 * space.random_point(3, 1)])
    ball = rd.Ball(space, space.random_point(1, 3)[0], 2.0)
    shrunk = Bounded(X, ball).moved(rd.Ball(ball.space, ball.center, 0.4))
    assert shrunk._coordinates.all() == pytest.approx(Bounded(X, rd.Ball(space, ball.center, 0.4))._coordinates.all(), abs=1e-12)
    assert np.linalg.norm(shrunk._coordinates.all(), axis=1).max() <= 0.4
