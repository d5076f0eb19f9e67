"""`riemdp ledger`: what a file that keeps a budget holds."""

from __future__ import annotations

import json
import os
import shlex
from decimal import ROUND_DOWN, Context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.cli.options import AnchorOption, JsonOption, WaitOption
from riemdp.cli.output import facts, next_steps, show, table
from riemdp.display import table_lines
from riemdp.errors import InputError, printable
from riemdp.pages import balance, entry_rows

if TYPE_CHECKING:
    from riemdp.privacy.ledger import Entry, Ledger

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
    rows = entry_rows(history, most=len(history))
    if len(history) > MANY:
        show(balanced)
        typer.echo("\n".join(table_lines(rows)))
        show(_next(book))
    else:
        show(balanced, *([table(rows)] if history else []), _next(book))


def _next(book: Ledger) -> Any:
    """How to spend what is left, or what it means that nothing is."""
    left = book.remaining
    if left is None:
        return next_steps("The budget is spent: these people's records can be asked nothing more.")
    digits = Context(prec=6, rounding=ROUND_DOWN)
    most = " ".join(f"--{name} {float(digits.create_decimal(repr(x))):g}" for name, x in left.parameters.items())
    command = f"riemdp mean FILE ... --ledger {shlex.quote(str(book.path))} --existing-ledger {most}"
    return next_steps(f"{command}  spends all that is left; ask for less to keep some.")


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
