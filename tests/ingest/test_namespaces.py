"""Namespaces that functions are grouped into: their names, their order, and what is said of them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.document import ApiDocument, document_id
from kitpick_ingest.definitions import render_definitions
from kitpick_ingest.namespaces import MAX_ABOUT, in_namespaces, namespace_name

TEXT = st.text(min_size=1, max_size=80)


def document(tool: str, api: str, category: str = "", about: str = "") -> ApiDocument:
    key = document_id("s", category, tool, api)
    return ApiDocument(id=key, source="s", category=category, tool=tool, api=api, about=about)


@given(tool=TEXT, category=TEXT)
def test_the_name_is_one_that_openai_accepts(tool: str, category: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", namespace_name(document(tool, "x", category)))


def test_apis_of_one_tool_share_a_namespace_and_others_do_not() -> None:
    name = namespace_name(document("GitHub API", "star", "code"))
    assert re.fullmatch(r"GitHub_API_[a-z2-7]{6}", name)
    assert name == namespace_name(document("GitHub API", "fork", "code", about="said later"))
    assert name != namespace_name(document("GitHub API", "star", "billing"))
    assert name != namespace_name(document("GitHub_API", "star", "code"))


def test_each_namespace_comes_once_where_its_first_function_was() -> None:
    documents = [document("post", "send"), document("sky", "rain"), document("post", "stamp")]
    definitions = render_definitions(documents, "responses")
    post, sky = in_namespaces(documents, definitions)
    assert (post["type"], post["name"], post["tools"]) == (
        "namespace",
        namespace_name(documents[0]),
        [definitions[0], definitions[2]],
    )
    assert sky["tools"] == [definitions[1]]


def test_the_description_is_what_the_tool_says_of_itself_or_else_its_place() -> None:
    said = [
        in_namespaces([one], render_definitions([one], "responses"))[0]["description"]
        for one in (
            document("post", "send", "office", about="  Letters\nand stamps. "),
            document("post", "send", "office", about="long " * 100),
            document("post", "send", "office"),
            document("post", "send"),
        )
    ]
    assert said[0] == "Letters and stamps."
    assert len(said[1]) <= MAX_ABOUT
    assert said[2:] == ["Functions of post (office)", "Functions of post"]
