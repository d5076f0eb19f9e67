"""The measurement of time sees a dependence where there is one, and no other."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import riemdp as rd

sys.path.append(str(Path(__file__).parents[2] / "audits"))
import product
import timing


def test_a_row_of_each_kind_of_sampler():
    laplace, wrapped = product.Case("circle", "riemannian-laplace", rd.PureDP(1.0)), product.Case("line", "wrapped-laplace", rd.PureDP(1.0))
    rejecting, direct = (timing.measure(case, 100) for case in (laplace, wrapped))
    assert rejecting.trials[0] >= 1
    assert direct.trials == (0.0, 0.0)
    assert rejecting.draw_ms > 0
    assert -1 <= rejecting.draw_correlation <= 1
    assert timing.table([rejecting, direct]).count("\n") == 3


def test_a_time_that_follows_the_value_is_seen():
    rng = np.random.default_rng(0)
    flat, rising = rng.lognormal(0.0, 0.3, (5, 500)), rng.lognormal(0.0, 0.3, (5, 500)) * np.arange(1, 6)[:, None]
    assert abs(timing._correlation(flat)) < timing._chance(flat.size) < 0.1
    assert timing._correlation(rising) > 0.7
    assert timing._epsilon(flat) < 0.1
    assert timing._epsilon(rising) > 2


def test_trials_are_counted_and_the_samplers_left_as_they_were():
    before = timing.IsotropicLaw._outcome, timing.KNG.sample
    ball = rd.Ball(rd.Sphere(1), [0.0, 1.0], 0.5)
    with timing._counted() as count:
        rd.private_mean(np.tile(ball.center, (5, 1)), ball, rd.PureDP(1.0), mechanism="kng")
    assert count[0] >= 1
    assert before == (timing.IsotropicLaw._outcome, timing.KNG.sample)
