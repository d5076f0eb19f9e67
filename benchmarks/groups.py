"""People instead of records: time beside that without groups, and memory out of core. `python benchmarks/groups.py`.

Time: the affine-invariant private mean of 10^6 3 x 3 matrices in memory, of records and of their 10^5 people, in turns
in one process: with ids as integers, integers far apart, and texts. Memory: the peak of fresh processes that make a
tangent mean of people from memory-mapped files of records and ids, beyond what they had after a small one, and how it
grows with the number of records. The limits are those that the project promises.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd
from measure import interleaved

RESULTS = Path(__file__).parent / "results"
RECORDS, PEOPLE = 10**6, 10**5
SIZES = (2 * 10**6, 4 * 10**6, 8 * 10**6)  # of files, for memory
LIMIT_TIME, LIMIT_BYTES = 3.0, 16.0
BALL, CLAIM = rd.Ball(rd.SPDAffine(3), np.eye(3), 1.5), rd.GDP(1.0)
IDS = {"integers": np.asarray, "far apart": lambda who: who * 10**12, "texts": lambda who: np.char.mod("P%d", who)}

# A fresh process: a small mean first, to load and compile, then the one that counts.
CHILD = """
import json, re, sys
from pathlib import Path
import numpy as np, riemdp as rd
records, ids = (np.load(path, mmap_mode="r") for path in sys.argv[1:])
ball = rd.Ball(rd.SPDLogEuclidean(3), np.eye(3), 2.0)
def mean(n):
    groups = None if ids.shape == (1,) else ids[:n]
    rd.private_mean(records[:n], ball, rd.GDP(1.0), statistic="tangent-mean", groups=groups)
def kilobytes(which):
    return int(re.search(which + ":\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
mean(100_000)
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = kilobytes("VmRSS")
mean(len(records))
print(json.dumps(1024 * (kilobytes("VmHWM") - before)))
"""


def matrices(n: int, rng: np.random.Generator) -> Any:
    """Some thousand matrices, again and again."""
    return np.resize(rd.SPDAffine(3).random_point(4096, rng), (n, 3, 3))


def times(records: int, people: int, budget: float) -> dict[str, float]:
    """Median seconds without groups, and with ids of each type."""
    rng = np.random.default_rng(0)
    X, who = matrices(records, rng), rng.integers(0, people, records)
    ids = {name: make(who) for name, make in IDS.items()}
    runs: dict[str, Any] = {"records": lambda: rd.private_mean(X, BALL, CLAIM)}
    runs |= {name: lambda some=some: rd.private_mean(X, BALL, CLAIM, groups=some) for name, some in ids.items()}
    return {name: found.seconds for name, found in interleaved(runs, budget, 15).items()}


def peak(n: int, people: int | None, folder: Path) -> int:
    """Bytes at most, of a fresh process, beyond those of a small mean; without groups if there are no people."""
    rng = np.random.default_rng(1)
    np.save(folder / "X.npy", matrices(n, rng))
    np.save(folder / "ids.npy", rng.integers(0, people, n) if people else np.zeros(1))
    command = [sys.executable, "-c", CHILD, str(folder / "X.npy"), str(folder / "ids.npy")]
    return int(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def growth(sizes: tuple[int, ...], share: float | None) -> dict[str, float]:
    """Peak megabytes by number of records, and bytes for each record more; so many people for each record, or fixed."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = {n: peak(n, None if share is None else round(share * n), Path(folder)) for n in sizes}
    per_record = (peaks[sizes[-1]] - peaks[sizes[0]]) / (sizes[-1] - sizes[0])
    return {f"{n:.0e} records, MB": peaks[n] / 1e6 for n in sizes} | {"bytes a record": per_record}


def main() -> None:
    """A table of each; exit code 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    seconds = times(RECORDS // 10, PEOPLE // 10, 5.0) if quick else times(RECORDS, PEOPLE, 40.0)
    ratios = {name: found / seconds["records"] for name, found in seconds.items()}
    sizes = tuple(n // 4 for n in SIZES) if quick else SIZES
    memory = {"records": growth(sizes, None), "10 records each": growth(sizes, 0.1)}
    for name, ratio in ratios.items():
        print(f"{name:>16}: {seconds[name]:.2f} s, {ratio:.2f} times")
    for name, row in memory.items():
        print(f"{name:>16}: " + ", ".join(f"{key} {value:.1f}" for key, value in row.items()))
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"seconds": seconds, "ratios": ratios, "memory": memory}, indent=1)
        (RESULTS / "groups.json").write_text(text + "\n")
    missed = max(ratios.values()) > LIMIT_TIME or memory["10 records each"]["bytes a record"] > LIMIT_BYTES
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
