"""How often regions hold the mean, and how often `compare` raises a false alarm: claimed and measured.

Noise and records are simulated, in float64 and seeded: the law of the release, not releases. Regions of the mean of the
records for every mechanism on every space; of the population's mean for normal records and for heavy tails (Student's
t with 5 degrees of freedom); comparisons of two groups that do not differ; and settings in which they fail.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, main, panels
from riemdp.distributions.riemannian import RiemannianLaplace
from riemdp.kernels.products import upper_triangle
from riemdp.manifolds.capabilities import Chords, Embedding
from riemdp.mechanisms.baselines import nearest_points
from riemdp.mechanisms.visible import Visible, carry
from riemdp.plots import STYLES
from riemdp.privacy.bounded import Bounded
from riemdp.regions import SHAPES
from riemdp.statistics.mean import rehearse
from riemdp.statistics.moments import Moments

if TYPE_CHECKING:
    from harness import Picture

LEVEL = 0.95
POINT: dict[str, Any] = {"linestyle": "", "markersize": 3.5, "linewidth": 1, "elinewidth": 1}
SPACES: dict[str, tuple[rd.Space, float]] = {
    "R³": (rd.Euclidean(3), 2.0),
    "3 x 3 matrices, log-Euclidean": (rd.SPDLogEuclidean(3), 1.5),
    "3 x 3 matrices, affine": (rd.SPDAffine(3), 1.5),
    "sphere S²": (rd.Sphere(2), 1.0),
    "hyperbolic plane": (rd.Hyperbolic(2), 1.5),
    "shapes of 6 landmarks": (rd.KendallShapes(6), 0.4),
    "S² and 2 x 2 matrices": (rd.Product(rd.Sphere(2), rd.SPDAffine(2)), 0.8),
}


# --- regions of the mean of the records --------------------------------------------------------------------------


def guarantee_of(mechanism: str) -> rd.Guarantee:
    """The one that belongs to its noise."""
    return rd.GDP(1.0) if mechanism.endswith("gaussian") else rd.PureDP(1.0)


def has(space: rd.Space, mechanism: str) -> bool:
    """Whether the mechanism exists there."""
    return space.has(Embedding) or not mechanism.startswith("extrinsic")


def of_records(space: rd.Space, radius: float, mechanism: str, size: int, n: int = 200) -> float:
    """The share of simulated releases of one data set whose region holds its mean."""
    rng = np.random.default_rng(7)
    ball = rd.Ball(space, space.random_point(1, 1)[0], radius)
    coords = rng.standard_normal((n, space.dim))
    coords *= 0.8 * radius * rng.random((n, 1)) / np.linalg.norm(coords, axis=1, keepdims=True)
    records = space.exp(space.from_coordinates(coords + 0.1 * radius / space.dim**0.5, ball.center), ball.center)
    template = rd.private_mean(records, ball, guarantee_of(mechanism), mechanism=mechanism)
    prepared = rehearse(ball, n, guarantee_of(mechanism), mechanism=mechanism)
    law = prepared.query.law(prepared.how)
    value = law.value(Bounded(records, ball))
    mean_of_records = value[0] if isinstance(value, tuple) else value  # beside it: how full the ball is
    points, vectors = simulated(law, mean_of_records, rng, size)
    is_chord = mechanism.startswith("extrinsic") and space.has(Chords)
    mean = space.project(records.mean(axis=0)) if is_chord else rd.frechet_mean(records, space).point
    return float(np.mean([holds(template, *draw, mean) for draw in zip(points, vectors, strict=True)]))


def holds(template: Any, point: Array, vector: Array | None, mean: Array) -> bool:
    """Whether the region of this draw holds the mean."""
    space = template.space
    drawn = replace(template, value=space.write(point, space.origin), noisy=replace(template.noisy, vector=vector))
    return bool(drawn.region(LEVEL).contains(mean))


def simulated(law: Any, value: Any, rng: np.random.Generator, size: int) -> tuple[Array, list[Any]]:
    """Points, and the noisy vectors that they were made of, if they were; beside the mean may be the ball's fill."""
    value = value[0] if isinstance(value, tuple) else value
    mechanism, ball, scale = law.mechanism, law.ball, law.scale
    if mechanism.name == "riemannian-laplace" and not ball.space.is_flat:
        return mechanism.simulate(value, scale, ball, law.footpoint, rng, size), [None] * size
    if mechanism.name == "riemannian-laplace":
        vectors = value + RiemannianLaplace(ball.space, ball.space.origin, scale).sample_coords(size, rng)
    else:
        vectors = mechanism.noisy(value, scale, rng, size)
    noisy = Visible(vectors)
    return nearest_points(noisy, ball) if mechanism.input == "ambient" else carry(noisy, law.footpoint, ball), vectors


# --- regions of the population's mean, and comparisons -------------------------------------------------------------

Law = Callable[[np.random.Generator, int, int], Array]  # (rng, n, dim) -> coordinates at the population's mean


def normal(spread: float) -> Law:
    """Normal records, the same in all directions."""
    return lambda rng, n, dim: spread * rng.standard_normal((n, dim))


def student(spread: float, degrees: float) -> Law:
    """Heavy tails: Student's law, of the same variance where it has one."""
    size = spread * (max(degrees - 2, 1) / degrees) ** 0.5

    def draw(rng: np.random.Generator, n: int, dim: int) -> Array:
        return size * rng.standard_normal((n, dim)) / np.sqrt(rng.chisquare(degrees, (n, 1)) / degrees)

    return draw


def stretched(spread: float) -> Law:
    """Normal records, ten times wider in the first direction than in the last."""
    return lambda rng, n, dim: spread * rng.standard_normal((n, dim)) * np.logspace(0, -1, dim)


def skewed(spread: float) -> Law:
    """Exponential in each direction, of mean 0: one tail is long."""
    return lambda rng, n, dim: spread * (rng.exponential(size=(n, dim)) - 1)


@dataclass(frozen=True)
class Study:
    """Records of a law around the population's mean, in a ball whose centre is `off` it."""

    space: rd.Space
    law: Law
    n: int
    radius: float
    off: float
    guarantee: rd.Guarantee = rd.GDP(1.0)  # noqa: RUF009 a constant
    second: str = "auto"

    @property
    def mean(self) -> Array:
        """Of the population."""
        return self.space.origin

    def ball(self) -> rd.Ball:
        """A public one."""
        away = self.off * np.full(self.space.dim, self.space.dim**-0.5)
        return rd.Ball(self.space, self.space.exp(self.space.from_coordinates(away, self.mean), self.mean), self.radius)

    def records(self, rng: np.random.Generator) -> Array:
        """Points in the form of the space's own maps."""
        base = self.space.read(self.mean, "mean")
        with np.errstate(all="ignore"):
            return self.space.exp_coords(self.law(rng, self.n, self.space.dim), base)

    def summaries(self, rng: np.random.Generator) -> Callable[[], rd.Summary]:
        """Simulated ones, of new records each time."""
        ball, statistic = self.ball(), Moments(self.second)
        records = self.space.write(self.records(rng), self.mean)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rd.UselessRelease)
            template = rd.private_summary(records, ball, self.guarantee, second=self.second)
        prepared = rehearse(ball, self.n, self.guarantee, statistic=statistic)
        law = prepared.query.law(prepared.how)

        def one() -> rd.Summary:
            parts = moments_of(self.records(rng), ball, law.statistic)
            noisy = [law.mechanism.noisy(part, law.scale, rng, 1)[0] for part in parts]
            moments = law.statistic.noisy(*noisy, ball)
            point = carry(Visible(moments.mean_coordinates(self.space)[None]), law.footpoint, ball)[0]
            return replace(template, value=self.space.write(point, self.mean), moments=moments)

        return one


def moments_of(points: Array, ball: rd.Ball, statistic: Any) -> tuple[Array, Array]:
    """What the release adds its noise to, in floats instead of integers."""
    coords = ball.space.log_coords(points, ball.inner_center)
    coords = coords * np.minimum(1.0, ball.radius / np.linalg.norm(coords, axis=1, keepdims=True))
    second, which = coords.T @ coords / len(coords), statistic.which(ball.space.dim)
    numbers = {"full": upper_triangle, "diagonal": np.diagonal, "trace": lambda _: np.zeros(0)}[which](second)
    return coords.mean(axis=0), np.append(numbers, np.trace(second)) / statistic.weights(ball)


def of_population(study: Study, size: int) -> float:
    """The share of simulated summaries whose region holds the population's mean."""
    one = study.summaries(np.random.default_rng(study.n))
    return float(np.mean([bool(one().region(LEVEL, of="population").contains(study.mean)) for _ in range(size)]))


def false_alarms(a: Study, b: Study, size: int) -> float:
    """The share of pairs of groups from one population that `compare` finds different at the level 1 - LEVEL."""
    rng = np.random.default_rng(a.n)
    first, second = a.summaries(rng), b.summaries(rng)
    return float(np.mean([rd.compare(first(), second()).p_value < 1 - LEVEL for _ in range(size)]))


POPULATIONS: dict[str, tuple[rd.Space, float, float, float]] = {  # space, spread, radius, distance of the centre
    "R³": (rd.Euclidean(3), 1.0, 8.0, 0.3),
    "2 x 2 matrices, affine": (rd.SPDAffine(2), 0.5, 4.0, 0.2),
    "sphere S²": (rd.Sphere(2), 0.2, 1.2, 0.1),
}
LAWS = ("normal", "Student's t")
RECORDS = (200, 1000, 5000)


def study_of(name: str, law: str, n: int, **changes: Any) -> Study:
    """One of the populations."""
    space, spread, radius, off = POPULATIONS[name]
    return replace(Study(space, normal(spread) if law == "normal" else student(spread, 5), n, radius, off), **changes)


def where_it_fails() -> dict[str, Study]:
    """Settings outside of what the page promises, and some that are harder but fine."""
    flat, plain = rd.Euclidean(3), study_of("R³", "normal", 1000)
    return {
        "30 records": replace(plain, n=30),
        "epsilon = 1,\nLaplace noise": replace(plain, guarantee=rd.PureDP(1.0)),
        "trace only,\nten times wider one way": replace(plain, law=stretched(1.0), second="trace"),
        "diagonal only,\nten times wider one way": replace(plain, law=stretched(1.0), second="diagonal"),
        "Student's t, 2 degrees:\nno variance": replace(plain, law=student(1.0, 2)),
        "a tenth of the records\nclipped, evenly": replace(plain, radius=2.5, off=0.0),
        "exponential records,\nclipped on one side": replace(plain, law=skewed(1.0), radius=2.0),
        "centre 1.5 radii off:\nnearly all clipped": Study(flat, normal(1.0), 1000, 3.0, 4.5),
    }


# --- the figure ---------------------------------------------------------------------------------------------------


def compute(quick: bool, track: Track) -> Results:
    """All of it; the coverage of 2,000 regions is known to half a percent."""
    size = 60 if quick else 2000
    counts = RECORDS[:2] if quick else RECORDS
    results: Results = {"size": size, "n": counts, "fails": list(where_it_fails())}
    both = [(space, mechanism) for space in SPACES for mechanism in SHAPES]
    shares = [
        of_records(*SPACES[name], mechanism, size) if has(SPACES[name][0], mechanism) else np.nan
        for name, mechanism in track(both, "records")
    ]
    results["records"] = np.reshape(shares, (len(SPACES), len(SHAPES)))
    cases = [(name, law, n) for name in POPULATIONS for law in LAWS for n in counts]
    shape = (len(POPULATIONS), len(LAWS), len(counts))
    results["population"] = np.reshape([of_population(study_of(*c), size) for c in track(cases, "population")], shape)
    pairs = [case for case in cases if case[-1] <= 1000]
    results["alarms"] = np.reshape([alarms_of(*case, size) for case in track(pairs, "comparisons")], (*shape[:2], 2))
    results["failing"] = [of_population(study, size) for study in track([*where_it_fails().values()], "failures")]
    results["worst coverage of records"] = float(np.nanmax(np.abs(results["records"] - LEVEL)))
    return results


def alarms_of(name: str, law: str, n: int, size: int) -> float:
    """Two groups, the second with half as many records, twice the budget and another ball."""
    study = study_of(name, law, n)
    other = replace(study, n=n // 2, off=-study.off, radius=0.9 * study.radius, guarantee=rd.GDP(2.0))
    return false_alarms(study, other, size)


def draw(results: Results) -> Picture:
    """What is claimed is grey; measured shares as points with two standard errors."""
    picture, axes = panels(2, 2, 5.6, 3.9)
    for ax in axes.flat:
        ax.set_axisbelow(True)
    _draw_records(axes[0, 0], results["records"], LEVEL, results["size"])
    _draw_by_records(axes[0, 1], results["n"], results["population"], LEVEL, results["size"])
    axes[0, 1].axhspan(0.93, 0.98, color="0.93", linewidth=0, zorder=0)
    axes[0, 1].set_title("Population: share of 95 % regions that hold the mean", fontsize=10)
    axes[0, 1].set_ylim(0.915, 1.0)
    _draw_by_records(axes[1, 0], results["n"][:2], results["alarms"], 1 - LEVEL, results["size"])
    axes[1, 0].axhspan(0.04, 0.065, color="0.93", linewidth=0, zorder=0)
    axes[1, 0].set_title("Two groups that do not differ: share with p < 0.05", fontsize=10)
    axes[1, 0].set_ylim(0.02, 0.08)
    axes[0, 1].legend(fontsize=7, frameon=False, ncols=2, loc="upper center")
    _draw_failures(axes[1, 1], results)
    return picture


def two_errors(share: float, size: int) -> float:
    """Two standard errors of a share."""
    return 2 * float(np.sqrt(share * (1 - share) / size))


def _draw_records(ax: Any, shares: Array, claimed: float, size: int) -> None:
    ax.axvspan(0.94, 0.96, color="0.93", linewidth=0, zorder=0)
    rows, error = np.arange(len(SPACES)), two_errors(claimed, size)
    for j, mechanism in enumerate(SHAPES):
        place = rows + 0.13 * (j - 2)
        ax.errorbar(shares[:, j], place, xerr=error, **STYLES[mechanism] | POINT, label=mechanism)
    ax.set_yticks(rows, list(SPACES), fontsize=8)
    ax.set_title("Records: share of 95 % regions that hold the mean", fontsize=10)
    ax.set_xlim(0.93, 0.995)
    ax.invert_yaxis()
    ax.legend(fontsize=7, frameon=False, loc="upper right")


def _draw_by_records(ax: Any, n: Array, shares: Array, claimed: float, size: int) -> None:
    ax.axhline(claimed, color="0.6", linewidth=0.8)
    places, error = np.arange(len(n)), two_errors(claimed, size)
    for i, name in enumerate(POPULATIONS):
        for j, law in enumerate(LAWS):
            filled = {"color": f"C{i}", "marker": "os"[j], "markerfacecolor": f"C{i}" if j == 0 else "white"}
            place = places + 0.1 * (2 * i + j - 2.5)
            ax.errorbar(place, shares[i, j], yerr=error, **POINT | {"markersize": 4} | filled, label=f"{name}, {law}")
    ax.set_xticks(places, [f"{count:,}" for count in n])
    ax.set_xlabel("records")


def _draw_failures(ax: Any, results: Results) -> None:
    names, shares = list(results["fails"]), np.asarray(results["failing"])
    ax.barh(names, shares, color=["C0" if share > 0.93 else "C3" for share in shares], height=0.6)
    ax.axvline(LEVEL, color="0.4", linewidth=0.8)
    for row, share in enumerate(shares):
        inside = share > 0.2
        ax.text(share + (-0.01 if inside else 0.01), row, f"{100 * share:.1f} %", ha="right" if inside else "left",
                va="center", fontsize=7.5, color="white" if inside else "0.2")  # fmt: skip
    ax.invert_yaxis()
    ax.tick_params(axis="y", labelsize=7.5)
    ax.grid(axis="y", visible=False)
    ax.set_title("Population, harder: R³, n = 1,000", fontsize=10)
    ax.set_xlim(0, 1)


FIGURE = Figure("new_coverage", "coverage of regions, false alarms of comparisons", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
