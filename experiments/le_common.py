"""What figures of the log-Euclidean paper share: matrices, classes of images, balls as printed and tight ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from harness import Array, Results, Track, has, load, mean_and_range, panels, ranged
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLUE, GREEN, ORANGE, PURPLE, log_scale

ETA = 1e-6
EPSILONS = (0.1, 0.3, 0.5, 0.7, 0.9)


def random_matrices(k: int, n: int, r: float, rng: np.random.Generator) -> Array:
    """Section 6.1: eigenvalues uniform on [e^-r, e^r], Haar eigenvectors; within sqrt(k) r of the identity."""
    q, upper = np.linalg.qr(rng.standard_normal((n, k, k)))
    frames = q * np.sign(np.diagonal(upper, axis1=1, axis2=2))[:, None, :]
    return np.asarray((frames * rng.uniform(math.exp(-r), math.exp(r), (n, 1, k))) @ frames.transpose(0, 2, 1))


# --- images ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageSet:
    """A data set, its arrays, and four of its classes."""

    file: str
    title: str
    classes: tuple[int, ...]
    images: str = "images"
    labels: str = "labels"

    def class_names(self) -> list[str]:
        """Of the four classes; none if the data are not at hand."""
        if not has(self.file):
            return []
        names = load(self.file).get("class_names", np.arange(10).astype(str))
        return [str(names[c]) for c in self.classes]

    def descriptors(self, class_name: str, most: int | None) -> Array:
        """Covariance descriptors of a class, at most so many."""
        data, label = load(self.file), self.classes[self.class_names().index(class_name)]
        return rd.covariance_descriptors(data[self.images][data[self.labels] == label][:most], ETA)


OCT = ImageSet("oct_kermany28", "OCT", (0, 1, 2, 3))
PATH = ImageSet("pathmnist_test718", "PathMNIST sample", (0, 1, 4, 8))
MNIST = ImageSet("mnist", "MNIST", (0, 1, 2, 3), "train_images", "train_labels")
KMNIST = ImageSet("kmnist_test", "KMNIST test", (0, 1, 2, 3))
CIFAR = ImageSet("cifar10_4c", "CIFAR10", (0, 1, 3, 8))
FASHION = ImageSet("fashion_mnist_4c", "FashionMNIST", (0, 1, 7, 8))


def printed_ball(k: int) -> rd.Ball:
    """Theorem 5: around the identity, sqrt(k) max(|ln eta|, ln(b + eta)), with the appendix's b = 12 or 14."""
    low, high = rd.descriptor_eigenvalue_bounds(1 if k == 9 else 3, ETA, tight=False)
    return rd.Ball(rd.SPDLogEuclidean(k), np.eye(k), math.sqrt(k) * max(abs(math.log(low)), math.log(high)))


def tight_ball(k: int) -> rd.Ball:
    """Around sqrt(lo hi) I, with b = 2.867 or 3.367."""
    bounds = rd.descriptor_eigenvalue_bounds(1 if k == 9 else 3, ETA)
    return rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(k), *bounds)


BALLS = {"as printed": printed_ball, "tight": tight_ball}


def flattened(records: Array, ball: rd.Ball) -> tuple[Array, rd.Ball]:
    """The same records and ball in R^d, to which log-Euclidean matrices are isometric: vectors are faster."""
    coords = ball.space.coordinates(ball.space.log(records, ball.center), ball.center)
    return coords, rd.Ball(rd.Euclidean(ball.space.dim), np.zeros(ball.space.dim), ball.radius)


def errors(records: Array, ball: rd.Ball, guarantee: rd.Guarantee, mechanism: str, size: int, **how: Any) -> Array:
    """Distances to the mean of simulated releases in a flat space."""
    draws = rd.simulate(records, ball, guarantee, mechanism=mechanism, size=size, seed=0, **how)
    return np.linalg.norm(np.asarray(draws) - records.mean(axis=0), axis=1)


# --- figures 2 and 3 ---------------------------------------------------------------------------------------------

Law = tuple[str, str, float | None]  # ball, mechanism, delta
LAWS: dict[Law, dict[str, Any]] = {
    ("as printed", "riemannian-laplace", None): {"color": BLUE},
    ("tight", "riemannian-laplace", None): {"color": BLUE, "linestyle": "--", "marker": "s"},
    ("as printed", "wrapped-gaussian", 1e-9): {"color": PURPLE},
    ("as printed", "wrapped-gaussian", 1e-7): {"color": ORANGE},
    ("as printed", "wrapped-gaussian", 1e-5): {"color": GREEN},
    ("tight", "wrapped-gaussian", 1e-5): {"color": GREEN, "linestyle": "--", "marker": "s"},
}


def class_means(sets: tuple[ImageSet, ...], quick: bool, track: Track) -> Results:
    """Errors (mean, range) of private means by class and law, against epsilon."""
    most, size = (150, 50) if quick else (None, 400)
    classes = [(images, name) for images in sets for name in images.class_names()]
    results: Results = {"epsilon": EPSILONS, "classes": [f"{images.title}|{name}" for images, name in classes]}
    for images, name in track(classes, "class means"):
        descriptors = images.descriptors(name, most)
        table = [[mean_and_range(e) for e in _errors(descriptors, law, size)] for law in LAWS]
        results[f"{images.title}|{name}"] = table
        results[f"{images.title}|{name}|n"] = np.array([len(descriptors)])
    return results | _gains(np.array([results[key] for key in results["classes"]]))


def _errors(descriptors: Array, law: Law, size: int) -> list[Array]:
    ball_name, mechanism, delta = law
    records, ball = flattened(descriptors, BALLS[ball_name](descriptors.shape[1]))
    promises = [rd.PureDP(e) if delta is None else rd.ApproxDP(e, delta) for e in EPSILONS]
    return [errors(records, ball, promise, mechanism, size) for promise in promises]


def _gains(table: Array) -> Results:
    """Ratios of mean errors over all classes and epsilon; table: (class, law, epsilon, mean and range)."""
    if not table.size:
        return {}
    laplace, tight_laplace, *_, gaussian, tight = table[..., 0].transpose(1, 0, 2)
    return {
        "laplace over tangent gaussian, least": (laplace / gaussian).min(),
        "laplace over tangent gaussian, most": (laplace / gaussian).max(),
        "printed ball over tight ball, gaussian": (gaussian / tight).mean(),
        "printed ball over tight ball, laplace": (laplace / tight_laplace).mean(),
    }


def draw_class_means(results: Results) -> Picture | None:
    """A row per data set, a column per class; full lines with the printed ball, dashed ones with the tight ball."""
    keys = [key.split("|") for key in results["classes"]]
    if not keys:
        return None
    sets = list(dict.fromkeys(title for title, _ in keys))
    picture, axes = panels(len(sets), 4, width=3.1, height=2.9, sharey="row")
    for row, title in zip(axes, sets, strict=True):
        for ax, name in zip(row, [name for other, name in keys if other == title], strict=True):
            _draw_class(ax, results, f"{title}|{name}")
            n = results[f"{title}|{name}|n"][0]
            label = shorten(f"digit {name}" if name.isdigit() else name, 30, placeholder="…")
            ax.set_title(f"{label}, n = {n:,}", fontsize=8)
        row[0].set_ylabel(f"{title}\ndistance to the class mean")
    for ax in axes.flat:
        ax.set_xticks(EPSILONS)
    for ax in axes[-1]:
        ax.set_xlabel("ε")
    legend(picture, 3)
    return picture


def _draw_class(ax: Any, results: Results, key: str) -> None:
    log_scale(ax.yaxis)
    for (ball, _, delta), rows, style in zip(LAWS, results[key], LAWS.values(), strict=True):
        law = "Riemannian Laplace" if delta is None else f"tangent Gaussian, δ = $10^{{{math.log10(delta):.0f}}}$"
        ball_name = "ball as printed" if ball == "as printed" else "tight ball"
        ranged(ax, results["epsilon"], rows, label=f"{law}, {ball_name}", **style)
