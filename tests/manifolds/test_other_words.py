"""Spaces whose primitives see another form of a point: every way through the package turns it there and back."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from riemdp.plots import plot_release

SPACES = [rd.Simplex(4), rd.Hyperbolic(2, model="poincare"), rd.HPDAffine(2), rd.HPDLogEuclidean(2), rd.RigidMotions(0.5)]
SPACES.append(rd.Product(*SPACES))
each = pytest.mark.parametrize("space", SPACES, ids=repr)


def cluster(space, n=4000):
    """Records around a point away from the origin, and their mean."""
    rng = np.random.default_rng(0)
    place = space.exp(space.from_coordinates(0.3 * np.eye(space.dim)[0], space.origin), space.origin)
    x = space.exp(space.from_coordinates(0.05 * rng.standard_normal((n, space.dim)), place), place)
    return x, rd.frechet_mean(x, space).point


@each
def test_vectors_are_those_of_the_space_there_and_back(space):
    rng = np.random.default_rng(1)
    x, place = cluster(space, 5)
    vectors, coords = space.log(x, place), 0.1 * rng.standard_normal((5, space.dim))
    np.testing.assert_allclose(space.exp(vectors, place), x, atol=1e-12)
    np.testing.assert_allclose(space.coordinates(space.from_coordinates(coords, place), place), coords, atol=1e-12)
    for part, factor, base in parts_of(space, vectors, place):
        np.testing.assert_allclose(part, factor.log(factor.exp(part, base), base), atol=1e-12)
        moved = (factor.exp(1e-6 * part, base) - factor.exp(-1e-6 * part, base)) / 2e-6
        np.testing.assert_allclose(part, moved, atol=1e-9)


def parts_of(space, vectors, place):
    """The vectors and the place of each factor, or of the space itself."""
    if not isinstance(space, rd.Product):
        return [(vectors, space, place)]
    return zip(space.split(vectors), space.factors, space.split(place), strict=True)


@each
@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("statistic", ["frechet-mean", "tangent-mean"])
def test_a_release_with_hardly_any_noise_is_the_mean(space, adapt, statistic):
    x, mean = cluster(space)
    release = rd.private_mean(x, rd.Ball(space, space.origin, 1.0), rd.GDP(1e4), adapt=adapt, statistic=statistic)
    assert space.dist(release.value, mean) < (1e-3 if statistic == "frechet-mean" else 0.02)
    for stage in release.stages:
        assert space.contains(stage.center)


@each
def test_sums_of_sites_say_the_same(space, tmp_path):
    x, mean = cluster(space)
    ball = rd.Ball(space, space.origin, 1.0)
    for i, part in enumerate(np.split(x, 2)):
        rd.site_sum(part, ball, site=f"site {i}", study="a").save(tmp_path / f"{i}.json")
    sums = [rd.SiteSum.load(tmp_path / f"{i}.json") for i in range(2)]
    assert space.dist(rd.private_mean_of_sums(sums, rd.GDP(1e4)).value, mean) < 0.02


@each
def test_simulations_plots_and_checks_take_their_points(space):
    x, _ = cluster(space, 300)
    ball = rd.Ball(space, space.origin, 1.0)
    draws = rd.simulate(x, ball, rd.GDP(1.0), size=5, seed=0)
    assert draws.shape == (5, *space.point_shape)
    assert space.contains(draws).all()
    assert rd.check(x, ball).n == 300
    figure = plot_release(rd.private_mean(x, ball, rd.GDP(1.0)))
    assert figure.axes
