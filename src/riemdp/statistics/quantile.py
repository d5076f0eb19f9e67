"""A private radius: which of a public list of radii leaves few records outside.

The radius at step j of a falling list r, r/2^(1/6), r/2^(2/6), ... is drawn with probability proportional to

    f^j exp(-strength max(N_j - spare, 0)),    N_j = number of records farther from the centre than radius j,

f = 2 or 3 (`favour`): that is t^-6 or t^-9.5 times a price for every record left outside beyond the spare ones.
Replacing a record moves all the N_j the same way, by at most 1: so the law is `strength`-DP, and strength
2 log(Phi(mu/2)/Phi(-mu/2)) is mu-GDP (docs/proofs/quantile.md). The first radius of the list is that of the ball one
has, and never has a price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riemdp.accounting.guarantee import GDP, Guarantee, PureDP
from riemdp.arithmetic import decimal, least_float, round_up
from riemdp.privacy.calibration import _largest
from riemdp.randomness import LazyUniform, decide

if TYPE_CHECKING:
    from flint import arb

STEPS = 6  # of the list, for a factor of 2
MECHANISM = "exponential"
LARGEST_MU = 1000.0  # a record outside makes a radius e^-250,000 times as likely: more would change nothing


@dataclass(frozen=True)
class RadiusLaw:
    """Which step of the list, given how many records are outside each radius of it but the first."""

    strength: float
    spare: int
    favour: int = 2  # how much likelier the next radius is, if both have no price

    def draw(self, outside: Sequence[int]) -> int:
        """For a release: an exact draw from the operating system's bits."""
        uniform = LazyUniform()
        return decide(lambda bits: self._find(uniform.ball(bits), outside))

    def _find(self, u: arb, outside: Sequence[int]) -> int | None:
        """The step j with W_0 + ... + W_(j-1) < u W < W_0 + ... + W_j, once u is known well enough."""
        from flint import arb

        excess = [0, *map(self._excess, outside)]
        factors = {m: (-m * arb(self.strength)).exp() for m in set(excess)}
        weights = [self.favour**j * factors[m] for j, m in enumerate(excess)]
        level, total = u * sum(weights, start=arb(0)), arb(0)
        for step, weight in enumerate(weights[:-1]):
            total += weight
            if level < total:
                return step
            if not level > total:
                return None
        return len(weights) - 1

    def simulate(self, outside: Sequence[int], rng: np.random.Generator) -> int:
        """What `draw` draws with a seeded number, in float64."""
        logs = [j * math.log(self.favour) - self.strength * m for j, m in enumerate([0, *map(self._excess, outside)])]
        sums = np.cumsum(np.exp(np.array(logs) - max(logs)))
        return int(np.searchsorted(sums[:-1], rng.random() * sums[-1], side="right"))

    def _excess(self, outside: int) -> int:
        return max(outside - self.spare, 0)

    def price(self, steps: int) -> float:
        """Records that the law gives up, beyond the spare ones, for a radius so many steps below the first."""
        return steps * math.log(self.favour) / self.strength


def looseness(favour: int = 2) -> float:
    """Root mean square of the radius drawn over the least one that has no price, if the list is long.

    Each step up has 1/f of the weight: the root of sum_i (1 - 1/f) f^-i 2^(2 i/STEPS), 1.16 for 2, 1.07 for 3.
    """
    return math.sqrt((1 - 1 / favour) / (1 - 2 ** (2 / STEPS) / favour))


def radius_strength(share: Guarantee) -> float:
    """The largest strength that is proved to give this guarantee, rounded down."""
    if isinstance(share, PureDP):
        return -least_float(-decimal(share.epsilon))
    return -round_up(lambda mu: 2 * _log_odds(-mu / 2), decimal(min(_largest(GDP, share), LARGEST_MU)))


def _log_odds(z: arb) -> arb:
    """The log odds log(Phi(z)/Phi(-z)) of a normal number being below z."""
    root = (0 * z + 2).sqrt()
    return (-z / root).erfc().log() - (z / root).erfc().log()
