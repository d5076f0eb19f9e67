"""Records of other libraries are read by conversion: data frames, and arrays of the array API."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import riemdp as rd

SPACE = rd.Euclidean(3)
BALL = rd.Ball(SPACE, np.zeros(3), 2.0)
X = np.random.default_rng(0).normal(size=(50, 3)) / 4


class Exchanging:
    """An array that offers the array API's exchange, and nothing that NumPy knows of."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Elsewhere(Exchanging):
    """The same on another device, from which NumPy cannot read."""

    def __dlpack__(self, **options):
        raise BufferError("not on the CPU")

    def __dlpack_device__(self):
        return (2, 0)


def strict(array):
    return pytest.importorskip("array_api_strict").asarray(array)


def nullable(array):
    return pd.DataFrame(array, columns=list("abc")).astype("Float64")


forms = pytest.mark.parametrize("form", [pd.DataFrame, nullable, Exchanging, strict], ids=lambda form: form.__name__)


@forms
def test_releases_read_them(form):
    draws = [rd.simulate(records, BALL, "mu=1", size=2, seed=0) for records in (X, form(X))]
    np.testing.assert_array_equal(*draws)
    assert rd.check(form(X), BALL) == rd.check(X, BALL)
    assert rd.private_mean(form(X), BALL, "mu=1").n == 50


@forms
def test_estimators_read_them(form):
    fitted = rd.PrivateFrechetMean(ball=BALL, guarantee="mu=1").fit(form(X))
    assert fitted.n_features_in_ == 3


@pytest.mark.parametrize("form", [pd.DataFrame, Exchanging, strict], ids=lambda form: form.__name__)
def test_geometry_and_means_read_them(form):
    np.testing.assert_array_equal(rd.frechet_mean(form(X), SPACE).point, rd.frechet_mean(X, SPACE).point)
    np.testing.assert_array_equal(SPACE.dist(form(X), form(X)), np.zeros(50))


def test_an_array_that_cannot_be_read_gets_one_sentence():
    with pytest.raises(rd.InputError, match="X does not form one array"):
        rd.frechet_mean(Elsewhere(X), SPACE)
    with pytest.raises(rd.InputError, match="X does not form one array"):
        rd.private_mean(Elsewhere(X), BALL, "mu=1")
