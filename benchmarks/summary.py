"""Summaries beside means, and what their parts take: `python benchmarks/summary.py`.

What a second moment adds to a release is a product of matrices, exact in integers, and one normal for each number. The
limit is that of the project: 1,000 matrices of size 32 (528 dimensions, 139,656 second moments) in less than 2 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import riemdp as rd
from riemdp.privacy.bounded import Bounded

LIMIT = 2.0  # seconds, for 1,000 matrices of size 32


@dataclass(frozen=True)
class Case:
    """Records of one kind."""

    name: str
    space: rd.Space
    n: int
    radius: float
    limit: float = np.inf

    @property
    def records(self) -> Any:
        """Random ones."""
        return self.space.random_point(self.n, 0)


CASES = [
    Case("10^6 vectors of R^3", rd.Euclidean(3), 10**6, 5.0),
    Case("10^5 directions", rd.Sphere(2), 10**5, 1.0),
    Case("10^5 matrices of size 3", rd.SPDAffine(3), 10**5, 3.0),
    Case("3,000 shapes of 15 landmarks", rd.KendallShapes(15), 3000, 0.6),
    Case("10^4 matrices of size 9", rd.SPDAffine(9), 10**4, 5.0),
    Case("1,000 matrices of size 32", rd.SPDAffine(32), 1000, 10.0, LIMIT),
]


def fastest(task: Callable[[], Any], runs: int) -> float:
    """Seconds of the fastest of some runs, after one that loads and compiles."""
    task()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def row(case: Case, runs: int) -> list[float]:
    """Seconds of a tangent mean, a summary, its exact sums, and its modes."""
    X, ball, promise = case.records, rd.Ball(case.space, case.space.origin, case.radius), rd.GDP(1.0)
    made = rd.private_summary(X, ball, promise)
    tasks: list[Callable[[], Any]] = [
        lambda: rd.private_mean(X, ball, promise, statistic="tangent-mean"),
        lambda: rd.private_summary(X, ball, promise),
        lambda: Bounded(X, ball).moment_sums("full"),
        lambda: rd.Summary.from_dict(made.to_dict()).modes(),
    ]
    return [fastest(task, runs) for task in tasks]


def main() -> None:
    """A table; exit code 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs, missed = parser.parse_args().runs, 0
    print("| records | tangent mean | summary | of it, exact sums | modes, from a file | limit |\n|" + "---|" * 6)
    for case in CASES:
        seconds = row(case, runs)
        missed += seconds[1] > case.limit
        cells = [f"{value:.3f} s" for value in seconds]
        print(f"| {' | '.join([case.name, *cells, '' if case.limit == np.inf else f'{case.limit:g} s'])} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
