"""LE Figure 1: errors on simulated matrices, against their size k and epsilon.

500 matrices within sqrt(k)/4 of the identity. Top: Riemannian Laplace and the tangent Gaussian, classical and
analytic, delta = 1e-6. Middle: the analytic one for delta = 1e-7 to 1e-9. Bottom, in Frobenius norm: the extrinsic
Gaussian with the printed sensitivity 2(e^r - 1)/n, which is too small for the Fréchet mean (*not private*), and with
the right one, 2 r e^r/n. Bands hold 95 % of single releases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from harness import Array, Figure, Results, Track, main, mean_and_range, noise_scale, panels, ranged
from le_common import errors, flattened, random_matrices
from riemdp.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, log_scale

N, R, DELTA = 500, 0.25, 1e-6
EPSILONS = (0.1, 0.2, 0.3, 0.4)
SIZES = (2, 5, 10, 15, 20, 25, 30)

TOP = {
    "Riemannian Laplace": {"color": BLUE},
    "tangent Gaussian, classical": {"color": ORANGE},
    "tangent Gaussian, analytic": {"color": GREEN},
}
MIDDLE = {1e-9: {"color": PURPLE}, 1e-8: {"color": SKY}, 1e-7: {"color": GREEN, "linestyle": "--"}}
BOTTOM = {
    "extrinsic Gaussian, right constant": {"color": VERMILION},
    "extrinsic Gaussian, as printed (not private)": {"color": GREY, "linestyle": "--"},
    "tangent Gaussian, analytic": {"color": GREEN},
}


def compute(quick: bool, track: Track) -> Results:
    """(mean, range) of the errors, by row of the figure, ranged, epsilon and k."""
    sizes, draws = ((2, 30), 60) if quick else (SIZES, 400)
    cells = np.array([_errors(k, draws) for k in track(sizes, "sizes")])  # k, epsilon, row, ranged, mean and range
    top, middle, bottom = cells.transpose(2, 3, 1, 0, 4)
    return {"k": sizes, "top": top, "middle": middle, "bottom": bottom} | _headlines(top, middle, bottom)


def _errors(k: int, size: int) -> list[Any]:
    """For every epsilon, the three curves of each row. Noise is added to vecd of logarithms, in R^d."""
    space = rd.SPDLogEuclidean(k)
    public = rd.Ball(space, space.origin, math.sqrt(k) * R)
    coords, ball = flattened(random_matrices(k, N, R, np.random.default_rng(k)), public)
    mean = coords.mean(axis=0)

    def distances(guarantee: rd.Guarantee, mechanism: str = "wrapped-gaussian", **how: Any) -> Array:
        return errors(coords, ball, guarantee, mechanism, size, **how)

    def cell(epsilon: float) -> list[list[Array]]:
        promise = rd.ApproxDP(epsilon, DELTA)
        matrices = space.invvecd(np.vstack([mean, rd.simulate(coords, ball, promise, size=size, seed=0)]))
        matrices = space.exp(matrices, space.origin)
        laplace = distances(rd.PureDP(epsilon), "riemannian-laplace")
        extrinsic = [_extrinsic(sensitivity, promise, space.dim, size) for sensitivity in _ambient(ball.radius)]
        return [
            [laplace, distances(promise, calibration="classical"), distances(promise)],
            [distances(rd.ApproxDP(epsilon, delta)) for delta in MIDDLE],
            [*extrinsic, np.linalg.norm(matrices[1:] - matrices[0], axis=(1, 2))],
        ]

    return [[[mean_and_range(e) for e in row] for row in cell(epsilon)] for epsilon in EPSILONS]


def _ambient(r: float) -> tuple[float, float]:
    """Sensitivities of the mean in Frobenius norm: right, and as printed."""
    return 2 * r * math.exp(r) / N, 2 * (math.exp(r) - 1) / N


def _extrinsic(sensitivity: float, promise: rd.ApproxDP, dim: int, size: int) -> Array:
    """Frobenius norms of the noise: the paper leaves the noisy matrix as it is, positive definite or not."""
    normal = np.random.default_rng(dim).standard_normal((size, dim))
    return noise_scale("wrapped-gaussian", promise, sensitivity) * np.linalg.norm(normal, axis=1)


def _headlines(top: Array, middle: Array, bottom: Array) -> Results:
    """At the largest k: ratios of mean errors, (least, most) over epsilon."""
    laplace, classical, analytic = top[:, :, -1, 0]
    right, printed, tangent = bottom[:, :, -1, 0]
    return {
        "laplace over analytic, distance, least": (laplace / analytic).min(),
        "laplace over analytic, distance, most": (laplace / analytic).max(),
        "laplace over analytic, squared, least": (laplace / analytic).min() ** 2,
        "laplace over analytic, squared, most": (laplace / analytic).max() ** 2,
        "laplace over classical, distance, epsilon 0.1": laplace[0] / classical[0],
        "classical over analytic, least": (top[1, ..., 0] / top[2, ..., 0]).min(),
        "delta 1e-9 over 1e-7, most": (middle[0, ..., 0] / middle[2, ..., 0]).max(),
        "printed extrinsic over tangent, least": (printed / tangent).min(),
        "right extrinsic over tangent, least": (right / tangent).min(),
    }


def draw(results: Results) -> Picture:
    """Three rows, a column per epsilon."""
    picture, axes = panels(3, 4, width=3.1, height=2.6, sharey="row")
    rows = [
        (TOP, results["top"], "distance to the mean"),
        ({f"tangent Gaussian, δ = {d:g}": s for d, s in MIDDLE.items()}, results["middle"], "distance to the mean"),
        (BOTTOM, results["bottom"], "Frobenius distance"),
    ]
    for (styles, values, label), row in zip(rows, axes, strict=True):
        for column, ax in enumerate(row):
            log_scale(ax.yaxis)
            for (name, style), curves in zip(styles.items(), values, strict=True):
                ranged(ax, results["k"], curves[column], label=name, **style)
        row[0].set_ylabel(label)
        row[0].legend(frameon=False, fontsize=7, loc="lower right")
    for ax, epsilon in zip(axes[0], EPSILONS, strict=True):
        ax.set_title(f"ε = {epsilon}", fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("size k of the matrices")
    return picture


FIGURE = Figure("le_fig1", "LE Figure 1, simulated matrices", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
