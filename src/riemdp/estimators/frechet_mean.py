"""A private Fréchet mean as an estimator."""

from __future__ import annotations

from riemdp.estimators.base import FitWithoutLabels, PrivateEstimator


class PrivateFrechetMean(FitWithoutLabels, PrivateEstimator):
    """A differentially private Fréchet mean: `private_mean` as an estimator.

    If people have several records each, give `fit` an id for each record: `fit(X, groups=ids)` protects a person with
    all of their records. In a search or a cross-validation with GroupKFold let scikit-learn route them, by
    `set_config(enable_metadata_routing=True)` and `set_fit_request(groups=True)`.

    A fit that the ledger refuses raises BudgetExceeded and changes nothing.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball; or a mapping that describes one, without a "size" if the number of features (X.shape[1]) gives
        it; or a function from that number to a ball, which to be pickled must be defined in a module.
    guarantee : Guarantee or str
        What a fit spends, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    mechanism, calibration, footpoint : as of private_mean
        Which noise, how much of it, and where it is added; "auto" takes the noise with the smallest predicted error.
    statistic : str
        "frechet-mean", or "tangent-mean": the mean of the logarithms at the ball's centre.
    adapt : bool or Adaptation
        Whether, and how, to spend part of the guarantee on a private ball within the given one, as small as the
        records allow; see `private_mean`.
    unit : str, optional
        With `fit(groups=)`: what is protected, "patient" say, instead of "group".
    ledger : Ledger, optional
        From which the guarantee is reserved before any noise is drawn.
    note : str
        Which data these are, in a few words: the ledger's description ends with it.

    Attributes
    ----------
    mean_ : array of shape point_shape
        The private mean.
    release_ : Release
        All that may be known of it.
    guarantee_ : Guarantee
        What is proved, with its assumptions.
    ball_ : Ball
        The public ball.
    n_features_in_ : int
        X.shape[1].

    See Also
    --------
    private_mean : The same as a function.
    PrivateMDM : Private class means, and a classifier.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0)
    >>> rd.PrivateFrechetMean(ball=ball, guarantee=rd.GDP(1.0)).fit(np.tile(np.eye(2), (100, 1, 1))).mean_.shape
    (2, 2)
    """
