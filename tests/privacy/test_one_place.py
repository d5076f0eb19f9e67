"""Private values meet noise in `Reservation.draw` and nowhere else: a walk through all of the code says so.

Laws (mechanisms, the radius law, what a statistic makes of a mechanism) define `draw` and may call one another's there;
a draw begins in the one place. `simulate` is seeded and never makes a release.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import riemdp as rd

SOURCE = Path(rd.__file__).parent
THE_PLACE = "privacy/reservation.py: Reservation.draw"
# Where random bits come from, and what adds them to a value.
RANDOM = {"secrets", "urandom", "getrandom", "SystemRandom", "SystemRandomness", "LazyUniform", "Stream", "system_digits", "uuid4"}
NOISE = {"add_gaussian", "add_laplace", "add_noise", "add_normals", "rounded_normals", "rounded_sum", "rounded_point", "ideal_coords"}
# What they are made of, below every release.
LAWS = ("randomness.py", "exact_normals.py", "kernels/exact_normals.py", "privacy/noise.py", "distributions/")
# Definitions of `draw` that are laws.
DRAWS = ("mechanisms/", "statistics/base.py: ReleaseLaw.draw", "statistics/quantile.py: RadiusLaw.draw")
# Names of mechanisms' noise, given to their classes once, as the file is loaded.
CONSTANTS = ("mechanisms/wrapped.py: ", "mechanisms/baselines.py: ")
OTHER_BITS = {
    "statistics/sites.py: _new_id": "a random id says nothing about the records",
    "io/ledger_file.py: LedgerFile.create": "the name of a draft beside a new ledger",
    "io/texts.py: Texts.__init__": "keys of a hash that says where to look for an id, and nothing else",
}
OTHER_DRAWS = {
    "audit.py: _Simulator.blocks": "an audit draws simulated releases of data that it has made up",
    "plots/": "panels of a figure draw themselves",
    "cli/releasing.py: finish": "files with pictures of what was released",
}


def walk(node, place, file):
    """(node, place of its definition) for every node of a file."""
    for child in ast.iter_child_nodes(node):
        is_definition = isinstance(child, ast.ClassDef | ast.FunctionDef)
        inner = f"{place}.{child.name}".lstrip(".") if is_definition else place
        yield child, f"{file}: {place}"
        yield from walk(child, inner, file)


def name_of(node):
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_in(place, places):
    return any(place.startswith(known) for known in places)


def is_law(place):
    return (is_in(place, DRAWS) and place.endswith("draw")) or is_in(place, LAWS)


def is_paid(node):
    """Whether what a statement calls `paid` is a reservation: handed out by `reserved`, or declared as one."""
    match node:
        case ast.withitem(optional_vars=ast.Name(id="paid")):
            return isinstance(node.context_expr, ast.Call) and name_of(node.context_expr.func) == "reserved"
        case ast.arg(arg="paid") | ast.AnnAssign(target=ast.Name(id="paid")):
            return name_of(node.annotation) == "Reservation"
        case ast.Assign() | ast.NamedExpr() | ast.For():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return not any(name_of(part) == "paid" for target in targets for part in ast.walk(target))
    return True


def hidden(node):
    """What an import calls by another name, under which it would not be seen; else what it brings is used, and seen."""
    aliases = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
    return [alias.name for alias in aliases if alias.name in RANDOM | NOISE | {"Reservation", "Release", "Seeded"} and alias.asname]


def faults_of(node, place):
    """What a node does that it may not."""
    name = name_of(node)
    for original in hidden(node):
        yield f"{place} hides {original}"
    if name in RANDOM | NOISE and isinstance(node.ctx, ast.Load):
        is_constant = name in NOISE and place in CONSTANTS
        if not (is_law(place) or is_constant or is_in(place, OTHER_BITS)):
            yield f"{place} uses {name}"
    if isinstance(node, ast.Attribute) and name == "draw":
        is_begun = name_of(node.value) == "paid"
        if not (place == THE_PLACE or is_begun or is_law(place) or is_in(place, OTHER_DRAWS)):
            yield f"{place} draws"
    if isinstance(node, ast.Call) and name_of(node.func) == "Reservation" and place != "privacy/reservation.py: reserved":
        yield f"{place} makes a reservation of its own"
    if isinstance(node, ast.Call) and name_of(node.func) == "Release" and place != "releases/recorded.py: recorded":
        yield f"{place} makes a release of its own"
    if isinstance(node, ast.Call) and name_of(node.func) == "Seeded" and not place.endswith(".simulate"):
        yield f"{place} has seeded chance"
    if isinstance(node, ast.Call) and name_of(node.func) == "default_rng" and not node.args:
        yield f"{place} has chance that is neither seeded nor exact"
    if not is_paid(node):
        yield f"{place} calls something else paid"


def faults(file, text):
    return [fault for node, place in walk(ast.parse(text), "", file) for fault in faults_of(node, place)]


FILES = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def test_private_values_meet_noise_in_one_place():
    assert [fault for file, text in FILES.items() for fault in faults(file, text)] == []


def test_the_place_is_there_and_all_releases_go_through_it():
    begun = [place for file, text in FILES.items() for node, place in walk(ast.parse(text), "", file)
             if isinstance(node, ast.Attribute) and node.attr == "draw" and name_of(node.value) == "paid"]  # fmt: skip
    assert sorted(begun) == [
        "statistics/chance.py: Exact.point", "statistics/chance.py: Exact.step",
        "statistics/class_means.py: JointMeans.release", "statistics/prepared.py: Prepared._recorded",
    ]  # fmt: skip


PLANTED = {
    "a law is drawn from elsewhere": ("statistics/mean.py", "def sneaky(law, value):\n    return law.draw(value)"),
    "its draw is handed on": ("check.py", "def sneaky(mechanism, run):\n    return run(mechanism.draw)"),
    "in a statistic's own draw": ("statistics/class_means.py", "class Sneaky:\n    def draw(self, law, value):\n        return law.draw(value)"),
    "noise is added by hand": ("statistics/class_means.py", "from riemdp.privacy.noise import add_gaussian\ndef sneaky(x):\n    return add_gaussian(x, 1.0, 1.0)"),
    "under another name": ("statistics/sites.py", "from riemdp.privacy import noise\ndef sneaky(x):\n    return noise.add_laplace(x, 1.0, 1.0)"),
    "by a mechanism's helper": ("mechanisms/wrapped.py", "def sneaky(x):\n    return WRAPPED_LAPLACE.add_noise(x, 1.0, 1.0)"),
    "random bits": ("statistics/adaptive.py", "import secrets\ndef sneaky():\n    return secrets.randbits(3)"),
    "random bits of the system": ("cli/releasing.py", "def sneaky():\n    return os.urandom(8)"),
    "a draw outside of draw": ("mechanisms/gradient.py", "def sneaky(law, value):\n    return law.draw(value, SystemRandomness())"),
    "its bits": ("statistics/descent.py", "def sneaky(value):\n    return value + SystemRandomness().standard_normal(value.shape)"),
    "digits of many normals": ("statistics/chance.py", "class Sneaky:\n    def point(self, law, records):\n        return system_digits(3, 8)"),
    "normals of the kernel": ("statistics/trend.py", "def sneaky(x):\n    from riemdp.kernels.exact_normals import rounded_normals\n    return rounded_normals(x)"),
    "by a new name": ("statistics/bodies.py", "def sneaky():\n    from riemdp.privacy.noise import add_laplace as widened"),
    "a seeded release": ("statistics/regression.py", "def sneaky(self, records):\n    return self.find(records, Seeded(np.random.default_rng(3)))"),
    "chance of NumPy": ("statistics/features.py", "def sneaky():\n    return np.random.default_rng().normal()"),
    "a reservation of nothing": ("statistics/prepared.py", "def sneaky(value, law, g):\n    return Reservation(g)"),
    "something else is called paid": ("statistics/prepared.py", "def sneaky(value, law, paid: Query):\n    return paid.draw(value)"),
    "or assigned": ("statistics/prepared.py", "def sneaky(value, law):\n    paid = law\n    return paid.draw(value)"),
    "or not declared": ("statistics/prepared.py", "def sneaky(value, paid):\n    return paid.draw(value)"),
    "a release without a draw": ("statistics/mean.py", "def sneaky(**facts):\n    return Release(**facts)"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_call_is_found(name):
    file, code = PLANTED[name]
    found = faults(file, f"{FILES[file]}\n\n{code}\n")
    assert found
    assert all(fault.startswith(f"{file}: ") and "neaky" in fault for fault in found)
