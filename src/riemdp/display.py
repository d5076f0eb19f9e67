"""How things show themselves: one page of facts, numbers and tables, as text where one prints, as HTML in a notebook.

What is on the page of which thing is said once, in `riemdp.pages`, and the command line and reports show the same rows.
This file knows no things, only what pages look like; whatever is shown passes through `printable` or `escape` here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from html import escape as escape_html
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import printable

T = TypeVar("T")
Array = NDArray[Any]

WIDTH = 100  # of lines that are wrapped
SHOWN = 100  # numbers of a value that are printed
MOST_ROWS, MOST_COLUMNS, FEW_ROWS = 200, 12, 12  # of numbers that are shown as tables; more than few are folded
ABREAST = 4  # columns of numbers that have room beside one another on a phone
DIGITS = 4  # of numbers in tables


@dataclass(frozen=True)
class Table:
    """Rows of texts below names; the first text of a row names it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[str] = ()  # names of columns that are set to the right
    caption: str = ""
    used: int | None = None  # a row to mark


@dataclass(frozen=True, eq=False)
class Numbers:
    """An array of one or two axes, with names for its rows and columns if it has some."""

    array: Array
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()

    @property
    def is_small(self) -> bool:
        """Whether all of it can be read in tables."""
        return len(self._grid) <= MOST_ROWS and self._grid.shape[1] <= MOST_COLUMNS

    @property
    def shape(self) -> str:
        """The shape of the array, as people write it: 3 × 2."""
        return " × ".join(map(str, self.array.shape))

    @property
    def _grid(self) -> Array:
        return self.array if self.array.ndim == 2 else self.array.reshape(-1, 1)

    def tables(self, abreast: int = MOST_COLUMNS) -> list[Table]:
        """All numbers, in tables of at most so many columns."""
        columns = self._column_names()
        each = -(-len(columns) // -(-len(columns) // abreast))  # about as many in each
        starts = range(0, len(columns), each)
        return [self._part(columns[i : i + each], self._grid[:, i : i + each]) for i in starts]

    def _part(self, columns: Sequence[str], grid: Array) -> Table:
        rows = zip(self._row_names(), grid, strict=True)
        return Table(["", *columns], [[name, *(f"{entry:.{DIGITS}g}" for entry in row)] for name, row in rows], columns)

    def _row_names(self) -> Sequence[str]:
        return self.rows or [str(i + 1) for i in range(len(self._grid))]

    def _column_names(self) -> Sequence[str]:
        return self.columns or (["value"] if self.array.ndim < 2 else [str(j + 1) for j in range(self._grid.shape[1])])

    def text(self, most: int | None = SHOWN, width: int = 10**9) -> str:
        """All numbers, in rows, after their names if they have some; or only how many there are."""
        if most is not None and self.array.size > most:
            return f"an array of shape {self.shape}: all of it is in .value"
        if not self.rows:
            return np.array2string(self.array, precision=8, threshold=10**9, max_line_width=width)
        heads = [["", *self.columns]] if self.columns else []
        cells = [[name, *(f"{entry:.8g}" for entry in row)] for name, row in zip(self.rows, self._grid, strict=True)]
        lines = _aligned([*heads, *cells], ["<", *[">"] * self._grid.shape[1]])
        return "\n".join(lines if max(map(len, lines)) <= width else self._wrapped_rows(width))

    def _wrapped_rows(self, width: int) -> list[str]:
        """Each row after its name, in as many lines as it takes."""
        widest = max(map(len, self.rows))
        names = [f"{name:<{widest}}  " for name in self.rows]
        how: dict[str, Any] = {"precision": 8, "threshold": 10**9, "max_line_width": width}
        return [name + np.array2string(row, prefix=name, **how) for name, row in zip(names, self._grid, strict=True)]


@dataclass(frozen=True)
class Page:
    """What is shown of a thing: a line by `repr`, all of it by `print` and in a notebook."""

    title: str
    facts: dict[str, str] = field(default_factory=dict)
    values: Sequence[Numbers] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    warning: str = ""  # before everything else
    line: str = ""  # for `repr`, if not the title


@singledispatch
def page_of(thing: Any, *details: Any) -> Page:  # noqa: ARG001
    """The page of a thing; `riemdp.pages` has those of riemdp's own, and a class of one's own can be registered.

    `details` say how to show it: of a release, the names of rows and columns.
    """
    raise TypeError(f"{type(thing).__name__} has no page: register one by @page_of.register.")


def shown(kind: type[T]) -> type[T]:
    """A class whose things show themselves by their pages; what it defines itself of these methods stays."""
    methods = {"__repr__": line_of, "__str__": text_of, "_repr_html_": html_of}
    for name in methods.keys() - vars(kind).keys():
        setattr(kind, name, methods[name])
    return kind


def line_of(thing: Any) -> str:
    """What a page says, in one line and in the brackets of what cannot be typed."""
    page = page_of(thing)
    return f"<{type(thing).__name__}: {printable(page.line or page.title)}>"


# --- text -----------------------------------------------------------------------------------------------------


def text_of(thing: Any) -> str:
    """The whole page as text."""
    page = page_of(thing)
    heads = [line for text in (page.warning, page.title) if text for line in _wrapped(text, WIDTH)]
    notes = [line for note in page.notes for line in _wrapped(note, WIDTH)]
    tables = [line for table in page.tables for line in ("", *table_lines(table))]
    return "\n".join([*heads, *_fact_lines(page), *tables, *([""] if tables and notes else []), *notes])


def _fact_lines(page: Page) -> Iterator[str]:
    indent = max(map(len, [*page.facts, "value"])) + 2
    texts = [(name, _wrapped(text, WIDTH - indent)) for name, text in page.facts.items()]
    for name, lines in [*texts, *(("value", value.text(width=WIDTH - indent).split("\n")) for value in page.values)]:
        yield from (f"{first:{indent}}{line}" for first, line in zip((name, *[""] * len(lines)), lines, strict=False))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(printable(text), max(width, 20), break_on_hyphens=False) or [""]


def table_lines(table: Table) -> list[str]:
    """A table in columns as wide as they need."""
    sides = [">" if name in table.numbers else "<" for name in table.head]
    lines = _aligned([[*map(printable, row)] for row in (table.head, *table.rows)], sides)
    return [lines[0], "─" * max(map(len, lines)), *lines[1:]]


def _aligned(rows: Sequence[Sequence[str]], sides: Sequence[str]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ([f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)] for row in rows)
    return ["   ".join(row).rstrip() for row in cells]


# --- HTML; everything that is not a literal here passes through escape() ----------------------------------------

STYLE = """<style>
.riemdp { max-width: 60rem; }
.riemdp table { border-collapse: collapse; font-size: inherit; margin: .3em 0; font-variant-numeric: tabular-nums; }
.riemdp th, .riemdp td { text-align: left; vertical-align: top; padding: .15em .8em .15em 0; }
.riemdp th { font-weight: 600; white-space: nowrap; }
.riemdp tbody th { font-weight: 500; }
.riemdp .number { text-align: right; }
.riemdp .warning { color: #c0392b; font-weight: 700; }
</style>"""


def html_of(thing: Any) -> str:
    """The whole page as HTML that looks like itself in any notebook, by day and by night."""
    page = page_of(thing)
    facts = Table((), [*page.facts.items()])
    parts = [paragraph(page.warning, "warning")] if page.warning else []
    parts += [f"<p><strong>{escape(page.title)}</strong></p>", *([table_html(facts)] if page.facts else [])]
    parts += [numbers_html(value) for value in page.values] + [table_html(table) for table in page.tables]
    parts += [paragraph(note) for note in page.notes]
    return f'<div class="riemdp">{STYLE}{"".join(parts)}</div>'


def escape(text: object) -> str:
    """Text that shows as itself in a page, whatever letters it has."""
    return escape_html(printable(text))


def paragraph(text: str, kind: str = "") -> str:
    """A text of its own, with the style of that name."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def numbers_html(numbers: Numbers, abreast: int = MOST_COLUMNS) -> str:
    """A table, or several with so many columns each; folded if it is long; or a word about what is too large."""
    if not numbers.is_small:
        return paragraph(f"An array of shape {numbers.shape}: too large to be shown here.", "note")
    tables, rows = "".join(map(table_html, numbers.tables(abreast))), len(numbers.array)
    return tables if rows <= FEW_ROWS else f"<details><summary>Show the {rows} rows</summary>{tables}</details>"


def table_html(table: Table) -> str:
    """A table; each cell knows the name of its column, for narrow screens where rows become lists."""
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    top = "".join(f'<th scope="col"{_kind(table, name)}>{escape(name)}</th>' for name in table.head)
    head = f"<thead><tr>{top}</tr></thead>" if table.head else ""
    marks = (" class=used" if i == table.used else "" for i in range(len(table.rows)))
    rows = "".join(f"<tr{mark}>{_cells(table, row)}</tr>" for mark, row in zip(marks, table.rows, strict=True))
    return f"<table>{caption}{head}<tbody>{rows}</tbody></table>"


def _cells(table: Table, row: Sequence[str]) -> str:
    first, *rest = row
    names = table.head[1:] or [""] * len(rest)
    labelled = zip(names, rest, strict=True)
    cells: Iterable[str] = (
        f'<td data-label="{escape(name)}"{_kind(table, name)}>{escape(text)}</td>' for name, text in labelled
    )
    return f'<th scope="row">{escape(first)}</th>{"".join(cells)}'


def _kind(table: Table, name: str) -> str:
    return ' class="number"' if name in table.numbers else ""
