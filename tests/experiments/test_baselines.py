"""Private means of others, rewritten: they have the errors that were published, and a wrong scale has not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "plan_published_errors.csv"


@pytest.fixture(scope="module")
def baselines():
    import baselines

    return baselines


@pytest.fixture(scope="module")
def published(baselines):
    if not PUBLISHED.exists():
        pytest.skip("published figures not found beside the repository")
    return baselines.published(PUBLISHED)


def errors(baselines, cell, runs, **changes):
    rng = np.random.default_rng(21)
    sets = (cell.records(rng) for _ in range(runs))
    estimates = [baselines.rewritten(cell, X, rng, **changes) for X in sets]
    return {name: np.array([cell.error(one[name]) for one in estimates]) for name in estimates[0]}


def is_as_published(found, figure):
    """Within 6 % and three standard errors of the difference: seeds are fixed."""
    spread = math.hypot(figure.error, found.std(ddof=1) / math.sqrt(len(found)))
    return abs(found.mean() - figure.mean) <= 0.06 * figure.mean + 3 * spread


CELLS = [("A", 16, 0.25, 0.0, 40), ("A", 128, 0.125, 0.0, 6), ("A", 512, 0.125, 0.0, 2), ("C", 32, 0.5, 2.0, 20)]


@pytest.mark.parametrize(("setting", "d", "rho", "alpha", "runs"), CELLS)
def test_errors_are_as_published(baselines, published, setting, d, rho, alpha, runs):
    cell = baselines.Cell(setting, d, rho, alpha)
    for name, found in errors(baselines, cell, runs).items():
        assert is_as_published(found, published[cell][name]), (name, found.mean(), published[cell][name])


def test_a_wrong_budget_is_not_as_published(baselines, published):
    cell = baselines.Cell("A", 128, 0.125, 0.0)
    half = baselines.Cell("A", 128, 0.125 / 2, 0.0)
    found = errors(baselines, half, 6)
    for name in ("PLAN", "instance-optimal"):
        assert not is_as_published(found[name], published[cell][name])


def test_searches_that_rho_pays_for_lose_their_way_where_the_published_ones_do_not(baselines):
    cell = baselines.Cell("A", 512, 0.125, 0.0)
    sharp, honest = (errors(baselines, cell, 1, sharpness=s)["PLAN"][0] for s in (baselines.PUBLISHED, 1.0))
    assert honest > 20 * sharp


def test_the_quantiles_density_is_the_exponential_mechanisms(baselines):
    """A replaced record changes a rank by 1: densities of neighbours differ by exp(2 strength) at most."""
    rng, strength = np.random.default_rng(0), 1.5
    rows = np.array([[0.0, 1.0, 2.0, 3.0], [4.0, 1.0, 2.0, 3.0]])
    wide = np.repeat(rows, 20_000, axis=0).T
    found = baselines.private_quantile(wide, 0.5, strength, -1.0, 5.0, rng).reshape(2, -1)
    shares = np.array([np.histogram(some, bins=6, range=(-1, 5))[0] for some in found]) / 20_000
    for share, records in zip(shares, rows, strict=True):
        below = np.array([(records < middle).sum() for middle in np.arange(-0.5, 5)])
        weights = np.exp(-strength * np.abs(below - 2))
        assert np.abs(share - weights / weights.sum()).max() < 0.015  # four standard errors


def test_coinpress_ends_in_the_noise_of_its_last_ball(baselines):
    n, d, rho, rng = 3000, 50, 0.5, np.random.default_rng(0)
    cut = baselines._gaussian_length(d)
    least = math.sqrt(d / n + d * (2 * cut / (n * math.sqrt(1.5 * rho))) ** 2)
    found = [
        np.linalg.norm(baselines.coinpress(3 + 2 * rng.standard_normal((n, d)), 1e4, rho, rng, spread=2.0) - 3)
        for _ in range(20)
    ]
    assert 1.9 * least < np.mean(found) < 2.2 * least


def test_the_oracle_is_never_worse_than_a_ball_and_knows_its_noise(baselines):
    eigenvalues, n, rho = np.array([100.0, 1.0, 0.01]), 1000, 0.5
    noise = baselines.oracle_noise(eigenvalues, n, rho)
    assert noise == pytest.approx(2 * (10 + 1 + 0.1) / 1000)
    assert noise < 2 * math.sqrt(3 * eigenvalues.sum()) / n
    rng = np.random.default_rng(0)
    quarter = eigenvalues**0.25
    estimates = [
        quarter * baselines.noisy_mean(np.zeros((n, 3)), math.sqrt(np.sqrt(eigenvalues).sum()), rho, rng)
        for _ in range(4000)
    ]
    lengths = np.linalg.norm(estimates, axis=1)
    assert math.sqrt(np.mean(lengths**2)) == pytest.approx(noise, rel=0.05)
    mean = baselines.oracle_error(eigenvalues, n, rho, rng, population=False)
    assert mean == pytest.approx(lengths.mean(), rel=0.05)
