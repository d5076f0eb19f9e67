"""Example 1 of Reimherr, Bharath and Soto (2021): on the circle, one record can move the mean by nearly pi.

n - 1 records at equal distances and one more on top of one of them. For even n the mean is where the double record is;
moving it moves the mean along. The paper says by up to pi; n - 1 is odd, so it is pi - pi/(n - 1).
For odd n the example has two means. Records within a ball of radius r < pi/2 behave: 2r/n, as on a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, panels
from riemdp.plots.style import BLUE, GREEN, GREY, VERMILION, log_scale
from rl_common import BELOW

if TYPE_CHECKING:
    from harness import Picture

SIZES = (4, 6, 10, 16, 26, 42, 68, 110, 178, 288)
RADIUS = 1.2
SHOWN = 10  # records in the left panel


def wrapped(angle: Array) -> Array:
    """In (-pi, pi]."""
    return np.pi - np.mod(np.pi - angle, 2 * np.pi)


def variance(angles: Array, places: Array) -> Array:
    """Fréchet function 1/(2n) sum rho² at each place."""
    return np.asarray((wrapped(angles - places[:, None]) ** 2).mean(axis=1) / 2)


def circle_means(angles: Array) -> Array:
    """All global minima: between two antipodes of records, the function is a parabola."""
    cuts = np.sort(np.mod(angles + np.pi, 2 * np.pi))
    inner = (cuts + np.append(cuts[1:], cuts[0] + 2 * np.pi)) / 2
    places = wrapped(inner + wrapped(angles - inner[:, None]).mean(axis=1))
    heights = variance(angles, places)
    return np.unique(np.round(np.mod(places[heights < heights.min() + 1e-12], 2 * np.pi), 9))


def example(n: int, double: int) -> Array:
    """n - 1 equidistant angles, and one of them again."""
    even = 2 * np.pi * np.arange(n - 1) / (n - 1)
    return np.append(even, even[double])


def jump(n: int) -> float:
    """How far the mean moves when the double record goes to the other side."""
    first, second = (circle_means(example(n, double))[0] for double in (0, (n - 1) // 2))
    return float(abs(wrapped(np.array(second - first))))


def jump_in_arc(n: int, rng: np.random.Generator) -> float:
    """The same for random records within RADIUS of a point, one of which is drawn again."""
    first = RADIUS * rng.uniform(-1, 1, n)
    second = np.append(first[1:], RADIUS * rng.uniform(-1, 1))
    return float(abs(wrapped(circle_means(first)[0] - circle_means(second)[0])))


def worst_in_arc(n: int) -> float:
    """One record of many at an end of the arc goes to the other."""
    first = np.full(n, RADIUS)
    return float(abs(wrapped(circle_means(first)[0] - circle_means(np.append(first[1:], -RADIUS))[0])))


def on_circle(angles: Array) -> Array:
    """As points of R²."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def library_agrees() -> float:
    """Distance between the library's certified mean of records in an arc and the one found here."""
    angles = RADIUS * np.random.default_rng(1).uniform(-1, 1, 50)
    mean = rd.frechet_mean(on_circle(angles), rd.Sphere(1)).point
    return float(np.linalg.norm(mean - on_circle(circle_means(angles)[0])))


def compute(quick: bool, track: Track) -> Results:
    """Jumps of the mean, and the Fréchet function before and after one."""
    rng, repeats = np.random.default_rng(0), 20 if quick else 200
    sizes: Sequence[int] = SIZES[: 8 if quick else None]
    arcs = [[jump_in_arc(n, rng) for _ in range(repeats)] for n in track(sizes, "records in an arc")]
    places = np.linspace(0, 2 * np.pi, 721)
    return {
        "n": sizes,
        "jump": [jump(n) for n in sizes],
        "arc": arcs,
        "arc_worst": [worst_in_arc(n) for n in sizes],
        "places": places,
        "before": variance(example(SHOWN, 0), places),
        "after": variance(example(SHOWN, (SHOWN - 1) // 2), places),
        "means_for_odd_n": len(circle_means(example(SHOWN + 1, 0))),
        "library_difference": library_agrees(),
    }


def draw(results: Results) -> Picture:
    """The Fréchet function, and jumps against n."""
    picture, ((left, right),) = panels(1, 2, 4.2, 3.4)
    for name, colour, double in (("before", BLUE, 0), ("after", VERMILION, (SHOWN - 1) // 2)):
        left.plot(results["places"], results[name], color=colour, label=f"{name}; double record at the mark")
        left.plot(2 * np.pi * double / (SHOWN - 1), results[name].min(), "v", color=colour, markersize=8)
    left.set(title=f"n = {SHOWN}: two neighbouring data sets", xlabel="place on the circle", ylabel="Fréchet function")
    left.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
    left.legend(**BELOW)
    n = results["n"]
    right.axhline(math.pi, color=GREY, linestyle="--", linewidth=1, label="as printed: π")
    right.plot(n, results["jump"], "o-", color=VERMILION, markersize=4, label="whole circle: π - π/(n - 1)")
    right.plot(n, results["arc_worst"], "s-", color=GREEN, markersize=4, label=f"arc, r = {RADIUS}: 2r/n, attained")
    low, middle, high = np.quantile(results["arc"], [0.05, 0.5, 0.95], axis=1)
    curve(right, n, middle, 0, color=BLUE, label="same arc, random records, 5 % to 95 %")
    right.fill_between(n, low, high, color=BLUE, alpha=0.2, linewidth=0)
    log_scale(right.xaxis)
    log_scale(right.yaxis)
    right.set(title="how far one record moves the mean", xlabel="records", ylabel="distance", ylim=(1e-4, 8))
    right.legend(**BELOW, ncols=2)
    return picture


FIGURE = Figure("rl_example1", "one record moves the mean on the circle", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
