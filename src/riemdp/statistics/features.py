"""Features of records for linear classifiers: private whitening, and a private length that few of them exceed.

All of it is public by the time it is used: the matrix and the offset come from a released summary, the length from a
released radius. So the features of a record are a function of that record alone (docs/proofs/classifiers.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.io.rows import Rows
from riemdp.io.values import WRITER, read_numbers
from riemdp.manifolds.base import Array
from riemdp.manifolds.scalars import lengths
from riemdp.privacy.bounded import Bounded
from riemdp.releases.release import Stage
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Chance
from riemdp.statistics.class_means import Labelled
from riemdp.statistics.quantile import MECHANISM, STEPS, RadiusLaw, radius_strength
from riemdp.summaries.spread import NoisyMoments, Spread, noise_edge

# Entries of features are whole multiples of 2^-FEATURE_BITS: products with residuals of as many bits, of a block of
# 2^14 records, then add up exactly in float64.
FEATURE_BITS = 19
INTERCEPT = 0.125  # the last feature of every record: about as long as features are in one direction
LENGTHS = 72  # on the list of lengths: down to a 4,096th
OUTSIDE = 0.25  # the share of the records that may be shortened for nothing
FAVOUR, HIDES_NOTHING = 2, 100.0  # of the next shorter length; the strength from which on it is no matter of chance
# Below these, no direction's spread is believed: a share of the edge of the noise's spectrum, and one of the radius.
LEAST_OF_EDGE, LEAST_SPREAD = 0.5, 1e-6
SHORTENED = 0.7  # of the root mean square length: to this, records are shortened before their shape is looked at
SHORTENED_AGAIN = 0.8  # of that of features which have been shortened once


Factors = Callable[[Array, Array], tuple[Array, Array]]  # (features, labels) of a block -> whole numbers a, b


def row_products(rows: Array, matrix: Array) -> Array:
    """rows @ matrix, each row by itself: in BLAS its place among the others may decide how it is rounded."""
    return np.asarray(np.einsum("ij,jk->ik", rows, matrix, optimize=False))


@dataclass(frozen=True, eq=False)
class Features:
    """x = (u, INTERCEPT), u = matrix (v - offset)/length, shortened to 1 and cut to a grid; v are coordinates."""

    matrix: Array
    offset: Array
    length: float

    def raw(self, coords: Array) -> Array:
        """matrix (v - offset): what the length is about."""
        return row_products(coords - self.offset, self.matrix.T)

    def scaled(self, coords: Array) -> Array:
        """matrix (v - offset)/length, however long."""
        return self.raw(coords) / self.length

    def vectors(self, coords: Array) -> Array:
        """u (n, d), each row by itself; whatever the numbers are, none is longer than 1."""
        step = 2.0**-FEATURE_BITS
        with np.errstate(all="ignore"):
            vectors = self.scaled(coords)
            vectors = vectors * np.minimum(1.0, (1 - step) / lengths(vectors))[:, None]
            cut = np.trunc(vectors / step) * step
        cut[~(np.square(cut).sum(axis=1) <= 1.0)] = 0.0  # exact: squares of 19 bits; not a number counts as 0
        return np.asarray(cut)

    def __call__(self, coords: Array) -> Array:
        """x (n, d + 1)."""
        vectors = self.vectors(coords)
        return np.column_stack([vectors, np.full(len(vectors), INTERCEPT)])

    def to_dict(self) -> dict[str, Any]:
        """The features as plain JSON data."""
        return {"matrix": self.matrix.tolist(), "offset": self.offset.tolist(), "length": self.length}

    @classmethod
    def from_dict(cls, data: Any, dim: int) -> Features:
        """The features that `to_dict` described, of so many coordinates; anything else is an InputError."""
        if not isinstance(data, dict) or set(data) != {"matrix", "offset", "length"}:
            raise InputError(f"features are not those of a classifier: pass what {WRITER} wrote.")
        matrix, offset, length = (read_numbers(data[name], name) for name in ("matrix", "offset", "length"))
        if (matrix.shape, offset.shape, length.shape) != ((dim, dim), (dim,), ()) or not length > 0:
            raise InputError(f"features do not fit the space of the classifier: pass what {WRITER} wrote.")
        return cls(matrix, offset, float(length))


@dataclass(frozen=True, eq=False, repr=False)
class LabelledFeatures:
    """Features of private rows, and the place of each one's class among all; any other number stands for none.

    A row is a record, or the records of a person in one class, of the `among` classes that they are in: it then
    counts for that part of the person, and n is the number of people.
    """

    features: Rows
    labels: Array
    n: int
    among: Array | int = 1

    @classmethod
    def of(cls, records: Labelled, features: Features) -> LabelledFeatures:
        """Kept in memory if they are few."""
        rows = records.records._coordinates.turned(features)
        return cls(rows.kept(records.records.space.dim + 1), records.labels, records.n, records.among)

    def mean_product(self, factors: Factors) -> Array:
        """(1/n) sum of aᵀ b over all rows, each over its `among`, for whole a and b: rounded once.

        Rows with the same `among` are added as integers, and all of these sums over their least common multiple.
        """
        most = 1 if isinstance(self.among, int) else int(self.among.max(initial=1))
        task = _Products(factors, self.labels, self.among, most)
        sums, multiple = self.features.total(task), math.lcm(*range(1, most + 1))
        total = sum(part * (multiple // (size + 1)) for size, part in enumerate(sums))
        shape, below = np.shape(total), multiple * self.n
        return np.array([int(entry) / below for entry in np.ravel(total)]).reshape(shape)


@dataclass(frozen=True, eq=False, repr=False)
class _Products:
    """aᵀ b of a block, for each `among`. Floats hold every sum on the way, so it is exact in any order."""

    factors: Factors
    labels: Array
    among: Array | int
    most: int
    first: int = 0  # the place of the first row that it has a label of

    def within(self, start: int, stop: int) -> _Products:
        """With the labels of these rows alone: wherever they are, nobody gets more."""
        rows = slice(start - self.first, stop - self.first)
        among = self.among if isinstance(self.among, int) else self.among[rows]
        return replace(self, labels=self.labels[rows], among=among, first=start)

    def __call__(self, x: Array, start: int) -> Array:
        here = self.within(start, start + len(x))
        a, b = self.factors(x, here.labels)
        sizes = here.among if isinstance(here.among, int) else here.among[:, None]
        sums = [a.T @ np.where(sizes == size, b, 0.0) for size in range(1, self.most + 1)]
        return np.stack(sums).astype(np.int64).astype(object)


def centred(moments: NoisyMoments, mean: Array) -> Features:
    """Coordinates less those of the mean, in units of most of their root mean square length: for their shape."""
    length = SHORTENED * math.sqrt(moments.about_mean().total)
    return Features(np.eye(moments.dim), mean, max(length, LEAST_SPREAD * moments.radius))


def whitened(features: Features, spread: Spread, noise: float) -> Features:
    """Features of these features, in which their spread is the identity, as far as its noise lets one see.

    Directions in which nothing is seen but noise are not blown up beyond a part of the noise's own edge. The length is
    most of the root mean square length that the features then have.
    """
    floor = max(LEAST_OF_EDGE * noise_edge(len(spread.variances), noise), LEAST_SPREAD**2)
    variances = np.maximum(spread.variances, floor)
    matrix = (spread.directions / np.sqrt(variances)) @ spread.directions.T @ features.matrix
    length = SHORTENED_AGAIN * math.sqrt(float(np.sum(spread.variances / variances)))
    return Features(np.asarray(matrix / features.length), features.offset, max(length, LEAST_SPREAD))


def with_private_length(
    features: Features, records: Bounded, radius: float, law: RadiusLaw, chance: Chance
) -> Features:
    """The features with a length that leaves about a quarter of the records outside, for a share of the guarantee.

    The list begins with the longest that records within the radius of the mean can have; whatever is longer is outside.
    """
    longest = radius * float(np.linalg.norm(features.matrix, 2))
    lengths_below = [longest * math.exp2(-step / STEPS) for step in range(1, LENGTHS)]

    def outside() -> list[int]:
        body = vectors_up_to(longest, records.space.dim)
        return records.mapped(features.raw, body).outside(lengths_below)

    return replace(features, length=[longest, *lengths_below][chance.step(law, outside)])


def length_law(n: int, share: Guarantee) -> RadiusLaw:
    """The law of the length; where a guarantee hides next to nothing, noise does not decide between lengths."""
    strength = radius_strength(share)
    return RadiusLaw(strength, math.floor(OUTSIDE * n), FAVOUR if strength < HIDES_NOTHING else FAVOUR**20)


def length_stage(features: Features, share: Guarantee, law: RadiusLaw, place: Ball) -> Stage:
    """The length on record, with the ball in which the features are taken."""
    return Stage(f"length {features.length:.6g}", share, MECHANISM, 1.0, 1 / law.strength, place.center, place.radius)
