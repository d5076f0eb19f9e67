"""The sphere of any dimension and curvature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.balls import ball_norm, complement
from riemdp.manifolds.base import MEMBERSHIP_TOL, TANGENT_FLOOR, TANGENT_TOL, Array, Space
from riemdp.manifolds.capabilities import (
    Chords,
    Curvature,
    Embedding,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    VolumeDensity,
)
from riemdp.manifolds.constant_curvature import ConstantCurvature
from riemdp.manifolds.description import COORDINATES, ArrayForm
from riemdp.manifolds.local_model import (
    FARTHEST_LIMIT,
    Angles,
    across_error,
    add_blocks,
    are_many,
    certain,
    conjugate_gradients,
    rounding,
    stretch_at,
)
from riemdp.manifolds.scalars import (
    SHORT,
    constant_curvature,
    norm,
    norm_of,
    over_last_axis,
    sinc,
    sinc_of,
    unit,
    unit_of,
)

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class Sphere(
    ConstantCurvature, Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds, Embedding, Chords
):
    """Directions: the sphere S^d, of curvature 1 or another positive one.

    Points are vectors of length R = 1/sqrt(c) in R^{d+1}, c the curvature; for c = 1 distances are angles in radians.
    `project` normalises.
    exp_p(v) = cos(t/R) p + R sin(t/R) v/t with t = ‖v‖. Coordinates at p come from the Householder
    reflection that takes p to ∓ the north pole (0, ..., 0, R).

    Parameters
    ----------
    d : int
        The dimension, at least 1; points have d + 1 numbers.
    curvature : float
        Above 0.

    Raises
    ------
    InputError
        If d or the curvature is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    Hyperbolic : The same with negative curvature.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> round(float(rd.Sphere(2).dist([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])), 4)
    1.5708
    """

    curvature: float = 1.0
    remedy: ClassVar[str] = "leave out records that are zero, NaN or infinite"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curvature <= 0:
            raise InputError(f"curvature = {self.curvature!r}: pass a positive one, or use Hyperbolic.")

    @property
    def injectivity_radius(self) -> float:
        """Pi R, half of a great circle."""
        return float(np.pi * self.radius)

    @property
    def radian(self) -> float:
        """R, the distance of its points from the centre of the surrounding space."""
        return self.radius

    @property
    def origin(self) -> Array:
        """The north pole (0, ..., 0, R)."""
        return np.asarray(self.radius * np.eye(self.d + 1)[-1])

    def exp_coords(self, coords: Array, base: Array) -> Array:
        if coords.ndim == base.ndim == 1 and len(base) <= SHORT:
            return self._one_exp(coords.tolist(), base.tolist())
        p = unit(base)
        angle = norm(coords)[..., None] / self.radius
        ahead = _from_pole(coords / self.radius, p)
        return self.radius * unit(np.cos(angle) * p + sinc(angle) * ahead)

    def _one_exp(self, coords: list[float], base: list[float]) -> Array:
        """Exp of one vector: the same bits as among others, several times faster."""
        p = unit_of(base)
        angle = norm_of(coords) / self.radius
        cosine, stretch = float(np.cos(angle)), sinc_of(angle)
        ahead = _one_from_pole([c / self.radius for c in coords], p)
        return self.radius * np.array(unit_of([cosine * x + stretch * v for x, v in zip(p, ahead, strict=True)]))

    def log_coords(self, points: Array, base: Array) -> Array:
        p, q = unit(base), unit(points)
        angle = _angle(p, q)
        coords = _to_pole(q - p, p)
        # Every direction leads to the antipode: take the first.
        lost = (angle > 1) & (norm(coords) == 0)
        coords = np.where(lost[..., None], np.eye(1, self.d)[0], coords)
        length = norm(coords)
        factor = np.where(length > 0, angle / np.where(length > 0, length, 1.0), 1.0)
        return np.asarray(self.radius * coords * factor[..., None])

    def distance(self, a: Array, b: Array) -> Array:
        return self.radius * _angle(unit(a), unit(b))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return _to_pole(vectors, unit(base))

    def from_coords(self, coords: Array, base: Array) -> Array:
        return _from_pole(coords, unit(base))

    def mean_curvature(self, second_moment: Array) -> Array:
        return constant_curvature(self.curvature, second_moment)

    def log_density(self, coords: Array) -> Array:
        angle = norm(coords) / self.radius
        inside = angle < np.pi
        return np.where(inside, (self.d - 1) * np.log(sinc(np.where(inside, angle, 1.0))), -np.inf)

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any]:
        """(d - 1) log sin(t/R)."""
        sine, cosine = m.sin(t / self.radius), m.cos(t / self.radius)
        if self.d == 1:  # 0, and -inf past pi R
            return m.log(sine / abs(sine)), 0 * t
        return (self.d - 1) * m.log(sine), (self.d - 1) * cosine / sine / self.radius

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """The base is normalised exactly; R is the float `radius`."""
        from flint import arb

        raw, pivot = [arb(x) for x in base.tolist()], int(np.abs(base).argmax())
        size, angle = ball_norm(raw), ball_norm(coords) / self.radius
        p = [x / size for x in raw]
        cosine, stretch = self.radius * angle.cos(), angle.sinc()
        return [cosine * x + stretch * v for x, v in zip(p, complement(coords, p, pivot), strict=True)]

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        angle, pi = ball_norm(coords) / self.radius, arb.pi()
        if angle < pi:
            return (self.d - 1) * angle.sinc().log()
        return arb.neg_inf() if angle >= pi else arb.nan()

    def from_ambient(self, ambient: Array) -> Array:
        return self.to_points(ambient) if ambient.any() else self.origin

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        """A change of x R turns a vector of length R by at most arcsin x, below 1.05 x for x <= 1/2."""
        return min(length, self.radius) / 2

    def embed(self, points: Array) -> Array:
        return points

    def nearest(self, vectors: Array, center: Array, radius: float) -> Array:  # noqa: ARG002
        """The nearest point of the sphere: vectors scaled to length R."""
        return self.to_points(vectors)

    @property
    def embedded_size(self) -> float:
        return self.radius

    def longest_chord(self, radius: arb) -> arb:
        """The longest chord between points of a ball of radius r: 2R sin(r/R)."""
        return 2 * self.radius * (radius / self.radius).sin()

    def are_points(self, points: Array) -> Array:
        return np.asarray(np.abs(np.sqrt(self._squares(points)) - 1) <= MEMBERSHIP_TOL)

    def settle(self, points: Array) -> Array:
        return points if self._are_rounded(points) else self.to_points(points)

    def _are_rounded(self, points: Array) -> bool:
        """Whether all lengths are R up to the last digits."""
        low, high = 1 - 8 * UNIT_ROUNDOFF, 1 + 8 * UNIT_ROUNDOFF
        if points.ndim == 2 and are_many(len(points)):
            from riemdp.kernels.angles import all_squares_within

            return all_squares_within(np.ascontiguousarray(points), low / self.curvature, high / self.curvature)
        squares = self._squares(points)
        return bool(low <= squares.min() and squares.max() <= high)

    def _squares(self, points: Array) -> Array:
        """Squares of lengths, in units of R: a product, since sums over a short axis are slow."""
        return np.asarray((points * points) @ np.full(self.d + 1, self.curvature))

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        radial = np.abs((vectors * base).sum(axis=-1)) / self.radius
        return np.asarray(radial <= TANGENT_TOL * norm(vectors) + TANGENT_FLOOR)

    def to_points(self, raw: Array) -> Array:
        """Vectors scaled to length R; NaN for 0."""
        return self.radius * unit(raw)

    def mean_start(self, points: Array) -> Array:
        total = np.ones(len(points)) @ points
        return self.to_points(total) if norm(total) > 0 else np.asarray(points[0])

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:  # noqa: ARG002
        """The log of q is stretch·(q - cosine·x); the Hessian of rho²/2 is 1 along it and `across` elsewhere.

        What is added up is stretch·(q - x), which is as short as the log: the rest is dropped with x's own direction.
        """
        p, n = unit(x), len(points)
        base, towards = self.radius * p, p / self.radius

        def block(i: int, j: int) -> tuple[Array, Array, Angles]:
            angles = Angles.of(points[i:j] @ towards)
            facts = np.array([angles.cosine @ angles.stretch, angles.stretch.sum()])
            return _pull(points[i:j], base, angles.stretch), facts, angles

        total, (across, stretch), angles = add_blocks(block, n)
        farthest = max(part.largest(self._cosine_error) for part in angles)
        across -= across_error(self._cosine_error, stretch_at(farthest), n)
        lower, valid_within = certain(float(across), self.radius * farthest, self.curvature)

        def step(g: Array) -> Array:
            spread = _spread(points, np.concatenate([part.bend for part in angles]))

            def apply(v: Array) -> Array:
                pull = spread(v) * (self.curvature / n)
                return np.asarray(across * v + pull - (p @ pull) * p)

            return _to_pole(conjugate_gradients(apply, _from_pole(g, p)), p)

        return LocalModel(
            descent=_to_pole(total, p),
            step=step,
            convexity=lower,
            valid_within=valid_within,
            across=float(across),
            farthest=self.radius * farthest,
            rounding=self._rounding(float(stretch), farthest, n),
        )

    @property
    def _cosine_error(self) -> float:
        """How wrong the computed cosine of the angle of two points may be."""
        return (2 * self.d + 24) * UNIT_ROUNDOFF

    def _rounding(self, stretch: float, farthest: float, n: int) -> float:
        """Rounding of a mean of n logs, no longer than R times this angle, of this mean stretch: certificate.md, 5."""
        error = 8 + (6 * self.d + 64) * stretch_at(farthest) * farthest
        return self.radius * stretch * rounding(error, 2 * math.sin(farthest / 2), n)

    def rounding_limit(self, radius: float, n: int) -> float:
        farthest = min(2 * radius / self.radius + 2 * math.sqrt(self._cosine_error), FARTHEST_LIMIT)
        return self._rounding(stretch_at(farthest), farthest, n)

    def step_limit(self, radius: float) -> float:  # noqa: ARG002
        return 16 * UNIT_ROUNDOFF * self.radius

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        p, q = candidates / self.radius, points / self.radius
        pull = Angles.of(p @ q.T).stretch @ q
        along = (pull * p).sum(axis=-1, keepdims=True)
        return self.radius * norm(pull - along * p) / len(points)

    def hessian_floor(self, points: Array, centre: Array, times: Array, farthest: float) -> Array:
        """1 minus the largest eigenvalue of the mean of b(rho_i + s) (|w|² - w wᵀ), w = sin(rho_i) u_i.

        u_i points to x_i. A record's Hessian falls short of 1 by b(rho) sin²(its distance to the great circle), which
        is constant along the circle; b(y) = (1 - y cot y)/sin² y increases (docs/proofs/kng.md, section 3). Far
        away, the bound from the curvature alone may be better.
        """
        logs = self.log_coords(points, centre) / self.radius
        rho = norm(logs)
        sines = logs * sinc(rho)[:, None]

        def floor(s: float) -> float:
            bend = Angles.of(np.cos(np.minimum(rho + s / self.radius, farthest / self.radius))).bend
            spread = (sines.T * bend) @ sines
            return float(1 - np.linalg.eigvalsh(np.trace(spread) * np.eye(self.d) - spread)[-1] / len(points))

        return np.maximum([floor(s) for s in times], super().hessian_floor(points, centre, times, farthest))

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "sphere"
    center_names: ClassVar[tuple[str, ...]] = ("north",)

    @property
    def words(self) -> str:
        return f"points of the {self.d}-dimensional sphere of radius {self.radius:.4g}"

    @property
    def picture(self) -> str:
        return {1: "circle", 2: "globe"}.get(self.d, COORDINATES)

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(2), cls(3, curvature=9.0), cls(5, curvature=0.25)]

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        return form.last - 1


def _pull(points: Array, base: Array, weights: Array) -> Array:
    """The sum of w (q - base) over the records q and their weights w."""
    if are_many(len(points)):
        from riemdp.kernels.angles import pull

        total = np.empty(len(base))
        pull(np.ascontiguousarray(points), base, weights, total)
        return total
    apart = np.ones((len(points), 1)) @ base[None]  # a product, since subtraction along a short axis is slow
    return np.asarray(weights @ np.subtract(points, apart, out=apart))


def _spread(points: Array, weights: Array) -> Callable[[Array], Array]:
    """v -> sum of w <q, v> q over the records q and their weights w."""
    if points.shape[1] == 3 and are_many(len(points)):  # directions in space: the matrix takes less than one product
        from riemdp.kernels.angles import second_moment

        moment = np.empty((3, 3))
        second_moment(np.ascontiguousarray(points), weights, moment)
        return moment.__matmul__
    return lambda v: np.asarray(points.T @ (weights * (points @ v)))


def _angle(p: Array, q: Array) -> Array:
    """Angle of unit vectors, to full accuracy from coincident to antipodal ones."""
    return np.asarray(2 * np.arctan2(norm(q - p), norm(q + p)))


def _sign(p: Array) -> Array:
    return np.asarray(np.copysign(1.0, p[..., -1:]))


def _to_pole(v: Array, p: Array) -> Array:
    """Coordinates of v after the reflection that takes the unit vector p to ∓ the pole; drops p's own."""
    if v.ndim == p.ndim == 1 and len(p) <= SHORT:
        return _one_to_pole(v.tolist(), p.tolist())
    along = over_last_axis(np.add, v * p)[..., None] + _sign(p) * v[..., -1:]
    return np.asarray(v[..., :-1] - p[..., :-1] * (along / (1 + np.abs(p[..., -1:]))))


def _one_to_pole(v: list[float], p: list[float]) -> Array:
    along = _dot(v, p) + math.copysign(1.0, p[-1]) * v[-1]
    factor = along / (1 + abs(p[-1]))
    return np.array([x - y * factor for x, y in zip(v[:-1], p[:-1], strict=True)])


def _from_pole(c: Array, p: Array) -> Array:
    """Tangent vector at the unit vector p with coordinates c: the same reflection."""
    if c.ndim == p.ndim == 1 and len(p) <= SHORT:
        return np.array(_one_from_pole(c.tolist(), p.tolist()))
    along = over_last_axis(np.add, c * p[..., :-1])[..., None]
    body = c - p[..., :-1] * (along / (1 + np.abs(p[..., -1:])))
    return np.concatenate([body, -_sign(p) * along], axis=-1)


def _one_from_pole(c: list[float], p: list[float]) -> list[float]:
    along = _dot(c, p[:-1])
    factor = along / (1 + abs(p[-1]))
    body = [x - y * factor for x, y in zip(c, p[:-1], strict=True)]
    return [*body, -math.copysign(1.0, p[-1]) * along]


def _dot(a: list[float], b: list[float]) -> float:
    """One product after the other, as `over_last_axis` adds them."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total
