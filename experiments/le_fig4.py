"""LE Figure 4: what the chain costs, what its burn-in does, and how tight the radius of the descriptors is.

(a) Processor time per private mean, 500 matrices: a chain of 10,000 to 50,000 steps (a few hundred are timed and
charged in proportion) against one draw of the tangent Gaussian in floats, and a whole release: the mean, exact noise,
its rounding. Lines: the fastest of all runs; bands up to their median.
(b) Mean distance of the chain's state to the true mean over that of the exact law. From a random matrix as geomstats
draws it the chain starts about as far out as it should end, at k = 30 and epsilon = 0.1; from the mean it hardly moves
at all. Dashed: with the acceptance ratio as printed in B.1, from the mean: another law, with far too little noise.
(c) The radius of the ball over the largest distance to its centre that occurs in a class of images.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels, ranged
from le_common import BALLS, CIFAR, FASHION, KMNIST, MNIST, OCT, PATH, random_matrices
from metropolis import chains, laplace
from riemdp.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, log_scale

N, R = 500, 0.25
SIZES = (2, 5, 10, 15, 20, 25, 30)
BURN_INS = (10_000, 30_000, 50_000)
STOPS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 50_000)
SETS = (PATH, OCT, MNIST, KMNIST, CIFAR, FASHION)
CHAIN_COLOURS = {2: SKY, 10: BLUE, 30: PURPLE}
WAYS = {"random start": "-", "start at the mean": ":", "B.1 as printed": "--"}


def compute(quick: bool, track: Track) -> Results:
    """The three panels."""
    sizes, repeats, steps = ((2, 30), 2, 50) if quick else (SIZES, 9, 300)
    stops = [s for s in STOPS if s <= 1000] if quick else STOPS
    times = np.array([_seconds(k, steps, repeats) for k in track(sizes, "times")])  # k, what, (least, least, median)
    results: Results = {"k": sizes, "times": times, "stops": stops, "chains": list(CHAIN_COLOURS)}
    for k, way in track([(k, way) for k in CHAIN_COLOURS for way in WAYS], "burn-in"):
        results[f"{way} {k}"] = _burn_in(k, stops, way)
    names = [f"{images.title}|{name}" for images in SETS for name in images.class_names()]
    members = [(images, name) for images in SETS for name in images.class_names()]
    most = 40 if quick else 3000
    tightness = [_tightness(images.descriptors(name, most)) for images, name in track(members, "radii")]
    results |= {"classes": names, "tightness": np.array(tightness).reshape(-1, 2)}
    return results | _headlines(results)


def _seconds(k: int, steps: int, repeats: int) -> list[list[float]]:
    """(least, least, median) of a chain's step, one draw, and one release."""
    space, rng = rd.SPDLogEuclidean(k), np.random.default_rng(k)
    records, ball = random_matrices(k, N, R, rng), rd.Ball(space, space.origin, math.sqrt(k) * R)
    promise, scale = rd.ApproxDP(0.1, 1e-6), 2 * ball.radius / N / 0.1
    chain = chains(space, laplace(space, space.origin, scale), space.origin, 1, scale)
    tasks: dict[Callable[[], Any], float] = {
        lambda: chain.advance(steps, rng): 1 / steps,
        lambda: space.exp(space.invvecd(scale * rng.standard_normal(space.dim)), space.origin): 1.0,
        lambda: rd.private_mean(records, ball, promise, mechanism="wrapped-gaussian"): 1.0,
    }
    return [_spread(task, unit, repeats) for task, unit in tasks.items()]


def _spread(task: Callable[[], Any], unit: float, repeats: int) -> list[float]:
    """(least, least, median) seconds, after a first run that loads compiled code."""
    task()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        seconds.append(unit * (time.process_time() - start))
    return [min(seconds), min(seconds), float(np.median(seconds))]


def _burn_in(k: int, stops: Sequence[int], way: str) -> Array:
    """(mean, standard error) of the distance to the mean over d, that of the exact law, after so many steps.

    In units of the scale, in R^d, to which the matrices are isometric; steps as in the paper, N(current, I).
    """
    space, rng = rd.Euclidean(k * (k + 1) // 2), np.random.default_rng(k)
    start = _random_start(k, rng) if way == "random start" else np.zeros(space.dim)
    chain = chains(space, laplace(space, space.origin, 1.0), start, max(16, 600 // space.dim), 1.0)
    x, rows = chain.states, []
    for steps in np.diff(stops, prepend=0):
        if way == "B.1 as printed":
            x = _advance_as_printed(x, steps, rng)
        else:
            chain.advance(steps, rng)
            x = chain.states
        rows.append(mean_and_error(np.linalg.norm(x, axis=1) / space.dim))
    return np.array(rows)


def _random_start(k: int, rng: np.random.Generator) -> Array:
    """A random matrix as the paper's library, geomstats, draws it, exp(A + Aᵀ), A uniform on [-1, 1], epsilon = 0.1."""
    a = rng.uniform(-1, 1, (k, k))
    return rd.SPDLogEuclidean(k).vecd(a + a.T) / (2 * math.sqrt(k) * R / N / 0.1)


def _advance_as_printed(x: Array, steps: int, rng: np.random.Generator) -> Array:
    """B.1 (b): accept X with exp(-rho(mean, X)) / exp(-rho(current, X))."""
    for _ in range(steps):
        z = rng.standard_normal(x.shape)
        log_ratio = np.linalg.norm(z, axis=1) - np.linalg.norm(x + z, axis=1)
        x = np.where((np.log(rng.random(len(x))) < log_ratio)[:, None], x + z, x)
    return x


def _tightness(descriptors: Array) -> list[float]:
    """Radius over the largest distance, for the ball as printed and the tight one."""
    balls = [ball_of(descriptors.shape[1]) for ball_of in BALLS.values()]
    return [ball.radius / float(ball.space.dist(descriptors, ball.center).max()) for ball in balls]


def _headlines(results: Results) -> Results:
    step, draw, release = results["times"][-1, :, 0]
    found = {
        "chain of 10,000 steps, seconds, largest k": 10_000 * step,
        "draw of the tangent gaussian, microseconds, largest k": 1e6 * draw,
        "release, milliseconds, largest k": 1e3 * release,
        "chain of 10,000 steps over a draw, largest k": 10_000 * step / draw,
        "steps to within 10 % from the mean, k = 10": _settled(results, 10),
    }
    for way in WAYS:
        found[f"last distance over the exact one, k = 30, {way}"] = results[f"{way} 30"][-1, 0]
    if len(results["tightness"]):
        printed, tight = results["tightness"].T
        name = "radius over the largest distance"
        found |= {f"{name}, least, printed": printed.min(), f"{name}, least, tight": tight.min()}
    return found


def _settled(results: Results, k: int) -> float:
    """The first recorded number of steps from which on the mean distance stays within 10 % of the exact one, or inf."""
    off = np.abs(results[f"start at the mean {k}"][:, 0] - 1) > 0.1
    return float([*results["stops"], math.inf][int(np.nonzero(off)[0].max(initial=-1)) + 1])


def draw(results: Results) -> Picture:
    """Side by side."""
    picture, ((times, burn_in, radii),) = panels(1, 3, width=4.4, height=3.8)
    _draw_times(times, results)
    _draw_burn_in(burn_in, results)
    _draw_radii(radii, results)
    return picture


def _draw_times(ax: Any, results: Results) -> None:
    log_scale(ax.yaxis)
    step, draw, release = results["times"].transpose(1, 0, 2)
    for burn_in, colour in zip(BURN_INS[::-1], (PURPLE, BLUE, SKY), strict=True):
        ranged(ax, results["k"], burn_in * step, color=colour, label=f"chain, {burn_in:,} steps")
    ranged(ax, results["k"], release, color=ORANGE, label="release: mean, exact noise")
    ranged(ax, results["k"], draw, color=GREEN, label="one draw, tangent Gaussian")
    ax.set(xlabel="size k of the matrices", ylabel="processor seconds")
    ax.set_title("(a) time", fontsize=10)
    ax.legend(frameon=False, fontsize=7)


def _draw_burn_in(ax: Any, results: Results) -> None:
    ax.set_xscale("log")
    for k, colour in CHAIN_COLOURS.items():
        ax.plot([], [], color=colour, label=f"k = {k}")
        for way, line in WAYS.items():
            mean, error = results[f"{way} {k}"].T
            curve(ax, results["stops"], mean, 2 * error, color=colour, linestyle=line)
    for way, line in WAYS.items():
        ax.plot([], [], color=GREY, linestyle=line, label=way)
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set(xlabel="steps of the chain", ylabel="distance over the exact law's", ylim=(-0.03, 2.1))
    ax.set_title("(b) burn-in", fontsize=10)
    ax.legend(frameon=False, fontsize=7, loc="upper left")


def _draw_radii(ax: Any, results: Results) -> None:
    titles = [key.split("|")[0] for key in results["classes"]]
    sets = list(dict.fromkeys(titles))
    places = np.array([sets.index(title) for title in titles])
    styles = (("as printed", VERMILION, "o"), ("tight", GREEN, "s"))
    for (label, colour, marker), ratios in zip(styles, np.reshape(results["tightness"], (-1, 2)).T, strict=True):
        shift = 0.12 if label == "tight" else -0.12
        ax.plot(places + shift, ratios, marker, color=colour, markersize=5, alpha=0.7, label=f"ball {label}")
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set(xticks=range(len(sets)), ylabel="radius over largest distance", ylim=(0, None))
    ax.set_xticklabels(sets, rotation=30, ha="right", fontsize=8)
    ax.set_title("(c) radius, a point per class" if sets else "(c) radius: no images at hand", fontsize=10)
    ax.legend(frameon=False, fontsize=7)


FIGURE = Figure(
    "le_fig4",
    "LE Figure 4, time, burn-in and radius",
    compute,
    draw,
    data=tuple(images.file for images in SETS),
)

if __name__ == "__main__":
    main(FIGURE)
