"""A release in its space: the released mean, the public ball, and what the same noise does elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from riemdp.arguments import whole_number
from riemdp.errors import InputError, printable
from riemdp.io.values import numbers_of
from riemdp.manifolds import (
    Euclidean,
    Hyperbolic,
    KendallShapes,
    Product,
    Space,
    SPDAffine,
    SPDLogEuclidean,
    Sphere,
)
from riemdp.manifolds.base import Array
from riemdp.mechanisms import by_name
from riemdp.plots.guarantees import symbolic
from riemdp.plots.style import BLACK, BLUE, ORANGE, SKY, bare, legend, light, log_scale
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.release import Release
from riemdp.statistics.catalogue import statistic_for
from riemdp.statistics.class_means import CLASS_MEANS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RELEASED: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 9, "mec": "white", "label": "released mean"}
CENTER: dict[str, Any] = {"color": BLACK, "marker": "s", "markersize": 7, "mfc": "white", "label": "public centre"}
RIM: dict[str, Any] = {"color": ORANGE, "linewidth": 2, "linestyle": "--", "label": "public ball"}
CLOUD: dict[str, Any] = {"color": SKY, "s": 9, "alpha": 0.6, "linewidths": 0, "rasterized": True, "zorder": 1.5}
SIMULATED = "simulated releases"
TURN = np.linspace(0, 2 * math.pi, 361)
ROUND = np.stack([np.cos(TURN), np.sin(TURN)], axis=-1)  # unit vectors of the plane
MOST_DOTS = 4000  # of landmarks of simulated releases
MOST_NUMBERS = 8  # matrices up to this size show their entries as numbers


def plot_release(release: Release, *, stacked: bool = False, simulations: int = 200, seed: int = 0) -> Figure:
    """The released mean in its space, with the public ball and what the same noise does to it elsewhere.

    Simulated releases are seeded draws of the mechanism around the released mean: they show how far noise moves the
    mean of the records as moved into the ball, and depend on the records only through the release. `stacked` puts
    panels below one another.
    """
    if not isinstance(release, Release):
        raise InputError(f"release is of type {type(release).__name__}: pass what private_mean() returned.")
    view = View(release, whole_number(simulations, "simulations", 1), whole_number(seed, "seed", 0))
    panels_of = PANELS.get(type(release.space), _coordinate_panels) if release.kind == "point" else _number_panels
    panels = panels_of(view)
    noun = STATISTIC_NAMES.get(release.statistic, release.statistic)
    lines = f"Private {noun} of {release.n:,} records", f"{release.mechanism}, {symbolic(release.guarantee)}"
    return _figure(panels, "\n".join(map(printable, lines)), stacked)


STATISTIC_NAMES = {
    "frechet-mean": "Fréchet mean",
    "tangent-mean": "tangent mean",
    CLASS_MEANS: "tangent means of the classes",
}


@dataclass(frozen=True)
class View:
    """What pictures of a release show."""

    release: Release
    size: int
    seed: int

    @cached_property
    def ball(self) -> Ball:
        """The public ball, or the private one that an adaptive release found."""
        return self.release.ball

    @cached_property
    def value(self) -> Array:
        """The released point as the space's primitives see it."""
        return self.inner(self.release.value)

    @cached_property
    def cloud(self) -> Array:
        """Simulated releases."""
        return simulated_releases(self.release, self.size, self.seed)

    def inner(self, points: Array) -> Array:
        """Points as the space's primitives see them."""
        return self.release.space.read(points, "points")

    def coordinates(self, points: Array, base: Array) -> Array:
        """Orthonormal coordinates of the logs of points at one of them, all in inner form."""
        with np.errstate(all="ignore"):
            return self.release.space.log_coords(points, base)

    def circle(self, base: Array, radius: float) -> Array:
        """Points at this distance from one, in a space of dimension 2."""
        return self.release.space.exp_coords(radius * ROUND, base)


def simulated_releases(release: Release, size: int, seed: int) -> Array:
    """Seeded draws (size, *point_shape) of the mechanism, had the mean before noise been the released one.

    A released mean outside the ball is moved onto it, as records are. One record, the released mean, stands for
    all: each mechanism's law depends on the number of records through its scale alone.
    """
    ball, foot = release.ball, np.zeros(release.space.dim)
    mechanism = by_name(release.mechanism)
    record = Bounded(release.value[None], ball)
    value = statistic_for(mechanism, release.statistic, foot).value(record, foot)
    points = mechanism.simulate(value, release.scale, ball, foot, np.random.default_rng(seed), size)
    return release.space.write(points, ball.center)


@dataclass(frozen=True)
class Panel:
    """One part of a figure."""

    draw: Callable[[Any], None]
    is_solid: bool = False  # has three axes


def _figure(panels: Sequence[Panel], title: str, stacked: bool) -> Figure:
    from matplotlib.figure import Figure

    count = len(panels)
    rows, columns = (count, 1) if stacked else (1, count)
    width = 4.4 if stacked else 6.0 if count == 1 else 9.6
    figure = Figure(figsize=(width, rows * 4.2 + 1.0), layout="constrained", facecolor="white")
    for i, panel in enumerate(panels):
        panel.draw(figure.add_subplot(rows, columns, i + 1, projection="3d" if panel.is_solid else None))
    figure.suptitle(title, fontsize=11, parse_math=False)
    legend(figure, 2 if stacked else 3 if count == 1 else 5)
    return figure


def _cloud(ax: Any, xy: Array) -> None:
    ax.scatter(xy[:, 0], xy[:, 1], **CLOUD)
    ax.scatter([], [], **(CLOUD | {"s": 25, "alpha": 1.0, "rasterized": False}), label=SIMULATED)


# --- surfaces ----------------------------------------------------------------------------------------------


def _surface_panels(view: View, project: Callable[[Array], Array], backdrop: Callable[[Any], None]) -> list[Panel]:
    """The whole of a two-dimensional space (`project` gives NaN for what cannot be seen), and a close-up."""

    def whole(ax: Any) -> None:
        backdrop(ax)
        rim, cloud = project(view.circle(view.ball.inner_center, view.ball.radius)), project(view.inner(view.cloud))
        if np.isfinite(rim).all():
            ax.fill(*rim.T, color=ORANGE, alpha=0.12, linewidth=0)
        ax.plot(*rim.T, **RIM)
        _cloud(ax, cloud)
        ax.plot(*project(view.ball.inner_center[None]).T, linestyle="none", **CENTER)
        ax.plot(*project(view.value[None]).T, linestyle="none", **RELEASED)

    return [Panel(whole), Panel(lambda ax: _close_up(ax, view))]


def _close_up(ax: Any, view: View) -> None:
    """Around the released mean: distances and directions from it are true."""
    center, error = view.ball.inner_center, view.release.expected_error
    cloud = view.coordinates(view.inner(view.cloud), view.value)
    reach = max(1.3 * error, 1.1 * float(np.quantile(np.linalg.norm(cloud, axis=1), 0.95)))
    rim = view.coordinates(view.circle(center, view.ball.radius), view.value)
    _cloud(ax, cloud)
    ax.plot(*(error * ROUND).T, color=BLUE, linestyle=":", label=f"predicted noise {error:.3g}")
    ax.plot(*_unbroken(rim, reach).T, **RIM)
    ax.plot(*view.coordinates(center, view.value), linestyle="none", **CENTER)
    ax.plot(0, 0, linestyle="none", **RELEASED)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_title("close-up: distance from the released mean", fontsize=10)
    light(ax)


def _unbroken(path: Array, jump: float) -> Array:
    """The path with NaN where it leaps: logs leap where geodesics from the other side become shorter."""
    leaps = np.linalg.norm(np.diff(path, axis=0, append=path[-1:]), axis=1) > jump
    return np.where(leaps[:, None], np.nan, path)


def _plane_panels(view: View) -> list[Panel]:
    def backdrop(ax: Any) -> None:
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_title("the plane", fontsize=10)
        light(ax)

    return _surface_panels(view, lambda points: points, backdrop)


def _disc_panels(view: View) -> list[Panel]:
    """Poincaré's disc: (x_0, x) -> x/(R + x_0)."""
    radius = float(view.release.space.origin[0])

    def project(points: Array) -> Array:
        return np.asarray(points[..., 1:] / (radius + points[..., :1]))

    def backdrop(ax: Any) -> None:
        ax.plot(*ROUND.T, color=BLACK, linewidth=1.2)
        for t in (1, 2, 3):
            ax.plot(*(math.tanh(t / 2) * ROUND).T, color="0.85", linewidth=0.7)
        bare(ax, "Poincaré disc (grey: 1, 2, 3 radii of curvature)")

    return _surface_panels(view, project, backdrop)


def _globe_panels(view: View) -> list[Panel]:
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

    return _surface_panels(view, project, backdrop)


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


def _circle_panels(view: View) -> list[Panel]:
    """The circle, simulated releases just outside of it; and how far the mean is from the centre."""
    space, center = view.release.space, view.ball.inner_center
    radius = float(np.linalg.norm(center))

    def draw(ax: Any) -> None:
        arc = space.exp_coords(np.linspace(-view.ball.radius, view.ball.radius, 181)[:, None], center) / radius
        ax.plot(*ROUND.T, color="0.6", linewidth=1.2)
        ax.plot(*arc.T, **(RIM | {"linewidth": 4, "linestyle": "-"}))
        _cloud(ax, 1.07 * view.inner(view.cloud) / radius)
        ax.plot(*(center / radius), linestyle="none", **CENTER)
        ax.plot(*(view.value / radius), linestyle="none", **RELEASED)
        bare(ax, "")

    return [Panel(draw), *_coordinate_panels(view)]


# --- matrices ----------------------------------------------------------------------------------------------


def _matrix_panels(view: View) -> list[Panel]:
    """The entries, and the matrix as an ellipse, an ellipsoid or its spectrum."""
    k = view.release.value.shape[-1]
    other = {2: Panel(lambda ax: _ellipses(ax, view)), 3: Panel(lambda ax: _ellipsoids(ax, view), is_solid=True)}
    if k == 1:
        return _coordinate_panels(view)
    return [Panel(lambda ax: _heat_map(ax, view.release.value)), other.get(k, Panel(lambda ax: _spectrum(ax, view)))]


def _heat_map(ax: Any, matrix: Array) -> None:
    """Entries as colours; small matrices also as numbers, large ones with a dash in negative cells."""
    top, k = float(np.abs(matrix).max()), len(matrix)
    shown = ax.imshow(matrix, cmap="PuOr_r", vmin=-top, vmax=top)
    ax.figure.colorbar(shown, ax=ax, shrink=0.8, pad=0.03).outline.set_visible(False)
    ticks = np.unique(np.linspace(0, k - 1, min(k, 8)).astype(int))
    ax.set_xticks(ticks, ticks + 1)
    ax.set_yticks(ticks, ticks + 1)
    ax.tick_params(length=0, labelsize=9)
    ax.spines[:].set_visible(False)
    ax.set_title("entries of the released mean", fontsize=10)
    _label_cells(ax, matrix, top)


def _label_cells(ax: Any, matrix: Array, top: float) -> None:
    k = len(matrix)
    if k > MOST_NUMBERS:
        rows, columns = np.nonzero(matrix < 0)
        ax.scatter(columns, rows, marker="_", s=(90 / k) ** 2, color=BLACK, linewidths=0.6)
        ax.set_xlabel("a dash marks a negative entry", fontsize=9)
        return
    for (i, j), entry in np.ndenumerate(matrix):
        colour = "white" if abs(entry) > 0.6 * top else BLACK
        ax.text(j, i, f"{entry:.2g}", ha="center", va="center", fontsize=13 - k, color=colour)


def _outline(matrix: Array) -> Array:
    """The ellipse xᵀ A⁻¹ x = 1: one standard deviation of a normal law of covariance A."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(ROUND @ (vectors * np.sqrt(np.maximum(values, 0))).T)


def _ellipses(ax: Any, view: View) -> None:
    ax.plot([], [], color=SKY, linewidth=1, label=SIMULATED)
    for matrix in view.cloud[:50]:
        ax.plot(*_outline(matrix).T, color=SKY, alpha=0.35, linewidth=0.7)
    ax.plot(*_outline(np.asarray(view.ball.center)).T, color=BLACK, linestyle="--", label="public centre")
    ax.plot(*_outline(view.release.value).T, color=BLUE, linewidth=2.2, label="released mean")
    reach = 1.25 * max(np.abs(_outline(m)).max() for m in (view.release.value, np.asarray(view.ball.center)))
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_title("ellipse of one standard deviation", fontsize=10)
    light(ax)


def _ellipsoids(ax: Any, view: View) -> None:
    from matplotlib.ticker import MaxNLocator

    meshes = {"released mean": view.release.value, "public centre": np.asarray(view.ball.center)}
    styles = {
        "released mean": {"color": BLUE, "linewidth": 0.9},
        "public centre": {"color": BLACK, "linewidth": 0.5, "alpha": 0.6, "linestyle": "--"},
    }
    reach = 0.0
    for name, matrix in meshes.items():
        x, y, z = _mesh(matrix)
        ax.plot_wireframe(x, y, z, rstride=3, cstride=3, label=name, **styles[name])
        reach = max(reach, *(float(np.abs(c).max()) for c in (x, y, z)))
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach), box_aspect=(1, 1, 1))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(3))
        axis.set_pane_color("white")
    ax.tick_params(labelsize=8)
    ax.grid(color="0.9")
    ax.set_title("ellipsoid of one standard deviation", fontsize=10)


def _mesh(matrix: Array) -> Array:
    """(3, 37, 49): the ellipsoid xᵀ A⁻¹ x = 1, parallels by meridians around its axes."""
    values, vectors = np.linalg.eigh(matrix)
    height, turn = np.meshgrid(np.linspace(0, math.pi, 37), np.linspace(0, 2 * math.pi, 49), indexing="ij")
    ball = np.stack([np.sin(height) * np.cos(turn), np.sin(height) * np.sin(turn), np.cos(height)])
    return np.asarray(np.einsum("ij,jab->iab", vectors * np.sqrt(np.maximum(values, 0)), ball))


def _spectrum(ax: Any, view: View) -> None:
    released, center = (np.linalg.eigvalsh(m)[::-1] for m in (view.release.value, view.ball.center))
    place = np.arange(1, len(released) + 1)
    ax.plot(place, center, linestyle="--", linewidth=1, **(CENTER | {"markersize": 5}))
    ax.plot(place, released, linewidth=1.2, **(RELEASED | {"markersize": 7}))
    log_scale(ax.yaxis)
    ax.set_xticks(place[:: 1 + len(place) // 16])
    ax.set_xlabel("rank", fontsize=9)
    ax.set_title("eigenvalues", fontsize=10)
    light(ax)


# --- shapes ------------------------------------------------------------------------------------------------


def _landmark_panels(view: View) -> list[Panel]:
    """Landmarks of the released mean over the public centre, all turned onto the centre."""
    center = view.ball.inner_center
    few = view.cloud[: max(20, MOST_DOTS // len(center))]
    released, cloud = (_turned(view.inner(p), center) for p in (view.release.value, few))

    def draw(ax: Any) -> None:
        small = {"markersize": 6 if len(center) <= 60 else 3}
        _cloud(ax, np.stack([cloud.real.ravel(), cloud.imag.ravel()], axis=-1))
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


# --- any space ---------------------------------------------------------------------------------------------


def _coordinate_panels(view: View) -> list[Panel]:
    """Orthonormal coordinates at the public centre, and their predicted error."""
    coords = view.coordinates(view.value, view.ball.inner_center)
    return [Panel(lambda ax: _error_bars(ax, view, coords, 0 * coords, "coordinates at the public centre"))]


def _product_panels(view: View) -> list[Panel]:
    """Coordinates, with a line between those of one factor and those of the next."""
    [whole], space = _coordinate_panels(view), view.release.space
    assert isinstance(space, Product)
    ends = np.cumsum([factor.dim for factor in space.factors])[:-1]

    def draw(ax: Any) -> None:
        whole.draw(ax)
        for end in ends:
            ax.axvline(end + 0.5, color="0.8", linewidth=0.8)

    return [Panel(draw)]


def _entry_panels(view: View) -> list[Panel]:
    """Entries of a vector, and their predicted error."""
    return [Panel(lambda ax: _error_bars(ax, view, view.value, view.ball.inner_center, "entries"))]


def _number_panels(view: View) -> list[Panel]:
    """What is no point: its numbers, one after the other."""
    numbers = np.concatenate([array.ravel() for array in numbers_of(view.release.value, view.release.kind)])

    def draw(ax: Any) -> None:
        ax.plot(np.arange(1, len(numbers) + 1), numbers, linestyle="none", **(RELEASED | {"label": "released value"}))
        ax.set_xlabel("number of the entry", fontsize=9)
        light(ax)

    return [Panel(draw)]


def _error_bars(ax: Any, view: View, values: Array, center: Array, title: str) -> None:
    place, error = np.arange(1, len(values) + 1), view.release.expected_error / math.sqrt(len(values))
    small: dict[str, Any] = {"markersize": 4, "mec": BLUE}
    many, far = len(values) > 40, float(np.abs(values - center).max() + 2 * error)
    if view.ball.radius < 2 * far:
        _draw_range(ax, _steps(place), np.repeat(center, 2), view.ball.radius)
    else:
        title = f"{title}\n(the public ball, ±{view.ball.radius:.3g}, reaches beyond the picture)"
    ax.plot(place, center, linestyle="none", **(CENTER | ({"markersize": 2} if many else {})))
    style = RELEASED | {"label": "released mean ± predicted noise"} | (small if many else {})
    ax.errorbar(place, values, error, linestyle="none", elinewidth=1.2, capsize=0 if many else 3, **style)
    ax.set_xlim(0.4, len(values) + 0.6)
    if not many:
        ax.set_xticks(place[:: 1 if len(values) <= 20 else 2])
    ax.set_xlabel("number of the coordinate", fontsize=9)
    ax.set_title(title, fontsize=10)
    light(ax)


def _draw_range(ax: Any, x: Array, center: Array, radius: float) -> None:
    ax.fill_between(x, center - radius, center + radius, color=ORANGE, alpha=0.15, linewidth=0)
    ax.plot(x, center - radius, **(RIM | {"linewidth": 1}))
    ax.plot(x, center + radius, **(RIM | {"linewidth": 1, "label": "_again"}))


def _steps(place: Array) -> Array:
    """Both ends of the unit interval around each place."""
    return np.stack([place - 0.5, place + 0.5], axis=-1).ravel()


def _by_dimension(special: dict[int, Callable[[View], list[Panel]]], rest: Any) -> Callable[[View], list[Panel]]:
    return lambda view: special.get(view.release.space.dim, rest)(view)


# A space that is missing here is drawn by its coordinates.
PANELS: dict[type[Space], Callable[[View], list[Panel]]] = {
    Euclidean: _by_dimension({2: _plane_panels}, _entry_panels),
    Sphere: _by_dimension({1: _circle_panels, 2: _globe_panels}, _coordinate_panels),
    Hyperbolic: _by_dimension({2: _disc_panels}, _coordinate_panels),
    SPDAffine: _matrix_panels,
    SPDLogEuclidean: _matrix_panels,
    KendallShapes: _landmark_panels,
    Product: _product_panels,
}
