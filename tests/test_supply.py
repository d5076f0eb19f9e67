"""What is installed is pinned, and what is built is the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "constraints").glob("python*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.!+]+", line) for line in lines)  # names and versions, no places
    return dict(line.split("==") for line in lines)


def number(version):
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def requirements():
    extras = PROJECT["project"]["optional-dependencies"].values()
    return [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], *(item for extra in extras for item in extra)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_requirement_is_pinned_within_its_bounds(path):
    pinned = pins(path)
    for text in requirements():
        name, sign, bound = re.match(r"([\w-]+)(?:\[.*\])?(?:(>=|<)([\d.]+))?", text).groups()
        version = pinned[re.sub(r"[-_.]+", "-", name).lower()]
        if sign == ">=":
            assert number(version) >= number(bound), text
        if sign == "<":
            assert number(version) < number(bound), text
    assert "riemdp" not in pinned


def test_there_are_pins_for_the_oldest_python():
    assert "python3.11" in [path.stem for path in FILES]


def test_the_makefile_uses_them():
    text = (ROOT / "Makefile").read_text()
    assert "--constraint ,$(CONSTRAINTS)" in text
    assert "PIP_CONSTRAINT=$(CONSTRAINTS)" in text


def test_two_builds_are_the_same():
    pytest.importorskip("hatchling")
    done = subprocess.run([sys.executable, "supply/reproducible.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("the same again") == 2
    assert ".whl" in done.stdout
