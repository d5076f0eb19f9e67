"""Privacy guarantees: what each one promises, and what follows from it.

A parameter means the shortest decimal that its float prints as: 0.2 is two tenths. Every derived number is exact or
an `arb` enclosure, rounded to the float whose decimal claims less privacy, never more.
Formulas, references and proofs: docs/proofs/guarantees.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from riemdp.accounting.curves import gaussian_curve, renyi_delta, response_curve, response_divergence
from riemdp.arguments import whole_number
from riemdp.arithmetic import decimal, largest_decimal, largest_float, least_decimal, round_up_decimal
from riemdp.display import shown
from riemdp.errors import InputError, MechanismError

if TYPE_CHECKING:
    from flint import arb

G = TypeVar("G", bound="Guarantee")
SMALLEST_POSITIVE = math.ulp(0.0)
TEXTS = "write 'epsilon=1', 'epsilon=1, delta=1e-6', 'mu=0.5', 'rho=0.1' or 'alpha=8, epsilon=0.5'"


@shown
@dataclass(frozen=True, repr=False)
class Guarantee:
    """A promise about any two data sets that differ by replacing one record.

    `a <= b`, or `a.implies(b)`: provably, whatever keeps a keeps b. A partial order, also across types;
    `assumptions` (texts: what the proof takes for granted) enter neither it nor equality.
    This is the base class: make one of `PureDP`, `ApproxDP`, `GDP`, `ZCDP` and `RDP`.

    Parameters
    ----------
    assumptions : tuple of str
        What the proof takes for granted, in words; kept sorted and without repetitions.

    Raises
    ------
    InputError
        If a parameter is not a number within its limits, or an assumption is no text.

    See Also
    --------
    compose : What several guarantees spend together.
    Ledger : A budget in a file, from which releases spend.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.PureDP(0.5) <= rd.PureDP(1.0), rd.PureDP(1.0) <= rd.GDP(1.0)
    (True, False)
    >>> print(rd.GDP(0.5))
    (mu = 0.5)-Gaussian differential privacy, replace-one adjacency
    """

    adjacency: ClassVar[str] = "replace-one"
    notion: ClassVar[str]
    assumptions: tuple[str, ...] = field(default=(), kw_only=True, compare=False)

    def __post_init__(self) -> None:
        for name, value in self.parameters.items():
            object.__setattr__(self, name, checked(name, value))
        texts = self.assumptions
        if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"assumptions = {texts!r} are not texts: give a tuple of str.")
        object.__setattr__(self, "assumptions", tuple(sorted(set(texts))))

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name; the last one, the strength, grows with what may leak.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.ApproxDP(1.0, 1e-6).parameters
        {'epsilon': 1.0, 'delta': 1e-06}
        """
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "assumptions"}

    def __repr__(self) -> str:
        shown = self.parameters | ({"assumptions": self.assumptions} if self.assumptions else {})
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __str__(self) -> str:
        values = ", ".join(f"{k} = {repr(v).removesuffix('.0')}" for k, v in self.parameters.items())
        assuming = f", assuming {'; '.join(self.assumptions)}" if self.assumptions else ""
        return f"({values})-{self.notion}, {self.adjacency} adjacency{assuming}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes an equal guarantee.

        Returns
        -------
        dict
            Its type, adjacency, parameters and assumptions.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.GDP(0.5).to_dict()
        {'type': 'GDP', 'adjacency': 'replace-one', 'mu': 0.5, 'assumptions': []}
        """
        kind = {"type": type(self).__name__, "adjacency": self.adjacency}
        return kind | self.parameters | {"assumptions": list(self.assumptions)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Guarantee:
        """The guarantee that `to_dict` described.

        Parameters
        ----------
        data : mapping
            What `to_dict` gave.

        Returns
        -------
        Guarantee
            An equal one, of the type that the data name.

        Raises
        ------
        InputError
            If a field is missing, unknown or wrong.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Guarantee.from_dict(rd.GDP(0.5).to_dict())
        GDP(mu=0.5)
        """
        kinds = {kind.__name__: kind for kind in Guarantee.__subclasses__()}
        kind = kinds.get(str(data.get("type"))) if isinstance(data, Mapping) else None
        names = {f.name for f in fields(kind)} if kind else set()
        if not kind or set(data) != names | {"type", "adjacency"} or data["adjacency"] != kind.adjacency:
            raise InputError(f"data = {data!r} is no guarantee: give the to_dict() of a {', '.join(kinds)}.")
        return kind(**{name: data[name] for name in names})

    @staticmethod
    def from_text(text: str, name: str = "guarantee") -> Guarantee:
        """The guarantee that a text such as "epsilon=1, delta=1e-6" names by its parameters, as in a YAML file.

        Parameters
        ----------
        text : str
            Names and decimals: "epsilon=1", "epsilon=1, delta=1e-6", "mu=0.5", "rho=0.1" or "alpha=8, epsilon=0.5".
        name : str
            Of the argument, for the message if the text is wrong.

        Returns
        -------
        Guarantee
            The one whose parameters these are.

        Raises
        ------
        InputError
            If the text names the parameters of no guarantee, or a number is not one of its kind.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Guarantee.from_text("epsilon=1, delta=1e-6")
        ApproxDP(epsilon=1.0, delta=1e-06)
        """
        given = _numbers_by_name(text)
        for kind in Guarantee.__subclasses__():
            if given.keys() == set(kind.__match_args__):
                return kind(**given)
        raise InputError(f"{name} = {text!r}: {TEXTS}.")

    def with_assumptions(self: G, *more: str) -> G:
        """The same guarantee under further assumptions.

        Parameters
        ----------
        *more : str
            What the proof takes for granted as well, in words.

        Returns
        -------
        Guarantee
            Of the same type and parameters.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.GDP(1.0).with_assumptions("labels are public").assumptions
        ('labels are public',)
        """
        return replace(self, assumptions=(*self.assumptions, *more))

    def split(self: G, parts: int) -> list[G]:
        """Equal parts that together spend at most this guarantee, in whatever order.

        Parameters
        ----------
        parts : int
            How many.

        Returns
        -------
        list of Guarantee
            Of the same type, each as large as decimals allow: an equal share of epsilon, rho or delta, of the square
            of mu; of RDP at the same alpha.

        Raises
        ------
        InputError
            If there are no parts, or a part is too small for a float.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.PureDP(1.0).split(5)[0]
        PureDP(epsilon=0.2)
        """
        count, power = whole_number(parts, "parts", 1), 2 if isinstance(self, GDP) else 1
        divided = {name: value for name, value in self.parameters.items() if name != "alpha"}
        shares: dict[str, Any] = {
            name: largest_decimal(decimal(value) ** power / count, power) for name, value in divided.items()
        }
        return [replace(self, **shares)] * count

    def implies(self, other: Guarantee) -> bool:
        """Whether it is proved that everything which keeps this guarantee keeps the other one.

        Parameters
        ----------
        other : Guarantee
            Of any type.

        Returns
        -------
        bool
            False also where an implication may hold, but none is proved.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.PureDP(1.0).implies(rd.ApproxDP(1.0, 1e-6)), rd.GDP(1.0).implies(rd.PureDP(9.0))
        (True, False)
        """
        return self.least_strength(other) <= list(other.parameters.values())[-1]

    def __le__(self, other: Guarantee) -> bool:
        return self.implies(other) if isinstance(other, Guarantee) else NotImplemented

    def __lt__(self, other: Guarantee) -> bool:
        return self <= other and not other <= self if isinstance(other, Guarantee) else NotImplemented

    def to_gdp(self) -> GDP:
        """Convert to Gaussian differential privacy: the least proved mu.

        Returns
        -------
        GDP
            From PureDP exactly -2 Phi^-1(1/(1 + e^epsilon)), rounded up.

        Raises
        ------
        MechanismError
            If no GDP follows, as from ZCDP, RDP and ApproxDP.

        Examples
        --------
        >>> import riemdp as rd
        >>> round(rd.PureDP(1.0).to_gdp().mu, 4)
        1.232
        """
        return self.to_like(GDP(1.0))

    def to_zcdp(self) -> ZCDP:
        """Convert to zero-concentrated differential privacy: the least proved rho.

        Returns
        -------
        ZCDP
            Exactly epsilon tanh(epsilon/2) from PureDP and mu^2/2 from GDP, rounded up.

        Raises
        ------
        MechanismError
            If no ZCDP follows, as from RDP and ApproxDP.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.GDP(1.0).to_zcdp()
        ZCDP(rho=0.5)
        """
        return self.to_like(ZCDP(1.0))

    def to_rdp(self, alpha: float) -> RDP:
        """Convert to Rényi differential privacy: the least proved epsilon at alpha.

        Parameters
        ----------
        alpha : float
            The order, above 1.

        Returns
        -------
        RDP
            Of that order.

        Raises
        ------
        InputError
            If alpha is not above 1.
        MechanismError
            If no RDP of that order follows.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.ZCDP(0.5).to_rdp(8.0)
        RDP(alpha=8.0, epsilon=4.0)
        """
        return self.to_like(RDP(alpha, 1.0))

    def to_approx(self, *, epsilon: float | None = None, delta: float | None = None) -> ApproxDP:
        """Convert to (epsilon, delta)-differential privacy: give one of the two, get the least proved other one.

        Parameters
        ----------
        epsilon : float, optional
            Ask for the least delta at this epsilon.
        delta : float, optional
            Ask for the least epsilon at this delta.

        Returns
        -------
        ApproxDP
            With the number that was given.

        Raises
        ------
        InputError
            If not just one of them is given.
        MechanismError
            If nothing follows with that number.

        Examples
        --------
        >>> import riemdp as rd
        >>> round(rd.GDP(1.0).to_approx(delta=1e-6).epsilon, 3)
        4.887
        """
        if (epsilon is None) == (delta is None):
            raise InputError(f"epsilon = {epsilon!r}, delta = {delta!r} is not one of them: give just one.")
        if epsilon is not None:
            return self.to_like(ApproxDP(epsilon, 0.5))
        goal, under = checked("delta", delta), math.nextafter(1.0, 0.0)
        failing = largest_float(lambda e: goal / max(self.least_strength(ApproxDP(e, goal)), SMALLEST_POSITIVE), under)
        like = ApproxDP(1.0, goal, assumptions=self.assumptions)
        return stated(self, like, "epsilon", math.nextafter(failing, math.inf))

    def to_like(self, like: G) -> G:
        """Convert to the type of another guarantee, at its own epsilon (ApproxDP) or alpha (RDP).

        Parameters
        ----------
        like : Guarantee
            What the result is to be like; its strength does not matter.

        Returns
        -------
        Guarantee
            The strongest proved one of like's type.

        Raises
        ------
        MechanismError
            If none of that type follows.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.GDP(1.0).to_like(rd.ZCDP(1.0))
        ZCDP(rho=0.5)
        """
        least = self.least_strength(like)
        return stated(self, replace(like, assumptions=self.assumptions), list(like.parameters)[-1], least)

    def least_strength(self, like: Guarantee) -> float:
        """The least strength of like's type, at like's alpha or epsilon, that provably follows from this.

        Exact from PureDP (worst case: randomised response) and from GDP (worst case: two normals).

        Parameters
        ----------
        like : Guarantee
            The type, with its alpha or epsilon; its strength does not matter.

        Returns
        -------
        float
            The strength; infinity, or delta = 1, where nothing follows.

        Raises
        ------
        InputError
            If `like` is not a guarantee.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.GDP(1.0).least_strength(rd.ZCDP(1.0)), rd.ZCDP(1.0).least_strength(rd.GDP(1.0))
        (0.5, inf)
        """
        match self, like:
            case (PureDP(x), PureDP()) | (GDP(x), GDP()) | (ZCDP(x), ZCDP()):
                return x
            case PureDP(e), GDP():
                return _least(lambda e: (8 * (2 / (1 + e.exp())).erfcinv() ** 2).sqrt(), e)
            case PureDP(e), ZCDP():
                return _least(lambda e: e * (e / 2).tanh(), e)
            case PureDP(e), RDP(alpha):
                return min(e, _least(response_divergence, e, alpha))
            case PureDP(e), ApproxDP(at):
                return 0.0 if e <= at else _least(response_curve, e, at)
            case GDP(mu), ZCDP() | RDP():
                return least_decimal(decimal(like.parameters.get("alpha", 1.0)) * decimal(mu) ** 2 / 2)
            case GDP(mu), ApproxDP(at):
                return _least(gaussian_curve, mu, at)
            case ZCDP(rho), RDP(alpha):
                return least_decimal(decimal(alpha) * decimal(rho))
            case ZCDP(rho), ApproxDP(at):
                return renyi_delta(decimal(rho), Fraction(0), math.inf, decimal(at))
            case RDP(order, e), RDP(alpha):
                return e if alpha <= order else math.inf
            case RDP(alpha, e), ApproxDP(at):
                return renyi_delta(Fraction(0), decimal(e), alpha, decimal(at))
            case ApproxDP(e, delta), ApproxDP(at):
                return delta if e <= at else 1.0
            case Guarantee(), Guarantee():
                return 1.0 if isinstance(like, ApproxDP) else math.inf
        raise InputError(f"like = {like!r} is not a guarantee: give for example GDP(1.0).")


@dataclass(frozen=True, repr=False)
class PureDP(Guarantee):
    """Pure epsilon-differential privacy (Dwork, McSherry, Nissim, Smith 2006).

    No event becomes more than e^epsilon times as likely by replacing one record.

    Parameters
    ----------
    epsilon : float
        Above 0. Small is strict: 0.1 is strong, 1 is usual, 10 promises little.
    assumptions : tuple of str
        What the proof takes for granted, in words.

    Raises
    ------
    InputError
        If epsilon is not a number above 0.

    See Also
    --------
    Guarantee : What all guarantees can do.
    ApproxDP : But for events of a small probability.
    compose : Epsilons add up; as (epsilon, delta), many of them come to less.

    Examples
    --------
    >>> import riemdp as rd
    >>> round(rd.PureDP(1.0).to_approx(epsilon=0.5).delta, 4)
    0.2876
    """

    notion = "differential privacy"
    epsilon: float


@dataclass(frozen=True, repr=False)
class GDP(Guarantee):
    """Gaussian differential privacy, mu-GDP (Dong, Roth, Su 2022).

    Telling from a release whether a record was replaced is at least as hard as telling N(0, 1) from N(mu, 1).

    Parameters
    ----------
    mu : float
        Above 0. At 0.5 an adversary's best test of level 5 % has power 13 %, at 1 it has 26 %, at 3 it has 91 %.
    assumptions : tuple of str
        What the proof takes for granted, in words.

    Raises
    ------
    InputError
        If mu is not a number above 0.

    See Also
    --------
    Guarantee : What all guarantees can do.
    ZCDP : What it implies.
    compose : Squares of mu add up.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.compose([rd.GDP(3.0), rd.GDP(4.0)], rd.GDP(1.0))
    GDP(mu=5.0)
    """

    notion = "Gaussian differential privacy"
    mu: float


@dataclass(frozen=True, repr=False)
class ZCDP(Guarantee):
    """Zero-concentrated differential privacy, rho-zCDP (Bun, Steinke 2016).

    The Rényi divergence of every order alpha > 1 is at most rho alpha.

    Parameters
    ----------
    rho : float
        Above 0; mu-GDP implies rho = mu^2/2.
    assumptions : tuple of str
        What the proof takes for granted, in words.

    Raises
    ------
    InputError
        If rho is not a number above 0.

    See Also
    --------
    Guarantee : What all guarantees can do.
    GDP : What Gaussian noise gives, which is more.
    compose : Values of rho add up.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.compose([rd.ZCDP(0.1), rd.ZCDP(0.2)], rd.ZCDP(1.0))
    ZCDP(rho=0.3)
    """

    notion = "zero-concentrated differential privacy"
    rho: float


@dataclass(frozen=True, repr=False)
class RDP(Guarantee):
    """(alpha, epsilon)-Rényi differential privacy (Mironov 2017).

    The Rényi divergence of order alpha is at most epsilon.

    Parameters
    ----------
    alpha : float
        The order, above 1.
    epsilon : float
        Above 0.
    assumptions : tuple of str
        What the proof takes for granted, in words.

    Raises
    ------
    InputError
        If alpha is not above 1, or epsilon not above 0.

    See Also
    --------
    Guarantee : What all guarantees can do.
    ZCDP : For all orders at once.
    compose : At one order, epsilons add up.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.RDP(8.0, 0.5) <= rd.RDP(4.0, 0.5)
    True
    """

    notion = "Rényi differential privacy"
    alpha: float
    epsilon: float


@dataclass(frozen=True, repr=False)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy (Dwork, Kenthapadi, McSherry et al. 2006).

    Pure differential privacy but for events of probability delta: choose it far below 1/n.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        Above 0 and below 1.
    assumptions : tuple of str
        What the proof takes for granted, in words.

    Raises
    ------
    InputError
        If epsilon is not above 0, or delta not between 0 and 1.

    See Also
    --------
    Guarantee : What all guarantees can do.
    PureDP : Without exceptions.
    GDP : What Gaussian noise gives before a delta is chosen.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.ApproxDP(1.0, 1e-6) <= rd.ApproxDP(2.0, 1e-6)
    True
    """

    notion = "differential privacy"
    epsilon: float
    delta: float


def as_guarantee(value: Guarantee | str, name: str = "guarantee") -> Guarantee:
    """A guarantee wherever one is asked for: itself, or the one that a text names; what is neither stays as it is."""
    return Guarantee.from_text(value, name) if isinstance(value, str) else value


def _numbers_by_name(text: str) -> dict[str, Any]:
    """The numbers of "name=number, name=number" by name."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        found = {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        found = {}
    return found if len(found) == len(pairs) else {}  # none may be there twice


def checked(name: str, value: object) -> float:
    """The value as a float, if it is a number strictly between the limits of the parameter of that name."""
    low, high = {"delta": (0.0, 1.0), "alpha": (1.0, math.inf)}.get(name, (0.0, math.inf))
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not low < number < high:
        raise InputError(f"{name} = {value!r} is not a number above {low:g} and below {high:g}: give one.")
    return number


def _least(formula: Callable[..., arb], *parameters: float) -> float:
    """The least parameter that is proved to be at least the formula of these parameters."""
    return round_up_decimal(formula, *map(decimal, parameters))


def stated(source: object, goal: G, name: str, least: float) -> G:
    """The goal with its parameter `name` at the least proved value, if that promises anything."""
    found: dict[str, Any] = {name: max(least, SMALLEST_POSITIVE)}
    if least < (limit := 1.0 if name == "delta" else math.inf):
        return replace(goal, **found)
    hint = "convert only down the list PureDP, GDP, ZCDP, RDP (alpha may fall), ApproxDP (epsilon may rise)"
    raise MechanismError(f"{source!r} proves no {name} < {limit:g} for {goal!r}: {hint}.")
