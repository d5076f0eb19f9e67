"""A release of a geodesic: where it is in the middle, how fast it moves, and how well both are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riemdp.arguments import finite_number
from riemdp.errors import InputError
from riemdp.io.values import WRITER, frozen, plain_array, read_share, read_tangent
from riemdp.names import WhoseMean
from riemdp.releases.release import Release

Array = NDArray[Any]
OWN = ("velocity", "t_bounds", "s_mean", "s_variance", "noise", "residual", "r_squared")  # beside those of a release


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Release):
    """How points change with a number t, privately; see `private_regression`, which makes it.

    `value` is the point at the middle of the bounds of t, and the geodesic is exp_value((t - middle) velocity).
    Whatever is computed from it is post-processing, and costs nothing.

    Parameters
    ----------
    value : array of shape point_shape
        The point of the geodesic at the middle of the bounds.
    statistic : str
        "geodesic-regression".
    guarantee, mechanism, scale : as of Release
        What is proved, and the noise.
    sensitivity : float
        How far one record can move what was released before noise.
    expected_error : float
        Of the noise alone: the predicted root mean square distance by which it moves `value`.
    grid, space, center, radius, n, version : as of Release
        The step to which noise was rounded, the public ball, and the number of records.
    stages : tuple of Stage
        What each round spent; empty if there was one.
    kind : str or tuple of str
        "point".
    unit : str
        What the guarantee protects: "record".
    noisy : Noisy or None
        None: a regression has bands instead of regions.
    fill : float or None
        Not released.
    velocity : array of shape point_shape
        Tangent vector at `value`, per unit of t.
    t_bounds : tuple of float
        The public bounds of t.
    s_mean, s_variance : float
        Of the numbers, scaled to [-1, 1], as released.
    noise : float
        Standard deviation of the noise in each coordinate of the geodesic, at the mean of t.
    residual : float
        Mean square distance of the records to the geodesic, cleared of noise.
    r_squared : float
        The share of the variance that the geodesic explains, from released second moments.

    See Also
    --------
    private_regression : Makes one.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> t = np.random.default_rng(0).uniform(0.0, 10.0, 2000)
    >>> fit = rd.private_regression(t[:, None] / 10, t, rd.Ball(rd.Euclidean(1), [0.5], 1.0), "mu=1", t_bounds=(0, 10))
    >>> fit.predict(5.0).shape, 0.8 < fit.r_squared <= 1.0
    ((1,), True)
    """

    velocity: Array = field(kw_only=True)
    t_bounds: tuple[float, float] = field(kw_only=True)
    s_mean: float = field(kw_only=True)
    s_variance: float = field(kw_only=True)
    noise: float = field(kw_only=True)
    residual: float = field(kw_only=True)
    r_squared: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "velocity", frozen(self.velocity))

    @property
    def middle(self) -> float:
        """The middle of the bounds of t.

        Examples
        --------
        >>> fit.middle  # doctest: +SKIP
        """
        return self.t_bounds[0] + self.half

    @property
    def half(self) -> float:
        """Half of the distance between the bounds.

        Examples
        --------
        >>> fit.half  # doctest: +SKIP
        """
        return (self.t_bounds[1] - self.t_bounds[0]) / 2

    @property
    def velocity_error(self) -> float:
        """Predicted root mean square length by which noise changes `velocity`.

        Examples
        --------
        >>> fit.velocity_error  # doctest: +SKIP
        """
        return self.noise * math.sqrt(self.space.dim + 1) / (self.s_variance * self.half)

    def predict(self, t: ArrayLike) -> Array:
        """Points of the geodesic.

        Parameters
        ----------
        t : array of shape (...)
            Public numbers; outside the bounds the geodesic goes on.

        Returns
        -------
        array of shape (..., *point_shape)
            A point for each.

        Raises
        ------
        InputError
            If t are not finite numbers, or lead too far away for float64.

        Examples
        --------
        >>> fit.predict([20.0, 55.0, 90.0])  # doctest: +SKIP
        """
        moves = (self._numbers(t) - self.middle)[(...,) + (None,) * np.ndim(self.velocity)] * self.velocity
        return self.space.exp(moves, self.value)

    def band(self, t: ArrayLike, level: float = 0.95, of: WhoseMean = "records") -> Array:
        """How far from `predict(t)` the geodesic may be, at each t by itself: radii of balls.

        By the normal law, to first order; Laplace noise and what was moved into the ball are not covered.

        Parameters
        ----------
        t : array of shape (...)
            Public numbers.
        level : float
            The probability, between 0 and 1.
        of : str
            'records': the geodesic that fits the records, noise alone; 'population': sampling of records as well.

        Returns
        -------
        array of shape (...)
            Distances.

        Raises
        ------
        InputError
            If t are not finite numbers, or level or of make no sense.

        Examples
        --------
        >>> fit.band([20.0, 55.0, 90.0])  # doctest: +SKIP
        """
        from scipy.stats import chi2

        share = finite_number(level, "level")
        if not 0 < share < 1:
            raise InputError(f"level = {level!r}: pass a probability between 0 and 1, such as 0.95.")
        if of not in ("records", "population"):
            raise InputError(f"of = {of!r}: pass one of 'records', 'population'.")
        sampling = self.residual / (self.n * self.space.dim) if of == "population" else 0.0
        away = (self._numbers(t) - self.middle) / self.half - self.s_mean
        variance = self._noise_at(away) + sampling * (1 + away**2 / self.s_variance)
        return np.asarray(np.sqrt(variance * chi2.ppf(share, self.space.dim)))

    def _noise_at(self, away: Array) -> Array:
        """Variance of noise in one coordinate of the geodesic, so far from the mean of s.

        Of first + away (product - s_mean first)/s_variance; that of the moments of s counts as one coordinate more.
        """
        slope = away / self.s_variance
        return self.noise**2 * ((1 - slope * self.s_mean) ** 2 + slope**2) * (1 + 1 / self.space.dim)

    def _numbers(self, t: ArrayLike) -> Array:
        try:
            found = np.asarray(t, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"t = {t!r:.100}: pass numbers.") from None
        if not np.isfinite(found).all():
            raise InputError("t has entries that are not finite: pass numbers.")
        return found

    # --- files -----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes the same.

        Returns
        -------
        dict
            All of it, with the number of the format.

        Examples
        --------
        >>> fit.to_dict()["t_bounds"]  # doctest: +SKIP
        """
        return super().to_dict() | {"velocity": plain_array(self.velocity), "t_bounds": list(self.t_bounds)}

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        read = super()._read({name: value for name, value in found.items() if name not in OWN})
        bounds = found["t_bounds"]
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise InputError(f"t_bounds are not those of a regression: pass what {WRITER} wrote.")
        low, high = (finite_number(bound, "t_bounds") for bound in bounds)
        velocity = read_tangent(found["velocity"], read["space"], "velocity")
        own = {name: finite_number(found[name], name) for name in ("s_mean", "s_variance", "noise", "residual")}
        if not (low < high and own["s_variance"] > 0 and own["noise"] >= 0 and own["residual"] >= 0):
            raise InputError(f"the numbers are not those of a regression: pass what {WRITER} wrote.")
        share = read_share(found["r_squared"], "r_squared")
        return read | own | {"t_bounds": (low, high), "velocity": velocity, "r_squared": share}
