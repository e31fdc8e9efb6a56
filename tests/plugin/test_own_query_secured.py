"""A `kitpick` query beside the security plugin: the user's own rights decide, whatever the service asks for.

The index is made by hand, because that node has no k-NN; the service is one that wants every document.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from double import Call, Double, answering, ranked
from searching import Client, Refused, report
from secured import Secured

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

LIVE = "owned-apis-0123456789ab-1"
FIELDS: dict[str, Any] = {
    "text": {"type": "text"},
    "description": {"type": "text"},
    "secret": {"type": "text"},
    "public": {"type": "boolean"},
    "born": {"type": "long"},
    **{name: {"type": "keyword"} for name in ("id", "tenant", "allowed")},
}
THEIRS = {"own": ("acme", "alice"), "free": ("nobody", "everybody")}
OTHERS = {"bobs": ("acme", "bob"), "globexs": ("globex", "everybody")}


@pytest.fixture(scope="module", autouse=True)
def catalog(secured: Secured) -> None:
    items = {
        name: {"id": f"marker-{name}", "tenant": tenant, "allowed": [person], "public": True, "born": 1,
               "description": f"copy a file of {name}", "secret": f"secret-{name}"}
        for name, (tenant, person) in {**THEIRS, **OTHERS}.items()
    }  # fmt: skip
    items["later"] = {**items["own"], "id": "marker-later", "born": 2}
    settings = {"index": {"number_of_shards": 2, "number_of_replicas": 0}}
    secured.admin.fill(LIVE, items, {"settings": settings, "mappings": {"properties": FIELDS}})
    committed = {"bool": {"filter": [{"range": {"born": {"lte": 1}}}]}}
    action = {"add": {"index": LIVE, "alias": "owned", "filter": committed}}
    secured.admin.call("POST", "/_aliases", {"actions": [action]})


def greedy(call: Call) -> dict[str, Any]:
    """A service that wants to see everything, and ranks all that it saw."""
    if not call["found"]:
        everything = {"size": 100, "query": {"match_all": {}}}
        return {"searches": [everything, everything]}
    hits = [hit for answers in call["found"] for each in answers for hit in each["hits"]["hits"]]
    return {"ranking": ranked(sorted({hit["_source"]["id"] for hit in hits}))}


def asked(user: Client) -> Any:
    return user.call("POST", "/owned/_search", {"query": {"kitpick": {"text": "copy a file"}}})


def ids(answer: Any) -> set[str]:
    return {hit["_source"]["id"] for hit in answer["hits"]["hits"]}


def test_nothing_of_others_reaches_service_or_answer(secured: Secured, double: Double) -> None:
    with double.behaving(answering(greedy)):
        answer = asked(secured.user("alice", "acme"))
        sent = str(double.calls)
    assert report(answer)["status"] == "rescored"
    assert ids(answer) == {f"marker-{name}" for name in THEIRS}
    assert all(f"marker-{name}" in sent for name in THEIRS)
    for marker in ("marker-bobs", "marker-globexs", "marker-later", "secret-"):
        assert marker not in sent
        assert marker not in str(answer)


def test_users_at_once_do_not_mix(secured: Secured, double: Double) -> None:
    with double.behaving(answering(greedy, after=0.05)):
        for alices, bobs in secured.at_once([("alice", "acme"), ("bob", "acme")] * 6, asked):
            assert ids(alices) == {"marker-own", "marker-free"}
            assert ids(bobs) == {"marker-bobs", "marker-free"}


def test_who_may_not_search_the_index_asks_nobody(secured: Secured, double: Double) -> None:
    with double.behaving(answering(greedy)), pytest.raises(Refused) as refused:
        asked(secured.named("operator"))
    assert refused.value.status == 403
    assert not double.calls


def by_tool(user: Client, **parameters: Any) -> set[str]:
    """What an agent's tool finds for this user."""
    wanted = {"index": "owned", "question": "copy a file", **parameters}
    found = user.call("POST", "/_plugins/_ml/tools/_execute/KitpickSearchTool", wanted)
    return {tool["id"] for tool in found["tools"]}


class TestAnAgentsTool:
    """ml-commons runs it as whoever asks the agent; so does the plugin that stands in for it here."""

    def test_finds_what_its_user_may_see(self, secured: Secured, double: Double) -> None:
        with double.behaving(answering(greedy)):
            assert by_tool(secured.user("alice", "acme")) == {"marker-own", "marker-free"}
            assert by_tool(secured.user("bob", "acme")) == {"marker-bobs", "marker-free"}
            sent = double.calls[-1]
        assert (sent["query"], sent["k"], sent["tenant"], sent["principals"]) == ("copy a file", 5, "", [])

    def test_finds_it_in_words_while_nobody_ranks(self, secured: Secured, double: Double) -> None:
        with double.behaving(answering(lambda _: "no answer")):
            user = secured.user("alice", "acme")
            wanted = {"index": "owned", "question": "copy a file"}
            found = user.call("POST", "/_plugins/_ml/tools/_execute/KitpickSearchTool", wanted)
        assert {tool["id"] for tool in found["tools"]} <= {"marker-own", "marker-free"}
        assert found["degraded"]

    def test_a_model_says_what_is_wanted_and_nothing_else(self, secured: Secured, double: Double) -> None:
        said = json.dumps({"text": "move it", "principals": "bob", "index": "guarded"})
        with double.behaving(answering(greedy)):
            found = by_tool(
                secured.user("alice", "acme"), input=said, filter='{"term": {"id": "marker-own"}}'
            )
            sent = double.calls[-1]
        assert found == {"marker-own"}
        assert (sent["query"], sent["principals"]) == ("move it", [])

    def test_who_may_not_search_the_index_finds_nothing(self, secured: Secured, double: Double) -> None:
        with double.behaving(answering(greedy)), pytest.raises(Refused) as refused:
            by_tool(secured.named("operator"))
        assert refused.value.status == 403
        assert not double.calls
