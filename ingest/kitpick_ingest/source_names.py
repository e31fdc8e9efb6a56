"""Default names of sources: short, stable, and different for different sources."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from kitpick_ingest.sample import user_path
from kitpick_ingest.urls import is_url, split_url

_GENERIC_STEMS = frozenset(
    {"api", "apis", "api-docs", "corpus", "documents", "functions", "index", "openapi", "schema", "servers"}
    | {"spec", "specification", "swagger", "tools"}
)
"""Names that many files share: there the folder tells more."""
_LAUNCHERS = frozenset(
    {"bun", "bunx", "deno", "docker", "env", "node", "npx", "pipx", "python", "python3", "uv", "uvx"}
)
_LAUNCHER_VERBS = frozenset({"run", "x", "tool", "exec"})


def default_name(kind: str, target: str) -> str:
    """Name of a source: the host of a URL or cluster, the program of a command, the file or folder of a path.

    Never the whole target, which may hold a password or a token.

    Raises:
        UnknownSource: a URL without a host.
    """
    if not target or kind == "botocore":  # whichever services are chosen, they are the one source
        return kind
    if is_url(target):
        return _name_of_url(target)
    if kind == "ml-commons" and "://" in target:  # a cluster, written as a catalog there would be
        return target.partition("://")[2].partition("?")[0].rpartition("@")[2].rstrip("/") or kind
    if target.startswith("stdio:"):
        return _name_of_command(target.removeprefix("stdio:")) or kind
    path = user_path(target)
    if kind == "functions":  # a file of functions belongs to no product that its folder could name
        return path.stem or kind
    return _name_of_path(path) or kind


def _name_of_url(url: str) -> str:
    parts = split_url(url)
    place = f"{parts.hostname}" if parts.port is None else f"{parts.hostname}:{parts.port}"
    path = parts.path.strip("/").removesuffix("mcp").strip("/")
    return f"{place}/{path}" if path else place


def _name_of_command(command: str) -> str:
    words = [word for word in command.split() if not word.startswith("-") and word not in _LAUNCHER_VERBS]
    programs = [PurePath(word).stem for word in words]
    return next(
        (program for program in programs if program not in _LAUNCHERS), programs[0] if programs else ""
    )


def _name_of_path(path: Path) -> str:
    place = Path(os.path.normpath(path.absolute()))
    return place.parent.name if place.stem.lower() in _GENERIC_STEMS else place.stem
