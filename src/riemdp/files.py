"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from riemdp.errors import InputError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file beside its place and move it there in one step."""
    try:
        target = Path(path)
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"path = {path!r} cannot be written ({error}): pass another.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, target)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise InputError(f"path = {path!r} cannot be written ({error}): pass another.") from None
