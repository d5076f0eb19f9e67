"""The hyperbolic half-plane of docs/extending.md, as the page defines it: a space with nothing but the core."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def _defined() -> type:
    page = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, "extending", str(PAGE), 0)
    module = sys.modules.setdefault("half_plane", ModuleType("half_plane"))
    vars(module)["__name__"] = "half_plane"
    for example in page.examples[:3]:
        exec(example.source, vars(module))
    return module.HalfPlane


HalfPlane = _defined()
