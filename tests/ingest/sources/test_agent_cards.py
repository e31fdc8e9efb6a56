"""Agent cards of A2A: a document for each skill of an agent."""

from __future__ import annotations

import json
from pathlib import Path

from kitpick_engines.document import ApiDocument
from kitpick_ingest.kinds import published
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter

CARD = {
    "name": "Travel",
    "description": "Plans journeys",
    "url": "https://agents.example.com/travel",
    "version": "2.0",
    "capabilities": {"streaming": True},
    "skills": [
        {"id": "book", "name": "Book a train", "description": "Books seats", "examples": ["Rome to Milan"]},
        {"id": "cancel", "tags": ["trains"]},
    ],
}


def test_every_skill_of_an_agent_is_found_and_defined_by_the_card(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(CARD), encoding="utf-8")
    book, cancel = open_source(str(path), name="a").read()
    assert isinstance(book, ApiDocument)
    assert isinstance(cancel, ApiDocument)
    assert (book.id, book.category, book.tool, book.api) == (
        "a/Travel/book",
        "agent",
        "Travel",
        "Book a train",
    )
    assert (book.examples, cancel.api, cancel.tags) == (("Rome to Milan",), "cancel", ("trains",))
    assert json.loads(cancel.definition) == CARD
    known = published(book)
    assert known is not None
    assert known[0] == "agent"


def test_cards_without_skills_are_dead_letters(tmp_path: Path) -> None:
    path = tmp_path / "cards.json"
    path.write_text(json.dumps([CARD | {"skills": []}, CARD | {"skills": [{}]}, 1]), encoding="utf-8")
    assert [type(item) for item in open_source(f"a2a:{path}").read()] == [DeadLetter] * 3
