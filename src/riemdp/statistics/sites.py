"""One private mean of records that several sites hold: each site adds up its own, one of them releases once.

What a site hands over is the exact sum of its records' coordinates in the common ball. Sums of integers do not
depend on how the records are shared out, so the mean before noise is that of all records in one place, bit for bit
(docs/proofs/exact_sums.md). A site's sum is as private as its records: it must not be published.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from riemdp.errors import InputError, MechanismError
from riemdp.files import read_json, write_whole
from riemdp.kernels.spectral import kernels_for
from riemdp.manifolds import space_from_dict, space_to_dict
from riemdp.mechanisms import MECHANISMS, by_name
from riemdp.privacy.bounded import Ball, Bounded, mean_of_sum
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.release import Release, release
from riemdp.statistics.intrinsic import TangentMean
from riemdp.statistics.mean import MOST_RECORDS, ROUNDING, Query, require_known, statistic_for
from riemdp.statistics.worth import doubts_about_mean, warn_of
from riemdp.version import __version__

WARNING = "PRIVATE: the exact sum of a site's records. Not a release; for private_mean_of_sums only."


@dataclass(frozen=True, eq=False, repr=False)
class SiteSum:
    """The exact sum of the coordinates of a site's records in a public ball. **Private**: as secret as the records."""

    ball: Ball
    n: int
    total: tuple[int, ...]  # in steps of the ball's grid

    def __repr__(self) -> str:
        return f"SiteSum(n={self.n}, {self.ball.space!r}, private)"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, marked as private; integers as texts, since they exceed other programs' numbers."""
        ball = {"center": self.ball.center.tolist(), "radius": self.ball.radius}
        facts = {"riemdp": "site-sum", "warning": WARNING, "space": space_to_dict(self.ball.space)}
        return facts | ball | {"n": self.n, "total": list(map(str, self.total))}

    @classmethod
    def from_dict(cls, data: Any) -> SiteSum:
        """The sum that `to_dict` described; anything else is an InputError, which shows nothing of it."""
        try:
            kind, n, texts = data["riemdp"], data["n"], data["total"]
            ball = Ball(space_from_dict(data["space"]), np.array(data["center"], dtype=float), data["radius"])
            total = tuple(map(int, texts))
        except (LookupError, TypeError, ValueError, RecursionError):
            raise _not_a_sum() from None
        if kind != "site-sum" or type(n) is not int or not _is_possible(total, n, ball):
            raise _not_a_sum()
        return cls(ball, n, total)

    def save(self, path: str | Path) -> None:
        """Write JSON, whole or not at all, for this user's eyes only. Keep the file as secret as the records."""
        write_whole(path, json.dumps(self.to_dict(), indent=1).encode(), readers=0o600)

    @classmethod
    def load(cls, path: str | Path) -> SiteSum:
        """Read what `save` wrote."""
        return cls.from_dict(read_json(path, "SiteSum.save()"))


def _not_a_sum() -> InputError:
    return InputError("the data are not those of a site's sum: pass what SiteSum.save() wrote.")


def _is_possible(total: Sequence[int], n: int, ball: Ball) -> bool:
    """Whether n records of the ball can have this sum: its length is at most n times the radius."""
    longest = n * Fraction(ball.radius) / Fraction(2) ** ball.grid
    return 1 <= n <= MOST_RECORDS and len(total) == ball.space.dim and sum(x * x for x in total) <= longest**2


def site_sum(X: Any, ball: Ball) -> SiteSum:
    """What a site hands to the one that releases: the sum of its records X (n, *point_shape) in the common ball.

    Not a release: keep it as secret as the records. Matrices always go through the compiled code, as they do in
    any large data set, so that it does not matter how small a site is.
    """
    with kernels_for(MOST_RECORDS):
        records = Bounded(X, ball)
        return SiteSum(ball, records.n, tuple(records.coordinate_sum()))


def private_mean_of_sums(
    sums: Sequence[SiteSum],
    guarantee: Guarantee,
    *,
    mechanism: str = "auto",
    calibration: str = "analytic",
    ledger: Ledger | None = None,
) -> Release:
    """A private tangent mean of the records of all sites, from their sums; in a flat space, that is the Fréchet mean.

    It is the release that `private_mean(..., statistic="tangent-mean")` makes of all records together. Whoever
    calls this sees the exact sums: sites trust it with those, and nobody else.
    """
    ball = _common_ball(sums)
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
    require_known("mechanism", mechanism, ["auto", *MECHANISMS])
    n, statistic = sum(site.n for site in sums), "frechet-mean" if ball.space.is_flat else "tangent-mean"
    query = Query(n, mechanism, calibration, None, statistic)
    best = query.plan(ball, guarantee)
    if not isinstance(statistic_for(by_name(best.mechanism), statistic, ball, np.zeros(ball.space.dim)), TangentMean):
        raise MechanismError(f"mechanism = {mechanism!r} needs the records themselves: use 'auto'.")
    warn_of(doubts_about_mean(query, ball, guarantee, adapt=False, adaptive=None))
    return release(
        lambda: mean_of_sum(_pooled(sums), n, ball).point,
        lambda value: query.draw(best, value, ball),
        best,
        ball=ball,
        statistic=statistic,
        n=n,
        version=__version__,
        assumptions=(ROUNDING, *by_name(best.mechanism).assumptions),
        ledger=ledger,
    )


def _pooled(sums: Sequence[SiteSum]) -> list[int]:
    return [sum(column) for column in zip(*(site.total for site in sums), strict=True)]


def _common_ball(sums: Sequence[SiteSum]) -> Ball:
    if not isinstance(sums, Sequence) or not sums or not all(isinstance(site, SiteSum) for site in sums):
        raise InputError("sums: pass a list of one or more SiteSum, as site_sum() makes them.")
    first = sums[0].ball
    for ball in (site.ball for site in sums[1:]):
        same = ball.space == first.space and ball.radius == first.radius
        if not (same and np.array_equal(ball.center, first.center)):
            raise InputError("sums: the sites used different balls; agree on one, and let every site use it.")
    return first
