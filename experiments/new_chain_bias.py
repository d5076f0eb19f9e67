"""What a Markov chain does to a guarantee: exact draws against chains of so many steps, Riemannian Laplace.

The papers' chains start at the mean and take 5,000 to 20,000 steps. Left: mean distance of the state to the mean over
that of the law; dashed, the papers' rule of proposing until something is accepted, which has another limit. Right: the
epsilon that an audit proves from outputs for two means that are a sensitivity apart, where epsilon = 1 is promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, curve, main, mean_and_error, panels
from metropolis import Metropolis, laplace
from riemdp.plots.style import BLUE, GREEN, GREY, VERMILION, log_scale
from rl_common import BELOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness import Picture

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
# Scales small against the curvature, as for a few hundred records.
SPACES: dict[str, tuple[rd.Space, float]] = {
    "sphere S²": (rd.Sphere(2), 0.02),
    "2 x 2 matrices": (rd.SPDAffine(2), 0.02),
    "shapes of 50 landmarks": (rd.KendallShapes(50), 0.002),
}
COLOURS = dict(zip(SPACES, (BLUE, VERMILION, GREEN), strict=True))
EPSILON = 1.0


@dataclass
class UntilAccepted(Metropolis):
    """The papers' rule: who is rejected proposes again, within the same step."""

    def _advance_once(self, rng: np.random.Generator) -> float:
        waiting, trials = np.arange(len(self.states)), 0
        origin, heights = self.states.copy(), self.log_density(self.states)
        while len(waiting):
            noise = self.step * rng.standard_normal((len(waiting), self.space.dim))
            proposals = self.space.exp_coords(noise, origin[waiting])
            moved = np.log(rng.random(len(waiting))) < self.log_density(proposals) - heights[waiting]
            self.states[waiting[moved]] = proposals[moved]
            trials, waiting = trials + len(waiting), waiting[~moved]
        return len(origin) / trials


RULES = {"right": Metropolis, "printed": UntilAccepted}


def started(space: rd.Space, centre: Array, scale: float, number: int, rule: str) -> Metropolis:
    """Chains at the centre, with a step that 50 steps of a right chain have tuned there."""
    rng, density = np.random.default_rng(0), laplace(space, centre, scale)
    pilot = Metropolis(space, density, np.repeat(centre[None], 50, axis=0), scale)
    pilot.tune(50, rng)
    return RULES[rule](space, density, np.repeat(centre[None], number, axis=0), pilot.step)


def distances(space: rd.Space, scale: float, number: int, steps: Sequence[int], rule: str) -> Array:
    """Mean distance to the centre and its standard error, after each number of steps."""
    centre, rng = space.read(space.origin, "origin"), np.random.default_rng(1)
    chain, taken, found = started(space, centre, scale, number, rule), 0, []
    for goal in steps:
        chain.advance(goal - taken, rng)
        taken = goal
        found.append(mean_and_error(space.distance(centre, chain.states)))
    return np.array(found)


def exact_distance(space: rd.Space, scale: float) -> float:
    """Of the law, from many exact draws."""
    size = max(20_000, 400_000 // space.dim)
    return float(space.dist(space.origin, rd.RiemannianLaplace(space, space.origin, scale).sample(size, 0)).mean())


def neighbours(scale: float) -> tuple[Array, Array]:
    """Two points of S² that are a sensitivity apart: scale = Delta/epsilon."""
    angle = scale * EPSILON
    return np.array([0.0, 0.0, 1.0]), np.array([np.sin(angle), 0.0, np.cos(angle)])


def proved_epsilon(first: Array, second: Array) -> float:
    """Of an audit of outputs."""
    return rd.audit_draws(first, second, rd.PureDP(EPSILON)).epsilon_lower


def audited(number: int, steps: Sequence[int], rule: str) -> list[float]:
    """Epsilons proved against chains of so many steps."""
    space, scale = SPACES["sphere S²"]
    pair, found, taken = [started(space, c, scale, number, rule) for c in neighbours(scale)], [], 0
    rngs = [np.random.default_rng(seed) for seed in (2, 3)]
    for goal in steps:
        for chain, rng in zip(pair, rngs, strict=True):
            chain.advance(goal - taken, rng)
        taken = goal
        found.append(proved_epsilon(pair[0].states, pair[1].states))
    return found


def audited_exact(number: int) -> float:
    """The same for exact draws."""
    space, scale = SPACES["sphere S²"]
    laws = (rd.RiemannianLaplace(space, centre, scale) for centre in neighbours(scale))
    return proved_epsilon(*(law.sample(number, seed) for seed, law in enumerate(laws)))


def compute(quick: bool, track: Track) -> Results:
    """Distances on every space, and audits on the sphere."""
    steps, number = (STEPS[:6], 200) if quick else (STEPS, 150)
    short, draws = ((1, 10), 10_000) if quick else (STEPS[:7], 50_000)
    results: Results = {"steps": steps, "short": short, "audit_exact": audited_exact(draws)}
    for name, (space, scale) in SPACES.items():
        exact = exact_distance(space, scale)
        results[f"{name}, right"] = distances(space, scale, number, steps, "right") / exact
        results[f"{name}, printed"] = distances(space, scale, number, steps[:10], "printed") / exact
    for rule in track(tuple(RULES), "audits"):
        results[f"audit, {rule}"] = audited(draws, short, rule)
    return results


def draw_distances(ax: Axes, results: Results) -> None:
    """Bands of two standard errors."""
    log_scale(ax.xaxis)
    ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
    for name, colour in COLOURS.items():
        for rule, style in (("right", "-"), ("printed", "--")):
            ratio, spread = results[f"{name}, {rule}"].T
            label = name if rule == "right" else None
            curve(ax, results["steps"][: len(ratio)], ratio, 2 * spread, color=colour, linestyle=style, label=label)
    ax.plot([], [], color=GREY, linestyle="--", label="papers' rule: until accepted")
    ax.set(title="where a chain is", xlabel="steps", ylabel="mean distance / that of the law", ylim=(0, None))
    ax.legend(**BELOW, ncols=2)


def draw(results: Results) -> Picture:
    """Bias, and what it leaks."""
    picture, ((left, right),) = panels(1, 2, 4.2, 3.8)
    draw_distances(left, results)
    log_scale(right.xaxis)
    right.axhline(EPSILON, color=GREY, linewidth=1, label="promised")
    right.axhline(results["audit_exact"], color=GREEN, linestyle=":", label="proved: exact draws")
    for rule, style, words in (("right", "-", "chain"), ("printed", "--", "until accepted")):
        proved = results[f"audit, {rule}"]
        right.plot(results["short"], proved, "o", linestyle=style, color=BLUE, markersize=4, label=f"proved: {words}")
    right.set(title="ε that an audit proves, S²", xlabel="steps", ylabel="lower bound on ε (99.99 %)", ylim=(0, None))
    right.legend(**BELOW, ncols=2)
    return picture


FIGURE = Figure("new_chain_bias", "exact draws against Markov chains", compute, draw)

if __name__ == "__main__":
    main(FIGURE)
