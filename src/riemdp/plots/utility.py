"""Predicted errors of all mechanisms, against the strength of the guarantee or the number of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from riemdp.accounting.guarantee import Guarantee, as_guarantee
from riemdp.arguments import whole_number
from riemdp.balls import Ball
from riemdp.errors import InputError, MechanismError
from riemdp.manifolds.base import Array
from riemdp.mechanisms import MECHANISMS, by_name
from riemdp.plots.guarantees import SYMBOLS, symbolic
from riemdp.plots.sheets import Given, Size, axes_on, legend, set_title, sheet
from riemdp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, light, log_scale
from riemdp.statistics.catalogue import StatisticName
from riemdp.statistics.mean import plan
from riemdp.statistics.query import Query
from riemdp.statistics.worth import strength_name
from riemdp.written import BallMapping, as_ball

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By mechanism: colour, marker, line style. Laws that almost coincide get a small full and a large open marker.
STYLES: dict[str, dict[str, Any]] = {
    "riemannian-laplace": {"color": BLUE, "marker": "o", "linestyle": "-", "markersize": 4},
    "wrapped-laplace": {"color": VERMILION, "marker": "s", "linestyle": "--", "markersize": 9, "mfc": "none"},
    "wrapped-gaussian": {"color": GREEN, "marker": "^", "linestyle": "-.", "markersize": 6},
    "kng": {"color": PURPLE, "marker": "D", "linestyle": ":", "markersize": 5},
    "extrinsic-laplace": {"color": ORANGE, "marker": "v", "linestyle": (0, (1, 2)), "markersize": 6},
    "extrinsic-gaussian": {"color": SKY, "marker": "P", "linestyle": (0, (1, 2)), "markersize": 6},
    "pointwise-laplace": {"color": BLACK, "marker": "x", "linestyle": (0, (1, 2)), "markersize": 6},
}


@overload
def plot_utility(
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    n: int | Sequence[int],
    strengths: Sequence[float] | None = None,
    statistic: StatisticName = "frechet-mean",
    ax: None = None,
    title: str | None = None,
    size: Size | None = None,
) -> Figure: ...
@overload
def plot_utility(
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    n: int | Sequence[int],
    strengths: Sequence[float] | None = None,
    statistic: StatisticName = "frechet-mean",
    ax: Given,
    title: str | None = None,
) -> Given: ...
def plot_utility(
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    n: int | Sequence[int],
    strengths: Sequence[float] | None = None,
    statistic: StatisticName = "frechet-mean",
    ax: Any = None,
    title: str | None = None,
    size: Size | None = None,
) -> Any:
    """Predicted error of every mechanism, baselines included: no data needed.

    It is how far noise moves the mean of the records as moved into the ball, against the number of records if `n` is a
    sequence; else against epsilon (mu, rho).

    Parameters
    ----------
    ball : Ball or mapping
        Where the records are; public.
    guarantee : Guarantee or str
        Such as `GDP(1.0)` or "mu=1".
    n : int or sequence of int
        Number of records.
    strengths : sequence of float, optional
        Values of epsilon (mu, rho); by default from a tenth to ten times the guarantee's own.
    statistic : {'frechet-mean', 'tangent-mean'}
        What would be released.
    ax, title, size : as of plot_release
        Where to draw, what to write above it, and how large.

    Returns
    -------
    Figure
        With a curve for each mechanism; or what was given as `ax`.

    Raises
    ------
    InputError
        If an argument is not of its kind.
    MechanismError
        If no mechanism can give the guarantee.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    >>> figure = plot_utility(ball, rd.GDP(1.0), n=[100, 1000, 10000])
    >>> save_figure(figure, "errors.svg")
    """
    ball, guarantee = as_ball(ball), as_guarantee(guarantee)
    if np.ndim(n) == 0:
        places: Any = _strengths(guarantee, strengths)
        asked = [(whole_number(n, "n", 1), _with_strength(guarantee, s)) for s in places]
        label = f"{SYMBOLS[strength_name(guarantee)]} of {symbolic(guarantee, open_=True)}, {n:,} records"
    else:
        if strengths is not None:
            raise InputError("strengths and several n: pass several of one and one of the other.")
        places = [whole_number(m, "n", 1) for m in n]  # type: ignore[union-attr]
        asked = [(m, guarantee) for m in places]
        label = f"number of records, {symbolic(guarantee)}"
    errors = _predicted_errors(ball, asked, statistic)
    place = sheet(ax, size, (6.4, 5.2))
    axes = axes_on(place)
    _draw_errors(axes, ball, places, errors, label)
    usual = f"Predicted error of a private mean: {ball.space!r}, radius {ball.radius:.4g}"
    set_title(axes, usual if title is None else title)
    legend(place, 2)
    return place


def _strengths(guarantee: Guarantee, given: Sequence[float] | None) -> Sequence[float]:
    name = strength_name(guarantee)
    if given is not None:
        return given
    own = guarantee.parameters[name]
    return [float(s) for s in own * np.geomspace(0.1, 10, 9)]


def _with_strength(guarantee: Guarantee, strength: float) -> Guarantee:
    changed: dict[str, Any] = {strength_name(guarantee): strength}
    return replace(guarantee, **changed)


def _predicted_errors(ball: Ball, asked: list[tuple[int, Guarantee]], statistic: StatisticName) -> dict[str, Array]:
    """By mechanism: its predicted errors, NaN where it cannot give the guarantee; those that never can left out."""
    queries = [Query(ball, n, guarantee, statistic=statistic) for n, guarantee in asked]
    errors = {name: np.array([_error(query, name) for query in queries]) for name in MECHANISMS}
    found = {name: values for name, values in errors.items() if np.isfinite(values).any()}
    if not found:
        plan(ball, *asked[-1], statistic=statistic)  # raises, and says why
    return found


def _error(query: Query, name: str) -> float:
    try:
        return query.plan_one(by_name(name)).expected_error
    except MechanismError:
        return math.nan


def _draw_errors(ax: Any, ball: Ball, places: Sequence[float], errors: dict[str, Array], label: str) -> None:
    for name, values in errors.items():
        extra = " (baseline)" if by_name(name).is_baseline else ""
        ax.plot(places, values, label=name + extra, **STYLES.get(name, {"color": GREY, "marker": "."}))
    ax.axhline(ball.radius, color=GREY, linewidth=3, alpha=0.5, label="the public centre's largest error")
    ax.set(xlabel=label, ylabel="predicted noise (root mean square distance)")
    log_scale(ax.xaxis)
    log_scale(ax.yaxis)
    ax.grid(color="0.9", linewidth=0.6)
    light(ax)
