"""The search space of a tuning: values for fields of the stages of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

import msgspec

from kitpick_evaluation.errors import InvalidSpace
from kitpick_rescorers.profiles import Profile, decode_profile

Value = float | int | bool
Setting = tuple[int, ...]
"""For each choice of a space, the index of the value taken."""

MAX_VALUES = 200


class Choice(msgspec.Struct, frozen=True):
    """`STAGE.FIELD` of a profile with the values it may take, in their natural order."""

    stage: str
    field: str
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """Its name on the command line: `concentrate.threshold`."""
        return f"{self.stage}.{self.field}"


_TAU = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
_USUAL = (
    Choice("fuse", "lexical", (0.5, 1.0, 2.0, 3.0)),
    Choice("fuse", "sentence", (0.0, 1.0, 2.0, 3.0)),
    Choice("fuse", "k", (10.0, 60.0)),
    Choice("fuse", "tool_share", (0.0, 0.2, 0.4)),
    Choice("truncate", "seen", (10, 30, 50)),
    Choice("truncate", "unseen", (10, 30, 50)),
    Choice("blend", "rank_weight", (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)),
    Choice("blend", "full_trust", (0.0, 0.4, 0.5, 0.6, 0.7, 0.8)),
    Choice("blend", "dense", (0.0, 0.5, 1.0, 1.5)),
    Choice("blend", "tool_share", (0.0, 0.2, 0.4, 0.6)),
    Choice("concentrate", "threshold", _TAU),
    Choice("concentrate", "confidence", (0.0, 0.5, 0.7, 0.8, 0.9, 0.95)),
    Choice("diversify", "similarity", _TAU),
    Choice("diversify", "per_component", (2, 3, 4)),
    Choice("decode", "l1", (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)),
    Choice("decode", "l2", (0.3, 1.0, 3.0)),
    Choice("decode", "relevance", (0.0, 0.1, 0.2, 0.3)),
    Choice("decode", "dense_share", (0.5, 0.7, 0.9)),
    Choice("mmr", "diversity", (0.0, 0.1, 0.2, 0.3, 0.5)),
)
"""ToolRerank's grid for m_s, m_u, τ_s, τ_m and n; coarse values around what is shipped for the rest."""


def usual_space(profile: Profile) -> tuple[Choice, ...]:
    """The default choices for tuning a profile."""
    present = {stage.name for stage in profile.stages}
    return tuple(choice for choice in _USUAL if choice.stage in present)


def parse_choice(text: str) -> Choice:
    """A choice as it is written on a command line: `STAGE.FIELD=0.6,0.7` or `STAGE.FIELD=LOW:HIGH:STEP`.

    Raises:
        InvalidSpace: it is not of that form, or has no values or too many.
    """
    name, equals, written = text.partition("=")
    stage, dot, field = name.strip().partition(".")
    if not (equals and dot and stage and field):
        raise InvalidSpace(f"{text!r}: write it like concentrate.threshold=0.6,0.7 or decode.l1=0.1:0.5:0.1")
    values = _steps(text, written) if ":" in written else [_value(text, part) for part in written.split(",")]
    if len(set(values)) != len(values) or len(values) > MAX_VALUES:
        raise InvalidSpace(f"{text!r}: values must differ, and be at most {MAX_VALUES}")
    return Choice(stage, field, tuple(sorted(values)))


def set_choices(profile: Profile, choices: Sequence[Choice], setting: Setting) -> Profile:
    """The profile with the values that a setting takes; every stage of a name gets them.

    Raises:
        InvalidSpace: the profile has no such stage or field, or the value is not allowed there.
    """
    wanted: dict[str, dict[str, Value]] = {}
    for choice, index in zip(choices, setting, strict=True):
        wanted.setdefault(choice.stage, {})[choice.field] = choice.values[index]
    missing = wanted.keys() - {stage.name for stage in profile.stages}
    if missing:
        raise InvalidSpace(f"profile {profile.name!r} has no stage {sorted(missing)[0]!r}")
    raw = msgspec.to_builtins(profile)
    for stage in raw["stages"]:
        stage.update(wanted.get(stage["stage"], {}))
    try:
        return decode_profile(raw)
    except msgspec.ValidationError as error:
        raise InvalidSpace(f"profile {profile.name!r} cannot take these values: {error}") from error


def check_space(profile: Profile, choices: Sequence[Choice]) -> None:
    """Refuses choices that the profile does not allow, before any request is run.

    Raises:
        InvalidSpace: none at all, one twice, or as `set_choices`.
    """
    names = [choice.name for choice in choices]
    if not names or len(set(names)) != len(names):
        raise InvalidSpace(f"profile {profile.name!r}: name what to tune, each field once; got {names}")
    for choice in choices:
        for index in range(len(choice.values)):
            set_choices(profile, [choice], (index,))


def setting_values(choices: Sequence[Choice], setting: Setting) -> Mapping[str, Value]:
    """A setting as values by name."""
    return {choice.name: choice.values[index] for choice, index in zip(choices, setting, strict=True)}


def _steps(text: str, written: str) -> list[Value]:
    """LOW:HIGH:STEP with both ends, in decimal arithmetic: 0.1 three times is 0.3."""
    try:
        low, high, step = (Decimal(part) for part in written.split(":"))
        count = int((high - low) / step) if step > 0 and high >= low else -1
    except (InvalidOperation, ValueError) as error:
        raise InvalidSpace(f"{text!r}: a range is LOW:HIGH:STEP") from error
    if not 0 <= count < MAX_VALUES:
        raise InvalidSpace(f"{text!r}: a range rises by a step > 0, in at most {MAX_VALUES} values")
    return [_value(text, str(low + step * index)) for index in range(count + 1)]


def _value(text: str, part: str) -> Value:
    part = part.strip().lower()
    if part in {"true", "false"}:
        return part == "true"
    try:
        return float(part) if "." in part or "e" in part else int(part)
    except ValueError as error:
        raise InvalidSpace(f"{text!r}: {part!r} is no number") from error
