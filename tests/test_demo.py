"""The demonstration runs, tells the truth, and spends its budget once."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import riemdp as rd
from riemdp import demo


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
    (entry,) = rd.Ledger(folder / "ledger.db").history()
    assert entry.status == "released"
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "does not fit" in again.stderr
    assert len(again.stderr.splitlines()) == 1
    assert len(rd.Ledger(folder / "ledger.db").history()) == 1


@pytest.mark.parametrize("name", ["report.html", "means.png"])
def test_files_of_that_name_are_not_replaced(tmp_path, name):
    """And nothing is spent; in test_prints above, a ledger that is spent refuses by itself."""
    (tmp_path / name).write_text("mine")
    with pytest.raises(rd.InputError, match="exists already: pass another folder, or --force"):
        demo.main(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_every_descriptor_lies_in_the_public_ball(digits):
    ball = demo.public_ball()
    assert demo.SPACE.dist(digits.descriptors, ball.center).max() <= ball.radius


def test_exact_means_tell_digits_apart_and_private_ones_nearly_as_well(digits):
    exact, known = demo.exact_means(digits), digits.is_known
    assert demo.accuracy(digits, exact) > 0.7  # chance is 0.1
    X = [digits.descriptors[known & (digits.labels == digit)] for digit in demo.DIGITS]
    private = np.stack([rd.private_mean(x, demo.public_ball(), demo.BUDGET, adapt=True).value for x in X])
    assert demo.accuracy(digits, private) > 0.5
    assert demo.SPACE.dist(private, exact).max() < 3.0
