"""Privacy guarantees: what each one promises, what follows from it, and what several spend together.

Every derived number is an `arb` enclosure rounded to the float that claims less privacy, never more.
Formulas, references and proofs: docs/proofs/guarantees.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from riemdp.errors import InputError, MechanismError
from riemdp.privacy.noise import working_precision

if TYPE_CHECKING:
    from flint import arb

G = TypeVar("G", bound="Guarantee")
LATTICE, GROUPS = 2**15, 2**11  # a mixture's largest loss in lattice steps; the losses that are told apart


@dataclass(frozen=True, repr=False)
class Guarantee:
    """A promise about any two data sets that differ by replacing one record.

    `a <= b`, or `a.implies(b)`: provably, whatever keeps a keeps b. A partial order, also across types;
    `assumptions` (texts: what the proof takes for granted) do not enter it, but they do enter equality.
    """

    adjacency: ClassVar[str] = "replace-one"
    notion: ClassVar[str]
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)

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

    def with_assumptions(self: G, *more: str) -> G:
        """The same guarantee under further assumptions."""
        return replace(self, assumptions=(*self.assumptions, *more))

    def implies(self, other: Guarantee) -> bool:
        """Whether it is proved that everything which keeps this guarantee keeps the other one."""
        return least_strength(self, other) <= list(other.parameters.values())[-1]

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
            raise InputError(f"epsilon = {epsilon!r}, delta = {delta!r} are not one of the two: give just one.")
        if epsilon is not None:
            return self.to_like(ApproxDP(epsilon, 0.5))
        goal = ApproxDP(1.0, checked("delta", delta), assumptions=self.assumptions)
        below_one = math.nextafter(1.0, 0.0)  # the last epsilon whose delta is above the goal; then the next one
        last = largest_float(lambda e: goal.delta / max(_delta(self, e), math.ulp(0.0)), below_one)
        return _stated(self, goal, "epsilon", math.nextafter(last, math.inf))

    def to_like(self, like: G) -> G:
        """The strongest proved guarantee of like's type, at like's own epsilon (ApproxDP) or alpha (RDP)."""
        least = least_strength(self, like)
        return _stated(self, replace(like, assumptions=self.assumptions), list(like.parameters)[-1], least)


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


def compose(guarantees: Iterable[Guarantee], like: G) -> G | None:
    """The total of adaptive sequential composition as a guarantee of like's type; None if nothing was spent.

    Strengths add up (GDP: their squares), for RDP at like's alpha. ApproxDP gets the delta at like's epsilon,
    exact for GDP, else by pessimistic privacy loss distributions. The order of the entries does not matter.
    """
    from flint import arb

    entries = sorted(guarantees, key=repr)
    if isinstance(like, ApproxDP) and len(entries) > 1:
        total = _total_delta(entries, like.epsilon)
    else:
        parts, power = [least_strength(entry, like) for entry in entries], 2 if isinstance(like, GDP) else 1
        total = round_up(lambda: sum((arb(part) ** power for part in parts), arb(0)).root(power))
    united = replace(like, assumptions=tuple({text for entry in entries for text in entry.assumptions}))
    return _stated(entries, united, list(like.parameters)[-1], total) if entries else None


def _total_delta(entries: list[Guarantee], epsilon: float) -> float:
    """delta at epsilon: all those with the weakest kind of curve are joined into one, and that with the rest."""
    renyi = [entry for entry in entries if isinstance(entry, RDP | ZCDP)]
    weakest = min(renyi, key=lambda entry: entry.parameters.get("alpha", math.inf), default=GDP(1.0))
    curved = (PureDP, GDP, ZCDP, RDP) if renyi else (GDP,)
    joint = compose([entry for entry in entries if isinstance(entry, curved)], weakest)
    rest = [entry.parameters for entry in entries if not isinstance(entry, curved)]
    pairs = [(values["epsilon"], values.get("delta", 0.0)) for values in rest]
    if joint is None or (pairs and not renyi):
        return _mixture_delta(pairs, joint.parameters["mu"] if joint else 0.0, epsilon)
    if not pairs:
        return _delta(joint, epsilon)
    shares = [max(epsilon * k / 8, math.ulp(0.0)) for k in range(1, 8)]
    return min(_mixture_delta([*pairs, (share, _delta(joint, share))], 0.0, epsilon) for share in shares)


def _mixture_delta(pairs: list[tuple[float, float]], mu: float, epsilon: float) -> float:
    """delta at epsilon of (epsilon_i, delta_i)-DP steps and a mu-GDP step, by their dominating pairs.

    A step loses infinity with probability delta_i, else +-epsilon_i as randomised response does; epsilon_i is
    rounded up to a lattice. delta is the mean of the GDP step's delta at epsilon - (loss of all the others).
    """
    from flint import arb

    def loss(steps: int) -> arb:
        return arb(top) * steps / parts

    def response(steps: int) -> float:
        return round_up(lambda: 1 / (1 + loss(-steps).exp()))

    def gaussian(steps: int) -> float:
        return round_up(lambda: gaussian_curve(mu, epsilon - loss(steps)))

    top = max(e for e, _ in pairs)
    parts = max(1, math.ceil(LATTICE * (top / sum(e for e, _ in pairs))))
    masses = np.ones(1)
    for e, _ in pairs:
        steps = math.ceil(Fraction(e) * parts / Fraction(top))
        up, down = response(steps) * masses, response(-steps) * masses
        masses = np.pad(up, (2 * steps, 0)) + np.pad(down, (0, 2 * steps))
    atoms = np.flatnonzero(masses)
    groups = np.array_split(atoms, min(len(atoms), GROUPS))  # each is counted at its largest loss
    finite = math.fsum(masses[group].sum() * gaussian(int(group[-1]) - len(masses) // 2) for group in groups)
    # what floats may have lost: a relative part of each positive term, and masses that underflow
    finite = finite * (1 + (2 * len(pairs) + len(groups[0]) + 8) * 2.0**-52) + 2.0**-1000
    deltas = [min(delta, 1.0) for delta in (finite, *(delta for _, delta in pairs))]
    return min(1.0, round_up(lambda: 1 - math.prod((1 - arb(delta) for delta in deltas), start=arb(1))))


def least_strength(given: Guarantee, like: Guarantee) -> float:
    """The least strength of like's type, at like's alpha or epsilon, that provably follows from the given one.

    Exact from PureDP (worst case: randomised response) and GDP (worst case: two normals); infinity, or delta = 1,
    where nothing follows.
    """
    from flint import arb

    match given, like:
        case (PureDP(x), PureDP()) | (GDP(x), GDP()) | (ZCDP(x), ZCDP()):
            return x
        case PureDP(e), GDP():
            if e < 1:  # the same number twice: each form is free of cancellation on its side
                return round_up(lambda: arb(8).sqrt() * (arb(e) / 2).tanh().erfinv())
            return round_up(lambda: arb(8).sqrt() * (2 / (1 + arb(e).exp())).erfcinv())
        case PureDP(e), ZCDP():
            return round_up(lambda: arb(e) * (arb(e) / 2).tanh())
        case PureDP(e), RDP(alpha):
            return min(e, round_up(lambda: _response_divergence(arb(e) / 2, arb(alpha))))
        case PureDP(e), ApproxDP(at):
            return 0.0 if e <= at else round_up(lambda: -(arb(at) - e).expm1() / (1 + (-arb(e)).exp()))
        case GDP(mu), ZCDP():
            return round_up(lambda: arb(mu) ** 2 / 2)
        case GDP(mu), RDP(alpha):
            return round_up(lambda: arb(alpha) * arb(mu) ** 2 / 2)
        case GDP(mu), ApproxDP(at):
            return round_up(lambda: gaussian_curve(mu, arb(at)))
        case ZCDP(rho), RDP(alpha):
            return round_up(lambda: arb(alpha) * rho)
        case ZCDP(rho), ApproxDP(at):
            best = largest_float(lambda beta: (2 * beta + 1) * rho / (at + math.log1p(1 / beta)), 1.0)
            return min(1.0, round_up(lambda: _renyi_curve(arb(best), (1 + arb(best)) * rho - at)))
        case RDP(order, e), RDP(alpha):
            return e if alpha <= order else math.inf
        case RDP(alpha, e), ApproxDP(at):
            return min(1.0, round_up(lambda: _renyi_curve(arb(alpha) - 1, arb(e) - at)))
        case ApproxDP(e, delta), ApproxDP(at):
            return delta if e <= at else 1.0
        case Guarantee(), Guarantee():
            return 1.0 if isinstance(like, ApproxDP) else math.inf
    raise InputError(f"{given!r} and {like!r} are not both guarantees: give for example GDP(1.0).")


def _delta(given: Guarantee, epsilon: float) -> float:
    return least_strength(given, ApproxDP(epsilon, 0.5))


def _response_divergence(half: arb, alpha: arb) -> arb:
    """Rényi divergence of randomised response: log(cosh((2 alpha - 1) half)/cosh(half))/(alpha - 1)."""
    above_one = 2 * (alpha * half).sinh() * ((alpha - 1) * half).sinh() / half.cosh()
    return above_one.log1p() / (alpha - 1)


def gaussian_curve(mu: float | arb, epsilon: arb) -> arb:
    """delta of mu-GDP at a real epsilon: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    from flint import arb

    if mu == 0:
        return (-epsilon.expm1()).max(0)
    near, far = ((epsilon / mu + sign * arb(mu) / 2) / arb(2).sqrt() for sign in (-1, 1))
    most, less = near.erfc(), epsilon.exp() * far.erfc()
    return (most - less if most - less < most else most) / 2  # the first term alone where `less` is out of range


def _renyi_curve(beta: arb, excess: arb) -> arb:
    """delta from a Rényi divergence epsilon + excess of order 1 + beta (Canonne, Kamath, Steinke 2020)."""
    if excess > 0 and beta * excess.expm1() > 1:  # a lower order does better, and has a simpler form
        return -(-excess).expm1()
    return (beta * (excess - (1 / beta).log1p()) - beta.log1p()).exp()


def round_up(formula: Callable[[], arb]) -> float:
    """The least float that is provably not below formula(), enclosed more and more precisely until sharp."""
    for bits in (128, 384, 4500):
        with working_precision(bits):
            ball = formula()
            nearest = float(ball.upper()) if ball.is_finite() else math.inf
        if nearest == 0 or ball.rel_accuracy_bits() >= 64:
            break
    return nearest if nearest >= ball else math.nextafter(nearest, math.inf)


def largest_float(value: Callable[[float], float], goal: float, *probes: float) -> float:
    """The largest positive float x with value(x) <= goal, for an increasing function; 0 if there is none.

    Bisects the bit patterns, which order the floats, or interpolates log value by the Illinois rule (Dowell,
    Jarratt 1971) where that is possible; the probes are tried first, from the last to the first.
    """
    low, high, side, left, right = 0, _bits(math.inf), 0, math.nan, math.nan
    untried = [_bits(probe) for probe in probes]
    while high - low > 1:
        share = left / (left - right) if left <= 0 < right else 0.5
        middle = untried.pop() if untried else low + int((high - low) * share)
        middle = min(max(middle, low + 1), high - 1)
        found = value(np.int64(middle).view(np.float64).item())
        gap = math.log(found) - math.log(goal) if 0 < found < math.inf and goal > 0 else math.nan
        if found <= goal:
            low, side, left, right = middle, -1, gap, right / (2 if side < 0 else 1)
        else:
            high, side, left, right = middle, 1, left / (2 if side > 0 else 1), gap
    return np.int64(low).view(np.float64).item()


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


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


def _stated(source: object, goal: G, name: str, least: float) -> G:
    """The goal with its parameter `name` at the least proved value, if that promises anything."""
    limit = 1.0 if name == "delta" else math.inf
    found: dict[str, Any] = {name: max(least, math.ulp(0.0))}
    if least < limit:
        return replace(goal, **found)
    raise MechanismError(
        f"{source!r} proves no {name} < {limit:g} of a {type(goal).__name__} such as {goal!r}: convert only down"
        " the list PureDP, GDP, ZCDP, RDP (alpha may fall), ApproxDP (with a large enough epsilon or delta)."
    )
