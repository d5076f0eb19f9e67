"""Every parser and entry point on mutated files: a result or a RiemdpError of one line.

A seeded share of what `make fuzz` does for hours, the cases that broke something once (tests/fuzz_corpus), and
controls: targets that do what no input may make the library do are caught.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from riemdp.data import load_images, open_records

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "fuzz"))

from mutations import of_bytes, several  # noqa: E402
from targets import TARGETS, Target  # noqa: E402

NEEDS = {"parquet": "pyarrow", "zarr": "zarr", "pictures": "PIL"}
# About one or two seconds for each on a quiet machine.
CASES = {
    "npy": 1000, "npz": 600, "csv": 1000, "parquet": 500, "zarr": 300, "pictures": 700, "descriptors": 4000, "releases": 1500,
    "guarantees": 1500, "ledgers": 200, "ledger-rows": 120, "command-line": 150, "means": 400,
}  # fmt: skip
CORPUS = sorted(path for path in (ROOT / "tests" / "fuzz_corpus").rglob("*") if path.is_file())


def prepared(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    return TARGETS[name], TARGETS[name].prepare()


def test_every_target_has_a_share():
    assert set(CASES) == set(TARGETS)


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
    monkeypatch.setattr("riemdp.data.SMALL", 2**20)
    monkeypatch.setattr("riemdp.data.LARGEST_EXPANSION", 100)
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
    monkeypatch.setattr("riemdp.data.SMALL", 2**20)
    parquet.write_table(pyarrow.table({"x": np.zeros(10**6)}), tmp_path / "X.parquet", compression="zstd")
    assert "claims 8,000,000 bytes" in refused_within(tmp_path / "X.parquet", 3)


@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
@pytest.mark.parametrize("chunks", [(10**5, 2), (1, 2)])
def test_an_array_of_holes(tmp_path, monkeypatch, chunks):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr("riemdp.data.SMALL", 2**20 if chunks[0] > 1 else 2**30)
    zarr.open_array(str(tmp_path / "X.zarr"), mode="w", shape=(10**5, 2), chunks=chunks, dtype="f8")
    assert "claims" in (text := refused_within(tmp_path / "X.zarr", 20)) or "lacks" in text


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
