"""The ledger: an append-only SQLite file whose reservations never compose to more than its budget.

The invariant, why a crash is safe and which theorem stands behind each type of budget: docs/proofs/ledger.md.
"""

import hashlib
import json
import math
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from riemdp.errors import BudgetExceeded, InputError
from riemdp.privacy.guarantee import ApproxDP, Guarantee, compose

_ABORT = "BEGIN SELECT RAISE(ABORT, 'a ledger entry is appended, released once, and never changed'); END"
_SCHEMA = [  # Entry 0 is the budget; the digest of an entry covers it and all entries before it.
    "CREATE TABLE entry (/* riemdp ledger, format 1 */ id INTEGER PRIMARY KEY, time_utc TEXT NOT NULL,"
    " guarantee TEXT NOT NULL, description TEXT NOT NULL, status TEXT NOT NULL, version TEXT NOT NULL,"
    " digest TEXT NOT NULL, CHECK (status = iif(id, iif(status = 'released', status, 'reserved'), 'budget')))",
    f"CREATE TRIGGER no_delete BEFORE DELETE ON entry {_ABORT}",
    # INSERT OR REPLACE deletes without waking that trigger: hence a new entry must take the next free id.
    "CREATE TRIGGER only_append BEFORE INSERT ON entry"
    f" WHEN NEW.id IS NOT (SELECT count(*) FROM entry) OR NEW.status = 'released' {_ABORT}",
    "CREATE TRIGGER only_release BEFORE UPDATE ON entry WHEN (OLD.status, NEW.status, NEW.id, NEW.time_utc,"
    " NEW.guarantee, NEW.description, NEW.version, NEW.digest) IS NOT ('reserved', 'released', OLD.id,"
    f" OLD.time_utc, OLD.guarantee, OLD.description, OLD.version, OLD.digest) {_ABORT}",
]
# Rollback journal, not WAL: WAL needs shared memory, which network disks lack, and keeps commits in a second
# file that a copy may leave behind. EXTRA also syncs the folder once the journal is gone: otherwise a power cut
# could bring it back and undo a reservation whose release is already out. fullfsync is what syncs on macOS.
_DURABLE = ["PRAGMA synchronous = EXTRA", "PRAGMA fullfsync = ON"]
# A child forked while another thread is inside SQLite would inherit that thread's locks for ever: connections
# live under this lock and fork() waits for it. Nothing else may open the file: POSIX drops all the locks that
# a process has on a file as soon as any of its descriptors is closed.
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

    `Ledger(path, budget)` creates the file, or opens it if its budget is the same; `Ledger(path)` opens it. It
    is nothing but an absolute path and the budget found there: copies, pickles, scikit-learn clones, threads
    and processes all spend from that one file. The file is the budget: never copy it or put back an old one.

    Under PureDP, GDP, RDP and ZCDP budgets the guarantees may be chosen in the light of earlier releases
    (privacy filters: Rogers et al. 2016, Feldman-Zrnic 2021, Smith-Thakurta 2022). Under an ApproxDP budget the
    analyses may, but the sequence of guarantees must not, depend on them, unless every entry is GDP.
    """

    path: Path
    budget: Guarantee = field(compare=False)
    timeout: float = field(compare=False, repr=False)

    def __init__(self, path: str | Path, budget: Guarantee | None = None, timeout: float = 30.0) -> None:
        _require(isinstance(budget, Guarantee | None), f"budget {budget!r} is no guarantee; give e.g. GDP(1).")
        _require(0 <= timeout <= 86_400, f"timeout {timeout!r} is not in [0, 86400] seconds; give e.g. 30.")
        self.__dict__.update(path=_checked_path(path), budget=budget, timeout=float(timeout))
        if budget is not None and not os.path.lexists(self.path):
            self._create(budget)
        self.__dict__.update(budget=self._entries()[0].guarantee)

    def reserve(self, guarantee: Guarantee, description: str = "") -> int:
        """Commit `guarantee` durably if the total stays within the budget, and return the entry's id.

        One transaction reads, composes, compares and writes; BudgetExceeded means that nothing was written.
        """
        _require(isinstance(guarantee, Guarantee), f"guarantee {guarantee!r} is none; give e.g. GDP(0.1).")
        line = isinstance(description, str) and description.isprintable()
        _require(line, f"description {description!r} is not one line of printable text; give a str.")
        with self._transaction("BEGIN IMMEDIATE") as (db, entries):
            past = [entry.guarantee for entry in entries[1:]]
            if self._fits([*past, guarantee]):
                return _append(db, guarantee, description, "reserved")
        spent, left = compose(past, like=self.budget), self._largest_share(past)
        asked = f"guarantee {guarantee!r} does not fit the budget {self.budget!r}"
        raise BudgetExceeded(f"{asked}, of which {spent!r} is spent; ask for at most {left!r}.")

    def confirm(self, entry_id: int) -> None:
        """Mark a reservation as released, once; it counts as spent with or without this."""
        with self._transaction("BEGIN IMMEDIATE") as (db, entries):
            status = {entry.id: entry.status for entry in entries}.get(entry_id, "unknown")
            _require(status == "reserved", f"entry_id {entry_id!r} is {status}; give reserve()'s answer once.")
            db.execute("UPDATE entry SET status = 'released' WHERE id = ?", (int(entry_id),))

    def history(self) -> list[Entry]:
        """All reservations, oldest first: ordered by `id`, since `time_utc` is only what the clock said."""
        return self._entries()[1:]

    @property
    def spent(self) -> Guarantee | None:
        """The composition of all reservations, confirmed or not, in the budget's type; None if there are none."""
        return compose([entry.guarantee for entry in self.history()], like=self.budget)

    @property
    def remaining(self) -> Guarantee | None:
        """The budget times the largest share t that still fits (all but alpha is scaled); None if t < 2^-60.

        Bisection on `compose` itself, so reserving it succeeds: to the last bit (PureDP B - s, GDP
        sqrt(B^2 - s^2)), except to 0.1 % for ApproxDP, where a composition may take long.
        """
        return self._largest_share([entry.guarantee for entry in self.history()])

    def _fits(self, guarantees: list[Guarantee]) -> bool:
        total = compose(guarantees, like=self.budget)
        return total is None or total <= self.budget

    def _largest_share(self, past: list[Guarantee]) -> Guarantee | None:
        if self._fits([*past, self.budget]):
            return self.budget
        low, high, precision = 2.0**-60, 1.0, 1e-3 if isinstance(self.budget, ApproxDP) else 2.0**-52
        while high - low > precision * high:
            middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
            low, high = (middle, high) if self._fits([*past, _share(self.budget, middle)]) else (low, middle)
        return share if self._fits([*past, share := _share(self.budget, low)]) else None

    def _entries(self) -> list[Entry]:
        with self._transaction("BEGIN") as (_, entries):
            return entries

    def _create(self, budget: Guarantee) -> None:
        """Write a whole ledger beside the path, then link it there: in one step, never over another file."""
        draft = self.path.with_name(f".{self.path.name}.{os.urandom(8).hex()}")
        try:
            with _LOCK, closing(sqlite3.connect(draft, isolation_level=None)) as db:
                for statement in [*_DURABLE, "BEGIN", *_SCHEMA]:
                    db.execute(statement)
                _append(db, budget, "", "budget")
                db.execute("COMMIT")
            os.link(draft, self.path)
        except FileExistsError:
            pass  # another process was first: its ledger is opened instead and the budgets are compared
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"path {str(self.path)!r} takes no new file ({error}); give another.") from None
        finally:
            draft.unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[tuple[sqlite3.Connection, list[Entry]]]:
        """One transaction on a connection of its own, committed at the end, undone by any error or crash."""
        address = f"{self.path.as_uri()}?mode=rw"
        try:
            with _LOCK, closing(sqlite3.connect(address, self.timeout, uri=True, isolation_level=None)) as db:
                for statement in [*_DURABLE, begin]:
                    db.execute(statement)
                yield db, self._verified(db)
                db.execute("COMMIT")
        except sqlite3.Error as error:
            reason = f"unusable ({error}); give a riemdp ledger that you may read and write"
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                reason = f"locked by another process for more than {self.timeout:g} s; wait or raise timeout"
            raise InputError(f"the ledger {str(self.path)!r} is {reason}.") from None

    def _verified(self, db: sqlite3.Connection) -> list[Entry]:
        """The budget and all reservations of a file that is a ledger, unaltered, and of this budget."""
        name, digest = f"the ledger {str(self.path)!r}", ""
        schema = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")]
        _require(schema == _SCHEMA, f"{name} is none of this version of riemdp; give another path.")
        intact = db.execute("PRAGMA quick_check").fetchone() == ("ok",)
        rows = db.execute("SELECT * FROM entry ORDER BY id").fetchall()
        for row in rows:
            digest = _digest(digest, row)
            intact = intact and digest == row[-1]
        _require(intact and rows != [], f"{name} is damaged; restore it, and count what that may undo as spent.")
        entries = [Entry(*row[:2], Guarantee.from_dict(json.loads(row[2])), *row[3:6]) for row in rows]
        stored, asked = entries[0].guarantee, self.budget
        kind = "budget" if type(stored) is type(asked) else "budget type"
        _require(asked in (None, stored), f"{name} has another {kind}: {stored!r}, not {asked!r}; omit budget.")
        return entries


def _share(budget: Guarantee, share: float) -> Guarantee:
    scaled = {name: max(share * x, math.ulp(0.0)) for name, x in budget.parameters.items() if name != "alpha"}
    return replace(budget, **scaled)  # type: ignore[arg-type]


def _require(truth: bool, message: str) -> None:
    if not truth:
        raise InputError(message)


def _checked_path(path: str | Path) -> Path:
    ...


def _append(db: sqlite3.Connection, guarantee: Guarantee, description: str, status: str) -> int:
    last, digest = db.execute("SELECT id, digest FROM entry ORDER BY id DESC").fetchone() or (-1, "")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = (last + 1, now, json.dumps(guarantee.to_dict()), description, status, version("riemdp"))
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, _digest(digest, row)))
    return int(last + 1)


def _digest(previous: str, row: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps([previous, *row[:4], row[5]], default=repr).encode()).hexdigest()
