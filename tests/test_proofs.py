"""Proofs and code go together: every hash fits, every mechanism and statistic has a proof, changes are noticed."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from riemdp.mechanisms import MECHANISMS
from riemdp.statistics.catalogue import STATISTICS
from riemdp.statistics.class_means import ClassSums

FOLDER = Path(__file__).parents[1] / "docs" / "proofs"
spec = importlib.util.spec_from_file_location("hashes", FOLDER / "hashes.py")
hashes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hashes)


def test_every_proof_fits_the_code():
    assert hashes.stale() == []


def test_every_proof_is_in_the_index_and_names_some_code():
    index = (FOLDER / "README.md").read_text()
    for proof in FOLDER.glob("*.md"):
        if proof.name != "README.md":
            assert f"]({proof.name})" in index
            assert hashes.LINE.search(proof.read_text()), proof.name
    links = {link for proof in FOLDER.glob("*.md") for link in re.findall(r"\]\((\w+\.md)", proof.read_text())}
    assert all((FOLDER / link).exists() for link in links)


def test_no_line_is_misspelt():
    """What looks like a hash line is one: a typo would leave the code unproved."""
    for proof in FOLDER.glob("*.md"):
        if proof.name != "README.md":
            text = proof.read_text()
            assert len(re.findall(r"^\s*proves", text, re.MULTILINE)) == len(hashes.LINE.findall(text)), proof.name


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_a_proof(name):
    """By the name of the constant that is the mechanism."""
    modules = {path.rpartition(".")[0] for path in hashes.proved() if ".mechanisms." in path}
    constants = {f"{module}.{constant}" for module in modules for constant, value in vars(_module(module)).items()
                 if value is MECHANISMS[name]}  # fmt: skip
    assert constants & set(hashes.proved())


def _module(name):
    return importlib.import_module(name)


@pytest.mark.parametrize("kind", [*map(type, STATISTICS.values()), ClassSums])
def test_every_statistic_has_a_proof(kind):
    assert f"{kind.__module__}.{kind.__qualname__}" in hashes.proved()


SOURCE = '''
@decorated
def f(x, *, y=1):
    """What it does."""
    # why
    return g(x)[0] + y
'''
SAME = [
    SOURCE.replace("What it does", "Something else"),
    SOURCE.replace("    # why\n", ""),
    SOURCE.replace('    """What it does."""\n', ""),
    SOURCE.replace("g(x)[0] + y", "(\n        g(x)[0]\n        + y\n    )"),
]
OTHER = [
    SOURCE.replace("+ y", "- y"),
    SOURCE.replace("[0]", "[1]"),
    SOURCE.replace("y=1", "y=2"),
    SOURCE.replace("g(x)", "h(x)"),
    SOURCE.replace("@decorated\n", ""),
    SOURCE.replace("    return", "    x = 2 * x\n    return"),
]


def digest(source):
    return hashes.digest(ast.parse(source).body[0])


@pytest.mark.parametrize("source", SAME)
def test_comments_docstrings_and_layout_do_not_matter(source):
    assert source != SOURCE
    assert digest(source) == digest(SOURCE)


@pytest.mark.parametrize("source", OTHER)
def test_a_changed_function_is_noticed(source):
    assert source != SOURCE
    assert digest(source) != digest(SOURCE)


def test_a_changed_hash_or_name_is_reported_and_updated(tmp_path):
    name = "riemdp.mechanisms.wrapped._expected_error"
    proof = tmp_path / "some.md"
    proof.write_text(f"# Proof\n\nproves: {name} sha256:0123456789abcdef\n")
    assert len(hashes.stale(tmp_path)) == 1
    hashes.update(tmp_path)
    assert hashes.stale(tmp_path) == []
    assert proof.read_text().startswith("# Proof\n\nproves: ")
    for missing in (f"{name}_", "riemdp.nothing.at_all", "riemdp.randomness.LazyUniform.none"):
        proof.write_text(f"proves: {missing} sha256:pending\n")
        hashes.update(tmp_path)
        assert len(hashes.stale(tmp_path)) == 1
        assert "pending" in proof.read_text()


@pytest.mark.parametrize(
    ("name", "kind"), [("LazyUniform", ast.ClassDef), ("LazyUniform.ball", ast.FunctionDef), ("Array", ast.Assign)]
)
def test_classes_methods_and_constants_can_be_proved_too(name, kind):
    assert isinstance(hashes.find(f"riemdp.randomness.{name}"), kind)


def test_the_script_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(hashes, "stale", lambda: ["some.md: f has changed"])
    assert hashes.main([]) == 1
    assert "some.md" in capsys.readouterr().out
    monkeypatch.setattr(hashes, "stale", list)
    assert hashes.main([]) == 0
    assert "unchanged" in capsys.readouterr().out
