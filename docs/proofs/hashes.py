"""Proofs and code, kept together: `python docs/proofs/hashes.py` checks, `--update` accepts the code as it is.

A line `proves: module.name sha256:<hash>` at the end of a proof names a function, class, method or constant and
the hash of its syntax tree, without comments, docstrings and layout. When the code changes, the hash no longer
fits: read the proof again, mend it if need be, and only then update the hash.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent  # and what is beneath it
LINE = re.compile(r"^proves: (?P<name>[\w.]+) sha256:(?P<hash>\w+)$", re.MULTILINE)


def digest(node: ast.AST) -> str:
    """First 16 hex digits of the sha256 of a syntax tree; the same in every version of Python."""
    return hashlib.sha256(_text(node).encode()).hexdigest()[:16]


def _text(value: object) -> str:
    """The tree as text. Empty fields are left out, since versions differ in which ones they have."""
    if isinstance(value, ast.AST):
        fields = {name: part for name, part in ast.iter_fields(value) if part not in (None, [])}
        if isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            fields["body"] = value.body[ast.get_docstring(value, clean=False) is not None :]
        return f"{type(value).__name__}({', '.join(f'{k}={_text(v)}' for k, v in sorted(fields.items()))})"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)


def find(name: str) -> ast.AST:
    """The definition of a dotted name, in the source of the module that has it."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        if spec is not None and spec.origin is not None:
            return _descend(ast.parse(Path(spec.origin).read_text()), parts[cut:], name)
    raise LookupError(f"{name}: no such module")


def _descend(tree: ast.AST, path: list[str], name: str) -> ast.AST:
    for part in path:
        found = [node for node in getattr(tree, "body", []) if part in _names(node)]
        if not found:
            raise LookupError(f"{name}: no such definition")
        tree = found[-1]
    return tree


def _names(node: ast.AST) -> list[str]:
    """What a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [item.id for target in targets if target for item in ast.walk(target) if isinstance(item, ast.Name)]


def proved(folder: Path = FOLDER) -> dict[str, list[Path]]:
    """Every name that some proof names, and the proofs."""
    names: dict[str, list[Path]] = {}
    for proof in sorted(folder.rglob("*.md")):
        for match in LINE.finditer(proof.read_text()):
            names.setdefault(match["name"], []).append(proof)
    return names


def stale(folder: Path = FOLDER) -> list[str]:
    """One line for each proof that does not fit the code."""
    complaints = []
    for proof in sorted(folder.rglob("*.md")):
        for match in LINE.finditer(proof.read_text()):
            try:
                now = digest(find(match["name"]))
            except LookupError as error:
                complaints.append(f"{proof.name}: {error}")
                continue
            if now != match["hash"]:
                complaints.append(f"{proof.name}: {match['name']} has changed (sha256:{now})")
    return complaints


def update(folder: Path = FOLDER) -> None:
    """Write the present hashes into the proofs."""
    for proof in sorted(folder.rglob("*.md")):
        text = proof.read_text()
        fresh = LINE.sub(_refreshed, text)
        if fresh != text:
            proof.write_text(fresh)


def _refreshed(line: re.Match[str]) -> str:
    """The line with the present hash; as it was if there is nothing of that name."""
    try:
        return f"proves: {line['name']} sha256:{digest(find(line['name']))}"
    except LookupError:
        return line[0]


def main(arguments: list[str]) -> int:
    """Check, or update with `--update`; 1 if some proof does not fit."""
    if "--update" in arguments:
        update()
    complaints = stale()
    print("\n".join(complaints) or f"{len(proved())} proved definitions, all unchanged")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
