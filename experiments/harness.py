"""What all figure scripts share: a command line, saved results, data, progress bars, pictures with bands.

A script defines one `FIGURE` and ends with `if __name__ == "__main__": main(FIGURE)`. Its `compute(quick, track)`
returns arrays, numbers and strings by name, which are saved; its `draw(results)` makes the picture from these alone,
so that a picture can be redrawn without computing anything. Single numbers among the results are printed.
All figures: python experiments/figures.py.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import track as progress

import riemdp as rd
from riemdp.io.files import write_whole
from riemdp.plots.style import light, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

Array = NDArray[Any]
Results = dict[str, Any]
T = TypeVar("T")

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "figures"


class Track(Protocol):
    """Goes through items, with a progress bar on a terminal. Not to be nested."""

    def __call__(self, items: Sequence[T], label: str) -> Iterable[T]:
        """The items, one by one."""


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper, or a new one."""

    name: str  # of the script and of the files
    title: str
    compute: Callable[[bool, Track], Results]
    draw: Callable[[Results], Picture | None]  # None: nothing to draw without the data
    data: tuple[str, ...] = ()  # data sets that it uses; what is missing is left out


# --- data ------------------------------------------------------------------------------------------------------


def data_folder() -> Path:
    """$RIEMDP_DATA, or shared/data beside the repository."""
    return Path(os.environ.get("RIEMDP_DATA", HERE.parents[1] / "shared" / "data"))


def has(name: str) -> bool:
    """Whether a data set is at hand."""
    return (data_folder() / f"{name}.npz").is_file()


def load(name: str) -> dict[str, Array]:
    """The arrays of a data set."""
    if not has(name):
        raise SystemExit(f"{name}.npz is not in {data_folder()}: set RIEMDP_DATA to the folder that holds it.")
    return _arrays(data_folder() / f"{name}.npz")


@lru_cache(maxsize=1)
def _arrays(path: Path) -> dict[str, Array]:
    with np.load(path) as archive:
        return dict(archive)


# --- results ---------------------------------------------------------------------------------------------------


def fingerprint(figure: Figure, quick: bool) -> str:
    """Of all that results depend on: the scripts, the library, the data at hand, quick or full."""
    library = sorted(Path(rd.__file__).parent.rglob("*.py"))
    shared = [HERE / "harness.py", HERE / "metropolis.py", *sorted(HERE.glob("*_common.py"))]
    state = hashlib.sha256(repr((quick, [name for name in figure.data if has(name)])).encode())
    for path in [*library, *shared, HERE / f"{figure.name}.py"]:
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def save(results: Results, path: Path) -> None:
    """As npz, without pickles, whole or not at all."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in results.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue(), force=True)


def saved(path: Path) -> Results:
    """What `save` wrote; single values come back as Python's."""
    with np.load(path) as archive:
        return {name: archive[name].item() if archive[name].ndim == 0 else archive[name] for name in archive.files}


def results_of(figure: Figure, folder: Path, quick: bool, redraw: bool, console: Console) -> Results:
    """Saved ones if they are up to date, or in any case to redraw; else computed and saved."""
    path, key = folder / f"{figure.name}.npz", fingerprint(figure, quick)
    if redraw and not path.exists():
        raise SystemExit(f"{path} does not exist: run {figure.name} without --redraw first.")
    if path.exists():
        old = saved(path)
        if old["fingerprint"] == key:
            return old
        if redraw:
            console.print(f"{figure.name}: saved by another version of the script, the library or the data.")
            return old
    for name in figure.data:
        if not has(name):
            hint = f"{name}.npz is not in {data_folder()}: left out. Set RIEMDP_DATA to the folder that holds it."
            console.print(hint, soft_wrap=True)
    start, busy = time.perf_counter(), time.process_time()
    results = figure.compute(quick, tracker(console))
    results |= {"seconds": time.perf_counter() - start, "processor seconds": time.process_time() - busy}
    results["fingerprint"] = key
    save(results, path)
    return saved(path)


def tracker(console: Console) -> Track:
    """Progress bars on a terminal only."""
    return lambda items, label: progress(items, label, console=console, transient=True, disable=not console.is_terminal)


# --- numbers and pictures --------------------------------------------------------------------------------------


def make(figure: Figure, out: Path = FOLDER, quick: bool = False, redraw: bool = False) -> Results:
    """Results, computed or saved, and the picture of them; quick ones in a folder of their own."""
    console, folder = Console(), out / "quick" if quick else out
    results = results_of(figure, folder, quick, redraw, console)
    console.print(f"[bold]{figure.name}[/bold]: {figure.title}, {results['seconds']:.1f} s")
    for name, value in results.items():
        if isinstance(value, bool | int | float) and name != "seconds":
            console.print(f"  {name} = {value:.4g}", highlight=False, soft_wrap=True)
    picture = figure.draw(results)
    if picture is None:
        console.print("  nothing to draw without the data")
    else:
        _write(picture, folder / figure.name, quick)
        console.print(f"  {folder / figure.name}.png", highlight=False, soft_wrap=True)
    return results


def _write(picture: Picture, path: Path, quick: bool) -> None:
    """PNG and SVG, laid out once; a quick one is PNG alone."""
    picture.draw_without_rendering()
    picture.set_layout_engine("none")
    for suffix in (".png",) if quick else (".png", ".svg"):
        save_figure(picture, path.with_suffix(suffix), force=True)


def noise_scale(mechanism: str, guarantee: rd.Guarantee, sensitivity: float, calibration: str = "analytic") -> float:
    """What the library takes for a value of this sensitivity: a ball of the line has such a mean of one record."""
    ball = rd.Ball(rd.Euclidean(1), np.zeros(1), sensitivity / 2)
    plans = {row.mechanism: row.scale for row in rd.plan(ball, 1, guarantee, calibration=calibration)}
    return plans[mechanism]


def mean_and_range(values: ArrayLike) -> tuple[float, float, float]:
    """Mean, and where 95 % of single releases lie."""
    array = np.asarray(values, dtype=float)
    return float(array.mean()), *(float(q) for q in np.quantile(array, (0.025, 0.975)))


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Mean and standard error of the mean: how well it is known."""
    array = np.asarray(values, dtype=float)
    return float(array.mean()), float(array.std(ddof=1)) / math.sqrt(array.size)


def curve(ax: Axes, x: ArrayLike, y: ArrayLike, half_width: ArrayLike, **style: Any) -> None:
    """A line with a band of y ± half_width (two standard errors, say) in its colour."""
    ranged(ax, x, np.stack([y, np.asarray(y) - half_width, np.asarray(y) + half_width], axis=-1), **style)


def ranged(ax: Axes, x: ArrayLike, rows: Array, **style: Any) -> None:
    """A line with a band in its colour; rows (..., 3) of what `mean_and_range` gives."""
    mean, low, high = np.asarray(rows).T
    (line,) = ax.plot(x, mean, **({"marker": "o", "markersize": 3.5, "linewidth": 1.4} | style))
    ax.fill_between(np.asarray(x, dtype=float), low, high, color=line.get_color(), alpha=0.15, linewidth=0)


def panels(rows: int, columns: int, width: float = 3.4, height: float = 3.0, **shared: Any) -> tuple[Picture, Any]:
    """An empty picture and its panels (rows, columns), with light axes."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(columns * width, rows * height), layout="constrained", facecolor="white")
    axes = picture.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat:
        light(ax)
        ax.grid(color="0.92", linewidth=0.6)
    return picture, axes


# --- command line ----------------------------------------------------------------------------------------------


def options(description: str | None) -> argparse.ArgumentParser:
    """What every script understands."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke run")
    parser.add_argument("--redraw", action="store_true", help="draw saved results again, computing nothing")
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"folder to write to (default {FOLDER.name}/)")
    return parser


def main(figure: Figure, arguments: Sequence[str] | None = None) -> None:
    """The command line of one script."""
    chosen = options(f"{figure.name}: {figure.title}").parse_args(arguments)
    make(figure, chosen.out, chosen.quick, chosen.redraw)
