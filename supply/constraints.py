"""Pin everything that the Makefile installs: constraints/python3.x.txt, for the Python that runs this.

`pip` itself resolves the package with all its extras, and the build backend, as if nothing were installed; the
versions that it would install are the constraints. Nothing of where they came from is written.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "constraints" / f"python{sys.version_info[0]}.{sys.version_info[1]}.txt"


def main() -> None:
    """Resolve and write."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = ",".join(project["project"]["optional-dependencies"])
    pins = _resolve([f"{ROOT}[{extras}]", *project["build-system"]["requires"]])
    del pins[project["project"]["name"]]
    lines = [f"{name}=={version}" for name, version in sorted(pins.items())]
    TARGET.parent.mkdir(exist_ok=True)
    header = "# Made by `make constraints`: what pip resolves for riemdp and all its extras."
    TARGET.write_text("\n".join([header, *lines, ""]))
    print(f"{TARGET.relative_to(ROOT)}: {len(lines)} pins")


def _resolve(wanted: list[str]) -> dict[str, str]:
    """The versions that pip would install, by normalised name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--report", str(report), "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "pip", "-qq", "install", *options, *wanted], check=True)
        found = [entry["metadata"] for entry in json.loads(report.read_text())["install"]]
    return {re.sub(r"[-_.]+", "-", item["name"]).lower(): item["version"] for item in found}


if __name__ == "__main__":
    main()
