"""What runs a model does without the training package: its commands load it when they run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from kitpick.cli import main
from kitpick.errors import ExitCode

SHOW = "import sys; print(*(n for n in sys.modules if n.split('.')[0] in ('kitpick_training', 'torch')))"


def loaded_by(module: str) -> list[str]:
    """Modules of training that an import of `module` brings along, in a process of its own."""
    command = [sys.executable, "-c", f"import {module}; {SHOW}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("module", ["catalog", "cli.main", "cli.models", "cli.lint"])
def test_no_training_module_is_loaded(module):
    assert loaded_by(f"kitpick.{module}") == []


def test_what_is_looked_for_can_be_found():
    assert "kitpick_training.recipe" in loaded_by("kitpick_training.recipe")


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize(
    "command",
    [
        "export FOLDER --out OUT --kind encoder --licence MIT",
        "train --queries FILE --out OUT",
        "distill --requests FILE --teacher llm: --answers FILE --out OUT",
    ],
)
def test_without_torch_a_command_that_trains_says_what_to_install(monkeypatch, capsys, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kitpick", "models", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.UNAVAILABLE
    assert "pip install 'kitpick[train]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
