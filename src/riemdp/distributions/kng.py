"""K-norm gradient law: density ∝ exp(-‖grad F(x)‖/scale) dvol, F(x) = 1/(2n) sum rho(x, x_i)² (Soto et al. 2022).

Exact rejection, no Markov chain. A candidate is exp_c(t v), c any point near the mean. Along that geodesic
‖grad F‖ >= l(t), from lower bounds on the Hessian of F. So t is drawn from t^(d-1) J exp(-l(t)/scale), cell by cell
from a line above its logarithm, and accepted with what the lines and l gave away (docs/proofs/kng.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.arguments import finite_number
from riemdp.distributions.envelope import Envelope
from riemdp.distributions.riemannian import is_radial, laplace_limit
from riemdp.errors import InputError, MechanismError
from riemdp.kernels.constants import SMALLEST_NORMAL
from riemdp.kernels.spectral import without_waiting
from riemdp.kernels.threads import map_ranges, one_blas_thread
from riemdp.manifolds.base import Space
from riemdp.manifolds.capabilities import GradientBounds, VolumeDensity
from riemdp.manifolds.scalars import norm
from riemdp.randomness import Randomness

Array = NDArray[Any]

# Cells over all distances, and again over the bulk of their law; the Hessian is bounded anew FINE times in each.
CELLS, FINE = 64, 8
SMALLEST = 1e-7  # where the bulk may begin, relative to the largest distance
# The bulk: where the logarithm of the density of t is within this of its largest value.
DEPTH = 30.0
# Coordinates of logarithms, and candidates, handled at a time.
NUMBERS, LARGEST_BATCH = 2**20, 2**15
# What `expected_trials` supposes and tries.
PILOT_PAIRS, PILOT_CANDIDATES, PILOT_NUMBERS = 32, 1024, 2**20


class KNG:
    """The K-norm gradient law of records around the origin, within `radius` of it (inf: everywhere).

    `points` and `centre` are in the form of the space's primitives. If the ball is finite, it is smaller than the
    uniqueness radius and holds the records. The law does not depend on `centre`, only the acceptance does.
    """

    def __init__(self, space: Space, points: Array, centre: Array, scale: float, radius: float) -> None:
        _check(space, scale, radius)
        self._space, self._points, self._scale, self._radius = space, points, float(scale), float(radius)
        self._volume, self._bounds = space.capability(VolumeDensity), space.capability(GradientBounds)
        self._origin = space.read(space.origin, "origin")
        self._centre = _pulled_inside(space, self._origin, centre, self._radius)
        self._inwards = space.log_coords(self._origin, self._centre)
        with one_blas_thread():  # of many small products, and eigenvalues of small matrices
            self._cells = self._make_cells()
        self._trials = self._accepted = 0

    @property
    def acceptance(self) -> float:
        """Share of the candidates that were accepted, so far."""
        return self._accepted / max(1, self._trials)

    def sample(self, size: int, rng: Randomness) -> Array:
        """`size` independent exact draws, as points in the form of the space's primitives."""
        drawn, missing = [self._points[:0]], size
        while missing > 0:
            patience = -np.log1p(-rng.random(self._batch(missing)))
            candidates, cost = self._candidates(patience, rng)
            places = np.flatnonzero(cost <= patience)[:missing]
            missing -= len(places)
            self._trials += len(patience) if missing else int(places[-1]) + 1
            self._accepted += len(places)
            drawn.append(candidates[places])
        return np.concatenate(drawn)

    def trials(self, candidates: int, rng: Randomness) -> float:
        """Expected number of candidates per draw, estimated from a few."""
        _, cost = self._candidates(np.full(candidates, np.inf), rng)
        return float(1 / max(np.exp(-cost).mean(), SMALLEST_NORMAL))

    def _batch(self, missing: int) -> int:
        """Candidates to look at next: a little more than needed at the acceptance so far."""
        guess = (self._accepted + 1) / (self._trials + 2)
        fewest = min(64, max(2, NUMBERS // (len(self._points) * self._space.dim)))
        return int(min(LARGEST_BATCH, max(fewest, 1.1 * missing / guess)))

    def _candidates(self, patience: Array, rng: Randomness) -> tuple[Array, Array]:
        """Candidates, and minus the logarithm of the probability to accept each.

        Gradients take the most time: they are computed only where the rest does not exceed `patience` already.
        """
        cell, t = self._cells.draw(len(patience), rng)
        coords, cost = self._vectors(cell, t, rng)
        with np.errstate(all="ignore"):
            candidates = self._space.exp_coords(coords, self._centre)
        cost += self._cells.excess(cell, t, self._scale)
        if not is_radial(self._space):
            cost -= self._volume.log_density(coords)
        cost[~(self._space.distance(self._origin, candidates) <= self._radius)] = np.inf  # or beyond float64
        left = np.flatnonzero((cost <= patience) & (cost < np.inf))
        slack = self._gradient_norms(candidates[left]) - self._cells.lower_bound(cell[left], t[left])
        cost[left] += np.maximum(slack, 0.0) / self._scale  # below 0 is rounding
        return candidates, cost

    def _gradient_norms(self, candidates: Array) -> Array:
        def task(i: int, j: int) -> Array:
            return self._bounds.gradient_norms(self._points, candidates[i:j])

        grain = max(1, NUMBERS // (len(self._points) * self._space.dim))
        with one_blas_thread():
            return np.concatenate([np.zeros(0), *map_ranges(task, len(candidates), grain)])

    def _vectors(self, cell: Array, t: Array, rng: Randomness) -> tuple[Array, Array]:
        """Coordinates of length t, in a uniform direction or within the cell's cap; and what the cap gave away."""
        normal = rng.standard_normal((len(t), self._space.dim))
        chosen = np.flatnonzero(self._cells.caps.is_narrow[cell])
        cost = np.zeros(len(t))
        if len(chosen):
            axis = self._inwards / norm(self._inwards)
            cosine, cost[chosen] = self._cells.caps.draw(cell[chosen], rng)
            aside = normal[chosen] - (normal[chosen] @ axis)[:, None] * axis
            aside *= (np.sqrt(1 - cosine**2) / norm(aside))[:, None]
            normal[chosen] = aside + cosine[:, None] * axis
        return normal * (t / norm(normal))[:, None], cost

    # --- the law of t ---------------------------------------------------------------------------------------

    def _make_cells(self) -> _Cells:
        """Cells over all distances t of candidates to the centre, fine where t has its mass."""
        stop = self._radius + float(norm(self._inwards))
        far = min(stop, self._tail(stop))
        steps = np.append(SMALLEST ** np.linspace(1, 0, FINE, endpoint=False), np.linspace(0, 1, FINE + 1)[1:])
        floor = self._floor(np.unique(np.append(far * steps, stop)))
        low, high = self._bulk(np.geomspace(SMALLEST * far, far, 2048), floor)
        floor = floor.joined(self._floor(np.linspace(low, high, FINE + 1)[1:]))
        cells = [np.linspace(low, high, CELLS + 1), np.linspace(0.0, far, CELLS + 1)]
        return self._fill(np.unique(np.concatenate([floor.knots, *cells])), floor, (low, high))

    def _fill(self, edges: Array, floor: _Floor, bulk: tuple[float, float]) -> _Cells:
        """Lines above the logarithms of all factors; that of the area touches it as near to the bulk as it can."""
        start, stop = edges[:-1], edges[1:]
        knot = np.clip(np.clip((start + stop) / 2, *bulk), start, stop)
        (value, rise), caps = floor.on(edges, self._scale), self._caps(start)
        growth = self._growth(np.where(np.isinf(stop), stop, knot))
        growth[0] += caps.log_share - (value - rise * start) / self._scale
        growth[1] -= rise / self._scale
        return _Cells(Envelope(self._log_area, start, stop, knot, growth), value, rise, caps)

    def _log_area(self, t: Any, m: Any) -> tuple[Any, Any]:
        """Logarithm of t^(d-1), times J where that depends on t alone, and its derivative: concave."""
        power = self._space.dim - 1
        return self._volume.log_area(t, m) or (power * m.log(t), power / t)

    def _growth(self, t: Array) -> Array:
        """Parabolas (constant, linear, square) above log J(v), each sharp where |v| = t; 0 where J is in the area."""
        if is_radial(self._space):
            return np.zeros((3, len(t)))
        return np.array([self._volume.volume_growth(x) for x in t.tolist()]).T

    def _tail(self, stop: float) -> float:
        """A distance beyond which hardly any candidate falls, if the bound on the Hessian allows to say so."""
        d, floor = self._space.dim, self._floor(np.array([stop]))
        rate = floor.rises[0] / self._scale - self._volume.growth_rate
        return (d + 12 * math.sqrt(d) + 40) / rate + floor.gap if rate > 0 else math.inf

    def _floor(self, knots: Array) -> _Floor:
        gap = float(self._bounds.gradient_norms(self._points, self._centre[None])[0])
        rises = self._bounds.hessian_floor(self._points, self._centre, knots, 2 * self._radius)
        return _Floor(knots, rises, gap, *_flow_bound(self._space, self._radius))

    def _caps(self, t: Array) -> _Caps:
        k_max = self._space.curvature_bounds[1]
        return _caps(t, float(norm(self._inwards)), self._radius, math.sqrt(max(k_max, 0.0)), self._space.dim)

    def _bulk(self, t: Array, floor: _Floor) -> tuple[float, float]:
        """An interval that holds nearly all mass of t."""
        constant, linear, square = self._growth(floor.knots)[:, :, None]
        volume = (constant + linear * t + square * t * t).min(axis=0)
        lost = np.maximum.reduce([floor.along(t), floor.afar(t), 0 * t]) / self._scale
        height = self._log_area(t, np)[0] + volume + self._caps(t).log_share - lost + np.log(t)  # mass per octave
        inside = t[height > height.max() - DEPTH]
        return float(inside[0]), float(inside[-1])


@dataclass(frozen=True)
class _Floor:
    """Lower bounds on ‖grad F‖ at distance t from the centre, where it is `gap`; the largest of three counts.

    From the Hessian: -gap at 0, then of slope rises[j] up to knots[j], increasing. From the ball: the flow of
    the gradient leads to the mean, and along it ‖grad F‖ grows by at least h - T‖grad F‖ per length, so that it is at
    least limit (1 - exp(-T t)), limit = h/T, if the centre is the mean. And 0.
    """

    knots: Array
    rises: Array
    gap: float
    limit: float
    rate: float  # T

    def joined(self, other: _Floor) -> _Floor:
        """The same floor with the knots of both."""
        knots, rises = np.append(self.knots, other.knots), np.append(self.rises, other.rises)
        order = np.argsort(knots, kind="stable")
        return replace(self, knots=knots[order], rises=rises[order])

    def along(self, t: Array) -> Array:
        """From the Hessian along the geodesic, up to the last finite knot."""
        finite = np.isfinite(self.knots)
        nodes = np.append(0.0, self.knots[finite])
        values = np.append(0.0, np.cumsum(self.rises[finite] * np.diff(nodes)))
        return np.asarray(np.interp(t, nodes, values) - self.gap)

    def afar(self, t: Array) -> Array:
        """From the ball, concave in t; where it says nothing, so little that it does not count."""
        if not self.gap < self.limit:
            return np.full_like(t, -1e300)
        lost = self.gap / (1 - self.gap / self.limit)  # 1 - e^(-T t) by itself: in a small ball the limit is huge
        return np.asarray(-self.limit * np.expm1(-self.rate * t) - lost * np.exp(-self.rate * t))

    def on(self, edges: Array, scale: float) -> tuple[Array, Array]:
        """The bound at the start of each cell, and its slope there; the cells' edges include the knots.

        The 0 has a touch of slope downwards, since no line of an envelope may be level.
        """
        start, stop, width = edges[:-1], edges[1:], np.diff(edges)
        afar = self.afar(start)
        values = np.array([self.along(start), afar, np.zeros_like(start)])
        rises = np.array(
            [
                self.rises[np.searchsorted(self.knots, stop)],
                (self.afar(stop) - afar) / width,
                -1e-6 * scale / width,
            ]
        )
        least = np.minimum(values, values + rises * np.where(np.isinf(width), 0.0, width))
        best = np.argmax(least, axis=0)[None]
        return np.take_along_axis(values, best, 0)[0], np.take_along_axis(rises, best, 0)[0]


@dataclass(frozen=True)
class _Cells:
    """The law of t in cells: t^(d-1) exp(-l(t)/scale) times bounds on J and on the share of directions to try."""

    envelope: Envelope
    value: Array  # l at the start of the cell
    rise: Array  # its slope
    caps: _Caps

    def draw(self, size: int, rng: Randomness) -> tuple[Array, Array]:
        """Cells by their masses, and t within each."""
        lines = self.envelope.float_lines
        cell = np.searchsorted(lines.edges, rng.random(size))
        return cell, lines.invert(cell, rng.random(size), np)

    def excess(self, cell: Array, t: Array, scale: float) -> Array:
        """By how much the line is above the logarithm of the law of t, the bound on J left out."""
        area, _ = self.envelope.concave(np.maximum(t, SMALLEST_NORMAL), np)
        law = area - self.lower_bound(cell, t) / scale + self.caps.log_share[cell]
        return np.asarray(self.envelope.float_lines.log_height(cell, t) - law)

    def lower_bound(self, cell: Array, t: Array) -> Array:
        """l(t), the lower bound on the norm of the gradient at distance t."""
        return np.asarray(self.value[cell] + self.rise[cell] * (t - self.envelope.start[cell]))


@dataclass(frozen=True)
class _Caps:
    """Directions that can lead into the ball from cells far from its centre: the angle to the centre has cosine
    >= least. The cosine z has density ∝ (1 - z²)^power, below the exponential that touches it at `pivot`.
    """

    least: Array
    pivot: Array
    rate: Array
    log_share: Array  # of the exponential's mass beyond `least`; 0 if all directions are tried
    power: float

    @property
    def is_narrow(self) -> Array:
        """Cells in which only the cap is tried."""
        return self.log_share < 0

    def draw(self, cell: Array, rng: Randomness) -> tuple[Array, Array]:
        """Cosines, and what the exponential gave away there."""
        pivot, rate = self.pivot[cell], self.rate[cell]
        z = self.least[cell] - np.log1p(-rng.random(len(cell))) / rate
        inside = np.minimum(z, 1 - 2.0**-53)
        cost = self.power * np.log((1 - pivot**2) / (1 - inside**2)) - rate * (z - pivot)
        return inside, np.where(z < 1, cost, np.inf)


def _caps(t: Array, distance: float, radius: float, s: float, dim: int) -> _Caps:
    """Caps for candidates at least t from the centre c of the law, c at `distance` from the ball's centre m0.

    By the hinge comparison for curvature at most s², rho(x, m0) <= radius implies, with z the cosine at c,
    cos(radius s) <= cos(distance s) cos(t s) + z sin(distance s) sin(t s).
    """
    power, none = (dim - 3) / 2, np.zeros(len(t))
    if not (power > 0 and s > 0 and distance > 0):
        return _Caps(none, none, none, none, power)
    e, r, x = (np.sin(np.asarray(y) * s / 2) ** 2 for y in (distance, radius, t))
    gap = 2 * (e + x - 2 * e * x - r)  # cos(radius s) - cos(distance s) cos(t s), without cancellation
    least = np.clip(gap / np.maximum(math.sin(distance * s) * np.sin(t * s), SMALLEST_NORMAL), 0.0, 1 - 1e-9)
    pivot = np.minimum((least + np.sqrt(least**2 + 2 / power)) / 2, (1 + least) / 2)
    rate = 2 * power * pivot / (1 - pivot**2)
    constant = math.lgamma(dim / 2) - math.lgamma((dim - 1) / 2) - math.log(math.pi) / 2
    log_share = constant + power * np.log1p(-(pivot**2)) + rate * (pivot - least) - np.log(rate)
    return _Caps(least, pivot, rate, np.where(least > 0, np.minimum(log_share, 0.0), 0.0), power)


def _flow_bound(space: Space, radius: float) -> tuple[float, float]:
    """(h/T, T), h = rs cot(rs) and T = s tan(rs) with s = sqrt(k_max): Hess F >= h - T‖grad F‖ on the ball; or 0, 0."""
    s = math.sqrt(max(space.curvature_bounds[1], 0.0))
    if s == 0:
        return 0.0, 0.0
    tangent = math.tan(radius * s)
    return radius * s / tangent / (s * tangent), s * tangent


def _check(space: Space, scale: float, radius: float) -> None:
    """The law exists: it lives in a ball, or exp(-rho/scale) has a finite integral."""
    if not finite_number(scale, "scale") > 0:
        raise InputError(f"scale = {scale!r}: pass a positive number.")
    if not 0 < radius < space.uniqueness_radius and radius != math.inf:
        raise InputError(f"radius = {radius!r}: pass a number between 0 and {space.uniqueness_radius:.6g}, or inf.")
    if radius == math.inf and space.curvature_bounds[1] > 0:
        raise InputError(f"radius = inf: in positive curvature, as in {space!r}, pass the radius of the public ball.")
    if radius == math.inf and not scale < laplace_limit(space):
        raise MechanismError(
            f"scale = {scale:.4g}: the K-norm gradient law of {space!r} exists only below {laplace_limit(space):.4g}; "
            "use more records, a larger epsilon, a smaller ball, or mechanism='wrapped-laplace'."
        )


def _pulled_inside(space: Space, origin: Array, centre: Array, radius: float) -> Array:
    """The centre, moved to the ball if it is outside by a little."""
    coords = space.log_coords(centre, origin)
    return space.exp_coords(coords * min(1.0, radius / max(float(norm(coords)), SMALLEST_NORMAL)), origin)


@lru_cache(maxsize=256)
def expected_trials(space: Space, n: int, radius: float, scale: float) -> float:
    """Candidates per draw to expect, from public numbers only: the more of two hypothetical sets of records.

    All records are at distance `radius` from the origin, in opposite pairs, so that it is their mean: in random
    directions, or all on one geodesic, where shapes and hyperbolic space are at their worst.
    """
    with without_waiting():
        return max(_pilot(space, pairs, radius, scale) for pairs in {1, min(n // 2 + 1, PILOT_PAIRS)})


def _pilot(space: Space, pairs: int, radius: float, scale: float) -> float:
    rng, origin = np.random.default_rng(0), space.read(space.origin, "origin")
    direction = rng.standard_normal((pairs, space.dim))
    direction *= radius / norm(direction)[:, None]
    points = space.exp_coords(np.concatenate([direction, -direction]), origin)
    ball = radius if space.curvature_bounds[1] > 0 else math.inf
    candidates = max(64, min(PILOT_CANDIDATES, PILOT_NUMBERS // space.dim))
    return KNG(space, points, origin, scale, ball).trials(candidates, rng)
