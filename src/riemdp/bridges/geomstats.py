"""Spaces of geomstats as ours, and ours as geomstats'. It is imported only by who asks for one of its spaces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from riemdp.errors import InputError
from riemdp.manifolds import (
    Correlations,
    Euclidean,
    Grassmann,
    HPDAffine,
    HPDLogEuclidean,
    Hyperbolic,
    KendallShapes,
    Product,
    Rotations,
    Simplex,
    Space,
    SPDAffine,
    SPDLogEuclidean,
    Sphere,
)

OWN = "write it as a class of your own (docs/extending.md), which takes twelve names, or pass one of ours"

# By the names of geomstats' classes of spaces and of metrics, so that it need not be imported to be recognised.
READERS: dict[tuple[str, str], Callable[[Any], Space]] = {
    ("Euclidean", "CanonicalEuclideanMetric"): lambda space: Euclidean(space.dim),
    ("Hypersphere", "HypersphereMetric"): lambda space: Sphere(space.dim),
    ("Hyperboloid", "HyperboloidMetric"): lambda space: Hyperbolic(space.dim),
    ("PoincareBall", "PoincareBallMetric"): lambda space: Hyperbolic(space.dim, model="poincare"),
    ("SPDMatrices", "SPDAffineMetric"): lambda space: SPDAffine(space.n),
    ("SPDMatrices", "SPDLogEuclideanMetric"): lambda space: SPDLogEuclidean(space.n),
    ("HPDMatrices", "HPDAffineMetric"): lambda space: HPDAffine(space.n),
    ("HPDMatrices", "HPDLogEuclideanMetric"): lambda space: HPDLogEuclidean(space.n),
    ("FullRankCorrelationMatrices", "OffLogMetric"): lambda space: _correlations(space),
    ("_SpecialOrthogonalMatrices", "BiInvariantMetric"): lambda space: _rotations(space),
    ("Grassmannian", "GrassmannianCanonicalMetric"): lambda space: Grassmann(space.n, space.p),
    ("CategoricalDistributions", "CategoricalMetric"): lambda space: Simplex(space.dim + 1),
    ("PreShapeSpace", "PreShapeMetric"): lambda space: _shapes(space),
    ("PreShapeSpace", "KendallShapeMetric"): lambda space: _shapes(space),
    ("ProductManifold", "ProductRiemannianMetric"): lambda space: Product(*map(from_geomstats, space.factors)),
}


def from_geomstats(space: Any) -> Space:
    """The space of ours that a space of geomstats is, with the same points and distances.

    One has another unit: distances of geomstats' Grassmannian are sqrt 2 times those of `Grassmann`.

    Parameters
    ----------
    space : geomstats.geometry.base.Manifold
        Euclidean, Hypersphere, Hyperboloid, PoincareBall, SPDMatrices and HPDMatrices (the metric decides),
        FullRankCorrelationMatrices (OffLogMetric with alpha = 1, beta = gamma = 0, from 4 rows on),
        SpecialOrthogonal(3) of matrices, PreShapeSpace of planar landmarks (whose quotient by rotations is the space
        of shapes), Grassmannian(n, p) with p <= n/2, CategoricalDistributions, or a ProductManifold of such.

    Returns
    -------
    Space
        Ours.

    Raises
    ------
    InputError
        If riemdp has no such space.

    See Also
    --------
    to_geomstats : The other way.

    Examples
    --------
    >>> import riemdp as rd
    >>> hypersphere = rd.to_geomstats(rd.Sphere(2))
    >>> type(hypersphere).__name__, rd.from_geomstats(hypersphere)
    ('Hypersphere', Sphere(d=2, curvature=1.0))
    """
    if isinstance(space, type) or not hasattr(space, "metric"):
        raise InputError(f"space = {space!r:.100} is no space of geomstats, such as Hypersphere(2): {OWN}.")
    names = type(space).__name__, type(space.metric).__name__
    if names not in READERS:
        raise InputError(f"space = {names[0]} of geomstats with the metric {names[1]} is none of riemdp: {OWN}.")
    return READERS[names](space)


def _off_log(k: int) -> dict[str, float]:
    """The off-log metric of ours among all that ignore the order of variables; for few, geomstats writes it otherwise.

    alpha tr S² + beta (sum of the squares of the rows' sums) + gamma (square of the sum of all) is tr S² in each.
    """
    alpha, beta, gamma = {2: (0.0, 0.0, 0.5), 3: (0.0, 2.0, -0.5)}.get(k, (1.0, 0.0, 0.0))
    return {"alpha": alpha, "beta": beta, "gamma": gamma}


def _correlations(space: Any) -> Space:
    metric, ours = space.metric.image_space.metric, _off_log(space.n)
    if any(getattr(metric, name) != value for name, value in ours.items()):
        raise InputError(f"space: OffLogMetric of geomstats is one of riemdp with {ours} only: {OWN}.")
    return Correlations(space.n)


def _rotations(space: Any) -> Space:
    if space.n != 3:
        raise InputError(f"space = SpecialOrthogonal({space.n}) of geomstats is none of riemdp: {OWN}.")
    return Rotations()


def _shapes(space: Any) -> Space:
    if space.ambient_dim != 2:
        raise InputError(f"space = PreShapeSpace in {space.ambient_dim} dimensions is none of riemdp: {OWN}.")
    return KendallShapes(space.k_landmarks)


# --- the other way -------------------------------------------------------------------------------------------------


def to_geomstats(space: Space) -> Any:
    """The space of geomstats that a space of ours is, with the same points and distances.

    One has another unit: distances of geomstats' Grassmannian are sqrt 2 times those of `Grassmann`.

    Parameters
    ----------
    space : Space
        Ours; of curvature 1 or -1, where it has one.

    Returns
    -------
    geomstats.geometry.base.Manifold
        With its metric.

    Raises
    ------
    InputError
        If geomstats has no such space, or is not installed.

    See Also
    --------
    from_geomstats : The other way.

    Examples
    --------
    >>> import riemdp as rd
    >>> type(rd.to_geomstats(rd.SPDAffine(3)).metric).__name__  # doctest: +SKIP
    'SPDAffineMetric'
    """
    if not isinstance(space, Space):
        raise InputError(f"space = {space!r}: pass a space of riemdp.")
    maker = MAKERS.get(type(space).__name__)
    found = None if maker is None else _imported(maker, space)
    if found is None or (not space.factors and from_geomstats(found) != space):
        raise InputError(f"space = {space!r} is none of geomstats: use riemdp's own exp, log and dist.")
    return found


def _imported(maker: Callable[[Any], Any], space: Space) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own imports
            return maker(space)
    except ImportError:
        raise InputError("geomstats is not installed, and makes its spaces itself: install it.") from None


def _geometry(module: str, name: str) -> Any:
    return _found(f"geometry.{module}", name)


def _found(module: str, name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"geomstats.{module}"), name)


def _equipped(module: str, kind: str, metric: str, size: int, **options: float) -> Any:
    space = _geometry(module, kind)(size, equip=False)
    space.equip_with_metric(_geometry(module, metric), **options)
    return space


def _of_shapes(space: Any) -> Any:
    found = _geometry("pre_shape", "PreShapeSpace")(space.k, 2)
    found.equip_with_group_action("rotations")
    found.equip_with_quotient()
    return found.quotient


def _hyperbolic(space: Any) -> Any:
    where = ("poincare_ball", "PoincareBall") if space.model == "poincare" else ("hyperboloid", "Hyperboloid")
    return _geometry(*where)(space.d)


def _product(space: Any) -> Any:
    return _geometry("product_manifold", "ProductManifold")([to_geomstats(factor) for factor in space.factors])


MAKERS: dict[str, Callable[[Any], Any]] = {
    "Euclidean": lambda space: _geometry("euclidean", "Euclidean")(space.d),
    "Sphere": lambda space: _geometry("hypersphere", "Hypersphere")(space.d),
    "Hyperbolic": _hyperbolic,
    "SPDAffine": lambda space: _equipped("spd_matrices", "SPDMatrices", "SPDAffineMetric", space.k),
    "SPDLogEuclidean": lambda space: _equipped("spd_matrices", "SPDMatrices", "SPDLogEuclideanMetric", space.k),
    "HPDAffine": lambda space: _equipped("hpd_matrices", "HPDMatrices", "HPDAffineMetric", space.k),
    "HPDLogEuclidean": lambda space: _equipped("hpd_matrices", "HPDMatrices", "HPDLogEuclideanMetric", space.k),
    "Correlations": lambda space: _equipped(
        "full_rank_correlation_matrices", "FullRankCorrelationMatrices", "OffLogMetric", space.k, **_off_log(space.k)
    ),
    "Rotations": lambda space: _geometry("special_orthogonal", "SpecialOrthogonal")(space.dim),
    "Grassmann": lambda space: _geometry("grassmannian", "Grassmannian")(space.n, space.p),
    "KendallShapes": _of_shapes,
    "Simplex": lambda space: _found("information_geometry.categorical", "CategoricalDistributions")(space.dim),
    "Product": _product,
}
