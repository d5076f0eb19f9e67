"""Sums of sites: the pool's own mean, private until it is released, each counted once, and refused where they do not fit."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import riemdp as rd
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation
from riemdp.statistics import sites
from riemdp.statistics.intrinsic import TangentMean
from riemdp.statistics.sites import SiteSum, private_mean_of_sums

SPACES = [rd.Euclidean(2), rd.Sphere(3), rd.Hyperbolic(2), rd.KendallShapes(4), rd.SPDLogEuclidean(3), rd.SPDAffine(5)]
spaces = pytest.mark.parametrize("space", SPACES, ids=repr)
LINE = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
KEY = bytes(range(32))
numbers = count()


def site_sum(X, ball, site=None, study="a study"):
    """Of another site each time, unless it is named."""
    return sites.site_sum(X, ball, site=site or f"site {next(numbers)}", study=study)


def ball_of(space):
    return rd.Ball(space, space.random_point(1, 3)[0], 0.5 * min(space.uniqueness_radius, 2.0))


def shared_out(X):
    """Three sites, one of them with a single record."""
    return X[:1], X[1:700], X[700:]


def before_noise(monkeypatch):
    """What the mechanisms of releases are given."""
    values, real = [], Reservation.draw

    def spy(paid, value, law):
        return real(paid, lambda: (values.append(value()), values[-1])[1], law)

    monkeypatch.setattr(Reservation, "draw", spy)
    return values


@spaces
def test_sites_release_what_the_pool_would(space, monkeypatch):
    """10,000 records: enough for the compiled kernels, which sites always use."""
    X, ball = space.random_point(10_000, 1), ball_of(space)
    values = before_noise(monkeypatch)
    pooled = private_mean_of_sums([site_sum(part, ball) for part in shared_out(X)], rd.PureDP(1.0))
    assert np.array_equal(values[0], TangentMean().value(Bounded(X, ball), np.zeros(space.dim)))
    alone = rd.private_mean(X, ball, rd.PureDP(1.0), statistic="frechet-mean" if space.is_flat else "tangent-mean")
    for fact in ("statistic", "mechanism", "scale", "sensitivity", "expected_error", "grid", "n", "radius", "guarantee"):
        assert getattr(pooled, fact) == getattr(alone, fact)
    assert rd.Release.from_dict(pooled.to_dict()).n == 10_000


def test_small_pools_of_matrices_agree_to_the_last_bits_of_their_records():
    space = rd.SPDLogEuclidean(3)
    X, ball = space.random_point(50, 1), ball_of(space)
    sums = [site_sum(part, ball) for part in (X[:20], X[20:])]
    total = np.sum([np.array(site.total, dtype=float) for site in sums], axis=0) * 2.0**ball.grid / 50
    assert total == pytest.approx(Bounded(X, ball).coordinate_mean().point, abs=1e-14)


@spaces
def test_files_bring_the_sum_back(space, tmp_path):
    site = site_sum(space.random_point(30, 1), ball_of(space))
    site.save(tmp_path / "site.json")
    again = SiteSum.load(tmp_path / "site.json")
    assert (again.n, again.total, again.ball.radius, again.ball.space) == (30, site.total, site.ball.radius, space)
    assert (again.id, again.site, again.study) == (site.id, site.site, site.study)
    assert np.array_equal(again.ball.center, site.ball.center)
    assert "PRIVATE" in (tmp_path / "site.json").read_text()
    assert os.name != "posix" or (tmp_path / "site.json").stat().st_mode & 0o077 == 0
    private_mean_of_sums([again, site_sum(space.random_point(3, 2), again.ball)], rd.PureDP(1.0))
    with pytest.raises(rd.InputError):
        rd.Release.load(tmp_path / "site.json")


def test_nothing_private_shows():
    site = site_sum(np.full((3, 1), 0.1234), LINE, "A")
    assert repr(site) == str(site) == "SiteSum(site='A', study='a study', n=3, Euclidean(d=1), private)"


def site_data():
    return site_sum(np.full((3, 2), 0.25), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)).to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"riemdp": "release"},
        {"n": 0},
        {"n": "3"},
        {"n": True},
        {"total": ["1"]},
        {"total": ["1", "x"]},
        {"total": ["1", str(3 * 2**48)]},  # longer than three records can be
        {"total": 5},
        {"total": "11"},
        {"total": [1.9, 1]},
        {"total": ["1.9", "1"]},
        {"total": [1, 1]},  # numbers: other programs round them
        {"total": [True, "1"]},
        {"total": [float("nan"), "1"]},
        {"total": ["1_0", " 1"]},
        {"total": ["+1", "01"]},
        {"total": ["1", "1", "1"]},
        {"grid": -46},
        {"site": ""},
        {"site": "  "},
        {"site": 7},
        {"study": None},
        {"study": "a\x1b[31m"},
        {"id": "x" * 201},
        {"format": 0},
        {"format": True},
        {"format": "1"},
        {"more": 1},
        {"center": [10**400, 0]},
        {"space": {}},
        {"center": [0.0]},
        {"center": ["a", "b"]},
        {"radius": -1.0},
        {"radius": None},
    ],
)
def test_what_is_no_sum_is_refused_without_showing_it(change, tmp_path):
    data = site_data() | change
    (tmp_path / "site.json").write_text(json.dumps(data))
    with pytest.raises(rd.InputError, match="not those of a site's sum") as caught:
        SiteSum.load(tmp_path / "site.json")
    assert str(next(iter(site_data()["total"]))) not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1]", "7", '"x"', "{}"])
def test_a_file_of_something_else_is_refused(text, tmp_path):
    (tmp_path / "site.json").write_text(text)
    with pytest.raises(rd.InputError, match=r"site's sum|SiteSum.save"):
        SiteSum.load(tmp_path / "site.json")
    with pytest.raises(rd.InputError, match="cannot be read"):
        SiteSum.load(tmp_path / "none.json")


def test_files_of_other_versions_get_a_sentence(tmp_path):
    old = {name: value for name, value in site_data().items() if name not in ("format", "id", "site", "study", "grid")}
    for data, sentence in ((old, "earlier version.* site=..., study=..."), (site_data() | {"format": 4}, "later version")):
        (tmp_path / "site.json").write_text(json.dumps(data))
        with pytest.raises(rd.InputError, match=sentence) as caught:
            SiteSum.load(tmp_path / "site.json")
        assert "site.json" in str(caught.value)


@pytest.mark.parametrize("name", ["", " ", None, 3, b"A", "A\nB", "A\x1b", "A" * 201, "A\u200b"])
@pytest.mark.parametrize("argument", ["site", "study"])
def test_names_are_short_printable_text(name, argument):
    with pytest.raises(rd.InputError, match=rf"^{argument} = .*1 to 200 printable") as caught:
        sites.site_sum(np.zeros((2, 1)), LINE, **{"site": "A", "study": "s", argument: name})
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("change", [{"total": (1.9,)}, {"total": [1]}, {"total": (True,)}, {"total": ()}, {"n": 2.0}, {"n": 0}, {"ball": None}])
def test_a_sum_made_by_hand_is_checked_before_it_is_pooled(change):
    """Such a total would fail in the middle of a release, after the reservation."""
    with pytest.raises(rd.InputError, match="not those of a site's sum"):
        replace(site_sum(np.zeros((2, 1)), LINE), **change)


# --- each record once -------------------------------------------------------------------------------------------------


def refusal(sums, ledger=None):
    with pytest.raises(rd.InputError) as caught:
        private_mean_of_sums(sums, rd.GDP(1.0), ledger=ledger)
    return str(caught.value)


def test_a_backup_copy_in_the_same_folder_is_refused_before_anything_is_spent(tmp_path):
    """Pooled, it would give mu = 2 for 1: the audit shows it (audits/planted.py, 'a file twice')."""
    site_sum(np.full((20, 1), 0.5), LINE, "A").save(tmp_path / "A.json")
    shutil.copy(tmp_path / "A.json", tmp_path / "A (copy).json")
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(1.0))
    loaded = [SiteSum.load(path) for path in sorted(tmp_path.glob("*.json"))]
    assert refusal(loaded, ledger) == "sums: that of site 'A' is there twice, as a copy; pass it once."
    assert not ledger.history()
    private_mean_of_sums(loaded[:1], rd.GDP(1.0), ledger=ledger)


def test_a_copy_under_another_name_is_refused_by_its_id(tmp_path):
    one = site_sum(np.full((20, 1), 0.5), LINE, "A")
    assert "as a copy" in refusal([one, replace(one, site="B")])
    assert "as a copy" in refusal([one, one])


@pytest.mark.parametrize("again", ["A", "a", " A ", "Ａ", "ward  A"])
def test_an_old_and_a_new_file_of_a_site_are_refused(again):
    """They differ by the last patient."""
    X = np.linspace(-1, 1, 20)[:, None]
    first = "Ward A" if "ward" in again else "A"
    assert "there twice, with sums made at different times" in refusal([site_sum(X[:-1], LINE, first), site_sum(X, LINE, again)])


def test_files_of_different_studies_are_refused():
    X = np.zeros((5, 1))
    message = refusal([site_sum(X, LINE, "A", "pilot"), site_sum(X, LINE, "B", "main")])
    assert message == "sums: studies 'pilot' and 'main' differ; pass the sums of one study."


def test_equal_sums_of_different_sites_are_pooled():
    """A refusal that compared sums would tell that two sites have the same."""
    X = np.full((20, 1), 0.5)
    one, other = site_sum(X, LINE), site_sum(X, LINE)
    assert one.total == other.total
    assert private_mean_of_sums([one, other], rd.GDP(1.0)).n == 40


def test_refusals_do_not_depend_on_records():
    """Neighbouring data, and data that are far apart or unusable: the same refusals, word by word."""
    data = [np.zeros((6, 1)), np.eye(6)[:, :1], np.full((6, 1), 0.9), np.full((6, 1), np.nan), np.full((6, 1), 1e300)]
    wide = rd.Ball(rd.Euclidean(1), [0.0], 2.0)
    said = set()
    for X in data:
        one = site_sum(X, LINE, "A")
        pools = [[one, one], [one, site_sum(data[0], LINE, "A")], [one, site_sum(X, LINE, "B", "x")], [one, site_sum(X, wide)]]
        said.add(tuple(map(refusal, pools)))
        assert private_mean_of_sums([one, site_sum(data[0], LINE, "B")], rd.GDP(1.0)).n == 12
    assert len(said) == 1


def test_ids_are_random_and_do_not_depend_on_records(monkeypatch):
    X = np.full((5, 1), 0.5)
    assert len({site_sum(X, LINE, "A").id for _ in range(100)}) == 100
    monkeypatch.setattr(secrets, "token_hex", lambda size: "ab" * size)
    assert {site_sum(x * X, LINE).id for x in (0.1, 1.0, np.nan)} == {"ab" * 16}


# --- authentication ------------------------------------------------------------------------------------------------------


def test_an_authenticated_file_is_read_with_its_key_only(tmp_path):
    site, path = site_sum(np.full((3, 1), 0.25), LINE), tmp_path / "site.json"
    site.save(path, key=KEY)
    assert SiteSum.load(path, key=KEY).total == site.total
    with pytest.raises(rd.InputError, match="carries an authentication code: pass key="):
        SiteSum.load(path)
    with pytest.raises(rd.InputError, match="altered, or saved with another key"):
        SiteSum.load(path, key=KEY[::-1])
    site.save(tmp_path / "plain.json")
    with pytest.raises(rd.InputError, match="carries no authentication code"):
        SiteSum.load(tmp_path / "plain.json", key=KEY)


@pytest.mark.parametrize("key", [b"", b"short", "x" * 32, 5, bytearray(32)])
def test_keys_are_secret_bytes_and_never_shown(key, tmp_path):
    site = site_sum(np.zeros((3, 1)), LINE)
    site.save(tmp_path / "site.json", key=KEY)
    for use in (lambda: site.save(tmp_path / "other.json", key=key), lambda: SiteSum.load(tmp_path / "site.json", key=key)):
        with pytest.raises(rd.InputError, match="at least 16 secret bytes") as caught:
            use()
        assert not any(text in str(caught.value) for text in ("xxx", "short"))
    assert not (tmp_path / "other.json").exists()


def test_every_altered_field_shows():
    data = site_sum(np.full((3, 2), 0.25), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)).to_dict(key=KEY)
    possible = {
        "format": 1.0, "warning": "public", "id": "0" * 32, "study": "another", "site": "another", "space": {"type": "Euclidean", "d": 3},
        "center": [0.0, -0.0], "radius": 1.5, "grid": -48, "n": 4, "total": data["total"][::-1] if len(set(data["total"])) > 1 else ["1", "2"],
        "mac": "0" * 64, "unit": "patient", "second": "trace", "second_total": ["1"],
    }  # fmt: skip
    assert set(possible) == set(data) - {"riemdp"}
    for name, value in possible.items():
        with pytest.raises(rd.InputError, match="altered|not those" if name == "format" else "altered"):
            SiteSum.from_dict(data | {name: value}, key=KEY)
    for name in data:
        with pytest.raises(rd.InputError):
            SiteSum.from_dict({other: value for other, value in data.items() if other != name}, key=KEY)


def test_every_altered_byte_shows_unless_it_means_the_same(tmp_path):
    path = tmp_path / "site.json"
    site_sum(np.full((3, 1), 0.25), LINE, "A").save(path, key=KEY)
    content = path.read_bytes()
    facts, harmless = json.loads(content), 0
    for place, byte in enumerate(content):
        for other in (byte ^ 1, byte ^ 16, ord("9")):
            path.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
            try:
                same = json.loads(path.read_bytes()) == facts
            except ValueError:
                same = False
            if same:
                harmless += 1
            else:
                with pytest.raises(rd.InputError):
                    SiteSum.load(path, key=KEY)
    assert harmless < 100  # blanks between the fields


def test_a_total_out_of_reach_is_refused_after_its_code_only():
    """So that who alters a file that they cannot read learns nothing about it from what is refused."""
    data = site_data() | {"mac": "0" * 64}
    messages = set()
    for total in (["0", "0"], [str(10**40)] * 2, ["x", "y"]):
        with pytest.raises(rd.InputError) as caught:
            SiteSum.from_dict(data | {"total": total}, key=KEY)
        messages.add(str(caught.value))
    assert len(messages) == 1


# --- one release of all ---------------------------------------------------------------------------------------------------


def test_sites_must_agree_on_the_ball():
    first = site_sum(np.zeros((2, 1)), rd.Ball(rd.Euclidean(1), [0.0], 1.0))
    for ball in (rd.Ball(rd.Euclidean(1), [0.0], 2.0), rd.Ball(rd.Euclidean(1), [0.1], 1.0)):
        with pytest.raises(rd.InputError, match="different balls"):
            private_mean_of_sums([first, site_sum(np.zeros((2, 1)), ball)], rd.PureDP(1.0))
    other = site_sum(np.eye(2)[None], rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0))
    with pytest.raises(rd.InputError, match="different balls"):
        private_mean_of_sums([first, other], rd.PureDP(1.0))


@pytest.mark.parametrize("sums", [[], None, 3, [np.zeros(2)]])
def test_only_sums_are_pooled(sums):
    with pytest.raises(rd.InputError, match="SiteSum"):
        private_mean_of_sums(sums, rd.PureDP(1.0))


def test_budget_and_mechanisms(tmp_path):
    site = site_sum(rd.SPDLogEuclidean(2).random_point(40, 0), rd.Ball(rd.SPDLogEuclidean(2), np.eye(2), 1.0))
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(1.0))
    private_mean_of_sums([site], rd.GDP(1.0), mechanism="wrapped-gaussian", ledger=ledger)
    with pytest.raises(rd.BudgetExceeded):
        private_mean_of_sums([site], rd.GDP(1.0), ledger=ledger)
    for mechanism, error in (("extrinsic-laplace", rd.MechanismError), ("kng", rd.MechanismError), ("none", rd.InputError)):
        with pytest.raises(error, match="mechanism"):
            private_mean_of_sums([site], rd.PureDP(1.0), mechanism=mechanism)
    with pytest.raises(rd.InputError, match="ledger"):
        private_mean_of_sums([site], rd.PureDP(1.0), ledger="ledger.db")
    curved = site_sum(rd.Sphere(2).random_point(40, 0), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5))
    with pytest.raises(rd.MechanismError):
        private_mean_of_sums([curved], rd.PureDP(1.0), mechanism="riemannian-laplace")
    assert private_mean_of_sums([curved], rd.PureDP(1.0)).statistic == "tangent-mean"
