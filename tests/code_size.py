"""How long files are, for the tests that keep them short."""

from __future__ import annotations

import ast
from pathlib import Path

DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def code_lines(path: Path) -> int:
    """All lines but those of docstrings, of which public names have long ones."""
    text = path.read_text("utf-8")
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED) and ast.get_docstring(node))
    told = sum(node.body[0].end_lineno - node.body[0].lineno + 1 for node in nodes)
    return len(text.splitlines()) - told
