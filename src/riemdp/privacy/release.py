"""The one place where a private value meets noise.

sensitivity -> scale -> guarantee (all public) -> reserve -> draw -> Release.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.files import read_json, write_whole
from riemdp.manifolds import Space, space_from_dict, space_to_dict
from riemdp.privacy.bounded import Ball
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.ledger import Ledger

Array = NDArray[Any]

PUBLIC = "the number of records, the ball and the footpoint are public"
ENTROPY = "the operating system's random bits are uniform and secret"


@dataclass(frozen=True)
class Plan:
    """What a mechanism would do for a guarantee, from public inputs alone."""

    mechanism: str
    guarantee: Guarantee
    sensitivity: float
    scale: float
    expected_error: float  # of noise alone: root mean square distance to the value before noise
    rounds: int = 0  # of adaptation to the records
    note: str = ""


class Drawn(NamedTuple):
    """Draws of a mechanism: points, and the public grid to which each ideal one was rounded once, if it was."""

    points: Array
    grid: float | None


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of an adaptive release: its share of the guarantee, and the public ball that it left."""

    task: str
    guarantee: Guarantee
    mechanism: str
    sensitivity: float
    scale: float
    center: Array
    radius: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        return data | {"guarantee": self.guarantee.to_dict(), "center": self.center.tolist()}

    @classmethod
    def from_dict(cls, data: Any, space: Space) -> Stage:
        """The stage that `to_dict` described; anything else is an InputError."""
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise InputError("stages are not those of a release: pass what Release.save() wrote.")
        rest = {name: data[name] for name in names - {"guarantee", "center"}}
        _check_types(rest)
        center = _point(data["center"], space, "center")
        return cls(guarantee=Guarantee.from_dict(data["guarantee"]), center=center, **rest)


@dataclass(frozen=True, eq=False)
class Release:
    """A private value and everything that may be known about how it was made; holds nothing private.

    `expected_error` is that of the noise alone: the predicted root mean square distance between `value` and the mean
    of the records as moved into the ball. A ball that misses the data, and sampling, are not counted.
    """

    value: Array
    statistic: str
    guarantee: Guarantee
    mechanism: str
    scale: float
    sensitivity: float
    expected_error: float
    grid: float | None  # None: the guarantee supposes idealized numerics
    space: Space
    center: Array
    radius: float
    n: int
    version: str = field(repr=False)
    stages: tuple[Stage, ...] = field(default=(), repr=False)  # of an adaptive release, the last one included

    @property
    def ball(self) -> Ball:
        """Where the noise was drawn: the given ball, or the private one that an adaptive release found."""
        place = self.stages[-1] if self.stages else self
        return Ball(self.space, place.center, place.radius)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes the same release."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        arrays = {"value": self.value.tolist(), "center": self.center.tolist()}
        return {"riemdp": "release", **data, **arrays} | {
            "guarantee": self.guarantee.to_dict(),
            "space": space_to_dict(self.space),
            "stages": [stage.to_dict() for stage in self.stages],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Release:
        """The release that `to_dict` described; anything else is an InputError."""
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or set(data) != names | {"riemdp"} or data["riemdp"] != "release":
            raise InputError("the data are not those of a release: pass what Release.save() wrote.")
        rest = {name: data[name] for name in names - {"value", "center", "guarantee", "space", "stages"}}
        _check_types(rest)
        if not isinstance(data["stages"], list):
            raise InputError("stages are not those of a release: pass what Release.save() wrote.")
        try:
            space = space_from_dict(data["space"])
            value, center = (_point(data[name], space, name) for name in ("value", "center"))
            stages = tuple(Stage.from_dict(stage, space) for stage in data["stages"])
        except (TypeError, RecursionError):
            raise InputError("space is not that of a release: pass what Release.save() wrote.") from None
        guarantee = Guarantee.from_dict(data["guarantee"])
        return cls(value=value, center=center, guarantee=guarantee, space=space, stages=stages, **rest)

    def save(self, path: str | Path) -> None:
        """Write JSON, whole or not at all."""
        write_whole(path, json.dumps(self.to_dict(), indent=1).encode())

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read what `save` wrote."""
        return cls.from_dict(read_json(path, "Release.save()"))


_NUMBERS = ("scale", "sensitivity", "expected_error", "grid", "radius")


def _check_types(rest: dict[str, Any]) -> None:
    for name, value in rest.items():
        kind = float if name in _NUMBERS else int if name == "n" else str
        if name == "grid" and value is None:
            continue
        if type(value) is not kind or not (isinstance(value, str) or 0 < value < np.inf):
            raise InputError(f"{name} = {value!r} is not that of a release: pass what Release.save() wrote.")


def _point(value: Any, space: Space, name: str) -> Array:
    return np.asarray(space._write(space._one_point(value, name), space.origin))


def release(
    value: Callable[[], Any],
    draw: Callable[[Any], Drawn],
    plan: Plan,
    *,
    ball: Ball,
    statistic: str,
    n: int,
    version: str,
    assumptions: tuple[str, ...] = (),
    ledger: Ledger | None = None,
    stages: tuple[Stage, ...] = (),
) -> Release:
    """Draw once, after the ledger has durably reserved the guarantee.

    `value()` computes the private value, whose sensitivity the plan states; `draw(value)` draws one point by the
    plan's mechanism at the plan's scale. Nothing is read before the reservation. `stages` are on record only: whoever
    made them has reserved for all.
    """
    guarantee = plan.guarantee.with_assumptions(PUBLIC, ENTROPY, *assumptions)
    with reserved(guarantee, f"{statistic} of {n} records, {plan.mechanism}", ledger):
        [point], grid = draw(value())
        return Release(
            value=ball.space._write(point, ball.center),
            statistic=statistic,
            guarantee=guarantee,
            mechanism=plan.mechanism,
            scale=plan.scale,
            sensitivity=plan.sensitivity,
            expected_error=plan.expected_error,
            grid=grid,
            space=ball.space,
            center=ball.center,
            radius=ball.radius,
            n=n,
            version=version,
            stages=stages,
        )


@contextmanager
def reserved(guarantee: Guarantee, description: str, ledger: Ledger | None) -> Iterator[None]:
    """Reserve durably before what follows, confirm after it; what fails in between stays spent."""
    entry = ledger.reserve(guarantee, description) if ledger else None
    yield
    if ledger and entry is not None:
        ledger.confirm(entry)


def carry(coords: Array, footpoint: Array, ball: Ball) -> Array:
    """Points with these coordinates at the footpoint, by exp: there, around the origin, then at the centre."""
    space = ball.space
    if footpoint.any():
        points = _held(coords, ball.at_origin(footpoint), space)
        coords = space._log(points, space._read(space.origin, "origin"))
    return _held(coords, ball._inner_center, space)


def _held(coords: Array, base: Array, space: Space) -> Array:
    """exp of these coordinates, halved where float64 cannot hold the point, at last the base: post-processing."""
    with np.errstate(all="ignore"):
        points = space._exp(coords, base)
        while (lost := ~(held := space.contains(points)) & coords.any(axis=1)).any():
            coords = np.where(lost[:, None], coords / 2, coords)
            points[lost] = space._exp(coords[lost], base)
        points[~held] = base  # at the far end of float64 not even exp(0) is the base
    return points
