"""A figure that shows itself; apart from all else, since importing matplotlib takes longer than all the rest."""

from __future__ import annotations

from matplotlib.figure import Figure

from riemdp.plots.style import figure_bytes

FINE = 2  # pixels of the picture for each one of its size on the page: sharp on any screen


class Picture(Figure):
    """A figure that a notebook shows, though pyplot knows nothing of it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and its size on the page."""
        width, height = (round(inches * self.dpi) for inches in self.get_size_inches())
        return figure_bytes(self, ".png", FINE * self.dpi), {"width": width, "height": height}
