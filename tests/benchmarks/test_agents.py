"""What the benchmark of agents counts: tokens that are sent, and those that a cache of prefixes serves."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
EVERY = 100
"""One of so many operations is searched: a test may not embed all 12,803."""
CONVERSATIONS = 30
"""Of those that chose nothing, which are searched with."""
pytestmark = pytest.mark.needs("mcp")


@pytest.fixture(scope="module")
def agents() -> Iterator[ModuleType]:
    """The benchmark, by its file: a package of others has its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        spec = importlib.util.spec_from_file_location("agents_benchmark", BENCHMARKS / "agents.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "agents_benchmark", module)
        spec.loader.exec_module(module)
        for read in (
            "read_apis",
            "read_written",
        ):  # 12,803 operations and their requests, for each of its parts
            patch.setattr(module, read, cache(getattr(module, read)))
        yield module


def test_a_cache_serves_what_a_request_begins_with_as_the_one_before_did(agents: ModuleType) -> None:
    tools, first, second = ("tools", 10), ("message 0", 5), ("message 1", 1)
    appended = [[tools, first], [tools, first, second]]
    assert list(agents._counted(appended)) == [(15, 0), (16, 15)]
    anew = [[tools, first], [("others", 10), first, second]]
    assert list(agents._counted(anew)) == [(15, 0), (16, 0)]


def test_a_deferred_tool_costs_tokens_from_where_it_was_found_and_keeps_the_cache(agents: ModuleType) -> None:
    first, mail, rain = (
        {"name": name, "description": name * 50} for name in ("search_tools", "mail", "rain")
    )
    deferred = [tool | {"defer_loading": True} for tool in (mail, rain)]
    use = {"type": "tool_use", "id": "1", "name": "search_tools", "input": {}}
    references = [{"type": "tool_reference", "tool_name": "rain"}]
    answer = {"type": "tool_result", "tool_use_id": "1", "content": references}
    asked = [{"role": "user", "content": "rain?"}]
    found = [*asked, {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    conversation = [[asked, found, [*found, {"role": "assistant", "content": "Dry."}]]]

    def weighed(registered: Any) -> Any:
        return agents.weigh(conversation, registered, DefinitionTokens().counter)

    every = weighed(lambda _: [first, *deferred])
    alone = weighed(lambda messages: [first] if messages is asked else [first, deferred[1]])
    loaded = weighed(lambda _: [first, mail, rain])
    assert (alone.tokens, alone.cached) == (every.tokens, every.cached), "the prompt is the same"
    assert sum(alone.sizes) < sum(every.sizes)
    assert alone.tokens < loaded.tokens
    with pytest.raises(KeyError):
        weighed(lambda _: [first])


def test_what_would_answer_as_fairly_is_neither_right_nor_wrong(agents: ModuleType) -> None:
    case = agents.Case("c", "repeat", [], frozenset({"right", "other"}), frozenset({"fair"}))
    assert case.recall(["fair", "right", "a", "b", "c", "d", "other"]) == 0.5
    assert case.recall(["fair", "right", "a", "b", "c", "other"]) == 1.0


def test_results_come_behind_the_call_that_brought_them(agents: ModuleType) -> None:
    document = ApiDocument("s/t/rain", "s", "", "t", "rain")
    talk = [{"role": "user", "content": "rain?"}, {"role": "tool", "tool": 7, "content": "no"}]
    user, call, result = agents._chat(talk, {7: document})
    assert (user["role"], call["role"], result["role"]) == ("user", "assistant", "tool")
    assert result["tool_call_id"] == call["tool_calls"][0]["id"]


def test_a_follow_up_gains_what_the_better_of_the_plain_ways_does_not_have(agents: ModuleType) -> None:
    recalls = [(0.1, 0.5), (0.4, 0.3), (0.8, 0.1), (0.9, 0.45)]
    figures = agents.followup_figures(dict(zip(agents.WAYS, recalls, strict=True)))
    assert round(figures["followup_recall_gain"], 6) == 0.5
    assert round(figures["gain_over_last"], 6) == 0.8
    assert round(figures["gain_over_joined_names"], 6) == 0.1
    assert round(figures["standing_alone_loss"], 6) == 0.05


def test_each_way_reads_what_its_name_says(agents: ModuleType) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "get_forecast", "arguments": "{}"}}
    talk = [
        {"role": "user", "content": "rain in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "no"},
        {"role": "user", "content": "and Oslo?"},
    ]
    assert [way(talk) for way in list(agents.WAYS.values())[:3]] == [
        "and Oslo?",
        "rain in Rome?\nno\nand Oslo?",
        "rain in Rome?\nno\nand Oslo? get forecast",
    ]


@pytest.fixture(scope="module")
def written(agents: ModuleType) -> dict[int, ApiDocument]:
    """The operations of the benchmark."""
    read = agents.read_apis(BENCHMARKS.parent / "datasets" / "written")
    return {api.id: api.document("written") for api in read}


@pytest.fixture(scope="module")
def cases(agents: ModuleType, written: dict[int, ApiDocument]) -> list[Any]:
    """Its conversations."""
    return list(agents.read_cases(written))


@pytest.fixture(scope="module")
def searched(
    agents: ModuleType,
    written: dict[int, ApiDocument],
    cases: list[Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Catalog]:
    """A catalog of some operations, with those that the first conversations and requests want."""
    talks = [case for case in cases if agents.reported(case)][:CONVERSATIONS]
    asked = [case for _, case, _ in agents.read_capabilities(written)[:CONVERSATIONS]]
    wanted = frozenset[str]().union(*(case.relevant for case in (*talks, *asked)))
    some = set(list(written)[::EVERY])
    held = {key: each for key, each in written.items() if key in some or each.id in wanted}
    folder = tmp_path_factory.mktemp("agents")
    settings = Settings(profile="hybrid", embedding_cache=folder / "embeddings.db")
    with Catalog.open(f"sqlite:{folder / 'catalog.db'}", settings=settings) as catalog:
        catalog.ingest(agents.Listed("written", held.values()))
        yield catalog


@pytest.mark.needs("weights", "onnxruntime")
def test_a_conversation_finds_what_its_last_message_alone_does_not(
    agents: ModuleType,
    written: dict[int, ApiDocument],
    cases: list[Any],
    searched: Catalog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agents, "read_cases", lambda *_: cases)
    figures = agents.followups(searched, written, CONVERSATIONS)
    assert figures["followup_recall_gain"] >= 0.05, "0.37 over all operations; fewer are easier for every way"


@pytest.mark.needs("weights", "onnxruntime")
def test_capabilities_find_what_requests_as_they_came_do_not(
    agents: ModuleType, written: dict[int, ApiDocument], searched: Catalog
) -> None:
    figures = agents.capabilities(searched, written, CONVERSATIONS)
    assert figures["capability_gain"] >= 0.05


@pytest.mark.needs("weights", "onnxruntime")
def test_a_search_knows_a_tool_two_seconds_after_its_server_gave_notice(
    agents: ModuleType, written: dict[int, ApiDocument], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    held = dict(list(written.items())[:: 10 * EVERY])
    figures = agents.measure_changes(agents.Listed("written", held.values()), Settings(profile="hybrid"), 5)
    assert figures["list_changed_ms_smallest"] <= 2_000, "other work may delay some, never all"


@pytest.mark.needs("weights", "onnxruntime")
def test_a_conversation_of_twenty_turns_is_served_from_the_cache(
    agents: ModuleType, written: dict[int, ApiDocument], cases: list[Any], searched: Catalog
) -> None:
    (conversation,) = agents._chains(cases, 1)
    tokens = DefinitionTokens()
    tenth = tokens.of(list(written.values())[::10])
    everything = ("all tools", 10 * tenth)
    sent = agents._sent(searched, conversation, everything, tokens)
    sums = {
        name: tuple(map(sum, zip(*agents._counted(requests), strict=True))) for name, requests in sent.items()
    }
    share = {name: cached / total for name, (total, cached) in sums.items()}
    assert share["appended once"] >= 0.95
    assert share["five anew"] < 0.5
    assert sums["appended once"][0] <= 0.1 * sums["all tools"][0]
