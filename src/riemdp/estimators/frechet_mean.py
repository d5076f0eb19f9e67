"""A private Fréchet mean as an estimator."""

from __future__ import annotations

from typing import Any, Self

from riemdp.estimators.base import PrivateEstimator


class PrivateFrechetMean(PrivateEstimator):
    """A differentially private Fréchet mean: `private_mean` as an estimator.

    `ball` is a public Ball, or a mapping that describes one, without a "size" if the number of features (X.shape[1])
    gives it, or a function from that number to a ball; to be pickled it must be defined in a module. `guarantee` is
    what a fit spends, also as a text. The other arguments are those of `private_mean`.

    If people have several records each, give `fit` an id for each record: `fit(X, groups=ids)` protects a person with
    all of their records. In a search or a cross-validation with GroupKFold let scikit-learn route them, by
    `set_config(enable_metadata_routing=True)` and `set_fit_request(groups=True)`.

    After `fit(X)`: `mean_` (a point), `release_`, `guarantee_` (with its assumptions), `ball_`, `n_features_in_`.
    A fit that the ledger refuses raises BudgetExceeded and changes nothing.

    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0)
    >>> PrivateFrechetMean(ball=ball, guarantee=rd.GDP(1.0)).fit(np.tile(np.eye(2), (100, 1, 1))).mean_.shape
    (2, 2)
    """

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Release a private mean of the records X (n, *point_shape), or of the people of groups (n,); y is ignored."""
        return self._fit_mean(X, groups)
