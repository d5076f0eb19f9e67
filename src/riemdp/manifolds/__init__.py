"""The spaces: one file each."""

from typing import Any

from riemdp.errors import InputError
from riemdp.manifolds.base import Space
from riemdp.manifolds.euclidean import Euclidean
from riemdp.manifolds.hyperbolic import Hyperbolic
from riemdp.manifolds.kendall import KendallShapes
from riemdp.manifolds.product import Product
from riemdp.manifolds.spd_affine import SPDAffine
from riemdp.manifolds.spd_log_euclidean import LogGaussian, SPDLogEuclidean
from riemdp.manifolds.sphere import Sphere

_SPACES = (Euclidean, Hyperbolic, KendallShapes, Product, SPDAffine, SPDLogEuclidean, Sphere)


def space_to_dict(space: Space) -> dict[str, Any]:
    """A space as plain JSON data, from which `space_from_dict` makes an equal one."""
    if isinstance(space, Product):
        return {"type": "Product", "factors": [space_to_dict(factor) for factor in space.factors]}
    return {"type": type(space).__name__, **vars(space)}


def space_from_dict(data: Any) -> Space:
    """The space that `space_to_dict` described; anything else is an InputError."""
    names = {kind.__name__: kind for kind in _SPACES}
    if not isinstance(data, dict) or str(data.get("type")) not in names:
        raise InputError(f"data = {data!r} describe no space: pass what space_to_dict() made.")
    arguments = {name: value for name, value in data.items() if name != "type"}
    if data["type"] == "Product" and isinstance(arguments.get("factors"), list) and len(arguments) == 1:
        return Product(*map(space_from_dict, arguments["factors"]))
    try:
        return names[data["type"]](**arguments)
    except TypeError:
        raise InputError(f"data = {data!r} describe no space: pass what space_to_dict() made.") from None


__all__ = [
    "Euclidean",
    "Hyperbolic",
    "KendallShapes",
    "LogGaussian",
    "Product",
    "SPDAffine",
    "SPDLogEuclidean",
    "Space",
    "Sphere",
    "space_from_dict",
    "space_to_dict",
]
