"""Figure 1 of Reimherr, Bharath and Soto (2021): Riemannian Laplace against noise in the ambient space.

Sensitivity and error against the number of records, on P(2) and S² (rl_common.py). Three sets of constants, times n:

- as printed: intrinsic 2r(2 - h)/h; extrinsic 2(e^r - 1) on P(2), too small for the Fréchet mean, hence *not private*;
- supplement: on S² the paper's simulations replace 2r(2 - h) by the longest chord found on a grid, S(r): S(r)/h;
- proved: 2r and 2 r e^r on P(2), 2 tan r and 2 sin r on S².
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels
from riemdp.neighbours import worst_neighbours
from riemdp.plots.style import BLUE, GREEN, GREY, SKY, VERMILION, log_scale
from riemdp.statistics.sensitivity import kng_sensitivity, mean_sensitivity, mean_sensitivity_as_printed
from rl_common import BELOW, EPSILON, P2, S2, Example, laplace_in_space, share_not_positive

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

SIZES = (10, 20, 30, 40, 60, 100, 200)
H = math.pi / 4 / math.tan(math.pi / 4)  # h at r = pi/8 on S²

# By example and label: sensitivities times n, intrinsic and extrinsic.
CONSTANTS: dict[str, dict[str, tuple[float, float]]] = {
    "P2": {
        "printed": (2 * P2.radius, 2 * (math.exp(P2.radius) - 1)),
        "proved": (2 * P2.radius, 2 * P2.radius * math.exp(P2.radius)),
    },
    "S2": {
        "printed": (mean_sensitivity_as_printed(S2.radius, 1, 1.0), 4 * math.sin(S2.radius / 2)),
        "supplement": (kng_sensitivity(S2.radius, 1, 1.0, math.pi) / H, 4 * math.sin(S2.radius / 2)),
        "proved": (mean_sensitivity(S2.radius, 1, 1.0, math.pi), 2 * math.sin(S2.radius)),
    },
}
EXAMPLES = {"P2": P2, "S2": S2}


def intrinsic_errors(example: Example, means: Array, scale: float, rng: np.random.Generator) -> Array:
    """One draw of the Riemannian Laplace law around each mean."""
    space = example.space
    noise = rd.RiemannianLaplace(space, space.origin, scale).sample_coords(len(means), rng)
    return example.error(space.exp(space.from_coordinates(noise, means), means), means)


def errors(example: Example, means: Array, draws: int, scales: tuple[float, float], seed: int) -> Results:
    """Mean error and its standard error for both mechanisms; share of extrinsic outputs that left P(2).

    Several draws around the mean of each data set; data sets are independent, draws of one of them are averaged first.
    """
    rng, many = np.random.default_rng(seed), np.repeat(means, draws, axis=0)
    near, noise = intrinsic_errors(example, many, scales[0], rng), laplace_in_space(rng, len(many), scales[1])
    far = np.linalg.norm(noise, axis=1)
    return {
        "intrinsic": mean_and_error(near.reshape(-1, draws).mean(axis=1)),
        "extrinsic": mean_and_error(far.reshape(-1, draws).mean(axis=1)),
        "outside": share_not_positive(example.embed(many) + noise) if example is P2 else math.nan,
    }


def moves(example: Example, n: int, pairs: int, rng: np.random.Generator) -> Array:
    """Distances between the means of random neighbouring data sets."""
    found = []
    for _ in range(pairs):
        records = example.records(rng, n + 1)
        found.append(example.space.dist(example.mean(records[:n]), example.mean(records[1:])))
    return np.array(found)


def worst_move(example: Example, n: int) -> float:
    """The farthest that one record is known to move a mean."""
    pairs = worst_neighbours(example.ball, n).values()
    return max(float(example.space.dist(*map(example.mean, pair))) for pair in pairs)


def compute_size(key: str, n: int, datasets: int, draws: int, pairs: int) -> Results:
    """One example with n records, all constants."""
    example, rng = EXAMPLES[key], np.random.default_rng(n)
    means = np.array([example.mean(example.records(rng, n)) for _ in range(datasets)])
    row: Results = {"moves": moves(example, n, pairs, rng), "worst": worst_move(example, n)}
    for label, (intrinsic, extrinsic) in CONSTANTS[key].items():
        found = errors(example, means, draws, (intrinsic / n / EPSILON, extrinsic / n / EPSILON), seed=n)
        row |= {f"{label}_{name}": value for name, value in found.items()}
    return row


def compute(quick: bool, track: Track) -> Results:
    """Both examples, all sizes."""
    sizes, *counts = ((20, 30, 40, 100), 60, 20, 15) if quick else (SIZES, 250, 40, 200)
    results: Results = {"n": sizes}
    for key, example in EXAMPLES.items():
        rows = [compute_size(key, n, *counts) for n in track(sizes, example.name)]
        results |= {f"{key}_{name}": np.array([row[name] for row in rows]) for name in rows[0]}
    return results


def draw_moves(ax: Axes, results: Results, key: str) -> None:
    """Moves of the mean, and bounds on them."""
    n, example = results["n"], EXAMPLES[key]
    pairs = results[f"{key}_moves"]
    ax.plot(np.repeat(n, pairs.shape[1]), pairs.ravel(), ".", color=SKY, markersize=2, alpha=0.5)
    mean, error = np.array([mean_and_error(row) for row in pairs]).T
    curve(ax, n, mean, 2 * error, color=BLUE, label="mean move")
    ax.plot(n, results[f"{key}_worst"], "D", color=GREEN, markersize=4, label="worst known pair")
    ax.plot(n, CONSTANTS[key]["proved"][0] / n, color=GREEN, linewidth=1, label="proved bound")
    ax.plot(n, CONSTANTS[key]["printed"][0] / n, "--", color=VERMILION, linewidth=1.2, label="Theorem 2")
    ax.set(title=f"{example.name}: one record moves the mean", ylabel="distance")


def draw_errors(ax: Axes, results: Results, key: str, label: str) -> None:
    """Mean errors with two standard errors."""
    n, words = results["n"], {"printed": "constants as printed", "proved": "proved constants"}[label]
    for kind, colour, name in (("extrinsic", VERMILION, "extrinsic"), ("intrinsic", BLUE, "Riemannian")):
        mean, error = results[f"{key}_{label}_{kind}"].T
        curve(ax, n, mean, 2 * error, color=colour, label=f"{name} Laplace")
    if key == "S2" and label == "printed":
        mean, error = results["S2_supplement_intrinsic"].T
        curve(ax, n, mean, 2 * error, color=GREY, linestyle="--", label="with the supplement's bound")
    if key == "P2":
        share = results[f"P2_{label}_outside"][(n >= 20) & (n <= 40)]
        text = f"extrinsic, n = 20, 30, 40:\n{', '.join(f'{s:.0%}' for s in share)}\nnot positive definite"
        ax.text(0.04, 0.05, text, transform=ax.transAxes, fontsize=8, color=VERMILION)
    ax.set(title=f"{EXAMPLES[key].name}: {words}", ylabel="mean error (Euclidean)")


def draw(results: Results) -> Picture:
    """Rows: examples. Columns: sensitivity, error as printed, error with proved constants."""
    picture, axes = panels(2, 3, 3.8, 3.6)
    for row, key in zip(axes, EXAMPLES, strict=True):
        for ax in row:
            log_scale(ax.xaxis)
            log_scale(ax.yaxis)
        draw_moves(row[0], results, key)
        draw_errors(row[1], results, key, "printed")
        draw_errors(row[2], results, key, "proved")
        row[2].sharey(row[1])
        row[1].autoscale()
        for ax in row:
            ax.set_xlabel("records")
            ax.legend(**BELOW, ncols=2)
    return picture


FIGURE = Figure("rl_fig1", "Riemannian Laplace against noise in the ambient space", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
