"""Assembles what a node runs from, once for each recipe, in a cache that all checkouts share."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock


def cache_folder() -> Path:
    """KITPICK_NODE_CACHE, by default `~/.cache/kitpick-nodes`."""
    chosen = os.environ.get("KITPICK_NODE_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "kitpick-nodes"


def assembled(name: str, recipe: Iterable[Path], assemble: Callable[[Path], None]) -> Path:
    """The finished folder for these recipe files; `assemble` fills an empty one where there is none yet."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"{name}-{_digest(recipe)}"
    with FileLock(cache / f"{name}.lock"):
        if not target.is_dir():
            partial = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=cache))
            try:
                partial.chmod(0o755)
                assemble(partial)
                partial.rename(target)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return target


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
