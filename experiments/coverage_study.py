"""How often regions hold the mean where `new_coverage.py` does not look: on other spaces, and with `adapt=True`.

`python experiments/coverage_study.py` prints a table, in some minutes; 2,000 simulated releases for each number.
`--adapt` prints another: of releases in earnest, whose private balls leave out some of the records.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import riemdp as rd
from harness import Array
from new_coverage import LAWS, LEVEL, POPULATIONS, Study, has, of_records, stretched, study_of
from riemdp.regions import SHAPES

SPACES: dict[str, tuple[rd.Space, float]] = {
    "Poincaré disc": (rd.Hyperbolic(2, model="poincare"), 1.5),
    "2 x 2 matrices, log-Cholesky": (rd.SPDLogCholesky(2), 1.5),
    "3 x 3 correlations": (rd.Correlations(3), 1.0),
    "2 x 2 complex matrices, affine": (rd.HPDAffine(2), 1.5),
    "2 x 2 complex matrices, log-Euclidean": (rd.HPDLogEuclidean(2), 1.5),
    "rotations": (rd.Rotations(), 1.0),
    "rigid motions": (rd.RigidMotions(1.0), 1.0),
    "planes in R⁴": (rd.Grassmann(4, 2), 0.5),
    "torus of two angles": (rd.Torus(2), 1.0),
    "shares of four": (rd.Simplex(4), 0.4),
}


def share(space: rd.Space, radius: float, mechanism: str, size: int) -> str:
    """In percent; nothing where the mechanism does not exist."""
    try:
        return f"{100 * of_records(space, radius, mechanism, size):.1f}" if has(space, mechanism) else ""
    except rd.MechanismError:
        return ""


def moved_into(ball: rd.Ball, points: Array) -> Array:
    """The points in the public ball, those outside on its rim."""
    coords = ball.space.log_coords(points, ball.inner_center)
    lengths = np.linalg.norm(coords, axis=1, keepdims=True)
    return ball.space.exp_coords(coords * np.minimum(1.0, ball.radius / lengths), ball.inner_center)


def adaptive_shares(study: Study, rng: np.random.Generator, size: int) -> list[float]:
    """Of releases with `adapt=True`: regions that hold the mean of all records, the population's, and false alarms."""
    ball = study.ball()

    def summary() -> tuple[rd.Summary, Array]:
        records = study.space.write(moved_into(ball, study.records(rng)), study.mean)
        return rd.private_summary(records, ball, study.guarantee, adapt=True), records

    found = np.zeros((size, 3))
    for row in found:
        (first, records), (second, _) = summary(), summary()
        row[0] = first.region(LEVEL).contains(rd.frechet_mean(records, study.space).point)
        row[1] = first.region(LEVEL, of="population").contains(study.mean)
        row[2] = rd.compare(first, second).p_value < 1 - LEVEL
    return [*found.mean(axis=0)]


def print_adaptive(size: int, n: int = 1000) -> None:
    """A line for each population: of even ones, where bodies are balls, and of some that have a shape."""
    print("| adapt=True, % | the records' mean | the population's | false alarms |\n|---|---|---|---|")
    studies = {f"{name}, {law}": study_of(name, law, n) for name in POPULATIONS for law in LAWS}
    for name, (_, spread, *_) in POPULATIONS.items():
        uneven = replace(study_of(name, "normal", n), law=stretched(spread))
        studies[f"{name}, normal, ten times wider one way"] = uneven
    rngs = np.random.default_rng(n).spawn(len(studies))  # other records in every line
    for (name, study), rng in zip(studies.items(), rngs, strict=True):
        shares = adaptive_shares(study, rng, size)
        print(f"| {name} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |", flush=True)


def main() -> None:
    """A line for each space."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--adapt", action="store_true")
    asked = parser.parse_args()
    print_adaptive(asked.size) if asked.adapt else print_spaces(asked.size)


def print_spaces(size: int) -> None:
    """A line for each space."""
    print(f"| the records' mean, % | {' | '.join(SHAPES)} |\n|" + "---|" * (len(SHAPES) + 1))
    for name, (space, radius) in SPACES.items():
        shares = [share(space, radius, mechanism, size) for mechanism in SHAPES]
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
