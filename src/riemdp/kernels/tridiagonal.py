"""Householder tridiagonalisation and implicit QL over blocks of symmetric matrices, compiled with numba.

For matrices that are not tiny this does a quarter of the work of Jacobi's method. As there, a block is a
structure of arrays and the innermost loops run across it; each lane stops by itself, so that the result for a
matrix does not depend on the others of its block (after EISPACK's tred2 and tql2).
"""

from __future__ import annotations

import math

import numpy as np

from riemdp.kernels.blocks import LANES, TINY, Array, helper, inlined, rotate

MAX_ITERATIONS = 60
ROUNDOFF = 2.0**-53


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
        length = math.sqrt(beta[lane])
        first = u[j + 1, lane]
        target = length if first < 0.0 else -length
        u[j + 1, lane] = first - target
        size = beta[lane] - first * target
        beta[lane] = 1.0 / size if size > TINY else 0.0
        a[j, j + 1, lane] = target if size > TINY else first


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
                w[i, lane] += a[i, m, lane] * u[m, lane]
            for lane in range(LANES):
                w[m, lane] += a[i, m, lane] * u[i, lane]
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
def _tridiagonalise(a: Array, v: Array, d: Array, e: Array) -> None:
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
def _find_split(d: Array, e: Array, l: int, split: Array) -> int:
    """The first index from l on after which each lane decouples; returns the largest."""
    k = d.shape[0]
    for lane in range(LANES):
        split[lane] = k - 1
    for m in range(k - 2, l - 1, -1):
        for lane in range(LANES):
            negligible = abs(e[m, lane]) <= ROUNDOFF * (abs(d[m, lane]) + abs(d[m + 1, lane]))
            split[lane] = m if negligible else split[lane]
    last = 0.0
    for lane in range(LANES):
        last = max(last, split[lane])
    return int(last)


@inlined
def _shift(d: Array, e: Array, l: int, split: Array, g: Array, s: Array, c: Array, p: Array) -> None:
    """Wilkinson's shift for each lane, and the start of its chase."""
    for lane in range(LANES):
        m = int(split[lane])
        step = (d[l + 1, lane] - d[l, lane]) / (2.0 * e[l, lane]) if m > l else 0.0
        root = math.sqrt(step * step + 1.0)
        step += root if step >= 0.0 else -root
        g[lane] = d[m, lane] - d[l, lane] + e[l, lane] / step
        s[lane] = 1.0
        c[lane] = 1.0
        p[lane] = 0.0


@inlined
def _chase(d: Array, e: Array, i: int, split: Array, g: Array, s: Array, c: Array, p: Array, rot: Array) -> None:
    """One plane rotation (rot[0], rot[1]) = (cosine, sine) of rows i, i + 1 in the lanes below their split."""
    for lane in range(LANES):
        live = float(i) < split[lane]
        f, b = s[lane] * e[i, lane], c[lane] * e[i, lane]
        r = math.sqrt(f * f + g[lane] * g[lane])
        inverse = 1.0 / r if r > 0.0 else 0.0
        sine, cosine = f * inverse, (g[lane] * inverse if r > 0.0 else 1.0)
        below = d[i + 1, lane] - p[lane]
        t = (d[i, lane] - below) * sine + 2.0 * cosine * b
        e[i + 1, lane] = r if live and i + 1 < split[lane] else e[i + 1, lane]
        d[i + 1, lane] = below + sine * t if live else d[i + 1, lane]
        p[lane] = sine * t if live else p[lane]
        g[lane] = cosine * t - b if live else g[lane]
        s[lane] = sine if live else s[lane]
        c[lane] = cosine if live else c[lane]
        rot[0, lane] = cosine if live else 1.0
        rot[1, lane] = sine if live else 0.0


@helper
def _implicit_ql(d: Array, e: Array, v: Array) -> None:
    """Eigenvalues of the tridiagonal matrix in d; the rows of `v` turn into eigenvectors."""
    k = d.shape[0]
    split, g, s, c, p = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    rot = np.empty((2, LANES))
    for l in range(k - 1):
        for _ in range(MAX_ITERATIONS):
            last = _find_split(d, e, l, split)
            if last == l:
                break
            _shift(d, e, l, split, g, s, c, p)
            for i in range(last - 1, l - 1, -1):
                _chase(d, e, i, split, g, s, c, p, rot)
                for m in range(k):
                    rotate(v, i, m, i + 1, m, rot[0], rot[1])
            for lane in range(LANES):
                if split[lane] > l:
                    d[l, lane] -= p[lane]
                    e[l, lane] = g[lane]


@helper
def diagonalise(a: Array, v: Array) -> None:
    """Eigenvalues on the diagonal of `a`, eigenvectors in the rows of `v`."""
    k = a.shape[0]
    d, e = np.empty((k, LANES)), np.empty((k, LANES))
    _tridiagonalise(a, v, d, e)
    _implicit_ql(d, e, v)
    for i in range(k):
        for lane in range(LANES):
            a[i, i, lane] = d[i, lane]
