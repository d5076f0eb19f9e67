"""What mkdocs does not do by itself: formulas without a script, folders in the navigation, the gallery, the glossary.

$...$ and $$...$$ become MathML when the site is built. A navigation entry `folder/*` stands for all pages of a
folder, its README first, each under its own heading; `gallery/*` for the pages that its scripts become. Words of the
glossary are links where a page has them first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from re import Match
from typing import Any

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))  # mkdocs runs this file, but not from its folder

from percent import examples
from terms import linked

UNLINKED = ("glossary.md", "proofs/", "decisions/", "reference/")  # for readers who know the words


class Formula(InlineProcessor):
    """One formula, on lines of its own or within one."""

    def handleMatch(self, m: Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]  # noqa: ARG002
        """MathML, kept away from the rest of Markdown."""
        display, inline = m.groups()
        mathml = convert(display or inline, display="block" if display else "inline")
        return self.md.htmlStash.store(mathml), m.start(0), m.end(0)


class Formulas(Extension):
    """Before backslashes, underscores and asterisks get their meaning (180), after code has got its (190)."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the pattern."""
        md.inlinePatterns.register(Formula(r"\$\$(.+?)\$\$|\$([^$\s](?:[^$]*[^$\s])?)\$", md), "formula", 185)


def on_config(config: Any) -> Any:
    """Called by mkdocs."""
    config.markdown_extensions.append(Formulas())
    config.nav = [_unfolded(entry, Path(config.docs_dir)) for entry in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs: the pages of the gallery, which are its scripts."""
    for example in examples():
        files.append(File.generated(config, f"gallery/{example.name}.md", content=example.page()))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Called by mkdocs: links to the glossary."""
    if page.file.src_uri.startswith(UNLINKED):
        return html
    return linked(html, files.get_file_from_path("glossary.md").url_relative_to(page.file))


def _unfolded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, dict):
        return {title: _unfolded(content, docs) for title, content in entry.items()}
    if isinstance(entry, list):
        return [_unfolded(item, docs) for item in entry]
    if entry == "gallery/*":
        return [f"gallery/{example.name}.md" for example in examples()]
    return _pages(docs / entry.removesuffix("/*"), docs) if entry.endswith("/*") else entry


def _pages(folder: Path, docs: Path) -> list[str]:
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    return [page.relative_to(docs).as_posix() for page in pages]
