"""What is installed is pinned, and what is built is the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "supply"))
import vulnerabilities

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


# --- known vulnerabilities, without asking anybody --------------------------------------------------------------

PAGES = {
    "newest": {"info": {"version": "2.0"}, "vulnerabilities": []},
    "bad": {"info": {"version": "2.0"}, "vulnerabilities": [{"id": "PYSEC-1"}, {"id": "GHSA-2"}]},
    "read": {"info": {"version": "2.0"}, "vulnerabilities": []},
    "unread": {"info": {"version": "2.0"}, "vulnerabilities": []},
    "read-in-part": {"info": {"version": "2.0"}, "vulnerabilities": []},
}


@pytest.fixture
def examined(tmp_path, monkeypatch):
    """Pins: pip-audit knows the first, and the others have pages, about two of which somebody has read."""
    pinned = {"known": "1.0", "newest": "2.0", "bad": "2.0", "read": "1.0", "unread": "1.0", "read-in-part": "1.0"}
    path = tmp_path / "constraints" / "python3.99.txt"
    path.parent.mkdir()
    path.write_text("# pins\n" + "".join(f"{name}=={version}\n" for name, version in pinned.items()))
    known = {"name": "known", "version": "1.0", "vulns": []}
    report = [known, *({"name": name, "skip_reason": "not found"} for name in PAGES)]
    monkeypatch.setattr(vulnerabilities, "pip_audit", lambda _: report)
    monkeypatch.setattr(vulnerabilities, "project_page", PAGES.__getitem__)
    reviews = tmp_path / "reviewed.toml"
    reviews.write_text('"read==1.0" = "2.0"\n"read-in-part==1.0" = "1.5"\n')
    monkeypatch.setattr(vulnerabilities, "ROOT", tmp_path)
    monkeypatch.setattr(vulnerabilities, "REVIEWED", reviews)
    return known


def test_what_is_known_to_be_bad_and_what_nobody_has_looked_at_fails(examined, capsys):
    assert vulnerabilities.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "python3.99.txt: 1 by pip-audit, 2 newest, 3 held back",
        "bad==2.0: PYSEC-1, GHSA-2",
        "unread==1.0: not checked; read the release notes after it up to 2.0",
        "read-in-part==1.0: not checked; read the release notes after 1.5 up to 2.0",
    ]


def test_what_pip_audit_finds_fails(examined, capsys):
    examined["vulns"] = [{"id": "CVE-3"}]
    assert vulnerabilities.main() == 1
    assert "known==1.0: CVE-3" in capsys.readouterr().out


def test_what_is_newest_or_reviewed_passes(examined, capsys, monkeypatch):
    monkeypatch.setitem(PAGES, "bad", PAGES["newest"])
    vulnerabilities.REVIEWED.write_text("".join(f'"{name}==1.0" = "2.0"\n' for name in ("read", "unread", "read-in-part")))
    assert vulnerabilities.main() == 0
    assert capsys.readouterr().out.endswith("2 newest, 3 held back\nno known vulnerabilities; of what is held back see reviewed.toml\n")


def test_a_failing_pip_audit_is_said_in_one_sentence(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, stdout="", stderr="Traceback:\nConnectionError: no network\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(SystemExit, match=r"^pip-audit could not look at x.txt: ConnectionError: no network$"):
        vulnerabilities.pip_audit(tmp_path / "x.txt")


def test_reviews_are_of_pins_that_there_are():
    pinned = {f"{name}=={version}" for path in FILES for name, version in pins(path).items()}
    assert set(tomllib.loads(vulnerabilities.REVIEWED.read_text())) <= pinned
