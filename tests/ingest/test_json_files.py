"""JSON and JSON Lines with exact bytes and places."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kitpick_ingest import json_files
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import Entry, json_lines, parse, read_file, records, unusable_text, within
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.sources.beir import BeirSource
from kitpick_ingest.sources.documents_jsonl import DocumentsSource
from kitpick_ingest.sources.function_schemas import FunctionSchemasSource
from kitpick_ingest.sources.mcp_dump import McpDumpSource
from kitpick_ingest.sources.toolbench import ToolBenchSource


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_lines_keep_their_bytes_and_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"a":  1}\r\n\n  \n{"b": 2}')
    assert list(json_lines(path)) == [Entry(f"{path}:1", b'{"a":  1}'), Entry(f"{path}:4", b'{"b": 2}')]


def test_members_of_an_array_keep_their_bytes_and_pointers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", b'[ {"a":  1.50}, 2 ]')
    assert list(records(path)) == [Entry(f"{path}#/0", b'{"a":  1.50}'), Entry(f"{path}#/1", b"2")]


def test_json_lines_are_recognised_without_their_suffix(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b'{"a": 1}\n{"a": 2}\n')
    assert [entry.position for entry in records(path)] == [f"{path}:1", f"{path}:2"]
    path = write(tmp_path / "b.txt", b'{"a":\n1}\n')
    assert [entry.position for entry in records(path)] == [str(path)]


def test_a_line_that_is_too_long_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_LINE_BYTES", 10)
    path = write(tmp_path / "a.jsonl", b'"' + b"x" * 35 + b'"\n{"b": 2}\n' + b"y" * 10)
    long, short, last = json_lines(path)
    assert "longer than 10 bytes" in long.problem
    assert (short.position, short.raw, short.problem) == (f"{path}:2", b'{"b": 2}', "")
    assert last.position == f"{path}:3"


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", b"12345")
    assert read_file(path, limit=5) == b"12345"
    with pytest.raises(SourceError, match="larger than 4 bytes"):
        read_file(path, limit=4)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[", "truncated"),
        (b"[1,]", "trailing comma"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}", "Expected `array`"),
    ],
)
def test_what_is_no_json_of_the_wanted_type_is_a_source_error(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=f"^here: cannot be parsed as JSON: .*({reason})"):
        parse(data, "here", list[msgspec.Raw])


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"a": 1,\n  "b": ]}', "line 2, column 8"),
        (b'{"a": 1,\r\n "b": ', "line 2, column 7"),
        ('[1,\n "éé" x]'.encode(), "line 2, column 7"),
        (b"{}x", "line 1, column 4"),
        (b"", "line 1, column 1"),
        (b'[1,\n\n "\xc3\xa9\xff"]', "line 3, column 4"),
    ],
)
def test_broken_json_is_named_by_line_and_column(data: bytes, place: str) -> None:
    with pytest.raises(SourceError, match=rf"^here: cannot be parsed as JSON: .*\(.*{place}\)$"):
        parse(data, "here", object)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (FunctionSchemasSource, "functions.jsonl"),
        (McpDumpSource, "tools.jsonl"),
        (ToolBenchSource, "tools.jsonl"),
        (BeirSource, "corpus.jsonl"),
        (DocumentsSource, "documents.jsonl"),
    ],
)
def test_a_broken_line_is_named_by_its_number_and_the_column(
    tmp_path: Path, source: Callable[[Path, str], Source], name: str
) -> None:
    (tmp_path / name).write_text('\n{"id": "é",, "text": "a"}\n')
    (letter,) = source(tmp_path if source is BeirSource else tmp_path / name, "x").read()
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{tmp_path / name}:2"
    assert "(column 12)" in letter.reason, letter.reason


def test_bytes_that_are_no_utf_8_are_a_source_error() -> None:
    with pytest.raises(SourceError, match="not UTF-8"):
        parse(b'["\xff"]', "here", list[str])


def test_a_lone_surrogate_costs_only_its_entry() -> None:
    bad, good = parse(b'["\\ud83d\\ude00 \\ud800", "\\\\ud800"]', "here", list[msgspec.Raw])
    assert unusable_text(bytes(bad))
    assert not unusable_text(bytes(good))
    assert msgspec.json.decode(bad) == "😀 \0"
    assert bytes(good) == b'"\\\\ud800"'


@settings(deadline=None)
@given(st.text())
@example("\\u0000")
@example("\\\0")
def test_a_nul_is_found_where_there_is_one(text: str) -> None:
    try:
        raw = json.dumps(text).encode()
    except UnicodeEncodeError:
        return
    assert bool(unusable_text(raw)) == ("\0" in text)


@settings(deadline=None)
@given(st.text(st.characters(codec=None) | st.sampled_from("\\ud8\ud800\udc00"), max_size=12))
def test_any_text_with_surrogates_can_be_parsed(text: str) -> None:
    value = parse(json.dumps([text, "good"]).encode(), "here", list[str])
    assert len(value[0]) <= len(text)
    assert value[1] == "good"


def test_positions_are_json_pointers() -> None:
    assert within("f.json", "a/b", 0) == "f.json#/a~1b/0"
    assert within("f.json#/x", "~") == "f.json#/x/~0"
