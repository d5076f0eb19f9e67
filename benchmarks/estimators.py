"""Private means side by side: ours, PLAN, instance-optimal, CoinPress. `python benchmarks/estimators.py`

On PLAN's settings A, B and C, on B and C in random axes, and on real matrices and shapes (problems.py); others are
rewritten from their papers (experiments/baselines.py). Every estimator sees the same records. Ours is simulated, which
has the law of a release and can be seeded; the time is that of a release. The guarantee is rho-zCDP, on real records
ours is sqrt(2 rho)-GDP, which implies it. CoinPress is told the largest variance, PLAN searches as sharply as in its
published figures ("PLAN") or as rho pays for ("PLAN, careful").

Results are added to those that --out has; page and picture are made of these alone (--page). Published figures come
from plan_published_errors.csv in the folder of data (RIEMDP_DATA, or shared/data beside the repository).
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd
from estimators_page import CURVED, ORACLE, OURS, Verdict, show, verdicts, write_page
from problems import PUBLISHED, REAL, Array, Curved, Generator, Problem, Sample, baselines, real, simulated

OUT = Path(__file__).parent / "estimators.json"
Results = dict[str, dict[str, Any]]
Estimator = Callable[[Problem, Sample, Generator], Array]
LARGE = 5  # runs in more than 512 dimensions


# --- estimators ----------------------------------------------------------------------------------------------


def _ball(sample: Sample) -> rd.Ball:
    d = sample.X.shape[1]
    return rd.Ball(rd.Euclidean(d), np.zeros(d), sample.radius)


def ours(problem: Problem, sample: Sample, rng: Generator) -> Array:
    """A draw of what private_mean(adapt=True) would release."""
    return simulated_mean(sample.X, _ball(sample), problem, rng)


def simulated_mean(records: Array, ball: rd.Ball, problem: Problem, rng: Generator) -> Array:
    seed = int(rng.integers(2**62))
    return np.asarray(rd.simulate(records, ball, problem.guarantee, adapt=True, size=1, seed=seed))[0]


def coinpress(problem: Problem, sample: Sample, rng: Generator) -> Array:
    """Told the largest variance."""
    spread = math.sqrt(sample.eigenvalues.max())
    return baselines.coinpress(sample.X, sample.radius, problem.rho, rng, spread)


def oracle(problem: Problem, sample: Sample, rng: Generator) -> Array:
    """The mean of these records with the oracle's noise: what luck they had is the same as that of the others."""
    (n, d), spreads = sample.X.shape, np.sqrt(sample.eigenvalues)
    noise = baselines.oracle_noise(sample.eigenvalues, n, problem.rho) * np.sqrt(spreads / spreads.sum())
    drawn = noise * rng.standard_normal(d)
    return np.asarray(sample.X.mean(axis=0) + (drawn if sample.axes is None else drawn @ sample.axes))


ESTIMATORS: dict[str, Estimator] = {
    OURS: ours,
    "PLAN": lambda p, s, rng: baselines.plan(s.X, s.bound, p.rho, rng, baselines.PUBLISHED),
    "PLAN, careful": lambda p, s, rng: baselines.plan(s.X, s.bound, p.rho, rng),
    "medians": lambda p, s, rng: baselines.medians(s.X, s.bound, p.rho / 4, rng, baselines.PUBLISHED),
    "instance-optimal": lambda p, s, rng: baselines.instance_optimal(s.X, s.length, p.rho, rng),
    "CoinPress": coinpress,
    "empirical": lambda _, s, __: s.X.mean(axis=0),
    ORACLE: oracle,
}


def seconds_of_a_release(problem: Problem, records: Array, ball: rd.Ball) -> float:
    """Once, with exact noise: processor time, in which other jobs of the machine do not count."""
    start = time.process_time()
    rd.private_mean(records, ball, problem.guarantee, adapt=True)
    return time.process_time() - start


# --- runs ----------------------------------------------------------------------------------------------------


def seeded(*words: str | int) -> Generator:
    """The same numbers for the same words, in every version of Python."""
    return np.random.default_rng([zlib.crc32(str(word).encode()) for word in words])


def sample_of(problem: Problem, run: int) -> Sample:
    """The same records for all estimators, and for the same problem in random axes."""
    return problem.draw(seeded(problem.key.removeprefix("rotated "), run))


def measured(problem: Problem, name: str, runs: int) -> dict[str, float]:
    """Errors of one estimator; beside those to a population's mean, that of the mean of the same records."""
    errors, plain, seconds = [], [], []
    for run in range(runs):
        sample = sample_of(problem, run)
        start = time.process_time()
        estimate = ESTIMATORS[name](problem, sample, seeded(problem.key, name, run))
        seconds.append(time.process_time() - start)
        errors.append(sample.error(estimate))
        plain.append(sample.error(sample.X.mean(axis=0)))
    taken = seconds_of_a_release(problem, sample.X, _ball(sample)) if name == OURS else float(np.median(seconds))
    return row(errors, taken) | ({"empirical": _rounded(np.mean(plain))} if problem.cell else {})


def measured_on(curved: Curved, problem: Problem, runs: int) -> dict[str, float]:
    """Distances to the Fréchet mean."""
    draws = [simulated_mean(curved.records, curved.ball, problem, seeded(problem.key, run)) for run in range(runs)]
    distances = curved.ball.space.dist(np.array(draws), curved.mean)
    return row(distances.tolist(), seconds_of_a_release(problem, curved.records, curved.ball))


def row(errors: list[float], seconds: float) -> dict[str, float]:
    """Mean, standard error, runs, seconds, to four digits."""
    spread = float(np.std(errors, ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else math.nan
    found = {"mean": float(np.mean(errors)), "error": spread, "runs": len(errors), "seconds": seconds}
    return {name: _rounded(value) for name, value in found.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def facts(problem: Problem) -> dict[str, Any]:
    """Of the problem, and the oracle's error."""
    sample, is_simulated = sample_of(problem, 0), problem.cell is not None
    (n, d), rng = sample.X.shape, seeded(problem.key, "oracle")
    error = baselines.oracle_error(sample.eigenvalues, n, problem.rho, rng, population=is_simulated)
    return {
        "group": problem.group,
        "name": problem.name,
        "rho": problem.rho,
        "n": n,
        "d": d,
        "oracle": _rounded(error),
    }


def published() -> Results:
    """Figures of others, by the keys of problems."""
    if not PUBLISHED.exists():
        print(f"Published figures are left out: {PUBLISHED.name} is not in {PUBLISHED.parent}.")
        return {}
    figures = baselines.published(PUBLISHED)
    return {
        problem.key: {
            f"published {name}": {"mean": figure.mean, "error": round(figure.error, 5), "runs": figure.runs}
            for name, figure in figures[problem.cell].items()
        }
        for problem in simulated()
        if problem.cell in figures and problem.group == problem.cell.setting
    }


def run(problem: Problem, runs: dict[str, int], before: bool) -> dict[str, Any]:
    """Rows of one problem, by the runs of each estimator."""
    found = {"problem": facts(problem)}
    for name, count in runs.items():
        label = f"{name}, before" if before else name
        if name in ESTIMATORS:
            found[label] = measured(problem, name, count)
        elif problem.curved is not None:
            found[label] = measured_on(problem.curved, problem, count)
    return found


def as_before(found: dict[str, Any], names: Iterable[str]) -> dict[str, int]:
    """As many runs as these results have of each estimator."""
    return {name: int(found[name]["runs"]) for name in names if name in found}


def changed(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Whether the same seeds gave the same errors, to four digits."""
    others = [name for name, row in new.items() if name in old and row.get("mean") != old[name].get("mean")]
    return f"CHANGED: {', '.join(others)}" if others else "as before"


# --- command line --------------------------------------------------------------------------------------------


def chosen(only: str | None, dims: range, quick: bool) -> list[Problem]:
    """Problems by group, simulated ones of some dimensions; quick: few of them."""
    groups = None if only is None else {group.strip() for group in only.split(",")}
    rhos = (1 / 2,) if quick else (1 / 16, 1 / 8, 1 / 2, 1.0)
    some = [*simulated(), *(real(rhos) if groups is None or groups & set(REAL) else ())]
    some = [problem for problem in some if groups is None or problem.group in groups]
    return [p for p in some if p.cell is None or (p.cell.d in dims and (not quick or p.rho == 1 / 2))]


def main() -> None:
    """Results as JSON, and what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*ESTIMATORS, CURVED]
    parser.add_argument("--only", help=f"groups, with commas: A, B, C, rotated B, rotated C, {', '.join(REAL)}")
    parser.add_argument("--estimators", help=f"names, with semicolons: {'; '.join(known)} (default: all)")
    parser.add_argument("--runs", type=int, default=20, help=f"of each (at most {LARGE} beyond d = 512)")
    parser.add_argument("--smallest", type=int, default=1, help="dimension of simulated records")
    parser.add_argument("--largest", type=int, default=2048, help="dimension of simulated records")
    parser.add_argument("--quick", action="store_true", help="small problems at rho = 1/2, 2 runs")
    parser.add_argument("--before", action="store_true", help="keep results of ours as those of an earlier version")
    parser.add_argument("--again", action="store_true", help="what --out has, with as many runs: is it the same?")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file to add to")
    parser.add_argument("--page", action="store_true", help="run nothing: make page and picture of what --out has")
    asked = parser.parse_args()
    names = known if asked.estimators is None else [name.strip() for name in asked.estimators.split(";")]
    if unknown := set(names) - set(known):
        parser.error(f"unknown estimators {sorted(unknown)}: pass some of {'; '.join(known)}.")
    if asked.runs < 2:
        parser.error(f"--runs {asked.runs}: pass 2 or more, for a standard error.")
    results: Results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    if not asked.page:
        largest = 64 if asked.quick else asked.largest
        problems = chosen(asked.only, range(asked.smallest, largest + 1), asked.quick)
        runs = None if asked.again else 2 if asked.quick else asked.runs
        compute(problems, names, runs, asked.before, results, asked.out)
    report(verdicts(results))
    if asked.page:
        write_page(results)


def compute(
    problems: list[Problem], names: list[str], runs: int | None, before: bool, results: Results, out: Path
) -> None:
    """Problem by problem; what there is, is saved. Without a number of runs, what there is is measured again."""
    for expected in (rd.NoAdaptation, rd.UselessRelease):  # of few records
        warnings.simplefilter("ignore", expected)
    for key, figures in published().items():
        if any(problem.key == key for problem in problems):
            results.setdefault(key, {}).update(figures)
    for problem in problems:
        there = results.setdefault(problem.key, {})
        asked = as_before(there, names) if runs is None else dict.fromkeys(names, usual(problem, runs))
        if asked:
            found = run(problem, asked, before)
            compared = f" ({changed(there, found)})" if runs is None else ""
            there.update(found)
            print(show(problem.key, found) + compared, flush=True)
            save(results, out)


def usual(problem: Problem, runs: int) -> int:
    """Runs of one problem."""
    return min(runs, LARGE) if problem.is_large else runs


def save(results: Results, out: Path) -> None:
    """A line for each row."""
    rows = {
        key: ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
        for key, found in results.items()
    }
    out.parent.mkdir(exist_ok=True)
    out.write_text("{\n" + ",\n".join(f" {json.dumps(key)}: {{\n{text}\n }}" for key, text in rows.items()) + "\n}\n")


def report(found: list[Verdict]) -> None:
    """Plainly."""
    for verdict in found:
        print(f"{'holds' if verdict.holds else 'DOES NOT HOLD'}: {verdict.sentence}")


if __name__ == "__main__":
    main()
