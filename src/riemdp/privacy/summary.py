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

    Attributes
    ----------
    variances : array (k,)
        Of the records along each, the largest first, cleared of the noise that was added.
    ratios : array (k,)
        The same as shares of the whole variance.
    directions : array (k, *point_shape)
        Orthonormal tangent vectors at the mean.
    significant : array (k,) of bool
        Which variances are larger than what noise alone makes; the directions of the others are noise.
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
    """Mean, spread and modes of the records in one release; see `private_summary`, which makes it.

    `value` is the mean, a point. Everything else is computed from the released `moments` of the records' coordinates
    at the centre of `ball`: post-processing, to which no guarantee is lost. Coordinates at the centre and at the mean
    are related by parallel transport along the geodesic between them.
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
            How many; without it, those that are larger than what noise alone makes, which may be none.

        Returns
        -------
        Modes
            Variances, ratios, directions and which of them are significant.

        Raises
        ------
        InputError
            If n is not a number from 1 to the dimension of the space.
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
        """Plain JSON data, from which `from_dict` makes the same summary."""
        return super().to_dict() | {"moments": self.moments.to_dict()}

    @classmethod
    def _read(cls, found: dict[str, Any]) -> dict[str, Any]:
        read = super()._read(found)
        return read | {"moments": NoisyMoments.from_dict(found["moments"], read["space"].dim)}
