"""Whether a release is worth its budget: what public numbers say against it, before anything is spent.

A release whose noise is predicted to exceed the ball is worth no more than the ball's public centre; a promise that
follows from epsilon = 20, or whose delta exceeds 1/n, is worth no more than none.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from riemdp.accounting.guarantee import ApproxDP, Guarantee, PureDP
from riemdp.accounting.unit import RECORD, counted, several
from riemdp.errors import InputError, MechanismError, NoAdaptation, UselessRelease

USELESS, DOUBTFUL = 1.0, 0.5  # predicted errors, in radii of the ball
WEAKEST = PureDP(20.0)
MOST_DOUBLINGS = 60
PACKAGE = str(Path(__file__).parents[1])
Predict = Callable[[int, Guarantee], float]  # (number of records, guarantee) -> predicted error


@dataclass(frozen=True)
class Doubt:
    """What speaks against a release, from public numbers."""

    text: str
    advice: str
    is_grave: bool = True  # the command line refuses
    kind: type[UserWarning] = UselessRelease
    remedy: Callable[[], str] | None = None  # the advice in numbers, which takes a while

    @property
    def in_numbers(self) -> str:
        """The doubt with all that can be said: how much would be enough."""
        return f"{self.text} {self.remedy() if self.remedy else self.advice}"


@dataclass(frozen=True)
class Subject:
    """What is moved by noise, of how many, whom the guarantee protects."""

    n: int
    unit: str = RECORD
    what: str = "mean"


def doubts_about(of: Subject, predict: Predict, guarantee: Guarantee, radius: float, error: float) -> list[Doubt]:
    """All of them; `error`: that of the very release, as it was planned."""
    return [*about_promise(guarantee, of), *_about_noise(of, error, predict, guarantee, radius)]


def nothing_adapted(unit: str) -> Doubt:
    """That a private ball was asked for in vain."""
    those = several(unit)
    return Doubt(
        f"adapt does nothing: there are too few {those} for this guarantee, so the given ball is used as it is.",
        f"Leave it out, or have more {those}.",
        is_grave=False,
        kind=NoAdaptation,
    )


# --- the promise -------------------------------------------------------------------------------------------


def about_promise(guarantee: Guarantee, of: Subject) -> Iterator[Doubt]:
    """That it is too weak to be worth anything."""
    if is_weak(guarantee):
        name = strength_name(guarantee)
        text = f"{name} = {guarantee.parameters[name]:g} promises hardly anything: it follows from epsilon = 20."
        yield Doubt(text, "Around 1 is usual.")
    if isinstance(guarantee, ApproxDP) and guarantee.delta * of.n > 1:
        all_of_one = "a random record" if of.unit == RECORD else f"all records of a random {of.unit}"
        text = f"delta = {guarantee.delta:g} is above 1/n = {1 / of.n:.3g}: publishing {all_of_one} keeps that promise."
        yield Doubt(text, "Pass a far smaller delta.")


def is_weak(guarantee: Guarantee) -> bool:
    """Whether it follows from epsilon = 20, and is not even that."""
    return WEAKEST.implies(guarantee) and not guarantee.implies(WEAKEST)


def strength_name(guarantee: Guarantee) -> str:
    """The parameter that says how strong it is: epsilon, mu or rho."""
    if not isinstance(guarantee, Guarantee):
        raise InputError(f"guarantee = {guarantee!r}: pass for example PureDP(1.0) or GDP(0.5).")
    return next(name for name in guarantee.parameters if name not in ("alpha", "delta"))


# --- the noise -----------------------------------------------------------------------------------------------


def _about_noise(of: Subject, error: float, predict: Predict, guarantee: Guarantee, radius: float) -> Iterator[Doubt]:
    if error <= DOUBTFUL * radius:
        return
    is_grave = error > USELESS * radius
    size = "more than" if is_grave else "more than half of"
    verdict = "the public centre is as good an answer" if is_grave else "what comes out is mostly noise"
    noise = f"noise moves the {of.what} by about {error:.3g}, {size} the ball's radius of {radius:.3g}"
    people = f"{of.n:,}" if of.unit == RECORD else counted(of.n, of.unit)
    text = f"with n = {people}, {noise}: {verdict}."
    remedy = partial(what_would_do, predict, of.n, guarantee, radius)
    yield Doubt(text, f"Have more {several(of.unit)} or spend more; plan() says how much.", is_grave, remedy=remedy)


def what_would_do(
    predict: Predict, n: int, guarantee: Guarantee, radius: float, goal: str = f"{DOUBTFUL:g} of the radius"
) -> str:
    """The n, and the budget, that bring the predicted error to DOUBTFUL radii."""

    def is_enough(records: float, promise: Guarantee) -> bool:
        try:
            return predict(math.ceil(records), promise) <= DOUBTFUL * radius
        except MechanismError:
            return False

    name = strength_name(guarantee)
    records = _least(lambda m: is_enough(m, guarantee), n)
    strength = _least(lambda s: is_enough(n, _with(guarantee, s)), guarantee.parameters[name])
    ways = [f"n = {math.ceil(records):,}"] if records else []
    ways += [f"{name} = {strength:g}"] if strength and not is_weak(_with(guarantee, strength)) else []
    return f"{' or '.join(ways)} would bring that to {goal}." if ways else "A smaller ball may do, or fewer dimensions."


def _with(guarantee: Guarantee, strength: float) -> Guarantee:
    return replace(guarantee, **{strength_name(guarantee): strength})  # type: ignore[arg-type]


def _least(is_enough: Callable[[float], bool], start: float) -> float | None:
    """The least number from `start` on that is enough, rounded up to two digits; None if even a huge one is not."""
    high = next((start * 2.0**i for i in range(MOST_DOUBLINGS) if is_enough(start * 2.0**i)), None)
    if high is None:
        return None
    low = max(start, high / 2)
    while high > 1.005 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return _rounded_up(high)


def _rounded_up(value: float) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step * (1 - 1e-12)) * step:.2g}")


# --- saying so -----------------------------------------------------------------------------------------------


def warn_of(doubts: Iterable[Doubt]) -> None:
    """Warnings that point to the line outside of this package; to be called before anything is spent."""
    for doubt in doubts:
        warnings.warn(f"{doubt.text} {doubt.advice}", doubt.kind, stacklevel=_first_line_outside())


def _first_line_outside() -> int:
    """The `stacklevel`, for the function that asks, of the first caller that is not in this package."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level + 1
