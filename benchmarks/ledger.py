"""Seconds of a reservation in a ledger that holds very many, and of opening it. `python benchmarks/ledger.py`.

All entries differ. The limit is 0.1 s for each reservation at 10,000 entries of any kind, durable commit included;
also for the first one of a process, which opens the ledger and goes on from the count that some entry states: the
median of several new processes, by the clock and in processor time. Counting all entries anew is stated beside it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import riemdp as rd

LIMIT = 0.1
NEW_PROCESSES = 7
FIRST = """
import sys, time, riemdp as rd
asked = eval("rd." + sys.argv[2])
clock, processor = time.perf_counter(), time.process_time()
rd.Ledger(sys.argv[1]).reserve(asked)
print(time.perf_counter() - clock, time.process_time() - processor)
"""


def mixed(k: int) -> rd.Guarantee:
    """Five kinds in turn, none twice the same."""
    size = 1e-4 + k * 1e-9
    kinds = (rd.PureDP(size), rd.GDP(size), rd.ZCDP(size**2), rd.RDP(64.0, 64 * size**2), rd.ApproxDP(size, 1e-12))
    return kinds[k % 5]


LEDGERS: dict[str, tuple[rd.Guarantee, Callable[[int], rd.Guarantee]]] = {
    "pure, pure budget": (rd.PureDP(1e6), lambda k: rd.PureDP(1e-3 + k * 1e-9)),
    "pure and GDP, GDP budget": (rd.GDP(1e3), lambda k: (rd.PureDP, rd.GDP)[k % 2](1e-3 + k * 1e-9)),
    "pure, (epsilon, delta) budget": (rd.ApproxDP(1.0, 1e-6), lambda k: rd.PureDP(1e-3 + k * 1e-9)),
    "pure and GDP, (epsilon, delta) budget": (
        rd.ApproxDP(1.0, 1e-6),
        lambda k: (rd.PureDP, rd.GDP)[k % 2](5e-4 + k * 1e-9),
    ),
    "five kinds, (epsilon, delta) budget": (rd.ApproxDP(1.0, 1e-6), mixed),
}


def measure(name: str, entries: int, folder: Path) -> list[str]:
    """A row: the last tenth of the reservations, the first one of a new process, and counting all anew."""
    budget, entry = LEDGERS[name]
    path, times = folder / f"{len(os.listdir(folder))}.db", []
    ledger = rd.Ledger(path, budget)
    for k in range(entries):
        start = time.perf_counter()
        ledger.reserve(entry(k))
        times.append(time.perf_counter() - start)
    late = times[-max(1, entries // 10) :]
    clock, processor = zip(*(first_of_a_process(path, entry(entries + k)) for k in range(NEW_PROCESSES)), strict=True)
    start = time.perf_counter()
    ledger.recount()
    anew = time.perf_counter() - start
    worst = max(statistics.median(late), statistics.median(clock))
    figures = [statistics.median(late), max(late), statistics.median(clock), statistics.median(processor)]
    return [name, *(f"{figure:.4f}" for figure in figures), f"{anew:.2f}", "yes" if worst < LIMIT else "NO"]


def first_of_a_process(path: Path, guarantee: rd.Guarantee) -> tuple[float, float]:
    """Seconds by the clock and of the processor until a new process, riemdp imported, has opened and reserved."""
    command = [sys.executable, "-c", FIRST, str(path), repr(guarantee)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    clock, processor = map(float, done.stdout.split())
    return clock, processor


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--entries", type=int, default=10_000)
    entries = parser.parse_args().entries
    names = ("median (s)", "largest (s)", "first of a process (s)", "of it processor (s)", "count anew (s)")
    table = Table("entries and budget", *names, f"below {LIMIT} s", box=MARKDOWN)
    with tempfile.TemporaryDirectory() as folder:
        for name in LEDGERS:
            table.add_row(*measure(name, entries, Path(folder)))
    Console(width=140).print(f"The last tenth of {entries:,} reservations, each committed durably.", table, sep="\n")


if __name__ == "__main__":
    main()
