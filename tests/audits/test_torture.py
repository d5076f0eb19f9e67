"""A slice of the torture, and that it notices what it is there to notice."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import left_out
from riemdp.mechanisms import MECHANISMS

sys.path.append(str(Path(__file__).parents[2] / "audits"))
import entries
import torture

WRAPPED = type(MECHANISMS["wrapped-laplace"])


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_a_slice(first):
    """Fifty settings, each with every kind of data that its turn brings: no failure, and not all of them refused."""
    tally = torture.Tally()
    for seed in range(first, first + 50):
        asked = torture.setting(seed)
        if asked is not None and asked.n < torture.LARGEST:
            torture.torture(asked, 3, tally)
    assert tally.failures == []
    assert sum(tally.releases.values()) >= 15
    assert tally.refused > 0


@pytest.mark.parametrize("kind", torture.DATA)
def test_each_kind_of_data_on_each_space(kind):
    """By the best mechanism, in the smallest and the largest ball in which a mean can be computed."""
    for number, space in enumerate(torture.SPACES):
        top = min(space.uniqueness_radius, 1e100)
        for radius in torture._accepted_radii(space, 5, top):
            ball = rd.Ball(space, space.random_point(1, 1)[0], radius)
            asked = torture.Setting(number, ball, 5, rd.GDP(1.0), {"statistic": torture.mean_of(space)})
            with torture.warnings_as_errors():
                torture.release_one(asked, torture.DATA[kind](ball, 5, np.random.default_rng(number)))


@pytest.mark.parametrize("entry", entries.ENTRIES)
def test_every_entry_takes_every_kind_of_data(entry):
    """With labels and times as odd as the records, on a curved space that has all capabilities."""
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.6, 0.8], 0.5)
    tally = torture.Tally()
    for seed, guarantee in enumerate([rd.GDP(300.0), rd.PureDP(3.0)]):
        torture.torture(torture.Setting(seed, ball, 40, guarantee, {}, entry), len(torture.DATA), tally)
    assert tally.failures == []
    assert (tally.refused, sum(tally.releases.values())) == (0, 2 * len(torture.DATA))


def test_a_label_that_raises_is_found(monkeypatch):
    """The control: labels that are looked at all at once."""
    monkeypatch.setattr("riemdp.estimators.linear._labels", lambda y, n, classes: np.searchsorted(classes, y))
    ball, tally = rd.Ball(rd.Sphere(2), [0.0, 0.6, 0.8], 0.5), torture.Tally()
    torture.torture(torture.Setting(0, ball, 40, rd.GDP(1.0), {}, "discriminant"), 12, tally)
    assert len(tally.failures) == 1


def some_setting():
    return torture.Setting(0, rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5), 4, rd.PureDP(1.0), {"mechanism": "wrapped-laplace"})


def fails_for(monkeypatch, change):
    """The one failure of a setting in which a mechanism's draw does what it should not."""
    draw = WRAPPED.draw
    monkeypatch.setattr(WRAPPED, "draw", lambda self, value, *rest: change(value, draw(self, value, *rest)))
    tally = torture.Tally()
    torture.torture(some_setting(), 20, tally)
    (line,) = tally.failures
    return line


def test_an_error_for_some_data_is_found(monkeypatch):
    def picky(value, drawn):
        if np.linalg.norm(value) > 0.4:
            raise ValueError("too far")
        return drawn

    assert "ValueError: too far" in fails_for(monkeypatch, picky)


def test_a_warning_is_found(monkeypatch):
    def noisy(value, drawn):
        warnings.warn("careful", stacklevel=1)
        return drawn

    assert "UserWarning: careful" in fails_for(monkeypatch, noisy)


def test_what_takes_for_ever_is_found(monkeypatch):
    monkeypatch.setattr(torture, "SECONDS", 0.2)
    assert "TimeoutError" in fails_for(monkeypatch, lambda value, drawn: time.sleep(600))


def test_a_value_that_is_no_point_is_found(monkeypatch):
    assert "no point" in fails_for(monkeypatch, lambda value, drawn: drawn._replace(points=2 * drawn.points))


def test_nothing_is_found_where_there_is_nothing():
    tally = torture.Tally()
    torture.torture(some_setting(), 20, tally)
    assert tally.failures == []
    assert tally.summary()["releases"] == 20


def test_settings_and_data_come_again_from_their_seeds():
    """Every kind of space and mechanism has its turn, radii go from one end to the other, and so do centres."""
    found = [asked for asked in map(torture.setting, range(600)) if asked is not None]
    for asked in found[:20]:
        again = torture.setting(asked.seed)
        assert str(again) == str(asked)
        assert np.array_equal(torture.data_set(asked, 3)[1], torture.data_set(again, 3)[1], equal_nan=True)
    assert {asked.options["mechanism"] for asked in found if asked.entry == torture.MEAN} == {"auto", *MECHANISMS}
    assert {asked.entry for asked in found} == {torture.MEAN, *entries.ENTRIES}
    assert {repr(asked.ball.space) for asked in found} == set(map(repr, torture.SPACES))
    assert left_out(torture.SPACES) == []
    radii = [asked.ball.radius for asked in found]
    assert min(radii) < 1e-90
    assert max(radii) > 1e90
    assert max(np.abs(asked.ball.center).max() for asked in found) > 1e200
    assert {asked.n for asked in found} == {*torture.SIZES, torture.LARGEST}
