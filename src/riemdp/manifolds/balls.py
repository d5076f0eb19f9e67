"""Vectors of balls: sums, lengths and frames in flint's arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flint import arb


def ball_dot(a: list[Any], b: list[Any]) -> Any:
    """Sum of conj(a_i) b_i, of real (arb) or complex (acb) balls; real ones have no `conjugate`."""
    return sum((x.conjugate() if hasattr(x, "conjugate") else x) * y for x, y in zip(a, b, strict=True))


def ball_norm(v: list[Any]) -> arb:
    """Euclidean norm of a vector of balls."""
    square: arb = ball_dot(v, v).real
    return square.sqrt()


def ball_sinhc(t: arb) -> arb:
    """sinh(t) / t = sinc(it)."""
    from flint import acb

    return acb(0, t).sinc().real


def complement(coords: list[Any], normal: list[Any], pivot: int) -> list[Any]:
    """Isometry of R^{m-1} (C^{m-1}) onto the vectors orthogonal to the unit vector n in R^m (C^m), with n_pivot != 0.

    It puts a 0 at the pivot p and applies the Householder reflection with n + (n_p/|n_p|) e_p, which takes n to
    a multiple of e_p.
    """
    size, others = abs(normal[pivot]), normal[:pivot] + normal[pivot + 1 :]
    along = ball_dot(others, coords)
    body = [c - n * (along / (1 + size)) for c, n in zip(coords, others, strict=True)]
    return [*body[:pivot], -normal[pivot] / size * along, *body[pivot:]]
