"""Learning from use: feedback by the id of an answer, within bounds, within tenants, for so long."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.feedback import NotShown, UnknownResult
from kitpick.known_ids import UnknownIds
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_ingest.opening import open_source
from kitpick_ingest.sync import SyncOptions
from kitpick_rescorers.errors import InvalidRequest
from kitpick_rescorers.intents.store import Intent

from .conftest import function

pytestmark = pytest.mark.needs("weights", "onnxruntime")

SLANG = "ping the gang about tonight"
EMAIL, EVENT = "functions/functions/send_email", "functions/functions/create_event"
FLIGHTS = "functions/functions/search_flights"
ACME, OTHER = Filter(tenant="acme"), Filter(tenant="other")


@pytest.fixture
def learner(catalog: Catalog) -> Catalog:
    """A catalog in which every API has one dull sample, so that choices can count."""
    catalog.add_intents(Intent(f"please use {document.api}", document.id) for document in catalog.documents())
    return catalog


def ask(catalog: Catalog, **options: Any) -> Any:
    return catalog.search(SLANG, 8, profile="hybrid", **options)


def order(catalog: Catalog, **options: Any) -> list[str]:
    return [hit.id for hit in ask(catalog, **options).hits]


def test_an_answer_has_an_id_by_which_choices_are_told(learner: Catalog) -> None:
    result = ask(learner)
    assert result.id == ask(learner).id, "equal answers have equal ids"
    assert result.hits[0].id != EMAIL
    for client in ("ann", "bob"):
        assert learner.feedback(result.id, [EMAIL], client=client) == 1
    assert order(learner)[0] == EMAIL
    found = next(hit for hit in ask(learner).hits if hit.id == EMAIL)
    assert "intent rank 1" in found.reasons[0]
    assert learner.intents.behind(SLANG, Filter())[EMAIL].words.endswith("2 clients chose it")


def test_several_answers_are_named_at_once(learner: Catalog) -> None:
    one, other = learner.search("write to Bob", 8), learner.search("book a plane", 8)
    assert learner.feedback(f"{one.id}+{other.id}", [EMAIL], client="ann") == 2
    with pytest.raises(UnknownResult, match="KITPICK_ANSWERS"):
        learner.feedback(f"{one.id[:-4]}0000", [EMAIL])


def test_a_wrong_id_does_not_show_where_answers_are_kept(settings: Settings, tmp_path: Path) -> None:
    with (
        Catalog.open(settings=replace(settings, answers=tmp_path / "answers.db")) as catalog,
        pytest.raises(
            UnknownResult, match=r"the file of answers, KITPICK_ANSWERS, does not hold it"
        ) as wrong,
    ):
        catalog.feedback(f"answer-{'0' * 24}", [EMAIL])
    assert "answers.db" not in str(wrong.value)


def nothing_said(catalog: Catalog) -> bool:
    tallies = catalog.intents.behind(SLANG, Filter()).values()
    return not any(tally.choices or tally.objections for tally in tallies)


def test_what_was_not_shown_is_refused_with_the_nearest(learner: Catalog) -> None:
    shown = learner.search(SLANG, 1, profile="hybrid")
    best = shown.hits[0].id
    with pytest.raises(NotShown, match=f"did not show 'no/such/api' nor 1 more: known are '{best}'; or"):
        learner.feedback(shown.id, [EMAIL], failed=["no/such/api"], not_needed=[best], client="ann")
    with pytest.raises(NotShown, match=f"did you mean '{best}'"):
        learner.feedback(shown.id, [best[:-1]], client="ann")
    assert nothing_said(learner), "nothing of a refused outcome is stored"


def test_of_a_long_answer_what_stands_behind_its_remembered_part_counts_too(
    learner: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitpick_rescorers.intents.answers.MAX_SHOWN", 2)
    monkeypatch.setattr("kitpick.feedback.MAX_SHOWN", 2)
    result = ask(learner)
    behind = result.hits[5].id
    assert learner.feedback(result.id, [behind], client="ann") == 1
    assert learner.intents.behind(SLANG, Filter())[behind].choices
    assert learner.learning.answers.judged() == []


def test_in_words_an_id_of_no_api_is_refused_with_the_nearest(learner: Catalog) -> None:
    for wrong in (EMAIL.replace("email", "emial"), "send_mail", f"{EMAIL} ", EMAIL.upper()):
        with pytest.raises(UnknownIds, match=f"did you mean '{EMAIL}'"):
            learner.feedback(SLANG, [EMAIL], failed=[wrong], client="ann")
    for wrong in ("", "\ud800", "x" * 5_000, "a/b/c"):
        with pytest.raises(UnknownIds, match="no API of the catalog has the id"):
            learner.feedback(SLANG, [wrong], client="ann")
    for request in ("", " \u200b", "answer-1"):
        with pytest.raises(UnknownResult, match="in place of the id"):
            learner.feedback(request, [EMAIL], client="ann")
    assert nothing_said(learner)


def test_what_an_answer_showed_and_is_gone_is_left_out(learner: Catalog, functions_file: Path) -> None:
    result = ask(learner)
    kept = function("send_email", "Send an email message to a recipient", "recipient")
    functions_file.write_text(json.dumps([kept]))
    learner.ingest(f"functions:{functions_file}", options=SyncOptions(allow_shrink=True))
    ids = [hit.id for hit in result.hits]
    assert learner.feedback(result.id, [EMAIL], not_needed=[each for each in ids if each != EMAIL]) == 1


@pytest.fixture
def shared_out(settings: Settings, tmp_path: Path) -> Iterator[Catalog]:
    """APIs that all see, that only acme sees, and that only the chiefs of acme see."""
    with Catalog.open(settings=settings) as opened:
        for name, options in {
            "open_door": {},
            "open_vault": {"tenant": "acme"},
            "open_vaults": {"tenant": "acme", "allowed": ("chiefs",)},
        }.items():
            file = tmp_path / f"{name}.json"
            file.write_text(json.dumps([function(name, f"Opens with a key: {name}", "key")]))
            opened.ingest(open_source(f"functions:{file}", **options))
        yield opened


def refusal(catalog: Catalog, about: str, api: str, **options: Any) -> str:
    with pytest.raises((UnknownIds, NotShown)) as refused:
        catalog.feedback(about, [api], client="eve", **options)
    return str(refused.value)


def test_ids_of_others_are_refused_as_those_that_nobody_has(shared_out: Catalog) -> None:
    all_of_acme = Filter("acme", frozenset({"chiefs"}))
    seen = {document.api: document.id for document in shared_out.documents(all_of_acme)}
    hidden, nobodys = seen["open_vault"], seen["open_vault"].replace("vault", "moult")
    for about in ("open it", shared_out.search("open it", filter=OTHER).id):
        for api in (hidden, nobodys):
            said = refusal(shared_out, about, api, filter=OTHER).replace(api, "")
            assert seen["open_door"] in said
            assert "vault" not in said
    wrong = f"{seen['open_vaults']}x"
    assert f"'{seen['open_vaults']}'" not in refusal(shared_out, "open it", wrong, filter=ACME)
    assert f"'{seen['open_vaults']}'" in refusal(shared_out, "open it", wrong, filter=all_of_acme)


def test_an_answer_of_a_colleague_does_not_tell_what_it_showed(shared_out: Catalog) -> None:
    chief = Filter("acme", frozenset({"chiefs"}))
    found = shared_out.search("open the vaults", filter=chief)
    shown = next(hit.id for hit in found.hits if hit.document.api == "open_vaults")
    for api in (shown, shown.replace("vault", "moult")):
        said = refusal(shared_out, found.id, api, filter=ACME)
        assert f"the answer did not show '{api}'" in said
        assert shown not in said.replace(api, "")
    assert shared_out.feedback(found.id, [shown], client="ann", filter=chief) == 1


def test_failures_take_back_what_choices_gave_and_no_more(learner: Catalog) -> None:
    before = order(learner)
    result = ask(learner)
    for client in ("ann", "bob"):
        learner.feedback(result.id, failed=[before[0]], client=client)
    assert order(learner) == before, "a failure moves nothing that no choice had moved"
    for client in ("ann", "bob"):
        learner.feedback(result.id, [EMAIL], client=client)
    assert order(learner)[0] == EMAIL
    learner.feedback(result.id, failed=[EMAIL], client="carl")
    assert order(learner)[0] == EMAIL, "one alone changes nothing here either"
    learner.feedback(result.id, not_needed=[EMAIL], client="dora")
    assert order(learner) == before
    learner.feedback(result.id, [EMAIL], client="carl")
    assert order(learner)[0] == EMAIL, "the latest that a client says counts"


def test_choices_of_a_tenant_move_only_what_it_finds_itself(learner: Catalog) -> None:
    usual = order(learner, filter=OTHER)
    result = ask(learner, filter=ACME)
    with pytest.raises(UnknownResult):
        learner.feedback(result.id, [EMAIL], client="ann", filter=OTHER)
    for client in ("ann", "bob"):
        assert learner.feedback(result.id, [EMAIL], client=client, filter=ACME) == 1
    assert order(learner, filter=ACME)[0] == EMAIL
    assert order(learner, filter=OTHER) == usual
    assert order(learner) == usual
    # The same names in another tenant are other people.
    learner.feedback(SLANG, [FLIGHTS], client="ann", filter=OTHER)
    assert order(learner, filter=ACME)[0] == EMAIL


def test_one_id_may_stand_for_a_list_of_one(learner: Catalog) -> None:
    assert learner.feedback(SLANG, EMAIL, client="ann") == 1
    assert learner.feedback(SLANG, [], failed=FLIGHTS, not_needed=EVENT, client="ann") == 2
    with pytest.raises(UnknownIds, match=f"{EMAIL[:-1]!r}: did you mean {EMAIL!r}"):
        learner.feedback(SLANG, EMAIL[:-1], client="ann")


def test_a_tenant_whose_name_has_no_form_in_utf_8_is_forgotten_too(learner: Catalog) -> None:
    odd = Filter(tenant="a\udcff")
    learner.feedback(ask(learner, filter=odd).id, [EMAIL], client="ann", filter=odd)
    gone = learner.forget(odd.tenant)
    assert (gone.answers, gone.choices) == (1, 1)


@pytest.mark.parametrize("days", [-5.0, float("nan")])
def test_what_is_no_age_forgets_nothing(learner: Catalog, days: float) -> None:
    learner.feedback(SLANG, [EMAIL], client="ann")
    with pytest.raises(InvalidRequest, match="give a number of days, 0 or more"):
        learner.forget(older_than_days=days)
    assert learner.forget().choices == 1


@pytest.mark.parametrize("request_", [None, 5, {"role": "user"}.keys()])
def test_a_request_that_is_no_text_and_no_list_is_refused_with_the_cure(
    catalog: Catalog, request_: Any
) -> None:
    with pytest.raises(InvalidRequest, match="give a text, or the messages of a conversation"):
        catalog.search(request_)


def test_a_tenant_is_forgotten_and_its_ranking_with_it(learner: Catalog) -> None:
    usual = order(learner, filter=ACME)
    result = ask(learner, filter=ACME)
    for client in ("ann", "bob"):
        learner.feedback(result.id, [EMAIL], client=client, filter=ACME)
        learner.feedback(SLANG, [EVENT], client=client, filter=OTHER)
    assert learner.forget("acme", older_than_days=1.0).choices == 0, "nothing is a day old"
    gone = learner.forget("acme")
    assert gone.choices == 2
    assert gone.answers >= 1
    assert order(learner, filter=ACME) == usual
    assert order(learner, filter=OTHER)[0] == EVENT, "others keep theirs"
    assert learner.forget().choices == 2
    assert EMAIL in learner.intents.behind(SLANG, ACME) or learner.search("please use send_email").hits


def test_a_search_does_not_fail_where_its_answer_cannot_be_kept(
    settings: Settings, functions_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    with Catalog.open(settings=replace(settings, answers=tmp_path / "folder")) as opened:
        opened.ingest(f"functions:{functions_file}")
        result = ask(opened)
    assert result.hits
    assert result.id == ""
    assert [item.stage for item in result.degraded] == ["feedback"]


def test_a_file_from_before_tenants_is_read_and_then_brought_up_to_date(learner: Catalog) -> None:
    import sqlite3

    path = Path(f"{learner.settings.catalog.removeprefix('sqlite:')}.intents")
    for client in ("ann", "bob"):
        learner.feedback(SLANG, [EMAIL], client=client)
    columns = "request, api, client, at, model, vector"
    with sqlite3.connect(path) as old:
        old.executescript(
            f"CREATE TABLE former AS SELECT {columns} FROM intents; DROP TABLE intents;"
            "CREATE TABLE intents (request TEXT NOT NULL, api TEXT NOT NULL, client TEXT NOT NULL, "
            "at REAL NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL, "
            "PRIMARY KEY (client, request, api)) WITHOUT ROWID;"
            "INSERT INTO intents SELECT * FROM former; DROP TABLE former;"
        )
    old.close()
    assert order(learner)[0] == EMAIL
    for client in ("ann", "bob"):
        learner.feedback(SLANG, [EVENT], client=client, filter=ACME)
    assert order(learner, filter=ACME)[0] in {EMAIL, EVENT}
    assert order(learner)[0] == EMAIL
