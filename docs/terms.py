"""Links to the glossary: on every page, where a word of it comes first.

The glossary is the only list of words. Each has a heading, and may have other forms in a line `Also: ...`.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

GLOSSARY = Path(__file__).resolve().parent / "glossary.md"
# Links, blocks of code, headings, formulas and pictures are left as they are.
OPAQUE = {"a", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "math", "svg", "script", "style", "summary", "th"}
# Words that are used in their ordinary sense as well are linked only from where they are the glossary's for sure.
ORDINARY = {"mean", "space", "shape", "composition", "person", "covariance", "region", "fill", "median"}


def anchor(heading: str) -> str:
    """As Python-Markdown makes it of a heading."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def terms(text: str | None = None) -> dict[str, str]:
    """Words of the glossary, in all their forms, and the anchors where they are explained; long ones first."""
    text = GLOSSARY.read_text(encoding="utf-8") if text is None else text
    found = {}
    for heading, body in re.findall(r"^## (.+)\n+(.*)", text, re.MULTILINE):
        also = body.removeprefix("Also: ").rstrip(".").split(", ") if body.startswith("Also: ") else []
        own = [] if heading.lower() in ORDINARY else [heading]
        found |= dict.fromkeys([*own, *also], anchor(heading))
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def pattern(words: list[str]) -> re.Pattern[str]:
    """Any of the words by itself, in the singular or plural, with a capital or not; abbreviations as they are."""
    exact = [re.escape(word) for word in words if word.isupper() or word == "zCDP"]
    loose = [re.escape(word) for word in words if not (word.isupper() or word == "zCDP")]
    return re.compile(rf"(?<![\w-])(?:((?i:{'|'.join(loose)}))s?|({'|'.join(exact)}))(?![\w-])")


def linked(html: str, glossary: str) -> str:
    """A page with a link to the glossary, at this address, where each of its words comes first."""
    known = terms()
    anchors = {word.lower(): place for word, place in known.items()}
    look, seen, closed = pattern(list(known)), set[str](), list[str]()

    def link(match: re.Match[str]) -> str:
        place = anchors[(match[1] or match[2]).lower()]
        if place in seen:
            return match[0]
        seen.add(place)
        return f'<a class="term" href="{glossary}#{place}">{match[0]}</a>'

    parts = re.split(r"(<!--.*?-->|<[^>]+>)", html, flags=re.DOTALL)
    for i, part in enumerate(parts):
        if tag := re.match(r"<(/?)(\w+)", part):
            _enter(closed, tag[2].lower(), leaves=bool(tag[1]), is_whole=part.endswith("/>"))
        elif not closed:
            parts[i] = look.sub(link, part)
    return "".join(parts)


def _enter(closed: list[str], tag: str, *, leaves: bool, is_whole: bool) -> None:
    """Keep count of the elements that are left as they are."""
    if tag not in OPAQUE or is_whole:
        return
    if leaves:
        closed.pop()
    else:
        closed.append(tag)
