"""Settings and helpers shared by all tests."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Helper modules beside the tests: `from manifolds.examples import ...`.
sys.path.append(str(Path(__file__).parent))
from reproducible import reproducible_bits
from riemdp.io.data import READERS
from riemdp.manifolds.description import KNOWN
from riemdp.mechanisms import MECHANISMS
from riemdp.statistics.catalogue import STATISTICS

DATA = Path(__file__).parents[2] / "shared" / "data"

# A shell that starts `make test &` has it, and all that it starts, ignore Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("stable", derandomize=True, max_examples=6, **_common)
settings.register_profile("explore", max_examples=40, print_blob=True, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stable"))


@pytest.fixture(autouse=True)
def _entries_of_one_test() -> Iterator[None]:
    """Spaces, statistics, mechanisms and formats that a test defines are known to no other."""
    tables: tuple[dict[Any, Any], ...] = (KNOWN, STATISTICS, MECHANISMS, READERS)
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)


@pytest.fixture(autouse=True)
def _reproducible_releases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test finds the same bits in every run, unless it is marked `system_randomness`; other processes do not."""
    if request.node.get_closest_marker("system_randomness"):
        yield
        return
    with reproducible_bits(request.node.nodeid):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """What several tests share is made before any of them begins: it finds the same bits in every run as well."""
    if fixturedef.scope == "function":
        return (yield)
    with reproducible_bits(f"{request.node.nodeid} {fixturedef.argname}"):
        return (yield)


@pytest.fixture
def shared_data() -> Callable[[str], dict[str, np.ndarray]]:
    """Loads a real data set; the test is skipped where the data are not at hand."""

    def load(name: str) -> dict[str, np.ndarray]:
        path = DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"real data {name}.npz not found beside the repository")
        with np.load(path) as archive:
            return dict(archive)

    return load


@pytest.fixture(scope="session")
def geomstats() -> SimpleNamespace:
    """The parts of geomstats that the spaces are compared with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("geomstats", exc_type=ImportError)
        from geomstats.geometry.hyperboloid import Hyperboloid
        from geomstats.geometry.hypersphere import Hypersphere
        from geomstats.geometry.pre_shape import PreShapeSpace
        from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices
        from geomstats.learning.frechet_mean import FrechetMean
    return SimpleNamespace(
        Hyperboloid=Hyperboloid,
        Hypersphere=Hypersphere,
        PreShapeSpace=PreShapeSpace,
        SPDAffineMetric=SPDAffineMetric,
        SPDLogEuclideanMetric=SPDLogEuclideanMetric,
        SPDMatrices=SPDMatrices,
        FrechetMean=FrechetMean,
    )


@pytest.fixture(scope="session")
def pyriemann() -> SimpleNamespace:
    """The parts of pyriemann that the spaces are compared with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        geometry = pytest.importorskip("pyriemann.geometry", exc_type=ImportError)
    return geometry


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests release few records, and much noise, on purpose; the documents must not.

    Whether a release warns is what tests/statistics/test_worth.py is about.
    """
    for item in items:
        if item.path.name != "test_docs.py":
            item.add_marker(pytest.mark.filterwarnings("ignore::riemdp.UselessRelease"), append=False)
            item.add_marker(pytest.mark.filterwarnings("ignore::riemdp.NoAdaptation"), append=False)
