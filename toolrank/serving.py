"""Settings of the service: flags beat environment variables, which beat a file, which beats the defaults."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolrank_rescorers.service.errors import InvalidSetting
from toolrank_rescorers.service.settings import ServiceSettings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_VARIABLE = "TOOLRANK_SERVE_CONFIG"
_PREFIX = "TOOLRANK_SERVE_"
_SHARED = frozenset({"profile", "encoder", "cross_encoder", "query_kind", "provider", "threads"})
"""Also read from `TOOLRANK_<FIELD>`, where a catalog has them from."""


class Explained(msgspec.Struct, frozen=True):
    """Settings, and where each that is no default comes from."""

    settings: ServiceSettings
    origins: dict[str, str]


def read_settings(
    flags: Mapping[str, object], file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Explained:
    """The settings that flags, environment and file amount to. A flag that is None was not given.

    Raises:
        InvalidSetting: an unknown name or a value that is not allowed: which, and where it comes from.
    """
    named = file or (Path(environment[FILE_VARIABLE]) if environment.get(FILE_VARIABLE) else None)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    given = {
        f"--{name.replace('_', '-')}": (name, value) for name, value in flags.items() if value is not None
    }
    for found in (_from_file(named), _from_environment(environment), given):
        for origin, (name, value) in found.items():
            values[name] = _checked(name, value, origin)
            origins[name] = origin
    return Explained(ServiceSettings(**values), origins)


def _checked(name: str, value: object, origin: str) -> object:
    field = next((item for item in msgspec.structs.fields(ServiceSettings) if item.name == name), None)
    if field is None:
        known = ", ".join(item.name for item in msgspec.structs.fields(ServiceSettings))
        raise InvalidSetting(f"{origin}: no setting {name[:100]!r}; known are {known}")
    try:
        return msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidSetting(f"{origin}: {error}") from error


def _from_file(path: Path | None) -> dict[str, tuple[str, object]]:
    if path is None:
        return {}
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{path}: cannot be read: {error}") from error
    return {f"{path}: {name}": (name, value) for name, value in found.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, object]]:
    found: dict[str, tuple[str, object]] = {}
    for field in msgspec.structs.fields(ServiceSettings):
        shared = [f"TOOLRANK_{field.name.upper()}"] if field.name in _SHARED else []
        for variable in (*shared, _PREFIX + field.name.upper()):
            if environment.get(variable):
                found[variable] = (field.name, environment[variable])
    return found
