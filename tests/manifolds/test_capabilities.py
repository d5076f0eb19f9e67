"""Roles of spaces: who has which, how they are asked for, and that the core knows none of them."""

from __future__ import annotations

import re
from abc import ABC
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from manifolds.test_own_space import space as half_plane  # noqa: F401
from riemdp.manifolds import capabilities
from riemdp.manifolds.capabilities import (
    CAPABILITIES,
    Chords,
    ClosedFormMean,
    Curvature,
    Embedding,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    Landmarks,
    Spectra,
    SpectralBalls,
    VolumeDensity,
)
from riemdp.manifolds.scalars import log_sinhc, norm

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
LAWS = {VolumeDensity, ExactPoints, GradientBounds}
ROLES = [
    (rd.Euclidean(2), LAWS | {ClosedFormMean}),
    (rd.Sphere(2), LAWS | {FrechetModel, Curvature, Embedding, Chords}),
    (rd.Hyperbolic(2), LAWS | {FrechetModel, Curvature}),
    (rd.KendallShapes(4), LAWS | {FrechetModel, Curvature, Landmarks}),
    (rd.Correlations(3), LAWS | {ClosedFormMean, SpectralBalls}),
    (rd.HPDAffine(2), LAWS | {FrechetModel, Curvature, SpectralBalls}),
    (rd.HPDLogEuclidean(2), LAWS | {ClosedFormMean, SpectralBalls}),
    (rd.Torus(2), LAWS | {FrechetModel, Curvature}),
    (rd.Grassmann(4, 2), LAWS | {FrechetModel, Curvature}),
    (rd.Rotations(), LAWS | {FrechetModel, Curvature}),
    (rd.SPDAffine(2), LAWS | {FrechetModel, ClosedFormMean, Curvature, Embedding, Spectra, SpectralBalls}),
    (rd.SPDLogCholesky(2), LAWS | {ClosedFormMean, SpectralBalls}),
    (rd.SPDLogEuclidean(2), LAWS | {ClosedFormMean, Embedding, Spectra, SpectralBalls}),
    (rd.Product(rd.Sphere(2), rd.Sphere(2)), LAWS),
]


@pytest.mark.parametrize(("space", "roles"), ROLES, ids=lambda value: str(value)[:30])
def test_who_has_which_role(space, roles):
    assert {role for role in CAPABILITIES if space.has(role)} == roles
    assert all(space.capability(role) is space for role in roles)


@pytest.mark.parametrize("role", CAPABILITIES, ids=lambda role: role.__name__)
def test_a_role_is_a_plain_mixin_of_which_the_core_knows_nothing(role):
    assert role.__mro__ == (role, ABC, object)
    offered = {name for name in vars(role) if not name.startswith("_")}
    assert offered
    assert not offered & set(dir(rd.Space))


@pytest.mark.parametrize("role", CAPABILITIES, ids=lambda role: role.__name__)
def test_a_role_says_which_proof_relies_on_it(role):
    cited = re.findall(r"docs/proofs/(\w+\.md)", role.__doc__)
    assert cited
    assert all((PROOFS / name).exists() for name in cited)


@pytest.mark.parametrize("role", CAPABILITIES, ids=lambda role: role.__name__)
def test_a_missing_role_is_named_with_the_space_and_what_to_use_instead(half_plane, role):  # noqa: F811
    words = CAPABILITIES[role]
    asked = (half_plane, rd.Product(half_plane), rd.Product(rd.Product(half_plane, rd.Sphere(2)), half_plane))
    for space in asked:
        assert not space.has(role)
        with pytest.raises(rd.MechanismError) as refusal:
            space.capability(role)
        assert str(refusal.value) == f"HalfPlane() has no {words.name} (it is no {role.__name__}): {words.instead}."
    assert "use " in words.instead


@pytest.mark.parametrize("role", sorted(LAWS, key=lambda role: role.__name__), ids=lambda role: role.__name__)
def test_a_product_has_what_all_its_factors_have(half_plane, role):  # noqa: F811
    whole = rd.Product(rd.Product(rd.Sphere(2), rd.Euclidean(1)), rd.SPDAffine(2))
    assert whole.has(role)
    assert not rd.Product(whole, half_plane).has(role)


def test_a_product_refuses_for_itself_where_roles_cannot_be_put_together():
    with pytest.raises(rd.MechanismError, match=r"^Product\(Sphere.*\) has no embedding \(it is no Embedding\): "):
        rd.Product(rd.Sphere(2), rd.Sphere(2)).capability(Embedding)


def test_users_are_refused_in_the_same_words(half_plane):  # noqa: F811
    with pytest.raises(rd.MechanismError, match=r"^HalfPlane\(\) has no volume density \(it is no VolumeDensity\): "):
        half_plane.log_volume_density([0.1, 0.2], half_plane.origin)


def test_a_role_insists_on_its_methods():
    class Promised(rd.Hyperbolic, Landmarks):
        pass

    with pytest.raises(TypeError, match="from_landmarks"):
        Promised(2)


@pytest.mark.parametrize("law", [rd.RiemannianLaplace, rd.RiemannianGaussian])
def test_one_role_opens_what_it_says(half_plane, law):  # noqa: F811
    """Distances of draws in the half-plane are those of the hyperboloid, whose bounds are its own, at p > 1e-6."""

    class Measured(type(half_plane), VolumeDensity):
        growth = 1.0

        def log_density(self, coords):
            return self.growth * log_sinhc(norm(coords))

    class Wrong(Measured):
        growth = 0.0

    def lengths(space):
        return space.dist(space.origin, law(space, space.origin, 0.7 if law is rd.RiemannianGaussian else 0.45).sample(20_000, 1))

    expected = lengths(rd.Hyperbolic(2))
    assert stats.ks_2samp(lengths(Measured()), expected).pvalue > 1e-6
    assert stats.ks_2samp(lengths(Wrong()), expected).pvalue < 1e-6


@pytest.mark.parametrize(("space", "roles"), ROLES, ids=lambda value: str(value)[:30])
def test_any_space_is_its_own_only_part(space, roles):
    x, v = space.read(space.origin, "x"), np.arange(space.dim) + 1.0
    assert bool(space.factors) == isinstance(space, rd.Product)
    parts = max(1, len(space.factors))
    assert len(space.inner_parts(x)) == len(space.split(space.origin)) == len(space.split_coords(v)) == parts
    np.testing.assert_array_equal(space.assemble(space.inner_parts(x)), x)
    np.testing.assert_array_equal(np.concatenate(space.split_coords(v)), v)


def test_every_role_of_the_module_is_entered():
    roles = {value for value in vars(capabilities).values() if isinstance(value, type) and value.__bases__ == (ABC,)}
    assert roles - {ABC} == set(CAPABILITIES)
