"""The cases behind `tests/data/wire/*.json`: what is sent, and how an answer is made comparable."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def vector(*values: float) -> str:
    return base64.b64encode(np.array(values, "<f4").tobytes()).decode()


WEATHER = {
    "id": "demo/weather/forecast",
    "tool": "weather",
    "category": "Meteorology",
    "api": "forecast",
    "text": "weather: forecast. Weather forecast of a city for the coming days. Parameters: city.",
    "lexical": {"rank": 1, "score": 7.25},
    "dense": {"rank": 1, "score": 0.61},
    "effect": "read",
}
HISTORY = {
    "id": "demo/weather/history",
    "tool": "weather",
    "category": "Meteorology",
    "api": "history",
    "fields": {
        "description": "Weather of the past in a city.",
        "parameters": [{"name": "city", "type": "string", "required": True}, {"name": "date"}],
    },
    "lexical": {"rank": 2, "score": 5.5},
    "effect": "read",
}
HOTELS = {
    "id": "demo/hotels/search",
    "tool": "hotels",
    "category": "Travel",
    "api": "search",
    "text": "hotels: search. Finds free hotel rooms in a city. Parameters: city, from, to. (Travel)",
    "dense": {"rank": 2, "score": 0.4},
    "deprecated": True,
    "needs": ["city=city.id~5"],
    "gives": ["hotel.id~9"],
}
ALERTS = {
    "id": "demo/weather/alerts",
    "tool": "weather",
    "category": "Meteorology",
    "api": "alerts",
    "text": "weather: alerts. Storm and flood warnings that are in force. (Weather)",
}
QUERY = "What will the weather be like in Lisbon tomorrow?"
CONCENTRATE = {
    "name": "always-concentrate",
    "stages": [{"stage": "fuse"}, {"stage": "cross_encode"}, {"stage": "concentrate", "threshold": 0.05}],
}
DECODE = {
    "name": "decode-two",
    "stages": [{"stage": "fuse"}, {"stage": "decode", "l1": 0.1, "l2": 0.5, "neighbours": 8}],
}

RESCORE: dict[str, dict[str, Any]] = {
    "rescore-minimal": {"query": QUERY, "candidates": [{"id": "a", "text": "The weather of a city."}]},
    "rescore-default": {
        "protocol": 1,
        "query": QUERY,
        "candidates": [HOTELS, WEATHER, HISTORY],
        "k": 2,
        "deadline_ms": 20000,
    },
    "rescore-unknown-first-stage": {
        "query": QUERY,
        "candidates": [
            {"id": "1", "text": "", "first": {"rank": 1, "score": 3.5}},
            {"id": "2", "text": "The weather of a city.", "first": {"rank": 2, "score": 3.25}},
        ],
        "profile": "rerank",
    },
    "rescore-empty": {"query": QUERY, "candidates": []},
    "rescore-explain": {
        "query": QUERY,
        "candidates": [WEATHER, HOTELS],
        "profile": "rerank",
        "explain": True,
    },
    "rescore-abstained": {"query": "Paint my fence green.", "candidates": [HOTELS, WEATHER]},
    "rescore-need-tools-1": {"query": QUERY, "candidates": [WEATHER, HOTELS], "profile": CONCENTRATE},
    "rescore-need-tools-2": {
        "query": QUERY,
        "candidates": [WEATHER, HOTELS],
        "profile": CONCENTRATE,
        "fetched": [HISTORY, ALERTS],
        "complete_tools": ["Meteorology/weather"],
    },
    "rescore-need-neighbours-1": {
        "query": "two things at once",
        "vector": vector(0.8, 0.6, 0.0, 0.0),
        "vector_model": "demo@1",
        "candidates": [
            {"id": "x", "text": "x", "vector": vector(1, 0, 0, 0), "dense": {"rank": 1, "score": 0.8}},
            {"id": "z", "text": "z", "vector": vector(0, 0, 1, 0), "dense": {"rank": 2, "score": 0.0}},
        ],
        "profile": DECODE,
    },
    "rescore-need-neighbours-2": {
        "query": "two things at once",
        "vector": vector(0.8, 0.6, 0.0, 0.0),
        "vector_model": "demo@1",
        "candidates": [
            {"id": "x", "text": "x", "vector": vector(1, 0, 0, 0), "dense": {"rank": 1, "score": 0.8}},
            {"id": "z", "text": "z", "vector": vector(0, 0, 1, 0), "dense": {"rank": 2, "score": 0.0}},
        ],
        "fetched": [{"id": "y", "text": "y", "vector": vector(0, 1, 0, 0)}],
        "profile": DECODE,
    },
    "rescore-degraded": {
        "query": QUERY,
        "vector_model": "another-model@0123456789ab",
        "candidates": [WEATHER, HOTELS],
    },
    "error-wrong-type": {"query": 1, "candidates": []},
    "error-unknown-field": {"query": QUERY, "candidates": [], "candidate": []},
    "error-no-text": {"query": QUERY, "candidates": [{"id": "a"}]},
    "error-unknown-profile": {"query": QUERY, "candidates": [], "profile": "../secret.toml"},
    "error-not-finite": {
        "query": QUERY,
        "candidates": [{"id": "a", "text": "a", "vector": vector(1.0, float("nan"))}],
    },
    "error-vector-lengths": {
        "query": QUERY,
        "vector": vector(1, 0),
        "candidates": [{"id": "a", "text": "a", "vector": vector(1, 0, 0)}],
    },
}
"""Bodies of `POST /v1/rescore`, by the name of their fixture."""

STORED = {
    **{key: WEATHER[key] for key in ("id", "tool", "category", "api", "text", "effect")},
    "vector_f32": vector(1, 0),
    "deprecated": False,
    "lengths": {"category": 1, "tool": 1, "api": 1, "description": 8, "parameters": 1, "examples": 0},
    "counts": {"weather": [1, 1, 0, 1, 0, 0], "citi": [0, 0, 0, 1, 1, 0]},
}
"""What the server holds of an API; `counts` are occurrences by field, in the order of `lengths`."""
COUNTED = {
    "hits": {"total": {"value": 2, "relation": "eq"}, "hits": []},
    "aggregations": {
        **{field: {"value": 2.0 * length} for field, length in STORED["lengths"].items()},
        "holders": {"buckets": {"0": {"doc_count": 1}, "1": {"doc_count": 1}}},
    },
}
BEGIN = {
    "protocol": 1,
    "query": "weather city",
    # Of no model: the examples stay the same when a shipped one changes.
    "index": "tools-apis-0123456789ab-1",
    "committed": {"bool": {"filter": [{"range": {"born": {"lte": 7}}}]}},
    "profile": "bm25",
}
CONTENT = {name: value for name, value in STORED.items() if not isinstance(value, dict)}
APART = {
    **BEGIN,
    "protocol": 2,
    "found": [
        [
            {"hits": {"hits": [{"document": 0, "_source": {"lengths": STORED["lengths"],
                                                           "counts": STORED["counts"]}}]}},
            COUNTED,
        ]
    ],
}  # fmt: skip
"""A call whose document stands apart, in full or as a hash."""
SEARCH: dict[str, dict[str, Any]] = {
    "search-begin": BEGIN,
    "search-found": {
        **BEGIN,
        "found": [[{"hits": {"hits": [{"_id": "1", "_score": 2.5, "_source": STORED}]}}, COUNTED]],
    },
    "search-filtered": {
        **BEGIN,
        "k": 20,
        "tenant": "acme",
        "principals": ["ann"],
        "filter": {"term": {"effect": "read"}},
        "deadline_ms": 20000,
    },
    "search-other-model": {
        **BEGIN,
        "profile": "hybrid",
        "found": [[{"hits": {"hits": [{"_id": "1", "_score": 2.5, "_source": STORED}]}}, COUNTED]],
    },
    # The hash of a document that nobody sent.
    "documents-unknown": {**APART, "documents": ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]},
    "documents-sent": {**APART, "documents": [CONTENT]},
    "error-documents": {**APART, "documents": [1]},
    "error-search-found": {**BEGIN, "found": [[{"error": "no answer of a search"}, {}]]},
    "error-search-no-words": {**BEGIN, "query": " "},
}
"""Bodies of `POST /v1/search`, likewise."""
BODIES = {**{name: ("/v1/rescore", body) for name, body in RESCORE.items()},
          **{name: ("/v1/search", body) for name, body in SEARCH.items()}}  # fmt: skip
"""Path and body by the name of the fixture."""


def settled(body: Any) -> Any:
    """A body without what differs between runs: times are 1 ms."""
    if isinstance(body, dict):
        return {key: _settled_item(key, value) for key, value in body.items()}
    return [settled(item) for item in body] if isinstance(body, list) else body


def _settled_item(key: str, value: Any) -> Any:
    if key == "timings":
        return dict.fromkeys(value, 1.0)
    return 1.0 if key == "milliseconds" else settled(value)
