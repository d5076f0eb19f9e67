"""The picture of a shape: its landmarks over those of the public centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from riemdp.manifolds.base import Array
from riemdp.plots.panels import CENTER, RELEASED, Panel, View, draw_cloud
from riemdp.plots.style import bare

MOST_DOTS = 4000  # of landmarks of simulated releases


def landmark_panels(view: View) -> list[Panel]:
    """Landmarks of the released mean over the public centre, all turned onto the centre."""
    center = view.ball.inner_center
    few = view.cloud[: max(20, MOST_DOTS // len(center))]
    released, cloud = (_turned(view.inner(p), center) for p in (view.release.value, few))

    def draw(ax: Any) -> None:
        small = {"markersize": 6 if len(center) <= 60 else 3}
        draw_cloud(ax, np.stack([cloud.real.ravel(), cloud.imag.ravel()], axis=-1))
        _polygon(ax, center, CENTER | small | {"linestyle": "--", "linewidth": 1})
        _polygon(ax, released, RELEASED | small | {"linestyle": "-", "linewidth": 1.5})
        _number_landmarks(ax, released)
        ax.margins(0.1)
        bare(ax, "landmarks, turned and scaled to the public centre")

    return [Panel(draw)]


def _turned(shapes: Array, onto: Array) -> Array:
    """Pre-shapes w times the phase that makes z* w positive."""
    inner = (onto.conj() * shapes).sum(axis=-1, keepdims=True)
    size = np.abs(inner)
    return np.asarray(shapes * np.where(size > 0, inner.conj() / np.where(size > 0, size, 1.0), 1.0))


def _polygon(ax: Any, z: Array, style: dict[str, Any]) -> None:
    closed = np.append(z, z[0])
    ax.plot(closed.real, closed.imag, **style)


def _number_landmarks(ax: Any, z: Array) -> None:
    if len(z) > 12:
        return
    for i, point in enumerate(z):
        away = point / abs(point) if abs(point) > 0 else 1.0
        offset = (15 * np.real(away), 15 * np.imag(away))
        place: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
        ax.annotate(str(i + 1), (point.real, point.imag), xytext=offset, fontsize=9, **place)
