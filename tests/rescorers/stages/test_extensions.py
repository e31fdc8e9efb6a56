"""Stages that ask a language model are loaded with the others; what they ask with, only when they run."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from kitpick_rescorers.profiles import load_profile
assert [stage.name for stage in load_profile({profile!r}).stages]
print(*(name for name in sys.modules if name.startswith("kitpick_rescorers.llm")))
"""


def loaded_by(profile: str) -> list[str]:
    """Modules of the extensions that reading a profile brings along, in a process of its own."""
    command = [sys.executable, "-c", PROGRAM.format(profile=profile)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_profile_without_a_language_model_loads_none_of_it():
    assert loaded_by("kitpick") == []


def test_a_profile_that_names_one_is_read_before_it_is_loaded():
    assert loaded_by("rankgpt") == []
