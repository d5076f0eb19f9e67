"""The probability simplex with the Fisher-Rao metric: a part of a sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from riemdp.arguments import check_batches, whole_number
from riemdp.manifolds.base import MEMBERSHIP_TOL, Array, Space
from riemdp.manifolds.capabilities import Curvature, ExactPoints, FrechetModel, GradientBounds, VolumeDensity
from riemdp.manifolds.remodelled import Remodelled
from riemdp.manifolds.sphere import Sphere


@dataclass(frozen=True)
class Simplex(Remodelled, Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds):
    """Shares of k categories, such as compositions and histograms, with the Fisher-Rao metric.

    Points are p, of shape (k,), with p_i >= 0 and sum 1; rho(p, q) = 2 arccos(sum sqrt(p_i q_i)). By x = 2 sqrt(p)
    they are the part of a sphere of radius 2 where no coordinate is negative. `project` takes counts. Everything is
    done on the sphere, and p = x²/4 of what comes out: noise that crosses the edge of the simplex is reflected back,
    which never takes it farther from any point of it. Means stay inside by themselves.

    Parameters
    ----------
    k : int
        The number of categories, at least 2.

    Raises
    ------
    InputError
        If k is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    Sphere : Its model.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.Simplex(3).project([6, 3, 1]).round(12).tolist()
    [0.6, 0.3, 0.1]
    """

    k: int
    remedy: ClassVar[str] = "leave out records with negative or infinite counts, or none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k", 2))

    @property
    def model(self) -> Sphere:
        """The sphere of radius 2."""
        return Sphere(self.k - 1, curvature=0.25)

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(k,): a point is its shares."""
        return (self.k,)

    @property
    def origin(self) -> Array:
        """All shares the same."""
        return np.full(self.k, 1 / self.k)

    @property
    def extent(self) -> float:
        """The corners are 2 arccos(1/sqrt k) from the origin; not rounded down."""
        return 2 * math.acos(1 / math.sqrt(self.k)) * (1 + 2.0**-45)

    # --- shares and points of the sphere --------------------------------------------------------------------

    def read(self, value: Any, name: str) -> Array:
        return _roots(super().read(value, name))

    def write(self, values: Array, like: Any) -> Array:  # noqa: ARG002
        shares = values * values
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))

    def read_vectors(self, value: Any, base: Array, name: str) -> Array:
        """dx = dp/sqrt(p) = 2 dp/x; where a share is 0 there is no way but along the edge."""
        vectors = super(Remodelled, self).read(value, name)
        check_batches(**{name: vectors.shape[:-1]}, base_point=base.shape[:-1])
        with np.errstate(all="ignore"):
            return np.where(vectors == 0, 0.0, 2 * vectors / base)

    def write_vectors(self, vectors: Array, base: Array, like: Any) -> Array:  # noqa: ARG002
        """Vectors of the simplex from those of the sphere: dp = x dx/2."""
        return np.asarray(vectors * base / 2)

    def are_points(self, points: Array) -> Array:
        """Roots that were taken of shares which add up to 1."""
        return np.asarray(np.abs((points * points).sum(axis=-1) / 4 - 1) <= MEMBERSHIP_TOL)

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "simplex"

    @property
    def words(self) -> str:
        return f"shares of {self.k} categories (Fisher-Rao metric)"

    @property
    def picture(self) -> str:
        return "shares"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(2), cls(3), cls(5)]


def _roots(shares: Array) -> Array:
    """2 sqrt(p); NaN for what is negative, but for the roundings of a share that is 0."""
    with np.errstate(all="ignore"):
        top = np.abs(shares).max(axis=-1, keepdims=True)
        lost = (shares < 0) & (shares >= -MEMBERSHIP_TOL * top) & (top < np.inf)
        return np.asarray(2 * np.sqrt(np.where(lost, 0.0, shares)))
