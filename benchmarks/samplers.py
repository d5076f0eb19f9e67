"""Exact draws against the papers' Markov chains, and the stated limits on time. `python benchmarks/samplers.py`.

A draw of the papers is the state of a chain after 10,000 steps. Chains run side by side in NumPy, which flatters them:
a few steps of many chains are timed, and 10,000 of them charged to each draw. The exact samplers draw many points at
once, their preparation (envelopes, bounds on the Hessian) included. Beside it: one point at a time, from scratch.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
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
from riemdp.distributions.kng import KNG
from riemdp.distributions.riemannian import RiemannianLaplace
from riemdp.manifolds import Space
from riemdp.statistics.sensitivity import kng_sensitivity, mean_sensitivity

sys.path.append(str(Path(__file__).parents[1]))
from experiments import metropolis

RESULTS = Path(__file__).parent / "results" / "samplers.json"
N, BURN_IN, STEPS, CHAINS, WANTED = 200, 10_000, 10, 200, 1000
RADII: dict[Space, float] = {rd.Sphere(2): math.pi / 8} | {rd.SPDAffine(k): 1.5 for k in (2, 3, 4, 5)}


@dataclass(frozen=True)
class Row:
    """Microseconds per draw of one law."""

    space: str
    law: str
    chain: float
    exact: float
    single: float  # one point, from scratch
    chain_single: float  # one chain of 10,000 steps

    @property
    def ratio(self) -> float:
        """How many times faster than the chain."""
        return self.chain / self.exact


@dataclass(frozen=True)
class Limit:
    """Seconds of a task with a stated limit."""

    task: str
    seconds: float
    limit: float


def compare(space: Space, radius: float, law: str, draws: int, runs: int) -> Row:
    """Time chains, many exact draws, and one."""
    points, centre = records(space, N, radius)
    rng, facts = np.random.default_rng(0), (radius, N, space.curvature_bounds[1], space.injectivity_radius)
    ball = radius if space.curvature_bounds[1] > 0 else math.inf
    if law == "kng":
        scale = 2 * kng_sensitivity(*facts)
        target = metropolis.kng(space, points, scale, ball)
        draw: Callable[[int], Any] = lambda size: KNG(space, points, centre, scale, ball).sample(size, rng)  # noqa: E731
    else:
        scale = mean_sensitivity(*facts)
        target = metropolis.laplace(space, centre, scale)
        draw = lambda size: RiemannianLaplace(space, centre, scale).sample(size, rng)  # noqa: E731
    many, one = (metropolis.chains(space, target, centre, number, scale) for number in (CHAINS, 1))
    contestants = {
        "chain": lambda: many.advance(STEPS, rng),
        "chain_single": lambda: one.advance(STEPS, rng),
        "exact": lambda: draw(draws),
        "single": lambda: draw(1),
    }
    units = {"chain": BURN_IN / STEPS / CHAINS, "chain_single": BURN_IN / STEPS, "exact": 1 / draws, "single": 1.0}
    times = interleaved(contestants, 4.0, runs)
    return Row(repr(space), law, **{name: 1e6 * units[name] * timing.seconds for name, timing in times.items()})


def records(space: Space, n: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Records within the radius of the origin, and their mean."""
    rng, origin = np.random.default_rng(1), space.read(space.origin, "origin")
    v = rng.standard_normal((n, space.dim))
    v *= (radius * rng.random(n) ** (1 / space.dim) / np.linalg.norm(v, axis=1))[:, None]
    points, mean = space.exp_coords(v, origin), origin
    for _ in range(30):
        mean = space.exp_coords(space.log_coords(points, mean).mean(axis=0), mean)
    return points, mean


def kng_seconds(space: Space, n: int, radius: float, size: int) -> float:
    """K-norm gradient draws at epsilon = 1, their preparation included."""
    points, centre = records(space, n, radius)
    ball = radius if space.curvature_bounds[1] > 0 else math.inf
    scale = 2 * kng_sensitivity(radius, n, space.curvature_bounds[1], space.injectivity_radius)
    KNG(space, points, centre, scale, ball).sample(1, np.random.default_rng(2))  # loads compiled code: not counted
    start = time.perf_counter()
    KNG(space, points, centre, scale, ball).sample(size, np.random.default_rng(3))
    return time.perf_counter() - start


def laplace_seconds(k: int, size: int) -> float:
    """Riemannian Laplace draws of k x k matrices."""
    law = RiemannianLaplace(rd.SPDAffine(k), np.eye(k), 0.1)
    law.sample(size, 0)
    start = time.perf_counter()
    law.sample(size, 1)
    return time.perf_counter() - start


def limits() -> list[Limit]:
    """The tasks with stated limits."""
    shapes = rd.KendallShapes(50)
    return [
        Limit("10,000 Riemannian Laplace draws, 5 x 5 matrices", laplace_seconds(5, 10_000), 1.0),
        Limit("10,000 KNG draws, S^2, n = 200", kng_seconds(rd.Sphere(2), 200, math.pi / 8, 10_000), 2.0),
        Limit("1,000 KNG draws, 2 x 2 matrices, n = 200", kng_seconds(rd.SPDAffine(2), 200, 1.5, 1000), 5.0),
        Limit("one KNG draw, 400 shapes of 50 landmarks, r = 0.1", kng_seconds(shapes, 400, 0.1, 1), 1.0),
        Limit("one KNG draw, 400 shapes of 50 landmarks, r = 0.2", kng_seconds(shapes, 400, 0.2, 1), 30.0),
    ]


def table(rows: list[Row]) -> Table:
    """Times per draw, side by side."""
    shown = Table(box=MARKDOWN)
    heads = ("space", "law", "chain, ms", "exact, ms", "ratio", "", "one chain, ms", "one draw, ms")
    for name in heads:
        shown.add_column(name, justify="right")
    for row in rows:
        verdict = "pass" if row.ratio >= WANTED else "FAIL"
        per_draw = (f"{row.chain / 1e3:.2f}", f"{row.exact / 1e3:.4f}", f"{row.ratio:,.0f}", verdict)
        shown.add_row(row.space, row.law, *per_draw, f"{row.chain_single / 1e3:.0f}", f"{row.single / 1e3:.1f}")
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run each, few draws: tests this script")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file to write")
    options = parser.parse_args()
    runs, draws = (1, 500) if options.quick else (7, 5000)
    laws = ("riemannian-laplace", "kng")
    rows = [compare(space, radius, law, draws, runs) for space, radius in RADII.items() for law in laws]
    console, tasks = Console(width=140), limits()
    console.print(table(rows))
    for task in tasks:
        verdict = "pass" if task.seconds <= task.limit else "FAIL"
        console.print(f"{task.task}: {task.seconds:.3f} s (limit {task.limit:g} s, {verdict})")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    result = {"draws": [asdict(row) for row in rows], "limits": [asdict(task) for task in tasks]}
    options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
