"""An append-only file whose reservations never compose to more than its budget (docs/proofs/ledger.md)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
import time
from bisect import bisect
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

from riemdp.anchor import Anchor
from riemdp.arithmetic import largest_decimal, least_decimal
from riemdp.errors import BudgetExceeded, InputError, MechanismError, one_line
from riemdp.privacy.composition import Mixture, Sum, nothing_spent
from riemdp.privacy.guarantee import RDP, Guarantee, as_guarantee, stated
from riemdp.version import __version__

FORMAT = 2  # since 2 the numbers of an entry are decimals; before, they were the binary floats nearest to them
_NEWER = "was written by a newer riemdp; upgrade to read it"
_RESTORE = "restore the newest copy and count whatever that lacks as spent"
_ABORT = "BEGIN SELECT RAISE(ABORT, 'a ledger entry is appended, released once, and never changed'); END"


def _schema(number: int) -> list[str]:
    """Of a ledger of that format. Entry 0 is the budget; the digest of an entry covers it and all before it."""
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


_SCHEMA = _schema(FORMAT)
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


@dataclass(frozen=True)
class _Count:
    """What is spent up to and with the entry of this number; its digest stands for all entries before it."""

    last: int
    digest: str
    spent: Sum | Mixture
    assumptions: frozenset[str] = frozenset()

    def plus(self, row: _Row) -> _Count:
        """With the next row of a file that was checked."""
        guarantee = _covering(row[2])
        assumptions = self.assumptions.union(guarantee.assumptions)
        return _Count(row[0], row[-1], self.spent.plus(guarantee), assumptions)


_Row: TypeAlias = tuple[int, str, str, str, str, str, str]
_COUNTS: dict[Path, _Count] = {}  # of the ledgers used last, so that a reservation reads only what is new
_MOST_COUNTS = 8


@dataclass(frozen=True, init=False)
class Ledger:
    """A privacy budget kept in a file, from which every release reserves its guarantee before it draws noise.

    `Ledger(path, budget)` creates the file, or opens it if its budget is the same; `Ledger(path)` opens it.
    Copies, pickles, scikit-learn clones, threads and processes all spend from it; never put back an old copy.

    Under PureDP, GDP, RDP and ZCDP budgets the guarantees may be chosen in the light of earlier releases
    (privacy filters: Rogers et al. 2016, Feldman-Zrnic 2021, Smith-Thakurta 2022). Under an ApproxDP budget
    the analyses may, but the sequence of guarantees must not, depend on them, unless every entry is GDP.

    Parameters
    ----------
    path : str or Path
        The file.
    budget : Guarantee, optional
        What may be spent in all. Needed for a new ledger.
    timeout : float
        Seconds to wait for a file that others use.
    anchor : str or Path, optional
        A file elsewhere to which the digest of every reservation is added. A ledger that lacks the last one, since
        an older copy was put in its place, is refused.
    must_exist : bool
        Refuse to create a ledger: a new one counts nothing of what was released before.

    Attributes
    ----------
    created : bool
        Whether this call has made the file: then nothing before it is counted.

    Raises
    ------
    InputError
        If the file is missing, damaged, altered, older than its anchor, of another budget, or not to be written.

    Examples
    --------
    >>> ledger = rd.Ledger("new.ledger", budget=rd.PureDP(1.0))
    >>> ledger.created, ledger.remaining
    (True, PureDP(epsilon=1.0))
    """

    path: Path
    budget: Guarantee = field(compare=False)
    timeout: float = field(compare=False, repr=False)
    anchor: Anchor | None = field(compare=False, repr=False)
    created: bool = field(compare=False, repr=False)

    def __init__(
        self,
        path: str | Path,
        budget: Guarantee | str | None = None,
        timeout: float = 30.0,
        *,
        anchor: str | Path | None = None,
        must_exist: bool = False,
    ) -> None:
        budget = None if budget is None else as_guarantee(budget, "budget")
        _require(isinstance(budget, Guarantee | None), f"budget {budget!r} is no guarantee; give GDP(1) say.")
        _require(path != ":memory:", "path ':memory:' would forget what was spent; give the name of a file.")
        try:
            self.__dict__.update(path=Path(path).resolve(), budget=budget, timeout=float(timeout), created=False)
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            raise InputError(f"path {path!r} or timeout {timeout!r} is wrong ({one_line(error)}); mend it.") from None
        self.__dict__.update(anchor=None if anchor is None else Anchor.at(anchor, self.path))
        _require(not must_exist or os.path.lexists(self.path), f"the ledger {self.path} does not exist; give its name.")
        if budget is not None and not os.path.lexists(self.path):
            self.__dict__.update(created=self._create(budget))
        _require(os.path.lexists(self.path), f"the ledger {self.path} does not exist; give it a budget.")
        with self._transaction("BEGIN") as db:
            self.__dict__.update(budget=self._verified(db)[0].guarantee)
            if self.anchor and not self.anchor.last():
                self.anchor.add(*_last(db))

    def reserve(self, guarantee: Guarantee | str, description: str = "") -> int:
        """Commit `guarantee` durably and return its id if the total stays within the budget, else raise."""
        _require(str(description).isprintable(), f"description {description!r} is not one printable line.")
        guarantee = as_guarantee(guarantee)
        _require(isinstance(guarantee, Guarantee), f"guarantee {guarantee!r} is none; give GDP(0.1) say.")
        with self._transaction("BEGIN IMMEDIATE") as db:
            count = self._count(db)
            fits = has_room(count.spent, guarantee)
            if fits:
                number, digest = _append(db, guarantee, str(description), "reserved")
        if not fits:
            asked, gone = (g and replace(g, assumptions=()) for g in (guarantee, self._stated(count)))
            spent = f"{gone!r} of the budget {self.budget!r} is spent"
            raise BudgetExceeded(f"guarantee {asked!r} does not fit: {spent}; see ledger.remaining.")
        if self.anchor:
            self.anchor.add(number, digest)
        return number

    def confirm(self, entry_id: int) -> None:
        """Mark a reservation as released, once; it counts as spent with or without this."""
        known = entry_id if isinstance(entry_id, int) else None
        with self._transaction("BEGIN IMMEDIATE") as db:
            (status,) = db.execute("SELECT status FROM entry WHERE id = ?", (known,)).fetchone() or ("unknown",)
            _require(status == "reserved", f"entry_id {entry_id!r} is {status}; give reserve()'s id once.")
            db.execute("UPDATE entry SET status = 'released' WHERE id = ?", (known,))

    def history(self) -> list[Entry]:
        """All reservations, oldest first: ordered by `id`, since `time_utc` is only what the clock said."""
        with self._transaction("BEGIN") as db:
            return self._verified(db)[1:]

    @property
    def digest(self) -> str:
        """Number and digest of the last entry, which stand for the whole file: a line of an anchor."""
        with self._transaction("BEGIN") as db:
            self._verified(db)
            return Anchor.line(*_last(db))

    @property
    def spent(self) -> Guarantee | None:
        """All reservations, confirmed or not, composed into the budget's type; None before the first."""
        with self._transaction("BEGIN") as db:
            return self._stated(self._count(db))

    def _stated(self, count: _Count) -> Guarantee | None:
        united = replace(self.budget, assumptions=tuple(count.assumptions))
        return stated(self, united, list(self.budget.parameters)[-1], count.spent.strength) if count.last else None

    @property
    def remaining(self) -> Guarantee | None:
        """The largest part of the budget (of all its numbers but alpha) that still fits; None if none does.

        Exact, but for ApproxDP in steps of 2^-10: by bisection on the rule that `reserve` follows.
        """
        with self._transaction("BEGIN") as db:
            spent = self._count(db).spent
        if isinstance(spent, Sum):
            *_, (name, most) = self.budget.parameters.items()
            left: dict[str, Any] = {name: spent.left_of(most)}
            return replace(self.budget, **left) if left[name] else None
        parts = range(1, 2**10 + 1)
        count = bisect(parts, False, key=lambda k: not has_room(spent, self._share(k / len(parts))))
        return self._share(count / len(parts)) if count else None

    def _share(self, part: float) -> Guarantee:
        scaled: dict[str, Any] = {k: max(part * v, 5e-324) for k, v in self.budget.parameters.items() if k != "alpha"}
        return replace(self.budget, **scaled)

    def _create(self, budget: Guarantee) -> bool:
        """Write a whole ledger beside the path, then link it there: in one step, never over another file."""
        draft = self.path.with_name(f".{os.urandom(8).hex()}.riemdp")
        try:
            with _LOCK, closing(sqlite3.connect(draft)) as db:
                db.executescript("; ".join([*_DURABLE, "BEGIN", *_SCHEMA]))
                _append(db, budget, "", "budget")
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
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """One transaction on a connection of its own, committed at the end, undone by any error or crash."""
        try:
            with _LOCK, closing(sqlite3.connect(f"{self.path.as_uri()}?mode=rw", 0, uri=True)) as db:
                for statement in [*_DURABLE, begin, "SELECT 1 FROM sqlite_master"]:
                    self._insist(db, statement)
                self._check_place(db)
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
                locked = f"locked by another process for more than {self.timeout:g} s; wait or raise timeout"
                _require(time.monotonic() < deadline, f"the ledger {self.path} is {locked}.")
            time.sleep(0.001)

    def _check_place(self, db: sqlite3.Connection) -> None:
        """The file is a ledger whose format is known, and not older than its anchor."""
        schema = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")]
        found = re.search(r"riemdp ledger, format (\d+)", schema[0] or "") if schema else None
        _require(not found or int(found[1]) <= FORMAT, f"the ledger {self.path} {_NEWER}.")
        strange = f"the ledger {self.path} is not one that riemdp wrote; give its name, or {_RESTORE}."
        _require(schema in (_SCHEMA, _schema(1)), strange)
        if self.anchor and (last := self.anchor.last()):
            lacks = f"the ledger {self.path} lacks entry {last[0]} of its anchor {self.anchor.path}"
            other = f"{lacks}: an older or another file is in its place; {_RESTORE}."
            _require(_digest_at(db, last[0]) == last[1], other)

    def _verified(self, db: sqlite3.Connection) -> list[Entry]:
        """The budget and all reservations of a file that is unaltered and of this budget."""
        name, asked = f"the ledger {self.path}", self.budget
        rows = db.execute("SELECT * FROM entry ORDER BY id").fetchall()
        intact = [*accumulate(rows, _digest, initial="")] == ["", *(row[-1] for row in rows)] != [""]
        intact = intact and all(isinstance(cell, str) for row in rows for cell in row[1:])
        intact = intact and db.execute("PRAGMA quick_check").fetchone() == ("ok",)
        _require(intact, f"{name} is damaged; {_RESTORE}.")
        entries = [Entry(i, t, _parsed(g)[1], d, s, v) for i, t, g, d, s, v, _ in rows]
        kind = "budget" if type(stored := entries[0].guarantee) is type(asked) else "budget type"
        _require(asked in (None, stored), f"{name} has another {kind}, {stored!r} not {asked!r}; omit it.")
        return entries

    def _count(self, db: sqlite3.Connection) -> _Count:
        """What all entries come to: those that were counted before are known by their last digest."""
        count = _COUNTS.pop(self.path, None)
        if count is None or _digest_at(db, count.last) != count.digest:
            self._verified(db)
            count = _Count(0, str(_digest_at(db, 0)), nothing_spent(self.budget))
        for row in db.execute("SELECT * FROM entry WHERE id > ? ORDER BY id", (count.last,)):
            _require(_digest(count.digest, row) == row[-1], f"the ledger {self.path} is damaged; {_RESTORE}.")
            count = count.plus(row)
        while len(_COUNTS) >= _MOST_COUNTS:
            del _COUNTS[next(iter(_COUNTS))]
        _COUNTS[self.path] = count
        return count


def has_room(spent: Sum | Mixture, guarantee: Guarantee) -> bool:
    """Whether the budget `spent.like` covers one more guarantee; a MechanismError if it cannot count that kind."""
    try:
        *_, most = spent.like.parameters.values()
        return spent.plus(guarantee).strength <= most
    except MechanismError:
        raise MechanismError(_no_place(guarantee, spent.like)) from None


def _no_place(guarantee: Guarantee, budget: Guarantee) -> str:
    """Why a budget cannot count a guarantee of another kind, in words."""
    kinds = Guarantee.__subclasses__()  # each follows from those before it
    counted = kinds[kinds.index(type(budget)) :: -1]
    names = " or ".join(f"{kind.__name__}({', '.join(kind.__match_args__)})" for kind in counted)
    order = f" of alpha {budget.parameters['alpha']:g} or more" if isinstance(budget, RDP) else ""
    asked = f"{replace(guarantee, assumptions=())!r} cannot be counted by a budget of {budget.notion}, {budget!r}"
    return f"{asked}, which follows from no such promise: ask for {names}{order}, or keep an ApproxDP budget."


def _require(truth: bool, message: str) -> None:
    if not truth:
        raise InputError(message)


def _remedy(error: Exception) -> str:
    """What to do about an error of SQLite; never to take another ledger, which would forget what was spent."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return "make it and its folder writable, for another ledger would forget what was spent"
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return "make room or mend the disk, for another ledger would forget what was spent"
    return f"if it was a ledger, {_RESTORE}"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[int, Guarantee]:
    """The format and the guarantee of an entry."""
    try:
        data = json.loads(text)
        form = data.pop("format", 1)
        _require(form in (1, FORMAT), f"an entry of the ledger {_NEWER}.")
        return form, Guarantee.from_dict(data)
    except (TypeError, AttributeError, json.JSONDecodeError, RecursionError):
        raise InputError(f"the ledger has an entry that is no guarantee; {_RESTORE}.") from None


def _covering(text: str) -> Guarantee:
    """What an entry counts as: before format 2 its numbers were binary floats, of which decimals fall short or not."""
    form, guarantee = _parsed(text)
    if form == FORMAT:
        return guarantee
    rounded = {name: largest_decimal if name == "alpha" else least_decimal for name in guarantee.parameters}
    covering: dict[str, Any] = {k: rounded[k](Fraction(v)) for k, v in guarantee.parameters.items()}
    return replace(guarantee, **covering)


def _append(db: sqlite3.Connection, guarantee: Guarantee, description: str, status: str) -> tuple[int, str]:
    last, digest = _last(db)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({"format": FORMAT} | guarantee.to_dict())
    row = (last + 1, now, text, description, status, __version__)
    digest = _digest(digest, row)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, digest))
    return row[0], digest


def _last(db: sqlite3.Connection) -> tuple[int, str]:
    """Number and digest of the last entry."""
    return db.execute("SELECT id, digest FROM entry ORDER BY id DESC").fetchone() or (-1, "")


def _digest_at(db: sqlite3.Connection, number: int) -> str | None:
    row = db.execute("SELECT digest FROM entry WHERE id = ?", (number,)).fetchone()
    return None if row is None else row[0]


def _digest(previous: str, row: tuple[object, ...]) -> str:
    return hashlib.sha256(repr((previous, *row[:4], row[5])).encode()).hexdigest()
