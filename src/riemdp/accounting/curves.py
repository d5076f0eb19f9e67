"""What follows from what, as formulas: delta and divergences of the worst cases (docs/proofs/guarantees.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from riemdp.arithmetic import decimal, largest_float, nearest_float, round_up_decimal

if TYPE_CHECKING:
    from flint import arb


def gaussian_curve(mu: arb, epsilon: arb) -> arb:
    """delta of mu-GDP at a real epsilon: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    root = (0 * mu + 2).sqrt()
    most = ((epsilon / mu - mu / 2) / root).erfc()
    less = ((epsilon / mu + mu / 2) / root).erfc() * epsilon.exp()
    return (most - less if most - less < most else most) / 2  # the first term alone if the other overflows


def response_curve(epsilon: arb, at: arb) -> arb:
    """delta of randomised response at an epsilon below its own: (e^epsilon - e^at)/(1 + e^epsilon)."""
    return -(at - epsilon).expm1() / (1 + (-epsilon).exp())


def response_divergence(epsilon: arb, alpha: arb) -> arb:
    """log(cosh((2 alpha - 1) epsilon/2)/cosh(epsilon/2))/(alpha - 1): randomised response (Mironov 2017)."""
    excess = 2 * (alpha * epsilon / 2).sinh() * ((alpha - 1) * epsilon / 2).sinh() / (epsilon / 2).cosh()
    return excess.log1p() / (alpha - 1)


def renyi_delta(rho: Fraction, constant: Fraction, order: float, epsilon: Fraction) -> float:
    """The least delta at epsilon that follows from a Rényi divergence of at most rho alpha + constant, alpha <= order.

    The bound is convex in beta = alpha - 1; a float search picks beta next to where its derivative vanishes.
    """
    slope, gap = nearest_float(rho), nearest_float(epsilon - constant)

    def steepness(beta: float) -> float:
        room = gap + math.log1p(1 / beta)
        return (2 * beta + 1) * slope / room if room > 0 else math.inf

    best = min(Fraction(largest_float(steepness, 1.0)), decimal(order) - 1 if order < math.inf else math.inf)
    if best == 0:
        return 1.0
    numbers = Fraction(best), rho, epsilon - constant
    return min(1.0, round_up_decimal(lambda b, rho, gap: _renyi_curve(b, (1 + b) * rho - gap), *numbers))


def _renyi_curve(beta: arb, excess: arb) -> arb:
    """delta from a Rényi divergence epsilon + excess of order 1 + beta (Canonne, Kamath, Steinke 2020)."""
    return (beta * (excess - (1 / beta).log1p()) - beta.log1p()).exp()
