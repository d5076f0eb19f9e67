"""The forms in which users pass points: batches of any shape, any real dtype, lists, views, files."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES, reach

every_space = pytest.mark.parametrize("space", SPACES, ids=repr)


def batch(space, *lead, seed=0):
    """Points with the given leading shape."""
    return space.random_point(int(np.prod(lead, initial=1)), seed).reshape(*lead, *space.point_shape)


def small_coords(space, *lead):
    c = np.random.default_rng(1).standard_normal((*lead, space.dim))
    return reach(space) / 4 * c / np.linalg.norm(c, axis=-1, keepdims=True)


# --- shapes --------------------------------------------------------------------------------------------------------


@every_space
def test_a_geodesic_at_several_times_is_the_curve_through_them(space):
    a, b = batch(space, 2)
    times = np.linspace(0, 1, 5)
    curve = space.geodesic(a, b, times)
    assert curve.shape == (5, *space.point_shape)
    np.testing.assert_array_equal(curve, np.stack([space.geodesic(a, b, time) for time in times]))


@pytest.mark.filterwarnings("ignore:.*expand_dims:DeprecationWarning")  # within pyRiemann
@pytest.mark.parametrize(("space", "metric"), [(rd.SPDAffine(3), "riemann"), (rd.SPDLogEuclidean(3), "logeuclid")])
def test_a_time_for_each_pair_as_pyriemann_takes_it(space, metric):
    from pyriemann.geometry.geodesic import geodesic

    a, b = batch(space, 4), batch(space, 4, seed=1)
    times = np.linspace(0, 1, 4)
    np.testing.assert_allclose(space.geodesic(a, b, times), geodesic(a, b, times, metric=metric), rtol=1e-8, atol=1e-10)


@every_space
def test_leading_axes_broadcast_in_every_method(space):
    base, point, c = batch(space, 3, 1), batch(space, 2, seed=1), small_coords(space, 3, 2)
    shape = space.point_shape
    vector = space.from_coordinates(c, base)
    assert vector.shape == (3, 2, *shape)
    assert space.exp(vector, base).shape == (3, 2, *shape)
    assert space.log(point, base).shape == (3, 2, *shape)
    assert space.coordinates(vector, base).shape == (3, 2, space.dim)
    assert space.geodesic(base, point, 0.5).shape == (3, 2, *shape)
    assert space.geodesic(base, point, np.linspace(0, 1, 4)[:, None, None]).shape == (4, 3, 2, *shape)
    for scalar in (space.dist(base, point), space.norm(vector, base), space.inner(vector, vector, base)):
        assert scalar.shape == (3, 2)
    assert space.log_volume_density(vector, base).shape == (3, 2)
    assert space.contains(point).shape == (2,)
    assert space.project(base).shape == base.shape


@every_space
def test_a_single_point_has_no_leading_axes(space):
    base, point = batch(space), batch(space, seed=1)
    vector = space.log(point, base)
    assert vector.shape == space.point_shape
    assert space.exp(vector, base).shape == space.point_shape
    assert space.dist(base, point).shape == ()
    assert space.contains(point).shape == ()
    assert space.coordinates(vector, base).shape == (space.dim,)


@every_space
def test_batches_give_what_single_points_give(space):
    base, point = batch(space, 5), batch(space, 5, seed=1)
    logs, lengths = space.log(point, base), space.dist(base, point)
    for i in range(5):
        np.testing.assert_allclose(logs[i], space.log(point[i], base[i]), rtol=0, atol=1e-13)
        assert lengths[i] == pytest.approx(space.dist(base[i], point[i]), abs=1e-13)


# --- dtypes and containers ---------------------------------------------------------------------------------------------


def forms(x, tmp_path):
    """The same numbers in many forms."""
    np.save(tmp_path / "x.npy", x)
    frozen = x.copy()
    frozen.setflags(write=False)
    wide = np.repeat(x, 2, axis=0)
    yield "list", x.tolist()
    yield "list of arrays", list(x)
    yield "tuple of arrays", tuple(x)
    yield "read-only", frozen
    yield "memory-mapped", np.load(tmp_path / "x.npy", mmap_mode="r")
    yield "strided", wide[::2]
    yield "reversed twice", x[::-1].copy()[::-1]
    yield "Fortran order", np.asfortranarray(x)
    yield "big-endian", x.astype(x.dtype.newbyteorder(">"))
    yield "long double", x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


@every_space
def test_every_form_of_the_same_numbers_gives_the_same_result(space, tmp_path):
    x = batch(space, 6)
    expected = rd.frechet_mean(x, space).point
    distances = space.dist(x, x[0])
    for name, form in forms(x, tmp_path):
        np.testing.assert_allclose(rd.frechet_mean(form, space).point, expected, rtol=0, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(space.dist(form, x[0]), distances, rtol=0, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(space.project(form), space.project(x), rtol=0, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("space", [rd.SPDAffine(3), rd.SPDLogEuclidean(3), rd.Euclidean(4)], ids=repr)
@pytest.mark.parametrize("n", [30, 20_000])
def test_float32_is_widened_not_rounded(space, n):
    x = batch(space, n).astype(np.float32)
    narrow, wide = rd.frechet_mean(x, space), rd.frechet_mean(x.astype(float), space)
    np.testing.assert_array_equal(narrow.point, wide.point)
    assert narrow.point.dtype == np.float64


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Hyperbolic(2), rd.KendallShapes(4)], ids=repr)
def test_float32_points_of_thin_spaces_are_projected_first(space):
    """Single precision misses a sphere by 1e-8 or more: `project` makes points of it, in double precision."""
    x = batch(space, 50).astype(np.float32)
    points = space.project(x)
    assert points.dtype == np.float64
    assert space.contains(points).all()
    assert space.dist(rd.frechet_mean(points, space).point, rd.frechet_mean(batch(space, 50), space).point) < 1e-6


def test_integers_and_narrow_floats_are_real_numbers():
    x = np.array([[[2, 1], [1, 2]], [[3, 0], [0, 1]]])
    for dtype in (np.int64, np.int8, np.uint16, np.float16):
        same = rd.frechet_mean(x.astype(dtype), rd.SPDAffine(2)).point
        np.testing.assert_array_equal(same, rd.frechet_mean(x.astype(float), rd.SPDAffine(2)).point)
    assert rd.Sphere(2).dist([0, 0, 1], [0, 1, 0]) == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(rd.Sphere(1).project(np.array([3, 4])), [0.6, 0.8])
    np.testing.assert_allclose(rd.frechet_mean([[1, 2], [3, 6]], rd.Euclidean(2)).point, [2, 4])


def test_input_is_never_written_to():
    for space in SPACES:
        x = batch(space, 8)
        copy = x.copy()
        vector = space.log(x, x[0])
        rd.frechet_mean(x, space)
        space.project(x)
        space.exp(vector, x[0])
        np.testing.assert_array_equal(x, copy)


# --- landmarks, real and complex ---------------------------------------------------------------------------------


def test_complex_and_real_landmarks_are_one():
    space = rd.KendallShapes(5)
    raw = np.random.default_rng(0).standard_normal((20, 5, 2))
    real = space.project(raw)
    complex_ = space.project(raw @ [1, 1j])
    assert complex_.shape == (20, 5)
    np.testing.assert_array_equal(complex_, real @ [1, 1j])
    np.testing.assert_array_equal(space.contains(complex_), space.contains(real))
    np.testing.assert_array_equal(space.dist(complex_[:10], complex_[10:]), space.dist(real[:10], real[10:]))
    near = space.geodesic(complex_[0], complex_, 0.05)
    mean = rd.frechet_mean(near, space).point
    assert mean.shape == (5,)
    as_real = np.stack([near.real, near.imag], axis=-1)
    np.testing.assert_array_equal(rd.frechet_mean(as_real, space).point @ [1, 1j], mean)


def test_the_answer_comes_in_the_form_of_the_base_point():
    space = rd.KendallShapes(4)
    a, b = space.random_point(2, 0)
    za, zb = a @ [1, 1j], b @ [1, 1j]
    assert space.log(b, a).shape == space.log(zb, a).shape == (4, 2)
    assert space.log(zb, za).shape == space.log(b, za).shape == (4,)
    np.testing.assert_array_equal(space.log(zb, za), space.log(b, a) @ [1, 1j])
    assert space.exp(space.log(zb, za), za).dtype == np.complex128
    assert space.project(za.astype(np.complex64)).dtype == np.complex128


# --- products ----------------------------------------------------------------------------------------------------------


def test_products_split_and_join():
    space = rd.Product(rd.SPDAffine(2), rd.KendallShapes(4), rd.Sphere(1))
    x = space.random_point(7, 0)
    parts = space.split(x)
    assert [part.shape for part in parts] == [(7, 2, 2), (7, 4, 2), (7, 2)]
    np.testing.assert_array_equal(space.join(parts), x)
    np.testing.assert_array_equal(space.join([parts[0], parts[1] @ [1, 1j], parts[2]]), x)
    for i, factor in enumerate(space.factors):
        expected = rd.frechet_mean(parts[i], factor).point
        np.testing.assert_allclose(space.split(rd.frechet_mean(x, space).point)[i], expected, atol=1e-12)
    squares = sum(f.dist(a[0], a) ** 2 for f, a in zip(space.factors, parts, strict=True))
    np.testing.assert_allclose(space.dist(x[0], x) ** 2, squares, atol=1e-14)


def test_products_project_parts_and_flat_vectors():
    space = rd.Product(rd.Sphere(2), rd.Euclidean(2))
    sphere, plane = np.array([[3.0, 0, 4.0]]), np.array([[1.0, 2.0]])
    expected = [[0.6, 0, 0.8, 1, 2]]
    for raw in ((sphere, plane), [sphere, plane], np.concatenate([sphere, plane], axis=1), [[3, 0, 4, 1, 2]]):
        np.testing.assert_allclose(space.project(raw), expected, atol=1e-15)
    two_records = [[3, 0, 4, 1, 2], [0, 0, 9, 1, 2]]  # as many as there are factors
    assert space.project(two_records).shape == (2, 5)
    assert rd.Product(rd.Euclidean(3)).project([[1, 2, 3]]).shape == (1, 3)
