"""What the options mean: spaces, centres, balls and guarantees as users type them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riemdp.errors import InputError, RiemdpError
from riemdp.manifolds.catalogue import center_names, space_class, space_names

if TYPE_CHECKING:
    from riemdp.accounting.guarantee import Guarantee
    from riemdp.balls import Ball
    from riemdp.io.data import Stored
    from riemdp.io.groups import Groups
    from riemdp.io.stores import Columns
    from riemdp.manifolds.base import Array, Space

MOST_NUMBERS = 10**6  # in one point: beyond, no computer does anything with the space
MOST_LETTERS = 10**6  # in a file of names


# The spaces that there are, as the choices of an option; typer takes them from an enumeration only.
# A promise is what `takes_guarantee` makes of its options: a Guarantee, which is not imported before it is asked for.
if TYPE_CHECKING:
    SpaceName = str
    Promise = Guarantee
else:
    Promise = Any
    SpaceName = StrEnum("SpaceName", {f"space {name}": name for name in space_names()})


def parse_space(name: str, size: int | None, curvature: float | None = None) -> Space:
    """The space of that name: size is its dimension d, its matrices' k, or its number of landmarks k, if it has one."""
    kind = space_class(name)
    if curvature is None:
        space = _of_size(kind, name, size)
    elif "curvature" in inspect.signature(kind).parameters:
        space = _of_size(kind, name, size, curvature=curvature)
    else:
        raise InputError(f"--curvature {curvature:g} does not fit --space {name}: leave it out.")
    if math.prod(space.point_shape) > MOST_NUMBERS:
        raise InputError(f"--size {size} makes points of more than {MOST_NUMBERS:,} numbers: pass a smaller one.")
    return space


def _of_size(kind: Any, name: str, size: int | None, **options: float) -> Space:
    """The space of this kind and size; where there is only one, its size is its dimension, and need not be said."""
    parameters = list(inspect.signature(kind).parameters)
    if not parameters:
        return _only(kind(), name, size)
    if size is None:
        raise InputError(f"--size is missing: pass the {parameters[0]} of --space {name}.")
    try:
        space: Space = kind(size, **options)
    except RiemdpError:
        raise
    except (TypeError, ValueError) as problem:  # of a space that another package brings
        raise InputError(f"--size {size} does not fit --space {name} ({problem}): pass another.") from None
    return space


def _only(space: Space, name: str, size: int | None) -> Space:
    if size not in (None, space.dim):
        raise InputError(f"--size {size} does not fit --space {name}: pass {space.dim}, its dimension.")
    return space


def space_of(stored: Stored, name: str, size: int | None, curvature: float | None) -> Space:
    """The space of that name whose points the files hold, by their shape unless the size is given."""
    if size is not None:
        return parse_space(name, size, curvature)
    found = stored.size(space_class(name))
    try:
        _of_size(space_class(name), name, found)
    except InputError as problem:
        raise InputError(f"{stored.name!r} has shape {stored.shape}, hence {problem}") from None
    return parse_space(name, found, curvature)


def parse_center(text: str, space: Space) -> Array:
    """The origin, by a name that the space has for it, or the point in a file, projected onto the space."""
    if text in ("origin", *space.center_names):
        return space.origin
    if text in center_names():
        raise InputError(f"--center {text} is no point of {space!r}: pass origin or a file.")
    return load_point(text, space, "--center", f"pass {', '.join(center_names())}, or a file")


def load_point(text: str, space: Space, option: str, remedy: str = "pass a file") -> Array:
    """The public point in a file, projected onto the space."""
    from riemdp.io.data import load_array

    try:
        array = load_array(text)
    except InputError as problem:
        raise InputError(f"{option} {text} cannot be used: {remedy}; {problem}") from None
    shape = space.shape_of_point(array.dtype)
    if array.size != math.prod(shape):
        raise InputError(f"{option} {text} has shape {array.shape}: pass one point of {space!r}, of shape {shape}.")
    try:
        return space.project(array.reshape(shape))
    except InputError:
        raise InputError(f"{option} {text} holds no point of {space!r}: pass another.") from None


def parse_ball(
    space: Space, center: str | None, radius: float | None, eigenvalues: tuple[float, float] | None = None
) -> Ball:
    """The public ball, by centre and radius or by eigenvalue bounds."""
    from riemdp.balls import Ball

    if eigenvalues is not None:
        if radius is not None or center is not None:
            raise InputError("--eigenvalues gives centre and radius: leave out --center and --radius.")
        return Ball.from_eigenvalue_bounds(space, *eigenvalues)
    if center is None or radius is None:
        lacking = "--center" if center is None else "--radius"
        raise InputError(f"{lacking} is missing: pass a public one, chosen without looking at the data.")
    return Ball(space, parse_center(center, space), radius)


def holds_names(header: bool | None, data: str, columns: str | None, *asked: str | None) -> bool | None:
    """Whether the first line of DATA holds names: as was said, or because a column is asked for by its name."""
    from riemdp.io.groups import names_column
    from riemdp.io.stores import Columns

    if header is not None or not data.lower().endswith(".csv"):
        return header
    is_named = columns is not None and Columns.parse(columns).has_names
    return True if is_named or any(map(names_column, filter(None, asked))) else None


def parse_groups(text: str | None, data: str, header: bool | None) -> Groups:
    """Whose record each is, None if nothing was said about it; and where in DATA that stands."""
    from riemdp.io.groups import Groups, open_groups

    return Groups(None) if text is None else open_groups(text, data, header=bool(header))


def both_columns(first: Columns | None, second: Columns | None) -> Columns | None:
    """The columns of DATA that hold something else of each record than its point."""
    if first is None or second is None:
        return first or second
    return replace(first, asked=(*first.asked, *second.asked))


def about_lines(data: str, header: bool | None, columns: str | None) -> str:
    """What to know about a .csv file if nothing was said of its first line or columns: the same whatever they hold."""
    if not data.lower().endswith(".csv"):
        return ""
    lines = "one for each line: pass --header if the first line holds names, --no-header if not"
    cells = "a point is made of all columns: pass --columns if one holds ids"
    return "; ".join([*([lines] if header is None else []), *([cells] if columns is None else [])])


def parse_names(text: str | None, space: Space) -> tuple[str, ...] | None:
    """Names for the rows of a point: in a file, one in each line or all in one, or as they are, between commas."""
    if text is None:
        return None
    lines = _lines_of(Path(text)) if _is_file(text) else [text]
    names = [name.strip() for line in lines for name in (line.split(",") if len(lines) == 1 else [line])]
    rows = space.point_shape[0]
    if len(names) != rows or not all(names):
        found = f"{text} has {len(names)} names" if all(names) else f"{text} has an empty name"
        raise InputError(f"--names {found}: pass {rows}, one for each row of a point of {space!r}, or a file of them.")
    return tuple(names)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or none at all
        return False


def _lines_of(path: Path) -> list[str]:
    """Lines that hold something; names are few, so a long file is none of them."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MOST_LETTERS + 1)
    except (OSError, UnicodeDecodeError):
        raise InputError(f"--names {path} is no text: pass a file with a name in each line.") from None
    if len(text) > MOST_LETTERS:
        raise InputError(f"--names {path} is longer than {MOST_LETTERS:,} letters: pass a file of names.")
    return [line for line in text.splitlines() if line.strip()]


def parse_guarantee(prefix: str = "", **options: float | None) -> Guarantee:
    """The guarantee that the given ones of epsilon, delta, mu, rho and alpha determine."""
    from riemdp.accounting.guarantee import Guarantee

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    for kind in Guarantee.__subclasses__():
        if set(kind.__match_args__) == set(given):
            return kind(**given)
    asked = " ".join(f"--{prefix}{name} {value:g}" for name, value in given.items()) or "no privacy option"
    e, d, a, m, r = (f"--{prefix}{name}" for name in ("epsilon", "delta", "alpha", "mu", "rho"))
    raise InputError(f"{asked}: pass {e}, {e} with {d} or {a}, {m}, or {r}.")


def takes_guarantee(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with the options of a guarantee in the place of its argument `guarantee`."""
    asked = inspect.signature(command, eval_str=True)
    kinds = {"epsilon": EpsilonOption, "delta": DeltaOption, "mu": MuOption, "rho": RhoOption, "alpha": AlphaOption}
    options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in kinds.items()]

    @wraps(command)
    def run(**given: Any) -> None:
        promise = parse_guarantee(**{name: given.pop(name) for name in kinds})
        command(guarantee=promise, **given)

    unfolded = [
        option
        for one in asked.parameters.values()
        for option in (options if one.name == "guarantee" else [one.replace(kind=Parameter.KEYWORD_ONLY)])
    ]
    run.__signature__ = asked.replace(parameters=unfolded)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in unfolded}
    return run


def unfolded(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an option for each field of an argument that is a dataclass of options."""
    asked = inspect.signature(command, eval_str=True)
    kinds: dict[str, Any] = {
        one.name: one.annotation for one in asked.parameters.values() if is_dataclass(one.annotation)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in kinds.items()}
        command(**made, **given)

    options = [
        option
        for one in asked.parameters.values()
        for option in (_of_fields(one.annotation) if one.name in kinds else [one.replace(kind=Parameter.KEYWORD_ONLY)])
    ]
    run.__signature__ = asked.replace(parameters=options)  # type: ignore[attr-defined]
    return run


def _of_fields(kind: Any) -> list[Parameter]:
    fields_of_it = inspect.signature(kind, eval_str=True).parameters.values()
    return [one.replace(kind=Parameter.KEYWORD_ONLY) for one in fields_of_it]


def parse_budget(**options: float | None) -> Guarantee | None:
    """The budget, None if no option gives one."""
    given = any(value is not None for value in options.values())
    return parse_guarantee("budget-", **options) if given else None


def _mechanisms() -> list[str]:
    from riemdp.mechanisms import MECHANISMS

    return ["auto", *MECHANISMS]


def _statistics() -> list[str]:
    from riemdp.statistics.catalogue import statistic_names

    return statistic_names()


_CALIBRATIONS = ["analytic", "classical"]

PRIVACY, PLACE, BUDGET, OUTPUT, WORK = "Privacy", "Public ball", "Budget", "Output", "Workers (Dask)"
_place, _privacy = partial(typer.Option, rich_help_panel=PLACE), partial(typer.Option, rich_help_panel=PRIVACY)
_FILES = ".npy, .npz (file.npz:key), .csv, .parquet, .zarr, folder or pattern of .npy."
_SIZE = "Dimension d, size k of matrices, number of landmarks, or length of rigid motions"
_CENTER = f"{', '.join(center_names())}, or a file."
_RADIUS = "Of the public ball that holds the records."

RecordsArgument = Annotated[str, typer.Argument(metavar="DATA", help=_FILES)]
_SPACES = f"Where the records live: {', '.join(space_names())}."
SpaceOption = Annotated[SpaceName, _place("--space", metavar="NAME", help=_SPACES)]
SizeOption = Annotated[int | None, _place("--size", help=f"{_SIZE}; rotations have none.")]
InferredSize = Annotated[int | None, _place("--size", help=f"{_SIZE}; by default from the shape of DATA.")]
CurvatureOption = Annotated[float | None, _place("--curvature", help="Of the sphere or hyperbolic space.")]
CenterOption = Annotated[str | None, _place("--center", help=_CENTER)]
RadiusOption = Annotated[float | None, _place("--radius", help=_RADIUS)]
EigenvaluesOption = Annotated[
    tuple[float, float] | None,
    _place("--eigenvalues", metavar="LO HI", help="Bounds of matrices' eigenvalues, instead of centre and radius."),
]
RecordsOption = Annotated[
    int, typer.Option("--records", help="How many there are; people, if they have several each.", min=1, max=10**15)
]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", help="Of a table: names, places from 1 or ranges, as 2-10 or x,y,z.")
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a .csv file holds names: no, unless a column is asked for by name.",
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="FILE|FILE:KEY|COLUMN",
        help="Whose record each is, if people have several: a file of ids, or a column of a table.",
    ),
]
UnitOption = Annotated[
    str | None, typer.Option("--unit", help="With --groups: what is protected, for example patient.")
]
MechanismOption = Annotated[
    str, typer.Option("--mechanism", help="auto, or the name of one.", autocompletion=_mechanisms)
]
StatisticOption = Annotated[
    str,
    typer.Option("--statistic", help="frechet-mean, tangent-mean, or the name of another.", autocompletion=_statistics),
]
SecondOption = Annotated[
    str,
    typer.Option(
        "--second",
        help="Second moments: auto, full, diagonal or trace, which tells no modes.",
        autocompletion=lambda: ["auto", "full", "diagonal", "trace"],
    ),
]
CalibrationOption = Annotated[
    str, typer.Option("--calibration", help="Of Gaussian noise.", autocompletion=lambda: _CALIBRATIONS)
]
AdaptOption = Annotated[
    bool, typer.Option("--adapt", help="Spend part of the budget on a private ball, as small as the records allow.")
]
SpreadOption = Annotated[
    float | None, typer.Option("--spread", help="With --adapt: distance to their mean that records may have.")
]
FootpointOption = Annotated[
    str | None, typer.Option("--footpoint", help="File: where wrapped noise is added, if not at the centre.")
]
AnywayOption = Annotated[bool, typer.Option("--anyway", help="Also if public numbers say that it is worthless.")]
EpsilonOption = Annotated[float | None, _privacy("--epsilon", help="Pure differential privacy.")]
DeltaOption = Annotated[float | None, _privacy("--delta", help="With --epsilon: (epsilon, delta)-DP.")]
MuOption = Annotated[float | None, _privacy("--mu", help="Gaussian differential privacy.")]
RhoOption = Annotated[float | None, _privacy("--rho", help="Zero-concentrated differential privacy.")]
AlphaOption = Annotated[float | None, _privacy("--alpha", help="With --epsilon: Rényi differential privacy.")]
BudgetOption = Annotated[float | None, typer.Option(help="Of a new ledger.", rich_help_panel=BUDGET)]
WaitOption = Annotated[
    float, typer.Option("--wait", help="Seconds to wait for a ledger that others use.", rich_help_panel=BUDGET)
]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="File that keeps the budget.", rich_help_panel=BUDGET)
]
ExistingOption = Annotated[
    bool, typer.Option("--existing-ledger", help="Make no new ledger: one must be there.", rich_help_panel=BUDGET)
]
AnchorOption = Annotated[
    Path | None,
    typer.Option("--anchor", help="File elsewhere: shows if an old ledger is put back.", rich_help_panel=BUDGET),
]
NoteOption = Annotated[
    str | None,
    typer.Option("--note", help="What the ledger says of DATA, if not its name.", rich_help_panel=BUDGET),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Processes to start on this machine.", min=1, rich_help_panel=WORK)
]
SchedulerOption = Annotated[
    str | None, typer.Option("--scheduler", help="Address of a cluster, tcp://host:8786.", rich_help_panel=WORK)
]
NamesOption = Annotated[
    str | None,
    typer.Option("--names", help="Of rows and columns, where shown: a,b,c or a file.", rich_help_panel=OUTPUT),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="The whole release (.json); of a mean also its value (.npy).", rich_help_panel=OUTPUT),
]
ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Page that explains the release, .html.", rich_help_panel=OUTPUT)
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=OUTPUT)]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Picture: .png, .svg or .pdf.", rich_help_panel=OUTPUT)]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace output files that exist.", rich_help_panel=OUTPUT)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.", rich_help_panel=OUTPUT)]
