"""OpenDP counts our releases, and counts them right."""

from __future__ import annotations

import doctest
import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import riemdp as rd
from riemdp.arithmetic import decimal
from riemdp.bridges import opendp as bridge

dp = pytest.importorskip("opendp.prelude", reason="the extra opendp is not installed")
N = 200
BALL = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
RECORDS = np.tile([0.0, 0.0, 1.0], (N, 1))


@pytest.fixture(autouse=True)
def _features():
    dp.enable_features("contrib", "honest-but-curious")


def measurement(guarantee, n=N, **options):
    return bridge.make_private_mean(BALL, n, guarantee, **options)


@pytest.mark.parametrize(("guarantee", "measure"), [
    (rd.PureDP(0.3), "MaxDivergence"),
    (rd.ApproxDP(0.3, 1e-6), "Approximate(MaxDivergence)"),
    (rd.GDP(0.3), "ZeroConcentratedDivergence"),
    (rd.ZCDP(0.3), "ZeroConcentratedDivergence"),
])  # fmt: skip
def test_a_measurement_gives_a_release_with_the_guarantee(guarantee, measure):
    made = measurement(guarantee)
    release = made(RECORDS)
    assert str(made.output_measure) == measure
    assert release.n == N
    assert release.value.shape == (3,)
    assert release.guarantee.implies(guarantee)


# --- what several replaced records cost -----------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 10, 200])
def test_groups_cost_what_the_theorems_say(k):
    assert measurement(rd.PureDP(0.5)).map(k) == 0.5 * k
    assert measurement(rd.ZCDP(0.25)).map(k) == 0.25 * k**2
    assert measurement(rd.GDP(0.5)).map(k) == 0.125 * k**2
    assert measurement(rd.GDP(0.5)).map(k) == rd.GDP(0.5 * k).to_zcdp().rho
    epsilon, delta = measurement(rd.ApproxDP(0.0625, 1e-9)).map(k)
    assert epsilon == 0.0625 * k
    assert delta == pytest.approx(1e-9 * sum(math.exp(0.0625 * i) for i in range(k)), rel=1e-12)


def test_no_records_replaced_cost_nothing():
    assert measurement(rd.PureDP(0.3)).map(0) == 0.0
    assert measurement(rd.ApproxDP(0.3, 1e-6)).map(0) == (0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.3, 0.7, 1 / 3, 0.19999999999999996, 1e-5, 12.3])
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_what_opendp_is_told_is_never_below_what_is_spent(epsilon, k):
    """OpenDP's floats mean themselves and ours their decimals, which may be larger."""
    pure = bridge.Accounted.of(rd.PureDP(epsilon))
    assert Fraction(pure.loss(k)) >= k * decimal(pure.spent.epsilon)
    assert pure.loss(1) == epsilon
    normal = bridge.Accounted.of(rd.GDP(epsilon))
    assert Fraction(normal.loss(k)) >= (k * decimal(normal.spent.mu)) ** 2 / 2
    zero = bridge.Accounted.of(rd.ZCDP(epsilon))
    assert Fraction(zero.loss(k)) >= k**2 * decimal(zero.spent.rho)


def test_the_group_bound_of_approximate_privacy_holds_for_its_worst_case():
    """Randomised response that fails with probability delta, k records apart: its delta at k epsilon is not above."""
    epsilon, delta, k = 0.5, 1e-3, 4
    stated = bridge.Accounted.of(rd.ApproxDP(epsilon, delta)).loss(k)
    heaviest = delta
    for _ in range(k - 1):  # P_i(S) <= e^epsilon P_(i+1)(S) + delta, chained
        heaviest = delta + math.exp(epsilon) * heaviest
    assert stated == (2.0, pytest.approx(heaviest, rel=1e-12))


# --- what is refused --------------------------------------------------------------------------------------------


def test_what_opendp_has_no_measure_for_is_refused():
    with pytest.raises(rd.MechanismError, match="OpenDP counts PureDP, ApproxDP, GDP and ZCDP"):
        measurement(rd.RDP(8.0, 0.5))


def test_a_group_whose_delta_says_nothing_is_refused():
    made = measurement(rd.ApproxDP(1.0, 1e-3))
    assert made.map(5)[1] < 1
    with pytest.raises(dp.OpenDPException, match="d_in = 8: delta of so many records together is not below 1"):
        made.map(8)


def test_another_number_of_records_is_refused():
    with pytest.raises(dp.OpenDPException, match=r"X has 199 records|domain"):
        measurement(rd.PureDP(1.0))(RECORDS[:-1])


def test_public_mistakes_are_refused_when_the_measurement_is_made():
    with pytest.raises(rd.InputError, match="mechanism"):
        measurement("epsilon=1", mechanism="magic")
    with pytest.raises(rd.MechanismError, match="Gaussian noise never gives PureDP"):
        measurement("epsilon=1", mechanism="wrapped-gaussian")
    with pytest.raises(TypeError, match="ledger"):
        measurement("epsilon=1", ledger=None)


def test_without_opendp_one_sentence_says_how_to_get_it(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "opendp"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        rd.InputError, match=r"^opendp is missing: install it with pip install .* in a clone of riemdp\.$"
    ):
        measurement("epsilon=1")


def test_domains_agree_by_number_and_space_alone():
    other = rd.Ball(rd.Sphere(2), [1.0, 0.0, 0.0], 0.25)
    assert bridge.records_domain(BALL, N) == bridge.records_domain(other, N)
    assert bridge.records_domain(BALL, N) != bridge.records_domain(BALL, N + 1)
    assert bridge.records_domain(BALL, N) != bridge.records_domain(rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0), N)
    assert bridge.records_domain(BALL, N).member(RECORDS)
    assert not bridge.records_domain(BALL, N).member(RECORDS[:-1])


# --- composed there as here ------------------------------------------------------------------------------------

PURE = [[0.2] * 5, [0.5, 0.25], [0.1, 0.2, 0.3, 0.4], [1.0]]
ZERO = [[0.1] * 10, [0.5, 0.125], [0.3, 0.03, 0.003]]
NORMAL = [[0.2] * 5, [0.5, 1.0, 0.25]]


def composed(guarantees):
    return dp.c.make_composition([measurement(g) for g in guarantees])


@pytest.mark.parametrize("strengths", PURE)
def test_pure_compositions_agree(strengths):
    guarantees = [rd.PureDP(e) for e in strengths]
    ours = rd.compose(guarantees, rd.PureDP(1.0)).epsilon
    assert ours <= composed(guarantees).map(1) <= ours * (1 + 1e-15 * len(strengths))


@pytest.mark.parametrize(("kind", "strengths"), [*((rd.ZCDP, s) for s in ZERO), *((rd.GDP, s) for s in NORMAL)])
def test_concentrated_compositions_agree(kind, strengths):
    guarantees = [kind(s) for s in strengths]
    ours = rd.compose(guarantees, rd.ZCDP(1.0)).rho
    assert ours * (1 - 1e-15) <= composed(guarantees).map(1) <= ours * (1 + 1e-15 * len(strengths))


def test_an_approximate_composition_agrees_with_basic_composition_and_ours_is_not_worse():
    guarantees = [rd.ApproxDP(0.25, 1e-6), rd.ApproxDP(0.5, 2e-6), rd.ApproxDP(0.25, 1e-7)]
    epsilon, delta = composed(guarantees).map(1)
    assert (epsilon, delta) == (1.0, pytest.approx(3.1e-6))
    assert rd.compose(guarantees, rd.ApproxDP(epsilon, 0.5)).delta <= delta


def test_a_composition_releases_all():
    first, second = composed(["epsilon=0.5", "epsilon=0.25"])(RECORDS)
    assert (first.guarantee.epsilon, second.guarantee.epsilon) == (0.5, 0.25)


def test_a_context_gives_out_its_budget_and_no_more():
    context = dp.Context.compositor(
        data=RECORDS, domain=bridge.records_domain(BALL, N), split_evenly_over=3,
        privacy_unit=(dp.change_one_distance(), 2), privacy_loss=(dp.max_divergence(), 1.0),
    )  # fmt: skip
    share = context.d_mids[0] / 2  # of a unit of two records
    released = [context(measurement(rd.PureDP(share))) for _ in range(3)]
    assert sum(decimal(r.guarantee.epsilon) for r in released) <= Fraction(1, 2)
    with pytest.raises(dp.OpenDPException):
        context(measurement(rd.PureDP(share)))


def test_an_odometer_counts_what_was_spent():
    odometer = dp.c.make_fully_adaptive_composition(
        bridge.records_domain(BALL, N), dp.change_one_distance(), dp.zero_concentrated_divergence()
    )(RECORDS)
    odometer(measurement(rd.GDP(0.5)))
    odometer(measurement(rd.ZCDP(0.25)))
    assert odometer.privacy_loss(1) == rd.compose([rd.GDP(0.5), rd.ZCDP(0.25)], rd.ZCDP(1.0)).rho == 0.375
    assert odometer.privacy_loss(2) == 4 * 0.375


def test_its_example_runs():
    assert doctest.testmod(bridge).attempted
    assert doctest.testmod(bridge).failed == 0
