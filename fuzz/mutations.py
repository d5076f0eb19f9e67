"""Mutations that know a format: what they make is often nearly valid, so that it gets past the first check.

Each takes the bytes of a case and a seeded `random.Random`, and returns the bytes of another case.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]

NUMBERS = (0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63, 2**64, 10**12, 10**30)
FLOATS = (
    0.0,
    -0.0,
    0.5,
    1e-300,
    5e-324,
    1e-17,
    0.1,
    1.0 + 2**-52,
    1e16,
    1e154,
    1e300,
    1.7e308,
    float("inf"),
    float("-inf"),
    float("nan"),
)
TEXTS = (
    "",
    "x",
    "nan",
    "Infinity",
    "1e999",
    "1_0",
    "\0",
    "\udcff",
    "é",
    "../X",
    "/etc/passwd",
    "a" * 300,
    "[[",
    "{}",
    "O",
    "<f8",
    "|V8",
)
VALUES = (*NUMBERS, *FLOATS, *TEXTS, None, True, False, [], {}, [[]], [None], {"": 0})
BYTES = (
    b"",
    b"\0",
    b"\xff" * 8,
    b"\0" * 16,
    b"'",
    b"(",
    b"\n",
    b",",
    b"9" * 30,
    b"-",
    b"e",
    b".",
    b"\x80\x02",
    b"PK",
    b"\x7f",
)


def of_bytes(data: bytes, chance: random.Random) -> bytes:
    """Flip, insert, remove, repeat, cut, or put an extreme integer."""
    kind, place = chance.randrange(6), chance.randrange(len(data) + 1)
    far = min(len(data), place + chance.choice((1, 2, 4, 16, 256)))
    if kind == 0 and data:
        place = min(place, len(data) - 1)
        return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    if kind == 1:
        return data[:place] + chance.choice(BYTES) + data[place:]
    if kind == 2:
        return data[:place] + data[far:]
    if kind == 3:
        return data[:far] + data[place:]
    if kind == 4:
        return data[:place]
    number = struct.pack(chance.choice("<>") + chance.choice("IQ"), chance.choice(NUMBERS[:3:2] + NUMBERS[3:]) % 2**32)
    return data[:place] + number + data[place + len(number) :]


def several(mutation: Mutation) -> Mutation:
    """One to four times; now and then of the bytes, whatever they mean."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        for _ in range(chance.choice((1, 1, 2, 4))):
            data = (of_bytes if chance.random() < 0.15 else mutation)(data, chance)
        return data

    return mutate


# --- JSON ------------------------------------------------------------------------------------------------------


def of_json(data: bytes, chance: random.Random) -> bytes:
    """Another value, key or length somewhere in the tree."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return of_bytes(data, chance)
    return json.dumps(_other_tree(tree, chance)).encode()


def _other_tree(tree: Any, chance: random.Random) -> Any:
    """The tree with one node changed."""
    if isinstance(tree, dict) and tree and chance.random() < 0.9:
        return _other_dict(tree, chance)
    if isinstance(tree, list) and tree and chance.random() < 0.9:
        return _other_list(tree, chance)
    return _other_leaf(tree, chance)


def _other_dict(tree: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    key, kind = chance.choice(list(tree)), chance.random()
    if kind < 0.05:
        return {name: value for name, value in tree.items() if name != key}
    if kind < 0.1:
        return tree | {chance.choice(TEXTS): chance.choice(VALUES)}
    return tree | {key: _other_tree(tree[key], chance)}


def _other_list(tree: list[Any], chance: random.Random) -> list[Any]:
    place, kind = chance.randrange(len(tree)), chance.random()
    if kind < 0.1:
        return tree[:place] + tree[place + 1 :]
    if kind < 0.2:
        return tree[:place] + [tree[place]] * 2 + tree[place + 1 :]
    return [*tree[:place], _other_tree(tree[place], chance), *tree[place + 1 :]]


def _other_leaf(leaf: Any, chance: random.Random) -> Any:
    """Another value, of the same type more often than not."""
    if isinstance(leaf, float) and chance.random() < 0.7:
        return chance.choice((*FLOATS, -leaf, leaf * 2.0**-40, leaf * 2.0**40, leaf * (1 + 2.0**-52)))
    if isinstance(leaf, int) and chance.random() < 0.7:
        return chance.choice((*NUMBERS, leaf + 1, leaf - 1, -leaf))
    if isinstance(leaf, str) and chance.random() < 0.7:
        return chance.choice((*TEXTS, leaf + "x", leaf[1:], leaf.upper()))
    return chance.choice(VALUES)


# --- arrays ----------------------------------------------------------------------------------------------------

_HEADER = re.compile(rb"\{'descr': (?P<descr>.*?), 'fortran_order': (?P<order>\w+), 'shape': (?P<shape>.*?), \}")
_DESCR = (
    "'<f8'",
    "'>f4'",
    "'<c16'",
    "'|O'",
    "'|V9'",
    "'<f16'",
    "'|b1'",
    "'<i8'",
    "'|S0'",
    "'<M8[ns]'",
    "[('a', '<f8')]",
    "'<U3'",
    "7",
    "'<f8,<f8'",
)
_SHAPES = (
    "()",
    "(0,)",
    "(1000000000000,)",
    "(-1, 3)",
    "(4611686018427387904, 9)",
    "(1, 1, 1, 1)",
    "(0, 9223372036854775807)",
    "(3.0,)",
    "(True, 9)",
    "[9, 1]",
    "((1,),)",
)
_ORDERS = ("True", "False", "None", "1", "__import__('os')")


def of_npy(data: bytes, chance: random.Random) -> bytes:
    """Another type, order or shape in the header, of the right length; or other bytes."""
    found = _HEADER.search(data[:300])
    if found is None or chance.random() < 0.3:
        return of_bytes(data, chance)
    parts = {name: found[name].decode("latin1") for name in ("descr", "order", "shape")}
    name = chance.choice(list(parts))
    parts[name] = chance.choice({"descr": _DESCR, "order": _ORDERS, "shape": _SHAPES}[name])
    text = "{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".format(**parts)
    body = data[10 + int.from_bytes(data[8:10], "little") :]
    header = text.encode("latin1").ljust(117) + b"\n"
    return data[:8] + len(header).to_bytes(2, "little") + header + body


def of_zip(data: bytes, chance: random.Random) -> bytes:
    """Other members, with right checksums; or other bytes of the archive itself."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()][:4]
    except Exception:
        return of_bytes(data, chance)
    if not members or chance.random() < 0.2:
        return of_bytes(data, chance)
    place = chance.randrange(len(members))
    name, content = members[place]
    name = chance.choice((name, name, name, "../X.npy", "/etc/passwd", "X", "", "a/b.npy", "X.npy"))
    members[place] = name, of_npy(content, chance)
    return zipped(
        members, chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    )


def zipped(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members with the same name
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return buffer.getvalue()


def of_csv(data: bytes, chance: random.Random) -> bytes:
    """Another cell, row or separator."""
    text = data.decode("latin1")
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        return of_bytes(data, chance)
    if not any(rows) or chance.random() < 0.2:
        return of_bytes(data, chance)
    row = chance.choice([row for row in rows if row])
    cell = chance.choice(
        ("", "nan", "-inf", "1e999", "x", "1_0", "٣", '"', " 1 ", "0x10", "1,2", "\n", "9" * 400, "\0")
    )
    row[chance.randrange(len(row))] = cell
    end, sign = chance.choice(("\n", "\r\n", "\r", "\n\n")), chance.choice((",", ",", ";", "\t"))
    return end.join(sign.join(row) for row in rows).encode("latin1", "replace")
