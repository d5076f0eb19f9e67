"""Gaussian mechanisms on the sphere and on shapes, which no paper has: real data, mu-GDP.

Wrapped Gaussian against the Laplace-like mechanisms converted to mu-GDP, all there was in positive curvature before.
Directions: palaeomagnetic sites around the axial dipole field. Shapes: the first record plays a published atlas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, has, main, panels
from new_common import directions, error_of, shapes
from riemdp.plots import STYLES
from riemdp.plots.sheets import legend
from riemdp.plots.style import log_scale

if TYPE_CHECKING:
    from harness import Picture

MECHANISMS = ("wrapped-gaussian", "wrapped-laplace", "riemannian-laplace", "kng")
# By title: the data set, and how to load it.
SETS: dict[str, tuple[str, Callable[[], tuple[Array, rd.Ball]]]] = {
    "magnetic directions": ("sphere_S2", directions),
    "ape skulls": ("landmarks_shapes_R", lambda: shapes("landmarks_shapes_R", "apes", 0.2)),
    "passionflower leaves": ("passiflora_leaves", lambda: shapes("passiflora_leaves", "landmarks", 0.7)),
    "mouse vertebrae": ("landmarks_shapes_R", lambda: shapes("landmarks_shapes_R", "mice_outlines", 0.2)),
}


def compute(quick: bool, track: Track) -> Results:
    """Errors over the ball's radius, for every data set, mu and mechanism."""
    strengths, draws = ((0.5, 2.0), 40) if quick else ((0.1, 0.2, 0.5, 1.0, 2.0, 5.0), 300)
    results: Results = {"mu": strengths, "mechanisms": MECHANISMS}
    for title, (file, loaded) in SETS.items():
        if not has(file):
            continue
        records, ball = loaded()
        records = records[: 500 if quick else None]
        mean = rd.frechet_mean(np.asarray(records), ball.space, tol=1e-8).point
        errors = [
            [error_of(records, mean, ball, rd.GDP(mu), draws, mechanism=name) for name in MECHANISMS]
            for mu in track(strengths, title)
        ]
        results[title] = np.array(errors) / ball.radius
        results[f"{title}, facts"] = [len(records), ball.space.dim, ball.radius]
    return results


def draw(results: Results) -> Picture | None:
    """A panel per data set; bands of two standard errors."""
    if not any(title in results for title in SETS):
        return None
    picture, axes = panels(1, len(SETS), 3.0, 3.2)
    for ax, title in zip(axes.flat, SETS, strict=True):
        if title not in results:
            ax.set_title(f"{title}: no data", fontsize=9)
            continue
        log_scale(ax.xaxis)
        log_scale(ax.yaxis)
        for m, mechanism in enumerate(results["mechanisms"]):
            error, spread = results[title][:, m].T
            if np.isfinite(error).any():
                curve(ax, results["mu"], error, 2 * spread, **STYLES[mechanism], label=mechanism)
        n, dim, radius = results[f"{title}, facts"]
        ax.set_title(f"{title}\nn = {n:.0f}, dimension {dim:.0f}, r = {radius:g}", fontsize=9)
        ax.set_xlabel("μ of μ-GDP")
    axes[0, 0].set_ylabel("root mean square error / radius")
    legend(picture, 4)
    return picture


FILES = tuple(dict.fromkeys(file for file, _ in SETS.values()))
FIGURE = Figure("new_positive_curvature", "Gaussian mechanisms on the sphere and on shapes", compute, draw, FILES)

if __name__ == "__main__":
    main(FIGURE)
