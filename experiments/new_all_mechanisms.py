"""All mechanisms on one chart per space and guarantee, which no paper could draw.

Root mean square geodesic error of simulated releases against the number of records, drawn exactly; records spread over
the ball. A mechanism that cannot give a guarantee, or whose law does not exist there, has no line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, panels
from new_common import error_of, records_in
from riemdp.plots import STYLES, symbolic
from riemdp.plots.sheets import legend
from riemdp.plots.style import log_scale

if TYPE_CHECKING:
    from harness import Picture

SPACES: dict[str, tuple[rd.Space, float]] = {
    "3 x 3 matrices, affine-invariant": (rd.SPDAffine(3), 1.5),
    "3 x 3 matrices, log-Euclidean": (rd.SPDLogEuclidean(3), 1.5),
    "sphere S²": (rd.Sphere(2), 0.6),
    "hyperbolic plane": (rd.Hyperbolic(2), 1.5),
    "shapes of 8 landmarks": (rd.KendallShapes(8), 0.2),
}
GUARANTEES: tuple[rd.Guarantee, ...] = (rd.PureDP(1.0), rd.ApproxDP(1.0, 1e-6), rd.GDP(1.0))


def chart(space: rd.Space, radius: float, n: int, size: int) -> Array:
    """(guarantees, mechanisms, 2) for one number of records."""
    ball = rd.Ball(space, space.origin, radius)
    records = records_in(ball, n, np.random.default_rng(n))
    mean = rd.frechet_mean(records, space, tol=1e-8).point
    return np.array([[error_of(records, mean, ball, g, size, mechanism=name) for name in STYLES] for g in GUARANTEES])


def compute(quick: bool, track: Track) -> Results:
    """Every space, number of records, guarantee and mechanism."""
    sizes, draws = ((30, 300), 60) if quick else ((20, 50, 100, 200, 500, 1000), 400)
    results: Results = {"n": sizes, "mechanisms": list(STYLES)}
    for name, (space, radius) in SPACES.items():
        results[name] = np.array([chart(space, radius, n, draws) for n in track(sizes, name)])
    return results


def draw(results: Results) -> Picture:
    """Rows: spaces. Columns: guarantees. Bands of two standard errors."""
    picture, axes = panels(len(SPACES), len(GUARANTEES), 3.4, 2.7, sharex=True, sharey="row")
    for row, (name, (_, radius)) in zip(axes, SPACES.items(), strict=True):
        for column, (ax, guarantee) in enumerate(zip(row, GUARANTEES, strict=True)):
            log_scale(ax.xaxis)
            log_scale(ax.yaxis)
            for m, mechanism in enumerate(results["mechanisms"]):
                error, spread = results[name][:, column, m].T
                if np.isfinite(error).any():
                    curve(ax, results["n"], error, 2 * spread, **STYLES[mechanism], label=mechanism)
            ax.set_title(f"{name}, r = {radius:g}\n{symbolic(guarantee)}", fontsize=9)
        row[0].set_ylabel("root mean square error")
    for ax in axes[-1]:
        ax.set_xlabel("records")
    legend(picture, 4)
    return picture


FIGURE = Figure("new_all_mechanisms", "all mechanisms, by space and guarantee", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
