"""Dask: the same bits on any chunks and workers, lost workers are survived, and the release happens once, here."""

from __future__ import annotations

import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import riemdp as rd
from riemdp.cli import app
from riemdp.cli import workers as cli_workers
from riemdp.io import sources
from riemdp.io.data import open_records
from riemdp.io.sources import reporting
from riemdp.privacy import bounded
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import ReleaseLaw
from riemdp.statistics.query import Query

sys.path.append(str(Path(__file__).parents[1] / "audits"))
import planted

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N = 40_000  # three blocks
BALLS = {
    "log-euclidean": rd.Ball(rd.SPDLogEuclidean(3), np.eye(3), 1.5),
    "affine": rd.Ball(rd.SPDAffine(3), np.eye(3), 1.5),
    "sphere": rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.7),
}


def records(name, n=N):
    return BALLS[name].space.random_point(n, 0)


def before_noise(X, ball, statistic="frechet-mean"):
    """The private value, as wrapped mechanisms take it."""
    query = Query(ball, len(X), rd.GDP(1.0), "wrapped-gaussian", statistic=statistic)
    value = query.law(query.plan()).value(Bounded(X, ball))
    return b"".join(part.tobytes() for part in value) if isinstance(value, tuple) else value.tobytes()


@pytest.fixture(scope="module")
def expected():
    return {name: before_noise(records(name), ball) for name, ball in BALLS.items()}


@pytest.fixture(scope="module")
def cluster():
    """Two processes, each with a nanny that starts it again when it dies."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
    ) as running:
        yield running


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected


# --- the same bits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [1, 7, 1000, 2**14, -1])
@pytest.mark.parametrize("name", BALLS)
def test_chunks_do_not_change_a_bit(name, chunks, monkeypatch):
    monkeypatch.setattr(sources, "MOST_ROWS", 2**8)  # chunks of 1 record, and still several blocks
    X = records(name, 600)
    array = da.from_array(X, chunks=(chunks, *X.shape[1:]))
    assert before_noise(array, BALLS[name]) == before_noise(X, BALLS[name])


@pytest.mark.parametrize("name", BALLS)
def test_processes_do_not_change_a_bit(name, client, expected):
    X = records(name)
    for chunks in (9_000, 2**14):
        assert before_noise(da.from_array(X, chunks=(chunks, *X.shape[1:])), BALLS[name]) == expected[name]


def test_every_scheduler_of_dask_will_do(expected):
    import dask

    array = da.from_array(records("affine"), chunks=(9_000, 3, 3))
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            assert before_noise(array, BALLS["affine"]) == expected["affine"]


@pytest.mark.parametrize("kind", ["npy", "folder", "zarr", "parquet", "csv"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
def test_workers_read_the_files_themselves(tmp_path, kind, client):
    ball, X = BALLS["affine"], records("affine", 2_000)
    if kind in ("npy", "folder"):
        for i, part in enumerate(np.array_split(X, 3)):
            np.save(tmp_path / f"{i}.npy", X if kind == "npy" else part)
    elif kind == "csv":
        np.savetxt(tmp_path / "X.csv", X.reshape(len(X), 9), delimiter=",", fmt="%.17g")
    elif kind == "zarr":
        pytest.importorskip("zarr").save(str(tmp_path / "X.zarr"), X)
    else:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(
            pyarrow.table(dict(zip("abcdefghi", X.reshape(-1, 9).T, strict=True))), tmp_path / "X.parquet"
        )
    stored = open_records({"npy": tmp_path / "0.npy", "folder": tmp_path}.get(kind, tmp_path / f"X.{kind}"))
    assert isinstance(stored.for_workers(ball.space), da.Array)
    assert (
        before_noise(stored.for_workers(ball.space), ball)
        == before_noise(stored.points(ball.space), ball)
        == before_noise(X, ball)
    )


def test_adaptation_and_check_of_a_dask_array_are_those_of_an_array():
    X, ball = records("affine", 3_000), rd.Ball(rd.SPDAffine(3), np.eye(3), 5.0)
    array = da.from_array(X, chunks=(700, 3, 3))
    assert rd.check(array, ball) == rd.check(X, ball)
    ask = {"size": 2, "seed": 1, "adapt": True}
    assert np.array_equal(rd.simulate(array, ball, rd.GDP(1.0), **ask), rd.simulate(X, ball, rd.GDP(1.0), **ask))


ODD = {
    "a word among objects": np.array([[1.0, 0.0], ["secret", 0.0]], dtype=object),
    "None among objects": np.array([[1.0, 0.0], [None, 0.0]], dtype=object),
    "words": np.array([["1.0", "0.0"], ["secret", "0.0"]]),
    "an imaginary part": np.array([[1.0, 0.0], [1j, 0.0]], dtype=object),
    "another kind of float": np.array([[1.0, 0.0], [np.nan, 0.0]], dtype=np.float32),
}


@pytest.mark.parametrize("rows", [2, 4], ids=["one chunk", "chunks that are joined"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.filterwarnings("error")
def test_a_chunk_of_another_type_than_stated_shows_no_cell(odd, rows):
    """What is no number makes its record unusable, as in an array of objects; neither we nor Dask raise or warn."""
    ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 2.0)
    stated = da.from_delayed(dask.delayed(ODD[odd]), (2, 2), dtype=np.float64)
    X = stated if rows == 2 else da.concatenate([da.zeros((2, 2)), stated])
    with dask.config.set(scheduler="synchronous"):
        assert Bounded(X, ball).coordinate_mean().point.tolist() == pytest.approx([1 / rows, 0.0])


def test_what_needs_all_records_at_once_says_so(tmp_path):
    array, ledger = da.from_array(records("sphere", 500), chunks=(100, 3)), rd.Ledger(tmp_path / "l.db", rd.PureDP(2.0))
    with pytest.raises(rd.MechanismError, match="kng"):
        rd.private_mean(array, BALLS["sphere"], rd.PureDP(1.0), mechanism="kng", ledger=ledger)
    assert ledger.history() == []


# --- what logs may show ----------------------------------------------------------------------------------------------

SECRET = 0.8675309  # no time, address or line of code that a log mentions has these digits


def fails(block, start):
    raise ValueError("of no record in particular")


@pytest.fixture
def logged():
    """All that Dask logs in this process, which is scheduler, worker and client in one."""
    stream, loggers = io.StringIO(), [logging.getLogger("distributed")]
    loggers += [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    usual = [(logger, logger.level) for logger in loggers]
    handler = logging.StreamHandler(stream)
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    yield stream
    for logger, level in usual:
        logger.removeHandler(handler)
        logger.setLevel(level)


@pytest.fixture
def one_process(logged):
    with distributed.Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        yield client


@pytest.mark.parametrize("make", [da.asarray, da.Array.persist, da.Array.copy], ids=["chunks", "persisted", "copied"])
def test_a_task_that_fails_tells_no_log_of_its_records(make, one_process, logged):
    array = make(da.from_array(np.full((6, 2), SECRET), chunks=(3, 2)))
    with pytest.raises(ValueError, match="of no record") as caught:
        sources.source_of(array).map(fails)
    assert "Compute Failed" in logged.getvalue()
    assert "8675309" not in logged.getvalue() + str(caught.getrepr(style="native"))


def arguments_of(chunk, task, start, version):
    """What a scheduler would write that logs the arguments of a task that failed: Dask 2024.8.0 to 2024.10.0 do."""
    return [repr((chunk, task, start, version))]


def test_the_arguments_of_a_task_show_nothing_of_the_records(monkeypatch):
    monkeypatch.setattr(sources, "_run_chunk", arguments_of)
    array = da.from_array(np.full((6, 2), SECRET), chunks=(3, 2))
    shown = " ".join(sources.source_of(array).map(fails))
    assert "Hidden" in shown
    assert "8675309" not in shown


def test_hidden_rows_travel_and_are_counted_as_memory():
    rows = np.full((1000, 2), SECRET)
    hidden = sources.Hidden(rows)
    assert "8675309" not in f"{hidden!r} {hidden}"
    assert np.array_equal(pickle.loads(pickle.dumps(hidden)).rows, rows)
    assert sys.getsizeof(hidden) >= rows.nbytes


# --- lost workers and interrupts -----------------------------------------------------------------------------------


def dies_once(block, marker, block_info):
    """Ends the process that works on the second chunk, the first time."""
    if block_info[0]["chunk-location"][0] == 1 and not os.path.exists(marker):
        with open(marker, "x"):
            os.kill(os.getpid(), signal.SIGKILL)
    return block


def fragile(X, marker):
    """A Dask array of X whose second chunk kills a worker."""
    array = da.from_array(X, chunks=(2**14, 3, 3))
    return array.map_blocks(dies_once, marker=str(marker), dtype=float, meta=np.empty((0, 0, 0)))


def test_a_killed_worker_changes_no_bit_and_spends_nothing_twice(tmp_path, client, expected, monkeypatch):
    name, seen, draw, pids = "affine", [], ReleaseLaw.draw, client.run(os.getpid)
    monkeypatch.setattr(
        ReleaseLaw,
        "draw",
        lambda law, value: (
            seen.append(b"".join(map(np.ndarray.tobytes, value if isinstance(value, tuple) else (value,))))
            or draw(law, value)
        ),
    )
    ledger = rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.0))
    array = fragile(records(name), tmp_path / "killed")
    release = rd.private_mean(array, BALLS[name], rd.GDP(0.5), mechanism="wrapped-gaussian", ledger=ledger)
    assert (tmp_path / "killed").exists()
    assert seen == [expected[name]]
    assert [entry.status for entry in ledger.history()] == ["released"]
    assert release.n == N
    client.wait_for_workers(2, timeout=60)
    assert client.run(os.getpid) != pids


def slowly(block, start):
    time.sleep(0.05)


def test_an_interrupt_calls_the_rest_off(client):
    def interrupt(done, total):
        raise KeyboardInterrupt

    array = da.zeros((2**14 * 60, 2), chunks=(2**14, 2))
    with reporting(interrupt), pytest.raises(KeyboardInterrupt):
        sources.source_of(array).map(slowly)
    until = time.monotonic() + 20
    while client.processing() and any(client.processing().values()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(client.processing().values())
    assert time.monotonic() < until


def test_an_interrupted_release_is_counted_once_and_leaves_nothing(tmp_path):
    """The reservation came first: nobody can tell what was seen before the interrupt."""
    np.save(tmp_path / "X.npy", records("affine", 500))
    ledger, out = tmp_path / "ledger.db", tmp_path / "mean.npy"

    def interrupt(*_):
        raise KeyboardInterrupt

    line = f"mean {tmp_path}/X.npy --space spd-affine --center identity --radius 1.5 --mu 0.5 --ledger {ledger} --budget-mu 1 --out {out}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources.ArraySource, "_parts", interrupt)
        assert CliRunner().invoke(app, line.split()).exit_code == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "ledger.db"]
    assert [entry.status for entry in rd.Ledger(ledger).history()] == ["reserved"]


INTERRUPTED = """
import os, signal
from riemdp.cli import main
from {module} import {owner} as owner
original = owner.{name}
def interrupted(*arguments, **options):
    os.killpg(0, signal.SIGINT)  # as a terminal does: the workers too
    return original(*arguments, **options)
owner.{name} = interrupted
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (("distributed", "Client", "_start"), "nothing was released or spent."),
        (
            ("riemdp.io.sources", "DaskSource", "_parts"),
            "nothing was released; (mu = 0.5)-Gaussian differential privacy was reserved, entry 1 of {}, and stays spent.",
        ),
    ],
)
def test_ctrl_c_with_workers_is_one_line(tmp_path, place, says):
    """While they start, and while they work: no worker hears it."""
    np.save(tmp_path / "X.npy", records("affine", 500))
    module, owner, name = place
    (tmp_path / "run.py").write_text(INTERRUPTED.format(module=module, owner=owner, name=name))
    line = "mean X.npy --space spd-affine --center identity --radius 1.5 --mu 0.5 --ledger l.db --budget-mu 1 --workers 2 --out mean.npy"
    done = subprocess.run(
        [sys.executable, "run.py", *line.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=300,
        check=False,
    )
    new = "riemdp: new ledger l.db, nothing before this is counted.\n" if "reserved" in says else ""
    assert (done.returncode, done.stderr) == (130, f"{new}riemdp: interrupted: {says.format(tmp_path / 'l.db')}\n")
    assert not (tmp_path / "mean.npy").exists()


# --- the command line ----------------------------------------------------------------------------------------------

MEAN = "mean X.npy --space spd-affine --center identity --radius 1.5 --mu 0.5"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", records("affine", 2_000))
    return tmp_path


def run(line):
    return CliRunner().invoke(app, line.split())


def test_a_mean_and_a_check_by_a_cluster_that_runs_already(here, client):
    ledger = "--ledger ledger.db --budget-mu 1 --out mean.json"
    result = run(f"{MEAN} {ledger} --scheduler {client.scheduler.address}")
    assert result.exit_code == 0, result.output
    assert rd.Release.load("mean.json").n == 2_000
    assert [entry.status for entry in rd.Ledger("ledger.db").history()] == ["released"]
    look = "check X.npy --space spd-affine --center identity --radius 1.5 --json"
    assert run(f"{look} --scheduler {client.scheduler.address}").stdout == run(look).stdout != ""
    assert client.run(os.getpid)  # still there


def test_a_mean_by_processes_of_this_machine(here):
    result = run(f"{MEAN} --workers 1 --json")
    assert result.exit_code == 0, result.output
    assert '"n": 2000' in result.stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--workers 0", "--workers"),
        ("--workers two", "--workers"),
        ("--workers 2 --scheduler tcp://127.0.0.1:1", "pass one of them"),
        ("--scheduler tcp://127.0.0.1:1", "no scheduler answers there"),
        ("--scheduler nonsense://x", "no scheduler answers there"),
        ("--scheduler ''", "no scheduler answers there"),
        ("--workers 2 --mechanism kng", "kng"),
    ],
)
def test_wrong_workers(here, line, says, monkeypatch):
    monkeypatch.setattr(cli_workers, "PATIENCE", 0.5)
    result = run(f"{MEAN} --ledger ledger.db --budget-mu 1 --out mean.npy {line}")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    assert says in result.stderr
    assert [path.name for path in here.iterdir()] == ["X.npy"]


def test_workers_of_other_software_are_refused(here, client, monkeypatch):
    monkeypatch.setattr(cli_workers, "_version", lambda name: "0.0")  # here; there it is as it is
    result = run(f"{MEAN} --scheduler {client.scheduler.address}")
    assert result.exit_code == 2
    assert f"has riemdp {rd.__version__}, but here it is 0.0: install the same one" in result.stderr


def test_a_task_refuses_to_run_in_another_version():
    with pytest.raises(rd.InputError, match="a worker has riemdp"):
        sources._run_chunk(sources.Hidden(np.zeros((2, 2))), slowly, 0, "0.0")


@pytest.mark.parametrize("missing", ["distributed", "dask.array"])
@pytest.mark.parametrize("option", ["--workers 2", "--scheduler tcp://127.0.0.1:8786"])
def test_without_the_extra_one_sentence_says_how_to_install_it(here, option, missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    result = run(f"{MEAN} {option}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert (
        result.stderr
        == f'riemdp: {option.split()[0]} needs Dask: install it with pip install ".[dask]" in a clone of riemdp.\n'
    )


# --- descriptors and estimators ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "features"), [((7, 12, 13), "tuzel"), ((7, 12, 13), "five"), ((7, 12, 13, 3), "tuzel")]
)
def test_descriptors_of_a_dask_array_are_one_too(shape, features):
    images = np.random.default_rng(0).random(shape)
    lazy = rd.covariance_descriptors(da.from_array(images, chunks=(3, 5, 13, *shape[3:])), features=features)
    whole = rd.covariance_descriptors(images, features=features)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == whole.shape
    assert np.array_equal(lazy.compute(), whole)
    images[5] = 2.0
    with pytest.raises(rd.InputError, match=r"images\[5\] has values outside"):
        rd.covariance_descriptors(da.from_array(images, chunks=(3, 5, 13, *shape[3:]))).compute()
    with pytest.raises(rd.InputError, match="images has shape"):
        rd.covariance_descriptors(da.zeros((2, 3)))


def test_an_estimator_takes_a_dask_array():
    array = da.from_array(records("affine", 500), chunks=(200, 3, 3))
    fitted = rd.PrivateFrechetMean(ball=BALLS["affine"], guarantee=rd.GDP(1.0)).fit(array)
    assert (fitted.n_features_in_, fitted.release_.n, fitted.mean_.shape) == (3, 500, (3, 3))
    with pytest.raises(rd.InputError, match=r"X has shape \(9,\)"):
        rd.PrivateFrechetMean(ball=BALLS["affine"], guarantee=rd.GDP(1.0)).fit(da.zeros(9))


# --- people and classes on a cluster -----------------------------------------------------------------------------


def test_a_cluster_sums_people_whose_records_lie_in_any_chunk(client):
    X, ball = records("affine", 3000), BALLS["affine"]
    who = np.random.default_rng(0).integers(500, size=len(X))
    far = Bounded(da.from_array(X, chunks=(700, 3, 3)), ball, who)
    near = Bounded(X, ball, who)
    assert far.n == near.n == len(np.unique(who))
    assert far.coordinate_sum() == near.coordinate_sum()


@pytest.mark.parametrize("people", [None, 2000])
def test_a_classifier_learns_on_a_cluster_what_it_learns_here(client, people, monkeypatch):
    monkeypatch.setattr(bounded, "SAMPLE", 2**9)  # so that labels travel to the chunks
    X, rng = records("affine", 6000), np.random.default_rng(1)
    y, who = np.where(X[:, 0, 0] > 1, "thick", "thin"), None if people is None else rng.integers(people, size=6000)
    weights = []
    for given in (X, da.from_array(X, chunks=(2500, 3, 3))):
        model = rd.PrivateLogisticRegression(
            ball=BALLS["affine"], guarantee=rd.GDP(1.0), classes=["thick", "thin"], steps=4
        )
        with planted.system_randomness(seed=2):
            weights.append(model.fit(given, y, groups=who).release_.weights)
    assert np.array_equal(*weights)
