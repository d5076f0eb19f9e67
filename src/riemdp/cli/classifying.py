"""`riemdp classify`: a private classifier from a file of records and their labels, and what it says of others."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.labels import ClassesOption, Labels, LabelsOption
from riemdp.cli.output import check_outputs, facts, saved_release, show, title
from riemdp.cli.releasing import Kind, Ready, Records, Request, carry_out
from riemdp.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from riemdp.statistics.linear_classifiers import LinearClassifier

KINDS = ["logistic", "lda"]
MODEL = Kind("model", (".json",), is_whole_on_screen=False, is_point=False)

classify = typer.Typer(help="Learn to tell classes apart, privately, and classify records.", no_args_is_help=False)
KindOption = Annotated[str, typer.Option("--classifier", help=" or ".join(KINDS), autocompletion=lambda: KINDS)]


@classify.callback()
def _group() -> None:
    """Learn to tell classes apart, privately, and classify records."""


@classify.command("fit")
@o.takes_guarantee
@o.unfolded
def fit(
    labels: LabelsOption,
    request: Request,
    classes: ClassesOption = None,
    classifier: KindOption = "logistic",
    adapt: Annotated[bool, typer.Option(help="Look for a private ball within the given one first.")] = True,
) -> None:
    """Learn a classifier of which every number is private, labels included.

    The ball, the classes and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp classify fit X.npy --labels y.npy --classes rest,left,right --space spd-affine --eigenvalues 1e-3 1e3 \\
        --mu 1 --out model.json
    riemdp classify fit X.csv --header --labels kind --classes a,b --space sphere --center north --radius 1 \\
        --epsilon 1 --delta 1e-6 --out model.json --report model.html
    """
    if request.out is None:
        raise InputError(f"--out is missing: pass a name for the model, --out {MODEL.example}.")
    request = request.naming(labels)
    kind, named = _learner(classifier), Labels.asked_for(labels, classes, request.data, request.header)
    known = named.classes
    learner = partial(kind, guarantee=request.guarantee, labels=known, class_weights=_even(known), adapt=adapt)
    prepare = partial(_learning, partial(learner, unit=request.protected), named)
    carry_out(request, MODEL, prepare, beside=named.column)


def _learning(learner: Callable[..., LinearClassifier], named: Labels, records: Records) -> Ready:
    from riemdp.statistics.linear_classifiers import with_labels

    X, ball = records.points, records.ball
    bounded, labelled = with_labels(X, ball, named.places(len(X)), len(named.classes), records.ids)
    asked = learner(ball, bounded.n)
    asked.plan  # noqa: B018 refuses, before a ledger is made
    return Ready(asked.doubts, partial(asked.release, bounded, labelled))


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
    release = saved_release(model, "riemdp classify fit --out")
    if not isinstance(release, ClassifierRelease):
        raise InputError(f"{model} is no classifier: pass what riemdp classify fit --out wrote.")
    header = o.holds_names(header, data, columns)
    found = release.predict(load_records(data, release.space, columns=columns, header=bool(header)))
    write_whole(out, _as_npy(found) if out.suffix.lower() == ".npy" else _as_csv(found), force=force)
    if as_json:
        typer.echo(json.dumps({"riemdp": "classify predict", "out": str(out), "records": len(found)}))
        return
    warning = "NOT PRIVATE: a label is a function of its record."
    show(title(f"Labels of {len(found):,} records", "bold"), facts({"written": str(out), "look out": warning}))


# --- what options mean -----------------------------------------------------------------------------------------


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
