"""When everything around a release fails: nothing is lost, never more is spent than recorded, no noise is reused."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from riemdp.io import files, ledger_file

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork(), kill -9 and limits")
BALL = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
X = rd.Sphere(2).random_point(20, np.random.default_rng(0))
SHARE = rd.PureDP(0.5)


def run_worker(task, folder):
    worker = Path(__file__).with_name("_faults_worker.py")
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(worker), task, str(folder)]  # of fork() beside threads
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def release(ledger=None):
    return rd.private_mean(X, BALL, SHARE, mechanism="wrapped-laplace", ledger=ledger)


@pytest.fixture
def book(tmp_path):
    return rd.Ledger(tmp_path / "ledger.db", rd.PureDP(4.0), timeout=0.05)


@pytest.fixture
def draws(monkeypatch):
    """How often noise was drawn."""
    from riemdp.mechanisms import MECHANISMS

    kind, seen = type(MECHANISMS["wrapped-laplace"]), []
    original = kind.draw
    monkeypatch.setattr(kind, "draw", lambda *a: (seen.append(1), original(*a))[1])
    return seen


# --- killed --------------------------------------------------------------------------------------------------------


@needs_fork
def test_killed_at_every_step(tmp_path):
    """Whatever was drawn is recorded as spent; a file is the old one or the new one, whole."""
    outcomes = run_worker("killed", tmp_path)
    spent = {"before the reservation": [], "after the confirmation": ["released"], "never": ["released"]}
    in_place = ("after the file is in place", "never")
    for step, outcome in outcomes.items():
        expected = spent.get(step, ["released"] if "file" in step else ["reserved"])
        assert outcome["entries"] == expected, step
        assert outcome["killed"] == (step != "never"), step
        assert outcome["file"] == ("new" if step in in_place else "old"), step
        assert outcome["spends again"], step
    assert len(outcomes) == 10


# --- interrupted -----------------------------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, sys
from {module} import {owner} as owner
original = owner.{name}
def interrupted(*arguments, **options):
    os.killpg(0, signal.SIGINT)  # as a terminal does
    return original(*arguments, **options)
owner.{name} = interrupted
from riemdp.cli import main
main()
"""
LINE = "mean X.npy --space sphere --center north --radius 0.5 --mu 0.5 --ledger ledger.db --budget-mu 1 --out mean.json --plot mean.png"
MU = "(mu = 0.5)-Gaussian differential privacy"


def interrupted_at(module, owner, name, folder):
    """`riemdp mean` in a process group of its own, in which Ctrl-C is pressed as this function is called."""
    code = INTERRUPTED.format(module=module, owner=owner, name=name)
    command = [sys.executable, "-c", code, *LINE.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, start_new_session=True, check=False)


@needs_fork
@pytest.mark.parametrize(
    ("place", "says", "entries", "left"),
    [
        (("riemdp.statistics.query", "Query", "plan"), "nothing was released or spent.", None, []),
        (("riemdp.privacy.bounded", "Bounded", "model"), f"nothing was released; {MU} was reserved, entry 1 of {{}}, and stays spent.", ["reserved"], []),
        (("riemdp.plots", "releases", "draw_panels"), f"{MU} was spent and the release is in mean.json; other files may be missing.", ["released"], ["mean.json"]),
    ],
)
def test_ctrl_c_says_what_was_spent(tmp_path, place, says, entries, left):
    np.save(tmp_path / "X.npy", X)
    done = interrupted_at(*place, tmp_path)
    book = tmp_path / "ledger.db"
    new = "riemdp: new ledger ledger.db, nothing before this is counted.\n" if entries else ""
    assert (done.returncode, done.stderr) == (130, f"{new}riemdp: interrupted: {says.format(book)}\n")
    assert sorted(os.listdir(tmp_path)) == sorted(["X.npy", *left, *(["ledger.db"] if entries else [])])
    assert not entries or [entry.status for entry in rd.Ledger(book).history()] == entries


# --- no room, no rights -----------------------------------------------------------------------------------------------


@needs_fork
def test_a_full_disk_loses_nothing(tmp_path):
    result = run_worker("disk_full", tmp_path)
    assert result["history"] == result["granted"]
    assert result["refused"] > 0
    assert len(result["granted"]) > 0
    assert result["torn"] == 0
    assert not result["new"]
    assert result["left"] == ["ledger.db", "mean.json"]


@needs_fork
def test_what_was_paid_for_is_printed_when_the_disk_is_full(tmp_path):
    for outcome in run_worker("disk_full_command", tmp_path)["outcomes"]:
        assert not outcome["crash"]
        assert outcome["code"] in (0, 2)
        assert outcome["lines"] == (outcome["code"] == 2)
        assert outcome["spent"] == outcome["printed"]
        assert outcome["written"] <= outcome["printed"]
        assert outcome["spent"] == (outcome["room"] >= 2**20)  # a full disk is noticed before


@pytest.mark.parametrize("step", ["mkstemp", "fdopen", "fsync", "chmod", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_a_failing_write_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch, step, code):
    made, path = release(), tmp_path / "mean.json"
    made.save(path)
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(files.tempfile if step == "mkstemp" else files.os, step, fail)
        with pytest.raises(rd.InputError, match="cannot be written"):
            release().save(path, force=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["mean.json"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_replaces_another_only_by_force(tmp_path, monkeypatch, has_links):
    """Whatever appears between a look and the write: also where a disk knows no links."""

    def no_links(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not has_links:
        monkeypatch.setattr(files.os, "link", no_links)
    path = tmp_path / "mean.json"
    files.write_whole(path, b"first")
    with pytest.raises(rd.InputError, match="exists already: pass another, or force=True"):
        files.write_whole(path, b"second")
    assert path.read_bytes() == b"first"
    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(rd.InputError, match="exists already"):
        files.write_whole(path, b"third")
    files.write_whole(path, b"fourth", force=True)
    assert path.read_bytes() == b"fourth"
    assert os.listdir(tmp_path) == ["mean.json"]


@pytest.mark.parametrize("force", [True, False])
def test_an_interrupted_write_leaves_no_draft(tmp_path, monkeypatch, force):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(tmp_path / "mean.json", b"first", force=force)
    assert os.listdir(tmp_path) == []


@contextmanager
def only_reading(folder):
    """A folder, and what is in it, as somebody sees it who may not write there; root becomes nobody."""
    os.chmod(folder, 0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        os.chmod(folder, 0o755)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
def test_a_folder_that_may_only_be_read(draws):
    """Without a place for the ledger's journal nothing is reserved, hence nothing is drawn."""
    with tempfile.TemporaryDirectory() as name:
        book = rd.Ledger(Path(name) / "ledger.db", rd.PureDP(4.0))
        before = book.path.read_bytes()
        os.chmod(book.path, 0o666)  # the folder alone is in the way
        with only_reading(name):
            with pytest.raises(rd.InputError, match=r"ledger\.db"):
                release(book)
            assert draws == []
            with pytest.raises(rd.InputError, match="cannot be written"):
                release().save(Path(name) / "mean.json")
        assert book.path.read_bytes() == before
        assert os.listdir(name) == ["ledger.db"]


# --- the ledger is in use, or another -----------------------------------------------------------------------------------


def test_a_locked_ledger_draws_nothing_and_is_free_afterwards(book, draws):
    with closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(rd.InputError, match="locked by another process"):
            release(book)
    assert draws == []
    assert book.history() == []
    release(book)
    assert [entry.status for entry in book.history()] == ["released"]


def test_a_ledger_locked_after_the_draw_keeps_the_reservation(book, monkeypatch):
    """The confirmation fails: the noise was drawn, the guarantee is spent, and the caller is told."""
    other = sqlite3.connect(book.path, isolation_level=None, check_same_thread=False)
    original = rd.Ledger.confirm

    def locked(self, entry):
        other.execute("BEGIN EXCLUSIVE")
        return original(self, entry)

    monkeypatch.setattr(rd.Ledger, "confirm", locked)
    with closing(other), pytest.raises(rd.InputError, match="locked by another process"):
        release(book)
    assert [entry.status for entry in book.history()] == ["reserved"]
    assert book.spent == SHARE


def test_a_ledger_removed_after_the_reservation_is_not_made_anew(book, monkeypatch):
    original = rd.Ledger.reserve

    def vanishing(self, *arguments, **options):
        entry = original(self, *arguments, **options)
        self.path.unlink()
        return entry

    monkeypatch.setattr(rd.Ledger, "reserve", vanishing)
    with pytest.raises(rd.InputError, match=r"ledger\.db"):
        release(book)
    assert not book.path.exists()


@needs_fork
def test_two_versions_at_once(tmp_path):
    result = run_worker("versions", tmp_path)
    assert result["turns"] == [1, 2, 3, 4]
    assert result["versions"] == [rd.__version__, "99.0"] * 2
    assert len(result["problems"]) == 4
    assert all("not one that riemdp wrote" in problem for problem in result["problems"])
    assert result["same"]


@pytest.mark.parametrize("jump", [timedelta(days=-9000), timedelta(days=9000), timedelta(seconds=-1)])
def test_clock_jumps_change_neither_order_nor_total(book, monkeypatch, jump):
    class Clock:
        shift = timedelta()

        @classmethod
        def now(cls, zone):
            cls.shift += jump
            return datetime(2026, 1, 1, tzinfo=UTC).astimezone(zone) + cls.shift / 10

    monkeypatch.setattr(ledger_file, "datetime", Clock)
    values = {release(book).value.tobytes() for _ in range(4)}
    assert len(values) == 4
    assert [(entry.id, entry.status) for entry in book.history()] == [(i, "released") for i in range(1, 5)]
    assert book.spent == rd.PureDP(2.0)


# --- forks and threads ----------------------------------------------------------------------------------------------------


@needs_fork
def test_forks_after_import_draw_their_own_noise(tmp_path):
    result = run_worker("forks", tmp_path)
    for name, values in result["values"].items():
        assert len(set(values)) == 6, name
    everything = [*result["mine"], *result["theirs"], *result["values"]["wrapped-laplace"]]
    assert len(set(everything)) == len(everything)
    assert result["entries"] == ["released"] * 6


@needs_fork
def test_a_child_born_beside_an_import_does_not_wait_for_it(tmp_path):
    assert run_worker("fork_beside_an_import", tmp_path) == {"flint": True, "riemdp.kernels.angles": True}


@needs_fork
def test_threads_share_what_is_left(tmp_path):
    result = run_worker("threads", tmp_path)
    assert len(set(result["made"])) == 8
    assert result["refused"] == 4
    assert result["entries"] == ["released"] * 8


def test_an_interrupt_between_reserve_and_draw_stays_spent(book, monkeypatch):
    from riemdp.mechanisms import MECHANISMS

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(MECHANISMS["wrapped-laplace"]), "draw", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release(book)
    assert [entry.status for entry in book.history()] == ["reserved"]
    release(book)
    assert [entry.status for entry in book.history()] == ["reserved", "released"]


def test_a_thread_that_holds_the_lock_does_not_stop_others_for_ever(book):
    """A transaction that is left by an exception frees the ledger for the other threads."""

    def broken():
        try:
            with book._transaction("BEGIN IMMEDIATE"):
                raise RuntimeError
        except RuntimeError:
            pass

    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()
    release(book)
    assert len(book.history()) == 1


def test_a_property_that_is_being_computed_elsewhere_stops_nobody():
    """As after a fork: another thread is in the midst of it, for ever as far as this one is concerned."""
    from riemdp.caching import cached_property

    inside, leave = threading.Event(), threading.Event()

    class Thing:
        @cached_property
        def value(self):
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                leave.wait(60)
            return object()

    thing, other = Thing(), Thing()
    thread = threading.Thread(target=lambda: other.value)
    thread.start()
    inside.wait(60)
    first = thing.value
    assert thing.value is first
    leave.set()
    thread.join()
