"""`riemdp plan` and `riemdp check`: what to know before a release."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.output import (
    PICTURE_FORMATS,
    check_outputs,
    facts,
    first_pass_bar,
    next_steps,
    show,
    table,
    title,
)
from riemdp.cli.workers import Workers
from riemdp.display import page_of
from riemdp.errors import UselessRelease

if TYPE_CHECKING:
    from riemdp.check import Check
    from riemdp.releases.plan import Plan

SHARED = (  # options of `mean` and `summary` alike
    "space", "center", "radius", "eigenvalues", "curvature", "epsilon", "delta", "mu", "rho", "alpha", "adapt",
)  # fmt: skip
USUAL = {"statistic": "frechet-mean", "calibration": "analytic", "second": "auto"}


@o.takes_guarantee
def plan(
    context: typer.Context,
    space: o.SpaceOption,
    records: o.RecordsOption,
    guarantee: o.Promise,
    size: o.SizeOption = None,
    radius: o.RadiusOption = None,
    center: o.CenterOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    curvature: o.CurvatureOption = None,
    statistic: o.StatisticOption = "frechet-mean",
    second: o.SecondOption = "auto",
    calibration: o.CalibrationOption = "analytic",
    adapt: o.AdaptOption = False,
    spread: o.SpreadOption = None,
    plot: o.PlotOption = None,
    force: o.ForceOption = False,
    as_json: o.JsonOption = False,
) -> None:
    """Predict the error of every mechanism, without any data, best first.

    \b
    riemdp plan --space kendall --size 50 --records 409 --radius 0.2 --epsilon 1
    riemdp plan --space spd-affine --size 5 --records 1000 --eigenvalues 1e-3 10 --mu 0.5 --plot errors.png
    riemdp plan --space spd-affine --size 3 --records 1000 --radius 1.5 --epsilon 1 --statistic summary --second trace
    """
    from riemdp.statistics.mean import doubts, with_second
    from riemdp.statistics.mean import plan as predict

    check_outputs({"--plot": (plot, PICTURE_FORMATS)}, [center], force=force)
    where = o.parse_space(space, size, curvature)
    ball = o.parse_ball(where, center or (None if eigenvalues else "origin"), radius, eigenvalues)
    asked: dict[str, Any] = {"calibration": calibration, "adapt": adapt}
    asked |= {"statistic": with_second(statistic, second)}
    found = predict(ball, records, guarantee, **asked, spread=spread)
    if plot is not None:
        from riemdp.plots import plot_utility, save_figure

        save_figure(plot_utility(ball, guarantee, n=records, statistic=asked["statistic"]), plot, force=force)
    if as_json:
        typer.echo(json.dumps([_as_data(row) for row in found]))
        return
    page = page_of(found)
    useless = [doubt for doubt in doubts(ball, records, guarantee, **asked) if doubt.kind is UselessRelease]
    show(
        title(page.title),
        *map(table, page.tables),
        *page.notes[:1],
        *(doubt.in_numbers for doubt in useless),
        *page.notes[1:],
        *([f"Picture: {plot}"] if plot else []),
        _next(context.params),
    )


def _next(given: dict[str, Any]) -> Any:
    """The release that was planned, as a command: of what was asked, all but what it takes from the records."""
    name, own, saved = _command(given["statistic"])
    options = [text for option in (*SHARED, *own) for text in _typed(option, given[option])]
    center = [] if given["center"] or given["eigenvalues"] else ["--center", "origin"]
    command = shlex.join(["riemdp", name, "YOUR-FILE.npy", *options, *center])
    return next_steps(f"{command} --out {saved} --report {name}.html")


def _command(statistic: str) -> tuple[str, tuple[str, ...], str]:
    """What releases it, the options that only this takes, and a file that keeps all of it: of a mean, the point."""
    if statistic == "summary":
        return "summary", ("second",), "summary.json"  # always with the calibration that is enough
    return "mean", ("statistic", "calibration"), "mean.npy"


def _typed(name: str, value: Any) -> list[str]:
    """An option as it is typed: not at all, if it says what holds without it."""
    if value in (None, False, USUAL.get(name)):
        return []
    values = [] if value is True else value if isinstance(value, tuple) else [value]
    return [f"--{name}", *map(str, values)]


def _as_data(row: Plan) -> dict[str, Any]:
    return vars(row) | {"guarantee": row.guarantee.to_dict()}


def check(
    data: o.RecordsArgument,
    space: o.SpaceOption,
    center: o.CenterOption = None,
    radius: o.RadiusOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    size: o.InferredSize = None,
    curvature: o.CurvatureOption = None,
    columns: o.ColumnsOption = None,
    header: o.HeaderOption = None,
    groups: o.GroupsOption = None,
    workers: o.WorkersOption = None,
    scheduler: o.SchedulerOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Look at what a release would do to the records. NOT PRIVATE: for your own eyes.

    \b
    riemdp check covariances.npy --space spd-affine --center identity --radius 1.5
    riemdp check visits.csv --header --groups patient --space sphere --center north --radius 1
    """
    from riemdp.check import check as look
    from riemdp.io.data import open_records
    from riemdp.io.sources import reporting

    header = o.holds_names(header, data, columns, groups)
    crew, who = Workers(workers, scheduler), o.parse_groups(groups, data, header)
    stored = open_records(data, columns=columns, header=bool(header), without=who.column)
    where = o.space_of(stored, space, size, curvature)
    ball = o.parse_ball(where, center, radius, eigenvalues)
    with crew.at_work(), first_pass_bar() as progress, reporting(progress):
        found = look(stored.for_workers(where) if crew else stored.points(where), ball, groups=who.ids)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        show(*_pages(found, data, stored.remarks()))


def _pages(found: Check, data: str, remarks: list[str]) -> list[Any]:
    """The page of a look, and what to know of the file."""
    page = page_of(found)
    rows = page.facts | {"records": f"{page.facts['records']} in {data}"}
    look_again = " ".join([*found.findings, *(f"{remark}." for remark in remarks)])
    return [title(page.warning, "bold red"), facts(rows | ({"look again": look_again} if look_again else {}))]
