"""Pictures of a symmetric positive definite matrix: its entries, and its ellipse, ellipsoid or spectrum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from riemdp.manifolds.base import Array
from riemdp.plots.panels import RELEASED, ROUND, SIMULATED, Marked, Panel, View
from riemdp.plots.style import BLACK, BLUE, SKY, light, log_scale, name_ticks

MOST_NUMBERS = 8  # matrices up to this size show their entries as numbers
MOST_NAMES = 40  # of rows and columns


def matrix_panels(view: View) -> list[Panel]:
    """The entries, and the matrix as an ellipse, an ellipsoid or its spectrum."""
    k = view.release.value.shape[-1]
    other = {2: Panel(lambda ax: _ellipses(ax, view)), 3: Panel(lambda ax: _ellipsoids(ax, view), is_solid=True)}
    entries = Panel(lambda ax: _heat_map(ax, view.release.value, view.names))
    return [entries, other.get(k, Panel(lambda ax: _spectrum(ax, view)))]


def matrix_overlay(view: View, drawn: Sequence[Marked]) -> Panel:
    """Ellipses over, or ellipsoids beside one another; of larger matrices what leads from the first to the last."""
    matrices = [(np.asarray(one.point), one.style) for one in drawn]
    if len(matrices[0][0]) == 2:
        return Panel(lambda ax: _ellipses_over(ax, matrices))
    if len(matrices[0][0]) == 3:
        return Panel(lambda ax: _ellipsoids_beside(ax, matrices), is_solid=True)
    step = np.asarray(view.release.space.log(drawn[-1].point, drawn[0].point))
    return Panel(lambda ax: _heat_map(ax, step, view.names, f"from {drawn[0].name}\nto {drawn[-1].name}"))


def _ellipses_over(ax: Any, matrices: Sequence[tuple[Array, dict[str, Any]]]) -> None:
    for matrix, style in matrices:
        ax.plot(*outline(matrix).T, **({"linewidth": 1.8} | style))
    extent = 1.1 * max(np.abs(outline(matrix)).max() for matrix, _ in matrices)
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal")
    light(ax)


def _ellipsoids_beside(ax: Any, matrices: Sequence[tuple[Array, dict[str, Any]]]) -> None:
    """The first in the middle of the others, to see from small to large."""
    meshes = [mesh(matrix) for matrix, _ in matrices]
    size = 2.2 * max(float(np.abs(one).max()) for one in meshes)
    places = [0.0, -1.0, 1.0] if len(meshes) == 3 else [*range(len(meshes))]
    for (x, y, z), place, (_, style) in zip(meshes, places, matrices, strict=True):
        lines = style | {"linewidth": 0.7, "linestyle": "-", "rstride": 3, "cstride": 3}
        ax.plot_wireframe(x + place * size, y, z, **lines)
    wide = (max(places) - min(places) + 1) * size / 2
    middle = (max(places) + min(places)) * size / 2
    ax.set(xlim=(middle - wide, middle + wide), ylim=(-size / 2, size / 2), zlim=(-size / 2, size / 2))
    ax.set_box_aspect((2 * wide / size, 1, 1), zoom=0.98 if len(meshes) > 2 else 1.15)
    ax.view_init(elev=15, azim=-90)
    ax.set_axis_off()


def _heat_map(ax: Any, matrix: Array, names: Sequence[str], title: str = "entries of the released mean") -> None:
    """Entries as colours; small matrices also as numbers, large ones with a dash in negative cells."""
    top, k = float(np.abs(matrix).max()), len(matrix)
    shown = ax.imshow(matrix, cmap="PuOr_r", vmin=-top, vmax=top)
    ax.figure.colorbar(shown, ax=ax, shrink=0.8, pad=0.03).outline.set_visible(False)
    ticks = np.unique(np.linspace(0, k - 1, min(k, MOST_NAMES if names else 8)).astype(int))
    texts = names or [str(i + 1) for i in range(k)]
    for axis in (ax.xaxis, ax.yaxis):
        name_ticks(axis, ticks, [texts[i] for i in ticks])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=10)
    _label_cells(ax, matrix, top)


def _label_cells(ax: Any, matrix: Array, top: float) -> None:
    k = len(matrix)
    if k > MOST_NUMBERS:
        rows, columns = np.nonzero(matrix < 0)
        ax.scatter(columns, rows, marker="_", s=(90 / k) ** 2, color=BLACK, linewidths=0.6)
        ax.set_title(f"{ax.get_title()}\n(a dash marks a negative one)", fontsize=10)
        return
    for (i, j), entry in np.ndenumerate(matrix):
        colour = "white" if abs(entry) > 0.6 * top else BLACK
        ax.text(j, i, f"{entry:.2g}", ha="center", va="center", fontsize=13 - k, color=colour)


def outline(matrix: Array) -> Array:
    """The ellipse xᵀ A⁻¹ x = 1: one standard deviation of a normal law of covariance A."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(ROUND @ (vectors * np.sqrt(np.maximum(values, 0))).T)


def _ellipses(ax: Any, view: View) -> None:
    ax.plot([], [], color=SKY, linewidth=1, label=SIMULATED)
    for matrix in view.cloud[:50]:
        ax.plot(*outline(matrix).T, color=SKY, alpha=0.35, linewidth=0.7)
    ax.plot(*outline(np.asarray(view.ball.center)).T, color=BLACK, linestyle="--", label=f"{view.whose} centre")
    ax.plot(*outline(view.release.value).T, color=BLUE, linewidth=2.2, label="released mean")
    extent = 1.25 * max(np.abs(outline(m)).max() for m in (view.release.value, np.asarray(view.ball.center)))
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal")
    ax.set_title("ellipse of one standard deviation", fontsize=10)
    light(ax)


def _ellipsoids(ax: Any, view: View) -> None:
    from matplotlib.ticker import MaxNLocator

    dashed: dict[str, Any] = {"color": BLACK, "linewidth": 0.5, "alpha": 0.6, "linestyle": "--"}
    meshes: list[tuple[Array, dict[str, Any]]] = [
        (view.release.value, {"color": BLUE, "linewidth": 0.9, "label": "released mean"}),
        (np.asarray(view.ball.center), dashed | {"label": f"{view.whose} centre"}),
    ]
    extent = 0.0
    for matrix, style in meshes:
        x, y, z = mesh(matrix)
        ax.plot_wireframe(x, y, z, rstride=3, cstride=3, **style)
        extent = max(extent, *(float(np.abs(c).max()) for c in (x, y, z)))
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent), zlim=(-extent, extent), box_aspect=(1, 1, 1))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(3))
        axis.set_pane_color("white")
    ax.tick_params(labelsize=8)
    ax.grid(color="0.9")
    ax.set_title("ellipsoid of one standard deviation", fontsize=10)


def mesh(matrix: Array) -> Array:
    """(3, 37, 49): the ellipsoid xᵀ A⁻¹ x = 1, parallels by meridians around its axes."""
    values, vectors = np.linalg.eigh(matrix)
    height, turn = np.meshgrid(np.linspace(0, math.pi, 37), np.linspace(0, 2 * math.pi, 49), indexing="ij")
    ball = np.stack([np.sin(height) * np.cos(turn), np.sin(height) * np.sin(turn), np.cos(height)])
    return np.asarray(np.einsum("ij,jab->iab", vectors * np.sqrt(np.maximum(values, 0)), ball))


def _spectrum(ax: Any, view: View) -> None:
    released, center = (np.linalg.eigvalsh(m)[::-1] for m in (view.release.value, view.ball.center))
    place = np.arange(1, len(released) + 1)
    ax.plot(place, center, linestyle="--", linewidth=1, **(view.center_style | {"markersize": 5}))
    ax.plot(place, released, linewidth=1.2, **(RELEASED | {"markersize": 7}))
    log_scale(ax.yaxis)
    ax.set_xticks(place[:: 1 + len(place) // 16])
    ax.set_xlabel("rank", fontsize=9)
    ax.set_title("eigenvalues", fontsize=10)
    light(ax)
