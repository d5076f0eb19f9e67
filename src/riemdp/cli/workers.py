"""Who computes: this process, processes of this machine (--workers) or a cluster (--scheduler), through Dask.

The noise and the ledger stay here in any case: workers send sums over blocks of records, and nothing else.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import resource_tracker
from typing import Any

from riemdp.cli import options as o
from riemdp.cli.spending import interrupted_later, uninterrupted
from riemdp.errors import InputError, RiemdpError
from riemdp.io.stores import INSTALL

PATIENCE = 30  # seconds for a scheduler to answer, and to have workers
PACKAGES = ("riemdp", "numpy", "scipy", "numba")  # which must be the same everywhere, for the same bits


@dataclass(frozen=True)
class Workers:
    """What --workers and --scheduler ask for; nothing is started yet."""

    workers: o.WorkersOption = None  # how many
    scheduler: o.SchedulerOption = None  # where

    def __post_init__(self) -> None:
        if self.workers is not None and self.scheduler is not None:
            raise InputError("--workers starts processes here, --scheduler uses those of a cluster: pass one of them.")
        if self:
            _require_dask("--workers" if self.scheduler is None else "--scheduler")

    def __bool__(self) -> bool:
        return self.workers is not None or self.scheduler is not None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A context in which Dask computes on these workers."""
        if not self:
            yield
            return
        import dask

        client = None
        try:
            if self.scheduler is not None:
                client = _client_of(self.scheduler)
            else:
                with _deaf_children():
                    client = client_here(self.workers)
            with dask.config.set(scheduler=client), _losses_in_one_sentence(), _no_clocks():
                yield
        finally:
            with uninterrupted(), suppress(Exception):  # whatever happens to the workers now, what they did is done
                if client is not None:
                    client.close()


def _require_dask(option: str) -> None:
    try:
        import_module("distributed")
        import_module("dask.array")
    except ImportError:
        raise InputError(f"{option} needs Dask: {INSTALL}.") from None


@contextmanager
def _losses_in_one_sentence() -> Iterator[None]:
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except (KilledWorker, CancelledError, CommClosedError):
        text = "workers were lost again and again: give them more memory; a reservation that was made stays counted."
        raise RiemdpError(text) from None


def client_here(count: int | None) -> Any:
    """Processes of this machine, of one thread each: the kernels keep a processor busy."""
    import dask
    from distributed import Client

    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": "CRITICAL"}
    with dask.config.set({"distributed.nanny.pre-spawn-environ": _environment()}):
        return Client(n_workers=count, set_as_default=False, **how)


@contextmanager
def _no_clocks() -> Iterator[None]:
    """Without Dask's clocks on the garbage collector: Ctrl-C during a collection is raised in them, and lost there."""
    clocks = [call for call in gc.callbacks if call.__module__.startswith("distributed")]
    for clock in clocks:
        gc.callbacks.remove(clock)
    try:
        yield
    finally:
        gc.callbacks.extend(clocks)  # Dask takes them off itself


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that start within it never hear Ctrl-C: this one does, at the end, and stops the others."""
    with interrupted_later():
        if not hasattr(signal, "pthread_sigmask"):  # where terminals interrupt otherwise
            yield
            return
        resource_tracker.ensure_running()  # whoever starts it unblocks the signal, so not later
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _environment() -> dict[str, str]:
    """Dask's own, but workers keep the memory of a block for the next: to give it back takes as long as to use it."""
    import dask

    usual: dict[str, str] = dask.config.get("distributed.nanny.pre-spawn-environ")
    return usual | {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}


def _client_of(address: str) -> Any:
    """A cluster that runs already, with workers of the same software."""
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError):
        raise InputError(f"--scheduler {address}: no scheduler answers there; start one by dask scheduler.") from None
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        _require_same_software(client.run(_versions))
    except TimeoutError:
        client.close()
        raise InputError(f"--scheduler {address} has no workers: start some with dask worker {address}.") from None
    except BaseException:
        client.close()
        raise
    return client


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    try:
        return str(import_module(name).__version__)
    except ImportError:
        return "no version"


def _require_same_software(found: dict[str, dict[str, str]]) -> None:
    here = _versions()
    for worker, there in found.items():
        for name in PACKAGES:
            if there[name] != here[name]:
                text = f"worker {worker} has {name} {there[name]}, but here it is {here[name]}: install the same one."
                raise InputError(text)
