"""Means of the newer spaces beside the fastest peer with the same mean, in turns: `python benchmarks/spaces.py`.

Both are asked for an error of 1e-9, and their means are compared. geomstats takes rotations as vectors, in which it is
a hundred times faster than as matrices, and angles as points of circles, which are made before the clock starts.
RigidMotions has the mean of geomstats' SpecialEuclidean with its canonical left-invariant metric: that of the rotations
and that of the translations. SciPy's `Rotation.mean` is another mean (chordal, one pass): shown, not compared with.

Means of few matrices come twice: in a process that has loaded no compiled code yet, which such means do not wait for,
and with all others in one that has, as after a first mean of many.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from scipy.spatial.transform import Rotation

import riemdp as rd
from measure import fresh_process, interleaved
from peers import ACCURACY, geomstats_fit, pyriemann_loosest

FEW, SOME, MANY = 30, 1000, 10**5
AGREE = 10 * ACCURACY  # geomstats stops by the gradient's norm, which is not quite the distance
RESULTS = Path(__file__).parent / "results" / "spaces.json"
Array = np.ndarray[Any, np.dtype[Any]]
Mean = Callable[[], Array]


@dataclass(frozen=True)
class Case:
    """Records, and how a peer finds their mean, as a point of the same space."""

    what: str
    space: rd.Space
    records: Array
    peer: str
    theirs: Mean
    as_point: Callable[[Any], Array] = field(default=np.asarray)
    is_slow: bool = False  # the peer takes up to a minute: one run is enough


@dataclass(frozen=True)
class Row:
    """Milliseconds, the ratio, and how far apart the two means are."""

    what: str
    n: int
    riemdp: float
    peer: str
    theirs: float
    ratio: float
    apart: float


def rng() -> np.random.Generator:
    """The same records in every run."""
    return np.random.default_rng(0)


# --- cases ---------------------------------------------------------------------------------------------------------


def log_cholesky(n: int, k: int) -> Case:
    from pyriemann.geometry.mean import mean_logchol

    a = rng().standard_normal((n, k, 2 * k))
    x = a @ a.swapaxes(1, 2) / k
    name = f"{k} x {k} matrices, log-Cholesky"
    return Case(name, rd.SPDLogCholesky(k), x, "pyRiemann", lambda: mean_logchol(x))


def hermitian(n: int, k: int, affine: bool) -> Case:
    from pyriemann.geometry.mean import mean_logeuclid

    space = rd.HPDAffine(k) if affine else rd.HPDLogEuclidean(k)
    x = space.random_point(n, 0)
    theirs = pyriemann_loosest(space, x, rd.frechet_mean(x, space).point) if affine else lambda: mean_logeuclid(x)
    metric = "affine-invariant" if affine else "log-Euclidean"
    return Case(f"{k} x {k} Hermitian matrices, {metric}", space, x, "pyRiemann", theirs)


def turns(n: int) -> Rotation:
    """Around the identity, half of them within half a radian."""
    return Rotation.from_rotvec(0.3 * rng().standard_normal((n, 3)))


def rotations(n: int) -> Case:
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal

    theirs = geomstats_fit(SpecialOrthogonal(3, point_type="vector"), turns(n).as_rotvec())
    back = lambda found: Rotation.from_rotvec(found).as_matrix()  # noqa: E731
    return Case("rotations", rd.Rotations(), turns(n).as_matrix(), "geomstats", theirs, back)


def rigid_motions(n: int) -> Case:
    from geomstats.geometry.special_euclidean import SpecialEuclidean

    x = np.tile(np.eye(4), (n, 1, 1))
    x[:, :3, :3], x[:, :3, 3] = turns(n).as_matrix(), rng().standard_normal((n, 3))
    return Case("rigid motions", rd.RigidMotions(1.0), x, "geomstats", geomstats_fit(SpecialEuclidean(3), x))


def as_in_geomstats(what: str, space: rd.Space, x: Array) -> Case:
    return Case(what, space, x, "geomstats", geomstats_fit(rd.to_geomstats(space), x))


def subspaces(n: int) -> Case:
    return as_in_geomstats("planes in R^6", rd.Grassmann(6, 2), rd.Grassmann(6, 2).random_point(n, 0))


def correlations(n: int, k: int) -> Case:
    return as_in_geomstats(f"{k} x {k} correlation matrices", rd.Correlations(k), rd.Correlations(k).random_point(n, 0))


def simplex(n: int, k: int) -> Case:
    return as_in_geomstats(f"shares of {k} categories", rd.Simplex(k), rng().dirichlet(np.full(k, 5.0), n))


def poincare(n: int, d: int) -> Case:
    space = rd.Hyperbolic(d, model="poincare")
    return as_in_geomstats(f"points of the Poincaré ball, {d} dimensions", space, space.random_point(n, 0))


def torus(n: int, d: int) -> Case:
    """Angle by angle, by geomstats' mean in closed form."""
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.learning.frechet_mean import CircleMean

    angles = rng().uniform(-0.8, 0.8, (n, d))
    points, circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1), CircleMean(Hypersphere(1))
    means = lambda: np.array([circle.fit(points[:, j]).estimate_ for j in range(d)])  # noqa: E731
    name = f"{d} angles" if d > 1 else "single angles"
    back = lambda found: np.arctan2(found[:, 1], found[:, 0])  # noqa: E731
    return Case(name, rd.Torus(d), angles, "geomstats", means, back)


def few_matrices(few: int, some: int) -> Iterator[Case]:
    """Too few for compiled code, unless it is loaded already."""
    for k in (2, 3):
        yield from (log_cholesky(n, k) for n in (few, some))
    yield log_cholesky(few, 9)
    for affine in (False, True):
        yield from (hermitian(n, 3, affine) for n in (few, some))
        yield hermitian(few, 8, affine)


def load_compiled_code() -> None:
    """By means of many."""
    for case in (log_cholesky(2000, 9), hermitian(2000, 3, affine=True)):
        rd.frechet_mean(case.records, case.space)


def cases(few: int, some: int, many: int) -> Iterator[Case]:
    """All of them; no more records than the peer can do in seconds."""
    for k in (2, 3):
        yield from (log_cholesky(n, k) for n in (few, some, many))
    yield from (log_cholesky(n, 9) for n in (few, some, many // 10))
    for affine in (False, True):
        yield from (hermitian(n, 3, affine) for n in (few, some, many))
        yield from (hermitian(n, 8, affine) for n in (few, some, many // 10))
    yield from (correlations(n, 5) for n in (few, some, many))
    yield from (rotations(n) for n in (few, some, many))
    for slow in (rigid_motions, subspaces):
        yield from (slow(few), replace(slow(max(few, some // 10)), is_slow=True))
    for d in (1, 2):
        yield from (torus(n, d) for n in (few, some, many))
    yield from (simplex(n, 5) for n in (few, some, many))
    yield from (poincare(few, 2), poincare(some, 2), replace(poincare(many, 2), is_slow=True))


# --- measuring and showing -----------------------------------------------------------------------------------------


def measured(case: Case, budget: float) -> Row:
    """Both, in turns; an error if they do not find the same mean."""
    ours = lambda: rd.frechet_mean(case.records, case.space, tol=ACCURACY).point  # noqa: E731
    runs, pause = (1, 0.0) if case.is_slow else (9, 0.1)
    found = interleaved({"riemdp": ours, "peer": case.theirs}, budget, max_runs=runs, pause=pause)
    apart = float(case.space.dist(found["riemdp"].result, case.as_point(found["peer"].result)))
    if not apart <= AGREE:
        raise ArithmeticError(f"{case.what}, {len(case.records)}: the means are {apart:.1e} apart")
    mine, theirs = found["riemdp"].seconds, found["peer"].seconds
    row = Row(case.what, len(case.records), 1e3 * mine, case.peer, 1e3 * theirs, theirs / mine, apart)
    print(f"{row.n:,} {row.what}: {row.ratio:.3g}x", flush=True)
    return row


def table(rows: list[Row]) -> Table:
    """For readers."""
    found = Table(box=MARKDOWN)
    found.add_column("mean of", no_wrap=True)
    for name in ("riemdp, ms", "the peer, ms", "peer", "apart", "ratio"):
        found.add_column(name, justify="right")
    for row in rows:
        times = f"{row.riemdp:.3g}", f"{row.theirs:.3g}" if row.theirs < 1000 else f"{row.theirs:.0f}"
        ratio = f"{row.ratio:.2f}" if row.ratio < 10 else f"{row.ratio:.0f}"
        found.add_row(f"{row.n:,} {row.what}", *times, row.peer, f"{row.apart:.0e}", ratio)
    return found


FRESH = """
import time, numpy as np
{load}
a = np.random.default_rng(0).standard_normal(({n}, 2, 4))
x = a @ a.swapaxes(1, 2) / 2
start = time.perf_counter()
{call}
print(time.perf_counter() - start)
"""
FIRST_CALLS = {
    "riemdp": ("import riemdp as rd; space = rd.SPDLogCholesky(2)", "rd.frechet_mean(x, space)"),
    "pyRiemann": ("from pyriemann.geometry.mean import mean_logchol", "mean_logchol(x)"),
}


def first_calls(n: int, runs: int) -> str:
    """What the first mean of a process takes after the import: of 2 x 2 matrices, log-Cholesky."""
    seconds = {
        who: fresh_process(FRESH.format(load=load, call=call, n=n), runs) for who, (load, call) in FIRST_CALLS.items()
    }
    times = ", ".join(f"{who} {1e3 * value:.2f} ms" for who, value in seconds.items())
    return f"first call of a process, {n:,} 2 x 2 matrices, log-Cholesky: {times}"


def chordal(n: int, budget: float) -> str:
    """Our mean of rotations, and SciPy's, which is another one."""
    x, space = turns(n).as_matrix(), rd.Rotations()
    both = {"riemdp": lambda: rd.frechet_mean(x, space, tol=ACCURACY), "SciPy": turns(n).mean}
    ours, theirs = (timing.seconds for timing in interleaved(both, budget, max_runs=15).values())
    return f"{n:,} rotations: riemdp {1e3 * ours:.2f} ms, {ours / theirs:.1f} times as long as SciPy's chordal mean"


def main() -> None:
    """All of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each contestant")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one run: tests this script")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file to write, a .md beside it")
    options = parser.parse_args()
    sizes, budget = ((5, 6, 70), 0.0) if options.quick else ((FEW, SOME, MANY), options.budget)
    logging.disable(logging.WARNING)  # of the peers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = [measured(case, budget) for case in few_matrices(*sizes[:2])]
        load_compiled_code()
        rows = [measured(case, budget) for case in cases(*sizes)]
        lines = [chordal(sizes[2], budget)]
    lines += [first_calls(n, runs=1 if options.quick else 5) for n in (FEW, SOME, 10**4)[: 1 if options.quick else 3]]
    console = Console(width=150)
    console.print(table(rows), "Before compiled code is loaded:", table(first), *lines, sep="\n", highlight=False)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found = {"means": [asdict(row) for row in rows], "first": [asdict(row) for row in first], "beside": lines}
    options.out.write_text(json.dumps(found, indent=2) + "\n")
    with options.out.with_suffix(".md").open("w") as markdown:
        Console(file=markdown, width=150).print(table(rows), table(first))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
