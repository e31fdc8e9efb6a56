"""A catalog with known faults: each is found, and a sound one has none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_evaluation.health.duplicates import near_duplicates, word_vectors
from kitpick_evaluation.health.findings import FindingKind
from kitpick_evaluation.health.lint import lint
from kitpick_evaluation.health.self_retrieval import own_request


def api(name: str, description: str, tool: str = "shop", **fields: object) -> ApiDocument:
    return ApiDocument(
        id=f"s/{tool}/{name}",
        source="s",
        category="c",
        tool=tool,
        api=name,
        description=description,
        **fields,
    )


SOUND = [
    api("get_weather", "Returns the weather forecast of a city for the next days", "sky"),
    api("send_email", "Sends a message with attachments to a list of recipients", "post"),
    api("convert_money", "Converts an amount between two currencies at today's rate", "bank"),
    api("find_flight", "Searches connections between two airports on a given date", "travel"),
]


def by_words(documents: Sequence[ApiDocument]):
    """A search that ranks by shared words."""

    def search(request: str, k: int) -> list[str]:
        asked = set(request.lower().split())
        shared = {d.id: len(asked & set(f"{d.api} {d.description}".lower().split())) for d in documents}
        return sorted(shared, key=lambda id_: (-shared[id_], id_))[:k]

    return search


def found(documents: list[ApiDocument]) -> dict[FindingKind, list[tuple[str, str]]]:
    health = lint(documents, word_vectors(documents), by_words(documents), documents)
    kinds: dict[FindingKind, list[tuple[str, str]]] = {}
    for finding in health.findings:
        kinds.setdefault(finding.kind, []).append((finding.api, finding.other))
    return kinds


def test_a_sound_catalog_has_no_findings() -> None:
    assert found(SOUND) == {}


def test_an_api_of_its_own_tool_that_is_not_in_the_sample_confuses_nobody() -> None:
    one, other = (
        api(name, f"Returns the {name} of the whole long month", "sky") for name in ("rain", "wind")
    )
    health = lint([one, other], np.eye(2, dtype=np.float32), lambda text, k: [other.id, one.id], [one])
    assert [finding.kind for finding in health.findings] == []


def test_a_copy_in_another_tool_is_found_with_its_effect() -> None:
    copy = api("get_weather", SOUND[0].description, "clone-of-sky")
    documents = [*SOUND, copy]
    health = lint(documents, word_vectors(documents), by_words(documents), documents)
    (pair,) = [finding for finding in health.findings if finding.kind is FindingKind.NEAR_DUPLICATE]
    assert {pair.api, pair.other} == {SOUND[0].id, copy.id}
    assert (pair.rank, pair.rank_without) == (2, 1), "the copy's id comes first among equals"
    (effect,) = [effect for effect in health.effects if effect.kind is FindingKind.NEAR_DUPLICATE]
    assert effect.reciprocal_rank < effect.reciprocal_rank_sound


def pairs(*documents: ApiDocument) -> list[tuple[str, str]]:
    return found([*SOUND, *documents]).get(FindingKind.NEAR_DUPLICATE, [])


def test_members_of_a_family_are_no_duplicates() -> None:
    create = api("create_gateway", "Creates a network gateway for the given virtual cloud of an account")
    describe = api("describe_gateway", "Describes a network gateway of the given virtual cloud of an account")
    assert pairs(create, describe) == []
    renamed = api("create_one_gateway", create.description)
    assert pairs(create, renamed) == [(create.id, renamed.id)]


def test_what_undoes_another_is_no_duplicate() -> None:
    text = "Takes the protection of an image against deregistration into account"
    assert pairs(api("enable_protection", text), api("disable_protection", text)) == []


def test_reading_is_no_duplicate_of_writing() -> None:
    text = "The secret of an application in the vault of a region"
    read = api("secret", text, "one", effect=Effect.READ)
    assert pairs(read, api("secret", text, "two", effect=Effect.WRITE)) == []
    unknown = api("secret", text, "two")
    assert pairs(read, unknown) == [(read.id, unknown.id)]


def test_descriptions_that_tell_nothing_are_found() -> None:
    empty = api("do_it", " ")
    repeated = api("list_orders", "List orders.")
    copied = [api(name, "This endpoint is part of our API") for name in ("alpha", "beta", "gamma")]
    kinds = found([*SOUND, empty, repeated, *copied])
    assert kinds[FindingKind.EMPTY] == [(empty.id, "")]
    assert {id_ for id_, _ in kinds[FindingKind.BOILERPLATE]} == {repeated.id, *(item.id for item in copied)}


def test_parameters_without_description_are_found() -> None:
    bare = api(
        "refund", "Pays an order back to the customer", parameters=(Parameter("order"), Parameter("sum"))
    )
    told = api(
        "cancel", "Stops an order before shipping", parameters=(Parameter("order", description="its number"),)
    )
    assert found([*SOUND, bare, told])[FindingKind.PARAMETERS] == [(bare.id, "")]


def test_an_api_that_its_own_request_does_not_find_is_told_with_what_is_found_instead() -> None:
    hidden = api("frobnicate", "Obscure", examples=("returns the weather forecast of a city for days",))
    others = [
        api(f"weather{n}", f"weather forecast of a city for days, kind {n}", f"sky{n}") for n in range(12)
    ]
    kinds = found([*others, hidden])
    assert hidden.id in {id_ for id_, _ in kinds[FindingKind.NOT_FOUND]}
    (confused,) = [other for id_, other in kinds[FindingKind.CONFUSABLE] if id_ == hidden.id]
    assert confused.startswith("s/sky")


def test_requests_are_examples_or_made_up_and_never_invented_from_nothing() -> None:
    assert own_request(api("x", "Anything", examples=("rain in Oslo?",))) == "rain in Oslo?"
    assert own_request(SOUND[0]).startswith("I need to get the weather forecast")
    assert own_request(api("x", "")) == ""


def test_pairs_are_the_same_whatever_the_blocks_are(monkeypatch) -> None:
    documents = [*SOUND, *(api(d.api, d.description, "copy") for d in SOUND)]
    vectors = word_vectors(documents)
    whole = list(near_duplicates(documents, vectors))
    assert [(one, other) for one, other, _, _ in whole] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    monkeypatch.setattr("kitpick_evaluation.health.duplicates._BLOCK", 3)
    assert [pair[:2] for pair in near_duplicates(documents, vectors)] == [pair[:2] for pair in whole]


def test_apis_without_any_word_are_like_nothing() -> None:
    silent = [api("…", "!"), api("…", "!", "other")]
    assert np.isfinite(word_vectors(silent)).all()
