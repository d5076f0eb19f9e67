"""The table at the head of a reference page: every name on it, with the first line of its docstring.

A page says where by the comment `<!-- summary -->`; its names are those that mkdocstrings shows, `::: name`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import griffe

PLACE = "<!-- summary -->"
NAME = re.compile(r"^::: (\S+)$", re.MULTILINE)
MEANT_AS_TEXT = str.maketrans({"|": r"\|", "<": "&lt;", "*": r"\*", "_": r"\_", "^": r"\^"})


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Called by mkdocs."""
    if PLACE not in markdown:
        return markdown
    rows = [f"| [`{path.rpartition('.')[2]}`][{path}] | {_summary(path, config)} |" for path in NAME.findall(markdown)]
    return markdown.replace(PLACE, "\n".join(["| name | what it is |", "|---|---|", *rows]))


def _summary(path: str, config: Any) -> str:
    """The first line of a docstring, in which bold and code keep their meaning."""
    source = Path(config.config_file_path).parent / "src"
    found = _package(source)[path.removeprefix("riemdp.")].docstring
    line = found.value.partition("\n")[0] if found else ""
    parts = re.split(r"(`[^`]*`|\*\*[^*]+\*\*)", line)
    return "".join(part if i % 2 else part.translate(MEANT_AS_TEXT) for i, part in enumerate(parts))


@lru_cache(maxsize=1)
def _package(source: Path) -> Any:
    """The package as its sources are: nothing of it is imported."""
    return griffe.load("riemdp", search_paths=[source])
