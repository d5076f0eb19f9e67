"""People with all of their records, through every entry point; and attacks on one of them that know everything else."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from typer.testing import CliRunner

import riemdp as rd
from riemdp.audit import audit_draws
from riemdp.cli import app
from riemdp.estimators import PrivateFrechetMean, PrivateMDM, PrivateTangentSpace
from riemdp.io.identities import identities
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE
from riemdp.privacy.reservation import Reservation
from riemdp.statistics.class_means import (
    ALL_CLASSES,
    ANY_CLASSES,
    ONE_LABEL,
    WITHIN_CLASSES,
    ClassSums,
    Labelled,
)
from riemdp.statistics.query import Query
from riemdp.statistics.sites import private_mean_of_sums, site_sum

BALL = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
LINE = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
noises = pytest.mark.parametrize("noise", [WRAPPED_GAUSSIAN, WRAPPED_LAPLACE], ids=lambda noise: noise.name)


@pytest.fixture
def study():
    """30 people, with one to nine records each, in one to three classes."""
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(30), rng.integers(1, 10, 30))
    order = rng.permutation(len(ids))
    return rng.normal(size=(len(ids), 2)) / 5, np.array(list("abc"))[rng.integers(0, 3, len(ids))], ids[order]


@pytest.fixture
def values(monkeypatch):
    """What the mechanisms of releases are given."""
    seen, real = [], Reservation.draw

    def spy(paid, value, law):
        return real(paid, lambda: (seen.append(value()), seen[-1])[1], law)

    monkeypatch.setattr(Reservation, "draw", spy)
    return seen


def means(values):
    """The means among what releases were given: the first room of those that also tell how full the ball is."""
    return [value[0] if isinstance(value, tuple) else value for value in values]


def persons(X, ids):
    return np.array([X[ids == who].mean(axis=0) for who in dict.fromkeys(ids.tolist())])


# --- estimators -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PrivateFrechetMean, PrivateTangentSpace])
def test_the_mean_is_that_of_people(kind, study, values):
    X, _, ids = study
    model = kind(ball=BALL, guarantee="mu=1", unit="patient").fit(X, groups=ids)
    assert (model.release_.n, model.release_.unit) == (30, "patient")
    np.testing.assert_allclose(means(values)[0], persons(X, ids).mean(axis=0), atol=1e-12)
    with pytest.raises(rd.InputError, match="needs groups"):
        kind(ball=BALL, guarantee="mu=1", unit="patient").fit(X)


def test_people_in_any_classes_count_once(study, values):
    """Each of a person's s classes has their mean in it, and 1/s of them."""
    X, y, ids = study
    model = PrivateMDM(ball=BALL, guarantee="mu=1", unit="patient").fit(X, y, groups=ids)
    [release] = model.releases_
    assert (release.n, release.unit) == (30, "patient")
    assert ANY_CLASSES in model.guarantee_.assumptions
    assert WITHIN_CLASSES not in model.guarantee_.assumptions
    sums = np.zeros((3, 3))
    for who in set(ids.tolist()):
        classes = sorted(set(y[ids == who]))
        for label in classes:
            mean = X[(ids == who) & (y == label)].mean(axis=0)
            sums["abc".index(label)] += np.append(mean, 1.0) / len(classes) / 30
    np.testing.assert_allclose(values[0], sums, atol=1e-12)


def test_the_same_people_with_private_labels(study, values):
    X, y, ids = study
    strange = np.where(np.arange(len(y)) % 7 == 0, "z", y)  # is none of the classes: those records count for nothing
    asked = {"ball": BALL, "guarantee": "mu=1", "private_labels": True, "classes": list("abc")}
    model = PrivateMDM(**asked).fit(X, strange, groups=[str(i) for i in ids])
    assert (model.releases_[0].n, model.releases_[0].unit) == (30, "group")
    kept = strange != "z"
    PrivateMDM(**asked).fit(X[kept], strange[kept], groups=ids[kept])
    scaled = len(set(ids[kept].tolist())) / 30
    np.testing.assert_allclose(values[0], np.array(values[1]) * scaled, atol=1e-12)


def test_people_in_all_classes_share_the_guarantee(study, values):
    X, _, ids = study
    X, ids = np.vstack([X, X, X]), np.tile(ids, 3)
    y = np.repeat(list("abc"), len(ids) // 3)
    model = PrivateMDM(ball=BALL, guarantee=rd.GDP(1.0), membership="all").fit(X, y, groups=ids)
    assert [release.n for release in model.releases_] == [30, 30, 30]
    assert ALL_CLASSES in model.guarantee_.assumptions
    assert model.guarantee_ == rd.GDP(1.0)
    # Joint sensitivity 2 sqrt(K) r/n: the same scale as one release of all three means.
    assert model.releases_[0].scale == pytest.approx(2 * math.sqrt(3) / 30)
    for value in means(values):
        np.testing.assert_allclose(value, persons(X, ids).mean(axis=0), atol=1e-12)
    pure = PrivateMDM(ball=BALL, guarantee=rd.PureDP(1.0), membership="all").fit(X, y, groups=ids)
    assert pure.releases_[0].scale == pytest.approx(3 * 2 / 30)


def test_people_with_one_label_each_are_released_in_parallel(study, tmp_path):
    X, _, ids = study
    y = np.array(list("abc"))[ids % 3]
    ledger = rd.Ledger(tmp_path / "ledger", rd.GDP(1.0))
    asked = {"ball": BALL, "guarantee": rd.GDP(1.0), "unit": "patient"}
    model = PrivateMDM(membership="one", ledger=ledger, **asked).fit(X, y, groups=ids)
    assert [release.n for release in model.releases_] == [10, 10, 10]
    assert model.releases_[0].scale == pytest.approx(2 / 10)
    assert ONE_LABEL in model.guarantee_.assumptions
    [entry] = ledger.history()
    assert (entry.unit, entry.description) == ("patient", "means of 3 classes of 30 patients")


def test_what_is_public_must_be_true(study, tmp_path):
    X, y, ids = study
    ledger = rd.Ledger(tmp_path / "ledger", rd.GDP(1.0))
    for membership, text in (("one", "several classes"), ("all", "no record in some class"), ("none", "membership")):
        with pytest.raises(rd.InputError, match=text):
            PrivateMDM(ball=BALL, guarantee="mu=1", membership=membership, ledger=ledger).fit(X, y, groups=ids)
    with pytest.raises(rd.InputError, match="pass groups="):
        PrivateMDM(ball=BALL, guarantee="mu=1", membership="one", ledger=ledger).fit(X, y)
    with pytest.raises(rd.InputError, match="adapt"):
        PrivateMDM(ball=BALL, guarantee="mu=1", adapt=True, ledger=ledger).fit(X, y, groups=ids)
    with pytest.raises(rd.InputError, match="is public"):
        PrivateMDM(ball=BALL, guarantee="mu=1", private_labels=True, classes=["a"], membership="one").fit(X, y, groups=ids)
    with pytest.raises(rd.InputError, match="one id for each"):
        PrivateMDM(ball=BALL, guarantee="mu=1", ledger=ledger).fit(X, y, groups=ids[1:])
    assert ledger.history() == []


def test_scikit_learn_routes_groups_to_folds_and_fits(study, monkeypatch):
    """GroupKFold keeps people together, and each fit protects the people of its folds: 20 of 30."""
    X, y, ids = study
    used = []
    real = PrivateMDM.fit
    monkeypatch.setattr(PrivateMDM, "fit", lambda self, X, y, groups=None: used.append(groups) or real(self, X, y, groups))
    with sklearn.config_context(enable_metadata_routing=True):
        model = PrivateMDM(ball=BALL, guarantee="mu=5").set_fit_request(groups=True)
        scores = cross_val_score(model, X, y, params={"groups": ids}, cv=GroupKFold(3))
        search = GridSearchCV(model, {"guarantee": ["mu=5", "mu=10"]}, cv=GroupKFold(3)).fit(X, y, groups=ids)
    assert len(scores) == 3
    assert [len(set(groups.tolist())) for groups in used] == 9 * [20] + [30]
    assert search.best_estimator_.releases_[0].n == 30


def test_older_models_have_no_unit(study):
    X, _, ids = study
    state = PrivateMDM(ball=BALL, guarantee="mu=1").__getstate__()
    for name in ("unit", "membership"):
        del state[name]
    model = PrivateMDM.__new__(PrivateMDM)
    model.__setstate__(state)
    assert (model.unit, model.membership) == (None, "any")
    assert model.fit(X, ids % 2, groups=ids).releases_[0].n == 30


# --- attacks on a person with all of their records ----------------------------------------------------------------

# Others are at the centre, in both classes. The person's records, and another person's in their place: (place, class).
PERSONS = {
    "one record moves": ([(1, 0)], [(-1, 0)]),
    "both classes move": ([(1, 0), (1, 1)], [(-1, 0), (-1, 1)]),
    "247 records for one": ([(1, 0)] * 200 + [(1, 1)] * 47, [(-1, 0)]),
    "to the other class": ([(1, 0)] * 5, [(1, 1)]),
    "from both classes to one": ([(1, 0), (1, 1)] * 3, [(-1, 1)]),
    "opposite in two classes": ([(1, 0), (-1, 1)], [(-1, 0), (1, 1)]),
    "to no class": ([(1, 0)], [(1, -1)] * 3),
}
OTHERS = [(0.0, label, who) for who in (1, 2) for label in (0, 1)]


def class_sums(noise, records):
    rows = [(x, label, 0) for x, label in records] + OTHERS
    X, labels, ids = np.array([[x] for x, _, _ in rows], float), np.array([c for _, c, _ in rows]), [who for *_, who in rows]
    inside = Labelled.of_people(X, LINE, identities(ids), labels, 2)
    assert inside.n == 3
    return ClassSums(2, noise).value(inside, np.zeros(1))


@noises
@pytest.mark.parametrize("change", PERSONS)
def test_no_person_exceeds_the_sensitivity(noise, change):
    first, second = (class_sums(noise, records) for records in PERSONS[change])
    moves = [np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)]
    moved = math.hypot(*moves) if noise is WRAPPED_GAUSSIAN else sum(moves)
    assert moved <= ClassSums(2, noise).sensitivity(LINE, 3, np.zeros(1))
    if change == "to the other class":
        assert moved > 0.8 * ClassSums(2, noise).sensitivity(LINE, 3, np.zeros(1))


@noises
def test_an_attack_on_a_person_in_two_classes_finds_no_more_than_is_claimed(noise):
    """All that is published of a person with any records, before post-processing. Right with probability 1 - 1e-6.

    Control: at a third of the scale the attack succeeds.
    """
    claimed = rd.PureDP(1.0) if noise is WRAPPED_LAPLACE else rd.GDP(1.0)
    rng, size = np.random.default_rng(0), 30_000
    scale = Query(LINE, 3, claimed, noise.name, statistic=ClassSums(2), unit="group").plan().scale
    found = {}
    for change, factor in product(PERSONS, (1.0, 1 / 3)):
        draws = [
            np.hstack([row + factor * scale * noise.noise(rng, size, 2) for row in class_sums(noise, records)])
            for records in PERSONS[change]
        ]
        found[change, factor] = audit_draws(*draws, claimed, confidence=1 - 1e-6 / len(PERSONS)).holds
    assert all(found[change, 1.0] for change in PERSONS)
    assert not found["to the other class", 1 / 3]


def test_an_attack_on_everybody_in_all_classes():
    """Class means that share the guarantee hold it for a person in both; in parallel they do not. 1 - 1e-6."""
    rng, size = np.random.default_rng(1), 40_000

    def draws(scale, mean):
        return mean + scale * rng.standard_normal((size, 2))

    for membership, holds in (("all", True), ("one", False)):
        share = 1.0 if membership == "one" else 1 / math.sqrt(2)
        scale = rd.plan(LINE, 3, rd.GDP(share))[0].scale
        pair = (draws(scale, 1 / 3), draws(scale, -1 / 3))
        assert audit_draws(*pair, rd.GDP(1.0), confidence=1 - 1e-6).holds is holds
    X, y = np.array([[1.0], [0], [0]] * 2), np.repeat([0, 1], 3)
    model = PrivateMDM(ball=LINE, guarantee=rd.GDP(1.0), membership="all").fit(X, y, groups=[0, 1, 2] * 2)
    assert model.releases_[0].scale == pytest.approx(rd.plan(LINE, 3, rd.GDP(1 / math.sqrt(2)))[0].scale)


@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0)], ids=repr)
def test_the_audit_replaces_whole_people(guarantee):
    """With any numbers of records it finds what it finds for records, and never more than is claimed."""
    found = rd.audit(LINE, None, guarantee, groups=[0] * 40 + [1, 2, 2], draws=20_000)
    assert found.holds
    assert found == rd.audit(LINE, 3, guarantee, draws=20_000)
    assert min(found.lower.values()) > 0.6 * 1.0
    with pytest.raises(rd.InputError, match="number of people"):
        rd.audit(LINE, 43, guarantee, groups=[0] * 40 + [1, 2, 2])


# --- sites, Dask, summaries ------------------------------------------------------------------------------------


def test_sites_of_people(study, values, tmp_path):
    X, _, ids = study
    parts = [ids < 10, ids >= 10]
    sums = [site_sum(X[part], BALL, site=str(i), study="s", groups=ids[part], unit="patient") for i, part in enumerate(parts)]
    assert "n=10, unit='patient'" in repr(sums[0])
    sums[0].save(tmp_path / "a.json")
    made = private_mean_of_sums([rd.SiteSum.load(tmp_path / "a.json"), sums[1]], rd.GDP(1.0))
    assert (made.n, made.unit) == (30, "patient")
    assert "all records of one patient are at one site" in made.guarantee.assumptions
    rd.private_mean(X, BALL, rd.GDP(1.0), groups=ids)
    assert np.array_equal(*means(values))
    with pytest.raises(rd.InputError, match="one patient and one record"):
        private_mean_of_sums([sums[0], site_sum(X, BALL, site="c", study="s")], rd.GDP(1.0))


def test_a_sum_that_was_written_before_units_is_one_of_records(study):
    X, _, _ = study
    data = site_sum(X, BALL, site="a", study="s").to_dict() | {"format": 2}
    del data["unit"]
    assert rd.SiteSum.from_dict(data).unit == "record"


def test_people_in_the_chunks_of_dask(study, values):
    da = pytest.importorskip("dask.array")
    X, _, ids = study
    for groups in (ids, da.from_array(ids, chunks=7), pd.Series(ids).astype("category")):
        rd.private_mean(da.from_array(X, chunks=(11, 2)), BALL, rd.GDP(1.0), groups=groups)
    rd.private_mean(X, BALL, rd.GDP(1.0), groups=ids)
    assert all(np.array_equal(value, means(values)[-1]) for value in means(values))


def test_a_summary_of_people(study, values):
    X, _, ids = study
    made = rd.private_summary(X, BALL, rd.GDP(1.0), groups=ids, unit="patient")
    assert (made.n, made.unit) == (30, "patient")
    rd.private_summary(persons(X, ids), BALL, rd.GDP(1.0))
    for mine, theirs in zip(values[0], values[1], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_adaptation_counts_people(study):
    """Rounds move and shrink the ball of people, not of records."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(4000), 3)
    X = rng.normal(size=(4000, 2))[ids] / 100 + rng.normal(size=(12000, 2)) / 1000 + [0.5, 0]
    made = rd.private_mean(X, BALL, rd.GDP(1.0), groups=ids, adapt=True)
    assert made.n == 4000
    assert made.ball.radius < 0.2
    assert np.linalg.norm(made.value - [0.5, 0]) < 0.01


# --- the command line -----------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same records and ids in every form; person 'p0' is a missing id in all of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X, ids = rng.normal(size=(300, 2)) / 10, ["" if i == 0 else f"p{i}" for i in rng.permutation(300) % 50]
    frame = pd.DataFrame({"x": X[:, 0], "patient": ids, "y": X[:, 1]})
    frame.to_csv("visits.csv", index=False)
    frame.to_csv("plain.csv", index=False, header=False)
    frame.assign(patient=[i or None for i in ids]).to_parquet("visits.parquet", row_group_size=70)
    np.save("X.npy", X)
    np.save("ids.npy", np.array(ids))
    np.savez("all.npz", X=X, ids=np.array(ids), few=np.zeros(3))
    (tmp_path / "ids.csv").write_text("\n".join(ids) + "\n")
    return tmp_path


SOURCES = [
    "visits.csv --header --groups patient", "visits.csv --header --groups 2", "plain.csv --groups 2",
    "visits.csv --groups patient", "visits.csv --columns x,y --groups 2",
    "visits.csv --header --columns x,y --groups patient", "visits.parquet --groups patient", "X.npy --groups ids.npy",
    "X.npy --groups all.npz:ids", "X.npy --groups ids.csv", "X.npy --groups visits.parquet:patient",
    "X.npy --groups visits.csv:patient", "X.npy --groups plain.csv:2",
]  # fmt: skip


def run(line):
    place = "" if line.startswith("ledger") else "--space euclidean --center origin --radius 1"
    done = CliRunner().invoke(app, f"{line} {place}".split(), prog_name="riemdp")
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("source", SOURCES)
def test_ids_from_files(source, files, values):
    code, out, _ = run(f"mean {source} --unit patient --mu 1 --json")
    release = json.loads(out)
    assert (code, release["n"], release["unit"]) == (0, 49 + 6, "patient")
    groups = [one or None for one in np.load("ids.npy").tolist()]
    rd.private_mean(np.load("X.npy"), BALL, rd.GDP(1.0), groups=groups)
    assert np.array_equal(*means(values))


MISTAKES = {
    "X.npy --groups nothing.npy": "is no file",
    "X.npy --groups all.npz:few": "one id for each",
    "X.npy --groups all.npz": "name one",
    "X.npy --groups all.npz:none": "name one",
    "X.npy --groups visits.csv": "name the one with ids",
    "X.npy --groups visits.parquet": "name the one with ids",
    "X.npy --groups ids.npy:key": "leave out 'key'",
    "X.npy --groups X.npy": "pass one for each record",
    "visits.csv --header --groups nobody": "with --groups",
    "visits.csv --groups nobody": "with --groups",
    "visits.csv --no-header --groups patient": "--header",
    "plain.csv --groups patient": "with --groups",
    "visits.parquet --groups nobody": "with --groups",
    "X.npy --unit patient": "needs --groups",
    "X.npy --groups ids.npy --unit record": "does not fit",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_wrong_groups_get_a_sentence_and_cost_nothing(mistake, files):
    code, out, err = run(f"mean {mistake} --mu 1 --ledger new.db --budget-mu 1 --out m.npy")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert MISTAKES[mistake] in err
    assert not (files / "new.db").exists()
    assert not (files / "m.npy").exists()


def test_pages_say_whom_they_protect(files):
    code, out, _ = run("mean visits.csv --header --groups patient --unit patient --mu 1 --ledger l.db --budget-mu 3 --report r.html")
    assert code == 0
    assert "of 55 patients" in out
    assert "of one patient" in out
    page = (files / "r.html").read_text()
    assert "any one patient, with all records of theirs," in page
    assert "any one record" not in page
    assert "300" not in page.replace("base64", "")[:5000]
    code, _, err = run("mean X.npy --mu 1 --ledger l.db")
    assert code == 2
    assert "protect one patient, this one protects one record" in err
    assert "one patient" in run("ledger show l.db")[1]
    code, out, _ = run("check visits.csv --header --groups patient")
    assert code == 0
    assert "55 people" in out


def test_a_report_on_records_asks_about_people(study):
    from riemdp.report import report_html

    page = report_html(rd.private_mean(study[0], BALL, rd.GDP(1.0)))
    assert "If people have several, a release with groups=" in page
