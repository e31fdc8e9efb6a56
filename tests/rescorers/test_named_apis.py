"""A request that is a name finds all that are called so, however many candidates a first stage proposes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kitpick_engines.contract import Filter, IndexedDocument, IndexSchema, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine
from kitpick_rescorers.named_apis import find_named, names_to_find
from kitpick_rescorers.reading.request_reading import read_request

NOBODY = Filter()
NAMES = ("search", "get_me", "get_help", *(f"get_thing_{number}" for number in range(250)))


def api(tool: str, name: str) -> ApiDocument:
    text = "Answers. To search, search the search index for a search." if name == "search" else "Gets things"
    return ApiDocument(id=f"s/{tool}/{name}", source="s", category="c", tool=tool, api=name, description=text)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    opened = SqliteEngine(tmp_path / "catalog.db")
    documents = [api("first", name) for name in NAMES] + [api(f"shop{n}", "search") for n in range(120)]
    with opened.writing(opened.ensure(IndexSchema("none@1", 1, 1))) as writer:
        writer.write([IndexedDocument(each, np.ones(1, np.float32)) for each in documents])
    yield opened
    opened.close()


def called(engine: SqliteEngine, *names: str) -> list[str]:
    return [each.api for each in find_named(engine, names, NOBODY).candidates]


def test_all_that_share_a_name_are_found(engine: SqliteEngine) -> None:
    assert called(engine, "search") == ["search"] * 121


@pytest.mark.parametrize("name", ["get_me", "getMe", "get me", "get-help", "get help"])
def test_a_name_is_found_by_its_small_words_too(engine: SqliteEngine, name: str) -> None:
    (found,) = called(engine, name)
    assert found in ("get_me", "get_help")


def test_several_names_are_found_together(engine: SqliteEngine) -> None:
    assert set(called(engine, "get_me", "get_thing_7")) == {"get_me", "get_thing_7"}


@pytest.mark.parametrize(
    ("request_", "searched"),
    [
        ("PutObjectAcl", ("PutObjectAcl", "put object acl")),
        ("why does `put_object_acl` fail?", ("put_object_acl",)),
        ("who may read this file?", ()),
    ],
)
def test_the_whole_request_is_searched_as_a_name_where_something_found_is_called_so(
    bench,
    request_: str,
    searched: tuple[str, ...],  # type: ignore[no-untyped-def]
) -> None:
    found = [bench.candidate("s3/PutObjectAcl", lexical=1), bench.candidate("s3/PutObject", lexical=2)]
    assert names_to_find(read_request(request_), found, 64) == searched


@pytest.mark.parametrize(("held", "searched"), [(0, False), (63, False), (64, True)])
def test_a_short_request_is_searched_as_a_name_unless_all_that_hold_a_word_of_it_are_found(
    bench,
    held: int,
    searched: bool,  # type: ignore[no-untyped-def]
) -> None:
    found = [bench.candidate(f"s3/Thing{n}", lexical=n + 1) for n in range(held)]
    assert names_to_find(read_request("get all data"), found, 64) == ("get all data",) * searched
    assert names_to_find(read_request("get all of the data"), found, 64) == ()


def test_a_name_of_common_words_is_found_although_a_first_stage_does_not_propose_it(tmp_path: Path) -> None:
    many = [(f"team_{n}", "team") for n in range(300)]
    with closing(calls(tmp_path, ("club", "team_all"), ("club", "get_all_of_it"), *many)) as engine:
        proposed = engine.search(SearchRequest("team all", None, 64))
        assert "team_all" not in [each.api for each in proposed]
        assert called(engine, "team all") == ["team_all"]
        assert called(engine, "get_all_of_it", "team all") == ["get_all_of_it", "team_all"]


def calls(folder: Path, *names: tuple[str, str]) -> SqliteEngine:
    """A catalog of calls by tool and name: "GET /things"."""
    opened = SqliteEngine(folder / "calls.db")
    with opened.writing(opened.ensure(IndexSchema("none@1", 1, 1))) as writer:
        writer.write([IndexedDocument(api(*each), np.ones(1, np.float32)) for each in names])
    return opened


def placed_first(engine: SqliteEngine, request_: str) -> list[str]:
    reading = read_request(request_)
    with closing(engine):
        return [
            id_.partition("/")[2] for id_ in find_named(engine, reading.whole + reading.names, NOBODY).by_path
        ]


def test_a_call_of_the_root_is_no_call_of_a_path_with_the_methods_name(tmp_path: Path) -> None:
    engine = calls(tmp_path, ("a", "GET /get"), ("b", "GET /"), ("c", "POST /"))
    assert placed_first(engine, "GET /") == ["b/GET /"]


def test_a_path_places_every_call_of_it_and_a_whole_name_none(tmp_path: Path) -> None:
    both = ("a", "GET /things/{id}"), ("a", "DELETE /things/{id}"), ("b", "GET /things/{id}")
    assert len(placed_first(calls(tmp_path, *both), "what does /things/{id} do?")) == 3
    (tmp_path / "again").mkdir()
    assert placed_first(calls(tmp_path / "again", *both), "a.GET /things/{id}") == []
