"""Row ranges in threads. The ranges depend on the data's size alone, so results do not depend on the threads."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
AHEAD = 4  # tasks

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
    """[task(0, grain), task(grain, 2 grain), ...] up to n, in order; a task that calls this runs its own part."""
    ranges = _ranges(n, grain)
    if _one_by_one(ranges):
        return [task(*r) for r in ranges]
    return _Shared(task, ranges).results()


def each_range(task: Callable[[int, int], T], n: int, grain: int) -> Iterator[T]:
    """The results of `map_ranges`, one by one; what is still waiting when the caller stops is never begun."""
    ranges = _ranges(n, grain)
    if _one_by_one(ranges):
        return (task(*r) for r in ranges)
    return _a_few_ahead(task, ranges)


def _a_few_ahead(task: Callable[[int, int], T], ranges: list[tuple[int, int]]) -> Iterator[T]:
    """No more results than AHEAD for each thread wait for a caller who is slower than the threads."""
    waiting: deque[Future[T]] = deque()
    try:
        for start, stop in ranges:
            # In a copy of the caller's context: NumPy keeps there whether to warn.
            waiting.append(_pool().submit(copy_context().run, _in_this_thread, task, start, stop))
            if len(waiting) >= AHEAD * thread_count():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for unwanted in waiting:
            unwanted.cancel()


def _ranges(n: int, grain: int) -> list[tuple[int, int]]:
    return [(start, min(start + grain, n)) for start in range(0, n, grain)]


def _one_by_one(ranges: list[tuple[int, int]]) -> bool:
    return len(ranges) == 1 or thread_count() == 1 or _alone.get()


class _Shared(Generic[T]):
    """Ranges that are taken, one after the other, by whoever is free.

    The caller takes part: it is awake already, while two threads that are woken at once may have to share a processor
    for milliseconds.
    """

    def __init__(self, task: Callable[[int, int], T], ranges: list[tuple[int, int]]) -> None:
        self._task, self._count, self._waiting = task, len(ranges), deque(enumerate(ranges))
        self._done: dict[int, T] = {}
        self._failed: dict[int, Exception] = {}

    def results(self) -> list[T]:
        """All of them, in order, or the error of the first range that has one."""
        others = min(thread_count(), self._count) - 1
        helpers = [_pool().submit(copy_context().run, self._work) for _ in range(others)]
        try:
            copy_context().run(self._work)
        finally:
            self._waiting.clear()
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._done[i] for i in range(self._count)]

    def _work(self) -> None:
        _alone.set(True)  # in a context of its own
        while self._waiting:
            try:
                i, limits = self._waiting.popleft()
            except IndexError:  # somebody else was faster
                return
            try:
                self._done[i] = self._task(*limits)
            except Exception as error:  # raised again by `results`
                self._failed[i] = error
                self._waiting.clear()


_alone: ContextVar[bool] = ContextVar("riemdp_alone", default=False)


@contextmanager
def this_thread_only() -> Iterator[None]:
    """Within it ranges start no threads: the caller is one of several workers already."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def _in_this_thread(task: Callable[[int, int], T], start: int, stop: int) -> T:
    with this_thread_only():
        return task(start, stop)


@dataclass
class _BlasLimit:
    """How many callers want BLAS to stay with one thread, and how to give the others back."""

    callers: int = 0
    limit: Any = None


_blas, _blas_lock = _BlasLimit(), threading.Lock()
if hasattr(os, "register_at_fork"):
    # Else a child might wait for a thread that only its parent has. If others computed when it was born, it keeps the
    # limit that nobody is left to lift.
    os.register_at_fork(
        before=_blas_lock.acquire, after_in_parent=_blas_lock.release, after_in_child=_blas_lock.release
    )


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS from starting threads of its own.

    The limit holds for the whole process: the first caller sets it, the last to leave lifts it.
    """
    with _blas_lock:
        if _blas.callers == 0:
            _blas.limit = _controller().limit(limits=1, user_api="blas")
        _blas.callers += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas.callers -= 1
            if _blas.callers == 0:
                _lift(_blas.limit)


def _lift(limit: Any) -> None:
    """Give BLAS its threads back; threadpoolctl would listen only to the thread that took them, or to none at all."""
    for act in (_disown, limit.restore_original_limits, _disown):
        act()


def _disown() -> None:
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # not in older versions, which listen to all
            library.clear_controlling_thread(force=True)
