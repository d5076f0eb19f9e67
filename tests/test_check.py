"""The curator's look agrees with what a release does to the records."""

from __future__ import annotations

import json

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp.io.sources import MOST_ROWS
from riemdp.privacy.bounded import Bounded


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


# --- what is easily mistaken ------------------------------------------------------------------------------------


def test_matrices_that_are_not_symmetric_are_named():
    X = rd.SPDAffine(3).random_point(20, 0)
    ball = rd.Ball(rd.SPDAffine(3), np.eye(3), 3.0)
    assert rd.check(X, ball).findings == ()
    X[[2, 5], 0, 1] += 1e-3
    (text,) = rd.check(X, ball).findings
    assert text.startswith("2 matrices are not symmetric")
    assert text in str(rd.check(X, ball))


def test_a_release_takes_the_symmetric_part():
    space = rd.SPDAffine(2)
    X = np.tile([[2.0, 0.6], [0.0, 1.0]], (5, 1, 1))
    found = Bounded(X, rd.Ball(space, np.eye(2), 3.0))._coordinates.all()[0]
    expected = space.coordinates(space.log([[2.0, 0.3], [0.3, 1.0]], np.eye(2)), np.eye(2))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6])
@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.SPDLogEuclidean(3)], ids=repr)
def test_other_units_are_named(space, factor):
    X, ball = space.random_point(30, 0), rd.Ball(space, np.eye(3), 3.0)
    assert rd.check(X, ball).findings == ()
    (text,) = rd.check(factor * X, ball).findings
    assert "wrong units?" in text
    named = float(text.split("about ")[1].split()[0])
    assert factor / 3 < named < 3 * factor
    assert rd.check(3 * X, ball).findings == ()


def test_other_units_of_vectors():
    X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    for center, radius in (([0.0, 0], 1.0), ([5.0, 5], 2.0)):
        ball = rd.Ball(rd.Euclidean(2), center, radius)
        assert rd.check(X + center, ball).findings == ()
        assert "wrong units?" in rd.check(1000 * (X + center), ball).findings[0]
    assert "wrong units?" in rd.check(1e-3 * (X + 5), rd.Ball(rd.Euclidean(2), [5.0, 5], 2.0)).findings[0]


def test_mirrored_shapes_are_named():
    """A mirrored template: all records are outside of the ball, and the mirror images are not."""
    rng = np.random.default_rng(0)
    template = np.array([[0.0, 0], [4, 0], [4, 1], [1, 1], [1, 3], [0, 3]])  # an L
    X = template + 0.05 * rng.standard_normal((40, 6, 2))
    space = rd.KendallShapes(6)
    right, wrong = (rd.Ball(space, space.project(t), 0.1) for t in (template, template * [1, -1]))
    assert rd.check(X, right).findings == ()
    found = rd.check(X, wrong)
    assert found.outside == 40
    (text,) = found.findings
    assert text.startswith("40 shapes are closer to the centre once they are mirrored")
    as_complex = rd.check(X[..., 0] + 1j * X[..., 1], wrong)
    assert as_complex.findings == found.findings


def test_symmetric_shapes_are_not_called_mirrored():
    space = rd.KendallShapes(5)
    X = space.origin + 0.1 * np.random.default_rng(0).standard_normal((40, 5, 2))
    assert rd.check(X, rd.Ball(space, space.origin, 0.3)).findings == ()


def test_unusable_records_spoil_no_finding():
    X = np.concatenate([1e6 * rd.SPDAffine(2).random_point(30, 0), np.full((9, 2, 2), np.nan), np.zeros((3, 2, 2))])
    found = rd.check(X, rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0))
    assert found.unusable == 12
    (text,) = found.findings
    assert "wrong units?" in text
    assert json.loads(json.dumps(found.to_dict()))["findings"] == [text]
