"""The data and the arithmetic of `scripts/bench speech`."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kitpick.quickstart import SERVICES
from kitpick_rescorers.reading.glossary import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / "datasets" / name).read_text("utf-8").splitlines()]


def test_a_contrast_names_what_is_right_and_what_is_ruled_out() -> None:
    found = rows("contrasts.jsonl")
    assert len(found) >= 200
    assert len({row["request"] for row in found}) == len(found)
    assert {row["kind"] for row in found} >= {
        "stop/terminate",
        "one/batch",
        "v1/v2",
        "read/write",
        "preview/apply",
    }
    assert all(row["right"] and row["wrong"] and not {*row["right"]} & {*row["wrong"]} for row in found)


def test_a_typo_is_a_request_of_the_contrasts_with_slips() -> None:
    known = {row["request"]: row["right"] for row in rows("contrasts.jsonl")}
    found = rows("typos.jsonl")
    assert len(found) >= 300
    assert all(known[row["request"]] == row["right"] and row["typed"] != row["request"] for row in found)


def test_a_contrast_is_said_in_each_language_of_the_glossary_and_so_is_what_rules_nothing_out() -> None:
    found = rows("contrasts_languages.jsonl")
    said = {
        kind: {row["language"] for row in found if row["kind"] == kind} for kind in ("contrast", "statement")
    }
    assert said["contrast"] == said["statement"] == set(LANGUAGES)
    assert {name.partition("/")[0] for row in found for name in row["right"]} <= {*SERVICES}


def test_a_light_verb_has_an_operation_of_its_own_in_the_quickstart() -> None:
    found = rows("light_verbs.jsonl")
    assert len({row["request"] for row in found}) == len(found) >= 60
    assert {name.partition("/")[0] for row in found for name in row["right"]} <= {*SERVICES}


def test_a_followup_names_operations_that_exist_and_ends_with_a_request() -> None:
    with gzip.open(ROOT / "datasets" / "written" / "apis.jsonl.gz", "rt", encoding="utf-8") as file:
        known = {json.loads(line)["id"] for line in file}
    found = rows("followups.jsonl")
    assert len(found) >= 150
    assert len({row["id"] for row in found}) == len(found)
    assert {row["half"] for row in found} == {"chosen", "held"}
    for row in found:
        called = {message["tool"] for message in row["messages"] if message["role"] == "tool"}
        assert row["relevant"]
        assert {*row["relevant"], *row["also"], *called} <= known
        assert row["messages"][-1]["role"] == "user"


def test_a_narrative_is_long_and_asks_for_operations_that_exist() -> None:
    with gzip.open(ROOT / "datasets" / "written" / "apis.jsonl.gz", "rt", encoding="utf-8") as file:
        known = {json.loads(line)["id"] for line in file}
    found = rows("narratives.jsonl")
    assert {row["half"] for row in found} == {"chosen", "held"}
    assert all(len(row["request"].split()) > 130 and row["relevant"] for row in found)
    assert all({*row["relevant"], *row["also"]} <= known for row in found)


@pytest.mark.needs("eval")
def test_shares_of_nothing_are_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import speech

    assert (speech.share(1.0, 2.0), speech.share(1.0, 0.0), speech.mean([])) == (0.5, 0.0, 0.0)
    assert speech.FIGURES == (
        "foreign_share",
        "destructive_first",
        "exact_first",
        "typo_share",
        "confirmed_first",
        "conversation_first",
        "narrative_minus_dense",
    )
    documents = {str(n): n for n in range(9)}
    assert speech.sampled(documents, ["3"], 4)[0] == 3
    assert len(speech.sampled(documents, ["3"], 4)) == 4
