"""Files that are written whole or not at all, and read with one sentence about what is wrong."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from riemdp.errors import InputError


def write_whole(path: str | Path, content: bytes, *, readers: int = 0o644, force: bool = False) -> None:
    """Write a file beside its place and move it there in one step, over another one only with `force`.

    `readers` are its permissions.
    """
    try:
        target = Path(path)
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"path = {str(path)!r} cannot be written ({error}): pass another.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, readers)
        _move(draft, target, force=force)
    except FileExistsError:
        raise InputError(f"path = {str(path)!r} exists already: pass another, or force=True to replace it.") from None
    except OSError as error:
        raise InputError(f"path = {str(path)!r} cannot be written ({error}): pass another.") from None
    finally:
        Path(draft).unlink(missing_ok=True)


def _move(draft: str, target: Path, *, force: bool) -> None:
    """Give the file its name in one step; a link, unlike a move, never takes the place of another file."""
    if force:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError from None
        os.replace(draft, target)  # a disk without links


def read_json(path: str | Path, writer: str) -> Any:
    """The data in a JSON file, which `writer` should have written."""
    try:
        return json.loads(Path(path).read_bytes())
    except (OSError, TypeError) as error:
        raise InputError(f"path = {str(path)!r} cannot be read ({error}): pass a file that {writer} wrote.") from None
    except (ValueError, RecursionError):
        raise InputError(f"path = {str(path)!r} is not JSON: pass a file that {writer} wrote.") from None
