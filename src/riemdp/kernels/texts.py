"""Compiled table of different texts: their bytes one after the other, and where to look for them by a keyed hash.

Importing this module compiles it, or loads it from numba's cache: import it only where there is work for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, njit, uint8, uint64, void
from numba.core.types import Array as ArrayType
from numba.core.types import UniTuple
from numpy.typing import NDArray

from riemdp.kernels.blocks import inlined, options

Array = NDArray[Any]
Word = np.uint64
_bytes, _places = ArrayType(uint8, 1, "C", readonly=True), ArrayType(int64, 1, "C", readonly=True)
_two = UniTuple(int64, 2)  # type: ignore[no-untyped-call]
_hashes = ArrayType(uint64, 1, "C", readonly=True)
# "somepseudorandomlygeneratedbytes", as SipHash begins
BEGIN = tuple(np.frombuffer(b"uespemosmodnarodarenegylsetybdet", dtype="<u8"))
BYTE, LENGTH, BITS, END = np.uint64(8), np.uint64(56), np.uint64(64), np.uint64(0xFF)


@inlined
def _turned(x: Word, bits: int) -> Word:
    return (x << np.uint64(bits)) | (x >> (BITS - np.uint64(bits)))


@inlined
def _round(a: Word, b: Word, c: Word, d: Word) -> tuple[Word, Word, Word, Word]:
    """One round of SipHash."""
    a, c = a + b, c + d
    b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
    a, c = _turned(a, 32) + d, c + b
    b, d = _turned(b, 17) ^ c, _turned(d, 21) ^ a
    return a, b, _turned(c, 32), d


@inlined
def _word(data: Array, start: int, stop: int) -> Word:
    """Up to eight bytes, the first one lowest."""
    word = np.uint64(0)
    for i in range(stop - 1, start - 1, -1):
        word = (word << BYTE) | np.uint64(data[i])
    return word


@njit(void(_bytes, _places, _places, uint64, uint64, uint64[::1]), **options)
def hash_texts(data: Array, starts: Array, stops: Array, key: Word, other: Word, hashes: Array) -> None:
    """SipHash-1-3 of every data[start:stop]: without the keys nobody can tell which texts have the same.

    What starts below 0 is no text, and has none.
    """
    for i in range(starts.shape[0]):
        start, stop = starts[i], stops[i]
        if start < 0:
            continue
        a, b, c, d = key ^ BEGIN[0], other ^ BEGIN[1], key ^ BEGIN[2], other ^ BEGIN[3]
        last = start + (stop - start) // 8 * 8
        for j in range(start, last, 8):
            word = _word(data, j, j + 8)
            a, b, c, d = _round(a, b, c, d ^ word)
            a ^= word
        word = _word(data, last, stop) | (np.uint64(stop - start) << LENGTH)
        a, b, c, d = _round(a, b, c, d ^ word)
        a, c = a ^ word, c ^ END
        for _ in range(3):
            a, b, c, d = _round(a, b, c, d)
        hashes[i] = a ^ b ^ c ^ d


@njit(
    _two(_bytes, _places, _places, _hashes, int32[::1], uint8[::1], int64[::1], int64, int32[::1]),
    **options,
)
def number_texts(
    data: Array, starts: Array, stops: Array, hashes: Array,
    table: Array, kept: Array, ends: Array, count: int, places: Array,
) -> tuple[int, int]:  # fmt: skip
    """The places of texts data[start:stop] among the `count` that are kept, to which new ones are added.

    Text j is kept[ends[j]:ends[j + 1]]. The table, a power of two long, holds places from 1 on, and 0 where there is
    none. A hash tells where to look first; texts are the same if all their bytes are. What starts below 0 is no text,
    and gets -1. Returns how many were looked at, fewer if there is no room for the next one, and how many are kept.
    """
    last = table.shape[0] - 1
    for i in range(starts.shape[0]):
        start, stop = starts[i], stops[i]
        if start < 0:
            places[i] = -1
            continue
        spot = int64(hashes[i] & np.uint64(last))
        while table[spot] != 0:
            known = table[spot]
            shift, j = ends[known - 1] - start, start
            if ends[known] == stop + shift:
                while j < stop and data[j] == kept[j + shift]:
                    j += 1
                if j == stop:
                    break
            spot = (spot + 1) & last
        if table[spot] == 0:
            shift = ends[count] - start
            if 2 * count >= table.shape[0] or stop + shift > kept.shape[0]:
                return i, count
            for j in range(start, stop):
                kept[j + shift] = data[j]
            count += 1
            ends[count], table[spot] = stop + shift, count
        places[i] = table[spot] - 1
    return starts.shape[0], count


@njit(void(_hashes, int32[::1]), **options)
def fill_table(hashes: Array, table: Array) -> None:
    """Put the places of different texts with these hashes into an empty table."""
    last = table.shape[0] - 1
    for i in range(hashes.shape[0]):
        spot = int64(hashes[i] & np.uint64(last))
        while table[spot] != 0:
            spot = (spot + 1) & last
        table[spot] = i + 1
