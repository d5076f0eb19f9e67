"""Exact normals, rounded once: ours beside OpenDP's. `python benchmarks/noise.py`.

Both release a vector plus Gaussian noise on a grid, from the operating system's bits, without floating-point noise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from measure import interleaved
from riemdp.exact_normals import add_normals
from riemdp.privacy.noise import _rounded_once, grid_step
from riemdp.randomness import normals

sys.path.append(str(Path(__file__).parent))
from release import opendp_gaussian

WANTED = 1e6  # a second, on one core


def contestants(size: int) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    values, scale = np.zeros(size), 0.7
    found: dict[str, Callable[[], Any]] = {
        "digits, compiled": lambda: add_normals(values, scale, grid_step(scale)),
        "ball arithmetic": lambda: _rounded_once(values, scale, grid_step(scale), normals),
    }
    peer = opendp_gaussian(values, scale)
    return found if peer is None else found | {"OpenDP": peer}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run each: tests this script")
    runs = 1 if parser.parse_args().quick else 5
    add_normals(np.zeros(100), 1.0, grid_step(1.0))  # loads compiled code: not counted
    shown = Table("numbers", "by", "a second", "", box=MARKDOWN)
    for size in (1000, 10_000, 140_000):
        for name, timing in interleaved(contestants(size), 4.0, runs).items():
            rate = size / timing.seconds
            verdict = ("pass" if rate >= WANTED else "FAIL") if name == "digits, compiled" else ""
            shown.add_row(f"{size:,}", name, f"{rate:,.0f}", verdict)
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()
