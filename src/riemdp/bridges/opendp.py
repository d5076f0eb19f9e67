"""OpenDP: private means as its measurements, so that its compositors, odometers and contexts count them.

The input are n records, n fixed and public; its metric is OpenDP's change-one distance, the adjacency of this package.
Install with the extra `opendp`. OpenDP asks for its features "contrib" and "honest-but-curious" before it takes
measurements that it has not proved itself; ours are proved in docs/proofs/opendp.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from riemdp.accounting.guarantee import GDP, ZCDP, ApproxDP, Guarantee, PureDP, as_guarantee
from riemdp.arguments import whole_number
from riemdp.arithmetic import largest_decimal, least_float, round_up
from riemdp.balls import Ball
from riemdp.errors import InputError, MechanismError
from riemdp.privacy.bounded import Bounded
from riemdp.releases.release import Release
from riemdp.statistics.mean import private_mean, rehearse
from riemdp.written import BallMapping, as_ball

if TYPE_CHECKING:
    from flint import arb

Loss = float | tuple[float, float]


def make_private_mean(ball: Ball | BallMapping, n: int, guarantee: Guarantee | str, **options: Any) -> Any:
    """A private mean of n records as a measurement of OpenDP.

    Parameters
    ----------
    ball : Ball or mapping
        The public ball, as in `private_mean`.
    n : int
        The number of records, public: other numbers of records are refused.
    guarantee : Guarantee or str
        What one replaced record costs. PureDP is measured by OpenDP's max divergence, ApproxDP by the approximate
        one, GDP and ZCDP by zero-concentrated divergence. RDP is refused: OpenDP has no measure for a single order.
    **options
        `mechanism`, `calibration`, `footpoint`, `statistic` and `adapt`, as in `private_mean`. There is no `ledger`:
        OpenDP counts.

    Returns
    -------
    opendp.Measurement
        From n records to a Release. Its map gives what d_in replaced records cost together (group privacy), as
        floats that are not below the truth.

    Raises
    ------
    InputError, MechanismError
        For whatever `private_mean` refuses, and for RDP: here, before there are any records.

    Examples
    --------
    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> ball = {"space": "sphere", "size": 2, "center": "north", "radius": 0.5}
    >>> make_private_mean(ball, 1000, "epsilon=0.5").map(2)
    1.0
    """
    dp, public, count = _opendp(), as_ball(ball), whole_number(n, "n", 1)
    accounted = Accounted.of(as_guarantee(guarantee))
    rehearse(public, count, accounted.spent, **options)

    def release(X: Any) -> Release:
        _require_records(X, public, count)
        return private_mean(X, public, accounted.spent, **options)

    domain, metric = records_domain(public, count), dp.change_one_distance()
    return dp.m.make_user_measurement(domain, metric, accounted.measure(), release, accounted.loss)


def records_domain(ball: Ball | BallMapping, n: int) -> Any:
    """OpenDP's domain of n records of the ball's space: what `make_private_mean` reads.

    Measurements in other balls of the same space share it, so that they compose.

    Parameters
    ----------
    ball : Ball or mapping
        One in the space of the records.
    n : int
        Their number.

    Returns
    -------
    opendp.Domain
        Pass it to a compositor, an odometer or a context.
    """
    public, count = as_ball(ball), whole_number(n, "n", 1)
    return _opendp().user_domain(f"riemdp: {count} records of {public.space!r}", lambda X: _is_member(X, public, count))


def _opendp() -> Any:
    try:
        import opendp.prelude
    except ImportError:
        raise InputError('opendp is missing: install it with pip install ".[opendp]" in a clone of riemdp.') from None
    return opendp.prelude


def _is_member(X: Any, ball: Ball, n: int) -> bool:
    """By number, shape and type of the records: whatever their values are, they are moved into the ball."""
    try:
        return Bounded(X, ball).n == n
    except InputError:
        return False


def _require_records(X: Any, ball: Ball, n: int) -> None:
    found = Bounded(X, ball).n
    if found != n:
        raise InputError(f"X has {found} records: pass the {n} that the measurement was made for.")


# --- what d_in replaced records cost (docs/proofs/opendp.md) ---------------------------------------------------


@dataclass(frozen=True)
class Accounted:
    """A guarantee as OpenDP counts it: in floats that mean themselves, where ours mean their shortest decimals."""

    stated: Guarantee  # its parameters as binary fractions: what OpenDP is told for one record
    spent: Guarantee  # what the mechanism is calibrated to: its decimals are not above those fractions

    @classmethod
    def of(cls, guarantee: Guarantee) -> Accounted:
        """The guarantee, if OpenDP has a measure for its type."""
        if not isinstance(guarantee, PureDP | ApproxDP | GDP | ZCDP):
            raise MechanismError(f"guarantee = {guarantee!r}: OpenDP counts PureDP, ApproxDP, GDP and ZCDP; pass one.")
        lower: dict[str, Any] = {name: largest_decimal(Fraction(x)) for name, x in guarantee.parameters.items()}
        return cls(guarantee, replace(guarantee, **lower))

    def measure(self) -> Any:
        """OpenDP's measure of the loss."""
        dp = _opendp()
        match self.stated:
            case PureDP():
                return dp.max_divergence()
            case ApproxDP():
                return dp.approximate(dp.max_divergence())
        return dp.zero_concentrated_divergence()

    def loss(self, replaced: int) -> Loss:
        """What so many replaced records cost together, rounded up."""
        numbers = {name: Fraction(x) for name, x in self.stated.parameters.items()}
        match self.stated:
            case PureDP():
                return least_float(replaced * numbers["epsilon"])
            case ApproxDP():
                return _approximate_loss(replaced, **numbers)
            case GDP():
                return least_float((replaced * numbers["mu"]) ** 2 / 2)
        return least_float(replaced**2 * numbers["rho"])


def _approximate_loss(replaced: int, epsilon: Fraction, delta: Fraction) -> Loss:
    """(k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1)) for k replaced records, if that proves anything."""
    if replaced == 0:
        return 0.0, 0.0
    failure = round_up(_group_delta(replaced), epsilon, delta) if replaced > 1 else least_float(delta)
    if not failure < 1:
        raise InputError(f"d_in = {replaced}: delta of so many records together is not below 1; pass a smaller one.")
    return least_float(replaced * epsilon), failure


def _group_delta(replaced: int) -> Callable[..., arb]:
    return lambda epsilon, delta: delta * (replaced * epsilon).expm1() / epsilon.expm1()
