"""Laws, grid, exactness and isolation of the release arithmetic.

Every statistical test rejects at p < 1e-8; there are fewer than 100 of them here, so that together they raise
a false alarm less than once in 10^6 runs. Each law has controls, 3 % too much and too little noise, which the
same test must reject.
"""

from __future__ import annotations

import math
import os
import random
import sys
import threading
import time
from fractions import Fraction
from itertools import count

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from scipy import special, stats

from reproducible import reproducible_bits
from riemdp import randomness
from riemdp.arithmetic import working_precision
from riemdp.errors import InputError
from riemdp.privacy.noise import add_gaussian, add_laplace, grid_step
from riemdp.randomness import LazyUniform, decide

LEVEL = 1e-8
MECHANISMS = [add_gaussian, add_laplace]
LINE_LAWS = [(add_gaussian, special.ndtr), (add_laplace, stats.laplace.cdf)]
INPUTS = [0.0, 1.0, math.pi, -1e8, 1e-8, 5e-324]


# --- the hypothesis test --------------------------------------------------------------------------


def p_value(probabilities):
    """Of 'independent and uniform on [0, 1]': the smallest of three exact tests, times three (Bonferroni).

    Kolmogorov-Smirnov sees any shape; the mean and the sum of squares of the normal scores see shifts and
    scales, the latter with far greater power.
    """
    scores = special.ndtri(probabilities)
    mean = 2 * special.ndtr(-abs(scores.sum()) / math.sqrt(len(scores)))
    squares = special.chdtr(len(scores), scores @ scores)
    shape = stats.kstest(probabilities, "uniform").pvalue
    return 3 * min(mean, 2 * min(squares, 1 - squares), shape)


def assert_law(sample, cdf):
    """The sample follows the law, and neither 3 % more nor 3 % less does."""
    assert p_value(cdf(sample)) > LEVEL
    assert p_value(cdf(1.03 * sample)) < LEVEL
    assert p_value(cdf(sample / 1.03)) < LEVEL


def cells_p_value(observed, probabilities):
    """Of 'multinomial with these probabilities': the exact binomial test of every cell, Bonferroni.

    Pearson's statistic is not yet chi-square at a level of 1e-8 when the cells hold a few hundred.
    """
    total = np.sum(observed)
    below = stats.binom.cdf(observed, total, probabilities)
    above = stats.binom.sf(np.asarray(observed) - 1, total, probabilities)
    return 2 * len(observed) * min(below.min(), above.min())


def draws(mechanism, size, dim, scale=0.7, center=0.3):
    """`size` releases, centred and in units of the scale."""
    values, grid = np.full(dim, center), grid_step(scale)
    return (np.array([mechanism(values, scale, grid) for _ in range(size)]) - center) / scale


def halves_ratio(vectors):
    half = vectors.shape[1] // 2
    return (vectors[:, :half] ** 2).sum(1) / (vectors**2).sum(1)


# --- the laws -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gaussian():
    with reproducible_bits("gaussian"):
        return draws(add_gaussian, 900, 110)


@pytest.fixture(scope="module")
def laplace():
    with reproducible_bits("laplace"):
        return draws(add_laplace, 1100, 140)


def test_gaussian_marginals_are_normal(gaussian):
    assert_law(gaussian.ravel(), special.ndtr)


def test_gaussian_squared_norms_are_chi_square(gaussian):
    assert_law(np.linalg.norm(gaussian, axis=1), lambda r: special.chdtr(gaussian.shape[1], r**2))


def test_laplace_radii_are_gamma(laplace):
    assert_law(np.linalg.norm(laplace, axis=1), lambda r: special.gammainc(laplace.shape[1], r))


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_directions_are_uniform(law, request):
    """|first half|^2 / |all|^2 ~ Beta(d/4, d/4) on the sphere; axes 3 % off must show."""
    vectors = request.getfixturevalue(law)
    dim = vectors.shape[1]
    stretch = np.where(np.arange(dim) < dim // 2, 1.03, 1 / 1.03)

    def p(v):
        return p_value(special.betainc(dim / 4, dim / 4, halves_ratio(v)))

    assert p(vectors) > LEVEL
    assert p(vectors * stretch) < LEVEL
    assert p(vectors / stretch) < LEVEL


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_directions_on_the_two_sphere(mechanism):
    """Archimedes: each coordinate is uniform on [-1, 1], each azimuth on the circle."""
    sample = draws(mechanism, 2000, 3)
    unit = sample / np.linalg.norm(sample, axis=1, keepdims=True)
    for axis in range(3):
        assert p_value((1 + unit[:, axis]) / 2) > LEVEL
        assert p_value(0.5 + np.arctan2(unit[:, axis], unit[:, axis - 1]) / (2 * np.pi)) > LEVEL


@pytest.mark.parametrize(("mechanism", "radius_cdf"), [
    (add_gaussian, lambda r: special.chdtr(2, r**2)),
    (add_laplace, lambda r: special.gammainc(2, r)),
])
def test_radius_and_angle_are_independent_in_the_plane(mechanism, radius_cdf):
    sample = draws(mechanism, 3000, 2)
    radius = radius_cdf(np.linalg.norm(sample, axis=1))
    angle = 0.5 + np.arctan2(sample[:, 1], sample[:, 0]) / (2 * np.pi)
    table, *_ = np.histogram2d(radius, angle, bins=6, range=[[0, 1], [0, 1]])
    assert cells_p_value(table.ravel(), np.full(36, 1 / 36)) > LEVEL


@pytest.mark.parametrize(("mechanism", "cdf"), LINE_LAWS)
def test_one_dimension(mechanism, cdf):
    """A few thousand numbers resolve 25 %; the vectors above, which are many more, 3 %."""
    sample = draws(mechanism, 4000, 1).ravel()
    assert p_value(cdf(sample)) > LEVEL
    assert p_value(cdf(1.25 * sample)) < LEVEL
    assert p_value(cdf(sample / 1.25)) < LEVEL


@pytest.mark.parametrize(("mechanism", "radius_cdf"), [
    (add_gaussian, lambda r: special.chdtr(10_000, r**2)),
    (add_laplace, lambda r: special.gammainc(10_000, r)),
])
def test_ten_thousand_dimensions(mechanism, radius_cdf):
    """Three draws, whose Gamma radii spread by 1 %; so the controls are 7 % off."""
    sample = draws(mechanism, 3, 10_000)
    assert p_value(radius_cdf(np.linalg.norm(sample, axis=1))) > LEVEL
    assert p_value(radius_cdf(np.linalg.norm(1.07 * sample, axis=1))) < LEVEL
    assert p_value(radius_cdf(np.linalg.norm(sample / 1.07, axis=1))) < LEVEL
    assert p_value(special.betainc(2500, 2500, halves_ratio(sample))) > LEVEL


# --- lazy refinement ------------------------------------------------------------------------------


class RedrawnUniform(LazyUniform):
    """The classical mistake: fresh digits whenever more are asked for."""

    __slots__ = ()

    def ball(self, bits):
        if bits > self._known:
            self._digits, self._known = 0, 0
        return super().ball(bits)


def coarse_p_value(mechanism, cdf, grid, size=2500, center=0.3):
    """Of the exact law of round((center + noise)/grid) on a grid so coarse that a few digits often decide."""
    edges = cdf((np.arange(-12, 12) + 0.5) * grid - center)
    probabilities = np.diff(edges, prepend=0.0, append=1.0)
    multiples = np.array([mechanism(np.array([center]), 1.0, grid)[0] for _ in range(size)]) / grid
    observed = np.bincount(np.clip(multiples, -12, 12).astype(int) + 12, minlength=25)
    return cells_p_value(observed, probabilities)


@pytest.mark.parametrize(("first_bits", "grid"), [(1, 1.0), (2, 4.0), (4, 0.5)])
@pytest.mark.parametrize(("mechanism", "cdf"), LINE_LAWS)
def test_refinement_keeps_the_law(mechanism, cdf, first_bits, grid, monkeypatch):
    monkeypatch.setattr(randomness, "FIRST_BITS", first_bits)
    assert coarse_p_value(mechanism, cdf, grid) > LEVEL


@pytest.mark.parametrize(("mechanism", "cdf"), LINE_LAWS)
def test_redrawing_instead_of_refining_would_show(mechanism, cdf, monkeypatch):
    monkeypatch.setattr(randomness, "FIRST_BITS", 2)
    monkeypatch.setattr(randomness, "LazyUniform", RedrawnUniform)
    assert coarse_p_value(mechanism, cdf, grid=4.0) < LEVEL


@pytest.mark.parametrize(("mechanism", "radius_cdf"), [
    (add_gaussian, lambda r: special.chdtr(60, r**2)),
    (add_laplace, lambda r: special.gammainc(60, r)),
])
def test_refinement_keeps_the_law_of_vectors(mechanism, radius_cdf, monkeypatch):
    monkeypatch.setattr(randomness, "FIRST_BITS", 2)
    assert p_value(radius_cdf(np.linalg.norm(draws(mechanism, 150, 60), axis=1))) > LEVEL


def fixed_uniforms(seed, total=4096):
    """A factory of LazyUniforms whose k-th has the digits number k of a reproducible sequence."""
    stream, made = random.Random(seed), []

    class FixedUniform(LazyUniform):
        __slots__ = ("all_digits",)

        def __init__(self):
            super().__init__()
            self.all_digits = stream.getrandbits(total)
            made.append(Fraction(self.all_digits, 2**total))

        def ball(self, bits):
            return arb((2 * (self.all_digits >> (total - bits)) + 1, -bits - 1), (1, -bits - 1))

    return FixedUniform, made


def ideal_normals(uniforms, size):
    """Box-Muller in mpmath, from the front of the list of uniforms."""
    normals = []
    while len(normals) < size:
        u, v = uniforms.pop(0), uniforms.pop(0)
        length = mpmath.sqrt(-2 * mpmath.log(u))
        normals += [length * mpmath.cospi(2 * v), length * mpmath.sinpi(2 * v)]
    return normals[:size]


def ideal_noise(mechanism, uniforms, size):
    uniforms = [mpmath.mpf(u.numerator) / u.denominator for u in uniforms]
    if mechanism is add_gaussian:
        return ideal_normals(uniforms, size)
    chi_square = -2 * sum(mpmath.log(uniforms.pop(0)) for _ in range((size + 1) // 2))
    chi_square += sum(z**2 for z in ideal_normals(uniforms, (size + 1) % 2))
    return [mpmath.sqrt(chi_square) * z for z in ideal_normals(uniforms, size)]


@pytest.mark.parametrize("dim", [1, 2, 7])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_rounding_is_that_of_the_real_number_whatever_the_first_bits(mechanism, dim, monkeypatch):
    """Same digits: the release equals the mpmath one at 300 digits, for every ladder of precisions."""
    values, scale = np.linspace(-3.0, 1e8, dim), 0.37
    for seed, first_bits in enumerate((2, 3, 5, 16, 64, 128, 200)):
        uniforms, made = fixed_uniforms(seed)
        monkeypatch.setattr(randomness, "LazyUniform", uniforms)
        monkeypatch.setattr(randomness, "FIRST_BITS", first_bits)
        grid = 2.0**-90 if seed % 2 else grid_step(scale)
        released = mechanism(values, scale, grid)
        with mpmath.workdps(300):
            noises = ideal_noise(mechanism, made, dim)
            ideal = [
                int(mpmath.floor((x + mpmath.mpf(scale) * z) / grid + 0.5))
                for x, z in zip(values.tolist(), noises, strict=True)
            ]
        assert released.tolist() == [float(k * Fraction(grid)) for k in ideal]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_code_that_lowers_the_precision_meanwhile_changes_nothing(mechanism, monkeypatch):
    """Balls are sound at any precision: a foreign thread can cost a refinement, not the result."""

    def release(interfere):
        uniforms, _ = fixed_uniforms(11)

        class Disturbed(uniforms):
            __slots__ = ()

            def ball(self, bits):
                if interfere and bits <= 2 * randomness.FIRST_BITS:
                    ctx.prec = 3
                return super().ball(bits)

        monkeypatch.setattr(randomness, "LazyUniform", Disturbed)
        return mechanism(np.array([1.0, 2.0, 3.0]), 1.0, grid_step(1.0))

    assert (release(interfere=True) == release(interfere=False)).all()


def test_lazy_uniform_appends_digits_and_never_changes_them():
    with working_precision(2000):
        for _ in range(200):
            uniform = LazyUniform()
            balls = [uniform.ball(bits) for bits in (1, 2, 7, 64, 65, 500)]
            for bits, ball in zip((1, 2, 7, 64, 65, 500), balls, strict=True):
                assert 0.5 ** (bits + 1) <= ball.rad() <= 0.5 ** (bits + 1) * 1.0001  # flint may round it up
                assert ball.contains(balls[-1])
            assert uniform.ball(3).mid() == balls[-1].mid()


def test_lazy_uniform_digits_are_fair():
    """Sixteen values of the four digits before and after a refinement, jointly uniform."""
    digits = np.zeros(256)
    for _ in range(20_000):
        uniform = LazyUniform()
        uniform.ball(4)
        uniform.ball(8)
        digits[uniform._digits] += 1
    assert cells_p_value(digits, np.full(256, 1 / 256)) > LEVEL


def test_decide_doubles_the_bits_until_there_is_an_answer(monkeypatch):
    monkeypatch.setattr(randomness, "FIRST_BITS", 8)
    asked = []

    def attempt(bits):
        asked.append((bits, ctx.prec))
        return False if bits >= 32 else None

    assert decide(attempt) is False
    assert asked == [(8, 16), (16, 32), (32, 64)]


# --- the grid -------------------------------------------------------------------------------------


def on_grid(values, grid):
    return all((Fraction(y) / Fraction(grid)).denominator == 1 for y in np.asarray(values).tolist())


def residues(released, grid):
    return np.bincount([int(Fraction(y) / Fraction(grid)) % 8 for y in released.tolist()], minlength=8)


@pytest.mark.parametrize("x", INPUTS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_outputs_are_multiples_of_the_grid_with_a_support_that_does_not_know_the_input(mechanism, x):
    """All residues modulo 8 equally often whatever x (the noise spans 2^20 steps: exact beyond measure)."""
    scale = 1.0
    grid = grid_step(scale)
    released = np.concatenate([mechanism(np.full(100, x), scale, grid) for _ in range(20)])
    assert on_grid(released, grid)
    assert cells_p_value(residues(released, grid), np.full(8, 1 / 8)) > LEVEL


@pytest.mark.parametrize("x", INPUTS)
@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e-3, 1.0, 1e6, 1e300])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_multiples_of_the_grid_at_every_magnitude(mechanism, scale, x):
    grid = grid_step(scale)
    assert on_grid(mechanism(np.full(8, x), scale, grid), grid)


def test_float_noise_would_fail_these_tests():
    """The control: numpy's noise is off the grid, and whether it is on a finer one tells 0 from 1."""
    rng, grid = np.random.default_rng(0), grid_step(1.0)
    assert not on_grid(rng.normal(size=100), grid)
    finest = 2.0**-53
    assert on_grid(1.0 + rng.normal(size=100), finest)
    assert not on_grid(0.0 + rng.normal(size=100), finest)


def test_zero_carries_no_sign():
    zeros = [y for _ in range(200) for y in add_gaussian(np.array([-0.0, -1e-9]), 1e-3, 1.0)]
    assert set(np.copysign(1.0, zeros)) == {1.0}


def test_beyond_53_bits_the_nearest_float_is_still_on_the_grid():
    multiples = [2**53 + 1, -(2**53) - 3, 2**60 + 2**7, 3**70, -(3**70)]
    for grid in (1.0, 2.0**-80, 2.0**40, 5e-324, 2.0**-1000):
        released = randomness.as_floats(multiples, grid)
        assert on_grid(released, grid)
        assert released.tolist() == [float(k * Fraction(grid)) for k in multiples]


def test_past_the_float_range_the_last_multiple_of_the_grid():
    for grid in (2.0**-1074, 1.0, 2.0**971, 2.0**1000, 2.0**1023):
        released = randomness.as_floats([2**3000, -(2**3000)], grid)
        assert on_grid(released, grid)
        assert released[0] == -released[1]
        assert Fraction(sys.float_info.max) - Fraction(grid) < Fraction(released[0])
    largest = add_gaussian(np.array([sys.float_info.max, -sys.float_info.max]), 1e307, grid_step(1e307))
    assert np.isfinite(largest).all()


@pytest.mark.parametrize("scale", [2.0**-1054, 1e-308, 0.1, math.nextafter(1, 0), 1.0, 1.5, 1e300, 1.7e308])
def test_grid_step_is_the_largest_power_of_two_below(scale):
    step = Fraction(grid_step(scale))
    assert step <= Fraction(scale) / 2**20 < 2 * step
    assert math.frexp(grid_step(scale))[0] == 0.5


# --- isolation ------------------------------------------------------------------------------------


def in_child(work):
    """The bytes that `work` returns in a forked child, within 20 s."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            break
        time.sleep(0.001)
    with os.fdopen(reader, "rb") as pipe:
        return pipe.read()


forks = [
    pytest.mark.system_randomness,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def small_release(mechanism=add_laplace):
    return mechanism(np.zeros(4), 1.0, grid_step(1.0))


@pytest.mark.parametrize("mechanism", MECHANISMS)
class TestForks:
    pytestmark = forks

    def test_forked_processes_give_distinct_noise(self, mechanism):
        small_release(mechanism)
        released = [in_child(lambda: small_release(mechanism).tobytes()) for _ in range(6)]
        released.append(small_release(mechanism).tobytes())
        assert all(len(r) == 32 for r in released)
        assert len(set(released)) == 7

    def test_a_fork_during_a_release_of_another_thread_finds_lock_and_precision_free(self, mechanism):
        stop, before = threading.Event(), ctx.prec

        def keep_releasing():
            while not stop.is_set():
                mechanism(np.zeros(500), 1.0, grid_step(1.0))

        thread = threading.Thread(target=keep_releasing)
        thread.start()
        try:
            for _ in range(8):
                answer = in_child(lambda: bytes([ctx.prec]) + small_release(mechanism).tobytes())
                assert len(answer) == 33
                assert answer[0] == before
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_threads_give_distinct_noise_and_restore_the_precision(mechanism):
    before, released, interval = ctx.prec, [], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda: released.extend(small_release(mechanism) for _ in range(30)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert ctx.prec == before
    assert len({release.tobytes() for release in released}) == 8 * 30
    assert len(set(np.concatenate(released))) > 8 * 30 * 4 - 12  # few meet by chance


@pytest.mark.system_randomness
def test_seeding_user_space_generators_repeats_nothing():
    released = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        released.append(small_release())
    assert (released[0] != released[1]).any()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_all_randomness_is_that_of_the_operating_system(mechanism, monkeypatch):
    """With its bits replaced by a constant nothing random is left."""
    monkeypatch.setattr(randomness.secrets, "randbits", lambda bits: (1 << bits) // 3)
    assert (small_release(mechanism) == small_release(mechanism)).all()


@pytest.mark.parametrize("precision", [53, 20, 1000])
def test_the_callers_precision_is_restored_even_by_an_error(precision):
    def failing(bits):
        raise RuntimeError

    with working_precision(precision):
        small_release()
        assert ctx.prec == precision
        with pytest.raises(RuntimeError):
            decide(failing)
        assert ctx.prec == precision


def test_the_input_is_left_alone():
    values = np.array([0.1, 0.2])
    add_gaussian(values, 1.0, grid_step(1.0))
    assert values.tolist() == [0.1, 0.2]


# --- speed and bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(("dim", "seconds"), [(15, 1.5e-3), (45, 3e-3), (465, 30e-3), (10_000, 2.0)])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_speed(mechanism, dim, seconds):
    """The best of a few: what the code costs, not what else the machine does."""
    values, grid = np.zeros(dim), grid_step(1.0)
    for attempt in count():
        start = time.perf_counter()
        mechanism(values, 1.0, grid)
        if time.perf_counter() - start < seconds:
            return
        assert attempt < 20


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 10**400, "1", None, True])
def test_bad_scales(scale):
    for call in (lambda: grid_step(scale), lambda: add_gaussian(np.zeros(2), scale, 1.0)):
        with pytest.raises(InputError, match="scale"):
            call()


def test_a_scale_too_small_for_a_grid():
    with pytest.raises(InputError, match="scale = 1e-320"):
        grid_step(1e-320)


@pytest.mark.parametrize("grid", [0.0, -1.0, 0.3, 3.0, math.nan, math.inf, 1, None])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_grids(mechanism, grid):
    with pytest.raises(InputError, match="power of two"):
        mechanism(np.zeros(2), 1.0, grid)


@pytest.mark.parametrize("values", [
    np.array([17.25, math.nan]),
    np.array([17.25, -math.inf]),
    np.array([]),
    np.array([[17.25]]),
    np.array(17.25),
    np.array([17.25], dtype=np.float32),
    np.array([17.25 + 1j]),
    np.array([17]),
    [17.25],
])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_values_are_refused_without_being_shown(mechanism, values):
    with pytest.raises(InputError, match="values must be") as caught:
        mechanism(values, 1.0, 2.0**-20)
    assert not any(fragment in str(caught.value) for fragment in ("17", "nan", "inf "))
