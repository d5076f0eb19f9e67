"""A release of moments: mean, spread and modes of the records, all of one draw of noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.arguments import whole_number
from riemdp.caching import cached_property
from riemdp.io.values import frozen
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.transport import transport
from riemdp.privacy.release import Release
from riemdp.privacy.spread import NoisyMoments, Spread

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Modes:
    """Principal geodesics of the records: exp_mean(a directions[i]) varies as the records do, most of all for i = 0.

    Parameters
    ----------
    variances : array of shape (k,)
        Of the records along each, the largest first, cleared of the noise that was added.
    ratios : array of shape (k,)
        The same as shares of the whole variance.
    directions : array of shape (k, *point_shape)
        Orthonormal tangent vectors at the mean.
    significant : array of shape (k,)
        Which variances are larger than what noise alone makes; the directions of the others are noise.

    See Also
    --------
    Summary : Whose `modes()` makes them.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
    >>> summary = rd.private_summary(X, rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0), rd.GDP(1.0))
    >>> modes = summary.modes(1)
    >>> bool(modes.ratios[0] > 0.9), modes.significant.tolist()
    (True, [True])
    """

    variances: Array
    ratios: Array
    directions: Array
    significant: Array

    def __len__(self) -> int:
        """How many there are."""
        return len(self.variances)


@dataclass(frozen=True, eq=False)
class Summary(Release):
    """Mean, spread and modes of the records in one release; `private_summary` makes it.

    `value` is the mean, a point. Everything else is computed from the released `moments` of the records' coordinates
    at the centre of `ball`: post-processing, by which no guarantee is lost. Coordinates at the centre and at the mean
    are related by parallel transport along the geodesic between them.

    Parameters
    ----------
    value, statistic, guarantee, mechanism, scale, sensitivity, expected_error : various
        As of every `Release`.
    grid, space, center, radius, n, version, stages, kind, fill : various
        As of every `Release`.
    moments : NoisyMoments
        First and second moments of the records' coordinates at the centre of `ball`, with noise: `first` of shape
        (d,), `second` of shape (d, d), (d,) or (), of which `kind` tells, and the noise of each of their numbers.

    See Also
    --------
    private_summary : Makes one.
    Release : What it has besides.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
    >>> summary = rd.private_summary(X, rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0), rd.GDP(1.0))
    >>> summary.covariance.shape, bool(0.9 < summary.dispersion < 1.1)
    ((2, 2), True)
    """

    moments: NoisyMoments = field(kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first", "second"):
            object.__setattr__(self.moments, name, frozen(getattr(self.moments, name)))

    @cached_property
    def spread(self) -> Spread:
        """Variances and directions, in orthonormal coordinates at the mean."""
        place, mean = self.ball, self.space.read(self.value, "value")
        with one_blas_thread():
            return self.moments.about_mean(place.radius).turned(transport(self.space, place.inner_center, mean))

    @property
    def covariance(self) -> Array:
        """(d, d), positive semi-definite: of the records about their mean, in orthonormal coordinates at `value`."""
        return self.spread.matrix

    @property
    def dispersion(self) -> float:
        """Root mean square distance of the records to their mean."""
        return float(np.sqrt(self.spread.total))

    def modes(self, n: int | None = None) -> Modes:
        """The directions in which the records vary most, from the mean.

        Parameters
        ----------
        n : int, optional
            How many, at most the dimension; without it, those that are larger than what noise alone makes.

        Returns
        -------
        Modes
            Variances, ratios, directions and which of them are significant.

        Raises
        ------
        InputError
            If n is not a whole number of at least 1.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> X = np.random.default_rng(0).normal(size=(5000, 3)) * [1.0, 0.3, 0.1]
        >>> summary = rd.private_summary(X, rd.Ball(rd.Euclidean(3), [0.0, 0.0, 0.0], 3.0), rd.GDP(1.0))
        >>> summary.modes(2).directions.shape
        (2, 3)
        """
        spread, dim = self.spread, self.space.dim
        count = int(spread.significant.sum()) if n is None else min(whole_number(n, "n", 1), dim)
        variances, total = spread.variances[:count], spread.total
        return Modes(
            variances=variances,
            ratios=variances / total if total > 0 else np.zeros(count),
            directions=self._tangent_vectors(spread.directions[:, :count].T),
            significant=spread.significant[:count],
        )

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
            That of every release, and the moments.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> made = rd.private_summary(np.zeros((500, 1)), rd.Ball(rd.Euclidean(1), [0.0], 1.0), rd.GDP(1.0))
        >>> sorted(made.to_dict()["moments"])
        ['first', 'first_noise', 'kind', 'second', 'second_noise']
        """
        return super().to_dict() | {"moments": self.moments.to_dict()}

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        read = super()._read(found)
        return read | {"moments": NoisyMoments.from_dict(found["moments"], read["space"].dim)}


def as_summary(release: Release) -> Summary:
    """For whoever has asked for one."""
    assert isinstance(release, Summary)
    return release
