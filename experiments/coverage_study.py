"""Regions of the mean of the records on the spaces that `new_coverage.py` does not draw: how often they hold it.

`python experiments/coverage_study.py` prints a table, in some minutes; 2,000 simulated releases for each number.
"""

from __future__ import annotations

import argparse

import riemdp as rd
from new_coverage import has, of_records
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


def main() -> None:
    """A line for each space."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000)
    size = parser.parse_args().size
    print(f"| the records' mean, % | {' | '.join(SHAPES)} |\n|" + "---|" * (len(SHAPES) + 1))
    for name, (space, radius) in SPACES.items():
        shares = [share(space, radius, mechanism, size) for mechanism in SHAPES]
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
