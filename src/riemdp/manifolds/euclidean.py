"""Euclidean space R^d, with its usual distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import ROWS, Array, Space
from riemdp.manifolds.capabilities import ClosedFormMean, ExactPoints, FlatMean, GradientBounds, VolumeDensity
from riemdp.manifolds.description import Remark
from riemdp.manifolds.remarks import UNITS_OF_VECTORS
from riemdp.manifolds.scalars import norm
from riemdp.manifolds.vectors import Vectors

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class Euclidean(Vectors, Space, ClosedFormMean, VolumeDensity, ExactPoints, GradientBounds):
    """Vectors of d numbers with the usual inner product.

    Points have shape (d,); the unit of length is that of the numbers. `project` refuses NaN and infinities only.

    Parameters
    ----------
    d : int
        The number of coordinates, at least 1.

    Raises
    ------
    InputError
        If d is not such a number.

    See Also
    --------
    Space : What all spaces can do.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> float(rd.Euclidean(2).dist([0.0, 0.0], [3.0, 4.0]))
    5.0
    """

    d: int
    remedy: ClassVar[str] = "leave out records with NaN or infinite entries"

    @property
    def injectivity_radius(self) -> float:
        """Infinite: straight lines never meet again."""
        return math.inf

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return base + coords

    def log_coords(self, points: Array, base: Array) -> Array:
        return points - base

    def log_density(self, coords: Array) -> Array:
        return np.zeros(coords.shape[:-1])

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        return [c + x for c, x in zip(coords, base.tolist(), strict=True)]

    def ideal_log_density(self, coords: list[arb]) -> arb:  # noqa: ARG002
        from flint import arb

        return arb(0)

    def from_ambient(self, ambient: Array) -> Array:
        return ambient

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        return length

    def are_points(self, points: Array) -> Array:
        return np.ones(points.shape[:-1], dtype=bool)

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        return np.ones(np.broadcast_shapes(vectors.shape, base.shape)[:-1], dtype=bool)

    def to_points(self, raw: Array) -> Array:
        return raw

    def settle(self, points: Array) -> Array:
        return points if np.isfinite(points).all() else points.copy()

    def closed_form_mean(self, points: Array) -> FlatMean:
        """Rows are added pairwise within a block, blocks exactly: a chain of fewer than 64 roundings."""
        sums = np.array(map_ranges(lambda i, j: column_sums(points[i:j]), len(points), ROWS))
        if not np.isfinite(sums).all():
            raise InputError("X holds numbers too large to add up in float64: scale them down.")
        total = np.array([math.fsum(column) for column in sums[:, : self.d].T])
        magnitude = norm(sums[:, self.d :].sum(axis=0)) / len(points)
        return FlatMean(total / len(points), float(64 * UNIT_ROUNDOFF * magnitude))

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "euclidean"
    remarks: ClassVar[tuple[Remark, ...]] = (UNITS_OF_VECTORS,)

    @property
    def words(self) -> str:
        return f"vectors of dimension {self.d}"

    @property
    def picture(self) -> str:
        return "plane" if self.d == 2 else "entries"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(3)]


def column_sums(block: Array) -> Array:
    """Sums of the columns and of their absolute values; NumPy adds pairwise along contiguous memory only."""
    columns = np.ascontiguousarray(block.T, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([columns.sum(axis=1), np.abs(columns).sum(axis=1)])
