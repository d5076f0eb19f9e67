"""Quick results of figures, computed once for all workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "experiments"))


@pytest.fixture(scope="session")
def quick_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by all workers."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "figures"


@pytest.fixture
def quick_results(quick_folder: Path) -> Callable[[str], dict[str, Any]]:
    """By the name of a figure; a test about data is skipped where these are not at hand."""
    from rich.console import Console

    import figures
    import harness

    def results(name: str) -> dict[str, Any]:
        figure = figures.figure(name)
        if missing := [data for data in figure.data if not harness.has(data)]:
            pytest.skip(f"real data {', '.join(missing)} not found beside the repository")
        return harness.results_of(figure, quick_folder / "quick", quick=True, redraw=False, console=Console())

    return results
