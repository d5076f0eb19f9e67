"""The shape of the code: short functions, small files, nothing said twice, docstrings that say something, no circles."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import riemdp
from code_size import DOCUMENTED, code_lines

PACKAGE = Path(riemdp.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


# --- sizes ----------------------------------------------------------------------------------------------------


def body_lines(function):
    """From the first line after the docstring to the last."""
    body = function.body[ast.get_docstring(function) is not None :]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    lengths = sorted(body_lines(node) for node in nodes if isinstance(node, FUNCTIONS))
    assert len(lengths) > 1000
    assert lengths[len(lengths) // 2] <= 5
    assert lengths[int(0.9 * len(lengths))] <= 15


def test_files_fit_into_one_sitting():
    lines = {file.relative_to(PACKAGE).as_posix(): code_lines(file) for file in FILES}
    assert {name: count for name, count in lines.items() if count > 450} == {}
    assert max(lines.values()) > 300  # what is counted is there


# --- repetitions ----------------------------------------------------------------------------------------------

LONGEST = 8  # lines that may stand in two places


def saying(text):
    """(number, text) of the lines that say something: not those of imports, comments or mere punctuation."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return [(number, line) for number, line in lines if re.search(r"\w", line) and not re.match("#|import |from ", line)]


def repeated(texts):
    """Places at which the same lines begin, more of them than may."""
    places = defaultdict(list)
    for name, text in texts.items():
        lines = saying(text)
        for i in range(len(lines) - LONGEST):
            places[tuple(line for _, line in lines[i : i + LONGEST + 1])].append(f"{name}:{lines[i][0]}")
    return [found for found in places.values() if len(found) > 1]


def test_nothing_long_is_said_twice():
    """Word for word; docs/decisions/0033-repetitions.md has what is only alike."""
    texts = {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in FILES}
    assert repeated(texts) == []


def test_repetitions_are_found():
    once = "".join(f"step_{i}()\n" for i in range(LONGEST + 1))
    assert repeated({"a": once, "b": once}) == [["a:1", "b:1"]]
    assert repeated({"a": f"{once}\n    # why\n{once}"}) == [["a:1", "a:12"]]
    assert repeated({"a": once, "b": once.replace("step_4", "other")}) == []


# --- docstrings -----------------------------------------------------------------------------------------------


def docstrings(tree):
    """(name, docstring) of everything that has one."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, DOCUMENTED))
    return [(getattr(node, "name", "module"), text) for node in nodes if (text := ast.get_docstring(node))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_a_docstring_is_more_than_a_few_words(file):
    """'Exact.' or 'Of the list.' tells nothing to whoever does not know it already; formulas count by their parts."""
    assert [(name, text) for name, text in docstrings(TREES[file]) if len(text.split()) < 4] == []


# --- imports --------------------------------------------------------------------------------------------------


def module_name(file):
    parts = ("riemdp", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): tree for file, tree in TREES.items()}


def imported(name, tree):
    """The package's modules that a module imports, at its top, in functions and for its types alike."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{name}, line {node.lineno}: imports are absolute"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {node.module}
    return found & MODULES.keys() - {name}


def cycle(graph):
    """Modules that import one another in a circle, first and last the same; none: an empty list."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        path.append(node)
        found = next(filter(None, map(visit, sorted(graph[node]))), [])
        path.pop()
        done.add(node)
        return found

    return next(filter(None, map(visit, sorted(graph))), [])


def test_circles_are_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_imports_in_functions_and_for_types_count():
    for_types = "if TYPE_CHECKING:\n    from riemdp.errors import InputError\n"
    in_function = "def f():\n    from riemdp import check\n    import numpy\n"
    assert imported("riemdp.somewhere", ast.parse(for_types + in_function)) == {"riemdp.errors", "riemdp.check"}


def test_no_module_imports_itself_by_way_of_others():
    graph = {name: imported(name, tree) for name, tree in MODULES.items()}
    assert sum(map(len, graph.values())) > 300
    assert cycle(graph) == []
