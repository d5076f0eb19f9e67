"""Pictures of spaces of one and two dimensions as a whole: plane, Poincaré's disc, globe, circle."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemdp.manifolds.base import Array
from riemdp.plots.coordinates import coordinate_panels
from riemdp.plots.panels import RELEASED, ROUND, Panel, View, draw_cloud
from riemdp.plots.style import BLACK, BLUE, ORANGE, bare, light


@dataclass(frozen=True)
class Surface:
    """How a space of one or two dimensions is put on paper."""

    project: Callable[[Array], Array]  # points, in inner form; NaN for what cannot be seen
    backdrop: Callable[[Any], None]


def _surface_panels(view: View, surface: Surface) -> list[Panel]:
    """The whole of a two-dimensional space, and a close-up."""
    project = surface.project

    def whole(ax: Any) -> None:
        surface.backdrop(ax)
        rim, cloud = project(view.rim), project(view.inner(view.cloud))
        if np.isfinite(rim).all():
            ax.fill(*rim.T, color=ORANGE, alpha=0.12, linewidth=0)
        ax.plot(*rim.T, **view.rim_style)
        draw_cloud(ax, cloud)
        ax.plot(*project(view.ball.inner_center[None]).T, linestyle="none", **view.center_style)
        ax.plot(*project(view.value[None]).T, linestyle="none", **RELEASED)

    return [Panel(whole), Panel(lambda ax: _close_up(ax, view))]


def _close_up(ax: Any, view: View) -> None:
    """Around the released mean: distances and directions from it are true."""
    center, error = view.ball.inner_center, view.release.expected_error
    cloud = view.coordinates(view.inner(view.cloud), view.value)
    extent = max(1.3 * error, 1.1 * float(np.quantile(np.linalg.norm(cloud, axis=1), 0.95)))
    rim = view.coordinates(view.rim, view.value)
    draw_cloud(ax, cloud)
    ax.plot(*view.error_curve.T, color=BLUE, linestyle=":", label=f"predicted noise {error:.3g}")
    ax.plot(*_unbroken(rim, extent).T, **view.rim_style)
    ax.plot(*view.coordinates(center, view.value), linestyle="none", **view.center_style)
    ax.plot(0, 0, linestyle="none", **RELEASED)
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal")
    ax.set_title("close-up: distance from the released mean", fontsize=10)
    ax.locator_params(nbins=5)
    light(ax)


def _unbroken(path: Array, jump: float) -> Array:
    """The path with NaN where it leaps: logs leap where geodesics from the other side become shorter."""
    leaps = np.linalg.norm(np.diff(path, axis=0, append=path[-1:]), axis=1) > jump
    return np.where(leaps[:, None], np.nan, path)


def plane_panels(view: View) -> list[Panel]:
    """The plane, and a close-up."""
    return _surface_panels(view, plane(view))


def disc_panels(view: View) -> list[Panel]:
    """Poincaré's disc, and a close-up."""
    return _surface_panels(view, disc(view))


def globe_panels(view: View) -> list[Panel]:
    """The globe, and a close-up."""
    return _surface_panels(view, globe(view))


def plane(view: View) -> Surface:
    """Points as they are, two numbers each."""

    def backdrop(ax: Any) -> None:
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_title("the plane", fontsize=10)
        for axis, name in zip((ax.xaxis, ax.yaxis), view.names, strict=False):
            axis.set_label_text(name, fontsize=9, parse_math=False)
        light(ax)

    return Surface(lambda points: points, backdrop)


def disc(view: View) -> Surface:
    """Poincaré's disc: (x_0, x) -> x/(R + x_0)."""
    radius = float(view.inner(view.release.space.origin)[0])

    def project(points: Array) -> Array:
        return np.asarray(points[..., 1:] / (radius + points[..., :1]))

    def backdrop(ax: Any) -> None:
        ax.plot(*ROUND.T, color=BLACK, linewidth=1.2)
        for t in (1, 2, 3):
            ax.plot(*(math.tanh(t / 2) * ROUND).T, color="0.85", linewidth=0.7)
        bare(ax, "Poincaré disc (grey: 1, 2, 3 radii of curvature)")

    return Surface(project, backdrop)


def globe(view: View) -> Surface:
    """The sphere from far away, looked at from beside the ball's centre."""
    frame = _frame(np.asarray(view.ball.center) / np.linalg.norm(view.ball.center))
    radius = float(np.linalg.norm(view.ball.center))

    def project(points: Array) -> Array:
        seen = points / radius @ frame.T
        return np.where(seen[..., 2:] >= 0, seen[..., :2], np.nan)

    def backdrop(ax: Any) -> None:
        for line in _graticule():
            ax.plot(*project(radius * line).T, color="0.85", linewidth=0.7)
        ax.plot(*ROUND.T, color=BLACK, linewidth=1.2)
        bare(ax, _globe_title(project(view.value[None])))

    return Surface(project, backdrop)


def _globe_title(released: Array) -> str:
    hidden = not np.isfinite(released).all()
    return "globe (the released mean lies behind)" if hidden else "globe, seen from above the ball"


def _frame(center: Array) -> Array:
    """Rows: right, up, and the direction of the eye, which lies 30 degrees beside the centre."""
    aside = np.array([0.48, -0.6, 0.64])
    aside = np.cross(center, aside if abs(center @ aside) < 0.9 else aside[::-1] * [1, -1, 1])
    eye = math.cos(math.pi / 6) * center + math.sin(math.pi / 6) * aside / np.linalg.norm(aside)
    pole = np.eye(3)[2 if abs(eye[2]) < 0.99 else 0]
    right = np.cross(pole, eye) / np.linalg.norm(np.cross(pole, eye))
    return np.stack([right, np.cross(eye, right), eye])


def _graticule() -> list[Array]:
    """Meridians and parallels of the unit sphere every 30 degrees."""
    steps = np.radians(np.arange(0, 180, 30))
    meridians = [np.stack([np.cos(a) * ROUND[:, 0], np.sin(a) * ROUND[:, 0], ROUND[:, 1]], axis=-1) for a in steps]
    heights = np.radians([-60, -30, 0, 30, 60])
    parallels = [np.column_stack([np.cos(h) * ROUND, np.full(len(ROUND), np.sin(h))]) for h in heights]
    return meridians + parallels


def circle(view: View) -> Surface:
    """The circle, of radius 1."""
    radius = float(np.linalg.norm(view.ball.inner_center))

    def backdrop(ax: Any) -> None:
        ax.plot(*ROUND.T, color="0.6", linewidth=1.2)
        bare(ax, "the circle")

    return Surface(lambda points: points / radius, backdrop)


def circle_panels(view: View) -> list[Panel]:
    """The circle, simulated releases just outside of it; and how far the mean is from the centre."""
    space, center = view.release.space, view.ball.inner_center
    radius = float(np.linalg.norm(center))

    def draw(ax: Any) -> None:
        arc = space.exp_coords(np.linspace(-view.ball.radius, view.ball.radius, 181)[:, None], center) / radius
        ax.plot(*ROUND.T, color="0.6", linewidth=1.2)
        ax.plot(*arc.T, **(view.rim_style | {"linewidth": 4, "linestyle": "-"}))
        draw_cloud(ax, 1.07 * view.inner(view.cloud) / radius)
        ax.plot(*(center / radius), linestyle="none", **view.center_style)
        ax.plot(*(view.value / radius), linestyle="none", **RELEASED)
        bare(ax, "")

    return [Panel(draw), *coordinate_panels(view)]


# Kinds of pictures that show the whole space, by the names by which spaces ask for them.
SURFACES: dict[str, Callable[[View], Surface]] = {"plane": plane, "disc": disc, "globe": globe, "circle": circle}
