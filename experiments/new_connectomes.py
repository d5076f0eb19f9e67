"""Connectomes of 86 people: what n carries, and what fewer regions carry.

Matrices of the mean of 28 regions (exact, and one private release, GDP(1), least eigenvalue 0.1 by shrinking) and of 7
averages of four neighbouring regions each. Right: error of the noise, as a share of how far the mean is from no
correlation at all, against the number of people; above 1 a release says less than "nothing is correlated".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, has, load, main, panels
from riemdp.plots.style import BLUE, GREEN, GREY, VERMILION, log_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from harness import Picture

DATA, GUARANTEE, SHRINK = "connectome_corr28", rd.GDP(1.0), 0.1
REGIONS = {28: VERMILION, 14: BLUE, 7: GREEN}
PEOPLE = np.geomspace(20, 20_000, 25).round().astype(int)


def compute(quick: bool, track: Track) -> Results:
    """For 28 regions, 14 pairs and 7 groups of four."""
    results: Results = {"people": PEOPLE, "sets": int(has(DATA))}
    for regions in track(tuple(REGIONS) if has(DATA) else (), "regions"):
        results |= study(regions, 5 if quick else 100)
    return results


def study(regions: int, size: int) -> Results:
    """The mean, a release, errors of many, and of other numbers of people."""
    space, records = rd.Correlations(regions), averaged(load(DATA)["corr"], regions)
    ball, mean = rd.Ball.from_eigenvalue_bounds(space, SHRINK), rd.frechet_mean(records, space).point
    draws = rd.simulate(records, ball, GUARANTEE, size=size, seed=0)
    away = float(space.dist(mean, space.origin))
    shares = [rd.plan(ball, int(n), GUARANTEE)[0].expected_error / away for n in PEOPLE]
    found = float(np.sqrt((space.dist(draws, mean) ** 2).mean())) / away
    needed = float(np.exp(np.interp(np.log(0.1), np.log(shares[::-1]), np.log(PEOPLE[::-1]))))
    return {
        f"{regions}: mean": mean,
        f"{regions}: released": draws[0],
        f"{regions}: share by n": shares,
        f"{regions} regions: error at n = {len(records)} over the mean's distance": found,
        f"{regions} regions: people for a tenth of it": needed,
    }


def averaged(correlations: Array, regions: int) -> Array:
    """Correlations of averages of neighbouring regions, shrunk by a public amount: no eigenvalue is below it."""
    rows = np.kron(np.eye(regions), np.ones(correlations.shape[1] // regions))
    found = rd.Correlations(regions).project(rows @ correlations @ rows.T)
    return np.asarray((1 - SHRINK) * found + SHRINK * np.eye(regions))


def draw(results: Results) -> Picture | None:
    """Four matrices and the errors."""
    if not results["sets"]:
        return None
    picture, (axes,) = panels(1, 5, width=2.7, height=3.8)
    for ax, (regions, which) in zip(axes, [(r, w) for r in (28, 7) for w in ("mean", "released")], strict=False):
        word = "exact" if which == "mean" else "private, μ = 1"
        image = _matrix(ax, results[f"{regions}: {which}"], f"{regions} regions, {word}")
    below = {"location": "bottom", "shrink": 0.4, "aspect": 40, "pad": 0.03}
    picture.colorbar(image, ax=list(axes[:4]), label="mean correlation", **below)
    _errors(axes[4], results)
    return picture


def _matrix(ax: Axes, matrix: Array, title: str) -> AxesImage:
    image = ax.imshow(matrix - np.eye(len(matrix)), cmap="RdBu_r", vmin=-0.8, vmax=0.8)
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.set_title(title, fontsize=10)
    return image


def _errors(ax: Axes, results: Results) -> None:
    for regions, colour in REGIONS.items():
        ax.plot(results["people"], results[f"{regions}: share by n"], color=colour, label=f"{regions} regions")
    ax.axvline(86, color=GREY, linewidth=1, linestyle="--", label="n = 86")
    log_scale(ax.xaxis)
    log_scale(ax.yaxis)
    ax.set(xlabel="people", ylabel="error / size of the mean")
    ax.legend(fontsize=7)


FIGURE = Figure("new_connectomes", "connectomes of 86 people", compute, draw, (DATA,))

if __name__ == "__main__":
    main(FIGURE)
