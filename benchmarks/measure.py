"""Measuring: medians of interleaved runs, and what only a fresh process can show."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timing:
    """What a contestant returned in its first run, and its median time."""

    result: Any
    seconds: float
    runs: int


SHORTEST = 0.02

Contestants = Mapping[str, Callable[[], Any]]


def interleaved(contestants: Contestants, budget: float, max_runs: int, pause: float = 0.1) -> dict[str, Timing]:
    """Time the contestants in turns, so that a disturbance hits all; each stops after `budget` seconds.

    BLAS threads spin for tens of milliseconds after their last work: in the pause before each run they fall asleep,
    so that no contestant pays for another's. The processor falls asleep too: a run that does not count wakes it. Runs
    that are short for a clock are repeated, as timeit does, for SHORTEST seconds.
    """
    results = {name: run() for name, run in contestants.items()}  # compiles, loads, fills caches: not counted
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(max_runs):
        for name, run in contestants.items():
            if not times[name] or sum(times[name]) + times[name][-1] <= budget:
                times[name].append(_seconds(run, pause))
    return {name: Timing(results[name], statistics.median(runs), len(runs)) for name, runs in times.items()}


def _seconds(run: Callable[[], Any], pause: float) -> float:
    if pause:
        time.sleep(pause)
        run()
    start, runs, elapsed = time.perf_counter(), 0, 0.0
    while elapsed < SHORTEST:
        run()
        runs, elapsed = runs + 1, time.perf_counter() - start
    return elapsed / runs


# --- fresh processes ---------------------------------------------------------------------------------------

IMPORT = """
import time
start = time.perf_counter()
import riemdp
print(time.perf_counter() - start)
"""

FIRST_CALL = """
import time
import riemdp as rd
space = rd.SPDAffine(5)
X = space.random_point(500, 0)
start = time.perf_counter()
rd.frechet_mean(X, space, tol=1e-9)
print(time.perf_counter() - start)
"""

# The records come from a file, so that making them leaves no peak that could hide the mean's own. Nor is
# ru_maxrss good enough on Linux: it survives exec, so a child starts with its parent's peak; VmHWM does not.
MEMORY = """
import pathlib, re, resource
import numpy as np, riemdp as rd
def peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
space, warm = rd.{space}(3), {warm}
X = np.load({path!r})
if warm:
    rd.frechet_mean(X[:50_000], space, tol=1e-9)
before = peak()
rd.frechet_mean(X, space, tol=1e-9)
print(peak() - before)
"""


def fresh_process(code: str, runs: int = 1) -> float:
    """Median of the number that `code` prints, each time in a new process."""
    return statistics.median(_run(code, dict(os.environ)) for _ in range(runs))


def cold_cache(code: str, runs: int = 1) -> float:
    """The same, with nothing compiled yet."""
    values = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as empty:
            values.append(_run(code, {**os.environ, "NUMBA_CACHE_DIR": empty}))
    return statistics.median(values)


def _run(code: str, environment: dict[str, str]) -> float:
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)
