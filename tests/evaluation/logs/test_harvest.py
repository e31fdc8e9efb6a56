"""Logged calls become judged requests: read from spans or lines, resolved, masked and merged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.datasets.queries_file import queries_file
from kitpick_evaluation.errors import InvalidLog
from kitpick_evaluation.logs import LoggedRequest, harvest, query_lines, read_logs


def api(tool: str, name: str) -> ApiDocument:
    return ApiDocument(id=f"s/{tool}/{name}", source="s", category="", tool=tool, api=name)


DOCUMENTS = [api("sky", "get_weather"), api("post", "send"), api("chat", "send"), api("bank", "convert")]


def attribute(key: str, value: object) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}


def user(text: str) -> dict[str, object]:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def chat(text: str, *calls: str, trace: str = "t1", start: int = 1) -> dict[str, object]:
    parts = [{"type": "tool_call", "name": name, "arguments": {}} for name in calls]
    return {
        "traceId": trace,
        "startTimeUnixNano": str(start),
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute(
                "gen_ai.input.messages", [{"role": "system", "parts": []}, user("earlier"), user(text)]
            ),
            attribute("gen_ai.output.messages", [{"role": "assistant", "parts": parts}]),
        ],
    }


def tool(name: str, trace: str = "t1", start: int = 2, failed: bool = False) -> dict[str, object]:
    attributes = [attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", name)]
    return {
        "traceId": trace,
        "startTimeUnixNano": str(start),
        "attributes": attributes,
        "status": {"code": 2 if failed else 1},
    }


def otlp(*spans: dict[str, object]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


def read(folder: Path, *lines: str) -> list[LoggedRequest]:
    file = folder / "log.jsonl"
    file.write_text("\n".join(lines))
    return list(read_logs([file]))


def test_spans_of_a_trace_make_one_request(tmp_path: Path) -> None:
    found = read(tmp_path, otlp(tool("bank.convert", start=3)), otlp(chat("rain and yen?", "get_weather")))
    assert found == [LoggedRequest("rain and yen?", ("get_weather", "bank.convert"))]


def test_calls_that_failed_do_not_count(tmp_path: Path) -> None:
    found = read(tmp_path, otlp(chat("rain?"), tool("get_weather", failed=True), tool("convert", start=3)))
    assert found == [LoggedRequest("rain?", ("convert",))]


def test_traces_and_turns_are_kept_apart(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        otlp(chat("one", trace="a"), chat("other", trace="b", start=5), tool("x", trace="b", start=9)),
        otlp(tool("y", trace="a"), chat("again", trace="a", start=7), tool("z", trace="a", start=8)),
    )
    assert {(item.text, item.tools) for item in found} == {
        ("one", ("y",)),
        ("again", ("z",)),
        ("other", ("x",)),
    }


def test_the_older_convention_of_events_is_read(tmp_path: Path) -> None:
    span = {
        "traceId": "t",
        "events": [{"name": "gen_ai.user.message", "attributes": [attribute("content", "rain?")]}],
        "attributes": [],
    }
    assert read(tmp_path, otlp(span, tool("get_weather", trace="t"))) == [
        LoggedRequest("rain?", ("get_weather",))
    ]


def test_plain_lines_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, '{"query": "rain?", "tools": ["get_weather"]}') == [
        LoggedRequest("rain?", ("get_weather",))
    ]


@pytest.mark.parametrize(
    "line", ["{", "[]", "{}", '{"query": 3, "tools": []}', '{"resourceSpans": [{"scopeSpans": 3}]}']
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidLog, match=r"log\.jsonl:2"):
        read(tmp_path, '{"query": "a", "tools": []}', line)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidLog, match="nowhere"):
        list(read_logs([tmp_path / "nowhere"]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_any_json_is_read_or_refused_with_its_place(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    folder = tmp_path_factory.mktemp("log")
    for shape in (value, {"resourceSpans": value}, {"query": "x", "tools": value}):
        complaint = refusal(folder, json.dumps(shape))
        assert not complaint or "log.jsonl:1" in complaint


def refusal(folder: Path, line: str) -> str:
    """Why a line is refused; empty when it is read."""
    try:
        read(folder, line)
    except InvalidLog as refused:
        return str(refused)
    return ""


def test_names_are_resolved_and_what_is_not_known_is_counted() -> None:
    found = harvest(
        [
            LoggedRequest("rain?", ("GET_WEATHER", "teleport")),
            LoggedRequest("write to Ann", ("post__send",)),
            LoggedRequest("write", ("send",)),
            LoggedRequest("hello", ()),
        ],
        DOCUMENTS,
    )
    assert [(query.text, query.relevant) for query in found.queries] == [
        ("rain?", {"s/sky/get_weather"}),
        ("write to Ann", {"s/post/send"}),
    ]
    assert (found.unknown, found.ambiguous, found.without_tools) == ({"teleport": 1}, {"send": 1}, 2)


def test_equal_requests_are_merged_and_secrets_masked() -> None:
    found = harvest(
        [
            LoggedRequest("Rain for  bob@example.com?", ("get_weather",)),
            LoggedRequest("rain for ann@example.com", ("convert",)),
        ],
        DOCUMENTS,
    )
    (query,) = found.queries
    assert query.text == "Rain for <email>?"
    assert query.relevant == {"s/sky/get_weather", "s/bank/convert"}
    assert (found.merged, found.masked) == (1, 2)


def test_what_is_written_is_read_as_judged_requests(tmp_path: Path) -> None:
    found = harvest(
        [LoggedRequest("rain?", ("get_weather",)), LoggedRequest("yen?", ("convert",))], DOCUMENTS
    )
    file = tmp_path / "queries.jsonl"
    file.write_bytes(query_lines(found.queries))
    assert queries_file(file) == found.queries


ODD = [5, None, "word", [1], {"a": 1}, [[1]], "9" * 5_000, 1e300, True]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:12])
@pytest.mark.parametrize(
    "field", ["startTimeUnixNano", "status", "status code", "parts", "called parts", "message", "name"]
)
def test_what_somebody_wrote_into_a_span_ends_no_harvest(tmp_path: Path, field: str, odd: object) -> None:
    """Messages are what users, models and tools wrote: the requests of others come out all the same."""
    span = chat("hostile", "send", trace="t2")
    if field == "status code":
        span["status"] = {"code": odd}
        span["attributes"] += tool("send")["attributes"]  # type: ignore[operator]
    elif field == "parts":
        span["attributes"] = [attribute("gen_ai.input.messages", [{"role": "user", "parts": odd}])]
    elif field == "called parts":
        span["attributes"] += [attribute("gen_ai.output.messages", [{"parts": odd}])]  # type: ignore[operator]
    elif field == "message":
        span["attributes"] = [attribute("gen_ai.input.messages", odd)]
    elif field == "name":
        span["attributes"] += [attribute("gen_ai.tool.name", odd)]  # type: ignore[operator]
    else:
        span[field] = odd
    found = read(tmp_path, otlp(span), otlp(chat("mine", "get_weather")))
    assert LoggedRequest("mine", ("get_weather",)) in found


def test_a_secret_is_masked_even_where_a_long_request_is_cut() -> None:
    secret = "sk-" + "a1b2c3d4" * 5
    for start in range(3_950, 4_001, 5):
        asked = LoggedRequest("x" * 4 + " " + "word " * ((start - 5) // 5) + secret, ("get_weather",))
        (query,) = harvest([asked], DOCUMENTS).queries
        assert "sk-a" not in query.text
        assert len(query.text) <= 4_000


def test_names_that_are_told_are_short() -> None:
    found = harvest([LoggedRequest("ask", ("n" * 100_000,))], DOCUMENTS)
    assert [len(name) for name in found.unknown] == [200]
