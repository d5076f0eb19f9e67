"""A release of moments: mean, spread and modes of the records, all of one draw of noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.arguments import whole_number
from riemdp.caching import cached_property
from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.io.values import frozen
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.transport import transport
from riemdp.names import WhoseMean
from riemdp.population import SUMMARY_REGIONS
from riemdp.regions import Region
from riemdp.releases.release import Release
from riemdp.summaries.spread import NoisyMoments, Spread

Array = NDArray[Any]


@shown
@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """Principal geodesics of the records: exp_mean(a directions[i]) varies as the records do, most of all for i = 0.

    Post-processing of what was released: they cost nothing.

    Parameters
    ----------
    variances : array of shape (k,)
        Of the records along each, the largest first, cleared of the noise that was added.
    ratios : array of shape (k,)
        The same as shares of the whole variance.
    directions : array of shape (k, *point_shape)
        Orthonormal tangent vectors at the mean.
    significant : array of bool of shape (k,)
        Which variances are larger than what noise alone makes; the directions of the others are noise.

    See Also
    --------
    Summary.modes : Makes them.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
    >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
    >>> len(summary.modes(2))
    2
    """

    variances: Array
    ratios: Array
    directions: Array
    significant: Array

    def __len__(self) -> int:
        """How many there are."""
        return len(self.variances)


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Release):
    """Mean, spread and modes of the records in one release; see `private_summary`, which makes it.

    `value` is the mean, a point. Everything else is computed from the released `moments` of the records' coordinates
    at the centre of `ball`: post-processing, to which no guarantee is lost. Coordinates at the centre and at the mean
    are related by parallel transport along the geodesic between them.

    Parameters
    ----------
    value : array of shape point_shape
        The mean, a point of the space in the form of the ball's centre.
    statistic, guarantee, mechanism, scale, sensitivity, expected_error, grid : as of Release
        What was asked for and is proved, and the noise of it.
    space, center, radius, n, version, stages, kind, unit : as of Release
        The public ball, the number of records, and how the release was made.
    noisy : Noisy or None
        None: the moments are what regions are made of.
    fill : float or None
        As of `Release`.
    moments : NoisyMoments
        First and second moments of the records' coordinates, with noise: what was released.

    See Also
    --------
    private_summary : Makes one.
    Release : What all releases have.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
    >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
    >>> summary.value.shape, summary.covariance.shape
    ((2,), (2, 2))
    """

    moments: NoisyMoments = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first", "second", "axes"):
            if getattr(self.moments, name) is not None:
                object.__setattr__(self.moments, name, frozen(getattr(self.moments, name)))

    @cached_property
    def spread(self) -> Spread:
        """Variances and directions, in orthonormal coordinates at the mean."""
        with one_blas_thread():
            spread = self.moments.about_mean()
            if self.space.is_flat:
                return spread
            mean = self.space.read(self.value, "value")
            return spread.turned(transport(self.space, self.ball.inner_center, mean))

    @property
    def covariance(self) -> Array:
        """(d, d), positive semi-definite: of the records about their mean, in orthonormal coordinates at `value`.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
        >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
        >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
        >>> summary.covariance.shape
        (2, 2)
        """
        return self.spread.matrix

    @property
    def dispersion(self) -> float:
        """Root mean square distance of the records to their mean.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
        >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
        >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
        >>> bool(0.9 < summary.dispersion < 1.1)
        True
        """
        with one_blas_thread():
            return float(np.sqrt(self.moments.total))

    def modes(self, n: int | None = None) -> Modes:
        """The directions in which the records vary most, from the mean.

        Parameters
        ----------
        n : int, optional
            How many, at most the dimension of the space; without it, those that are larger than what noise alone
            makes, which may be none.

        Returns
        -------
        Modes
            Variances, ratios, directions and which of them are significant.

        Raises
        ------
        InputError
            If n is not a whole number from 1 on.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
        >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
        >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
        >>> summary.modes(1).directions.shape
        (1, 2)
        """
        if n is None and self.moments.kind == "trace":
            return Modes(np.zeros(0), np.zeros(0), self._tangent_vectors(np.zeros((0, 0))), np.zeros(0, dtype=bool))
        spread = self.spread
        chosen = spread.chosen(None if n is None else whole_number(n, "n", 1))
        variances, total = spread.variances[chosen], spread.total
        return Modes(
            variances=variances,
            ratios=variances / total if total > 0 else np.zeros(len(chosen)),
            directions=self._tangent_vectors(spread.directions[:, chosen].T),
            significant=spread.significant[chosen],
        )

    def region(self, level: float = 0.95, of: WhoseMean = "records") -> Region:
        """Where the mean is: of the records (the noise alone), or of the population (sampling and noise).

        Parameters
        ----------
        level : float
            The probability, between 0 and 1.
        of : str
            "records" or "population".

        Returns
        -------
        Region
            With `contains(points)`, and `boundary(size)` for pictures.

        Raises
        ------
        InputError
            If level or of make no sense.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
        >>> X = np.random.default_rng(0).normal(size=(5000, 2))
        >>> region = rd.private_summary(X, ball, rd.GDP(1.0)).region(0.999999, of="population")
        >>> region.contains([[0.0, 0.0], [0.5, 0.0]]).tolist()
        [True, False]
        """
        if of not in SUMMARY_REGIONS:
            raise InputError(f"of = {of!r}: pass one of {', '.join(map(repr, SUMMARY_REGIONS))}.")
        return SUMMARY_REGIONS[of](self, level)

    def _tangent_vectors(self, coords: Array) -> Array:
        """Vectors (k, *point_shape) at the mean, for k = 0 as well."""
        shape = (len(coords), *np.shape(self.value))
        return self.space.from_coordinates(coords, self.value) if len(coords) else np.zeros(shape)

    # --- files -----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, from which `from_dict` makes the same summary.

        Returns
        -------
        dict
            All of it, with the number of the format.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
        >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
        >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
        >>> summary.to_dict()["n"]
        5000
        """
        return super().to_dict() | {"moments": self.moments.to_dict()}

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        read = super()._read(found)
        radius = read["stages"][-1].radius if read["stages"] else read["radius"]
        return read | {"moments": NoisyMoments.from_dict(found["moments"], read["space"].dim, radius)}


def as_summary(release: Release) -> Summary:
    """The release as the summary that it is, for whoever has asked for one."""
    assert isinstance(release, Summary)
    return release
