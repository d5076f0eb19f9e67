"""Processes that test_faults.py runs apart: they fork, are killed, and run into limits, with the system's own randomness.

`python _faults_worker.py TASK FOLDER` prints what happened as JSON.
"""

import importlib
import json
import os
import resource
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

import riemdp as rd
from riemdp.io import files, ledger_file
from riemdp.mechanisms import MECHANISMS
from riemdp.privacy.ledger import Ledger

SPHERE = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
X = rd.Sphere(2).random_point(20, np.random.default_rng(0))
MANY = np.tile(X, (2000, 1))  # enough for the compiled kernels
BUDGET, SHARE = rd.PureDP(64.0), rd.PureDP(0.5)


def release(ledger=None, mechanism="wrapped-laplace"):
    return rd.private_mean(X, SPHERE, SHARE, mechanism=mechanism, ledger=ledger)


def child(work):
    """What work() prints on its own pipe, line by line, however it ends; and how it ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            work(lambda text: os.write(writer, f"{text}\n".encode()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read().split("\n")[:-1]
    return told, os.waitpid(pid, 0)[1]


# --- killed at every step ------------------------------------------------------------------------------------------


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def dying(owner, name, *, first):
    """Replace a function by one that kills its process before it does its work, or after."""
    original = getattr(owner, name)

    def replaced(*arguments, **options):
        result = None if first else original(*arguments, **options)
        die()
        return result

    setattr(owner, name, replaced)


MECHANISM = type(MECHANISMS["wrapped-laplace"])
STEPS = {
    "before the reservation": partial(dying, Ledger, "reserve", first=True),
    "after the reservation": partial(dying, Ledger, "reserve", first=False),
    "before the draw": partial(dying, MECHANISM, "draw", first=True),
    "after the draw": partial(dying, MECHANISM, "draw", first=False),
    "before the confirmation": partial(dying, Ledger, "confirm", first=True),
    "after the confirmation": partial(dying, Ledger, "confirm", first=False),
    "before the file is synced": partial(dying, files.os, "fsync", first=True),
    "before the file is in place": partial(dying, files.os, "replace", first=True),
    "after the file is in place": partial(dying, files.os, "replace", first=False),
    "never": lambda: None,
}


def killed(folder):
    """A release into a file that holds an older one, killed at each step."""
    outcomes = {}
    for number, (step, arrange) in enumerate(STEPS.items()):
        path, out = folder / f"{number}.db", folder / f"{number}.json"
        book, old = Ledger(path, BUDGET), release()
        old.save(out)

        def work(tell, book=book, out=out, arrange=arrange):
            arrange()
            made = release(book)
            tell("made")
            made.save(out, force=True)

        told, status = child(work)
        kept = rd.Release.load(out)
        outcomes[step] = {
            "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
            "told": told,
            "entries": [entry.status for entry in Ledger(path).history()],
            "file": "old" if kept.value.tolist() == old.value.tolist() else "new",
            "spends again": Ledger(path).reserve(SHARE) > 0,
        }
    return outcomes


# --- no room ---------------------------------------------------------------------------------------------------------


def limited(size, work):
    """work() while no file of this process may grow beyond a size; None if it was refused."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        return work()
    except rd.RiemdpError:
        return None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def disk_full(folder):
    """Reservations, confirmations, releases and files with less and less room."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    book, out = Ledger(folder / "ledger.db", BUDGET), folder / "mean.json"
    release().save(out)
    whole, granted, refused, torn, unconfirmed = book.path.stat().st_size, [], 0, 0, 0
    for room in [*range(0, whole + 4096, 1024), 2**30]:
        entry = limited(room, lambda room=room: book.reserve(SHARE, f"room {room}"))
        granted += [entry] if entry else []
        refused += entry is None
        unconfirmed += entry is not None and limited(room, lambda entry=entry: book.confirm(entry) or True) is None
        before = out.read_bytes()
        saved = limited(room // 8, lambda: release().save(out, force=True) or True)
        torn += saved is None and out.read_bytes() != before
        rd.Release.load(out)
    new = limited(100, lambda: Ledger(folder / "new.db", BUDGET))
    return {
        "granted": granted, "refused": refused, "torn": torn, "new": new is not None, "unconfirmed": unconfirmed,
        "history": [entry.id for entry in book.history()], "left": sorted(os.listdir(folder)),
    }  # fmt: skip


def disk_full_command(folder):
    """`riemdp mean` with too little room for its files: what is paid for is printed."""
    from typer.testing import CliRunner

    from riemdp.cli import app

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    np.save(folder / "X.npy", np.tile(X, (30, 1)))  # enough of them for a release that is worth its budget
    os.chdir(folder)
    book, outcomes = Ledger("ledger.db", BUDGET), []
    line = "mean X.npy --space sphere --center north --radius 0.5 --epsilon 0.5 --ledger ledger.db --out mean.json --json".split()
    for room in (0, 64, 4096, 2**16, 2**19, 2**21):
        before, result = len(book.history()), None

        def run():
            nonlocal result
            result = CliRunner().invoke(app, line, prog_name="riemdp")

        limited(room, run)
        outcomes.append({
            "room": room, "code": result.exit_code, "printed": '"riemdp": "release"' in result.stdout, "written": Path("mean.json").exists(),
            "spent": len(book.history()) - before, "lines": len(result.stderr.splitlines()), "crash": not isinstance(result.exception, SystemExit | None),
        })  # fmt: skip
        Path("mean.json").unlink(missing_ok=True)
    return {"outcomes": outcomes}


# --- forks and threads ---------------------------------------------------------------------------------------------


def forks(folder):
    """Children that inherit everything, also in the middle of other threads' draws, draw their own noise."""
    book = Ledger(folder / "ledger.db", BUDGET)
    names = ("wrapped-laplace", "wrapped-gaussian", "riemannian-laplace", "kng")
    guarantee = {"wrapped-gaussian": rd.GDP(0.5)}
    for name in names:  # whatever a child could inherit is there
        rd.private_mean(X, SPHERE, guarantee.get(name, SHARE), mechanism=name)
    values = {}
    for name in names:

        def work(tell, name=name):
            tell(rd.private_mean(X, SPHERE, guarantee.get(name, SHARE), mechanism=name).value.tobytes().hex())

        values[name] = [told for _ in range(6) for told in child(work)[0]]
    stop, mine = threading.Event(), []

    def busy():
        while not stop.is_set():
            mine.append(release().value.tobytes().hex())

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    theirs = [told for _ in range(6) for told in child(lambda tell: tell(release(book).value.tobytes().hex()))[0]]
    stop.set()
    for thread in threads:
        thread.join()
    return {"values": values, "mine": mine, "theirs": theirs, "entries": [entry.status for entry in book.history()]}


class SlowImport:
    """An import that takes its time once it has begun: other threads can do something meanwhile."""

    def __init__(self, name):
        self.name, self.begun = name, threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            self.begun.set()
            time.sleep(0.5)


def fork_beside_an_import(folder):
    """A child that is born while another thread imports what its own release needs."""
    outcomes = {}
    for module, inside, records in (("flint", "flint.pyflint", X), ("riemdp.kernels.angles", "numba", MANY)):
        assert inside not in sys.modules
        slow = SlowImport(inside)
        sys.meta_path.insert(0, slow)
        thread = threading.Thread(target=importlib.import_module, args=(module,))
        thread.start()
        slow.begun.wait()
        outcomes[module] = ends_in_time(lambda records=records: rd.private_mean(records, SPHERE, SHARE, mechanism="wrapped-laplace"))
        thread.join()
        sys.meta_path.remove(slow)
    return outcomes


def ends_in_time(work):
    """Whether a child that does this work comes to an end."""
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    for _ in range(300):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def threads(folder):
    """Twelve threads on a budget for eight releases."""
    book, made, refused = Ledger(folder / "ledger.db", rd.PureDP(4.0)), [], []

    def work():
        try:
            made.append(release(book).value.tobytes().hex())
        except rd.BudgetExceeded:
            refused.append(1)

    crowd = [threading.Thread(target=work) for _ in range(12)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return {"made": made, "refused": len(refused), "entries": [entry.status for entry in book.history()]}


def versions(folder):
    """Two versions of riemdp that spend from one ledger in turn, and one whose format is another."""
    book = Ledger(folder / "ledger.db", rd.PureDP(4.0))

    def other(tell):
        ledger_file.__version__ = "99.0"
        tell(Ledger(book.path).reserve(SHARE, "from the future"))

    turns = [book.reserve(SHARE), *map(int, child(other)[0]), book.reserve(SHARE), *map(int, child(other)[0])]
    seen = [entry.version for entry in book.history()]
    with closing(sqlite3.connect(book.path, isolation_level=None)) as db:
        db.execute("ALTER TABLE entry ADD COLUMN signature TEXT")  # what a later format might do
    before, problems = book.path.read_bytes(), []
    for attempt in (lambda: release(book), lambda: Ledger(book.path), lambda: book.confirm(1), lambda: Ledger(book.path, rd.PureDP(4.0))):
        try:
            attempt()
        except rd.InputError as problem:
            problems.append(str(problem))
    return {"turns": turns, "versions": seen, "problems": problems, "same": book.path.read_bytes() == before}


if __name__ == "__main__":
    tasks = {task.__name__: task for task in (killed, disk_full, disk_full_command, forks, fork_beside_an_import, threads, versions)}
    print(json.dumps(tasks[sys.argv[1]](Path(sys.argv[2]))))
