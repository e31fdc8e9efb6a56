"""Everything bad that a service may do, and the reasons by which the plugin may call it."""

from __future__ import annotations

import json
import math
from typing import Any

from double import (
    Behaviour,
    Call,
    answering,
    backwards,
    cut_off,
    dripping,
    endless_headers,
    headers_only,
    huge,
    no_http,
    ranked,
    raw_body,
    reset,
    silent,
    status,
)


def with_first(**changed: Any) -> Behaviour:
    """A good answer but for its first result."""

    def make(call: Call) -> dict[str, Any]:
        answer = backwards(call)
        answer["results"][0].update(changed)
        return answer

    return answering(make)


def doubled(call: Call) -> dict[str, Any]:
    answer = backwards(call)
    return {**answer, "results": answer["results"] + answer["results"][:1]}


MISDEEDS: dict[str, tuple[Behaviour, set[str]]] = {
    "silent": (silent, {"timeout"}),
    "headers and no body": (headers_only, {"timeout"}),
    "a byte now and then": (dripping, {"timeout"}),
    "slow": (answering(backwards, after=30.0), {"timeout"}),
    "endless headers": (endless_headers, {"timeout", "connection"}),
    "connection reset": (reset, {"connection"}),
    "half a body, then gone": (cut_off, {"connection"}),
    "not HTTP": (no_http, {"connection"}),
    "half JSON": (raw_body(lambda call: json.dumps(backwards(call)).encode()[:-40]), {"invalid_answer"}),
    "two JSON documents": (
        raw_body(lambda call: json.dumps(backwards(call)).encode() * 2),
        {"invalid_answer"},
    ),
    "no JSON": (raw_body(lambda call: b"<html>"), {"invalid_answer"}),
    "no body": (raw_body(lambda call: b""), {"invalid_answer"}),
    "no UTF-8": (raw_body(lambda call: b'{"results": [{"id": "\xff\xfe"}]}'), {"invalid_answer"}),
    "too deep": (raw_body(lambda call: b'{"results":' + b"[" * 200_000), {"invalid_answer"}),
    "a list": (answering(lambda call: [1, 2]), {"invalid_answer"}),
    "no results": (answering(lambda call: {"profile": "x"}), {"invalid_answer"}),
    "nothing ranked": (answering(lambda call: ranked([])), {"invalid_answer"}),
    "wrong ids": (answering(lambda call: ranked(["d00", "nobody-sent-this"])), {"invalid_answer"}),
    "one id twice": (answering(doubled), {"invalid_answer"}),
    "NaN": (with_first(score=math.nan), {"invalid_answer"}),
    "infinity": (with_first(score=math.inf), {"invalid_answer"}),
    "too large for a float": (with_first(score=1e300), {"invalid_answer"}),
    "text for a score": (with_first(score="high"), {"invalid_answer"}),
    "null for an id": (with_first(id=None), {"invalid_answer"}),
    "50 MB, announced": (huge(50 * 2**20, announced=True), {"too_large"}),
    "50 MB in chunks": (huge(50 * 2**20, announced=False), {"too_large"}),
    "wrong key": (status(401), {"unauthorized"}),
    "refused": (status(422), {"refused"}),
    "overloaded": (status(429), {"busy"}),
    "unavailable": (status(503), {"service_error"}),
    "broken": (status(500), {"service_error"}),
    "a redirect": (status(307), {"service_error"}),
    "a need without sense": (
        answering(lambda call: ranked(["d00"], need={"neighbours": {"vector": "?", "k": 3}})),
        {"invalid_answer"},
    ),
}
