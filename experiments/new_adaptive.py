"""The effect of adaptive balls: error against the radius of the public ball, with and without adaptation, GDP(1).

Without it the error grows with the ball that was public; with it, part of the budget finds a private ball that is as
small as the records allow. Every point is the root mean square distance to the mean of the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, has, main, panels
from new_common import error_of, records_in, shapes, tensors
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLUE, GREY, VERMILION, log_scale

if TYPE_CHECKING:
    from harness import Picture

GUARANTEE = rd.GDP(1.0)


def cloud(radius: float) -> tuple[Array, rd.Ball]:
    """1,000 points of R³ around (0.3, 0, 0), of spread 0.1."""
    records = 0.3 * np.eye(1, 3) + 0.1 * np.random.default_rng(0).standard_normal((1000, 3)) / np.sqrt(3)
    return records, rd.Ball(rd.Euclidean(3), np.zeros(3), radius)


def embedding(radius: float) -> tuple[Array, rd.Ball]:
    """1,000 points of the hyperbolic plane, of spread 0.3 around one at distance 0.5."""
    space, rng = rd.Hyperbolic(2), np.random.default_rng(0)
    place = space.exp(space.from_coordinates(np.array([0.5, 0.0]), space.origin), space.origin)
    records = records_in(rd.Ball(space, place, 0.3), 1000, rng)
    return records, rd.Ball(space, space.origin, radius)


# By title: the data set, how to load it with a radius, and the radii.
SETS: dict[str, tuple[str | None, Callable[[float], tuple[Array, rd.Ball]], Sequence[float]]] = {
    "points of R³": (None, cloud, (0.5, 1.0, 2.0, 5.0, 10.0, 100.0)),
    "hyperbolic plane": (None, embedding, (1.0, 2.0, 4.0, 6.0, 8.0)),
    "diffusion tensors": ("dti_tensors", tensors, (3.0, 4.0, 6.0, 8.0, 10.0)),
    "passionflower leaves": (
        "passiflora_leaves", lambda r: shapes("passiflora_leaves", "landmarks", r), (0.5, 0.55, 0.6, 0.65, 0.7),
    ),
}  # fmt: skip


def errors(loaded: Callable[[float], tuple[Array, rd.Ball]], radius: float, mean: Array, size: int) -> Array:
    """Plain and adaptive: (2, 2)."""
    records, ball = loaded(radius)
    plain, adaptive = 10 * size, size  # every adaptive draw goes through all records, several times
    return np.array(
        [error_of(records, mean, ball, GUARANTEE, count, adapt=a) for a, count in ((False, plain), (True, adaptive))]
    )


def compute(quick: bool, track: Track) -> Results:
    """Every data set and radius."""
    results: Results = {}
    for title, (file, loaded, radii) in SETS.items():
        if file is not None and not has(file):
            continue
        some = (radii[1], radii[-1]) if quick else radii
        records, ball = loaded(max(radii))
        mean = rd.frechet_mean(records, ball.space, tol=1e-8).point
        results[f"{title}, radius"] = some
        results[title] = np.array([errors(loaded, r, mean, 8 if quick else 80) for r in track(some, title)])
        farthest = np.quantile(ball.space.dist(records, mean), 0.99)
        results[f"{title}, facts"] = [len(records), ball.space.dim, farthest]
    return results


def draw(results: Results) -> Picture:
    """A panel per data set; bands of two standard errors."""
    picture, axes = panels(1, len(SETS), 3.0, 3.2)
    for ax, title in zip(axes.flat, SETS, strict=True):
        if title not in results:
            ax.set_title(f"{title}: no data", fontsize=9)
            continue
        log_scale(ax.xaxis)
        known = results[title][:, :, 0][np.isfinite(results[title][:, :, 0])]
        if known.max() > 10 * known.min():
            log_scale(ax.yaxis)
        else:
            ax.set_ylim(0, 1.1 * known.max())
        for column, colour, name in ((0, VERMILION, "public ball"), (1, BLUE, "adaptive ball")):
            error, spread = results[title][:, column].T
            curve(ax, results[f"{title}, radius"], error, 2 * spread, color=colour, label=name)
        n, dim, farthest = results[f"{title}, facts"]
        ax.axvline(farthest, color=GREY, linewidth=0.8, linestyle="--", label="99 % of records are within")
        ax.set_title(f"{title}\nn = {n:,.0f}, dimension {dim:.0f}", fontsize=9)
        ax.set_xlabel("radius of the public ball")
        ax.set_xticks(results[f"{title}, radius"], [f"{r:g}" for r in results[f"{title}, radius"]])
        ax.minorticks_off()
    axes[0, 0].set_ylabel("root mean square error")
    legend(picture, 3)
    return picture


FILES = tuple(file for file, _, _ in SETS.values() if file)
FIGURE = Figure("new_adaptive", "the effect of adaptive balls", compute, draw, FILES)

if __name__ == "__main__":
    main(FIGURE)
