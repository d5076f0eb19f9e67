"""What privacy costs in time: a release beyond the mean itself, and simulations. `python benchmarks/release.py`.

Beyond the mean are the plan (sensitivity, calibration, predicted error), the exact noise and its way back to the
manifold. Records are few, so that the mean hides nothing; threads are at their defaults. Beside the Gaussian
mechanism stands the vector Gaussian of OpenDP, if it is installed: noise alone, on the same coordinates.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import riemdp as rd
from measure import interleaved
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.prepared import prepare
from riemdp.statistics.query import Query

RESULTS = Path(__file__).parent / "results" / "release.json"
N = 40
RADIUS = 1.0
# size of the matrices -> limit in milliseconds beyond the mean
SIZES = {2: 2.0, 3: 2.0, 5: 2.0, 9: 10.0, 30: 60.0}
# Milliseconds that the paper on exponential-wrapped mechanisms reports (Table 1) for n = 40, on its own machine.
# It does not say whether they include the mean.
PAPER = {
    ("wrapped-laplace", 3): 3.61,
    ("wrapped-laplace", 6): 3.62,
    ("wrapped-laplace", 15): 4.06,
    ("wrapped-gaussian", 3): 3.47,
    ("wrapped-gaussian", 6): 3.53,
    ("wrapped-gaussian", 15): 3.78,
}
GUARANTEES = {"wrapped-laplace": rd.PureDP(1.0), "wrapped-gaussian": rd.ApproxDP(1.0, 1e-6)}
SIMULATION_LIMIT = 2.0


@dataclass(frozen=True)
class Row:
    """One mechanism in one dimension: median milliseconds."""

    dim: int
    mechanism: str
    whole: float
    beyond_mean: float
    limit: float
    opendp_noise: float | None

    @property
    def passed(self) -> bool:
        """Whether the time beyond the mean is within its limit."""
        return self.beyond_mean <= self.limit


def run_size(k: int, mechanism: str, runs: int) -> Row:
    """Time whole releases, and releases of coordinates that are known already."""
    space, guarantee = rd.SPDAffine(k), GUARANTEES[mechanism]
    ball = rd.Ball(space, np.eye(k), RADIUS)
    X, query = space.random_point(N, 0), Query(ball, N, guarantee, mechanism)
    value = query.law(query.plan()).value(Bounded(X, ball))

    def beyond() -> rd.Release:
        return prepare(query).release_of(lambda: value, None, "")

    contestants: dict[str, Callable[[], Any]] = {
        "whole": lambda: rd.private_mean(X, ball, guarantee, mechanism=mechanism),
        "beyond": beyond,
    }
    peer = opendp_gaussian(np.concatenate(value), beyond().scale) if mechanism == "wrapped-gaussian" else None
    if peer:
        contestants["opendp"] = peer
    times = {name: 1e3 * timing.seconds for name, timing in interleaved(contestants, 2.0, runs, pause=0.0).items()}
    return Row(space.dim, mechanism, times["whole"], times["beyond"], SIZES[k], times.get("opendp"))


def opendp_gaussian(coords: np.ndarray, scale: float) -> Callable[[], Any] | None:
    """OpenDP's vector Gaussian at the same scale and on the same grid, if OpenDP is there."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(coords))
    grid = math.frexp(scale)[1] - 21
    mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale, k=grid)
    values = coords.tolist()
    return lambda: mechanism(values)


def simulation_seconds(draws: int) -> float:
    """Time of simulated releases of 5 x 5 matrices."""
    space = rd.SPDAffine(5)
    X, ball = space.random_point(N, 0), rd.Ball(space, np.eye(5), RADIUS)
    rd.simulate(X, ball, rd.PureDP(1.0), size=draws, seed=0)  # compiles or loads compiled code: not counted
    start = time.perf_counter()
    rd.simulate(X, ball, rd.PureDP(1.0), size=draws, seed=1)
    return time.perf_counter() - start


def table(rows: list[Row]) -> Table:
    """Milliseconds per release."""
    shown = Table(box=MARKDOWN)
    heads = ("d", "mechanism", "release, ms", "beyond the mean, ms", "limit, ms", "", "paper, ms", "OpenDP noise, ms")
    for name in heads:
        shown.add_column(name, justify="right")
    for row in rows:
        peer = "" if row.opendp_noise is None else f"{row.opendp_noise:.2f}"
        paper = str(PAPER.get((row.mechanism, row.dim), ""))
        times = (f"{row.whole:.2f}", f"{row.beyond_mean:.2f}", f"{row.limit:g}")
        shown.add_row(str(row.dim), row.mechanism, *times, "pass" if row.passed else "FAIL", paper, peer)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run each, few draws: tests this script")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file to write")
    options = parser.parse_args()
    console = Console(width=130)
    runs = 1 if options.quick else 40
    rows = [run_size(k, mechanism, runs) for k in SIZES for mechanism in GUARANTEES]
    draws = 1000 if options.quick else 100_000
    seconds = simulation_seconds(draws)
    console.print(table(rows))
    small = max(row.beyond_mean for row in rows if row.dim <= 15)
    console.print(f"d = 3 to 15: at most {small:.2f} ms beyond the mean; the paper has {min(PAPER.values())} or more.")
    console.print(f"{draws:,} simulated 5 x 5 matrices: {seconds:.2f} s (limit {SIMULATION_LIMIT:g} s for 100,000).")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    records = {"releases": [asdict(row) for row in rows], "draws": draws, "simulation_seconds": seconds}
    options.out.write_text(json.dumps(records, indent=2) + "\n")


if __name__ == "__main__":
    main()
