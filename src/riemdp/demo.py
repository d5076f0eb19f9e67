"""From handwriting to private mean shapes, on real data: `riemdp demo` (or `make demo`).

The outlines of handwritten digits, which come with scikit-learn, are planar shapes. Ledger, private mean shapes of the
ten digits, how all outlines vary, a private classifier: a table, a picture and a report. The digits are public, so
exact means and records are shown beside what is private; with records of people they must not be.
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
from riemdp.balls import Ball
from riemdp.errors import InputError, RiemdpError, printable
from riemdp.manifolds import KendallShapes
from riemdp.manifolds.base import Array
from riemdp.plots.style import BLACK, GREY, SKY, VERMILION
from riemdp.privacy.ledger import Ledger
from riemdp.statistics.frechet import frechet_mean
from riemdp.statistics.mean import simulate
from riemdp.statistics.summary import private_summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from riemdp.estimators import PrivateLogisticRegression, PrivateMDM
    from riemdp.releases.release import Release
    from riemdp.summaries.summary import Summary

DIGITS = range(10)
TESTED = 5  # every fifth image is kept to try the means on
LANDMARKS = 24
INK = 0.25  # an outline is where the ink, from 0 to 1, passes this
SPACE = KendallShapes(LANDMARKS)
RADIUS = 0.6  # of 0.706 at most, where noise grows beyond all bounds: chosen without a look at the outlines
BUDGET = GDP(1.5)  # of all three: mu adds up in squares
MEANS, MODES, CLASSIFIER, STRICTER = GDP(1.0), GDP(0.5), GDP(1.0), GDP(0.5)
DRAWN = 30  # outlines in each cloud
REPORTED = 2  # the digit that the report is about
SHOWN = 2  # modes
DEVIATIONS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # at which a mode is drawn
WHAT = (
    "{n:,} handwritten digits, as outlines of {k} points. Position, size and rotation do not count: they are shapes. "
    "All that is taken for granted: an outline is no farther than {r:g} from a circle; one that is, is moved there."
)
PROMISE = (
    "The means promise mu = {means:g}: somebody who knows every other outline of a digit, has two guesses for one, and "
    "allows himself 5 % false alarms, is right at most {right:.0%} of the time. Without any release it would be 5 %. "
    "Means, modes (mu = {modes:g}) and classifier (mu = {classifier:g}) together spent mu = {spent:.3g} of {mu:g}."
)
WORTH = (
    "The nearest mean names {exact:.0%} of {tried} digits left out with exact means, {private:.0%} with private ones; "
    "a private logistic regression names {classifier:.0%} (by chance: 10 %)."
)
VARIES = (
    "All outlines vary about their private mean by {spread:.2f}, root mean square; {seen} modes are beyond noise, the "
    "first with {first:.0%} of the variance."
)
NEXT = """Next:
  Look at {picture}: exact and private means, how outlines vary, how well digits are named.
  Open {report} in a browser: what was released, what the guarantee means, what an attacker can learn.
  riemdp ledger show {ledger}
     shows that the budget is spent: run the demo again in this folder, and it refuses.
  riemdp plan --space kendall --size {k} --records 140 --radius {r:g} --mu {mu:g} --adapt --spread 0.2
     predicts errors without any data: put in your own space and numbers."""


@dataclass(frozen=True)
class Digits:
    """Outlines (n, landmarks, 2) and what they show; every fifth is left out of the means, to try them on."""

    outlines: Array
    labels: Array

    @property
    def is_known(self) -> Array:
        """Mask of the outlines that make the means."""
        return np.arange(len(self.labels)) % TESTED > 0

    @property
    def counts(self) -> Array:
        """Known outlines of each digit."""
        return np.bincount(self.labels[self.is_known])

    def of(self, digit: int) -> Array:
        """The known outlines of a digit."""
        return np.asarray(self.outlines[self.is_known & (self.labels == digit)])


def load_digits() -> Digits:
    """The outlines of scikit-learn's 1,797 digits."""
    from sklearn.datasets import load_digits as load

    data: Any = load()
    return Digits(np.stack([landmarks(curve) for curve in contours(data.images / 16.0)]), data.target)


def contours(images: Array) -> list[Array]:
    """The longest contour of each image, as complex numbers, upwards positive.

    All images stand below each other in one strip, framed by paper: matplotlib is slow to begin, not to go on.
    """
    from matplotlib.figure import Figure

    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    height = framed.shape[1]
    found = Figure().subplots().contour(framed.reshape(-1, framed.shape[2]), levels=[INK]).allsegs[0]
    longest: dict[int, Array] = {}
    for x, y in (np.asarray(curve).T for curve in found):
        image = int(y[0] // height)
        curve = x - 1j * (y - image * height)
        if image not in longest or _length(curve)[-1] > _length(longest[image])[-1]:
            longest[image] = curve
    return [longest[image] for image in range(len(images))]


def _length(curve: Array) -> Array:
    """From the beginning of a curve to each of its points."""
    return np.append(0.0, np.cumsum(np.abs(np.diff(curve))))


def landmarks(curve: Array) -> Array:
    """Points (k, 2) at equal distances along a closed curve, against the clock, from its upper right corner on.

    So the third point of one outline is, more or less, the third of every other.
    """
    area = (curve[:-1].conj() * curve[1:]).imag.sum()
    ring = (curve if area > 0 else curve[::-1])[:-1]
    ring = np.roll(ring, -int(np.argmax(ring.imag + ring.real)))
    ring = np.append(ring, ring[0])
    length = _length(ring)
    points = np.interp(np.arange(LANDMARKS) / LANDMARKS * length[-1], length, ring)
    return np.stack([points.real, points.imag], axis=-1)


@dataclass(frozen=True, eq=False)
class Study:
    """What is released of the digits, all under one ledger."""

    means: PrivateMDM
    outlines: Summary
    classifier: PrivateLogisticRegression

    @classmethod
    def of(cls, digits: Digits, ledger: Ledger | None = None) -> Study:
        """Three releases of the known outlines."""
        from riemdp.estimators import PrivateLogisticRegression, PrivateMDM

        ball, known = public_ball(), (digits.outlines[digits.is_known], digits.labels[digits.is_known])
        means = PrivateMDM(ball=ball, guarantee=MEANS, adapt=True, ledger=ledger)
        classifier = PrivateLogisticRegression(ball=ball, guarantee=CLASSIFIER, classes=DIGITS, ledger=ledger)
        outlines = private_summary(known[0], ball, MODES, adapt=True, ledger=ledger)
        return cls(means.fit(*known), outlines, classifier.fit(*known))

    def scores(self, digits: Digits, exact: Array) -> dict[str, float]:
        """Shares of the digits left out that are named rightly."""
        unseen, labels = digits.outlines[~digits.is_known], digits.labels[~digits.is_known]
        by_means = {"exact": accuracy(digits, exact), "private": accuracy(digits, self.means.means_)}
        return by_means | {"classifier": float(self.classifier.score(unseen, labels))}


def public_ball() -> Ball:
    """Around a circle, as wide as can be: no look at the outlines."""
    turn = np.pi * (0.75 + 2 * np.arange(LANDMARKS) / LANDMARKS)
    return Ball(SPACE, SPACE.project(np.stack([np.cos(turn), np.sin(turn)], axis=-1)), RADIUS)


def exact_means(digits: Digits) -> Array:
    """Certified Fréchet means of the ten digits: not private."""
    return np.stack([frechet_mean(digits.of(digit), SPACE).point for digit in DIGITS])


def accuracy(digits: Digits, means: Array) -> float:
    """Share of the outlines left out whose nearest mean is the right one."""
    unseen, labels = SPACE.project(digits.outlines[~digits.is_known]), digits.labels[~digits.is_known]
    return float(np.mean(np.argmin([SPACE.dist(mean, unseen) for mean in means], axis=0) == labels))


# --- showing -----------------------------------------------------------------------------------------------
# Whatever joins the demonstration gets a row in `draw` and a sentence in `_told`.


def comparison(digits: Digits, releases: Iterable[Release], exact: Array) -> Table:
    """One row per digit: how far the private mean is from the exact one, and what was predicted."""
    out = Table(title="Private mean shapes of handwritten digits", box=SIMPLE)
    for name in ("digit", "outlines", "private mean off by", "predicted", "nearest other digit"):
        out.add_column(name, justify="right")
    apart = np.array([SPACE.dist(mean, exact) for mean in exact]) + np.diag([np.inf] * 10)
    for digit, release in enumerate(releases):
        numbers = SPACE.dist(release.value, exact[digit]), release.expected_error, apart[digit].min()
        out.add_row(str(digit), str(digits.counts[digit]), *(f"{number:.2f}" for number in numbers))
    return out


def draw(digits: Digits, study: Study, exact: Array) -> Figure:
    """Records and exact means; private means and what else might have been released, also if promised more; modes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.4, 5.6), layout="constrained", facecolor="white")
    rows = ["exact", "private", "stricter", "modes"]
    mosaic: Any = [[*(f"{row} {digit}" for digit in DIGITS), "scores"] for row in rows]
    axes = figure.subplot_mosaic(mosaic, width_ratios=[1.0] * 10 + [2.9])
    for digit in DIGITS:
        column = [axes[f"{row} {digit}"] for row in rows[:3]]
        _draw_digit(column, digits.of(digit), exact[digit], study.means.means_[digit])
    _draw_modes([axes[f"modes {digit}"] for digit in DIGITS], study.outlines)
    for row, name in zip(rows, _row_names(), strict=True):
        axes[f"{row} 0"].set_ylabel(name, fontsize=10, rotation=0, ha="left", va="center", labelpad=145)
    _draw_scores(axes["scores"], study.scores(digits, exact))
    return figure


def _row_names() -> list[str]:
    private = f"private mean, mu = {MEANS.mu:g}\nthin: what else might\nhave been released"
    stricter = f"simulated, mu = {STRICTER.mu:g}\na stronger promise\nneeds more noise"
    modes = f"how all outlines vary,\nprivate, mu = {MODES.mu:g}:\nmean and two modes"
    return ["exact mean (NOT private)\nthin: records", private, stricter, modes]


def _draw_digit(column: list[Any], outlines: Array, exact: Array, private: Array) -> None:
    """One digit, from top to bottom, turned as it was written."""
    records = _complex(SPACE.project(outlines))
    upright = records.mean(axis=0)
    cloud, ragged = (
        _complex(simulate(outlines, public_ball(), guarantee, size=DRAWN, seed=len(outlines), adapt=True))
        for guarantee in (MEANS, STRICTER)
    )
    some = records[:: len(records) // DRAWN]
    _outlines(column[0], some, _complex(exact), upright, (GREY, BLACK))
    _outlines(column[1], cloud, _complex(private), upright, (SKY, VERMILION))
    _outlines(column[2], ragged[1:], ragged[0], upright, (SKY, VERMILION))


def _draw_modes(axes: list[Any], outlines: Summary) -> None:
    """Along each of the first modes from two standard deviations below the mean to two above; dashed: the mean."""
    mean, modes = _complex(outlines.value), outlines.modes(SHOWN)
    upright = mean * np.exp(-1j * np.angle(mean[0] / np.exp(0.25j * np.pi)))  # landmarks begin at the upper right
    along = [
        SPACE.exp(level * np.sqrt(variance) * direction, outlines.value)
        for variance, direction in zip(modes.variances, modes.directions, strict=True)
        for level in DEVIATIONS
    ]
    for place, (ax, shape) in enumerate(zip(axes, along, strict=False)):
        _outlines(ax, np.empty((0, LANDMARKS)), _complex(shape), upright, (GREY, VERMILION))
        _outline(ax, mean, upright, color=GREY, linewidth=0.8, linestyle="--")
        mode, level = divmod(place, len(DEVIATIONS))
        ax.set_xlabel(f"mode {mode + 1}: {DEVIATIONS[level]:+g} sd" if level != 2 else "mean", fontsize=8)


def _complex(shapes: Array) -> Array:
    shapes = np.asarray(shapes)
    return shapes[..., 0] + 1j * shapes[..., 1]


def _outlines(ax: Any, thin: Array, mean: Array, upright: Array, colours: tuple[str, str]) -> None:
    """Closed outlines: many thin ones, and the mean."""
    for shape in thin:
        _outline(ax, shape, upright, color=colours[0], linewidth=0.6, alpha=0.4)
    _outline(ax, mean, upright, color=colours[1], linewidth=1.8)
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-0.29, 0.29), ylim=(-0.33, 0.33))
    ax.spines[:].set_visible(False)


def _outline(ax: Any, shape: Array, upright: Array, **style: Any) -> None:
    inner = (upright.conj() * shape).sum()
    closed = np.append(shape, shape[0]) * inner.conj() / abs(inner)
    ax.plot(closed.real, closed.imag, **style)


def _draw_scores(ax: Any, scores: dict[str, float]) -> None:
    """How often a digit is named rightly, by the nearest mean or by the classifier."""
    names = {"exact": "exact\nmeans", "private": "private\nmeans", "classifier": "private\nlogistic\nregression"}
    shown = {names[name]: score for name, score in scores.items()} | {"chance": 0.1}
    bars = ax.bar(list(shown), list(shown.values()), color=[BLACK, VERMILION, VERMILION, "0.8"], width=0.65)
    ax.bar_label(bars, [f"{score:.0%}" for score in shown.values()], padding=2)
    ax.set(ylim=(0, 1), yticks=[], box_aspect=1.1)
    ax.set_title("new digits that are\nnamed rightly", fontsize=10)
    ax.spines[["left", "right", "top"]].set_visible(False)
    ax.tick_params(length=0, labelsize=8)


def _told(digits: Digits, study: Study, exact: Array, ledger: Ledger) -> list[str]:
    """What the numbers of the demonstration say, in sentences."""
    from riemdp.plots import tradeoff

    spent, modes = ledger.spent, study.outlines.modes()
    assert isinstance(spent, GDP)
    worth = WORTH.format(tried=int((~digits.is_known).sum()), **study.scores(digits, exact))
    first = modes.ratios[0] if len(modes) else 0.0
    varies = VARIES.format(spread=study.outlines.dispersion, seen=len(modes), first=first)
    shares = {"means": MEANS.mu, "modes": MODES.mu, "classifier": CLASSIFIER.mu}
    right = 1 - float(tradeoff(MEANS, 0.05))
    return [worth, varies, PROMISE.format(mu=BUDGET.mu, right=right, spent=spent.mu, **shares)]


def _require_free(paths: Iterable[Path], ledger: Path) -> None:
    """Before anything is spent; a budget that is spent already refuses by itself."""
    taken = [path for path in paths if os.path.lexists(path)]
    if taken and not (ledger.exists() and Ledger(ledger).spent):
        raise InputError(f"{taken[0]} exists already: pass another folder, or --force to replace it.")


def main(out_dir: str | Path = "demo", *, force: bool = False) -> Path:
    """Run the demonstration; returns the path of the report."""
    from riemdp.plots import save_figure
    from riemdp.report import write_report

    folder, console = Path(out_dir), Console(markup=False, emoji=False, highlight=False)
    report, picture, book = (folder / name for name in ("report.html", "means.png", "ledger.db"))
    if not force:
        _require_free((report, picture), book)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be a folder ({error.strerror}): pass another.") from None
    digits = load_digits()
    console.print(WHAT.format(n=len(digits.labels), k=LANDMARKS, r=RADIUS))
    ledger = Ledger(book, budget=BUDGET)
    study = Study.of(digits, ledger)
    exact, released = exact_means(digits), study.means.releases_
    console.print(comparison(digits, released, exact), *_told(digits, study, exact, ledger), sep="\n")
    write_report(released[REPORTED], report, ledger=ledger, force=force)
    save_figure(draw(digits, study, exact), picture, force=force)
    paths = {"picture": picture, "report": report, "ledger": book}
    shown = {name: printable(path) for name, path in paths.items()}
    console.print("", NEXT.format(**shown, k=LANDMARKS, r=RADIUS, mu=MEANS.mu), sep="\n", soft_wrap=True)
    return report


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except RiemdpError as error:
        sys.exit(str(error))
