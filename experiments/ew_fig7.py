"""EW Figure 7: as Figure 1, for 6 x 6 matrices, d = 21."""

from __future__ import annotations

from matplotlib.figure import Figure as Picture

from ew_common import compare_all, draw_comparison
from harness import Figure, Results, main, panels
from riemdp.plots.sheets import legend


def draw(results: Results) -> Picture:
    """Both panels in a row."""
    picture, axes = panels(1, 2, width=4.4, height=3.8)
    draw_comparison(axes.reshape(2, 1), results)
    legend(picture, 2)
    return picture


FIGURE = Figure(
    "ew_fig7", "EW Figure 7, simulated matrices, d = 21", lambda quick, track: compare_all((6,), quick, track), draw
)

if __name__ == "__main__":
    main(FIGURE)
