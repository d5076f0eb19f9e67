"""Compiled search for equal texts among many of one width.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, njit, uint64
from numba.core.types import Array as ArrayType
from numpy.typing import NDArray

from riemdp.kernels.blocks import options

Array = NDArray[Any]
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits everywhere
HALF = np.uint64(32)


@njit(int64(ArrayType(uint64, 2, "C", readonly=True), uint64, int32[::1], uint64[:, ::1], int64, int32[::1]), **options)
def number_rows(rows: Array, key: int, table: Array, kept: Array, count: int, places: Array) -> int:
    """The place of each row among the `count` that are kept, and those of these that are new; how many it has then.

    The table, a power of two long and longer than all that are kept, holds places from 1, and 0 where there is none.
    A hash tells where to look first, and the key which hash: rows are the same if all their words are.
    """
    last = table.shape[0] - 1
    for i in range(rows.shape[0]):
        hashed = key
        for j in range(rows.shape[1]):
            hashed = (hashed ^ rows[i, j]) * MIX
            hashed ^= hashed >> HALF
        spot = int64(hashed & uint64(last))
        while table[spot] != 0:
            known, j = table[spot] - 1, 0
            while j < rows.shape[1] and kept[known, j] == rows[i, j]:
                j += 1
            if j == rows.shape[1]:
                break
            spot = (spot + 1) & last
        if table[spot] == 0:
            for j in range(rows.shape[1]):
                kept[count, j] = rows[i, j]
            count += 1
            table[spot] = count
        places[i] = table[spot] - 1
    return count
