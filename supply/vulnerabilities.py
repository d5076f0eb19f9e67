"""Known vulnerabilities of what is pinned, for every supported Python: `pip-audit`, and what it could not say.

`pip-audit` asks the index for the page of each pinned version. An index without such pages (many mirrors) still tells,
on a project's own page, what is known of the newest version. Of pins that are held back below the newest nothing is
known then: somebody has to look through the release notes since, and reviewed.toml says up to which version that was
done, and what came of it. What nobody has looked at fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REVIEWED = ROOT / "supply" / "reviewed.toml"
INDEX = "https://pypi.org/pypi/{}/json"  # which pip-audit asks as well
SECONDS = 60


def main() -> int:
    """0 if something is known of every pin, and nothing bad."""
    reviewed = tomllib.loads(REVIEWED.read_text())
    pinned = sorted((ROOT / "constraints").glob("python*.txt"))  # the lowest versions are for a test, not for use
    problems = [problem for path in pinned for problem in examine(path, reviewed)]
    print("\n".join(problems) or "no known vulnerabilities; of what is held back see reviewed.toml")
    return int(bool(problems))


def examine(path: Path, reviewed: dict[str, str]) -> list[str]:
    """What is wrong with the pins of one file; prints how many were looked at, and how."""
    pins = dict(line.split("==") for line in path.read_text().splitlines() if not line.startswith("#"))
    known = {entry["name"]: entry["vulns"] for entry in pip_audit(path) if "vulns" in entry}
    pages = {name: project_page(name) for name in pins if name not in known}
    newest = {name: page["vulnerabilities"] for name, page in pages.items() if page["info"]["version"] == pins[name]}
    held_back = {name: page["info"]["version"] for name, page in pages.items() if name not in newest}
    print(f"{path.name}: {len(known)} by pip-audit, {len(newest)} newest, {len(held_back)} held back")
    bad = [f"{name}=={pins[name]}: {ids(found)}" for name, found in (known | newest).items() if found]
    return bad + [text for name, last in held_back.items() if (text := unread(f"{name}=={pins[name]}", last, reviewed))]


def pip_audit(path: Path) -> list[dict[str, Any]]:
    """What it reports of each pin: its vulnerabilities, or why it was skipped."""
    options = ["--requirement", str(path), "--no-deps", "--disable-pip", "--format", "json"]
    done = subprocess.run([sys.executable, "-m", "pip_audit", *options], capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"pip-audit could not look at {path.name}: {done.stderr.strip().splitlines()[-1]}")
    found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    return found


@cache
def project_page(name: str) -> dict[str, Any]:
    """What the index says of a project, and of its newest version."""
    with urllib.request.urlopen(INDEX.format(name), timeout=SECONDS) as answer:
        page: dict[str, Any] = json.load(answer)
    return page


def unread(pin: str, newest: str, reviewed: dict[str, str]) -> str:
    """What is left to read about a pin that is held back; nothing if that was done."""
    read = reviewed.get(pin, "it")
    return "" if read == newest else f"{pin}: not checked; read the release notes after {read} up to {newest}"


def ids(vulnerabilities: list[dict[str, Any]]) -> str:
    """Their names."""
    return ", ".join(entry["id"] for entry in vulnerabilities)


if __name__ == "__main__":
    sys.exit(main())
