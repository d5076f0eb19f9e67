"""How records of a group vary: drawn on the whole space where it has one or two dimensions, elsewhere mode by mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from riemdp.comparison import GroupMean, at_middle
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.description import COORDINATES
from riemdp.names import WhoseMean
from riemdp.plots.coordinates import coordinate_overlay, share_overlay
from riemdp.plots.landmarks import landmark_overlay
from riemdp.plots.matrices import matrix_overlay
from riemdp.plots.panels import ROUND, Marked, Panel, View
from riemdp.plots.style import BLUE, GREEN, ORANGE, SKY, VERMILION, light
from riemdp.plots.surfaces import SURFACES, Surface
from riemdp.regions import LEVEL
from riemdp.summaries.summary import Modes, Summary

FAR = 2.0  # standard deviations
MANY = 40  # coordinates, whose marks are small
# What is drawn of points among others, by the names by which spaces ask for pictures.
OVERLAYS: dict[str, Callable[[View, Sequence[Marked]], Panel]] = {
    COORDINATES: coordinate_overlay,
    "entries": coordinate_overlay,
    "shares": share_overlay,
    "matrix": matrix_overlay,
    "landmarks": landmark_overlay,
}
MEAN: dict[str, Any] = {"color": BLUE, "linestyle": "-", "label": "mean"}
BELOW: dict[str, Any] = {"color": SKY, "linestyle": "--", "label": f"{FAR:g} sd below"}
ABOVE: dict[str, Any] = {"color": VERMILION, "linestyle": "-.", "label": f"{FAR:g} sd above"}
NOISE_REACHES = "what noise alone reaches"
COLOURS, MARKS = (BLUE, VERMILION), ("o", "^")


@dataclass(frozen=True)
class Group:
    """A summary among others, and how it is drawn."""

    summary: Summary
    name: str  # "" if it is the only one
    place: int = 0

    @property
    def colour(self) -> str:
        """The colour of everything that belongs to the group."""
        return COLOURS[self.place]

    @property
    def mark(self) -> dict[str, Any]:
        """How the mean of the group is marked."""
        return {"color": self.colour, "marker": MARKS[self.place], "mec": "white", "markersize": 9}

    @property
    def space(self) -> Space:
        """The space of the group's records."""
        return self.summary.space

    @cached_property
    def mean(self) -> Array:
        """The released mean, in the form of the space's primitives."""
        return np.asarray(self.space.read(self.summary.value, "value"))

    def label(self, words: str) -> str:
        """The words, and whose they are."""
        return f"{words}, {self.name}" if self.name else words

    def spread_curve(self) -> Array:
        """Points so many standard deviations from the mean, or between them where there is one dimension."""
        spread = self.summary.spread
        axes = FAR * spread.directions * np.sqrt(spread.variances)
        return np.asarray(self.space.exp_coords(_around(self.space.dim) @ axes.T, self.mean))

    def arcs(self) -> list[Array]:
        """Along each mode that is more than noise, as far."""
        spread = self.summary.spread
        steps = np.linspace(-FAR, FAR, 61)[:, None]
        seen = [i for i in range(self.space.dim) if spread.significant[i]]
        lengths = [steps * math.sqrt(spread.variances[i]) * spread.directions[:, i] for i in seen]
        return [np.asarray(self.space.exp_coords(coords, self.mean)) for coords in lengths]

    def region_curve(self, of: WhoseMean) -> Array:
        """The rim of where the mean is, in inner form; where there is one dimension, what lies between its ends."""
        rim = self.space.read(self.summary.region(LEVEL, of=of).boundary(361), "rim")
        if self.space.dim > 1 or len(rim) < 2:
            return np.asarray(rim)
        low, high = self.space.log_coords(rim, self.mean)[:, 0]
        return np.asarray(self.space.exp_coords(np.linspace(low, high, 61)[:, None], self.mean))


def _around(dim: int) -> Array:
    """Unit vectors in all directions of the plane; of the line, numbers from -1 to 1."""
    return ROUND if dim == 2 else np.linspace(-1, 1, 61)[:, None]


# --- spaces of one or two dimensions ------------------------------------------------------------------------------


def surface_panels(view: View, groups: Sequence[Group]) -> list[Panel]:
    """The whole space with the spread of every group; and where their means are, close up."""
    surface = SURFACES[view.release.space.picture](view)
    return [Panel(lambda ax: _whole(ax, view, surface, groups)), Panel(lambda ax: _close_up(ax, view, groups))]


def _whole(ax: Any, view: View, surface: Surface, groups: Sequence[Group]) -> None:
    surface.backdrop(ax)
    if len(groups) == 1 and view.release.space.dim == 2:
        ax.plot(*surface.project(view.rim).T, **view.rim_style)
    for group in groups:
        curve = surface.project(group.spread_curve())
        style: dict[str, Any] = {"color": group.colour, "linewidth": 2}
        ax.plot(*curve.T, **style, label=group.label(f"{FAR:g} standard deviations of the records"))
        if view.release.space.dim == 2 and np.isfinite(curve).all():
            ax.fill(*curve.T, color=group.colour, alpha=0.12, linewidth=0)
        for i, arc in enumerate(group.arcs()):
            label = group.label("modes") if i == 0 else "_again"
            ax.plot(*surface.project(arc).T, color=group.colour, linewidth=1.5, linestyle=(0, (2, 1.5)), label=label)
        ax.plot(*surface.project(group.mean[None]).T, linestyle="none", **group.mark, label=group.label("mean"))


def _close_up(ax: Any, view: View, groups: Sequence[Group]) -> None:
    """Distances from the first mean are true."""
    base, paths = groups[0].mean, []
    for group in groups:
        styles: dict[WhoseMean, str] = {"population": "-", "records": ":"}
        for of, style in styles.items():
            if of == "population" or len(groups) == 1:
                path = _on_paper(view, group.region_curve(of), base)
                label = group.label(f"{100 * LEVEL:g} % region, {of}")
                ax.plot(*path.T, color=group.colour, linestyle=style, label=label)
                paths.append(path)
        ax.plot(*_on_paper(view, group.mean[None], base).T, linestyle="none", **group.mark)
        paths.append(_on_paper(view, group.mean[None], base))
    extent = 1.15 * float(np.nanmax(np.abs(np.concatenate(paths)))) or 1.0
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal")
    ax.locator_params(nbins=4)  # more of these long numbers run into one another
    ax.set_title("close-up: where the mean is" if len(groups) == 1 else "close-up: where the means are", fontsize=10)
    light(ax)


def _on_paper(view: View, points: Array, base: Array) -> Array:
    """Coordinates (n, 2) at one of them; the second is 0 where there is one dimension."""
    coords = view.coordinates(points, base)
    return coords if coords.shape[-1] == 2 else np.column_stack([coords[:, 0], 0 * coords[:, 0]])


# --- other spaces: mode by mode, or mean by mean -------------------------------------------------------------------


def mode_panels(view: View, group: Group, count: int | None, most: int) -> list[Panel]:
    """A panel for each mode: the mean, and what lies on both sides of it."""
    modes = group.summary.modes(count)
    shown = len(modes) if count is not None else min(len(modes), most)
    return [_mode_panel(view, group.summary, modes, i) for i in range(shown)]


def _mode_panel(view: View, summary: Summary, modes: Modes, i: int) -> Panel:
    step = FAR * math.sqrt(modes.variances[i]) * modes.directions[i]
    points = [summary.value, *(summary.space.exp(sign * step, summary.value) for sign in (-1, 1))]
    drawn = [Marked(np.asarray(p), style) for p, style in zip(points, (MEAN, BELOW, ABOVE), strict=True)]
    panel = _overlay(view, drawn)
    noise = "" if modes.significant[i] else ", no more than noise"
    return entitled(panel, f"mode {i + 1}: {100 * modes.ratios[i]:.0f} % of the variance{noise}")


def _overlay(view: View, drawn: Sequence[Marked]) -> Panel:
    return OVERLAYS.get(view.release.space.picture, coordinate_overlay)(view, drawn)


def entitled(panel: Panel, text: str) -> Panel:
    """The panel with these words above its own."""

    def draw(ax: Any) -> None:
        panel.draw(ax)
        own = ax.get_title()
        ax.set_title(f"{text}\n{own}" if own else text, fontsize=10)

    return Panel(draw, panel.is_solid)


def pair_panels(view: View, groups: Sequence[Group]) -> list[Panel]:
    """Both means, and how sure it is where they are."""
    styles = ({"color": group.colour, "label": f"mean of {group.name}"} for group in groups)
    lines = ("-", "--")
    points = zip(groups, styles, lines, strict=True)
    drawn = [Marked(group.summary.value, style | {"linestyle": line}) for group, style, line in points]
    return [entitled(_overlay(view, drawn), "the two means"), Panel(lambda ax: _intervals(ax, view, groups))]


def _intervals(ax: Any, view: View, groups: Sequence[Group]) -> None:
    """The shadows of the regions on each coordinate, at the point between the means."""
    first, second = groups
    parts = at_middle(view.release.space, first.summary, second.summary)
    for group, part, aside in zip(groups, parts, (-0.15, 0.15), strict=True):
        place, small = np.arange(1, len(part.coords) + 1) + aside, len(part.coords) > MANY
        style = group.mark | ({"markersize": 4} if small else {"markersize": 7})
        label = group.label(f"mean and shadow of its {100 * LEVEL:g} % region")
        ax.errorbar(place, part.coords, _shadows(part), linestyle="none", elinewidth=1.2, label=label, **style)
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("number of the coordinate", fontsize=9)
    ax.set_title("coordinates, from half way", fontsize=10)
    light(ax)


def _shadows(part: GroupMean) -> Array:
    """How far the region of the population's mean reaches along each coordinate."""
    return np.asarray(np.sqrt(part.error.quantile(LEVEL) * np.diag(part.covariance)))


# --- variances ----------------------------------------------------------------------------------------------------


def edges_fall(summary: Summary) -> bool:
    """Whether noise reaches less from mode to mode: where all directions were released, each mode takes one from it."""
    return summary.moments.kind == "full" and summary.space.dim > 1


def scree_panel(summary: Summary, most: int) -> Panel:
    """Variances by rank, those released and those cleared of noise, and what noise alone reaches."""
    spread, (noisy, edges) = summary.spread, (numbers[:most] for numbers in summary.moments.along_modes())

    def draw(ax: Any) -> None:
        rank = np.arange(1, len(noisy) + 1)
        ax.bar(rank, noisy, color="0.82", width=0.7, label="variance as released, with noise")
        reached: dict[str, Any] = {"color": ORANGE, "linestyle": "--"}
        label = f"{NOISE_REACHES},\nbeside the modes before" if edges_fall(summary) else NOISE_REACHES
        ax.hlines(edges, rank - 0.5, rank + 0.5, label=label, **reached)
        seen, cleared = spread.significant[: len(noisy)], spread.variances[: len(noisy)]
        dots: dict[str, Any] = {"color": BLUE, "linestyle": "none", "mec": "white", "markersize": 8}
        ax.plot(rank[seen], cleared[seen], marker="o", label="cleared of noise", **dots)
        if not seen.all():
            dashes = dots | {"color": GREEN, "mec": GREEN, "label": "share of what is left"}
            ax.plot(rank[~seen], cleared[~seen], marker="_", **dashes)
        ax.axhline(0, color="0.6", linewidth=0.8)
        ax.set_xticks(rank[:: 1 + len(rank) // 12])
        ax.set_xlabel("mode", fontsize=9)
        ax.set_title("variance of the records along each mode", fontsize=10)
        light(ax)

    return Panel(draw)
