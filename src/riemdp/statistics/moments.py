"""First and second moments of the records' coordinates at the ball's centre, in one linear release.

M1 = (1/n) sum v_i and M2 = (1/n) sum v_i v_iᵀ, or its diagonal or trace, of the very same v_i, |v_i| <= r exactly. With
Gaussian noise the second costs nothing: with the weights below, (M1, M2/c, tr M2/b) has the sensitivity 2r/n of M1
alone. With Laplace noise the trace costs nothing either, and everything else a stated share.
The trace may be of vectors that reach farther, if the others are bent into the radius: that costs nothing either, and
leaves room for a matrix with a tenth less noise, for half a percent more in all.
Proofs: docs/proofs/moments.md; in an ellipsoid, of narrowed coordinates: docs/proofs/shaped.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from riemdp.arithmetic import round_up
from riemdp.axes import Axes
from riemdp.balls import Ball, mean_rounding
from riemdp.errors import InputError, MechanismError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import FARTHEST, Array, Space
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, Wrapped, require_wrapped
from riemdp.privacy.bounded import SECOND_MOMENTS, Bounded, MomentSums
from riemdp.releases.release import Release
from riemdp.statistics.base import Statistic, linear_sensitivity, refuse_footpoint, vectors_up_to
from riemdp.statistics.sensitivity import with_solver_error
from riemdp.summaries.spread import LARGEST_MATRIX, NoisyMoments
from riemdp.summaries.summary import Summary

if TYPE_CHECKING:
    from flint import arb

# Dimensions up to which 'auto' takes the full second moment: with Laplace noise, whose length grows with the number of
# coordinates, far fewer; and up to which it can be asked for: 2 million numbers, a few seconds for a thousand records.
FULL_WITH_GAUSSIAN, FULL_WITH_LAPLACE, LARGEST_FULL = 600, 24, 2048
FARTHEST_REACH = 1.2  # radii up to which the trace may be told: the proof goes no farther


@dataclass(frozen=True)
class Moments(Statistic):
    """(M1, M2/c, tr M2/b), with the weights that belong to the noise; what is made of it is a `Summary`."""

    name: ClassVar[str] = "summary"

    second: str = "auto"
    noise: Wrapped = WRAPPED_GAUSSIAN
    scale: float = math.nan  # of the noise, once it is planned
    is_coarse: bool = False  # of coordinates cut to 16 bits: for centres and shapes, found faster
    radius: float | None = None  # of narrowed coordinates, in an ellipsoid; None: the ball's own
    axes: Axes | None = None  # of the ellipsoid
    reach: float = 1.0  # radii up to which the trace is told; beyond 1, all else is of vectors bent into one radius

    def __post_init__(self) -> None:
        is_proved = self.reach == 1 or (1 < self.reach <= FARTHEST_REACH and self.is_gaussian)
        assert is_proved, "no weight is proved for so wide a trace"
        if self.second not in ("auto", *SECOND_MOMENTS):
            names = ", ".join(map(repr, ("auto", *SECOND_MOMENTS)))
            raise InputError(f"second = {self.second!r}: pass one of {names}.")

    # --- public choices ----------------------------------------------------------------------------------------

    def with_noise(self, mechanism: Mechanism) -> Moments:
        """The statistic with the weights that belong to this noise."""
        return replace(self, noise=require_wrapped(mechanism))

    def with_scale(self, scale: float) -> Moments:
        """The statistic that knows the scale of its noise, on which what is made of the moments depends."""
        return replace(self, scale=scale)

    @property
    def is_gaussian(self) -> bool:
        """Whether the Euclidean norm measures the sensitivity; else a sum of lengths does."""
        return self.noise.name == WRAPPED_GAUSSIAN.name

    def which(self, dim: int) -> str:
        """Which second moments are released: those asked for, or by the dimension."""
        if self.second == "full" and dim > LARGEST_FULL:
            raise MechanismError(
                f"second = 'full' of {dim} dimensions are {dim * (dim + 1) // 2:,} numbers, too many: pass 'trace' or "
                f"'diagonal' (full second moments have at most {LARGEST_FULL} dimensions)."
            )
        if self.second != "auto":
            return self.second
        return "full" if dim <= (FULL_WITH_GAUSSIAN if self.is_gaussian else FULL_WITH_LAPLACE) else "trace"

    def weight(self, ball: Ball) -> float:
        """c of the matrix, public and rounded up: the least that costs nothing; 2r for Laplace noise (section 4).

        Beside a trace that reaches farther, a tenth less (section 8).
        """
        if not self.is_gaussian:
            return 2 * ball.radius
        return round_up(_bought_for_matrix if self.reach > 1 else _free_for_matrix, ball.radius)

    def weight_of_trace(self, ball: Ball) -> float:
        """b, of the trace by itself: the least that costs nothing, alone or beside the matrix."""
        if self.reach > 1:
            return round_up(_free_beyond, ball.radius)
        alone = self.which(ball.space.dim) == "trace"
        if not self.is_gaussian:
            return 2 * ball.radius if alone else ball.radius
        return round_up(free_for_trace if alone else _free_beside_matrix, ball.radius)

    def weights(self, ball: Ball) -> Array:
        """The weight of each number: an entry beside the diagonal stands for two, so sqrt2; the trace is last."""
        dim, which, c = ball.space.dim, self.which(ball.space.dim), self.weight(ball)
        entries = {"full": (dim, dim * (dim - 1) // 2), "diagonal": (dim, 0), "trace": (0, 0)}[which]
        weights = (c, round_up(lambda x: x / _root(2), c))
        return np.append(np.repeat(weights, entries), self.weight_of_trace(ball))

    def supposes(self, space: Space) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing: it is linear."""
        return ()

    # --- the release -------------------------------------------------------------------------------------------

    def room(self, ball: Ball) -> Ball:
        """Where the vectors are whose moments are taken: the ball itself, or one of narrowed coordinates."""
        return ball if self.radius is None else vectors_up_to(self.radius, ball.space.dim)

    def wide(self, room: Ball) -> Ball:
        """Where the vectors are before they are bent into the room, whose trace is taken."""
        return room if self.reach == 1 else vectors_up_to(self.reach * room.radius, room.space.dim)

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """The sensitivity of the tangent mean, to the last bit, where second moments cost nothing."""
        refuse_footpoint(footpoint, "summary")
        self._refuse_large_hessian(ball.space)
        room, alone = self.room(ball), self.which(ball.space.dim) == "trace"
        if alone or (self.is_gaussian and self.reach == 1):
            return linear_sensitivity(room, n)
        if self.is_gaussian:
            return with_solver_error(round_up(lambda r: _with_bought(r) / n, room.radius), mean_rounding(room.radius))
        exact = round_up(lambda r, c: _sum_of_lengths(r, c) / n, room.radius, self.weight(room))
        return with_solver_error(exact, 4 * UNIT_ROUNDOFF * room.radius)

    def _refuse_large_hessian(self, space: Space) -> None:
        """Raise before anything is spent what would be too large afterwards; centres do without."""
        if not space.is_flat and space.dim > LARGEST_MATRIX and not self.is_coarse:
            raise MechanismError(
                f"the mean from moments needs a matrix of the space's {space.dim:,} dimensions where it is curved, at "
                f"most {LARGEST_MATRIX:,}: take private_mean(..., statistic='tangent-mean')."
            )

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """A ball of vectors for each moment."""
        room = self.room(ball)
        weights = self.weights(room)
        longest = math.hypot(room.radius**2 / self.weight(room), self.wide(room).radius ** 2 / weights[-1])
        return vectors_up_to(room.radius, room.space.dim), vectors_up_to(longest, len(weights))

    def vectors(self, records: Bounded) -> Bounded:
        """Coordinates, or narrowed ones, each by itself, forced into the room, or the wide one."""
        if self.radius is None:
            return records
        room = self.wide(self.room(records.ball))
        return records.mapped(partial(_narrowed, axes=self.axes, grid=records.ball.grid), room)

    def value(self, records: Bounded, footpoint: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Both moments, of exact sums, each number rounded once."""
        vectors, which, room = self.vectors(records), self.which(records.space.dim), self.room(records.ball)
        if self.reach > 1:
            return vectors.bent_moment_sums(which, room.radius).means(self.weights(room).tolist())
        return self.of_sums(vectors.coarse_moment_sums(which) if self.is_coarse else vectors.moment_sums(which))

    def of_sums(self, sums: MomentSums) -> tuple[Array, Array]:
        """The private value, from sums over all records."""
        return sums.means(self.weights(sums.ball).tolist())

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """Root mean square distance by which the noise of the first moment moves the mean."""
        even = 1.0 if self.axes is None else self.axes.size / math.sqrt(ball.space.dim)
        return mechanism.expected_error(scale * even, ball)

    # --- post-processing ---------------------------------------------------------------------------------------

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Array:  # noqa: ARG002
        """The Fréchet mean of each draw (docs/proofs/moments.md, section 5)."""
        second = noisy[1].vectors

        def means(first: Array) -> Array:
            pairs = zip(first, second, strict=True)
            return np.stack([self.noisy(*pair, ball).mean_coordinates(ball.space) for pair in pairs])

        with one_blas_thread():
            return carry(noisy[0].then(means), np.zeros(ball.space.dim), ball)

    def completed(self, release: Release, noisy: list[Visible]) -> Summary:
        """The release with its moments, in the ball in which they were drawn."""
        moments = self.noisy(noisy[0].vectors[0], noisy[1].vectors[0], release.ball)
        return Summary(**vars(release) | {"moments": moments, "fill": moments.fill})

    def noisy(self, first: Array, second: Array, ball: Ball) -> NoisyMoments:
        """The noisy moments of one draw, in the units of the coordinates, narrowed ones if there are axes."""
        room, dim, which = self.room(ball), ball.space.dim, self.which(ball.space.dim)
        weights = self.weights(room)
        first, numbers = np.clip(first, -FARTHEST, FARTHEST), np.clip(second, -FARTHEST, FARTHEST) * weights
        deviations = [self.scale * math.sqrt(self.noise.mean_square(size) / size) for size in (dim, len(numbers))]
        axes = None if self.axes is None else self.axes.matrix
        told = deviations[0], deviations[1] * float(weights[0]), self.wide(room).radius, axes
        if which == "trace":
            return NoisyMoments(which, first, numbers[0], *told)
        shift = _better_trace(numbers, weights, dim) / dim
        shaped = symmetric(numbers[:-1]) + shift * np.eye(dim) if which == "full" else numbers[:-1] + shift
        return NoisyMoments(which, first, shaped, *told)


def _narrowed(coords: Array, axes: Axes | None, grid: int) -> Array:
    return coords if axes is None else axes.narrowed(coords, grid)


def _free_for_matrix(radius: arb) -> arb:
    """sqrt2 r: the full second moment, or its diagonal, over this costs nothing with Gaussian noise."""
    return radius * _root(2)


def free_for_trace(radius: arb) -> arb:
    """sqrt(10 sqrt5 - 22) r, about 0.6006 r: the same for the trace alone."""
    return radius * (10 * _root(5) - 22).sqrt()


def _free_beside_matrix(radius: arb) -> arb:
    """sqrt(8/(5 sqrt5 + 7)) r, about 0.6634 r: the same for the trace, beside the matrix over sqrt2 r."""
    return radius * (8 / (5 * _root(5) + 7)).sqrt()


def _free_beyond(radius: arb) -> arb:
    """1.04 r: the same for the trace of vectors up to 1.2 r, beside others that are bent into r (section 8)."""
    return radius * 26 / 25


def _bought_for_matrix(radius: arb) -> arb:
    """0.9 sqrt2 r: what the matrix of vectors bent into r is over, a tenth less than would cost nothing."""
    return _free_for_matrix(radius) * 9 / 10


def _with_bought(radius: arb) -> arb:
    """(0.9 + 1/0.9) r = 2.0111... r: how far all of it then moves (section 8)."""
    return radius * 181 / 90


def _sum_of_lengths(radius: arb, c: arb) -> arb:
    """The largest |v - w| + |v vᵀ - w wᵀ|/c of vectors no longer than the radius (moments.md, section 4)."""
    k = _root(2) * radius / c
    cosine = ((1 + 8 * k**2).sqrt() - 1) / (4 * k)
    return 2 * radius * (1 - cosine**2).sqrt() * (1 + k * cosine)


def _root(number: int) -> arb:
    from flint import arb

    return arb(number).sqrt()


def symmetric(numbers: Array) -> Array:
    """The matrix of which this is the upper triangle."""
    dim = (math.isqrt(8 * len(numbers) + 1) - 1) // 2
    matrix, (i, j) = np.diag(numbers[:dim]), np.triu_indices(dim, 1)
    matrix[i, j] = matrix[j, i] = numbers[dim:]
    return matrix


def _better_trace(numbers: Array, weights: Array, dim: int) -> float:
    """By how much the trace, known twice, is more than the sum of the diagonal: both weighed by their noise."""
    trust = dim * weights[0] ** 2 / (dim * weights[0] ** 2 + weights[-1] ** 2)
    return float(trust * (numbers[-1] - numbers[:dim].sum()))
