"""A space with nothing but the core, that of docs/extending.md: tangent means are released, the rest says what is missing."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.mechanisms import MECHANISMS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
FACTS = {"dim", "point_shape", "curvature_bounds", "injectivity_radius", "origin"}
MAPS = {"exp_coords", "log_coords", "to_coords", "from_coords"}
MEMBERSHIP = {"are_points", "are_tangent", "to_points"}


@pytest.fixture(scope="module")
def space():
    """The class as the page defines it."""
    page = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, "extending", str(PAGE), 0)
    module = sys.modules.setdefault("half_plane", ModuleType("half_plane"))
    vars(module)["__name__"] = "half_plane"
    for example in page.examples[:3]:
        exec(example.source, vars(module))
    return module.HalfPlane()


@pytest.fixture
def ball(space):
    return rd.Ball(space, [0.5, 2.0], 1.5)


def test_the_core_is_what_a_newcomer_implements():
    assert set(rd.Space.__abstractmethods__) == FACTS | MAPS | MEMBERSHIP


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
