"""Hyperbolic space of any dimension and curvature, as a hyperboloid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from riemdp.arguments import check_batches
from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.balls import ball_dot, ball_norm, ball_sinhc
from riemdp.manifolds.base import FARTHEST, MEMBERSHIP_TOL, ROWS, TANGENT_FLOOR, TANGENT_TOL, Array, Space
from riemdp.manifolds.capabilities import (
    Curvature,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    VolumeDensity,
)
from riemdp.manifolds.constant_curvature import ConstantCurvature
from riemdp.manifolds.description import COORDINATES, ArrayForm
from riemdp.manifolds.local_model import add_blocks, conjugate_gradients, rounding
from riemdp.manifolds.scalars import constant_curvature, log_sinhc, norm, sinhc, t_coth
from riemdp.names import HyperbolicModel

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class Hyperbolic(ConstantCurvature, Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds):
    """Hyperbolic space H^d, of curvature -1 or another negative one, as for embeddings of trees.

    Points (x_0, x) of R^{1+d} lie on the hyperboloid x_0² - |x|² = R² = 1/c, x_0 > 0, where -c is the curvature.
    The space part x is taken as the truth and the time x_0 recomputed from it, so that points do not drift
    off the hyperboloid. Coordinates at p come from the Lorentz boost that takes p to the origin (R, 0). A
    point at distance t of the origin is resolved to about cosh(t/R) units of roundoff.

    Parameters
    ----------
    d : int
        The dimension, at least 1; points have 1 + d numbers, time first.
    curvature : float
        Below 0.
    model : {'hyperboloid', 'poincare'}
        How points and tangent vectors are written: 'poincare' has them in the Poincaré ball, d numbers y with |y| < 1
        whatever the curvature, y = x/(x_0 + R). It is the same space; only what goes in and comes out differs.

    Raises
    ------
    InputError
        If d, the curvature or the model is not such a one.

    See Also
    --------
    Space : What all spaces can do.
    Sphere : The same with positive curvature.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rd.Hyperbolic(2).project([0.0, 3.0, 4.0]).round(4).tolist()
    [5.099, 3.0, 4.0]
    >>> round(float(rd.Hyperbolic(2, model="poincare").dist([0.0, 0.0], [0.5, 0.0])), 6)  # log 3
    1.098612
    """

    curvature: float = -1.0
    model: HyperbolicModel = "hyperboloid"
    remedy: ClassVar[str] = "leave out records with NaN or infinite entries, or not inside the Poincaré ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curvature >= 0:
            raise InputError(f"curvature = {self.curvature!r}: pass a negative one, or use Sphere.")
        if self.model not in ("hyperboloid", "poincare"):
            raise InputError(f"model = {self.model!r}: pass 'hyperboloid' or 'poincare'.")

    def __repr__(self) -> str:
        """The model only where it is not the usual one."""
        model = f", model={self.model!r}" if self._is_disc else ""
        return f"{type(self).__name__}(d={self.d!r}, curvature={self.curvature!r}{model})"

    @property
    def _is_disc(self) -> bool:
        return self.model == "poincare"

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(1 + d,), time first; (d,) in the Poincaré ball."""
        return (self.d if self._is_disc else self.d + 1,)

    @property
    def inner_shape(self) -> tuple[int, ...]:
        return (self.d + 1,)

    @property
    def injectivity_radius(self) -> float:
        """Infinite: geodesics never meet again."""
        return math.inf

    @property
    def origin(self) -> Array:
        """(R, 0, ..., 0); in the Poincaré ball 0."""
        return np.zeros(self.d) if self._is_disc else np.asarray(self.radius * np.eye(self.d + 1)[0])

    # --- the Poincaré ball -------------------------------------------------------------------------------------

    def read(self, value: Any, name: str) -> Array:
        array = super().read(value, name)
        return self._from_disc(array) if self._is_disc else array

    def write(self, values: Array, like: Any) -> Array:
        return self._to_disc(values) if self._is_disc else super().write(values, like)

    def read_vectors(self, value: Any, base: Array, name: str) -> Array:
        array = super().read(value, name)
        if not self._is_disc:
            return array
        check_batches(**{name: array.shape[:-1]}, base_point=base.shape[:-1])
        return self._vectors_from_disc(array, base)

    def write_vectors(self, vectors: Array, base: Array, like: Any) -> Array:
        return self._vectors_to_disc(vectors, base) if self._is_disc else super().write(vectors, like)

    def _from_disc(self, y: Array) -> Array:
        """x = 2R y/(1 - |y|²); NaN where y is not within the ball."""
        with np.errstate(all="ignore"):  # whatever the records hold
            room = (1 - norm(y)) * (1 + norm(y))
            return self._lift(2 * y / np.where(room > 0, room, np.nan)[..., None])

    def _to_disc(self, points: Array) -> Array:
        """y = x/(x_0 + R), pulled back where rounding would put it on the rim."""
        y, most = points[..., 1:] / (points[..., :1] + self.radius), 1 - (self.d + 8) * UNIT_ROUNDOFF
        return np.asarray(y * (most / np.maximum(norm(y), most))[..., None])

    def _vectors_from_disc(self, vectors: Array, base: Array) -> Array:
        """The differential of `_from_disc`: with a = (x_0 + R)/R, dx = R (a dy + a² y <y, dy>), dx_0 = R a² <y, dy>."""
        a, y = base[..., :1] / self.radius + 1, base[..., 1:] / (base[..., :1] + self.radius)
        time = a * a * (y * vectors).sum(axis=-1, keepdims=True)
        return np.asarray(self.radius * np.concatenate([time, a * vectors + y * time], axis=-1))

    def _vectors_to_disc(self, vectors: Array, base: Array) -> Array:
        """The differential of `_to_disc`: (dx - y dx_0)/(x_0 + R)."""
        scale = base[..., :1] + self.radius
        return np.asarray((vectors[..., 1:] - base[..., 1:] / scale * vectors[..., :1]) / scale)

    def _lift(self, space_part: Array) -> Array:
        """The point with this space part (in units of R)."""
        time = np.hypot(1.0, norm(space_part))[..., None]
        return np.asarray(np.concatenate([time, space_part], axis=-1) * self.radius)

    def exp_coords(self, coords: Array, base: Array) -> Array:
        at_origin = coords / self.radius * sinhc(norm(coords)[..., None] / self.radius)
        return self._lift(_boost(at_origin, base[..., 1:] / self.radius))

    def log_coords(self, points: Array, base: Array) -> Array:
        at_origin = _boost_back(points[..., 1:] / self.radius, base[..., 1:] / self.radius)
        length = norm(at_origin)[..., None]
        factor = np.where(length > 0, np.arcsinh(length) / np.where(length > 0, length, 1.0), 1.0)
        return np.asarray(self.radius * at_origin * factor)

    def to_coords(self, vectors: Array, base: Array) -> Array:
        p = base[..., 1:] / self.radius
        return np.asarray(vectors[..., 1:] - p * (vectors[..., :1] / (1 + _time(p))))

    def from_coords(self, coords: Array, base: Array) -> Array:
        p = base[..., 1:] / self.radius
        time = (p * coords).sum(axis=-1, keepdims=True)
        return np.concatenate([time, coords + p * (time / (1 + _time(p)))], axis=-1)

    def mean_curvature(self, second_moment: Array) -> Array:
        return constant_curvature(self.curvature, second_moment)

    def log_density(self, coords: Array) -> Array:
        return np.asarray((self.d - 1) * log_sinhc(norm(coords) / self.radius))

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any]:
        """(d - 1) log sinh(t/R), where sinh x = exp(x) (1 - exp(-2x))/2."""
        x, shrink = t / self.radius, -m.expm1(-2 * t / self.radius)
        return (self.d - 1) * (x + m.log(shrink)), (self.d - 1) * (2 - shrink) / shrink / self.radius

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """q = exp at the origin, boosted to p: T = T_p T_q + p·q, x = q + (T_q + p·q/(1 + T_p)) p (R = 1)."""
        from flint import arb

        stretch = ball_sinhc(ball_norm(coords) / self.radius) / self.radius
        q, p = [c * stretch for c in coords], [arb(x) / self.radius for x in base[1:].tolist()]
        time_q, time_p = ((1 + ball_dot(x, x)).sqrt() for x in (q, p))
        product = ball_dot(p, q)
        along = time_q + product / (1 + time_p)
        space_part = [y + along * x for x, y in zip(p, q, strict=True)]
        return [x * self.radius for x in (time_p * time_q + product, *space_part)]

    def ideal_log_density(self, coords: list[arb]) -> arb:
        return (self.d - 1) * ball_sinhc(ball_norm(coords) / self.radius).log()

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return self.inner_shape

    def from_ambient(self, ambient: Array) -> Array:
        """The time is recomputed from the space part."""
        size = float(np.abs(ambient[1:]).max()) / FARTHEST
        return self.to_points(ambient * min(1.0, self.radius / (size or self.radius)))

    def ambient_step(self, length: float, farthest: float) -> float:
        """As a graph over the space part the metric is |dx|² - dT² <= |dx|²: no point moves farther than x."""
        return length if farthest < self.radius * math.log(FARTHEST) else 0.0

    def are_points(self, points: Array) -> Array:
        time = self._lift(points[..., 1:] / self.radius)[..., 0]
        return np.asarray(np.abs(points[..., 0] / time - 1) <= MEMBERSHIP_TOL)

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        product = (vectors[..., 1:] * base[..., 1:]).sum(axis=-1) - vectors[..., 0] * base[..., 0]
        return np.asarray(np.abs(product) <= (TANGENT_TOL * norm(vectors) + TANGENT_FLOOR) * norm(base))

    def to_points(self, raw: Array) -> Array:
        """Keep the space part and recompute the time."""
        return self._lift(raw[..., 1:] / self.radius)

    def mean_start(self, points: Array) -> Array:
        """The Lorentzian centroid: the mean of the vectors, scaled back to the hyperboloid."""
        total = np.sum(map_ranges(lambda i, j: points[i:j].sum(axis=0), len(points), ROWS), axis=0)
        lorentz = math.sqrt(max(total[0] ** 2 - (total[1:] ** 2).sum(), np.finfo(float).tiny))
        # Far out the difference above cancels; any point is a valid start.
        return self._lift(total[1:] / lorentz) if lorentz > 1e-3 * total[0] else np.asarray(points[0])

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:
        """The Hessian of rho²/2 is 1 along the log and (rho/R) coth(rho/R) across it."""
        time, n = float(_time(x[1:] / self.radius)[0]), len(points)

        def block(i: int, j: int) -> tuple[Array, Array, Array]:
            logs = self.log_coords(points[i:j], x)
            rho = norm(logs)
            across = t_coth(rho / self.radius)
            times = _time(points[i:j, 1:] / self.radius)[:, 0]
            error = self._log_error(time + times / sinhc(rho / self.radius))
            weight = (1 - across) / np.where(rho > 0, rho, 1.0) ** 2
            special = (logs * weight[:, None]).T @ logs if hessian else np.zeros((self.d, self.d))
            facts = np.array([across.sum(), error.sum(), rho.sum()])
            return np.vstack([logs.sum(axis=0), special]), facts, across

        (descent, *special), (across, error, length), _ = add_blocks(block, n)
        return LocalModel(
            descent=descent,
            step=lambda g: conjugate_gradients(lambda v: across * v + np.asarray(special) @ v, g),
            convexity=1.0,
            valid_within=math.inf,
            across=1.0,
            farthest=0.0,
            rounding=rounding(float(error), float(length), n),
        )

    def _log_error(self, magnified: Array) -> Array:
        """Stated bound on the error of log, in units of roundoff; `rounding` counts a few more of its length."""
        return np.asarray(self.radius * (16 + 4 * self.d) * magnified)

    def rounding_limit(self, radius: float, n: int) -> float:
        worst = self._log_error(2 * np.cosh(radius / self.radius))
        return rounding(float(worst), 2 * radius, n)

    def step_limit(self, radius: float) -> float:
        """A radial error is a few roundings of the distance; others are multiplied by the time."""
        return UNIT_ROUNDOFF * self.radius * (16 + 6 * math.sinh(min(radius / self.radius, 700.0)))

    def hessian_floor(self, points: Array, centre: Array, times: Array, farthest: float) -> Array:
        """1 plus the least eigenvalue of the mean of b(rho_i + s) (|w|² - w wᵀ), w = sinh(rho_i) u_i: see Sphere.

        Here b(y) = (y coth y - 1)/sinh² y decreases.
        """
        logs = self.log_coords(points, centre) / self.radius
        rho = norm(logs)
        sines = logs * sinhc(rho)[:, None]

        def floor(s: float) -> float:
            spread = (sines.T * _bend(np.minimum(rho + s / self.radius, farthest / self.radius))) @ sines
            return float(1 + np.linalg.eigvalsh(np.trace(spread) * np.eye(self.d) - spread)[0] / len(points))

        return np.array([floor(s) for s in times])

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "hyperbolic"
    variants: ClassVar[dict[str, dict[str, Any]]] = {"poincare": {"model": "poincare"}}

    @property
    def words(self) -> str:
        return f"points of the {self.d}-dimensional hyperbolic space of curvature {self.curvature:.4g}"

    @property
    def picture(self) -> str:
        return "disc" if self.d == 2 else COORDINATES

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(2), cls(4, curvature=-4.0), cls(2, model="poincare")]

    @classmethod
    def size_in(cls, form: ArrayForm, model: str = "hyperboloid") -> int:
        return form.last - (model == "hyperboloid")


def _bend(t: Array) -> Array:
    """(t coth t - 1) / sinh² t, and 0 where it is too small to count."""
    usual = (t > 1e-4) & (t < 300)
    safe = np.where(usual, t, 1.0)
    return np.where(usual, (t_coth(safe) - 1) / np.sinh(safe) ** 2, np.where(t < 1, 1 / 3, 0.0))


def _time(space_part: Array) -> Array:
    return np.hypot(1.0, norm(space_part))[..., None]


def _axis(p: Array) -> tuple[Array, Array]:
    """|p| and the direction of p, taken as zero where p is too short to matter."""
    size = norm(p)[..., None]
    usable = size > 1e-150
    return size, np.where(usable, p / np.where(usable, size, 1.0), 0.0)


def _boost(q: Array, p: Array) -> Array:
    """Space part of q after the boost that takes the origin to p, all given by their space parts (R = 1).

    It is q_⊥ + (T_p q_∥ + |p| T_q) p/|p|. Both terms grow like the product of the times; where q_∥ < 0 their sum
    is ((|p| + q_∥)(|p| - q_∥) + |p|² |q_⊥|²) / (|p| T_q - T_p q_∥), without cancellation.
    """
    size, axis = _axis(p)
    along = (axis * q).sum(axis=-1, keepdims=True)
    aside = q - axis * along
    return _with_component(aside, axis, _time(p) * along, size * _time(q), (size + along) * (size - along), size)


def _boost_back(q: Array, p: Array) -> Array:
    """Space part of q after the boost that takes p to the origin: `_boost` with -p, accurate also if q is near p."""
    size, axis = _axis(p)
    ahead = (axis * (q - p)).sum(axis=-1, keepdims=True)
    aside, along = (q - p) - axis * ahead, size + ahead
    return _with_component(aside, -axis, -_time(p) * along, size * _time(q), -ahead * (along + size), size)


def _with_component(aside: Array, axis: Array, near: Array, far: Array, gap: Array, size: Array) -> Array:
    """Aside + axis (near + far); for near < 0 the sum is (gap + |p|² aside²) / (far - near)."""
    inward = near < 0
    square = gap + (size * norm(aside)[..., None]) ** 2
    return np.asarray(aside + axis * np.where(inward, square / np.where(inward, far - near, 1.0), near + far))
