"""A newcomer's commands say what to do next, and it can be done. (`riemdp demo`: tests/test_demo.py.)"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.cli import app

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)], prog_name="riemdp")
    assert result.exit_code == 0, result.output
    return result.stdout


def next_of(printed):
    """The lines after `Next:`."""
    return [line.strip() for line in printed.split("\nNext:\n")[1].splitlines()]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("YOUR-FILE.npy", rd.SPDAffine(3).random_point(300, 0))
    np.save("YOUR-DIRECTIONS.npy", rd.Sphere(2).random_point(300, 0))


def test_installed():
    """pip prints nothing of ours: the command by itself does, and `make install`."""
    assert "Next: riemdp demo" in run()
    recipe = MAKEFILE.read_text().split("\ninstall: ")[1].split("\n\n")[0]
    assert "Next:" in recipe
    assert "riemdp demo" in recipe


@pytest.mark.parametrize(
    "asked",
    [
        "--space spd-affine --size 3 --eigenvalues 0.05 5 --epsilon 1",
        "--space spd-affine --size 3 --center identity --radius 2 --mu 0.5 --statistic tangent-mean",
        "--space sphere --size 2 --radius 1 --epsilon 0.5 --delta 1e-6 --calibration classical",
        "--space sphere --size 2 --center north --radius 1 --rho 0.5 --adapt --spread 0.2",
    ],
)
def test_plan(asked):
    """What was planned is released with the same error as was predicted, by the line as it is printed."""
    planned = run("plan", "--records", 300, *asked.split())
    (command,) = next_of(planned)
    typed = shlex.split(command.replace("YOUR-FILE", "YOUR-DIRECTIONS" if "sphere" in asked else "YOUR-FILE"))
    assert typed[:2] == ["riemdp", "mean"]
    released = run(*typed[1:])
    assert Path("mean.html").is_file()
    if "--adapt" not in asked:
        best = next(line.split()[:2] for line in planned.splitlines()[4:])
        assert f"mechanism       {best[0]}" in released
        assert f"expected error  {best[1]}," in released


def test_mean_and_ledger():
    ask = ["mean", "YOUR-FILE.npy", "--space", "spd-affine", "--eigenvalues", 0.05, 5, "--mu", 0.6]
    assert "--ledger FILE" in " ".join(next_of(run(*ask)))
    look, show = next_of(run(*ask, "--report", "mean.html", "--ledger", "a study.db", "--budget-mu", 1))
    assert "mean.html in a browser" in look
    assert rd.Ledger("a study.db").remaining.mu == 0.8
    (spend,) = next_of(run(*shlex.split(show.split("  ")[0])[1:]))
    typed = shlex.split(spend.split("  ")[0])
    left = typed[typed.index("--mu") :]
    assert left == ["--mu", "0.8"]
    run(*ask[:-2], *typed[typed.index("--ledger") :])
    assert rd.Ledger("a study.db").remaining is None
    assert "nothing more" in next_of(run("ledger", "show", "a study.db"))[0]


def test_machines_get_no_advice():
    ask = ["--space", "spd-affine", "--eigenvalues", 0.05, 5, "--mu", 0.6, "--json"]
    assert "Next" not in run("plan", "--size", 3, "--records", 9, *ask)
    assert "Next" not in run("mean", "YOUR-FILE.npy", *ask)
