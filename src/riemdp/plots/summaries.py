"""Summaries in their space: how the records vary around the mean, and how the means of two groups differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from riemdp.arguments import whole_number
from riemdp.comparison import common_space, compare
from riemdp.errors import InputError, printable
from riemdp.labels import checked_names, named_numbers
from riemdp.labels import title as title_of
from riemdp.plots.groups import Group, mode_panels, pair_panels, scree_panel, surface_panels
from riemdp.plots.guarantees import symbolic
from riemdp.plots.panels import Links, Panel, View
from riemdp.plots.releases import draw_panels, release_panels, require_landmarks
from riemdp.plots.sheets import Given, Size, axes_on, legend, set_title, sheet
from riemdp.plots.surfaces import SURFACES
from riemdp.summaries.spread import LARGEST_MATRIX
from riemdp.summaries.summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_MODES = 3  # as shapes, if not asked for otherwise
MOST_RANKS = 24  # of variances
SIMULATIONS = 100
NO_MODES = "only the sum of the variances was released, which tells the dispersion but no modes"


@overload
def plot_summary(
    summary: Summary,
    *,
    ax: None = None,
    modes: int | None = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    size: Size | None = None,
    stacked: bool = False,
) -> Figure: ...
@overload
def plot_summary(
    summary: Summary,
    *,
    ax: Given,
    modes: int | None = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    stacked: bool = False,
) -> Given: ...
def plot_summary(
    summary: Summary,
    *,
    ax: Any = None,
    modes: int | None = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    size: Size | None = None,
    stacked: bool = False,
) -> Any:
    """How the records vary: the mean with what lies two standard deviations from it, and the variances.

    Of shapes, tensors, matrices and vectors a panel for each mode; of planes, discs, spheres and circles the whole
    space, with an ellipse of two standard deviations, arcs along the modes, and a close-up of the regions in which
    the mean is. The last panel has the variances of all modes and what noise alone reaches. A summary that tells only
    the sum of the variances has no modes: of shapes, tensors, matrices and vectors its picture is that of the mean.

    Parameters
    ----------
    summary : Summary
        What `private_summary` returned.
    ax : matplotlib Axes, Figure or SubFigure, optional
        Where to draw, as of `plot_release`.
    modes : int, optional
        How many are shown; without it up to three of those that are more than noise.
    names, links, title, size, stacked : as of plot_release
        What things are called, lines between landmarks, and how the panels are laid out.

    Returns
    -------
    Figure
        With all panels; or what was given as `ax`.

    Raises
    ------
    InputError
        If an argument does not fit the summary.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.0)
    >>> summary = rd.private_summary(rd.Sphere(2).random_point(500, 1), ball, rd.GDP(1.0))
    >>> figure = plot_summary(summary)
    >>> save_figure(figure, "summary.svg")
    """
    view = _view_of(summary, names, links)
    count = None if modes is None else whole_number(modes, "modes", 1)
    shown = "how they vary" if count or shows_spread(summary) else f"their mean; dispersion {summary.dispersion:.4g}"
    usual = f"{title_of(summary)}: {shown}\n{summary.mechanism}, {symbolic(summary.guarantee)}"
    panels = [*_variation(view, summary, count), *_scree(summary)]
    return _figure(panels, usual, title, ax, size, stacked)


@overload
def plot_scree(summary: Summary, *, ax: None = None, title: str | None = None, size: Size | None = None) -> Figure: ...
@overload
def plot_scree(summary: Summary, *, ax: Given, title: str | None = None) -> Given: ...
def plot_scree(summary: Summary, *, ax: Any = None, title: str | None = None, size: Size | None = None) -> Any:
    """Variances of the records along each mode, and what noise alone reaches beside the modes before.

    Parameters
    ----------
    summary : Summary
        What `private_summary` returned, with full or diagonal second moments.
    ax, title, size : as of plot_release
        Where to draw, what to write above it, and how large.

    Returns
    -------
    Figure
        With the variances; or what was given as `ax`.

    Raises
    ------
    InputError
        If it is no summary, or one that tells only the sum of the variances.

    Examples
    --------
    >>> ball = rd.Ball(rd.Euclidean(4), [0.0, 0.0, 0.0, 0.0], 3.0)
    >>> summary = rd.private_summary(rd.Euclidean(4).random_point(500, 1), ball, rd.GDP(1.0))
    >>> save_figure(plot_scree(summary), "variances.svg")
    """
    _require_summary(summary)
    panels = _scree(summary)
    if not panels:
        raise InputError("the summary tells only the sum of the variances: release one with second='full'.")
    place = sheet(ax, size, (5.4, 4.4))
    axes = axes_on(place)
    panels[0].draw(axes)
    if title is not None:
        set_title(axes, title)
    legend(place, 2)
    return place


@overload
def plot_comparison(
    a: Summary,
    b: Summary,
    *,
    ax: None = None,
    labels: Sequence[str] = ("a", "b"),
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    size: Size | None = None,
    stacked: bool = False,
) -> Figure: ...
@overload
def plot_comparison(
    a: Summary,
    b: Summary,
    *,
    ax: Given,
    labels: Sequence[str] = ("a", "b"),
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    stacked: bool = False,
) -> Given: ...
def plot_comparison(
    a: Summary,
    b: Summary,
    *,
    ax: Any = None,
    labels: Sequence[str] = ("a", "b"),
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    size: Size | None = None,
    stacked: bool = False,
) -> Any:
    """Two groups side by side: their means, and the regions in which those of their populations are.

    Parameters
    ----------
    a, b : Summary
        What `private_summary` returned, of the same space.
    ax : matplotlib Axes, Figure or SubFigure, optional
        Where to draw, as of `plot_release`.
    labels : (str, str)
        What the groups are called.
    names, links : as of plot_release
        What things are called, and lines between landmarks.
    title : str, optional
        Instead of the usual one, which has the p-value; "" for none.
    size, stacked : as of plot_release
        How large a new figure is, and whether panels stand below one another.

    Returns
    -------
    Figure
        With both groups in each panel; or what was given as `ax`.

    Raises
    ------
    InputError
        If they are no summaries, or of different spaces, or another argument does not fit them.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.0)
    >>> first, second = (rd.private_summary(rd.Sphere(2).random_point(500, i), ball, rd.GDP(1.0)) for i in (1, 2))
    >>> figure = plot_comparison(first, second, labels=("controls", "patients"))
    >>> save_figure(figure, "groups.svg")
    """
    common_space(a, b)
    view, words = _view_of(a, names, links), checked_names(labels)
    if len(words) != 2:
        raise InputError(f"labels = {labels!r:.100}: pass two, one for each group.")
    groups = [Group(one, printable(word), i) for i, (one, word) in enumerate(zip((a, b), words, strict=True))]
    panels = (surface_panels if a.space.picture in SURFACES else pair_panels)(view, groups)
    found = compare(a, b)
    who = f"{groups[0].name} and {groups[1].name}"
    usual = f"The means of {who} are {found.distance:.3g} apart: p = {found.p_value:.2g}"
    return _figure(panels, usual, title, ax, size, stacked)


def tells_modes(summary: Summary) -> bool:
    """Whether more than the sum of the variances was released, and a matrix of them can be held."""
    return summary.moments.kind != "trace" and is_within_memory(summary)


def is_within_memory(summary: Summary) -> bool:
    """Whether there are few enough dimensions for a covariance, modes and regions."""
    return bool(summary.space.dim <= LARGEST_MATRIX)


def shows_spread(summary: Summary) -> bool:
    """Whether the picture has more than the mean: a dispersion alone can be drawn where the whole space is."""
    return tells_modes(summary) or summary.space.picture in SURFACES


def _view_of(summary: Any, names: Sequence[str] | None, links: Links | None) -> View:
    _require_summary(summary)
    named_numbers(summary, names)  # refuses names that do not fit
    require_landmarks(summary, links)
    return View(summary, SIMULATIONS, 0, checked_names(names), "outline" if links is None else links)


def _require_summary(summary: Any) -> None:
    if not isinstance(summary, Summary):
        raise InputError(f"summary is of type {type(summary).__name__}: pass what private_summary() returned.")


def _variation(view: View, summary: Summary, count: int | None) -> list[Panel]:
    """The whole space, or mode by mode; where all are hidden by noise, the mean alone."""
    group = Group(summary, "")
    if summary.space.picture in SURFACES:
        return surface_panels(view, [group])
    by_mode = mode_panels(view, group, count, MOST_MODES) if is_within_memory(summary) else []
    return by_mode or release_panels(view)


def _scree(summary: Summary) -> list[Panel]:
    return [scree_panel(summary, MOST_RANKS)] if tells_modes(summary) else []


def _figure(
    panels: Sequence[Panel], usual_title: str, title: str | None, ax: Any, size: Size | None, stacked: bool
) -> Any:
    """All panels, with the title that was asked for, or on a figure the usual one; axes have that of their panel."""
    columns = 1 if stacked else min(len(panels), 4)
    usual = (4.4, 3.4 * len(panels) + 1.2) if stacked else (max(3.6 * columns, 6.4), 4.9)
    place = sheet(ax, size, usual)
    draw_panels(panels, place, stacked)
    if title is not None or hasattr(place, "suptitle"):
        set_title(place, usual_title if title is None else title)
    legend(place, 1 if stacked else max(2, columns))
    if ax is None:
        place.draw_without_rendering()  # one pass of the layout makes too little room for long names, the next enough
    return place
