"""What the time of a release gives away: `python audits/timing.py`.

For each mechanism, in turns and in random order: all records at the centre of the ball, all at one point farther out,
..., all at its rim. The rank correlation (Spearman) of the distance of their mean from the centre with the processor
time of a draw, and of a whole release, says whether time depends on the private value; the audit of the times at both
ends, what an adversary with a perfect clock proves from one of them. Then whole releases of data sets of the same size
but of another kind: two clusters, anywhere in the ball, unusable records: the fewest and the most trials of rejection
samplers, on average, and the largest median time over the smallest (`data`).
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd
from product import RESULTS, SPACES, Array, Case
from riemdp.audit import audit_draws
from riemdp.distributions.kng import KNG
from riemdp.distributions.riemannian import IsotropicLaw
from riemdp.mechanisms import MECHANISMS
from riemdp.neighbours import worst_neighbours
from riemdp.privacy.bounded import Bounded

LEVELS = 5  # distances of the mean from the centre
CLAIMS = {"wrapped-gaussian": rd.GDP(1.0), "extrinsic-gaussian": rd.GDP(1.0)}
SIGNIFICANT = 1e-3


@dataclass(frozen=True)
class Row:
    """One mechanism on one space."""

    space: str
    mechanism: str
    draws: int
    draw_ms: float
    draw_correlation: float
    release_correlation: float
    chance: float  # of correlations: what chance exceeds with probability SIGNIFICANT
    draw_epsilon: float
    release_epsilon: float
    trials: tuple[float, float]  # fewest and most on average, among data sets; 0 where nothing can be rejected
    data: float


def measure(case: Case, draws: int) -> Row:
    """All of a row."""
    places = [_gathered(case, share) for share in np.linspace(0, 1, LEVELS)]
    draw, _ = _times(_one_draw(case), places, draws)
    release, _ = _times(partial(rd.private_mean, **case.options), places, draws)
    by_data, trials = _times(partial(rd.private_mean, **case.options), _data_sets(case), max(20, draws // 5))
    medians, counts = np.median(by_data, axis=1), trials.mean(axis=1)
    return Row(
        case.place,
        case.mechanism,
        draws,
        1e3 * float(np.median(draw)),
        _correlation(draw),
        _correlation(release),
        _chance(draws * LEVELS),
        _epsilon(draw),
        _epsilon(release),
        (float(counts.min()), float(counts.max())),
        float(medians.max() / medians.min()),
    )


def _gathered(case: Case, share: float) -> Array:
    """All records at one point, that share of the radius from the centre."""
    ball = case.ball
    coords = np.tile(share * ball.radius * np.eye(ball.space.dim)[0], (case.n, 1))
    return np.asarray(ball.space.write(ball.space.exp_coords(coords, ball.inner_center), ball.center))


def _one_draw(case: Case) -> Callable[[Array], None]:
    """A draw around the private value of the records, which is computed beforehand."""
    ball, known = case.ball, dict[bytes, Any]()
    law = case.query.law(case.query.plan())

    def draw(X: Array) -> None:
        if (key := X.tobytes()) not in known:
            known[key] = law.value(Bounded(X, ball))
        law.draw(known[key])

    return draw


def _times(task: Callable[[Array], Any], sets: list[Array], draws: int) -> tuple[Array, Array]:
    """Seconds of processor time, (levels, draws), and numbers of trials."""
    for X in sets * 2:
        task(X)  # compiles, loads, fills caches
    times, trials = np.zeros((2, len(sets), draws))
    rng = np.random.default_rng(0)
    for i in range(draws):
        for level in rng.permutation(len(sets)):
            with _counted() as count:
                start = time.process_time_ns()
                task(sets[level])
                times[level, i] = (time.process_time_ns() - start) * 1e-9
            trials[level, i] = count[0]
    return np.maximum(times, 1e-9), trials


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Trials of the two rejection samplers, while it is open."""
    count, outcome, sample = [0], IsotropicLaw._outcome, KNG.sample

    def counted_outcome(self: Any, tape: Any) -> int:
        count[0] += 1
        return outcome(self, tape)

    def counted_sample(self: Any, size: int, source: Any) -> Array:
        points = sample(self, size, source)
        count[0] += self._trials
        return points

    IsotropicLaw._outcome, KNG.sample = counted_outcome, counted_sample  # type: ignore[method-assign]
    try:
        yield count
    finally:
        IsotropicLaw._outcome, KNG.sample = outcome, sample  # type: ignore[method-assign]


def _correlation(values: Array) -> float:
    """Of the level with the value, by ranks."""
    from scipy.stats import spearmanr

    if np.ptp(values) == 0:
        return 0.0
    levels = np.repeat(np.arange(len(values)), values.shape[1])
    return float(spearmanr(levels, values.ravel()).statistic)


def _chance(count: int) -> float:
    from scipy.special import ndtri

    return float(-ndtri(SIGNIFICANT / 2) / math.sqrt(count - 1))


def _epsilon(times: Array) -> float:
    """What the time of one release proves, at the centre or at the rim."""
    return audit_draws(np.log(times[0]), np.log(times[-1]), rd.PureDP(1.0), confidence=1 - SIGNIFICANT).epsilon_lower


def _data_sets(case: Case) -> list[Array]:
    """Records at the centre, at the rim, in two clusters, anywhere, unusable."""
    clusters = worst_neighbours(case.ball, case.n)["clusters"][0]
    return [_gathered(case, 0.0), _gathered(case, 1.0), clusters, _anywhere(case), np.full_like(clusters, np.nan)]


def _anywhere(case: Case) -> Array:
    ball, rng = case.ball, np.random.default_rng(0)
    coords = rng.standard_normal((case.n, ball.space.dim))
    coords *= ball.radius * rng.random((case.n, 1)) / np.linalg.norm(coords, axis=1, keepdims=True)
    return np.asarray(ball.space.write(ball.space.exp_coords(coords, ball.inner_center), ball.center))


def table(rows: list[Row]) -> str:
    """Markdown."""
    names = ("space", "mechanism", "draw, ms", "correlation: draw", "release", "chance", "epsilon: draw", "release")
    heads = " | ".join([*names, "trials", "data"])
    return "\n".join([f"| {heads} |", "|" + "---|" * len(heads.split("|")), *map(_line, rows)])


def _line(row: Row) -> str:
    correlations = [f"{x:+.2f}" for x in (row.draw_correlation, row.release_correlation)]
    epsilons = [f"{x:.2f}" for x in (row.draw_epsilon, row.release_epsilon)]
    trials = f"{row.trials[0]:.2f} to {row.trials[1]:.2f}" if row.trials[1] else "none"
    cells = [row.space, row.mechanism, f"{row.draw_ms:.2f}", *correlations, f"{row.chance:.2f}", *epsilons]
    return "| " + " | ".join([*cells, trials, f"{row.data:.2f}"]) + " |"


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one space, few draws")
    parser.add_argument("--draws", type=int, default=1000, help="at each of five distances")
    parser.add_argument("--places", nargs="*", default=list(SPACES), choices=list(SPACES), help="spaces")
    parser.add_argument("--out", type=Path, default=RESULTS / "timing.json", help="JSON file to write")
    options = parser.parse_args()
    if options.quick:
        options.draws, options.places = 100, ["circle"]
    cases = [Case(place, name, CLAIMS.get(name, rd.PureDP(1.0))) for place in options.places for name in MECHANISMS]
    rows = list[Row]()
    for case in (case for case in cases if case.exists):
        rows.append(measure(case, options.draws))
        print(_line(rows[-1]), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    options.out.with_suffix(".md").write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
