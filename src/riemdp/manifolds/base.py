"""What every space can do, and the facts that the privacy proofs need of it.

The core that a space must implement are its facts, four maps in *orthonormal coordinates* of a tangent space and what
is a point: the abstract names below. Everything a user calls is built from them here, once, together with the checks of
what the user passed; tangent means with wrapped noise need no more. What other mechanisms ask for are the roles of
riemdp.manifolds.capabilities, which a space may take on as well. Primitives trust their input and are batched over
leading axes. docs/extending.md shows a space of one's own.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riemdp.arguments import as_array, check_batches, check_real, finite_array, floats, random_generator, whole_number
from riemdp.errors import InputError
from riemdp.io.cells import numbers
from riemdp.manifolds.capabilities import C, VolumeDensity, missing
from riemdp.manifolds.description import COORDINATES, ArrayForm, Remark, register
from riemdp.manifolds.scalars import norm

Array = NDArray[Any]

# How far from the space a point may lie, relative to its size, and still count as one of it.
MEMBERSHIP_TOL = 1e-8
# How far from a tangent space a vector may lie, relative to its length or (subnormal ones are coarse) at all.
TANGENT_TOL = 1e-6
TANGENT_FLOOR = 1e-300
# Rows handled at a time: a block stays in the processor's cache, and is worth a thread.
ROWS = 16_384
# Released entries beyond this are pulled back to it, so that their squares stay finite.
FARTHEST = 1e150


class Space(ABC):
    """A complete, homogeneous Riemannian manifold: what all spaces can do.

    Points are arrays of shape `(..., *point_shape)`; all methods are batched over the leading axes, and have
    geomstats' order of arguments. The other names of a space are for its mechanisms and for those who write a space
    of their own: see docs/extending.md.

    See Also
    --------
    Ball : Where private records are kept.
    Product : Several spaces as one.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> space = rd.Sphere(2)
    >>> space.dim, space.point_shape, isinstance(space, rd.Space)
    (2, (3,), True)
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

    @property
    def extent(self) -> float:
        """Radius of a ball around the origin that holds the whole space, if there is one below the largest."""
        return math.inf

    @property
    def radian(self) -> float | None:
        """Length of an arc of one radian, where lengths are those of arcs and might be taken for degrees."""
        return None

    @property
    def most_curved_axes(self) -> tuple[int, int]:
        """Axes of the coordinates that span a plane of curvature k_max > 0; the first one twice if there is none."""
        return (0, 1) if self.dim > 1 and self.curvature_bounds[1] > 0 else (0, 0)

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

    def are_records(self, points: Array) -> Array:
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
        """Geodesic distance of points in the form of the primitives."""
        return np.asarray(np.linalg.norm(self.log_coords(b, a), axis=-1))

    def reached(self, coords: Array) -> Array:
        """rho(exp_p(v), p): |v| where no geodesic comes back, and there exp may be beyond float64."""
        if self.injectivity_radius == math.inf:
            return norm(coords)
        origin = self.read(self.origin, "origin")
        return self.distance(origin, self.exp_coords(coords, origin))

    # --- what users call --------------------------------------------------------------------------------

    def exp(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Point reached from `base_point` along the geodesic with velocity `tangent_vec` at time 1.

        Parameters
        ----------
        tangent_vec : array of shape (..., *point_shape)
            Tangent vectors at the base points.
        base_point : array of shape (..., *point_shape)
            Points; the leading axes broadcast.

        Returns
        -------
        array of shape (..., *point_shape)
            Points, in the form of `base_point`.

        Raises
        ------
        InputError
            If a vector is not tangent, a base is not a point, or the result is beyond the range of float64.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.SPDAffine(2).exp(np.diag([np.log(4.0), 0.0]), np.eye(2)).round(12).tolist()
        [[4.0, 0.0], [0.0, 1.0]]
        """
        base = self._points(base_point, "base_point")
        coords = self.to_coords(self._vectors(tangent_vec, base), base)
        return self.write(self._exp_in_range(coords, base, "tangent_vec"), base_point)

    def log(self, point: ArrayLike, base_point: ArrayLike) -> Array:
        """Tangent vector at `base_point` whose exponential is `point`, the shortest one.

        Parameters
        ----------
        point : array of shape (..., *point_shape)
            Points to reach.
        base_point : array of shape (..., *point_shape)
            Points to start from; the leading axes broadcast.

        Returns
        -------
        array of shape (..., *point_shape)
            Tangent vectors at the base points.

        Raises
        ------
        InputError
            If something is not a point of the space.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.Sphere(1).log([0.0, 1.0], [1.0, 0.0]).round(4).tolist()
        [0.0, 1.5708]
        """
        base, target = self._points(base_point, "base_point"), self._points(point, "point")
        check_batches(point=self._batch(target), base_point=self._batch(base))
        return self.write_vectors(self.from_coords(self.log_coords(target, base), base), base, base_point)

    def dist(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Geodesic distance between points.

        Parameters
        ----------
        a, b : array of shape (..., *point_shape)
            Points; the leading axes broadcast.

        Returns
        -------
        array of shape (...)
            Distances, in the space's own unit of length.

        Raises
        ------
        InputError
            If something is not a point of the space.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.Sphere(2).dist([1.0, 0.0, 0.0], [[0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]).round(4).tolist()
        [1.5708, 1.5708]
        """
        p, q = self._points(a, "a"), self._points(b, "b")
        check_batches(a=self._batch(p), b=self._batch(q))
        return self.distance(p, q)

    def inner(self, u: ArrayLike, v: ArrayLike, base_point: ArrayLike) -> Array:
        """Riemannian inner product of two tangent vectors.

        Parameters
        ----------
        u, v : array of shape (..., *point_shape)
            Tangent vectors at the base points.
        base_point : array of shape (..., *point_shape)
            Points; the leading axes broadcast.

        Returns
        -------
        array of shape (...)
            Inner products.

        Raises
        ------
        InputError
            If a vector is not tangent, or a base is not a point.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> float(rd.SPDAffine(2).inner(np.eye(2), np.eye(2), 2 * np.eye(2)).round(12))
        0.5
        """
        base = self._points(base_point, "base_point")
        a, b = (self.to_coords(self._vectors(w, base, name), base) for w, name in ((u, "u"), (v, "v")))
        check_batches(u=a.shape[:-1], v=b.shape[:-1])
        return np.asarray((a * b).sum(axis=-1))

    def norm(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Length of a tangent vector.

        Parameters
        ----------
        tangent_vec, base_point : array of shape (..., *point_shape)
            Tangent vectors, and the points at which they are; the leading axes broadcast.

        Returns
        -------
        array of shape (...)
            Lengths, in the space's own unit.

        Raises
        ------
        InputError
            If a vector is not tangent, or a base is not a point.

        Examples
        --------
        >>> import riemdp as rd
        >>> float(rd.Sphere(2).norm([0.0, 3.0, 4.0], [1.0, 0.0, 0.0]))
        5.0
        """
        return np.asarray(np.linalg.norm(self.coordinates(tangent_vec, base_point), axis=-1))

    def coordinates(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """The coordinates of a tangent vector in an orthonormal basis at `base_point`.

        Parameters
        ----------
        tangent_vec, base_point : array of shape (..., *point_shape)
            Tangent vectors, and the points at which they are; the leading axes broadcast.

        Returns
        -------
        array of shape (..., dim)
            Coordinates, whose Euclidean length is that of the vector.

        Raises
        ------
        InputError
            If a vector is not tangent, or a base is not a point.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.SPDAffine(2).coordinates(np.eye(2), np.eye(2)).tolist()
        [1.0, 1.0, 0.0]
        """
        base = self._points(base_point, "base_point")
        return self.to_coords(self._vectors(tangent_vec, base), base)

    def from_coordinates(self, coords: ArrayLike, base_point: ArrayLike) -> Array:
        """Tangent vector with the given orthonormal coordinates: the inverse of `coordinates`.

        Parameters
        ----------
        coords : array of shape (..., dim)
            Coordinates.
        base_point : array of shape (..., *point_shape)
            Points; the leading axes broadcast.

        Returns
        -------
        array of shape (..., *point_shape)
            Tangent vectors at the base points.

        Raises
        ------
        InputError
            If a coordinate is not finite, or a base is not a point.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.SPDAffine(2).from_coordinates([1.0, 1.0, 0.0], np.eye(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        base, values = self._points(base_point, "base_point"), self._coords(coords)
        check_batches(coords=values.shape[:-1], base_point=self._batch(base))
        return self.write_vectors(self.from_coords(values, base), base, base_point)

    def log_volume_density(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> Array:
        """Logarithm of det d exp: how much the exponential map stretches volume at `tangent_vec`.

        It is -inf from the injectivity radius on, where exp no longer is one to one.

        Parameters
        ----------
        tangent_vec : array of shape (..., *point_shape)
            Tangent vectors at the base points.
        base_point : array of shape (..., *point_shape)
            Points; the leading axes broadcast.

        Returns
        -------
        array of shape (...)
            Logarithms of the density; 0 everywhere in a flat space.

        Raises
        ------
        InputError
            If a vector is not tangent, or a base is not a point.
        MechanismError
            If the space does not know its volume density.

        Examples
        --------
        >>> import riemdp as rd
        >>> float(rd.Hyperbolic(2).log_volume_density([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]).round(4))
        0.1614
        """
        return self.capability(VolumeDensity).log_density(self.coordinates(tangent_vec, base_point))

    def geodesic(self, a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
        """Point at time `t` of the geodesic with a at 0 and b at 1.

        Parameters
        ----------
        a, b : array of shape (..., *point_shape)
            Points at time 0 and at time 1.
        t : float or array of shape (...)
            Times, also below 0 and above 1; they broadcast with the leading axes of a and b.

        Returns
        -------
        array of shape (..., *point_shape)
            Points, in the form of `a`.

        Raises
        ------
        InputError
            If something is not a point, a time is not finite, or the result is beyond the range of float64.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.SPDAffine(1).geodesic([[1.0]], [[4.0]], [0.0, 0.5, 1.0]).ravel().round(12).tolist()
        [1.0, 2.0, 4.0]
        """
        start, end, times = self._points(a, "a"), self._points(b, "b"), finite_array(t, "t")
        check_batches(a=self._batch(start), b=self._batch(end), t=times.shape)
        return self.write(self._exp_in_range(times[..., None] * self.log_coords(end, start), start, "t"), a)

    def contains(self, points: ArrayLike) -> Array:
        """Which arrays are points of the space, within a relative tolerance of 1e-8.

        Parameters
        ----------
        points : array of shape (..., *point_shape)
            Arrays of numbers.

        Returns
        -------
        array of bool of shape (...)
            A mask; nothing raises for its values.

        Raises
        ------
        InputError
            If the shape or the type cannot be that of points.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Sphere(2).contains([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]).tolist()
        [True, False]
        """
        return self.holds(self.read(points, "points"))

    def holds(self, points: Array) -> Array:
        """Which arrays, in the form of the primitives, are points of the space."""
        with np.errstate(all="ignore"):
            return np.asarray(_finite(points, len(self.inner_shape)) & self.are_points(points))

    def project(self, raw: ArrayLike) -> Array:
        """Turn raw data into points of the space: symmetrise, normalise, centre, as each space needs.

        Parameters
        ----------
        raw : array of shape (..., *point_shape)
            Arrays of numbers.

        Returns
        -------
        array of shape (..., *point_shape)
            Points.

        Raises
        ------
        InputError
            If some array cannot become a point; the message says which.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Sphere(2).project([3.0, 4.0, 0.0]).tolist()
        [0.6, 0.8, 0.0]
        """
        array = self.read(raw, "raw")
        with np.errstate(all="ignore"):
            values = self.to_points(array)
        good = _finite(array, len(self.inner_shape)) & _finite(values, len(self.inner_shape))
        if not good.all():
            raise InputError(f"{_which(good, 'raw')} cannot be projected to {self!r}: {self.remedy}.")
        return self.write(values, raw)

    def random_point(self, size: int, rng: np.random.Generator | int) -> Array:
        """Draw random points around the origin, well within the ball where means are unique.

        For tests and demonstrations, not a release.

        Parameters
        ----------
        size : int
            How many.
        rng : numpy.random.Generator or int
            Where randomness comes from, or a seed.

        Returns
        -------
        array of shape (size, *point_shape)
            Points.

        Raises
        ------
        InputError
            If an argument is not as described.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.KendallShapes(5).random_point(10, 0).shape
        (10, 5, 2)
        """
        coords = self._random_coords(whole_number(size, "size", 1), random_generator(rng))
        return self.write(self.exp_coords(coords, self.read(self.origin, "origin")), self.origin)

    # --- what it says of itself: names, words and a picture, all with a default -------------------------------

    cli_name: ClassVar[str | None] = None  # on the command line, for --space; without one it is not there
    variants: ClassVar[dict[str, dict[str, Any]]] = {}  # other names there, and the options that they stand for
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
        return self.factors or (self,)

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
            raise InputError(f"Complex data not supported by {self!r}: pass real numbers.")
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
    # --- capabilities (riemdp.manifolds.capabilities) ----------------------------------------------------

    def has(self, kind: type) -> bool:
        """Whether the space has this capability."""
        return isinstance(self, kind)

    def capability(self, kind: type[C]) -> C:
        """The space in this role; a MechanismError that names the capability if it has none such."""
        if not self.has(kind):
            raise missing(self, kind)
        return cast(C, self)

    # --- parts: those of a product; any other space is one part -------------------------------------------

    factors: tuple[Space, ...] = ()  # the spaces of which it is a product, if it is one

    def split(self, point: ArrayLike) -> list[Array]:
        """The points (or tangent vectors) of the factors."""
        return [self.write(self.read(point, "point"), point)]

    def inner_parts(self, points: Array) -> list[Array]:
        """The points of each factor, in the form of its primitives."""
        return [points]

    def split_coords(self, coords: Array) -> list[Array]:
        """The coordinates that belong to each factor."""
        return [coords]

    def assemble(self, inner: list[Array]) -> Array:
        """Points of the product from those of its factors: the inverse of `inner_parts`."""
        return inner[0]

    # --- reading what users pass ------------------------------------------------------------------------

    sums_check_records: ClassVar[bool] = False  # its sums over records take any floats, and refuse what is no point
    remedy: ClassVar[str] = "leave such records out"
    raw_forms: ClassVar[str] = ""  # what `project` takes beside arrays of the shape of points
    record_remedy: ClassVar[str] = "pass the data through space.project() first"

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

    def as_written(self, value: Any, like: Any, name: str) -> Array:
        """Points or vectors in the form of `like`, one of the forms that `read` takes."""
        return self.write(self.read(value, name), like)

    def read_vectors(self, value: Any, base: Array, name: str) -> Array:  # noqa: ARG002
        """Vectors at the base, in the form of the primitives; the same as `read` unless points are coordinates."""
        return self.read(value, name)

    def write_vectors(self, vectors: Array, base: Array, like: Any) -> Array:  # noqa: ARG002
        """Tangent vectors in the form in which the user passed `like`: the inverse of `read_vectors`."""
        return self.write(vectors, like)

    def _points(self, value: Any, name: str) -> Array:
        array = self.read(value, name)
        good = self.contains(value)
        if not good.all():
            raise InputError(f"{_which(good, name)} is not a point of {self!r}: make it one with project().")
        return self.settle(array)

    def read_points(self, value: Any, name: str) -> Array:
        """Any number of points, in the form of the primitives; an InputError that names the first that is none."""
        return self._points(value, name)

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
        array = self.read_vectors(value, base, name)
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
        has_more = space.raw_forms and last == space.point_shape
        more = f"; space.project() makes such of {space.raw_forms}" if has_more else ""
        raise InputError(f"{name} has shape {shape}: {space!r} takes shape {wanted}{more}.")
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
