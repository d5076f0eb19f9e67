"""Axes of nerve fibres in a small block of white matter: lines, not directions.

The leading eigenvectors of 968 diffusion tensors, of which those with an anisotropy above 0.6 count, as points of
Grassmann(3, 1), around an axis that plays a published atlas. Left: the axes from that side, with their mean and private
means; those outside the ball belong to other bundles and are moved to its rim. Right: length of the plain average of
the eigenvectors as the software writes them, against that of the same axes with signs chosen by the mean axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, has, load, main, panels
from new_common import root_mean_square
from riemdp.plots.style import BLACK, GREEN, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

DATA, SPACE, GUARANTEE, RADIUS, LEAST = "dti_tensors", rd.Grassmann(3), rd.GDP(1.0), 0.7, 0.6
ATLAS = [[0.3], [0.85], [-0.45]]


def compute(quick: bool, track: Track) -> Results:
    """Axes, their mean, releases."""
    results: Results = {"sets": int(has(DATA))}
    for size in track((20 if quick else 300,) if has(DATA) else (), "releases"):
        results |= axes_of_fibres(size)
    return results


def axes_of_fibres(size: int) -> Results:
    """In the frame of the public axis: it points upwards."""
    data = load(DATA)
    vectors = np.linalg.eigh(data["small64_tensors"][data["small64_fa"] > LEAST])[1][..., -1]
    center, records = SPACE.project(ATLAS), SPACE.project(vectors[:, :, None])
    ball = rd.Ball(SPACE, center, RADIUS)
    inside = SPACE.dist(records, center) <= RADIUS
    mean = rd.frechet_mean(records[inside], SPACE).point
    draws = rd.simulate(records, ball, GUARANTEE, size=size, seed=0)
    private = rd.frechet_mean(draws, SPACE).point  # of many releases: what is released, without the noise
    signs = np.sign(vectors @ np.linalg.eigh(mean)[1][:, -1])
    return {
        "records": _seen(records, center),
        "released": _seen(draws, center),
        "mean": _seen(mean[None], center),
        "plain averages": [_length(vectors), _length(vectors * signs[:, None])],
        "axes": len(records),
        "share within the ball": float(inside.mean()),
        "error in degrees": np.degrees(root_mean_square(SPACE.dist(draws, private))[0]),
        "from the mean of those within the ball, degrees": np.degrees(float(SPACE.dist(private, mean))),
    }


def _length(vectors: Array) -> float:
    return float(np.linalg.norm(vectors.mean(axis=0)))


def _seen(projectors: Array, center: Array) -> Array:
    """The two coordinates of each axis across the centre, whose end it turns towards us."""
    frame = np.linalg.eigh(center)[1]
    axes = np.linalg.eigh(projectors)[1][..., -1] @ frame
    return np.asarray(axes[:, :2] * np.sign(axes[:, 2:]))


def draw(results: Results) -> Picture | None:
    """Two panels."""
    if not results["sets"]:
        return None
    picture, (axes,) = panels(1, 2, width=4.4, height=4.0)
    _draw_axes(axes[0], results)
    _draw_lengths(axes[1], results)
    return picture


def _draw_axes(ax: Axes, results: Results) -> None:
    ax.set_axisbelow(True)
    ax.scatter(*results["records"].T, s=8, color=GREY, linewidths=0, label=f"{results['axes']} axes")
    ax.scatter(*results["released"].T, s=16, color=VERMILION, linewidths=0, label="private means, μ = 1")
    ax.scatter(*results["mean"].T, s=60, color=BLACK, marker="+", linewidths=1.8, label="mean of those in the ball")
    turn = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.sin(RADIUS) * np.cos(turn), np.sin(RADIUS) * np.sin(turn), color=GREEN, linewidth=1, label="public ball")
    ax.set(aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), xlabel="across the public axis", ylabel="and across")
    ax.set_title("axes of fibres, seen along the public one", fontsize=10)
    ax.legend(fontsize=7, loc="lower left", framealpha=0.9, markerscale=1.2)


def _draw_lengths(ax: Axes, results: Results) -> None:
    ax.set_axisbelow(True)
    ax.bar(["as written", "signs by the mean axis"], results["plain averages"], width=0.5, color=[GREY, GREEN])
    ax.set(ylabel="length of the average vector", ylim=(0, 1))
    ax.set_title("eigenvectors averaged as directions", fontsize=10)


FIGURE = Figure("new_subspaces", "axes of nerve fibres", compute, draw, (DATA,))

if __name__ == "__main__":
    main(FIGURE)
