"""The page about a release: well-formed, self-contained, public, and right in a real browser."""

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape

import mpmath
import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from markup import Page, words_apart
from riemdp import plots, promises, report
from riemdp.accounting.guarantee import Guarantee
from riemdp.errors import printable
from riemdp.group_report import write_comparison

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found: install Debian's package chromium")


def make(space: rd.Space, guarantee: rd.Guarantee, n: int = 60, **options) -> rd.Release:
    ball = rd.Ball(space, space.origin, min(0.45 * space.uniqueness_radius, 1.5))
    return rd.private_mean(space.random_point(n, 1), ball, guarantee, **options)


def class_means() -> rd.Release:
    """That of a classifier which keeps labels private: the means of three classes in one."""
    space, labels = rd.SPDAffine(3), np.arange(90) % 3
    ball = rd.Ball(space, np.eye(3), 2.0)
    model = rd.PrivateMDM(ball=ball, guarantee=rd.GDP(1.0), private_labels=True, classes=[0, 1, 2])
    return model.fit(space.random_point(90, 2), labels).releases_[0]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory) -> rd.Ledger:
    return rd.Ledger(tmp_path_factory.mktemp("ledger") / "budget.db", rd.GDP(2.0))


@pytest.fixture(scope="module")
def releases(ledger) -> dict[str, rd.Release]:
    """Every space, every guarantee, a mechanism without a grid and a baseline."""
    return {
        "euclidean": make(rd.Euclidean(30), rd.ApproxDP(1.0, 1e-6)),
        "sphere": make(rd.Sphere(2), rd.ZCDP(0.1), n=20),
        "hyperbolic": make(rd.Hyperbolic(2, curvature=-4.0), rd.RDP(8.0, 0.5)),
        "spd-affine": make(rd.SPDAffine(3), rd.GDP(0.5), ledger=ledger),
        "spd-log-euclidean": make(rd.SPDLogEuclidean(14), rd.PureDP(5.0)),
        "kendall": make(rd.KendallShapes(5), rd.PureDP(1.0), mechanism="kng"),
        "product": make(rd.Product(rd.Sphere(2), rd.Euclidean(2)), rd.GDP(0.5), statistic="tangent-mean"),
        "classes": class_means(),
        "baseline": make(rd.SPDAffine(2), rd.ApproxDP(0.5, 1e-6), mechanism="extrinsic-gaussian", calibration="classical"),
    }


@pytest.fixture(scope="module")
def pages(releases, ledger) -> dict[str, str]:
    charged = {"spd-affine": ledger}
    return {name: report.report_html(release, ledger=charged.get(name)) for name, release in releases.items()}


NAMES = [
    "euclidean", "sphere", "hyperbolic", "spd-affine", "spd-log-euclidean", "kendall", "product", "classes", "baseline",
]  # fmt: skip


# --- the page itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_well_formed_and_accessible(pages, name):
    page = Page(pages[name])
    assert pages[name].startswith('<!DOCTYPE html>\n<html lang="en">')
    assert page.tags.count("h1") == page.tags.count("main") == page.tags.count("title") == 1
    assert page.tags.count("h2") >= 6
    assert len(page.alts) == 3  # the picture, the same for a phone, the trade-off
    assert all(page.alts)
    assert not re.search(r"\$[a-z{]", pages[name])  # no placeholder left


@pytest.mark.parametrize("name", NAMES)
def test_loads_nothing(pages, name):
    page = Page(pages[name])
    assert "script" not in page.tags
    assert len(page.loads) == 5  # icon, picture twice, trade-off, file
    assert all(address.startswith("data:") for address in page.loads)
    assert "http://" not in pages[name]
    assert "https://" not in pages[name]
    assert not re.search(r"@import|url\(", pages[name])


@pytest.mark.parametrize("name", NAMES)
def test_says_what_matters(pages, releases, name):
    release, words = releases[name], Page(pages[name]).words
    assert plots.symbolic(release.guarantee) in words
    for text in (*release.guarantee.assumptions, release.mechanism, release.version, repr(report.spaces(release)[0])):
        assert text in words
    for number in (release.scale, release.sensitivity, release.radius):
        assert f"{number:.6g}" in words
    means = 3 if name == "classes" else 1  # the error is that of one of them
    assert f"{release.expected_error / means**0.5:.4g}" in words
    assert f"{release.n} records" in words


def test_class_means_are_those_of_records_and_each_has_its_row_and_error(pages, releases):
    release, words = releases["classes"], words_apart(pages["classes"])
    assert "The tangent means of the classes of 90 positive definite 3 × 3 matrices" in words
    assert f"move each of them by {release.expected_error / 3**0.5:.3g}" in words
    for label, mean in zip(release.labels, release.means, strict=True):
        assert " ".join([str(label), *(f"{entry:.4g}" for entry in mean.ravel())]) in words


@pytest.mark.parametrize("name", NAMES)
def test_the_error_is_that_of_the_noise_and_of_nothing_else(pages, name):
    """A ball that misses the data is not counted: what is close is the mean of the records as moved."""
    words = Page(pages[name]).words
    assert "as moved into the ball" in words
    assert "This is the noise alone" in words
    assert "true" not in re.sub("what is true of the records together", "", words)


@pytest.mark.parametrize("name", NAMES)
def test_the_release_can_be_taken_out_again(pages, releases, name):
    (link,) = [a for a in Page(pages[name]).loads if a.startswith("data:application/json")]
    data = json.loads(base64.b64decode(link.partition("base64,")[2]))
    assert data == releases[name].to_dict()
    assert np.array_equal(rd.Release.from_dict(data).value, releases[name].value)


@pytest.mark.parametrize("name", ["sphere", "kendall"])
def test_depends_on_the_release_alone(pages, releases, name):
    """The page of the published file, read where the records never were, is the same to the last byte."""
    copy = rd.Release.from_dict(json.loads(json.dumps(releases[name].to_dict())))
    assert report.report_html(copy) == pages[name]


def test_small_values_are_shown_and_large_ones_folded_or_left_to_the_file(pages, releases):
    value = releases["spd-affine"].value
    assert all(f"{entry:.4g}" in Page(pages["spd-affine"]).text for entry in value.ravel())
    assert "details" not in Page(pages["spd-affine"]).tags
    assert "Show the 30 rows" in Page(pages["euclidean"]).words
    assert "14 × 14" in Page(pages["spd-log-euclidean"]).words


def test_rounding_is_stated(pages, releases):
    assert releases["kendall"].grid is None
    assert "rounding none: published in float64 as computed" in re.sub(r"\s*(value)?\s+", " ", words_apart(pages["kendall"]))
    assert f"to multiples of {releases['sphere'].grid:.4g}" in Page(pages["sphere"]).words


def test_alternatives_are_those_of_plan(pages, releases):
    release, words = releases["spd-affine"], words_apart(pages["spd-affine"])
    ball = rd.Ball(release.space, release.center, release.radius)
    for row in rd.plan(ball, release.n, release.guarantee):
        share = row.expected_error / release.radius
        assert f"{row.mechanism} {row.expected_error:.4g} {share:.3g} {row.scale:.4g} {row.sensitivity:.4g}" in words
    for name, own in releases.items():
        marked = re.findall(r'<tr class=used><th scope="row">([\w-]+)</th>', pages[name])
        assert marked == [own.mechanism]


def test_ledger_state(pages, ledger):
    words = words_apart(pages["spd-affine"])
    assert "budget (mu = 2)-Gaussian differential privacy spent (mu = 0.5)-Gaussian differential privacy" in words
    assert f"left (mu = {ledger.remaining.mu - 5e-6:.6g})" in words  # rounded down
    assert "released (mu = 0.5)-Gaussian differential privacy frechet-mean of 60 records, wrapped-gaussian" in words
    assert "Ledger" not in Page(pages["sphere"]).words
    assert str(ledger.path.parent) not in pages["spd-affine"]


def test_an_empty_ledger(releases, tmp_path):
    words = words_apart(report.report_html(releases["sphere"], ledger=rd.Ledger(tmp_path / "l.db", rd.PureDP(1.0))))
    assert "spent nothing left (epsilon = 1)-differential privacy releases charged 0" in words


def test_everything_is_escaped(releases, tmp_path):
    evil = '"><script>alert(1)</script>$title'
    path = tmp_path / "<i>'&.db"
    ledger = rd.Ledger(path, rd.GDP(2.0))
    ledger.reserve(rd.GDP(0.1), evil)
    guarantee = rd.GDP(0.5).with_assumptions(evil)
    release = replace(releases["sphere"], version=evil, statistic="frechet-mean", guarantee=guarantee)
    html = report.report_html(release, ledger=ledger)
    page = Page(html)
    assert "script" not in page.tags
    assert "i" not in page.tags
    assert html.count(escape(evil)) >= 4
    assert evil not in html
    assert page.text.count(evil) >= 3


@pytest.mark.parametrize("name", ["$", r"a $\frac$ b", r"$\undefined$", "\x1b[31m\u202ered"])
@pytest.mark.parametrize("field", ["statistic", "mechanism", "version"])
def test_names_in_a_file_are_names(releases, tmp_path, name, field):
    """No formulas, and no commands: whatever a file says."""
    replace(releases["spd-affine"], **{field: name}).save(tmp_path / "release.json")
    html = report.report_html(rd.Release.load(tmp_path / "release.json"))
    assert escape(printable(name)) in html
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_refuses_what_is_no_release_or_ledger(releases, tmp_path):
    with pytest.raises(rd.InputError, match="private_mean"):
        report.report_html(np.eye(3))
    with pytest.raises(rd.InputError, match="Ledger"):
        report.report_html(releases["sphere"], ledger="budget.db")
    with pytest.raises(rd.InputError, match="path"):
        report.write_report(releases["sphere"], tmp_path / "nowhere" / "report.html")


def test_written_whole(pages, releases, tmp_path):
    report.write_report(releases["sphere"], tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == pages["sphere"]
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(rd.InputError, match="force=True"):
        report.write_report(releases["sphere"], tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == "mine"
    report.write_report(releases["sphere"], tmp_path / "report.html", force=True)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == pages["sphere"]


# --- what it promises --------------------------------------------------------------------------------------


def test_every_guarantee_and_space_has_its_words():
    assert set(promises.PROMISES) == set(Guarantee.__subclasses__())
    assert [space for space in SPACES if repr(space) in space.words] == []  # as one says of a space that is silent


def test_detection_bounds():
    """e/20 of pure differential privacy at epsilon = 1; Phi(Phi^-1(0.05) + mu) of mu-GDP."""
    assert promises.detection_bound(rd.PureDP(1.0)) == pytest.approx(np.e / 20)
    assert promises.detection_bound(rd.ApproxDP(1.0, 0.01)) == pytest.approx(0.01 + np.e / 20)
    quantile = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf("0.05") - 1)
    assert promises.detection_bound(rd.GDP(1.0)) == pytest.approx(float(mpmath.ncdf(quantile + 1)))
    assert promises.detection_bound(rd.GDP(1.0)) <= promises.detection_bound(rd.ZCDP(0.5)) < 0.5


def test_the_sentence_about_the_attacker_rounds_up(pages):
    assert "is right at most 13.6 % of the time when it was" in Page(pages["kendall"]).words
    assert "exp(ε) ≈ 2.72" in Page(pages["kendall"]).words
    assert "This promise is weak" not in Page(pages["kendall"]).words


def test_weak_promises_and_useless_answers_are_called_so(pages):
    assert "This promise is weak" in Page(pages["spd-log-euclidean"]).words
    assert "public centre is as good an answer" not in Page(pages["kendall"]).words
    poor = make(rd.Euclidean(3), rd.PureDP(0.01), n=5)
    assert "public centre is as good an answer" in Page(report.report_html(poor)).words


@pytest.mark.parametrize(
    ("guarantee", "bound"),
    [
        (rd.PureDP(2000.0), "100 %"), (rd.GDP(60.0), "100 %"), (rd.RDP(1.01, 50.0), "100 %"), (rd.ZCDP(1e-9), "5.1 %"),
        (rd.ApproxDP(1e-5, 0.9), "95.1 %"), (rd.GDP(1e-9), "5.1 %"),
    ],
    ids=repr,
)  # fmt: skip
def test_extreme_budgets(releases, guarantee, bound):
    subject = report.Reported(replace(releases["sphere"], guarantee=guarantee))
    words = Page(report._guarantee(subject) + report._attacker(subject)).words
    assert f"right at most {bound} of the time" in words


def _luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * c for c in colour)
    rgb = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_contrast(pages):
    """WCAG 2, level AA: at least 4.5 : 1, by day, by night and in print."""
    themes = re.findall(r":root \{(.*?)\}", pages["sphere"], re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        colours = {k: _luminance(v) for k, v in re.findall(r"--(\w+): #(\w+)", theme)}
        for ink in ("ink", "soft", "link", "warn"):
            for paper in ("paper", "box"):
                low, high = sorted((colours[ink], colours[paper]))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)


# --- names --------------------------------------------------------------------------------------------------

CHANNELS = ["Fz", '<b onload="x">Cz</b>', "$Pz$"]


def test_rows_and_columns_have_the_names_that_they_are_given(releases):
    html = report.report_html(releases["spd-affine"], names=CHANNELS)
    head, *rows = re.findall(r"<tr>(.*?)</tr>", html.partition("What was released")[2], re.DOTALL)[:4]
    assert re.findall(r"<th[^>]*>(.*?)</th>", head) == ["", *map(escape, CHANNELS)]
    assert [re.search(r"<th[^>]*>(.*?)</th>", row)[1] for row in rows] == [*map(escape, CHANNELS)]
    assert "b" not in Page(html).tags


def test_landmarks_classes_and_entries_have_names(releases):
    def value(name: str, names: list[str]) -> str:
        return words_apart(report._value(report.Reported(releases[name], names=names)))

    landmarks = value("kendall", [*"abcde"])
    x, y = releases["kendall"].value[0]
    assert f"x y a {x:.4g} {y:.4g} b" in landmarks
    classes = value("classes", ["left", "right", "feet"])
    assert f"left {releases['classes'].value[0]:.4g}" in classes
    entries = value("euclidean", [f"gene {i}" for i in range(30)])
    assert f"gene 29 {releases['euclidean'].value[-1]:.4g}" in entries


@pytest.mark.parametrize("names", [["a", "b"], "abc", [1, 2, 3], []], ids=repr)
def test_names_that_do_not_fit_are_refused(releases, tmp_path, names):
    with pytest.raises(rd.InputError, match="names"):
        report.write_report(releases["spd-affine"], tmp_path / "page.html", names=names)
    assert not list(tmp_path.iterdir())


# --- private balls ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adaptive() -> rd.Release:
    space, noise = rd.SPDAffine(2), np.random.default_rng(0).normal(scale=0.02, size=(2000, 2, 2))
    X, ball = space.exp(noise + noise.mT, np.eye(2)), rd.Ball(space, np.eye(2), 3.0)
    return rd.private_mean(X, ball, rd.GDP(2.0), adapt=rd.Adaptation(shape=False))


def test_a_private_ball_is_called_private(adaptive):
    given, found = (report.Reported(release) for release in (replace(adaptive, stages=(), noisy=None), adaptive))
    assert all("private centre and ball" in alt for alt in Page(report._picture(found)).alts)
    assert "Each step is private" in Page(report._stages(found)).words
    assert report._stages(given) == ""
    assert all("public centre and ball" in alt for alt in Page(report._picture(given)).alts)


def test_what_steps_were_for_is_said_of_each_kind():
    """A median's steps and a regression's rounds find no ball, and steps that are alike are one row."""
    space, t = rd.SPDAffine(2), np.linspace(0.0, 1.0, 300)
    X, ball = space.random_point(300, 1), rd.Ball(space, np.eye(2), 1.5)
    median, fit = rd.private_median(X, ball, "mu=1"), rd.private_regression(X, t, ball, "mu=1", t_bounds=(0, 1))
    of_median, of_fit = (words_apart(report.report_html(release)) for release in (median, fit))
    assert "How it was found Step by step" in of_median
    assert re.search(r"step, \d+ times", of_median)
    assert "the median of the records as moved into the ball is" in of_median
    assert "How it was found Each round" in of_fit
    assert "the value is the point at t = 0.5" in of_fit
    assert "the middle of the geodesic of the records as moved into the ball is" in of_fit
    assert "How the ball was found" not in of_median + of_fit
    moved = rd.private_regression(np.eye(2) * np.exp(t)[:, None, None], t, ball, "mu=9", t_bounds=(0, 1), adapt=True)
    assert "private radius" in words_apart(report.report_html(moved))


def test_people_are_not_taken_for_their_records():
    space, ids = rd.SPDAffine(2), np.arange(300) // 3
    release = rd.private_mean(space.random_point(300, 1), rd.Ball(space, np.eye(2), 1.5), "mu=1", groups=ids, unit="patient")
    assert "of 100 patients, each with positive definite 2 × 2 matrices" in words_apart(report.report_html(release))


def test_an_ellipsoid_is_not_called_a_ball():
    space = rd.SPDAffine(2)
    given = rd.Ellipsoid(space, np.eye(2), axes=[1.0, 0.5, 0.5], radius=1.0)
    subject = report.Reported(rd.private_mean(space.random_point(500, 1), given, rd.GDP(1.0)))
    assert all("public centre and ellipsoid" in alt for alt in Page(report._picture(subject)).alts)
    accuracy = Page(report._accuracy(subject)).words
    assert "as moved into the ellipsoid" in accuracy
    assert "a ball around the ellipsoid" in accuracy
    assert "of the ellipsoid's longest half axis" in " ".join(str(subject.release).split())
    assert "in an ellipsoid that reaches 1" in " ".join(str(rd.plan(given, 500, rd.GDP(1.0))).split())


def test_a_summary_says_how_the_records_spread():
    space = rd.SPDAffine(2)
    summary = rd.private_summary(space.random_point(300, 1), rd.Ball(space, np.eye(2), 1.5), rd.GDP(1.0))
    words = words_apart(report.report_html(summary))
    assert f"How the records spread dispersion {summary.dispersion:.4g}" in words
    reach = summary.region(0.95, of="population").reach
    assert f"the mean of the population is at most {reach:.3g} from the released mean" in words
    assert sum("Modes of the records" in alt for alt in Page(report.report_html(summary)).alts) == 2  # wide and narrow
    assert report._spread(report.Reported(replace(class_means()))) == ""


def summary_page(space: rd.Space, **options) -> str:
    """The page of a summary whose records vary in all directions."""
    ball = rd.Ball(space, space.origin, 1.0)
    return report.report_html(rd.private_summary(space.random_point(300, 1), ball, rd.GDP(1.0), **options))


def test_a_sum_of_variances_is_told_in_words_and_repeats_no_picture():
    html = summary_page(rd.SPDAffine(3), second="trace")
    spread = html.partition("How the records spread</h2>")[2].partition("</section>")[0]
    assert "modes only the sum of the variances was released, which tells the dispersion but no modes" in words_apart(spread)
    assert "dispersion" in spread
    assert "<img" not in spread
    for absent in ("none beyond noise", "mode by mode", "dashed line"):
        assert absent not in words_apart(html)


def test_a_sum_of_variances_is_drawn_where_the_whole_space_is():
    words = words_apart(html := summary_page(rd.Sphere(2), second="trace"))
    assert "if they did so as much in all directions" in words
    assert "mode by mode" not in words
    assert sum("The spread of the records" in alt for alt in Page(html).alts) == 2


@pytest.mark.parametrize(
    ("space", "second", "falls"), [(rd.Sphere(2), "full", True), (rd.Euclidean(3), "diagonal", False), (rd.Sphere(1), "full", False)]
)  # fmt: skip
def test_the_line_of_noise_falls_for_a_reason(space, second, falls):
    words = words_apart(summary_page(space, second=second))
    assert "above the dashed line" in words
    assert ("each mode leaves one direction less for noise" in words) == falls


@pytest.mark.parametrize("adapt", [False, True])
def test_a_full_ball_is_told_once_and_before_all_numbers(adapt):
    """An adaptive release says how many records its own ball moved: not those that the given one did."""
    space = rd.Euclidean(2)
    far = 1000.0 + space.random_point(2000, 1)
    html = report.report_html(rd.private_mean(far, rd.Ball(space, np.zeros(2), 1.0), rd.GDP(2.0), adapt=adapt))
    top, _, rest = html.partition("<table>")
    assert top.count("nearly all records lie on the rim") == 1
    assert "nearly all records lie on the rim" not in rest
    assert ("leaves out records beyond the given ball" in top) == adapt


def test_a_page_about_two_groups(tmp_path):
    space = rd.SPDAffine(2)
    first, second = (rd.private_summary(space.random_point(300, i), rd.Ball(space, np.eye(2), 1.5), rd.GDP(1.0)) for i in (1, 2))
    write_comparison(first, second, tmp_path / "groups.html", labels=("<controls>", "patients"))
    html = (tmp_path / "groups.html").read_text(encoding="utf-8")
    words = words_apart(html)
    found = rd.compare(first, second)
    assert f"The means of <controls> and patients are {found.distance:.4g} apart" in words
    assert f"{found.p_value:.3g}: so often" in words
    assert all(text in words for text in (*found.assumptions, "300 records", "(μ = 1)-GDP", "spends nothing"))
    assert "<controls>" not in html
    assert "at a level of 5&nbsp;%" in html
    assert not re.search(r"\d %", html)  # a line could break there
    with pytest.raises(rd.InputError, match="exists"):
        write_comparison(first, second, tmp_path / "groups.html")


# --- sections -----------------------------------------------------------------------------------------------


def test_a_new_kind_of_release_adds_a_section(releases, monkeypatch):
    def spread(subject):
        return "<section><h2>Spread</h2></section>" if subject.release.n == 20 else ""

    monkeypatch.setattr(report, "SECTIONS", [spread])
    assert "Spread" in Page(report.report_html(releases["sphere"])).words
    assert "Spread" not in Page(report.report_html(releases["kendall"])).words


# --- in a browser ------------------------------------------------------------------------------------------

WIDTHS = (1280, 400)
FRAMES = """<!DOCTYPE html><html><body>FRAMES<script>
const wide = w => [...w.document.querySelectorAll("*")].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1);
const seen = w => [...w.document.images].filter(i => w.getComputedStyle(i).display != "none");
addEventListener("load", () => document.body.textContent = JSON.stringify(Array.from(frames).map(w => ({
  width: w.innerWidth, needed: w.document.documentElement.scrollWidth, height: w.document.body.scrollHeight,
  wide: wide(w).map(e => e.tagName),
  images: seen(w).map(i => i.complete && i.naturalWidth > 0 && i.getBoundingClientRect().width > 200),
  first: seen(w)[0].getBoundingClientRect().top, heading: w.document.querySelector("h2").getBoundingClientRect().top,
  headings: [...w.document.querySelectorAll("h2")].map(h => h.textContent),
}))));
</script></body></html>"""


def chromium(folder, page: str, *options: str) -> subprocess.CompletedProcess:
    """Chromium's run on a page of the folder."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    flags += ["--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}", "--hide-scrollbars"]
    command = [CHROMIUM, *flags, *options, (folder / page).as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def render(folder, pages: dict[str, str]) -> tuple[list[dict], str]:
    """What Chromium makes of each page at each width, and what it has to say on its console."""
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    frames = [f'<iframe src="{name}.html" width="{w}" height="900"></iframe>' for name in pages for w in WIDTHS]
    (folder / "frames.html").write_text(FRAMES.replace("FRAMES", "".join(frames)), encoding="utf-8")
    done = chromium(folder, "frames.html", "--window-size=1400,1000", "--dump-dom")
    text = re.sub(r"<[^>]*>", "", done.stdout)
    return json.loads(text), "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.fixture(scope="module")
def all_pages(pages, adaptive, tmp_path_factory) -> dict[str, str]:
    """With the hardest ones: long names and long numbers in twelve columns, and an adaptive release with a long ledger."""
    matrix = np.full((12, 12), -1.2345e-05) + np.eye(12)
    wide = replace(make(rd.SPDLogEuclidean(12), rd.PureDP(5.0)), value=matrix)
    names = ["Fp1", "posterior cingulate cortex", "averyveryverylongnamewithoutanyspaces", *map(str, range(9))]
    book = rd.Ledger(tmp_path_factory.mktemp("long") / "averyveryverylongnamewithoutanyspacesofaledger.db", rd.GDP(20.0))
    for i in range(60):
        book.reserve(rd.GDP(0.123456), f"frechet-mean of 60 records, wrapped-gaussian: /data/{i}/{'covariances' * 8}.npy")
    hard = {"wide": report.report_html(wide, names=names), "long": report.report_html(adaptive, ledger=book)}
    return pages | hard


@needs_browser
def test_in_chromium_at_desktop_and_phone_width(all_pages, tmp_path):
    """Nothing scrolls sideways, neither the page nor a part of it; the picture comes first, and all are loaded."""
    found, console = render(tmp_path, all_pages)
    assert console == ""
    assert [page["width"] for page in found] == [*WIDTHS] * len(all_pages)
    for page in found:
        assert page["needed"] <= page["width"]
        assert page["wide"] == []
        assert page["images"] == [True, True]
        assert page["first"] < 350
        assert page["first"] < page["heading"]
        assert page["headings"][0] == "What was released"
        assert page["height"] > 1500


@needs_browser
def test_the_browser_test_would_notice(pages, tmp_path):
    """A box that is too wide, a picture that is broken, and a script that the page's own policy forbids."""
    faults = '<div style="width: 2000px">x</div><img alt="x" src="data:image/png;base64,AAAA"><script>1</script></main>'
    found, console = render(tmp_path, {"bad": pages["sphere"].replace("</main>", faults)})
    assert all(page["needed"] > page["width"] for page in found)
    assert all(page["images"] == [True, True, False] for page in found)
    assert "Content Security Policy" in console


@needs_browser
def test_a_box_that_scrolls_by_itself_would_be_noticed(pages, tmp_path):
    box = '<div style="overflow-x: auto"><div style="width: 2000px">x</div></div></main>'
    found, _ = render(tmp_path, {"bad": pages["sphere"].replace("</main>", box)})
    assert all(page["wide"] == ["DIV"] for page in found)


@needs_browser
@pytest.mark.parametrize("width", [1280, 500])  # no window is narrower: 400 px are those of a frame
def test_screenshots(pages, tmp_path, width):
    """The picture can be seen on the first screen: the blue of the released mean, on its white ground."""
    from matplotlib.image import imread

    (tmp_path / "page.html").write_text(pages["sphere"], encoding="utf-8")
    chromium(tmp_path, "page.html", f"--window-size={width},1000", f"--screenshot={tmp_path / 'shot.png'}")
    shot = imread(tmp_path / "shot.png")[..., :3]
    assert shot.shape == (1000, width, 3)
    blue = np.abs(shot - np.array([0x00, 0x72, 0xB2]) / 255).max(axis=-1) < 0.02
    assert blue[150:700].sum() > 50
    assert 0.7 < (shot > 0.97).all(axis=-1).mean() < 0.99


@needs_browser
def test_on_paper_it_has_two_pages(all_pages, tmp_path):
    for name in ("spd-affine", "classes", "wide", "long"):
        (tmp_path / "page.html").write_text(all_pages[name], encoding="utf-8")
        chromium(tmp_path, "page.html", "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
        assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) == 2, name
