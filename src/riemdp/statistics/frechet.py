"""The Fréchet mean with a certificate: a proven bound on its distance to the true mean.

Proofs in docs/proofs/certificate.md. `frechet_mean` is not private; `riemdp.statistics.mean` makes the private
mean from the same solver, which sees the records only through sums over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from riemdp.arguments import finite_number, whole_number
from riemdp.display import shown
from riemdp.errors import ConvergenceError, InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges, one_blas_thread
from riemdp.manifolds.base import ROWS, Array, Space
from riemdp.manifolds.capabilities import ClosedFormMean, FlatMean, FrechetModel, LocalModel
from riemdp.statistics.weighted import WeightedRecords, Weights, positive_weights

# Without a tolerance, a bound above this share of the records' distance (or of 1) is not called a mean.
LOOSEST = 1e-2
FEW = 2**12  # numbers


@shown
@dataclass(frozen=True, repr=False)
class FrechetMean:
    """A Fréchet mean and how far from the exact one it can be.

    Not private: it is a function of the records, without noise.

    Parameters
    ----------
    point : array of shape point_shape
        The mean.
    error_bound : float
        Proven: the exact mean is no farther from `point` than this, in the space's unit of length.
    iterations : int
        Passes over the records.

    See Also
    --------
    frechet_mean : Makes one.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.frechet_mean([[0.0], [1.0]], rd.Euclidean(1)).point.tolist()
    [0.5]
    """

    point: Array
    error_bound: float  # proven: rho(point, exact mean) <= error_bound
    iterations: int  # passes over the records


class RecordSums(Protocol):
    """All that the solver may learn of the records."""

    @property
    def space(self) -> Space:
        """Where the records live."""

    def factors(self) -> Sequence[RecordSums]:
        """The records of each factor of a product."""

    def closed_form(self) -> FlatMean:
        """The mean of a flat space."""

    def start(self) -> Array:
        """A first guess of the mean."""

    def model(self, x: Array) -> LocalModel:
        """The Fréchet function around x."""

    def certify(self, x: Array, model: LocalModel) -> None:
        """Raise unless a critical point next to x can only be the mean."""


def frechet_mean(
    X: ArrayLike,
    space: Space,
    tol: float | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 50,
) -> FrechetMean:
    """Fréchet mean of the points X (n, *point_shape): argmin_x sum_i rho(x, x_i)². Not private.

    Flat spaces have it in closed form; elsewhere it is found by Newton's method, with a certificate.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The records, points of the space. Landmarks may be raw, as for `private_mean`: where they lie and how large
        they are is not part of a shape.
    space : Space
        Where they live.
    tol : float, optional
        The largest `error_bound` to accept. By default the mean is as accurate as float64 can certify for these
        records, and `error_bound` says how accurate that is.
    sample_weight : array of shape (n,), optional
        How much each record counts: not negative, by default all the same. The mean is then argmin_x
        sum_i w_i rho(x, x_i)². A record of weight 0 is left out.
    max_iter : int
        Passes over the records, at most.

    Returns
    -------
    FrechetMean
        `point`, `error_bound` (proven: no farther than this from the exact mean) and `iterations`.

    Raises
    ------
    InputError
        If a record is not a point of the space, or an argument is not as described.
    ConvergenceError
        If no bound can be proven, since records so far apart in positive curvature may have several means; or none
        as small as `tol`; or not within `max_iter` passes.

    See Also
    --------
    private_mean : The private mean.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> mean = rd.frechet_mean([[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 9.0]]], rd.SPDAffine(2))
    >>> mean.point.round(12).tolist(), mean.error_bound < 1e-13
    ([[2.0, 0.0], [0.0, 3.0]], True)
    """
    if tol is not None and finite_number(tol, "tol") <= 0:
        raise InputError(f"tol = {tol!r}: pass a positive number, for example 1e-10, or leave it out.")
    passes = whole_number(max_iter, "max_iter", 1)
    with _without_blas_threads(X, space):
        result = _solve(_weighted(_records(X, space), sample_weight), None if tol is None else float(tol), passes)
    return FrechetMean(space.write(result.point, X), result.error_bound, result.iterations)


def _without_blas_threads(X: Any, space: Space) -> AbstractContextManager[None]:
    """Already for the checks: its threads spin on for milliseconds.

    They are not started for a few numbers, and flat sums that check the records see to it themselves; finding them
    takes milliseconds too, once per process.
    """
    few = (isinstance(X, np.ndarray) and X.size <= FEW) or (
        isinstance(space, Space) and space.is_flat and space.sums_check_records
    )
    return nullcontext() if few else one_blas_thread()


# --- the records of a public mean ------------------------------------------------------------------------


@dataclass(frozen=True)
class Records:
    """Points held in memory, checked to be points of the space."""

    points: Array
    space: Space

    def factors(self) -> list[Records]:
        """The records of each factor of a product."""
        parts = zip(self.space.inner_parts(self.points), self.space.factors, strict=True)
        return [Records(points, factor) for points, factor in parts]

    def closed_form(self) -> FlatMean:
        """The mean of a flat space."""
        return self.space.capability(ClosedFormMean).closed_form_mean(self.points)

    def start(self) -> Array:
        """A first guess of the mean."""
        return self.space.capability(FrechetModel).mean_start(self.points)

    def model(self, x: Array) -> LocalModel:
        """The Fréchet function around x."""
        return self.space.capability(FrechetModel).local_model(self.points, x)

    def certify(self, x: Array, model: LocalModel) -> None:
        """Find a ball of uniqueness that holds the records and x: the one around x, or another."""
        if not model.farthest < 0.999 * self.space.uniqueness_radius:
            certify(self.points, self.space, x, error_bound(model))


def _records(X: Any, space: Space) -> Records:
    """The records in the form of the space's primitives; floats of any size are widened block by block."""
    if not isinstance(space, Space):
        raise InputError(f"space = {space!r}: pass a space such as SPDAffine(3).")
    as_passed = space.sums_check_records and space.inner_shape == space.point_shape
    keep = isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and as_passed
    array = np.asarray(X) if keep else space.read(X, "X")
    if array.ndim != len(space.inner_shape) + 1 or array.shape[1:] != space.inner_shape or not len(array):
        raise InputError(f"X has shape {np.shape(X)}: pass (n, {', '.join(map(str, space.point_shape))}), n >= 1.")
    if space.sums_check_records:
        return Records(array, space)
    with np.errstate(all="ignore"):
        settled = space.settle(array)
    if settled is not array:  # else all of them are points
        map_ranges(lambda i, j: _check_block(array[i:j], i, space), len(array), ROWS)
    return Records(settled, space)


def _weighted(records: Records, sample_weight: Any) -> RecordSums:
    """The records themselves, or as often as their weights say; those that do not count are left out."""
    if sample_weight is None:
        return records
    weights = positive_weights(sample_weight, len(records.points))
    counting = Records(records.points[weights > 0], records.space)
    return WeightedRecords(counting, Weights.of(weights[weights > 0]))


def _check_block(block: Array, start: int, space: Space) -> None:
    with np.errstate(all="ignore"):
        good = space.are_records(block)
        if not np.isfinite(block).all():  # rare, and slow to ask of each record
            good &= np.isfinite(block).all(axis=tuple(range(1, block.ndim)))
    if not good.all():
        index = start + int(np.argmin(good))
        raise InputError(f"X[{index}] is not a point of {space!r}: {space.record_remedy}.")


def certify(points: Array, space: Space, x: Array, tau: float) -> None:
    """Make sure that the critical point within tau of x is *the* mean: it and the records in a ball of uniqueness.

    The first ball tried is centred at x; if some record is too far, the centre moves towards the farthest
    record in ever smaller steps (Bădoiu and Clarkson 2003).
    """
    if np.isinf(space.uniqueness_radius):
        return
    center = x
    for i in range(1, 200):
        distances = _distances(points, space, center)
        farthest = int(np.argmax(distances))
        radius = max(float(distances[farthest]), float(space.distance(center, x)) + tau)
        if radius < space.uniqueness_radius * (1 - 1e-9):
            return
        center = space.exp_coords(space.log_coords(points[farthest], center) / (i + 1), center)
    raise ConvergenceError(
        f"The records do not fit a ball of radius {space.uniqueness_radius:.4g} of {space!r} "
        f"(about {radius:.4g} is needed), so their Fréchet mean may not be unique: split them or use a subset."
    )


def _distances(points: Array, space: Space, center: Array) -> Array:
    return np.concatenate(map_ranges(lambda i, j: space.distance(center, points[i:j]), len(points), ROWS))


# --- the solver -------------------------------------------------------------------------------------------


def solve(records: RecordSums, tol: float | None, max_iter: int, start: Array | None = None) -> FrechetMean:
    """The mean with `error_bound <= tol` (None: with the least one), or a ConvergenceError.

    `start` is a better guess than the records' own.
    """
    # The products here are small: BLAS threads would gain nothing and spin on for milliseconds beside ours.
    with one_blas_thread():
        return _solve(records, tol, max_iter, start)


def _solve(records: RecordSums, tol: float | None, max_iter: int, start: Array | None = None) -> FrechetMean:
    if records.space.factors:
        return _solve_product(records, tol, max_iter)
    if records.space.is_flat:
        flat, unit = records.closed_form(), records.space.capability(ClosedFormMean).unit_length
        if flat.rounding > (LOOSEST * unit if tol is None else tol):
            raise _too_tight(tol, flat.rounding)
        return FrechetMean(flat.point, flat.rounding, 1)
    return _newton(records, records.start() if start is None else start, tol, max_iter)


def _solve_product(records: RecordSums, tol: float | None, max_iter: int) -> FrechetMean:
    """Factor by factor: F is the sum of the factors' functions."""
    space = records.space
    share = None if tol is None else tol / len(space.factors) ** 0.5
    parts = [_solve(factor, share, max_iter) for factor in records.factors()]
    bound = float(np.linalg.norm([part.error_bound for part in parts]))
    point = space.assemble([part.point for part in parts])
    return FrechetMean(point, bound, max(part.iterations for part in parts))


def _newton(records: RecordSums, x: Array, tol: float | None, max_iter: int) -> FrechetMean:
    model = records.model(x)
    bound, slopes = error_bound(model), [model.slope]
    while not _is_enough(bound, tol, slopes, model):
        # Rounding alone may forbid the tolerance, and spread any; once the gradient is down to its rounding, nothing
        # will get better.
        forbidden = np.isinf(bound) or (tol is not None and model.rounding > tol)
        lost = (model.slope <= model.rounding and forbidden) or not np.isfinite(model.slope)
        if lost or len(slopes) == max_iter:
            raise _refusal(records.space, tol, bound, model, max_iter)
        x, model = _descend(records, x, model)
        bound = error_bound(model)
        slopes.append(model.slope)
    if tol is None and bound > LOOSEST * max(1.0, model.farthest):
        raise _too_tight(tol, bound)
    records.certify(x, model)
    return FrechetMean(x, bound, len(slopes))


def _is_enough(bound: float, tol: float | None, slopes: Sequence[float], model: LocalModel) -> bool:
    """Whether the bound is as small as it has to be: without a tolerance, as small as it gets, but for a quarter."""
    if tol is not None:
        return bound <= tol
    return bool(bound < np.inf and (model.slope <= model.rounding / 4 or _stand_still(slopes)))


def _stand_still(slopes: Sequence[float]) -> bool:
    """Whether three passes have not halved the gradient: there is no better point among the floats."""
    return len(slopes) > 3 and min(slopes[-3:]) > min(slopes[:-3]) / 2


def _descend(records: RecordSums, x: Array, model: LocalModel) -> tuple[Array, LocalModel]:
    """A Newton step, halved until it shrinks the gradient."""
    space = records.space
    step = model.step(model.descent)
    # A Newton step from far away may leave the region where the model means anything.
    length, longest = float(np.linalg.norm(step)), 0.5 * min(space.uniqueness_radius, 1e3)
    step = step * min(1.0, longest / length) if length > 0 else step
    for _ in range(6):
        candidate = space.exp_coords(step, x)
        new = records.model(candidate)
        if new.slope < model.slope + 2 * model.rounding:
            break
        step = step / 2
    return candidate, new


def error_bound(model: LocalModel) -> float:
    """(‖grad F(x)‖ + its rounding) / h, if that is within where the Hessian bound h is valid; infinite if not.

    The norm and the quotient are rounded up.
    """
    if not model.convexity > 0:
        return np.inf
    upwards = 1 + (model.descent.size + 16) * UNIT_ROUNDOFF
    bound = (model.slope + model.rounding) / model.convexity * upwards
    return bound if bound < model.valid_within else np.inf


def _too_tight(tol: float | None, rounding: float) -> ConvergenceError:
    """Asked for more than float64 can do; by default that is a bound that means something."""
    if np.isinf(rounding):
        return ConvergenceError("float64 is too coarse for these records and proves nothing: improve their condition.")
    if tol is None:
        return ConvergenceError(
            f"float64 is too coarse for these records, it certifies {rounding:.1e} only: improve their condition, or "
            f"accept that by tol = {2 * rounding:.1e}."
        )
    return ConvergenceError(
        f"tol = {tol:g} is below what float64 can certify for these records: leave it out, or pass tol >= "
        f"{2 * rounding:.1e}."
    )


def _refusal(space: Space, tol: float | None, bound: float, model: LocalModel, max_iter: int) -> ConvergenceError:
    """Why there is no certificate, and what would help."""
    if not np.isfinite(model.slope + model.rounding):
        return ConvergenceError("The records are too far apart for float64: bring them closer together.")
    if np.isinf(bound):
        more = "" if model.slope <= model.rounding else f", or raise max_iter = {max_iter}"
        return ConvergenceError(
            "The records are too spread for a proof that their Fréchet mean is unique: they should fit a ball of "
            f"radius {space.uniqueness_radius:.4g} of {space!r}; split them or use a subset{more}."
        )
    if tol is not None and model.rounding > tol / 2:
        return _too_tight(tol, model.rounding)
    asked = "" if tol is None else f" for tol = {tol:g}"
    return ConvergenceError(
        f"No certificate{asked} within max_iter = {max_iter} passes (best bound {bound:.1e}): raise max_iter or tol."
    )
