"""How the recipe of private logistic regression was tried: one constant after the other, in floats with the same noise.

`python experiments/classifier_study.py` prints accuracies at mu = 1 in percent, a line for each change;
docs/decisions/0028-classifiers.md says what follows. Nothing here is a release: noise is seeded, so that all changes
meet the same splits. Of the handwritten digits only the training part is used, split again, with mu larger as n is
smaller; the other sets are split at random each time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import riemdp as rd
from harness import data_folder
from riemdp.descriptors import MARGIN
from riemdp.statistics.descent import AVERAGED
from riemdp.statistics.features import INTERCEPT, LEAST_OF_EDGE, OUTSIDE, SHORTENED
from riemdp.statistics.linear_classifiers import LENGTH_SHARE, SHAPE_SHARE, SUMMARY_SHARE
from riemdp.statistics.logistic import LARGEST_STEP, LEAST_STEPS, LONGEST_GRADIENT, MOST_STEPS, REACH
from riemdp.summaries.spread import NoisyMoments, noise_edge

Array = np.ndarray[Any, np.dtype[Any]]
Generator = np.random.Generator


@dataclass(frozen=True)
class Recipe:
    """What decision 28 has, and what else it might have."""

    mean: float = SUMMARY_SHARE  # shares of mu²: of the mean, the shape and the length
    shape: float = SHAPE_SHARE
    length: float = LENGTH_SHARE
    shape_rounds: int = 1  # each in coordinates that the one before has evened
    exact_shape: str = ""  # NOT private: the covariance of all records, or within classes
    least_of_edge: float = LEAST_OF_EDGE
    outside: float = OUTSIDE
    intercept: float = INTERCEPT
    longest: float = LONGEST_GRADIENT
    steps: int = LEAST_STEPS
    reach: float = REACH
    averaged: float = AVERAGED
    early: float = 0.0  # shares of steps in proportion to this power of what each adds to the average
    momentum: float = 0.0
    decay: float = 0.0  # of the weights, in each step
    class_sums: float = 0.0  # share of mu² that tells in which directions class means differ


CHANGES: dict[str, Recipe] = {
    "as it is": Recipe(),
    "longest gradient 1/8": Recipe(longest=0.125),
    "longest gradient 0.05": Recipe(longest=0.05),
    "shares 5, 8, 1 %": Recipe(mean=0.05, shape=0.08, length=0.01),
    "more for early steps": Recipe(early=0.5),
    "30 steps": Recipe(steps=30),
    "120 steps": Recipe(steps=120),
    "last 50 % averaged": Recipe(averaged=0.5),
    "momentum 0.8": Recipe(momentum=0.8),
    "weights decay by 2 %": Recipe(decay=0.02),
    "intercept 0.1": Recipe(intercept=0.1),
    "60 % outside": Recipe(outside=0.6),
    "spread within classes, from class sums for 5 %": Recipe(class_sums=0.05),
    "shape in two rounds": Recipe(shape_rounds=2),
    "two rounds, 1/8, more for early steps": Recipe(shape_rounds=2, longest=0.125, early=0.5),
    "not private: exact shape": Recipe(exact_shape="all"),
    "not private: exact shape within classes": Recipe(exact_shape="within"),
}


# --- data ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    """Vectors of logarithms with their classes; `n` of them are learnt from, at this mu."""

    vectors: Array
    labels: Array
    n: int
    mu: float = 1.0


def logarithms(X: Array) -> Array:
    """Coordinates of log-Euclidean matrices at the identity."""
    space = rd.SPDLogEuclidean(X.shape[-1])
    return np.asarray(space.coordinates(space.log(X, space.origin), space.origin))


def digits() -> Labelled:
    """Those that are learnt from elsewhere: every fifth is left out."""
    from sklearn.datasets import load_digits

    data: Any = load_digits()
    learnt = np.arange(len(data.target)) % 5 > 0
    framed = np.pad(data.images[learnt] / 16.0, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))
    n = len(framed) * 4 // 5
    return Labelled(logarithms(rd.covariance_descriptors(framed)), data.target[learnt], n, len(framed) / n)


def images(file: str, pixels: str, names: str, n: int, few: bool = False, seed: int = 5) -> Labelled:
    """Descriptors of a file's images; with `few`, 8 x 8 ones of five classes at most."""
    with np.load(data_folder() / file) as data:
        labels = data[names].astype(int)
        kept = np.isin(labels, np.unique(labels)[::2][:5]) if few and np.ptp(labels) == 9 else labels >= 0
        chosen = np.random.default_rng(seed).choice(np.flatnonzero(kept), n + 2500, replace=False)
        X, side = rd.covariance_descriptors(data[pixels][chosen] / 255.0), 9 - few
    return Labelled(logarithms(X[:, :side, :side]), np.unique(labels[chosen], return_inverse=True)[1], n)


def muscles(seed: int, people: int, force: float, shares: tuple[float, ...], wrong: float) -> Labelled:
    """Made up: 14 muscles under a ring of eight electrodes, gains by person, force that varies, wrong labels."""
    rng, size, classes = np.random.default_rng(seed), 5500, len(shares)
    labels, person = rng.choice(classes, size, p=shares), rng.integers(people, size=size)
    patterns, gains = 0.45 * rng.normal(size=(classes, 14)), np.exp(0.3 * rng.normal(size=(people, 8)))
    places = 2 * np.pi * rng.random(14)
    mixing = np.exp(2 * np.cos(2 * np.pi * np.arange(8)[:, None] / 8 - places) - 2)
    active = np.exp(patterns[labels] + force * rng.normal(size=(size, 1)) + 0.25 * rng.normal(size=(size, 14)))
    signals = mixing @ (active[:, :, None] * rng.normal(size=(size, 14, 60)))
    signals = signals * gains[person][:, :, None] + 0.02 * rng.normal(size=signals.shape)
    told = np.where(rng.random(size) < wrong, rng.integers(classes, size=size), labels)
    return Labelled(logarithms(signals @ signals.transpose(0, 2, 1) / 60), told, 2520)


SETS = {
    "digits": digits,
    "MNIST": partial(images, "mnist.npz", "train_images", "train_labels", 1438),
    "KMNIST": partial(images, "kmnist_test.npz", "images", "labels", 1438),
    "MNIST, 5": partial(images, "mnist.npz", "train_images", "train_labels", 2520, few=True),
    "KMNIST, 5": partial(images, "kmnist_test.npz", "images", "labels", 2400, few=True),
    "fashion": partial(images, "fashion_mnist_4c.npz", "images", "labels", 2520, few=True),
    "OCT": partial(images, "oct_kermany28.npz", "images", "labels", 8000),
    "muscles": partial(muscles, 1, 10, 0.6, (0.2,) * 5, 0.0),
    "muscles, unequal": partial(muscles, 2, 36, 0.9, (0.4, 0.25, 0.2, 0.1, 0.05), 0.03),
    "muscles, one person": partial(muscles, 3, 1, 0.6, (0.2,) * 5, 0.02),
}


# --- the recipe, in floats ---------------------------------------------------------------------------------------


def shortened(vectors: Array, longest: float = 1.0) -> Array:
    """Each no longer than that."""
    return np.asarray(vectors * np.minimum(1.0, longest / np.linalg.norm(vectors, axis=1))[:, None])


def noisy_second_moment(vectors: Array, noise: float, rng: Generator) -> Array:
    """Of vectors no longer than 1; noise of one coordinate in an orthonormal basis of symmetric matrices."""
    drawn = rng.normal(size=(vectors.shape[1],) * 2)
    return np.asarray(vectors.T @ vectors / len(vectors) + noise * (drawn + drawn.T) / 2)


def evened(matrix: Array, floor: float) -> Array:
    """The inverse root of a matrix, none of whose eigenvalues is taken to be below the floor."""
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes / np.sqrt(np.maximum(values, floor))) @ axes.T)


def shaped(vectors: Array, mu: float, recipe: Recipe, rng: Generator) -> Array:
    """By which matrix vectors become even, from noisy second moments."""
    dim, matrix = vectors.shape[1], np.eye(vectors.shape[1])
    noise = math.sqrt(2 * recipe.shape_rounds / recipe.shape) / (len(vectors) * mu)
    for _ in range(recipe.shape_rounds):
        seen = vectors @ matrix.T
        matrix = matrix / (SHORTENED * math.sqrt(np.square(seen).sum(axis=1).mean()))
        moment = noisy_second_moment(shortened(vectors @ matrix.T), noise, rng)
        spread = NoisyMoments("full", np.zeros(dim), moment, noise, noise, 1.0).about_centre()
        matrix = evened(spread.matrix, recipe.least_of_edge * noise_edge(dim, noise)) @ matrix
    return matrix


def exactly_shaped(vectors: Array, labels: Array, kind: str) -> Array:
    """Without noise, from all records or within classes."""
    means = np.stack([vectors[labels == one].mean(axis=0) for one in range(labels.max() + 1)])
    covariance = np.cov((vectors - means[labels] if kind == "within" else vectors).T)
    return evened(covariance, 0.003 * float(np.trace(covariance)))


def within_classes(features: Array, labels: Array, mu: float, share: float, rng: Generator) -> Array:
    """By which matrix even features become even within classes, from noisy class sums; singular values are shrunk."""
    n, dim = features.shape
    of_class = np.eye(labels.max() + 1)[labels]
    classes, noise = of_class.shape[1], 2 / (n * mu * math.sqrt(share))
    sums = of_class.T @ features / n + noise * rng.normal(size=(classes, dim))
    shares = np.maximum(of_class.mean(axis=0) + noise * rng.normal(size=classes), 0.3 / classes)
    between = (sums / shares[:, None] - sums.sum(axis=0)) * np.sqrt(shares)[:, None]
    _, values, axes = np.linalg.svd(between, full_matrices=False)
    unit, ratio = noise * math.sqrt(np.mean(1 / shares) * dim), (classes - 1) / dim
    squares = np.square(values / unit)
    seen = np.maximum(np.square(squares - ratio - 1) - 4 * ratio, 0.0) * (squares > (1 + math.sqrt(ratio)) ** 2)
    known = seen / np.maximum(squares, 1e-300) * unit**2 / (np.square(features).sum(axis=1).mean() / dim)
    wider = 1 / np.sqrt(1 - np.minimum(known, 0.8))
    return np.asarray(np.eye(dim) + (axes.T * (wider - 1)) @ axes)


def descent(x: Array, labels: Array, mu: float, recipe: Recipe, rng: Generator) -> Array:
    """Weights (d + 1, classes), the average of the later points."""
    of_class = np.eye(labels.max() + 1)[labels]
    far = recipe.reach * len(x) * mu / recipe.longest
    steps = max(recipe.steps, min(MOST_STEPS, math.ceil(far / LARGEST_STEP)))
    first = int(steps * (1 - recipe.averaged))
    kept = np.minimum(steps - np.arange(steps), steps - first) ** recipe.early
    noises = 2 * recipe.longest / (len(x) * mu * np.sqrt(kept / kept.sum()))
    weights = velocity = average = np.zeros((x.shape[1], of_class.shape[1]))
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    for step in range(steps):
        scores = x @ weights
        residuals = np.exp(scores - scores.max(axis=1, keepdims=True))
        residuals = residuals / residuals.sum(axis=1, keepdims=True) - of_class
        sizes = np.maximum(np.linalg.norm(residuals, axis=1, keepdims=True) * lengths, 1e-300)
        slope = x.T @ (residuals * np.minimum(1.0, recipe.longest / sizes)) / len(x)
        slope = slope + noises[step] * rng.normal(size=slope.shape)
        velocity = recipe.momentum * velocity + (1 - recipe.momentum) * (slope - slope.mean(axis=1, keepdims=True))
        weights = (1 - recipe.decay) * (weights - min(far / steps, LARGEST_STEP) * velocity)
        average = average + weights * (step >= first)
    return np.asarray(average)


def accuracy(known: Labelled, recipe: Recipe, seed: int) -> float:
    """Of one fit, in percent, on the records that it has not seen."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(known.vectors))
    X, y = known.vectors[order], known.labels[order]
    train, mu = slice(known.n), known.mu
    centre = X[train].mean(axis=0)
    radius = 1.2 * np.quantile(np.linalg.norm(X[train] - centre, axis=1), 0.95)  # as rounds of adaptation leave it
    X = X - centre - 2 * radius / (known.n * mu * math.sqrt(0.7 * recipe.mean)) * rng.normal(size=X.shape[1])
    even = (
        exactly_shaped(X[train], y[train], recipe.exact_shape)
        if recipe.exact_shape
        else shaped(X[train], mu, recipe, rng)
    )
    X = X @ even.T
    length = np.quantile(np.linalg.norm(X[train], axis=1), 1 - recipe.outside)
    if recipe.class_sums:
        X = X @ within_classes(shortened(X[train] / length), y[train], mu, recipe.class_sums, rng)
        length = np.quantile(np.linalg.norm(X[train], axis=1), 1 - recipe.outside)
    x = np.column_stack([shortened(X / length), np.full(len(X), recipe.intercept)])
    left = mu * math.sqrt(1 - recipe.mean - recipe.shape * (not recipe.exact_shape) - recipe.length - recipe.class_sums)
    weights = descent(x[train], y[train], left, recipe, rng)
    return float(100 * np.mean((x[known.n :] @ weights).argmax(axis=1) == y[known.n :]))


def lines(runs: int, sets: dict[str, Labelled]) -> Iterator[str]:
    """A row of a table for each change, with the mean over all sets and its standard error."""
    yield f"| at mu = 1 | {' | '.join(sets)} | mean |"
    yield "|---" * (len(sets) + 2) + "|"
    for name, recipe in CHANGES.items():
        found = np.array([[accuracy(one, recipe, seed) for seed in range(runs)] for one in sets.values()])
        error = math.sqrt(float(np.var(found, axis=1, ddof=1).sum()) / runs) / len(sets)
        means = " | ".join(f"{mean:.1f}" for mean in found.mean(axis=1))
        yield f"| {name} | {means} | {found.mean():.2f} ± {error:.2f} |"


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24, help="fits of each set")
    asked = parser.parse_args()
    for line in lines(asked.runs, {name: make() for name, make in SETS.items()}):
        print(line, flush=True)


if __name__ == "__main__":
    main()
