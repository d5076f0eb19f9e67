"""Fréchet means, ours and the peers', side by side in one run: `make bench`.

Every contestant computes the mean of the same records to an error of at most 1e-9, measured against our mean
certified to 1e-12. A ratio is the median time of the faster peer over ours; threads are at their defaults.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import track
from rich.table import Table

import riemdp as rd
from measure import FIRST_CALL, IMPORT, MEMORY, cold_cache, fresh_process, interleaved
from peers import ACCURACY, peers_of
from riemdp.descriptors import covariance_descriptors
from riemdp.kernels.threads import thread_count

CONTESTANTS = ("riemdp", "pyriemann", "geomstats")
RESULTS = Path(__file__).parent / "results" / "means.json"


@dataclass(frozen=True)
class Case:
    """A mean to compute and the least ratio it must reach."""

    space: rd.Space
    n: int
    target: float

    @property
    def name(self) -> str:
        """For example: 10,000 9 x 9 matrices, affine-invariant."""
        return f"{self.n:,} {KINDS[type(self.space)].format(space=self.space)}"


KINDS = {
    rd.SPDLogEuclidean: "{space.k} x {space.k} matrices, log-Euclidean",
    rd.SPDAffine: "{space.k} x {space.k} matrices, affine-invariant",
    rd.Sphere: "points of the sphere S^{space.d}",
    rd.KendallShapes: "shapes of {space.k} landmarks",
}
CASES = (
    Case(rd.SPDLogEuclidean(2), 100_000, 20),
    Case(rd.SPDLogEuclidean(3), 100_000, 20),
    Case(rd.SPDLogEuclidean(5), 100_000, 12),
    Case(rd.SPDLogEuclidean(9), 10_000, 6),
    Case(rd.SPDLogEuclidean(11), 10_000, 5),
    Case(rd.SPDLogEuclidean(30), 10_000, 2),
    Case(rd.SPDAffine(3), 100_000, 15),
    Case(rd.SPDAffine(5), 500, 2),
    Case(rd.SPDAffine(5), 10_000, 8),
    Case(rd.SPDAffine(9), 10_000, 6),
    Case(rd.SPDAffine(30), 500, 2),
    Case(rd.Sphere(2), 10_000, 20),
    Case(rd.Sphere(9), 10_000, 20),
    Case(rd.KendallShapes(50), 400, 20),
)


@dataclass(frozen=True)
class Row:
    """One line of the table; `milliseconds` and `errors` by contestant."""

    name: str
    milliseconds: dict[str, float]
    errors: dict[str, float]
    runs: dict[str, int]
    ratio: float
    target: float

    @property
    def passed(self) -> bool:
        """Fast enough, and nobody was let off with a larger error."""
        return self.ratio >= self.target and self.errors["riemdp"] <= ACCURACY


@dataclass(frozen=True)
class Limit:
    """A quantity that must stay below a limit, or (limit None) is only reported."""

    name: str
    value: float
    unit: str
    limit: float | None

    @property
    def passed(self) -> bool:
        """Within the limit."""
        return self.limit is None or self.value <= self.limit


def run_case(case: Case, budget: float, max_runs: int) -> Row:
    X = case.space.random_point(case.n, 0)
    reference = certified(X, case.space)
    contestants: dict[str, Any] = {"riemdp": lambda: rd.frechet_mean(X, case.space, tol=ACCURACY).point}
    contestants |= peers_of(case.space, X, reference)
    timings = interleaved(contestants, budget, max_runs)
    milliseconds = {name: 1e3 * timing.seconds for name, timing in timings.items()}
    fastest = min(value for name, value in milliseconds.items() if name != "riemdp")
    return Row(
        name=case.name,
        milliseconds=milliseconds,
        errors={name: float(case.space.dist(reference, timing.result)) for name, timing in timings.items()},
        runs={name: timing.runs for name, timing in timings.items()},
        ratio=fastest / milliseconds["riemdp"],
        target=case.target,
    )


def certified(X: Any, space: rd.Space) -> Any:
    """Our mean at the smallest tolerance, from 1e-12 up, that float64 can certify."""
    for tol in (1e-12, 1e-11, 1e-10):
        try:
            return rd.frechet_mean(X, space, tol=tol).point
        except rd.ConvergenceError:
            continue
    return rd.frechet_mean(X, space, tol=ACCURACY).point


def limits(scale: float) -> list[Limit]:
    """Memory, import and first call, each in fresh processes; descriptors."""
    runs = 3 if scale == 1 else 1
    return [
        *memory_limits(int(1_000_000 * scale)),
        Limit("descriptors of 10,000 images, 28 x 28", descriptor_seconds(int(10_000 * scale)) / scale, "s", 2.0),
        Limit("import riemdp", fresh_process(IMPORT, runs), "s", 0.7),
        Limit("first call, 500 5 x 5 matrices, affine-invariant, cold cache", cold_cache(FIRST_CALL, runs), "s", 0.5),
    ]


def descriptor_seconds(n: int) -> float:
    """Median time of the covariance descriptors of n grey images."""
    images = np.random.default_rng(0).integers(0, 256, (n, 28, 28), dtype=np.uint8)
    timings = interleaved({"riemdp": lambda: covariance_descriptors(images)}, budget=2.0, max_runs=5)
    return timings["riemdp"].seconds


def memory_limits(n: int) -> list[Limit]:
    """Peak memory of a mean of n 3 x 3 matrices above that of holding them."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/records.npy"
        np.save(path, rd.SPDAffine(3).random_point(n, 0))
        flat = fresh_process(MEMORY.format(path=path, space="SPDLogEuclidean", warm=True))
        curved = fresh_process(MEMORY.format(path=path, space="SPDAffine", warm=True))
        compiler = fresh_process(MEMORY.format(path=path, space="SPDAffine", warm=False))
    return [
        Limit(f"extra memory, {n:,} 3 x 3 matrices, log-Euclidean", flat, "MB", 50),
        Limit(f"extra memory, {n:,} 3 x 3 matrices, affine-invariant", curved, "MB", 50),
        Limit("the same, with loading Numba and the compiled code", compiler, "MB", None),
    ]


# --- showing -----------------------------------------------------------------------------------------------


def verdict(passed: bool) -> str:
    return "pass" if passed else "FAIL"


def ratio_table(rows: list[Row], with_targets: bool) -> Table:
    """Times, the contestants' errors and the ratio; the table without targets is the one for readers."""
    table = Table(box=MARKDOWN)
    table.add_column("mean of", no_wrap=True)
    targets = ("target", "") if with_targets else ()
    for name in (*(f"{name}, ms" for name in CONTESTANTS), "errors", "ratio", *targets):
        table.add_column(name, justify="right")
    for row in rows:
        times = [_ms(row.milliseconds.get(name)) for name in CONTESTANTS]
        errors = ", ".join(f"{row.errors[name]:.0e}" for name in CONTESTANTS if name in row.errors)
        goals = (f"{row.target:g}x", verdict(row.passed)) if with_targets else ()
        table.add_row(row.name, *times, errors, f"{row.ratio:.1f}x", *goals)
    return table


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def limit_table(rows: list[Limit]) -> Table:
    table = Table(box=MARKDOWN)
    table.add_column("quantity")
    for name in ("value", "limit", ""):
        table.add_column(name, justify="right")
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:g} {row.unit}"
        table.add_row(row.name, f"{row.value:.2f} {row.unit}", limit, verdict(row.passed) if limit else "")
    return table


def environment() -> dict[str, Any]:
    """Versions and threads: what a number means depends on them."""
    from threadpoolctl import threadpool_info

    packages = ("riemdp", "numpy", "scipy", "numba", "pyriemann", "geomstats")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: version(name) for name in packages},
        "riemdp threads": thread_count(),
        "BLAS threads (all contestants)": max((pool["num_threads"] for pool in threadpool_info()), default=1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one run: tests this script")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file to write, a .md beside it")
    options = parser.parse_args()
    console = Console(width=150)
    facts = environment()
    console.print(", ".join(f"{name} {value}" for name, value in facts.items()), highlight=False)
    if options.quick:
        rows = [run_case(Case(case.space, 50, case.target), budget=0.0, max_runs=1) for case in CASES]
    else:
        rows = [run_case(case, budget=2.0, max_runs=15) for case in track(CASES, console=console)]
    bounds = limits(scale=1e-3 if options.quick else 1.0)
    console.print(ratio_table(rows, with_targets=True), limit_table(bounds))
    save(options.out, facts, rows, bounds)


def save(path: Path, facts: dict[str, Any], rows: list[Row], bounds: list[Limit]) -> None:
    records = {
        "environment": facts,
        "means": [{**asdict(row), "passed": row.passed} for row in rows],
        "limits": [{**asdict(limit), "passed": limit.passed} for limit in bounds],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, indent=2) + "\n")
    with path.with_suffix(".md").open("w") as markdown:
        Console(file=markdown, width=150).print(ratio_table(rows, with_targets=False))


if __name__ == "__main__":
    np.seterr(all="ignore")  # the peers' warnings are not ours to print
    main()
