"""A parsed OpenAPI description, with the exact text of every part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from kitpick_foundation.yaml_values import InvalidYaml, parse_yaml
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import parse, read_file
from kitpick_ingest.json_values import JsonObject, as_object

_VERSIONS = ("2.", "3.")
_Level = dict[str, msgspec.Raw] | list[msgspec.Raw]
_LEVEL: msgspec.json.Decoder[_Level] = msgspec.json.Decoder(_Level)


class Specification:
    """A parsed description.

    Attributes:
        where: the file, for positions.
        tree: the whole description.
    """

    def __init__(self, where: str, tree: JsonObject, data: bytes | None) -> None:
        self.where = where
        self.tree = tree
        self._levels: dict[tuple[str, ...], _Level] = {}
        if data is not None:
            self._levels[()] = parse(data, where, dict[str, msgspec.Raw])

    @property
    def info(self) -> JsonObject:
        """The object `info` of the description."""
        return as_object(self.tree.get("info"))

    def text(self, place: tuple[str, ...], value: object) -> bytes:
        """The value at a place of the tree: the bytes that a JSON file has there, else rendered as JSON."""
        if not self._levels:
            return msgspec.json.encode(value)
        return bytes(self._raw(place))

    def _raw(self, place: tuple[str, ...]) -> msgspec.Raw:
        around, key = self._level(place[:-1]), place[-1]
        return around[int(key)] if isinstance(around, list) else around[key]

    def _level(self, place: tuple[str, ...]) -> _Level:
        if place not in self._levels:
            self._levels[place] = _LEVEL.decode(self._raw(place))
        return self._levels[place]


def load_specification(path: Path, limit: int) -> Specification:
    """Reads OpenAPI 3 or Swagger 2, in JSON or YAML.

    Raises:
        SourceError: not readable, larger than `limit` bytes, neither JSON nor YAML, or something else.
    """
    where = str(path)
    data = read_file(path, limit)
    specification = _json(data, where) if _is_json(data, path) else _yaml(data, where, limit)
    version = _version(specification.tree)
    if not version.startswith(_VERSIONS):
        what = f"has version {version!r}" if version else "has neither the key 'openapi' nor 'swagger'"
        raise SourceError(where, f"is not an OpenAPI 3 or Swagger 2 description: it {what}")
    return specification


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


def _json(data: bytes, where: str) -> Specification:
    return Specification(where, parse(data, where, dict[str, Any]), data)


def _yaml(data: bytes, where: str, limit: int) -> Specification:
    try:
        tree = parse_yaml(data, limit)
    except InvalidYaml as error:
        raise SourceError(where, str(error)) from error
    if not isinstance(tree, dict):
        raise SourceError(where, "is not an OpenAPI description: it must be a mapping")
    return Specification(where, tree, None)


def _version(tree: JsonObject) -> str:
    version = tree.get("openapi") or tree.get("swagger")
    return str(version) if isinstance(version, (str, int, float)) else ""
