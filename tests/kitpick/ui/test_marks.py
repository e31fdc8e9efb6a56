"""What people mark goes to the file that the operator named, and only when the page itself asks for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kitpick_engines.contract import Filter
from kitpick_evaluation import judgements
from kitpick_evaluation.datasets.queries_file import queries_file
from kitpick_service.keys import digest, new_key

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
WEATHER, EMAIL = "shop/weather/get_weather", "shop/mail/send_email"


def mark(api: str, verdict: str, query: str = "will it rain") -> dict[str, str]:
    return {"query": query, "id": api, "verdict": verdict}


def test_marks_become_lines_that_an_evaluation_reads(show: Any, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    with show(shop, file) as shown:
        assert shown.ask("mark", mark(WEATHER, "right")).json() == {"verdict": "right", "requests": 1}
        shown.ask("mark", mark(EMAIL, "wrong"))
        shown.ask("mark", mark(EMAIL, "right", "write to Bob"))
        assert shown.explain("will it rain")["marks"] == {WEATHER: "right", EMAIL: "wrong"}
        assert [(query.text, query.relevant) for query in queries_file(file)] == [
            ("will it rain", {WEATHER}),
            ("write to Bob", {EMAIL}),
        ]
        shown.ask("mark", mark(WEATHER, "none"))
        shown.ask("mark", mark(EMAIL, "none"))
        assert [query.text for query in queries_file(file)] == ["write to Bob"]


def test_marks_belong_to_the_caller_who_made_them(
    show: Any, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another tenant, another key of the same tenant, and the same name at another tenant.
    owners = [("acme", "ann"), ("acme", "ben"), ("globex", "ann")]
    headers = {owner: {"authorization": f"Bearer {new_key()}"} for owner in owners}
    entries = [
        f"[[keys]]\nname = '{name}'\ntenant = '{tenant}'\nsha256 = '{digest(named['authorization'][7:])}'\n"
        for (tenant, name), named in headers.items()
    ]
    keys, file = tmp_path / "keys.toml", tmp_path / "judgements.jsonl"
    keys.write_text("".join(entries))
    verdicts = dict(zip(owners, ["right", "wrong", "right"], strict=True))
    with show(shop, file, keys=str(keys)) as shown:

        def marks(owner: tuple[str, str]) -> Any:
            return shown.ask("explain", {"query": "will it rain"}, **headers[owner]).json()["marks"]

        for owner, verdict in verdicts.items():
            assert marks(owner) == {}
            answer = shown.ask("mark", mark(WEATHER, verdict), **headers[owner])
            assert answer.json() == {"verdict": verdict, "requests": 1}
        assert {owner: marks(owner) for owner in owners} == {o: {WEATHER: v} for o, v in verdicts.items()}
        # A file that is full of one caller's marks refuses nobody else's.
        monkeypatch.setattr(judgements, "MAX_BYTES", 150)
        asked = [(owners[0], "a" * 100), (owners[1], "write to Bob"), (owners[2], "write to Bob")]
        statuses = [shown.ask("mark", mark(EMAIL, "right", q), **headers[o]).status_code for o, q in asked]
        assert statuses == [503, 200, 200]
    assert file.read_text() == ""
    read = {owner: queries_file(judgements.file_of_caller(file, *owner)) for owner in owners}
    assert {owner: [query.relevant for query in queries] for owner, queries in read.items()} == {
        owners[0]: [{WEATHER}],
        owners[1]: [{EMAIL}],
        owners[2]: [{WEATHER}, {EMAIL}],
    }


def test_the_trace_does_not_tell_what_another_key_asked(show: Any, shop: str, tmp_path: Path) -> None:
    keys, file = {name: new_key() for name in ("ann", "ben")}, tmp_path / "keys.toml"
    file.write_text(
        "".join(f"[[keys]]\nname = '{name}'\nsha256 = '{digest(key)}'\n" for name, key in keys.items())
    )
    with show(shop, keys=str(file)) as shown:

        def known(name: str) -> int:
            headers = {"authorization": f"Bearer {keys[name]}"}
            answer = shown.ask("explain", {"query": "how do I fire Bob"}, **headers)
            (count,) = re.findall(r"scored, (\d+) of them from the cache", answer.text)
            return int(count)

        before = [known("ann"), known("ben")]
        assert before == [0, 0], "ben does not see that ann asked"
        assert known("ann") > 0


def test_without_keys_they_belong_to_the_tenant_of_the_server(show: Any, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    seen = []
    for tenant, api in (("", EMAIL), ("acme", WEATHER)):
        with show(shop, file, Filter(tenant=tenant)) as shown:
            seen.append(shown.explain("will it rain")["marks"])
            shown.ask("mark", mark(api, "right"))
    assert seen == [{}, {}]
    assert [query.relevant for query in queries_file(file)] == [{EMAIL}]


def test_without_a_file_nothing_is_taken(show: Any, shop: str) -> None:
    with show(shop) as shown:
        assert shown.ask("about").json()["marking"] is False
        refused = shown.ask("mark", mark(WEATHER, "right"))
        assert refused.status_code == 404
        assert "--marks FILE" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (mark("shop/none/such", "right"), 404),
        (mark(WEATHER, "perhaps"), 422),
        (mark(WEATHER, "right", " "), 422),
        (mark(WEATHER, "right", "a" * 20_001), 422),
        ({"query": "a"}, 422),
    ],
)
def test_what_is_no_mark_is_refused(shown: Any, body: Any, status: int) -> None:
    assert shown.ask("mark", body).status_code == status


def test_a_broken_file_is_told_and_left_alone(show: Any, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    file.write_text("no json\n")
    with show(shop, file) as shown:
        refused = shown.ask("mark", mark(WEATHER, "right"))
        assert refused.status_code == 503
        assert "judgements.jsonl:1" in refused.json()["error"]["message"]
    assert file.read_text() == "no json\n"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://example.com"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "rebound.example.com"},
        {"host": "rebound.example.com", "origin": "http://rebound.example.com"},
        {"host": "["},
    ],
)
@pytest.mark.parametrize("path", ["mark", "explain"])
def test_other_sites_can_neither_mark_nor_read(
    shown: Any, marks: Path, headers: dict[str, str], path: str
) -> None:
    body = mark(WEATHER, "right", "from elsewhere") if path == "mark" else {"query": "weather"}
    answer = httpx2.post(f"{shown.page}api/{path}", json=body, headers=headers, timeout=60)
    assert answer.status_code == 403
    assert "open it under the address it was given" in answer.json()["error"]["message"]
    assert not marks.exists() or "from elsewhere" not in marks.read_text()


def test_where_keys_are_asked_for_a_proxy_may_give_it_another_name(
    show: Any, shop: str, tmp_path: Path
) -> None:
    key = new_key()
    keys = tmp_path / "keys.toml"
    keys.write_text(f"[[keys]]\nname = 'me'\nsha256 = '{digest(key)}'\n")
    named = {"host": "tools.example.com", "origin": "https://tools.example.com"}
    with show(shop, keys=str(keys)) as shown:
        call = {"query": "weather"}
        assert shown.ask("explain", call, **named).status_code == 401
        assert shown.ask("explain", call, authorization=f"Bearer {key}", **named).status_code == 200
        foreign = {**named, "origin": "https://example.com"}
        assert shown.ask("explain", call, authorization=f"Bearer {key}", **foreign).status_code == 403


def test_the_page_itself_can(shown: Any) -> None:
    same = {"origin": shown.url, "sec-fetch-site": "same-origin"}
    assert shown.ask("explain", {"query": "weather"}, **same).status_code == 200
    local = shown.url.replace("127.0.0.1", "localhost")
    assert httpx2.post(f"{local}/ui/api/explain", json={"query": "weather"}, timeout=60).status_code == 200
