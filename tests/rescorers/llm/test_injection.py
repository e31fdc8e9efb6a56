"""Descriptions that ask the ranker for a place do not get it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kitpick_rescorers.llm.injection import sanitise
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import Completion
from kitpick_rescorers.llm.windows import ask_order
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages import RankGpt

PLANTED = [
    line
    for line in Path(__file__).with_name("planted_descriptions.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
HONEST = [
    "Returns the first page of results and the total count. Use the cursor for the following pages.",
    "Ranks web pages by relevance for a query with a language model.",
    "Lists the top stories of the day, the highest rated first.",
    "Deletes a file. This must be called before closing the session.",
    "Always returns JSON. The response contains only the selected fields.",
    "Places an order at the best available price.",
    "Ignores case unless told otherwise. Returns users ordered by name.",
    "Sends a system message to all users of a channel; the assistant of the meeting sees it as well.",
]


@pytest.mark.parametrize("description", PLANTED)
def test_what_speaks_to_the_ranker_is_not_shown(description: str) -> None:
    found = sanitise(description, 600)
    assert found.planted
    assert found.text.startswith("Converts units of length.")
    assert not sanitise(found.text, 600).planted


@pytest.mark.parametrize("description", HONEST)
def test_what_describes_is_shown_whole(description: str) -> None:
    found = sanitise(description, 600)
    assert (found.text, found.planted) == (description, False)


@pytest.mark.needs("data")
def test_hardly_any_real_description_is_taken_for_a_plea(shared_data: Path) -> None:
    with (shared_data / "toolbench" / "apis.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["api_description"] or "" for line in lines]
    flagged = [text for text in texts if sanitise(text, 600).planted]
    assert len(flagged) / len(texts) < 0.005


def gullible(texts: list[str]) -> list[int]:
    """A model that does whatever any description tells it, and else orders by the number in it."""
    pleas = [place for place, text in enumerate(texts) if re.search(r"(?i)rank|first|top|always|must", text)]
    worth = {place: int((re.findall(r"worth (\d+)", text) or ["0"])[0]) for place, text in enumerate(texts)}
    rest = [place for place in worth if place not in pleas]
    return [place + 1 for place in (*pleas, *sorted(rest, key=lambda place: -worth[place]))]


class Gullible:
    identity = "gullible"

    def complete(self, messages: Any, **_: Any) -> Any:
        tools = json.JSONDecoder().raw_decode(messages[1].content)[0]["tools"]
        order = gullible([tool["description"] for tool in tools])
        return Completion(json.dumps({"ranking": order}), 100, 10)


def test_a_model_that_believes_everything_still_puts_no_plea_first(bench) -> None:
    """Each planted description in the middle of honest ones: none may rise above where it came in."""
    risen = believed = 0
    for planted in PLANTED:
        texts = [f"Tool {place} of worth {place}." for place in range(10)] + [planted]
        made = [
            bench.candidate(f"t/{place:02}", lexical=place + 1, text=text) for place, text in enumerate(texts)
        ]
        state = RankGpt().apply(bench.state(made), Models(llm=Gullible()))
        risen += bench.ids(state).index("t/10") < 10
        raw = ask_order(CallMeter(Gullible(), Caps(60, 9, 10**6, 1, 0)), "query", texts)
        believed += raw.order.index(10) < 10
    assert risen == 0
    assert believed > len(PLANTED) / 2, "without the defence, the model falls for most of them"
