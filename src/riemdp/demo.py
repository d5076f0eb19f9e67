"""A first look on real data: `python -m riemdp.demo` (or `make demo`). Nothing here is private.

Handwritten digits, which come with scikit-learn, become 9 x 9 covariance descriptors; each digit's certified
Fréchet mean is computed in both geometries of SPD matrices, tried as a classifier, and drawn.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from riemdp.descriptors import MARGIN, covariance_descriptors
from riemdp.manifolds import SPDAffine, SPDLogEuclidean
from riemdp.manifolds.base import Array
from riemdp.manifolds.spd import SPD
from riemdp.statistics.frechet import FrechetMean, frechet_mean

TOL = 1e-9
DIGITS = range(10)
FEATURES = (
    "$x$", "$y$", "$I$", "$|I_x|$", "$|I_y|$", "$|I_{xx}|$", "$|I_{yy}|$", "$\\Vert\\nabla I\\Vert$", "angle",
)  # fmt: skip
LOOK = (
    "\nLook at {picture}: the bottom row shows what sets each digit apart, purple for more and orange for "
    "less than in the mean of all digits. A 1 is a vertical stroke: its second derivative varies much along "
    "x and little along y."
)


@dataclass(frozen=True)
class Digits:
    """Images, what they show, their descriptors; the first half makes the means, the second tries them."""

    images: Array
    labels: Array
    descriptors: Array

    @property
    def is_known(self) -> Array:
        """Mask of the first half."""
        return np.arange(len(self.labels)) < len(self.labels) // 2


@dataclass(frozen=True)
class ClassMeans:
    """The mean of each digit in one geometry, and how well the nearest mean names an unseen image."""

    space: SPD
    means: list[FrechetMean]
    spreads: list[float]
    seconds: list[float]
    accuracies: list[float]

    @property
    def points(self) -> Array:
        """(10, 9, 9)."""
        return np.stack([mean.point for mean in self.means])


def load_digits() -> Digits:
    """The 1,797 digits of scikit-learn. A frame of background lets the derivatives reach every pixel."""
    from sklearn.datasets import load_digits as load

    data: Any = load()
    images = data.images / 16.0
    framed = np.pad(images, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))
    return Digits(images, data.target, covariance_descriptors(framed))


def class_means(digits: Digits, space: SPD) -> ClassMeans:
    """Certified means of the first half, accuracies on the second."""
    means, spreads, seconds = [], [], []
    for digit in DIGITS:
        records = digits.descriptors[digits.is_known & (digits.labels == digit)]
        start = time.perf_counter()
        means.append(frechet_mean(records, space, tol=TOL))
        seconds.append(time.perf_counter() - start)
        spreads.append(float(np.sqrt(np.mean(space.dist(means[-1].point, records) ** 2))))
    return ClassMeans(space, means, spreads, seconds, _accuracies(digits, space, means))


def _accuracies(digits: Digits, space: SPD, means: list[FrechetMean]) -> list[float]:
    """Share of the unseen images of each digit whose nearest mean is the right one."""
    unseen, labels = digits.descriptors[~digits.is_known], digits.labels[~digits.is_known]
    guesses = np.argmin([space.dist(mean.point, unseen) for mean in means], axis=0)
    return [float(np.mean(guesses[labels == digit] == digit)) for digit in DIGITS]


# --- showing -----------------------------------------------------------------------------------------------


def table(digits: Digits, flat: ClassMeans, curved: ClassMeans) -> Table:
    """One row per digit."""
    title = "Certified Fréchet means of handwritten digits (9 x 9 covariance descriptors)"
    out = Table(title=title, box=SIMPLE, padding=(0, 0, 0, 1))
    flat_columns = [f"log-E.\n{name}" for name in ("error", "ms", "named")]
    curved_columns = [f"affine\n{name}" for name in ("error", "ms", "named", "passes", "spread")]
    for name in ("\ndigit", "\nn", *flat_columns, *curved_columns):
        out.add_column(name, justify="right")
    counts = np.bincount(digits.labels[digits.is_known])
    for digit in DIGITS:
        extra = (str(curved.means[digit].iterations), f"{curved.spreads[digit]:.2f}")
        out.add_row(str(digit), str(counts[digit]), *_cells(flat, digit), *_cells(curved, digit), *extra)
    return out


def _cells(result: ClassMeans, digit: int) -> tuple[str, str, str]:
    bound, seconds = result.means[digit].error_bound, result.seconds[digit]
    return f"{bound:.0e}", f"{1e3 * seconds:.0f}", f"{result.accuracies[digit]:.0%}"


def summary(name: str, result: ClassMeans) -> str:
    """One line on one geometry."""
    worst = max(mean.error_bound for mean in result.means)
    return (
        f"{name}: ten means in {1e3 * sum(result.seconds):.0f} ms, each proven to lie within {worst:.0e} of "
        f"the exact one; the nearest mean names {np.mean(result.accuracies):.0%} of the unseen digits."
    )


def draw(digits: Digits, result: ClassMeans, path: Path) -> None:
    """Average images above the logarithms of their means, above what sets each apart from all digits."""
    from matplotlib.figure import Figure

    known = digits.is_known
    logs = result.space.log(result.points, np.eye(9))
    everything = result.space.log(frechet_mean(digits.descriptors[known], result.space, TOL).point, np.eye(9))
    averages = np.stack([digits.images[known & (digits.labels == digit)].mean(axis=0) for digit in DIGITS])
    figure = Figure(figsize=(15, 5.0), layout="constrained", facecolor="white")
    axes = figure.subplots(3, 10)
    _row(figure, axes[0], averages, "average image", cmap="Greys")
    _row(figure, axes[1], logs, "log of the mean", cmap="PuOr")
    _row(figure, axes[2], logs - everything, "minus that\nof all digits", cmap="PuOr")
    _label(axes)
    figure.suptitle("Handwritten digits, averaged in the space of SPD matrices", fontsize=14)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160, bbox_inches="tight")


def _row(figure: Any, axes: Any, pictures: Array, name: str, *, cmap: str) -> None:
    high = float(np.abs(pictures).max())
    low = -high if pictures.min() < 0 else 0.0  # zero is the middle of a diverging colour map
    for ax, picture in zip(axes, pictures, strict=True):
        shown = ax.imshow(picture, cmap=cmap, vmin=low, vmax=high)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("0.8")
    axes[0].set_ylabel(name, fontsize=12, labelpad=8)
    figure.colorbar(shown, ax=list(axes), pad=0.01, aspect=12).outline.set_visible(False)


def _label(axes: Any) -> None:
    """Digits above the columns, features beside and below the matrices."""
    for ax, digit in zip(axes[0], DIGITS, strict=True):
        ax.set_title(str(digit), fontsize=13)
    for ax in axes[1:, 0]:
        ax.set_yticks(range(9), FEATURES, fontsize=7)
    for ax in axes[2]:
        ax.set_xticks(range(9), FEATURES, fontsize=6, rotation=90)
    for ax in axes[1:].flat:
        ax.tick_params(length=0, pad=2)


def main(out_dir: str | Path = "demo") -> Path:
    """Run the demonstration; returns the path of the picture."""
    console = Console()
    digits = load_digits()
    flat, curved = class_means(digits, SPDLogEuclidean(9)), class_means(digits, SPDAffine(9))
    console.print(table(digits, flat, curved))
    for name, result in (("Log-Euclidean", flat), ("Affine-invariant", curved)):
        console.print(summary(name, result), highlight=False)
    picture = Path(out_dir) / "means.png"
    draw(digits, curved, picture)
    console.print(LOOK.format(picture=picture), highlight=False)
    return picture


if __name__ == "__main__":
    main(*sys.argv[1:2])
