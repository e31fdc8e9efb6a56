"""What a conversation holds is looked up by nobody: it counts by its name, or without one as any id."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_engines.contract import Candidate
from kitpick_engines.document import Effect, Thing
from kitpick_rescorers.errors import InvalidRequest
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Complete
from kitpick_rescorers.stages.brought import Brought
from kitpick_rescorers.stages.complete import plan
from kitpick_rescorers.state import MAX_HELD, HeldIdentifier
from kitpick_service.exchange import call_of, request_of

STAGE = Profile("chained", stages=(Complete(),))
VALUE = "4Z8W4fKeB5YxbusRsdQVPb"


def api(name: str, needs: tuple[str, ...] = (), gives: tuple[str, ...] = ()) -> Candidate:
    zeros = np.zeros(2, np.float32)
    return Candidate(name, "", "music", name, name, zeros, effect=Effect.READ, needs=needs, gives=gives)


CONCERTS = api("concerts", ("artist_id=artist.id~9",))
SEARCH = api("search", gives=("artist.id~9",))
NEWS = api("news")


def ranked(*held: HeldIdentifier) -> list[str]:
    request = RescoreRequest("where do they play next month", [CONCERTS, NEWS, SEARCH], held=held)
    return [hit.id for hit in rescore(request, STAGE, Models()).results]


def test_an_id_that_the_conversation_holds_is_not_looked_up() -> None:
    assert ranked() == ["concerts", "search", "news"]
    assert ranked(HeldIdentifier("artist_id", VALUE)) == ["concerts", "news", "search"]


@pytest.mark.parametrize(
    ("name", "need", "met"),
    [
        ("artistId", "artist_id=artist.id~9", True),
        ("artists id", "id=artist.id~9", True),
        ("concert artist uuid", "artist_id=artist.id~9", True),
        ("artist", "artist_id=artist.id~9", True),
        ("artist_name", "artist_id=artist.id~9", False),
        ("artist owner id", "artist_id=artist.id~9", False),
        ("album_id", "artist_id=artist.id~9", False),
        ("id", "id=artist.id~9", False),
        ("InstanceIds", "i=db instance.id~9", True),
        ("db instance arn", "i=instance.id~9", True),
        ("cache instance id", "i=db instance.id~9", False),
        ("pageId", "pageId=list_pages.call~7", True),
        ("bookId", "pageId=list_pages.call~7", False),
        ("", "artist_id=artist.id~9", True),
    ],
)
def test_a_name_says_of_which_thing_it_is(name: str, need: str, met: bool) -> None:
    thing = Thing.read(need)
    assert thing is not None
    assert Brought("", [HeldIdentifier(name, VALUE)]).brings(thing) is met


def test_a_google_name_is_held_only_as_a_path() -> None:
    need = Thing.read("name=site.name~9")
    assert need is not None
    assert Brought("", [HeldIdentifier("site name", "accounts/7/sites/3")]).brings(need)
    assert not Brought("", [HeldIdentifier("site name", "krume.shop")]).brings(need)


def test_without_a_name_only_what_looks_like_an_id_counts() -> None:
    assert ranked(HeldIdentifier("", VALUE)) == ["concerts", "news", "search"]
    assert ranked(HeldIdentifier("", "thanks")) == ["concerts", "search", "news"]
    assert ranked(HeldIdentifier("artist_id", "")) == ["concerts", "search", "news"]


def test_a_plan_says_what_is_held_and_lets_nobody_give_it() -> None:
    (first, second) = plan([CONCERTS, SEARCH])
    assert (first.id, second.id, [taken.giver for taken in second.takes]) == (
        "search",
        "concerts",
        ["search"],
    )
    (first, second) = plan([CONCERTS, SEARCH], held=[HeldIdentifier("artist_id", VALUE)])
    assert (first.id, first.takes, first.holds) == ("concerts", (), ("artist_id",))
    assert second.id == "search"


def test_what_flows_twice_stands_in_a_plan_once() -> None:
    """The description names the call, and the name of the input says the same."""
    concerts = api("concerts", ("artist_id=search.call~7", "artist_id=artist.id~9"))
    _, second = plan([concerts, SEARCH])
    assert [(taken.input, taken.giver, taken.confidence) for taken in second.takes] == [
        ("artist_id", "search", 0.81)
    ]


def test_what_has_no_name_fills_no_input_of_a_plan() -> None:
    assert plan([CONCERTS, SEARCH], held=[HeldIdentifier("", VALUE)]) == plan([CONCERTS, SEARCH])


def test_more_than_so_many_are_refused() -> None:
    held = (HeldIdentifier("artist_id", VALUE),) * (MAX_HELD + 1)
    with pytest.raises(InvalidRequest, match="201 held identifiers: at most 200"):
        ranked(*held)


def test_what_is_held_reaches_a_service() -> None:
    request = RescoreRequest("q", [CONCERTS], held=(HeldIdentifier("artist_id", VALUE),))
    assert request_of(call_of(request)).held == request.held
