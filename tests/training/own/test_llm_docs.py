"""The commands of docs/llm.md are commands: each is understood, and asks the model it was told to ask."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kitpick.errors import ExitCode

pytestmark = pytest.mark.needs("torch", "weights", "onnxruntime", "llm")

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "llm.md").read_text("utf-8").replace("\\\n", " ")
COMMANDS = re.findall(r"^(kitpick models .*|python -m kitpick_training.*)$", PAGE, re.MULTILINE)


def test_both_trainings_are_shown() -> None:
    assert [command.partition(" --")[0] for command in COMMANDS] == [
        "python -m kitpick_training.own.train_demorank",
        "kitpick models distill",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_asks_the_model_in_use(house, kitpick, trained, fake, monkeypatch, command: str) -> None:
    folder, url = house
    monkeypatch.chdir(folder)
    demonstrations = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert demonstrations
    shown = demonstrations[1].replace("functions/functions/get_weather", "house/house/print_labels")
    Path("pool.jsonl").write_text("".join(shown.replace('", "api"', f' {n}", "api"') for n in range(20)))
    endpoint = fake("401")
    monkeypatch.setenv("KITPICK_LLM_URL", endpoint.url)
    words = shlex.split(command.replace("sqlite:tools.db", url))
    code, _, err = kitpick(*words[1:]) if words[0] == "kitpick" else trained(*words[3:])
    assert "HTTP 401" in err
    assert code == ExitCode.INPUT
    assert endpoint.asked
