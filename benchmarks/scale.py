"""Past one machine's memory: time and peak memory against the number of records. `python benchmarks/scale.py`.

The value before noise of the private log-Euclidean mean, one pass, of n matrices: in memory, from a memory-mapped
file, and by Dask with one and two worker processes that read the file themselves. Beside them stand what no
computation can beat, in turns in one process: reading the file, the fused sum of logarithms, and the
eigendecompositions alone. Times are the best of some runs, shares of them are of processor time. Peak memory is that
of fresh processes, beyond what they had before the pass (and beyond the records, if those are in memory); of all
workers together for Dask.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import riemdp as rd
from riemdp.cli.workers import client_here
from riemdp.io.data import open_records
from riemdp.io.sources import source_of
from riemdp.kernels import spectral
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.query import Query

RESULTS = Path(__file__).parent / "results"
SIZES = {3: [10**e for e in range(3, 8)], 9: [10**5, 10**6]}
QUICK = {3: [10**3, 10**4, 10**5], 9: [10**4]}
LARGE = 10**6  # from here on also the memory of workers is measured
ENGINES = ("memory", "mapped", "dask 1", "dask 2")
LIMITS = ("reading", "sum of logs", "eigen-kernel")
WARM = 50_000  # records for the first, uncounted pass: compiled code is loaded
FIT_FROM = 10**5  # below, what does not depend on n shows
LIMIT_MB, LIMIT_SHARE, LIMIT_EXPONENT, LIMIT_SPEEDUP = 300, 0.6, 0.05, 1.5


class Time(NamedTuple):
    """Best of some runs: on a busy machine others only add to it."""

    wall: float
    cpu: float  # of this process, all threads; not of workers


@dataclass(frozen=True)
class Row:
    """One number of matrices of one size: seconds, and peak megabytes beyond those before the pass."""

    k: int
    n: int
    seconds: dict[str, Time]
    megabytes: dict[str, float]

    def share(self, engine: str, limit: str) -> float:
        """How much of the limit's throughput the engine has, by processor time: others do not disturb it."""
        return self.seconds[limit].cpu / self.seconds[engine].cpu


# --- what is measured ------------------------------------------------------------------------------------------


def ball(k: int) -> rd.Ball:
    return rd.Ball(rd.SPDLogEuclidean(k), np.eye(k), 2.0)


def value(X: Any, k: int) -> bytes:
    """The private mean before noise."""
    query = Query(ball(k), X.shape[0], rd.GDP(1.0), "wrapped-gaussian")
    return query.law(query.plan()).value(Bounded(X, ball(k))).tobytes()


def mapped(path: Path) -> Any:
    return np.load(path, mmap_mode="r")


def by_workers(path: Path, k: int, client: Any) -> bytes:
    import dask

    with dask.config.set(scheduler=client):
        return value(open_records(path).for_workers(rd.SPDLogEuclidean(k)), k)


def read(path: Path) -> None:
    """The whole file through one buffer."""
    buffer = bytearray(2**22)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def sum_of_logs(block: np.ndarray, start: int) -> float:  # noqa: ARG001
    return float(spectral.sum_logs(block).total[0, 0])


def eigen(block: np.ndarray, start: int) -> float:  # noqa: ARG001
    return float(spectral.eigh(block)[0][0, 0])


def on_blocks(X: np.ndarray, task: Callable[[np.ndarray, int], float]) -> None:
    """The kernel alone, on the same blocks in the same threads, chosen as for all records."""
    with spectral.kernels_for(len(X)):
        source_of(X).map(partial(_chosen, task, len(X)))


def _chosen(task: Callable[[np.ndarray, int], float], n: int, block: np.ndarray, start: int) -> float:
    with spectral.kernels_for(n):
        return task(block, start)


# --- measuring -------------------------------------------------------------------------------------------------


@contextmanager
def clusters(counts: list[int]) -> Iterator[dict[int, Any]]:
    """A client for each number of worker processes, as --workers makes them."""
    with ExitStack() as stack:
        yield {count: stack.enter_context(client_here(count)) for count in counts}


def seconds(path: Path, k: int, clients: dict[int, Any], budget: float, runs: int) -> dict[str, Time]:
    """Best times of all contestants, in turns; they must agree to the bit."""
    X = np.load(path)
    contestants: dict[str, Callable[[], Any]] = {
        "memory": lambda: value(X, k),
        "mapped": lambda: value(mapped(path), k),
        **{f"dask {count}": partial(by_workers, path, k, client) for count, client in clients.items()},
        "reading": lambda: read(path),
        "sum of logs": lambda: on_blocks(X, sum_of_logs),
        "eigen-kernel": lambda: on_blocks(X, eigen),
    }
    results = {name: run() for name, run in contestants.items()}  # loads the code, fills the file's cache: not counted
    if len({results[name] for name in ENGINES}) != 1:
        sys.exit(f"k = {k}, {path}: the values before noise differ")
    times: dict[str, list[Time]] = {name: [] for name in contestants}
    for name in [*contestants] * runs:
        if sum(found.wall for found in times[name]) < budget:
            times[name].append(_time(contestants[name]))
    return {name: Time(min(t.wall for t in found), min(t.cpu for t in found)) for name, found in times.items()}


def _time(run: Callable[[], Any]) -> Time:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Time(time.perf_counter() - wall, time.process_time() - cpu)


def peak() -> float:
    """Megabytes of memory that this process ever held, mapped files included."""
    return _status("VmHWM")


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith(field)).split()[1]) / 2**10


def measure_memory(engine: str, path: Path, k: int) -> float:
    """In a fresh process: the peak during a pass, beyond what was held before it."""
    if engine.startswith("dask"):
        return _memory_of_workers(int(engine.split()[1]), path, k)
    X = np.load(path) if engine == "memory" else mapped(path)
    value(X[:WARM], k)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    value(X, k)
    return peak() - before


def _memory_of_workers(count: int, path: Path, k: int) -> float:
    with clusters([count]) as clients:
        client = clients[count]
        _warm(k, client)
        before = client.run(_status, "VmRSS")
        client.run(Path.write_text, Path("/proc/self/clear_refs"), "5")
        by_workers(path, k, client)
        after = client.run(peak)
    return sum(after[worker] - before[worker] for worker in after)


def _warm(k: int, client: Any) -> None:
    """Load the code, on every worker."""
    import dask
    import dask.array as da

    few = rd.SPDLogEuclidean(k).random_point(WARM, 0)
    with dask.config.set(scheduler=client):
        value(da.from_array(few, chunks=(source_of(few).block, k, k)), k)


def fresh(engine: str, path: Path, k: int) -> float:
    command = [sys.executable, __file__, "--measure", engine, str(path), str(k)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def make_file(path: Path, k: int, n: int) -> None:
    """n matrices around the identity, some outside the ball, written piece by piece."""
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, k, k))
    piece = rd.SPDLogEuclidean(k).random_point(min(n, 10**5), k)
    for start in range(0, n, len(piece)):
        file[start : start + len(piece)] = piece[: n - start]
    file.flush()


def rows(sizes: dict[int, list[int]], workers: list[int], budget: float, runs: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as place, clusters(workers) as clients:
        for k, counts in sizes.items():
            for n in counts:
                path = Path(place) / "X.npy"
                make_file(path, k, n)
                times = seconds(path, k, clients, budget, runs)
                engines = ENGINES if n >= LARGE else ENGINES[:2]
                yield Row(k, n, times, {engine: fresh(engine, path, k) for engine in engines})
                path.unlink()


# --- what comes out --------------------------------------------------------------------------------------------


def exponent(found: list[Row], engine: str) -> float:
    """b of seconds ~ n^b, by least squares, over 3x3 matrices from FIT_FROM on (or all there are)."""
    small = [row for row in found if row.k == 3]
    chosen = [row for row in small if row.n >= FIT_FROM] if small[-1].n > FIT_FROM else small
    x, y = np.log([row.n for row in chosen]), np.log([_cost(row, engine) for row in chosen])
    return float(np.polyfit(x, y, 1)[0])


def _cost(row: Row, engine: str) -> float:
    """Processor time; wall time where the work is done elsewhere."""
    return row.seconds[engine].wall if engine.startswith("dask") else row.seconds[engine].cpu


def claims(found: list[Row]) -> dict[str, tuple[float, str, bool]]:
    """Measured, wanted, and whether it holds; of the largest sizes that were run."""
    small, large = (next(row for row in reversed(found) if row.k == k) for k in (3, 9))
    share, speedup = small.share("mapped", "memory"), large.seconds["dask 1"].wall / large.seconds["dask 2"].wall
    slope, megabytes = exponent(found, "mapped"), small.megabytes["mapped"]
    return {
        f"peak memory, {small.n:,} mapped 3x3 (MB)": (megabytes, f"< {LIMIT_MB}", megabytes < LIMIT_MB),
        f"throughput of mapped against memory, {small.n:,} 3x3": (share, f">= {LIMIT_SHARE}", share >= LIMIT_SHARE),
        "exponent of n, mapped": (slope, f"1 ± {LIMIT_EXPONENT}", abs(slope - 1) <= LIMIT_EXPONENT),
        f"2 workers against 1, {large.n:,} 9x9": (speedup, f">= {LIMIT_SPEEDUP}", speedup >= LIMIT_SPEEDUP),
    }


def show(found: list[Row]) -> None:
    console = Console(width=200)
    times = Table(box=MARKDOWN, title="Seconds")
    for name in ("matrices", "records", *ENGINES, *LIMITS):
        times.add_column(name, justify="right")
    shares = Table(box=MARKDOWN, title="Throughput as a share of the limits")
    pairs = [(engine, limit) for engine in ("memory", "mapped") for limit in LIMITS]
    for name in ("matrices", "records", *map(" / ".join, pairs)):
        shares.add_column(name, justify="right")
    memory = Table(box=MARKDOWN, title="Peak megabytes")
    for name in ("matrices", "records", "the records themselves", *ENGINES):
        memory.add_column(name, justify="right")
    for row in found:
        start = (f"{row.k}x{row.k}", f"{row.n:,}")
        times.add_row(*start, *(f"{row.seconds[name].wall:.4f}" for name in (*ENGINES, *LIMITS)))
        cpu = {name: f"{best.cpu:.4f}" for name, best in row.seconds.items() if not name.startswith("dask")}
        times.add_row("", "processor", *(cpu.get(name, "") for name in (*ENGINES, *LIMITS)))
        shares.add_row(*start, *(f"{row.share(*pair):.2f}" for pair in pairs))
        megabytes = (f"{row.megabytes[name]:.0f}" if name in row.megabytes else "" for name in ENGINES)
        memory.add_row(*start, f"{row.n * row.k**2 * 8 / 1e6:.0f}", *megabytes)
    table = Table(box=MARKDOWN, title="Claims")
    for name in ("what", "measured", "wanted", "holds"):
        table.add_column(name)
    for name, (measured, wanted, holds) in claims(found).items():
        table.add_row(name, f"{measured:.3g}", wanted, "yes" if holds else "NO")
    console.print(times, shares, memory, table)


def plot(found: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    small = [row for row in found if row.k == 3]
    counts = [row.n for row in small]
    for name in (*ENGINES, *LIMITS):
        left.loglog(counts, [row.seconds[name].wall for row in small], "--" if name in LIMITS else "o-", label=name)
    for name in ENGINES:
        known = [row for row in small if name in row.megabytes]
        right.loglog([row.n for row in known], [max(row.megabytes[name], 0.1) for row in known], "o-", label=name)
    right.loglog(counts, [row.n * 72e-6 for row in small], "k--", label="the records themselves")
    left.set(xlabel="3x3 matrices", ylabel="seconds")
    right.set(xlabel="3x3 matrices", ylabel="peak megabytes")
    left.legend(), right.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 10^5 records, one run")
    parser.add_argument("--measure", nargs=3, metavar=("ENGINE", "FILE", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        engine, path, k = options.measure
        print(measure_memory(engine, Path(path), int(k)))
        return
    budget, runs = (1.0, 2) if options.quick else (12.0, 5)
    found = []
    for row in rows(QUICK if options.quick else SIZES, [1, 2], budget, runs):
        found.append(row)
        print(json.dumps(asdict(row)), file=sys.stderr)
    show(found)
    RESULTS.mkdir(exist_ok=True)
    plot(found, RESULTS / "scale.png")
    data = {"rows": [asdict(row) for row in found], "claims": claims(found), "exponents": _exponents(found)}
    (RESULTS / "scale.json").write_text(json.dumps(data, indent=1))


def _exponents(found: list[Row]) -> dict[str, float]:
    slopes = {engine: exponent(found, engine) for engine in ENGINES}
    assert all(map(math.isfinite, slopes.values()))
    return slopes


if __name__ == "__main__":
    main()
