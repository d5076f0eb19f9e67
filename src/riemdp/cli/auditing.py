"""`riemdp audit` and `riemdp demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from riemdp.cli import options as o
from riemdp.cli.app import Interrupted
from riemdp.cli.output import facts, progress_bar, show
from riemdp.display import page_of

CONTRADICTED = 1
DRAWS = "Simulated releases of each of two neighbours; by default 1,000,000, or 10,000 with --adapt."


@o.takes_guarantee
def audit(
    space: o.SpaceOption,
    guarantee: o.Promise,
    size: o.SizeOption = None,
    records: o.RecordsOption = 100,
    radius: o.RadiusOption = None,
    center: o.CenterOption = "origin",
    curvature: o.CurvatureOption = None,
    mechanism: o.MechanismOption = "auto",
    statistic: o.StatisticOption = "frechet-mean",
    second: o.SecondOption = "auto",
    adapt: o.AdaptOption = False,
    draws: Annotated[int | None, typer.Option(help=DRAWS, max=10**10)] = None,
    confidence: Annotated[float, typer.Option(help="Probability that the bounds are right.")] = 0.9999,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 0,
    as_json: o.JsonOption = False,
) -> None:
    """Bound from below what a mechanism leaks, by simulation on worst-case neighbours; exit 1 if it is too much.

    \b
    riemdp audit --space sphere --size 2 --radius 0.5 --records 100 --epsilon 1
    """
    from riemdp.audit import audit as run
    from riemdp.audit import default_draws

    where = o.parse_space(space, size, curvature)
    ball = o.parse_ball(where, center, radius)
    ask: dict[str, Any] = {"mechanism": mechanism, "statistic": statistic, "second": second, "adapt": adapt}
    count = default_draws(adapt) if draws is None else draws
    with progress_bar("drawing", 2 * count) as progress:
        found = run(ball, records, guarantee, draws=count, confidence=confidence, seed=seed, progress=progress, **ask)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        show(facts(page_of(found).facts))
    if not found.holds:
        raise typer.Exit(CONTRADICTED)


def demo(
    out: Annotated[Path, typer.Argument(help="Folder for picture, report and ledger.")] = Path("demo"),
    force: o.ForceOption = False,
) -> None:
    """Handwritten digits, from outlines to private mean shapes: a table, a picture and a report."""
    from riemdp.demo import main as show_demo

    try:
        show_demo(out, force=force)
    except KeyboardInterrupt:
        raise Interrupted(f"riemdp ledger show {out / 'ledger.db'} tells what was spent.") from None
