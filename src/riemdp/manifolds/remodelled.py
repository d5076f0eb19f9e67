"""A space that is another one, written in other words: all is done there, and only what goes in and out differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.capabilities import LocalModel
from riemdp.manifolds.growth import Growth

if TYPE_CHECKING:
    from flint import arb

    _PartOfASpace = Space
else:
    _PartOfASpace = ABC  # a space is Remodelled and Space: two steps deep, not three


class Remodelled(_PartOfASpace):
    """For a space to inherit before Space: facts, maps and roles are those of `model`, the space that it is.

    Such a space defines `read`, `write` and their counterparts for vectors, which turn its points into those of the
    model and back; whatever is asked of the roles that it takes on is asked of the model.
    """

    @property
    @abstractmethod
    def model(self) -> Any:
        """The space that it is."""

    @property
    def dim(self) -> int:
        """The dimension of the model."""
        return int(self.model.dim)

    @property
    def inner_shape(self) -> tuple[int, ...]:
        return tuple(self.model.inner_shape)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """The curvature bounds of the model."""
        low, high = self.model.curvature_bounds
        return low, high

    @property
    def injectivity_radius(self) -> float:
        """The injectivity radius of the model."""
        return float(self.model.injectivity_radius)

    @property
    def radian(self) -> float | None:
        radian: float | None = self.model.radian
        return radian

    @property
    def most_curved_axes(self) -> tuple[int, int]:
        first, second = self.model.most_curved_axes
        return first, second

    def as_written(self, value: Any, like: Any, name: str) -> Array:  # noqa: ARG002
        """As it is: there is one form, but points and vectors are read differently."""
        return super().read(value, name)

    # --- the maps -------------------------------------------------------------------------------------------

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return np.asarray(self.model.exp_coords(coords, base))

    def log_coords(self, points: Array, base: Array) -> Array:
        return np.asarray(self.model.log_coords(points, base))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return np.asarray(self.model.to_coords(vectors, base))

    def from_coords(self, coords: Array, base: Array) -> Array:
        return np.asarray(self.model.from_coords(coords, base))

    def are_points(self, points: Array) -> Array:
        return np.asarray(self.model.are_points(points))

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        return np.asarray(self.model.are_tangent(vectors, base))

    def to_points(self, raw: Array) -> Array:
        return np.asarray(self.model.to_points(raw))

    def settle(self, points: Array) -> Array:
        return np.asarray(self.model.settle(points))

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        logs, usable = self.model.record_log(raw, base)
        return logs, usable

    def reached(self, coords: Array) -> Array:
        return np.asarray(self.model.reached(coords))

    # --- its parts, if the model has some -----------------------------------------------------------------------

    @property
    def factors(self) -> tuple[Space, ...]:  # type: ignore[override]
        return tuple(self.model.factors)

    def has(self, kind: type) -> bool:
        return super().has(kind) and bool(self.model.has(kind))

    def inner_parts(self, points: Array) -> list[Array]:
        return list(self.model.inner_parts(points))

    def split_coords(self, coords: Array) -> list[Array]:
        return list(self.model.split_coords(coords))

    def assemble(self, inner: list[Array]) -> Array:
        return np.asarray(self.model.assemble(inner))

    # --- roles ----------------------------------------------------------------------------------------------------

    def log_density(self, coords: Array) -> Array:
        return np.asarray(self.model.log_density(coords))

    @property
    def longest_vector(self) -> float:
        return float(self.model.longest_vector)

    @property
    def growth_rate(self) -> float:
        return float(self.model.growth_rate)

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any] | None:
        found: tuple[Any, Any] | None = self.model.log_area(t, m)
        return found

    def volume_growth(self, t: float) -> Growth:
        return Growth(*self.model.volume_growth(t))

    def mean_curvature(self, second_moment: Array) -> Array:
        return np.asarray(self.model.mean_curvature(second_moment))

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        return list(self.model.ideal_exp(coords, base))

    def ideal_log_density(self, coords: list[arb]) -> arb:
        found: arb = self.model.ideal_log_density(coords)
        return found

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return tuple(self.model.ambient_shape)

    def from_ambient(self, ambient: Array) -> Array:
        return np.asarray(self.model.from_ambient(ambient))

    def ambient_step(self, length: float, farthest: float) -> float:
        return float(self.model.ambient_step(length, farthest))

    def mean_start(self, points: Array) -> Array:
        return np.asarray(self.model.mean_start(points))

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:
        found: LocalModel = self.model.local_model(points, x, hessian=hessian)
        return found

    def rounding_limit(self, radius: float, n: int) -> float:
        return float(self.model.rounding_limit(radius, n))

    def step_limit(self, radius: float) -> float:
        return float(self.model.step_limit(radius))

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        return np.asarray(self.model.gradient_norms(points, candidates))

    def hessian_floor(self, points: Array, centre: Array, times: Array, farthest: float) -> Array:
        return np.asarray(self.model.hessian_floor(points, centre, times, farthest))

    def _random_coords(self, size: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.model._random_coords(size, rng))

    def split(self, point: ArrayLike) -> list[Array]:
        inner = self.read(point, "point")
        return list(self.model.split(inner)) if self.factors else [self.write(inner, point)]
