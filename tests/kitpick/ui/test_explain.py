"""What the page is told of an answer: every candidate is accounted for, and every refusal has a cure."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from token_issuer import AUDIENCE, ISSUER, TokenIssuer

from kitpick.catalog import Catalog
from kitpick_rescorers.intents.store import Intent
from kitpick_service.keys import digest, new_key

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
PROFILE = """
name = "strict"

[[stages]]
stage = "fuse"
dense = 0.0

[[stages]]
stage = "truncate"
seen = 3
unseen = 3

[[stages]]
stage = "decode"
"""


@pytest.fixture(scope="module")
def strict(show: Any, shop: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server whose own profile drops and truncates."""
    file = tmp_path_factory.mktemp("profile") / "strict.toml"
    file.write_text(PROFILE)
    with show(shop, profile=str(file)) as found:
        yield found


def names(answer: dict[str, Any], places: list[int]) -> list[str]:
    return [answer["candidates"][place]["api"] for place in places]


def test_the_page_learns_what_it_can_ask(shown: Any) -> None:
    about = shown.ask("about").json()
    assert about["profile"] == "kitpick"
    assert {"bm25", "nnn", "kitpick"} <= {line["name"] for line in about["profiles"]}
    assert about["marking"] is True
    assert about["operator"] is True, "without keys it is this machine's own page"


@pytest.mark.parametrize("profile", ["kitpick", "toolrerank", "nnn", "hybrid", "bm25"])
def test_every_step_accounts_for_everyone_who_comes_and_goes(shown: Any, profile: str) -> None:
    answer = shown.explain("will it rain in Paris", profile=profile, budget=300)
    before: list[int] = []
    for stage in answer["stages"]:
        after = stage["order"]
        assert set(after) == (set(before) | set(stage["entered"])) - set(stage["cut"])
        assert set(stage["entered"]).isdisjoint(before)
        assert set(stage["cut"]) <= set(before)
        before = after
    assert answer["stages"][0]["stage"] == "find"
    assert names(answer, before) == [answer["candidates"][hit["candidate"]]["api"] for hit in answer["hits"]]


@pytest.mark.parametrize(
    "request_text",
    [
        "Will it rain in Paris tomorrow? Then mail the forecast to Marie.",
        "Will it rain in Paris tomorrow? Mail the forecast to Marie. Put a walk into my calendar. "
        "Translate the invitation into French. How much is that in dollars?",
    ],
    ids=["two sentences", "five sentences"],
)
def test_the_sentences_of_a_request_are_asked_by_themselves(shown: Any, request_text: str) -> None:
    answer = shown.explain(request_text)
    assert answer["profile"] == "kitpick"
    assert answer["degraded"] == []
    assert {"get_weather", "send_email"} & set(names(answer, [hit["candidate"] for hit in answer["hits"]]))
    assert all("sentence rank" in hit["reasons"][0] for hit in answer["hits"])


def test_whoever_is_cut_is_told_why(strict: Any) -> None:
    answer = strict.explain("will it rain in Paris, and what is the weather", budget=60)
    stages = {stage["stage"]: stage for stage in answer["stages"]}
    assert all("does not count" in stages["fuse"]["reasons"][str(each)] for each in stages["fuse"]["cut"])
    assert all(
        "is beyond 3" in stages["truncate"]["reasons"][str(each)] for each in stages["truncate"]["cut"]
    )
    assert all(
        "others are worth more" in stages["pack"]["reasons"][str(each)] for each in stages["pack"]["cut"]
    )
    assert stages["fuse"]["cut"]
    assert stages["pack"]["cut"]


def test_who_enters_is_told_from_where(shown: Any) -> None:
    answer = shown.explain("will it rain in Paris", profile="nnn")
    reasons = answer["stages"][0]["reasons"]
    assert len(reasons) == len(answer["candidates"])
    assert any("dense rank 1 (" in reason for reason in reasons.values())


def test_the_definitions_fill_the_budget_and_never_more(shown: Any) -> None:
    packing = shown.explain("send an email about the weather", budget=250)["packing"]
    assert (
        packing["used"] == sum(item["tokens"] for item in packing["definitions"]) <= packing["budget"] == 250
    )
    assert any(item["slimmed"] for item in packing["definitions"])
    assert shown.explain("send an email about the weather")["packing"] is None


def test_nobody_sees_what_is_for_others(show: Any, shop: str, shown: Any, tmp_path: Path) -> None:
    request = "pay the salaries of all employees"
    assert "pay_salaries" not in str(shown.explain(request))
    boss, clerk = new_key(), new_key()
    keys = tmp_path / "keys.toml"
    keys.write_text(
        f"[[keys]]\nname = 'boss'\nsha256 = '{digest(boss)}'\nprincipals = ['boss']\n"
        f"[[keys]]\nname = 'clerk'\nsha256 = '{digest(clerk)}'\n"
    )
    with show(shop, tmp_path / "marks.jsonl", keys=str(keys)) as guarded:
        assert guarded.ask("about").status_code == 401
        assert guarded.ask("explain", {"query": request}).status_code == 401
        seen = {
            name: guarded.ask("explain", {"query": request}, authorization=f"Bearer {key}").text
            for name, key in (("boss", boss), ("clerk", clerk))
        }
        assert "pay_salaries" in seen["boss"]
        assert "pay_salaries" not in seen["clerk"]
        mark = {"query": request, "id": "shop/payroll/pay_salaries", "verdict": "right"}
        refused = guarded.ask("mark", mark, authorization=f"Bearer {clerk}")
        assert refused.status_code == 404
        assert guarded.ask("mark", mark, authorization=f"Bearer {boss}").status_code == 200
        marked = guarded.ask("explain", {"query": request}, authorization=f"Bearer {clerk}").json()["marks"]
        assert marked == {}


@pytest.mark.needs("tokens")
def test_a_signed_token_shows_what_its_claims_say(show: Any, shop: str, tmp_path: Path) -> None:
    login = TokenIssuer()
    (tmp_path / "keys.json").write_text(login.key_set())
    (tmp_path / "keys.toml").write_text(
        f"[[issuers]]\nname = 'corp'\nissuer = '{ISSUER}'\naudience = ['{AUDIENCE}']\n"
        "jwks = 'keys.json'\nprincipal_claims = ['groups']\n"
    )
    with show(shop, keys=str(tmp_path / "keys.toml")) as guarded:

        def seen(token: str) -> Any:
            call = {"query": "pay the salaries of all employees"}
            return guarded.ask("explain", call, authorization=f"Bearer {token}")

        assert "pay_salaries" in seen(login.token(groups=["boss"])).text
        assert "pay_salaries" not in seen(login.token(groups=[])).text
        assert seen(login.token(exp=1)).status_code == 401


@pytest.mark.parametrize(
    ("call", "status", "said"),
    [
        ({"query": " \n"}, 422, "the request is empty: type what is to be done"),
        ({"query": "\u200b"}, 422, "the request is empty: type what is to be done"),
        ({"query": "a" * 20_001}, 422, "20,001 characters of request: shorten it to 20,000"),
        ({"query": "a", "profile": "nosuch"}, 404, "no profile 'nosuch'; known are bm25"),
        ({"query": "a", "profile": "/etc/passwd"}, 404, "no profile '/etc/passwd'"),
        ({"query": "a", "k": 0}, 422, "0 hits: ask for 1 to 10,000"),
        ({"query": "a", "k": 10_001}, 422, "10,001 hits: ask for 1 to 10,000"),
        ({"query": "a", "budget": -1}, 422, "a budget of -1 tokens: name 0 to 1,000,000, or none"),
        ({"query": "a", "more": 1}, 422, "unknown field `more`"),
        ({"query": 1}, 422, "Expected `str`, got `int`"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(shown: Any, call: Any, status: int, said: str) -> None:
    answer = shown.ask("explain", call)
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]


def test_an_empty_catalog_says_how_to_fill_it(show: Any, tmp_path: Path) -> None:
    with show(f"sqlite:{tmp_path / 'empty.db'}") as empty:
        for answer in (empty.ask("about"), empty.ask("explain", {"query": "weather"})):
            assert answer.status_code == 503
            assert "take something in with `kitpick ingest SOURCE`" in answer.json()["error"]["message"]
            assert str(tmp_path) not in answer.text


def copied(shop: str, folder: Path) -> str:
    """A catalog that a test may spoil, or add to."""
    source = Path(shop.removeprefix("sqlite:"))
    for file in source.parent.glob(f"{source.name}*"):
        (shutil.copytree if file.is_dir() else shutil.copy)(file, folder / file.name)
    return f"sqlite:{folder / source.name}"


def test_a_catalog_that_breaks_meanwhile_is_told_with_its_cure(show: Any, shop: str, tmp_path: Path) -> None:
    url = copied(shop, tmp_path)
    with show(url) as shown:
        assert shown.explain("weather")["hits"]
        for file in (file for file in tmp_path.iterdir() if file.is_file()):
            file.write_bytes(b"garbage" * 1_000)
        answer = shown.ask("explain", {"query": "weather"})
        assert answer.status_code == 503
        assert "copy a backup to its place or ingest again" in answer.json()["error"]["message"]
        assert str(tmp_path) not in answer.text


def test_what_only_sample_requests_brought_is_named_too(show: Any, shop: str, tmp_path: Path) -> None:
    url = copied(shop, tmp_path)
    with Catalog.open(url) as catalog:
        index, _ = catalog.live()
        samples = [Intent(f"something for {key}", key) for key, _ in catalog.engine.hashes(index)]
        catalog.add_intents([Intent("is it raining", "shop/files/delete_file"), *samples])
    profile = tmp_path / "few.toml"
    profile.write_text(
        'name = "few"\n[first_stage]\nsize = 1\nfactor = 1\n[[stages]]\nstage = "fuse"\nintent = 2.0\n'
    )
    with show(url, profile=str(profile)) as shown:
        answer = shown.explain("is it raining", k=1)
    find, fuse = answer["stages"][:2]
    assert "by sample requests" in find["note"]
    (brought,) = [
        each for each in find["entered"] if find["reasons"][str(each)].startswith("intent rank 1 (")
    ]
    assert answer["candidates"][brought] == {
        "id": "shop/files/delete_file",
        "tool": "files",
        "api": "delete_file",
    }
    assert "intent rank 1" in fuse["reasons"][str(brought)]


def test_a_budget_of_nothing_is_filled_with_nothing(shown: Any) -> None:
    answer = shown.explain("weather", budget=0)
    assert answer["hits"] == []
    assert answer["packing"]["definitions"] == []


def test_stages_end_where_the_caller_leaves(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kitpick.tools_api import ToolsApi, ToolSearchCall
    from kitpick.ui.desk import Desk, UiSettings
    from kitpick.ui.protocol import ExplainCall
    from kitpick_engines.contract import Filter
    from kitpick_rescorers.stages import Fuse
    from kitpick_service.core import Service
    from kitpick_service.settings import ServiceSettings
    from kitpick_service.ticket import Ticket

    service, rank = Service(ServiceSettings(warm_up_seconds=0)), Fuse.apply
    desk, api = Desk(service, UiSettings(catalog=shop)), ToolsApi(service, shop, Filter())
    for answer in (
        lambda ticket: str(desk.explain(ExplainCall("write an email", "nnn"), ticket).degraded),
        lambda ticket: str(
            api.search(ToolSearchCall(query="write an email", profile="nnn"), ticket).degraded
        ),
    ):
        ticket = Ticket("t", 60)

        def left(stage: Fuse, *given: Any, ticket: Ticket = ticket) -> Any:
            ticket.cancel()
            return rank(stage, *given)

        monkeypatch.setattr(Fuse, "apply", left)
        assert "not run" in answer(ticket)
    api.close()
    desk.close()
    service.close()


def test_the_answer_costs_little_beyond_the_models(shop: str) -> None:
    """Time of the thread that answers: models run in others, and a busy machine does not count."""
    from kitpick.ui.desk import Desk, UiSettings
    from kitpick.ui.protocol import ExplainCall
    from kitpick_service.core import Service
    from kitpick_service.settings import ServiceSettings
    from kitpick_service.ticket import Ticket

    service = Service(ServiceSettings(warm_up_seconds=0))
    desk = Desk(service, UiSettings(catalog=shop))
    spent = []
    for turn in range(4):
        started = time.thread_time()
        answer = desk.explain(ExplainCall(f"write an email, number {turn}", budget=2_000), Ticket("t", 60))
        spent.append(time.thread_time() - started)
        assert 0 < answer.spent.models < answer.spent.total
    desk.close()
    service.close()
    assert min(spent) < 0.1
