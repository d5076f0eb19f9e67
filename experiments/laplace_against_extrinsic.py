"""Riemannian Laplace against noise in the ambient space: Figure 1 of Reimherr, Bharath and Soto (2021).

P(2): Wishart(I/2, 2 degrees of freedom) within 1.5 of the identity. S²: polar angle uniform on [0, pi/8], azimuth
uniform. epsilon = 1. Errors are Euclidean lengths of vech(x̃) - vech(x̄), or of x̃ - x̄ in R³, as in the paper.

Once with the paper's constants (its extrinsic sensitivity of matrices is too small for the Fréchet mean: that
baseline is *not private*), once with the proved ones. Run: python experiments/laplace_against_extrinsic.py
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import riemdp as rd
from riemdp.distributions import RiemannianLaplace
from riemdp.mechanisms.baselines import EXTRINSIC_LAPLACE
from riemdp.statistics.sensitivity import mean_sensitivity, mean_sensitivity_as_printed

Array = NDArray[np.float64]

SIZES = (10, 20, 30, 40, 60, 100, 200)
EPSILON = 1.0


def wishart(rng: np.random.Generator, n: int) -> Array:
    """Records of P(2): G Gᵀ/2 with a 2 x 2 matrix G of standard normals, kept if within 1.5 of the identity."""
    space, kept = rd.SPDAffine(2), np.empty((0, 2, 2))
    while len(kept) < n:
        g = rng.standard_normal((4 * n, 2, 2))
        x = g @ g.transpose(0, 2, 1) / 2
        x = x[np.linalg.eigvalsh(x)[:, 0] > 1e-6]
        kept = np.concatenate([kept, x[space.dist(x, np.eye(2)) < 1.5]])
    return kept[:n]


def polar(rng: np.random.Generator, n: int) -> Array:
    """Records of S² around the north pole."""
    theta, phi = math.pi / 8 * rng.random(n), 2 * math.pi * rng.random(n)
    return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)


def vech(matrix: Array) -> Array:
    """Diagonal and upper entry, unweighted, as the paper embeds P(2) in R³."""
    return np.stack([matrix[..., 0, 0], matrix[..., 1, 1], matrix[..., 0, 1]], axis=-1)


@dataclass(frozen=True)
class Example:
    """A space, its records, and sensitivities times n."""

    name: str
    space: rd.Space
    radius: float
    records: Callable[[np.random.Generator, int], Array]
    embed: Callable[[Array], Array]
    printed: tuple[float, float]  # intrinsic, extrinsic
    proved: tuple[float, float]


P2 = Example(
    "P(2)", rd.SPDAffine(2), 1.5, wishart, vech,
    printed=(2 * 1.5, 2 * (math.exp(1.5) - 1)),
    proved=(2 * 1.5, 2 * 1.5 * math.exp(1.5)),
)  # fmt: skip
S2 = Example(
    "S²", rd.Sphere(2), math.pi / 8, polar, lambda x: x,
    printed=(mean_sensitivity_as_printed(math.pi / 8, 1, 1.0), 4 * math.sin(math.pi / 16)),
    proved=(mean_sensitivity(math.pi / 8, 1, 1.0, math.pi), 2 * math.sin(math.pi / 8)),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Mean errors over the replicates, their standard errors, and how many extrinsic outputs left the space."""

    n: int
    intrinsic: float
    extrinsic: float
    intrinsic_se: float
    extrinsic_se: float
    outside: float


def compare(example: Example, n: int, constants: tuple[float, float], replicates: int, seed: int) -> Row:
    """Both mechanisms on the same means, one draw each per replicate."""
    rng = np.random.default_rng([seed, n])
    means = np.array(
        [rd.frechet_mean(example.records(rng, n), example.space, tol=1e-8).point for _ in range(replicates)]
    )
    intrinsic, extrinsic = (constant / n / EPSILON for constant in constants)
    noise = RiemannianLaplace(example.space, example.space.origin, intrinsic).sample_coords(replicates, rng)
    released = example.space.exp(example.space.from_coordinates(noise, means), means)
    near = np.linalg.norm(example.embed(released) - example.embed(means), axis=1)
    far = EXTRINSIC_LAPLACE.noisy(np.zeros(3), extrinsic, rng, replicates)
    return Row(
        n, near.mean(), np.linalg.norm(far, axis=1).mean(),
        near.std() / math.sqrt(replicates), np.linalg.norm(far, axis=1).std() / math.sqrt(replicates),
        _outside(example.embed(means) + far) if isinstance(example.space, rd.SPDAffine) else math.nan,
    )  # fmt: skip


def _outside(vectors: Array) -> float:
    """Share of vectors that are no positive definite matrix."""
    a, b, c = vectors.T
    return float(np.mean(~((a > 0) & (a * b > c * c))))


def run(replicates: int, sizes: tuple[int, ...] = SIZES, seed: int = 0) -> dict[tuple[str, str], list[Row]]:
    """Every panel: by example and by whose constants."""
    cases = [(e, label, constants) for e in (P2, S2) for label, constants in _labelled(e)]
    return {(e.name, label): [compare(e, n, c, replicates, seed) for n in sizes] for e, label, c in cases}


def _labelled(example: Example) -> list[tuple[str, tuple[float, float]]]:
    return [("as printed", example.printed), ("proved", example.proved)]


def show(results: dict[tuple[str, str], list[Row]], console: Console) -> None:
    """A table per panel."""
    for (name, label), rows in results.items():
        table = Table("n", "Riemannian Laplace", "extrinsic Laplace", "ratio", "not positive definite")
        table.title = f"{name}, constants {label}"
        for row in rows:
            share = "" if math.isnan(row.outside) else f"{row.outside:.0%}"
            table.add_row(
                str(row.n), f"{row.intrinsic:.4f} ± {2 * row.intrinsic_se:.4f}",
                f"{row.extrinsic:.4f} ± {2 * row.extrinsic_se:.4f}", f"{row.intrinsic / row.extrinsic:.2f}", share,
            )  # fmt: skip
        console.print(table)


def plot(results: dict[tuple[str, str], list[Row]], path: Path) -> None:
    """The four panels: mean error with bands of two standard errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.5), layout="constrained")
    for axis, ((name, label), rows) in zip(figure.subplots(2, 2).flat, results.items(), strict=True):
        n = [row.n for row in rows]
        for kind, colour, text in (("intrinsic", "#0072B2", "Riemannian"), ("extrinsic", "#D55E00", "extrinsic")):
            mean = np.array([getattr(row, kind) for row in rows])
            band = 2 * np.array([getattr(row, f"{kind}_se") for row in rows])
            axis.plot(n, mean, color=colour, marker="o", markersize=3, label=f"{text} Laplace")
            axis.fill_between(n, mean - band, mean + band, color=colour, alpha=0.25, linewidth=0)
        axis.set(title=f"{name}, constants {label}", xlabel="records", ylabel="mean error", xscale="log", yscale="log")
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Tables on the terminal and a picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("laplace_against_extrinsic.png"))
    options = parser.parse_args()
    results = run(options.replicates)
    show(results, Console())
    plot(results, options.out)


if __name__ == "__main__":
    main()
