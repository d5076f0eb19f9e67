"""Complex matrices as real ones of twice the size: a + ib is the block [[a, -b], [b, a]]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def as_real(z: Array) -> Array:
    """Complex matrices (..., k, k) as real ones (..., 2k, 2k)."""
    k = z.shape[-1]
    blocks = np.empty((*z.shape[:-2], k, 2, k, 2))
    blocks[..., 0, :, 0] = blocks[..., 1, :, 1] = z.real
    blocks[..., 1, :, 0] = z.imag
    blocks[..., 0, :, 1] = -z.imag
    return blocks.reshape(*z.shape[:-2], 2 * k, 2 * k)


def as_complex(a: Array) -> Array:
    """The inverse of `as_real`: of any real matrix, the nearest that is of this form."""
    k = a.shape[-1] // 2
    blocks = a.reshape(*a.shape[:-2], k, 2, k, 2)
    z = np.empty((*a.shape[:-2], k, k), dtype=np.complex128)
    z.real = blocks[..., 0, :, 0] / 2 + blocks[..., 1, :, 1] / 2
    z.imag = blocks[..., 1, :, 0] / 2 - blocks[..., 0, :, 1] / 2
    return z


def in_real_form(a: Array) -> Array:
    """`as_real` of complex matrices; real ones as they are."""
    return as_real(a) if np.iscomplexobj(a) else a


def spectrum_in_real_form(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Numbers that belong to eigenvectors, and these; of complex ones in real form, every number twice."""
    return (np.repeat(values, 2, axis=-1), as_real(vectors)) if np.iscomplexobj(vectors) else (values, vectors)


def eigh_of_real_form(a: Array) -> tuple[Array, Array]:
    """Eigenvalues and complex eigenvectors (columns) of the Hermitian matrices whose real forms these are."""
    return np.linalg.eigh(as_complex(a))
