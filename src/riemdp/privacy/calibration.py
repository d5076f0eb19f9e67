"""Noise scales from a guarantee and a sensitivity, and back, always rounded toward more noise.

On a statistic of sensitivity D, Gaussian noise of scale s is exactly (D/s)-GDP and isotropic Laplace noise is
(D/s)-DP; so the scale is D over the largest such parameter that implies the guarantee.
Proofs: docs/proofs/calibration.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from riemdp.accounting.guarantee import GDP, ApproxDP, G, Guarantee, PureDP, checked
from riemdp.arithmetic import decimal, largest_float, least_decimal, least_float, round_up
from riemdp.errors import InputError, MechanismError


def gaussian_scale(guarantee: Guarantee, sensitivity: float, method: str = "analytic") -> float:
    """The least scale of Gaussian noise that gives the guarantee at this Euclidean sensitivity D.

    D/mu for GDP, D/sqrt(2 rho) for ZCDP, D sqrt(alpha/(2 epsilon)) for RDP; for ApproxDP that of the analytic
    mechanism (Balle, Wang 2018, Theorem 8) or, with method="classical", D sqrt(2 log(1.25/delta))/epsilon.
    """
    if method not in ("analytic", "classical"):
        raise InputError(f"method = {method!r} is unknown: give 'analytic' or 'classical'.")
    _refuse_pure(guarantee)
    scale = _scale(sensitivity, _largest(GDP, guarantee))
    return max(scale, _classical_scale(guarantee, sensitivity)) if method == "classical" else scale


def laplace_scale(guarantee: Guarantee, sensitivity: float) -> float:
    """The least scale of isotropic Laplace noise, density ~ exp(-|x|/scale), whose PureDP is enough.

    D/epsilon for PureDP; for the others D over the largest epsilon that the sound conversions allow.
    """
    return _scale(sensitivity, _largest(PureDP, guarantee))


def gaussian_guarantee(scale: float, sensitivity: float, like: G) -> G:
    """What Gaussian noise of this scale is proved to give, of like's type, at like's alpha or epsilon."""
    _refuse_pure(like)
    return GDP(_strength(sensitivity, scale)).to_like(like)


def laplace_guarantee(scale: float, sensitivity: float, like: G) -> G:
    """What isotropic Laplace noise of this scale is proved to give, as `gaussian_guarantee` does."""
    return PureDP(_strength(sensitivity, scale)).to_like(like)


def _refuse_pure(guarantee: Guarantee) -> None:
    """Losses of Gaussian noise have no bound, so it gives no pure guarantee at any scale."""
    if isinstance(guarantee, PureDP):
        raise MechanismError(f"Gaussian noise never gives {guarantee!r}: use wrapped-laplace or ask for GDP.")


def _classical_scale(guarantee: Guarantee, sensitivity: float) -> float:
    """D sqrt(2 log(1.25/delta))/epsilon (Dwork, Roth 2014, Theorem A.1), only for epsilon < 1."""
    if not isinstance(guarantee, ApproxDP):
        raise MechanismError(f"method = 'classical' cannot give {guarantee!r}: use method = 'analytic'.")
    if guarantee.epsilon >= 1:
        raise InputError(f"epsilon = {guarantee.epsilon!r} is not below 1: use method = 'analytic'.")
    numbers = sensitivity, decimal(guarantee.epsilon), decimal(guarantee.delta)
    return round_up(lambda top, e, delta: top * (2 * (1.25 / delta).log()).sqrt() / e, *numbers)


def _scale(sensitivity: float, strength: float) -> float:
    """The least scale that is not below sensitivity/strength, where a strength means its decimal."""
    top = checked("sensitivity", sensitivity)
    return _within_floats(top, strength, least_float(Fraction(top) / decimal(strength)))


def _strength(sensitivity: float, scale: float) -> float:
    """The least strength whose decimal is not below sensitivity/scale."""
    top, bottom = checked("sensitivity", sensitivity), checked("scale", scale)
    return _within_floats(top, bottom, least_decimal(Fraction(top) / Fraction(bottom)))


def _within_floats(top: float, bottom: float, ratio: float) -> float:
    """The ratio of the two, unless it is beyond all floats."""
    if ratio == math.inf:
        raise InputError(f"sensitivity = {top!r} over {bottom!r} exceeds every float: rescale the data.")
    return ratio


@lru_cache(maxsize=1024)
def _largest(kind: type[GDP | PureDP], guarantee: Guarantee) -> float:
    """The largest parameter of a GDP or PureDP that implies the guarantee."""
    if not isinstance(guarantee, Guarantee):
        raise InputError(f"guarantee = {guarantee!r} is not a guarantee: give for example GDP(1.0).")
    *_, goal = guarantee.parameters.values()
    guess = goal
    if isinstance(guarantee, ApproxDP):  # from below: a pure epsilon, and the mu that the bound through zCDP allows
        e, depth = guarantee.epsilon, math.sqrt(-2 * math.log(guarantee.delta))
        guess = e if kind is PureDP else 2 * e / (depth + math.hypot(depth, math.sqrt(2 * e)))
    return largest_float(lambda x: kind(x).least_strength(guarantee), goal, 1.5 * guess, guess)
