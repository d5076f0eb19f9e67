"""A release in its space: the released mean, the public ball, and what the same noise does elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from riemdp.arguments import whole_number
from riemdp.errors import InputError, printable
from riemdp.manifolds.description import COORDINATES
from riemdp.plots.classifiers import classifier_panels
from riemdp.plots.coordinates import coordinate_panels, entry_panels, number_panels
from riemdp.plots.guarantees import symbolic
from riemdp.plots.landmarks import landmark_panels
from riemdp.plots.matrices import matrix_panels
from riemdp.plots.panels import Panel, View
from riemdp.plots.style import legend
from riemdp.plots.surfaces import circle_panels, disc_panels, globe_panels, plane_panels
from riemdp.privacy.release import Release
from riemdp.statistics.class_means import CLASS_MEANS
from riemdp.statistics.classifier import ClassifierRelease

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Kinds of pictures, by the names by which spaces ask for them. Any other name gets coordinates, which every space has:
# what was released and paid for is shown in any case.
PICTURES: dict[str, Callable[[View], list[Panel]]] = {
    COORDINATES: coordinate_panels,
    "entries": entry_panels,  # of points that are vectors
    "plane": plane_panels,  # points (x, y)
    "disc": disc_panels,  # points (x_0, x, y) of a hyperboloid
    "globe": globe_panels,  # points (x, y, z) of a sphere
    "circle": circle_panels,  # points (x, y) of a circle
    "matrix": matrix_panels,  # points k x k, positive definite
    "landmarks": landmark_panels,  # points z of C^k in inner form
}


def plot_release(release: Release, *, stacked: bool = False, simulations: int = 200, seed: int = 0) -> Figure:
    """The released mean in its space, with the public ball and what the same noise does to it elsewhere.

    Simulated releases are seeded draws of the mechanism around the released mean: they show how far noise moves the
    mean of the records as moved into the ball, and depend on the records only through the release. `stacked` puts
    panels below one another.
    """
    if not isinstance(release, Release):
        raise InputError(f"release is of type {type(release).__name__}: pass what private_mean() returned.")
    view = View(release, whole_number(simulations, "simulations", 1), whole_number(seed, "seed", 0))
    panels = _picture_of(release)(view)
    noun = STATISTIC_NAMES.get(release.statistic, release.statistic)
    lines = f"Private {noun} of {release.n:,} records", f"{release.mechanism}, {symbolic(release.guarantee)}"
    return _figure(panels, "\n".join(map(printable, lines)), stacked)


def _picture_of(release: Release) -> Callable[[View], list[Panel]]:
    """The kind of picture: of a point that of its space."""
    if isinstance(release, ClassifierRelease):
        return classifier_panels
    return PICTURES.get(release.space.picture, coordinate_panels) if release.kind == "point" else number_panels


STATISTIC_NAMES = {
    "frechet-mean": "Fréchet mean",
    "tangent-mean": "tangent mean",
    CLASS_MEANS: "tangent means of the classes",
    "logistic-regression": "logistic regression",
    "linear-discriminant": "linear discriminant",
}


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
