"""Estimators: scikit-learn's own checks, agreement with pyRiemann, budgets that cannot get lost, private labels."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from inspect import signature

import numpy as np
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import riemdp as rd
from riemdp.audit import audit_draws
from riemdp.estimators import (
    PrivateFrechetMean,
    PrivateGeodesicRegression,
    PrivateLDA,
    PrivateLogisticRegression,
    PrivateMDM,
    PrivatePGA,
    PrivateTangentSpace,
)
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.class_means import ANY_CLASS, RARE, WITHIN_CLASSES, ClassSums, Labelled
from riemdp.statistics.query import Query

HUGE = rd.PureDP(1e12)  # the noise is far below every tolerance
SPD3 = rd.SPDAffine(3)
BALL = rd.Ball(SPD3, np.eye(3), 2.0)
KINDS = [PrivateFrechetMean, PrivateTangentSpace, PrivatePGA, PrivateMDM, PrivateLogisticRegression, PrivateLDA]
kinds = pytest.mark.parametrize("kind", KINDS)
noises = pytest.mark.parametrize("noise", [WRAPPED_GAUSSIAN, WRAPPED_LAPLACE], ids=lambda noise: noise.name)


@dataclass(frozen=True)
class AroundZero:
    """A ball of Euclidean space for any number of features; a class, so that test names are the same every time."""

    radius: float

    def __call__(self, n_features):
        return rd.Ball(rd.Euclidean(n_features), np.zeros(n_features), self.radius)


def two_classes(n=60, seed=0, space=SPD3):
    """Records in BALL around two points, in turns; labels 'left' and 'right'."""
    rng = np.random.default_rng(seed)
    right = np.arange(n) % 2 == 1
    coords = 0.25 * rng.standard_normal((n, space.dim)) + 0.4 * np.where(right, 1, -1)[:, None] * np.eye(space.dim)[0]
    X = space.exp(space.from_coordinates(coords, space.origin), space.origin)
    return X, np.where(right, "right", "left")


def fit(kind, X=None, y=None, **options):
    data = two_classes()
    X, y = data[0] if X is None else X, data[1] if y is None else y
    return kind(**{"ball": BALL, "guarantee": HUGE} | options).fit(X, y)


@pytest.fixture
def ledger(tmp_path):
    return rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(10.0))


def entries(ledger):
    return [(entry.guarantee, entry.status) for entry in ledger.history()]


# --- scikit-learn ---------------------------------------------------------------------------------------------


LINEAR = (PrivateLogisticRegression, PrivateLDA)
COMPARE_TWO_FITS = ("check_fit_idempotent", "check_classifier_data_not_an_array")


@parametrize_with_checks([kind(ball=AroundZero(20.0), guarantee=rd.PureDP(1e15)) for kind in KINDS])
def test_scikit_learn_checks(estimator, check):
    if isinstance(estimator, LINEAR) and check.func.__name__ in COMPARE_TWO_FITS:
        pytest.skip("each fit draws a private ball and a private length of features anew, whatever the guarantee")
    check(estimator)


# A geodesic regression has the records for its response: y are the numbers t, and it is predict(t), not predict(X).
OTHER_ROLES = {
    "check_n_features_in_after_fitting": "predict takes t, which has no features",
    "check_fit2d_predict1d": "predict takes t, a list of numbers",
    "check_estimators_pickle": "predict is given X, whose missing values are none of t",
    "check_regressors_train": "predict gives points, and is given X instead of t",
    "check_supervised_y_2d": "no value or form of a private number may be told by a warning",
    "check_supervised_y_no_nan": "no value of a private number raises",
}


@parametrize_with_checks(
    [PrivateGeodesicRegression(ball=AroundZero(20.0), guarantee=rd.PureDP(1e15), t_bounds=(-5.0, 5.0))],
    expected_failed_checks=lambda _: OTHER_ROLES,
)
def test_scikit_learn_checks_of_a_geodesic_regression(estimator, check):
    check(estimator)


@kinds
def test_privacy_arguments_are_keywords_without_defaults(kind):
    for arguments in [{}, {"ball": BALL}, {"guarantee": HUGE}]:
        with pytest.raises(TypeError, match="keyword-only"):
            kind(**arguments)
    with pytest.raises(TypeError, match="positional"):
        kind(BALL, HUGE)


@kinds
def test_pickles_copies_and_clones_are_the_same_estimator(kind, ledger):
    model = fit(kind, guarantee=rd.PureDP(1.0), ledger=ledger)
    X, _ = two_classes()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.guarantee_ == model.guarantee_
        for method in ("predict", "transform"):
            if hasattr(kind, method):
                np.testing.assert_array_equal(getattr(other, method)(X), getattr(model, method)(X))
        other.fit(*two_classes())
    clone(model).fit(*two_classes())
    assert entries(ledger) == 4 * [(rd.PureDP(1.0), "released")]


@kinds
def test_pickles_of_the_time_before_each_estimator_had_its_file_still_load(kind):
    model = fit(kind, guarantee=rd.PureDP(1.0))
    now = pickle.dumps(model, protocol=2)  # which writes the path of a class as plain text
    before = now.replace(f"c{kind.__module__}\n".encode(), b"criemdp.estimators\n")
    assert before != now
    assert pickle.loads(before).guarantee_ == model.guarantee_


# --- what comes out -------------------------------------------------------------------------------------------


def test_the_mean_is_the_mean():
    X, _ = two_classes()
    model = fit(PrivateFrechetMean, X)
    assert SPD3.dist(model.mean_, rd.frechet_mean(X, SPD3).point) < 1e-3 * model.release_.sensitivity  # the solver's
    assert model.mean_.shape == (3, 3)
    assert model.n_features_in_ == 3
    assert model.release_.n == len(X)
    assert model.guarantee_ == HUGE
    assert model.release_.guarantee.assumptions == model.guarantee_.assumptions


def test_arguments_reach_the_mechanism():
    ask = {"guarantee": rd.ApproxDP(0.5, 1e-6), "mechanism": "wrapped-gaussian", "calibration": "classical"}
    foot = SPD3.random_point(1, 3)[0]
    model = fit(PrivateFrechetMean, footpoint=foot, **ask)
    expected = rd.private_mean(two_classes()[0], BALL, ask.pop("guarantee"), footpoint=foot, **ask)
    assert (model.release_.scale, model.release_.sensitivity) == (expected.scale, expected.sensitivity)
    assert fit(PrivateFrechetMean, statistic="tangent-mean").release_.statistic == "tangent-mean"


def test_modes_are_those_of_the_records_and_come_back():
    space = rd.SPDAffine(2)
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    coords = rng.standard_normal((4000, 3)) * [0.3, 0.15, 0.03] @ frame.T
    X = space.exp(space.from_coordinates(coords, space.origin), space.origin)
    model = PrivatePGA(ball=rd.Ball(space, np.eye(2), 2.0), guarantee=HUGE).fit(X)
    assert model.components_.shape == (3, 2, 2)
    np.testing.assert_allclose(model.explained_variance_, np.linalg.eigvalsh(np.cov(coords.T))[::-1], rtol=0.05)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1.0)
    scores = model.transform(X)
    np.testing.assert_allclose(scores.var(axis=0), model.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(np.abs(np.corrcoef(scores.T) - np.eye(3)).max(), 0, atol=0.05)
    np.testing.assert_allclose(model.inverse_transform(scores), X, rtol=1e-6)
    two = PrivatePGA(ball=model.ball_, guarantee=HUGE, n_components=2).fit(X)
    left = space.dist(two.inverse_transform(two.transform(X)), X)
    assert np.sqrt((left**2).mean()) == pytest.approx(0.03, rel=0.1)
    assert list(two.get_feature_names_out()) == ["privatepga0", "privatepga1"]


def test_modes_of_people_and_in_a_private_ball():
    rng = np.random.default_rng(1)
    X, ids = rng.normal(size=(4000, 2)) * [0.2, 0.02], np.arange(4000) // 2
    ball = rd.Ball(rd.Euclidean(2), np.zeros(2), 5.0)
    model = PrivatePGA(ball=ball, guarantee="mu=2", adapt=True, unit="patient").fit(X, groups=ids)
    assert (model.release_.n, model.release_.unit) == (2000, "patient")
    assert model.release_.stages
    assert model.release_.dispersion == pytest.approx(0.2 / math.sqrt(2), rel=0.3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 7}, "pass at most 6"),
        ({"n_components": 0}, "n_components = 0"),
        ({"n_components": 1.5}, "n_components = 1.5"),
        ({"second": "trace"}, "tells no modes"),
        ({"second": "half"}, "second = 'half'"),
    ],
)
def test_wrong_modes_are_refused_before_anything_is_spent(options, words, ledger):
    with pytest.raises(rd.InputError, match=words):
        fit(PrivatePGA, guarantee=rd.PureDP(1.0), ledger=ledger, **options)
    assert entries(ledger) == []


def test_where_noise_hides_all_modes_there_are_none():
    model = fit(PrivatePGA, guarantee=rd.PureDP(0.5))
    assert model.components_.shape == (0, 3, 3)
    assert model.transform(two_classes()[0]).shape == (60, 0)
    np.testing.assert_allclose(model.inverse_transform(np.zeros((2, 0))), [model.mean_] * 2)
    with pytest.raises(rd.InputError, match="one for each mode"):
        model.inverse_transform(np.zeros((2, 3)))


def test_tangent_vectors_keep_lengths_and_come_back():
    X, _ = two_classes()
    model = fit(PrivateTangentSpace, X)
    vectors = model.transform(X)
    assert vectors.shape == (len(X), SPD3.dim)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), SPD3.dist(model.mean_, X), rtol=1e-9)
    back = SPD3.exp(SPD3.from_coordinates(vectors, model.mean_), model.mean_)
    np.testing.assert_allclose(back, X, rtol=1e-9, atol=1e-12)
    assert list(model.get_feature_names_out()) == [f"privatetangentspace{i}" for i in range(6)]


@pytest.mark.parametrize("private_labels", [False, True])
def test_separated_classes_are_told_apart_at_a_moderate_budget(private_labels):
    X, y = two_classes(3000)
    options = {"private_labels": private_labels, "classes": ["left", "right"]}
    model = fit(PrivateMDM, X, y, guarantee=rd.PureDP(2.0), **options)
    fresh, labels = two_classes(400, seed=1)
    assert model.score(fresh, labels) > 0.85  # 0.945 without noise; at 0.85 the means would be off by about 0.5
    assert list(model.classes_) == ["left", "right"]
    assert model.means_.shape == (2, 3, 3)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LINEAR])
def test_unusable_records_go_to_the_centre_in_silence(kind):
    X, y = two_classes()
    broken, mended = X.copy(), X.copy()
    broken[3], broken[5], broken[7] = np.nan, np.inf, -np.eye(3)
    mended[[3, 5, 7]] = np.eye(3)
    one, other = fit(kind, broken, y), fit(kind, mended, y)
    name = "means_" if kind is PrivateMDM else "mean_"
    np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9)
    if kind is not PrivateFrechetMean:
        np.testing.assert_allclose(one.transform(broken), other.transform(mended), atol=1e-9)


def test_records_outside_the_ball_count_as_on_its_rim():
    model = fit(PrivateMDM)
    far = math.e**3 * np.eye(3)[None]
    rim = SPD3.geodesic(np.eye(3), far, 2.0 / SPD3.dist(np.eye(3), far))
    np.testing.assert_allclose(model.transform(far), model.transform(rim), rtol=1e-9)


# --- what scikit-learn makes of the output -------------------------------------------------------------------


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("everywhere", [False, True])
def test_predictions_are_the_same_whatever_transform_returns(output, everywhere):
    pytest.importorskip(output)
    X, y = two_classes()
    model = fit(PrivateMDM, X, y)
    expected = model.transform(X), model.predict(X), model.predict_proba(X), model.score(X, y)
    if not everywhere:
        model.set_output(transform=output)
    with config_context(**{"transform_output": output} if everywhere else {}):
        found = model.transform(X), model.predict(X), model.predict_proba(X), model.score(X, y)
        scores = cross_val_score(model, X, y, cv=3, error_score="raise")
    assert type(found[0]).__module__.startswith(output)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)
    assert np.isfinite(scores).all()


# --- saved models ---------------------------------------------------------------------------------------------


def saved(model, **changes):
    """As a pickle of another version would have it: these fields changed, or left out (None)."""
    state = model.__getstate__() | changes
    other = type(model).__new__(type(model))
    other.__setstate__({name: value for name, value in state.items() if value is not None or name not in changes})
    return other


def test_a_model_says_its_format_and_comes_back_the_same():
    X, y = two_classes()
    model = fit(PrivateMDM, X, y)
    assert model.__getstate__()["_format"] == 1
    again = pickle.loads(pickle.dumps(model))
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_model_that_was_saved_before_formats_and_later_fields_still_works():
    """Nothing that was paid for is lost: what it lacks has a default."""
    X, y = two_classes()
    model = fit(PrivateMDM, X, y)
    old = saved(model, _format=None, left_out_=None, note=None)
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    assert list(old.left_out_) == [False, False]
    assert repr(old) == repr(model)
    assert old.fit(X, y).releases_
    assert saved(PrivateMDM(ball=BALL, guarantee=HUGE), _format=None, note=None).fit(X, y).releases_


@pytest.mark.parametrize("kind", [PrivateFrechetMean, PrivateMDM, PrivateTangentSpace])
def test_a_model_of_a_newer_version_asks_for_an_upgrade(kind):
    with pytest.raises(rd.InputError, match=rf"the {kind.__name__} was saved by a newer riemdp \(format 9\): upgrade riemdp\."):
        saved(fit(kind), _format=9)


# --- pyRiemann and geomstats ----------------------------------------------------------------------------------


@pytest.fixture
def covariances():
    """(n, channels, times) of two classes with different mixing, and pyRiemann's estimate of their covariances."""
    estimation = pytest.importorskip("pyriemann.estimation", exc_type=ImportError)
    rng = np.random.default_rng(5)
    labels = np.arange(80) % 2
    mixing = np.array([[[1.0, 0.3, 0], [0, 1, 0], [0, 0, 1]], [[1.0, -0.3, 0], [0, 1, 0], [0, 0.2, 1]]])
    signals = mixing[labels] @ rng.standard_normal((80, 3, 60))
    return estimation.Covariances("oas"), signals, labels


@pytest.mark.parametrize(("space", "metric"), [(SPD3, "riemann"), (rd.SPDLogEuclidean(3), "logeuclid")])
def test_without_noise_it_is_the_mdm_of_pyriemann(space, metric, covariances):
    from pyriemann.classification import MDM

    make, signals, labels = covariances
    X = make.fit_transform(signals)
    reference = MDM(metric=metric).fit(X, labels)
    model = PrivateMDM(ball=rd.Ball(space, np.eye(3), 2.0), guarantee=HUGE).fit(X, labels)
    np.testing.assert_allclose(model.means_, reference.covmeans_, atol=1e-6)
    np.testing.assert_allclose(model.transform(X), reference.transform(X), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))


def test_pipelines_with_pyriemann_before_and_scikit_learn_after(covariances):
    make, signals, labels = covariances
    tangent = make_pipeline(make, PrivateTangentSpace(ball=BALL, guarantee=rd.GDP(1.0)), LogisticRegression())
    nearest = make_pipeline(make, PrivateMDM(ball=BALL, guarantee=rd.GDP(8.0)))
    for model in (tangent, nearest):
        assert model.fit(signals, labels).score(signals, labels) > 0.8
    assert nearest[-1].means_.shape == (2, 3, 3)


def test_points_of_geomstats(geomstats):
    sphere = geomstats.Hypersphere(dim=2)
    X = sphere.projection(np.array([0.0, 0, 1]) + 0.2 * np.random.default_rng(0).standard_normal((40, 3)))
    ball = rd.Ball(rd.Sphere(2), np.array([0.0, 0, 1]), 0.7)
    mean = fit(PrivateFrechetMean, X, X[:, 0], ball=ball).mean_
    assert mean.shape == X.shape[1:]
    assert sphere.belongs(mean, atol=1e-12)
    expected = geomstats.FrechetMean(sphere).fit(X).estimate_
    np.testing.assert_allclose(mean, expected, atol=1e-3)


@pytest.mark.filterwarnings("ignore::riemdp.UselessRelease", "error::RuntimeWarning")
@pytest.mark.parametrize("space", [rd.Hyperbolic(2), rd.SPDAffine(2), rd.Sphere(2)], ids=repr)
def test_means_that_noise_carried_away_are_no_reason_to_warn(space):
    """What a worthless mean tells of records is worthless, and silent; once, hyperbolic ones warned."""
    ball, X = rd.Ball(space, space.origin, 0.3), np.stack([space.origin] * 4)
    for _ in range(10):
        rd.PrivateTangentSpace(ball=ball, guarantee=rd.GDP(1e-3)).fit(X).transform(X)
        rd.PrivatePGA(ball=ball, guarantee=rd.GDP(1e-3)).fit(X).transform(X)
        rd.PrivateMDM(ball=ball, guarantee=rd.GDP(1e-3)).fit(X, [0, 0, 1, 1]).predict(X)


def test_landmarks_as_pairs_or_as_complex_numbers():
    space, rng = rd.KendallShapes(5), np.random.default_rng(0)
    shape = rng.standard_normal((5, 2))
    X = shape + 0.05 * rng.standard_normal((30, 5, 2))
    ball = rd.Ball(space, space.project(shape), 0.3)
    pairs, numbers = (fit(PrivateFrechetMean, Z, X[:, 0, 0], ball=ball) for Z in (X, X[..., 0] + 1j * X[..., 1]))
    assert pairs.mean_.shape == numbers.mean_.shape == (5, 2)
    assert space.dist(pairs.mean_, numbers.mean_) < 1e-9
    labels = np.arange(30) % 2
    model = fit(PrivateMDM, X, labels, ball=ball, private_labels=True, classes=[0, 1])
    assert model.means_.shape == (2, 5, 2)
    assert model.transform(X).shape == (30, 2)


# --- budgets --------------------------------------------------------------------------------------------------


def test_classes_are_released_in_parallel_and_paid_for_once(ledger):
    X, y = two_classes(90)
    y[::3] = "third"
    model = fit(PrivateMDM, X, y, guarantee=rd.PureDP(4.0), ledger=ledger)
    assert entries(ledger) == [(rd.PureDP(4.0), "released")]
    assert [release.guarantee for release in model.releases_] == 3 * [rd.PureDP(4.0)]
    assert [release.n for release in model.releases_] == [30, 30, 30]
    for guarantee in (model.guarantee_, ledger.history()[0].guarantee, *(r.guarantee for r in model.releases_)):
        assert WITHIN_CLASSES in guarantee.assumptions
        assert ANY_CLASS not in guarantee.assumptions
    assert ledger.history()[0].description == "means of 3 classes of 90 records"
    assert "replaced within its class, and a person contributes to one class only" in str(model.guarantee_)


# --- people ---------------------------------------------------------------------------------------------------


def test_what_is_protected_cannot_be_missed(ledger):
    """A person in two classes is outside of the guarantee, and all that speaks of it says so."""
    from riemdp.report import report_html

    model = fit(PrivateMDM, guarantee=rd.PureDP(4.0), ledger=ledger)
    sentence = "a person contributes to one class only"
    for guarantee in (model.guarantee_, ledger.history()[0].guarantee, *(r.guarantee for r in model.releases_)):
        assert sentence in str(guarantee)
    assert "one class only" in repr(model)
    assert "ONE class only" in PrivateMDM.__doc__.splitlines()[0]
    page = report_html(model.releases_[0])
    assert "Whoever has records in several classes" in page
    assert "may be replaced by any other of its class" in page
    assert "Whoever has records in several classes" not in report_html(fit(PrivateFrechetMean).release_)


def test_a_person_in_two_classes_is_not_covered():
    """One record per person *and class*: the attack finds more than the mu = 1 that a record is promised.

    Both opposite points of the rim, in both classes, as wrapped Gaussian noise shows them. The lower bounds are right
    with probability 1 - 1e-6; controls: one class of the person, and the composition, sqrt(2) mu, both hold.
    """
    ball, size, seeds = rd.Ball(rd.Euclidean(1), np.zeros(1), 1.0), 40_000, iter(range(4))
    claimed = rd.GDP(1.0)

    def class_mean(own):
        X = np.array([[own], [0.0], [0.0]])
        return np.asarray(rd.simulate(X, ball, claimed, size=size, seed=next(seeds), mechanism="wrapped-gaussian"))

    (one, other), (left, right) = [class_mean(1.0), class_mean(-1.0)], [class_mean(1.0), class_mean(-1.0)]
    both = np.hstack([one, left]), np.hstack([other, right])
    assert audit_draws(one, other, claimed, confidence=1 - 1e-6).holds
    assert not audit_draws(*both, claimed, confidence=1 - 1e-6).holds
    assert audit_draws(*both, rd.GDP(math.sqrt(2)), confidence=1 - 1e-6).holds


def test_private_labels_are_one_release_that_says_so(ledger, tmp_path):
    X, y = two_classes()
    model = fit(PrivateMDM, X, y, guarantee=rd.PureDP(4.0), ledger=ledger, private_labels=True, classes=["left", "right"])
    (release,) = model.releases_
    assert entries(ledger) == [(rd.PureDP(4.0), "released")]
    assert ANY_CLASS in model.guarantee_.assumptions
    assert WITHIN_CLASSES not in model.guarantee_.assumptions
    release.save(tmp_path / "means.json")
    loaded = rd.Release.load(tmp_path / "means.json")
    np.testing.assert_allclose(np.stack(loaded.space.split(loaded.value)), model.means_, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_validation_pays_for_every_fold(n_jobs, ledger):
    from joblib import parallel_config

    model = PrivateMDM(ball=BALL, guarantee=rd.PureDP(1.0), ledger=ledger)
    with parallel_config("threading"):
        cross_val_score(model, *two_classes(), cv=3, n_jobs=n_jobs, error_score="raise")
    assert entries(ledger) == 3 * [(rd.PureDP(1.0), "released")]


def test_grid_search_pays_for_every_candidate_fold_and_refit(ledger):
    model = PrivateMDM(ball=BALL, guarantee=rd.PureDP(1.0), ledger=ledger)
    grid = {"guarantee": [rd.PureDP(0.5), rd.PureDP(1.5)]}
    GridSearchCV(model, grid, cv=2, error_score="raise").fit(*two_classes())
    *folds, refit = entries(ledger)
    assert sorted(guarantee.epsilon for guarantee, _ in folds) == [0.5, 0.5, 1.5, 1.5]
    assert refit[0] in grid["guarantee"]


def test_threads_never_overspend(ledger):
    def attempt(_):
        try:
            return fit(PrivateFrechetMean, guarantee=rd.PureDP(3.0), ledger=ledger)
        except rd.BudgetExceeded:
            return None

    with ThreadPoolExecutor(6) as pool:
        fitted = [model for model in pool.map(attempt, range(6)) if model]
    assert len(fitted) == 3
    assert entries(ledger) == 3 * [(rd.PureDP(3.0), "released")]


@kinds
def test_a_refused_fit_changes_nothing(kind, ledger):
    model = kind(ball=BALL, guarantee=rd.PureDP(20.0), ledger=ledger)
    with pytest.raises(rd.BudgetExceeded):
        model.fit(*two_classes())
    assert not [name for name in vars(model) if name.endswith("_")]
    assert entries(ledger) == []
    model.set_params(guarantee=rd.PureDP(1.0)).fit(*two_classes())
    state = dict(vars(model))
    with pytest.raises(rd.BudgetExceeded):
        model.set_params(guarantee=rd.PureDP(20.0)).fit(*two_classes(20))
    paid = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert paid == {name: value for name, value in state.items() if name.endswith("_")} != {}  # the same objects


MISTAKES = [
    ({"ball": 1.0}, rd.InputError, "ball"),
    ({"guarantee": 1.0}, rd.InputError, "guarantee"),
    ({"mechanism": "wrapped-gaussian"}, rd.MechanismError, "PureDP"),
    ({"mechanism": "gaussian"}, rd.RiemdpError, "mechanism"),
    ({"calibration": "loose"}, rd.InputError, "calibration"),
    ({"ball": rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)}, rd.InputError, "X has shape"),
]
OF_PRIVATE_LABELS = [
    ({"classes": None}, rd.InputError, "classes"),
    ({"classes": []}, rd.InputError, "classes"),
    ({"classes": "left"}, rd.InputError, "classes"),
    ({"footpoint": np.eye(3)}, rd.InputError, "footpoint"),
    ({"mechanism": "kng"}, rd.MechanismError, "labels private"),
]
private = {"private_labels": True, "classes": ["left", "right"]}
CASES = [
    *((kind, *mistake) for kind in KINDS for mistake in MISTAKES if {*mistake[0]} <= {*signature(kind).parameters}),
    *((PrivateMDM, private | options, *rest) for options, *rest in MISTAKES + OF_PRIVATE_LABELS),
]


@pytest.mark.parametrize(("kind", "options", "error", "text"), CASES)
def test_mistakes_cost_nothing(kind, options, error, text, ledger):
    model = kind(**{"ball": BALL, "guarantee": rd.PureDP(1.0), "ledger": ledger} | options)
    with pytest.raises(error, match=text):
        model.fit(*two_classes())
    assert entries(ledger) == []
    assert not [name for name in vars(model) if name.endswith("_")]


@kinds
@pytest.mark.parametrize("flat", [np.full(60, 0.123456), [0.123456] * 60, np.full(60, 0.123456 + 0j), 0.123456])
def test_numbers_in_a_row_are_refused_and_not_shown(kind, flat, ledger):
    for ball in (BALL, AroundZero(2.0)):
        with pytest.raises(rd.InputError, match=r"^X (has shape|is complex)") as refused:
            kind(ball=ball, guarantee=rd.PureDP(1.0), ledger=ledger).fit(flat, two_classes()[1])
        assert "123456" not in str(refused.value)
    assert entries(ledger) == []


@pytest.mark.parametrize("private_labels", [False, True])
def test_a_wrong_ledger_is_refused(private_labels):
    with pytest.raises(rd.InputError, match="pass a Ledger"):
        fit(PrivateMDM, ledger="ledger.db", private_labels=private_labels, classes=["left", "right"])


def test_a_class_too_small_for_the_mechanism_is_refused_before_anything_is_spent(ledger):
    """The Riemannian Laplace law of a class of 2 records does not exist at this budget; that of the other does."""
    X, y = two_classes()
    y[:] = "many"
    y[:2] = "few"
    with pytest.raises(rd.MechanismError, match="exists only below"):
        fit(PrivateMDM, X, y, guarantee=rd.PureDP(1.0), mechanism="riemannian-laplace", ledger=ledger)
    assert entries(ledger) == []


# --- private labels -------------------------------------------------------------------------------------------


@noises
def test_without_noise_they_are_the_tangent_means_of_the_classes(noise):
    X, y = two_classes()
    guarantee = HUGE if noise is WRAPPED_LAPLACE else rd.GDP(1e12)
    model = fit(PrivateMDM, X, y, guarantee=guarantee, mechanism=noise.name, private_labels=True, classes=["right", "left"])
    assert model.releases_[0].mechanism == noise.name
    for label, mean in zip(["left", "right"], model.means_, strict=True):
        logs = SPD3.log(X[y == label], np.eye(3))
        np.testing.assert_allclose(mean, SPD3.exp(logs.mean(axis=0), np.eye(3)), atol=1e-8)


def sums_of(sums, ball, X, y):
    """T (classes, dim + 1), before noise."""
    return np.array(sums.value(Labelled(Bounded(X, ball), y), np.zeros(ball.space.dim)))


@noises
@pytest.mark.parametrize("space", [rd.Euclidean(1), rd.Euclidean(4), rd.SPDAffine(2), rd.Sphere(2)], ids=repr)
def test_no_replacement_exceeds_the_sensitivity_and_one_attains_it(noise, space):
    rng, n = np.random.default_rng(0), 4
    ball = rd.Ball(space, space.origin, 0.7)
    sums, worst = ClassSums(3, noise), 0.0
    allowed = sums.sensitivity(ball, n, np.zeros(space.dim))
    for _ in range(300):
        coords = rng.standard_normal((n + 1, space.dim))
        coords *= 0.7 / np.linalg.norm(coords, axis=1, keepdims=True)
        coords[-1] = -coords[-2] if rng.random() < 0.5 else coords[-1]
        X = space.exp(space.from_coordinates(coords, space.origin), space.origin)
        y = rng.integers(0, 4, n + 1)
        before, after = (sums_of(sums, ball, X[rows], y[rows]) for rows in ([0, 1, 2, 3], [0, 1, 2, 4]))
        blocks = np.linalg.norm(before - after, axis=1)
        worst = max(worst, blocks.sum() if noise is WRAPPED_LAPLACE else np.linalg.norm(blocks))
    assert worst <= allowed
    assert worst > allowed * (1 - 1e-9)


@noises
@pytest.mark.parametrize("dim", [1, 3, 15, 136])
def test_no_other_weight_has_a_smaller_worst_case_error(noise, dim):
    """Variance of a coordinate times (d + |m|²/w²), at |m| = r = 1 (docs/proofs/private_mdm.md, 3)."""

    def error(w):
        norm = 2 * math.hypot(1, w) if noise is WRAPPED_LAPLACE else max(2, math.sqrt(2) * math.hypot(1, w))
        return norm**2 * (dim + 1 / w**2)

    best = ClassSums(2, noise).weight(rd.Ball(rd.Euclidean(dim), np.zeros(dim), 1.0))
    assert all(error(best) <= error(w) * (1 + 1e-12) for w in np.geomspace(1e-2, 1e2, 401))


@noises
def test_predicted_error(noise):
    """Against releases of records at the centre, in classes of equal size; 5 standard errors and 5 % for higher orders."""
    n, dim = 4000, 2
    ball, y = rd.Ball(rd.Euclidean(dim), np.zeros(dim), 1.0), np.arange(n) % 2
    guarantee = rd.PureDP(1.0) if noise is WRAPPED_LAPLACE else rd.GDP(0.5)
    query = Query(ball, n, guarantee, noise.name, statistic=ClassSums(2))
    plan = query.plan()
    value = sums_of(ClassSums(2, noise), ball, np.zeros((n, dim)), y)
    square = np.sum(query.law(plan).draw(value, 1500).points ** 2, axis=1)
    spread = 5 * np.std(square) / math.sqrt(len(square)) / plan.expected_error**2
    assert np.mean(square) == pytest.approx(plan.expected_error**2, rel=spread + 0.05)


def test_gaussian_noise_costs_no_more_than_with_public_labels():
    ask = {"guarantee": rd.GDP(1.0), "mechanism": "wrapped-gaussian", "statistic": "tangent-mean"}
    public, secret = fit(PrivateMDM, **ask), fit(PrivateMDM, **ask, **private)
    assert 2 * secret.releases_[0].scale == pytest.approx(public.releases_[0].scale, rel=1e-9)


def test_auto_takes_the_smaller_predicted_error():
    for guarantee, expected in [(rd.PureDP(1.0), "wrapped-laplace"), (rd.GDP(1.0), "wrapped-gaussian")]:
        assert fit(PrivateMDM, guarantee=guarantee, **private).releases_[0].mechanism == expected


def test_labels_are_read_one_by_one():
    """A label that is none of the classes takes its own record out and leaves the others alone."""
    X, _ = two_classes()
    good = [0, 1] * 30
    expected = fit(PrivateMDM, X[1:], good[1:], private_labels=True, classes=[0, 1]).means_
    for odd in ("left", None, math.nan, 2.5, (0, 1)):
        model = fit(PrivateMDM, X, [odd, *good[1:]], private_labels=True, classes=[0, 1])
        shares = np.array([29 / 60, 30 / 60])
        shares = shares / (shares + (1 - shares.sum()) / 2)  # one record in 60 belongs to no class
        for mean, other, share in zip(model.means_, expected, shares, strict=True):
            np.testing.assert_allclose(SPD3.log(mean, np.eye(3)), share * SPD3.log(other, np.eye(3)), atol=1e-9)
    with pytest.raises(rd.InputError, match="one label for each"):
        fit(PrivateMDM, X, good[1:], private_labels=True, classes=[0, 1])


def test_an_empty_class_and_hopeless_budgets_give_points_all_the_same():
    X, y = two_classes()
    options = {"private_labels": True, "classes": ["left", "right", "nobody"]}
    for epsilon in (1e12, 1.0, 1e-6, 1e-18):
        model = fit(PrivateMDM, X, y, guarantee=rd.PureDP(epsilon), **options)
        assert SPD3.contains(model.means_).all()
        assert (SPD3.dist(model.means_, np.eye(3)) <= 2.0 + 1e-9).all()
        assert set(model.predict(X)) <= set(model.classes_)


@noises
def test_a_class_without_records_is_left_out_of_predictions(noise):
    """Of 200 fits, at most 10 keep it: at most 0.5 % should, and more than 10 have probability below 1e-7."""
    guarantee = rd.PureDP(4.0) if noise is WRAPPED_LAPLACE else rd.GDP(1.0)
    query, names = Query(BALL, 600, guarantee, noise.name, statistic=ClassSums(3)), np.array(["left", "nobody", "right"])
    X, y = two_classes(600)
    sums, plan = ClassSums(3, noise), query.plan()
    value, law = sums_of(sums, BALL, X, np.where(y == "left", 0, 2)), query.law(plan)
    rare = np.array([sums.rare(law.draw(value).noisy, plan.scale) for _ in range(200)])
    assert (~rare[:, 1]).sum() <= 10
    assert rare[:, [0, 2]].sum() == 0  # 300 records each: far beyond the noise
    model = fit(PrivateMDM, X, y, guarantee=guarantee, mechanism=noise.name, private_labels=True, classes=names)
    assert list(model.left_out_) == [False, True, False]
    model.means_[1] = X[0]  # the very record that is asked about
    assert model.predict(X[:1]) != "nobody"
    assert model.predict_proba(X)[:, 1].max() == 0
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.transform(X).shape == (600, 3)
    assert np.isfinite(model.transform(X)).all()


def test_the_largest_class_is_never_left_out():
    model = fit(PrivateMDM, guarantee=rd.GDP(1e-6), private_labels=True, classes=["left", "right", "nobody"])
    assert not model.left_out_.all()
    assert not fit(PrivateMDM).left_out_.any()


@noises
@pytest.mark.parametrize("dim", [1, 6, 45])
def test_three_standard_deviations_of_the_noise_are_rarely_exceeded(noise, dim):
    """In less than 1 % of draws of a coordinate; 10^6 of them, 6 standard errors."""
    deviation = math.sqrt(ClassSums(2, noise).variance(dim))
    draws = noise.noise(np.random.default_rng(0), 10**6 // dim, dim + 1)[:, -1]
    assert np.std(draws) == pytest.approx(deviation, rel=0.05)
    share = np.mean(draws > RARE * deviation)
    assert share + 6 * math.sqrt(0.01 / len(draws)) < 0.01


NEIGHBOURS = {
    "within a class": (np.array([[1.0], [0.0]]), np.array([0, 1]), np.array([[-1.0], [0.0]]), np.array([0, 1])),
    "to another class": (np.array([[1.0], [0.0]]), np.array([0, 1]), np.array([[1.0], [0.0]]), np.array([1, 1])),
}


def noisy_sums(sums, ball, X, y, scale, size, rng):
    """What an adversary sees, before any post-processing: T + noise, (size, 2 (dim + 1)), in float64."""
    value = sums_of(sums, ball, X, y)
    return np.hstack([row + scale * sums.noise.noise(rng, size, len(row)) for row in value])


@noises
@pytest.mark.parametrize("move", NEIGHBOURS)
def test_audit_of_private_labels(noise, move):
    """Worst-case neighbours; the bounds are right with probability 1 - 1e-8.

    With a third of the scale the same audit finds too large a loss: it could have found one.
    """
    sums, ball = ClassSums(2, noise), rd.Ball(rd.Euclidean(1), np.zeros(1), 1.0)
    claimed, rng = rd.PureDP(1.0) if noise is WRAPPED_LAPLACE else rd.GDP(1.0), np.random.default_rng(0)
    scale = Query(ball, 2, claimed, noise.name, statistic=ClassSums(2)).plan().scale
    X, y, X2, y2 = NEIGHBOURS[move]
    for factor, holds in ((1.0, True), (1 / 3, False)):
        draws = [noisy_sums(sums, ball, *data, factor * scale, 100_000, rng) for data in ((X, y), (X2, y2))]
        assert audit_draws(*draws, claimed, confidence=1 - 1e-8).holds is holds


@noises
def test_every_class_gets_noise_of_its_own_at_the_planned_scale(noise):
    """The released sums: lengths against their law, at p < 1e-8 (controls: 15 % off), and blocks uncorrelated."""
    law = stats.gamma(3) if noise is WRAPPED_LAPLACE else stats.chi(3)
    query = Query(rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0), 9, rd.PureDP(1.0) if noise is WRAPPED_LAPLACE else rd.GDP(1.0), noise.name, statistic=ClassSums(2))
    plan = query.plan()
    noisy = query.law(plan).draw((np.zeros(3), np.zeros(3)), 1500).noisy
    lengths = np.linalg.norm(np.stack([block.vectors for block in noisy], axis=1) / plan.scale, axis=2)
    assert stats.kstest(lengths.ravel(), law.cdf).pvalue > 1e-8
    for wrong in (0.85, 1.15):
        assert stats.kstest(wrong * lengths.ravel(), law.cdf).pvalue < 1e-8
    assert abs(np.corrcoef(law.cdf(lengths).T)[0, 1]) < 6 / math.sqrt(1500)


def test_adaptive_class_means_cost_one_entry_and_err_less(tmp_path):
    X, y = two_classes()
    wide = rd.Ball(SPD3, np.eye(3), 5.0)
    ledger = rd.Ledger(tmp_path / "l.db", budget=rd.GDP(8.0))
    model = PrivateMDM(ball=wide, guarantee=rd.GDP(8.0), adapt=True, ledger=ledger).fit(X, y)
    assert len(ledger.history()) == 1
    assert all(release.stages for release in model.releases_)
    assert all(release.ball.radius < wide.radius for release in model.releases_)
    with pytest.raises(rd.InputError, match="adapt"):
        PrivateMDM(ball=wide, guarantee=rd.GDP(1.0), adapt=True, private_labels=True, classes=[0, 1]).fit(X, y)


# --- tangent vectors, there and back, and as pyRiemann has them ---------------------------------------------------


def tangent(space, guarantee="mu=5", **options):
    ball = rd.Ball.from_eigenvalue_bounds(space, 0.05, 20.0)
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(200, space.k, 3 * space.k))
    records = raw @ raw.swapaxes(1, 2) / (3 * space.k)
    return PrivateTangentSpace(ball=ball, guarantee=guarantee, statistic="tangent-mean", **options).fit(records), records


SPACES = [SPD3, rd.SPDLogEuclidean(3)]
spaces = pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)


@spaces
@pytest.mark.parametrize("basis", ["orthonormal", "pyriemann"])
def test_inverse_transform_gives_the_records_back(space, basis):
    model, records = tangent(space, basis=basis)
    np.testing.assert_allclose(model.inverse_transform(model.transform(records)), records, rtol=1e-9, atol=1e-11)


def test_inverse_transform_of_other_spaces():
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    points = rd.simulate(np.tile(ball.center, (20, 1)), ball, "mu=1", size=50, seed=0)
    model = PrivateTangentSpace(ball=ball, guarantee="mu=1").fit(points)
    inside = points[ball.space.dist(points, ball.center) < 0.5]
    assert len(inside) > 10
    np.testing.assert_allclose(model.inverse_transform(model.transform(inside)), inside, atol=1e-12)


@pytest.mark.parametrize(("space", "metric"), [(SPACES[0], "riemann"), (SPACES[1], "logeuclid")], ids=["riemann", "logeuclid"])
def test_the_basis_of_pyriemann_is_that_of_its_tangent_space(space, metric):
    from pyriemann.tangentspace import TangentSpace

    model, records = tangent(space, basis="pyriemann")
    theirs = TangentSpace(metric=metric)
    theirs.reference_ = model.mean_
    np.testing.assert_allclose(model.transform(records), theirs.transform(records), rtol=1e-9, atol=1e-10)
    vectors = np.random.default_rng(0).normal(size=(5, space.dim)) / 4
    np.testing.assert_allclose(model.inverse_transform(vectors), theirs.inverse_transform(vectors), rtol=1e-9, atol=1e-10)


def test_wrong_bases_and_vectors_get_one_sentence():
    with pytest.raises(rd.InputError, match="basis = 'other'"):
        tangent(SPD3, basis="other")
    with pytest.raises(rd.InputError, match="basis = 'pyriemann' belongs to SPDAffine and SPDLogEuclidean"):
        PrivateTangentSpace(ball=rd.Ball(rd.Euclidean(2), [0, 0], 1.0), guarantee="mu=1", basis="pyriemann").fit(np.zeros((9, 2)))
    model, _ = tangent(SPD3)
    with pytest.raises(rd.InputError, match=r"X has shape \(2, 5\): pass tangent vectors of shape \(n, 6\)"):
        model.inverse_transform(np.zeros((2, 5)))
    with pytest.raises(rd.InputError, match="X holds NaN"):
        model.inverse_transform(np.full((2, 6), np.nan))
