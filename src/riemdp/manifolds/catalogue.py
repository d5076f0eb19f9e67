"""Spaces found by name: on the command line, in saved files, and by the suites that run on all of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from riemdp.errors import InputError, RiemdpError
from riemdp.manifolds.base import Space
from riemdp.manifolds.description import KNOWN, ArrayForm, is_of_package

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Installed packages offer spaces in this group: the name of the command line, and where the class is, 'module:Class'.
ENTRY_POINTS = "riemdp.spaces"


def package_spaces() -> list[type[Space]]:
    """This package's own classes of spaces, by the order of their names: what suites and audits run on."""
    own = [kind for kind in KNOWN.values() if is_of_package(kind) and not inspect.isabstract(kind)]
    return sorted(own, key=lambda kind: kind.__name__)


# --- names of the command line -------------------------------------------------------------------------------


def space_names() -> list[str]:
    """What `--space` takes: the names of classes that are imported, and of those that installed packages offer."""
    return sorted({*_named(), *(entry.name for entry in _offers())})


class Variant:
    """A class of spaces with some of its options chosen, under a name of its own: called, and asked, as the class."""

    def __init__(self, kind: type[Space], options: dict[str, Any]) -> None:
        self.kind, self.options = kind, options
        self.__signature__ = inspect.signature(kind)

    def __call__(self, *arguments: Any, **options: Any) -> Space:
        """A space of the class, with the options of this variant."""
        return self.kind(*arguments, **self.options, **options)

    def size_in(self, form: ArrayForm) -> int:
        """As that of the class, which knows the options."""
        ask: Any = self.kind.size_in
        return int(ask(form, **self.options))


def space_class(name: str) -> Any:
    """The class of the spaces of that name; an InputError if there is none, or its package is broken."""
    if (found := _named().get(name)) is not None:
        return found
    offer = next((entry for entry in _offers() if entry.name == name), None)
    if offer is not None:
        return _imported(offer)
    raise InputError(f"space = {name!r}: pass one of {', '.join(space_names())}.")


def center_names() -> list[str]:
    """What `--center` takes beside files: names of the origins of spaces."""
    return sorted({"origin", *(name for kind in KNOWN.values() for name in kind.center_names)})


def _named() -> dict[str, Any]:
    """Classes by their own names, which subclasses do not inherit; none takes that of a space of this package."""
    kinds = sorted(KNOWN.values(), key=is_of_package)
    named = {name: kind for kind in kinds if (name := vars(kind).get("cli_name")) is not None}
    return {other: Variant(kind, o) for kind in kinds for other, o in vars(kind).get("variants", {}).items()} | named


def _offers() -> Iterable[EntryPoint]:
    """Spaces of installed packages, which are not imported before they are asked for."""
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def _imported(entry: EntryPoint) -> type[Space]:
    """The class of another package, whatever happens when that is imported."""
    remedy = "update or remove the package that offers it"
    try:
        kind = entry.load()
    except Exception as problem:  # it is not ours: anything may be wrong with it
        reason = f"cannot be imported from {entry.value!r} ({str(problem) or type(problem).__name__})"
        raise InputError(f"space {entry.name!r} {reason}: {remedy}.") from None
    if not (isinstance(kind, type) and issubclass(kind, Space)) or inspect.isabstract(kind):
        raise InputError(f"space {entry.name!r} is no complete space at {entry.value!r}: {remedy}.")
    return kind


# --- spaces as data ----------------------------------------------------------------------------------------------


def space_to_dict(space: Space) -> dict[str, Any]:
    """A space as plain JSON data, from which `space_from_dict` makes an equal one."""
    return {"type": type(space).__name__, **space.parameters()}


def space_from_dict(data: Any) -> Space:
    """The space that `space_to_dict` described; anything else is an InputError."""
    kind = KNOWN.get(str(data.get("type"))) if isinstance(data, dict) else None
    if kind is None or inspect.isabstract(kind):
        own = "; import the module that defines the space if it is one of your own"
        raise InputError(f"data = {data!r} describe no space: pass what space_to_dict() made{own}.")
    try:
        space: Space = kind.from_parameters({name: value for name, value in data.items() if name != "type"})
    except RiemdpError:
        raise
    except (TypeError, ValueError):
        raise InputError(f"data = {data!r} describe no space: pass what space_to_dict() made.") from None
    return space
