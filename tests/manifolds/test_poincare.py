"""The Poincaré ball: the same space as the hyperboloid, in other words."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from riemdp.manifolds import space_class, space_from_dict, space_to_dict
from riemdp.testing import check_space

DISC = rd.Hyperbolic(2, model="poincare")


def points(n=6, seed=0, longest=0.97):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal((n, 2))
    return y / np.linalg.norm(y, axis=1, keepdims=True) * longest * rng.random((n, 1))


def test_it_keeps_the_promises_of_a_space():
    check_space(DISC)
    check_space(rd.Hyperbolic(3, curvature=-4.0, model="poincare"))


def test_geometry_is_that_of_geomstats(geomstats):
    from geomstats.geometry.poincare_ball import PoincareBall

    a, b = points(), points(seed=1)
    theirs = PoincareBall(2).metric
    np.testing.assert_allclose(DISC.dist(a, b), theirs.dist(a, b), rtol=1e-9)
    np.testing.assert_allclose(DISC.log(b, a), theirs.log(b, a), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(DISC.exp(DISC.log(b, a), a), b, atol=1e-12)
    np.testing.assert_allclose(DISC.inner(a, b, a), theirs.inner_product(a, b, a), rtol=1e-10)


def test_it_is_the_hyperboloid_in_other_words():
    x = rd.Hyperbolic(2).random_point(50, 0)
    y = x[:, 1:] / (1 + x[:, :1])
    np.testing.assert_allclose(DISC.dist(y[:25], y[25:]), rd.Hyperbolic(2).dist(x[:25], x[25:]), rtol=1e-12)
    mean, same = rd.frechet_mean(y, DISC).point, rd.frechet_mean(x, rd.Hyperbolic(2)).point
    np.testing.assert_allclose(mean, same[1:] / (1 + same[0]), atol=1e-13)
    t = np.linspace(0, 0.9, 10)  # the distance from 0 is 2 artanh
    np.testing.assert_allclose(DISC.dist(np.zeros(2), np.stack([t, 0 * t], axis=1)), 2 * np.arctanh(t), rtol=1e-12)


def test_the_rim_is_outside_and_nothing_reaches_it():
    assert DISC.contains([[0.0, 0.999], [1.0, 0.0], [2.0, 0.0], [np.nan, 0.0]]).tolist() == [True, False, False, False]
    far = DISC.exp(DISC.from_coordinates([200.0, 0.0], [0.0, 0.0]), [0.0, 0.0])
    assert np.linalg.norm(far) < 1
    assert DISC.contains(far)
    with pytest.raises(rd.InputError, match=r"raw\[1\] cannot be projected .* not inside the Poincaré ball"):
        DISC.project([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(rd.InputError, match=r"a\[1\] is not a point"):
        DISC.dist([[0.0, 0.0], [1.0, 0.0]], [0.0, 0.0])


@pytest.mark.parametrize("d", [1, 2, 3, 200])
def test_whatever_is_written_is_within_the_ball(d):
    """Also where rounding would put it onto the rim, in every direction."""
    space, rng = rd.Hyperbolic(d, model="poincare"), np.random.default_rng(d)
    directions = rng.standard_normal((300, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    space_parts = np.sinh(np.repeat([30.0, 37.0, 300.0], 100))[:, None] * directions
    far = space.write(np.concatenate([np.cosh(np.repeat([30.0, 37.0, 300.0], 100))[:, None], space_parts], axis=1), space.origin)
    assert space.contains(far).all()


@pytest.mark.parametrize("mechanism", ["wrapped-gaussian", "riemannian-laplace"])
def test_releases_come_back_in_the_ball(mechanism, tmp_path):
    guarantee = rd.GDP(2.0) if mechanism == "wrapped-gaussian" else rd.PureDP(8.0)
    release = rd.private_mean(points(400), rd.Ball(DISC, [0.0, 0.0], 2.0), guarantee, mechanism=mechanism)
    assert release.value.shape == (2,)
    assert np.linalg.norm(release.value) < 1
    release.save(tmp_path / "mean.json")
    assert rd.Release.load(tmp_path / "mean.json").space == DISC
    bad = points(100)
    for value in (np.nan, np.inf, 1.0, -1e300, 5e-324):
        bad[3] = value
        assert DISC.contains(rd.private_mean(bad, rd.Ball(DISC, [0.1, 0.0], 1.0), rd.GDP(1.0)).value)


def test_its_name_on_the_command_line_and_in_files():
    kind = space_class("poincare")
    assert kind(2) == DISC
    assert kind(3, curvature=-2.0) == rd.Hyperbolic(3, curvature=-2.0, model="poincare")
    assert space_from_dict(space_to_dict(DISC)) == DISC
    assert space_from_dict({"type": "Hyperbolic", "d": 2, "curvature": -1.0}) == rd.Hyperbolic(2)
    assert repr(DISC) == "Hyperbolic(d=2, curvature=-1.0, model='poincare')"
    with pytest.raises(rd.InputError, match="model = 'klein'"):
        rd.Hyperbolic(2, model="klein")
