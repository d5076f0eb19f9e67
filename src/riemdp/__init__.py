"""Differential privacy for data that live on curved spaces."""

from riemdp.errors import BudgetExceeded, ConvergenceError, InputError, MechanismError, RiemdpError
from riemdp.manifolds import (
    Euclidean,
    Hyperbolic,
    KendallShapes,
    LogGaussian,
    Product,
    Space,
    SPDAffine,
    SPDLogEuclidean,
    Sphere,
)
from riemdp.statistics.frechet import FrechetMean, frechet_mean

__version__ = "0.1.0"

__all__ = [
    "BudgetExceeded",
    "ConvergenceError",
    "Euclidean",
    "FrechetMean",
    "Hyperbolic",
    "InputError",
    "KendallShapes",
    "LogGaussian",
    "MechanismError",
    "Product",
    "RiemdpError",
    "SPDAffine",
    "SPDLogEuclidean",
    "Space",
    "Sphere",
    "frechet_mean",
]
