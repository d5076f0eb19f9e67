"""People instead of records: ids of every type, exact means of each one's own records, the same bits everywhere."""

from __future__ import annotations

import datetime
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import riemdp as rd
from manifolds.examples import SPACES
from riemdp.io import identities as module
from riemdp.io import people
from riemdp.io.identities import identities
from riemdp.io.stores import ParquetCells
from riemdp.io.texts import Texts, _texts
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
    "list of large integers": [2**70 + i for i in WHO],
    "list of integers and equal floats": [float(i) if i == 1 else i for i in WHO],
    "objects, integers": np.array(WHO, dtype=object),
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
    "other byte order": np.array([f"p{i}" for i in WHO], dtype=">U5"),
    "every other": np.repeat([f"p{i}" for i in WHO], 2)[::2],
    "variable texts": np.array([f"p{i}" for i in WHO], dtype=np.dtypes.StringDType()),
    "masked": np.ma.masked_array(WHO),
    "masked texts": np.ma.masked_array([f"p{i}" for i in WHO]),
    "nullable floats": pd.Series(WHO, dtype="Float64"),
    "strings of Python": pd.Series([f"p{i}" for i in WHO], dtype="string[python]"),
    "strings of Arrow": pd.Index([f"p{i}" for i in WHO], dtype="string[pyarrow]"),
    "numbers of Arrow": pd.Series(WHO, dtype="int64[pyarrow]"),
    "Arrow": pa.array([f"p{i}" for i in WHO]),
    "Arrow, whole numbers": pa.array(WHO),
    "Arrow, views": pa.array([f"p{i}" for i in WHO], pa.string_view()),
    "Arrow, dates": pa.array([datetime.datetime(2000, 1, i) for i in WHO], pa.timestamp("us")),
    "Arrow, pairs": pa.array([{"site": 1, "who": i} for i in WHO]).field(1),
    "Arrow, run ends": pa.RunEndEncodedArray.from_arrays(range(1, 9), [f"p{i}" for i in WHO]),
    "Arrow, dictionary": pa.array([f"p{i}" for i in WHO]).dictionary_encode(),
    "Arrow, any dictionary": pa.DictionaryArray.from_arrays(pa.array([2, 1, 5, 3, 1, 2, 4, 1], pa.uint8()), ["q", "a", "c", "b", "d", "c"]),
    "Arrow, chunks": pa.chunked_array([["c", "a"], [], ["c", "b", "a"], ["c", "d", "a"]], pa.string()),
    "Arrow, chunks of dictionaries": pa.chunked_array([pa.array(part).dictionary_encode() for part in (["c", "a"], ["c", "b", "a"], ["c", "d", "a"])]),
}


@pytest.fixture(params=["dictionary", "compiled"])
def either_code(request, monkeypatch):
    """Texts through a dictionary, and through compiled code."""
    monkeypatch.setattr(module, "_are_worth_compiled_code", lambda records: request.param == "compiled")


@pytest.mark.parametrize("form", FORMS)
def test_ids_of_every_type(form, either_code):
    found = identities(FORMS[form], len(WHO))
    assert (found.codes.tolist(), found.count) == (CODES, 4)
    assert found.codes.dtype == np.int32


def test_ids_of_polars():
    pl = pytest.importorskip("polars")
    texts = [None if i == 2 else f"p{i}" for i in WHO]
    for groups in (pl.Series(texts), pl.Series(texts, dtype=pl.Categorical), pl.Series([None if i == 2 else i for i in WHO])):
        assert identities(groups, len(WHO)).codes.tolist() == CODES


class Alone(int):
    """A number that equals none, not even itself."""

    def __eq__(self, other):
        return False

    __hash__ = int.__hash__


LATE = {
    "a text": ("1", None),
    "a float": (1.0, 1),
    "a truth": (True, 1),
    "one of NumPy": (np.int64(1), 1),
    "no id": (None, None),
    "one of 70 bits": (2**70, None),
    "one that wraps to 1": (2**64 + 1, None),
    "one of a class of its own": (Alone(1), None),
}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("form", ["list", "objects"])
def test_lists_that_begin_with_integers_may_end_with_anything(late, form, monkeypatch):
    """Pieces of integers are compared as numbers until one piece holds something else."""
    monkeypatch.setattr(module, "STEP", 4)
    last, same_as = LATE[late]
    ids = [5, 1, 5, 1, -7, last, 5]
    found = identities(ids if form == "list" else np.array(ids, dtype=object), 7)
    number = 3 if same_as is None else 1
    assert (found.codes.tolist(), found.count) == ([0, 1, 0, 1, 2, number, 0], max(3, number + 1))


CHUNKS = {
    "a float where one is missing": ([1, 2, 3], [3.0, math.nan, 1.0]),
    "a float first": ([3.0, math.nan, 1.0], [1, 2, 3]),
    "objects, with words": ([1, 2, 3], np.array([3, "x", 1], dtype=object)),
    "of pandas, with words for what is missing": ([1, 2, 3], np.array([3, pd.NA, 1], dtype=object)),
    "without signs": ([1, 2, 3], np.array([3, 2**63, 1], dtype=np.uint64)),
}


@pytest.mark.parametrize("types", CHUNKS)
def test_chunks_of_dask_of_another_type_than_stated_have_the_same_people(types):
    """Tables of Dask state the type of the first file; pandas reads whole numbers of which one is missing as floats."""
    da, delayed = pytest.importorskip("dask.array"), pytest.importorskip("dask").delayed
    chunks = [np.asarray(chunk) for chunk in CHUNKS[types]]
    ids = da.concatenate([da.from_delayed(delayed(chunk), (3,), dtype=chunks[0].dtype) for chunk in chunks])
    found = identities(ids, 6)
    assert found.count == 4
    assert found.codes.tolist() == ([0, 1, 2, 2, 3, 0])


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
    "fixed texts": np.array(["", "x", "\u2003\t", "x", ""]),
    "fixed bytes": np.array([b"", b"x", b" \t", b"x", b""]),
    "variable texts": np.array([None, "x", " ", "x", None], dtype=np.dtypes.StringDType(na_object=None)),
    "masked texts": np.ma.masked_array(["x", "x", "y", "x", "z"], mask=[1, 0, 1, 0, 1]),
    "masked floats": np.ma.masked_array([1, 5, math.nan, 5, 5], mask=[1, 0, 0, 0, 1]),
    "nullable floats": pd.Series([None, 5.5, math.nan, 5.5, None], dtype="Float64"),
    "nullable truths": pd.Series([None, True, None, True, None], dtype="boolean"),
    "empty categories": pd.Series(["", "x", " ", "x", ""], dtype="category"),
    "strings of Arrow": pd.Series(["", "x", None, "x", " "], dtype="string[pyarrow]"),
    "Arrow": pa.array([None, "x", "", "x", "  "]),
    "Arrow, floats": pa.array([math.nan, 5, -math.nan, 5, None]),
    "Arrow, whole numbers": pa.array([None, 2**60 + 1, None, 2**60 + 1, None]),
    "Arrow, chunks": pa.chunked_array([[None], ["x", None], ["x", None]], pa.string()),
    "Arrow, dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 3, 2]), ["x", "", None, "x"]),
}


@pytest.mark.parametrize("form", MISSING)
def test_a_missing_id_is_a_person_of_its_own(form, either_code):
    found = identities(MISSING[form], 5)
    assert (found.codes.tolist(), found.count) == ([0, 1, 2, 1, 3], 4)


class Hostile:
    """An id whose every method raises, with its content in the message."""

    def __hash__(self):
        raise RuntimeError("patient 12345")

    __eq__ = __repr__ = __str__ = __bool__ = __hash__


class Silent(Hostile):
    """One that pretends to be the last."""

    def __hash__(self):
        raise StopIteration


class Quarrelsome(Hostile):
    """One that has a hash, the same for all, but cannot be compared."""

    def __hash__(self):
        return 1


def test_ids_never_raise(capsys):
    ids = [Hostile(), 1, Quarrelsome(), Quarrelsome(), 1, np.arange(3), object, 1 + 2j, Silent(), 1, Silent()]
    found = identities(ids, 11)
    assert found.codes.tolist() == [0, 1, 2, 3, 1, 4, 5, 6, 7, 1, 8]
    assert capsys.readouterr() == ("", "")
    assert repr(found) == "Identities(count=9)"


def broken_texts(*texts):
    """A column of Arrow whose bytes are no texts in UTF-8."""
    places = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(places), pa.py_buffer(b"".join(texts))])


UNREADABLE = {
    "characters that do not exist": np.array([0x110000, 65, 0x7FFFFFFF, 65, 0x110000], np.uint32).view("U1"),
    "half characters": np.array([0xD800, 65, 0xDC00, 65, 0xD800], np.uint32).view("U1"),
    "texts of Arrow": broken_texts(b"\xff", b"a", b"\xfe", b"a", b"\xff"),
    "texts of pandas": pd.Series(broken_texts(b"\xff", b"a", b"\xfe", b"a", b"\xff"), dtype=pd.ArrowDtype(pa.string())),
    "dates of Arrow": pa.array([2**62, 1, -(2**62), 1, 2**62], pa.timestamp("us")),
}


@pytest.mark.parametrize("form", UNREADABLE)
def test_ids_that_python_cannot_hold_do_not_raise(form, either_code, tmp_path):
    """Equal ones are still those of one person."""
    ids = UNREADABLE[form]
    assert identities(ids, 5).codes.tolist() == [0, 1, 2, 1, 0]
    if form.endswith("Arrow"):
        parquet.write_table(pa.table({"who": ids}), tmp_path / "ids.parquet", row_group_size=2)
        assert identities(ParquetCells.open(tmp_path / "ids.parquet", None), 5).codes.tolist() == [0, 1, 2, 1, 0]


@pytest.mark.parametrize("kind", ["U", "S"])
def test_texts_are_equal_if_all_characters_are(kind, either_code, monkeypatch):
    """Of any width, in any pieces; zeros at the end are none, for NumPy."""
    rng = np.random.default_rng(7)
    for width, step in ((1, 1000), (3, 7), (8, 100), (9, 64), (40, 333)):
        monkeypatch.setattr(module, "STEP", step)
        texts = ["".join(rng.choice(list("ab\0 \n"), rng.integers(0, width + 1))) for _ in range(1000)]
        ids = np.array(texts, dtype=f"{kind}{width}")
        found = identities(ids, 1000)
        assert (found.codes.tolist(), found.count) == in_turn(ids.tolist(), lambda cell: not cell.strip())


LETTERS = ["a", "b", " ", "\0", "\n", "\x1f", "ä", "\u2003", "\u3000", "中", "😀", "\ud800", "\udc00", "\x85"]


def whole(texts):
    """Without half characters, which only Python and NumPy hold."""
    return [text.replace("\ud800", "").replace("\udc00", "") for text in texts]


ALL_TEXTS = {
    "list": lambda texts: texts,
    "objects": lambda texts: np.array(texts, dtype=object),
    "fixed": np.array,
    "variable": lambda texts: np.array(whole(texts), dtype=np.dtypes.StringDType()),
    "Arrow": lambda texts: pa.array(whole(texts), pa.large_string()),
    "bytes": lambda texts: np.array([text.encode("utf-8", "surrogatepass")[:9] for text in texts]),
    "categories": lambda texts: pd.Categorical(whole(texts)),
    "with gaps": lambda texts: [None if len(text) == 3 else math.nan if len(text) == 4 else text for text in texts],
    "one of another type": lambda texts: [*texts[:-1], 5],
    "one of another class": lambda texts: [*texts[:-1], np.str_(texts[0])],
    "some bytes": lambda texts: [text.encode("utf-8", "replace") if len(text) == 2 else text for text in texts],
}


@pytest.mark.parametrize("form", ALL_TEXTS)
def test_the_table_of_texts_says_what_a_dictionary_says(form, monkeypatch):
    """Of any length and characters, in any pieces, with room that has to grow."""
    rng = np.random.default_rng(9)
    texts = ["".join(rng.choice(LETTERS, rng.integers(0, 6))) * int(rng.integers(1, 4)) for _ in range(6000)]
    texts[1000] = texts[2000] = "long" * 40_000
    ids = ALL_TEXTS[form](texts)
    monkeypatch.setattr(module, "STEP", 999)
    found = []
    for compiled in (False, True):
        monkeypatch.setattr(module, "_are_worth_compiled_code", lambda records, compiled=compiled: compiled)
        found.append(identities(ids, 6000))
    assert np.array_equal(found[0].codes, found[1].codes)
    assert found[0].count == found[1].count > 2500


def test_texts_of_the_same_hash_stay_apart():
    """In a table whose hashes are all the same, or few, texts are found by their bytes alone."""
    from riemdp.kernels.texts import number_texts

    texts = [f"{i % 700}" for i in range(3000)]
    piece = _texts(texts)
    for few in (1, 7):
        table, kept, ends, places = np.zeros(2048, np.int32), np.empty(2000, np.uint8), np.zeros(1025, np.int64), np.empty(3000, np.int32)
        hashes = np.uint64(2**64 - 1) - np.arange(3000, dtype=np.uint64) % 700 % few
        assert number_texts(*piece, hashes, table, kept, ends, 0, places) == (3000, 700)
        assert places.tolist() == in_turn(texts)[0]


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="Python's own hash is another one here")
@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 247])
def test_the_hash_is_siphash(length):
    """The one that Python itself uses, whose keys are 0 if it is told so; those of tables are their own."""
    from riemdp.kernels.texts import hash_texts

    text = bytes(range(1, 248))[:length]
    code = f"print(hash({text!r}))"
    theirs = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True)
    mine = np.empty(1, np.uint64)
    hash_texts(np.frombuffer(text, np.uint8), np.array([0]), np.array([length]), 0, 0, mine)
    assert mine.view(np.int64)[0] == int(theirs.stdout)
    assert Texts().keys != Texts().keys


def test_long_numbers_are_not_cut():
    """Ids that differ beyond 64 bits are those of different people, where the machine has such numbers."""
    ids = np.array([2**53, 2**53, 2**53, math.nan], dtype=np.longdouble) + np.array([0, 1, 0, 0], dtype=np.longdouble)
    found = identities(ids, 4)
    assert (found.codes.tolist(), found.count) == in_turn(list(ids), none)
    masked = np.ma.masked_array(ids, mask=[0, 0, 1, 0])
    assert identities(masked, 4).count == len({ids[0], ids[1]}) + 2


def test_a_name_among_the_ids_is_guessed():
    with pytest.raises(rd.InputError, match="If the first is the column's name"):
        identities(["patient", "a", "b"], 2)


def test_ids_of_different_types_are_compared_as_python_does(either_code):
    """1 is 1.0 and True, but no text; a text is not its bytes."""
    mixed = [1, 1.0, True, "1", b"1", "1 ", np.int64(1), np.str_("1"), Fraction(1), 2, "1\0"]
    assert identities(mixed, 11).codes.tolist() == [0, 0, 0, 1, 2, 3, 0, 1, 0, 4, 5]
    assert identities(np.array(["1", "1\0", "1 "]), 3).codes.tolist() == [0, 0, 1]
    assert identities(pa.array(["1", "1\0", "1 "]), 3).codes.tolist() == [0, 1, 2]
    assert identities(pa.array([0.0, -0.0, 1.0]), 3).codes.tolist() == [0, 0, 1]


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


@pytest.mark.parametrize("groups", [[1, 2], np.zeros((3, 1)), np.zeros((3, 2)), [[1], [2], [3]], "abc", {1, 2, 3}, 5, iter("abc"), pd.DataFrame({"a": [1, 2, 3]}), pa.table({"a": [1, 2, 3]}), np.ma.zeros((3, 1))], ids=lambda groups: type(groups).__name__)
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
