"""fork() waits for imports that other threads are in the midst of.

A child would find such a module half made, and locked by a thread that only its parent has: it would wait for ever.
"""

from __future__ import annotations

import logging  # noqa: F401  its lock, too, is taken at fork(): only after imports, which may need it, are finished
import os
import sys
from importlib import import_module

KERNELS = "riemdp.kernels."  # which are compiled as they are imported, when somebody first needs them


def finish_imports() -> None:
    """Return when whatever a release imports as it goes is there, or not begun."""
    import_module("flint")  # needed by every release, and quickly there
    for name in [name for name in sys.modules if name.startswith(KERNELS)]:
        import_module(name)


if hasattr(os, "register_at_fork"):  # what is registered last runs first: hence after logging
    os.register_at_fork(before=finish_imports)
