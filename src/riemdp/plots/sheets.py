"""Where pictures are drawn: on a figure of their own, which shows in a notebook, or on what they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from riemdp.arguments import finite_number
from riemdp.errors import InputError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

Given = TypeVar("Given", bound="Axes | FigureBase")
Size = tuple[float, float]
LARGEST = 100.0  # inches


def sheet(ax: Any, size: Size | None, usual: Size) -> Any:
    """The axes, figure or part of a figure that was given; or a new figure of the asked or usual size in inches."""
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    if ax is None:
        return new_figure(usual if size is None else checked_size(size))
    if not isinstance(ax, Axes | FigureBase):
        raise InputError(f"ax is of type {type(ax).__name__}: pass matplotlib's Axes, Figure or SubFigure.")
    if size is not None:
        raise InputError("size and ax: a figure that is there already has its size; leave one of them out.")
    return ax


def checked_size(size: Any) -> Size:
    """Width and height in inches."""
    wrong = InputError(f"size = {size!r:.100}: pass (width, height) in inches, each above 0 and at most {LARGEST:g}.")
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise wrong
    width, height = (finite_number(length, "size") for length in size)
    if not (0 < width <= LARGEST and 0 < height <= LARGEST):
        raise wrong
    return width, height


def new_figure(size: Size) -> Figure:
    """A figure that pyplot does not know of: nothing to close, and a notebook shows it once, as a cell's last line."""
    from riemdp.plots.picture import Picture

    return Picture(figsize=size, layout="constrained", facecolor="white")


def axes_on(place: Any, *position: int, **options: Any) -> Any:
    """The axes that were given, or new ones on the figure."""
    from matplotlib.axes import Axes

    return place if isinstance(place, Axes) else place.add_subplot(*position, **options)


def set_title(place: Any, text: str) -> None:
    """Set the title of axes or of a whole figure; a dollar in it is a dollar."""
    from matplotlib.axes import Axes

    shown = "\n".join(map(printable, text.split("\n")))
    if isinstance(place, Axes):
        place.set_title(shown, fontsize=10, parse_math=False)
    elif text:
        place.suptitle(shown, fontsize=11, parse_math=False)


def legend(place: Any, columns: int) -> None:
    """One legend for all panels, below them, where the figure makes room for it; else one in each of the axes."""
    from matplotlib.axes import Axes
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if isinstance(place, Axes) or not isinstance(place.get_layout_engine(), ConstrainedLayoutEngine):
        for ax in [place] if isinstance(place, Axes) else place.axes:
            _legend_within(ax)
        return
    entries = {label: handle for ax in reversed(place.axes) for handle, label in _entries(ax)}
    if entries:
        order = dict.fromkeys(label for ax in place.axes for _, label in _entries(ax))
        where: Any = "outside lower center"
        handles = [entries[label] for label in order]
        place.legend(handles, list(order), loc=where, ncols=columns, frameon=False, fontsize=9)


def _entries(ax: Any) -> list[tuple[Any, str]]:
    return list(zip(*ax.get_legend_handles_labels(), strict=True))


def _legend_within(ax: Any) -> None:
    if _entries(ax):
        ax.legend(frameon=False, fontsize=8)
