"""Ctrl-C: what it leaves spent, what it does not, and when it has to wait."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from riemdp.accounting.guarantee import Guarantee
from riemdp.pages import short
from riemdp.privacy.ledger import Ledger


class WatchedLedger(Ledger):
    """A ledger that remembers what was asked of it, for whoever is interrupted."""

    is_asked = False
    entry: int | None = None

    def reserve(self, *arguments: Any, **options: Any) -> int:
        """Reserve as a Ledger does; an interrupt within leaves open whether the reservation was made."""
        self.__dict__["is_asked"] = True
        self.__dict__["entry"] = entry = super().reserve(*arguments, **options)
        return entry


def spent_without_release(guarantee: Guarantee, ledger: WatchedLedger | None) -> str:
    """What an interrupt left behind before there was a release."""
    if ledger is None:
        return "nothing was released; there is no ledger in which anything could be spent."
    if ledger.entry is not None:
        reserved = f"{short(guarantee)} was reserved, entry {ledger.entry} of {ledger.path}, and stays spent"
        return f"nothing was released; {reserved}."
    if ledger.is_asked:
        return f"nothing was released; riemdp ledger show {ledger.path} tells whether {short(guarantee)} was reserved."
    return f"nothing was released, and nothing of {ledger.path} was spent."


@contextmanager
def uninterrupted(handler: Any = signal.SIG_IGN) -> Iterator[None]:
    """Within it Ctrl-C is not heard, so that what was paid for is not lost."""
    before = None
    with suppress(ValueError):  # only the main thread is ever interrupted
        before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Within it Ctrl-C waits: it is heard at the end."""
    came: list[int] = []
    with uninterrupted(lambda number, _: came.append(number)):
        yield
    if came:
        raise KeyboardInterrupt
