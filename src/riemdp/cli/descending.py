"""`riemdp median` and `riemdp regress`: what is made of many small releases, from a file to a release.

Everything that can fail is tried before the ledger is touched, as with `riemdp mean`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from riemdp.cli import options as o
from riemdp.cli.releasing import Kind, Ready, Records, Request, carry_out

if TYPE_CHECKING:
    from riemdp.io.groups import Groups

ON = "--on"
MEDIAN, REGRESSION = Kind("median", (".json", ".npy")), Kind("regression", (".json", ".npy"))
WidthOption = Annotated[
    float | None, typer.Option("--width", help="Within which records count as for a mean; by default from the records.")
]
OnOption = Annotated[
    str, typer.Option(ON, metavar="FILE|FILE:KEY|COLUMN", help="The number of each record: a file or a column of DATA.")
]
BoundsOption = Annotated[
    tuple[float, float], typer.Option("--bounds", metavar="LOW HIGH", help="Of the numbers: public.")
]
PrivateRadius = Annotated[
    bool, typer.Option("--adapt", help="Spend part of the budget on a private radius of the residuals.")
]


@o.takes_guarantee
@o.unfolded
def median(request: Request, width: WidthOption = None) -> None:
    """Release a differentially private geometric median: outliers move it little.

    The ball and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp median covariances.npy --space spd-affine --center identity --radius 4 --mu 1 --out median.json
    riemdp median visits.csv --header --groups patient --unit patient --space sphere --center north --radius 1 --mu 1
    """
    carry_out(request, MEDIAN, partial(_median, request, width))


def _median(request: Request, width: float | None, records: Records) -> Ready:
    from riemdp.statistics.median import Median

    bounded = records.bounded
    asked = Median(records.ball, bounded.n, request.guarantee, width, request.protected)
    return Ready(asked.doubts, partial(asked.release, bounded))


@o.takes_guarantee
@o.unfolded
def regress(on: OnOption, bounds: BoundsOption, request: Request, adapt: PrivateRadius = False) -> None:
    """Release how points change with a number of each record: a differentially private geodesic.

    The ball, the bounds of the numbers and the privacy parameters are public: choose them without looking at the data.

    \b
    riemdp regress skulls.npz:rats --on skulls.npz:days --bounds 0 200 --space kendall --center template.npy \\
        --radius 0.3 --mu 1 --adapt --out growth.json --plot growth.png
    riemdp regress scans.csv --header --on age --bounds 20 90 --space sphere --center north --radius 1 --mu 1
    riemdp regress visits.csv --header --on age --bounds 20 90 --groups patient --unit patient --space sphere \\
        --center north --radius 1 --mu 1
    """
    from riemdp.io.groups import open_groups

    request = request.naming(on)
    along = open_groups(on, request.data, header=bool(request.header), option=ON)
    carry_out(request, REGRESSION, partial(_regression, request, along, bounds, adapt), beside=along.column)


def _regression(request: Request, along: Groups, bounds: tuple[float, float], adapt: bool, records: Records) -> Ready:
    from riemdp.statistics.regression import GeodesicRegression, scaled

    bounded = records.bounded
    asked = GeodesicRegression(records.ball, bounded.n, request.guarantee, bounds, adapt, request.protected)
    s = scaled(along.ids[:], bounded.given, asked.t_bounds)
    return Ready(asked.doubts, partial(asked.release, bounded, s))
