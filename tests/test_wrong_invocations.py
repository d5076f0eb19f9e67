"""Wrong invocations: exit code 2 or 3, one line on stderr, nothing written, nothing spent."""

from __future__ import annotations

import io
import shlex
import shutil
import sqlite3
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.cli import app

PLACE = "--space spd-affine --center identity --radius 1"
MEAN = f"mean X.npy {PLACE} --epsilon 1"
PLAN = "plan --space sphere --size 2 --records 10 --radius 0.5"
AUDIT = "audit --space sphere --size 2 --records 10 --radius 0.5 --draws 1000"
KEEP = "--out mean.npy --report mean.html --plot mean.png"  # what must not appear

WRONG = {
    # commands and options
    "unknown command": ("maen X.npy", "No such command 'maen'"),
    "unknown option": (f"{MEAN} --espilon 1", "No such option"),
    "option without its value": (f"mean X.npy {PLACE} --epsilon", "--epsilon"),
    "no data": (f"mean {PLACE} --epsilon 1", "DATA"),
    "two data": (f"mean X.npy X.npy {PLACE} --epsilon 1", "unexpected extra argument"),
    "worthless": (f"mean X.npy {PLACE} --epsilon 0.01 --ledger new.db --budget-epsilon 1 {KEEP}", "n = 2,600 or epsilon = 0.13 would"),
    "hardly a promise": (f"mean X.npy {PLACE} --mu 12 {KEEP}", "mu = 12 promises hardly anything"),
    "large delta": (f"mean X.npy {PLACE} --epsilon 1 --delta 0.01 {KEEP}", "delta = 0.01 is above 1/n = 0.005"),
    "no space": ("mean X.npy --center identity --radius 1 --epsilon 1", "--space"),
    "no subcommand": ("ledger", "Missing command"),
    # privacy
    "no guarantee": (f"mean X.npy {PLACE} {KEEP}", "no privacy option"),
    "negative epsilon": (f"mean X.npy {PLACE} --epsilon -1", "epsilon = -1"),
    "epsilon zero": (f"mean X.npy {PLACE} --epsilon 0", "epsilon = 0"),
    "epsilon not a number": (f"mean X.npy {PLACE} --epsilon nan", "epsilon = nan"),
    "infinite epsilon": (f"mean X.npy {PLACE} --epsilon inf", "epsilon = inf"),
    "epsilon a word": (f"mean X.npy {PLACE} --epsilon one", "--epsilon"),
    "delta without epsilon": (f"mean X.npy {PLACE} --delta 1e-6", "--delta 1e-06: pass --epsilon"),
    "delta too large": (f"{MEAN} --delta 2", "delta = 2"),
    "two guarantees": (f"{MEAN} --mu 1", "--epsilon 1 --mu 1"),
    "alpha too small": (f"{MEAN} --alpha 0.5", "alpha = 0.5"),
    # the ball
    "radius zero": ("mean X.npy --space spd-affine --center identity --radius 0 --epsilon 1", "radius = 0"),
    "negative radius": ("mean X.npy --space spd-affine --center identity --radius -1 --epsilon 1", "radius = -1"),
    "overflowing radius": ("mean X.npy --space spd-affine --center identity --radius 1e999 --epsilon 1", "radius = inf"),
    "radius too large": ("mean sphere.npy --space sphere --center north --radius 3 --epsilon 1", "too large for Sphere"),
    "radius above what is computed": ("mean sphere.npy --space sphere --center north --radius 1.5 --epsilon 1", "pass at most 1.41, or --statistic tangent-mean"),
    "radius above what is unique": ("mean sphere.npy --space sphere --center north --radius 1.6 --epsilon 1", "pass at most 1.41"),
    "radius in degrees": ("mean sphere.npy --space sphere --center north --radius 30 --epsilon 1", "if these are degrees, pass 0.523"),
    "radius too small": ("mean sphere.npy --space sphere --center north --radius 1e-20 --epsilon 1", "is too small to compute"),
    "missing centre": ("mean X.npy --space spd-affine --radius 1 --epsilon 1", "--center is missing"),
    "missing radius": ("mean X.npy --space spd-affine --center identity --epsilon 1", "--radius is missing"),
    "centre of another space": ("mean sphere.npy --space sphere --center identity --radius 1 --epsilon 1", "--center identity"),
    "centre file missing": ("mean X.npy --space spd-affine --center none.npy --radius 1 --epsilon 1", "none.npy"),
    "typo in centre": ("mean X.npy --space spd-affine --center identiy --radius 1 --epsilon 1", "pass identity, north, origin, or a file"),
    "centre of another size": ("mean X.npy --space spd-affine --center center2.npy --radius 1 --epsilon 1", "shape (2, 2)"),
    "centre no point": ("mean X.npy --space spd-affine --center negative.npy --radius 1 --epsilon 1", "--center negative.npy"),
    "ball given twice": (f"{MEAN} --eigenvalues 1 2", "leave out --center"),
    "eigenvalues the wrong way": ("mean X.npy --space spd-affine --eigenvalues 2 1 --epsilon 1", "--eigenvalues 2.0 1.0: pass"),
    "one eigenvalue": ("mean X.npy --space spd-affine --epsilon 1 --eigenvalues 2", "--eigenvalues"),
    "eigenvalues of directions": ("mean sphere.npy --space sphere --eigenvalues 1 2 --epsilon 1", "eigenvalue bounds"),
    "footpoint missing": (f"{MEAN} --mechanism wrapped-laplace --footpoint none.npy", "--footpoint none.npy"),
    "footpoint not used": (f"{MEAN} --mechanism kng --footpoint center3.npy", "footpoint"),
    # the space
    "unknown space": ("mean X.npy --space doughnut --center origin --radius 1 --epsilon 1", "--space"),
    "curvature of matrices": (f"{MEAN} --curvature 2", "--curvature 2"),
    "curvature of the wrong sign": ("mean sphere.npy --space sphere --curvature -1 --center north --radius 1 --epsilon 1", "curvature = -1"),
    "wrong k": (f"{MEAN} --size 4", "takes records of shape (n, 4, 4)"),
    "size zero": (f"{MEAN} --size 0", "k = 0"),
    "integer overflow": (f"{MEAN} --size 99999999999999999999", "--size 99999999999999999999"),
    "more records than exist": (f"{PLAN} --epsilon 1 --records 1{'0' * 400}", "--records"),
    # summaries
    "summary as an array": (f"summary X.npy {PLACE} --mu 5 --out summary.npy", "pass the name of a .json file"),
    "summary in silence": (f"summary X.npy {PLACE} --mu 5 --quiet", "pass --out summary.json"),
    "second moments of no kind": (f"summary X.npy {PLACE} --mu 5 --second half --out s.json", "second = 'half'"),
    "second moments of too many dimensions": ("summary wide.npy --space euclidean --center origin --radius 1 --mu 5 --second full --out s.json", "pass 'trace' or 'diagonal'"),
    "summary of one record": ("summary one.npy --space euclidean --center origin --radius 1 --mu 1 --out s.json", "more than the ball's radius"),
    "summary by another mechanism": (f"summary X.npy {PLACE} --epsilon 5 --mechanism kng --out s.json", "kng"),
    "compare one": ("compare plane.json", "Missing argument"),
    "compare what is not there": ("compare plane.json none.json", "none.json"),
    "compare with itself": ("compare plane.json plane.json", "two groups of different people"),
    "compare other spaces": ("compare plane.json round.json --report old2.html --plot old2.png", "of different spaces"),
    "compare with a mean": ("compare plane.json mean-only.json", "does not tell how much records vary: pass what riemdp summary --out wrote"),
    "compare with an array": ("compare plane.json X.npy", "'X.npy' is not JSON: pass a file that riemdp summary --out wrote"),
    "compare with what is no release": ("compare plane.json nothing.json", "nothing.json: the data are not those of a release: pass what riemdp summary --out wrote"),
    "classify by a summary": ("classify predict X.npy --model plane.json --out labels.csv", "plane.json is no classifier: pass what riemdp classify fit --out wrote"),
    "bounds the wrong way": (f"regress X.npy {PLACE} --mu 5 --on t.npy --bounds 90 20", "--bounds 90.0 20.0: pass the lower bound first"),
    "bounds that are no numbers": (f"regress X.npy {PLACE} --mu 5 --on t.npy --bounds twenty 90", "--bounds"),
    "unit without groups": (f"{MEAN} --unit patient", "--unit patient needs --groups"),
    "compare over a file": ("compare plane.json plane2.json --plot old.png", "exists already"),
    "compare onto itself": ("compare plane.json plane2.json --report plane.json", "--report plane.json"),
    # mechanisms
    "typo in mechanism": (f"{MEAN} --mechanism wraped-laplace {KEEP}", "--mechanism wraped-laplace: pass"),
    "typo in statistic": (f"{MEAN} --statistic median", "--statistic median: pass"),
    "typo in calibration": (f"{MEAN} --calibration exact", "--calibration exact: pass"),
    "mechanism without that guarantee": (f"{MEAN} --mechanism wrapped-gaussian {KEEP}", "riemdp: "),
    "baseline of another space": (f"{MEAN} --mechanism pointwise-laplace", "riemdp: "),
    # data
    "missing file": (f"mean none.npy {PLACE} --epsilon 1 {KEEP}", "'none.npy' does not exist"),
    "empty file": (f"mean empty.npy {PLACE} --epsilon 1", "'empty.npy' cannot be read"),
    "header promises more": (f"mean short.npy {PLACE} --epsilon 1 {KEEP}", "'short.npy' cannot be read"),
    "text in npy": (f"mean text.npy {PLACE} --epsilon 1", "'text.npy' cannot be read"),
    "semicolons in csv": (f"mean semicolons.csv {PLACE} --epsilon 1 {KEEP}", "'semicolons.csv' separates its cells by ';': save it with commas"),
    "ids in csv": (f"mean ids.csv {PLACE} --epsilon 1 {KEEP}", "pick columns with --columns"),
    "no such column": (f"mean ids.csv --columns 2-11 {PLACE} --epsilon 1 {KEEP}", "'ids.csv' has no columns 2-11: pass some of 1 to 10"),
    "no such name": (f"mean ids.csv --columns height {PLACE} --epsilon 1 {KEEP}", "'ids.csv' has no column 'height': pass one of 1 to 10"),
    "columns of an array": (f"{MEAN} --columns 1-9", "'X.npy' is no table: leave out --columns"),
    "header of an array": (f"{MEAN} --header", "'X.npy' is no .csv file: leave out --header"),
    "empty csv": (f"mean empty.csv {PLACE} --epsilon 1", "holds no records"),
    "one matrix": (f"mean center3.npy {PLACE} --epsilon 1", "has shape (3, 3)"),
    "one number": (f"mean number.npy {PLACE} --epsilon 1", "has shape ()"),
    "no records": (f"mean none3.npy {PLACE} --epsilon 1", "holds no records"),
    "records that are not square": (f"mean sphere.npy {PLACE} --epsilon 1", "has shape (20, 3)"),
    "not a zip": (f"mean text.npz {PLACE} --epsilon 1", "'text.npz' cannot be read"),
    "no such array": (f"mean two.npz:c {PLACE} --epsilon 1", "holds a, b"),
    "which array": (f"mean two.npz {PLACE} --epsilon 1", "holds a, b"),
    "archive that lies": (f"mean short.npz {PLACE} --epsilon 1", "'short.npz' claims 7,200,000,000,000,000 bytes"),
    "pickled objects": (f"mean objects.npy {PLACE} --epsilon 1", "'objects.npy' cannot be read"),
    "words": (f"mean words.npy {PLACE} --epsilon 1", "'words.npy' does not hold an array of numbers"),
    "complex matrices": (f"mean complex.npy {PLACE} --epsilon 1", "Complex data not supported by SPDAffine(k=3)"),
    "unknown format": (f"mean X.mat {PLACE} --epsilon 1", "no known format"),
    "folder without arrays": (f"mean folder {PLACE} --epsilon 1", "holds no .npy file"),
    "pattern without files": (f"mean 'folder/*.npy' {PLACE} --epsilon 1", "holds no .npy file"),
    "folder of different sizes": (f"mean mixed {PLACE} --epsilon 1", "another shape"),
    "too few landmarks": ("mean pairs.npy --space kendall --center origin --radius 0.2 --epsilon 1", "has shape (5, 2, 2), hence k = 2"),
    "broken table": (f"mean text.parquet {PLACE} --epsilon 1", "text.parquet"),
    # outputs
    "output in no folder": (f"{MEAN} --out none/mean.npy", "--out none/mean.npy cannot be written"),
    "output below a file": (f"{MEAN} --out X.npy/mean.npy", "cannot be written"),
    "output is a folder": (f"{MEAN} --out folder.npy", "it is a folder"),
    "output of another format": (f"{MEAN} --out mean.csv", ".npy or .json"),
    "output over the data": (f"{MEAN} --out X.npy", "would overwrite"),
    "output among the data": (f"mean mixed {PLACE} --epsilon 1 --out mixed/mean.npy", "come among"),
    "output over a pattern": (f"mean 'mixed/*.npy' {PLACE} --epsilon 1 --out mixed/a.npy", "would overwrite"),
    "output over the centre": ("mean X.npy --space spd-affine --center center3.npy --radius 1 --epsilon 1 --out center3.npy", "would overwrite"),
    "output exists": (f"{MEAN} --out words.npy", "--out words.npy exists already"),
    "report exists": (f"{MEAN} --report old.html", "--report old.html exists already"),
    "picture exists": (f"{MEAN} --plot old.png", "--force to replace it"),
    "output over the data by force": (f"{MEAN} --out X.npy --force", "would overwrite"),
    "output that leads nowhere": (f"{MEAN} --out lost.npy", "exists already"),
    "name too long": (f"{MEAN} --out {'m' * 300}.npy", "cannot be written"),
    "report in no folder": (f"{MEAN} --out mean.npy --report none/mean.html", "--report none/mean.html"),
    "report of another format": (f"{MEAN} --out mean.npy --report mean.pdf", ".html"),
    "picture of another format": (f"{MEAN} --out mean.npy --plot mean.gif", ".png"),
    "picture in no folder": (f"{MEAN} --out mean.npy --plot none/mean.png", "--plot none/mean.png"),
    "workers and a cluster": (f"{MEAN} --workers 2 --scheduler tcp://127.0.0.1:8786 {KEEP}", "pass one of them"),
    "no workers at all": (f"{MEAN} --workers 0 {KEEP}", "--workers"),
    "quiet and nowhere to go": (f"{MEAN} --quiet", "--quiet without --out"),
    # ledgers
    "budget without a ledger": (f"{MEAN} --budget-epsilon 1 {KEEP}", "pass --ledger"),
    "ledger without a budget": (f"{MEAN} --ledger new.db {KEEP}", "does not exist: pass its right name, or a budget for a new one"),
    "ledger of another budget": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --budget-mu 2 {KEEP}", "another budget"),
    "ledger of another type": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --budget-rho 2 {KEEP}", "another budget type"),
    "two budgets": (f"{MEAN} --ledger new.db --budget-mu 1 --budget-rho 1", "--budget-mu 1 --budget-rho 1"),
    "negative budget": (f"{MEAN} --ledger new.db --budget-mu -1", "mu = -1"),
    "ledger in no folder": (f"{MEAN} --ledger none/new.db --budget-epsilon 1", "none/new.db"),
    "ledger that is none": (f"{MEAN} --ledger X.npy --budget-epsilon 1", "X.npy"),
    "corrupted ledger": (f"mean X.npy {PLACE} --mu 0.1 --ledger broken.db {KEEP}", "broken.db"),
    "altered ledger": (f"mean X.npy {PLACE} --mu 0.1 --ledger altered.db {KEEP}", "is damaged"),
    "output over the ledger": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.json --budget-mu 1 --out ledger.json", "would overwrite"),
    "new ledger, bad data": (f"mean none.npy {PLACE} --mu 0.1 --ledger new.db --budget-mu 1", "none.npy"),
    "new ledger, bad mechanism": (f"mean X.npy {PLACE} --mu 0.1 --ledger new.db --budget-mu 1 --mechanism x", "--mechanism x: pass"),
    "new ledger, impossible mechanism": (f"{MEAN} --ledger new.db --budget-epsilon 1 --mechanism wrapped-gaussian", "riemdp: "),
    "new ledger, no place for this type": (f"mean X.npy {PLACE} --mu 0.1 --ledger new.db --budget-epsilon 1", "cannot be counted by a budget of differential privacy"),
    "(epsilon, delta) on a GDP ledger": (f"{MEAN} --delta 1e-6 --ledger ledger.db {KEEP}", "ask for GDP(mu) or PureDP(epsilon)"),
    "ledger that must exist": (f"{MEAN} --ledger new.db --budget-epsilon 1 --existing-ledger {KEEP}", "new.db does not exist"),
    "ledger that must exist, without a name": (f"{MEAN} --existing-ledger {KEEP}", "pass --ledger"),
    "anchor without a ledger": (f"{MEAN} --anchor a.txt {KEEP}", "pass --ledger"),
    "anchor that is the ledger": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --anchor ledger.db {KEEP}", "is the ledger itself"),
    "anchor that is none": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --anchor X.npy {KEEP}", "the anchor"),
    "anchor in no folder": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --anchor none/a.txt {KEEP}", "cannot be written"),
    "anchor of a later state": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --anchor later.txt {KEEP}", "lacks entry 7 of its anchor"),
    "output over the anchor": (f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --anchor mean.npy --out mean.npy", "would overwrite"),
    "ledger show: missing": ("ledger show none.db", "none.db"),
    "ledger show: corrupted": ("ledger show broken.db", "broken.db"),
    # other commands
    "plan: no records": (f"{PLAN} --epsilon 1 --records 0", "--records"),
    "plan: no size": ("plan --space sphere --records 10 --radius 0.5 --epsilon 1", "--size"),
    "plan: no radius": ("plan --space sphere --size 2 --records 10 --epsilon 1", "--radius"),
    "plan: picture in no folder": (f"{PLAN} --epsilon 1 --plot none/x.png", "--plot none/x.png"),
    "plan: picture exists": (f"{PLAN} --epsilon 1 --plot old.png", "exists already"),
    "demo: no folder": ("demo X.npy", "X.npy cannot be a folder"),
    "demo: below a file": ("demo X.npy/demo", "cannot be a folder"),
    "demo: report exists": ("demo mine", "mine/report.html exists already"),
    "descriptors: output exists": ("descriptors images.npy --out words.npy", "exists already"),
    "check: missing centre": ("check X.npy --space spd-affine --radius 1", "--center is missing"),
    "check: missing file": (f"check none.npy {PLACE}", "none.npy"),
    "descriptors: no output": ("descriptors images.npy", "--out"),
    "descriptors: missing": ("descriptors none.npy --out D.npy", "none.npy"),
    "descriptors: not images": ("descriptors center3.npy --out D.npy", "images has shape (3, 3)"),
    "descriptors: unknown features": ("descriptors images.npy --out D.npy --features six", "features = 'six'"),
    "descriptors: eta zero": ("descriptors images.npy --out D.npy --eta 0", "eta = 0"),
    "descriptors: region outside": ("descriptors images.npy --out D.npy --region 0 0 99 9", "inside the 8 x 9 image"),
    "descriptors: no pictures": ("descriptors folder --out D.npy", "holds no pictures"),
    "descriptors: over the images": ("descriptors images.npy --out images.npy", "would overwrite"),
    "audit: too many draws": (f"{AUDIT} --epsilon 1 --draws 99999999999999999999", "--draws"),
    "audit: unknown mechanism": (f"{AUDIT} --epsilon 1 --mechanism x", "--mechanism x: pass"),
}  # fmt: skip

REFUSED = {
    "budget is spent": (f"mean X.npy {PLACE} --mu 0.9 --ledger ledger.db {KEEP}", "does not fit"),
    "budget is spent, same budget given": (f"mean X.npy {PLACE} --mu 0.9 --ledger ledger.db --budget-mu 1", "does not fit"),
    "more than a new budget": (f"mean X.npy {PLACE} --epsilon 2 --ledger new.db --budget-epsilon 1 {KEEP}", "does not fit"),
    "more than a new budget, other types": (f"mean X.npy {PLACE} --mu 9 --ledger new.db --budget-epsilon 1 --budget-delta 1e-6", "does not fit"),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good and bad files, and a ledger of which most is spent."""
    place = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rd.SPDAffine(3).random_point(200, rng)
    arrays = {
        "X": X, "sphere": rd.Sphere(2).random_point(20, rng), "complex": X + 0j, "center2": np.eye(2), "center3": np.diag([1.0, 2, 1]),
        "negative": -np.eye(3), "number": np.array(1.0), "none3": np.ones((0, 3, 3)), "words": np.array(["a", "b"]), "pairs": np.ones((5, 2, 2)),
        "images": rng.integers(0, 256, (4, 8, 9), dtype=np.uint8), "objects": np.array([{}, []], dtype=object),
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(place / f"{name}.npy", array, allow_pickle=True)
    np.savez(place / "two.npz", a=X, b=X)
    np.save(place / "wide.npy", np.zeros((3, 2049)))
    np.save(place / "one.npy", np.zeros((1, 2)))
    np.save(place / "t.npy", np.zeros(len(X)))
    plane, around = rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0), rd.Ball(rd.Sphere(2), [0, 0, 1.0], 1.0)
    for name, seed in (("plane", 0), ("plane2", 1)):
        rd.private_summary(rd.Euclidean(2).random_point(200, seed), plane, "mu=5").save(place / f"{name}.json")
    rd.private_summary(arrays["sphere"], around, "mu=5").save(place / "round.json")
    rd.private_mean(arrays["sphere"], around, "mu=5").save(place / "mean-only.json")
    short = (place / "X.npy").read_bytes()[:-8]
    np.lib.format.write_array_header_1_0(promise := io.BytesIO(), {"descr": "<f8", "fortran_order": False, "shape": (10**14, 3, 3)})
    with zipfile.ZipFile(place / "short.npz", "w") as archive:
        archive.writestr("X.npy", promise.getvalue())
    contents = {
        "short.npy": short, "empty.npy": b"", "empty.csv": b"", "X.mat": b"x", "text.npy": b"no array", "text.npz": b"no zip",
        "text.parquet": b"no table", "nothing.json": b"{}", "semicolons.csv": b"1;0;0;1\n1;0;0;1\n", "ids.csv": b"x,1,0,0,0,1,0,0,0,1\ny,1,0,0,0,1,0,0,0,1\n",
    }  # fmt: skip
    for name, content in contents.items():
        (place / name).write_bytes(content)
    for name in ("old.html", "old.png"):
        (place / name).write_bytes(b"an older one")
    for name in ("folder", "folder.npy", "mixed", "mine"):
        (place / name).mkdir()
    for name, k in (("a", 3), ("b", 2)):
        np.save(place / "mixed" / f"{name}.npy", np.eye(k))
    (place / "mine" / "report.html").write_text("mine")
    (place / "lost.npy").symlink_to("nowhere.npy")
    make_ledgers(place)
    return place


def make_ledgers(place):
    for name in ("ledger", "altered"):
        rd.Ledger(place / f"{name}.db", rd.GDP(1.0)).reserve(rd.GDP(0.8), "an earlier release")
    shutil.copy(place / "ledger.db", place / "ledger.json")
    (place / "later.txt").write_text(f"7 {'0' * 64}\n")
    whole = (place / "ledger.db").read_bytes()
    (place / "broken.db").write_bytes(whole[: len(whole) // 2])
    with sqlite3.connect(place / "altered.db") as db:
        (trigger,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'only_release'").fetchone()
        db.execute("DROP TRIGGER only_release")
        db.execute("UPDATE entry SET guarantee = replace(guarantee, '0.8', '0.1') WHERE id = 1")
        db.execute(trigger)
    db.close()


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A copy of the files as the working folder."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def run(line):
    return CliRunner().invoke(app, shlex.split(line), prog_name="riemdp")


def refuses(line, says, code, here):
    before = snapshot(here)
    result = run(line)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert says in result.stderr
    assert result.stderr.startswith("riemdp: ")
    assert len(result.stderr.splitlines()) == 1
    assert snapshot(here) == before


def test_there_are_many():
    assert len(WRONG) + len(REFUSED) >= 100


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name, here):
    if "parquet" in WRONG[name][0]:
        pytest.importorskip("pyarrow")
    refuses(*WRONG[name], 2, here)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, here):
    refuses(*REFUSED[name], 3, here)


def test_the_same_line_put_right_does_work(here):
    """What the wrong invocations differ from: the base is right."""
    before = snapshot(here)
    result = run(f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --budget-mu 1 --out mean.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {path.name for path in snapshot(here).keys() - before.keys()} == {"mean.npy"}
    assert [entry.guarantee for entry in rd.Ledger("ledger.db").history()] == [rd.GDP(0.8), rd.GDP(0.1)]
    for line in (MEAN, f"{PLAN} --epsilon 1", f"{AUDIT} --epsilon 1", f"check X.npy {PLACE}", "descriptors images.npy --out D.npy"):
        assert run(line).exit_code == 0


@pytest.mark.parametrize("line", [f"mean X.npy {PLACE} --mu 0.1 --ledger ledger.db --wait 0.05", "ledger show ledger.db --wait 0.05"])
def test_ledger_locked(here, line):
    before = snapshot(here)
    other = sqlite3.connect(here / "ledger.db")
    try:
        other.execute("BEGIN EXCLUSIVE")
        result = run(line)
    finally:
        other.close()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "locked by another process" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert snapshot(here) == before


@pytest.mark.parametrize("text", ["1,0,0,1\n1,SECRET-42,0,1\n", "SECRET-42,SECRET-42\nSECRET-42,1\n", "SECRET-42;SECRET-42\n1;SECRET-42\n"])
def test_a_wrong_csv_shows_nothing_of_its_content(here, text):
    (here / "secret.csv").write_text(text)
    done = run(f"mean secret.csv {PLACE} --epsilon 1")
    assert "SECRET-42" not in done.stdout + done.stderr


@pytest.mark.parametrize(("line", "code"), [(WRONG["header promises more"][0], 2), (WRONG["unknown space"][0], 2), (REFUSED["budget is spent"][0], 3)])
def test_as_a_process(here, line, code):
    before = snapshot(here)
    done = subprocess.run([sys.executable, "-m", "riemdp.cli", *shlex.split(line)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert snapshot(here) == before
