"""How to adapt to the records: public options, and what is left of the guarantee while steps spend from it.

How much a step spends may depend on what earlier ones released: on every path the strengths add up to what was asked
for, no more, which is enough (docs/proofs/adaptive.md, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from riemdp.accounting.composition import Sum
from riemdp.accounting.guarantee import GDP, ApproxDP, Guarantee, PureDP
from riemdp.arguments import finite_number, whole_number
from riemdp.errors import InputError
from riemdp.privacy.calibration import _largest

MOST_ROUNDS = 8
LEAST_FOR_MEAN = 1e-6  # share of the budget: far more than the roundings of all others
USUAL_SHARES = {1: 0.1, 2: 0.06, 3: 0.03}  # of each centre and each radius


@dataclass(frozen=True)
class Adaptation:
    """How to adapt to the records; all of it is public, and by default decided from public numbers.

    Each of the rounds finds a private centre and a private radius, each for its share of the budget.
    `FOOTPOINT` is that of the exponential-wrapped paper's A.3.1: one centre, and no radius.

    Parameters
    ----------
    rounds : int, optional
        From 1 to 8; by default as many as pay: they stop when the ball shrinks no more, and what they have not spent
        goes to the mean. Public numbers decide whether there are any.
    center_share : float, optional
        Share of the budget for each centre: of epsilon, of rho, of mu squared; above 0 and below 1. By default what
        makes a centre precise to an eighth of the radius, within limits.
    radius_share : float, optional
        Share for each radius. With 0, for one round only, the ball stays and just the footpoint moves.
    spare : float
        How many records may be left outside the radius for nothing, in units of the number that would move the mean
        by as much as the noise does if they all lay on one side, one radius beyond the rim. By default twice as many:
        few are that far outside, and not all of them on one side.
    shape : bool
        Whether noise may take the shape of the records, an ellipsoid instead of a ball: with Gaussian noise and
        rounds that stop by themselves.

    Raises
    ------
    InputError
        If a number is not as described, or the shares leave nothing for the mean.

    See Also
    --------
    private_mean : Takes it as `adapt=`.
    plan : Predicts whether it helps.

    Examples
    --------
    >>> import riemdp as rd
    >>> how = rd.Adaptation(rounds=2, center_share=0.05, radius_share=0.05)
    >>> round(how.left(2), 3)
    0.8
    """

    rounds: int | None = None
    center_share: float | None = None
    radius_share: float | None = None
    spare: float = 2.0
    shape: bool = True

    def __post_init__(self) -> None:
        if self.rounds is not None and whole_number(self.rounds, "rounds", 1) > MOST_ROUNDS:
            raise InputError(f"rounds = {self.rounds!r}: pass a whole number from 1 to {MOST_ROUNDS}.")
        shares = [finite_number(w, "share") for w in (self.center_share, self.radius_share) if w is not None]
        if not all(0 <= share < 1 for share in shares) or self.center_share == 0:
            raise InputError(f"shares {shares}: pass shares of the budget above 0 and below 1.")
        if self.radius_share == 0 and self.rounds != 1:
            raise InputError("radius_share = 0 keeps the given ball: pass rounds=1 with it.")
        if not self.left(self.rounds or 1) >= LEAST_FOR_MEAN:
            raise InputError(f"rounds = {self.rounds!r} and shares {shares} leave nothing for the mean: lower them.")
        if not isinstance(self.shape, bool):
            raise InputError(f"shape = {self.shape!r}: pass True or False.")
        if not finite_number(self.spare, "spare") >= 0:
            raise InputError(f"spare = {self.spare!r}: pass 0 or more.")

    def weights(self, rounds: int) -> tuple[float, float]:
        """The shares of the budget of the centre and of the radius in each round.

        Parameters
        ----------
        rounds : int
            How many there are.

        Returns
        -------
        tuple of float
            The share of a centre and that of a radius.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Adaptation().weights(1)
        (0.1, 0.1)
        """
        usual = USUAL_SHARES.get(rounds, 0.09 / rounds)
        center, radius = (usual if w is None else w for w in (self.center_share, self.radius_share))
        return center, radius

    def left(self, rounds: int) -> float:
        """Share of the budget that is left for the mean itself.

        Parameters
        ----------
        rounds : int
            How many there are.

        Returns
        -------
        float
            Above 0.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Adaptation().left(1)
        0.8
        """
        return 1 - rounds * sum(self.weights(rounds))


FOOTPOINT = Adaptation(rounds=1, center_share=0.1, radius_share=0.0)


def adaptation(value: Any) -> Adaptation | None:
    """What `adapt=` means: False, True or how."""
    if isinstance(value, Adaptation):
        return value
    if not isinstance(value, bool):
        raise InputError(f"adapt = {value!r}: pass True, False or an Adaptation.")
    return Adaptation() if value else None


# --- the budget ------------------------------------------------------------------------------------------


def divisible(guarantee: Guarantee) -> list[Guarantee]:
    """What implies the guarantee and can be shared out: itself, but for ApproxDP the largest GDP or PureDP."""
    if isinstance(guarantee, ApproxDP):
        return [GDP(_largest(GDP, guarantee)), PureDP(_largest(PureDP, guarantee))]
    return [replace(guarantee, assumptions=())]


def split(whole: Guarantee, weights: list[float]) -> list[Guarantee]:
    """Guarantees with these shares of the whole, in order, whose adaptive composition implies it.

    Strengths are multiplied by the shares (mu by their roots), exactly what composition adds up. The last one gets
    all that the others leave, rounded down.
    """
    *_, (name, strength) = whole.parameters.items()
    power = 0.5 if isinstance(whole, GDP) else 1.0
    parts = [_with_strength(whole, name, strength * weight**power) for weight in weights[:-1]]
    spent = Sum(whole)
    for part in parts:
        spent = spent.plus(part)
    return [*parts, _with_strength(whole, name, spent.left_of(strength))]


def _with_strength(whole: Guarantee, name: str, strength: float) -> Guarantee:
    changed: dict[str, Any] = {name: strength}
    return replace(whole, **changed)


class Effort(NamedTuple):
    """The parts of a guarantee that one round takes."""

    center: float
    radius: float


@dataclass(frozen=True)
class Allowance:
    """What is left of a guarantee after some of it was spent; earlier releases may decide how much comes next."""

    whole: Guarantee
    spent: Sum

    @classmethod
    def of(cls, whole: Guarantee) -> Allowance:
        """All of it is left."""
        return cls(whole, Sum(whole))

    def share(self, weight: float) -> Guarantee:
        """This part of the whole: of what composition adds up."""
        name, strength = self._strength
        return _with_strength(self.whole, name, strength * weight ** (1 / self.spent.power))

    def after(self, part: Guarantee) -> Allowance:
        """With one more part spent; there must be enough left."""
        spent = self.spent.plus(part)
        assert spent.value <= self.spent.plus(self.rest).value, "more than is left"
        return replace(self, spent=spent)

    @property
    def rest(self) -> Guarantee:
        """All that is not spent, rounded down."""
        name, strength = self._strength
        return _with_strength(self.whole, name, self.spent.left_of(strength))

    @property
    def left(self) -> float:
        """The rest, as a part of the whole."""
        *_, rest = self.rest.parameters.values()
        return float((rest / self._strength[1]) ** self.spent.power)

    @property
    def _strength(self) -> tuple[str, float]:
        *_, (name, strength) = self.whole.parameters.items()
        return name, strength
