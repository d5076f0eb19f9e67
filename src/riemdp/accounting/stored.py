"""Losses as plain JSON data and back, to the last bit, so that a count can go on where another process stopped."""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from riemdp.accounting.lattice import SIZE, Array, Lattice
from riemdp.accounting.losses import PER_ENTRY, Losses

_FRACTIONS = ("failure", "epsilons", "square", "pure_square", "rho", "renyi")


def losses_to_dict(losses: Losses) -> dict[str, Any]:
    """All but the epsilon, which is the budget's; an order of None stands for an infinite one."""
    return {
        "count": losses.count,
        "order": None if math.isinf(losses.order) else losses.order,
        "lattices": [{"lost": lattice.lost, "masses": _packed(lattice.masses)} for lattice in losses.lattices],
        **{name: str(getattr(losses, name)) for name in _FRACTIONS},
    }


def losses_from_dict(epsilon: Fraction, data: Mapping[str, Any]) -> Losses:
    """The losses that `losses_to_dict` described; of anything else a ValueError, TypeError or LookupError."""
    empty = Losses.empty(epsilon)
    lattices = [_filled(*pair) for pair in zip(empty.lattices, data["lattices"], strict=True)]
    fractions: dict[str, Any] = {name: fraction_from_text(data[name]) for name in _FRACTIONS}
    order = math.inf if data["order"] is None else _at_least(data["order"], 1.0)
    return replace(empty, lattices=tuple(lattices), count=int(_at_least(data["count"], 0)), order=order, **fractions)


def fraction_from_text(text: str) -> Fraction:
    """The number that str() of a fraction wrote; no exponents, which would make huge numbers of few letters."""
    found = re.fullmatch(r"([0-9]+)(?:/([1-9][0-9]*))?", text)
    if not found:
        raise ValueError("not a fraction")
    return Fraction(int(found[1]), int(found[2] or 1))


def agree(one: Losses, other: Losses) -> bool:
    """Whether they are of the same entries: equal fractions, and masses but for what floats may lose or gain."""
    exact = ("epsilon", "count", "order", *_FRACTIONS)
    slack = (1 + one.count) * PER_ENTRY
    pairs = zip(one.lattices, other.lattices, strict=True)
    return all(getattr(one, name) == getattr(other, name) for name in exact) and all(
        np.allclose([*a.masses, a.lost], [*b.masses, b.lost], rtol=slack, atol=1e-290) for a, b in pairs
    )


def _filled(empty: Lattice, data: Mapping[str, Any]) -> Lattice:
    return replace(empty, masses=_unpacked(data["masses"]), lost=_at_least(data["lost"], 0.0))


def _packed(masses: Array) -> str:
    """The bytes of the masses, compressed: most are zero while entries are few or of round sizes."""
    return base64.b64encode(zlib.compress(masses.astype("<f8").tobytes())).decode("ascii")


def _unpacked(text: str) -> Array:
    whole = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), 8 * SIZE + 1)
    masses = np.frombuffer(whole if len(whole) == 8 * SIZE else b"", "<f8").astype(np.float64)
    if not (masses.size and np.isfinite(masses).all() and (masses >= 0).all()):
        raise ValueError("not the masses of a lattice")
    return masses


def _at_least(value: object, low: float) -> float:
    """The value, if it is a finite number that is not below."""
    if type(value) not in (int, float) or not low <= value < math.inf:  # type: ignore[operator]
        raise ValueError("not a number of a count")
    return value  # type: ignore[return-value]
