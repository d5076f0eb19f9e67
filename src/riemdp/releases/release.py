"""What was released and everything that may be known about how it was made, saved and read."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.guarantee import Guarantee
from riemdp.accounting.unit import RECORD, unit_name
from riemdp.balls import Ball, within_reach
from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.io.files import Format, check_target, read_json, write_whole
from riemdp.io.values import (
    Kind,
    Value,
    check_fields,
    frozen,
    plain,
    plain_array,
    read_count,
    read_kind,
    read_point,
    read_share,
    read_value,
)
from riemdp.manifolds import Space, space_from_dict, space_to_dict
from riemdp.names import WhoseMean
from riemdp.regions import Noisy, Region, no_second_moments, read_axes, records_region

Array = NDArray[Any]

_CLASSES: dict[str, type[Release]] = {}  # of releases, by name
FULL = 0.98  # of the radius: a root mean square distance that hardly any records in the ball have
ON_THE_RIM = "nearly all records lie on the rim of the ball, or were moved there: look at unit, template and radius"


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of an adaptive release: its share of the guarantee, and the public ball that it left."""

    task: str
    guarantee: Guarantee
    mechanism: str
    sensitivity: float
    scale: float
    center: Array
    radius: float  # of the ball, or of axes⁻¹ v, v the coordinates at the centre
    axes: Array | None = None  # (d, d), or its diagonal, if the records were forced into an ellipsoid
    given_up: int | None = None  # of a radius: how many records it may well leave outside

    def __post_init__(self) -> None:
        for name in ("center", "axes"):
            value = getattr(self, name)
            object.__setattr__(self, name, value if value is None else frozen(value))

    @property
    def reach(self) -> float:
        """How far from the centre records may be: the radius, along the longest axis."""
        if self.axes is None:
            return self.radius
        return self.radius * float(np.linalg.norm(self.axes, 2) if self.axes.ndim == 2 else np.abs(self.axes).max())

    def to_dict(self) -> dict[str, Any]:
        """The stage as plain JSON data."""
        axes = None if self.axes is None else self.axes.tolist()
        return vars(self) | {"guarantee": self.guarantee.to_dict(), "center": plain_array(self.center), "axes": axes}

    @classmethod
    def from_dict(cls, data: Any, space: Space) -> Stage:
        """The stage that `to_dict` described; anything else is an InputError."""
        found = FORMAT.fields_of(data, cls, "a stage")
        read: dict[str, Any] = {
            "guarantee": Guarantee.from_dict(found["guarantee"]),
            "center": read_point(found["center"], space, "center"),
            "axes": read_axes(found.get("axes"), space.dim),
            "given_up": read_count(found.get("given_up"), "given_up"),
        }
        rest = {name: value for name, value in found.items() if name not in read}
        check_fields(rest)
        return cls(**read, **rest)


@shown
@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A private value and everything that may be known about how it was made; holds nothing private.

    It may be published whole. Releases are made by `private_mean` and the like, never by hand.

    Parameters
    ----------
    value : array of shape point_shape
        What is released: of a mean a point of the space, in the form of the ball's centre.
    statistic : str
        What it is a private version of, such as "frechet-mean".
    guarantee : Guarantee
        What is proved of it, with the assumptions of the proof.
    mechanism : str
        Which noise was added.
    scale : float
        Of the noise.
    sensitivity : float
        How far one record can move the value before noise.
    expected_error : float
        Of the noise alone: the predicted root mean square distance between `value` and the mean of the records as
        moved into the ball. A ball that misses the data, and sampling, are not counted.
    grid : float or None
        The step to which ideal noise was rounded once; None: the guarantee supposes idealized numerics.
    space : Space
        Where the records live.
    center : array of shape point_shape
        Of the public ball that was given.
    radius : float
        Of the public ball that was given.
    n : int
        The number of records, or of people if `unit` says so: public.
    version : str
        Of riemdp.
    stages : tuple of Stage
        Of an adaptive release: what each step spent, and the ball that it left; the last step included.
    kind : str or tuple of str
        What `value` is: "point", as of every mean, or what another statistic makes.
    unit : str
        What is protected: one "record", or one "group" (or what else it was called) of all records with one id.
    noisy : Noisy or None
        The vector with noise that `value` was made of, if it was made of one: what `region` needs.
    fill : float or None
        Root mean square distance of the records, as moved into `ball`, to its centre, in units of its radius: private
        as all of it, for nothing; None where it was not released.

    See Also
    --------
    private_mean : Makes one.
    Ledger : Counts what releases spend.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0)
    >>> release = rd.private_mean(np.tile(np.eye(2), (1000, 1, 1)), ball, rd.GDP(1.0))
    >>> release.value.shape, release.n, release.guarantee.mu
    ((2, 2), 1000, 1.0)
    """

    value: Value
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
    version: str
    stages: tuple[Stage, ...] = ()  # of an adaptive release, the last one included
    kind: Kind = "point"
    unit: str = RECORD
    noisy: Noisy | None = None  # what the value was made of, for its region
    fill: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", frozen(self.value, self.kind))
        object.__setattr__(self, "center", frozen(self.center))

    @property
    def ball(self) -> Ball:
        """Where the noise was drawn: the given ball, or the private one that an adaptive release found.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> rd.private_mean(np.zeros((500, 1)), ball, rd.GDP(1.0)).ball.radius
        1.0
        """
        return self._ball_of(self.stages[-1]) if self.stages else Ball(self.space, self.center, self.radius)

    def _ball_of(self, stage: Stage) -> Ball:
        radius = stage.radius if stage.axes is None else within_reach(self.space, stage.reach)
        return Ball(self.space, stage.center, radius)

    @property
    def clipping(self) -> float | None:
        """How far the mean may have moved because records outside the private ball were moved into it.

        If as many of them as the radius may well leave outside were one radius beyond it, all on one side: the worst
        that is likely, and nothing if records surround their mean. None if nothing was adapted.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> rd.private_mean(np.zeros((500, 1)), ball, rd.GDP(1.0), adapt=True).clipping > 0
        True
        """
        moved = [(stage.given_up, stage) for stage in self.stages if stage.given_up is not None]
        return min(moved[-1][0] / self.n, 1.0) * self._ball_of(moved[-1][1]).radius if moved else None

    @property
    def remark(self) -> str:
        """What there is to say about the ball, from the release alone; empty if nothing is strange."""
        return ON_THE_RIM if self.fill is not None and self.fill > FULL else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes the same release.

        Returns
        -------
        dict
            All of it, with the number of the format.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> rd.private_mean(np.zeros((500, 1)), ball, rd.GDP(1.0)).to_dict()["n"]
        500
        """
        kind = self.kind if isinstance(self.kind, str) else list(self.kind)
        facts = {one.name: getattr(self, one.name) for one in fields(self)}
        arrays = {"value": plain(self.value, self.kind), "center": plain_array(self.center), "kind": kind}
        return FORMAT.stamp({"class": type(self).__name__} | facts | arrays) | {
            "guarantee": self.guarantee.to_dict(),
            "space": space_to_dict(self.space),
            "stages": [stage.to_dict() for stage in self.stages],
            "noisy": self.noisy and self.noisy.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Release:
        """The release that `to_dict` described, in this version or an older one.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        Release
            With the same bits.

        Raises
        ------
        InputError
            If the data are not those of a release.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> release = rd.private_mean(np.zeros((500, 1)), ball, rd.GDP(1.0))
        >>> bool(rd.Release.from_dict(release.to_dict()).value == release.value)
        True
        """
        opened = FORMAT.opened(data)
        made = _CLASSES.get(str(opened.pop("class", Release.__name__)))
        if made is None or not issubclass(made, cls):
            raise InputError(f"the release is no {cls.__name__}: pass what {cls.__name__}.save() wrote.")
        return made(**made._read(FORMAT.fields_of(opened, made, "a release")))

    def __init_subclass__(cls) -> None:
        """Every class of releases is known by its name: saved ones are read by it."""
        super().__init_subclass__()
        _CLASSES[cls.__name__] = cls

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        """The fields from plain data, all of them checked."""
        rest = {name: value for name, value in found.items() if name not in _PARSED}
        check_fields(rest)
        if rest.get("unit", RECORD) != RECORD:
            unit_name(rest["unit"])
        stages, kind = found.get("stages", []), read_kind(found.get("kind", "point"))
        if not isinstance(stages, list):
            raise InputError("stages are not those of a release: pass what Release.save() wrote.")
        try:
            space = space_from_dict(found["space"])
            value, center = read_value(found["value"], kind, space), read_point(found["center"], space, "center")
            read = tuple(Stage.from_dict(stage, space) for stage in stages)
            noisy = Noisy.from_dict(found.get("noisy"), space)
        except (TypeError, RecursionError):
            raise InputError("space is not that of a release: pass what Release.save() wrote.") from None
        guarantee = Guarantee.from_dict(found["guarantee"])
        parsed = {"value": value, "center": center, "guarantee": guarantee, "space": space}
        return (
            rest
            | parsed
            | {"stages": read, "kind": kind, "noisy": noisy, "fill": read_share(found.get("fill"), "fill")}
        )

    def region(self, level: float = 0.95, of: WhoseMean = "records") -> Region:
        """Where the mean is: points among which it is with this probability. Post-processing, it costs nothing.

        Parameters
        ----------
        level : float
            The probability, between 0 and 1.
        of : str
            "records": of the mean of the records as moved into the ball, from the law of the noise, exactly.
            "population" asks how much records vary as well, which `private_summary` releases.

        Returns
        -------
        Region
            With `contains(points)`, and `boundary(size)` for pictures.

        Raises
        ------
        InputError
            If level or of make no sense.
        MechanismError
            If the noise has no law that is known without the records (kng, pointwise-laplace).

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
        >>> release = rd.private_mean(np.tile([0.0, 0.0, 1.0], (5000, 1)), ball, rd.GDP(1.0))
        >>> bool(release.region(0.999999).contains([0.0, 1.0, 0.0]))
        False
        """
        if of != "records":
            raise no_second_moments(of)
        return records_region(self, level)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write all of it as JSON, whole or not at all.

        Parameters
        ----------
        path : str or Path
            A name that ends in `.json`.
        force : bool
            Whether to replace a file that is there already; otherwise that is refused.

        Raises
        ------
        InputError
            If the file exists, has another ending, or cannot be written.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> rd.private_mean(np.zeros((500, 1)), ball, rd.GDP(1.0)).save("saved.json")
        """
        check_target(path, ".json", force=force, instead="for the value alone, use np.save(path, release.value)")
        write_whole(path, json.dumps(self.to_dict(), indent=1).encode(), force=force)

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Returns
        -------
        Release
            With the same bits.

        Raises
        ------
        InputError
            If there is no such file, or it holds no release.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> rd.private_mean(np.zeros((500, 1)), ball, rd.GDP(1.0)).save("mean.json")
        >>> rd.Release.load("mean.json").n
        500
        """
        return cls.from_dict(read_json(path, "Release.save()"))


_CLASSES[Release.__name__] = Release
FORMAT = Format("release", 5, "Release.save()")
_PARSED = ("value", "center", "guarantee", "space", "stages", "kind", "noisy", "fill", "moments")
