"""Guarantees as text and balls as mappings, wherever one is asked for."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from sklearn.base import clone

import riemdp as rd
from riemdp import written
from riemdp.accounting import guarantee
from riemdp.plots import plot_tradeoff, plot_utility
from riemdp.written import as_ball

TEXTS = {
    "epsilon=1": rd.PureDP(1.0),
    " epsilon = 0.2 ": rd.PureDP(0.2),
    "epsilon=1, delta=1e-6": rd.ApproxDP(1.0, 1e-6),
    "delta=1e-6,epsilon=1": rd.ApproxDP(1.0, 1e-6),
    "mu=0.5": rd.GDP(0.5),
    "rho=0.1": rd.ZCDP(0.1),
    "alpha=8, epsilon=0.5": rd.RDP(8.0, 0.5),
}
BALL = {"space": "spd-affine", "size": 3, "eigenvalues": [0.05, 5]}
SAME = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), 0.05, 5)
X = np.tile(np.eye(3), (500, 1, 1))


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_names_the_guarantee_of_its_parameters(text):
    assert rd.Guarantee.from_text(text) == TEXTS[text]


@pytest.mark.parametrize("text", [
    "", "1", "epsilon", "epsilon=", "epsilon=one", "epsilon=1, epsilon=2", "epsilon=1; delta=1e-6", "sigma=1", "delta=1e-6",
    "mu=1, rho=1", "epsilon=1,", "epsilon=1=2", "PureDP(1.0)",
])  # fmt: skip
def test_other_texts_get_one_sentence_with_all_that_could_be_written(text):
    with pytest.raises(rd.InputError, match=r"^guarantee = .*: write 'epsilon=1', .*\.$"):
        rd.Guarantee.from_text(text)


@pytest.mark.parametrize("text", ["epsilon=0", "epsilon=-1", "epsilon=nan", "mu=inf", "epsilon=1, delta=1", "rho=1e-999"])
def test_numbers_in_a_text_keep_their_limits(text):
    with pytest.raises(rd.InputError, match=r"is not a number above"):
        rd.Guarantee.from_text(text)


@pytest.mark.parametrize(("written", "center", "radius", "space"), [
    ({"space": "sphere", "size": 2, "center": "north", "radius": 0.5}, [0, 0, 1], 0.5, rd.Sphere(2)),
    ({"space": "sphere", "size": 2, "curvature": 4, "center": "origin", "radius": 0.5}, None, 0.5, rd.Sphere(2, curvature=4.0)),
    ({"space": "hyperbolic", "size": 2, "curvature": "-1e-1", "center": "origin", "radius": 1}, None, 1.0, rd.Hyperbolic(2, curvature=-0.1)),
    ({"space": "euclidean", "size": 2, "center": [1, 2], "radius": "1e1"}, [1, 2], 10.0, rd.Euclidean(2)),
    ({"space": "spd-log-euclidean", "size": 2, "center": "identity", "radius": 1}, np.eye(2), 1.0, rd.SPDLogEuclidean(2)),
    ({"space": "kendall", "size": 4, "center": "origin", "radius": 0.2}, None, 0.2, rd.KendallShapes(4)),
])  # fmt: skip
def test_a_mapping_describes_a_ball(written, center, radius, space):
    ball = as_ball(written)
    assert ball.space == space
    assert ball.radius == radius
    np.testing.assert_array_equal(ball.center, space.origin if center is None else center)


def test_eigenvalues_may_be_texts_since_yaml_reads_1e_3_as_one():
    ball = as_ball({"space": "spd-affine", "size": 3, "eigenvalues": ["5e-2", 5]})
    assert (ball.radius, ball.space) == (SAME.radius, SAME.space)
    np.testing.assert_array_equal(ball.center, SAME.center)


@pytest.mark.parametrize(("wrong", "told"), [
    ({"space": "spd"}, "in the ball, space = 'spd': pass one of correlations, euclidean"),
    ({"space": None}, "in the ball, space = 'None'"),
    ({"size": "three"}, "size = 'three'"),
    ({"size": None}, "size is missing in the ball"),
    ({"eigenvalues": [0.05]}, r"eigenvalues = \[0.05\] in the ball"),
    ({"eigenvalues": ["low", 5]}, "low = 'low'"),
    ({"radius": 1}, "leave out center and radius"),
    ({"colour": "red"}, "'colour' means nothing in a ball: write space"),
    ({"curvature": 1}, "curvature does not fit space = 'spd-affine'"),
])  # fmt: skip
def test_a_mapping_that_describes_no_ball_gets_one_sentence(wrong, told):
    with pytest.raises(rd.InputError, match=told):
        rd.plan(BALL | wrong, 100, "epsilon=1")


@pytest.mark.parametrize(("wrong", "told"), [
    ({"center": "north", "radius": 1}, "center = 'north' in the ball is no point: write origin, identity"),
    ({"center": "identity"}, "radius is missing"),
    ({"radius": 1}, "center is missing"),
    ({"center": "identity", "radius": "wide"}, "radius = 'wide'"),
])  # fmt: skip
def test_a_ball_needs_a_centre_and_a_radius(wrong, told):
    with pytest.raises(rd.InputError, match=told):
        as_ball({"space": "spd-affine", "size": 3} | wrong)


def test_functions_take_both_forms_and_do_the_same_with_them():
    assert rd.plan(BALL, 500, "mu=1") == rd.plan(SAME, 500, rd.GDP(1.0))
    assert rd.private_mean(X, BALL, "mu=1").guarantee.mu == 1.0
    assert rd.check(X, BALL) == rd.check(X, SAME)
    assert rd.compose(["epsilon=0.2"] * 5, "epsilon=1") == rd.PureDP(1.0)
    drawn = [rd.simulate(X, ball, g, size=3, seed=1) for ball, g in ((BALL, "mu=1"), (SAME, rd.GDP(1.0)))]
    np.testing.assert_array_equal(*drawn)
    audits = [rd.audit(ball, 100, g, draws=400) for ball, g in ((BALL, "mu=1"), (SAME, rd.GDP(1.0)))]
    assert audits[0] == audits[1]
    assert rd.audit_draws(drawn[0][:1, 0].repeat(100, 0), np.zeros((100, 3)), "epsilon=1").claimed == rd.PureDP(1.0)
    assert plot_utility(BALL, "mu=1", n=100).axes
    assert plot_tradeoff("mu=1").axes


def test_sites_take_both_forms():
    sums = [rd.site_sum(X, BALL, site=name, study="pilot") for name in ("north", "south")]
    released = rd.private_mean_of_sums(sums, "mu=1")
    assert (released.n, released.guarantee.mu) == (1000, 1.0)


def test_a_ledger_takes_texts(tmp_path):
    ledger = rd.Ledger(tmp_path / "a.ledger", "epsilon=1")
    for _ in range(5):
        ledger.reserve("epsilon=0.2")
    assert ledger.spent == ledger.budget == rd.PureDP(1.0)
    with pytest.raises(rd.BudgetExceeded):
        rd.private_mean(X, BALL, "epsilon=0.2", ledger=ledger)


@pytest.mark.parametrize("kind", ["PrivateFrechetMean", "PrivateTangentSpace", "PrivateMDM"])
def test_estimators_keep_what_was_written(kind):
    estimator = getattr(rd, kind)(ball=BALL, guarantee="epsilon=1")
    fitted = clone(estimator).fit(X, np.arange(500) % 2)
    assert clone(fitted).get_params() == estimator.get_params()
    assert (fitted.ball, fitted.guarantee) == (BALL, "epsilon=1")
    assert fitted.guarantee_ == rd.PureDP(1.0)
    assert fitted.ball_.radius == SAME.radius


def test_estimators_take_the_size_from_the_records_if_it_is_left_out():
    written = {"space": "spd-affine", "eigenvalues": [0.05, 5]}
    assert rd.PrivateFrechetMean(ball=written, guarantee="mu=1").fit(X).ball_.space == rd.SPDAffine(3)
    north = {"space": "sphere", "center": "north", "radius": 0.5}
    points = np.tile([0.0, 0.0, 1.0], (100, 1))
    assert rd.PrivateFrechetMean(ball=north, guarantee="mu=1").fit(points).ball_.space == rd.Sphere(2)


def test_private_labels_take_both_forms():
    model = rd.PrivateMDM(ball=BALL, guarantee="mu=1", private_labels=True, classes=[0, 1])
    assert model.fit(X, np.arange(500) % 2).guarantee_.mu == 1.0


@pytest.mark.parametrize("module", [guarantee, written], ids=lambda module: module.__name__)
def test_examples_run(module):
    done = doctest.testmod(module)
    assert (done.failed, done.attempted > 0) == (0, True)


@pytest.mark.parametrize("key", ["space", "metric"])
@pytest.mark.parametrize(("name", "space"), [("riemann", rd.SPDAffine(3)), ("logeuclid", rd.SPDLogEuclidean(3)), ("logchol", rd.SPDLogCholesky(3))])
def test_names_of_pyriemann_are_understood(key, name, space):
    ball = as_ball({key: name, "size": 3, "eigenvalues": [0.1, 10.0]})
    assert ball.space == space
    model = rd.PrivateMDM(ball={key: name, "eigenvalues": [0.1, 10.0]}, guarantee="mu=5")
    x = space.random_point(60, 0)
    assert model.fit(x, np.arange(60) % 2).predict(x).shape == (60,)


def test_a_space_of_one_size_needs_none():
    assert as_ball({"space": "rotations", "center": "identity", "radius": 1.0}).space == rd.Rotations()
