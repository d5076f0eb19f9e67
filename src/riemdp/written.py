"""Balls written down as plain data, as in a YAML file: the name of a space and a few numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeAlias

from riemdp.arguments import whole_number
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.manifolds.base import Space
from riemdp.manifolds.catalogue import space_class
from riemdp.manifolds.description import ArrayForm

BallMapping: TypeAlias = Mapping[str, Any]

# pyRiemann's names of metrics, for who writes its pipelines.
METRICS = {"riemann": "spd-affine", "logeuclid": "spd-log-euclidean", "logchol": "spd-log-cholesky"}
KEYS = ("space", "metric", "size", "curvature", "center", "radius", "eigenvalues")


def as_ball(value: Ball | BallMapping, shape: tuple[int, ...] | None = None) -> Ball:
    """A ball wherever one is asked for: itself, or the one that a mapping describes; what is neither stays as it is.

    Parameters
    ----------
    value : Ball or mapping
        For example {"space": "spd-affine", "size": 3, "eigenvalues": [0.05, 5]}; or with "center" (identity, north,
        origin, or the numbers of a point) and "radius" instead of "eigenvalues"; also "curvature". Spaces of matrices
        have pyRiemann's names of metrics as well, as "space" or "metric": riemann, logeuclid, logchol.
    shape : tuple of int, optional
        Of the records, (n, ...), if that is known: it gives the "size" of a mapping that has none.

    Returns
    -------
    Ball
        In the space of that name.

    Raises
    ------
    InputError
        If the mapping lacks something, has a key that means nothing here, or describes no ball.

    Examples
    --------
    >>> as_ball({"space": "spd-affine", "size": 2, "center": "identity", "radius": 1.5}).radius
    1.5
    """
    if not isinstance(value, Mapping):
        return value
    if unknown := [key for key in value if key not in KEYS]:
        raise InputError(f"{unknown[0]!r} means nothing in a ball: write {', '.join(KEYS)}.")
    space = _space(value, shape)
    return _by_eigenvalues(value, space) if "eigenvalues" in value else _by_center(value, space)


def _space(value: BallMapping, shape: tuple[int, ...] | None) -> Space:
    kind: Any = _space_class(value.get("space", value.get("metric")))
    parameters = inspect.signature(kind).parameters
    if not parameters:
        return kind()  # type: ignore[no-any-return]
    first = next(iter(parameters.values()))
    size = value.get("size") if "size" in value or shape is None else kind.size_in(ArrayForm(shape))
    if size is None:
        raise InputError(f"size is missing in the ball: write the {first.name} of {kind.__name__}.")
    curvature = {"curvature": _number(value["curvature"])} if "curvature" in value else {}
    if curvature and "curvature" not in parameters:
        raise InputError(f"curvature does not fit space = {value['space']!r} in the ball: leave it out.")
    is_length = first.annotation in (float, "float")
    space: Space = kind(_number(size) if is_length else whole_number(size, "size", 1), **curvature)
    return space


def _space_class(name: Any) -> Any:
    try:
        return space_class(METRICS.get(str(name), str(name)))
    except InputError as problem:
        raise InputError(f"in the ball, {problem}") from None


def _by_eigenvalues(value: BallMapping, space: Space) -> Ball:
    bounds = value["eigenvalues"]
    if "center" in value or "radius" in value:
        raise InputError("eigenvalues give centre and radius of the ball: leave out center and radius.")
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise InputError(f"eigenvalues = {bounds!r} in the ball: write the least and the greatest, as [0.05, 5].")
    return Ball.from_eigenvalue_bounds(space, *map(_number, bounds))


def _by_center(value: BallMapping, space: Space) -> Ball:
    for key in ("center", "radius"):
        if key not in value:
            raise InputError(f"{key} is missing in the ball: write a public one, chosen without looking at the data.")
    return Ball(space, _center(value["center"], space), _number(value["radius"]))


def _center(center: Any, space: Space) -> Any:
    if not isinstance(center, str):
        return center  # numbers, which Ball checks
    fitting = ("origin", *space.center_names)
    if center not in fitting:
        raise InputError(f"center = {center!r} in the ball is no point: write {', '.join(fitting)} or its numbers.")
    return space.origin


def _number(value: Any) -> Any:
    """Texts of numbers as floats, since YAML reads 1e-3 as a text; whatever else, for the one who checks it."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
