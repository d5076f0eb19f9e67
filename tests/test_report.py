"""The page about a release: well-formed, self-contained, public, and right in a real browser."""

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import mpmath
import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp import plots, report
from riemdp.accounting.guarantee import Guarantee
from riemdp.errors import printable

VOID = {"meta", "link", "img", "source", "br"}
LOADING = {"src", "href", "srcset", "action", "data", "poster", "background"}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found: install Debian's package chromium")


class Page(HTMLParser):
    """The elements of a page, which must close in the order in which they opened; its text; what it loads."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.loads, self.alts, self._open = [], "", [], [], []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in LOADING]
        self.alts += [dict(attrs).get("alt")] if tag == "img" else []
        self._open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data if not {"style", "script"} & set(self._open) else ""

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


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
    assert page.tags.count("h2") >= 7
    assert len(page.alts) == 2
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
    for text in (*release.guarantee.assumptions, release.mechanism, release.version, repr(release.space)):
        assert text in words
    for number in (release.scale, release.sensitivity, release.radius):
        assert f"{number:.6g}" in words
    means = 3 if name == "classes" else 1  # the error is that of one of them
    assert f"{release.expected_error / means**0.5:.4g}" in words
    assert f"{release.n} records" in words


def test_class_means_are_those_of_records_and_each_has_its_row_and_error(pages, releases):
    release, words = releases["classes"], _rows(pages["classes"])
    assert "The tangent means of the classes of 90 positive definite 3 × 3 matrices" in words
    assert f"move each of them by {release.expected_error / 3**0.5:.3g}" in words
    for i, mean in enumerate(release.space.split(release.value)):
        assert " ".join([str(i + 1), *(f"{entry:.6g}" for entry in mean.ravel())]) in words


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
    assert all(f"{entry:.6g}" in Page(pages["spd-affine"]).text for entry in value.ravel())
    assert "details" not in Page(pages["spd-affine"]).tags
    assert "Show the 30 rows" in Page(pages["euclidean"]).words
    assert "14 × 14" in Page(pages["spd-log-euclidean"]).words


def test_rounding_is_stated(pages, releases):
    assert releases["kendall"].grid is None
    assert "rounding none: published in float64 as computed" in re.sub(r"\s*(value)?\s+", " ", _rows(pages["kendall"]))
    assert f"to multiples of {releases['sphere'].grid:.4g}" in Page(pages["sphere"]).words


def _rows(html: str) -> str:
    return Page(html.replace("<t", " <t")).words


def test_alternatives_are_those_of_plan(pages, releases):
    release, words = releases["spd-affine"], _rows(pages["spd-affine"])
    ball = rd.Ball(release.space, release.center, release.radius)
    for row in rd.plan(ball, release.n, release.guarantee):
        ratio = "this one" if row.mechanism == release.mechanism else f"{row.expected_error / release.expected_error:.2f} ×"
        assert f"{row.mechanism} {row.expected_error:.4g} {ratio} {row.scale:.4g} {row.sensitivity:.4g}" in words
    assert f"extrinsic-gaussian {releases['baseline'].expected_error:.4g} this one" in _rows(pages["baseline"])


def test_ledger_state(pages, ledger):
    words = _rows(pages["spd-affine"])
    assert "budget (μ = 2)-GDP spent (μ = 0.5)-GDP" in words
    assert plots.symbolic(ledger.remaining, exact=True) in words
    assert "frechet-mean of 60 records, wrapped-gaussian released" in words
    assert "Ledger" not in Page(pages["sphere"]).words
    assert str(ledger.path.parent) not in pages["spd-affine"]


def test_an_empty_ledger(releases, tmp_path):
    words = _rows(report.report_html(releases["sphere"], ledger=rd.Ledger(tmp_path / "l.db", rd.PureDP(1.0))))
    assert "spent nothing yet remaining (ε = 1)-DP releases charged 0" in words


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
    assert set(report.PROMISES) == set(Guarantee.__subclasses__())
    assert [space for space in SPACES if repr(space) in space.words] == []  # as one says of a space that is silent


def test_detection_bounds():
    """e/20 of pure differential privacy at epsilon = 1; Phi(Phi^-1(0.05) + mu) of mu-GDP."""
    assert report.detection_bound(rd.PureDP(1.0)) == pytest.approx(np.e / 20)
    assert report.detection_bound(rd.ApproxDP(1.0, 0.01)) == pytest.approx(0.01 + np.e / 20)
    quantile = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf("0.05") - 1)
    assert report.detection_bound(rd.GDP(1.0)) == pytest.approx(float(mpmath.ncdf(quantile + 1)))
    assert report.detection_bound(rd.GDP(1.0)) <= report.detection_bound(rd.ZCDP(0.5)) < 0.5


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
def test_extreme_budgets(guarantee, bound):
    words = Page(report._guarantee(guarantee) + report._attacker(guarantee)).words
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


# --- in a browser ------------------------------------------------------------------------------------------

WIDTHS = (1280, 375)
FRAMES = """<!DOCTYPE html><html><body>FRAMES<script>
addEventListener("load", () => document.body.textContent = JSON.stringify(Array.from(frames).map(w => ({
  width: w.innerWidth, needed: w.document.documentElement.scrollWidth, height: w.document.body.scrollHeight,
  images: [...w.document.images].map(i => i.complete && i.naturalWidth > 0 && i.getBoundingClientRect().width > 200),
  headings: [...w.document.querySelectorAll("h2")].map(h => h.textContent),
}))));
</script></body></html>"""


def render(folder, pages: dict[str, str]) -> tuple[list[dict], str]:
    """What Chromium makes of each page at each width, and what it has to say on its console."""
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    frames = [f'<iframe src="{name}.html" width="{w}" height="900"></iframe>' for name in pages for w in WIDTHS]
    (folder / "frames.html").write_text(FRAMES.replace("FRAMES", "".join(frames)), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    flags += ["--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"]
    command = [CHROMIUM, *flags, "--dump-dom", (folder / "frames.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    text = re.sub(r"<[^>]*>", "", done.stdout)
    return json.loads(text), "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@needs_browser
def test_in_chromium_at_desktop_and_phone_width(pages, tmp_path):
    found, console = render(tmp_path, pages)
    assert console == ""
    assert [page["width"] for page in found] == [*WIDTHS] * len(pages)
    for page in found:
        assert page["needed"] <= page["width"]
        assert page["images"] == [True, True]
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
