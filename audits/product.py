"""The audit of the whole product: what is claimed against what an adversary can prove. `python audits/product.py`.

Every mechanism on every space for every kind of guarantee, and adaptive releases, three times each:

float64     what `rd.simulate` draws, on the worst of several pairs of neighbouring data sets, one of them searched for;
release     what `rd.private_mean` draws, from the operating system's bits: the mechanism's own `draw` around the
            private value; of adaptive releases all that is published, every stage's centre and radius included. On
            the pair that was worst in float64, and on one where a single record leaves all others;
last bits   the same releases by the lowest binary digit of each of their numbers, which gives away noise that was added
            in float64; and how often an output comes twice, which gives away noise that was used twice.

All lower bounds of one run are right together with probability CONFIDENCE (Bonferroni). How many draws there are is
decided by their speed alone, before they are looked at.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd
from riemdp.accounting.guarantee import Guarantee
from riemdp.audit import Audit, audit_draws, audit_neighbours, coordinates
from riemdp.axes import Axes
from riemdp.manifolds import Space, package_spaces
from riemdp.mechanisms import MECHANISMS, by_name
from riemdp.neighbours import Pair, fooling_neighbours, spare_outliers, worst_neighbours
from riemdp.privacy.bounded import Bounded
from riemdp.releases.plan import Plan
from riemdp.statistics.adaptive import REACH_OF_SPREAD
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import prepare
from riemdp.statistics.query import Query
from riemdp.statistics.shaped import ShapedMean
from riemdp.statistics.sites import SiteSum, pooled_value, site_sum

Array = np.ndarray[Any, np.dtype[Any]]
Points = Callable[[Array, int], Array]  # (records, size) -> released points

RESULTS = Path(__file__).parent / "results"
CONFIDENCE = 0.999
N, N_ADAPTIVE = 20, 500
TESTS = 3  # of each row
LEAST, LEAST_ADAPTIVE = 1000, 200  # draws of each neighbour; the last bits are tested on no fewer than the latter
SHARE_OF_BITS = 1 / 5  # of those draws, made for the last bits: the planted noise in float64 shows in 10,000
SEARCH_STEPS = 100
ANGLE = 2.237  # between two points of the rim: the worst case of full second moments with Laplace noise
NAMED: dict[str, Space] = {  # in the tables of results; the sharpest bounds come from few dimensions
    "line": rd.Euclidean(1),
    "SPD(2), log-Euclidean": rd.SPDLogEuclidean(2),
    "SPD(2), affine-invariant": rd.SPDAffine(2),
    "SPD(2), log-Cholesky": rd.SPDLogCholesky(2),
    "circle": rd.Sphere(1),
    "sphere": rd.Sphere(2),
    "hyperbolic plane": rd.Hyperbolic(2),
    "Poincaré disc": rd.Hyperbolic(2, model="poincare"),
    "shapes of 4 landmarks": rd.KendallShapes(4),
    "line x sphere": rd.Product(rd.Euclidean(1), rd.Sphere(2)),
}
# Of a space without such a name, all examples of at most four dimensions, or else the smallest one.
UNNAMED = [kind.examples() for kind in package_spaces() if kind not in set(map(type, NAMED.values()))]


def few_dimensions(spaces: list[Space]) -> list[Space]:
    """What can be audited well."""
    return [space for space in spaces if space.dim <= 4] or [min(spaces, key=lambda space: space.dim)]


SPACES = NAMED | {repr(space): space for examples in UNNAMED for space in few_dimensions(examples)}
ADAPTIVE_WITH_ALL_CLAIMS = ("line",)  # adaptive releases are slow
IN_TWO_SITES = ("line", "SPD(2), affine-invariant")  # what is drawn around their sum is the same as elsewhere
OF_PEOPLE = ("line", "circle")  # what is drawn around their mean is the same as elsewhere
CLAIMS: tuple[Guarantee, ...] = (
    rd.PureDP(1.0),
    rd.ApproxDP(1.0, 0.01),
    rd.GDP(1.0),
    rd.RDP(2.0, 1.0),
    rd.ZCDP(0.5),
)


# --- what is audited ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One way to release a mean, and what it claims."""

    place: str
    mechanism: str
    claimed: Guarantee
    adapt: bool = False
    statistic: str = "frechet-mean"
    footpoint: bool = False  # half-way to the rim instead of the centre
    sites: bool = False  # the records are in two places, which hand over their sums
    second: str = ""  # which second moments, of a summary
    people: bool = False  # each of n people has several records, and neighbours replace one with all of them
    shaped: bool = False  # in an ellipsoid that is narrow where neighbours differ
    reach: float = 1.0  # radii up to which a summary tells the trace: then it has the ball's radius over that many

    @property
    def n(self) -> int:
        """Records."""
        return N_ADAPTIVE if self.adapt else N

    @property
    def ball(self) -> rd.Ball:
        """Half as large as it may be, and no larger than 1/2."""
        return ball_of(self.place)

    @property
    def name(self) -> str:
        """For people."""
        extras = [self.statistic] * (self.statistic != "frechet-mean") + ["another footpoint"] * self.footpoint
        extras += [f"{self.second} second moments"] * bool(self.second) + ["adaptive"] * self.adapt
        extras += ["two sites"] * self.sites + ["people"] * self.people + ["ellipsoid"] * self.shaped
        extras += [f"trace up to {self.reach:g} radii"] * (self.reach > 1)
        return ", ".join([self.mechanism, *extras])

    @property
    def query(self) -> Query:
        """As `private_mean` asks it."""
        return Query(n=self.n, can_fill=not self.sites, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """Of `private_mean` and `simulate`."""
        statistic = self.moments if self.second else self.ellipsoid if self.shaped else self.statistic
        ask = {"mechanism": self.mechanism, "statistic": statistic, "footpoint": self._foot, "adapt": self.adapt}
        return {"ball": self.ball, "guarantee": self.claimed, **ask}

    @property
    def moments(self) -> Moments:
        """Those of a summary, in the ball or in the ellipsoid."""
        if self.reach > 1:
            return Moments(self.second, radius=self.ball.radius / self.reach, reach=self.reach)
        return replace(self.ellipsoid.moments, second=self.second) if self.shaped else Moments(self.second)

    @property
    def ellipsoid(self) -> ShapedMean:
        """The mean in one whose first axis is a quarter of the others."""
        axes = Axes.of_inverse(np.append(4.0, np.ones(self.ball.space.dim - 1)))
        return ShapedMean.within(self.ball.space, self.ball.radius, axes)

    @property
    def _foot(self) -> Any:
        if not self.footpoint:
            return None
        half = self.ball.radius / 2 * np.eye(self.ball.space.dim)[:1]
        return self.ball.space.write(self.ball.space.exp_coords(half, self.ball.inner_center), self.ball.center)[0]

    @property
    def exists(self) -> bool:
        """Whether the mechanism gives the guarantee on the space."""
        try:
            rd.statistics.mean.rehearse(n=self.n, **self.options)
        except rd.MechanismError:
            return False
        return True


@lru_cache
def ball_of(place: str) -> rd.Ball:
    """One for each space."""
    space = SPACES[place]
    return rd.Ball(space, space.origin, 0.5 * min(space.uniqueness_radius, 1.0))


def all_cases() -> list[Case]:
    """Everything that is offered; what takes longest comes last."""
    everything: list[Case] = []
    for place, space in SPACES.items():
        cases = [Case(place, name, claim) for name in MECHANISMS for claim in CLAIMS]
        if not space.is_flat:
            cases.append(Case(place, "wrapped-gaussian", rd.GDP(1.0), statistic="tangent-mean"))
            cases.append(Case(place, "wrapped-laplace", rd.PureDP(1.0), footpoint=True))
        if place in IN_TWO_SITES:
            mean = "frechet-mean" if space.is_flat else "tangent-mean"
            cases.append(Case(place, "wrapped-gaussian", rd.GDP(1.0), statistic=mean, sites=True))
        cases += [summary(place, *row) for row in SUMMARIES] + [summary(place, "full", rd.GDP(1.0), adapt=True)]
        cases.append(replace(summary(place, "full", rd.GDP(1.0)), reach=REACH_OF_SPREAD))
        if place in OF_PEOPLE:
            cases += [Case(place, name, claim, people=True) for name in MECHANISMS for claim in CLAIMS]
            cases.append(Case(place, "auto", rd.GDP(1.0), adapt=True, people=True))
        if space.dim > 1:
            cases += [Case(place, *row, shaped=True) for row in ELLIPSOIDS]
            cases += [replace(summary(place, "full", claim), shaped=True) for _, claim in ELLIPSOIDS]
        claims = CLAIMS if place in ADAPTIVE_WITH_ALL_CLAIMS else (rd.GDP(1.0),)
        cases += [Case(place, "auto", claim, adapt=True) for claim in claims]
        everything += [case for case in cases if case.exists]
    return sorted(everything, key=lambda case: case.adapt)


ELLIPSOIDS = (("wrapped-gaussian", rd.GDP(1.0)), ("wrapped-laplace", rd.PureDP(1.0)))
SUMMARIES: tuple[tuple[str, Guarantee], ...] = (
    ("full", rd.GDP(1.0)),
    ("full", rd.PureDP(1.0)),
    ("full", rd.ApproxDP(1.0, 0.01)),
    ("full", rd.RDP(2.0, 1.0)),
    ("diagonal", rd.ZCDP(0.5)),
    ("trace", rd.GDP(1.0)),
    ("trace", rd.PureDP(1.0)),
)


def summary(place: str, second: str, claim: Guarantee, *, adapt: bool = False) -> Case:
    """A summary with these second moments, by the noise that belongs to the claim."""
    noise = "wrapped-laplace" if isinstance(claim, rd.PureDP) else "wrapped-gaussian"
    return Case(place, noise, claim, adapt, statistic=Moments.name, second=second)


def quick_cases() -> list[Case]:
    """Each mechanism and each kind of guarantee at least once."""
    return [
        Case("line", "wrapped-laplace", rd.PureDP(1.0)),
        Case("sphere", "wrapped-gaussian", rd.GDP(1.0)),
        Case("hyperbolic plane", "riemannian-laplace", rd.RDP(2.0, 1.0)),
        Case("circle", "kng", rd.PureDP(1.0)),
        Case("sphere", "extrinsic-laplace", rd.PureDP(1.0)),
        Case("SPD(2), log-Euclidean", "extrinsic-gaussian", rd.ApproxDP(1.0, 0.01)),
        Case("line", "wrapped-gaussian", rd.ZCDP(0.5)),
        Case("shapes of 4 landmarks", "pointwise-laplace", rd.PureDP(1.0)),
        Case("line", "wrapped-gaussian", rd.GDP(1.0), sites=True),
        summary("sphere", "full", rd.GDP(1.0)),
        summary("SPD(2), log-Euclidean", "diagonal", rd.PureDP(1.0)),
        replace(summary("line", "full", rd.GDP(1.0)), reach=REACH_OF_SPREAD),
        Case("line", "wrapped-gaussian", rd.GDP(1.0), people=True),
        Case("sphere", "wrapped-gaussian", rd.GDP(1.0), shaped=True),
    ]


# --- neighbours ----------------------------------------------------------------------------------------------


def neighbours(case: Case) -> dict[str, Pair]:
    """All pairs: the worst ones known, those made to fool, and a searched one."""
    outliers = spare_outliers(case.ball, case.n, case.claimed)
    pairs = worst_neighbours(case.ball, case.n) | fooling_neighbours(case.ball, case.n, outliers)
    if case.second:
        pairs |= neighbours_by_moments(case)
    if case.adapt:
        pairs["scattered"] = _across(case)
    return pairs if case.adapt else pairs | {"searched": searched_neighbours(case.place)}


def neighbours_by_moments(case: Case) -> dict[str, Pair]:
    """All records at the centre but one, which moves as second moments see it best.

    The worst pairs of docs/proofs/moments.md: along a line, from the rim to sqrt5 - 2 radii behind the centre; and
    around the rim, by the angle at which Laplace noise has its worst case. And far out of the ball, as if no record
    were moved into it; where the trace reaches farther, also from the rim to the radius on the other side, and as far
    around the rim as is worst for a matrix that was bought.
    """
    ball, dim = case.ball, case.ball.space.dim
    first, last = np.eye(dim)[0], np.eye(dim)[-1]
    around = math.cos(ANGLE) * first + math.sin(ANGLE) * last if dim > 1 else -first
    ends = {"line": (2 - math.sqrt(5)) * first, "around": around, "far": 3 * first}
    if case.reach > 1:
        ends["inner"] = -first / case.reach
    if case.reach > 1 and dim > 1:
        ends["apart"] = -0.81 * first + math.sqrt(1 - 0.81**2) * last
    heap = np.zeros((case.n - 1, dim))
    return {name: _as_pair(np.vstack([heap, _rows(ball, first, end)]), ball) for name, end in ends.items()}


SCATTER = 1 / 30  # of the radius


def _across(case: Case) -> Pair:
    """All records on the rim of a small ball, the axes in turn, but one that jumps across the given one.

    It attains the sensitivity in every body, and bodies shrink for a few rounds: how many is left to chance.
    """
    turns, axes = np.arange(case.n - 1), np.eye(case.ball.space.dim)
    small = SCATTER * axes[turns // 2 % len(axes)] * ((-1.0) ** turns)[:, None]
    return _as_pair(case.ball.radius * np.vstack([small, axes[0], -axes[0]]), case.ball)


def _rows(ball: rd.Ball, *units: Array) -> Array:
    return ball.radius * np.stack(units)


@lru_cache
def searched_neighbours(place: str) -> Pair:
    """Records on the rim, moved at random as long as the means of the two data sets get farther apart."""
    ball, rng = ball_of(place), np.random.default_rng(0)
    best = _to_rim(rng.standard_normal((N + 1, ball.space.dim)), ball)
    farthest = _distance(best, ball)
    for step in range(SEARCH_STEPS):
        moves = rng.random((N + 1, 1)) < 0.3
        tried = _to_rim(best + moves * rng.standard_normal(best.shape) * ball.radius * 0.97**step, ball)
        if (distance := _distance(tried, ball)) > farthest:
            best, farthest = tried, distance
    return _as_pair(best, ball)


def _to_rim(coords: Array, ball: rd.Ball) -> Array:
    return np.asarray(coords * (ball.radius / np.linalg.norm(coords, axis=1, keepdims=True)))


def _as_pair(coords: Array, ball: rd.Ball) -> Pair:
    """All but the last record, with the last one in the place of the last but one."""
    points = ball.space.write(ball.space.exp_coords(coords, ball.inner_center), ball.center)
    return points[:-1], np.concatenate([points[:-2], points[-1:]])


def _distance(coords: Array, ball: rd.Ball) -> float:
    first, second = (rd.frechet_mean(X, ball.space).point for X in _as_pair(coords, ball))
    return float(ball.space.dist(first, second))


# --- releases ------------------------------------------------------------------------------------------------


def simulated(case: Case) -> Callable[..., Array]:
    """What `simulate` draws, as coordinates."""

    def draw(X: Array, *, size: int, seed: int) -> Array:
        records, ids = records_of(X, case.people)
        return coordinates(rd.simulate(records, size=size, seed=seed, groups=ids, **case.options), case.ball)

    return draw


def records_of(X: Array, people: bool) -> tuple[Array, Array | None]:
    """The rows as they are; or as people with one to five records each, more of them for some places than for others.

    All records of a person are where the row is: so a person moves the mean as far as one can.
    """
    if not people:
        return X, None
    counts = 1 + (np.arange(len(X)) + 3 * (X.reshape(len(X), -1)[:, 0] > 0)) % 5
    return np.repeat(X, counts, axis=0), np.repeat(np.arange(len(X)), counts)


def released(case: Case) -> Points:
    """Points as `private_mean` draws them around the private value, which is the same each time.

    Of adaptive releases the last centre, too: if all records are equal, rounds go on until noise is hardly more than
    the rounding of a point, and means come twice by chance, but not with the same centre.
    """
    if case.adapt:
        make = adaptive_releases(case)
        return lambda X, size: np.stack([[r.value, r.stages[-1].center] for r in make(X, size)])
    query, ball = case.query, case.ball
    pooled = (lambda X: pooled_value(two_sites(X, ball))) if case.sites else None
    return drawn(query, query.plan(), ball, pooled, people=case.people)


def two_sites(X: Array, ball: rd.Ball) -> list[SiteSum]:
    """The sums of two sites that share the records."""
    parts = {"A": X[: len(X) // 2], "B": X[len(X) // 2 :]}
    return [site_sum(part, ball, site=name, study="audit") for name, part in parts.items()]


def drawn(
    query: Query, plan: Plan, ball: rd.Ball, value: Callable[[Array], Any] | None = None, *, people: bool = False
) -> Points:
    """Points by the mechanism's `draw`, according to a plan, around the private value: the query's, or another one."""
    known, law = dict[bytes, Any](), query.law(plan)
    value = value or (lambda X: law.value(bounded(X, ball, people)))

    def points(X: Array, size: int) -> Array:
        if (key := X.tobytes()) not in known:
            known[key] = value(X)
        if isinstance(law.statistic, Moments):  # all that is released; the mean, made of it, would take longer
            places = law._places(known[key])
            return np.concatenate([law.mechanism.draw(*place, size).points for place in places], axis=1)
        return np.asarray(ball.space.write(law.draw(known[key], size).points, ball.center))

    return points


def bounded(X: Array, ball: rd.Ball, people: bool) -> Bounded:
    """The records, or the people, in the ball."""
    records, ids = records_of(X, people)
    return Bounded(records, ball, ids)


def adaptive_releases(case: Case) -> Callable[[Array, int], Iterator[rd.Release]]:
    """As `private_mean` makes them, but that what is public is prepared once, and the records are read once."""
    prepared = prepare(case.query)
    assert not isinstance(prepared.how, Plan)

    def make(X: Array, size: int) -> Iterator[rd.Release]:
        records = bounded(X, case.ball, case.people)
        return (prepared.release(records) for _ in range(size))

    return make


def published(case: Case, points: Points) -> Callable[..., Array]:
    """Coordinates of all that is published."""
    if case.adapt:
        make = adaptive_releases(case)
        return lambda X, *, size, seed: np.stack([transcript(r, case.ball) for r in make(X, size)])  # noqa: ARG005
    if case.second:
        return lambda X, *, size, seed: points(X, size)  # noqa: ARG005
    return lambda X, *, size, seed: coordinates(points(X, size), case.ball)  # noqa: ARG005


def transcript(release: rd.Release, ball: rd.Ball) -> Array:
    """The value, the first and the last centre and radius, and the number of stages of one adaptive release.

    What a look said shows in that number. The noise of the last release is of a size that was published as well, so the
    value counts in units of it, too.
    """
    first, last = release.stages[0], release.stages[-1]
    places = coordinates(np.stack([release.value, first.center, last.center]), ball)
    radius = next((stage for stage in release.stages if stage.task == "radius"), last)
    sizes = np.log([stage.reach for stage in (first, radius, last)])
    radii = [(places[0] - places[-1]) / last.scale, sizes, [float(len(release.stages))]]
    if isinstance(release, rd.Summary):
        radii += [release.moments.first, release.moments.second.ravel()]
    return np.concatenate([places.ravel(), *radii])


# --- the last bits -------------------------------------------------------------------------------------------


def last_bits(points: Array) -> Array:
    """The exponent of the lowest binary digit that is set, of each number, complex ones counted twice."""
    flat = np.ascontiguousarray(points.reshape(len(points), -1))
    mantissa, exponent = np.frexp(flat.view(np.float64) if np.iscomplexobj(flat) else flat)
    digits = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    lowest = np.log2(np.maximum(digits & -digits, 1))
    return np.asarray(np.clip(np.where(digits == 0, 0.0, exponent - 53 + lowest), -120.0, 20.0))


def repeats(points: Array) -> int:
    """How many outputs have come before."""
    return len(points) - len(np.unique(points.reshape(len(points), -1), axis=0))


def repeats_allowed(case: Case, count: int) -> float:
    """Outputs on a grid of scale/2^20 in d dimensions: two are the same with probability below 2^(-20 d).

    More than 20 times the expected number, or than 20, has probability below 1e-15. Baselines cut their outputs off
    at the smallest eigenvalue: all those that are cut off are the same.
    """
    if case.mechanism in MECHANISMS and by_name(case.mechanism).is_baseline:
        return math.inf
    return 20 * max(1.0, count**2 / 2 * 2.0 ** (-20 * case.ball.space.dim))


# --- one row -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """Of one row: draws of each neighbour, and seconds for each test of them."""

    simulated: int
    released: int
    seconds: float
    confidence: float

    def count(self, case: Case, draw: Callable[[int], Any], most: int) -> int:
        """As many as there is time for, at the speed of a few."""
        tried, least = (50, LEAST_ADAPTIVE) if case.adapt else (LEAST, LEAST)  # a slow one takes 20 ms
        draw(1)  # compiles, loads, fills caches
        start = time.perf_counter()
        draw(tried)
        each = (time.perf_counter() - start) / tried
        return int(min(most, max(least, self.seconds / (2 * each))))


@dataclass(frozen=True)
class Measured:
    """One test of a row."""

    bounds: dict[str, float]
    draws: int
    neighbours: str
    holds: bool

    @classmethod
    def of(cls, found: Audit, neighbours: str | None = None) -> Measured:
        """What an audit found."""
        return cls(found.lower, found.draws, neighbours or str(found.neighbours), found.holds)


@dataclass(frozen=True)
class Row:
    """Claimed against measured."""

    space: str
    mechanism: str
    claimed: dict[str, Any]
    float64: Measured
    release: Measured
    bits: Measured
    repeats: int
    repeats_allowed: float

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the claim."""
        tests = (self.float64, self.release, self.bits)
        return all(test.holds for test in tests) and self.repeats <= self.repeats_allowed


def examine(case: Case, budget: Budget, points: Points | None = None) -> Row:
    """All tests of one case; `points` instead of the product's own releases, to plant a bug."""
    points, pairs = points or released(case), neighbours(case)
    bits, again, allowed = examine_bits(case, budget, points, pairs["outwards"])
    simulation = _float64(case, budget, pairs)
    told = [simulation.neighbours, "outwards", *(neighbours_by_moments(case) if case.second else ())]
    releases = _release(case, budget, {name: pairs[name] for name in told}, points)
    return Row(case.place, case.name, case.claimed.to_dict(), simulation, releases, bits, again, allowed)


def _float64(case: Case, budget: Budget, pairs: dict[str, Pair]) -> Measured:
    draw = simulated(case)
    first = partial(draw, pairs["outwards"][0], seed=0)
    count = budget.count(case, lambda size: first(size=size), budget.simulated)
    return Measured.of(audit_neighbours(pairs, draw, case.claimed, draws=count, confidence=budget.confidence))


def _release(case: Case, budget: Budget, pairs: dict[str, Pair], points: Points) -> Measured:
    draw = published(case, points)
    first = partial(draw, pairs["outwards"][0], seed=0)
    count = budget.count(case, lambda size: first(size=size), budget.released)
    return Measured.of(audit_neighbours(pairs, draw, case.claimed, draws=count, confidence=budget.confidence))


def examine_bits(case: Case, budget: Budget, points: Points, pair: Pair) -> tuple[Measured, int, float]:
    """From a mean at the centre to one beside it, where floats with noise in float64 differ the most."""
    count = max(LEAST_ADAPTIVE, int(SHARE_OF_BITS * budget.count(case, partial(points, pair[0]), budget.released)))
    both = [points(X, count) for X in pair]
    found = audit_draws(*map(last_bits, both), case.claimed, confidence=budget.confidence)
    return Measured.of(found, "outwards"), sum(map(repeats, both)), repeats_allowed(case, count)


# --- the report ----------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """Markdown."""
    heads = "space | mechanism | claimed | float64 | draws | release | draws | last bits | draws | holds"
    lines = [f"| {heads} |", "|" + "---|" * len(heads.split("|"))]
    return "\n".join([*lines, *map(_line, rows)])


def _line(row: Row) -> str:
    cells = [row.space, row.mechanism, show(Guarantee.from_dict(row.claimed).parameters, "{} {:g}")]
    for test in (row.float64, row.release, row.bits):
        cells += [show(test.bounds, "{} ≥ {:.3g}"), f"{test.draws:,}"]
    return "| " + " | ".join([*cells, "yes" if row.holds else "**NO**"]) + " |"


def show(numbers: dict[str, float], form: str) -> str:
    """By name, for people."""
    return ", ".join(form.format(name, value) for name, value in numbers.items())


def write(rows: list[Row], out: Path, confidence: float) -> None:
    """JSON, and the table beside it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    data = {"confidence": confidence, "rows": [asdict(row) | {"holds": row.holds} for row in rows]}
    out.write_text(json.dumps(data, indent=1) + "\n")
    out.with_suffix(".md").write_text(table(rows) + "\n")


def run(cases: list[Case], budget: Callable[[float], Budget], out: Path, workers: int) -> list[Row]:
    """All rows, written as they come; the error probability is shared among all tests."""
    each, rows = budget(1 - (1 - CONFIDENCE) / (TESTS * len(cases))), list[Row]()
    for row in _in_processes(partial(examine, budget=each), cases, workers):
        rows.append(row)
        write(rows, out, CONFIDENCE)
        print(f"{len(rows)}/{len(cases)} {_line(row)}", flush=True)
    return rows


def _in_processes(task: Callable[[Case], Row], cases: list[Case], workers: int) -> Iterator[Row]:
    if workers == 1:
        yield from map(task, cases)
    else:
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            yield from pool.map(task, cases)


def main() -> None:
    """Exit code 1 if a claim is contradicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few rows, few draws: about half a minute")
    parser.add_argument("--seconds", type=float, default=600.0, help="at most, for the draws of each test of each row")
    parser.add_argument("--simulated", type=int, default=200_000, help="most draws in float64 of each neighbour")
    parser.add_argument("--released", type=int, default=100_000, help="most releases of each neighbour")
    parser.add_argument("--only", default="", help="rows whose mechanism has this in its name, such as 'summary'")
    parser.add_argument("--workers", type=int, default=1, help="rows at a time")
    parser.add_argument("--spaces", nargs="+", choices=SPACES, metavar="NAME", help="no others, named as in the tables")
    parser.add_argument("--out", type=Path, default=RESULTS / "product.json", help="JSON file to write")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.simulated, options.released = math.inf, 20_000, 3000
    offered = quick_cases() if options.quick else all_cases()
    places = options.spaces or SPACES
    cases = [case for case in offered if case.place in places and options.only in case.name]
    budget = partial(Budget, options.simulated, options.released, options.seconds)
    rows = run(cases, budget, options.out, options.workers)
    sys.exit(0 if all(row.holds for row in rows) else 1)


if __name__ == "__main__":
    main()
