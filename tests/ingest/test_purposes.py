"""What many tools of a server say alike comes last in what models read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import lexical_fields, rerank_text, retrieval_text
from kitpick_ingest.purposes import MAX_GROUP, MAX_HELD, MAX_PURPOSE, with_purposes
from kitpick_ingest.source import DeadLetter

GUARD = (
    "🛡️ Guardrails: 1. Data Modification Warning: This tool modifies the data. "
    "Only use when the user has explicitly requested it. 🎯 Purpose: 1. "
)
THINGS = (
    "Creates an association between two objects.",
    "Merges contacts.",
    "Deletes a note.",
    "Sends a mail.",
)


def api(name: str, description: str, tool: str = "crm") -> ApiDocument:
    return ApiDocument(f"s/{tool}/{name}", "s", "", tool, name, description)


def arranged(*descriptions: str) -> list[ApiDocument]:
    documents = [api(f"a{number}", text) for number, text in enumerate(descriptions)]
    return [found for found in with_purposes(documents) if isinstance(found, ApiDocument)]


@pytest.mark.parametrize(
    "shared",
    [
        GUARD,
        "Requires an OAuth token with the scope write. ",
        "Error Responses:\n- 404: Not found\n- 429: Too many requests\n",
        "NOTE: rate limited to 50 calls.\n\n",
    ],
)
def test_the_purpose_comes_before_what_all_say(shared: str) -> None:
    for document, thing in zip(arranged(*(shared + thing for thing in THINGS)), THINGS, strict=True):
        assert document.description == shared + thing
        for text in (retrieval_text(document), rerank_text(document)):
            assert thing in text
            assert shared.split(maxsplit=1)[0] not in text[: text.index(thing)]
        assert shared.split(maxsplit=1)[0].strip("🛡️") in lexical_fields(document)["description"]


def test_numbers_do_not_hide_a_repetition() -> None:
    found = arranged(*(f"Limit: {n} calls a minute. {thing}" for n, thing in enumerate(THINGS)))
    assert all(document.purpose.startswith(thing) for document, thing in zip(found, THINGS, strict=True))


@pytest.mark.parametrize(
    "descriptions",
    [
        THINGS,
        [f"{thing} Only use when asked." for thing in THINGS],
        [GUARD + THINGS[0], GUARD + THINGS[1], THINGS[2], THINGS[3]],
        ["Gets a thing."] * 5,
        [
            f"{thing}\n\nArgs:\n    name: of the {n}\n\nReturns:\n    What became of {n}"
            for n, thing in enumerate(THINGS)
        ],
        [""] * 5,
    ],
    ids=["nothing shared", "shared last already", "two alike", "all alike", "headings behind it", "empty"],
)
def test_texts_without_a_repetition_that_leads_stay_as_they_are(descriptions: list[str]) -> None:
    assert [document.purpose for document in arranged(*descriptions)] == [""] * len(descriptions)


def test_tools_are_looked_at_apart_and_everything_comes_out_in_order() -> None:
    items = [api(f"a{n}", GUARD + thing, tool) for tool in ("x", "y") for n, thing in enumerate(THINGS[:2])]
    letter = DeadLetter("s", "1", "why")
    assert list(with_purposes([items[0], letter, *items[1:]])) == [items[0], letter, *items[1:]]


def test_a_huge_tool_is_held_in_parts() -> None:
    held = 0

    def reading():
        nonlocal held
        for number in range(MAX_GROUP + 10):
            held = number
            yield api(f"a{number}", f"Beware! Does {chr(97 + number % 25)} to it.")

    first = next(iter(with_purposes(reading())))
    assert held == MAX_GROUP - 1
    assert isinstance(first, ApiDocument)
    assert first.purpose.startswith("Does a to it.")
    assert len(first.purpose) <= MAX_PURPOSE


def test_an_ingest_ranks_by_purpose_and_gives_back_the_description(tmp_path: Path) -> None:
    from kitpick import Catalog

    with Catalog.open(f"sqlite:{tmp_path / 'tools.db'}") as catalog:
        catalog.ingest(_Tools())
        (hit,) = [h for h in catalog.search("delete a note", profile="bm25").hits if h.document.api == "a2"]
    assert hit.document.description == GUARD + THINGS[2]
    assert hit.document.purpose.startswith(THINGS[2])


class _Tools:
    name = "s"

    def read(self):
        yield from (api(f"a{number}", GUARD + thing) for number, thing in enumerate(THINGS))


def test_large_definitions_are_held_in_smaller_parts() -> None:
    read = 0

    def reading():
        nonlocal read
        for number in range(100):
            read = number
            yield replace(api(f"a{number}", THINGS[0]), definition="x" * (MAX_HELD // 10))

    next(iter(with_purposes(reading())))
    assert read == 9


@pytest.mark.parametrize("description", [None, 7, ["x"]])
def test_a_description_of_a_wrong_type_is_passed_on(description: object) -> None:
    wrong = replace(api("wrong", ""), description=description)
    others = [api(f"a{number}", GUARD + thing) for number, thing in enumerate(THINGS)]
    assert next(iter(with_purposes([wrong, *others]))) is wrong


def test_descriptions_of_dots_cost_what_others_do() -> None:
    """Of signs in a row the last one ends a sentence; each was the start of a search through all others."""
    started = time.process_time()
    found = arranged(*("." * 6_000 + thing for thing in THINGS * 10))
    assert len(found) == 40
    assert time.process_time() - started < 3
