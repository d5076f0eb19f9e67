"""What pages that people read in a browser are made of: one HTML file without scripts that loads nothing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from riemdp.display import ABREAST, Numbers, Table, escape, numbers_html, table_html
from riemdp.plots import figure_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Everything that is not a literal here passes through escape().


def whole_page(heading: str, version: str, top: str, sections: Iterable[str]) -> str:
    """The template, filled: what comes first, and sections, some of which may be empty."""
    body = "\n".join([top, '<div class="sections">', *filter(None, sections), "</div>"])
    template = Template(files("riemdp").joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(heading), version=escape(version), body=body)


def section(heading: str, *content: str) -> str:
    """A part of the page with a heading; content may be empty."""
    return "\n".join(["<section>", f"<h2>{escape(heading)}</h2>", *filter(None, content), "</section>"])


def rows_html(table: Table, kind: str = "rows") -> str:
    """A table whose rows become lists on the screen of a phone."""
    return f'<div class="{kind}">{table_html(table)}</div>'


def items(texts: Iterable[str]) -> str:
    """A list of these texts in HTML."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def data_uri(content: bytes, kind: str) -> str:
    """A file within the page."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def image(figure: Figure) -> str:
    """A figure within the page, as vector graphics."""
    return data_uri(figure_bytes(figure, ".svg"), "image/svg+xml")


def figure_html(source: str, alt: str, caption: str, narrow: str = "") -> str:
    """A picture; `narrow` is another one for the screen of a phone."""
    sources = {"roomy": source, "narrow": narrow} if narrow else {"": source}
    images = "".join(f'<img class="{kind}" src="{one}" alt="{escape(alt)}">' for kind, one in sources.items())
    return f"<figure>{images}<figcaption>{escape(caption)}</figcaption></figure>"


def both_widths(draw: Callable[..., Figure], alt: str, caption: str) -> str:
    """The picture with panels side by side, and for the screen of a phone below one another."""
    wide, narrow = (image(draw(stacked=stacked)) for stacked in (False, True))
    return figure_html(wide, alt, caption, narrow)


def numbers_tables(numbers: Numbers) -> str:
    """As one table; where there is no room for all of its columns, as several below one another."""
    whole = numbers_html(numbers)
    if not numbers.is_small or numbers.array.ndim < 2 or numbers.array.shape[1] <= ABREAST:
        return whole
    return f'<div class="roomy">{whole}</div><div class="narrow">{numbers_html(numbers, ABREAST)}</div>'


def facts_html(rows: Iterable[tuple[str, str]]) -> str:
    """Names and texts as a table in HTML."""
    return rows_html(Table((), [*rows]), "facts")
