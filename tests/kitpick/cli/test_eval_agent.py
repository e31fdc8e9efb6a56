"""`kitpick eval-agent` against a scripted endpoint: what each way offers, and what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_endpoint import FakeEndpoint

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.evaluation.agents import AgentTask, InvalidTasks, NeededCall, read_tasks

pytestmark = pytest.mark.needs("weights", "onnxruntime", "llm")
TASK = {
    "id": "rain",
    "prompt": "Will it rain in Paris?",
    "needs": [{"tool": "get_weather", "arguments": {"city": "Paris"}}],
    "answers": {"get_weather": {"forecast": "rain"}},
}


class ScriptedModel(FakeEndpoint):
    """Searches if it has a search, then calls what its script says, then says what it was told."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        super().__init__(lambda _: "", ["chat"])
        self.calls = calls

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        answered = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        searching = "search_tools" in names
        script = [("search_tools", {"capabilities": ["weather forecast"]})] * searching + list(self.calls)
        if len(answered) >= len(script):
            return {"role": "assistant", "content": answered[-1]}
        name, arguments = script[len(answered)]
        call = {"name": next((each for each in names if name in each), name)}
        call["arguments"] = json.dumps(arguments)
        return {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"c{len(answered)}", "type": "function", "function": call}
        ]}  # fmt: skip


@pytest.fixture
def play(catalog: Catalog, tmp_path: Path, kitpick, monkeypatch: pytest.MonkeyPatch):
    def played(model: ScriptedModel, *options: str, task: dict[str, Any] = TASK) -> dict[str, dict[str, Any]]:
        (tmp_path / "tasks.jsonl").write_text(json.dumps(task))
        monkeypatch.setenv("KITPICK_LLM_URL", model.url)
        monkeypatch.setenv("KITPICK_LLM_MODEL", "scripted")
        ran = kitpick("eval-agent", str(tmp_path / "tasks.jsonl"), "--json", *options)
        assert ran.code == ExitCode.OK, ran.err
        return {one["way"]: one for one in json.loads(ran.out)["tasks"]}

    return played


def test_a_task_is_solved_each_way_and_what_is_offered_differs(play) -> None:
    with ScriptedModel(("get_weather", {"city": "Paris"})) as model:
        played = play(model, "-k", "2")
    assert {way: one["solved"] for way, one in played.items()} == {
        "all": True, "deferred": True, "searched": True,
    }  # fmt: skip
    assert [one["wrong_calls"] for one in played.values()] == [0, 0, 0]
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in model.asked]
    assert [len(names) for names in offered] == [8, 8, 1, 3, 3, 2, 2]
    assert played["deferred"]["turns"] == 3
    assert '{"forecast":"rain"}' in json.dumps(model.asked[1]["messages"]).replace('\\"', '"')


def test_tokens_and_cached_tokens_are_what_the_endpoint_says(play) -> None:
    with ScriptedModel(("get_weather", {"city": "Paris"})) as model:
        (one,) = play(model, "--way", "all").values()
    assert (one["prompt_tokens"], one["cached_tokens"], one["completion_tokens"]) == (200, 80, 20)


def test_other_arguments_do_not_solve_a_task(play) -> None:
    with ScriptedModel(("get_weather", {"city": "Rome"})) as model:
        (one,) = play(model, "--way", "all").values()
    assert (one["solved"], one["wrong_calls"]) == (False, 0)


def test_wrong_and_destructive_calls_are_counted(play, catalog: Catalog, tmp_path: Path) -> None:
    drop = {"name": "drop_database", "description": "Drops a database", "inputSchema": {"type": "object"}}
    listed = {"tools": [drop | {"annotations": {"destructiveHint": True, "readOnlyHint": False}}]}
    (tmp_path / "listed.json").write_text(json.dumps(listed))
    catalog.ingest(f"mcp:{tmp_path / 'listed.json'}")
    script = [("drop_database", {}), ("no_such_tool", {}), ("get_weather", {"city": "Paris"})]
    with ScriptedModel(*script) as model:
        (one,) = play(model, "--way", "all").values()
    assert (one["solved"], one["wrong_calls"], one["destructive_calls"]) == (True, 2, 1)


def test_a_model_that_never_stops_is_stopped(play) -> None:
    with ScriptedModel(*[("get_weather", {"city": "Rome"})] * 50) as model:
        (one,) = play(model, "--way", "all").values()
    assert one["turns"] == 12


def test_a_task_during_which_the_endpoint_fails_is_not_solved_and_says_why(play) -> None:
    with ScriptedModel(("get_weather", {"city": "Paris"})) as model:
        model.behaviours = ["chat", "404"]
        (one,) = play(model, "--way", "searched").values()
    assert "HTTP 404" in one["problem"]


def test_a_model_that_does_not_answer_ends_the_evaluation_at_once(
    catalog: Catalog, tmp_path: Path, kitpick, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK))
    monkeypatch.setenv("KITPICK_LLM_MODEL", "scripted")
    with ScriptedModel() as model:
        model.behaviours = ["404"]
        monkeypatch.setenv("KITPICK_LLM_URL", model.url)
        ran = kitpick("eval-agent", str(tmp_path / "tasks.jsonl"))
    assert ran.code == ExitCode.UNAVAILABLE
    assert f"{model.url} gave no answer: " in ran.err
    assert "HTTP 404" in ran.err


def test_a_task_that_needs_a_tool_that_is_not_there_is_refused_before_anything_is_spent(
    catalog: Catalog, tmp_path: Path, kitpick, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK | {"needs": [{"tool": "get_wether"}]}))
    monkeypatch.setenv("KITPICK_LLM_MODEL", "scripted")
    with ScriptedModel() as model:
        monkeypatch.setenv("KITPICK_LLM_URL", model.url)
        ran = kitpick("eval-agent", str(tmp_path / "tasks.jsonl"))
    assert ran.code == ExitCode.INPUT
    assert "task 'rain' needs 'get_wether', which is not there: did you mean 'get_weather'?" in ran.err
    assert not model.asked


def test_without_a_model_the_command_says_which_settings_it_needs(
    catalog: Catalog, tmp_path: Path, kitpick
) -> None:
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK))
    refused = kitpick("eval-agent", str(tmp_path / "tasks.jsonl"))
    assert refused.code == ExitCode.USAGE
    assert "KITPICK_LLM_URL" in refused.err


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no task"), ("\n\n", "no task"), ("[]", "line 1"), ('{"prompt": "x"}', "line 1"), ("{", "line 1")],
)
def test_a_file_without_tasks_names_itself_and_the_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "tasks.jsonl").write_text(text)
    with pytest.raises(InvalidTasks, match=said):
        read_tasks(tmp_path / "tasks.jsonl")


def test_ends_of_lines_that_only_unicode_knows_may_stand_in_a_prompt(tmp_path: Path) -> None:
    prompt = "two lines of a page\u2028and\x85 more"
    task = json.dumps({"prompt": prompt, "needs": [{"tool": "t"}]}, ensure_ascii=False)
    (tmp_path / "tasks.jsonl").write_text(f"{task}\n", "utf-8")
    assert read_tasks(tmp_path / "tasks.jsonl")[0].prompt == prompt


@pytest.mark.parametrize("content", ['{"prompt": "Fällt Regen?"}'.encode("latin-1"), b"\xff\xfe\x00"])
def test_a_file_in_another_encoding_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tasks.jsonl").write_bytes(content)
    with pytest.raises(InvalidTasks, match=r"tasks\.jsonl"):
        read_tasks(tmp_path / "tasks.jsonl")


def test_a_task_without_an_id_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('\n{"prompt": "x", "needs": [{"tool": "t"}]}\n')
    assert read_tasks(tmp_path / "tasks.jsonl") == [AgentTask("x", (NeededCall("t"),), {}, "line 2")]
