"""Worthless releases are called so before anything is spent, from public numbers; useful ones, and simulations, never."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import riemdp as rd
from riemdp.statistics.mean import doubts

SPD3 = rd.SPDAffine(3)
BALL = rd.Ball(SPD3, np.eye(3), 1.5)
SPACES = [SPD3, rd.SPDLogEuclidean(4), rd.Sphere(2), rd.Hyperbolic(2), rd.KendallShapes(6), rd.Euclidean(5), rd.Product(rd.Sphere(2), rd.Euclidean(2))]
GUARANTEES = [rd.PureDP(0.01), rd.GDP(0.01), rd.ApproxDP(0.01, 1e-7), rd.ZCDP(1e-4), rd.RDP(2.0, 1e-4)]
USELESS = pytest.warns(rd.UselessRelease, match="more than the ball's radius")


def records(n=20):
    return SPD3.random_point(n, 0)


def two_labels(n=20):
    return np.arange(n) % 2


def ball_of(space):
    return rd.Ball(space, space.origin, min(0.4 * space.uniqueness_radius, 1.5))


# --- what is worthless ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_what_would_do_does_and_three_quarters_of_it_do_not(space, guarantee):
    """Flat and curved alike: the n and the budget that are named bring the error to half the radius, and no less do."""
    ball, n = ball_of(space), 15
    (doubt,) = doubts(ball, n, guarantee)
    assert doubt.is_grave
    assert all(row.expected_error > ball.radius for row in rd.plan(ball, n, guarantee) if row.mechanism != "kng")
    named = doubt.remedy()
    records = int(named.split("n = ")[1].split()[0].replace(",", ""))
    assert doubts(ball, records, guarantee) == []
    assert [d.is_grave for d in doubts(ball, int(0.75 * records), guarantee)] == [False]
    if " or " in named:
        name, _, value = named.split(" or ")[1].split()[:3]
        strong, weak = (guarantee.parameters | {name: share * float(value)} for share in (1.0, 0.75))
        assert doubts(ball, n, type(guarantee)(**strong)) == []
        assert len(doubts(ball, n, type(guarantee)(**weak))) == 1


def test_a_budget_that_protects_nobody_is_not_named():
    ball = rd.Ball(rd.SPDLogEuclidean(14), np.eye(14), 3.0)
    assert doubts(ball, 15, rd.PureDP(0.01))[0].remedy() == "n = 43,000 would bring that to 0.5 of the radius."


@pytest.mark.parametrize("share", [0.49, 0.51, 0.99, 1.01])
def test_more_than_half_of_the_radius_is_doubtful_and_more_than_all_of_it_is_grave(share):
    error = rd.plan(BALL, 1000, rd.GDP(1.0))[0].expected_error  # proportional to 1/mu
    found = doubts(BALL, 1000, rd.GDP(error / (share * 1.5)))
    assert [doubt.is_grave for doubt in found] == ([] if share < 0.5 else [share > 1])


@pytest.mark.parametrize(
    ("guarantee", "is_weak"),
    [
        (rd.PureDP(20.0), False), (rd.PureDP(20.1), True), (rd.ApproxDP(20.1, 1e-6), True), (rd.ApproxDP(5.0, 1e-6), False),
        (rd.GDP(11.7), False), (rd.GDP(11.8), True), (rd.ZCDP(19.9), False), (rd.ZCDP(20.1), True),
        (rd.RDP(2.0, 19.9), False), (rd.RDP(2.0, 20.1), True), (rd.RDP(1e6, 19.9), False),
    ],
    ids=repr,
)  # fmt: skip
def test_a_promise_that_follows_from_epsilon_20_is_none(guarantee, is_weak):
    texts = [doubt.text for doubt in doubts(BALL, 10_000, guarantee)]
    assert len(texts) == is_weak
    assert all("promises hardly anything" in text for text in texts)


def test_delta_above_one_in_n():
    assert doubts(BALL, 1000, rd.ApproxDP(1.0, 0.001)) == []
    (doubt,) = doubts(BALL, 1001, rd.ApproxDP(1.0, 0.001))
    assert doubt.is_grave
    assert "delta = 0.001 is above 1/n = 0.000999" in doubt.text


# --- who says so ------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    return rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(1.0))


def makers(ledger):
    ask = {"ball": BALL, "guarantee": rd.PureDP(0.1), "ledger": ledger}
    secret = {"private_labels": True, "classes": [0, 1]}
    return {
        "private_mean": lambda: rd.private_mean(records(), BALL, rd.PureDP(0.1), ledger=ledger),
        "sums": lambda: rd.private_mean_of_sums([rd.site_sum(records(), BALL, site="A", study="S")], rd.PureDP(0.1), ledger=ledger),
        "PrivateFrechetMean": lambda: rd.PrivateFrechetMean(**ask).fit(records()),
        "PrivateTangentSpace": lambda: rd.PrivateTangentSpace(**ask).fit(records()),
        "PrivateMDM": lambda: rd.PrivateMDM(**ask).fit(records(), two_labels()),
        "private labels": lambda: rd.PrivateMDM(**ask, **secret).fit(records(), two_labels()),
    }


@pytest.mark.parametrize("name", makers(None))
def test_everything_that_spends_warns_once_and_before(name, ledger):
    make = makers(ledger)[name]
    with USELESS as caught:
        make()
    assert len(caught) == 1
    assert caught[0].filename == __file__  # not a line of the package
    assert len(ledger.history()) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", rd.UselessRelease)
        with pytest.raises(rd.UselessRelease):
            make()
    assert len(ledger.history()) == 1


def test_the_smallest_class_decides(ledger):
    y = np.arange(2000) < 10
    model = rd.PrivateMDM(ball=BALL, guarantee=rd.PureDP(0.5), ledger=ledger)
    with pytest.warns(rd.UselessRelease, match="with n = 10,"):
        model.fit(records(2000), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(records(2000), two_labels(2000))


def test_useful_releases_and_simulations_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rd.private_mean(records(2000), BALL, rd.PureDP(0.5))
        rd.simulate(records(), BALL, rd.PureDP(0.01), size=2, seed=0)
        rd.plan(BALL, 20, rd.PureDP(0.01))
        rd.audit(BALL, n=5, guarantee=rd.PureDP(0.1), mechanism="wrapped-laplace", draws=2000)


def test_adaptation_that_does_nothing_says_so():
    with pytest.warns(rd.NoAdaptation, match="adapt does nothing") as caught:
        made = rd.private_mean(records(), BALL, rd.GDP(1.0), adapt=True)
    assert made.stages == ()
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rd.private_mean(records(3000), BALL, rd.GDP(1.0), adapt=True).stages


def test_a_forced_adaptation_of_a_worthless_release_is_worthless():
    with USELESS:
        rd.private_mean(records(), BALL, rd.GDP(0.05), adapt=rd.Adaptation(rounds=1))


def test_python_shows_it_on_the_line_of_the_user(tmp_path):
    script = tmp_path / "script.py"
    lines = ["import numpy as np, riemdp as rd", "ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)", "rd.private_mean(np.zeros((2, 1)), ball, rd.PureDP(0.1))"]
    script.write_text("\n".join(lines))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:3: UselessRelease: with n = 2, noise moves" in done.stderr


@pytest.mark.parametrize(
    ("release", "words"),
    [
        (lambda X, ball, **asked: rd.private_mean(X, ball, rd.PureDP(0.01), **asked), "moves the mean by"),
        (lambda X, ball, **asked: rd.private_median(X, ball, rd.PureDP(0.01), **asked), "moves the median by"),
    ],
)
def test_warnings_speak_of_whom_the_guarantee_protects_and_of_what_is_moved(release, words):
    X, ball = np.zeros((60, 3)), rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    with pytest.warns(rd.UselessRelease) as caught:
        release(X, ball, groups=np.arange(60) % 30, unit="person")
    text = str(caught[0].message)
    assert words in text
    assert "n = 30 people" in text
    assert "more people or spend more" in text
