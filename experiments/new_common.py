"""What the new figures share: records in balls, and errors of simulated releases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import riemdp as rd
from harness import Array, load, mean_and_error
from riemdp.errors import MechanismError

NOTHING = (math.nan, math.nan)


def records_in(ball: rd.Ball, n: int, rng: np.random.Generator, share: float = 1.0) -> Array:
    """Records in uniform directions from the centre, uniform in a ball of its tangent space."""
    space = ball.space
    direction = rng.standard_normal((n, space.dim))
    length = share * ball.radius * rng.random(n) ** (1 / space.dim) / np.linalg.norm(direction, axis=1)
    base = np.repeat(ball.center[None], n, axis=0)
    return np.asarray(space.exp(space.from_coordinates(direction * length[:, None], base), base))


def root_mean_square(distances: Array) -> tuple[float, float]:
    """Root mean square and its standard error."""
    square, error = mean_and_error(distances**2)
    return math.sqrt(square), error / (2 * math.sqrt(square))


def error_of(records: Array, mean: Array, ball: rd.Ball, guarantee: rd.Guarantee, size: int, **ask: Any) -> Array:
    """Root mean square distance of simulated releases to the mean, and its standard error.

    Not a number where the mechanism cannot give the guarantee.
    """
    try:
        draws = rd.simulate(records, ball, guarantee, size=size, seed=0, **ask)
    except MechanismError:
        return np.array(NOTHING)
    return np.array(root_mean_square(ball.space.dist(np.asarray(draws), mean)))


# --- real data, each with a ball that was public before ---------------------------------------------------------


def directions(radius: float = 0.8) -> tuple[Array, rd.Ball]:
    """Palaeomagnetic directions at McMurdo, normal polarity, around the field of an axial dipole at that latitude."""
    data = load("sphere_S2")
    kept = data["paleomag_mcmurdo"][data["paleomag_mcmurdo_polarity"] == "n"]
    dip = math.atan(2 * math.tan(math.radians(-77.8)))  # tan(inclination) = 2 tan(latitude)
    return kept, rd.Ball(rd.Sphere(2), np.array([math.cos(dip), 0.0, math.sin(dip)]), radius)


def shapes(file: str, key: str, radius: float) -> tuple[Array, rd.Ball]:
    """Landmarks around the first record, which plays a published atlas and is left out."""
    landmarks = load(file)[key]
    space = rd.KendallShapes(landmarks.shape[1])
    points = space.project(landmarks)
    return points[1:], rd.Ball(space, points[0], radius)


def tensors(radius: float) -> tuple[Array, rd.Ball]:
    """Diffusion tensors, in 1e-3 mm²/s, around that of free diffusion in grey matter, 0.8 I."""
    return load("dti_tensors")["small64_tensors"], rd.Ball(rd.SPDAffine(3), 0.8 * np.eye(3), radius)
