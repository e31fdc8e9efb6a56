"""Files of OpenAPI descriptions: one, or several that it is split into, in JSON or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from kitpick_foundation.decoding import decoder_of
from kitpick_foundation.yaml_values import InvalidYaml, parse_yaml
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import leads_out
from kitpick_ingest.json_files import parse, read_file
from kitpick_ingest.json_values import JsonObject, as_object
from kitpick_ingest.references import IDENTIFIERS, References
from kitpick_ingest.repeated_keys import repeated_keys

_VERSIONS = ("2.", "3.")
_Level = dict[str, msgspec.Raw] | list[msgspec.Raw]
_IDENTIFIERS = tuple(word.encode() for word in IDENTIFIERS)
_LEVEL: msgspec.json.Decoder[_Level] = decoder_of(_Level)


@dataclass
class Specification:
    """A parsed description, or a part of one."""

    where: str
    """The file, for positions."""
    size: int
    """Bytes of the file."""
    named: bool
    """Whether it may hold identifiers, see `IDENTIFIERS`."""
    tree: JsonObject
    """The whole of it."""
    repeated: list[tuple[str, ...]]
    """Places of keys that stand more than once in one object."""
    levels: dict[tuple[str, ...], _Level] = field(default_factory=dict)
    """Objects and lists of a JSON file as they stand there, by place; empty for YAML."""

    @property
    def info(self) -> JsonObject:
        """The object `info` of the description."""
        return as_object(self.tree.get("info"))

    @property
    def modern(self) -> bool:
        """Whether its schemas are those of JSON Schema 2020-12, as since OpenAPI 3.1."""
        return not _version(self.tree).startswith(("2", "3.0"))

    def text(self, place: tuple[str, ...], value: object) -> bytes:
        """The value at a place of the tree: the bytes that a JSON file has there, else rendered as JSON."""
        if not self.levels:
            return msgspec.json.encode(value)
        return bytes(self._raw(place))

    def _raw(self, place: tuple[str, ...]) -> msgspec.Raw:
        around, key = self._level(place[:-1]), place[-1]
        return around[int(key)] if isinstance(around, list) else around[key]

    def _level(self, place: tuple[str, ...]) -> _Level:
        if place not in self.levels:
            self.levels[place] = _LEVEL.decode(self._raw(place))
        return self.levels[place]


class Description:
    """A description with the files that it is split into. These are read where a reference leads to them.

    Only files in the folder of the first one, or of the source, are read: never what is elsewhere.

    Attributes:
        first: the file that was named.
        references: resolves the `$ref`s of all files.
        parts: the other files that were read, by their names relative to the folder of the first one.
        folder: no file outside is read.
        outside: names of files elsewhere, which were not.
        broken: why files that are there could not be read, by name.

    Args:
        path: the first file.
        folder: see above.
        limit: bytes that all the files may have together.

    Raises:
        SourceError: see `load_specification`.
    """

    def __init__(self, path: Path, folder: Path, limit: int) -> None:
        self.first = load_specification(path, limit)
        self.parts: dict[str, Specification] = {}
        self.folder = folder
        self.outside: list[str] = []
        self.broken: dict[str, str] = {}
        self.references = References(self.first.tree, path.name, self._load, named=self.first.named)
        self._base = path.parent
        self._left = limit

    def file(self, name: str) -> Specification:
        """The first file for an empty name, or else a part that was read."""
        return self.parts[name] if name else self.first

    def _load(self, name: str) -> JsonObject | None:
        path = part_path(self._base, name, self.folder)
        if path is None and leads_out(self._base / name, self.folder.resolve()):
            self.outside.append(name)
        if path is None or len(self.parts) >= MAX_PARTS:
            return None
        try:
            part = _parsed(path, str(self._base / name), self._left)
        except SourceError as error:
            self.broken[name] = error.what
            return None
        self._left -= part.size
        self.parts[name] = part
        return part.tree


SUFFIXES = frozenset({".json", ".yaml", ".yml"})
"""Suffixes of the files of descriptions and their parts."""
MAX_PARTS = 10_000
"""Files that one description is split into."""
_PART = re.compile(rb"""\$ref["']?\s*:\s*(?:[>|][+-]?\s+)?(?:"([^"#]+)|'([^'#]+)|([^"'#\s,}\]]+))""")
"""The file of a reference: in quotes, bare, or in a block of YAML; slashes of JSON may be escaped."""


def part_path(base: Path, name: str, folder: Path) -> Path | None:
    """The file of a part, None where it is not below a folder, however it leads there."""
    try:
        path = (base / name).resolve(strict=True)
        inside = path.is_relative_to(folder.resolve()) and path.suffix.lower() in SUFFIXES
        return path if inside and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def part_files(path: Path, folder: Path, limit: int) -> Iterator[Path]:
    """The files that a description may be split into, told by what follows `$ref`: for its fingerprint."""
    seen = {path.resolve()}
    pending = [path]
    while pending and len(seen) <= MAX_PARTS:
        file = pending.pop()
        try:
            data = read_file(file, limit)
        except SourceError:
            continue
        for name in sorted({b"".join(found) for found in _PART.findall(data.replace(rb"\/", b"/"))}):
            part = part_path(file.parent, unquote(name.decode("utf-8", "replace")), folder)
            if part is not None and part not in seen:
                seen.add(part)
                pending.append(part)
                yield part


def load_specification(path: Path, limit: int) -> Specification:
    """Reads OpenAPI 3 or Swagger 2, in JSON or YAML.

    Raises:
        SourceError: not readable, larger than `limit` bytes, neither JSON nor YAML, or something else.
    """
    specification = _parsed(path, str(path), limit)
    version = _version(specification.tree)
    if not version.startswith(_VERSIONS):
        what = f"has version {version!r}" if version else "has neither the key 'openapi' nor 'swagger'"
        raise NoDescription(specification.where, f"is not an OpenAPI 3 or Swagger 2 description: it {what}")
    if all(specification.tree.get(key) is None for key in ("paths", "webhooks")):
        raise NoDescription(specification.where, "describes no operations: it has no paths")
    return specification


class NoDescription(SourceError):
    """A file of another kind, perhaps a part of a description."""


def _parsed(path: Path, where: str, limit: int) -> Specification:
    data = read_file(path, limit)
    made = partial(Specification, where, len(data), any(word in data for word in _IDENTIFIERS))
    if _is_json(data, path):
        tree, repeated = parse(data, where, dict[str, Any]), repeated_keys(data)
        return made(tree, repeated, {(): parse(data, where, dict[str, msgspec.Raw])})
    return made(*_yaml(data, where, limit))


def _is_json(data: bytes, path: Path) -> bool:
    """YAML is nearly a superset of JSON, so a brace alone does not tell."""
    if path.suffix.lower() == ".json":
        return True
    if data.lstrip()[:1] != b"{":
        return False
    try:
        parse(data, str(path), msgspec.Raw)
    except SourceError:
        return False
    return True


def _yaml(data: bytes, where: str, limit: int) -> tuple[JsonObject, list[tuple[str, ...]]]:
    repeated: list[tuple[str, ...]] = []
    try:
        tree = parse_yaml(data, limit, repeated=repeated)
    except InvalidYaml as error:
        raise SourceError(where, str(error)) from error
    if not isinstance(tree, dict):
        raise SourceError(where, "is not an OpenAPI description: it must be a mapping")
    return tree, repeated


def _version(tree: JsonObject) -> str:
    version = tree.get("openapi") or tree.get("swagger")
    return str(version) if isinstance(version, (str, int, float)) else ""
