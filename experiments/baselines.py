"""Private means of others, to compare with: PLAN, the instance-optimal mean, CoinPress; and an oracle.

Rewritten from the papers, with the shares and constants of the experiments that they publish; each is rho-zCDP if one
record is replaced. In float64 and with NumPy's seeded noise: experiments, never releases.

- PLAN: Aumüller, Lebeda, Nelson, Pagh, "PLAN: Variance-Aware Private Mean Estimation" (arXiv 2306.08745).
- Instance-optimal: Huang, Liang, Yi, "Instance-optimal Mean Estimation Under Differential Privacy" (NeurIPS 2021).
- CoinPress: Biswas, Dong, Kamath, Ullman, "CoinPress: Practical Private Mean and Covariance Estimation" (NeurIPS 2020).

The published figures of PLAN (its Gaussian settings A, B, C) were made with searches for medians that are 3.5 times as
sharp as rho allows, if one record is replaced (docs/estimators.md says why): `sharpness=PUBLISHED` gives these, and 1
what rho pays for.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

Array = NDArray[Any]
Generator = np.random.Generator

PUBLISHED = math.sqrt(12)  # three copies of each record for a third of rho, ranks that change by a half


# --- searches ------------------------------------------------------------------------------------------------


def strength(rho: float) -> float:
    """Of exp(-strength · |ranks from the quantile|): a replaced record changes every rank by at most 1."""
    return math.sqrt(2 * rho)


def private_quantile(X: Array, q: float, strength: float, low: float, high: float, rng: Generator) -> Array:
    """A quantile of each column, by the exponential mechanism on the intervals between its records."""
    blocks = np.array_split(X, max(1, X.size // 2**21), axis=1)
    return np.concatenate([_quantile_of_rows(block.T, q, strength, (low, high), rng) for block in blocks])


def _quantile_of_rows(rows: Array, q: float, strength: float, limits: tuple[float, float], rng: Generator) -> Array:
    d, n = rows.shape
    ends = [np.full((d, 1), limit) for limit in limits]
    edges = np.concatenate([ends[0], np.sort(np.clip(rows, *limits), axis=1), ends[1]], axis=1)
    weights = np.diff(edges) * np.exp(-strength * np.abs(np.arange(n + 1) - q * n))
    totals = np.cumsum(weights, axis=1)
    chosen = (totals < rng.random((d, 1)) * totals[:, -1:]).sum(axis=1)
    left, right = edges[np.arange(d), chosen], edges[np.arange(d), chosen + 1]
    return np.asarray(left + rng.random(d) * (right - left))


def noisy_bisection(X: Array, rank: float, rho: float, low: float, high: float, steps: int, rng: Generator) -> Array:
    """The value of each column that so many records are below, by halving an interval at noisy counts; rho for each."""
    left, right = np.full(X.shape[1], low), np.full(X.shape[1], high)
    for _ in range(steps):
        middle = (left + right) / 2
        below = (middle >= X).sum(axis=0) + math.sqrt(steps / (2 * rho)) * rng.standard_normal(len(middle))
        left, right = np.where(below <= rank, middle, left), np.where(below <= rank, right, middle)
    return np.asarray((left + right) / 2)


def noisy_mean(X: Array, radius: float, rho: float, rng: Generator) -> Array:
    """The mean of vectors, those longer than `radius` cut to it, with Gaussian noise."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    shortened = X * np.minimum(1, radius / np.maximum(lengths, np.finfo(float).tiny))
    scale = 2 * radius / (len(X) * math.sqrt(2 * rho))
    return np.asarray(shortened.mean(axis=0) + scale * rng.standard_normal(X.shape[1]))


# --- PLAN ----------------------------------------------------------------------------------------------------

SEARCHES, CENTRES, LENGTH = 0.25, 0.25, 0.25  # of rho; of that for centres, else spreads; of the rest for a length
BETA = 0.1  # a chance to fail that is taken
MEDIAN_CHI2 = (1 - 2 / 9) ** 3  # of one degree of freedom, approximately


def plan(X: Array, bound: float, rho: float, rng: Generator, sharpness: float = 1.0) -> Array:
    """Noise in the shape of the coordinates' spreads; each coordinate of a record is within ± bound."""
    each = SEARCHES * rho / X.shape[1]
    center = private_quantile(X, 0.5, sharpness * strength(CENTRES * each), -bound, bound, rng)
    spread = _spreads(X, bound, sharpness * strength((1 - CENTRES) * each), rng)
    widths = 2 * (spread + spread.mean())
    scaled = (X - center) / np.sqrt(widths)
    longest = math.sqrt(math.log(X.shape[1]) * math.log(1 / BETA) * spread.sum())
    rest = (1 - SEARCHES) * rho
    radius = _length(scaled, longest, LENGTH * rest, math.log(2 * bound), rng)
    return np.asarray(center + np.sqrt(widths) * noisy_mean(scaled, radius, (1 - LENGTH) * rest, rng))


def _spreads(X: Array, bound: float, strength: float, rng: Generator) -> Array:
    """Standard deviations, from the median of half squared differences: each record is in one pair."""
    order = rng.permutation(len(X) // 2 * 2).reshape(2, -1)
    halves = (X[order[0]] - X[order[1]]) ** 2 / 2
    return np.asarray(np.sqrt(private_quantile(halves, 0.5, strength, 0, 2 * bound**2, rng) / MEDIAN_CHI2))


def _length(X: Array, longest: float, rho: float, steps: float, rng: Generator) -> float:
    """A length that nearly all records keep below: all but sqrt(n) of them, and what the search may miss."""
    steps = max(steps, 1.0)
    above = math.sqrt(len(X)) + math.sqrt(steps / 2 * math.log(steps / BETA) / rho)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return float(private_quantile(lengths, max(0.5, 1 - above / len(X)), strength(rho), 0, longest, rng)[0])


def medians(X: Array, bound: float, rho: float, rng: Generator, sharpness: float = 1.0) -> Array:
    """The median of each coordinate. With a quarter of rho it is what was published as PLAN without scaling."""
    return private_quantile(X, 0.5, sharpness * strength(rho / X.shape[1]), -bound, bound, rng)


# --- instance-optimal ----------------------------------------------------------------------------------------

STEPS = 20  # of each bisection


def instance_optimal(X: Array, bound: float, rho: float, rng: Generator) -> Array:
    """Medians of rotated coordinates, then a mean of what is left, cut to a quantile of its length.

    The public bound is of lengths: rotated coordinates are sought within ± bound/sqrt(d).
    """
    rotation = random_rotation(X.shape[1], rng)
    rotated = X @ rotation
    (n, d), limit = rotated.shape, bound / math.sqrt(rotated.shape[1])
    center = noisy_bisection(rotated, n / 2, 0.25 * rho / d, -limit, limit, STEPS, rng)
    return np.asarray(rotation @ (center + _cut_mean(rotated - center, bound, 0.75 * rho, rng)))


def _cut_mean(X: Array, longest: float, rho: float, rng: Generator) -> Array:
    n, d = X.shape
    search, rest = 0.01 * rho, 0.99 * rho
    rank = n - 4 * math.sqrt(d / (2 * rest)) - 2 * math.sqrt(STEPS / (2 * search))
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return noisy_mean(X, float(noisy_bisection(lengths, rank, search, 0, longest, STEPS, rng)[0]), rest, rng)


def random_rotation(d: int, rng: Generator) -> Array:
    """Rows of an orthogonal matrix: Hadamard's after random signs, three times, of the next power of 2."""
    size = 2 ** math.ceil(math.log2(d))
    matrix, even = np.eye(d, size), hadamard(size) / math.sqrt(size)
    for _ in range(3):
        matrix = (matrix * rng.choice([-1.0, 1.0], size=size)) @ even
    return matrix


# --- CoinPress -----------------------------------------------------------------------------------------------

FAILS = 0.01  # of the bounds on lengths of Gaussian vectors


def coinpress(X: Array, radius: float, rho: float, rng: Generator, spread: float = 1.0) -> Array:
    """Balls around better and better means, for records that are Gaussian, of covariance at most spread² times 1.

    It is told the spread, and makes as many steps as end in the least noise, which public numbers decide.
    """
    (n, d), center = X.shape, np.zeros(X.shape[1])
    for share, cut in _best_steps(n, d, radius / spread, rho):
        center = center + noisy_mean(X - center, cut * spread, share, rng)
    return center


def _best_steps(n: int, d: int, radius: float, rho: float) -> list[tuple[float, float]]:
    """Shares of rho and the radii of balls, of the number of steps with the least noise in the last."""
    ways = [_steps(n, d, radius, rho, count) for count in range(1, 21)]
    return min(ways, key=lambda way: way[-1][1] / math.sqrt(way[-1][0]))


def _steps(n: int, d: int, radius: float, rho: float, count: int) -> list[tuple[float, float]]:
    """A quarter of rho for all steps but the last."""
    shares = [rho] if count == 1 else [rho / 4 / (count - 1)] * (count - 1) + [3 * rho / 4]
    longest, way = _gaussian_length(d), []
    for share in shares:
        cut = min(math.sqrt(radius**2 + 6 * radius + longest**2), radius + longest)
        way.append((share, cut))
        radius = longest * math.sqrt(1 / n + (2 * cut / (n * math.sqrt(2 * share))) ** 2)
    return way


def _gaussian_length(d: int) -> float:
    tail = math.log(1 / FAILS)
    return math.sqrt(d + 2 * math.sqrt(d * tail) + 2 * tail)


# --- oracle --------------------------------------------------------------------------------------------------


def oracle_noise(eigenvalues: Array, n: int, rho: float) -> float:
    """Root mean square noise of who knows mean and covariance: 2 tr(C^½)/(n mu), mu = sqrt(2 rho).

    Records times C^(-¼) have length sqrt(tr C^½), in the root mean square; noise for that length, times C^¼.
    """
    return 2 * float(np.sqrt(eigenvalues).sum()) / (n * math.sqrt(2 * rho))


def oracle_error(
    eigenvalues: Array, n: int, rho: float, rng: Generator, *, population: bool, size: int = 2000
) -> float:
    """Its mean error to the mean of the population (Gaussian), or of the records."""
    noise = oracle_noise(eigenvalues, n, rho) ** 2 * np.sqrt(eigenvalues) / np.sqrt(eigenvalues).sum()
    variances = noise + population * eigenvalues / n
    return float(np.mean([np.sqrt(rng.standard_normal(len(variances)) ** 2 @ variances) for _ in range(size)]))


# --- published settings --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One of the published experiments: A, B or C, in so many dimensions, variances (d/x)^alpha, for x = 1..d."""

    setting: str
    d: int
    rho: float
    alpha: float

    @property
    def n(self) -> int:
        """Records."""
        return 4000 if self.setting == "A" else 10_000

    @property
    def mean(self) -> float:
        """Of each coordinate."""
        return 0.0 if self.setting == "A" else 10.0

    @property
    def variances(self) -> Array:
        """Of the coordinates."""
        return np.asarray((self.d / np.arange(1, self.d + 1)) ** self.alpha)

    @property
    def bound(self) -> float:
        """Each coordinate is known to lie within ± this."""
        return 25 * math.sqrt(self.d) if self.setting == "A" else 50 * self.d * float(self.variances.max()) ** 0.25

    def records(self, rng: Generator) -> Array:
        """Fresh ones: (n, d)."""
        return np.asarray(self.mean + rng.standard_normal((self.n, self.d)) * np.sqrt(self.variances))

    def error(self, estimate: Array) -> float:
        """Distance to the population's mean."""
        return float(np.linalg.norm(estimate - self.mean))


@dataclass(frozen=True)
class Figure:
    """A published mean of errors, and their standard deviation."""

    mean: float
    deviation: float
    runs: int

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.runs)


NAMES = {
    "PLAN": "PLAN",
    "PLAN-NOSCALE": "medians",
    "Instance optimal": "instance-optimal",
    "Empirical mean (non-private)": "empirical",
}


def published(path: Path) -> dict[Cell, dict[str, Figure]]:
    """What plan_published_errors.csv says, by cell and our name of the estimator."""
    found: dict[Cell, dict[str, Figure]] = {}
    with path.open(newline="") as lines:
        for row in csv.DictReader(lines):
            cell = Cell(row["setting"][-1], int(row["d"]), float(row["rho_zcdp"]), float(row["alpha"]))
            figure = Figure(float(row["mean_l2_error"]), float(row["sd"]), int(row["runs"]))
            found.setdefault(cell, {})[NAMES[row["algorithm"]]] = figure
    return found


def rewritten(cell: Cell, X: Array, rng: Generator, sharpness: float = PUBLISHED) -> dict[str, Array]:
    """The estimates whose errors were published, by the same names."""
    return {
        "PLAN": plan(X, cell.bound, cell.rho, rng, sharpness),
        "medians": medians(X, cell.bound, cell.rho / 4, rng, sharpness),
        "instance-optimal": instance_optimal(X, cell.bound, cell.rho, rng),
        "empirical": X.mean(axis=0),
    }
