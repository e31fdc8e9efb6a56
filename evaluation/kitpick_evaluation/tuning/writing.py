"""Writes a profile as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from kitpick_rescorers.profiles import Profile


def profile_toml(profile: Profile, comment: str = "") -> str:
    """The profile as TOML, with a comment in front."""
    raw = msgspec.to_builtins(profile)
    stages = raw.pop("stages")
    first_stage = raw.pop("first_stage", None)
    lines = [f"# {line}".rstrip() for line in comment.splitlines()] + _pairs(raw)
    if first_stage:
        lines += ["", "[first_stage]", *_pairs(first_stage)]
    for stage in stages:
        lines += ["", "[[stages]]", *_pairs(stage)]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, object]) -> list[str]:
    """Strings, numbers and booleans are written in TOML as in JSON."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
