"""What the code may not know: outside of its own room, no file tells one space from another by its class."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import riemdp
from riemdp.manifolds import package_spaces

SOURCE = Path(riemdp.__file__).parent
ROOMS = ("manifolds", "kernels")  # where spaces are at home
SPACES = {kind.__name__ for kind in package_spaces()} | {"SPD"}


def distinctions(code: str) -> list[str]:
    """Uses of a class of spaces but to make one: in isinstance, comparisons, tables, annotations, cases of a match."""
    tree = ast.parse(code)
    made = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute) and id(node) not in made]
    found = [(node.lineno, node.id if isinstance(node, ast.Name) else node.attr) for node in names]
    return [f"{name} in line {line}" for line, name in found if name in SPACES]


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in ROOMS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_tells_spaces_apart(path):
    assert distinctions(path.read_text(encoding="utf-8")) == [], "ask the space (riemdp/manifolds/capabilities.py)"


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(space, Sphere)",
        "isinstance(space, Euclidean | rd.Sphere)",
        "issubclass(kind, SPD)",
        "WORDS = {Sphere: 'points', Euclidean: 'vectors'}",
        "kinds = (m.Euclidean, m.Sphere)",
        "kind in (Sphere, Hyperbolic)",
        "type(space) is Product",
        "match space:\n    case KendallShapes():\n        pass",
    ],
)
def test_it_is_noticed(code):
    assert distinctions(code)


@pytest.mark.parametrize("code", ["from riemdp.manifolds import Sphere", "ball = Ball(rd.Sphere(2), center, 1.0)", "__all__ = ['Sphere']"])
def test_what_makes_a_space_or_hands_it_on_is_fine(code):
    assert not distinctions(code)
