"""Data sets as bad as float64 allows, on every space and at every scale: `python audits/torture.py`.

A *setting* is public: a space, a ball of a radius between the least and the largest, a number of records, a guarantee
and how to release: a mean, or one of `entries.py`. `rehearse`, or a release of records without fault, accepts it or
refuses it with one sentence. What it accepts is then released for many data sets, random and adversarial: none may
raise, warn, take too long, or give anything but numbers that can be saved and read again. A failure is reported with
the seed of its setting and the name of its data, which make it again.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

import riemdp as rd
from entries import ENTRIES, Case
from riemdp.errors import RiemdpError
from riemdp.manifolds import package_spaces
from riemdp.manifolds.capabilities import CAPABILITIES
from riemdp.mechanisms import MECHANISMS
from riemdp.statistics.adaptation import FOOTPOINT, Adaptation
from riemdp.statistics.mean import rehearse

Array = np.ndarray[Any, np.dtype[Any]]

SPACES: list[rd.Space] = [
    *map(rd.Euclidean, (1, 3, 40)),
    *map(rd.Sphere, (1, 2, 6)),
    *map(rd.Hyperbolic, (1, 2, 5)),
    *map(rd.SPDAffine, (1, 2, 3, 6)),
    *map(rd.SPDLogEuclidean, (1, 2, 3, 6)),
    *map(rd.KendallShapes, (3, 4, 10)),
    rd.Sphere(2, curvature=1e-4),
    rd.Sphere(2, curvature=1e8),
    rd.Hyperbolic(3, curvature=-9.0),
    rd.Hyperbolic(2, curvature=-1e-6),
    rd.Product(rd.Sphere(2), rd.Euclidean(1)),
    rd.Hyperbolic(2, model="poincare"),
    rd.Product(rd.SPDLogEuclidean(2), rd.Hyperbolic(2)),
    rd.Product(rd.KendallShapes(3), rd.SPDAffine(2)),
]
# A space that nobody has thought of above takes part with its examples.
SPACES += [space for kind in package_spaces() if kind not in set(map(type, SPACES)) for space in kind.examples()]
SIZES = [1, 1, 2, 2, 3, 5, 17, 64, 300]
LARGEST = 2**14  # records in one block, where sums are longest; now and then
STRENGTHS = [1e-30, 1e-18, 1e-9, 1e-3, 0.05, 0.2, 1.0, 1.0, 3.0, 20.0, 900.0, 1e4, 1e12, 1e40, 1e60]
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e-310, 1e-300, -1e-160, 1e154, 1e200, -1e300, 1e308, -1.7e308, 1.0]
MEAN = "mean"
PART_OF_MEANS = 0.4  # of all settings; the other entries have equal parts of the rest
BAD_POINTS = 8  # of those above in a data set that is otherwise fine
SECONDS = 300  # for one release: rejection may take 1e5 trials on average, a minute or so, by decision


@dataclass(frozen=True)
class Setting:
    """What is public about a release."""

    seed: int
    ball: rd.Ball
    n: int
    guarantee: rd.Guarantee
    options: dict[str, Any]
    entry: str = MEAN

    def __str__(self) -> str:
        asked = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        where = f"{self.ball.space!r}, radius {self.ball.radius!r}"
        return f"setting {self.seed}: {self.entry}, {where}, n = {self.n}, {self.guarantee!r}, {asked}"


def setting(seed: int, spaces: list[rd.Space] = SPACES) -> Setting | None:
    """The setting with this seed; None if there is no such ball."""
    rng = np.random.default_rng(seed)
    space = spaces[int(rng.integers(len(spaces)))]
    n = LARGEST if rng.random() < 0.02 else int(rng.choice(SIZES))
    try:
        ball = rd.Ball(space, _center(space, rng), _radius(space, n, rng))
        guarantee = _guarantee(rng)
    except RiemdpError:
        return None
    if rng.random() < PART_OF_MEANS:
        return Setting(seed, ball, n, guarantee, _options(ball, rng))
    return Setting(seed, ball, n, guarantee, {}, str(rng.choice(list(ENTRIES))))


def _center(space: rd.Space, rng: np.random.Generator) -> Array:
    """The origin, any point, or one far away: at the end of float64 if it must be."""
    kind = rng.random()
    if kind < 0.3:
        return space.origin
    point = space.random_point(1, rng)[0]
    if kind < 0.75 or np.isfinite(space.injectivity_radius):  # there is no far away
        return point
    size = 10.0 ** rng.uniform(-300, 300)
    if space.contains(point * size):
        return point * size
    direction = rng.standard_normal(space.dim) * min(size, 1e3) / np.sqrt(space.dim)
    return space.exp(space.from_coordinates(direction, space.origin), space.origin)


def _radius(space: rd.Space, n: int, rng: np.random.Generator) -> float:
    """Between the least and the largest: usual ones, the ends, just within what is refused, and any other."""
    top = min(space.uniqueness_radius, 1e100)
    kind = rng.random()
    if kind < 0.15:
        least, most = _accepted_radii(space, n, top)
        return float(rng.choice([least, 1.001 * least, 2 * least, most, 0.999 * most]))
    if kind < 0.5:
        return float(min(1.0, top) * rng.choice([0.01, 0.1, 0.3, 0.5, 0.7, 0.89]))
    if kind < 0.65:
        return float(rng.choice([1e-100, 1e-8, 0.9 * top, top * (1 - 1e-9), min(top, 30.0), min(top, 700.0)]))
    return float(10.0 ** rng.uniform(-100, np.log10(top)))


@cache
def _accepted_radii(space: rd.Space, n: int, top: float) -> tuple[float, float]:
    """The least and the largest radius in which the mean of n records can be computed, found by bisection."""
    good = min(0.3, 0.3 * top)
    ends = []
    for bad in (1e-100, 0.999999 * top):
        inside, outside = np.log([good, bad]).tolist()
        for _ in range(40):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if _is_computable(space, n, np.exp(middle)) else (inside, middle)
        ends.append(float(np.exp(inside)))
    return ends[0], ends[1]


def _is_computable(space: rd.Space, n: int, radius: float) -> bool:
    try:
        rehearse(rd.Ball(space, space.origin, float(radius)), n, rd.GDP(1.0), statistic=mean_of(space))
    except RiemdpError:
        return False
    return True


def mean_of(space: rd.Space) -> str:
    """The mean that a space has: one with nothing but its core, that of logs."""
    return "frechet-mean" if any(map(space.has, CAPABILITIES)) else "tangent-mean"


def _guarantee(rng: np.random.Generator) -> rd.Guarantee:
    kinds: list[Callable[[float], rd.Guarantee]] = [
        rd.PureDP, rd.PureDP, rd.GDP, rd.GDP, rd.ZCDP, partial(rd.RDP, 2.0), lambda epsilon: rd.ApproxDP(epsilon, 1e-6)
    ]  # fmt: skip
    return kinds[int(rng.integers(len(kinds)))](float(rng.choice(STRENGTHS)))


def _options(ball: rd.Ball, rng: np.random.Generator) -> dict[str, Any]:
    """How to release: any mechanism, both statistics, adaptive or not, from the centre or another footpoint."""
    options: dict[str, Any] = {"mechanism": str(rng.choice(["auto", *MECHANISMS]))}
    if rng.random() < 0.2:
        options["statistic"] = "tangent-mean"
    if rng.random() < 0.2:
        options["adapt"] = [True, FOOTPOINT, Adaptation(rounds=1), Adaptation(rounds=4)][int(rng.integers(4))]
    elif rng.random() < 0.15:
        coords = ball.radius * rng.random() * _directions(1, ball.space.dim, rng)
        with np.errstate(all="ignore"):
            options["footpoint"] = ball.space.write(ball.space.exp_coords(coords, ball.inner_center)[0], ball.center)
    return options


def _directions(n: int, dim: int, rng: np.random.Generator) -> Array:
    normal = rng.standard_normal((n, dim))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


# --- data sets -------------------------------------------------------------------------------------------------------


def _points(ball: rd.Ball, coords: Array) -> Array:
    """Records with these coordinates at the centre, whatever float64 makes of them."""
    with np.errstate(all="ignore"):
        return np.asarray(ball.space.write(ball.space.exp_coords(coords, ball.inner_center), ball.center))


def _cluster(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    """All records so near to one generic point of the ball that their differences are roundings, or nearly."""
    place = ball.radius * rng.random() * _directions(1, ball.space.dim, rng)
    return _points(ball, place + ball.radius * 10.0 ** rng.uniform(-18, -1) * _directions(n, ball.space.dim, rng))


def _rim(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    return _points(ball, ball.radius * _directions(n, ball.space.dim, rng))


def _poles(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    """Two opposite points of the rim, one of them with one record or with half of them."""
    coords = np.repeat(ball.radius * _directions(1, ball.space.dim, rng), n, axis=0)
    coords[: n // 2 if rng.random() < 0.5 else 1] *= -1
    return _points(ball, coords)


def _outside(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    return _points(ball, ball.radius * 10.0 ** rng.uniform(0, 6, (n, 1)) * _directions(n, ball.space.dim, rng))


def _equal(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    return np.repeat(_cluster(ball, 1, rng), n, axis=0)


def _anywhere(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    return ball.space.random_point(n, rng)


def _noise(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    """Numbers of all sizes that are no points; matrices are not symmetric."""
    shape = ball.space.point_shape
    return np.asarray(rng.standard_normal((n, *shape)) * 10.0 ** rng.uniform(-320, 300, (n, *[1] * len(shape))))


def _one_number(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    return np.repeat(rng.choice(ODD, n), int(np.prod(ball.space.point_shape))).reshape(n, *ball.space.point_shape)


def _odd_cells(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    """Good records, a cell of some of which is not."""
    X = np.array(_cluster(ball, n, rng))
    flat = X.reshape(n, -1)
    for i in rng.integers(n, size=min(n, BAD_POINTS)):
        flat[i, rng.integers(flat.shape[1])] = rng.choice(ODD)
    return X


def _stretched(ball: rd.Ball, n: int, rng: np.random.Generator) -> Array:
    """Points times anything: another size, another sign, the size of denormals."""
    kinds, shape = [-1.0, 5e-324, 1e-300, 1e-8, 0.0, 1 + 1e-8, 1e8, 1e300], ball.space.point_shape
    sizes = rng.choice(kinds, (n, *[1] * len(shape)))
    with np.errstate(all="ignore"):
        return np.asarray(_rim(ball, n, rng) * sizes)


DATA: dict[str, Callable[[rd.Ball, int, np.random.Generator], Array]] = {
    make.__name__.strip("_"): make
    for make in (_cluster, _rim, _poles, _outside, _equal, _anywhere, _noise, _one_number, _odd_cells, _stretched)
}


def data_set(asked: Setting, number: int) -> tuple[str, Array]:
    """The data set of that number: each kind in turn, then each again with other random numbers."""
    name = list(DATA)[number % len(DATA)]
    return f"{name} {number}", DATA[name](asked.ball, asked.n, np.random.default_rng([asked.seed, number]))


# --- what must hold -----------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What happened so far."""

    settings: int = 0
    refused: int = 0
    releases: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def summary(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "settings": self.settings,
            "refused": self.refused,
            "releases": sum(self.releases.values()),
            "by": dict(sorted(self.releases.items())),
            "failures": self.failures,
            "slowest": self.slowest,
        }


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError here after so long."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_accepted(asked: Setting) -> bool:
    """Whether the setting is accepted; it may be refused with a RiemdpError of one line, and in no other way."""
    try:
        if asked.entry == MEAN:
            rehearse(asked.ball, asked.n, asked.guarantee, **asked.options)
        else:
            _enter(asked, np.repeat(asked.ball.center[None], asked.n, axis=0), None)
    except RiemdpError as refusal:
        if "\n" in str(refusal):
            raise AssertionError("not one line") from None
        return False
    return True


def _enter(asked: Setting, X: Array, number: int | None) -> rd.Release:
    """The release of one of the entries, with labels or times of that number; without a number, with faultless ones."""
    private = None if number is None else np.random.default_rng([asked.seed, number, 1])
    case = Case(X, asked.ball, asked.guarantee, np.random.default_rng([asked.seed, 2]), private)
    return ENTRIES[asked.entry](case)


def release_one(asked: Setting, X: Array, number: int = 0) -> rd.Release:
    """The release, looked at: a point, or other numbers, with public ones that can be saved and read again."""
    is_mean = asked.entry == MEAN
    made = rd.private_mean(X, asked.ball, asked.guarantee, **asked.options) if is_mean else _enter(asked, X, number)
    if made.kind == "point":
        assert made.space.contains(made.value).all(), "the value is no point"
    again = rd.Release.from_dict(json.loads(json.dumps(made.to_dict())))
    assert all(np.isfinite(part).all() for part in made.value), "the value is not finite"
    assert np.allclose(again.value, made.value, rtol=1e-9, atol=0), "saved, it is another"
    return made


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """All of them, but for those that public numbers alone decide: most settings here are worthless."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", rd.UselessRelease)
        warnings.simplefilter("ignore", rd.NoAdaptation)
        yield


def torture(asked: Setting, sets: int, tally: Tally) -> None:
    """So many data sets of one setting."""
    tally.settings += 1
    place = "rehearse"
    try:
        with _within(SECONDS), warnings_as_errors():
            if not is_accepted(asked):
                tally.refused += 1
                return
        for number in range(sets if asked.n < LARGEST else min(sets, len(DATA))):
            place, X = data_set(asked, number)
            started = time.monotonic()
            with _within(SECONDS), warnings_as_errors():
                made = release_one(asked, X, number)
            how = f"{asked.entry}, {made.mechanism}{', adaptive' if made.stages else ''}"
            kind = f"{type(asked.ball.space).__name__}, {how}"
            tally.releases[kind] += 1
            tally.slowest = max(tally.slowest, (round(time.monotonic() - started, 2), f"{asked}; {place}"))
    except Exception as problem:  # whatever it is, it is a finding
        last = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        tally.failures.append(f"{asked}; {place}: {type(problem).__name__}: {problem} ({where})")


def run(first: int, cases: int, sets: int, minutes: float, log: Callable[[str], None]) -> Tally:
    """Settings from the first seed on, until so many data sets are released or the time is over."""
    tally, end = Tally(), time.monotonic() + 60 * minutes
    for seed in range(first, sys.maxsize):
        if sum(tally.releases.values()) >= cases or time.monotonic() > end:
            return tally
        failed = len(tally.failures)
        if (asked := setting(seed)) is not None:
            torture(asked, sets, tally)
        for line in tally.failures[failed:]:
            log(line)
    return tally


def main() -> int:
    """From the command line; 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="seed of the first setting")
    parser.add_argument("--cases", type=int, default=100_000, help="data sets to release")
    parser.add_argument("--sets", type=int, default=30, help="data sets of each setting")
    parser.add_argument("--minutes", type=float, default=600.0, help="at most so long")
    asked = parser.parse_args()
    tally = run(asked.first, asked.cases, asked.sets, asked.minutes, lambda line: print(line, flush=True))
    print(json.dumps(tally.summary(), indent=1))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
