"""Shapes for Figures 2 and 3 of Soto, Bharath, Reimherr and Slavković (2022), and the mechanisms drawn there.

The paper's 409 corpora callosa may not be passed on: outlines of 76 mouse vertebrae stand in, with 50 landmarks each
and n epsilon = 409 as in the paper. Own landmarks: --data FILE, an array (n, k, 2) in .npy or .npz.

As printed, *not private*: centre and radius of the ball are the records' own mean and largest distance from it, and so
are the widths of landmarks; K-norm gradient with 2 Delta/epsilon, Delta = 2r(2 - h)/n. Corrected: the first record
plays an atlas that was published before, the centre of the ball, and is left out of the data; the radius is public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import riemdp as rd
from harness import Array, Figure, Results, Track, has, load, make, options

LANDMARKS, RECORDS, RADIUS = 50, 409, 0.2
DATA = "landmarks_shapes_R"


@dataclass(frozen=True)
class Source:
    """Where landmarks come from, and the public radius."""

    path: Path | None = None
    radius: float = RADIUS

    def landmarks(self) -> Array:
        """(n, k, 2): the person's own, or the stand-in."""
        if self.path is None:
            return resampled(load(DATA)["mice_outlines"], LANDMARKS)
        raw = np.load(self.path)
        array = raw[raw.files[0]] if isinstance(raw, np.lib.npyio.NpzFile) else raw
        if array.ndim != 3 or array.shape[2] != 2:
            raise SystemExit(f"{self.path} has shape {array.shape}: pass landmarks (n, k, 2).")
        return np.asarray(array, dtype=float)


def resampled(outlines: Array, k: int) -> Array:
    """k points of closed outlines, evenly spread over the landmarks' numbers."""
    closed = np.concatenate([outlines, outlines[:, :1]], axis=1)
    place = np.arange(k) * outlines.shape[1] / k
    before, share = place.astype(int), (place % 1)[:, None]
    return np.asarray((1 - share) * closed[:, before] + share * closed[:, before + 1])


def as_complex(landmarks: Array) -> Array:
    """(..., k, 2) as (..., k)."""
    return np.asarray(landmarks[..., 0] + 1j * landmarks[..., 1])


def turned(shapes: Array, onto: Array) -> Array:
    """Each shape (..., k, 2) rotated onto another as well as it goes."""
    z, w = as_complex(np.asarray(shapes)), as_complex(onto)
    inner = (z.conj() * w).sum(axis=-1, keepdims=True)
    z = z * inner / np.abs(inner)
    return np.stack([z.real, z.imag], axis=-1)


def smoothed(shapes: Array, width: float = 1.5) -> Array:
    """Local linear regression of each coordinate of closed outlines on the landmarks' numbers, Gaussian weights."""
    k = shapes.shape[-2]
    step = np.arange(k)[None] - np.arange(k)[:, None]
    step = (step + k // 2) % k - k // 2
    weight = np.exp(-((step / width) ** 2) / 2)
    s0, s1, s2 = (np.sum(weight * step**p, axis=1, keepdims=True) for p in (0, 1, 2))
    return np.asarray(weight * (s2 - s1 * step) / (s0 * s2 - s1**2) @ shapes)


# --- mechanisms ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Private records, a ball, and what is asked for; draws are shapes turned onto the mean."""

    records: Array
    ball: rd.Ball
    mean: Array
    epsilon: float
    draws: int

    def simulate(self, mechanism: str, epsilon: float) -> Array:
        """The library's mechanism."""
        options = {"mechanism": mechanism, "size": self.draws, "seed": 1}
        return np.asarray(rd.simulate(self.records, self.ball, rd.PureDP(epsilon), **options))

    def kng_as_printed(self) -> Array:
        """Scale 2 Delta/epsilon, Delta = 2r(2 - h)/n: the law of another epsilon, and so drawn exactly."""
        r, n = self.ball.radius, len(self.records)
        h = 4 * r / math.tan(4 * r)
        printed = 4 * r * (2 - h) / n / self.epsilon
        own = next(row for row in rd.plan(self.ball, n, rd.PureDP(self.epsilon)) if row.mechanism == "kng")
        return self.simulate("kng", self.epsilon * own.scale / printed)

    def noisy_landmarks(self, value: Array, widths: Array) -> Array:
        """Laplace noise of scale 2k width/(n epsilon) on every coordinate."""
        scale = 2 * self.ball.space.k * widths / len(self.records) / self.epsilon
        noise = np.random.default_rng(1).laplace(size=(self.draws, *value.shape))
        return value + scale * noise

    def pointwise_as_printed(self, is_aligned: bool) -> Array:
        """Around the mean, with twice the largest deviation of the records' own landmarks as width."""
        records = turned(self.records, self.mean) if is_aligned else self.records
        return self.noisy_landmarks(self.mean, 2 * np.abs(records - self.mean).max(axis=0))

    def pointwise_unaligned(self) -> Array:
        """Around the arithmetic mean of records of size 1 as they are turned: coordinates lie in [-1, 1]."""
        return self.noisy_landmarks(self.records.mean(axis=0), np.full(self.mean.shape, 2.0))


Row = tuple[str, Callable[[Setting], Array]]
PRINTED: tuple[Row, ...] = (
    ("K-norm gradient", Setting.kng_as_printed),
    ("landmark by landmark,\naligned to the mean", partial(Setting.pointwise_as_printed, is_aligned=True)),
    ("landmark by landmark,\nnot aligned", partial(Setting.pointwise_as_printed, is_aligned=False)),
)
CORRECTED: tuple[Row, ...] = (
    ("K-norm gradient", lambda s: s.simulate("kng", s.epsilon)),
    ("landmark by landmark,\naligned to the atlas", lambda s: s.simulate("pointwise-laplace", s.epsilon)),
    ("landmark by landmark,\nnot aligned", Setting.pointwise_unaligned),
    ("Riemannian Laplace", lambda s: s.simulate("riemannian-laplace", s.epsilon)),
)
SETTINGS = {"printed": PRINTED, "corrected": CORRECTED}


def settings(source: Source, draws: int) -> dict[str, Setting]:
    """As printed: the records' own ball. Corrected: around the first record, which is left out."""
    landmarks = source.landmarks()
    space = rd.KendallShapes(landmarks.shape[1])
    shapes = space.project(landmarks)
    mean, rest = rd.frechet_mean(shapes, space).point, rd.frechet_mean(shapes[1:], space).point
    radius = float(space.dist(shapes, mean).max())
    return {
        "printed": Setting(shapes, rd.Ball(space, mean, radius), mean, RECORDS / len(shapes), draws),
        "corrected": Setting(
            shapes[1:], rd.Ball(space, shapes[0], source.radius), rest, RECORDS / (len(shapes) - 1), draws
        ),
    }


def released(source: Source, draws: int, track: Track) -> Results:
    """Draws of every mechanism, turned onto the mean, and their distances from it, before and after smoothing."""
    found = settings(source, draws)
    all_of_them = found["printed"]
    results: Results = {
        "records": turned(all_of_them.records[:10], all_of_them.mean),
        "epsilon": all_of_them.epsilon,
        "n": len(all_of_them.records),
    }
    for label, setting in found.items():
        drawn = [sample(setting) for _, sample in track(SETTINGS[label], label)]
        shapes = np.array([turned(x, setting.mean) for x in drawn])
        results |= {
            f"{label}_mean": setting.mean,
            f"{label}_radius": setting.ball.radius,
            f"{label}_shapes": shapes[:, :6],
            f"{label}_errors": distances(shapes, setting),
            f"{label}_smooth_errors": distances(smoothed(shapes), setting),
        }
    return results


def distances(shapes: Array, setting: Setting) -> Array:
    """Geodesic distances to the mean: (rows, draws)."""
    space = setting.ball.space
    return np.array([space.dist(space.project(row), setting.mean) for row in shapes])


# --- command line ----------------------------------------------------------------------------------------------


def compute(quick: bool, track: Track, source: Source) -> Results:
    """With the stand-in, or the person's own landmarks; nothing without."""
    if source.path is None and not has(DATA):
        return {}
    return released(source, 12 if quick else 200, track)


def main(figure: Callable[[Source], Figure], arguments: Sequence[str] | None = None) -> None:
    """The command line of a script; results from own data go to a folder named after their content."""
    parser = options(__doc__)
    parser.add_argument("--data", type=Path, help="own landmarks (n, k, 2), the first one the atlas")
    parser.add_argument("--radius", type=float, default=RADIUS, help=f"of the public ball (default {RADIUS})")
    chosen = parser.parse_args(arguments)
    source = Source(chosen.data, chosen.radius)
    folder = chosen.out
    if source != Source():
        content = b"" if chosen.data is None else chosen.data.read_bytes()
        folder /= hashlib.sha256(content + repr(chosen.radius).encode()).hexdigest()[:12]
    make(figure(source), folder, chosen.quick, chosen.redraw)
