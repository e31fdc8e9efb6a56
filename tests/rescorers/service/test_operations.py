"""What an operator relies on: keys, health, metrics, logs, draining, limits."""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from waiting import eventually

from kitpick_models.errors import CorruptModel
from kitpick_models.locate import find_model
from kitpick_service import logs
from kitpick_service.dialects.native import ENDPOINTS as NATIVE_ENDPOINTS
from kitpick_service.errors import InvalidKeyFile
from kitpick_service.http import handler
from kitpick_service.keys import digest, new_key, parse_keys

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
CALL = {"query": "weather", "candidates": [{"id": "a", "text": "weather of a city"}], "profile": "rerank"}


class Kept(logging.Handler):
    """What the service logs as an error while this is in force."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def __enter__(self) -> None:
        logging.getLogger("kitpick.service").addHandler(self)

    def __exit__(self, *error: object) -> None:
        logging.getLogger("kitpick.service").removeHandler(self)


def entry(name: str, key: str, **limits: int) -> str:
    more = "".join(f"{limit} = {value}\n" for limit, value in limits.items())
    return f'[[keys]]\nname = "{name}"\nsha256 = "{digest(key)}"\n{more}'


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_keys_are_asked_for_and_can_be_changed_while_it_runs(start: Any, tmp_path: Path) -> None:
    old, new = new_key(), new_key()
    file = tmp_path / "keys.toml"
    file.write_text(entry("old", old))
    with start(keys=str(file)) as service:
        assert service.post("/v1/rescore", CALL).status_code == 401
        assert service.post("/v1/rescore", CALL, headers=bearer("wrong")).status_code == 401
        assert service.post("/v1/rescore", CALL, headers=bearer(old)).status_code == 200
        assert service.get("/health/live").status_code == 200, "whoever looks after it needs no key"
        file.write_text(entry("new", new))
        eventually(lambda: service.post("/v1/rescore", CALL, headers=bearer(new)).status_code == 200)
        assert service.post("/v1/rescore", CALL, headers=bearer(old)).status_code == 401


def test_a_slip_in_the_key_file_locks_nobody_out_and_is_logged_once(start: Any, tmp_path: Path) -> None:
    key, file, log = new_key(), tmp_path / "keys.toml", Kept()
    file.write_text(entry("name", key))
    with start(keys=str(file)) as service, log:
        file.write_text("[[keys]\n")
        for _ in range(2):
            time.sleep(1.1)
            assert service.post("/v1/rescore", CALL, headers=bearer(key)).status_code == 200
    assert "Expected" in service.service.keys.fault
    assert len(log.messages) == 1
    assert str(file) in log.messages[0]
    assert key not in log.messages[0]


def test_a_key_that_stands_twice_is_refused() -> None:
    """Else the last entry would say what its bearer sees, whichever that is."""
    key = new_key()
    with pytest.raises(InvalidKeyFile, match=digest(key)):
        parse_keys(entry("one", key) + entry("other", key), "keys.toml")


@pytest.mark.parametrize("text", ["keys = " + "[" * 20_000, "keys = 1" + "0" * 5_000, "keys = [1979-13-45]"])
def test_a_key_file_that_its_parser_stumbles_over_is_refused(text: str) -> None:
    """A neighbour of what the fuzzer found: while the service runs, the old keys must stay in force."""
    with pytest.raises(InvalidKeyFile):
        parse_keys(text, "keys.toml")


def test_a_key_has_a_limit_of_its_own(start: Any, tmp_path: Path) -> None:
    small, large = new_key(), new_key()
    file = tmp_path / "keys.toml"
    file.write_text(entry("small", small, max_requests=1) + entry("large", large))
    with start(keys=str(file), body_seconds=30) as service:
        held = threading.Event()
        done = threading.Event()

        def waiting() -> Any:
            yield b'{"query": "weather", '
            held.set()
            assert done.wait(60)
            yield b'"candidates": []}'

        answers: list[int] = []
        caller = threading.Thread(
            target=lambda: answers.append(
                httpx2.post(
                    service.url + "/v1/rescore", headers=bearer(small), content=waiting(), timeout=60
                ).status_code
            )
        )
        caller.start()
        assert held.wait(60)
        eventually(lambda: service.service.gate.requests == 1)
        refused = service.post("/v1/rescore", CALL, headers=bearer(small))
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert service.post("/v1/rescore", CALL, headers=bearer(large)).status_code == 200
        done.set()
        caller.join(60)
        assert answers == [200]


def test_ready_means_that_models_answer(start: Any) -> None:
    with start() as service:
        ready = service.get("/health/ready")
        assert ready.status_code == 200
        assert set(ready.json()["models"]) == {"encoder", "cross_encoder", "query_kind", "list_ranker"}
        service.service.models.close()
        eventually(lambda: service.get("/health/ready").status_code == 503)
        assert service.get("/health/live").status_code == 200


def test_probes_cost_little_however_many_come(start: Any) -> None:
    """No key is asked for, and they go before what waits: those that come together share a pass."""
    with start() as service:
        began = time.monotonic()
        with ThreadPoolExecutor(8) as callers:
            asked = callers.map(lambda _: service.get("/health/ready").status_code, range(80))
            assert set(asked) == {200}
        rows = service.service.metrics.registry.get_sample_value(
            "kitpick_model_rows_total", {"model": "cross_encoder"}
        )
        assert 1 <= rows <= 1 + (time.monotonic() - began) / 0.2


def test_models_are_warm_before_anybody_can_ask(start: Any) -> None:
    """So the first requests are not refused for the slowness of the first passes."""
    with start(warm_up_seconds=60) as service:
        assert all(queue.speed > 0 for queue in service.service.models.queues)
        assert 'kitpick_model_rows_total{model="cross_encoder"} 0.0' in service.get("/metrics").text
    with start() as service:
        assert [queue.speed for queue in service.service.models.queues] == [0, 0]


def test_metrics_tell_what_was_done(start: Any) -> None:
    with start() as service:
        service.post("/v1/rescore", CALL)
        service.post("/v1/rescore", CALL)
        service.post("/v1/rescore", {"query": 1})
        text = service.get("/metrics").text
    for line in (
        'kitpick_answers_total{path="/v1/rescore",status="200"} 2.0',
        'kitpick_answers_total{path="/v1/rescore",status="422"} 1.0',
        'kitpick_model_rows_total{model="cross_encoder"} 1.0',
        'kitpick_score_cache_pairs_total{outcome="hit"} 1.0',
        'kitpick_queue_tokens{model="cross_encoder"} 0.0',
        'kitpick_queue_seconds{model="cross_encoder"} 0.0',
        'kitpick_stage_seconds_count{stage="cross_encode"} 2.0',
    ):
        assert line in text.splitlines()
    assert "weather" not in text


def test_the_description_lists_every_path(service: Any) -> None:
    document = service.get("/openapi.json").json()
    assert {"/v1/rescore", "/v2/rerank", "/rerank", "/v1/embeddings"} <= set(document["paths"])
    assert document["paths"]["/v1/rescore"]["post"]["requestBody"]
    assert "RescoreCall" in service.get("/docs").text
    assert "<script" not in service.get("/docs").text


def test_browsers_of_other_sites_get_no_permission(service: Any) -> None:
    headers = {"origin": "https://elsewhere.example", "access-control-request-method": "POST"}
    answer = httpx2.request("OPTIONS", service.url + "/v1/rescore", headers=headers, timeout=60)
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example", "content-type": "text/plain"},
        {"origin": "null"},
        {"origin": "http://elsewhere.example:80", "host": "elsewhere.example:80"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "http://[broken"},
    ],
)
@pytest.mark.parametrize("path", ["/v1/rescore", "/v2/rerank", "/rerank"])
def test_what_a_browser_sends_for_another_site_is_refused(
    service: Any, path: str, headers: dict[str, str]
) -> None:
    answer = service.post(path, b'{"query": "q", "documents": ["a"], "candidates": []}', headers=headers)
    assert answer.status_code == 403


def test_what_a_page_of_its_own_sends_is_answered(service: Any) -> None:
    headers = {"origin": service.url, "sec-fetch-site": "same-origin"}
    assert service.post("/v1/rescore", CALL, headers=headers).status_code == 200


def test_a_deadline_gives_what_there_is_or_says_so(service: Any) -> None:
    """A thousand long texts in a third of a second: more than dozens of cores do."""
    texts = [f"text number {n} " + "of many words " * 60 for n in range(1_000)]
    candidates = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    profile = {"name": "all", "stages": [{"stage": "cross_encode", "candidates": 1_000}]}
    call = {"query": "q", "candidates": candidates, "profile": profile, "deadline_ms": 300, "k": 1_000}
    answer = service.post("/v1/rescore", call).json()
    assert [item["stage"] for item in answer["degraded"]] == ["cross_encode"]
    read = [hit["id"] for hit in answer["results"] if hit["probability"] is not None]
    assert sorted(read, key=int) == [str(n) for n in range(len(read))], "the first ones, if any"
    assert [hit["id"] for hit in answer["results"][len(read) :]] == [str(n) for n in range(len(read), 1_000)]
    late = service.post("/rerank", {"query": "q", "texts": texts}, headers={"x-deadline-ms": "300"})
    assert (late.status_code, late.json()["error_type"]) in {(504, "Backend"), (429, "Overloaded")}
    eventually(lambda: service.service.models.queues[1].waiting_tokens == 0)


def test_a_caller_that_leaves_frees_the_queue(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits half a second for a model that answers only when it may."""
    queue, may_run = service.service.models.queues[1], threading.Event()
    run = queue._run

    def held(*batch: Any) -> None:
        assert may_run.wait(120)
        run(*batch)

    monkeypatch.setattr(queue, "_run", held)
    texts = [f"text number {n} of other words" for n in range(20)]
    try:
        with pytest.raises(httpx2.ReadTimeout):
            service.post("/rerank", {"query": "q", "texts": texts}, timeout=httpx2.Timeout(60, read=0.5))
        eventually(lambda: service.service.gate.requests == 0)
        eventually(lambda: queue.waiting_tokens == 0)
    finally:
        may_run.set()
    assert service.post("/rerank", {"query": "q", "texts": texts[:1]}).status_code == 200


class Process:
    """`kitpick serve` as an operator starts it."""

    def __init__(self, *options: str) -> None:
        command = [
            sys.executable,
            "-c",
            "from kitpick.cli import main; main()",
            "serve",
            *("--port", "0", "--set", "warm_up_seconds=0"),
            *options,
        ]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"}
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        assert "kitpick serves http" in first, first + self.process.stderr.read()
        self.url = first.split()[2]

    def end(self) -> list[dict[str, Any]]:
        """Exits as it was told; what it logged."""
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            lines = stream.read().splitlines()
        self.process.wait(60)
        return [json.loads(line) for line in lines]


def test_it_says_where_it_listens_and_logs_no_query() -> None:
    process = Process()
    call = {"query": "my secret wish", "texts": ["one", "two"]}
    answer = httpx2.post(process.url + "/rerank", json=call, timeout=60)
    process.process.send_signal(signal.SIGTERM)
    log = process.end()
    assert len(answer.json()) == 2
    answered = [item for item in log if item["message"] == "answered"]
    assert answered[-1]["path"] == "/rerank"
    assert answered[-1]["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in json.dumps(log)


def test_what_is_under_way_is_finished_when_it_is_told_to_stop(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(drain_seconds=600) as service, ThreadPoolExecutor(1) as callers:
        reached, told, models = threading.Event(), threading.Event(), service.service.models
        found = models.for_needs

        def held(*given: Any) -> Any:
            reached.set()
            assert told.wait(300)
            return found(*given)

        monkeypatch.setattr(models, "for_needs", held)
        answer = callers.submit(service.post, "/v1/rescore", CALL, timeout=300)
        assert reached.wait(300)
        service.stop()
        eventually(lambda: refuses_connections(service.url))
        told.set()
        assert answer.result(300).status_code == 200


HEAD = b"POST /v1/rescore HTTP/1.1\r\nhost: 127.0.0.1\r\n"
HALVES = {
    "of a head": HEAD,
    "of a body": HEAD + b"content-length: 100\r\n\r\n{",
    "of a body in chunks": HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\n{",
    "of a body that is refused": HEAD.replace(b"POST", b"PUT") + b"content-length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("half", HALVES)
def test_no_half_sent_request_is_waited_for_when_it_is_told_to_stop(start: Any, half: str) -> None:
    """Neither for the ten minutes in which a body may come nor for those in which work may end."""
    with (
        start(body_seconds=600, drain_seconds=600) as service,
        socket.create_connection(("127.0.0.1", service.port), timeout=300) as caller,
    ):
        caller.sendall(HALVES[half])
        eventually(lambda: service.service.connections.open == 1)
        if half.startswith("of a body"):
            eventually(lambda: service.service.gate.waits or not service.service.connections.open)
        service.stop()
        with caller.makefile("rb") as answer:
            said = answer.read()
    assert bool(said) == (half != "of a head")
    assert b"this copy" not in said or said.startswith(b"HTTP/1.1 503")


def refuses_connections(url: str) -> bool:
    """Whether the service does not listen any more."""
    try:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=5):
            return False
    except OSError:
        return True


def test_queries_are_logged_only_where_that_was_asked_for() -> None:
    process = Process("--set", "log_queries=true")
    httpx2.post(process.url + "/rerank", json={"query": "my wish", "texts": ["a"]}, timeout=60)
    process.process.send_signal(signal.SIGTERM)
    assert [item["query"] for item in process.end() if "query" in item] == ["my wish"]


def test_a_damaged_model_at_reload_leaves_the_old_one_serving(start: Any, tmp_path: Path) -> None:
    source, folder = find_model("reranker-l6"), tmp_path / "reranker-l6"
    shutil.copytree(source, folder)
    with start(cross_encoder=str(folder), score_cache=0) as service:
        before = service.post("/v1/rescore", CALL).json()["results"]
        old = service.service.models
        (folder / "model.onnx").write_bytes(b"damaged")
        with pytest.raises(CorruptModel):
            service.service.reload()
        assert service.service.models is old
        assert service.post("/v1/rescore", CALL).json()["results"] == before
        shutil.copyfile(source / "model.onnx", folder / "model.onnx")
        service.service.reload()
        assert service.service.models is not old
        assert service.post("/v1/rescore", CALL).json()["results"] == before


def test_a_signal_reloads_the_models() -> None:
    process = Process()
    process.process.send_signal(signal.SIGHUP)
    assert httpx2.get(process.url + "/health/ready", timeout=60).status_code == 200, "it goes on serving"
    done = 'kitpick_reloads_total{outcome="done"} 1.0'
    eventually(lambda: done in httpx2.get(process.url + "/metrics", timeout=60).text)
    process.process.send_signal(signal.SIGTERM)
    assert "reloaded" in [item["message"] for item in process.end()]


def test_many_signals_load_no_more_than_two_sets_of_models(start: Any) -> None:
    """One that serves, and one that comes or goes; a signal that finds another waiting adds nothing."""
    others = threads_of_models()  # of services before this one, which may end at any time
    with start(deadline_seconds=1) as service:
        one = len(threads_of_models() - others)
        callers = [threading.Thread(target=service.service.reload) for _ in range(6)]
        for caller in callers:
            caller.start()
        most = 0
        while any(caller.is_alive() for caller in callers) or len(threads_of_models() - others) > one:
            most = max(most, len(threads_of_models() - others))
            time.sleep(0.01)
        assert most <= 2 * one
        done = service.service.metrics.registry.get_sample_value("kitpick_reloads_total", {"outcome": "done"})
        assert done in {1, 2}
        assert service.post("/v1/rescore", CALL).status_code == 200


def threads_of_models() -> set[threading.Thread]:
    """The threads of this process that work for a cross-encoder."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("kitpick-cross_encoder")}


def test_several_sessions_give_the_numbers_of_one(start: Any, service: Any) -> None:
    texts = [f"text {n} " + "of many words " * (n % 9) for n in range(60)]
    call = {"query": "several", "texts": texts, "raw_scores": True}
    with start(devices="0,0", score_cache=0) as two:
        assert two.post("/rerank", call).json() == service.post("/rerank", call).json()


def test_a_defect_is_logged_without_what_was_sent(service: Any, caplog: Any) -> None:
    """The message of an exception may hold a document, and so may that of its cause."""

    def broken(service: Any, call: Any, ticket: Any) -> Any:
        try:
            raise KeyError(call.query)
        except KeyError as error:
            raise ValueError(f"{error} again") from error

    endpoint = replace(NATIVE_ENDPOINTS[0], answer=broken)
    route = Route("/broken", handler(service.service, endpoint, anyio.CapacityLimiter(1)), methods=["POST"])
    logger = logging.getLogger("kitpick.service")
    with caplog.at_level(logging.INFO, logger.name), TestClient(Starlette(routes=[route])) as client:
        answer = client.post("/broken", json={"query": "my secret wish", "candidates": []})
    assert answer.status_code == 500
    logged = "".join(logs.JsonLines().format(record) for record in caplog.records)
    assert "secret" not in logged
    assert "ValueError" in logged
    assert "KeyError" in logged
    assert "broken" in logged, "where it happened"


def test_the_log_goes_to_what_is_the_standard_error_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that was replaced and closed since the start takes no entry, and the entry is not lost."""
    loggers = [logging.getLogger(name) for name in ("kitpick", "uvicorn", "opentelemetry")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    with io.StringIO() as at_the_start:
        monkeypatch.setattr(sys, "stderr", at_the_start)
        logs.configure("info")
    now = io.StringIO()
    monkeypatch.setattr(sys, "stderr", now)
    logging.getLogger("kitpick.service").warning("still here")
    for logger, state in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = state[:2]
        logger.setLevel(state[2])
    assert json.loads(now.getvalue())["message"] == "still here"


@pytest.mark.parametrize(
    "call",
    [
        {"documents": ["good", 'tool: !!int ""', "tool: !!timestamp x", "tool: 0x" + "f" * 8_000]},
        {"documents": ["good", {"tool": {"a": [1]}, "api": None, "parameters": {"x": 1, "y": [[]]}}]},
        {"documents": ["good", {"n": 10**300, "f": 1e300, "": "", "text": None}]},
    ],
)
def test_one_odd_document_fails_no_request(service: Any, call: Any) -> None:
    for extra in ({}, {"document_format": "yaml"}):
        answer = service.post("/v2/rerank", {"query": "good", **call, **extra})
        assert answer.status_code == 200
        assert len(answer.json()["results"]) == len(call["documents"])


def test_draining_ends_in_the_time_it_was_given() -> None:
    process = Process("--set", "drain_seconds=1", "--set", "deadline_seconds=120")
    answers: list[httpx2.Response] = []
    caller = threading.Thread(
        target=lambda: answers.append(
            httpx2.post(process.url + "/v1/rescore", json=hard_call(2), timeout=120)
        )
    )
    caller.start()
    eventually(lambda: "requests_under_way 1.0" in httpx2.get(process.url + "/metrics", timeout=60).text)
    started = time.perf_counter()
    process.process.send_signal(signal.SIGTERM)
    process.process.wait(60)
    assert time.perf_counter() - started < 60, "not the two minutes of its deadline"
    caller.join(60)
    process.end()
    assert answers[0].status_code == 503
    assert answers[0].json()["error"]["code"] == "unavailable"


def test_what_cannot_be_done_in_time_is_refused_early_on_an_idle_queue(start: Any) -> None:
    """A queue that is believed to be slow: how fast this machine is does not matter."""
    texts = [f"text number {n} " + "of many words and letters " * 20 for n in range(300)]
    with start() as service:
        scores = service.service.models.queues[1]
        scores._speed = 10.0  # tokens a second: what a first pass on a busy machine might have shown
        answer = service.post("/rerank", {"query": "q", "texts": texts})
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert rows_scored(service) == 0, "tokenised, and no more"
        assert service.post("/rerank", {"query": "q", "texts": texts[:3]}).status_code == 200
        assert rows_scored(service) == 3
        assert scores.speed > 10, "what is small is done, and shows the speed again"


def test_what_cannot_all_be_read_in_time_is_read_from_the_front(start: Any) -> None:
    """Twenty of fifty candidates, as the queue believes; its deadline is half a minute for any machine."""
    texts = [f"text number {n:02d} of many words" for n in range(50)]
    call = {
        "query": "q",
        "candidates": [
            {"id": text, "text": text, "first": {"rank": rank, "score": 1}}
            for rank, text in enumerate(texts, start=1)
        ],
        "profile": {"name": "read", "stages": [{"stage": "fuse"}, {"stage": "cross_encode"}]},
        "k": 50,
    }
    with start() as service:
        scores = service.service.models.queues[1]
        scores._speed = 20.5 * 16 * 1.1 / 30  # rows of 16 tokens; a tenth is kept in reserve
        answer = service.post("/v1/rescore", call).json()
        read = [hit["id"] for hit in answer["results"] if hit["probability"] is not None]
        assert 1 < len(read) < 50
        assert sorted(read) == texts[: len(read)]
        assert [hit["id"] for hit in answer["results"]] == [*read, *texts[len(read) :]]
        assert rows_scored(service) == len(read)
        (degraded,) = answer["degraded"]
        assert degraded == {
            "stage": "cross_encode",
            "reason": f"read the first {len(read)} of 50 candidates: there was no time for more",
        }
        scores._speed = 1e6
        again = service.post("/v1/rescore", call).json()
        assert again["degraded"] == []
        assert rows_scored(service) == 50, "what was read is remembered"


def test_a_request_is_embedded_once_for_the_same_key(start: Any) -> None:
    call = {
        "query": "a request that is asked twice",
        "candidates": [{"id": "a", "text": "b"}],
        "profile": {"name": "near", "stages": [{"stage": "cross_encode"}, {"stage": "blend", "dense": 1.0}]},
    }
    with start() as service:
        first = service.post("/v1/rescore", call).json()
        embedded = rows_run(service, "encoder")
        assert service.post("/v1/rescore", call).json()["results"] == first["results"]
        assert rows_run(service, "encoder") == embedded == 1


def rows_scored(service: Any) -> float:
    """How many rows the cross-encoder has run."""
    return rows_run(service, "cross_encoder")


def rows_run(service: Any, model: str) -> float:
    """How many rows a model has run."""
    name, labels = "kitpick_model_rows_total", {"model": model}
    return float(service.service.metrics.registry.get_sample_value(name, labels))


def test_a_caller_cannot_tell_what_another_asked(start: Any, tmp_path: Path) -> None:
    keys = {name: new_key() for name in ("one", "other")}
    file = tmp_path / "keys.toml"
    file.write_text("".join(entry(name, key) for name, key in keys.items()))
    with start(keys=str(file)) as service:
        call = {"query": "a private question", "documents": ["about something"]}

        def tokens(name: str) -> int:
            answer = service.post("/v2/rerank", call, headers=bearer(keys[name])).json()
            return int(answer["meta"]["tokens"]["input_tokens"])

        first = tokens("one")
        assert tokens("other") == first > 0
        assert tokens("one") == 0, "its own pairs are remembered"


def test_two_lengths_in_one_request_close_the_connection(service: Any) -> None:
    body = b'{"query": "q", "candidates": []}'
    head = b"POST /v2/rerank HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in received.lower()
    assert set(json.loads(received.partition(b"\r\n\r\n")[2])) == {"id", "message"}


def test_too_many_connections_are_told_to_come_back(start: Any) -> None:
    with start(max_connections=2) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(2)]
        eventually(lambda: service.service.connections.open == 2)
        answer = service.post("/v2/rerank", {"query": "q", "documents": ["a"]})
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert set(answer.json()) == {"id", "message"}
        for connection in idle:
            connection.close()
        eventually(lambda: service.service.connections.open == 0)
        assert service.get("/health/live").status_code == 200


def test_metrics_ask_for_a_key_where_there_are_keys(start: Any, tmp_path: Path) -> None:
    key = new_key()
    file = tmp_path / "keys.toml"
    file.write_text(entry("plugin", key))
    with start(keys=str(file)) as service:
        refused = service.get("/metrics")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert service.get("/metrics", headers=bearer(key)).status_code == 200
        assert service.post("/v1/rescore", CALL).headers["www-authenticate"] == "Bearer"
        assert service.get("/info").status_code == 401
        assert service.get("/health").status_code == 200
    with start(keys=str(file), open_metrics=True) as service:
        assert service.get("/metrics").status_code == 200


def test_of_two_keys_in_one_request_none_counts(start: Any, tmp_path: Path) -> None:
    ours, theirs = new_key(), new_key()
    file = tmp_path / "keys.toml"
    file.write_text(entry("ours", ours) + entry("theirs", theirs))
    with start(keys=str(file)) as service:
        for path in ("/v1/models", "/metrics"):
            for keys, status in (
                ((ours,), 200),
                ((ours, theirs), 401),
                ((theirs, ours), 401),
                ((ours, ours), 401),
            ):
                sent = [("authorization", f"Bearer {key}") for key in keys]
                assert service.get(path, headers=sent).status_code == status, (path, keys)


def hard_call(stages: int) -> dict[str, Any]:
    """A request whose every stage would take minutes."""
    rng = np.random.default_rng(0)
    vectors = np.abs(rng.normal(size=(1_000, 384))).astype("<f4")
    coded = [base64.b64encode(vector.tobytes()).decode() for vector in (*vectors, vectors.mean(axis=0))]
    stage = {"stage": "decode", "l1": 0.0, "l2": 0.01, "candidates": 1_000}
    return {
        "query": "q",
        "vector": coded[-1],
        "candidates": [{"id": str(n), "text": "t", "vector": coded[n]} for n in range(1_000)],
        "profile": {"name": "hard", "stages": [stage] * stages},
    }


def test_a_deadline_ends_the_stages_of_a_profile(service: Any) -> None:
    call = {**hard_call(2), "deadline_ms": 1_000}
    started = time.process_time()
    answer = service.post("/v1/rescore", call)
    assert time.process_time() - started < 10, "of the processor, not the minutes that they would take"
    told = [item["stage"] for item in answer.json()["degraded"]]
    assert set(told) == {"decode"}, "once for both where not even the first one was begun in time"


def test_requests_that_compute_for_long_take_turns_and_short_ones_do_not_wait(start: Any) -> None:
    """Four that decode for a minute each, one of which computes at a time."""
    with start(threads=1, deadline_seconds=600) as service, ThreadPoolExecutor(4) as callers:
        for _ in range(4):
            callers.submit(service.post, "/v1/rescore", hard_call(2), timeout=600)
        eventually(lambda: service.service.turns.waiting >= 2)
        assert service.post("/v1/rescore", CALL).status_code == 200
        assert service.service.gate.requests == 4
        service.service.gate.give_up()


def test_a_caller_that_leaves_ends_the_stages_of_a_profile(service: Any) -> None:
    call = hard_call(2)
    started = time.process_time()
    with pytest.raises(httpx2.ReadTimeout):
        service.post("/v1/rescore", call, timeout=httpx2.Timeout(60, read=1.0))
    eventually(lambda: service.service.gate.requests == 0)
    assert time.process_time() - started < 10, "of the processor, not the minutes that they would take"


@pytest.mark.parametrize(
    "stages",
    [
        [{"stage": "decode", "candidates": 1_000}] * 49,
        [{"stage": "diversify", "candidates": 1_000}] * 3,
        [{"stage": "cross_encode", "candidates": 10_000}] * 2,
        [{"stage": "fuse"}] * 21,
    ],
)
def test_profiles_in_requests_are_bounded(service: Any, stages: Any) -> None:
    call = {"query": "q", "candidates": [], "profile": {"name": "x", "stages": stages}}
    answer = service.post("/v1/rescore", call)
    assert answer.status_code == 422
    assert "at most" in answer.json()["error"]["message"]
