"""A release in its space: the released mean, the ball, and what the same noise does elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from riemdp.arguments import whole_number
from riemdp.errors import InputError
from riemdp.labels import checked_names, named_numbers, names_of_classes
from riemdp.labels import title as title_of
from riemdp.manifolds.description import COORDINATES
from riemdp.plots.classifiers import classifier_panels
from riemdp.plots.coordinates import coordinate_panels, entry_panels, number_panels, share_panels
from riemdp.plots.guarantees import symbolic
from riemdp.plots.landmarks import landmark_panels
from riemdp.plots.matrices import matrix_panels
from riemdp.plots.panels import RELEASED, Links, Panel, View
from riemdp.plots.regressions import regression_panels
from riemdp.plots.sheets import Given, Size, axes_on, legend, set_title, sheet
from riemdp.plots.surfaces import circle_panels, disc_panels, globe_panels, plane_panels
from riemdp.releases.release import Release
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.median import MEDIAN
from riemdp.summaries.regression import Regression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Kinds of pictures, by the names by which spaces ask for them. Any other name gets coordinates, which every space has:
# what was released and paid for is shown in any case.
PICTURES: dict[str, Callable[[View], list[Panel]]] = {
    COORDINATES: coordinate_panels,
    "entries": entry_panels,  # of points that are vectors
    "shares": share_panels,  # points that add up to 1
    "plane": plane_panels,  # points (x, y)
    "disc": disc_panels,  # points (x_0, x, y) of a hyperboloid
    "globe": globe_panels,  # points (x, y, z) of a sphere
    "circle": circle_panels,  # points (x, y) of a circle
    "matrix": matrix_panels,  # points k x k, positive definite
    "landmarks": landmark_panels,  # points z of C^k in inner form
}


@overload
def plot_release(
    release: Release,
    *,
    ax: None = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    size: Size | None = None,
    stacked: bool = False,
    simulations: int = 200,
    seed: int = 0,
) -> Figure: ...
@overload
def plot_release(
    release: Release,
    *,
    ax: Given,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    stacked: bool = False,
    simulations: int = 200,
    seed: int = 0,
) -> Given: ...
def plot_release(
    release: Release,
    *,
    ax: Any = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    title: str | None = None,
    size: Size | None = None,
    stacked: bool = False,
    simulations: int = 200,
    seed: int = 0,
) -> Any:
    """The released mean in its space, with the ball and what the same noise does to it elsewhere.

    Simulated releases are seeded draws of the mechanism around the released mean: they show how far noise moves the
    mean of the records as moved into the ball, and depend on the records only through the release. Centre and ball are
    called public if they were given, and private if an adaptive release has found and paid for them.

    Parameters
    ----------
    release : Release
        What `private_mean` or another release returned.
    ax : matplotlib Axes, Figure or SubFigure, optional
        Where to draw. Most pictures have two panels: a figure or a part of one (`figure.subfigures(1, 2)[0]`) gets
        all of them, axes only the first. By default a new figure, which a notebook shows.
    names : sequence of str, optional
        Of rows and columns of matrices, entries of vectors, landmarks or classes: as many as there are.
    links : {'outline', 'path', 'none'} or sequence of pairs of int, optional
        Lines between landmarks, counted from 0. By default each is joined to the next, and the last to the first.
    title : str, optional
        Instead of the usual one; "" for none.
    size : (float, float), optional
        Width and height of a new figure, in inches.
    stacked : bool
        Whether panels stand below one another.
    simulations : int
        How many simulated releases are shown.
    seed : int
        Of the simulation.

    Returns
    -------
    Figure
        Which `save_figure` writes as .png, .svg or .pdf; or what was given as `ax`.

    Raises
    ------
    InputError
        If an argument does not fit the release.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    >>> release = rd.private_mean(rd.Sphere(2).random_point(100, 1), ball, rd.GDP(1.0))
    >>> figure = plot_release(release, size=(8, 4))
    >>> save_figure(figure, "release.svg")
    """
    if not isinstance(release, Release):
        raise InputError(f"release is of type {type(release).__name__}: pass what private_mean() returned.")
    named_numbers(release, names)  # refuses names that do not fit
    require_landmarks(release, links)
    drawn, start = whole_number(simulations, "simulations", 1), whole_number(seed, "seed", 0)
    words = checked_names(names) or names_of_classes(release)
    view = View(release, drawn, start, words, "outline" if links is None else links)
    panels = release_panels(view)
    place = sheet(ax, size, _usual_size(len(panels), stacked))
    draw_panels(panels, place, stacked)
    _call_it_median(place, release)
    _entitle(place, view, title)
    legend(place, 2 if stacked else 3 if len(panels) == 1 else 5)
    if ax is None and view.names:
        place.draw_without_rendering()  # one pass of the layout makes too little room for long names, the next enough
    return place


def _call_it_median(place: Any, release: Release) -> None:
    """Marks and titles of what was released, by its name."""
    for axes in getattr(place, "axes", [place]) if release.statistic == MEDIAN else []:
        axes.title.set_text(axes.get_title().replace("released mean", "released median"))
        for mark in [*axes.get_lines(), *axes.collections]:
            if mark.get_label() == RELEASED["label"]:
                mark.set_label("released median")


def release_panels(view: View) -> list[Panel]:
    """The picture of a classifier, of a regression, the one that the space asks for, or that of numbers."""
    release = view.release
    if isinstance(release, ClassifierRelease):
        return classifier_panels(view)
    if isinstance(release, Regression):
        return regression_panels(view)
    picture = PICTURES.get(release.space.picture, coordinate_panels)
    return (picture if release.kind == "point" else number_panels)(view)


def require_landmarks(release: Release, links: Links | None) -> None:
    """Refuse links of what has no landmarks."""
    if links is not None and (release.kind != "point" or release.space.picture != "landmarks"):
        raise InputError(f"links = {links!r:.100}: only landmarks have links between them; leave it out.")


def _usual_size(panels: int, stacked: bool) -> Size:
    if stacked:
        return 4.4, 3.8 * panels + 1.0
    return 6.0 if panels == 1 else 9.6, 5.2


def draw_panels(panels: Sequence[Panel], place: Any, stacked: bool) -> None:
    """All panels on a figure, the first one on axes."""
    rows, columns = (len(panels), 1) if stacked else (1, len(panels))
    for i, panel in enumerate(panels):
        axes = axes_on(place, rows, columns, i + 1, projection="3d" if panel.is_solid else None)
        panel.draw(axes)
        if axes is place:
            return


def _entitle(place: Any, view: View, asked: str | None) -> None:
    """The title that was asked for, or on a figure the usual one; axes have that of their panel."""
    release = view.release
    usual = f"{title_of(release)}\n{release.mechanism}, {symbolic(release.guarantee)}"
    if asked is not None:
        set_title(place, asked)
    elif hasattr(place, "suptitle"):
        set_title(place, usual)
