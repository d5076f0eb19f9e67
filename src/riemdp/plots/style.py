"""What all pictures share: colours, axes, legends, and how they become files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riemdp.errors import InputError
from riemdp.io.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#767676"
FORMATS = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # metadata: no clock, same bytes


def save_figure(figure: Figure, path: str | Path, *, force: bool = False) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all; over an existing file only with `force`."""
    write_whole(path, figure_bytes(figure, check_picture_path(path).suffix.lower()), force=force)


def check_picture_path(path: str | Path) -> Path:
    """The path, if its suffix is one that `save_figure` writes."""
    if not isinstance(path, str | Path) or Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"path = {str(path)!r}: pass the name of a {', '.join(FORMATS)} file.")
    return Path(path)


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """The content of a picture file; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "riemdp"}):
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=200, metadata=FORMATS[suffix])
    return buffer.getvalue()


def legend(figure: Figure, columns: int) -> None:
    """One legend for all panels, below them."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        where: Any = "outside lower center"
        figure.legend(list(entries.values()), list(entries), loc=where, ncols=columns, frameon=False, fontsize=9)


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
