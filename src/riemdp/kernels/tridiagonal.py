"""Householder tridiagonalisation and implicit QL over blocks of symmetric matrices, compiled with numba.

For matrices that are not tiny this does a quarter of the work of Jacobi's method. As there, a block is a
structure of arrays and the innermost loops run across it; each lane stops by itself, so that the result for a
matrix does not depend on the others of its block (after EISPACK's tred2 and tql2).
"""

from __future__ import annotations

import math

import numpy as np

from riemdp.kernels.blocks import NEVER_ZERO, Array, helper, inlined, largest, rotate
from riemdp.kernels.constants import LANES

MAX_ITERATIONS = 60
ROUNDOFF = 2.0**-53
# Rows of the state.
COSINE, SINE, NEXT_COSINE, NEXT_SINE, G, S, C, P, SPLIT, CORNER = range(10)


@inlined
def _reflector(a: Array, j: int, u: Array, beta: Array) -> None:
    """u, beta: I - beta u uᵀ takes row j of `a`, right of the diagonal, to a multiple of its first entry."""
    k = a.shape[0]
    for lane in range(LANES):
        beta[lane] = 0.0
    for i in range(j + 1, k):
        for lane in range(LANES):
            u[i, lane] = a[j, i, lane]
            beta[lane] += u[i, lane] * u[i, lane]
    for lane in range(LANES):
        length, first = math.sqrt(beta[lane]), u[j + 1, lane]
        target = length if first < 0.0 else -length
        size = beta[lane] - first * target
        usable = size > NEVER_ZERO
        u[j + 1, lane] = first - target
        inverse = 1.0 / (size if usable else 1.0)
        beta[lane] = inverse if usable else 0.0
        a[j, j + 1, lane] = target if usable else first


@inlined
def _reflect(a: Array, j: int, u: Array, w: Array, beta: Array, dot: Array) -> None:
    """a <- (I - beta u uᵀ) a (I - beta u uᵀ) on the rows and columns after j (upper triangle)."""
    k = a.shape[0]
    for i in range(j + 1, k):
        for lane in range(LANES):
            w[i, lane] = a[i, i, lane] * u[i, lane]
    for i in range(j + 1, k):
        for m in range(i + 1, k):
            for lane in range(LANES):
                entry = a[i, m, lane]
                upper, lower = w[i, lane] + entry * u[m, lane], w[m, lane] + entry * u[i, lane]
                w[i, lane] = upper
                w[m, lane] = lower
    for lane in range(LANES):
        dot[lane] = 0.0
    for i in range(j + 1, k):
        for lane in range(LANES):
            w[i, lane] *= beta[lane]
            dot[lane] += u[i, lane] * w[i, lane]
    for i in range(j + 1, k):
        for lane in range(LANES):
            w[i, lane] -= 0.5 * beta[lane] * dot[lane] * u[i, lane]
    for i in range(j + 1, k):
        for m in range(i, k):
            for lane in range(LANES):
                a[i, m, lane] -= u[i, lane] * w[m, lane] + w[i, lane] * u[m, lane]


@helper
def tridiagonalise(a: Array, v: Array, d: Array, e: Array) -> None:
    """a = vᵀ T v, T tridiagonal with diagonal d and off-diagonal e; row p of `v` is the p-th basis vector."""
    k = a.shape[0]
    u, w, betas, dot = np.empty((k, LANES)), np.empty((k, LANES)), np.empty((k, LANES)), np.empty(LANES)
    for j in range(k - 2):
        _reflector(a, j, u, betas[j])
        _reflect(a, j, u, w, betas[j], dot)
        for i in range(j + 1, k):  # below the diagonal there is room for the reflectors
            for lane in range(LANES):
                a[i, j, lane] = u[i, lane]
    for i in range(k):
        for lane in range(LANES):
            d[i, lane] = a[i, i, lane]
            e[i, lane] = a[i, i + 1, lane] if i + 1 < k else 0.0
    _accumulate_reflectors(a, v, betas, dot)


@inlined
def _accumulate_reflectors(a: Array, v: Array, betas: Array, dot: Array) -> None:
    """v <- product of the reflectors, from the last to the first, which touch ever more rows and columns."""
    k = a.shape[0]
    for i in range(k):
        for m in range(k):
            for lane in range(LANES):
                v[i, m, lane] = 1.0 if i == m else 0.0
    for j in range(k - 3, -1, -1):
        for i in range(j + 1, k):
            for lane in range(LANES):
                dot[lane] = 0.0
            for m in range(j + 1, k):
                for lane in range(LANES):
                    dot[lane] += v[i, m, lane] * a[m, j, lane]
            for lane in range(LANES):
                dot[lane] *= betas[j, lane]
            for m in range(j + 1, k):
                for lane in range(LANES):
                    v[i, m, lane] -= dot[lane] * a[m, j, lane]


@inlined
def _find_split(d: Array, e: Array, l: int, state: Array) -> int:
    """The first index from l on after which each lane decouples, and its diagonal entry; returns the largest."""
    k = d.shape[0]
    for lane in range(LANES):
        state[SPLIT, lane] = k - 1.0
        state[CORNER, lane] = d[k - 1, lane]
    for m in range(k - 2, l - 1, -1):
        for lane in range(LANES):
            here, off = d[m, lane], abs(e[m, lane])
            negligible = off <= ROUNDOFF * (abs(here) + abs(d[m + 1, lane]))
            state[SPLIT, lane] = m if negligible else state[SPLIT, lane]
            state[CORNER, lane] = here if negligible else state[CORNER, lane]
    return int(largest(state, SPLIT))


@inlined
def _shift(d: Array, e: Array, l: int, state: Array) -> None:
    """Wilkinson's shift for each lane, and the start of its chase."""
    for lane in range(LANES):
        off, here = e[l, lane], d[l, lane]
        step = (d[l + 1, lane] - here) / (2.0 * (off if off != 0.0 else 1.0))
        root = math.sqrt(step * step + 1.0)
        state[G, lane] = state[CORNER, lane] - here + off / (step + (root if step >= 0.0 else -root))
        state[S, lane] = 1.0
        state[C, lane] = 1.0
        state[P, lane] = 0.0


@inlined
def _chase(d: Array, e: Array, i: int, state: Array, row: int) -> None:
    """The plane rotation of rows i, i + 1 (cosine and sine in two rows of the state) in the lanes below their split.

    All branches are selections, so that the loop vectorises. A chase that meets a zero ends there (SPLIT = -1).
    """
    for lane in range(LANES):
        end, g, s, c, p = state[SPLIT, lane], state[G, lane], state[S, lane], state[C, lane], state[P, lane]
        here, beneath, off, old = d[i, lane], d[i + 1, lane], e[i, lane], e[i + 1, lane]
        live, inner = i < end, i + 1 < end
        f, b = s * off, c * off
        r = math.sqrt(f * f + g * g)
        lost = r == 0.0
        inverse = 1.0 / (1.0 if lost else r)
        sine, ratio = f * inverse, g * inverse
        cosine = 1.0 if lost else ratio
        below = beneath - p
        turn = (here - below) * sine + 2.0 * cosine * b
        t = 0.0 if lost else turn
        product, rest = sine * t, cosine * t - b
        raised, ended = below + product, -1.0 if lost else end
        e[i + 1, lane] = r if inner else old
        d[i + 1, lane] = raised if live else beneath
        state[P, lane] = product if live else p
        state[G, lane] = rest if live else g
        state[S, lane] = sine if live else s
        state[C, lane] = cosine if live else c
        state[row, lane] = cosine if live else 1.0
        state[row + 1, lane] = sine if live else 0.0
        state[SPLIT, lane] = ended if live else end


@inlined
def _rotate_twice(v: Array, i: int, state: Array) -> None:
    """The rotations of rows i, i + 1 and then of rows i - 1, i, with one trip through memory."""
    for m in range(v.shape[1]):
        for lane in range(LANES):
            x, y, z = v[i - 1, m, lane], v[i, m, lane], v[i + 1, m, lane]
            c, s, c_next, s_next = state[0, lane], state[1, lane], state[2, lane], state[3, lane]
            middle = c * y - s * z
            v[i + 1, m, lane] = s * y + c * z
            v[i, m, lane] = s_next * x + c_next * middle
            v[i - 1, m, lane] = c_next * x - s_next * middle


@helper
def implicit_ql(d: Array, e: Array, v: Array) -> None:
    """Eigenvalues of the tridiagonal matrix in d; the rows of `v` turn into eigenvectors.

    The two rotations of a pair may be rounded differently. So which ones make a pair follows from k and l alone, not
    from where the other lanes of the block split.
    """
    k, state = d.shape[0], np.empty((10, LANES))
    for l in range(k - 1):
        for _ in range(MAX_ITERATIONS):
            last = _find_split(d, e, l, state)
            if last == l:
                break
            _shift(d, e, l, state)
            for i in range(last - 1 + (k - 1 - last) % 2, l, -2):
                _chase(d, e, i, state, COSINE)
                _chase(d, e, i - 1, state, NEXT_COSINE)
                _rotate_twice(v, i, state)
            if (k - 1 - l) % 2 == 1:
                _chase(d, e, l, state, COSINE)
                for m in range(k):
                    rotate(v, l, m, l + 1, m, state)
            for lane in range(LANES):
                moved, here, off = state[SPLIT, lane] > l, d[l, lane], e[l, lane]
                d[l, lane] = here - state[P, lane] if moved else here
                e[l, lane] = state[G, lane] if moved else off
