"""EW Figure 1 on other spaces: log-Cholesky and log-Euclidean matrices and hyperbolic space, d = 3, 6, 15.

40 records in a ball of radius 1.5, as in `ew_fig1.py`; the spaces have the same dimension. All draws are exact; where
the Riemannian Laplace law of hyperbolic space does not exist (scale from 1/(d - 1) on) there is nothing to draw. In the
flat spaces it is the wrapped Laplace law, and errors depend on dimension, radius and n alone. Last row: the same 400
matrices under three metrics, each with the ball of all spectra between 1/3 and 3, and errors in one unit, the
affine-invariant distance of a release to the metric's own mean. Bands: two standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import riemdp as rd
from ew_common import PANELS, RADIUS, STRENGTHS, N, dimension, in_ball
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLUE, GREEN, ORANGE, PURPLE, VERMILION, log_scale

if TYPE_CHECKING:
    from harness import Picture

SIZES, MANY, HIGH = (2, 3, 5), 400, 3.0
METRICS: dict[str, Callable[[int], rd.Space]] = {
    "affine-invariant": rd.SPDAffine,
    "log-Euclidean": rd.SPDLogEuclidean,
    "log-Cholesky": rd.SPDLogCholesky,
}
SAME: dict[str, dict[str, Any]] = {
    "affine-invariant": {"color": PURPLE, "linewidth": 6, "alpha": 0.35, "marker": ""},
    "log-Euclidean": {"color": GREEN, "linestyle": ":"},
    "log-Cholesky": {"color": ORANGE, "linestyle": ":"},
}
SPACES: dict[str, Callable[[int], rd.Space]] = {
    "log-Euclidean": rd.SPDLogEuclidean,
    "log-Cholesky": rd.SPDLogCholesky,
    "hyperbolic": lambda m: rd.Hyperbolic(dimension(m)),
}
STYLES: dict[str, dict[str, Any]] = {
    "log-Euclidean, wrapped": {"color": GREEN, "linewidth": 6, "alpha": 0.35, "marker": ""},
    "log-Cholesky, wrapped": {"color": ORANGE, "linestyle": "--", "linewidth": 3, "marker": ""},
    "hyperbolic, wrapped": {"color": VERMILION},
    "hyperbolic, Riemannian Laplace": {"color": BLUE, "marker": "^"},
}


def compute(quick: bool, track: Track) -> Results:
    """Errors by dimension, panel, space and mechanism."""
    strengths, sets, draws = ((0.1, 0.4, 1.0), 3, 40) if quick else (STRENGTHS, 16, 50)
    results: Results = {"strengths": strengths, "d": [dimension(m) for m in SIZES]}
    for m, panel in track([(m, panel) for m in SIZES for panel in PANELS], "dimensions"):
        for name, space in SPACES.items():
            results |= _errors(space(m), name, panel, strengths, sets, draws)
    for m in SIZES:
        results |= same_matrices(m, strengths, 20 * draws)
    return results | _headlines(results)


def same_matrices(m: int, strengths: tuple[float, ...], draws: int) -> Results:
    """(mean, standard error) of affine-invariant distances to each metric's own mean, GDP(mu)."""
    rng, rows = np.random.default_rng(m), {}
    turns = np.linalg.qr(rng.standard_normal((MANY, m, m)))[0]
    records = turns * np.exp(rng.uniform(-np.log(HIGH), np.log(HIGH), (MANY, 1, m))) @ turns.swapaxes(1, 2)
    for name, metric in METRICS.items():
        ball = rd.Ball.from_eigenvalue_bounds(metric(m), 1 / HIGH, HIGH)
        mean = rd.frechet_mean(records, metric(m)).point
        releases = (rd.simulate(records, ball, rd.GDP(mu), size=draws, seed=0) for mu in strengths)
        rows[f"{dimension(m)}|same|{name}"] = [mean_and_error(rd.SPDAffine(m).dist(x, mean)) for x in releases]
    return rows


def _errors(space: rd.Space, name: str, panel: str, strengths: tuple[float, ...], sets: int, draws: int) -> Results:
    """(mean distance, standard error) of each strength, of the wrapped mechanism and of the Riemannian Laplace."""
    rng, (promise, wrapped) = np.random.default_rng(space.dim), PANELS[panel]
    records = [in_ball(space, N, rng) for _ in range(sets)]
    rows = [_of(records, space, promise(s), wrapped, draws) for s in strengths]
    found = {f"{space.dim}|{panel}|{name}, wrapped": rows}
    if not space.is_flat:
        laplace = [_of(records, space, promise(s), "riemannian-laplace", draws) for s in strengths]
        found[f"{space.dim}|{panel}|{name}, Riemannian Laplace"] = laplace
    return found


def _of(
    records: list[Array], space: rd.Space, guarantee: rd.Guarantee, mechanism: str, draws: int
) -> tuple[float, float]:
    """Every data set counts once; not a number where there is no such law."""
    ball, errors = rd.Ball(space, space.origin, RADIUS), []
    if mechanism not in {row.mechanism for row in rd.plan(ball, N, guarantee)}:
        return math.nan, math.nan
    for seed, X in enumerate(records):
        points = rd.simulate(X, ball, guarantee, mechanism=mechanism, size=draws, seed=seed)
        errors.append(space.dist(points, rd.frechet_mean(X, space).point).mean())
    return mean_and_error(errors)


def _headlines(results: Results) -> Results:
    """At the weakest guarantee, where most laws exist."""
    found = {}
    for d in results["d"]:
        flat, cholesky, hyperbolic, laplace = (np.array(results[f"{d}|epsilon|{name}"])[-1, 0] for name in STYLES)
        found[f"d = {d}: log-Cholesky over log-Euclidean at epsilon = 1"] = cholesky / flat
        own, other = (np.array(results[f"{d}|same|{name}"])[-1, 0] for name in ("log-Euclidean", "log-Cholesky"))
        found[f"d = {d}: the same matrices, log-Cholesky over log-Euclidean at mu = 1"] = other / own
        found[f"d = {d}: hyperbolic over log-Euclidean, wrapped, at epsilon = 1"] = hyperbolic / flat
        if np.isfinite(laplace):
            found[f"d = {d}: hyperbolic, Riemannian Laplace over wrapped, at epsilon = 1"] = laplace / hyperbolic
    return found


def draw(results: Results) -> Picture:
    """A column per dimension."""
    picture, axes = panels(3, len(results["d"]), width=3.6, height=2.6)
    for column, d in enumerate(results["d"]):
        _draw_same(axes[2, column], results, d)
        for ax, panel in zip(axes[:2, column], PANELS, strict=True):
            log_scale(ax.yaxis)
            for name, style in STYLES.items():
                mean, error = np.asarray(results[f"{d}|{panel}|{name}"]).T
                curve(ax, results["strengths"], mean, 2 * error, label=name, **style)
            ax.set(xlabel={"epsilon": "ε", "mu": "μ"}[panel], xlim=(0.05, 1.03))
            ax.set_title(f"{'ε-DP' if panel == 'epsilon' else 'μ-GDP'}, d = {d}", fontsize=10)
    for ax in axes[:, 0]:
        ax.set_ylabel("distance to the mean")
    legend(picture, 4)
    return picture


def _draw_same(ax: Any, results: Results, d: int) -> None:
    """Errors of the three metrics in one unit."""
    for name, style in SAME.items():
        mean, error = np.asarray(results[f"{d}|same|{name}"]).T
        curve(ax, results["strengths"], mean, 2 * error, label=f"same matrices, {name}", **style)
    log_scale(ax.yaxis)
    ax.set(xlabel="μ", xlim=(0.05, 1.03))
    ax.set_title(f"the same matrices, d = {d}", fontsize=10)


FIGURE = Figure("ew_spaces", "wrapped mechanisms on flat and hyperbolic spaces", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
