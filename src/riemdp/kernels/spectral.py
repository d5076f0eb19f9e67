"""Spectral functions of many small symmetric matrices: the fastest of three ways, chosen by size.

Small inputs go through NumPy, so that nobody waits for a compiler, unless the compiled code is loaded already;
larger ones through the compiled blocks; matrices too large for those through LAPACK in threads.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from riemdp.kernels.constants import (
    ASYMMETRY,
    CONDITIONING,
    LANES,
    LARGEST_JACOBI,
    SMALLEST,
    SMALLEST_NORMAL,
    SQUARES,
    SYMMETRY_TOL,
    UNIT_ROUNDOFF,
)
from riemdp.kernels.hermitian import in_real_form, spectrum_in_real_form
from riemdp.kernels.threads import map_ranges, one_blas_thread

Array = NDArray[Any]
T = TypeVar("T")
# Symmetric matrices: eigenvalues, and eigenvectors in columns; complex ones if the matrices stand for complex ones.
Decomposition = Callable[[Array], tuple[Array, Array]]

# Measured: below, loading the compiled code takes longer than it saves; above, LAPACK overtakes it.
SMALL_WORK = 2**18
TINY_WORK = 2**14  # not worth a call
ONE_THREAD = 2**17  # compiled code below this is done before a second thread has woken up
LARGEST_COMPILED = 40
# So many records, of at most so many rows, are worth a call of code that is loaded, however little there is to do.
WORTH_A_CALL = {"symmetric": (8, LARGEST_JACOBI), "cholesky": (1, LARGEST_COMPILED)}
LAST = {"symmetric": "record_logs", "cholesky": "sum_factors"}  # the last definitions of modules: they are loaded
# The eigenvectors of so many records (in numbers) are kept for whoever needs them next.
KEEP = 2**20


_records: ContextVar[int | None] = ContextVar("riemdp_records", default=None)


@contextmanager
def kernels_for(records: int) -> Iterator[None]:
    """What is computed here takes the code that suits so many records, however few there are at a time.

    The two ways differ in the last bits. Within it these follow from a public number alone, and not from what this
    process happens to have loaded before.
    """
    token = _records.set(records)
    try:
        yield
    finally:
        _records.reset(token)


def kernels_chosen_for(records: int) -> int:
    """The number of records by which the code is chosen here: that of the surrounding `kernels_for`, or this one."""
    surrounding = _records.get()
    return records if surrounding is None else surrounding


def without_waiting() -> AbstractContextManager[None]:
    """What is computed here does not use the compiled code, which may have to be compiled first."""
    return kernels_for(0)


def _compiled(n: int, k: int, code: str = "symmetric", worth_loading: int | None = None) -> bool:
    """Worth loading the compiled code for; or, once it is loaded, worth more than a call."""
    if k > LARGEST_COMPILED:
        return False
    records = _records.get()
    if records is not None:
        return records * k**3 >= SMALL_WORK
    work = n * k**3
    if work >= (worth_loading or SMALL_WORK):
        return True
    fewest, largest = WORTH_A_CALL[code]
    return (work >= TINY_WORK or (n >= fewest and k <= largest)) and _is_loaded(code)


def _is_loaded(code: str) -> bool:
    return hasattr(sys.modules.get(f"riemdp.kernels.{code}"), LAST[code])


def _grain(n: int, k: int) -> int:
    """Records per task: eight tasks, or more of a few milliseconds each; a single one if there is little to do."""
    if _compiled(n, k):
        eighth = LANES * -(-n // (8 * LANES)) if n * k**3 >= ONE_THREAD else n
        return min(eighth, max(LANES, 2**20 // k**3 // LANES * LANES))
    return max(1, n) if n * k**3 < TINY_WORK else max(8, min(1024, -(-n // 4)))


def _run(task: Callable[[int, int], T], n: int, k: int) -> list[T]:
    """The tasks in threads."""
    return in_tasks(task, n, _grain(n, k))


def in_tasks(task: Callable[[int, int], T], n: int, grain: int) -> list[T]:
    """Tasks of so many records in threads, with those of BLAS and LAPACK off, which would fight with ours."""
    if grain >= n:
        return map_ranges(task, n, grain)
    with one_blas_thread():
        return map_ranges(task, n, grain)


def _floats(block: NDArray[Any]) -> Array:
    return np.ascontiguousarray(block, dtype=np.float64)


def symmetric_part(a: Array) -> Array:
    """(a + aᵀ) / 2 without overflow."""
    return np.asarray(0.5 * a + 0.5 * np.swapaxes(a, -1, -2))


def asymmetry(a: Array) -> Array:
    """By how much |a_ij - a_ji| exceeds the tolerance SYMMETRY_TOL (|a_ii| + |a_jj|), at worst; shape a.shape[:-2]."""
    if (a == np.swapaxes(a, -1, -2)).all():  # the rule, and quickly seen
        return np.zeros(a.shape[:-2])
    size = np.abs(np.diagonal(a, axis1=-2, axis2=-1))
    allowed = SYMMETRY_TOL * (size[..., :, None] + size[..., None, :])
    return np.asarray((np.abs(a - np.swapaxes(a, -1, -2)) - allowed).max(axis=(-2, -1), initial=0.0))


# --- eigenvalues, logarithms, exponentials of a batch ----------------------------------------------------


def eigh(a: Array) -> tuple[Array, Array]:
    """Eigenvalues (in no particular order) and eigenvectors (columns) of symmetric matrices (..., k, k).

    A matrix that is not finite has NaN for eigenvalues and does not disturb the others.
    """
    k = a.shape[-1]
    flat, usable = a.reshape(-1, k, k), None
    if not np.isfinite(flat).all():
        usable = np.asarray(np.isfinite(flat).all(axis=(1, 2)))
        flat = np.where(usable[:, None, None], flat, np.eye(k))
    n = len(flat)
    values, vectors = np.empty((n, k)), np.empty((n, k, k))
    _run(_eigh_task(flat, values, vectors), n, k)
    if usable is not None:
        values[~usable] = np.nan
    return values.reshape(a.shape[:-1]), vectors.reshape(a.shape)


def _eigh_task(x: Array, values: Array, vectors: Array) -> Callable[[int, int], None]:
    if not _compiled(*x.shape[:2]):

        def lapack(i: int, j: int) -> None:
            try:
                values[i:j], vectors[i:j] = np.linalg.eigh(x[i:j])
            except np.linalg.LinAlgError:  # one matrix spoils its stack: find it by halves, leave it NaN
                values[i:j] = vectors[i:j] = np.nan
                if j - i > 1:
                    lapack(i, (i + j) // 2)
                    lapack((i + j) // 2, j)

        return lapack
    from riemdp.kernels import symmetric

    return lambda i, j: symmetric.eigh(_floats(x[i:j]), values[i:j], vectors[i:j])


def rebuild(values: Array, vectors: Array) -> Array:
    """V diag(values) Vᵀ, exactly symmetric."""
    n, k = math.prod(values.shape[:-1]), values.shape[-1]
    if k <= LARGEST_JACOBI and _compiled(n, k):
        return _compiled_rebuild(values.reshape(n, k), vectors.reshape(n, k, k)).reshape(vectors.shape)
    return symmetric_part((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _compiled_rebuild(values: Array, vectors: Array) -> Array:
    from riemdp.kernels import symmetric

    out = np.empty(vectors.shape)
    values, vectors = _floats(values), _floats(vectors)
    _run(lambda i, j: symmetric.rebuild(values[i:j], vectors[i:j], out[i:j]), *values.shape)
    return out


def exp(a: Array) -> Array:
    """Matrix exponential of symmetric matrices."""
    values, vectors = eigh(a)
    return rebuild(np.exp(values), vectors)


def log(a: Array) -> Array:
    """Matrix logarithm of positive definite matrices; NaN for a matrix that is not."""
    values, vectors = eigh(a)
    positive = (values > 0).all(axis=-1, keepdims=True)
    return rebuild(np.log(np.where(positive, values, np.nan)), vectors)


def positive_definite(a: Array) -> NDArray[np.bool_]:
    """Mask of the symmetric matrices that have a Cholesky factor, without an exception for those that don't."""
    flat = a.reshape(-1, *a.shape[-2:])
    finite = np.asarray(np.isfinite(flat).all(axis=(-2, -1)))
    try:
        np.linalg.cholesky(flat[finite])
    except np.linalg.LinAlgError:
        finite[finite] = [_has_cholesky(matrix) for matrix in flat[finite]]
    return np.asarray(finite.reshape(a.shape[:-2]))


def _has_cholesky(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def record_logs(x: Array, w: Array | None = None) -> tuple[Array, NDArray[np.bool_]]:
    """log(w x_i wᵀ) of each matrix by itself, and which x_i have a positive definite symmetric part.

    The logarithms are given as (diagonal, sqrt2·strict upper triangle); eigenvalues lost to rounding count as u
    times the largest. What stands for the logarithm of a matrix that is not positive definite means nothing.
    """
    n, k = len(x), x.shape[-1]
    factor = np.eye(k) if w is None else _floats(w)
    logs = np.empty((n, k * (k + 1) // 2))
    make_task = _compiled_logs if _compiled(n, k) else _lapack_logs
    return logs, np.concatenate(_run(make_task(x, factor, w is not None, logs), n, k))


def _compiled_logs(x: Array, w: Array, whiten: bool, out: Array) -> Callable[[int, int], NDArray[np.bool_]]:
    from riemdp.kernels import symmetric

    return lambda i, j: symmetric.record_logs(_floats(x[i:j]), w, whiten, out[i:j]) > 0


def _lapack_logs(x: Array, w: Array, whiten: bool, out: Array) -> Callable[[int, int], NDArray[np.bool_]]:
    k, (rows, columns) = len(w), np.triu_indices(len(w), 1)

    def task(i: int, j: int) -> NDArray[np.bool_]:
        block = symmetric_part(x[i:j])
        values, vectors = eigh(symmetric_part(w @ block @ w.T) if whiten else block)
        logs = rebuild(np.log(np.maximum(values, UNIT_ROUNDOFF * values.max(axis=-1, keepdims=True))), vectors)
        out[i:j, :k], out[i:j, k:] = np.diagonal(logs, axis1=1, axis2=2), math.sqrt(2) * logs[:, rows, columns]
        return positive_definite(block)

    return task


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
    moments: Array  # mean of the products of all pairs of entries of the upper triangles, if asked for
    hessian: Array  # mean Hessian of rho(., y_i)²/2 (affine-invariant) at the identity, in vecd's basis, if asked for
    spectrum: tuple[Array, Array] | None  # if few: logs of the eigenvalues and eigenvectors of all y_i, and no Hessian

    @property
    def is_valid(self) -> bool:
        """Every record was symmetric and positive definite."""
        finite = math.isfinite(self.squares + self.conditioning)
        return self.smallest > SMALLEST_NORMAL and self.asymmetry <= 0.0 and finite

    @property
    def rounding(self) -> float:
        """Bound on the error of `total / count` in Frobenius norm, first order in the unit roundoff u.

        Forming y_i errs by at most 2(k+1)u of ‖ |w| |x_i| |w|ᵀ ‖, its eigendecomposition by a stated 2ku
        (observed below 5u); the logarithm magnifies both by at most 1 / (smallest eigenvalue). Adding up
        errs by less than u times the longest chain of additions, with 8 to spare for whoever merges several sums.
        Checked against 50 digits in the tests.
        """
        k, n = len(self.total), self.count
        grain = _grain(n, k)
        chain = grain // (LANES if _compiled(n, k) else 1) + LANES + 8 + n // grain + 2 * k
        return UNIT_ROUNDOFF * (4 * (k + 1) * self.conditioning / n + chain * math.sqrt(self.squares / n))


def sum_logs(
    x: NDArray[Any],
    w: Array | None = None,
    *,
    moments: bool = False,
    hessian: bool = False,
    decompose: Decomposition = np.linalg.eigh,
) -> LogSum:
    """Sum over i of log(w x_i wᵀ), w lower triangular (default: the identity), for x of shape (n, k, k).

    Never holds more than a block of n matrices beside the input. Where LAPACK is used, `decompose` says how: matrices
    that are real forms of complex ones are half as large for it.
    """
    n, k = len(x), x.shape[-1]
    factor = np.eye(k) if w is None else _floats(w)
    asked = x, factor, w is not None, moments, hessian
    parts = _run(_compiled_sum(*asked) if _compiled(n, k) else _lapack_sum(*asked, decompose), n, k)
    stats = statistics([part.stats for part in parts])
    return LogSum(
        total=from_upper(added([part.total for part in parts])),
        count=n,
        smallest=stats[SMALLEST],
        conditioning=stats[CONDITIONING],
        squares=stats[SQUARES],
        asymmetry=stats[ASYMMETRY],
        moments=added([part.moments for part in parts]) / n,
        hessian=_one_plus(added([part.excess for part in parts]) / n),
        spectrum=_joined([part.spectrum for part in parts]),
    )


def added(parts: list[Array]) -> Array:
    """The sum of what the tasks found; of a single one, as it is."""
    return parts[0] if len(parts) == 1 else np.asarray(np.sum(parts, axis=0))


def statistics(parts: list[Array]) -> list[float]:
    """Those of all records from those of the tasks."""
    together = added(parts)
    if len(parts) > 1:
        together[SMALLEST], together[ASYMMETRY] = np.min(parts, axis=0)[SMALLEST], np.max(parts, axis=0)[ASYMMETRY]
    return list(together.tolist())


def mean_and_inverse(x: NDArray[Any]) -> tuple[Array, Array]:
    """Means of positive definite matrices, of shape (n, k, k), and of their inverses; no bound on the rounding."""
    n, k = len(x), x.shape[-1]
    sums = np.sum(_run(_compiled_inverses(x) if _compiled(n, k) else _lapack_inverses(x), n, k), axis=0)
    return from_upper(sums[0] / n), from_upper(sums[1] / n)


def _compiled_inverses(x: NDArray[Any]) -> Callable[[int, int], Array]:
    from riemdp.kernels import symmetric

    def task(start: int, stop: int) -> Array:
        sums = np.zeros((2, x.shape[-1] * (x.shape[-1] + 1) // 2))
        symmetric.sum_inverses(_floats(x[start:stop]), *sums)
        return sums

    return task


def _lapack_inverses(x: NDArray[Any]) -> Callable[[int, int], Array]:
    upper = _upper(x.shape[-1])

    def task(start: int, stop: int) -> Array:
        block = symmetric_part(_floats(x[start:stop]))
        return np.stack([block.sum(axis=0)[upper], np.linalg.inv(block).sum(axis=0)[upper]])

    return task


def from_upper(entries: Array) -> Array:
    """Symmetric matrix from its upper triangle, row by row (last axis)."""
    return np.asarray(entries[..., upper_index(upper_size(entries.shape[-1]))])


def upper_size(entries: int) -> int:
    """The k of a k x k matrix whose upper triangle has so many entries."""
    return (math.isqrt(8 * entries + 1) - 1) // 2


@cache
def _upper(k: int) -> tuple[Array, Array]:
    """Rows and columns of the upper triangle, row by row."""
    return np.triu_indices(k)


@cache
def upper_index(k: int) -> NDArray[np.int64]:
    """Position of entry (i, j) of a symmetric k x k matrix in its upper triangle, row by row."""
    index = np.zeros((k, k), dtype=np.int64)
    i, j = np.triu_indices(k)
    index[i, j] = index[j, i] = np.arange(len(i))
    return index


@dataclass(frozen=True)
class _Part:
    total: Array
    moments: Array
    excess: Array  # upper triangle of the Hessian minus 1
    stats: Array
    spectrum: tuple[Array, Array] | None = None


def _one_plus(entries: Array) -> Array:
    """The symmetric matrix with this upper triangle, plus the identity; nothing from nothing."""
    if not entries.size:
        return np.empty((0, 0))
    return from_upper(entries) + np.eye(upper_size(len(entries)))


def _joined(spectra: list[tuple[Array, Array] | None]) -> tuple[Array, Array] | None:
    kept = [spectrum for spectrum in spectra if spectrum is not None]
    if len(kept) < len(spectra):
        return None
    if len(kept) == 1:
        return kept[0]
    return np.concatenate([logs for logs, _ in kept]), np.concatenate([vectors for _, vectors in kept])


def _compiled_sum(
    x: NDArray[Any], w: Array, whiten: bool, with_moments: bool, with_hessian: bool
) -> Callable[[int, int], _Part]:
    from riemdp.kernels import symmetric

    def task(start: int, stop: int) -> _Part:
        sums = symmetric.sum_logs(_floats(x[start:stop]), w, whiten, with_moments, with_hessian)
        return _Part(sums.total, sums.uppers.T @ sums.uppers, sums.excess, sums.stats)

    return task


def _norm_bounds(x: Array, magnitude: Array) -> Array:
    """‖M‖, M = |w| |x| |w|ᵀ; for small matrices sqrt(bᵀ M b) >= ‖M‖, b = |w| sqrt(diag x), as the compiled code."""
    if len(magnitude) > LARGEST_JACOBI:
        return np.asarray(np.linalg.norm(magnitude @ np.abs(x) @ magnitude.T, axis=(1, 2)))
    b = np.sqrt(np.diagonal(x, axis1=1, axis2=2)) @ magnitude.T
    back = b @ magnitude
    return np.asarray(np.sqrt((np.abs(x) * back[:, :, None] * back[:, None, :]).sum(axis=(1, 2))))


def _lapack_sum(
    x: NDArray[Any], w: Array, whiten: bool, with_moments: bool, with_hessian: bool, decompose: Decomposition
) -> Callable[[int, int], _Part]:
    magnitude = np.abs(w)
    upper = _upper(len(w))
    entries, none = len(upper[0]), np.empty(0)
    keep = x.size <= KEEP or with_hessian

    def task(start: int, stop: int) -> _Part:
        block = _floats(x[start:stop])
        total, moments = np.zeros(entries), np.zeros((entries,) * 2 if with_moments else (0, 0))
        if not np.isfinite(block).all():
            return _Part(total, moments, none, np.array([np.nan, 0.0, 0.0, 0.0]))
        skew = asymmetry(block).max()
        block = symmetric_part(block)
        with np.errstate(all="ignore"):
            norms = _norm_bounds(block, magnitude) if whiten else np.trace(block, axis1=1, axis2=2)
            values, vectors = decompose(w @ block @ w.T if whiten else block)
            logs, low = np.log(values), values[:, 0]
            squares = len(w) // logs.shape[1] * np.vdot(logs, logs)  # those of complex matrices count twice
            stats = np.array([low.min(), (norms / low).sum(), squares, skew])
            columns = vectors.transpose(1, 0, 2).reshape(logs.shape[1], -1)  # one product sums over the records
            total = in_real_form((columns * logs.reshape(-1)) @ columns.conj().T)[upper]
            if with_moments:
                rows = rebuild(*spectrum_in_real_form(logs, vectors))[:, *upper]
                moments = rows.T @ rows
        return _Part(total, moments, none, stats, (logs, vectors) if keep else None)

    return task
