"""Cyclic Jacobi over blocks of tiny symmetric matrices.

Jacobi rather than QL because every matrix of a block does the same rotations in the same order, and because
it finds the small eigenvalues of graded positive definite matrices to high relative accuracy
(Demmel and Veselić 1992).
"""

from __future__ import annotations

import math

import numpy as np

from riemdp.kernels.blocks import LANES, TINY, Array, helper, inlined, largest, rotate

MAX_SWEEPS = 30
# A sweep squares the off-diagonal part: when all entries were below sqrt(this) times their diagonal
# entries before it, what is left after it is under the unit roundoff.
NEGLIGIBLE = 1e-18
# Rows of the state.
COSINE, SINE, WORST, ACTIVE = range(4)


@inlined
def _angles(a: Array, p: int, q: int, state: Array) -> None:
    """Rotations that annihilate a[p, q] in active lanes; WORST > 0 where it was not yet negligible."""
    for lane in range(LANES):
        x, y, r, active = a[p, p, lane], a[q, q, lane], a[p, q, lane], state[ACTIVE, lane]
        excess, worst = r * r - NEGLIGIBLE * abs(x * y), state[WORST, lane]
        state[WORST, lane] = excess if excess > worst else worst
        d = y - x
        root = abs(d) + math.sqrt(d * d + 4.0 * r * r) + TINY
        t = active * (2.0 * r / (root if d >= 0.0 else -root))
        cosine = 1.0 / math.sqrt(1.0 + t * t)
        state[COSINE, lane] = cosine
        state[SINE, lane] = t * cosine
        a[p, p, lane] = x - t * r
        a[q, q, lane] = y + t * r
        a[p, q, lane] = (1.0 - active) * r


@inlined
def _sweep(a: Array, v: Array, state: Array) -> None:
    """One cyclic sweep; row p of `v` is the p-th eigenvector."""
    k = a.shape[0]
    for p in range(k - 1):
        for q in range(p + 1, k):
            _angles(a, p, q, state)
            for i in range(p):
                rotate(a, i, p, i, q, state)
            for i in range(p + 1, q):
                rotate(a, p, i, i, q, state)
            for i in range(q + 1, k):
                rotate(a, p, i, q, i, state)
            for i in range(k):
                rotate(v, p, i, q, i, state)


@helper
def by_jacobi(a: Array, v: Array, d: Array) -> None:
    """Eigenvalues in d, eigenvectors in the rows of `v`; `a` is used up.

    A lane that has converged rests (rotations by 0) until all have, so that the result for a matrix does not
    depend, not even by rounding, on the others of its block: sensitivity proofs count on that.
    """
    k, state = a.shape[0], np.empty((4, LANES))
    for i in range(k):
        for j in range(k):
            for lane in range(LANES):
                v[i, j, lane] = 1.0 if i == j else 0.0
    for lane in range(LANES):
        state[ACTIVE, lane] = 1.0
    for _ in range(MAX_SWEEPS):
        for lane in range(LANES):
            state[WORST, lane] = 0.0
        _sweep(a, v, state)
        for lane in range(LANES):
            state[ACTIVE, lane] = 1.0 if state[WORST, lane] > 0.0 else 0.0
        if k <= 2 or largest(state, ACTIVE) == 0.0:
            break
    for i in range(k):
        for lane in range(LANES):
            d[i, lane] = a[i, i, lane]
