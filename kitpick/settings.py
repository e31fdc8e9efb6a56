"""All settings of kitpick, and how they are read.

Arguments and flags override environment variables, which override a file, which overrides the defaults. A
catalog reads `KITPICK_<FIELD>`; the service `KITPICK_SERVE_<FIELD>`, and a TOML file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import platformdirs

from kitpick_foundation.decoding import convert_to
from kitpick_foundation.errors import InvalidSetting
from kitpick_foundation.text_files import read_text
from kitpick_models.locate import DEFAULT_SET, ROLES, ChosenModels, choose
from kitpick_models.settings import Provider
from kitpick_rescorers import DEFAULT_PROFILE
from kitpick_service.settings import ServiceSettings

PREFIX = "KITPICK_"
SERVICE_PREFIX = "KITPICK_SERVE_"
FILE_VARIABLE = "KITPICK_SERVE_CONFIG"
_SHARED = frozenset(
    {"profile", "models", "encoder", "cross_encoder", "query_kind", "list_ranker", "provider", "threads"}
)
"""Settings of the service that are also read from `KITPICK_<FIELD>`, where a catalog has them from."""
Value = TypeVar("Value")
Price = Annotated[float, msgspec.Meta(ge=0)]


class Secret:
    """A secret text, shown as stars."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return "**********" if self._text else ""

    def __repr__(self) -> str:
        return f"Secret('{self}')"


def _read(name: str, default: Value) -> Value:
    """A field that is read from `KITPICK_<NAME>` unless it is given."""

    def value() -> Value:
        variable = PREFIX + name.upper()
        given = os.environ.get(variable)
        return checked_setting(Settings, name, given, variable) if given else default

    return msgspec.field(default_factory=value)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a catalog and its models. Fields that are not given are read from `KITPICK_<FIELD>`.

    Raises:
        InvalidSetting: a value that is not allowed: which, where it comes from, and what is.
    """

    catalog: str = _read("catalog", f"sqlite:{Path(platformdirs.user_data_dir('kitpick')) / 'catalog.db'}")
    """URL of the catalog."""
    profile: str = _read("profile", DEFAULT_PROFILE)
    """Profile of a search: a name or a .toml file."""
    models: str = _read("models", DEFAULT_SET)
    """Model set: `default`, `small`, or a folder with a `set.toml`."""
    encoder: str = _read("encoder", "")
    """Encoder in place of the set's: a name or a folder. Empty: the set's, as for the next three."""
    cross_encoder: str = _read("cross_encoder", "")
    """Cross-encoder in place of the set's."""
    query_kind: str = _read("query_kind", "")
    """Single/multi classifier in place of the set's; `none`: no classifier."""
    list_ranker: str = _read("list_ranker", "")
    """Learned fusion for the stage `learned` in place of the set's; `none`: no fusion."""
    provider: Provider = _read("provider", "cpu")
    """Device that runs the models."""
    threads: Annotated[int, msgspec.Meta(ge=0, le=1024)] = _read("threads", 0)
    """Threads of a model; 0: all it may use."""
    intents: Path | None = _read("intents", None)
    """File of sample requests; by default beside an SQLite catalog."""
    answers: Path | None = _read("answers", None)
    """File that remembers answers for feedback; without one, each process remembers its latest."""
    feedback_days: Annotated[float, msgspec.Meta(gt=0)] = _read("feedback_days", 90.0)
    """Days after which answers, and what was said about them, are removed."""
    trial: Path | None = _read("trial", None)
    """File of a trial that `kitpick trial start` began, or none."""
    enriched: Path | None = _read("enriched", None)
    """File of what `kitpick enrich` wrote; by default beside an SQLite catalog."""
    llm_url: str = _read("llm_url", "")
    """OpenAI-compatible endpoint, up to its version: …/v1."""
    llm_model: str = _read("llm_model", "")
    """Name of the language model at that endpoint."""
    llm_key: Secret = _read("llm_key", Secret())
    """Bearer token of that endpoint."""
    llm_prompt_price: Price = _read("llm_prompt_price", 0.0)
    """Cost of a million tokens of prompt."""
    llm_completion_price: Price = _read("llm_completion_price", 0.0)
    """Cost of a million tokens of answer."""
    rescorer: str = _read("rescorer", "")
    """URL of a rescorer service to rank with, or empty."""
    rescorer_key: Secret = _read("rescorer_key", Secret())
    """API key of that service."""
    embedding_cache: Path = _read(
        "embedding_cache", Path(platformdirs.user_cache_dir("kitpick")) / "embeddings.db"
    )
    """File that remembers embeddings between syncs."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            checked_setting(Settings, name, getattr(self, name), name, strict=True)

    def chosen_models(self) -> ChosenModels:
        """The models of the set, and those in place of some of them; raises like `choose`."""
        return choose(self.models, **{role: getattr(self, role) for role in ROLES})


class ExplainedSettings(msgspec.Struct, frozen=True):
    """Settings of the service, and the origin of each that is not a default."""

    settings: ServiceSettings
    origins: dict[str, str]


def read_service_settings(
    flags: Mapping[str, object], file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> ExplainedSettings:
    """Combines flags, environment and file. A flag that is None was not given.

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
            values[name] = checked_setting(ServiceSettings, name, value, origin)
            origins[name] = origin
    return ExplainedSettings(ServiceSettings(**values), origins)


def checked_setting(
    kind: type[msgspec.Struct],
    name: str,
    value: object,
    origin: str,
    strict: bool = False,
) -> Any:  # noqa: ANN401 - of the field's own type
    """The value of a field in its type, converted from text if `strict` is false.

    Raises:
        InvalidSetting: no such field, or a value that it does not take; `origin` says where it comes from.
    """
    types = _types(kind)
    if name not in types:
        raise InvalidSetting(f"{origin}: no setting {name[:100]!r}; known are {', '.join(types)}")
    try:
        return convert_to(value, types[name], strict=strict, dec_hook=_from_text)
    except msgspec.ValidationError as error:
        raise InvalidSetting(f"{origin}: {error}") from error


@cache
def _types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Types of the fields, by name: they are evaluated from text, which takes a millisecond a class."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _from_text(kind: type, value: object) -> object:
    """A path or secret as itself or from text."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise ValueError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")
    return kind(value)


def _from_file(path: Path | None) -> dict[str, tuple[str, object]]:
    if path is None:
        return {}
    try:
        found = msgspec.toml.decode(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSetting(f"{path}: cannot be read: {error}") from error
    return {f"{path}: {name}": (name, value) for name, value in found.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, object]]:
    found: dict[str, tuple[str, object]] = {}
    for field in msgspec.structs.fields(ServiceSettings):
        shared = [PREFIX + field.name.upper()] if field.name in _SHARED else []
        for variable in (*shared, SERVICE_PREFIX + field.name.upper()):
            if environment.get(variable):
                found[variable] = (field.name, environment[variable])
    return found
