"""How much memory a .parquet file asks for, found without decoding anything.

A few bytes can stand for gigabytes: run lengths and compressed pages unpack to whatever their headers say. The
headers of all pages are read here (Thrift's compact protocol; the numbers of fields are those of parquet.thrift),
since pyarrow decodes a column before anybody can ask how long it is, and, asked for the metadata of a broken
column, ends the process.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MAGIC = b"PAR1"
NUMBER = 8  # bytes of a decoded value
ROW_GROUPS, COLUMNS, COLUMN = 4, 1, 3  # fields of the footer, of a row group, of a column chunk
COMPRESSED_BYTES, FIRST_PAGE, DICTIONARY = 7, 9, 11  # of a column
UNPACKED_BYTES, PACKED_BYTES, KINDS, VALUES = 2, 3, (5, 7, 8), 1  # of a page; of the header of its kind

Bytes = mmap.mmap | bytes
Fields = dict[int, Any]


def decoded_bytes(path: Path) -> int:
    """What all pages of the file unpack to, by their own headers; a ValueError if they make no sense."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return sum(_page_bytes(header) for column in _columns(data) for header in _pages(data, column))
        except (LookupError, TypeError, AttributeError, struct.error):
            raise ValueError("damaged headers") from None


def _columns(data: Bytes) -> Iterator[Fields]:
    length = int.from_bytes(data[-8:-4], "little")
    if data[-4:] != MAGIC or length > len(data) - 12:
        raise ValueError("no footer")
    footer = _Thrift(data[-8 - length : -8]).structure()
    for group in footer.get(ROW_GROUPS, []):
        for chunk in group[COLUMNS]:
            yield chunk[COLUMN]


def _pages(data: Bytes, column: Fields) -> Iterator[Fields]:
    """The headers of the pages of a column, one after the other."""
    place: int = column[FIRST_PAGE]
    if 0 < column.get(DICTIONARY, 0) < place:
        place = column[DICTIONARY]
    end = place + column[COMPRESSED_BYTES]
    while 0 <= place < min(end, len(data)):
        reader = _Thrift(data, place)
        header = reader.structure()
        if header[PACKED_BYTES] < 0:
            raise ValueError("a negative size")
        yield header
        place = reader.place + header[PACKED_BYTES]


def _page_bytes(header: Fields) -> int:
    values: list[int] = [header[kind].get(VALUES, 0) for kind in KINDS if kind in header]
    return max(int(header[UNPACKED_BYTES]), NUMBER * max(values, default=0), 0)


class _Thrift:
    """A reader of Thrift's compact protocol: structures are dictionaries by the numbers of their fields."""

    def __init__(self, data: Bytes, place: int = 0) -> None:
        self.data, self.place = data, place
        self._readers: dict[int, Callable[[], Any]] = {
            3: self._byte, 4: self._integer, 5: self._integer, 6: self._integer, 7: lambda: self._bytes(8),
            8: lambda: self._bytes(self._unsigned()), 9: self._list, 10: self._list, 11: self._map, 12: self.structure,
        }  # fmt: skip

    def structure(self) -> Fields:
        """The fields from here on, until they end."""
        fields, number = {}, 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):  # a truth, told by its type
            return kind == 1
        return self._readers[kind]()

    def _byte(self) -> int:
        value = self.data[self.place]
        self.place += 1
        return value

    def _bytes(self, size: int) -> bytes:
        if size > len(self.data) - self.place:
            raise ValueError("too short")
        self.place += size
        return bytes(self.data[self.place - size : self.place])

    def _unsigned(self) -> int:
        value, shift = 0, 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("too long")

    def _integer(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _list(self) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        return [self._element(head & 15) for _ in range(size)]

    def _map(self) -> list[tuple[Any, Any]]:
        size = self._unsigned()
        kinds = self._byte() if size else 0
        return [(self._element(kinds >> 4), self._element(kinds & 15)) for _ in range(size)]

    def _element(self, kind: int) -> Any:
        """In a list a truth is a byte."""
        return self._byte() if kind in (1, 2) else self._value(kind)
