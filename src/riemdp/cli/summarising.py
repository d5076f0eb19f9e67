"""`riemdp summary` and `riemdp compare`: how records vary around their mean, and whether two means differ.

The second reads two files of the first and nothing else: post-processing, which spends nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.output import (
    PAGE_FORMATS,
    PICTURE_FORMATS,
    check_outputs,
    facts,
    next_steps,
    saved_release,
    show,
    title,
)
from riemdp.cli.releasing import Kind, Request, carry_out, rehearsed
from riemdp.cli.workers import Workers
from riemdp.display import page_of
from riemdp.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from riemdp.comparison import Comparison
    from riemdp.summaries.summary import Summary


def _picture_of_summary(summary: Summary, names: tuple[str, ...] | None) -> Figure:
    from riemdp.plots import plot_summary

    return plot_summary(summary, names=names)


SUMMARY = Kind("summary", (".json",), _picture_of_summary, is_whole_on_screen=False)
_SAVED = "What riemdp summary --out wrote, .json."


@o.takes_guarantee
@o.unfolded
def summary(
    request: Request,
    crew: Workers,
    second: o.SecondOption = "auto",
    mechanism: o.MechanismOption = "auto",
    adapt: o.AdaptOption = False,
) -> None:
    """Release mean, spread and modes of the records at once.

    With Gaussian noise the spread costs nothing: the mean is as exact as alone.

    \b
    riemdp summary X.npy --space spd-affine --center identity --radius 1.5 --mu 1 --out summary.json
    riemdp summary leaves.npy --space kendall --center template.npy --radius 0.3 --mu 1 --adapt --report summary.html
    riemdp summary visits.csv --header --groups patient --unit patient --space sphere --center north --radius 1 --mu 1
    riemdp summary large.npy --space spd-log-euclidean --eigenvalues 1e-3 9 --mu 1 --second trace --plot summary.png
    """
    from riemdp.statistics.moments import Moments

    asked = {"mechanism": mechanism, "adapt": adapt, "statistic": Moments(second)}
    carry_out(request, SUMMARY, partial(rehearsed, request, asked, None), crew=crew)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help=_SAVED)],
    second: Annotated[Path, typer.Argument(metavar="B", help=_SAVED)],
    report: o.ReportOption = None,
    plot: o.PlotOption = None,
    names: o.NamesOption = None,
    force: o.ForceOption = False,
    as_json: o.JsonOption = False,
) -> None:
    """Tell whether the means of two groups of different people differ: needs no data and no budget.

    \b
    riemdp compare controls.json patients.json
    riemdp compare controls.json patients.json --report groups.html --plot groups.png
    """
    from riemdp.comparison import compare as compared

    wanted = {"--report": (report, PAGE_FORMATS), "--plot": (plot, PICTURE_FORMATS)}
    check_outputs(wanted, [first, second, names], force=force)
    if first.resolve() == second.resolve():
        raise InputError(f"{first} is given twice: pass the summaries of two groups of different people.")
    groups = (_summary_in(first), _summary_in(second))
    found = compared(*groups)
    details = {"labels": _labels(first, second), "names": o.parse_names(names, groups[0].space)}
    _draw(groups, report, plot, force=force, **details)
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    page = page_of(found, details["labels"])
    written = {"written": ", ".join(str(path) for path in (report, plot) if path)} if report or plot else {}
    show(title(page.title), facts(page.facts | written), next_steps(*_next(found, report)))


def _summary_in(path: Path) -> Summary:
    from riemdp.summaries.summary import Summary

    release = saved_release(path, "riemdp summary --out")
    if not isinstance(release, Summary):
        raise InputError(f"{path} does not tell how much records vary: pass what riemdp summary --out wrote.")
    return release


def _labels(first: Path, second: Path) -> tuple[str, str]:
    """The names of the files, with their folders where the names are the same."""
    if first.stem != second.stem:
        return first.stem, second.stem
    return str(first.with_suffix("")), str(second.with_suffix(""))


def _draw(
    groups: tuple[Summary, Summary], report: Path | None, plot: Path | None, *, force: bool, **details: Any
) -> None:
    if report is not None:
        from riemdp.group_report import write_comparison

        write_comparison(*groups, report, force=force, **details)
    if plot is not None:
        from riemdp.plots import plot_comparison, save_figure

        save_figure(plot_comparison(*groups, **details), plot, force=force)


def _next(found: Comparison, report: Path | None) -> list[str]:
    """What to look at, and what the answer is worth."""
    from riemdp.regions import LEVEL

    seen = "Open" if report else "Add --report groups.html for"
    page = f"{seen} {report} in a browser" if report else f"{seen} a page with both means and their regions"
    if found.p_value >= 1 - LEVEL:
        return [f"{page}.", "A difference that is not seen may still be there: riemdp plan tells what noise hides."]
    return [f"{page}.", "Every further comparison is one more chance of a false alarm: count them."]
