"""`riemdp ledger`: what a file that keeps a budget holds."""

from __future__ import annotations

import json
import os
import shlex
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.cli.options import AnchorOption, JsonOption, WaitOption
from riemdp.cli.output import facts, next_steps, show, table
from riemdp.errors import InputError, printable

if TYPE_CHECKING:
    from riemdp.accounting.guarantee import Guarantee
    from riemdp.privacy.ledger import Entry, Ledger

NAMES = ["id", "time (UTC)", "status", "guarantee", "what"]
MANY = 500  # entries beyond which lines are not fitted to the terminal, which would take seconds

ledger = typer.Typer(help="Look at a file that keeps a privacy budget.", no_args_is_help=False)


@ledger.callback()
def _group() -> None:
    """Look at a file that keeps a privacy budget."""


@ledger.command("show")
def show_ledger(
    file: Annotated[Path, typer.Argument(help="The ledger.")],
    anchor: AnchorOption = None,
    wait: WaitOption = 30.0,
    recount: Annotated[bool, typer.Option(help="Count every entry anew and compare what entries state.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the budget, what is spent and left of it, and every reservation.

    \b
    riemdp ledger show ledger.db
    riemdp ledger show ledger.db --anchor /elsewhere/ledger.anchor
    riemdp ledger show ledger.db --recount

    The digest stands for the whole file: noted elsewhere, it shows whether an older copy was put back.
    """
    from riemdp.privacy.ledger import Ledger

    if not os.path.lexists(file):
        raise InputError(f"the ledger {file} does not exist: pass a file that --ledger made.")
    book = Ledger(file, timeout=wait, anchor=anchor)
    if recount:
        book.recount()
    history = book.history()
    if as_json:
        typer.echo(json.dumps(_as_data(book, history)))
        return
    protects = {"protects": f"one {book.unit}"} if book.unit else {}
    balanced = facts({"ledger": printable(file), **balance(book), **protects, "digest": book.digest})
    if len(history) > MANY:
        show(balanced)
        typer.echo("\n".join(_plain_lines([NAMES, *map(_cells, history)])))
        show(_next(book))
    else:
        show(balanced, *([table(NAMES, map(_cells, history), numbers=["id"])] if history else []), _next(book))


def _next(book: Ledger) -> Any:
    """How to spend what is left, or what it means that nothing is."""
    left = book.remaining
    if left is None:
        return next_steps("The budget is spent: these people's records can be asked nothing more.")
    digits = Context(prec=6, rounding=ROUND_DOWN)
    most = " ".join(f"--{name} {float(digits.create_decimal(repr(x))):g}" for name, x in left.parameters.items())
    command = f"riemdp mean FILE ... --ledger {shlex.quote(str(book.path))} --existing-ledger {most}"
    return next_steps(f"{command}  spends all that is left; ask for less to keep some.")


def balance(book: Ledger) -> dict[str, str]:
    """Budget, spent and left, in words."""
    parts = {"budget": (book.budget, ROUND_HALF_EVEN), "spent": (book.spent, ROUND_UP)}
    parts["left"] = (book.remaining, ROUND_DOWN)  # so that what is shown can be asked for
    return {name: short(amount, rounding) if amount else "nothing" for name, (amount, rounding) in parts.items()}


def short(guarantee: Guarantee, rounding: str = ROUND_HALF_EVEN) -> str:
    """A guarantee without its assumptions, to 6 digits."""
    digits = Context(prec=6, rounding=rounding)
    values = {name: float(digits.create_decimal(repr(value))) for name, value in guarantee.parameters.items()}
    return f"({', '.join(f'{name} = {value:g}' for name, value in values.items())})-{guarantee.notion}"


def _plain_lines(rows: list[list[str]]) -> list[str]:
    """Rows of cells below each other, numbers first, in columns as wide as they need."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([row[0].rjust(widths[0]), *map(str.ljust, row[1:], widths[1:])] for row in rows)
    return ["   ".join(cells).rstrip() for cells in padded]


def _cells(entry: Entry) -> list[str]:
    when = entry.time_utc.removesuffix("+00:00").replace("T", " ")
    return [str(entry.id), printable(when), entry.status, short(entry.guarantee), printable(entry.description)]


def _as_data(book: Ledger, history: list[Entry]) -> dict[str, Any]:
    from riemdp.io.ledger_file import FORMAT

    totals = {"budget": book.budget, "spent": book.spent, "remaining": book.remaining}
    return {
        "riemdp": "ledger",
        "format": FORMAT,
        **{name: total.to_dict() if total else None for name, total in totals.items()},
        "unit": book.unit,
        "digest": book.digest,
        "history": [vars(entry) | {"guarantee": entry.guarantee.to_dict()} for entry in history],
    }
