"""Figure 1 of the supplement of Reimherr, Bharath and Soto (2021): how long log_y(x) - log_y(x') can be on the sphere.

x, x', y in a ball of radius r. The paper compares 2r, its bound 2r(2 - h), and a search on a grid of the rim. The
longest chord S(r) is known (docs/proofs/mean_sensitivity.md, section 6) and what the search finds. Right: what
follows for the mean, n times its sensitivity; the papers' assumption ends at pi/4, the mean is unique up to pi/2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, main, panels
from riemdp.neighbours import worst_neighbours
from riemdp.plots.style import BLUE, GREEN, GREY, ORANGE, VERMILION, log_scale
from riemdp.statistics.sensitivity import kng_sensitivity, mean_sensitivity, mean_sensitivity_as_printed
from rl_common import BELOW

if TYPE_CHECKING:
    from harness import Picture

NORTH = np.array([0.0, 0.0, 1.0])
RECORDS = 1001


def rim(radius: float, points: int) -> Array:
    """Evenly spread points at this distance from the north pole."""
    turn = 2 * np.pi * np.arange(points) / points
    flat = math.sin(radius) * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.column_stack([flat, np.full(points, math.cos(radius))])


def longest_chord(radius: float, points: int) -> float:
    """The paper's search: one point of the rim as the base, all pairs of the others."""
    grid, space = rim(radius, points), rd.Sphere(2)
    logs = space.log(grid, grid[0])
    return float(np.linalg.norm(logs[:, None] - logs[None], axis=-1).max())


def moved(radius: float) -> float:
    """n times the distance that one record of n = 1001 moves the mean, of two clusters on the rim."""
    first, second = worst_neighbours(rd.Ball(rd.Sphere(2), NORTH, radius), RECORDS)["clusters"]
    means = [rd.frechet_mean(records, rd.Sphere(2), tol=1e-12).point for records in (first, second)]
    return RECORDS * float(rd.Sphere(2).dist(*means))


def compute(quick: bool, track: Track) -> Results:
    """Bounds and searches over radii."""
    small = np.linspace(0.02, math.pi / 4 - 0.01, 20 if quick else 60)
    large, fine = np.linspace(0.05, 1.4, 10 if quick else 28), np.linspace(0.02, 1.4, 100)
    chords = [longest_chord(r, 120 if quick else 720) for r in track(small.tolist(), "grids")]
    return {
        "radius": small,
        "search": chords,
        "chord": [kng_sensitivity(r, 1, 1.0, math.pi) for r in small],
        "wide_radius": large,
        "moved": [moved(r) for r in track(large.tolist(), "means")],
        "fine_radius": fine,
        "sharp": [mean_sensitivity(r, 1, 1.0, math.pi) for r in fine],
        "printed": [mean_sensitivity_as_printed(r, 1, 1.0) for r in small],
        "printed_at_0_75": mean_sensitivity_as_printed(0.75, 1, 1.0),
        "sharp_at_0_75": mean_sensitivity(0.75, 1, 1.0, math.pi),
    }


def draw(results: Results) -> Picture:
    """The paper's picture, and the mean's."""
    picture, ((left, right),) = panels(1, 2, 4.2, 3.8)
    r, wide = results["radius"], results["wide_radius"]
    h = 2 * r / np.tan(2 * r)
    left.plot(r, 2 * r, color=BLUE, label="2r")
    left.plot(r, 2 * r * (2 - h), color=VERMILION, label="as printed: 2r(2 - h)")
    left.plot(r, 2 * r * 2 * r / np.sin(2 * r), color=GREY, linestyle=":", label="2r · 2r/sin 2r")
    left.plot(r, results["search"], color=ORANGE, linewidth=4, alpha=0.5, label="longest chord, by search")
    left.plot(r, results["chord"], color=GREEN, linestyle="--", label="S(r), proved")
    left.set(title="longest log x - log x'", xlabel="radius of the ball", ylabel="length")
    log_scale(right.yaxis)
    right.plot(r, results["printed"], color=VERMILION, label="as printed: 2r(2 - h)/h")
    right.plot(r, results["chord"] / h, color=ORANGE, label="supplement: S(r)/h")
    right.plot(results["fine_radius"], results["sharp"], color=GREEN, linestyle="--", label="proved: 2 tan r")
    right.plot(wide, results["moved"], "D", color=GREEN, markersize=3, label=f"attained, n = {RECORDS}")
    right.axvline(math.pi / 4, color=GREY, linewidth=0.8)
    right.text(math.pi / 4 + 0.02, 0.15, "papers' assumption\nends at π/4", fontsize=8, color=GREY)
    right.set(title="n times the mean's sensitivity", xlabel="radius of the ball", ylabel="distance", ylim=(0.08, 60))
    for ax in (left, right):
        ax.legend(**BELOW, ncols=2)
    return picture


FIGURE = Figure("rl_supp_fig1", "sensitivity on the sphere against the radius", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
