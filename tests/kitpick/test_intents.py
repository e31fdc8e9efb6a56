"""Sample requests and choices, from the SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.known_ids import UnknownIds
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_ingest.opening import open_source
from kitpick_rescorers.intents.store import Intent

pytestmark = pytest.mark.needs("weights", "onnxruntime")

SLANG = "ping the gang about tonight"


def first(catalog: Catalog, request: str = SLANG, **options: object) -> str:
    return catalog.search(request, profile="hybrid", **options).hits[0].document.api


def email(catalog: Catalog) -> str:
    return next(key for key in ids(catalog) if key.endswith("send_email"))


def ids(catalog: Catalog) -> list[str]:
    live = catalog.engine.live()
    assert live is not None
    return [key for key, _ in catalog.engine.hashes(live[0])]


def samples(catalog: Catalog) -> list[Intent]:
    """One dull sample for every API, so that all are covered, and the slang for one."""
    return [Intent(f"please use {key.rpartition('/')[2]}", key) for key in ids(catalog)]


def test_a_request_like_a_sample_finds_its_api(catalog: Catalog) -> None:
    assert first(catalog) != "send_email", "no word and little meaning is shared"
    assert (
        catalog.add_intents([*samples(catalog), Intent("ping the team about tomorrow", email(catalog))]) == 9
    )
    result = catalog.search(SLANG, profile="hybrid")
    assert result.hits[0].document.api == "send_email"
    assert "intent rank 1" in result.hits[0].reasons[0]


def test_a_sample_of_no_api_is_refused_with_the_nearest_and_none_is_taken_in(catalog: Catalog) -> None:
    wrong = Intent(SLANG, email(catalog).replace("email", "mail"))
    with pytest.raises(UnknownIds, match=rf"send_mail': did you mean '{email(catalog)}'"):
        catalog.add_intents([Intent(SLANG, email(catalog)), wrong])
    assert catalog.confirmed(SLANG) == {}


def test_half_a_character_refuses_no_sample_beside_it(catalog: Catalog) -> None:
    cut = Intent("ping the gang \ud83d", email(catalog))
    assert catalog.add_intents([Intent(SLANG, email(catalog)), cut]) == 2
    assert catalog.confirmed(SLANG)


def test_a_profile_that_gives_samples_no_weight_ignores_them(catalog: Catalog) -> None:
    before = [hit.document.id for hit in catalog.search(SLANG, profile="bm25").hits]
    catalog.add_intents([Intent(SLANG, email(catalog))])
    assert [hit.document.id for hit in catalog.search(SLANG, profile="bm25").hits] == before


def test_choices_count_once_two_clients_agree(catalog: Catalog) -> None:
    catalog.add_intents(samples(catalog))
    usual = first(catalog)
    assert catalog.feedback(SLANG, [email(catalog)], client="alice") == 1
    assert first(catalog) == usual
    assert catalog.feedback(SLANG, [email(catalog)], client="bob") == 1
    assert first(catalog) == "send_email"


def test_a_flood_of_one_client_changes_nothing(catalog: Catalog) -> None:
    catalog.add_intents(samples(catalog))
    before = [hit.document.id for hit in catalog.search(SLANG, profile="hybrid").hits]
    for number in range(30):
        catalog.feedback(f"{SLANG} {number}", [email(catalog)], client="mallory")
    assert [hit.document.id for hit in catalog.search(SLANG, profile="hybrid").hits] == before


def test_what_may_not_be_seen_is_neither_found_nor_remembered(
    settings: Settings, functions_file: Path
) -> None:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(open_source(f"functions:{functions_file}", allowed=("staff",)))
        opened.add_intents([Intent(SLANG, email(opened))])
        assert opened.search(SLANG, profile="hybrid").hits == ()
        with pytest.raises(UnknownIds, match="there is none"):
            opened.feedback(SLANG, [email(opened)], client="guest")
        staff = Filter(principals=frozenset({"staff"}))
        with pytest.raises(UnknownIds, match=f"'no/such/api': known are .*'{email(opened)}'"):
            opened.feedback(SLANG, [email(opened), "no/such/api"], client="alice", filter=staff)
        assert opened.feedback(SLANG, [email(opened)], client="alice", filter=staff) == 1
        assert opened.search(SLANG, profile="hybrid", filter=staff).hits


def test_an_api_that_is_gone_is_not_voted_for(catalog: Catalog) -> None:
    catalog.intents.add([Intent(SLANG, "functions/functions/long_gone")])
    assert all(hit.document.api != "long_gone" for hit in catalog.search(SLANG, profile="hybrid").hits)


def test_what_was_confirmed_comes_first_and_is_not_refused(catalog: Catalog) -> None:
    before = catalog.search(SLANG)
    assert before.hits[0].document.api != "send_email"
    catalog.feedback(SLANG, [email(catalog)], client="alice")
    assert catalog.confirmed(SLANG) == {}
    catalog.feedback(SLANG, [email(catalog)], client="bob")
    assert catalog.confirmed(SLANG) == {email(catalog): "2 clients chose it for this request"}
    for request in (SLANG, SLANG.capitalize() + "!", "please " + SLANG):
        found = catalog.search(request)
        assert (found.hits[0].document.api, found.abstained) == ("send_email", False)
        assert "reading: 2 clients chose it for this request" in found.hits[0].reasons


def test_a_confirmed_request_changes_no_other(catalog: Catalog) -> None:
    others = ("will it rain in Paris?", "ping the server about its health")
    before = [[hit.document.id for hit in catalog.search(request).hits] for request in others]
    catalog.add_intents([Intent(SLANG, email(catalog))])
    assert first(catalog) == "send_email"
    assert [[hit.document.id for hit in catalog.search(request).hits] for request in others] == before


def test_nobody_confirms_for_another_tenant_nor_what_may_not_be_seen(catalog: Catalog) -> None:
    blue = Filter(tenant="blue")
    for client in ("alice", "bob"):
        catalog.feedback(SLANG, [email(catalog)], client=client, filter=blue)
    assert catalog.confirmed(SLANG) == {}
    assert list(catalog.confirmed(SLANG, filter=blue)) == [email(catalog)]
    unseen = Filter(tenant="blue", tools=frozenset({"elsewhere/tool"}))
    assert catalog.confirmed(SLANG, filter=unseen) == {}
