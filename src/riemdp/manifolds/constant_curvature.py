"""What spheres and hyperbolic spaces have in common: a dimension, one curvature, and points one number longer."""

from __future__ import annotations

from dataclasses import dataclass

from riemdp.arguments import finite_number, whole_number
from riemdp.caching import cached_property


@dataclass(frozen=True)
class ConstantCurvature:
    """The facts that d and the curvature alone decide, for a space to inherit before Space."""

    d: int
    curvature: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", whole_number(self.d, "d", 1))
        object.__setattr__(self, "curvature", finite_number(self.curvature, "curvature"))

    @cached_property  # loops ask for it many times
    def radius(self) -> float:
        """The radius of curvature, R = 1/sqrt(|curvature|)."""
        return float(abs(self.curvature) ** -0.5)

    @property
    def dim(self) -> int:
        """d: one less than the numbers of a point."""
        return self.d

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(d + 1,): a vector of the surrounding space."""
        return (self.d + 1,)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """The curvature, constant (of one dimension there is none, and lines and circles are treated as their kind)."""
        return (self.curvature, self.curvature)
