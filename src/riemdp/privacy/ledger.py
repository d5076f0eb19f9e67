"""An append-only file whose reservations never compose to more than its budget (docs/proofs/ledger.md)."""

import hashlib
import json
import os
import sqlite3
import threading
from bisect import bisect
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path

from riemdp.errors import BudgetExceeded, InputError, MechanismError
from riemdp.privacy.guarantee import ApproxDP, Guarantee, compose

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
_DURABLE = "PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON"
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

    `Ledger(path, budget)` creates the file, or opens it if its budget is the same; `Ledger(path)` opens it.
    It is but an absolute path and the budget found there: copies, pickles, scikit-learn clones, threads and
    processes all spend from that one file. The file is the budget: never copy it or put back an old one.

    Under PureDP, GDP, RDP and ZCDP budgets the guarantees may be chosen in the light of earlier releases
    (privacy filters: Rogers et al. 2016, Feldman-Zrnic 2021, Smith-Thakurta 2022). Under an ApproxDP budget
    the analyses may, but the sequence of guarantees must not, depend on them, unless every entry is GDP.
    """

    path: Path
    budget: Guarantee = field(compare=False)
    timeout: float = field(compare=False, repr=False)

    def __init__(self, path: str | Path, budget: Guarantee | None = None, timeout: float = 30.0) -> None:
        _require(isinstance(budget, Guarantee | None), f"budget {budget!r} is no guarantee; give GDP(1) say.")
        seconds = isinstance(timeout, int | float) and 0 <= timeout <= 86_400
        _require(seconds, f"timeout {timeout!r} is not a number of seconds in [0, 86400]; give 30 say.")
        self.__dict__.update(path=_checked_path(path, budget), budget=budget, timeout=float(timeout))
        if budget is not None and not os.path.lexists(self.path):
            self._create(budget)
        with self._transaction("BEGIN") as (_, entries):
            self.__dict__.update(budget=entries[0].guarantee)

    def reserve(self, guarantee: Guarantee, description: str = "") -> int:
        """Commit `guarantee` durably if the total stays within the budget, else BudgetExceeded."""
        line = isinstance(description, str) and description.isprintable()
        _require(line, f"description {description!r} is not one line of printable text; give a str.")
        with self._transaction("BEGIN IMMEDIATE") as (db, entries):
            past = [entry.guarantee for entry in entries[1:]]
            if self._fits([*past, guarantee]):
                return _append(db, guarantee, description, "reserved")
        spent = compose(past, like=self.budget)
        gone = f"{spent!r} of the budget {self.budget!r} is spent; ask for at most ledger.remaining"
        raise BudgetExceeded(f"guarantee {guarantee!r} does not fit: {gone}.")

    def confirm(self, entry_id: int) -> None:
        """Mark a reservation as released, once; it counts as spent with or without this."""
        with self._transaction("BEGIN IMMEDIATE") as (db, entries):
            status = {entry.id: entry.status for entry in entries}.get(entry_id, "unknown")
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
        """The largest multiple of 2^-62 of the budget (alpha kept) that still fits; None if there is none.

        Found by bisection on `compose` itself, so reserving it succeeds: B - s, or sqrt(B^2 - s^2) for GDP.
        For ApproxDP, where a composition may take a second, a multiple of 2^-10 of epsilon and delta alike.
        """
        past = [entry.guarantee for entry in self.history()]
        parts = range(1, 1 + (2**10 if isinstance(self.budget, ApproxDP) else 2**62))
        count = bisect(parts, False, key=lambda k: not self._fits([*past, self._share(k / len(parts))]))
        return self._share(count / len(parts)) if count else None

    def _share(self, share: float) -> Guarantee:
        spendable = {name: value for name, value in self.budget.parameters.items() if name != "alpha"}
        scaled = {name: max(share * value, 5e-324) for name, value in spendable.items()}
        return Guarantee.from_dict(self.budget.to_dict() | scaled)

    def _fits(self, guarantees: list[Guarantee]) -> bool:
        try:
            total = compose(guarantees, like=self.budget)
        except MechanismError:
            if isinstance(self.budget, ApproxDP):
                return False  # every guarantee has a delta at every epsilon: here it is 1
            raise MechanismError(f"{guarantees[-1]!r} has no value in {self.budget!r}; ask in its type.") from None
        return total is None or total <= self.budget

    def _create(self, budget: Guarantee) -> None:
        """Write a whole ledger beside the path, then link it there: in one step, never over another file."""
        draft = self.path.with_name(f".{self.path.name}.{os.urandom(8).hex()}")
        try:
            with _LOCK, closing(sqlite3.connect(draft, isolation_level=None)) as db:
                db.executescript("; ".join([_DURABLE, "BEGIN", *_SCHEMA]))
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
                db.executescript(f"{_DURABLE}; {begin}")
                yield db, self._verified(db)
                db.execute("COMMIT")
        except sqlite3.Error as error:
            reason = f"unusable ({error}); give a riemdp ledger that you may read and write"
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                reason = f"locked by another process for more than {self.timeout:g} s; wait or raise timeout"
            raise InputError(f"the ledger {str(self.path)!r} is {reason}.") from None

    def _verified(self, db: sqlite3.Connection) -> list[Entry]:
        """The budget and all reservations of a file that is a ledger, unaltered, and of this budget."""
        name, asked = f"the ledger {str(self.path)!r}", self.budget
        schema = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")]
        _require(schema == _SCHEMA, f"{name} is none of this version of riemdp; give another path.")
        rows = db.execute("SELECT * FROM entry ORDER BY id").fetchall()
        intact = [*accumulate(rows, _digest, initial="")] == ["", *(row[-1] for row in rows)] != [""]
        intact = intact and db.execute("PRAGMA quick_check").fetchone() == ("ok",)
        _require(intact, f"{name} is damaged; restore it and count everything that this undoes as spent.")
        entries = [Entry(i, t, Guarantee.from_dict(json.loads(g)), d, s, v) for i, t, g, d, s, v, _ in rows]
        kind = "budget" if type(stored := entries[0].guarantee) is type(asked) else "budget type"
        _require(asked in (None, stored), f"{name} has another {kind}, {stored!r} not {asked!r}; omit it.")
        return entries


def _require(truth: bool, message: str) -> None:
    if not truth:
        raise InputError(message)


def _checked_path(path: str | Path, budget: Guarantee | None) -> Path:
    try:
        full = Path(path).resolve()
        usable = full.is_file() or (budget is not None and not full.exists() and full.parent.is_dir())
    except (TypeError, ValueError, OSError, RuntimeError):
        usable = False
    wanted = "a file or, with a budget, a new name in an existing folder"
    _require(usable and path != ":memory:", f"path {path!r} is not that of a ledger; give {wanted}.")
    return full


def _append(db: sqlite3.Connection, guarantee: Guarantee, description: str, status: str) -> int:
    last, digest = db.execute("SELECT id, digest FROM entry ORDER BY id DESC").fetchone() or (-1, "")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = (last + 1, now, json.dumps(guarantee.to_dict()), description, status, version("riemdp"))
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, _digest(digest, row)))
    return row[0]


def _digest(previous: str, row: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps([previous, *row[:4], row[5]], default=repr).encode()).hexdigest()
