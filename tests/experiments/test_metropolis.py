"""The chains that the exact samplers are compared with have the right limits.

z-tests at p < 1e-8 with fixed seeds: chains are independent, so the means over each give an honest error.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from riemdp.manifolds import Euclidean, Hyperbolic, SPDAffine, Sphere

sys.path.append(str(Path(__file__).parents[2]))
metropolis = importlib.import_module("experiments.metropolis")

Z_LEVEL = -stats.norm.ppf(1e-8 / 2)


def mean_distance(log_density, stop):
    """Of a density on (0, stop), by the midpoint rule."""
    t = (np.arange(200_000) + 0.5) * stop / 200_000
    weight = np.exp(log_density(t) - log_density(t).max())
    return (weight @ t) / weight.sum()


RADIAL = [
    (Euclidean(3), 0.4, lambda t: 2 * np.log(t), 20.0),
    (Sphere(2), 0.4, lambda t: np.log(np.sin(t)), math.pi),
    (Hyperbolic(3), 0.25, lambda t: 2 * np.log(np.sinh(t)), 20.0),
]


@pytest.mark.parametrize(("space", "scale", "log_area", "stop"), RADIAL, ids=lambda value: repr(value)[:12])
def test_riemannian_laplace_has_the_right_mean_distance(space, scale, log_area, stop):
    rng, origin = np.random.default_rng(0), space.origin
    chains = metropolis.chains(space, metropolis.laplace(space, origin, scale), origin, 1000, scale)
    chains.tune(100, rng)
    chains.advance(200, rng)
    means = chains.record(20, 10, rng, lambda x: space.distance(origin, x)).mean(axis=0)
    error = means.std() / math.sqrt(len(means))

    def z(scale):
        return abs(means.mean() - mean_distance(lambda t: log_area(t) - t / scale, stop)) / error

    assert z(scale) < Z_LEVEL
    assert z(1.1 * scale) > Z_LEVEL
    assert z(scale / 1.1) > Z_LEVEL


def test_a_rejection_repeats_the_state():
    space, rng = Euclidean(2), np.random.default_rng(1)
    nowhere_else = metropolis.chains(space, lambda x: np.where((x == 0).all(axis=1), 0.0, -np.inf), np.zeros(2), 5, 1.0)
    nowhere_else.advance(10, rng)
    assert (nowhere_else.states == 0).all()
    assert (nowhere_else.accepted, nowhere_else.proposed) == (0, 50)


def test_uniform_density_accepts_everything():
    space, rng = SPDAffine(2), np.random.default_rng(2)
    chains = metropolis.chains(space, lambda x: np.zeros(len(x)), np.eye(2), 5, 0.1)
    chains.advance(10, rng)
    assert chains.accepted == 50


def test_tuning_finds_a_reasonable_step():
    space, rng = Euclidean(3), np.random.default_rng(3)
    chains = metropolis.chains(space, metropolis.laplace(space, np.zeros(3), 1e-3), np.zeros(3), 200, 1.0)
    chains.tune(200, rng)
    chains.accepted = chains.proposed = 0
    chains.advance(100, rng)
    assert 0.3 < chains.accepted / chains.proposed < 0.5


def test_kng_is_flat_laplace_around_the_mean():
    """In R^d the gradient is x minus the mean."""
    space, rng = Euclidean(2), np.random.default_rng(4)
    points, x = rng.standard_normal((7, 2)), rng.standard_normal((4, 2))
    expected = -np.linalg.norm(x - points.mean(axis=0), axis=1) / 0.3
    np.testing.assert_allclose(metropolis.kng(space, points, 0.3, math.inf)(x), expected)
    assert metropolis.kng(space, points, 0.3, 1e-9)(x).max() == -np.inf
