"""Whatever is wrong with an argument: one InputError that names it, no other exception, no warning."""

from __future__ import annotations

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import SPACES
from riemdp.errors import InputError, RiemdpError

every_space = pytest.mark.parametrize("space", SPACES, ids=repr)
I3 = np.eye(3)


def complaint(action) -> str:
    """The message of the InputError that the action raises."""
    with pytest.raises(InputError) as caught:
        action()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_input_errors_are_value_errors_of_the_package():
    assert issubclass(InputError, RiemdpError)
    assert issubclass(RiemdpError, ValueError)


# --- every method of every space -----------------------------------------------------------------------------------


def nonsense(space):
    """Values that are no batch of points, whatever the space."""
    good = space.random_point(3, 0)
    yield "None", None
    yield "string", "points"
    yield "list of strings", ["a", "b"]
    yield "object", object()
    yield "dictionary", {"a": 1}
    yield "number", 3.0
    yield "boolean", np.ones((2, *space.point_shape), dtype=bool)
    yield "ragged", [[1.0, 2.0], [1.0]]
    yield "ragged deep", [good[0].tolist(), good[0].reshape(-1)[:-1].tolist() or 0.0]
    yield "empty list", []
    yield "empty array", good[:0]
    yield "one axis too many in a point", good[..., None] * np.ones(7)
    yield "too wide", np.concatenate([good, good], axis=-1)
    yield "huge integer", [10**400, 1.0]
    yield "dates", np.array(["2020-01-01"], dtype="datetime64[D]")


CALLS = {
    "base_point of exp": (lambda s, bad, x, v: s.exp(v, bad), "base_point"),
    "tangent_vec of exp": (lambda s, bad, x, v: s.exp(bad, x), "tangent_vec"),
    "point of log": (lambda s, bad, x, v: s.log(bad, x), "point"),
    "base_point of log": (lambda s, bad, x, v: s.log(x, bad), "base_point"),
    "a of dist": (lambda s, bad, x, v: s.dist(bad, x), "a"),
    "b of dist": (lambda s, bad, x, v: s.dist(x, bad), "b"),
    "u of inner": (lambda s, bad, x, v: s.inner(bad, v, x), "u"),
    "v of inner": (lambda s, bad, x, v: s.inner(v, bad, x), "v"),
    "base_point of inner": (lambda s, bad, x, v: s.inner(v, v, bad), "base_point"),
    "tangent_vec of norm": (lambda s, bad, x, v: s.norm(bad, x), "tangent_vec"),
    "tangent_vec of coordinates": (lambda s, bad, x, v: s.coordinates(bad, x), "tangent_vec"),
    "base_point of from_coordinates": (lambda s, bad, x, v: s.from_coordinates(np.zeros(s.dim), bad), "base_point"),
    "tangent_vec of log_volume_density": (lambda s, bad, x, v: s.log_volume_density(bad, x), "tangent_vec"),
    "a of geodesic": (lambda s, bad, x, v: s.geodesic(bad, x, 0.5), "a"),
    "b of geodesic": (lambda s, bad, x, v: s.geodesic(x, bad, 0.5), "b"),
    "points of contains": (lambda s, bad, x, v: s.contains(bad), "points"),
    "raw of project": (lambda s, bad, x, v: s.project(bad), "raw"),
    "X of frechet_mean": (lambda s, bad, x, v: rd.frechet_mean(bad, s), "X"),
}


@every_space
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_array_of_points_is_named(space, call):
    action, name = CALLS[call]
    x = space.random_point(1, 0)[0]
    vector = space.log(x, x)
    for kind, bad in nonsense(space):
        message = complaint(lambda bad=bad: action(space, bad, x, vector))
        assert message.startswith((f"{name} ", f"{name}[")), (kind, message)


@every_space
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_named(space, call, value):
    action, name = CALLS[call]
    x = space.random_point(3, 0)
    vector = space.log(x, x)
    bad = (vector if name in ("tangent_vec", "u", "v") else x).copy()
    bad[1].reshape(-1)[-1] = value
    if name == "points":
        np.testing.assert_array_equal(space.contains(bad), [True, False, True])
        return
    assert complaint(lambda: action(space, bad, x, vector)).startswith(f"{name}[1]")


@pytest.mark.parametrize("space", [s for s in SPACES if not isinstance(s, rd.KendallShapes | rd.HPDAffine | rd.HPDLogEuclidean)], ids=repr)
def test_complex_numbers_are_refused_where_real_ones_are_needed(space):
    x = space.random_point(2, 0) * (1 + 0j)
    assert "X is complex" in complaint(lambda: rd.frechet_mean(x, space))
    assert "a is complex" in complaint(lambda: space.dist(x, x))
    assert "raw is complex" in complaint(lambda: space.project(x))


@every_space
def test_points_off_the_space_are_named_and_the_remedy_is_project(space):
    if isinstance(space, rd.Euclidean | rd.Torus):
        return  # every vector is a point
    x = space.random_point(4, 0)
    far_off = x.copy()
    far_off[2] = -15 * x[2] + 1
    for action, name in ((lambda: space.dist(far_off, x), "a"), (lambda: space.log(x, far_off), "base_point")):
        message = complaint(action)
        assert f"{name}[2]" in message
        assert "project" in message
    if not isinstance(space, rd.KendallShapes):  # whose raw landmarks stand for a shape
        assert "X[2]" in complaint(lambda: rd.frechet_mean(far_off, space))


@every_space
def test_vectors_off_the_tangent_space_are_named(space):
    x = space.random_point(2, 0)
    normal = np.random.default_rng(0).standard_normal((2, *space.point_shape))
    if np.prod(space.point_shape) * (2 if np.iscomplexobj(x) else 1) == space.dim:
        return  # every vector is tangent
    for name, action in (
        ("tangent_vec", lambda: space.exp(normal, x)),
        ("tangent_vec", lambda: space.norm(normal, x)),
        ("u", lambda: space.inner(normal, normal, x)),
    ):
        assert f"{name}[0] is not a tangent vector" in complaint(action)


@every_space
def test_batches_that_do_not_broadcast_are_named(space):
    two, three = space.random_point(2, 0), space.random_point(3, 0)
    vectors = space.log(three, three)
    for names, action in (
        (("point", "base_point"), lambda: space.log(three, two)),
        (("a", "b"), lambda: space.dist(two, three)),
        (("tangent_vec", "base_point"), lambda: space.exp(vectors, two)),
        (("coords", "base_point"), lambda: space.from_coordinates(np.zeros((3, space.dim)), two)),
        (("a", "b", "t"), lambda: space.geodesic(two, two, np.zeros(3))),
        (("u", "v"), lambda: space.inner(space.log(two, three[0]), space.log(three, three[0]), three[0])),
    ):
        message = complaint(action)
        assert all(f"{name} (" in message for name in names)


@every_space
def test_coordinates_and_times_must_be_finite_numbers_of_the_right_shape(space):
    x = space.random_point(1, 0)[0]
    for bad in (None, "c", [[1.0], [1.0, 2.0]], np.zeros(space.dim + 1), np.full(space.dim, np.nan), 1j * np.ones(space.dim), []):
        assert complaint(lambda bad=bad: space.from_coordinates(bad, x)).startswith("coords ")
    for bad in (None, "t", [[1.0], [1.0, 2.0]], np.nan, np.inf, 1j):
        assert complaint(lambda bad=bad: space.geodesic(x, x, bad)).startswith("t ")


@every_space
def test_random_points_need_a_whole_number_and_a_seed(space):
    for bad in (0, -1, 2.0, "3", None, True, np.nan):
        assert "size = " in complaint(lambda bad=bad: space.random_point(bad, 0))
    for bad in ("seed", -1, 1.5, object()):
        assert "rng = " in complaint(lambda bad=bad: space.random_point(2, bad))


NOT_COMPACT = [s for s in SPACES if np.isinf(s.injectivity_radius) and not isinstance(s, rd.Euclidean)]


@pytest.mark.parametrize("space", NOT_COMPACT, ids=repr)
def test_vectors_too_long_for_floats_are_refused(space):
    """No overflow, no infinite or singular point."""
    base = space.origin
    vector = space.from_coordinates(np.linspace(1.0, 1.5, space.dim), base)
    for factor in (1e5, -1e5):
        assert "tangent_vec" in complaint(lambda factor=factor: space.exp(factor * vector, base))
        assert "t " in complaint(lambda factor=factor: space.geodesic(base, space.exp(vector, base), factor))


def test_flat_points_beyond_the_largest_float_are_refused():
    assert "tangent_vec" in complaint(lambda: rd.Euclidean(2).exp([1e308, 0], [1e308, 0]))


# --- the mean ----------------------------------------------------------------------------------------------------------


@every_space
def test_one_axis_of_records_is_needed(space):
    x = space.random_point(4, 0)
    for bad in (x[0], x.reshape(2, 2, *space.point_shape)):
        assert "X has shape" in complaint(lambda bad=bad: rd.frechet_mean(bad, space))


@pytest.mark.parametrize("tol", [0, -1e-10, np.nan, np.inf, "small", 1j, [1e-10], True])
def test_tolerance_must_be_positive(tol):
    assert "tol = " in complaint(lambda: rd.frechet_mean([[1.0]], rd.Euclidean(1), tol=tol))


@pytest.mark.parametrize("max_iter", [0, -3, 2.5, "ten", None, True])
def test_passes_must_be_a_positive_whole_number(max_iter):
    assert "max_iter = " in complaint(lambda: rd.frechet_mean([[1.0]], rd.Euclidean(1), max_iter=max_iter))


@pytest.mark.parametrize("space", [None, "spd-affine", 3, rd.SPDAffine, object()])
def test_space_must_be_a_space(space):
    assert "space = " in complaint(lambda: rd.frechet_mean(np.eye(3)[None], space))


def test_numbers_too_large_to_add_are_refused():
    assert "X " in complaint(lambda: rd.frechet_mean(np.full((4, 2), 1e308), rd.Euclidean(2)))
    many = np.full((10_000, 2), 1e308) * [1, -1]
    assert "X " in complaint(lambda: rd.frechet_mean(many, rd.Euclidean(2)))


# --- making a space ----------------------------------------------------------------------------------------------------

SIZES = [
    (rd.Euclidean, "d", 0),
    (rd.Sphere, "d", 0),
    (rd.Hyperbolic, "d", 0),
    (rd.SPDAffine, "k", 0),
    (rd.SPDLogEuclidean, "k", 0),
    (rd.KendallShapes, "k", 2),
]


@pytest.mark.parametrize(("make", "name", "too_small"), SIZES)
def test_dimensions_must_be_whole_numbers_large_enough(make, name, too_small):
    for bad in (too_small, -1, 2.0, 3.5, "3", None, True, np.nan, [3], np.array([3, 4])):
        assert f"{name} = " in complaint(lambda bad=bad: make(bad))
    assert make(np.int64(4)).dim == make(4).dim


@pytest.mark.parametrize("bad", [0, 0.0, -0.0, np.nan, np.inf, -np.inf, "1", None, 1j, True, [1.0]])
def test_curvature_must_be_a_finite_number_that_is_not_zero(bad):
    for make in (rd.Sphere, rd.Hyperbolic):
        assert "curvature = " in complaint(lambda make=make: make(2, curvature=bad))


def test_curvature_must_have_the_sign_of_the_space():
    assert "Hyperbolic" in complaint(lambda: rd.Sphere(2, curvature=-1.0))
    assert "Sphere" in complaint(lambda: rd.Hyperbolic(2, curvature=1.0))


@pytest.mark.parametrize("factors", [(), (3,), (None,), (rd.Euclidean(2), "sphere"), (rd.Euclidean,)])
def test_products_are_made_of_spaces(factors):
    assert complaint(lambda: rd.Product(*factors)).startswith("Product")


def test_parts_of_a_product_must_fit():
    space = rd.Product(rd.Sphere(2), rd.SPDAffine(3))
    assert "parts" in complaint(lambda: space.join([I3[0]]))
    assert "parts" in complaint(lambda: space.join(None))
    assert "parts[1]" in complaint(lambda: space.join([I3[0], np.eye(2)]))
    assert "parts[0]" in complaint(lambda: space.join([[[1], [1, 2]], I3]))
    assert "parts[0]" in complaint(lambda: space.join([np.ones((2, 3)), np.ones((3, 3, 3))]))
    assert "point" in complaint(lambda: space.split(np.ones(5)))
    assert "raw" in complaint(lambda: space.project(([0.0, 0, 0], I3)))
    assert "raw" in complaint(lambda: space.project([I3[0], "matrix"]))


# --- what cannot be projected --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "raw"),
    [
        (rd.Sphere(2), [0.0, 0, 0]),
        (rd.KendallShapes(3), np.ones((3, 2))),
        (rd.KendallShapes(3), np.full((3, 2), 1e30)),
        (rd.KendallShapes(4), np.zeros(4, dtype=complex)),
        (rd.SPDAffine(2), [[1, 2], [2, 1]]),
        (rd.SPDAffine(2), np.zeros((2, 2))),
        (rd.SPDLogEuclidean(2), -np.eye(2)),
        (rd.SPDLogEuclidean(1), [[0.0]]),
    ],
    ids=repr,
)
def test_raw_data_that_no_projection_can_save(space, raw):
    raw = np.asarray(raw)
    assert complaint(lambda: space.project(raw)).startswith("raw cannot be projected")
    good = space.origin if raw.dtype.kind != "c" else space.origin @ [1, 1j]
    assert complaint(lambda: space.project(np.stack([good, raw]))).startswith("raw[1] cannot be projected")


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-20, 1e20, 1e200, 1e307])
def test_raw_data_of_any_size_can_be_projected(scale):
    for space in (rd.Sphere(3), rd.KendallShapes(5), rd.SPDAffine(3), rd.SPDLogEuclidean(2)):
        if scale == 1e-310 and hasattr(space, "k"):
            continue  # subnormal squares: such landmarks coincide, such matrices are singular
        x = space.random_point(5, 0)
        projected = space.project(scale * x)
        assert space.contains(projected).all()
        if not repr(space).startswith("SPD"):
            assert (space.dist(projected, x) <= 1e-9).all()


# --- log-Euclidean vector space and log-Gaussian law ---------------------------------------------------------------------


def test_vector_space_operations_name_their_arguments():
    space = rd.SPDLogEuclidean(3)
    for bad in (None, "a", -I3, np.eye(2), 1j * I3, np.full((3, 3), np.nan), []):
        assert complaint(lambda bad=bad: space.oplus(bad, I3)).startswith("a ")
        assert complaint(lambda bad=bad: space.ominus(I3, bad)).startswith("b ")
        assert complaint(lambda bad=bad: space.odot(2.0, bad)).startswith("a ")
    for bad in (None, "t", np.nan, np.inf, 1j, [[1.0], [1.0, 2.0]]):
        assert complaint(lambda bad=bad: space.odot(bad, I3)).startswith("t ")
    for bad in (None, "m", np.eye(2), np.arange(9.0).reshape(3, 3), np.full((3, 3), np.nan)):
        assert complaint(lambda bad=bad: space.vecd(bad)).startswith("matrix ")
    for bad in (None, "c", np.zeros(5), np.full(6, np.inf)):
        assert complaint(lambda bad=bad: space.invvecd(bad)).startswith("coords ")
    two, three = space.random_point(2, 0), space.random_point(3, 0)
    assert "a (2,), b (3,)" in complaint(lambda: space.oplus(two, three))
    assert "t (3,), a (2,)" in complaint(lambda: space.odot([1, 2, 3], two))
    for sign in (1, -1):
        assert "t " in complaint(lambda sign=sign: space.odot(sign * 1e6, 2 * I3))
    assert "b " in complaint(lambda: space.oplus(1e300 * I3, 1e300 * I3))
    assert "b " in complaint(lambda: space.ominus(1e-300 * I3, 1e300 * I3))


def test_log_gaussian_names_its_arguments():
    cov = np.eye(6)
    for bad in (None, "m", -I3, np.ones((2, 3)), 1j * I3, [[1.0], [1.0, 2.0]], np.stack([I3, I3]), np.empty((0, 0)), 3.0):
        assert complaint(lambda bad=bad: rd.LogGaussian(bad, cov)).startswith("mean ")
    for bad in (None, "c", I3, -cov, 1j * cov, np.full((6, 6), np.nan), np.zeros((6, 6)), [[1.0], [1.0, 2.0]]):
        assert complaint(lambda bad=bad: rd.LogGaussian(I3, bad)).startswith("covariance ")
    law = rd.LogGaussian(I3, cov)
    for bad in (None, np.eye(2), -I3, [[1.0], [1.0, 2.0]]):
        assert complaint(lambda bad=bad: law.log_density(bad)).startswith("points ")
    assert "size = " in complaint(lambda: law.sample(-1, 0))
    assert "rng = " in complaint(lambda: law.sample(2, "seed"))
