"""What the geometries of Hermitian positive definite matrices share: they are real ones of twice the size.

A complex number a + ib is the block [[a, -b], [b, a]]; a Hermitian k x k matrix becomes a symmetric 2k x 2k one, in
which every eigenvalue is there twice. Products, inverses, logarithms, exponentials and Cholesky factors of such
matrices are of the same form, so all of it is done by the code of the real spaces (docs/proofs/spaces/hpd_affine.md).
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from riemdp.arguments import as_array, whole_number
from riemdp.errors import ConvergenceError, InputError
from riemdp.io.cells import numbers
from riemdp.kernels.hermitian import as_complex, as_real
from riemdp.kernels.spectral import asymmetry, positive_definite, symmetric_part
from riemdp.manifolds.base import ROWS, Array, Space, _check_shape
from riemdp.manifolds.description import ArrayForm
from riemdp.manifolds.spd import are_symmetric, definite_or_nan, vecd

SQRT2 = math.sqrt(2.0)

if TYPE_CHECKING:
    _PartOfASpace = Space
else:
    _PartOfASpace = ABC  # a geometry is HPD and Space: two steps deep, not three


@cache
def basis(k: int) -> Array:
    """(k², k(2k+1)): vecd of the real forms of an orthonormal basis of the Hermitian matrices; rows of length sqrt 2.

    The diagonal, then sqrt 2 times the real parts and the imaginary parts above it.
    """
    matrices, (i, j) = np.zeros((k * k, k, k), dtype=np.complex128), np.triu_indices(k, 1)
    pairs = len(i)
    matrices[range(k), range(k), range(k)] = 1
    above = np.arange(k, k + pairs)
    matrices[above, i, j] = matrices[above, j, i] = 1 / SQRT2
    matrices[above + pairs, i, j], matrices[above + pairs, j, i] = 1j / SQRT2, -1j / SQRT2
    return vecd(as_real(matrices))


@dataclass(frozen=True)
class HPD(_PartOfASpace):
    """k x k Hermitian positive definite matrices, as a set: all but the metric, for a space to inherit before Space.

    Points are complex (..., k, k); the primitives see them as real matrices of twice the size.
    """

    k: int
    unit_length: ClassVar[float] = 1.0
    sums_check_records: ClassVar[bool] = True
    remedy: ClassVar[str] = "add a small multiple of the identity, or leave such records out"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k", 2))

    @property
    def dim(self) -> int:
        """k²: the diagonal, and two numbers for each entry above it."""
        return self.k**2

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(k, k), of complex numbers."""
        return (self.k, self.k)

    @property
    def inner_shape(self) -> tuple[int, ...]:
        return (2 * self.k, 2 * self.k)

    @property
    def injectivity_radius(self) -> float:
        """Infinite: geodesics never meet again."""
        return math.inf

    @property
    def origin(self) -> Array:
        """The identity matrix, complex."""
        return np.eye(self.k, dtype=np.complex128)

    # --- complex and real forms -----------------------------------------------------------------------------

    def read(self, value: Any, name: str) -> Array:
        array = as_array(value, name)
        self.check_form(array.shape, array.dtype, name)
        return as_real(array.astype(np.complex128, copy=False))

    def check_form(self, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
        if dtype.kind not in "fiuc":
            raise InputError(f"{name} holds no numbers: pass complex or real ones.")
        _check_shape(shape, self.point_shape, name, self)

    def numbers(self, records: Any) -> Any:
        return numbers(records, self.point_shape, self.point_shape)

    def write(self, values: Array, like: Any) -> Array:  # noqa: ARG002
        """Complex matrices, whatever form was passed."""
        return as_complex(values)

    def shape_of_point(self, dtype: np.dtype[Any]) -> tuple[int, ...]:  # noqa: ARG002
        """(k, k), for complex and for real numbers."""
        return self.point_shape

    def doubled(self, coords: Array) -> Array:
        """vecd of the real form of the Hermitian matrices with these coordinates."""
        return np.asarray(coords @ basis(self.k))

    def halved(self, doubled: Array) -> Array:
        """The inverse of `doubled`, whose rows have the square length 2."""
        return np.asarray(doubled @ basis(self.k).T) / 2

    def _random_coords(self, size: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((size, self.dim)) / math.sqrt(2 * self.k)

    # --- what is a point ----------------------------------------------------------------------------------------

    def are_points(self, points: Array) -> Array:
        """Hermitian within 1e-8 of the diagonal, and the Cholesky factorisation exists in float64: of what is written.

        Of a matrix that is nearly singular, the form that was computed may have a factor which the nearest of complex
        form, all that `write` keeps, has not.
        """
        return (asymmetry(points) <= 0.0) & positive_definite(symmetric_part(as_real(as_complex(points))))

    def settle(self, points: Array) -> Array:
        return symmetric_part(points)

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        return are_symmetric(vectors, base)

    def to_points(self, raw: Array) -> Array:
        """The Hermitian part; what is not positive definite then cannot become a point."""
        return definite_or_nan(raw)

    def spectral_center(self, low: float, high: float) -> Array:
        """sqrt(low high) times the identity."""
        return math.sqrt(low) * math.sqrt(high) * self.origin

    def spectral_radius(self, low: float, high: float) -> float:
        """sqrt(k)/2 log(high/low): the distance of the two multiples of the identity is twice that, in both metrics."""
        half = (math.log(high) - math.log(low)) / 2 + 2.0**-40  # not below the exact one
        return math.sqrt(self.k) * half

    def _refuse(self, points: Array) -> NoReturn:
        """Say what is wrong with records whose logarithms could not be summed."""
        for start in range(0, len(points), ROWS):
            with np.errstate(all="ignore"):
                good = self.are_points(points[start : start + ROWS])
            if not good.all():
                index = start + int(np.argmin(good))
                raise InputError(f"X[{index}] is not a point of {self!r}: {self.record_remedy}.")
        raise ConvergenceError(f"The records are too ill-conditioned for float64: {self.remedy}.")

    # --- what it says of itself ---------------------------------------------------------------------------------

    center_names: ClassVar[tuple[str, ...]] = ("identity",)

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        return math.isqrt(form.last) if form.is_table else form.last
