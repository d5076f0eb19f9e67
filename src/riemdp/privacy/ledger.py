"""An append-only file whose reservations never compose to more than its budget (docs/proofs/ledger.md)."""

from __future__ import annotations

import json
import os
import sqlite3
from bisect import bisect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from riemdp.accounting.composition import Mixture, Sum, nothing_spent, total_from_dict
from riemdp.accounting.guarantee import RDP, Guarantee, as_guarantee, stated
from riemdp.accounting.unit import RECORD, unit_name
from riemdp.anchor import Anchor
from riemdp.arithmetic import largest_decimal, least_decimal
from riemdp.display import shown
from riemdp.errors import BudgetExceeded, InputError, MechanismError, one_line
from riemdp.io.ledger_file import FORMAT, NEWER, RESTORE, LedgerFile, Row, append, digest_at, last_entry, newest_first

EVERY = 128  # entries after which one says again what all before it come to, so that a new process need not count them


@dataclass(frozen=True)
class Entry:
    """One reservation of a ledger.

    Whether its release was made or not, it counts as spent.

    Parameters
    ----------
    id : int
        Its number, from 1 on.
    time_utc : str
        What the clock said.
    guarantee : Guarantee
        What was reserved.
    description : str
        What was released, and of which data.
    status : str
        "reserved" or, once confirmed, "released".
    version : str
        Of riemdp.
    unit : str
        What the guarantee protects: "record", "group", or what that was called.

    See Also
    --------
    Ledger.history : All of them.

    Examples
    --------
    >>> import riemdp as rd
    >>> ledger = rd.Ledger("entries.ledger", budget=rd.PureDP(1.0))
    >>> ledger.reserve("epsilon=0.25", "a first look")
    1
    >>> ledger.history()[0].status
    'reserved'
    """

    id: int
    time_utc: str
    guarantee: Guarantee
    description: str
    status: str
    version: str
    unit: str = RECORD  # what the guarantee protects


@dataclass(frozen=True)
class _Text:
    """What the text of an entry says."""

    form: int
    guarantee: Guarantee
    unit: str = RECORD
    counted: Any = None  # a `_Count.to_dict` of all entries before this one, if it states one

    @property
    def covering(self) -> Guarantee:
        """What it counts as: before format 2 its numbers were binary floats, of which decimals fall short or not."""
        if self.form >= 2:
            return self.guarantee
        rounded = {name: largest_decimal if name == "alpha" else least_decimal for name in self.guarantee.parameters}
        covering: dict[str, Any] = {k: rounded[k](Fraction(v)) for k, v in self.guarantee.parameters.items()}
        return replace(self.guarantee, **covering)


@dataclass(frozen=True)
class _Count:
    """What is spent up to and with the entry of this number; its digest stands for all entries before it."""

    last: int
    digest: str
    spent: Sum | Mixture
    assumptions: frozenset[str] = frozenset()
    stated_at: int = 0  # the last entry that states a count
    unit: str | None = None  # what all entries protect, if there are any

    def plus(self, row: Row) -> _Count:
        """With the next row of a file that was checked."""
        text = _parsed(row.guarantee)
        assumptions = self.assumptions.union(text.guarantee.assumptions)
        stated_at = self.stated_at if text.counted is None else row.id
        return _Count(row.id, row.digest, self.spent.plus(text.covering), assumptions, stated_at, text.unit)

    def text_of_next(self, guarantee: Guarantee, unit: str = RECORD) -> str:
        """The next entry as the file keeps it; it states this count if none did for long."""
        is_due = self.last + 1 - self.stated_at >= EVERY
        text = {"format": FORMAT, "unit": unit} | guarantee.to_dict()
        return json.dumps(text | ({"counted": self.to_dict()} if is_due else {}))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, without number and digest, which are those of the entry before."""
        budget, spent = self.spent.like.to_dict(), self.spent.to_dict()
        return {"budget": budget, "spent": spent, "assumptions": sorted(self.assumptions), "unit": self.unit}

    @classmethod
    def stated_by(cls, row: Row, before: str, budget: Guarantee) -> _Count:
        """The count that an entry states of those before it, the last of which has that digest."""
        data = _parsed(row.guarantee).counted
        try:
            if Guarantee.from_dict(data["budget"]) != budget:
                raise ValueError("another budget")
            spent, assumptions = total_from_dict(budget, data["spent"]), frozenset(map(str, data["assumptions"]))
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
            wrong = f"entry {row.id} of the ledger states a count that cannot be"
            raise InputError(f"{wrong}; {RESTORE}.") from None
        return cls(row.id - 1, before, spent, assumptions, unit=data.get("unit", RECORD))

    def agrees_with(self, other: _Count) -> bool:
        """Whether another count of the same entries may have come to it."""
        same = (self.last, self.digest, self.assumptions, self.unit) == (
            other.last, other.digest, other.assumptions, other.unit
        )  # fmt: skip
        return same and self.spent.agrees_with(other.spent)


_COUNTS: dict[Path, _Count] = {}  # of the ledgers used last, so that a reservation reads only what is new
_MOST_COUNTS = 8


@shown
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
    budget : Guarantee or str, optional
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

    See Also
    --------
    compose : What several guarantees spend together, without a file.
    private_mean : Takes a ledger.

    Examples
    --------
    >>> import riemdp as rd
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
            first = json.dumps({"format": FORMAT} | budget.to_dict())
            self.__dict__.update(created=self._file.create(first))
        remedy = "pass its right name, or a budget for a new one"
        _require(os.path.lexists(self.path), f"the ledger {self.path} does not exist: {remedy}.")
        with self._transaction("BEGIN") as db:
            self.__dict__.update(budget=self._stored_budget(db))
            _COUNTS.pop(self.path, None)  # the file is looked at anew
            self._count(db)
            if self.anchor and not self.anchor.last():
                self.anchor.add(*last_entry(db))

    def reserve(self, guarantee: Guarantee | str, description: str = "", *, unit: str = RECORD) -> int:
        """Commit a guarantee durably, if the total stays within the budget.

        Parameters
        ----------
        guarantee : Guarantee or str
            What is about to be spent.
        description : str
            On what, in one printable line.
        unit : str
            What it protects. All entries of a ledger protect the same: guarantees for records and for people add up
            to none for people, so another unit than that of the entries before is refused.

        Returns
        -------
        int
            The number of the entry, for `confirm`.

        Raises
        ------
        BudgetExceeded
            If it does not fit; nothing was spent.
        MechanismError
            If a budget of this kind cannot count such a guarantee.
        InputError
            If an argument is not as described.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Ledger("reserve.ledger", budget=rd.PureDP(1.0)).reserve(rd.PureDP(0.25), "a first look")
        1
        """
        _require(str(description).isprintable(), f"description {description!r} is not one printable line.")
        guarantee = as_guarantee(guarantee)
        _require(isinstance(guarantee, Guarantee), f"guarantee {guarantee!r} is none; give GDP(0.1) say.")
        with self._transaction("BEGIN IMMEDIATE") as db:
            count = self._count(db)
            _require(count.unit in (None, unit), self._other_unit(count.unit, unit))
            fits = has_room(count.spent, guarantee)
            if fits:
                number, digest = append(db, count.text_of_next(guarantee, unit), str(description), "reserved")
        if not fits:
            raise BudgetExceeded(self._refusal(guarantee, count))
        if self.anchor:
            self.anchor.add(number, digest)
        return number

    def _other_unit(self, kept: str | None, asked: str) -> str:
        """What a reservation is told that protects something else than the entries before it."""
        why = f"the ledger {self.path} counts guarantees that protect one {kept}, this one protects one {asked}"
        return f"{why}, and they do not add up: keep a ledger for each, or release with the same unit as before."

    def _refusal(self, guarantee: Guarantee, count: _Count) -> str:
        """What a reservation that does not fit is told, without the assumptions, which may be long."""
        spent = self._stated(count)
        gone = None if spent is None else replace(spent, assumptions=())
        asked = replace(guarantee, assumptions=())
        numbers = f"{gone!r} of the budget {self.budget!r} is spent"
        return f"guarantee {asked!r} does not fit: {numbers}; see ledger.remaining."

    def confirm(self, entry_id: int) -> None:
        """Mark a reservation as released, once; it counts as spent with or without this.

        Parameters
        ----------
        entry_id : int
            What `reserve` gave.

        Raises
        ------
        InputError
            If there is no such reservation, or it was confirmed before.

        Examples
        --------
        >>> import riemdp as rd
        >>> ledger = rd.Ledger("confirm.ledger", budget=rd.PureDP(1.0))
        >>> ledger.confirm(ledger.reserve(rd.PureDP(0.25)))
        >>> ledger.history()[0].status
        'released'
        """
        known = entry_id if isinstance(entry_id, int) else None
        with self._transaction("BEGIN IMMEDIATE") as db:
            (status,) = db.execute("SELECT status FROM entry WHERE id = ?", (known,)).fetchone() or ("unknown",)
            _require(status == "reserved", f"entry_id {entry_id!r} is {status}; give reserve()'s id once.")
            db.execute("UPDATE entry SET status = 'released' WHERE id = ?", (known,))

    def history(self) -> list[Entry]:
        """All reservations, oldest first.

        They are in the order of `id`, since `time_utc` is only what the clock said.

        Returns
        -------
        list of Entry
            Confirmed or not.

        Raises
        ------
        InputError
            If the file is damaged, altered, or older than its anchor.

        Examples
        --------
        >>> import riemdp as rd
        >>> ledger = rd.Ledger("history.ledger", budget=rd.PureDP(1.0))
        >>> ledger.reserve(rd.PureDP(0.25), "a first look")
        1
        >>> [entry.description for entry in ledger.history()]
        ['a first look']
        """
        with self._transaction("BEGIN") as db:
            return [_entry(row) for row in self._file.all_rows(db)[1:]]

    @property
    def digest(self) -> str:
        """Number and digest of the last entry, which stand for the whole file: a line of an anchor.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Ledger("digest.ledger", budget=rd.PureDP(1.0)).digest.split()[0]
        '0'
        """
        with self._transaction("BEGIN") as db:
            last = self._file.all_rows(db)[-1]
        return Anchor.line(last.id, last.digest)

    @property
    def unit(self) -> str | None:
        """What all reservations protect: "record", "group", or what the first one called it; None before it.

        Examples
        --------
        >>> import riemdp as rd
        >>> ledger = rd.Ledger("unit.ledger", budget=rd.PureDP(1.0))
        >>> ledger.reserve(rd.PureDP(0.25), unit="patient")
        1
        >>> ledger.unit
        'patient'
        """
        with self._transaction("BEGIN") as db:
            return self._count(db).unit

    @property
    def spent(self) -> Guarantee | None:
        """All reservations, confirmed or not, composed into the budget's type; None before the first.

        Examples
        --------
        >>> import riemdp as rd
        >>> ledger = rd.Ledger("spent.ledger", budget=rd.PureDP(1.0))
        >>> ledger.reserve(rd.PureDP(0.25))
        1
        >>> ledger.spent
        PureDP(epsilon=0.25)
        """
        with self._transaction("BEGIN") as db:
            return self._stated(self._count(db))

    def recount(self) -> Guarantee | None:
        """What `spent` says, with every entry checked and counted anew.

        Every so often an entry states what all before it come to, so that a new process need not count them. This
        compares all such statements with the entries.

        Returns
        -------
        Guarantee or None
            All reservations composed into the budget's type; None before the first.

        Raises
        ------
        InputError
            If the file is damaged, or a statement is not what the entries before it come to.

        Examples
        --------
        >>> import riemdp as rd
        >>> ledger = rd.Ledger("counted.ledger", budget=rd.PureDP(1.0))
        >>> ledger.reserve(rd.PureDP(0.25))
        1
        >>> ledger.recount()
        PureDP(epsilon=0.25)
        """
        with self._transaction("BEGIN") as db:
            rows = self._file.all_rows(db)
        count = _Count(0, rows[0].digest, nothing_spent(self.budget))
        for row in rows[1:]:
            if _states_count(row):
                told = _Count.stated_by(row, count.digest, self.budget)
                wrong = f"entry {row.id} of the ledger {self.path} states another total than the entries before it have"
                _require(told.agrees_with(count), f"{wrong}; {RESTORE}.")
            count = count.plus(row)
        return self._stated(count)

    def _stated(self, count: _Count) -> Guarantee | None:
        """A count as a guarantee of the budget's type; None if it is of no entries."""
        united = replace(self.budget, assumptions=tuple(count.assumptions))
        return stated(self, united, list(self.budget.parameters)[-1], count.spent.strength) if count.last else None

    @property
    def remaining(self) -> Guarantee | None:
        """The largest part of the budget (of all its numbers but alpha) that still fits; None if none does.

        Exact, but for ApproxDP in steps of 2^-10: by bisection on the rule that `reserve` follows.

        Examples
        --------
        >>> import riemdp as rd
        >>> ledger = rd.Ledger("remaining.ledger", budget=rd.PureDP(1.0))
        >>> ledger.reserve(rd.PureDP(0.25))
        1
        >>> ledger.remaining
        PureDP(epsilon=0.75)
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
        """The budget with all its numbers but alpha times this part."""
        scaled: dict[str, Any] = {k: max(part * v, 5e-324) for k, v in self.budget.parameters.items() if k != "alpha"}
        return replace(self.budget, **scaled)

    @property
    def _file(self) -> LedgerFile:
        """Made anew, so that copies and pickles of a ledger hold no connection."""
        return LedgerFile(self.path, self.timeout)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction on the file, which must not be older than its anchor."""
        with self._file.transaction(begin) as db:
            if self.anchor and (last := self.anchor.last()):
                lacks = f"the ledger {self.path} lacks entry {last[0]} of its anchor {self.anchor.path}"
                other = f"{lacks}: an older or another file is in its place; {RESTORE}."
                _require(digest_at(db, last[0]) == last[1], other)
            yield db

    def _stored_budget(self, db: sqlite3.Connection) -> Guarantee:
        """The budget in the file, which must be the one that was asked for, if any was."""
        first = next(self._file.rows_after(db, -1, ""), None)
        if first is None or first.id != 0:
            raise self._file.damaged()
        kept, asked = _parsed(first.guarantee).guarantee, self.budget
        kind = "budget" if type(kept) is type(asked) else "budget type"
        _require(asked in (None, kept), f"the ledger {self.path} has another {kind}, {kept!r} not {asked!r}; omit it.")
        return kept

    def _count(self, db: sqlite3.Connection) -> _Count:
        """What all entries come to: those that were counted before are known by their last digest."""
        count = _COUNTS.pop(self.path, None)
        if count is None or count.spent.like != self.budget or digest_at(db, count.last) != count.digest:
            count = self._count_in_file(db)
        for row in self._file.rows_after(db, count.last, count.digest):
            count = count.plus(row)
        while len(_COUNTS) >= _MOST_COUNTS:
            del _COUNTS[next(iter(_COUNTS))]
        _COUNTS[self.path] = count
        return count

    def _count_in_file(self, db: sqlite3.Connection) -> _Count:
        """The latest count that an entry states; if none does, that of no entries, once the whole file is checked."""
        row = next(filter(_states_count, newest_first(db)), None)
        if row is None:
            first = self._file.all_rows(db)[0]
            return _Count(0, first.digest, nothing_spent(self._stored_budget(db)))
        before = str(digest_at(db, row.id - 1))
        if row.digest_after(before) != row.digest:
            raise self._file.damaged()
        return _Count.stated_by(row, before, self._stored_budget(db))


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


def _entry(row: Row) -> Entry:
    """A row of the file as users see it."""
    text = _parsed(row.guarantee)
    return Entry(row.id, row.time_utc, text.guarantee, row.description, row.status, row.version, text.unit)


def _states_count(row: Row) -> bool:
    """Whether the entry states a count; in what an assumption says, JSON would escape the quotes."""
    return isinstance(row.guarantee, str) and '"counted": {' in row.guarantee


@lru_cache(maxsize=4096)
def _parsed(text: str) -> _Text:
    """What an entry says, in this format or an older one."""
    try:
        data = json.loads(text)
        form, counted, unit = data.pop("format", 1), data.pop("counted", None), data.pop("unit", RECORD)
        _require(form in range(1, FORMAT + 1), f"an entry of the ledger {NEWER}.")
        return _Text(form, Guarantee.from_dict(data), unit if unit == RECORD else unit_name(unit), counted)
    except (TypeError, AttributeError, json.JSONDecodeError, RecursionError):
        raise InputError(f"the ledger has an entry that is no guarantee; {RESTORE}.") from None
