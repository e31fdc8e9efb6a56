"""docs/stages.md names every profile, stage and field, with its default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from kitpick_rescorers.profiles import parse_profile, shipped_profiles
from kitpick_rescorers.stages import AnyStage, Stage

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "stages.md").read_text("utf-8")
BY_THE_MODEL = {"threshold"}


def rows(section: str) -> dict[str, str]:
    """Field → default of the tables of a section; one row may name several fields."""
    found = {}
    for names, default in re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", section, re.MULTILINE):
        found |= {name: default.strip("` ") for name in re.findall(r"`(\w+)`", names)}
    return found


def fields(stage: type[Stage]) -> dict[str, object]:
    common = set(Stage.__struct_fields__) if stage is not Stage else set()
    return {f.name: f.default for f in msgspec.structs.fields(stage) if f.name not in common}


@pytest.mark.parametrize("stage", get_args(AnyStage), ids=lambda stage: stage.__struct_config__.tag)
def test_every_field_is_documented_with_its_default(stage):
    name = stage.__struct_config__.tag
    section = re.search(rf"^### `{name}`$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, f"docs/stages.md has no section on {name}"
    documented = rows(section[1])
    assert documented.keys() == fields(stage).keys()
    for field, default in fields(stage).items():
        if default is not msgspec.NODEFAULT and field not in BY_THE_MODEL:
            assert documented[field] == str(default).lower()


def test_the_fields_of_every_stage_are_documented():
    section = PAGE[PAGE.index("## What holds for every stage") : PAGE.index("## The stages")]
    assert rows(section).keys() == fields(Stage).keys()


def test_every_shipped_profile_is_documented():
    table = PAGE[PAGE.index("| shipped profile") : PAGE.index("## What holds")]
    assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)))) == set(
        shipped_profiles()
    )


def test_the_example_is_a_profile():
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert example
    assert len(parse_profile(example[1], "docs/stages.md").stages) == 4
