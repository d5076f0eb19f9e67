"""One page about one release: what it is, what it promises, and what it costs; made from public things alone.

The page is a single HTML file without scripts that loads nothing, and says so to the browser.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape as escape_html
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from riemdp.errors import InputError, MechanismError, printable
from riemdp.io.files import write_whole
from riemdp.io.values import numbers_of
from riemdp.manifolds import Space
from riemdp.manifolds.base import Array
from riemdp.mechanisms import MECHANISMS
from riemdp.names import StatisticName
from riemdp.plots import (
    STATISTIC_NAMES,
    figure_bytes,
    is_exact_tradeoff,
    plot_release,
    plot_tradeoff,
    symbolic,
    tradeoff,
)
from riemdp.privacy.bounded import Ball
from riemdp.privacy.ledger import Entry, Ledger
from riemdp.privacy.release import Plan, Release
from riemdp.statistics.catalogue import statistic_names
from riemdp.statistics.class_means import CLASS_MEANS, WITHIN_CLASSES
from riemdp.statistics.mean import plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FALSE_ALARMS = 0.05
FEW_ROWS, MOST_ROWS, MOST_COLUMNS = 12, 200, 12  # of a value that is shown as a table; more than few are folded
MOST_ENTRIES = 50  # of a ledger, the latest


def write_report(release: Release, path: str | Path, *, ledger: Ledger | None = None, force: bool = False) -> None:
    """Write the page about a release, whole or not at all; over an existing file only with `force`."""
    write_whole(path, report_html(release, ledger=ledger).encode(), force=force)


def report_html(release: Release, *, ledger: Ledger | None = None) -> str:
    """The page about a release, and the state of the ledger that it was charged to, as HTML."""
    if not isinstance(release, Release):
        raise InputError(f"release is of type {type(release).__name__}: pass what private_mean() returned.")
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
    parts = [_summary(release), _value(release), _picture(release), _guarantee(release.guarantee)]
    parts += [_attacker(release.guarantee), _assumptions(release.guarantee), _accuracy(release), _parameters(release)]
    parts += [_ledger(ledger)] if ledger is not None else []
    template = Template(files("riemdp").joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(_title(release)), version=escape(release.version), body="\n".join(parts))


# --- pieces of HTML; everything that is not a literal here passes through escape() -----------------------------


def escape(text: str) -> str:
    """Text that shows as itself in a page, whatever letters it has."""
    return escape_html(printable(text))


def _section(heading: str, *content: str) -> str:
    return "\n".join(["<section>", f"<h2>{escape(heading)}</h2>", *content, "</section>"])


def _p(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def _items(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], cell: str = "", used: int = -1) -> str:
    """A table in a box that scrolls by itself; `cell`: 'number', 'line' (not broken) or text; `used`: a row to mark."""
    kind, line = f' class="{cell}"' if cell else "", ' class="line"' if cell else ""
    top = "".join(f'<th scope="col"{kind if i else line}>{escape(text)}</th>' for i, text in enumerate(head))
    body = [
        f'<tr{" class=used" if i == used else ""}><th scope="row"{line}>{escape(first)}</th>'
        + "".join(f"<td{kind}>{escape(text)}</td>" for text in rest)
        + "</tr>"
        for i, (first, *rest) in enumerate(rows)
    ]
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">{table}</div>'
    return _p(caption, "note") + box


def _data_uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _image(figure: Figure) -> str:
    return _data_uri(figure_bytes(figure, ".svg"), "image/svg+xml")


def _img(source: str, alt: str, caption: str, narrow: str = "") -> str:
    """A picture; `narrow` is another one for the screen of a phone."""
    other = f'<source media="(max-width: 640px)" srcset="{narrow}">' if narrow else ""
    picture = f'<picture>{other}<img src="{source}" alt="{escape(alt)}"></picture>'
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


# --- what was released -------------------------------------------------------------------------------------

def _title(release: Release) -> str:
    return f"Private {_noun(release)} of {release.n:,} records"


def _noun(release: Release) -> str:
    return STATISTIC_NAMES.get(release.statistic, release.statistic)


def _spaces(release: Release) -> tuple[Space, ...]:
    """That of the mean of each class, or of the one mean."""
    return release.space.parts if release.statistic == CLASS_MEANS else (release.space,)


def _has_classes(release: Release) -> bool:
    return len(_spaces(release)) > 1


def _error(release: Release) -> float:
    """Predicted for one mean: root mean square distance by which noise moves it."""
    return release.expected_error / math.sqrt(len(_spaces(release)))


def _summary(release: Release) -> str:
    moved = "each of them" if _has_classes(release) else "it"
    return _p(
        f"The {_noun(release)} of {release.n:,} {_spaces(release)[0].words}, published with noise that "
        f"protects every single record: {symbolic(release.guarantee)}, by the mechanism {release.mechanism}. "
        f"The noise is predicted to move {moved} by {_error(release):.3g}.",
        "lead",
    )


def _value(release: Release) -> str:
    file = json.dumps(release.to_dict(), indent=1).encode()
    size = f"{max(1, round(len(file) / 1024)):,} kB"
    link = f'<a class="download" download="release.json" href="{_data_uri(file, "application/json")}">'
    tables = [_value_table(array) for array in _shown(release)]
    return _section("What was released", *tables, f"<p>{link}The release as JSON ({size})</a></p>")


def _shown(release: Release) -> list[Array]:
    """The arrays of the value; class means as rows, in the order of the classes, if rows are short enough."""
    if not _has_classes(release):
        return numbers_of(release.value, release.kind)
    rows = release.value.reshape(len(_spaces(release)), -1)
    return [rows if rows.shape[1] <= MOST_COLUMNS else release.value]


def _value_table(value: Array) -> str:
    """The value, if it is small enough to be read."""
    rows = value if value.ndim == 2 else value.reshape(-1, 1)
    if len(rows) > MOST_ROWS or rows.shape[1] > MOST_COLUMNS:
        shape = " × ".join(map(str, value.shape))
        return _p(f"An array of shape {shape}: too large for this page, complete in the file below.")
    head = ["", *(["value"] if value.ndim == 1 else [str(j + 1) for j in range(rows.shape[1])])]
    cells = [[str(i + 1), *(f"{entry:.6g}" for entry in row)] for i, row in enumerate(rows)]
    table = _table("The released value, to 6 digits; the file has all of them.", head, cells, "number")
    return table if len(rows) <= FEW_ROWS else f"<details><summary>Show the {len(rows)} rows</summary>{table}</details>"


def _picture(release: Release) -> str:
    alt = f"Picture of the released {_noun(release)} with the public centre and ball; see the values above."
    caption = (
        "Simulated releases, where shown, are draws of the same noise around the released mean (moved into the "
        "ball if it lies outside): they show how far noise moves the mean of the records as moved into the ball."
    )
    if release.kind != "point":
        alt, caption = f"The numbers of the released {_noun(release)}.", "The released numbers, in their order."
    wide, narrow = (_image(plot_release(release, stacked=stacked)) for stacked in (False, True))
    return _section("Picture", _img(wide, alt, caption, narrow))


# --- what is promised --------------------------------------------------------------------------------------

NEIGHBOURS = "The mechanism M has it if, for all data sets D and D′ of n records that differ in one,"
FOR_ALL = "for all sets S of possible publications"
Promise = tuple[str, str]  # in words, and in symbols (HTML)


def _pure(g: PureDP) -> Promise:
    words = (
        f"Whatever was published would have been published with almost the same probability if any one record had "
        f"been another one: the two probabilities differ by a factor of at most exp(ε) ≈ {_factor(g.epsilon)}."
    )
    return words, f"P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] {FOR_ALL}"


def _approx(g: ApproxDP) -> Promise:
    words = (
        f"Whatever was published would have been published with almost the same probability if any one record had "
        f"been another one: the two probabilities differ by a factor of at most exp(ε) ≈ {_factor(g.epsilon)}, "
        f"apart from a part of probability δ = {g.delta:.3g}."
    )
    return words, f"P[M(D) ∈ S] ≤ e<sup>ε</sup> · P[M(D′) ∈ S] + δ {FOR_ALL}"


def _gaussian(g: GDP) -> Promise:
    words = (
        f"Telling from the publication whether any one record was in the data, or another one in its place, is at "
        f"least as hard as telling from a single number whether it was drawn around 0 or around {g.mu:.4g}, with "
        f"standard deviation 1."
    )
    return words, "T(M(D), M(D′)) ≥ T(N(0, 1), N(μ, 1)), with T the trade-off curve of the best test"


def _concentrated(g: ZCDP) -> Promise:
    words = (
        f"If any one record had been another one, the law of what is published would have been close to what it "
        f"was: their Rényi divergence of every order α is at most {g.rho:.4g} α, as if Gaussian noise had hidden a "
        f"change of {math.sqrt(2 * g.rho):.3g} standard deviations."
    )
    return words, "D<sub>α</sub>(M(D) ‖ M(D′)) ≤ ρ α for all α &gt; 1"


def _renyi(g: RDP) -> Promise:
    words = (
        f"If any one record had been another one, the law of what is published would have been close to what it "
        f"was: their Rényi divergence of order {g.alpha:.4g} is at most {g.epsilon:.4g}."
    )
    return words, "D<sub>α</sub>(M(D) ‖ M(D′)) ≤ ε"


PROMISES: dict[type[Guarantee], Callable[[Any], Promise]] = {
    PureDP: _pure,
    ApproxDP: _approx,
    GDP: _gaussian,
    ZCDP: _concentrated,
    RDP: _renyi,
}


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):,.3g}" if epsilon < 700 else "more than 1e304"


def _guarantee(guarantee: Guarantee) -> str:
    words, symbols = PROMISES[type(guarantee)](guarantee)
    formula = f'<p><span class="formula">{symbols}</span></p>'
    name = f"In symbols, {symbolic(guarantee)}: {guarantee.notion}, {guarantee.adjacency} adjacency. {NEIGHBOURS}"
    return _section("The guarantee", f'<div class="promise">{_p(words)}</div>', _p(name), formula)


def detection_bound(guarantee: Guarantee, false_alarms: float = FALSE_ALARMS) -> float:
    """The largest power of any test for one record with at most that many false alarms: 1 - its trade-off."""
    return float(1 - tradeoff(guarantee, false_alarms))


CLASSES_APART = (
    "This holds if you have one record, in one class. Whoever has records in several classes changes several class "
    "means, and is not covered by it: the guarantees of the classes add up."
)


def _attacker(guarantee: Guarantee) -> str:
    bound = detection_bound(guarantee)
    shown = f"{math.ceil(1000 * bound - 1e-9) / 10:g} %"
    sentence = (
        f"Whoever guesses from this release whether your record was in the data or another one in its place, and is "
        f"wrong at most 5 % of the time when it was not, is right at most {shown} of the time when it was. "
        f"This holds for an attacker who knows all the other records and has unlimited time; guessing blindly, "
        f"without the release, one is right 5 % of the time."
    )
    weak = _p("This promise is weak: such an attacker may be right more often than not.", "warning")
    alt = f"Trade-off curve of {symbolic(guarantee)}: at 5 % false alarms every attack misses at least {1 - bound:.1%}."
    note = "" if is_exact_tradeoff(guarantee) else " The curve is a bound, by the best conversions to (ε, δ)-DP."
    caption = "Errors of the best conceivable attack: the closer to the dashed diagonal, the less it learns." + note
    return _section(
        "What an attacker can and cannot learn",
        f'<div class="promise">{_p(sentence)}</div>',
        weak if bound > 0.5 else "",
        _p(CLASSES_APART, "warning") if WITHIN_CLASSES in guarantee.assumptions else "",
        _img(_image(plot_tradeoff(guarantee)), alt, caption),
        _p("What stays hidden, up to that bound: whether your record was in the data, and what sets it apart."),
        _p("What it does not hide:"),
        _items(NOT_HIDDEN),
    )


NOT_HIDDEN = (
    "what is true of the records together: that is what was published, and what it says of people like you it says "
    "whether or not your record was in;",
    "what is public by assumption: the number of records, the ball, the mechanism and its scale;",
    "what other releases from the same records say: their guarantees add up, which is what a ledger keeps;",
    "several records of one person, who is then protected as a group only, more weakly.",
)


def _assumptions(guarantee: Guarantee) -> str:
    other = "any other of its class" if WITHIN_CLASSES in guarantee.assumptions else "any other"
    fixed = f"one record of the data is one unit of protection, and any record may be replaced by {other}"
    return _section("Assumptions", _p("The guarantee takes for granted:"), _items([*guarantee.assumptions, fixed]))


# --- how good it is, and how it was made ---------------------------------------------------------------------


def _accuracy(release: Release) -> str:
    if release.kind != "point":
        text = f"Noise is predicted to move the released value by {release.expected_error:.4g} (root mean square)."
        return _section("How accurate it is", _p(text), _p(NOISE_ONLY)) + _stages(release)
    error, ball = _error(release), "private ball" if release.stages else "ball"
    share = error / release.radius
    which = "each class's records" if _has_classes(release) else "the records"
    equal = ", and that classes are of equal size" if _has_classes(release) else ""
    text = (
        f"The root mean square distance between the release and the mean of {which} as moved into the {ball} is "
        f"predicted to be {error:.4g}, which is {share:.2g} times the radius of the public ball. The prediction uses "
        f"public quantities only and supposes that this mean is the ball's centre{equal}."
    )
    poor = _p("The noise is as large as the ball: its public centre is as good an answer.", "warning")
    parts = [_p(text), _p(NOISE_ONLY), poor if share >= 1 else "", _alternatives(release)]
    return _section("How accurate it is", *parts) + _stages(release)


NOISE_ONLY = (
    "This is the noise alone. A ball that misses the data moves the mean of the records by any amount, which is "
    "private and is not counted; and how well the records stand for others (sampling) is not counted either."
)


def _stages(release: Release) -> str:
    """How an adaptive release spent its guarantee, step by step."""
    if not release.stages:
        return ""
    rows = [
        (stage.task, symbolic(stage.guarantee), stage.mechanism, f"{stage.scale:.4g}", f"{stage.radius:.4g}")
        for stage in release.stages
    ]
    text = (
        "Part of the guarantee was spent on a private centre and a private radius, so that the noise of the mean "
        "follows the spread of the records instead of the public ball. Each step is private; together they spend "
        "the guarantee above. A few records far from all others, on one side, count for less than in the mean of all."
    )
    head = ["step", "spends", "mechanism", "scale", "radius of the ball"]
    return _section("How the ball was found", _p(text), _table("The steps, in order.", head, rows, "number"))


def _alternatives(release: Release) -> str:
    """This release, and what other mechanisms would do for the same guarantee."""
    own = Plan(release.mechanism, release.guarantee, release.sensitivity, release.scale, _error(release))
    plans = sorted([own, *_other_plans(release)], key=lambda row: row.expected_error)
    rows = [_alternative(row, own) for row in plans]
    caption = "Predicted error of the mechanisms that can give the same guarantee with the same ball and n."
    head = ["mechanism", "predicted error", "relative", "scale", "sensitivity"]
    return _table(caption, head, rows, "number", plans.index(own)) + _notes(plans)


def _alternative(row: Plan, own: Plan) -> list[str]:
    ratio = "this one" if row is own else f"{row.expected_error / own.expected_error:.2f} ×"
    return [row.mechanism, f"{row.expected_error:.4g}", ratio, f"{row.scale:.4g}", f"{row.sensitivity:.4g}"]


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
    return "".join(_p(text, "note") for text in texts)


def _parameters(release: Release) -> str:
    rounding = f"to multiples of {release.grid:.4g}" if release.grid else "none: published in float64 as computed"
    rows = [
        ("statistic", _noun(release)),
        ("space", repr(release.space)),
        ("dimension", f"{release.space.dim:,}"),
        ("records n", f"{release.n:,}"),
        ("centre of the ball", _center(release)),
        ("radius of the ball", f"{release.radius:.6g}"),
        ("mechanism", release.mechanism),
        ("guarantee", symbolic(release.guarantee, exact=True)),
        ("sensitivity", f"{release.sensitivity:.6g}"),
        ("scale of the noise", f"{release.scale:.6g}"),
        ("rounding", rounding),
        ("riemdp", release.version),
    ]
    return _section("Parameters", _table("All of them are public.", ["parameter", "value"], rows))


def _center(release: Release) -> str:
    if np.array_equal(release.center, release.space.origin):
        return "the origin of the space (identity, zero, north pole, regular polygon)"
    if release.center.size > 9:
        return "in the file above"
    return np.array2string(release.center, precision=4, separator=", ").replace("\n", "")


# --- the ledger ----------------------------------------------------------------------------------------------


def _ledger(ledger: Ledger) -> str:
    entries, spent, left = ledger.history(), ledger.spent, ledger.remaining
    rows = [
        ("budget", symbolic(ledger.budget, exact=True)),
        ("spent", symbolic(spent, exact=True) if spent else "nothing yet"),
        ("remaining", symbolic(left, exact=True) if left else "nothing"),
        ("releases charged", f"{len(entries):,}"),
    ]
    state = _table(f"State of {ledger.path.name} when this page was made.", ["quantity", "value"], rows)
    lines = [_entry(entry) for entry in entries[-MOST_ENTRIES:]]
    kept = "All" if len(lines) == len(entries) else f"The latest {len(lines)}"
    head = ["no.", "time (UTC)", "guarantee", "description", "status"]
    return _section("Ledger", state, _table(f"{kept} entries.", head, lines, "line"))


def _entry(entry: Entry) -> list[str]:
    time = entry.time_utc[:19].replace("T", " ")
    return [str(entry.id), time, symbolic(entry.guarantee, exact=True), entry.description, entry.status]
