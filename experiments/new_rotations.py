"""Real rotations: wrists of people who drill, and crystals of nickel with the symmetry of the cube.

Left: orientations of 219 wrists in a public ball of 80 degrees around the rest position, with private means of them
(one record protected) and of the 8 people (all records of a person protected), GDP(1). Middle: angles of 3,383 crystal
orientations to the frame of the sample, as they are written and after each was replaced by the closest of its 24
equivalents. Right: distances of crystals to the mean of such equivalents, of the whole map and of one component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

import riemdp as rd
from harness import Array, Figure, Results, Track, has, load, main, panels
from new_common import root_mean_square
from riemdp.plots.style import BLACK, BLUE, GREEN, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

DATA, SPACE = "rotations_SO3", rd.Rotations()
GUARANTEE, REST, NARROW = rd.GDP(1.0), 1.4, np.radians(15)
ORIENTATION = 650  # a record that plays a published orientation of the strongest texture component


def compute(quick: bool, track: Track) -> Results:
    """Whatever the data at hand allow."""
    parts = (wrists, crystals) if has(DATA) else ()
    results: Results = {"sets": len(parts)}
    for part in track(parts, "data sets"):
        results |= part(20 if quick else 300)
    return results


def wrists(size: int) -> Results:
    """Records, their mean, and releases that protect a record or a person."""
    data = load(DATA)
    wrist = data["drill_joint"] == "Wrist"
    records, people = SPACE.project(data["drill_quaternions"][wrist], scalar_first=True), data["drill_subject"][wrist]
    ball, mean = rd.Ball(SPACE, SPACE.origin, REST), rd.frechet_mean(records, SPACE).point
    results: Results = {"wrists": _degrees(records), "mean": _degrees(mean[None])}
    for unit, groups in (("record", None), ("person", people)):
        draws = rd.simulate(records, ball, GUARANTEE, size=size, seed=0, groups=groups)
        results[f"released, {unit}"] = _degrees(draws)
        results[f"error in degrees, {unit}"] = np.degrees(root_mean_square(SPACE.dist(draws, mean))[0])
    return results


def crystals(size: int) -> Results:
    """Angles before and after, and how far crystals are from means of equivalents."""
    raw = load(DATA)["nickel_ebsd"]
    center = closest(raw[[ORIENTATION]], SPACE.origin)[0]
    whole, around = closest(raw, SPACE.origin), closest(raw, center)
    narrow = around[SPACE.dist(around, center) <= NARROW]
    results: Results = {"raw": _angles(raw, SPACE.origin), "closest": _angles(whole, SPACE.origin)}
    for name, records in (("whole map", whole), ("component", narrow)):
        mean = rd.frechet_mean(records, SPACE).point
        results[name] = np.degrees(SPACE.dist(closest(raw, mean) if name == "whole map" else records, mean))
        results[f"{name}: closest crystal to the mean, degrees"] = results[name].min()
    ball = rd.Ball(SPACE, center, NARROW)
    draws = rd.simulate(narrow, ball, GUARANTEE, size=size, seed=0)
    error = root_mean_square(SPACE.dist(draws, rd.frechet_mean(narrow, SPACE).point))[0]
    return results | {"component: records": len(narrow), "component: error in degrees": np.degrees(error)}


def closest(records: Array, center: Array) -> Array:
    """The one of the 24 equivalents of each orientation that is closest to a public one."""
    equivalents = records[:, None] @ Rotation.create_group("O").as_matrix()
    return np.asarray(equivalents[np.arange(len(records)), SPACE.dist(equivalents, center).argmin(axis=1)])


def _angles(records: Array, center: Array) -> Array:
    return np.degrees(SPACE.dist(records, center))


def _degrees(matrices: Array) -> Array:
    """Rotation vectors."""
    return np.degrees(Rotation.from_matrix(matrices).as_rotvec())


def draw(results: Results) -> Picture | None:
    """Three panels."""
    if not results["sets"]:
        return None
    picture, (axes,) = panels(1, 3, width=4.4, height=3.9)
    _draw_wrists(axes[0], results)
    _draw_angles(axes[1], results)
    _draw_distances(axes[2], results)
    return picture


def _draw_wrists(ax: Axes, results: Results) -> None:
    points: dict[str, dict[str, Any]] = {
        "wrists": {"color": GREY, "s": 10, "label": "219 orientations"},
        "released, person": {"color": BLUE, "s": 8, "alpha": 0.5, "label": "private means, a person protected"},
        "released, record": {"color": VERMILION, "s": 8, "alpha": 0.7, "label": "private means, a record protected"},
        "mean": {"color": BLACK, "s": 60, "marker": "+", "label": "mean"},
    }
    for name, style in points.items():
        ax.scatter(*results[name][:, :2].T, linewidths=0 if name != "mean" else 1.8, **style)
    ax.set(xlim=(-90, 90), ylim=(-110, 90))
    ax.set(xlabel="about the first axis, degrees", ylabel="about the second axis, degrees")
    ax.set_title("wrists of 8 people, μ = 1", fontsize=10)
    ax.legend(fontsize=7, loc="lower left", framealpha=0.9)


def _draw_angles(ax: Axes, results: Results) -> None:
    bins = np.linspace(0, 180, 61)
    ax.set_axisbelow(True)
    ax.hist(results["raw"], bins, color=GREY, label="as written")
    ax.hist(results["closest"], bins, color=GREEN, alpha=0.8, label="closest of 24 equivalents")
    ax.axvline(62.8, color=BLACK, linewidth=1, linestyle="--", label="no crystal is farther")
    ax.set(xlabel="angle to the sample's frame, degrees", ylabel="crystals")
    ax.set_title("nickel: one crystal, 24 matrices", fontsize=10)
    ax.legend(fontsize=7)


def _draw_distances(ax: Axes, results: Results) -> None:
    bins = np.linspace(0, 65, 53)
    ax.set_axisbelow(True)
    ax.hist(results["whole map"], bins, color=GREY, label="to the mean of the whole map")
    ax.hist(results["component"], bins, color=VERMILION, alpha=0.8, label="within 15°: to the mean of those")
    ax.set(xlabel="distance to the mean, degrees", ylabel="crystals")
    ax.set_title("whose mean means something?", fontsize=10)
    ax.legend(fontsize=7)


FIGURE = Figure("new_rotations", "rotations of wrists and crystals", compute, draw, (DATA,))

if __name__ == "__main__":
    main(FIGURE)
