"""What each guarantee promises, in words and in symbols, and what it leaves to an attacker."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from riemdp.plots.guarantees import tradeoff

FALSE_ALARMS = 0.05
NEIGHBOURS = "The mechanism M has it if, for all data sets D and D′ of n records that differ in one,"
FOR_ALL = "for all sets S of possible publications"
Promise = tuple[str, str]  # in words, and in symbols (HTML)


def _pure(g: PureDP) -> Promise:
    words = (
        f"Whatever was published would have been published with almost the same probability if any one record had "
        f"been another one: the two probabilities differ by a factor of at most exp(ε) ≈ {_factor(g.epsilon)}."
    )
    return words, f"P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] {FOR_ALL}"


def _approx(g: ApproxDP) -> Promise:
    words = (
        f"Whatever was published would have been published with almost the same probability if any one record had "
        f"been another one: the two probabilities differ by a factor of at most exp(ε) ≈ {_factor(g.epsilon)}, "
        f"apart from a part of probability δ = {g.delta:.3g}."
    )
    return words, f"P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] + δ {FOR_ALL}"


def _gaussian(g: GDP) -> Promise:
    words = (
        f"Telling from the publication whether any one record was in the data, or another one in its place, is at "
        f"least as hard as telling from a single number whether it was drawn around 0 or around {g.mu:.4g}, with "
        f"standard deviation 1."
    )
    return words, "T(M(D), M(D′)) ≥ T(N(0, 1), N(μ, 1)), with T the trade-off curve of the best test"


def _concentrated(g: ZCDP) -> Promise:
    words = (
        f"If any one record had been another one, the law of what is published would have been close to what it "
        f"was: their Rényi divergence of every order α is at most {g.rho:.4g} α, as if Gaussian noise had hidden a "
        f"change of {math.sqrt(2 * g.rho):.3g} standard deviations."
    )
    return words, "D<sub>α</sub>(M(D) ‖ M(D′)) ≤ ρ α for all α &gt; 1"


def _renyi(g: RDP) -> Promise:
    words = (
        f"If any one record had been another one, the law of what is published would have been close to what it "
        f"was: their Rényi divergence of order {g.alpha:.4g} is at most {g.epsilon:.4g}."
    )
    return words, "D<sub>α</sub>(M(D) ‖ M(D′)) ≤ ε"


PROMISES: dict[type[Guarantee], Callable[[Any], Promise]] = {
    PureDP: _pure,
    ApproxDP: _approx,
    GDP: _gaussian,
    ZCDP: _concentrated,
    RDP: _renyi,
}


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):,.3g}" if epsilon < 700 else "more than 1e304"


def promise(guarantee: Guarantee) -> Promise:
    """What it promises, in words and in symbols (HTML)."""
    return PROMISES[type(guarantee)](guarantee)


def detection_bound(guarantee: Guarantee, false_alarms: float = FALSE_ALARMS) -> float:
    """The largest power of any test for one record with at most that many false alarms: 1 - its trade-off."""
    return float(1 - tradeoff(guarantee, false_alarms))


def detection_percentage(guarantee: Guarantee) -> str:
    """That bound as people read it, rounded up."""
    return f"{math.ceil(1000 * detection_bound(guarantee) - 1e-9) / 10:g} %"
