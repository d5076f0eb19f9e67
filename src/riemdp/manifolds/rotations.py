"""Rotations of space, with the angle between two of them as their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from riemdp.arguments import real_array
from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.balls import ball_norm
from riemdp.manifolds.base import MEMBERSHIP_TOL, ROWS, TANGENT_FLOOR, TANGENT_TOL, Array, Space
from riemdp.manifolds.capabilities import (
    Curvature,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    VolumeDensity,
)
from riemdp.manifolds.description import ArrayForm
from riemdp.manifolds.local_model import are_many
from riemdp.manifolds.scalars import constant_curvature, norm, sinc, unit
from riemdp.manifolds.sphere import Sphere
from riemdp.names import RotationForm

if TYPE_CHECKING:
    from flint import arb

# Unit quaternions, which are rotations up to their sign, on a sphere where angles of rotation are distances.
QUATERNIONS = Sphere(3, curvature=0.25)
# |RᵀR - 1| up to which a matrix of floats counts as rounded: no further step makes it a better rotation.
ROUNDED = 16 * UNIT_ROUNDOFF
# Of the quaternion of a relative rotation, and of a step (docs/proofs/spaces/rotations.md).
QUATERNION_ERROR, STEP_ERROR = 128 * UNIT_ROUNDOFF, 64 * UNIT_ROUNDOFF
# From here on Newton's iteration for the nearest rotation converges in STEPS steps.
NEARLY, STEPS = 0.1, 4


@dataclass(frozen=True)
class Rotations(Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds):
    """SO(3), rho = angle of rotation: matrices R with RᵀR = 1 and det R = 1, of shape (3, 3).

    Coordinates at R are rotation vectors in its own frame: exp_R(w) = R exp(ŵ), ŵ x = w × x, so that tangent vectors
    are R ŵ. `project` takes quaternions, rotation vectors and SciPy's `Rotation` as well. Means are unique in balls of
    radius below pi/2: orientations that differ by up to a half turn.

    See Also
    --------
    Space : What all spaces can do.

    Examples
    --------
    >>> import riemdp as rd
    >>> space = rd.Rotations()
    >>> quarter = space.project([0.0, 0.0, 1.0, 1.0])  # a quaternion (x, y, z, w) of any length
    >>> round(float(space.dist(space.origin, quarter)), 6)
    1.570796
    """

    remedy: ClassVar[str] = "leave out records that are NaN, zero or singular, or mirrored (det < 0)"
    raw_forms: ClassVar[str] = "quaternions (..., 4) and rotation vectors (..., 3)"

    @property
    def dim(self) -> int:
        """Three: an axis and an angle."""
        return 3

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(3, 3), an orthogonal matrix."""
        return (3, 3)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """1/4, constant: half of a sphere of radius 2."""
        return (0.25, 0.25)

    @property
    def injectivity_radius(self) -> float:
        """A half turn, pi."""
        return math.pi

    @property
    def radian(self) -> float:
        """Distances are angles, in radians."""
        return 1.0

    @property
    def origin(self) -> Array:
        """The identity: nothing is turned."""
        return np.eye(3)

    # --- the maps -------------------------------------------------------------------------------------------

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return _polished(base @ _matrices(coords))

    def log_coords(self, points: Array, base: Array) -> Array:
        return _rotation_vectors(relative_quaternions(points, base))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return _vee(np.swapaxes(base, -1, -2) @ vectors)

    def from_coords(self, coords: Array, base: Array) -> Array:
        return base @ _hat(coords)

    def mean_curvature(self, second_moment: Array) -> Array:
        return constant_curvature(0.25, second_moment)

    def log_density(self, coords: Array) -> Array:
        angle = norm(coords)
        inside = angle < np.pi
        return np.where(inside, 2 * np.log(sinc(np.where(inside, angle, 1.0) / 2)), -np.inf)

    def log_area(self, t: Any, m: Any) -> tuple[Any, Any]:
        """2 log sin(t/2) up to pi, and -inf past it, where the sine of t is negative."""
        sine, half, cosine = m.sin(t), m.sin(t / 2), m.cos(t / 2)
        return 2 * m.log(half) + m.log(sine / abs(sine)), cosine / half

    # --- what is a rotation ------------------------------------------------------------------------------------

    def are_points(self, points: Array) -> Array:
        return np.asarray((_excess(points) <= 2 * MEMBERSHIP_TOL) & (np.linalg.det(points) > 0))

    def settle(self, points: Array) -> Array:
        if points.ndim == 3 and are_many(len(points)):
            from riemdp.kernels.quaternions import all_rotations

            blocks = map_ranges(lambda i, j: all_rotations(_block(points, i, j), ROUNDED), len(points), ROWS)
            return points if all(blocks) else self.to_points(points)
        rounded = float(_excess(points).max(initial=0.0)) <= ROUNDED and (np.linalg.det(points) > 0).all()
        return points if rounded else self.to_points(points)

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        inner = np.swapaxes(base, -1, -2) @ vectors
        symmetric = norm((inner + np.swapaxes(inner, -1, -2)).reshape(*inner.shape[:-2], 9)) / 2
        return np.asarray(symmetric <= TANGENT_TOL * norm(inner.reshape(*inner.shape[:-2], 9)) + TANGENT_FLOOR)

    def to_points(self, raw: Array) -> Array:
        """The nearest rotation; what is singular or mirrored has none. Each matrix by itself."""
        flat = np.array(raw.reshape(-1, 3, 3), dtype=np.float64)
        with np.errstate(all="ignore"):
            excess = _excess(flat)
            turned, near = np.linalg.det(flat) > 0, excess <= NEARLY
        newton, far = near & turned & (excess > ROUNDED), ~near
        if newton.any():
            flat[newton] = _nearby_rotation(flat[newton])
        if far.any():
            flat[far] = _nearest_rotation(flat[far])
        flat[near & ~turned] = np.nan
        return flat.reshape(raw.shape)

    def read(self, value: Any, name: str) -> Array:
        return super().read(matrices_of(value), name)

    def numbers(self, records: Any) -> Any:
        return super().numbers(matrices_of(records))

    def project(self, raw: Any, *, form: RotationForm | None = None, scalar_first: bool = False) -> Array:
        """Whatever describes rotations as matrices (..., 3, 3).

        Parameters
        ----------
        raw : array of shape (..., 3, 3), (..., 4) or (..., 3), or scipy.spatial.transform.Rotation, or a list of them
            Matrices (..., 3, 3), of which the nearest rotation is taken; quaternions (..., 4) of either sign and any
            length; rotation vectors (..., 3), in radians.
        form : {'matrix', 'quaternion', 'rotvec'}, optional
            By default the last axes tell; three rotation vectors, of shape (3, 3), would be a matrix.
        scalar_first : bool
            Quaternions are (x, y, z, w), as SciPy has them; True: (w, x, y, z).

        Returns
        -------
        array of shape (..., 3, 3)

        Raises
        ------
        InputError
            If one has no nearest rotation (NaN, zero, singular, mirrored), or the form is not clear.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Rotations().project([0.0, 0.0, 1.0, 1.0]).round(12).tolist()  # a quarter turn about z
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        """
        array = real_array(matrices_of(raw), "raw")
        kind = _form_of(array, form)
        with np.errstate(all="ignore"):  # zeros, NaN and infinities are refused below
            if kind == "quaternion":
                array = _from_quaternions(unit(np.roll(array, -1, axis=-1) if scalar_first else array))
            elif kind == "rotvec":
                array = _matrices(array)
        return super().project(array)

    # --- means ------------------------------------------------------------------------------------------------

    def mean_start(self, points: Array) -> Array:
        """The nearest rotation to the mean of the matrices: the chordal mean, in one pass."""
        total = np.ones(len(points)) @ points.reshape(len(points), 9)
        start = self.to_points(total.reshape(3, 3) / len(points))
        return start if np.isfinite(start).all() else np.asarray(points[0])

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:
        """The model of the sphere of quaternions at the pole, which is x: there no record is beyond its equator."""
        relative = relative_quaternions(points, x, QUATERNIONS.radius)
        model = QUATERNIONS.local_model(relative, QUATERNIONS.origin, hessian=hessian)
        room = math.pi - model.farthest  # up to the cut locus
        return replace(
            model,
            convexity=model.convexity if room > 0 else -math.inf,
            valid_within=min(model.valid_within, max(room, 0.0)),
            rounding=model.rounding + QUATERNION_ERROR,
        )

    def rounding_limit(self, radius: float, n: int) -> float:
        return QUATERNIONS.rounding_limit(radius, n) + QUATERNION_ERROR

    def step_limit(self, radius: float) -> float:  # noqa: ARG002
        return STEP_ERROR

    # --- exact points -------------------------------------------------------------------------------------------

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """The rotation of p q, p the computed quaternion of the base, scaled to length 1 exactly, and q = exp(v)."""
        from flint import arb

        raw = [arb(x) for x in relative_quaternions(base, self.origin).tolist()]
        size, half = ball_norm(raw), ball_norm(coords) / 2
        q = [c * half.sinc() / 2 for c in coords] + [half.cos()]
        return _ideal_matrix(_ideal_product([x / size for x in raw], q))

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        angle, pi = ball_norm(coords), arb.pi()
        if angle < pi:
            return 2 * (angle / 2).sinc().log()
        return arb.neg_inf() if angle >= pi else arb.nan()

    def from_ambient(self, ambient: Array) -> Array:
        point = self.to_points(ambient / (np.abs(ambient).max() or 1.0))
        return point if np.isfinite(point).all() else self.origin

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        """A change of e <= 1/3 moves the nearest rotation by at most 2e as a matrix, hence by less than 2.3e."""
        return min(length, 1.0) / 3

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "rotations"
    center_names: ClassVar[tuple[str, ...]] = ("identity",)

    @property
    def words(self) -> str:
        return "rotations of space"

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        return math.isqrt(form.last) if form.is_table else form.last


def matrices_of(value: Any) -> Any:
    """The matrices of SciPy's `Rotation` or `RigidTransform`, or of a list of them; anything else as it is."""
    if isinstance(value, list | tuple) and any(hasattr(item, "as_matrix") for item in value):
        return [matrices_of(item) for item in value]
    return value.as_matrix() if hasattr(value, "as_matrix") else value


def _form_of(array: Array, form: str | None) -> str:
    shapes = {"matrix": (3, 3), "quaternion": (4,), "rotvec": (3,)}
    fitting = [name for name, last in shapes.items() if array.shape[-len(last) :] == last]
    if form is not None and form not in shapes:
        raise InputError(f"form = {form!r}: pass 'matrix', 'quaternion' or 'rotvec'.")
    if not fitting or (form is not None and form not in fitting):
        wanted = "matrices (..., 3, 3), quaternions (..., 4) or rotation vectors (..., 3)"
        raise InputError(f"raw has shape {array.shape}: pass {wanted}.")
    if form is None and array.shape == (3, 3) and _excess(array) > 1:  # three rotation vectors?
        raise InputError("raw is no rotation matrix: say form='rotvec', or form='matrix' to take the nearest one.")
    return form or fitting[0]


# --- quaternions (x, y, z, w), rotation vectors and matrices ------------------------------------------------------


def relative_quaternions(points: Array, base: Array, size: float = 1.0) -> Array:
    """Quaternions of this length, with w >= 0, of the rotations baseᵀ point."""
    if points.ndim == 3 and base.ndim == 2 and are_many(len(points)):
        from riemdp.kernels import quaternions

        out, start = np.empty((len(points), 4)), np.ascontiguousarray(base)

        def task(i: int, j: int) -> None:
            quaternions.relative_quaternions(_block(points, i, j), start, size, out[i:j])

        map_ranges(task, len(points), ROWS)
        return out
    return size * _quaternions(np.swapaxes(base, -1, -2) @ points)


def _block(points: Array, i: int, j: int) -> Array:
    return np.ascontiguousarray(points[i:j], dtype=np.float64)


def _quaternions(r: Array) -> Array:
    """The row of 4 q qᵀ whose diagonal is the largest, scaled: its sign is such that w >= 0."""
    trace = np.trace(r, axis1=-2, axis2=-1)
    square = np.empty((*r.shape[:-2], 4, 4))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        square[..., i, i] = 1 + 2 * r[..., i, i] - trace
        square[..., j, k] = square[..., k, j] = r[..., j, k] + r[..., k, j]
        square[..., i, 3] = square[..., 3, i] = r[..., k, j] - r[..., j, k]
    square[..., 3, 3] = 1 + trace
    best = np.diagonal(square, axis1=-2, axis2=-1).argmax(axis=-1)
    row = np.take_along_axis(square, best[..., None, None], axis=-2)[..., 0, :]
    return np.asarray(unit(row) * np.copysign(1.0, row[..., 3:]))


def _from_quaternions(q: Array) -> Array:
    """Matrices of unit quaternions."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _matrices(vectors: Array) -> Array:
    """Rotation matrices of rotation vectors."""
    half = norm(vectors)[..., None] / 2
    return _from_quaternions(np.concatenate([vectors * (sinc(half) / 2), np.cos(half)], axis=-1))


def _rotation_vectors(q: Array) -> Array:
    """The rotation vectors, no longer than pi, of unit quaternions with w >= 0."""
    sine = norm(q[..., :3])[..., None]
    angle = 2 * np.arctan2(sine, q[..., 3:])
    return np.asarray(q[..., :3] * np.where(sine > 0, angle / np.where(sine > 0, sine, 1.0), 2.0))


def _hat(w: Array) -> Array:
    x, y, z = np.moveaxis(w, -1, 0)
    zero = np.zeros_like(x)
    return np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), (0, 1), (-2, -1))


def _vee(a: Array) -> Array:
    """The vector of the antisymmetric part."""
    pairs = [a[..., 2, 1] - a[..., 1, 2], a[..., 0, 2] - a[..., 2, 0], a[..., 1, 0] - a[..., 0, 1]]
    return np.stack(pairs, axis=-1) / 2


def _excess(points: Array) -> Array:
    """How far matrices are from orthogonal ones: |RᵀR - 1|, the Frobenius norm."""
    gram = np.swapaxes(points, -1, -2) @ points - np.eye(3)
    return np.asarray(np.sqrt((gram * gram).sum(axis=(-2, -1))))


def _polished(r: Array) -> Array:
    """One Newton step towards the nearest rotation: what is within 1e-8 of one becomes one to the last digits."""
    return np.asarray(r @ (1.5 * np.eye(3) - 0.5 * (np.swapaxes(r, -1, -2) @ r)))


def _nearby_rotation(r: Array) -> Array:
    for _ in range(STEPS):
        r = _polished(r)
    return r


def _nearest_rotation(r: Array) -> Array:
    """By singular values; NaN where r is singular or mirrored, to 1e-12 of its size, or not finite."""
    scale = np.abs(r).max(axis=(-2, -1), keepdims=True)
    good = np.isfinite(scale[:, 0, 0]) & (scale[:, 0, 0] > 0)
    safe = np.where(good[:, None, None], r / np.where(good[:, None, None], scale, 1.0), np.eye(3))
    left, values, right = np.linalg.svd(safe)
    turn = left @ right
    good &= (np.linalg.det(turn) > 0) & (values[:, 2] > 1e-12 * values[:, 0])
    return np.where(good[:, None, None], _polished(turn), np.nan)


def _ideal_product(p: list[arb], q: list[arb]) -> list[arb]:
    """The product of quaternions: first q, then p."""
    (a, b, c, s), (x, y, z, w) = p, q
    return [
        s * x + a * w + b * z - c * y,
        s * y - a * z + b * w + c * x,
        s * z + a * y - b * x + c * w,
        s * w - a * x - b * y - c * z,
    ]


def _ideal_matrix(q: list[arb]) -> list[arb]:
    """The entries of the matrix of a unit quaternion, row by row."""
    x, y, z, w = q
    return [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
