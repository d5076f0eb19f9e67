"""Adaptive means: the shares add up to what was asked, every stage is on record and paid for before anything is read,
no data set breaks the guarantee or the release, and the error follows the spread.

All simulations are seeded; where a bound on an error is asserted, it leaves room for six standard errors and more.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp import randomness
from riemdp.audit import audit_draws
from riemdp.privacy import bounded
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation
from riemdp.releases.drawn import Drawn
from riemdp.statistics import adaptive
from riemdp.statistics.adaptation import FOOTPOINT, Adaptation, Allowance, divisible, split
from riemdp.statistics.adaptive import adaptive_for
from riemdp.statistics.bodies import into_ball
from riemdp.statistics.chance import Exact, Seeded
from riemdp.statistics.foresight import predicted
from riemdp.statistics.query import Query

sys.path.append(str(Path(__file__).parents[2]))
study = importlib.import_module("experiments.adaptation_study")

all_spaces = pytest.mark.parametrize("space", SPACES, ids=repr)
GUARANTEES = [rd.PureDP(1.0), rd.ApproxDP(1.0, 1e-6), rd.GDP(0.7), rd.ZCDP(0.2), rd.RDP(8.0, 1.5)]
guarantees = pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
PLANE = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)


def widest(space):
    return 0.9 * min(space.uniqueness_radius, 2.0)


def records_at(coords, ball, start=None):
    """Records with these coordinates at the point `start` (coordinates at the centre)."""
    space = ball.space
    base = ball.inner_center if start is None else space.exp_coords(np.asarray(start), ball.inner_center)
    return space.write(space.exp_coords(coords, np.broadcast_to(base, (len(coords), *base.shape))), ball.center)


def cloud(space, n, spread, rng):
    normal = rng.standard_normal((n, space.dim))
    return spread * normal / np.linalg.norm(normal, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / space.dim)


def clustered(space, n=1000, share=0.02, seed=0):
    """A small cluster away from the centre of the widest ball, and that ball."""
    ball = rd.Ball(space, space.random_point(1, 3)[0], widest(space))
    away = 0.4 * ball.radius * np.eye(space.dim)[0]
    return records_at(cloud(space, n, share * ball.radius, np.random.default_rng(seed)), ball, away), ball


def rms(points, mean, space):
    return math.sqrt(np.mean(space.dist(np.asarray(points), mean) ** 2))


# --- the budget ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", [*GUARANTEES, rd.GDP(1e-5), rd.PureDP(1e6), rd.ApproxDP(0.01, 0.3)], ids=repr)
@pytest.mark.parametrize("rounds", [1, 2, 3, 8])
def test_shares_compose_to_the_whole_and_waste_nothing(guarantee, rounds):
    """In exact fractions: sums of strengths (of squares for GDP) are at most the whole, and within 1e-12 of it."""
    for whole in divisible(guarantee):
        assert whole <= guarantee
        shares = split(whole, [0.03, 0.05] * rounds + [1 - 0.08 * rounds])
        power = 2 if isinstance(whole, rd.GDP) else 1
        strength = Fraction(repr(list(whole.parameters.values())[-1])) ** power
        total = sum(Fraction(repr(list(share.parameters.values())[-1])) ** power for share in shares)
        assert (1 - Fraction(1, 10**12)) * strength < total <= strength
        assert all(type(share) is type(whole) for share in shares)
        assert {share.parameters.get("alpha") for share in shares} == {whole.parameters.get("alpha")}
        assert rd.compose(shares, like=whole) <= guarantee


@guarantees
def test_the_stages_on_record_compose_to_the_guarantee(guarantee):
    X, ball = clustered(rd.Sphere(2))
    result = rd.private_mean(X, ball, guarantee, adapt=True)
    assert result.guarantee == guarantee
    assert len(result.stages) >= 3
    assert [stage.task for stage in result.stages] == ["centre", "radius"] * (len(result.stages) // 2) + ["mean"]
    like = next(whole for whole in divisible(guarantee) if type(whole) is type(result.stages[0].guarantee))
    assert rd.compose([stage.guarantee for stage in result.stages], like=like) <= guarantee
    assert result.stages[-1].scale == result.scale
    assert result.stages[-1].sensitivity == result.sensitivity


def test_on_every_path_the_stages_add_up_to_the_whole_and_no_more():
    """Rounds stop when the records say so: in exact fractions, each number of them spends all of it, and no more."""
    rng, counts = np.random.default_rng(0), set()
    for guarantee in (rd.GDP(1.0), rd.ZCDP(0.5), rd.PureDP(2.0)):
        for spread in (1e-6, 0.01, 0.3, 1.0):
            X = cloud(PLANE.space, 3000, spread, rng)
            stages = rd.private_mean(X, PLANE, guarantee, adapt=True).stages
            power = 2 if isinstance(guarantee, rd.GDP) else 1
            whole, *parts = (Fraction(repr(list(one.parameters.values())[-1])) ** power
                             for one in (guarantee, *(stage.guarantee for stage in stages)))  # fmt: skip
            assert (1 - Fraction(1, 10**12)) * whole < sum(parts) <= whole
            assert parts[-1] >= Fraction(2, 5) * whole
            counts.add(len(stages))
    assert len(counts) >= 3


LINE = rd.Ball(rd.Euclidean(1), [0.0], 1.0)


@pytest.mark.parametrize("guarantee", [rd.PureDP(1.0), rd.ApproxDP(1.0, 1e-6)], ids=repr)
def test_on_a_line_a_cheap_look_says_whether_a_radius_is_worth_its_price(guarantee):
    """Of 3,000 records that fill the ball, with e^-30 for another answer, and of equal ones, with 2^-20."""
    wide, equal = (rd.private_mean(X, LINE, guarantee, adapt=True)
                   for X in (np.linspace(-1, 1, 3000)[:, None], np.full((3000, 1), 0.3)))  # fmt: skip
    assert [stage.task for stage in wide.stages] == ["centre", "look", "mean"]
    assert wide.ball.radius == 1.0
    assert wide.clipping is None
    assert [stage.task for stage in equal.stages][:3] == ["centre", "look", "radius"]
    assert equal.ball.radius < 0.5
    for release in (wide, equal):
        whole, *parts = (Fraction(repr(one.epsilon)) for one in (rd.PureDP(1.0), *(stage.guarantee for stage in release.stages)))
        assert (1 - Fraction(1, 10**12)) * whole < sum(parts) <= (1 + Fraction(1, 10**4)) * whole  # delta 1e-6 is worth a little
        assert parts[1] == Fraction(2, 100)


def test_looks_are_left_out_where_radii_are_cheap_or_rounds_are_counted():
    for ball, guarantee, adapt in ((LINE, rd.GDP(1.0), True), (PLANE, rd.PureDP(1.0), True),
                                   (LINE, rd.PureDP(1.0), Adaptation(rounds=1))):  # fmt: skip
        assert adaptive_for(Query(ball, 3000, guarantee, adapt=adapt)).look == 0


def test_a_look_leaves_enough_for_the_mean():
    """Shares that would leave the least without it allow no round."""
    shares = Adaptation(center_share=0.35, radius_share=0.24)
    assert adaptive_for(Query(LINE, 3000, rd.PureDP(1.0), adapt=shares)) is None
    assert adaptive_for(Query(LINE, 3000, rd.GDP(1.0), adapt=shares)) is not None


MANY = rd.Ball(rd.Euclidean(45), np.zeros(45), 1.0)


def test_where_a_centre_would_be_noise_there_is_a_radius_around_the_given_one():
    """Records at half the radius: the ball shrinks onto them, for all that it leaves to the mean."""
    X = np.tile(0.5 * np.eye(1, 45), (1400, 1))
    release = rd.private_mean(X, MANY, rd.PureDP(1.0), adapt=True)
    assert [stage.task for stage in release.stages] == ["radius", "mean"]
    assert np.array_equal(release.stages[0].center, MANY.center)
    assert 0.4 < release.ball.radius < 0.8
    parts = [Fraction(repr(stage.guarantee.epsilon)) for stage in release.stages]
    assert 1 - Fraction(1, 10**12) < sum(parts) <= 1
    assert release.expected_error < 0.85 * rd.plan(MANY, 1400, rd.PureDP(1.0))[0].expected_error


@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0)], ids=repr)
@pytest.mark.parametrize(("dim", "n"), [(45, 20), (45, 150), (45, 5000), (1, 20), (3, 300)])
def test_a_radius_alone_is_for_few_records_of_many_numbers(guarantee, dim, n):
    """A centre is drawn where it is known to half of the radius; where no list of radii is worth its price, nothing."""
    ball = rd.Ball(rd.Euclidean(dim), np.zeros(dim), 1.0)
    how = adaptive_for(Query(ball, n, guarantee, adapt=True))
    assert how is None or not how.begins_with_radius


def test_a_radius_alone_costs_its_share_and_is_foreseen_to_gain_nothing():
    """How far the records are from the given centre is private: plans suppose the rim."""
    plain = rd.plan(MANY, 1400, rd.PureDP(1.0))[0].expected_error
    how = adaptive_for(Query(MANY, 1400, rd.PureDP(1.0), adapt=True))
    foreseen = predicted(how, spread=0.01)
    assert foreseen.rounds == 1
    assert foreseen.expected_error == pytest.approx(plain / 0.94, rel=1e-6)
    assert how.error_without_luck == pytest.approx(plain / 0.94, rel=1e-6)


@pytest.mark.parametrize("n", [600, 3000])
@pytest.mark.parametrize("kind", study.KINDS)
def test_records_that_fill_a_line_lose_little_with_pure_epsilon(kind, n):
    """At most 1.25 times the error of the plain release, the last noise averaged over instead of drawn."""
    X = study.into_unit_ball(study.KINDS[kind](n, 1, 1.0, np.random.default_rng(0)))
    how, records, chance = adaptive_for(Query(LINE, n, rd.PureDP(1.0), adapt=True)), Bounded(X, LINE), Seeded(np.random.default_rng(1))
    squares = []
    for _ in range(100):
        found = how.find(records, chance)
        moved = np.clip(X, found.body.ball.center - found.body.radius, found.body.ball.center + found.body.radius)
        noise = how.last_query(found.body, found.allowance.rest).plan().expected_error
        squares.append(noise**2 + float(moved.mean() - X.mean()) ** 2)
    assert math.sqrt(np.mean(squares)) < 1.25 * rd.plan(LINE, n, rd.PureDP(1.0))[0].expected_error


def test_noise_takes_the_shape_of_the_records_where_that_pays():
    """Long in one of eight directions, that of no axis: half the error of a ball; and round records get no shape."""
    rng, ball = np.random.default_rng(0), rd.Ball(rd.Euclidean(8), np.zeros(8), 20.0)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    long = rng.standard_normal((5000, 8)) * np.geomspace(3.0, 0.01, 8) @ turn.T
    shaped, even = (rd.simulate(long, ball, rd.GDP(1.0), adapt=way, size=30, seed=0) for way in (True, Adaptation(shape=False)))
    assert rms(shaped, long.mean(axis=0), ball.space) < 0.75 * rms(even, long.mean(axis=0), ball.space)
    release = rd.private_mean(long, ball, rd.GDP(1.0), adapt=True)
    assert release.stages[-1].axes is not None
    assert release.region(0.999999).contains(long.mean(axis=0) * 0 + release.value)
    assert rd.Release.from_dict(json.loads(json.dumps(release.to_dict()))).stages[-1].axes.shape == (8, 8)
    round_ones = rd.private_mean(rng.standard_normal((5000, 8)), ball, rd.GDP(1.0), adapt=True)
    assert round_ones.clipping > 0
    assert round_ones.expected_error < 1.3 * release.ball.radius


# --- accuracy --------------------------------------------------------------------------------------------

TYPICAL = [rd.Euclidean(3), rd.Sphere(2), rd.Hyperbolic(3), rd.SPDAffine(3), rd.SPDLogEuclidean(3), rd.KendallShapes(5),
           rd.Product(rd.Sphere(2), rd.Euclidean(2))]  # fmt: skip


@pytest.mark.parametrize("space", TYPICAL, ids=repr)
def test_the_error_follows_the_spread_and_is_as_predicted(space):
    """Spread 2 % of the ball: at least eight times less, and within a factor 1.5 of the prediction."""
    X, ball = clustered(space)
    mean = rd.frechet_mean(X, space).point
    plain = rd.plan(ball, len(X), rd.GDP(1.0))[0].expected_error
    predicted = rd.plan(ball, len(X), rd.GDP(1.0), adapt=True, spread=0.02 * ball.radius)[0]
    found = rms(rd.simulate(X, ball, rd.GDP(1.0), adapt=True, size=40, seed=0), mean, space)
    assert 2 <= predicted.rounds <= 8
    assert found < plain / 8
    assert 1 / 1.5 < found / predicted.expected_error < 1.5


@pytest.mark.parametrize("kind", ["rim", "clusters", "filled"])
@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0)], ids=repr)
def test_records_as_wide_as_the_ball_lose_little(kind, guarantee):
    """At most 1.5 times the error of the plain release, in two dimensions."""
    rng, n = np.random.default_rng(0), 2000
    X = cloud(PLANE.space, n, 1.0, rng)
    if kind == "rim":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "clusters":
        X = np.where(np.arange(n)[:, None] % 2, [1.0, 0.0], [-1.0, 0.0])
    plain = rd.plan(PLANE, n, guarantee)[0].expected_error
    found = rms(rd.simulate(X, PLANE, guarantee, adapt=True, size=150, seed=1), X.mean(axis=0), PLANE.space)
    assert found < 1.5 * plain


@pytest.mark.parametrize("label", range(4))
def test_descriptors_of_oct_images_gain_what_was_promised(label, shared_data):
    """Five times less error than in the ball of the papers, two and a half times less than in the tight one."""
    data = shared_data("oct_kermany28")
    descriptors = rd.covariance_descriptors(data["images"][data["labels"] == label], study.ETA)
    for guarantee in (rd.GDP(1.0), rd.ApproxDP(1.0, 1e-6)):
        for name, least in (("printed", 5.0), ("tight", 2.5)):
            records, ball = study.flattened(descriptors, study.balls(1)[name])
            assert study.gain(records, ball, guarantee, True, 8) >= least


@pytest.mark.parametrize("space", [rd.Correlations(2), rd.Sphere(2), rd.Euclidean(1)], ids=repr)
def test_equal_records_stop_where_a_point_in_float64_shows_no_more(space):
    """Noise is never less than 2^-44 of the given radius, and not much more: rounds got that far."""
    ball = rd.Ball(space, space.origin, 0.5)
    release = rd.private_mean(np.broadcast_to(space.origin, (500, *space.point_shape)), ball, rd.GDP(1.0), adapt=True)
    assert 2.0**-44 < release.expected_error / ball.radius < 2.0**-30


def test_a_ball_too_large_for_float64_is_no_obstacle():
    """No Fréchet mean can be computed everywhere in it, but in the private one it can."""
    space = rd.SPDAffine(3)
    ball = rd.Ball(space, np.eye(3), 30.0)
    X = records_at(cloud(space, 2000, 0.5, np.random.default_rng(0)), ball)
    with pytest.raises(rd.MechanismError):
        rd.private_mean(X, ball, rd.GDP(1.0))
    result = rd.private_mean(X, ball, rd.GDP(1.0), adapt=True)
    assert result.ball.radius < 3
    assert space.dist(result.value, rd.frechet_mean(X, space).point) < 0.1
    assert rd.plan(ball, 2000, rd.GDP(1.0), adapt=True, spread=0.5)[0].rounds >= 2


def test_centres_that_no_matrix_holds_are_pulled_back_in_wide_log_cholesky_balls():
    """Noise of the first centre makes Cholesky factors whose matrix does not tell them: many a mean was lost.

    Now the farthest of sixty is 0.013 away, and so it is of three hundred others.
    """
    space = rd.SPDLogCholesky(6)
    X, ball = space.random_point(3000, 0), rd.Ball.from_eigenvalue_bounds(space, 1e-12, 1e12)
    drawn = rd.simulate(X, ball, rd.GDP(1.0), adapt=True, size=60, seed=1)
    assert ball.radius > 1e6
    assert space.dist(drawn, rd.frechet_mean(X, space).point).max() < 0.2


def test_a_private_footpoint_alone_keeps_the_ball():
    """A.3.1 of the exponential-wrapped paper: in negative curvature far better than a footpoint far from the mean."""
    space = rd.Hyperbolic(3)
    ball = rd.Ball(space, space.origin, 8.0)
    X = records_at(cloud(space, 500, 0.5, np.random.default_rng(0)), ball, 6.0 * np.eye(3)[0])
    mean = rd.frechet_mean(X, space).point
    plain, moved = (rms(rd.simulate(X, ball, rd.GDP(1.0), adapt=way, size=60, seed=2), mean, space) for way in (False, FOOTPOINT))
    assert moved < plain / 3
    result = rd.private_mean(X, ball, rd.GDP(1.0), adapt=FOOTPOINT)
    assert [stage.task for stage in result.stages] == ["centre", "mean"]
    assert result.ball.radius == 8.0
    assert result.stages[0].guarantee.mu == pytest.approx(math.sqrt(0.1))
    assert result.stages[1].guarantee.mu == pytest.approx(math.sqrt(0.9))


# --- paranoid data ---------------------------------------------------------------------------------------


def paranoid(ball, n):
    """Data that fool the centre or the radius, by name."""
    axes = ball.radius * np.eye(ball.space.dim)
    rim = records_at(np.repeat(axes[:1], n, axis=0), ball)
    clusters = records_at(np.where(np.arange(n)[:, None] % 2 == 0, axes[0], -axes[0]), ball)
    outlier = records_at(np.where(np.arange(n)[:, None] < n // 3, axes[-1], 0 * axes[0]), ball)
    nothing = np.full_like(rim, np.nan)
    with np.errstate(all="ignore"):
        wild = np.concatenate([size * rim[: n // 4] for size in (np.inf, -1.0, 1e300, 5e-324)])
    return {"rim": rim, "clusters": clusters, "outlier": outlier, "nothing": nothing, "wild": wild}


@all_spaces
@pytest.mark.parametrize("name", ["rim", "clusters", "outlier", "nothing", "wild"])
def test_no_data_set_raises_warns_prints_or_leaves_the_space(space, name, capfd, caplog, recwarn):
    ball = rd.Ball(space, space.random_point(1, 3)[0], widest(space))
    X = paranoid(ball, 40)[name]
    for guarantee in (rd.GDP(2.0), rd.PureDP(0.5)):
        result = rd.private_mean(X, ball, guarantee, adapt=Adaptation(rounds=2))
        assert space.contains(result.value)
        for stage in result.stages:
            assert space.contains(stage.center)
            assert 0 < stage.radius <= ball.radius
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert {warning.category for warning in recwarn.list} <= {rd.UselessRelease}  # by public numbers: few records


def audited(space, name, size):
    """Claim GDP(4), two rounds, one record of paranoid data jumps across."""
    ball = rd.Ball(space, space.origin, 0.5 * widest(space))
    axis = ball.radius * np.eye(1, space.dim)
    one = paranoid(ball, 30)[name]
    pair = [np.concatenate([records_at(sign * axis, ball), one[1:]]) for sign in (1, -1)]
    ask = {"adapt": Adaptation(rounds=2), "size": size}
    draws = (np.asarray(rd.simulate(X, ball, rd.GDP(4.0), seed=seed, **ask)) for seed, X in enumerate(pair))
    coords = [space.log_coords(space.read(points, "draws"), ball.inner_center) for points in draws]
    return audit_draws(*coords, rd.GDP(4.0), confidence=1 - 1e-8)


@pytest.mark.parametrize(("name", "least"), [("rim", 0.3), ("clusters", 1.5), ("outlier", 1.5)])
def test_audits_find_no_breach_but_would_find_one(name, least):
    """1,000 draws of each neighbour prove more than a claim of `least` would allow."""
    found = audited(rd.Euclidean(1), name, 1000)
    assert found.holds
    assert found.lower["mu"] > least


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.SPDAffine(2), rd.KendallShapes(4)], ids=repr)
def test_nor_on_curved_spaces(space):
    found = audited(space, "clusters", 300)
    assert found.holds
    assert found.lower["mu"] > 0.5


def test_the_public_side_does_not_depend_on_where_the_ball_is():
    """Plans are found once for every radius: at the private centre they would be the same."""
    for space in TYPICAL:
        here, there = (rd.Ball(space, c, 0.3 * widest(space)) for c in (space.origin, space.random_point(1, 5)[0]))
        for statistic in ("frechet-mean", "tangent-mean"):
            plans = [Query(ball, 200, rd.GDP(1.0), statistic=statistic).plan() for ball in (here, there)]
            assert plans[0] == plans[1]


@all_spaces
def test_a_centre_outside_the_ball_is_moved_onto_it(space):
    ball = rd.Ball(space, space.random_point(1, 3)[0], 0.5 * widest(space))
    for factor in (0.5, 1.0, 1.5):
        coords = factor * ball.radius * np.eye(1, space.dim)
        moved = into_ball(Drawn(space.exp_coords(coords, ball.inner_center), None), ball)
        assert space.dist(moved, ball.center) == pytest.approx(min(factor, 1.0) * ball.radius, rel=1e-6)


# --- when it cannot help ---------------------------------------------------------------------------------


@guarantees
@pytest.mark.parametrize("n", [1, 2, 5])
def test_too_few_records_get_the_plain_release_for_the_whole_budget(guarantee, n):
    X = PLANE.space.random_point(n, 0)
    result, plain = (rd.private_mean(X, PLANE, guarantee, adapt=adapt) for adapt in (True, False))
    assert result.stages == ()
    assert (result.scale, result.mechanism) == (plain.scale, plain.mechanism)
    rows = rd.plan(PLANE, n, guarantee, adapt=True, spread=0.01)
    assert all(row.rounds == 0 and "cannot help" in row.note for row in rows)


def test_plan_says_when_the_spread_is_too_wide():
    narrow, wide = (rd.plan(PLANE, 1000, rd.GDP(1.0), adapt=True, spread=s) for s in (0.01, 1.0))
    assert narrow[0].rounds >= 2
    assert "private ball" in narrow[0].note
    assert wide[0].rounds == 0
    (adapted,) = [row for row in wide if row.rounds]
    assert "does not help" in adapted.note
    assert adapted.expected_error < 1.5 * wide[0].expected_error
    assert sorted(row.expected_error for row in wide) == [row.expected_error for row in wide]
    plain = [row.mechanism for row in rd.plan(PLANE, 1000, rd.GDP(1.0))]
    assert [row.mechanism for row in wide if not row.rounds] == plain


def test_predicted_errors_grow_with_the_spread():
    errors = [rd.plan(PLANE, 1000, rd.GDP(1.0), adapt=True, spread=s) for s in (0.0, 0.01, 0.1, 0.3, 1.0)]
    adapted = [next(row for row in rows if row.rounds).expected_error for rows in errors]
    assert adapted == sorted(adapted)
    assert adapted[-1] > 20 * adapted[0]


# --- one reservation -------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    return rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(1.5))


def test_one_entry_for_all_stages_on_disk_before_the_first_bit(ledger, monkeypatch):
    X, ball = clustered(rd.Sphere(2))
    seen, bits = [], randomness.secrets.randbits

    def watched(k):
        seen.append([entry.status for entry in rd.Ledger(ledger.path).history()])
        return bits(k)

    with monkeypatch.context() as patch:
        patch.setattr(randomness.secrets, "randbits", watched)
        result = rd.private_mean(X, ball, rd.GDP(1.0), adapt=True, ledger=ledger)
    assert all(statuses == ["reserved"] for statuses in seen)
    assert len(seen) > len(result.stages)
    (entry,) = ledger.history()
    assert (entry.status, entry.guarantee) == ("released", result.guarantee)
    assert entry.guarantee.assumptions == result.guarantee.assumptions
    assert entry.description == "frechet-mean of 1,000 records, auto, rounds of adaptation"


def test_what_the_budget_refuses_reads_nothing(ledger, monkeypatch):
    X, ball = clustered(rd.Sphere(2))
    monkeypatch.setattr(bounded, "_to_ball", lambda *_: pytest.fail("read"))
    monkeypatch.setattr(randomness.secrets, "randbits", lambda _: pytest.fail("drawn"))
    with pytest.raises(rd.BudgetExceeded):
        rd.private_mean(X, ball, rd.GDP(2.0), adapt=True, ledger=ledger)
    assert ledger.history() == []


def test_a_crash_between_the_stages_leaves_everything_spent(ledger, monkeypatch):
    def boom(*_):
        raise KeyboardInterrupt

    X, ball = clustered(rd.Sphere(2))
    monkeypatch.setattr(Bounded, "outside", boom)
    with pytest.raises(KeyboardInterrupt):
        rd.private_mean(X, ball, rd.GDP(1.0), adapt=True, ledger=ledger)
    assert [entry.status for entry in ledger.history()] == ["reserved"]
    assert ledger.spent.mu == 1.0


# --- what is left ----------------------------------------------------------------------------------------


@all_spaces
def test_saved_and_loaded_it_is_the_same(space, tmp_path):
    X, ball = clustered(space, n=60)
    result = rd.private_mean(X, ball, rd.GDP(2.0), adapt=Adaptation(rounds=1))
    result.save(tmp_path / "mean.json")
    loaded = rd.Release.load(tmp_path / "mean.json")
    assert loaded.to_dict() == result.to_dict()
    assert [stage.guarantee for stage in loaded.stages] == [stage.guarantee for stage in result.stages]
    assert loaded.ball.radius == result.stages[-1].radius


@pytest.mark.parametrize("adapt", [True, Adaptation(rounds=3)], ids=["as long as they pay", "three"])
def test_it_holds_nothing_private(adapt):
    """What it shows besides points, radii and what they imply is the same for any records.

    Radii imply how many rounds there are; each spends one of the public shares, whatever the records.
    """
    tame, wild = (rd.private_mean(X, PLANE, rd.GDP(1.0), adapt=adapt) for X in (np.zeros((500, 2)), np.full((500, 2), np.nan)))
    drawn = {"value", "stages", "scale", "sensitivity", "expected_error", "grid", "fill", "noisy"}
    assert {k: v for k, v in tame.to_dict().items() if k not in drawn} == {k: v for k, v in wild.to_dict().items() if k not in drawn}
    shown = [[(stage.task, stage.guarantee, stage.mechanism) for stage in release.stages] for release in (tame, wild)]
    if adapt is not True:
        assert shown[0] == shown[1]
    how = adaptive_for(Query(PLANE, 500, rd.GDP(1.0), adapt=adapt))
    everything, (center, radius) = Allowance.of(rd.GDP(1.0)), how.weights
    public = {("centre", everything.share(weight), "wrapped-gaussian") for weight in (center, adaptive.SETTLING)}
    public.add(("radius", everything.share(radius), "exponential"))
    assert set(shown[0][:-1]) | set(shown[1][:-1]) <= public


STAGE = {"center": [0.0, 0.0, 1.0], "guarantee": rd.GDP(0.5).to_dict(), "mechanism": "x", "radius": 0.1, "scale": 0.1,
         "sensitivity": 0.1, "task": "mean"}  # fmt: skip


@pytest.mark.parametrize(
    "stages",
    [None, {}, "x", 3, [None], [[]], [{}], [STAGE | {"extra": 1}], [{k: v for k, v in STAGE.items() if k != "task"}],
     *([STAGE | {name: bad}] for name in ("radius", "scale", "sensitivity") for bad in (0.0, -1.0, math.nan, math.inf, 1, "1", None, True)),
     *([STAGE | {"center": bad}] for bad in (None, [], [0.0, 0.0, 3.0], [math.nan] * 3, "x")),
     *([STAGE | {"guarantee": bad}] for bad in (None, {}, 1, {"type": "GDP"})),
     *([STAGE | {name: bad}] for name in ("task", "mechanism") for bad in (None, 1, []))],
)  # fmt: skip
def test_corrupted_stages_are_refused(stages):
    data = rd.private_mean(np.ones((5, 3)), rd.Ball(rd.Sphere(2), [0, 0, 1], 0.3), rd.GDP(2.0)).to_dict()
    assert rd.Release.from_dict(data | {"stages": [STAGE]}).stages[0].radius == 0.1
    with pytest.raises(rd.InputError):
        rd.Release.from_dict(json.loads(json.dumps(data | {"stages": stages})))


# --- simulations -----------------------------------------------------------------------------------------


def test_simulations_repeat_themselves_and_are_marked():
    X, ball = clustered(rd.KendallShapes(4), n=300)
    one, two, other = (rd.simulate(X, ball, rd.GDP(1.0), adapt=True, size=3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert one.shape == (3, *ball.space.point_shape)
    assert one.is_release is False


def test_releases_and_simulations_have_the_same_law():
    """Radii of 150 releases and 400 simulated ones, and errors; two-sample tests at 1e-8, fixed seed on one side only."""
    from scipy import stats

    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((300, 2)) + [0.3, 0.0]
    mean = X.mean(axis=0)
    how = adaptive_for(Query(PLANE, 300, rd.GDP(1.0), adapt=Adaptation(rounds=1)))
    records = Bounded(X, PLANE)
    exact, seeded = ([round(-6 * math.log2(how.find(records, chance).body.radius)) for _ in range(size)]
                     for chance, size in ((Exact(Reservation(rd.GDP(1.0))), 150), (Seeded(rng), 400)))  # fmt: skip
    table = np.array([np.bincount(depths, minlength=60) for depths in (exact, seeded)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-8
    releases = [rd.private_mean(X, PLANE, rd.GDP(1.0), adapt=Adaptation(rounds=1)).value for _ in range(100)]
    simulated = rd.simulate(X, PLANE, rd.GDP(1.0), adapt=Adaptation(rounds=1), size=300, seed=0)
    errors = [np.linalg.norm(np.asarray(points) - mean, axis=1) for points in (releases, simulated)]
    assert stats.ks_2samp(*errors).pvalue > 1e-8
    assert stats.ks_2samp(3 * errors[0], errors[1]).pvalue < 1e-8


# --- wrong arguments -------------------------------------------------------------------------------------

SPHERE, ONES = rd.Ball(rd.Sphere(2), [0, 0, 1], 0.5), np.ones((4, 3))
WRONG = [
    ({"adapt": "yes"}, rd.InputError, "adapt"),
    ({"adapt": 1}, rd.InputError, "adapt"),
    ({"adapt": None}, rd.InputError, "adapt"),
    ({"adapt": True, "footpoint": [0, 0, 1]}, rd.InputError, "footpoint"),
    ({"adapt": True, "calibration": "classical", "guarantee": rd.ApproxDP(0.5, 1e-6)}, rd.MechanismError, "calibration"),
    ({"adapt": True, "mechanism": "extrinsic-laplace"}, rd.MechanismError, "baseline"),
    ({"adapt": True, "mechanism": "laplace"}, rd.InputError, "mechanism"),
    ({"adapt": True, "mechanism": "wrapped-gaussian"}, rd.MechanismError, "PureDP"),
    ({"adapt": Adaptation(rounds=1), "mechanism": "wrapped-gaussian"}, rd.MechanismError, "PureDP"),
    ({"adapt": FOOTPOINT, "mechanism": "riemannian-laplace"}, rd.MechanismError, "footpoint"),
    ({"adapt": True, "guarantee": 1.0}, rd.InputError, "guarantee"),
    ({"adapt": True, "ball": None}, rd.InputError, "ball"),
    ({"adapt": True, "ball": rd.Ball(rd.Sphere(2), [0, 0, 1], 1.5)}, rd.MechanismError, "radius"),
    ({"adapt": True, "statistic": "median"}, rd.InputError, "statistic"),
]


@pytest.mark.parametrize(("wrong", "error", "word"), WRONG)
def test_wrong_arguments_are_refused_before_anything_is_read_or_spent(wrong, error, word, tmp_path, monkeypatch):
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.ApproxDP(5.0, 1e-3))
    monkeypatch.setattr(bounded, "_to_ball", lambda *_: pytest.fail("read"))
    with pytest.raises(error, match=word) as caught:
        rd.private_mean(**{"X": ONES, "ball": SPHERE, "guarantee": rd.PureDP(1.0), "ledger": ledger} | wrong)
    assert "\n" not in str(caught.value)
    assert ledger.history() == []


@pytest.mark.parametrize(
    "options",
    [{"rounds": 0}, {"rounds": 9}, {"rounds": 1.0}, {"rounds": True}, {"center_share": 0.0}, {"center_share": 1.0},
     {"center_share": "x"}, {"radius_share": -0.1}, {"radius_share": math.nan}, {"radius_share": 0.0},
     {"rounds": 2, "radius_share": 0.0}, {"rounds": 8, "center_share": 0.1, "radius_share": 0.1},
     {"spare": -1.0}, {"spare": math.inf}, {"center_share": 0.6, "radius_share": 0.5}],
)  # fmt: skip
def test_wrong_options_are_refused(options):
    with pytest.raises(rd.InputError):
        Adaptation(**options)


@pytest.mark.parametrize("shares", [{"center_share": 0.2, "radius_share": 0.2}, {"center_share": 0.45, "radius_share": 0.05}])
def test_shares_too_large_for_several_rounds_still_allow_one(shares):
    result = rd.private_mean(np.zeros((2000, 2)), PLANE, rd.GDP(1.0), adapt=Adaptation(**shares))
    assert 0 < len(result.stages) // 2 <= 2


@pytest.mark.parametrize("spread", [None, -1.0, math.nan, "wide", True])
def test_plan_with_adaptation_needs_a_spread(spread):
    with pytest.raises(rd.InputError, match="spread"):
        rd.plan(PLANE, 100, rd.GDP(1.0), adapt=True, spread=spread)


@pytest.mark.parametrize("mechanism", ["wrapped-laplace", "riemannian-laplace", "kng"])
@pytest.mark.parametrize("statistic", ["frechet-mean", "tangent-mean"])
def test_the_last_release_is_the_one_asked_for(mechanism, statistic):
    X, ball = clustered(rd.Sphere(2), n=400)
    ask = {"adapt": Adaptation(rounds=1), "mechanism": mechanism, "statistic": statistic}
    if statistic == "tangent-mean" and mechanism != "wrapped-laplace":
        with pytest.raises(rd.MechanismError, match="statistic"):
            rd.private_mean(X, ball, rd.PureDP(2.0), **ask)
        return
    result = rd.private_mean(X, ball, rd.PureDP(2.0), **ask)
    assert (result.mechanism, result.statistic) == (mechanism, statistic)
    supposed = set(replace(result.guarantee).assumptions)
    assert any("idealized" in text for text in supposed) is (mechanism == "kng")
