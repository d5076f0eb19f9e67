"""What to say of a ball in which means are not unique."""

from __future__ import annotations

import math

from riemdp.arguments import rounded_down
from riemdp.errors import InputError
from riemdp.manifolds.base import Space

USABLE = 0.9  # share of the uniqueness radius up to which Fréchet means are offered; statistics.intrinsic knows why


def too_large(radius: float, space: Space) -> InputError:
    """The error, which names the radius that works and suspects degrees where no two points are so far apart."""
    fault = f"radius = {radius!r} is too large for {space!r}"
    unique = f"means are unique only in balls of radius below {space.uniqueness_radius:.6g}"
    remedy = f"pass at most {rounded_down(USABLE * space.uniqueness_radius)}{_suspicion(radius, space)}"
    return InputError(f"{fault}: {unique}; {remedy}.")


def _suspicion(radius: float, space: Space) -> str:
    if space.radian is None or radius <= space.injectivity_radius:
        return ""
    meant = math.radians(radius) * space.radian
    if meant > USABLE * space.uniqueness_radius:
        return "; it is the length of an arc, not degrees"
    return f"; if these are degrees, pass {rounded_down(meant)}"
