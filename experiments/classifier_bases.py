"""Where a linear classifier looks at records from: the public centre or a private mean, in which metric.

`python experiments/classifier_bases.py` fits the product itself at mu = 1, in balls from bounds of eigenvalues: those
of the records, and a thousand times wider on both sides. It prints the mean accuracy and the worst one, in percent;
with `--others`, of spaces that are no matrices'. docs/decisions/0028-classifiers.md says what follows. The noise is
that of releases: no two runs are the same.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression

import riemdp as rd
from classifier_study import SETS, Array, Labelled
from riemdp.statistics import linear_classifiers

WIDTHS = (1.0, 1000.0)
UNIT = 10.0  # of variables: the largest factor by which each may differ from the others', up and down


def recordings(
    seed: int,
    *,
    people: int = 6,
    force: float = 0.6,
    wild: float = 1.0,
    turned: float = 0.0,
    gains: float = 0.3,
    narrow: float = 2.0,
    apart: float = 0.5,
    rest: bool = False,
    window: int = 60,
    noise: float = 0.02,
) -> Labelled:
    """Made up: 14 muscles under a ring of eight electrodes, that is turned and has other gains for each person.

    `narrow` is how little of a muscle its neighbours' electrodes hear; `apart` how much classes differ.
    """
    rng, size = np.random.default_rng(seed), 5040
    labels, person = rng.integers(5, size=size), rng.integers(people, size=size)
    patterns = apart * rng.normal(size=(5, 14))
    patterns[0] -= 2.0 * rest
    gain, turn = np.exp(gains * rng.normal(size=(people, 8))), turned * rng.normal(size=(people, 1, 1))
    angles = 2 * np.pi * np.arange(8)[:, None] / 8 + turn - 2 * np.pi * rng.random(14)
    mixing = np.exp(narrow * (np.cos(angles) - 1))
    active = np.exp(patterns[labels] + force * rng.normal(size=(size, 1)) + 0.25 * wild * rng.normal(size=(size, 14)))
    signals = mixing[person] @ (active[:, :, None] * rng.normal(size=(size, 14, window)))
    signals = signals * gain[person][:, :, None] + noise * rng.normal(size=signals.shape)
    return Labelled(signals @ signals.transpose(0, 2, 1) / window, labels, 2520)


def matrices(make: Callable[[], Labelled]) -> Labelled:
    """One of the sets of the other study, as matrices and in another order."""
    known = make()
    space = rd.SPDLogEuclidean(int(np.sqrt(2 * known.vectors.shape[1])))
    order = np.random.default_rng(0).permutation(len(known.labels))
    vectors = space.from_coordinates(known.vectors[order], space.origin)
    return Labelled(space.exp(vectors, space.origin), known.labels[order], known.n, known.mu)


def in_other_units(make: Callable[[], Labelled]) -> Labelled:
    """Each variable in a unit of its own, so that no multiple of the identity is near the records."""
    known = make()
    units = UNIT ** np.random.default_rng(1).uniform(-1, 1, known.vectors.shape[-1])
    return Labelled(known.vectors * units[:, None] * units, known.labels, known.n, known.mu)


MATRICES: dict[str, Callable[[], Labelled]] = {
    **{name: partial(matrices, SETS[name]) for name in ("digits", "MNIST, 5", "KMNIST, 5", "fashion", "OCT")},
    "mild, 6 people": partial(recordings, 11, apart=0.35),
    "mild, 20 people": partial(recordings, 12, people=20),
    "one person, short windows": partial(recordings, 13, people=1, window=20, apart=0.4),
    "wild, 6 people": partial(recordings, 14, wild=3, force=1.2, gains=0.8, apart=1.4),
    "turned rings": partial(recordings, 15, wild=2, turned=0.3, gains=0.5, apart=0.9),
    "36 people, rest": partial(recordings, 16, people=36, rest=True, gains=0.8, wild=2, force=1.0, apart=1.2),
    "force": partial(recordings, 17, force=2.5, wild=3, apart=1.0),
    "crosstalk": partial(recordings, 18, narrow=0.5, wild=3, noise=0.002, gains=0.8, apart=1.5),
}
MATRICES |= {f"{name}, other units": partial(in_other_units, MATRICES[name]) for name in ("digits", "mild, 6 people")}


def clouds(space: rd.Space, radius: float) -> tuple[Array, Array]:
    """Five classes of points around a place away from the origin: for spaces that are no matrices'."""
    rng = np.random.default_rng(20)
    labels = rng.integers(5, size=5040)
    centers = radius * rng.normal(size=(5, space.dim)) / np.sqrt(space.dim)
    centers[:, 0] += radius / 2
    coords = centers[labels] + 1.4 * radius * rng.normal(size=(5040, space.dim)) / np.sqrt(space.dim)
    return space.exp(space.from_coordinates(coords, space.origin), space.origin), labels


OTHERS = {
    "hyperbolic, radius 2": (rd.Hyperbolic(10), 2.0, 6.0),
    "hyperbolic, radius 6": (rd.Hyperbolic(10), 6.0, 18.0),
    "sphere": (rd.Sphere(10), 0.6, 1.4),
    "shapes": (rd.KendallShapes(8), 0.3, 0.7),
}


# --- fits --------------------------------------------------------------------------------------------------------


def scores(ball: rd.Ball, X: Array, labels: Array, n: int, mu: float, runs: int) -> list[float]:
    """Accuracies of fits of the first n records on the others, in percent."""
    asked = {"ball": ball, "guarantee": rd.GDP(mu), "classes": np.unique(labels)}
    fits = (rd.PrivateLogisticRegression(**asked).fit(X[:n], labels[:n]) for _ in range(runs))
    return [100 * fit.score(X[n:], labels[n:]) for fit in fits]


def at_mean(given: rd.Ball, around_mean: rd.Ball) -> tuple[rd.Ball, Array]:  # noqa: ARG001
    """Instead of `seen_from`: the private mean, in every space."""
    return around_mean, np.zeros(around_mean.space.dim)


def from_the_other_place(space: rd.Space) -> Callable[[rd.Ball, rd.Ball], tuple[rd.Ball, Array]]:
    """Where the product does not look from: the private mean, or the given centre."""
    if np.isinf(space.uniqueness_radius):
        return at_mean
    return lambda given, mean: (given, given.footpoint_coords(mean.center))


def without_privacy(space: rd.Space, known: Labelled) -> float:
    """Logistic regression on vectors at the exact mean."""
    X, n = known.vectors, known.n
    mean = rd.frechet_mean(X[:n], space).point
    vectors = space.coordinates(space.log(X, mean), mean)
    vectors /= vectors[:n].std()
    model = LogisticRegression(max_iter=1000).fit(vectors[:n], known.labels[:n])
    return float(100 * model.score(vectors[n:], known.labels[n:]))


def in_bounds(space: rd.Space, known: Labelled, runs: int) -> str:
    """Mean and worst of all fits, over the widths of bounds."""
    values = np.linalg.eigvalsh(known.vectors)
    found = list[float]()
    for width in WIDTHS:
        ball = rd.Ball.from_eigenvalue_bounds(space, values.min() / width, values.max() * width)
        found += scores(ball, known.vectors, known.labels, known.n, known.mu, runs)
    return f"{np.mean(found):.1f}, {min(found):.1f}"


def rows_of_matrices(runs: int) -> Iterator[str]:
    """A row for each set of matrices."""
    exact, private = "not private: log-Euclidean, affine", "affine, at the private mean | affine | log-Cholesky"
    yield f"| set | {exact} | log-Euclidean | {private} |"
    yield "|---" * 6 + "|"
    for name, make in MATRICES.items():
        known = make()
        k = known.vectors.shape[-1]
        flat, affine = rd.SPDLogEuclidean(k), rd.SPDAffine(k)
        exact = ", ".join(f"{without_privacy(space, known):.1f}" for space in (flat, affine))
        with patch.object(linear_classifiers, "seen_from", at_mean):
            before = in_bounds(affine, known, runs)
        private = " | ".join(in_bounds(space, known, runs) for space in (affine, rd.SPDLogCholesky(k)))
        yield f"| {name} | {exact} | {in_bounds(flat, known, runs)} | {before} | {private} |"


def rows_of_others(runs: int) -> Iterator[str]:
    """A row for each other space."""
    yield "| space | as it is | from the other place |"
    yield "|---|---|---|"
    for name, (space, spread, radius) in OTHERS.items():
        X, labels = clouds(space, spread)
        ball = rd.Ball(space, space.origin, radius)
        found = scores(ball, X, labels, 2520, 1.0, runs)
        with patch.object(linear_classifiers, "seen_from", from_the_other_place(space)):
            other = scores(ball, X, labels, 2520, 1.0, runs)
        yield f"| {name} | {np.mean(found):.1f}, {min(found):.1f} | {np.mean(other):.1f}, {min(other):.1f} |"


def main() -> None:
    """One of both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2, help="fits for each width of the bounds")
    parser.add_argument("--others", action="store_true", help="spaces that are no matrices'")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for row in rows_of_others(2 * asked.runs) if asked.others else rows_of_matrices(asked.runs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
