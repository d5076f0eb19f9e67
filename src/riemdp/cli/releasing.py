"""`riemdp mean`: the whole way from a file to a private mean.

Everything that can fail is tried before the ledger is touched: the records' shape, the ball, the mechanism, and
every path that will be written. Afterwards a release that was paid for is never lost: whatever cannot be written is
printed.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.app import BAD_INPUT, complain
from riemdp.cli.bookkeeping import balance, short
from riemdp.cli.output import MEANING, PICTURE_FORMATS, check_outputs, facts, pass_bars, show, title
from riemdp.cli.workers import Workers
from riemdp.errors import BudgetExceeded, InputError, RiemdpError

if TYPE_CHECKING:
    from riemdp.manifolds.base import Array
    from riemdp.privacy.bounded import Ball
    from riemdp.privacy.guarantee import Guarantee
    from riemdp.privacy.ledger import Ledger
    from riemdp.privacy.release import Release
    from riemdp.statistics.worth import Doubt

SHOWN = 100  # numbers of a value that are printed though a file holds them


def mean(
    data: o.RecordsArgument,
    space: o.SpaceOption,
    center: o.CenterOption = None,
    radius: o.RadiusOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    size: o.InferredSize = None,
    curvature: o.CurvatureOption = None,
    epsilon: o.EpsilonOption = None,
    delta: o.DeltaOption = None,
    mu: o.MuOption = None,
    rho: o.RhoOption = None,
    alpha: o.AlphaOption = None,
    mechanism: o.MechanismOption = "auto",
    statistic: o.StatisticOption = "frechet-mean",
    calibration: o.CalibrationOption = "analytic",
    footpoint: o.FootpointOption = None,
    adapt: o.AdaptOption = False,
    anyway: o.AnywayOption = False,
    ledger: Annotated[Path | None, typer.Option(help="File that keeps the budget.", rich_help_panel=o.BUDGET)] = None,
    budget_epsilon: o.BudgetOption = None,
    budget_delta: o.BudgetOption = None,
    budget_mu: o.BudgetOption = None,
    budget_rho: o.BudgetOption = None,
    budget_alpha: o.BudgetOption = None,
    wait: o.WaitOption = 30.0,
    workers: o.WorkersOption = None,
    scheduler: o.SchedulerOption = None,
    out: Annotated[
        Path | None, typer.Option(help="The value (.npy), or the whole release (.json).", rich_help_panel=o.OUTPUT)
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Page that explains the release, .html.", rich_help_panel=o.OUTPUT)
    ] = None,
    plot: o.PlotOption = None,
    as_json: o.JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=o.OUTPUT)] = False,
) -> None:
    """Release a differentially private Fréchet mean.

    The ball and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp mean covariances.npy --space spd-affine --center identity --radius 1.5 --epsilon 1 --out mean.npy
    riemdp mean X.npy --space spd-log-euclidean --eigenvalues 1e-6 3 --epsilon 1 --delta 1e-6 --report mean.html
    riemdp mean shapes.npz:leaves --space kendall --center template.npy --radius 0.3 --mu 0.5
    riemdp mean directions.csv --space sphere --center north --radius 1 --rho 0.1 --ledger ledger.db --budget-rho 1
    riemdp mean large.zarr --space spd-affine --center identity --radius 1.5 --mu 0.5 --workers 8
    """
    from riemdp.data import open_records

    guarantee = o.parse_guarantee(epsilon=epsilon, delta=delta, mu=mu, rho=rho, alpha=alpha)
    budget = o.parse_budget(
        epsilon=budget_epsilon, delta=budget_delta, mu=budget_mu, rho=budget_rho, alpha=budget_alpha
    )
    outputs = Outputs(out, report, plot)
    outputs.check(data, ledger, center, footpoint)
    if quiet and out is None and not as_json:
        raise InputError("--quiet without --out would lose the release: pass --out mean.npy.")
    crew, stored = Workers(workers, scheduler), open_records(data)
    where = o.space_of(stored, space, size, curvature)
    order = Order(
        stored.for_workers(where) if crew else stored.points(where),
        o.parse_ball(where, center, radius, eigenvalues),
        guarantee,
        mechanism,
        statistic,
        calibration,
        None if footpoint is None else o.load_point(footpoint, where, "--footpoint"),
        adapt,
    )
    order.rehearse()
    _raise_doubts(order.doubts(), anyway=anyway, quiet=quiet)
    with crew.at_work():
        book = _open_ledger(ledger, budget, guarantee, wait)
        _finish(order.release(book), book, outputs, as_json=as_json, quiet=quiet)


def _raise_doubts(doubts: list[Doubt], *, anyway: bool, quiet: bool) -> None:
    """Refuse, before anything is spent, what public numbers call worthless; say what is merely doubtful."""
    grave = [doubt.in_numbers for doubt in doubts if doubt.is_grave]
    if grave and not anyway:
        raise InputError(f"{' '.join(grave)} Nothing was spent; --anyway releases all the same.")
    for doubt in doubts if not quiet else []:
        complain(f"warning: {doubt.in_numbers}")


def _finish(release: Release, ledger: Ledger | None, outputs: Outputs, *, as_json: bool, quiet: bool) -> None:
    """Write and print what was paid for."""
    kept, drawn = outputs.keep(release), False
    try:
        drawn = outputs.draw(release, ledger)
    finally:  # whatever becomes of the pictures, what was paid for is printed
        if as_json or not kept:
            typer.echo(json.dumps(release.to_dict()))
        elif not quiet:
            show(*_pages(release, ledger, outputs, done=drawn))
    if not (kept and drawn):
        raise typer.Exit(BAD_INPUT)


@dataclass(frozen=True, repr=False)
class Order:
    """What is asked of `private_mean`, all but the ledger."""

    points: Any  # an array, slices of rows, or a Dask array
    ball: Ball
    guarantee: Guarantee
    mechanism: str
    statistic: str
    calibration: str
    footpoint: Array | None
    adapt: bool

    def rehearse(self) -> None:
        """Raise whatever the release would raise, from public things alone."""
        from riemdp.privacy.bounded import Bounded
        from riemdp.statistics.mean import rehearse

        records = Bounded(self.points, self.ball)
        rehearse(self.ball, records.n, self.guarantee, can_gather=records.can_gather, **self._asked)

    def doubts(self) -> list[Doubt]:
        """What public things say against the release."""
        from riemdp.privacy.bounded import Bounded
        from riemdp.statistics.mean import doubts

        records = Bounded(self.points, self.ball)
        return doubts(self.ball, records.n, self.guarantee, can_gather=records.can_gather, **self._asked)

    @property
    def _asked(self) -> dict[str, Any]:
        names = ("mechanism", "statistic", "calibration", "footpoint", "adapt")
        return {name: getattr(self, name) for name in names}

    def release(self, ledger: Ledger | None) -> Release:
        """The private mean, charged to the ledger."""
        from riemdp.sources import reporting
        from riemdp.statistics.mean import private_mean
        from riemdp.statistics.worth import settled

        try:
            with pass_bars("reading") as progress, reporting(progress), settled():
                return private_mean(self.points, self.ball, self.guarantee, **self._asked, ledger=ledger)
        except BudgetExceeded:
            assert ledger is not None
            left = ", ".join(f"{name} {text}" for name, text in balance(ledger).items())
            raise BudgetExceeded(_refusal(self.guarantee, f"what is left of {ledger.path} ({left})")) from None


def _refusal(guarantee: Guarantee, place: str) -> str:
    return f"{short(guarantee)} does not fit into {place}: nothing was released or spent; ask for less."


def _open_ledger(path: Path | None, budget: Guarantee | None, guarantee: Guarantee, wait: float) -> Ledger | None:
    """The ledger; a new one only if the guarantee fits into it."""
    from riemdp.privacy.ledger import Ledger

    if path is None and budget is not None:
        raise InputError("a budget needs a file to be kept in: pass --ledger FILE.")
    if path is None:
        return None
    if budget is not None and not os.path.lexists(path):
        _require_room(guarantee, budget)
    return Ledger(path, budget, timeout=wait)


def _require_room(guarantee: Guarantee, budget: Guarantee) -> None:
    """Refuse, before a ledger is made, what its first reservation would refuse."""
    from riemdp.privacy.guarantee import ApproxDP, compose

    if not isinstance(budget, ApproxDP):  # which has a place for every type
        compose([guarantee], like=budget)
    if not guarantee <= budget:
        raise BudgetExceeded(_refusal(guarantee, f"the budget {short(budget)}"))


@dataclass(frozen=True)
class Outputs:
    """The files that are asked for."""

    out: Path | None
    report: Path | None
    plot: Path | None

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [path for path in (self.out, self.report, self.plot) if path is not None]

    def check(self, *inputs: str | Path | None) -> None:
        """Before anything is spent: they can all be written."""
        formats = {
            "--out": (self.out, (".npy", ".json")),
            "--report": (self.report, (".html", ".htm")),
            "--plot": (self.plot, PICTURE_FORMATS),
        }
        check_outputs(formats, inputs)

    def keep(self, release: Release) -> bool:
        """Write the release itself; whether that went well."""
        out = self.out
        return out is None or _attempt(lambda: _write_release(release, out))

    def draw(self, release: Release, ledger: Ledger | None) -> bool:
        """Write report and picture; whether that went well."""
        done = True
        if (report := self.report) is not None:
            from riemdp.report import write_report

            done = _attempt(lambda: write_report(release, report, ledger=ledger))
        if (plot := self.plot) is not None:
            from riemdp.plots import plot_release, save_figure

            done = _attempt(lambda: save_figure(plot_release(release), plot)) and done
        return done


def _attempt(write: Callable[[], None]) -> bool:
    """Whether it could be written: the budget is spent already, so nothing may stop the rest."""
    try:
        write()
    except (RiemdpError, OSError, MemoryError) as problem:
        complain(f"the release was made and is printed here, but a file is missing: {problem}")
        return False
    return True


def _write_release(release: Release, path: Path) -> None:
    import numpy as np

    from riemdp.files import write_whole

    if path.suffix.lower() == ".json":
        release.save(path)
        return
    np.save(buffer := io.BytesIO(), release.value)
    write_whole(path, buffer.getvalue())


def _pages(release: Release, ledger: Ledger | None, outputs: Outputs, *, done: bool) -> list[Any]:
    """The release for people."""
    import numpy as np

    from riemdp.plots import STATISTIC_NAMES

    name = STATISTIC_NAMES.get(release.statistic, release.statistic)
    error = f"{release.expected_error:.4g}, {release.expected_error / release.radius:.2g} of the ball's radius"
    if release.stages:
        error += f", in a private ball of radius {release.ball.radius:.4g}"
    rows = {
        "guarantee": f"{short(release.guarantee)}, {release.guarantee.adjacency} adjacency",
        "mechanism": f"{release.mechanism}, scale {release.scale:.4g}, sensitivity {release.sensitivity:.4g}",
        "expected error": f"{error} ({MEANING})",
        "assuming": "; ".join(release.guarantee.assumptions),
    }
    if ledger is not None:
        rows["ledger"] = f"{ledger.path.name}: {_state(ledger)}"
    if outputs.paths and done:
        rows["written"] = ", ".join(map(str, outputs.paths))
    if outputs.out is None or release.value.size <= SHOWN:
        rows["value"] = np.array2string(release.value, precision=8, threshold=10**9, max_line_width=10**9)
    return [title(f"Private {name} of {release.n:,} records, {release.space!r}"), facts(rows)]


def _state(ledger: Ledger) -> str:
    """What is left; whatever happens to the ledger now, the release is printed."""
    try:
        state = balance(ledger)
        return f"{state['left']} left of {state['budget']}"
    except RiemdpError as problem:
        return str(problem)
