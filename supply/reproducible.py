"""Build the wheel and the source archive twice, from copies in different folders, and compare them bit by bit.

The times in the archives come from SOURCE_DATE_EPOCH or, if it is not set, from the last commit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PARTS = ("pyproject.toml", *SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])


def main() -> int:
    """0 if both builds are the same."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or _last_commit()}
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory(prefix="another-") as second:
        hashes = [_build(Path(place), environment) for place in (first, second)]
    for name, digest in hashes[0].items():
        print(f"{digest}  {name}  {'the same again' if hashes[1].get(name) == digest else 'DIFFERENT'}")
    return int(hashes[0] != hashes[1] or not hashes[0])


def _last_commit() -> str:
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "1577836800"  # no repository: 2020-01-01


def _build(place: Path, environment: dict[str, str]) -> dict[str, str]:
    """Digests of what a build from a copy of the sources makes, by name."""
    source, made = place / "source", place / "made"
    for part in PARTS:
        _copy(ROOT / part, source / part)
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(made), "-t", "wheel", "-t", "sdist"]
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(made.iterdir())}


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin.is_dir():
        shutil.copytree(origin, target, ignore=shutil.ignore_patterns("__pycache__", "results", ".*"))
    elif origin.exists():
        shutil.copyfile(origin, target)


if __name__ == "__main__":
    sys.exit(main())
