"""The curator's own look at the records before a release. Not private: keep what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from riemdp.balls import Ball
from riemdp.display import shown
from riemdp.io.rows import Rows
from riemdp.manifolds.description import Seen
from riemdp.privacy.bounded import Bounded, logs_at_center
from riemdp.written import BallMapping, as_ball

Array = NDArray[Any]
NOT_PRIVATE = "NOT PRIVATE: for your own eyes. Do not publish this, and do not choose a ball or a budget by it."
QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)


@shown
@dataclass(frozen=True, repr=False)
class Check:
    """How records lie in a ball. **Not private**.

    For the curator's eyes, never to publish or to choose a ball by.

    Parameters
    ----------
    n : int
        The number of records.
    unusable : int
        Records that are not finite, or no point of the space: a release takes the ball's centre instead.
    outside : int
        Records that a release moves onto the ball's rim.
    radius : float
        Of the ball.
    distances : dict
        Quantiles of the distances of usable records to the centre, by level.
    findings : tuple of str
        What looks wrong with the data or the ball, in words.
    people : int or None
        How many people a release counts, if groups were given.
    records_per_person : dict
        Quantiles of their numbers of records, by level.

    See Also
    --------
    check : Makes one.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> found = rd.check(np.array([[0.5], [3.0], [np.nan]]), rd.Ball(rd.Euclidean(1), [0.0], 1.0))
    >>> found.inside, found.outside, found.unusable
    (1, 1, 1)
    """

    warning: ClassVar[str] = NOT_PRIVATE

    n: int
    unusable: int  # not finite, or no point of the space: a release takes the ball's centre instead
    outside: int  # a release moves them onto the ball's rim
    radius: float
    distances: dict[float, float]  # quantiles of the distances of usable records to the centre
    findings: tuple[str, ...] = ()  # what looks wrong with the data or the ball, in words
    people: int | None = None  # how many a release counts, if groups were given
    records_per_person: dict[float, float] = field(default_factory=dict)  # quantiles

    @property
    def inside(self) -> int:
        """Records that a release uses as they are.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.check(np.array([[0.5], [3.0]]), rd.Ball(rd.Euclidean(1), [0.0], 1.0)).inside
        1
        """
        return self.n - self.unusable - self.outside

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data. **Not private**.

        Returns
        -------
        dict
            All of it, marked as not private.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.check(np.array([[0.5]]), rd.Ball(rd.Euclidean(1), [0.0], 1.0)).to_dict()["private"]
        False
        """
        computed = {"inside": self.inside, "distances": _named(self.distances), "findings": list(self.findings)}
        per_person = {"records_per_person": _named(self.records_per_person)}
        return {"riemdp": "check", "private": False, "warning": self.warning} | vars(self) | computed | per_person

    @property
    def about_people(self) -> str:
        """How many records people have, in words."""
        quantiles = ", ".join(f"{q:.0%}: {value:,.4g}" for q, value in self.records_per_person.items())
        return f"{self.people:,} people, whose numbers of records have the quantiles {quantiles}"


def _named(quantiles: dict[float, float]) -> dict[str, float]:
    return {f"{level:g}": value for level, value in quantiles.items()}


def check(X: Any, ball: Ball | BallMapping, *, groups: Any = None) -> Check:
    """Look at the records X (n, *point_shape): what a release in this ball would do to them. Not private.

    `findings` name what is easily mistaken: matrices that are not symmetric, other units than the centre's, shapes
    that are mirror images of the centre's kind; each space says what it is of its records.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The records: an array, a list of arrays, a memory-mapped file, a data frame or a Dask array.
    ball : Ball or mapping
        The public ball that holds the records; a mapping as in a YAML file, such as
        {"space": "spd-affine", "size": 3, "eigenvalues": [0.05, 5]}.
    groups : sequence of ids, of shape (n,), optional
        Those that a release would get: then it also tells how many records people have.

    Returns
    -------
    Check
        **Not private**: how many records are outside or unusable, how far away, and findings.

    Raises
    ------
    InputError
        If the ball, or the shape or type of X, is not as described.

    See Also
    --------
    private_mean : The release.
    plan : What can be known without data.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rd.check(np.array([[0.5], [3.0], [np.nan]]), rd.Ball(rd.Euclidean(1), [0.0], 1.0)).outside
    1
    """
    ball = as_ball(ball)
    records = Bounded(X, ball, groups)
    distances, *measured = Rows(records._raw, (partial(_looks, ball),)).all().T
    usable = distances[np.isfinite(distances)]
    levels = np.quantile(usable, QUANTILES).tolist() if usable.size else []
    return Check(
        n=len(distances),
        unusable=len(distances) - usable.size,
        outside=int((usable > ball.radius).sum()),
        radius=ball.radius,
        distances=dict(zip(QUANTILES, levels, strict=False)),
        findings=_findings(ball, distances, measured),
        **_of_people(records),
    )


def _of_people(records: Bounded) -> dict[str, Any]:
    """How many people there are, and how many records each has; nothing without groups."""
    known = records._identities
    if known is None:
        return {}
    levels = np.quantile(np.bincount(known.codes, minlength=known.count), QUANTILES).tolist() if known.count else []
    return {"people": known.count, "records_per_person": dict(zip(QUANTILES, levels, strict=False))}


def _looks(ball: Ball, raw: Array) -> Array:
    """By record: its distance to the centre, NaN if a release takes the centre instead; what its space measures."""
    coords, usable = logs_at_center(raw, ball)
    distance = np.where(usable, np.linalg.norm(coords, axis=1), np.nan)
    space, points, center = ball.space, ball.space.read(raw, "X"), ball.inner_center
    return np.column_stack([distance, *(one.measure(space, points, center, ball.radius) for one in space.remarks)])


def _findings(ball: Ball, distances: Array, measured: list[Array]) -> tuple[str, ...]:
    """What the space remarks about its records, if anything."""
    pairs = zip(ball.space.remarks, measured, strict=True)
    texts = (remark.words(Seen(values, distances, ball.radius)) for remark, values in pairs)
    return tuple(text for text in texts if text)
