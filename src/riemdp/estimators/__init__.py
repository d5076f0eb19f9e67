"""scikit-learn estimators: private means, classification by the nearest private class mean, tangent vectors, modes.

What `fit` learns is released through `riemdp.privacy.reservation`, so it is private; what `predict` and `transform` say
about a record is a function of that record and is not. A ledger counts every fit: clones, folds, grids, threads and
processes all spend from its file. Proofs: docs/proofs/private_mdm.md.
"""

from riemdp.estimators.frechet_mean import PrivateFrechetMean
from riemdp.estimators.linear import PrivateLDA, PrivateLogisticRegression
from riemdp.estimators.mdm import PrivateMDM
from riemdp.estimators.pga import PrivatePGA
from riemdp.estimators.regression import PrivateGeodesicRegression
from riemdp.estimators.tangent_space import PrivateTangentSpace

__all__ = [
    "PrivateFrechetMean",
    "PrivateGeodesicRegression",
    "PrivateLDA",
    "PrivateLogisticRegression",
    "PrivateMDM",
    "PrivatePGA",
    "PrivateTangentSpace",
]
