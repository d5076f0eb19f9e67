"""What only some mechanisms and statistics ask of a space, one role per class.

A space takes on a role by inheriting from it beside `Space`, and defines what is abstract in it. Who needs a role asks
for it, `space.capability(FrechetModel)`, and is refused with a MechanismError that names it where it is missing. Each
role says what it promises, which proof relies on that, and what it opens. Primitives trust their input and are batched
over leading axes, as those of `Space`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import MechanismError
from riemdp.manifolds.growth import MARGIN, Growth, comparison_growth
from riemdp.manifolds.scalars import norm, t_cot

if TYPE_CHECKING:
    from flint import arb

Array = NDArray[Any]
C = TypeVar("C")

if TYPE_CHECKING:

    class _Role(Protocol):
        """What the defaults below use of the space that takes on the role: for the type checker alone."""

        @property
        def dim(self) -> int: ...
        @property
        def point_shape(self) -> tuple[int, ...]: ...
        @property
        def curvature_bounds(self) -> tuple[float, float]: ...
        @property
        def injectivity_radius(self) -> float: ...
        @property
        def is_flat(self) -> bool: ...
        def distance(self, a: Array, b: Array) -> Array: ...
        def log_coords(self, points: Array, base: Array) -> Array: ...
        def capability(self, kind: type[C]) -> C: ...

else:
    _Role = ABC  # a role has no other base: a space is Space and some roles, two steps deep


@dataclass(frozen=True)
class Words:
    """How a refusal speaks of a role."""

    name: str
    instead: str


CAPABILITIES: dict[type, Words] = {}
EVERY_SPACE = "use statistic='tangent-mean' with a wrapped mechanism, which every space has"
NO_EXTRINSIC = "extrinsic noise is for spheres and matrices, use mechanism='auto'"
NO_POINTWISE = "pointwise noise is for shapes, use mechanism='auto'"


def called(name: str, instead: str = EVERY_SPACE) -> Callable[[type[C]], type[C]]:
    """Enter a role among the capabilities, with the words of its refusal."""

    def enter(role: type[C]) -> type[C]:
        CAPABILITIES[role] = Words(name, instead)
        return role

    return enter


def missing(space: object, role: type) -> MechanismError:
    """What a mechanism or a statistic says that needs a role which this space does not have."""
    words = CAPABILITIES[role]
    return MechanismError(f"{space!r} has no {words.name} (it is no {role.__name__}): {words.instead}.")


# --- means (docs/proofs/certificate.md) ------------------------------------------------------------------------


@dataclass(frozen=True)
class LocalModel:
    """The Fréchet function F(x) = 1/(2n) sum rho(x, x_i)² around a point x, in orthonormal coordinates."""

    descent: Array  # -grad F(x), the mean of log_x(x_i)
    step: Callable[[Array], Array]  # approximately H⁻¹ g, H the Hessian of F at x
    convexity: float  # lower bound on the Hessian within `valid_within` of x
    valid_within: float
    across: float  # mean of t cot t, t the records' distances to x times sqrt(k_max); 1 where k_max <= 0
    farthest: float  # largest distance of a record to x; 0 where it does not matter
    rounding: float  # bound on the float error of `descent`, and of the coordinates of x itself

    @cached_property
    def slope(self) -> float:
        """The length of the gradient, ‖grad F(x)‖."""
        square = float(np.vdot(self.descent, self.descent))
        # Slower, but no square under- or overflows.
        return math.sqrt(square) if 1e-250 < square < 1e250 else float(norm(self.descent))


@dataclass(frozen=True)
class FlatMean:
    """The Fréchet mean of a flat space, in closed form."""

    point: Array
    rounding: float  # bound on its distance to the exact mean


@called("Fréchet model")
class FrechetModel(_Role):
    """The Fréchet function of records in a curved space, with bounds on its Hessian and on every rounding.

    docs/proofs/certificate.md makes a certificate of `local_model`; docs/proofs/bounded.md proves from the limits that
    every data set has a mean. Opens `frechet_mean`, and private Fréchet means. Products are asked factor by factor.
    """

    @abstractmethod
    def mean_start(self, points: Array) -> Array:
        """A first guess of the mean."""

    @abstractmethod
    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:
        """The Fréchet function around x; without `hessian`, its `step` is a rough one where that saves work."""

    @abstractmethod
    def rounding_limit(self, radius: float, n: int) -> float:
        """Bound on `LocalModel.rounding` for any n records, and any x, in a ball of this radius at the origin.

        The ball is no larger than 0.9 of the largest in which means are unique. It also holds for models of n records
        each that were merged (`riemdp.manifolds.local_model.merged`).
        """

    @abstractmethod
    def step_limit(self, radius: float) -> float:
        """Bound on the distance from an exact to a computed exp_x(v), x in a ball of this radius at the origin.

        The vector v is short: what grows with its length is not counted.
        """


@called("closed form of means")
class ClosedFormMean(_Role):
    """The mean of a flat space in one pass, with a bound on its rounding (nothing is promised where it is not flat).

    docs/proofs/riemannian_laplace.md relies on `point_rounding`. Opens `frechet_mean` of a flat space, and `kng`.
    Products are asked factor by factor.
    """

    unit_length: ClassVar[float] = math.inf  # a length that is not small; infinite where one may measure in any unit

    @abstractmethod
    def closed_form_mean(self, points: Array) -> FlatMean:
        """The mean, if the space is flat. Of one point, `rounding` covers its coordinates and the way back."""

    def point_rounding(self, radius: float) -> float:  # noqa: ARG002
        """How far exp, and log again, may move a mean that was found in coordinates; 0 if it is found as a point."""
        return 0.0


# --- moments (docs/proofs/moments.md, section 5) ------------------------------------------------------------------


@called("curvature tensor", "use statistic='tangent-mean', which needs none")
class Curvature(_Role):
    """The curvature operators R_v: w -> R(w, v) v, averaged over vectors: linear in their second moment.

    No guarantee depends on it: it turns released moments into a Fréchet mean (docs/proofs/moments.md, section 5).
    Products are asked factor by factor; flat spaces need none.
    """

    @abstractmethod
    def mean_curvature(self, second_moment: Array) -> Array:
        """E[R_v] (dim, dim) in orthonormal coordinates at any point, from E[v vᵀ] (dim, dim): symmetric."""


# --- Riemannian laws -------------------------------------------------------------------------------------------


@called("volume density")
class VolumeDensity(_Role):
    """The volume density J of exp, and upper bounds on it: sharper ones than the defaults make draws faster.

    docs/proofs/riemannian_laws.md draws exactly from these bounds. Opens `RiemannianLaplace` and `RiemannianGaussian`
    as distributions, `log_volume_density`, and with `ExactPoints` releases of the Riemannian Laplace law.
    """

    @abstractmethod
    def log_density(self, coords: Array) -> Array:
        """log J(v): the volume density of exp, the same at every point of a homogeneous space.

        However long v is, it does not overflow; -inf where exp is not one to one.
        """

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


@called("exact points")
class ExactPoints(_Role):
    """exp and the volume density once more in ball arithmetic, and how its points are rounded to floats.

    docs/proofs/rounded_point.md: a point known to any number of digits is published after one rounding. Opens
    `riemannian-laplace` releases in curved spaces.
    """

    @abstractmethod
    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """Entries of exp, in some orthonormal basis, at the exact point that the array `base` stands for.

        They are those of an array of shape `ambient_shape`, row by row, and enclose the same real numbers
        whatever the precision.
        """

    @abstractmethod
    def ideal_log_density(self, coords: list[arb]) -> arb:
        """log J(v), with -inf where exp is not one to one and NaN while the balls do not tell which."""

    @abstractmethod
    def from_ambient(self, ambient: Array) -> Array:
        """A point close to these entries, whatever the finite floats are."""

    @abstractmethod
    def ambient_step(self, length: float, farthest: float) -> float:
        """A Euclidean change of the ambient entries, at most this, moves a point by at most `length`.

        The point is no farther than `farthest` from the origin; 0 if float64 cannot hold all such points.
        """

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        """Shape of the entries that a release rounds."""
        return self.point_shape


@called("gradient bounds")
class GradientBounds(_Role):
    """The gradient of the Fréchet function at many candidates, and lower bounds on its Hessian along geodesics.

    docs/proofs/kng.md draws exactly from these bounds. Opens `kng`, with `VolumeDensity` and a mean. The defaults hold
    in every space; sharper ones make draws faster.
    """

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        """‖grad F(x)‖ at every candidate x, F(x) = 1/(2n) sum rho(x, x_i)²; n numbers per candidate are held."""
        if self.is_flat:
            return self.distance(self.capability(ClosedFormMean).closed_form_mean(points).point, candidates)
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


@called("balls of spectra", "use Ball(space, center, radius) with a public centre and radius")
class SpectralBalls(_Role):
    """Points are positive definite matrices, and a ball holds all whose eigenvalues are between two bounds.

    docs/proofs/bounded.md takes any public ball; the page of the space proves the radius. Opens
    `Ball.from_eigenvalue_bounds`.
    """

    @property
    def greatest_eigenvalue(self) -> float:
        """No matrix of the space has a larger one."""
        return math.inf

    @abstractmethod
    def spectral_center(self, low: float, high: float) -> Array:
        """The centre of a ball that holds them all."""

    @abstractmethod
    def spectral_radius(self, low: float, high: float) -> float:
        """The radius of that ball, not rounded down."""


# --- baselines (docs/proofs/baselines.md) ----------------------------------------------------------------------


@called("embedding", NO_EXTRINSIC)
class Embedding(_Role):
    """Points as vectors of a Euclidean space that forgets the geometry, and the way back.

    Opens the extrinsic baselines, together with `Chords` or `Spectra`, from which docs/proofs/baselines.md bounds how
    far one record moves the embedded mean. The way back is post-processing.
    """

    @abstractmethod
    def embed(self, points: Array) -> Array:
        """The points as vectors (..., m)."""

    @abstractmethod
    def nearest(self, vectors: Array, center: Array, radius: float) -> Array:
        """Points next to any vectors; a public ball may tell which make sense. NaN where there is none."""


@called("bounded embedding", NO_EXTRINSIC)
class Chords(_Role):
    """An `Embedding` in which a ball's points are no farther apart than a chord, wherever the ball is.

    docs/proofs/baselines.md: then the arithmetic mean of the embedded records is released.
    """

    @property
    @abstractmethod
    def embedded_size(self) -> float:
        """No point is a longer vector."""

    @abstractmethod
    def longest_chord(self, radius: arb) -> arb:
        """The largest Euclidean distance of two points of a ball of this radius."""


@called("spectra", NO_EXTRINSIC)
class Spectra(_Role):
    """Points are positive definite matrices; a distance is no less than that of the spectra's logarithms.

    docs/proofs/baselines.md: then the embedded Fréchet mean is released.
    """

    @abstractmethod
    def log_spectrum(self, point: Array) -> Array:
        """Logarithms of the eigenvalues of one point, in increasing order, as the metric's maps see them."""


@called("landmarks", NO_POINTWISE)
class Landmarks(_Role):
    """Points are configurations of unit size, that exp at a base aligns with it.

    docs/proofs/baselines.md: each coordinate of an aligned record has a public range. Opens `pointwise-laplace`.
    """

    @abstractmethod
    def to_landmarks(self, points: Array) -> Array:
        """All coordinates of all landmarks, as a vector (..., m)."""

    @abstractmethod
    def from_landmarks(self, vectors: Array) -> Array:
        """The points of any configurations; NaN for what has no shape."""
