"""Exact draws from a density on an interval whose logarithm is concave piece by piece.

The envelope is piecewise exponential: tangents of the concave logarithm, which lie above it. A draw picks a
segment by its mass, inverts its exponential, and is accepted with the ratio of density and envelope: rejection
sampling, exact whatever the tangents' points; they only decide how many draws are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

# Tangent points, in standard deviations around the mode of a piece.
KNOTS = np.array([-6.0, -4.0, -2.8, -2.0, -1.3, -0.75, -0.25, 0.25, 0.75, 1.3, 2.0, 2.8, 4.0, 6.0, 9.0])


@dataclass(frozen=True)
class Piece:
    """A stretch on which the logarithm of the density is concave; `stop` may be infinite."""

    start: float
    stop: float
    log_density: Function
    slope: Function


@dataclass(frozen=True)
class Envelope:
    """Segments [start, stop] with log height `level + slope (t - knot)`, above the density everywhere."""

    start: Array
    stop: Array
    knot: Array
    level: Array
    slope: Array

    @property
    def log_mass(self) -> Array:
        """Logarithm of the integral of each segment."""
        at_start = self.level + self.slope * (self.start - self.knot)
        at_stop = np.where(np.isinf(self.stop), -np.inf, self.level + self.slope * (self._finite_stop - self.knot))
        high, low = np.maximum(at_start, at_stop), np.minimum(at_start, at_stop)
        flat = np.abs(self.slope) * (self._finite_stop - self.start) < 1e-9
        steep = np.where(flat, 1.0, np.abs(self.slope))
        integral = np.where(flat, self._finite_stop - self.start, -np.expm1(np.where(flat, -1.0, low - high)) / steep)
        with np.errstate(divide="ignore"):
            return np.asarray(high + np.log(integral))

    @property
    def _finite_stop(self) -> Array:
        return np.where(np.isinf(self.stop), self.start + 1.0, self.stop)

    def propose(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """Draws from the normalised envelope, and its log height there."""
        weights = np.exp(self.log_mass - self.log_mass.max())
        segment = rng.choice(len(weights), size=size, p=weights / weights.sum())
        start, stop, slope = self.start[segment], self.stop[segment], self.slope[segment]
        u = rng.random(size)
        length = np.where(np.isinf(stop), np.inf, stop - start)
        flat = np.abs(slope) * np.where(np.isinf(length), 1.0, length) < 1e-9
        safe = np.where(flat, -1.0, slope)
        # Inverse of the distribution function: log(1 + u (exp(slope length) - 1)) / slope, from the higher end.
        full = np.expm1(np.where(np.isinf(length), -np.inf, -np.abs(safe) * length))
        down = -np.log1p(u * full) / np.abs(safe)
        t = np.where(flat, start + u * np.where(flat, length, 0.0), np.where(safe < 0, start + down, stop - down))
        return t, self.level[segment] + slope * (t - self.knot[segment])


def tangents(pieces: list[Piece]) -> Envelope:
    """The envelope of a density given piece by piece."""
    parts = [_tangents_of(piece) for piece in pieces]
    return Envelope(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _tangents_of(piece: Piece) -> tuple[Array, ...]:
    knots = _knots(piece)
    level, slope = piece.log_density(knots), piece.slope(knots)
    # Where neighbouring tangents cross; those with equal slopes are the same line.
    gap = slope[:-1] - slope[1:]
    keep = np.concatenate([[True], gap > 1e-12 * np.abs(slope[:-1])])
    knots, level, slope = knots[keep], level[keep], slope[keep]
    gap = slope[:-1] - slope[1:]
    crossing = (level[1:] - level[:-1] + slope[:-1] * knots[:-1] - slope[1:] * knots[1:]) / gap
    edges = np.concatenate([[piece.start], np.clip(crossing, knots[:-1], knots[1:]), [piece.stop]])
    return edges[:-1], edges[1:], knots, level, slope


def _knots(piece: Piece) -> Array:
    """Tangent points around the mode of a piece, strictly inside it."""
    mode = _mode(piece)
    step = 1e-4 * max(mode - piece.start, 1e-12)
    curvature = (piece.slope(np.array([mode + step])) - piece.slope(np.array([mode - step])))[0] / (2 * step)
    width = 1 / np.sqrt(max(-float(curvature), 1e-300))
    width = min(width, 4 * max(mode - piece.start, 1e-300))
    knots = mode + width * KNOTS
    low = piece.start + 1e-3 * (mode - piece.start)
    high = np.inf if np.isinf(piece.stop) else piece.stop - 1e-3 * (piece.stop - mode)
    inside = knots[(knots > low) & (knots < high)]
    if np.isinf(piece.stop) and not piece.slope(inside[-1:])[0] < 0:
        inside = np.append(inside, inside[-1] + width * 100)
    return np.unique(np.concatenate([[low], inside]))


def _mode(piece: Piece) -> float:
    """Where the slope changes its sign, or the end towards which the density grows; by bisection."""
    low = piece.start
    high = piece.stop if np.isfinite(piece.stop) else max(1.0, 2 * piece.start)
    while np.isinf(piece.stop) and piece.slope(np.array([high]))[0] > 0:
        high *= 2
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if piece.slope(np.array([middle]))[0] > 0 else (low, middle)
    return 0.5 * (low + high)
