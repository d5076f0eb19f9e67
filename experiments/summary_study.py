"""How good summaries are: real data against exact moments, and adaptive means against Fréchet means of today.

`python experiments/summary_study.py` prints both tables; with `--runs 50` in some minutes. `--only DTI --runs 300`
prints the rows of one data set.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import riemdp as rd
from harness import data_folder
from riemdp.manifolds.transport import transport
from riemdp.privacy.bounded import Bounded

Array = np.ndarray[Any, np.dtype[Any]]
DATA = data_folder()
PROMISE = rd.GDP(1.0)


def leaves() -> tuple[Array, rd.Ball]:
    """Passiflora leaves of 15 landmarks around the mean shape of the species' mean outlines."""
    with np.load(DATA / "passiflora_leaves.npz") as data:
        X, species = data["landmarks"], data["species"]
    space = rd.KendallShapes(X.shape[1])
    outlines = space.project(np.array([X[species == name].mean(axis=0) for name in np.unique(species)]))
    return X, rd.Ball(space, rd.frechet_mean(outlines, space).point, 0.75)


def tensors(low: float = 0.05, high: float = 5.0) -> tuple[Array, rd.Ball]:
    """Diffusion tensors; diffusivities of tissue are within 0.05 and 5, in 1e-3 mm²/s."""
    with np.load(DATA / "dti_tensors.npz") as data:
        return data["small64_tensors"], rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), low, high)


def retinas() -> tuple[Array, rd.Ball]:
    """Covariance descriptors (9 x 9) of healthy retinas, in the ball that is proved for every image."""
    with np.load(DATA / "oct_kermany28.npz") as data:
        X = rd.covariance_descriptors(data["images"][data["labels"] == 3])
    return X, rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(9), *rd.descriptor_eigenvalue_bounds(1))


SETS: dict[str, Callable[[], tuple[Array, rd.Ball]]] = {
    "leaves": leaves,
    "OCT": retinas,
    "DTI": tensors,
    "DTI, 0.1 to 4": partial(tensors, 0.1, 4.0),
    "DTI, 0.01 to 10": partial(tensors, 0.01, 10.0),
}
WITHIN = (3.0, 15.0, 5.0)  # what is hoped for: %, degrees, points


class Truth:
    """Mean, variances and directions of the records as moved into the ball, without noise."""

    def __init__(self, X: Array, ball: rd.Ball) -> None:
        space = ball.space
        moved = space.exp_coords(Bounded(X, ball)._coordinates.all(), ball.inner_center)
        mean = rd.frechet_mean(space.write(moved, ball.center), space).point
        self.space, self.mean = space, space.read(mean, "mean")
        logs = space.log_coords(moved, self.mean)
        values, vectors = np.linalg.eigh(logs.T @ logs / len(logs))
        self.variances, self.directions = values[::-1], vectors[:, ::-1]

    def errors(self, made: rd.Summary) -> tuple[float, float, float]:
        """Of the dispersion (%), of the first mode (degrees) and of the first three modes' share (points)."""
        modes, value = made.modes(3), self.space.read(made.value, "value")
        first = transport(self.space, value, self.mean) @ self.space.coordinates(modes.directions[0], made.value)
        angle = np.degrees(np.arccos(min(1.0, abs(float(first @ self.directions[:, 0])))))
        dispersion = 100 * (made.dispersion / np.sqrt(self.variances.sum()) - 1)
        share = 100 * (modes.ratios.sum() - self.variances[:3].sum() / self.variances.sum())
        return float(dispersion), float(angle), float(share)


def real_data(runs: int, only: str = "") -> None:
    """Adaptive summaries at mu = 1: median and worst of all runs, how many are off by more than hoped for, the mean."""
    titles = ("dispersion, error", "first mode, off by", "first three modes, share off by", "missed", "mean", "alone")
    print(f"| data | n | d | {' | '.join(titles)} |\n|" + "---|" * 9)
    for name, load in SETS.items():
        if name.startswith(only):
            X, ball = load()
            print(f"| {name} | {len(X)} | {ball.space.dim} | {' | '.join(_cells(X, ball, runs))} |", flush=True)


def _cells(X: Array, ball: rd.Ball, runs: int) -> list[str]:
    """What the runs give; the last one, for comparison, is the median error of adaptive means alone."""
    truth, space = Truth(X, ball), ball.space
    made = [rd.private_summary(X, ball, PROMISE, adapt=True) for _ in range(runs)]
    alone = [rd.private_mean(X, ball, PROMISE, adapt=True) for _ in range(runs)]
    found = np.abs([truth.errors(one) for one in made])
    missed = (found > WITHIN).any(axis=1).mean()
    exact = space.write(truth.mean, ball.center)
    means = [np.median(space.dist(np.asarray([one.value for one in some]), exact)) for some in (made, alone)]
    units = zip(np.median(found, axis=0), found.max(axis=0), ("%", "°", " points"), strict=True)
    cells = [f"{middle:.1f}{unit} (worst {worst:.1f})" for middle, worst, unit in units]
    return [*cells, f"{100 * missed:.1f}%", *(f"{error:.5f}" for error in means)]


def cloud(space: rd.Space, n: int, spread: float, off: float, seed: int) -> Array:
    """Normal coordinates of this spread around a point `off` the origin."""
    rng = np.random.default_rng(seed)
    base = space.exp_coords(off * np.eye(space.dim)[0], space.read(space.origin, "origin"))
    coords = rng.standard_normal((n, space.dim)) * spread / np.sqrt(space.dim)
    return space.write(space.exp_coords(coords, base), space.origin)


PLACES: list[tuple[rd.Space, float, float, float]] = [  # space, radius of the ball, spread, distance off its centre
    (rd.SPDAffine(3), 5.0, 1.0, 1.0),
    (rd.SPDAffine(3), 5.0, 0.5, 2.0),
    (rd.Sphere(2), 1.3, 0.5, 0.3),
    (rd.Sphere(2), 1.3, 0.2, 0.5),
    (rd.KendallShapes(6), 0.6, 0.15, 0.2),
]


def adaptive_means(runs: int, n: int = 2000) -> None:
    """The median error of the mean in an adaptive summary beside that of an adaptive Fréchet mean, at mu = 1.

    Seeded draws: of 300 the median is known to 2 %.
    """
    print("\n| space | radius | spread | off | private_mean | private_summary | ratio |\n|" + "---|" * 7)
    for space, radius, spread, off in PLACES:
        X, ball = cloud(space, n, spread, off, 0), rd.Ball(space, space.origin, radius)
        exact = rd.frechet_mean(X, space).point

        asked: dict[str, Any] = {"adapt": True, "size": runs, "seed": 1}
        made = [rd.simulate(X, ball, PROMISE, statistic=name, **asked) for name in ("frechet-mean", "summary")]
        old, new = (float(np.median(space.dist(np.asarray(values), exact))) for values in made)
        print(f"| {space!r} | {radius} | {spread} | {off} | {old:.5f} | {new:.5f} | {new / old:.2f} |", flush=True)


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", default="", help="data sets whose name starts so, and nothing else")
    runs, only = vars(parser.parse_args()).values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.UselessRelease)
        real_data(runs, only)
        if not only:
            adaptive_means(6 * runs)


if __name__ == "__main__":
    main()
