"""What is printed and written: tables and facts for people, files that are checked before anything is spent.

Whatever is shown passes through `printable` here: names of files and descriptions are not the program's own.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from riemdp.display import Page, Table
from riemdp.errors import InputError, printable

if TYPE_CHECKING:
    from riemdp.releases.release import Release

PAGE_FORMATS = (".html", ".htm")
PICTURE_FORMATS = (".png", ".svg", ".pdf")
ROOM = 2**20  # bytes that a disk must have left for an output, more than most take


def show(*parts: Any) -> None:
    """Print texts, facts and tables: fitted to a terminal; elsewhere plain, in lines as long as they need."""
    from rich.console import Console

    terminal, buffer = sys.stdout.isatty(), io.StringIO()
    looks: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False}
    console = Console(file=buffer, force_terminal=terminal, width=None if terminal else 10_000, **looks)
    console.print(*map(_shown, parts), sep="\n", soft_wrap=False)
    typer.echo("\n".join(line.rstrip() for line in buffer.getvalue().splitlines()))


def _shown(part: Any) -> Any:
    """A text as it may be printed; anything else is made of such texts already."""
    return printable(part) if isinstance(part, str) else part


def saved_release(path: Path, command: str) -> Release:
    """The release in a file; what cannot be read as one is refused in the words of the command that writes it."""
    from riemdp.releases.release import Release

    if not path.is_file():
        raise InputError(f"{path} is no file: pass what {command} wrote.")
    try:
        return Release.load(path)
    except InputError as problem:
        words = str(problem).replace("Release.save()", command)
        raise InputError(words if str(path) in words else f"{path}: {words}") from None


def title(text: str, style: str = "bold") -> Any:
    """A line that stands out on a terminal."""
    from rich.text import Text

    return Text(printable(text), style=style)


def next_steps(*steps: str) -> Any:
    """What to do next, a line each; commands are to be typed as they are."""
    from rich.text import Text

    return Text("\n".join(["Next:", *(f"  {printable(step)}" for step in steps)]), style="green")


def entries(page: Page) -> Any:
    """All numbers of the values on a page, in rows."""
    from rich.text import Text

    return Text("\n".join(value.text(most=None) for value in page.values))


def facts(rows: Mapping[str, Any]) -> Any:
    """Names and texts, one below the other; a long text goes on below itself."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, text in rows.items():
        grid.add_row(name, _shown(text))
    return grid


def table(shown: Table) -> Any:
    """Rows below names; columns of numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    result = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for name in shown.head:
        result.add_column(name, justify="right" if name in shown.numbers else "left")
    for row in shown.rows:
        result.add_row(*map(_shown, row))
    return result


@contextmanager
def progress_bar(text: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A way to report steps, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def first_pass_bar() -> Iterator[Callable[[int, int], None] | None]:
    """A way to report how far the first pass over the records is, on a terminal only.

    How many passes follow depends on the records, which are private: they show as one bar without an end.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield _Passes(bar)


class _Passes:
    """Two bars: of the first pass, and of all that follows, which has an end only if its steps are public."""

    def __init__(self, bar: Any) -> None:
        self.bar, self.is_over = bar, False
        tasks = (bar.add_task(text, total=None, visible=False) for text in ("reading", "computing"))
        self.reading, self.computing = tasks

    def __call__(self, done: int, total: int) -> None:
        if not self.is_over:
            self.is_over = done == total
            self.bar.update(self.reading, completed=done, total=total, visible=not self.is_over)
            self.bar.update(self.computing, visible=self.is_over)

    def step(self, done: int, total: int) -> None:
        """So many steps are done, of a number that is public."""
        self.bar.update(self.computing, completed=done, total=total)


def check_outputs(
    outputs: dict[str, tuple[Path | None, tuple[str, ...]]], inputs: Iterable[str | Path | None], *, force: bool
) -> None:
    """Before anything is spent: every output, by option, can be written and overwrites no input and no other output.

    Nor another file, unless by `force`.
    """
    taken = [Path(str(source)).resolve() for source in inputs if source is not None]
    for option, (path, suffixes) in outputs.items():
        if path is None:
            continue
        _check_output(option, path, suffixes)
        place = path.resolve()
        if any(_is_part_of(place, source) for source in taken):
            raise InputError(f"{option} {path} would overwrite, or come among, what another option names: rename it.")
        if os.path.lexists(path) and not force:
            raise InputError(f"{option} {path} exists already: pass another name, or --force to replace it.")
        taken.append(place)


def _is_part_of(place: Path, source: Path) -> bool:
    """Whether the place is the source, lies in that folder or fits that pattern."""
    return source in (place, place.parent) or fnmatchcase(str(place), str(source))


def _check_output(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option} {path}: pass the name of a {' or '.join(suffixes)} file.")
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as draft:
            draft.write(bytes(ROOM))  # the only sure way to know that a file can be written there
            draft.flush()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{option} {path} cannot be written ({reason}): pass another.") from None
