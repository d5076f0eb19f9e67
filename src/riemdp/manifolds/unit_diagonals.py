"""exp(S + D) with the diagonal D for which its diagonal is 1: many searches side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import symmetric_part
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import Array
from riemdp.manifolds.scalars import log_sinhc

MOST_STEPS = 200  # of a search; Newton's method takes fewer than 20
AT_ONCE = 2**19  # numbers that a step may hold for its block of searches


def unit_diagonal_exp(hollow: Array) -> Array:
    """exp(S + D), D the only diagonal for which its diagonal is 1 (Archakov and Hansen 2021, Theorem 1).

    Newton's method for log diag exp(S + D) = 0, and where it does not help the step -log diag, a contraction. A matrix
    that is not finite is NaN; no matrix's result depends on the others.
    """
    k = hollow.shape[-1]
    flat = hollow.reshape(-1, k, k)
    finite = np.asarray(np.isfinite(flat).all(axis=(1, 2)))
    grain = max(1, AT_ONCE // k**3)
    starts = np.where(finite[:, None, None], flat, 0.0)
    found = np.concatenate(map_ranges(lambda i, j: _search(starts[i:j]).exponential, len(flat), grain))
    return np.where(finite[:, None, None], found, np.nan).reshape(hollow.shape)


def _search(hollow: Array) -> _Searches:
    """Each goes on as long as a step brings it closer."""
    searches, going = _Searches.of(hollow, np.zeros(hollow.shape[:-1])), np.arange(len(hollow))
    for _ in range(MOST_STEPS):
        here = searches[going]
        ahead = here.ahead(hollow[going])
        closer = ahead.size < here.size
        going = going[closer]
        if not len(going):
            break
        searches.put(going, ahead[closer])
    return searches


@dataclass(frozen=True, eq=False)
class _Searches:
    """Diagonals D (n, k), and exp(S + D) by its eigenvalues, in rising order, and eigenvectors."""

    diagonal: Array
    values: Array
    frame: Array

    @classmethod
    def of(cls, hollow: Array, diagonal: Array) -> _Searches:
        return cls(diagonal, *np.linalg.eigh(hollow + diagonal[..., None] * np.eye(hollow.shape[-1])))

    def __getitem__(self, chosen: Array) -> _Searches:
        return _Searches(self.diagonal[chosen], self.values[chosen], self.frame[chosen])

    def put(self, chosen: Array, other: _Searches) -> None:
        """Put other searches in the place of the chosen ones."""
        self.diagonal[chosen], self.values[chosen], self.frame[chosen] = other.diagonal, other.values, other.frame

    def ahead(self, hollow: Array) -> _Searches:
        """After Newton's step, or where that does not help after the contraction."""
        ahead = self._after(hollow, self._newton_step())
        stuck = np.flatnonzero(~(ahead.size < self.size))
        if len(stuck):
            ahead.put(stuck, self[stuck]._after(hollow[stuck], self.log_diagonal[stuck]))
        return ahead

    def _after(self, hollow: Array, step: Array) -> _Searches:
        """With other diagonals; the same ones where the step is lost."""
        usable = np.isfinite(step).all(axis=-1, keepdims=True)
        return _Searches.of(hollow, self.diagonal - np.where(usable, step, 0.0))

    @property
    def _scaled(self) -> Array:
        """Exponentials of the eigenvalues, the largest 1, so that nothing overflows."""
        return np.asarray(np.exp(self.values - self.values[:, -1:]))

    @property
    def log_diagonal(self) -> Array:
        """Log diag exp(S + D)."""
        return np.asarray(self.values[:, -1:] + np.log((self.frame**2 @ self._scaled[..., None])[..., 0]))

    @property
    def size(self) -> Array:
        """How far from 0 it is."""
        return np.asarray(np.abs(self.log_diagonal).max(axis=-1))

    def _newton_step(self) -> Array:
        """The step of the linearised equation."""
        response = diagonal_response(self.frame, exp_slopes(self.values - self.values[:, -1:]))
        return _solve(response / (self.frame**2 @ self._scaled[..., None]), self.log_diagonal)

    @property
    def exponential(self) -> Array:
        """exp(S + D), eigenvalues lost to rounding raised as in `matrix_exp`."""
        floor = self.values[:, -1:] + math.log(8 * self.values.shape[1] * UNIT_ROUNDOFF)
        raised = np.exp(np.maximum(self.values, floor))
        return symmetric_part((self.frame * raised[:, None, :]) @ np.swapaxes(self.frame, 1, 2))


def _solve(rows: Array, right: Array) -> Array:
    """Solutions of linear equations; NaN for those without one, which LAPACK finds by halves."""
    try:
        return np.asarray(np.linalg.solve(rows, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        if len(rows) == 1:
            return np.full_like(right, np.nan)
        half = len(rows) // 2
        return np.concatenate([_solve(rows[:half], right[:half]), _solve(rows[half:], right[half:])])


def diagonal_response(frame: Array, slopes: Array) -> Array:
    """h_ij: how the i-th diagonal entry of exp moves with the j-th of its argument."""
    k = frame.shape[-1]
    pairs = (frame[..., :, :, None] * frame[..., :, None, :]).reshape(*frame.shape[:-1], k * k)
    weighted = pairs * slopes.reshape(*slopes.shape[:-2], 1, k * k)
    return np.asarray(weighted @ np.swapaxes(pairs, -1, -2))


def exp_slopes(values: Array) -> Array:
    """Divided differences (e^a - e^b)/(a - b) = e^{(a+b)/2} sinhc((a - b)/2) of all pairs."""
    a, b = values[..., :, None], values[..., None, :]
    return np.exp((a + b) / 2 + log_sinhc((a - b) / 2))
