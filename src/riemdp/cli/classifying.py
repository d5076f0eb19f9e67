"""`riemdp classify`: a private classifier from a file of records and their labels, and what it says of others."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from riemdp.cli import options as o
from riemdp.cli.output import check_outputs, facts, show, title
from riemdp.cli.releasing import Kind, Outputs, finish, note_for, open_ledger, raise_doubts, released
from riemdp.errors import InputError

if TYPE_CHECKING:
    from riemdp.io.stores import Columns
    from riemdp.statistics.linear_classifiers import LinearClassifier

KINDS = ["logistic", "lda"]
LABELS = "--labels"
MODEL = Kind("model", (".json",), is_whole_on_screen=False)

classify = typer.Typer(help="Learn to tell classes apart, privately, and classify records.", no_args_is_help=False)
LabelsOption = Annotated[
    str,
    typer.Option(LABELS, metavar="FILE|FILE:KEY|COLUMN", help="The class of each record: a file, or a column of DATA."),
]
ClassesOption = Annotated[str, typer.Option("--classes", metavar="A,B,C", help="All labels that there are: public.")]
KindOption = Annotated[
    str, typer.Option("--classifier", help=" or ".join(KINDS), autocompletion=lambda: KINDS)
]
OutOption = Annotated[Path, typer.Option("--out", help="The model, .json.", rich_help_panel=o.OUTPUT)]
ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Page that explains the release, .html.", rich_help_panel=o.OUTPUT)
]


@classify.callback()
def _group() -> None:
    """Learn to tell classes apart, privately, and classify records."""


@classify.command("fit")
@o.takes_guarantee
def fit(
    data: o.RecordsArgument,
    labels: LabelsOption,
    classes: ClassesOption,
    space: o.SpaceOption,
    guarantee: o.Promise,
    out: OutOption,
    center: o.CenterOption = None,
    radius: o.RadiusOption = None,
    eigenvalues: o.EigenvaluesOption = None,
    size: o.InferredSize = None,
    curvature: o.CurvatureOption = None,
    columns: o.ColumnsOption = None,
    header: o.HeaderOption = None,
    groups: o.GroupsOption = None,
    unit: o.UnitOption = None,
    classifier: KindOption = "logistic",
    adapt: Annotated[bool, typer.Option(help="Look for a private ball within the given one first.")] = True,
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
    report: ReportOption = None,
    plot: o.PlotOption = None,
    force: o.ForceOption = False,
    as_json: o.JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=o.OUTPUT)] = False,
) -> None:
    """Learn a classifier of which every number is private, labels included.

    The ball, the classes and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp classify fit X.npy --labels y.npy --classes rest,left,right --space spd-affine --eigenvalues 1e-3 1e3 \\
        --mu 1 --out model.json
    riemdp classify fit X.csv --header --labels kind --classes a,b --space sphere --center north --radius 1 \\
        --epsilon 1 --delta 1e-6 --out model.json --report model.html
    """
    from riemdp.accounting.unit import unit_of
    from riemdp.io.cells import places
    from riemdp.io.data import open_records
    from riemdp.statistics.linear_classifiers import with_labels

    budget = o.parse_budget(
        epsilon=budget_epsilon, delta=budget_delta, mu=budget_mu, rho=budget_rho, alpha=budget_alpha
    )
    outputs = Outputs(out, report, plot, force, o.about_lines(data, header, columns), kind=MODEL)
    outputs.check(data, ledger, anchor, center)
    known, protected = _public_classes(classes), unit_of(groups, unit)
    named, who = _labels(labels, data, header), o.parse_groups(groups, data, header)
    stored = open_records(data, columns=columns, header=bool(header), without=o.both_columns(named.column, who.column))
    where = o.space_of(stored, space, size, curvature)
    ball = o.parse_ball(where, center, radius, eigenvalues)
    X = stored.points(where)
    if len(named.texts) != len(X):
        found = f"{LABELS} {labels} has {len(named.texts):,} of them"
        raise InputError(f"{found}: pass one for each of {len(X):,} records.")
    records, labelled = with_labels(X, ball, places(named.texts, [*map(_text, known)]), len(known), who.ids)
    learner = _learner(classifier)(ball, records.n, guarantee, known, _even(known), adapt, unit=protected)
    raise_doubts(learner.doubts, anyway=anyway, quiet=quiet)
    learner.plan  # noqa: B018 refuses, before a ledger is made
    book = open_ledger(ledger, budget, guarantee, wait=wait, anchor=anchor, must_exist=existing_ledger)
    release = released(partial(learner.release, records, labelled), guarantee, book, note_for(data, note))
    finish(release, book, outputs, as_json=as_json, quiet=quiet)


@classify.command("predict")
def predict(
    data: o.RecordsArgument,
    model: Annotated[Path, typer.Option("--model", help="What `riemdp classify fit` wrote, .json.")],
    out: Annotated[Path, typer.Option("--out", help="Labels, .csv or .npy.", rich_help_panel=o.OUTPUT)],
    columns: o.ColumnsOption = None,
    header: o.HeaderOption = None,
    force: o.ForceOption = False,
    as_json: o.JsonOption = False,
) -> None:
    """Say to which class each record belongs. NOT PRIVATE: a label is about its record.

    \b
    riemdp classify predict new.npy --model model.json --out labels.csv
    """
    from riemdp.io.data import load_records
    from riemdp.io.files import write_whole
    from riemdp.statistics.classifier import ClassifierRelease

    check_outputs({"--out": (out, (".csv", ".npy"))}, [data, model], force=force)
    release = ClassifierRelease.load(model)
    assert isinstance(release, ClassifierRelease)  # any other is refused
    found = release.predict(load_records(data, release.space, columns=columns, header=bool(header)))
    write_whole(out, _as_npy(found) if out.suffix.lower() == ".npy" else _as_csv(found), force=force)
    if as_json:
        typer.echo(json.dumps({"riemdp": "classify predict", "out": str(out), "records": len(found)}))
        return
    warning = "NOT PRIVATE: a label is a function of its record."
    show(title(f"Labels of {len(found):,} records", "bold"), facts({"written": str(out), "look out": warning}))


# --- what options mean -----------------------------------------------------------------------------------------


class _Labels(NamedTuple):
    """The label of each record as a text, or none; and the column of DATA that they are, if they are one."""

    texts: list[str | None]
    column: Columns | None


def _labels(text: str, data: str, header: bool | None) -> _Labels:
    from riemdp.io.groups import open_groups

    found = open_groups(text, data, header=bool(header), option=LABELS)
    cells = found.ids[:]
    return _Labels([_text(cell) for cell in (cells.tolist() if hasattr(cells, "tolist") else cells)], found.column)


def _text(cell: Any) -> str | None:
    """By which labels are compared, 1 being 1.0; whatever is neither a text nor a number is none."""
    from riemdp.io.cells import number

    value = number(cell)
    return f"{value:.17g}" if value == value else cell.strip() if isinstance(cell, str) else None


def _public_classes(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(map(_text, names))) < len(names) or len(names) < 2:
        raise InputError(f"--classes {text}: pass two or more labels, each once, as a,b,c.")
    return names


def _learner(name: str) -> type[LinearClassifier]:
    from riemdp.statistics.discriminant import Discriminant
    from riemdp.statistics.logistic import LogisticRegression

    kinds: dict[str, type[LinearClassifier]] = dict(zip(KINDS, (LogisticRegression, Discriminant), strict=True))
    if name not in kinds:
        raise InputError(f"--classifier {name}: pass {' or '.join(KINDS)}.")
    return kinds[name]


def _even(classes: tuple[str, ...]) -> Any:
    import numpy as np

    return np.ones(len(classes))


def _as_npy(labels: list[Any]) -> bytes:
    import numpy as np

    np.save(buffer := io.BytesIO(), np.asarray(labels))
    return buffer.getvalue()


def _as_csv(labels: list[Any]) -> bytes:
    import csv

    csv.writer(text := io.StringIO(), lineterminator="\n").writerows([label] for label in labels)
    return text.getvalue().encode()
