"""Tangent vectors of matrices in the coordinates of pyRiemann: upper triangles, off the diagonal times sqrt(2).

For the affine-invariant metric they are orthonormal, as ours are, in a basis turned against ours: pyRiemann whitens by
the symmetric root of the base point, this package by its Cholesky factor. For the log-Euclidean metric they are the
tangent vector's own entries: their lengths are not Riemannian ones (pyRiemann 0.12).
"""

from __future__ import annotations

import math

import numpy as np

from riemdp.errors import InputError
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.spd_affine import SPDAffine
from riemdp.manifolds.spd_log_euclidean import SPDLogEuclidean


def require_matrices(space: Space) -> None:
    """Raise unless pyRiemann has tangent vectors of such points."""
    if not isinstance(space, SPDAffine | SPDLogEuclidean):
        raise InputError(f"basis = 'pyriemann' belongs to SPDAffine and SPDLogEuclidean, not {space!r}: leave it out.")


def upper_triangles(coords: Array, space: Space, base: Array) -> Array:
    """pyRiemann's coordinates of the vectors with our orthonormal coordinates (n, dim) at the base point."""
    whitener = np.linalg.inv(_root(space, base))
    matrices = whitener @ space.from_coordinates(coords, base) @ whitener
    rows, columns = np.triu_indices(len(base))
    return np.asarray(matrices[:, rows, columns] * _weights(rows, columns))


def from_upper_triangles(triangles: Array, space: Space, base: Array) -> Array:
    """Our orthonormal coordinates of the vectors with pyRiemann's coordinates (n, dim) at the base point."""
    root, (rows, columns) = _root(space, base), np.triu_indices(len(base))
    matrices = np.zeros((len(triangles), *base.shape))
    matrices[:, rows, columns] = matrices[:, columns, rows] = triangles / _weights(rows, columns)
    vectors = root @ matrices @ root
    return space.coordinates((vectors + vectors.swapaxes(1, 2)) / 2, base)


def _root(space: Space, base: Array) -> Array:
    """By which pyRiemann whitens: the symmetric root for the affine-invariant metric, nothing for the other."""
    if isinstance(space, SPDLogEuclidean):
        return np.eye(len(base))
    values, vectors = np.linalg.eigh(base)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T)


def _weights(rows: Array, columns: Array) -> Array:
    return np.where(rows == columns, 1.0, math.sqrt(2))
