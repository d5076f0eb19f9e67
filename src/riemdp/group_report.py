"""One page about two groups: whether their means differ, and what that supposes; post-processing of two summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riemdp.accounting.unit import counted
from riemdp.comparison import compare
from riemdp.display import Table, page_of, paragraph
from riemdp.io.files import write_whole
from riemdp.markup import both_widths, facts_html, rows_html, section, whole_page
from riemdp.plots import plot_comparison, symbolic
from riemdp.summaries.summary import Summary

if TYPE_CHECKING:
    from riemdp.plots.panels import Links


def write_comparison(
    a: Summary,
    b: Summary,
    path: str | Path,
    *,
    labels: Sequence[str] = ("a", "b"),
    names: Sequence[str] | None = None,
    links: Links | None = None,
    force: bool = False,
) -> None:
    """Write the page about two groups, whole or not at all.

    Parameters
    ----------
    a, b : Summary
        What `private_summary` returned, of the same space.
    path : str or Path
        A name that ends in `.html`.
    labels : (str, str)
        What the groups are called.
    names : sequence of str, optional
        Of rows and columns of matrices, entries of vectors, or landmarks: as many as there are.
    links : {'outline', 'path', 'none'} or sequence of pairs of int, optional
        Lines between landmarks in the picture, counted from 0.
    force : bool
        Whether to replace a file that is there already; otherwise that is refused.

    Raises
    ------
    InputError
        If they are no summaries of the same space, an argument does not fit them, or the file exists or cannot be
        written.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.0)
    >>> first, second = (rd.private_summary(rd.Sphere(2).random_point(500, i), ball, rd.GDP(1.0)) for i in (1, 2))
    >>> write_comparison(first, second, "groups.html", labels=("controls", "patients"))
    """
    found = page_of(compare(a, b), labels)
    asked: dict[str, Any] = {"labels": labels, "names": names, "links": links, "title": ""}
    picture = both_widths(partial(plot_comparison, a, b, **asked), f"{found.title}; numbers below.", CAPTION)
    lead = paragraph(f"{found.title}: {found.facts['in words']}. {COSTS_NOTHING}", "lead")
    sections = [section("Is it more than chance?", facts_html(found.facts.items())), _groups((a, b), labels)]
    page = _unbroken(whole_page(found.title, a.version, f"{lead}\n{picture}", sections))
    write_whole(path, page.encode(), force=force)


CAPTION = "The released means, and the regions that hold those of the populations with probability 95 %."
COSTS_NOTHING = "Made of two private releases and nothing else: it spends nothing, and their guarantees hold."


def _unbroken(html: str) -> str:
    """The page without line breaks between a number and %; of escaped texts, as `escape` shows no such space."""
    return re.sub(r"(?<=\d) %", "&nbsp;%", html)


def _groups(both: Iterable[Summary], labels: Sequence[str]) -> str:
    """What was released of each group."""
    head = ["group", "of", "guarantee", "noise in the mean", "dispersion"]
    rows = [(label, *_facts_of(one)) for label, one in zip(labels, both, strict=True)]
    return section("The two groups", rows_html(Table(head, rows, head[3:])))


def _facts_of(group: Summary) -> tuple[str, str, str, str]:
    number, promise = counted(group.n, group.unit), symbolic(group.guarantee)
    return number, promise, f"{group.expected_error:.3g}", f"{group.dispersion:.4g}"
