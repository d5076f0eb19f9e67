"""What mkdocstrings does not do for the reference: a table at the head of each page, and links in "See Also".

A page says by the comment `<!-- summary -->` where its table is to be: every name that it shows (`::: name`), with the
first line of its docstring.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from pathlib import Path
from re import Match
from typing import Any

import griffe

PLACE = "<!-- summary -->"
NAME = re.compile(r"^::: (\S+)$", re.MULTILINE)
MARKED = re.compile(r"(`[^`]*`|\*\*[^*]+\*\*|\*[^*\s]+\*)")  # code and emphasis, which keep their meaning
MEANT_AS_TEXT = str.maketrans({"|": r"\|", "<": "&lt;", "*": r"\*", "_": r"\_"})
SEE_ALSO = re.compile(r'(<details class="see-also"[^>]*>\s*<summary>[^<]*</summary>\s*)<p>(.*?)</p>', re.DOTALL)


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Called by mkdocs."""
    if PLACE not in markdown:
        return markdown
    rows = [f"| [`{path.rpartition('.')[2]}`][{path}] | {_summary(path, config)} |" for path in NAME.findall(markdown)]
    return markdown.replace(PLACE, "\n".join(["| name | what it is |", "|---|---|", *rows]))


def on_page_content(html: str, config: Any, **_: Any) -> str:
    """Called by mkdocs."""
    return SEE_ALSO.sub(lambda found: found[1] + _links(found, _places(Path(config.docs_dir))), html)


def _summary(path: str, config: Any) -> str:
    """The first line of a docstring."""
    source = Path(config.config_file_path).parent / "src"
    found = _package(source)[path.removeprefix("riemdp.")].docstring
    parts = MARKED.split(found.value.partition("\n")[0]) if found else []
    return "".join(part if i % 2 else part.translate(MEANT_AS_TEXT) for i, part in enumerate(parts))


@lru_cache(maxsize=1)
def _package(source: Path) -> Any:
    """The package as its sources are: nothing of it is imported."""
    return griffe.load("riemdp", search_paths=[source])


@lru_cache(maxsize=1)
def _places(docs: Path) -> dict[str, str]:
    """The path under which each name is shown."""
    pages = (page.read_text(encoding="utf-8") for page in (docs / "reference").glob("*.md"))
    return {path.rpartition(".")[2]: path for page in pages for path in NAME.findall(page)}


def _links(found: Match[str], places: dict[str, str]) -> str:
    """Lines "name, name : what they are" as a list whose names lead there."""
    lines = (line.partition(" : ") for line in unescape(found[2]).splitlines())
    named = ((", ".join(_link(name, places) for name in names.strip().split(", ")), text) for names, _, text in lines)
    return f"<ul>{''.join(f'<li>{links}: {text}</li>' for links, text in named)}</ul>"


def _link(name: str, places: dict[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return f'<autoref identifier="{places[first]}{dot}{rest}"><code>{name}</code></autoref>'
