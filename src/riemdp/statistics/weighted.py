"""Records with public weights: the Fréchet mean of records that count several times, without repeating them.

Weights are taken as whole numbers, in units of a power of two, with 52 bits for all of them together. Records whose
number has the same bit set count equally often for it, so the sums over each such group are those of a plain mean.
What the rounding of the weights changes is part of the certificate (docs/proofs/certificate.md, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from riemdp.arguments import finite_array
from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.capabilities import ClosedFormMean, FlatMean, FrechetModel, LocalModel
from riemdp.manifolds.local_model import Part, certain, exact_mean, merged

BITS = 52
ROUNDED_DISTANCE = 1 + 2.0**-20  # more than what a computed distance may lack, in proportion


class HeldRecords(Protocol):
    """Records in memory, with what a plain mean of them needs."""

    @property
    def points(self) -> Array:
        """All records, in the form of the space's primitives."""

    @property
    def space(self) -> Space:
        """The space in which they are."""

    def factors(self) -> Sequence[HeldRecords]:
        """The records of each factor of a product."""

    def certify(self, x: Array, model: LocalModel) -> None:
        """Raise unless a critical point next to x can only be the mean."""


@dataclass(frozen=True)
class Weights:
    """How often each record counts, and how far the shares are from those that were asked for."""

    counts: Array  # positive whole numbers, their sum below 2^53
    loss: float  # at least the sum of |share asked for - share|

    @classmethod
    def of(cls, weights: Array) -> Weights:
        """Counts for positive weights. Each is off by at most 1; one that is a multiple of the unit is exact."""
        scaled = np.ldexp(weights, BITS - math.frexp(math.fsum(weights))[1])
        counts = np.maximum(np.rint(scaled), 1.0).astype(np.int64)
        off = math.fsum(np.abs(scaled - counts)) * (1 + 2.0**-50)
        return cls(counts, 2 * off / (int(counts.sum()) - off) * (1 + 2.0**-50))


def positive_weights(sample_weight: Any, n: int) -> Array:
    """The weights of n records, checked: none may be negative, and some must count."""
    weights = finite_array(sample_weight, "sample_weight")
    if weights.shape != (n,):
        raise InputError(f"sample_weight has shape {weights.shape}: pass one weight for each of the {n} records.")
    if (weights < 0).any() or not weights.any():
        raise InputError("sample_weight: pass weights that are not negative, and not all 0.")
    if weights.max() > np.finfo(float).max / n:
        raise InputError("sample_weight: the weights are too large to add up in float64; scale them down.")
    return weights


@dataclass(frozen=True)
class WeightedRecords:
    """Records that count as often as their weights say (riemdp.statistics.frechet.RecordSums)."""

    records: HeldRecords
    weights: Weights

    @property
    def space(self) -> Space:
        """Where the records live."""
        return self.records.space

    def factors(self) -> list[WeightedRecords]:
        """The records of each factor of a product."""
        return [replace(self, records=part) for part in self.records.factors()]

    def _groups(self) -> Iterator[tuple[int, Array]]:
        """(how often they count in all, records) for each bit that some count has."""
        for bit in range(BITS + 1):
            chosen = (self.weights.counts >> bit) & 1 == 1
            if chosen.any():
                yield int(chosen.sum()) << bit, self.records.points[chosen]

    def closed_form(self) -> FlatMean:
        """The mean of a flat space: that of the groups' means, in coordinates at the origin."""
        space, origin = self.space, self.space.read(self.space.origin, "origin")
        counts, groups = zip(*self._groups(), strict=True)
        flat = space.capability(ClosedFormMean)
        means = [flat.closed_form_mean(group) for group in groups]
        coords = [space.log_coords(mean.point, origin) for mean in means]
        total = exact_mean([count * one for count, one in zip(counts, coords, strict=True)], sum(counts))
        point, farthest = space.exp_coords(total, origin), max(float(np.linalg.norm(one)) for one in coords)
        there = max(mean.rounding + self._alone(mean.point) for mean in means) + 8 * UNIT_ROUNDOFF * farthest
        return FlatMean(point, there + self._alone(point) + self._drift(point))

    def _alone(self, point: Array) -> float:
        """How far the coordinates of one point may be wrong, or the point of some coordinates: both are in its mean."""
        return self.space.capability(ClosedFormMean).closed_form_mean(point[None]).rounding

    def start(self) -> Array:
        """A first guess of the mean, as if all counted equally."""
        return self.space.capability(FrechetModel).mean_start(self.records.points)

    def model(self, x: Array) -> LocalModel:
        """The Fréchet function around x, from those of the groups; its steps are the mean of their steps."""
        counts, groups = zip(*self._groups(), strict=True)
        frechet = self.space.capability(FrechetModel)
        models = [frechet.local_model(group, x) for group in groups]
        parts = [Part(n, m.descent, m.across, m.farthest, m.rounding) for n, m in zip(counts, models, strict=True)]

        def step(g: Array) -> Array:
            return exact_mean([n * m.step(g) for n, m in zip(counts, models, strict=True)], sum(counts))

        return self._as_asked_for(merged(parts, self.space.curvature_bounds[1], step), x)

    def certify(self, x: Array, model: LocalModel) -> None:
        """All records, whatever their weight, lie in a ball of uniqueness."""
        self.records.certify(x, model)

    def _as_asked_for(self, model: LocalModel, x: Array) -> LocalModel:
        """A model of the shares that were asked for: less certain by what the counts lack."""
        k_max = self.space.curvature_bounds[1]
        angle = min(math.sqrt(max(k_max, 0.0)) * model.farthest, math.pi)
        steepest = max(1.0, abs(angle / math.tan(angle))) if 0 < angle < math.pi else 1.0
        across = model.across - self.weights.loss * steepest * ROUNDED_DISTANCE
        lower, valid_within = certain(across, model.farthest, k_max)
        rounding = model.rounding + self._drift(x)
        return replace(model, across=across, convexity=lower, valid_within=valid_within, rounding=rounding)

    def _drift(self, x: Array) -> float:
        """How far the counts may move a mean of logs at x that was asked for with other shares."""
        if self.weights.loss == 0:
            return 0.0
        return self.weights.loss * float(self.space.distance(x, self.records.points).max()) * ROUNDED_DISTANCE
