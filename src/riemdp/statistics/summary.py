"""The private summary: mean, spread and modes of the records in one release; the public face of `Moments`."""

from __future__ import annotations

from typing import Any

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.ellipsoids import Ellipsoid
from riemdp.names import MechanismName, SecondMoments
from riemdp.privacy.ledger import Ledger
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.mean import prepared_for
from riemdp.statistics.moments import Moments
from riemdp.statistics.prepared import require_ledger
from riemdp.statistics.worth import warn_of
from riemdp.summaries.summary import Summary, as_summary
from riemdp.written import BallMapping


def private_summary(
    X: Any,
    ball: Ball | Ellipsoid | BallMapping,
    guarantee: Guarantee | str,
    *,
    second: SecondMoments = "auto",
    mechanism: MechanismName = "auto",
    adapt: bool | Adaptation = False,
    groups: Any = None,
    unit: str | None = None,
    ledger: Ledger | None = None,
    note: str = "",
) -> Summary:
    """Mean, spread and modes of the records X (n, *point_shape) in a public ball, in one private release.

    With Gaussian noise (GDP, zCDP, RDP, (epsilon, delta)) the spread costs nothing: the mean has the very noise that a
    tangent mean alone has, in any curvature and any ball. With pure epsilon-DP a full second moment costs 18 % more
    noise, its trace nothing. The release is linear: its guarantee supposes nothing about floating-point arithmetic.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The records, as `private_mean` takes them. Their values never raise.
    ball : Ball, Ellipsoid or mapping
        A public ball, or ellipsoid. Records outside are moved into it; spread is that of the records so moved.
    guarantee : Guarantee or str
        Such as `GDP(1.0)` or "epsilon=1".
    second : {"auto", "full", "diagonal", "trace"}
        Which second moments are released: all, those of each coordinate, or their sum, with which the dispersion is
        known best and no mode is. "auto": all in up to 600 dimensions (24 for pure epsilon-DP), else the trace.
    mechanism : {"auto", "wrapped-gaussian", "wrapped-laplace"}
        Which noise; "auto" takes the one with the smaller predicted error of the mean.
    adapt : bool or Adaptation
        Whether to spend part of the guarantee on a private ball around the records, or with Gaussian noise an
        ellipsoid, as `private_mean` does: the noise then follows their spread and, with full second moments, shape.
    groups : sequence of ids, (n,), optional
        Who each record is of, if people have several: the summary is then one of people, each by the mean of their own
        records, and protects a person with all of their records; see `private_mean`.
    unit : str, optional
        What they are called, "patient" say; "group" by default.
    ledger : Ledger, optional
        Where the guarantee is reserved before any noise is drawn.
    note : str
        Which data these are, for the ledger.

    Returns
    -------
    Summary
        A `Release` with `covariance`, `dispersion`, `modes()` and `fill` as well.

    Raises
    ------
    InputError
        If an argument is not as described.
    MechanismError
        If the mechanism cannot give the guarantee, or the dimension is too large for full second moments.
    BudgetExceeded
        If the ledger refuses; nothing was spent.

    See Also
    --------
    private_mean : The mean alone; in curved spaces by a solver, which supposes more.
    private_summary_of_sums : The same of records at several sites.
    Summary : What is released.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 3.0)
    >>> X = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
    >>> summary = rd.private_summary(X, ball, rd.GDP(1.0))
    >>> bool(0.9 < summary.dispersion < 1.1)
    True
    >>> summary.modes(1).directions.shape
    (1, 2)
    """
    require_ledger(ledger)
    asked: dict[str, Any] = {"mechanism": mechanism, "adapt": adapt, "statistic": Moments(second)}
    records, prepared = prepared_for(X, ball, guarantee, groups, unit, **asked)
    warn_of(prepared.doubts)
    return as_summary(prepared.release(records, ledger, note))
