"""The public ball, and the per-record map into it: exact, total, silent, and blind to all other records."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riemdp as rd
from manifolds.examples import SPACES, isometry
from riemdp.cli.releasing import Records
from riemdp.mechanisms.gradient import Field
from riemdp.privacy import bounded
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.class_means import Labelled

ONE_OF_EACH = [
    rd.Euclidean(2),
    rd.Sphere(3, curvature=4.0),
    rd.Hyperbolic(2, curvature=-0.5),
    rd.SPDAffine(3),
    rd.SPDLogEuclidean(3),
    rd.KendallShapes(5),
    rd.Product(rd.SPDAffine(2), rd.KendallShapes(4), rd.Euclidean(1)),
]
spaces = pytest.mark.parametrize("space", ONE_OF_EACH, ids=repr)
all_spaces = pytest.mark.parametrize("space", SPACES, ids=repr)

SIZES = [0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-8, 1e8, 1e154, 1e300, 1.7e308, np.inf, -np.inf, np.nan]


def some_ball(space, seed=3, share=0.7):
    """A ball whose centre is not the origin."""
    center = space.random_point(1, seed)[0]
    return rd.Ball(space, center, share * min(space.uniqueness_radius, 1.0))


def wild_records(space, seed=0):
    """Points, and everything that is none: of any size, of any sign, with holes."""
    rng = np.random.default_rng(seed)
    points = space.random_point(3, rng)
    with np.errstate(all="ignore"):
        scaled = [size * points for size in SIZES]
    flat = [np.full_like(points[:1], size) for size in SIZES]
    holes = np.where(rng.random((3, *space.point_shape)) < 0.3, rng.choice(SIZES, points.shape), points)
    return np.concatenate([*scaled, *flat, holes, rng.standard_normal((5, *space.point_shape))])


def coordinates(X, ball):
    return Bounded(X, ball)._coordinates.all()


def in_ball(coords, radius):
    """In exact arithmetic."""
    return all(sum(Fraction(c) ** 2 for c in row) <= Fraction(radius) ** 2 for row in coords.tolist())


# --- the ball ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "center", "radius", "word"),
    [
        ("sphere", [0, 0, 1], 1.0, "space"),
        (rd.Sphere(2), [0, 0, 1], 0.0, "radius"),
        (rd.Sphere(2), [0, 0, 1], -1.0, "radius"),
        (rd.Sphere(2), [0, 0, 1], np.nan, "radius"),
        (rd.Euclidean(1), [0], np.inf, "radius"),
        (rd.Euclidean(1), [0], 1e-200, "radius"),
        (rd.Euclidean(1), [0], 1e200, "radius"),
        (rd.Euclidean(1), [0], "1", "radius"),
        (rd.Euclidean(1), [0], True, "radius"),
        (rd.Sphere(2), [0, 0, 1], np.pi / 2, "radius"),
        (rd.Sphere(2, curvature=4.0), [0, 0, 0.5], np.pi / 4, "radius"),
        (rd.KendallShapes(4), rd.KendallShapes(4).origin, np.pi / 4, "radius"),
        (rd.Product(rd.Euclidean(1), rd.Sphere(1)), [0, 0, 1], 1.6, "radius"),
        (rd.Sphere(2), [0, 0, 2], 0.1, "center"),
        (rd.Sphere(2), [0, 0], 0.1, "center"),
        (rd.Sphere(2), [[0, 0, 1]], 0.1, "center"),
        (rd.Sphere(2), [0, 0, np.nan], 0.1, "center"),
        (rd.Sphere(2), "pole", 0.1, "center"),
        (rd.Sphere(2), None, 0.1, "center"),
        (rd.SPDAffine(2), -np.eye(2), 0.1, "center"),
        (rd.SPDAffine(2), [[1, 0.5], [0, 1]], 0.1, "center"),
        (rd.SPDAffine(2), 1j * np.eye(2), 0.1, "center"),
        (rd.Hyperbolic(2), [0, 0, 1], 0.1, "center"),
        (rd.KendallShapes(3), np.ones((3, 2)), 0.1, "center"),
    ],
)
def test_a_ball_that_is_none_is_refused(space, center, radius, word):
    with pytest.raises(rd.InputError, match=word):
        rd.Ball(space, center, radius)


def test_center_and_radius_have_no_default():
    with pytest.raises(TypeError):
        rd.Ball(rd.Sphere(2))


def test_the_center_is_a_copy_that_cannot_be_changed():
    center = np.array([0.0, 0.0, 1.0])
    ball = rd.Ball(rd.Sphere(2), center, 0.1)
    center[:] = 7
    assert ball.center.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        ball.center[0] = 1


@pytest.mark.parametrize("kind", [rd.SPDAffine, rd.SPDLogEuclidean])
@pytest.mark.parametrize(("low", "high"), [(1e-3, 10.0), (1e-300, 1e300), (5e-324, 1.7e308), (2.0, 2.0 + 1e-15)])
def test_eigenvalue_bounds_hold_their_spectra(kind, low, high):
    """Diagonal matrices commute: rho = |log a - log c| in both metrics. The corner is the farthest spectrum."""
    ball = rd.Ball.from_eigenvalue_bounds(kind(3), low, high)
    with mpmath.workdps(40):
        middle = mpmath.log(ball.center[0, 0])
        farthest = mpmath.sqrt(3) * max(mpmath.log(high) - middle, middle - mpmath.log(low))
        assert farthest <= ball.radius <= farthest * (1 + 1e-9) + 1e-11
    assert np.array_equal(ball.center, ball.center[0, 0] * np.eye(3))


@pytest.mark.parametrize(
    ("space", "low", "high", "word"),
    [
        (rd.Sphere(2), 0.1, 1.0, "space"),
        (rd.SPDAffine(2), 0.0, 1.0, "low"),
        (rd.SPDAffine(2), -1.0, 1.0, "low"),
        (rd.SPDAffine(2), 2.0, 1.0, "low"),
        (rd.SPDAffine(2), 1.0, 1.0, "low"),
        (rd.SPDAffine(2), np.nan, 1.0, "low"),
        (rd.SPDAffine(2), 0.1, np.inf, "high"),
        (rd.SPDAffine(2), 0.1, "1", "high"),
    ],
)
def test_wrong_eigenvalue_bounds_are_refused(space, low, high, word):
    with pytest.raises(rd.InputError, match=word):
        rd.Ball.from_eigenvalue_bounds(space, low, high)


@all_spaces
def test_the_motion_between_origin_and_centre_is_an_isometry(space):
    """Equal coordinates at the origin and at the centre: all distances are equal too."""
    ball = some_ball(space)
    coords = space._random_coords(6, np.random.default_rng(1))
    around_origin, around_centre = ball.at_origin(coords), space.exp_coords(coords, ball.inner_center)
    before = space.distance(around_origin[:, None], around_origin[None])
    after = space.distance(around_centre[:, None], around_centre[None])
    assert after == pytest.approx(before, abs=1e-7)


@all_spaces
def test_coordinates_of_the_footpoint_lead_to_it(space):
    ball = some_ball(space)
    footpoint = space.random_point(1, 9)[0]
    coords = ball.footpoint_coords(footpoint)
    if space.is_flat:
        assert not coords.any()
    else:
        reached = space.write(space.exp_coords(coords, ball.inner_center), ball.center)
        assert space.dist(reached, footpoint) == pytest.approx(0, abs=1e-7)
    assert not ball.footpoint_coords(None).any()


@pytest.mark.parametrize(
    ("space", "footpoint"),
    [
        (rd.Euclidean(2), [np.nan, 0.0]),
        (rd.Euclidean(2), [0.0, 0.0, 0.0]),
        (rd.Sphere(2), [0.0, 0.0, 2.0]),
        (rd.Sphere(2), [[0.0, 0.0, 1.0]]),
        (rd.Sphere(2), "pole"),
        (rd.SPDAffine(2), -np.eye(2)),
        (rd.SPDAffine(2), 1e300 * (np.eye(2) + 0.5)),
    ],
)
def test_a_footpoint_that_is_none_is_refused(space, footpoint):
    ball = rd.Ball(space, space.origin if space != rd.SPDAffine(2) else 1e-300 * np.eye(2), 0.1)
    with pytest.raises(rd.InputError, match="footpoint"):
        ball.footpoint_coords(footpoint)


# --- the map into it ----------------------------------------------------------------------------------


@all_spaces
@given(seed=st.integers(0, 2**32 - 1))
def test_whatever_a_record_is_it_ends_in_the_ball(space, seed):
    ball = some_ball(space, seed % 7)
    coords = coordinates(wild_records(space, seed), ball)
    assert coords.dtype == np.float64
    assert in_ball(coords, ball.radius)


@all_spaces
@given(share=st.floats(0.999, 1.001), seed=st.integers(0, 2**32 - 1))
def test_records_at_the_rim_end_in_the_ball_next_to_where_they_were(space, share, seed):
    ball = some_ball(space, seed % 7)
    aim = np.random.default_rng(seed).standard_normal((5, space.dim))
    aim *= share * ball.radius / np.linalg.norm(aim, axis=1, keepdims=True)
    coords = coordinates(space.write(space.exp_coords(aim, ball.inner_center), ball.center), ball)
    assert in_ball(coords, ball.radius)
    assert coords == pytest.approx(aim * min(1.0, 1 / share), abs=1e-9)


@pytest.mark.parametrize("d", [2, 8_184, 20_000, 2**18])
@pytest.mark.parametrize("large", [1, 32, 64])
def test_a_record_of_many_coordinates_is_inside_whatever_the_order_of_its_sum(d, large):
    """After a few large squares each small one is lost: a sum of many, in the order in which they come, is too short."""
    ball = rd.Ball(rd.Euclidean(d), np.zeros(d), 1.0)
    row = np.full(d, np.sqrt(0.499 * 2.0**-52))
    row[:large] = 1.0
    coords = coordinates(np.stack([row, row[::-1], np.full(d, 1.0)]), ball)
    for steps in np.ldexp(coords, -ball.grid).tolist():  # whole numbers, whose squares Python adds exactly
        assert (1 - 2.0**-30) * 4.0**-ball.grid < sum(int(q) ** 2 for q in steps) <= 4**-ball.grid


@spaces
def test_a_record_inside_is_its_log_and_one_outside_moves_along_the_geodesic(space):
    ball = some_ball(space, share=0.4)
    aim = np.zeros((3, space.dim))
    aim[:, 0] = 0.5 * ball.radius, 1.5 * ball.radius, -2.0 * ball.radius
    X = space.write(space.exp_coords(aim, ball.inner_center), ball.center)
    coords = coordinates(X, ball)
    log, step = space.log_coords(space.to_points(space.read(X, "X")), ball.inner_center)[0], 2.0**ball.grid
    assert coords[0] == pytest.approx(log, abs=1.01 * step)
    assert np.array_equal(coords / step, np.trunc(coords / step))
    assert coords[1:, 0] == pytest.approx([ball.radius, -ball.radius])
    assert coords[1:, 1:] == pytest.approx(0, abs=1e-9)


def unusable():
    singular, indefinite = np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1.0, -1e-3])
    skew = np.array([[1.0, 5.0, 0.0], [5.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # its symmetric part is indefinite
    for kind in (rd.SPDAffine, rd.SPDLogEuclidean):
        yield from ((kind(3), matrix) for matrix in (singular, indefinite, skew, np.zeros((3, 3)), -np.eye(3)))
    yield rd.Sphere(2), np.zeros(3)
    yield rd.KendallShapes(4), np.zeros((4, 2))
    yield rd.KendallShapes(4), np.full((4, 2), 1e8)  # landmarks that all coincide
    yield rd.Product(rd.Euclidean(1), rd.Sphere(1)), np.array([5.0, 0.0, 0.0])  # one bad part spoils the record
    for space in ONE_OF_EACH:
        hole = space.random_point(1, 0)[0]
        hole.flat[-1] = np.nan
        yield space, hole
        yield space, np.full(space.point_shape, np.inf)


@pytest.mark.parametrize(("space", "record"), list(unusable()))
def test_an_unusable_record_becomes_the_centre(space, record):
    assert not coordinates(record[None], some_ball(space)).any()


def test_a_nonsymmetric_record_counts_as_its_symmetric_part():
    ball = rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0)
    lopsided, even = np.array([[[1.0, 0.3], [0.1, 1.0]]]), np.array([[[1.0, 0.2], [0.2, 1.0]]])
    assert np.array_equal(coordinates(lopsided, ball), coordinates(even, ball))


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("k", [2, 3, 5, 10, 24])
def test_a_matrix_that_overflows_at_the_centre_stops_nobody(size, k):
    """Whitened by such a centre its entries are infinite, and LAPACK refuses the whole batch."""
    space = rd.SPDAffine(k)
    good = space.random_point(3, 0) / size
    ball = rd.Ball(space, np.eye(k) / size, 0.5)
    wild = np.array([good[0], size * (np.eye(k) + 0.5), good[1], good[2]])
    coords = coordinates(wild, ball)
    assert in_ball(coords, ball.radius)
    assert np.array_equal(coords[[0, 2, 3]], coordinates(wild[[0, 0, 2, 3]], ball)[[0, 2, 3]])


# --- one record at a time -------------------------------------------------------------------------------


@spaces
@pytest.mark.parametrize("n", [2, 40])
def test_no_record_has_any_effect_on_another(space, n):
    """Bit for bit; every wild record takes every place once or so."""
    ball, X = some_ball(space), space.random_point(n, 5)
    before = coordinates(X, ball)
    for i, record in enumerate(wild_records(space, 6)):
        changed = X.copy()
        changed[i % n] = record
        assert np.array_equal(np.delete(coordinates(changed, ball), i % n, 0), np.delete(before, i % n, 0))


@pytest.mark.parametrize("space", [rd.SPDAffine(5), rd.SPDLogEuclidean(5), rd.SPDAffine(2), rd.Sphere(2)], ids=repr)
def test_nor_where_compiled_code_does_the_work(space):
    """n k^3 >= 2^18, and more than one block of rows; the points around the origin too."""
    n, ball = 9000, some_ball(space)
    X = space.random_point(n, 7)
    wild = wild_records(space, 8)
    where = np.random.default_rng(9).choice(n, len(wild), replace=False)
    changed = X.copy()
    changed[where] = wild
    before, after = Bounded(X, ball), Bounded(changed, ball)
    for rows in ("_coordinates", "_around_origin"):
        assert np.array_equal(*(np.delete(getattr(records, rows).all(), where, 0) for records in (after, before)))
    assert in_ball(after._coordinates.all()[where], ball.radius)


@all_spaces
def test_a_record_at_which_linear_algebra_gives_up_is_unusable_and_stops_nobody(space, monkeypatch):
    X, ball, known = space.random_point(7, 2), some_ball(space), type(space).record_log
    expected = coordinates(X, ball)
    expected[2] = 0.0

    def fussy(self, raw, base):
        if self == space and any(np.array_equal(one, read) for one in raw):
            raise np.linalg.LinAlgError
        return known(self, raw, base)

    read = np.ascontiguousarray(space.read(X[2:3], "X"))[0]
    monkeypatch.setattr(type(space), "record_log", fussy)
    np.testing.assert_array_equal(coordinates(X, ball), expected)
    np.testing.assert_array_equal(coordinates(np.concatenate([X[2:3], X[2:3]]), ball), 0.0)


def test_blocks_and_threads_do_not_wait_for_each_other():
    """Two blocks of records, each with work for several threads, on a machine of two: once a deadlock."""
    space = rd.SPDAffine(5)
    ball, X = some_ball(space), space.random_point(9000, 1)
    worker = threading.Thread(target=lambda: Bounded(X, ball).model(np.eye(5)), daemon=True)
    worker.start()
    worker.join(timeout=60)
    assert not worker.is_alive()


# --- what it reads and shows ------------------------------------------------------------------------------


def test_every_form_of_the_same_numbers_gives_the_same_records(tmp_path):
    ball = rd.Ball(rd.Euclidean(2), [0.5, 0.5], 10.0)
    X = np.array([[1, 2], [3, 4], [500, 600]])
    np.save(tmp_path / "x.npy", X.astype(float))
    forms = [
        X.tolist(),
        list(X),
        X.astype(np.int16),
        X.astype(np.uint64),
        X.astype(np.float16),
        X.astype(np.float32),
        X.astype(np.longdouble),
        np.asfortranarray(X),
        X.astype(float)[::-1][::-1],
        np.load(tmp_path / "x.npy", mmap_mode="r"),
    ]
    expected = coordinates(X.astype(float), ball)
    assert all(np.array_equal(coordinates(form, ball), expected) for form in forms)


def test_a_number_beyond_float64_is_a_record_like_any_other():
    beyond = np.array([["1e4000"], ["2"]], dtype=object).astype(np.longdouble)
    coords = coordinates(beyond, rd.Ball(rd.Euclidean(1), [1.0], 5.0))
    assert coords.tolist() == [[0.0], [1.0]]


def test_landmarks_may_be_complex():
    space = rd.KendallShapes(4)
    X, ball = space.random_point(5, 0), some_ball(space)
    assert np.array_equal(coordinates(X @ [1, 1j], ball), coordinates(X, ball))


@pytest.mark.parametrize(
    ("X", "word"),
    [
        (np.ones(3), "shape"),
        (np.ones((2, 4)), "shape"),
        (np.ones((2, 1, 3)), "shape"),
        (np.ones((0, 3)), "empty"),
        ([], "shape"),
        (1j * np.ones((2, 3)), "complex"),
        (np.array([["a", "b", "c"]]), "dtype"),
        (np.ones((2, 3), dtype=bool), "dtype"),
        (None, "dtype"),
        ({"x": 1}, "dtype"),
    ],
)
def test_structure_is_public_and_must_fit(X, word):
    with pytest.raises(rd.InputError, match=f"X.*{word}"):
        Bounded(X, rd.Ball(rd.Sphere(2), [0, 0, 1], 0.5))


def test_only_a_ball_bounds():
    with pytest.raises(rd.InputError, match="ball"):
        Bounded(np.ones((1, 1)), 3.0)


def test_what_holds_private_values_shows_none():
    ball, secret = rd.Ball(rd.Euclidean(1), [0.0], 9000.0), np.array([[4711.0]])
    records = Bounded(secret, ball)
    holders = [records.moment_sums("full"), Labelled(records, np.array([4711])), Field(secret, np.zeros(1)), Records(secret, ball, ["4711"])]
    assert not any("4711" in repr(one) for one in holders)
    assert str(records.coordinate_sum()[0]) not in repr(holders[0])


@spaces
def test_nothing_is_shown_said_or_logged(space, capfd, caplog, recwarn):
    records = Bounded(wild_records(space), some_ball(space))
    records.coordinate_mean()
    assert repr(records) == str(records) == f"Bounded(n={records.n}, {space!r})"
    assert [name for name in dir(records) if not name.startswith("_")] == [
        "ball", "bent_moment_sums", "can_gather", "certify", "closed_form", "coarse_moment_sums", "coordinate_mean", "coordinate_sum", "factors", "given", "mapped",
        "mapped_points", "mean_of", "model", "moment_sums", "moved", "n",
        "outside", "people", "sample", "space", "start",
    ]  # fmt: skip
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not recwarn


def test_nothing_is_read_before_it_is_needed(monkeypatch):
    monkeypatch.setattr(bounded, "_to_ball", lambda *_: pytest.fail("read"))
    assert Bounded(np.ones((3, 1)), rd.Ball(rd.Euclidean(1), [0.0], 1.0)).n == 3


@spaces
def test_the_mean_of_coordinates_is_within_its_rounding(space):
    """Against exact rational arithmetic."""
    ball, X = some_ball(space), space.random_point(300, 11)
    mean = Bounded(X, ball).coordinate_mean()
    columns = coordinates(X, ball).T.tolist()
    exact = [sum(map(Fraction, column)) / 300 for column in columns]
    error = math.sqrt(sum((Fraction(m) - e) ** 2 for m, e in zip(mean.point.tolist(), exact, strict=True)))
    assert error <= mean.rounding <= 64 * 2.0**-53 * ball.radius


@spaces
def test_records_move_with_the_isometries_of_the_space(space):
    """The map into the ball does not depend on where the ball is: lengths and distances stay."""
    g = isometry(space, np.random.default_rng(2))
    ball, X = some_ball(space, share=0.4), space.random_point(8, 12)
    moved = rd.Ball(space, space.project(g(ball.center[None]))[0], ball.radius)
    here = ball.at_origin(coordinates(X, ball))
    there = ball.at_origin(coordinates(space.project(g(X)), moved))
    dist = space.distance
    assert dist(there[:, None], there[None]) == pytest.approx(dist(here[:, None], here[None]), abs=1e-7)


@pytest.mark.parametrize("frozen", [False, True])
def test_records_that_a_space_hands_back_as_they_are_are_not_written_over(monkeypatch, frozen):
    """Coordinates are shortened and rounded in their place: so not where the caller's own records are."""
    X, ball = np.random.default_rng(0).standard_normal((9, 3)), rd.Ball(rd.Euclidean(3), np.zeros(3), 0.5)
    before, usual = X.copy(), Bounded(X, ball).coordinate_sum()
    X.flags.writeable = not frozen
    monkeypatch.setattr(rd.Euclidean, "record_log", lambda _, raw, base: (raw, np.full(len(raw), True)))
    assert Bounded(X, ball).coordinate_sum() == usual
    assert np.array_equal(X, before)
