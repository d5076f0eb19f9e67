"""Mechanisms: one file per family, found by name in MECHANISMS."""

from riemdp.errors import InputError
from riemdp.mechanisms.base import Mechanism
from riemdp.mechanisms.baselines import EXTRINSIC_GAUSSIAN, EXTRINSIC_LAPLACE, POINTWISE_LAPLACE
from riemdp.mechanisms.gradient import KNG_MECHANISM
from riemdp.mechanisms.riemannian import RIEMANNIAN_LAPLACE
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE

_ALL: tuple[Mechanism, ...] = (
    WRAPPED_LAPLACE,
    WRAPPED_GAUSSIAN,
    RIEMANNIAN_LAPLACE,
    KNG_MECHANISM,
    EXTRINSIC_LAPLACE,
    EXTRINSIC_GAUSSIAN,
    POINTWISE_LAPLACE,
)
MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in _ALL}


def by_name(name: str) -> Mechanism:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise InputError(f"mechanism = {name!r}: pass 'auto' or one of {', '.join(map(repr, MECHANISMS))}.")
    return MECHANISMS[name]


__all__ = ["MECHANISMS", "Mechanism", "by_name"]
