"""What flows through a pipeline."""

from __future__ import annotations

from kitpick_rescorers.state import Degradation, joined

ONE, OTHER = Degradation("embed", "no encoder"), Degradation("fuse", "no vectors")


def test_what_several_steps_say_is_told_once_and_in_their_order() -> None:
    assert joined((OTHER,), (ONE, OTHER), ()) == (OTHER, ONE)
    assert joined() == ()
