"""The spaces: one file each."""

from riemdp.manifolds.base import Space
from riemdp.manifolds.catalogue import package_spaces, space_class, space_from_dict, space_names, space_to_dict
from riemdp.manifolds.correlations import Correlations
from riemdp.manifolds.euclidean import Euclidean
from riemdp.manifolds.grassmann import Grassmann
from riemdp.manifolds.hpd_affine import HPDAffine
from riemdp.manifolds.hpd_log_euclidean import HPDLogEuclidean
from riemdp.manifolds.hyperbolic import Hyperbolic
from riemdp.manifolds.kendall import KendallShapes
from riemdp.manifolds.product import Product
from riemdp.manifolds.rigid_motions import RigidMotions
from riemdp.manifolds.rotations import Rotations
from riemdp.manifolds.simplex import Simplex
from riemdp.manifolds.spd_affine import SPDAffine
from riemdp.manifolds.spd_log_cholesky import SPDLogCholesky
from riemdp.manifolds.spd_log_euclidean import LogGaussian, SPDLogEuclidean
from riemdp.manifolds.sphere import Sphere
from riemdp.manifolds.torus import Torus

__all__ = [
    "Correlations",
    "Euclidean",
    "Grassmann",
    "HPDAffine",
    "HPDLogEuclidean",
    "Hyperbolic",
    "KendallShapes",
    "LogGaussian",
    "Product",
    "RigidMotions",
    "Rotations",
    "SPDAffine",
    "SPDLogCholesky",
    "SPDLogEuclidean",
    "Simplex",
    "Space",
    "Sphere",
    "Torus",
    "package_spaces",
    "space_class",
    "space_from_dict",
    "space_names",
    "space_to_dict",
]
