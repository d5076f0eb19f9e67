"""`riemdp mean`, and what all commands that release something share: the whole way from a file to a release.

Everything that can fail is tried before the ledger is touched: the records' shape, the ball, the mechanism, and
every path that will be written. Afterwards a release that was paid for is never lost: whatever cannot be written is
printed.
"""

from __future__ import annotations

import io
import json
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from riemdp.cli import options as o
from riemdp.cli.app import BAD_INPUT, Interrupted, complain
from riemdp.cli.labels import ClassesOption, Labels, OptionalLabels
from riemdp.cli.output import (
    PAGE_FORMATS,
    PICTURE_FORMATS,
    check_outputs,
    entries,
    facts,
    first_pass_bar,
    next_steps,
    show,
    title,
)
from riemdp.cli.spending import WatchedLedger, spent_without_release, uninterrupted
from riemdp.cli.workers import Workers
from riemdp.display import SHOWN, page_of
from riemdp.errors import BudgetExceeded, InputError, RiemdpError, printable
from riemdp.pages import balance, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from riemdp.accounting.guarantee import Guarantee
    from riemdp.balls import Ball
    from riemdp.io.stores import Columns
    from riemdp.privacy.bounded import Bounded
    from riemdp.privacy.ledger import Ledger
    from riemdp.releases.release import Release
    from riemdp.statistics.worth import Doubt

    R = TypeVar("R", bound=Release)


def _picture_of_release(release: Release, names: tuple[str, ...] | None) -> Figure:
    from riemdp.plots import plot_release

    return plot_release(release, names=names)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What every command that releases something is asked, as it is typed.

    A command takes it by `@o.takes_guarantee @o.unfolded`, beside options of its own, and gives it to `carry_out`.
    """

    data: o.RecordsArgument
    space: o.SpaceOption
    guarantee: o.Promise
    center: o.CenterOption = None
    radius: o.RadiusOption = None
    eigenvalues: o.EigenvaluesOption = None
    size: o.InferredSize = None
    curvature: o.CurvatureOption = None
    columns: o.ColumnsOption = None
    header: o.HeaderOption = None
    groups: o.GroupsOption = None
    unit: o.UnitOption = None
    anyway: o.AnywayOption = False
    ledger: o.LedgerOption = None
    existing_ledger: o.ExistingOption = False
    anchor: o.AnchorOption = None
    note: o.NoteOption = None
    budget_epsilon: o.BudgetOption = None
    budget_delta: o.BudgetOption = None
    budget_mu: o.BudgetOption = None
    budget_rho: o.BudgetOption = None
    budget_alpha: o.BudgetOption = None
    wait: o.WaitOption = 30.0
    out: o.OutOption = None
    report: o.ReportOption = None
    plot: o.PlotOption = None
    names: o.NamesOption = None
    force: o.ForceOption = False
    as_json: o.JsonOption = False
    quiet: o.QuietOption = False

    def naming(self, *columns: str | None) -> Request:
        """The same, if these columns are asked for as well: whoever names one says that the first line holds names."""
        return replace(self, header=o.holds_names(self.header, self.data, self.columns, self.groups, *columns))

    @property
    def budget(self) -> Guarantee | None:
        """The budget that a new ledger gets; None if none was given."""
        kinds = ("epsilon", "delta", "mu", "rho", "alpha")
        return o.parse_budget(**{kind: getattr(self, f"budget_{kind}") for kind in kinds})

    @property
    def what(self) -> str:
        """The data, as the ledger describes them."""
        return printable(Path(self.data).name if self.note is None else self.note)

    @property
    def protected(self) -> str:
        """What is protected: a record, or whatever the ids stand for."""
        from riemdp.accounting.unit import unit_of

        return unit_of(self.groups, self.unit)


@dataclass(frozen=True)
class Kind:
    """What a command makes: the name that examples of files have, how it is kept, and its picture."""

    name: str
    kept_as: tuple[str, ...]  # endings of --out
    picture: Callable[..., Figure] = _picture_of_release
    is_whole_on_screen: bool = True  # whether all of it can be printed for people
    array: str = "value"  # which one of the release an .npy file holds
    is_point: bool = True  # whose rows --names can name

    @property
    def example(self) -> str:
        """An example of a name for --out."""
        return f"{self.name}{self.kept_as[0]}"


MEAN = Kind("mean", (".npy", ".json"))
MEANS_OF_CLASSES = Kind("means", (".npy", ".json"), array="means", is_point=False)


@dataclass(frozen=True, repr=False)
class Records:
    """What a request releases something of; nothing is read yet but its form."""

    points: Any
    ball: Ball
    ids: Any  # whose record each is; None if nothing was said about it

    @classmethod
    def asked_for(cls, request: Request, beside: Columns | None, *, has_workers: bool = False) -> Records:
        """The records of a request; `beside` are columns of the file that hold something else than points."""
        from riemdp.io.data import open_records

        who = o.parse_groups(request.groups, request.data, request.header)
        other = o.both_columns(beside, who.column)
        stored = open_records(request.data, columns=request.columns, header=bool(request.header), without=other)
        space = o.space_of(stored, request.space, request.size, request.curvature)
        ball = o.parse_ball(space, request.center, request.radius, request.eigenvalues)
        return cls(stored.for_workers(space) if has_workers else stored.points(space), ball, who.ids)

    @property
    def bounded(self) -> Bounded:
        """Forced into the ball, once they are read."""
        from riemdp.privacy.bounded import Bounded

        return Bounded(self.points, self.ball, self.ids)


@dataclass(frozen=True)
class Ready:
    """A release of which everything public is settled."""

    doubts: list[Doubt]  # what public numbers say against it
    release: Callable[[Ledger | None, str], Release]


@o.takes_guarantee
@o.unfolded
def mean(
    request: Request,
    crew: Workers,
    mechanism: o.MechanismOption = "auto",
    statistic: o.StatisticOption = "frechet-mean",
    calibration: o.CalibrationOption = "analytic",
    footpoint: o.FootpointOption = None,
    adapt: o.AdaptOption = False,
    labels: OptionalLabels = None,
    classes: ClassesOption = None,
) -> None:
    """Release a differentially private Fréchet mean; with --labels, the tangent mean of each class.

    The ball and the privacy parameters are public: choose them without looking at the data. Labels stay private, and
    so do the sizes of classes; which classes there are is public.

    \b
    riemdp mean covariances.npy --space spd-affine --center identity --radius 1.5 --epsilon 1 --out mean.npy
    riemdp mean X.npy --space spd-log-euclidean --eigenvalues 1e-6 3 --epsilon 1 --delta 1e-6 --report mean.html
    riemdp mean shapes.npz:leaves --space kendall --center template.npy --radius 0.3 --mu 0.5
    riemdp mean directions.csv --space sphere --center north --radius 1 --rho 0.1 --ledger ledger.db --budget-rho 1
    riemdp mean new.csv --space sphere --center north --radius 1 --rho 0.1 --ledger ledger.db --existing-ledger
    riemdp mean visits.csv --header --groups patient --unit patient --space sphere --center north --radius 1 --mu 1
    riemdp mean trials.npz:X --labels trials.npz:y --classes left,right --space spd-affine --eigenvalues 1e-3 10 --mu 1
    riemdp mean large.zarr --space spd-affine --center identity --radius 1.5 --mu 0.5 --workers 8
    """
    request = request.naming(labels)
    if labels is not None:
        _refuse_with_labels(footpoint=footpoint, adapt=adapt, workers=bool(crew))
        named = Labels.asked_for(labels, classes, request.data, request.header)
        how = {"mechanism": mechanism, "calibration": calibration}
        carry_out(request, MEANS_OF_CLASSES, partial(_means_of_classes, request, named, how), beside=named.column)
        return
    if classes is not None:
        raise InputError(f"--classes {classes} without --labels: pass --labels, or leave it out.")
    asked = {"mechanism": mechanism, "statistic": statistic, "calibration": calibration, "adapt": adapt}
    carry_out(request, MEAN, partial(rehearsed, request, asked, footpoint), files=(footpoint,), crew=crew)


def _refuse_with_labels(*, footpoint: str | None, adapt: bool, workers: bool) -> None:
    """Raise what the one release of all class means does not have."""
    asked = {"--footpoint": footpoint, "--adapt": adapt, "--workers or --scheduler": workers}
    for option, is_asked in asked.items():
        if is_asked:
            raise InputError(f"{option} must be left out with --labels: the means of all classes are one sum of logs.")


def _means_of_classes(request: Request, named: Labels, how: dict[str, Any], records: Records) -> Ready:
    """The means of all classes, ready to be released as one."""
    from riemdp.statistics.class_means import JointMeans

    people: dict[str, Any] = {"groups": records.ids, "unit": request.protected}
    among = named.places(len(records.points))
    asked = JointMeans.of(records.points, among, named.classes, records.ball, request.guarantee, **people, **how)
    return Ready(asked.doubts, asked.release)


def rehearsed(request: Request, asked: dict[str, Any], footpoint: str | None, records: Records) -> Ready:
    """A mean, or another statistic that is released as one is; `asked` is what `rehearse` takes."""
    from riemdp.statistics.mean import rehearse

    bounded, ball = records.bounded, records.ball
    foot = None if footpoint is None else o.load_point(footpoint, ball.space, "--footpoint")
    public: dict[str, Any] = {"footpoint": foot, "can_gather": bounded.can_gather, "unit": request.protected}
    prepared = rehearse(ball, bounded.n, request.guarantee, **public, **asked)
    return Ready(prepared.doubts, partial(prepared.release, bounded))


def carry_out(
    request: Request,
    kind: Kind,
    prepare: Callable[[Records], Ready],
    *,
    files: Sequence[str | Path | None] = (),
    beside: Columns | None = None,
    crew: Workers = Workers(),  # noqa: B008 frozen
) -> None:
    """From files to a release: `prepare` refuses what can be refused, `files` are read beside those of the request."""
    request = request.naming()
    budget, outputs = request.budget, Outputs.asked_for(request, kind)
    outputs.check(request.data, request.ledger, request.anchor, request.center, request.names, *files)
    if request.quiet and request.out is None and not request.as_json:
        raise InputError(f"--quiet without --out would lose the release: pass --out {kind.example}.")
    if request.names is not None and not kind.is_point:
        raise InputError(f"--names belong to the rows of a point, and a {kind.name} is none: leave them out.")
    request.protected  # noqa: B018 refuses
    records = Records.asked_for(request, beside, has_workers=bool(crew))
    outputs = replace(outputs, names=o.parse_names(request.names, records.ball.space))
    ready = prepare(records)
    raise_doubts(ready.doubts, anyway=request.anyway, quiet=request.quiet)
    with crew.at_work():
        how: dict[str, Any] = {"wait": request.wait, "anchor": request.anchor, "must_exist": request.existing_ledger}
        book = open_ledger(request.ledger, budget, request.guarantee, **how)
        release = released(ready.release, request.guarantee, book, request.what)
        finish(release, book, outputs, as_json=request.as_json, quiet=request.quiet)


def raise_doubts(doubts: list[Doubt], *, anyway: bool, quiet: bool) -> None:
    """Refuse, before anything is spent, what public numbers call worthless; say what is merely doubtful."""
    grave = [doubt.in_numbers for doubt in doubts if doubt.is_grave]
    if grave and not anyway:
        raise InputError(f"{' '.join(grave)} Nothing was spent; --anyway releases all the same.")
    for doubt in doubts if not quiet else []:
        complain(f"warning: {doubt.in_numbers}")


def finish(release: Release, ledger: Ledger | None, outputs: Outputs, *, as_json: bool, quiet: bool) -> None:
    """Write and print what was paid for."""
    kept = drawn = False
    try:
        with uninterrupted():
            kept = outputs.keep(release)
        drawn = outputs.draw(release, ledger)
    except KeyboardInterrupt:
        place = f"in {outputs.out}" if outputs.out and kept else "printed here"
        made = f"{short(release.guarantee)} was spent and the release is {place}"
        raise Interrupted(f"{made}; other files may be missing.") from None
    finally:  # whatever becomes of the pictures, what was paid for is printed
        with uninterrupted():
            if as_json or not kept:
                typer.echo(json.dumps(release.to_dict()))
            elif not quiet:
                show(*_pages(release, ledger, outputs, done=drawn))
                _echo_what_would_be_lost(release, outputs)
    if not (kept and drawn):
        raise typer.Exit(BAD_INPUT)


def _echo_what_would_be_lost(release: Release, outputs: Outputs) -> None:
    """All of it, for a machine, if it is neither on the screen nor in a file: it was paid for."""
    if not (outputs.out or outputs.report or outputs.kind.is_whole_on_screen):
        typer.echo(f"All of it, as --out {outputs.kind.example} would keep it:")
        typer.echo(json.dumps(release.to_dict()))


def released(
    release: Callable[[Ledger | None, str], R], guarantee: Guarantee, ledger: WatchedLedger | None, note: str
) -> R:
    """What was rehearsed, charged to the ledger."""
    from riemdp.io.sources import reporting

    try:
        with first_pass_bar() as progress, reporting(progress):
            return release(ledger, note)
    except KeyboardInterrupt:
        raise Interrupted(spent_without_release(guarantee, ledger)) from None
    except BudgetExceeded:
        assert ledger is not None
        left = ", ".join(f"{name} {text}" for name, text in balance(ledger).items())
        place = f"what is left of {ledger.path} ({left})"
        raise BudgetExceeded(_refusal(guarantee, place)) from None


def _refusal(guarantee: Guarantee, place: str) -> str:
    return f"{short(guarantee)} does not fit into {place}: nothing was released or spent; ask for less."


def open_ledger(
    path: Path | None,
    budget: Guarantee | None,
    guarantee: Guarantee,
    *,
    wait: float,
    anchor: Path | None,
    must_exist: bool,
) -> WatchedLedger | None:
    """The ledger; a new one only if the guarantee fits into it, and not in silence."""
    if path is None:
        if budget is not None or anchor is not None or must_exist:
            raise InputError("a budget, an anchor and --existing-ledger belong to a ledger: pass --ledger FILE.")
        return None
    if must_exist and not os.path.lexists(path):
        raise InputError(f"the ledger {path} does not exist: pass its right name, or leave out --existing-ledger.")
    if budget is not None and not os.path.lexists(path):
        _require_room(guarantee, budget)
    book = WatchedLedger(path, budget, timeout=wait, anchor=anchor, must_exist=must_exist)
    if book.created:
        complain(f"new ledger {path}, nothing before this is counted.")
    return book


def _require_room(guarantee: Guarantee, budget: Guarantee) -> None:
    """Refuse, before a ledger is made, what its first reservation would refuse."""
    from riemdp.accounting.composition import nothing_spent
    from riemdp.privacy.ledger import has_room

    if not has_room(nothing_spent(budget), guarantee):
        raise BudgetExceeded(_refusal(guarantee, f"the budget {short(budget)}"))


@dataclass(frozen=True)
class Outputs:
    """The files that are asked for."""

    out: Path | None
    report: Path | None
    plot: Path | None
    force: bool  # whether they may replace others
    about_records: str = ""  # shown with the release
    names: tuple[str, ...] | None = None  # of rows and columns, wherever these are shown
    kind: Kind = MEAN

    @classmethod
    def asked_for(cls, request: Request, kind: Kind) -> Outputs:
        """The files that a request asks for."""
        about = o.about_lines(request.data, request.header, request.columns)
        return cls(request.out, request.report, request.plot, request.force, about, kind=kind)

    @property
    def paths(self) -> list[Path]:
        """The paths of the files that are asked for."""
        return [path for path in (self.out, self.report, self.plot) if path is not None]

    def check(self, *inputs: str | Path | None) -> None:
        """Before anything is spent: they can all be written."""
        formats = {
            "--out": (self.out, self.kind.kept_as),
            "--report": (self.report, PAGE_FORMATS),
            "--plot": (self.plot, PICTURE_FORMATS),
        }
        check_outputs(formats, inputs, force=self.force)

    def keep(self, release: Release) -> bool:
        """Write the release itself; whether that went well."""
        out = self.out
        return out is None or _attempt(lambda: self._write(release, out))

    def _write(self, release: Release, path: Path) -> None:
        import numpy as np

        from riemdp.io.files import write_whole

        if path.suffix.lower() == ".json":
            release.save(path, force=self.force)
            return
        np.save(buffer := io.BytesIO(), getattr(release, self.kind.array))
        write_whole(path, buffer.getvalue(), force=self.force)

    def draw(self, release: Release, ledger: Ledger | None) -> bool:
        """Write report and picture; whether that went well."""
        done = True
        if (report := self.report) is not None:
            from riemdp.report import write_report

            done = _attempt(lambda: write_report(release, report, ledger=ledger, names=self.names, force=self.force))
        if (plot := self.plot) is not None:
            from riemdp.plots import save_figure

            draw = partial(self.kind.picture, release, names=self.names)
            done = _attempt(lambda: save_figure(draw(), plot, force=self.force)) and done
        return done


def _attempt(write: Callable[[], None]) -> bool:
    """Whether it could be written: the budget is spent already, so nothing may stop the rest."""
    try:
        write()
    except (RiemdpError, OSError, MemoryError) as problem:
        complain(f"the release was made and is printed here, but a file is missing: {problem}")
        return False
    return True


def _pages(release: Release, ledger: Ledger | None, outputs: Outputs, *, done: bool) -> list[Any]:
    """The release as people read it: its page, and where its files are."""
    page = page_of(release, outputs.names)
    rows: dict[str, Any] = dict(page.facts)
    if outputs.about_records:
        rows["records"] = outputs.about_records
    if ledger is not None:
        rows["ledger"] = f"{ledger.path.name}: {_state(ledger)}"
    if outputs.paths and done:
        rows["written"] = ", ".join(map(str, outputs.paths))
    if outputs.out is None or sum(value.array.size for value in page.values) <= SHOWN:
        rows["value"] = entries(page)
    return [title(page.title), facts(rows), next_steps(*_next(release, ledger, outputs))]


def _next(release: Release, ledger: Ledger | None, outputs: Outputs) -> list[str]:
    """What to look at, and how to keep count."""
    if outputs.report:
        steps = [f"Open {outputs.report} in a browser: it explains the promise to whoever reads the result."]
    else:
        page = f"--report {outputs.kind.name}.html"
        steps = [f"Add {page} the next time: a page that explains the promise to whoever reads the result."]
    if ledger:
        return [*steps, f"riemdp ledger show {shlex.quote(str(ledger.path))}  lists what was spent and what is left."]
    return [*steps, f"Nothing counted this. Another release adds to {short(release.guarantee)}: name a --ledger FILE."]


def _state(ledger: Ledger) -> str:
    """What is left; whatever happens to the ledger now, the release is printed."""
    try:
        state = balance(ledger)
        return f"{state['left']} left of {state['budget']}"
    except RiemdpError as problem:
        return str(problem)
