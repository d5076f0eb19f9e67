"""What several guarantees spend together, entry by entry: the work for one more does not grow with their number.

Numbers add up as exact fractions of the decimals that people typed; an (epsilon, delta) total is that of
`riemdp.accounting`. More entries never spend less. Proofs: docs/proofs/guarantees.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, overload

from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, G, Guarantee, PureDP, as_guarantee, stated
from riemdp.accounting.losses import Losses
from riemdp.accounting.stored import agree, fraction_from_text, losses_from_dict, losses_to_dict
from riemdp.arithmetic import decimal, largest_decimal, least_decimal
from riemdp.errors import InputError


@overload
def compose(guarantees: Iterable[Guarantee | str], like: G) -> G | None: ...
@overload
def compose(guarantees: Iterable[Guarantee | str], like: str) -> Guarantee | None: ...
def compose(guarantees: Iterable[Guarantee | str], like: Guarantee | str) -> Guarantee | None:
    """The total of adaptive sequential composition as a guarantee of like's type.

    Strengths add up (GDP: their squares), for RDP at like's alpha. ApproxDP gets the delta at like's epsilon, exact
    for GDP, else by pessimistic privacy loss distributions. The order of the entries does not matter, and more of
    them never come to less.

    Parameters
    ----------
    guarantees : iterable of Guarantee or str
        What was spent, in any order and of any types from which like's type follows; also as texts.
    like : Guarantee or str
        What the total is to be like; its strength does not matter.

    Returns
    -------
    Guarantee or None
        Of like's type, with the assumptions of all; None if nothing was spent.

    Raises
    ------
    InputError
        If something is not a guarantee.
    MechanismError
        If nothing of like's type follows from an entry.

    See Also
    --------
    Ledger : Keeps such a total in a file, below a budget.
    Guarantee.split : The other way round: equal parts of a whole.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.compose([rd.PureDP(0.2)] * 5, rd.PureDP(1.0))
    PureDP(epsilon=1.0)
    >>> round(rd.compose([rd.GDP(0.5), rd.PureDP(0.1)], rd.ApproxDP(1.0, 1e-6)).delta, 4)
    0.0077
    """
    entries, like = list(map(as_guarantee, guarantees)), as_guarantee(like)
    if not all(isinstance(entry, Guarantee) for entry in (*entries, like)):
        raise InputError(f"guarantees = {entries!r}, like = {like!r} are not all such: give e.g. GDP(1.0).")
    spent = nothing_spent(like)
    for entry in sorted(entries, key=repr):
        spent = spent.plus(entry)
    united = replace(like, assumptions=tuple({text for entry in entries for text in entry.assumptions}))
    return stated(entries, united, list(like.parameters)[-1], spent.strength) if entries else None


def nothing_spent(like: Guarantee) -> Sum | Mixture:
    """The total of no entries, of like's type: where a count starts."""
    return Mixture(like, Losses.empty(decimal(like.epsilon))) if isinstance(like, ApproxDP) else Sum(like)


@dataclass(frozen=True)
class Sum:
    """A total of like's type whose strengths, or their squares, add up."""

    like: Guarantee
    value: Fraction = Fraction(0)

    @property
    def power(self) -> int:
        """To which strengths are raised before they add up: 2 for GDP, else 1."""
        return 2 if isinstance(self.like, GDP) else 1

    def plus(self, entry: Guarantee) -> Sum:
        """With one more entry; a MechanismError if nothing of like's type follows from it."""
        *_, part = entry.to_like(self.like).parameters.values()
        return replace(self, value=self.value + decimal(part) ** self.power)

    @property
    def strength(self) -> float:
        """The least one that covers the total."""
        return least_decimal(self.value, self.power)

    def left_of(self, strength: float) -> float:
        """The largest strength that still fits beside the total; 0 if none does."""
        return largest_decimal(max(decimal(strength) ** self.power - self.value, Fraction(0)), self.power)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, exact; `total_from_dict` reads it."""
        return {"value": str(self.value)}

    def agrees_with(self, other: Sum | Mixture) -> bool:
        """Whether another count of the same entries may have come to it: fractions leave no doubt."""
        return self == other


@dataclass(frozen=True)
class Mixture:
    """A total of entries of any types as (epsilon, delta), delta at like's epsilon."""

    like: ApproxDP
    losses: Losses

    def plus(self, entry: Guarantee) -> Mixture:
        """The total with one more entry."""
        return replace(self, losses=self._losses_with(entry))

    def _losses_with(self, entry: Guarantee) -> Losses:
        match entry:
            case PureDP(epsilon):
                return self.losses.with_pure(decimal(epsilon))
            case ApproxDP(epsilon, delta):
                return self.losses.with_approx(decimal(epsilon), decimal(delta))
            case GDP(mu):
                return self.losses.with_gdp(decimal(mu))
            case ZCDP(rho):
                return self.losses.with_zcdp(decimal(rho))
            case RDP(alpha, epsilon):
                return self.losses.with_rdp(alpha, decimal(epsilon))
        raise InputError(f"entry = {entry!r} is not a guarantee: give for example GDP(1.0).")

    @property
    def strength(self) -> float:
        """The least delta that covers the total; 1 if none does."""
        return self.losses.delta()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, to the last bit; `total_from_dict` reads it."""
        return losses_to_dict(self.losses)

    def agrees_with(self, other: Sum | Mixture) -> bool:
        """Whether another count of the same entries may have come to it, on a machine with another last bit."""
        return isinstance(other, Mixture) and self.like == other.like and agree(self.losses, other.losses)


def total_from_dict(like: Guarantee, data: Mapping[str, Any]) -> Sum | Mixture:
    """The total of like's type that `to_dict` described; of anything else a ValueError, TypeError or LookupError."""
    if isinstance(like, ApproxDP):
        return Mixture(like, losses_from_dict(decimal(like.epsilon), data))
    return Sum(like, fraction_from_text(data["value"]))
