"""Sums over private records: the same bits wherever the records are, exact where that is claimed, in little memory."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riemdp as rd
from manifolds.examples import with_others
from riemdp.balls import BITS
from riemdp.io import rows, sources
from riemdp.kernels.spectral import kernels_for
from riemdp.manifolds.local_model import Part, merged
from riemdp.privacy import bounded
from riemdp.privacy.bounded import Bounded, mean_of_sum
from riemdp.statistics import intrinsic
from riemdp.statistics.frechet import error_bound
from riemdp.statistics.intrinsic import IntrinsicMean, TangentMean
from riemdp.statistics.query import Query

CURVED = [
    rd.Sphere(2),
    rd.Hyperbolic(2),
    rd.SPDAffine(2),
    rd.SPDAffine(9),
    rd.KendallShapes(5),
    rd.Product(rd.SPDAffine(2), rd.Sphere(3), rd.Euclidean(1), rd.SPDLogEuclidean(2)),  # the last: solved by factors
]
SPACES = [rd.Euclidean(3), rd.SPDLogEuclidean(3), *CURVED]
spaces = pytest.mark.parametrize("space", SPACES, ids=repr)
curved = pytest.mark.parametrize("space", CURVED, ids=repr)


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks, and more records than the sample, from a few hundred records."""
    monkeypatch.setattr(sources, "MOST_ROWS", 64)
    monkeypatch.setattr(bounded, "SAMPLE", 100)


def some_ball(space):
    center = space.random_point(1, 3)[0]
    return rd.Ball(space, center, 0.6 * min(space.uniqueness_radius, 2.0))


def values(X, ball):
    """Everything that a release may compute from the records."""
    records, foot = Bounded(X, ball), np.zeros(ball.space.dim)
    with kernels_for(records.n):
        means = [TangentMean().value(records, foot), IntrinsicMean().value(records, foot)]
    counts = records.outside([0.3 * ball.radius, 0.8 * ball.radius])
    return np.concatenate([*means, records.mean_of(np.sin), counts])


# --- the same bits everywhere --------------------------------------------------------------------------------


@spaces
@pytest.mark.usefixtures("small_blocks")
def test_bits_do_not_depend_on_form_threads_or_what_is_kept(space, tmp_path, monkeypatch):
    X, ball = space.random_point(700, 1), some_ball(space)
    expected = values(X, ball)
    np.save(tmp_path / "X.npy", X)
    forms = [np.load(tmp_path / "X.npy", mmap_mode="r"), list(X), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]]
    assert all(np.array_equal(values(form, ball), expected) for form in forms)
    monkeypatch.setenv("RIEMDP_NUM_THREADS", "1")
    assert np.array_equal(values(X, ball), expected)
    monkeypatch.setattr(rows, "MOST_KEPT", 0)
    assert np.array_equal(values(X, ball), expected)


@spaces
@pytest.mark.usefixtures("small_blocks")
def test_bits_do_not_depend_on_the_chunks_of_dask(space):
    da = pytest.importorskip("dask.array")
    X, ball = space.random_point(300, 1), some_ball(space)
    expected = values(X, ball)
    for chunks in (7, 64, 65, 300):
        assert np.array_equal(values(da.from_array(X, chunks=(chunks, *X.shape[1:])), ball), expected)


@pytest.mark.parametrize("space", [rd.Euclidean(2), rd.SPDLogEuclidean(2), rd.Sphere(2)], ids=repr)
@pytest.mark.parametrize("kind", ["f4", "f8", "i2"])
def test_bits_do_not_depend_on_where_numbers_are_widened(space, kind):
    """2^15 records: two blocks, which are widened one by one, or all at once before."""
    X = (100 * space.random_point(2**14 + 100, 1)).astype(kind)
    ball = some_ball(space)
    assert np.array_equal(Bounded(X, ball).coordinate_mean().point, Bounded(X.astype(float), ball).coordinate_mean().point)


@spaces
def test_the_tangent_mean_does_not_depend_on_the_order(space):
    """Nor on the place of a record in its block, from which a kernel's last bits might follow."""
    X, ball = space.random_point(2**14 + 500, 1), some_ball(space)
    shuffled = X[np.random.default_rng(0).permutation(len(X))]
    assert np.array_equal(Bounded(X, ball).coordinate_mean().point, Bounded(shuffled, ball).coordinate_mean().point)


LARGER = [rd.HPDAffine(5), rd.HPDLogEuclidean(6), rd.SPDAffine(12), rd.SPDLogCholesky(6), rd.Correlations(4), rd.Grassmann(6, 2), rd.KendallShapes(30)]


@pytest.mark.parametrize("space", with_others([*SPACES, *LARGER]), ids=repr)
@pytest.mark.parametrize("n", [10, 10**6])
def test_a_record_has_the_same_bits_at_any_place_of_a_block(space, n):
    """Before they are cut to the grid, which hides most of it; with groups, the place depends on others' numbers."""
    center = space.read(space.random_point(1, 3)[0], "center")
    X = space.read(space.random_point(40, 1), "X")
    X[5], X[9:13] = center, X[20]
    coords = np.random.default_rng(2).standard_normal((40, space.dim)) / 9
    turns = [(lambda x: space.record_log(x, center)[0], X), (lambda x: space.log_coords(x, center), X), (lambda v: space.exp_coords(v, center), coords)]
    with kernels_for(n), np.errstate(all="ignore"):
        for turn, values in turns:
            whole = turn(values)
            for start, stop in [*((i, 40) for i in range(1, 12)), (37, 40), (38, 40), (0, 2), (0, 3), (3, 29)]:
                assert np.array_equal(turn(values[start:stop]), whole[start:stop], equal_nan=True)


LOADED = """
import numpy as np, riemdp as rd
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.query import Query
space = rd.SPDAffine(6)
X, ball, guarantee = space.random_point(300, 0), rd.Ball(space, np.eye(6), 1.0), rd.PureDP(1.0)
query = Query(ball, 300, guarantee)
value = lambda: b"".join(part.tobytes() for part in query.law(query.plan()).value(Bounded(X, ball)))
before = value()
import riemdp.kernels.symmetric
print(before == value())
"""


def test_bits_do_not_depend_on_what_is_loaded():
    """300 matrices of size 6 are too few to load the compiled code for, but worth using it elsewhere if it is there."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "True"


@pytest.mark.usefixtures("small_blocks")
def test_adaptation_has_the_same_bits_out_of_core(tmp_path, monkeypatch):
    space = rd.SPDAffine(2)
    X = space.exp(space.from_coordinates(0.05 * space._random_coords(2000, np.random.default_rng(1)), np.eye(2)), np.eye(2))
    ball, guarantee = rd.Ball(space, np.eye(2), 2.0), rd.GDP(2.0)
    expected = rd.simulate(X, ball, guarantee, size=3, seed=5, adapt=True)
    far = rd.simulate(X, ball, guarantee, size=3, seed=5)
    assert space.dist(expected, np.eye(2)).max() < space.dist(far, np.eye(2)).max()  # it does adapt
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr(rows, "MOST_KEPT", 0)
    assert np.array_equal(rd.simulate(np.load(tmp_path / "X.npy", mmap_mode="r"), ball, guarantee, size=3, seed=5, adapt=True), expected)


# --- exact ------------------------------------------------------------------------------------------------------


@given(radius=st.floats(1e-100, 1e100), seed=st.integers(0, 2**32 - 1))
def test_the_grid_shortens_and_is_fine(radius, seed):
    """In exact arithmetic: multiples of 2^e, towards 0, by less than a step of at most 2^-47 of the radius."""
    ball, rng = rd.Ball(rd.Euclidean(3), np.zeros(3), radius), np.random.default_rng(seed)
    raw = rng.standard_normal((6, 3)) * radius * 10.0 ** rng.uniform(-20, 1, (6, 1))
    step = Fraction(2) ** ball.grid
    assert 2 ** (BITS - 1) * step <= Fraction(radius) < 2**BITS * step
    clipped = bounded._clipped(raw, np.full(6, True), radius, 1.0)
    for before, after in zip(clipped.ravel().tolist(), bounded._to_ball(raw, ball).ravel().tolist(), strict=True):
        assert Fraction(after) / step == math.trunc(Fraction(before) / step)


@pytest.mark.parametrize("radius", [1e-100, 0.3, 1.0, 1.5e10, 1e100])
def test_the_largest_sums_are_exact(radius):
    """All records at the rim, in two blocks: the sum in Fractions."""
    n, ball = 2**14 + 3, rd.Ball(rd.Euclidean(1), [0.0], radius)
    records = Bounded(np.full((n, 1), 2 * radius), ball)
    each = Fraction(records._coordinates.all()[0, 0]) / Fraction(2) ** ball.grid
    assert each.denominator == 1
    assert records.coordinate_sum() == [n * each.numerator]
    assert 2**61 < 2**14 * each < 2**62 or radius not in (1.5e10, 1e100)  # close to what 64 bits hold


@given(total=st.integers(-(2**80), 2**80), n=st.integers(1, 2**53), exponent=st.integers(-330, 330))
def test_the_mean_is_the_quotient_rounded_once(total, n, exponent):
    radius = 2.0**exponent
    ball = rd.Ball(rd.Euclidean(1), [0.0], radius)
    exact = total * Fraction(2) ** ball.grid / n
    mean = mean_of_sum([total], n, ball)
    assert mean.point[0] == float(exact)
    if abs(exact) <= radius:
        assert abs(Fraction(mean.point[0]) - exact) <= Fraction(mean.rounding)


def test_the_sensitivity_counts_the_rounding_and_is_attained():
    """Opposite points of the rim; nothing but the clipping margin and the grid lies between."""
    ball = rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0)
    X = np.zeros((1000, 2))
    means = []
    for x in (5.0, -5.0):
        X[0] = x, 0.0
        means.append(Bounded(X, ball).coordinate_mean().point)
    bound = TangentMean().sensitivity(ball, 1000, np.zeros(2))
    assert (1 - 1e-11) * bound <= np.linalg.norm(means[0] - means[1]) <= bound <= (1 + 1e-12) * 2 / 1000


@pytest.mark.parametrize("n", [10, 10**6, 10**11])
def test_rounding_is_a_small_part_of_the_sensitivity(n):
    for radius in (1e-3, 1.0, 41.4):
        ball = rd.Ball(rd.SPDLogEuclidean(9), np.eye(9), radius)
        assert TangentMean().sensitivity(ball, n, np.zeros(45)) <= (1 + 1e-4) * 2 * radius / n


# --- iterative means, by passes -----------------------------------------------------------------------------------


@curved
@pytest.mark.usefixtures("small_blocks")
def test_means_of_many_blocks_are_those_of_all_records_at_once(space, monkeypatch):
    monkeypatch.setattr(intrinsic, "_descend", lambda *_: pytest.fail("Newton's method got lost"))
    ball, X = rd.Ball(space, space.origin, some_ball(space).radius), space.random_point(1500, 2)
    found = IntrinsicMean().value(Bounded(X, ball), np.zeros(space.dim))
    origin = space.read(space.origin, "origin")
    inside = space.write(space.exp_coords(Bounded(X, ball)._coordinates.all(), origin), space.origin)
    exact = space.log_coords(space.read(rd.frechet_mean(inside, space).point, "mean"), origin)
    assert found == pytest.approx(exact, abs=1.1e-3 * IntrinsicMean().sensitivity(ball, 1500, np.zeros(space.dim)))


def counted(monkeypatch):
    """How many passes are made over the blocks."""
    passes, real = [], rows.Rows.each
    monkeypatch.setattr(rows.Rows, "each", lambda self, turn: (passes.append(turn), real(self, turn))[1])
    return passes


@curved
@pytest.mark.usefixtures("small_blocks")
def test_a_sample_steps_well_enough(space, monkeypatch):
    """Its Hessian is off by a tenth or so: a handful of passes gains three decimals beyond the sensitivity."""
    passes, ball = counted(monkeypatch), some_ball(space)
    IntrinsicMean().value(Bounded(space.random_point(3000, 2), ball), np.zeros(space.dim))
    curved_factors = sum(not factor.is_flat for factor in space.factors or [space])
    assert len(passes) <= 9 * curved_factors


def sorted_by_class(n):
    """Nine tenths of the records on one side of a large ball of the sphere, one tenth on the other, in this order."""
    coords = np.zeros((n, 2))
    coords[:, 0] = np.where(np.arange(n) < 0.9 * n, 1.3, -1.3)
    coords[:, 1] = 0.05 * np.random.default_rng(0).standard_normal(n)
    return rd.Sphere(2).exp_coords(coords, rd.Sphere(2).origin), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 1.35)


@pytest.mark.usefixtures("small_blocks")
def test_records_sorted_by_class_are_certified_all_the_same(monkeypatch):
    """Blocks of the smaller class, past the equator as the mean sees it, have no lower bound of their own."""
    monkeypatch.setattr(intrinsic, "_descend", lambda *_: pytest.fail("Newton's method got lost"))
    X, ball = sorted_by_class(1280)
    records = Bounded(X, ball)
    mean = ball.at_origin(IntrinsicMean().value(records, np.zeros(2)))
    parts = records._around_origin.each(lambda points: ball.space.local_model(points, mean))
    assert min(part.convexity for part in parts) == -np.inf
    assert max(part.convexity for part in parts) > 0.5
    assert 0.2 < records.model(mean).convexity < 1
    assert error_bound(records.model(mean)) < 1e-5


@pytest.mark.parametrize("space", CURVED[:-1], ids=repr)
def test_merged_models_are_models_of_the_whole(space):
    points = space.read(space.random_point(500, 4), "points")
    x = space.read(space.random_point(1, 5)[0], "x")
    whole = space.local_model(points, x)
    model = merged([Part.of(points[i:j], space, x) for i, j in ((0, 7), (7, 300), (300, 500))], space.curvature_bounds[1], whole.step)
    assert model.descent == pytest.approx(whole.descent, abs=whole.rounding)
    assert (model.across, model.convexity, model.valid_within, model.farthest) == pytest.approx(
        (whole.across, whole.convexity, whole.valid_within, whole.farthest), rel=1e-12
    )
    assert whole.rounding / 3 < model.rounding <= 1.5 * whole.rounding


@pytest.mark.parametrize("space", CURVED[:-1], ids=repr)
@pytest.mark.parametrize("n", [300, 2**14])
def test_the_rounding_of_merged_models_is_within_the_public_limit(space, n):
    """Of records all over the ball, around points of its rim."""
    origin, radius, rng = space.read(space.origin, "origin"), 0.8 * min(space.uniqueness_radius, 1.5), np.random.default_rng(6)
    coords = rng.standard_normal((n if space.dim < 20 else 300, space.dim))
    coords *= radius / np.linalg.norm(coords, axis=1, keepdims=True)
    points = space.exp_coords(coords, origin)
    part = Part.of(points, space, points[0])
    assert merged([part] * 5, space.curvature_bounds[1], np.asarray).rounding <= space.rounding_limit(radius, len(points))


# --- what needs all records at once --------------------------------------------------------------------------------


def test_a_mechanism_that_needs_all_records_says_so_before_the_budget_is_touched(tmp_path):
    da = pytest.importorskip("dask.array")
    X, ball = rd.Sphere(2).random_point(50, 0), rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    ledger = rd.Ledger(tmp_path / "ledger.db", budget=rd.PureDP(5.0))
    lazy = da.from_array(X)
    for call in (
        lambda: rd.private_mean(lazy, ball, rd.PureDP(1.0), mechanism="kng", ledger=ledger),
        lambda: rd.simulate(lazy, ball, rd.PureDP(1.0), mechanism="kng", size=1, seed=0),
    ):
        with pytest.raises(rd.MechanismError, match="memory"):
            call()
    assert not ledger.history()
    rd.private_mean(X, ball, rd.PureDP(1.0), mechanism="kng", ledger=ledger)
    rd.private_mean(lazy, ball, rd.PureDP(1.0), ledger=ledger)
    assert len(ledger.history()) == 2


def test_tasks_hold_no_records():
    """What is sent to a worker is small."""
    import pickle

    X, ball = rd.SPDAffine(2).random_point(20_000, 0), some_ball(rd.SPDAffine(2))
    records, sizes = Bounded(X, ball), []

    class Spy(sources.ArraySource):
        def map(self, task):
            sizes.append(len(pickle.dumps(task)))
            return super().map(pickle.loads(pickle.dumps(task)))

    records._rows = rows.Rows(Spy(X), records._rows.turns)
    IntrinsicMean().value(records, np.zeros(3))
    records.outside([0.1])
    assert len(sizes) >= 3
    assert max(sizes) < 5000


MEMORY = """
import resource, sys, numpy as np, riemdp as rd
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.intrinsic import TangentMean
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
space = rd.SPDLogEuclidean(2)
ball = rd.Ball(space, np.eye(2), 1.5)
X = np.load(sys.argv[1], mmap_mode="r")
TangentMean().value(Bounded(np.array(X[:100_000]), ball), np.zeros(3))
before = peak()
TangentMean().value(Bounded(X, ball), np.zeros(3))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_memory_does_not_grow_with_the_records(tmp_path):
    """3 million 2 x 2 matrices, 96 MB, from a memory map: less than 30 MB above the peak for a hundred thousand."""
    file = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=float, shape=(3_000_000, 2, 2))
    file[:] = np.eye(2)
    file[:, 0, 0] = np.linspace(0.5, 2.0, len(file))
    file.flush()
    done = subprocess.run([sys.executable, "-c", MEMORY, tmp_path / "X.npy"], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) < 30_000


def test_the_plan_of_a_query_does_not_depend_on_the_source():
    """'auto' takes what needs no gathering."""
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    plans = [Query(ball, 50, rd.PureDP(1.0), can_gather=can).plan() for can in (True, False)]
    assert plans[0] == plans[1]
