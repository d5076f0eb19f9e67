"""Labels of records on the command line: where they are, and which classes there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.errors import InputError

if TYPE_CHECKING:
    from riemdp.io.stores import Columns
    from riemdp.manifolds.base import Array

LABELS = "--labels"
_LABELS_HELP = "The class of each record: a file, or a column of DATA."
LabelsOption = Annotated[str, typer.Option(LABELS, metavar="FILE|FILE:KEY|COLUMN", help=_LABELS_HELP)]
OptionalLabels = Annotated[str | None, typer.Option(LABELS, metavar="FILE|FILE:KEY|COLUMN", help=_LABELS_HELP)]
ClassesOption = Annotated[
    str | None,
    typer.Option("--classes", metavar="A,B,C", help="All labels that there are, public; by default those that occur."),
]


@dataclass(frozen=True, repr=False)
class Labels:
    """The label of each record as a text, or none; the column of DATA that they are, if they are one; all classes."""

    texts: list[str | None]
    column: Columns | None
    source: str  # as it was typed
    classes: tuple[str, ...]

    @classmethod
    def asked_for(cls, text: str, classes: str | None, data: str, header: bool | None) -> Labels:
        """What the options name; without `--classes`, which labels occur is taken to be public."""
        from riemdp.io.groups import open_groups

        found = open_groups(text, data, header=bool(header), option=LABELS)
        cells = found.ids[:]
        texts = [_text(cell) for cell in (cells.tolist() if hasattr(cells, "tolist") else cells)]
        return cls(texts, found.column, text, _occurring(texts) if classes is None else _public_classes(classes))

    def places(self, n: int) -> Array:
        """The place of each of n records' labels among the classes."""
        from riemdp.io.cells import places

        if len(self.texts) != n:
            found = f"{LABELS} {self.source} has {len(self.texts):,} of them"
            raise InputError(f"{found}: pass one for each of {n:,} records.")
        return places(self.texts, [*map(_text, self.classes)])


def _text(cell: Any) -> str | None:
    """By which labels are compared, 1 being 1.0; whatever is neither a text nor a number is none."""
    from riemdp.io.cells import number

    value = number(cell)
    return f"{value:.17g}" if value == value else cell.strip() if isinstance(cell, str) else None


def _occurring(texts: list[str | None]) -> tuple[str, ...]:
    classes = tuple(sorted({text for text in texts if text}))
    if len(classes) < 2:
        raise InputError(f"{LABELS} has fewer than two classes: pass all labels that there are, --classes a,b.")
    return classes


def _public_classes(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(map(_text, names))) < len(names) or len(names) < 2:
        raise InputError(f"--classes {text}: pass two or more labels, each once, as a,b,c.")
    return names
