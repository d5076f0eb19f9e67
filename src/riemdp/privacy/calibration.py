"""Noise scales from a guarantee and a sensitivity, and back, always rounded toward more noise.

On a statistic of sensitivity D, Gaussian noise of scale s is exactly (D/s)-GDP, and isotropic Laplace noise is
(D/s)-DP; so the scale is D over the largest such parameter that implies the guarantee.
Proofs: docs/proofs/calibration.md.
"""

from __future__ import annotations

import math

from riemdp.errors import InputError, MechanismError
from riemdp.privacy.guarantee import (
    GDP,
    ApproxDP,
    G,
    Guarantee,
    PureDP,
    checked,
    gaussian_curve,
    largest_float,
    least_strength,
    round_up,
)
from riemdp.privacy.noise import working_precision


def gaussian_scale(guarantee: Guarantee, sensitivity: float, method: str = "analytic") -> float:
    """The least scale of Gaussian noise that gives the guarantee at this Euclidean sensitivity D.

    D/mu for GDP, D/sqrt(2 rho) for ZCDP, D sqrt(alpha/(2 epsilon)) for RDP; for ApproxDP the analytic Gaussian
    mechanism (Balle, Wang 2018, Theorem 8), or with method="classical" D sqrt(2 log(1.25/delta))/epsilon.
    """
    if method not in ("analytic", "classical"):
        raise InputError(f"method = {method!r} is unknown: give 'analytic' or 'classical'.")
    _refuse_pure(guarantee)
    guess = _analytic_guess(guarantee) if isinstance(guarantee, ApproxDP) else 1.0
    scale = _ratio(sensitivity, _largest(GDP, guarantee, guess))
    return max(scale, _classical_scale(guarantee, sensitivity)) if method == "classical" else scale


def laplace_scale(guarantee: Guarantee, sensitivity: float) -> float:
    """The least scale of isotropic Laplace noise, density ~ exp(-|x|/scale), whose PureDP implies the guarantee.

    D/epsilon for PureDP; for the others D over the largest epsilon that the sound conversions allow.
    """
    guess = guarantee.epsilon if isinstance(guarantee, PureDP | ApproxDP) else 1.0
    return _ratio(sensitivity, _largest(PureDP, guarantee, guess))


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
    """D sqrt(2 log(1.25/delta))/epsilon (Dwork, Roth 2014, Theorem A.1), only for epsilon < 1."""
    from flint import arb

    if not isinstance(guarantee, ApproxDP):
        raise MechanismError(f"method = 'classical' cannot give {guarantee!r}: use method = 'analytic'.")
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if epsilon >= 1:
        raise InputError(f"epsilon = {epsilon!r} is not below 1, as 'classical' needs: use method = 'analytic'.")
    return round_up(lambda: arb(sensitivity) * (2 * (arb(1.25) / delta).log()).sqrt() / epsilon)


def _ratio(sensitivity: float, scale: float) -> float:
    """sensitivity/scale, rounded up; a scale is as well the ratio of the sensitivity to a mu or an epsilon."""
    from flint import arb

    top, bottom = checked("sensitivity", sensitivity), checked("scale", scale)
    ratio = round_up(lambda: arb(top) / bottom)
    if ratio == math.inf:
        raise InputError(f"sensitivity = {top!r} divided by {bottom!r} exceeds every float: rescale the data.")
    return ratio


def _largest(kind: type[GDP | PureDP], guarantee: Guarantee, guess: float) -> float:
    """The largest parameter of a GDP or PureDP that implies the guarantee, looked for near the guess first."""
    *_, goal = guarantee.parameters.values()
    probes = guess * (1 + 2.0**-50), guess * (1 - 2.0**-50)
    return largest_float(lambda parameter: least_strength(kind(parameter), guarantee), goal, *probes)


def _analytic_guess(guarantee: ApproxDP) -> float:
    """The mu with delta_mu(epsilon) = delta, by Newton's method for log delta_mu in log mu, from below."""
    from flint import arb

    with working_precision(128):
        epsilon, goal = arb(guarantee.epsilon), arb(guarantee.delta).log()
        depth = (-2 * goal).sqrt()
        mu = 2 * epsilon / (depth + (depth**2 + 2 * epsilon).sqrt())  # the mu that zCDP would allow
        for _ in range(40):
            found = gaussian_curve(mu, epsilon)
            slope = mu * (-((epsilon / mu - mu / 2) ** 2) / 2).exp() / (2 * arb.pi()).sqrt() / found
            step = (goal - found.log()) / slope
            mu = (mu * step.exp()).mid()
            if abs(step) < 2.0**-60:
                break
        return float(mu)
