"""What results of estimators.py say: verdicts, tables, a picture, and the page that holds them.

Everything is made of the saved results. What they do not have is a dash in a table and nothing in the picture.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from problems import REAL, panels
from riemdp.plots.style import BLACK, BLUE, GREEN, GREY, PURPLE, VERMILION

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "estimators.md", DOCS / "assets" / "estimators.png"
Results = dict[str, dict[str, Any]]
Found = dict[str, Any]
OURS, CURVED, ORACLE = "ours", "ours, on the space", "oracle, same records"


def show(key: str, found: Found) -> str:
    """A line about one problem."""
    rows = (f"{name} {_with_error(row)}" for name, row in found.items() if "mean" in row)
    return f"{key}: oracle {found['problem']['oracle']:.4g}; " + "; ".join(rows)


def _with_error(row: dict[str, float]) -> str:
    seconds = f" ({row['seconds']:.2g} s)" if "seconds" in row else ""
    return f"{row['mean']:.4g} ± {row['error']:.1g}{seconds}"


# --- verdicts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """A limit, and whether the results keep it."""

    sentence: str
    holds: bool


def verdicts(results: Results) -> list[Verdict]:
    """On all limits that the results can tell about."""
    return [*_beside_others(results), *_since_before(results)]


def _beside_others(results: Results) -> list[Verdict]:
    """Those that the page shows."""
    some = (_rotated(results), _time(results))
    return [*_against_published(results), *(one for one in some if one is not None)]


def ratios(results: Results, groups: Iterable[str], over: Callable[[Found], float | None]) -> dict[str, float]:
    """Mean error of ours over something else, by problem, where both are there."""
    some = {key: found for key, found in results.items() if OURS in found and found["problem"]["group"] in groups}
    others = {key: over(found) for key, found in some.items()}
    return {key: some[key][OURS]["mean"] / other for key, other in others.items() if other is not None}


def _least(found: Found, names: Iterable[str]) -> float | None:
    return min((found[name]["mean"] for name in names if name in found), default=None)


def _worst(found: dict[str, float]) -> str:
    key = max(found, key=lambda one: found[one])
    return f"{found[key]:.2f} ({key})"


def _against_published(results: Results) -> list[Verdict]:
    """As the figures are, and as if our records had been as lucky as theirs."""
    small = {key: found for key, found in results.items() if found["problem"]["d"] <= 512}
    plain = ratios(small, "ABC", lambda found: _least(found, RIVALS))
    even = {
        key: ratio * _with_their_luck(results[key], OURS) / results[key][OURS]["mean"] for key, ratio in plain.items()
    }
    oracle = {
        key: ratio * results[key]["problem"]["oracle"] / results[key][OURS]["mean"] for key, ratio in plain.items()
    }
    told = {"": plain, ", had our records' mean been as far off as theirs": even}
    return [_nine_of_ten(f"ours over the best published of PLAN and instance-optimal{how}, d <= 512", found, oracle)
            for how, found in told.items() if found]  # fmt: skip


RIVALS = ("published PLAN", "published instance-optimal")


def _with_their_luck(found: Found, name: str) -> float:
    """Noise is added to the mean of the records: their errors, squared, are the sum of both.

    So records whose mean happens to be near the population's can be told from an estimator that is.
    """
    own, theirs = found[name]["empirical"], found["published empirical"]["mean"]
    return math.sqrt(max(found[name]["mean"] ** 2 - own**2, 0.0) + theirs**2)


def _nine_of_ten(what: str, found: dict[str, float], oracle: dict[str, float]) -> Verdict:
    near, worst = sum(ratio <= 1.1 for ratio in found.values()), max(found.values())
    told = f"{what}: at most 1.1 in {near} of {len(found)} cells (nine of ten), worst {_worst(found)} (1.3); "
    return Verdict(told + f"the oracle's worst {_worst(oracle)}", near >= 0.9 * len(found) and worst <= 1.3)


def _rotated(results: Results) -> Verdict | None:
    """Where the oracle is not below the limit either, the error is that of the records, and nobody can be."""
    cells = [cell for key, found in results.items() if (cell := _beside_plan(key, found)) is not None]
    possible = {cell.key: cell.ours for cell in cells if cell.oracle <= LIMIT_TO_PLAN}
    if not possible:
        return None
    told = (
        f"ours over PLAN on C in random axes, in the {len(possible)} of {len(cells)} cells where the oracle is at most "
    )
    within = f"{LIMIT_TO_PLAN:g} times PLAN: worst {_worst(possible)} ({LIMIT_TO_PLAN:g})"
    return Verdict(told + within, max(possible.values()) <= LIMIT_TO_PLAN)


LIMIT_TO_PLAN = 0.8


@dataclass(frozen=True)
class BesidePlan:
    """Errors over that of PLAN on the same records of C in random axes."""

    key: str
    ours: float
    oracle: float
    records: float  # of their mean, without any noise

    @property
    def verdict(self) -> str:
        """What there is to say about the limit."""
        if self.ours <= LIMIT_TO_PLAN:
            return "kept"
        if self.oracle <= LIMIT_TO_PLAN:
            return "**not kept**"
        return "out of reach: " + ("the records alone" if self.records > LIMIT_TO_PLAN else "the oracle too")


def _beside_plan(key: str, found: Found) -> BesidePlan | None:
    """Of one problem, where all were measured, in the same runs."""
    names = (OURS, ORACLE, "PLAN")
    is_there = found["problem"]["group"] == "rotated C" and all(name in found for name in names)
    if not is_there or len({found[name]["runs"] for name in names}) > 1:
        return None
    plan = found["PLAN"]["mean"]
    errors = found[OURS]["mean"], found[ORACLE]["mean"], found[OURS]["empirical"]
    return BesidePlan(key, *(error / plan for error in errors))


def _time(results: Results) -> Verdict | None:
    taken = {
        key: found[OURS]["seconds"] for key, found in results.items() if OURS in found and found["problem"]["d"] == 2048
    }
    return (
        Verdict(f"processor seconds of a release, d = 2,048: worst {_worst(taken)} (5)", max(taken.values()) < 5)
        if taken
        else None
    )


LIMITS = {"OCT": 0.75, "MNIST": 0.9, "leaves": 0.9}  # of the error before; elsewhere 1.1


def _since_before(results: Results) -> list[Verdict]:
    """Real records at mu = 1."""
    at_one = {key: found for key, found in results.items() if found["problem"]["rho"] == 1 / 2}
    verdicts = []
    for group in REAL:
        for name in (OURS, CURVED):
            found = {key: one[name]["mean"] / one[f"{name}, before"]["mean"] for key, one in at_one.items()
                     if one["problem"]["group"] == group and name in one and f"{name}, before" in one}  # fmt: skip
            limit = LIMITS.get(group, 1.1)
            if found:
                told = f"{group}, {name}, over its error before, mu = 1: worst {_worst(found)} ({limit:g})"
                verdicts.append(Verdict(told, max(found.values()) <= limit))
    return verdicts


# --- tables --------------------------------------------------------------------------------------------------

HEADS = ("oracle", OURS, "PLAN", "PLAN, careful", "instance-optimal", "CoinPress", "empirical")


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(found: Found, name: str) -> str:
    if name == "oracle":
        return _shown(found["problem"]["oracle"])
    return _shown(found[name]["mean"] if name in found else math.nan)


def simulated_table(results: Results, rho: float = 1 / 8) -> str:
    """Errors at one rho; published figures in brackets."""
    names = ("oracle", OURS, "PLAN", "medians", "instance-optimal", "PLAN, careful", "CoinPress", "empirical")
    some = [
        found for found in results.values() if len(found["problem"]["group"]) == 1 and found["problem"]["rho"] == rho
    ]
    rows = [[_title(found), *(_number(found, name) + _bracket(found, name) for name in names)] for found in some]
    return _table(["", *names], rows)


def _title(found: Found) -> str:
    return f"{found['problem']['group']}, {found['problem']['name'].replace('alpha', 'α')}"


def _bracket(found: Found, name: str) -> str:
    return f" ({_shown(found[f'published {name}']['mean'])})" if f"published {name}" in found else ""


def check_table(results: Results) -> str:
    """How the rewritten estimators compare with the published figures, d <= 512."""
    small = [found for found in results.values() if found["problem"]["d"] <= 512]
    rows = []
    for name in ("PLAN", "instance-optimal", "medians", "empirical"):
        both = [found for found in small if name in found and f"published {name}" in found]
        if both:
            rows.append([name, str(len(both)), *_agreement(both, name)])
    heads = (
        "within 10 %, as measured",
        "the same, luck taken out",
        "of the others, within 3 standard errors",
        "beyond",
    )
    return _table(["", "cells", *heads, "geometric mean, luck taken out"], rows)


def _agreement(both: list[Found], name: str) -> list[str]:
    """Of the rewritten over the published: as measured; had the records been as lucky; what is left."""
    plain = [found[name]["mean"] / found[f"published {name}"]["mean"] for found in both]
    even = {_key(found): _quotient(found, name) for found in both}
    far = {_key(found): _apart(found, name) for found in both if not _is_near(_quotient(found, name))}
    beyond = [f"{key}: {even[key]:.2f}" for key, apart in far.items() if apart > 3]
    mean = math.exp(np.mean(np.log([*even.values()])))
    counts = (sum(map(_is_near, plain)), len(both) - len(far), len(far) - len(beyond))
    return [*map(str, counts), "; ".join(beyond) or "none", f"{mean:.3f}"]


def _is_near(ratio: float) -> bool:
    return 1 / 1.1 <= ratio <= 1.1


def _key(found: Found) -> str:
    return f"{_title(found)}, ρ = {found['problem']['rho']:g}"


def _quotient(found: Found, name: str) -> float:
    mean = found[name]["mean"] if name == "empirical" else _with_their_luck(found, name)
    return mean / found[f"published {name}"]["mean"]


def _apart(found: Found, name: str) -> float:
    """Standard errors."""
    one, other = found[name], found[f"published {name}"]
    return abs(one["mean"] - other["mean"]) / math.hypot(one["error"], other["error"])


def multiples_table(results: Results, groups: Iterable[str], rho: float) -> str:
    """Errors over the oracle's: geometric means over what a group has."""
    names = [name for name in HEADS if name not in ("oracle", "empirical")]
    rows = []
    for group in groups:
        some = [f for f in results.values() if f["problem"]["group"] == group and f["problem"]["rho"] == rho]
        if some:
            sizes = [_range(found["problem"][size] for found in some) for size in ("n", "d")]
            rows.append([group, *sizes, *(_shown(_multiple(some, name)) for name in names)])
    return _table(["", "n", "d", *names], rows)


def beside_plan_table(results: Results) -> str:
    """C in random axes, cell by cell: what each error is of PLAN's."""
    heads = ("records' own", "oracle", "ours", "ours over the oracle", f"at most {LIMIT_TO_PLAN:g}")
    cells = [(_key(found), cell) for key, found in results.items() if (cell := _beside_plan(key, found)) is not None]
    rows = [[key.removeprefix("rotated "), *_ratios_of(cell), cell.verdict] for key, cell in cells]
    return _table(["", *heads], rows)


def _ratios_of(cell: BesidePlan) -> list[str]:
    return [f"{ratio:.2f}" for ratio in (cell.records, cell.oracle, cell.ours, cell.ours / cell.oracle)]


def _range(values: Iterable[int]) -> str:
    least, *_, most = sorted(values) * 2
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _multiple(some: list[Found], name: str) -> float:
    """Not a number where something was not measured."""
    found = [one[name]["mean"] / one["problem"]["oracle"] for one in some if name in one]
    return math.exp(np.mean(np.log(found))) if len(found) == len(some) else math.nan


def _shown(value: float) -> str:
    """Three digits, none of them an exponent's."""
    if math.isnan(value):
        return "–"
    return f"{value:.3g}" if value < 1000 else f"{float(f'{value:.3g}'):,.0f}"


# --- picture -------------------------------------------------------------------------------------------------

STYLES: dict[str, dict[str, Any]] = {
    OURS: {"color": BLUE, "marker": "o", "linewidth": 2.0, "zorder": 5},
    "PLAN": {"color": VERMILION, "marker": "^"},
    "PLAN, careful": {"color": VERMILION, "marker": "^", "linestyle": ":"},
    "instance-optimal": {"color": GREEN, "marker": "v"},
    "CoinPress": {"color": PURPLE, "marker": "s"},
    "empirical": {"color": GREY, "marker": "", "linestyle": "-."},
}


def picture(results: Results) -> Any:
    """Errors as multiples of the oracle's: lines with bands of two standard errors; published means as open marks."""
    figure, axes = panels(2, 3, 3.5, 3.0)
    low = 1 / 8
    _panel(axes[0, 0], _some(results, "A", rho=low), "d", "A: all spreads the same, ρ = 1/8", "dimension")
    _panel(axes[0, 1], _some(results, "C", rho=low), "d", "C: spreads d, d/2, d/3, ..., ρ = 1/8", "dimension")
    _panel(axes[0, 2], _some(results, "rotated C", rho=low), "d", "C in random axes, ρ = 1/8", "dimension")
    _panel(axes[1, 0], _some(results, "B", rho=low), "alpha", "B: from even to skewed, d = 512, ρ = 1/8", "α")
    _panel(axes[1, 1], _some(results, "C", name="d = 512"), "rho", "C, d = 512", "ρ")
    _real_panel(axes[1, 2], results)
    for ax in axes[:, 0]:
        ax.set_ylabel("error over the oracle's")
    named = (line for ax in axes.flat for line in ax.get_lines() if line.get_label()[0] != "_")
    lines = {line.get_label(): line for line in named if len(line.get_xdata())}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _some(results: Results, group: str, **facts: Any) -> list[Found]:
    found = [one for one in results.values() if one["problem"]["group"] == group]
    return [one for one in found if all(one["problem"][name] == fact for name, fact in facts.items())]


def _place(found: Found, axis: str) -> float:
    return float(found["problem"]["name"].split()[-1]) if axis == "alpha" else found["problem"][axis]


def _panel(ax: Any, some: list[Found], axis: str, title: str, label: str) -> None:
    some = sorted(some, key=lambda found: _place(found, axis))
    _axes(ax, title)
    for name, style in STYLES.items():
        places, levels, bands = _levels(some, name, axis)
        ax.plot(places, levels, markersize=4, label=name, **style)
        ax.fill_between(
            places, np.maximum(levels - bands, 0.01), levels + bands, color=style["color"], alpha=0.15, linewidth=0
        )
        marks, published, _ = _levels(some, f"published {name}", axis)
        if name != "empirical" and marks:
            ax.plot(marks, published, "o", color=style["color"], markerfacecolor="none", markersize=9, label="_")
    ax.set_xlabel(label)
    if some and axis != "alpha":
        ax.set_xscale("log", base=2)
        ticks = sorted({_place(found, axis) for found in some})
        ax.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks], fontsize=8)
    if any(f"published {name}" in found for found in some for name in STYLES):
        ax.plot(
            [np.nan], [np.nan], "o", color=GREY, markerfacecolor="none", markersize=9, label="published, in its colour"
        )


def _levels(some: list[Found], name: str, axis: str) -> tuple[list[float], Any, Any]:
    there = [found for found in some if name in found]
    oracle = np.array([found["problem"]["oracle"] for found in there])
    means, errors = (np.array([found[name][what] for found in there]) for what in ("mean", "error"))
    return [_place(found, axis) for found in there], means / oracle, 2 * errors / oracle


def _axes(ax: Any, title: str, low: float = 0.3, high: float = 20.0) -> None:
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200) if low <= tick <= high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.axhline(1, color=BLACK, linewidth=1, linestyle="--", label="oracle: knows mean and covariance")
    ax.set_title(title, fontsize=9)


def _real_panel(ax: Any, results: Results) -> None:
    _axes(ax, "real records, mean of the classes, ρ = 1/2", 0.8, 200.0)
    groups = {group: some for group in REAL if (some := _some(results, group, rho=1 / 2))}
    for name in [name for name in STYLES if name != "empirical"]:
        style = STYLES[name] | {"linestyle": "", "markersize": 5, "label": "_"}
        fill = "none" if name == "PLAN, careful" else style["color"]
        ax.plot([_multiple(some, name) for some in groups.values()], markerfacecolor=fill, **style)
    ax.set_xticks(range(len(groups)), groups, rotation=90, fontsize=8)


# --- page ----------------------------------------------------------------------------------------------------


def tables(results: Results) -> dict[str, str]:
    """By the names that the page has for them."""
    return {
        "limits": "\n".join(f"- {_readable(verdict)}" for verdict in _beside_others(results)),
        "check": check_table(results),
        "simulated": simulated_table(results),
        "rotated": multiples_table(_rotated_too(results), ("B", "rotated B", "C", "rotated C"), 1 / 8),
        "beside PLAN": beside_plan_table(results),
        "real": multiples_table(results, REAL, 1 / 2),
    }


def _readable(verdict: Verdict) -> str:
    """Cells as in the tables, the limit in brackets, and whether it is kept."""
    told = re.sub(r" \| ([0-9.]+)\)", r", ρ = \1)", verdict.sentence).replace(" | ", ", ").replace("alpha", "α")
    told = told.replace("at most", "≤").replace("<=", "≤")
    return f"{told[0].upper()}{told[1:]}: {'kept' if verdict.holds else '**not kept**'}."


def _rotated_too(results: Results) -> Results:
    """What was measured in both kinds of axes."""
    plain = {key.removeprefix("rotated ") for key in results if key.startswith("rotated ")}
    return {key: found for key, found in results.items() if key.removeprefix("rotated ") in plain}


def filled(text: str, results: Results) -> str:
    """The page with its tables."""
    for name, table in tables(results).items():
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\1\n{table}\n\n\2", text, flags=re.DOTALL)
    return text


def write_page(results: Results) -> None:
    """Tables into the page, and the picture beside it."""
    PAGE.write_text(filled(PAGE.read_text(), results))
    buffer = io.BytesIO()
    picture(results).savefig(buffer, dpi=120)
    Image.open(buffer).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
