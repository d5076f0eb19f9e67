"""The command line: it parses, calls, prints, and says what is wrong in one line."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rich.progress
from typer.testing import CliRunner

import riemdp as rd
from riemdp.audit import audit
from riemdp.cli import app
from riemdp.cli.options import parse_budget, parse_center, parse_guarantee, parse_space
from riemdp.cli.output import first_pass_bar
from riemdp.io import ledger_file
from riemdp.manifolds import package_spaces, space_class, space_names

MAIN = "from riemdp.cli import main; main()"
BALL = "--space spd-affine --center identity --radius 1.5".split()
AUDIT = "audit --space sphere --size 2 --radius 0.5 --records 50 --draws 20000".split()


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="riemdp")


def in_a_process(*arguments):
    return subprocess.run([sys.executable, "-c", MAIN, *arguments], capture_output=True, text=True, check=False)


# --- what the options mean ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("euclidean", rd.Euclidean(4)),
        ("sphere", rd.Sphere(4)),
        ("hyperbolic", rd.Hyperbolic(4)),
        ("spd-affine", rd.SPDAffine(4)),
        ("spd-log-euclidean", rd.SPDLogEuclidean(4)),
        ("kendall", rd.KendallShapes(4)),
    ],
)
def test_every_space_has_its_name(name, space):
    assert parse_space(name, 4) == space
    assert name in space_names()


def test_every_space_of_the_package_but_products_has_a_name():
    named = {space_class(name) for name in space_names()}
    assert {kind for kind in package_spaces() if kind not in named} == {rd.Product}


def test_curvature_belongs_to_spheres_and_hyperbolic_spaces():
    assert parse_space("sphere", 2, 4.0) == rd.Sphere(2, curvature=4.0)
    assert parse_space("hyperbolic", 2, -4.0) == rd.Hyperbolic(2, curvature=-4.0)
    for name in set(space_names()) - {"sphere", "hyperbolic", "poincare"}:
        with pytest.raises(rd.InputError, match="--curvature 4"):
            parse_space(name, 4, 4.0)


def test_centers_by_name_and_from_a_file(tmp_path):
    assert np.array_equal(parse_center("identity", rd.SPDAffine(3)), np.eye(3))
    assert np.array_equal(parse_center("north", rd.Sphere(2)), [0, 0, 1])
    assert np.array_equal(parse_center("origin", rd.KendallShapes(5)), rd.KendallShapes(5).origin)
    np.save(tmp_path / "center.npy", np.diag([1.0, 2.0]))
    assert np.array_equal(parse_center(str(tmp_path / "center.npy"), rd.SPDAffine(2)), np.diag([1.0, 2.0]))


def test_centers_from_files_are_brought_onto_the_space(tmp_path):
    np.savetxt(tmp_path / "center.csv", [[2.0, 1.0], [1.0, 3.0]], delimiter=",")
    assert np.array_equal(parse_center(str(tmp_path / "center.csv"), rd.SPDAffine(2)), [[2, 1], [1, 3]])
    np.save(tmp_path / "north.npy", [0.0, 0.0, 2.0])
    assert np.array_equal(parse_center(str(tmp_path / "north.npy"), rd.Sphere(2)), [0, 0, 1])
    np.save(tmp_path / "triangle.npy", np.array([0, 1, 1j]))
    assert rd.KendallShapes(3).contains(parse_center(str(tmp_path / "triangle.npy"), rd.KendallShapes(3)))


def test_centers_that_make_no_sense_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "empty.npy").write_bytes(b"")
    for text in ("identity", *(str(tmp_path / f"{name}.npy") for name in ("missing", "objects", "text", "empty"))):
        with pytest.raises(rd.InputError, match="--center"):
            parse_center(text, rd.Sphere(2))


@pytest.mark.parametrize(
    ("options", "guarantee"),
    [
        ({"epsilon": 1.0}, rd.PureDP(1.0)),
        ({"epsilon": 1.0, "delta": 1e-6}, rd.ApproxDP(1.0, 1e-6)),
        ({"mu": 0.5}, rd.GDP(0.5)),
        ({"rho": 0.1}, rd.ZCDP(0.1)),
        ({"alpha": 3.0, "epsilon": 1.0}, rd.RDP(3.0, 1.0)),
    ],
)
def test_privacy_options_determine_the_guarantee(options, guarantee):
    nothing = dict.fromkeys(("epsilon", "delta", "mu", "rho", "alpha"))
    assert parse_guarantee(**nothing | options) == guarantee


@pytest.mark.parametrize("options", [{}, {"delta": 0.1}, {"epsilon": 1.0, "mu": 1.0}, {"mu": 1.0, "rho": 1.0}, {"alpha": 2.0}])
def test_other_combinations_are_refused(options):
    with pytest.raises(rd.InputError, match="--epsilon"):
        parse_guarantee(**options)


def test_a_budget_is_given_or_not():
    assert parse_budget(epsilon=None, mu=None) is None
    assert parse_budget(epsilon=1.0, delta=1e-6, mu=None) == rd.ApproxDP(1.0, 1e-6)
    with pytest.raises(rd.InputError, match=r"--budget-delta 0\.1: pass --budget-epsilon"):
        parse_budget(delta=0.1)


# --- commands -----------------------------------------------------------------------------------------------


def test_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"riemdp {rd.__version__}\n")


def test_no_command_shows_the_commands():
    result = run()
    assert result.exit_code == 0
    for command in ("mean", "plan", "check", "descriptors", "audit", "ledger", "demo"):
        assert f" {command} " in result.output


@pytest.mark.parametrize("command", ["mean", "plan", "check", "descriptors", "audit", "ledger show"])
def test_help_shows_an_example_that_parses(command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"riemdp {command} " in result.output.partition("Usage")[2].partition("\n")[2]


def test_an_audit_for_people():
    result = run(*AUDIT, "--mu", 1, "--mechanism", "wrapped-gaussian", "--center", "north")
    assert (result.exit_code, result.stderr) == (0, "")
    for word in ("wrapped-gaussian", "(mu = 1)-Gaussian", "mu >= 0.8", "20,000 draws", "not contradicted"):
        assert word in result.stdout


def test_an_audit_of_adaptation():
    asked = "audit --space euclidean --size 1 --radius 1 --records 200 --mu 1 --draws 100 --adapt".split()
    result = run(*asked)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "auto, adaptive" in result.stdout
    assert "not contradicted" in result.stdout


def test_an_audit_without_a_number_of_draws(monkeypatch):
    asked = []
    monkeypatch.setattr(sys.modules["riemdp.audit"], "audit", lambda *_, draws, **options: asked.append(draws) or rd.audit_draws(range(100), range(100), rd.GDP(1.0)))
    for form in ([], ["--adapt"]):
        run("audit", "--space", "sphere", "--size", 2, "--radius", 0.5, "--records", 50, "--mu", 1, "--json", *form)
    assert asked == [1_000_000, 10_000]


def test_an_audit_for_machines():
    asked = run(*AUDIT, "--epsilon", 1, "--mechanism", "wrapped-laplace", "--seed", 3, "--confidence", 0.99, "--json")
    ball = rd.Ball(rd.Sphere(2), [0, 0, 1.0], 0.5)
    found = audit(ball, 50, rd.PureDP(1.0), mechanism="wrapped-laplace", draws=20_000, seed=3, confidence=0.99)
    assert json.loads(asked.stdout) == found.to_dict()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_contradicted_claim_is_exit_code_1(monkeypatch, form):
    def half_the_noise(ball, n, guarantee, **options):
        found = real(ball, n, rd.GDP(2 * guarantee.mu), **options)
        return type(found)(guarantee, found.lower, found.epsilon_lower, found.confidence, found.draws, mechanism="planted", scale=1.0, sensitivity=1.0)

    module = sys.modules["riemdp.audit"]
    real = module.audit
    monkeypatch.setattr(module, "audit", half_the_noise)
    result = run(*AUDIT, "--mu", 1, *form)
    assert result.exit_code == 1
    assert ('"holds": false' if form else "CONTRADICTED") in result.stdout


def test_the_demo_is_called(monkeypatch, tmp_path):
    called = []
    monkeypatch.setattr("riemdp.demo.main", lambda out, *, force: called.append((out, force)))
    for form in ([], ["--force"]):
        assert run("demo", tmp_path, *form).exit_code == 0
    assert called == [(tmp_path, False), (tmp_path, True)]


# --- mean -------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with records."""
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", rd.SPDAffine(3).random_point(200, np.random.default_rng(0)))
    return tmp_path


def test_a_mean_for_people(here):
    result = run("mean", "X.npy", *BALL, "--epsilon", 1, "--out", "mean.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    best = rd.plan(rd.Ball(rd.SPDAffine(3), np.eye(3), 1.5), 200, rd.PureDP(1.0))
    for text in ("Fréchet mean of 200 records, SPDAffine(k=3)", "(epsilon = 1)-differential privacy", "replace-one", "written         mean.npy"):
        assert text in result.stdout
    assert any(f"{p.mechanism}, scale {p.scale:.4g}" in result.stdout and f"{p.expected_error:.4g}, " in result.stdout for p in best)
    value = np.load("mean.npy")
    assert rd.SPDAffine(3).contains(value)
    assert np.format_float_positional(value[0, 0], precision=8).rstrip("0")[:7] in result.stdout
    assert rd.SPDAffine(3).dist(value, rd.frechet_mean(np.load("X.npy"), rd.SPDAffine(3)).point) < 2


def test_a_mean_for_machines_is_a_release(here):
    result = run("mean", "X.npy", *BALL, "--mu", 1, "--json", "--mechanism", "wrapped-gaussian")
    release = rd.Release.from_dict(json.loads(result.stdout))
    assert (release.n, release.guarantee, release.mechanism, release.radius) == (200, rd.GDP(1.0), "wrapped-gaussian", 1.5)


def test_a_release_in_a_file(here):
    assert run("mean", "X.npy", *BALL, "--epsilon", 1, "--delta", 1e-6, "--out", "mean.json", "--quiet").output == ""
    assert rd.Release.load("mean.json").guarantee == rd.ApproxDP(1.0, 1e-6)
    assert sorted(os.listdir()) == ["X.npy", "mean.json"]  # no draft is left


def test_every_option_reaches_the_mean(here, monkeypatch):
    asked = {}

    def spy(prepared, records, ledger, note):
        asked.update(vars(prepared.query), X=np.concatenate(records._raw.map(lambda rows, _: rows)), ledger=ledger, note=note)
        raise rd.InputError("stop here.")

    monkeypatch.setattr("riemdp.statistics.prepared.Prepared.release", spy)
    np.save("foot.npy", np.diag([1.0, 2, 1]))
    common = "mean X.npy --space spd-affine --eigenvalues 0.1 10 --epsilon 0.5 --delta 1e-6 --mechanism wrapped-gaussian".split()
    run(*common, *"--ledger l.db --budget-epsilon 1 --budget-delta 1e-5 --calibration classical --footpoint foot.npy".split())
    assert np.array_equal(asked["X"], np.load("X.npy"))
    assert np.array_equal(asked["footpoint"], np.diag([1.0, 2, 1]))
    assert asked["ball"].radius == rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(3), 0.1, 10).radius
    assert (asked["guarantee"], asked["ledger"].budget) == (rd.ApproxDP(0.5, 1e-6), rd.ApproxDP(1.0, 1e-5))
    assert [asked[name] for name in ("mechanism", "statistic", "calibration")] == ["wrapped-gaussian", "frechet-mean", "classical"]
    run(*common, "--statistic", "tangent-mean")
    assert [asked[name] for name in ("statistic", "calibration", "footpoint", "ledger")] == ["tangent-mean", "analytic", None, None]


@pytest.mark.parametrize(
    ("space", "center", "radius"),
    [
        (rd.Euclidean(4), "origin", 1),
        (rd.Sphere(2), "north", 1),
        (rd.Hyperbolic(3), "origin", 1),
        (rd.SPDAffine(2), "identity", 1),
        (rd.SPDLogEuclidean(3), "identity", 1),
        (rd.KendallShapes(6), "origin", 0.3),
    ],
)
def test_every_space_with_its_size_from_the_data(here, space, center, radius):
    np.save("X.npy", space.random_point(300, np.random.default_rng(0)))
    name = type(space).cli_name
    arguments = f"mean X.npy --space {name} --center {center} --radius {radius} --epsilon 2 --json".split()
    release = rd.Release.from_dict(json.loads(run(*arguments).stdout))
    assert (release.space, release.n) == (space, 300)


def test_the_size_may_be_given_for_flat_rows(here):
    np.save("flat.npy", np.load("X.npy").reshape(200, 9))
    assert run("mean", "flat.npy", *BALL, "--epsilon", 1).exit_code == 2
    assert run("mean", "flat.npy", *BALL, "--epsilon", 1, "--size", 3).exit_code == 0


def test_a_ledger_is_made_charged_and_shown(here):
    ledger = ["--ledger", "ledger.db", "--budget-mu", 1]
    for _ in range(2):
        result = run("mean", "X.npy", *BALL, "--mu", 0.5, *ledger)
        assert result.exit_code == 0
    assert "ledger.db: (mu = 0.707106)-Gaussian differential privacy left of (mu = 1)-" in result.stdout
    assert [(e.guarantee, e.status) for e in rd.Ledger("ledger.db").history()] == [(rd.GDP(0.5), "released")] * 2
    shown = run("ledger", "show", "ledger.db")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for text in ("budget    (mu = 1)-", "spent     (mu = 0.70710", "left      (mu = 0.707106)-", "released", "frechet-mean of 200 records"):
        assert text in shown.stdout
    data = json.loads(run("ledger", "show", "ledger.db", "--json").stdout)
    assert rd.Guarantee.from_dict(data["remaining"]) == rd.Ledger("ledger.db").remaining
    assert [entry["id"] for entry in data["history"]] == [1, 2]


def test_a_new_ledger_says_that_it_counts_nothing_before_it(here):
    line = ["mean", "X.npy", *BALL, "--mu", 0.5, "--ledger", "ledger.db"]
    assert "new ledger ledger.db, nothing before this is counted" in run(*line, "--budget-mu", 1).stderr
    assert run(*line, "--existing-ledger").stderr == ""


@pytest.mark.parametrize(
    ("options", "named"),
    [([], "wrapped-laplace: X.npy"), (["--note", "study 7"], "wrapped-laplace: study 7"), (["--note", "a\x1b[2Jb"], r"a\x1b[2Jb"), (["--note", ""], "wrapped-laplace")],
)
def test_an_entry_names_the_data(here, options, named):
    run("mean", "X.npy", *BALL, "--epsilon", 0.5, "--mechanism", "wrapped-laplace", "--ledger", "ledger.db", "--budget-epsilon", 1, *options)
    [entry] = rd.Ledger("ledger.db").history()
    assert entry.description.endswith(named)
    assert named in run("ledger", "show", "ledger.db").stdout


def test_a_ledger_that_was_put_back_shows_by_its_anchor(here):
    line = ["mean", "X.npy", *BALL, "--mu", 0.2, "--ledger", "ledger.db", "--budget-mu", 1, "--anchor", "anchor.txt"]
    assert run(*line).exit_code == 0
    older = (here / "ledger.db").read_bytes()
    assert run(*line).exit_code == 0
    digest = run("ledger", "show", "ledger.db", "--anchor", "anchor.txt").stdout.partition("digest    ")[2].split("\n")[0]
    assert (here / "anchor.txt").read_text().splitlines()[-1] == digest
    assert json.loads(run("ledger", "show", "ledger.db", "--json").stdout)["digest"] == digest
    (here / "ledger.db").write_bytes(older)
    for command in (line, ["ledger", "show", "ledger.db", "--anchor", "anchor.txt"]):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "lacks entry 2 of its anchor" in result.stderr
    assert (here / "ledger.db").read_bytes() == older


def test_very_many_entries_are_shown_in_lines_below_each_other(here, monkeypatch):
    book = rd.Ledger("ledger.db", rd.GDP(1.0))
    for number in range(12):
        book.reserve(rd.GDP(0.01), f"[bold]release {number}")
    few = run("ledger", "show", "ledger.db").stdout
    monkeypatch.setattr("riemdp.cli.bookkeeping.MANY", 11)
    many = run("ledger", "show", "ledger.db").stdout
    rows = [[line.split() for line in shown.splitlines() if line and "──" not in line] for shown in (few, many)]
    assert rows[0] == rows[1]
    lines = many.splitlines()[-14:-2]  # what to do next comes after them
    assert {line.index("(mu = 0.01)") for line in lines} == {lines[0].index("(mu = 0.01)")}
    assert [int(line[:2]) for line in lines] == list(range(1, 13))


def test_a_recount_tells_of_entries_that_state_another_total(here, monkeypatch):
    monkeypatch.setattr("riemdp.privacy.ledger.EVERY", 2)
    book = rd.Ledger("ledger.db", rd.GDP(1.0))
    for _ in range(3):
        book.reserve(rd.GDP(0.1))
    assert run("ledger", "show", "ledger.db", "--recount").stdout == run("ledger", "show", "ledger.db").stdout
    with book._transaction("BEGIN IMMEDIATE") as db:
        counted = {"budget": book.budget.to_dict(), "spent": {"value": "0"}, "assumptions": []}
        text = json.dumps({"format": 3} | rd.GDP(0.1).to_dict() | {"counted": counted})
        ledger_file.append(db, text, "nothing before this is said to be spent", "reserved")
    told = run("ledger", "show", "ledger.db", "--recount")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "entry 4 of the ledger" in told.stderr
    assert "states another total than the entries before it have" in told.stderr


def test_control_characters_of_a_forged_description_are_spelled_out(here):
    book = rd.Ledger("ledger.db", rd.GDP(1.0))
    with book._transaction("BEGIN IMMEDIATE") as db:
        ledger_file.append(db, json.dumps({"format": 3} | rd.GDP(0.1).to_dict()), "harmless\x1b[2J\r\nleft    (mu = 9)", "reserved")
    shown = run("ledger", "show", "ledger.db").stdout
    assert "\x1b" not in shown
    assert r"harmless\x1b[2J\r\nleft" in shown


def test_an_approximate_budget_takes_as_its_first_entry_what_it_takes_later(here):
    """(1.1, 0.1)-DP is (1, 0.17)-DP: once refused at first, and accepted beside any other entry."""
    line = ["mean", "X.npy", *BALL, "--epsilon", 1.1, "--delta", 0.1, "--ledger", "ledger.db", "--budget-epsilon", 1, "--budget-delta", 0.5]
    assert run(*line, "--anyway").exit_code == 0


def test_five_fifths_are_one(here):
    line = ["mean", "X.npy", *BALL, "--epsilon", 0.2, "--ledger", "ledger.db", "--budget-epsilon", 1]
    assert [run(*line).exit_code for _ in range(6)] == [0, 0, 0, 0, 0, 3]
    assert "left      nothing" in run("ledger", "show", "ledger.db").stdout


def test_what_is_said_to_be_left_can_be_spent(here):
    ledger = ["--ledger", "ledger.db", "--budget-mu", 1]
    run("mean", "X.npy", *BALL, "--mu", 0.3, *ledger)
    left = run("ledger", "show", "ledger.db").stdout.partition("left      (mu = ")[2].partition(")")[0]
    assert run("mean", "X.npy", *BALL, "--mu", left, *ledger).exit_code == 0
    empty = run("mean", "X.npy", *BALL, "--mu", 0.3, *ledger)
    assert empty.exit_code == 3


def test_an_untouched_and_an_exhausted_ledger_are_shown(here):
    book = rd.Ledger("ledger.db", rd.PureDP(1.0))
    shown = run("ledger", "show", "ledger.db").stdout
    assert "spent   nothing" in shown
    assert "left    (epsilon = 1)-" in shown
    book.reserve(rd.PureDP(1.0))
    assert "left      nothing" in run("ledger", "show", "ledger.db").stdout


def test_a_report_and_a_picture(here):
    ledger = ["--ledger", "ledger.db", "--budget-epsilon", 2]
    result = run("mean", "X.npy", *BALL, "--epsilon", 1, *ledger, "--report", "mean.html", "--plot", "mean.png")
    assert (result.exit_code, result.stderr) == (0, NEW.format("ledger.db"))
    assert "written         mean.html, mean.png" in result.stdout
    assert (here / "mean.html").read_text().startswith("<!")
    assert (here / "mean.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("failing", ["riemdp.io.files.write_whole", "riemdp.plots.save_figure"])
def test_a_release_that_was_paid_for_is_never_lost(here, monkeypatch, failing):
    def full(path, content, *, force):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(failing, full)
    ledger = ["--ledger", "ledger.db", "--budget-epsilon", 2]
    result = run("mean", "X.npy", *BALL, "--epsilon", 1, *ledger, "--out", "mean.npy", "--plot", "mean.png", "--quiet", "--json")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert rd.Release.from_dict(json.loads(result.stdout)).n == 200
    quiet = run("mean", "X.npy", *BALL, "--epsilon", 1, *ledger, "--out", "mean.npy", "--plot", "mean.png", "--quiet", "--force")
    assert quiet.exit_code == 2
    lost = failing.endswith("write_whole")
    assert rd.Release.from_dict(json.loads(quiet.stdout)).n == 200 if lost else quiet.stdout == ""


def test_not_even_by_a_mistake_in_a_picture(here, monkeypatch):
    def mistake(release, **options):
        raise ZeroDivisionError

    monkeypatch.setattr("riemdp.plots.plot_release", mistake)
    result = run("mean", "X.npy", *BALL, "--epsilon", 1, "--plot", "mean.png")
    assert isinstance(result.exception, ZeroDivisionError)
    assert "value" in result.stdout
    assert "written" not in result.stdout


def test_a_closed_pipe_does_not_stop_the_files(here):
    code = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); " + MAIN
    arguments = ["mean", "X.npy", *BALL, "--epsilon", "1", "--out", "mean.npy", "--plot", "mean.png"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")
    assert sorted(os.listdir()) == ["X.npy", "mean.npy", "mean.png"]


def test_a_ledger_that_vanishes_does_not_take_the_release_with_it(here, monkeypatch):
    def gone(ledger):
        raise rd.InputError("the ledger is gone.")

    monkeypatch.setattr("riemdp.cli.releasing.balance", gone)
    result = run("mean", "X.npy", *BALL, "--epsilon", 1, "--ledger", "l.db", "--budget-epsilon", 1)
    assert result.exit_code == 0
    assert "the ledger is gone" in result.stdout
    assert "value" in result.stdout


@pytest.mark.parametrize("option", ["--out mean.npy", "--report mean.html", "--plot mean.png"])
def test_what_exists_is_replaced_only_by_force(here, option):
    """And refused before anything is spent."""
    path = here / option.split()[1]
    path.write_text("what was there")
    line = [*CHARGED, *option.split()]
    refused = run(*line)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"riemdp: {option} exists already: pass another name, or --force to replace it.\n"
    assert path.read_text() == "what was there"
    assert not (here / "l.db").exists()
    assert run(*line, "--force").exit_code == 0
    assert path.read_bytes() != b"what was there"


@pytest.mark.parametrize("option", ["--out mean.json", "--report mean.html", "--plot mean.png"])
def test_what_appears_meanwhile_is_not_replaced_and_the_release_not_lost(here, monkeypatch, option):
    path, original = here / option.split()[1], rd.Ledger.confirm

    def confirm(self, entry):
        path.write_text("another's")
        original(self, entry)

    monkeypatch.setattr(rd.Ledger, "confirm", confirm)
    result = run(*CHARGED, *option.split())
    assert result.exit_code == 2
    assert "the release was made and is printed here" in result.stderr
    assert "exists already" in result.stderr
    assert "value" in result.stdout
    assert path.read_text() == "another's"


def test_plans_and_descriptors_replace_only_by_force(here):
    np.save("images.npy", np.random.default_rng(0).integers(0, 256, (4, 8, 9), dtype=np.uint8))
    plan = "plan --space sphere --size 2 --records 10 --radius 0.5 --mu 1 --plot errors.png"
    for line in (plan, "descriptors images.npy --out D.npy"):
        assert run(*line.split()).exit_code == 0
        path = here / line.split()[-1]
        before = path.read_bytes()
        path.write_bytes(b"mine")
        again = run(*line.split())
        assert (again.exit_code, path.read_bytes()) == (2, b"mine")
        assert "--force" in again.stderr
        assert run(*line.split(), "--force").exit_code == 0
        assert path.read_bytes() == before


def test_force_never_replaces_what_is_read(here):
    for line in ([*CHARGED, "--out", "X.npy", "--force"], [*CHARGED, "--out", "a.npy", "--report", "a.html", "--plot", "X.npy", "--force"]):
        before = (here / "X.npy").read_bytes()
        assert run(*line).exit_code == 2
        assert (here / "X.npy").read_bytes() == before


EVIL = "\x1b]0;owned\x07\x1b[31m[red]\u202ex\x9b2J"  # titles, colours, markup, writing direction


def prints(text):
    return all(letter.isprintable() or letter == "\n" for letter in text)


def test_an_error_is_one_line_that_prints_in_python_too():
    error = pickle.loads(pickle.dumps(rd.InputError(f"'{EVIL}  é' holds\n  nothing.")))
    assert str(error) == r"'\x1b]0;owned\x07\x1b[31m[red]\u202ex\x9b2J  é' holds nothing."


def test_names_cannot_command_the_terminal(here):
    """Files, folders, archives and ledgers may have any name, and forged ledgers any description."""
    name = f"{EVIL}.npy"
    np.savez(here / "two.npz", **{EVIL: np.eye(3), "b": np.eye(3)})
    np.save(here / name, np.load("X.npy"))
    (here / "[bold]l.db").write_bytes(b"")
    for line in (
        ["mean", f"missing{name}", *BALL, "--mu", 1],
        ["mean", "two.npz", *BALL, "--mu", 1],
        ["mean", f"two.npz:{EVIL}x", *BALL, "--mu", 1],
        ["mean", name, *BALL, "--mu", 1, "--out", f"none/{name}"],
        ["mean", name, *BALL, "--mu", 1, "--space", EVIL],
        ["mean", name, *BALL, "--mu", 1, "--mechanism", EVIL],
        ["mean", name, *BALL, "--mu", 1, "--out", f"out{name}"],
        ["mean", name, *BALL, "--mu", 1, "--ledger", f"{EVIL}.db", "--budget-mu", 1],
        ["mean", name, *BALL, "--mu", 1, "--ledger", f"{EVIL}.db", "--budget-mu", 1],
        ["ledger", "show", f"{EVIL}.db"],
        ["ledger", "show", "[bold]l.db"],
        ["check", name, *BALL],
        [EVIL],
    ):
        result = run(*line)
        assert isinstance(result.exception, SystemExit | None), result.exception
        assert prints(result.stdout + result.stderr), line
    assert "[red]" in run("check", name, *BALL).stdout
    assert "\\x1b" in run("check", name, *BALL).stdout


def test_forged_descriptions_cannot_command_the_terminal(here, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("riemdp.privacy.ledger._require", lambda *_: None)
        rd.Ledger("l.db", rd.GDP(1.0)).reserve(rd.GDP(0.5), f"{EVIL}\nleft    everything")
    shown = run("ledger", "show", "l.db")
    assert shown.exit_code == 0
    assert prints(shown.stdout)
    assert not [line for line in shown.stdout.splitlines() if line.startswith("left    everything")]


def test_a_large_value_is_printed_only_if_nothing_else_holds_it(here):
    np.save("shapes.npy", rd.KendallShapes(60).random_point(50, np.random.default_rng(0)))
    arguments = "mean shapes.npy --space kendall --center origin --radius 0.1 --epsilon 1 --anyway".split()
    assert "value" not in run(*arguments, "--out", "mean.npy").stdout
    assert len(run(*arguments).stdout.partition("value")[2].split("]\n")) >= 60


# --- what is not worth its budget ---------------------------------------------------------------------------


@pytest.fixture
def few(here):
    """20 matrices, for which every usual budget is too small."""
    np.save("few.npy", rd.SPDAffine(3).random_point(20, np.random.default_rng(0)))
    return "mean few.npy --space spd-affine --center identity --radius 1.5".split()


def test_a_worthless_release_is_refused_before_it_spends(few, here):
    result = run(*few, "--epsilon", 0.1, "--ledger", "l.db", "--budget-epsilon", 1, "--out", "mean.npy")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "more than the ball's radius of 1.5" in result.stderr
    assert "n = 260 or epsilon = 1.3 would bring that to 0.5 of the radius" in result.stderr
    assert "--anyway" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (here / "l.db").exists()
    assert not (here / "mean.npy").exists()


def test_anyway_releases_and_says_what_it_is(few, here):
    result = run(*few, "--epsilon", 0.1, "--ledger", "l.db", "--budget-epsilon", 1, "--anyway", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["n"] == 20
    assert result.stderr.startswith("riemdp: warning: with n = 20, noise moves the mean by about")
    assert len(rd.Ledger(here / "l.db", rd.PureDP(1.0)).history()) == 1


@pytest.mark.parametrize(("options", "text"), [("--mu 12", "mu = 12 promises hardly anything"), ("--epsilon 9 --delta 0.1", "delta = 0.1 is above 1/n = 0.05")])
def test_promises_that_are_none_are_refused(few, options, text):
    result = run(*few, *options.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert run(*few, *options.split(), "--anyway").exit_code == 0


def test_half_a_radius_of_noise_and_adaptation_in_vain_are_told_on_stderr(few):
    result = run(*few, "--epsilon", 1, "--adapt")
    assert result.exit_code == 0
    first, second = result.stderr.splitlines()
    assert "more than half of the ball's radius" in first
    assert "adapt does nothing" in second
    assert run(*few, "--epsilon", 1, "--adapt", "--quiet", "--out", "mean.npy").output == ""


def test_a_space_of_one_size_needs_none(here):
    ask = "plan --space rotations --records 500 --radius 1 --mu 1 --json".split()
    assert run(*ask).stdout == run(*ask, "--size", 3).stdout != ""


def test_an_audit_needs_no_number_of_records(here):
    ask = "audit --space sphere --size 2 --radius 0.5 --epsilon 1 --draws 20000 --json".split()
    assert run(*ask).stdout == run(*ask, "--records", 100).stdout != ""


def test_a_plan_says_what_would_do(here):
    result = run(*"plan --space spd-affine --size 3 --records 20 --radius 1.5 --epsilon 0.1".split())
    assert "n = 260 or epsilon = 1.3 would bring that to 0.5 of the radius" in result.stdout
    assert "would bring" not in run(*"plan --space spd-affine --size 3 --records 2000 --radius 1.5 --epsilon 1".split()).stdout


def test_the_error_is_said_to_be_that_of_noise(few):
    told = "noise alone: root mean square distance to the mean of the records as moved into the ball"
    assert told in run(*few, "--mu", 3).stdout
    assert told in run(*"plan --space sphere --size 2 --records 400 --radius 0.7 --epsilon 1".split()).stdout


def test_check_names_what_looks_wrong(few):
    np.save("volts.npy", 1e-12 * np.load("few.npy"))
    place = "--space spd-affine --center identity --radius 3".split()
    assert "wrong units?" in run("check", "volts.npy", *place).stdout
    assert "wrong units?" in json.loads(run("check", "volts.npy", *place, "--json").stdout)["findings"][0]
    assert "look again" not in run("check", "few.npy", *place).stdout


# --- plan, check, descriptors -----------------------------------------------------------------------------------


def test_a_plan_is_that_of_the_library(here):
    arguments = "plan --space kendall --size 8 --records 409 --radius 0.2 --epsilon 1".split()
    expected = rd.plan(rd.Ball(rd.KendallShapes(8), rd.KendallShapes(8).origin, 0.2), 409, rd.PureDP(1.0))
    rows = json.loads(run(*arguments, "--json").stdout)
    assert [(row["mechanism"], row["expected_error"]) for row in rows] == [(p.mechanism, p.expected_error) for p in expected]
    lines = run(*arguments).stdout.splitlines()
    assert [line.split()[0] for line in lines if "-laplace" in line or "kng" in line] == [p.mechanism for p in expected]


SUMMARY_PLAN = "plan --space spd-affine --size 3 --records 200 --radius 1.5 --epsilon 4 --statistic summary".split()


def test_a_plan_of_a_summary_with_the_moments_that_are_asked_for(here):
    ball = rd.Ball(rd.SPDAffine(3), np.eye(3), 1.5)
    for second in ("full", "trace"):
        rows = json.loads(run(*SUMMARY_PLAN, "--second", second, "--json").stdout)
        expected = rd.plan(ball, 200, rd.PureDP(4.0), statistic="summary", second=second)
        assert [row["expected_error"] for row in rows] == [p.expected_error for p in expected]
    for odd, said in ((["--second", "some"], "second = 'some': pass one of"), (["--second", "full", "--statistic", "tangent-mean"], "second = 'full' belongs to")):
        refused = run(*SUMMARY_PLAN, *odd)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr


def test_a_picture_of_a_plan_has_the_moments_that_are_asked_for(here):
    for second in ("full", "trace"):
        assert run(*SUMMARY_PLAN, "--second", second, "--plot", f"{second}.svg").exit_code == 0
    assert (here / "full.svg").read_bytes() != (here / "trace.svg").read_bytes()


@pytest.mark.parametrize(
    ("asked", "kind"),
    [("", "full"), ("--second trace", "trace"), ("--second full --adapt --spread 0.3", "full")],
)
def test_after_the_plan_of_a_summary_comes_a_summary(here, asked, kind):
    """The file keeps all of it, which the mean alone would not."""
    planned = run(*SUMMARY_PLAN, *asked.split()).stdout
    (line,) = planned.split("\nNext:\n")[1].splitlines()
    typed = shlex.split(line.replace("YOUR-FILE", "X"))
    assert typed[:3] == ["riemdp", "summary", "X.npy"]
    assert ("--second" in typed, "--adapt" in typed) == ("--second" in asked, "--adapt" in asked)
    result = run(*typed[1:])
    assert (result.exit_code, result.stderr) == (0, "")
    assert (here / "summary.html").is_file()
    released = rd.Release.load("summary.json")
    assert released.moments.kind == kind
    assert "--adapt" in asked or f"{released.expected_error:.4g}" in planned


def test_an_audit_of_a_summary_with_the_moments_that_are_asked_for():
    asked = "audit --space spd-affine --size 2 --radius 1 --records 50 --draws 400 --epsilon 1 --statistic summary --json".split()
    full, trace = (json.loads(run(*asked, "--second", second).stdout) for second in ("full", "trace"))
    assert trace["sensitivity"] < full["sensitivity"]


def test_a_plan_needs_a_size_where_there_are_several(here):
    asked = ["--records", "409", "--radius", "0.2", "--epsilon", "1", "--json"]
    found = json.loads(run("plan", "--space", "rotations", *asked).stdout)
    assert found == json.loads(run("plan", "--space", "rotations", "--size", "3", *asked).stdout)
    refused = run("plan", "--space", "spd-affine", *asked)
    assert refused.exit_code == 2
    assert "--size is missing: pass the k of --space spd-affine." in refused.stderr


def test_a_plan_by_eigenvalues_and_its_picture(here):
    result = run(*"plan --space spd-affine --size 3 --records 500 --eigenvalues 0.1 10 --mu 1 --plot errors.svg".split())
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Picture: errors.svg" in result.stdout
    assert "<svg" in (here / "errors.svg").read_text()


def test_a_check_says_loudly_that_it_is_not_private(here):
    result = run("check", "X.npy", *BALL)
    found = rd.check(np.load("X.npy"), rd.Ball(rd.SPDAffine(3), np.eye(3), 1.5))
    assert result.stdout.startswith("NOT PRIVATE")
    assert f"outside    {found.outside} " in result.stdout
    assert json.loads(run("check", "X.npy", *BALL, "--json").stdout) == found.to_dict()


def test_descriptors_and_the_command_that_follows(here):
    images = np.random.default_rng(0).integers(0, 256, (40, 12, 13, 3), dtype=np.uint8)
    np.savez("images.npz", a=images, b=images)
    result = run(*"descriptors images.npz:a --out D.npy --eta 1e-3 --region 1 1 9 9".split())
    assert (result.exit_code, result.stderr) == (0, "")
    D = rd.covariance_descriptors(images, 1e-3, region=(1, 1, 9, 9))
    assert np.array_equal(np.load("D.npy"), D)
    for tight in (True, False):
        bounds = rd.descriptor_eigenvalue_bounds(3, 1e-3, tight=tight)
        assert f"radius {rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(11), *bounds).radius:.4g}" in result.stdout
    command = shlex.split(result.stdout.splitlines()[-1])
    assert command[0] == "riemdp"
    follow = run(*command[1:], "--anyway")  # 40 images are too few
    assert follow.exit_code == 0
    assert rd.SPDAffine(11).contains(np.load("mean.npy"))
    low, high = rd.descriptor_eigenvalue_bounds(3, 1e-3)
    eigenvalues = np.linalg.eigvalsh(D)
    assert low * (1 - 1e-9) <= eigenvalues.min() <= eigenvalues.max() <= high
    assert [float(text) for text in command[command.index("--eigenvalues") + 1 :][:2]] == [low, high]


def test_descriptors_of_a_folder_of_pictures(here):
    from PIL import Image

    (here / "faces").mkdir()
    images = np.random.default_rng(0).integers(0, 256, (3, 9, 9), dtype=np.uint8)
    for i, image in enumerate(images):
        Image.fromarray(image).save(f"faces/{i}.png")
    found = json.loads(run(*"descriptors faces --out D.npy --features five --json".split()).stdout)
    assert (found["records"], found["k"], found["out"]) == (3, 5, "D.npy")
    assert tuple(found["tight"]["eigenvalues"]) == rd.descriptor_eigenvalue_bounds(1, features="five")
    assert np.array_equal(np.load("D.npy"), rd.covariance_descriptors(images, features="five"))


# --- mistakes, pipes and signals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["aduit"], "No such command 'aduit'"),
        ([*AUDIT, "--mu"], "--mu"),
        ([*AUDIT], "no privacy option"),
        ([*AUDIT, "--epsilon", "x"], "--epsilon"),
        ([*AUDIT, "--epsilon", "-1"], "epsilon = -1.0"),
        ([*AUDIT, "--epsilon", "1", "--mechanism", "mcmc"], "--mechanism mcmc"),
        ([*AUDIT, "--epsilon", "1", "--draws", "3"], "draws = 3"),
        ([*AUDIT, "--epsilon", "1", "--radius", "9"], "radius = 9.0"),
        ([*AUDIT, "--epsilon", "1", "--center", "identity"], "--center identity"),
        ([*AUDIT, "--epsilon", "1", "--size", "0"], "d = 0"),
        ([*AUDIT, "--epsilon", "1", "--space", "doughnut"], "--space"),
        (["audit", "--space", "sphere", "--epsilon", "1"], "--size is missing"),
        (["plan", "--space", "sphere", "--epsilon", "1", "--records", "9"], "--size is missing"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, says):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.startswith("riemdp: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_refused_budget_is_exit_code_3(monkeypatch):
    def refuse(out, *, force):
        raise rd.BudgetExceeded("The budget is spent: nothing was released.")

    monkeypatch.setattr("riemdp.demo.main", refuse)
    assert run("demo").exit_code == 3


def test_works_in_a_pipe_without_progress_or_colour():
    done = in_a_process(*AUDIT, "--rho", "0.5", "--mechanism", "wrapped-gaussian")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rho >= 0." in done.stdout
    assert "\x1b" not in done.stdout
    failed = in_a_process("audit", "--space", "sphere", "--size", "two")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert len(failed.stderr.splitlines()) == 1


class Screen(io.StringIO):
    """A terminal that keeps what it is shown."""

    def isatty(self):
        return True


def shown_after(steps, monkeypatch):
    """What is on the screen after these reports of blocks done, of 4."""
    bars = []
    with monkeypatch.context() as patch:
        original = rich.progress.Progress.__enter__
        patch.setattr(rich.progress.Progress, "__enter__", lambda bar: bars.append(bar) or original(bar))
        patch.setattr(sys, "stderr", Screen())
        with first_pass_bar() as report:
            for done in steps:
                report(done, 4)
            return [(task.description, task.completed, task.total) for task in bars[0].tasks if task.visible]


def test_the_bar_shows_the_first_pass_and_not_how_many_follow(monkeypatch):
    """How often the records are read depends on them."""
    assert shown_after([1, 2], monkeypatch) == [("reading", 2, 4)]
    after_one = shown_after([1, 2, 3, 4], monkeypatch)
    assert after_one == [("computing", 0, None)]
    for more in ([1], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4] * 7 + [1, 2]):
        assert shown_after([1, 2, 3, 4, *more], monkeypatch) == after_one


def test_no_bar_without_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with first_pass_bar() as report:
        assert report is None


def test_a_closed_pipe_is_left_in_silence(here):
    rd.Ledger("ledger.db", rd.GDP(1.0))
    script = f"{shlex.quote(sys.executable)} -m riemdp.cli ledger show ledger.db | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")  # true may end before or after the text was written

    code = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); " + MAIN
    closed = subprocess.run([sys.executable, "-c", code, "ledger", "show", "ledger.db"], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (141, "")


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("where", "arguments", "says"),
    [
        ("riemdp.demo.main", ["demo"], "riemdp ledger show demo/ledger.db tells what was spent."),
        ("riemdp.audit.audit", [*AUDIT, "--mu", 1], "nothing was released or spent."),
        ("riemdp.statistics.mean.plan", "plan --space sphere --size 2 --records 9 --radius 1 --mu 1".split(), "nothing was released or spent."),
    ],
)
def test_interruption_is_one_sentence_and_exit_code_130(monkeypatch, where, arguments, says):
    module, name = where.rsplit(".", 1)
    __import__(module)
    monkeypatch.setattr(sys.modules[module], name, interrupt)
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", f"riemdp: interrupted: {says}\n")


CHARGED = ["mean", "X.npy", *BALL, "--mu", 1, "--ledger", "l.db", "--budget-mu", 1]
NEW = "riemdp: new ledger {}, nothing before this is counted.\n"
RESERVED = "nothing was released; (mu = 1)-Gaussian differential privacy was reserved, entry 1 of {}, and stays spent."


@pytest.mark.parametrize(
    ("where", "says", "entries"),
    [
        ("riemdp.privacy.bounded.Bounded.__init__", "nothing was released or spent.", None),
        ("riemdp.statistics.prepared.Prepared.release", "nothing was released, and nothing of {} was spent.", []),
        ("riemdp.privacy.ledger.Ledger.reserve", "nothing was released; riemdp ledger show {} tells whether (mu = 1)-Gaussian differential privacy was reserved.", []),
        ("riemdp.privacy.bounded.Bounded.model", RESERVED, ["reserved"]),
        ("riemdp.privacy.ledger.Ledger.confirm", RESERVED, ["reserved"]),
    ],
)
def test_an_interrupted_mean_says_what_is_spent(here, monkeypatch, where, says, entries):
    monkeypatch.setattr(where, interrupt)
    result = run(*CHARGED, "--out", "mean.npy")
    book = here / "l.db"
    new = "" if entries is None else NEW.format("l.db")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", f"{new}riemdp: interrupted: {says.format(book)}\n")
    monkeypatch.undo()
    assert book.exists() == (entries is not None)
    assert entries is None or [entry.status for entry in rd.Ledger(book).history()] == entries
    assert not (here / "mean.npy").exists()


def test_an_interrupted_mean_without_a_ledger_has_spent_nothing(here, monkeypatch):
    monkeypatch.setattr("riemdp.statistics.prepared.Prepared.release", interrupt)
    result = run("mean", "X.npy", *BALL, "--mu", 1)
    assert result.stderr == "riemdp: interrupted: nothing was released; there is no ledger in which anything could be spent.\n"


@pytest.mark.parametrize(("form", "place"), [(["--out", "mean.json"], "in mean.json"), ([], "printed here"), (["--out", "mean.json", "--quiet"], "in mean.json")])
def test_an_interrupted_picture_does_not_take_the_release_with_it(here, monkeypatch, form, place):
    monkeypatch.setattr("riemdp.plots.plot_release", interrupt)
    result = run(*CHARGED, "--plot", "mean.png", *form)
    assert result.exit_code == 130
    assert result.stderr == f"{NEW.format('l.db')}riemdp: interrupted: (mu = 1)-Gaussian differential privacy was spent and the release is {place}; other files may be missing.\n"
    assert ("value" in result.stdout) == ("--quiet" not in form)
    assert (here / "mean.json").exists() == bool(form)


@pytest.mark.parametrize("step", ["riemdp.cli.releasing.Outputs.keep", "riemdp.cli.releasing._pages"])
def test_what_is_paid_for_is_written_and_printed_before_an_interrupt_is_heard(here, monkeypatch, step):
    module, name = step.rsplit(".", 1)
    owner = vars(sys.modules["riemdp.cli.releasing"])["Outputs"] if name == "keep" else sys.modules[module]
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *a, **o: (signal.raise_signal(signal.SIGINT), original(*a, **o))[1])
    result = run(*CHARGED, "--out", "mean.json")
    assert (result.exit_code, result.stderr) == (0, NEW.format("l.db"))
    assert "value" in result.stdout
    assert rd.Release.load("mean.json").n == 200
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("problem", [MemoryError, OverflowError])
def test_too_much_is_one_line(monkeypatch, problem):
    def too_much(out, *, force):
        raise problem

    monkeypatch.setattr("riemdp.demo.main", too_much)
    result = run("demo")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)


def test_a_terminal_without_accents_does_not_lose_a_release(here):
    done = subprocess.run(
        [sys.executable, "-m", "riemdp.cli", "mean", "X.npy", *BALL, "--epsilon", "1"],
        capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"value" in done.stdout


@pytest.mark.parametrize(("words", "expected"), [("riemdp me", {"mean", "median"}), ("riemdp mean --mechanism wr", {"wrapped-laplace", "wrapped-gaussian"})])
def test_shell_completion(words, expected):
    environment = {"_RIEMDP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run([sys.executable, "-c", MAIN], capture_output=True, text=True, check=False, env=os.environ | environment)
    assert set(done.stdout.split()) == expected


def test_an_adaptive_mean_and_its_plan(here):
    wide = ("--space", "spd-log-euclidean", "--eigenvalues", 1e-6, 1e6, "--mu", 2)
    result = run("mean", "X.npy", *wide, "--adapt", "--json", "--report", "mean.html")
    assert (result.exit_code, result.stderr) == (0, "")
    stages = json.loads(result.stdout)["stages"]
    assert [stage["task"] for stage in stages][-1] == "mean"
    assert stages[-1]["radius"] < json.loads(result.stdout)["radius"]
    assert "How the ball was found" in (here / "mean.html").read_text()
    shown = run("mean", "X.npy", *wide, "--adapt").stdout
    assert "in a private ball of radius" in shown
    planned = run("plan", "--size", 3, "--records", 200, *wide, "--adapt", "--spread", 2)
    assert (planned.exit_code, planned.stderr) == (0, "")
    assert "adaptive" in planned.stdout
    refused = run("plan", "--size", 3, "--records", 200, *wide, "--adapt")
    assert refused.exit_code == 2
    assert "spread" in refused.stderr


# --- classifiers -------------------------------------------------------------------------------------------------


@pytest.fixture
def classes_in_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    X = rng.normal(size=(2000, 3)) + 2.5 * y[:, None]
    np.save("X.npy", X)
    np.save("y.npy", np.array(["no", "yes"])[y])
    rows = (f"{','.join(map(str, x))},{label},{i % 700}" for i, (x, label) in enumerate(zip(X, y, strict=True)))
    (tmp_path / "table.csv").write_text("\n".join(["a,b,c,kind,who", *rows]))
    return np.array(["no", "yes"])[y]


FIT = "--space euclidean --center origin --radius 10 --mu 1".split()
TWO = ("--labels", "y.npy", "--classes", "no,yes")


@pytest.mark.parametrize("kind", ["logistic", "lda"])
def test_a_classifier_is_learnt_saved_and_used(classes_in_files, kind):
    book = ["--ledger", "ledger.db", "--budget-mu", 1]
    made = run("classify", "fit", "X.npy", *TWO, *FIT, "--classifier", kind, "--out", "model.json", *book, "--report", "r.html")
    assert made.exit_code == 0
    assert "2: no, yes" in made.output
    assert "Coefficients of the released" in Path("r.html").read_text()
    assert run("classify", "predict", "X.npy", "--model", "model.json", "--out", "labels.csv").exit_code == 0
    assert np.mean(np.loadtxt("labels.csv", dtype=str) == classes_in_files) > 0.95
    assert run("classify", "predict", "X.npy", "--model", "model.json", "--out", "labels.npy", "--json").exit_code == 0
    assert np.load("labels.npy").tolist() == np.loadtxt("labels.csv", dtype=str).tolist()
    assert rd.Release.load("model.json").entry == 1
    again = run("classify", "fit", "X.npy", *TWO, *FIT, "--out", "other.json", "--ledger", "ledger.db")
    assert again.exit_code == 3
    assert not os.path.exists("other.json")


def test_labels_and_people_may_be_columns_of_the_table(classes_in_files):
    line = ["table.csv", "--header", "--labels", "kind", "--classes", "0,1.0", "--groups", "who", "--unit", "person"]
    assert run("classify", "fit", *line, *FIT, "--out", "model.json", "--quiet").output == ""
    model = rd.Release.load("model.json")
    assert (model.n, model.unit, model.space.dim, model.labels) == (700, "person", 3, ("0", "1.0"))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("--classes", "no"), "--classes no"),
        (("--classes", "1,1.0"), "each once"),
        (("--labels", "nowhere.npy"), "--labels nowhere.npy"),
        (("--labels", "short.npy"), "one for each of 2,000"),
        (("--labels", "X.npy"), "--labels X.npy has shape"),
        (("--classifier", "forest"), "logistic or lda"),
        (("--out", "model.npy"), ".json"),
        (("--names", "Fz,Cz"), "--names belong to"),
        (("--mu", "1e-4"), "--anyway"),
    ],
)
def test_mistakes_about_classifiers_cost_nothing(classes_in_files, change, text):
    np.save("short.npy", classes_in_files[:5])
    line = ["--out", "model.json", "--ledger", "ledger.db", "--budget-mu", 1]
    result = run("classify", "fit", "X.npy", *TWO, *FIT, *line, *change)
    assert result.exit_code == 2
    assert text in result.output
    assert not os.path.exists("model.json")
    assert not os.path.exists("ledger.db")


@pytest.mark.parametrize("people", [[], ["--groups", "who.npy", "--unit", "person"]])
def test_means_of_classes_are_released_at_once(classes_in_files, people):
    np.save("who.npy", np.arange(2000) % 700)
    made = run("mean", "X.npy", *TWO, *FIT, *people, "--out", "means.json", "--report", "means.html", "--plot", "means.png")
    assert made.exit_code == 0
    assert "2: no, yes" in made.output
    assert "no" in Path("means.html").read_text()
    release = rd.Release.load("means.json")
    assert (release.labels, release.left_out) == (("no", "yes"), (False, False))
    assert (release.n, release.unit) == ((700, "person") if people else (2000, "record"))
    if not people:
        np.testing.assert_allclose(release.means, [np.zeros(3), np.full(3, 2.5)], atol=0.3)
    release.save("again.json")
    assert rd.Release.load("again.json").to_dict() == release.to_dict()
    assert run("mean", "X.npy", "--labels", "y.npy", *FIT, "--out", "means.npy", "--quiet").exit_code == 0
    assert np.load("means.npy").shape == (2, 3)


def test_a_class_without_records_is_named(classes_in_files):
    made = run("mean", "X.npy", "--labels", "y.npy", "--classes", "no,yes,perhaps", *FIT)
    assert "hardly any record is in perhaps" in " ".join(made.output.split())


def test_labels_are_never_quoted(classes_in_files):
    """Which class a record is in, or that it is in none, shows nowhere."""
    y = np.load("y.npy").astype("U20")
    y[7] = "SECRET-42"
    np.save("y.npy", y)
    made = run("mean", "X.npy", *TWO, *FIT)
    assert made.exit_code == 0
    assert "SECRET" not in made.output + made.stderr


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("--adapt",), "--adapt must be left out with --labels"),
        (("--mechanism", "kng"), "cannot keep labels private"),
        (("--labels", "same.npy"), "fewer than two classes"),
        (("--labels", "short.npy"), "one for each of 2,000"),
    ],
)
def test_mistakes_about_classes_cost_nothing(classes_in_files, change, text):
    np.save("short.npy", classes_in_files[:5])
    np.save("same.npy", np.zeros(2000))
    book = ["--ledger", "ledger.db", "--budget-mu", 1]
    result = run("mean", "X.npy", "--labels", "y.npy", *FIT, "--out", "means.npy", *book, *change)
    assert result.exit_code == 2
    assert text in result.output
    assert not os.path.exists("means.npy")
    assert not os.path.exists("ledger.db")


def test_classes_belong_to_labels(classes_in_files):
    assert "--classes no,yes without --labels" in run("mean", "X.npy", "--classes", "no,yes", *FIT).output


def test_a_file_that_is_no_classifier_is_refused(classes_in_files):
    run("mean", "X.npy", *FIT, "--out", "mean.json")
    result = run("classify", "predict", "X.npy", "--model", "mean.json", "--out", "labels.csv")
    assert result.exit_code == 2
    assert "mean.json is no classifier: pass what riemdp classify fit --out wrote." in result.output


# --- summaries ---------------------------------------------------------------------------------------------------

SUMMARY = ["summary", "X.npy", *BALL, "--mu", 5]


def test_a_summary_for_people(here):
    result = run(*SUMMARY, "--out", "s.json", "--report", "s.html", "--plot", "s.png", "--names", "x,y,z")
    assert (result.exit_code, result.stderr) == (0, "")
    summary = rd.Release.load("s.json")
    assert isinstance(summary, rd.Summary)
    for text in ("Private summary of 200 records", f"{summary.dispersion:.4g} (root", "beyond noise", "95 % region", "Next:", "s.html in a browser"):
        assert text in result.stdout
    assert "How the records spread" in (here / "s.html").read_text(encoding="utf-8")
    assert (here / "s.png").read_bytes().startswith(b"\x89PNG")


def test_a_summary_for_a_machine_is_the_whole_release(here):
    result = run(*SUMMARY, "--second", "trace", "--json")
    assert rd.Summary.from_dict(json.loads(result.stdout)).moments.kind == "trace"


def test_a_summary_that_no_file_keeps_is_printed_whole(here):
    """What was paid for is not lost: modes and moments are not among the rows for people."""
    result = run(*SUMMARY)
    printed = rd.Summary.from_dict(json.loads(result.stdout.splitlines()[-1]))
    assert f"{printed.dispersion:.4g}" in result.stdout
    assert "--out summary.json" in result.stdout
    assert run(*SUMMARY, "--out", "s.json").stdout.count("{") == 0


def test_a_summary_of_people_is_charged_and_adapts(here):
    np.save("ids.npy", np.arange(200) // 2)
    kept = ["--ledger", "l.db", "--budget-mu", 30, "--out", "s.json"]
    result = run("summary", "X.npy", *BALL, "--mu", 20, "--anyway", "--adapt", "--groups", "ids.npy", "--unit", "patient", *kept)
    assert result.exit_code == 0
    summary = rd.Release.load("s.json")
    assert (summary.n, summary.unit) == (100, "patient")
    assert [entry.guarantee for entry in rd.Ledger("l.db").history()] == [rd.GDP(20.0)]


def test_a_summary_of_one_record_is_made_if_asked_for_all_the_same(here):
    np.save("one.npy", np.eye(3)[None])
    result = run("summary", "one.npy", *BALL, "--mu", 1, "--anyway", "--out", "one.json", "--report", "one.html", "--plot", "one.png")
    assert result.exit_code == 0
    assert rd.Release.load("one.json").n == 1


@pytest.fixture
def groups(here):
    """Two saved summaries whose means are apart."""
    for name, shift in (("controls", 0.0), ("patients", 0.3)):
        X = np.random.default_rng(0).normal(size=(500, 2)) * [0.3, 0.1] + [shift, 0]
        rd.private_summary(X, rd.Ball(rd.Euclidean(2), np.zeros(2), 2.0), "mu=2").save(f"{name}.json")
    return rd.Release.load("controls.json"), rd.Release.load("patients.json")


def test_two_groups_for_people(groups, here):
    result = run("compare", "controls.json", "patients.json", "--report", "groups.html", "--plot", "groups.svg")
    assert (result.exit_code, result.stderr) == (0, "")
    for text in ("The means of controls and patients are", "p-value", "more than what sampling and noise explain", "no person is in both groups", "Next:"):
        assert text in result.stdout
    page = (here / "groups.html").read_text(encoding="utf-8")
    for text in ("Is it more than chance?", "no person is in both groups", "500 records", "spends nothing"):
        assert text in page
    assert "<svg" in (here / "groups.svg").read_text()


def test_two_groups_for_a_machine(groups):
    found = json.loads(run("compare", "controls.json", "patients.json", "--json").stdout)
    expected = rd.compare(*groups)
    assert (found["p_value"], found["distance"], found["statistic"]) == (expected.p_value, expected.distance, expected.statistic)
    assert found["p_value"] < 1e-6


def test_groups_of_one_name_are_told_apart_by_their_folders(groups, here):
    for name in ("a", "b"):
        (here / name).mkdir()
        groups[0].save(here / name / "s.json")
    result = run("compare", "a/s.json", "b/s.json")
    assert "The means of a/s and b/s are 0 apart" in result.stdout
    assert "no more than what sampling and noise explain" in result.stdout
    assert "may still be there" in result.stdout


def test_a_ball_that_is_full_to_the_rim_is_told(here):
    np.save("millimetres.npy", 1000 * np.load("X.npy"))
    result = run("mean", "millimetres.npy", *BALL, "--mu", 5, "--out", "mean.npy", "--report", "mean.html")
    assert "rim" in result.stdout
    assert "rim" in (here / "mean.html").read_text(encoding="utf-8")
