"""Figure 1 of the Riemannian Laplace paper: what holds of it, with its constants and with the proved ones."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from rich.console import Console

sys.path.append(str(Path(__file__).parents[2]))
experiment = importlib.import_module("experiments.laplace_against_extrinsic")

REPLICATES = 150


@pytest.fixture(scope="module")
def results():
    return experiment.run(REPLICATES, sizes=(20, 40, 100), seed=1)


def test_on_matrices_respecting_the_geometry_pays(results):
    for label, most in (("as printed", 0.6), ("proved", 0.35)):
        assert all(row.intrinsic < most * row.extrinsic for row in results["P(2)", label])


def test_about_a_quarter_of_extrinsic_matrices_is_not_positive_definite(results):
    twenty, forty, hundred = (row.outside for row in results["P(2)", "as printed"])
    assert 0.2 < twenty < 0.45
    assert 0.02 < forty < 0.2
    assert hundred < 0.03


def test_on_the_sphere_the_proved_constants_decide(results):
    """2 · 1.215/(3 · 0.780) = 1.04 with the printed constants, 2 · 0.828/(3 · 0.765) = 0.72 with the proved ones."""
    for label, ratio in (("as printed", 1.038), ("proved", 0.722)):
        for row in results["S²", label]:
            spread = 5 * (row.intrinsic_se / row.intrinsic + row.extrinsic_se / row.extrinsic)
            assert row.intrinsic / row.extrinsic == pytest.approx(ratio, rel=spread)


def test_tables_and_picture(results, tmp_path, capsys):
    experiment.show(results, Console(width=120))
    assert "P(2), constants proved" in capsys.readouterr().out
    experiment.plot(results, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
