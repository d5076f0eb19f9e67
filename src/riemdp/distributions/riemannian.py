"""Riemannian Laplace and Gaussian laws: densities exp(-rho/s) and exp(-rho²/(2s²)) of the volume measure.

In normal coordinates v at the centre the density is g(t) J(v), t = |v|, J the volume density of exp. Where J
depends on t alone (flat spaces, sphere, hyperbolic space, shapes) the direction is uniform and t is drawn from
t^(d-1) J(t) g(t), whose logarithm is concave. Elsewhere t comes from t^(d-1) g(t) exp(b(t)) with
log J(v) <= b(t) = min(q t², c t), and v is accepted with J(v)/exp(b(t)) (docs/proofs/riemannian_laplace.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riemdp.distributions.envelope import Envelope, Function, Piece, tangents
from riemdp.errors import InputError, MechanismError
from riemdp.manifolds.base import Space, finite_number, whole_number

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class _Isotropic:
    """A law whose density at x depends on the distance to the centre alone."""

    space: Space
    center: Array
    scale: float

    def __post_init__(self) -> None:
        scale = finite_number(self.scale, "scale")
        if scale <= 0:
            raise InputError(f"scale = {scale!r}: pass a positive number.")
        center = self.space._points(self.center, "center")
        if center.shape != self.space._inner_shape:
            raise InputError(f"center has shape {np.shape(self.center)}: pass one point.")
        object.__setattr__(self, "scale", scale)
        self._check_existence()

    @abstractmethod
    def _log_profile(self, t: Array) -> Array:
        """log g(t)."""

    @abstractmethod
    def _profile_slope(self, t: Array) -> Array:
        """Its derivative, which does not increase."""

    def _check_existence(self) -> None:
        """Raise if the density has no finite integral."""

    def log_density(self, points: ArrayLike) -> Array:
        """Logarithm of the density with respect to the volume measure, up to a constant."""
        return self._log_profile(self.space.dist(self.center, points))

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """`size` independent exact draws."""
        generator = np.random.default_rng(rng)
        coords = self.sample_coords(whole_number(size, "size", 1), generator)
        points = self.space._exp(coords, self.space._read(self.center, "center"))
        return self.space._write(points, self.center)

    def sample_coords(self, size: int, rng: np.random.Generator) -> Array:
        """The draws in normal coordinates at the centre."""
        envelope, drawn, missing = self.envelope(), [], size
        while missing > 0:
            coords = self._accepted(envelope, rng, missing + missing // 8 + 16)
            drawn.append(coords[:missing])
            missing -= len(drawn[-1])
        return np.concatenate(drawn)

    def _accepted(self, envelope: Envelope, rng: np.random.Generator, size: int) -> Array:
        t, height = envelope.propose(rng, size)
        direction = rng.standard_normal((size, self.space.dim))
        coords = direction * (t / np.linalg.norm(direction, axis=1))[:, None]
        with np.errstate(divide="ignore"):
            log_density = (self.space.dim - 1) * np.log(t) + self._log_profile(t) + self.space._log_density(coords)
        return coords[np.log(rng.random(size)) < log_density - height]

    def envelope(self) -> Envelope:
        """An envelope of the radial proposal."""
        radial = self.space._radial_density
        if radial is not None:
            return tangents([self._piece(0.0, radial.stop, radial.log_density, radial.slope)])
        q, c = self.space._density_growth
        return tangents(self._bounded_pieces(q, c))

    def _piece(self, start: float, stop: float, log_growth: Function, growth_slope: Function) -> Piece:
        power = self.space.dim - 1
        return Piece(
            start,
            stop,
            lambda t: power * np.log(t) + self._log_profile(t) + log_growth(t),
            lambda t: power / t + self._profile_slope(t) + growth_slope(t),
        )

    def _bounded_pieces(self, q: float, c: float) -> list[Piece]:
        """t^(d-1) g(t) exp(min(q t², c t)): q t² first, its chord further out, c t at last.

        t^(d-1) exp(q t²) is log-concave up to sqrt((d-1)/(2q)); the chord lies above the convex q t².
        """
        first, last = math.sqrt((self.space.dim - 1) / (2 * q)), c / q
        if first >= last:
            first = last
        pieces = [self._piece(0.0, first, lambda t: q * t * t, lambda t: 2 * q * t)]
        if first < last:
            chord = q * (first + last)
            pieces.append(self._piece(first, last, lambda t: chord * t - q * first * last, lambda t: chord + 0 * t))
        pieces.append(self._piece(last, math.inf, lambda t: c * t, lambda t: c + 0 * t))
        return pieces


class RiemannianLaplace(_Isotropic):
    """Density proportional to exp(-rho(x, center)/scale) (Hajri et al. 2016; Reimherr et al. 2021)."""

    def _log_profile(self, t: Array) -> Array:
        return np.asarray(-t / self.scale)

    def _profile_slope(self, t: Array) -> Array:
        return np.full(np.shape(t), -1 / self.scale)

    def _check_existence(self) -> None:
        limit = laplace_limit(self.space)
        if not self.scale < limit:
            raise MechanismError(
                f"scale = {self.scale:g}: the Riemannian Laplace law of {self.space!r} exists only below {limit:.6g}; "
                "use a smaller scale, or a wrapped mechanism."
            )


class RiemannianGaussian(_Isotropic):
    """Density proportional to exp(-rho(x, center)²/(2 scale²)) (Said et al. 2017); exists on every space."""

    def _log_profile(self, t: Array) -> Array:
        return np.asarray(-0.5 * (t / self.scale) ** 2)

    def _profile_slope(self, t: Array) -> Array:
        return np.asarray(-t / self.scale**2)


def laplace_limit(space: Space) -> float:
    """The scale from which on the Riemannian Laplace law does not exist: volume grows like exp(c t)."""
    _, c = space._density_growth
    return 1 / c if c > 0 else math.inf
