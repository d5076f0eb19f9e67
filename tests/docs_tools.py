"""The modules of docs/ that make the site: docs/ is no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def tool(name):
    """One of them, from its file."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as dataclasses need
    spec.loader.exec_module(module)
    return module


terms, percent, look = tool("terms"), tool("percent"), tool("look")
