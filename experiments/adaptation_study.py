"""What private_mean(adapt=True) gains, and how its rounds, shares and radii were chosen (docs/decisions/0009).

Every figure is the error of the plain release over that of the adaptive one, both root mean square distances to the
mean of the records, for the same guarantee and the same public ball; above 1, adaptation helps.

- choice: ways to adapt, on simulated records of R^d in a ball of radius 1, their spread from 1 % to 100 % of it;
- region: where the default is worse than the plain release, records with outliers on one side among them;
- alone: the same with pure epsilon in many dimensions, where there is a radius around the given centre and no round;
- radius: the exponential law against a noisy binary search for the same quantile and budget;
- footpoint: a private footpoint from 10 % of the budget (A.3.1 of the exponential-wrapped paper), drawn exactly;
- foresight: the error that plan(adapt=True, spread=) predicts, in balls and for records that have a shape;
- images: covariance descriptors of real images, the ball of the papers and the tight one.

Data: ../shared/data beside the repository (images; left out if not at hand).
Run: python experiments/adaptation_study.py [choice region alone radius footpoint foresight images]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import riemdp as rd
from riemdp.statistics.adaptation import FOOTPOINT, Adaptation
from riemdp.statistics.quantile import STEPS, RadiusLaw, radius_strength

Array = NDArray[np.float64]
Maker = Callable[[int, int, float, np.random.Generator], Array]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SPREADS = (0.01, 0.1, 0.3, 1.0)
OUTLIERS = (1, 3, 10, 30, 100)
ETA = 1e-6


# --- simulated records in the unit ball, around a place half-way to its rim ----------------------------------


def directions(n: int, d: int, rng: np.random.Generator) -> Array:
    """Unit vectors."""
    normal = rng.standard_normal((n, d))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _place(d: int, spread: float) -> Array:
    return 0.5 * (1 - spread) * np.eye(1, d)[0]


def filled(n: int, d: int, spread: float, rng: np.random.Generator) -> Array:
    """Uniform in a ball."""
    return _place(d, spread) + spread * directions(n, d, rng) * rng.random((n, 1)) ** (1 / d)


def hollow(n: int, d: int, spread: float, rng: np.random.Generator) -> Array:
    """Uniform on a sphere."""
    return _place(d, spread) + spread * directions(n, d, rng)


def heavy(n: int, d: int, spread: float, rng: np.random.Generator) -> Array:
    """Student's law with 3 degrees of freedom, 99 % within the spread."""
    t = rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3)
    return _place(d, spread) + spread * t / np.quantile(np.linalg.norm(t, axis=1), 0.99)


def clusters(n: int, d: int, spread: float, rng: np.random.Generator) -> Array:
    """Two of them."""
    side = np.where(np.arange(n)[:, None] % 2, 0.9, -0.9) * np.eye(1, d)
    return _place(d, spread) + spread * (side + 0.1 * directions(n, d, rng))


def with_outliers(count: int) -> Maker:
    """A filled ball, and some records at the rim on the far side."""

    def make(n: int, d: int, spread: float, rng: np.random.Generator) -> Array:
        records = filled(n, d, spread, rng)
        records[:count] = -np.eye(1, d)
        return records

    return make


KINDS: dict[str, Maker] = {"filled": filled, "hollow": hollow, "heavy": heavy, "clusters": clusters}


def into_unit_ball(records: Array) -> Array:
    """As a release would."""
    return np.asarray(records / np.maximum(np.linalg.norm(records, axis=1, keepdims=True), 1))


def unit_ball(d: int) -> rd.Ball:
    """The public one."""
    return rd.Ball(rd.Euclidean(d), np.zeros(d), 1.0)


def rms(points: Array, mean: Array, space: rd.Space) -> float:
    """Root mean square distance."""
    return float(np.sqrt(np.mean(space.dist(np.asarray(points), mean) ** 2)))


def gain(records: Array, ball: rd.Ball, guarantee: rd.Guarantee, adapt: bool | Adaptation, size: int) -> float:
    """Error of the plain release, predicted (exactly, in a flat space), over that of the adaptive one, simulated."""
    mean = records.mean(axis=0)
    plain = rd.plan(ball, len(records), guarantee)[0].expected_error
    seed = int(np.random.default_rng(records.view(np.uint64).ravel()[:8]).integers(2**62))  # another one for each
    draws = rd.simulate(records, ball, guarantee, adapt=adapt, size=size, seed=seed)
    return plain / rms(draws, mean, ball.space)


# --- choice --------------------------------------------------------------------------------------------------

WAYS: dict[str, Adaptation] = {
    "1 round, 10+10 %": Adaptation(rounds=1),
    "2 rounds, 6+6 %": Adaptation(rounds=2),
    "2 rounds, 3+3 %": Adaptation(rounds=2, center_share=0.03, radius_share=0.03),
    "3 rounds, 3+3 %": Adaptation(rounds=3),
    "3 rounds, 5+1 %": Adaptation(rounds=3, center_share=0.05, radius_share=0.01),
    "3 rounds, 6+6 %": Adaptation(rounds=3, center_share=0.06, radius_share=0.06),
    "4 rounds, 3+3 %": Adaptation(rounds=4, center_share=0.03, radius_share=0.03),
    "3 rounds, 3+3 %, spare 0.3": Adaptation(rounds=3, spare=0.3),
    "3 rounds, 3+3 %, spare 3": Adaptation(rounds=3, spare=3.0),
}
SETTINGS: tuple[tuple[rd.Guarantee, int, int], ...] = (
    (rd.GDP(1.0), 3, 200),
    (rd.GDP(1.0), 3, 3000),
    (rd.GDP(1.0), 45, 3000),
    (rd.PureDP(1.0), 3, 3000),
)


def gains(ways: Iterable[bool | Adaptation], setting: tuple[rd.Guarantee, int, int], size: int) -> Array:
    """(ways, kinds, spreads)."""
    guarantee, d, n = setting
    rng = np.random.default_rng(0)
    sets = [[into_unit_ball(make(n, d, s, rng)) for s in SPREADS] for make in KINDS.values()]
    ball = unit_ball(d)
    return np.array([[[gain(X, ball, guarantee, way, size) for X in row] for row in sets] for way in ways])


def choice(console: Console, size: int) -> None:
    """Geometric means over the kinds of records, by spread, and the worst of all."""
    for setting in SETTINGS:
        guarantee, d, n = setting
        table = Table("way", *(f"spread {s:.0%}" for s in SPREADS), "worst", title=f"{guarantee!r}, d = {d}, n = {n}")
        for name, row in zip(WAYS, gains(WAYS.values(), setting, size), strict=True):
            mean = np.exp(np.log(row).mean(axis=0))
            table.add_row(name, *(f"{g:.2f}" for g in mean), f"{row.min():.2f}")
        console.print(table)


# --- region --------------------------------------------------------------------------------------------------


def region(console: Console, size: int) -> None:
    """The default, in many settings; then outliers on one side."""
    title = "default: worst gain over the kinds of records"
    table = Table("guarantee", "d", "n", "rounds", *(f"spread {s:.0%}" for s in SPREADS), title=title)
    for guarantee in (rd.GDP(1.0), rd.ApproxDP(1.0, 1e-6), rd.PureDP(1.0)):
        for d, n in ((1, 30), (1, 150), (1, 600), (1, 3000), (3, 100), (10, 1000), (45, 300), (45, 5000)):
            worst = gains([True], (guarantee, d, n), size)[0].min(axis=0)
            rounds = rd.plan(unit_ball(d), n, guarantee, adapt=True, spread=0.0)[0].rounds
            table.add_row(repr(guarantee), str(d), str(n), str(rounds), *(f"{g:.2f}" for g in worst))
    console.print(table)
    title = "outliers on one side: GDP(1), n = 3000, spread 10 %"
    table = Table("d", *(f"{m} outliers" for m in OUTLIERS), title=title)
    for d in (1, 3, 10, 45):
        sets = [into_unit_ball(with_outliers(m)(3000, d, 0.1, np.random.default_rng(m))) for m in OUTLIERS]
        table.add_row(str(d), *(f"{gain(X, unit_ball(d), rd.GDP(1.0), True, size):.2f}" for X in sets))
    console.print(table)


def alone(console: Console, size: int) -> None:
    """Few records of many numbers, half-way to the rim."""
    title = "PureDP(1): worst gain over the kinds of records"
    table = Table("d", "n", *(f"spread {s:.0%}" for s in SPREADS), title=title)
    for d, n in ((45, 1000), (45, 1400), (100, 1500), (100, 3000)):
        worst = gains([True], (rd.PureDP(1.0), d, n), size)[0].min(axis=0)
        table.add_row(str(d), str(n), *(f"{g:.2f}" for g in worst))
    console.print(table)


# --- radius --------------------------------------------------------------------------------------------------


def binary_search(outside: Sequence[int], share: rd.GDP, spare: int, rng: np.random.Generator) -> int:
    """The deepest radius with at most `spare` records outside, by noisy counts; the first has none outside."""
    low, high = 0, len(outside)
    steps = max(1, math.ceil(math.log2(high + 1)))
    scale = math.sqrt(steps) / share.mu
    for _ in range(steps):
        if low < high:
            middle = (low + high + 1) // 2
            few = outside[middle - 1] + scale * rng.standard_normal() <= spare
            low, high = (middle, high) if few else (low, middle - 1)
    return low


def radius(console: Console, size: int) -> None:
    """Root mean square of the radius found over the best one, and records left outside, of 2000 around a centre."""
    rng = np.random.default_rng(0)
    title = "2000 records at distances 0.05 |N(0, 1)|, radii from 1 to 0.01"
    table = Table("share", "spare", "law", "radius", "outside", title=title)
    distances = np.sort(0.05 * np.abs(rng.standard_normal(2000)))
    radii = 2.0 ** (-np.arange(1, math.floor(STEPS * math.log2(100))) / STEPS)
    outside = [int((distances > t).sum()) for t in radii]
    for mu in (0.1, 0.25, 0.5):
        for spare in (4, 15, 50):
            law = RadiusLaw(radius_strength(rd.GDP(mu)), spare)
            best = max(i for i, m in enumerate([0, *outside]) if m <= spare)
            ways = {
                "exponential": [law.simulate(outside, rng) for _ in range(50 * size)],
                "binary search": [binary_search(outside, rd.GDP(mu), spare, rng) for _ in range(50 * size)],
            }
            for name, steps in ways.items():
                found = math.sqrt(np.mean([2.0 ** (2 * (best - i) / STEPS) for i in steps]))
                left = np.mean([[0, *outside][i] for i in steps])
                table.add_row(f"GDP({mu})", str(spare), name, f"{found:.2f}", f"{left:.1f}")
    console.print(table)


# --- footpoint -----------------------------------------------------------------------------------------------


def footpoint(console: Console, size: int) -> None:
    """Records within 10 % of the ball's radius of a place 80 % out: errors, in units of the radius."""
    title = "GDP(1), n = 2000: root mean square error"
    table = Table("space", "radius", "plain", "footpoint, 10 %", "adapt", title=title)
    for space, r in ((rd.SPDAffine(3), 5.0), (rd.SPDAffine(5), 5.0), (rd.Hyperbolic(3), 8.0), (rd.Sphere(2), 1.2)):
        ball, rng = rd.Ball(space, space.origin, r), np.random.default_rng(0)
        place = space.exp_coords(0.8 * r * np.eye(1, space.dim)[0], ball.inner_center)
        coords = 0.1 * r * filled(2000, space.dim, 1.0, rng)
        records = space.write(space.exp_coords(coords, np.broadcast_to(place, (2000, *place.shape))), ball.center)
        mean = rd.frechet_mean(records, space).point
        errors = [
            rms(rd.simulate(records, ball, rd.GDP(1.0), adapt=way, size=size, seed=0), mean, space)
            for way in (False, FOOTPOINT, True)
        ]
        table.add_row(repr(space), f"{r:g}", *(f"{e / r:.2e}" for e in errors))
    console.print(table)


# --- foresight -----------------------------------------------------------------------------------------------

PLACES: tuple[tuple[rd.Space, float, float], ...] = (  # space, radius of the ball, largest deviation of the records
    (rd.Euclidean(1), 10.0, 0.05),
    (rd.Euclidean(3), 17.0, 0.05),
    (rd.Euclidean(10), 30.0, 0.05),
    (rd.Euclidean(40), 60.0, 0.05),
    (rd.Euclidean(10), 30.0, 3.0),
    (rd.Sphere(2), 1.2, 0.05),
    (rd.Hyperbolic(2), 5.0, 0.1),
    (rd.SPDAffine(3), 4.0, 0.1),
    (rd.KendallShapes(8), 0.7, 0.02),
)


def foresight(console: Console, size: int) -> None:
    """Normal coordinates of deviations s, s/2^power, s/3^power, ...; `spread` is their distance that 99 % keep to."""
    powers = (0.0, 0.5, 1.0, 2.0)
    title = "GDP(1), n = 3000: root mean square error over the predicted one"
    heads = ("balls only, even", *(f"deviations 1/k^{power:g}" for power in powers))
    table = Table("space", "radius", "deviation", *heads, title=title)
    ways = [(0.0, Adaptation(shape=False)), *((power, Adaptation()) for power in powers)]
    for space, r, deviation in PLACES:
        ball = rd.Ball(space, space.origin, r)
        found = [_over_predicted(ball, deviation, *way, size) for way in ways]
        table.add_row(repr(space), f"{r:g}", f"{deviation:g}", *(f"{ratio:.2f}" for ratio in found))
    console.print(table)


def _over_predicted(ball: rd.Ball, deviation: float, power: float, way: Adaptation, size: int) -> float:
    space, rng, n = ball.space, np.random.default_rng(0), 3000
    coords = deviation * np.arange(1, space.dim + 1) ** -power * rng.standard_normal((n, space.dim))
    records = space.exp(space.from_coordinates(coords, ball.center), ball.center)
    mean = rd.frechet_mean(records, space).point
    spread = float(np.quantile(space.dist(records, mean), 0.99))
    [row] = [row for row in rd.plan(ball, n, rd.GDP(1.0), adapt=way, spread=spread) if row.rounds]
    return rms(rd.simulate(records, ball, rd.GDP(1.0), adapt=way, size=size, seed=0), mean, space) / row.expected_error


# --- images --------------------------------------------------------------------------------------------------

IMAGES = {
    "oct_kermany28": ("images", "labels"),
    "mnist": ("test_images", "test_labels"),
    "kmnist_test": ("images", "labels"),
    "fashion_mnist_4c": ("images", "labels"),
    "cifar10_4c": ("images", "labels"),
    "pathmnist_test718": ("images", "labels"),
}


def balls(channels: int) -> dict[str, rd.Ball]:
    """The ball as printed, around the identity, and the tight one."""
    space = rd.SPDLogEuclidean(9 if channels == 1 else 11)
    low, high = rd.descriptor_eigenvalue_bounds(channels, ETA, tight=False)
    printed = math.sqrt(space.k) * max(abs(math.log(low)), math.log(high))
    bounds = rd.descriptor_eigenvalue_bounds(channels, ETA)
    return {
        "printed": rd.Ball(space, np.eye(space.k), printed),
        "tight": rd.Ball.from_eigenvalue_bounds(space, *bounds),
    }


def flattened(descriptors: Array, ball: rd.Ball) -> tuple[Array, rd.Ball]:
    """The same records and ball in R^d: log-Euclidean matrices are isometric to it, and vectors are faster."""
    coords = ball.space.coordinates(ball.space.log(descriptors, ball.center), ball.center)
    return coords, rd.Ball(rd.Euclidean(ball.space.dim), np.zeros(ball.space.dim), ball.radius)


def images(console: Console, size: int) -> None:
    """Gain over the plain release in each ball; the adaptive release starts from the same ball."""
    promises = {"GDP(1)": rd.GDP(1.0), "(1, 1e-6)-DP": rd.ApproxDP(1.0, 1e-6)}
    heads = [f"{name}, {ball}" for name in promises for ball in ("printed", "tight")]
    table = Table("images", "class", "n", "rounds", *heads, title="gain over the plain release in the same ball")
    for name, (pictures, labels) in IMAGES.items():
        path = DATA / f"{name}.npz"
        if not path.exists():
            console.print(f"{path.name} is not at hand: left out.")
            continue
        with np.load(path) as archive:
            pixels, classes = archive[pictures], archive[labels]
        for label in np.unique(classes):
            descriptors = rd.covariance_descriptors(pixels[classes == label], ETA)
            cells, rounds = [], set()
            for guarantee in promises.values():
                for ball in balls(1 if pixels.ndim == 3 else 3).values():
                    records, flat = flattened(descriptors, ball)
                    cells.append(gain(records, flat, guarantee, True, size))
                    rounds.add(str(rd.plan(flat, len(records), guarantee, adapt=True, spread=0.0)[0].rounds))
            facts = str(label), str(len(descriptors)), "/".join(sorted(rounds))
            table.add_row(name, *facts, *(f"{c:.2f}" for c in cells))
    console.print(table)


PARTS: dict[str, Callable[[Console, int], None]] = {
    "choice": choice,
    "region": region,
    "alone": alone,
    "radius": radius,
    "footpoint": footpoint,
    "foresight": foresight,
    "images": images,
}


def main() -> None:
    """Tables on the terminal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--size", type=int, default=30, help="simulated releases per figure")
    options = parser.parse_args()
    console = Console(width=150)
    for name in options.parts or PARTS:
        PARTS[name](console, options.size)


if __name__ == "__main__":
    main()
