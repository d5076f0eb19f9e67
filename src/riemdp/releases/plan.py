"""What a mechanism would do, known before a record is read."""

from __future__ import annotations

from dataclasses import dataclass

from riemdp.accounting.guarantee import Guarantee


@dataclass(frozen=True)
class Plan:
    """What a mechanism would do for a guarantee, from public inputs alone.

    A row of what `plan` returns; it needs no data, and may be published.

    Parameters
    ----------
    mechanism : str
        Its name, as `private_mean` takes it.
    guarantee : Guarantee
        What it would spend.
    sensitivity : float
        How far one record can move the statistic, in the space's unit of length.
    scale : float
        Of the noise: the sigma of a Gaussian, the b of a Laplace law.
    expected_error : float
        Of the noise alone: root mean square distance between a release and the value before noise.
    rounds : int
        Of adaptation to the records; 0 without it.
    note : str
        What else should be known, in words.

    See Also
    --------
    plan : Makes them, best first.

    Examples
    --------
    >>> import riemdp as rd
    >>> best = rd.plan(rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0), 1000, rd.GDP(1.0))[0]
    >>> best.mechanism, round(best.sensitivity, 4), round(best.expected_error, 4)
    ('wrapped-gaussian', 0.002, 0.0028)
    """

    mechanism: str
    guarantee: Guarantee
    sensitivity: float
    scale: float
    expected_error: float  # of noise alone: root mean square distance to the value before noise
    rounds: int = 0  # of adaptation to the records
    note: str = ""
