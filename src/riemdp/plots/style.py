"""What all pictures share: colours, axes, and how they become files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riemdp.errors import InputError, printable
from riemdp.io.files import write_whole
from riemdp.manifolds.base import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#767676"
ROOM = 40  # letters that fit side by side below an axis
FORMATS = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # metadata: no clock, same bytes


def save_figure(figure: Figure, path: str | Path, *, force: bool = False) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all.

    Parameters
    ----------
    figure : matplotlib Figure
        Of riemdp or of anybody else.
    path : str or Path
        A name that ends in `.png`, `.svg` or `.pdf`; the last two are vector graphics.
    force : bool
        Whether to replace a file that is there already; otherwise that is refused.

    Raises
    ------
    InputError
        If the file exists, has another ending, or cannot be written.

    Examples
    --------
    >>> save_figure(plot_tradeoff(rd.GDP(1.0)), "curve.pdf")
    """
    write_whole(path, figure_bytes(figure, check_picture_path(path).suffix.lower()), force=force)


def check_picture_path(path: str | Path) -> Path:
    """The path, if its suffix is one that `save_figure` writes."""
    if not isinstance(path, str | Path) or Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"path = {str(path)!r}: pass the name of a {', '.join(FORMATS)} file.")
    return Path(path)


def figure_bytes(figure: Figure, suffix: str, dpi: float = 200) -> bytes:
    """The content of a picture file; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "riemdp"}):
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=dpi, metadata=FORMATS[suffix])
    return buffer.getvalue()


def name_ticks(axis: Any, places: Sequence[float] | Array, names: Sequence[str]) -> None:
    """Names at places of an axis: small ones if they are many, upright below if they are long."""
    size = min(9.0, max(4.0, 180 / max(len(names), 1)))
    is_long = axis.axis_name == "x" and max(map(len, names)) * len(names) > ROOM
    axis.set_ticks(places, [*map(printable, names)], fontsize=size, parse_math=False, rotation=90 if is_long else 0)


def bare(ax: Any, title: str) -> None:
    """A map: equal units, no axes."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)


def light(ax: Any) -> None:
    """A chart: two thin axes."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color("0.6")
    ax.tick_params(color="0.6", labelsize=9)


def log_scale(axis: Any) -> None:
    """Logarithmic, with plain numbers, also between powers of ten where these are few."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    axis._set_axes_scale("log")
    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.5)))
