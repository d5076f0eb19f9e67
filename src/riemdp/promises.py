"""What each guarantee promises, in words and in symbols, and what it leaves to an attacker."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from riemdp.accounting.unit import RECORD, any_one, several
from riemdp.plots.guarantees import tradeoff

FALSE_ALARMS = 0.05
FOR_ALL = "for all sets S of possible publications"
Promise = tuple[str, str]  # in words, and in symbols (HTML)
LIKELY = (
    "Whatever was published would have been published with almost the same probability if {one} had been "
    "another one: the two probabilities differ by a factor of at most exp(ε) ≈"
)
CLOSE = (
    "If {one} had been another one, the law of what is published would have been close to what it was: their "
    "Rényi divergence of"
)
HARD = (
    "Telling from the publication whether {one} was in the data, or another one in its place, is at least as "
    "hard as telling from a single number whether it was drawn around 0 or around"
)


def neighbours(unit: str = RECORD) -> str:
    """What all guarantees begin with."""
    return f"The mechanism M has it if, for all data sets D and D′ of n {several(unit)} that differ in one,"


def _pure(g: PureDP) -> Promise:
    return f"{LIKELY} {_factor(g.epsilon)}.", f"P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] {FOR_ALL}"


def _approx(g: ApproxDP) -> Promise:
    words = f"{LIKELY} {_factor(g.epsilon)}, apart from a part of probability δ = {g.delta:.3g}."
    return words, f"P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] + δ {FOR_ALL}"


def _gaussian(g: GDP) -> Promise:
    words = f"{HARD} {g.mu:.4g}, with standard deviation 1."
    return words, "T(M(D), M(D′)) ≥ T(N(0, 1), N(μ, 1)), with T the trade-off curve of the best test"


def _concentrated(g: ZCDP) -> Promise:
    words = (
        f"{CLOSE} every order α is at most {g.rho:.4g} α, as if Gaussian noise had hidden a change of "
        f"{math.sqrt(2 * g.rho):.3g} standard deviations."
    )
    return words, "D<sub>α</sub>(M(D) ‖ M(D′)) ≤ ρ α for all α &gt; 1"


def _renyi(g: RDP) -> Promise:
    return f"{CLOSE} order {g.alpha:.4g} is at most {g.epsilon:.4g}.", "D<sub>α</sub>(M(D) ‖ M(D′)) ≤ ε"


PROMISES: dict[type[Guarantee], Callable[[Any], Promise]] = {
    PureDP: _pure,
    ApproxDP: _approx,
    GDP: _gaussian,
    ZCDP: _concentrated,
    RDP: _renyi,
}


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):,.3g}" if epsilon < 700 else "more than 1e304"


def promise(guarantee: Guarantee, unit: str = RECORD) -> Promise:
    """What it promises to one of what is protected, in words and in symbols (HTML)."""
    words, symbols = PROMISES[type(guarantee)](guarantee)
    return words.format(one=any_one(unit)), symbols


def detection_bound(guarantee: Guarantee, false_alarms: float = FALSE_ALARMS) -> float:
    """The largest power of any test for one record with at most that many false alarms: 1 - its trade-off."""
    return float(1 - tradeoff(guarantee, false_alarms))


def detection_percentage(guarantee: Guarantee) -> str:
    """The bound on detection as people read it: a percentage, rounded up."""
    return f"{math.ceil(1000 * detection_bound(guarantee) - 1e-9) / 10:g} %"
