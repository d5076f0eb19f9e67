"""The application: what every command does when something goes wrong."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from riemdp.errors import BudgetExceeded, RiemdpError, one_line

BAD_INPUT, REFUSED, INTERRUPTED, BROKEN_PIPE = 2, 3, 130, 141
NOTHING_SPENT = "nothing was released or spent."


def _base_named(name: str, kind: type[Exception]) -> type[Exception]:
    """The class of that name among those that `kind` inherits from."""
    return next(base for base in kind.__mro__ if base.__name__ == name)


# The base of all complaints about usage. Typer takes it from click or brings its own, by version: only the name is
# the same.
_UsageProblem = _base_named("ClickException", typer.BadParameter)


class Interrupted(Exception):
    """Ctrl-C, and a sentence on what it left behind."""


class _OneLineErrors(TyperGroup):
    """A user's mistake is one line on stderr and a code, never a traceback or a frame."""

    def main(self, *args: Any, **options: Any) -> Any:
        _print_what_can_be_printed()
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except (RiemdpError, _UsageProblem) as problem:
            complain(problem.format_message() if hasattr(problem, "format_message") else str(problem))
            sys.exit(REFUSED if isinstance(problem, BudgetExceeded) else BAD_INPUT)
        except (Interrupted, typer.Abort) as problem:
            complain(f"interrupted: {str(problem) or NOTHING_SPENT}")
            sys.exit(INTERRUPTED)
        except (MemoryError, OverflowError):
            complain("this needs more memory, or larger numbers, than there are: pass something smaller.")
            sys.exit(BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """The command; the end of a pipe, such as that of `head`, ends it in silence."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
            raise typer.Exit(BROKEN_PIPE) from None
        except KeyboardInterrupt:
            raise Interrupted(NOTHING_SPENT) from None


def complain(message: str) -> None:
    """Say on stderr, in one line, what went wrong."""
    typer.echo(f"riemdp: {one_line(_as_typed(message))}", err=True)


_AS_TYPED = {
    r"\b(statistic|mechanism|calibration|unit) ?= ?'([\w-]+)'": r"--\1 \2",
    r"\blow = (\S+), high = (\S+):": r"--eigenvalues \1 \2:",
    r"\bt_bounds = \((\S+), (\S+)\)": r"--bounds \1 \2",
    r"\bt_bounds = ": "--bounds ",
    r"\bgroups(=|(?= has shape))": "--groups",
    r"^t (?=has shape)": "--on ",
    r"\bValue error, |^path = (?=.)": "",
    r"Input should be a valid number, .*": "pass a number.",
    r"Input should be a valid integer, .*": "pass a whole number.",
}


def _as_typed(message: str) -> str:
    """Advice for Python, such as statistic='tangent-mean', as it is typed here: --statistic tangent-mean."""
    for written, typed in _AS_TYPED.items():
        message = re.sub(written, typed, message)
    return message


def _print_what_can_be_printed() -> None:
    """A terminal without some letter shows another one: no release is lost to its alphabet."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


# Tracebacks stay plain: pretty ones may show the values of variables, which are private.
app = typer.Typer(
    cls=_OneLineErrors,
    help="Differential privacy for data that live on curved spaces.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Entry point of the command `riemdp`."""
    try:
        app(prog_name="riemdp")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: what ends now cannot be interrupted


def _print_version(asked: bool) -> None:
    """Print the version and end, if that is what was asked for."""
    if asked:
        from riemdp.version import __version__

        typer.echo(f"riemdp {__version__}")
        raise typer.Exit


VersionOption = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")]


@app.callback(invoke_without_command=True)
def _start(context: typer.Context, version: VersionOption = False) -> None:  # noqa: ARG001
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        typer.echo("Next: riemdp demo, to see what it does; riemdp plan --help, to begin with your own numbers.")
