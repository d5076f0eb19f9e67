"""The part of a report that tells by which steps a release spent its guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from riemdp.display import Table, paragraph
from riemdp.labels import body_word, clipping_words, kind_of_ball
from riemdp.markup import rows_html, section
from riemdp.plots import symbolic
from riemdp.releases.release import Release, Stage
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.median import MEDIAN
from riemdp.summaries.regression import Regression

ADAPTED = (
    "Part of the guarantee was spent on private centres and radii, so that the noise of the mean follows the spread of "
    "the records instead of the public ball; rounds went on as long as they paid, and the mean had all that they left. "
    "A few records far from all others, on one side, count for less than in the mean of all."
)
LEARNT = (
    "Part of the guarantee was spent on where the records are and how they spread, so that noise and weights have "
    "their scale; the rest on the weights."
)
ROUNDS = "Each round releases moments of the residuals about the geodesic that the one before found, and mends it."
RADIUS = " Between rounds residuals got a private radius."
DOWNHILL = (
    "Step by step towards the point with the least sum of distances to the records, with noise in every step; a "
    "private distance on the way says how wide the records lie."
)
TOGETHER = "Each step is private; together they spend the guarantee above."
SHAPED = "The noise has the shape of the records: an ellipsoid, of which the radius is that of its longest axis."


def steps_html(release: Release) -> str:
    """How a release of several steps spent its guarantee, nothing if there was one step only."""
    if not release.stages:
        return ""
    name, text = _how_found(release)
    shape = paragraph(SHAPED) if release.stages[-1].axes is not None else ""
    cut = "" if release.clipping is None else paragraph(_sentence(clipping_words(release)))
    head = ["step", "spends", "mechanism", "scale", "radius of the ball"]
    table = rows_html(Table(head, _rows(release.stages), head[3:]))
    return section(name, paragraph(f"{text} {TOGETHER}"), shape, cut, table)


def _how_found(release: Release) -> tuple[str, str]:
    """What the steps were for: a heading, and words."""
    if isinstance(release, ClassifierRelease):
        return "How it was learnt", LEARNT
    if isinstance(release, Regression):
        return "How it was found", ROUNDS + (RADIUS if kind_of_ball(release) == "private" else "")
    if release.statistic == MEDIAN:
        return "How it was found", DOWNHILL
    return f"How the {body_word(release)} was found", ADAPTED


def _rows(stages: Sequence[Stage]) -> list[tuple[str, ...]]:
    """A row for each step, or for several in turn that are alike."""
    rows = [
        (stage.task, symbolic(stage.guarantee), stage.mechanism, f"{stage.scale:.4g}", f"{stage.reach:.4g}")
        for stage in stages
    ]
    alike = [(row, len(list(turn))) for row, turn in groupby(rows)]
    return [row if many == 1 else (f"{row[0]}, {many} times", f"{row[1]} each", *row[2:]) for row, many in alike]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
