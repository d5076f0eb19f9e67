"""`riemdp plan` and `riemdp check`: what to know before a release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.bookkeeping import short
from riemdp.cli.output import MEANING, PICTURE_FORMATS, check_outputs, facts, first_pass_bar, show, table, title
from riemdp.cli.workers import Workers
from riemdp.errors import UselessRelease

if TYPE_CHECKING:
    from riemdp.check import Check
    from riemdp.privacy.release import Plan


def plan(
    space: o.SpaceOption,
    size: o.SizeOption,
    records: o.RecordsOption,
    radius: o.RadiusOption = None,
    center: o.CenterOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    curvature: o.CurvatureOption = None,
    epsilon: o.EpsilonOption = None,
    delta: o.DeltaOption = None,
    mu: o.MuOption = None,
    rho: o.RhoOption = None,
    alpha: o.AlphaOption = None,
    statistic: o.StatisticOption = "frechet-mean",
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
    """
    from riemdp.statistics.mean import doubts
    from riemdp.statistics.mean import plan as predict

    check_outputs({"--plot": (plot, PICTURE_FORMATS)}, [center], force=force)
    where = o.parse_space(space, size, curvature)
    ball = o.parse_ball(where, center or (None if eigenvalues else "origin"), radius, eigenvalues)
    guarantee = o.parse_guarantee(epsilon=epsilon, delta=delta, mu=mu, rho=rho, alpha=alpha)
    asked: dict[str, Any] = {"calibration": calibration, "statistic": statistic, "adapt": adapt}
    found = predict(ball, records, guarantee, **asked, spread=spread)
    if plot is not None:
        from riemdp.plots import plot_utility, save_figure

        save_figure(plot_utility(ball, guarantee, n=records, statistic=asked["statistic"]), plot, force=force)
    if as_json:
        typer.echo(json.dumps([_as_data(row) for row in found]))
        return
    names = ["mechanism", "expected error", "of the radius", "scale", "sensitivity"]
    show(
        title(f"{records:,} records of {where!r} in a ball of radius {ball.radius:.6g}, {short(guarantee)}"),
        table(names, (_cells(row, ball.radius) for row in found), numbers=names[1:]),
        f"Expected error: {MEANING}.",
        *(doubt.in_numbers for doubt in doubts(ball, records, guarantee, **asked) if doubt.kind is UselessRelease),
        *(f"{_name(row)}: {row.note}." for row in found if row.note),
        *([f"Picture: {plot}"] if plot else []),
    )


def _as_data(row: Plan) -> dict[str, Any]:
    return vars(row) | {"guarantee": row.guarantee.to_dict()}


def _name(row: Plan) -> str:
    return f"{row.mechanism}, adaptive" if row.rounds else row.mechanism


def _cells(row: Plan, radius: float) -> list[str]:
    share = f"{row.expected_error / radius:.3g}"
    return [_name(row), f"{row.expected_error:.4g}", share, f"{row.scale:.4g}", f"{row.sensitivity:.4g}"]


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
    workers: o.WorkersOption = None,
    scheduler: o.SchedulerOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Look at what a release would do to the records. NOT PRIVATE: for your own eyes.

    \b
    riemdp check covariances.npy --space spd-affine --center identity --radius 1.5
    """
    from riemdp.check import check as look
    from riemdp.io.data import open_records
    from riemdp.io.sources import reporting

    crew, stored = Workers(workers, scheduler), open_records(data, columns=columns, header=bool(header))
    where = o.space_of(stored, space, size, curvature)
    ball = o.parse_ball(where, center, radius, eigenvalues)
    with crew.at_work(), first_pass_bar() as progress, reporting(progress):
        found = look(stored.for_workers(where) if crew else stored.points(where), ball)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        show(*_pages(found, data, stored.remarks()))


def _pages(found: Check, data: str, remarks: list[str]) -> list[Any]:
    quantiles = ", ".join(f"{level:.0%}: {value:.4g}" for level, value in found.distances.items())
    rows = {
        "records": f"{found.n:,} in {data}",
        "inside": f"{found.inside:,}",
        "outside": f"{found.outside:,} (a release moves them onto the rim of the ball)",
        "unusable": f"{found.unusable:,} (a release takes the centre instead)",
        "distances": f"{quantiles or 'none'} (quantiles, to the centre; the radius is {found.radius:.4g})",
    }
    look_again = " ".join([*found.findings, *(f"{remark}." for remark in remarks)])
    rows |= {"look again": look_again} if look_again else {}
    warning = "NOT PRIVATE: for your own eyes. Do not publish this, and do not choose a ball or a budget by it."
    return [title(warning, "bold red"), facts(rows)]
