"""Pictures: of every space, true to their formulas, and made from public things alone."""

import doctest
import subprocess
import sys
import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import riemdp as rd
from manifolds.examples import SPACES
from riemdp import plots, report
from riemdp.group_report import write_comparison
from riemdp.mechanisms import MECHANISMS
from riemdp.releases.release import Stage

MORE = [rd.SPDAffine(3), rd.SPDLogEuclidean(12), rd.Euclidean(2), rd.Euclidean(60), rd.KendallShapes(30), rd.Simplex(4)]
GUARANTEES = [rd.PureDP(1.0), rd.ApproxDP(1.0, 1e-3), rd.GDP(1.0), rd.ZCDP(0.1), rd.RDP(8.0, 0.5)]


def some_ball(space: rd.Space) -> rd.Ball:
    return rd.Ball(space, space.origin, min(0.45 * space.uniqueness_radius, 1.5))


def some_release(space: rd.Space, guarantee: rd.Guarantee, n: int = 40, **options) -> rd.Release:
    return rd.private_mean(space.random_point(n, 1), some_ball(space), guarantee, **options)


def pixels(figure) -> np.ndarray:
    figure.set_dpi(40)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def line(figure, label: str, panel: int = 0) -> np.ndarray:
    """The data (points, 2) of the line with this label."""
    (found,) = [line for line in figure.axes[panel].lines if line.get_label() == label]
    return found.get_xydata()


@pytest.mark.parametrize(("space", "stacked"), [(space, i % 2 > 0) for i, space in enumerate([*SPACES, *MORE])], ids=repr)
def test_every_space_gives_a_picture_that_is_not_blank(space, stacked):
    release = some_release(space, GUARANTEES[space.dim % 5])
    figure = plots.plot_release(release, stacked=stacked, simulations=30)
    shown = pixels(figure)
    assert shown.std() > 10
    assert (shown < 250).any(axis=-1).mean() > 0.02
    edges = np.concatenate([shown[0], shown[-1], shown[:, 0], shown[:, -1]])
    assert (edges > 250).mean() > 0.98  # nothing is cut off at the border
    width, height = figure.get_size_inches()
    assert width <= (4.5 if stacked else 10)
    assert 3 < height < 10


@pytest.mark.parametrize("mechanism", list(MECHANISMS))
def test_every_mechanism_gives_a_picture(mechanism):
    space = rd.KendallShapes(5) if mechanism == "pointwise-laplace" else rd.Sphere(2)
    guarantee = rd.PureDP(1.0) if "gaussian" not in mechanism else rd.GDP(1.0)
    assert pixels(plots.plot_release(some_release(space, guarantee, mechanism=mechanism))).std() > 10


def test_every_mechanism_has_a_style_of_its_own():
    assert set(plots.STYLES) == set(MECHANISMS)
    assert len({style["color"] for style in plots.STYLES.values()}) == len(MECHANISMS)
    assert len({style["marker"] for style in plots.STYLES.values()}) == len(MECHANISMS)


def test_spaces_ask_for_pictures_that_exist_and_every_picture_is_asked_for():
    assert {space.picture for space in [*SPACES, *MORE]} == set(plots.PICTURES)


def test_a_wrong_release_is_refused():
    with pytest.raises(rd.InputError, match="private_mean"):
        plots.plot_release(np.eye(3))


# --- what they show ----------------------------------------------------------------------------------------


def test_poincare_disc():
    """At the origin the rim has Euclidean radius tanh(r/2R); x -> x/(R + x_0)."""
    space = rd.Hyperbolic(2, curvature=-4.0)
    release = some_release(space, rd.GDP(1.0))
    figure = plots.plot_release(release)
    np.testing.assert_allclose(np.linalg.norm(line(figure, "public ball"), axis=1), np.tanh(release.radius), rtol=1e-12)
    time, *x = release.value
    np.testing.assert_allclose(line(figure, "released mean")[0], np.array(x) / (0.5 + time), rtol=1e-12)


def test_globe_is_an_orthographic_projection():
    space = rd.Sphere(2, curvature=4.0)
    center = space.project([0.3, -0.8, 0.4])
    release = rd.private_mean(space.exp(np.zeros((30, 3)), center), rd.Ball(space, center, 0.3), rd.PureDP(30.0))
    figure = plots.plot_release(release)
    rim, middle = line(figure, "public ball"), line(figure, "public centre")[0]
    assert np.linalg.norm(middle) == pytest.approx(np.sin(np.pi / 6))  # seen from 30 degrees beside it
    spread = np.linalg.svd(rim[:-1] - rim[:-1].mean(axis=0), compute_uv=False) / np.sqrt(180)
    np.testing.assert_allclose(spread, [np.sin(0.6), np.sin(0.6) * np.cos(np.pi / 6)], rtol=1e-9)  # a circle, tilted


def test_a_released_mean_behind_the_globe_is_said_to_be_there():
    space = rd.Sphere(2)
    release = some_release(space, rd.GDP(1.0))
    behind = rd.Release.from_dict(release.to_dict() | {"value": (-release.center).tolist()})
    assert "behind" in plots.plot_release(behind).axes[0].get_title()


def test_close_up_keeps_distances():
    """The circle of the predicted error, and the distance of the centre, around the released mean."""
    space = rd.Sphere(2)
    release = some_release(space, rd.GDP(0.5))
    figure = plots.plot_release(release)
    circle = line(figure, f"predicted noise {release.expected_error:.3g}", panel=1)
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), release.expected_error)
    away = np.linalg.norm(line(figure, "public centre", panel=1)[0])
    assert away == pytest.approx(float(space.dist(release.value, release.center)))


def test_ellipse_is_one_standard_deviation():
    release = some_release(rd.SPDAffine(2), rd.PureDP(1.0))
    figure = plots.plot_release(release)
    outline = line(figure, "released mean", panel=-1)
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", outline, np.linalg.inv(release.value), outline), 1.0)


def test_ellipsoid_is_one_standard_deviation():
    matrix = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])
    mesh = plots.matrices.mesh(matrix).reshape(3, -1)
    np.testing.assert_allclose(np.einsum("in,ij,jn->n", mesh, np.linalg.inv(matrix), mesh), 1.0)


def test_landmarks_are_turned_onto_the_centre():
    """No other rotation of the released mean is closer to the centre."""
    release = some_release(rd.KendallShapes(6), rd.PureDP(1.0))
    figure = plots.plot_release(release)
    shown, center = (line(figure, name) @ [1, 1j] for name in ("released mean", "public centre"))
    turns = np.exp(1j * np.linspace(0, 2 * np.pi, 1000))
    best = np.abs(turns[:, None] * shown - center).__pow__(2).sum(axis=1).min()
    assert (np.abs(shown - center) ** 2).sum() <= best + 1e-12
    value = release.value @ [1, 1j]
    assert abs(np.vdot(shown, value)) == pytest.approx(1.0)


def test_error_bars_are_the_predicted_error_of_one_coordinate():
    release = some_release(rd.Euclidean(9), rd.GDP(1.0))
    (bars,) = [c for c in plots.plot_release(release).axes[0].collections if len(c.get_paths()) == 9]
    lengths = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]
    np.testing.assert_allclose(lengths, 2 * release.expected_error / 3)


@pytest.mark.parametrize("mechanism", ["riemannian-laplace", "wrapped-laplace"])
def test_simulated_releases_have_the_release_s_own_noise(mechanism):
    """Root mean square distance of 20,000 draws: its relative standard error is below 0.5 %, the limit 4 %."""
    release = some_release(rd.SPDAffine(2), rd.PureDP(1.0), n=200, mechanism=mechanism)
    cloud = plots.simulated_releases(release, 20_000, 0)
    distance = np.sqrt(np.mean(rd.SPDAffine(2).dist(release.value, cloud) ** 2))
    assert abs(distance / release.expected_error - 1) < 0.04
    assert np.array_equal(cloud[:5], plots.simulated_releases(release, 20_000, 0)[:5])


@pytest.mark.parametrize("guarantee", [rd.GDP(1.0), rd.PureDP(1.0)], ids=repr)
def test_a_summary_has_the_picture_of_its_mean(guarantee):
    """Simulated means of 20,000 draws, as above."""
    space = rd.Euclidean(3)
    summary = rd.private_summary(space.random_point(500, 1), some_ball(space), guarantee)
    cloud = plots.simulated_releases(summary, 20_000, 0)
    assert abs(np.sqrt(np.mean(space.dist(summary.value, cloud) ** 2)) / summary.expected_error - 1) < 0.04
    assert pixels(plots.plot_release(summary)).std() > 10


# --- whose ball, which names, which links ------------------------------------------------------------------


def adaptive_release(space: rd.Space) -> rd.Release:
    """A release with a private centre: the given one's own, as if it had been found."""
    release = some_release(space, rd.GDP(1.0))
    facts = (rd.GDP(1.0), release.mechanism, release.sensitivity, release.scale, release.center, release.radius)
    return replace(release, stages=(Stage("radius", *facts), Stage("mean", *facts)))


def all_texts(figure) -> str:
    """Legends, titles and labels."""
    found = [text for legend in figure.legends for text in legend.get_texts()]
    found += [part for ax in figure.axes for part in (ax.title, ax.xaxis.label, *ax.get_xticklabels(), *ax.texts)]
    return " | ".join(text.get_text() for text in found)


@pytest.mark.parametrize("space", [rd.Sphere(2), rd.Sphere(1), rd.Hyperbolic(2), rd.Euclidean(2), rd.Euclidean(9), rd.SPDAffine(2),
                                   rd.SPDAffine(3), rd.SPDLogEuclidean(4), rd.KendallShapes(5), rd.Product(rd.Sphere(2), rd.Sphere(2))], ids=repr)  # fmt: skip
def test_private_centres_are_called_private(space):
    release = adaptive_release(space)
    found, given = (all_texts(plots.plot_release(one, simulations=5)) for one in (release, replace(release, stages=())))
    assert "private centre" in found
    assert "public" not in found
    assert found.replace("private", "public") == given


AXES = np.array([[1.0, 0.3], [-0.3, 0.2]])


def in_ellipsoid(space: rd.Space, make=rd.private_mean, **asked) -> rd.Release:
    """Of records at the centre of a given ellipsoid, whose half axes are about 1 and 0.28."""
    given = rd.Ellipsoid(space, space.origin, axes=AXES, radius=1.0)
    return make(np.tile(space.origin, (500, 1)), given, rd.GDP(1.0), **asked)


@pytest.mark.parametrize("make", [rd.private_mean, rd.private_summary])
@pytest.mark.parametrize("space", [rd.Euclidean(2), rd.Hyperbolic(2)], ids=repr)
def test_simulated_releases_have_the_shape_of_an_ellipsoid(space, make):
    """Covariance of 20,000 draws in coordinates: standard errors are below 1 % of the product of two deviations, the
    limit 6 %. Noise that is the same in all directions is 10 times off."""
    release = in_ellipsoid(space, make)
    center = release.ball.inner_center
    cloud = space.log_coords(space.read(plots.simulated_releases(release, 20_000, 0), "cloud"), center)
    expected = AXES @ AXES.T / np.linalg.norm(AXES) ** 2 * release.expected_error**2
    spreads = np.sqrt(np.diag(expected))
    assert (np.abs(np.cov(cloud.T) - expected) < 0.06 * np.outer(spreads, spreads)).all()


def test_the_rim_of_an_ellipsoid_is_drawn():
    rim = line(plots.plot_release(in_ellipsoid(rd.Euclidean(2)), simulations=5), "public ellipsoid")
    np.testing.assert_allclose(np.linalg.norm(np.linalg.solve(AXES, rim.T), axis=0), 1.0)


def test_error_bars_have_the_shape_of_an_ellipsoid():
    axes = np.arange(1.0, 10.0)
    given = rd.Ellipsoid(rd.Euclidean(9), np.zeros(9), axes, radius=1.0)
    release = rd.private_mean(np.zeros((500, 9)), given, rd.GDP(1.0))
    (bars,) = [c for c in plots.plot_release(release).axes[0].collections if len(c.get_paths()) == 9]
    lengths = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]
    np.testing.assert_allclose(lengths, 2 * release.expected_error * axes / np.linalg.norm(axes), rtol=1e-6)


@pytest.mark.parametrize("space", [rd.Euclidean(2), rd.Hyperbolic(2), rd.Euclidean(9)], ids=repr)
def test_ellipsoids_are_not_called_balls(space):
    spreads = 0.3 * 0.5 ** np.arange(space.dim)
    coords = spreads * np.random.default_rng(0).standard_normal((2000, space.dim))
    X = space.exp(space.from_coordinates(coords, space.origin), space.origin)
    found = rd.private_mean(X, rd.Ball(space, space.origin, 5.0), rd.GDP(10.0), adapt=True)
    given = rd.private_mean(X, rd.Ellipsoid.from_public(space, X), rd.GDP(1.0))
    for release, words in ((found, "private ellipsoid"), (given, "public ellipsoid")):
        texts = all_texts(plots.plot_release(release, simulations=5))
        assert words in texts
        assert "ball" not in texts.replace("ball around the public ellipsoid", "")


def test_rows_and_columns_of_a_matrix_have_names():
    release, names = some_release(rd.SPDAffine(3), rd.GDP(1.0)), ["Fz", "$C_z$", "\x1b[31m"]
    ax = plots.plot_release(release, names=names).axes[0]
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["Fz", "$C_z$", "\\x1b[31m"]
        assert not any(label.get_parse_math() for label in labels)
    assert pixels(ax.figure).std() > 10


def test_long_names_stand_upright():
    names = [f"a rather long name {i}" for i in range(6)]
    ax = plots.plot_release(some_release(rd.Euclidean(6), rd.GDP(1.0)), names=names).axes[0]
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0}
    assert [label.get_text() for label in ax.get_xticklabels()] == names


@pytest.mark.parametrize("options", [{}, {"title": ""}, {"stacked": True}], ids=repr)
def test_long_names_have_room(options):
    names = [*map(str, range(11)), "left hippocampus"]
    figure = plots.plot_release(some_release(rd.SPDLogEuclidean(12), rd.GDP(9.0)), names=names, **options)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box, legend = figure.axes[0].get_tightbbox(canvas.get_renderer()), figure.legends[0].get_window_extent()
    assert legend.y1 <= box.y0
    assert box.y1 <= figure.bbox.y1
    assert box.x0 >= 0


def test_landmarks_have_names():
    texts = all_texts(plots.plot_release(some_release(rd.KendallShapes(4), rd.GDP(1.0)), names=["nose", "eye", "ear", "chin"]))
    assert all(name in texts for name in ("nose", "eye", "ear", "chin"))


@pytest.mark.parametrize(("links", "count"), [(None, 5), ("outline", 5), ("path", 4), ("none", 0), ([(0, 2), (4, 1)], 2)], ids=repr)
def test_links_between_landmarks(links, count):
    release = some_release(rd.KendallShapes(5), rd.GDP(1.0))
    figure = plots.plot_release(release, links=links)
    lines = [item.get_xydata() for item in figure.axes[0].lines if item.get_label() == "_links"]
    assert [len(line) for line in lines] == [3 * count] * 2  # of the centre and of the mean: two ends and a gap
    if links == [(0, 2), (4, 1)]:
        points = line(figure, "released mean")
        np.testing.assert_array_equal(lines[1][[0, 1, 3, 4]], points[[0, 2, 4, 1]])


@pytest.mark.parametrize("links", ["circle", [(0, 5)], [(0, 1, 2)], [(-1, 2)], 3, [("a", "b")]], ids=repr)
def test_wrong_links_are_refused(links):
    with pytest.raises(rd.InputError, match="links"):
        plots.plot_release(some_release(rd.KendallShapes(5), rd.GDP(1.0)), links=links)


def test_only_landmarks_have_links():
    with pytest.raises(rd.InputError, match="only landmarks"):
        plots.plot_release(some_release(rd.Sphere(2), rd.GDP(1.0)), links="path")


# --- where pictures are drawn ------------------------------------------------------------------------------

DRAWN = {
    "release": lambda **where: plots.plot_release(some_release(rd.Sphere(2), rd.GDP(1.0)), simulations=5, **where),
    "matrix": lambda **where: plots.plot_release(some_release(rd.SPDAffine(3), rd.GDP(1.0)), simulations=5, **where),
    "summary": lambda **where: plots.plot_summary(some_summary(1), **where),
    "scree": lambda **where: plots.plot_scree(some_summary(1), **where),
    "comparison": lambda **where: plots.plot_comparison(some_summary(1), some_summary(2), **where),
    "tradeoff": lambda **where: plots.plot_tradeoff(rd.GDP(1.0), **where),
    "utility": lambda **where: plots.plot_utility(some_ball(rd.Sphere(2)), rd.GDP(1.0), n=[10, 100], **where),
}
PANELS = {"release": 2, "matrix": 2, "summary": 3, "comparison": 2}


def some_summary(seed: int) -> rd.Summary:
    return rd.private_summary(rd.Sphere(2).random_point(40, seed), some_ball(rd.Sphere(2)), rd.GDP(5.0))


@pytest.mark.parametrize("name", DRAWN)
def test_on_axes_of_one_s_own(name):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert DRAWN[name](ax=left, title="mine $") is left  # no figure: a notebook shows the one that was there, once
    assert left.get_title() == "mine $"
    assert left.has_data()
    assert not right.has_data()
    assert figure.get_suptitle() == ""
    assert name == "matrix" or left.get_legend() is not None
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("layout", [None, "constrained"])
def test_on_a_part_of_a_figure(name, layout):
    figure = Figure(figsize=(12, 5), layout=layout)
    left, right = figure.subfigures(1, 2)
    assert DRAWN[name](ax=left) is left
    panels = [ax for ax in left.axes if ax.get_label() != "<colorbar>"]
    assert len(panels) == PANELS.get(name, 1)
    assert not right.axes
    assert bool(left.legends) == (layout is not None)  # where there is no room below, each panel has its own
    assert layout or any(ax.get_legend() for ax in panels)
    assert pixels(figure).std() > 5


@pytest.mark.parametrize("name", DRAWN)
def test_sizes_and_titles(name):
    figure = DRAWN[name](size=(5, 3.5), title="A title")
    assert tuple(figure.get_size_inches()) == (5, 3.5)
    assert "A title" in (figure.get_suptitle(), figure.axes[0].get_title())
    bare = DRAWN[name](title="")
    assert bare.get_suptitle() == ""
    assert not bare.axes[0].get_title() or name in PANELS  # there it is the panel's


@pytest.mark.parametrize("where", [{"ax": 3}, {"size": 3}, {"size": (1, -2)}, {"size": (1, 1e9)}, {"size": (1, 2, 3)}, {"size": (1, float("nan"))}], ids=repr)
def test_what_is_no_place_or_size_is_refused(where):
    with pytest.raises(rd.InputError, match=next(iter(where))):
        plots.plot_tradeoff(rd.GDP(1.0), **where)


def test_a_figure_that_is_there_has_its_size():
    with pytest.raises(rd.InputError, match="size and ax"):
        plots.plot_tradeoff(rd.GDP(1.0), ax=Figure(), size=(3, 3))


def test_a_notebook_shows_the_figure_once_and_sharp():
    """The last line of a cell: as PNG by the figure itself, since pyplot knows nothing of it."""
    figure = plots.plot_tradeoff(rd.GDP(1.0), size=(4, 3))
    png, about = figure._repr_png_()
    assert png.startswith(b"\x89PNG")
    width, height = (int.from_bytes(png[i : i + 4], "big") for i in (16, 20))
    assert (width, height) == (2 * about["width"], 2 * about["height"]) == (800, 600)
    assert figure._repr_html_() is None


@pytest.mark.parametrize("function", [plots.plot_release, plots.plot_utility, plots.plot_tradeoff, plots.tradeoff, plots.save_figure,
                                      plots.plot_summary, plots.plot_scree, plots.plot_comparison,
                                      report.write_report, report.report_html, write_comparison],
                         ids=lambda function: function.__name__)  # fmt: skip
def test_examples_in_docstrings_run(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = vars(plots) | {"rd": rd, function.__name__: function}
    (test,) = [found for found in doctest.DocTestFinder().find(function, globs=names) if found.examples]
    assert doctest.DocTestRunner().run(test).failed == 0


# --- guarantees --------------------------------------------------------------------------------------------

TYPE_ONE = np.array([0.0, 1e-9, 0.01, 0.05, 0.3, 0.5, 0.9, 1.0])


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_tradeoff_is_one(guarantee):
    """Convex, falling, its own inverse, and no better than blind guesses for the attacked."""
    a = np.linspace(0, 1, 501)
    f = plots.tradeoff(guarantee, a)
    assert ((f >= 0) & (f <= 1 - a + 1e-12)).all()
    assert (np.diff(f) <= 1e-12).all()
    assert (np.diff(f, 2) >= -1e-9).all()
    inner = a[(f > 1e-3) & (f < 0.9)]
    np.testing.assert_allclose(plots.tradeoff(guarantee, plots.tradeoff(guarantee, inner)), inner, atol=2e-3)


def test_tradeoff_of_pure_and_approximate():
    """Randomised response attains the pure one: reports the truth with probability e/(1 + e) at epsilon = 1."""
    corner = 1 / (1 + np.e)
    assert plots.tradeoff(rd.PureDP(1.0), corner) == pytest.approx(corner)
    np.testing.assert_allclose(plots.tradeoff(rd.PureDP(1.0), [0.05, 0.9]), [1 - 0.05 * np.e, 0.1 / np.e])
    np.testing.assert_allclose(plots.tradeoff(rd.ApproxDP(1.0, 0.1), [0.0, 0.05]), [0.9, 0.9 - 0.05 * np.e])
    assert plots.tradeoff(rd.PureDP(800.0), 0.0) == 1.0
    assert plots.tradeoff(rd.PureDP(800.0), 0.5) == 0.0


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_tradeoff_of_two_normals(mu):
    def quantile(p):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)

    expected = [float(mpmath.ncdf(quantile(1 - mpmath.mpf(a)) - mu)) for a in TYPE_ONE[1:-1]]
    np.testing.assert_allclose(plots.tradeoff(rd.GDP(mu), TYPE_ONE[1:-1]), expected, rtol=1e-6)
    np.testing.assert_array_equal(plots.tradeoff(rd.GDP(mu), [0.0, 1.0]), [1.0, 0.0])


@pytest.mark.parametrize("mu", [0.2, 1.0])
def test_bounds_by_conversion_never_promise_more_than_the_truth(mu):
    """Gaussian noise is mu-GDP, (mu²/2)-zCDP and (alpha, alpha mu²/2)-RDP: its own curve is the truth."""
    a = np.linspace(0, 1, 201)
    truth = plots.tradeoff(rd.GDP(mu), a)
    for weaker in (rd.ZCDP(mu**2 / 2), rd.RDP(6.0, 3 * mu**2)):
        bound = plots.tradeoff(weaker, a)
        assert (bound <= truth + 1e-9).all()
        assert bound.max() > 0.9  # it says something


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_tradeoff_picture(guarantee):
    figure = plots.plot_tradeoff(guarantee)
    assert pixels(figure).std() > 10
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any(plots.symbolic(guarantee) in text for text in texts)
    assert ("conversions" in figure.axes[0].get_title()) == isinstance(guarantee, rd.ZCDP | rd.RDP)
    a, b = line(figure, "blind guess: learns nothing").T
    np.testing.assert_allclose(a + b, 1.0)


@pytest.mark.parametrize("wrong", [1.5, -0.1, np.nan])
def test_type_one_error_is_a_probability(wrong):
    with pytest.raises(rd.InputError, match="between 0 and 1"):
        plots.tradeoff(rd.PureDP(1.0), wrong)


def test_guarantees_in_symbols():
    assert plots.symbolic(rd.ApproxDP(0.5, 1e-6)) == "(ε = 0.5, δ = 1e-06)-DP"
    assert plots.symbolic(rd.RDP(8.0, 1 / 3), open_=True) == "(α = 8, ε)-RDP"
    assert plots.symbolic(rd.GDP(1 / 3), exact=True) == "(μ = 0.3333333333333333)-GDP"
    assert plots.symbolic(rd.ZCDP(0.1), open_=True) == "ρ-zCDP"
    with pytest.raises(rd.InputError, match="PureDP"):
        plots.symbolic("epsilon = 1")


# --- predicted errors --------------------------------------------------------------------------------------


def test_utility_against_n_is_what_plan_predicts():
    ball, sizes = some_ball(rd.Sphere(2)), [50, 100, 400]
    figure = plots.plot_utility(ball, rd.GDP(0.5), n=sizes)
    for i, n in enumerate(sizes):
        for row in rd.plan(ball, n, rd.GDP(0.5)):
            assert line(figure, row.mechanism)[i] == pytest.approx((n, row.expected_error))
    assert line(figure, "extrinsic-gaussian (baseline)").shape == (3, 2)
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_utility_against_the_strength_of_any_guarantee(guarantee):
    ball = some_ball(rd.Euclidean(3))
    figure = plots.plot_utility(ball, guarantee, n=100, strengths=[0.1, 0.4])
    assert "100 records" in figure.axes[0].get_xlabel()
    shown = [item for item in figure.axes[0].lines if item.get_label() in MECHANISMS]
    assert shown
    for item in shown:
        (x0, y0), (x1, y1) = item.get_xydata()
        assert (x0, x1) == (0.1, 0.4)
        assert y1 < y0


def test_utility_spans_a_decade_to_both_sides():
    figure = plots.plot_utility(some_ball(rd.Euclidean(2)), rd.PureDP(0.5), n=100)
    x, y = line(figure, "wrapped-laplace").T
    np.testing.assert_allclose(x[[0, -1]], [0.05, 5.0])
    np.testing.assert_allclose(x * y, x[0] * y[0], rtol=1e-6)  # the error is proportional to 1/epsilon


def test_utility_leaves_gaps_where_a_law_does_not_exist():
    ball = rd.Ball(rd.SPDAffine(3), np.eye(3), 1.5)
    figure = plots.plot_utility(ball, rd.PureDP(0.1), n=[10, 1000])
    assert np.isnan(line(figure, "riemannian-laplace")[0, 1])
    assert np.isfinite(line(figure, "riemannian-laplace")[1, 1])


def test_utility_refuses_what_cannot_be():
    ball = some_ball(rd.Euclidean(2))
    with pytest.raises(rd.InputError, match="strengths"):
        plots.plot_utility(ball, rd.PureDP(1.0), n=[10, 20], strengths=[0.1, 1.0])
    with pytest.raises(rd.InputError, match="n = 0"):
        plots.plot_utility(ball, rd.PureDP(1.0), n=0)
    with pytest.raises(rd.InputError, match="guarantee"):
        plots.plot_utility(ball, "strong", n=10)
    with pytest.raises(rd.InputError, match="ball"):
        plots.plot_utility("ball", rd.PureDP(1.0), n=10)


@pytest.mark.parametrize("name", ["$", r"$\frac$"])
def test_a_dollar_in_a_name_is_a_dollar(name, monkeypatch):
    monkeypatch.setattr(rd.Sphere, "__repr__", lambda space: name)
    assert pixels(plots.plot_utility(rd.Ball(rd.Sphere(2), [0, 0, 1], 0.5), rd.PureDP(1.0), n=10)).any()
    release = replace(some_release(rd.SPDAffine(3), rd.PureDP(1.0)), statistic=name, mechanism=name)
    assert pixels(plots.plot_release(release)).any()


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_saved_whole_and_always_the_same(tmp_path, suffix, magic):
    release = some_release(rd.Euclidean(2), rd.PureDP(1.0))
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        plots.save_figure(plots.plot_release(release), path)
    assert paths[0].read_bytes().startswith(magic)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == paths


def test_a_picture_replaces_another_only_by_force(tmp_path):
    figure, path = plots.plot_tradeoff(rd.PureDP(1.0)), tmp_path / "curve.svg"
    path.write_text("mine")
    with pytest.raises(rd.InputError, match="force=True"):
        plots.save_figure(figure, path)
    assert path.read_text() == "mine"
    plots.save_figure(figure, path, force=True)
    assert "<svg" in path.read_text()


@pytest.mark.parametrize("name", ["mean", "mean.jpeg", "nowhere/mean.png"])
def test_bad_file_names_are_refused(tmp_path, name):
    with pytest.raises(rd.InputError, match="path"):
        plots.save_figure(plots.plot_tradeoff(rd.PureDP(1.0)), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_no_global_state_and_no_import_before_it_is_needed():
    code = (
        "import sys, riemdp.report; assert 'matplotlib' not in sys.modules\n"
        "import riemdp as rd; rd.plots = riemdp.plots\n"
        "rd.plots.figure_bytes(rd.plots.plot_tradeoff(rd.PureDP(1.0)), '.png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pictures_raise_no_warning_with_extreme_values():
    space = rd.SPDLogEuclidean(9)
    ball = rd.Ball.from_eigenvalue_bounds(space, 1e-6, 2.9)
    release = rd.private_mean(np.broadcast_to(np.eye(9), (20, 9, 9)), ball, rd.PureDP(0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pixels(plots.plot_release(release)).std() > 10
