"""Where the bits of releases come from. (Their laws are tested in tests/privacy/test_noise.py.)"""

from __future__ import annotations

import os
import random
import secrets

import numpy as np
import pytest

import riemdp as rd
from riemdp import randomness

BALL = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)


@pytest.mark.system_randomness
def test_bits_are_the_operating_systems():
    assert randomness.secrets is secrets
    assert randomness.os is os


@pytest.mark.system_randomness
@pytest.mark.parametrize("mechanism", ["wrapped-laplace", "riemannian-laplace", "kng"])
def test_no_seed_repeats_a_release(mechanism):
    def seeded_release():
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        return rd.private_mean([[0.0, 0.0, 1.0]] * 9, BALL, rd.PureDP(1.0), mechanism=mechanism).value

    assert not np.array_equal(seeded_release(), seeded_release())


def test_in_tests_releases_can_be_repeated(request):
    """The fixture that all other tests rely on: bits from the test's name."""
    expected = random.Random(request.node.nodeid)
    assert [randomness.secrets.randbits(64) for _ in range(3)] == [expected.getrandbits(64) for _ in range(3)]
