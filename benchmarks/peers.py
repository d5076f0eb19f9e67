"""The peers, asked for the same mean: pyRiemann and geomstats."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import riemdp as rd

Array = NDArray[Any]
Mean = Callable[[], Array]

ACCURACY = 1e-9


def peers_of(space: rd.Space, X: Array, reference: Array) -> dict[str, Mean]:
    """Each peer's mean of X, set up for an error of at most ACCURACY."""
    found = {"geomstats": geomstats_mean(space, X)}
    if isinstance(space, rd.SPDLogEuclidean | rd.SPDAffine):
        found["pyriemann"] = pyriemann_mean(space, X, reference)
    return found


def pyriemann_mean(space: rd.Space, X: Array, reference: Array) -> Mean:
    """mean_logeuclid or mean_riemann, by the metric."""
    from pyriemann.geometry.mean import mean_logeuclid

    if isinstance(space, rd.SPDLogEuclidean):
        return lambda: mean_logeuclid(X)
    return pyriemann_loosest(space, X, reference)


def pyriemann_loosest(space: rd.Space, X: Array, reference: Array) -> Mean:
    """mean_riemann at the loosest (fastest) tolerance whose true error is small enough."""
    from pyriemann.geometry.mean import mean_riemann

    for tol in 10.0 ** np.arange(-5, -13, -1):
        if space.dist(reference, mean_riemann(X, tol=tol, maxiter=200)) <= ACCURACY:
            break
    return lambda: mean_riemann(X, tol=tol, maxiter=200)


def geomstats_mean(space: rd.Space, X: Array) -> Mean:
    """FrechetMean on the same space."""
    return geomstats_fit(_geomstats_space(space), X)


def geomstats_fit(theirs: Any, X: Array) -> Mean:
    """FrechetMean, stopped at a gradient norm of ACCURACY: its criterion is norm² <= epsilon·dim."""
    from geomstats.learning.frechet_mean import FrechetMean

    logging.getLogger().setLevel(logging.ERROR)
    estimator = FrechetMean(theirs)
    estimator.set(epsilon=ACCURACY**2 / theirs.dim, max_iter=1000)
    return lambda: estimator.fit(X).estimate_


def _geomstats_space(space: rd.Space) -> Any:
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices

    if isinstance(space, rd.Sphere):
        return Hypersphere(space.dim)
    if isinstance(space, rd.KendallShapes):
        shapes = PreShapeSpace(space.k, 2)
        shapes.equip_with_group_action("rotations")
        shapes.equip_with_quotient()
        return shapes.quotient
    matrices = SPDMatrices(space.k, equip=False)
    matrices.equip_with_metric(SPDAffineMetric if isinstance(space, rd.SPDAffine) else SPDLogEuclideanMetric)
    return matrices
