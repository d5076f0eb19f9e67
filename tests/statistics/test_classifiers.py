"""Linear classifiers: exact sums, sensitivities that hold and are attained, noise of the stated size, models in files.

Randomness is seeded, the operating system's included; statistical tests would fail by chance with probability below
1e-6, and have a control with a wrong scale that must fail.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.io import rows as io_rows
from riemdp.io import sources as io_sources
from riemdp.io.rows import Held, Rows
from riemdp.io.sources import reporting
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE
from riemdp.privacy import bounded
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Exact
from riemdp.statistics.class_moments import ClassMoments
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.features import FEATURE_BITS, INTERCEPT, Features, LabelledFeatures, _Products, whitened
from riemdp.statistics.linear_classifiers import seen_from, with_labels
from riemdp.statistics.logistic import GRID, LONGEST_GRADIENT, LogisticLoss, LogisticRegression, _gradients
from riemdp.statistics.query import Query
from riemdp.statistics.shape import SecondMoment, spread_of
from riemdp.statistics.within import SpreadWithin

sys.path.append(str(Path(__file__).parents[2] / "audits"))
import planted

WILD = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 0.0, 1.0, -1.0, 0.1])
KINDS = [rd.PrivateLogisticRegression, rd.PrivateLDA]
kinds = pytest.mark.parametrize("kind", KINDS)
LINE = rd.Ball(rd.Euclidean(3), np.zeros(3), 8.0)


def wild_rows(n, dim, seed=0):
    """Rows of usual numbers, and of such as no record should have."""
    rng = np.random.default_rng(seed)
    coords = rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    coords[: len(WILD)] = WILD[:, None]
    coords[len(WILD) : 2 * len(WILD), 0] = WILD
    return coords


def features_of(dim, seed=0):
    rng = np.random.default_rng(seed)
    return Features(rng.normal(size=(dim, dim)), rng.normal(size=dim), 1.7)


def rows_of(x, labels, n=None, among=1, block=64):
    blocks = tuple(x[i : i + block] for i in range(0, len(x), block))
    return LabelledFeatures(Rows(Held(blocks)), labels, n or len(x), among)


def three_classes(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[y], np.array(["a", "b", "c"])[y]


def fitted(kind, **options):
    asked = {"ball": LINE, "guarantee": rd.GDP(1.0), "classes": ["a", "b", "c"]} | options
    return kind(**asked).fit(*three_classes())


# --- the shape ---------------------------------------------------------------------------------------------------


def unit_vectors(coords):
    """As the release forces them."""
    return Bounded(coords, vectors_up_to(1.0, coords.shape[1]))


def shape_of(coords):
    return SecondMoment().value(unit_vectors(coords), np.zeros(coords.shape[1]))


def test_the_shape_is_the_second_moment_in_the_norm_of_matrices():
    coords = wild_rows(300, 4)
    seen = unit_vectors(coords)._coordinates.all()
    numbers, matrix = shape_of(coords), seen.T @ seen / len(seen)
    assert math.isclose(np.linalg.norm(numbers), np.linalg.norm(matrix), rel_tol=1e-12)
    spread = spread_of(numbers, 1e-12)
    np.testing.assert_allclose(spread.matrix, matrix, atol=1e-9)


def test_the_shape_moves_by_no_more_than_its_sensitivity_which_is_attained():
    rng, n, bound = np.random.default_rng(2), 5, SecondMoment().sensitivity(vectors_up_to(1.0, 3), 5, np.zeros(3))
    moved = []
    for pair in [*rng.normal(size=(400, 2, 3)) * 10.0 ** rng.integers(-2, 3, size=(400, 1, 1)), np.eye(3)[:2]]:
        rest = rng.normal(size=(n - 1, 3))
        one, other = (shape_of(np.vstack([rest, row])) for row in pair)
        moved.append(np.linalg.norm(one - other))
    assert 0.999 * bound < max(moved) <= bound


def test_narrow_directions_are_widened_until_noise_hides_them():
    rng, widths = np.random.default_rng(3), np.array([1.0, 0.1, 1e-4])
    coords = rng.normal(size=(4000, 3)) * widths
    numbers = shape_of(coords)
    even = whitened(Features(np.eye(3), np.zeros(3), 1.0), spread_of(numbers, 1e-3), 1e-3)
    scales = np.linalg.norm(even.matrix, axis=0)
    assert scales[1] > 5 * scales[0]
    assert scales[2] < 3 * scales[1]


def test_the_shape_is_on_record_and_left_out_where_it_would_be_noise():
    stages = [stage.task for stage in fitted(rd.PrivateLogisticRegression).release_.stages]
    assert "shape" in stages
    far = rd.Ball(rd.Euclidean(30), np.zeros(30), 8.0)
    learner = LogisticRegression(far, 3000, rd.PureDP(1.0), ("a", "b"), np.ones(2))
    assert learner.shape is None
    assert LogisticRegression(far, 3000, rd.GDP(1.0), ("a", "b"), np.ones(2)).shape is not None


def test_pure_epsilon_takes_one_step_where_more_would_drown():
    ball = rd.Ball(rd.Euclidean(30), np.zeros(30), 8.0)
    few, many = (LogisticRegression(ball, n, rd.PureDP(1.0), (*range(10),), np.ones(10)) for n in (1000, 10**6))
    assert few.only_step is not None
    assert "one step" in few.plan.note
    assert many.only_step is None
    assert replace(few, steps=3).only_step is None


def test_one_step_under_pure_epsilon_learns_and_repeats_the_promise():
    rng = np.random.default_rng(4)
    y = rng.integers(5, size=2000)
    X, ball = rng.normal(size=(2000, 20)) + 8 * np.eye(5, 20)[y], rd.Ball(rd.Euclidean(20), np.zeros(20), 12.0)
    model = rd.PrivateLogisticRegression(ball=ball, guarantee=rd.PureDP(1.0), classes=range(5), class_weight={2: 0.5})
    learner = model._learner_of(ball, 2000, np.arange(5))
    assert learner.only_step is not None
    fit = model.fit(X, y)
    assert fit.score(X, y) > 0.9
    assert fit.release_.stages[-1].task == "1 step"
    assert fit.guarantee_.epsilon == 1.0


# --- the spread within classes -----------------------------------------------------------------------------------


def spread_within(x, labels, means, length=0.4, **rows):
    statistic = SpreadWithin(means, Features(np.eye(means.shape[1]), np.zeros(means.shape[1]), length))
    return statistic.value(rows_of(x, labels, **rows), np.zeros(0))


def with_intercept(vectors):
    whole = np.trunc(np.asarray(vectors) * 2.0**FEATURE_BITS) * 2.0**-FEATURE_BITS
    return np.column_stack([whole, np.full(len(whole), INTERCEPT)])


def test_the_spread_within_classes_is_the_second_moment_about_their_means():
    X, y = three_classes(400)
    labels, means = np.searchsorted(["a", "b", "c"], y), 2.5 / 20 * np.eye(3)
    found = spread_of(spread_within(with_intercept(X / 20), labels, means, length=1.0), 1e-12).matrix
    left = X / 20 - means[labels]
    np.testing.assert_allclose(found, left.T @ left / 400, atol=1e-5)


def test_the_spread_within_classes_moves_by_no_more_than_its_sensitivity_which_is_attained():
    """Any record of any class, or none, in the place of any other, about means near and far."""
    rng, n, dim = np.random.default_rng(4), 5, 3
    bound = SecondMoment().sensitivity(vectors_up_to(1.0, dim), n, np.zeros(dim))
    moved = []
    for case in range(600):
        means = rng.normal(size=(2, dim)) * 10.0 ** rng.integers(-3, 3) * (case < 500)
        rest, pair = rng.uniform(-0.5, 0.5, size=(n - 1, dim)), rng.uniform(-0.5, 0.5, size=(2, dim))
        pair = np.eye(dim)[:2] if case >= 500 else pair
        labels = rng.integers(-1, 3, size=n - 1), rng.integers(-1, 3, size=2) * (case < 500)
        values = [
            spread_within(with_intercept(np.vstack([rest, row])), np.append(labels[0], label), means)
            for row, label in zip(pair, labels[1], strict=True)
        ]
        moved.append(np.linalg.norm(np.subtract(*values)))
    assert 0.999 * bound < max(moved) <= bound


def test_records_of_no_class_and_what_is_no_number_count_for_nothing_in_the_spread_within_classes():
    means = np.array([[0.1, 0.2], [np.nan, np.inf]])
    x = with_intercept(np.random.default_rng(5).uniform(-0.5, 0.5, size=(30, 2)))
    assert not spread_within(x, np.repeat([-1, 1, 7], 10), means).any()
    assert spread_within(x, np.zeros(30, int), means).any()


def test_a_person_moves_the_spread_within_classes_no_farther_than_one_record_can():
    """Three parts of one person in as many classes, along either axis."""
    x, labels, among = np.zeros((23, 2)), np.full(23, -1), np.ones(23, int)
    labels[20:], among[20:], values = [0, 1, 2], 3, []
    for axis in np.eye(2):
        x[20:] = axis
        values.append(spread_within(with_intercept(x), labels, np.zeros((3, 2)), n=21, among=among))
    bound = SecondMoment().sensitivity(vectors_up_to(1.0, 2), 21, np.zeros(2))
    assert 0.999 * bound < np.linalg.norm(np.subtract(*values)) <= bound


def test_what_tells_classes_apart_is_longer_in_features_that_are_even_within_them():
    """Two classes that differ along the first axis alone, where all records spread three times as wide as elsewhere."""
    rng = np.random.default_rng(6)
    y = rng.integers(2, size=4000)
    X = rng.normal(size=(4000, 3)) + np.sqrt(8) * np.outer(2 * y - 1, np.eye(3)[0])
    with planted.system_randomness(seed=7):
        model = rd.PrivateLogisticRegression(ball=LINE, guarantee=rd.GDP(2.0), classes=[0, 1]).fit(X, y)
    spread = model.release_.features.scaled(X).std(axis=0)
    assert spread[0] > 2 * spread[1:].max()
    tasks = [stage.task for stage in model.release_.stages]
    assert tasks[-5:-2] == ["shape", "moments of classes", "spread within classes"]


def test_pure_epsilon_has_no_spread_within_classes():
    assert LogisticRegression(LINE, 3000, rd.PureDP(1.0), ("a", "b"), np.ones(2)).within is None
    assert LogisticRegression(LINE, 3000, rd.ZCDP(1.0), ("a", "b"), np.ones(2)).within is not None


# --- features and gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", [1.0, 1e300, 1e-300, np.nan])
def test_no_feature_is_longer_than_one_whatever_the_numbers(matrix):
    features = replace(features_of(5), matrix=matrix * features_of(5).matrix)
    with np.errstate(all="ignore"):
        vectors = features.vectors(wild_rows(300, 5))
    whole = vectors * 2.0**FEATURE_BITS
    assert np.array_equal(whole, np.trunc(whole))
    assert all(sum(Fraction(int(v)) ** 2 for v in row) <= 4**FEATURE_BITS for row in whole)


def test_a_row_has_the_same_features_wherever_it_is():
    coords, features = wild_rows(200, 7), features_of(7)
    with np.errstate(all="ignore"):
        together, alone = features(coords), np.concatenate([features(row[None]) for row in coords])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4, 1e300])
def test_no_gradient_is_longer_than_its_bound_and_some_are_as_long(scale):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = features_of(4)(wild_rows(400, 4))
        weights, labels = scale * rng.normal(size=(5, 3)), rng.integers(-2, 5, size=400)
        a, b = _gradients(x, labels, weights=weights, of_class=np.array([1.0, 0.5, 0.1]))
    squares = [sum(int(v) ** 2 for v in p) * sum(int(v) ** 2 for v in q) for p, q in zip(a, b, strict=True)]
    bound = int(LONGEST_GRADIENT / GRID) ** 2
    assert max(squares) <= bound
    assert scale == 1e300 or max(squares) > 0.9999 * bound
    assert (b[(labels < 0) | (labels > 2)] == 0).all()


@pytest.mark.parametrize("among", [1, "several"])
def test_sums_of_gradients_are_those_of_pythons_integers(among):
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        x, labels = features_of(3)(wild_rows(150, 3)), rng.integers(-1, 4, size=150)
    parts = 1 if among == 1 else rng.integers(1, 6, size=150)
    loss, point = LogisticLoss(3, np.array([1.0, 0.3, 1.0, 0.7]), 1.0), rng.normal(size=16) * 30
    with np.errstate(all="ignore"):
        a, b = _gradients(x, labels, weights=point.reshape(4, 4), of_class=loss.class_weights)
    total = [[Fraction(0)] * 4 for _ in range(4)]
    for row, (p, q) in enumerate(zip(a, b, strict=True)):
        for i in range(4):
            for j in range(4):
                total[i][j] += Fraction(int(p[i]) * int(q[j]), int(np.broadcast_to(parts, 150)[row]))
    with np.errstate(all="ignore"):
        found = loss.mean_gradient(rows_of(x, labels, n=77, among=parts, block=32), point)
    expected = [float(entry / 77) * GRID for line in total for entry in line]
    assert found.tolist() == expected


def test_rows_that_are_not_kept_give_the_same_release_value(monkeypatch):
    """Out of core: the features are computed again in every pass."""
    X, y = three_classes(500)
    labels = np.searchsorted(["a", "b", "c"], y)
    found = []
    for most in (2**24, 1):
        monkeypatch.setattr(io_rows, "MOST_KEPT", most)
        known = LabelledFeatures.of(with_labels(X, LINE, labels, 3)[1], features_of(3))
        assert isinstance(known.features.source, Held)
        assert bool(known.features.turns) == (most == 1)
        found.append(LogisticLoss(3, np.ones(3), 1.0).mean_gradient(known, np.ones(12)))
    assert found[0].tolist() == found[1].tolist()


# --- moments ---------------------------------------------------------------------------------------------------


def change(statistic, one, other, dim, n=7):
    """How far a statistic moves, in the norm of its noise, if one record takes the place of another among blanks."""
    values = []
    for vector, label in (one, other):
        x = np.zeros((n, dim + 1))
        x[:, -1] = INTERCEPT
        x[-1, :-1] = np.trunc(vector * 2.0**FEATURE_BITS) * 2.0**-FEATURE_BITS
        labels = np.full(n, -1)
        labels[-1] = label
        values.append(statistic.value(rows_of(x, labels), np.zeros(0)))
    parts = [np.linalg.norm(a - b) for a, b in zip(*values, strict=True)]
    return n * (math.hypot(*parts) if statistic.is_gaussian else sum(parts))


@pytest.mark.parametrize("noise", [WRAPPED_GAUSSIAN, WRAPPED_LAPLACE], ids=lambda noise: noise.name)
def test_no_record_moves_class_moments_farther_than_stated_and_some_move_them_as_far(noise):
    """A search: random pairs of records at the rim or inside, of any class or none, then those that are worst."""
    statistic, dim, rng = ClassMoments(3, noise), 2, np.random.default_rng(0)
    bound = 7 * statistic.sensitivity(vectors_up_to(1.0, dim), 7, np.zeros(dim))
    worst = 0.0
    for _ in range(1500):
        u, v = (w / np.linalg.norm(w) * rng.choice([1.0, rng.random()]) for w in rng.normal(size=(2, dim)))
        v = rng.choice([1.0, -1.0]) * u if rng.random() < 0.4 else v
        worst = max(worst, change(statistic, (u, rng.integers(-1, 3)), (v, rng.integers(-1, 3)), dim))
    assert 0.999 * bound < worst <= bound


def test_class_moments_are_those_of_numpy():
    X, y = three_classes(400)
    labels = np.searchsorted(["a", "b", "c"], y)
    features = Features(np.eye(3), np.zeros(3), 20.0)
    *sums, triangle = ClassMoments(3).value(rows_of(features(X), labels), np.zeros(0))
    for place in range(3):
        of_class = X[labels == place] / 20
        np.testing.assert_allclose(sums[place][:-1], of_class.sum(axis=0) / 400, atol=1e-5)
        assert sums[place][-1] == pytest.approx(len(of_class) / 400 * math.sqrt(0.5))
    np.testing.assert_allclose(triangle[:3] * math.sqrt(2), np.square(X / 20).mean(axis=0), atol=1e-5)


# --- noise -----------------------------------------------------------------------------------------------------


def noise_of_weights(guarantee, size, classes=2, n=40):
    """Weights that descents lead to if no record has a class: nothing but noise."""
    learner = LogisticRegression(LINE, n, guarantee, tuple(range(classes)), np.ones(classes), steps=6)
    x = np.full((n, 4), INTERCEPT)
    descent, start = learner.descent, np.zeros(4 * classes)
    records = rows_of(x, np.full(n, -1))
    points = [descent.run(records, Exact(Reservation(guarantee)), start).point for _ in range(size)]
    return np.stack(points), learner.plan.expected_error


def test_noise_of_the_weights_is_what_the_plan_predicts():
    with planted.system_randomness(seed=3):
        points, error = noise_of_weights(rd.GDP(1.0), 500)
    np.testing.assert_allclose(points.reshape(-1, 4, 2).sum(axis=2), 0, atol=1e-9)  # what classes share is left out
    free = points.reshape(-1, 4, 2)[:, :, 0].ravel() * math.sqrt(2)
    deviation = error / math.sqrt(4)
    assert stats.kstest(free / deviation, "norm").pvalue > 1e-6
    for wrong in (0.75, 1.33):
        assert stats.kstest(free / (wrong * deviation), "norm").pvalue < 1e-6


def test_a_plan_needs_no_records_and_says_how_many_would_do():
    model = rd.PrivateLogisticRegression(ball=LINE, guarantee=rd.PureDP(1.0), classes=range(10))
    assert "would bring that to 0.5" in model.plan(300).note
    assert "would" not in model.plan(10**6).note
    assert model.plan(10**6).guarantee == rd.PureDP(1.0)
    with pytest.raises(rd.InputError, match="classes"):
        rd.PrivateLDA(ball=LINE, guarantee=rd.GDP(1.0)).plan(100)


@kinds
def test_too_few_records_are_said_to_be_before_anything_is_spent(kind):
    with pytest.warns(rd.UselessRelease, match="guessing is as good"):
        kind(ball=LINE, guarantee=rd.GDP(0.01), classes=["a", "b", "c"]).fit(*three_classes(60))


# --- what is learnt --------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(4.0), rd.ApproxDP(1.0, 1e-5), rd.ZCDP(0.5)], ids=str)
def test_they_tell_classes_apart_under_every_guarantee(kind, guarantee):
    X, y = three_classes(seed=1)
    model = fitted(kind, guarantee=guarantee)
    assert model.score(X, y) > 0.85
    assert model.guarantee_ == guarantee
    assert model.predict_proba(X).shape == (3000, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.coef_.shape == (3, 3)
    assert model.intercept_.shape == (3,)


@kinds
def test_coefficients_give_the_scores_of_records_that_are_not_shortened(kind):
    model = fitted(kind)
    place = model.release_.ball
    X = place.center + 0.1 * np.random.default_rng(2).normal(size=(20, 3))
    by_hand = (X - place.center) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(by_hand, model.decision_function(X), atol=2e-3 * np.abs(by_hand).max())


def far_from_the_centre(space, n=2000):
    """Two classes of matrices in units in which no multiple of the identity is near them."""
    rng, y, units = np.random.default_rng(3), np.arange(n) % 2, np.diag([2.0, 0.3])
    coords = 0.3 * rng.normal(size=(n, space.dim)) + 0.6 * y[:, None] * np.eye(space.dim)[0]
    return units @ space.exp(space.from_coordinates(coords, space.origin), space.origin) @ units, y


@kinds
def test_affine_matrices_are_seen_from_the_public_centre(kind):
    """Around the private mean coefficients then give the scores, although the centre itself is shortened."""
    space = rd.SPDAffine(2)
    ball = rd.Ball.from_eigenvalue_bounds(space, 1e-2, 1e2)
    model = kind(ball=ball, guarantee=rd.GDP(3.0), classes=[0, 1]).fit(*far_from_the_centre(space))
    place, features = model.release_.ball, model.release_.features
    assert (place.center == ball.center).all()
    assert place.radius == ball.radius
    assert np.linalg.norm(features.scaled(np.zeros((1, 3)))) > 1
    coords = features.offset + 0.02 * np.random.default_rng(4).normal(size=(20, 3))
    near = space.exp(space.from_coordinates(coords, ball.center), ball.center)
    by_hand = coords @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(by_hand, model.decision_function(near), atol=1e-3 * (1 + np.abs(by_hand).max()))


@pytest.mark.parametrize("space", [rd.SPDLogEuclidean(2), rd.Sphere(3), rd.Torus(3)], ids=repr)
def test_flat_spaces_and_those_that_curve_back_are_seen_from_the_private_mean(space):
    given, near = (rd.Ball(space, point, 0.5) for point in (space.origin, space.random_point(1, 0)[0]))
    place, mean = seen_from(given, near)
    assert place is near
    assert not mean.any()


@kinds
def test_two_classes_have_one_row_as_in_scikit_learn(kind):
    X, y = three_classes()
    model = kind(ball=LINE, guarantee=rd.GDP(1.0), classes=["a", "b"]).fit(X, y)  # 'c' counts for nothing
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)
    assert model.decision_function(X).shape == (3000,)
    np.testing.assert_array_equal(model.predict(X) == "b", model.decision_function(X) > 0)


@kinds
def test_odd_labels_and_records_change_nothing_but_the_value(kind, tmp_path):
    X, y = three_classes()
    X[:10] = WILD[:, None]
    odd = [None, float("nan"), [1], {}, object(), "z", 7, b"a", np.array([1, 2]), 1e300, *y[10:]]
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(2.0))
    model = kind(ball=LINE, guarantee=rd.GDP(1.0), classes=["a", "b", "c"], ledger=ledger).fit(X, odd)
    assert model.release_.n == 3000
    assert model.score(X[10:], y[10:]) > 0.85
    assert [entry.id for entry in ledger.history()] == [model.release_.entry]  # one for all stages


@kinds
@pytest.mark.parametrize("adapt", [True, False])
@pytest.mark.parametrize("guarantee", [rd.PureDP(1.0), rd.GDP(1.0), rd.RDP(3.0, 1.0)], ids=str)
def test_stages_add_up_to_what_was_asked_for(kind, guarantee, adapt):
    """Every release is on record, the summary too if nothing adapts."""
    stages = fitted(kind, guarantee=guarantee, adapt=adapt).release_.stages
    whole = rd.compose([stage.guarantee for stage in stages], guarantee)
    (*_, spent), (*_, asked) = whole.parameters.values(), guarantee.parameters.values()
    assert (1 - 1e-9) * asked <= spent <= asked


def test_class_weights_are_public_and_move_the_border():
    X, _y = three_classes()
    heavy = fitted(rd.PrivateLogisticRegression, class_weight={"a": 1.0, "b": 0.05, "c": 0.05})
    assert (heavy.predict(X) == "a").mean() > (fitted(rd.PrivateLogisticRegression).predict(X) == "a").mean() + 0.05


MISTAKES = [
    ({"class_weight": "balanced"}, "counts private labels"),
    ({"class_weight": [1.0]}, "mapping from classes"),
    ({"class_weight": {"z": 1.0}}, "class_weight has 'z'"),
    ({"class_weight": {"a": 0.0}}, "above 0"),
    ({"class_weight": {"a": math.nan}}, "class_weight"),
    ({"classes": []}, "classes"),
    ({"adapt": "yes"}, "adapt"),
    ({"unit": "patient"}, "needs groups"),
    ({"steps": 0}, "steps"),
]


@pytest.mark.parametrize(("options", "text"), MISTAKES, ids=lambda value: str(value)[:30])
def test_mistakes_are_refused_before_anything_is_spent(options, text, tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(2.0))
    with pytest.raises(rd.InputError, match=text):
        fitted(rd.PrivateLogisticRegression, ledger=ledger, **options)
    assert ledger.history() == []


SPACES = [
    rd.Sphere(2),
    rd.Hyperbolic(2),
    rd.KendallShapes(5),
    rd.SPDAffine(2),
    rd.Rotations(),
    rd.Product(rd.Sphere(2), rd.SPDLogEuclidean(2)),
]


@kinds
@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("mu", [1e-3, 1.0])
@pytest.mark.filterwarnings("ignore::riemdp.errors.UselessRelease")
def test_every_space_and_any_noise_is_fitted(kind, space, mu):
    X, y = space.random_point(300, 0), np.arange(300) % 2
    model = kind(ball=rd.Ball(space, space.origin, 0.6), guarantee=rd.GDP(mu), classes=[0, 1]).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@kinds
@pytest.mark.parametrize("people", [None, 700])
def test_chunks_of_a_dask_array_do_not_change_a_bit(kind, people, monkeypatch):
    dask = pytest.importorskip("dask.array")
    monkeypatch.setattr(io_sources, "MOST_ROWS", 2**8)
    monkeypatch.setattr(bounded, "SAMPLE", 2**9)  # too many to be held, so that labels travel to the chunks
    X, y = three_classes(1500)
    who = None if people is None else np.random.default_rng(6).integers(people, size=1500)
    weights = []
    for records, labels in ((X, y), (dask.from_array(X, chunks=(400, 3)), dask.from_array(y, chunks=100))):
        model = kind(ball=LINE, guarantee=rd.GDP(1.0), classes=["a", "b", "c"])
        with planted.system_randomness(seed=3):
            weights.append(model.fit(records, labels, groups=who).release_.weights)
    assert np.array_equal(*weights)


def test_a_chunk_gets_its_own_labels_and_no_others():
    task = _Products(lambda _, labels: (labels[:, None], labels[:, None]), np.arange(10.0), np.arange(10) + 1, 10)
    sent = task.within(4, 9).within(5, 7)
    np.testing.assert_array_equal(sent.labels, [5, 6])
    np.testing.assert_array_equal(sent.among, [6, 7])
    assert repr(sent) == object.__repr__(sent)
    assert np.array_equal(task(np.zeros((2, 1)), 5), sent(np.zeros((2, 1)), 5))


def test_a_dask_array_needs_a_public_list_of_classes():
    dask = pytest.importorskip("dask.array")
    X, y = three_classes(100)
    with pytest.raises(rd.InputError, match="classes="):
        rd.PrivateLDA(ball=LINE, guarantee=rd.GDP(1.0)).fit(dask.from_array(X), y)


@kinds
def test_people_count_once_each_in_whatever_classes_they_are(kind, tmp_path):
    X, y = three_classes(4000)
    who = np.random.default_rng(5).integers(1500, size=4000)
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(2.0))
    model = kind(ball=LINE, guarantee=rd.GDP(1.0), classes=["a", "b", "c"], unit="patient", ledger=ledger)
    model.fit(X, y, groups=who)
    assert (model.release_.n, model.release_.unit) == (len(np.unique(who)), "patient")
    assert any("one patient is replaced" in text for text in model.guarantee_.assumptions)
    assert model.score(X, y) > 0.8


def test_a_person_moves_the_gradient_no_farther_than_one_record_can():
    """A hundred records at the rim, in all classes, against a hundred others."""
    loss, gradients = LogisticLoss(3, np.ones(3), 1.0), []
    for sign in (1.0, -1.0):
        X, labels, who = np.zeros((120, 3)), np.full(120, -1), np.arange(120)
        X[20:], who[20:], labels[20:] = 8.0 * sign * np.eye(3)[0], 500, np.arange(100) % 3
        labelled = with_labels(X, LINE, labels, 3, who)[1]
        known = LabelledFeatures.of(labelled, Features(np.eye(3), np.zeros(3), 1.0))
        gradients.append(loss.mean_gradient(known, np.zeros(12)))
        assert labelled.n == 21
    assert np.linalg.norm(gradients[0] - gradients[1]) <= 2 * LONGEST_GRADIENT / 21


# --- files -----------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 4, 5], [0.5, 1.5, 2.5]], ids=["texts", "whole", "real"])
def test_a_saved_model_is_the_same_model(kind, labels, tmp_path):
    X, y = three_classes()
    named = np.array(labels)[np.searchsorted(["a", "b", "c"], y)]
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(2.0))
    model = kind(ball=LINE, guarantee=rd.GDP(1.0), classes=labels, ledger=ledger).fit(X, named)
    model.save(tmp_path / "model.json")
    again = kind.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.guarantee_, again.release_.entry) == (model.guarantee_, 1)
    assert isinstance(rd.Release.load(tmp_path / "model.json"), ClassifierRelease)
    assert "pickle" not in (tmp_path / "model.json").read_text()
    with pytest.raises(rd.InputError, match="exists already"):
        model.save(tmp_path / "model.json")
    model.save(tmp_path / "model.json", force=True)
    other = next(one for one in KINDS if one is not kind)
    with pytest.raises(rd.InputError, match="use the class that wrote it"):
        other.load(tmp_path / "model.json")


SPOILT = [
    ("labels", []),
    ("labels", ["a", "a", "b"]),
    ("labels", ["a", "b"]),
    ("labels", [None, "b", "c"]),
    ("entry", 0),
    ("entry", "1"),
    ("features", {}),
    ("features", {"matrix": [[1.0]], "offset": [0.0], "length": 1.0}),
    ("value", [1.0]),
    ("format", 99),
    ("class", "Release"),
    ("surprise", 1),
]


@pytest.mark.parametrize(("name", "value"), SPOILT)
def test_a_spoilt_file_gets_one_sentence(name, value, tmp_path):
    model = fitted(rd.PrivateLDA)
    model.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text()) | {name: value}
    (tmp_path / "spoilt.json").write_text(json.dumps(data))
    with pytest.raises(rd.InputError, match=r"(pass|upgrade|use)"):
        rd.PrivateLDA.load(tmp_path / "spoilt.json")


def test_steps_are_reported_to_whoever_wants_to_know():
    seen = []

    class Bar:
        def __call__(self, done, total):
            pass

        def step(self, done, total):
            seen.append((done, total))

    with reporting(Bar()):
        fitted(rd.PrivateLogisticRegression, steps=7)
    assert seen == [(i, 7) for i in range(7)]


def test_a_query_of_moments_is_planned_for_the_stated_sensitivity():
    plan = Query(vectors_up_to(1.0, 4), 50, rd.GDP(1.0), mechanism="wrapped-gaussian", statistic=ClassMoments(3)).plan()
    assert plan.sensitivity == pytest.approx(2 / 50, rel=1e-12)
    assert plan.scale == pytest.approx(2 / 50, rel=1e-9)
