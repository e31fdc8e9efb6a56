"""What a node does by itself: it leaves a failing service alone, has room for so many, takes a new key."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from double import Double, answering, backwards, silent, status
from keystore import write_key
from searching import KEY, QUERY, documents, report
from secured import AT_A_TIME, BREAKER_FAILURES, Secured

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

PATIENCE = 120
"""Seconds that a busy machine may take for what needs a pause of five."""


@pytest.fixture(scope="module", autouse=True)
def index(secured: Secured) -> None:
    settings = {"index": {"number_of_replicas": 0}}
    secured.admin.fill("guarded", documents(5), {"settings": settings})
    rescoring = {"response_processors": [{"kitpick": {}}]}
    windowed = {"request_processors": [{"kitpick_window": {"window": 5}}], **rescoring}
    secured.admin.put("/_search/pipeline/guarded", rescoring)
    secured.admin.put("/_search/pipeline/windowed", windowed)


BODY: dict[str, Any] = {"size": 2, "query": {"match": {"text": QUERY}}}


def asked(secured: Secured) -> dict[str, Any]:
    """What the plugin says of a search."""
    return report(secured.admin.call("POST", "/guarded/_search?search_pipeline=guarded", BODY))


def stats(secured: Secured) -> dict[str, Any]:
    (node,) = secured.admin.call("GET", "/_plugins/_kitpick/stats")["nodes"].values()
    counted: dict[str, Any] = node
    return counted


def breaker(secured: Secured) -> dict[str, Any]:
    state: dict[str, Any] = stats(secured)["breaker"]
    return state


def test_a_failing_service_is_left_alone_and_tried_again(secured: Secured, double: Double) -> None:
    before = breaker(secured)
    assert before["state"] == "closed"
    with double.behaving(status(500)):
        reasons = Counter(asked(secured)["reason"] for _ in range(30))
        assert reasons["circuit_open"] > 0
        assert reasons["service_error"] == len(double.calls) >= BREAKER_FAILURES
        assert set(reasons) == {"circuit_open", "service_error"}
        assert breaker(secured)["opened"] > before["opened"]
    limit = time.monotonic() + PATIENCE
    with double.behaving(answering(backwards)):
        while asked(secured)["status"] != "rescored":
            assert time.monotonic() < limit
            time.sleep(0.2)
    assert breaker(secured)["state"] == "closed"


def test_only_so_many_at_a_time(secured: Secured, double: Double) -> None:
    hurried = {"kitpick": {"deadline_ms": 3_000}}  # less than the node gives: no reason to open the circuit
    line = {**BODY, "search_pipeline": "guarded", "ext": hurried}
    lines = [each for _ in range(3 * AT_A_TIME) for each in ({"index": "guarded"}, line)]
    retried = stats(secured)["retries"]
    with double.behaving(silent):
        path = f"/_msearch?max_concurrent_searches={3 * AT_A_TIME}"
        answers = secured.admin.call("POST", path, lines)["responses"]
        reasons = Counter(report(answer)["reason"] for answer in answers)
        # A connection that closed while it was idle is tried again once: such a call may come twice.
        assert len(double.calls) <= reasons["timeout"] + stats(secured)["retries"] - retried
    assert set(reasons) == {"timeout", "too_many"}
    assert all(len(answer["hits"]["hits"]) == 2 for answer in answers)
    assert breaker(secured)["state"] == "closed"


def test_a_new_key_needs_no_restart(secured: Secured, double: Double) -> None:
    def shown() -> str:
        with double.behaving(answering(backwards)):
            asked(secured)
            return double.headers[0]["authorization"]

    assert shown() == f"Bearer {KEY}"
    write_key(secured.folder, "renewed")
    assert shown() == f"Bearer {KEY}"
    answer = secured.admin.call("POST", "/_nodes/reload_secure_settings", {})
    assert answer["_nodes"]["successful"] == 1
    try:
        assert shown() == "Bearer renewed"
    finally:
        write_key(secured.folder, KEY)
        secured.admin.call("POST", "/_nodes/reload_secure_settings", {})


@pytest.mark.parametrize("pipeline", ["guarded", "windowed"])
def test_a_busy_service_is_no_failing_one_and_is_asked_now_and_then(
    secured: Secured, double: Double, pipeline: str
) -> None:
    """With a window, those that are spared bring none, and their page is that of a search without us."""
    before = breaker(secured)
    plain = secured.admin.call("POST", "/guarded/_search", BODY)["hits"]
    with double.behaving(status(429)):
        line = {**BODY, "search_pipeline": pipeline}
        lines = [each for _ in range(100) for each in ({"index": "guarded"}, line)]
        answers = secured.admin.call("POST", "/_msearch?max_concurrent_searches=2", lines)["responses"]
        reasons = Counter(report(answer)["reason"] for answer in answers)
        assert set(reasons) == {"busy", "shed"}
        assert reasons["busy"] == len(double.calls)
        assert reasons["shed"] >= 20, "many were spared the way"
        assert all(answer["hits"] == plain for answer in answers)
    assert breaker(secured) == before | {"state": "closed"}
    limit = time.monotonic() + PATIENCE
    with double.behaving(answering(backwards)):
        while stats(secured)["refusal"] > 0 or asked(secured)["status"] != "rescored":
            assert time.monotonic() < limit
            time.sleep(0.2)


def test_the_log_says_what_an_operator_can_mend_and_not_what_was_asked(
    secured: Secured, double: Double
) -> None:
    limit = time.monotonic() + PATIENCE
    with double.behaving(answering(backwards)):  # whatever a test before left behind
        while stats(secured)["refusal"] > 0 or asked(secured)["status"] != "rescored":
            assert time.monotonic() < limit
            time.sleep(0.2)
    with double.behaving(status(401)):
        reasons = Counter(asked(secured)["reason"] for _ in range(2 * BREAKER_FAILURES))
    assert set(reasons) == {"unauthorized", "circuit_open"}
    limit = time.monotonic() + PATIENCE
    with double.behaving(answering(backwards)):
        while asked(secured)["status"] != "rescored":
            assert time.monotonic() < limit
            time.sleep(0.2)
    lines = (secured.folder / "stdout.log").read_text("utf-8").splitlines()
    ours = [line for line in lines if "o.k.opensearch" in line]
    assert any("WARN" in line and "reload_secure_settings" in line for line in ours)
    assert any("WARN" in line and "left alone" in line for line in ours)
    assert any("answers again" in line for line in ours)
    assert not [line for line in ours if QUERY in line]
