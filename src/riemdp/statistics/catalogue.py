"""The statistics that can be asked for by name, for all of riemdp: whatever takes a name, or lists them, looks here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from riemdp.errors import InputError, MechanismError
from riemdp.manifolds.base import Array
from riemdp.mechanisms import Mechanism
from riemdp.statistics.ambient import AlignedLandmarks, AmbientMean
from riemdp.statistics.base import Statistic
from riemdp.statistics.gradient import GradientField
from riemdp.statistics.intrinsic import IntrinsicMean, MeanPoint, TangentMean
from riemdp.statistics.moments import Moments

# For editors and type checkers, which cannot read it off the classes below; a test compares.
StatisticName: TypeAlias = Literal["frechet-mean", "tangent-mean", "summary"]
_ALL: tuple[Statistic, ...] = (
    IntrinsicMean(),
    TangentMean(),
    Moments(),
    MeanPoint(),
    GradientField(),
    AmbientMean(),
    AlignedLandmarks(),
)
# By what a mechanism takes and what the user asks for.
STATISTICS: dict[tuple[str, str], Statistic] = {(one.input, one.name): one for one in _ALL}


def statistic_names() -> list[str]:
    """What users may ask for."""
    return list(dict.fromkeys(name for _, name in STATISTICS))


def require_known(argument: str, name: Any, names: Iterable[str]) -> None:
    """Raise an InputError that lists the names, if it is none of them."""
    if not isinstance(name, str) or name not in names:
        raise InputError(f"{argument} = {name!r}: pass one of {', '.join(map(repr, names))}.")


def form_of(asked: str | Statistic, mechanism: Mechanism) -> Statistic | None:
    """The statistic of that name, or the very one, if it has a form that the mechanism takes."""
    found = STATISTICS.get((mechanism.input, asked)) if isinstance(asked, str) else asked
    return found if found is not None and found.input == mechanism.input else None


def statistic_for(mechanism: Mechanism, asked: str | Statistic, footpoint: Array) -> Statistic:
    """The statistic of that name, or the very one, in the form that the mechanism takes; never another one."""
    if footpoint.any() and not mechanism.takes_footpoint:
        raise MechanismError(f"footpoint belongs to wrapped mechanisms: leave it out for {mechanism.name}.")
    found = form_of(asked, mechanism)
    if found is None:
        name = asked if isinstance(asked, str) else asked.name
        what = f"statistic = {name!r} belongs to wrapped mechanisms"
        raise MechanismError(f"{what}, and {mechanism.name} is none: pass mechanism='auto'.")
    return found.with_noise(mechanism)
