"""Exact draws from densities on an interval: a piecewise exponential envelope and rejection.

On each segment [start, stop] the logarithm of the density is at most h(t) + growth(t), h concave. The tangent of h at
a knot lies above h, the chord of a convex parabola above it within the segment: they add up to the envelope's line.
Knots and edges are floats, taken as exact: they decide how often a draw is accepted, never its law. One set of
formulas serves arrays of floats and of balls (docs/proofs/riemannian_laws.md, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riemdp.caching import cached_property
from riemdp.manifolds.growth import Growth

if TYPE_CHECKING:
    from flint import arb

Array = NDArray[Any]
# A concave function and its derivative; the second argument offers log, exp, ... for the kind of the first.
Concave = Callable[[Any, Any], tuple[Any, Any]]

SEGMENTS = 24  # over the bulk, where the density is above exp(-LOG_DROP) times its maximum
LOG_DROP = 9.0
STRIDE = 1.15  # ratio of neighbouring edges further out
OCTAVES, PER_OCTAVE, NEARBY = 60, 48, 3.0  # how the bulk is looked for


class Balls:
    """Functions under NumPy's names, for balls and for arrays of them."""

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        return _on_balls(name)


@lru_cache(maxsize=64)
def _on_balls(name: str) -> Callable[[Any], Any]:
    function = _log if name == "log" else lambda ball: getattr(ball, name)()
    return np.frompyfunc(function, 1, 1)


def _log(x: arb) -> arb:
    """-inf below 0, where a density has ended."""
    return x.neg_inf() if x < 0 else x.log()


BALLS = Balls()


def to_balls(x: Array) -> Array:
    """Floats as an array of exact balls."""
    from flint import arb

    return np.asarray(np.frompyfunc(arb, 1, 1)(x))


@dataclass(frozen=True)
class Lines:
    """The envelope's lines in one arithmetic, each seen from the higher end of its segment."""

    end: Array
    inward: Array  # +1 or -1: from that end into the segment
    rate: Array  # at which the logarithm falls
    height: Array  # logarithm of the envelope at the end
    shrink: Array  # exp(-rate length) - 1
    mass: Array  # integral over the segment, up to a common factor

    def invert(self, segment: Any, u: Any, m: Any) -> Any:
        """The point of the segment that splits its mass in the ratio u : 1 - u, from the higher end."""
        return self.end[segment] - self.inward[segment] * m.log1p(u * self.shrink[segment]) / self.rate[segment]

    def log_height(self, segment: Any, t: Any) -> Any:
        """Logarithm of the envelope at t."""
        return self.height[segment] - self.rate[segment] * self.inward[segment] * (t - self.end[segment])

    @cached_property
    def edges(self) -> Array:
        """Shares of all mass that lie left of each segment but the first."""
        sums = np.cumsum(self.mass)
        return np.asarray(sums[:-1] / sums[-1])

    def choose(self, u: arb) -> int | None:
        """The segment on which the share u falls; None if the balls do not tell."""
        passed = sum(edge < u for edge in self.edges)
        return passed if passed + sum(u < edge for edge in self.edges) == len(self.edges) else None


@dataclass(frozen=True, eq=False)
class Envelope:
    """Segments with their knots and growths, in floats; `concave` is h."""

    concave: Concave
    start: Array
    stop: Array  # the last may be infinite
    knot: Array
    growth: Array  # rows constant, linear, square; no square on an infinite segment

    def lines(self, m: Any = np, convert: Callable[[Array], Array] = np.asarray) -> Lines:
        """The lines in the arithmetic of m, to which `convert` takes floats."""
        endless = np.isinf(self.stop)
        start, stop, knot = map(convert, (self.start, np.where(endless, self.start, self.stop), self.knot))
        level, slope = self._tangents(start, stop, knot, convert(self.growth), m)
        inward = np.where(self.falling, 1, -1)
        rate, end = -inward * slope, np.where(self.falling, start, stop)
        height = level + slope * (end - knot)
        shrink = np.where(endless, -1, m.expm1(-rate * (stop - start)))
        top = max(map(float, height))
        return Lines(end, inward, rate, height, shrink, -m.exp(height - top) * shrink / rate)

    @cached_property
    def falling(self) -> Array:
        """Which lines fall, as floats see it: only the order in which a segment is read depends on it."""
        stop = np.where(np.isinf(self.stop), self.start, self.stop)
        return np.asarray(self._tangents(self.start, stop, self.knot, self.growth, np)[1] < 0)

    def _tangents(self, start: Array, stop: Array, knot: Array, growth: Array, m: Any) -> tuple[Array, Array]:
        """Values at the knots, and slopes, of the lines.

        c t² is below its chord c ((a + b) t - a b) for c > 0, and below its tangent c (2 k t - k²) for c <= 0.
        """
        (value, slope), (constant, linear, square) = self.concave(knot, m), growth
        convex = self.growth[2] > 0
        one, other = np.where(convex, start, knot), np.where(convex, stop, knot)
        parabola = square * ((one + other) * knot - one * other)
        return value + constant + linear * knot + parabola, slope + linear + square * (one + other)

    @cached_property
    def float_lines(self) -> Lines:
        """The lines computed in float64, once."""
        return self.lines()

    def propose(self, rng: Any, size: int) -> tuple[Array, Array]:
        """Draws from the normalised envelope, and its log height there; rng has a method `random`."""
        lines = self.float_lines
        segment = np.searchsorted(lines.edges, rng.random(size))
        t = lines.invert(segment, rng.random(size), np)
        return t, lines.log_height(segment, t)

    def spread(self, size: int) -> tuple[Array, Array]:
        """Points evenly spread over the envelope's mass, for forecasts, and its log height there."""
        lines, u = self.float_lines, (np.arange(size) + 0.5) / size
        segment, edges = np.searchsorted(lines.edges, u), np.concatenate([[0.0], lines.edges, [1.0]])
        share = (u - edges[segment]) / (edges[segment + 1] - edges[segment])
        t = lines.invert(segment, share, np)
        return t, lines.log_height(segment, t)


@lru_cache(maxsize=32)
def ball_lines(envelope: Envelope, precision: int) -> Lines:  # noqa: ARG001
    """The lines in balls; to be called at that working precision."""
    return envelope.lines(BALLS, to_balls)


def build(
    concave: Concave,
    log_density: Callable[[Array], Array],
    growth: Callable[[float], Growth],
    unit: float,
    end: float,
) -> Envelope:
    """An envelope of exp(h + growth) on (0, end); growth(t) holds everywhere and should be sharp at t.

    `log_density` need only resemble the logarithm of the density, and `unit` its length, to place the edges.
    """
    low, high, log_mass = _bulk(log_density, unit, end)
    tail, inner = growth(np.inf), np.linspace(low, high, SEGMENTS + 1)
    near = _strides(lambda x: x > 0 and _log_head(concave, growth(x), x) > log_mass - LOG_DROP, low, 1 / STRIDE)
    far = _strides(lambda x: x < end and _log_tail(concave, tail, x) > log_mass - LOG_DROP, high, STRIDE)
    edges = np.unique(np.concatenate([[0.0], near, inner, np.minimum(far, end), [end]]))
    start, stop = edges[:-1], edges[1:]
    # The outermost lines touch where they meet the bulk, the others in the middle.
    first, last = (start == 0) & (low > 0), (stop == end) & (high < end)
    knot = np.where(first, stop, np.where(last, start, start + (np.where(last, start, stop) - start) / 2))
    growths = [growth(b if np.isinf(b) else k) for b, k in zip(stop, knot, strict=True)]
    return _without_level_lines(Envelope(concave, start, stop, knot, np.array(growths).T))


def _without_level_lines(envelope: Envelope) -> Envelope:
    """Knots moved where a line is so level that its sign, or a division by its slope, would be in doubt."""
    stop = np.where(np.isinf(envelope.stop), envelope.start, envelope.stop)
    length = stop - envelope.start
    slope = envelope._tangents(envelope.start, stop, envelope.knot, envelope.growth, np)[1]
    shift = np.where((np.abs(slope * length) < 1e-6) & (length > 0), 0.1 * length, 0.0)
    return Envelope(envelope.concave, envelope.start, envelope.stop, envelope.knot + shift, envelope.growth)


def _bulk(log_density: Callable[[Array], Array], unit: float, end: float) -> tuple[float, float, float]:
    """The interval that holds nearly all mass, and roughly the logarithm of the mass."""
    coarse = min(unit, end) * 2.0 ** np.arange(-OCTAVES, OCTAVES)
    centre = _most_massive(log_density, coarse[coarse < end])
    fine = centre * 2.0 ** np.linspace(-NEARBY, NEARBY, 2 * int(NEARBY) * PER_OCTAVE + 1)
    fine = fine[fine < end]
    values = log_density(fine)
    inside = np.flatnonzero(values > values.max() - LOG_DROP)
    low = float(fine[inside[0]]) if inside[0] > 0 else 0.0
    high = float(fine[inside[-1]]) if inside[-1] < len(fine) - 1 else min(end, float(fine[-1]) * 2 ** (1 / PER_OCTAVE))
    return low, high, float(values.max()) + np.log((high - low) / 4)


def _most_massive(log_density: Callable[[Array], Array], t: Array) -> float:
    return float(t[np.argmax(log_density(t) + np.log(t))])


def _strides(goes_on: Callable[[float], bool], edge: float, factor: float) -> list[float]:
    """Edges in a geometric progression from the bulk outwards."""
    edges = list[float]()
    while goes_on(edge):
        edge *= factor
        edges.append(edge)
    return edges


def _log_head(concave: Concave, growth: Growth, edge: float) -> float:
    """Logarithm of the mass up to `edge` under the line that touches there; inf if that does not rise."""
    value, slope = concave(np.float64(edge), np)
    rate = slope + growth.linear + growth.square * edge
    height = value + growth.constant + growth.linear * edge + growth.square * edge**2
    return float(height - np.log(rate)) if rate > 0 else np.inf


def _log_tail(concave: Concave, tail: Growth, edge: float) -> float:
    """Logarithm of the mass from `edge` on under the tangent there; inf if that does not fall."""
    value, slope = concave(np.float64(edge), np)
    rate = -(slope + tail.linear + 2 * tail.square * edge)
    height = value + tail.constant + tail.linear * edge + tail.square * edge**2
    return float(height - np.log(rate)) if rate > 0 else np.inf
