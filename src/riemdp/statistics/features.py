"""Features of records for linear classifiers: private whitening, and a private length that few of them exceed.

All of it is public by the time it is used: the matrix and the offset come from a released summary, the length from a
released radius. So the features of a record are a function of that record alone (docs/proofs/classifiers.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.manifolds.base import Array
from riemdp.manifolds.scalars import lengths
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.adaptive import Chance
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.quantile import STEPS, RadiusLaw, radius_strength

# Entries of features are whole multiples of 2^-FEATURE_BITS: products with residuals of as many bits, of a block of
# 2^14 records, then add up exactly in float64.
FEATURE_BITS = 19
INTERCEPT = 0.25  # the last feature of every record: as long as a usual residual in one direction
LENGTHS = 30  # on the list of lengths: down to a 32nd
OUTSIDE = 0.1  # the share of the records that may be shortened for nothing


@dataclass(frozen=True, eq=False)
class Features:
    """x = (u, INTERCEPT) with u = matrix (v - offset)/length, shortened to 1 and cut to a grid; v a record's coordinates."""

    matrix: Array
    offset: Array
    length: float

    def raw(self, coords: Array) -> Array:
        """matrix (v - offset): what the length is about."""
        return np.asarray((coords - self.offset) @ self.matrix.T)

    def __call__(self, coords: Array) -> Array:
        """(n, d + 1), each row by itself; whatever the numbers are, the first d of a row are no longer than 1."""
        step = 2.0**-FEATURE_BITS
        with np.errstate(all="ignore"):
            vectors = self.raw(coords) / self.length
            vectors = vectors * np.minimum(1.0, (1 - step) / lengths(vectors))[:, None]
            cut = np.trunc(vectors / step) * step
        cut[~(np.square(cut).sum(axis=1) <= 1.0)] = 0.0  # exact: squares of 19 bits; not a number counts as 0
        return np.column_stack([cut, np.full(len(cut), INTERCEPT)])


def whitening(first: Array, second: Array, noise: float) -> tuple[Array, Array]:
    """(matrix, offset) that make the records' covariance the identity, as far as its noise lets one see.

    Eigenvalues within the spectrum of the noise, sqrt(2d) times its scale per coordinate, count as their average, but
    no less than a part of that edge: directions in which nothing is known are not blown up.
    """
    dim = len(first)
    values, vectors = np.linalg.eigh(second - np.outer(first, first))
    edge = noise * math.sqrt(2 * dim)
    is_seen = values > edge
    seen = np.where(is_seen, (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2, 0.0)
    rest = (values.sum() - seen.sum()) / max(1, int((~is_seen).sum()))
    floor = max(rest, LEAST_OF_EDGE * edge, np.finfo(float).tiny)
    values = np.where(is_seen, np.maximum(seen, floor), floor)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T), first


LEAST_OF_EDGE = 0.3


def with_private_length(features: Features, records: Bounded, share: Guarantee, chance: Chance) -> Features:
    """The same with a length that leaves about a tenth of the records outside, drawn for a share of the guarantee."""
    law, longest = RadiusLaw(radius_strength(share), math.floor(OUTSIDE * records.n)), features.length
    lengths_below = [longest * math.exp2(-step / STEPS) for step in range(1, LENGTHS)]

    def outside() -> list[int]:
        body = vectors_up_to(longest, records.space.dim)
        return records.mapped(features.raw, body).outside(lengths_below)

    return replace(features, length=[longest, *lengths_below][chance.step(law, outside)])
