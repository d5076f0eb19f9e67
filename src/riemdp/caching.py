"""A property that is computed once, without a lock.

`functools.cached_property` of Python 3.11 holds one lock per property for all objects: a child that is forked while
another thread computes one would wait for it for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """Computed when first asked for, then an ordinary attribute; two threads may both compute it."""

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """The value, kept in the object's own dictionary."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))


__all__ = ["cached_property"]
