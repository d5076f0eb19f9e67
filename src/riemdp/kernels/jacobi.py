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
# A sweep squares the rotations' angles: when all were below sqrt(SMALL_ANGLE) before it (an entry over the gap
# between its diagonal entries), or the entries negligible, what is left after it is under the unit roundoff.
SMALL_ANGLE, NEGLIGIBLE = 1e-18, 1e-32
# Rows of the state.
COSINE, SINE, WORST, ACTIVE = range(4)


@inlined
def _angles(a: Array, p: int, q: int, state: Array) -> None:
    """Rotations that annihilate a[p, q] in active lanes; WORST > 0 where it was not yet negligible."""
    for lane in range(LANES):
        x, y, r, active = a[p, p, lane], a[q, q, lane], a[p, q, lane], state[ACTIVE, lane]
        d, worst, negligible = y - x, state[WORST, lane], NEGLIGIBLE * abs(x * y)
        excess = r * r - (SMALL_ANGLE * d * d + negligible)
        state[WORST, lane] = excess if excess > worst else worst
        root = abs(d) + math.sqrt(d * d + 4.0 * r * r) + TINY
        tangent = active * (2.0 * r / (root if d >= 0.0 else -root))
        t = tangent if r * r > negligible else 0.0  # between equal eigenvalues even dust asks for a half turn
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
