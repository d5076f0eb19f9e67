"""The demonstration runs, tells the truth, and spends its budget once."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp import demo
from riemdp.cli import app


@pytest.fixture(scope="module")
def digits():
    return demo.load_digits()


def test_prints_draws_reports_and_refuses_a_second_time(tmp_path):
    command = [sys.executable, "-m", "riemdp.demo", str(tmp_path / "new" / "folder")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    folder = tmp_path / "new" / "folder"
    assert (folder / "means.png").read_bytes().startswith(b"\x89PNG")
    assert "</html>" in (folder / "report.html").read_text()
    assert str(folder / "report.html") in printed.replace("\n", "")
    assert len([line for line in printed.splitlines() if line.split()[:1] and line.split()[0].isdigit()]) == 10
    assert f"riemdp ledger show {folder / 'ledger.db'}" in printed
    (plan,) = (line.strip() for line in printed.splitlines() if line.strip().startswith("riemdp plan "))
    planned = CliRunner().invoke(app, plan.split()[1:])  # what to do next can be done
    assert (planned.exit_code, "adaptive" in planned.output) == (0, True)
    assert "modes are beyond noise" in " ".join(printed.split())
    entries = rd.Ledger(folder / "ledger.db").history()
    assert [entry.status for entry in entries] == ["released"] * 3
    assert rd.Ledger(folder / "ledger.db").spent == demo.BUDGET  # to the last bit
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "does not fit" in again.stderr
    assert len(again.stderr.splitlines()) == 1
    assert len(rd.Ledger(folder / "ledger.db").history()) == 3


@pytest.mark.parametrize("name", ["report.html", "means.png"])
def test_files_of_that_name_are_not_replaced(tmp_path, name):
    """And nothing is spent; in test_prints above, a ledger that is spent refuses by itself."""
    (tmp_path / name).write_text("mine")
    with pytest.raises(rd.InputError, match="exists already: pass another folder, or --force"):
        demo.main(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_an_outline_is_that_of_its_own_image():
    """Images stand below each other when they are traced: none may get its neighbour's outline, or a hole's."""
    blocks = np.zeros((3, 8, 8))
    for i, (rows, columns) in enumerate([((0, 8), (3, 5)), ((3, 5), (0, 8)), ((1, 7), (1, 7))]):
        blocks[i, slice(*rows), slice(*columns)] = 1.0
    blocks[2, 3:5, 3:5] = 0.0
    sizes = [(np.ptp(curve.imag), np.ptp(curve.real)) for curve in demo.contours(blocks)]
    np.testing.assert_allclose(sizes, [(8.5, 2.5), (2.5, 8.5), (6.5, 6.5)])


def test_landmarks_go_round_against_the_clock_whichever_way_the_contour_went():
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = 3 * np.exp(1j * turn) + 5
    there, back = demo.landmarks(ring), demo.landmarks(ring[::-1])
    np.testing.assert_allclose(there, back, atol=1e-2)
    angle = np.unwrap(np.arctan2(there[:, 1], there[:, 0] - 5))
    np.testing.assert_allclose(angle - np.pi / 4, np.arange(24) * np.pi / 12, atol=0.05)


def test_nearly_every_outline_lies_in_the_public_ball(digits):
    ball = demo.public_ball()
    assert np.mean(demo.SPACE.dist(demo.SPACE.project(digits.outlines), ball.center) <= ball.radius) > 0.9


def test_exact_means_tell_digits_apart_and_private_ones_nearly_as_well(digits):
    exact, known = demo.exact_means(digits), digits.is_known
    assert demo.accuracy(digits, exact) > 0.7  # chance is 0.1
    model = rd.PrivateMDM(ball=demo.public_ball(), guarantee=demo.MEANS, adapt=True)
    private = model.fit(digits.outlines[known], digits.labels[known]).means_
    assert demo.accuracy(digits, private) > 0.5
    assert demo.SPACE.dist(private, exact).max() < 0.3
    assert demo.accuracy(digits, private[::-1]) < 0.3  # the wrong way round it would show


def test_a_private_classifier_is_better_than_private_means(digits, tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=demo.BUDGET)
    study = demo.Study.of(digits, ledger)
    scores = study.scores(digits, demo.exact_means(digits))
    assert scores["classifier"] > max(scores["private"], 0.7)
    assert 0.25 < study.outlines.dispersion < 0.35
