"""From images to private class means, on real data: `riemdp demo` (or `make demo`).

Handwritten digits, which come with scikit-learn, become 9 x 9 covariance descriptors. Plan, ledger, private means of
the ten digits, what they are worth to a classifier, a picture and a report. The digits are public, so exact means are
shown beside the private ones; with records of people they must not be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from riemdp.accounting.guarantee import GDP
from riemdp.descriptors import MARGIN, covariance_descriptors, descriptor_eigenvalue_bounds
from riemdp.errors import InputError, RiemdpError, printable
from riemdp.manifolds import SPDLogEuclidean
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Ball
from riemdp.privacy.ledger import Ledger
from riemdp.statistics.frechet import frechet_mean
from riemdp.statistics.mean import plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = range(10)
TESTED = 5  # every fifth image is kept to try the means on
ETA = 1e-3
BUDGET = GDP(1.0)
SPREAD = 3.0  # what one may expect of images of one digit: a supposition, for the plan only
SPACE = SPDLogEuclidean(9)
FEATURES = (
    "$x$", "$y$", "$I$", "$|I_x|$", "$|I_y|$", "$|I_{xx}|$", "$|I_{yy}|$", "$\\Vert\\nabla I\\Vert$", "angle",
)  # fmt: skip
LOOK = (
    "Look at {report} in a browser: what was released, what the guarantee means, what an attacker can learn. And at "
    "{picture}: the private means keep what sets the digits apart (purple for more, orange for less than in "
    "the mean of all), with some noise. The budget in {ledger} is spent: run the demo again in this folder, and it "
    "refuses."
)


@dataclass(frozen=True)
class Digits:
    """Images, what they show, their descriptors; every fifth is left out of the means, to try them on."""

    images: Array
    labels: Array
    descriptors: Array

    @property
    def is_known(self) -> Array:
        """Mask of the images that make the means."""
        return np.arange(len(self.labels)) % TESTED > 0

    @property
    def counts(self) -> Array:
        """Known images of each digit."""
        return np.bincount(self.labels[self.is_known])


def load_digits() -> Digits:
    """The 1,797 digits of scikit-learn. A frame of background lets the derivatives reach every pixel."""
    from sklearn.datasets import load_digits as load

    data: Any = load()
    images = data.images / 16.0
    framed = np.pad(images, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))
    return Digits(images, data.target, covariance_descriptors(framed, ETA))


def public_ball() -> Ball:
    """All descriptors of all grey images lie in it (docs/proofs/descriptors.md): no look at these."""
    return Ball.from_eigenvalue_bounds(SPACE, *descriptor_eigenvalue_bounds(1, ETA))


def exact_means(digits: Digits) -> Array:
    """Certified Fréchet means of the ten digits: not private."""
    known = digits.is_known
    return np.stack([frechet_mean(digits.descriptors[known & (digits.labels == d)], SPACE).point for d in DIGITS])


def accuracy(digits: Digits, means: Array) -> float:
    """Share of the images left out whose nearest mean is the right one."""
    unseen, labels = digits.descriptors[~digits.is_known], digits.labels[~digits.is_known]
    return float(np.mean(np.argmin([SPACE.dist(mean, unseen) for mean in means], axis=0) == labels))


# --- showing -----------------------------------------------------------------------------------------------


def plans(ball: Ball, n: int) -> Table:
    """What each mechanism would do, before any record is looked at."""
    out = Table(title=f"Plan: mu = {BUDGET.mu:g}, {n} records in a ball of radius {ball.radius:.3g}", box=SIMPLE)
    for name in ("mechanism", "noise scale", "predicted error"):
        out.add_column(name, justify="left" if name == "mechanism" else "right")
    for row in plan(ball, n, BUDGET, adapt=True, spread=SPREAD):
        name = f"{row.mechanism}, adaptive" if row.rounds else row.mechanism
        out.add_row(name, f"{row.scale:.3g}", f"{row.expected_error:.3g}")
    return out


def comparison(digits: Digits, private: Array, exact: Array) -> Table:
    """One row per digit: how far the private mean is from the exact one."""
    out = Table(title="Private means of handwritten digits", box=SIMPLE)
    for name in ("digit", "records", "distance to exact mean", "exact means of digits apart"):
        out.add_column(name, justify="right")
    apart = np.array([SPACE.dist(mean, exact) for mean in exact]) + np.diag([np.inf] * 10)
    for digit in DIGITS:
        error = float(SPACE.dist(private[digit], exact[digit]))
        out.add_row(str(digit), str(digits.counts[digit]), f"{error:.2f}", f"{apart[digit].min():.2f}")
    return out


def draw(digits: Digits, private: Array, exact: Array) -> Figure:
    """Average images above what sets each digit's descriptor apart, exactly and privately."""
    from matplotlib.figure import Figure

    known = digits.is_known
    averages = np.stack([digits.images[known & (digits.labels == digit)].mean(axis=0) for digit in DIGITS])
    exact_logs, private_logs = (SPACE.log(means, np.eye(9)) for means in (exact, private))
    figure = Figure(figsize=(15, 5.0), layout="constrained", facecolor="white")
    axes = figure.subplots(3, 10)
    _row(figure, axes[0], averages, "average image", cmap="Greys")
    _row(figure, axes[1], exact_logs - exact_logs.mean(axis=0), "exact mean\n(not private)", cmap="PuOr")
    _row(figure, axes[2], private_logs - private_logs.mean(axis=0), "private mean", cmap="PuOr")
    _label(axes)
    figure.suptitle("What sets each digit's covariance descriptor apart from the mean of all digits", fontsize=14)
    return figure


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


def _spent(ledger: Ledger) -> str:
    spent = ledger.spent
    return f"mu = {spent.mu:.3g}" if isinstance(spent, GDP) else "nothing"


def _require_free(paths: Iterable[Path], ledger: Path) -> None:
    """Before anything is spent; a budget that is spent already refuses by itself."""
    taken = [path for path in paths if os.path.lexists(path)]
    if taken and not (ledger.exists() and Ledger(ledger).spent):
        raise InputError(f"{taken[0]} exists already: pass another folder, or --force to replace it.")


def main(out_dir: str | Path = "demo", *, force: bool = False) -> Path:
    """Run the demonstration; returns the path of the report."""
    from riemdp.estimators import PrivateMDM
    from riemdp.plots import save_figure
    from riemdp.report import write_report

    folder, console = Path(out_dir), Console(markup=False, emoji=False)
    report, picture, book = (folder / name for name in ("report.html", "means.png", "ledger.db"))
    if not force:
        _require_free((report, picture), book)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be a folder ({error.strerror}): pass another.") from None
    digits, ball = load_digits(), public_ball()
    console.print(f"{len(digits.labels):,} images of handwritten digits, described by 9 x 9 covariance matrices.")
    console.print(plans(ball, int(digits.counts.min())))
    ledger = Ledger(book, budget=BUDGET)
    model = PrivateMDM(ball=ball, guarantee=BUDGET, adapt=True, ledger=ledger)
    model.fit(digits.descriptors[digits.is_known], digits.labels[digits.is_known])
    private, exact = model.means_, exact_means(digits)
    console.print(comparison(digits, private, exact))
    console.print(
        f"The nearest mean names {accuracy(digits, exact):.0%} of the other images with exact means, "
        f"{accuracy(digits, private):.0%} with private ones (chance: 10%). "
        f"Spent: {_spent(ledger)} of mu = {BUDGET.mu:g}.",
        highlight=False,
    )
    write_report(model.releases_[0], report, ledger=ledger, force=force)
    save_figure(draw(digits, private, exact), picture, force=force)
    console.print("", printable(LOOK.format(report=report, picture=picture, ledger=book)), sep="\n", highlight=False)
    return report


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except RiemdpError as error:
        sys.exit(str(error))
