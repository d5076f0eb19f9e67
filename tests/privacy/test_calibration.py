"""Calibration: the scale is enough, by independent arithmetic (mpmath), and not noticeably more than enough."""

import math
import time
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, PureDP
from riemdp.errors import InputError, MechanismError
from riemdp.privacy.calibration import gaussian_guarantee, gaussian_scale, laplace_guarantee, laplace_scale

TIGHT = mp.mpf("1e-14")  # a scale smaller by this share must not be enough
quick = settings(max_examples=60, deadline=None)


@pytest.fixture(autouse=True)
def ninety_digits():
    with mp.workdps(90):
        yield


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


SENSITIVITIES = logarithmic(1e-100, 1e100)
EPSILONS = logarithmic(1e-6, 50.0)
DELTAS = st.one_of(logarithmic(1e-300, 0.5), st.floats(0.5, 0.999))
ALPHAS = logarithmic(1e-3, 1e3).map(lambda beta: 1 + beta)
NOT_PURE = st.one_of(
    st.builds(ApproxDP, EPSILONS, DELTAS),
    st.builds(GDP, EPSILONS),
    st.builds(ZCDP, EPSILONS),
    st.builds(RDP, ALPHAS, EPSILONS),
)
ANY = st.one_of(NOT_PURE, st.builds(PureDP, EPSILONS))


def typed(number):
    """What a parameter means: the decimal that it prints as."""
    return mp.mpf(repr(number)) if isinstance(number, float) else mp.mpf(number)


def gaussian_delta(scale, sensitivity, epsilon):
    """Balle, Wang 2018, Theorem 5."""
    mu, epsilon = mp.mpf(sensitivity) / scale, typed(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def gaussian_is_enough(guarantee, scale, sensitivity):
    mu = mp.mpf(sensitivity) / scale
    match guarantee:
        case GDP(bound):
            return mu <= typed(bound)
        case ZCDP(rho):
            return mu**2 / 2 <= typed(rho)
        case RDP(alpha, epsilon):
            return typed(alpha) * mu**2 / 2 <= typed(epsilon)
        case ApproxDP(epsilon, delta):
            return gaussian_delta(scale, sensitivity, epsilon) <= typed(delta)


def response_is_enough(guarantee, epsilon):
    """Whether randomised response, the worst epsilon-DP mechanism, keeps the guarantee."""
    p, q = 1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))
    match guarantee:
        case PureDP(bound):
            return epsilon <= typed(bound)
        case GDP(mu):
            return mp.ncdf(-typed(mu) / 2) <= q
        case ZCDP(rho):
            return epsilon * (p - q) <= typed(rho)
        case RDP(alpha, bound):
            a = typed(alpha)
            return mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1) <= typed(bound)
        case ApproxDP(at, delta):
            return -mp.expm1(typed(at) - epsilon) * p <= typed(delta)  # = p - e^at q


# Section 4 of the specification: sensitivity 1, 20 digits
CHECKED = [
    (0.1, 1e-6, "36.304690426195784939"),
    (0.5, 1e-6, "8.0576184807250442552"),
    (1.0, 1e-5, "3.7306316348159418322"),
    (4.0, 1e-9, "1.4878036771034649279"),
]


@pytest.mark.parametrize(("epsilon", "delta", "value"), CHECKED)
def test_check_values(epsilon, delta, value):
    scale = gaussian_scale(ApproxDP(epsilon, delta), 1.0)
    assert abs(mp.mpf(scale) / mp.mpf(value) - 1) < mp.mpf("1e-15")


def test_check_value_at_a_tiny_delta():
    assert round(gaussian_scale(ApproxDP(1.0, 1e-17), 1.0), 5) == 8.05248


@given(st.builds(ApproxDP, EPSILONS, DELTAS), SENSITIVITIES)
@settings(max_examples=150, deadline=None)
@example(ApproxDP(1e-6, 1e-300), 1.0)
@example(ApproxDP(50.0, 1e-300), 1e100)
@example(ApproxDP(1e-6, 0.999), 1e-100)
def test_analytic_gaussian_is_enough_and_tight(guarantee, sensitivity):
    scale = gaussian_scale(guarantee, sensitivity)
    assert gaussian_is_enough(guarantee, scale, sensitivity)
    assert not gaussian_is_enough(guarantee, scale * (1 - TIGHT), sensitivity)


@given(NOT_PURE, SENSITIVITIES)
@quick
def test_gaussian_is_enough_and_tight(guarantee, sensitivity):
    scale = gaussian_scale(guarantee, sensitivity)
    assert gaussian_is_enough(guarantee, scale, sensitivity)
    assert not gaussian_is_enough(guarantee, scale * (1 - TIGHT), sensitivity)


@given(ANY, SENSITIVITIES)
@quick
def test_laplace_is_enough_and_tight(guarantee, sensitivity):
    scale = laplace_scale(guarantee, sensitivity)
    with mp.workdps(250):
        assert response_is_enough(guarantee, mp.mpf(sensitivity) / scale)
        assert not response_is_enough(guarantee, mp.mpf(sensitivity) / scale * (1 + TIGHT))


@given(NOT_PURE, SENSITIVITIES)
@quick
def test_gaussian_round_trip(guarantee, sensitivity):
    scale = gaussian_scale(guarantee, sensitivity)
    assert gaussian_guarantee(scale, sensitivity, guarantee) <= guarantee
    assert not gaussian_guarantee(scale * (1 - 1e-14), sensitivity, guarantee) <= guarantee


@given(ANY, SENSITIVITIES)
@quick
def test_laplace_round_trip(guarantee, sensitivity):
    scale = laplace_scale(guarantee, sensitivity)
    assert laplace_guarantee(scale, sensitivity, guarantee) <= guarantee
    assert not laplace_guarantee(scale * (1 - 1e-14), sensitivity, guarantee) <= guarantee


def test_closed_forms():
    assert gaussian_scale(GDP(0.5), 3.0) == 6.0
    assert gaussian_scale(ZCDP(0.5), 3.0) == 3.0
    assert gaussian_scale(RDP(8.0, 1.0), 3.0) == 6.0
    assert laplace_scale(PureDP(0.5), 3.0) == 6.0
    assert gaussian_guarantee(2.0, 1.0, GDP(9.0)) == GDP(0.5)
    assert gaussian_guarantee(2.0, 1.0, RDP(4.0, 9.0)) == RDP(4.0, 0.5)
    assert laplace_guarantee(2.0, 1.0, PureDP(9.0)) == PureDP(0.5)


@given(EPSILONS, SENSITIVITIES)
@quick
def test_the_least_float_is_taken(epsilon, sensitivity):
    scale = laplace_scale(PureDP(epsilon), sensitivity)
    assert Fraction(scale) * Fraction(repr(epsilon)) >= Fraction(sensitivity)
    assert Fraction(math.nextafter(scale, 0.0)) * Fraction(repr(epsilon)) < Fraction(sensitivity)
    assert gaussian_scale(GDP(epsilon), sensitivity) == scale


@given(logarithmic(1e-2, 100.0), SENSITIVITIES, EPSILONS)
@quick
def test_guarantee_of_a_scale_states_the_true_delta(ratio, sensitivity, epsilon):
    scale = sensitivity * ratio
    truth = gaussian_delta(scale, sensitivity, epsilon)
    if truth > 1 - mp.mpf("1e-16"):
        with pytest.raises(MechanismError):
            gaussian_guarantee(scale, sensitivity, ApproxDP(epsilon, 0.5))
    else:
        found = gaussian_guarantee(scale, sensitivity, ApproxDP(epsilon, 0.5))
        assert found.epsilon == epsilon
        assert truth <= typed(found.delta)
        assert found.delta <= truth * (1 + mp.mpf("1e-9")) + mp.mpf(2) ** -1074


@given(st.floats(1e-6, 0.999), DELTAS, SENSITIVITIES)
@quick
def test_classical_formula(epsilon, delta, sensitivity):
    guarantee = ApproxDP(epsilon, delta)
    scale = gaussian_scale(guarantee, sensitivity, method="classical")
    formula = mp.mpf(sensitivity) * mp.sqrt(2 * mp.log(mp.mpf("1.25") / typed(delta))) / typed(epsilon)
    assert 0 <= scale / formula - 1 < mp.mpf("1e-15")
    assert scale >= gaussian_scale(guarantee, sensitivity)


@pytest.mark.parametrize("epsilon", [1.0, 1.5, 50.0])
def test_classical_needs_a_small_epsilon(epsilon):
    with pytest.raises(InputError, match=r"epsilon = .*analytic"):
        gaussian_scale(ApproxDP(epsilon, 1e-6), 1.0, method="classical")


@pytest.mark.parametrize("guarantee", [GDP(1.0), ZCDP(1.0), RDP(2.0, 1.0)], ids=repr)
def test_classical_is_for_approximate_privacy_only(guarantee):
    with pytest.raises(MechanismError, match="analytic"):
        gaussian_scale(guarantee, 1.0, method="classical")


@pytest.mark.parametrize("method", ["analytic", "classical"])
def test_gaussian_noise_is_never_pure(method):
    with pytest.raises(MechanismError, match="wrapped-laplace"):
        gaussian_scale(PureDP(1.0), 1.0, method=method)
    with pytest.raises(MechanismError, match="wrapped-laplace"):
        gaussian_guarantee(1.0, 1.0, PureDP(1.0))


@pytest.mark.parametrize("method", ["Analytic", "", None, 3])
def test_unknown_method(method):
    with pytest.raises(InputError, match="method"):
        gaussian_scale(GDP(1.0), 1.0, method=method)


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, True, "1", None], ids=repr)
def test_bad_sensitivity_or_scale(bad):
    for call in (gaussian_scale, laplace_scale):
        with pytest.raises(InputError, match="sensitivity"):
            call(GDP(1.0), bad)
    for call in (gaussian_guarantee, laplace_guarantee):
        with pytest.raises(InputError, match="sensitivity"):
            call(1.0, bad, GDP(1.0))
        with pytest.raises(InputError, match="scale"):
            call(bad, 1.0, GDP(1.0))


@pytest.mark.parametrize("bad", [1.0, None, "GDP(1.0)"], ids=repr)
def test_only_guarantees_calibrate(bad):
    for call in (lambda: gaussian_scale(bad, 1.0), lambda: laplace_scale(bad, 1.0)):
        with pytest.raises(InputError, match="guarantee"):
            call()
    with pytest.raises(InputError, match="guarantee"):
        gaussian_guarantee(1.0, 1.0, bad)


def test_scales_out_of_range():
    with pytest.raises(InputError, match="sensitivity"):
        gaussian_scale(GDP(1e-200), 1e200)
    with pytest.raises(InputError, match="sensitivity"):
        laplace_guarantee(1e-200, 1e200, PureDP(1.0))
    assert laplace_scale(PureDP(1e200), 1e-200) == math.ulp(0.0)


@pytest.mark.parametrize("guarantee", [ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-300), GDP(0.5), ZCDP(0.1)], ids=repr)
def test_calibration_takes_about_a_millisecond(guarantee):
    def once():
        start = time.perf_counter()
        gaussian_scale(guarantee, 1.0)
        return time.perf_counter() - start

    assert min(once() for _ in range(20)) < 5e-3  # lenient: the machine may be busy


# Other libraries ----------------------------------------------------------------------------------------


def test_agrees_with_dp_accounting():
    accountant = pytest.importorskip("dp_accounting.pld.accountant")
    common = pytest.importorskip("dp_accounting.pld.common")
    for epsilon, delta in [(0.5, 1e-6), (1.0, 1e-5), (4.0, 1e-9)]:
        parameters = common.DifferentialPrivacyParameters(epsilon, delta)
        theirs = accountant.get_smallest_gaussian_noise(parameters, num_queries=1, sensitivity=2.0)
        assert gaussian_scale(ApproxDP(epsilon, delta), 2.0) == pytest.approx(theirs, rel=1e-5)


def test_agrees_with_opendp():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    domain = opendp.atom_domain(T=float, nan=False)
    gaussian = opendp.m.make_gaussian(domain, opendp.absolute_distance(T=float), scale=2.0)
    assert gaussian_guarantee(2.0, 3.0, ZCDP(1.0)).rho == pytest.approx(gaussian.map(3.0), rel=1e-9)
    laplace = opendp.m.make_laplace(domain, opendp.absolute_distance(T=float), scale=2.0)
    assert laplace_guarantee(2.0, 3.0, PureDP(1.0)).epsilon == pytest.approx(laplace.map(3.0), rel=1e-9)
