"""The curator's look agrees with what a release does to the records."""

from __future__ import annotations

import json

import numpy as np
import pytest

import riemdp as rd
from riemdp.privacy.bounded import Bounded
from riemdp.sources import MOST_ROWS

SPACES = [rd.Euclidean(3), rd.Sphere(2), rd.Hyperbolic(2), rd.SPDAffine(2), rd.SPDLogEuclidean(3), rd.KendallShapes(4)]


def at_distances(space, lengths):
    """Points at these distances from the origin, by the exponential map."""
    rng = np.random.default_rng(0)
    v = rng.standard_normal((len(lengths), space.dim))
    v *= np.asarray(lengths)[:, None] / np.linalg.norm(v, axis=1, keepdims=True)
    return space.exp(space.from_coordinates(v, space.origin), space.origin)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_counts_and_quantiles(space):
    lengths = np.linspace(0.02, 0.6, 30)
    X = at_distances(space, lengths)
    X[[3, 7]] = np.nan
    X[11] = np.inf
    found = rd.check(X, rd.Ball(space, space.origin, 0.41))
    left = np.delete(lengths, [3, 7, 11])
    assert (found.n, found.unusable, found.outside, found.inside) == (30, 3, int((left > 0.41).sum()), int((left <= 0.41).sum()))
    assert found.distances == pytest.approx({q: np.quantile(left, q) for q in (0, 0.5, 0.9, 0.99, 1)}, rel=1e-6)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_agrees_with_a_release(space):
    """Unusable records are at the centre, those outside on the rim, the others where they were."""
    lengths = np.linspace(0.1, 0.6, 20)
    X = at_distances(space, lengths)
    X[:2] = np.nan
    ball = rd.Ball(space, space.origin, 0.4)
    found, used = rd.check(X, ball), np.linalg.norm(Bounded(X, ball)._coordinates.all(), axis=1)
    assert found.unusable == (used == 0).sum()
    assert found.outside == (used > 0.4 * (1 - 1e-9)).sum()


def test_what_is_no_point_is_unusable():
    found = rd.check([[[1.0, 0], [0, -1]], [[1, 0], [0, 1]], [[0, 0], [0, 0]]], rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0))
    assert (found.n, found.inside, found.unusable) == (3, 1, 2)
    found = rd.check(np.zeros((2, 3)), rd.Ball(rd.Sphere(2), [0, 0, 1.0], 1.0))
    assert (found.unusable, found.distances) == (2, {})
    assert "none" in str(found)


def test_more_records_than_a_block():
    found = rd.check(np.full((MOST_ROWS + 5, 1), 2.0), rd.Ball(rd.Euclidean(1), [0.0], 1.0))
    assert (found.n, found.outside) == (MOST_ROWS + 5, MOST_ROWS + 5)


def test_says_that_it_is_not_private():
    found = rd.check(np.ones((4, 2)), rd.Ball(rd.Euclidean(2), [0.0, 0], 1.0))
    assert str(found).startswith("NOT PRIVATE")
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["private"], data["n"], data["outside"], data["inside"]) == (False, 4, 4, 0)
    assert data["distances"]["0.5"] == pytest.approx(2**0.5)


@pytest.mark.parametrize(
    ("X", "ball"),
    [(np.ones((4, 3)), rd.Ball(rd.Euclidean(2), [0.0, 0], 1.0)), (np.ones(2), rd.Ball(rd.Euclidean(2), [0.0, 0], 1.0)), (np.ones((4, 2)), 1.0)],
)
def test_structure_is_checked(X, ball):
    with pytest.raises(rd.InputError):
        rd.check(X, ball)
