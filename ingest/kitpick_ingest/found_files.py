"""The files of a source: one, those below a folder, or those that match a pattern.

Ingesting a folder means its own content: a symbolic link that leads out of it is not followed.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kitpick_engines.text import storable
from kitpick_ingest.errors import SourceError

LEADS_OUT = (
    "a symbolic link that leads out of the folder: not read (copy what it leads to into the folder, "
    "or ingest that by its own path)"
)
_DATA = "..data"
NO_FILE = "no regular file: not read"


class FoundFile(NamedTuple):
    """A file of a source."""

    path: Path
    place: tuple[str, ...]
    """Its path below the folder or pattern that was given, part by part; empty for a file given by itself."""
    problem: str = ""
    """Why it is not read."""


def find_files(path: Path, suffixes: frozenset[str]) -> list[FoundFile]:
    """The file, the files of a folder and its folders, or those that match a pattern, sorted by path.

    A file that several links lead to is found once. Links that lead out of the folder, and pipes, have a
    problem; a file that is given by itself is read, whatever it is.

    Raises:
        SourceError: nothing there with one of the suffixes.
    """
    if path.exists() and not path.is_dir():
        return [FoundFile(path, ())]
    root, found = _below(path)
    inside = root.resolve()
    kept = _once(_named(root, [each for each in found if _is_meant(each, inside, suffixes)]))
    if not kept:
        what = "holds no" if path.is_dir() else "matches no"
        raise SourceError(str(path), f"{what} file with suffix {', '.join(sorted(suffixes))}")
    return [
        FoundFile(file, tuple(map(storable, file.relative_to(root).parts)), problem_of(file, inside))
        for file in kept
    ]


def problem_of(file: Path, folder: Path) -> str:
    """Why a file in a folder is not read, empty where it is.

    Args:
        file: a path below the folder.
        folder: without symbolic links, as `Path.resolve` gives it.
    """
    if leads_out(file, folder):
        return LEADS_OUT
    return "" if _asked(file, stat.S_ISREG) else NO_FILE


def walk(top: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Folders below one as `os.walk` gives them, by names that last where Kubernetes mounts files.

    It writes them into a folder whose name has the date, `..2026_11_29`, to which `..data` leads, and
    replaces it at each change. What stays is a link through `..data` for each file and folder in it.
    """
    for place, folders, files in os.walk(top):
        here = Path(place)
        if _DATA in folders:
            folders[:] = [name for name in folders if not name.startswith("..")]
        yield here, folders, files
        for name in folders:
            if is_mounted(here / name):
                yield from walk(here / name)


def is_mounted(path: Path) -> bool:
    """Whether it is a link that Kubernetes makes for what it mounts, and that stays where it is."""
    return path.is_symlink() and path.readlink().parts[0] == _DATA


def leads_out(path: Path, folder: Path) -> bool:
    """Whether symbolic links of a path lead out of a folder, which is as `Path.resolve` gives it."""
    try:
        return not path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):  # links in a circle, or no path: they lead nowhere
        return False


def _below(path: Path) -> tuple[Path, Iterator[Path]]:
    if path.is_dir():
        return path, path.rglob("*")
    fixed = 0
    while fixed < len(path.parts) and not glob.has_magic(path.parts[fixed]):
        fixed += 1
    if fixed == len(path.parts):
        raise SourceError(str(path), "does not exist")
    root = Path(*path.parts[:fixed])
    return root, root.glob(str(Path(*path.parts[fixed:])))


def _is_meant(path: Path, folder: Path, suffixes: frozenset[str]) -> bool:
    """A file with one of the suffixes; or a linked folder, whose files are not found, but missed."""
    if _asked(path, stat.S_ISDIR):
        return path.is_symlink() and leads_out(path, folder)
    return path.suffix.lower() in suffixes


def _asked(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether something is of a kind; no where this cannot be told."""
    try:
        return is_kind(path.stat().st_mode)
    except OSError:
        return False


def _named(root: Path, paths: list[Path]) -> Iterator[Path]:
    """The paths, and those of files in dated folders by way of the links that lead there (see `walk`)."""
    yield from paths
    dated = [path for path in paths if _is_dated(path.relative_to(root))]
    links = [link for link in root.rglob("*") if is_mounted(link)] if dated else []
    for path in dated:
        end = _end(path)
        yield from (link / end.relative_to(_end(link)) for link in links if end.is_relative_to(_end(link)))


def _is_dated(path: Path) -> bool:
    return any(part.startswith("..") for part in path.parts)


def _rank(path: Path) -> tuple[bool, int, bool, Path]:
    return _is_dated(path), len(path.parts), path.is_symlink(), path


def _once(paths: Iterable[Path]) -> list[Path]:
    """Of paths that lead to the same file the one without a date, or the shortest one."""
    kept: dict[Path, Path] = {}
    for path in sorted(paths, key=_rank):
        kept.setdefault(_end(path), path)
    return sorted(kept.values())


def _end(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path
