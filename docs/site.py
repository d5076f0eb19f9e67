"""What mkdocs does not do by itself: formulas without a script, and folders in the navigation.

$...$ and $$...$$ become MathML when the site is built. A navigation entry `folder/*` stands for all pages of a
folder, its README first, each under its own heading.
"""

from __future__ import annotations

from pathlib import Path
from re import Match
from typing import Any

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor


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


def _unfolded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, dict):
        return {title: _unfolded(content, docs) for title, content in entry.items()}
    if isinstance(entry, list):
        return [_unfolded(item, docs) for item in entry]
    return _pages(docs / entry.removesuffix("/*"), docs) if entry.endswith("/*") else entry


def _pages(folder: Path, docs: Path) -> list[str]:
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    return [page.relative_to(docs).as_posix() for page in pages]
