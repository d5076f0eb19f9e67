"""Scripts in the percent format, as pages and as notebooks: one source, and no program but Python's own.

A line `# %% [markdown]` begins a cell of text, in comments; a line `# %%` begins a cell of code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).resolve().parent / "gallery"
PICTURES = GALLERY.parent / "assets" / "gallery"


@dataclass(frozen=True)
class Cell:
    """Text or code, without empty lines around it."""

    is_text: bool
    content: str


@dataclass(frozen=True)
class Example:
    """A script of the gallery; its first cell is its title and what it is about."""

    name: str
    cells: tuple[Cell, ...]

    @classmethod
    def read(cls, path: Path) -> Example:
        """From a file."""
        _, *parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        marks, bodies = parts[::2], parts[1::2]
        cells = (_cell("[markdown]" in mark, body) for mark, body in zip(marks, bodies, strict=True))
        return cls(path.stem, tuple(cells))

    @property
    def title(self) -> str:
        """Its first line."""
        return self.cells[0].content.splitlines()[0].removeprefix("# ")

    @property
    def picture(self) -> str:
        """The picture that it makes, in Markdown."""
        return f"![{self.title}](../assets/gallery/{self.name}.png)"

    def page(self) -> str:
        """Markdown: text, and code in fences; the picture first."""
        top, *rest = self.cells
        intro = f"{top.content}\n\n{self.picture}\n\nThe same as a [notebook]({self.name}.ipynb)."
        blocks = (cell.content if cell.is_text else f"```python\n{cell.content}\n```" for cell in rest)
        return "\n\n".join([intro, *blocks]) + "\n"

    def notebook(self) -> str:
        """Jupyter's format, version 4.5, without results; the picture is the one of the page."""
        top, *rest = self.cells
        cells = [Cell(True, f"{top.content}\n\n{self.picture}"), *rest]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        book = {
            "cells": [_as_json(i, cell) for i, cell in enumerate(cells)],
            "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def examples() -> list[Example]:
    """All of the gallery, by name."""
    return [Example.read(path) for path in sorted(GALLERY.glob("*.py"))]


def _cell(is_text: bool, body: str) -> Cell:
    lines = body.strip().splitlines()
    return Cell(is_text, "\n".join(re.sub("^# ?", "", line) if is_text else line for line in lines))


def _as_json(number: int, cell: Cell) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": cell.content.splitlines(keepends=True)}
    if cell.is_text:
        return {"cell_type": "markdown", **made}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **made}
