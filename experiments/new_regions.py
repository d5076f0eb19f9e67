"""Regions to look at: of a release on the sphere, of a summary in the plane, and of two groups.

Records are simulated; the releases are seeded draws of their law, so that the picture is the same each time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, main, panels
from new_coverage import Study, simulated
from riemdp.plots.style import BLACK, BLUE, ORANGE, VERMILION
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.mean import rehearse

if TYPE_CHECKING:
    from harness import Picture

SPHERE = rd.Sphere(2)


def on_the_sphere() -> Results:
    """A mean far from the footpoint: its region is round in coordinates, not on the sphere."""
    rng = np.random.default_rng(4)
    ball = rd.Ball(SPHERE, np.array([0.0, 0.0, 1.0]), 1.1)
    middle = SPHERE.exp([0.8, 0.3, 0.0], ball.center)
    tangent = SPHERE.from_coordinates(0.1 * rng.standard_normal((60, 2)), middle)
    records = SPHERE.exp(tangent, middle)
    release = rd.private_mean(records, ball, rd.GDP(1.0), mechanism="wrapped-gaussian")
    prepared = rehearse(ball, 60, rd.GDP(1.0), mechanism="wrapped-gaussian")
    law = prepared.query.law(prepared.how)
    points, vectors = simulated(law, law.value(Bounded(records, ball)), rng, 1)
    drawn = replace(release, value=points[0], noisy=replace(release.noisy, vector=vectors[0]))
    mean = rd.frechet_mean(records, SPHERE).point
    return {"rim": drawn.region().boundary(300), "value": drawn.value, "records": records, "mean": mean}


def in_the_plane() -> Results:
    """Records, the region of their mean and that of the population's; and of a second group."""
    rng, found = np.random.default_rng(5), {}
    shape = np.array([[1.0, 0.6], [0.0, 0.35]])

    def law(shift: float) -> Any:
        return lambda r, n, dim: r.standard_normal((n, dim)) @ shape + shift

    for name, shift, n in (("a", 0.0, 2000), ("b", 0.12, 1500)):
        study = Study(rd.Euclidean(2), law(shift), n, 5.0, 0.0, rd.GDP(1.0))
        summary = study.summaries(rng)()
        found |= {f"{name} value": summary.value, f"{name} records": study.records(rng)[:300]}
        for of in ("records", "population"):
            found[f"{name} {of} rim"] = summary.region(0.95, of=of).boundary(200)
        found[name] = summary
    found["p"] = rd.compare(found.pop("a"), found.pop("b")).p_value
    return found


def compute(quick: bool, track: Track) -> Results:  # noqa: ARG001
    """Both pictures' points."""
    return {f"sphere {name}": value for name, value in on_the_sphere().items()} | in_the_plane()


def draw(results: Results) -> Picture:
    """The sphere from above, the plane as it is, a close-up of two groups."""
    picture, (axes,) = panels(1, 3, 4.3, 4.0)
    _draw_sphere(axes[0], {name[7:]: value for name, value in results.items() if name.startswith("sphere ")})
    _draw_plane(axes[1], results, ("a",))
    axes[1].set_title("one group: records and regions", fontsize=10)
    _draw_plane(axes[2], results, ("a", "b"), close=True)
    axes[2].set_title(f"close-up, and a second group: p = {results['p']:.2g}", fontsize=10)
    axes[2].legend(fontsize=8, frameon=False, loc="upper left")
    return picture


def _draw_sphere(ax: Any, found: dict[str, Array]) -> None:
    around = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(around), np.sin(around), color="0.7", linewidth=1)
    for angle in (0.4, 0.8, 1.2):
        ax.plot(np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), color="0.88", linewidth=0.8)
    ax.plot(*found["records"][:, :2].T, ".", color="0.6", markersize=2, label="records")
    ax.fill(*found["rim"][:, :2].T, color=ORANGE, alpha=0.25, linewidth=0)
    ax.plot(*found["rim"][:, :2].T, color=ORANGE, linewidth=1.5, label="95 % region")
    ax.plot(*found["mean"][:2], "x", color=BLACK, markersize=7, label="mean of the records")
    ax.plot(*found["value"][:2], "o", color=VERMILION, markersize=5, label="release")
    ax.plot(0, 0, "+", color=BLACK, label="footpoint")
    ax.set_aspect("equal")
    ax.axis("off")
    ax.legend(fontsize=8, frameon=False, loc="lower left")
    ax.set_title("a sphere from above, mean far from the footpoint", fontsize=10)


def _draw_plane(ax: Any, found: Results, groups: tuple[str, ...], close: bool = False) -> None:
    for group, paint in zip(groups, (BLUE, VERMILION), strict=False):
        if not close:
            ax.plot(*found[f"{group} records"].T, ".", color="0.7", markersize=2.5)
        for of, style in (("records", ":"), ("population", "-")):
            rim = found[f"{group} {of} rim"]
            ax.plot(*rim.T, style, color=paint, linewidth=1.5, label=f"group {group}, mean of the {of}")
        ax.plot(*found[f"{group} value"], "o", color=paint, markersize=4)
    ax.set_aspect("equal", adjustable="datalim")


FIGURE = Figure("new_regions", "regions of means, looked at", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
