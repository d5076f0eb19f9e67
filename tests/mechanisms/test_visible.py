"""Post-processing takes nothing but visible vectors, and every place that makes some is known."""

from __future__ import annotations

import ast
import typing
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp.mechanisms import baselines, gradient, visible
from riemdp.mechanisms.visible import Visible
from riemdp.releases.drawn import Drawn
from riemdp.statistics import bodies
from riemdp.statistics.class_means import ClassSums

SOURCE = Path(rd.__file__).parent
# Where noise has just been added, or a drawn point is at hand, or nothing but the public ball.
MAKERS = {
    "mechanisms/visible.py: Visible.then", "mechanisms/visible.py: carry",
    "mechanisms/wrapped.py: Wrapped.draw", "mechanisms/wrapped.py: Wrapped.simulate",
    "mechanisms/riemannian.py: Intrinsic.draw", "mechanisms/riemannian.py: Intrinsic.simulate",
    "mechanisms/gradient.py: KNormGradient.simulate",
    "mechanisms/baselines.py: Extrinsic.draw", "mechanisms/baselines.py: Extrinsic.simulate",
    "mechanisms/baselines.py: Pointwise.draw", "mechanisms/baselines.py: Pointwise.simulate",
    "statistics/adaptive.py: Adaptive.insist", "statistics/bodies.py: into_ball",
    "statistics/median.py: Median._recorded", "statistics/median.py: Median.simulate", "statistics/trend.py: Trend.ends",
    "statistics/base.py: ReleaseLaw.draw", "statistics/base.py: ReleaseLaw.simulated", "statistics/descent.py: Descent.run", "statistics/class_means.py: ClassSums.finish",
    "statistics/linear_classifiers.py: _around_mean",
    "plots/panels.py: _in_shape",  # simulated noise around a value that was released
}  # fmt: skip
HELPERS = [
    visible.carry, visible._held, visible.from_origin, baselines.nearest_points, baselines._as_shapes, gradient._without_last_bits,
    ClassSums.means,
]  # fmt: skip


def calls(tree, place, name):
    """Places (class.function) that call something of this name."""
    for node in ast.iter_child_nodes(tree):
        inner = [*place, node.name] if isinstance(node, ast.ClassDef | ast.FunctionDef) else place
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield ".".join(place)
        yield from calls(node, inner, name)


def callers(name):
    found = set()
    for path in SOURCE.rglob("*.py"):
        places = calls(ast.parse(path.read_text()), [], name)
        found |= {f"{path.relative_to(SOURCE).as_posix()}: {place}" for place in places}
    return found


def test_every_place_that_makes_visible_vectors_is_known():
    """A new one is added to the list above by whoever has seen that no private value goes into it."""
    assert callers("Visible") == MAKERS


def test_no_file_that_computes_private_values_knows_of_post_processing():
    for name in ("ambient", "intrinsic", "gradient", "sites", "quantile", "frechet", "mean"):
        text = (SOURCE / "statistics" / f"{name}.py").read_text()
        assert "mechanisms.visible" not in text
        assert "carry(" not in text
    assert "mechanisms.visible" not in (SOURCE / "privacy" / "bounded.py").read_text()


@pytest.mark.parametrize("helper", HELPERS, ids=lambda helper: helper.__qualname__)
def test_helpers_take_visible_vectors_by_type(helper):
    """mypy, strict, checks every call."""
    first, *_ = [hint for name, hint in typing.get_type_hints(helper).items() if name not in ("self", "return")]
    assert first is Visible


def test_drawn_points_are_moved_into_the_ball_by_type():
    assert typing.get_type_hints(bodies.into_ball)["drawn"] is Drawn


def test_an_array_is_not_visible():
    ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    with pytest.raises(AttributeError):
        visible.carry(np.zeros((1, 2)), np.zeros(2), ball)
    with pytest.raises(AttributeError):
        baselines.nearest_points(np.zeros((1, 3)), ball)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_what_is_carried_is_a_point_as_it_is_written(space):
    """From centres that noise has carried to the end of float64, as private ones may be: matrices nearly singular."""
    rng, foot = np.random.default_rng(5), np.zeros(space.dim)

    def far(size):
        return Visible(rng.standard_normal((size, space.dim)) * 1e17)

    start = rd.Ball(space, space.random_point(1, 0)[0], 0.1 * min(space.uniqueness_radius, 1.0))
    centers = space.write(visible.carry(far(12), foot, start), start.center)
    for center in centers:
        ball = rd.Ball(space, center, start.radius)
        for coords in (far(30), far(30).then(lambda v: v * 1e-17)):
            assert space.contains(space.write(visible.carry(coords, foot, ball), center)).all()
