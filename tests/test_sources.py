"""Blocks of records are the same wherever the records are; memory maps do not pile up; interrupts stop at once."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from riemdp.io import sources
from riemdp.io.data import open_records
from riemdp.io.sources import block_rows, reporting, source_of
from riemdp.kernels.threads import _blas, _controller, map_ranges

N = 1003
X = np.random.default_rng(0).standard_normal((N, 3, 3))


def digest(block, start):
    """What a task sees, to the bit."""
    return start, len(block), hashlib.sha256(np.ascontiguousarray(block)).hexdigest()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 64 records, so that there are many."""
    monkeypatch.setattr(sources, "MOST_ROWS", 64)


@pytest.fixture
def expected(small_blocks):
    return [digest(X[i : i + 64], i) for i in range(0, N, 64)]


# --- blocks ----------------------------------------------------------------------------------------------------


def test_the_size_of_a_block_follows_from_the_numbers_in_a_record(monkeypatch):
    monkeypatch.undo()
    real, double = np.dtype(np.float32), np.dtype(np.complex128)
    sizes = {shape: block_rows(shape, real) for shape in [(), (3, 3), (8, 8), (9, 9), (30, 30), (2000, 2000)]}
    assert list(sizes.values()) == [2**14, 2**14, 2**14, 2**13, 2**10, 1]
    assert block_rows((50,), double) == block_rows((50, 2), real)  # landmarks, in both forms
    assert source_of(np.zeros((5, 9, 9))).block == 2**13


def on_disk(place: Path, name: str):
    if name == "memory map":
        np.save(place / "X.npy", X)
        return np.load(place / "X.npy", mmap_mode="r")
    if name == "Fortran memory map":
        np.save(place / "X.npy", np.asfortranarray(X))
        return np.load(place / "X.npy", mmap_mode="r")
    if name == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open_array(str(place / "X.zarr"), mode="w", shape=X.shape, dtype=X.dtype, chunks=(100, 3, 2))
        array[...] = X
        return array
    if name == "folder":
        for i, part in enumerate(np.array_split(X[:-3], 7)):
            np.save(place / f"{i}.npy", part)
        for i in (1, 2, 3):
            np.save(place / f"x{4 - i}.npy", X[-i])
        return open_records(place).points(rd.SPDAffine(3))
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"a": X[:, 0, 0], "rest": pyarrow.FixedSizeListArray.from_arrays(X.reshape(N, 9)[:, 1:].ravel(), 8)})
    parquet.write_table(table, place / "X.parquet", row_group_size=150)
    return open_records(place / "X.parquet").points(rd.SPDAffine(3))


@pytest.mark.parametrize("name", ["memory map", "Fortran memory map", "zarr", "folder", "parquet"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
def test_blocks_from_disk_are_those_from_memory(tmp_path, name, expected):
    source = source_of(on_disk(tmp_path, name))
    assert (source.shape, source.dtype, source.n) == (X.shape, X.dtype, N)
    assert source.map(digest) == expected


@pytest.mark.parametrize("threads", ["1", "3"])
def test_blocks_from_memory(expected, threads, monkeypatch):
    monkeypatch.setenv("RIEMDP_NUM_THREADS", threads)
    for form in (X, np.asfortranarray(X), X.tolist(), list(X)):
        assert source_of(form).map(digest) == expected


@pytest.mark.parametrize("chunks", [1, 7, 64, 100, 1000, -1, (100, 2, 1), ((1, 2, 1000), 3, 3)])
def test_blocks_of_a_dask_array_do_not_depend_on_its_chunks(expected, chunks):
    da = pytest.importorskip("dask.array")
    array = da.from_array(X, chunks=chunks if isinstance(chunks, tuple) else (chunks, 3, 3))
    assert source_of(array).map(digest) == expected


def test_chunks_of_whole_blocks_are_left_where_they_are():
    da = pytest.importorskip("dask.array")
    array = da.from_array(X, chunks=(128, 3, 3))
    kept = source_of(array).array
    assert kept.chunks == array.chunks
    assert list(kept.dask.dependencies[kept.name]) == [array.name]  # chunk by chunk: nothing moves
    borders = np.cumsum(source_of(array.rechunk((100, 3, 3))).array.chunks[0])
    assert borders.tolist() == [128, 192, 320, 384, 512, 576, 704, 832, 896, 1003]  # nearest to 100, 200, ...


def test_a_dask_array_of_unknown_chunks_is_refused():
    da = pytest.importorskip("dask.array")
    array = da.from_array(X, chunks=(100, 3, 3))
    some = array[array[:, 0, 0] > 0]
    with pytest.raises(rd.InputError, match=r"unknown chunk sizes: call its compute_chunk_sizes\(\) first"):
        source_of(some)
    some.compute_chunk_sizes()
    assert source_of(some).n == (X[:, 0, 0] > 0).sum()


def test_other_collections_of_dask_are_refused():
    dask = pytest.importorskip("dask")
    with pytest.raises(rd.InputError, match=r"X is a Delayed.* of Dask: pass a Dask array"):
        rd.private_mean(dask.delayed(X), rd.Ball(rd.SPDAffine(3), np.eye(3), 1.0), rd.GDP(1.0))


def test_what_has_a_shape_but_no_rows_of_numbers_is_refused_before_anything_is_spent(tmp_path):
    sparse = pytest.importorskip("scipy.sparse").csr_array(np.eye(3))
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.0))
    with pytest.raises(rd.InputError, match="X"):
        rd.private_mean(sparse, rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0), rd.GDP(1.0), ledger=ledger)
    assert ledger.history() == []


def test_a_task_starts_no_threads_of_its_own_and_blas_has_one():
    def task(block, start):
        own = set(map_ranges(lambda i, j: threading.get_ident(), 10, 1)) == {threading.get_ident()}
        blas = [library for library in _controller().info() if library["user_api"] == "blas"]
        return own, {library["num_threads"] for library in blas} == {1}

    da = pytest.importorskip("dask.array")
    for form in (X, da.from_array(X, chunks=(100, 3, 3))):
        assert set(source_of(form).map(task)) == {(True, True)}


def test_nothing_private_is_shown():
    assert repr(source_of(np.full((2, 3), 0.125))) == "ArraySource(shape=(2, 3), dtype=float64)"


# --- progress and interrupts -------------------------------------------------------------------------------------


def forms():
    da = pytest.importorskip("dask.array")
    return {"array": X, "dask": da.from_array(X, chunks=(128, 3, 3))}


@pytest.mark.parametrize("form", ["array", "dask"])
def test_progress_grows_to_the_number_of_blocks(form):
    seen = []
    with reporting(lambda done, total: seen.append((done, total))):
        source_of(forms()[form]).map(digest)
    source_of(X).map(digest)  # outside: not reported
    assert seen == sorted(seen)
    assert len(seen) > 3
    assert (seen[-1], {total for _, total in seen}) == ((16, 16), {16})


@pytest.mark.parametrize("form", ["array", "dask"])
def test_an_interrupt_stops_the_pass(form, monkeypatch):
    monkeypatch.setenv("RIEMDP_NUM_THREADS", "2")
    begun, may_go_on = [], threading.Event()

    def task(block, start):
        begun.append(start)
        if start >= 128:  # beyond the first chunk
            may_go_on.wait(60)

    def interrupt(done, total):
        raise KeyboardInterrupt

    dask, source = pytest.importorskip("dask"), source_of(forms()[form])
    timer = threading.Timer(5.0, may_go_on.set)  # later than the interrupt
    timer.start()
    with dask.config.set(num_workers=2), reporting(interrupt), pytest.raises(KeyboardInterrupt):
        source.map(task)
    may_go_on.set()
    timer.cancel()
    assert len(begun) < 16
    until = time.monotonic() + 60
    while _blas.callers and time.monotonic() < until:  # by what had begun
        time.sleep(0.01)
    assert _blas.callers == 0


# --- memory maps -------------------------------------------------------------------------------------------------


def mapped_kilobytes(path):
    """Of the file, in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    return sum(int(next(line for line in lines if line.startswith("Rss:")).split()[1]) for header in lines if header.endswith(str(path)))


def first(block, start):
    return float(block.sum())


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="memory maps are listed by Linux only")
@pytest.mark.parametrize("order", ["C", "F"])
def test_pages_of_a_memory_map_are_let_go(tmp_path, order, monkeypatch):
    monkeypatch.undo()
    np.save(tmp_path / "X.npy", np.ones((400_000, 3, 3), order=order))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    source_of(mapped).map(first)
    assert mapped_kilobytes(tmp_path / "X.npy") < 6000
    assert mapped.sum() == 400_000 * 9  # they come back
    assert mapped_kilobytes(tmp_path / "X.npy") > 25_000


def test_changes_to_a_memory_map_that_no_file_has_are_kept(tmp_path):
    np.save(tmp_path / "X.npy", X)
    copy = np.load(tmp_path / "X.npy", mmap_mode="c")
    copy[...] = 1.0
    assert set(source_of(copy).map(first)[:-1]) == {64.0 * 9}
    assert (copy == 1.0).all()


# --- nothing of Dask unless asked for ----------------------------------------------------------------------------

LEAN = """
import sys
import numpy as np, riemdp as rd
from typer.testing import CliRunner
from riemdp.cli import app

def run(*line):
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output

place = sys.argv[1]
X = rd.SPDAffine(2).random_point(50, 0)
np.save(f"{place}/X.npy", X)
np.save(f"{place}/images.npy", np.zeros((2, 9, 9)))
ball = ("--space", "spd-affine", "--center", "identity", "--radius", "1")
run("mean", f"{place}/X.npy", *ball, "--mu", "1")
run("check", f"{place}/X.npy", *ball)
run("descriptors", f"{place}/images.npy", "--out", f"{place}/D.npy")
rd.PrivateFrechetMean(ball=rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0), guarantee=rd.GDP(1.0)).fit(X)
print([name for name in sys.modules if name.partition(".")[0] in ("dask", "distributed", "zarr")])
"""


def test_nothing_of_dask_is_imported_unless_asked_for(tmp_path):
    code = f"import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n{LEAN}"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['dask', 'distributed']\n"  # the two that were forbidden
