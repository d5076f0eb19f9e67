"""K-norm gradient against Riemannian Laplace with proved constants, over the radius of the ball.

The K-norm gradient paper finds its mechanism better in positive curvature: its sensitivity lacks a factor 1/h. But it
pays 2 Delta/epsilon, for its normaliser depends on the data, where the Riemannian Laplace pays Delta/epsilon. Errors
over each other, PureDP(1): above 1 the Riemannian Laplace is better. Lines: predicted, all records at the centre.
Points: records spread over the ball, as far as exact draws of the K-norm gradient are quick. The paper's ratio of
scales on the sphere is h with its sigma = Delta/epsilon, and 2h with its theorem.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, main, panels
from new_common import error_of, records_in
from riemdp.plots.style import BLUE, GREY, VERMILION
from rl_common import BELOW

if TYPE_CHECKING:
    from harness import Picture

SPACES: dict[str, tuple[rd.Space, float, float]] = {  # and the largest radius that is predicted, and drawn
    "sphere S²": (rd.Sphere(2), 1.4, 1.4),
    "shapes of 5 landmarks": (rd.KendallShapes(5), 0.7, 0.5),
    "2 x 2 matrices, affine-invariant": (rd.SPDAffine(2), 3.0, 3.0),
}
RECORDS, GUARANTEE = 200, rd.PureDP(1.0)
PAIR = ("kng", "riemannian-laplace")


def predicted(space: rd.Space, radius: float) -> float:
    """Of the planner."""
    rows = rd.plan(rd.Ball(space, space.origin, radius), RECORDS, GUARANTEE)
    errors = {row.mechanism: row.expected_error for row in rows}
    return errors.get("kng", math.nan) / errors["riemannian-laplace"]


def measured(space: rd.Space, radius: float, size: int) -> Array:
    """Ratio of errors for records spread over the ball, and its standard error."""
    ball = rd.Ball(space, space.origin, radius)
    records = records_in(ball, RECORDS, np.random.default_rng(0))
    mean = rd.frechet_mean(records, space, tol=1e-8).point
    (kng, kng_se), (laplace, laplace_se) = (
        error_of(records, mean, ball, GUARANTEE, size, mechanism=name) for name in PAIR
    )
    return kng / laplace * np.array([1.0, math.hypot(kng_se / kng, laplace_se / laplace)])


def compute(quick: bool, track: Track) -> Results:
    """Ratios on every space."""
    points, size = (3, 1000) if quick else (9, 4000)
    results: Results = {}
    for name, (space, largest, drawn) in SPACES.items():
        some, fine = np.linspace(0.1, 1, points) * drawn, np.linspace(0.04, 1, 12 if quick else 40) * largest
        results[f"{name}, radius"], results[f"{name}, fine"] = some, fine
        results[f"{name}, predicted"] = [predicted(space, r) for r in fine]
        results[f"{name}, measured"] = np.array([measured(space, r, size) for r in track(some.tolist(), name)])
    return results


def draw(results: Results) -> Picture:
    """A panel per space; error bars of two standard errors."""
    picture, axes = panels(1, len(SPACES), 3.4, 3.6, sharey=True)
    for ax, name in zip(axes.flat, SPACES, strict=True):
        ax.axhline(1, color=GREY, linewidth=0.8)
        fine, line = results[f"{name}, fine"], results[f"{name}, predicted"]
        ax.plot(fine, line, color=BLUE, label="predicted, records at centre")
        ratio, spread = results[f"{name}, measured"].T
        ax.errorbar(results[f"{name}, radius"], ratio, 2 * spread, fmt="o", color=BLUE, markersize=4,
                    label="drawn, records spread out")  # fmt: skip
        ax.set(title=name, xlabel="radius of the ball", ylim=(0, 2.6))
    r = np.linspace(0.01, math.pi / 4 - 0.001, 100)
    h = 2 * r / np.tan(2 * r)
    axes[0, 0].plot(r, h, color=VERMILION, linestyle="--", label="scales as printed: h")
    axes[0, 0].plot(r, 2 * h, color=VERMILION, linestyle=":", label="scales by the paper's theorem: 2h")
    axes[0, 0].set_ylabel("error, K-norm gradient / Laplace")
    for ax in axes.flat:
        ax.legend(**BELOW)
    return picture


FIGURE = Figure("new_kng_against_laplace", "K-norm gradient over Riemannian Laplace, proved constants", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
