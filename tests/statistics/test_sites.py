"""Sums of sites: the pool's own mean, private until it is released, and refused where they do not fit together."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import riemdp as rd
from riemdp.privacy import release as privacy_release
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.intrinsic import TangentMean
from riemdp.statistics.sites import SiteSum, private_mean_of_sums, site_sum

SPACES = [rd.Euclidean(2), rd.Sphere(3), rd.Hyperbolic(2), rd.KendallShapes(4), rd.SPDLogEuclidean(3), rd.SPDAffine(5)]
spaces = pytest.mark.parametrize("space", SPACES, ids=repr)


def ball_of(space):
    return rd.Ball(space, space.random_point(1, 3)[0], 0.5 * min(space.uniqueness_radius, 2.0))


def shared_out(X):
    """Three sites, one of them with a single record."""
    return X[:1], X[1:700], X[700:]


def before_noise(monkeypatch):
    """What the mechanisms of releases are given."""
    values, real = [], privacy_release.release
    from riemdp.statistics import sites

    def spy(value, draw, *rest, **facts):
        return real(lambda: (values.append(value()), values[-1])[1], draw, *rest, **facts)

    monkeypatch.setattr(sites, "release", spy)
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
    assert np.array_equal(again.ball.center, site.ball.center)
    assert "PRIVATE" in (tmp_path / "site.json").read_text()
    assert os.name != "posix" or (tmp_path / "site.json").stat().st_mode & 0o077 == 0
    private_mean_of_sums([site, again], rd.PureDP(1.0))
    with pytest.raises(rd.InputError):
        rd.Release.load(tmp_path / "site.json")


def test_nothing_private_shows():
    site = site_sum(np.full((3, 1), 0.1234), rd.Ball(rd.Euclidean(1), [0.0], 1.0))
    assert repr(site) == str(site) == "SiteSum(n=3, Euclidean(d=1), private)"


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
    assert data["total"] == 5 or data["total"][0] not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1]", "7", '"x"', "{}"])
def test_a_file_of_something_else_is_refused(text, tmp_path):
    (tmp_path / "site.json").write_text(text)
    with pytest.raises(rd.InputError, match=r"site's sum|SiteSum.save"):
        SiteSum.load(tmp_path / "site.json")
    with pytest.raises(rd.InputError, match="cannot be read"):
        SiteSum.load(tmp_path / "none.json")


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
