"""The dead-letter file: whole, readable, and of the last run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shops import read_letters

from kitpick_ingest.dead_letters import DeadLetterFile
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter, Remark

LETTER = DeadLetter("pets", "pets.json#/paths/~1feed", "no such $ref", "{...}")


def test_one_json_object_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "dead.jsonl"
    with DeadLetterFile(path) as letters:
        letters.add(LETTER)
        letters.add(LETTER)

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {
        "source": "pets",
        "position": "pets.json#/paths/~1feed",
        "reason": "no such $ref",
        "excerpt": "{...}",
    }
    assert letters.count == len(lines) == 2
    assert read_letters(path) == [LETTER, LETTER]


def test_the_file_of_the_run_before_stays_until_this_one_ends(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with DeadLetterFile(path) as letters:
        letters.add(LETTER)

    with DeadLetterFile(path):
        assert read_letters(path) == [LETTER]

    assert path.read_text() == ""
    assert list(tmp_path.iterdir()) == [path]


def test_it_is_published_when_the_run_fails(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"

    def interrupted() -> None:
        with DeadLetterFile(path) as letters:
            letters.add(LETTER)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert read_letters(path) == [LETTER]


def test_runs_of_two_sources_may_share_a_path(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with DeadLetterFile(path, "pets") as first, DeadLetterFile(path, "zoo") as second:
        first.add(LETTER)
        second.add(DeadLetter("zoo", "1", "broken"))

    assert read_letters(path) == [LETTER]


def test_any_text_can_be_written_and_none_is_long(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with DeadLetterFile(path) as letters:
        letters.add(DeadLetter("pets", "\ud800\0\n", "r" * 1_000_000, "é" * 1_000_000))

    (letter,) = read_letters(path)
    assert letter.position == "\\ud800\0\n"
    assert letter.excerpt == "é" * MAX_EXCERPT
    assert path.stat().st_size < 10_000


def test_without_a_path_only_the_number_is_kept() -> None:
    with DeadLetterFile(None) as letters:
        letters.add(LETTER)

    assert letters.count == 1


def test_a_remark_is_written_and_told_and_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "letters.jsonl"
    with DeadLetterFile(path) as letters:
        letters.add(Remark("pets", "pets.json#/webhooks", "no tool"))
        letters.add(DeadLetter("pets", "line 3", "no name"))
        letters.add(Remark("pets", "zoo.json#/webhooks", "no tool"))
    assert letters.count == 1
    assert list(letters.summaries()) == [
        "1 entry was left out at line 3: no name",
        "2 entries were passed over, the first at pets.json#/webhooks: no tool",
    ]
    assert len(path.read_text().splitlines()) == 3
