"""Neighbouring inputs behave alike, whatever one of their cells holds: every entry point, ledger included.

The odd cell makes its record unusable, as NaN does: the release is made, the ledger has the same entries, and the
cell is neither in a message nor in a warning nor in a log.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.cli import app
from riemdp.estimators import (
    PrivateFrechetMean,
    PrivateGeodesicRegression,
    PrivateLDA,
    PrivateLogisticRegression,
    PrivateMDM,
    PrivatePGA,
    PrivateTangentSpace,
)
from riemdp.io.cells import NO_CLASS, complex_number, number, numbers, places
from riemdp.io.data import load_records
from riemdp.statistics import sites

pd = pytest.importorskip("pandas")

SECRET = "SECRET-42"
PLANE = rd.Euclidean(2)
BALL = rd.Ball(PLANE, [0.0, 0.0], 1.0)
N = 8
GOOD = [[round(math.cos(i) / 2, 3), round(math.sin(i) / 2, 3)] for i in range(N)]
LABELS = ["a", "b"] * (N // 2)
TIMES, PEOPLE = [i / (N - 1) for i in range(N)], [i // 2 for i in range(N)]


class Evil:
    """Answers no question, and says why."""

    def __float__(self):
        raise RuntimeError(SECRET)

    __eq__ = __hash__ = __repr__ = __str__ = __bool__ = __len__ = __complex__ = __float__


CELLS = {
    "text": SECRET, "nothing": None, "not available": pd.NA, "no time": pd.NaT, "beyond floats": 10**400, "complex": 0.5j, "list": [1.0, 2.0],
    "array": np.array([1.0, 2.0]), "array of one": np.array([0.25]), "dictionary": {SECRET: 1}, "bytes": SECRET.encode(), "date": datetime.date(2020, 1, 1),
    "signalling": decimal.Decimal("sNaN"), "evil": Evil(), "infinite": math.inf, "beyond float64": np.longdouble("1e4000"),
}  # fmt: skip
RECORDS = {name: odd for name, odd in CELLS.items() if name not in ("list", "array")} | {"one number": [1.0], "too many": [1.0, 2.0, 3.0], "deeper": [[1.0, 2.0], [3.0, 4.0]], "none": [], "long": np.ones(7), "square": np.ones((2, 2))}
cells = pytest.mark.parametrize("odd", CELLS)
first_or_last = pytest.mark.parametrize("place", [0, N - 1])


def site_sum(X, ball):
    return sites.site_sum(X, ball, site="north", study="cells")


def geodesic(ledger):
    return PrivateGeodesicRegression(ball=BALL, guarantee=rd.GDP(1.0), t_bounds=(0.0, 1.0), ledger=ledger)


def with_cell(odd, place=0):
    return [[odd, row[1]] if i == place else list(row) for i, row in enumerate(GOOD)]


def with_record(odd, place=0):
    return [odd if i == place else list(row) for i, row in enumerate(GOOD)]


def objects(rows):
    """(n, 2) of objects."""
    array = np.empty((len(rows), 2), dtype=object)
    for i, row in enumerate(rows):
        array[i, 0], array[i, 1] = row
    return array


def records(rows):
    """(n,) of objects, each of them a record."""
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def long_doubles(rows):
    """(n, 2) of numbers; where they have no more than 64 bits, those beyond are infinite."""
    return np.array(rows, dtype=np.longdouble)


def dask_objects(rows):
    da = pytest.importorskip("dask.array")
    return da.from_array(objects(rows), chunks=(3, 2))


def dask_records(rows):
    da = pytest.importorskip("dask.array")
    return da.from_array(records(rows), chunks=3)


OF_CELLS = {"list": list, "tuple": lambda rows: tuple(map(tuple, rows)), "objects": objects, "frame": lambda rows: pd.DataFrame(objects(rows)), "dask": dask_objects}
OF_RECORDS = {"list": list, "records": records, "series": lambda rows: pd.Series(records(rows)), "dask": dask_records}

ESTIMATORS = {
    "PrivateFrechetMean": lambda **ask: PrivateFrechetMean(**ask),
    "PrivateTangentSpace": lambda **ask: PrivateTangentSpace(**ask),
    "PrivateMDM": lambda **ask: PrivateMDM(**ask),
    "PrivateMDM, private labels": lambda **ask: PrivateMDM(**ask, private_labels=True, classes=["a", "b"]),
    "PrivatePGA": lambda **ask: PrivatePGA(**ask),
    "PrivateLDA": lambda **ask: PrivateLDA(**ask, classes=["a", "b"]),
    "PrivateLogisticRegression": lambda **ask: PrivateLogisticRegression(**ask, classes=["a", "b"]),
}
FUNCTIONS = {
    "private_mean": lambda X, ledger: rd.private_mean(X, BALL, rd.GDP(1.0), ledger=ledger),
    "adaptive": lambda X, ledger: rd.private_mean(X, BALL, rd.GDP(1.0), ledger=ledger, adapt=True),
    "tangent mean": lambda X, ledger: rd.private_mean(X, BALL, rd.GDP(1.0), ledger=ledger, statistic="tangent-mean"),
    "simulate": lambda X, ledger: rd.simulate(X, BALL, rd.GDP(1.0), size=2, seed=1),
    "check": lambda X, ledger: rd.check(X, BALL),
    "site_sum": lambda X, ledger: site_sum(X, BALL),
    "private_summary": lambda X, ledger: rd.private_summary(X, BALL, rd.GDP(1.0), ledger=ledger),
    "private_median": lambda X, ledger: rd.private_median(X, BALL, rd.GDP(1.0), ledger=ledger),
    "private_regression": lambda X, ledger: rd.private_regression(X, TIMES, BALL, rd.GDP(1.0), t_bounds=(0.0, 1.0), ledger=ledger),
    "people": lambda X, ledger: rd.private_mean(X, BALL, rd.GDP(1.0), groups=PEOPLE, ledger=ledger),
    "ellipsoid": lambda X, ledger: rd.private_mean(X, rd.Ellipsoid(PLANE, [0.0, 0.0], [1.0, 0.5], 1.0), rd.GDP(1.0), ledger=ledger),
    "PrivateGeodesicRegression": lambda X, ledger: geodesic(ledger).fit(X, TIMES),
}
ENTRIES = FUNCTIONS | {
    name: lambda X, ledger, make=make: make(ball=BALL, guarantee=rd.GDP(1.0), ledger=ledger).fit(X, LABELS)
    for name, make in ESTIMATORS.items()
}


# Every entry point with lists, and every form of records with those entry points that read them differently.
PAIRS = [(entry, "list") for entry in ENTRIES]
PAIRS += [("private_mean", form) for form in OF_CELLS if form != "list"]
PAIRS += [(entry, form) for entry in ESTIMATORS for form in ("objects", "frame")]
RECORD_PAIRS = [("private_mean", form) for form in OF_RECORDS] + [("check", "list"), ("PrivateMDM, private labels", "list"), ("PrivateFrechetMean", "series")]


SEEN = {}  # what good records do, by entry point and form


@pytest.fixture
def alike(tmp_path, capfd, caplog):
    """Whether an action does the same, as far as anybody sees, with both inputs."""

    def seen(action, value):
        (tmp_path / "ledger.db").unlink(missing_ok=True)
        ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(3.0))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            action(value, ledger)
        entries = [(e.guarantee, e.status, e.description) for e in ledger.history()]
        return entries, sorted(str(w.message) for w in said), capfd.readouterr(), caplog.text

    def compare(action, good, odd, case=None):
        if case is None or case not in SEEN:
            SEEN[case] = seen(action, good)
        found = seen(action, odd)
        assert found == SEEN[case]
        assert SECRET not in str(found)

    return compare


# --- records -------------------------------------------------------------------------------------------------------


def test_every_way_to_a_release_is_here():
    """Sums of sites are of records that site_sum has read."""
    ways = {name for name in rd.__all__ if name.lower().startswith("private")} - {"private_mean_of_sums", "private_summary_of_sums"}
    assert ways - set(ENTRIES) == set()


@cells
@pytest.mark.parametrize(("entry", "form"), PAIRS)
def test_an_odd_cell(entry, form, odd, alike):
    alike(ENTRIES[entry], OF_CELLS[form](GOOD), OF_CELLS[form](with_cell(CELLS[odd])), (entry, form))


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_long_double_beyond_float64(entry, alike):
    alike(ENTRIES[entry], long_doubles(GOOD), long_doubles(with_cell(CELLS["beyond float64"])))


@pytest.mark.parametrize("odd", RECORDS)
@pytest.mark.parametrize(("entry", "form"), RECORD_PAIRS)
def test_an_odd_record(entry, form, odd, alike):
    alike(ENTRIES[entry], OF_RECORDS[form](GOOD), OF_RECORDS[form](with_record(RECORDS[odd])), (entry, f"{form} of records"))


@first_or_last
@cells
@pytest.mark.parametrize("form", OF_CELLS)
def test_an_odd_cell_counts_as_nan_and_touches_no_other_record(form, odd, place):
    expected = site_sum(np.array(with_cell(math.nan, place)), BALL)
    made = site_sum(OF_CELLS[form](with_cell(CELLS[odd], place)), BALL)
    assert (made.n, made.total) == (N, expected.total)
    assert rd.check(OF_CELLS[form](with_cell(CELLS[odd], place)), BALL).unusable == 1


@first_or_last
@pytest.mark.parametrize("odd", RECORDS)
@pytest.mark.parametrize("form", OF_RECORDS)
def test_an_odd_record_counts_as_nan_and_touches_no_other(form, odd, place):
    expected = site_sum(np.array(with_cell(math.nan, place)), BALL)
    made = site_sum(OF_RECORDS[form](with_record(RECORDS[odd], place)), BALL)
    assert (made.n, made.total) == (N, expected.total)


@pytest.mark.parametrize("odd", ["text", "not available", "beyond floats", "beyond float64", "evil", "list"])
@pytest.mark.parametrize("form", ["real", "complex"])
def test_landmarks_in_lists(form, odd):
    space = rd.KendallShapes(3)
    X = space.random_point(5, 0)
    X = X if form == "real" else X @ [1, 1j]
    ball, rows = rd.Ball(space, space.origin, 0.5), X.tolist()
    broken = X.copy()
    broken[2, 0] = math.nan
    expected = site_sum(broken, ball).total
    rows[2][0] = CELLS[odd] if form == "complex" else [CELLS[odd], 0.0]
    assert site_sum(rows, ball).total == expected
    assert site_sum([np.array(row) if i != 2 else row for i, row in enumerate(rows)], ball).total == expected
    rd.private_mean(rows, ball, rd.GDP(1.0))
    PrivateFrechetMean(ball=ball, guarantee=rd.GDP(1.0)).fit(rows)


def test_one_complex_number_does_not_make_all_landmarks_complex():
    space = rd.KendallShapes(3)
    ball, X = rd.Ball(space, space.origin, 0.5), space.random_point(5, 0)
    rows = X.tolist()
    X[2], rows[2][0][1] = math.nan, 1j
    assert site_sum(rows, ball).total == site_sum(X, ball).total
    real = [[1.0, 2.0, 4.0], [1.0, 2.0, 5.0]]  # on a line
    assert site_sum(real, ball).total == site_sum(np.array(real) + 0j, ball).total
    with pytest.raises(rd.InputError, match=r"^X has shape \(2, 4\)"):
        site_sum([[1j, 2.0, 4.0, 1.0], [1.0, 2.0, 5.0, 1j]], ball)


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean", "object"])
def test_nullable_columns(dtype, alike):
    columns = {name: pd.array([1, 0] * (N // 2), dtype=dtype) for name in "xy"}
    good, odd = pd.DataFrame(columns), pd.DataFrame(columns)
    odd.loc[3, "x"] = pd.NA
    for action in ENTRIES.values():
        alike(action, good, odd)
    broken = np.array([[1.0, 1.0], [0.0, 0.0]] * (N // 2))
    broken[3, 0] = math.nan
    assert site_sum(odd, BALL).total == site_sum(broken, BALL).total


def test_frames_keep_the_names_of_their_columns():
    frame = pd.DataFrame(with_cell(SECRET), columns=["x", "y"])
    model = PrivateTangentSpace(ball=BALL, guarantee=rd.GDP(1.0)).fit(frame)
    assert list(model.feature_names_in_) == ["x", "y"]
    assert model.transform(frame).shape == (N, 2)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename(columns={"x": "z"}))


def test_a_ball_for_any_number_of_features_takes_that_of_most_records():
    def ball(features):
        return rd.Ball(rd.Euclidean(features), np.zeros(features), 1.0)

    for odd in ([1.0], SECRET, [SECRET, 1.0], [10**400, 1.0]):
        model = PrivateFrechetMean(ball=ball, guarantee=rd.GDP(1.0)).fit(with_record(odd))
        assert model.n_features_in_ == 2


@pytest.mark.parametrize("X", [None, 3.0, "points", {"x": 1}, {1.0}, object(), [], [[]], [1.0, 2.0], ["a", "b"], [[1.0], [2.0]], [[SECRET], [2.0]], np.array(["a"]),
                               np.array([[True, False]]), np.ones((3, 3)), np.ones((3, 2)) * 1j, objects(GOOD)[:, :1], objects(GOOD)[:0]], ids=lambda X: type(X).__name__)  # fmt: skip
def test_what_has_another_type_or_shape_is_refused_before_anything_is_spent(X, tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(3.0))
    with pytest.raises(rd.InputError, match=r"^X ") as caught:
        rd.private_mean(X, BALL, rd.GDP(1.0), ledger=ledger)
    assert SECRET not in str(caught.value)
    assert ledger.history() == []


def test_numbers_of_many_kinds():
    kinds = [1, 1.0, True, np.float32(1), np.int8(1), np.bool_(True), decimal.Decimal(1), Fraction(1), "1", " 1e0 ", np.longdouble(1), np.str_("1")]
    assert [number(cell) for cell in kinds] == [1.0] * len(kinds)
    assert [complex_number(cell) for cell in [*kinds, 1 + 0j, "1+0j", np.complex64(1)]] == [1] * (len(kinds) + 3)
    assert all(math.isnan(number(cell)) for name, cell in CELLS.items() if name not in ("infinite", "beyond float64"))


def test_arrays_of_numbers_are_not_copied():
    X = np.array(GOOD)
    assert numbers(X, (2,)) is X


# --- labels --------------------------------------------------------------------------------------------------------

LABEL_FORMS = {"list": list, "objects": records, "series": lambda labels: pd.Series(records(labels))}


@pytest.mark.parametrize("odd", RECORDS)
@pytest.mark.parametrize("form", LABEL_FORMS)
def test_an_odd_label_matches_no_class(form, odd, alike):
    def fit(y, ledger):
        return PrivateMDM(ball=BALL, guarantee=rd.GDP(1.0), ledger=ledger, private_labels=True, classes=["a", "b"]).fit(GOOD, y)

    make = LABEL_FORMS[form]
    alike(fit, make(LABELS), make([RECORDS[odd], *LABELS[1:]]))
    assert places(list(make([RECORDS[odd], *LABELS[1:]])), ["a", "b"]).tolist() == [NO_CLASS, 1, 0, 1, 0, 1, 0, 1]


def test_nullable_labels_match_by_value():
    labels = pd.Series([0, 1, None, 1], dtype="Int64")
    assert places(list(labels), list(np.array([0, 1]))).tolist() == [0, 1, NO_CLASS, 1]
    assert places(np.array([1.0, 0.0, math.nan]), list(np.array([0, 1]))).tolist() == [1, 0, NO_CLASS]
    assert places(np.array(["b", "a"]), list(np.array(["a", "b"]))).tolist() == [1, 0]


@pytest.mark.parametrize("y", [LABELS[1:], [["a"], ["b"]] * (N // 2), np.array(LABELS)[:, None], "a" * N, None, 3, {"a": 1}], ids=lambda y: type(y).__name__)
def test_labels_of_another_shape_are_refused_before_anything_is_spent(y, tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(3.0))
    with pytest.raises(rd.InputError, match=r"^y "):
        PrivateMDM(ball=BALL, guarantee=rd.GDP(1.0), ledger=ledger, private_labels=True, classes=["a", "b"]).fit(GOOD, y)
    assert ledger.history() == []


@pytest.mark.parametrize("odd", [None, pd.NA, math.nan, np.array([1, 2]), Evil()], ids=["None", "NA", "nan", "array", "evil"])
def test_public_labels_that_are_missing_are_refused_in_one_sentence(odd, tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(3.0))
    for y in ([odd, *LABELS[1:]], records([odd, *LABELS[1:]])):
        for kind, instead in {PrivateMDM: "private_labels=True", PrivateLogisticRegression: "classes="}.items():
            with pytest.raises(rd.InputError, match=f"y holds missing labels.* or {instead}"):
                kind(ball=BALL, guarantee=rd.GDP(1.0), ledger=ledger).fit(GOOD, y)
    assert ledger.history() == []


# --- files ---------------------------------------------------------------------------------------------------------


def csv_text(rows):
    return "\n".join(",".join(map(str, row)) for row in rows) + "\n"


CSV_ROWS = {
    "text": [SECRET, 0.5], "all text": [SECRET, SECRET], "empty": ["", ""], "short": [0.5], "long": [0.5, 0.5, 0.5], "one text": [SECRET], "quoted": ['"SECRET-42, or\n two lines"', 1],
    "semicolon": ["0.5;0.5"], "no UTF-8": ["\udcff", 1], "huge": ["1" + "0" * 400, 1], "very long": ["9" * 200_000 + "x", 1], "control": ["\x1b[31m", "\x00"],
}  # fmt: skip


def run_on(path, place):
    """Exit code, what is printed but for the value, and what the ledger holds."""
    ledger = place / f"{path.name}.db"
    line = ["mean", str(path), "--space", "euclidean", "--center", "origin", "--radius", "1", "--mu", "1", "--ledger", str(ledger), "--budget-mu", "3"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        done = CliRunner().invoke(app, line)

    def nameless(text):
        """The two files have other names, and so have their ledgers."""
        return text.replace(str(place), "").replace(path.name, "")

    printed = [nameless(row) for row in done.stdout.splitlines() if not row.startswith(("value", "note"))]  # made of noise, as the remark on a full ball is
    entries = [(e.guarantee, e.status, nameless(e.description)) for e in rd.Ledger(ledger).history()]
    assert SECRET not in done.stdout + done.stderr + str(said)
    assert done.exit_code == 0, done.stderr
    return printed, nameless(done.stderr), entries, len(said)


@first_or_last
@pytest.mark.parametrize("odd", CSV_ROWS)
def test_an_odd_row_of_a_csv_file(odd, place, tmp_path):
    rows = [CSV_ROWS[odd] if i == place else row for i, row in enumerate(GOOD)]
    (tmp_path / "good.csv").write_text(csv_text(GOOD))
    (tmp_path / "odd.csv").write_text(csv_text(rows), errors="surrogateescape", newline="")
    assert run_on(tmp_path / "good.csv", tmp_path) == run_on(tmp_path / "odd.csv", tmp_path)


@pytest.mark.parametrize("odd", ["", '""', " ", "\t", SECRET])
@pytest.mark.parametrize("place", [0, 3, N - 1])
def test_a_missing_cell_of_a_table_of_one_column_is_a_record(odd, place, tmp_path):
    rows = [[odd if i == place else x] for i, (x, _) in enumerate(GOOD)]
    (tmp_path / "good.csv").write_text(csv_text([[x] for x, _ in GOOD]))
    (tmp_path / "odd.csv").write_text(csv_text(rows))
    assert run_on(tmp_path / "good.csv", tmp_path) == run_on(tmp_path / "odd.csv", tmp_path)
    assert np.isnan(load_records(tmp_path / "odd.csv", rd.Euclidean(1))[:, 0]).tolist() == [i == place for i in range(N)]


def parquet_cases():
    pyarrow = pytest.importorskip("pyarrow")
    truths, whole = [[i % 2 == 0, True] for i in range(N)], [[i % 2, 1] for i in range(N)]
    for name, kind, rows in (("truths", pyarrow.bool_(), truths), ("whole", pyarrow.int64(), whole), ("floats", pyarrow.float32(), GOOD), ("halves", pyarrow.float16(), np.array(GOOD, dtype=np.float16))):
        columns = [{c: pyarrow.array([row[i] for row in rows], kind) for i, c in enumerate("xy")}]
        columns += [columns[0] | {"x": pyarrow.array([None, *(row[0] for row in rows[1:])], kind)}]
        yield f"null among {name}", *columns
        for shape in (pyarrow.list_(kind), pyarrow.large_list(kind), pyarrow.list_(kind, 2)):
            good = [list(row) for row in rows]
            for odd in (None, [None, good[0][1]], [], good[0][:1], good[0] * 2):
                if shape != pyarrow.list_(kind, 2) or odd is None or len(odd) == 2:
                    yield f"{odd} among {shape}", {"X": pyarrow.array(good, shape)}, {"X": pyarrow.array([odd, *good[1:]], shape)}


def test_odd_cells_of_parquet_files(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    done = 0
    for name, good, odd in parquet_cases():
        place = tmp_path / str(done)
        place.mkdir()
        for file, columns in (("good.parquet", good), ("odd.parquet", odd)):
            parquet.write_table(pyarrow.table(columns), place / file, row_group_size=3)
        assert run_on(place / "good.parquet", place) == run_on(place / "odd.parquet", place), name
        found = rd.check(load_records(place / "odd.parquet", PLANE), rd.Ball(PLANE, [0, 0], 9.0))
        assert (found.n, found.unusable) == (N, 1), name
        done += 1
    assert done > 40


@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".zarr", ""])
@pytest.mark.parametrize("odd", [math.nan, math.inf, 1e300])
def test_odd_numbers_of_arrays(tmp_path, suffix, odd):
    for name, rows in (("good", GOOD), ("odd", with_cell(odd))):
        path, X = tmp_path / f"{name}{suffix}", np.array(rows)
        if suffix == "":
            path.mkdir()
            for i, row in enumerate(X):
                np.save(path / f"{i}.npy", row)
        elif suffix == ".zarr":
            pytest.importorskip("zarr").save(str(path), X)
        else:
            np.save(path, X) if suffix == ".npy" else np.savez(path, X)
    assert run_on(tmp_path / f"good{suffix}", tmp_path) == run_on(tmp_path / f"odd{suffix}", tmp_path)


@pytest.mark.parametrize(
    ("first", "is_named"),
    [
        (lambda i: i + 1, True),
        (lambda i: 7919 * i % 10007, True),  # in no order
        (lambda i: i // 2, False),  # counts of something
        (lambda i: i + 0.5, False),
        (lambda i: f"p{i}", False),  # is said to hold no numbers
    ],
)
def test_check_names_a_column_of_ids(tmp_path, first, is_named):
    rows = enumerate(np.tile(GOOD, (3, 1)))
    (tmp_path / "X.csv").write_text("".join(f"{first(i)},{x},{y}\n" for i, (x, y) in rows))
    line = ["check", str(tmp_path / "X.csv"), "--space", "euclidean", "--center", "origin", "--radius", "1"]
    said = CliRunner().invoke(app, line).stdout
    assert ("column 1 holds another whole number for each record, as ids do: pick others" in said) == is_named
    assert "as ids do" not in CliRunner().invoke(app, [*line, "--columns", "2-3"]).stdout


def test_a_release_of_a_table_says_what_was_taken_for_a_point(tmp_path):
    (tmp_path / "X.csv").write_text("".join(f"{x},{y}\n" for x, y in GOOD))
    line = ["mean", str(tmp_path / "X.csv"), "--space", "euclidean", "--center", "origin", "--radius", "1", "--mu", "9"]
    hints = ("pass --header if the first line holds names", "pass --columns if one holds ids")
    for options, expected in [([], hints), (["--no-header"], hints[1:]), (["--columns", "1-2"], hints[:1])]:
        said = CliRunner().invoke(app, [*line, *options]).stdout
        assert [hint for hint in hints if hint in said] == list(expected)
    assert not any(hint in CliRunner().invoke(app, [*line, "--no-header", "--columns", "1-2"]).stdout for hint in hints)


def test_check_shows_the_curator_what_a_release_does_not(tmp_path):
    (tmp_path / "X.csv").write_text("id,x,y\n" + "".join(f"p{i},{x},{y}\n" for i, (x, y) in enumerate(GOOD)))
    line = ["check", str(tmp_path / "X.csv"), "--space", "euclidean", "--center", "origin", "--radius", "1"]
    said = CliRunner().invoke(app, line).stdout
    assert "no numbers in column 1: pick others with --columns" in said
    assert "no numbers in the first line: pass --header" in said
    right = CliRunner().invoke(app, [*line, "--header", "--columns", "x,y", "--json"])
    assert json.loads(right.stdout)["n"] == N
    assert json.loads(right.stdout)["unusable"] == 0
