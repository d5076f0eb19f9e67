"""The SQLite file of a ledger: rows are appended, each with a digest of itself and of all before it, durably.

Knows nothing of guarantees: what a row says is text. Why it is never torn, lost or reset: docs/proofs/ledger.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from riemdp.errors import InputError, one_line
from riemdp.version import __version__

# Since 2 the numbers of an entry are decimals (before, the binary floats nearest to them); since 3 an entry may say
# what all before it come to; since 4 it may say whom it protects: without it, a record.
FORMAT = 4
NEWER = "was written by a newer riemdp; upgrade to read it"
RESTORE = "restore the newest copy and count whatever that lacks as spent"
_ABORT = "BEGIN SELECT RAISE(ABORT, 'a ledger entry is appended, released once, and never changed'); END"


def schema(number: int) -> list[str]:
    """The tables of that format. Entry 0 is the budget; the digest of an entry covers it and all before it."""
    return [
        f"CREATE TABLE entry (/* riemdp ledger, format {number} */ id INTEGER PRIMARY KEY, time_utc TEXT NOT NULL,"
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


class Row(NamedTuple):
    """An entry as the file keeps it."""

    id: int
    time_utc: str
    guarantee: str  # JSON
    description: str
    status: str
    version: str
    digest: str = ""

    def digest_after(self, previous: str) -> str:
        """What the digest of this row has to be; all but its status is covered, and all before it."""
        return hashlib.sha256(repr((previous, *self[:4], self.version)).encode()).hexdigest()


@dataclass(frozen=True)
class LedgerFile:
    """The file at a path, opened anew for every transaction."""

    path: Path
    timeout: float  # seconds to wait while others use it

    def create(self, text: str) -> bool:
        """Write a whole ledger beside the path, then link it there: in one step, never over another file."""
        draft = self.path.with_name(f".{os.urandom(8).hex()}.riemdp")
        try:
            with _LOCK, closing(sqlite3.connect(draft)) as db:
                db.executescript("; ".join([*_DURABLE, "BEGIN", *schema(FORMAT)]))
                append(db, text, "", "budget")
                db.execute("COMMIT")
            os.link(draft, self.path)
            return True
        except FileExistsError:
            return False  # another process was first: its ledger is opened instead and the budgets are compared
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"the ledger {self.path} cannot be created ({one_line(error)}); move it.") from None
        finally:
            with suppress(OSError):
                draft.unlink()

    @contextmanager
    def transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """One transaction on a connection of its own, committed at the end, undone by any error or crash."""
        try:
            with _LOCK, closing(sqlite3.connect(f"{self.path.as_uri()}?mode=rw", 0, uri=True)) as db:
                for statement in [*_DURABLE, begin, "SELECT 1 FROM sqlite_master"]:
                    self._insist(db, statement)
                self._check_schema(db)
                yield db
                self._insist(db, "COMMIT")
        except (sqlite3.Error, UnicodeError) as error:
            raise InputError(f"the ledger {self.path} is unusable ({one_line(error)}); {_remedy(error)}.") from None

    def _insist(self, db: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
        """Execute as soon as the file is free (SQLite's own wait, in naps of 100 ms, starves among peers)."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return db.execute(statement)
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                    raise
            if time.monotonic() >= deadline:
                locked = f"locked by another process for more than {self.timeout:g} s; wait or raise timeout"
                raise InputError(f"the ledger {self.path} is {locked}.")
            time.sleep(0.001)

    def _check_schema(self, db: sqlite3.Connection) -> None:
        """The file is a ledger whose format is known."""
        found = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")]
        number = re.search(r"riemdp ledger, format (\d+)", found[0] or "") if found else None
        if number and int(number[1]) > FORMAT:
            raise InputError(f"the ledger {self.path} {NEWER}.")
        if found not in [schema(known) for known in range(1, FORMAT + 1)]:
            raise InputError(f"the ledger {self.path} is not one that riemdp wrote; give its name, or {RESTORE}.")

    def damaged(self) -> InputError:
        """What to raise where digests do not fit."""
        return InputError(f"the ledger {self.path} is damaged; {RESTORE}.")

    def all_rows(self, db: sqlite3.Connection) -> list[Row]:
        """The budget and all reservations of a file of which every digest and every page was checked."""
        rows = [Row(*row) for row in db.execute("SELECT * FROM entry ORDER BY id")]
        expected = accumulate(rows, lambda digest, row: row.digest_after(digest), initial="")
        intact = [*expected] == ["", *(row.digest for row in rows)] and bool(rows)
        intact = intact and all(isinstance(cell, str) for row in rows for cell in row[1:])
        if not intact or db.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise self.damaged()
        return rows

    def rows_after(self, db: sqlite3.Connection, number: int, digest: str) -> Iterator[Row]:
        """The rows after that entry, oldest first, each checked; `digest` is that of the entry."""
        for cells in db.execute("SELECT * FROM entry WHERE id > ? ORDER BY id", (number,)):
            row = Row(*cells)
            if row.digest_after(digest) != row.digest:
                raise self.damaged()
            digest = row.digest
            yield row


def newest_first(db: sqlite3.Connection) -> Iterator[Row]:
    """All rows from the last to the first, whose digests are not checked."""
    return (Row(*cells) for cells in db.execute("SELECT * FROM entry ORDER BY id DESC"))


def append(db: sqlite3.Connection, text: str, description: str, status: str) -> tuple[int, str]:
    """Add a row; its number and digest."""
    last, previous = last_entry(db)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = Row(last + 1, now, text, description, status, __version__)
    row = row._replace(digest=row.digest_after(previous))
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return row.id, row.digest


def last_entry(db: sqlite3.Connection) -> tuple[int, str]:
    """Number and digest of the last entry."""
    return db.execute("SELECT id, digest FROM entry ORDER BY id DESC").fetchone() or (-1, "")


def digest_at(db: sqlite3.Connection, number: int) -> str | None:
    """The digest that the file has for that entry; None if it has no such entry."""
    found = db.execute("SELECT digest FROM entry WHERE id = ?", (number,)).fetchone()
    return None if found is None else found[0]


def _remedy(error: Exception) -> str:
    """What to do about an error of SQLite; never to take another ledger, which would forget what was spent."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return "make it and its folder writable, for another ledger would forget what was spent"
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return "make room or mend the disk, for another ledger would forget what was spent"
    return f"if it was a ledger, {RESTORE}"
