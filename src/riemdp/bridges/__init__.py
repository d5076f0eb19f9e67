"""Bridges to other libraries, each of which is imported only by its own module."""

from __future__ import annotations

from pathlib import Path


def moabb_pipelines() -> Path:
    """The folder of pipelines in MOABB's YAML form that comes with the package.

    Returns
    -------
    Path
        Pass it to `moabb.benchmark(pipelines=...)` or `parse_pipelines_from_directory`; or copy a file and change
        its guarantee and ball.

    Examples
    --------
    >>> sorted(path.name for path in moabb_pipelines().glob("*.yml"))
    ['private_mdm.yml', 'private_mdm_log_euclidean.yml', 'private_tangent_space_lr.yml']
    """
    return Path(__file__).parent / "pipelines"
