"""What mkdocstrings does not do for the reference: tables at the heads of pages, links, entries with several names.

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
FIELD = '<li class="doc-section-item field-body">'
_ITEM = FIELD + r"\s*<b><code>[*\w]+</code></b>\s*\(<code>as of {of}</code>[^–]*–\s*{told}\s*</li>"
_FIRST = _ITEM.format(of=r"(?P<of>[\w.]+)", told=r'(?P<told><div class="doc-md-description">.*?</div>)')
SHARED = re.compile(rf"{_FIRST}(?:\s*{_ITEM.format(of='(?P=of)', told='(?P=told)')})*", re.DOTALL)


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Called by mkdocs."""
    if PLACE not in markdown:
        return markdown
    rows = [f"| [`{path.rpartition('.')[2]}`][{path}] | {_summary(path, config)} |" for path in NAME.findall(markdown)]
    return markdown.replace(PLACE, "\n".join(["| name | what it is |", "|---|---|", *rows]))


def on_page_content(html: str, config: Any, **_: Any) -> str:
    """Called by mkdocs."""
    places = _places(Path(config.docs_dir))
    linked = SEE_ALSO.sub(lambda found: found[1] + _links(found, places), html)
    return SHARED.sub(lambda found: shared_entry(found, places), linked)


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


def shared_entry(found: Match[str], places: dict[str, str]) -> str:
    """Parameters "a, b : as of name" as one entry: mkdocstrings makes several, all with the default of the first."""
    names = ", ".join(re.findall(r"<b><code>[*\w]+</code></b>", found[0]))
    return f"{FIELD}{names} (as of {_link(found['of'], places)}) – {found['told']}</li>"
