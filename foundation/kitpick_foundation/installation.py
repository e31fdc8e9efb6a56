"""How this kitpick was installed: by pip, pipx or uv, to stay or into a cache. Its cures have to fit."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_TAG = "CACHEDIR.TAG"
"""A file by which programs mark a folder that may be emptied at any time (bford.info/cachedir)."""


def install_line(extra: str, *, upgrade: bool = False) -> str:
    """The command that adds an extra to the kitpick that runs now.

    Where the environment is made anew for it, the command names what runs models as well: all that it does
    not name would be gone.
    """
    place = Path(sys.prefix)
    newly = requirement(extra if extra in {"cpu", "gpu"} else f"cpu,{extra}")
    if is_temporary():
        return f"pipx run --spec {newly} kitpick" if _by_pipx(place) else f"uvx --from {newly} kitpick"
    if _by_pipx(place):
        return f"pipx inject kitpick 'kitpick[{extra}]'"
    if (place / "uv-receipt.toml").is_file():
        return f"uv tool install {newly}"
    pip = "uv pip" if _by_uv(place) else "pip"
    return f"{pip} install {'--upgrade ' if upgrade else ''}'kitpick[{extra}]'"


def is_temporary() -> bool:
    """Whether the environment is one that `uvx` or `pipx run` made: it stands in their cache."""
    place = Path(sys.prefix)
    is_cached = any((folder / _TAG).is_file() for folder in place.parents)
    return is_cached and (_by_pipx(place) or _by_uv(place))


def requirement(extras: str) -> str:
    """How to name kitpick with extras in a shell: with the file or folder that this one came from, if any."""
    origin = _origin()
    return f"'kitpick[{extras}]{f' @ {origin}' if origin else ''}'"


def _origin() -> str:
    """URL of what was installed, as installers note it (PEP 610); empty where it came from an index."""
    try:
        noted = distribution("kitpick").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return str(json.loads(noted)["url"]) if noted else ""


def _by_pipx(place: Path) -> bool:
    return (place / "pipx_metadata.json").is_file()


def _by_uv(place: Path) -> bool:
    """Whether uv made it: then there is no pip in it."""
    noted = place / "pyvenv.cfg"
    return noted.is_file() and re.search(r"^uv\s*=", noted.read_text("utf-8"), re.MULTILINE) is not None
