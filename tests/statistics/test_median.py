"""The private median: what it is, that outliers do not matter, that its stages spend what was asked for.

Draws are seeded, or of the operating system with bounds that fail by chance with probability below 1e-9.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import riemdp as rd
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.chance import Seeded
from riemdp.statistics.median import LONG, PURE, USUAL, Median, Pulls
from riemdp.statistics.quantile import STEPS

SPACES = [
    rd.Euclidean(1), rd.Euclidean(3), rd.SPDAffine(2), rd.SPDLogEuclidean(2), rd.SPDLogCholesky(2), rd.Sphere(2),
    rd.Hyperbolic(2), rd.KendallShapes(4), rd.Rotations(), rd.HPDAffine(2), rd.Correlations(3),
    rd.Product(rd.Euclidean(1), rd.Sphere(2)), rd.HPDLogEuclidean(2), rd.RigidMotions(1.0), rd.Grassmann(4, 2),
    rd.Torus(3), rd.Simplex(4), rd.Hyperbolic(2, model="poincare"),
]  # fmt: skip


def ball_of(space: rd.Space) -> rd.Ball:
    return rd.Ball(space, space.origin, 0.9 * min(space.uniqueness_radius, 3.0))


def points_near(space: rd.Space, coords: np.ndarray) -> np.ndarray:
    """Points with these coordinates at the origin."""
    return space.exp(space.from_coordinates(coords, space.origin), space.origin)


def records(ball: rd.Ball, n: int, seed: int = 0) -> np.ndarray:
    """Around a point a third of the way to the rim, spread over a tenth of the radius."""
    rng, dim = np.random.default_rng(seed), ball.space.dim
    normal = rng.standard_normal((n, dim)) / np.sqrt(dim)
    return points_near(ball.space, ball.radius * (0.3 * np.eye(dim)[0] + 0.1 * normal))


def geometric_median(X: np.ndarray, space: rd.Space, start: np.ndarray) -> np.ndarray:
    """By Weiszfeld's steps, without privacy: an independent reference."""
    for _ in range(100):
        logs = space.coordinates(space.log(X, start), start)
        weights = 1 / np.maximum(np.linalg.norm(logs, axis=1), 1e-12)
        start = space.exp(space.from_coordinates(weights @ logs / weights.sum(), start), start)
    return start


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_on_every_space_it_is_the_geometric_median_up_to_the_predicted_noise(space):
    ball = ball_of(space)
    X = records(ball, 600)
    found = rd.simulate(X, ball, rd.GDP(2.0), size=2, seed=1, statistic="geometric-median")
    exact = geometric_median(X, space, space.origin)
    half = float(np.median(space.dist(X, exact)))
    predicted = Median(ball, 600, rd.GDP(2.0)).plan_for(half).expected_error
    assert predicted < 0.05 * half * space.dim
    assert np.all(space.dist(np.asarray(found), exact) < 4 * predicted + 0.02 * half)


def test_noise_has_the_predicted_size_and_not_half_of_it():
    ball = ball_of(rd.Euclidean(3))
    X, median = records(ball, 1000), Median(ball, 1000, rd.GDP(0.5))
    exact = geometric_median(X, ball.space, np.zeros(3))
    draws = rd.simulate(X, ball, rd.GDP(0.5), size=30, seed=3, statistic="geometric-median")
    error = np.sqrt(np.mean(np.sum((draws - exact) ** 2, axis=1)))
    predicted = median.plan_for(float(np.median(np.linalg.norm(X - exact, axis=1)))).expected_error
    assert 0.7 < error / predicted < 1.4


@pytest.mark.parametrize("space", [rd.SPDAffine(2), rd.Sphere(2), rd.Euclidean(5)], ids=repr)
def test_one_sided_outliers_move_it_less_than_a_third_of_what_they_do_to_the_adaptive_mean(space):
    ball, n = ball_of(space), 800
    X = records(ball, n)
    clean = geometric_median(X, space, space.origin)
    X[: n // 10] = points_near(space, -0.999 * ball.radius * np.eye(space.dim)[0])
    median = rd.simulate(X, ball, rd.GDP(1.0), size=3, seed=0, statistic="geometric-median")
    mean = rd.simulate(X, ball, rd.GDP(1.0), size=3, seed=0, adapt=True)
    errors = [float(np.sqrt(np.mean(space.dist(np.asarray(one), clean) ** 2))) for one in (median, mean)]
    assert errors[0] < errors[1] / 3


def test_without_outliers_it_is_at_most_1_6_times_as_noisy_as_the_mean():
    ball, n = ball_of(rd.SPDLogEuclidean(2)), 600
    X = records(ball, n)
    draws = {"geometric-median": False, "frechet-mean": True}
    noise = [
        np.std(ball.space.coordinates(ball.space.log(np.asarray(found), ball.center), ball.center), axis=0)
        for name, adapt in draws.items()
        for found in [rd.simulate(X, ball, rd.GDP(1.0), size=15, seed=5, statistic=name, adapt=adapt)]
    ]
    assert np.linalg.norm(noise[0]) < 1.6 * np.linalg.norm(noise[1])  # of the adaptive one: the other has more


# --- privacy ------------------------------------------------------------------------------------------------------


def test_a_pull_moves_the_mean_gradient_by_two_over_n_and_this_is_sharp():
    ball, n = ball_of(rd.Sphere(2)), 10
    rng, pulls = np.random.default_rng(0), Pulls(ball, 1e-6)
    place, most = np.zeros(3), 0.0
    for _ in range(60):
        rows = rng.standard_normal((n + 1, 2)) * ball.radius
        rows[1] = -rows[0] * rng.uniform(0.01, 1)
        X = points_near(ball.space, rows * np.minimum(1, ball.radius / np.linalg.norm(rows, axis=1))[:, None])
        first, second = (pulls.mean_gradient(Bounded(Y, ball), place) for Y in (X[:-1], np.delete(X, 0, axis=0)))
        swapped = pulls.mean_gradient(Bounded(np.concatenate([X[1:2], X[1:-1]]), ball), place)
        most = max(most, *(float(np.linalg.norm(first - other)) for other in (second, swapped)))
    allowed = Median(ball, n, rd.GDP(1.0)).approach.plans()[0].sensitivity
    assert 0.99 * allowed < most <= allowed
    assert most > allowed / 2  # a bound for one that is added or removed would be too small


@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0), rd.ZCDP(0.5), rd.ApproxDP(1.0, 1e-6), rd.RDP(3.0, 1.0)])
def test_shares_compose_to_what_was_asked_for_and_no_more(guarantee):
    median = Median(ball_of(rd.Euclidean(2)), 1000, guarantee)
    together = rd.compose(median.shares, like=median.whole)
    assert median.whole.implies(guarantee)
    assert together.parameters == pytest.approx(median.whole.parameters, rel=1e-12)
    assert median.whole.implies(together) or together.implies(median.whole)
    settle, average = median.settling(0.1)
    used = [*median.approach.shares, median.shares[median.schedule.approach], *settle.shares, *average.shares]
    assert used == median.shares  # each of them once, in order: not one step too many


@pytest.mark.parametrize("schedule", [USUAL, LONG, PURE])
def test_the_weights_of_a_schedule_add_up_to_one(schedule):
    assert sum(schedule.weights) == pytest.approx(1)
    assert len(schedule.weights) == schedule.approach + 1 + schedule.settle + schedule.average


def test_every_draw_of_a_release_is_paid_for_by_its_stage():
    ball = ball_of(rd.Euclidean(2))
    release = rd.private_median(records(ball, 500), ball, rd.GDP(1.0))
    assert len(release.stages) == len(LONG.weights)
    spent = rd.compose([stage.guarantee for stage in release.stages], like=rd.GDP(1.0))
    assert rd.GDP(1.0).implies(spent)
    assert spent.mu > 0.999
    for stage in release.stages:
        if stage.mechanism == "wrapped-gaussian":
            assert stage.scale * stage.guarantee.mu >= stage.sensitivity >= 2 / 500
    assert not any("rounding" in text for text in release.guarantee.assumptions)


def test_one_ledger_entry_which_is_refused_before_anything_is_drawn(tmp_path):
    ball = ball_of(rd.Euclidean(2))
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.2))
    rd.private_median(records(ball, 500), ball, rd.GDP(1.0), ledger=ledger, note="rats")
    assert [entry.guarantee.mu for entry in ledger.history()] == [1.0]
    with pytest.raises(rd.BudgetExceeded):
        rd.private_median(records(ball, 500), ball, rd.GDP(1.0), ledger=ledger)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, 5e-324])
def test_values_of_records_never_raise_and_count_as_a_record(bad):
    ball = ball_of(rd.Euclidean(2))
    X = records(ball, 300)
    X[:3] = bad
    assert rd.private_median(X, ball, rd.PureDP(1.0)).n == 300
    Y = np.where(np.isfinite(X) & (np.abs(X) < 1e200), X, 0.0)
    same = [rd.simulate(Z, ball, rd.GDP(1.0), size=1, seed=0, statistic="geometric-median") for Z in (X, Y)]
    if bad != 1e300:  # which is moved to the rim, not to the centre
        assert np.array_equal(*same) or abs(bad) == np.inf or bad == 5e-324


def test_the_bits_do_not_depend_on_where_the_records_are(tmp_path):
    ball = ball_of(rd.SPDAffine(2))
    np.save(tmp_path / "X.npy", X := records(ball, 700))
    pulls, place = Pulls(ball, 0.1), np.append(0.1 * np.eye(3)[0], 0.5)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.array_equal(*(pulls.mean_gradient(Bounded(one, ball), place) for one in (X, stored)))


def test_points_that_noise_carries_away_stay_in_the_ball():
    for space in SPACES:
        ball = ball_of(space)
        point = Pulls(ball, 0.1).moved(np.zeros(space.dim + 1) + 0.1, Visible(np.full(space.dim, 1e150)))
        assert np.linalg.norm(point[:-1]) <= ball.radius * (1 + 1e-12)


def test_all_of_it_is_refused_before_anything_is_spent(tmp_path):
    ball, X = ball_of(rd.Euclidean(2)), np.zeros((10, 2))
    for width in (0.0, -1.0, np.nan, "wide"):
        with pytest.raises(rd.InputError, match="width"):
            rd.private_median(X, ball, rd.GDP(1.0), width=width)
    with pytest.raises(rd.InputError, match="leave it out"):
        rd.plan(ball, 100, rd.GDP(1.0), statistic="geometric-median", adapt=True)
    with pytest.raises(rd.InputError, match="geometric-median"):
        rd.plan(ball, 100, rd.GDP(1.0), statistic="median")
    with pytest.warns(rd.UselessRelease, match="noise"):
        rd.private_median(X, ball, rd.GDP(0.01))


def test_the_plan_scales_as_it_should():
    ball, plan = ball_of(rd.Euclidean(3)), partial(rd.plan, statistic="geometric-median")
    errors = [plan(ball, n, rd.GDP(1.0), spread=spread)[0].expected_error for n, spread in [(1000, 1), (2000, 1), (1000, 2)]]
    assert errors[0] / errors[1] == pytest.approx(2, rel=1e-6)
    assert errors[2] / errors[0] == pytest.approx(2, rel=1e-6)


def test_a_wide_width_gives_the_mean():
    ball = ball_of(rd.Euclidean(2))
    X = records(ball, 800) + np.random.default_rng(0).exponential(0.3, (800, 1))
    median = Median(ball, 800, rd.GDP(50.0), width=100.0)
    found = median.simulate(Bounded(X, ball), np.random.default_rng(0), 1)
    assert np.allclose(found, X.mean(axis=0), atol=0.02)
    sharp = replace(median, width=None).simulate(Bounded(X, ball), np.random.default_rng(0), 1)
    assert np.linalg.norm(sharp - X.mean(axis=0)) > 0.04  # as the median of skew data is


def test_the_distance_is_the_median_distance():
    ball, n = ball_of(rd.Euclidean(3)), 1000
    X, median = records(ball, n), Median(ball, n, rd.GDP(1.0))
    exact = float(np.median(np.linalg.norm(X - np.median(X, axis=0), axis=1)))
    rng, given = np.random.default_rng(0), Bounded(X, ball)
    told = [float(median.find(given, Seeded(rng)).stages[LONG.approach].task.split()[1]) for _ in range(9)]
    assert 2 ** (-2 / STEPS) < np.median(told) / exact < 2 ** (2 / STEPS)  # each step up is a third as likely
    assert all(min(abs(step / one - 1) for step in median.distances) < 1e-5 for one in told)


def test_a_ball_that_is_a_hundred_thousand_times_too_wide_costs_nothing_where_records_are_many():
    normal, draws = np.random.default_rng(0).standard_normal((1000, 3)), []
    for radius in (10.0, 1e5):
        ball, X = rd.Ball(rd.Euclidean(3), np.zeros(3), radius), normal + [0.3 * radius, 0.0, 0.0]
        exact = geometric_median(X, ball.space, X.mean(axis=0))
        draws.append(rd.simulate(X, ball, rd.GDP(1.0), size=8, seed=0, statistic="geometric-median") - exact)
    errors = [np.sqrt(np.mean(np.sum(one**2, axis=1))) for one in draws]
    assert errors[1] < 1.5 * errors[0] < 0.05
    assert Median(ball, 1000, rd.GDP(1.0)).schedule is LONG
    assert Median(ball, 100, rd.GDP(1.0)).schedule is USUAL  # pulls would drown in noise


def test_steps_stay_stable_if_the_distance_is_twice_too_long():
    ball = ball_of(rd.Euclidean(5))
    X, median = records(ball, 1000), Median(ball, 1000, rd.GDP(50.0))
    exact = geometric_median(X, ball.space, np.zeros(5))
    half = float(np.median(np.linalg.norm(X - exact, axis=1)))
    away = np.append(exact + 0.3 * half * np.eye(5)[0], median._step(2 * half))
    settle, _ = median.settling(2 * half)
    end = settle.run(Bounded(X, ball), Seeded(np.random.default_rng(0)), away).point[:-1]
    assert np.linalg.norm(end - exact) < 0.1 * half
    longer = np.append(away[:-1], median._newton(2.2 * half))  # the control: as long as Newton's would be
    assert np.linalg.norm(settle.run(Bounded(X, ball), Seeded(np.random.default_rng(0)), longer).point[:-1] - exact) > 0.1 * half


@pytest.mark.parametrize(("guarantee", "noise"), [(rd.GDP(1.0), "wrapped-gaussian"), (rd.PureDP(1.0), "wrapped-laplace")])
def test_the_mechanism_may_be_named_if_it_is_the_right_one(guarantee, noise):
    X, ball = np.zeros((2000, 2)), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    assert rd.private_median(X, ball, guarantee, mechanism=noise, adapt=True).mechanism == noise
    fit = rd.private_regression(X, np.zeros(2000), ball, guarantee, t_bounds=(-1, 1), mechanism=noise)
    assert fit.mechanism == noise
    for release in (rd.private_median, partial(rd.private_regression, t=np.zeros(2000), t_bounds=(-1, 1))):
        with pytest.raises(rd.MechanismError, match=f"has '{noise}' noise"):
            release(X, ball=ball, guarantee=guarantee, mechanism="kng")
        with pytest.raises(rd.InputError, match="mechanism = 'loud'"):
            release(X, ball=ball, guarantee=guarantee, mechanism="loud")
    with pytest.raises(rd.InputError, match="adapt = 3"):
        rd.private_median(X, ball, guarantee, adapt=3)
