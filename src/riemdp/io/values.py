"""Released values of every kind: how they are kept from being written to, stored as plain data, and read again.

A value is one array, or a tuple of them; its kind says what it is, in the same shape: a word, or a tuple of words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds import Space

Array = NDArray[Any]
Kind = str | tuple[str, ...]
Value = Any  # an array for one word, a tuple of arrays for a tuple of words
WRITER = "Release.save()"
NUMBERS = ("scale", "sensitivity", "expected_error", "grid", "radius")  # of a release, and of its stages


def each(value: Value, kind: Kind, make: Callable[[Any, str], Any]) -> Value:
    """`make` of the array and its word; of each of them, if the value is a tuple."""
    if isinstance(kind, str):
        return make(value, kind)
    return tuple(make(part, word) for part, word in zip(value, kind, strict=True))


def frozen(value: Value, kind: Kind = "point") -> Value:
    """The value in arrays of its own, that nobody can write to."""
    return each(value, kind, _frozen)


def _frozen(value: Any, word: str) -> Array:  # noqa: ARG001
    array = np.array(value)
    array.flags.writeable = False
    return array


def plain(value: Value, kind: Kind) -> Any:
    """The value as lists of numbers, for JSON."""
    return each(value, kind, lambda array, _: plain_array(array))


def plain_array(array: Array) -> Any:
    """As lists of numbers; complex ones as those of their two parts, since JSON has none."""
    if array.dtype.kind != "c":
        return array.tolist()
    return {"real": array.real.tolist(), "imaginary": array.imag.tolist()}


def joined_array(value: Any) -> Any:
    """What `plain_array` took apart, put together; anything else as it is."""
    if not (isinstance(value, dict) and set(value) == {"real", "imaginary"}):
        return value
    try:
        real, imaginary = (np.asarray(value[part], dtype=np.float64) for part in ("real", "imaginary"))
        joined = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), dtype=np.complex128)
        joined.real, joined.imag = real, imaginary  # a product with 1j would warn of infinite numbers
        return joined
    except (TypeError, ValueError, OverflowError):
        return None


def written(value: Value, kind: Kind, space: Space, like: Array) -> Value:
    """As users see it: points in the form of `like`, everything else as it is."""
    return each(value, kind, lambda array, word: space.write(array, like) if word == "point" else np.asarray(array))


def numbers_of(value: Value, kind: Kind) -> list[Array]:
    """The arrays that the value consists of, one after the other."""
    return [value] if isinstance(kind, str) else list(value)


# --- reading ---------------------------------------------------------------------------------------------------


def check_fields(fields: dict[str, Any]) -> None:
    """Raise an InputError unless numbers are positive and finite, `n` whole, and everything else text."""
    for name, value in fields.items():
        kind = float if name in NUMBERS else int if name == "n" else str
        if name == "grid" and value is None:
            continue
        if type(value) is not kind or not (isinstance(value, str) or 0 < value < np.inf):
            raise InputError(f"{name} = {value!r} is not that of a release: pass what {WRITER} wrote.")


def read_count(value: Any, name: str) -> int | None:
    """A whole number from 0, or none; anything else is an InputError."""
    if value is None or (type(value) is int and value >= 0):
        return value
    raise InputError(f"{name} = {value!r:.100} is not that of a release: pass what {WRITER} wrote.")


def read_share(value: Any, name: str) -> float | None:
    """A number from 0 to 1, or none; anything else is an InputError."""
    if value is None or (type(value) is float and 0 <= value <= 1):
        return value
    raise InputError(f"{name} = {value!r:.100} is not that of a release: pass what {WRITER} wrote.")


def plain_labels(labels: Sequence[Any]) -> list[str | int | float]:
    """Names of classes as files hold them: texts and numbers; whatever else they are, as texts."""
    return [label if isinstance(label, str | int | float) else str(label) for label in labels]


def read_labels(data: Any) -> tuple[Any, ...]:
    """What `plain_labels` made: texts or numbers, each once."""
    is_plain = isinstance(data, list) and all(isinstance(label, str | int | float) for label in data)
    if not is_plain or not data or len(set(data)) < len(data):
        raise InputError(f"labels are not those of classes: pass what {WRITER} wrote.")
    return tuple(data)


def read_kind(kind: Any) -> Kind:
    """A word of KINDS or a list of such; anything else is an InputError."""
    words = tuple(kind) if isinstance(kind, list) and kind else (kind,)
    if not all(isinstance(word, str) and word in KINDS for word in words):
        raise InputError(f"kind = {kind!r:.100} is not that of a release: pass what {WRITER} wrote.")
    return words if isinstance(kind, list) else words[0]


def read_value(value: Any, kind: Kind, space: Space, name: str = "value") -> Value:
    """The value that `plain` described, if it is one of this kind; anything else is an InputError."""
    if not isinstance(kind, str) and not (isinstance(value, list) and len(value) == len(kind)):
        raise _strange(name, kind)
    return each(value, kind, lambda data, word: KINDS[word](data, space, name))


def read_point(value: Any, space: Space, name: str) -> Array:
    """A point of the space, as users see it.

    What is one already stays as it was saved: a space that has its points in other words would round it once more.
    """
    data = joined_array(value)
    found, saved = np.asarray(space.write(space.one_point(data, name), space.origin)), np.asarray(data)
    is_found = saved.shape == found.shape and np.abs(saved - found).max() <= 4 * UNIT_ROUNDOFF * np.abs(found).max()
    return saved.astype(found.dtype) if is_found else found


def read_tangent(value: Any, space: Space, name: str) -> Array:
    """A tangent vector, in the form of a point."""
    return _finite(value, name, "tangent vector", lambda array: array.shape == space.point_shape)


def _symmetric_matrix(value: Any, space: Space, name: str) -> Array:  # noqa: ARG001
    return _finite(value, name, "symmetric matrix", lambda array: array.ndim == 2 and np.array_equal(array, array.T))


def _numbers(value: Any, space: Space, name: str) -> Array:  # noqa: ARG001
    return _finite(value, name, "numbers", lambda array: array.ndim == 1 and array.size > 0)


def read_numbers(value: Any, name: str) -> Array:
    """Finite numbers, in an array of any shape; anything else is an InputError."""
    return _finite(value, name, "numbers", lambda array: array.size > 0)


def _finite(value: Any, name: str, kind: str, is_right: Callable[[Array], bool]) -> Array:
    try:
        array = np.asarray(joined_array(value))
        array = array if array.dtype.kind == "c" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _strange(name, kind) from None
    if not (np.isfinite(array).all() and is_right(array)):
        raise _strange(name, kind)
    return array


def _strange(name: str, kind: Kind) -> InputError:
    return InputError(f"{name} is not of the kind {kind!r} that the release has: pass what {WRITER} wrote.")


KINDS: dict[str, Callable[[Any, Space, str], Array]] = {
    "point": read_point,
    "tangent vector": read_tangent,
    "symmetric matrix": _symmetric_matrix,
    "numbers": _numbers,
}
