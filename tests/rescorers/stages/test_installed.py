"""Stages of other installed packages: the example of docs/stages.md, and entry points that are wrong."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import msgspec
import pytest

from kitpick_rescorers.errors import InvalidProfile
from kitpick_rescorers.profiles import (
    decode_profile,
    installed_stage,
    load_profile,
    parse_profile,
    profile_toml,
)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "stages.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## A stage of your own") :]


def example(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)[number]


def entry_points() -> str:
    """What an installer writes for the table of the example."""
    names = example("toml").partition("]\n")[2]
    return "[kitpick.stages]\n" + names.replace('"', "")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, with that of the example."""
    installed_stage.cache_clear()
    metadata = tmp_path / "acme_stages-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-stages\nVersion: 1.0\n", "utf-8")
    wrong = "absent = nowhere_at_all:Stage\nno_stage = pathlib:Path\nother = kitpick_rescorers.stages:Fuse\n"
    (metadata / "entry_points.txt").write_text(entry_points() + wrong, "utf-8")
    (tmp_path / "acme_stages.py").write_text(example("python"), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_profile_names_the_stage_of_an_installed_package(package: Path) -> None:
    file = package / "ours.toml"
    file.write_text(example("toml", 1), "utf-8")
    profile = load_profile(file)
    assert profile.stages[:-1] == load_profile("kitpick").stages
    assert profile.stages[-1].name == "keep_tool"
    assert parse_profile(profile_toml(profile), "written.toml") == profile
    assert decode_profile(msgspec.to_builtins(profile)) == profile


def test_the_stage_moves_what_it_says(package: Path, bench) -> None:
    state = bench.fused(["a/1", "b/2", "a/3"])
    profile = decode_profile({"name": "p", "stages": [{"stage": "keep_tool", "tool": state.ranked[1].tool}]})
    assert bench.ids(bench.apply(state, profile.stages[0])) == ["b/2", "a/1", "a/3"]


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ('stage = "keep_tool"', r"stages\[0\].*required field `tool`"),
        ('stage = "keep_tool"\ntool = "t"\nk = 1', r"\(keep_tool\).k: .*; allowed: tool, when"),
        ('stage = "absent"', "registered as nowhere_at_all:Stage: ModuleNotFoundError"),
        ('stage = "no_stage"', "registered as pathlib:Path: is no subclass"),
        ('stage = "other"', "registered as kitpick_rescorers.stages:Fuse: give the class tag='other'"),
        ('stage = "melt"', "no stage 'melt'; allowed: abstain, "),
    ],
)
def test_what_cannot_be_used_says_so(package: Path, stage: str, message: str) -> None:
    with pytest.raises(InvalidProfile, match=message):
        parse_profile(textwrap.dedent(f'name = "p"\n[[stages]]\n{stage}'), "p.toml")
