"""Figure 3 of Soto, Bharath, Reimherr and Slavković (2022): the private mean shapes of Figure 2, smoothed.

First order local linear regression along the outline, which is post-processing and costs no privacy.
Run: python experiments/kng_fig3.py [--data FILE --radius R]
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from harness import Figure, Results
from kng_common import DATA, SETTINGS, Source, compute, main, smoothed
from kng_fig2 import block

if TYPE_CHECKING:
    from harness import Picture


def draw(results: Results) -> Picture | None:
    """Both blocks, smoothed."""
    from matplotlib.figure import Figure as Picture

    if "records" not in results:
        return None
    picture = Picture(figsize=(8, 10), layout="constrained", facecolor="white")
    for part, label in zip(picture.subfigures(2, 1, height_ratios=(3, 4)), SETTINGS, strict=True):
        block(part, results, label, smoothed(results[f"{label}_shapes"]), results[f"{label}_smooth_errors"])
    return picture


def figure(source: Source) -> Figure:
    """With these landmarks."""
    title = "private mean shapes, smoothed"
    return Figure("kng_fig3", title, partial(compute, source=source), draw, (DATA,))


FIGURE = figure(Source())

if __name__ == "__main__":
    main(figure)
