"""Pipelines in MOABB's YAML form are built and run as MOABB does it."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
import yaml
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import riemdp as rd
from riemdp import bridges
from riemdp.bridges import moabb_pipelines

FILES = sorted(moabb_pipelines().glob("*.yml"))


def pipeline_of(path):
    """What MOABB makes of such a file: each component by its name, its module and its parameters."""
    described = yaml.safe_load(path.read_text())
    assert set(described) == {"name", "paradigms", "citations", "pipeline"}
    steps = [
        getattr(importlib.import_module(step["from"]), step["name"])(**step.get("parameters", {}))
        for step in described["pipeline"]
    ]
    return make_pipeline(*steps)


def epochs(channels, trials=600):
    """Trials of two classes: a source is seen by the first two channels in one, by the next two in the other."""
    rng, labels = np.random.default_rng(0), np.repeat(["left", "right"], trials // 2)
    seen = np.where((labels == "left")[:, None], np.arange(channels) < 2, np.isin(np.arange(channels), (1, 2)))
    source = 1.5 * rng.normal(size=(trials, 1, 64))
    return (rng.normal(size=(trials, channels, 64)) + seen[:, :, None] * source) * 1e-5, labels


def test_the_example_lists_what_is_shipped():
    assert doctest.testmod(bridges) == (0, 1)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_pipeline_learns_from_epochs(path, channels):
    X, y = epochs(channels)
    model = clone(pipeline_of(path))
    learnt = next(step for step in model if type(step).__module__.startswith("riemdp"))
    model.fit(X, y)
    assert learnt.ball_.space.k == channels
    assert learnt.guarantee_.implies(rd.Guarantee.from_text(learnt.guarantee))
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_record_lies_outside_the_ball_that_a_file_states(path):
    X, _ = epochs(4)
    covariances = pipeline_of(path)[:2].fit_transform(X)
    step = next(s for s in pipeline_of(path) if hasattr(s, "ball"))
    assert rd.check(covariances, step.ball | {"size": 4}).inside == len(covariances)
