"""Every parser and entry point on mutated files: a result or a RiemdpError of one line.

A seeded share of what `make fuzz` does for hours, the cases that broke something once (tests/fuzz_corpus), and
controls: targets that do what no input may make the library do are caught.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import pickle
import random
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import left_out
from riemdp.io.data import load_images, open_records

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "fuzz"))

from mutations import of_bytes, several  # noqa: E402
from targets import PRODUCT, SPACES, TARGETS, Target  # noqa: E402

NEEDS = {"parquet": "pyarrow", "zarr": "zarr", "pictures": "PIL"}
# About one or two seconds for each on a quiet machine.
CASES = {
    "npy": 1000, "npz": 600, "csv": 1000, "parquet": 500, "zarr": 300, "pictures": 700, "descriptors": 4000, "releases": 1500,
    "site-sums": 800, "guarantees": 1500, "ledgers": 200, "ledger-rows": 120, "command-line": 150, "means": 400,
}  # fmt: skip
CORPUS = sorted(path for path in (ROOT / "tests" / "fuzz_corpus").rglob("*") if path.is_file())


def prepared(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    return TARGETS[name], TARGETS[name].prepare()


def test_every_target_has_a_share():
    assert set(CASES) == set(TARGETS)


def test_every_space_has_its_turn():
    assert left_out([*SPACES, PRODUCT]) == []


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_cases(name):
    target, seeds = prepared(name)
    chance, pool = random.Random(f"{name} 1"), list(seeds)
    for _ in range(CASES[name]):
        case = target.mutate(chance.choice(pool), chance)
        try:
            target.check(case)
        except BaseException:
            print(f"the case: {case!r}")
            raise
        if len(pool) < 4 * len(seeds) and len(case) < 20_000:
            pool.append(case)  # mutations of mutations get farther


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_cases_that_broke_something_once(path):
    target, _ = prepared(path.parent.name)
    target.check(path.read_bytes())


# --- controls: the check does see what it is there for ----------------------------------------------------------------


class Bait:
    def __reduce__(self):
        return os.getpid, ()


BAIT = pickle.dumps(Bait())
CRIMES = {
    "a type error": lambda case, folder: len(None),
    "a numpy error": lambda case, folder: np.linalg.inv(np.zeros((2, 2))),
    "a warning": lambda case, folder: np.log(np.zeros(1)),
    "unpickling": lambda case, folder: pickle.loads(BAIT),
    "a program": lambda case, folder: os.system("true"),
    "a file elsewhere": lambda case, folder: Path("/etc/hostname").open().close(),
    "a message of two lines": lambda case, folder: (_ for _ in ()).throw(TwoLines()),
    "no message": lambda case, folder: (_ for _ in ()).throw(rd.InputError("")),
    "a swallowed crime": lambda case, folder: swallow(lambda: pickle.loads(BAIT)),
}


class TwoLines(rd.InputError):
    """What the errors themselves prevent."""

    def __str__(self):
        return "one\ntwo"


def swallow(action):
    try:
        action()
    except Exception:
        return


@pytest.mark.parametrize("crime", CRIMES)
def test_the_check_catches(crime):
    target = Target(lambda: [b""], several(of_bytes), CRIMES[crime])
    with pytest.raises(Exception):  # noqa: B017
        target.check(b"case")


def test_the_check_lets_pass_what_is_allowed():
    for use in (lambda case, folder: (folder / "x").write_bytes(case), lambda case, folder: rd.GDP(-1.0)):
        Target(lambda: [b""], several(of_bytes), use).check(b"case")


# --- headers are claims ------------------------------------------------------------------------------------------------


def header(*shape):
    np.lib.format.write_array_header_1_0(file := io.BytesIO(), {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def archive(content, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(file := io.BytesIO(), "w", method) as made:
        made.writestr("X.npy", content)
    return file.getvalue()


def refused_within(path, megabytes, load=open_records):
    tracemalloc.start()
    try:
        with pytest.raises(rd.InputError, match=path.name) as caught:
            load(path)
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
    finally:
        tracemalloc.stop()
    return str(caught.value)


@pytest.mark.parametrize("entries", [2 * 10**8, 2 * 10**9, 10**12, 2**60])
def test_an_array_is_not_allocated_before_its_size_is_believed(tmp_path, entries):
    (tmp_path / "X.npz").write_bytes(archive(header(entries) + bytes(800)))
    assert "claims" in refused_within(tmp_path / "X.npz", 5)
    (tmp_path / "X.npy").write_bytes(header(entries) + bytes(800))
    refused_within(tmp_path / "X.npy", 5)


def test_an_archive_that_unpacks_to_far_more_than_it_is(tmp_path, monkeypatch):
    """The limit is a gigabyte for small files: here a megabyte, lest the test itself be the bomb."""
    monkeypatch.setattr("riemdp.io.data.SMALL", 2**20)
    monkeypatch.setattr("riemdp.io.data.LARGEST_EXPANSION", 100)
    (tmp_path / "X.npz").write_bytes(archive(header(10**6) + bytes(8 * 10**6)))
    assert "claims 8,000,128 bytes" in refused_within(tmp_path / "X.npz", 3)
    (tmp_path / "Y.npz").write_bytes(archive(header(10**5) + bytes(8 * 10**5)))
    assert open_records(tmp_path / "Y.npz").arrays[0].shape == (10**5,)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_packed_so_that_reading_it_has_no_limit(tmp_path, method):
    (tmp_path / "X.npz").write_bytes(archive(header(2 * 10**6) + bytes(16 * 10**6), method))
    assert "cannot be read" in refused_within(tmp_path / "X.npz", 3)


def test_a_table_that_unpacks_to_far_more_than_it_is(tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("riemdp.io.data.SMALL", 2**20)
    parquet.write_table(pyarrow.table({"x": np.zeros(10**6)}), tmp_path / "X.parquet", compression="zstd")
    assert "claims 8,000,00" in refused_within(tmp_path / "X.parquet", 3)


@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
@pytest.mark.parametrize("chunks", [(10**5, 2), (1, 2)])
def test_an_array_of_holes(tmp_path, monkeypatch, chunks):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr("riemdp.io.data.SMALL", 2**20 if chunks[0] > 1 else 2**30)
    zarr.open_array(str(tmp_path / "X.zarr"), mode="w", shape=(10**5, 2), chunks=chunks, dtype="f8")
    assert "claims" in (text := refused_within(tmp_path / "X.zarr", 20)) or "lacks" in text


WATCHED = """
import resource, sys
import pyarrow.parquet, zarr, numpy
from riemdp.io.data import open_records
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    found = open_records(sys.argv[1]).arrays[0]
    print("read", numpy.asarray(found[:5]).shape)
except ValueError as problem:
    print(problem)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def message_and_megabytes(path):
    """What a process of its own says about a file of records, and by how much its memory grew."""
    for package in ("pyarrow", "zarr", "resource"):
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", WATCHED, str(path)], capture_output=True, text=True, timeout=300, check=True)
    said, grown = done.stdout.splitlines()
    return said, int(grown)


def test_a_list_of_two_hundred_million_zeros_is_not_unpacked(tmp_path):
    case = (ROOT / "tests" / "fuzz_corpus" / "parquet" / "row-of-two-hundred-million-zeros").read_bytes()
    assert len(case) < 1000
    (tmp_path / "X.parquet").write_bytes(case)
    said, grown = message_and_megabytes(tmp_path / "X.parquet")
    assert "X.parquet' claims 1,600,000,008 bytes" in said
    assert grown < 100


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_pages_of_tables_are_counted(tmp_path, monkeypatch, compression, version):
    """What is counted is not less than what is decoded, and not much more: here random numbers, so that nothing shrinks."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from riemdp.io.parquet_sizes import decoded_bytes

    X = np.random.default_rng(0).random((20_000, 4))
    for table in ({f"x{i}": column for i, column in enumerate(X.T)}, {"X": list(X)}):
        parquet.write_table(pyarrow.table(table), tmp_path / "X.parquet", compression=compression, data_page_version=version, row_group_size=3000)
        assert X.nbytes <= decoded_bytes(tmp_path / "X.parquet") < 2.5 * X.nbytes
    monkeypatch.setattr("riemdp.io.data.SMALL", 10**4)
    monkeypatch.setattr("riemdp.io.data.LARGEST_EXPANSION", 1)
    parquet.write_table(pyarrow.table({"X": [[0.0] * 10**4] * 3}), tmp_path / "X.parquet", compression=compression, data_page_version=version)
    assert "claims 240,0" in refused_within(tmp_path / "X.parquet", 3)


def zarr_of(place, chunk, packer, shape=(10,), chunks=(10,)):
    """An array of 10 numbers, in one chunk that is packed so."""
    place.mkdir()
    facts = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<f8", "order": "C", "fill_value": 0, "filters": None}
    (place / ".zarray").write_text(json.dumps(facts | {"compressor": packer}))
    (place / "0").write_bytes(chunk)


def blosc_header(size):
    return struct.pack("<BBBBIII", 2, 1, 0x21, 8, size, size, 16)


def zstd_of_zeros(size):
    """A frame without its size, of runs of 128 kB."""
    run, last = (2**17 << 3 | 1 << 1).to_bytes(3, "little") + b"\0", (1 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + run * (size // 2**17) + last


BIG = 3 * 10**8
CHUNKS = {
    "gzip": lambda: gzip.compress(bytes(BIG), 1),
    "gzip in members": lambda: gzip.compress(bytes(1000)) + gzip.compress(bytes(BIG), 1),
    "zlib": lambda: zlib.compress(bytes(BIG), 1),
    "bz2": lambda: bz2.compress(bytes(10**7), 1) * 30,
    "zstd": lambda: zstd_of_zeros(BIG),
    "zstd after a small frame": lambda: zstd_of_zeros(2**17) + zstd_of_zeros(BIG),
    "blosc": lambda: blosc_header(BIG) + bytes(100),
    "lz4": lambda: struct.pack("<i", BIG) + b"\x1f\x00\x01\x00" + b"\xff" * (BIG // 255) + b"\x00",
}


@pytest.mark.parametrize("name", CHUNKS)
def test_a_chunk_that_unpacks_to_far_more_than_the_array_claims(tmp_path, name):
    zarr_of(tmp_path / "X.zarr", CHUNKS[name](), {"id": name.split()[0]})
    said, grown = message_and_megabytes(tmp_path / "X.zarr")
    assert "X.zarr' has a chunk that unpacks to more than its size" in said
    assert grown < 100


def test_a_chunk_far_larger_than_the_array(tmp_path):
    zarr_of(tmp_path / "X.zarr", gzip.compress(bytes(10**6)), {"id": "gzip"}, chunks=[10**9])
    said, grown = message_and_megabytes(tmp_path / "X.zarr")
    assert "X.zarr' claims 8,000,000,000 bytes" in said
    assert grown < 100


@pytest.mark.parametrize("packers", [["gzip", "gzip"], ["lzma"], ["zfpy"], ["\x1b[31mred"]], ids=repr)
def test_packers_whose_unpacking_has_no_limit(tmp_path, packers):
    pytest.importorskip("zarr")
    zarr_of(tmp_path / "X.zarr", b"", {"id": packers[-1]})
    facts = json.loads((tmp_path / "X.zarr" / ".zarray").read_text())
    (tmp_path / "X.zarr" / ".zarray").write_text(json.dumps(facts | {"filters": [{"id": name} for name in packers[:-1]] or None}))
    assert "\x1b" not in refused_within(tmp_path / "X.zarr", 20)


@pytest.mark.parametrize("kind", ["EPS", "PPM", "GIF"])
def test_only_plain_pictures_whatever_the_name_says(tmp_path, kind):
    """An Encapsulated PostScript file called .png would be given to Ghostscript, a program."""
    image = pytest.importorskip("PIL.Image")
    image.new("L", (8, 8)).convert("RGB").save(tmp_path / "x.png", kind)
    refused_within(tmp_path / "x.png", 5, load_images)


def test_a_pictures_library_that_complains_keeps_to_one_line(tmp_path, capfd):
    pytest.importorskip("PIL")
    import logging

    image = (ROOT / "tests" / "fuzz_corpus" / "pictures" / "png-of-seventeen-gigapixels").read_bytes()
    (tmp_path / "x.png").write_bytes(image)
    refused_within(tmp_path / "x.png", 5, load_images)
    logging.getLogger("PIL.TiffImagePlugin").error("more samples per pixel than can be decoded")
    assert capfd.readouterr() == ("", "")
