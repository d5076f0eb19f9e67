"""The seat for statistics: one that is made up here goes the whole way, under its own name and of its own kind."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.balls import Ball
from riemdp.cli.app import app
from riemdp.manifolds.base import Array
from riemdp.mechanisms import MECHANISMS
from riemdp.mechanisms.wrapped import WRAPPED_LAPLACE
from riemdp.plots import plot_release
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.reservation import Reservation
from riemdp.report import report_html
from riemdp.statistics import catalogue
from riemdp.statistics.base import Statistic, linear_mean, linear_sensitivity, refuse_footpoint, vectors_up_to
from riemdp.statistics.catalogue import STATISTICS, statistic_for, statistic_names
from riemdp.statistics.prepared import prepare
from riemdp.statistics.query import Query

NAME = "coordinate-squares"
SPACES = [rd.Euclidean(2), rd.SPDLogEuclidean(2), rd.Sphere(2), rd.SPDAffine(2), rd.KendallShapes(4)]
spaces = pytest.mark.parametrize("space", SPACES, ids=repr)


@dataclass(frozen=True)
class CoordinateSquares(Statistic):
    """(1/n) sum of the squared coordinates at the centre, one by one: their sum is at most r², so is their length."""

    name = NAME
    kind = "numbers"

    def body(self, ball: Ball) -> Ball:
        return vectors_up_to(ball.radius**2, ball.space.dim)

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        refuse_footpoint(footpoint, NAME)
        return linear_sensitivity(self.body(ball), n)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        return (self.body(ball),)

    def value(self, records: Bounded, footpoint: Array) -> Array:
        return linear_mean(records, np.square, self.body(records.ball))

    def finish(self, noisy, ball: Ball, n: int) -> Array:
        return np.maximum(noisy[0].vectors, 0.0)


@dataclass(frozen=True)
class SquaresAndMatrix(CoordinateSquares):
    """The same twice: a tuple of numbers and a diagonal matrix."""

    kind = ("numbers", "symmetric matrix")

    def finish(self, noisy, ball: Ball, n: int) -> list[tuple[Array, Array]]:
        return [(squares, np.diag(squares)) for squares in super().finish(noisy, ball, n)]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """What a new statistic adds to the catalogue: one entry."""
    monkeypatch.setitem(STATISTICS, (CoordinateSquares.input, NAME), CoordinateSquares())


def data(space, n=400):
    ball = rd.Ball(space, space.random_point(1, 3)[0], 0.4 * min(space.uniqueness_radius, 1.0))
    return space.random_point(n, 1), ball


def squares(X, ball):
    """Without privacy, in float64."""
    return np.mean(np.square(Bounded(X, ball)._coordinates.all()), axis=0)


# --- a whole release -----------------------------------------------------------------------------------------------


@spaces
@pytest.mark.parametrize("mechanism", ["auto", "wrapped-laplace", "wrapped-gaussian"])
def test_it_is_released_under_its_name_with_its_kind(space, mechanism):
    """With hardly any noise, it is the statistic and nothing else: on flat spaces too, where means have many names."""
    X, ball = data(space)
    guarantee = rd.GDP(1e12) if mechanism == "wrapped-gaussian" else rd.PureDP(1e12)
    with pytest.warns(rd.UselessRelease):
        made = rd.private_mean(X, ball, guarantee, statistic=NAME, mechanism=mechanism)
    assert (made.statistic, made.kind, made.n) == (NAME, "numbers", 400)
    assert made.value == pytest.approx(squares(X, ball), abs=1e-9)
    assert made.sensitivity == pytest.approx(2 * ball.radius**2 / 400, rel=1e-9)
    assert not made.value.flags.writeable


@spaces
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda mechanism: mechanism.name)
def test_never_another_statistic_under_its_name(space, mechanism):
    foot = np.zeros(space.dim)
    if mechanism.input == "coordinates":
        assert statistic_for(mechanism, NAME, foot) == CoordinateSquares()
        return
    with pytest.raises(rd.MechanismError, match=f"statistic = '{NAME}' belongs to wrapped"):
        statistic_for(mechanism, NAME, foot)
    with pytest.raises(rd.MechanismError, match=f"statistic = '{NAME}' belongs to wrapped"):
        statistic_for(mechanism, CoordinateSquares(), foot)


@spaces
def test_every_name_is_released_as_itself(space):
    X, ball = data(space)
    for name in statistic_names():
        made = rd.private_mean(X, ball, rd.GDP(1.0), statistic=name)
        assert made.statistic == name
        assert {made.kind} == {one.kind for (_, known), one in STATISTICS.items() if known == name}


def test_the_name_is_that_of_the_class_for_every_entry():
    assert all(one.name == name and one.input == taken for (taken, name), one in STATISTICS.items())


@spaces
def test_noise_is_that_of_the_plan(space):
    """Root mean square distance of seeded draws, before they are cut off at 0, within 6 standard errors."""
    X, ball = data(space)
    query = Query(ball, 400, rd.GDP(1.0), statistic=NAME)
    plan = query.plan()
    law = query.law(plan)
    far = 1e6 * plan.scale + np.zeros(space.dim)  # where nothing is cut off
    draws = law.simulate(far, np.random.default_rng(0), 4000) - far
    square = np.sum(draws**2, axis=1)
    assert np.mean(square) == pytest.approx(plan.expected_error**2, abs=6 * np.std(square) / np.sqrt(4000))
    simulated = rd.simulate(X, ball, rd.GDP(1.0), statistic=NAME, size=3, seed=0)
    assert simulated.shape == (3, space.dim)
    assert (np.asarray(simulated) >= 0).all()


def test_a_footpoint_is_refused():
    X, ball = data(rd.Sphere(2))
    with pytest.raises(rd.InputError, match="footpoint must be left out for the coordinate-squares"):
        rd.private_mean(X, ball, rd.GDP(1.0), statistic=NAME, footpoint=X[0])


def test_adaptation_shrinks_the_ball_of_any_statistic():
    space = rd.Euclidean(2)
    ball = rd.Ball(space, [0.0, 0.0], 100.0)
    made = rd.private_mean(np.full((2000, 2), 0.3), ball, rd.GDP(2.0), statistic=NAME, adapt=True)
    assert made.stages[-1].radius < 10
    assert (made.statistic, made.kind) == (NAME, "numbers")


def test_a_statistic_can_be_given_itself():
    X, ball = data(rd.Sphere(2))
    query = Query(ball, 400, rd.GDP(1.0), statistic=CoordinateSquares())
    assert (query.statistic_name, query.kind, query.plan()) == (NAME, "numbers", dataclasses.replace(query, statistic=NAME).plan())
    assert query.law(query.plan()).value(Bounded(X, ball)) == pytest.approx(squares(X, ball), abs=1e-12)


# --- what it takes to add one to the package -------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
EXPORT = {  # what is written into catalogue.py: the only file that changes
    "from riemdp.statistics.moments import": "from riemdp.statistics.mean_squares import MeanSquares\n",
    '"frechet-mean", "tangent-mean",': '"mean-squares", ',
    "    IntrinsicMean(),\n": "    MeanSquares(),\n",
}
NAMES = """
from typing import get_args
import riemdp as rd
from riemdp.statistics.catalogue import StatisticName, statistic_names
from riemdp.statistics.mean import PLANNED, PlannedName
ball, X = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0), rd.Euclidean(2).random_point(5000, 0)
assert list(get_args(StatisticName)) == statistic_names()
assert list(get_args(PlannedName)) == PLANNED
assert rd.plan(ball, 5000, "mu=1", statistic="mean-squares")[0].mechanism == "wrapped-gaussian"
print(rd.private_mean(X, ball, "mu=1", statistic="mean-squares").statistic)
"""
LINE = "-m riemdp plan --space euclidean --size 2 --center origin --radius 1 --records 5000 --mu 1 --statistic mean-squares"


def class_of_the_page():
    """The file that docs/extending.md shows: a class, and what it imports."""
    sources = [one.source for one in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))]
    place = next(i for i, source in enumerate(sources) if source.startswith("class MeanSquares"))
    return "".join(["import numpy as np\n", *sources[place - 2 : place + 1]])


def test_a_statistic_of_the_package_is_one_file_and_one_export(tmp_path):
    """In a copy of the package, to which the class of docs/extending.md is added."""
    copy = shutil.copytree(Path(rd.__file__).parent, tmp_path / "riemdp", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "statistics" / "mean_squares.py").write_text(class_of_the_page(), encoding="utf-8")
    text = (copy / "statistics" / "catalogue.py").read_text(encoding="utf-8")
    for place, line in EXPORT.items():
        assert text.count(place) == 1
        text = text.replace(place, line + place)
    (copy / "statistics" / "catalogue.py").write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    for arguments, answer in ((["-c", NAMES], "mean-squares\n"), (LINE.split(), "wrapped-gaussian")):
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert answer in done.stdout


# --- exact sums, wherever the records are --------------------------------------------------------------------------


@spaces
def test_the_mean_of_vectors_has_the_same_bits_wherever_the_records_are(space, tmp_path):
    """An array, a memory map, a Dask array; in any order."""
    da = pytest.importorskip("dask.array")
    X, ball = data(space, 20_000)
    np.save(tmp_path / "X.npy", X)
    shuffled = X[np.random.default_rng(0).permutation(len(X))]
    query = Query(ball, len(X), rd.GDP(1.0), statistic=NAME)
    law = query.law(query.plan())
    places = [X, shuffled, np.load(tmp_path / "X.npy", mmap_mode="r"), da.from_array(X, chunks=(3000, *X.shape[1:]))]
    values = [law.value(Bounded(place, ball)) for place in places]
    assert all(np.array_equal(value, values[0]) for value in values)
    assert values[0] == pytest.approx(squares(X, ball), rel=1e-9)


def test_dask_records_are_released_like_any_others():
    da = pytest.importorskip("dask.array")
    X, ball = data(rd.SPDAffine(2), 20_000)
    array = da.from_array(X, chunks=(5000, 2, 2))
    made = rd.private_mean(array, ball, rd.GDP(1.0), statistic=NAME)
    alone = rd.private_mean(X, ball, rd.GDP(1.0), statistic=NAME)
    assert (made.scale, made.sensitivity, made.kind, made.n) == (alone.scale, alone.sensitivity, "numbers", 20_000)
    assert made.value == pytest.approx(squares(X, ball), abs=8 * made.scale)


@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e300, -1e300])
def test_whatever_a_record_is_mapped_to_is_forced_into_the_body(strange):
    """One record's vector moves the mean by at most the sensitivity, were the map wrong."""
    ball, body, n = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0), vectors_up_to(0.5, 3), 4
    records = Bounded(np.tile([0.6, 0.0], (n, 1)), ball)
    calm = linear_mean(records, lambda v: np.tile([0.5, 0.0, 0.0], (len(v), 1)), body)

    def wild(v):
        vectors = np.tile([0.5, 0.0, 0.0], (len(v), 1))
        vectors[0] = strange
        return vectors

    moved = linear_mean(records, wild, body)
    assert np.isfinite(moved).all()
    assert 0 < np.linalg.norm(moved - calm) <= linear_sensitivity(body, n)


def test_opposite_vectors_attain_the_sensitivity():
    body, n = vectors_up_to(0.5, 2), 3
    records = Bounded(np.zeros((n, 1)), rd.Ball(rd.Euclidean(1), [0.0], 1.0))
    ends = []
    for sign in (1, -1):
        vectors = np.tile([0.5, 0.0], (n, 1))
        vectors[0] *= sign
        ends.append(linear_mean(records, lambda _, vectors=vectors: vectors, body))
    moved, allowed = np.linalg.norm(ends[0] - ends[1]), linear_sensitivity(body, n)
    assert allowed * (1 - 1e-9) < moved <= allowed


# --- values of every kind ------------------------------------------------------------------------------------------


def released(statistic):
    X, ball = data(rd.Sphere(2))
    query = Query(ball, 400, rd.GDP(1.0), statistic=statistic)
    return prepare(query).release(Bounded(X, ball))


@pytest.mark.parametrize("statistic", [CoordinateSquares(), SquaresAndMatrix()], ids=lambda one: type(one).__name__)
def test_a_release_of_any_kind_is_saved_shown_and_reported(statistic, tmp_path):
    made = released(statistic)
    assert made.kind == statistic.kind
    made.save(tmp_path / "value.json")
    again = rd.Release.load(tmp_path / "value.json")
    assert json.dumps(again.to_dict()) == json.dumps(made.to_dict())
    assert again.kind == made.kind
    parts = made.value if isinstance(made.value, tuple) else (made.value,)
    assert all(not part.flags.writeable for part in parts)
    assert len(plot_release(made).axes) == 1
    assert "The released value, to 4 digits" in report_html(made)
    repr(made)


WRONG = [
    ({"kind": "median"}, "kind = 'median'"),
    ({"kind": 3}, "kind = 3"),
    ({"kind": []}, "kind"),
    ({"kind": ["numbers", "matrix"]}, "kind"),
    ({"value": [1.0, "x"]}, "value is not of the kind 'numbers'"),
    ({"value": [1.0, float("nan")]}, "value is not of the kind 'numbers'"),
    ({"value": [[1.0]]}, "value is not of the kind 'numbers'"),
    ({"value": []}, "value is not of the kind 'numbers'"),
    ({"kind": "symmetric matrix"}, "value is not of the kind 'symmetric matrix'"),
    ({"kind": "symmetric matrix", "value": [[1.0, 2.0], [3.0, 4.0]]}, "value is not of the kind 'symmetric matrix'"),
    ({"kind": "tangent vector"}, "value is not of the kind 'tangent vector'"),
    ({"kind": ["numbers"], "value": 3.0}, "value is not of the kind"),
    ({"kind": ["numbers", "numbers"]}, "value is not of the kind"),
    ({"kind": "point", "value": [1.0, 2.0, 3.0]}, "value"),
]


@pytest.mark.parametrize(("change", "says"), WRONG)
def test_a_value_that_is_not_of_its_kind_is_refused(change, says):
    with pytest.raises(rd.InputError, match=says):
        rd.Release.from_dict(released(CoordinateSquares()).to_dict() | change)


def test_values_of_every_kind_are_read():
    known = released(CoordinateSquares()).to_dict()
    for kind, value in [("numbers", [1.0]), ("symmetric matrix", [[1.0, 2.0], [2.0, 5.0]]), ("tangent vector", [0.0, 1.0, 2.0])]:
        assert rd.Release.from_dict(known | {"kind": kind, "value": value}).value.tolist() == value


# --- beside a mechanism of somebody else's ---------------------------------------------------------------------------


class Own:
    """Takes coordinates as wrapped ones do, and is none of them."""

    name = "own-laplace"

    def __getattr__(self, name):
        return getattr(WRAPPED_LAPLACE, name)


TIMES, LABELS = np.linspace(-1, 1, 400), np.arange(400) % 2
ENTRIES = {
    "summary": lambda X, ball, **ask: rd.private_summary(X, ball, PURE, **ask),
    "plan": lambda X, ball: rd.plan(ball, 400, PURE, statistic="summary"),
    "median": lambda X, ball: rd.private_median(X, ball, PURE),
    "regression": lambda X, ball: rd.private_regression(X, TIMES, ball, PURE, t_bounds=(-1, 1)),
    "labels": lambda X, ball: rd.PrivateMDM(ball=ball, guarantee=PURE, private_labels=True, classes=[0, 1]).fit(X, LABELS),
    "discriminant": lambda X, ball: rd.PrivateLDA(ball=ball, guarantee=PURE, classes=[0, 1]).fit(X, LABELS),
    "sums": lambda X, ball: rd.private_summary_of_sums([rd.site_sum(X, ball, site="A", study="S", second="full")], PURE),
    "ellipsoid": lambda X, ball: rd.private_mean(X, rd.Ellipsoid(ball.space, ball.center, [0.5, 1.0], 0.4), PURE),
}  # fmt: skip
PURE = rd.PureDP(1.0)


@pytest.mark.filterwarnings("ignore::riemdp.UselessRelease", "ignore::riemdp.NoAdaptation")
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_mechanism_of_ones_own_disturbs_no_statistic(entry, monkeypatch):
    """What relies on the law of wrapped noise passes it over, and refuses it by name before anything is paid."""
    monkeypatch.setitem(MECHANISMS, Own.name, Own())
    ENTRIES[entry](*data(rd.Sphere(2)))


def test_it_is_refused_by_name_where_its_law_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setitem(MECHANISMS, Own.name, Own())
    X, ball = data(rd.Sphere(2))
    ledger = rd.Ledger(tmp_path / "ledger.db", PURE)
    assert rd.private_mean(X, ball, PURE, mechanism=Own.name).mechanism == Own.name
    with pytest.raises(rd.MechanismError, match="mechanism = 'own-laplace': this statistic relies on the noise of 'wrapped-l"):
        rd.private_summary(X, ball, PURE, mechanism=Own.name, ledger=ledger)
    assert ledger.history() == []


# --- planned once --------------------------------------------------------------------------------------------------


@pytest.fixture
def calibrations(monkeypatch):
    """Of every mechanism, as they are asked for."""
    asked = []
    for mechanism in MECHANISMS.values():
        def spy(guarantee, sensitivity, method, name=mechanism.name, real=mechanism.calibrate):
            asked.append((name, repr(guarantee), sensitivity))
            return real(guarantee, sensitivity, method)

        monkeypatch.setitem(vars(mechanism), "calibrate", spy)
    return asked


OPTIONS = [{}, {"mechanism": "wrapped-gaussian"}, {"statistic": "tangent-mean"}]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_a_release_is_planned_once(options, calibrations):
    X, ball = data(rd.Sphere(2))
    rd.private_mean(X, ball, rd.GDP(1.0), **options)
    assert calibrations
    assert len(calibrations) == len(set(calibrations))
    if "mechanism" in options:
        assert [name for name, *_ in calibrations] == ["wrapped-gaussian"]


@pytest.mark.parametrize("maker", ["summary", "mdm", "labels", "sums", "simulate"])
def test_so_are_those_of_estimators_sites_and_simulations(maker, calibrations):
    X, ball = data(rd.Sphere(2))
    y, ask = np.arange(400) % 2, {"ball": ball, "guarantee": rd.GDP(1.0)}
    {
        "summary": lambda: rd.private_summary(X, ball, rd.GDP(1.0)),
        "mdm": lambda: rd.PrivateMDM(**ask).fit(X[:399], y[:399]),  # classes of different size
        "labels": lambda: rd.PrivateMDM(**ask, private_labels=True, classes=[0, 1]).fit(X, y),
        "sums": lambda: rd.private_mean_of_sums([rd.site_sum(X, ball, site="A", study="S")], rd.GDP(1.0)),
        "simulate": lambda: rd.simulate(X, ball, rd.GDP(1.0), size=2, seed=0),
    }[maker]()
    assert calibrations
    assert len(calibrations) == len(set(calibrations))


def test_the_command_line_releases_what_it_rehearsed(tmp_path, monkeypatch, calibrations):
    monkeypatch.chdir(tmp_path)
    X, _ = data(rd.Sphere(2))
    np.save("X.npy", X)
    line = "mean X.npy --space sphere --center north --radius 0.5 --mu 1 --mechanism wrapped-gaussian --out mean.json --quiet"
    assert CliRunner().invoke(app, line.split()).exit_code == 0
    assert [name for name, *_ in calibrations] == ["wrapped-gaussian"]
    assert rd.Release.load("mean.json").mechanism == "wrapped-gaussian"


def test_all_stages_and_classes_are_drawn_under_the_one_reservation(tmp_path, monkeypatch):
    paid, real = [], Reservation.draw
    monkeypatch.setattr(Reservation, "draw", lambda self, value, law: paid.append(self) or real(self, value, law))
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(10.0))
    X, ball = data(rd.Euclidean(2), 3000)
    made = rd.private_mean(X, ball, rd.GDP(1.0), adapt=True, ledger=ledger)
    assert len(paid) == len(made.stages) > 2
    assert {id(one) for one in paid} == {id(paid[0])}
    assert paid[0].guarantee == made.guarantee == ledger.history()[0].guarantee
    paid.clear()
    model = rd.PrivateMDM(ball=ball, guarantee=rd.GDP(1.0), ledger=ledger).fit(X, np.arange(3000) % 3)
    assert len(paid) == 3
    assert {id(one) for one in paid} == {id(paid[0])}
    assert model.guarantee_ == ledger.history()[1].guarantee


# --- no cycles -----------------------------------------------------------------------------------------------------


def imports_of(path: Path) -> set[str]:
    """Modules of `riemdp.statistics` that a file imports anywhere: for types and in functions too."""
    nodes = ast.walk(ast.parse(path.read_text()))
    names = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.rpartition(".")[2] for name in names if name.startswith("riemdp.statistics.")}


def cycle_in(graph):
    """The modules that stay when those which import none of the others are taken away, again and again."""
    left = {name: targets & set(graph) for name, targets in graph.items()}
    while free := [name for name, targets in left.items() if not targets]:
        left = {name: targets - set(free) for name, targets in left.items() if name not in free}
    return set(left)


def test_there_is_no_import_cycle():
    folder = Path(catalogue.__file__).parent
    graph = {path.stem: imports_of(path) for path in folder.glob("*.py")}
    assert cycle_in(graph) == set()
    assert graph["prepared"] >= {"query", "adaptive"}
    assert cycle_in(graph | {"base": graph["base"] | {"mean"}}) >= {"base", "mean", "query"}
