"""Sources that consist of parts (files, services): a part that cannot be read does not stop the others."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter

Part = TypeVar("Part")


def read_parts(
    source: str, parts: Sequence[Part], read: Callable[[Part], Iterator[Converted]]
) -> Iterator[Converted]:
    """Documents of the parts, one part after the other; a dead letter for a part that cannot be read.

    Raises:
        SourceError: the only part there is cannot be read.
    """
    if len(parts) == 1:
        yield from read(parts[0])
        return
    for part in parts:
        yield from _isolated(source, part, read)


def _isolated(source: str, part: Part, read: Callable[[Part], Iterator[Converted]]) -> Iterator[Converted]:
    try:
        yield from read(part)
    except SourceError as error:
        yield DeadLetter(source, error.where, error.what)


class FoundFile(NamedTuple):
    """A file of a source."""

    path: Path
    place: tuple[str, ...]
    """Its path below the folder or pattern that was given, part by part; empty for a file given by itself."""


def find_files(path: Path, suffixes: frozenset[str]) -> list[FoundFile]:
    """The file, the files of a folder and its folders, or those that match a pattern, sorted by path.

    Raises:
        SourceError: nothing there with one of the suffixes.
    """
    if path.is_file():
        return [FoundFile(path, ())]
    root, found = _below(path)
    files = sorted(file for file in found if file.suffix.lower() in suffixes and file.is_file())
    if not files:
        what = "holds no" if path.is_dir() else "matches no"
        raise SourceError(str(path), f"{what} file with suffix {', '.join(sorted(suffixes))}")
    return [FoundFile(file, file.relative_to(root).parts) for file in files]


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
