"""Audits: what an adversary who knows every record but one can prove against a mechanism, from its draws.

A guarantee bounds how far P(S | X) and P(S | X') may be apart for every event S and all neighbouring data X, X'. So
exact confidence bounds on both probabilities of one event bound every parameter of the guarantee from below. The data,
the event and its threshold are chosen on draws that take no further part: the confidence is that of Clopper and
Pearson (1934), with no correction for the search. docs/guides/audit.md says what this shows and what it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, as_guarantee
from riemdp.accounting.unit import unit_of
from riemdp.arguments import finite_array, finite_number, whole_number
from riemdp.balls import Ball
from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.io.identities import identities
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array
from riemdp.names import CalibrationName, MechanismName, SecondMoments
from riemdp.neighbours import Grouped, Pair, fooling_neighbours, spare_outliers, whole_people, worst_neighbours
from riemdp.privacy.bounded import Bounded
from riemdp.releases.plan import Plan
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.catalogue import StatisticName
from riemdp.statistics.mean import how_many, rehearse, simulated, with_second
from riemdp.statistics.prepared import Prepared
from riemdp.written import BallMapping, as_ball

Measure = Callable[[Array, Array], Array]
Draw = Callable[..., Array]  # (records, size=, seed=) -> coordinates of releases

CHOOSING = 4  # one draw in four helps to choose the test, the others make it
# Choosing needs less certainty than proving: what an eighth of the draws finds at 5 % the others find at 1e-5, by
# deviations of 2/sqrt(m) and 4.5/sqrt(6 m). But the best of hundreds of events is partly luck, mostly in the tails.
CHOICE_ERROR = 0.005
LEAST_DRAWS, LARGEST_COORDINATE = 100, 1e100
BLOCK, PILOT = 2**20, 2**23  # numbers in a block of simulated points; coordinates kept to choose a test
# Quantiles that are tried as thresholds: fine in the tails, where the likelihood ratio of a Laplace law is largest.
_TAIL = np.geomspace(1e-4, 0.5, 50)
LEVELS = np.concatenate([_TAIL, 1 - _TAIL[-2::-1]])
_CELL = np.geomspace(0.002, 0.5, 10)
CELLS = np.concatenate([_CELL, 1 - _CELL[-2::-1]])  # quantiles that bound the cells of a learned likelihood ratio
# Rényi orders that are tried against zCDP, which promises something for each of them.
ORDERS = 1 + np.geomspace(1e-4, 1e4, 65)
LARGEST_ORDER = 1e9  # the divergence grows with the order: a lower one gives a lower bound


@shown
@dataclass(frozen=True, repr=False)
class Audit:
    """Lower bounds on the parameters of a claim; all of them are right with probability `confidence`.

    A bound above what is claimed refutes the claim; one below it proves nothing.

    Parameters
    ----------
    claimed : Guarantee
        What was audited.
    lower : dict
        A bound for each parameter of the claim (RDP: at its alpha; ApproxDP: on epsilon at the claimed delta
        and on delta at the claimed epsilon).
    epsilon_lower : float
        A bound on the epsilon of differential privacy: with the claimed delta for ApproxDP, else with delta = 0.
    confidence : float
        The probability that all bounds are right.
    draws : int
        Of each of the two neighbours.
    mechanism : str or None
        Its name, if that is known.
    neighbours : str or None
        Which pair of data sets told most.
    scale : float or None
        Of the noise.
    sensitivity : float or None
        How far one record can move the statistic.
    adapt : bool
        Whether the release adapts to its records.

    See Also
    --------
    audit : Of private means.
    audit_draws : Of any mechanism.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> draws = np.random.default_rng(0).normal(size=(2, 4000, 1))
    >>> rd.audit_draws(draws[0], draws[1] + 1.0, rd.GDP(1.0)).holds
    True
    """

    claimed: Guarantee
    lower: dict[str, float]
    epsilon_lower: float
    confidence: float
    draws: int  # of each of the two neighbours
    mechanism: str | None = field(default=None, kw_only=True)
    neighbours: str | None = field(default=None, kw_only=True)
    scale: float | None = field(default=None, kw_only=True)
    sensitivity: float | None = field(default=None, kw_only=True)
    adapt: bool = field(default=False, kw_only=True)

    @property
    def holds(self) -> bool:
        """Whether the claim is not contradicted.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> draws = np.random.default_rng(0).normal(size=(2, 4000, 1))
        >>> rd.audit_draws(draws[0], draws[1], "mu=1").holds
        True
        """
        return all(bound <= self.claimed.parameters[name] for name, bound in self.lower.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data.

        Returns
        -------
        dict
            All of it, and whether the claim holds.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> draws = np.random.default_rng(0).normal(size=(2, 4000, 1))
        >>> rd.audit_draws(draws[0], draws[1], "mu=1").to_dict()["holds"]
        True
        """
        return {"riemdp": "audit", **asdict(self), "claimed": self.claimed.to_dict(), "holds": self.holds}


# --- what an event of probability >= p under X and <= q under X' proves ------------------------------------


def _epsilon(p: Array, q: Array, delta: float = 0.0) -> Array:
    """The least epsilon that an event with p under X and q under X' leaves: log((p - delta)/q)."""
    return np.asarray(np.log(np.maximum(p - delta, 0.0) / q))


def _delta(p: Array, q: Array, epsilon: float) -> Array:
    """The least delta that such an event leaves: p - e^epsilon q."""
    return np.asarray(p - np.exp(epsilon) * q)


def _mu(p: Array, q: Array) -> Array:
    """Phi^-1(p) - Phi^-1(q): a test of level q and power p (Dong, Roth, Su 2022, section 2.2)."""
    from scipy.special import ndtri

    return np.asarray(ndtri(p) - ndtri(q))


def _divergence(p: Array, q: Array, order: Array | float) -> Array:
    """Rényi divergence of a coin p from a coin q: no more than that of the laws (data processing)."""
    p, order = np.maximum(p, q), np.minimum(order, LARGEST_ORDER)  # 0 where p <= q
    yes = order * np.log(p / q) + np.log(q)
    no = order * (np.log1p(-p) - np.log1p(-q)) + np.log1p(-q)
    certain = np.logaddexp(yes, no) - 2.0**-46  # rounding, which orders close to 1 would magnify
    return np.asarray(np.where(p > q, certain / (order - 1), 0.0))


def _rho(p: Array, q: Array) -> Array:
    """The largest divergence over its order."""
    return np.asarray((_divergence(p[..., None], q[..., None], ORDERS) / ORDERS).max(axis=-1))


def _measures(claimed: Guarantee) -> dict[str, Measure]:
    """A lower bound for each parameter; under 'pure', for the epsilon of pure differential privacy."""
    match claimed:
        case PureDP():
            return {"epsilon": _epsilon}
        case ApproxDP(epsilon, delta):
            return {"epsilon": partial(_epsilon, delta=delta), "delta": partial(_delta, epsilon=epsilon)}
        case GDP():
            return {"mu": _mu, "pure": _epsilon}
        case ZCDP():
            return {"rho": _rho, "pure": _epsilon}
        case RDP(alpha):
            return {"epsilon": partial(_divergence, order=alpha), "pure": _epsilon}
    raise InputError(f"guarantee = {claimed!r}: pass for example PureDP(1.0) or GDP(0.5).")


def _proved(measure: Measure, hits: Array, totals: Array, error: float) -> Array:
    """What is certain but for probability `error`: hits and totals (2, ...), under X first."""
    low, high = _at_least(hits[0], totals[0], error / 2), _at_most(hits[1], totals[1], error / 2)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(np.fmax(measure(low, high), 0.0))  # not a number where nothing is proved


def _at_least(hits: Array, total: Array, error: float) -> Array:
    """Clopper and Pearson's lower bound on a probability, wrong with probability at most `error`."""
    from scipy.special import betaincinv

    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), total - hits + 1, error), 0.0)


def _at_most(hits: Array, total: Array, error: float) -> Array:
    """Clopper and Pearson's upper bound."""
    return np.asarray(1 - _at_least(total - hits, total, error))


# --- the adversary's choice ----------------------------------------------------------------------------


def _isotropic(pilots: Pair) -> tuple[Array, Array, Array]:
    """The first law's centre, what makes both isotropic, and the gap from the second centre, so made."""
    means = [pilot.mean(axis=0) for pilot in pilots]
    pooled, gap = np.vstack([pilot - mean for pilot, mean in zip(pilots, means, strict=True)]), means[0] - means[1]
    # Each coordinate in its own unit: those of an adaptive release differ by many powers of ten.
    unit = np.sqrt(np.square(pooled).mean(axis=0))
    unit = np.where(unit > 0, unit, np.where(gap != 0, np.abs(gap), 1.0))
    values, frame = np.linalg.eigh((pooled / unit).T @ (pooled / unit) / len(pooled))
    least = 1e-12 * (values[-1] + np.square(gap / unit).sum()) + np.finfo(float).tiny  # laws on less than the space
    whitening = frame / np.sqrt(np.maximum(values, least)) / unit[:, None]
    return means[0], whitening, gap @ whitening


@dataclass(frozen=True)
class _Ranks:
    """Coordinates as normal quantiles of their ranks among draws: they count by what they tell, not by their size."""

    cuts: Array  # (d, levels)

    @classmethod
    def of(cls, pilots: Pair) -> _Ranks:
        """Learned from draws of both neighbours."""
        return cls(np.quantile(np.concatenate(pilots), LEVELS, axis=0).T)

    def normal(self, points: Array) -> Array:
        """Points by the normal quantiles of their ranks, each coordinate by itself."""
        from scipy.special import ndtri

        levels = ndtri(LEVELS)
        return np.stack([np.interp(x, cuts, levels) for x, cuts in zip(points.T, self.cuts, strict=True)], axis=1)


@dataclass(frozen=True)
class _View:
    """Numbers that tell a point near the first law from one near the second, in coordinates made isotropic.

    The projection on the line through both centres is the log-likelihood ratio of Gaussian laws, the difference of the
    distances to them that of Laplace laws, each up to its scale. The third is the ratio itself, learned from draws as
    a histogram along and across that line: of any law that is symmetric around it, such as one cut off at a rim. The
    last is the projection again, of ranks: for laws whose spread is drawn as well.
    """

    center: Array  # of the first law
    whitening: Array
    gap: Array  # whitened, from the second centre to the first
    ranks: _Ranks
    tilt: Array  # the gap between ranks
    edges: Pair = (np.empty(0), np.empty(0))  # of the histogram's cells, along and across
    ratios: Array = field(default_factory=lambda: np.zeros((1, 1)))

    @classmethod
    def of(cls, pilots: Pair) -> _View:
        """Learned from draws of both neighbours."""
        ranks = _Ranks.of(pilots)
        _, whitening, gap = _isotropic((ranks.normal(pilots[0]), ranks.normal(pilots[1])))
        return cls(*_isotropic(pilots), ranks, whitening @ gap)._learned(pilots)

    def _learned(self, pilots: Pair) -> _View:
        """With cells at quantiles of all draws, and log((1 + draws of the first)/(1 + draws of the second)) in each."""
        places = [self._place(pilot)[:2] for pilot in pilots]
        along, across = (np.quantile(np.concatenate(part), CELLS) for part in zip(*places, strict=True))
        view = replace(self, edges=(along, across))
        shape = (len(along) + 1, len(across) + 1)
        counts = [np.bincount(view._cells(*place), minlength=math.prod(shape)) for place in places]
        return replace(view, ratios=np.log((1 + counts[0]) / (1 + counts[1])))

    def _place(self, points: Array) -> tuple[Array, Array, Array]:
        """Along the line (times its length); squared distances from it and from the first centre."""
        with one_blas_thread():  # more of them only get in each other's way: the products are many and tiny
            white = (points - self.center) @ self.whitening
        along, near = white @ self.gap, np.einsum("ij,ij->i", white, white)
        return along, np.maximum(near - along**2 / (self.gap @ self.gap + np.finfo(float).tiny), 0.0), near

    def _cells(self, along: Array, across: Array) -> Array:
        row, column = (np.searchsorted(edges, x) for edges, x in zip(self.edges, (along, across), strict=True))
        return np.asarray(row * (len(self.edges[1]) + 1) + column)

    def scores(self, points: Array) -> Array:
        """(4, size), large near the first law; far - near = (far^2 - near^2)/(far + near)."""
        along, across, near = self._place(points)
        difference = 2 * along + self.gap @ self.gap
        far = np.maximum(near + difference, 0.0)
        distances = difference / (np.sqrt(far) + np.sqrt(near) + np.finfo(float).tiny)
        learned = self.ratios[self._cells(along, across)]
        return np.stack([along, distances, learned, self.ranks.normal(points) @ self.tilt])


@dataclass(frozen=True)
class _Event:
    """A score above its threshold, likelier under the first law; or below it, likelier under the second."""

    score: int
    threshold: float
    is_below: bool

    def hits(self, scores: Array) -> int:
        """How many of the points are in it."""
        above = int(np.count_nonzero(scores[self.score] > self.threshold))
        return scores.shape[1] - above if self.is_below else above


@dataclass(frozen=True)
class _Attack:
    """What to look at, decided before looking: an event for each measure."""

    view: _View
    events: dict[str, _Event]
    promise: tuple[float, ...]  # what the pilots themselves prove, for each measure

    def hits(self, points: Array) -> Array:
        """Number of points in each event."""
        scores = self.view.scores(points)
        return np.array([event.hits(scores) for event in self.events.values()])


def _attack(pilots: Pair, claimed: Guarantee) -> _Attack:
    """The events that prove most on one half of the pilots, as seen by what the other half taught."""
    (a_first, a_second), (b_first, b_second) = (np.array_split(pilot, 2) for pilot in pilots)
    view = _View.of((a_first, b_first))
    scores, measures = [view.scores(a_second), view.scores(b_second)], _measures(claimed)
    found = {name: _best_event(scores, measure) for name, measure in measures.items()}
    events = {name: event for name, (_, event) in found.items()}
    return _Attack(view, events, tuple(value for value, _ in found.values()))


def _best_event(scores: list[Array], measure: Measure) -> tuple[float, _Event]:
    candidates = []
    totals = np.array([s.shape[1] for s in scores])
    for index in range(len(scores[0])):
        pair = [np.sort(s[index]) for s in scores]
        cuts = np.quantile(np.concatenate(pair), LEVELS)
        below = np.stack([np.searchsorted(s, cuts, side="right") for s in pair])
        for is_below, hits in ((False, totals[:, None] - below), (True, below)):
            proved = _proved(measure, *_likelier_first(is_below, hits, totals), CHOICE_ERROR)
            best = int(np.argmax(proved))
            candidates.append((float(proved[best]), _Event(index, float(cuts[best]), is_below)))
    return max(candidates, key=lambda candidate: candidate[0])


def _likelier_first(is_below: bool, hits: Array, totals: Array) -> Pair:
    """Neighbours are symmetric: the one under which the event is likelier plays X."""
    return (hits[::-1], totals[::-1]) if is_below else (hits, totals)


def _conclude(attack: _Attack, hits: Array, totals: Array, claimed: Guarantee, error: float, draws: int) -> Audit:
    """The bounds that hits (2, events) among totals (2,) prove."""
    measures, lower = _measures(claimed), {}
    for column, (name, measure) in enumerate(measures.items()):
        counted = _likelier_first(attack.events[name].is_below, hits[:, column], totals)
        lower[name] = float(_proved(measure, *counted, error / len(measures)))
    epsilon = lower.pop("pure", lower.get("epsilon", 0.0))
    return Audit(claimed, lower, epsilon, 1 - error, draws)


# --- what users call -----------------------------------------------------------------------------------


def audit_draws(a: Any, b: Any, guarantee: Guarantee | str, *, confidence: float = 0.9999) -> Audit:
    """Audit any mechanism, from independent draws of its outputs under neighbouring data.

    Outputs are given by d coordinates of whatever kind. The first quarter of the draws choose the test.

    Parameters
    ----------
    a, b : array of shape (draws, d)
        Outputs under one data set, and under another one that differs by one replaced record; at least 100 of each.
    guarantee : Guarantee or str
        What is claimed of the mechanism.
    confidence : float
        The probability that all bounds are right.

    Returns
    -------
    Audit
        Lower bounds; `holds` says whether they leave the claim standing.

    Raises
    ------
    InputError
        If an argument is not as described.

    See Also
    --------
    audit : Of private means.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> draws = np.random.default_rng(0).normal(size=(2, 4000, 1))
    >>> rd.audit_draws(draws[0], draws[1] + 3.0, rd.GDP(1.0)).holds
    False
    """
    guarantee = as_guarantee(guarantee)
    samples, error = (_sample(a, "a"), _sample(b, "b")), _error(confidence)
    if samples[0].shape[1] != samples[1].shape[1]:
        raise InputError(f"b has {samples[1].shape[1]} coordinates, a has {samples[0].shape[1]}: pass equally many.")
    (a_pilot, a_rest), (b_pilot, b_rest) = (np.split(sample, [len(sample) // CHOOSING]) for sample in samples)
    attack = _attack((a_pilot, b_pilot), guarantee)
    hits, totals = np.stack([attack.hits(a_rest), attack.hits(b_rest)]), np.array([len(a_rest), len(b_rest)])
    return _conclude(attack, hits, totals, guarantee, error, min(map(len, samples)))


def audit(
    ball: Ball | BallMapping,
    n: int | None,
    guarantee: Guarantee | str,
    *,
    mechanism: MechanismName = "auto",
    statistic: StatisticName = "frechet-mean",
    second: SecondMoments = "auto",
    footpoint: Any = None,
    calibration: CalibrationName = "analytic",
    adapt: bool | Adaptation = False,
    groups: Any = None,
    draws: int | None = None,
    confidence: float = 0.9999,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """An empirical lower bound on what `private_mean` of n records in the ball leaks, on worst-case neighbours.

    Simulates releases of two neighbouring data sets (see `simulate`). A quarter of the draws choose the data sets and
    the test. Needs no data.

    Parameters
    ----------
    ball : Ball or mapping
        The public ball that holds the records; a mapping as in a YAML file, such as
        {"space": "spd-affine", "size": 3, "eigenvalues": [0.05, 5]}.
    n : int or None
        The number of records; with `groups`, that of people, or None.
    guarantee : Guarantee or str
        What is claimed, and what noise is made for.
    mechanism : str
        "auto" takes the one with the smallest predicted error; by name: "wrapped-laplace", "wrapped-gaussian",
        "riemannian-laplace", "kng", and as baselines "extrinsic-laplace", "extrinsic-gaussian" and
        "pointwise-laplace".
    statistic : str
        "frechet-mean", "tangent-mean": the mean of the logarithms at the ball's centre, or "summary": the mean within
        a `private_summary`, whose spread the test does not look at.
    second : {"auto", "full", "diagonal", "trace"}
        Which second moments the summary releases, as of `private_summary`; for statistic="summary" alone.
    footpoint : array of shape point_shape, optional
        A public point at which wrapped mechanisms add their noise; by default the ball's centre.
    calibration : str
        Of Gaussian noise for ApproxDP: "analytic", the least that is enough, or "classical", the textbook's.
    adapt : bool or Adaptation
        Whether, and how, the release adapts to its records.
    groups : sequence of ids, optional
        Of any number of records: neighbours then replace the last person, with all of their records, by one with
        another number of them.
    draws : int, optional
        Of each neighbour; by default 10^6, or 10^4 with `adapt`, which makes them one by one.
    confidence : float
        The probability that all bounds are right.
    seed : int
        Of the simulation.
    progress : callable, optional
        Told, again and again, how many draws are new: 2 `draws` in all.

    Returns
    -------
    Audit
        Lower bounds; `holds` says whether they leave the claim standing.

    Raises
    ------
    InputError
        If an argument is not as described.
    MechanismError
        If no mechanism, or not the one asked for, gives the guarantee in this ball.

    See Also
    --------
    audit_draws : Of any mechanism, from its outputs.

    Examples
    --------
    >>> import riemdp as rd
    >>> found = rd.audit(rd.Ball(rd.Euclidean(1), [0.0], 1.0), 10, rd.GDP(1.0), draws=10_000)
    >>> found.holds, 0.5 < found.lower["mu"] <= 1.0
    (True, True)
    """
    ball, guarantee = as_ball(ball), as_guarantee(guarantee)
    count = default_draws(adapt) if draws is None else draws
    ask: dict[str, Any] = {"mechanism": mechanism, "footpoint": footpoint, "calibration": calibration}
    ask |= {"statistic": with_second(statistic, second)}
    units = how_many(n, groups)
    prepared = rehearse(ball, units, guarantee, adapt=adapt, unit=unit_of(groups, None), **ask)
    pairs, facts = worst_neighbours(ball, units), _facts(prepared)
    if adapt is not False:
        pairs |= fooling_neighbours(ball, units, spare_outliers(ball, units, guarantee))

    def draw(X: Any, size: int, seed: int) -> Array:
        records = Bounded(X.records, ball, X.groups) if isinstance(X, Grouped) else Bounded(X, ball)
        return coordinates(simulated(prepared, records, size, seed, prepared.query.kind), ball)

    options: dict[str, Any] = {"draws": count, "confidence": confidence, "seed": seed, "progress": progress}
    data = pairs if groups is None else whole_people(pairs, np.bincount(identities(groups).codes))
    return replace(audit_neighbours(data, draw, guarantee, **options), **facts)


def default_draws(adapt: bool | Adaptation) -> int:
    """How many releases of each neighbour `audit` simulates if it is not told."""
    return 1_000_000 if adapt is False else 10_000


def _facts(prepared: Prepared) -> dict[str, Any]:
    """What is known of the mechanism beforehand; scale and sensitivity of an adaptive release are not."""
    if prepared.query.adapt is not False:
        return {"mechanism": prepared.query.mechanism, "adapt": True}
    best = prepared.how
    assert isinstance(best, Plan)
    return {"mechanism": best.mechanism, "scale": best.scale, "sensitivity": best.sensitivity}


def audit_neighbours(
    pairs: Mapping[str, tuple[Any, Any]],
    draw: Draw,
    guarantee: Guarantee,
    *,
    draws: int,
    confidence: float = 0.9999,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Audit any way to make releases, on given pairs of neighbouring data sets.

    `draw(X, size=..., seed=...)` gives that many independent releases, by finite coordinates (size, d) of whatever
    kind. A quarter of the draws choose the pair and the test: pilots of each pair, which are not counted.
    """
    count, error = whole_number(draws, "draws", LEAST_DRAWS), _error(confidence)
    width = max(math.prod(first.shape[1:]) for first, _ in pairs.values())
    seeds = np.random.default_rng(whole_number(seed, "seed", 0))
    simulator = _Simulator(draw, max(1, BLOCK // width), seeds, progress)
    each = min(count // CHOOSING // len(pairs), PILOT // width)
    attacks = {name: _attack(simulator.pilots(pair, each), guarantee) for name, pair in pairs.items()}
    name = max(attacks, key=lambda name: attacks[name].promise)
    total = count - each * len(pairs)
    hits = simulator.hits(pairs[name], attacks[name], total)
    audited = _conclude(attacks[name], hits, np.array([total, total]), guarantee, error, count)
    return replace(audited, neighbours=name)


def coordinates(points: Any, ball: Ball) -> Array:
    """Coordinates of releases at the ball's centre; one without any counts as the centre: an adversary may choose."""
    with np.errstate(all="ignore"):
        coords = ball.space.log_coords(ball.space.read(points, "points"), ball.inner_center)
    return np.where(np.isfinite(coords).all(axis=1, keepdims=True), coords, 0.0)


@dataclass(frozen=True)
class _Simulator:
    """Draws releases of given records, a block at a time, each from a seed of its own."""

    draw: Draw
    block: int
    seeds: np.random.Generator
    progress: Callable[[int], None] | None

    def pilots(self, pair: tuple[Any, Any], size: int) -> Pair:
        """`size` draws of each of the two neighbours, to choose a test by."""
        first, second = (np.concatenate(list(self.blocks(X, size))) for X in pair)
        return first, second

    def hits(self, pair: tuple[Any, Any], attack: _Attack, size: int) -> Array:
        """How many draws of each neighbour are in each event: (2, events)."""
        return np.array([sum(attack.hits(block) for block in self.blocks(X, size)) for X in pair])

    def blocks(self, X: Any, size: int) -> Iterator[Array]:
        """`size` draws of releases of X, a block at a time."""
        for start in range(0, size, self.block):
            new = min(self.block, size - start)
            yield self.draw(X, size=new, seed=int(self.seeds.integers(2**62)))
            if self.progress:
                self.progress(new)


def _sample(draws: Any, name: str) -> Array:
    array = finite_array(draws, name)
    if array.ndim not in (1, 2) or len(array) < LEAST_DRAWS or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}: pass at least {LEAST_DRAWS} draws, (draws, d).")
    if np.abs(array).max() > LARGEST_COORDINATE:
        raise InputError(f"{name} holds numbers beyond {LARGEST_COORDINATE:g}: pass smaller ones.")
    return array.reshape(len(array), -1)


def _error(confidence: Any) -> float:
    if not 0 < (number := finite_number(confidence, "confidence")) < 1:
        raise InputError(f"confidence = {number!r}: pass a number above 0 and below 1.")
    return 1 - number
