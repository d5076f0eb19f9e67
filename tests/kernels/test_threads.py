"""Row ranges in threads: in order, independent of their number, safe to nest, to fork and to share."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import riemdp as rd
from riemdp.kernels import spectral, threads

TIMEOUT = 120


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    environ = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_results_come_in_order_and_cover_every_row():
    ranges = threads.map_ranges(lambda i, j: (i, j), 1003, 10)
    assert [j for _, j in ranges[:-1]] == [i for i, _ in ranges[1:]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 1003)


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("RIEMDP_NUM_THREADS", "3")
    assert threads.thread_count() == 3
    for nonsense in ("0", "-1", "many", ""):
        monkeypatch.setenv("RIEMDP_NUM_THREADS", nonsense)
        assert threads.thread_count() >= 1


def test_an_error_in_a_task_reaches_the_caller():
    def fail(i, j):
        raise rd.InputError(f"rows {i} to {j}")

    with pytest.raises(rd.InputError, match="rows 0 to 10"):
        threads.map_ranges(fail, 100, 10)


def test_of_several_errors_the_first_in_order_counts():
    def fail_late(i, j):
        if i >= 20:
            time.sleep(0.02 if i == 20 else 0.0)
            raise rd.InputError(f"rows {i} to {j}")

    for _ in range(10):
        with pytest.raises(rd.InputError, match="rows 20 to 30"):
            threads.map_ranges(fail_late, 100, 10)


def test_an_interrupt_ends_it_and_begins_nothing_new():
    begun = []

    def interrupt(i, j):
        begun.append(i)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        threads.map_ranges(interrupt, 1000, 1)
    count = len(begun)
    time.sleep(0.2)
    assert len(begun) == count < 100


def test_callers_that_find_the_pool_busy_do_the_work_themselves(monkeypatch):
    monkeypatch.setenv("RIEMDP_NUM_THREADS", "2")
    release = threading.Event()
    try:
        for _ in range(8):
            threads._pool().submit(release.wait, TIMEOUT)
        assert threads.map_ranges(lambda i, j: j - i, 100, 10) == [10] * 10
    finally:
        release.set()


def test_tasks_may_call_batched_functions_themselves():
    """Nested ranges run in the task's own thread: waiting for the pool from inside it would never end."""
    a = np.tile(np.eye(5), (8192, 1, 1))

    def outer():
        return threads.map_ranges(lambda i, j: spectral.eigh(a[i:j])[0].sum(), len(a), 2048)

    worker = threading.Thread(target=lambda: results.extend(outer()), daemon=True)
    results: list[float] = []
    worker.start()
    worker.join(60)
    assert results == [5.0 * 2048] * 4


BITS = """
import hashlib, numpy as np, riemdp as rd
from riemdp.kernels import spectral
digest = hashlib.sha256()
for k, n in ((2, 33_000), (3, 10_007), (9, 401), (12, 160), (30, 40)):
    x = rd.SPDAffine(k).random_point(n, k)
    for result in (*spectral.eigh(x), spectral.sum_logs(x).total, spectral.sum_logs(x, np.tri(k)).total):
        digest.update(result.tobytes())
    for space in (rd.SPDAffine(k), rd.SPDLogEuclidean(k)):
        digest.update(rd.frechet_mean(x, space, tol=1e-8).point.tobytes())
for space in (rd.Sphere(3), rd.Hyperbolic(2), rd.KendallShapes(6), rd.Euclidean(4)):
    digest.update(rd.frechet_mean(space.random_point(10_007, 0), space).point.tobytes())
print(digest.hexdigest())
"""


def test_results_are_the_same_bits_with_one_two_and_three_threads():
    assert len({run(BITS, RIEMDP_NUM_THREADS=count) for count in ("1", "2", "3")}) == 1


FORK = """
import os, sys, numpy as np, riemdp as rd
space = rd.SPDLogEuclidean(3)
x = space.random_point(30_000, 0)
before = rd.frechet_mean(x, space).point
child = os.fork()
if child == 0:
    same = (rd.frechet_mean(x, space).point == before).all()
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_computes_like_its_parent():
    run(FORK)


def test_several_python_threads_may_compute_at_once():
    spaces = [rd.SPDAffine(3), rd.SPDLogEuclidean(4), rd.SPDAffine(30), rd.KendallShapes(5)]
    data = [space.random_point(6000 if space.dim < 20 else 60, 0) for space in spaces]
    jobs = list(zip(data, spaces, strict=True)) * 3

    def compute(job):
        return rd.frechet_mean(*job, tol=1e-8)

    alone = [compute(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(compute, jobs))
    for (_, space), a, b in zip(jobs, alone, together, strict=True):
        assert space.dist(a.point, b.point) <= a.error_bound + b.error_bound


BLAS = """
from concurrent.futures import ThreadPoolExecutor
from threadpoolctl import threadpool_info
import numpy
from riemdp.kernels.threads import one_blas_thread

def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

before, limit = blas_threads(), one_blas_thread()
with ThreadPoolExecutor(1) as other:
    other.submit(limit.__enter__).result()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        other.submit(limit.__exit__, None, None, None).result()
    assert blas_threads() == before
"""


def test_the_threads_of_blas_are_given_back_whichever_thread_leaves_last():
    run(BLAS)
