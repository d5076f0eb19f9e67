"""Means of the newer spaces beside their peers, in turns. `python benchmarks/spaces.py`.

geomstats' mean of rotations takes minutes for 10^5 of them: it is timed for FEW records, stopped after STEPS steps, and
both times are divided by the number of records. SciPy's `Rotation.mean` is another mean (chordal, one pass): it is
shown, not compared with.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import riemdp as rd
from measure import interleaved

MANY, FEW, STEPS = 10**5, 30, 50
ACCURACY = 1e-9
Contestants = Mapping[str, Callable[[], Any]]


def positive_matrices(n: int, k: int) -> np.ndarray:
    """Wishart matrices."""
    a = np.random.default_rng(0).standard_normal((n, k, 2 * k))
    return a @ a.swapaxes(1, 2) / k


def log_cholesky(n: int, k: int) -> Contestants:
    """Our mean and pyRiemann's."""
    from pyriemann.geometry.mean import mean_logchol

    x, space = positive_matrices(n, k), rd.SPDLogCholesky(k)
    return {"riemdp": lambda: rd.frechet_mean(x, space), "pyRiemann": lambda: mean_logchol(x)}


def rotations(n: int) -> Rotation:
    """Around the identity, half of them within half a radian."""
    return Rotation.from_rotvec(0.3 * np.random.default_rng(0).standard_normal((n, 3)))


def chordal() -> Contestants:
    """Our mean and SciPy's, which is another one."""
    turns = rotations(MANY)
    matrices, space = turns.as_matrix(), rd.Rotations()
    return {"riemdp": lambda: rd.frechet_mean(matrices, space, tol=ACCURACY), "SciPy": turns.mean}


def intrinsic(matrices: np.ndarray, space: rd.Space) -> Contestants:
    """Our mean and geomstats', to the same accuracy."""
    from geomstats.learning.frechet_mean import FrechetMean

    theirs = FrechetMean(rd.to_geomstats(space))
    theirs.set(epsilon=ACCURACY**2, max_iter=STEPS)
    ours = lambda: rd.frechet_mean(matrices, space, tol=ACCURACY)  # noqa: E731
    return {"riemdp": ours, "geomstats": lambda: theirs.fit(matrices).estimate_}


def show(name: str, contestants: Contestants, budget: float) -> dict[str, float]:
    """One line: medians, and how many times as long as ours."""
    found = interleaved(contestants, budget, max_runs=15)
    seconds = {who: timing.seconds for who, timing in found.items()}
    ours, (other, theirs) = seconds["riemdp"], list(seconds.items())[1]
    print(f"{name:42s} riemdp {1e3 * ours:9.2f} ms   {other} {1e3 * theirs:9.2f} ms   ratio {theirs / ours:7.2f}")
    return seconds


def main() -> None:
    """All of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=3.0, help="seconds for each contestant")
    budget = parser.parse_args().budget
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show("log-Cholesky, 100,000 of 3 x 3", log_cholesky(10**5, 3), budget)
        show("log-Cholesky, 10,000 of 9 x 9", log_cholesky(10**4, 9), budget)
        fast = show("rotations, 100,000", chordal(), budget)["riemdp"] / MANY
        few = intrinsic(rotations(FEW).as_matrix(), rd.Rotations())
        slow = show(f"rotations, {FEW}", few, budget)["geomstats"] / FEW
        planes = rd.Grassmann(6, 2)
        show(f"planes in R^6, {FEW}", intrinsic(planes.random_point(FEW, 0), planes), budget)
    print(f"rotations, per record: geomstats ({FEW}) takes {slow / fast:,.0f} times as long as riemdp ({MANY:,})")


if __name__ == "__main__":
    main()
