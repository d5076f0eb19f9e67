"""People instead of records: time beside that without groups, and memory out of core. `python benchmarks/groups.py`.

Time: private means and summaries of 10^6 3 x 3 matrices in memory, of records and of their 10^5 people, with ids of
each type, in turns in one process: the median over rounds of the time with groups over that without in the same round.
Memory: the peak of fresh processes that make a
tangent mean of people from memory-mapped files of records and ids, or from ids in a Parquet file, beyond what they had
after a small one, and how it grows with the number of records. The limits are those that the project promises.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd

RESULTS = Path(__file__).parent / "results"
RECORDS, PEOPLE = 10**6, 10**5
SIZES = (2 * 10**6, 4 * 10**6, 8 * 10**6)  # of files, for memory
LIMIT_TIME, LIMIT_BYTES = 3.0, 16.0
AFFINE, LOG_EUCLIDEAN = (rd.Ball(space, np.eye(3), 1.5) for space in (rd.SPDAffine(3), rd.SPDLogEuclidean(3)))
RELEASES: dict[str, Callable[..., Any]] = {
    "affine mean": lambda X, ids: rd.private_mean(X, AFFINE, rd.GDP(1.0), groups=ids),
    "log-Euclidean mean": lambda X, ids: rd.private_mean(X, LOG_EUCLIDEAN, rd.GDP(1.0), groups=ids),
    "log-Euclidean summary": lambda X, ids: rd.private_summary(X, LOG_EUCLIDEAN, rd.GDP(1.0), groups=ids),
}


def texts(who: Any, form: str = "P%d") -> Any:
    """An array of texts of one width."""
    return np.char.mod(form, who)


def of(package: str, make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Ids that another package makes of whole numbers; None without that package."""

    def made(who: Any) -> Any:
        try:
            return make(importlib.import_module(package), who)
        except ImportError:
            return None

    return made


IDS: dict[str, Callable[[Any], Any]] = {
    "integers": np.asarray,
    "integers far apart": lambda who: who * 10**12,
    "texts": texts,
    "texts of 36": lambda who: texts(who, "patient-%028d"),
    "texts with accents": lambda who: texts(who, "Pä%d"),
    "bytes": lambda who: texts(who).astype("S"),
    "objects": lambda who: texts(who).astype(object),
    "list of texts": lambda who: texts(who).tolist(),
    "list of integers": lambda who: who.tolist(),
    "pandas texts": of("pandas", lambda pd, who: pd.Series(texts(who).tolist())),
    "pandas objects": of("pandas", lambda pd, who: pd.Series(texts(who).astype(object), dtype=object)),
    "pandas categories": of("pandas", lambda pd, who: pd.Series(texts(who)).astype("category")),
    "pandas Int64": of("pandas", lambda pd, who: pd.Series(who, dtype="Int64")),
    "Arrow texts": of("pyarrow", lambda pa, who: pa.array(texts(who).tolist())),
    "Arrow dictionary": of("pyarrow", lambda pa, who: pa.array(texts(who).tolist()).dictionary_encode()),
    "polars texts": of("polars", lambda pl, who: pl.Series(texts(who).tolist())),
    "polars categories": of("polars", lambda pl, who: pl.Series(texts(who).tolist(), dtype=pl.Categorical)),
}
SHARE = 0.1  # people for each record, of whom memory is promised
MEMORY = {
    "records": (None, ""),
    **{f"10 records each, {ids}": (SHARE, ids) for ids in ("integers", "texts", "texts of 36", "texts in Parquet")},
    **{f"1 record each, {ids}": (1.0, ids) for ids in ("integers", "texts", "texts of 36")},
}

# A fresh process: small means first, to load and compile, then the one that counts.
CHILD = """
import json, re, sys
from pathlib import Path
import numpy as np, riemdp as rd
from riemdp.io.groups import open_groups
records = np.load(sys.argv[1], mmap_mode="r")
ids = open_groups(sys.argv[2], sys.argv[1], header=False).ids if len(sys.argv) > 2 else None
ball = rd.Ball(rd.SPDLogEuclidean(3), np.eye(3), 2.0)
def mean(n):
    groups = None if ids is None else ids if n == len(records) else ids[:n]
    rd.private_mean(records[:n], ball, rd.GDP(1.0), statistic="tangent-mean", groups=groups)
def kilobytes(which):
    return int(re.search(which + ":\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
mean(100_000), mean(100_000)
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = kilobytes("VmRSS")
mean(len(records))
print(json.dumps(1024 * (kilobytes("VmHWM") - before)))
"""


def matrices(n: int, rng: np.random.Generator) -> Any:
    """Some thousand matrices, again and again."""
    return np.resize(rd.SPDAffine(3).random_point(4096, rng), (n, 3, 3))


def times(records: int, people: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """By release and type of ids: median seconds, and the median of the times without groups in the same round."""
    rng = np.random.default_rng(0)
    X, who = matrices(records, rng), rng.integers(0, people, records)
    ids = {name: found for name, make in IDS.items() if (found := make(who)) is not None}
    return {
        name: _in_turns(lambda some, run=run: run(X, some), {"records": None} | ids, rounds)
        for name, run in RELEASES.items()
    }


def _in_turns(run: Callable[[Any], Any], ids: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in ids}
    run(None)  # compiles and loads: not counted
    for _ in range(rounds):
        for name, some in ids.items():
            start = time.perf_counter()
            run(some)
            seconds[name].append(time.perf_counter() - start)
    alone = np.array(seconds["records"])
    return {name: [statistics.median(mine), float(np.median(mine / alone))] for name, mine in seconds.items()}


def peak(n: int, people: int | None, ids: str, folder: Path) -> int:
    """Bytes at most, of a fresh process, beyond those of a small mean; without groups if there are no people."""
    rng = np.random.default_rng(1)
    np.save(folder / "X.npy", matrices(n, rng))
    command = [sys.executable, "-c", CHILD, str(folder / "X.npy")]
    if people:
        form, _, parquet = ids.partition(" in ")
        path = save(IDS[form](np.arange(people))[rng.integers(0, people, n)], folder, parquet)
        command.append(str(path))
    return int(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def save(ids: Any, folder: Path, parquet: str) -> Path:
    """In a file of their own."""
    if not parquet:
        np.save(folder / "ids.npy", ids)
        return folder / "ids.npy"
    pa, pq = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    pq.write_table(pa.table({"id": ids}), folder / "ids.parquet")
    return folder / "ids.parquet"


def growth(sizes: tuple[int, ...], share: float | None, ids: str) -> dict[str, float]:
    """Peak megabytes by number of records, and bytes for each record more; so many people for each record, or fixed."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = {n: peak(n, None if share is None else round(share * n), ids, Path(folder)) for n in sizes}
    per_record = (peaks[sizes[-1]] - peaks[sizes[0]]) / (sizes[-1] - sizes[0])
    return {f"{n:.0e} records, MB": peaks[n] / 1e6 for n in sizes} | {"bytes a record": per_record}


def main() -> None:
    """A table of each; exit code 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    found = times(RECORDS // 10, PEOPLE // 10, 3) if quick else times(RECORDS, PEOPLE, 9)
    sizes = tuple(n // 4 for n in SIZES) if quick else SIZES
    memory = {name: growth(sizes, *people) for name, people in MEMORY.items()}
    for release, rows in found.items():
        print(release)
        for name, (seconds, ratio) in rows.items():
            print(f"{name:>30}: {seconds:.2f} s, {ratio:.2f} times")
    for name, row in memory.items():
        print(f"{name:>30}: " + ", ".join(f"{key} {value:.1f}" for key, value in row.items()))
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"times": found, "memory": memory}, indent=1)
        (RESULTS / "groups.json").write_text(text + "\n")
    slowest = max(ratio for rows in found.values() for _, ratio in rows.values())
    most = max(row["bytes a record"] for name, row in memory.items() if MEMORY[name][0] == SHARE)
    missed = slowest > LIMIT_TIME or most > LIMIT_BYTES
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
