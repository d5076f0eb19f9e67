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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import riemdp as rd
from harness import data_folder
from riemdp.descriptors import MARGIN
from riemdp.statistics.descent import AVERAGED
from riemdp.statistics.features import INTERCEPT, LEAST_OF_EDGE, OUTSIDE, SHORTENED, SHORTENED_AGAIN
from riemdp.statistics.linear_classifiers import (
    CLASSES_SHARE,
    LENGTH_SHARE,
    SHAPE_SHARE,
    SUMMARY_SHARE,
    WITHIN_SHARE,
)
from riemdp.statistics.logistic import EARLY, LARGEST_STEP, LEAST_STEPS, LONGEST_GRADIENT, MOST_STEPS, REACH
from riemdp.summaries.spread import NoisyMoments, noise_edge

Array = np.ndarray[Any, np.dtype[Any]]
Generator = np.random.Generator


@dataclass(frozen=True)
class Recipe:
    """What decision 28 has, and what else it might have."""

    mean: float = SUMMARY_SHARE  # shares of mu²: of the mean, the length, and each round of the shape of all records
    length: float = LENGTH_SHARE
    shape: tuple[float, ...] = (SHAPE_SHARE,)  # each in coordinates that the one before has evened
    classes: float = CLASSES_SHARE  # of moments of classes, and of the spread within them; 0 for none of both
    within: float = WITHIN_SHARE
    exact_shape: str = ""  # NOT private: the covariance of all records, or within classes
    least_of_edge: float = LEAST_OF_EDGE
    outside: float = OUTSIDE
    intercept: float = INTERCEPT
    longest: float = LONGEST_GRADIENT
    steps: int = LEAST_STEPS
    reach: float = REACH
    averaged: float = AVERAGED
    early: float = EARLY  # shares of steps in proportion to this power of what each adds to the average
    momentum: float = 0.0
    decay: float = 0.0  # of the weights, in each step


BEFORE = Recipe(shape=(0.1,), classes=0.0, within=0.0, longest=0.25, intercept=0.25, early=0.0)
CHANGES: dict[str, Recipe] = {
    "as it is": Recipe(),
    "as it was: one shape of all records": BEFORE,
    "as it was, shape in two rounds": replace(BEFORE, shape=(0.05, 0.05)),
    "as it was, shape in three rounds": replace(BEFORE, shape=(0.03, 0.06, 0.06)),
    "shape in two rounds, none within classes": Recipe(shape=(0.05, 0.05), classes=0.0, within=0.0),
    "shares 3, 5, 7 % (shape, classes, within)": Recipe(shape=(0.03,), within=0.07),
    "shares 5, 10, 10 %": Recipe(classes=0.1),
    "shares 6, 1 % (mean, length)": Recipe(mean=0.06, length=0.01),
    "equal steps": Recipe(early=0.0),
    "shares of steps as what they add": Recipe(early=1.0),
    "longest gradient 1/4": Recipe(longest=0.25),
    "longest gradient 1/16": Recipe(longest=0.0625),
    "intercept 1/4": Recipe(intercept=0.25),
    "30 steps": Recipe(steps=30),
    "120 steps": Recipe(steps=120),
    "reach 2": Recipe(reach=2.0),
    "last 90 % averaged": Recipe(averaged=0.9),
    "momentum 0.8": Recipe(momentum=0.8),
    "weights decay by 1 %": Recipe(decay=0.01),
    "60 % outside": Recipe(outside=0.6),
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


def evening(moment: Array, noise: float, recipe: Recipe) -> Array:
    """By which matrix vectors of this noisy second moment become even, and usually about as long as 1."""
    dim = len(moment)
    spread = NoisyMoments("full", np.zeros(dim), moment, noise, noise, 1.0).about_centre().matrix
    matrix = evened(spread, recipe.least_of_edge * noise_edge(dim, noise))
    return np.asarray(matrix / (SHORTENED_AGAIN * math.sqrt(float(np.trace(matrix @ spread @ matrix)))))


def shaped(vectors: Array, labels: Array, mu: float, recipe: Recipe, rng: Generator) -> Array:
    """By which matrix vectors become even, from noisy second moments: of all of them, then within classes."""
    n = len(vectors)
    matrix = np.eye(vectors.shape[1]) / (SHORTENED * math.sqrt(np.square(vectors).sum(axis=1).mean()))
    for share in recipe.shape:
        noise = math.sqrt(2 / share) / (n * mu)
        matrix = evening(noisy_second_moment(shortened(vectors @ matrix.T), noise, rng), noise, recipe) @ matrix
    if not recipe.classes:
        return np.asarray(matrix)
    features, noise = shortened(vectors @ matrix.T), 2 / (n * mu * math.sqrt(recipe.classes))
    further = evening(noisy_second_moment(features, math.sqrt(2) * noise, rng), math.sqrt(2) * noise, recipe)
    left = shortened((features - noisy_class_means(features, labels, noise, rng)[labels]) @ further.T)
    noise = math.sqrt(2 / recipe.within) / (n * mu)
    return np.asarray(evening(noisy_second_moment(left, noise, rng), noise, recipe) @ further @ matrix)


def noisy_class_means(features: Array, labels: Array, noise: float, rng: Generator) -> Array:
    """From class sums and shares, each shrunk to the common mean by the noise that it is known to have."""
    of_class, dim = np.eye(labels.max() + 1)[labels], features.shape[1]
    classes, n = of_class.shape[1], len(features)
    sums = of_class.T @ features / n + noise * rng.normal(size=(classes, dim))
    shares = of_class.mean(axis=0) + math.sqrt(2) * noise * rng.normal(size=classes)
    shares = np.maximum(shares + (1 - shares.sum()) / classes, 1 / n)
    means = sums / shares[:, None] - sums.sum(axis=0)
    shrunk = np.maximum(1 - dim * np.square(noise / shares) / np.square(means).sum(axis=1), 0.0)
    return np.asarray(means * shrunk[:, None] + sums.sum(axis=0))


def exactly_shaped(vectors: Array, labels: Array, kind: str) -> Array:
    """Without noise, from all records or within classes."""
    means = np.stack([vectors[labels == one].mean(axis=0) for one in range(labels.max() + 1)])
    covariance = np.cov((vectors - means[labels] if kind == "within" else vectors).T)
    return evened(covariance, 0.003 * float(np.trace(covariance)))


def descent(x: Array, labels: Array, mu: float, recipe: Recipe, rng: Generator) -> Array:
    """Weights (d + 1, classes), the average of the later points."""
    of_class = np.eye(labels.max() + 1)[labels]
    far = recipe.reach * len(x) * mu / recipe.longest
    largest = LARGEST_STEP * LONGEST_GRADIENT / recipe.longest
    steps = max(recipe.steps, min(MOST_STEPS, math.ceil(far / largest)))
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
        weights = (1 - recipe.decay) * (weights - min(far / steps, largest) * velocity)
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
        else shaped(X[train], y[train], mu, recipe, rng)
    )
    X = X @ even.T
    length = np.quantile(np.linalg.norm(X[train], axis=1), 1 - recipe.outside)
    x = np.column_stack([shortened(X / length), np.full(len(X), recipe.intercept)])
    evening_share = 0.0 if recipe.exact_shape else sum(recipe.shape) + recipe.classes + recipe.within
    left = mu * math.sqrt(1 - recipe.mean - recipe.length - evening_share)
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
