"""Two summaries compared: against formulas written down by hand, and what is refused. Rates: tests/experiments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import riemdp as rd
from riemdp.population import Weights, hotelling, mean_error


def summary(space=None, shift=0.0, n=3000, guarantee=None, radius=4.0, **asked):
    space = space or rd.Euclidean(2)
    coords = np.random.default_rng(n).standard_normal((n, space.dim)) * np.linspace(1.0, 0.5, space.dim)
    coords = 0.2 * radius * coords + shift
    X = space.exp(space.from_coordinates(coords, space.origin), space.origin)
    return rd.private_summary(X, rd.Ball(space, space.origin, radius), guarantee or rd.GDP(1.0), **asked)


def test_in_flat_space_it_is_the_textbook_formula():
    a, b = summary(n=3000), summary(n=2000, shift=0.1, guarantee=rd.GDP(2.0), radius=5.0)
    found = rd.compare(a, b)
    delta = b.value - a.value
    noise = sum(one.moments.first_noise**2 for one in (a, b))
    S = a.covariance / a.n + b.covariance / b.n + noise * np.eye(2)
    assert found.statistic == pytest.approx(delta @ np.linalg.inv(S) @ delta, rel=1e-6)
    assert found.distance == pytest.approx(np.linalg.norm(delta))
    assert found.degrees == 2
    assert stats.chi2.sf(found.statistic, 2) <= found.p_value <= 1.5 * stats.chi2.sf(found.statistic, 2) + 1e-3


def test_it_does_not_matter_which_comes_first():
    a, b = summary(rd.SPDAffine(2), radius=2.0), summary(rd.SPDAffine(2), shift=0.05, radius=2.0, n=2500)
    there, back = rd.compare(a, b), rd.compare(b, a)
    assert there.statistic == pytest.approx(back.statistic, rel=1e-6)
    assert there.p_value == pytest.approx(back.p_value, rel=1e-5)


def test_it_does_not_matter_where_the_space_is_looked_at():
    """Congruence is an isometry of affine-invariant matrices: moved summaries differ by as much."""
    space, move = rd.SPDAffine(2), np.array([[2.0, 0.0], [0.7, 0.5]])
    a, b = summary(space, radius=2.0), summary(space, shift=0.05, radius=2.0)
    moved = [replace(one, value=move @ one.value @ move.T, center=move @ one.center @ move.T) for one in (a, b)]
    assert rd.compare(*moved).statistic == pytest.approx(rd.compare(a, b).statistic, rel=1e-6)
    assert rd.compare(*moved).distance == pytest.approx(rd.compare(a, b).distance, rel=1e-9)


@pytest.mark.parametrize(
    ("space", "radius"), [(rd.Sphere(2), 1.0), (rd.KendallShapes(5), 0.5), (rd.Hyperbolic(3), 2.0), (rd.Product(rd.Sphere(2), rd.Euclidean(1)), 1.0)], ids=repr
)  # fmt: skip
def test_every_space_has_it(space, radius):
    a, b = summary(space, radius=radius), summary(space, shift=0.1 * radius, radius=radius, n=2900)
    assert rd.compare(a, b).p_value < 1e-4 < rd.compare(a, a).p_value == 1.0


def test_it_says_what_it_supposes():
    found = rd.compare(summary(), summary(n=500))
    assert "no person is in both groups" in str(found)
    assert "moved into" in str(found)
    assert "no person is in both groups" in found._repr_html_()
    assert f"{found.p_value:.3g}: so often" in found._repr_html_()
    assert repr(found).endswith(f"p = {found.p_value:.3g}>")


def test_different_spaces_are_refused():
    with pytest.raises(rd.InputError, match=r"different spaces, Euclidean\(d=2\) and Euclidean\(d=3\)"):
        rd.compare(summary(), summary(rd.Euclidean(3)))


def test_a_mean_alone_is_refused():
    mean = rd.private_mean(np.zeros((100, 2)), rd.Ball(rd.Euclidean(2), np.zeros(2), 1.0), rd.GDP(1.0))
    with pytest.raises(rd.InputError, match=r"b is a Release, .* private_summary"):
        rd.compare(summary(), mean)
    with pytest.raises(rd.InputError, match="a is a ndarray"):
        rd.compare(np.zeros(2), summary())


def test_saved_summaries_compare_the_same(tmp_path):
    a, b = summary(), summary(n=500)
    a.save(tmp_path / "a.json")
    assert rd.compare(rd.Release.load(tmp_path / "a.json"), b) == rd.compare(a, b)


# --- the parts ----------------------------------------------------------------------------------------------------


def test_many_degrees_are_a_chi_square_law():
    assert hotelling(3, 1e9, 3).ppf(0.95) == pytest.approx(stats.chi2.ppf(0.95, 3), rel=1e-6)
    assert hotelling(3, 20, 3).ppf(0.95) == pytest.approx(3 * 20 / 18 * stats.f.ppf(0.95, 3, 18))
    assert hotelling(3, 20, 3).sf(hotelling(3, 20, 3).ppf(0.95)) == pytest.approx(0.05)


def test_laplace_noise_alone_has_the_quantile_of_its_own_law():
    """T = |N|²/(d + 1) with |N| ~ Gamma(d): to the accuracy of 16,384 draws."""
    alone = Weights(np.ones(1), np.ones(1), (3,), True)
    exact = stats.gamma.ppf(0.95, 3) ** 2 / 4 / stats.chi2.ppf(0.95, 3)
    assert alone.stretch(0.95) == pytest.approx(exact, rel=0.03)
    assert replace(alone, is_laplace=False).stretch(0.95) == 1.0


def test_one_direction_that_has_it_all():
    """3 chi-square of one degree, against the quantile of that."""
    alone = Weights(np.array([3.0, 0.0]), np.zeros(2), (1, 2), False)
    assert alone.stretch(0.95) == pytest.approx(3 * stats.chi2.ppf(0.95, 1) / stats.chi2.ppf(0.95, 3), rel=0.03)


def test_records_without_noise_have_the_region_of_hotelling():
    """Full second moments, hardly any noise: Hotelling's T² with n degrees of freedom, which the textbook has n - 1 of."""
    made = summary(guarantee=rd.GDP(1e4))
    error = mean_error(made)
    assert error.degrees == pytest.approx(made.n, rel=1e-2)
    assert made.region(0.95, of="population").radius ** 2 == pytest.approx(
        2 * made.n / (made.n - 1) * stats.f.ppf(0.95, 2, made.n - 1), rel=1e-3
    )
    assert error.axes @ error.axes.T == pytest.approx(made.covariance / made.n, rel=1e-2, abs=1e-7)


def test_regions_of_summaries():
    made = summary(rd.SPDAffine(2), radius=2.0)
    records, population = made.region(0.9), made.region(0.9, of="population")
    assert (records.of, population.of, population.level) == ("records", "population", 0.9)
    rim = records.boundary(50)
    assert population.contains(rim).all()
    assert population.contains(made.value)
    assert not records.contains(population.boundary(50)).any()
    with pytest.raises(rd.InputError, match="of = 'people': pass one of 'records', 'population'"):
        made.region(0.9, of="people")


@pytest.mark.parametrize("second", ["full", "diagonal", "trace"])
def test_a_single_record_has_a_region(second):
    """Of no use, but no failure: the covariance is noise."""
    ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 1.0)
    with pytest.warns(rd.UselessRelease):
        made = rd.private_summary(np.zeros((1, 3)), ball, rd.GDP(1.0), second=second)
    region = made.region(of="population")
    assert np.isfinite(region.radius)
    assert region.contains(made.value)
