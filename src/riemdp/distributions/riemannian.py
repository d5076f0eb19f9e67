"""Riemannian Laplace and Gaussian laws: densities ∝ exp(-rho/s) and exp(-rho²/(2s²)) of the volume measure.

In normal coordinates v at the centre the density is g(t) J(v), t = |v|, J the volume density of exp. Where J
depends on t alone (flat spaces, sphere, hyperbolic space, shapes) the direction is uniform and t has the density
t^(d-1) J(t) g(t), whose logarithm is concave. Elsewhere `VolumeDensity.volume_growth` bounds log J(v) by a function of
t: t and a uniform direction are proposed from the bound, v is accepted with the ratio (docs/proofs/riemannian_laws.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riemdp.arguments import finite_number, random_generator, whole_number
from riemdp.distributions.envelope import BALLS, Envelope, Lines, ball_lines, build
from riemdp.errors import InputError, MechanismError
from riemdp.kernels.spectral import without_waiting
from riemdp.manifolds.balls import ball_norm
from riemdp.manifolds.base import Space
from riemdp.manifolds.capabilities import ExactPoints, VolumeDensity
from riemdp.manifolds.growth import Growth
from riemdp.randomness import LazyUniform, decide, normals, replay

if TYPE_CHECKING:
    from flint import arb

Array = NDArray[Any]

REJECTED = -1
MOST_TRIALS = 1e5  # per draw, on average; reached only close to the scale at which a law ceases to exist
NEAREST = 1 - 2.0**-20  # to that scale, relatively: beyond, floats do not tell on which side the law lies
BATCH_NUMBERS = 2**22  # held at a time
LEVEL_ERROR, MOST_NUMBERS = 2e-4, 2**20  # of a quantile, and of what it is found from


@dataclass(frozen=True, eq=False)
class IsotropicLaw:
    """A law whose density at x, with respect to the volume, is g(rho(x, center)) up to a constant."""

    space: Space
    center: Array
    scale: float

    def __post_init__(self) -> None:
        scale = finite_number(self.scale, "scale")
        if scale <= 0:
            raise InputError(f"scale = {scale!r}: pass a positive number.")
        self.space.one_point(self.center, "center")
        object.__setattr__(self, "scale", scale)
        self._check_existence()

    @abstractmethod
    def _log_profile(self, t: Any) -> tuple[Any, Any]:
        """log g(t), concave, and its derivative."""

    def _check_existence(self) -> None:
        """Raise if the density has no finite integral."""

    # --- what users call --------------------------------------------------------------------------------

    def log_density(self, points: ArrayLike) -> Array:
        """Logarithm of the density, up to the constant that makes its integral 1.

        Parameters
        ----------
        points : array of shape (..., *point_shape)
            Points of the space.

        Returns
        -------
        array of shape (...)
            With respect to the volume of the space.

        Raises
        ------
        InputError
            If something is not a point.

        Examples
        --------
        >>> import riemdp as rd
        >>> law = rd.RiemannianLaplace(rd.Euclidean(1), [0.0], 0.5)
        >>> law.log_density([[0.0], [1.0]]).tolist()
        [-0.0, -2.0]
        """
        return np.asarray(self._log_profile(self.space.dist(self.center, points))[0])

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Independent exact draws, in float64.

        Parameters
        ----------
        size, rng : as of Space.random_point
            How many, and where randomness comes from, or a seed.

        Returns
        -------
        array of shape (size, *point_shape)
            Points, in the form of the centre.

        Raises
        ------
        InputError
            If an argument is not as described.
        MechanismError
            If a draw would take too many trials at this scale.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.RiemannianLaplace(rd.Sphere(2), [0.0, 0.0, 1.0], 0.1).sample(5, 0).shape
        (5, 3)
        """
        coords = self.sample_coords(whole_number(size, "size", 1), random_generator(rng))
        base = self.space.one_point(self.center, "center")
        return self.space.write(self.space.exp_coords(coords, base), self.center)

    def sample_coords(self, size: int, rng: Any) -> Array:
        """Independent exact draws, in normal coordinates at the centre.

        Parameters
        ----------
        size : int
            How many.
        rng : numpy.random.Generator
            Or whatever has the methods `random` and `standard_normal`.

        Returns
        -------
        array of shape (size, dim)
            Orthonormal coordinates.

        Raises
        ------
        MechanismError
            If a draw would take too many trials at this scale.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> law = rd.RiemannianLaplace(rd.Sphere(2), [0.0, 0.0, 1.0], 0.1)
        >>> law.sample_coords(5, np.random.default_rng(0)).shape
        (5, 2)
        """
        trials, drawn, missing = self._affordable_trials(), list[Array](), size
        while missing > 0:
            batch = min(int(1.1 * trials * missing) + 16, BATCH_NUMBERS // self.space.dim + 1)
            coords, log_ratio = self._proposals(rng, *self.envelope.propose(rng, batch))
            with np.errstate(divide="ignore"):
                drawn.append(coords[np.log(rng.random(batch)) < log_ratio][:missing])
            missing -= len(drawn[-1])
        return np.concatenate(drawn)

    def ideal_coords(self) -> Callable[[int], list[arb]]:
        """One draw, as real numbers, from the operating system's bits.

        Returns
        -------
        callable
            It recomputes the coordinates of the draw, as balls of `arb`, from so many bits of each uniform number.

        Raises
        ------
        MechanismError
            If a draw would take too many trials at this scale.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> law = rd.RiemannianLaplace(rd.Sphere(2), [0.0, 0.0, 1.0], 0.1)
        >>> len(law.ideal_coords()(64))
        2
        """
        self._affordable_trials()
        while True:
            tape = list[LazyUniform]()
            segment = self._outcome(tape)
            if segment != REJECTED:
                return lambda bits: self._read(tape, segment, bits)

    @property
    def _key(self) -> tuple[Any, Space, float]:
        """All that matters of the law around its centre."""
        return type(self), self.space, self.scale

    @property
    def _volume(self) -> VolumeDensity:
        """The space in the role that the law needs."""
        return self.space.capability(VolumeDensity)

    # --- float64 ------------------------------------------------------------------------------------------

    @property
    def envelope(self) -> Envelope:
        """The envelope of the radial law, or of its bound, from which lengths are proposed.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> law = rd.RiemannianLaplace(rd.Sphere(2), [0.0, 0.0, 1.0], 0.1)
        >>> len(law.envelope.propose(np.random.default_rng(0), 5)[0])
        5
        """
        return _envelope(*self._key)

    def _concave(self, t: Any, m: Any) -> tuple[Any, Any]:
        """The concave part of the logarithm of the radial law, and its derivative."""
        power = self.space.dim - 1
        area, area_slope = self._volume.log_area(t, m) or (power * m.log(t), power / t)
        profile, profile_slope = self._log_profile(t)
        return area + profile, area_slope + profile_slope

    def _proposals(self, rng: Any, t: Array, height: Array) -> tuple[Array, Array]:
        """Coordinates of proposed lengths t, and the logarithms of the probabilities to accept them."""
        direction = rng.standard_normal((len(t), self.space.dim))
        coords = direction * (t / np.linalg.norm(direction, axis=1))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = self._concave(t, np)[0] - height
        if not is_radial(self.space):
            log_ratio += self._volume.log_density(coords)
        return coords, np.where(np.isnan(log_ratio), -np.inf, log_ratio)  # NaN where the space has ended

    def _affordable_trials(self) -> float:
        trials = expected_trials(self)
        if not trials <= MOST_TRIALS:
            raise MechanismError(
                f"scale = {self.scale:g}: a draw on {self.space!r} would take about {trials:.1g} trials (limit "
                f"{MOST_TRIALS:.0g}); use a smaller scale, or a wrapped mechanism."
            )
        return trials

    # --- balls: uniforms of the tape are (segment, place in it, acceptance, direction) ------------------------

    def _lines(self) -> Lines:
        from flint import ctx

        return ball_lines(self.envelope, ctx.prec)

    def _outcome(self, tape: list[LazyUniform]) -> int:
        """The segment of the trial on this tape, if it is accepted; else REJECTED."""
        return decide(lambda bits: self._trial(tape, bits))

    def _trial(self, tape: list[LazyUniform], bits: int) -> int | None:
        uniforms, lines = replay(tape, bits), self._lines()
        segment = lines.choose(next(uniforms))
        if segment is None:
            return None
        t, u = lines.invert(segment, next(uniforms), BALLS), next(uniforms)
        log_ratio = self._concave(t, BALLS)[0] - lines.log_height(segment, t)
        if not is_radial(self.space):
            v = self._directed(t, normals(uniforms, self.space.dim))
            log_ratio += self.space.capability(ExactPoints).ideal_log_density(v)
        gap = u.log() - log_ratio
        if gap < 0:
            return segment
        return REJECTED if gap > 0 else None  # neither is certain: more digits are needed

    def _read(self, tape: list[LazyUniform], segment: int, bits: int) -> list[arb]:
        """The coordinates of an accepted trial."""
        uniforms = replay(tape, bits)
        _, place, _ = next(uniforms), next(uniforms), next(uniforms)
        return self._directed(self._lines().invert(segment, place, BALLS), normals(uniforms, self.space.dim))

    def _directed(self, t: arb, direction: list[arb]) -> list[arb]:
        """The vector of length t in this direction."""
        factor = t / ball_norm(direction)
        return [factor * z for z in direction]


@dataclass(frozen=True, eq=False)
class RiemannianLaplace(IsotropicLaw):
    """The Riemannian Laplace law: density ∝ exp(-rho(x, center)/scale) (Hajri et al. 2016; Reimherr et al. 2021).

    Where volume grows like exp(c rho) it exists only for scale < 1/c.

    Parameters
    ----------
    space : Space
        Where the law lives.
    center : array of shape point_shape
        A point of the space.
    scale : float
        Above 0, in the space's unit of length.

    Raises
    ------
    InputError
        If the centre is no point of the space, or the scale is not positive.
    MechanismError
        If the law does not exist at this scale.

    See Also
    --------
    RiemannianGaussian : With squared distances.
    simulate : Draws of releases.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.RiemannianLaplace(rd.Sphere(2), [0.0, 0.0, 1.0], 0.1).sample(5, 0).shape
    (5, 3)
    """

    def _log_profile(self, t: Any) -> tuple[Any, Any]:
        return -t / self.scale, -(t**0) / self.scale

    def _check_existence(self) -> None:
        limit = laplace_limit(self.space)
        if not self.scale < NEAREST * limit:
            raise MechanismError(
                f"scale = {self.scale:g}: the Riemannian Laplace law of {self.space!r} exists only below {limit:.6g}; "
                "use a smaller scale, or a wrapped mechanism."
            )


@dataclass(frozen=True, eq=False)
class RiemannianGaussian(IsotropicLaw):
    """The Riemannian Gaussian law: density ∝ exp(-rho(x, center)²/(2 scale²)) (Said et al. 2017).

    It exists at every scale. The density is with respect to the volume of the space, not that of a wrapped Gaussian.

    Parameters
    ----------
    space, center, scale : as of RiemannianLaplace
        Where the law lives, its centre, and how wide it is, in the space's unit of length.

    Raises
    ------
    InputError
        If the centre is no point of the space, or the scale is not positive.

    See Also
    --------
    RiemannianLaplace : With distances instead of their squares.
    simulate : Draws of releases.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.RiemannianGaussian(rd.Hyperbolic(2), [1.0, 0.0, 0.0], 0.5).sample(5, 0).shape
    (5, 3)
    """

    def _log_profile(self, t: Any) -> tuple[Any, Any]:
        return -((t / self.scale) ** 2) / 2, -t / self.scale / self.scale


def laplace_limit(space: Space) -> float:
    """The least scale at which the Riemannian Laplace law does not exist; inf if there is none."""
    rate = space.capability(VolumeDensity).growth_rate
    return 1 / rate if rate > 0 else math.inf


def is_radial(space: Space) -> bool:
    """Whether the volume density of exp depends on the length alone."""
    volume = space.capability(VolumeDensity)
    return volume.log_area(min(1.0, volume.longest_vector / 2), np) is not None


def mean_square(law: IsotropicLaw) -> float:
    """E rho², from public inputs: by quadrature where the law is radial, else from proposals of a fixed seed."""
    return _radial_mean_square(law) if is_radial(law.space) else _forecast(*law._key)[1]


def length_quantile(law: IsotropicLaw, level: float) -> float:
    """The distance to the centre that a draw does not exceed with probability `level`, from public inputs.

    Lengths are evenly spread over the envelope and weighted by the chance to be accepted: where the law is radial that
    is quadrature. Elsewhere directions are those of a fixed seed, so many that the standard error of the level is
    below LEVEL_ERROR, unless that takes more than MOST_NUMBERS numbers.
    """
    return _length_quantile(*law._key, level)


def expected_trials(law: IsotropicLaw) -> float:
    """Proposals per draw, estimated with a fixed seed."""
    return _forecast(*law._key)[0]


@lru_cache(maxsize=64)
def _envelope(kind: Any, space: Space, scale: float) -> Envelope:
    law: IsotropicLaw = kind(space, space.origin, scale)
    growth = _no_growth if is_radial(law.space) else law._volume.volume_growth
    return build(law._concave, _sketch(law), growth, scale, law._volume.longest_vector)


def _no_growth(_: float) -> Growth:
    """Nothing: J is part of the concave function already."""
    return Growth(0.0, 0.0, 0.0)


def _sketch(law: IsotropicLaw) -> Callable[[Array], Array]:
    """About the logarithm of the radial law: J at a few directions where it depends on them."""
    if is_radial(law.space):
        return lambda t: law._concave(t, np)[0]
    direction = np.random.default_rng(0).standard_normal((1 + 64 // law.space.dim, 1, law.space.dim))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)

    def log_density(t: Array) -> Array:
        densities = law._volume.log_density(direction * t[:, None])
        return np.asarray(law._concave(t, np)[0] + np.logaddexp.reduce(densities, axis=0))

    return log_density


@lru_cache(maxsize=256)
def _forecast(kind: Any, space: Space, scale: float) -> tuple[float, float]:
    """Proposals per draw and E t², from evenly spread lengths and directions of a fixed seed, weighted by the chance
    to be accepted.
    """
    law: IsotropicLaw = kind(space, space.origin, scale)
    with without_waiting():
        spread = law.envelope.spread(max(128, min(2048, 2**14 // space.dim)))
        coords, log_ratio = law._proposals(np.random.default_rng(0), *spread)
    top, lengths = log_ratio.max(), (coords**2).sum(axis=1)
    if not np.isfinite(top):  # none would be accepted
        return math.inf, math.nan
    weights = np.exp(log_ratio - top)
    return math.exp(min(-top - math.log(weights.mean()), 700.0)), float(np.average(lengths, weights=weights))


@lru_cache(maxsize=256)
def _length_quantile(kind: Any, space: Space, scale: float, level: float) -> float:
    law: IsotropicLaw = kind(space, space.origin, scale)
    size = 2**14
    while True:
        t, weight = _weighted_lengths(law, size)
        share = (np.cumsum(weight) - weight / 2) / weight.sum()
        q = float(np.interp(level, share, t))
        if _level_error(t <= q, weight, level) < LEVEL_ERROR or 2 * size * space.dim > MOST_NUMBERS:
            return q
        size *= 2


def _weighted_lengths(law: IsotropicLaw, size: int) -> tuple[Array, Array]:
    """Lengths in increasing order, and weights that make them a sample of the law's own."""
    with without_waiting():
        t, height = law.envelope.spread(size)
        _, log_ratio = law._proposals(np.random.default_rng(0), t, height)
    return t, np.exp(log_ratio - log_ratio.max())


def _level_error(inside: Array, weight: Array, level: float) -> float:
    """Standard error of the weighted share that is inside, from how much the weights of neighbours differ."""
    jumps = np.diff(weight) ** 2 / 2
    return math.sqrt(float(((inside[1:] - level) ** 2 * jumps).sum())) / float(weight.sum())


def _radial_mean_square(law: IsotropicLaw) -> float:
    """Gauss-Legendre on every segment, in units of the scale; an infinite one is cut where its line is down by 60."""
    start, stop, lines = law.envelope.start, law.envelope.stop, law.envelope.float_lines
    length = np.where(np.isinf(stop), 60 / lines.rate, stop - start)[:, None]
    nodes, weights = _gauss_legendre()
    t = start[:, None] + length * (1 + nodes) / 2
    with np.errstate(invalid="ignore"):  # a sphere's last node may lie beyond its end
        mass = np.nan_to_num(weights * (length / law.scale) * np.exp(law._concave(t, np)[0] - lines.height.max()))
    return float((mass * (t / law.scale) ** 2).sum() / mass.sum()) * law.scale**2


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    """Nodes and weights of 24 points on [-1, 1]."""
    return np.polynomial.legendre.leggauss(24)
