"""The ledger: never overspent by rounding, threads, processes or kill -9, and never reset quietly."""

import base64
import copy
import hashlib
import json
import math
import os
import pickle
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zlib
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riemdp.accounting import lattice as lattice_module
from riemdp.accounting.composition import compose, nothing_spent, total_from_dict
from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, PureDP
from riemdp.errors import BudgetExceeded, InputError, MechanismError
from riemdp.io import ledger_file
from riemdp.privacy import ledger as ledger_module
from riemdp.privacy.ledger import Entry, Ledger

STEP = 2.0**-10
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork() and kill -9")


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # kill -9 and locks do not depend on the disk


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def quick_folder():
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def run_worker(task, folder):
    worker = Path(__file__).with_name("_ledger_worker.py")
    done = subprocess.run(
        [sys.executable, str(worker), task, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def edit(path, *statements):
    """Change the file behind the ledger's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def exact_total(ledger):
    return sum(Fraction(repr(entry.guarantee.epsilon)) for entry in ledger.history())


def assert_one_sentence(error):
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert "Traceback" not in text


# Reserving, confirming, history


def test_a_reservation_counts_before_and_after_it_is_confirmed(path):
    ledger = Ledger(path, GDP(1.0))
    assert ledger.spent is None
    assert ledger.remaining == GDP(1.0)
    first = ledger.reserve(GDP(0.6), "mean of the first study")
    assert [entry.status for entry in ledger.history()] == ["reserved"]
    assert ledger.spent == GDP(0.6)
    ledger.confirm(first)
    assert [entry.status for entry in ledger.history()] == ["released"]
    assert ledger.spent == GDP(0.6)
    assert ledger.remaining.mu == pytest.approx(0.8, abs=1e-15)


def test_history_is_frozen_and_complete(path):
    ledger = Ledger(path, PureDP(1.0))
    before = datetime.now(UTC).replace(microsecond=0)
    for number in range(3):
        assert ledger.reserve(PureDP(0.1), f"release {number} (ü)") == number + 1
    entries = Ledger(path).history()
    assert [(entry.id, entry.description) for entry in entries] == [
        (n + 1, f"release {n} (ü)") for n in range(3)
    ]
    assert all(isinstance(entry, Entry) and entry.guarantee == PureDP(0.1) for entry in entries)
    assert all(before <= datetime.fromisoformat(entry.time_utc) <= datetime.now(UTC) for entry in entries)
    assert all(entry.version for entry in entries)
    with pytest.raises(AttributeError):
        entries[0].status = "released"


def test_a_refusal_names_the_numbers_and_leaves_the_file_untouched(path):
    ledger = Ledger(path, PureDP(1.0))
    ledger.reserve(PureDP(0.75))
    before = path.read_bytes()
    with pytest.raises(BudgetExceeded) as error:
        ledger.reserve(PureDP(0.5))
    assert_one_sentence(error)
    assert all(number in str(error.value) for number in ("0.5", "0.75", "1.0", "remaining"))
    assert path.read_bytes() == before
    ledger.reserve(PureDP(0.25))


@pytest.mark.parametrize("entry_id", [0, 2, -1, "1", None, 1.5, [1]])
def test_only_a_reservation_can_be_confirmed(path, entry_id):
    ledger = Ledger(path, GDP(1.0))
    ledger.reserve(GDP(0.1))
    with pytest.raises(InputError) as error:
        ledger.confirm(entry_id)
    assert_one_sentence(error)
    assert ledger.history()[0].status == "reserved"


def test_a_second_confirmation_is_an_error(path):
    ledger = Ledger(path, GDP(1.0))
    entry = ledger.reserve(GDP(0.1))
    ledger.confirm(entry)
    with pytest.raises(InputError, match="released"):
        ledger.confirm(entry)


@pytest.mark.parametrize("guarantee", [0.1, "GDP(0.1)", None, GDP])
def test_only_guarantees_can_be_reserved(path, guarantee):
    with pytest.raises(InputError, match="guarantee"):
        Ledger(path, GDP(1.0)).reserve(guarantee)


@pytest.mark.parametrize("description", ["two\nlines", "\udcff", "\0"])
def test_descriptions_are_one_printable_line(path, description):
    ledger = Ledger(path, GDP(1.0))
    with pytest.raises(InputError, match="description"):
        ledger.reserve(GDP(0.1), description)
    assert ledger.spent is None


def test_a_jumping_clock_is_harmless(path, monkeypatch):
    class Clock:
        times = iter([datetime(2030, 1, 1, tzinfo=UTC), datetime(1999, 1, 1, tzinfo=UTC)] * 2)

        @classmethod
        def now(cls, zone):
            return next(cls.times).astimezone(zone)

    monkeypatch.setattr(ledger_file, "datetime", Clock)
    ledger = Ledger(path, PureDP(0.3))
    ids = [ledger.reserve(PureDP(0.1)) for _ in range(2)]
    assert [entry.id for entry in ledger.history()] == ids
    assert (
        ledger.history()[0].time_utc < ledger.history()[1].time_utc
    )  # 1999, then 2030: not what orders them


# Budgets of every type


@pytest.mark.parametrize(
    ("budget", "accepted", "refused"),
    [
        (PureDP(3.0), [PureDP(1.0), PureDP(0.5)], [GDP(0.1), ZCDP(0.1), RDP(2.0, 0.1), ApproxDP(0.1, 1e-9)]),
        (GDP(3.0), [GDP(1.0), PureDP(0.5)], [ZCDP(0.1), RDP(2.0, 0.1), ApproxDP(0.1, 1e-9)]),
        (ZCDP(3.0), [ZCDP(1.0), GDP(0.5), PureDP(0.5)], [RDP(2.0, 0.1), ApproxDP(0.1, 1e-9)]),
        (RDP(4.0, 9.0), [RDP(4.0, 1.0), RDP(8.0, 1.0), ZCDP(0.5), GDP(0.5), PureDP(0.5)], [RDP(2.0, 0.1)]),
    ],
)
def test_a_budget_counts_what_implies_its_type_and_nothing_else(path, budget, accepted, refused):
    ledger = Ledger(path, budget)
    for number, guarantee in enumerate(accepted):
        assert ledger.reserve(guarantee) == number + 1
    for guarantee in refused:
        with pytest.raises(MechanismError):
            ledger.reserve(guarantee)
    assert [entry.guarantee for entry in ledger.history()] == accepted
    assert type(ledger.spent) is type(budget)
    assert ledger.spent <= budget


def test_mixed_totals_against_closed_forms(tmp_path):
    pure_as_gdp = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 / (1 + mpmath.exp(0.5)) - 1)
    gdp = Ledger(tmp_path / "gdp.db", GDP(3.0))
    rdp = Ledger(tmp_path / "rdp.db", RDP(4.0, 9.0))
    for guarantee in (GDP(1.0), PureDP(0.5)):
        gdp.reserve(guarantee)
    for guarantee in (RDP(4.0, 1.0), ZCDP(0.5), GDP(0.5)):
        rdp.reserve(guarantee)
    assert gdp.spent.mu == pytest.approx(float(mpmath.sqrt(1 + pure_as_gdp**2)), rel=1e-14)
    assert rdp.spent.epsilon == pytest.approx(1.0 + 4 * 0.5 + 4 * 0.25 / 2, rel=1e-14)


def test_an_approximate_budget_takes_every_type(path):
    budget = ApproxDP(2.0, 1e-5)
    ledger = Ledger(path, budget)
    asked = [PureDP(0.1), GDP(0.05), ApproxDP(0.1, 1e-7), ZCDP(1e-3), RDP(16.0, 1e-3)]
    for guarantee in asked:
        ledger.reserve(guarantee)
    assert [entry.guarantee for entry in ledger.history()] == asked
    assert ledger.spent.epsilon == 2.0
    assert 1e-7 <= ledger.spent.delta <= 1e-5


def test_an_approximate_budget_of_gaussians_is_exact(path):
    ledger = Ledger(path, ApproxDP(1.0, 1e-5))
    ledger.reserve(GDP(0.15))
    ledger.reserve(GDP(0.2))
    mu = mpmath.mpf(0.25)
    expected = mpmath.ncdf(mu / 2 - 1 / mu) - mpmath.e * mpmath.ncdf(-mu / 2 - 1 / mu)
    assert ledger.spent.delta == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize(
    "guarantee", [ApproxDP(2.0, 1e-6), ApproxDP(0.5, 1e-3), PureDP(100.0), GDP(40.0), ZCDP(9.0)]
)
def test_too_much_for_an_approximate_budget_is_a_refusal(path, guarantee):
    ledger = Ledger(path, ApproxDP(1.0, 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(guarantee)
    assert ledger.remaining == ledger.budget


def test_why_guarantees_must_not_be_adapted_under_an_approximate_budget(path):
    """docs/proofs/ledger.md, "What fails": each branch fits, choosing between them by an output does not."""
    epsilon, delta = 1.0, 0.01
    truth = math.e / (1 + math.e)  # probability that randomised response at epsilon = 1 tells the truth
    last = PureDP(2 * math.atanh(0.99 * delta / truth))  # has delta = 0.99 * 0.01/truth at epsilon = 0
    for name, second in (("a", last), ("b", ApproxDP(1e-12, 0.99 * delta))):
        ledger = Ledger(path.with_name(name), ApproxDP(epsilon, delta))
        ledger.reserve(PureDP(1.0))
        ledger.reserve(second)
    adapted = truth * math.tanh(last.epsilon / 2) + (1 - truth) * 0.99 * delta
    assert adapted > 1.25 * delta


def test_an_approximate_budget_takes_first_what_it_takes_second(path):
    """One entry is a mixture as well: (1.1, 0.1)-DP has delta = 0.17 at epsilon = 1."""
    ledger = Ledger(path, ApproxDP(1.0, 0.5))
    ledger.reserve(ApproxDP(1.1, 0.1))
    assert 0.1 < ledger.spent.delta < 0.2


@pytest.mark.parametrize("budget", [PureDP(1.0), GDP(1.0), ZCDP(1.0), RDP(4.0, 1.0)], ids=repr)
def test_a_kind_that_a_budget_cannot_count_is_named_in_words(path, budget):
    with pytest.raises(MechanismError) as error:
        Ledger(path, budget).reserve(ApproxDP(0.1, 1e-6))
    assert_one_sentence(error)
    text = str(error.value)
    assert f"ApproxDP(epsilon=0.1, delta=1e-06) cannot be counted by a budget of {budget.notion}" in text
    assert f"ask for {type(budget).__name__}(" in text
    assert text.endswith("or keep an ApproxDP budget.")
    assert "inf" not in text


# Counting goes on where it stopped


MANY = [
    (PureDP(1e6), lambda k: PureDP(0.01 + k / 1e6)),
    (ApproxDP(50.0, 1e-6), lambda k: PureDP(0.01 + k / 1e6)),
    (ApproxDP(50.0, 1e-6), lambda k: [PureDP, GDP, ZCDP, lambda x: RDP(8.0, x), lambda x: ApproxDP(x, 1e-12)][k % 5](0.001 + k / 1e6)),
]


@pytest.mark.parametrize(("budget", "kind"), MANY)
def test_a_reservation_costs_the_same_whatever_came_before(quick_folder, monkeypatch, budget, kind):
    """Entries that are counted and rows that are checked in one reservation: not more with the number of entries."""
    work = []
    for name in ("Sum", "Mixture"):
        kind_of_total = getattr(ledger_module, name)
        plus = kind_of_total.plus
        monkeypatch.setattr(kind_of_total, "plus", lambda self, entry, plus=plus: work.append(entry) or plus(self, entry))
    digest = ledger_file.Row.digest_after
    monkeypatch.setattr(ledger_file.Row, "digest_after", lambda *args: work.append(args) or digest(*args))
    ledger, costs = Ledger(quick_folder / "ledger.db", budget), []
    for number in range(60):
        work.clear()
        ledger.confirm(ledger.reserve(kind(number)))
        costs.append(len(work))
    assert max(costs[2:]) == costs[2] <= 4


def test_a_count_that_is_kept_is_that_of_the_file(quick_folder):
    """Two ledgers that take turns at one path, as a file that is replaced: each time its own entries count."""
    path, saved = quick_folder / "ledger.db", []
    for size in (0.3, 0.5):
        ledger = Ledger(path, PureDP(1.0))
        ledger.reserve(PureDP(size))
        saved.append(path.read_bytes())
        path.unlink()
    for whole, size in zip(saved * 2, (0.3, 0.5) * 2, strict=True):
        path.write_bytes(whole)
        assert Ledger(path).spent == PureDP(size)
        assert ledger.spent == PureDP(size)


def test_a_count_that_is_kept_takes_in_what_others_reserve(quick_folder):
    path = quick_folder / "ledger.db"
    ledger = Ledger(path, ApproxDP(1.0, 1e-6))
    for _ in range(3):
        ledger.reserve(PureDP(0.1))
        command = f"from riemdp import *; Ledger({str(path)!r}).reserve(PureDP(0.15))"
        subprocess.run([sys.executable, "-c", command], check=True)
    ledger_module._COUNTS.clear()
    assert ledger.spent == compose([PureDP(0.1), PureDP(0.15)] * 3, like=ledger.budget)


# Counts that entries state, for processes to come


KINDS = {
    "pure": (PureDP(1e6), lambda k: PureDP(0.01 + k / 1e6)),
    "gaussian": (GDP(1e3), lambda k: [PureDP, GDP][k % 2](0.01 + k / 1e6)),
    "concentrated": (ZCDP(1e3), lambda k: [ZCDP, GDP][k % 2](0.01 + k / 1e6)),
    "renyi": (RDP(4.0, 1e3), lambda k: RDP(4.0 + k, 0.01 + k / 1e6)),
    "lattice": (ApproxDP(50.0, 1e-6), lambda k: PureDP(0.01 + k / 1e6)),
    "mixture": (ApproxDP(50.0, 1e-6), MANY[-1][1]),
}


def long_ledger(path, kind, size):
    """A ledger with so many entries, written in one transaction; each says what `reserve` would make it say."""
    budget, entry = KINDS[kind]
    ledger = Ledger(path, budget)
    with ledger._transaction("BEGIN IMMEDIATE") as db:
        count = ledger._count(db)
        for number in range(size):
            ledger_file.append(db, count.text_of_next(entry(number).with_assumptions(f"a{number % 3}")), "", "reserved")
            count = count.plus(next(ledger_file.newest_first(db)))
    return ledger


@pytest.fixture
def work(monkeypatch):
    """Entries that are counted and rows whose digests are checked."""
    done = {"counted": 0, "checked": 0}

    def watch(owner, method, name):
        original = getattr(owner, method)

        def watched(*args):
            done[name] += 1
            return original(*args)

        monkeypatch.setattr(owner, method, watched)

    watch(ledger_module.Sum, "plus", "counted")
    watch(ledger_module.Mixture, "plus", "counted")
    watch(ledger_file.Row, "digest_after", "checked")
    return done


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_reservation_of_a_process_counts_few_entries(quick_folder, work, kind):
    """However many there are: not more than between two entries that state a count."""
    size = 10_000 if kind == "pure" else 1000
    path = long_ledger(quick_folder / "ledger.db", kind, size).path
    ledger_module._COUNTS.clear()
    work.update(counted=0, checked=0)
    Ledger(path).reserve(KINDS[kind][1](size))
    assert 0 < work["counted"] <= ledger_module.EVERY + 2
    assert work["checked"] <= ledger_module.EVERY + 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_count_that_goes_on_is_the_same_to_the_last_bit(quick_folder, monkeypatch, kind):
    """As one that was never interrupted, and as one of a ledger in which no entry states a count."""
    path, size = quick_folder / "ledger.db", 2 * ledger_module.EVERY + 50
    ledger = long_ledger(path, kind, size)
    spent = ledger.spent
    through = ledger_module._COUNTS[ledger.path]
    ledger_module._COUNTS.clear()
    left = Ledger(path).remaining
    resumed = ledger_module._COUNTS[ledger.path]
    assert resumed.stated_at == 2 * ledger_module.EVERY
    monkeypatch.setattr(ledger_module, "EVERY", 10**9)
    plain = long_ledger(quick_folder / "plain.db", kind, size)
    assert (spent, left) == (plain.spent, plain.remaining)
    anew = ledger_module._COUNTS[plain.path]
    assert (anew.stated_at, anew.last) == (0, size)
    assert resumed.to_dict() == through.to_dict() == anew.to_dict()
    assert ledger.recount() == plain.recount() == spent
    assert spent.assumptions == ("a0", "a1", "a2")


def test_entries_state_counts_every_so_often_and_say_nothing_else(quick_folder):
    ledger = long_ledger(quick_folder / "ledger.db", "pure", 3 * ledger_module.EVERY)
    with closing(sqlite3.connect(ledger.path)) as db:
        texts = [json.loads(text) for (text,) in db.execute("SELECT guarantee FROM entry ORDER BY id")]
    stating = [number for number, text in enumerate(texts) if "counted" in text]
    assert stating == [ledger_module.EVERY * k for k in (1, 2, 3)]
    assert [entry.guarantee for entry in ledger.history()] == [KINDS["pure"][1](k) for k in range(len(texts) - 1)]
    counted = texts[stating[0]]["counted"]
    before = sum(Fraction(repr(entry.guarantee.epsilon)) for entry in ledger.history()[: stating[0] - 1])
    assert counted == {"budget": PureDP(1e6).to_dict(), "spent": {"value": str(before)}, "assumptions": ["a0", "a1", "a2"], "unit": "record"}


def without_triggers(path, *statements, digests_from=None):
    """Edit rows as only someone could who may write the file; mend the digests from some row on, if asked."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        saved = db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name in ("no_delete", "only_append", "only_release"):
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        rows = [] if digests_from is None else db.execute("SELECT * FROM entry WHERE id >= ? ORDER BY id", (digests_from,))
        digest = ledger_file.digest_at(db, (digests_from or 0) - 1) or ""
        for cells in [*rows]:
            digest = ledger_file.Row(*cells).digest_after(digest)
            db.execute("UPDATE entry SET digest = ? WHERE id = ?", (digest, cells[0]))
        for (sql,) in saved:
            db.execute(sql)
    ledger_module._COUNTS.clear()


STATED = 2 * 128
LIES = {
    "a smaller total": """replace(guarantee, '"value": "', '"value": "0*')""",
    "another total": """json_set(guarantee, '$.counted.spent.value', '1/10')""",
    "another budget": """json_set(guarantee, '$.counted.budget.epsilon', 2e6)""",
    "a huge number": """json_set(guarantee, '$.counted.spent.value', '1e999999999')""",
    "no number": """json_set(guarantee, '$.counted.spent', 3)""",
    "no assumptions": """json_set(guarantee, '$.counted.assumptions', NULL)""",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_count_that_was_tampered_with_is_refused(quick_folder, lie):
    """Like every other change: the digest covers it."""
    path = long_ledger(quick_folder / "ledger.db", "pure", STATED + 10).path
    without_triggers(path, f"UPDATE entry SET guarantee = {LIES[lie]} WHERE id = {STATED}")
    with pytest.raises(InputError, match="damaged") as error:
        Ledger(path)
    assert_one_sentence(error)


@pytest.mark.parametrize("lie", LIES)
def test_a_forger_of_digests_is_told_by_a_recount_and_by_an_anchor(quick_folder, lie):
    """Who may write the file can lie in it, as he could before by leaving entries out; no lie crashes the reader."""
    path = long_ledger(quick_folder / "ledger.db", "pure", STATED + 10).path
    anchored = Ledger(path, anchor=quick_folder / "anchor")
    lie = json_lie(LIES[lie])
    without_triggers(path, f"UPDATE entry SET guarantee = {lie} WHERE id = {STATED}", digests_from=STATED)
    with pytest.raises(InputError, match="lacks entry"):
        anchored.reserve(PureDP(0.1))
    with pytest.raises(InputError, match=f"entry {STATED} of the ledger .*states a"):
        Ledger(path).recount()


def json_lie(expression):
    """With the spaces that Python's json writes between the fields, as a careful forger would."""
    return f"replace({expression}, '\"counted\":{{', '\"counted\": {{')"


def test_an_old_row_behind_a_count_does_not_matter_for_the_total_and_shows_in_the_history(quick_folder):
    path = long_ledger(quick_folder / "ledger.db", "pure", STATED + 10).path
    truth = Ledger(path).spent
    without_triggers(path, """UPDATE entry SET guarantee = json_set(guarantee, '$.epsilon', 1e-9) WHERE id = 7""")
    ledger = Ledger(path)
    assert ledger.spent == truth
    for look in (ledger.history, ledger.recount, lambda: ledger.digest):
        with pytest.raises(InputError, match="damaged"):
            look()


def test_a_budget_that_was_raised_does_not_fit_the_counts(quick_folder):
    path = long_ledger(quick_folder / "ledger.db", "pure", STATED + 10).path
    with closing(sqlite3.connect(path)) as db:
        first = ledger_file.Row(*db.execute("SELECT * FROM entry WHERE id = 0").fetchone())
    raised = first._replace(guarantee=text_of(PureDP(2e6)))
    change = f"UPDATE entry SET guarantee = '{raised.guarantee}', digest = '{raised.digest_after('')}' WHERE id = 0"
    without_triggers(path, change)
    with pytest.raises(InputError, match="states a count that cannot be"):
        Ledger(path)


def test_masses_of_a_count_are_those_of_a_lattice(quick_folder):
    """Compressed bombs, wrong sizes and negative numbers are no masses."""
    ledger = long_ledger(quick_folder / "ledger.db", "lattice", 3)
    with ledger._transaction("BEGIN") as db:
        good = ledger._count(db).spent.to_dict()
    assert total_from_dict(ledger.budget, good).to_dict() == good
    size = 8 * lattice_module.SIZE
    wrong = [np.full(lattice_module.SIZE, number).tobytes() for number in (-1.0, np.nan, np.inf)]
    for raw in (b"", bytes(size - 8), bytes(size + 8), bytes(10**8), *wrong):
        bad = json.loads(json.dumps(good))
        bad["lattices"][0]["masses"] = base64.b64encode(zlib.compress(raw)).decode()
        with pytest.raises(ValueError, match="masses"):
            total_from_dict(ledger.budget, bad)
    for name, value in {"count": -1, "order": 0.5, "failure": "1/0", "rho": "-1", "lattices": [], "square": "1e9"}.items():
        with pytest.raises(ValueError, match=r"."):
            total_from_dict(ledger.budget, good | {name: value})


@pytest.mark.parametrize("number", [1, 2])
def test_an_old_file_states_a_count_from_its_next_entry_on(path, work, number):
    size = ledger_module.EVERY + 20
    old_ledger(path, PureDP(1e3), *[PureDP(0.1)] * size, number=number)
    Ledger(path).reserve(PureDP(0.5))
    ledger_module._COUNTS.clear()
    work.update(counted=0)
    ledger = Ledger(path)
    assert work["counted"] == 1
    tenth = Fraction(0.1) if number == 1 else Fraction(1, 10)
    assert size * tenth <= Fraction(repr(ledger.spent.epsilon)) - Fraction(1, 2) < size * tenth * (1 + Fraction(2) ** -52)
    assert ledger.recount() == ledger.spent


def test_processes_that_state_counts_in_turn(quick_folder, monkeypatch):
    """Each goes on from what another one stated, or from its own count."""
    monkeypatch.setattr(ledger_module, "EVERY", 4)
    path = quick_folder / "ledger.db"
    ledger, entries = Ledger(path, ApproxDP(1.0, 1e-6)), []
    for number in range(30):
        if number % 3 == 0:
            ledger_module._COUNTS.clear()
        entries.append(PureDP(0.01 + number / 1e4) if number % 2 else GDP(0.02))
        ledger.reserve(entries[-1])
    total = nothing_spent(ledger.budget)
    for entry in entries:
        total = total.plus(entry)
    assert ledger.spent.delta == ledger.recount().delta == total.strength


def test_a_ledger_that_may_only_be_read_states_nothing_and_counts(quick_folder):
    path = long_ledger(quick_folder / "ledger.db", "pure", STATED + 10).path
    whole = path.read_bytes()
    ledger_module._COUNTS.clear()
    assert Ledger(path).spent is not None
    assert Ledger(path).recount() == Ledger(path).spent
    assert path.read_bytes() == whole


# Rounding


@pytest.mark.parametrize(
    ("budget", "share", "count"),
    [
        (PureDP(1.0), PureDP(0.2), 5),
        (PureDP(1.0), PureDP(0.1), 10),
        (PureDP(1.0), PureDP(0.02), 50),
        (GDP(1.0), GDP(0.1), 100),
        (ZCDP(0.3), ZCDP(0.1), 3),
        (RDP(3.0, 0.3), RDP(3.0, 0.1), 3),
        (ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-7), 10),
    ],
)
def test_decimal_shares_fill_their_budget_and_not_one_more_fits(quick_folder, budget, share, count):
    ledger = Ledger(quick_folder / "ledger.db", budget)
    for _ in range(count):
        ledger.reserve(share)
    if not isinstance(budget, ApproxDP):  # whose deltas come to a little less than their sum
        assert ledger.spent == budget
        assert ledger.remaining is None
    for more in (share, type(share)(**share.parameters | {list(share.parameters)[-1]: 1e-300})):
        if not isinstance(more, ApproxDP) or more is share:
            with pytest.raises(BudgetExceeded):
                ledger.reserve(more)
    assert len(ledger.history()) == count


def test_what_remains_is_the_decimal_that_one_expects(path):
    ledger = Ledger(path, PureDP(1.0))
    for left in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        ledger.reserve(PureDP(0.1))
        assert ledger.remaining == PureDP(left)


def test_a_budget_can_be_spent_to_the_last_bit(path):
    ledger = Ledger(path, PureDP(1.0))
    for _ in range(8):
        ledger.reserve(PureDP(0.125))
    assert ledger.spent == PureDP(1.0)
    assert ledger.remaining is None
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureDP(5e-324))


def third_order(epsilon):
    return RDP(3.0, epsilon)


amounts = st.floats(1e-6, 0.6)
budgets = st.floats(1e-3, 1e3)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from([PureDP, GDP, ZCDP, third_order]), size=budgets, shares=st.lists(amounts, max_size=5)
)
def test_what_remains_fits_and_a_little_more_does_not(kind, size, shares):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        ledger = Ledger(Path(folder) / "ledger.db", kind(size))
        for share in shares:
            try:
                ledger.reserve(kind(size * share))
            except BudgetExceeded:
                continue
        left = ledger.remaining
        power = 2 if kind is GDP else 1
        strength = list(ledger.budget.parameters)[-1]
        spent = [Fraction(repr(getattr(entry.guarantee, strength))) ** power for entry in ledger.history()]
        free = Fraction(repr(size)) ** power - sum(spent)
        assert free >= 0
        amount = getattr(left, strength) if left else 0.0
        more = math.nextafter(amount, math.inf)
        assert Fraction(repr(amount)) ** power <= free < Fraction(repr(more)) ** power
        with pytest.raises(BudgetExceeded):
            ledger.reserve(kind(more))
        if left:
            ledger.reserve(left)


@settings(max_examples=10, deadline=None)
@given(
    entries=st.lists(st.sampled_from([GDP(0.1), PureDP(0.1), ApproxDP(0.05, 1e-7), ZCDP(1e-3)]), max_size=4)
)
def test_what_remains_of_an_approximate_budget_fits(entries):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        ledger = Ledger(Path(folder) / "ledger.db", ApproxDP(1.0, 1e-5))
        for entry in entries:
            ledger.reserve(entry)
        left = ledger.remaining
        assert left.delta == pytest.approx(1e-5 * left.epsilon, rel=1e-12)
        if entries:
            with pytest.raises(BudgetExceeded):
                ledger.reserve(ApproxDP(left.epsilon + 2.0**-9, left.delta + 1e-5 * 2.0**-9))
        ledger.reserve(left)


# One file, however many objects


def test_copies_pickles_and_clones_spend_from_the_same_file(path):
    from sklearn.base import BaseEstimator, clone

    class Estimator(BaseEstimator):
        def __init__(self, ledger=None):
            self.ledger = ledger

    ledger = Ledger(path, PureDP(1.0))
    others = [copy.copy(ledger), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger)), Ledger(str(path))]
    others += [clone(Estimator(ledger=ledger)).ledger, Ledger(path, PureDP(1.0), timeout=5)]
    for other in others:
        assert other == ledger
        assert hash(other) == hash(ledger)
        other.reserve(PureDP(0.125))
    assert ledger.spent == PureDP(0.75)
    assert str(path) in repr(ledger)
    assert "PureDP(epsilon=1.0)" in repr(ledger)


def test_a_ledger_is_bound_to_an_absolute_path_and_sees_through_links(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    ledger = Ledger(path.name, GDP(1.0))
    path.with_name("link").symlink_to(path)
    monkeypatch.chdir("/")
    assert ledger.path == path.resolve()
    assert Ledger(path.with_name("link")) == ledger
    assert Ledger(path.with_name("other %20?#.db"), GDP(1.0)) != ledger


def test_a_ledger_whose_file_is_gone_or_replaced_does_not_start_afresh(path):
    ledger = Ledger(path, GDP(1.0))
    ledger.reserve(GDP(0.5))
    path.unlink()
    with pytest.raises(InputError):
        ledger.reserve(GDP(0.5))
    assert not path.exists()
    Ledger(path, GDP(9.0))
    with pytest.raises(InputError, match="another budget"):
        ledger.reserve(GDP(0.5))


def test_threads_share_a_ledger(path):
    ledger = Ledger(path, PureDP(40 * STEP))
    won, lost = [], []

    def work():
        for _ in range(10):
            try:
                won.append(ledger.reserve(PureDP(STEP)))
            except BudgetExceeded:
                lost.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(1, 41))
    assert len(lost) == 40
    assert exact_total(ledger) == Fraction(40 * STEP)


@forks
def test_eight_processes_hammering(quick_folder):
    result = run_worker("hammer", quick_folder)
    ledger = Ledger(quick_folder / "ledger.db")
    entries = ledger.history()
    assert sorted(result["reserved"]) == [entry.id for entry in entries] == list(range(1, 61))
    assert result["refused"] == 940
    assert len({entry.description for entry in entries}) == 60
    assert exact_total(ledger) == Fraction(ledger.budget.epsilon)
    assert result["integrity"] == ["ok"]


@forks
def test_two_hundred_kills(tmp_path):
    result = run_worker("kill", tmp_path)
    ledger = Ledger(tmp_path / "ledger.db")
    status = {entry.id: entry.status for entry in ledger.history()}
    assert exact_total(ledger) <= Fraction(ledger.budget.epsilon)
    assert len(set(result["seen"])) == len(result["seen"])
    assert set(result["seen"]) <= set(status)
    assert all(status[entry] == "released" for entry in result["confirmed"])
    assert result["integrity"] == ["ok"]
    assert result["hot_journals"] > 0  # some kills did hit the middle of a transaction


@forks
def test_creation_is_all_or_nothing_and_only_once(quick_folder):
    result = run_worker("create", quick_folder)
    for outcomes in result["outcomes"]:
        assert len(outcomes) == 8
        assert set(outcomes) <= {"yes", "other-budget"}
        assert "yes" in outcomes
    assert all(result["whole"])
    assert result["integrity"] == ["ok"]


@forks
def test_children_forked_while_threads_reserve(quick_folder):
    result = run_worker("fork_while_threads_reserve", quick_folder)
    assert len(result["theirs"]) == 30
    recorded = [entry.id for entry in Ledger(quick_folder / "ledger.db").history()]
    assert sorted(result["mine"] + result["theirs"]) == recorded


# Trouble with files


def test_commits_are_durable_before_reserve_returns(path):
    with Ledger(path, GDP(1.0))._transaction("BEGIN IMMEDIATE") as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_locked_ledger_says_so(path):
    ledger = Ledger(path, GDP(1.0), timeout=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for attempt in (
            lambda: ledger.reserve(GDP(0.1)),
            lambda: ledger.spent,
            lambda: Ledger(path, timeout=0),
        ):
            with pytest.raises(
                InputError, match=r"locked by another process for more than 0(\.05)? s"
            ) as error:
                attempt()
            assert_one_sentence(error)
    ledger.reserve(GDP(0.1))


def test_a_reader_in_the_way_of_a_commit_undoes_it(path):
    ledger = Ledger(path, GDP(1.0), timeout=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM entry").fetchall()
        with pytest.raises(InputError, match="locked"):
            ledger.reserve(GDP(0.1))
    assert ledger.spent is None


ROW = "time_utc, guarantee, 'x', '{}', version, digest FROM entry WHERE id"
APPEND_ONLY = [
    "DELETE FROM entry",
    "DELETE FROM entry WHERE id = 0",
    "UPDATE entry SET guarantee = '{}' WHERE id = 1",
    "UPDATE entry SET guarantee = '{}' WHERE id = 0",
    "UPDATE entry SET status = 'released' WHERE id = 0",
    "UPDATE entry SET status = 'reserved' WHERE id = 2",
    "UPDATE entry SET status = 'released', description = 'x' WHERE id = 1",
    "UPDATE entry SET status = 'forgotten' WHERE id = 1",
    "UPDATE entry SET id = 7 WHERE id = 1",
    "UPDATE entry SET rowid = 7 WHERE id = 1",
    "UPDATE OR REPLACE entry SET id = 1 WHERE id = 2",
    f"INSERT OR REPLACE INTO entry SELECT 1, {ROW.format('reserved')} = 1",
    f"INSERT INTO entry SELECT 9, {ROW.format('reserved')} = 1",
    f"INSERT INTO entry SELECT 3, {ROW.format('released')} = 1",
    f"INSERT INTO entry SELECT 3, {ROW.format('budget')} = 1",
    f"INSERT INTO entry SELECT NULL, {ROW.format('reserved')} = 1",
    f"REPLACE INTO entry SELECT 0, {ROW.format('budget')} = 0",
]


@pytest.mark.parametrize("statement", APPEND_ONLY)
def test_the_file_itself_refuses_to_forget(path, statement):
    ledger = Ledger(path, PureDP(1.0))
    ledger.reserve(PureDP(0.1))
    ledger.confirm(ledger.reserve(PureDP(0.2)))
    before = ledger.history()
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        edit(path, statement)
    assert ledger.history() == before


@pytest.mark.parametrize("budget", [PureDP(2.0), ZCDP(1.0), GDP(1.0), ApproxDP(1.0, 1e-6)])
def test_another_budget_is_refused(path, budget):
    Ledger(path, PureDP(1.0))
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        Ledger(path, budget)
    assert_one_sentence(error)
    assert ("another budget type" in str(error.value)) == (not isinstance(budget, PureDP))
    assert repr(budget) in str(error.value)
    assert "PureDP(epsilon=1.0)" in str(error.value)
    assert path.read_bytes() == before


def whole_ledger(path):
    ledger = Ledger(path, PureDP(1.0))
    for number in range(3):
        ledger.reserve(PureDP(0.1), f"release {number}")
    return path.read_bytes()


CHANGES = {
    "empty": lambda _: b"",
    "text": lambda _: b"epsilon,delta\n1.0,1e-6\n" * 100,
    "noise": lambda _: random.Random(0).randbytes(8192),
    "zeros": lambda _: bytes(8192),
    "header only": lambda whole: whole[:100],
    "first page only": lambda whole: whole[:4096],
    "half a page short": lambda whole: whole[:-2048],
    "a page lost": lambda whole: whole[:-4096],
    "a larger budget": lambda whole: whole.replace(b'"epsilon": 1.0', b'"epsilon": 9.0'),
    "a smaller entry": lambda whole: whole.replace(b'"epsilon": 0.1', b'"epsilon": 0.0', 1),
    "another description": lambda whole: whole.replace(b"release 1", b"release 7"),
    "another format": lambda whole: whole.replace(b"ledger, format 4", b"ledger, format 5"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_file_is_refused_and_left_alone(path, change):
    damaged = CHANGES[change](whole_ledger(path))
    path.write_bytes(damaged)
    for budget in (None, PureDP(1.0), PureDP(9.0)):
        with pytest.raises(InputError) as error:
            Ledger(path, budget)
        assert_one_sentence(error)
    assert path.read_bytes() == damaged
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TRIGGER no_delete"],
        ["DROP TRIGGER no_delete", "DELETE FROM entry WHERE id = 3"],
        ["CREATE TABLE more (x)"],
        ["CREATE TRIGGER hook AFTER INSERT ON entry BEGIN SELECT 1; END"],
        ["PRAGMA writable_schema = ON", "DELETE FROM sqlite_master WHERE type = 'trigger'"],
        ["DROP TABLE entry"],
    ],
)
def test_a_changed_schema_is_refused(path, statements):
    whole_ledger(path)
    edit(path, *statements)
    with pytest.raises(InputError, match="wrote"):
        Ledger(path)


def test_a_forged_history_is_refused(path):
    """Without the triggers, put back afterwards as they were: the digests still tell."""
    whole_ledger(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        saved = db.execute("SELECT rowid, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name in ("no_delete", "only_append", "only_release"):
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DELETE FROM entry WHERE id = 2")
        db.execute("UPDATE entry SET id = 2 WHERE id = 3")
        for _, sql in saved:
            db.execute(sql)
    with pytest.raises(InputError, match="damaged"):
        Ledger(path)


def test_other_databases_are_refused(path):
    edit(
        path,
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, guarantee TEXT)",
        "INSERT INTO entry VALUES (0, '{}')",
    )
    before = path.read_bytes()
    for budget in (None, GDP(1.0)):
        with pytest.raises(InputError, match="wrote"):
            Ledger(path, budget)
    assert path.read_bytes() == before


def test_no_flipped_byte_changes_what_is_spent(path):
    """A damaged ledger is refused or reads the same: never a smaller total or a larger budget."""
    whole = whole_ledger(path)
    truth, chance, refused = Ledger(path).history(), random.Random(1), 0
    meaningful = [place for place, byte in enumerate(whole) if byte]
    for place in chance.sample(meaningful, 400):
        flipped = bytearray(whole)
        flipped[place] ^= chance.randrange(1, 256)
        path.write_bytes(flipped)
        try:
            damaged = Ledger(path, timeout=0)
            assert (damaged.budget, damaged.history()) == (PureDP(1.0), truth)
        except InputError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize(
    "name", [":memory:", "", ".", "missing/x.db", "file/x.db", "x" * 300, "a\0b", 3, None]
)
def test_paths_that_cannot_hold_a_ledger(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    for budget in (None, GDP(1.0)):
        with pytest.raises(InputError) as error:
            Ledger(name, budget)
        assert_one_sentence(error)
    assert os.listdir(tmp_path) == ["file"]


def test_opening_needs_a_file_or_a_budget(path):
    with pytest.raises(InputError, match="budget"):
        Ledger(path)
    assert not path.exists()


@pytest.mark.parametrize("budget", [1.0, "GDP(1.0)", GDP])
def test_a_budget_is_a_guarantee(path, budget):
    with pytest.raises(InputError, match="budget"):
        Ledger(path, budget)
    assert not path.exists()


@pytest.mark.parametrize("timeout", ["soon", None, [1]])
def test_a_timeout_is_a_number(path, timeout):
    with pytest.raises(InputError, match="timeout"):
        Ledger(path, GDP(1.0), timeout)
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_ledger(path):
    os.mkfifo(path)
    with pytest.raises(InputError):
        Ledger(path, GDP(1.0))


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
def test_a_ledger_that_may_only_be_read(tmp_path):
    result = run_worker("without_rights", tmp_path)
    assert set(result["errors"]) == {"reserve", "confirm", "create", "open"}
    assert all(text and text.endswith(".") for text in result["errors"].values())
    assert result["entries"] == 1
    assert result["same"]


def test_what_may_only_be_read_or_is_damaged_is_never_answered_with_another_ledger(tmp_path, path):
    answers = [*run_worker("without_rights", tmp_path)["errors"].values()] if hasattr(os, "seteuid") else []
    for change in CHANGES.values():
        path.unlink(missing_ok=True)
        path.write_bytes(change(whole_ledger(path)))
        with pytest.raises(InputError) as error:
            Ledger(path)
        answers.append(str(error.value))
    assert not any("give another" in answer for answer in answers)
    assert any("make it and its folder writable" in answer for answer in answers)
    assert any("restore the newest copy and count whatever that lacks as spent" in answer for answer in answers)


def test_no_room_means_no_ledger(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_file.os, "link", full)
    with pytest.raises(InputError, match="No space left"):
        Ledger(tmp_path / "ledger.db", GDP(1.0))
    assert os.listdir(tmp_path) == []


# Made, or there already


def test_a_ledger_says_whether_it_is_new(path):
    assert Ledger(path, GDP(1.0)).created
    assert not Ledger(path, GDP(1.0)).created


def test_a_ledger_that_must_exist_is_not_made(path):
    with pytest.raises(InputError, match="does not exist") as error:
        Ledger(path, GDP(1.0), must_exist=True)
    assert_one_sentence(error)
    assert os.listdir(path.parent) == []
    Ledger(path, GDP(1.0))
    assert not Ledger(path, GDP(1.0), must_exist=True).created


# Formats


def old_ledger(path, budget, *guarantees, number=1):
    """As version 0.1.0 wrote it: format 1, numbers that are binary floats; or as later versions did: format 2."""
    form = {} if number == 1 else {"format": number}
    rows = [(budget, "", "budget"), *((guarantee, "a release", "released") for guarantee in guarantees)]
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        digest = ""
        db.execute(FORMAT_1[0].replace("format 1", f"format {number}"))
        for place, (guarantee, description, status) in enumerate(rows):
            text = json.dumps(form | guarantee.to_dict())
            row = (place, "2025-01-01T00:00:00+00:00", text, description, status, "0.1.0")
            digest = hashlib.sha256(repr((digest, *row[:4], row[5])).encode()).hexdigest()
            db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, digest))
        for statement in FORMAT_1[1:]:
            db.execute(statement)


NEVER = "BEGIN SELECT RAISE(ABORT, 'a ledger entry is appended, released once, and never changed'); END"
FORMAT_1 = [
    "CREATE TABLE entry (/* riemdp ledger, format 1 */ id INTEGER PRIMARY KEY, time_utc TEXT NOT NULL,"
    " guarantee TEXT NOT NULL, description TEXT NOT NULL, status TEXT NOT NULL, version TEXT NOT NULL,"
    " digest TEXT NOT NULL, CHECK (status IN ('budget', 'reserved', 'released')))",
    f"CREATE TRIGGER no_delete BEFORE DELETE ON entry {NEVER}",
    "CREATE TRIGGER only_append BEFORE INSERT ON entry WHEN (NEW.id, NEW.status) IS NOT"
    f" (SELECT count(*), iif(count(*), 'reserved', 'budget') FROM entry) {NEVER}",
    "CREATE TRIGGER only_release BEFORE UPDATE ON entry WHEN (OLD.status, NEW.status, NEW.id, NEW.time_utc,"
    " NEW.guarantee, NEW.description, NEW.version, NEW.digest) IS NOT ('reserved', 'released', OLD.id,"
    f" OLD.time_utc, OLD.guarantee, OLD.description, OLD.version, OLD.digest) {NEVER}",
]


def test_a_ledger_of_the_first_format_goes_on_and_its_entries_stay_binary(path):
    """A release calibrated to the float 0.1, which is more than a tenth, counts as more than a tenth."""
    old_ledger(path, PureDP(0.3), PureDP(0.1))
    ledger = Ledger(path, PureDP(0.3))
    assert [entry.guarantee for entry in ledger.history()] == [PureDP(0.1)]
    assert Fraction(0.1) <= Fraction(repr(ledger.spent.epsilon)) < Fraction(repr(math.nextafter(0.1, 1) + 2e-17))
    ledger.reserve(PureDP(0.1))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureDP(0.1))
    ledger.reserve(ledger.remaining)
    assert Ledger(path).spent == PureDP(0.3)


def test_an_old_entry_of_a_rényi_order_is_counted_at_an_order_that_it_has(path):
    old_ledger(path, RDP(1.5, 1.0), RDP(1.9, 0.125))
    assert Ledger(path).spent == RDP(1.5, 0.125)
    low = math.nextafter(1.3, 2.0)  # the decimal of one of these is above its float
    for alpha in (1.3, low):
        counted = ledger_module._parsed(json.dumps(RDP(alpha, 0.1).to_dict())).covering
        assert Fraction(repr(counted.alpha)) <= Fraction(alpha)
        assert Fraction(repr(counted.epsilon)) >= Fraction(0.1)


def test_the_file_says_its_format_and_entries_theirs(path):
    Ledger(path, PureDP(1.0)).reserve(PureDP(0.1))
    with closing(sqlite3.connect(path)) as db:
        (schema,) = db.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchone()
        texts = [text for (text,) in db.execute("SELECT guarantee FROM entry")]
    assert "riemdp ledger, format 4" in schema
    assert [json.loads(text)["format"] for text in texts] == [4, 4]


def text_of(guarantee, **more):
    """An entry as the file keeps it."""
    return json.dumps({"format": ledger_file.FORMAT} | guarantee.to_dict() | more)


def test_a_newer_file_or_entry_gets_a_sentence(path):
    whole = whole_ledger(path)
    path.write_bytes(whole.replace(b"ledger, format 4", b"ledger, format 5"))
    with pytest.raises(InputError, match="written by a newer riemdp; upgrade") as error:
        Ledger(path)
    assert_one_sentence(error)
    path.write_bytes(whole)
    ledger = Ledger(path)
    with ledger._transaction("BEGIN IMMEDIATE") as db:
        ledger_file.append(db, text_of(GDP(0.1)), "", "reserved")
    with pytest.raises(MechanismError):  # of the right format, but of a kind that this budget cannot count
        ledger.spent  # noqa: B018
    path.write_bytes(whole)
    with ledger._transaction("BEGIN IMMEDIATE") as db:
        ledger_file.append(db, text_of(PureDP(0.1), format=ledger_file.FORMAT + 1, unit="person"), "", "reserved")
    with pytest.raises(InputError, match="newer riemdp") as error:
        Ledger(path)
    assert_one_sentence(error)


# Anchors


def test_an_anchor_keeps_every_digest_and_the_last_one_counts(path, tmp_path):
    anchor = tmp_path / "anchor.txt"
    ledger = Ledger(path, PureDP(1.0), anchor=anchor)
    states = [path.read_bytes()]
    for _ in range(3):
        ledger.confirm(ledger.reserve(PureDP(0.1)))
        states.append(path.read_bytes())
    lines = anchor.read_text().splitlines()
    assert [int(line.split()[0]) for line in lines] == [0, 1, 2, 3]
    assert lines[-1] == ledger.digest
    for state in states[:-1]:
        path.write_bytes(state)
        for attempt in (lambda: Ledger(path, anchor=anchor), lambda: ledger.reserve(PureDP(0.1)), lambda: ledger.spent):
            with pytest.raises(InputError, match="lacks entry 3 of its anchor") as error:
                attempt()
            assert_one_sentence(error)
        assert path.read_bytes() == state
        Ledger(path)  # without the anchor nothing shows
    path.write_bytes(states[-1])
    anchor.write_text("\n".join(reversed(lines)) + "\n")  # processes add theirs in any order
    assert Ledger(path, anchor=anchor).remaining == PureDP(0.7)


def test_an_anchor_of_another_ledger_is_refused(path, tmp_path):
    Ledger(path, PureDP(1.0), anchor=tmp_path / "anchor.txt").reserve(PureDP(0.1))
    other = Ledger(tmp_path / "other.db", PureDP(1.0))
    other.reserve(PureDP(0.2))
    with pytest.raises(InputError, match="an older or another file"):
        Ledger(other.path, anchor=tmp_path / "anchor.txt")


def test_an_anchor_may_begin_late(path, tmp_path):
    Ledger(path, PureDP(1.0)).reserve(PureDP(0.1))
    ledger = Ledger(path, anchor=tmp_path / "anchor.txt")
    assert (tmp_path / "anchor.txt").read_text() == f"{ledger.digest}\n"
    assert copy.deepcopy(ledger).anchor == pickle.loads(pickle.dumps(ledger)).anchor == ledger.anchor


@pytest.mark.parametrize("name", ["ledger.db", "missing/anchor", "notes.txt", ".", "a\0b", 3])
def test_files_that_cannot_be_an_anchor(path, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Ledger(path, PureDP(1.0))
    (tmp_path / "notes.txt").write_text("1 apple\n")
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        Ledger(path, anchor=name)
    assert_one_sentence(error)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["ledger.db", "notes.txt"]
