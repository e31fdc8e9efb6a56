"""Documents of `POST /v1/search` are sent once: after that by the hash of what was sent."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kitpick_foundation.decoding import decode_as
from kitpick_service.contents import Content, Contents, hash_of
from kitpick_service.errors import Invalid
from kitpick_service.protocol import SearchCall
from kitpick_service.ticket import Owner

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
OWNER = Owner("node")
WIRE = Path(__file__).resolve().parents[2] / "data" / "wire"
BEGIN, WHOLE, APART = (
    json.loads((WIRE / f"{name}.json").read_text("utf-8"))["request"]["body"]
    for name in ("search-begin", "search-found", "documents-sent")
)
(CONTENT,) = APART["documents"]


def sent(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def hashed(content: bytes) -> bytes:
    return b'"' + hash_of(content).encode() + b'"'


def found(contents: Contents, *documents: bytes, owner: Owner = OWNER) -> list[Content | None]:
    return contents.of(owner, [msgspec.Raw(each) for each in documents])


def document(name: str, size: int = 10) -> bytes:
    return sent({"id": name, "text": "x" * size})


def test_what_was_sent_is_known_by_its_hash() -> None:
    contents = Contents(10_000)
    one, other = document("a"), document("b")
    assert found(contents, hashed(one), hashed(other)) == [None, None]
    assert [each and each.source["id"] for each in found(contents, one, hashed(other))] == ["a", None]
    known = found(contents, hashed(other), hashed(one))
    assert known[0] is None
    assert known[1] is not None
    assert known[1].source == json.loads(one)
    assert known[1].size > len(one)
    assert (contents.hits, contents.misses) == (1, 4)


def test_a_hash_may_have_more_digits_and_no_fewer() -> None:
    """Plugins of before send 32."""
    contents = Contents(10_000)
    one = document("a")
    found(contents, one)
    whole = base64.urlsafe_b64encode(hashlib.sha256(one).digest()[:24])
    assert found(contents, b'"' + whole + b'"') == found(contents, hashed(one)) != [None]
    assert found(contents, hashed(one)[:-2] + b'"') == [None]
    assert len(hash_of(one)) == 20


def test_a_changed_document_is_another() -> None:
    contents = Contents(10_000)
    found(contents, document("a", 10))
    assert found(contents, hashed(document("a", 11))) == [None]


@pytest.mark.parametrize("owner", [Owner("node", "acme"), Owner("other"), Owner("")])
def test_nobody_else_learns_what_is_known(owner: Owner) -> None:
    contents = Contents(10_000)
    equal = document("a")
    found(contents, equal)
    assert found(contents, hashed(equal), owner=owner) == [None]
    assert found(contents, hashed(equal)) != [None]
    found(contents, equal, owner=owner)
    assert found(contents, hashed(equal), owner=owner) != [None]


def test_no_hash_is_believed() -> None:
    """What is sent under the hash of another content is not in its place."""
    contents = Contents(10_000)
    found(contents, b'{"id":"evil","hash":' + hashed(document("a")) + b"}")
    assert found(contents, hashed(document("a"))) == [None]


@pytest.mark.parametrize("wrong", [b"1", b"[]", b"null", b"true", b'{"a":1', b'{"a":"\xff"}'])
def test_what_is_neither_hash_nor_object_is_refused(wrong: bytes) -> None:
    with pytest.raises(Invalid, match="documents"):
        found(Contents(10_000), wrong)


@pytest.mark.parametrize("odd", [b'""', b'"\\u00e9"', b'"\xff"', b'"' + b"x" * 10_000 + b'"'])
def test_a_hash_of_any_form_is_unknown(odd: bytes) -> None:
    assert found(Contents(10_000), odd) == [None]


def test_it_stays_within_its_bytes_and_forgets_what_was_not_used() -> None:
    contents = Contents(20_000)
    documents = [document(f"{n}", 1_000) for n in range(40)]
    for each in documents:
        found(contents, each)
        found(contents, hashed(documents[0]))
        assert 0 < contents.bytes <= 20_000
    assert found(contents, hashed(documents[0])) != [None]
    assert found(contents, hashed(documents[1])) == [None]
    assert found(contents, hashed(documents[-1])) != [None]


def test_a_huge_document_does_not_push_out_the_others() -> None:
    contents = Contents(20_000)
    small, huge = document("a"), document("b", 15_000)
    assert None not in found(contents, small, huge)
    assert [each is None for each in found(contents, hashed(small), hashed(huge))] == [False, True]


def test_one_owner_cannot_push_out_all_others() -> None:
    contents = Contents(20_000)
    calm = document("calm")
    found(contents, calm, owner=Owner("node", "calm"))
    for n in range(100):
        found(contents, document(f"{n}", 1_000), owner=Owner("node", "loud"))
        assert found(contents, hashed(calm), owner=Owner("node", "calm")) != [None]
    assert contents.bytes <= 20_000


def test_nothing_is_kept_without_room() -> None:
    contents = Contents(0)
    assert found(contents, document("a")) != [None]
    assert found(contents, hashed(document("a"))) == [None]
    assert contents.bytes == 0


def posted(service: Any, body: dict[str, Any], status: int = 200) -> Any:
    answer = service.post("/v1/search", msgspec.json.encode(body))
    assert answer.status_code == status, answer.text
    return answer.json()


def ranked(answer: Any) -> Any:
    return [{**answer["ranking"], "timings": {}, "request_id": ""}, answer["missing"]]


def test_answers_are_the_same_with_and_without_hashes(service: Any) -> None:
    content = msgspec.json.encode(CONTENT)
    expected = ranked(posted(service, WHOLE))
    tenant = {**APART, "tenant": "same-answers"}
    first = posted(service, {**tenant, "documents": [hash_of(content)]})
    assert (first["missing"], first["ranking"], first["searches"]) == ([0], None, [])
    assert ranked(posted(service, {**tenant, "documents": [msgspec.Raw(content)]})) == expected
    assert ranked(posted(service, {**tenant, "documents": [hash_of(content)]})) == expected
    other = posted(service, {**tenant, "tenant": "another", "documents": [hash_of(content)]})
    assert other["missing"] == [0], "another tenant sends its own"


def test_a_key_has_no_room_for_tenants_that_it_only_claims() -> None:
    from kitpick_service.dialects.search import answer_search
    from kitpick_service.keys import ApiKey
    from kitpick_service.ticket import Ticket

    class Kept:
        """Of a service only what is asked before the search: where documents are kept."""

        contents = Contents(100_000)

        def over(self, index: str) -> Any:
            return self

        def profile(self, wanted: object) -> None:
            return None

    ticket = Ticket("1", 60.0)
    unknown = {**APART, "documents": [hash_of(b"unknown"), msgspec.Raw(msgspec.json.encode(CONTENT))]}
    for bearer, kept in (
        (ApiKey("eve", "", tenant="acme"), [("eve", "acme")]),
        (ApiKey("eve", "", tenant="globex"), [("eve", "globex")]),
        (ApiKey("mallory", ""), [("mallory", "")]),
        (
            ApiKey("node", "", speaks_for_others=True),
            [("node", "acme"), ("node", "globex"), ("node", "hooli")],
        ),
    ):
        ticket.bearer, Kept.contents = bearer, Contents(100_000)
        for tenant in ("acme", "globex", "hooli"):
            call = decode_as(msgspec.json.encode({**unknown, "tenant": tenant}), SearchCall)
            assert answer_search(Kept(), call, ticket).missing == (0,)  # type: ignore[arg-type]
        assert list(Kept.contents._kept) == kept


@pytest.mark.parametrize("place", [1, -1, "0", None, {}, 0.5])
def test_a_hit_names_a_document_that_was_sent(service: Any, place: object) -> None:
    ((_, counted),) = APART["found"]
    wrong = {**APART, "found": [[{"hits": {"hits": [{"document": place}]}}, counted]]}
    assert "no answers of a search server" in str(posted(service, wrong, 422))


def test_a_service_that_remembers_nothing_says_so(start: Any) -> None:
    with start(content_cache=0, warm_up_seconds=0) as forgetful:
        assert posted(forgetful, BEGIN)["protocol"] == 1
