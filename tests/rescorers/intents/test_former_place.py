"""Programs that use the names from before the samples moved find the same modules."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["answers", "confirmed", "store", "votes", "written"])
def test_an_old_name_leads_to_the_same_module(name: str) -> None:
    assert import_module(f"kitpick_engines.intents.{name}") is import_module(
        f"kitpick_rescorers.intents.{name}"
    )


def test_an_old_name_can_be_imported_first() -> None:
    line = "from kitpick_engines.intents.answers import RememberedAnswer; print(RememberedAnswer.__module__)"
    found = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "kitpick_rescorers.intents.answers"
