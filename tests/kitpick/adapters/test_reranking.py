"""What the compressor, the postprocessor and the ranker have in common, and how they ask and call."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.adapters.errors import InvalidArguments, needing
from kitpick.adapters.reranking import Reranker, in_hierarchy
from kitpick.adapters.retrieval import RetrievalArguments, described
from kitpick.adapters.tools import as_text, callable_tools
from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_foundation.errors import MissingExtra

QUERY = "What will the weather be like in Lisbon?"
TEXTS = ["Finds hotel rooms.", "Weather forecast of a city.", "Sends an e-mail."]
DOCUMENTS = [in_hierarchy(text, {}) for text in TEXTS]


@pytest.mark.needs("weights", "onnxruntime")
@pytest.mark.parametrize("profile", ["kitpick", "toolrerank", "rerank"])
def test_every_document_is_placed_once_by_falling_scores(profile: str) -> None:
    ranked = Reranker(profile=profile).rank(QUERY, DOCUMENTS)
    assert sorted(place.position for place in ranked.places) == [0, 1, 2]
    assert ranked.places[0].position == 1
    scores = [place.score for place in ranked.places]
    assert scores == sorted(scores, reverse=True)
    assert Reranker(profile=profile).rank(QUERY, []).places == ()


@pytest.mark.needs("weights", "onnxruntime")
def test_the_hierarchy_comes_from_the_metadata() -> None:
    document = in_hierarchy("text", {"tool": "t", "category": "c", "api": "a", "page": 3})
    assert (document.text, document.tool, document.category, document.api) == ("text", "t", "c", "a")


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_a_service_ranks_as_this_process_does(service_url: str) -> None:
    remote = Reranker(rescorer=service_url)
    there = remote.rank(QUERY, DOCUMENTS)
    here = Reranker().rank(QUERY, DOCUMENTS)
    remote.close()
    assert there.degraded == ()
    assert [place.position for place in there.places] == [place.position for place in here.places]
    for one, other in zip(there.places, here.places, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-5)


@pytest.mark.needs("serve")
def test_a_service_that_does_not_answer_leaves_the_order_as_it_was() -> None:
    remote = Reranker(rescorer="http://127.0.0.1:9")
    ranked = remote.rank(QUERY, DOCUMENTS)
    remote.close()
    assert [(place.position, place.score) for place in ranked.places] == [(0, None), (1, None), (2, None)]
    assert any(reason.startswith("rescorer: ") for reason in ranked.degraded)


def test_asking_is_checked_and_changed_for_one_request() -> None:
    staff = RetrievalArguments.of(k=3, filter={"principals": ["staff"], "effects": ["read"]})
    assert staff.filter.principals == {"staff"}
    assert staff.changed({"k": 0, "budget": None}) == RetrievalArguments(k=0, filter=staff.filter)
    assert staff.changed({"filter": Filter()}).filter == Filter()
    assert staff.changed({"k": "auto"}).k == "auto"
    for wrong in ({"k": -1}, {"k": "many"}, {"budget": -5}, {"filter": {"who": 1}}, {"top": 3}):
        with pytest.raises(InvalidArguments):
            staff.changed(wrong)


@pytest.mark.needs("weights", "onnxruntime")
def test_a_degraded_answer_is_logged_and_told_with_every_hit(
    settings: Settings, functions_file: Any, caplog: pytest.LogCaptureFixture, broken_model: str
) -> None:
    with Catalog.open(settings=settings) as whole:
        whole.ingest(f"functions:{functions_file}")
    with Catalog.open(settings=replace(settings, cross_encoder=broken_model)) as catalog:
        hits = described(RetrievalArguments.of(k=2).search(catalog, QUERY))
        asyncio.run(RetrievalArguments.of(k=2).asearch(catalog, QUERY))
    assert all(any("broken-model" in reason for reason in hit.metadata["degraded"]) for hit in hits)
    assert "broken-model" in caplog.text
    assert QUERY not in caplog.text


@pytest.mark.needs("weights", "onnxruntime")
def test_tools_are_named_as_their_definitions_and_lead_back(catalog: Catalog) -> None:
    result = catalog.search(QUERY, 3)
    tools = callable_tools(result, lambda document, arguments: (document.api, arguments))
    assert [tool.name for tool in tools] == [
        item["function"]["name"] for item in result.definitions("openai")
    ]
    assert all(result.called(tool.name) is tool.document for tool in tools)
    assert tools[0].call({"city": "Oslo"}) == ("get_weather", {"city": "Oslo"})
    assert asyncio.run(tools[0].acall({"city": "Oslo"})) == ("get_weather", {"city": "Oslo"})


@pytest.mark.parametrize(
    ("value", "text"), [("as it is", "as it is"), ({"a": [1]}, '{"a":[1]}'), (None, "null"), (1j, "1j")]
)
def test_results_become_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_a_missing_or_old_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)
    monkeypatch.delitem(sys.modules, "kitpick.adapters.langchain", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install --upgrade 'kitpick\[langchain\]'"):
        import kitpick.adapters.langchain  # noqa: F401
    with pytest.raises(ImportError, match="llama_index"), needing("llama-index"):
        from json import no_such_name  # type: ignore[attr-defined]  # noqa: F401
