"""The Fréchet function around a point, summed over the logs of the records block by block.

Serves the spaces whose Hessian of rho²/2 is known per direction: sphere, hyperbolic space, planar shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import ROWS, Array, LocalModel

# Up to this dimension the Hessian is formed and solved; beyond, its two extreme eigenvalues stand for it.
LARGEST_HESSIAN = 1024


@dataclass(frozen=True)
class Block:
    """What a block of records contributes to the model at x."""

    logs: Array  # (m, d) coordinates of log_x
    rho: Array  # (m,) distances to x
    across: Array  # (m,) Hessian of rho²/2 across the geodesic
    special: Array  # (d, d) what the special directions add to sum(across) I
    lower: Array  # (m,) lower bound on that Hessian within reach of x
    error: Array  # (m,) bound on the rounding error of the logs, in units of roundoff


def along_geodesics(logs: Array, rho: Array, excess: Array) -> Array:
    """Sum of excess_i u_i u_iᵀ over the unit directions u_i of the logs."""
    if logs.shape[1] > LARGEST_HESSIAN:
        return np.zeros((0, 0))
    weight = excess / np.where(rho > 0, rho, 1.0) ** 2
    return np.asarray((logs * weight[:, None]).T @ logs)


def sum_blocks(block: Callable[[int, int], Block], n: int, reach: float) -> LocalModel:
    """Add up the blocks of n records."""

    def task(i: int, j: int) -> tuple[Array, Array, Array]:
        b = block(i, j)
        facts = np.array([b.across.sum(), b.lower.sum(), b.error.sum(), b.rho.sum()])
        return b.logs.sum(axis=0), b.special, facts

    parts = zip(*map_ranges(task, n, ROWS), strict=True)
    sums, special, facts = (np.sum(part, axis=0) / n for part in parts)
    across, convexity, error, length = facts
    return LocalModel(
        descent=sums,
        step=_solver(float(across), special),
        convexity=float(convexity),
        reach=reach,
        rounding=rounding(float(error), float(length), n),
    )


def rounding(error: float, length: float, n: int) -> float:
    """Bound on the error of a mean of n logs of this mean length, each wrong by `error` units of roundoff.

    A block adds its rows one after the other: a chain of at most ROWS roundings, then one per block.
    """
    return UNIT_ROUNDOFF * (error + (min(n, ROWS) + n // ROWS) * length)


def _solver(across: float, special: Array) -> Callable[[Array], Array]:
    if special.size == 0:
        return lambda g: g * 2 / (1 + max(across, 0.0))
    values, vectors = np.linalg.eigh(across * np.eye(len(special)) + special)
    # Away from the mean the Hessian of a positively curved space may be indefinite: keep a descent direction.
    return lambda g: vectors @ ((vectors.T @ g) / np.maximum(values, 0.1))

