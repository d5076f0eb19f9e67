"""Two groups: are their means further apart than sampling and noise explain? Post-processing of two summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.manifolds import Space
from riemdp.population import MeanError, hotelling, mean_error
from riemdp.summaries.summary import Summary

Array = NDArray[Any]
STEP = 1e-4  # of a difference quotient, in standard errors
FITTED_AT = 0.95  # the level at which the law of the statistic is made to fit
ASSUMPTIONS = (
    "no person is in both groups, and records are drawn independently of one another",
    "records outside the balls were moved into them: a group that is cut off differs from one that is not",
    "both groups are large enough for their means to be normal (docs/guides/regions.md)",
)


@shown
@dataclass(frozen=True, repr=False)
class Comparison:
    """How far the means of two groups are apart, and how surprising that would be if they were the same.

    Parameters
    ----------
    distance : float
        Geodesic distance of the two released means.
    statistic : float
        T = deltaᵀ S⁻¹ delta, delta the difference of the means in coordinates at the point between them and S the
        covariance of its error: sampling and noise of both.
    p_value : float
        The probability of a T at least as large if both populations had the same mean. Small: they differ.
    degrees : int
        The dimension of the space: T is about a chi-square variable of so many degrees of freedom.
    assumptions : tuple of str
        What the p-value supposes.

    See Also
    --------
    compare : Makes one.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.Comparison(0.1, 9.0, 0.03, 3).p_value
    0.03
    """

    distance: float
    statistic: float
    p_value: float
    degrees: int
    assumptions: tuple[str, ...] = ASSUMPTIONS


def compare(a: Summary, b: Summary) -> Comparison:
    """Whether the means of two groups of different people differ by more than sampling and noise: post-processing only.

    T = deltaᵀ S⁻¹ delta is compared with a chi-square law, made wider for the noise in S itself (Hotelling), and for
    Laplace noise, which has longer tails.

    Parameters
    ----------
    a, b : Summary
        Releases of `private_summary`, of the same space: balls, numbers of records and guarantees may differ.

    Returns
    -------
    Comparison
        With `distance`, `statistic`, `p_value`, and the `assumptions` of the p-value.

    Raises
    ------
    InputError
        If one of them is no summary, or they are of different spaces.

    See Also
    --------
    private_summary : What it compares.
    Release.region : Where one mean is.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rng, ball = np.random.default_rng(0), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 5.0)
    >>> first, second = (rd.private_summary(rng.normal(size=(2000, 2)) + m, ball, rd.GDP(1.0)) for m in (0.0, 0.5))
    >>> rd.compare(first, second).p_value < 1e-6
    True
    """
    space = common_space(a, b)
    parts = at_middle(space, a, b)
    delta, covariance = parts[1].coords - parts[0].coords, parts[0].covariance + parts[1].covariance
    statistic = float(delta @ np.linalg.solve(covariance, delta))
    return Comparison(float(space.dist(a.value, b.value)), statistic, _p_value(statistic, parts, covariance), space.dim)


def common_space(a: Summary, b: Summary) -> Space:
    """The space of two summaries; anything else is an InputError."""
    for name, one in (("a", a), ("b", b)):
        if not isinstance(one, Summary):
            raise InputError(
                f"{name} is a {type(one).__name__}, which does not tell how much records vary: "
                "pass a release of private_summary."
            )
    if a.space != b.space:
        raise InputError(f"the releases are of different spaces, {a.space!r} and {b.space!r}: pass two of one space.")
    space: Space = a.space
    return space


def at_middle(space: Space, a: Summary, b: Summary) -> list[GroupMean]:
    """Both means and their errors, in coordinates at the point between them."""
    middle = _between(space, a, b)
    return [_at(middle, mean_error(one), space) for one in (a, b)]


def _between(space: Space, a: Summary, b: Summary) -> Array:
    """The point in the middle of the two means."""
    start, end = (space.read(one.value, "value") for one in (a, b))
    return space.exp_coords(space.log_coords(end, start) / 2, start)


@dataclass(frozen=True, eq=False)
class GroupMean:
    """The mean of one group and its covariance in coordinates at the common point."""

    error: MeanError
    coords: Array
    covariance: Array


def _at(point: Array, error: MeanError, space: Space) -> GroupMean:
    """The mean and its covariance at the point, to first order: derivatives by difference quotients."""
    steps = STEP * error.axes.T
    shifted = np.concatenate([error.coords[None], error.coords + steps, error.coords - steps])
    coords = space.log_coords(error.chart.points(shifted), point)
    axes = (coords[1 : error.dim + 1] - coords[error.dim + 1 :]).T / (2 * STEP)
    return GroupMean(error, coords[0], axes @ axes.T)


def _p_value(statistic: float, parts: list[GroupMean], covariance: Array) -> float:
    """By Hotelling's law: each group counts for its share of the covariance."""
    dim = len(covariance)
    shares = [float(np.trace(np.linalg.solve(covariance, part.covariance))) / dim for part in parts]
    degrees = 1 / sum(share**2 / part.error.degrees for share, part in zip(shares, parts, strict=True))
    stretch = sum(share * part.error.weights.stretch(FITTED_AT) for share, part in zip(shares, parts, strict=True))
    known = max(part.error.known for part in parts)
    return hotelling(dim, degrees, known).sf(statistic / stretch)
