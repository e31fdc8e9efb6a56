"""Names under which a model sees documents."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_engines.document import ApiDocument, document_id
from kitpick_ingest import function_names as module
from kitpick_ingest.function_names import documents_by_name, function_name, function_names

VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def document(tool: str, api: str, source: str = "s") -> ApiDocument:
    return ApiDocument(id=document_id(source, tool, api), source=source, category="", tool=tool, api=api)


def test_a_name_reads_like_tool_and_api() -> None:
    assert re.fullmatch(
        r"Weather_API_get_v1_forecast_[a-z2-7]{6}", function_name(document("Weather API", "get /v1/forecast"))
    )


def test_a_tool_that_the_api_already_names_is_not_repeated() -> None:
    assert function_name(document("github", "github_star")).startswith("github_star_")


def test_a_long_api_keeps_its_beginning_and_the_digest() -> None:
    name = function_name(document("t", "x" * 100))
    assert len(name) == 64
    assert name != function_name(document("t", "x" * 101))


def test_text_without_any_letter_still_gets_a_name() -> None:
    assert re.fullmatch(r"[a-z2-7]{6}", function_name(document("天气", "预报")))


def test_a_name_does_not_depend_on_the_company() -> None:
    first, second = document("a", "search"), document("b", "search")
    assert function_names([first, second])[0] == function_names([first])[0] == function_name(first)


def test_colliding_digests_are_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHORT", 0)
    names = function_names([document("t", "a b"), document("t", "a+b")])
    assert len(set(names)) == 2
    assert all(VALID.fullmatch(name) for name in names)


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=70), st.text(max_size=70)), unique=True, max_size=20))
def test_names_are_valid_unique_and_lead_back(pairs: list[tuple[str, str]]) -> None:
    documents = [document(tool, api) for tool, api in pairs]
    names = function_names(documents)
    assert all(VALID.fullmatch(name) for name in names)
    assert len(set(names)) == len(documents)
    assert [documents_by_name(documents)[name] for name in names] == documents
