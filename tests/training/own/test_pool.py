"""A file of demonstrations: read as written, refused where it is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_training.own import demorank as module
from kitpick_training.own.demorank import Demonstration, InvalidPool, pool_lines, read_pool

LINE = b'{"query": "weather in Rome", "api": "w/now", "useful": true}\n'
texts = st.text(min_size=1, max_size=20)
demonstrations = st.builds(Demonstration, texts, texts, st.booleans(), st.text(max_size=20))


@given(st.lists(demonstrations, min_size=1, unique_by=lambda item: (item.query, item.api)))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, written) -> None:
    file = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    file.write_bytes(pool_lines(written))
    assert read_pool(file) == written


@given(st.binary(max_size=200))
def test_any_content_is_a_pool_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    file.write_bytes(LINE + content)
    said = ""
    try:
        found = read_pool(file)[0]
    except InvalidPool as error:
        found, said = None, str(error)
    assert str(file) in said if found is None else found == Demonstration("weather in Rome", "w/now", True)


def test_what_is_said_twice_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_bytes(LINE + b"\n" + LINE)
    assert read_pool(file) == [Demonstration("weather in Rome", "w/now", True)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no demonstration"),
        (LINE + LINE.replace(b"true", b"false"), r":2: 'w/now' is useful in one line and not in another"),
        (LINE + b'{"query": "x"}', ":2: .*`api`"),
        (LINE.replace(b"true", b'"maybe"'), ":1: .*bool"),
        (LINE.replace(b"useful", b"usefull"), ":1: .*usefull"),
        (LINE.replace(b"weather in Rome", b""), ":1: .*length"),
        (LINE.replace(b"weather", b"x" * 3_000), ":1: .*length"),
        (b"\xff\xfe" + LINE, "cannot be read: .*utf-16"),
    ],
)
def test_what_is_no_pool_is_refused_with_its_line(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_bytes(content)
    with pytest.raises(InvalidPool, match=reason):
        read_pool(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPool, match="cannot be read"):
        read_pool(tmp_path / "none.jsonl")


@pytest.mark.parametrize("limit", ["MAX_DEMONSTRATIONS", "MAX_POOL_BYTES"])
def test_a_pool_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_bytes(LINE + LINE.replace(b"w/now", b"w/then"))
    monkeypatch.setattr(module, limit, 1)
    with pytest.raises(InvalidPool, match="keep a sample"):
        read_pool(file)
