"""What the code may not know: outside of its own room, no file tells one space from another by its class."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import pytest

import riemdp
from riemdp.manifolds import package_spaces, space_class, space_names

SOURCE = Path(riemdp.__file__).parent
ROOMS = ("manifolds", "kernels")  # where spaces are at home
SPACES = {kind.__name__ for kind in package_spaces()} | {"SPD"}


NAMES = SPACES | {name for name in space_names() if isinstance(space_class(name), type)}  # as files and commands call them
# Who translates the names of another package has a table of both, in one place.
TRANSLATORS = ("bridges/geomstats.py", "written.py")


def distinctions(code: str) -> list[str]:
    """Uses of a class of spaces but to make one: in isinstance, comparisons, tables, annotations, cases of a match."""
    tree = ast.parse(code)
    made = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute) and id(node) not in made]
    found = [(node.lineno, node.id if isinstance(node, ast.Name) else node.attr) for node in names]
    return [f"{name} in line {line}" for line, name in found if name in SPACES]


def distinctions_by_name(code: str) -> list[str]:
    """Texts that name a class of spaces, but in what a module exports, and in a command line that makes one."""
    tree = ast.parse(code)
    fine = {id(node) for part in tree.body if _target(part) == "__all__" for node in ast.walk(part)}
    for row in (node.elts for node in ast.walk(tree) if isinstance(node, ast.Tuple | ast.List)):
        fine |= {id(after) for option, after in pairwise(row) if getattr(option, "value", None) == "--space"}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [f"{node.value!r} in line {node.lineno}" for node in texts if node.value in NAMES and id(node) not in fine]


def _target(part: ast.stmt) -> str:
    return getattr(part.targets[0], "id", "") if isinstance(part, ast.Assign) else ""


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in ROOMS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_tells_spaces_apart(path):
    code, remedy = path.read_text(encoding="utf-8"), "ask the space (riemdp/manifolds/capabilities.py)"
    assert distinctions(code) == [], remedy
    if path.relative_to(SOURCE).as_posix() not in TRANSLATORS:
        assert distinctions_by_name(code) == [], remedy


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


@pytest.mark.parametrize("code", ["type(space).__name__ == 'Sphere'", "WORDS = {'spd-affine': 'matrices'}", "if name in ('sphere', 'torus'): pass"])
def test_so_are_names(code):
    assert distinctions_by_name(code)


def test_translators_have_tables():
    assert all(distinctions_by_name((SOURCE / name).read_text(encoding="utf-8")) for name in TRANSLATORS)


@pytest.mark.parametrize("code", ["from riemdp.manifolds import Sphere", "ball = Ball(rd.Sphere(2), center, 1.0)", "__all__ = ['Sphere']"])
def test_what_makes_a_space_or_hands_it_on_is_fine(code):
    assert not distinctions(code)
    assert not distinctions_by_name(code)
