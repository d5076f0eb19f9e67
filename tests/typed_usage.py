"""How users write it, for mypy (`make lint`): types are complete, and a misspelt name is found before anything runs.

Each `type: ignore` stands where mypy must object; it would object to one that is not needed. Also run by the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import riemdp as rd
from riemdp.statistics.plans import PlanTable


def means(records: NDArray[np.float64], folder: Path) -> rd.Release:
    """A ball, a plan, a release with a ledger, and what is saved of it."""
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.1, 10.0)
    assert_type(rd.plan(ball, len(records), "mu=1"), PlanTable)
    ledger = rd.Ledger(folder / "study.ledger", budget=rd.GDP(1.0))
    release = rd.private_mean(records, ball, rd.GDP(0.5), mechanism="wrapped-gaussian", ledger=ledger)
    assert_type(release, rd.Release)
    assert_type(rd.compose([rd.GDP(0.5)], rd.GDP(1.0)), rd.GDP | None)
    assert_type(rd.GDP(1.0).split(2), list[rd.GDP])
    assert_type(ledger.remaining, rd.Guarantee | None)
    release.save(folder / "mean.json")
    return rd.Release.load(folder / "mean.json")


def estimators(records: NDArray[np.float64], labels: NDArray[Any]) -> NDArray[Any]:
    """Imported when first used, and known to editors all the same."""
    ball = rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)
    fitted = rd.PrivateMDM(ball=ball, guarantee=rd.GDP(1.0)).fit(records, labels)
    assert_type(fitted, rd.PrivateMDM)
    vectors = rd.PrivateTangentSpace(ball=ball, guarantee="mu=1", basis="pyriemann").fit(records).transform(records)
    assert len(vectors) == len(fitted.predict(records))
    return fitted.predict(records)


def mistakes(records: NDArray[np.float64], ball: rd.Ball) -> list[str]:
    """What mypy finds is refused at run time too, in one sentence."""
    told: list[str] = []
    try:
        rd.private_mean(records, ball, rd.GDP(1.0), mechanism="wraped-gaussian")  # type: ignore[arg-type]
    except rd.InputError as error:
        told.append(str(error))
    try:
        rd.plan(ball, 100, rd.GDP(1.0), calibration="exact")  # type: ignore[arg-type]
    except rd.InputError as error:
        told.append(str(error))
    return told
