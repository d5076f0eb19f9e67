"""The documentation tells the truth: its examples run, its links lead somewhere, and it leaves nothing out."""

from __future__ import annotations

import doctest
import math
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import riemdp
import riemdp as rd
from docs_tools import terms
from riemdp.balls import BITS
from riemdp.cli import app
from riemdp.kernels.spectral import SMALL_WORK, kernels_for
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.calibration import gaussian_scale
from riemdp.statistics.adaptive import LEAST_LEFT
from riemdp.statistics.query import MOST_RECORDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

PAGES = sorted(DOCS.rglob("*.md"))
# A fence within a list or a note is indented; its own indentation is that of its lines.
FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXECUTED = {"python", "pycon", "bash"}
NOT_OURS = ("pip install ", "make ", "riemdp demo ")  # done by the tests of the package as such, and of the demo
MOST_COLUMNS = 100  # of code: as many as fit beside the columns of links at 1280 pixels
IMPORTED_BY_EXAMPLES = ("geomstats.geometry.hypersphere", "pyriemann.estimation", "pyriemann.classification")


def name(page):
    return str(page.relative_to(DOCS))


def blocks(page):
    """(language, code) of the fences, in order."""
    return [(language, code) for _, language, code in FENCE.findall(page.read_text())]


def with_examples():
    return [page for page in PAGES if EXECUTED & {language for language, _ in blocks(page)}]


def run_python(code, namespace, page):
    exec(compile(code, name(page), "exec"), namespace)


def run_session(code, namespace, page):
    test = doctest.DocTestParser().get_doctest(code, namespace, name(page), name(page), 0)
    test.globs = namespace  # names that it defines are there in the next block
    problems = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.ELLIPSIS)
    assert test.examples
    assert runner.run(test, out=problems.append, clear_globs=False).failed == 0, "".join(problems)


def run_commands(code, namespace, page):
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith(NOT_OURS):
            continue
        program, *arguments = shlex.split(line, comments=True)
        assert program == "riemdp", f"{name(page)}: nothing tests the command {line!r}"
        result = CliRunner().invoke(app, arguments, prog_name="riemdp")
        assert result.exit_code == 0, f"{line}: {result.output}"


RUN = {"python": run_python, "pycon": run_session, "bash": run_commands}


@pytest.fixture(scope="module", autouse=True)
def _others_warn_when_imported():
    """Our own warnings are errors; what other packages say about themselves when imported is not our business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in IMPORTED_BY_EXAMPLES:
            pytest.importorskip(module, exc_type=ImportError)


@pytest.mark.parametrize("page", with_examples(), ids=name)
def test_examples_run(page, tmp_path, monkeypatch):
    """Page by page, in one namespace and one folder, as a reader would."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for language, code in blocks(page):
        RUN.get(language, lambda *_: None)(code, namespace, page)


def test_every_guide_has_examples():
    guides = {page for page in PAGES if page.parent.name == "guides"}
    others = {DOCS / f"{page}.md" for page in ("index", "start", "choosing", "mechanisms")}
    assert guides | others <= set(with_examples())


def test_fences_have_a_language_that_is_run():
    """A fence in another language, or in none, would escape the tests."""
    opened = {name(page): re.findall(r"^ *```(\S*)", page.read_text(), re.MULTILINE)[::2] for page in PAGES}
    assert {page: set(names) - EXECUTED for page, names in opened.items() if set(names) - EXECUTED} == {}


def is_example(page):
    """Whether it is a page of the gallery, which its script becomes when the site is built."""
    return page.parent == DOCS / "gallery" and page.with_suffix(".py").is_file()


def headings(page):
    """Anchors as Python-Markdown makes them of headings."""
    found = re.findall(r"^#+ (.*)$", re.sub(FENCE, "", page.read_text()), re.MULTILINE)
    return {terms.anchor(text) for text in found}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(re.sub(FENCE, "", page.read_text())):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(DOCS), f"{link} leaves the site"
        assert target.is_file() or is_example(target), link
        assert not anchor or anchor in headings(target), link


def test_no_release_is_said_to_be_close_to_the_true_mean():
    """What it is close to is the mean of the records as moved into the ball; only proofs and solvers have a true one."""
    pages = [page for page in PAGES if not page.is_relative_to(DOCS / "proofs")]
    names = ("cli", "estimators", "plots", "mechanisms", "privacy", "accounting")
    code = [ROOT / "src" / "riemdp" / name for name in names]
    sources = [file for folder in code for file in folder.glob("*.py")] + list((ROOT / "src" / "riemdp").glob("*.py"))
    for file in (ROOT / "README.md", *pages, *sources):
        assert not re.search(r"true (mean|value|one\b)", file.read_text()), file


@pytest.mark.parametrize("page", [page for page in PAGES if not page.is_relative_to(DOCS / "proofs")], ids=name)
def test_code_is_no_wider_than_a_page(page):
    assert [line for _, code in blocks(page) for line in code.splitlines() if len(line) > MOST_COLUMNS] == []


def guides():
    return [DOCS / "index.md", DOCS / "start.md", DOCS / "choosing.md", *sorted((DOCS / "guides").glob("*.md"))]


@pytest.mark.parametrize("page", [ROOT / "README.md", *guides()], ids=lambda page: page.stem)
def test_every_page_that_newcomers_read_has_a_picture(page):
    pictures = [page.parent / path for path in re.findall(r"!\[[^]]{10,}\]\(([^)]+)\)", page.read_text())]
    assert pictures
    assert all(picture.is_file() for picture in pictures)
    assert [picture.name for picture in pictures if picture.stat().st_size > 150_000] == []


def test_every_picture_is_shown_somewhere():
    told = "\n".join(page.read_text() for page in [*PAGES, ROOT / "README.md"])
    made = [path for folder in ("", "gallery", "guides") for path in (DOCS / "assets" / folder).glob("*.png")]
    assert len(made) > 15
    assert [path.name for path in made if path.relative_to(DOCS).as_posix() not in told] == []


def test_the_picture_of_speeds_is_that_of_the_table():
    """Its description in the README names the extremes."""
    ratios = [float(ratio) for ratio in re.findall(r"([\d.]+)x \|$", text_of("docs/speed.md"), re.MULTILINE)]
    assert f"{min(ratios):.0f} to {max(ratios):.0f} times" in text_of("README.md")


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md"])
def test_links_of_the_pages_outside_the_site_lead_somewhere(page):
    links = [link.partition("#") for link in LINK.findall((ROOT / page).read_text()) if not link.startswith("https://")]
    assert len(links) > 5
    for path, _, anchor in links:
        assert (ROOT / path).exists(), path
        assert not anchor or anchor in headings(ROOT / path), f"{path}#{anchor}"


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$|: (\S+)/\*$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages, folders = ({entry[i] for entry in listed if entry[i]} for i in (0, 1))
    written = {name(page) for page in PAGES if page.parent.relative_to(DOCS).as_posix() not in folders - {"gallery"}}
    assert written == pages
    assert folders == {"proofs", "proofs/spaces", "decisions", "gallery"}
    assert all(list((DOCS / folder).glob("*.md")) for folder in folders - {"gallery"})


@pytest.mark.parametrize("page", sorted((DOCS / "decisions").glob("*.md")), ids=name)
def test_a_decision_is_listed_by_its_number(page):
    """The navigation shows the title and sorts by the file's name: both begin with the number."""
    number = re.match(r"0*(\d+[a-z]?)-", page.name).group(1)
    assert page.read_text().startswith(f"# {number}. ")


def test_every_public_name_has_a_place_in_the_reference():
    reference = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    named = re.findall(r"^::: riemdp\.(?:\w+\.)*(\w+)$", reference, re.MULTILINE)
    assert set(riemdp.__all__) - {"__version__"} <= set(named)
    assert len(named) == len(set(named))


def test_every_option_has_a_place_in_the_reference():
    page = (DOCS / "reference" / "cli.md").read_text()
    groups = [c for c in get_command(app).commands.values() if hasattr(c, "commands")]
    commands = {**get_command(app).commands, **{name: c for group in groups for name, c in group.commands.items()}}
    options = {o for c in commands.values() for p in c.params for o in p.opts if o.startswith("--")} - {"--help"}
    assert len(options) > 25
    assert {option for option in options if f"`{option}`" not in page} == set()
    assert all(f"riemdp {command}" in page for command in get_command(app).commands)


RELEASING = {"mean", "summary", "median", "regress", "classify fit"}


def commands():
    """Those of the command line by the names that users type."""
    for name, command in get_command(app).commands.items():
        yield from [(f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items()] or [(name, command)]


def test_the_reference_says_which_commands_take_an_option():
    rows = re.findall(r"^\| (`--[^|]*) \| ([a-z][a-z ,]*) \| ", text_of("docs/reference/cli.md"), re.MULTILINE)
    assert len(rows) > 25
    taken = {}
    for name, command in commands():
        for option in (option for one in command.params for option in [*one.opts, *one.secondary_opts]):
            taken.setdefault(option, set()).add(name)
    for options, told in rows:
        if told not in ("all but demo", "riemdp itself"):
            said = set().union(*(RELEASING if one == "all that release" else {one} for one in told.split(", ")))
            assert [taken[option] for option in re.findall("`(--[^`]+)`", options)] == [said] * options.count("--"), options


def test_nothing_is_loaded_from_elsewhere():
    """The site works offline: no script, font or picture from the network."""
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    assert "http" not in re.sub(r"#.*", "", settings)
    outside = [name(page) for page in PAGES if re.search(r"!\[[^]]*\]\(http|<script|<img|<link", page.read_text())]
    assert outside == []


# --- what is said is so --------------------------------------------------------------------------------------------

TEXTS = [*PAGES, ROOT / "README.md", ROOT / "SECURITY.md"]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def figure(page, pattern):
    """The only number of a page that stands where the pattern has a group."""
    (found,) = re.findall(pattern, text_of(page))
    return float(found.replace(",", ""))


def test_nothing_is_installed_from_an_index():
    """As long as nothing is published: pip would install whatever somebody else calls by this name."""
    sources = (ROOT / "src").rglob("*.py")
    told = [(path, told) for path in [*TEXTS, *sources] for told in re.findall(r"pip install [^`\n]*", path.read_text(encoding="utf-8"))]
    assert len(told) >= 5
    assert [(path.name, line) for path, line in told if re.search(r"pip install (?!['\"]?\.)", line)] == []


def test_who_promises_pins_names_what_is_pinned():
    """make passes the constraints to pip; `pip install .` by itself does not."""
    assert "What `make` installs is pinned" in text_of("SECURITY.md")
    assert "pip install ." in text_of("README.md")
    named = re.findall(r"constraints/python[\d.]+\d\.txt", text_of("SECURITY.md") + text_of("README.md"))
    assert len(named) >= 2
    assert all((ROOT / path).is_file() for path in named)


@pytest.mark.parametrize("page", ["docs/scale.md", "docs/decisions/0011-exact-sums.md"])
def test_the_grid_of_records_is_as_fine_as_is_said(page):
    """2^-48 of the radius it would be if every radius were just below a power of two."""
    coarsest = max(2.0 ** rd.Ball(rd.Euclidean(1), [0.0], r).grid / r for r in (1.0, 1.5, 1.999, 2.0, 3.0))
    assert 2 ** -figure(page, r"at most 2\^-(\d+) of the radius") == coarsest == 2 ** -(BITS - 1)


def test_sites_have_the_bits_of_the_pool_from_the_number_of_records_that_is_said():
    """And not below, as in the guide's own example: there the pool takes its logarithms by LAPACK."""
    enough = figure("docs/guides/silos.md", r"3 x 3 matrices: from ([\d,]+) on")
    assert (enough - 1) * 3**3 < SMALL_WORK <= enough * 3**3
    space = rd.SPDLogEuclidean(3)
    ball = rd.Ball(space, np.eye(3), 2.0)
    assert pooled(space, ball, int(enough)) == added(space, ball, int(enough))
    n = int(figure("docs/guides/silos.md", r">>> release\.n\n(\d+)"))
    assert n < enough
    assert pooled(space, ball, n) != added(space, ball, n)


def pooled(space, ball, n):
    return tuple(Bounded(space.random_point(n, 0), ball).coordinate_sum())


def added(space, ball, n):
    parts = np.array_split(space.random_point(n, 0), 3)
    with kernels_for(MOST_RECORDS):  # as every site does
        return tuple(sum(column) for column in zip(*(Bounded(part, ball).coordinate_sum() for part in parts), strict=True))


def test_the_ratio_of_the_errors_of_laplace_and_gauss_is_as_said():
    page = "docs/reproduction.md"
    said = re.findall(r"([\d.]+) at k = 30, ε = 0\.1 and ([\d.]+) at k = 2 ", text_of(page))
    multiplier = 0.1 * gaussian_scale(rd.ApproxDP(0.1, 1e-6), 1.0)
    assert [tuple(f"{math.sqrt(k * (k + 1) / 2 + 1) / multiplier:.3f}" for k in (30, 2))] == said


@pytest.mark.parametrize(
    ("page", "pattern", "space"),
    [
        ("docs/reproduction.md", r"Beyond a radius of ([\d.]+) the mean of 1,000 affine", rd.SPDAffine(3)),
        ("docs/known-limitations.md", r"3 x 3 matrices beyond\na radius of ([\d.]+) for 1,000", rd.SPDAffine(3)),
        ("docs/known-limitations.md", r"beyond ([\d.]+)/sqrt c for 1,000", rd.Hyperbolic(2)),
    ],
)
def test_balls_are_refused_from_the_radius_on_that_is_said(page, pattern, space):
    largest = figure(page, pattern)
    assert rd.plan(rd.Ball(space, space.origin, largest - 0.05), 1000, rd.GDP(1.0))
    with pytest.raises(rd.MechanismError):
        rd.plan(rd.Ball(space, space.origin, largest + 0.1), 1000, rd.GDP(1.0))


def test_whether_the_numbers_of_records_of_sites_are_public_is_said_alike():
    """They are: adjacency replaces a record at its site, and a SiteSum shows its n."""
    assert "the number of records of each is public too" in text_of("docs/proofs/exact_sums.md")
    assert "the number of records of each site is public" in text_of("docs/guides/silos.md")
    for page in ("docs/threat-model.md", "docs/known-limitations.md", "SECURITY.md"):
        assert re.search(r"number of records \(with \W*sites\b[^)]*\)?: of each\)", text_of(page)), page


def test_nobody_is_told_that_a_record_per_person_and_class_is_enough():
    """A person in two classes changes two class means: tests/test_estimators.py attacks that."""
    files = [*TEXTS, *(ROOT / "src").rglob("*.py")]
    sentences = [sentence for file in files for sentence in re.split(r"(?<=[.:])\s", file.read_text(encoding="utf-8"))]
    told = [sentence for sentence in sentences if re.search(r"per person \W*and class", " ".join(sentence.split()))]
    assert told
    assert [sentence for sentence in told if "not enough" not in sentence] == []


@pytest.mark.parametrize("page", [DOCS / "index.md", ROOT / "README.md"], ids=["index", "readme"])
def test_nobody_is_told_that_a_budget_survives_copies(page):
    """An old copy that is put back forgets what was spent since."""
    text = " ".join(page.read_text().split())
    assert not re.search(r"surviv\w+ [^.]*cop(y|ies)", text)
    assert "can't be overspent" not in text


def test_adaptation_spends_no_more_than_is_said():
    assert f"never less than {LEAST_LEFT:.0%}".replace("%", " %") in text_of("docs/choosing.md")


def test_the_table_of_balls_of_directions_is_what_plan_says():
    rows = re.findall(r"^\| ([\d.]+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", text_of("docs/guides/directions.md"), re.MULTILINE)
    assert len(rows) == 5
    for radius, degrees, *numbers in rows:
        ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], float(radius))
        (row,) = (row for row in rd.plan(ball, 500, rd.PureDP(1.0)) if row.mechanism == "wrapped-laplace")
        assert int(degrees) == round(math.degrees(ball.radius))
        assert numbers == [rounded(500 * row.sensitivity, numbers[0]), rounded(row.expected_error, numbers[1])]


def rounded(number, like):
    """To as many decimals as another."""
    return f"{number:.{len(like.partition('.')[2])}f}"


def test_so_many_lost_workers_make_dask_give_up():
    pytest.importorskip("distributed")
    retries = pytest.importorskip("dask").config.get("distributed.scheduler.allowed-failures")
    assert {4: "four"}[retries + 1] == re.search(r"If a chunk kills (\w+) workers in a row", text_of("docs/guides/cluster.md"))[1]
