"""What pictures of a release are made of: what they show, and the styles of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from riemdp.balls import Ball
from riemdp.labels import body_word, kind_of_ball
from riemdp.manifolds.base import Array
from riemdp.mechanisms import by_name
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import require_wrapped
from riemdp.plots.style import BLACK, BLUE, ORANGE, SKY
from riemdp.privacy.bounded import Bounded
from riemdp.releases.release import Release
from riemdp.statistics.base import ReleaseLaw, Statistic
from riemdp.statistics.catalogue import statistic_for
from riemdp.statistics.median import Median
from riemdp.statistics.moments import Moments
from riemdp.statistics.regression import GeodesicRegression
from riemdp.summaries.summary import Summary

RELEASED: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 9, "mec": "white", "label": "released mean"}
CENTER: dict[str, Any] = {"color": BLACK, "marker": "s", "markersize": 7, "mfc": "white"}
RIM: dict[str, Any] = {"color": ORANGE, "linewidth": 2, "linestyle": "--"}
CLOUD: dict[str, Any] = {"color": SKY, "s": 9, "alpha": 0.6, "linewidths": 0, "rasterized": True, "zorder": 1.5}
SIMULATED = "simulated releases"
Links = str | Sequence[tuple[int, int]]
OF_MANY = (Median.name, GeodesicRegression.name)  # releases, of which no single law tells
TURN = np.linspace(0, 2 * math.pi, 361)
ROUND = np.stack([np.cos(TURN), np.sin(TURN)], axis=-1)  # unit vectors of the plane


@dataclass(frozen=True)
class View:
    """What pictures of a release show."""

    release: Release
    size: int
    seed: int
    names: tuple[str, ...] = ()  # of rows and columns, landmarks, classes: of whatever there are so many
    links: Links = "outline"  # between landmarks

    @cached_property
    def ball(self) -> Ball:
        """The public ball, or the private one that an adaptive release found."""
        return self.release.ball

    @property
    def whose(self) -> str:
        """Whether centre and ball were given, 'public', or found and paid for, 'private'."""
        return kind_of_ball(self.release)

    @property
    def center_style(self) -> dict[str, Any]:
        """Marks of the centre, which say whose it is."""
        return CENTER | {"label": f"{self.whose} centre"}

    @property
    def body(self) -> str:
        """What records were forced into, and whose it is."""
        return f"{self.whose} {body_word(self.release)}"

    @property
    def rim_style(self) -> dict[str, Any]:
        """The line around the body; of an ellipsoid whose axes are not on record, around the ball that holds it."""
        is_whole = body_word(self.release) == "ball" or self._half_axes.ndim > 0
        return RIM | {"label": self.body if is_whole else f"ball around the {self.body}"}

    @cached_property
    def _half_axes(self) -> Array:
        """Times unit vectors, the rim in coordinates at the centre: a matrix, the diagonal of one, or a radius."""
        release = self.release
        if body_word(release) == "ellipsoid":
            last = release.stages[-1] if release.stages else release.moments if isinstance(release, Summary) else None
            if last is not None and last.axes is not None:
                return np.asarray(last.radius * last.axes)
            if release.space.is_flat and release.noisy is not None and release.noisy.axes is not None:
                return np.asarray(release.radius * release.noisy.axes)
        return np.asarray(self.ball.radius)

    @property
    def widths(self) -> Array:
        """How far the body reaches from its centre along each coordinate."""
        half = self._half_axes
        return np.linalg.norm(half, axis=1) if half.ndim == 2 else np.broadcast_to(half, self.release.space.dim)

    @property
    def rim(self) -> Array:
        """Points on the rim of the body, in a space of dimension 2."""
        half = self._half_axes
        return self.release.space.exp_coords(ROUND @ half.T if half.ndim == 2 else ROUND * half, self.ball.inner_center)

    @property
    def errors(self) -> Array:
        """Predicted for each coordinate at the centre."""
        dim, turn = self.release.space.dim, noise_axes(self.release)
        parts = np.ones(dim) if turn is None else np.linalg.norm(turn, axis=1)
        return np.asarray(self.release.expected_error * parts / np.linalg.norm(parts))

    @property
    def error_curve(self) -> Array:
        """As far as noise is predicted to move the released point, in coordinates there, in dimension 2."""
        space, center, turn = self.release.space, self.ball.inner_center, noise_axes(self.release)
        if turn is None:
            return self.release.expected_error * ROUND
        size = self.release.expected_error * math.sqrt(2) / float(np.linalg.norm(turn))
        points = space.exp_coords(self.coordinates(self.value, center) + size * ROUND @ turn.T, center)
        return self.coordinates(points, self.value)

    @cached_property
    def value(self) -> Array:
        """The released point as the space's primitives see it."""
        return self.inner(self.release.value)

    @cached_property
    def cloud(self) -> Array:
        """Simulated releases around the released value."""
        return simulated_releases(self.release, self.size, self.seed)

    def inner(self, points: Array) -> Array:
        """Points as the space's primitives see them."""
        return self.release.space.read(points, "points")

    def coordinates(self, points: Array, base: Array) -> Array:
        """Orthonormal coordinates of the logs of points at one of them, all in inner form."""
        with np.errstate(all="ignore"):
            return self.release.space.log_coords(points, base)


def simulated_releases(release: Release, size: int, seed: int) -> Array:
    """Seeded draws (size, *point_shape) of the mechanism, had the mean before noise been the released one.

    A released mean outside the ball is moved onto it, as records are. One record, the released mean, stands for
    all: each mechanism's law depends on the number of records through its scale alone.
    """
    if release.statistic in OF_MANY:
        return _around_the_value(release, size, seed)
    if (turn := noise_axes(release)) is not None:
        return _in_shape(release, turn, size, seed)
    ball, foot = release.ball, np.zeros(release.space.dim)
    mechanism = by_name(release.mechanism)
    statistic = statistic_for(mechanism, _asked(release), foot).with_scale(release.scale)
    law = ReleaseLaw(statistic, mechanism, release.scale, ball, release.n, foot)
    value = law.statistic.value(Bounded(release.value[None], ball), foot)
    return release.space.write(law.simulate(value, np.random.default_rng(seed), size), ball.center)


def _around_the_value(release: Release, size: int, seed: int) -> Array:
    """Draws around what is made of many releases: normal coordinates at the value, of the predicted error."""
    space, rng = release.space, np.random.default_rng(seed)
    coords = release.expected_error / math.sqrt(space.dim) * rng.standard_normal((size, space.dim))
    return space.write(space.exp_coords(coords, space.read(release.value, "value")), release.center)


def noise_axes(release: Release) -> Array | None:
    """What noise of the same size in all directions was multiplied by, in an ellipsoid; None in a ball."""
    if body_word(release) == "ball":
        return None
    if isinstance(release, Summary):
        return release.moments.turn(release.space)
    return None if release.noisy is None else release.noisy.axes


def _in_shape(release: Release, turn: Array, size: int, seed: int) -> Array:
    """Draws of coordinates at the centre, with noise in the shape of the ellipsoid."""
    space, center = release.space, release.ball.inner_center
    noise = require_wrapped(by_name(release.mechanism)).noise(np.random.default_rng(seed), size, space.dim)
    around = space.log_coords(space.read(release.value, "value"), center)
    points = carry(Visible(around + release.scale * noise @ turn.T), np.zeros(space.dim), release.ball)
    return space.write(points, release.ball.center)


def _asked(release: Release) -> str | Statistic:
    """What was asked for: of a summary also which second moments, which have noise too."""
    return Moments(release.moments.kind) if isinstance(release, Summary) else release.statistic


@dataclass(frozen=True)
class Panel:
    """One part of a figure: what draws it on axes."""

    draw: Callable[[Any], None]
    is_solid: bool = False  # has three axes


@dataclass(frozen=True, eq=False)
class Marked:
    """A point that is drawn among others, and how."""

    point: Array
    style: dict[str, Any]  # colour, line and label

    @property
    def name(self) -> str:
        """What it is called in the legend."""
        return str(self.style["label"])


def draw_cloud(ax: Any, xy: Array) -> None:
    """Simulated releases (n, 2) as faint dots, with one that can be seen in the legend."""
    ax.scatter(xy[:, 0], xy[:, 1], **CLOUD)
    ax.scatter([], [], **(CLOUD | {"s": 25, "alpha": 1.0, "rasterized": False}), label=SIMULATED)
