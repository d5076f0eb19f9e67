"""One page about one release: what it is, what it promises, and what it costs; made from public things alone.

The page is a single HTML file without scripts that loads nothing, and says so to the browser. It is a list of sections
(`SECTIONS`), each a function of the subject that gives HTML or nothing: what a new kind of release has to say is one
more of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from riemdp.accounting.guarantee import Guarantee
from riemdp.accounting.unit import RECORD, counted, several, yours
from riemdp.balls import Ball
from riemdp.display import Table, page_of, paragraph
from riemdp.errors import InputError, MechanismError
from riemdp.io.files import write_whole
from riemdp.labels import (
    body_word,
    centre_word,
    error_of_one,
    has_classes,
    kind_of_ball,
    named_numbers,
    noun,
    spaces,
    title,
)
from riemdp.markup import (
    both_widths,
    data_uri,
    facts_html,
    figure_html,
    image,
    items,
    numbers_tables,
    rows_html,
    section,
    whole_page,
)
from riemdp.mechanisms import MECHANISMS
from riemdp.pages import center_words, plan_rows, spread_facts, trend_facts
from riemdp.plots import is_exact_tradeoff, plot_release, plot_summary, plot_tradeoff, symbolic
from riemdp.plots.groups import FAR, edges_fall
from riemdp.plots.summaries import shows_spread, tells_modes
from riemdp.privacy.ledger import Ledger
from riemdp.promises import detection_bound, detection_percentage, neighbours, promise
from riemdp.releases.plan import Plan
from riemdp.releases.release import Release
from riemdp.statistics.catalogue import StatisticName, statistic_names
from riemdp.statistics.class_means import WITHIN_CLASSES
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.mean import plan
from riemdp.steps import steps_html
from riemdp.summaries.regression import Regression
from riemdp.summaries.summary import Summary

if TYPE_CHECKING:
    from riemdp.plots.panels import Links


PRINTED = 5  # entries of a ledger, as in report.html


@dataclass(frozen=True)
class Reported:
    """What a page is about, and what its rows, columns and landmarks are called."""

    release: Release
    ledger: Ledger | None = None
    names: Sequence[str] | None = None
    links: Links | None = None


def write_report(
    release: Release,
    path: str | Path,
    *,
    ledger: Ledger | None = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
    force: bool = False,
) -> None:
    """Write the page about a release, whole or not at all.

    Parameters
    ----------
    release : Release
        What `private_mean` or another release returned.
    path : str or Path
        A name that ends in `.html`.
    ledger : Ledger, optional
        The one that the release was charged to: the page shows its state.
    names : sequence of str, optional
        Of rows and columns of matrices, entries of vectors, landmarks or classes: as many as there are.
    links : {'outline', 'path', 'none'} or sequence of pairs of int, optional
        Lines between landmarks in the picture, counted from 0.
    force : bool
        Whether to replace a file that is there already; otherwise that is refused.

    Raises
    ------
    InputError
        If an argument does not fit the release, or the file exists or cannot be written.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    >>> release = rd.private_mean(rd.Sphere(2).random_point(100, 1), ball, rd.GDP(1.0))
    >>> write_report(release, "directions.html", names=["east", "north", "up"])
    """
    write_whole(path, report_html(release, ledger=ledger, names=names, links=links).encode(), force=force)


def report_html(
    release: Release,
    *,
    ledger: Ledger | None = None,
    names: Sequence[str] | None = None,
    links: Links | None = None,
) -> str:
    """The page about a release, and the state of the ledger that it was charged to, as HTML.

    Parameters
    ----------
    release : Release
        What `private_mean` or another release returned.
    ledger : Ledger, optional
        The one that the release was charged to: the page shows its state.
    names : sequence of str, optional
        Of rows and columns of matrices, entries of vectors, landmarks or classes: as many as there are.
    links : {'outline', 'path', 'none'} or sequence of pairs of int, optional
        Lines between landmarks in the picture, counted from 0.

    Returns
    -------
    str
        A whole page, that loads nothing.

    Raises
    ------
    InputError
        If an argument does not fit the release.

    Examples
    --------
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    >>> release = rd.private_mean(rd.Sphere(2).random_point(100, 1), ball, rd.GDP(1.0))
    >>> report_html(release).startswith("<!DOCTYPE html>")
    True
    """
    if not isinstance(release, Release):
        raise InputError(f"release is of type {type(release).__name__}: pass what private_mean() returned.")
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
    subject = Reported(release, ledger, names, links)
    sections = [part(subject) for part in SECTIONS]
    return whole_page(title(release), release.version, _lead(subject) + "\n" + _picture(subject), sections)


# --- what was released -------------------------------------------------------------------------------------


def _lead(subject: Reported) -> str:
    release = subject.release
    moved = "each of them" if has_classes(release) else "it"
    noise = f" The noise is predicted to move {moved} by {error_of_one(release):.3g}."
    noise = "" if isinstance(release, ClassifierRelease) else noise  # of numbers that have no unit
    points, whose = spaces(release)[0].words, counted(release.n, release.unit)
    whose = f"{release.n:,} {points}" if release.unit == RECORD else f"{whose}, each with {points}"
    return paragraph(
        f"The {noun(release)} of {whose}, published with noise that "
        f"protects every single {release.unit}: {symbolic(release.guarantee)}, by the mechanism {release.mechanism}."
        f"{noise}",
        "lead",
    )


def _picture(subject: Reported) -> str:
    release, word = subject.release, centre_word(subject.release)
    whose, body = kind_of_ball(release), body_word(release)
    alt = f"Picture of the released {noun(release)} with the {whose} centre and {body}; values below."
    caption = (
        f"Simulated releases, where shown, are draws of the same noise around the released {word} (moved into the "
        f"ball if it lies outside): they show how far noise moves the {word} of the records as moved into the {body}."
    )
    if isinstance(release, Regression):
        alt = f"The released {noun(release)} against t, with bands."
        caption = "How points change with t, along the released geodesic, and how far noise may have moved it."
    if release.kind != "point":
        alt, caption = f"The numbers of the released {noun(release)}.", "The released numbers, in their order."
    if isinstance(release, ClassifierRelease):
        alt = f"Coefficients of the released {noun(release)}."
        caption = "What speaks for each class, and what against it."
    asked: dict[str, Any] = {"names": subject.names, "links": subject.links, "title": ""}
    return both_widths(partial(plot_release, release, **asked), alt, caption)


def _value(subject: Reported) -> str:
    release = subject.release
    file = json.dumps(release.to_dict(), indent=1).encode()
    size = f"{max(1, round(len(file) / 1024)):,} kB"
    link = f'<a class="download" download="release.json" href="{data_uri(file, "application/json")}">'
    numbers = [numbers_tables(one) for one in named_numbers(release, subject.names)]
    note = paragraph("The released value, to 4 digits; the file below has all of them, and everything else.", "note")
    full = _full_ball(release)
    return section("What was released", full, note, *numbers, f"<p>{link}The release as JSON ({size})</a></p>")


def _full_ball(release: Release) -> str:
    """A warning of a ball that nearly all records fill or leave: first of all, as it may make numbers worthless."""
    if not release.remark:
        return ""
    counted_apart = "" if release.clipping is None else f" {MOVED_BEFORE.format(body=body_word(release))}"
    return paragraph(f"By the release itself, {release.remark}.{counted_apart}", "warning")


MOVED_BEFORE = (
    "The number of records that may have been moved into the private {body}, given below, leaves out records beyond "
    "the given ball: those were moved to its rim before."
)


def _spread(subject: Reported) -> str:
    """How the records spread, if that was released."""
    if not isinstance(subject.release, Summary):
        return ""
    picture = _spread_picture(subject, subject.release) if shows_spread(subject.release) else ""
    return section("How the records spread", facts_html(spread_facts(subject.release).items()), picture)


def _spread_picture(subject: Reported, summary: Summary) -> str:
    alt = f"Modes of the records: what lies {FAR:g} standard deviations from the mean; and the variances."
    caption = " ".join([BY_MODES, *([EDGES_FALL] if edges_fall(summary) else []), REST_SHARED, ALL_AT_ONCE])
    if not tells_modes(summary):
        alt = f"The spread of the records: what lies {FAR:g} standard deviations from the mean."
        caption = f"{ALL_AROUND} {ALL_AT_ONCE}"
    asked: dict[str, Any] = {"names": subject.names, "links": subject.links, "title": ""}
    return both_widths(partial(plot_summary, summary, **asked), alt, caption)


BY_MODES = (
    "How the records vary, mode by mode. A mode is seen if its variance, and that of every mode before it, is above "
    "the dashed line, which noise alone hardly ever reaches."
)
EDGES_FALL = "The line falls step by step, as each mode leaves one direction less for noise."
REST_SHARED = "Modes that are not seen share what is left of the whole variance."
ALL_AROUND = "How the records would vary if they did so as much in all directions: which they prefer was not released."
ALL_AT_ONCE = "All of it comes from the one release and costs nothing more."


def _trend(subject: Reported) -> str:
    """How points change with t, if that was released."""
    if not isinstance(subject.release, Regression):
        return ""
    return section("How it changes", facts_html(trend_facts(subject.release).items()))


# --- what is promised --------------------------------------------------------------------------------------


def _guarantee(subject: Reported) -> str:
    guarantee, unit = subject.release.guarantee, subject.release.unit
    words, symbols = promise(guarantee, unit)
    formula = f'<p><span class="formula">{symbols}</span></p>'
    name = f"In symbols, {symbolic(guarantee)}: {guarantee.notion}, {guarantee.adjacency} adjacency. {neighbours(unit)}"
    return section("The guarantee", f'<div class="promise">{paragraph(words)}</div>', paragraph(name), formula)


CLASSES_APART = (
    "This holds if you have one record, in one class. Whoever has records in several classes changes several class "
    "means, and is not covered by it: the guarantees of the classes add up."
)


def _attacker(subject: Reported) -> str:
    guarantee, unit = subject.release.guarantee, subject.release.unit
    bound, shown = detection_bound(guarantee), detection_percentage(guarantee)
    sentence = (
        f"Whoever guesses from this release whether {yours(unit)} in the data or another one in its place, and is "
        f"wrong at most 5 % of the time when it was not, is right at most {shown} of the time when it was. "
        f"This holds for an attacker who knows all the other {several(unit)} and has unlimited time; guessing blindly, "
        f"without the release, one is right 5 % of the time."
    )
    weak = paragraph("This promise is weak: such an attacker may be right more often than not.", "warning")
    return section(
        "What an attacker can and cannot learn",
        f'<div class="promise">{paragraph(sentence)}</div>',
        weak if bound > 0.5 else "",
        paragraph(CLASSES_APART, "warning") if WITHIN_CLASSES in guarantee.assumptions else "",
        _tradeoff(guarantee, bound, unit),
        paragraph(f"What stays hidden, up to that bound: whether {yours(unit)} in the data, and what sets it apart."),
        paragraph("What it does not hide:"),
        items([*NOT_HIDDEN, SEVERAL_RECORDS if unit == RECORD else f"how many {several(unit)} there are: public."]),
    )


def _tradeoff(guarantee: Guarantee, bound: float, unit: str) -> str:
    """The picture of what an attacker can do."""
    alt = f"Trade-off curve of {symbolic(guarantee)}: at 5 % false alarms every attack misses at least {1 - bound:.1%}."
    note = "" if is_exact_tradeoff(guarantee) else " The curve is a bound, by the best conversions to (ε, δ)-DP."
    caption = "Errors of the best conceivable attack: the closer to the dashed diagonal, the less it learns." + note
    return figure_html(image(plot_tradeoff(guarantee, title=f"Was this {unit} in the data?")), alt, caption)


NOT_HIDDEN = (
    "what is true of the records together: that is what was published, and what it says of people like you it says "
    "whether or not your record was in;",
    "what is public by assumption: the number n, the ball, the mechanism and its scale;",
    "what other releases from the same records say: their guarantees add up, which is what a ledger keeps;",
)
SEVERAL_RECORDS = (
    "several records of one person: this protects one record. If people have several, a release with groups=, an id "
    "for each record (--groups on the command line), protects a person with all of them."
)


def _assumptions(subject: Reported) -> str:
    guarantee, unit = subject.release.guarantee, subject.release.unit
    other = "any other of its class" if WITHIN_CLASSES in guarantee.assumptions else "any other"
    fixed = f"one {unit} of the data is one unit of protection, and any {unit} may be replaced by {other}"
    texts = items([*guarantee.assumptions, fixed])
    return section("Assumptions", paragraph("The guarantee takes for granted:"), texts)


# --- how good it is, and how it was made ---------------------------------------------------------------------


def _accuracy(subject: Reported) -> str:
    release = subject.release
    if release.kind != "point":
        text = f"Noise is predicted to move the released value by {release.expected_error:.4g} (root mean square)."
        return section("How accurate it is", paragraph(text), paragraph(NOISE_ONLY))
    error, word, body = error_of_one(release), centre_word(release), body_word(release)
    is_private = kind_of_ball(release) == "private"
    ball, public = (f"private {body}", "ball") if is_private else (body, body)
    share = error / release.radius
    which = "each class's records" if has_classes(release) else "the records"
    equal = ", and that classes are of equal size" if has_classes(release) else ""
    text = (
        f"The root mean square distance between the release and the {word} of {which} as moved into the {ball} is "
        f"predicted to be {error:.4g}, which is {share:.2g} times the radius of the public {public}. The prediction "
        f"uses public quantities only and supposes that this {word} is the {public}'s centre{equal}."
    )
    poor = paragraph("The noise is as large as the ball: its public centre is as good an answer.", "warning")
    parts = [paragraph(text), paragraph(NOISE_ONLY), poor if share >= 1 else "", _alternatives(release)]
    return section("How accurate it is", *parts)


NOISE_ONLY = (
    "This is the noise alone. A ball that misses the data moves the answer by any amount, which is "
    "private and is not counted; and how well the records stand for others (sampling) is not counted either."
)


def _stages(subject: Reported) -> str:
    return steps_html(subject.release)


def _alternatives(release: Release) -> str:
    """This release, and what other mechanisms would do for the same guarantee."""
    own = Plan(release.mechanism, release.guarantee, release.sensitivity, release.scale, error_of_one(release))
    plans = sorted([own, *_other_plans(release)], key=lambda row: row.expected_error)
    is_given_shape = not release.stages and body_word(release) == "ellipsoid"
    where = "a ball around the ellipsoid and the same n" if is_given_shape else "the same ball and n"
    caption = f"What mechanisms that can give the same guarantee would do with {where}; this one is marked."
    rows = replace(plan_rows(plans, release.radius), used=plans.index(own))
    return paragraph(caption, "note") + rows_html(rows) + _notes(plans)


def _other_plans(release: Release) -> list[Plan]:
    ball = Ball(release.space, release.center, release.radius)
    if release.statistic not in statistic_names():  # several class means at once: no plan compares their mechanisms
        return []
    try:
        found = plan(ball, release.n, release.guarantee, statistic=cast(StatisticName, release.statistic))
    except (InputError, MechanismError):  # InputError: of a statistic or for a mechanism that is not known here
        return []
    return [row for row in found if row.mechanism != release.mechanism]


def _notes(plans: Sequence[Plan]) -> str:
    """What some of the mechanisms suppose beyond what all do."""
    known = [row.mechanism for row in plans if row.mechanism in MECHANISMS]
    texts = [f"{name} supposes more: {text}." for name in known for text in MECHANISMS[name].assumptions]
    return "".join(paragraph(text, "note") for text in texts)


def _parameters(subject: Reported) -> str:
    release = subject.release
    rounding = f"to multiples of {release.grid:.4g}" if release.grid else "none: published in float64 as computed"
    rows = [
        ("statistic", noun(release)),
        ("space", _spaces(release)),
        ("dimension", f"{release.space.dim:,}"),
        ("n", counted(release.n, release.unit)),
        ("protects", f"one {release.unit}"),
        ("centre of the ball", center_words(release.space, release.center, "in the file above")),
        ("radius of the ball", f"{release.radius:.6g}"),
        ("mechanism", release.mechanism),
        ("guarantee", symbolic(release.guarantee, exact=True)),
        ("sensitivity", f"{release.sensitivity:.6g}"),
        ("scale of the noise", f"{release.scale:.6g}"),
        ("rounding", rounding),
        ("riemdp", release.version),
    ]
    return section("Parameters", paragraph("All of them are public.", "note"), facts_html(rows))


def _spaces(release: Release) -> str:
    """The space, or that of each class."""
    each = spaces(release)
    return repr(each[0]) + (f", of each of {len(each)} classes" if len(each) > 1 else "")


def _ledger(subject: Reported) -> str:
    """The state of the ledger, and its latest entries."""
    if subject.ledger is None:
        return ""
    page = page_of(subject.ledger)
    state = paragraph(f"State of {subject.ledger.path.name} when this page was made.", "note")
    tables = [_entries(table) for table in page.tables]
    warning = paragraph(page.warning, "warning") if page.warning else ""
    return section("Ledger", state, warning, facts_html(page.facts.items()), *tables)


def _entries(table: Table) -> str:
    """The entries; on paper, which has two pages, the last ones."""
    note = paragraph(f"On paper: the latest {PRINTED}.", "note on-paper") if len(table.rows) > PRINTED else ""
    return rows_html(table, "rows entries") + note


# In this order, below the picture.
SECTIONS: list[Callable[[Reported], str]] = [
    _value, _spread, _trend, _guarantee, _attacker, _assumptions, _accuracy, _stages, _parameters, _ledger,
]  # fmt: skip
