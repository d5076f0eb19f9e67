"""Mechanisms: one file per family, found by name in MECHANISMS."""

from riemdp.errors import InputError
from riemdp.privacy.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE, Mechanism

MECHANISMS: dict[str, Mechanism] = {m.name: m for m in (WRAPPED_LAPLACE, WRAPPED_GAUSSIAN)}


def by_name(name: str) -> Mechanism:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise InputError(f"mechanism = {name!r}: pass 'auto' or one of {', '.join(map(repr, MECHANISMS))}.")
    return MECHANISMS[name]


__all__ = ["MECHANISMS", "Mechanism", "by_name"]
