"""The flat torus: several angles at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import ROWS, Array, Space
from riemdp.manifolds.capabilities import (
    Curvature,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    VolumeDensity,
)
from riemdp.manifolds.growth import MARGIN
from riemdp.manifolds.local_model import add_blocks, rounding
from riemdp.manifolds.scalars import over_last_axis
from riemdp.manifolds.vectors import Vectors

if TYPE_CHECKING:
    from flint import arb

TURN = 2 * math.pi
# Units of roundoff by which one coordinate of a log may be wrong (docs/proofs/spaces/torus.md).
LOG_ERROR = 16
STARTERS = 256  # records, about, of which a first guess of the mean is made


def are_wrapped(angles: Array) -> bool:
    """Whether all of them are between -pi and pi: not so if one is no number."""
    return bool(np.abs(angles).max(initial=0.0) <= math.pi)


def wrapped(angles: Array) -> Array:
    """The same angles between -pi and pi; however large, since `fmod` does not round."""
    if are_wrapped(angles):
        return np.asarray(angles + 0.0)  # to the bit what would come of them below
    rest = np.fmod(angles, TURN)
    return np.asarray(rest - TURN * np.rint(rest / TURN))


@dataclass(frozen=True)
class Torus(Vectors, Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds):
    """Several angles at once, such as dihedral angles or phases: the flat torus R^d/(2 pi Z)^d.

    Points are angles in radians, of shape (d,), any of those that differ by whole turns; what comes out is between
    -pi and pi. rho² is the sum of the squares of the d shortest arcs. Locally it is R^d; means are unique in balls of
    radius below pi/2, and no curvature makes them more sensitive there.

    Parameters
    ----------
    d : int
        The number of angles, at least 1.

    Raises
    ------
    InputError
        If d is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    Sphere : `Sphere(1)` is one angle, as a point of the plane.

    Examples
    --------
    >>> import riemdp as rd
    >>> round(float(rd.Torus(2).dist([3.0, 0.0], [-3.0, 0.0])), 6)  # across pi
    0.283185
    """

    d: int
    remedy: ClassVar[str] = "leave out records with NaN or infinite angles"

    @property
    def injectivity_radius(self) -> float:
        """Pi, half of the way round."""
        return math.pi

    @property
    def radian(self) -> float:
        """Distances are those of angles."""
        return 1.0

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return wrapped(base + coords)

    def log_coords(self, points: Array, base: Array) -> Array:
        return wrapped(points - base)

    def mean_curvature(self, second_moment: Array) -> Array:
        return np.zeros_like(second_moment)

    def are_points(self, points: Array) -> Array:
        return np.ones(points.shape[:-1], dtype=bool)

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        return np.ones(np.broadcast_shapes(vectors.shape, base.shape)[:-1], dtype=bool)

    def to_points(self, raw: Array) -> Array:
        """Whole turns are taken off."""
        return wrapped(raw)

    def settle(self, points: Array) -> Array:
        return points if are_wrapped(points) else wrapped(points)

    # --- volumes and exact points ---------------------------------------------------------------------------

    def log_density(self, coords: Array) -> Array:
        return np.where((np.abs(coords) < math.pi).all(axis=-1), 0.0, -np.inf)

    @property
    def longest_vector(self) -> float:
        """To the corners of the cube of all angles up to pi."""
        return MARGIN * math.sqrt(self.d) * math.pi

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """Cosines and sines of the sums, which do not jump."""
        angles = [c + x for c, x in zip(coords, base.tolist(), strict=True)]
        return [part for angle in angles for part in (angle.cos(), angle.sin())]

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        pi = arb.pi()
        if all(abs(c) < pi for c in coords):
            return arb(0)
        return arb.neg_inf() if any(abs(c) >= pi for c in coords) else arb.nan()

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return (self.d, 2)

    def from_ambient(self, ambient: Array) -> Array:
        return np.asarray(np.arctan2(ambient[:, 1], ambient[:, 0]))

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        """A change of x turns a unit vector of the plane by at most arcsin x, below 1.05 x for x <= 1/2."""
        return min(length, 1.0) / 2

    # --- means --------------------------------------------------------------------------------------------------

    def mean_start(self, points: Array) -> Array:
        """The directions of the mean cosines and sines of some, and one step: from anywhere near, it finds the mean."""
        some = points[:: max(1, len(points) // STARTERS)]
        near = np.arctan2(np.sin(some).sum(axis=0), np.cos(some).sum(axis=0))
        sums = map_ranges(lambda i, j: self.log_coords(points[i:j], near).sum(axis=0), len(points), ROWS)
        return self.exp_coords(sum(sums) / len(points), near)

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:  # noqa: ARG002
        """A paraboloid up to where the nearest record is half of the way round."""

        def block(i: int, j: int) -> tuple[Array, Array, tuple[float, float]]:
            logs = self.log_coords(points[i:j], x)
            sizes = np.abs(logs)
            lengths = np.sqrt(over_last_axis(np.add, sizes * sizes))
            return logs.sum(axis=0), np.array([lengths.sum()]), (float(sizes.max()), float(lengths.max()))

        descent, (length,), ends = add_blocks(block, len(points))
        widest, farthest = (max(column) for column in zip(*ends, strict=True))
        room = math.pi - widest - self._log_error
        return LocalModel(
            descent=descent,
            step=np.asarray,
            convexity=1.0 if room > 0 else -math.inf,
            valid_within=max(room, 0.0),
            across=1.0,
            farthest=farthest + self._log_error,
            rounding=rounding(self._log_error / UNIT_ROUNDOFF, float(length), len(points)),
        )

    @property
    def _log_error(self) -> float:
        return LOG_ERROR * math.sqrt(self.d) * UNIT_ROUNDOFF

    def rounding_limit(self, radius: float, n: int) -> float:
        return rounding(self._log_error / UNIT_ROUNDOFF, 2 * radius, n)

    def step_limit(self, radius: float) -> float:  # noqa: ARG002
        return self._log_error

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "torus"

    @property
    def words(self) -> str:
        return f"{self.d} angles at once, in radians"

    @property
    def picture(self) -> str:
        return "entries"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(3)]
