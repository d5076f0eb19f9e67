"""`riemdp descriptors`: covariance matrices of pictures."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from riemdp.cli.options import OUTPUT, ForceOption, JsonOption
from riemdp.cli.output import check_outputs, facts, progress_bar, show, title
from riemdp.names import FeaturesName

if TYPE_CHECKING:
    from riemdp.manifolds.base import Array


def descriptors(
    images: Annotated[str, typer.Argument(help="Array (n, h, w[, 3]) in .npy or .npz:key; or folder of pictures.")],
    out: Annotated[Path, typer.Option("--out", help="The descriptors, .npy.", rich_help_panel=OUTPUT)],
    eta: Annotated[float, typer.Option(help="Added to the diagonal.")] = 1e-6,
    features: Annotated[str, typer.Option(help="tuzel (9 of grey, 11 of RGB images), or five.")] = "tuzel",
    region: Annotated[
        tuple[int, int, int, int] | None, typer.Option(metavar="TOP LEFT HEIGHT WIDTH", help="Part of the images.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Turn images into covariance matrices of their pixels, and print the public ball that holds them all.

    \b
    riemdp descriptors faces/ --out X.npy
    riemdp descriptors 'scans/*.png' --out X.npy --region 10 10 64 64
    riemdp descriptors data.npz:images --out X.npy --features five
    """
    import numpy as np

    from riemdp.descriptors import covariance_descriptors
    from riemdp.io.files import write_whole

    check_outputs({"--out": (out, (".npy",))}, [images], force=force)
    pixels = _load(images)
    name = cast(FeaturesName, features)  # any other is refused there
    matrices = covariance_descriptors(pixels, eta, name, region=region)
    np.save(buffer := io.BytesIO(), matrices)
    write_whole(out, buffer.getvalue(), force=force)
    found = _bounds(matrices, 3 if pixels.ndim == 4 else 1, eta, name)
    command = shlex.join(["riemdp", "mean", str(out), *_BALL, *map(repr, found["tight"]["eigenvalues"]), *_REST])
    if as_json:
        typer.echo(json.dumps({"riemdp": "descriptors", "out": str(out), **found, "next": command}))
        return
    size = f"{pixels.shape[1]} x {pixels.shape[2]}"
    show(
        title(f"{found['records']:,} covariance matrices, {found['k']} x {found['k']}, of {size} images"),
        facts({"written": str(out)} | {f"{name} ball": _words(found[name]) for name in ("tight", "printed")}),
        "Both balls hold every possible descriptor, whatever the images. A private mean in the smaller one:",
        f"  {command}",
    )


_BALL, _REST = ("--space", "spd-log-euclidean", "--eigenvalues"), ("--epsilon", "1", "--out", "mean.npy")


def _load(images: str) -> Array:
    from riemdp.io.data import load_images

    def track(files: list[Path]) -> Iterator[Path]:
        with progress_bar("reading", len(files)) as progress:
            for file in files:
                yield file
                if progress:
                    progress(1)

    return load_images(images, track)


def _bounds(matrices: Array, channels: int, eta: float, features: FeaturesName) -> dict[str, Any]:
    """The public balls: the tight one, and the one printed in the papers."""
    from riemdp.balls import Ball
    from riemdp.descriptors import descriptor_eigenvalue_bounds
    from riemdp.manifolds import SPDAffine

    n, k = matrices.shape[:2]
    found: dict[str, Any] = {"records": n, "k": k}
    for name in ("tight", "printed"):
        bounds = descriptor_eigenvalue_bounds(channels, eta, features, tight=name == "tight")
        ball = Ball.from_eigenvalue_bounds(SPDAffine(k), *bounds)
        found[name] = {"eigenvalues": bounds, "radius": ball.radius, "center": float(ball.center[0, 0])}
    return found


def _words(ball: dict[str, Any]) -> str:
    low, high = ball["eigenvalues"]
    place = f"radius {ball['radius']:.4g} around {ball['center']:.4g} times the identity"
    return f"{place} (eigenvalues from {low:.6g} to {high:.6g})"
