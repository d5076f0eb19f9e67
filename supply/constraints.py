"""Pin everything that the Makefile installs: constraints/python3.x.txt, for the Python that runs this.

`pip` itself resolves the package with all its extras, and the build backend, as if nothing were installed; the
versions that it would install are the constraints. Nothing of where they came from is written. On the oldest Python
that is supported it also resolves the lowest versions that pyproject.toml allows of what it names, for `make lowest`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "constraints"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
AT_WORK = ("dask", "test")  # the extras that the lowest versions are tested with; the others are tools
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def main() -> None:
    """Resolve and write."""
    everything = _resolve(PROJECT["project"]["optional-dependencies"])
    _write(f"python{PYTHON}", "what pip resolves for riemdp and all its extras", everything)
    if PROJECT["project"]["requires-python"] == f">={PYTHON}":
        exactly = [f"{name}=={version}" for name, version in floors().items()]
        what = f"the lowest versions that pyproject.toml allows, and what pip resolves around them for Python {PYTHON}"
        _write("lowest", what, _resolve(AT_WORK, exactly))


def floors() -> dict[str, str]:
    """The lowest versions that pyproject.toml allows of what it names itself, by normalised name."""
    extras = PROJECT["project"]["optional-dependencies"]
    named = [*PROJECT["project"]["dependencies"], *(text for extra in AT_WORK for text in extras[extra])]
    bounded = [re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", text) for text in named]
    return {_normal(found[1]): found[2] for found in bounded if found}


def _resolve(extras: Iterable[str], exactly: Iterable[str] = ()) -> dict[str, str]:
    """The versions that pip would install, by normalised name."""
    wanted = [f"{ROOT}[{','.join(extras)}]", *PROJECT["build-system"]["requires"], *exactly]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--report", str(report), "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "pip", "-qq", "install", *options, *wanted], check=True)
        found = [entry["metadata"] for entry in json.loads(report.read_text())["install"]]
    pins = {_normal(item["name"]): item["version"] for item in found}
    del pins[PROJECT["project"]["name"]]
    return pins


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _write(name: str, what: str, pins: dict[str, str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines = [f"{package}=={version}" for package, version in sorted(pins.items())]
    (FOLDER / f"{name}.txt").write_text("\n".join([f"# Made by `make constraints`: {what}.", *lines, ""]))
    print(f"constraints/{name}.txt: {len(lines)} pins")


if __name__ == "__main__":
    main()
