"""What every space can do, and the facts that the privacy proofs need of it.

The core that a space must implement are its facts, four maps in *orthonormal coordinates* of a tangent space and what
is a point: the abstract names below. Everything a user calls is built from them here, once, together with the checks of
what the user passed; tangent means with wrapped noise need no more. What other mechanisms ask for are capabilities,
which say what is missing where a space does not define them. Primitives trust their input and are batched over leading
axes. docs/extending.md shows a space of one's own.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riemdp.arguments import as_array, check_batches, check_real, finite_array, floats, random_generator, whole_number
from riemdp.errors import InputError, MechanismError
from riemdp.io.cells import numbers
from riemdp.manifolds.description import COORDINATES, ArrayForm, Remark, register
from riemdp.manifolds.growth import MARGIN, Growth, comparison_growth
from riemdp.manifolds.scalars import norm, t_cot

if TYPE_CHECKING:
    from flint import arb

Array = NDArray[Any]

# What only some mechanisms ask of a space, by the names that a refusal gives them.
VOLUME, EXACT_POINTS = "volume density", "exact points"
FRECHET_MODEL, CLOSED_FORM = "Fréchet model", "closed form of means"

# How far from the space a point may lie, relative to its size, and still count as one of it.
MEMBERSHIP_TOL = 1e-8
# How far from a tangent space a vector may lie, relative to its length or (subnormal ones are coarse) at all.
TANGENT_TOL = 1e-6
TANGENT_FLOOR = 1e-300
# Rows handled at a time: a block stays in the processor's cache, and is worth a thread.
ROWS = 16_384
# Released entries beyond this are pulled back to it, so that their squares stay finite.
FARTHEST = 1e150


@dataclass(frozen=True)
class LocalModel:
    """The Fréchet function F(x) = 1/(2n) sum rho(x, x_i)² around a point x, in orthonormal coordinates."""

    descent: Array  # -grad F(x), the mean of log_x(x_i)
    step: Callable[[Array], Array]  # approximately H⁻¹ g, H the Hessian of F at x
    convexity: float  # lower bound on the Hessian within `reach` of x
    reach: float
    across: float  # mean of t cot t, t the records' distances to x times sqrt(k_max); 1 where k_max <= 0
    farthest: float  # largest distance of a record to x; 0 where it does not matter
    rounding: float  # bound on the float error of `descent`, and of the coordinates of x itself

    @property
    def slope(self) -> float:
        """‖grad F(x)‖."""
        square = float(np.vdot(self.descent, self.descent))
        # Slower, but no square under- or overflows.
        return math.sqrt(square) if 1e-250 < square < 1e250 else float(norm(self.descent))


@dataclass(frozen=True)
class FlatMean:
    """The Fréchet mean of a flat space, in closed form."""

    point: Array
    rounding: float  # bound on its distance to the exact mean


class Space(ABC):
    """A complete, homogeneous Riemannian manifold.

    Points are arrays of shape `(..., *point_shape)`; all methods are batched over the leading axes.
    """

    homogeneous: ClassVar[bool] = True

    # --- facts -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def dim(self) -> int:
        """Dimension of the manifold."""

    @property
    @abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one point."""

    @property
    @abstractmethod
    def curvature_bounds(self) -> tuple[float, float]:
        """(k_min, k_max): bounds on the sectional curvature."""

    @property
    @abstractmethod
    def injectivity_radius(self) -> float:
        """Up to this distance, geodesics from a point are unique shortest paths."""

    @property
    @abstractmethod
    def origin(self) -> Array:
        """A distinguished point: identity, zero, north pole, regular polygon."""

    @property
    def is_flat(self) -> bool:
        """Isometric to a Euclidean space (docs/proofs/spaces/base.md): a flat torus is not."""
        return self.curvature_bounds == (0.0, 0.0) and math.isinf(self.injectivity_radius)

    @property
    def uniqueness_radius(self) -> float:
        """Data in a ball of smaller radius have exactly one Fréchet mean (Afsari 2011, Theorem 2.1)."""
        k_max = self.curvature_bounds[1]
        return 0.5 * min(self.injectivity_radius, np.pi / np.sqrt(k_max) if k_max > 0 else np.inf)

    # --- primitives, in orthonormal coordinates -------------------------------------------------------------

    @abstractmethod
    def exp_coords(self, coords: Array, base: Array) -> Array:
        """Exponential map of the vector with these coordinates."""

    @abstractmethod
    def log_coords(self, points: Array, base: Array) -> Array:
        """Coordinates of the logarithm of the points."""

    @abstractmethod
    def to_coords(self, vectors: Array, base: Array) -> Array:
        """Orthonormal coordinates (..., dim) of tangent vectors."""

    @abstractmethod
    def from_coords(self, coords: Array, base: Array) -> Array:
        """Tangent vectors with these coordinates."""

    @abstractmethod
    def are_points(self, points: Array) -> Array:
        """Mask of finite arrays that are points, within MEMBERSHIP_TOL."""

    def _is_record(self, points: Array) -> Array:
        """Mask of finite arrays of which a mean may be asked: points, unless raw ones stand for a point as well."""
        return self.are_points(points)

    @abstractmethod
    def are_tangent(self, vectors: Array, base: Array) -> Array:
        """Mask of tangent vectors, within TANGENT_TOL of their length."""

    @abstractmethod
    def to_points(self, raw: Array) -> Array:
        """Raw data to points; NaN for what cannot become one."""

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        """Coordinates at the base of finite raw records, and which of them could be projected; each one by itself."""
        points = self.to_points(raw)
        usable = _finite(points, len(self.inner_shape))
        if not usable.all():
            points = np.where(usable.reshape(-1, *[1] * len(self.inner_shape)), points, base)
        return self.log_coords(points, base), usable

    def distance(self, a: Array, b: Array) -> Array:
        return np.asarray(np.linalg.norm(self.log_coords(b, a), axis=-1))

    # --- what users call --------------------------------------------------------------------------------

    def exp(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Point reached from `base_point` along the geodesic with velocity `tangent_vec` at time 1."""
        base = self._points(base_point, "base_point")
        coords = self.to_coords(self._vectors(tangent_vec, base), base)
        return self.write(self._exp_in_range(coords, base, "tangent_vec"), base_point)

    def log(self, point: ArrayLike, base_point: ArrayLike) -> Array:
        """Tangent vector at `base_point` whose exponential is `point`, the shortest one."""
        base, target = self._points(base_point, "base_point"), self._points(point, "point")
        check_batches(point=self._batch(target), base_point=self._batch(base))
        return self.write(self.from_coords(self.log_coords(target, base), base), base_point)

    def dist(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Geodesic distance."""
        p, q = self._points(a, "a"), self._points(b, "b")
        check_batches(a=self._batch(p), b=self._batch(q))
        return self.distance(p, q)

    def inner(self, u: ArrayLike, v: ArrayLike, base_point: ArrayLike) -> Array:
        """Riemannian inner product of two tangent vectors."""
        base = self._points(base_point, "base_point")
        a, b = (self.to_coords(self._vectors(w, base, name), base) for w, name in ((u, "u"), (v, "v")))
        check_batches(u=a.shape[:-1], v=b.shape[:-1])
        return np.asarray((a * b).sum(axis=-1))

    def norm(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Length of a tangent vector."""
        return np.asarray(np.linalg.norm(self.coordinates(tangent_vec, base_point), axis=-1))

    def coordinates(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Coordinates (..., dim) of a tangent vector in an orthonormal basis at `base_point`."""
        base = self._points(base_point, "base_point")
        return self.to_coords(self._vectors(tangent_vec, base), base)

    def from_coordinates(self, coords: ArrayLike, base_point: ArrayLike) -> Array:
        """Tangent vector with the given orthonormal coordinates: the inverse of `coordinates`."""
        base, values = self._points(base_point, "base_point"), self._coords(coords)
        check_batches(coords=values.shape[:-1], base_point=self._batch(base))
        return self.write(self.from_coords(values, base), base_point)

    def log_volume_density(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Logarithm of det d exp: how much the exponential map stretches volume at `tangent_vec`.

        It is -inf from the injectivity radius on, where exp no longer is one to one.
        """
        return self.log_density(self.coordinates(tangent_vec, base_point))

    def geodesic(self, a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
        """Point at time `t` of the geodesic with a at 0 and b at 1; `t` broadcasts with the leading axes."""
        start, end, times = self._points(a, "a"), self._points(b, "b"), finite_array(t, "t")
        check_batches(a=self._batch(start), b=self._batch(end), t=times.shape)
        return self.write(self._exp_in_range(times[..., None] * self.log_coords(end, start), start, "t"), a)

    def contains(self, points: ArrayLike) -> Array:
        """Which arrays are points of the space, within the relative tolerance MEMBERSHIP_TOL = 1e-8."""
        values = self.read(points, "points")
        with np.errstate(all="ignore"):
            return np.asarray(_finite(values, len(self.inner_shape)) & self.are_points(values))

    def project(self, raw: ArrayLike) -> Array:
        """Raw data as points of the space (see each space); an InputError if some cannot become one."""
        array = self.read(raw, "raw")
        with np.errstate(all="ignore"):
            values = self.to_points(array)
        good = _finite(array, len(self.inner_shape)) & _finite(values, len(self.inner_shape))
        if not good.all():
            raise InputError(f"{_which(good, 'raw')} cannot be projected to {self!r}: {self.remedy}.")
        return self.write(values, raw)

    def random_point(self, size: int, rng: np.random.Generator | int) -> Array:
        """`size` random points around the origin, well within the ball where means are unique."""
        coords = self._random_coords(whole_number(size, "size", 1), random_generator(rng))
        return self.write(self.exp_coords(coords, self.read(self.origin, "origin")), self.origin)

    # --- what it says of itself: names, words and a picture, all with a default -------------------------------

    cli_name: ClassVar[str | None] = None  # on the command line, for --space; without one it is not there
    center_names: ClassVar[tuple[str, ...]] = ()  # of its origin, for --center, beside 'origin'
    remarks: ClassVar[tuple[Remark, ...]] = ()  # that `check` makes about raw records

    def __init_subclass__(cls, **options: Any) -> None:
        """Every space is known by its name: saved releases are read, and command lines understood, by it."""
        super().__init_subclass__(**options)
        register(cls)

    @property
    def words(self) -> str:
        """What its points are, in a report."""
        return f"points of {self!r}"

    @property
    def picture(self) -> str:
        """The kind of picture that shows a point of it, one of `riemdp.plots.PICTURES`."""
        return COORDINATES

    @property
    def parts(self) -> tuple[Space, ...]:
        """The spaces that it is put together from: the factors of a product, otherwise itself alone."""
        return (self,)

    @classmethod
    def examples(cls) -> list[Space]:
        """Some of its kind, for suites that run on all spaces: small ones, special cases, and a usual one."""
        return [] if inspect.signature(cls).parameters else [cls()]

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        """The size, its only parameter without a default, of the space whose points an array of this form holds."""
        return form.last

    def shape_of_point(self, dtype: np.dtype[Any]) -> tuple[int, ...]:
        """The shape of a point in an array of this type."""
        if dtype.kind == "c":
            raise InputError(f"complex numbers are no records of {self!r}: pass real ones.")
        return self.point_shape

    def parameters(self) -> dict[str, Any]:
        """Plain JSON data from which `from_parameters` makes an equal space: its fields, or else its attributes."""
        names = [field.name for field in fields(self)] if is_dataclass(self) else list(vars(self))
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Space:
        """The space that `parameters` described; a TypeError if they do not fit."""
        return cls(**parameters)

    # === capabilities: what only some mechanisms ask for, and a space may do without ==========================

    def _lacks(self, capability: str, method: str) -> MechanismError:
        """What a mechanism or a statistic says that needs more than the core."""
        instead = "use statistic='tangent-mean' with a wrapped mechanism, which every space has"
        return MechanismError(f"{self!r} has no {capability} (it defines no {method}): {instead}.")

    # --- volume density: the Riemannian laws (docs/proofs/riemannian_laws.md) --------------------------------

    def log_density(self, coords: Array) -> Array:  # noqa: ARG002
        """log J(v): the volume density of exp, the same at every point of a homogeneous space."""
        raise self._lacks(VOLUME, "log_density")

    @property
    def longest_vector(self) -> float:
        """Beyond this length, not rounded down, exp is not one to one: such tangent vectors count for nothing."""
        return MARGIN * self.injectivity_radius

    @property
    def growth_rate(self) -> float:
        """c: the volume of balls grows like exp(c t), up to powers of t, or at most so fast."""
        return (self.dim - 1) * math.sqrt(max(-self.curvature_bounds[0], 0.0))

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any] | None:
        """log(t^(d-1) J(v)) up to a constant, and its derivative, if J depends on t = |v| alone; else None.

        It is concave. `m` offers log, sin, ... for whatever t is: numpy, or its like for balls.
        """
        return ((self.dim - 1) * m.log(t), (self.dim - 1) / t) if self.is_flat else None

    def volume_growth(self, t: float) -> Growth:
        """A bound of log J(v) for every v, sharp or nearly so where |v| = t, which may be infinite."""
        return comparison_growth(self.dim - 1, self.curvature_bounds[0], t)

    # --- exact points: the same in ball arithmetic, for releases (docs/proofs/rounded_point.md) ---------------

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:  # noqa: ARG002
        """Entries of exp, in some orthonormal basis, at the exact point that the array `base` stands for.

        They are those of an array of shape `ambient_shape`, row by row, and enclose the same real numbers
        whatever the precision.
        """
        raise self._lacks(EXACT_POINTS, "ideal_exp")

    def ideal_log_density(self, coords: list[arb]) -> arb:  # noqa: ARG002
        """log J(v), with -inf where exp is not one to one and NaN while the balls do not tell which."""
        raise self._lacks(EXACT_POINTS, "ideal_log_density")

    def from_ambient(self, ambient: Array) -> Array:  # noqa: ARG002
        """A point close to these entries, whatever the finite floats are."""
        raise self._lacks(EXACT_POINTS, "from_ambient")

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        """A Euclidean change of the ambient entries, at most this, moves a point by at most `length`.

        The point lies within `farthest` of the origin; 0 if float64 cannot hold all such points.
        """
        raise self._lacks(EXACT_POINTS, "ambient_step")

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        """Shape of the entries that a release rounds."""
        return self.point_shape

    # --- Fréchet model: certified means (docs/proofs/certificate.md) ------------------------------------------

    def closed_form_mean(self, points: Array) -> FlatMean:  # noqa: ARG002
        """The mean of a flat space."""
        raise self._lacks(CLOSED_FORM, "closed_form_mean")

    def mean_start(self, points: Array) -> Array:  # noqa: ARG002
        """A first guess of the mean."""
        raise self._lacks(FRECHET_MODEL, "mean_start")

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:  # noqa: ARG002
        """The Fréchet function around x; without `hessian`, its `step` is a rough one where that saves work."""
        raise self._lacks(FRECHET_MODEL, "local_model")

    def rounding_limit(self, radius: float, n: int) -> float:  # noqa: ARG002
        """Bound on `LocalModel.rounding` for any n records, and any x, in a ball of this radius at the origin.

        The ball is no larger than 0.9 of the largest in which means are unique. It also holds for models of n records
        each that were merged (`riemdp.manifolds.local_model.merged`).
        """
        raise self._lacks(FRECHET_MODEL, "rounding_limit")

    def step_limit(self, radius: float) -> float:  # noqa: ARG002
        """Bound on the distance from an exact to a computed exp_x(v), x in a ball of this radius at the origin.

        The vector v is short: what grows with its length is not counted.
        """
        raise self._lacks(FRECHET_MODEL, "step_limit")

    def point_rounding(self, radius: float) -> float:  # noqa: ARG002
        """How far exp, and log again, may move a mean that was found in coordinates; 0 if it is found as a point."""
        return 0.0

    # --- gradient bounds: the K-norm gradient law (docs/proofs/kng.md) -----------------------------------------

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        """‖grad F(x)‖ at every candidate x, F(x) = 1/(2n) sum rho(x, x_i)²; n numbers per candidate are held."""
        if self.is_flat:
            return self.distance(self.closed_form_mean(points).point, candidates)
        return norm(self.log_coords(points[None], candidates[:, None]).mean(axis=1))

    def hessian_floor(self, points: Array, centre: Array, times: Array, farthest: float) -> Array:
        """Lower bounds at `times`, which never rise, on the Hessian of F along unit-speed geodesics from `centre`.

        They hold where no record is farther than `farthest`, and no geodesic to one meets the cut locus
        (docs/proofs/kng.md, section 2): 1 in no positive curvature, else the mean of a(rho_i + s), a(y) = y cot y.
        """
        k_max = self.curvature_bounds[1]
        if k_max <= 0:
            return np.ones_like(times)
        rho = np.minimum(self.distance(points, centre) + times[:, None], farthest)
        return np.asarray(t_cot(math.sqrt(k_max) * rho).mean(axis=1))

    # --- reading what users pass ------------------------------------------------------------------------

    remedy: ClassVar[str] = "leave such records out"
    _record_remedy: ClassVar[str] = "pass the data through space.project() first"

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """Shape of a point as the primitives see it."""
        return self.point_shape

    def _batch(self, array: Array) -> tuple[int, ...]:
        """The leading axes of points or vectors."""
        return array.shape[: array.ndim - len(self.inner_shape)]

    def _exp_in_range(self, coords: Array, base: Array, name: str) -> Array:
        """The exponential map, refused where its result does not fit float64."""
        with np.errstate(all="ignore"):
            values = self.exp_coords(coords, base)
        good = _finite(values, len(self.inner_shape))
        if not good.all():
            raise InputError(f"{_which(good, name)} leads beyond the range of float64: make it smaller.")
        return values

    def _random_coords(self, size: int, rng: np.random.Generator) -> Array:
        coords = rng.standard_normal((size, self.dim))
        radius = self.uniqueness_radius / 2
        if np.isinf(radius):
            return np.asarray(2 * coords / np.sqrt(self.dim))
        lengths = radius * rng.random((size, 1)) ** (1 / self.dim)
        return np.asarray(coords / np.linalg.norm(coords, axis=-1, keepdims=True) * lengths)

    def read(self, value: Any, name: str) -> Array:
        """An array of the right kind and shape; its values are not looked at."""
        array = as_array(value, name)
        self.check_form(array.shape, array.dtype, name)
        return floats(array)

    def check_form(self, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
        """Raise unless arrays of this shape and type can be points."""
        check_real(dtype, name)
        _check_shape(shape, self.point_shape, name, self)

    def numbers(self, records: Any) -> Any:
        """Records of whatever type, as numbers: NaN where there are none. No value raises."""
        return numbers(records, self.point_shape)

    def write(self, values: Array, like: Any) -> Array:  # noqa: ARG002
        """Points and vectors in the form in which the user passed `like`."""
        return values

    def _points(self, value: Any, name: str) -> Array:
        array = self.read(value, name)
        good = self.contains(value)
        if not good.all():
            raise InputError(f"{_which(good, name)} is not a point of {self!r}: make it one with project().")
        return self.settle(array)

    def one_point(self, value: Any, name: str) -> Array:
        """The value as one point, in the form of the primitives."""
        point = self._points(value, name)
        if point.shape != self.inner_shape:
            raise InputError(f"{name} has shape {np.shape(value)}: pass one point.")
        return point

    def settle(self, points: Array) -> Array:
        """Points within the tolerance, brought exactly onto the space; the same array only if it holds just such."""
        return self.to_points(points)

    def _vectors(self, value: Any, base: Array, name: str = "tangent_vec") -> Array:
        array = self.read(value, name)
        check_batches(**{name: self._batch(array)}, base_point=self._batch(base))
        with np.errstate(all="ignore"):
            good = np.asarray(_finite(array, len(self.inner_shape)) & self.are_tangent(array, base))
        if not good.all():
            raise InputError(
                f"{_which(good, name)} is not a tangent vector of {self!r} at base_point: "
                "make one with log() or from_coordinates()."
            )
        return array

    def _coords(self, value: ArrayLike) -> Array:
        array = finite_array(value, "coords")
        _check_shape(array.shape, (self.dim,), "coords", self)
        return array


def _check_shape(shape: tuple[int, ...], last: tuple[int, ...], name: str, space: Space) -> None:
    if len(shape) < len(last) or shape[len(shape) - len(last) :] != last:
        wanted = "(..., " + ", ".join(map(str, last)) + ")"
        raise InputError(f"{name} has shape {shape}: {space!r} takes shape {wanted}.")
    if 0 in shape:
        raise InputError(f"{name} is empty (shape {shape}): pass at least one point.")


def _finite(array: Array, axes: int) -> Array:
    return np.asarray(np.isfinite(array).all(axis=tuple(range(-axes, 0))))


def _which(good: Array, name: str) -> str:
    """Name of the first bad entry of a batch."""
    if good.ndim == 0:
        return name
    index = np.unravel_index(int(np.argmin(good)), good.shape)
    return f"{name}[{', '.join(map(str, index))}]"
