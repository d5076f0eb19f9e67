"""Noise scales from a guarantee and a sensitivity, and back, always rounded toward more noise.

On a statistic of sensitivity D, Gaussian noise of scale s is exactly (D/s)-GDP and isotropic Laplace noise is
(D/s)-DP; so the scale is D over the largest such parameter that implies the guarantee.
Proofs: docs/proofs/calibration.md.
"""

from __future__ import annotations

import math

from riemdp.errors import InputError, MechanismError
from riemdp.privacy.guarantee import GDP, RDP, ZCDP, ApproxDP, G, Guarantee, PureDP
from riemdp.privacy.guarantee import checked, gaussian_curve, largest_float, round_up
from riemdp.privacy.noise import working_precision


def gaussian_scale(guarantee: Guarantee, sensitivity: float, method: str = "analytic") -> float:
    """The least scale of Gaussian noise that gives the guarantee at this Euclidean sensitivity D.

    D/mu for GDP, D/sqrt(2 rho) for ZCDP, D sqrt(alpha/(2 epsilon)) for RDP; for ApproxDP the analytic Gaussian
    mechanism (Balle, Wang 2018, Theorem 8), or with method="classical" D sqrt(2 log(1.25/delta))/epsilon.
    """
    if method not in ("analytic", "classical"):
        raise InputError(f"method = {method!r} is unknown: give 'analytic' or 'classical'.")
    _refuse_pure(guarantee)
    scale = _scale(sensitivity, _largest(GDP, guarantee, _gaussian_guess(guarantee)))
    return max(scale, _classical_scale(guarantee, sensitivity)) if method == "classical" else scale


def laplace_scale(guarantee: Guarantee, sensitivity: float) -> float:
    """The least scale of isotropic Laplace noise, density ~ exp(-|x|/scale), whose PureDP implies the guarantee.

    D/epsilon for PureDP; for the others, D over the largest epsilon that the sound conversions allow.
    """
    return _scale(sensitivity, _largest(PureDP, guarantee, _laplace_guess(guarantee)))


def gaussian_guarantee(scale: float, sensitivity: float, like: G) -> G:
    """What Gaussian noise of this scale is proved to give, of like's type, at like's alpha or epsilon."""
    _refuse_pure(like)
    return GDP(_ratio(sensitivity, scale)).to_like(like)


def laplace_guarantee(scale: float, sensitivity: float, like: G) -> G:
    """What isotropic Laplace noise of this scale is proved to give, of like's type, at like's alpha or epsilon."""
    return PureDP(_ratio(sensitivity, scale)).to_like(like)


def _refuse_pure(guarantee: Guarantee) -> None:
    if isinstance(guarantee, PureDP):
        raise MechanismError(f"Gaussian noise cannot give {guarantee!r}: use wrapped-laplace, or ask for GDP.")


def _classical_scale(guarantee: Guarantee, sensitivity: float) -> float:
    """D sqrt(2 log(1.25/delta))/epsilon, 0 < epsilon < 1 (Dwork, Roth 2014, Theorem A.1)."""
    from flint import arb

    if not isinstance(guarantee, ApproxDP):
        raise MechanismError(f"method = 'classical' cannot give {guarantee!r}: use method = 'analytic'.")
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if epsilon >= 1:
        raise InputError(f"epsilon = {epsilon!r} is not below 1 as 'classical' needs: use method = 'analytic'.")
    return round_up(lambda: arb(sensitivity) * (2 * (arb(1.25) / delta).log()).sqrt() / epsilon)


def _scale(sensitivity: float, parameter: float) -> float:
    scale = _ratio(sensitivity, parameter)
    return checked("scale", scale)


def _ratio(sensitivity: float, divisor: float) -> float:
    """sensitivity/divisor, rounded up."""
    from flint import arb

    top, bottom = checked("sensitivity", sensitivity), checked("scale", divisor)
    ratio = round_up(lambda: arb(top) / bottom)
    if ratio == math.inf:
        raise InputError(f"sensitivity = {top!r} divided by {bottom!r} exceeds every float: rescale the data.")
    return ratio


def _largest(kind: type[GDP] | type[PureDP], guarantee: Guarantee, guess: float) -> float:
    """The largest parameter of a GDP or PureDP that implies the guarantee, searched for next to the guess."""
    near = [guess * (1 + 2.0**-50), guess * (1 - 2.0**-50)]
    return largest_float(lambda parameter: kind(parameter).implies(guarantee), *near)


def _gaussian_guess(guarantee: Guarantee) -> float:
    match guarantee:
        case GDP(mu):
            return mu
        case ZCDP(rho):
            return math.sqrt(2) * math.sqrt(rho)
        case RDP(alpha, epsilon):
            return math.sqrt(2) * math.sqrt(epsilon) / math.sqrt(alpha)
        case ApproxDP(epsilon, delta):
            return _analytic_guess(epsilon, delta)
    return 1.0


def _analytic_guess(epsilon: float, delta: float) -> float:
    """Newton's method for log delta as a function of log mu, which approaches from below."""
    from flint import arb

    with working_precision(192):
        goal = arb(delta).log()
        depth = (-2 * goal).sqrt()
        mu = 2 * epsilon / (depth + (depth**2 + 2 * epsilon).sqrt())  # the bound by way of zCDP
        for _ in range(40):
            reached = gaussian_curve(mu, arb(epsilon))
            slope = mu * (-((epsilon / mu - mu / 2) ** 2) / 2).exp() / (2 * arb.pi()).sqrt() / reached
            step = (goal - reached.log()) / slope
            mu = (mu * step.exp()).mid()
            if abs(step) < 2.0**-60:
                break
        return float(mu)


def _laplace_guess(guarantee: Guarantee) -> float:
    from flint import arb

    match guarantee:
        case PureDP(epsilon):
            return epsilon
        case GDP(mu):
            with working_precision(128):
                x = arb(mu) / arb(8).sqrt()
                return float(((-x).erfc() / x.erfc()).log())
        case ApproxDP(epsilon, delta):
            return epsilon + math.log1p(delta * math.exp(-epsilon)) - math.log1p(-delta)
    return 1.0
