"""Regions: they hold the mean as often as they say, for every mechanism on every space; wrong ones are found out.

Coverage is counted over simulated noise of fixed seeds. A count of N draws may be off by 5 standard deviations before a
test fails: by chance that would happen with probability 6e-7, and with these seeds it does not happen.
"""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

import riemdp as rd
from riemdp.distributions.riemannian import RiemannianLaplace, length_quantile
from riemdp.manifolds.capabilities import Chords, Embedding
from riemdp.mechanisms import by_name
from riemdp.mechanisms.baselines import nearest_points
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Bounded
from riemdp.regions import SHAPES, Chart, laplace_quantile, projected_laplace_quantile
from riemdp.statistics.class_means import JointMeans
from riemdp.statistics.intrinsic import IntrinsicMean, MeanPoint, TangentMean
from riemdp.statistics.mean import rehearse

DEVIATIONS = 5
DRAWS = 300
SPACES = [
    rd.Euclidean(1), rd.Euclidean(3), rd.SPDLogEuclidean(2), rd.SPDAffine(2), rd.SPDAffine(3), rd.Sphere(1), rd.Sphere(2, 4.0),
    rd.Hyperbolic(2), rd.Hyperbolic(3, -4.0), rd.KendallShapes(4), rd.Product(rd.Sphere(2), rd.SPDAffine(2)),
]  # fmt: skip
CASES = [
    (space, name) for space in SPACES for name in SHAPES if space.has(Embedding) or not name.startswith("extrinsic")
]
cases = pytest.mark.parametrize(("space", "name"), CASES, ids=lambda part: part if isinstance(part, str) else repr(part))


def guarantee_for(name):
    return rd.GDP(1.0) if name.endswith("gaussian") else rd.PureDP(1.0)


def unit_of(space):
    return min(space.uniqueness_radius, 2.0)


class Study:
    """Records of a space in a ball that holds them all, their exact mean, and simulated releases of it."""

    def __init__(self, space, name, n=24, footpoint=None):
        self.space, self.rng = space, np.random.default_rng(n)
        coords = self.rng.standard_normal((n, space.dim))
        coords *= 0.25 * unit_of(space) / np.linalg.norm(coords, axis=1, keepdims=True)
        middle = space.random_point(1, 3)[0]
        self.X = space.exp(space.from_coordinates(coords, middle), middle)
        self.ball = rd.Ball(space, middle, 0.3 * unit_of(space))
        asked = {"mechanism": name, "footpoint": footpoint}
        self.release = rd.private_mean(self.X, self.ball, guarantee_for(name), **asked)
        prepared = rehearse(self.ball, n, guarantee_for(name), **asked)
        self.law, self.mechanism = prepared.query.law(prepared.how), by_name(name)
        value = self.law.value(Bounded(self.X, self.ball))
        self.value = value[0] if isinstance(value, tuple) else value  # beside it may be how full the ball is
        self.mean = self.extrinsic_mean() if name.startswith("extrinsic") and space.has(Chords) else self.frechet_mean()

    def frechet_mean(self):
        return rd.frechet_mean(self.X, self.space).point

    def extrinsic_mean(self):
        return self.space.project(self.X.mean(axis=0))

    def releases(self, size=DRAWS):
        """Simulated: as `private_mean` makes them, but with noise of this study's own seed."""
        scale, place = self.release.scale, (self.ball, self.law.footpoint)
        if self.mechanism.name == "riemannian-laplace" and not self.space.is_flat:
            points = self.mechanism.simulate(self.value, scale, *place, self.rng, size)
            return [self._like(point, None) for point in points]
        if self.mechanism.name == "riemannian-laplace":
            vectors = self.value + RiemannianLaplace(self.space, self.space.origin, scale).sample_coords(size, self.rng)
        else:
            vectors = self.mechanism.noisy(self.value, scale, self.rng, size)
        is_ambient = self.mechanism.input == "ambient"
        points = nearest_points(Visible(vectors), self.ball) if is_ambient else carry(Visible(vectors), *place[::-1])
        return [self._like(point, vector) for point, vector in zip(points, vectors, strict=True)]

    def _like(self, point, vector):
        noisy = dataclasses.replace(self.release.noisy, vector=vector)
        return dataclasses.replace(self.release, value=self.space.write(point, self.space.origin), noisy=noisy)

    def hits(self, level, made=lambda release, level: release.region(level), size=DRAWS):
        return sum(bool(made(release, level).contains(self.mean)) for release in self.releases(size))


def is_plausible(hits, level, size=DRAWS):
    return abs(hits - level * size) <= DEVIATIONS * math.sqrt(size * level * (1 - level))


# --- coverage -------------------------------------------------------------------------------------------------


@cases
def test_every_mechanism_covers_the_mean_on_every_space(space, name):
    assert is_plausible(Study(space, name).hits(0.7), 0.7)


def too_small(release, level):
    """The control: noise that is a third larger than the release says."""
    return dataclasses.replace(release, scale=0.75 * release.scale).region(level)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("space", [rd.SPDAffine(2), rd.Sphere(2, 4.0)], ids=repr)
def test_a_wrong_scale_is_found(space, name):
    assert not is_plausible(Study(space, name).hits(0.7, too_small), 0.7)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95, 0.999])
def test_every_level_is_kept(level):
    assert is_plausible(Study(rd.Sphere(2), "wrapped-gaussian").hits(level, size=1000), level, 1000)


class BallOfDistances:
    """The planted bug: geodesic distance to the released point instead of that of coordinates."""

    def __init__(self, release, level):
        self.release, self.radius = release, release.region(level).radius

    def contains(self, point):
        return self.release.space.dist(point, self.release.value) <= self.radius


@pytest.mark.parametrize(
    ("space", "away"), [(rd.Hyperbolic(2), 2.0), (rd.SPDAffine(2), 5.0), (rd.Sphere(2), 1.8), (rd.KendallShapes(4), 1.0)], ids=repr
)
def test_a_ball_of_distances_is_found_out(space, away):
    """Far from the footpoint curvature stretches noise, or shrinks it."""
    middle = space.random_point(1, 3)[0]
    footpoint = space.exp(space.from_coordinates(away * np.eye(space.dim)[0], middle), middle)
    study = Study(space, "wrapped-gaussian", n=24, footpoint=footpoint)
    assert is_plausible(study.hits(0.7), 0.7)
    assert not is_plausible(study.hits(0.7, BallOfDistances), 0.7)


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Hyperbolic(2), rd.KendallShapes(4), rd.SPDAffine(2)], ids=repr)
def test_a_footpoint_beside_the_ball(space):
    footpoint = space.random_point(1, 8)[0]
    study = Study(space, "wrapped-laplace", footpoint=footpoint)
    assert np.any(study.release.noisy.footpoint)
    assert is_plausible(study.hits(0.7), 0.7)


def test_the_tangent_mean_has_a_region_of_its_own():
    study = Study(rd.Sphere(2), "wrapped-gaussian")
    release = rd.private_mean(study.X, study.ball, rd.GDP(1e6), statistic="tangent-mean")
    coords = study.space.coordinates(study.space.log(study.X, study.ball.center), study.ball.center)
    tangent = study.space.from_coordinates(coords.mean(axis=0), study.ball.center)
    assert release.region(0.9999).contains(study.space.exp(tangent, study.ball.center))


@pytest.mark.parametrize("statistic", [IntrinsicMean(), TangentMean(), MeanPoint()], ids=lambda statistic: type(statistic).__name__)
def test_the_rounding_of_a_quotient_counts(statistic):
    """It does where noise is as small: for a billion records, or a promise that is none."""
    ball, foot, errors = rd.Ball(rd.Euclidean(1), [0.0], 1.0), np.zeros(1), []
    for seed in range(20):
        records = Bounded(np.random.default_rng(seed).uniform(-1, 1, (7, 1)), ball)
        exact = Fraction(records.coordinate_sum()[0], 7) * Fraction(2) ** ball.grid
        errors.append(abs(Fraction(float(statistic.value(records, foot)[0])) - exact))
    assert 0 < max(errors) <= statistic.tolerance(ball, 7, foot)


def test_real_releases_adaptive_ones_too():
    """By the exact noise: the last stage's law in the ball that was found, whose mean is that of the moved records."""
    space, rng, hits = rd.Euclidean(2), np.random.default_rng(5), 0
    X = 0.1 * rng.standard_normal((2000, 2)).clip(-3, 3) + [2.0, 1.0]
    for _ in range(100):
        release = rd.private_mean(X, rd.Ball(space, np.zeros(2), 20.0), rd.GDP(2.0), adapt=True)
        assert release.stages
        offset = X - release.ball.center
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        moved = release.ball.center + offset * np.minimum(1.0, release.ball.radius / length)
        hits += bool(release.region(0.8).contains(moved.mean(axis=0)))
    assert is_plausible(hits, 0.8, 100)


def test_an_adaptive_release_of_a_footpoint_alone():
    space = rd.SPDAffine(2)
    ball = rd.Ball(space, np.eye(2), 1.0)
    release = rd.private_mean(
        space.project(np.tile(2 * np.eye(2), (50, 1, 1))), ball, rd.GDP(100.0), adapt=rd.Adaptation(rounds=1, radius_share=0)
    )
    assert np.any(release.noisy.footpoint)
    assert release.region(0.9999).contains(2 * np.eye(2))


# --- quantiles ------------------------------------------------------------------------------------------------


def plane_of_eigenvalues(q, scale):
    """Integral over the eigenvalues' law of SPDAffine(2), up to a length: independent of the library's."""

    def inner(t):
        angle = np.linspace(0, math.pi, 201)
        return t * np.exp(-t / scale) * integrate.simpson(np.sinh(t * np.sin(angle) / math.sqrt(2)), x=angle)

    t = np.linspace(0, q, 2001)
    return integrate.simpson([inner(x) for x in t], x=t)


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_quantile_of_matrices_against_quadrature(scale, level):
    q = length_quantile(RiemannianLaplace(rd.SPDAffine(2), np.eye(2), scale), level)
    whole = plane_of_eigenvalues(150 * scale, scale)
    assert plane_of_eigenvalues(q, scale) / whole == pytest.approx(level, abs=1e-3)
    assert plane_of_eigenvalues(1.05 * q, scale) / whole != pytest.approx(level, abs=2e-3)


@pytest.mark.parametrize(
    ("space", "area", "end"),
    [
        (rd.Sphere(2), math.sin, math.pi),
        (rd.Sphere(1, 0.25), lambda t: 1.0, 2 * math.pi),
        (rd.Hyperbolic(3), lambda t: math.sinh(t) ** 2, 60.0),
        (rd.KendallShapes(4), lambda t: math.sin(t) ** 3 * math.cos(t), math.pi / 2),
        (rd.Euclidean(5), lambda t: t**4, 60.0),
    ],
    ids=lambda part: repr(part) if isinstance(part, rd.Space) else "",
)
@pytest.mark.parametrize("scale", [0.02, 0.4])
def test_the_quantile_of_radial_laws_against_quadrature(space, area, end, scale):
    q = length_quantile(RiemannianLaplace(space, space.origin, scale), 0.95)
    end = min(end, 120 * scale)

    def mass(stop):
        return integrate.quad(lambda t: area(t) * math.exp(-t / scale), 0, stop, epsabs=0, points=[min(q, stop)], limit=200)[0]

    assert mass(q) / mass(end) == pytest.approx(0.95, abs=1e-4)


def test_the_quantile_of_projected_noise():
    """R^m itself: Gamma(m). A line of R^3: the marginal of e^-|y|, density (1 + |x|) e^-|x| / 4, integrated by hand."""
    assert projected_laplace_quantile(4, 4, 0.9) == pytest.approx(laplace_quantile(4, 0.9), rel=1e-4)
    q = projected_laplace_quantile(1, 3, 0.9)
    assert 1 - math.exp(-q) * (1 + q / 2) == pytest.approx(0.9, abs=1e-4)


# --- what a region is -----------------------------------------------------------------------------------------


@cases
def test_its_rim_belongs_to_it_and_what_is_beyond_does_not(space, name):
    study = Study(space, name, n=400)
    region = study.release.region(0.9)
    rim = region.boundary(40)
    assert 0 < len(rim) <= 40
    assert rim.shape[1:] == space.point_shape
    assert region.contains(rim).all()
    smaller = dataclasses.replace(region, radius=0.999 * region.radius)
    assert not smaller.contains(rim).any()
    assert region.contains(study.release.value)


def test_a_region_around_the_whole_sphere_has_no_rim():
    study = Study(rd.Sphere(2), "wrapped-gaussian")
    region = dataclasses.replace(study.release.region(), radius=20.0)
    assert len(region.boundary(30)) == 0
    assert region.contains(study.X).all()


def test_noise_that_winds_round_the_sphere_is_not_forgotten():
    """The same point with coordinates longer by a full turn: another region, since another vector got the noise."""
    study = Study(rd.Sphere(2), "wrapped-gaussian", n=400)
    vector = study.release.noisy.vector
    longer = vector * (1 + 2 * math.pi / np.linalg.norm(vector))
    wound = dataclasses.replace(study.release, noisy=dataclasses.replace(study.release.noisy, vector=longer))
    assert np.allclose(Chart(study.space, study.ball.inner_center, np.zeros(2)).points(longer), study.release.value)
    assert study.release.region().contains(study.release.value)
    assert not wound.region().contains(study.release.value)


def test_it_takes_points_as_users_pass_them():
    space = rd.KendallShapes(4)
    region = Study(space, "wrapped-laplace").release.region(0.5)
    points = space.random_point(6, 1)
    inside = region.contains(points)
    assert (inside.shape, inside.dtype) == ((6,), bool)
    assert region.contains(points[0]).shape == ()
    assert region.contains(points[..., 0] + 1j * points[..., 1]).tolist() == inside.tolist()
    assert region.contains(points.reshape(2, 3, 4, 2)).tolist() == inside.reshape(2, 3).tolist()
    with pytest.raises(rd.InputError, match=r"points\[1\] is not a point of"):
        region.contains([points[0], np.ones((4, 2))])


def test_it_says_what_it_is():
    region = Study(rd.Sphere(2), "wrapped-laplace").release.region(0.9)
    assert (region.level, region.of, region.space) == (0.9, "records", rd.Sphere(2))
    assert repr(region).startswith("Region(level=0.9, of='records', radius=")
    assert "mean of the records with probability 0.9" in region._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError):
        region.level = 0.5


def test_a_higher_level_is_a_larger_region():
    release = Study(rd.SPDAffine(3), "riemannian-laplace").release
    assert release.region(0.5).radius < release.region().radius < release.region(0.99).radius
    assert release.region().level == 0.95


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1, 1.0, -0.1, 95, "0.95", None, math.nan])
def test_a_level_is_a_probability(level):
    with pytest.raises(rd.InputError, match="level = "):
        Study(rd.Euclidean(1), "wrapped-laplace").release.region(level)


def test_what_it_is_of():
    release = Study(rd.Euclidean(1), "wrapped-laplace").release
    with pytest.raises(rd.InputError, match=r"of = 'population': .* use private_summary"):
        release.region(0.95, of="population")
    with pytest.raises(rd.InputError, match=r"of = 'people': pass 'records'"):
        release.region(0.95, of="people")


@pytest.mark.parametrize("name", ["kng", "pointwise-laplace"])
def test_mechanisms_without_a_law_of_their_own_have_none(name):
    space = rd.KendallShapes(4)
    ball = rd.Ball(space, space.origin, 0.2)
    release = rd.private_mean(np.tile(space.origin, (40, 1, 1)), ball, rd.PureDP(5.0), mechanism=name)
    with pytest.raises(rd.MechanismError, match=f"mechanism = '{name}': .* depends on the records"):
        release.region()


def test_class_means_are_no_mean():
    X, ball = np.random.default_rng(0).standard_normal((60, 2)), rd.Ball(rd.Euclidean(2), np.zeros(2), 3.0)
    release = JointMeans.of(X, np.arange(60) % 2, ("a", "b"), ball, rd.GDP(5.0)).release(None)
    with pytest.raises(rd.MechanismError, match="has no region"):
        release.region()


# --- files ----------------------------------------------------------------------------------------------------


@cases
def test_a_saved_release_has_the_same_region(space, name, tmp_path):
    release = Study(space, name).release
    release.save(tmp_path / "mean.json")
    region, points = rd.Release.load(tmp_path / "mean.json").region(0.8), release.region(0.8).boundary(10)
    assert region.radius == release.region(0.8).radius
    assert region.contains(points).all()


def of_an_older_version(release):
    data = release.to_dict()
    del data["noisy"]
    return rd.Release.from_dict(data | {"format": 2})


def test_older_files_have_one_where_their_value_tells_it():
    """Flat spaces, and where the law is one around the point."""
    for space, name in [(rd.Euclidean(3), "wrapped-laplace"), (rd.SPDLogEuclidean(2), "wrapped-gaussian"),
                        (rd.Sphere(2), "riemannian-laplace")]:  # fmt: skip
        release = Study(space, name).release
        old = of_an_older_version(release).region(0.8)
        assert old.radius == pytest.approx(release.region(0.8).radius, rel=2e-3)
        assert dataclasses.replace(old, radius=1.01 * old.radius).contains(release.region(0.8).boundary(10)).all()


@pytest.mark.parametrize(
    ("space", "name"), [(rd.Sphere(2), "wrapped-gaussian"), (rd.SPDAffine(2), "wrapped-laplace"), (rd.SPDLogEuclidean(2), "extrinsic-laplace")]
)
def test_older_files_elsewhere_say_what_is_missing(space, name):
    with pytest.raises(rd.MechanismError, match="did not keep the noisy"):
        of_an_older_version(Study(space, name).release).region()


@pytest.mark.parametrize(
    "noisy",
    [
        5, [], {}, {"vector": [1.0, 2.0]}, {"vector": "x", "footpoint": [0.0, 0.0], "off": 0.0},
        {"vector": [1.0, 2.0], "footpoint": [0.0], "off": 0.0}, {"vector": [1.0, math.inf], "footpoint": [0.0, 0.0], "off": 0.0},
        {"vector": [1.0, 2.0], "footpoint": [0.0, 0.0], "off": -1.0}, {"vector": [1.0, 2.0], "footpoint": [0.0, 0.0], "off": "0"},
        {"vector": [1.0, 2.0], "footpoint": [0.0, 0.0], "off": 0.0, "axes": [1.0, 1.0]},
    ],
)  # fmt: skip
def test_files_that_were_tampered_with_are_refused(noisy):
    data = json.loads(json.dumps(Study(rd.Sphere(2), "wrapped-gaussian").release.to_dict()))
    with pytest.raises(rd.InputError, match=r"noisy|off"):
        rd.Release.from_dict(data | {"noisy": noisy})


@pytest.mark.filterwarnings("ignore::riemdp.UselessRelease")
def test_axes_of_any_condition_are_read_and_measured_by():
    """The Hessian of a huge ball leaves little of them, in some directions, to float64."""
    place = rd.Ellipsoid(rd.SPDAffine(2), np.eye(2), [1.1e-4, 1.0, 1.0], 1e61)
    X = np.stack([np.diag([1e300, 1e-300]), np.diag([1e-300, 1e300])])
    for _ in range(30):
        release = rd.private_mean(X, place, rd.ZCDP(1e60))
        again = rd.Release.from_dict(json.loads(json.dumps(release.to_dict())))
        assert again.region().contains(again.value) == release.region().contains(release.value)


def test_an_axis_that_is_lost_does_not_count():
    data = Study(rd.Euclidean(3), "wrapped-gaussian").release.to_dict()
    thin, flat = ({"noisy": data["noisy"] | {"axes": np.diag([1.0, 1.0, depth]).tolist()}} for depth in (1e-9, 0.0))
    points = np.asarray(data["noisy"]["vector"]) + [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [9.0, 0.0, 0.0]]
    center = np.asarray(data["center"])
    for changed, inside in ((thin, [True, False, False]), (flat, [True, True, False])):
        assert rd.Release.from_dict(data | changed).region().contains(center + points).tolist() == inside


@pytest.mark.parametrize("vector", [None, [1.0, 2.0, 3.0]])
def test_a_vector_of_another_size_has_no_region(vector):
    data = Study(rd.Sphere(2), "wrapped-gaussian").release.to_dict()
    with pytest.raises(rd.InputError, match="noisy does not hold 2 numbers"):
        rd.Release.from_dict(data | {"noisy": data["noisy"] | {"vector": vector}}).region()
