"""Where the chance of releases comes from: the operating system's bits, or in a simulation a seeded generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from riemdp.privacy.reservation import Reservation
from riemdp.releases.drawn import Drawn
from riemdp.statistics.base import ReleaseLaw
from riemdp.statistics.quantile import RadiusLaw


class Chance(Protocol):
    """Draws of the two kinds that adaptation makes."""

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """A private mean of the records."""

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A private radius, by its place in the list, from the numbers of records outside each."""


@dataclass(frozen=True)
class Exact:
    """Chance of a release: the operating system's bits, once it is paid for."""

    paid: Reservation

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """The ideal mechanism, rounded once."""
        return self.paid.draw(lambda: law.value(records), law)

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A step of the radius by exact noise, paid for."""
        return self.paid.draw(outside, law)


@dataclass(frozen=True)
class Seeded:
    """Chance of a simulation: a seeded generator, never for a release."""

    rng: np.random.Generator

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """One draw in float64, by the simulation's generator."""
        return law.simulated(law.value(records), self.rng, 1)

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A step of the radius in float64, by the simulation's generator."""
        return law.simulate(outside(), self.rng)
