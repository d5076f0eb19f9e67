"""Kendall's space of planar shapes: k landmarks modulo translation, scale and rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from riemdp.arguments import as_array, whole_number
from riemdp.io.cells import numbers
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.balls import ball_dot, ball_norm, complement
from riemdp.manifolds.base import MEMBERSHIP_TOL, TANGENT_FLOOR, TANGENT_TOL, Array, Space, _check_shape
from riemdp.manifolds.capabilities import (
    Curvature,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    Landmarks,
    LocalModel,
    VolumeDensity,
)
from riemdp.manifolds.description import ArrayForm, Remark
from riemdp.manifolds.local_model import (
    FARTHEST_LIMIT,
    Angles,
    across_error,
    add_blocks,
    certain,
    conjugate_gradients,
    rounding,
    stretch_at,
)
from riemdp.manifolds.remarks import MIRRORED
from riemdp.manifolds.scalars import constant_curvature, norm, sinc

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class KendallShapes(Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds, Landmarks):
    """Shapes of k planar landmarks: what is left of them without place, size and rotation.

    This is the complex projective space CP^{k-2} (Kendall 1984); mirror images are different shapes.
    A point is a pre-shape z in C^k with sum z = 0 and ‖z‖ = 1, up to a complex phase; rho = arccos|z* w|.
    Points are passed and returned as real (..., k, 2) or as complex (..., k) arrays, in the form in which
    the first (or base) point came. Tangent vectors are horizontal: sum v = 0 and z* v = 0.

    Parameters
    ----------
    k : int
        The number of landmarks, at least 3.

    Raises
    ------
    InputError
        If k is not such a number.

    See Also
    --------
    Space : What all spaces can do.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> shapes = rd.KendallShapes(4)
    >>> bool(shapes.dist(shapes.project(square), shapes.project(7 * square + 3)) < 1e-7)
    True
    """

    k: int
    remedy: ClassVar[str] = "leave out configurations whose landmarks all coincide, are NaN or infinite"
    record_remedy: ClassVar[str] = remedy

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k", 3))

    @property
    def dim(self) -> int:
        """Real dimension 2k - 4: C^k without translations and complex multiples."""
        return 2 * self.k - 4

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(k, 2): k landmarks in the plane."""
        return (self.k, 2)

    @property
    def inner_shape(self) -> tuple[int, ...]:
        return (self.k,)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """Fubini-Study: 4 along complex lines, 1 across them; triangles form a sphere of curvature 4."""
        return (4.0 if self.k == 3 else 1.0, 4.0)

    @property
    def injectivity_radius(self) -> float:
        """Pi/2, the largest distance of two shapes."""
        return math.pi / 2

    @property
    def radian(self) -> float:
        """Distances are angles, in radians."""
        return 1.0

    @property
    def origin(self) -> Array:
        """The regular polygon of k corners."""
        angle = 2 * math.pi * np.arange(self.k) / self.k
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1) / math.sqrt(self.k)

    def read(self, value: Any, name: str) -> Array:
        array = as_array(value, name)
        self.check_form(array.shape, array.dtype, name)
        if array.dtype.kind == "c":
            return array.astype(np.complex128, copy=False)
        return np.ascontiguousarray(array, dtype=np.float64).view(np.complex128)[..., 0]

    def check_form(self, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
        if dtype.kind == "c":
            _check_shape(shape, (self.k,), name, self)
        else:
            super().check_form(shape, dtype, name)

    def numbers(self, records: Any) -> Any:
        return numbers(records, self.point_shape, self.inner_shape)

    def write(self, values: Array, like: Any) -> Array:
        if np.iscomplexobj(like):
            return values
        return np.ascontiguousarray(values).view(np.float64).reshape(*values.shape, 2)

    def exp_coords(self, coords: Array, base: Array) -> Array:
        angle = norm(coords)[..., None]
        point = np.cos(angle) * base + sinc(angle) * self.from_coords(coords, base)
        return self.to_points(point)

    def log_coords(self, points: Array, base: Array) -> Array:
        aligned, cosine = _align(points, base)
        coords = self.to_coords(aligned - base, base)
        sine = norm(coords)
        angle = np.arctan2(sine, cosine)
        factor = np.where(sine > 0, angle / np.where(sine > 0, sine, 1.0), 1.0)
        return np.asarray(coords * factor[..., None])

    def to_coords(self, vectors: Array, base: Array) -> Array:
        v, z = _drop_centre(vectors), _drop_centre(base)
        phase, size = _phase(z[..., :1])
        # Reflection with z + phase·e_0: drops the component along z, real and imaginary.
        along = (z.conj() * v).sum(axis=-1, keepdims=True) + phase.conj() * v[..., :1]
        rest = v[..., 1:] - z[..., 1:] * (along / (1 + size))
        return np.ascontiguousarray(rest).view(np.float64)

    def from_coords(self, coords: Array, base: Array) -> Array:
        z = _drop_centre(base)
        rest = np.ascontiguousarray(coords, dtype=np.float64).view(np.complex128)
        phase, size = _phase(z[..., :1])
        along = (z[..., 1:].conj() * rest).sum(axis=-1, keepdims=True)
        body = rest - z[..., 1:] * (along / (1 + size))
        return _restore_centre(np.concatenate([-phase * along, body], axis=-1))

    def mean_curvature(self, second_moment: Array) -> Array:
        """R_v w = |v|² w - <v, w> v + 3 <iv, w> iv: coordinates are real and imaginary parts, in turn."""
        turn = np.kron(np.eye(self.dim // 2), [[0.0, -1.0], [1.0, 0.0]])
        return constant_curvature(1.0, second_moment) + 3 * turn @ second_moment @ turn.T

    def log_density(self, coords: Array) -> Array:
        t = norm(coords)
        inside = t < math.pi / 2
        safe = np.where(inside, t, 1.0)
        return np.where(inside, np.log(sinc(2 * safe)) + (2 * self.k - 6) * np.log(sinc(safe)), -np.inf)

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any]:
        """(2k - 5) log sin t + log cos t."""
        power, sine, cosine = 2 * self.k - 5, m.sin(t), m.cos(t)
        return power * m.log(sine) + m.log(cosine), power * (cosine / sine) - sine / cosine

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """The base is centred and normalised exactly; the result is turned so that <origin, w> > 0."""
        from flint import acb

        z, angle = _ideal_preshape(base), ball_norm(coords)
        ahead = _ideal_horizontal([acb(*pair) for pair in zip(coords[::2], coords[1::2], strict=True)], z, base)
        cosine, stretch = angle.cos(), angle.sinc()
        w = [cosine * x + stretch * v for x, v in zip(z, ahead, strict=True)]
        product = ball_dot(w, self.read(self.origin, "origin").tolist())
        turn = product / abs(product)
        return [part for x in w for part in ((x * turn).real, (x * turn).imag)]

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        t, half_pi = ball_norm(coords), arb.pi() / 2
        if t < half_pi:
            return (2 * t).sinc().log() + (2 * self.k - 6) * t.sinc().log()
        return arb.neg_inf() if t >= half_pi else arb.nan()

    def from_ambient(self, ambient: Array) -> Array:
        origin = self.read(self.origin, "origin")
        z = self.to_points(self.read(ambient / (np.abs(ambient).max() or 1.0), "ambient"))
        return z if np.isfinite(z).all() else origin

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        """As on the unit sphere: centring moves nothing farther, nor does forgetting the phase."""
        return min(length, 1.0) / 2

    def to_landmarks(self, points: Array) -> Array:
        """Complex configurations (..., k) as real vectors (..., 2k)."""
        return np.ascontiguousarray(points).view(np.float64)

    def from_landmarks(self, vectors: Array) -> Array:
        return self.to_points(np.ascontiguousarray(vectors).view(np.complex128))

    def are_points(self, points: Array) -> Array:
        return np.asarray(self._excess(points) <= MEMBERSHIP_TOL)

    def settle(self, points: Array) -> Array:
        rounded = float(self._excess(points).max(initial=0.0)) <= 4 * UNIT_ROUNDOFF
        return points if rounded else self.to_points(points)

    def _excess(self, points: Array) -> Array:
        """How far the configurations are from being centred and of size 1."""
        parts = np.ascontiguousarray(points).view(np.float64)
        size = np.sqrt(np.einsum("...i,...i->...", parts, parts))
        return np.asarray(np.maximum(np.abs(size - 1), np.abs(points @ np.ones(self.k)) / math.sqrt(self.k)))

    def are_records(self, points: Array) -> Array:
        return np.asarray(np.isfinite(self.to_points(points)).all(axis=-1))

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        allowed = TANGENT_TOL * norm(vectors) + TANGENT_FLOOR
        centred = np.abs(vectors.sum(axis=-1)) <= allowed * math.sqrt(self.k)
        return np.asarray(centred & (np.abs((base.conj() * vectors).sum(axis=-1)) <= allowed))

    def to_points(self, raw: Array) -> Array:
        """Centre and scale; the rotation is kept, since it does not matter."""
        with np.errstate(all="ignore"):
            centred = raw - raw.mean(axis=-1, keepdims=True)
            size, spread = norm(raw)[..., None], norm(centred)[..., None]
            usable = spread > 4 * UNIT_ROUNDOFF * self.k * size
            return np.asarray(np.where(usable, centred / np.where(usable, spread, 1.0), np.nan))

    def mean_start(self, points: Array) -> Array:
        """Close to the full Procrustes mean, the leading eigenvector of sum z z*: three power steps."""
        start: Array = points[0]
        for _ in range(3):
            start = points.T @ (points @ start.conj()).conj() / len(points)
        return self.to_points(start)

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:  # noqa: ARG002
        """The Hessian of rho²/2 is 1 along u, 2t cot 2t along iu, t cot t across both.

        What is added up is stretch·(z turned onto x, less x), which is as short as the log (see Sphere).
        """
        n = len(points)

        def block(i: int, j: int) -> tuple[Array, Array, tuple[Angles, Angles, Array]]:
            phase, cosine = _phase(points[i:j] @ x.conj())
            angles, twice, back = Angles.of(cosine), Angles.of(2 * cosine**2 - 1), phase.conj()
            facts = np.array([twice.across.sum(), angles.across.sum(), twice.stretch.sum()])
            return (angles.stretch * back) @ _less_turned(points[i:j], x, phase), facts, (angles, twice, back)

        total, (turned, across, stretch), parts = add_blocks(block, n)
        farthest = max(angles.largest(self._cosine_error) for angles, _, _ in parts)
        turned -= across_error(4 * self._cosine_error, stretch_at(min(2 * farthest, math.pi)), n)
        lower, valid_within = certain(float(turned), farthest, 4.0)

        def weights(angles: Angles, twice: Angles, back: Array) -> tuple[Array, Array, Array]:
            return angles.bend, angles.per_sine_square(twice.across - angles.across, -1.0), back

        def step(g: Array) -> Array:
            bend, turn, back = map(np.concatenate, zip(*(weights(*part) for part in parts), strict=True))

            def apply(v: Array) -> Array:
                along = (points @ v.view(np.complex128).conj()) * back  # conjugate of (u* v) sine, u aligned
                pull = points.T @ ((bend * along.real - 1j * turn * along.imag) * back) / n
                horizontal = pull - (x.conj() @ pull) * x
                return np.asarray(across * v + horizontal.view(np.float64))

            ahead = conjugate_gradients(apply, self.from_coords(g, x).view(np.float64))
            return self.to_coords(ahead.view(np.complex128), x)

        return LocalModel(
            descent=self.to_coords(total, x),
            step=step,
            convexity=lower,
            valid_within=valid_within,
            across=float(turned),
            farthest=farthest,
            rounding=self._rounding(float(stretch), farthest, n),
        )

    @property
    def _cosine_error(self) -> float:
        """How wrong the computed cosine of the distance of two points may be."""
        return (4 * self.k + 24) * UNIT_ROUNDOFF

    def _rounding(self, stretch: float, farthest: float, n: int) -> float:
        """The rounding of a mean of n logs no longer than this, of this mean 2t/sin 2t: certificate.md, section 5."""
        return stretch * rounding(8 + (20 * self.k + 112) * farthest, 2 * math.sin(farthest / 2), n)

    def rounding_limit(self, radius: float, n: int) -> float:
        farthest = min(2 * radius + 2 * math.sqrt(self._cosine_error), FARTHEST_LIMIT / 2)
        return self._rounding(stretch_at(2 * farthest), farthest, n)

    def step_limit(self, radius: float) -> float:  # noqa: ARG002
        return 16 * UNIT_ROUNDOFF

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        phase, cosine = _phase(candidates.conj() @ points.T)
        pull = (Angles.of(cosine).stretch * phase.conj()) @ points
        along = (candidates.conj() * pull).sum(axis=-1, keepdims=True)
        return norm(pull - along * candidates) / len(points)

    def hessian_floor(self, points: Array, centre: Array, times: Array, farthest: float) -> Array:
        """1 minus the largest eigenvalue of the mean of b(y) (|w|² - w wᵀ - w' w'ᵀ) + 4 b(2y) cos²(rho_i) w' w'ᵀ.

        w = sin(rho_i) u_i with u_i towards x_i, w' = i w, y = rho_i + s and b as on the sphere. Both parts of
        what a record's Hessian falls short of 1, across its complex line and along i u, are b times a constant
        of the geodesic (docs/proofs/kng.md, section 4).
        """
        logs = self.log_coords(points, centre)
        rho = norm(logs)
        sines = logs * sinc(rho)[:, None]
        turned = np.ascontiguousarray(1j * sines.view(np.complex128)).view(np.float64)

        def floor(s: float) -> float:
            end = np.minimum(rho + s, farthest)
            once, twice = (Angles.of(np.cos(y)).bend for y in (end, 2 * end))
            line = 4 * twice * np.cos(rho) ** 2 - once
            spread = (turned.T * line) @ turned - (sines.T * once) @ sines
            total = once @ (sines**2).sum(axis=1)
            return float(1 - (total + np.linalg.eigvalsh(spread)[-1]) / len(points))

        return np.maximum([floor(s) for s in times], super().hessian_floor(points, centre, times, farthest))

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "kendall"
    remarks: ClassVar[tuple[Remark, ...]] = (MIRRORED,)

    @property
    def words(self) -> str:
        return f"shapes of {self.k} landmarks in the plane"

    @property
    def picture(self) -> str:
        return "landmarks"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(3), cls(4), cls(7)]

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        if form.is_complex:
            return form.last
        return form.last // 2 if form.is_table else (1, *form.shape)[-2]

    def shape_of_point(self, dtype: np.dtype[Any]) -> tuple[int, ...]:
        """Landmarks are pairs of numbers, or complex."""
        return self.inner_shape if dtype.kind == "c" else self.point_shape


def _align(points: Array, base: Array) -> tuple[Array, Array]:
    """The points rotated onto the base, and the cosine of their distance."""
    product = (base.conj() * points).sum(axis=-1, keepdims=True)
    phase, size = _phase(product)
    return points * phase.conj(), size[..., 0]


def _less_turned(points: Array, x: Array, phase: Array) -> Array:
    """The points less x times each one's phase: by a product of real matrices, which is several times faster."""
    axes = np.stack([x, 1j * x]).view(np.float64)
    turned = (np.ascontiguousarray(phase).view(np.float64).reshape(-1, 2) @ axes).view(np.complex128)
    return np.subtract(points, turned, out=turned)


def _phase(z: Array) -> tuple[Array, Array]:
    size = np.abs(z)
    if size.all():
        return z / size, size
    return np.where(size > 0, z / np.where(size > 0, size, 1.0), 1.0), size


def _ideal_preshape(base: Array) -> list[Any]:
    from flint import acb

    raw = [acb(z) for z in base.tolist()]
    centre = sum(raw, start=acb(0)) / len(raw)
    centred = [z - centre for z in raw]
    size = ball_norm(centred)
    return [z / size for z in centred]


def _ideal_horizontal(coords: list[Any], z: list[Any], base: Array) -> list[Any]:
    """Isometry of C^{k-2} onto the vectors orthogonal to z and to (1, ..., 1), by way of C^{k-1} (`_drop_centre`)."""
    from flint import arb

    root, pivot = arb(len(z)).sqrt(), int(np.abs(_drop_centre(base)).argmax())
    dropped = [x - z[0] / (root + 1) for x in z[1:]]
    return complement(complement(coords, dropped, pivot), [1 / root] * len(z), 0)


def _drop_centre(v: Array) -> Array:
    """C^k modulo translations to C^{k-1}, an isometry: the reflection that takes (1, ..., 1) to an axis.

    The sum of v is 0 up to the tolerance of a point, which must not leak into what is computed from it.
    """
    root = math.sqrt(v.shape[-1])
    return np.asarray(v[..., 1:] - (v[..., :1] + v.sum(axis=-1, keepdims=True) / root) / (root + 1))


def _restore_centre(y: Array) -> Array:
    """The inverse of `_drop_centre`."""
    root = math.sqrt(y.shape[-1] + 1)
    total = y.sum(axis=-1, keepdims=True)
    return np.concatenate([-total / root, y - total / (root * (root + 1))], axis=-1)
