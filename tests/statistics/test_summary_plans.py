"""What a summary would do is planned, simulated and audited with the second moments that are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from riemdp.statistics.moments import Moments

SPACE = rd.SPDAffine(3)
BALL = rd.Ball(SPACE, np.eye(3), 1.5)
PURE = rd.PureDP(1.0)
SECONDS = ["auto", "full", "diagonal", "trace"]
X = SPACE.random_point(1000, 0)
CALLS = {
    "plan": lambda **asked: rd.plan(BALL, 1000, PURE, **asked),
    "simulate": lambda **asked: rd.simulate(X, BALL, PURE, size=2, seed=0, **asked),
    "audit": lambda **asked: rd.audit(BALL, 100, PURE, draws=400, **asked),
}
calls = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def test_with_pure_privacy_the_trace_costs_nothing_and_full_moments_a_stated_share():
    errors = {second: rd.plan(BALL, 1000, PURE, statistic="summary", second=second)[0].expected_error for second in SECONDS}
    tangent = min(p.expected_error for p in rd.plan(BALL, 1000, PURE, statistic="tangent-mean"))
    assert errors["trace"] == tangent == pytest.approx(0.0194, abs=5e-5)
    assert errors["full"] == errors["auto"] == pytest.approx(0.0229, abs=5e-5)


@pytest.mark.parametrize("guarantee", [PURE, rd.GDP(1.0)], ids=str)
@pytest.mark.parametrize("second", SECONDS)
def test_a_plan_is_that_of_the_summary(second, guarantee):
    best = rd.plan(BALL, len(X), guarantee, statistic="summary", second=second)[0]
    summary = rd.private_summary(X, BALL, guarantee, second=second)
    assert (best.mechanism, best.scale, best.sensitivity) == (summary.mechanism, summary.scale, summary.sensitivity)
    assert best.expected_error == summary.expected_error


@pytest.mark.parametrize("second", SECONDS)
def test_adaptation_is_planned_with_it(second):
    asked = {"adapt": True, "spread": 0.2}
    rows = rd.plan(BALL, 1000, PURE, statistic="summary", second=second, **asked)
    assert rows == rd.plan(BALL, 1000, PURE, statistic=Moments(second), **asked)
    assert rows[0].rounds > 0
    full = rd.plan(BALL, 1000, PURE, statistic="summary", **asked)
    assert (rows[0].expected_error < full[0].expected_error) == (second == "trace")


@pytest.mark.parametrize("adapt", [False, True])
def test_a_simulation_has_the_noise_of_these_moments(adapt):
    asked = {"size": 3, "seed": 0, "adapt": adapt}
    full, trace = (rd.simulate(X, BALL, PURE, statistic="summary", second=second, **asked) for second in ("full", "trace"))
    assert np.array_equal(trace, rd.simulate(X, BALL, PURE, statistic=Moments("trace"), **asked))
    assert not np.array_equal(trace, full)


def test_an_audit_is_of_these_moments():
    full, trace = (CALLS["audit"](statistic="summary", second=second) for second in ("full", "trace"))
    assert trace.sensitivity == rd.plan(BALL, 100, PURE, statistic="summary", second="trace")[0].sensitivity
    assert trace.sensitivity < full.sensitivity


def test_in_an_ellipsoid_only_full_moments_are_planned():
    place = rd.Ellipsoid(SPACE, np.eye(3), [1.0, 1.0, 1.0, 0.5, 0.5, 0.5], 1.5)
    with pytest.raises(rd.InputError, match="second = 'trace' tells no spread in an Ellipsoid"):
        rd.plan(place, 1000, rd.GDP(1.0), statistic="summary", second="trace")


@calls
@pytest.mark.parametrize("statistic", ["frechet-mean", "tangent-mean", "geometric-median", Moments("full")], ids=lambda one: getattr(one, "name", one))
def test_only_a_summary_has_second_moments_to_choose(call, statistic):
    said = "second = 'trace' belongs to statistic = 'summary': pass that, or leave second out."
    with pytest.raises(rd.InputError) as refused:
        call(statistic=statistic, second="trace")
    assert str(refused.value) == said


@calls
@pytest.mark.parametrize("statistic", ["summary", "frechet-mean"])
@pytest.mark.parametrize("wrong", ["some", None, 1, True])
def test_what_is_no_choice_is_refused_in_the_words_of_the_summary(call, statistic, wrong):
    with pytest.raises(rd.InputError) as of_summary:
        rd.private_summary(X, BALL, PURE, second=wrong)
    with pytest.raises(rd.InputError) as refused:
        call(statistic=statistic, second=wrong)
    assert str(refused.value) == str(of_summary.value)
