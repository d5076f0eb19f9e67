"""Bits that are the same in every run, where a release asks the operating system for them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from riemdp import randomness


@contextmanager
def reproducible_bits(name: str) -> Iterator[None]:
    """Statistical tests would else fail by chance once in a long while, and their wrong controls pass."""
    bits = random.Random(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomness, "secrets", SimpleNamespace(randbits=bits.getrandbits))
        patch.setattr(randomness, "os", SimpleNamespace(urandom=bits.randbytes))
        yield
