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
    """Base class of every error that riemdp raises on purpose.

    Its message is one line that prints. It is a ValueError, so that whoever knows nothing of riemdp can catch it.

    Parameters
    ----------
    message : str
        One line: the argument, its value and what to do instead.

    See Also
    --------
    InputError : An argument is wrong.
    MechanismError : What is asked for does not exist.
    BudgetExceeded : A ledger refuses.
    ConvergenceError : A certificate could not be reached.

    Examples
    --------
    >>> import riemdp as rd
    >>> try:
    ...     rd.GDP(-1.0)
    ... except rd.RiemdpError as error:
    ...     print(error)
    mu = -1.0 is not a number above 0 and below inf: give one.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


class InputError(RiemdpError):
    """An argument has the wrong shape, type or value.

    Values of private records never raise one: only what is public does.

    Parameters
    ----------
    message : str
        One line: the argument, its value and what to do instead.

    See Also
    --------
    RiemdpError : The base class of all errors.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.Sphere(0)
    Traceback (most recent call last):
    riemdp.errors.InputError: d = 0: pass a whole number of at least 1.
    """


class MechanismError(RiemdpError):
    """The mechanism does not exist for this space, guarantee or scale.

    The message says what would work. It may be a function that finds it: plans try every mechanism, and few of their
    refusals are ever read.

    Parameters
    ----------
    message : str or callable
        One line, or a function without arguments that makes it.

    See Also
    --------
    RiemdpError : The base class of all errors.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.ZCDP(1.0).to_gdp()
    Traceback (most recent call last):
    riemdp.errors.MechanismError: ZCDP(rho=1.0) proves no mu < inf for GDP(mu=1.0): convert only down the list ...
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
    """The ledger's budget does not cover the asked release; nothing was spent.

    `ledger.remaining` is what still fits.

    Parameters
    ----------
    message : str
        One line: the argument, its value and what to do instead.

    See Also
    --------
    Ledger : Keeps a budget in a file.
    RiemdpError : The base class of all errors.

    Examples
    --------
    >>> import riemdp as rd
    >>> ledger = rd.Ledger("small.ledger", budget=rd.PureDP(1.0))
    >>> ledger.reserve(rd.PureDP(2.0))
    Traceback (most recent call last):
    riemdp.errors.BudgetExceeded: guarantee PureDP(epsilon=2.0) does not fit: ...
    """


class ConvergenceError(RiemdpError):
    """A certificate could not be reached; nothing uncertified is ever returned.

    Means of records that are far apart on a sphere need not be unique; no iteration can then prove that it found one.

    Parameters
    ----------
    message : str
        One line: the argument, its value and what to do instead.

    See Also
    --------
    frechet_mean : The mean with a certificate.
    RiemdpError : The base class of all errors.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.frechet_mean([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], rd.Sphere(2))
    Traceback (most recent call last):
    riemdp.errors.ConvergenceError: ...
    """


class UselessRelease(UserWarning):
    """Public numbers say that a release is worth nothing: mostly noise, or hardly any privacy.

    Given before anything is spent: `warnings.simplefilter("error", rd.UselessRelease)` refuses such a release.

    See Also
    --------
    private_mean : Gives this warning.
    plan : Predicts errors without data.

    Examples
    --------
    >>> import warnings, numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     release = rd.private_mean(np.zeros((5, 2)), ball, rd.PureDP(0.1))
    >>> told[0].category is rd.UselessRelease
    True
    """


class NoAdaptation(UserWarning):
    """`adapt` was asked for and, as public numbers decide, does nothing.

    The release is then the one without adaptation, for the whole guarantee.

    See Also
    --------
    Adaptation : How a release adapts to its records.
    private_mean : Gives this warning.

    Examples
    --------
    >>> import warnings, numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     release = rd.private_mean(np.zeros((30, 2)), ball, rd.GDP(1.0), adapt=True)
    >>> any(warning.category is rd.NoAdaptation for warning in told)
    True
    """
