"""Cyclic Jacobi over blocks of tiny symmetric matrices.

Jacobi rather than QL because every matrix of a block does the same rotations in the same order, and because
it finds the small eigenvalues of graded positive definite matrices to high relative accuracy
(Demmel and Veselić 1992).
"""

from __future__ import annotations

import math

import numpy as np

from riemdp.kernels.blocks import NEVER_ZERO, Array, helper, inlined, largest, rotate
from riemdp.kernels.constants import LANES

MAX_SWEEPS = 30
# What counts is an entry over the gap between its diagonal entries, which is the rotation's angle, and over their
# geometric mean. A sweep leaves products of two of those: when they are below SMALL, and the angles so small that their
# series needs no root, a last round of rotations leaves less than the unit roundoff.
SMALL, SMALL_ANGLE, NEGLIGIBLE = 5e-17, 1e-4, 1e-32
LARGEST_SQUARE = 1.21 * SMALL_ANGLE**2  # of an angle in that round, which moves the gaps a little
# By then positive definite matrices have converged; in an indefinite one a diagonal entry may be nothing but dust,
# and only the angles count.
LAST_SCALED_SWEEP = 8
# Rows of the state.
COSINE, SINE, WORST, ACTIVE = range(4)


@inlined
def _angles(a: Array, p: int, q: int, state: Array) -> None:
    """Rotations that annihilate a[p, q] in active lanes.

    In three loops: a processor looks ahead over a limited number of operations, and sees more lanes of short ones.
    """
    for lane in range(LANES):
        d, r = a[q, q, lane] - a[p, p, lane], a[p, q, lane]
        root = abs(d) + math.sqrt(d * d + 4.0 * r * r) + NEVER_ZERO
        state[COSINE, lane] = root if d >= 0.0 else -root
    for lane in range(LANES):
        x, y, r, active = a[p, p, lane], a[q, q, lane], a[p, q, lane], state[ACTIVE, lane]
        tangent = active * (2.0 * r / state[COSINE, lane])
        # Between equal eigenvalues even dust asks for a half turn.
        t = tangent if r * r > NEGLIGIBLE * abs(x * y) else 0.0
        state[SINE, lane] = t
        a[p, p, lane] = x - t * r
        a[q, q, lane] = y + t * r
        a[p, q, lane] = (1.0 - active) * r
    for lane in range(LANES):
        t = state[SINE, lane]
        cosine = 1.0 / math.sqrt(1.0 + t * t)
        state[COSINE, lane] = cosine
        state[SINE, lane] = t * cosine


@inlined
def _apply(a: Array, v: Array, p: int, q: int, state: Array) -> None:
    """Rotate the rows and columns p and q of `a`, but for what they have in common, and the rows of `v`."""
    k = a.shape[0]
    for i in range(p):
        rotate(a, i, p, i, q, state)
    for i in range(p + 1, q):
        rotate(a, p, i, i, q, state)
    for i in range(q + 1, k):
        rotate(a, p, i, q, i, state)
    for i in range(k):
        rotate(v, p, i, q, i, state)


@inlined
def _entries(a: Array, state: Array, scaled: float) -> None:
    """By how much the square of an entry exceeds what it may be if all entries are as large."""
    k = a.shape[0]
    for lane in range(LANES):
        state[WORST, lane] = 0.0
    for p in range(k - 1):
        for q in range(p + 1, k):
            for lane in range(LANES):
                x, y, r, worst = a[p, p, lane], a[q, q, lane], a[p, q, lane], state[WORST, lane]
                gap, size = (y - x) * (y - x), abs(x * y)
                limit = SMALL * (scaled * size if scaled * size < gap and scaled > 0.0 else gap)
                excess = r * r - (limit + NEGLIGIBLE * size)
                state[WORST, lane] = excess if excess > worst else worst


@inlined
def _square_of_ratio(x: float, y: float, r: float, scaled: float) -> float:
    """r², r between x and y on the diagonal, over the square of their gap or, if less, of their geometric mean."""
    gap, size = (y - x) * (y - x), abs(x * y)
    unit = scaled * size if scaled * size < gap and scaled > 0.0 else gap
    return r * r / (unit + NEVER_ZERO) if r * r > NEGLIGIBLE * size else 0.0


@inlined
def _products(a: Array, state: Array, scaled: float) -> None:
    """By how much one of the three, or the product of two, exceeds what it may: as a rule one is by far the largest."""
    for lane in range(LANES):
        x, y, z = a[0, 0, lane], a[1, 1, lane], a[2, 2, lane]
        f = _square_of_ratio(x, y, a[0, 1, lane], scaled)
        g = _square_of_ratio(x, z, a[0, 2, lane], scaled)
        h = _square_of_ratio(y, z, a[1, 2, lane], scaled)
        state[WORST, lane] = max(max(f, g, h) - SMALL_ANGLE**2, max(f * g, f * h, g * h) - SMALL**2)


@inlined
def _still_active(a: Array, state: Array, scaled: float) -> bool:
    """Which lanes have an entry that is not small yet; returns whether there are any."""
    k = a.shape[0]
    if k == 3:
        _products(a, state, scaled)
    else:
        _entries(a, state, scaled)
    for lane in range(LANES):
        state[ACTIVE, lane] = 1.0 if state[WORST, lane] > 0.0 else 0.0
    return bool(largest(state, ACTIVE) > 0.0)


@inlined
def _small_angles(a: Array, p: int, q: int, state: Array) -> None:
    """Rotations that annihilate a[p, q], by angles of which a few terms of the series are exact.

    Between equal eigenvalues the rotations before, of the same sweep, may have raised dust that asks for a large angle,
    of which the series would not be a rotation: dust is left out instead.
    """
    for lane in range(LANES):
        x, y, r = a[p, p, lane], a[q, q, lane], a[p, q, lane]
        gap = y - x
        angle = r / (gap if gap != 0.0 else 1.0)
        tangent = angle - angle * angle * angle
        t = tangent if r * r > NEGLIGIBLE * abs(x * y) and angle * angle < LARGEST_SQUARE else 0.0
        a[p, p, lane] = x - t * r
        a[q, q, lane] = y + t * r
        a[p, q, lane] = 0.0
        cosine = 1.0 - 0.5 * t * t
        state[COSINE, lane] = cosine
        state[SINE, lane] = t * cosine


@inlined
def _sweep(a: Array, v: Array, state: Array, is_last: bool) -> None:
    """One cyclic sweep, the last one by angles so small that series are exact; row p of `v` is the p-th eigenvector."""
    k = a.shape[0]
    for p in range(k - 1):
        for q in range(p + 1, k):
            if is_last:
                _small_angles(a, p, q, state)
            else:
                _angles(a, p, q, state)
            _apply(a, v, p, q, state)


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
    for sweep in range(MAX_SWEEPS):
        _sweep(a, v, state, False)
        if k <= 2 or (sweep > 1 and not _still_active(a, state, 1.0 if sweep < LAST_SCALED_SWEEP else 0.0)):
            break  # two sweeps are hardly ever enough: not worth asking
    if k > 2:
        _sweep(a, v, state, True)
    for i in range(k):
        for lane in range(LANES):
            d[i, lane] = a[i, i, lane]
