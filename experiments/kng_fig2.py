"""Figure 2 of Soto, Bharath, Reimherr and Slavković (2022): private mean shapes.

Ten records, their mean, and six releases each of the K-norm gradient and of noise on landmarks, with and without
alignment: as printed, and corrected (kng_common.py, which also says how to use own landmarks).
Run: python experiments/kng_fig2.py [--data FILE --radius R]
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness import Array, Figure, Results, mean_and_error
from kng_common import DATA, SETTINGS, Source, compute, main
from riemdp.plots.style import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

TITLES = {
    "printed": "as printed: ball, widths and alignment from the records, not private (r = {:.3f})",
    "corrected": "corrected: public ball around an atlas (r = {:.3f})",
}


def outline(ax: Axes, shape: Array, colour: str, width: float = 1.0) -> None:
    """A closed outline, without axes."""
    closed = np.concatenate([shape, shape[:1]])
    ax.plot(closed[:, 0], closed[:, 1], color=colour, linewidth=width)
    ax.set_aspect("equal")
    ax.set_axis_off()


def block(part: Picture, results: Results, label: str, shapes: Array, errors: Array) -> None:
    """Six releases per mechanism over the mean, and its error with two standard errors."""
    axes = part.subplots(len(shapes), 6)
    part.suptitle(TITLES[label].format(results[f"{label}_radius"]), fontsize=10)
    for row, (name, _), drawn, error in zip(axes, SETTINGS[label], shapes, errors, strict=True):
        for ax, shape in zip(row, drawn, strict=True):
            outline(ax, results[f"{label}_mean"], GREY, 0.8)
            outline(ax, shape, BLUE if "Riemannian" in name or "K-norm" in name else VERMILION)
        mean, spread = mean_and_error(error)
        row[0].text(-0.05, 0.5, f"{name}\nρ = {mean:.3f} ± {2 * spread:.3f}", transform=row[0].transAxes, fontsize=8,
                    ha="right", va="center")  # fmt: skip


def draw(results: Results) -> Picture | None:
    """Records and mean on top, then both blocks."""
    from matplotlib.figure import Figure as Picture

    if "records" not in results:
        return None
    picture = Picture(figsize=(8, 11), layout="constrained", facecolor="white")
    top, *blocks = picture.subfigures(3, 1, height_ratios=(1.1, 3, 4))
    axes = top.subplots(1, 11)
    for ax, shape in zip(axes, [*results["records"], results["printed_mean"]], strict=True):
        outline(ax, shape, GREY, 1.0)
    outline(axes[-1], results["printed_mean"], "black", 2.0)
    n, epsilon = results["n"], results["epsilon"]
    text = f"ten of {n} records, and the mean (bold); ε = {epsilon:.2f}, so that nε = {n * epsilon:.0f}"
    top.suptitle(text, fontsize=10)
    for part, label in zip(blocks, SETTINGS, strict=True):
        block(part, results, label, results[f"{label}_shapes"], results[f"{label}_errors"])
    return picture


def figure(source: Source) -> Figure:
    """With these landmarks."""
    title = "private mean shapes: K-norm gradient against noise on landmarks"
    return Figure("kng_fig2", title, partial(compute, source=source), draw, (DATA,))


FIGURE = figure(Source())

if __name__ == "__main__":
    main(figure)
