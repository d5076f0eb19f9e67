"""The package as installed: what it exports, what importing it costs, and that its tools run."""

import doctest
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import riemdp

ROOT = Path(__file__).resolve().parents[1]


def run_python(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def test_exports_exist_once():
    assert [name for name in riemdp.__all__ if not hasattr(riemdp, name)] == []
    assert len(set(riemdp.__all__)) == len(riemdp.__all__)


def test_one_version_everywhere():
    assert version("riemdp") == riemdp.__version__


def test_is_typed():
    assert (Path(riemdp.__file__).parent / "py.typed").exists()


@pytest.mark.skipif("RIEMDP_TESTS_ON_WHEEL" not in os.environ, reason="set by `make test`")
def test_tests_run_on_the_built_wheel():
    assert not Path(riemdp.__file__).resolve().is_relative_to(ROOT / "src")


def test_import_stays_light():
    """Heavy packages are imported by the functions that use them."""
    loaded = run_python("-c", "import sys, riemdp; print(*sys.modules)").split()
    heavy = {"sklearn", "matplotlib", "scipy.optimize", "scipy.stats", "dp_accounting", "numba", "pandas", "torch"}
    assert heavy.isdisjoint(loaded)


def test_benchmark_script_runs(tmp_path):
    pytest.importorskip("geomstats", exc_type=ImportError)
    pytest.importorskip("pyriemann")
    run_python(str(ROOT / "benchmarks" / "means.py"), "--quick", "--out", str(tmp_path / "means.json"))
    written = json.loads((tmp_path / "means.json").read_text())
    assert len(written["means"]) == 14
    assert all(error <= 1e-9 for row in written["means"] for error in row["errors"].values())
    assert {row["name"] for row in written["limits"]} >= {"import riemdp"}


def test_means_of_the_newer_spaces_are_those_of_their_peers(tmp_path):
    """The script refuses means that are farther apart than the accuracy that both were asked for."""
    pytest.importorskip("geomstats", exc_type=ImportError)
    pytest.importorskip("pyriemann")
    run_python(str(ROOT / "benchmarks" / "spaces.py"), "--quick", "--out", str(tmp_path / "spaces.json"))
    written = json.loads((tmp_path / "spaces.json").read_text())
    assert len({row["what"] for row in written["means"]}) == 15
    assert all(row["apart"] <= 1e-8 for row in written["means"])


def test_readme_tells_the_truth():
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", "README.md", 0)
    assert len(test.examples) >= 8
    assert doctest.DocTestRunner().run(test).failed == 0
