"""The audit finds nothing in linear classifiers, and every bug that is planted into them, by a wide margin.

All randomness is seeded, the operating system's included; under other seeds a sound row would be contradicted with
probability below 1e-3.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import riemdp as rd

sys.path.append(str(Path(__file__).parents[2] / "audits"))
import classifiers
import planted

SURE = 0.999
SIZES = {
    "clip after the sum": 400,
    "one step too many": 3000,
    "labels leak through class counts": 400,
    "shape of records that are not shortened": 400,
    "spread within classes of features that are not shortened": 400,
}


@pytest.fixture(autouse=True)
def _seeded():
    with planted.system_randomness(seed=1):
        yield


@pytest.mark.parametrize(("name", "claimed", "draws"), list(classifiers.sound()), ids=lambda value: str(value)[:24])
def test_what_is_released_is_not_contradicted(name, claimed, draws):
    found = classifiers.examine(name, draws, claimed, SURE, 600 if "descent" in name else 3000)
    assert found.holds
    if isinstance(claimed, rd.GDP):
        assert found.lower["mu"] > 0.3  # the audit is not blind


@pytest.mark.parametrize("name", classifiers.BUGS)
def test_every_planted_bug_is_caught(name):
    found = classifiers.examine(name, classifiers.BUGS[name], rd.GDP(1.0), SURE, SIZES[name])
    assert not found.holds
    assert found.lower["mu"] > 1.03
