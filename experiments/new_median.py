"""The private median among outliers: error to the median of clean records, against the share of outliers, GDP(1).

Outliers are all at one point of the rim of the public ball, ten times the spread of the others away: the case that
costs the adaptive mean the most (docs/decisions/0009-adaptation.md). Every point is a root mean square distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, panels
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLUE, GREY, VERMILION, log_scale

if TYPE_CHECKING:
    from harness import Picture

GUARANTEE, N = rd.GDP(1.0), 1000
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
SETS: dict[str, tuple[rd.Space, float]] = {
    "points of R³": (rd.Euclidean(3), 5.0),
    "2 x 2 matrices, affine-invariant": (rd.SPDAffine(2), 4.0),
    "sphere": (rd.Sphere(2), 1.4),
}
WAYS: dict[str, tuple[str, dict[str, object]]] = {
    "median": (BLUE, {"statistic": "geometric-median"}),
    "mean, adaptive ball": (VERMILION, {"adapt": True}),
    "mean, public ball": (GREY, {}),
}


def records_of(ball: rd.Ball) -> Array:
    """Around a point a third of the way to the rim, spread over a tenth of the radius."""
    space, rng = ball.space, np.random.default_rng(0)
    coords = 0.1 * rng.standard_normal((N, space.dim)) / np.sqrt(space.dim) + 0.3 * np.eye(space.dim)[0]
    return np.asarray(space.exp(space.from_coordinates(ball.radius * coords, ball.center), ball.center))


def median_of(records: Array, space: rd.Space, start: Array) -> Array:
    """The geometric median without privacy, by Weiszfeld's steps."""
    for _ in range(100):
        logs = space.coordinates(space.log(records, start), start)
        weights = 1 / np.maximum(np.linalg.norm(logs, axis=1), 1e-12)
        start = space.exp(space.from_coordinates(weights @ logs / weights.sum(), start), start)
    return start


def with_outliers(records: Array, share: float, ball: rd.Ball) -> Array:
    """The first ones are at one point of the rim, on the other side."""
    away = -0.999 * ball.radius * np.eye(ball.space.dim)[0]
    spoilt = records.copy()
    spoilt[: round(share * len(records))] = ball.space.exp(ball.space.from_coordinates(away, ball.center), ball.center)
    return spoilt


def errors(ball: rd.Ball, share: float, clean: Array, size: int) -> list[float]:
    """Of each way."""
    spoilt = with_outliers(records_of(ball), share, ball)
    drawn = [rd.simulate(spoilt, ball, GUARANTEE, size=size, seed=1, **options) for _, options in WAYS.values()]  # type: ignore[arg-type]
    return [float(np.sqrt(np.mean(ball.space.dist(np.asarray(one), clean) ** 2))) for one in drawn]


def noise_ratio(ball: rd.Ball, clean: Array, size: int) -> float:
    """Without outliers, each as an estimate of what it is a private version of."""
    records, space = records_of(ball), ball.space
    targets = clean, rd.frechet_mean(records, space).point
    options = [options for _, options in WAYS.values()][:2]
    drawn = [rd.simulate(records, ball, GUARANTEE, size=2 * size, seed=2, **one) for one in options]  # type: ignore[arg-type]
    noise = [np.mean(space.dist(np.asarray(one), target) ** 2) for one, target in zip(drawn, targets, strict=True)]
    return float(np.sqrt(noise[0] / noise[1]))


def compute(quick: bool, track: Track) -> Results:
    """Every space and share."""
    results: Results = {"shares": (0.0, 0.1) if quick else SHARES}
    for title, (space, radius) in SETS.items():
        ball = rd.Ball(space, space.origin, radius)
        clean = median_of(records_of(ball), space, space.origin)
        size = 3 if quick else 15
        results[title] = np.array([errors(ball, share, clean, size) for share in track(results["shares"], title)])
        worst = results[title][list(results["shares"]).index(0.1)]
        results[f"{title}: adaptive mean over median at 10 %"] = worst[1] / worst[0]
        results[f"{title}: median's noise over the adaptive mean's, without outliers"] = noise_ratio(ball, clean, size)
    return results


def draw(results: Results) -> Picture:
    """A panel per space."""
    picture, axes = panels(1, len(SETS), 3.2, 3.2)
    for ax, title in zip(axes.flat, SETS, strict=True):
        for column, (name, (colour, _)) in enumerate(WAYS.items()):
            curve(ax, 100 * np.array(results["shares"]), results[title][:, column], 0.0, color=colour, label=name)
        log_scale(ax.yaxis)
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("outliers on one side, %")
    axes[0, 0].set_ylabel("root mean square error")
    legend(picture, 3)
    return picture


FIGURE = Figure("new_median", "the private median among outliers", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
