"""The cost of privacy to a classifier: the experiment runs, its balls hold every record, and its figures make sense."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import riemdp as rd

sys.path.append(str(Path(__file__).parents[2]))
experiment = importlib.import_module("experiments.mdm_accuracy")


@pytest.fixture(params=["eeg", "oct"])
def task(request, shared_data):
    shared_data({"eeg": "eeg_erp_cov", "oct": "oct_kermany28"}[request.param])  # skips where there are none
    return experiment.eeg_task(folds=2) if request.param == "eeg" else experiment.oct_task(per_class=300)


def test_the_public_ball_holds_every_record(task):
    distances = task.ball.space.dist(task.ball.center, task.records)
    assert (distances <= task.ball.radius).all()


def test_shrunk_correlations_keep_their_bounds_whatever_the_covariance():
    rng = np.random.default_rng(0)
    for k in (2, 5, 8):
        roots = rng.standard_normal((200, k, k)) * np.geomspace(1e-3, 1e3, k) + 10 * rng.standard_normal((200, 1, 1))
        values = np.linalg.eigvalsh(experiment.shrunk_correlations(roots @ roots.transpose(0, 2, 1), 0.1))
        low, high = experiment.shrunk_bounds(k, 0.1)
        assert values.min() >= low * (1 - 1e-9)
        assert values.max() <= high * (1 + 1e-9)


def test_a_huge_budget_costs_nothing_and_a_tiny_one_leaves_chance(task):
    pytest.importorskip("pyriemann", exc_type=ImportError)
    plain = experiment.plain_accuracy(task, task.records)
    for private_labels in (False, True):
        generous, _ = experiment.private_accuracy(task, rd.GDP(1e6), private_labels, 2)
        assert generous == pytest.approx(plain, abs=0.01)
    hopeless, _ = experiment.private_accuracy(task, rd.GDP(1e-9), False, 2)
    assert hopeless < 0.35  # from so far away, one of the four classes is the nearest to all records


def test_table_and_picture(tmp_path):
    cells = {name: [(0.5, 0.01), (0.8, 0.02)] for name in experiment.PROMISES}
    results = [experiment.Result("EEG", 172, 0.83, 0.94, cells), experiment.Result("OCT", 8000, 0.52, None, cells)]
    console = Console(record=True, width=200)
    for result in results:
        experiment.show(result, console, (1.0, 2.0))
    experiment.plot(results, tmp_path / "mdm.png", (1.0, 2.0))
    assert "lost at ε = 2: 3.0 for ε-DP" in console.export_text()
    assert (tmp_path / "mdm.png").stat().st_size > 10_000


def test_missing_data_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(experiment, "DATA", tmp_path)
    with pytest.raises(SystemExit, match="eeg_erp_cov"):
        experiment.eeg_task()
