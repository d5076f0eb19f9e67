"""`riemdp median` and `riemdp regress`: from files to releases, and what is refused before anything is spent."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.cli import app

PLACE = ["--space", "sphere", "--center", "north", "--radius", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, space = np.random.default_rng(0), rd.Sphere(2)
    t = rng.uniform(20, 90, 600)
    coords = np.column_stack([(t - 55) / 100, 0.05 * rng.standard_normal(600)])
    north = np.array([0.0, 0.0, 1.0])
    np.savez("data.npz", X=space.exp(space.from_coordinates(coords, north), north), t=t)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_median_with_its_files_and_ledger(folder):
    files = ["--out", "m.json", "--report", "m.html", "--plot", "m.png", "--ledger", "l.db", "--budget-mu", "1"]
    done = run("median", "data.npz:X", *PLACE, "--mu", 1, *files)
    assert done.exit_code == 0, done.output
    release = rd.Release.load(folder / "m.json")
    assert release.statistic == "geometric-median"
    assert "released median" not in done.output or release.n == 600
    assert "geometric median" in (folder / "m.html").read_text()
    again = run("median", "data.npz:X", *PLACE, "--mu", 1, "--out", "n.json", "--ledger", "l.db")
    assert again.exit_code == 3
    assert not (folder / "n.json").exists()


def test_a_regression_on_numbers_of_a_file(folder):
    options = ["--on", "data.npz:t", "--bounds", 20, 90, "--mu", 1, "--adapt", "--json"]
    done = run("regress", "data.npz:X", *PLACE, *options, "--report", "r.html", "--plot", "r.png")
    assert done.exit_code == 0, done.output
    fit = rd.Release.from_dict(json.loads(done.stdout))
    assert isinstance(fit, rd.Regression)
    assert rd.Sphere(2).norm(fit.velocity, fit.value) == pytest.approx(0.01, abs=0.003)
    assert "geodesic regression" in (folder / "r.html").read_text()


def test_a_regression_on_a_column_of_the_table(folder):
    data = np.load("data.npz")
    rows = "\n".join(",".join(map(repr, row)) for row in np.column_stack([data["X"], data["t"]]).tolist())
    (folder / "table.csv").write_text("x,y,z,age\n" + rows + "\n")
    asked = ["--header", "--on", "age", "--bounds", 20, 90, "--mu", 1, "--out", "r.json"]
    done = run("regress", "table.csv", *PLACE, *asked)
    assert done.exit_code == 0, done.output
    assert rd.Release.load(folder / "r.json").n == 600


def test_a_regression_of_people_by_columns_of_the_table(folder):
    data = np.load("data.npz")
    rows = np.column_stack([data["X"], data["t"], np.arange(600) // 2]).tolist()
    lines = "\n".join(",".join(map(repr, row)) for row in rows)
    (folder / "visits.csv").write_text("x,y,z,age,patient\n" + lines + "\n")
    asked = ["--header", "--on", "age", "--bounds", 20, 90, "--mu", 1, "--out", "r.json"]
    done = run("regress", "visits.csv", *PLACE, *asked, "--groups", "patient", "--unit", "patient", "--ledger", "l.db", "--budget-mu", 1)
    assert done.exit_code == 0, done.output
    fit = rd.Release.load(folder / "r.json")
    assert (fit.n, fit.unit) == (300, "patient")


@pytest.mark.parametrize(
    "wrong",
    [
        ["regress", "data.npz:X", *PLACE, "--on", "data.npz:t", "--bounds", 90, 20, "--mu", 1],
        ["regress", "data.npz:X", *PLACE, "--on", "data.npz:X", "--bounds", 20, 90, "--mu", 1],
        ["regress", "data.npz:X", *PLACE, "--on", "missing.npy", "--bounds", 20, 90, "--mu", 1],
        ["regress", "data.npz:X", *PLACE, "--on", "data.npz:t", "--bounds", 20, 90, "--mu", 1, "--quiet"],
        ["regress", "data.npz:X", *PLACE, "--on", "data.npz:t", "--bounds", 20, 90, "--mu", 1, "--unit", "rat"],
        ["regress", "data.npz:X", *PLACE, "--on", "data.npz:t", "--bounds", 20, 90, "--mu", 1, "--groups", "none.npy"],
        ["median", "data.npz:X", *PLACE, "--mu", 1, "--width", -1],
        ["median", "data.npz:X", *PLACE, "--mu", 0.001],
    ],
)
def test_what_is_refused_spends_nothing(folder, wrong):
    done = run(*wrong, "--ledger", "l.db", "--budget-mu", 1)
    assert done.exit_code == 2, done.output
    assert not (folder / "l.db").exists()


def test_a_part_of_a_file_is_named_as_it_was_typed(folder):
    done = run("regress", "data.npz:X", *PLACE, "--on", "data.npz:X", "--bounds", 20, 90, "--mu", 1)
    assert "--on data.npz:X has shape" in done.output
