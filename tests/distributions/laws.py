"""References for isotropic laws, written without the library's formulas, and the hypothesis tests that use them."""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from riemdp.arithmetic import working_precision

LEVEL = 1e-8
Z_LEVEL = -special.ndtri(LEVEL / 2)


def p_value(probabilities):
    """Of 'independent and uniform on [0, 1]': three exact tests (shape, mean and spread of normal scores), Bonferroni."""
    scores = special.ndtri(np.clip(probabilities, 1e-15, 1 - 1e-15))
    mean = 2 * special.ndtr(-abs(scores.sum()) / math.sqrt(len(scores)))
    squares = special.chdtr(len(scores), scores @ scores)
    shape = stats.kstest(probabilities, "uniform").pvalue
    return 3 * min(mean, 2 * min(squares, 1 - squares), shape)


def assert_law(sample, cdf, off=1.03):
    """The sample follows the law; stretched or shrunk by the factor `off` it does not."""
    assert p_value(cdf(sample)) > LEVEL
    assert p_value(cdf(off * sample)) < LEVEL
    assert p_value(cdf(sample / off)) < LEVEL


def profile(kind, scale, t):
    return -t / scale if kind == "laplace" else -(t**2) / (2 * scale**2)


def quadrature_cdf(log_density, stop):
    """The distribution function of a density on (0, stop): Gauss's two points on every cell of a fine grid."""
    edges = np.linspace(0, stop, 40_001)
    middle, offset = (edges[:-1] + edges[1:]) / 2, stop / 40_000 / math.sqrt(12)
    logs = np.stack([log_density(middle - offset), log_density(middle + offset)])
    sums = np.concatenate([[0.0], np.cumsum(np.exp(logs - logs.max()).sum(axis=0))])
    return lambda t: np.interp(t, edges, sums / sums[-1])


def ideal_floats(law, size):
    """Draws in ball arithmetic, as floats."""
    draws = [law.ideal_coords() for _ in range(size)]
    with working_precision(256):
        return np.array([[float(x) for x in coords(128)] for coords in draws])


def log_sinhc(x):
    """log(sinh(x)/x) for x >= 0."""
    safe = np.maximum(x, 1e-4)
    return np.where(x < 1e-4, x * x / 6, safe + np.log((1 - np.exp(-2 * safe)) / (2 * safe)))


def directions(size, dim, rng):
    normal = rng.standard_normal((size, dim))
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def symmetric(coords, k):
    """The symmetric matrices with these coordinates (diagonal, then sqrt2 times the upper triangle)."""
    matrices = np.zeros((len(coords), k, k))
    i, j = np.triu_indices(k, 1)
    matrices[:, i, j] = matrices[:, j, i] = coords[:, k:] / math.sqrt(2)
    matrices[:, range(k), range(k)] = coords[:, :k]
    return matrices


def weighted_moments(functionals, log_weights):
    """Means of the columns under normalised weights, and their standard errors."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    means = weights @ functionals
    return means, np.sqrt((weights**2) @ (functionals - means) ** 2)


def largest_z(sample, means, errors):
    """Of the sample's means against reference means that have errors of their own."""
    spread = sample.std(axis=0) / math.sqrt(len(sample))
    return float(np.max(np.abs(sample.mean(axis=0) - means) / np.hypot(spread, errors)))
