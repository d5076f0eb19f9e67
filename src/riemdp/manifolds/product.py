"""Products of spaces: points and vectors factor by factor, squared distances added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from riemdp.arguments import check_batches
from riemdp.caching import cached_property
from riemdp.errors import InputError
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.capabilities import C, ExactPoints, GradientBounds, VolumeDensity
from riemdp.manifolds.catalogue import space_from_dict, space_to_dict
from riemdp.manifolds.euclidean import Euclidean
from riemdp.manifolds.growth import Growth, product_growth
from riemdp.manifolds.hyperbolic import Hyperbolic
from riemdp.manifolds.kendall import KendallShapes
from riemdp.manifolds.scalars import norm
from riemdp.manifolds.spd_affine import SPDAffine
from riemdp.manifolds.spd_log_euclidean import SPDLogEuclidean
from riemdp.manifolds.sphere import Sphere

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, init=False)
class Product(Space, VolumeDensity, ExactPoints, GradientBounds):
    """Several spaces as one, for records that have a part in each: M_1 x ... x M_m with the sum of the metrics.

    A point is one flat vector, the concatenation of the flattened points of the factors (complex numbers as pairs of
    real ones): `join` makes it from a sequence of parts, `split` takes it apart.

    Parameters
    ----------
    *factors : Space
        One or more spaces.

    Raises
    ------
    InputError
        If something is not a space.

    See Also
    --------
    Space : What all spaces can do.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> both = rd.Product(rd.Sphere(2), rd.Euclidean(1))
    >>> both.dim, both.join([[0.0, 0.0, 1.0], [5.0]]).tolist()
    (3, [0.0, 0.0, 1.0, 5.0])
    """

    factors: tuple[Space, ...]

    def __init__(self, *factors: Space) -> None:
        if not factors or not all(isinstance(factor, Space) for factor in factors):
            raise InputError(f"Product{factors!r}: pass one or more spaces.")
        object.__setattr__(self, "factors", factors)

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    # --- facts --------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Sum of the dimensions."""
        return sum(factor.dim for factor in self.factors)

    @cached_property
    def _origins(self) -> tuple[Array, ...]:
        """The factors' origins, which show the form of their points; kept, or deep nesting would take for ever."""
        return tuple(factor.origin for factor in self.factors)

    @property
    def _sizes(self) -> list[int]:
        return [origin.size * (2 if np.iscomplexobj(origin) else 1) for origin in self._origins]

    @property
    def point_shape(self) -> tuple[int, ...]:
        """One flat vector, which holds a point of each factor."""
        return (sum(self._sizes),)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """Planes across factors are flat, so 0 lies within the bounds."""
        bounds = [factor.curvature_bounds for factor in self.factors]
        if len(bounds) == 1:
            return bounds[0]
        return (min(0.0, *(b[0] for b in bounds)), max(0.0, *(b[1] for b in bounds)))

    @property
    def injectivity_radius(self) -> float:
        """The smallest of the factors'."""
        return min(factor.injectivity_radius for factor in self.factors)

    @property
    def origin(self) -> Array:
        """The origins of the factors."""
        return self.join(self._origins)

    @property
    def most_curved_axes(self) -> tuple[int, int]:
        """The axes of the factor with the most curved plane."""
        curvatures = [factor.curvature_bounds[1] if factor.dim > 1 else 0.0 for factor in self.factors]
        best = int(np.argmax(curvatures))
        start = sum(factor.dim for factor in self.factors[:best])
        first, second = self.factors[best].most_curved_axes
        return start + first, start + second

    # --- capabilities -------------------------------------------------------------------------------------

    def has(self, kind: type) -> bool:
        """What all its factors have, of the roles that can be put together: means are found factor by factor."""
        return super().has(kind) and all(factor.has(kind) for factor in self.factors)

    def capability(self, kind: type[C]) -> C:
        """The first factor without the capability is the one to be named."""
        for factor in self.factors:
            factor.capability(kind)
        return super().capability(kind)

    # --- parts --------------------------------------------------------------------------------------------

    def split(self, point: ArrayLike) -> list[Array]:
        """Take points apart into the points of the factors, or tangent vectors into theirs.

        Parameters
        ----------
        point : array of shape (..., *point_shape)
            Points or tangent vectors of the product.

        Returns
        -------
        list of array
            Of each factor, of shape (..., *point_shape) of that factor.

        Raises
        ------
        InputError
            If the shape or the type is not that of points.

        Examples
        --------
        >>> import riemdp as rd
        >>> [part.tolist() for part in rd.Product(rd.Sphere(2), rd.Euclidean(1)).split([0.0, 0.0, 1.0, 5.0])]
        [[0.0, 0.0, 1.0], [5.0]]
        """
        flat = np.split(self.read(point, "point"), np.cumsum(self._sizes)[:-1], axis=-1)
        return [_unflattened(part, origin) for part, origin in zip(flat, self._origins, strict=True)]

    def join(self, parts: Sequence[ArrayLike]) -> Array:
        """One flat vector from the points, or tangent vectors, of the factors.

        Parameters
        ----------
        parts : sequence of array
            Of each factor, of shape (..., *point_shape) of that factor; the leading axes broadcast.

        Returns
        -------
        array of shape (..., *point_shape)
            Points or tangent vectors of the product.

        Raises
        ------
        InputError
            If the parts do not fit the factors.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Product(rd.Sphere(2), rd.Euclidean(1)).join([[0.0, 0.0, 1.0], [5.0]]).tolist()
        [0.0, 0.0, 1.0, 5.0]
        """
        if not isinstance(parts, Sequence) or len(parts) != len(self.factors):
            raise InputError(f"parts does not fit {self!r}: pass a list with one array per factor.")
        flat = []
        for i, (part, factor, origin) in enumerate(zip(parts, self.factors, self._origins, strict=True)):
            flat.append(_flattened(factor.as_written(part, origin, f"parts[{i}]"), origin))
        check_batches(**{f"parts[{i}]": part.shape[:-1] for i, part in enumerate(flat)})
        lead = np.broadcast_shapes(*(part.shape[:-1] for part in flat))
        return np.concatenate([np.broadcast_to(part, (*lead, part.shape[-1])) for part in flat], axis=-1)

    def inner_parts(self, points: Array) -> list[Array]:
        """Each factor's points in its own inner form."""
        return [f.read(part, "point") for f, part in zip(self.factors, self.split(points), strict=True)]

    def split_coords(self, coords: Array) -> list[Array]:
        return np.split(coords, np.cumsum([factor.dim for factor in self.factors])[:-1], axis=-1)

    def _per_factor(self, name: str, *arguments: Sequence[Any]) -> list[Array]:
        return [getattr(factor, name)(*args) for factor, *args in zip(self.factors, *arguments, strict=True)]

    # --- primitives ---------------------------------------------------------------------------------------

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return self.assemble(self._per_factor("exp_coords", self.split_coords(coords), self.inner_parts(base)))

    def log_coords(self, points: Array, base: Array) -> Array:
        return np.concatenate(self._per_factor("log_coords", self.inner_parts(points), self.inner_parts(base)), axis=-1)

    def to_coords(self, vectors: Array, base: Array) -> Array:
        places = self.inner_parts(base)
        return np.concatenate(self._per_factor("to_coords", self._inner_vectors(vectors, places), places), axis=-1)

    def from_coords(self, coords: Array, base: Array) -> Array:
        places = self.inner_parts(base)
        vectors = self._per_factor("from_coords", self.split_coords(coords), places)
        return self.join(self._per_factor("write_vectors", vectors, places, self._origins))

    def _inner_vectors(self, vectors: Array, places: list[Array]) -> list[Array]:
        """Each factor's vectors in its own inner form, which may depend on where they are."""
        parts = zip(self.factors, self.split(vectors), places, strict=True)
        return [factor.read_vectors(part, place, "tangent_vec") for factor, part, place in parts]

    def assemble(self, inner: list[Array]) -> Array:
        parts = [factor.write(part, factor.origin) for factor, part in zip(self.factors, inner, strict=True)]
        return self.join(parts)

    def reached(self, coords: Array) -> Array:
        return norm(np.stack(self._per_factor("reached", self.split_coords(coords)), axis=-1))

    # --- the factors in their roles -------------------------------------------------------------------------

    @property
    def _volumes(self) -> list[VolumeDensity]:
        return [factor.capability(VolumeDensity) for factor in self.factors]

    @property
    def _exact(self) -> list[ExactPoints]:
        return [factor.capability(ExactPoints) for factor in self.factors]

    def log_density(self, coords: Array) -> Array:
        return np.asarray(sum(self._per_factor("log_density", self.split_coords(coords))))

    @property
    def longest_vector(self) -> float:
        return math.hypot(*(factor.longest_vector for factor in self._volumes))

    @property
    def growth_rate(self) -> float:
        return math.hypot(*(factor.growth_rate for factor in self._volumes))

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any] | None:
        return self._volumes[0].log_area(t, m) if len(self.factors) == 1 else super().log_area(t, m)

    def volume_growth(self, t: float) -> Growth:
        """Each factor's own, at its share of the length in a typical direction."""
        return product_growth(factor.volume_growth(t * math.sqrt(factor.dim / self.dim)) for factor in self._volumes)

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        parts = zip(self._exact, self._split_balls(coords), self.inner_parts(base), strict=True)
        return [entry for factor, c, p in parts for entry in factor.ideal_exp(c, p)]

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        parts = zip(self._exact, self._split_balls(coords), strict=True)
        return sum((factor.ideal_log_density(c) for factor, c in parts), start=arb(0))

    def _split_balls(self, coords: list[arb]) -> list[list[arb]]:
        rest = iter(coords)
        return [list(islice(rest, factor.dim)) for factor in self.factors]

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return (sum(math.prod(factor.ambient_shape) for factor in self._exact),)

    def from_ambient(self, ambient: Array) -> Array:
        shapes = [factor.ambient_shape for factor in self._exact]
        flat = np.split(ambient, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        parts = [part.reshape(shape) for part, shape in zip(flat, shapes, strict=True)]
        return self.assemble(self._per_factor("from_ambient", parts))

    def ambient_step(self, length: float, farthest: float) -> float:
        share = length / math.sqrt(len(self.factors))
        return min(factor.ambient_step(share, farthest) for factor in self._exact)

    def are_points(self, points: Array) -> Array:
        return np.asarray(np.logical_and.reduce(self._per_factor("are_points", self.inner_parts(points))))

    def are_records(self, points: Array) -> Array:
        return np.asarray(np.logical_and.reduce(self._per_factor("are_records", self.inner_parts(points))))

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        places = self.inner_parts(base)
        parts = self._per_factor("are_tangent", self._inner_vectors(vectors, places), places)
        return np.asarray(np.logical_and.reduce(parts))

    def to_points(self, raw: Array) -> Array:
        return self.assemble(self._per_factor("to_points", self.inner_parts(raw)))

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        """Factor by factor; one part that cannot be projected spoils the record."""
        parts = zip(self.factors, self.inner_parts(raw), self.inner_parts(base), strict=True)
        coords, usable = zip(*(factor.record_log(x, p) for factor, x, p in parts), strict=True)
        return np.concatenate(coords, axis=-1), np.logical_and.reduce(usable)

    def settle(self, points: Array) -> Array:
        return self.assemble(self._per_factor("settle", self.inner_parts(points)))

    def project(self, raw: Any) -> Array:
        """Factor by factor; also takes a sequence with the raw data of each factor."""
        if isinstance(raw, tuple | list) and len(raw) == len(self.factors) and not self._is_flat_batch(raw):
            return self.join([f.project(part) for f, part in zip(self.factors, raw, strict=True)])
        return super().project(raw)

    def _is_flat_batch(self, raw: Sequence[Any]) -> bool:
        """A list of flat vectors (or of numbers) rather than of the factors' data."""
        try:
            return np.shape(raw)[-1:] == self.point_shape
        except ValueError:
            return False

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        parts = self._per_factor("gradient_norms", self.inner_parts(points), self.inner_parts(candidates))
        return norm(np.stack(parts, axis=-1))

    def hessian_floor(self, points: Array, centre: Array, times: Array, farthest: float) -> Array:
        """The least of the factors': each moves at some speed w_j, sum w_j² = 1, hence no farther than s."""
        bounds = [factor.capability(GradientBounds) for factor in self.factors]
        parts = zip(bounds, self.inner_parts(points), self.inner_parts(centre), strict=True)
        return np.asarray(np.min([factor.hessian_floor(x, c, times, farthest) for factor, x, c in parts], axis=0))

    def _random_coords(self, size: int, rng: np.random.Generator) -> Array:
        shrink = 1 / math.sqrt(len(self.factors))
        return shrink * np.concatenate([f._random_coords(size, rng) for f in self.factors], axis=-1)

    # --- what it says of itself ---------------------------------------------------------------------------

    @property
    def words(self) -> str:
        return "tuples of " + "; ".join(factor.words for factor in self.factors)

    @classmethod
    def examples(cls) -> list[Space]:
        several = cls(SPDAffine(2), KendallShapes(4), Hyperbolic(2))
        return [cls(SPDLogEuclidean(2)), cls(Sphere(2), Euclidean(2)), several]

    def parameters(self) -> dict[str, Any]:
        return {"factors": [space_to_dict(factor) for factor in self.factors]}

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Space:
        if set(parameters) != {"factors"} or not isinstance(parameters["factors"], list):
            raise TypeError("pass a list of factors, and nothing else")
        return cls(*map(space_from_dict, parameters["factors"]))


def _flattened(points: Array, origin: Array) -> Array:
    """(..., number of real numbers that make a point like the origin)."""
    flat = points.reshape(*points.shape[: points.ndim - origin.ndim], origin.size)
    return np.ascontiguousarray(flat).view(np.float64) if np.iscomplexobj(origin) else flat


def _unflattened(flat: Array, origin: Array) -> Array:
    """The inverse of `_flattened`."""
    entries = np.ascontiguousarray(flat).view(np.complex128) if np.iscomplexobj(origin) else flat
    return entries.reshape(*flat.shape[:-1], *origin.shape)
