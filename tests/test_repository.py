"""What stands beside the package agrees with it: the citation, the recipe, continuous integration, the hooks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import riemdp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
YAML = [*ROOT.glob(".github/**/*.yml"), *ROOT.glob("*.cff"), *ROOT.glob("conda/*.yaml"), *ROOT.glob(".*.yaml")]


def read(name):
    return yaml.safe_load((ROOT / name).read_text())


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_every_file_of_settings_can_be_read(path):
    assert read(path)


def test_citation_and_recipe_have_the_version_of_the_package():
    assert read("CITATION.cff")["version"] == riemdp.__version__
    assert read("conda/recipe.yaml")["context"]["version"] == riemdp.__version__


def test_the_recipe_needs_what_the_package_needs():
    named = {"matplotlib": "matplotlib-base"}  # conda's name of it without windows
    wanted = [re.match(r"([\w-]+)(>=[\d.]+)", text).groups() for text in PROJECT["dependencies"]]
    run = read("conda/recipe.yaml")["requirements"]["run"]
    assert run == ["python >=${{ python_min }}", *(f"{named.get(name, name)} {floor}" for name, floor in wanted)]
    assert read("conda/variants.yaml")["python_min"] == [PROJECT["requires-python"].removeprefix(">=")]


def test_continuous_integration_runs_on_every_python_that_is_supported():
    matrix = read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    supported = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert matrix["python"] == supported
    assert {f"python{python}" for python in matrix["python"]} == {
        path.stem for path in ROOT.glob("constraints/python*.txt")
    }
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_only_the_job_that_publishes_may_prove_who_it_is():
    jobs = read(".github/workflows/release.yml")["jobs"]
    assert {name: job.get("permissions") for name, job in jobs.items()} == {
        "build": None,
        "publish": {"id-token": "write"},
    }


def test_the_hook_lints_with_the_pinned_ruff():
    hooks = {repo["repo"].rpartition("/")[2]: repo["rev"] for repo in read(".pre-commit-config.yaml")["repos"]}
    pin = re.search(r"^ruff==(.+)$", (ROOT / "constraints/python3.12.txt").read_text(), re.MULTILINE)[1]
    assert hooks["ruff-pre-commit"] == f"v{pin}"


def test_the_group_for_developers_names_extras_that_there_are():
    (everything,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    named = re.fullmatch(r"riemdp\[([\w,]+)\]", everything)[1].split(",")
    assert set(named) <= set(PROJECT["optional-dependencies"])


def test_the_coverage_that_is_told_is_what_is_asked_for():
    """No test runs the others: `make coverage` does, and fails below the floor."""
    floor = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["report"]["fail_under"]
    told = [re.findall(r"(\d+) % of lines and branches", (ROOT / page).read_text()) for page in ("README.md", "docs/releasing.md")]
    assert len(told[0]) == 1
    assert told[0] == told[1]
    assert floor <= int(told[0][0])


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "README.md"])
def test_pages_of_the_repository_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s#]+)", (ROOT / page).read_text())
    assert links
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_no_address_of_the_project_is_made_up():
    """It has none yet; what needs one is listed in docs/releasing.md."""
    assert "urls" not in PROJECT
    assert not (ROOT / ".github" / "CODEOWNERS").exists()
    settings = [ROOT / "CONTRIBUTING.md", ROOT / "CODE_OF_CONDUCT.md", *YAML]
    addresses = {host for path in settings for host in re.findall(r"https?://([\w.-]+/?[\w-]*)", path.read_text())}
    assert addresses == {
        "github.com/pre-commit", "github.com/astral-sh", "github.com/zizmorcore", "www.contributor-covenant.org/version",
    }  # fmt: skip
