"""What a guarantee protects: one record, or one person with all of theirs; and how that is said."""

from __future__ import annotations

from typing import Any

from riemdp.errors import InputError

RECORD, GROUP = "record", "group"
LONGEST = 60  # characters
PUBLIC = "the number of records, the ball and the footpoint are public"


def unit_of(groups: Any, unit: str | None) -> str:
    """What is protected by a release with these `groups=` and this `unit=`; an InputError if they do not fit."""
    if groups is None:
        if unit not in (None, RECORD):
            raise InputError(f"unit = {unit!r:.80} needs groups=: pass an id for each record, range(n) if all differ.")
        return RECORD
    return GROUP if unit is None else unit_name(unit)


def unit_name(unit: Any) -> str:
    """A name for those who have several records."""
    if not isinstance(unit, str) or not unit.strip() or len(unit) > LONGEST or not unit.isprintable():
        raise InputError(f"unit = {unit!r:.80}: pass a word such as 'patient', of {LONGEST} letters at most.")
    if unit == RECORD:
        raise InputError("unit = 'record' does not fit groups=: pass a name of those who have them, such as 'patient'.")
    return unit


def counted(n: int, unit: str) -> str:
    """So many of them, in words."""
    return f"{n:,} {unit if n == 1 else several(unit)}"


def several(unit: str) -> str:
    """More than one of them, as English does it mostly."""
    if unit == "person":
        return "people"
    return f"{unit[:-1]}ies" if unit.endswith("y") and unit[-2:-1] not in "aeiou" else f"{unit}s"


def any_one(unit: str) -> str:
    """One of them, whichever it is, in a sentence."""
    return "any one record" if unit == RECORD else f"any one {unit}, with all records of theirs,"


def yours(unit: str) -> str:
    """Whoever reads it, in a sentence that goes on with where it was."""
    return "your record was" if unit == RECORD else f"you, as a {unit} with all of your records, were"


def assumptions(unit: str) -> tuple[str, ...]:
    """What is public, and what is replaced by something else in a neighbouring data set."""
    if unit == RECORD:
        return (PUBLIC,)
    return (
        f"the number of {several(unit)}, the ball and the footpoint are public; who has how many records is not",
        f"one {unit} is replaced, with all records of that id, by one with any number of records; "
        f"a record whose id is missing counts as one {unit} by itself",
    )
