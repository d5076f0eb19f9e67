"""What privacy costs a classifier: PrivateMDM against pyRiemann's MDM on EEG and OCT data, accuracy against epsilon.

Both use the log-Euclidean metric. Given the features, the balls are public by construction. The features themselves
(which channels, how much shrinkage, which eta) were chosen among about twenty settings by their accuracy on these very
data, so the accuracies are optimistic, the non-private ones included; what they show is the cost of noise:

- OCT (retinal images, 4 diagnoses): 5 x 5 covariance descriptors with eta = 1, the square of a grey level. Their
  eigenvalues have proved bounds (docs/proofs/descriptors.md). A record is an image, not a patient.
- EEG (event-related potentials, 4 stimuli): 8 x 8, the first spatial filter of each class, template and trial. Raw
  covariances have no public bound (their unit is the amplifier's), so each record is turned, by itself, into
  (1 - a) correlation + a I, a = 0.1, whose eigenvalues lie in [a, (1 - a) k + a]; what that costs without any privacy
  is shown as a line of its own. A record is a trial, and the templates are taken as public, as if they came from
  an earlier session: here they stem from the same one, so the figures show what noise costs and no more.

Three promises: epsilon-DP and (epsilon, 1e-5)-DP with public labels, and the latter with private labels.
Data: ../shared/data beside the repository. Run: python experiments/mdm_accuracy.py
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import riemdp as rd
from riemdp.estimators import PrivateMDM

Array = NDArray[np.float64]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
MODERATE = 2.0
DELTA = 1e-5
ETA, SHRINKAGE = 1.0, 0.1
FIRST_FILTERS = [0, 4, 8, 12, 16, 20, 24, 28]
PROMISES: dict[str, Callable[[float], tuple[rd.Guarantee, bool]]] = {
    "ε-DP": lambda epsilon: (rd.PureDP(epsilon), False),
    "(ε, 1e-5)-DP": lambda epsilon: (rd.ApproxDP(epsilon, DELTA), False),
    "(ε, 1e-5)-DP, private labels": lambda epsilon: (rd.ApproxDP(epsilon, DELTA), True),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73")


@dataclass(frozen=True)
class Task:
    """Records, their labels, a public ball, splits into training and test, and the records before preparation."""

    name: str
    records: Array
    labels: NDArray[np.str_]
    ball: rd.Ball
    splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    raw: Array | None = None


@dataclass(frozen=True)
class Result:
    """Accuracies without privacy, and (mean, standard error) by promise and epsilon."""

    task: str
    training: int
    plain: float
    raw: float | None
    private: dict[str, list[tuple[float, float]]]


def load(name: str) -> dict[str, NDArray[np.generic]]:
    """One of the shared data sets; says so and stops where they are not at hand."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is not there: this experiment needs the shared data beside the repository.")
    with np.load(path) as archive:
        return dict(archive)


def shrunk_correlations(covariances: Array, share: float) -> Array:
    """(1 - a) D^{-1/2} C D^{-1/2} + a I, D the diagonal of C: a map of each record by itself."""
    deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    correlations = covariances / deviations[:, :, None] / deviations[:, None, :]
    return (1 - share) * correlations + share * np.eye(covariances.shape[1])


def shrunk_bounds(k: int, share: float) -> tuple[float, float]:
    """A correlation matrix is positive semidefinite with trace k: its eigenvalues lie in [0, k]."""
    return share, (1 - share) * k + share


def eeg_task(folds: int = 5, seed: int = 0) -> Task:
    """Every trial is tested once."""
    from sklearn.model_selection import StratifiedKFold

    data = load("eeg_erp_cov")
    raw = data["cov"][:, FIRST_FILTERS][:, :, FIRST_FILTERS]
    k = len(FIRST_FILTERS)
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(k), *shrunk_bounds(k, SHRINKAGE))
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(raw, data["labels"]))
    return Task("EEG", shrunk_correlations(raw, SHRINKAGE), data["labels"], ball, splits, raw)


def oct_task(per_class: int = 2000, seed: int = 0) -> Task:
    """Training images from the training split, tests from the others."""
    data, rng = load("oct_kermany28"), np.random.default_rng(seed)
    known = [np.flatnonzero((data["split"] == 0) & (data["labels"] == label)) for label in range(4)]
    train = np.concatenate([rng.permutation(rows)[:per_class] for rows in known])
    test = np.flatnonzero(data["split"] > 0)
    rows = np.concatenate([train, test])
    records = rd.covariance_descriptors(data["images"][rows], ETA, "five")
    bounds = rd.descriptor_eigenvalue_bounds(1, ETA, "five")
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(5), *bounds)
    names = data["class_names"][data["labels"][rows]]
    return Task("OCT", records, names, ball, [(np.arange(len(train)), np.arange(len(train), len(rows)))])


def plain_accuracy(task: Task, records: Array) -> float:
    """pyRiemann's MDM."""
    from pyriemann.classification import MDM

    def score(train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
        return MDM("logeuclid").fit(records[train], task.labels[train]).score(records[test], task.labels[test])

    return float(np.mean([score(*split) for split in task.splits]))


def private_accuracy(task: Task, guarantee: rd.Guarantee, private_labels: bool, repeats: int) -> tuple[float, float]:
    """Mean over repeats of the accuracy over all splits, and its standard error; every fit is a true release."""
    model = PrivateMDM(
        ball=task.ball, guarantee=guarantee, private_labels=private_labels, classes=np.unique(task.labels)
    )

    def score(train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
        return model.fit(task.records[train], task.labels[train]).score(task.records[test], task.labels[test])

    scores = [np.mean([score(*split) for split in task.splits]) for _ in range(repeats)]
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / math.sqrt(repeats))


def run(task: Task, repeats: int, epsilons: tuple[float, ...] = EPSILONS) -> Result:
    """All promises at all epsilons."""
    private = {
        name: [private_accuracy(task, *promise(epsilon), repeats) for epsilon in epsilons]
        for name, promise in PROMISES.items()
    }
    raw = None if task.raw is None else plain_accuracy(task, task.raw)
    return Result(task.name, len(task.splits[0][0]), plain_accuracy(task, task.records), raw, private)


def show(result: Result, console: Console, epsilons: tuple[float, ...] = EPSILONS) -> None:
    """A table, and the loss at a moderate budget."""
    table = Table("ε", *PROMISES)
    unprepared = "" if result.raw is None else f" ({result.raw:.1%} before preparation)"
    table.title = f"{result.task}: {result.training} training records, without privacy {result.plain:.1%}{unprepared}"
    for row, epsilon in enumerate(epsilons):
        cells = (result.private[name][row] for name in PROMISES)
        table.add_row(f"{epsilon:g}", *(f"{mean:.1%} ± {2 * error:.1%}" for mean, error in cells))
    console.print(table)
    if MODERATE in epsilons:
        row = epsilons.index(MODERATE)
        losses = {name: 100 * (result.plain - result.private[name][row][0]) for name in PROMISES}
        listed = "; ".join(f"{loss:.1f} for {name}" for name, loss in losses.items())
        console.print(f"Percentage points of accuracy lost at ε = {MODERATE:g}: {listed}.\n", highlight=False)


def plot(results: list[Result], path: Path, epsilons: tuple[float, ...] = EPSILONS) -> None:
    """A panel per task, with bands of two standard errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8 * len(results), 4), layout="constrained")
    for axis, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
        for colour, (name, cells) in zip(COLOURS, result.private.items(), strict=True):
            mean, band = np.array(cells).T * np.array([[1], [2]])
            axis.plot(epsilons, mean, color=colour, marker="o", markersize=3, label=name)
            axis.fill_between(epsilons, mean - band, mean + band, color=colour, alpha=0.25, linewidth=0)
        axis.axhline(result.plain, color="0.3", linestyle="--", linewidth=1, label="without privacy")
        if result.raw is not None:
            axis.axhline(result.raw, color="0.6", linestyle=":", linewidth=1, label="... before preparation")
        axis.set(title=f"{result.task}, {result.training} training records", xlabel="ε", ylabel="accuracy")
        axis.set_xscale("log", base=2)
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Tables on the terminal and a picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("mdm_accuracy.png"))
    options = parser.parse_args()
    console, results = Console(), [run(task, options.repeats) for task in (eeg_task(), oct_task())]
    for result in results:
        show(result, console)
    plot(results, options.out)
    console.print(f"Look at {options.out}: where the curves reach the dashed line, privacy costs no accuracy.")


if __name__ == "__main__":
    main()
