"""Docstrings of the public names: all numpydoc sections are there and fit the signatures, and every example runs.

Docstrings of internals are one line; numpydoc itself is no dependency (docs/decisions/0021-docstrings.md).
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import riemdp as rd
import typed_usage
from riemdp import names
from riemdp.caching import cached_property
from riemdp.descriptors import _EXTRACTORS
from riemdp.mechanisms import MECHANISMS
from riemdp.population import SUMMARY_REGIONS
from riemdp.statistics.catalogue import StatisticName, statistic_names
from riemdp.statistics.mean import PLANNED, PlannedName

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
ORDER = ["Parameters", "Attributes", "Returns", "Raises", "Warns", "See Also", "Notes", "References", "Examples"]
PUBLIC = [name for name in rd.__all__ if name != "__version__"]


# --- what is public ---------------------------------------------------------------------------------------------


def shown_members(name):
    """Of a space: the methods that its reference shows; the others are for mechanisms and authors of spaces."""
    listed = re.findall(rf"^::: riemdp\.{name}\n    options:\n(?:.*\n)*?      members: (.*)$", spaces_page(), re.MULTILINE)
    assert len(listed) == 1, f"docs/reference/spaces.md has no place for {name}: write '::: riemdp.{name}' as for others"
    return [] if listed == ["false"] else listed[0].strip("[]").split(", ")


def spaces_page():
    return (REFERENCE / "spaces.md").read_text(encoding="utf-8")


def own_members(kind):
    """What users may call of a class, but for what it has from another package."""
    made_here = [base for base in kind.__mro__ if base.__module__.startswith("riemdp")]
    found = {name: value for base in reversed(made_here) for name, value in vars(base).items() if name[0] != "_"}
    return [name for name, value in found.items() if isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)]


def members(name):
    """Names of the public methods and properties of a public class."""
    kind = getattr(rd, name)
    return shown_members(name) if issubclass(kind, rd.Space) else own_members(kind)


def documented():
    """(name, object) of everything that is documented in full; what several classes inherit comes several times."""
    for name in PUBLIC:
        value = getattr(rd, name)
        yield name, value
        if inspect.isclass(value):
            yield from ((f"{name}.{member}", inspect.getattr_static(value, member)) for member in members(name))


FIRST_NAMES = {id(value): name for name, value in reversed(list(documented()))}
DOCUMENTED = {name: value for name, value in documented() if FIRST_NAMES[id(value)] == name}


# --- what a docstring must have ----------------------------------------------------------------------------------


def sections(text):
    """Texts of the sections by title, in order; the summary and what follows it under ''."""
    parts = re.split(r"^([A-Z][\w ]+)\n-+\n", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section):
    """(names, type, description) of the entries of a section of parameters."""
    found = re.split(r"^(\S.*)$", section, flags=re.MULTILINE)[1:]
    return [(*head.partition(" : ")[::2], inspect.cleandoc(text).strip()) for head, text in zip(found[::2], found[1::2], strict=True)]


def arguments(value):
    """Names of the parameters as numpydoc writes them; those of a warning are Python's own."""
    if inspect.isclass(value) and issubclass(value, Warning):
        return []
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(value).parameters.values()
    return [stars.get(one.kind, "") + one.name for one in parameters if one.name not in ("self", "cls")]


def findings(name, value):
    """What is wrong with the docstring of a public name, in words."""
    function = getattr(value, "__func__", value)
    is_property, text = isinstance(value, property | cached_property), inspect.getdoc(value) or ""
    parts = sections(text)
    summary, _, rest = parts[""].partition("\n")
    if not summary.endswith(".") or summary[0].islower() or (rest and not rest.startswith("\n")):
        yield "no summary: one line, a capital first, a full stop last"
    if [title for title in ORDER if title in parts] != list(parts)[1:]:
        yield f"sections {list(parts)[1:]} are not those of numpydoc, or not in order"
    if is_property:
        return
    if "Examples" not in parts or ">>> " not in parts["Examples"]:
        yield "no example"
    listed = entries(parts.get("Parameters", ""))
    if [one for names, _, _ in listed for one in names.split(", ")] != arguments(function):
        yield f"parameters {[names for names, _, _ in listed]} are not those of the signature, {arguments(function)}"
    for names_, kind, told in [*listed, *entries(parts.get("Attributes", ""))]:
        if not kind or not told.endswith((".", "?")):
            yield f"parameter {names_} has no type, or no sentence"
        if kind.startswith("array") and "shape" not in kind:
            yield f"parameter {names_} is an array of no shape"
    returns = inspect.isclass(value) or inspect.signature(function).return_annotation in ("None", None)
    if ("Returns" in parts) == returns:
        yield "Returns is missing, or there is nothing to return"
    if "." not in name and "See Also" not in parts:
        yield "no see also"
    if "." not in name and inspect.isfunction(value) and "Raises" not in parts:
        yield "Raises is missing"
    if "raise " in inspect.getsource(function) and not inspect.isclass(value) and "Raises" not in parts:
        yield "Raises is missing, and there is a raise"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_has_all_sections(name):
    assert list(findings(name, DOCUMENTED[name])) == []


def test_enough_is_looked_at():
    assert {"private_mean", "Ball.from_eigenvalue_bounds", "Space.exp", "PrivateMDM.fit", "Ledger.spent", "PureDP"} <= set(DOCUMENTED)
    assert len(DOCUMENTED) > 110


def well(x, *more):
    """Add numbers.

    Parameters
    ----------
    x : float
        The first.
    *more : float
        Others.

    Returns
    -------
    float
        Their sum.

    Raises
    ------
    InputError
        Never.

    See Also
    --------
    sum : As it is.

    Examples
    --------
    >>> 1 + 1
    2
    """
    return x + sum(more)


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("Add numbers.", "Add numbers", "no summary"),
        ("Add numbers.", "Add\nnumbers.", "no summary"),
        (">>> 1", "1", "no example"),
        ("x : float", "y : float", "not those of the signature"),
        ("x : float\n    The first.\n", "", "not those of the signature"),
        ("x : float", "x", "no type"),
        ("The first.", "The first", "no sentence"),
        ("x : float", "x : array", "no shape"),
        ("Returns\n-------", "Gives\n-----", "not those of numpydoc"),
        ("Returns\n-------\nfloat\n    Their sum.\n", "", "Returns is missing"),
        ("Raises\n------\nInputError\n    Never.\n", "", "Raises is missing"),
        ("See Also\n--------\nsum : As it is.\n", "", "no see also"),
    ],
)
def test_what_is_missing_is_found(right, wrong, told, monkeypatch):
    assert list(findings("well", well)) == []
    text = inspect.getdoc(well)
    assert right in text
    monkeypatch.setattr(well, "__doc__", text.replace(right, wrong))
    assert any(told in finding for finding in findings("well", well))


# --- examples ----------------------------------------------------------------------------------------------------


def modules():
    """Those that define something public."""
    made_in = {DOCUMENTED[name].__module__ for name in PUBLIC}
    inherited = {base.__module__ for name in PUBLIC if inspect.isclass(getattr(rd, name)) for base in getattr(rd, name).__mro__}
    return sorted(made_in | {module for module in inherited if module.startswith("riemdp.")})


@pytest.mark.parametrize("module", modules())
def test_examples_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert done.failed == 0
    assert done.attempted >= sum(getattr(value, "__module__", None) == module for value in DOCUMENTED.values())


# --- names as types, and what dir() shows -------------------------------------------------------------------------


def test_names_as_types_are_those_that_are_known():
    assert set(get_args(names.MechanismName)) == {"auto", *MECHANISMS}
    assert list(get_args(StatisticName)) == statistic_names()
    assert list(get_args(PlannedName)) == PLANNED
    assert list(get_args(names.FeaturesName)) == list(_EXTRACTORS)
    assert list(get_args(names.WhoseMean)) == list(SUMMARY_REGIONS)
    assert [rd.Hyperbolic(2, model=model).model for model in get_args(names.HyperbolicModel)] == ["hyperboloid", "poincare"]


@pytest.mark.parametrize(("argument", "kind"), [("calibration", names.CalibrationName), ("statistic", StatisticName)])
def test_what_is_no_such_name_is_refused_and_the_names_are_listed(argument, kind):
    with pytest.raises(rd.InputError) as refusal:
        rd.plan(rd.Ball(rd.Euclidean(1), [0.0], 1.0), 100, rd.GDP(1.0), **{argument: "unknown"})
    assert all(repr(name) in str(refusal.value) for name in get_args(kind))


def test_basis_names_are_listed():
    X, ball = rd.SPDAffine(2).random_point(100, 0), rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.1, 10.0)
    with pytest.raises(rd.InputError) as refusal:
        rd.PrivateTangentSpace(ball=ball, guarantee=rd.GDP(1.0), basis="unknown").fit(X)
    assert all(repr(name) in str(refusal.value) for name in get_args(names.BasisName))


def test_dir_shows_what_is_public_and_nothing_else():
    assert dir(rd) == sorted(rd.__all__)
    assert [name for name in dir(rd) if name.startswith("Priv")] == ["PrivateFrechetMean", "PrivateGeodesicRegression", "PrivateLDA", "PrivateLogisticRegression", "PrivateMDM", "PrivatePGA", "PrivateTangentSpace"]
    assert all(hasattr(rd, name) for name in dir(rd))


def test_the_typed_sample_runs(tmp_path):
    """mypy reads it (make lint); it would be of little use if it did not work."""
    X = rd.SPDAffine(2).random_point(400, 0)
    assert typed_usage.means(X, tmp_path).n == 400
    assert typed_usage.estimators(X, np.repeat(["a", "b"], 200)).shape == (400,)
    first, second = typed_usage.mistakes(X, rd.Ball(rd.SPDAffine(2), np.eye(2), 1.0))
    assert "'wrapped-gaussian'" in first
    assert "'analytic'" in second
