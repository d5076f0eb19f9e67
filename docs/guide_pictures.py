"""The pictures of the guides, one function each. docs/pictures.py writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

import riemdp as rd
from riemdp.plots import plot_comparison, plot_release, plot_summary, plot_utility, tradeoff
from riemdp.plots.style import BLACK, BLUE, GREEN, GREY, SKY, VERMILION, light


def canvas(width: float, height: float) -> tuple[Figure, Any]:
    """A figure and its only axes."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, figure.subplots()


# --- releases ----------------------------------------------------------------------------------------------


def start() -> Figure:
    """What `riemdp mean ... --plot` draws in the five-minute start."""
    signals = np.random.default_rng(0).normal(size=(1000, 3, 50))
    X = signals @ signals.transpose(0, 2, 1) / 50
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), 0.2, 5.0)
    return plot_release(rd.private_mean(X, ball, rd.PureDP(1.0)))


def hyperbolic() -> Figure:
    """A private mean in the disc."""
    y = 0.5 * np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    square = (y**2).sum(axis=-1, keepdims=True)
    space = rd.Hyperbolic(2)
    ball = rd.Ball(space, space.origin, 2 * np.arctanh(0.9))
    X = np.concatenate([1 + square, 2 * y], axis=-1) / (1 - square)
    return plot_release(rd.private_mean(X, ball, rd.PureDP(1.0)))


def histograms() -> Figure:
    """Mean shares, exact and private."""
    shares = np.random.default_rng(0).dirichlet([8.0, 4.0, 2.0, 1.0, 0.5], size=800)
    names = ["housing", "food", "transport", "leisure", "other"]
    space = rd.Sphere(4)
    ball = rd.Ball(space, np.full(5, 5**-0.5), np.arccos(5**-0.5))
    exact = rd.frechet_mean(np.sqrt(shares), space).point ** 2
    private = rd.private_mean(np.sqrt(shares), ball, rd.GDP(0.5)).value ** 2
    figure, ax = canvas(6.5, 3.2)
    both = (-0.2, exact, BLACK, "exact mean (NOT private)"), (0.2, private, VERMILION, "private mean, mu = 0.5")
    for offset, values, colour, name in both:
        bars = ax.bar(np.arange(5) + offset, values, width=0.38, color=colour, label=name)
        ax.bar_label(bars, [f"{value:.0%}" for value in values], fontsize=8, padding=1)
    ax.set_xticks(range(5), names)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


# --- choosing ----------------------------------------------------------------------------------------------


def choosing_ball() -> Figure:
    """What the ball does to records."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2)) * 0.55 + [0.45, 0.2]
    X = np.concatenate([X, [[2.3, 1.5], [2.6, -0.3], [-1.9, 0.9]]])
    length = np.linalg.norm(X, axis=1)
    outside = length > 1.5
    moved = 1.5 * X[outside] / length[outside, None]
    figure, ax = canvas(6.5, 4)
    ax.add_patch(Circle((0, 0), 1.5, facecolor="#FFF3DC", edgecolor="#E69F00", linestyle="--", linewidth=1.5))
    ax.plot(*X[~outside].T, "o", color=GREY, markersize=4, label="record")
    ax.plot(*X[outside].T, "o", color=GREY, markersize=4, fillstyle="none")
    for there, rim in zip(X[outside], moved, strict=True):
        ax.annotate("", rim, there, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.8})
    ax.plot(*moved.T, "o", color=VERMILION, markersize=5, label="where a record outside is moved")
    ax.plot(0, 0, "s", color=BLACK, fillstyle="none", markersize=7, label="public centre")
    ax.plot([0, -1.5 * np.cos(0.9)], [0, -1.5 * np.sin(0.9)], color="#E69F00")
    ax.text(-0.72, -0.5, "radius", color="#8A5F00", fontsize=9, ha="right")
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return figure


def choosing_error() -> Figure:
    """Predicted errors against the number of records, for three balls."""
    figure, ax = canvas(6.5, 3.4)
    numbers = [100, 200, 500, 1000, 2000, 5000]
    for low, high, colour, marker in [(0.1, 10.0, VERMILION, "o"), (0.2, 5.0, BLUE, "s"), (0.5, 2.0, GREEN, "^")]:
        ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), low, high)
        errors = [rd.plan(ball, n=n, guarantee=rd.GDP(1.0))[0].expected_error for n in numbers]
        name = f"eigenvalues {low:g} to {high:g} (radius {ball.radius:.1f})"
        ax.loglog(numbers, errors, marker=marker, color=colour, label=name)
    ax.set_xticks(numbers, [f"{n:,}" for n in numbers])
    ax.set_yticks([0.001, 0.003, 0.01, 0.03, 0.1], ["0.001", "0.003", "0.01", "0.03", "0.1"])
    ax.minorticks_off()
    ax.set(xlabel="records", ylabel="predicted error, mu = 1")
    ax.legend(frameon=False, fontsize=9)
    light(ax)
    return figure


def choosing_budget() -> Figure:
    """What an adversary can reach, for some guarantees."""
    figure, ax = canvas(6.5, 3.8)
    alarms = np.linspace(0, 1, 401)
    looks = {"mu=2": (VERMILION, "-"), "mu=1": (BLUE, "-"), "mu=0.5": (GREEN, "-"), "epsilon=1": (BLUE, "--")}
    for name, (colour, line) in looks.items():
        ax.plot(alarms, 1 - tradeoff(name, alarms), line, color=colour, label=name.replace("=", " = "))
    ax.plot([0, 1], [0, 1], ":", color=GREY, label="no release: a guess")
    ax.axvline(0.05, color="0.8", linewidth=1, zorder=0)
    ax.set(xlabel="false alarms", ylabel="right at most", xlim=(0, 1), ylim=(0, 1))
    ticks = [0, 0.05, 0.25, 0.5, 0.75, 1]
    ax.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    ax.set_yticks(ticks[2:], [f"{tick:.0%}" for tick in ticks[2:]])
    ax.legend(frameon=False, fontsize=9)
    light(ax)
    return figure


def plan() -> Figure:
    """What `riemdp plan ... --plot` draws."""
    ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), 0.2, 5.0)
    return plot_utility(ball, rd.PureDP(1.0), n=1000)


# --- trust -------------------------------------------------------------------------------------------------


def audit() -> Figure:
    """Outputs of a mechanism for two neighbouring data sets, and the event that tells them apart."""
    rng = np.random.default_rng(0)
    figure = Figure(figsize=(7, 3), layout="constrained", facecolor="white")
    bins = np.linspace(-5, 7, 70)
    axes, verdicts = figure.subplots(1, 2, sharey=True), ("the noise that is needed", "half of it: caught")
    for ax, verdict, shift in zip(axes, verdicts, (1.0, 2.0), strict=True):
        a, b = rng.laplace(0.0, 1.0, 10**5), rng.laplace(shift, 1.0, 10**5)
        found = rd.audit_draws(a, b, rd.PureDP(1.0))
        ax.hist(a, bins, color=GREY, alpha=0.6, label="outputs for some records")
        ax.hist(b, bins, color=VERMILION, alpha=0.5, label="and with one of them replaced")
        ax.set_title(f"{verdict}\nclaimed epsilon = 1, found at least {found.lower['epsilon']:.2f}", fontsize=10)
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def ledger() -> Figure:
    """Squares of mu add up; what does not fit is refused."""
    figure, ax = canvas(7, 1.9)
    left = 0.0
    refused = {"color": "none", "edgecolor": VERMILION, "linestyle": "--", "linewidth": 1.5}
    first, second = {"color": SKY}, {"color": "#A9D8F2"}
    for mu, name, look in ((0.6, "first release", first), (0.5, "second", second), (0.7, "third: refused", refused)):
        ax.barh(0, mu**2, left=left, height=0.5, **look)
        ax.text(left + min(mu**2, 1 - left) / 2, 0, f"{name}\nmu = {mu:g}", ha="center", va="center", fontsize=9)
        left += mu**2
    ax.plot([1, 1], [-0.35, 0.35], color=BLACK, linewidth=2)
    ax.text(1, 0.38, "budget: mu = 1", ha="center", va="bottom", fontsize=9)
    ax.set(xlim=(0, 1.15), ylim=(-0.4, 0.6), yticks=[], xlabel="squares of mu, added up", xticks=[0, 0.36, 0.61, 1])
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


# --- where records are -------------------------------------------------------------------------------------

Place = tuple[float, float]


def box(ax: Any, place: Place, text: str, colour: str = "#F2F2F2", size: Place = (1.7, 0.62)) -> None:
    """A box with a text."""
    corner = place[0] - size[0] / 2, place[1] - size[1] / 2
    ax.add_patch(FancyBboxPatch(corner, *size, boxstyle="round,pad=0.03", facecolor=colour, edgecolor="0.55"))
    ax.text(*place, text, ha="center", va="center", fontsize=9)


def arrow(ax: Any, start: Place, end: Place) -> None:
    """From one place to another."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.35", "linewidth": 1.2})


def flow(sources: list[str], sums: str, middle: str) -> Figure:
    """Several sources, each with a sum; one place that adds them and the noise; the release."""
    figure, ax = canvas(8, 0.8 * len(sources) + 0.7)
    heights = [0.8 * (len(sources) - 1 - i) for i in range(len(sources))]
    centre = float(np.mean(heights))
    for name, y in zip(sources, heights, strict=True):
        box(ax, (0, y), name)
        arrow(ax, (0.9, y), (2.75, 0.6 * y + 0.4 * centre))
    ax.text(1.75, heights[0] + 0.28, sums, ha="center", va="center", fontsize=9, color=VERMILION)
    box(ax, (3.75, centre), middle, "#FFF3DC", (1.9, 1.0))
    arrow(ax, (4.75, centre), (5.6, centre))
    box(ax, (6.5, centre), "private mean:\nmay be published", "#DCEFE6")
    ax.set(xlim=(-1, 7.5), ylim=(-0.6, heights[0] + 0.6), aspect="equal")
    ax.set_axis_off()
    return figure


def out_of_core() -> Figure:
    """Blocks of a file."""
    blocks = ["block 1 of the file", "block 2", "block 3, ..."]
    return flow(blocks, "sums, one at a time", "one exact total,\nplus noise, once")


def cluster() -> Figure:
    """Workers and the client."""
    workers = ["worker 1", "worker 2", "worker 3"]
    return flow(workers, "exact sums (private)", "your process:\ntotal, ledger,\nnoise, once")


def silos() -> Figure:
    """Hospitals and the coordinator."""
    hospitals = ["hospital A", "hospital B", "hospital C"]
    return flow(hospitals, "exact sums (private)", "coordinator:\ntotal, ledger,\nnoise, once")


# --- spaces ------------------------------------------------------------------------------------------------------


def rotations() -> Figure:
    """Rotation vectors about two axes, in degrees."""
    space = rd.Rotations()
    vectors = np.random.default_rng(0).normal([0.4, -0.2, 0.1], 0.25, (600, 3))
    X = space.project(vectors, form="rotvec")
    private = rd.private_mean(X, rd.Ball(space, space.origin, 1.0), rd.GDP(0.1)).value
    both = np.stack([rd.frechet_mean(X, space).point, private])
    means = space.coordinates(space.log(both, space.origin), space.origin)
    figure, ax = scattered(np.degrees(vectors), [np.degrees(mean) for mean in means], "mu = 0.1")
    ax.set(xlabel="turned about x [degrees]", ylabel="turned about y [degrees]", aspect="equal")
    return figure


def subspaces() -> Figure:
    """Axes in the upper half of the sphere, seen from above."""
    space = rd.Grassmann(3)
    X = space.project(np.random.default_rng(0).normal([0.3, 0.2, 1.0], 0.15, (500, 3))[..., None])
    vertical = space.project([[0.0], [0.0], [1.0]])
    private = rd.private_mean(X, rd.Ball(space, vertical, 0.7), rd.GDP(0.2)).value
    axes = np.linalg.eigh(np.stack([*X, rd.frechet_mean(X, space).point, private]))[1][..., -1]
    upper = axes * np.sign(axes[:, 2:])
    figure, ax = scattered(upper[:-2], list(upper[-2:]), "mu = 0.2")
    ax.add_patch(Circle((0, 0), np.sin(0.7), fill=False, edgecolor=GREY))
    ax.annotate("public ball", (0, -0.57), ha="center", color=GREY, fontsize=9)
    ax.set(xlim=(-0.75, 0.8), ylim=(-0.72, 0.72), xlabel="x", ylabel="y", aspect="equal")
    return figure


def scattered(records: Any, means: list[Any], budget: str) -> tuple[Figure, Any]:
    """Two numbers of each record, and of the exact and the private mean."""
    figure, ax = canvas(5.5, 4)
    light(ax)
    ax.scatter(*records[:, :2].T, s=6, color=SKY, label="records (NOT private)")
    ax.scatter(*means[0][:2], s=70, color=BLACK, marker="+", label="exact mean (NOT private)", zorder=3)
    ax.scatter(*means[1][:2], s=40, color=VERMILION, label=f"private mean, {budget}", zorder=2)
    figure.legend(frameon=False, fontsize=8, loc="outside upper center", ncols=3)
    return figure, ax


def connectomes() -> Figure:
    """Mean correlations."""
    rng = np.random.default_rng(0)
    space = rd.Correlations(8)
    signals = rng.normal(size=(1000, 120, 8)) @ (np.eye(8) + 0.35 * rng.normal(size=(8, 8)))
    X = 0.9 * space.project(signals.transpose(0, 2, 1) @ signals) + 0.1 * np.eye(8)
    ball = rd.Ball.from_eigenvalue_bounds(space, low=0.1)
    private = [rd.private_mean(X[:n], ball, rd.GDP(1.0)).value for n in (1000, 50)]
    titles = ["exact mean (NOT private)", "private, 1000 people, mu = 1", "private, 50 people, mu = 1"]
    return matrices([rd.frechet_mean(X, space).point, *private], titles, "RdBu_r", -1, ("region", "correlation"))


def cross_spectra() -> Figure:
    """Coherence of the mean matrices."""
    rng = np.random.default_rng(0)
    space, lags = rd.HPDAffine(4), np.exp(0.5j * np.arange(4))
    source, noise = (rng.normal(size=(400, m, 16, 2)) @ [1, 1j] for m in (1, 4))
    waves = 1.2 * source * lags[:, None] + noise * np.array([0.6, 1.0, 1.4, 1.8])[:, None]
    X = waves @ waves.conj().swapaxes(1, 2) / 32
    private = rd.private_mean(X, rd.Ball.from_eigenvalue_bounds(space, 0.2, 10.0), rd.GDP(1.0)).value
    means = [rd.frechet_mean(X, space).point, private]
    coherence = [abs(m) ** 2 / np.outer(m.diagonal().real, m.diagonal().real) for m in means]
    titles = ["exact mean (NOT private)", "private mean, mu = 1"]
    return matrices(coherence, titles, "Blues", 0, ("channel", "coherence"))


def matrices(values: list[Any], titles: list[str], colours: str, least: float, words: tuple[str, str]) -> Figure:
    """Matrices with entries up to 1, side by side; words for a row, and for an entry."""
    figure = Figure(figsize=(2.7 * len(values) + 0.8, 2.9), layout="constrained", facecolor="white")
    row = figure.subplots(1, len(values))
    for ax, matrix, title in zip(row, values, titles, strict=True):
        image = ax.imshow(matrix, cmap=colormaps[colours].resampled(20), vmin=least, vmax=1)
        ax.set_title(title, fontsize=9)
        numbers = range(1, len(matrix) + 1)
        ax.set_xticks(range(len(matrix)), numbers, fontsize=8)
        ax.set_yticks(range(len(matrix)), numbers, fontsize=8)
        ax.set_xlabel(words[0])
        ax.tick_params(length=0)
    row[0].set_ylabel(words[0])
    figure.colorbar(image, ax=list(row), shrink=0.8, label=words[1])
    return figure


def tensors_of(seed: int, shift: float = 0.0) -> rd.Summary:
    """A private summary of made-up tensors, as in the guide 'What can I get?'."""
    space = rd.SPDAffine(3)
    coords = np.random.default_rng(seed).normal(size=(2000, 6)) * [0.4, 0.2, 0.1, 0.05, 0.05, 0.05]
    X = space.exp(space.from_coordinates(coords + shift * np.eye(6)[0], np.eye(3)), np.eye(3))
    return rd.private_summary(X, rd.Ball(space, np.eye(3), 1.5), rd.GDP(1.0))


def what_can_i_get() -> Figure:
    """What `plot_summary` draws."""
    return plot_summary(tensors_of(0), modes=2)


def two_groups() -> Figure:
    """What `plot_comparison` draws."""
    return plot_comparison(tensors_of(0), tensors_of(1, 0.1), labels=("controls", "patients"))


GUIDES: dict[str, Callable[[], Figure]] = {
    "start": start, "plan": plan, "hyperbolic": hyperbolic, "histograms": histograms,
    "choosing-ball": choosing_ball, "choosing-error": choosing_error, "choosing-budget": choosing_budget,
    "rotations": rotations, "subspaces": subspaces, "connectomes": connectomes, "cross-spectra": cross_spectra,
    "audit": audit, "ledger": ledger, "out-of-core": out_of_core, "cluster": cluster, "silos": silos,
    "what-can-i-get": what_can_i_get, "what-can-i-get-groups": two_groups,
}  # fmt: skip
