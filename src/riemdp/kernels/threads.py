"""Row ranges in threads. The ranges depend on the data's size alone, so results do not depend on the threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")

WORKER = "riemdp-worker"

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
        _pools[os.getpid()] = ThreadPoolExecutor(thread_count(), thread_name_prefix=WORKER)
    return _pools[os.getpid()]


def map_ranges(task: Callable[[int, int], T], n: int, grain: int) -> list[T]:
    """[task(0, grain), task(grain, 2 grain), ...] up to n, in order; a task that calls this runs its own part."""
    ranges = [(start, min(start + grain, n)) for start in range(0, n, grain)]
    if len(ranges) == 1 or thread_count() == 1 or threading.current_thread().name.startswith(WORKER):
        return [task(*r) for r in ranges]
    # Each task in a copy of the caller's context: NumPy keeps there whether to warn.
    return list(_pool().map(lambda c, r: c.run(task, *r), [copy_context() for _ in ranges], ranges))


_blas_limit = threading.Lock()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS from starting threads of its own, unless a limit is set already.

    The limit holds for the whole process, and only the thread that set it can lift it. So one thread at a time
    holds it; a thread that finds it taken, by another or by itself, goes on without.
    """
    if not _blas_limit.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _blas_limit.release()
