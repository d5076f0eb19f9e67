"""A guarantee in symbols, and as what it leaves to an attacker: the trade-off between the errors of any test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from riemdp.accounting.guarantee import GDP, ApproxDP, Guarantee, PureDP, as_guarantee
from riemdp.errors import InputError
from riemdp.manifolds.base import Array
from riemdp.plots.sheets import Given, Size, axes_on, legend, set_title, sheet
from riemdp.plots.style import BLACK, BLUE, VERMILION, light
from riemdp.statistics.worth import strength_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYMBOLS = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ", "alpha": "α"}
SHORT = {"GDP": "GDP", "ZCDP": "zCDP", "RDP": "RDP"}


def symbolic(guarantee: Guarantee, *, open_: bool = False, exact: bool = False) -> str:
    """A guarantee in symbols, such as (ε = 1, δ = 1e-06)-DP, or with `open_` (ε, δ = 1e-06)-DP; 4 digits, or all."""
    kind, strength = SHORT.get(type(guarantee).__name__, "DP"), strength_name(guarantee)
    texts = {k: repr(v).removesuffix(".0") if exact else f"{v:.4g}" for k, v in guarantee.parameters.items()}
    shown = [SYMBOLS[k] if open_ and k == strength else f"{SYMBOLS[k]} = {text}" for k, text in texts.items()]
    return f"{shown[0]}-{kind}" if open_ and len(shown) == 1 else f"({', '.join(shown)})-{kind}"


def tradeoff(guarantee: Guarantee | str, type_one: ArrayLike) -> Array:
    """The least type II error of any test, at most `type_one` wrong the other way, of whose record was in.

    Exact for PureDP and ApproxDP, max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)), and for GDP,
    Phi(Phi^-1(1 - a) - mu) (Dong, Roth, Su 2022, section 2). Of ZCDP and RDP: the best of the (epsilon, delta)
    that follow, a lower bound.

    Parameters
    ----------
    guarantee : Guarantee or str
        Such as `GDP(1.0)` or "mu=1".
    type_one : array_like
        Probabilities: how often a test may be wrong when the record was not in.

    Returns
    -------
    ndarray
        Of the same shape: how often every such test is wrong, at least, when the record was in.

    Raises
    ------
    InputError
        If the guarantee is none, or a probability is not between 0 and 1.

    Examples
    --------
    >>> tradeoff(rd.PureDP(1.0), [0.05, 0.5]).round(3)
    array([0.864, 0.184])
    """
    a, guarantee = np.asarray(type_one, dtype=float), as_guarantee(guarantee)
    if not isinstance(guarantee, Guarantee):
        raise InputError(f"guarantee = {guarantee!r}: pass for example PureDP(1.0) or GDP(0.5).")
    if not ((a >= 0) & (a <= 1)).all():
        raise InputError("type_one: pass probabilities, between 0 and 1.")
    if isinstance(guarantee, GDP):
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(ndtri(1 - a) - guarantee.mu))
    return np.asarray(np.max([_pair_tradeoff(a, *pair) for pair in _pairs(guarantee)], axis=0))


def _pair_tradeoff(a: Array, epsilon: float, delta: float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):  # e^epsilon may be infinite
        left, right = 1 - delta - np.exp(epsilon) * a, np.exp(-epsilon) * (1 - delta - a)
    return np.asarray(np.maximum(0.0, np.maximum(np.where(a > 0, left, 1 - delta), right)))


def _pairs(guarantee: Guarantee) -> list[tuple[float, float]]:
    """(epsilon, delta) that the guarantee proves: its own if it is of that type."""
    if isinstance(guarantee, PureDP | ApproxDP):
        return [(guarantee.epsilon, guarantee.parameters.get("delta", 0.0))]
    grid = [float(e) for e in np.geomspace(1e-3, 1e2, 300)]
    return [(e, guarantee.least_strength(ApproxDP(e, 0.5))) for e in grid]


def is_exact_tradeoff(guarantee: Guarantee) -> bool:
    """Whether `tradeoff` is the guarantee's own curve, and not a bound through (epsilon, delta)."""
    return isinstance(guarantee, PureDP | ApproxDP | GDP)


@overload
def plot_tradeoff(
    guarantee: Guarantee | str, *, ax: None = None, title: str | None = None, size: Size | None = None
) -> Figure: ...
@overload
def plot_tradeoff(guarantee: Guarantee | str, *, ax: Given, title: str | None = None) -> Given: ...
def plot_tradeoff(
    guarantee: Guarantee | str, *, ax: Any = None, title: str | None = None, size: Size | None = None
) -> Any:
    """What the guarantee leaves to whoever tests whether a given record was in the data.

    Parameters
    ----------
    guarantee : Guarantee or str
        Such as `GDP(1.0)` or "mu=1".
    ax, title, size : as of plot_release
        Where to draw, what to write above it, and how large.

    Returns
    -------
    Figure
        With the curve of the best attack; or what was given as `ax`.

    Raises
    ------
    InputError
        If the guarantee is none, or `ax` or `size` are not of their kind.

    Examples
    --------
    >>> figure = plot_tradeoff(rd.GDP(1.0))
    >>> save_figure(figure, "tradeoff.svg")
    """
    guarantee = as_guarantee(guarantee)
    a = np.unique(np.concatenate([np.linspace(0, 1, 401), np.geomspace(1e-6, 1, 200)]))
    curve, shown = tradeoff(guarantee, a), symbolic(guarantee)
    place = sheet(ax, size, (4.6, 5.0))
    axes = axes_on(place)
    axes.fill_between(a, curve, color=BLUE, alpha=0.12, linewidth=0, label="impossible for every attacker")
    axes.plot(a, 1 - a, color=BLACK, linestyle="--", linewidth=1.2, label="blind guess: learns nothing")
    axes.plot(a, curve, color=BLUE, linewidth=2.2, label=f"best conceivable attack on {shown}")
    mark: dict[str, Any] = {"color": VERMILION, "marker": "D", "linestyle": "none", "clip_on": False}
    axes.plot(0.05, tradeoff(guarantee, 0.05), label="at 5 % false alarms", **mark)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xlabel("type I error: false alarms", fontsize=10)
    axes.set_ylabel("type II error: misses", fontsize=10)
    note = "" if is_exact_tradeoff(guarantee) else "\n(bound by the best conversions to (ε, δ)-DP)"
    set_title(axes, f"Was this record in the data?{note}" if title is None else title)
    light(axes)
    legend(place, 1)
    return place
