"""How fast volume can grow: proved bounds of the form log J(v) <= a + b|v| + c|v|².

All rest on one function, f(x) = log(sinh(x)/x), with f'(x) = coth x - 1/x, and on curvature(p) = (p f'(p) - f(p))/p².
For p >= p0 > 0 and every x >= 0 (docs/proofs/riemannian_laws.md, section 2)

    f(x) <= p² (curvature(p0) - curvature(p)) + (f'(p) - 2 curvature(p0) p) x + curvature(p0) x²,

with equality at x = p if p = p0. The bounds are computed in ball arithmetic and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from riemdp.arithmetic import working_precision
from riemdp.manifolds.scalars import Array, log_sinhc

if TYPE_CHECKING:
    from flint import arb

# Curvatures are floats; this factor makes up for their rounding.
MARGIN = 1 + 2.0**-40
# Reference lengths are powers of 2^(1/8), so that few bounds serve all scales.
PER_OCTAVE = 8
# Candidates of p0, in units of k equal gaps, and of the shape of the reference eigenvalues sign(x)|x|^shape.
CUTS = np.geomspace(0.2, 0.9, 12)[:, None, None]
SHAPES = (0.36, 0.6, 1.0)


class Growth(NamedTuple):
    """log J(v) <= constant + linear |v| + square |v|² for every tangent vector v."""

    constant: float
    linear: float
    square: float


def comparison_growth(power: int, curvature: float, t: float) -> Growth:
    """Bishop's comparison, J(v) <= J of constant curvature, for sectional curvatures >= curvature; sharp at |v| = t.

    It is sinhc(s|v|)^power with s = sqrt(-curvature), or at most exp(-power curvature |v|²/6) if curvature >= 0.
    """
    speed = MARGIN * math.sqrt(max(-curvature, 0.0))
    if speed == 0 or power == 0:
        return Growth(0.0, 0.0, -power * max(curvature, 0.0) / 6 / MARGIN)
    if math.isinf(t):
        return Growth(0.0, MARGIN * power * speed, 0.0)
    linear, square = _through_origin(_octave(t * speed))
    return Growth(0.0, MARGIN * power * speed * linear, MARGIN * power * speed**2 * square)


def affine_growth(k: int, t: float) -> Growth:
    """For SPD(k) with the affine-invariant metric, close to the best where |v| = t."""
    return Growth(0.0, affine_rate(k), 0.0) if k == 1 or math.isinf(t) else _affine_growth(k, _octave(t))


def affine_rate(k: int) -> float:
    """sqrt(k(k² - 1)/12), not rounded down: the exponential rate at which the volume of SPD(k) grows."""
    return MARGIN * math.sqrt(k * (k * k - 1) / 12)


def product_growth(factors: Iterable[Growth]) -> Growth:
    """By the Cauchy-Schwarz inequality, from the growth of each factor."""
    constants, slopes, squares = zip(*factors, strict=True)
    return Growth(MARGIN * sum(constants), MARGIN * math.hypot(*slopes), max(squares))


def _octave(t: float) -> int:
    return round(PER_OCTAVE * math.log2(t))


@cache
def _through_origin(octave: int) -> tuple[float, float]:
    """(b, c) with f(x) <= b x + c x², an equality where x is the reference."""
    x = 2 ** (octave / PER_OCTAVE)
    with working_precision(_enough_bits(x)):
        _, linear, square = _parabola(x, x)
        return _rounded_up(linear), _rounded_up(square)


@cache
def _affine_growth(k: int, octave: int) -> Growth:
    """From reference eigenvalues r of norm t: the pair (i, j) is referred to p = max(|r_i - r_j|/2, p0).

    The parabolas add up to constant + <pull, eigenvalues> + square k (their norm)²/4, if sorted like r.
    """
    from flint import arb

    half_gaps, p0 = _best_reference(k, 2 ** (octave / PER_OCTAVE))
    p = np.maximum(half_gaps, p0).tolist()
    with working_precision(_enough_bits(p0)):
        parabolas = {x: _parabola(x, p0) for row in p for x in row}
        halves = [[parabolas[x][1] / 2 for x in row] for row in p]
        pulls = [sum(row[:i], start=arb(0)) - sum(row[i + 1 :], start=arb(0)) for i, row in enumerate(halves)]
        constant = sum((parabolas[x][0] for i, row in enumerate(p) for x in row[:i]), start=arb(0))
        linear = sum((pull * pull for pull in pulls), start=arb(0)).sqrt()
        return Growth(_rounded_up(constant), _rounded_up(linear), _rounded_up(k * parabolas[p0][2] / 4))


def _best_reference(k: int, t: float) -> tuple[Array, float]:
    """The half gaps |r_i - r_j|/2 and the p0, among the candidates, with the least bound at |v| = t; in float64."""
    equal, cuts = np.linspace(-1.0, 1.0, k), CUTS * t * math.sqrt(3 * k / (k * k - 1))
    references = [_half_gaps(np.sign(equal) * np.abs(equal) ** shape, t) for shape in SHAPES]
    bounds = np.array([_float_bounds(half_gaps, cuts, t) for half_gaps in references])
    shape, cut = np.unravel_index(bounds.argmin(), bounds.shape)
    return references[shape], float(cuts[cut, 0, 0])


def _half_gaps(values: Array, t: float) -> Array:
    scaled = values * (t / np.linalg.norm(values))
    return np.asarray(np.abs(scaled[:, None] - scaled) / 2)


def _float_bounds(half_gaps: Array, cuts: Array, t: float) -> Array:
    """constant + linear t + square t² of `_affine_growth` for several p0, along the first axis."""
    k, p, square = len(half_gaps), np.maximum(half_gaps, cuts), _curvature(cuts)
    sign = np.sign(np.arange(k)[:, None] - np.arange(k))
    constant = (p * p * (square - _curvature(p))).sum(axis=(1, 2)) / 2
    pull = (sign * (_slope(p) - 2 * square * p)).sum(axis=2) / 2
    return np.asarray(constant + np.linalg.norm(pull, axis=1) * t + k * square[:, 0, 0] * t * t / 4)


def _slope(x: Array) -> Array:
    """f'(x); its series where the difference would cancel."""
    safe = np.maximum(x, 1e-3)
    return np.where(x < 1e-3, x / 3, 1 / np.tanh(safe) - 1 / safe)


def _curvature(x: Array) -> Array:
    safe = np.maximum(x, 3e-3)
    return np.where(x < 3e-3, 1 / 6 - x * x / 60, (safe * _slope(safe) - log_sinhc(safe)) / safe**2)


def _parabola(p: float, p0: float) -> tuple[arb, arb, arb]:
    """(a, b, c) with f(x) <= a + b x + c x² for every x >= 0, given p >= p0 > 0: as in the module's text."""
    from flint import arb

    x, (slope, curvature), (_, square) = arb(p), _slope_and_curvature(p), _slope_and_curvature(p0)
    constant = x * x * (square - curvature) if p > p0 else arb(0)
    return constant, slope - 2 * square * x, square


def _slope_and_curvature(p: float) -> tuple[arb, arb]:
    from flint import arb

    x = arb(p)
    slope = x.coth() - 1 / x
    return slope, (x * slope - (x.sinh() / x).log()) / (x * x)


def _enough_bits(x: float) -> int:
    """The formulas cancel like x⁴."""
    return 128 + 4 * max(0, -math.frexp(x)[1])


def _rounded_up(ball: arb) -> float:
    """A float that is not below any number of the ball."""
    nearest = float(ball.upper())
    return nearest if nearest >= ball else math.nextafter(nearest, math.inf)
