"""How things show themselves: by `repr`, by `print`, in a notebook and on the command line, with the same rows."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from markup import Page, words_apart
from riemdp import pages
from riemdp.cli import app
from riemdp.display import Numbers, Table, html_of, numbers_html, page_of, table_lines
from riemdp.statistics.plans import PlanTable

SPACE = rd.SPDAffine(3)
BALL = rd.Ball(SPACE, np.eye(3), 1.5)
EVIL = '"><script>alert(1)</script>'
COMMANDS = "\x1b[31m\u202ered"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="riemdp")
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def mean() -> rd.Release:
    return rd.private_mean(SPACE.random_point(300, 1), BALL, rd.GDP(1.0))


@pytest.fixture(scope="module")
def releases(mean) -> dict[str, rd.Release]:
    """One of every kind: a mean, an adaptive one, means of classes, numbers, a matrix, several things at once."""
    labels = np.arange(90) % 3
    model = rd.PrivateMDM(ball=BALL, guarantee=rd.GDP(1.0), private_labels=True, classes=[0, 1, 2])
    noise = np.random.default_rng(0).normal(scale=0.02, size=(2000, 3, 3))
    return {
        "mean": mean,
        "adaptive": rd.private_mean(SPACE.exp(noise + noise.mT, np.eye(3)), BALL, rd.GDP(2.0), adapt=True),
        "summary": rd.private_summary(SPACE.random_point(300, 1), BALL, rd.GDP(1.0)),
        "median": rd.private_median(SPACE.random_point(300, 1), BALL, rd.GDP(1.0)),
        "regression": rd.private_regression(SPACE.random_point(300, 1), np.arange(300.0), BALL, rd.GDP(1.0), t_bounds=(0.0, 300.0)),
        "classes": model.fit(SPACE.random_point(90, 2), labels).releases_[0],
        "numbers": replace(mean, value=np.array([1.5, 2.5]), kind="numbers", statistic="counts"),
        "matrix": replace(mean, value=np.diag([1.0, 2.0]), kind="symmetric matrix", statistic="spread"),
        "several": replace(mean, value=(np.eye(3), np.array([0.25, 0.5])), kind=("point", "numbers"), statistic="both"),
    }


KINDS = ["mean", "adaptive", "summary", "median", "regression", "classes", "numbers", "matrix", "several"]


@pytest.fixture
def ledger(tmp_path) -> rd.Ledger:
    book = rd.Ledger(tmp_path / "budget.db", rd.GDP(2.0))
    book.reserve(rd.GDP(0.5), "first")
    return book


# --- releases ------------------------------------------------------------------------------------------------


def test_a_regression_shows_how_fast_points_move(releases):
    fit = releases["regression"]
    assert f"velocity        {SPACE.norm(fit.velocity, fit.value):.4g} per unit of t" in str(fit)
    assert f"R² {fit.r_squared:.2f}" in words_apart(fit._repr_html_())


def test_noise_is_said_to_move_what_was_released(releases):
    said = {"mean": "distance to the mean of", "median": "distance to the median of", "regression": "distance to the middle of the geodesic of"}
    for kind, words in said.items():
        assert words in " ".join(str(releases[kind]).split())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda s: rd.Ellipsoid(SPACE, np.eye(3), [2.0, 1.0, 1.0, 1.0, 1.0, 0.5], 1.5), ("half axes", "from 0.75 to 3")),
        (lambda s: s.modes(2), ("standard deviation", "more than noise", "2 principal geodesics")),
        (lambda s: s.region(0.9), ("the mean of the records with probability 0.9", "where it reaches farthest")),
        (lambda s: s.region(0.9, of="population"), ("the mean of the population with probability 0.9",)),
        (lambda s: rd.compare(s, s), ("p-value", "no more than what sampling and noise explain")),
        (lambda s: rd.frechet_mean(SPACE.random_point(9, 0), SPACE), ("NOT PRIVATE", "proven")),
    ],
)
def test_what_is_made_of_releases_or_beside_them_shows_itself(releases, make, said):
    thing = make(releases["summary"])
    assert "\n" not in repr(thing)
    html = Page(thing._repr_html_())
    assert html.loads == []
    for words in said:
        assert words in " ".join(str(thing).split())
        assert words in words_apart(thing._repr_html_())


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_of_every_kind_has_a_line_a_text_and_a_page(releases, kind):
    release = releases[kind]
    line, text, page = repr(release), str(release), Page(release._repr_html_())
    assert "\n" not in line
    assert len(line) < 250
    for known in (f"{release.n:,} records", release.mechanism, "mu = "):
        assert known in line
        assert known in text
        assert known in page.words
    assert all(len(row) <= 100 for row in text.splitlines())
    assert "script" not in page.tags
    assert page.loads == []
    for assumption in release.guarantee.assumptions:
        assert assumption in " ".join(text.split())
        assert assumption in page.words


def test_all_numbers_of_the_value_are_there(releases):
    text, html = str(releases["several"]), words_apart(releases["several"]._repr_html_())
    assert "value           [[1. 0. 0.]" in text
    assert "[0.25 0.5 ]" in text
    assert "value 1 0.25 2 0.5" in html
    assert "1 1 0 0 2 0 1 0 3 0 0 1" in html


def test_a_private_ball_is_called_private(releases):
    assert "in a private ball of radius" in " ".join(str(releases["adaptive"]).split())
    assert "private ball" not in str(releases["mean"])


def test_a_summary_shows_the_spread(releases):
    summary = releases["summary"]
    assert f"dispersion      {summary.dispersion:.4g} (root" in str(summary)
    assert f"{len(summary.modes())} beyond noise" in Page(summary._repr_html_()).words
    nothing = np.zeros((50, 2)), rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0), rd.GDP(1.0)
    told = {second: str(rd.private_summary(*nothing, second=second)) for second in ("trace", "diagonal")}
    assert "only the sum of the variances was released, which tells the dispersion but no modes" in told["trace"]
    assert "none beyond noise" in told["diagonal"]
    assert "none beyond noise" not in told["trace"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_depends_on_the_release_alone(releases, kind):
    """Nothing private shows: a copy that was read where the records never were shows the same."""
    data = json.loads(json.dumps(releases[kind].to_dict()))
    copied = rd.Release.from_dict(data)
    assert (repr(copied), str(copied), html_of(copied)) == tuple(f(releases[kind]) for f in (repr, str, html_of))


def test_the_command_line_prints_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", SPACE.random_point(300, 1))
    printed = run(
        "mean", "X.npy", "--space", "spd-affine", "--center", "identity", "--radius", 1.5, "--mu", 1, "--out", "s.json"
    )
    page = page_of(rd.Release.load("s.json"))
    assert page.title in printed
    for name, text in page.facts.items():
        assert f"{name:14}  {text}\n" in printed
    assert np.array2string(rd.Release.load("s.json").value, precision=8).split("\n")[0] in printed


def test_large_values_are_not_printed(mean):
    large = rd.Euclidean(200)
    release = rd.private_mean(np.zeros((50, 200)), rd.Ball(large, np.zeros(200), 1.0), rd.PureDP(1000.0))
    assert "an array of shape 200: all of it is in .value" in str(release)
    assert "Show the 200 rows" in release._repr_html_()
    assert "too large" in numbers_html(Numbers(np.zeros((3, 13))))


def test_a_class_of_releases_shows_what_it_adds(mean):
    class Spread(rd.Release):
        dispersion = 0.5

    @page_of.register(Spread)
    def _(release):
        page = pages.release_page(release)
        return replace(page, facts=page.facts | {"dispersion": f"{release.dispersion:g}"})

    found = Spread(**vars(mean))
    assert "dispersion      0.5\n" in str(found)
    assert "<td data-label=\"\">0.5</td>" in html_of(found)
    assert repr(found).startswith("<Spread: Private Fréchet mean")


def test_what_has_no_page_says_how_to_have_one():
    with pytest.raises(TypeError, match=r"page_of\.register"):
        page_of(3)


# --- names ---------------------------------------------------------------------------------------------------


def test_names_in_text_and_html(mean):
    page = page_of(mean, ["Fz", EVIL, COMMANDS])
    html = numbers_html(page.values[0])
    assert html.count(escape(EVIL)) >= 2
    assert "\x1b" not in html
    lines = page.values[0].text().split("\n")
    assert lines[1].split() == ["Fz", *(f"{x:.8g}" for x in mean.value[0])]
    assert len(set(map(len, (lines[1], lines[2])))) == 1


NAMES = ["Fz", "C z", "P,z"]


def names_command(*more: object) -> list[object]:
    return ["mean", "X.npy", "--space", "spd-affine", "--center", "identity", "--radius", 1.5, "--mu", 1, *more]


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", SPACE.random_point(300, 1))


def test_names_on_the_command_line_and_in_a_file(records, tmp_path):
    printed = run(*names_command("--names", "Fz, Cz,Pz", "--report", "mean.html", "--plot", "mean.svg"))
    assert any(line.split()[:3] == ["value", "Fz", "Cz"] for line in printed.splitlines())
    assert '<th scope="row">Cz</th>' in (tmp_path / "mean.html").read_text("utf-8")
    (tmp_path / "names.txt").write_text("\ufeff" + "\n".join(NAMES) + "\n", encoding="utf-8")
    assert "\n                P,z" in run(*names_command("--names", "names.txt"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("Fz,Cz", "has 2 names: pass 3"), ("Fz,,Pz", "has an empty name"), ("missing.txt", "has 1 names: pass 3"),
        ("X.npy", "is no text"), ("a" * 5000, "has 1 names"),
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_wrong_names_are_refused_before_anything_is_spent(records, tmp_path, names, message):
    command = [*names_command("--names", names, "--out", "mean.json"), "--ledger", "l.db", "--budget-mu", 2]
    result = CliRunner().invoke(app, [str(a) for a in command], prog_name="riemdp")
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy"]


# --- plans ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plans() -> PlanTable:
    return rd.plan(BALL, 300, rd.GDP(1.0))


def test_plans_are_a_list(plans):
    assert isinstance(plans, list)
    assert plans == [*plans] == plans[:] == copy.deepcopy([*plans])
    assert min(plans, key=lambda row: row.expected_error) is plans[0]
    assert all(isinstance(row, rd.Plan) for row in plans)
    for twin in (copy.copy(plans), pickle.loads(pickle.dumps(plans))):
        assert type(twin) is PlanTable
        assert twin == plans
        assert repr(twin) == repr(plans)


def test_plans_show_themselves_as_the_command_line_shows_them(plans):
    command = ["plan", "--space", "spd-affine", "--size", 3, "--records", 300, "--radius", 1.5, "--mu", 1]
    printed = [line.split() for line in run(*command).splitlines()]
    html = words_apart(plans._repr_html_())
    assert repr(plans) == str(plans)
    for line in table_lines(pages.plan_rows(plans, BALL.radius))[2:]:
        assert line in repr(plans)
        assert line.split() in printed
        assert " ".join(line.split()) in html
    assert pages.MEANING in " ".join(repr(plans).split())


# --- guarantees, balls, ledgers, audits ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "guarantee", [rd.PureDP(1.0), rd.ApproxDP(1.0, 1e-6), rd.GDP(1.0), rd.ZCDP(0.1), rd.RDP(8.0, 0.5)], ids=repr
)
def test_guarantees_explain_themselves(guarantee):
    words = Page(guarantee.with_assumptions(EVIL)._repr_html_()).words
    assert guarantee.notion in words
    assert "of the time" in words
    assert EVIL in words
    assert "\n" not in str(guarantee)  # a sentence, as before
    assert eval(repr(guarantee), vars(rd)) == guarantee


def test_balls():
    assert repr(BALL) == "<Ball: radius 1.5 around the origin of SPDAffine(k=3)>"
    off = rd.Ball(SPACE, np.diag([1.0, 2.0, 3.0]), 1.5)
    assert "[[1., 0., 0.], [0., 2., 0.], [0., 0., 3.]]" in str(off)
    large = rd.Ball(rd.SPDAffine(4), np.diag([1.0, 2.0, 3.0, 4.0]), 0.5)
    assert "value   [[1. 0. 0. 0.]" in str(large)
    assert "1 1 0 0 0 2 0 2 0 0" in words_apart(large._repr_html_())
    assert len(repr(rd.Ball(rd.Euclidean(500), np.ones(500), 1.0))) < 100


def test_ledgers(ledger):
    words = words_apart(ledger._repr_html_())
    for text in (" ".join(str(ledger).split()), words):
        assert "budget (mu = 2)-Gaussian differential privacy" in text
        assert "spent (mu = 0.5)-Gaussian differential privacy" in text
        assert "reserved (mu = 0.5)-Gaussian differential privacy first" in text
    assert repr(ledger) == f"Ledger(path={ledger.path!r}, budget=GDP(mu=2.0))"
    assert str(ledger.path.parent) not in ledger._repr_html_()


def test_a_long_ledger_shows_its_latest_entries(ledger):
    entries = ledger.history() * 60
    table = pages.entry_rows(entries)
    assert len(table.rows) == 50
    assert table.caption == "The latest 50 of 60 entries."
    assert len(pages.entry_rows(entries, most=60).rows) == 60


def test_a_ledger_that_cannot_be_read_says_so(ledger):
    ledger.path.write_bytes(b"nothing of the kind")
    assert "ledger" in str(ledger)
    assert 'class="warning"' in ledger._repr_html_()


def test_audits(tmp_path):
    draws = np.random.default_rng(0).normal(size=(2, 4000, 2))
    found = rd.audit_draws(*draws, rd.GDP(1.0))
    assert repr(found) == "<Audit: (mu = 1)-Gaussian differential privacy, the claim is not contradicted>"
    assert "mechanism" not in str(found)  # somebody's own
    broken = rd.audit_draws(draws[0], draws[1] + 9, rd.GDP(1.0))
    for shown in (repr(broken), str(broken), broken._repr_html_()):
        assert "CONTRADICTED" in shown


# --- what is not private says so -------------------------------------------------------------------------------


def test_a_check_says_everywhere_that_it_is_not_private(records):
    found = rd.check(np.load("X.npy"), BALL)
    place = ["--space", "spd-affine", "--center", "identity", "--radius", 1.5]
    outputs = [repr(found), str(found), found._repr_html_(), json.dumps(found.to_dict())]
    outputs += [run("check", "X.npy", *place), run("check", "X.npy", *place, "--json")]
    assert all("NOT PRIVATE" in shown for shown in outputs)
    assert str(found).startswith("NOT PRIVATE")
    assert Page(found._repr_html_()).words.startswith("NOT PRIVATE")
    for name, text in page_of(found).facts.items():
        assert text in outputs[4]
        assert name in outputs[4]


# --- letters -------------------------------------------------------------------------------------------------


def test_everything_is_escaped(mean, ledger):
    ledger.reserve(rd.GDP(0.1), EVIL)
    strange = replace(mean, statistic=EVIL, mechanism=COMMANDS, guarantee=mean.guarantee.with_assumptions(EVIL))
    for html in (strange._repr_html_(), ledger._repr_html_(), rd.GDP(1.0).with_assumptions(EVIL)._repr_html_()):
        page = Page(html)
        assert "script" not in page.tags
        assert EVIL in page.text
    for shown in (repr(strange), str(strange), strange._repr_html_()):
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_text_tables():
    lines = table_lines(Table(["name", "size"], [["a", "10"], ["long", "9"]], ["size"]))
    assert lines == ["name   size", "───────────", "a        10", "long      9"]


def test_columns_are_parted_about_equally():
    tables = Numbers(np.arange(18.0).reshape(2, 9)).tables(4)
    assert [list(table.head) for table in tables] == [["", "1", "2", "3"], ["", "4", "5", "6"], ["", "7", "8", "9"]]
    assert tables[1].rows[1] == ["2", "12", "13", "14"]
