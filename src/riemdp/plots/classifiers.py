"""Pictures of a released classifier: what it looks at in a record, class by class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemdp.errors import printable
from riemdp.manifolds.base import Array
from riemdp.plots.panels import Panel, View
from riemdp.statistics.classifier import ClassifierRelease

MOST_CLASSES, MOST_COORDINATES = 36, 400  # shown; of more, the first ones
COLOURS = "PuOr_r"


def classifier_panels(view: View) -> list[Panel]:
    """Coefficients of each class: as matrices where records are matrices, else one row of coordinates for each."""
    assert isinstance(view.release, ClassifierRelease)
    release = view.release
    shape = release.space.point_shape
    draw = _matrices if len(shape) == 2 and shape[0] == shape[1] and release.space.picture == "matrix" else _rows
    return [Panel(lambda ax: draw(ax, release))]


def _rows(ax: Any, release: ClassifierRelease) -> None:
    coef = release.coef[:MOST_CLASSES, :MOST_COORDINATES]
    top = float(np.abs(coef).max())
    shown = ax.imshow(coef, cmap=COLOURS, vmin=-top, vmax=top, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(coef)), [_name(label) for label in release.labels[:MOST_CLASSES]])
    ticks = np.unique(np.linspace(0, coef.shape[1] - 1, min(coef.shape[1], 10)).astype(int))
    ax.set_xticks(ticks, ticks + 1)
    ax.set_xlabel("number of the coordinate at the centre", fontsize=9)
    _finish(ax, shown, "coefficients of each class")


def _matrices(ax: Any, release: ClassifierRelease) -> None:
    """One tile for each class: the symmetric matrix whose inner product with a record's logarithm is the score."""
    coef = release.coef[:MOST_CLASSES]
    tiles = release.space.from_coordinates(coef, release.ball.center)
    k, columns = tiles.shape[-1], math.ceil(math.sqrt(len(tiles)))
    rows, pitch = math.ceil(len(tiles) / columns), k + max(2, k // 3)
    board = np.full((rows * pitch, columns * pitch - (pitch - k)), np.nan)
    for place, tile in enumerate(tiles):
        top, left = (place // columns) * pitch + (pitch - k), (place % columns) * pitch
        board[top : top + k, left : left + k] = tile / _size(tile)
        name = _name(release.labels[place])
        ax.text(left + k / 2 - 0.5, top - 0.9, name, ha="center", va="bottom", fontsize=9, parse_math=False)
    shown = ax.imshow(board, cmap=COLOURS, vmin=-1, vmax=1, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    _finish(ax, shown, "coefficients of each class\nat the centre, largest entry 1")


def _size(tile: Array) -> float:
    return float(np.abs(tile).max()) or 1.0


def _name(label: Any) -> str:
    text = printable(str(label))
    return text if len(text) <= 14 else f"{text[:13]}…"


def _finish(ax: Any, shown: Any, title: str) -> None:
    ax.figure.colorbar(shown, ax=ax, shrink=0.8, pad=0.03).outline.set_visible(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=9)
    ax.set_title(title, fontsize=10)
