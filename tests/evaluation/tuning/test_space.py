"""What may be tuned is checked before any request is asked."""

from __future__ import annotations

import pytest

from kitpick_evaluation.errors import InvalidSpace
from kitpick_evaluation.tuning.space import (
    Choice,
    check_space,
    parse_choice,
    set_choices,
    setting_values,
    usual_space,
)
from kitpick_rescorers.profiles import load_profile, parse_profile, profile_toml, shipped_profiles
from kitpick_rescorers.stages import Concentrate

PROFILE = load_profile("kitpick").then(Concentrate(when="single"))


def test_choices_are_read_as_they_are_written() -> None:
    assert parse_choice("concentrate.threshold=0.9, 0.6") == Choice("concentrate", "threshold", (0.6, 0.9))
    assert parse_choice("decode.l1=0.1:0.4:0.1").values == (0.1, 0.2, 0.3, 0.4)
    assert parse_choice("diversify.per_component=2:4:1").values == (2, 3, 4)
    assert parse_choice("concentrate.extend=true,false").values == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "l1=0.1",
        "decode.l1",
        "decode.l1=",
        "decode.l1=x",
        "decode.l1=1,1",
        "decode.l1=1:0:1",
        "a.b=0:1:0",
        "a.b=1:2",
    ],
)
def test_what_is_no_choice_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpace):
        parse_choice(text)


def test_a_setting_changes_what_it_names_and_nothing_else() -> None:
    choices = (Choice("concentrate", "threshold", (0.6, 0.9)), Choice("fuse", "k", (10.0, 60.0)))
    changed = set_choices(PROFILE, choices, (1, 1))
    stages = {stage.name: stage for stage in changed.stages}
    assert stages["concentrate"].threshold == 0.9
    assert stages["fuse"].k == 60.0
    assert stages["cross_encode"] == next(s for s in PROFILE.stages if s.name == "cross_encode")
    assert setting_values(choices, (1, 1)) == {"concentrate.threshold": 0.9, "fuse.k": 60.0}


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (Choice("truncate", "seen", (5,)), "no stage 'truncate'"),
        (Choice("concentrate", "treshold", (0.1,)), "treshold"),
        (Choice("concentrate", "threshold", (0.5, 1.5)), "<= 1"),
        (Choice("cross_encode", "candidates", (0,)), ">= 1"),
    ],
)
def test_what_a_profile_cannot_take_is_refused(choice: Choice, reason: str) -> None:
    with pytest.raises(InvalidSpace, match=reason):
        check_space(PROFILE, [choice])


def test_nothing_to_tune_and_the_same_twice_are_refused() -> None:
    with pytest.raises(InvalidSpace):
        check_space(PROFILE, [])
    with pytest.raises(InvalidSpace):
        check_space(PROFILE, [Choice("fuse", "k", (1.0,))] * 2)


@pytest.mark.parametrize("name", shipped_profiles())
def test_the_usual_space_of_a_shipped_profile_fits_it(name: str) -> None:
    profile = load_profile(name)
    space = usual_space(profile)
    assert {choice.stage for choice in space} <= {stage.name for stage in profile.stages}
    if space:
        check_space(profile, space)


@pytest.mark.parametrize("name", shipped_profiles())
def test_a_written_profile_is_read_as_the_same(name: str) -> None:
    profile = load_profile(name)
    text = profile_toml(profile, "why it is so\nand not otherwise")
    assert text.startswith("# why it is so\n# and not otherwise\n")
    assert parse_profile(text, "written.toml") == profile
