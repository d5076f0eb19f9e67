"""Sums of products of integers, exact, by the float64 products of matrices that every machine does fastest.

An integer below 2^48 is cut into three signed pieces of 16 bits. Products of pieces are below 2^33 and a block of 2^14
rows adds up to less than 2^47: floats hold every one of them, and every sum on the way, whatever order BLAS adds
in (docs/proofs/moments.md, section 1). What comes out are Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PIECE = 16  # bits
MOST_PRODUCTS = 2**14  # rows of whose pieces all sums are exact


def upper_triangle(matrix: Array) -> Array:
    """The diagonal, then what is above it, row by row."""
    return np.concatenate([matrix.diagonal(), matrix[np.triu_indices(len(matrix), 1)]])


def sums_of_products(rows: Array) -> Array:
    """Sums over the rows (n, d) of the products of any two of their integers: `upper_triangle` of a matrix."""
    return _assembled(rows, lambda a, b: upper_triangle(a.T @ b if a is b else _with_transposed(a.T @ b)))


def sums_of_squares(rows: Array) -> Array:
    """Sums over the rows (n, d) of the square of each of their integers: (d,)."""
    return _assembled(rows, lambda a, b: (a * b).sum(axis=0) * (1.0 if a is b else 2.0))


def sums_of_small_products(rows: Array) -> Array:
    """The same as `sums_of_products` for integers of one piece, of at most 2^16: six times faster."""
    assert len(rows) <= MOST_PRODUCTS
    return upper_triangle(rows.T @ rows).astype(np.int64)


def sums_of_small_squares(rows: Array) -> Array:
    """The same as `sums_of_squares` for integers of one piece, of at most 2^16."""
    assert len(rows) <= MOST_PRODUCTS
    return np.asarray(np.einsum("ij,ij->j", rows, rows).astype(np.int64))


def _with_transposed(matrix: Array) -> Array:
    return np.asarray(matrix + matrix.T)


def _assembled(rows: Array, products: Callable[[Array, Array], Array]) -> Array:
    """Sums over the rows of products, from those of their pieces: ab + ba of two pieces, aa of one with itself."""
    assert len(rows) <= MOST_PRODUCTS
    low, middle, high = _pieces(rows)

    def pairs(a: Array, b: Array) -> Array:
        return products(a, b).astype(np.int64)

    # In units of 1, 2^32 and 2^64, each of which 64 bits hold.
    ones = pairs(low, low) + (pairs(low, middle) << PIECE)
    halves = pairs(low, high) + pairs(middle, middle) + (pairs(middle, high) << PIECE)
    wholes = pairs(high, high)
    return np.asarray((wholes.astype(object) << 4 * PIECE) + (halves.astype(object) << 2 * PIECE) + ones.astype(object))


def _pieces(rows: Array) -> tuple[Array, Array, Array]:
    """Floats low, middle, high with rows = low + 2^16 middle + 2^32 high: all whole, of at most 2^15, 2^15, 2^16."""
    high = np.rint(rows * 2.0 ** (-2 * PIECE))
    rest = rows - high * 2.0 ** (2 * PIECE)
    middle = np.rint(rest * 2.0**-PIECE)
    return rest - middle * 2.0**PIECE, middle, high
