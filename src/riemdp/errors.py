"""The errors and warnings a user can meet. Every message names the argument, its value and the remedy."""


class RiemdpError(ValueError):
    """Base class of every error that riemdp raises on purpose."""


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


def one_line(message: object) -> str:
    """A message without line breaks: some libraries quote in theirs what they were given."""
    return " ".join(str(message).split())
