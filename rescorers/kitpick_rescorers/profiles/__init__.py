"""Profiles: pipelines as data, read from the TOML files beside this module or from a user's own, and written.

Errors of a profile name the file, the field and the allowed values.
"""

from __future__ import annotations

import json
import operator
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import msgspec
from msgspec.structs import replace

from kitpick_foundation.decoding import convert_to
from kitpick_foundation.text_files import read_text
from kitpick_rescorers.errors import InvalidProfile, UnknownProfile, UnusableStage
from kitpick_rescorers.request_matrix import InvalidRequestMatrix, RequestMatrix, read_request_matrix
from kitpick_rescorers.stages import (
    Abstain,
    AnyStage,
    Blend,
    CrossEncode,
    Decode,
    Learned,
    Requirement,
    Stage,
)
from kitpick_rescorers.stages.base import Count

if TYPE_CHECKING:  # reads the metadata of all packages: loaded where a profile names a stage that is not ours
    from importlib.metadata import EntryPoint

MAX_STAGES = 50
_GROUP = "kitpick.stages"
"""Entry points of stages of other installed packages."""


class FirstStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many candidates the caller should propose for k hits."""

    size: Count = 200
    """Fewest candidates of each ranking: four times the fifty that are reranked, as fusion needs them."""
    factor: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    """At least this many candidates for each of the k hits."""
    request_matrix: Annotated[str, msgspec.Meta(max_length=4_096)] = ""
    """File of the matrix that turns vectors of requests, beside the profile's own; see `RequestMatrix`."""
    translate: bool = False
    """Whether the language model of `KITPICK_LLM_URL` puts requests of other languages into English first."""

    def size_for(self, k: int) -> int:
        """Candidates of each ranking for k hits, at most 10,000 in all."""
        return min(max(self.size, self.factor * k), 5_000)


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A named pipeline: what to ask the engine for, and the stages in their order."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    """For answers and reports."""
    stages: Annotated[tuple[AnyStage, ...], msgspec.Meta(max_length=MAX_STAGES)]
    """At most 50, in their order. A file may name stages of other installed packages, too."""
    description: str = ""
    """One sentence for people."""
    first_stage: FirstStage = FirstStage()
    """How many candidates the engine proposes, and the matrix on request vectors."""

    def needs(self) -> frozenset[Requirement]:
        """The requirements of its stages: rankings to run and models to load."""
        return frozenset[Requirement]().union(*(stage.needs() for stage in self.stages))

    @property
    def needs_vector(self) -> bool:
        """Whether the query has to be embedded."""
        return not self.needs().isdisjoint({"dense", "intent", "sentence", "vector"})

    def then(self, *stages: AnyStage) -> Profile:
        """The same profile with more stages at the end."""
        return replace(self, stages=(*self.stages, *stages))

    def request_matrix(self) -> RequestMatrix | None:
        """The matrix that its first stage names; None where it names none.

        Raises:
            InvalidRequestMatrix: its file is missing, or holds no matrix.
        """
        file = self.first_stage.request_matrix
        return read_request_matrix(Path(file)) if file else None

    def ranking_alone(self) -> Profile:
        """The profile without settings of the first stage, for a rescorer that is given the candidates."""
        return replace(self, first_stage=FirstStage())

    def scoring_all(self) -> Profile:
        """The profile with a cross-encoder that scores every candidate, for short lists."""
        stages = tuple(
            replace(stage, candidates=10_000, within=None) if isinstance(stage, CrossEncode) else stage
            for stage in self.stages
        )
        return replace(self, stages=stages)

    @property
    def pairs(self) -> int:
        """Most pairs of a first stage that its cross-encoders read."""
        return sum(stage.candidates for stage in self.stages if isinstance(stage, CrossEncode))

    def without_scores(self) -> Profile:
        """The profile for a search for which the cross-encoder has no time.

        Its learned fusion orders by all other evidence. Stages that work on scores alone are left out, and so
        are probabilities and verdicts, which were learned with scores.
        """
        stages = tuple(_unscored(stage) for stage in self.stages if not _reads_scores(stage))
        return replace(self, stages=stages)


def _reads_scores(stage: Stage) -> bool:
    """Whether a stage makes scores of a cross-encoder, or is nothing without them."""
    weighs = isinstance(stage, Decode) and stage.relevance > 0
    return weighs or isinstance(stage, (Abstain, Blend, CrossEncode))


def _unscored(stage: AnyStage) -> AnyStage:
    if not isinstance(stage, Learned):
        return stage
    return replace(stage, prior=0.0, sure_scale=0.0, optional=False, abstains=False)


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_PROFILE_BYTES = 256 * 1024

_STAGES: dict[str, type[Stage]] = {str(stage.__struct_config__.tag): stage for stage in get_args(AnyStage)}
_WHERE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_STAGE_AT = re.compile(r"^stages\[(?P<index>\d+)\]\.?(?P<field>.*)$")
_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<field>[^`]*)`")


def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come with this package, sorted."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load_profile(name: str | Path) -> Profile:
    """A shipped profile by its name, or one of the user's by the path of its `.toml` file.

    Raises:
        UnknownProfile: neither a shipped name nor a file.
        InvalidProfile: the file is not a profile.
    """
    if str(name).endswith(".toml"):
        return _with_files(parse_profile(_read(Path(name)), str(name)), Path(name))
    if str(name) not in shipped_profiles():
        raise UnknownProfile(str(name), shipped_profiles())
    return _shipped(str(name))


def _with_files(profile: Profile, file: Path) -> Profile:
    """The profile with the whole path of its matrix, which is named from the profile's folder."""
    named = profile.first_stage.request_matrix
    if not named:
        return profile
    found = replace(
        profile, first_stage=replace(profile.first_stage, request_matrix=str((file.parent / named).resolve()))
    )
    try:
        found.request_matrix()
    except InvalidRequestMatrix as error:
        raise InvalidProfile(str(file), "first_stage.request_matrix", str(error)) from error
    return found


def parse_profile(text: str, file: str) -> Profile:
    """Parses a profile. `file` is its name, for errors.

    Raises:
        InvalidProfile: not TOML, or a field or value that is not allowed.
    """
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers too long, and nesting too deep
        raise InvalidProfile(file, "TOML", str(error)) from error
    base = _extended(raw.pop("extends", None), file)
    if base is not None:
        raw.setdefault("stages", [])
    try:
        profile = decode_profile(raw)
    except msgspec.ValidationError as error:
        raise _explained(file, raw, str(error)) from error
    except UnusableStage as error:
        raise InvalidProfile(file, "stages", str(error)) from error
    return profile if base is None else _behind(base, profile, file, own_size="first_stage" in raw)


def decode_profile(raw: object) -> Profile:
    """A profile out of plain values. It may name stages of other installed packages.

    Raises:
        msgspec.ValidationError: a field or value that is not allowed.
        UnusableStage: a stage of another package cannot be loaded.
    """
    foreign = _foreign_stages(raw)
    found = convert_to(raw, _profile_type(foreign) if foreign else Profile)
    return Profile(found.name, found.stages, found.description, found.first_stage)


def _foreign_stages(raw: object) -> frozenset[str]:
    """Names of stages that are not ours."""
    stages = raw.get("stages") if isinstance(raw, dict) else None
    listed = stages if isinstance(stages, (list, tuple)) else ()
    given = [each.get("stage") for each in listed if isinstance(each, dict)]
    return frozenset(name for name in given if isinstance(name, str) and name not in _STAGES)


@lru_cache(maxsize=64)
def installed_stage(name: str) -> type[Stage] | None:
    """The stage that an installed package registers under a name; None where none does.

    Raises:
        UnusableStage: what is registered cannot be imported, or is no stage of this name.
    """
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group=_GROUP, name=name)), None)
    return None if found is None else _loaded_stage(found)


def _loaded_stage(point: EntryPoint) -> type[Stage]:
    try:
        stage = point.load()
    except Exception as error:
        raise UnusableStage(point.name, point.value, f"{type(error).__name__}: {error}") from error
    if not (isinstance(stage, type) and issubclass(stage, Stage)):
        raise UnusableStage(point.name, point.value, "is no subclass of kitpick_rescorers.stages.Stage")
    if stage.__struct_config__.tag != point.name:
        raise UnusableStage(point.name, point.value, f"give the class tag={point.name!r}")
    return stage


@lru_cache(maxsize=64)
def _profile_type(names: frozenset[str]) -> type[Profile]:
    """The type of a profile whose stages may be these of other packages, too."""
    stages: Any = reduce(operator.or_, filter(None, map(installed_stage, sorted(names))), AnyStage)
    bounded = Annotated[tuple[stages, ...], msgspec.Meta(max_length=MAX_STAGES)]
    made = msgspec.defstruct(
        "Profile",
        [("stages", bounded)],
        bases=(Profile,),
        kw_only=True,
        frozen=True,
        forbid_unknown_fields=True,
    )
    return cast("type[Profile]", made)


def _extended(name: object, file: str) -> Profile | None:
    """The shipped profile whose stages come first; None where none is named."""
    if name is None:
        return None
    if name not in shipped_profiles():
        raise InvalidProfile(file, "extends", f"no shipped profile {name!r}", shipped_profiles())
    return load_profile(str(name))


def _behind(base: Profile, profile: Profile, file: str, *, own_size: bool) -> Profile:
    """The profile with the stages of another one before its own, and its first stage if it has none."""
    stages = (*base.stages, *profile.stages)
    if len(stages) > MAX_STAGES:
        raise InvalidProfile(file, "stages", f"{len(stages)} with those of {base.name}: at most {MAX_STAGES}")
    first = profile.first_stage if own_size else base.first_stage
    return replace(profile, stages=stages, first_stage=first)


def profile_toml(profile: Profile, comment: str = "") -> str:
    """The profile as TOML, with a comment in front."""
    raw = msgspec.to_builtins(profile)
    stages = raw.pop("stages")
    first_stage = raw.pop("first_stage", None)
    lines = [f"# {line}".rstrip() for line in comment.splitlines()] + _toml_pairs(raw)
    if first_stage:
        lines += ["", "[first_stage]", *_toml_pairs(first_stage)]
    for stage in stages:
        lines += ["", "[[stages]]", *_toml_pairs(stage)]
    return "\n".join(lines) + "\n"


def _toml_pairs(values: Mapping[str, object]) -> list[str]:
    """Strings, numbers and booleans are written in TOML as in JSON."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]


@lru_cache(maxsize=64)
def _shipped(name: str) -> Profile:
    file = resources.files(__package__) / f"{name}.toml"
    return parse_profile(file.read_text("utf-8"), file.name)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_PROFILE_BYTES:
            raise InvalidProfile(str(path), "file", f"larger than {MAX_PROFILE_BYTES:,} bytes")
        return read_text(path)
    except UnicodeDecodeError as error:
        raise InvalidProfile(str(path), "file", "not UTF-8 text") from error
    except OSError as error:
        raise UnknownProfile(str(path), shipped_profiles()) from error


def _explained(file: str, raw: Mapping[str, Any], message: str) -> InvalidProfile:
    """Turns a decoding error into one that names the stage, the field and the allowed values."""
    where = _WHERE.search(message)
    path = where["path"] if where else ""
    reason = _WHERE.sub("", message)
    at_stage = _STAGE_AT.match(path)
    if at_stage is None:
        struct = FirstStage if path.startswith("first_stage") else Profile
        return InvalidProfile(file, path or "profile", reason, _allowed(struct, reason))
    index = int(at_stage["index"])
    given = raw["stages"][index]
    name = given.get("stage") if isinstance(given, dict) else None
    stage = (_STAGES.get(name) or installed_stage(name)) if isinstance(name, str) else None
    if stage is None:
        return InvalidProfile(file, f"stages[{index}].stage", f"no stage {name!r}", sorted(_STAGES))
    field = _unknown_field(reason) or at_stage["field"]
    return InvalidProfile(file, f"stages[{index}] ({name}).{field}", reason, _allowed(stage, reason, field))


def _unknown_field(reason: str) -> str:
    found = _UNKNOWN_FIELD.search(reason)
    return found["field"] if found else ""


def _allowed(struct: type[msgspec.Struct], reason: str, field: str = "") -> Iterable[str]:
    """Field names for an unknown field, values of an enumeration; else the reason says it all."""
    if _unknown_field(reason):
        names = [item.encode_name for item in msgspec.structs.fields(struct)]
        return sorted([*names, "extends"] if struct is Profile else names)
    if "Invalid enum value" in reason:
        return _enumerated(struct, field)
    return ()


def _enumerated(struct: type[msgspec.Struct], field: str) -> tuple[str, ...]:
    types = {item.encode_name: item.type for item in msgspec.structs.fields(struct)}
    return tuple(str(value) for value in get_args(types.get(field)))
