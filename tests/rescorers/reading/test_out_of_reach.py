"""Small talk, work of hands and other products: refused where nothing found is about them, and only there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitpick_engines.contract import Candidate
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.out_of_reach import may_be_out_of_reach, out_of_reach
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.stages import Fuse

DATASETS = Path(__file__).resolve().parents[3] / "datasets"
CHAT = {"slack/post_message": "Posts a message to a Slack channel", "slack/list_channels": "Lists channels"}
TALK = [
    "hello",
    "Hi there!",
    "good morning! did you sleep well?",
    "thanks, that was really helpful!",
    "ok sounds good, talk later",
    "are you a real person?",
    "what is the meaning of life?",
    "never mind, forget it",
    "you are wrong about that, think again",
    "who are you",
    "yes please",
    "bye",
]
HANDS = [
    "walk my dog while I am at work",
    "water the plants in the living room",
    "cut my hair a little shorter on the sides",
    "paint the fence green this weekend",
    "fix the leaking tap under the sink",
    "mow the lawn",
    "do my laundry",
    "make me a sandwich",
    "sing me happy birthday",
    "give me a hug",
    "take out the garbage",
    "iron my shirts",
]
ELSEWHERE = [
    "post this video on TikTok",
    "create a Jira ticket for the login bug",
    "add a card to my Trello board",
    "send an Outlook invitation to the board",
    "upload the photo via Instagram",
    "open a Zendesk ticket please",
    "play some jazz on my Spotify",
]
SERVED = [
    "say hello to the team",
    "post a message on Slack",
    "tell the team in #general that our Instagram account is down",
    "thanks Bob in the channel for his help",
    "send 'good morning' to everybody",
    "write that the Jira ticket is done",
    "list channels about Netflix",
    "copy the message from Gmail into Slack",
    "cut the meeting short",
    "water level of the river",
    "walk the directory tree",
    "paint the wall of the chart red",
    "fix the broken build",
    "make me an admin",
    "ask who is going to walk the dog on Slack",
    "in the channel zoom-calls, post the agenda",
    "okay Kubernetes, list the pods",
]


def candidates(bench, texts: dict[str, str]) -> list[Candidate]:  # type: ignore[no-untyped-def]
    return [
        bench.candidate(name, text=f"{name}. {text}", lexical=n)
        for n, (name, text) in enumerate(texts.items(), 1)
    ]


def answer(bench, query: str, texts: dict[str, str] = CHAT) -> Rescored:  # type: ignore[no-untyped-def]
    return rescore(RescoreRequest(query, candidates(bench, texts)), Profile("fused", (Fuse(),)), Models())


@pytest.mark.parametrize("query", [*TALK, *HANDS, *ELSEWHERE])
def test_what_nothing_can_mean_is_refused_with_the_reason(bench, query: str) -> None:  # type: ignore[no-untyped-def]
    found = answer(bench, query)
    assert found.abstained
    assert found.abstained_because.startswith("the request ")
    assert len(found.results) == len(CHAT)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("hello", "Says hello to somebody"),
        ("mow the lawn", "Starts the robot on the lawn"),
        ("make me a sandwich", "Finds a recipe"),
        ("post this video on TikTok", "Posts a video to TikTok or Slack"),
        ("post this video on TikTok", "Posts a video wherever you like"),
        ("create a Jira ticket", "Creates an issue of Trello"),
    ],
)
def test_what_a_tool_is_about_is_answered(bench, query: str, text: str) -> None:  # type: ignore[no-untyped-def]
    assert not answer(bench, query, {"x/only": text}).abstained


@pytest.mark.parametrize("query", SERVED)
def test_what_only_has_the_same_words_is_answered(bench, query: str) -> None:  # type: ignore[no-untyped-def]
    assert not answer(bench, query).abstained


@pytest.mark.parametrize(
    ("query", "product"),
    [
        ("trello card 5f2 due fri", "trello"),
        ("archive the whole column Done in Trello", "Trello"),
        ("show the orders of our Shopify store", "Shopify"),
        ("which Zoom transcripts are on this computer", "Zoom"),
        ("airtable bases", "airtable"),
    ],
)
def test_a_product_that_nothing_found_is_of_is_refused_where_no_hit_is_likely(
    bench, query: str, product: str
) -> None:  # type: ignore[no-untyped-def]
    plain = candidates(bench, {"desk/list_tickets": "Lists tickets", "desk/close": "Closes a ticket"})
    assert out_of_reach(query, plain, 0.2) == f"the request names {product}, and nothing found is of it"
    assert out_of_reach(query, plain, 0.9) == ""
    assert out_of_reach(query, candidates(bench, {"x/y": f"Works with {product}"}), 0.2) == ""


@pytest.mark.parametrize(
    "query",
    [
        "desk: the Trello link in ticket 4 is dead",
        "have Closesoft tell the team of it, in Trello",
        "write that the Trello card is done",
        "box the parcel",
        "zoom in",
        "a steam of water",
    ],
)
def test_a_product_that_only_stands_by_is_no_reason(bench, query: str) -> None:  # type: ignore[no-untyped-def]
    found = candidates(bench, {"desk/list_tickets": "Lists tickets", "other/close": "Closesoft closes it"})
    assert out_of_reach(query, found, 0.2) == ""


def written() -> Iterator[str]:
    for name in ("written-mcp.jsonl", "contrasts.jsonl", "light_verbs.jsonl"):
        yield from (json.loads(line)["request"] for line in (DATASETS / name).read_text("utf-8").splitlines())


def test_hardly_any_request_that_was_written_for_a_tool_is_refused(bench) -> None:  # type: ignore[no-untyped-def]
    asked = list(written())
    found = candidates(bench, CHAT)
    refused = [text for text in asked if may_be_out_of_reach(text) and out_of_reach(text, found)]
    other = [text for text in refused if "to be done in" not in out_of_reach(text, found)]
    assert len(asked) > 1_300
    assert len(other) <= 2, other
