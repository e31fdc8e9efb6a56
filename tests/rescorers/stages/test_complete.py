"""What a hit needs is drawn in behind it, and a plan says what flows where."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_engines.document import Effect
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import in_rounds, rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Complete, complete
from kitpick_rescorers.stages.complete import next_steps, plan

STAGE = Profile("chained", stages=(Complete(),))


def api(name: str, needs: str = "", gives: str = "", effect: Effect = Effect.READ) -> Candidate:
    """`music/search` that needs and gives what is named, separated by blanks of two."""
    tool, _, own = name.partition("/")
    needed, given = (tuple(filter(None, texts.split("  "))) for texts in (needs, gives))
    return Candidate(
        name, "", tool, own, name, np.zeros(2, np.float32), effect=effect, needs=needed, gives=given
    )


CONCERTS = api("music/concerts", "artist_id=artist.id~9")
SEARCH = api("music/search", gives="artist.id~9")
WEATHER, NEWS = api("sky/weather"), api("paper/news")


def ranked(apis: Sequence[Candidate], query: str = "where does Nina Simone play", **settings) -> list[str]:
    profile = replace(STAGE, stages=(Complete(**settings),))
    answer = rescore(RescoreRequest(query, apis, k=10_000), profile, Models())
    return [hit.id for hit in answer.results]


def test_who_gives_what_the_first_hit_needs_comes_behind_it() -> None:
    answer = rescore(RescoreRequest("q", [CONCERTS, WEATHER, NEWS, SEARCH]), STAGE, Models())
    assert [hit.id for hit in answer.results[:2]] == ["music/concerts", "music/search"]
    assert answer.results[1].reasons == ("complete: gives artist_id for concerts",)


@pytest.mark.parametrize(
    ("query", "brings"),
    [
        ("concerts of artist 4Z8W4fKeB5YxbusRsdQVPb", True),
        ("concerts of 2f1acc6c-6c0e-4a5e-9a1b-0d3e0a8a6f10", True),
        ("concerts behind https://music.example/artists/7", True),
        ("concerts of 'Nina Simone'", False),
        ("concerts of Nina Simone in 2024", False),
    ],
)
def test_what_the_request_brings_itself_is_not_looked_up(query: str, brings: bool) -> None:
    found = ranked([CONCERTS, WEATHER, SEARCH], query)
    assert found == [
        "music/concerts",
        *(["sky/weather", "music/search"] if brings else ["music/search", "sky/weather"]),
    ]


def of(tool: str, name: str, needs: str = "", gives: str = "") -> Candidate:
    """An API of a tool with a category, `AWS/IAM`."""
    category, _, tool = tool.partition("/")
    return replace(api(f"{tool}/{name}", needs, gives), category=category)


@pytest.mark.parametrize(
    ("taker", "giver", "drawn"),
    [
        (of("AWS/Lex", "Start", "RoleArn=role.arn~9"), of("AWS/IAM", "ListRoles", "", "role.arn~9"), True),
        (of("AWS/Lex", "Start", "RoleArn=role.arn~9"), of("AWS/Lambda", "Get", "", "role.arn~9"), False),
        (
            of("AWS/Directory", "Log", "g=log group.name~7"),
            of("AWS/Logs", "ListLogGroups", "", "log group.name~9"),
            True,
        ),
        (
            of("Google/Billing Budget API", "Add", "p=account.name~9"),
            of("Google/Cloud Billing API", "accounts", "", "account.name~9"),
            True,
        ),
        (
            of("cloud/Droplets", "Roll", "app_id=app.id~9"),
            of("AWS/Amplify", "ListApps", "", "app.id~9"),
            False,
        ),
        (
            of("AWS/Device Farm", "Install", "app_id=app.id~9"),
            of("AWS/Amplify", "ListApps", "", "app.id~9"),
            False,
        ),
        (
            of("/play_song", "play_song", "song_id=song.id~9"),
            of("/find_song", "find_song", "", "song.id~9"),
            True,
        ),
    ],
    ids=[
        "lent",
        "not named after it",
        "two words",
        "one product",
        "another vendor",
        "another service",
        "functions",
    ],
)
def test_another_tool_gives_only_what_both_mean(taker: Candidate, giver: Candidate, drawn: bool) -> None:
    """Of 60 links across tools that somebody read, those to an app or a group of anybody's were all wrong."""
    assert (ranked([taker, WEATHER, giver])[1] == giver.id) is drawn


def test_a_name_that_is_quoted_is_brought() -> None:
    group, groups = api("aws/delete", "GroupName=group.name~7"), api("aws/list", gives="group.name~9")
    assert ranked([group, WEATHER, groups], 'drop the group "old ones"')[1] == "sky/weather"
    assert ranked([group, WEATHER, groups], "drop the group of last year")[1] == "aws/list"


@pytest.mark.parametrize(
    ("query", "brings"),
    [
        ('drop the site "krume.shop"', False),
        ("drop accounts/7/sites/3", True),
        ("drop the site and/or page", False),
    ],
)
def test_a_name_that_is_a_path_is_in_no_quotes(query: str, brings: bool) -> None:
    drop, sites = api("ads/drop", "name=site.name~9"), api("ads/sites", gives="site.name~9")
    assert (ranked([drop, WEATHER, sites], query)[1] == "sky/weather") is brings


def test_a_search_for_anything_is_as_good_as_one_that_is_named_after_it() -> None:
    search, best = api("music/search", gives="artist.~3"), api("music/get_best_artists", gives="artist.~3")
    assert ranked([CONCERTS, WEATHER, best, search])[1] == search.id


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (api("music/z", gives="artist.id~5"), api("other/a", gives="artist.id~9")),
        (api("music/z", gives="artist.id~5"), api("music/a", gives="artist.id~9", effect=Effect.WRITE)),
        (api("music/z", gives="artist.id~9"), api("music/a", gives="artist.id~7")),
        (api("music/z", gives="artist.id~9"), api("music/a", "label_id=label.id~9", "artist.id~9")),
        (api("music/nina", gives="artist.id~9"), api("music/a", gives="artist.id~9")),
        (api("music/concert_artists", gives="artist.id~9"), api("music/tour_artists", gives="artist.id~9")),
    ],
    ids=["same tool", "reads", "surely", "needs less", "nearer to the request", "nearer to the hit"],
)
def test_the_best_of_several_producers_is_taken(better: Candidate, worse: Candidate) -> None:
    assert ranked([CONCERTS, WEATHER, worse, better], leads=1)[1] == better.id


def test_what_needs_the_thing_itself_is_no_producer() -> None:
    get_artist = api("music/get", "artist_id=artist.id~9", "artist.name~9  artist.id~9")
    assert ranked([CONCERTS, WEATHER, get_artist])[1] == "sky/weather"


@pytest.mark.parametrize(
    "maker",
    [
        api("music/create_artist", gives="artist.id~9", effect=Effect.WRITE),
        api("music/remove_artist", gives="artist.id~9", effect=Effect.DESTRUCTIVE),
    ],
)
def test_to_look_a_thing_up_nobody_makes_or_removes_another(maker: Candidate) -> None:
    assert ranked([CONCERTS, WEATHER, maker])[1] == "sky/weather"
    assert plan([CONCERTS, maker])[0].id == maker.id, "among calls that are chosen, it comes first"


def test_what_is_begun_to_be_looked_after_is_drawn_in() -> None:
    status = api("print/status", "jobId=job.id~9")
    start = api("print/create_job", gives="job.id~9", effect=Effect.WRITE)
    assert ranked([status, WEATHER, start])[1] == start.id


@pytest.mark.parametrize(
    ("gives", "drawn"),
    [
        ("instance.id~9", True),
        ("dbinstance.id~9", True),
        ("replication instance.id~9", False),
        ("instance.~3", False),
    ],
    ids=["less is said", "one word", "another kind", "a guess"],
)
def test_things_of_one_kind_only_fit(gives: str, drawn: bool) -> None:
    stop = api("rds/stop", "DBInstanceId=db instance.id~9")
    found = ranked([stop, WEATHER, api("rds/list", gives=gives)])
    assert (found[1] == "rds/list") is drawn


def test_what_a_producer_needs_is_drawn_in_as_well() -> None:
    seats = api("music/seats", "concert_id=concert.id~9")
    concerts = api("music/concerts", "artist_id=artist.id~9", "concert.id~9")
    apis = [seats, WEATHER, NEWS, SEARCH, concerts]
    assert ranked(apis)[:3] == ["music/seats", "music/concerts", "music/search"]
    assert ranked(apis, steps=1)[:3] == ["music/seats", "music/concerts", "sky/weather"]


def test_a_declared_dependency_on_a_call_is_met_by_its_name() -> None:
    share = api("share/share", "wifi=get_wifi.call~10")
    assert ranked([share, WEATHER, api("phone/get_wifi")])[1] == "phone/get_wifi"


class TestACallThatADescriptionNames:
    def test_it_is_of_the_same_tool_or_of_none(self) -> None:
        page, own = api("wiki/page", "id=list_pages.call~7"), api("wiki/list_pages")
        other, lone = api("shop/list_pages"), api("list_pages/list_pages")
        assert ranked([page, WEATHER, other, own])[1] == own.id
        assert ranked([page, WEATHER, other])[1] == WEATHER.id, "another server may name its tools alike"
        assert ranked([page, WEATHER, lone])[1] == lone.id

    def test_it_destroys_nothing(self) -> None:
        page = api("wiki/page", "id=drop_pages.call~7")
        drop = api("wiki/drop_pages", effect=Effect.DESTRUCTIVE)
        assert ranked([page, WEATHER, drop])[1] == WEATHER.id

    @pytest.mark.parametrize(
        ("needs", "brought"), [("id=list_pages.call~7", True), ("list_pages.call~7", False)]
    )
    def test_an_id_that_the_request_has_need_not_be_found(self, needs: str, brought: bool) -> None:
        found = ranked([api("wiki/page", needs), WEATHER, api("wiki/list_pages")], "show page #48151")
        assert (found[1] == WEATHER.id) is brought

    def test_the_answer_says_why(self) -> None:
        first = api("wiki/page", "list_pages.call~7")
        answer = rescore(RescoreRequest("q", [first, api("wiki/list_pages")]), STAGE, Models())
        assert answer.results[1].reasons == ("complete: is called before page",)


def test_no_more_are_drawn_in_than_allowed() -> None:
    needs = "  ".join(f"x{n}=thing{n}.id~9" for n in range(8))
    apis = [api("t/do", needs), WEATHER, *(api(f"t/g{n}", gives=f"thing{n}.id~9") for n in range(8))]
    assert ranked(apis, each=2)[3] == "sky/weather"


def test_nothing_happens_without_needs() -> None:
    assert ranked([WEATHER, SEARCH, NEWS]) == ["sky/weather", "music/search", "paper/news"]


def test_other_apis_of_the_tool_are_fetched_by_the_caller() -> None:
    class Fetcher:
        def apis_of_tools(self, tools: Sequence[str]) -> list[Candidate]:
            return [SEARCH] if "/music" in tools else []

        def neighbours(self, vector: object, k: int) -> list[Candidate]:
            return []

    request = RescoreRequest("q", [CONCERTS, WEATHER], k=5)
    answer, _ = in_rounds(Fetcher(), request, lambda each: rescore(each, STAGE, Models()))
    assert [hit.id for hit in answer.results] == ["music/concerts", "music/search", "sky/weather"]
    assert answer.need is None


@pytest.mark.parametrize(
    ("taker", "need", "giver"),
    [
        ("get_rent_by_city", "city_code=city.code~7", "get_city_code"),
        ("getRentByCity", "cityCode=city.code~7", "getCityCode"),
        ("book-table", "restaurant_id=restaurant.id~9", "search-restaurants"),
        ("get_rent_by_city", "year=date.~3", "get_current_date"),
        ("fetch_etrade_orders", "session_id=session.id~9", "etrade_user_login"),
        ("la_fitness_book_class", "session_id=session.id~9", "login_to_la_fitness"),
    ],
)
def test_functions_of_no_tool_are_fetched_by_the_names_that_they_commonly_have(
    taker: str, need: str, giver: str
) -> None:
    state = RescoreRequest("q", [api(f"{taker}/{taker}", need), WEATHER])
    asked = rescore(state, STAGE, Models()).need
    assert asked is not None
    assert f"/{giver}" in asked.apis_of_tools
    assert len(asked.apis_of_tools) < 100


def test_functions_are_looked_for_under_so_many_names_and_no_more() -> None:
    state = RescoreRequest("q", [api(f"do{n}/do{n}", f"i=thing{n}.id~9") for n in range(50)])
    asked = rescore(state, replace(STAGE, stages=(Complete(leads=50),)), Models()).need
    assert asked is not None
    assert len(asked.apis_of_tools) == 200


def test_who_turns_a_name_into_an_id_is_a_producer_though_it_asks_for_the_name() -> None:
    code = api("get_city_code/get_city_code", "city_name=city.name~7", "city.code~5")
    rent = api("get_rent/get_rent", "city_code=city.code~7")
    assert ranked([rent, WEATHER, code])[1] == code.id
    by_number = replace(code, needs=("city=city.id~7",))
    assert ranked([rent, WEATHER, by_number])[1] == WEATHER.id


def test_a_session_is_of_the_product_that_it_was_opened_in() -> None:
    own = api("delta_user_login/delta_user_login", gives="session.id~5")
    other = api("united_user_login/united_user_login", gives="session.id~5")
    bags = api("delta_find_bags/delta_find_bags", "session_id=session.id~9")
    assert ranked([bags, WEATHER, other, own])[1] == own.id
    assert ranked([bags, WEATHER, other])[1] == WEATHER.id
    assert (
        ranked([bags, WEATHER, replace(other, id="login/login", tool="login", api="login")])[1]
        == "login/login"
    )


@pytest.mark.parametrize(
    ("query", "brings"), [("rents in 2024", True), ("on 3.5.", True), ("this year", False)]
)
def test_a_date_that_is_said_is_not_asked_for(query: str, brings: bool) -> None:
    today = api("get_current_date/get_current_date", gives="date.~5")
    rent = api("get_rent/get_rent", "year=date.~7")
    assert ranked([rent, WEATHER, today], query)[1] == (WEATHER.id if brings else today.id)


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows with each comparison of a thing that is given with one that is needed."""
    made: list[None] = []
    fit = complete._fit
    monkeypatch.setattr(complete, "_fit", lambda *given: made.append(None) or fit(*given))
    return made


def alike(count: int) -> list[Candidate]:
    """APIs of one tool that give and need the same id and name; every other one needs nothing."""
    both, given = "id=thing.id~9  name=thing.name~9", "thing.id~9  thing.name~9  other.id~9"
    return [api(f"t/a{n}", "" if n % 2 else both, given) for n in range(count)]


class TestAnIdThatEverythingGivesAndNeeds:
    def test_it_costs_as_much_among_any_number(self, comparisons: list[None]) -> None:
        work = []
        for count in (2_000, 8_000):
            comparisons.clear()
            found = ranked(alike(count), leads=3, steps=2, each=3)
            assert len(found) == count
            work.append(len(comparisons))
        takers, needs, givers = 3 + 3 * 3, 8, 500
        assert 0 < work[0] == work[1] <= takers * needs * givers

    def test_it_draws_in_no_more_than_allowed(self) -> None:
        answer = rescore(RescoreRequest("q", alike(2_000), k=2_000), STAGE, Models())
        assert sum(bool(hit.reasons) for hit in answer.results) <= 9

    def test_a_document_that_needs_it_ten_thousand_times_is_read_in_part(
        self, comparisons: list[None]
    ) -> None:
        greedy = api("t/greedy", "  ".join(f"o{n}=other.id~9" for n in range(10_000)))
        assert ranked([greedy, *alike(1_000)], leads=1, steps=1)[0] == "t/greedy"
        assert 0 < len(comparisons) <= 8 * 500

    def test_next_steps_are_compared_with_what_is_held_alone(self, comparisons: list[None]) -> None:
        held, *others = alike(4_000)
        flows = next_steps(held, others)
        assert len({flow.taker.id for flow in flows}) == len(flows)
        assert 0 < len(comparisons) <= 8 * 3 * len(others), "eight needs of each, and three things held"

    def test_a_plan_of_hits_is_bounded_by_their_number(self, comparisons: list[None]) -> None:
        steps = plan(alike(50))
        assert len(steps) == 50
        assert 0 < len(comparisons) <= 50 * 8 * 500
        assert all(len(step.takes) <= 8 for step in steps)


def test_any_lists_are_permuted_and_any_plan_holds_each_once() -> None:
    """Property: nothing is lost or doubled, and no step takes from a later one."""
    chance = random.Random(1)
    things = [f"{resource}.{role}~{tenths}" for resource in "abc" for role in ("id", "") for tenths in (1, 9)]
    for _ in range(300):
        apis = [
            api(
                f"{chance.choice('xy')}/{n}",
                "  ".join(f"in={each}" for each in chance.sample(things, chance.randint(0, 3))),
                "  ".join(chance.sample([*things, "no thing"], chance.randint(0, 3))),
                chance.choice(list(Effect)),
            )
            for n in range(chance.randint(0, 9))
        ]
        found = ranked(apis, leads=chance.randint(1, 4), steps=chance.randint(1, 4))
        assert sorted(found) == sorted(each.id for each in apis)
        steps = plan(apis)
        assert sorted(step.id for step in steps) == sorted(each.id for each in apis)
        done: set[str] = set()
        for step in steps:
            assert {taken.giver for taken in step.takes} <= done
            done.add(step.id)


def test_a_plan_has_givers_first_and_says_what_flows() -> None:
    steps = plan([CONCERTS, WEATHER, SEARCH])
    assert [step.api for step in steps] == ["search", "concerts", "weather"]
    assert [(taken.input, taken.giver) for taken in steps[1].takes] == [("artist_id", "music/search")]


def test_next_steps_are_what_takes_what_an_answer_gives() -> None:
    flows = next_steps(SEARCH, [WEATHER, CONCERTS, SEARCH, api("other/tours", "id=artist.id~5")])
    assert [flow.taker.id for flow in flows] == ["music/concerts", "other/tours"]
