"""Row ranges in threads. The ranges depend on the data's size alone, so results do not depend on the threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_pools: dict[int, ThreadPoolExecutor] = {}


def thread_count() -> int:
    """Threads used: the environment variable RIEMDP_NUM_THREADS, else the processors this process may use."""
    asked = os.environ.get("RIEMDP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    # Keyed by process: a forked child must not wait for threads that only its parent has.
    if os.getpid() not in _pools:
        _pools.clear()
        _pools[os.getpid()] = ThreadPoolExecutor(thread_count(), thread_name_prefix="riemdp")
    return _pools[os.getpid()]


def map_ranges(task: Callable[[int, int], T], n: int, grain: int) -> list[T]:
    """[task(0, grain), task(grain, 2 grain), ...] up to n, in order; the tasks must not call this again."""
    ranges = [(start, min(start + grain, n)) for start in range(0, n, grain)]
    if len(ranges) == 1 or thread_count() == 1:
        return [task(*r) for r in ranges]
    return list(_pool().map(lambda r: task(*r), ranges))
