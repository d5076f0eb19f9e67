"""Files that are written whole or not at all, and read with one sentence about what is wrong."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import MISSING, dataclass, fields
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


def check_target(path: str | Path, ending: str, *, force: bool, instead: str) -> None:
    """Raise an InputError unless the path has this ending and, if not forced, nothing is there yet."""
    try:
        target = Path(path)
        exists = os.path.lexists(target)
    except (TypeError, ValueError) as error:
        raise InputError(f"path = {path!r} cannot be written ({error}): pass another.") from None
    if target.suffix.lower() != ending:
        raise InputError(f"path = {str(path)!r}: pass a name that ends in {ending}; {instead}.")
    if exists and not force:
        raise InputError(f"path = {str(path)!r} exists already: pass another name, or force=True to replace it.")


@dataclass(frozen=True)
class Format:
    """What a saved file says of itself: its kind, and the number of its format; files without one are of format 0.

    A field that a later format adds has a default in its dataclass: that is what older files mean by leaving it out.
    """

    kind: str
    number: int
    writer: str

    def stamp(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data, with what they are in front."""
        return {"riemdp": self.kind, "format": self.number} | data

    def opened(self, data: Any) -> dict[str, Any]:
        """The data without the stamp; an InputError if they are of another kind, or of a format to come."""
        if not isinstance(data, dict) or data.get("riemdp") != self.kind:
            raise InputError(f"the data are not those of a {self.kind}: pass what {self.writer} wrote.")
        number = data.get("format", 0)
        if type(number) is not int or number < 0:
            raise InputError(f"format = {number!r} is not that of a {self.kind}: pass what {self.writer} wrote.")
        if number > self.number:
            raise InputError(f"the {self.kind} was written by a newer riemdp (format {number}): upgrade riemdp.")
        return {name: value for name, value in data.items() if name not in ("riemdp", "format")}

    def fields_of(self, data: Any, record: type, name: str) -> dict[str, Any]:
        """The fields of a dataclass, those with a default if they are there; an InputError that names what is wrong."""
        if not isinstance(data, dict):
            raise InputError(f"{name} is not an object of named fields: pass what {self.writer} wrote.")
        known = {field.name: field for field in fields(record)}
        needed = [f.name for f in known.values() if f.default is MISSING and f.default_factory is MISSING]
        if missing := [field for field in needed if field not in data]:
            raise InputError(f"{name} has no {missing[0]}: pass what {self.writer} wrote.")
        if strange := [field for field in data if field not in known]:
            raise InputError(f"{name} has no field {str(strange[0])[:40]!r}: pass what {self.writer} wrote.")
        return data


def read_json(path: str | Path, writer: str) -> Any:
    """The data in a JSON file, which `writer` should have written."""
    try:
        return json.loads(Path(path).read_bytes())
    except (OSError, TypeError) as error:
        raise InputError(f"path = {str(path)!r} cannot be read ({error}): pass a file that {writer} wrote.") from None
    except (ValueError, RecursionError):
        raise InputError(f"path = {str(path)!r} is not JSON: pass a file that {writer} wrote.") from None
