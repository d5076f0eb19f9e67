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
        """The parameters by name; the last one, the strength, grows with what may leak."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "assumptions"}

    def __repr__(self) -> str:
        shown = self.parameters | ({"assumptions": self.assumptions} if self.assumptions else {})
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __str__(self) -> str:
        values = ", ".join(f"{k} = {repr(v).removesuffix('.0')}" for k, v in self.parameters.items())
        assuming = f", assuming {'; '.join(self.assumptions)}" if self.assumptions else ""
        return f"({values})-{self.notion}, {self.adjacency} adjacency{assuming}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes an equal guarantee."""
        kind = {"type": type(self).__name__, "adjacency": self.adjacency}
        return kind | self.parameters | {"assumptions": list(self.assumptions)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Guarantee:
        """The guarantee that `to_dict` described; a missing, unknown or wrong field is an InputError."""
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
        >>> Guarantee.from_text("epsilon=1, delta=1e-6")
        ApproxDP(epsilon=1.0, delta=1e-06)
        """
        given = _numbers_by_name(text)
        for kind in Guarantee.__subclasses__():
            if given.keys() == set(kind.__match_args__):
                return kind(**given)
        raise InputError(f"{name} = {text!r}: {TEXTS}.")

    def with_assumptions(self: G, *more: str) -> G:
        """The same guarantee under further assumptions."""
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
        >>> PureDP(1.0).split(5)[0]
        PureDP(epsilon=0.2)
        """
        count, power = whole_number(parts, "parts", 1), 2 if isinstance(self, GDP) else 1
        divided = {name: value for name, value in self.parameters.items() if name != "alpha"}
        shares: dict[str, Any] = {
            name: largest_decimal(decimal(value) ** power / count, power) for name, value in divided.items()
        }
        return [replace(self, **shares)] * count

    def implies(self, other: Guarantee) -> bool:
        """Whether it is proved that everything which keeps this guarantee keeps the other one."""
        return self.least_strength(other) <= list(other.parameters.values())[-1]

    def __le__(self, other: Guarantee) -> bool:
        return self.implies(other) if isinstance(other, Guarantee) else NotImplemented

    def __lt__(self, other: Guarantee) -> bool:
        return self <= other and not other <= self if isinstance(other, Guarantee) else NotImplemented

    def to_gdp(self) -> GDP:
        """The least proved mu; from PureDP exactly -2 Phi^-1(1/(1 + e^epsilon))."""
        return self.to_like(GDP(1.0))

    def to_zcdp(self) -> ZCDP:
        """The least proved rho; exactly epsilon tanh(epsilon/2) from PureDP and mu^2/2 from GDP."""
        return self.to_like(ZCDP(1.0))

    def to_rdp(self, alpha: float) -> RDP:
        """The least proved Rényi epsilon at alpha."""
        return self.to_like(RDP(alpha, 1.0))

    def to_approx(self, *, epsilon: float | None = None, delta: float | None = None) -> ApproxDP:
        """The least proved delta at the given epsilon, or the least proved epsilon at the given delta."""
        if (epsilon is None) == (delta is None):
            raise InputError(f"epsilon = {epsilon!r}, delta = {delta!r} is not one of them: give just one.")
        if epsilon is not None:
            return self.to_like(ApproxDP(epsilon, 0.5))
        goal, under = checked("delta", delta), math.nextafter(1.0, 0.0)
        failing = largest_float(lambda e: goal / max(self.least_strength(ApproxDP(e, goal)), SMALLEST_POSITIVE), under)
        like = ApproxDP(1.0, goal, assumptions=self.assumptions)
        return stated(self, like, "epsilon", math.nextafter(failing, math.inf))

    def to_like(self, like: G) -> G:
        """The strongest proved guarantee of like's type, at like's own epsilon (ApproxDP) or alpha (RDP)."""
        least = self.least_strength(like)
        return stated(self, replace(like, assumptions=self.assumptions), list(like.parameters)[-1], least)

    def least_strength(self, like: Guarantee) -> float:
        """The least strength of like's type, at like's alpha or epsilon, that provably follows from this.

        Exact from PureDP (worst case: randomised response) and from GDP (worst case: two normals); infinity,
        or delta = 1, where nothing follows.
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
    """epsilon-differential privacy (Dwork, McSherry, Nissim, Smith 2006)."""

    notion = "differential privacy"
    epsilon: float


@dataclass(frozen=True, repr=False)
class GDP(Guarantee):
    """mu-GDP: telling apart is at least as hard as N(0, 1) from N(mu, 1) (Dong, Roth, Su 2022)."""

    notion = "Gaussian differential privacy"
    mu: float


@dataclass(frozen=True, repr=False)
class ZCDP(Guarantee):
    """rho-zCDP: the Rényi divergence of every order alpha > 1 is at most rho alpha (Bun, Steinke 2016)."""

    notion = "zero-concentrated differential privacy"
    rho: float


@dataclass(frozen=True, repr=False)
class RDP(Guarantee):
    """(alpha, epsilon)-RDP: the Rényi divergence of order alpha > 1 is at most epsilon (Mironov 2017)."""

    notion = "Rényi differential privacy"
    alpha: float
    epsilon: float


@dataclass(frozen=True, repr=False)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy with 0 < delta < 1 (Dwork, Kenthapadi, McSherry et al. 2006)."""

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
