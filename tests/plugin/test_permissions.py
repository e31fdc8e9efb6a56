"""Nothing of a forbidden API leaves the cluster, whoever asks and whatever the rescorer asks for.

The node has no users: a principal's rights are the filter that kitpick's own engine puts into a search.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from double import Call, Double, answering, ranked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from searching import PIPELINE, QUERY, Search, report

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

PEOPLE = ("alice", "bob", "carol")
TENANTS = ("", "acme", "globex")
API = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(("weather", "hotels")),
        "tenant": st.sampled_from(TENANTS),
        "allowed": st.lists(st.sampled_from(PEOPLE), max_size=2, unique=True),
        "matches": st.booleans(),
        "angle": st.floats(0.0, 1.0, width=16),
    }
)


def document(number: int, api: dict[str, Any]) -> dict[str, Any]:
    """Its text names it, so that any trace of it can be found."""
    return {
        "text": f"marker{number:03d} " + (QUERY if api["matches"] else "something else"),
        "category": "Any",
        "tool": api["tool"],
        "tool_key": f"Any/{api['tool']}",
        "api": f"marker{number:03d}",
        "tenant": api["tenant"],
        "allowed": api["allowed"] or ["everybody"],
        "vector": [1.0, api["angle"], 0.0, 0.0],
    }


def may_see(api: dict[str, Any], person: str, tenant: str) -> bool:
    return api["tenant"] in ("", tenant) and (not api["allowed"] or person in api["allowed"])


def greedy(call: Call) -> dict[str, Any]:
    """A rescorer that wants everything, twice."""
    ids = [each["id"] for each in (*call["candidates"], *call.get("fetched", ()))]
    vector = base64.b64encode(struct.pack("<4f", 1.0, 0.5, 0.0, 0.0)).decode()
    need = {"apis_of_tools": ["Any/weather", "Any/hotels"], "neighbours": {"vector": vector, "k": 100}}
    return ranked(ids, need=need)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    apis=st.lists(API, min_size=5, max_size=25),
    person=st.sampled_from(PEOPLE),
    tenant=st.sampled_from(TENANTS),
    by_vector=st.booleans(),
)
def test_nobody_sees_what_is_not_theirs(
    search: Search, double: Double, apis: list[dict[str, Any]], person: str, tenant: str, by_vector: bool
) -> None:
    search.index("rights", {f"marker{n:03d}": document(n, api) for n, api in enumerate(apis)})
    processor = {"kitpick": {"vector_field": "vector"}}
    search.put("/_search/pipeline/rights", {**PIPELINE, "response_processors": [processor]})
    rights = [{"terms": {"tenant": ["", tenant]}}, {"terms": {"allowed": ["everybody", person]}}]
    scored = {"match": {"text": QUERY}}
    if by_vector:
        knn = {"vector": [1.0, 0.0, 0.0, 0.0], "k": 50, "filter": {"bool": {"filter": rights}}}
        query: dict[str, Any] = {"knn": {"vector": knn}}
    else:
        query = {"bool": {"must": [scored], "filter": rights}}
    body = {
        "query": query,
        "size": 100,
        "aggs": {"apis": {"terms": {"field": "api", "size": 100}}},
        "ext": {"kitpick": {"query": QUERY, "window": 100}},
    }
    with double.behaving(answering(greedy)):
        answer = search(body, "rights", "rights")
        seen = json.dumps([double.calls, answer])
    for number, api in enumerate(apis):
        if not may_see(api, person, tenant):
            assert f"marker{number:03d}" not in seen
    allowed = sum(may_see(api, person, tenant) for api in apis)
    found = sum(may_see(api, person, tenant) and (by_vector or api["matches"]) for api in apis)
    assert answer["hits"]["total"]["value"] == (allowed if found else 0), "those fetched count too"
    if found:
        assert report(answer)["rounds"] == (1 if found < allowed else 0)
        assert len(answer["hits"]["hits"]) == allowed
