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


# --- nobody above the spaces uses what they keep for themselves ------------------------------------------------

SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] != "manifolds"]


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
