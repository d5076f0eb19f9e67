"""The shape of the classes: shallow, and nothing above the spaces asks which space it has."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import riemdp
from riemdp.manifolds.base import Space

ROOT = Path(riemdp.__file__).parent
DEEPEST = 2
CORE = 15


def module_names():
    """Of the modules that define a class: compiling the others, the kernels above all, takes a minute."""
    for path in sorted(ROOT.rglob("*.py")):
        if any(isinstance(node, ast.ClassDef) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
            yield ".".join(["riemdp", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


def classes():
    modules = map(importlib.import_module, module_names())
    found = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    return {kind for kind in found if kind.__module__.partition(".")[0] == "riemdp"}


def depth(kind):
    """Steps from the class to its farthest ancestor among the classes of riemdp, itself included."""
    own = [base for base in kind.__bases__ if base.__module__.partition(".")[0] == "riemdp"]
    return 1 + max(map(depth, own), default=0)


def test_no_class_is_deeper_than_two():
    assert riemdp.SPDAffine in classes()
    assert [f"{kind.__module__}.{kind.__qualname__}" for kind in classes() if depth(kind) > DEEPEST] == []


def test_depth_counts_steps():
    middle = type("Middle", (Space,), {"__module__": "riemdp.example"})
    assert (depth(Space), depth(middle), depth(type("Leaf", (middle,), {"__module__": "riemdp.example"}))) == (1, 2, 3)


def test_the_core_of_a_space_is_small_and_has_public_names():
    assert len(Space.__abstractmethods__) <= CORE
    assert not [name for name in Space.__abstractmethods__ if name.startswith("_")]


# --- nobody above the spaces asks which one it has -----------------------------------------------------------

CONCRETE = {"Euclidean", "Hyperbolic", "KendallShapes", "Product", "SPD", "SPDAffine", "SPDLogEuclidean", "Sphere"}
LEFT = {"check.py", "cli/options.py", "io/data.py", "plots/releases.py", "report.py"}
SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] != "manifolds"]


def asks(source):
    """Lines that tell concrete spaces apart: isinstance, issubclass, type(...) or a match on the class."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        compared = isinstance(node, ast.Compare) and any(isinstance(part, ast.Call) for part in ast.walk(node.left))
        if called in ("isinstance", "issubclass") or compared or isinstance(node, ast.MatchClass):
            named = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            named |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
            lines += [node.lineno] * bool(named & CONCRETE)
    return lines


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nobody_asks_which_space_it_is(path):
    if path.relative_to(ROOT).as_posix() not in LEFT:
        assert asks(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(space, Sphere)",
        "isinstance(ball.space, rd.SPDAffine | Sphere)",
        "issubclass(kind, (int, Product))",
        "type(space) is Euclidean",
        "match space:\n    case Hyperbolic(): pass",
    ],
)
def test_asking_would_be_seen(question):
    assert asks(question) != []


def test_what_is_no_question_is_left_alone():
    assert asks("space = Sphere(2)\nisinstance(space, Space)\nspace.has(Chords)") == []


def test_all_concrete_spaces_are_looked_for():
    import riemdp.manifolds as manifolds

    named = {name for name, kind in vars(manifolds).items() if inspect.isclass(kind) and issubclass(kind, Space)}
    assert named - {"Space"} <= CONCRETE


def private_calls(source):
    """Lines that use what a space keeps for itself."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
            lines += [node.lineno] * (owner in ("space", "factor"))
    return lines


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_others_call_of_a_space_is_public(path):
    assert private_calls(path.read_text(encoding="utf-8")) == []


def test_private_calls_would_be_seen():
    assert private_calls("ball.space._points(x)") == private_calls("space._batch(x)") == [1]
    assert private_calls("self._space.dim + space.dim + space.__class__") == []
