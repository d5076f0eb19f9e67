"""Processes that test_ledger.py runs apart, so that fork() and kill -9 never meet the test runner.

`python _ledger_worker.py TASK FOLDER` prints what happened as JSON.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

from riemdp.accounting.guarantee import GDP, PureDP
from riemdp.errors import BudgetExceeded, InputError
from riemdp.privacy.ledger import Ledger

STEP = 2.0**-10  # exactly representable, so that the tests can count


def forked(work):
    """Run work(tell) in a child process; returns its process id and a function that waits for all it told."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        work(lambda what: os.write(writer, f"{what}\n".encode()))
        os._exit(0)
    os.close(writer)

    def told():
        os.waitpid(pid, 0)
        with os.fdopen(reader) as lines:
            return lines.read().split()

    return pid, told


def hammer(folder):
    """Eight processes try 125 reservations each, on a budget for 60."""
    ledger = Ledger(folder / "ledger.db", PureDP(60 * STEP))

    def work(tell):
        for attempt in range(125):
            try:
                entry = ledger.reserve(PureDP(STEP), f"{os.getpid()} {attempt}")
            except BudgetExceeded:
                tell("refused")
            else:
                tell(entry)

    told = [tale for _, wait in [forked(work) for _ in range(8)] for tale in wait()]
    return {"refused": told.count("refused"), "reserved": [int(tale) for tale in told if tale != "refused"]}


def kill(folder):
    """200 workers that reserve and confirm in a loop, killed at random or in the midst of a commit."""
    path = folder / "ledger.db"
    ledger, journal = Ledger(path, PureDP(90 * STEP)), Path(f"{path}-journal")
    confirmed, hot, moments, started = [], 0, random.Random(2), time.monotonic()
    seen = [ledger.reserve(PureDP(STEP)) for _ in range(10)]
    each = (time.monotonic() - started) / 10  # what a reservation takes on this disk

    def work(tell):
        while True:
            try:
                entry = ledger.reserve(PureDP(STEP))
                tell(entry)
                ledger.confirm(entry)
                tell(-entry)
            except BudgetExceeded:
                time.sleep(0.0005)

    for round_ in range(200):
        pid, told = forked(work)
        deadline = time.monotonic() + 3 * each
        while round_ % 2 and not journal.exists() and time.monotonic() < deadline:
            pass
        time.sleep(moments.uniform(0.0, each / 4 if round_ % 2 else 3 * each))
        os.kill(pid, signal.SIGKILL)
        numbers = [int(tale) for tale in told()]
        seen += [number for number in numbers if number > 0]
        confirmed += [-number for number in numbers if number < 0]
        hot += journal.exists()
        assert len(ledger.history()) >= len(seen)
    return {"seen": seen, "confirmed": confirmed, "hot_journals": hot}


def create(folder):
    """Eight processes create one ledger at once, half of them with another budget; creators are killed."""
    outcomes, moments = [], random.Random(3)
    for round_ in range(6):
        path, (reader, writer) = folder / f"race{round_}.db", os.pipe()

        def work(tell, path=path, reader=reader, writer=writer):
            os.close(writer)
            os.read(reader, 1)  # returns for all children at once, when the parent closes the other end
            budget = GDP(1.0 + os.getpid() % 2)
            try:
                tell("yes" if Ledger(path, budget).budget == budget else "wrong")
            except InputError as error:
                tell("other-budget" if "another budget" in str(error) else "error")

        children = [forked(work) for _ in range(8)]
        os.close(reader)
        os.close(writer)
        outcomes.append([tale for _, told in children for tale in told()])
    whole = []
    for round_ in range(24):
        path = folder / f"killed{round_}.db"
        pid, told = forked(lambda tell, path=path: tell(Ledger(path, GDP(1.0))))
        time.sleep(moments.uniform(0.0, 0.008))
        os.kill(pid, signal.SIGKILL)
        told()
        if path.exists():
            whole.append(Ledger(path).budget == GDP(1.0))
    return {"outcomes": outcomes, "whole": whole}


def fork_while_threads_reserve(folder):
    """Children forked in the middle of other threads' transactions can still reserve."""
    ledger = Ledger(folder / "ledger.db", PureDP(1.0), timeout=10)
    stop, mine = threading.Event(), []

    def reserve_for_ever():
        while not stop.is_set():
            mine.append(ledger.reserve(PureDP(STEP / 4)))
            time.sleep(0.001)

    threads = [threading.Thread(target=reserve_for_ever) for _ in range(2)]
    for thread in threads:
        thread.start()
    started = time.monotonic()
    theirs = []
    for _ in range(30):
        _, told = forked(lambda tell: tell(ledger.reserve(PureDP(STEP / 4))))
        theirs += [int(tale) for tale in told()]
    stop.set()
    for thread in threads:
        thread.join()
    return {"mine": mine, "theirs": theirs, "seconds": time.monotonic() - started}


def without_rights(folder):
    """What a user meets who may read a ledger but not write it, or not even read it."""
    with tempfile.TemporaryDirectory() as name:
        shared = Path(name)
        path, secret = shared / "ledger.db", shared / "secret.db"
        ledger = Ledger(path, GDP(1.0))
        ledger.reserve(GDP(0.5))
        Ledger(secret, GDP(1.0))
        for place, mode in ((path, 0o444), (secret, 0o000), (shared, 0o555)):
            os.chmod(place, mode)
        before = path.read_bytes()
        if os.geteuid() == 0:
            os.seteuid(65534)
        attempts = {
            "reserve": lambda: ledger.reserve(GDP(0.1)),
            "confirm": lambda: ledger.confirm(1),
            "create": lambda: Ledger(shared / "new.db", GDP(1.0)),
            "open": lambda: Ledger(secret),
        }
        errors = {name: refusal(attempt) for name, attempt in attempts.items()}
        entries = len(Ledger(path).history())
        if os.getuid() == 0:
            os.seteuid(0)
        os.chmod(shared, 0o755)
        return {"errors": errors, "entries": entries, "same": path.read_bytes() == before}


def refusal(attempt):
    try:
        attempt()
    except InputError as error:
        return str(error)
    return None


if __name__ == "__main__":
    tasks = (hammer, kill, create, fork_while_threads_reserve, without_rights)
    result = {task.__name__: task for task in tasks}[sys.argv[1]](Path(sys.argv[2]))
    databases = [path for path in Path(sys.argv[2]).glob("*.db") if path.exists()]
    checks = [sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone()[0] for path in databases]
    print(json.dumps(result | {"integrity": sorted(set(checks))}))
