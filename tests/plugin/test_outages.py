"""Whatever keeps the rescorer away: every door of a node says the same, in answers, counts, metrics and log.

`OutageTests` asks the same of the plugin's classes; here a real node answers.
"""

from __future__ import annotations

import itertools
import re
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from double import (
    Behaviour,
    Call,
    Double,
    answering,
    backwards,
    huge,
    ranked,
    raw_body,
    reset,
    silent,
    status,
)
from searching import QUERY, Refused, Search, setting

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

CATALOG = "outages"
HURRIED_MILLIS = 300
VIEWS: Mapping[str, Any] = {"whole": True, "one field": ["id"], "nothing": False}
DOORS = ("a window", "a window among several searches", "a later page", "the own query", "its explanation")


class State(NamedTuple):
    """What is wrong: how the service behaves, or what an operator set; what it is called; how it fails."""

    behaviour: Behaviour
    reason: str
    fails_with: int
    setting: tuple[str, Any] | None = None


well = answering(backwards)
STATES = {
    "silent": State(silent, "timeout", 504),
    "gone": State(reset, "connection", 502),
    "another key": State(status(401), "unauthorized", 502),
    "refusing": State(status(422), "refused", 400),
    "broken": State(status(500), "service_error", 502),
    "talking nonsense": State(raw_body(lambda call: b"<html>"), "invalid_answer", 502),
    "talking without end": State(huge(10 * 2**20, announced=True), "too_large", 502),
    "switched off": State(well, "switched_off", 503, ("kitpick.enabled", False)),
    "without room": State(well, "too_many", 429, ("breaker.kitpick.limit", "1b")),
}


@pytest.fixture(scope="module", autouse=True)
def catalog(search: Search) -> None:
    """A catalog by its name and its alias: nobody is asked for more before the rescorer answers."""
    index = f"{CATALOG}-apis-{'a' * 12}-1"
    kinds = {"text": "text", "description": "text", "id": "keyword", "tenant": "keyword", "public": "boolean"}
    fields = {name: {"type": kind} for name, kind in {**kinds, "born": "long"}.items()}
    item = {"id": "a", "description": QUERY, "text": QUERY, "tenant": "", "public": True, "born": 1}
    search.fill(index, {"a": item}, {"mappings": {"properties": fields}})
    search.put(f"/{index}/_alias/{CATALOG}", {"filter": {"range": {"born": {"lte": 1}}}})


@contextmanager
def wrong(search: Search, double: Double, state: State) -> Iterator[None]:
    with (
        double.behaving(state.behaviour),
        setting(search, *state.setting) if state.setting else nullcontext(),
    ):
        yield


def asked(search: Search, door: str, view: Any, on_failure: str, hurried: bool) -> dict[str, Any]:
    """What the plugin says through a door.

    Raises:
        Refused: an error, also where only one of several searches has it.
    """
    section = {"on_failure": on_failure, **({"deadline_ms": HURRIED_MILLIS} if hurried else {})}
    words = {"match": {"text": QUERY}}
    body = {"query": words, "size": 3, "_source": view, "ext": {"kitpick": section}}
    if door == "the own query":
        own = {**body, "query": {"kitpick": {"text": QUERY}}}
        answer = search.call("POST", f"/{CATALOG}/_search", own)
    elif door == "its explanation":
        answer = search.call("GET", f"/_plugins/_kitpick/explain?index={CATALOG}&text=weather")
    elif door == "a window among several searches":
        line = {**body, "search_pipeline": "kitpick"}
        answer, _ = search.call("POST", "/_msearch", [{"index": "apis"}, line, {"index": "apis"}, {}])[
            "responses"
        ]
    else:
        page = {"from": 4 if door == "a later page" else 0}
        answer = search.call("POST", "/apis/_search?search_pipeline=kitpick", {**body, **page})
    if "error" in answer:
        raise Refused(answer["status"], str(answer["error"]))
    said: dict[str, Any] = answer["ext"]["kitpick"]
    return said


def counted(search: Search) -> dict[str, Any]:
    (node,) = search.call("GET", "/_plugins/_kitpick/stats")["nodes"].values()
    counts: dict[str, Any] = node
    return counts


def shown(search: Search, reason: str) -> int:
    """The same count as Prometheus reads it."""
    with urllib.request.urlopen(f"{search.url}/_plugins/_kitpick/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = re.findall(rf'kitpick_node_original_total{{node="[^"]*",reason="{reason}"}} (\d+)', text)
    return int(found[0]) if found else 0


@pytest.mark.parametrize("state", STATES)
def test_every_door_tells_it(search: Search, double: Double, node_log: Path, state: str) -> None:
    wanted = STATES[state]
    asks = [
        each
        for each in itertools.product(DOORS, VIEWS, ("original", "fail"))
        # What explains takes neither; the deadline of the node would be waited for.
        if each[0] != "its explanation" or (each[1:] == ("whole", "original") and state != "silent")
    ]
    before = counted(search)
    with wrong(search, double, wanted):
        for door, view, on_failure in asks:
            where = (door, view, on_failure)
            if on_failure == "fail":
                with pytest.raises(Refused, match=wanted.reason) as refused:
                    asked(search, door, VIEWS[view], on_failure, state == "silent")
                assert refused.value.status == wanted.fails_with, where
            else:
                said = asked(search, door, VIEWS[view], on_failure, state == "silent")
                own = door in ("the own query", "its explanation")
                status = "degraded" if own else "original"
                assert (said["status"], said["reason"]) == (status, wanted.reason), where
    after = counted(search)
    told = before["original"].get(wanted.reason, 0) + len(asks)
    assert after["original"] == {**before["original"], wanted.reason: told}
    assert after["skipped"] == before["skipped"], "an outage is never called one"
    assert after["searches"] == before["searches"] + len(asks)
    assert shown(search, wanted.reason) == told
    assert re.search(rf"WARN .*o\.k\.opensearch.*{wanted.reason}: ", node_log.read_text("utf-8"))


class BusyFor:
    """A rescorer that turns the first calls away, and then finds nothing."""

    def __init__(self, refusals: float) -> None:
        self.calls = 0
        self._refusals = refusals

    async def __call__(self, call: Call, writer: Any) -> None:
        self.calls += 1
        behaviour = (
            status(429) if self.calls <= self._refusals else answering(lambda _: {"ranking": ranked([])})
        )
        await behaviour(call, writer)


@pytest.fixture
def rested(search: Search, double: Double) -> Iterator[None]:
    """Behind a test that made the node leave the rescorer alone: until it asks again."""
    yield
    with double.behaving(well):
        while asked(search, "a window", True, "original", hurried=False)["status"] != "rescored":
            time.sleep(0.1)


@pytest.mark.usefixtures("rested")
class TestBusyRescorer:
    def test_an_own_query_waits_for_it(self, search: Search, double: Double) -> None:
        with double.behaving(busy := BusyFor(4)):
            said = asked(search, "the own query", True, "fail", hurried=False)
        assert said["status"] == "rescored"
        assert busy.calls == 5

    def test_it_waits_for_a_part_of_its_time(self, search: Search, double: Double) -> None:
        with double.behaving(busy := BusyFor(float("inf"))):
            own = {"query": {"kitpick": {"text": QUERY}}, "ext": {"kitpick": {"deadline_ms": 2_000}}}
            said = search.call("POST", f"/{CATALOG}/_search", own)["ext"]["kitpick"]
        assert (said["status"], said["reason"]) == ("degraded", "busy")
        assert busy.calls > 1
        assert said["took_ms"] < 2_000

    def test_a_window_does_not(self, search: Search, double: Double) -> None:
        with double.behaving(busy := BusyFor(1)):
            said = asked(search, "a window", True, "original", hurried=False)
        assert (said["status"], said["reason"]) == ("original", "busy")
        assert busy.calls == 1
