"""The page for an auditor, shipped beside the code, fits the code; and the code fits one sitting."""

import re
from pathlib import Path

import riemdp
from code_size import code_lines

PACKAGE = Path(riemdp.__file__).parent
PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
PAGE = (PACKAGE / "privacy" / "README.md").read_text("utf-8")
ROW = re.compile(r"^\| `([\w/]+\.py)` \| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)


def test_the_release_path_can_be_read_in_one_sitting():
    """All lines, those of docstrings too."""
    assert sum(len(path.read_text("utf-8").splitlines()) for path in (PACKAGE / "privacy").rglob("*.py")) < 1200


def test_every_file_of_the_folder_is_on_the_page():
    files = {path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "privacy").rglob("*.py")}
    assert files <= set(re.findall(r"`([\w/]+\.py)`", PAGE))


def test_whatever_the_folder_is_said_to_rely_on_exists():
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", PAGE):
        assert (PACKAGE / name).exists() or (PROOFS.parents[1] / name).exists(), name


def test_the_page_says_how_long_files_are():
    rows = ROW.findall(PAGE)
    assert len(rows) == len(re.findall(r"^\| `", PAGE, re.MULTILINE))
    for name, stated, _, _ in rows:
        assert 0.8 < int(stated) / code_lines(PACKAGE / name) < 1.25, (name, stated)


def test_the_proofs_that_the_page_names_speak_of_these_files():
    for name, _, _, proofs in ROW.findall(PAGE):
        module = "riemdp." + name.removesuffix(".py").replace("/", ".")
        if proofs == "decision 15":
            assert (PROOFS.parent / "decisions" / "0015-cells.md").exists()
            continue
        texts = [(PROOFS / proof).read_text("utf-8") for proof in re.findall(r"`(\w+\.md)`", proofs)]
        assert any(f"proves: {module}." in text for text in texts), name


def test_everything_that_the_folder_imports_from_the_package_is_on_the_page_or_below_it():
    """But for spaces, kernels and the smallest helpers, an auditor is told of all that is called."""
    known = {name.removesuffix(".py").replace("/", ".") for name, *_ in ROW.findall(PAGE)}
    small = {"caching", "display", "errors"}
    for path in (PACKAGE / "privacy").glob("*.py"):
        for module in re.findall(r"^from riemdp\.([\w.]+) import", path.read_text("utf-8"), re.MULTILINE):
            assert module in known | small or module.split(".")[0] in ("manifolds", "kernels"), (path.name, module)
