"""What the baselines release: means as vectors of the ambient space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from riemdp.arithmetic import round_up
from riemdp.balls import Ball
from riemdp.errors import MechanismError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array
from riemdp.manifolds.capabilities import Chords, Embedding, Landmarks, Spectra
from riemdp.manifolds.spd import LOG_HUGE, LOG_TINY
from riemdp.mechanisms.baselines import landmark_widths
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import Statistic
from riemdp.statistics.intrinsic import IntrinsicMean
from riemdp.statistics.sensitivity import tangent_mean_sensitivity, with_solver_error


@dataclass(frozen=True)
class AmbientMean(Statistic):
    """The Fréchet mean of matrices (`Spectra`), the arithmetic mean of points of a sphere (`Chords`), as vectors.

    docs/proofs/baselines.md.
    """

    name: ClassVar[str] = "frechet-mean"
    input: ClassVar[str] = "ambient"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """Frobenius: λ_max(m0) e^r times that of the mean, 2r/n; sphere of radius R: 2R sin(r/R)/n."""
        ball.space.capability(Embedding)
        return _of_chords(ball, n) if ball.space.has(Chords) else _of_matrices(ball, n, footpoint)

    def tolerance(self, ball: Ball, n: int, footpoint: Array) -> float:
        """Half of what it adds to the sensitivity of the exact mean."""
        if ball.space.has(Chords):
            return 128 * UNIT_ROUNDOFF * ball.space.capability(Chords).embedded_size
        exact = math.exp(float(_log_spectrum(ball)[-1]) + ball.radius) * tangent_mean_sensitivity(ball.radius, n)
        return max(0.0, self.sensitivity(ball, n, footpoint) - exact) / 2

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """Where the ball really is: extrinsic noise knows no isometries."""
        ball = records.ball
        if ball.space.has(Chords):
            return records.mean_of(partial(_embedded, ball))
        mean = IntrinsicMean().value(records, footpoint)
        return np.asarray(_embedded(ball, mean[None])[0])


def _of_chords(ball: Ball, n: int) -> float:
    """A record that moves across the ball moves the sum by a chord, wherever the ball is."""
    space = ball.space.capability(Chords)
    chord = round_up(lambda radius: space.longest_chord(radius) / n, ball.radius)
    return with_solver_error(chord, 128 * UNIT_ROUNDOFF * space.embedded_size)


def _of_matrices(ball: Ball, n: int, footpoint: Array) -> float:
    """λ_max(m0) e^r times how far the computed mean moves, if float64 holds the exponential of every mean."""
    rounding, log_largest = _rounding(ball), float(_log_spectrum(ball)[-1])
    _require_range(ball, log_largest + ball.radius + 1, log_largest - ball.radius - 1)
    distance = IntrinsicMean().sensitivity(ball, n, footpoint) + 2 * rounding
    excess = max(0.0, distance - tangent_mean_sensitivity(ball.radius, n))  # of computed means over exact ones
    return round_up(lambda s, *logs: s * sum(logs).exp(), distance, log_largest, ball.radius, excess, 2.0**-40)


def _log_spectrum(ball: Ball) -> Array:
    """Logarithms of the centre's eigenvalues."""
    return ball.space.capability(Spectra).log_spectrum(ball.center)


def _rounding(ball: Ball) -> float:
    """Relative error of a computed exp_m0(v), as a distance: exp turns absolute errors of log m0 + v into it."""
    size = 1 + ball.radius + float(np.linalg.norm(_log_spectrum(ball)))
    return 64 * UNIT_ROUNDOFF * ball.space.dim * size


def _require_range(ball: Ball, high: float, low: float) -> None:
    """Raise a MechanismError unless these logarithms of eigenvalues are those of floats; nothing may be made to fit."""
    if not (high < LOG_HUGE and low > LOG_TINY):
        raise MechanismError(
            f"radius = {ball.radius!r} around a centre with eigenvalues up to {math.exp((high + low) / 2):.3g}: "
            "extrinsic mechanisms need a ball whose matrices have eigenvalues between 1e-307 and 1e307: use a smaller "
            "ball, other units, or mechanism='auto'."
        )


@dataclass(frozen=True)
class AlignedLandmarks(Statistic):
    """The mean of the records' coordinates, each record rotated onto the ball's centre by itself."""

    name: ClassVar[str] = "frechet-mean"
    input: ClassVar[str] = "landmarks"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """In units of the coordinates' widths each of the 2k coordinates moves by 1/n at most."""
        widths = landmark_widths(ball)
        rounding = 128 * UNIT_ROUNDOFF / float(widths.min())
        return math.nextafter(widths.size * (1 / n + 2 * rounding), math.inf)

    def value(self, records: Bounded, footpoint: Array) -> Array:  # noqa: ARG002
        """exp at the centre gives pre-shapes that are aligned with it."""
        return records.mean_of(partial(_aligned, records.ball))


def _at_center(ball: Ball, coords: Array) -> Array:
    return ball.space.exp_coords(coords, ball.inner_center)


def _embedded(ball: Ball, coords: Array) -> Array:
    return ball.space.capability(Embedding).embed(_at_center(ball, coords))


def _aligned(ball: Ball, coords: Array) -> Array:
    return ball.space.capability(Landmarks).to_landmarks(_at_center(ball, coords))
