"""What an adversary makes of a release who knows both data sets and every law: the exact log-likelihood ratio.

Draw by draw, of all that an adaptive release draws, of which it publishes a part: how much likelier this was of the
records than of their neighbours. By Neyman and Pearson no other test tells more, so nothing has to be learned from
draws. Whatever a bug makes of the laws, it is a function of what was drawn: bounds that follow from it are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import riemdp as rd
from riemdp.kernels.threads import one_blas_thread
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation, reserved
from riemdp.releases.drawn import Drawn
from riemdp.statistics.adaptive import Adaptive
from riemdp.statistics.base import ReleaseLaw
from riemdp.statistics.prepared import Prepared
from riemdp.statistics.quantile import RadiusLaw

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Twins:
    """Records and a neighbour's, forced into the same bodies; what is drawn is drawn of the first."""

    own: Bounded
    other: Bounded

    @property
    def ball(self) -> rd.Ball:
        """Of both."""
        return self.own.ball

    def moved(self, ball: rd.Ball) -> Twins:
        """Both, forced into another ball."""
        return Twins(self.own.moved(ball), self.other.moved(ball))

    def mapped(self, per_record: Callable[[Array], Array], body: rd.Ball) -> Twins:
        """Vectors of both."""
        return Twins(self.own.mapped(per_record, body), self.other.mapped(per_record, body))

    def outside(self, radii: Sequence[float]) -> tuple[list[int], list[int]]:
        """How many of each are farther from the centre than each of the radii."""
        return self.own.outside(radii), self.other.outside(radii)


@dataclass
class Witness:
    """Chance of a release that remembers how much likelier all it drew was of the records than of their neighbours.

    `apart` is how far the laws were from each other, in squared scales: what evidence comes to in the mean, nearly, of
    which few releases tell.
    """

    paid: Reservation
    evidence: float = 0.0
    apart: float = 0.0

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """A private mean of the records."""
        own, other = law.value(records.own), law.value(records.other)
        drawn = self.paid.draw(lambda: own, law)
        vectors, own, other = by_rooms(drawn, own, other)
        self.evidence += cost(law, vectors, other) - cost(law, vectors, own)
        self.apart += float((lengths(law, own, other) ** 2).sum())
        return drawn

    def step(self, law: RadiusLaw, outside: Callable[[], Any]) -> int:
        """A private radius."""
        own, other = outside()
        step = self.paid.draw(lambda: own, law)
        logs, others = log_chances(law, own), log_chances(law, other)
        self.evidence += logs[step] - others[step]
        self.apart += float((np.exp(logs) - np.exp(others)) @ (logs - others))
        return step


def by_rooms(drawn: Drawn, own: Any, other: Any) -> tuple[Any, Any, Any]:
    """What was drawn, and the values it may have been drawn around, as vectors with isotropic noise."""
    if len(drawn.noisy) > 1:
        return [room.vectors[0] for room in drawn.noisy], own, other
    assert drawn.told is not None
    return [drawn.told.vector], (own,), (other,)


def lengths(law: ReleaseLaw, some: Any, others: Any) -> Array:
    """Of the differences in each room, in units of the noise."""
    return np.array([np.linalg.norm(one - other) for one, other in zip(some, others, strict=True)]) / law.scale


def cost(law: ReleaseLaw, drawn: Any, value: Any) -> float:
    """Minus the logarithm of the density, but for what does not depend on the value."""
    noise = lengths(law, drawn, value)
    return float((noise**2 / 2 if law.mechanism.name == WRAPPED_GAUSSIAN.name else noise).sum())


def log_chances(law: RadiusLaw, outside: Sequence[int]) -> Array:
    """Of each step, the first of which has no price."""
    excess = np.append(0, np.maximum(np.array(outside, dtype=float) - law.spare, 0))
    logs = np.arange(len(excess)) * math.log(law.favour) - law.strength * excess
    return np.asarray(logs - np.logaddexp.reduce(logs))


def witnessed(prepared: Prepared, own: Bounded, other: Bounded) -> tuple[rd.Release, Witness]:
    """A release of the first records, from the operating system's bits, and what it tells against the others."""
    how = prepared.how
    assert isinstance(how, Adaptive)
    with reserved(prepared.guarantee, "audit", None) as paid, one_blas_thread():
        witness, both = Witness(paid), Twins(own, other)
        last = how.run(both, witness)  # type: ignore[arg-type]
        return prepared._completed(last.drawn, paid, last.plan, last.query, last.stages), witness
