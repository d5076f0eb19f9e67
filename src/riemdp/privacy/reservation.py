"""The one place where the private values of a release meet noise: `Reservation.draw`, once for each of its stages.

sensitivity -> scale -> guarantee (all public) -> reserve -> draw -> Release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.accounting.unit import RECORD
from riemdp.errors import InputError
from riemdp.privacy.ledger import Ledger

V = TypeVar("V")
V_contra = TypeVar("V_contra", contravariant=True)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ENTROPY = "the operating system's random bits are uniform and secret"


class Law(Protocol[V_contra, T_co]):
    """A random publication around a private value, with the guarantee that its maker has proved."""

    def draw(self, value: V_contra, /) -> T_co:
        """One draw around the value, from the operating system's bits."""


@dataclass(frozen=True)
class Reservation:
    """What `reserved` hands out: noise of a release is drawn under one, so never before it is paid for."""

    guarantee: Guarantee
    unit: str = RECORD  # what it protects
    entry: int | None = None  # of the ledger

    def draw(self, value: Callable[[], V], law: Law[V, T]) -> T:
        """A draw from the law around the private value, which is not kept; a warning would tell something about it."""
        with np.errstate(all="ignore"):
            return law.draw(value())


@contextmanager
def reserved(
    guarantee: Guarantee, what: str, ledger: Ledger | None, note: str = "", unit: str = RECORD
) -> Iterator[Reservation]:
    """Reserve durably before what follows, confirm after it; what fails in between stays spent.

    The ledger's description says what is released, and in the caller's note of which data.
    """
    if not isinstance(note, str):
        raise InputError(f"note = {note!r} is no text: say in a few words which data these are.")
    entry = ledger.reserve(guarantee, f"{what}: {note}" if note else what, unit=unit) if ledger else None
    yield Reservation(guarantee, unit, entry)
    if ledger and entry is not None:
        ledger.confirm(entry)
