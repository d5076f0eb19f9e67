"""`riemdp median` and `riemdp regress`: what is made of many small releases, from a file to a release.

Everything that can fail is tried before the ledger is touched, as with `riemdp mean`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.releasing import Outputs, finish, note_for, open_ledger, raise_doubts, released
from riemdp.errors import InputError

if TYPE_CHECKING:
    from riemdp.io.stores import Columns
    from riemdp.privacy.bounded import Ball

ON = "--on"
OutOption = Annotated[
    Path | None, typer.Option("--out", help="The value (.npy), or the whole release (.json).", rich_help_panel=o.OUTPUT)
]
ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Page that explains the release, .html.", rich_help_panel=o.OUTPUT)
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=o.OUTPUT)]
WidthOption = Annotated[
    float | None, typer.Option("--width", help="Within which records count as for a mean; by default from the records.")
]
OnOption = Annotated[
    str, typer.Option(ON, metavar="FILE|FILE:KEY|COLUMN", help="The number of each record: a file or a column of DATA.")
]
BoundsOption = Annotated[
    tuple[float, float], typer.Option("--bounds", metavar="LOW HIGH", help="Of the numbers: public.")
]
PrivateRadius = Annotated[
    bool, typer.Option("--adapt", help="Spend part of the budget on a private radius of the residuals.")
]


@dataclass(frozen=True)
class _Place:
    """Where the records are, as options say it."""

    data: str
    space: str
    center: str | None
    radius: float | None
    eigenvalues: tuple[float, float] | None
    size: int | None
    curvature: float | None
    columns: str | None
    header: bool | None

    def opened(self, without: Columns | None) -> tuple[Any, Ball]:
        """The records and their ball; some column of the table may be something else."""
        from riemdp.io.data import open_records

        stored = open_records(self.data, columns=self.columns, header=bool(self.header), without=without)
        where = o.space_of(stored, self.space, self.size, self.curvature)
        ball = o.parse_ball(where, self.center, self.radius, self.eigenvalues)
        return stored.points(where), ball


def _refuse_silence(outputs: Outputs, *, quiet: bool, as_json: bool) -> None:
    if quiet and outputs.out is None and not as_json:
        raise InputError("--quiet without --out would lose the release: pass --out release.json.")


@o.takes_guarantee
def median(
    data: o.RecordsArgument,
    space: o.SpaceOption,
    guarantee: o.Promise,
    center: o.CenterOption = None,
    radius: o.RadiusOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    size: o.InferredSize = None,
    curvature: o.CurvatureOption = None,
    columns: o.ColumnsOption = None,
    header: o.HeaderOption = None,
    groups: o.GroupsOption = None,
    unit: o.UnitOption = None,
    width: WidthOption = None,
    anyway: o.AnywayOption = False,
    ledger: o.LedgerOption = None,
    existing_ledger: o.ExistingOption = False,
    anchor: o.AnchorOption = None,
    note: o.NoteOption = None,
    budget_epsilon: o.BudgetOption = None,
    budget_delta: o.BudgetOption = None,
    budget_mu: o.BudgetOption = None,
    budget_rho: o.BudgetOption = None,
    budget_alpha: o.BudgetOption = None,
    wait: o.WaitOption = 30.0,
    out: OutOption = None,
    report: ReportOption = None,
    plot: o.PlotOption = None,
    names: o.NamesOption = None,
    force: o.ForceOption = False,
    as_json: o.JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Release a differentially private geometric median: outliers move it little.

    The ball and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp median covariances.npy --space spd-affine --center identity --radius 4 --mu 1 --out median.json
    riemdp median visits.csv --header --groups patient --unit patient --space sphere --center north --radius 1 --mu 1
    """
    from riemdp.accounting.unit import unit_of
    from riemdp.privacy.bounded import Bounded
    from riemdp.statistics.median import Median

    budget = o.parse_budget(
        epsilon=budget_epsilon, delta=budget_delta, mu=budget_mu, rho=budget_rho, alpha=budget_alpha
    )
    outputs = Outputs(out, report, plot, force, o.about_lines(data, header, columns))
    outputs.check(data, ledger, anchor, center, names)
    _refuse_silence(outputs, quiet=quiet, as_json=as_json)
    protected, who = unit_of(groups, unit), o.parse_groups(groups, data, header)
    place = _Place(data, space, center, radius, eigenvalues, size, curvature, columns, header)
    X, ball = place.opened(who.column)
    outputs = replace(outputs, names=o.parse_names(names, ball.space))
    records = Bounded(X, ball, who.ids)
    asked = Median(ball, records.n, guarantee, width, protected)
    raise_doubts(asked.doubts, anyway=anyway, quiet=quiet)
    book = open_ledger(ledger, budget, guarantee, wait=wait, anchor=anchor, must_exist=existing_ledger)
    release = released(partial(asked.release, records), guarantee, book, note_for(data, note))
    finish(release, book, outputs, as_json=as_json, quiet=quiet)


@o.takes_guarantee
def regress(
    data: o.RecordsArgument,
    on: OnOption,
    bounds: BoundsOption,
    space: o.SpaceOption,
    guarantee: o.Promise,
    center: o.CenterOption = None,
    radius: o.RadiusOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    size: o.InferredSize = None,
    curvature: o.CurvatureOption = None,
    columns: o.ColumnsOption = None,
    header: o.HeaderOption = None,
    groups: o.GroupsOption = None,
    unit: o.UnitOption = None,
    adapt: PrivateRadius = False,
    anyway: o.AnywayOption = False,
    ledger: o.LedgerOption = None,
    existing_ledger: o.ExistingOption = False,
    anchor: o.AnchorOption = None,
    note: o.NoteOption = None,
    budget_epsilon: o.BudgetOption = None,
    budget_delta: o.BudgetOption = None,
    budget_mu: o.BudgetOption = None,
    budget_rho: o.BudgetOption = None,
    budget_alpha: o.BudgetOption = None,
    wait: o.WaitOption = 30.0,
    out: OutOption = None,
    report: ReportOption = None,
    plot: o.PlotOption = None,
    names: o.NamesOption = None,
    force: o.ForceOption = False,
    as_json: o.JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Release how points change with a number of each record: a differentially private geodesic.

    The ball, the bounds of the numbers and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp regress skulls.npz:rats --on skulls.npz:days --bounds 0 200 --space kendall --center template.npy \\
        --radius 0.3 --mu 1 --adapt --out growth.json --plot growth.png
    riemdp regress scans.csv --header --on age --bounds 20 90 --space sphere --center north --radius 1 --mu 1
    riemdp regress visits.csv --header --on age --bounds 20 90 --groups patient --unit patient --space sphere \\
        --center north --radius 1 --mu 1
    """
    from riemdp.accounting.unit import unit_of
    from riemdp.io.groups import open_groups
    from riemdp.privacy.bounded import Bounded
    from riemdp.statistics.regression import GeodesicRegression, scaled

    budget = o.parse_budget(
        epsilon=budget_epsilon, delta=budget_delta, mu=budget_mu, rho=budget_rho, alpha=budget_alpha
    )
    outputs = Outputs(out, report, plot, force, o.about_lines(data, header, columns))
    outputs.check(data, ledger, anchor, center, names)
    _refuse_silence(outputs, quiet=quiet, as_json=as_json)
    protected, who = unit_of(groups, unit), o.parse_groups(groups, data, header)
    along = open_groups(on, data, header=bool(header), option=ON)
    place = _Place(data, space, center, radius, eigenvalues, size, curvature, columns, header)
    X, ball = place.opened(o.both_columns(along.column, who.column))
    outputs = replace(outputs, names=o.parse_names(names, ball.space))
    records = Bounded(X, ball, who.ids)
    asked = GeodesicRegression(ball, records.n, guarantee, bounds, adapt, protected)
    s = scaled(along.ids[:], records.given, asked.t_bounds)
    raise_doubts(asked.doubts, anyway=anyway, quiet=quiet)
    book = open_ledger(ledger, budget, guarantee, wait=wait, anchor=anchor, must_exist=existing_ledger)
    release = released(partial(asked.release, records, s), guarantee, book, note_for(data, note))
    finish(release, book, outputs, as_json=as_json, quiet=quiet)
