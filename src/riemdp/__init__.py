"""Differential privacy for data that live on curved spaces."""

from typing import TYPE_CHECKING, Any

from riemdp import pages as _pages  # noqa: F401  how things show themselves
from riemdp.accounting.composition import compose
from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from riemdp.audit import Audit, audit, audit_draws
from riemdp.balls import Ball
from riemdp.bridges.geomstats import from_geomstats, to_geomstats
from riemdp.check import Check, check
from riemdp.comparison import Comparison, compare
from riemdp.descriptors import covariance_descriptors, descriptor_eigenvalue_bounds
from riemdp.distributions import RiemannianGaussian, RiemannianLaplace
from riemdp.ellipsoids import Ellipsoid
from riemdp.errors import (
    BudgetExceeded,
    ConvergenceError,
    InputError,
    MechanismError,
    NoAdaptation,
    RiemdpError,
    UselessRelease,
)
from riemdp.manifolds import (
    Correlations,
    Euclidean,
    Grassmann,
    HPDAffine,
    HPDLogEuclidean,
    Hyperbolic,
    KendallShapes,
    LogGaussian,
    Product,
    RigidMotions,
    Rotations,
    Simplex,
    Space,
    SPDAffine,
    SPDLogCholesky,
    SPDLogEuclidean,
    Sphere,
    Torus,
)
from riemdp.privacy.ledger import Entry, Ledger
from riemdp.regions import Region
from riemdp.releases.plan import Plan
from riemdp.releases.release import Release
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.frechet import FrechetMean, frechet_mean
from riemdp.statistics.mean import plan, private_mean, simulate
from riemdp.statistics.median import private_median
from riemdp.statistics.regression import private_regression
from riemdp.statistics.sites import SiteSum, private_mean_of_sums, private_summary_of_sums, site_sum
from riemdp.statistics.summary import private_summary
from riemdp.summaries.regression import Regression
from riemdp.summaries.summary import Modes, Summary
from riemdp.version import __version__

if TYPE_CHECKING:  # at run time they come through __getattr__
    from riemdp.estimators import (
        PrivateFrechetMean,
        PrivateGeodesicRegression,
        PrivateLDA,
        PrivateLogisticRegression,
        PrivateMDM,
        PrivatePGA,
        PrivateTangentSpace,
    )

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "Adaptation",
    "ApproxDP",
    "Audit",
    "Ball",
    "BudgetExceeded",
    "Check",
    "Comparison",
    "ConvergenceError",
    "Correlations",
    "Ellipsoid",
    "Entry",
    "Euclidean",
    "FrechetMean",
    "Grassmann",
    "Guarantee",
    "HPDAffine",
    "HPDLogEuclidean",
    "Hyperbolic",
    "InputError",
    "KendallShapes",
    "Ledger",
    "LogGaussian",
    "MechanismError",
    "Modes",
    "NoAdaptation",
    "Plan",
    "PrivateFrechetMean",
    "PrivateGeodesicRegression",
    "PrivateLDA",
    "PrivateLogisticRegression",
    "PrivateMDM",
    "PrivatePGA",
    "PrivateTangentSpace",
    "Product",
    "PureDP",
    "Region",
    "Regression",
    "Release",
    "RiemannianGaussian",
    "RiemannianLaplace",
    "RiemdpError",
    "RigidMotions",
    "Rotations",
    "SPDAffine",
    "SPDLogCholesky",
    "SPDLogEuclidean",
    "Simplex",
    "SiteSum",
    "Space",
    "Sphere",
    "Summary",
    "Torus",
    "UselessRelease",
    "__version__",
    "audit",
    "audit_draws",
    "check",
    "compare",
    "compose",
    "covariance_descriptors",
    "descriptor_eigenvalue_bounds",
    "frechet_mean",
    "from_geomstats",
    "plan",
    "private_mean",
    "private_mean_of_sums",
    "private_median",
    "private_regression",
    "private_summary",
    "private_summary_of_sums",
    "simulate",
    "site_sum",
    "to_geomstats",
]


def __getattr__(name: str) -> Any:
    """Estimators when first asked for: scikit-learn takes longer to import than all the rest."""
    if name in __all__ and name.startswith("Private"):
        from riemdp import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'riemdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is public, the estimators too, and nothing that is there only since something was imported."""
    return sorted(__all__)
