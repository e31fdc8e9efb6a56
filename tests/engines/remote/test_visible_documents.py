"""Which documents a query shows, without a server: the query's own meaning, read by a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_engines.contract import Filter, IndexSchema
from kitpick_engines.document import Effect
from kitpick_engines.remote.queries import Live, listed, narrowed
from kitpick_engines.remote.state import IndexState

Document = dict[str, Any]
SCHEMA = IndexSchema("m@1", 4, 1)
NAMES = ("", "ann", "bob", "\ud800")
"""Of tenants and principals. The last one cannot be stored, so it matches nothing."""


def holds(query: Document, document: Document) -> bool:
    """Whether a document matches a query of the kinds that filters are made of."""
    ((kind, body),) = query.items()
    return _KINDS[kind](body, document)


def _all_of(body: Document, document: Document) -> bool:
    wanted = body.get("minimum_should_match", 0)
    return (
        all(holds(each, document) for each in body.get("filter", ()))
        and not any(holds(each, document) for each in body.get("must_not", ()))
        and sum(holds(each, document) for each in body.get("should", ())) >= wanted
    )


def _among(body: Document, document: Document) -> bool:
    ((field, values),) = body.items()
    held = document[field]
    return any(value in values for value in (held if isinstance(held, list) else [held]))


def _at_most(body: Document, document: Document) -> bool:
    ((field, bounds),) = body.items()
    return document[field] is not None and document[field] <= bounds["lte"]


_KINDS: dict[str, Callable[[Document, Document], bool]] = {
    "bool": _all_of,
    "terms": _among,
    "term": lambda body, document: _among({field: [value] for field, value in body.items()}, document),
    "range": _at_most,
}


def expected(wanted: Filter, state: IndexState, document: Document) -> bool:
    """The contract in words of its own."""
    gone = {*state.aborted, *state.open}
    written = document["born"] <= state.generation and document["born"] not in gone
    removed = document["died"] is not None and document["died"] <= state.generation
    known = wanted.principals - {"\ud800"}
    return (
        written
        and not (removed and document["died"] not in gone)
        and (document["public"] or bool(known & set(document["allowed"])))
        and document["tenant"] in ("", wanted.tenant)
        and (not wanted.categories or document["category"] in wanted.categories)
        and (not wanted.tools or document["tool_key"] in wanted.tools)
        and (not wanted.effects or document["effect"] in wanted.effects)
        and wanted.deprecated in ("include", "only" if document["deprecated"] else "exclude")
    )


storable = st.sampled_from(NAMES[:-1])
sessions = st.integers(1, 5)
documents = st.fixed_dictionaries(
    {
        "born": sessions,
        "died": st.none() | sessions,
        "public": st.booleans(),
        "allowed": st.lists(storable, max_size=2),
        "tenant": storable,
        "category": st.sampled_from(["a", "b"]),
        "tool_key": st.sampled_from(["a/x", "b/y"]),
        "effect": st.sampled_from([effect.value for effect in Effect]),
        "deprecated": st.booleans(),
    }
)
filters = st.builds(
    Filter,
    tenant=st.sampled_from(NAMES),
    principals=st.frozensets(st.sampled_from(NAMES), max_size=2),
    categories=st.sampled_from([frozenset(), frozenset("a")]),
    tools=st.sampled_from([frozenset(), frozenset({"a/x"})]),
    effects=st.frozensets(st.sampled_from(list(Effect)), max_size=2),
    deprecated=st.sampled_from(["include", "exclude", "only"]),
)
states = st.builds(
    IndexState,
    schema=st.just(SCHEMA),
    generation=st.integers(0, 5),
    aborted=st.lists(sessions, max_size=2).map(tuple),
    open=st.lists(sessions, max_size=1).map(tuple),
)


@given(filters, states, st.lists(documents, min_size=20, max_size=20))
@settings(max_examples=examples(400))
def test_a_query_shows_what_the_contract_says(
    wanted: Filter, state: IndexState, stored: list[Document]
) -> None:
    query = Live("apis-1", state).visible(wanted)
    assert [holds(query, each) for each in stored] == [expected(wanted, state, each) for each in stored]


PLAIN: Document = {
    "born": 1,
    "died": None,
    "public": True,
    "allowed": [],
    "tenant": "",
    "category": "a",
    "tool_key": "a/x",
    "effect": "read",
    "deprecated": False,
}


@pytest.mark.parametrize(
    ("change", "wanted", "shown"),
    [
        ({}, Filter(), True),
        ({"public": False, "allowed": ["ann"]}, Filter(), False),
        ({"public": False, "allowed": ["ann"]}, Filter(principals=frozenset({"ann"})), True),
        ({"public": False, "allowed": ["ann"]}, Filter(principals=frozenset({"\ud800"})), False),
        ({"tenant": "ann"}, Filter(), False),
        ({"tenant": "ann"}, Filter(tenant="ann"), True),
        ({}, Filter(tenant="ann"), True),
        ({}, Filter(categories=frozenset("b")), False),
        ({}, Filter(tools=frozenset({"b/y"})), False),
        ({}, Filter(effects=frozenset({Effect.WRITE})), False),
        ({}, Filter(effects=frozenset({Effect.READ})), True),
        ({"deprecated": True}, Filter(deprecated="exclude"), False),
        ({}, Filter(deprecated="only"), False),
        ({"born": 3}, Filter(), False),
        ({"born": 2}, Filter(), False),
        ({"died": 1}, Filter(), False),
        ({"died": 2}, Filter(), True),
        ({"died": 3}, Filter(), True),
    ],
)
def test_each_condition_counts(change: Document, wanted: Filter, shown: bool) -> None:
    """Session 2 was aborted, session 3 is not committed yet."""
    state = IndexState(SCHEMA, generation=2, aborted=(2,))
    query = Live("apis-1", state).visible(wanted)
    assert holds(query, PLAIN | change) is shown
    assert msgspec.json.encode(query), "it can be sent, whatever the names of a caller hold"


def test_lists_are_ordered_by_id_and_go_on_behind_one() -> None:
    shown: Document = {"term": {"public": True}}
    first = listed(shown, 2, ["id"])
    assert (first["query"], first["size"], first["sort"]) == (shown, 2, [{"id": "asc"}])
    assert "search_after" not in first
    assert listed(shown, 2, ["id"], after="a")["search_after"] == ["a"]
    both = narrowed(shown, {"term": {"category": "a"}})
    assert [holds(both, PLAIN | {"category": name}) for name in "ab"] == [True, False]
