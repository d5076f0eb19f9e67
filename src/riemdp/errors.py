"""The errors and warnings a user can meet. Every message names the argument, its value and the remedy."""

from __future__ import annotations

from collections.abc import Callable


def printable(text: object) -> str:
    r"""The text with whatever does not print in Python's escapes, as \x1b: names in files may hold anything.

    A terminal obeys control characters, and marks of writing direction make a name look like another one.
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(text))


def one_line(message: object) -> str:
    """A message without line breaks: some libraries quote in theirs what they were given."""
    return printable(" ".join(line.strip() for line in str(message).splitlines()))


class RiemdpError(ValueError):
    """Base class of every error that riemdp raises on purpose; its message is one line that prints."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


class InputError(RiemdpError):
    """An argument has the wrong shape, type or value."""


class MechanismError(RiemdpError):
    """The mechanism does not exist for this space, guarantee or scale.

    The message may be a function that finds it: plans try every mechanism, and few of their refusals are ever read.
    """

    def __init__(self, message: str | Callable[[], str] = "") -> None:
        super().__init__("" if callable(message) else message)
        self._find = message if callable(message) else None

    def __str__(self) -> str:
        return super().__str__() if self._find is None else one_line(self._find())

    def __reduce__(self) -> tuple[type[MechanismError], tuple[str]]:
        """With the message found: what finds it need not survive a pickle."""
        return type(self), (str(self),)


class BudgetExceeded(RiemdpError):
    """The ledger's budget does not cover the asked release; nothing was spent."""


class ConvergenceError(RiemdpError):
    """A certificate could not be reached; nothing uncertified is ever returned."""


class UselessRelease(UserWarning):
    """Public numbers say that a release is worth nothing: mostly noise, or hardly any privacy. Nothing is spent yet."""


class NoAdaptation(UserWarning):
    """`adapt` was asked for and, as public numbers decide, does nothing."""
