"""`check_space` passes good spaces and says of bad ones what is wrong: each mistake here is one that is easily made."""

from __future__ import annotations

import dataclasses
import doctest
import subprocess
import sys
import warnings

import numpy as np
import pytest

import riemdp as rd
import riemdp.testing
from manifolds.examples import SPACES
from manifolds.half_plane import HalfPlane
from riemdp.testing import check_space

SQUEEZE = np.array([1.0, 2.0])


@pytest.mark.parametrize("space", [HalfPlane(), rd.Sphere(2, curvature=1e-6), rd.KendallShapes(25), *SPACES], ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_good_spaces_pass(space, seed):
    check_space(space, seed=seed)


# --- half-planes with a mistake ------------------------------------------------------------------------------------


class WrongLog(HalfPlane):
    def log_coords(self, points, base):
        return 1.001 * super().log_coords(points, base)


class WrongDifferential(HalfPlane):
    """Only the frame of vectors is wrong: exp and log in coordinates are right."""

    def to_coords(self, vectors, base):
        return super().to_coords(vectors, base) / SQUEEZE

    def from_coords(self, coords, base):
        return super().from_coords(coords * SQUEEZE, base)


class NotOrthonormal(WrongDifferential):
    """All four maps agree, in a basis that is not orthonormal."""

    def exp_coords(self, coords, base):
        return super().exp_coords(coords * SQUEEZE, base)

    def log_coords(self, points, base):
        return super().log_coords(points, base) / SQUEEZE


class NotOrthonormalAtTheOrigin(HalfPlane):
    """A shortcut for one point, with a mistake along one axis."""

    def squeeze(self, base):
        return np.where((base == [0.0, 1.0]).all(axis=-1, keepdims=True), SQUEEZE, 1.0)

    def to_coords(self, vectors, base):
        return super().to_coords(vectors, base) / self.squeeze(base)

    def from_coords(self, coords, base):
        return super().from_coords(coords * self.squeeze(base), base)

    def exp_coords(self, coords, base):
        return super().exp_coords(coords * self.squeeze(base), base)

    def log_coords(self, points, base):
        return super().log_coords(points, base) / self.squeeze(base)


class Accelerates(HalfPlane):
    """The right curves, at a speed that grows: exp and log fit each other, distances are symmetric."""

    def exp_coords(self, coords, base):
        t = np.linalg.norm(coords, axis=-1, keepdims=True)
        return super().exp_coords(coords * np.where(t > 0, np.sinh(t) / np.where(t > 0, t, 1.0), 1.0), base)

    def log_coords(self, points, base):
        found = super().log_coords(points, base)
        s = np.linalg.norm(found, axis=-1, keepdims=True)
        return found * np.where(s > 0, np.arcsinh(s) / np.where(s > 0, s, 1.0), 1.0)


class StraightLines(HalfPlane):
    """Straight lines of the drawing in place of geodesics: exp and log fit each other, and the frame is orthonormal."""

    def exp_coords(self, coords, base):
        return base + coords * base[..., 1:] / 10

    def log_coords(self, points, base):
        return 10 * (points - base) / base[..., 1:]

    def to_coords(self, vectors, base):
        return 10 * vectors / base[..., 1:]

    def from_coords(self, coords, base):
        return coords * base[..., 1:] / 10


class OthersMatter(HalfPlane):
    """The last bits of a log depend on the rest of its batch."""

    def log_coords(self, points, base):
        return super().log_coords(points, base) * (1 + 1e-13 * np.tanh(np.max(points)))


class OthersMatterToProjection(HalfPlane):
    def to_points(self, raw):
        return super().to_points(raw) + (0 if np.isfinite(raw).all() else 1e-14)


class OthersMatterToExp(HalfPlane):
    def exp_coords(self, coords, base):
        found = super().exp_coords(coords, base)
        return found if np.isfinite(coords).all() else found * (1 + 1e-15)


class TooFlat(HalfPlane):
    curvature_bounds = (-4.0, -1.01)


class TooCurved(HalfPlane):
    curvature_bounds = (-0.99, 0.0)


class Raises(HalfPlane):
    def to_points(self, raw):
        if not np.isfinite(raw).all():
            raise ValueError("a record is not finite")
        return super().to_points(raw)


class Prints(HalfPlane):
    def log_coords(self, points, base):
        if not np.isfinite(points).all():
            print("what a record")
        return super().log_coords(points, base)


class Warns(HalfPlane):
    def exp_coords(self, coords, base):
        if not np.isfinite(coords).all():
            warnings.warn("what a vector", stacklevel=2)
        return super().exp_coords(coords, base)


class DropsRecords(HalfPlane):
    def to_points(self, raw):
        points = super().to_points(raw)
        return points[np.isfinite(raw).all(axis=-1)] if points.ndim == 2 else points


class Drifts(HalfPlane):
    def to_points(self, raw):
        return super().to_points(raw) * [1.0, 1.001]

    def settle(self, points):
        return points


class NoBroadcast(HalfPlane):
    def exp_coords(self, coords, base):
        return super().exp_coords(coords, np.broadcast_to(base, coords.shape))


class Coarse(HalfPlane):
    def exp_coords(self, coords, base):
        return super().exp_coords(coords, base).astype(np.float32)


class NoPoint(HalfPlane):
    origin = property(lambda self: np.array([0.0, -1.0]))


class OneAnswer(HalfPlane):
    def are_points(self, points):
        return np.asarray((points[..., 1] > 0).all())


class LeavesTheSpace(HalfPlane):
    def are_points(self, points):
        return (points[..., 1] > 0) & (np.abs(points[..., 0]) < 0.1)


BROKEN = {
    WrongLog: "log_coords inverts exp_coords",
    WrongDifferential: "exp_coords and to_coords disagree",
    NotOrthonormal: r"is the distance back \(are coordinates orthonormal\?\)",
    NotOrthonormalAtTheOrigin: "coordinates are orthonormal, but they differ by",
    Accelerates: "geodesics have constant speed",
    StraightLines: "the distance there is the distance back",
    OthersMatter: "log_coords of a record depends on the other records",
    OthersMatterToProjection: "to_points of a record depends on the other records",
    OthersMatterToExp: "exp_coords of a record depends on the other records",
    TooFlat: r"curvature_bounds = \(-4.0, -1.01\), but a plane has curvature -1\.",
    TooCurved: r"curvature_bounds = \(-0.99, 0.0\), but a plane has curvature -1\.",
    Raises: "to_points never raises, whatever a record holds, but it raised ValueError: a record is not finite",
    Prints: "log_coords prints",
    Warns: "exp_coords warns",
    DropsRecords: "to_points of 8 records has shape",
    Drifts: r"to_points\(\) leaves points where they are",
    NoBroadcast: "take batches and broadcast",
    Coarse: "exp_coords gives numbers of type float32, not float64",
    NoPoint: "the origin to points, but it raised InputError",
    OneAnswer: r"are_points\(\) of 8 points has shape \(\)",
    LeavesTheSpace: r"are_points\(\) says",
}


@pytest.mark.parametrize(("kind", "sentence"), BROKEN.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_named(kind, sentence):
    with pytest.raises(AssertionError, match=sentence) as caught:
        check_space(kind())
    assert str(caught.value).startswith(f"{kind.__name__}(): ")


# --- facts that are not true ---------------------------------------------------------------------------------------


def given(space):
    """What the space was made with."""
    return {field.name: getattr(space, field.name) for field in dataclasses.fields(space)}


def lying(base, **facts):
    """A subclass that states other facts."""
    return type("Lying", (base,), facts)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"dim": 0}, "dim = 0 is not a whole number"),
        ({"dim": 2.0}, "dim = 2.0 is not a whole number"),
        ({"point_shape": [2]}, r"point_shape = \[2\] is not a tuple"),
        ({"curvature_bounds": (0.0, -1.0)}, "the smaller one first"),
        ({"curvature_bounds": (-np.inf, 0.0)}, "not two finite numbers"),
        ({"injectivity_radius": 0.0}, "injectivity_radius = 0.0 is not positive"),
        ({"origin": np.zeros(3)}, "origin has shape"),
    ],
)
def test_facts_of_the_wrong_form_are_named(facts, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_space(lying(HalfPlane, **facts)())


@pytest.mark.parametrize(
    ("space", "bounds"),
    [
        (rd.Sphere(2), (0.0, 0.99)),
        (rd.Sphere(4, curvature=9.0), (9.1, 20.0)),
        (rd.KendallShapes(7), (1.0, 3.9)),
        (rd.KendallShapes(7), (1.1, 4.0)),
        (rd.SPDAffine(3), (-0.49, 0.0)),
        (rd.SPDAffine(3), (-0.5, -0.01)),
        (rd.SPDAffine(6), (-0.4, 0.0)),
        (rd.Hyperbolic(3), (-2.0, -1.01)),
    ],
)
def test_curvature_beyond_its_bounds_is_found(space, bounds):
    """The search finds the extreme planes, not only random ones."""
    dishonest = lying(type(space), curvature_bounds=bounds)(**given(space))
    with pytest.raises(AssertionError, match="but a plane has curvature"):
        check_space(dishonest)


@pytest.mark.parametrize(
    ("space", "facts"),
    [
        (rd.Sphere(2), {"curvature_bounds": (-2.0, 5.0), "injectivity_radius": 1.0}),
        (rd.SPDAffine(2), {"curvature_bounds": (-1.0, 1.0)}),
    ],
)
def test_facts_that_are_true_but_not_sharp_pass(space, facts):
    check_space(lying(type(space), **facts)(**given(space)))


@pytest.mark.parametrize("space", [rd.Sphere(1), rd.Sphere(2), rd.KendallShapes(4)], ids=repr)
@pytest.mark.parametrize("factor", [1.01, 1.5, np.inf])
def test_too_large_an_injectivity_radius_is_found(space, factor):
    dishonest = lying(type(space), injectivity_radius=factor * space.injectivity_radius)(**given(space))
    with pytest.raises(AssertionError, match=r"a geodesic of length .* is not shortest|inverts"):
        check_space(dishonest)


def test_a_circle_is_not_a_line():
    """Found by following a geodesic, whatever the injectivity radius is said to be."""
    circle = lying(rd.Sphere, curvature_bounds=(0.0, 0.0), injectivity_radius=np.inf)(1)
    with pytest.raises(AssertionError, match=r"injectivity_radius = inf, but a geodesic of length 6 is not shortest"):
        check_space(circle)


def test_what_is_no_space_is_refused():
    for wrong in (rd.Sphere, "sphere", None):
        with pytest.raises(rd.InputError, match=r"pass an instance of a subclass of riemdp\.Space"):
            check_space(wrong)


def test_the_same_seed_tries_the_same():
    problems = set()
    for _ in range(2):
        with pytest.raises(AssertionError) as caught:
            check_space(WrongLog(), seed=7)
        problems.add(str(caught.value))
    assert len(problems) == 1


def test_the_examples_of_the_docstring_run():
    assert doctest.testmod(riemdp.testing, optionflags=doctest.ELLIPSIS) == (0, 5)


def test_it_needs_no_test_packages():
    """Beyond what the spaces import themselves: no pytest, hypothesis or mpmath."""
    code = "import sys, riemdp.testing; print({'pytest', 'hypothesis', 'mpmath'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
