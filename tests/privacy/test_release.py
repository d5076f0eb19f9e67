"""The one place where a private value meets noise: the grid, the ledger, and what is left in a Release."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp import randomness
from riemdp.accounting import unit
from riemdp.accounting.guarantee import Guarantee
from riemdp.io import files
from riemdp.mechanisms import wrapped
from riemdp.privacy import reservation
from riemdp.statistics.adaptation import FOOTPOINT

all_spaces = pytest.mark.parametrize("space", SPACES, ids=repr)
mechanisms = pytest.mark.parametrize("mechanism", ["wrapped-laplace", "wrapped-gaussian"])


def guarantee_for(mechanism):
    return rd.PureDP(1.0) if mechanism == "wrapped-laplace" else rd.GDP(1.0)


def small_ball(space):
    return rd.Ball(space, space.random_point(1, 3)[0], 0.3 * min(space.uniqueness_radius, 1.0))


def some_release(space=None, **options):
    space = rd.Sphere(2) if space is None else space
    return rd.private_mean(space.random_point(5, 0), small_ball(space), rd.GDP(2.0), **options)


# --- no fingerprint ---------------------------------------------------------------------------------------


@mechanisms
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(
    ("record", "radius"), [(0.0, 1.0), (1.0, 2.0), (math.pi, 5.0), (1e8, 1e9), (1e-8, 1.0), (1e-8, 1e-7), (5e-324, 1.0)]
)
def test_every_released_coordinate_is_on_the_grid(mechanism, dim, record, radius):
    """With the ball around zero, the value is the coordinates."""
    ball = rd.Ball(rd.Euclidean(dim), np.zeros(dim), radius)
    for _ in range(20):
        result = rd.private_mean(np.full((3, dim), record), ball, guarantee_for(mechanism), mechanism=mechanism)
        assert math.frexp(result.grid)[0] == 0.5
        assert result.scale / 2**21 < result.grid <= result.scale / 2**20
        assert all((v / result.grid).is_integer() for v in result.value.tolist())


@mechanisms
def test_the_grid_does_not_depend_on_the_records(mechanism):
    ball = rd.Ball(rd.Euclidean(1), [0.0], 1.0)
    records = [0.0, 1.0, math.pi, 1e8, 1e-8, np.nan]
    grids = {rd.private_mean([[x], [0.1]], ball, guarantee_for(mechanism)).grid for x in records}
    assert len(grids) == 1


@mechanisms
@pytest.mark.parametrize("center", [0.0, 1 / 3, -1e5])
def test_neighbours_reach_the_same_outputs(mechanism, center, monkeypatch):
    """On a grid coarse enough to see every cell, both neighbours fill the same ones."""
    monkeypatch.setattr(wrapped, "grid_step", lambda scale: math.ldexp(1.0, math.frexp(scale)[1] - 2))
    ball = rd.Ball(rd.Euclidean(1), [center], 1.0)
    supports = []
    for record in (center - 1.0, center + 1.0):
        results = [rd.private_mean([[record]], ball, guarantee_for(mechanism)) for _ in range(1000)]
        values = {float(r.value[0]) for r in results}
        supports.append({v for v in values if abs(v - center) < 1.2 * results[0].scale})
    assert supports[0] == supports[1]
    assert len(supports[0]) > 3


@all_spaces
def test_what_meets_the_manifold_is_on_the_grid(space, monkeypatch):
    """Whatever the space: the noisy coordinates that `carry` gets, before any exp."""
    seen = []
    carry = wrapped.carry
    monkeypatch.setattr(wrapped, "carry", lambda coords, *rest: seen.append(coords.vectors) or carry(coords, *rest))
    result = some_release(space)
    coords = seen[0]  # after it comes what tells how full the ball is
    assert coords.shape == (1, space.dim)
    assert all((c / result.grid).is_integer() for c in coords[0].tolist())


# --- the ledger --------------------------------------------------------------------------------------------


@pytest.fixture
def draws(monkeypatch):
    """Counts the calls for random bits."""
    counted = []
    bits = randomness.secrets.randbits
    monkeypatch.setattr(randomness.secrets, "randbits", lambda k: counted.append(k) or bits(k))
    return counted


@pytest.fixture
def ledger(tmp_path):
    return rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(3.0))


def test_a_release_is_reserved_then_confirmed(ledger, draws):
    result = some_release(ledger=ledger)
    (entry,) = ledger.history()
    assert entry.status == "released"
    assert entry.guarantee == result.guarantee
    assert entry.description == "frechet-mean of 5 records, wrapped-gaussian"
    assert draws


def test_a_refused_release_draws_no_noise_reads_nothing_and_spends_nothing(ledger, draws, monkeypatch):
    some_release(ledger=ledger)
    before, count = ledger.history(), len(draws)
    monkeypatch.setattr("riemdp.privacy.bounded._to_ball", lambda *_: pytest.fail("read"))
    with pytest.raises(rd.BudgetExceeded):
        rd.private_mean(np.ones((4, 3)), small_ball(rd.Sphere(2)), rd.GDP(2.9), ledger=ledger)
    assert len(draws) == count
    assert ledger.history() == before


def test_the_reservation_is_on_disk_before_the_first_bit_is_drawn(ledger, monkeypatch):
    """Seen by a second reader of the file at the moment of the first draw."""
    seen = []
    bits = randomness.secrets.randbits

    def watched(k):
        seen.append([entry.status for entry in rd.Ledger(ledger.path).history()])
        return bits(k)

    monkeypatch.setattr(randomness.secrets, "randbits", watched)
    some_release(ledger=ledger)
    assert seen[0] == ["reserved"]
    assert [entry.status for entry in ledger.history()] == ["released"]


@pytest.mark.parametrize("crash", ["riemdp.randomness.secrets.randbits", "riemdp.mechanisms.wrapped.carry"])
def test_a_crash_after_the_reservation_leaves_it_spent(ledger, monkeypatch, crash):
    def boom(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(crash, boom)
        with pytest.raises(KeyboardInterrupt):
            some_release(ledger=ledger)
    assert [entry.status for entry in ledger.history()] == ["reserved"]
    assert ledger.spent.mu == 2.0
    with pytest.raises(rd.BudgetExceeded):
        rd.private_mean(np.ones((4, 3)), small_ball(rd.Sphere(2)), rd.GDP(2.9), ledger=ledger)


def test_a_ledger_of_another_kind_is_refused_before_anything_is_read(tmp_path, draws, monkeypatch):
    ledger = rd.Ledger(tmp_path / "pure.db", budget=rd.PureDP(10.0))
    monkeypatch.setattr("riemdp.privacy.bounded._to_ball", lambda *_: pytest.fail("read"))
    with pytest.raises(rd.MechanismError):
        some_release(ledger=ledger)
    assert not draws
    assert ledger.history() == []


def test_threads_draw_different_noise_and_are_all_recorded(tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.GDP(100.0))
    values = []
    threads = [threading.Thread(target=lambda: values.append(some_release(ledger=ledger).value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({value.tobytes() for value in values}) == 8
    assert [entry.status for entry in ledger.history()] == ["released"] * 8


@pytest.mark.system_randomness
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_processes_draw_different_noise():
    some_release()  # everything that a child could inherit is set up
    values = [_in_a_fork(lambda: some_release().value.tobytes()) for _ in range(6)]
    assert len({some_release().value.tobytes(), *values}) == 7


def _in_a_fork(task):
    """What the task returns in a child process, which ends without any clean-up of pytest's."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, task())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return content


# --- what is left ------------------------------------------------------------------------------------------


@all_spaces
@mechanisms
def test_saved_and_loaded_it_is_the_same(space, mechanism, tmp_path):
    ball = small_ball(space)
    footpoint = space.geodesic(ball.center, space.random_point(1, 4)[0], 0.2)
    ask = {"mechanism": mechanism, "footpoint": footpoint}
    result = rd.private_mean(space.random_point(5, 0), ball, guarantee_for(mechanism), **ask)
    result.save(tmp_path / "mean.json")
    loaded = rd.Release.load(str(tmp_path / "mean.json"))
    assert loaded.to_dict() == result.to_dict()
    assert loaded.value.shape == space.point_shape
    assert loaded.space == space
    assert loaded.guarantee == result.guarantee
    assert space.contains(loaded.value)


def test_the_guarantee_states_its_adjacency_and_assumptions():
    result = some_release()
    assert result.guarantee.adjacency == "replace-one"
    assert set(result.guarantee.assumptions) > {unit.PUBLIC, reservation.ENTROPY}
    assert result.guarantee <= rd.GDP(2.0)


def test_it_holds_and_shows_nothing_private():
    """Two data sets, one of them with records outside the ball: all agrees but the value, and what it was made of."""
    space, ball = rd.Euclidean(2), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    tame, wild = (rd.private_mean(X, ball, rd.GDP(1.0)) for X in ([[0.1, 0.2]] * 400, [[np.nan, 7e9]] * 400))
    hidden = {"value": 0, "noisy": 0, "fill": 0}
    assert tame.to_dict() | hidden == wild.to_dict() | hidden
    public = {"value", "statistic", "guarantee", "mechanism", "scale", "sensitivity", "expected_error", "grid",
              "space", "center", "radius", "n", "version", "stages", "kind", "noisy", "fill", "unit"}  # fmt: skip
    assert set(vars(wild)) == public
    assert repr(tame).replace(repr(tame.value), "") == repr(wild).replace(repr(wild.value), "")
    assert repr(space) in repr(wild)


def test_the_json_is_plain(tmp_path):
    some_release().save(tmp_path / "mean.json")
    text = (tmp_path / "mean.json").read_text()
    assert json.loads(text)["riemdp"] == "release"
    assert "NaN" not in text


def without(name):
    return lambda data: data.pop(name)


def with_(**changes):
    return lambda data: data.update(changes)


CORRUPTIONS = [
    *map(without, ["value", "guarantee", "space", "n", "scale", "version", "riemdp"]),
    *(with_(**{name: bad}) for name in ("scale", "grid", "radius", "expected_error", "sensitivity")
      for bad in ("1", -1.0, 0.0, math.nan, math.inf, True, 1, [1.0])),
    *(with_(**{name: None}) for name in ("scale", "radius", "expected_error", "sensitivity")),
    *(with_(n=bad) for bad in (0, -1, 1.0, "1", None, True)),
    *(with_(mechanism=bad) for bad in (None, 1, ["x"], {})),
    with_(statistic=None), with_(version=1), with_(riemdp="other"), with_(extra=1),
    *(with_(value=bad) for bad in (None, "x", 1.0, [], [1.0], [0.0, 0.0, 2.0], [[0.0, 0.0, 1.0]], [0.0, 0.0, math.nan],
                                   [0.0, 0.0, 10**400], {"a": 1}, [0.0, 0.0, "1"], [[0.0], 0.0, 1.0])),
    *(with_(center=bad) for bad in (None, [0.0, 0.0, -3.0], [math.inf] * 3)),
    *(with_(guarantee=bad) for bad in (None, 1, {}, {"type": "GDP"}, {"type": [], "mu": 1.0}, [1, 2])),
    with_(guarantee={"type": "GDP", "mu": -1.0, "adjacency": "replace-one", "assumptions": []}),
    with_(guarantee={"type": "GDP", "mu": 1.0, "adjacency": "add-remove", "assumptions": []}),
    with_(guarantee={"type": "GDP", "mu": 1.0, "adjacency": "replace-one", "assumptions": [1]}),
    *(with_(space=bad) for bad in (None, 1, {}, {"type": "Torus"}, {"type": []}, {"type": {}}, {"type": "Sphere"},
                                   {"type": "Sphere", "d": 2, "curvature": -1.0}, {"type": "Sphere", "d": "2"},
                                   {"type": "Sphere", "d": 2, "curvature": 10**400}, {"type": "Sphere", "d": 10**30},
                                   {"type": "Euclidean", "d": 10**12}, {"type": "KendallShapes", "k": 10**9},
                                   {"type": "Product", "factors": 3}, {"type": "Product", "factors": []},
                                   {"type": "Product", "factors": [{}]}, {"type": "Sphere", "d": 2, "x": 1})),
]  # fmt: skip


@pytest.mark.parametrize("corrupt", CORRUPTIONS)
def test_a_corrupted_release_is_refused(corrupt, tmp_path):
    data = some_release().to_dict()
    corrupt(data)
    path = tmp_path / "mean.json"
    path.write_text(json.dumps(data))
    with pytest.raises(rd.InputError):
        rd.Release.load(path)


def nested(levels):
    return '{"type": "Product", "factors": [' * levels + '{"type": "Euclidean", "d": 1}' + "]}" * levels


@pytest.mark.parametrize("levels", [300, 5000])
def test_deep_nesting_is_refused(levels, tmp_path):
    text = json.dumps(some_release().to_dict() | {"space": "HERE"}).replace('"HERE"', nested(levels))
    (tmp_path / "mean.json").write_text(text)
    with pytest.raises(rd.InputError):
        rd.Release.load(tmp_path / "mean.json")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b"null", b"[1]", b"3", b'"x"', b"[" * 10**5, b'{"n": ' + b"9" * 5000 + b"}"]
)
def test_a_file_that_is_no_release_is_refused(content, tmp_path):
    (tmp_path / "mean.json").write_bytes(content)
    with pytest.raises(rd.InputError):
        rd.Release.load(tmp_path / "mean.json")


@pytest.mark.parametrize("path", ["no/such/file.json", ".", None, 3.5, "a\0b", "x" * 5000])
def test_a_path_that_cannot_be_read_or_written_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rd.InputError, match="path"):
        rd.Release.load(path)
    with pytest.raises(rd.InputError, match="path"):
        some_release().save(path)
    assert list(tmp_path.iterdir()) == []


def test_saving_replaces_the_whole_file_or_leaves_it(tmp_path, monkeypatch):
    path = tmp_path / "mean.json"
    path.write_text("before")

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(rd.InputError, match="No space"):
            some_release().save(path, force=True)
    assert path.read_text() == "before"
    some_release().save(path, force=True)
    assert isinstance(rd.Release.load(path).guarantee, Guarantee)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_must_not_be_written_is_refused(tmp_path, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "mkstemp", denied)
    with pytest.raises(rd.InputError, match="Permission"):
        some_release().save(tmp_path / "mean.json")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_not_replaced_unless_forced(tmp_path):
    path = tmp_path / "mean.json"
    first, second = some_release(), some_release()
    first.save(path)
    with pytest.raises(rd.InputError, match=r"mean\.json' exists already: pass another name, or force=True"):
        second.save(path)
    assert rd.Release.load(path).to_dict() == first.to_dict()
    second.save(path, force=True)
    assert rd.Release.load(path).to_dict() == second.to_dict()
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere.json")
    with pytest.raises(rd.InputError, match="exists already"):
        first.save(tmp_path / "dangling.json")


@pytest.mark.parametrize("name", ["r.npy", "r.NPY", "r.csv", "r.json.gz", "r", ".json"])
def test_a_name_that_promises_another_format_is_refused(name, tmp_path):
    with pytest.raises(rd.InputError, match=r"ends in \.json; for the value alone, use np\.save"):
        some_release().save(tmp_path / name, force=True)
    assert list(tmp_path.iterdir()) == []
    some_release().save(tmp_path / "r.JSON")


def test_nobody_can_write_to_what_was_released(tmp_path):
    """Not through the release, nor through the arrays that it was made of; loaded ones neither."""
    space, center = rd.Sphere(2), np.array([0.0, 0.0, 1.0])
    made = rd.private_mean(space.random_point(2000, 0), rd.Ball(space, center, 1.0), rd.GDP(20.0), adapt=True)
    assert made.stages
    made.save(tmp_path / "mean.json")
    for one in (made, rd.Release.load(tmp_path / "mean.json")):
        for array in (one.value, one.center, one.ball.center, *(stage.center for stage in one.stages)):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7.0
    value = made.value.copy()
    other = dataclasses.replace(made, value=value)
    value[0] = 7.0
    assert np.array_equal(other.value, made.value)


# --- formats -----------------------------------------------------------------------------------------------


def written(data, tmp_path):
    (tmp_path / "mean.json").write_text(json.dumps(data))
    return tmp_path / "mean.json"


def test_files_say_their_format_and_those_of_before_are_read(tmp_path):
    made = some_release()
    data = made.to_dict()
    assert (data["format"], data["kind"], data["class"]) == (5, "point", "Release")
    old = {name: value for name, value in data.items() if name not in ("format", "kind", "class", "fill", "noisy")}
    for stamp in ({}, {"format": 0}, {"format": 1}, {"format": 2}, {"format": 3}, {"format": 4}):
        assert rd.Release.load(written(old | stamp, tmp_path)).to_dict() == data | {"noisy": None, "fill": None}


def test_a_field_with_a_default_may_be_missing(tmp_path):
    """So a field that is added later, with a default, leaves older files readable."""
    data = some_release().to_dict()
    del data["stages"]
    assert rd.Release.load(written(data, tmp_path)).stages == ()
    required = {field.name for field in dataclasses.fields(rd.Release) if field.default is dataclasses.MISSING}
    assert required == {"value", "statistic", "guarantee", "mechanism", "scale", "sensitivity", "expected_error", "grid",
                        "space", "center", "radius", "n", "version"}  # fmt: skip


def test_newer_files_ask_for_an_upgrade_whatever_else_is_in_them(tmp_path):
    with pytest.raises(rd.InputError, match=r"written by a newer riemdp \(format 7\): upgrade"):
        rd.Release.load(written({"riemdp": "release", "format": 7, "colour": "blue"}, tmp_path))


@pytest.mark.parametrize("name", ["value", "guarantee", "space", "n", "scale", "version", "center"])
def test_a_missing_field_is_named(name, tmp_path):
    data = some_release().to_dict()
    del data[name]
    with pytest.raises(rd.InputError, match=f"a release has no {name}: pass what Release.save"):
        rd.Release.load(written(data, tmp_path))


def test_a_missing_or_strange_field_of_a_stage_is_named(tmp_path):
    space = rd.Sphere(2)
    made = rd.private_mean(space.random_point(2000, 0), rd.Ball(space, [0, 0, 1], 1.0), rd.GDP(20.0), adapt=True)
    for change, message in ((without("task"), "a stage has no task"), (with_(colour=1), "a stage has no field 'colour'")):
        data = made.to_dict()
        change(data["stages"][0])
        with pytest.raises(rd.InputError, match=message):
            rd.Release.load(written(data, tmp_path))
    with pytest.raises(rd.InputError, match="a stage is not an object"):
        rd.Release.load(written(made.to_dict() | {"stages": [3]}, tmp_path))


@pytest.mark.parametrize("bad", [-1, "1", 1.0, None, True, [1]])
def test_a_format_that_is_no_number_is_refused(bad, tmp_path):
    with pytest.raises(rd.InputError, match="format"):
        rd.Release.load(written(some_release().to_dict() | {"format": bad}, tmp_path))


# --- stages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adapt", [False, rd.Adaptation(rounds=1), rd.Adaptation(rounds=3), FOOTPOINT])
def test_every_draw_of_a_release_is_made_under_the_reservation(adapt, ledger, monkeypatch):
    """As many as there are stages, all between the reservation and its confirmation."""
    seen = []
    draw = reservation.Reservation.draw

    def watched(self, *arguments):
        seen.append([entry.status for entry in ledger.history()])
        return draw(self, *arguments)

    monkeypatch.setattr(reservation.Reservation, "draw", watched)
    space = rd.Sphere(2)
    ball = rd.Ball(space, [0, 0, 1], 1.0)
    made = rd.private_mean(space.random_point(500, 0), ball, rd.GDP(3.0), adapt=adapt, ledger=ledger)
    assert seen == [["reserved"]] * max(1, len(made.stages))
    assert [entry.status for entry in ledger.history()] == ["released"]
# --- notes ---------------------------------------------------------------------------------------------------------


def _noted(ledger, note):
    """Every entry point that charges a ledger, with its note."""
    X, labels = np.random.default_rng(0).normal(size=(40, 2)) / 10, np.arange(40) % 2
    ball = rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0)
    asked = {"guarantee": rd.GDP(0.1), "ledger": ledger, "note": note}
    rd.private_mean(X, ball, **asked)
    rd.private_mean(X, ball, **asked, adapt=rd.Adaptation(rounds=1))
    rd.private_mean_of_sums([rd.site_sum(X, ball, site="A", study="S")], **asked)
    rd.PrivateFrechetMean(ball=ball, **asked).fit(X)
    rd.PrivateMDM(ball=ball, **asked).fit(X, labels)
    rd.PrivateMDM(ball=ball, **asked, private_labels=True, classes=[0, 1]).fit(X, labels)


def test_a_note_names_the_data_in_the_ledger(tmp_path):
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.0))
    _noted(ledger, "cohort B")
    assert [entry.description.endswith(": cohort B") for entry in ledger.history()] == [True] * 6


@pytest.mark.parametrize("note", [3, None, "two\nlines", "a\x1b[2J"])
def test_a_note_that_is_no_line_of_text_costs_nothing(tmp_path, note):
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.0))
    with pytest.raises(rd.InputError, match=r"note|description"):
        _noted(ledger, note)
    assert ledger.spent is None


def test_no_warning_tells_of_the_value_while_noise_is_drawn(tmp_path, recwarn):
    """The logarithm of a zero somewhere in a law, as audits/torture.py found in the K-norm gradient."""
    with reservation.reserved(rd.GDP(1.0), "mean", rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.0))) as paid:
        assert paid.draw(lambda: np.zeros(2), SimpleNamespace(draw=np.log)).tolist() == [-np.inf, -np.inf]
    assert not recwarn


def test_no_warning_while_a_release_is_planned(recwarn):
    """Rapidities at the end of float64: public, but nobody's fault."""
    ball = rd.Ball(rd.Hyperbolic(1), rd.Hyperbolic(1).origin, 25.434068777700702)
    rd.plan(ball, 17, rd.GDP(0.05))
    assert not recwarn
