"""Linear classifiers of which every learnt number is private: a summary, a length, then the classifier's own release.

All stages are under one reservation, with shares of the guarantee that are fixed in advance (docs/proofs/classifiers.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import GDP, Guarantee, PureDP
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.release import Stage
from riemdp.statistics.adaptation import split
from riemdp.statistics.features import Features

# Shares of the guarantee: a summary of all records (with the rounds of adaptation, if any), the length of features.
SUMMARY_SHARE, LENGTH_SHARE = 0.2, 0.02
PURE_STEPS, STEPS = 5, 100


@dataclass(frozen=True, eq=False)
class LinearModel:
    """What a classifier has learnt, all of it released: where records are looked at, their features, the weights."""

    place: Ball
    features: Features
    weights: Array  # (d + 1, classes)

    def scores(self, coords: Array) -> Array:
        """(n, classes), from coordinates at the centre of the place."""
        return np.asarray(self.features(coords) @ self.weights)
