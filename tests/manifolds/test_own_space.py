"""A space with nothing but the core, that of docs/extending.md: tangent means are released, the rest says what is missing.

It says nothing of itself, and is plotted, reported, saved and read again all the same.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from manifolds import half_plane
from manifolds.half_plane import HalfPlane
from riemdp import plots, report
from riemdp.manifolds import space_from_dict, space_to_dict
from riemdp.mechanisms import MECHANISMS
from riemdp.testing import check_space

FACTS = {"dim", "point_shape", "curvature_bounds", "injectivity_radius", "origin"}
MAPS = {"exp_coords", "log_coords", "to_coords", "from_coords"}
MEMBERSHIP = {"are_points", "are_tangent", "to_points"}


@pytest.fixture(scope="module")
def space():
    """The only one of the class that the page defines."""
    return HalfPlane()


@pytest.fixture(autouse=True)
def _known():
    """Whatever page or test has defined the class again in the meantime."""
    rd.manifolds.description.register(HalfPlane)


@pytest.fixture
def ball(space):
    return rd.Ball(space, [0.5, 2.0], 1.5)


def test_the_core_is_what_a_newcomer_implements():
    assert set(rd.Space.__abstractmethods__) == FACTS | MAPS | MEMBERSHIP


@pytest.mark.parametrize("seed", range(5))
def test_it_keeps_what_it_promises(space, seed):
    check_space(space, seed=seed)


def test_it_is_the_hyperbolic_plane(space):
    """Distances are those of the hyperboloid, an independent implementation, by the Cayley transform."""
    z = space.random_point(200, 1) @ [1, 1j]
    w = (z - 1j) / (z + 1j)
    square = np.abs(w) ** 2
    other = np.column_stack([2 * w.real, 2 * w.imag, 1 + square]) / (1 - square)[:, None]
    plane = rd.Hyperbolic(2)
    points = np.column_stack([z.real, z.imag])
    order = [2, 0, 1] if plane.origin[0] == 1 else [0, 1, 2]
    assert np.allclose(space.dist(points[:-1], points[1:]), plane.dist(other[:-1, order], other[1:, order]), rtol=1e-9)
    assert np.allclose(space.exp(space.log(points, points[0]), points[0]), points)
    coords = space.coordinates(space.log(points, points[0]), points[0])
    assert np.allclose(np.linalg.norm(coords, axis=1), space.dist(points, points[0]))


@pytest.mark.parametrize(("mechanism", "law"), [("wrapped-gaussian", stats.chi(2)), ("wrapped-laplace", stats.gamma(2))])
def test_tangent_means_have_the_noise_that_is_claimed(space, ball, mechanism, law):
    """Lengths of the noise against their law at p < 1e-8; noise of 0.75 or 1.3 of the scale must fail."""
    X = np.repeat(ball.center[None], 400, axis=0)  # their tangent mean is the centre, exactly
    made = [rd.private_mean(X, ball, rd.PureDP(1.0) if law.dist.name == "gamma" else rd.GDP(1.0), statistic="tangent-mean", mechanism=mechanism) for _ in range(800)]
    lengths = space.dist(np.array([one.value for one in made]), ball.center) / made[0].scale
    assert stats.kstest(lengths, law.cdf).pvalue > 1e-8
    for wrong in (0.75, 1.3):
        assert stats.kstest(wrong * lengths, law.cdf).pvalue < 1e-8
    assert made[0].sensitivity == pytest.approx(2 * ball.radius / 400, rel=1e-9)


def test_whatever_the_records_hold_a_release_is_made(space, ball, recwarn):
    odd = np.array([[np.nan, 1.0], [0.0, -1.0], [np.inf, 1.0], [1e300, 1e-300], [0.0, 0.0], [5e-324, 5e-324], [-1e308, 1e308]])
    release = rd.private_mean(np.tile(odd, (50, 1)), ball, rd.GDP(1.0), statistic="tangent-mean")
    assert space.contains(release.value)
    assert [warning for warning in recwarn if warning.category is RuntimeWarning] == []


@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
def test_what_needs_more_than_the_core_names_it_and_spends_nothing(space, ball, mechanism, tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.PureDP(1.0))
    with pytest.raises(rd.MechanismError, match=r"HalfPlane\(\)|spheres|shapes|matrices|\(epsilon, delta\)|pure"):
        rd.private_mean(space.random_point(300, 0), ball, rd.PureDP(1.0), mechanism=mechanism, ledger=ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("ask", [rd.frechet_mean, lambda X, space: rd.RiemannianLaplace(space, space.origin, 0.1).sample(3, 0)])
def test_missing_capabilities_are_named(space, ask):
    with pytest.raises(rd.MechanismError, match=r"HalfPlane\(\) has no (Fréchet model|volume density) \(it is no \w+\)"):
        ask(space.random_point(5, 0), space)


# --- what it says of itself, without a word -------------------------------------------------------------------------


@pytest.fixture
def release(space, ball):
    return rd.private_mean(space.random_point(300, 0), ball, rd.GDP(1.0), statistic="tangent-mean")


def test_it_has_a_picture_and_a_report(release):
    """By its coordinates, which every space has, and by its repr."""
    (axes,) = plots.plot_release(release, simulations=20).axes
    assert axes.get_title().startswith("coordinates at the public centre")
    page = report.report_html(release)
    assert "The tangent mean of 300 points of HalfPlane(), published with noise" in page
    assert page.count("data:image/svg+xml") == 3


def test_releases_of_it_are_saved_and_read_again(release, tmp_path, space):
    release.save(tmp_path / "release.json")
    again = rd.Release.load(tmp_path / "release.json")
    assert again.space == space
    assert again.to_dict() == release.to_dict()
    assert rd.check(space.random_point(50, 1), again.ball).n == 50


def test_sums_of_sites_are_saved_and_read_again(space, ball, tmp_path):
    rd.site_sum(space.random_point(9, 0), ball, site="A", study="S").save(tmp_path / "A.json")
    assert rd.SiteSum.load(tmp_path / "A.json").ball.space == space


def test_products_with_it_are_described_as_well(space):
    both = rd.Product(space, rd.Sphere(2))
    assert space_from_dict(json.loads(json.dumps(space_to_dict(both)))) == both
    assert both.words == "tuples of points of HalfPlane(); points of the 2-dimensional sphere of radius 1"


def test_a_space_that_is_not_imported_is_named():
    with pytest.raises(rd.InputError, match=r"'Nowhere'.*import the module that defines the space"):
        space_from_dict({"type": "Nowhere"})


def test_defined_again_it_replaces_itself():
    @dataclass(frozen=True)
    class HalfPlane(half_plane.HalfPlane):
        curvature: float = -1.0

    assert space_from_dict({"type": "HalfPlane", "curvature": -2.0}) == HalfPlane(-2.0)


def test_it_may_not_take_the_name_of_another():
    with pytest.raises(rd.InputError, match=r"class Sphere: riemdp has a space of this name"):
        type("Sphere", (HalfPlane,), {})
    assert space_from_dict({"type": "Sphere", "d": 2}) == rd.Sphere(2)


@pytest.mark.parametrize("problem", [TypeError("no"), ValueError("no")])
def test_whatever_its_constructor_says_of_a_file_is_one_sentence(problem):
    def refuse(self, k):
        raise problem

    kind = type("Picky", (HalfPlane,), {"__init__": refuse})
    with pytest.raises(rd.InputError, match="describe no space"):
        space_from_dict({"type": kind.__name__, "k": 3})


# --- and with a few --------------------------------------------------------------------------------------------------


def test_it_may_ask_for_a_picture_and_have_words(ball):
    """Points (x, y) are drawn as they are: the rim of the ball is a circle of the plane (with another centre)."""
    kind = type("Drawn", (HalfPlane,), {"picture": "plane", "words": "points above the line"})
    own = rd.Ball(kind(), ball.center, ball.radius)
    made = rd.private_mean(own.space.random_point(300, 0), own, rd.GDP(1.0), statistic="tangent-mean")
    whole, _ = plots.plot_release(made, simulations=20).axes
    (rim,) = [line.get_xydata() for line in whole.lines if line.get_label() == "public ball"]
    (x, y), r = ball.center, ball.radius
    np.testing.assert_allclose(np.hypot(rim[:, 0] - x, rim[:, 1] - y * np.cosh(r)), y * np.sinh(r), rtol=1e-9)
    assert "300 points above the line, published" in report.report_html(made)


def test_a_picture_that_is_not_known_is_that_of_coordinates(ball):
    kind = type("Vain", (HalfPlane,), {"picture": "portrait"})
    own = rd.Ball(kind(), ball.center, ball.radius)
    made = rd.private_mean(own.space.random_point(300, 0), own, rd.GDP(1.0), statistic="tangent-mean")
    assert plots.plot_release(made, simulations=20).axes[0].get_title().startswith("coordinates")


# --- on the command line, by an entry point ---------------------------------------------------------------------------


@pytest.fixture
def offers(monkeypatch):
    """Packages that offer spaces, as if they were installed, and the command line as it starts then."""

    def install(**where):
        entries = EntryPoints(EntryPoint(name, value, "riemdp.spaces") for name, value in where.items())
        monkeypatch.setattr("importlib.metadata.entry_points", lambda **asked: entries.select(**asked))
        monkeypatch.setattr(rd, "cli", import_module("riemdp.cli"))  # put back afterwards, as its modules are
        for name in [name for name in sys.modules if re.match(r"riemdp\.cli(\.|$)", name)]:
            monkeypatch.delitem(sys.modules, name)
        return import_module("riemdp.cli").app

    return install


def run(app, line):
    from typer.testing import CliRunner

    return CliRunner().invoke(app, line.split(), prog_name="riemdp")


LINE = "mean X.npy --space upper --center origin --radius 3 --mu 1 --statistic tangent-mean --json"


def test_an_entry_point_brings_it_to_the_command_line(offers, space, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", space.random_point(400, 0))
    app = offers(upper="half_plane:HalfPlane")
    made = rd.Release.from_dict(json.loads(run(app, LINE).stdout))
    assert (made.space, made.n) == (space, 400)
    assert "upper" in run(app, "mean X.npy --space flat-torus --center origin --radius 3 --mu 1").stderr
    planned = run(app, "plan --space upper --size 2 --records 100 --radius 1 --mu 1 --statistic tangent-mean")
    assert (planned.exit_code, "HalfPlane()" in planned.stdout) == (0, True)
    for wrong in ("--size 3", "--curvature -2"):
        refused = run(app, f"{LINE} {wrong}")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert f"{wrong} does not fit --space upper" in refused.stderr


@pytest.mark.parametrize("value", ["nowhere_to_be_found:Space", "half_plane:Missing", "half_plane:np", "riemdp:Space", "not a name at all"])
def test_a_broken_package_is_one_sentence_and_disturbs_nobody(offers, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", rd.Sphere(2).random_point(400, 0))
    app = offers(upper=value, sphere="half_plane:HalfPlane", mro=value)
    broken = run(app, LINE)
    assert (broken.exit_code, broken.stdout, broken.stderr.count("\n")) == (2, "", 1)
    assert broken.stderr.startswith("riemdp: space 'upper'")
    assert "update or remove the package" in broken.stderr
    made = rd.Release.from_dict(json.loads(run(app, LINE.replace("upper", "sphere").replace("--radius 3", "--radius 1")).stdout))
    assert made.space == rd.Sphere(2)  # its name cannot be taken
