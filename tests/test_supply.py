"""What is installed is pinned, and what is built is the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "supply"))
import constraints
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


# --- the lowest versions -----------------------------------------------------------------------------------------


def floors():
    """(name, floor or None) of every requirement."""
    return [re.match(r"([\w-]+)(?:\[\w+\])?(?:>=([\d.]+))?", text).groups() for text in requirements()]


def test_every_requirement_states_one_floor():
    stated = {name: {floor for other, floor in floors() if other == name and floor} for name, _ in floors()}
    assert {name: found for name, found in stated.items() if len(found) != 1} == {}


def test_the_lowest_run_pins_every_floor():
    """`make constraints` was run, on the oldest Python, since a floor was changed."""
    pinned = pins(ROOT / "constraints" / "lowest.txt")
    lowest = constraints.floors()
    assert len(lowest) > 20
    assert {name: pinned[name] for name, floor in lowest.items() if padded(pinned[name]) != padded(floor)} == {}
    assert pinned["distributed"] == pinned["dask"]


def padded(version):
    return (*number(version), 0, 0)[:3]


@pytest.mark.parametrize(
    ("name", "floor", "why"),
    [
        ("numpy", "2.0", "older ones warn of values from helper threads, whatever the caller has set"),
        ("scipy", "1.13", "for numpy 2; and tests use scipy.integrate.cumulative_simpson, of 1.12"),
        ("python-flint", "0.7", "arb.erfcinv"),
        ("typer", "0.18", "with click 8.2 and 8.3, older ones do not start, or pass None for what is required"),
        ("dask", "2024.11.1", "older ones log the arguments of a task that failed"),
        ("zarr", "3.0", "zarr 2 cannot be imported with the numcodecs that is asked for"),
        ("numcodecs", "0.16.6", "older ones unpickle"),
        ("pytest", "8.2", "importorskip(exc_type=...)"),
        ("dp-accounting", "0.5", "older ones lack a trap that a test shows"),
        ("hatchling", "1.27", "older ones do not know license-files, or were withdrawn"),
    ],
)
def test_no_floor_sinks_below_what_is_known_to_fail(name, floor, why):
    assert number(constraints.floors()[name]) >= number(floor), why


def test_the_makefile_has_a_lowest_run_on_the_oldest_python():
    text = (ROOT / "Makefile").read_text()
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"OLDEST ?= python{oldest}\n" in text
    assert f'--constraint constraints/lowest.txt "$(WHEEL)[{",".join(constraints.AT_WORK)}]"' in text


# --- pins and builds ---------------------------------------------------------------------------------------------


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


def test_the_source_archive_holds_the_repository(tmp_path):
    """So that its tests and its Makefile work as they do here."""
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path), "-t", "sdist"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.iterdir())) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in tracked() - packed if (ROOT / name).exists()} == set()


def tracked():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


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
    path.with_name("lowest.txt").write_text("# nobody asks about these\nancient==0.1\n")
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
