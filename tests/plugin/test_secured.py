"""The plugin beside OpenSearch's security plugin: whatever it fetches and says, the user's own rights decide.

These searches carry no filter at all. Roles restrict the documents (DLS) and the fields (FLS), and the
rescorer asks for everything there is. The plugin is built for another OpenSearch than in the other tests.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from double import Call, Double, answering, ranked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from searching import PIPELINE, QUERY, Client, Refused, ids, report
from secured import PEOPLE, TENANTS, Secured

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

TOOLS = ("weather", "hotels")
INDEX: dict[str, Any] = {
    "settings": {"index": {"number_of_shards": 2, "number_of_replicas": 0}},
    "mappings": {
        "properties": {
            "text": {"type": "text"},
            "secret": {"type": "text"},
            **{name: {"type": "keyword"} for name in ("tool", "api", "tool_key", "tenant", "allowed")},
        }
    },
}
API = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(TOOLS),
        "tenant": st.sampled_from(("nobody", *TENANTS)),
        "allowed": st.lists(st.sampled_from(PEOPLE), max_size=2, unique=True),
        "matches": st.booleans(),
    }
)


def document(number: int, api: dict[str, Any]) -> dict[str, Any]:
    """Its text names it, so that any trace of it can be found."""
    return {
        "text": f"marker{number:03d} " + (QUERY if api["matches"] else "something else"),
        "secret": f"secret{number:03d}",
        "tool": api["tool"],
        "tool_key": f"/{api['tool']}",
        "api": f"marker{number:03d}",
        "tenant": api["tenant"],
        "allowed": api["allowed"] or ["everybody"],
    }


def may_see(api: dict[str, Any], person: str, tenant: str) -> bool:
    return api["tenant"] in ("nobody", tenant) and (not api["allowed"] or person in api["allowed"])


def greedy(call: Call) -> dict[str, Any]:
    """A rescorer that wants everything, every time."""
    known = [each["id"] for each in (*call["candidates"], *call.get("fetched", ()))]
    return ranked(known, need={"apis_of_tools": [f"/{tool}" for tool in TOOLS]})


def fill(secured: Secured, apis: list[dict[str, Any]]) -> None:
    items = {f"marker{n:03d}": document(n, api) for n, api in enumerate(apis)}
    secured.admin.fill("rights", items, INDEX)
    processor = {"kitpick": {"text_fields": ["text", "secret"], "category_field": "none"}}
    window = {"kitpick_window": {"window": 100, "fields": ["text", "secret", "tool", "api", "tool_key"]}}
    secured.admin.put(
        "/_search/pipeline/rights", {"request_processors": [window], "response_processors": [processor]}
    )


def asked(client: Client, index: str = "rights", **more: Any) -> Any:
    body = {
        "query": {"match": {"text": QUERY}},
        "size": 100,
        "ext": {"kitpick": {"query": QUERY, "window": 100}},
        **more,
    }
    return client.call("POST", f"/{index}/_search?search_pipeline=rights", body)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    apis=st.lists(API, min_size=5, max_size=25),
    person=st.sampled_from(PEOPLE),
    tenant=st.sampled_from(TENANTS),
    restricted=st.booleans(),
)
def test_nobody_sees_what_is_not_theirs(
    secured: Secured, double: Double, apis: list[dict[str, Any]], person: str, tenant: str, restricted: bool
) -> None:
    """No id, score, text, count or reason of a forbidden API: not in the answer, not on the wire."""
    fill(secured, apis)
    more: dict[str, Any] = {"aggs": {"apis": {"terms": {"field": "api", "size": 100}}}}
    if (
        restricted
    ):  # what the user leaves out of `_source` is fetched for the rescorer by the window processor
        more["_source"] = ["tool"]
    with double.behaving(answering(greedy)):
        answer = asked(secured.user(person, tenant), **more)
        sent = list(double.calls)
        told = json.dumps(double.headers)
    seen = json.dumps([sent, answer])
    visible = {f"marker{n:03d}" for n, api in enumerate(apis) if may_see(api, person, tenant)}
    matching = {f"marker{n:03d}" for n, api in enumerate(apis) if api["matches"]} & visible
    for number in range(len(apis)):
        assert (f"marker{number:03d}" in visible) or f"marker{number:03d}" not in seen
    assert "secret" not in seen
    assert "Basic" not in told
    assert person not in told
    assert answer["hits"]["total"]["value"] == (len(visible) if matching else 0), "those fetched count too"
    assert {each["key"] for each in answer["aggregations"]["apis"]["buckets"]} == matching
    assert set(ids(answer)) == (visible if matching else set())
    assert report(answer).get("fetched", 0) == (len(visible - matching) if matching else 0)


APIS: list[dict[str, Any]] = [
    {"tool": "weather", "tenant": "acme", "allowed": [], "matches": number < 2} for number in range(6)
]


def test_a_field_that_a_role_hides_is_shown_to_others(secured: Secured, double: Double) -> None:
    """The counterpart of the property above: what it does not find would be there."""
    fill(secured, APIS)
    with double.behaving(answering(greedy)):
        asked(secured.admin)
        sent = json.dumps(double.calls)
    assert all(f"secret{number:03d}" in sent for number in range(len(APIS)))


def test_a_hidden_tool_key_can_not_be_searched(secured: Secured, double: Double) -> None:
    """Else a rescorer's wish would say which APIs share a value that the user may not see."""
    fill(secured, APIS)
    with double.behaving(answering(greedy)):
        answer = asked(secured.named("without-tools"))
        assert len(double.calls) == 1
    assert set(ids(answer)) == {"marker000", "marker001"}
    assert report(answer)["rounds"] == 0


def test_one_without_rights_to_the_index_is_refused_before_the_rescorer_hears_of_it(
    secured: Secured, double: Double
) -> None:
    secured.admin.fill("closed", {"x": {"text": QUERY}}, INDEX)
    fill(secured, APIS)
    with double.behaving(answering(greedy)):
        for index in ("closed", "rights,closed"):
            with pytest.raises(Refused) as refused:
                asked(secured.user("alice", "acme"), index)
            assert refused.value.status == 403
        assert not double.calls


def test_rights_of_one_search_do_not_stay_for_the_next(secured: Secured, double: Double) -> None:
    """Threads are shared; the context on them must not be. Searches of two people at once, in turns."""
    apis = [{**APIS[n], "allowed": ["alice" if n % 2 else "bob"], "matches": n < 2} for n in range(6)]
    fill(secured, apis)
    with double.behaving(answering(greedy, after=0.05)):
        for answers in secured.at_once([("alice", "acme"), ("bob", "acme")] * 8, asked):
            alices, bobs = answers
            assert set(ids(alices)) == {"marker001", "marker003", "marker005"}
            assert set(ids(bobs)) == {"marker000", "marker002", "marker004"}


def test_statistics_need_a_right_of_their_own(secured: Secured) -> None:
    with pytest.raises(Refused) as refused:
        secured.user("alice", "acme").call("GET", "/_plugins/_kitpick/stats")
    assert refused.value.status == 403
    assert secured.named("operator").call("GET", "/_plugins/_kitpick/stats")["_nodes"]["failed"] == 0


def audited_until(category: str, secured: Secured, before: int) -> list[dict[str, Any]]:
    """What the audit log says beyond its first lines; the node writes it a little later than it answers."""
    deadline = time.monotonic() + 20
    while category not in {each["audit_category"] for each in secured.audited()[before:]}:
        assert time.monotonic() < deadline, f"no {category} in the audit log"
        time.sleep(0.1)
    return secured.audited()[before:]


def test_the_audit_log_names_who_searched_and_who_may_not(secured: Secured, double: Double) -> None:
    """What the plugin searches for a user is that user's doing, and nobody else's."""
    fill(secured, APIS)
    before = len(secured.audited())
    with double.behaving(answering(greedy)):
        assert report(asked(secured.user("alice", "acme")))["fetched"] == 4
    with pytest.raises(Refused, match="403"):
        secured.user("bob", "acme").call("GET", "/_plugins/_kitpick/stats")
    events = audited_until("MISSING_PRIVILEGES", secured, before)
    searches = [each for each in events if each.get("audit_request_privilege") == "indices:data/read/search"]
    assert len(searches) >= 2, "the user's own, and one for the rescorer"
    assert {each["audit_request_effective_user"] for each in searches} == {"alice-of-acme"}
    (refused,) = [each for each in events if each["audit_category"] == "MISSING_PRIVILEGES"]
    assert refused["audit_request_effective_user"] == "bob-of-acme"
    assert refused["audit_request_privilege"] == "cluster:monitor/kitpick/stats"
    assert QUERY not in str(events), "no request's words"


def test_pipelines_and_the_switch_are_for_those_who_may_change_clusters(secured: Secured) -> None:
    alice = secured.user("alice", "acme")
    for path, body in {
        "/_search/pipeline/mine": PIPELINE,
        "/_cluster/settings": {"transient": {"kitpick.enabled": False}},
    }.items():
        with pytest.raises(Refused) as refused:
            alice.put(path, body)
        assert refused.value.status == 403
