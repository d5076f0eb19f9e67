"""The errors and warnings a user can meet. Every message names the argument, its value and the remedy."""


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
    """The mechanism does not exist for this space, guarantee or scale."""


class BudgetExceeded(RiemdpError):
    """The ledger's budget does not cover the asked release; nothing was spent."""


class ConvergenceError(RiemdpError):
    """A certificate could not be reached; nothing uncertified is ever returned."""


class UselessRelease(UserWarning):
    """Public numbers say that a release is worth nothing: mostly noise, or hardly any privacy. Nothing is spent yet."""


class NoAdaptation(UserWarning):
    """`adapt` was asked for and, as public numbers decide, does nothing."""
