"""Pictures of a regression: how coordinates change with t, with their band; shapes and ellipses along the geodesic."""

from __future__ import annotations

from typing import Any

import numpy as np

from riemdp.manifolds.base import Array
from riemdp.plots.landmarks import linked, turned
from riemdp.plots.matrices import outline
from riemdp.plots.panels import Panel, View
from riemdp.plots.style import BLUE, GREEN, ORANGE, PURPLE, bare, light
from riemdp.summaries.regression import Regression

COLOURS = "viridis"
SHOWN = 4  # directions of coordinates, those that change most first
ALONG = 5  # points of the geodesic
NORMAL = 1.959963984540054  # of 95 % in one coordinate


def regression_panels(view: View) -> list[Panel]:
    """What is seen along the geodesic, if points can be drawn in the plane; and coordinates against t."""
    fit = view.release
    assert isinstance(fit, Regression)
    lines = Panel(lambda ax: _lines(ax, fit))
    if fit.space.picture == "landmarks":
        return [Panel(lambda ax: _shapes(ax, fit, view)), lines]
    if fit.space.picture == "matrix" and fit.value.shape == (2, 2):
        return [Panel(lambda ax: _ellipses(ax, fit)), lines]
    return [lines]


def _lines(ax: Any, fit: Regression) -> None:
    """Coordinates of the geodesic at its middle, with 95 % of the noise of each by itself."""
    from scipy.stats import chi2

    t = np.linspace(*fit.t_bounds, 101)
    velocity = fit.space.coordinates(fit.velocity, fit.value)
    order = np.argsort(-np.abs(velocity))[:SHOWN]
    wide = fit.band(t) / np.sqrt(chi2.ppf(0.95, fit.space.dim)) * NORMAL
    for i, colour in zip(order, (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        line = velocity[i] * (t - fit.middle)
        ax.fill_between(t, line - wide, line + wide, color=colour, alpha=0.3, linewidth=0)
        ax.plot(t, line, color=colour, linewidth=1.2, label=f"coordinate {i + 1}")
    ax.fill_between([], [], color="0.6", alpha=0.4, linewidth=0, label="band of 95 % of the noise")
    ax.set_xlabel("t", fontsize=9)
    most = f"\nthe {SHOWN} that change most" if fit.space.dim > SHOWN else ""
    ax.set_title(f"coordinates at the middle, R² = {fit.r_squared:.2f}{most}", fontsize=10)
    light(ax)


def _along(ax: Any, fit: Regression) -> tuple[Array, Array, Any]:
    """Numbers, points of the geodesic there, and their colours, with a bar that tells them."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    t = np.linspace(*fit.t_bounds, ALONG)
    scale = ScalarMappable(Normalize(*fit.t_bounds), COLOURS)
    ax.figure.colorbar(scale, ax=ax, shrink=0.7, pad=0.03, label="t", ticks=t).outline.set_visible(False)
    return t, fit.predict(t), colormaps[COLOURS](np.linspace(0, 0.95, ALONG))


def _shapes(ax: Any, fit: Regression, view: View) -> None:
    _, points, colours = _along(ax, fit)
    shapes = fit.space.read(points, "points")
    links = linked(view.links, shapes.shape[-1])
    for shape, colour in zip(turned(shapes, fit.space.read(fit.value, "value")), colours, strict=True):
        ends = np.array([[shape[i], shape[j], np.nan] for i, j in links]).ravel()
        ax.plot(ends.real, ends.imag, color=colour, linewidth=1.4)
        ax.plot(shape.real, shape.imag, "o", color=colour, markersize=5, mec="white", mew=0.6)
    ax.margins(0.1)
    bare(ax, "shapes along the geodesic")


def _ellipses(ax: Any, fit: Regression) -> None:
    _, matrices, colours = _along(ax, fit)
    for matrix, colour in zip(matrices, colours, strict=True):
        ax.plot(*outline(matrix).T, color=colour, linewidth=1.8)
    ax.set_aspect("equal")
    ax.set_title("ellipses of one standard deviation along the geodesic", fontsize=10)
    light(ax)
