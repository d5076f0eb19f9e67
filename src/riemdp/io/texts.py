"""Different texts in few bytes: the bytes of one after the other, and a table that says where to look for which.

Beside its own bytes a text takes 8 for where it ends and 8 to 16 in the table; while these grow, up to twice as many.
Texts are the same if all their bytes are: a hash only says where to look, with a key that nobody knows, so that nobody
can choose texts that are all looked for in one place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riemdp.io.cells import is_missing, listed

Array = NDArray[Any]
LAST_ASCII = 127
ARROW_TEXTS = {"string": np.int32, "large_string": np.int64}  # the types of Arrow, and those of where texts end


class Spans(NamedTuple):
    """Texts as stretches of bytes; what starts at -1 is none."""

    data: Array
    starts: Array
    stops: Array


class Texts:
    """Different texts, in the order in which they first appear; or different bytes of NumPy's, which are no texts."""

    def __init__(self, *, of_bytes: bool = False) -> None:
        self.of_bytes = of_bytes
        self.keys = np.frombuffer(os.urandom(16), dtype=np.uint64).tolist()
        self.count, self.kept = 0, np.empty(2**16, dtype=np.uint8)
        self.table, self.ends = np.zeros(2**12, dtype=np.int32), np.zeros(2**11 + 1, dtype=np.int64)

    def places(self, piece: Any) -> Array | None:
        """Which of the different texts each of these ids is, -1 if it is missing; whichever is new is kept.

        None if some id is neither a text nor missing.
        """
        texts = _bytes(piece) if self.of_bytes else _texts(piece)
        return None if texts is None else self._places(texts)

    def _places(self, texts: Spans) -> Array:
        from riemdp.kernels.texts import number_texts

        data, starts, stops = texts
        hashes, places, done = self._hashes(texts), np.empty(len(starts), dtype=np.int32), 0
        while True:
            rest = starts[done:], stops[done:], hashes[done:]
            seen, self.count = number_texts(data, *rest, self.table, self.kept, self.ends, self.count, places[done:])
            done += seen
            if done == len(starts):
                return places
            self._make_room(int(stops[done] - starts[done]))

    def _hashes(self, texts: Spans) -> Array:
        from riemdp.kernels.texts import hash_texts

        hashes = np.empty(len(texts.starts), dtype=np.uint64)
        hash_texts(texts.data, texts.starts, texts.stops, self.keys[0], self.keys[1], hashes)
        return hashes

    def _make_room(self, size: int) -> None:
        """For one more text of this size, and as many more as there are; the system gives memory to what is used."""
        from riemdp.kernels.texts import fill_table

        used = int(self.ends[self.count])
        if used + size > len(self.kept):
            self.kept = _longer(self.kept, used, 2 * used + size)
        if 2 * self.count >= len(self.table):
            self.table = np.zeros(2 * len(self.table), dtype=np.int32)
            fill_table(self._hashes(self._all()), self.table)
            self.ends = _longer(self.ends, self.count + 1, len(self.table) // 2 + 1)

    def _all(self) -> Spans:
        return Spans(self.kept, self.ends[: self.count], self.ends[1 : self.count + 1])

    def blank(self) -> Array:
        """Whether each text is empty or nothing but space: only few begin like that."""
        _, starts, stops = self._all()
        first = np.where(starts < stops, self.kept[np.minimum(starts, len(self.kept) - 1)], 0)
        blank = (first <= ord(" ")) | (first > LAST_ASCII)
        for place in np.flatnonzero(blank).tolist():
            found = self.kept[starts[place] : stops[place]].tobytes()
            blank[place] = not (found if self.of_bytes else found.decode(errors="replace")).strip()
        return np.asarray(blank)


def _longer(array: Array, used: int, room: int) -> Array:
    longer = np.empty(room, dtype=array.dtype)
    longer[:used] = array[:used]
    return longer


def _bytes(piece: Any) -> Spans | None:
    """Those of an array of them; None for anything else."""
    is_array = isinstance(piece, np.ndarray) and piece.dtype.kind == "S" and piece.dtype.itemsize > 0
    return _of_one_width(np.ascontiguousarray(piece).view(np.uint8), piece) if is_array else None


def _texts(piece: Any) -> Spans | None:
    """Texts in UTF-8; None if some id is neither a text nor missing."""
    if hasattr(piece, "buffers"):
        return _of_arrow(piece)
    if isinstance(piece, np.ndarray) and piece.dtype.kind == "U" and piece.dtype.itemsize:
        points = np.ascontiguousarray(piece, dtype=piece.dtype.newbyteorder("=")).view(np.uint32)
        if points.max(initial=0) <= LAST_ASCII:
            return _of_one_width(points.astype(np.uint8), piece)
    return _of_cells(listed(piece))


def _of_one_width(data: Array, texts: Array) -> Spans:
    """Zeros at the end of a text are no part of it, for NumPy."""
    starts = np.arange(len(texts)) * (len(data) // max(len(texts), 1))
    return Spans(data, starts, starts + np.strings.str_len(texts))


def _of_cells(cells: Sequence[Any]) -> Spans | None:
    """Python's own texts; those of a class of one's own may be equal to what they like, and are left to Python."""
    is_text = np.fromiter(map(is_, map(type, cells), repeat(str)), dtype=bool, count=len(cells))
    if is_text.all():
        return _of_strings(cells)
    if not all(is_missing(cell) for cell in cells if type(cell) is not str):
        return None
    texts = _of_strings([cell for cell in cells if type(cell) is str])
    starts, stops = np.full((2, len(cells)), -1)
    starts[is_text], stops[is_text] = texts.starts, texts.stops
    return Spans(texts.data, starts, stops)


def _of_strings(texts: Sequence[str]) -> Spans:
    """One after the other, and where each ends: in characters, then in bytes; 10xxxxxx begins no character."""
    whole, lengths = "".join(texts), np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    data = np.frombuffer(whole.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    if not whole.isascii():
        ends = np.append(np.flatnonzero(data & 0xC0 != 0x80), len(data))[ends]
    return Spans(data, ends[:-1], ends[1:])


def _of_arrow(column: Any) -> Spans | None:
    """Where Arrow keeps its texts, whether they are in UTF-8 or not; None for any other type."""
    kind = ARROW_TEXTS.get(str(column.type))
    if kind is None:
        return None
    _, places, texts = column.buffers()
    here = slice(column.offset, column.offset + len(column) + 1)
    ends = np.frombuffer(places or bytes(8), dtype=kind)[here].astype(np.int64)
    data = np.frombuffer(texts or b"", dtype=np.uint8)
    is_text = column.is_valid().to_numpy(zero_copy_only=False)
    return Spans(data, np.where(is_text, ends[:-1], -1), ends[1:])
