"""The site: words that lead to the glossary, examples that run, and pages that are looked at."""

from __future__ import annotations

import json
import re

import pytest
from matplotlib.figure import Figure

from docs_tools import DOCS, look, percent, terms, tool

# --- the reference ---------------------------------------------------------------------------------------------------


def field(name, kind, told, default=""):
    """An entry of a list of parameters, as mkdocstrings writes it."""
    described = f'<div class="doc-md-description">\n<p>{told}</p>\n</div>'
    return f'<li class="doc-section-item field-body">\n <b><code>{name}</code></b>\n (<code>{kind}</code>{default})\n –\n {described}\n</li>\n'


def test_parameters_that_share_an_entry_have_one_without_a_default():
    pytest.importorskip("griffe")
    page = tool("reference_tables")
    auto = ", default:\n <code>&#39;auto&#39;</code>\n"
    alone = field("n", "int", "How many.")
    shared = "".join(field(name, "as of private_mean", "Which noise.", auto) for name in ("mechanism", "calibration"))
    other = field("unit", "as of private_mean", "What they are.", auto)
    made = page.SHARED.sub(lambda found: page.shared_entry(found, {"private_mean": "riemdp.private_mean"}), alone + shared + other)
    assert made.startswith(alone)
    assert "default" not in made
    assert re.findall(r"<b><code>(\w+)</code></b>( |, |\n)", made) == [("n", "\n"), ("mechanism", ", "), ("calibration", " "), ("unit", " ")]
    assert made.count('(as of <autoref identifier="riemdp.private_mean"><code>private_mean</code></autoref>)') == made.count("Which noise.") + 1 == 2


# --- words -----------------------------------------------------------------------------------------------------------


def test_words_are_linked_where_they_come_first():
    html = '<h1>Balls</h1><p>Two <em>balls</em>, <code>GDP(1)</code> and a ball; <pre>mu</pre><a href="x">ledger</a> ledger</p>'
    linked = terms.linked(html, "g.html")
    assert "<h1>Balls</h1>" in linked
    assert '<em><a class="term" href="g.html#ball">balls</a></em>' in linked
    assert '<code><a class="term" href="g.html#mu">GDP</a>(1)</code> and a ball;' in linked
    assert '<pre>mu</pre><a href="x">ledger</a> <a class="term" href="g.html#ledger">ledger</a></p>' in linked
    assert re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", linked) == html


@pytest.mark.parametrize("word", ["footballs", "GDPs_", "mu-opioid", "Gdp"])
def test_other_words_are_not_linked(word):
    assert terms.linked(f"<p>{word}</p>", "g.html") == f"<p>{word}</p>"


def test_every_word_leads_to_its_explanation():
    known = terms.terms()
    assert set(known.values()) <= {terms.anchor(heading) for heading in re.findall("^## (.*)$", (DOCS / "glossary.md").read_text(), re.MULTILINE)}
    wanted = "ball, footpoint, wrapped, GDP, K-norm gradient, Fréchet mean, tangent mean, ledger, epsilon, delta, mu, rho, sensitivity, adaptation"
    assert {word.lower() for word in wanted.split(", ")} <= {word.lower() for word in known}


def test_the_readme_links_its_words():
    """By hand, since it is no page of the site: where one comes first, in text, it is a link."""
    text = re.sub(r"^```.*?^```$|`[^`]*`|^#.*$|!\[[^]]*\]\([^)]*\)", "", (DOCS.parent / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    html = re.sub(r"\[([^]]*)\]\(([^)]*)\)", r'<a href="\2">\1</a>', text)
    own = set(re.findall(r'href="docs/glossary.md#([\w-]+)"', html))
    found = set(re.findall(r'href="g#([\w-]+)"', terms.linked(html.split("## Two commands")[0], "g")))
    assert found - own == set()


# --- the gallery -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", percent.examples(), ids=lambda example: example.name)
def test_notebooks_run(example, monkeypatch):
    """The code of the notebook, cell by cell, and it ends by showing a figure."""
    written = (DOCS / "gallery" / f"{example.name}.ipynb").read_text(encoding="utf-8")
    assert written == example.notebook(), f"stale: run python docs/pictures.py gallery/{example.name}"
    monkeypatch.setattr("matplotlib.pyplot.subplots", a_figure)  # on no screen, and forgotten afterwards
    namespace = {"__name__": example.name}
    cells = ["".join(cell["source"]) for cell in json.loads(written)["cells"] if cell["cell_type"] == "code"]
    for code in cells:
        exec(compile(code, example.name, "exec"), namespace)
    assert cells[-1].splitlines()[-1] == "figure"
    assert isinstance(namespace["figure"], Figure)
    assert namespace["figure"].axes


def a_figure(*args, figsize, layout):
    figure = Figure(figsize=figsize, layout=layout)
    return figure, figure.subplots(*args)


def test_the_gallery_shows_every_example():
    for page in ("gallery/index.md", "index.md"):
        shown = re.findall(r"assets/gallery/(\w+)\.png\)\]\((?:gallery/)?(\w+)\.md\)", (DOCS / page).read_text())
        assert sorted(shown) == [(example.name, example.name) for example in percent.examples()]


def test_a_script_becomes_a_page(tmp_path):
    (tmp_path / "one.py").write_text("# %% [markdown]\n# # One\n#\n# Text.\n\n# %%\nx = 1  # %% not a cell\nx\n")
    example = percent.Example.read(tmp_path / "one.py")
    assert example.title == "One"
    assert example.page().startswith("# One\n\nText.\n\n![One](../assets/gallery/one.png)\n")
    assert example.page().endswith("```python\nx = 1  # %% not a cell\nx\n```\n")


# --- in a browser ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(look.browser() is None, reason="no Chromium")
def test_the_look_at_the_site_would_notice(tmp_path):
    """`make docs` looks at the built pages so; here at one that is good and one that has every fault."""
    faults = '<div style="width: 2000px">x</div><img src="none.png"><pre style="overflow: auto">%s</pre><script>throw 1</script>'
    (tmp_path / "good.html").write_text("<p>good</p><pre>short</pre>")
    (tmp_path / "bad.html").write_text(faults % ("x" * 500))
    assert look.faults(look.browser(), [tmp_path / "good.html"]) == []
    found = "\n".join(look.faults(look.browser(), [tmp_path / "good.html", tmp_path / "bad.html"]))
    assert "good.html" not in found.replace("console", "")
    for width in look.WIDTHS:
        assert f"at {width} px scrolls sideways" in found
        assert f"at {width} px: code scrolls sideways" in found
        assert f"at {width} px: the picture none.png is missing" in found
    assert "console:" in found
    assert look.main(str(tmp_path / "none")) == 1
