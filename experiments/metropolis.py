"""Metropolis-Hastings chains for the Riemannian Laplace and K-norm gradient laws, for comparison only: not private.

The papers draw their releases with such chains, whose law is the wanted one only in the limit: no finite number of
steps gives pure differential privacy. Two slips of the papers' versions are mended: a rejected proposal repeats the
current state (drawing until one is accepted has another limit), and proposals are isotropic in the metric at the
current point, hence symmetric (uniform ones in fixed coordinates are not).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.manifolds.base import Space

Array = NDArray[Any]
LogDensity = Callable[[Array], Array]

WANTED_ACCEPTANCE = 0.4


@dataclass
class Metropolis:
    """Independent chains on a space, one row each, for a density with respect to the volume.

    Proposals are exp_x(step Z), Z standard normal in an orthonormal basis at x. The law of y given x is carried
    along by isometries, and on the symmetric spaces of this library one of them exchanges x and y: proposals are
    symmetric, and accepted with the ratio of the densities.
    """

    space: Space
    log_density: LogDensity  # of a batch of points, in the form of the space's primitives
    states: Array
    step: float

    def __post_init__(self) -> None:
        self._heights = self.log_density(self.states)
        self.accepted = self.proposed = 0

    def advance(self, steps: int, rng: np.random.Generator) -> None:
        """Let every chain take so many steps."""
        for _ in range(steps):
            self._advance_once(rng)

    def tune(self, steps: int, rng: np.random.Generator) -> None:
        """Advance while the step adapts to a reasonable acceptance; what follows is a chain of a fixed step."""
        for _ in range(steps):
            share = self._advance_once(rng)
            self.step *= math.exp(0.2 * (share - WANTED_ACCEPTANCE))

    def record(self, draws: int, thin: int, rng: np.random.Generator, of: Callable[[Array], Array]) -> Array:
        """`of` the states, after every `thin` steps: shape (draws, chains, ...)."""
        rows = []
        for _ in range(draws):
            self.advance(thin, rng)
            rows.append(of(self.states))
        return np.array(rows)

    def _advance_once(self, rng: np.random.Generator) -> float:
        """One step of all chains; the share of them that moved."""
        noise = self.step * rng.standard_normal((len(self.states), self.space.dim))
        proposals = self.space.exp_coords(noise, self.states)
        heights = self.log_density(proposals)
        moved = np.log(rng.random(len(heights))) < heights - self._heights
        self.states = np.where(moved.reshape(-1, *[1] * (self.states.ndim - 1)), proposals, self.states)
        self._heights = np.where(moved, heights, self._heights)
        self.accepted, self.proposed = self.accepted + int(moved.sum()), self.proposed + len(moved)
        return float(moved.mean())


def laplace(space: Space, centre: Array, scale: float) -> LogDensity:
    """Riemannian Laplace: -rho(x, centre)/scale."""
    return lambda x: -space.distance(centre, x) / scale


def kng(space: Space, points: Array, scale: float, radius: float) -> LogDensity:
    """K-norm gradient: -‖grad F(x)‖/scale within `radius` of the origin, by logarithms of all records at every x."""
    origin = space.read(space.origin, "origin")

    def log_density(x: Array) -> Array:
        gradient = space.log_coords(points[None], x[:, None]).mean(axis=1)
        inside = space.distance(origin, x) <= radius
        return np.where(inside, -np.linalg.norm(gradient, axis=-1) / scale, -np.inf)

    return log_density


def chains(space: Space, log_density: LogDensity, start: Array, number: int, step: float) -> Metropolis:
    """Chains that all start from one point."""
    return Metropolis(space, log_density, np.repeat(start[None], number, axis=0), step)
