"""Covariance descriptors: an image becomes the covariance of its pixels' features, a point of SPD(k).

Tuzel, Porikli, Meer, "Region covariance" (2006); the features, kernels and normalisation are those of Utpala,
Vepakomma, Miolane (2023), section 6.2 and appendix A.5. The spectrum is bounded: docs/proofs/descriptors.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riemdp.arguments import finite_number
from riemdp.errors import InputError
from riemdp.io.sources import is_dask
from riemdp.kernels.threads import map_ranges, this_thread_only
from riemdp.manifolds.base import Array
from riemdp.names import FeaturesName

Region = tuple[int, int, int, int]

# Each two-dimensional kernel of the paper is a smoothing along one axis times a difference along the other:
# 1/4 [1 2 1]ᵀ[1 0 -1] and 1/32 [1 4 6 4 1]ᵀ[1 0 -2 0 1]. The weights of either sign sum to 1.
FIRST = ((0.25, 0.5, 0.25), (1.0, 0.0, -1.0))
SECOND = ((0.0625, 0.25, 0.375, 0.25, 0.0625), (0.5, 0.0, -1.0, 0.0, 0.5))
# Pixels that the larger kernel needs on each side.
MARGIN = 2
# Intensity of a colour (ITU-R BT.601); convex, so it stays in [0, 1].
LUMA = (0.299, 0.587, 0.114)
# Pixels handled at a time: the features of a block of images take about 5 MB.
BLOCK_PIXELS = 2**16


def covariance_descriptors(
    images: ArrayLike, eta: float = 1e-6, features: FeaturesName = "tuzel", *, region: Region | None = None
) -> Array:
    """Covariance descriptors (n, k, k) of grey images (n, h, w) or RGB images (n, h, w, 3).

    R = 1/|S| sum_{p in S} (phi(p) - mean phi)(phi(p) - mean phi)ᵀ + eta I, where phi(p) at pixel p is

    - "tuzel" (k = 9 grey, 11 RGB): x, y, I (each channel), |I_x|, |I_y|, |I_xx|, |I_yy|, sqrt(I_x² + I_y²),
      arctan(|I_x| / |I_y|), with I in [0, 1], x = column/w and y = row/h (Utpala et al. 2023);
    - "five" (k = 5): I, |I_x|, |I_y|, |I_xx|, |I_yy|, with I in [0, 255].

    S are the pixels of the region that lie at least two pixels inside the image, where the derivatives' kernels fit;
    pad the images to describe their rim too. Derivatives of a colour image are those of its luma.

    Parameters
    ----------
    images : array of shape (n, h, w) or (n, h, w, 3)
        Of uint8, 0 to 255, or floats, 0 to 1; an array, or a Dask array.
    eta : float
        What is added to the diagonal, above 0: no eigenvalue is smaller.
    features : str
        "tuzel" or "five".
    region : tuple of int, optional
        (top, left, height, width) in pixels; by default the whole image.

    Returns
    -------
    array of shape (n, k, k)
        Symmetric positive definite matrices. Of a Dask array the descriptors are one too: they are computed when they
        are used, where its chunks are.

    Raises
    ------
    InputError
        If an argument is not as described, or a float is outside [0, 1].

    See Also
    --------
    descriptor_eigenvalue_bounds : Public bounds on their spectra, for a ball.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rd.covariance_descriptors(np.zeros((3, 16, 16), dtype=np.uint8)).shape
    (3, 9, 9)
    """
    pixels: Any = images if is_dask(images) else _as_array(images)
    _check_images(pixels.shape, pixels.dtype)
    job = _Job(*_inside(pixels.shape[1:3], region), features, _positive_eta(eta))
    _extractor(features)
    result: Array = job.lazily(pixels) if is_dask(pixels) else job(pixels)
    return result


@dataclass(frozen=True)
class _Job:
    """What is done to images, wherever they are."""

    rows: range
    columns: range
    features: str
    eta: float

    def __call__(self, pixels: Array, first: int = 0) -> Array:
        """Descriptors of these images, the first of which has this place among all."""

        def task(start: int, stop: int) -> Array:
            block = _unit_interval(pixels[start:stop], first + start)
            return _covariance(_extractor(self.features)(block, self.rows, self.columns), self.eta)

        grain = max(1, BLOCK_PIXELS // (len(self.rows) * len(self.columns)))
        return np.concatenate(map_ranges(task, len(pixels), grain))

    def lazily(self, pixels: Any) -> Any:
        """The descriptors as a Dask array, chunk by chunk of whole images."""
        whole = pixels.rechunk(dict.fromkeys(range(1, pixels.ndim), -1))
        k = self._count(is_gray=pixels.ndim == 3)
        shape: dict[str, Any] = {"chunks": (whole.chunks[0], (k,), (k,)), "drop_axis": list(range(3, pixels.ndim))}
        return whole.map_blocks(self._of_chunk, dtype=np.float64, meta=np.empty((0, 0, 0)), **shape)

    def _count(self, *, is_gray: bool) -> int:
        """The number of features of a pixel."""
        if self.features == "five":
            return 5
        return 9 if is_gray else 11

    def _of_chunk(self, pixels: Array, block_info: Any = None) -> Array:
        """On a worker: one of several, so that it starts no threads of its own."""
        with this_thread_only():
            return self(pixels, block_info[0]["array-location"][0][0])


def descriptor_eigenvalue_bounds(
    channels: int, eta: float = 1e-6, features: FeaturesName = "tuzel", tight: bool = True
) -> tuple[float, float]:
    """Public bounds (lo, hi) = (eta, b + eta) on every eigenvalue of every covariance descriptor.

    tight: b = sum over the features of range²/4, since a variable in [0, c] has variance at most c²/4
    (tuzel: 2.867 grey, 3.367 RGB). Otherwise the papers' b: 12 grey, 14 RGB, and 5·255² for "five".

    Parameters
    ----------
    channels : int
        1 for grey images, 3 for RGB images.
    eta : float
        As of `covariance_descriptors`.
    features : str
        "tuzel" or "five".
    tight : bool
        Whether to take the sharper bound rather than the papers'.

    Returns
    -------
    tuple of float
        The lower and the upper bound, for `Ball.from_eigenvalue_bounds`.

    Raises
    ------
    InputError
        If an argument is not as described.

    See Also
    --------
    covariance_descriptors : The descriptors.
    Ball.from_eigenvalue_bounds : The ball that holds them.

    Examples
    --------
    >>> import riemdp as rd
    >>> [round(bound, 3) for bound in rd.descriptor_eigenvalue_bounds(1, eta=0.001)]
    [0.001, 2.868]
    """
    jitter = _positive_eta(eta)
    _extractor(features)
    if isinstance(channels, bool) or channels not in (1, 3):
        raise InputError(f"channels = {channels!r}: pass 1 for grey images or 3 for RGB images.")
    if features == "five":
        return jitter, 5 * 255.0**2 / (4 if tight else 1) + jitter
    colours = float(channels - 1)
    return jitter, ((9 + math.pi**2 / 4 + colours) / 4 if tight else 12 + colours) + jitter


# --- features: arrays (n, k, |S|) from intensities (n, h, w) or (n, h, w, 3) in [0, 1] ---------------------

_Extractor = Callable[[Array, range, range], Array]


def _tuzel(block: Array, rows: range, columns: range) -> Array:
    n, height, width = block.shape[:3]
    channels = block.reshape(n, height, width, -1)
    out = np.empty((n, channels.shape[-1] + 8, len(rows), len(columns)))
    out[:, 0] = np.asarray(columns) / width
    out[:, 1] = np.asarray(rows)[:, None] / height
    out[:, 2:-6] = np.moveaxis(_crop(channels, rows, columns), -1, 1)
    _derivatives(_luma(block), rows, columns, out[:, -6:-2])
    np.hypot(out[:, -6], out[:, -5], out=out[:, -2])
    np.arctan2(out[:, -6], out[:, -5], out=out[:, -1])  # 0 where both derivatives vanish
    return out.reshape(n, out.shape[1], -1)


def _five(block: Array, rows: range, columns: range) -> Array:
    intensity = 255.0 * _luma(block)
    out = np.empty((len(block), 5, len(rows), len(columns)))
    out[:, 0] = _crop(intensity, rows, columns)
    _derivatives(intensity, rows, columns, out[:, 1:])
    return out.reshape(len(block), 5, -1)


_EXTRACTORS: dict[str, _Extractor] = {"tuzel": _tuzel, "five": _five}


def _luma(block: Array) -> Array:
    return block if block.ndim == 3 else block @ np.array(LUMA)


def _crop(block: Array, rows: range, columns: range, margin: int = 0) -> Array:
    """The pixels of rows x columns, and a margin around them."""
    return block[:, rows.start - margin : rows.stop + margin, columns.start - margin : columns.stop + margin]


def _derivatives(intensity: Array, rows: range, columns: range, out: Array) -> None:
    """|I_x|, |I_y|, |I_xx|, |I_yy| into out (n, 4, rows, columns); x runs along the columns."""
    for first, (smooth, difference) in ((0, FIRST), (2, SECOND)):
        around = _crop(intensity, rows, columns, len(smooth) // 2)
        np.abs(_slide(_slide(around, smooth, 1), difference, 2), out=out[:, first])
        np.abs(_slide(_slide(around, smooth, 2), difference, 1), out=out[:, first + 1])


def _slide(a: Array, weights: tuple[float, ...], axis: int) -> Array:
    """Sum of weights[t]·(a shifted by t along the axis), where all shifts exist."""
    length = a.shape[axis] - len(weights) + 1
    shifts = [(slice(None),) * axis + (slice(t, t + length),) for t in range(len(weights))]
    return np.asarray(sum(weight * a[shift] for weight, shift in zip(weights, shifts, strict=True) if weight))


def _covariance(phi: Array, eta: float) -> Array:
    phi -= phi.mean(axis=2, keepdims=True)
    cov = phi @ phi.transpose(0, 2, 1) / phi.shape[2]
    return np.asarray((cov + cov.transpose(0, 2, 1)) / 2 + eta * np.eye(cov.shape[1]))


# --- reading what users pass -------------------------------------------------------------------------------


def _as_array(images: Any) -> Array:
    try:
        return np.asarray(images)
    except ValueError:
        raise InputError("images have different shapes: pass images of one size.") from None


def _check_images(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not (len(shape) == 3 or (len(shape) == 4 and shape[3] == 3)):
        raise InputError(f"images has shape {shape}: pass (n, h, w), grey, or (n, h, w, 3), RGB.")
    if shape[0] == 0 or min(shape[1:3]) <= 2 * MARGIN:
        raise InputError(f"images has shape {shape}: pass at least one image of 5 x 5 pixels or more.")
    if not (dtype == np.uint8 or dtype.kind == "f"):
        raise InputError(f"images has dtype {dtype}: pass uint8 (0 to 255) or floats (0 to 1).")


def _unit_interval(block: Array, start: int) -> Array:
    """Intensities in [0, 1] as float64; `start` is the block's place in the user's array."""
    if block.dtype == np.uint8:
        return block / 255.0
    inside = ((block >= 0) & (block <= 1)).reshape(len(block), -1).all(axis=1)
    if not inside.all():
        first = start + int(np.argmin(inside))
        raise InputError(f"images[{first}] has values outside [0, 1]: rescale float images, or pass uint8.")
    return block.astype(np.float64)


def _positive_eta(eta: Any) -> float:
    value = finite_number(eta, "eta")
    if value <= 0:
        raise InputError(f"eta = {eta!r}: pass a positive number, for example 1e-6.")
    return value


def _extractor(features: Any) -> _Extractor:
    if not isinstance(features, str) or features not in _EXTRACTORS:
        raise InputError(f"features = {features!r}: pass one of {', '.join(map(repr, _EXTRACTORS))}.")
    return _EXTRACTORS[features]


def _inside(shape: tuple[int, ...], region: Any) -> tuple[range, range]:
    """Rows and columns of the region where the kernels fit."""
    height, width = shape
    try:
        top, left, tall, wide = (0, 0, height, width) if region is None else map(index, region)
    except (TypeError, ValueError):
        raise InputError(f"region = {region!r}: pass (top, left, height, width) in pixels.") from None
    if top < 0 or left < 0 or top + tall > height or left + wide > width:
        raise InputError(f"region = {region!r}: it must lie inside the {height} x {width} image.")
    rows = range(max(top, MARGIN), min(top + tall, height - MARGIN))
    columns = range(max(left, MARGIN), min(left + wide, width - MARGIN))
    if not (rows and columns):
        raise InputError(f"region = {region!r}: none of it is {MARGIN} pixels inside the image.")
    return rows, columns
