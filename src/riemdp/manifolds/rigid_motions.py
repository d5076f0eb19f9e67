"""Rigid motions of space: a rotation and a translation, with a public unit of length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from riemdp.arguments import finite_number, real_array
from riemdp.errors import InputError
from riemdp.manifolds.base import MEMBERSHIP_TOL, Array, Space
from riemdp.manifolds.capabilities import ExactPoints, GradientBounds, VolumeDensity
from riemdp.manifolds.description import ArrayForm
from riemdp.manifolds.euclidean import Euclidean
from riemdp.manifolds.product import Product
from riemdp.manifolds.remodelled import Remodelled
from riemdp.manifolds.rotations import Rotations, matrices_of

MODEL = Product(Rotations(), Euclidean(3))


@dataclass(frozen=True)
class RigidMotions(Remodelled, Space, VolumeDensity, ExactPoints, GradientBounds):
    """Rotations and translations of space, as poses of cameras, tools and bones: SO(3) x R³.

    Points are homogeneous matrices [[R, t], [0, 1]], of shape (4, 4); rho² = angle² + (distance of the t)²/length²: a
    displacement by `length` counts as much as a turn by one radian. The unit is public: choose it without looking at
    the data. It is the product of both spaces, which does not depend on where the origin of the turned body is.

    Parameters
    ----------
    length : float
        The unit of length, positive, in the unit of the translations.

    Raises
    ------
    InputError
        If the length is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    Rotations, Product : What it is made of.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> space = rd.RigidMotions(length=0.5)
    >>> there = space.project((np.eye(3), [1.0, 0.0, 0.0]))
    >>> float(space.dist(space.origin, there))
    2.0
    """

    length: float
    remedy: ClassVar[str] = "leave out records without a rotation, or with a last row other than 0, 0, 0, 1"
    raw_forms: ClassVar[str] = "pairs (rotations, translations)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", finite_number(self.length, "length"))
        if self.length <= 0:
            raise InputError(f"length = {self.length!r}: pass a positive one, in the unit of the translations.")

    @property
    def model(self) -> Product:
        """Rotations, and translations in units of the length."""
        return MODEL

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(4, 4), a matrix of homogeneous coordinates."""
        return (4, 4)

    @property
    def origin(self) -> Array:
        """Nothing moved: the identity."""
        return np.eye(4)

    def project(self, raw: Any) -> Array:
        """Homogeneous matrices from such, or from a pair of rotations (as for `Rotations.project`) and translations.

        Parameters
        ----------
        raw : array of shape (..., 4, 4), (rotations, translations), or scipy.spatial.transform.RigidTransform
            Translations have shape (..., 3).

        Returns
        -------
        array of shape (..., 4, 4)

        Raises
        ------
        InputError
            If one is no rigid motion.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.RigidMotions(1.0).project(([0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0]))[:3, 3].tolist()
        [1.0, 2.0, 3.0]
        """
        if not (isinstance(raw, tuple) and len(raw) == 2):
            return super().project(raw)
        return super().project(_homogeneous(Rotations().project(raw[0]), real_array(raw[1], "raw[1]"), 1.0))

    # --- homogeneous matrices and points of the product -----------------------------------------------------

    def read(self, value: Any, name: str) -> Array:
        array = super(Remodelled, self).read(matrices_of(value), name)
        usual = np.abs(array[..., 3, :] - np.eye(4)[3]).max(axis=-1, keepdims=True) <= MEMBERSHIP_TOL
        return np.where(usual, self._flat(array), np.nan)

    def numbers(self, records: Any) -> Any:
        return super().numbers(matrices_of(records))

    def write(self, values: Array, like: Any) -> Array:  # noqa: ARG002
        return _homogeneous(*self._parts(values), last=1.0)

    def read_vectors(self, value: Any, base: Array, name: str) -> Array:  # noqa: ARG002
        array = super(Remodelled, self).read(value, name)
        usual = np.abs(array[..., 3, :]).max(axis=-1, keepdims=True) <= MEMBERSHIP_TOL
        return np.where(usual, self._flat(array), np.nan)

    def write_vectors(self, vectors: Array, base: Array, like: Any) -> Array:  # noqa: ARG002
        return _homogeneous(*self._parts(vectors), last=0.0)

    def _flat(self, motions: Array) -> Array:
        rotations = motions[..., :3, :3].reshape(*motions.shape[:-2], 9)
        with np.errstate(all="ignore"):
            return np.concatenate([rotations, motions[..., :3, 3] / self.length], axis=-1)

    def _parts(self, values: Array) -> tuple[Array, Array]:
        return values[..., :9].reshape(*values.shape[:-1], 3, 3), values[..., 9:] * self.length

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "rigid-motions"
    center_names: ClassVar[tuple[str, ...]] = ("identity",)

    @property
    def words(self) -> str:
        return f"rigid motions of space, {self.length:g} of length counting as one radian"

    @property
    def parts(self) -> tuple[Space, ...]:
        return self.factors

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(0.5)]

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        raise InputError(f"records of shape {form.shape} do not say what length counts as one radian: pass --size.")


def _homogeneous(rotations: Array, translations: Array, last: float) -> Array:
    lead = np.broadcast_shapes(rotations.shape[:-2], translations.shape[:-1])
    whole = np.zeros((*lead, 4, 4))
    whole[..., :3, :3], whole[..., :3, 3], whole[..., 3, 3] = rotations, translations, last
    return whole
