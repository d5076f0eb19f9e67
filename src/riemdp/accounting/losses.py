"""What entries of all kinds come to as (epsilon, delta), entry by entry, at one epsilon.

An entry is what it is worth at worst: a randomised response, a failure, a pair of normals, a bound on Rényi
divergences. More entries never come to less. Proofs: docs/proofs/guarantees.md, sections 4.1 and 4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from riemdp.accounting.curves import gaussian_curve, renyi_delta, response_curve
from riemdp.accounting.lattice import CELLS, FEW, Lattice
from riemdp.arithmetic import decimal, least_decimal, round_up, round_up_decimal

WIDE = 4  # a second, coarser lattice reaches this much beyond epsilon
# One more entry counts for this share of the finite part besides: more than all that floats may lose or gain.
PER_ENTRY = 2.0**-32


@dataclass(frozen=True)
class Losses:
    """The privacy losses of all entries together; `delta` is what they come to at `epsilon`."""

    epsilon: Fraction
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
    def empty(cls, epsilon: Fraction) -> Losses:
        """No entries, and the two lattices of this epsilon."""
        coarse = max(1, math.floor(CELLS * epsilon / (epsilon + WIDE)))
        return cls(epsilon, (Lattice.empty(epsilon, CELLS), Lattice.empty(epsilon, coarse)))

    def with_pure(self, epsilon: Fraction) -> Losses:
        """With a PureDP entry: at worst a randomised response."""
        return self._one_more(pure_square=self.pure_square + epsilon**2, **self._with_pair(epsilon))

    def with_approx(self, epsilon: Fraction, delta: Fraction) -> Losses:
        """With an ApproxDP entry: a randomised response, unless it fails."""
        failure = _least_multiple(self.failure + delta * (1 - self.failure))
        return self._one_more(failure=failure, **self._with_pair(epsilon))

    def with_gdp(self, mu: Fraction) -> Losses:
        """With a GDP entry: two normals, whose squared distances add up."""
        return self._one_more(square=self.square + mu**2)

    def with_zcdp(self, rho: Fraction) -> Losses:
        """The losses with a ZCDP entry more, whose divergences are rho alpha."""
        return self._one_more(rho=self.rho + rho)

    def with_rdp(self, alpha: float, epsilon: Fraction) -> Losses:
        """With an RDP entry: a divergence at the order alpha, and at all below."""
        return self._one_more(renyi=self.renyi + epsilon, order=min(self.order, alpha))

    def _one_more(self, **changed: Any) -> Losses:
        return replace(self, count=self.count + 1, **changed)

    def _with_pair(self, epsilon: Fraction) -> dict[str, Any]:
        """What changes with a step of loss +-epsilon, as randomised response has."""
        lattices = tuple(lattice.plus(epsilon) for lattice in self.lattices)
        return {"lattices": lattices, "epsilons": self.epsilons + epsilon}

    def delta(self) -> float:
        """The least delta that covers the total; 1 if none does."""
        if math.isinf(least_decimal(self.square, 2)):
            return 1.0
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
            step = replace(self, **self._with_pair(self.epsilon * eighths / 8))
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
        epsilon = self.epsilon * eighths / 8
        return decimal(renyi_delta(self.rho + more_rho, self.renyi, self.order, epsilon))

    def _exact_delta(self) -> Fraction | None:
        """delta where nothing fails: of one entry, of GDP entries, of epsilons that add up to no more than epsilon."""
        if self.square == 0 and self.epsilons <= self.epsilon:
            return Fraction(0)
        if self.epsilons == 0:
            mu = decimal(least_decimal(self.square, 2))
            return decimal(round_up_decimal(gaussian_curve, mu, self.epsilon))
        return Fraction(round_up(response_curve, self.epsilons, self.epsilon)) if self.count == 1 else None

    def _lattice_delta(self, few: int = FEW) -> Fraction:
        """delta where nothing fails, of the PureDP and GDP steps: from the lattice that bounds it best."""
        mu = least_decimal(self.square, 2)
        finite = min(1.0, *(lattice.delta(mu, few) for lattice in self.lattices))
        return Fraction(finite) * (1 + (self.count + 16) * Fraction(PER_ENTRY)) + self.count * Fraction(2) ** -1000


def _least_multiple(value: Fraction) -> Fraction:
    """The least multiple of 10^-360 that is not below: every delta is one, and products do not grow for ever."""
    unit = 10**360
    return Fraction(math.ceil(value * unit), unit)
