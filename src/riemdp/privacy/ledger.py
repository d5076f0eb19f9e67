"""An append-only file whose reservations never compose to more than its budget (docs/proofs/ledger.md)."""

import hashlib
import json
import os
import sqlite3
import threading
import time
from bisect import bisect
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from riemdp.errors import BudgetExceeded, InputError, MechanismError, one_line
from riemdp.privacy.composition import compose
from riemdp.privacy.guarantee import ApproxDP, Guarantee
from riemdp.version import __version__

_ABORT = "BEGIN SELECT RAISE(ABORT, 'a ledger entry is appended, released once, and never changed'); END"
_SCHEMA = [  # Entry 0 is the budget; the digest of an entry covers it and all entries before it.
    "CREATE TABLE entry (/* riemdp ledger, format 1 */ id INTEGER PRIMARY KEY, time_utc TEXT NOT NULL,"
    " guarantee TEXT NOT NULL, description TEXT NOT NULL, status TEXT NOT NULL, version TEXT NOT NULL,"
    " digest TEXT NOT NULL, CHECK (status IN ('budget', 'reserved', 'released')))",
    f"CREATE TRIGGER no_delete BEFORE DELETE ON entry {_ABORT}",
    # INSERT OR REPLACE deletes without waking that trigger: hence a new entry must take the next free id.
    "CREATE TRIGGER only_append BEFORE INSERT ON entry WHEN (NEW.id, NEW.status) IS NOT"
    f" (SELECT count(*), iif(count(*), 'reserved', 'budget') FROM entry) {_ABORT}",
    "CREATE TRIGGER only_release BEFORE UPDATE ON entry WHEN (OLD.status, NEW.status, NEW.id, NEW.time_utc,"
    " NEW.guarantee, NEW.description, NEW.version, NEW.digest) IS NOT ('reserved', 'released', OLD.id,"
    f" OLD.time_utc, OLD.guarantee, OLD.description, OLD.version, OLD.digest) {_ABORT}",
]
# Rollback journal, not WAL: WAL needs shared memory, which network disks lack, and keeps commits in a second
# file that a copy may leave behind. EXTRA also syncs the folder once the journal is gone, lest a power cut
# bring it back and undo a reservation whose release is already out. fullfsync is what syncs on macOS.
_DURABLE = ["PRAGMA synchronous = EXTRA", "PRAGMA fullfsync = ON"]
# Connections live under this lock and fork() waits for it, for a child would inherit their state for ever. No
# other code may open the file: POSIX drops all of a process's locks on a file when it closes any descriptor.
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@dataclass(frozen=True)
class Entry:
    """One reservation; `status` is 'reserved' or, once confirmed, 'released': both count as spent."""

    id: int
    time_utc: str
    guarantee: Guarantee
    description: str
    status: str
    version: str


@dataclass(frozen=True, init=False)
class Ledger:
    """A privacy budget kept in a file, from which every release reserves its guarantee before it draws noise.

    `Ledger(path, budget)` creates the file, or opens it if its budget is the same; `Ledger(path)` opens it.
    Copies, pickles, scikit-learn clones, threads and processes all spend from it; never put back an old copy.

    Under PureDP, GDP, RDP and ZCDP budgets the guarantees may be chosen in the light of earlier releases
    (privacy filters: Rogers et al. 2016, Feldman-Zrnic 2021, Smith-Thakurta 2022). Under an ApproxDP budget
    the analyses may, but the sequence of guarantees must not, depend on them, unless every entry is GDP.
    """

    path: Path
    budget: Guarantee = field(compare=False)
    timeout: float = field(compare=False, repr=False)

    def __init__(self, path: str | Path, budget: Guarantee | None = None, timeout: float = 30.0) -> None:
        _require(isinstance(budget, Guarantee | None), f"budget {budget!r} is no guarantee; give GDP(1) say.")
        _require(path != ":memory:", "path ':memory:' would forget what was spent; give the name of a file.")
        try:
            self.__dict__.update(path=Path(path).resolve(), budget=budget, timeout=float(timeout))
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            raise InputError(f"path {path!r} or timeout {timeout!r} is wrong ({one_line(error)}); mend it.") from None
        if budget is not None and not os.path.lexists(self.path):
            self._create(budget)
        _require(os.path.lexists(self.path), f"the ledger {self.path} does not exist; give it a budget.")
        with self._transaction("BEGIN") as (_, entries):
            self.__dict__.update(budget=entries[0].guarantee)

    def reserve(self, guarantee: Guarantee, description: str = "") -> int:
        """Commit `guarantee` durably and return its id if the total stays within the budget, else raise."""
        _require(str(description).isprintable(), f"description {description!r} is not one printable line.")
        _require(isinstance(guarantee, Guarantee), f"guarantee {guarantee!r} is none; give GDP(0.1) say.")
        with self._transaction("BEGIN IMMEDIATE") as (db, entries):
            self._fits([guarantee])  # raises if the budget's type has no place for it
            past = [entry.guarantee for entry in entries[1:]]
            if self._fits([*past, guarantee]):
                return _append(db, guarantee, str(description), "reserved")
        asked, gone = (g and replace(g, assumptions=()) for g in (guarantee, compose(past, like=self.budget)))
        spent = f"{gone!r} of the budget {self.budget!r} is spent"
        raise BudgetExceeded(f"guarantee {asked!r} does not fit: {spent}; see ledger.remaining.")

    def confirm(self, entry_id: int) -> None:
        """Mark a reservation as released, once; it counts as spent with or without this."""
        with self._transaction("BEGIN IMMEDIATE") as (db, entries):
            status = next((entry.status for entry in entries if entry.id == entry_id), "unknown")
            _require(status == "reserved", f"entry_id {entry_id!r} is {status}; give reserve()'s id once.")
            db.execute("UPDATE entry SET status = 'released' WHERE id = ?", (int(entry_id),))

    def history(self) -> list[Entry]:
        """All reservations, oldest first: ordered by `id`, since `time_utc` is only what the clock said."""
        with self._transaction("BEGIN") as (_, entries):
            return entries[1:]

    @property
    def spent(self) -> Guarantee | None:
        """All reservations, confirmed or not, composed into the budget's type; None before the first."""
        return compose([entry.guarantee for entry in self.history()], like=self.budget)

    @property
    def remaining(self) -> Guarantee | None:
        """The largest part of the budget (of all its numbers but alpha) that still fits; None if none does.

        In steps of 2^-62, ApproxDP 2^-10 to be fast; bisection on `compose` itself, so reserving it succeeds.
        """
        past = [entry.guarantee for entry in self.history()]
        parts = range(1, 1 + (2**10 if isinstance(self.budget, ApproxDP) else 2**62))
        count = bisect(parts, False, key=lambda k: not self._fits([*past, self._share(k / len(parts))]))
        return self._share(count / len(parts)) if count else None

    def _share(self, part: float) -> Guarantee:
        scaled = {k: max(part * v, 5e-324) for k, v in self.budget.parameters.items() if k != "alpha"}
        return Guarantee.from_dict(self.budget.to_dict() | scaled)

    def _fits(self, guarantees: list[Guarantee]) -> bool:
        with suppress(MechanismError) if isinstance(self.budget, ApproxDP) else nullcontext():
            total = compose(guarantees, like=self.budget)
            return total is None or total <= self.budget
        return False  # every guarantee has a delta at every epsilon: here it is 1

    def _create(self, budget: Guarantee) -> None:
        """Write a whole ledger beside the path, then link it there: in one step, never over another file."""
        draft = self.path.with_name(f".{os.urandom(8).hex()}.riemdp")
        try:
            with _LOCK, closing(sqlite3.connect(draft)) as db:
                db.executescript("; ".join([*_DURABLE, "BEGIN", *_SCHEMA]))
                _append(db, budget, "", "budget")
                db.execute("COMMIT")
            os.link(draft, self.path)
        except FileExistsError:
            pass  # another process was first: its ledger is opened instead and the budgets are compared
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"the ledger {self.path} cannot be created ({one_line(error)}); move it.") from None
        finally:
            with suppress(OSError):
                draft.unlink()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[tuple[sqlite3.Connection, list[Entry]]]:
        """One transaction on a connection of its own, committed at the end, undone by any error or crash."""
        try:
            with _LOCK, closing(sqlite3.connect(f"{self.path.as_uri()}?mode=rw", 0, uri=True)) as db:
                for statement in [*_DURABLE, begin, "SELECT 1 FROM sqlite_master"]:
                    self._insist(db, statement)
                yield db, self._verified(db)
                self._insist(db, "COMMIT")
        except (sqlite3.Error, UnicodeError) as error:
            raise InputError(f"the ledger {self.path} is unusable ({one_line(error)}); give another.") from None

    def _insist(self, db: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
        """Execute as soon as the file is free (SQLite's own wait, in naps of 100 ms, starves among peers)."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return db.execute(statement)
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                    raise
                locked = f"locked by another process for more than {self.timeout:g} s; wait or raise timeout"
                _require(time.monotonic() < deadline, f"the ledger {self.path} is {locked}.")
            time.sleep(0.001)

    def _verified(self, db: sqlite3.Connection) -> list[Entry]:
        """The budget and all reservations of a file that is a ledger, unaltered, and of this budget."""
        name, asked = f"the ledger {self.path}", self.budget
        schema = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")]
        _require(schema == _SCHEMA, f"{name} is not one that this version of riemdp wrote; give another.")
        rows = db.execute("SELECT * FROM entry ORDER BY id").fetchall()
        intact = [*accumulate(rows, _digest, initial="")] == ["", *(row[-1] for row in rows)] != [""]
        intact = intact and all(isinstance(cell, str) for row in rows for cell in row[1:])
        intact = intact and db.execute("PRAGMA quick_check").fetchone() == ("ok",)
        _require(intact, f"{name} is damaged; restore a copy and count whatever that lacks as spent.")
        entries = [Entry(i, t, _parsed(g), d, s, v) for i, t, g, d, s, v, _ in rows]
        kind = "budget" if type(stored := entries[0].guarantee) is type(asked) else "budget type"
        _require(asked in (None, stored), f"{name} has another {kind}, {stored!r} not {asked!r}; omit it.")
        return entries


def _require(truth: bool, message: str) -> None:
    if not truth:
        raise InputError(message)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Guarantee:
    try:
        return Guarantee.from_dict(json.loads(text))
    except (ValueError, RecursionError):  # the digests are right, yet no riemdp wrote this
        raise InputError("the ledger has an entry that is no guarantee; give another.") from None


def _append(db: sqlite3.Connection, guarantee: Guarantee, description: str, status: str) -> int:
    last, digest = db.execute("SELECT id, digest FROM entry ORDER BY id DESC").fetchone() or (-1, "")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = (last + 1, now, json.dumps(guarantee.to_dict()), description, status, __version__)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, _digest(digest, row)))
    return row[0]


def _digest(previous: str, row: tuple[object, ...]) -> str:
    return hashlib.sha256(repr((previous, *row[:4], row[5])).encode()).hexdigest()
