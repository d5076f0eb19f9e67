"""Whether the chunks of a .zarr array unpack to what its metadata say, found without holding one of them unpacked.

zarr unpacks a chunk whole before it looks at its size, so a few megabytes can take all the memory there is. The
packers that are known here state what they unpack to in a header, or are unpacked once, in pieces that are dropped.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
import mmap
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from riemdp.errors import InputError

METADATA = (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")
# Neither changes the number of bytes by more than LEEWAY times.
HARMLESS = (
    "bytes", "endian", "transpose", "crc32", "crc32c", "adler32", "fletcher32", "shuffle", "delta",
    "fixedscaleoffset", "quantize", "bitround", "astype", "packbits",
)  # fmt: skip
LEEWAY, SLACK = 16, 2**20
PIECE = 2**20
ZSTD, ZSTD_BLOCK = 0xFD2FB528, 2**17
NOT_THERE = 2**64 - 1  # in the index of a shard


def check_chunks(path: Path, zarr_format: int, chunk_bytes: int) -> None:
    """Raise an InputError if a packer is unknown, or a file of the array unpacks to far more than a chunk."""
    name = "zarr.json" if zarr_format == 3 else ".zarray"
    metadata = json.loads((path / name).read_bytes())
    packer, shard = _packing(path, metadata)
    for file in (file for file in path.rglob("*") if file.name not in METADATA and file.is_file()):
        with file.open("rb") as opened:
            parts = [opened] if shard is None else shard.parts(opened)
            if any(packer(part, LEEWAY * chunk_bytes + SLACK) > LEEWAY * chunk_bytes + SLACK for part in parts):
                raise InputError(f"{str(path)!r} has a chunk that unpacks to more than its size: save it again.")


def _packing(path: Path, metadata: dict[str, Any]) -> tuple[Callable[[BinaryIO, int], int], Shard | None]:
    """What packed the chunks, and how they lie in files."""
    codecs, shard = _codecs(metadata), None
    for name, options in codecs:
        if name == "sharding_indexed":
            shard, codecs = Shard(metadata, options), [*codecs, *_named(options["codecs"])]
    names = [name for name, _ in codecs if name not in HARMLESS and name != "sharding_indexed"]
    if len(names) > 1 or any(name not in PACKERS for name in names) or (shard and len(_codecs(metadata)) > 1):
        allowed = f"save it with one of {', '.join(PACKERS)}, or none"
        raise InputError(f"{str(path)!r} is packed by {', '.join(names)}: {allowed}.")
    return PACKERS[names[0]] if names else _as_it_is, shard


def _codecs(metadata: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    if metadata["zarr_format"] == 3:
        return _named(metadata["codecs"])
    layers = [*(metadata.get("filters") or []), metadata.get("compressor")]
    return [(str(layer["id"]), layer) for layer in layers if layer]


def _named(codecs: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(str(codec["name"]).removeprefix("numcodecs."), codec.get("configuration") or {}) for codec in codecs]


class Shard:
    """Several chunks in a file, and where they are."""

    def __init__(self, metadata: dict[str, Any], options: dict[str, Any]) -> None:
        outer, inner = metadata["chunk_grid"]["configuration"]["chunk_shape"], options["chunk_shape"]
        index = _named(options["index_codecs"])
        if [name for name, _ in index] not in (["bytes"], ["bytes", "crc32c"]):
            raise ValueError("an index that is packed")
        self.count = math.prod(a // b for a, b in zip(outer, inner, strict=True))
        self.checksum = 4 * (len(index) - 1)
        self.order = ">u8" if index[0][1].get("endian") == "big" else "<u8"
        self.is_first = options.get("index_location", "end") == "start"

    def parts(self, file: BinaryIO) -> Iterator[BinaryIO]:
        """The chunks that are there."""
        size = file.seek(0, io.SEEK_END)
        length = 16 * self.count
        if length + self.checksum > size:
            raise ValueError("an index that is not there")
        file.seek(0 if self.is_first else size - length - self.checksum)
        for offset, extent in np.frombuffer(file.read(length), self.order).reshape(-1, 2).tolist():
            if offset != NOT_THERE and offset < size:
                file.seek(offset)
                yield io.BytesIO(file.read(min(extent, size)))


# --- packers: to how many bytes a file unpacks, or a number above the limit -----------------------------------


def _as_it_is(file: BinaryIO, limit: int) -> int:  # noqa: ARG001
    return 0


def _by_reading(opener: Callable[[BinaryIO], Any]) -> Callable[[BinaryIO, int], int]:
    """In pieces, until there are too many; what is damaged is left for zarr to complain about."""

    def count(file: BinaryIO, limit: int) -> int:
        total, unpacked = 0, opener(file)
        try:
            while total <= limit and (piece := unpacked.read(PIECE)):
                total += len(piece)
        except (OSError, EOFError, zlib.error):
            pass
        return total

    return count


class _Zlib:
    """A file that zlib packed, by pieces."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.unpacker, self.rest = file, zlib.decompressobj(), b""

    def read(self, size: int) -> bytes:
        """Some bytes, or none at the end."""
        while data := self.rest or self.file.read(PIECE):
            piece = self.unpacker.decompress(data, size)
            self.rest = self.unpacker.unconsumed_tail
            if piece:
                return piece
        return b""


def _stated(place: int) -> Callable[[BinaryIO, int], int]:
    """In a header of four bytes, little end first."""
    return lambda file, _: int.from_bytes(file.read(place + 4)[place:], "little")


def _zstd(file: BinaryIO, limit: int) -> int:
    """Frame by frame: its content size if it has one, else what its blocks are at most."""
    if isinstance(file, io.BytesIO):
        return _zstd_frames(file.getvalue(), limit)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:  # of which only headers are read
        return _zstd_frames(data, limit)


def _zstd_frames(data: bytes | mmap.mmap, limit: int) -> int:
    total, place = 0, 0
    while total <= limit and place + 4 < len(data):
        magic = int.from_bytes(data[place : place + 4], "little")
        if magic >> 4 == 0x184D2A5:  # a frame to be skipped
            place += 8 + int.from_bytes(data[place + 4 : place + 8], "little")
        elif magic == ZSTD:
            found, place = _zstd_frame(data, place + 4)
            total += found
        else:
            break
    return total


def _zstd_frame(data: bytes | mmap.mmap, place: int) -> tuple[int, int]:
    """Bytes of the frame whose header begins here, and where the next one begins (RFC 8878, section 3.1.1)."""
    flags = data[place]
    is_single, has_checksum = bool(flags & 32), bool(flags & 4)
    start = place + 1 + (not is_single) + (0, 1, 2, 4)[flags & 3]
    width = (1 if is_single else 0, 2, 4, 8)[flags >> 6]
    stated = int.from_bytes(data[start : start + width], "little") + (256 if width == 2 else 0)
    place, most, last = start + width, 0, False
    while not last and place + 3 <= len(data):
        head = int.from_bytes(data[place : place + 3], "little")
        last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
        most += size if kind < 2 else ZSTD_BLOCK
        place += 3 + (1 if kind == 1 else size)
    return (stated if width else most), place + 4 * has_checksum


PACKERS: dict[str, Callable[[BinaryIO, int], int]] = {
    "blosc": _stated(4),
    "zstd": _zstd,
    "lz4": _stated(0),
    "gzip": _by_reading(lambda file: gzip.GzipFile(fileobj=file)),
    "zlib": _by_reading(_Zlib),
    "bz2": _by_reading(lambda file: bz2.BZ2File(file)),
}
