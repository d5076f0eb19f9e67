"""The demonstration runs, tells the truth and draws."""

import subprocess
import sys

import numpy as np
import pytest

from riemdp import SPDLogEuclidean
from riemdp.demo import class_means, load_digits


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_prints_a_table_and_draws_a_picture_when_piped(tmp_path):
    command = [sys.executable, "-m", "riemdp.demo", str(tmp_path / "new" / "folder")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    picture = tmp_path / "new" / "folder" / "means.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in printed.replace("\n", "")
    assert len([line for line in printed.splitlines() if line.split()[:1] and line.split()[0].isdigit()]) == 10


def test_every_mean_is_as_certified(digits):
    """The log-Euclidean mean has a closed form that NumPy computes on its own."""
    result = class_means(digits, SPDLogEuclidean(9))
    for digit, mean in enumerate(result.means):
        values, vectors = np.linalg.eigh(digits.descriptors[digits.is_known & (digits.labels == digit)])
        logarithm = ((vectors * np.log(values)[:, None]) @ vectors.transpose(0, 2, 1)).mean(axis=0)
        values, vectors = np.linalg.eigh(mean.point)
        error = np.linalg.norm((vectors * np.log(values)) @ vectors.T - logarithm)
        assert error <= mean.error_bound + 1e-11
        assert mean.error_bound <= 1e-9


def test_means_tell_digits_apart(digits):
    accuracies = class_means(digits, SPDLogEuclidean(9)).accuracies
    assert np.mean(accuracies) > 0.7
    assert min(accuracies) > 0.5  # chance is 0.1
