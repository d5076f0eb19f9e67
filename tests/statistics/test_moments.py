"""Moments in one release: the theorems by search, exact sums, laws, and what is made of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import optimize, stats

import riemdp as rd
from riemdp.kernels.products import MOST_PRODUCTS, sums_of_products, sums_of_squares, upper_triangle
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE
from riemdp.privacy.bounded import BEND, SECOND_MOMENTS, Bounded, _bent, _to_ball
from riemdp.statistics.adaptive import REACH_OF_SPREAD
from riemdp.statistics.base import ROUNDING, linear_sensitivity
from riemdp.statistics.intrinsic import TangentMean
from riemdp.statistics.moments import LARGEST_FULL, Moments
from riemdp.statistics.prepared import prepare
from riemdp.statistics.query import Query

KINDS = list(SECOND_MOMENTS)
FLAT = rd.Ball(rd.Euclidean(3), np.zeros(3), 2.0)
NOISES = {"gaussian": WRAPPED_GAUSSIAN, "laplace": WRAPPED_LAPLACE}


def moments(kind, noise="gaussian"):
    return Moments(kind, NOISES[noise])


# --- the theorems, by search over all pairs of vectors of the unit ball --------------------------------------------


def change(v, w, kind, weights, norm):
    """What replacing v by w does to n (M1, M2/c, tr M2/b), in the norm of the noise; M2 with Frobenius' norm."""
    difference, (c, b) = np.outer(v, v) - np.outer(w, w), weights
    matrix = {"full": difference, "diagonal": np.diag(difference), "trace": np.zeros(1)}[kind]
    first, second = np.linalg.norm(v - w), math.hypot(np.linalg.norm(matrix) / c, np.trace(difference) / b)
    return math.hypot(first, second) if norm == "gaussian" else first + second


def into_unit_ball(x):
    v, w = x.reshape(2, -1)
    return [u / max(1.0, np.linalg.norm(u)) for u in (v, w)]


def weights_of(statistic):
    ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    return statistic.weight(ball), statistic.weight_of_trace(ball)


def largest_change(kind, weights, norm, dim=3):
    """The largest of many random pairs and of what an optimiser makes of the best of them."""
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((4000, 2, dim))
    pairs *= (rng.random((4000, 2, 1)) ** (1 / 6) / np.linalg.norm(pairs, axis=2, keepdims=True)) * 1.2
    found = [change(*into_unit_ball(pair.ravel()), kind, weights, norm) for pair in pairs]
    starts = pairs[np.argsort(found)[-8:]]
    ends = [
        -optimize.minimize(lambda x: -change(*into_unit_ball(x), kind, weights, norm), start.ravel(), method="Nelder-Mead",
                           options={"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-13}).fun
        for start in starts
    ]  # fmt: skip
    return max([*found, *ends])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", NOISES)
def test_no_pair_of_records_moves_the_moments_farther_than_proved_and_some_do_as_far(kind, noise):
    ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    statistic = moments(kind, noise)
    claimed = statistic.sensitivity(ball, 1, np.zeros(3))
    found = largest_change(kind, weights_of(statistic), noise)
    assert found <= claimed
    assert found > claimed * (1 - 1e-6)


@pytest.mark.parametrize("smaller", [(0.9, 1.0), (1.0, 0.9)])
@pytest.mark.parametrize(("kind", "noise"), [("full", "gaussian"), ("diagonal", "gaussian"), ("trace", "gaussian"), ("trace", "laplace")])
def test_a_weight_smaller_by_a_tenth_is_not_for_nothing(kind, noise, smaller):
    """The control of the search: it sees that no smaller weight would do, of the matrix or of the trace."""
    weights = np.multiply(weights_of(moments(kind, noise)), smaller)
    if kind == "trace" and smaller[1] == 1.0:  # there is no matrix
        assert largest_change(kind, weights, noise) <= 2.0 + 1e-9
    else:
        assert largest_change(kind, weights, noise) > 2.005


@pytest.mark.parametrize("c", [0.2, 0.7, 1.2])
def test_smaller_weights_have_the_sensitivity_that_the_proof_states(c):
    stated = math.sqrt(2) / c + c / math.sqrt(2)
    assert largest_change("full", (c, math.inf), "gaussian") == pytest.approx(stated, rel=1e-6)


def test_weights_are_not_below_the_constants_of_the_theorems():
    for radius in (1e-100, 0.3, 1.0, 7.7, 1e100):
        ball = rd.Ball(rd.Euclidean(3), np.zeros(3), radius)
        exact = Fraction(radius) ** 2
        assert Fraction(moments("full").weight(ball)) ** 2 >= 2 * exact
        golden = Fraction(moments("trace").weight_of_trace(ball)) ** 2 / exact + 22  # >= 10 sqrt5
        assert golden**2 >= 500
        assert golden**2 < 500 * (1 + Fraction(1, 2**40))
        along = 8 * exact / Fraction(moments("full").weight_of_trace(ball)) ** 2 - 7  # <= 5 sqrt5
        assert 125 * (1 - Fraction(1, 2**40)) < along**2 <= 125
        beside = Fraction(float(moments("full").weights(ball)[-2]))
        assert 2 * beside**2 >= Fraction(moments("full").weight(ball)) ** 2
        assert moments("trace", "laplace").weight_of_trace(ball) == 2 * radius


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 20, 10**6, 2**53])
def test_the_mean_of_a_summary_costs_what_a_mean_costs_to_the_last_bit(kind, n):
    for ball in (FLAT, rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.5), rd.Ball(rd.SPDAffine(2), np.eye(2), 50.0)):
        none = np.zeros(ball.space.dim)
        expected = TangentMean().sensitivity(ball, n, none)
        assert moments(kind).sensitivity(ball, n, none) == expected == linear_sensitivity(ball, n)
        assert moments("trace", "laplace").sensitivity(ball, n, none) == expected
    plans = [rd.plan(FLAT, n, rd.GDP(1.0), statistic=name)[0] for name in ("summary", "frechet-mean")]
    assert plans[0] == plans[1]


def test_no_split_of_epsilon_is_better_than_the_joint_release():
    ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    joint = moments("full", "laplace").sensitivity(ball, 1, np.zeros(3))
    scales = joint, joint * moments("full", "laplace").weight(ball)  # and of the trace by itself, which a split lacks
    shares = np.linspace(0.01, 0.99, 99)
    assert not any(2 / e <= scales[0] and math.sqrt(2) / (1 - e) <= scales[1] for e in shares)


# --- a trace that reaches farther ------------------------------------------------------------------------------------


def pairs_up_to(longest, size=100_000):
    """Pairs of vectors (2, size, 3): any, opposite ones nearly, and both with lengths at the rim, nearly, as bounds are tight."""
    rng, near = np.random.default_rng(0), lambda shape: 10.0 ** np.random.default_rng(1).uniform(-6, 0, shape)
    found = []
    for opposite, at_rim in ((False, False), (True, False), (True, True), (False, True)):
        v = rng.standard_normal((2, size, 3))
        v[1] = near((size, 1)) * v[1] - v[0] if opposite else v[1]
        short = near((2, size, 1)) * (rng.random((2, size, 1)) < 0.7) if at_rim else 1 - rng.random((2, size, 1)) ** (1 / 6)
        found.append(longest * (1 - short) * v / np.linalg.norm(v, axis=2, keepdims=True))
    return np.concatenate(found, axis=1)


def farthest_change(reach, bend=_bent, weight=1.0, kind="full"):
    """The largest change that a pair makes: of moments of bent vectors, and the trace of the others."""
    statistic, room = Moments(kind, radius=1.0, reach=reach), rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    wide = statistic.wide(room)
    pairs = pairs_up_to(wide.radius * (1 - 2.0**-40))
    a, b = (bend(rows, wide, 1.0) for rows in pairs)
    products = a[:, :, None] * a[:, None, :] - b[:, :, None] * b[:, None, :]
    traces = np.square(pairs[0]).sum(axis=1) - np.square(pairs[1]).sum(axis=1)
    shares = {"full": products, "diagonal": np.diagonal(products, axis1=1, axis2=2)[:, None], "trace": np.zeros((1, 1, 1))}
    second = np.square(shares[kind]).sum(axis=(1, 2)) / statistic.weight(room) ** 2
    second = second + np.square(traces / (weight * statistic.weight_of_trace(room)))
    return np.sqrt(np.square(a - b).sum(axis=1) + second).max()


BOUGHT = 0.9 + 1 / 0.9  # what a matrix with a tenth less noise moves by, with all else


@pytest.mark.parametrize("reach", [1.05, REACH_OF_SPREAD])
@pytest.mark.parametrize(("kind", "moves"), [("full", BOUGHT), ("diagonal", BOUGHT), ("trace", 2.0)])
def test_a_trace_that_reaches_farther_is_for_nothing_if_the_rest_is_bent(kind, moves, reach):
    claimed = Moments(kind, radius=1.0, reach=reach).sensitivity(FLAT, 1, np.zeros(3))
    assert claimed == pytest.approx(moves, rel=1e-15)
    tight = 1e-3 if kind == "diagonal" else 1e-6  # few pairs have the directions that are worst for a diagonal
    assert claimed * (1 - tight) < farthest_change(reach, kind=kind) <= claimed
    if kind == "trace":
        assert claimed == linear_sensitivity(rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0), 1)


def test_it_would_not_be_if_vectors_were_cut_off_at_the_radius_or_weighed_by_it():
    """The controls of the search; and what a tenth less than what is proved would cost."""

    def cut_off(rows, wide, radius):
        return rows * np.minimum(1, radius / np.linalg.norm(rows, axis=1, keepdims=True))

    for kind, moves in (("full", BOUGHT), ("trace", 2.0)):
        assert farthest_change(REACH_OF_SPREAD, bend=cut_off, kind=kind) > 1.01 * moves
        assert farthest_change(REACH_OF_SPREAD, weight=REACH_OF_SPREAD**-2, kind=kind) > 1.02 * moves
        assert farthest_change(REACH_OF_SPREAD, weight=0.9, kind=kind) > (1 + 1e-4) * moves


def test_the_weight_of_a_wider_trace_holds_for_all_lengths_by_interval_arithmetic():
    """The one inequality of the proof, on intervals of lengths; next to the rim it is case 1, by hand."""
    kappa, beta, pieces = arb("0.81"), arb("1.2") ** 4 / arb("1.04") ** 2, 2000
    for piece in range(int(0.6 * pieces)):
        least, largest = arb(piece) / pieces, arb(piece + 1) / pieces
        longest, far = arb("1.2") * largest.sqrt(), beta * (1 - least) ** 2  # of a vector that short; what its trace may move
        if longest <= kappa:
            moved = (1 + longest) ** 2 + (1 - longest**2) ** 2 / (2 * kappa)
        else:
            longest = longest.min(1 - (1 - largest) ** 2 / 2)
            moved = 1 + longest**2 + kappa + (1 + longest**4) / (2 * kappa)
        assert moved + far <= kappa + 1 / kappa + 2
        assert (1 + longest) ** 2 + far <= 4


@pytest.mark.parametrize("reach", [1.05, REACH_OF_SPREAD])
@pytest.mark.parametrize("radius", [1e-100, 0.7, 1e99])
def test_bent_vectors_are_as_short_as_the_proof_needs_in_exact_numbers(radius, reach):
    """|a| <= |w|, |a| <= r (1 - p (1 - |w|²/R²)²), and change <= (0.9 + 1/0.9) r, in fractions."""
    statistic, room = Moments("full", radius=radius, reach=reach), rd.Ball(rd.Euclidean(3), np.zeros(3), radius)
    wide = statistic.wide(room)
    assert wide.radius == reach * radius
    pairs = pairs_up_to(wide.radius, 300)
    forced = [_to_ball(rows, wide) for rows in pairs]
    c, b = (Fraction(weight) for weight in (statistic.weight(room), statistic.weight_of_trace(room)))
    for rows in zip(*forced, *(_bent(rows, wide, radius) for rows in forced), strict=True):
        w, x, u, v = ([Fraction(number) for number in row.tolist()] for row in rows)
        squares = [sum(number**2 for number in row) for row in (w, x)]
        for square, bent in zip(squares, (u, v), strict=True):
            inner = 1 - square / Fraction(wide.radius) ** 2
            assert sum(number**2 for number in bent) <= square
            assert sum(number**2 for number in bent) <= (Fraction(radius) * (1 - Fraction(BEND) * inner**2)) ** 2
        first = sum((p - q) ** 2 for p, q in zip(u, v, strict=True))
        second = sum((p * q - s * t) ** 2 for p, s in zip(u, v, strict=True) for q, t in zip(u, v, strict=True))
        assert first + second / c**2 + (squares[0] - squares[1]) ** 2 / b**2 <= (Fraction(181, 90) * Fraction(radius)) ** 2


@pytest.mark.parametrize("kind", KINDS)
def test_moments_with_a_wider_trace_are_quotients_of_integers_too(kind):
    statistic, ball = Moments(kind, radius=1.0, reach=1.2), rd.Ball(rd.Euclidean(3), np.zeros(3), 5.0)
    X = np.random.default_rng(4).standard_normal((200, 3))
    first, second = statistic.value(Bounded(X, ball), np.zeros(3))
    vectors = statistic.vectors(Bounded(X, ball))
    w = vectors._rows.all()
    step, bent = Fraction(2) ** vectors.ball.grid, _bent(w, vectors.ball, 1.0)
    rows, wide = bent / float(step), w / float(step)
    assert first.tolist() == [float(step * int(total) / 200) for total in rows.astype(object).sum(axis=0)]
    weights = [Fraction(weight) for weight in statistic.weights(statistic.room(ball)).tolist()]
    totals = (big_sums(rows, kind) if kind != "trace" else []) + big_sums(wide, "trace")
    assert second.tolist() == [float(step**2 * t / (200 * weight)) for t, weight in zip(totals, weights, strict=True)]
    is_short = np.linalg.norm(w, axis=1) < 0.8
    assert is_short.any()
    assert np.array_equal(bent[is_short], w[is_short])  # what is well inside stays as it is
    assert np.linalg.norm(bent, axis=1).max() > 0.99


# --- exact sums ----------------------------------------------------------------------------------------------------


def big_sums(rows, kind):
    """The same in Python's integers alone."""
    whole = [[int(x) for x in row] for row in rows]
    d = rows.shape[1]
    pairs = [(i, i) for i in range(d)] + [(i, j) for i in range(d) for j in range(i + 1, d)] * (kind == "full")
    sums = [sum(row[i] * row[j] for row in whole) for i, j in pairs]
    return [sum(sums)] if kind == "trace" else sums


@pytest.mark.parametrize("n", [1, 7, 4000])
def test_sums_of_products_are_exact(n):
    rng = np.random.default_rng(n)
    rows = np.trunc(rng.uniform(-1, 1, (n, 3)) * 2.0 ** rng.integers(0, 49, (n, 3)))
    rows[: n // 2, 0], rows[0] = 2.0**48 - 1, 2.0**48 - 2.0**31
    assert sums_of_products(rows).tolist() == big_sums(rows, "full")
    assert sums_of_squares(rows).tolist() == big_sums(rows, "diagonal")


@pytest.mark.parametrize("value", [2.0**48 - 1, 2.0**48 - 2.0**31, 2.0**47 + 2.0**31 + 2.0**15, -(2.0**48) + 1])
def test_a_block_as_large_and_as_long_as_there_is_does_not_overflow(value):
    rows = np.full((MOST_PRODUCTS, 2), value)
    assert set(sums_of_products(rows).tolist()) == {MOST_PRODUCTS * int(value) ** 2}
    assert set(sums_of_squares(rows).tolist()) == {MOST_PRODUCTS * int(value) ** 2}


def test_the_upper_triangle_begins_with_the_diagonal():
    assert upper_triangle(np.arange(9).reshape(3, 3)).tolist() == [0, 4, 8, 1, 2, 5]


@pytest.mark.parametrize("radius", [1e-100, 1e-7, 1.0, 3e5, 1e100])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_moments_are_quotients_of_integers_rounded_once(radius, kind, spread):
    """Against fractions, at extreme radii, and for a tight cluster far from the centre."""
    ball, rng = rd.Ball(rd.Euclidean(3), np.zeros(3), radius), np.random.default_rng(1)
    X = radius * (0.4 + spread * rng.uniform(-0.2, 0.2, (50, 3)))
    statistic = moments(kind)
    first, second = statistic.value(Bounded(X, ball), np.zeros(3))
    step = Fraction(2) ** ball.grid
    rows = np.trunc(X / float(step))
    assert first.tolist() == [float(step * int(total) / 50) for total in rows.astype(object).sum(axis=0)]
    weights = [Fraction(weight) for weight in statistic.weights(ball).tolist()]
    totals = big_sums(rows, kind) + big_sums(rows, "trace") * (kind != "trace")
    exact = [step**2 * total / (50 * weight) for total, weight in zip(totals, weights, strict=True)]
    assert second.tolist() == [float(number) for number in exact]


@pytest.mark.parametrize("n", [100, 5000, 40_000])
def test_the_sums_do_not_depend_on_how_records_are_stored(n, tmp_path):
    da = pytest.importorskip("dask.array")
    rng, ball = np.random.default_rng(2), rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)
    A = rng.standard_normal((n, 2, 4))
    X = A @ np.swapaxes(A, 1, 2) / 4
    np.save(tmp_path / "X.npy", X)
    stored = [X, np.load(tmp_path / "X.npy", mmap_mode="r"), da.from_array(X, chunks=(n // 3 + 1, 2, 2))]
    sums = [Bounded(some, ball).moment_sums("full") for some in stored]
    for other in sums[1:]:
        assert (other.first_total, other.second_total) == (sums[0].first_total, sums[0].second_total)
    assert Bounded(X, ball).coordinate_sum() == list(sums[0].first_total)


def test_one_pass_over_the_records():
    class Counted(np.ndarray):
        passes = 0

        def __getitem__(self, key):
            if isinstance(key, slice) and key.start == 0 and key.stop:
                Counted.passes += 1
            return super().__getitem__(key)

    X = np.zeros((20_000, 3)).view(Counted)
    Bounded(X, FLAT).moment_sums("full")
    assert Counted.passes == 1


# --- laws ----------------------------------------------------------------------------------------------------------

DRAWS = 400


def drawn(kind, noise, wrong=1.0):
    """Noise of all released numbers, in units of their standard deviations (the true ones times `wrong`)."""
    guarantee = rd.GDP(1.0) if noise == "gaussian" else rd.PureDP(1.0)
    X = np.random.default_rng(3).normal(size=(40, 3))
    query = Query(FLAT, 40, guarantee, NOISES[noise].name, statistic=Moments(kind))
    law = query.law(query.plan())
    value = law.value(Bounded(X, FLAT))
    noisy = law.draw(value, DRAWS).noisy
    return [(part.vectors - exact) / (wrong * law.scale) for part, exact in zip(noisy, value, strict=True)]


def p_values(kind, noise, wrong=1.0):
    """Of the law of every coordinate's noise (Gaussian), or of the lengths in each part (Laplace)."""
    parts = drawn(kind, noise, wrong)
    if noise == "gaussian":
        return [stats.kstest(column, "norm").pvalue for part in parts for column in part.T]
    return [stats.kstest(np.linalg.norm(part, axis=1), stats.gamma(part.shape[1]).cdf).pvalue for part in parts]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", NOISES)
def test_every_number_gets_the_noise_of_its_law(kind, noise):
    """Wrong with probability below 1e-6 at most; the controls, of a scale wrong by half, must fail."""
    assert min(p_values(kind, noise)) > 1e-6 / 12
    assert max(p_values(kind, noise, wrong=0.5)) < 1e-3


def test_stated_deviations_are_those_of_the_noise():
    """In orthonormal coordinates of symmetric matrices, beside the diagonal too; 6 deviations of 400 draws."""
    for noise, guarantee in (("gaussian", rd.GDP(1.0)), ("laplace", rd.PureDP(1.0))):
        X = np.zeros((40, 3))
        query = Query(FLAT, 40, guarantee, NOISES[noise].name, statistic=Moments("full"))
        law = query.law(query.plan())
        noisy = law.draw(law.value(Bounded(X, FLAT)), DRAWS).noisy
        made = [law.statistic.noisy(a, b, FLAT) for a, b in zip(noisy[0].vectors, noisy[1].vectors, strict=True)]
        first = np.stack([one.first for one in made]) / made[0].first_noise
        second = np.stack([one.second for one in made]) / made[0].second_noise
        beside = math.sqrt(2) * second[:, *np.triu_indices(3, 1)]
        assert np.square(first).mean() == pytest.approx(1.0, abs=0.35)
        assert np.square(beside).mean() == pytest.approx(1.0, abs=0.35)
        # The trace is known better: of 3 directions on the diagonal that leaves 2, and its own noise.
        trace = made[0].second_noise ** -1 * np.array([one.trace for one in made])
        b, c = law.statistic.weight_of_trace(FLAT), law.statistic.weight(FLAT)
        assert np.square(trace).mean() == pytest.approx(1 / (1 / 3 + c**2 / b**2), rel=0.35)
        assert np.square(second[:, range(3), range(3)]).mean() == pytest.approx((2 + np.square(trace).mean() / 3) / 3, abs=0.3)


# --- choices and refusals ------------------------------------------------------------------------------------------


def test_which_second_moments_follows_from_the_dimension():
    assert Moments().which(600) == "full"
    assert Moments().which(601) == "trace"
    assert Moments(noise=WRAPPED_LAPLACE).which(24) == "full"
    assert Moments(noise=WRAPPED_LAPLACE).which(25) == "trace"
    assert Moments("diagonal").which(10**6) == "diagonal"


def test_too_many_second_moments_are_refused_from_public_numbers():
    ball = rd.Ball(rd.Euclidean(LARGEST_FULL + 1), np.zeros(LARGEST_FULL + 1), 1.0)
    with pytest.raises(rd.MechanismError, match="pass 'trace' or 'diagonal'"):
        rd.private_summary(np.zeros((3, LARGEST_FULL + 1)), ball, rd.GDP(1.0), second="full")


@pytest.mark.parametrize("second", ["half", None, 3, ["full"]])
def test_another_second_is_refused(second):
    with pytest.raises(rd.InputError, match=r"second = .*: pass one of 'auto', 'full', 'diagonal', 'trace'"):
        rd.private_summary(np.zeros((3, 3)), FLAT, rd.GDP(1.0), second=second)


@pytest.mark.parametrize("mechanism", ["riemannian-laplace", "kng", "extrinsic-laplace", "median"])
def test_mechanisms_that_take_no_vectors_are_refused(mechanism):
    with pytest.raises(rd.RiemdpError, match=r"statistic = 'summary'|mechanism = 'median'"):
        rd.private_summary(np.zeros((3, 3)), FLAT, rd.PureDP(1.0), mechanism=mechanism)


def test_linear_releases_suppose_nothing_about_rounding():
    sphere = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.0)

    def supposed(ball, **asked):
        return prepare(Query(ball, 1000, rd.GDP(1.0), **asked)).guarantee.assumptions

    for adapt in (False, True):
        assert ROUNDING not in supposed(FLAT, adapt=adapt)
        assert ROUNDING not in supposed(sphere, statistic="tangent-mean", adapt=adapt)
        assert ROUNDING not in supposed(sphere, statistic="summary", adapt=adapt)
        assert (ROUNDING in supposed(sphere, adapt=adapt)) == (not adapt)  # rounds end in a linear release
    assert ROUNDING not in supposed(FLAT, mechanism="riemannian-laplace")
    assert ROUNDING in supposed(FLAT, mechanism="kng")
    assert len(supposed(sphere, statistic="summary")) == 2
