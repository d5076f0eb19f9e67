"""What the compiled kernels share: blocks of LANES matrices, entry (i, j) of all of them side by side.

The innermost loop of every routine runs across a block, so it vectorises. Everything is generic in the size of the
matrices, releases the GIL, and avoids array methods and slices, which would triple the time to compile. What a
routine keeps per lane lies in the rows of one array `state`: rows of one array cannot overlap, and a loop over too
many arrays that might would not vectorise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from riemdp.kernels.constants import LANES

NEVER_ZERO = 1e-290  # added to denominators that may vanish; what is smaller counts as 0

Array = np.ndarray[Any, np.dtype[np.float64]]

options: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
}
internal: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
helper = njit(**internal)
# A call that is not inlined passes ten words per array: as long as the loop it runs.
inlined = njit(forceinline=True, **internal)


@inlined
def rotate(a: Array, i: int, p: int, j: int, q: int, state: Array) -> None:
    """(x, y) <- (c x - s y, s x + c y), c, s = state[0], state[1], for the entries x = a[i, p] and y = a[j, q]."""
    for lane in range(LANES):
        x, y, c, s = a[i, p, lane], a[j, q, lane], state[0, lane], state[1, lane]
        a[i, p, lane] = c * x - s * y
        a[j, q, lane] = s * x + c * y


@inlined
def largest(state: Array, row: int) -> float:
    """Maximum over the lanes of a row."""
    result = state[row, 0]
    for lane in range(1, LANES):
        result = max(result, state[row, lane])
    return float(result)
