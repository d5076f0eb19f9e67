"""People instead of records: ids of every type, exact means of each one's own records, the same bits everywhere."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp.io import identities as module
from riemdp.io import people
from riemdp.io.identities import identities
from riemdp.privacy.bounded import Bounded


def in_turn(ids, is_missing=lambda cell: False):
    """Numbers in the order of first appearance, by the definition; a missing id has one of its own."""
    numbers, codes = {}, []
    for place, cell in enumerate(ids):
        codes.append(numbers.setdefault(("missing", place) if is_missing(cell) else cell, len(numbers)))
    return codes, len(numbers)


def none(cell):
    return cell is None or cell != cell or cell == ""


WHO = [3, 1, 3, 2, 1, 3, 7, 1]
CODES = [0, 1, 0, 2, 1, 0, 3, 1]
FORMS = {
    "list of integers": WHO,
    "tuple": tuple(WHO),
    "texts": [f"p{i}" for i in WHO],
    "array": np.array(WHO),
    "small integers": np.array(WHO, np.uint8),
    "unsigned": np.array(WHO, np.uint64) + 2**63,
    "far apart": np.array(WHO) * 10**15,
    "below 0": -np.array(WHO) * 10**15,
    "floats": np.array(WHO) / 7,
    "half floats": np.array(WHO, np.float16),
    "long doubles": np.array(WHO, np.longdouble) / 7,
    "fixed texts": np.array([f"p{i}" for i in WHO]),
    "bytes": np.array([f"p{i}" for i in WHO], dtype="S3"),
    "objects": np.array([f"p{i}" for i in WHO], dtype=object),
    "dates": np.array(WHO, "M8[D]"),
    "date objects": [datetime.date(2000, 1, i) for i in WHO],
    "pairs": [("site", i) for i in WHO],
    "complex": np.array(WHO) * 1j,
    "records": np.array([(i, "x") for i in WHO], dtype="i4,U1"),
    "series": pd.Series(WHO, index=[0, 0, 0, 1, 1, 1, 9, 9]),
    "series of texts": pd.Series([f"p{i}" for i in WHO]),
    "nullable": pd.Series(WHO, dtype="Int64"),
    "categories": pd.Series(WHO, dtype="category"),
    "categorical": pd.Categorical([f"p{i}" for i in WHO], categories=["p9", "p1", "p2", "p3", "p7"]),
    "index": pd.Index([f"p{i}" for i in WHO]),
    "range of a frame": pd.DataFrame({"who": WHO})["who"],
}


@pytest.mark.parametrize("form", FORMS)
def test_ids_of_every_type(form):
    found = identities(FORMS[form], len(WHO))
    assert (found.codes.tolist(), found.count) == (CODES, 4)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are float64 here")
@pytest.mark.parametrize("unit", [2.0**-60, "1e4000"])
def test_long_doubles_that_float64_does_not_hold_are_told_apart_without_a_word(unit, recwarn):
    ids = 1 + np.array(WHO, np.longdouble) * np.longdouble(unit)
    dask = pytest.importorskip("dask.array")
    for groups in (ids, dask.from_array(ids, chunks=3)):
        found = identities(groups, len(WHO))
        assert (found.codes.tolist(), found.count) == (CODES, 4)
    assert not recwarn.list


NA = [None, 5, math.nan, 5, None]
MISSING = {
    "objects": NA,
    "floats": np.array([math.nan, 5, math.nan, 5, math.nan]),
    "negative nan": np.array([-math.nan, 5, math.nan, 5, -math.nan]),
    "long doubles": np.array([math.nan, 5, math.nan, 5, math.nan], np.longdouble),
    "texts": ["", "x", "  ", "x", None],
    "bytes": [b"", b"x", b" ", b"x", b""],
    "dates": np.array(["NaT", "2000-01-01", "NaT", "2000-01-01", "NaT"], "M8[D]"),
    "nullable": pd.Series([None, 5, None, 5, None], dtype="Int64"),
    "strings": pd.Series([None, "x", None, "x", None]),
    "categories": pd.Series([None, "x", None, "x", None], dtype="category"),
    "pd.NA": [pd.NA, 5, pd.NaT, 5, float("nan")],
    "masked": np.ma.masked_array([1, 5, 1, 5, 1], mask=[1, 0, 1, 0, 1]),
    "without a hash": [[1], "x", {}, "x", [1]],
    "arrays among texts": [np.zeros(2), "x", np.zeros(2), "x", None],
}


@pytest.mark.parametrize("form", MISSING)
def test_a_missing_id_is_a_person_of_its_own(form):
    found = identities(MISSING[form], 5)
    assert (found.codes.tolist(), found.count) == ([0, 1, 2, 1, 3], 4)


class Hostile:
    """An id whose every method raises, with its content in the message."""

    def __hash__(self):
        raise RuntimeError("patient 12345")

    __eq__ = __repr__ = __str__ = __bool__ = __hash__


class Quarrelsome(Hostile):
    """One that has a hash, the same for all, but cannot be compared."""

    def __hash__(self):
        return 1


def test_ids_never_raise(capsys):
    ids = [Hostile(), 1, Quarrelsome(), Quarrelsome(), 1, np.arange(3), object, 1 + 2j]
    found = identities(ids, 8)
    assert found.codes.tolist() == [0, 1, 2, 3, 1, 4, 5, 6]
    assert capsys.readouterr() == ("", "")
    assert repr(found) == "Identities(count=7)"


@pytest.mark.parametrize("step", [1, 2, 3, 1000])
@pytest.mark.parametrize("scale", [1, 10**12])
def test_pieces_do_not_matter(step, scale, monkeypatch):
    monkeypatch.setattr(module, "STEP", step)
    rng = np.random.default_rng(0)
    ids = rng.integers(-40, 40, 200) * scale
    assert identities(ids, 200).codes.tolist() == in_turn(ids.tolist())[0]
    floats = np.where(ids % 3 == 0, np.nan, ids / 7)
    found = identities(floats, 200)
    assert (found.codes.tolist(), found.count) == in_turn(floats.tolist(), none)
    texts = ["" if i % 3 == 0 else str(i) for i in ids]
    found = identities(np.array(texts), 200)
    assert (found.codes.tolist(), found.count) == in_turn(texts, none)


@pytest.mark.parametrize("groups", [[1, 2], np.zeros((3, 1)), np.zeros((3, 2)), [[1], [2], [3]], "abc", {1, 2, 3}, 5, iter("abc"), pd.DataFrame({"a": [1, 2, 3]})], ids=lambda groups: type(groups).__name__)
def test_ids_of_another_form_are_refused(groups):
    ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    ledger_free = {"ball": ball, "guarantee": rd.GDP(1.0)}
    with pytest.raises(rd.InputError, match="groups"):
        rd.private_mean(np.zeros((3, 1)), groups=groups, **ledger_free)


# --- means of each one's own records ---------------------------------------------------------------------------


def exact_rows(X, ids, ball):
    """By rational numbers: the mean of each person's coordinates, cut towards 0 to the grid."""
    step = Fraction(2) ** ball.grid
    coords = Bounded(X, ball)._coordinates.all()
    rows = []
    for who in dict.fromkeys(ids):
        mine = [[Fraction(x) / step for x in row] for row, one in zip(coords, ids, strict=True) if one == who]
        rows.append([float(int(sum(column) / len(mine)) * step) for column in zip(*mine, strict=True)])
    return rows


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_persons_row_is_the_mean_of_their_records(space):
    rng = np.random.default_rng(1)
    X, ids = space.random_point(60, rng), rng.integers(0, 9, 60).tolist()
    X[:3] = np.nan
    ball = rd.Ball(space, space.random_point(1, rng)[0], 0.4)
    inside = Bounded(X, ball, ids)
    assert inside.n == 9
    rows = inside._coordinates.all()
    assert rows.tolist() == exact_rows(X, ids, ball)
    assert all(sum(Fraction(x) ** 2 for x in row) <= Fraction(ball.radius) ** 2 for row in rows)


def test_two_words_hold_what_one_does_not():
    """A person with so many records on the rim that their sum is beyond 64 bits, by many blocks."""
    totals, block = people._Totals.of(2, 2), 2**14
    sums = np.array([[(2**48 - 1) * block, -(2**48 - 1) * block + 5]], dtype=np.int64)
    for _ in range(10):
        totals.add(people._Sums(np.array([1]), sums, np.array([block])))
    totals.add(people._Sums(np.array([0]), np.array([[-7, 7]]), np.array([2])))
    assert totals.means(slice(0, 2)).tolist() == [[-3, 3], [2**48 - 1, -(2**48 - 2)]]


@pytest.mark.parametrize("people_at_once", [None, 1, 3])
def test_the_same_bits_in_every_order_and_chunk(people_at_once, monkeypatch):
    import dask.array as da

    rng = np.random.default_rng(2)
    space = rd.SPDAffine(3)
    ball, X, ids = rd.Ball(space, np.eye(3), 1.0), space.random_point(40_000, rng), rng.integers(0, 6000, 40_000)
    want = Bounded(X, ball, ids).coordinate_sum()
    if people_at_once is not None:
        monkeypatch.setattr(people, "MOST_KEPT", people_at_once)
    order = rng.permutation(len(X))
    assert Bounded(X, ball, ids).coordinate_sum() == want
    assert Bounded(X[order], ball, ids[order]).coordinate_sum() == want
    chunked = da.from_array(X, chunks=(7_777, 3, 3))
    assert Bounded(chunked, ball, da.from_array(ids, chunks=1_234)).coordinate_sum() == want
    assert Bounded(chunked, ball, [str(i) for i in ids]).coordinate_sum() == want


def test_memory_limits_change_nothing_else(monkeypatch):
    rng = np.random.default_rng(3)
    space = rd.Sphere(2)
    ball, X, ids = rd.Ball(space, [0, 0, 1.0], 1.0), space.random_point(50_000, rng), rng.integers(0, 30_000, 50_000)
    asked = {"size": 5, "seed": 0, "groups": ids}
    want = rd.simulate(X, ball, rd.GDP(1.0), **asked)
    monkeypatch.setattr(people, "MOST_KEPT", 2**14)
    assert np.array_equal(rd.simulate(X, ball, rd.GDP(1.0), **asked), want)
    assert np.array_equal(rd.simulate(X, ball, rd.GDP(1.0), adapt=True, **asked).shape, want.shape)


def test_one_record_each_is_the_mean_of_records():
    rng = np.random.default_rng(4)
    for space in SPACES:
        X, ball = space.random_point(30, rng), rd.Ball(space, space.origin, 0.4)
        alone, together = Bounded(X, ball, range(30)), Bounded(X, ball)
        assert np.array_equal(alone._coordinates.all(), together._coordinates.all())
        asked = {"size": 4, "seed": 1}
        assert np.array_equal(
            rd.simulate(X, ball, rd.GDP(1.0), groups=range(30), **asked), rd.simulate(X, ball, rd.GDP(1.0), **asked)
        )


def test_the_code_is_chosen_by_the_number_of_people(monkeypatch):
    """The number of records is private: which kernels compute their logarithms must not depend on it."""
    used = []
    real = people.kernels_for
    monkeypatch.setattr(people, "kernels_for", lambda records: used.append(records) or real(records))
    space = rd.SPDAffine(3)
    ball = rd.Ball(space, np.eye(3), 1.0)
    for records in (20, 20_000):
        X = np.tile(np.eye(3), (records, 1, 1))
        rd.simulate(X, ball, rd.GDP(1.0), size=1, seed=0, groups=np.arange(records) % 10)
    assert set(used) == {10}


# --- what a release says ----------------------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return rng.normal(size=(200, 2)) / 10, [f"p{i}" for i in rng.permutation(200) % 40], rd.Ball(rd.Euclidean(2), [0, 0], 1.0)


def test_the_release_names_its_unit(data, tmp_path):
    X, ids, ball = data
    ledger = rd.Ledger(tmp_path / "ledger", rd.GDP(3.0))
    made = rd.private_mean(X, ball, rd.GDP(1.0), groups=ids, unit="patient", ledger=ledger, note="pilot")
    assert (made.n, made.unit) == (40, "patient")
    assert "40 patients" in repr(made)
    assert "one patient is replaced, with all records of that id" in str(made.guarantee)
    assert "the number of patients" in str(made.guarantee)
    [entry] = ledger.history()
    assert (entry.unit, entry.description, ledger.unit) == ("patient", "frechet-mean of 40 patients, wrapped-gaussian: pilot", "patient")
    made.save(tmp_path / "mean.json")
    assert rd.Release.load(tmp_path / "mean.json").unit == "patient"
    assert "200" not in str(made.to_dict()) + str(entry)


def test_units_by_default(data):
    X, ids, ball = data
    assert rd.private_mean(X, ball, rd.GDP(1.0), groups=ids).unit == "group"
    plain = rd.private_mean(X, ball, rd.GDP(1.0))
    assert (plain.unit, plain.n) == ("record", 200)
    older = plain.to_dict() | {"format": 2}
    del older["unit"]
    assert rd.Release.from_dict(older).unit == "record"
    with pytest.raises(rd.InputError, match="unit"):
        rd.Release.from_dict(plain.to_dict() | {"unit": ""})


@pytest.mark.parametrize(("groups", "unit"), [(None, "patient"), ("ids", "record"), ("ids", ""), ("ids", 5), ("ids", "a\nb"), ("ids", "x" * 61)])
def test_units_that_do_not_fit(data, groups, unit):
    X, ids, ball = data
    with pytest.raises(rd.InputError, match="unit"):
        rd.private_mean(X, ball, rd.GDP(1.0), groups=groups and ids, unit=unit)


def test_a_ledger_keeps_one_unit(data, tmp_path):
    X, ids, ball = data
    ledger = rd.Ledger(tmp_path / "ledger", rd.GDP(3.0))
    rd.private_mean(X, ball, rd.GDP(1.0), ledger=ledger)
    with pytest.raises(rd.InputError, match=r"protect one record, this one protects one patient.*keep a ledger for each"):
        rd.private_mean(X, ball, rd.GDP(1.0), groups=ids, unit="patient", ledger=ledger)
    assert (len(ledger.history()), ledger.unit) == (1, "record")
    other = rd.Ledger(tmp_path / "other", rd.GDP(3.0))
    assert other.unit is None
    rd.private_mean(X, ball, rd.GDP(1.0), groups=ids, ledger=other)
    for unit, asked in (("record", {}), ("patient", {"groups": ids, "unit": "patient"})):
        with pytest.raises(rd.InputError, match=f"one group, this one protects one {unit}"):
            rd.private_mean(X, ball, rd.GDP(1.0), ledger=other, **asked)
    rd.private_mean(X, ball, rd.GDP(1.0), groups=ids, ledger=rd.Ledger(tmp_path / "other"))
    assert other.spent.mu == pytest.approx(math.sqrt(2))


def test_a_stated_count_keeps_the_unit(tmp_path, monkeypatch):
    from riemdp.privacy import ledger as module

    monkeypatch.setattr(module, "EVERY", 3)
    ledger = rd.Ledger(tmp_path / "ledger", rd.PureDP(1.0))
    for _ in range(7):
        ledger.reserve("epsilon=0.01", unit="patient")
    again = rd.Ledger(tmp_path / "ledger")
    assert again.unit == "patient"
    assert again.recount() == rd.PureDP(0.07)
    with pytest.raises(rd.InputError, match="one patient, this one protects one record"):
        again.reserve("epsilon=0.01")


def test_the_plan_counts_people(data):
    _, ids, ball = data
    assert rd.plan(ball, None, rd.GDP(1.0), groups=ids) == rd.plan(ball, 40, rd.GDP(1.0), groups=ids) == rd.plan(ball, 40, rd.GDP(1.0))
    with pytest.raises(rd.InputError, match="not the number of people"):
        rd.plan(ball, 200, rd.GDP(1.0), groups=ids)


def test_check_tells_the_curator_how_many_records_people_have(data):
    X, _, ball = data
    found = rd.check(X, ball, groups=[0] * 150 + list(range(1, 51)))
    assert (found.n, found.people) == (200, 51)
    assert found.records_per_person == {0.0: 1.0, 0.5: 1.0, 0.9: 1.0, 0.99: pytest.approx(75.5), 1.0: 150.0}
    assert "51 people" in str(found)
    assert found.to_dict()["records_per_person"]["1"] == 150
    assert rd.check(X, ball).people is None


def test_noise_is_that_of_people(data):
    """Scale and sensitivity follow from the number of people alone, whoever has how many records."""
    X, _, ball = data
    few, many = (rd.private_mean(X, ball, rd.GDP(1.0), groups=ids) for ids in ([0] * 161 + list(range(39)), np.arange(200) % 39))
    assert few.n == many.n == 39
    assert (few.scale, few.sensitivity) == (many.scale, many.sensitivity)
    assert few.sensitivity == pytest.approx(2 / 39)


@pytest.mark.parametrize("space", [rd.KendallShapes(8), rd.HPDAffine(2), rd.Sphere(2)], ids=repr)
def test_a_record_alone_in_its_block_has_the_same_bits(space):
    """Whether the last block holds a single record depends on their private number."""
    X, ball = space.random_point(400, np.random.default_rng(6)), rd.Ball(space, space.origin, 0.5)
    task = Bounded(X, ball, range(400))._rows.source._task(0, 400)
    together = task(X, 0).sums
    assert all(np.array_equal(task(X[i : i + 1], i).sums[0], together[i]) for i in range(400))
