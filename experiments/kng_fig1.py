"""Figure 1 of Soto, Bharath, Reimherr and Slavković (2022): K-norm gradient, Riemannian and Euclidean Laplace.

S² and P(2) of rl_common.py, epsilon = 1; mean Euclidean errors. As printed: on S² the K-norm gradient has
sigma = Delta/epsilon, Delta = 2r(2 - h)/n, and the Riemannian Laplace Delta/(h epsilon); on P(2) it is 2 Delta/epsilon
= 4r/n, which its Theorem 1 asks for everywhere: on S² nothing proves that the printed one is 1-DP.
Proved: 2 S(r)/n on S², cut off at the ball, and 2 tan(r)/n for Riemannian Laplace; extrinsic 2 r e^r/n on P(2), and on
S² 2 sin(r)/n, which is the sensitivity of the arithmetic mean.

A law of another scale is the law of another epsilon: so the printed K-norm gradient is drawn exactly, too, as that of
the epsilon for which its scale is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels
from riemdp.plots import STYLES
from riemdp.plots.sheets import legend
from riemdp.plots.style import GREY, log_scale
from riemdp.statistics.sensitivity import mean_sensitivity_as_printed
from rl_common import EPSILON, P2, S2, Example, laplace_in_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

SIZES = (10, 20, 40, 70, 100, 200)
H = math.pi / 4 / math.tan(math.pi / 4)  # h at r = pi/8 on S²
THEOREM2 = mean_sensitivity_as_printed(S2.radius, 1, 1.0)  # 2r(2 - h)/h
"""Of the mean, times n; the gradient's is h times it."""

# By example: scales times n, as printed.
PRINTED = {
    "S2": {"kng": H * THEOREM2, "riemannian-laplace": THEOREM2, "extrinsic-laplace": 4 * math.sin(S2.radius / 2)},
    "P2": {
        "kng": 4 * P2.radius,
        "riemannian-laplace": 2 * P2.radius,
        "extrinsic-laplace": 2 * (math.exp(P2.radius) - 1),
    },
}
EXAMPLES = {"S2": S2, "P2": P2}


def proved(example: Example, mechanism: str, n: int) -> float:
    """The library's scale for PureDP(1)."""
    if mechanism == "extrinsic-laplace":
        r = example.radius
        return (2 * math.sin(r) if example is S2 else 2 * r * math.exp(r)) / n / EPSILON
    rows = {row.mechanism: row.scale for row in rd.plan(example.ball, n, rd.PureDP(EPSILON))}
    return rows[mechanism]


@dataclass(frozen=True)
class Trial:
    """Records, their mean, and how many releases to draw for each mechanism."""

    example: Example
    records: Array
    mean: Array
    draws: int
    seed: int

    def kng(self, scale: float) -> Array:
        """Errors of the K-norm gradient of this scale: that of epsilon = (scale for epsilon = 1)/scale."""
        asked = rd.PureDP(EPSILON * proved(self.example, "kng", len(self.records)) / scale)
        ball, options = self.example.ball, {"size": self.draws, "seed": self.seed}
        return self.example.error(rd.simulate(self.records, ball, asked, mechanism="kng", **options), self.mean)

    def riemannian(self, scale: float) -> Array:
        """Errors of the Riemannian Laplace law."""
        law = rd.RiemannianLaplace(self.example.space, self.mean, scale)
        return self.example.error(law.sample(self.draws, self.seed), self.mean)

    def extrinsic(self, scale: float) -> Array:
        """Lengths of Laplace noise in R³."""
        return np.linalg.norm(self._noise(scale), axis=1)

    def projected(self, scale: float) -> Array:
        """Errors once the noisy mean is normalised."""
        return self._normalised(self.mean, scale)

    def projected_arithmetic(self, scale: float) -> Array:
        """The same for the arithmetic mean, whose sensitivity 2 sin(r)/n is: a vector shorter than 1."""
        return self._normalised(self.records.mean(axis=0), scale)

    def _normalised(self, vector: Array, scale: float) -> Array:
        noisy = vector + self._noise(scale)
        return self.example.error(noisy / np.linalg.norm(noisy, axis=1, keepdims=True), self.mean)

    def _noise(self, scale: float) -> Array:
        return laplace_in_space(np.random.default_rng(self.seed), self.draws, scale)


@dataclass(frozen=True)
class Curve:
    """A mechanism, the factor on its scale, its errors and its look; not everywhere."""

    mechanism: str
    errors: Callable[[Trial, float], Array]
    where: tuple[str, ...] = ("S2_printed", "S2_proved", "P2_printed", "P2_proved")
    factor: float = 1.0
    style: dict[str, Any] = field(default_factory=dict)


DASHED = {"color": GREY, "linestyle": "--", "markersize": 4}
OPEN = {"linestyle": "-", "mfc": "none"}
CURVES = {
    "kng": Curve("kng", Trial.kng),
    "riemannian-laplace": Curve("riemannian-laplace", Trial.riemannian),
    "riemannian-laplace, 2Δ/ε": Curve("riemannian-laplace", Trial.riemannian, ("P2_printed",), 2.0, DASHED),
    "extrinsic-laplace": Curve("extrinsic-laplace", Trial.extrinsic),
    "extrinsic-laplace, projected": Curve("extrinsic-laplace", Trial.projected, ("S2_printed",), style=OPEN),
    "arithmetic mean, projected": Curve("extrinsic-laplace", Trial.projected_arithmetic, ("S2_proved",), style=OPEN),
}


def trials(example: Example, n: int, datasets: int, draws: int) -> list[Trial]:
    """Independent data sets."""
    rng = np.random.default_rng(n)
    sets = [example.records(rng, n) for _ in range(datasets)]
    return [Trial(example, records, example.mean(records), draws, seed) for seed, records in enumerate(sets)]


def compute_size(key: str, n: int, datasets: int, draws: int) -> Results:
    """Mean errors and their standard errors, for both sets of constants."""
    sets, row = trials(EXAMPLES[key], n, datasets, draws), Results()
    for name, line in CURVES.items():
        scales = {"printed": PRINTED[key][line.mechanism] / n, "proved": proved(EXAMPLES[key], line.mechanism, n)}
        for label, scale in scales.items():
            if f"{key}_{label}" in line.where:
                found = [line.errors(trial, line.factor * scale).mean() for trial in sets]
                row[f"{label}_{name}"] = mean_and_error(found)
    return row


def compute(quick: bool, track: Track) -> Results:
    """Both examples, all sizes."""
    sizes, datasets, draws = ((20, 100), 12, 50) if quick else (SIZES, 60, 100)
    results: Results = {"n": sizes}
    for key, example in EXAMPLES.items():
        rows = [compute_size(key, n, datasets, draws) for n in track(sizes, example.name)]
        results |= {f"{key}_{name}": np.array([row[name] for row in rows]) for name in rows[0]}
    results["printed_kng_on_S2_epsilon"] = proved(S2, "kng", 1000) / (PRINTED["S2"]["kng"] / 1000)
    return results


def draw_panel(ax: Axes, results: Results, key: str, label: str) -> None:
    """Mean errors with two standard errors."""
    for name, line in CURVES.items():
        if f"{key}_{label}" in line.where:
            mean, error = results[f"{key}_{label}_{name}"].T
            curve(ax, results["n"], mean, 2 * error, **STYLES[line.mechanism] | line.style, label=name)
    words = {"printed": "constants as printed", "proved": "proved constants"}[label]
    ax.set(title=f"{EXAMPLES[key].name}: {words}", xlabel="records", ylabel="mean error (Euclidean)")


def draw(results: Results) -> Picture:
    """Rows: examples. Columns: constants."""
    picture, axes = panels(2, 2, 4.2, 3.3, sharey="row")
    for row, key in zip(axes, EXAMPLES, strict=True):
        for ax, label in zip(row, ("printed", "proved"), strict=True):
            log_scale(ax.xaxis)
            log_scale(ax.yaxis)
            draw_panel(ax, results, key, label)
    text = f"this kng is proved for ε = {results['printed_kng_on_S2_epsilon']:.2f}, not 1"
    axes[0, 0].text(0.04, 0.05, text, transform=axes[0, 0].transAxes, fontsize=8, color=STYLES["kng"]["color"])
    legend(picture, 3)
    return picture


FIGURE = Figure("kng_fig1", "K-norm gradient against Riemannian and extrinsic Laplace", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
