"""The command line: parse, call, print.

Exit codes: 0 done, 1 an audit contradicts the claim, 2 bad usage or input (one line on stderr), 3 budget refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from riemdp.errors import BudgetExceeded, InputError, RiemdpError

if TYPE_CHECKING:
    from riemdp.audit import Audit
    from riemdp.manifolds.base import Array, Space
    from riemdp.privacy.guarantee import Guarantee

CONTRADICTED, BAD_INPUT, REFUSED = 1, 2, 3
# The base of all complaints about usage; typer takes it from click or brings its own, by version.
_UsageProblem: type[Exception] = typer.BadParameter.__mro__[2]


class _OneLineErrors(TyperGroup):
    """A user's mistake is one line on stderr and a code, never a traceback or a frame."""

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except (RiemdpError, _UsageProblem) as problem:
            message = problem.format_message() if hasattr(problem, "format_message") else str(problem)
            typer.echo(f"riemdp: {' '.join(message.split())}", err=True)
            sys.exit(REFUSED if isinstance(problem, BudgetExceeded) else BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(cls=_OneLineErrors, help="Differential privacy for data that live on curved spaces.")


def main() -> None:
    """Entry point of the command `riemdp`."""
    app(prog_name="riemdp")


# --- what the options mean -----------------------------------------------------------------------------


class SpaceName(StrEnum):
    """Spaces that the command line knows."""

    EUCLIDEAN = "euclidean"
    SPHERE = "sphere"
    HYPERBOLIC = "hyperbolic"
    SPD_AFFINE = "spd-affine"
    SPD_LOG_EUCLIDEAN = "spd-log-euclidean"
    KENDALL = "kendall"


def parse_space(name: SpaceName, size: int, curvature: float | None = None) -> Space:
    """The space of that name: size is its dimension d, its matrices' k, or its number of landmarks k."""
    from riemdp import manifolds as m

    if name in (SpaceName.SPHERE, SpaceName.HYPERBOLIC):
        kind = m.Sphere if name == SpaceName.SPHERE else m.Hyperbolic
        return kind(size) if curvature is None else kind(size, curvature=curvature)
    if curvature is not None:
        raise InputError(f"--curvature {curvature:g} does not fit --space {name}: leave it out.")
    match name:
        case SpaceName.EUCLIDEAN:
            return m.Euclidean(size)
        case SpaceName.KENDALL:
            return m.KendallShapes(size)
        case SpaceName.SPD_AFFINE:
            return m.SPDAffine(size)
    return m.SPDLogEuclidean(size)


def parse_center(text: str, space: Space) -> Array:
    """identity (matrices), north (sphere), origin (any space), or a file."""
    from riemdp.manifolds import Sphere
    from riemdp.manifolds.spd import SPD

    owners: dict[str, type] = {"identity": SPD, "north": Sphere, "origin": type(space)}
    if text not in owners:
        return _read_array(text, "--center")
    if not isinstance(space, owners[text]):
        raise InputError(f"--center {text} is no point of {space!r}: pass origin or a .npy file.")
    return space.origin


def _read_array(text: str, option: str) -> Array:
    import numpy as np

    try:
        return np.asarray(np.load(text, allow_pickle=False))
    except (OSError, ValueError, EOFError):
        raise InputError(f"{option} {text} cannot be read: pass identity, origin, north or a .npy file.") from None


def parse_guarantee(**options: float | None) -> Guarantee:
    """The guarantee that the given ones of epsilon, delta, mu, rho and alpha determine."""
    from riemdp.privacy.guarantee import Guarantee

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    for kind in Guarantee.__subclasses__():
        if set(kind.__match_args__) == set(given):
            return kind(**given)
    asked = " ".join(f"--{name} {value:g}" for name, value in given.items()) or "no privacy option"
    raise InputError(f"{asked}: pass --epsilon, --epsilon with --delta or --alpha, --mu, or --rho.")


@contextmanager
def _progress_bar(text: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A way to report steps, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)


SpaceOption = Annotated[SpaceName, typer.Option("--space", help="Where the records live.")]
SizeOption = Annotated[int, typer.Option("--size", help="Dimension d, size k of matrices, or number of landmarks.")]
CurvatureOption = Annotated[float | None, typer.Option("--curvature", help="Of the sphere or hyperbolic space.")]
CenterOption = Annotated[str, typer.Option("--center", help="identity, origin, north, or a .npy file.")]
RadiusOption = Annotated[float, typer.Option("--radius", help="Of the public ball that holds the records.")]
RecordsOption = Annotated[int, typer.Option("--records", help="How many there are.")]
MechanismOption = Annotated[str, typer.Option("--mechanism", help="auto, or the name of a mechanism.")]
StatisticOption = Annotated[str, typer.Option("--statistic", help="frechet-mean or tangent-mean.")]
EpsilonOption = Annotated[float | None, typer.Option("--epsilon", help="Pure differential privacy.")]
DeltaOption = Annotated[float | None, typer.Option("--delta", help="With --epsilon: (epsilon, delta)-DP.")]
MuOption = Annotated[float | None, typer.Option("--mu", help="Gaussian differential privacy.")]
RhoOption = Annotated[float | None, typer.Option("--rho", help="Zero-concentrated differential privacy.")]
AlphaOption = Annotated[float | None, typer.Option("--alpha", help="With --epsilon: Rényi differential privacy.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]


# --- commands ----------------------------------------------------------------------------------------


def _print_version(asked: bool) -> None:
    if asked:
        from riemdp.version import __version__

        typer.echo(f"riemdp {__version__}")
        raise typer.Exit


VersionOption = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")]


@app.callback(invoke_without_command=True)
def _start(context: typer.Context, version: VersionOption = False) -> None:  # noqa: ARG001
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def audit(
    space: SpaceOption,
    size: SizeOption,
    radius: RadiusOption,
    records: RecordsOption,
    center: CenterOption = "origin",
    curvature: CurvatureOption = None,
    mechanism: MechanismOption = "auto",
    statistic: StatisticOption = "frechet-mean",
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    mu: MuOption = None,
    rho: RhoOption = None,
    alpha: AlphaOption = None,
    draws: Annotated[int, typer.Option(help="Simulated releases of each of two neighbours.")] = 1_000_000,
    confidence: Annotated[float, typer.Option(help="Probability that the bounds are right.")] = 0.9999,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Bound from below what a mechanism leaks, by simulation on worst-case neighbours; exit 1 if it is too much."""
    from riemdp.audit import audit as run
    from riemdp.privacy.bounded import Ball

    where = parse_space(space, size, curvature)
    ball = Ball(where, parse_center(center, where), radius)
    guarantee = parse_guarantee(epsilon=epsilon, delta=delta, mu=mu, rho=rho, alpha=alpha)
    ask: dict[str, Any] = {"mechanism": mechanism, "statistic": statistic, "confidence": confidence, "seed": seed}
    with _progress_bar("drawing", 2 * draws) as progress:
        found = run(ball, records, guarantee, draws=draws, progress=progress, **ask)
    typer.echo(json.dumps(found.to_dict()) if as_json else _report(found))
    if not found.holds:
        raise typer.Exit(CONTRADICTED)


def _report(found: Audit) -> str:
    bounds = [f"{name} >= {bound:.4g}" for name, bound in found.lower.items()]
    if "epsilon" not in found.lower or "alpha" in found.claimed.parameters:
        bounds.append(f"epsilon >= {found.epsilon_lower:.4g} of pure differential privacy")
    rows = {
        "mechanism": f"{found.mechanism}, scale {found.scale:.4g}, sensitivity {found.sensitivity:.4g}",
        "claimed": str(found.claimed),
        "found": ", ".join(bounds),
        "confidence": f"{found.confidence:.12g}, {found.draws:,} draws of each neighbour ({found.neighbours})",
        "verdict": "the claim is not contradicted" if found.holds else "the claim is CONTRADICTED",
    }
    return "\n".join(f"{name:<12}{text}" for name, text in rows.items())


@app.command()
def demo(out: Annotated[Path, typer.Argument(help="Folder for the picture.")] = Path("demo")) -> None:
    """Certified means of real data: a table and a picture."""
    from riemdp.demo import main as show

    show(out)
