"""What a release is called, which numbers it has, and how its rows and columns are named, wherever it is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from riemdp.accounting.unit import counted
from riemdp.display import MOST_COLUMNS, Numbers
from riemdp.errors import InputError
from riemdp.io.values import numbers_of
from riemdp.manifolds import Space
from riemdp.manifolds.base import Array
from riemdp.releases.release import Release
from riemdp.statistics.class_means import CLASS_MEANS
from riemdp.statistics.median import MEDIAN
from riemdp.summaries.class_means import ClassMeans
from riemdp.summaries.summary import Summary

STATISTIC_NAMES = {
    "frechet-mean": "Fréchet mean",
    "tangent-mean": "tangent mean",
    CLASS_MEANS: "tangent means of the classes",
    MEDIAN: "geometric median",
    "geodesic-regression": "geodesic regression",
    "logistic-regression": "logistic regression",
    "linear-discriminant": "linear discriminant",
}


def noun(release: Release) -> str:
    """What was released, in words."""
    return STATISTIC_NAMES.get(release.statistic, release.statistic)


def centre_word(release: Release) -> str:
    """What noise is compared with: the mean of the records, or what stands in its place."""
    return {MEDIAN: "median", "geodesic-regression": "middle of the geodesic"}.get(release.statistic, "mean")


def title(release: Release) -> str:
    """What it is, and of how many records or people."""
    return f"Private {noun(release)} of {counted(release.n, release.unit)}"


def spaces(release: Release) -> tuple[Space, ...]:
    """The space of each class's mean, or of the one mean."""
    return release.space.parts if release.statistic == CLASS_MEANS else (release.space,)


def has_classes(release: Release) -> bool:
    """Whether it is of several means at once."""
    return len(spaces(release)) > 1


def error_of_one(release: Release) -> float:
    """Predicted for one mean: root mean square distance by which noise moves it."""
    return release.expected_error / math.sqrt(len(spaces(release)))


def kind_of_ball(release: Release) -> str:
    """Whether the ball in which noise was drawn was given, 'public', or paid for and found, 'private'."""
    # A median's steps leave the ball as it was; what finds a smaller one ends with its radius.
    is_found = release.statistic != MEDIAN and any(stage.task == "radius" for stage in release.stages)
    return "private" if is_found else "public"


def body_word(release: Release) -> str:
    """What records were forced into: a "ball", or an "ellipsoid" that was given or found."""
    if release.stages:
        is_ball = release.stages[-1].axes is None
    elif isinstance(release, Summary):
        is_ball = release.moments.axes is None
    else:
        is_ball = release.noisy is None or release.noisy.axes is None
    return "ball" if is_ball else "ellipsoid"


def clipping_words(release: Release) -> str:
    """What moving records into the private ball may have done to the mean, beside the noise."""
    given_up = [stage.given_up for stage in release.stages if stage.given_up is not None][-1]
    return (
        f"up to about {given_up:,} of {counted(release.n, release.unit)} may have been moved into it, which moves the "
        f"mean by up to {release.clipping:.2g} if they are on one side"
    )


def named_numbers(release: Release, names: Sequence[str] | None = None) -> list[Numbers]:
    """The arrays of the value; names, if given, are those of the rows of each array that has so many.

    A square matrix has the same names for its columns. Class means are rows, if these are short enough, and names are
    those of the classes.
    """
    arrays, words = _arrays(release), checked_names(names) or names_of_classes(release)
    if words and len(words) not in {len(array) for array in arrays if array.ndim}:
        rows = " or ".join(str(len(array)) for array in arrays)
        raise InputError(f"names has {len(words)} of them: pass {rows}, one for each row of the released value.")
    if release.kind == "point" and release.space.picture == "landmarks" and arrays[0].ndim == 2:
        return [Numbers(arrays[0], words, ("x", "y"))]
    return [_named(array, words, is_square=not has_classes(release)) for array in arrays]


def _arrays(release: Release) -> list[Array]:
    if not has_classes(release):
        return numbers_of(release.value, release.kind)
    rows = release.value.reshape(len(spaces(release)), -1)
    return [rows if rows.shape[1] <= MOST_COLUMNS else release.value]


def names_of_classes(release: Release) -> tuple[str, ...]:
    """The names of the rows, where each is the mean of a class."""
    if isinstance(release, ClassMeans) and len(_arrays(release)[0]) == len(release.labels):
        return tuple(map(str, release.labels))
    return ()


def _named(array: Array, words: tuple[str, ...], *, is_square: bool) -> Numbers:
    """The numbers with names for their rows and columns, where they fit."""
    if not array.ndim or len(array) != len(words):
        return Numbers(array)
    return Numbers(array, words, words if is_square and array.shape == (len(words),) * 2 else ())


def checked_names(names: Sequence[str] | None, count: int | None = None) -> tuple[str, ...]:
    """Names as a tuple, none as an empty one; InputError if they are no texts, or not so many."""
    if names is None:
        return ()
    texts = () if isinstance(names, str) else tuple(names)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(f"names = {names!r:.100}: pass a list of texts, such as ['x', 'y', 'z'].")
    if count is not None and len(texts) != count:
        raise InputError(f"names has {len(texts)} of them: pass {count}, one for each row of a point.")
    return texts
