"""Private geodesic regression: its moments and their sensitivity, what it finds on every space, and what it refuses.

Draws are seeded where a law is tested; releases of the operating system are compared with bounds that fail by chance
with probability below 1e-6.
"""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import riemdp as rd
from riemdp.io import people
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Seeded
from riemdp.statistics.regression import GeodesicRegression, Round, scaled
from riemdp.statistics.trend import FOR_SQUARES, ROOT_OF_TWO, Numbered, Trend, TrendMoments, moments

SPACES = [
    rd.Euclidean(1), rd.Euclidean(3), rd.SPDAffine(2), rd.SPDLogEuclidean(2), rd.Sphere(2), rd.Hyperbolic(2),
    rd.KendallShapes(4), rd.Rotations(), rd.HPDAffine(2), rd.Correlations(3), rd.Product(rd.Euclidean(1), rd.Sphere(2)),
    rd.SPDLogCholesky(2), rd.HPDLogEuclidean(2), rd.RigidMotions(1.0), rd.Grassmann(4, 2), rd.Torus(3), rd.Simplex(4),
    rd.Hyperbolic(2, model="poincare"),
]  # fmt: skip
BOUNDS = (20.0, 90.0)


def ball_of(space: rd.Space) -> rd.Ball:
    return rd.Ball(space, space.origin, 0.6 * min(space.uniqueness_radius, 3.0))


def from_coords(coords: np.ndarray, base: np.ndarray, space: rd.Space) -> np.ndarray:
    return space.exp(space.from_coordinates(coords, base), base)


class World:
    """Records along a known geodesic, with noise across it."""

    def __init__(self, space: rd.Space, n: int, noise: float = 0.05, seed: int = 0) -> None:
        rng, dim = np.random.default_rng(seed), space.dim
        self.ball, self.space, self.n = ball_of(space), space, n
        self.middle = from_coords(0.2 * self.ball.radius * np.eye(dim)[-1], space.origin, space)
        self.velocity = 0.5 * self.ball.radius * np.eye(dim)[0]  # per unit of s
        self.t = rng.uniform(*BOUNDS, n)
        self.s = (self.t - 55) / 35
        places = self.at(self.s)
        away = noise * self.ball.radius / math.sqrt(dim) * rng.standard_normal((n, dim))
        self.X = np.stack([from_coords(v, p, space) for v, p in zip(away, places, strict=True)])

    def at(self, s: np.ndarray | float) -> np.ndarray:
        return from_coords(np.asarray(s)[..., None] * self.velocity, self.middle, self.space)

    def off(self, fit: rd.Regression) -> np.ndarray:
        """Distances of both ends to where they are."""
        return self.space.dist(fit.predict(np.array(BOUNDS)), self.at(np.array([-1.0, 1.0])))


# --- the moments -------------------------------------------------------------------------------------------------


def test_one_record_moves_the_moments_by_two_roots_of_two_radii_at_most_and_that_is_sharp():
    """An adversarial search over pairs of records: lengths, angles and numbers."""
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(100):
        e, f = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.standard_normal((2, 3000, 2)))
        f = np.where(rng.random((3000, 1)) < 0.5, -e, f)
        e, f = (v * rng.choice([1.0, 1.0, 0.9, 0.5, 0.0], (3000, 1)) for v in (e, f))
        s, u = np.clip(1.5 * rng.standard_normal((2, 3000)), -1, 1)
        u = np.where(rng.random(3000) < 0.4, rng.choice([-1, 1], 3000) * s, u)
        most = max(most, float(np.linalg.norm(moments(e, s, 1.0) - moments(f, u, 1.0), axis=1).max()))
    assert most <= math.sqrt(8) * (1 + 1e-14)
    assert most > math.sqrt(8) * 0.999
    allowed = TrendMoments(vectors_up_to(1.0, 2)).sensitivity(vectors_up_to(1.0, 2), 10, np.zeros(2))
    assert math.sqrt(8) / 10 < allowed < math.sqrt(8) / 10 * (1 + 1e-10)


def test_smaller_weights_would_cost_something():
    """The control of the search: with a square of more weight, or s², pairs are farther apart."""
    e, f = np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]])
    rim, centre = moments(e, np.array([1.0]), 1.0), moments(f, np.array([-1.0]), 1.0)
    stretched = (rim - centre) * np.array([1, 1, 1, 1, 1, 1, FOR_SQUARES / 0.4])
    assert np.linalg.norm(rim - centre) <= math.sqrt(8) < np.linalg.norm(stretched)
    a, b = moments(e, np.array([1.0]), 1.0), moments(-e, np.array([0.0]), 1.0)
    more = (a - b) * np.array([1, 1, 1, 1, 1, 2 / ROOT_OF_TWO, 1])
    assert np.linalg.norm(a - b) <= math.sqrt(8) * (1 + 1e-14) < np.linalg.norm(more)


def test_sums_are_exact_and_the_same_wherever_the_records_are(tmp_path):
    world = World(rd.SPDAffine(2), 700)
    np.save(tmp_path / "X.npy", world.X)
    body = vectors_up_to(world.ball.radius, 3)
    trend = Trend(world.ball, np.array([0.1, 0.2, 0.0]), np.array([0.3, 0.0, 0.1]))
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    sums = [Numbered(Bounded(X, world.ball), world.s, trend).sums(body) for X in (world.X, stored)]
    assert sums[0] == sums[1]
    assert all(isinstance(entry, int) for entry in sums[0])
    turned = Numbered(Bounded(world.X[::-1], world.ball), world.s[::-1], trend).sums(body)
    assert turned == sums[0]  # in integers the order does not matter


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_residuals_about_the_geodesic_are_logs_carried_along_it(space):
    """Their lengths are distances; and points of a parallel copy of the geodesic have the same residual."""
    world = World(space, 20, noise=0.1)
    place = space.coordinates(space.log(world.middle, space.origin), space.origin)
    point = space.read(world.middle, "point")
    trend = Trend(world.ball, place, world.velocity)
    records = space.read(world.X, "X")
    residuals = trend.residuals(records, world.s)
    along = space.exp_coords(world.s[:, None] * world.velocity, point)
    assert np.allclose(np.linalg.norm(residuals, axis=1), space.distance(along, records), atol=1e-8)
    ahead = space.exp_coords((world.s[:, None] + 0.1) * world.velocity, point)
    assert np.allclose(trend.residuals(ahead, world.s), 0.1 * world.velocity, atol=1e-8)


# --- what it finds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("adapt", [False, True])
def test_on_every_space_the_geodesic_is_found_up_to_noise(space, adapt):
    world = World(space, 800)
    fit = rd.private_regression(world.X, world.t, world.ball, rd.GDP(2.0), t_bounds=BOUNDS, adapt=adapt)
    sampling = 0.05 * world.ball.radius / math.sqrt(800)
    assert np.all(world.off(fit) < 5 * (35 * fit.velocity_error + 2 * sampling))
    planned = rd.plan(world.ball, 800, rd.GDP(2.0), statistic="geodesic-regression", t_bounds=BOUNDS, adapt=adapt)
    assert fit.velocity_error < 1.5 * planned[0].expected_error
    assert 0.8 < fit.r_squared <= 1.0  # 1: no residual is seen beyond the noise
    assert fit.value.shape == fit.velocity.shape == space.origin.shape


def test_the_error_of_the_velocity_is_what_the_plan_says_and_not_half_of_it():
    world = World(rd.Euclidean(3), 1000, noise=0.0)
    asked = GeodesicRegression(world.ball, 1000, rd.GDP(1.0), BOUNDS)
    rng, records = np.random.default_rng(0), Bounded(world.X, world.ball)
    found = [asked.find(records, world.s, Seeded(rng))[-1] for _ in range(300)]
    errors = np.array([one.fit.trend.velocity - world.velocity for one in found if isinstance(one, Round)])
    measured = np.sqrt(np.mean(np.sum(errors**2, axis=1))) / 35
    assert 0.8 < measured / asked.plan.expected_error < 1.2


def test_r_squared_is_the_share_of_the_variance_that_is_explained():
    world = World(rd.Euclidean(2), 20_000, noise=0.3)
    slope = np.polyfit(world.t, world.X, 1)
    residual = np.sum((world.X - np.outer(world.t, slope[0]) - slope[1]) ** 2, axis=1).mean()
    exact = 1 - residual / np.sum(world.X.var(axis=0))
    fit = rd.private_regression(world.X, world.t, world.ball, rd.GDP(2.0), t_bounds=BOUNDS)
    assert fit.r_squared == pytest.approx(exact, abs=0.02)
    assert fit.residual == pytest.approx(residual, rel=0.1)
    unrelated = rd.private_regression(world.X, world.t[::-1], world.ball, rd.GDP(2.0), t_bounds=BOUNDS)
    assert unrelated.r_squared < 0.02


def test_the_band_holds_the_geodesic_of_the_records():
    """Coverage of the noise at three numbers, seeded; with half of the band it would be far less."""
    world = World(rd.Euclidean(2), 800, noise=0.1)
    slope, offset = np.polyfit(world.t, world.X, 1)
    t = np.array([20.0, 50.0, 90.0])
    held = [
        np.linalg.norm(fit.predict(t) - np.outer(t, slope) - offset, axis=1) / fit.band(t, 0.9)
        for _ in range(100)
        for fit in [rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), t_bounds=BOUNDS)]
    ]
    assert np.all(np.mean(np.array(held) < 1, axis=0) > 0.7)  # fails by chance with probability below 1e-7
    assert np.all(np.mean(np.array(held) < 0.5, axis=0) < 0.72)


# --- privacy and values ------------------------------------------------------------------------------------------


def test_numbers_are_scaled_clipped_and_never_raise():
    cells = [20, 55.0, "90", "old", None, math.nan, math.inf, -1e300, [1], 10**400]
    s = scaled(cells, len(cells), BOUNDS)
    assert s.tolist() == [-1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -1.0, -1.0, 0.0]
    assert scaled(np.array(["20", "x"]), 2, BOUNDS).tolist() == [-1.0, 0.0]
    assert scaled(np.array([[20], [90]]), 2, BOUNDS).tolist() == [-1.0, 1.0]


def _as_objects(cells):
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


FORMS = {
    "list": list,
    "lists of one": lambda cells: [[cell] for cell in cells],
    "rows of objects": lambda cells: _as_objects(cells)[:, None],
    "objects": _as_objects,
    "objects in lists": lambda cells: _as_objects([[cell] for cell in cells]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("odd", [None, "old", 10**400, {}, [], [1.0, 2.0], np.ones(3), 1j, math.nan], ids=repr)
def test_no_number_decides_what_becomes_of_others(form, odd):
    """Once, one odd cell in a column of lists made all the others unusable."""
    for place in range(3):
        cells = [20.0, 90.0, 37.5]
        cells[place] = odd
        expected = [-1.0, 1.0, -0.5]
        expected[place] = 0.0
        assert scaled(FORMS[form](cells), 3, BOUNDS).tolist() == expected


def test_half_of_the_numbers_in_lists_of_their_own():
    for cells in ([20.0, [90.0], [37.5], 90.0], [[20.0], [90.0], [37.5], 90.0], [20.0, 90.0, [37.5], 90.0]):
        for form in (list, _as_objects):
            assert scaled(form(cells), 4, BOUNDS).tolist() == [-1.0, 1.0, -0.5, 1.0]


@pytest.mark.parametrize("t", [np.ones((3, 2)), np.ones((3, 2), dtype=object), np.ones(3) * 1j, np.array(["a"] * 2), [1.0], [[1.0, 2.0]] * 3, None, "abc", {1, 2, 3}], ids=repr)
def test_numbers_of_another_form_are_refused(t):
    with pytest.raises(rd.InputError, match=r"^t has shape"):
        scaled(t, 3, BOUNDS)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e300, 5e-324])
def test_values_never_raise(bad):
    world = World(rd.Sphere(2), 200)
    world.X[:3], world.t[3:6] = bad, bad
    assert rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), t_bounds=BOUNDS).n == 200


@pytest.mark.parametrize("space", [rd.Euclidean(2), rd.Sphere(2)], ids=repr)
@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0), rd.ZCDP(0.5), rd.ApproxDP(1.0, 1e-6)])
def test_shares_compose_to_what_was_asked_for(space, adapt, guarantee):
    asked = GeodesicRegression(ball_of(space), 5000, guarantee, BOUNDS, adapt)
    assert asked.is_adapted == adapt
    assert asked.whole.implies(guarantee)
    together = rd.compose(asked.shares, like=asked.whole)
    assert together is not None
    assert together.parameters == pytest.approx(asked.whole.parameters, rel=1e-9)
    world = World(space, 300)
    found = GeodesicRegression(world.ball, 300, guarantee, BOUNDS, adapt).find(
        Bounded(world.X, world.ball), world.s, Seeded(np.random.default_rng(0))
    )
    own = GeodesicRegression(world.ball, 300, guarantee, BOUNDS, adapt)
    spent = [one.stage.guarantee if isinstance(one, Round) else one.guarantee for one in found]
    assert spent == own.shares  # each once, in order


def test_one_entry_in_the_ledger_and_no_rounding_is_supposed(tmp_path):
    world, ledger = World(rd.Sphere(2), 500), rd.Ledger(tmp_path / "ledger.db", rd.GDP(1.2))
    ask = {"t_bounds": BOUNDS, "ledger": ledger, "adapt": True}
    fit = rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), **ask)
    assert len(ledger.history()) == 1
    assert not any("rounding" in text for text in fit.guarantee.assumptions)
    assert any("bounds of the numbers" in text for text in fit.guarantee.assumptions)
    with pytest.raises(rd.BudgetExceeded):
        rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), **ask)


# --- what is refused, and files ------------------------------------------------------------------------------------


def test_what_makes_no_sense_is_refused():
    world = World(rd.Euclidean(2), 100)
    for bounds in [(90, 20), (1, 1), (0, math.inf), 5, (1, 2, 3), ("a", "b"), (-1.7e308, 1.7e308)]:
        with pytest.raises(rd.InputError, match="t_bounds"):
            rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), t_bounds=bounds)
    for t in (world.t[:-1], 5.0, np.zeros((100, 2)), world.t.astype("datetime64[s]")):
        with pytest.raises(rd.InputError, match="t has shape"):
            rd.private_regression(world.X, t, world.ball, rd.GDP(1.0), t_bounds=BOUNDS)
    with pytest.warns(rd.NoAdaptation):
        rd.private_regression(world.X, world.t, world.ball, rd.GDP(0.3), t_bounds=BOUNDS, adapt=True)
    with pytest.warns(rd.UselessRelease):
        rd.private_regression(world.X, world.t, world.ball, rd.GDP(0.02), t_bounds=BOUNDS)
    fit = rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), t_bounds=BOUNDS)
    for t in ("x", [math.nan], [[1], [2, 3]]):
        with pytest.raises(rd.InputError, match="t"):
            fit.predict(t)
    with pytest.raises(rd.InputError, match="level"):
        fit.band(50.0, 2.0)


@pytest.mark.parametrize("space", [rd.Euclidean(1), rd.SPDAffine(2), rd.KendallShapes(4)], ids=repr)
def test_a_saved_regression_is_the_same(space, tmp_path):
    world = World(space, 300)
    fit = rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), t_bounds=BOUNDS)
    fit.save(tmp_path / "fit.json")
    same = rd.Regression.load(tmp_path / "fit.json")
    assert np.array_equal(same.velocity, fit.velocity)
    assert np.array_equal(same.predict([20.0, 90.0]), fit.predict([20.0, 90.0]))
    assert (same.r_squared, same.t_bounds, same.noise) == (fit.r_squared, fit.t_bounds, fit.noise)
    for name, odd in [("t_bounds", [2.0, 1.0]), ("velocity", [1.0] * 7), ("r_squared", 2.0), ("s_variance", 0.0), ("noise", "x")]:
        with pytest.raises(rd.InputError):
            rd.Release.from_dict(fit.to_dict() | {name: odd})


def test_the_estimator_is_the_function():
    world = World(rd.SPDAffine(2), 300)
    model = rd.PrivateGeodesicRegression(ball=world.ball, guarantee=rd.GDP(2.0), t_bounds=BOUNDS, adapt=True)
    fitted = model.fit(world.X, world.t)
    assert fitted.predict([20.0, 55.0, 90.0]).shape == (3, 2, 2)
    assert np.allclose(fitted.predict(55.0), fitted.value_)
    assert fitted.score(world.X, world.t) > 0.9
    assert model.fit(X=world.X, y=world.t).score(X=world.X, y=world.t) > 0.9  # by scikit-learn's names
    with pytest.raises(rd.InputError, match="pass one number"):
        model.fit(world.X, None)


def test_the_estimator_is_one_of_scikit_learn():
    world = World(rd.Euclidean(2), 300)
    model = rd.PrivateGeodesicRegression(ball=world.ball, guarantee=rd.GDP(2.0), t_bounds=BOUNDS, unit="rat")
    copy = clone(model)
    assert set(copy.get_params()) == {"ball", "guarantee", "t_bounds", "adapt", "ledger", "note", "unit"}
    assert (copy.unit, copy.t_bounds, copy.guarantee) == ("rat", BOUNDS, model.guarantee)
    assert copy.set_params(adapt=True).adapt
    assert set(model.get_metadata_routing().fit.requests) == {"groups"}
    with pytest.raises(NotFittedError):
        model.predict([20.0])
    model.fit(world.X, world.t, groups=np.arange(300) // 2)
    assert (model.release_.n, model.release_.unit) == (150, "rat")
    same = pickle.loads(pickle.dumps(model))
    assert np.array_equal(same.predict([20.0, 90.0]), model.predict([20.0, 90.0]))
    before = model.release_
    with pytest.raises(rd.InputError, match="groups has shape"):
        model.fit(world.X, world.t, groups=[1, 2])
    assert model.release_ is before


# --- people --------------------------------------------------------------------------------------------------------


def seen(world: World, groups: object, trend: Trend | None = None) -> Numbered:
    return Numbered(Bounded(world.X, world.ball, groups), world.s, trend or Trend.at_centre(world.ball))


def of_each(world: World, trend: Trend, body: rd.Ball) -> np.ndarray:
    """What every record adds, in whole steps: half of what two copies of it do."""
    twice = [Numbered(Bounded(world.X[[i, i]], world.ball), world.s[[i, i]], trend) for i in range(world.n)]
    return np.array([one.sums(body) for one in twice], dtype=object) // 2


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_person_adds_the_exact_mean_of_what_their_records_add(space):
    world, ids = World(space, 40), np.random.default_rng(1).integers(0, 9, 40)
    world.X[:2], world.s[2] = np.nan, -1.0
    trend = Trend(world.ball, 0.1 * world.velocity, world.velocity)
    body = vectors_up_to(0.1 * world.ball.radius, space.dim)
    steps, numbered = of_each(world, trend, body), seen(world, ids, trend)
    total = [0] * (2 * space.dim + 3)
    for who in set(ids.tolist()):
        own = steps[ids == who]
        total = [a + int(Fraction(int(sum(column)), len(own))) for a, column in zip(total, own.T, strict=True)]
    assert numbered.sums(body) == total
    assert numbered.records.n == len(set(ids.tolist()))


def test_one_record_each_is_what_records_give_and_copies_change_nothing():
    world, body = World(rd.Sphere(2), 200), vectors_up_to(1.0, 2)
    trend, radii = Trend(world.ball, 0.1 * world.velocity, world.velocity), [0.2, 0.1, 0.05, 0.02]
    alone, apart = seen(world, None, trend), seen(world, range(200), trend)
    assert alone.sums(body) == apart.sums(body)
    assert alone.outside(radii, body) == apart.outside(radii, body)
    twice = World(rd.Sphere(2), 200)
    twice.X, twice.s = np.repeat(world.X, 3, axis=0), np.repeat(world.s, 3)
    again = seen(twice, np.repeat(np.arange(200), 3), trend)
    assert (again.sums(body), again.outside(radii, body)) == (alone.sums(body), alone.outside(radii, body))


def test_a_person_is_outside_if_their_longest_residual_is():
    world, ids, body = World(rd.Euclidean(2), 300), np.random.default_rng(2).integers(0, 60, 300), vectors_up_to(2.0, 2)
    trend, radii = Trend(world.ball, np.zeros(2), world.velocity), [1.0, 0.4, 0.3, 0.2]
    long = np.linalg.norm(trend.residuals(world.X - world.ball.center, world.s), axis=1)
    longest = [long[ids == who].max() for who in set(ids.tolist())]
    assert seen(world, ids, trend).outside(radii, body) == [sum(one > r for one in longest) for r in radii]


@pytest.mark.parametrize("people_at_once", [None, 1])
def test_people_are_the_same_in_every_order_and_chunk(people_at_once, monkeypatch):
    da = pytest.importorskip("dask.array")
    world, ids = World(rd.SPDAffine(2), 300), np.random.default_rng(3).integers(0, 50, 300)
    body, order = vectors_up_to(1.0, 3), np.random.default_rng(4).permutation(300)
    trend = Trend(world.ball, 0.1 * world.velocity, world.velocity)
    want = seen(world, ids, trend).sums(body), seen(world, ids, trend).outside([0.5, 0.1], body)
    if people_at_once is not None:
        monkeypatch.setattr(people, "MOST_KEPT", people_at_once)
    chunked = Bounded(da.from_array(world.X, chunks=(77, 2, 2)), world.ball, ids)
    turned = Bounded(world.X[order], world.ball, ids[order])
    for records, s in [(chunked, world.s), (turned, world.s[order])]:
        found = Numbered(records, s, trend)
        assert (found.sums(body), found.outside([0.5, 0.1], body)) == want


def test_replacing_a_person_with_all_records_moves_the_moments_no_more_than_a_record():
    """An adversarial search: people of 1 to 6 records at the rim and in the middle, with numbers of all kinds."""
    rng, ball, n, most = np.random.default_rng(5), rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0), 3, 0.0
    body = vectors_up_to(1.0, 2)
    statistic = TrendMoments(body)
    allowed = statistic.sensitivity(body, n, np.zeros(2))

    def value(X: np.ndarray, s: np.ndarray, count: int) -> np.ndarray:
        """Two people who stay, and one with so many records."""
        ids = ["a", "b", *["c"] * count]
        rest, of_rest = np.array([[0.3, 0.1], [-0.2, 0.9]]), np.array([0.5, -1.0])
        records = Bounded(np.concatenate([rest, X]), ball, ids)
        numbered = Numbered(records, np.append(of_rest, s), Trend.at_centre(ball))
        return statistic.value(numbered, np.zeros(2))

    for _ in range(600):
        towards, both = rng.standard_normal(2), []
        for sign in (1, -1):
            count = int(rng.integers(1, 7))
            X = sign * towards + rng.choice([0.0, 0.0, 1.0]) * rng.standard_normal((count, 2))
            X *= rng.choice([0.0, 1e300, 3.0, 3.0], (count, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
            s = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 1 if rng.random() < 0.5 else count)
            both.append(value(X, np.broadcast_to(s, count), count))
        most = max(most, float(np.linalg.norm(both[0] - both[1])))
    assert 0.99 * allowed < most <= allowed


def test_people_are_what_is_counted_protected_and_written_down(tmp_path):
    world, ledger = World(rd.Sphere(2), 600), rd.Ledger(tmp_path / "ledger.db", rd.GDP(9.0))
    ids, ask = np.arange(600) % 200, {"t_bounds": BOUNDS, "ledger": ledger}
    fit = rd.private_regression(world.X, world.t, world.ball, rd.GDP(4.0), groups=ids, unit="rat", adapt=True, **ask)
    assert (fit.n, fit.unit) == (200, "rat")
    assert any("one rat is replaced" in text for text in fit.guarantee.assumptions)
    entry = ledger.history()[-1]
    assert "200 rats" in entry.description
    assert "600" not in entry.description
    assert np.all(world.off(fit) < 5 * (35 * fit.velocity_error + 0.01))
    fit.save(tmp_path / "fit.json")
    assert rd.Regression.load(tmp_path / "fit.json").unit == "rat"
    with pytest.raises(rd.InputError, match="rat"):
        rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), **ask)  # another unit, the same ledger
    with pytest.raises(rd.InputError, match="needs groups"):
        rd.private_regression(world.X, world.t, world.ball, rd.GDP(1.0), unit="rat", t_bounds=BOUNDS)
    with pytest.raises(rd.InputError, match="t has shape"):
        rd.private_regression(world.X, world.t[:200], world.ball, rd.GDP(1.0), groups=ids, **ask)
    assert len(ledger.history()) == 1
