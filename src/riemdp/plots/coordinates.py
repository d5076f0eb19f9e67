"""Pictures that every space has: its coordinates, or the entries of a vector, with their predicted error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riemdp.io.values import numbers_of
from riemdp.manifolds.base import Array
from riemdp.plots.panels import RELEASED, Marked, Panel, View
from riemdp.plots.style import BLUE, ORANGE, light, name_ticks

MOST_NAMES = 60  # of entries


def coordinate_panels(view: View) -> list[Panel]:
    """Orthonormal coordinates at the public centre, and their predicted error; a line between parts of the space."""
    coords = view.coordinates(view.value, view.ball.inner_center)
    ends = np.cumsum([0, *(part.dim for part in view.release.space.parts)])

    def draw(ax: Any) -> None:
        _error_bars(ax, view, coords, 0 * coords, f"coordinates at the {view.whose} centre")
        for end in ends[1:-1]:
            ax.axvline(end + 0.5, color="0.8", linewidth=0.8)
        if len(view.names) == len(ends) - 1 > 1:  # those of the classes, say
            name_ticks(ax.xaxis, (ends[1:] + ends[:-1] + 1) / 2, view.names)
            ax.set_xlabel("")

    return [Panel(draw)]


def coordinate_overlay(view: View, drawn: Sequence[Marked]) -> Panel:
    """What leads from the first to the last, in orthonormal coordinates there."""
    base, last = view.inner(drawn[0].point), drawn[-1]
    steps = view.coordinates(view.inner(last.point), base)

    def draw(ax: Any) -> None:
        ax.bar(np.arange(1, len(steps) + 1), steps, color=last.style["color"], width=0.7)
        ax.axhline(0, color="0.6", linewidth=0.8)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("number of the coordinate", fontsize=9)
        ax.set_title(f"from {drawn[0].name} to {last.name}", fontsize=10)
        _name_entries(ax, view, len(steps))
        light(ax)

    return Panel(draw)


def entry_panels(view: View) -> list[Panel]:
    """Entries of a vector, and their predicted error."""

    def draw(ax: Any) -> None:
        _error_bars(ax, view, view.value, view.ball.inner_center, "entries")
        _name_entries(ax, view, len(view.value))

    return [Panel(draw)]


def share_panels(view: View) -> list[Panel]:
    """Shares of a whole as bars, and where 95 % of simulated releases are."""
    shares, center = view.release.value, view.ball.center
    reach = np.abs(np.quantile(view.cloud, (0.025, 0.975), axis=0) - shares)

    def draw(ax: Any) -> None:
        place = np.arange(1, len(shares) + 1)
        ax.bar(place, shares, 0.7, color=BLUE, label="released mean")
        ax.errorbar(place, shares, reach, linestyle="none", color="0.2", capsize=3, label="95 % of simulated releases")
        ax.plot(place, center, linestyle="none", **view.center_style)
        _name_shares(ax, view, len(shares))

    return [Panel(draw)]


def share_overlay(view: View, drawn: Sequence[Marked]) -> Panel:
    """The shares of each point, side by side."""
    width = 0.8 / len(drawn)

    def draw(ax: Any) -> None:
        for i, marked in enumerate(drawn):
            place = np.arange(1, len(marked.point) + 1) + (i - (len(drawn) - 1) / 2) * width
            ax.bar(place, marked.point, width, color=marked.style["color"], label=marked.name)
        _name_shares(ax, view, len(drawn[0].point))

    return Panel(draw)


def _name_shares(ax: Any, view: View, count: int) -> None:
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("number of the category", fontsize=9)
    ax.set_ylabel("share", fontsize=9)
    _name_entries(ax, view, count)
    light(ax)


def _name_entries(ax: Any, view: View, count: int) -> None:
    """Show names of entries instead of their numbers, if there are as many and not too many."""
    if len(view.names) == count <= MOST_NAMES:
        name_ticks(ax.xaxis, range(1, count + 1), view.names)
        ax.set_xlabel("")


def number_panels(view: View) -> list[Panel]:
    """What is no point: its numbers, one after the other."""
    numbers = np.concatenate([array.ravel() for array in numbers_of(view.release.value, view.release.kind)])

    def draw(ax: Any) -> None:
        ax.plot(np.arange(1, len(numbers) + 1), numbers, linestyle="none", **(RELEASED | {"label": "released value"}))
        ax.set_xlabel("number of the entry", fontsize=9)
        _name_entries(ax, view, len(numbers))
        light(ax)

    return [Panel(draw)]


def _error_bars(ax: Any, view: View, values: Array, center: Array, title: str) -> None:
    place, errors = np.arange(1, len(values) + 1), view.errors
    small: dict[str, Any] = {"markersize": 4, "mec": BLUE}
    many, far = len(values) > 40, float((np.abs(values - center) + 2 * errors).max())
    if view.widths.max() < 2 * far:
        _draw_range(ax, view, _steps(place), np.repeat(center, 2))
    else:
        title = f"{title}\n(the {view.body}, ±{view.widths.max():.3g}, reaches beyond the picture)"
    ax.plot(place, center, linestyle="none", **(view.center_style | ({"markersize": 2} if many else {})))
    style = RELEASED | {"label": "released mean ± predicted noise"} | (small if many else {})
    ax.errorbar(place, values, errors, linestyle="none", elinewidth=1.2, capsize=0 if many else 3, **style)
    ax.set_xlim(0.4, len(values) + 0.6)
    if not many:
        ax.set_xticks(place[:: 1 if len(values) <= 20 else 2])
    ax.set_xlabel("number of the coordinate", fontsize=9)
    ax.set_title(title, fontsize=10)
    light(ax)


def _draw_range(ax: Any, view: View, x: Array, center: Array) -> None:
    low, high = (center + side * np.repeat(view.widths, 2) for side in (-1, 1))
    ax.fill_between(x, low, high, color=ORANGE, alpha=0.15, linewidth=0)
    ax.plot(x, low, **(view.rim_style | {"linewidth": 1}))
    ax.plot(x, high, **(view.rim_style | {"linewidth": 1, "label": "_again"}))


def _steps(place: Array) -> Array:
    """Both ends of the unit interval around each place."""
    return np.stack([place - 0.5, place + 0.5], axis=-1).ravel()
