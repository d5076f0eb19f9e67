"""People, not records: error against the number of people, GDP(1); what averaging a person's records gains.

Four data sets in which people have several records each. Lines are computed: the noise that protects a person, the
noise that would protect one record only, and the error of sampling people (standard deviation of the mean of n people
who are drawn from all), with one record of each person and with all of them. Points are measured: root mean square
distances of simulated releases of people drawn with replacement to the mean of all people of the data set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, has, load, main, panels
from new_common import root_mean_square
from riemdp.io.identities import identities
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLACK, BLUE, GREEN, GREY, VERMILION, log_scale
from riemdp.privacy.bounded import Bounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

GUARANTEE, STATISTIC, ETA = rd.GDP(1.0), "tangent-mean", 1.0
PEOPLE = np.geomspace(6, 10_000, 30).round().astype(int)


class Study(NamedTuple):
    """Records, whose they are, and a ball that was public before."""

    records: Array
    people: Array  # numbers from 0
    ball: rd.Ball


def retinas() -> Study:
    """Covariance descriptors of retinal images, whose eigenvalues have proved bounds."""
    data = load("oct_kermany28")
    bounds = rd.descriptor_eigenvalue_bounds(1, ETA, "five")
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDLogEuclidean(5), *bounds)
    return Study(rd.covariance_descriptors(data["images"], ETA, "five"), _numbers(data["patient"]), ball)


def outlines(key: str, who: str) -> Study:
    """Landmarks around the first record, which plays a published atlas and is left out."""
    data = load("landmarks_misc")
    space = rd.KendallShapes(data[key].shape[1])
    points = space.project(data[key])
    return Study(points[1:], _numbers(data[who][1:]), rd.Ball(space, points[0], 0.45))


def wrists() -> Study:
    """Orientations of the wrist of people who drill, as rotations if there is such a space, else as quaternions."""
    data = load("rotations_SO3")
    wrist = data["drill_joint"] == "Wrist"
    points, people = data["drill_quaternions"][wrist], _numbers(data["drill_subject"][wrist][1:])
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    if hasattr(rd, "Rotations"):
        turns = _rotations(points)
        return Study(turns[1:], people, rd.Ball(rd.Rotations(), turns[0], 1.4))
    points = points * np.where(points @ points[0] < 0, -1.0, 1.0)[:, None]  # q and -q are the same rotation
    return Study(points[1:], people, rd.Ball(rd.Sphere(3), points[0], 0.7))


def _rotations(quaternions: Array) -> Array:
    """Matrices of unit quaternions, the scalar part first."""
    w, v = quaternions[:, 0, None, None], quaternions[:, 1:]
    cross = np.cross(np.eye(3)[None], v[:, None, :])  # rows e_i x v
    return (2 * w**2 - 1) * np.eye(3) + 2 * v[:, :, None] * v[:, None, :] - 2 * w * cross.transpose(0, 2, 1)


def _numbers(ids: Array) -> Array:
    return np.asarray(identities(ids).codes)


SETS: dict[str, tuple[str, Callable[[], Study], tuple[int, ...]]] = {  # title: file, study, numbers of people to draw
    "retinas (OCT), patients": ("oct_kermany28", retinas, (30, 100, 300, 1000, 3000)),
    "hands, people": ("landmarks_misc", lambda: outlines("hands", "hands_person"), (4, 16, 64)),
    "hearts, drawers": ("landmarks_misc", lambda: outlines("hearts", "hearts_drawer"), (8, 32, 128)),
    "wrists, subjects": ("rotations_SO3", wrists, (8, 32, 128)),
}


def components(study: Study) -> tuple[float, float, float]:
    """Variance between people, within people, and the mean of 1/(number of records)."""
    coords = Bounded(study.records, study.ball)._coordinates.all()
    means, counts = Bounded(study.records, study.ball, study.people)._coordinates.all(), np.bincount(study.people)
    left = len(coords) - len(means)
    within = float(np.square(coords - means[study.people]).sum() / left)
    share = float((1 / counts).mean())
    between = float(np.square(means - means.mean(axis=0)).sum() / (len(means) - 1)) - within * share
    return max(between, 0.0), within, share


def noise(ball: rd.Ball, n: float) -> float:
    """Predicted error of the best mechanism."""
    return rd.plan(ball, round(n), GUARANTEE, statistic=STATISTIC)[0].expected_error


def measured(study: Study, n: int, repeats: int, single: bool) -> tuple[float, float]:
    """Root mean square error of releases of n people drawn with replacement, with one record of each or all."""
    rng, space = np.random.default_rng(n), study.ball.space
    mean = Bounded(study.records, study.ball, study.people).coordinate_mean().point
    target = space.exp(space.from_coordinates(mean, study.ball.center), study.ball.center)
    distances = [
        float(space.dist(_release(study, *_drawn(study.people, n, rng, single), seed), target))
        for seed in range(repeats)
    ]
    return root_mean_square(np.array(distances))


def _drawn(people: Array, n: int, rng: np.random.Generator, single: bool) -> tuple[Array, Array]:
    """Rows of the records of n people, and whose they are: who is drawn twice is two people."""
    order, counts = np.argsort(people, kind="stable"), np.bincount(people)
    starts, chosen = np.cumsum(counts) - counts, rng.integers(0, len(counts), n)
    if single:
        return order[starts[chosen] + rng.integers(0, counts[chosen])], np.arange(n)
    rows = np.concatenate([order[starts[who] : starts[who] + counts[who]] for who in chosen])
    return rows, np.repeat(np.arange(n), counts[chosen])


def _release(study: Study, rows: Array, people: Array, seed: int) -> Array:
    draws = rd.simulate(
        study.records[rows], study.ball, GUARANTEE, size=1, seed=seed, groups=people, statistic=STATISTIC
    )
    return np.asarray(draws[0])


def compute(quick: bool, track: Track) -> Results:
    """Every data set that is at hand."""
    results: Results = {"people": PEOPLE}
    for title, (file, loaded, sizes) in SETS.items():
        if not has(file):
            continue
        study = loaded()
        some, repeats = (sizes[:2], 5) if quick else (sizes, 40)
        counts, (between, within, share) = np.bincount(study.people), components(study)
        results[f"{title}, noise"] = [noise(study.ball, n) for n in PEOPLE]
        results[f"{title}, noise for records"] = [noise(study.ball, n * counts.mean()) for n in PEOPLE]
        results[f"{title}, sampling one"] = np.sqrt((between + within) / PEOPLE)
        results[f"{title}, sampling all"] = np.sqrt((between + within * share) / PEOPLE)
        results[f"{title}, sizes"] = some
        results[title] = np.array(
            [[measured(study, n, repeats, single) for n in track(some, title)] for single in (True, False)]
        )
        results[f"{title}, facts"] = [len(counts), len(study.people), counts.max(), study.ball.radius]
        results[f"{title}: records gain"] = float(np.sqrt((between + within) / (between + within * share)))
        results[f"{title}: share of the variance between people"] = between / (between + within)
    return results


def draw(results: Results) -> Picture:
    """A panel per data set, errors in units of the ball's radius; bars of two standard errors."""
    picture, axes = panels(2, 2, 3.9, 3.0, sharex=True, sharey=True)
    for ax, title in zip(axes.flat, SETS, strict=True):
        if title not in results:
            ax.set_title(f"{title}: no data", fontsize=9)
            continue
        _panel(ax, title, results)
    picture.supylabel("error / radius of the public ball", fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("number of people")
    legend(picture, 2)
    return picture


LINES = {  # colour, dashes, what it is
    "noise": (BLUE, "-", "noise that protects a person, μ = 1"),
    "noise for records": (VERMILION, ":", "noise for as many records: protects one of them"),
    "sampling one": (GREY, "--", "sampling, one record each"),
    "sampling all": (GREEN, "--", "sampling, all records"),
}

POINTS: dict[str, dict[str, Any]] = {
    "released, one record each": {"color": BLACK, "marker": "s", "markersize": 7, "markerfacecolor": "none"},
    "released, all records": {"color": GREEN, "marker": "o", "markersize": 3.5},
}


def _panel(ax: Axes, title: str, results: Results) -> None:
    people, records, most, radius = results[f"{title}, facts"]
    for name, (colour, dashes, label) in LINES.items():
        errors = np.asarray(results[f"{title}, {name}"]) / radius
        ax.plot(results["people"], errors, color=colour, linestyle=dashes, linewidth=1.4, label=label)
    for rows, (name, style) in zip(results[title], POINTS.items(), strict=True):
        error, spread = rows.T / radius
        ax.errorbar(results[f"{title}, sizes"], error, 2 * spread, linestyle="none", label=name, **style)
    log_scale(ax.xaxis)
    log_scale(ax.yaxis)
    ax.set_ylim(1e-3, 3)
    ax.set_title(f"{title}\n{people:,.0f} with {records:,.0f} records, up to {most:.0f} each", fontsize=9)
    ax.tick_params(labelbottom=True)


FILES = tuple(dict.fromkeys(file for file, *_ in SETS.values()))
FIGURE = Figure("new_people", "error against the number of people", compute, draw, FILES)

if __name__ == "__main__":
    main(FIGURE)
