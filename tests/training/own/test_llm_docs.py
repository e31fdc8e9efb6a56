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
COMMANDS = re.findall(r"^kitpick (models .*)$", PAGE, re.MULTILINE)


def test_both_trainings_are_shown() -> None:
    assert [command.split()[1] for command in COMMANDS] == ["demorank", "distill"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_asks_the_model_in_use(house, kitpick, fake, monkeypatch, command: str) -> None:
    folder, url = house
    monkeypatch.chdir(folder)
    demonstrations = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert demonstrations
    shown = demonstrations[1].replace("functions/functions/get_weather", "house/house/print_labels")
    Path("pool.jsonl").write_text("".join(shown.replace('", "api"', f' {n}", "api"') for n in range(20)))
    endpoint = fake("401")
    monkeypatch.setenv("KITPICK_LLM_URL", endpoint.url)
    code, _, err = kitpick(*shlex.split(command.replace("sqlite:tools.db", url)))
    assert "HTTP 401" in err
    assert code == ExitCode.INPUT
    assert endpoint.asked
