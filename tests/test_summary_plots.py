"""Pictures of summaries: true to their numbers, of every space, and of two groups."""

import numpy as np
import pytest

import riemdp as rd
from riemdp import plots
from riemdp.summaries.spread import noise_edges
from test_plots import line, pixels, some_ball, some_release

SUMMARISED = [
    rd.Euclidean(2), rd.Euclidean(5), rd.Sphere(1), rd.Sphere(2), rd.Hyperbolic(2), rd.Hyperbolic(1), rd.SPDAffine(2),
    rd.SPDAffine(3), rd.SPDLogEuclidean(5), rd.KendallShapes(5), rd.Simplex(4), rd.Product(rd.Sphere(2), rd.Euclidean(2)),
]  # fmt: skip


def some_summary(space: rd.Space, seed: int = 1, n: int = 2000, guarantee: str = "mu=5", **options) -> rd.Summary:
    """Of records that vary most along the first coordinate."""
    sds = 0.25 * 0.5 ** np.arange(space.dim)
    coords = np.random.default_rng(seed).standard_normal((n, space.dim)) * sds
    X = space.exp(space.from_coordinates(coords, space.origin), space.origin)
    return rd.private_summary(X, some_ball(space), guarantee, **options)


@pytest.mark.parametrize("space", SUMMARISED, ids=repr)
def test_every_space_shows_how_records_vary_and_two_groups(space):
    first, second = (some_summary(space, seed) for seed in (1, 2))
    for figure in (plots.plot_summary(first, stacked=space.dim % 2 > 0), plots.plot_comparison(first, second)):
        shown = pixels(figure)
        assert shown.std() > 10
        edges = np.concatenate([shown[0], shown[-1], shown[:, 0], shown[:, -1]])
        assert (edges > 250).mean() > 0.98  # nothing is cut off at the border


def test_every_picture_of_a_release_has_one_of_modes_and_of_groups():
    from riemdp.plots.groups import OVERLAYS
    from riemdp.plots.surfaces import SURFACES

    assert OVERLAYS.keys() | SURFACES.keys() == plots.PICTURES.keys()


def test_the_ellipse_in_the_plane_is_two_standard_deviations():
    summary = some_summary(rd.Euclidean(2))
    ellipse = line(plots.plot_summary(summary), "2 standard deviations of the records") - summary.value
    lengths = np.sqrt((ellipse @ np.linalg.inv(summary.covariance) * ellipse).sum(axis=1))
    np.testing.assert_allclose(lengths, 2.0, rtol=1e-9)


def test_regions_in_the_close_up_are_those_of_the_summary():
    summary = some_summary(rd.Euclidean(2))
    figure = plots.plot_summary(summary)
    for of in ("population", "records"):
        rim = line(figure, f"95 % region, {of}", panel=1) + summary.value
        region = summary.region(0.95, of=of)
        assert region.contains(summary.value + 0.999 * (rim - summary.value)).all()
        assert not region.contains(summary.value + 1.001 * (rim - summary.value)).any()


def test_modes_of_shapes_are_two_standard_deviations_away():
    space = rd.KendallShapes(5)
    summary = some_summary(space)
    figure = plots.plot_summary(summary, modes=1, links="path")
    dots = [one for one in figure.axes[0].lines if one.get_label() == "_dots"]
    mean, below, above = (space.project(one.get_xydata()) for one in dots)
    sd = np.sqrt(summary.modes(1).variances[0])
    np.testing.assert_allclose(space.dist(mean, summary.value), 0, atol=1e-6)
    np.testing.assert_allclose([space.dist(mean, below), space.dist(mean, above)], 2 * sd, rtol=1e-6)
    np.testing.assert_allclose(space.dist(below, above), 4 * sd, rtol=1e-6)


def test_the_scree_plot_has_the_edge_that_decides():
    summary = some_summary(rd.Euclidean(5), guarantee="mu=1")
    figure = plots.plot_scree(summary)
    (edges,) = [lines for lines in figure.axes[0].collections if "noise alone" in lines.get_label()]
    assert edges.get_label() == "what noise alone reaches,\nbeside the modes before"
    reached = np.array([segment[0, 1] for segment in edges.get_segments()])
    heights = np.array([bar.get_height() for bar in figure.axes[0].patches])
    np.testing.assert_allclose(reached, noise_edges(5, summary.moments.second_noise))
    assert reached[0] == pytest.approx(summary.moments.edge)
    np.testing.assert_array_equal(heights > reached, summary.spread.significant)
    np.testing.assert_allclose(heights.sum(), np.trace(summary.moments.second) - _square(summary))


@pytest.mark.parametrize(("space", "second"), [(rd.Euclidean(5), "diagonal"), (rd.Sphere(1), "full")], ids=repr)
def test_an_edge_that_does_not_fall_needs_no_reason(space, second):
    figure = plots.plot_scree(some_summary(space, second=second))
    (edges,) = [lines for lines in figure.axes[0].collections if "noise alone" in lines.get_label()]
    assert edges.get_label() == "what noise alone reaches"
    assert len({segment[0, 1] for segment in edges.get_segments()}) == 1


def _square(summary: rd.Summary) -> float:
    """What the mean takes of the second moment, its noise left out."""
    moments = summary.moments
    return float((moments.first**2).sum() - moments.dim * moments.first_noise**2)


def test_where_noise_hides_all_modes_the_mean_is_shown():
    hidden = some_summary(rd.SPDAffine(3), guarantee="mu=0.01")
    assert len(hidden.modes()) == 0
    assert "entries of the released mean" in plots.plot_summary(hidden).axes[0].get_title()
    assert "no more than noise" in plots.plot_summary(hidden, modes=1).axes[0].get_title()


def test_a_sum_of_variances_has_no_scree_plot():
    trace = some_summary(rd.Euclidean(5), second="trace")
    figure = plots.plot_summary(trace)
    assert len(figure.axes) == 1
    assert f"their mean; dispersion {trace.dispersion:.4g}" in figure.get_suptitle()
    assert "how they vary" in plots.plot_summary(some_summary(rd.Euclidean(5))).get_suptitle()
    with pytest.raises(rd.InputError, match="second='full'"):
        plots.plot_scree(trace)


def test_a_summary_of_one_record_has_its_picture():
    with pytest.warns(rd.UselessRelease):
        one = some_summary(rd.Sphere(2), n=1)
    assert pixels(plots.plot_summary(one)).std() > 10


@pytest.mark.parametrize("plot", [plots.plot_summary, plots.plot_scree])
def test_only_summaries_have_modes(plot):
    with pytest.raises(rd.InputError, match="private_summary"):
        plot(some_release(rd.Sphere(2), rd.GDP(1.0)))


def test_wrong_pairs_are_refused():
    first = some_summary(rd.Sphere(2))
    with pytest.raises(rd.InputError, match="different spaces"):
        plots.plot_comparison(first, some_summary(rd.Euclidean(2)))
    with pytest.raises(rd.InputError, match="does not tell how much records vary"):
        plots.plot_comparison(first, some_release(rd.Sphere(2), rd.GDP(1.0)))
    with pytest.raises(rd.InputError, match="pass two"):
        plots.plot_comparison(first, first, labels=["one"])
    with pytest.raises(rd.InputError, match="modes = 0"):
        plots.plot_summary(first, modes=0)


def test_shadows_are_those_of_the_regions():
    """In a flat space a region reaches as far along each coordinate as its bar is long."""
    first, second = (some_summary(rd.Euclidean(3), seed) for seed in (1, 2))
    bars = plots.plot_comparison(first, second).axes[1].containers
    for summary, bar in zip((first, second), bars, strict=True):
        rim = summary.region(0.95, of="population").boundary(20_000) - summary.value
        lengths = [np.ptp(segment[:, 1]) / 2 for segment in bar.lines[2][0].get_segments()]
        np.testing.assert_allclose(np.abs(rim).max(axis=0), lengths, rtol=0.02)


@pytest.mark.parametrize("second", ["trace", "diagonal"])
def test_too_many_dimensions_for_a_covariance_have_a_picture_of_the_mean_and_a_page(second):
    """Whatever can be shown is shown: all of it comes after the release."""
    dim = 10_001
    X = np.random.default_rng(0).standard_normal((50, dim), dtype=np.float32) * np.float32(0.3 / dim**0.5)
    made = rd.private_summary(X, rd.Ball(rd.Euclidean(dim), np.zeros(dim), 1.0), rd.GDP(50.0), second=second)
    assert "dispersion" in plots.plot_summary(made)._suptitle.get_text()
    assert "10,001 dimensions, which are too many for a covariance" in str(made)
