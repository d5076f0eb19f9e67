"""Spectral functions of many small symmetric matrices: the fastest of three ways, chosen by size alone.

Small inputs go through NumPy, so that nobody waits for a compiler; larger ones through the compiled Jacobi
blocks; matrices too large for those through LAPACK in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.kernels.threads import map_ranges

Array = NDArray[np.float64]

SYMMETRY_TOL = 1e-8
UNIT_ROUNDOFF = 2.0**-53
# Measured: below, loading the compiled code takes longer than it saves; above, LAPACK overtakes Jacobi.
SMALL_WORK = 2**18
LARGEST_JACOBI = 24
MAX_DIGITS = 4


def _is_small(n: int, k: int) -> bool:
    return n * k**3 < SMALL_WORK


def _grain(k: int) -> int:
    """Records per task: about a millisecond of work, a multiple of the block size."""
    return 32 * max(1, 4096 // k**3)


def _floats(block: NDArray[Any]) -> Array:
    return np.ascontiguousarray(block, dtype=np.float64)


def symmetric_part(a: Array) -> Array:
    """(a + aᵀ) / 2 without overflow."""
    return np.asarray(0.5 * a + 0.5 * np.swapaxes(a, -1, -2))


def asymmetry(a: Array) -> Array:
    """By how much |a_ij - a_ji| exceeds the tolerance SYMMETRY_TOL (|a_ii| + |a_jj|), at worst; shape a.shape[:-2]."""
    size = np.abs(np.diagonal(a, axis1=-2, axis2=-1))
    allowed = SYMMETRY_TOL * (size[..., :, None] + size[..., None, :])
    return np.asarray((np.abs(a - np.swapaxes(a, -1, -2)) - allowed).max(axis=(-2, -1), initial=0.0))


# --- eigenvalues, logarithms, exponentials of a batch ----------------------------------------------------


def eigh(a: Array) -> tuple[Array, Array]:
    """Eigenvalues (in no particular order) and eigenvectors (columns) of symmetric matrices (..., k, k)."""
    k = a.shape[-1]
    flat = a.reshape(-1, k, k)
    n = len(flat)
    if n < 2 or _is_small(n, k):
        values, vectors = np.linalg.eigh(flat)
    else:
        values, vectors = np.empty((n, k)), np.empty((n, k, k))
        map_ranges(_eigh_task(flat, values, vectors), n, _grain(k))
    return values.reshape(a.shape[:-1]), vectors.reshape(a.shape)


def _eigh_task(x: Array, values: Array, vectors: Array) -> Callable[[int, int], None]:
    if x.shape[-1] > LARGEST_JACOBI:
        def lapack(start: int, stop: int) -> None:
            values[start:stop], vectors[start:stop] = np.linalg.eigh(x[start:stop])

        return lapack
    from riemdp.kernels import jacobi

    return lambda start, stop: jacobi.eigh(_floats(x[start:stop]), values[start:stop], vectors[start:stop])


def rebuild(values: Array, vectors: Array) -> Array:
    """V diag(values) Vᵀ, exactly symmetric."""
    return symmetric_part((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def exp(a: Array) -> Array:
    """Matrix exponential of symmetric matrices."""
    values, vectors = eigh(a)
    return rebuild(np.exp(values), vectors)


def log(a: Array) -> Array:
    """Matrix logarithm of positive definite matrices; NaN for a matrix that is not."""
    values, vectors = eigh(a)
    positive = (values > 0).all(axis=-1, keepdims=True)
    return rebuild(np.log(np.where(positive, values, np.nan)), vectors)


# --- fused sums ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogSum:
    """Sum of the matrix logarithms of n records y_i = w x_i wᵀ, and what a certificate needs to know."""

    total: Array
    count: int
    smallest: float  # smallest eigenvalue of all y_i (NaN if a record is not finite)
    conditioning: float  # sum of ‖ |w| |x_i| |w|ᵀ ‖ / (smallest eigenvalue of y_i)
    squares: float  # sum of ‖log y_i‖²
    asymmetry: float  # > 0 if some record is not symmetric within SYMMETRY_TOL

    @property
    def is_valid(self) -> bool:
        """Every record was symmetric and positive definite."""
        return self.smallest > np.finfo(float).tiny and self.asymmetry <= 0.0 and np.isfinite(self.squares)

    @property
    def rounding(self) -> float:
        """Bound on the error of `total / count` in Frobenius norm, first order in the unit roundoff u.

        Forming y_i errs by at most 2(k+1)u of ‖ |w| |x_i| |w|ᵀ ‖, its eigendecomposition by a stated 2ku
        (observed below 5u); the logarithm magnifies both by at most 1 / (smallest eigenvalue). Adding up
        errs by less than u times the longest chain of additions. Checked against 50 digits in the tests.
        """
        k, n = len(self.total), self.count
        chain = _grain(k) // 32 + 32 + n // _grain(k) + 2 * k
        return UNIT_ROUNDOFF * (4 * (k + 1) * self.conditioning / n + chain * (self.squares / n) ** 0.5)


def sum_logs(x: NDArray[Any], w: Array | None = None) -> LogSum:
    """Sum over i of log(w x_i wᵀ), w lower triangular (default: the identity), for x of shape (n, k, k).

    Never holds more than a block of n matrices beside the input.
    """
    n, k = len(x), x.shape[-1]
    factor = np.eye(k) if w is None else _floats(w)
    use_jacobi = k <= LARGEST_JACOBI and not _is_small(n, k)
    task = _jacobi_sum(x, factor, w is not None) if use_jacobi else _lapack_sum(x, factor, w is not None)
    parts = map_ranges(task, n, _grain(k))
    totals, stats = (np.array(column) for column in zip(*parts, strict=True))
    return LogSum(
        total=totals.sum(axis=0),
        count=n,
        smallest=float(stats[:, 0].min()),
        conditioning=float(stats[:, 1].sum()),
        squares=float(stats[:, 2].sum()),
        asymmetry=float(stats[:, 3].max()),
    )


_SumTask = Callable[[int, int], tuple[Array, Array]]


def _jacobi_sum(x: NDArray[Any], w: Array, whiten: bool) -> _SumTask:
    from riemdp.kernels import jacobi

    def task(start: int, stop: int) -> tuple[Array, Array]:
        total, stats = np.zeros(w.shape), np.array([np.inf, 0.0, 0.0, 0.0])
        jacobi.sum_logs(_floats(x[start:stop]), w, whiten, total, stats)
        return total, stats

    return task


def _lapack_sum(x: NDArray[Any], w: Array, whiten: bool) -> _SumTask:
    magnitude = np.abs(w)

    def task(start: int, stop: int) -> tuple[Array, Array]:
        block = _floats(x[start:stop])
        skew = asymmetry(block).max()
        with np.errstate(invalid="ignore", divide="ignore"):
            growth = ((np.sqrt(np.diagonal(block, axis1=1, axis2=2)) @ magnitude.T) ** 2).sum(axis=1)
            values, vectors = np.linalg.eigh(w @ block @ w.T if whiten else symmetric_part(block))
            logs = np.log(values)
            low = values[:, 0]
            stats = np.array([low.min(), (growth / low).sum(), (logs**2).sum(), skew])
        columns = vectors.transpose(1, 0, 2).reshape(len(w), -1)  # one product sums over the records
        return (columns * logs.reshape(-1)) @ columns.T, stats

    return task
