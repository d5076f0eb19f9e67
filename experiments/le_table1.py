"""LE Table 1, with Theorems 2 and 4: expected utilities, the exact law of the error, and the analytic calibration.

Left: mean squared distance against the size k (n = 500, r = 1, epsilon = 0.1, delta = 1e-6): k⁴ for the Riemannian
Laplace, k² for the tangent Gaussian; Theorem 4 as printed is half of what its own appendix proves and of what happens.
Middle: the squared distance over sigma² follows a chi-square law with d degrees of freedom.
Right: the condition of Theorem 2.2. With the sign as printed the left side is never positive, so that no noise at all
would be private; with the right sign it is the least delta.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from harness import Array, Figure, Results, Track, main, mean_and_error, noise_scale, panels
from le_common import errors
from riemdp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, log_scale

N, RADIUS, PROMISE = 500, 1.0, rd.ApproxDP(0.1, 1e-6)
SIZES = (2, 3, 5, 8, 12, 18, 26)
LAW_SIZE = 5
SHOWN = rd.ApproxDP(1.0, 1e-5)


def compute(quick: bool, track: Track) -> Results:
    """Measured mean squares with their errors, a sample of the law, and both sides of the condition."""
    sizes, draws = ((2, 8, 26), 200) if quick else (SIZES, 2000)
    squares = np.array([[mean_and_error(e**2) for e in _errors(k, draws)] for k in track(sizes, "sizes")])
    _, sample, _ = _errors(LAW_SIZE, 500 if quick else 5000)
    ratios = np.geomspace(0.3, 30, 60)
    results = {"k": sizes, "squares": squares, "sample": np.sort(sample**2), "ratio": ratios}
    right = [rd.GDP(1 / ratio).to_approx(epsilon=SHOWN.epsilon).delta for ratio in ratios]
    return results | {"right": right, "printed": _as_printed(ratios)} | _headlines(np.array(sizes), squares, sample)


def _errors(k: int, draws: int) -> list[Array]:
    """Riemannian Laplace, tangent Gaussian, classical and analytic."""
    space = rd.Euclidean(k * (k + 1) // 2)  # isometric to the matrices
    ball, records = rd.Ball(space, space.origin, RADIUS), np.zeros((N, space.dim))
    laplace = errors(records, ball, rd.PureDP(PROMISE.epsilon), "riemannian-laplace", draws)
    kinds = ("classical", "analytic")
    return [laplace, *(errors(records, ball, PROMISE, "wrapped-gaussian", draws, calibration=kind) for kind in kinds)]


def _as_printed(ratio: Array) -> Array:
    """Left side of the printed condition: (1 - e^epsilon) Phi(1/(2 s) - epsilon s), s = sigma over Delta."""
    from scipy.special import ndtr

    return np.asarray((1 - math.exp(SHOWN.epsilon)) * ndtr(0.5 / ratio - SHOWN.epsilon * ratio))


def _scales() -> list[float]:
    delta = 2 * RADIUS / N
    laplace = noise_scale("riemannian-laplace", rd.PureDP(PROMISE.epsilon), delta)
    return [laplace, *(noise_scale("wrapped-gaussian", PROMISE, delta, kind) for kind in ("classical", "analytic"))]


def _headlines(k: Array, squares: Array, sample: Array) -> Results:
    """Slopes between the two largest sizes, Theorem 4 against what is measured, and the distance to the law."""
    from scipy.stats import chi2, kstest

    slopes = np.log(squares[-1, :, 0] / squares[-2, :, 0]) / math.log(k[-1] / k[-2])
    dims = k * (k + 1) / 2
    stated = 4 * RADIUS**2 * math.log(1.25 / PROMISE.delta) * dims / (N * PROMISE.epsilon) ** 2
    law = kstest((sample / _scales()[1]) ** 2, chi2(LAW_SIZE * (LAW_SIZE + 1) // 2).cdf)
    return {
        "power of k, laplace": slopes[0],
        "power of k, tangent gaussian": slopes[1],
        "measured over theorem 4 as printed": float(np.mean(squares[:, 1, 0] / stated)),
        "p-value of the chi-square law": float(law.pvalue),
        "largest left side of the printed condition": float(_as_printed(np.geomspace(1e-3, 30, 1000)).max()),
    }


def draw(results: Results) -> Picture:
    """Three panels."""
    picture, ((utility, law, condition),) = panels(1, 3, width=4.4, height=3.8)
    _draw_utility(utility, results)
    _draw_law(law, results["sample"] / _scales()[1] ** 2)
    _draw_condition(condition, results)
    return picture


def _draw_utility(ax: Any, results: Results) -> None:
    ax.set_xscale("log")
    log_scale(ax.yaxis)
    grid = np.geomspace(2, 30, 50)
    dims = grid * (grid + 1) / 2
    laplace, classical, analytic = _scales()
    for label, values, colour in (
        ("Riemannian Laplace: σ²d(d + 1)", laplace**2 * dims * (dims + 1), BLUE),
        ("tangent Gaussian, classical: σ²d", classical**2 * dims, ORANGE),
        ("tangent Gaussian, analytic: σ²d", analytic**2 * dims, GREEN),
    ):
        ax.plot(grid, values, color=colour, linewidth=1.2, label=label)
    ax.plot(grid, classical**2 * dims / 2, color=VERMILION, linestyle="--", linewidth=1.2, label="Theorem 4 as printed")
    for column, colour in enumerate((BLUE, ORANGE, GREEN)):
        mean, error = results["squares"][:, column].T
        ax.errorbar(results["k"], mean, 2 * error, fmt="o", color=colour, markersize=4, capsize=2)
    ax.set(xlabel="size k of the matrices", ylabel="mean squared distance", xticks=(2, 5, 10, 20, 30))
    ax.set_xticklabels(["2", "5", "10", "20", "30"])
    ax.minorticks_off()
    ax.set_title("expected utility: lines exact, points measured", fontsize=10)
    ax.legend(frameon=False, fontsize=7)


def _draw_law(ax: Any, values: Array) -> None:
    from scipy.stats import chi2

    dim, share = LAW_SIZE * (LAW_SIZE + 1) // 2, np.arange(1, len(values) + 1) / len(values)
    band = 1.36 / math.sqrt(len(values))  # of Kolmogorov and Smirnov, 95 %
    grid = np.linspace(0, values.max(), 200)
    ax.fill_between(values, share - band, share + band, color=ORANGE, alpha=0.3, linewidth=0, label="95 % band")
    ax.step(values, share, color=ORANGE, linewidth=1.4, label=f"{len(values):,} simulated releases")
    ax.plot(grid, chi2(dim).cdf(grid), color=BLACK, linewidth=0.9, linestyle="--", label=f"χ² with {dim} degrees")
    ax.set(xlabel="squared distance over σ²", ylabel="share below")
    ax.set_title(f"exact law of the error, k = {LAW_SIZE}", fontsize=10)
    ax.legend(frameon=False, fontsize=7)


def _draw_condition(ax: Any, results: Results) -> None:
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1e-7)
    ax.plot(results["ratio"], results["right"], color=GREEN, label="right sign: the least δ")
    ax.plot(results["ratio"], results["printed"], color=VERMILION, linestyle="--", label="as printed: below any δ")
    ax.axhline(SHOWN.delta, color=GREY, linewidth=0.8)
    sigma = noise_scale("wrapped-gaussian", SHOWN, 1.0)
    ax.plot([sigma], [SHOWN.delta], "o", color=GREEN, markersize=5)
    ax.annotate(f"δ = 10⁻⁵ needs σ = {sigma:.2f}Δ", (sigma, SHOWN.delta), (3.6, 1e-3), fontsize=8)
    ax.set(xlabel="σ over Δ", ylabel="left side of the condition, ε = 1")
    ax.set_title("Theorem 2.2", fontsize=10)
    ax.legend(frameon=False, fontsize=7, loc="lower right")


FIGURE = Figure("le_table1", "LE Table 1 and Theorems 2 and 4", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
