"""For a space of your own: `check_space` tries what it promises, as scikit-learn's `check_estimator` does.

It looks for mistakes on a few dozen points, vectors and planes, and so proves nothing; what it finds is wrong. Lengths
are measured in units of the space's own: 1 over the root of the larger curvature bound, or the injectivity radius.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from riemdp.errors import InputError
from riemdp.manifolds.base import Array, Space

__all__ = ["check_space"]

BATCH = 8
# Of a unit: what a map may be wrong by; the same where a derivative is taken by differences.
TOLERANCE, ROUGHLY = 1e-8, 1e-5
# Sectional curvatures, times the square of a unit, may miss their bounds by this: they are differences of distances.
SLACK = 1e-3
# How long a geodesic is followed where it never ends, and how near to its end where it does.
LONGEST, NEARLY = 6.0, 0.999
# Directions in which the extreme curvature at a point is sought at a time, and how often the search is repeated.
DIRECTIONS, ROUNDS = 24, 4
# What breaks more promises than its own.
SUSPECT = "(are coordinates orthonormal?)"
# Numbers that records hold now and then.
ODD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e155, 5e-324, -5e-324, 0.0, -1.0)


def check_space(space: Space, *, seed: int = 0) -> None:
    """Try whether a space keeps the promises that tangent means, distances and geodesics rest on.

    Checked are the form of its facts; that exp and log are inverse to each other, start along their vector and take
    batches; that coordinates are orthonormal, distances symmetric and geodesics of constant speed; that projection
    leaves points where they are; that sectional curvatures stay within `curvature_bounds` and geodesics are shortest
    up to `injectivity_radius` (bounds that are too wide and radii that are too small are allowed: they are true); and
    that each record is treated by itself, in silence, whatever numbers it holds. Optional capabilities are not tried.

    Parameters
    ----------
    space : Space
        An instance of the class to try; several, of small and large dimension, are better than one.
    seed : int, default 0
        Other seeds try other points, vectors and planes.

    Raises
    ------
    AssertionError
        A sentence that names the space, the promise and by how much it is broken.
    InputError
        If `space` is no `Space`.

    Examples
    --------
    >>> import riemdp as rd
    >>> from riemdp.testing import check_space
    >>> check_space(rd.Hyperbolic(3))

    A space that is more curved than it says does not pass:

    >>> class Optimistic(rd.Sphere):
    ...     curvature_bounds = (0.0, 0.5)
    >>> check_space(Optimistic(2))
    Traceback (most recent call last):
        ...
    AssertionError: Optimistic(d=2, curvature=1.0): curvature_bounds = (0.0, 0.5), but a plane has curvature 1.
    """
    if not isinstance(space, Space):
        raise InputError(f"space = {space!r}: pass an instance of a subclass of riemdp.Space.")
    _facts(space)
    sample = _Sample.of(space, seed)
    for check in CHECKS:
        with _blaming(space, check.__doc__ or ""):
            check(sample)


@contextlib.contextmanager
def _blaming(space: Space, promise: str) -> Iterator[None]:
    """What the space itself raises breaks the promise too."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        sentence = f"{promise.rstrip('.')}, but it raised {type(error).__name__}: {error}"
        raise AssertionError(f"{space!r}: {sentence}") from error


def _require(good: object, space: Space, sentence: str) -> None:
    if not good:
        raise AssertionError(f"{space!r}: {sentence}.")


@dataclass(frozen=True)
class _Sample:
    """Points and vectors to try a space on: short of the cut locus, and not so far out that floats lose digits."""

    space: Space
    unit: float
    rng: np.random.Generator
    bases: Array  # (BATCH, *point_shape), within two units of the origin
    coords: Array  # (BATCH, dim), of lengths up to 0.9 of the injectivity radius, or two units

    @classmethod
    def of(cls, space: Space, seed: int) -> _Sample:
        """Points and vectors of a space, the same for the same seed."""
        rng, unit = np.random.default_rng(seed), _unit(space)
        extent = min(0.9 * space.injectivity_radius, 2 * unit)
        with _blaming(space, "Exp takes vectors at the origin to points"):
            start = space.from_coordinates(extent * _lengths(rng) * _directions(BATCH, space.dim, rng), space.origin)
            bases = space.exp(start, space.origin)
        # In reverse: a long vector at the first base, which is the origin.
        return cls(space, unit, rng, bases, extent * _lengths(rng)[::-1] * _directions(BATCH, space.dim, rng))

    @property
    def vectors(self) -> Array:
        """The tangent vectors with these coordinates, each at its base."""
        return self.space.from_coordinates(self.coords, self.bases)

    @property
    def ends(self) -> Array:
        """The points to which the vectors lead."""
        return self.space.exp(self.vectors, self.bases)

    def at(self, coords: Array, base: Array) -> Array:
        """exp of the vectors with these coordinates at the base."""
        return self.space.exp(self.space.from_coordinates(coords, base), base)

    def require_close(self, found: Array, expected: Array | float, promise: str, tolerance: float = TOLERANCE) -> None:
        """Raise unless they differ by less than the tolerance, in units; NaN differs from everything."""
        worst = float(np.abs(found - expected).max())
        allowed = tolerance * self.unit
        _require(worst <= allowed, self.space, f"{promise}, but they differ by {worst:.3g} (allowed: {allowed:.1g})")


def _unit(space: Space) -> float:
    curvature = max(map(abs, space.curvature_bounds))
    return min(1 / math.sqrt(curvature) if curvature > 0 else 1.0, space.injectivity_radius)


def _lengths(rng: np.random.Generator) -> Array:
    """From 0 to 1, both ends included."""
    return np.concatenate([[0.0, 1.0], rng.random(BATCH - 2)])[:, None]


def _directions(number: int, dim: int, rng: np.random.Generator) -> Array:
    """Unit vectors of R^dim; every other one along an axis."""
    normal = rng.standard_normal((number, dim))
    normal[::2] = np.eye(dim)[np.arange(len(normal[::2])) % dim]
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


# --- facts ---------------------------------------------------------------------------------------------------


def _facts(space: Space) -> None:
    """Facts have the right form."""
    (k_min, k_max), shape = space.curvature_bounds, space.point_shape
    _require(_is_size(space.dim), space, f"dim = {space.dim!r} is not a whole number from 1 on")
    good = isinstance(shape, tuple) and all(map(_is_size, shape))
    _require(good, space, f"point_shape = {shape!r} is not a tuple of whole numbers from 1 on")
    good = math.isfinite(k_min) and math.isfinite(k_max) and k_min <= k_max
    _require(good, space, f"curvature_bounds = {(k_min, k_max)!r} are not two finite numbers, the smaller one first")
    good = space.injectivity_radius > 0
    _require(good, space, f"injectivity_radius = {space.injectivity_radius!r} is not positive")
    _require(np.shape(space.origin) == shape, space, f"origin has shape {np.shape(space.origin)}, not {shape}")


def _is_size(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


def _points(sample: _Sample) -> None:
    """The origin and what exp reaches are points."""
    space = sample.space
    _require(bool(space.contains(space.origin)), space, "the origin is not a point: are_points() says no")
    good = np.asarray(space.are_points(space.read(sample.bases, "points")))
    _require(good.shape == (BATCH,), space, f"are_points() of {BATCH} points has shape {good.shape}")
    _require(good.all(), space, "exp_coords() leads to what are_points() says is no point")


# --- maps ------------------------------------------------------------------------------------------------------


def _batches(sample: _Sample) -> None:
    """Maps take batches and broadcast."""
    space, coords = sample.space, sample.coords[:2]
    base = space.read(sample.bases[:3, None], "base")
    vectors, ends = space.from_coords(coords, base), space.exp_coords(coords, base)
    _require_shape(space, "from_coords", space.write_vectors(vectors, base, space.origin), space.point_shape)
    _require_shape(space, "exp_coords", space.write(ends, space.origin), space.point_shape)
    _require_shape(space, "to_coords", space.to_coords(vectors[0], base), (space.dim,))
    _require_shape(space, "log_coords", space.log_coords(ends[0], base), (space.dim,))
    one = sample.at(coords[1], sample.bases[2])
    sample.require_close(space.dist(space.write(ends, one)[2, 1], one), 0.0, "exp of one vector is that of a batch")


def _require_shape(space: Space, name: str, found: Array, last: tuple[int, ...]) -> None:
    """Raise unless what a map makes of batches (3, 1) and (2,) has the right shape."""
    _require(found.shape == (3, 2, *last), space, f"{name} of batches (3, 1) and (2,) has shape {found.shape}")
    wanted = np.float64 if last == (space.dim,) else np.asarray(space.origin).dtype
    _require(found.dtype == wanted, space, f"{name} gives numbers of type {found.dtype}, not {np.dtype(wanted)}")


def _inverses(sample: _Sample) -> None:
    """Log inverts exp up to the injectivity radius."""
    space = sample.space
    back = space.coordinates(space.log(sample.ends, sample.bases), sample.bases)
    sample.require_close(back, sample.coords, "log_coords inverts exp_coords")
    again = space.coordinates(sample.vectors, sample.bases)
    sample.require_close(again, sample.coords, "to_coords inverts from_coords")
    near = sample.at(sample.coords / 4, sample.bases)
    returned = space.exp(space.log(near, sample.bases), sample.bases)
    sample.require_close(space.dist(returned, near), 0.0, "exp_coords inverts log_coords")


def _velocities(sample: _Sample) -> None:
    """Exp starts along its vector."""
    space, vectors, step = sample.space, sample.vectors, 1e-5
    ahead, behind = (space.exp(sign * step * vectors, sample.bases) for sign in (1, -1))
    size = np.abs(vectors).max() + np.abs(sample.bases).max()
    apart = np.abs((ahead - behind) / (2 * step) - vectors).max() / size
    _require(apart <= ROUGHLY, space, f"exp_coords and to_coords disagree: exp(tv) starts off v by {apart:.3g} of v")


def _distances(sample: _Sample) -> None:
    """Distances are symmetric, and as long as their vectors."""
    space, a, b, c = sample.space, sample.bases, sample.ends, np.roll(sample.bases, 1, axis=0)
    there = space.dist(a, b)
    sample.require_close(there, np.linalg.norm(sample.coords, axis=1), "distances are the lengths of coordinates")
    sample.require_close(there, space.dist(b, a), f"the distance there is the distance back {SUSPECT}")
    detour = space.dist(a, c) + space.dist(c, b) - there
    _require((detour >= -TOLERANCE * sample.unit).all(), space, "a detour is shorter than the distance")


def _geodesics(sample: _Sample) -> None:
    """Geodesics have constant speed."""
    times = np.array([0.2, 0.5, 0.9])
    points = [sample.at(t * sample.coords, sample.bases) for t in times]
    found = np.array([sample.space.dist(p, q) for p, q in pairwise(points)])
    expected = np.diff(times)[:, None] * np.linalg.norm(sample.coords, axis=1)
    sample.require_close(found, expected, f"geodesics have constant speed {SUSPECT}")


def _orthonormal(sample: _Sample) -> None:
    """Coordinates are orthonormal: dist(exp(tu), exp(tv)) = t |u - v|, up to t³."""
    u, v = (sample.unit * _directions(BATCH, sample.space.dim, sample.rng) for _ in range(2))
    v[::2] = np.roll(v[::2], 1, axis=0)  # not the same axis twice
    step = 1e-4
    apart = sample.space.dist(sample.at(step * u, sample.bases), sample.at(step * v, sample.bases)) / step
    sample.require_close(apart, np.linalg.norm(u - v, axis=1), "coordinates are orthonormal", ROUGHLY)


def _projection(sample: _Sample) -> None:
    """Projection leaves points where they are."""
    space = sample.space
    once = space.project(sample.bases)
    sample.require_close(space.dist(once, sample.bases), 0.0, "to_points() leaves points where they are")
    _require(space.contains(once).all(), space, "to_points() makes what are_points() says is no point")
    sample.require_close(space.project(once), once, "to_points() twice is to_points() once")


# --- curvature and cut locus --------------------------------------------------------------------------------------


def _curvature(sample: _Sample) -> None:
    """Sectional curvatures are within their bounds."""
    space, (k_min, k_max) = sample.space, sample.space.curvature_bounds
    allowed = SLACK / sample.unit**2
    for base in sample.bases[:2] if space.dim > 1 else ():
        least, most = (_extreme_curvature(sample, base, largest) for largest in (False, True))
        sentence = f"curvature_bounds = {(k_min, k_max)!r}, but a plane has curvature"
        _require(least >= k_min - allowed, space, f"{sentence} {least:.3g}")
        _require(most <= k_max + allowed, space, f"{sentence} {most:.3g}")


def _extreme_curvature(sample: _Sample, base: Array, largest: bool) -> float:
    """Of planes at the base: the most extreme one with a vector u, then with the other vector of that plane, and so on.

    For fixed u, v -> R(u, v, v, u) is a quadratic form, whose eigenvalues across u are the extreme curvatures.
    """
    u, end = _directions(2, sample.space.dim, sample.rng)[1], -1 if largest else 0
    for _ in range(ROUNDS):
        frame = _across(u, sample.rng)
        values, vectors = np.linalg.eigh(_curvature_form(sample, u, frame, base))
        u = frame.T @ vectors[:, end]
    return float(values[end])


def _across(u: Array, rng: np.random.Generator) -> Array:
    """Orthonormal vectors across u: all, or so many at random."""
    number = min(len(u) - 1, DIRECTIONS)
    basis, _ = np.linalg.qr(np.column_stack([u, rng.standard_normal((len(u), number))]))
    return np.asarray(basis[:, 1:].T)


def _curvature_form(sample: _Sample, u: Array, frame: Array, base: Array) -> Array:
    """The matrix of v -> R(u, v, v, u) on the span of the frame, from its values at sums of two vectors of it."""
    i, j = np.triu_indices(len(frame))
    values = _curvature_terms(sample, u, frame[i] + frame[j], base)
    form = np.zeros((len(frame), len(frame)))
    form[i, j] = form[j, i] = values / 2
    squares = np.diagonal(form) / 2  # R(u, e, e, u): twice e counts four times
    return np.asarray(np.where(np.eye(len(frame)) > 0, form / 2, form - (squares[:, None] + squares) / 2))


def _curvature_terms(sample: _Sample, u: Array, v: Array, base: Array) -> Array:
    """R(u, v, v, u) by dist(exp(tu), exp(tv))² = t² |u - v|² - t⁴ R(u, v, v, u)/3 + ..., and a Richardson step."""

    def estimate(t: float) -> Array:
        there, back = (sample.space.dist(sample.at(s * u, base), sample.at(s * v, base)) for s in (t, -t))
        flat = t**2 * ((u - v) ** 2).sum(axis=-1)
        return np.asarray(3 * (flat - (there**2 + back**2) / 2) / t**4)

    step = 0.1 * sample.unit
    return (4 * estimate(step / 2) - estimate(step)) / 3


def _injectivity(sample: _Sample) -> None:
    """Geodesics are shortest up to the injectivity radius."""
    space, radius = sample.space, sample.space.injectivity_radius
    length = min(NEARLY * radius, LONGEST * sample.unit)
    for base in (space.origin, sample.bases[-1]):
        ends = sample.at(length * _directions(BATCH, space.dim, sample.rng), base)
        short = float((length - space.dist(base, ends)).max()) / length
        sentence = f"injectivity_radius = {radius!r}, but a geodesic of length {length:.4g} is not shortest"
        _require(short <= ROUGHLY, space, sentence)


# --- records of any value, each by itself -----------------------------------------------------------------------------


def _records(sample: _Sample) -> None:
    """Records are projected and mapped one by one, in silence, whatever they hold."""
    space = sample.space
    good, base = space.read(sample.ends, "points"), space.read(sample.bases[0], "base")
    odd = space.read(_odd_records(sample), "records")
    _alone(space, "to_points", space.to_points, good, odd)
    _alone(space, "log_coords", lambda raw: space.log_coords(space.to_points(raw), base), good, odd)
    _alone(space, "record_log", lambda raw: space.record_log(raw, base)[0], good, odd[_finite_rows(odd)])


def _vectors(sample: _Sample) -> None:
    """Exp takes vectors one by one, in silence, whatever they hold."""
    space = sample.space
    odd = np.array([np.full(space.dim, value) for value in ODD])
    base = space.read(sample.bases[0], "base")
    _alone(space, "exp_coords", lambda coords: space.exp_coords(coords, base), sample.coords, odd)


def _odd_records(sample: _Sample) -> Array:
    """Records of one odd number, and good ones with one odd entry."""
    whole = np.array([np.full(sample.space.point_shape, value) for value in ODD])
    partly = np.repeat(sample.bases[:1], len(ODD), axis=0)
    partly.reshape(len(ODD), -1)[:, 0] = ODD
    return np.concatenate([whole, partly])


def _finite_rows(array: Array) -> Array:
    return np.asarray(np.isfinite(array.reshape(len(array), -1)).all(axis=1))


def _alone(space: Space, name: str, function: Callable[[Array], Array], good: Array, odd: Array) -> None:
    """Putting an odd record in place of another one changes nothing of the rest, to the last bit."""
    usual = _silent(space, name, function, good)
    for index, value in enumerate(odd):
        place, batch = index % len(good), good.copy()
        batch[place] = value
        found = _silent(space, name, function, batch)
        _require(found.shape == usual.shape, space, f"{name} of records has another shape when one of them is odd")
        same = np.delete(found == usual, place, axis=0).all()
        _require(same, space, f"{name} of a record depends on the other records of its batch")


def _silent(space: Space, name: str, function: Callable[[Array], Array], batch: Array) -> Array:
    """What the function makes of the batch. It may not warn or print; NumPy's own warnings are off, as in releases."""
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as said, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        warnings.simplefilter("always")
        with _blaming(space, f"{name} never raises, whatever a record holds"), np.errstate(all="ignore"):
            result = np.asarray(function(batch))
    _require(not said, space, f"{name} warns of the value of a record")
    _require(not out.getvalue(), space, f"{name} prints while it looks at records")
    _require(len(result) == len(batch), space, f"{name} of {len(batch)} records has shape {result.shape}")
    return result


CHECKS: tuple[Callable[[_Sample], None], ...] = (
    _points,
    _batches,
    _inverses,
    _velocities,
    _distances,
    _geodesics,
    _orthonormal,
    _projection,
    _curvature,
    _injectivity,
    _records,
    _vectors,
)
