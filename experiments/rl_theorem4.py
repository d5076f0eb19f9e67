"""Theorem 4 of Reimherr, Bharath and Soto (2021): noise in R^D, then projected to a d-dimensional plane.

E|error|² = d(D + 1) sigma² instead of d(d + 1) sigma². The proof says that <U, v>² of a uniform direction U has the law
Beta(1, D - 1); it is Beta(1/2, (D - 1)/2), of the same mean 1/D, so the theorem stands. Theorem 3 prints d(d - 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels
from riemdp.plots.style import BLUE, GREEN, GREY, ORANGE, VERMILION, log_scale
from rl_common import BELOW

if TYPE_CHECKING:
    from harness import Picture

PLANES = (2, 5, 10)  # d
SHOWN = 5  # D in the right panel
RADIUS, RECORDS = 1.0, 100


def noise(dim: int, size: int, seed: int) -> Array:
    """Draws of Laplace noise in R^dim around 0, over its scale."""
    ball = rd.Ball(rd.Euclidean(dim), np.zeros(dim), RADIUS)
    scale = rd.plan(ball, RECORDS, rd.PureDP(1.0))[0].scale
    draws = rd.simulate(np.zeros((RECORDS, dim)), ball, rd.PureDP(1.0), size=size, seed=seed)
    return np.asarray(draws) / scale


def compute(quick: bool, track: Track) -> Results:
    """Squared lengths of the noise that is left in the plane, for every d and D >= d."""
    size = 4000 if quick else 100_000
    ambient = np.array((2, 5, 10, 20, 50) if quick else (2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80))
    squares = np.full((len(PLANES), len(ambient), 2), np.nan)
    for j, dim in enumerate(track(ambient.tolist(), "dimensions")):
        draws = noise(dim, size, seed=dim)
        for i, d in enumerate(PLANES):
            if d <= dim:
                squares[i, j] = mean_and_error((draws[:, :d] ** 2).sum(axis=1))
    direction = noise(SHOWN, size, seed=0)
    shares = (direction[:, 0] / np.linalg.norm(direction, axis=1)) ** 2
    return {"d": PLANES, "D": ambient, "squares": squares, "shares": shares, "mean_share": shares.mean()}


def draw(results: Results) -> Picture:
    """Mean squared errors with two standard errors, and the law of <U, v>²."""
    from scipy.stats import beta

    picture, ((left, right),) = panels(1, 2, 4.2, 3.4)
    log_scale(left.xaxis)
    log_scale(left.yaxis)
    D = results["D"]
    for d, squares, colour in zip(results["d"], results["squares"], (BLUE, VERMILION, GREEN), strict=True):
        kept = d <= D
        curve(left, D[kept], squares[kept, 0], 2 * squares[kept, 1], color=colour, linestyle="none", label=f"d = {d}")
        left.plot(D[kept], d * (D[kept] + 1), color=colour, linewidth=1)
        left.plot(D[kept][[0, -1]], [d * (d + 1)] * 2, color=colour, linewidth=1, linestyle="--")
        left.plot(d, d * (d - 1), "x", color=colour, markersize=7)
    left.plot([], [], color=GREY, linewidth=1, label="d(D + 1)")
    left.plot([], [], color=GREY, linewidth=1, linestyle="--", label="within the plane: d(d + 1)")
    left.plot([], [], "x", color=GREY, label="Theorem 3 as printed: d(d - 1)")
    left.set(title="error in a plane of dimension d", xlabel="ambient dimension D", ylabel="E|error|²/σ²")
    left.legend(**BELOW, ncols=2)
    x = np.linspace(1e-4, 1, 500)
    right.hist(results["shares"], bins=50, range=(0, 1), density=True, color="0.85", label="drawn")
    right.plot(x, beta.pdf(x, 0.5, (SHOWN - 1) / 2), color=BLUE, label="Beta(1/2, (D - 1)/2)")
    right.plot(x, beta.pdf(x, 1, SHOWN - 1), color=ORANGE, linestyle="--", label="as printed: Beta(1, D - 1)")
    right.set(title=f"a direction in R^{SHOWN}: squared coordinate", xlabel="⟨U, v⟩²", ylabel="density", ylim=(0, 8))
    right.legend(**BELOW, ncols=2)
    return picture


FIGURE = Figure("rl_theorem4", "what the ambient dimension costs", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
