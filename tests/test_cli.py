"""The command line: it parses, calls, prints, and says what is wrong in one line."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.audit import audit
from riemdp.cli import SpaceName, app, parse_center, parse_guarantee, parse_space

MAIN = "from riemdp.cli import main; main()"
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
    assert parse_space(SpaceName(name), 4) == space
    assert {member.value for member in SpaceName} >= {name}


def test_curvature_belongs_to_spheres_and_hyperbolic_spaces():
    assert parse_space(SpaceName.SPHERE, 2, 4.0) == rd.Sphere(2, curvature=4.0)
    assert parse_space(SpaceName.HYPERBOLIC, 2, -4.0) == rd.Hyperbolic(2, curvature=-4.0)
    for name in set(SpaceName) - {SpaceName.SPHERE, SpaceName.HYPERBOLIC}:
        with pytest.raises(rd.InputError, match="--curvature 4"):
            parse_space(name, 4, 4.0)


def test_centers_by_name_and_from_a_file(tmp_path):
    assert np.array_equal(parse_center("identity", rd.SPDAffine(3)), np.eye(3))
    assert np.array_equal(parse_center("north", rd.Sphere(2)), [0, 0, 1])
    assert np.array_equal(parse_center("origin", rd.KendallShapes(5)), rd.KendallShapes(5).origin)
    np.save(tmp_path / "center.npy", np.diag([1.0, 2.0]))
    assert np.array_equal(parse_center(str(tmp_path / "center.npy"), rd.SPDAffine(2)), np.diag([1.0, 2.0]))


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


# --- commands -----------------------------------------------------------------------------------------------


def test_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"riemdp {rd.__version__}\n")


def test_no_command_shows_the_commands():
    result = run()
    assert result.exit_code == 0
    assert "audit" in result.output
    assert "demo" in result.output


def test_an_audit_for_people():
    result = run(*AUDIT, "--mu", 1, "--mechanism", "wrapped-gaussian", "--center", "north")
    assert (result.exit_code, result.stderr) == (0, "")
    for word in ("wrapped-gaussian", "(mu = 1)-Gaussian", "mu >= 0.9", "20,000 draws", "not contradicted"):
        assert word in result.stdout


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
    monkeypatch.setattr("riemdp.demo.main", called.append)
    assert run("demo", tmp_path).exit_code == 0
    assert called == [tmp_path]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["aduit"], "No such command 'aduit'"),
        ([*AUDIT, "--mu"], "--mu"),
        ([*AUDIT], "no privacy option"),
        ([*AUDIT, "--epsilon", "x"], "--epsilon"),
        ([*AUDIT, "--epsilon", "-1"], "epsilon = -1.0"),
        ([*AUDIT, "--epsilon", "1", "--mechanism", "mcmc"], "mechanism = 'mcmc'"),
        ([*AUDIT, "--epsilon", "1", "--draws", "3"], "draws = 3"),
        ([*AUDIT, "--epsilon", "1", "--radius", "9"], "radius = 9.0"),
        ([*AUDIT, "--epsilon", "1", "--center", "identity"], "--center identity"),
        ([*AUDIT, "--epsilon", "1", "--size", "0"], "d = 0"),
        ([*AUDIT, "--epsilon", "1", "--space", "torus"], "--space"),
        (["audit", "--space", "sphere"], "--size"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, says):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.startswith("riemdp: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_refused_budget_is_exit_code_3(monkeypatch):
    def refuse(out):
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
