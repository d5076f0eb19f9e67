"""Classifiers side by side, on real covariance matrices. `python benchmarks/classifiers.py`

Sets: descriptors of handwritten digits (scikit-learn's), and, from a folder of data (--data), of retinal OCT and
fashion images, and covariances of EEG. The ball is public, from bounds of eigenvalues that hold for any image;
nothing is tuned. Without privacy: scikit-learn's logistic regression on the same vectors, and pyRiemann's tangent
space with logistic regression and its MDM, in their usual metric. diffprivlib's LogisticRegression and GaussianNB get
tangent vectors at the training records' own mean, scaled by their own 95 % quantile, neither of which is private: an
advantage. It is no dependency: name an interpreter that has it (--peer), with scikit-learn below 1.4, whose logistic
regression it was written for; or it is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd
from riemdp.descriptors import MARGIN

Array = np.ndarray[Any, np.dtype[Any]]
RESULTS = Path(__file__).parent / "results"
CLAIMS = {
    "mu = 1": rd.GDP(1.0),
    "mu = 0.5": rd.GDP(0.5),
    "epsilon = 1, delta = 1e-5": rd.ApproxDP(1.0, 1e-5),
    "epsilon = 1": rd.PureDP(1.0),
    "epsilon = 4": rd.PureDP(4.0),
}
EPSILONS = (1.0, 4.0)  # of the peers
SIZES = (500, 1000, 2000, 4000, 8000)  # of training sets of OCT, for the picture
SPEED = (10**4, 45, 100)  # records, dimension, steps

# For an interpreter with diffprivlib: tangent vectors in, accuracies out.
CHILD = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import GaussianNB, LogisticRegression
z = np.load(sys.argv[1]); epsilons, runs = json.loads(sys.argv[2])
X, y, tX, ty = z["X"], z["y"], z["tX"], z["ty"]
make = {"LogisticRegression": lambda e: LogisticRegression(epsilon=e, data_norm=1.0, max_iter=500),
        "GaussianNB": lambda e: GaussianNB(epsilon=e, bounds=(-1, 1))}
print(json.dumps({f"diffprivlib {name}, epsilon = {e:g}": [m(e).fit(X, y).score(tX, ty) for _ in range(runs)]
                  for name, m in make.items() for e in epsilons}))
"""


@dataclass(frozen=True)
class Split:
    """A set of matrices with labels, and a public ball for them."""

    name: str
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    ball: rd.Ball

    def vectors(self) -> list[Array]:
        """Coordinates of logarithms at the public centre, to learn from and to test."""
        space, center = self.ball.space, self.ball.center
        return [space.coordinates(space.log(some[0], center), center) for some in (self.train, self.test)]

    def first(self, n: int) -> Split:
        """With fewer training records."""
        return Split(self.name, (self.train[0][:n], self.train[1][:n]), self.test, self.ball)


# --- data ----------------------------------------------------------------------------------------------------


def described(name: str, images: Array, labels: Array, train: int, *, shuffle: bool = True) -> Split:
    """Covariance descriptors, in the ball that holds those of any image."""
    order = np.random.default_rng(0).permutation(len(images)) if shuffle else np.arange(len(images))
    X, y = rd.covariance_descriptors(images)[order], labels[order]
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(9), *rd.descriptor_eigenvalue_bounds(1, 1e-6))
    return Split(name, (X[:train], y[:train]), (X[train:], y[train:]), ball)


def digits() -> Split:
    """All of scikit-learn's, every fifth to test; a frame of background lets derivatives reach every pixel."""
    from sklearn.datasets import load_digits

    data: Any = load_digits()
    framed = np.pad(data.images / 16.0, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))
    whole = described("digits", framed, data.target, 0, shuffle=False)
    (X, y), learn = whole.test, np.arange(len(data.target)) % 5 > 0
    return Split("digits", (X[learn], y[learn]), (X[~learn], y[~learn]), whole.ball)


def oct_images(folder: Path) -> Split:
    """2,000 of each of four classes, and the set's own test images."""
    z, rng = np.load(folder / "oct_kermany28.npz"), np.random.default_rng(0)
    y, split = z["labels"].astype(int), z["split"]
    chosen = [rng.choice(np.flatnonzero((y == c) & (split == 0)), 2000, replace=False) for c in range(4)]
    train, test = rng.permutation(np.concatenate(chosen)), np.flatnonzero(split == 2)
    parts = [described("OCT", z["images"][some], y[some], 0) for some in (train, test)]
    return Split("OCT", parts[0].test, parts[1].test, parts[0].ball)


def fashion(folder: Path) -> Split:
    """Four classes, 8,000 to learn from and 4,000 to test."""
    z = np.load(folder / "fashion_mnist_4c.npz")
    chosen = np.random.default_rng(0).choice(len(z["labels"]), 12_000, replace=False)
    return described("fashion", z["images"][chosen], z["labels"][chosen].astype(int), 8000)


def eeg(folder: Path) -> Split:
    """216 of one person, of which 160 to learn from: too few for any privacy worth the name."""
    z, order = np.load(folder / "eeg_erp_cov.npz"), np.random.default_rng(0).permutation(216)
    X, y = z["cov"][order, 16:, 16:], z["labels"][order]
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(16), 1e-2, 1e5)
    return Split("EEG", (X[:160], y[:160]), (X[160:], y[160:]), ball)


def all_sets(folder: Path | None) -> Iterator[Split]:
    """Those that are there."""
    yield digits()
    if folder is None:
        print("OCT, fashion and EEG are left out: name a folder that has them, --data FOLDER.")
        return
    for make in (oct_images, fashion, eeg):
        yield make(folder)


# --- classifiers -----------------------------------------------------------------------------------------------


def without_privacy(split: Split) -> dict[str, list[float]]:
    """pyRiemann's, if it is there."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    linear = LogisticRegression(max_iter=5000)
    vectors = split.vectors()
    found = {"the same model, not private": [linear.fit(vectors[0], split.train[1]).score(vectors[1], split.test[1])]}
    try:
        from pyriemann.classification import MDM
        from pyriemann.tangentspace import TangentSpace
    except ImportError:
        print("pyRiemann is left out: pip install pyriemann.")
        return found
    models = {"pyRiemann TSLR, not private": make_pipeline(TangentSpace(), linear), "pyRiemann MDM, not private": MDM()}
    return found | {name: [model.fit(*split.train).score(*split.test)] for name, model in models.items()}


def ours(split: Split, runs: int, claims: dict[str, Any] = CLAIMS) -> dict[str, list[float]]:
    """Both of ours, each for every claim, as often as asked."""
    kinds = {"PrivateLogisticRegression": rd.PrivateLogisticRegression, "PrivateLDA": rd.PrivateLDA}
    found: dict[str, list[float]] = {}
    for name, kind in kinds.items():
        for claim, guarantee in claims.items():
            model = kind(ball=split.ball, guarantee=guarantee, classes=np.unique(split.train[1]))
            found[f"{name}, {claim}"] = [model.fit(*split.train).score(*split.test) for _ in range(runs)]
    return found


def peers(split: Split, runs: int, interpreter: str) -> dict[str, list[float]]:
    """diffprivlib's, in an interpreter that has it."""
    vectors = split.vectors()
    center = vectors[0].mean(axis=0)
    radius = np.quantile(np.linalg.norm(vectors[0] - center, axis=1), 0.95)
    scaled = [(v - center) / radius for v in vectors]
    X, tX = (v / np.maximum(1.0, np.linalg.norm(v, axis=1, keepdims=True)) for v in scaled)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "z.npz", X=X, y=split.train[1], tX=tX, ty=split.test[1])
        asked = [interpreter, "-c", CHILD, f"{folder}/z.npz", json.dumps([EPSILONS, runs])]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        print("diffprivlib is left out: pip install diffprivlib into an environment, and name its python by --peer.")
        return {}
    return dict(json.loads(done.stdout))


def seconds_of_a_fit() -> float:
    """Of SPEED, of processor time: others may use the machine."""
    n, dim, steps = SPEED
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, dim)) + 2 * np.eye(dim)[y]
    ball = rd.Ball(rd.Euclidean(dim), np.zeros(dim), 20.0)
    start = time.process_time()
    rd.PrivateLogisticRegression(ball=ball, guarantee=rd.GDP(1.0), classes=range(4), steps=steps).fit(X, y)
    return time.process_time() - start


# --- results ---------------------------------------------------------------------------------------------------


def row(accuracies: list[float]) -> dict[str, float]:
    """Mean and standard error."""
    spread = float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else 0.0
    return {"accuracy": float(np.mean(accuracies)), "error": spread / len(accuracies) ** 0.5, "runs": len(accuracies)}


def picture(found: dict[str, Any], path: Path) -> None:
    """Accuracy by the number of training records."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    ax = figure.subplots()
    styles = {
        "the same model, not private": ("0.2", "--", "s"),
        "pyRiemann TSLR, not private": ("0.4", "-.", "x"),
        "pyRiemann MDM, not private": ("0.6", ":", "d"),
    }
    colours = iter([("#0072B2", "-", "o"), ("#D55E00", "-", "^"), ("#009E73", "-", "v")])
    for name in next(iter(found.values())):
        colour, line, marker = styles.get(name) or next(colours)
        levels = [100 * found[n][name]["accuracy"] for n in found]
        ax.plot([int(n) for n in found], levels, color=colour, linestyle=line, marker=marker, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks([int(n) for n in found], [f"{int(n):,}" for n in found])
    ax.set(xlabel="records to learn from (OCT, four classes)", ylabel="accuracy on others, %")
    ax.grid(color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=160)


def main() -> None:
    """Tables, as JSON and as text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the OCT, fashion and EEG sets")
    parser.add_argument("--peer", default=sys.executable, help="an interpreter that has diffprivlib")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "classifiers.json")
    parser.add_argument("--plot", type=Path, help="picture of accuracy by n, .png")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    result: dict[str, Any] = {"seconds of a fit": {"records, dimension, steps": SPEED, "seconds": seconds_of_a_fit()}}
    print(result, flush=True)
    for split in all_sets(asked.data):
        makers: list[Callable[[], dict[str, list[float]]]] = [
            lambda split=split: without_privacy(split),
            lambda split=split: ours(split, asked.runs),
            lambda split=split: peers(split, asked.runs, asked.peer),
        ]
        result[split.name] = {name: row(found) for make in makers for name, found in make().items()}
        for name, one in result[split.name].items():
            print(f"| {split.name} | {name} | {100 * one['accuracy']:.1f} ± {100 * one['error']:.1f} |", flush=True)
        if split.name == "OCT":
            claims = {name: CLAIMS[name] for name in ("mu = 1", "epsilon = 1")}
            parts = [split.first(n) for n in SIZES]
            result["by n"] = {
                str(n): {k: row(v) for k, v in (without_privacy(part) | _logistic(ours(part, 2, claims))).items()}
                for n, part in zip(SIZES, parts, strict=True)
            }
    asked.out.parent.mkdir(exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=1))
    if asked.plot and "by n" in result:
        picture(result["by n"], asked.plot)


def _logistic(found: dict[str, list[float]]) -> dict[str, list[float]]:
    return {name: values for name, values in found.items() if name.startswith("PrivateLogistic")}


if __name__ == "__main__":
    main()
