"""The distribution of privacy losses that add up, on a lattice: the work for one more does not grow with their number.

Every step spreads the losses, never gathers them: what is computed is never less than the truth
(docs/proofs/guarantees.md, section 4.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.curves import gaussian_curve
from riemdp.arithmetic import decimal, round_up

Array = NDArray[np.float64]

CELLS = 1800  # lattice steps in a budget's epsilon; tenths, percents and thirds of it lie on the lattice
SIZE = 3 * CELLS + 1  # losses from -epsilon to 2 epsilon
NODES = 15  # lattice steps between the losses at which a normal curve is evaluated, if there are many
FEW = SIZE // NODES
SLANT = 1 + 2.0**-36  # by which weights of larger losses grow, so that errors of exp cannot make a loss smaller


@dataclass(frozen=True, eq=False)
class Lattice:
    """The distribution of the privacy loss of PureDP steps, on multiples of epsilon/cells.

    What lies between two of them is divided among them with the mean of e^-loss kept: a spread, which can only make
    the data easier to tell apart. So is what lies above the last one, between it and `lost`; what lies below the
    first is moved up to it.
    """

    cells: int
    per_unit: Fraction  # cells/epsilon
    step: float  # about epsilon/cells
    masses: Array = field(repr=False)
    lost: float = 0.0  # probability of an infinite loss

    @classmethod
    def empty(cls, epsilon: Fraction, cells: int) -> Lattice:
        """The law of a loss that is 0 for certain."""
        masses = np.zeros(SIZE)
        masses[CELLS] = 1.0
        return cls(cells, cells / epsilon, float(epsilon / cells), masses)

    def plus(self, epsilon: Fraction) -> Lattice:
        """The law of the loss with an independent one of +-epsilon added."""
        steps, part = divmod(epsilon * self.per_unit, 1)
        if steps + 1 >= SIZE or not self.step > 1e-300:
            return replace(self, masses=np.zeros(SIZE), lost=1.0)
        outer, inner, nearer, farther = _divided(float(part), float(1 - part), self.step)
        odds = math.exp(-min(float(epsilon), 800.0))
        up, down = SLANT / (1 + odds), odds / (1 + odds)
        masses = np.zeros(SIZE)
        lost = self._raise(masses, steps + 1, up * outer) + self._raise(masses, steps, up * inner)
        self._lower(masses, steps, down * nearer)
        self._lower(masses, steps + 1, down * farther)
        return Lattice(self.cells, self.per_unit, self.step, masses, self.lost + lost)

    def _raise(self, masses: Array, steps: int, weight: float) -> float:
        """Add these masses, moved up; what leaves the lattice is divided among its last loss and infinity, returned."""
        kept, gone = _beyond(self.step)
        masses[steps:] += weight * self.masses[: SIZE - steps]
        leaving = self.masses[SIZE - steps :]
        masses[-1] += weight * (leaving @ kept[:steps])
        return float(weight * (leaving @ gone[:steps]))

    def _lower(self, masses: Array, steps: int, weight: float) -> None:
        """Add these masses, moved down, but not below the first loss."""
        masses[: SIZE - steps] += weight * self.masses[steps:]
        masses[0] += weight * self.masses[:steps].sum()

    def delta(self, mu: float, few: int = FEW) -> float:
        """delta at epsilon with a mu-GDP step besides: the mean of that step's delta at what the loss leaves."""
        if mu == 0:
            above = np.arange(1, SIZE - CELLS - self.cells)
            return self.lost + float(self.masses[CELLS + self.cells + 1 :] @ -np.expm1(-self.step * above))
        places = np.flatnonzero(self.masses).tolist()
        if len(places) > few:
            return self.lost + float(self._at_nodes() @ _curve_at_nodes(mu, self.cells, self.per_unit))
        return self.lost + float(self.masses[places] @ _curve(mu, self.cells, self.per_unit, places))

    def _at_nodes(self) -> Array:
        """The masses on every NODES-th loss: a spread again."""
        part = np.arange(NODES) / NODES
        upper, lower, _, _ = _divided(part, 1 - part, NODES * self.step)
        between, nodes = self.masses[:-1].reshape(-1, NODES), np.zeros(FEW + 1)
        nodes[:-1], nodes[-1] = between @ lower, self.masses[-1]
        nodes[1:] += SLANT * (between @ upper)
        return nodes


def _divided(part: Any, rest: Any, step: float) -> tuple[Any, Any, Any, Any]:
    """How a loss that is this part of a step above one of the lattice is divided among the next and that one.

    Then the same for its negative: among minus that one and minus the next. `rest` is 1 - part.
    """
    whole = np.expm1(-step)
    outer, inner = np.expm1(-part * step) / whole, np.expm1(-rest * step) / whole
    return outer, np.exp(-part * step) * inner, inner, np.exp(-rest * step) * outer


@lru_cache(maxsize=16)
def _beyond(step: float) -> tuple[Array, Array]:
    """Of a loss that is 1, 2, ... steps above the last one: what stays there, and what counts as infinite."""
    above = step * np.arange(1, SIZE + 1)
    return np.exp(-above) / SLANT, -np.expm1(-above)


@lru_cache(maxsize=16)
def _curve_at_nodes(mu: float, cells: int, per_unit: Fraction) -> Array:
    return _curve(mu, cells, per_unit, range(0, SIZE, NODES))


def _curve(mu: float, cells: int, per_unit: Fraction, places: Iterable[int]) -> Array:
    """delta of mu-GDP at epsilon less the loss at each place of a lattice."""
    exact = decimal(mu)
    return np.array([round_up(gaussian_curve, exact, (cells + CELLS - place) / per_unit) for place in places])
