"""What a mechanism has drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

from riemdp.regions import Noisy


class Drawn(NamedTuple):
    """Draws of a mechanism: points, and the public grid to which each ideal one was rounded once, if it was."""

    points: Any
    grid: float | None
    noisy: Any = None  # the vectors with noise that the points were made of
    told: Noisy | None = None  # of one draw: what its region is made of
