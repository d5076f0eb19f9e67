"""One private mean of records that several sites hold: each site adds up its own, one of them releases once.

What a site hands over is the exact sum of its records' coordinates in the common ball. Sums of integers do not
depend on how the records are shared out, so the mean before noise is that of all records in one place, bit for bit
if the same code takes their logarithms (docs/proofs/exact_sums.md). A site's sum is as private as its records: it must
not be published.

A record that is counted twice has twice its influence. So every sum carries a random id, its site's name and its
study, and what may be pooled is decided by those: never by comparing sums, since a refusal must not depend on records.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee, as_guarantee
from riemdp.accounting.unit import RECORD, unit_name, unit_of
from riemdp.balls import Ball
from riemdp.errors import InputError, MechanismError
from riemdp.io.files import read_json, write_whole
from riemdp.io.values import joined_array, plain_array
from riemdp.kernels.spectral import kernels_for
from riemdp.manifolds import space_from_dict, space_to_dict
from riemdp.manifolds.base import Array
from riemdp.mechanisms import by_name
from riemdp.names import CalibrationName, MechanismName, SummedMoments
from riemdp.privacy.bounded import SECOND_MOMENTS, Bounded, MomentSums, mean_of_sum
from riemdp.privacy.ledger import Ledger
from riemdp.releases.release import Release
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import prepare, require_ledger
from riemdp.statistics.query import MOST_RECORDS, Query
from riemdp.statistics.worth import warn_of
from riemdp.summaries.summary import Summary, as_summary
from riemdp.written import BallMapping, as_ball

WARNING = "PRIVATE: the exact sum of a site's records. Not a release; for private_mean_of_sums only."


# Of files: those before 1 have neither id nor names, those before 2 no second moments, those before 3 count records.
FORMAT = 3
LONGEST_NAME = 200
SHORTEST_KEY = 16  # bytes
_FACTS = {"riemdp", "format", "warning", "id", "study", "site", "space", "center", "radius", "grid", "n", "total"}
_SECOND, _UNIT = {"second", "second_total"}, {"unit"}


def _new_id() -> str:
    """128 bits of the operating system: unlike a digest, they say nothing about the records."""
    return secrets.token_hex(16)


@dataclass(frozen=True, eq=False, repr=False)
class SiteSum:
    """The exact sum of the coordinates of a site's records in a public ball. **Private**: as secret as the records.

    `site`, `study` and the random `id` are public, and decide what may be pooled with what.

    Parameters
    ----------
    ball : Ball
        The public ball that all sites agreed on.
    n : int
        The number of the site's records, which is public.
    total : tuple of int
        The sum, in steps of the ball's grid. Private.
    site : str
        The site's name.
    study : str
        What all sites call this collection of sums.
    id : str
        Random, of this very sum.
    second : str or None
        Which second moments it has, if any: "full", "diagonal" or "trace".
    second_total : tuple of int
        Those, in steps of the square of the grid. Private.
    unit : str
        What n counts: a "record", or people who are at this site only.

    Raises
    ------
    InputError
        If these cannot be those of a site's sum.

    See Also
    --------
    site_sum : Makes one.
    private_mean_of_sums : Makes a release of all sites' sums.
    private_summary_of_sums : The same with the spread, if all sites have added up second moments.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    >>> rd.site_sum(np.array([[0.25], [0.5]]), ball, site="north clinic", study="pilot, 2026")
    SiteSum(site='north clinic', study='pilot, 2026', n=2, Euclidean(d=1), private)
    """

    ball: Ball
    n: int
    total: tuple[int, ...]  # in steps of the ball's grid
    site: str
    study: str
    id: str = field(default_factory=_new_id)
    second: str | None = None  # which second moments it has, if any
    second_total: tuple[int, ...] = ()  # in steps of the square of the grid
    unit: str = RECORD  # what n counts: records, or people who are at this site only

    def __post_init__(self) -> None:
        for argument in ("site", "study", "id"):
            _require_name(getattr(self, argument), argument)
        if self.unit != RECORD:
            unit_name(self.unit)
        _require_second(self.second)
        lists = (self.total, self.second_total)
        whole = all(isinstance(x, tuple) and all(type(entry) is int for entry in x) for x in ((self.n,), *lists))
        if not (whole and isinstance(self.ball, Ball) and _is_possible(self.total, self.n, self.ball)):
            raise _not_a_sum()
        if not _is_possible_square(self.moments):
            raise _not_a_sum()

    @property
    def moments(self) -> MomentSums:
        """The sums of both moments."""
        return MomentSums(self.ball, self.n, self.second or "", self.total, self.second_total)

    def __repr__(self) -> str:
        whose = f"n={self.n}" if self.unit == RECORD else f"n={self.n}, unit={self.unit!r}"
        return f"SiteSum(site={self.site!r}, study={self.study!r}, {whose}, {self.ball.space!r}, private)"

    def to_dict(self, *, key: bytes | None = None) -> dict[str, Any]:
        """Plain JSON data, marked as private; integers as texts, since they exceed other programs' numbers.

        Parameters
        ----------
        key : bytes, optional
            The study's key: with it, the data carry a code that shows whether they were altered.

        Returns
        -------
        dict
            **Private**: as secret as the records.

        Raises
        ------
        InputError
            If the key is shorter than 16 bytes.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> private = rd.site_sum(np.array([[0.25], [0.5]]), ball, site="north clinic", study="pilot")
        >>> private.to_dict()["n"]
        2
        """
        names = {"id": self.id, "study": self.study, "site": self.site}
        ball, space = self.ball, space_to_dict(self.ball.space)
        place = {"space": space, "center": plain_array(ball.center), "radius": ball.radius, "grid": ball.grid}
        content = {"n": self.n, "unit": self.unit, "total": list(map(str, self.total))}
        content |= {"second": self.second, "second_total": list(map(str, self.second_total))}
        data = {"riemdp": "site-sum", "format": FORMAT, "warning": WARNING, **names, **place, **content}
        return data if key is None else data | {"mac": _code(data, key)}

    @classmethod
    def from_dict(cls, data: Any, *, key: bytes | None = None) -> SiteSum:
        """The sum that `to_dict` described.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.
        key : bytes, optional
            The study's key. With it, data without its code, or altered since, are refused; without it, data that
            carry a code are.

        Returns
        -------
        SiteSum
            **Private**, with the same id.

        Raises
        ------
        InputError
            If the data are anything else; the message shows nothing of them.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> private = rd.site_sum(np.array([[0.25], [0.5]]), ball, site="north clinic", study="pilot")
        >>> rd.SiteSum.from_dict(private.to_dict()).n
        2
        """
        _require_format(data)
        _require_code(data, key)
        try:
            ball = Ball(space_from_dict(data["space"]), joined_array(data["center"]), data["radius"])
            total, square = (tuple(map(int, data.get(name, []))) for name in ("total", "second_total"))
            names = (data["site"], data["study"], data["id"])
            made = cls(ball, data["n"], total, *names, data.get("second"), square, data.get("unit", RECORD))
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError):
            raise _not_a_sum() from None
        expected = _FACTS | (_SECOND if data["format"] >= 2 else set()) | (_UNIT if data["format"] >= 3 else set())
        written = data["total"] == list(map(str, total)) and data.get("second_total", []) == list(map(str, square))
        if set(data) - {"mac"} != expected or data["grid"] != ball.grid or not written:
            raise _not_a_sum()
        return made

    def save(self, path: str | Path, *, key: bytes | None = None, force: bool = False) -> None:
        """Write JSON, whole or not at all, for this user's eyes only. Keep the file as secret as the records.

        Parameters
        ----------
        path : str or Path
            Of the file.
        key : bytes, optional
            The study's key, at least 16 secret bytes that all sites share. The file is then authenticated (HMAC with
            SHA-256): whoever has the key sees whether it was altered. It is not encrypted.
        force : bool
            Whether to replace a file that is there already; otherwise that is refused.

        Raises
        ------
        InputError
            If the file exists or cannot be written, or the key is too short.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> private = rd.site_sum(np.array([[0.25], [0.5]]), ball, site="north clinic", study="pilot")
        >>> private.save("north.json", key=b"sixteen bytes at least")
        """
        write_whole(path, json.dumps(self.to_dict(key=key), indent=1).encode(), readers=0o600, force=force)

    @classmethod
    def load(cls, path: str | Path, *, key: bytes | None = None) -> SiteSum:
        """Read what `save` wrote, with the same key if it was given one.

        Parameters
        ----------
        path : str or Path
            Of the file.
        key : bytes, optional
            The study's key.

        Returns
        -------
        SiteSum
            **Private**, with the same id.

        Raises
        ------
        InputError
            If there is no such file, it holds no site's sum, or it was altered.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
        >>> private = rd.site_sum(np.array([[0.25], [0.5]]), ball, site="north clinic", study="pilot")
        >>> private.save("sum.json")
        >>> rd.SiteSum.load("sum.json").site
        'north clinic'
        """
        data = read_json(path, "SiteSum.save()")
        try:
            return cls.from_dict(data, key=key)
        except InputError as problem:
            raise InputError(f"path = {str(path)!r}: {problem}") from None


def _not_a_sum() -> InputError:
    return InputError("the data are not those of a site's sum: pass what SiteSum.save() wrote.")


def _require_name(value: Any, argument: str) -> None:
    """Names are compared, shown and written to files: text that a person can tell apart."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise InputError(f"{argument} = {value!r:.100}: pass a name of 1 to {LONGEST_NAME} printable characters.")


def _require_format(data: Any) -> None:
    """Files of other versions get a sentence of their own."""
    if not isinstance(data, dict) or data.get("riemdp") != "site-sum":
        raise _not_a_sum()
    if "format" not in data:
        raise InputError(
            "the sum was written by an earlier version of riemdp, without the names of site and study: "
            "let the site write it again, by site_sum(X, ball, site=..., study=...)."
        )
    if type(data["format"]) is not int or data["format"] < 1:
        raise _not_a_sum()
    if data["format"] > FORMAT:
        raise InputError(f"the sum was written by a later version of riemdp (format > {FORMAT}): install that version.")


# --- authentication: nothing of a file is believed before its code is --------------------------------------------


def _code(facts: dict[str, Any], key: bytes) -> str:
    """HMAC-SHA-256 of everything in a file but the code itself, in the one way of writing it without choices."""
    if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
        raise InputError(f"key: pass at least {SHORTEST_KEY} secret bytes, for example secrets.token_bytes(32).")
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _require_code(data: dict[str, Any], key: bytes | None) -> None:
    if key is None:
        if "mac" in data:
            raise InputError("the sum carries an authentication code: pass key=, the study's key.")
        return
    facts = {name: value for name, value in data.items() if name != "mac"}
    try:
        right = _code(facts, key)
    except (TypeError, RecursionError):  # no JSON data
        raise _not_a_sum() from None
    if "mac" not in data:
        raise InputError("the sum carries no authentication code: let the site save it with key=, the study's key.")
    if not hmac.compare_digest(right.encode(), str(data["mac"]).encode(errors="replace")):
        raise InputError("the sum was altered, or saved with another key: ask the site for it again.")


# --- sums and their pool ------------------------------------------------------------------------------------------


def _is_possible(total: Sequence[int], n: int, ball: Ball) -> bool:
    """Whether n records of the ball can have this sum: its length is at most n times the radius."""
    longest = n * Fraction(ball.radius) / Fraction(2) ** ball.grid
    return 1 <= n <= MOST_RECORDS and len(total) == ball.space.dim and sum(x * x for x in total) <= longest**2


def _is_possible_square(sums: MomentSums) -> bool:
    """Whether n records of the ball can have these second moments: none of a trace above n times the squared radius."""
    dim, products = sums.ball.space.dim, sums.second_total
    lengths = {"": 0, "full": dim * (dim + 1) // 2 + 1, "diagonal": dim + 1, "trace": 1}
    if len(products) != lengths[sums.second] or not products:
        return len(products) == lengths[sums.second]
    squares, trace = products[:dim] if len(products) > 1 else products, products[-1]
    most = sums.n * (Fraction(sums.ball.radius) / Fraction(2) ** sums.ball.grid) ** 2
    within = all(abs(product) <= trace for product in products)
    return within and min(squares) >= 0 and sum(squares) == trace <= most


def _require_second(second: Any) -> None:
    if second is not None and second not in SECOND_MOMENTS:
        raise InputError(f"second = {second!r}: pass None or one of {', '.join(map(repr, SECOND_MOMENTS))}.")


def site_sum(
    X: Any, ball: Ball | BallMapping, *, site: str, study: str, second: SummedMoments | None = None, groups: Any = None,
    unit: str | None = None,
) -> SiteSum:  # fmt: skip
    """What a site hands to the one that releases: the sum of its records X (n, *point_shape) in the common ball.

    Not a release: keep it as secret as the records. Matrices always go through the compiled code, as they do in
    any large data set, so that it does not matter how small a site is.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The site's records, as `private_mean` takes them.
    ball : Ball or mapping
        The public ball that all sites agreed on.
    site : str
        The site's name; no two sites of a study have the same.
    study : str
        What all sites agreed to call this collection of sums. One that is repeated needs another: sums of different
        studies cannot be pooled.
    second : {None, "full", "diagonal", "trace"}
        Which second moments to add up as well, in the same pass, for `private_summary_of_sums`; None: none.
    groups : sequence of ids, of shape (n,), optional
        Whose record each is, as of `private_mean`. Then the sum is one over people, and n their number. All records of
        a person must be at one site: one who is at two counts as two people.
    unit : str, optional
        What they are, "patient" say: all sites have to say the same.

    Returns
    -------
    SiteSum
        **Private**; with a new random id.

    Raises
    ------
    InputError
        If a name, the ball, or the shape or type of X is not as described. Values of records never raise.

    See Also
    --------
    private_mean_of_sums : Makes a release of all sites' sums.
    private_summary_of_sums : The same with the spread, if all sites have added up second moments.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    >>> rd.site_sum(np.array([[0.25], [0.5]]), ball, site="north clinic", study="pilot, 2026")
    SiteSum(site='north clinic', study='pilot, 2026', n=2, Euclidean(d=1), private)
    """
    _require_name(site, "site")
    _require_name(study, "study")
    _require_second(second)
    ball, protected = as_ball(ball), unit_of(groups, unit)
    with kernels_for(MOST_RECORDS):
        records = Bounded(X, ball, groups)
        if second is None:
            return SiteSum(ball, records.n, tuple(records.coordinate_sum()), site, study, unit=protected)
        sums = records.moment_sums(second)
        one = SiteSum(ball, records.n, sums.first_total, site, study, unit=protected)
        return replace(one, second=second, second_total=sums.second_total)


def private_mean_of_sums(
    sums: Sequence[SiteSum],
    guarantee: Guarantee | str,
    *,
    mechanism: MechanismName = "auto",
    calibration: CalibrationName = "analytic",
    ledger: Ledger | None = None,
    note: str = "",
) -> Release:
    """A private tangent mean of the records of all sites, from their sums; in a flat space, that is the Fréchet mean.

    It is the release that `private_mean(..., statistic="tangent-mean")` makes of all records together. Whoever
    calls this sees the exact sums: sites trust it with those, and nobody else. Sums that cannot be of different
    sites of one study are refused, by their public fields alone, before anything is reserved.

    Parameters
    ----------
    sums : sequence of SiteSum
        One of each site.
    guarantee : Guarantee or str
        What the release may spend, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    mechanism : str
        As of `private_mean`; mechanisms that need the records themselves are refused.
    calibration : str
        Of Gaussian noise for ApproxDP: "analytic", the least that is enough, or "classical", the textbook's.
    ledger : Ledger, optional
        From which the guarantee is reserved before any noise is drawn.
    note : str
        Which data these are, in a few words: the ledger's description ends with it.

    Returns
    -------
    Release
        Of all records together, `n` is their number. What may be published is this, not the sums.

    Raises
    ------
    InputError
        If a sum or a site is there twice, or balls, studies or units differ.
    MechanismError
        If no mechanism, or not the one asked for, gives the guarantee from sums.
    BudgetExceeded
        If the ledger refuses; nothing was spent.

    See Also
    --------
    site_sum : What each site does.
    private_mean : Of records in one place.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    >>> sums = [rd.site_sum(np.zeros((500, 1)), ball, site=name, study="pilot") for name in ("north", "south")]
    >>> rd.private_mean_of_sums(sums, rd.GDP(1.0)).n
    1000
    """
    ball = _poolable(sums, ledger)
    statistic = "frechet-mean" if ball.space.is_flat else "tangent-mean"
    query = _query(sums, ball, guarantee, mechanism=mechanism, calibration=calibration, statistic=statistic)
    prepared = prepare(replace(query, can_fill=False))
    if by_name(prepared.mechanism).input not in ("coordinates", "point"):
        raise MechanismError(f"mechanism = {mechanism!r} needs the records themselves: use 'auto'.")
    warn_of(prepared.doubts)
    return prepared.release_of(lambda: pooled_value(sums), ledger, note)


def private_summary_of_sums(
    sums: Sequence[SiteSum],
    guarantee: Guarantee | str,
    *,
    mechanism: MechanismName = "auto",
    ledger: Ledger | None = None,
    note: str = "",
) -> Summary:
    """A private summary of the records of all sites, from their sums: what `private_summary` makes of all together.

    Parameters
    ----------
    sums : sequence of SiteSum
        One of each site, all made with the same `second`.
    guarantee, mechanism, ledger, note : as of private_summary
        What the release may spend, by which noise, and where that is booked.

    Returns
    -------
    Summary
        Of all records together, `n` is their number. What may be published is this, not the sums.

    Raises
    ------
    InputError
        If a sum or a site is there twice, balls or studies differ, or sums have no or other second moments.
    MechanismError, BudgetExceeded
        As `private_summary` does.

    See Also
    --------
    site_sum : What each site does.
    private_summary : Of records in one place.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball, parts = rd.Ball(rd.Euclidean(1), [0.0], 1.0), {"north": np.zeros((500, 1)), "south": np.ones((500, 1))}
    >>> sums = [rd.site_sum(X, ball, site=name, study="pilot", second="full") for name, X in parts.items()]
    >>> rd.private_summary_of_sums(sums, rd.GDP(1.0)).n
    1000
    """
    ball, pooled = _poolable(sums, ledger), pooled_moments(sums)
    statistic = Moments(pooled.second)
    prepared = prepare(_query(sums, ball, guarantee, mechanism=mechanism, statistic=statistic))
    warn_of(prepared.doubts)
    law = statistic.with_noise(by_name(prepared.mechanism))
    return as_summary(prepared.release_of(lambda: law.of_sums(pooled), ledger, note))


def pooled_moments(sums: Sequence[SiteSum]) -> MomentSums:
    """The moments of all records of these sums. **Private**: what noise is added to."""
    kinds = {one.second for one in sums}
    if None in kinds or len(kinds) > 1:
        raise InputError(
            "sums: for a summary, all sites must have the same second moments; let each call site_sum with the same "
            "second=, such as 'full'."
        )
    first, second = _added([one.total for one in sums]), _added([one.second_total for one in sums])
    return MomentSums(sums[0].ball, _count(sums), str(kinds.pop()), first, second)


def _added(totals: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*totals, strict=True))


def _count(sums: Sequence[SiteSum]) -> int:
    return sum(one.n for one in sums)


def _query(sums: Sequence[SiteSum], ball: Ball, guarantee: Guarantee | str, **asked: Any) -> Query:
    """What is asked of all records of these sums, or of all people: each of them is at one site."""
    promise, unit = as_guarantee(guarantee), sums[0].unit
    if unit != RECORD:
        promise = promise.with_assumptions(f"all records of one {unit} are at one site")
    return Query(ball, _count(sums), promise, unit=unit, **asked)


def _poolable(sums: Sequence[SiteSum], ledger: Ledger | None) -> Ball:
    """The common ball, of sums of different sites of one study, by their public fields."""
    ball = _common_ball(sums)
    _require_different_sites(sums)
    require_ledger(ledger)
    return ball


def pooled_value(sums: Sequence[SiteSum]) -> Array:
    """The mean of all records of these sums, in coordinates at the centre. **Private**: what noise is added to."""
    total = [sum(column) for column in zip(*(one.total for one in sums), strict=True)]
    return mean_of_sum(total, sum(one.n for one in sums), sums[0].ball).point


def _common_ball(sums: Sequence[SiteSum]) -> Ball:
    if not isinstance(sums, Sequence) or not sums or not all(isinstance(site, SiteSum) for site in sums):
        raise InputError("sums: pass a list of one or more SiteSum, as site_sum() makes them.")
    first = sums[0].ball
    for ball in (site.ball for site in sums[1:]):
        same = ball.space == first.space and ball.radius == first.radius
        if not (same and np.array_equal(ball.center, first.center)):
            raise InputError("sums: the sites used different balls; agree on one, and let every site use it.")
    return first


def _require_different_sites(sums: Sequence[SiteSum]) -> None:
    """Each of another site, all of one study: by their public fields, whatever the sums are."""
    for other in sums[1:]:
        if other.study != sums[0].study:
            raise InputError(f"sums: studies {sums[0].study!r} and {other.study!r} differ; pass the sums of one study.")
        if other.unit != sums[0].unit:
            units = f"one {sums[0].unit} and one {other.unit}"
            raise InputError(f"sums: those of different sites protect {units}; agree on groups= and unit=.")
    if (repeated := _first_repeated(sums, (one.id for one in sums))) is not None:
        raise InputError(f"sums: that of site {repeated.site!r} is there twice, as a copy; pass it once.")
    if (repeated := _first_repeated(sums, (_plain(one.site) for one in sums))) is not None:
        raise InputError(
            f"sums: site {repeated.site!r} is there twice, with sums made at different times; pass the one that counts."
        )


def _first_repeated(sums: Sequence[SiteSum], names: Iterable[str]) -> SiteSum | None:
    listed = list(names)
    counts = Counter(listed)
    return next((one for one, name in zip(sums, listed, strict=True) if counts[name] > 1), None)


def _plain(name: str) -> str:
    """Names that people take for the same are the same: case, width and spaces do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
