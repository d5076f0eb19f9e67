"""EW Figure 1: wrapped mechanisms against the Riemannian Laplace on simulated matrices, d = 3, 6, 15.

40 matrices in a ball of radius 1.5 around the identity. All draws are exact; where the Riemannian Laplace law does not
exist (grey; the paper speaks of unstable chains) there is nothing to draw. Last column: what a chain does there, and
Theorem 4.1 where the footpoint is the mean. Bands: two standard errors over data sets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from ew_common import RADIUS, N, compare_all, dimension, draw_comparison
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels
from metropolis import chains, laplace
from riemdp.plots.style import BLACK, GREEN, ORANGE, PURPLE, SKY, log_scale

SIZES = (2, 3, 5)
CHAIN_EPSILONS = (0.1, 0.2)  # 3 x 3 matrices: past the limit, and below it
STOPS = (100, 200, 500, 1000, 2000, 5000, 10_000)
BOUND_SIZES = (1, 2, 3, 4, 5, 6, 8)


def compute(quick: bool, track: Track) -> Results:
    """The comparison, the chain and the bound."""
    results = compare_all(SIZES, quick, track)
    stops = STOPS[:3] if quick else STOPS
    results["stops"] = stops
    for epsilon in track(CHAIN_EPSILONS, "chains"):
        results[f"chain {epsilon}"] = _chain(2 * RADIUS / N / epsilon, stops, 8 if quick else 32)
    law = rd.RiemannianLaplace(rd.SPDAffine(3), np.eye(3), 2 * RADIUS / N / CHAIN_EPSILONS[1])
    results["exact"] = mean_and_error(rd.SPDAffine(3).dist(law.sample(2000, 0), np.eye(3)))
    results["bound"] = [_at_the_mean(m, 200 if quick else 4000) for m in BOUND_SIZES]
    grown = np.array(results[f"chain {CHAIN_EPSILONS[0]}"])[:, 0]
    return results | {"chain without a law, last over first": grown[-1] / grown[0]}


def _chain(scale: float, stops: tuple[int, ...], number: int) -> Array:
    """(mean, standard error) of the distance to the centre after so many steps, 3 x 3 matrices."""
    space, rng, done, rows = rd.SPDAffine(3), np.random.default_rng(0), 0, []
    chain = chains(space, laplace(space, space.origin, scale), space.origin, number, scale)
    with np.errstate(all="ignore"):  # without a law, matrices may leave the range of floats
        chain.tune(100, rng)
        for stop in stops:
            chain.advance(stop - done, rng)
            rows.append(mean_and_error(space.dist(chain.states, space.origin)))
            done = stop
    return np.array(rows)


def _at_the_mean(m: int, size: int) -> tuple[float, float]:
    """Mean distance over the scale of wrapped Gaussian noise whose footpoint is the mean, and its error."""
    space = rd.SPDAffine(m)
    records, ball = np.broadcast_to(space.origin, (N, m, m)), rd.Ball(space, space.origin, RADIUS)
    draws = rd.simulate(records, ball, rd.GDP(1.0), mechanism="wrapped-gaussian", size=size, seed=m)
    scale = next(row.scale for row in rd.plan(ball, N, rd.GDP(1.0)) if row.mechanism == "wrapped-gaussian")
    return mean_and_error(space.dist(draws, space.origin) / scale)


def draw(results: Results) -> Picture:
    """Three columns of the paper, and one of corrections."""
    picture, axes = panels(2, 4, width=3.2, height=3.0)
    draw_comparison(axes, results)
    _draw_chain(axes[0, 3], results)
    _draw_bound(axes[1, 3], results)
    handles, labels = axes[0, 2].get_legend_handles_labels()
    handles, labels = handles + axes[1, 2].get_legend_handles_labels()[0][-1:], [*labels, "wrapped Gaussian"]
    picture.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return picture


def _draw_chain(ax: Any, results: Results) -> None:
    log_scale(ax.xaxis)
    log_scale(ax.yaxis)
    for epsilon, colour in zip(CHAIN_EPSILONS, (PURPLE, SKY), strict=True):
        mean, error = np.array(results[f"chain {epsilon}"]).T
        kind = "there is no law" if epsilon == CHAIN_EPSILONS[0] else "law exists"
        curve(ax, results["stops"], mean, 2 * error, color=colour, label=f"chain, ε = {epsilon}: {kind}")
    ax.axhline(results["exact"][0], color=BLACK, linewidth=0.8, linestyle="--", label="exact law, ε = 0.2")
    ax.set(xlabel="steps of the chain", ylabel="distance to the mean")
    ax.set_title("Riemannian Laplace chain, d = 6", fontsize=10)
    ax.legend(frameon=False, fontsize=7)


def _draw_bound(ax: Any, results: Results) -> None:
    dims = np.array([dimension(m) for m in BOUND_SIZES], dtype=float)
    grid = np.linspace(1, dims[-1], 100)
    right = [math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2)) for d in grid]
    mean, error = np.array(results["bound"]).T
    ax.errorbar(dims, mean, 2 * error, fmt="o", color=GREEN, markersize=4, capsize=2)
    ax.plot(grid, right, color=BLACK, linewidth=0.9, label="Theorem 4.1, mended")
    ax.axhline(math.sqrt(math.pi / 2), color=ORANGE, linestyle="--", linewidth=1.2, label="Theorem 4.1 as printed")
    ax.set(xlabel="dimension d", ylabel="mean distance over σ", ylim=(0, None))
    ax.set_title("footpoint = mean", fontsize=10)
    ax.legend(frameon=False, fontsize=7)


FIGURE = Figure("ew_fig1", "EW Figure 1, simulated matrices", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
