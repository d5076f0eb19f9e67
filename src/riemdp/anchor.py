"""A file outside a ledger that keeps its digests: a ledger that was put back to an older state then shows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from riemdp.errors import InputError, one_line

_LINE = re.compile(r"\d{1,15} [0-9a-f]{64}")
_ALL = re.compile(rf"(?:{_LINE.pattern}\r?\n)*(?:{_LINE.pattern})?")  # at once, for a ledger may have very many
_ELSEWHERE = "for a new anchor would not show what happened before"


@dataclass(frozen=True)
class Anchor:
    """Lines of an entry's number and digest, added one by one, of which the highest number counts.

    Several processes may add to it, in any order. It is worth as much as it is out of the reach of whoever could
    put back the ledger: on another machine, on paper, in an append-only store.
    """

    path: Path

    @classmethod
    def at(cls, path: str | Path, ledger: Path) -> Anchor:
        """The anchor in that file, which may be new; anything but an anchor is an InputError."""
        try:
            place = Path(path).resolve()
            same = place == ledger or (place.exists() and ledger.exists() and place.samefile(ledger))
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            raise InputError(f"anchor = {path!r} is no name of a file ({one_line(error)}): pass one.") from None
        if same:
            raise InputError(f"anchor = {str(path)!r} is the ledger itself: pass another file, out of its reach.")
        found = cls(place)
        found.last()
        if not os.access(place if place.exists() else place.parent, os.W_OK):
            raise InputError(f"the anchor {place} cannot be written: make it and its folder writable.")
        return found

    @staticmethod
    def line(number: int, digest: str) -> str:
        """An entry as the anchor keeps it."""
        return f"{number} {digest}"

    def last(self) -> tuple[int, str] | None:
        """Number and digest of the latest entry that was added; None before the first."""
        try:
            text = self.path.read_text("ascii") if self.path.exists() else ""
        except (OSError, UnicodeError) as error:
            problem = f"the anchor {self.path} cannot be read ({one_line(error)})"
            raise InputError(f"{problem}: mend that, {_ELSEWHERE}.") from None
        if not _ALL.fullmatch(text):
            place = [bool(_LINE.fullmatch(line)) for line in [*text.splitlines(), ""]].index(False) + 1
            raise InputError(f"the anchor {self.path} has no digest in line {place}: pass the file that --anchor made.")
        words = text.split()
        return max(zip(map(int, words[::2]), words[1::2], strict=True), default=None)

    def add(self, number: int, digest: str) -> None:
        """Add an entry; it is on the disk when this returns."""
        self._append(f"{self.line(number, digest)}\n")

    def _append(self, text: str) -> None:
        """Write the text at the end of the file at once, so that lines of several processes do not mix."""
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, text.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            problem = f"the anchor {self.path} cannot be written ({one_line(error)})"
            raise InputError(f"{problem}: make it writable, {_ELSEWHERE}.") from None
