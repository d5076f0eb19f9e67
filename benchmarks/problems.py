"""What estimators of means are compared on: simulated and real vectors, each with public bounds and the mean sought.

Real records are coordinates of logarithms at the centre of a public ball, cut to it; the mean sought is their own. Of
shapes and diffusion tensors, whose spaces are curved, the records themselves are kept too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd

sys.path.append(str(Path(__file__).parents[1] / "experiments"))
import baselines
from baselines import Array, Cell, Generator
from harness import data_folder, has, load, panels
from new_common import shapes, tensors

__all__ = ["baselines", "panels"]  # of experiments/, for those beside this file

PUBLISHED = data_folder() / "plan_published_errors.csv"
RHOS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
DIMS = (16, 32, 64, 128, 256, 512, 1024, 2048)
ALPHAS = (0.0, 0.5, 1.0, 1.5, 2.0)
ETA = 1e-6  # of descriptors


@dataclass(frozen=True)
class Sample:
    """Vectors in a ball around 0, the mean sought, and what estimators are told."""

    X: Array
    mean: Array
    radius: float  # of lengths
    bound: float  # of coordinates
    length: float  # what the instance-optimal mean takes for a bound of lengths
    eigenvalues: Array  # of the covariance
    axes: Array | None = None  # rows, those of the covariance; without them, the coordinates'

    def error(self, estimate: Array) -> float:
        """Distance of an estimate, moved into the public ball, from the mean."""
        inside = estimate * min(1.0, self.radius / max(float(np.linalg.norm(estimate)), 1e-300))
        return float(np.linalg.norm(inside - self.mean))

    def rotated(self, rng: Generator) -> Sample:
        """In random axes."""
        axes, _ = np.linalg.qr(rng.standard_normal((len(self.mean), len(self.mean))))
        return replace(self, X=self.X @ axes, mean=self.mean @ axes, axes=axes)


@dataclass(frozen=True)
class Curved:
    """Records of a curved space, in a public ball."""

    records: Array
    ball: rd.Ball

    @cached_property
    def mean(self) -> Array:
        """Fréchet's."""
        return rd.frechet_mean(self.records, self.ball.space, tol=1e-8).point


@dataclass(frozen=True)
class Problem:
    """What is estimated, and how much rho-zCDP it may cost."""

    group: str
    name: str
    rho: float
    guarantee: rd.Guarantee
    draw: Callable[[Generator], Sample]
    cell: Cell | None = None  # of simulated records
    curved: Curved | None = None

    @property
    def key(self) -> str:
        """Of its results."""
        return f"{self.group} | {self.name} | {self.rho:g}"

    @property
    def is_large(self) -> bool:
        """Whether few runs must do."""
        return self.cell is not None and self.cell.d > 512


# --- simulated -----------------------------------------------------------------------------------------------


def simulated() -> Iterator[Problem]:
    """Settings A, B and C of PLAN's paper, and B and C in random axes (A is the same in all)."""
    cells = [Cell("A", d, rho, 0.0) for d in DIMS for rho in RHOS[1:]]
    cells += [Cell("B", 512, rho, alpha) for alpha in ALPHAS for rho in RHOS]
    cells += [Cell("C", d, rho, 2.0) for d in DIMS for rho in RHOS[1:]]
    yield from (_problem(cell) for cell in cells)
    skewed = [cell for cell in cells if cell.setting == "B" and cell.alpha >= 1 and cell.rho in (1 / 8, 1 / 2)]
    skewed += [cell for cell in cells if cell.setting == "C" and 64 <= cell.d <= 512]
    yield from (_problem(cell, rotate=True) for cell in skewed)


def _problem(cell: Cell, rotate: bool = False) -> Problem:
    name = f"alpha = {cell.alpha:g}" if cell.setting == "B" else f"d = {cell.d}"

    def draw(rng: Generator) -> Sample:
        sample = Sample(
            cell.records(rng),
            np.full(cell.d, cell.mean),
            cell.bound * math.sqrt(cell.d),
            cell.bound,
            cell.bound,
            cell.variances,
        )
        return sample.rotated(rng) if rotate else sample

    group = f"rotated {cell.setting}" if rotate else cell.setting
    return Problem(group, name, cell.rho, rd.ZCDP(cell.rho), draw, cell)


# --- real ----------------------------------------------------------------------------------------------------

IMAGES = {
    "OCT": ("oct_kermany28", "images", "labels"),
    "MNIST": ("mnist", "test_images", "test_labels"),
    "KMNIST": ("kmnist_test", "images", "labels"),
    "CIFAR10": ("cifar10_4c", "images", "labels"),
    "PathMNIST": ("pathmnist_test718", "images", "labels"),
}
OTHERS: dict[str, tuple[str, Callable[[], tuple[Array, rd.Ball]]]] = {
    "EEG": ("eeg_erp_cov", lambda: (load("eeg_erp_cov")["cov"], _matrices(32, (1e-5, 1.0)))),
    "leaves": ("passiflora_leaves", lambda: shapes("passiflora_leaves", "landmarks", 0.7)),
    "hearts": ("landmarks_misc", lambda: shapes("landmarks_misc", "hearts", 0.7)),
    "wings": ("landmarks_misc", lambda: shapes("landmarks_misc", "mosquito_wings", 0.7)),
    "DTI": ("dti_tensors", lambda: tensors(6.0)),
}
REAL = (*IMAGES, *OTHERS)


def _matrices(k: int, eigenvalues: tuple[float, float]) -> rd.Ball:
    return rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(k), *eigenvalues)


def real(rhos: tuple[float, ...] = (1 / 16, 1 / 8, 1 / 2, 1.0)) -> Iterator[Problem]:
    """Every set at hand: each class of images, and what is not images as a whole."""
    for group, (file, images, labels) in IMAGES.items():
        if _is_there(group, file):
            for label in np.unique(load(file)[labels]):
                yield from _real(group, f"class {label}", _class_of(file, images, labels, label), rhos)
    for group, (file, loaded) in OTHERS.items():
        if _is_there(group, file):
            yield from _real(group, "all", loaded, rhos)


def _is_there(group: str, file: str) -> bool:
    if not has(file):
        print(
            f"{group} is left out: {file}.npz is not in {data_folder()}; set RIEMDP_DATA to the folder that holds it."
        )
    return has(file)


def _class_of(file: str, images: str, labels: str, label: Any) -> Callable[[], tuple[Array, rd.Ball]]:
    def loaded() -> tuple[Array, rd.Ball]:
        data = load(file)
        pixels = data[images][data[labels] == label]
        channels = 1 if pixels.ndim == 3 else 3
        ball = _matrices(9 if channels == 1 else 11, rd.descriptor_eigenvalue_bounds(channels, ETA))
        return rd.covariance_descriptors(pixels, ETA), ball

    return loaded


def _real(
    group: str, name: str, loaded: Callable[[], tuple[Array, rd.Ball]], rhos: tuple[float, ...]
) -> Iterator[Problem]:
    records, ball = loaded()
    sample = in_coordinates(records, ball)
    curved = None if isinstance(ball.space, rd.SPDLogEuclidean) else Curved(records, ball)
    for rho in rhos:
        yield Problem(group, name, rho, rd.GDP(math.sqrt(2 * rho)), lambda _: sample, None, curved)


def in_coordinates(records: Array, ball: rd.Ball) -> Sample:
    """Logarithms at the centre, cut to the ball. Medians of rotated coordinates may be a few times radius/sqrt(d)."""
    space, radius = ball.space, ball.radius
    vectors = space.coordinates(space.log(records, ball.center), ball.center)
    X = vectors * np.minimum(1, radius / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))
    eigenvalues = np.clip(np.linalg.eigvalsh(np.cov(X.T)), 0, None)
    return Sample(X, X.mean(axis=0), radius, radius, 4 * radius, eigenvalues)
