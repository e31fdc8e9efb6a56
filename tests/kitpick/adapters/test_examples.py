"""The page runs from top to bottom as it is written, against a model on a socket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "adapters.md").read_text("utf-8")


@pytest.mark.needs("weights", "onnxruntime", "clients")
@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    names: dict[str, Any] = {"__name__": "adapters"}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "adapters.md", "exec"), names)
    names["hook"].close()
    names["pipeline"].get_component("tools").close()
    names["catalog"].close()
    printed = capsys.readouterr().out
    assert "your own get_time" in printed
    assert "get_weather for `bind_tools`: function" in printed
    assert "get_weather of {'city': 'Paris'}: rain" in printed
    assert printed.count("It will rain.") == 3
    assert "'tool_use_id': 'call_1'" in printed
    assert "a follow-up finds get_weather" in printed
    (answer,) = names["messages"][-2]["content"]
    assert "takes `capabilities`" in answer["content"], "the model on the socket calls the search wrongly"
    offers = [[tool["name"] for tool in body.get("tools", [])] for body in model.bodies]
    assert offers.count(["get_weather"]) == 2, offers


def test_every_adapter_is_on_the_page_and_has_an_extra() -> None:
    root = Path(__file__).resolve().parents[3]
    extras = (root / "pyproject.toml").read_text("utf-8")
    modules = {path.stem for path in (root / "kitpick" / "adapters").glob("*.py")}
    for extra in ("langchain", "llama-index", "haystack", "openai-agents", "anthropic", "litellm"):
        assert f"| `{extra}` |" in PAGE
        assert f"\n{extra} = [" in extras
        assert extra.replace("-", "_") in modules
