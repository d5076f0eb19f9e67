"""What figures of the exponential-wrapped paper share: simulated comparisons, and retinal images.

The paper leaves the radius of the ball open. With r = 1.5, that of the Riemannian Laplace paper, its remark that
the chain is "unstable" at epsilon = mu = 0.1 in six dimensions is what happens: the law does not exist there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import riemdp as rd
from harness import Array, Results, Track, curve, has, load, mean_and_error, noise_scale, panels
from riemdp.plots.sheets import legend
from riemdp.plots.style import BLUE, GREEN, GREY, VERMILION, log_scale

N, RADIUS = 40, 1.5
STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PANELS = {"epsilon": (rd.PureDP, "wrapped-laplace"), "mu": (rd.GDP, "wrapped-gaussian")}
STYLES: dict[str, dict[str, Any]] = {
    "riemannian-laplace": {"color": BLUE, "marker": "^", "label": "Riemannian Laplace (GDP: converted)"},
    "wrapped-laplace": {"color": VERMILION, "label": "wrapped Laplace"},
    "wrapped-gaussian": {"color": GREEN, "label": "wrapped Gaussian"},
}


def dimension(m: int) -> int:
    """Of m x m symmetric matrices."""
    return m * (m + 1) // 2


def laplace_limit(m: int) -> float:
    """The Riemannian Laplace law of affine-invariant m x m matrices exists below this scale."""
    return 2 * math.sqrt(3 / (m * (m**2 - 1)))


def in_ball(space: rd.Space, n: int, rng: np.random.Generator) -> Array:
    """Records exp_I(v), v uniform in the ball of radius 1.5."""
    v = rng.standard_normal((n, space.dim))
    v *= (RADIUS * rng.random(n) ** (1 / space.dim) / np.linalg.norm(v, axis=1))[:, None]
    return space.exp(space.from_coordinates(v, space.origin), space.origin)


def comparison(m: int, strengths: tuple[float, ...], sets: int, draws: int) -> Results:
    """Mean distance to the mean, and its standard error, by panel and mechanism; NaN: no such law."""
    space, rng = rd.SPDAffine(m), np.random.default_rng(m)
    records = [in_ball(space, N, rng) for _ in range(sets)]
    means = [rd.frechet_mean(X, space).point for X in records]
    results: Results = {}
    for panel, (promise, wrapped) in PANELS.items():
        laplace = [_laplace_errors(space, promise(s), sets * draws, rng) for s in strengths]
        results[f"{space.dim}|{panel}|riemannian-laplace"] = laplace
        rows = [_wrapped_errors(records, means, promise(s), wrapped, draws) for s in strengths]
        results[f"{space.dim}|{panel}|{wrapped}"] = rows
    return results


def _laplace_errors(
    space: rd.Space, guarantee: rd.Guarantee, size: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Lengths of exact noise: on a homogeneous space they do not depend on the data, whose mean is its centre."""
    ball = rd.Ball(space, space.origin, RADIUS)
    scales = [row.scale for row in rd.plan(ball, N, guarantee) if row.mechanism == "riemannian-laplace"]
    if not scales:
        return math.nan, math.nan
    noise = rd.RiemannianLaplace(space, space.origin, scales[0]).sample_coords(size, rng)
    return mean_and_error(np.linalg.norm(noise, axis=1))


def _wrapped_errors(
    records: list[Array], means: list[Array], guarantee: rd.Guarantee, mechanism: str, draws: int
) -> tuple[float, float]:
    """Every data set counts once: draws from one of them share its mean."""
    space = rd.SPDAffine(len(means[0]))
    ball = rd.Ball(space, space.origin, RADIUS)
    errors = []
    for seed, (X, mean) in enumerate(zip(records, means, strict=True)):
        points = rd.simulate(X, ball, guarantee, mechanism=mechanism, size=draws, seed=seed)
        errors.append(space.dist(points, mean).mean())
    return mean_and_error(errors)


def compare_all(sizes: tuple[int, ...], quick: bool, track: Track) -> Results:
    """The comparison for several sizes of matrices, and its headlines."""
    strengths = (0.1, 0.4, 1.0) if quick else STRENGTHS
    results: Results = {"strengths": strengths, "d": [dimension(m) for m in sizes]}
    for m in track(sizes, "dimensions"):
        results |= comparison(m, strengths, *((3, 40) if quick else (16, 50)))
    return results | _headlines(results)


def _headlines(results: Results) -> Results:
    """At the least strength for which the Riemannian Laplace law exists, and over all of them."""
    found = {}
    for d in results["d"]:
        for panel, (_, wrapped) in PANELS.items():
            laplace, other = (np.array(results[f"{d}|{panel}|{m}"])[:, 0] for m in ("riemannian-laplace", wrapped))
            ratios, strengths = (other / laplace)[np.isfinite(laplace)], np.array(results["strengths"])
            first = strengths[np.isfinite(laplace)][0]
            found[f"d = {d}: {wrapped} over laplace at {panel} = {first:g}"] = ratios[0]
            found[f"d = {d}: {wrapped} over laplace, least"] = ratios.min()
            found[f"d = {d}: {wrapped} over laplace, most"] = ratios.max()
    return found


def draw_comparison(axes: Any, results: Results) -> None:
    """Two rows of panels, a column per dimension; grey where the Riemannian Laplace law does not exist."""
    for column, d in enumerate(results["d"]):
        for ax, (panel, (_, wrapped)) in zip(axes[:, column], PANELS.items(), strict=True):
            log_scale(ax.yaxis)
            _shade(ax, panel, int((math.sqrt(8 * d + 1) - 1) / 2))
            for mechanism in ("riemannian-laplace", wrapped):
                mean, error = results[f"{d}|{panel}|{mechanism}"].T
                curve(ax, results["strengths"], mean, 2 * error, **STYLES[mechanism])
            ax.set(xlabel={"epsilon": "ε", "mu": "μ"}[panel], xlim=(0.05, 1.03))
            ax.set_title(f"{'ε-DP' if panel == 'epsilon' else 'μ-GDP'}, d = {d}", fontsize=10)
    for ax in axes[:, 0]:
        ax.set_ylabel("distance to the mean")


def _shade(ax: Any, panel: str, m: int) -> None:
    epsilon = 2 * RADIUS / N / laplace_limit(m)
    stop = epsilon if panel == "epsilon" else rd.PureDP(epsilon).to_gdp().mu
    if stop > 0.05:
        ax.axvspan(0, stop, color=GREY, alpha=0.18, linewidth=0, label="no Riemannian Laplace law")


# --- retinal images: Figures 2 and 3 -------------------------------------------------------------------------------

OCT = "oct_kermany28"
ETA, SHARE = 1e-6, 0.05
IMAGE_RADIUS = math.sqrt(5) * max(abs(math.log(ETA)), math.log(5 * 255**2 + ETA))
MUS = (0.1, 0.2, 0.3, 0.5, 1.0)
IMAGE_STYLES: dict[str, dict[str, Any]] = {
    "wrapped Gaussian, footpoint I": {"color": GREY},
    "Riemannian Laplace, converted": {"color": BLUE, "marker": "^"},
    "wrapped Gaussian, footpoint of A.3.1": {"color": VERMILION},
    "adaptive ball": {"color": GREEN, "marker": "s"},
}


def retina(classes: tuple[int, ...], quick: bool, track: Track) -> Results:
    """Mean distance and standard error by class, way and mu."""
    mus, size, adaptive, most = ((0.5, 1.0), 20, 3, 1000) if quick else (MUS, 200, 10, None)
    results: Results = {"mu": mus, "classes": []}
    cells = [(c, mu) for c in classes for mu in mus] if has(OCT) else []
    for c, mu in track(cells, "images"):
        records, mean, name = _retina_class(c, most)
        results.setdefault(name, []).append(_retina_errors(records, mean, mu, size, adaptive))
        results[f"{name}|n"] = np.array([len(records)])
    results["classes"] = [name.removesuffix("|n") for name in results if name.endswith("|n")]
    return results | _retina_headlines(results)


def _retina_class(label: int, most: int | None) -> tuple[Array, Array, str]:
    """Descriptors, their mean, and the name of the class."""
    if (label, most) not in _CLASSES:
        data = load(OCT)
        records = rd.covariance_descriptors(data["images"][data["labels"] == label][:most], ETA, features="five")
        mean = rd.frechet_mean(records, rd.SPDAffine(5)).point
        _CLASSES[label, most] = records, mean, str(data["class_names"][label])
    return _CLASSES[label, most]


_CLASSES: dict[tuple[int, int | None], tuple[Array, Array, str]] = {}


def _retina_errors(records: Array, mean: Array, mu: float, size: int, adaptive: int) -> list[tuple[float, float]]:
    """Of the four ways, in the order of IMAGE_STYLES."""
    space, sensitivity, rng = rd.SPDAffine(5), 2 * IMAGE_RADIUS / len(records), np.random.default_rng(0)
    feet = np.broadcast_to(space.origin, (size, 5, 5))
    draws = [
        _wrapped(mean, feet, noise_scale("wrapped-gaussian", rd.GDP(mu), sensitivity), rng),
        _laplace(mean, noise_scale("riemannian-laplace", rd.GDP(mu), sensitivity), size, rng),
        _wrapped(mean, _footpoints(records, mu, size, rng), _scale_left(mu, sensitivity), rng),
        _adaptive(records, mu, adaptive),
    ]
    return [(math.nan, math.nan) if x is None else mean_and_error(space.dist(x, mean)) for x in draws]


def _adaptive(records: Array, mu: float, size: int) -> Array | None:
    """Releases with a private ball, if so many records allow one: the public ball is too large for a plain mean."""
    ball = rd.Ball(rd.SPDAffine(5), np.eye(5), IMAGE_RADIUS)
    try:
        return rd.simulate(records, ball, rd.GDP(mu), adapt=True, size=size, seed=0)
    except rd.MechanismError:
        return None


def _scale_left(mu: float, sensitivity: float) -> float:
    """90 % of the budget: mu adds up in squares."""
    return noise_scale("wrapped-gaussian", rd.GDP(math.sqrt(0.9) * mu), sensitivity)


def _wrapped(mean: Array, feet: Array | None, scale: float, rng: np.random.Generator) -> Array | None:
    """Wrapped Gaussian noise, a footpoint for each draw."""
    if feet is None:
        return None
    space = rd.SPDAffine(5)
    coords = space.coordinates(space.log(np.broadcast_to(mean, feet.shape), feet), feet)
    noisy = coords + scale * rng.standard_normal(coords.shape)
    return space.exp(space.from_coordinates(noisy, feet), feet)


def _laplace(center: Array, scale: float, size: int, rng: np.random.Generator) -> Array | None:
    """Exact draws, if there is such a law."""
    try:
        return rd.RiemannianLaplace(rd.SPDAffine(5), center, scale).sample(size, rng)
    except rd.MechanismError:
        return None


def footpoint_epsilons(mu: float) -> tuple[float, float]:
    """What 10 % of the budget allows, as epsilon of the whole release and of a mean of 5 % of the records.

    The paper spends the first on the subsample; a uniform subsample may spend log(1 + (e^epsilon - 1)/0.05).
    """
    whole = 1 / noise_scale("riemannian-laplace", rd.GDP(math.sqrt(0.1) * mu), 1.0)
    return whole, math.log1p(math.expm1(whole) / SHARE)


def _footpoints(records: Array, mu: float, size: int, rng: np.random.Generator) -> Array | None:
    """A.3.1, with the epsilon that subsampling allows and exact draws; None where that law does not exist either."""
    sample = rng.choice(records, int(SHARE * len(records)), replace=False)
    center = rd.frechet_mean(sample, rd.SPDAffine(5)).point
    scale = 2 * IMAGE_RADIUS / len(sample) / footpoint_epsilons(mu)[1]
    return _laplace(center, scale, size, rng)


def _retina_headlines(results: Results) -> Results:
    found = {}
    for name in results["classes"]:
        n = int(results[f"{name}|n"][0])
        needed = rd.PureDP(2 * IMAGE_RADIUS / int(SHARE * n) / laplace_limit(5)).to_gdp().mu / math.sqrt(0.1)
        _, laplace, wrapped, adaptive = np.array(results[name])[-1, :, 0]
        found[f"{name}: least mu for the printed footpoint"] = needed
        found[f"{name}: laplace over adaptive, largest mu"] = laplace / adaptive
        found[f"{name}: footpoint of A.3.1 over adaptive, largest mu"] = wrapped / adaptive
    return found


def draw_retina(results: Results) -> Picture | None:
    """A panel per class."""
    if not len(results["classes"]):
        return None
    picture, (axes,) = panels(1, len(results["classes"]), width=4.6, height=3.8, sharey="row")
    for ax, name in zip(axes, results["classes"], strict=True):
        log_scale(ax.xaxis)
        log_scale(ax.yaxis)
        for (label, style), rows in zip(IMAGE_STYLES.items(), results[name].transpose(1, 0, 2), strict=True):
            curve(ax, results["mu"], rows[:, 0], 2 * rows[:, 1], label=label, **style)
        ax.set_title(f"{name}, n = {results[f'{name}|n'][0]:,}", fontsize=10)
        ax.minorticks_off()
        ax.set(xlabel="μ, total budget", xticks=results["mu"], xticklabels=[f"{mu:g}" for mu in results["mu"]])
    axes[0].set_ylabel("distance to the class mean")
    legend(picture, 2)
    return picture
