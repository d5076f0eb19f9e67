"""EW Table 1: processor time per draw, given the mean, of a chain and of the wrapped mechanisms, d = 3, 6, 15.

A chain takes 10,000 steps; a few hundred are timed and charged in proportion. Also: an exact draw of the same
Riemannian Laplace law, and a whole release (the mean of 40 matrices, exact noise, its rounding). Filled: here, the
fastest of all repeats, with a bar up to their median. Open: the paper's own figures, R on another machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from ew_common import RADIUS, N, dimension, in_ball
from harness import Figure, Results, Track, main, panels
from metropolis import chains, laplace
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLUE, GREEN, GREY, ORANGE, VERMILION, log_scale

SIZES = (2, 3, 5)
STEPS = 10_000
STYLES = {
    "chain of 10,000 steps": (BLUE, "^"),
    "Riemannian Laplace, exact draw": (GREY, "D"),
    "wrapped Laplace, draw": (VERMILION, "o"),
    "wrapped Gaussian, draw": (GREEN, "s"),
    "wrapped Gaussian, whole release": (ORANGE, "v"),
}
PAPER = {
    "chain of 10,000 steps": (1.05, 1.15, 1.54),
    "wrapped Laplace, draw": (3.61e-3, 3.62e-3, 4.06e-3),
    "wrapped Gaussian, draw": (3.47e-3, 3.53e-3, 3.78e-3),
}


def compute(quick: bool, track: Track) -> Results:
    """Seconds by dimension, contestant and repeat; ratios of the fastest runs."""
    steps, repeats = (50, 5) if quick else (500, 20)
    times = np.array([_seconds(m, steps, repeats) for m in track(SIZES, "dimensions")])
    results: Results = {"d": [dimension(m) for m in SIZES], "seconds per draw": times}
    for i, d in enumerate(results["d"]):
        chain, exact, _, gaussian, release = times[i].min(axis=1)
        results[f"d = {d}: chain over wrapped gaussian"] = chain / gaussian
        results[f"d = {d}: chain over exact riemannian laplace"] = chain / exact
        results[f"d = {d}: chain over whole release"] = chain / release
    return results


def _seconds(m: int, steps: int, repeats: int) -> list[list[float]]:
    """All contestants in turns. Processor time: on a busy machine long tasks have to wait and short ones do not."""
    seconds: dict[str, list[float]] = {name: [] for name in STYLES}
    tasks = _contestants(m, steps)
    for turn in range(repeats + 1):  # the first one loads compiled code
        for name, task in tasks.items():
            start = time.process_time()
            task()
            unit = STEPS / steps if name.startswith("chain") else 1.0
            seconds[name] += [unit * (time.process_time() - start)] if turn else []
    return list(seconds.values())


def _contestants(m: int, steps: int) -> dict[str, Callable[[], Any]]:
    """In the order of STYLES; epsilon = mu = 1, the footpoint is the centre of the ball."""
    space, rng = rd.SPDAffine(m), np.random.default_rng(m)
    records, ball = in_ball(space, N, rng), rd.Ball(space, space.origin, RADIUS)
    mean, scale = rd.frechet_mean(records, space).point, 2 * RADIUS / N
    chain = chains(space, laplace(space, mean, scale), mean, 1, scale)

    def wrapped(noise: Callable[[], Any]) -> Callable[[], Any]:
        def draw() -> Any:
            coords = space.coordinates(space.log(mean, space.origin), space.origin) + noise()
            return space.exp(space.from_coordinates(coords, space.origin), space.origin)

        return draw

    def laplace_noise() -> Any:
        normal = rng.standard_normal(space.dim)
        return scale * rng.standard_gamma(space.dim) * normal / np.linalg.norm(normal)

    tasks = (
        lambda: chain.advance(steps, rng),
        lambda: rd.RiemannianLaplace(space, mean, scale).sample(1, rng),
        wrapped(laplace_noise),
        wrapped(lambda: scale * rng.standard_normal(space.dim)),
        lambda: rd.private_mean(records, ball, rd.GDP(1.0), mechanism="wrapped-gaussian"),
    )
    return dict(zip(STYLES, tasks, strict=True))


def draw(results: Results) -> Picture:
    """Points with error bars, logarithmic."""
    picture, ((ax,),) = panels(1, 1, width=7.2, height=4.4)
    log_scale(ax.yaxis)
    places = np.arange(len(SIZES))
    for column, (name, (colour, marker)) in enumerate(STYLES.items()):
        repeats = results["seconds per draw"][:, column]
        best = repeats.min(axis=1)
        spread = [np.zeros(len(best)), np.median(repeats, axis=1) - best]
        at = places + 0.13 * (column - 2)
        ax.errorbar(at, best, spread, fmt=marker, color=colour, markersize=6, capsize=3, label=name)
        if name in PAPER:
            ax.plot(at + 0.05, PAPER[name], marker, color=colour, markersize=6, mfc="none")
    ax.set(xticks=places, xticklabels=[f"d = {d}" for d in results["d"]], ylabel="processor seconds per draw")
    ax.set_title("filled: here, fastest run, bar to the median; open: as printed", fontsize=10)
    legend(picture, 2)
    return picture


FIGURE = Figure("ew_table1", "EW Table 1, times", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
