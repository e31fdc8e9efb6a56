"""The check of a provider, against a local server that speaks as it does, and recordings made with it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from provider_rules import breaches, item_breaches

from kitpick.adapters.deferral import SEARCH
from kitpick_engines.document import ApiDocument
from kitpick_ingest.function_names import function_name

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
ROOT = Path(__file__).resolve().parents[3]
RECORDINGS = ROOT / "tests" / "data" / "providers"
Check = Callable[[Sequence[str]], int]
WEATHER, EMAIL, EVENT = (
    function_name(ApiDocument(f"check/check/{api}", "check", "", "check", api))
    for api in ("get_weather", "send_email", "create_event")
)
WANTED = {
    SEARCH: {},
    WEATHER: {"city": "Paris"},
    EMAIL: {"to": "ann@example.com", "text": "hello"},
    EVENT: {"title": "umbrella"},
}
TURNS = [["forecast the weather", WEATHER], [WEATHER], [EMAIL], ["create an event in the calendar", EVENT]]
"""What the model calls in each turn: a capability is searched for."""


@pytest.fixture(scope="module")
def main() -> Check:
    """The check, by its file: beside it lies one with the name of a package of OpenAI."""
    spec = importlib.util.spec_from_file_location("provider_check", ROOT / "benchmarks" / "provider_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Check = module.main
    return found


def anthropics(number: int, what: str) -> dict[str, Any]:
    name = what if what in WANTED else SEARCH
    return {
        "type": "tool_use",
        "id": f"u{number}",
        "name": name,
        "input": WANTED[name] or {"capabilities": [what]},
    }


def openais(number: int, what: str) -> dict[str, Any]:
    call = {"id": f"i{number}", "call_id": f"c{number}", "status": "completed"}
    if what in WANTED:
        return call | {"type": "function_call", "name": what, "arguments": json.dumps(WANTED[what])}
    search = {"type": "tool_search_call", "execution": "client", "arguments": {"capabilities": [what]}}
    return call | search


def script(provider: str, turns: list[list[str]]) -> list[list[dict[str, Any]]]:
    text = {"type": "text", "text": "Done."}
    part = {"type": "output_text", "text": "Done.", "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    said = []
    for turn, calls in enumerate(turns):
        for number, what in enumerate(calls):
            called = anthropics if provider == "anthropic" else openais
            said.append([called(10 * turn + number, what)])
        said.append([text if provider == "anthropic" else message])
    return said


def broken_rules(recording: Path) -> list[str]:
    """Rules that the requests of a recording break."""
    kept = [json.loads(line) for line in recording.read_text("utf-8").splitlines()]
    assert kept
    return [
        rule
        for one in kept
        for rule in (breaches if "messages" in one["request"] else item_breaches)(one["request"])
    ]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_provider_that_takes_everything_passes_and_is_recorded(
    provider: str,
    main: Check,
    model: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-very-secret")
    model.script = script(provider, TURNS)
    recording = tmp_path / "recording.jsonl"
    assert main([provider, "--model", "m", "--record", str(recording)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["ok"] * 4
    assert broken_rules(recording) == []
    lines = recording.read_text().splitlines()
    assert [json.loads(line)["request"] for line in lines] == model.bodies
    assert len(lines) == 10
    assert "sk-very-secret" not in recording.read_text()


def test_a_model_that_does_not_search_again_is_told_apart(
    main: Check, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model.script = script("anthropic", [*TURNS[:3], [EVENT]])
    assert main(["anthropic", "--model", "m"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "not done after unloading, the rest goes on: called nothing"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_refusal_says_what_the_provider_says(
    provider: str, main: Check, model: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model.script = [script(provider, TURNS)[0], [{"refuse": "unknown block type"}]]
    recording = tmp_path / "recording.jsonl"
    assert main([provider, "--model", "m", "--record", str(recording)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("refused  a deferred tool is found and called: BadRequestError")
    assert "unknown block type" in line
    assert json.loads(recording.read_text().splitlines()[-1])["status"] == 400


@pytest.mark.parametrize("recording", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.name)
def test_what_a_provider_took_breaks_none_of_our_rules(recording: Path) -> None:
    assert broken_rules(recording) == []
