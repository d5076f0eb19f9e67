"""What several guarantees spend together, entry by entry: the work for one more does not grow with their number.

Numbers add up as exact fractions of the decimals that people typed. An (epsilon, delta) total comes from a
distribution of privacy losses on a lattice that the budget's epsilon alone determines; so does its order: more
entries never spend less. Proofs: docs/proofs/guarantees.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from riemdp.arithmetic import decimal, largest_decimal, least_decimal, round_up
from riemdp.errors import InputError
from riemdp.privacy.guarantee import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    G,
    Guarantee,
    PureDP,
    as_guarantee,
    gaussian_curve,
    renyi_delta,
    response_curve,
    stated,
)  # fmt: skip

Array = NDArray[np.float64]

CELLS = 1800  # lattice steps in a budget's epsilon; tenths, percents and thirds of it lie on the lattice
SIZE = 3 * CELLS + 1  # losses from -epsilon to 2 epsilon
NODES = 15  # lattice steps between the losses at which a normal curve is evaluated, if there are many
FEW = SIZE // NODES
WIDE = 4  # a second, coarser lattice reaches this much beyond epsilon
# One more entry counts for this share of the finite part besides: more than all that floats may lose or gain.
PER_ENTRY = 2.0**-32
SLANT = 1 + 2.0**-36  # by which weights of larger losses grow, so that errors of exp cannot make a loss smaller


@overload
def compose(guarantees: Iterable[Guarantee | str], like: G) -> G | None: ...
@overload
def compose(guarantees: Iterable[Guarantee | str], like: str) -> Guarantee | None: ...
def compose(guarantees: Iterable[Guarantee | str], like: Guarantee | str) -> Guarantee | None:
    """The total of adaptive sequential composition as a guarantee of like's type; None if nothing was spent.

    Strengths add up (GDP: their squares), for RDP at like's alpha. ApproxDP gets the delta at like's epsilon, exact
    for GDP, else by pessimistic privacy loss distributions. The order of the entries does not matter, and more of
    them never come to less.
    """
    entries, like = list(map(as_guarantee, guarantees)), as_guarantee(like)
    if not all(isinstance(entry, Guarantee) for entry in (*entries, like)):
        raise InputError(f"guarantees = {entries!r}, like = {like!r} are not all such: give e.g. GDP(1.0).")
    spent = nothing_spent(like)
    for entry in sorted(entries, key=repr):
        spent = spent.plus(entry)
    united = replace(like, assumptions=tuple({text for entry in entries for text in entry.assumptions}))
    return stated(entries, united, list(like.parameters)[-1], spent.strength) if entries else None


def nothing_spent(like: Guarantee) -> Sum | Mixture:
    """Where the count starts."""
    return Mixture.empty(like) if isinstance(like, ApproxDP) else Sum(like)


@dataclass(frozen=True)
class Sum:
    """A total of like's type whose strengths, or their squares, add up."""

    like: Guarantee
    value: Fraction = Fraction(0)

    @property
    def power(self) -> int:
        """Of a strength in the sum."""
        return 2 if isinstance(self.like, GDP) else 1

    def plus(self, entry: Guarantee) -> Sum:
        """With one more entry; a MechanismError if nothing of like's type follows from it."""
        *_, part = entry.to_like(self.like).parameters.values()
        return replace(self, value=self.value + decimal(part) ** self.power)

    @property
    def strength(self) -> float:
        """The least one that covers the total."""
        return least_decimal(self.value, self.power)

    def left_of(self, strength: float) -> float:
        """The largest strength that still fits beside the total; 0 if none does."""
        return largest_decimal(max(decimal(strength) ** self.power - self.value, Fraction(0)), self.power)


@dataclass(frozen=True)
class Mixture:
    """A total as (epsilon, delta), delta at like's epsilon."""

    like: ApproxDP
    lattices: tuple[Lattice, ...]
    count: int = 0
    failure: Fraction = Fraction(0)  # probability that some ApproxDP entry fails
    epsilons: Fraction = Fraction(0)  # sum over PureDP and ApproxDP entries
    square: Fraction = Fraction(0)  # sum of mu² over GDP entries
    pure_square: Fraction = Fraction(0)  # sum of epsilon² over PureDP entries
    rho: Fraction = Fraction(0)  # sum over ZCDP entries
    renyi: Fraction = Fraction(0)  # sum of epsilon over RDP entries
    order: float = math.inf  # the least alpha of an RDP entry

    @classmethod
    def empty(cls, like: ApproxDP) -> Mixture:
        """No entries, and the two lattices of like's epsilon."""
        epsilon = decimal(like.epsilon)
        coarse = max(1, math.floor(CELLS * epsilon / (epsilon + WIDE)))
        return cls(like, (Lattice.empty(epsilon, CELLS), Lattice.empty(epsilon, coarse)))

    def plus(self, entry: Guarantee) -> Mixture:
        """With one more entry."""
        more: dict[str, Any] = {"count": self.count + 1}
        match entry:
            case PureDP(epsilon):
                step = decimal(epsilon)
                more |= self._with_pair(step) | {"pure_square": self.pure_square + step**2}
            case ApproxDP(epsilon, delta):
                failure = _least_multiple(self.failure + decimal(delta) * (1 - self.failure))
                more |= self._with_pair(decimal(epsilon)) | {"failure": failure}
            case GDP(mu):
                more |= {"square": self.square + decimal(mu) ** 2}
            case ZCDP(rho):
                more |= {"rho": self.rho + decimal(rho)}
            case RDP(alpha, epsilon):
                more |= {"renyi": self.renyi + decimal(epsilon), "order": min(self.order, alpha)}
        return replace(self, **more)

    def _with_pair(self, epsilon: Fraction) -> dict[str, Any]:
        """What changes with a step of loss +-epsilon, as randomised response has."""
        lattices = tuple(lattice.plus(epsilon) for lattice in self.lattices)
        return {"lattices": lattices, "epsilons": self.epsilons + epsilon}

    @property
    def strength(self) -> float:
        """The least delta that covers the total; 1 if none does."""
        failure, finite = min(self._bounds(), key=lambda bound: bound[0] + bound[1] * (1 - bound[0]))
        return min(1.0, least_decimal(failure + finite * (1 - failure)))

    def _bounds(self) -> list[tuple[Fraction, Fraction]]:
        """Pairs, each of which bounds the total: the probability of failure, and delta where nothing fails."""
        has_renyi = self.rho > 0 or self.renyi > 0
        exact = None if has_renyi else self._exact_delta()
        if exact is not None:
            return [(self.failure, exact)]
        bounds = [] if has_renyi else [(self.failure, self._lattice_delta())]
        if self.failure == 0:
            bounds.append((Fraction(0), self._renyi_delta((self.square + self.pure_square) / 2, 8)))
        for eighths in range(1, 8) if has_renyi or self.square else ():
            step = replace(self, **self._with_pair(decimal(self.like.epsilon) * eighths / 8))
            if has_renyi:
                bounds.append((self._failure_with(Fraction(0), eighths), step._lattice_delta(few=0)))
            without = replace(step, square=Fraction(0))
            bounds.append((self._failure_with(self.square / 2, eighths), without._lattice_delta(few=0)))
        return bounds

    def _failure_with(self, more_rho: Fraction, eighths: int) -> Fraction:
        """The probability that an ApproxDP entry fails, or the Rényi ones taken as such an entry."""
        return self.failure + self._renyi_delta(more_rho, eighths) * (1 - self.failure)

    def _renyi_delta(self, more_rho: Fraction, eighths: int) -> Fraction:
        """delta at so many eighths of epsilon, of the ZCDP and RDP entries and more of the kind."""
        epsilon = decimal(self.like.epsilon) * eighths / 8
        return decimal(renyi_delta(self.rho + more_rho, self.renyi, self.order, epsilon))

    def _exact_delta(self) -> Fraction | None:
        """delta where nothing fails: of one entry, of GDP entries, of epsilons that add up to no more than epsilon."""
        epsilon = decimal(self.like.epsilon)
        if self.square == 0 and self.epsilons <= epsilon:
            return Fraction(0)
        if self.epsilons == 0:
            return decimal(GDP(least_decimal(self.square, 2)).least_strength(self.like))
        return Fraction(round_up(response_curve, self.epsilons, epsilon)) if self.count == 1 else None

    def _lattice_delta(self, few: int = FEW) -> Fraction:
        mu = least_decimal(self.square, 2)
        finite = min(1.0, *(lattice.delta(mu, few) for lattice in self.lattices))
        return Fraction(finite) * (1 + (self.count + 16) * Fraction(PER_ENTRY)) + self.count * Fraction(2) ** -1000


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
        """A loss of 0."""
        masses = np.zeros(SIZE)
        masses[CELLS] = 1.0
        return cls(cells, cells / epsilon, float(epsilon / cells), masses)

    def plus(self, epsilon: Fraction) -> Lattice:
        """With an independent loss of +-epsilon."""
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


def _least_multiple(value: Fraction) -> Fraction:
    """The least multiple of 10^-360 that is not below: every delta is one, and products do not grow for ever."""
    unit = 10**360
    return Fraction(math.ceil(value * unit), unit)
