"""What no input may make the library do, seen by the interpreter's own audit events (PEP 578)."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORBIDDEN = {
    "pickle.find_class", "marshal.loads", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "subprocess.Popen", "socket.connect", "socket.getaddrinfo", "urllib.Request", "webbrowser.open",
}  # fmt: skip
# Importing a module reads and unmarshals its own file.
_IMPORTING = {"importlib._bootstrap_external", "importlib._bootstrap", "zipimport"}
_SYSTEM = ("/proc", "/sys", "/dev/urandom", "/dev/null")
_OWN = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *filter(None, sys.path), *_SYSTEM]
_ALLOWED = tuple({os.path.realpath(place) for place in _OWN})

_seen: list[str] | None = None
_allowed: tuple[str, ...] = ()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    if event in FORBIDDEN and not _is_importing():
        _seen.append(f"{event} {arguments!r:.200}")
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        place = os.path.realpath(os.fsdecode(arguments[0]))
        if not place.startswith(_allowed):
            _seen.append(f"open {place}")


def _is_importing() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") in _IMPORTING:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


sys.addaudithook(_hook)


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Complain about whatever is forbidden, and about files that are opened outside the folder."""
    global _seen, _allowed
    _allowed = (os.path.realpath(folder), *_ALLOWED)
    _seen, seen = [], _seen
    try:
        yield
        found = list(_seen)
    finally:
        _seen = seen
    assert not found, f"an input made the library do this: {'; '.join(found)}"


def new_folder() -> Path:
    """A place for one process's files, in memory where there is such a place."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="riemdp-fuzz-", dir=memory if os.access(memory, os.W_OK) else None))
