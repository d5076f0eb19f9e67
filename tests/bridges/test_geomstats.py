"""Spaces of geomstats and ours: the same points, the same distances, there and back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import riemdp as rd

pytest.importorskip("geomstats", exc_type=ImportError)
SPACES = [
    rd.Euclidean(3), rd.Sphere(2), rd.Hyperbolic(2), rd.Hyperbolic(2, model="poincare"), rd.SPDAffine(3), rd.SPDLogEuclidean(3), rd.HPDAffine(2),
    rd.HPDLogEuclidean(2), rd.Rotations(), rd.KendallShapes(4), rd.Simplex(4), rd.Correlations(2), rd.Correlations(3), rd.Correlations(4), rd.Product(rd.Sphere(2), rd.Euclidean(2)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_there_and_back_and_the_same_distances(space):
    theirs = rd.to_geomstats(space)
    assert rd.from_geomstats(theirs) == space
    a, b = np.split(space.random_point(8, 0), 2)
    np.testing.assert_allclose(theirs.metric.dist(a, b), space.dist(a, b), rtol=1e-12)


def test_the_grassmannian_has_another_unit_of_length():
    space = rd.Grassmann(5, 2)
    theirs = rd.to_geomstats(space)
    assert rd.from_geomstats(theirs) == space
    a, b = np.split(space.random_point(8, 0), 2)
    assert theirs.belongs(a).all()
    np.testing.assert_allclose(theirs.metric.dist(a, b), np.sqrt(2) * space.dist(a, b), rtol=1e-12)


def test_correlations_with_other_weights_are_another_space():
    from geomstats.geometry.full_rank_correlation_matrices import FullRankCorrelationMatrices, OffLogMetric

    theirs = FullRankCorrelationMatrices(4, equip=False)
    theirs.equip_with_metric(OffLogMetric, alpha=2.0, beta=0.0, gamma=0.0)
    with pytest.raises(rd.InputError, match="OffLogMetric of geomstats is one of riemdp with"):
        rd.from_geomstats(theirs)


@pytest.mark.parametrize("space", [rd.Sphere(2, curvature=4.0), rd.Hyperbolic(2, curvature=-2.0), rd.SPDLogCholesky(3), rd.Torus(2)], ids=repr)
def test_what_geomstats_does_not_have_is_said(space):
    with pytest.raises(rd.InputError, match="is none of geomstats"):
        rd.to_geomstats(space)


def test_what_riemdp_does_not_have_is_said_with_a_way_out():
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDBuresWassersteinMetric, SPDMatrices
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal

    bures = SPDMatrices(3, equip=False)
    bures.equip_with_metric(SPDBuresWassersteinMetric)
    for strange in (SpecialOrthogonal(2), SpecialOrthogonal(3, point_type="vector"), PreShapeSpace(4, 3), bures, object(), None):
        with pytest.raises(rd.InputError, match=r"docs/extending\.md"):
            rd.from_geomstats(strange)
    with pytest.raises(rd.InputError, match=r"^space = <class .*Hypersphere'> is no space of geomstats, such as Hypersphere\(2\)"):
        rd.from_geomstats(type(rd.to_geomstats(rd.Sphere(2))))
    with pytest.raises(rd.InputError, match="pass a space of riemdp"):
        rd.to_geomstats("sphere")
