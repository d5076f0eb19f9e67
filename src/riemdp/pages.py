"""What is on the page of each thing that shows itself: in `print`, in a notebook, on the command line, in a report.

A class of releases with more to show registers a page of its own: `@page_of.register`, made of `release_page` and what
it adds to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Context
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.audit import Audit
from riemdp.balls import Ball
from riemdp.check import Check
from riemdp.comparison import Comparison
from riemdp.display import Numbers, Page, Table, page_of
from riemdp.ellipsoids import Ellipsoid
from riemdp.errors import RiemdpError
from riemdp.labels import (
    body_word,
    centre_word,
    clipping_words,
    error_of_one,
    kind_of_ball,
    named_numbers,
    spaces,
    title,
)
from riemdp.manifolds import Space
from riemdp.manifolds.base import Array
from riemdp.plots.guarantees import symbolic
from riemdp.plots.summaries import NO_MODES, is_within_memory, tells_modes
from riemdp.privacy.ledger import Entry, Ledger
from riemdp.promises import detection_percentage, promise
from riemdp.regions import LEVEL, Region
from riemdp.releases.plan import Plan
from riemdp.releases.release import Release
from riemdp.statistics.classifier import ClassifierRelease
from riemdp.statistics.frechet import FrechetMean
from riemdp.statistics.plans import PlanTable
from riemdp.summaries.class_means import ClassMeans
from riemdp.summaries.regression import Regression
from riemdp.summaries.summary import Modes, Summary

NOISE_ALONE = "noise alone: root mean square distance to the {what} of the records as moved into the {body}"
MEANING = NOISE_ALONE.format(what="mean", body="ball")
NOT_PRIVATE = "NOT PRIVATE: a function of the records, without noise."
MOST_ENTRIES = 50  # of a ledger, the latest
MOST_MODES = 5  # of a summary
MOST_LABELS = 12  # of classes
MOST_OF_CENTER = 9  # numbers of a centre that are shown in a line


# --- guarantees and balls --------------------------------------------------------------------------------------


def short(guarantee: Guarantee, rounding: str = ROUND_HALF_EVEN) -> str:
    """A guarantee without its assumptions, to 6 digits."""
    digits = Context(prec=6, rounding=rounding)
    values = {name: float(digits.create_decimal(repr(value))) for name, value in guarantee.parameters.items()}
    return f"({', '.join(f'{name} = {value:g}' for name, value in values.items())})-{guarantee.notion}"


@page_of.register
def guarantee_page(guarantee: Guarantee) -> Page:
    """What it promises, in words, and what an attacker is left with."""
    words, _ = promise(guarantee)
    attacker = f"right at most {detection_percentage(guarantee)} of the time, where blind guesses are 5 % of the time"
    facts = {"guarantee": f"{guarantee.notion}, {guarantee.adjacency} adjacency", "in words": words}
    facts["an attacker"] = f"who is wrong at most 5 % of the time when a record was not in is {attacker}"
    return Page(symbolic(guarantee, exact=True), facts | _assuming(guarantee))


def _assuming(guarantee: Guarantee) -> dict[str, str]:
    return {"assuming": "; ".join(guarantee.assumptions)} if guarantee.assumptions else {}


@page_of.register
def ball_page(ball: Ball) -> Page:
    """The page of a ball: where it is and how large."""
    facts = {"space": f"{ball.space!r}, dimension {ball.space.dim:,}", "centre": center_words(ball.space, ball.center)}
    is_whole = ball.center.size > MOST_OF_CENTER and not _is_origin(ball.space, ball.center)
    values = (Numbers(ball.center),) if is_whole else ()
    where = "around the origin of" if _is_origin(ball.space, ball.center) else "in"
    facts["radius"] = f"{ball.radius:.6g}"
    line = f"radius {ball.radius:.6g} {where} {ball.space!r}"
    return Page(f"Ball of {line}", facts, values, line=line)


@page_of.register
def ellipsoid_page(ellipsoid: Ellipsoid) -> Page:
    """Where it is, and how far it reaches in which directions."""
    space, center = ellipsoid.space, ellipsoid.center
    lengths = ellipsoid.half_axes
    facts = {"space": f"{space!r}, dimension {space.dim:,}", "centre": center_words(space, center, "a public point")}
    facts["half axes"] = f"from {lengths.min():.4g} to {lengths.max():.4g}, root mean square {_rms(lengths):.4g}"
    return Page(f"Ellipsoid in {space!r}", facts)


def _rms(lengths: Array) -> float:
    return float(np.sqrt(np.mean(lengths**2)))


def center_words(space: Space, center: Array, elsewhere: str = "see below") -> str:
    """The centre of a ball in a line; where it does not fit, where it is shown instead."""
    if _is_origin(space, center):
        return f"the origin of the space{''.join(f' ({name})' for name in space.center_names)}"
    if center.size > MOST_OF_CENTER:
        return elsewhere
    return np.array2string(center, precision=4, separator=", ").replace("\n", "")


def _is_origin(space: Space, center: Array) -> bool:
    return np.array_equal(center, space.origin)


# --- releases and plans ----------------------------------------------------------------------------------------


@page_of.register
def release_page(release: Release, names: Sequence[str] | None = None) -> Page:
    """What was released, what it promises and how it was made."""
    facts = {
        "guarantee": f"{short(release.guarantee)}, {release.guarantee.adjacency} adjacency, of one {release.unit}",
        "mechanism": f"{release.mechanism}, scale {release.scale:.4g}, sensitivity {release.sensitivity:.4g}",
        "expected error": f"{_error_words(release)} ({_noise_alone(release)})",
        **_assuming(release.guarantee),
        **({"note": release.remark} if release.remark else {}),
    }
    name = f"{title(release)}, {spaces(release)[0]!r}"
    line = f"{name}, {short(release.guarantee)}, {release.mechanism}"
    return Page(name, facts, named_numbers(release, names), line=line)


def _noise_alone(release: Release) -> str:
    return NOISE_ALONE.format(what=centre_word(release), body=body_word(release))


def _error_words(release: Release) -> str:
    share, is_ball = release.expected_error / release.radius, body_word(release) == "ball"
    if not release.stages:
        whole = "the ball's radius" if is_ball else "the ellipsoid's longest half axis"
        return f"{release.expected_error:.4g}, {share:.2g} of {whole}"
    words = f"{release.expected_error:.4g}, {share:.2g} of the ball's radius"
    body = "ball of radius" if is_ball else "ellipsoid that reaches"
    cut = f"; {clipping_words(release)}" if release.clipping is not None else ""
    return f"{words}, in a {kind_of_ball(release)} {body} {release.ball.radius:.4g}{cut}"


@page_of.register
def summary_page(summary: Summary, names: Sequence[str] | None = None) -> Page:
    """The page of a release, and how the records spread."""
    page = release_page(summary, names)
    return replace(page, facts=page.facts | spread_facts(summary))


def spread_facts(summary: Summary) -> dict[str, str]:
    """Root mean square distance to the mean, and the directions that are more than noise."""
    facts = {"dispersion": f"{summary.dispersion:.4g} (root mean square distance to the mean)"}
    if not is_within_memory(summary):
        return facts | {"modes": f"none of {summary.space.dim:,} dimensions, which are too many for a covariance"}
    modes = _mode_words(summary.modes()) if tells_modes(summary) else NO_MODES
    return facts | {"modes": modes, f"{100 * LEVEL:g} % region": _region_words(summary)}


def _mode_words(modes: Modes) -> str:
    """How many are more than noise, and their shares."""
    if not len(modes):
        return "none beyond noise"
    shares = ", ".join(f"{ratio:.0%}" for ratio in modes.ratios[:MOST_MODES])
    more = ", ..." if len(modes) > MOST_MODES else ""
    return f"{len(modes)} beyond noise, with {shares}{more} of the variance"


def _region_words(summary: Summary) -> str:
    """How far the regions reach, where they reach farthest."""
    population, records = (summary.region(LEVEL, of=of) for of in ("population", "records"))
    reach = f"at most {population.reach:.3g} from the released mean, of the records within {records.reach:.3g}"
    return f"the mean of the population is {reach} (to first order)"


@page_of.register
def regression_page(fit: Regression, names: Sequence[str] | None = None) -> Page:
    """The page of a release, whose value is the point in the middle, and how fast points move there."""
    page = release_page(fit, names)
    return replace(page, facts=page.facts | trend_facts(fit))


def trend_facts(fit: Regression) -> dict[str, str]:
    """Along which numbers, how fast, and how much of the variance that explains."""
    low, high = fit.t_bounds
    speed = float(fit.space.norm(fit.velocity, fit.value))
    return {
        "along": f"t from {low:g} to {high:g}; the value is the point at t = {fit.middle:g}",
        "velocity": f"{speed:.4g} per unit of t, known to {fit.velocity_error:.2g} (noise alone)",
        "R²": f"{fit.r_squared:.2f}: the share of the variance that t explains",
    }


@page_of.register
def modes_page(modes: Modes) -> Page:
    """A row for each mode."""
    head = ["mode", "standard deviation", "share", "more than noise"]
    spread = zip(modes.variances, modes.ratios, modes.significant, strict=True)
    rows = [
        [str(i), f"{max(variance, 0.0) ** 0.5:.4g}", f"{ratio:.1%}", "yes" if is_real else "no"]
        for i, (variance, ratio, is_real) in enumerate(spread, 1)
    ]
    share = f"{float(np.sum(modes.ratios)):.0%} of the variance"
    many = "principal geodesic" if len(modes) == 1 else "principal geodesics"
    name = f"{len(modes)} {many}, {share}" if rows else "No mode is more than noise"
    return Page(name, tables=[Table(head, rows, head[:3])] if rows else ())


@page_of.register
def region_page(region: Region) -> Page:
    """What it holds, how surely, and how far it reaches."""
    facts = {
        "holds": f"the mean of the {region.of} with probability {region.level:g}",
        "reaches": f"{region.reach:.4g} from its middle, where it reaches farthest (to first order)",
        "space": repr(region.space),
    }
    return Page(f"Region of the mean of the {region.of}", facts)


@page_of.register
def frechet_page(mean: FrechetMean) -> Page:
    """The exact mean, after the words that it is not private."""
    facts = {"error": f"at most {mean.error_bound:.3g}, proven", "passes": f"{mean.iterations:,} over the records"}
    line = f"NOT PRIVATE, error at most {mean.error_bound:.3g}"
    return Page("Fréchet mean", facts, [Numbers(np.asarray(mean.point))], warning=NOT_PRIVATE, line=line)


@page_of.register
def comparison_page(found: Comparison, labels: Sequence[str] = ("a", "b")) -> Page:
    """How far two means are apart, and whether that is more than chance."""
    first, second = labels
    more = "more than" if found.p_value < 1 - LEVEL else "no more than"
    name = f"The means of {first} and {second} are {found.distance:.4g} apart"
    facts = {
        "p-value": f"{found.p_value:.3g}: so often would equal means seem at least as far apart",
        "in words": f"{more} what sampling and noise explain, at a level of {100 * (1 - LEVEL):.0f} %",
        "statistic": f"T = {found.statistic:.4g} of {found.degrees:,} degrees of freedom",
        "assuming": "; ".join(found.assumptions),
    }
    return Page(name, facts, line=f"{name}, p = {found.p_value:.3g}")


@page_of.register
def class_means_page(release: ClassMeans, names: Sequence[str] | None = None) -> Page:
    """The page of a release, with the error of one mean, and which classes they are of."""
    page, error = release_page(release, names), error_of_one(release)
    words = f"{error:.4g}, {error / release.radius:.2g} of the ball's radius, of each mean if classes are of equal size"
    facts = {"expected error": f"{words} ({MEANING})", "classes": _class_words(release.labels)}
    rare = [str(label) for label, is_rare in zip(release.labels, release.left_out, strict=True) if is_rare]
    if rare:
        facts["look out"] = f"hardly any {release.unit} is in {', '.join(rare)}: such a mean is noise"
    return replace(page, facts=page.facts | facts)


def _class_words(labels: Sequence[Any]) -> str:
    return f"{len(labels)}: " + ", ".join(map(str, labels[:MOST_LABELS])) + ", ..." * (len(labels) > MOST_LABELS)


@page_of.register
def classifier_page(classifier: ClassifierRelease, names: Sequence[str] | None = None) -> Page:
    """The page of a release, and what it tells apart; what it learnt from has no radius to compare noise with."""
    page = release_page(classifier, names)
    facts = {"expected error": f"{classifier.expected_error:.4g} in what is learnt (noise alone: root mean square)"}
    facts["classes"] = _class_words(classifier.labels)
    return replace(page, facts=page.facts | facts)


@page_of.register
def plan_page(plans: PlanTable) -> Page:
    """What each mechanism would do."""
    body = "an ellipsoid that reaches" if plans.is_shaped else "a ball of radius"
    place = f"{plans.n:,} records of {plans.ball.space!r} in {body} {plans.ball.radius:.6g}"
    meaning = NOISE_ALONE.format(what="mean", body="ellipsoid" if plans.is_shaped else "ball")
    notes = [f"Expected error: {meaning}.", *(f"{_name(row)}: {row.note}." for row in plans if row.note)]
    return Page(f"{place}, {short(plans.guarantee)}", tables=[plan_rows(plans, plans.ball.radius)], notes=notes)


def plan_rows(plans: Sequence[Plan], radius: float) -> Table:
    """A row for each plan."""
    head = ["mechanism", "expected error", "of the radius", "scale", "sensitivity"]
    numbers = ((row.expected_error, row.scale, row.sensitivity) for row in plans)
    cells = [[f"{e:.4g}", f"{e / radius:.3g}", f"{scale:.4g}", f"{move:.4g}"] for e, scale, move in numbers]
    return Table(head, [[_name(row), *rest] for row, rest in zip(plans, cells, strict=True)], head[1:])


def _name(row: Plan) -> str:
    return f"{row.mechanism}, adaptive" if row.rounds else row.mechanism


# --- ledgers ---------------------------------------------------------------------------------------------------


@page_of.register
def ledger_page(ledger: Ledger) -> Page:
    """Budget, what is spent and left of it, and the latest entries; or why the file cannot be read."""
    try:
        facts, entries = balance(ledger) | _protected(ledger), ledger.history()
    except RiemdpError as problem:
        return Page(f"Ledger {ledger.path.name}", {"budget": short(ledger.budget)}, warning=str(problem))
    tables = [entry_rows(entries)] if entries else []
    return Page(f"Ledger {ledger.path.name}", facts | {"releases charged": f"{len(entries):,}"}, tables=tables)


def balance(ledger: Ledger) -> dict[str, str]:
    """Budget, spent and left, in words."""
    parts = {"budget": (ledger.budget, ROUND_HALF_EVEN), "spent": (ledger.spent, ROUND_UP)}
    parts["left"] = (ledger.remaining, ROUND_DOWN)  # so that what is shown can be asked for
    return {name: short(amount, rounding) if amount else "nothing" for name, (amount, rounding) in parts.items()}


def _protected(ledger: Ledger) -> dict[str, str]:
    """What all its entries protect, if there are any."""
    return {"protects": f"one {ledger.unit}"} if ledger.unit else {}


def entry_rows(entries: Sequence[Entry], most: int = MOST_ENTRIES) -> Table:
    """A row for each entry, or for the latest ones."""
    head = ["id", "time (UTC)", "status", "guarantee", "what"]
    kept = entries[-most:]
    caption = "" if len(kept) == len(entries) else f"The latest {most} of {len(entries):,} entries."
    return Table(head, [_entry_cells(entry) for entry in kept], ["id"], caption)


def _entry_cells(entry: Entry) -> list[str]:
    when = entry.time_utc.removesuffix("+00:00").replace("T", " ")
    return [str(entry.id), when, entry.status, short(entry.guarantee), entry.description]


# --- looks that are no releases ----------------------------------------------------------------------------------


@page_of.register
def check_page(found: Check) -> Page:
    """How records lie in a ball, after the words that this is not private."""
    quantiles = ", ".join(f"{level:.0%}: {value:.4g}" for level, value in found.distances.items())
    facts = {
        "records": f"{found.n:,}",
        "inside": f"{found.inside:,}",
        "outside": f"{found.outside:,} (a release moves them onto the rim of the ball)",
        "unusable": f"{found.unusable:,} (a release takes the centre instead)",
        "distances": f"{quantiles or 'none'} (quantiles, to the centre; the radius is {found.radius:.4g})",
    }
    facts |= {"people": found.about_people} if found.people is not None else {}
    look_again = {"look again": " ".join(found.findings)} if found.findings else {}
    line = f"{found.warning.partition(':')[0]}, {found.n:,} records: {found.inside:,} in the ball"
    return Page(f"A look at {found.n:,} records", facts | look_again, warning=found.warning, line=line)


@page_of.register
def audit_page(found: Audit) -> Page:
    """What was claimed, what was found, and whether these fit."""
    bounds = [f"{name} >= {bound:.4g}" for name, bound in found.lower.items()]
    if "epsilon" not in found.lower or "alpha" in found.claimed.parameters:
        bounds.append(f"epsilon >= {found.epsilon_lower:.4g} of pure differential privacy")
    verdict = "the claim is not contradicted" if found.holds else "the claim is CONTRADICTED"
    draws = f"{found.confidence:.12g}, {found.draws:,} draws of each neighbour"
    facts = {
        **_audited(found),
        "claimed": str(found.claimed),
        "found": ", ".join(bounds),
        "confidence": f"{draws} ({found.neighbours})" if found.neighbours else draws,
        "verdict": verdict,
    }
    line = f"{short(found.claimed)}, {verdict}"
    return Page(f"Audit of {line}", facts, line=line)


def _audited(found: Audit) -> dict[str, str]:
    """The mechanism, if it is one of riemdp's."""
    if found.mechanism is None:
        return {}
    noise = "adaptive" if found.adapt else f"scale {found.scale:.4g}, sensitivity {found.sensitivity:.4g}"
    return {"mechanism": f"{found.mechanism}, {noise}"}
