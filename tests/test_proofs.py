"""Proofs and code go together: every hash fits, every mechanism and statistic has a proof, changes are noticed."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

import riemdp.manifolds
from riemdp.manifolds import package_spaces
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
    for proof in FOLDER.rglob("*.md"):
        if proof.name != "README.md":
            assert f"]({proof.relative_to(FOLDER).as_posix()})" in index
            assert hashes.LINE.search(proof.read_text()), proof.name
    links = {
        proof.parent / link
        for proof in FOLDER.rglob("*.md")
        for link in re.findall(r"\]\(([\w/.]+\.md)", proof.read_text())
    }
    assert all(link.exists() for link in links)


def test_no_line_is_misspelt():
    """What looks like a hash line is one: a typo would leave the code unproved."""
    for proof in FOLDER.rglob("*.md"):
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


# --- facts of spaces ------------------------------------------------------------------------------------------------

# What every space states, and what it states only if it knows better than the common code.
FACTS = ["dim", "point_shape", "curvature_bounds", "injectivity_radius", "origin"]
MAPS = ["exp_coords", "log_coords", "to_coords", "from_coords"]
OWN = ["distance", "log_density", "growth_rate", "longest_vector", "rounding_limit", "step_limit", "point_rounding"]
DERIVED = ["is_flat", "uniqueness_radius", "growth_rate", "longest_vector"]
COMMON = ("riemdp.manifolds.base", "riemdp.manifolds.capabilities")


def definition(kind, name):
    """The dotted name of the definition that a class has of an attribute, its own or inherited."""
    owner = next(parent for parent in kind.__mro__ if name in vars(parent))
    return f"{owner.__module__}.{owner.__qualname__}.{name}"


def stated(kind):
    """The definitions in which a space states its facts; what all spaces share is proved in spaces/base.md."""
    own = [definition(kind, name) for name in OWN if hasattr(kind, name)]
    return [definition(kind, name) for name in FACTS + MAPS] + [name for name in own if not name.startswith(COMMON)]


def unproved(kind, folder=FOLDER / "spaces"):
    """What a space states and no hash on its page, which is named after its module, holds on to."""
    page = folder / f"{kind.__module__.rpartition('.')[2]}.md"
    lines = hashes.LINE.findall(page.read_text()) if page.exists() else []
    return [name for name in stated(kind) if name not in {proved for proved, _ in lines}]


@pytest.mark.parametrize("kind", package_spaces())
def test_every_fact_of_a_space_has_a_proof(kind):
    assert unproved(kind) == []


def test_facts_that_follow_from_others_have_a_proof():
    proved = hashes.proved(FOLDER / "spaces")
    for name in DERIVED:
        assert [page.name for page in proved[definition(riemdp.manifolds.Euclidean, name)]] == ["base.md"]


def test_a_space_without_a_page_is_noticed():
    """A newcomer whose facts nobody has proved: inherited ones have no page of its own either."""
    newcomer = type("Newcomer", (riemdp.manifolds.Sphere,), {"__module__": "riemdp.manifolds.newcomer", "injectivity_radius": 1.0})
    missing = {kind.__name__: unproved(kind) for kind in package_spaces() if unproved(kind)}
    assert list(missing) == ["Newcomer"]
    assert missing["Newcomer"] == stated(newcomer)
    assert "riemdp.manifolds.newcomer.Newcomer.injectivity_radius" in missing["Newcomer"]
    assert "riemdp.manifolds.sphere.Sphere.origin" in missing["Newcomer"]


@pytest.mark.parametrize("fact", ["origin", "injectivity_radius", "step_limit"])
def test_a_page_that_leaves_out_a_fact_is_noticed(fact, tmp_path):
    page = (FOLDER / "spaces" / "sphere.md").read_text()
    (tmp_path / "sphere.md").write_text(page.replace(f"proves: riemdp.manifolds.sphere.Sphere.{fact} ", "of: "))
    assert unproved(riemdp.manifolds.Sphere, tmp_path) == [f"riemdp.manifolds.sphere.Sphere.{fact}"]


def test_a_changed_fact_is_noticed(tmp_path):
    """Properties have hashes too, and folders beneath are looked at."""
    name = "riemdp.manifolds.sphere.Sphere.injectivity_radius"
    assert isinstance(hashes.find(name), ast.FunctionDef)
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces" / "sphere.md").write_text(f"proves: {name} sha256:0123456789abcdef\n")
    assert len(hashes.stale(tmp_path)) == 1
    hashes.update(tmp_path)
    assert hashes.stale(tmp_path) == []


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
