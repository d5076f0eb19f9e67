"""Guarantees: validation, text and JSON forms, the order, conversions and composition.

References are independent: mpmath at 60 digits on explicit pairs of distributions, exact rational sums, and
dp-accounting where it is installed.
"""

import itertools
import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from riemdp.accounting import lattice as lattice_module
from riemdp.accounting import losses as losses_module
from riemdp.accounting.composition import compose, nothing_spent
from riemdp.accounting.guarantee import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from riemdp.arithmetic import largest_float, round_up
from riemdp.errors import InputError, MechanismError

KINDS = (PureDP, GDP, ZCDP, RDP, ApproxDP)  # each converts to the later ones only
LIKES = (PureDP(1.0), GDP(1.0), ZCDP(1.0), RDP(2.0, 1.0), ApproxDP(1.0, 0.5))
quick = settings(max_examples=60, deadline=None)


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


POSITIVE = logarithmic(1e-6, 30.0)
DELTAS = logarithmic(1e-30, 0.9)
ALPHAS = logarithmic(1e-3, 1e3).map(lambda beta: 1 + beta)
ANY = st.one_of(
    st.builds(PureDP, POSITIVE),
    st.builds(GDP, POSITIVE),
    st.builds(ZCDP, POSITIVE),
    st.builds(RDP, ALPHAS, POSITIVE),
    st.builds(ApproxDP, POSITIVE, DELTAS),
)


def typed(number):
    """What a parameter means: the decimal that it prints as."""
    return mp.mpf(repr(number)) if isinstance(number, float) else mp.mpf(number)


def fraction(number):
    return Fraction(repr(number))


def strength(guarantee):
    return list(guarantee.parameters.values())[-1]


# Independent formulas -----------------------------------------------------------------------------------


def response(epsilon):
    """The two output probabilities of randomised response."""
    return 1 / (1 + mp.exp(-typed(epsilon))), 1 / (1 + mp.exp(typed(epsilon)))


def response_renyi(epsilon, alpha):
    p, q = response(epsilon)
    alpha = typed(alpha)
    return mp.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)


def gaussian_delta(mu, epsilon):
    if mu == 0:
        return max(mp.mpf(0), -mp.expm1(epsilon))
    mu, epsilon = typed(mu), typed(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def renyi_delta(alpha, divergence, epsilon):
    """Canonne, Kamath, Steinke 2020, Proposition 12."""
    alpha = typed(alpha)
    return mp.exp((alpha - 1) * (divergence - typed(epsilon))) / (alpha - 1) * (1 - 1 / alpha) ** alpha


def mixture_delta(pairs, mu, epsilon):
    """The delta of worst-case (epsilon_i, delta_i)-DP steps and a Gaussian step, by enumeration."""
    finite = mp.mpf(0)
    for signs in itertools.product((1, -1), repeat=len(pairs)):
        mass, loss = mp.mpf(1), mp.mpf(0)
        for sign, (e, _) in zip(signs, pairs, strict=True):
            mass *= response(sign * e)[0]
            loss += sign * typed(e)
        finite += mass * gaussian_delta(mu, typed(epsilon) - loss)
    kept = mp.mpf(1)
    for _, delta in pairs:
        kept *= 1 - typed(delta)
    return 1 - kept * (1 - finite)


def assert_just_above(claimed, truth, slack=1e-14):
    assert typed(claimed) * (1 + mp.mpf("1e-50")) >= truth  # which has 60 digits
    assert claimed <= truth * (1 + slack) + mp.mpf(2) ** -1074  # the step of the smallest floats


# Making, showing, saving --------------------------------------------------------------------------------

BAD_NUMBERS = (0, 0.0, -1, -0.5, math.nan, math.inf, -math.inf, True, False, "1", None, 1j, [1.0], 10**400, np.bool_(1))


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (PureDP, "epsilon"),
        (GDP, "mu"),
        (ZCDP, "rho"),
        (lambda x: ApproxDP(x, 1e-6), "epsilon"),
        (lambda x: ApproxDP(1.0, x), "delta"),
        (lambda x: RDP(x, 1.0), "alpha"),
        (lambda x: RDP(2.0, x), "epsilon"),
    ],
)
def test_bad_parameters_are_refused_by_name(make, name, bad):
    with pytest.raises(InputError) as caught:
        make(bad)
    assert str(caught.value).startswith(f"{name} = {bad!r} ")


@pytest.mark.parametrize("delta", [1, 1.0, 1.5, np.nextafter(1.0, 2)])
def test_delta_stays_below_one(delta):
    with pytest.raises(InputError, match="below 1"):
        ApproxDP(1.0, delta)


@pytest.mark.parametrize("alpha", [1, 0.5, 1.0])
def test_alpha_stays_above_one(alpha):
    with pytest.raises(InputError, match="above 1"):
        RDP(alpha, 1.0)


@pytest.mark.parametrize("value", [2, np.float32(0.5), np.int64(3), np.float64(0.1), Fraction(1, 2)], ids=repr)
def test_numbers_of_any_type_become_floats(value):
    assert type(PureDP(value).epsilon) is float
    assert PureDP(value).epsilon == float(value)


@pytest.mark.parametrize("bad", ["text", ("a", 1), None, 3, {"a"}], ids=repr)
def test_assumptions_are_texts(bad):
    with pytest.raises(InputError, match="assumptions"):
        PureDP(1.0, assumptions=bad)


def test_assumptions_are_keyword_only_and_a_set():
    with pytest.raises(TypeError):
        PureDP(1.0, ("a",))
    one, other = GDP(1.0, assumptions=("b", "a", "b")), GDP(1.0).with_assumptions("a").with_assumptions("b")
    assert one == other
    assert one.assumptions == ("a", "b")
    assert hash(one) == hash(other)


def test_assumptions_enter_neither_equality_nor_the_order():
    plain, assuming = GDP(1.0), GDP(1.0, assumptions=("idealized numerics",))
    assert plain == assuming
    assert hash(plain) == hash(assuming)
    assert plain <= assuming <= plain
    assert not plain < assuming


def test_printed_forms():
    assert str(ApproxDP(1, 1e-6)) == "(epsilon = 1, delta = 1e-06)-differential privacy, replace-one adjacency"
    assert str(GDP(0.5)) == "(mu = 0.5)-Gaussian differential privacy, replace-one adjacency"
    assert str(PureDP(2, assumptions=("x", "y"))).endswith("replace-one adjacency, assuming x; y")
    assert repr(RDP(2, 0.1)) == "RDP(alpha=2.0, epsilon=0.1)"


@given(ANY, st.lists(st.text(), max_size=3))
@quick
def test_repr_json_and_pickle_round_trip(guarantee, texts):
    guarantee = guarantee.with_assumptions(*texts)
    assert eval(repr(guarantee)) == guarantee
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee
    assert guarantee.to_dict()["adjacency"] == guarantee.adjacency == "replace-one"


GOOD = ApproxDP(1.0, 1e-6).to_dict()
BROKEN = [
    None,
    [],
    "ApproxDP",
    {},
    {"type": ["ApproxDP"]},
    GOOD | {"type": "Guarantee"},
    GOOD | {"type": "DP"},
    GOOD | {"adjacency": "add-remove"},
    GOOD | {"epsilon": "1"},
    GOOD | {"delta": 2},
    GOOD | {"assumptions": "text"},
    GOOD | {"extra": 1},
    *({k: v for k, v in GOOD.items() if k != missing} for missing in GOOD),
]


@pytest.mark.parametrize("data", BROKEN, ids=repr)
def test_from_dict_is_strict(data):
    with pytest.raises(InputError):
        Guarantee.from_dict(data)


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        PureDP(1.0).epsilon = 2.0


# Order --------------------------------------------------------------------------------------------------


def reachable(guarantee):
    """The guarantee and what it converts to: exact ties, where rounding could break an order."""
    yield guarantee
    for like in LIKES[KINDS.index(type(guarantee)) :]:
        try:
            yield guarantee.to_like(like)
        except MechanismError:
            continue


@given(ANY)
@quick
def test_order_is_reflexive_and_conversions_go_up(guarantee):
    assert guarantee <= guarantee
    assert guarantee >= guarantee
    assert not guarantee < guarantee
    for weaker in reachable(guarantee):
        assert guarantee <= weaker
        assert weaker >= guarantee


@given(ANY, ANY)
@quick
def test_order_is_antisymmetric_and_consistent(a, b):
    assert (a <= b and b <= a) == (a == b)
    assert (a < b) == (a <= b and a != b) == (b > a)
    assert (a <= b) == (b >= a) == a.implies(b)


@given(ANY, ANY, ANY)
@quick
@example(PureDP(1.0), PureDP(1.0).to_rdp(3.0), PureDP(1.0).to_rdp(3.0).to_approx(epsilon=0.5))
@example(GDP(1.0), GDP(1.0).to_zcdp(), GDP(1.0).to_zcdp().to_approx(epsilon=0.5))
@example(ZCDP(0.1), ZCDP(0.1).to_rdp(9.0), ZCDP(0.1).to_rdp(9.0).to_approx(epsilon=1.0))
def test_order_is_transitive(a, b, c):
    for x in reachable(a):
        for y in reachable(b):
            if x <= y and y <= c:
                assert a <= c


@given(ANY, st.sampled_from(LIKES), st.sampled_from(LIKES))
@quick
def test_two_conversions_never_beat_one(a, first, second):
    try:
        both = a.to_like(first).to_like(second)
    except MechanismError:
        assume(False)
    assert a <= both


@pytest.mark.parametrize("other", [1.0, None, "GDP(1.0)"])
def test_only_guarantees_compare(other):
    with pytest.raises(TypeError):
        GDP(1.0) <= other  # noqa: B015
    with pytest.raises(InputError):
        GDP(1.0).implies(other)
    with pytest.raises(InputError):
        GDP(1.0).to_like(other)


# Conversions --------------------------------------------------------------------------------------------


@given(logarithmic(1e-12, 600.0))
@quick
def test_pure_to_gdp_is_exact(epsilon):
    mu = typed(PureDP(epsilon).to_gdp().mu)
    _, q = response(epsilon)
    with mp.workdps(400):  # randomised response is as hard as N(0, 1) against N(mu, 1) where alpha = beta = q
        assert mp.ncdf(-mu / 2) <= q
        assert mp.ncdf(-mu * (1 - mp.mpf("1e-14")) / 2) > q


@given(logarithmic(1e-6, 100.0), ALPHAS)
@quick
def test_pure_to_zcdp_bounds_every_order_and_is_tight(epsilon, alpha):
    rho = PureDP(epsilon).to_zcdp().rho
    assert response_renyi(epsilon, alpha) <= typed(rho) * typed(alpha)
    almost_one = 1 + mp.mpf("1e-20")
    with mp.workdps(120):
        assert_just_above(rho, response_renyi(epsilon, almost_one) / almost_one)
    assert rho <= epsilon**2 / 2


@given(logarithmic(1e-6, 100.0), ALPHAS)
@quick
def test_pure_to_rdp_is_exact(epsilon, alpha):
    with mp.workdps(1000):
        assert_just_above(PureDP(epsilon).to_rdp(alpha).epsilon, response_renyi(epsilon, alpha))


@given(POSITIVE, POSITIVE)
@quick
def test_pure_to_approx_is_exact(epsilon, at):
    p, q = response(epsilon)
    truth = p - mp.exp(typed(at)) * q if at < epsilon else 0
    assert_just_above(PureDP(epsilon).to_approx(epsilon=at).delta, truth)


@given(logarithmic(1e-8, 100.0), logarithmic(1e-8, 100.0))
@quick
def test_gdp_to_approx_is_exact(mu, epsilon):
    with mp.workdps(120):
        truth = gaussian_delta(mu, epsilon)
        assume(truth < 1 - 1e-15)
        assert_just_above(GDP(mu).to_approx(epsilon=epsilon).delta, truth)


@given(logarithmic(1e-100, 1e100), ALPHAS)
@quick
def test_gdp_and_zcdp_to_rdp_round_up_exact_products(x, alpha):
    square = fraction(x) ** 2 / 2
    for claimed, truth in [
        (GDP(x).to_zcdp().rho, square),
        (GDP(x).to_rdp(alpha).epsilon, square * fraction(alpha)),
        (ZCDP(x).to_rdp(alpha).epsilon, fraction(x) * fraction(alpha)),
    ]:
        assert fraction(claimed) >= truth > fraction(math.nextafter(claimed, 0.0))


def test_exact_values_stay_exact():
    assert GDP(0.5).to_zcdp() == ZCDP(0.125)
    assert GDP(0.5).to_rdp(4) == RDP(4, 0.5)
    assert ZCDP(0.25).to_rdp(3) == RDP(3, 0.75)
    assert RDP(4, 0.3).to_rdp(2) == RDP(2, 0.3)
    assert ApproxDP(1, 1e-6).to_approx(epsilon=2) == ApproxDP(2, 1e-6)
    assert ApproxDP(1, 1e-6).to_approx(delta=1e-5) == ApproxDP(1, 1e-5)


@given(logarithmic(1e-6, 10.0), logarithmic(1e-3, 30.0))
@settings(max_examples=25, deadline=None)
def test_zcdp_to_approx_is_the_best_of_all_orders(rho, epsilon):
    claimed = ZCDP(rho).least_strength(ApproxDP(epsilon, 0.5))

    def logarithm(x):  # log delta at the order 1 + e^x, which falls and then rises
        return mp.log(renyi_delta(1 + mp.exp(x), (1 + mp.exp(x)) * typed(rho), epsilon))

    low, high = mp.mpf(-50), mp.mpf(30)
    for _ in range(90):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if logarithm(left) < logarithm(right) else (left, high)
    assert_just_above(claimed, mp.exp(logarithm(low)) * (1 - mp.mpf("1e-20")))
    assert claimed >= gaussian_delta(math.sqrt(2 * rho) * (1 - 1e-15), epsilon)  # a zCDP mechanism


@given(ALPHAS, logarithmic(1e-4, 10.0), logarithmic(1e-3, 30.0))
@quick
def test_rdp_to_approx_uses_the_best_order_up_to_alpha(alpha, divergence, epsilon):
    claimed = RDP(alpha, divergence).least_strength(ApproxDP(epsilon, 0.5))
    orders = [1 + (typed(alpha) - 1) * mp.mpf(k) / 40 for k in range(1, 41)]
    best = min(renyi_delta(order, typed(divergence), epsilon) for order in orders)
    assert claimed <= min(1, best) * (1 + 1e-15) + mp.mpf(2) ** -1074
    mu = math.sqrt(2 * divergence / alpha) * (1 - 1e-15)  # a Gaussian that keeps this RDP
    assert claimed >= gaussian_delta(mu, epsilon)


@pytest.mark.parametrize("guarantee", [PureDP(1.0), GDP(1.0), ZCDP(0.1), RDP(8.0, 0.5)], ids=repr)
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9, 1e-100])
def test_least_epsilon_at_a_delta(guarantee, delta):
    found = guarantee.to_approx(delta=delta)
    assert found.delta == delta
    assert guarantee <= found
    smaller = math.nextafter(found.epsilon, 0.0)
    assert smaller == 0 or not guarantee <= ApproxDP(smaller, delta)


def test_least_epsilon_of_a_gaussian_against_mpmath():
    epsilon = mp.findroot(lambda e: mp.log(gaussian_delta(1, e)) - mp.log(typed(1e-5)), 4.4)
    assert_just_above(GDP(1.0).to_approx(delta=1e-5).epsilon, epsilon)


@pytest.mark.parametrize("arguments", [{}, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": -1}, {"delta": 1.0}], ids=repr)
def test_to_approx_takes_one_good_argument(arguments):
    with pytest.raises(InputError):
        GDP(1.0).to_approx(**arguments)


@pytest.mark.parametrize(("i", "j"), list(itertools.combinations(range(len(KINDS)), 2)))
def test_unsound_directions_are_refused_with_advice(i, j):
    stronger, weaker = LIKES[i], LIKES[j]
    assert not weaker <= stronger
    with pytest.raises(MechanismError, match="convert only down the list"):
        weaker.to_like(stronger)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ApproxDP(1, 1e-6).to_gdp(),
        lambda: ZCDP(1).to_gdp(),
        lambda: RDP(2, 1).to_rdp(2.5),
        lambda: RDP(2, 1).to_zcdp(),
        lambda: ApproxDP(1, 1e-6).to_approx(epsilon=0.9),
        lambda: ApproxDP(1, 1e-6).to_approx(delta=1e-7),
        lambda: GDP(100).to_approx(epsilon=1),
        lambda: GDP(1e200).to_zcdp(),
    ],
)
def test_nothing_is_claimed_where_nothing_follows(ask):
    with pytest.raises(MechanismError):
        ask()


EXTREME = (5e-324, 1e-300, 1e-160, 1e-20, 1.0, 1e3, 1e20, 1e160, 1e300, 1.7e308)


@pytest.mark.parametrize("like", [*LIKES, RDP(1 + 2.0**-52, 1.0), RDP(1e300, 1.0), ApproxDP(1e-300, 0.5)], ids=repr)
@pytest.mark.parametrize("kind", [PureDP, GDP, ZCDP, lambda x: RDP(3.0, x), lambda x: RDP(1e300, x)])
def test_extreme_parameters_never_break_and_stay_ordered(kind, like):
    strengths = [kind(x).least_strength(like) for x in EXTREME]
    assert not any(map(math.isnan, strengths))
    assert strengths == sorted(strengths)


def test_conversions_carry_assumptions():
    guarantee = PureDP(1.0, assumptions=("idealized numerics",))
    for converted in (guarantee.to_gdp(), guarantee.to_approx(epsilon=0.5), guarantee.to_approx(delta=0.1)):
        assert converted.assumptions == ("idealized numerics",)


# Composition --------------------------------------------------------------------------------------------


def test_nothing_composes_to_none():
    assert all(compose([], like) is None for like in LIKES)


@given(ANY, st.sampled_from(LIKES))
@quick
def test_one_entry_is_its_own_total(guarantee, like):
    assume(not isinstance(guarantee, ApproxDP) or not isinstance(like, ApproxDP))
    try:
        expected = guarantee.to_like(like)
    except MechanismError:
        with pytest.raises(MechanismError):
            compose([guarantee], like)
    else:
        assert compose([guarantee], like) == expected


@given(POSITIVE, DELTAS, POSITIVE)
@quick
def test_one_approximate_entry_is_a_mixture_too(epsilon, delta, at):
    with mp.workdps(120):
        truth = mixture_delta([(epsilon, delta)], 0, at)
    assume(truth < 1 - 1e-15)
    assert_just_above(compose([ApproxDP(epsilon, delta)], ApproxDP(at, 0.5)).delta, truth)


@given(st.lists(POSITIVE, min_size=1, max_size=12), st.randoms())
@quick
def test_strengths_add_up_exactly_and_in_any_order(values, random):
    shuffled = random.sample(values, len(values))
    for kind, power in ((PureDP, 1), (ZCDP, 1), (lambda x: RDP(3.0, x), 1), (GDP, 2)):
        total = compose(map(kind, values), kind(1.0))
        truth = sum(fraction(x) ** power for x in values)
        assert fraction(strength(total)) ** power >= truth
        assert fraction(math.nextafter(strength(total), 0.0)) ** power < truth
        assert compose(map(kind, shuffled), kind(1.0)) == total


def test_sums_of_decimals_are_exact():
    assert compose([PureDP(0.5), PureDP(0.25)], PureDP(1.0)) == PureDP(0.75)
    assert compose([GDP(3.0), GDP(4.0)], GDP(1.0)) == GDP(5.0)
    assert compose([PureDP(0.1)] * 3, PureDP(1.0)) == PureDP(0.3)
    assert compose([GDP(0.1)] * 100, ZCDP(1.0)) == ZCDP(0.5)
    assert compose([ZCDP(0.1)] * 3, RDP(2.0, 1.0)) == RDP(2.0, 0.6)


EXACT_SHARES = [
    (PureDP(1.0), PureDP(0.2), 5),
    (PureDP(1.0), PureDP(0.1), 10),
    (PureDP(1.0), PureDP(0.02), 50),
    (PureDP(0.3), PureDP(0.1), 3),
    (GDP(1.0), GDP(0.1), 100),
    (ZCDP(0.5), GDP(0.1), 100),
    (ZCDP(0.7), ZCDP(0.1), 7),
    (RDP(1.1, 1.1), ZCDP(0.1), 10),
    (ApproxDP(1.0, 1e-300), PureDP(0.1), 10),
    (ApproxDP(0.3, 1e-300), PureDP(0.1), 3),
]


@pytest.mark.parametrize(("whole", "share", "count"), EXACT_SHARES)
def test_decimal_shares_fill_the_whole_and_a_hair_more_does_not(whole, share, count):
    shares = [share] * count
    assert compose(shares, whole) <= whole
    kind = type(whole) if not isinstance(whole, RDP | ApproxDP) else ZCDP
    assert not compose([*shares, kind(1e-300)], whole) <= whole
    assert not compose([*shares, share], whole) <= whole


@given(st.lists(ANY, min_size=2, max_size=4), st.sampled_from(LIKES[:4]))
@quick
def test_other_types_are_converted_first(entries, like):
    try:
        parts = [entry.to_like(like) for entry in entries]
    except MechanismError:
        with pytest.raises(MechanismError):
            compose(entries, like)
    else:
        assert compose(entries, like) == compose(parts, like)


def test_totals_unite_assumptions_and_forget_those_of_like():
    entries = [GDP(1.0, assumptions=("b",)), PureDP(1.0, assumptions=("a", "b")), GDP(2.0)]
    for like in (GDP(9.0, assumptions=("z",)), ApproxDP(1.0, 0.5, assumptions=("z",))):
        assert compose(entries, like).assumptions == ("a", "b")


STRANGERS = [([1.0], GDP(1.0)), ([GDP(1.0), "x"], ApproxDP(1, 0.1)), ([GDP(1.0)], 1.0), ([], None)]


@pytest.mark.parametrize(("entries", "like"), STRANGERS)
def test_only_guarantees_compose(entries, like):
    with pytest.raises(InputError):
        compose(entries, like)


@given(st.lists(POSITIVE.map(lambda x: x / 10), min_size=2, max_size=6), logarithmic(1e-2, 10.0))
@quick
def test_gaussians_use_their_exact_curve(mus, epsilon):
    total = compose(map(GDP, mus), GDP(1.0))
    assume(total.least_strength(ApproxDP(epsilon, 0.5)) < 1)
    assert compose(map(GDP, mus), ApproxDP(epsilon, 0.5)) == total.to_approx(epsilon=epsilon)


def spent_at(entries, epsilon):
    """The delta that the entries come to, in this order; 1 where nothing is promised."""
    mixture = nothing_spent(ApproxDP(epsilon, 0.5))
    for entry in entries:
        mixture = mixture.plus(entry)
    return mixture.strength


TINY_ENTRIES = [PureDP(1e-300), PureDP(1e-9), ApproxDP(1e-6, 1e-300), GDP(1e-12), ZCDP(1e-20), RDP(1.5, 1e-20)]
SMALL = st.one_of(
    st.builds(PureDP, logarithmic(1e-4, 2.0)),
    st.builds(ApproxDP, logarithmic(1e-4, 2.0), logarithmic(1e-12, 0.1)),
    st.builds(GDP, logarithmic(1e-3, 1.0)),
    st.builds(ZCDP, logarithmic(1e-5, 0.5)),
    st.builds(RDP, ALPHAS, logarithmic(1e-5, 0.5)),
    st.sampled_from(TINY_ENTRIES),
)


@given(st.lists(SMALL, min_size=1, max_size=6), logarithmic(0.01, 10.0), st.data())
@settings(max_examples=60, deadline=None)
@example([PureDP(1e-9), ApproxDP(1.1, 0.1)], 1.0, None)
@example([GDP(0.1), PureDP(0.5), PureDP(0.25)], 0.6, None)
@example([ZCDP(0.2), RDP(1000.0, 1e-3), RDP(2.0, 1e-6)], 1.0, None)
@example([PureDP(0.03)] * 40 + [PureDP(1e-300)], 1.0, None)
@example([PureDP(0.0031)] * 300 + [ZCDP(1e-20)], 0.3, None)
@example([PureDP(0.0031)] * 300 + [GDP(0.02), ZCDP(1e-20)], 0.3, None)
def test_an_approximate_total_never_falls_when_entries_are_added(entries, epsilon, data):
    total = spent_at(entries, epsilon)
    places = range(len(entries))
    each = [{entries.index(entry)} for entry in set(entries)]
    gone = each if data is None else [data.draw(st.sets(st.sampled_from(places), min_size=1))]
    for out in gone:
        assert spent_at([entry for place, entry in enumerate(entries) if place not in out], epsilon) <= total


PAIR = st.tuples(logarithmic(1e-4, 2.0), st.one_of(st.just(0.0), logarithmic(1e-20, 1e-2)))


def entries_of(pairs, mus):
    return [ApproxDP(e, d) if d else PureDP(e) for e, d in pairs] + [GDP(mu) for mu in mus]


@given(st.lists(PAIR, min_size=2, max_size=4), st.lists(logarithmic(1e-2, 2.0), max_size=2), st.floats(0.05, 1.3))
@settings(max_examples=40, deadline=None)
def test_mixtures_against_enumeration(pairs, mus, share):
    entries = entries_of(pairs, mus)
    epsilon = share * (sum(e for e, _ in pairs) + sum(mus)) + 1e-4
    mu = mp.sqrt(sum(typed(mu) ** 2 for mu in mus))
    total = compose(entries, ApproxDP(epsilon, 0.5))
    assert typed(total.delta) * (1 + mp.mpf("1e-50")) >= mixture_delta(pairs, mu, epsilon)
    # not more than for losses that are larger by a lattice step
    looser = [(typed(e) + (typed(epsilon) + losses_module.WIDE) / lattice_module.CELLS, d) for e, d in pairs]
    assert total.delta <= mixture_delta(looser, mu, epsilon) * (1 + 1e-8) + mp.mpf("1e-300")
    assert compose(entries[::-1], ApproxDP(epsilon, 0.5)) == total


@pytest.mark.parametrize("size", [(2, 1), (10, 1), (10, 5), (60, 15), (1800, 15)])
@pytest.mark.parametrize("mus", [[], [0.3]], ids=repr)
def test_a_coarse_distribution_of_losses_stays_pessimistic(monkeypatch, size, mus):
    cells, nodes = size
    new = {"CELLS": cells, "SIZE": 3 * cells + 1, "NODES": nodes, "FEW": 3 * cells // nodes}
    for name, value in new.items():
        monkeypatch.setattr(lattice_module, name, value)
    monkeypatch.setattr(losses_module, "CELLS", cells)
    for cached in (lattice_module._beyond, lattice_module._curve_at_nodes):
        monkeypatch.setattr(lattice_module, cached.__name__, cached.__wrapped__)
    pairs = [(0.31, 0.0), (0.12, 1e-9), (0.53, 0.0), (0.2, 0.0)]
    for epsilon in (0.05, 0.4, 0.9):
        truth = mixture_delta(pairs, mus[0] if mus else 0, epsilon)
        mixture = nothing_spent(ApproxDP(epsilon, 0.5))
        for entry in entries_of(pairs, mus):
            mixture = mixture.plus(entry)
        for few in (0, 10**6):
            failure = mixture.losses.failure
            total = failure + mixture.losses._lattice_delta(few) * (1 - failure)
            assert mp.mpf(total.numerator) / total.denominator >= truth


EQUAL_STEPS = [(0.05, 100, 2.5, 1e-7), (0.1, 40, 2.0, 1e-7), (0.01, 200, 1.0, 1e-7), (0.01, 200, 1.4, 0.35)]


@pytest.mark.parametrize(("epsilon", "count", "at", "slack"), EQUAL_STEPS)
def test_equal_pure_steps_are_exact_on_the_lattice_far_into_the_tail(epsilon, count, at, slack):
    p, q = response(epsilon)
    masses = [mp.binomial(count, k) * p**k * q ** (count - k) for k in range(count + 1)]
    losses = [(2 * k - count) * typed(epsilon) for k in range(count + 1)]
    truth = sum(mass * -mp.expm1(typed(at) - loss) for mass, loss in zip(masses, losses, strict=True) if loss > at)
    assert_just_above(compose([PureDP(epsilon)] * count, ApproxDP(at, 0.5)).delta, truth, slack)


def test_many_different_steps_stay_tight():
    units = range(1000, 1300, 3)
    masses = np.ones(1)
    for k in units:  # all losses are multiples of 1e-5: a plain convolution is exact but for float errors
        p, q = map(float, response(k * 1e-5))
        masses = np.pad(p * masses, (2 * k, 0)) + np.pad(q * masses, (0, 2 * k))
    losses = 1e-5 * (np.arange(len(masses)) - len(masses) // 2)
    truth = np.sum(masses * np.maximum(0, -np.expm1(np.minimum(0, 0.4 - losses))))
    total = compose([PureDP(k * 1e-5) for k in units], ApproxDP(0.4, 0.5)).delta
    assert truth * (1 - 1e-9) <= total <= truth * 1.05


def test_steps_that_just_fit_an_approximate_budget():
    budget = ApproxDP(1.0, 1e-6)
    assert compose([budget], budget) == budget
    assert compose([ApproxDP(0.5, 5e-7)] * 2, budget) <= budget
    assert compose([PureDP(0.5)] * 2, budget).delta < 1e-300
    assert compose([PureDP(0.1)] * 10, budget).delta < 1e-300
    assert compose([ApproxDP(0.1, 1e-7)] * 10, budget) <= budget
    assert not compose([ApproxDP(0.5, 5.1e-7)] * 2, budget) <= budget


@pytest.mark.parametrize("rho", [0.01, 0.2])
@pytest.mark.parametrize("pairs", [[(0.3, 1e-7)], [(0.3, 1e-7), (0.1, 1e-3)]])
def test_renyi_entries_beside_approximate_ones(rho, pairs):
    mu = math.sqrt(2 * rho) * (1 - 1e-15)
    truth = mixture_delta(pairs, mu, 2.0)  # a Gaussian keeps the zCDP, and randomised responses the rest
    steps = [ApproxDP(e, d) for e, d in pairs]
    for renyi in (ZCDP(rho), RDP(12.0, 12 * rho)):
        total = compose([*steps, renyi], ApproxDP(2.0, 0.5))
        assert truth <= total.delta
        alone = renyi.to_approx(epsilon=2.0 - sum(e for e, _ in pairs)).delta + sum(d for _, d in pairs)
        assert total.delta <= 3 * alone  # near basic composition with the best split


def test_renyi_entries_take_in_what_has_a_renyi_curve():
    entries = [ZCDP(0.1), GDP(0.3), PureDP(0.2)]
    joint = compose([ZCDP(0.1), GDP(0.3), ZCDP(0.02)], ZCDP(1.0))  # epsilon²/2 for the pure step
    assert compose(entries, ApproxDP(1.0, 0.5)) <= joint.to_approx(epsilon=1.0)
    entries.append(RDP(5.0, 0.1))
    at_five = compose([joint, RDP(5.0, 0.1)], RDP(5.0, 1.0)).to_approx(epsilon=1.0)
    assert compose(entries, ApproxDP(1.0, 0.5)) <= at_five


def test_a_total_that_promises_nothing_is_refused():
    with pytest.raises(MechanismError, match="delta < 1"):
        compose([GDP(50.0), PureDP(1.0)], ApproxDP(1.0, 1e-6))
    with pytest.raises(MechanismError, match="epsilon < inf"):
        compose([PureDP(1.7e308)] * 2, PureDP(1.0))


def test_huge_steps_do_not_break_the_mixture():
    assert compose([PureDP(1e300), PureDP(1.0)], ApproxDP(1e301, 0.5)).delta < 1e-300
    with pytest.raises(MechanismError):
        compose([PureDP(1e300), PureDP(1e-300)], ApproxDP(1.0, 0.5))


# dp-accounting as a second opinion ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def pld():
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    common = pytest.importorskip("dp_accounting.pld.common")

    def build(pairs, mu, step=1e-4):
        parts = [distributions.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)]
        for e, d in pairs:
            parameters = common.DifferentialPrivacyParameters(e, d)
            parts.append(distributions.from_privacy_parameters(parameters, value_discretization_interval=step))
        total = parts[0]
        for part in parts[1:]:
            total = total.compose(part)
        return total.get_delta_for_epsilon

    build.module = distributions
    return build


@pytest.mark.parametrize("epsilon", [0.3, 0.8, 1.5])
def test_mixtures_agree_with_dp_accounting(pld, epsilon):
    pairs, mu = [(0.3, 0.0), (0.2, 1e-7), (0.1, 0.0)], 0.4
    ours = compose(entries_of(pairs, [mu]), ApproxDP(epsilon, 0.5)).delta
    assert ours == pytest.approx(pld(pairs, mu)(epsilon), rel=2e-3)


def test_a_pure_step_costs_more_than_the_laplace_event_of_that_epsilon(pld):
    # dp-accounting's trap: a general 1-DP step entered as a Laplace mechanism is under-counted
    laplace = pld.module.from_laplace_mechanism(1.0).self_compose(8).get_delta_for_epsilon(4.0)
    truth = mixture_delta([(1.0, 0.0)] * 8, 0, 4.0)
    ours = compose([PureDP(1.0)] * 8, ApproxDP(4.0, 0.5)).delta
    assert laplace < 0.9 * truth
    assert ours >= truth


def test_a_gaussian_step_counts_its_sensitivity_once(pld):
    # dp-accounting's other trap: under REPLACE_ONE its accountant doubles a Gaussian's sensitivity
    accounting = pytest.importorskip("dp_accounting")
    relation = accounting.NeighboringRelation.REPLACE_ONE
    accountant = accounting.pld.PLDAccountant(neighboring_relation=relation)
    doubled = accountant.compose(accounting.GaussianDpEvent(2.0)).get_delta(1.0)
    ours = GDP(0.5).to_approx(epsilon=1.0).delta
    assert ours == pytest.approx(pld([], 0.5)(1.0), rel=1e-6)
    assert doubled > 10 * ours


# The arithmetic underneath ------------------------------------------------------------------------------


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
@quick
def test_round_up_gives_the_least_float_above(x, y):
    assume(1e-290 < x / y < 1e290)
    found = Fraction(round_up(lambda x, y: x / y, x, y))
    assert found >= Fraction(x) / Fraction(y) > Fraction(math.nextafter(float(found), 0.0))


def test_round_up_never_returns_less_than_a_wide_enclosure():
    from flint import arb

    assert round_up(lambda: arb(1, 1e-3)) >= 1.001
    assert round_up(lambda: arb.nan()) == math.inf
    assert round_up(lambda: arb("1e-400")) == math.ulp(0.0)
    assert round_up(lambda: arb(0)) == 0.0


@given(st.floats(1e-300, 1e300), st.floats(0.1, 10.0), st.lists(st.floats(1e-300, 1e300), max_size=3))
@quick
def test_largest_float_finds_the_last_float_wherever_it_starts(root, power, probes):
    steep = largest_float(lambda x: (x / root) ** power if x < 1e3 * root else math.inf, 1.0, *probes)
    assert steep == pytest.approx(root, rel=1e-14)
    assert largest_float(lambda x: x, root, *probes) == root
    assert largest_float(lambda x: float(x > root), 0.5, *probes) == root
    assert largest_float(lambda x: 1.0 + 0 * x, 0.5, *probes) == 0.0
    assert largest_float(lambda x: 0.1 + 0 * x, 0.5, *probes) == np.finfo(float).max


# --- equal parts ------------------------------------------------------------------------------------------------

WHOLES = [PureDP(1.0), PureDP(0.3), GDP(1.0), GDP(0.1), ZCDP(0.7), RDP(8.0, 0.5), ApproxDP(1.0, 1e-6), ApproxDP(0.3, 0.1)]


@pytest.mark.parametrize("whole", WHOLES, ids=repr)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 10, 64])
def test_equal_parts_fit_the_whole(whole, count):
    parts = whole.split(count)
    assert len(parts) == count
    assert len(set(parts)) == 1
    assert compose(parts, whole) <= whole


@pytest.mark.parametrize("whole", [w for w in WHOLES if not isinstance(w, ApproxDP)], ids=repr)
@pytest.mark.parametrize("count", [3, 5, 7])
def test_equal_parts_are_as_large_as_decimals_allow(whole, count):
    name = list(whole.parameters)[-1]
    part = whole.split(count)[0]
    larger = replace(part, **{name: math.nextafter(part.parameters[name], math.inf)})
    assert not compose([larger] * count, whole) <= whole


def test_parts_are_decimals_as_people_type_them():
    assert PureDP(1.0).split(5) == [PureDP(0.2)] * 5
    assert ApproxDP(1.0, 1e-6).split(5) == [ApproxDP(0.2, 2e-7)] * 5
    assert RDP(8.0, 0.5).split(5) == [RDP(8.0, 0.1)] * 5
    assert GDP(1.0).split(4) == [GDP(0.5)] * 4
    assert PureDP(1.0, assumptions=("ideal",)).split(2)[0].assumptions == ("ideal",)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "2"])
def test_parts_are_counted(count):
    with pytest.raises(InputError, match="parts = "):
        PureDP(1.0).split(count)
