"""Arguments as users pass them: numbers and arrays, or one sentence about what is wrong with them."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_UP, Context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError

Array = NDArray[Any]


def whole_number(value: Any, name: str, least: int) -> int:
    """`value` as an int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} = {value!r}: pass a whole number of at least {least}.")
    return int(value)


def finite_number(value: Any, name: str) -> float:
    """`value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{name} = {value!r}: pass a real number.")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name} = {value!r}: pass a finite number.")
    return number


def rounded_down(number: float) -> str:
    """A positive number to 3 digits, not above it: one that may be passed where the number is the most."""
    return f"{float(Context(prec=3, rounding=ROUND_DOWN).create_decimal(number)):g}"


def rounded_up(number: float) -> str:
    """A positive number to 3 digits, not below it."""
    return f"{float(Context(prec=3, rounding=ROUND_UP).create_decimal(number)):g}"


def as_array(value: Any, name: str) -> Array:
    """`value` as an array, whatever it holds; arrays of other libraries by the exchange that they offer."""
    try:
        return np.from_dlpack(value) if _only_exchanges(value) else np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError, BufferError):
        raise InputError(f"{name} does not form one array: pass numbers in rows of one shape.") from None


def _only_exchanges(value: Any) -> bool:
    """Whether it is an array of the array API that NumPy does not read by itself."""
    return hasattr(value, "__dlpack__") and not hasattr(value, "__array__")


def floats(array: Array) -> Array:
    """The array itself if it holds float64, else a copy that does."""
    return array if array.dtype == np.float64 else array.astype(np.float64)


def real_array(value: Any, name: str) -> Array:
    """`value` as an array of floats, finite or not."""
    array = as_array(value, name)
    check_real(array.dtype, name)
    return floats(array)


def check_real(dtype: np.dtype[Any], name: str) -> None:
    """Raise unless arrays of this type hold real numbers."""
    if dtype.kind == "c":
        raise InputError(f"{name} is complex: pass real numbers.")
    if dtype.kind not in "fiu":
        raise InputError(f"{name} has dtype {dtype}: pass real numbers.")


def finite_array(value: Any, name: str) -> Array:
    """`value` as an array of finite floats."""
    array = real_array(value, name)
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinite numbers: pass finite ones.")
    return array


def check_batches(**leading: tuple[int, ...]) -> None:
    """Refuse batches whose leading axes do not broadcast."""
    try:
        np.broadcast_shapes(*leading.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in leading.items())
        raise InputError(f"The leading axes do not broadcast ({shapes}): pass batches of one size.") from None


def random_generator(rng: Any) -> np.random.Generator:
    """A generator from a generator or a seed."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"rng = {rng!r}: pass a numpy.random.Generator or a whole number.") from None
