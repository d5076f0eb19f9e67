"""The picture of a shape: its landmarks, with links between them, over those of the centre."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riemdp.errors import InputError, printable
from riemdp.manifolds.base import Array
from riemdp.plots.panels import RELEASED, Links, Marked, Panel, View, draw_cloud
from riemdp.plots.style import bare

MOST_DOTS = 4000  # of landmarks of simulated releases
MOST_NAMES = 40  # of landmarks


def landmark_panels(view: View) -> list[Panel]:
    """Landmarks of the released mean over those of the centre, all turned onto the centre."""
    center = view.ball.inner_center
    few = view.cloud[: max(20, MOST_DOTS // len(center))]
    released, cloud = (turned(view.inner(p), center) for p in (view.release.value, few))

    links = linked(view.links, len(center))

    def draw(ax: Any) -> None:
        small = {"markersize": 6 if len(center) <= 60 else 3}
        draw_cloud(ax, np.stack([cloud.real.ravel(), cloud.imag.ravel()], axis=-1))
        _draw_linked(ax, center, links, view.center_style | small | {"linestyle": "--", "linewidth": 1})
        _draw_linked(ax, released, links, RELEASED | small | {"linestyle": "-", "linewidth": 1.5})
        _name_landmarks(ax, released, view.names)
        ax.margins(0.1)
        bare(ax, f"landmarks, turned and scaled to the {view.whose} centre")

    return [Panel(draw)]


def landmark_overlay(view: View, drawn: Sequence[Marked]) -> Panel:
    """Outlines over one another, all turned onto the first."""
    shapes = [view.inner(one.point) for one in drawn]
    links, onto = linked(view.links, len(shapes[0])), shapes[0]

    def draw(ax: Any) -> None:
        dots: dict[str, Any] = {"marker": ".", "markersize": 5 if len(onto) <= 60 else 2, "linewidth": 1.6}
        for shape, one in zip(shapes, drawn, strict=True):
            _draw_linked(ax, turned(shape, onto), links, dots | one.style | {"label": "_dots"})
            ax.plot([], [], **one.style)  # the legend has lines
        ax.margins(0.08)
        bare(ax, "")

    return Panel(draw)


def linked(links: Links, count: int) -> list[tuple[int, int]]:
    """Pairs of landmarks that a line joins: each to the next and the last to the first, or as given."""
    around = [(i, (i + 1) % count) for i in range(count)]
    known: dict[str, list[tuple[int, int]]] = {"outline": around, "path": around[:-1], "none": []}
    if isinstance(links, str) and links in known:
        return known[links]
    try:
        pairs = [] if isinstance(links, str) else [(int(i), int(j)) for i, j in links]
    except (TypeError, ValueError):
        pairs = []
    if not pairs or not all(0 <= i < count for pair in pairs for i in pair):
        words = f"pass 'outline', 'path', 'none' or pairs of numbers from 0 to {count - 1}"
        raise InputError(f"links = {links!r:.100}: {words}.")
    return pairs


def turned(shapes: Array, onto: Array) -> Array:
    """Pre-shapes w times the phase that makes z* w positive."""
    inner = (onto.conj() * shapes).sum(axis=-1, keepdims=True)
    size = np.abs(inner)
    return np.asarray(shapes * np.where(size > 0, inner.conj() / np.where(size > 0, size, 1.0), 1.0))


def _draw_linked(ax: Any, z: Array, links: list[tuple[int, int]], style: dict[str, Any]) -> None:
    """Landmarks in their order, and below them the lines of their links."""
    ax.plot(z.real, z.imag, **(style | {"linestyle": "none"}))
    line = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": style["linewidth"], "zorder": 1.8}
    ends = np.array([[z[i], z[j], np.nan] for i, j in links]).ravel()
    ax.plot(ends.real, ends.imag, label="_links", **line)


def _name_landmarks(ax: Any, z: Array, names: tuple[str, ...]) -> None:
    if len(z) > (MOST_NAMES if names else 12):
        return
    for i, point in enumerate(z):
        away = complex(point / abs(point)) if abs(point) > 0 else 1.0
        side = "left" if away.real > 0.4 else "right" if away.real < -0.4 else "center"
        place: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "center", "parse_math": False}
        text = printable(names[i]) if names else str(i + 1)
        offset = (10 * away.real, 12 * away.imag)
        ax.annotate(text, (point.real, point.imag), xytext=offset, fontsize=9 if len(z) <= 20 else 7, **place)
