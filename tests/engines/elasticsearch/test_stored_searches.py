"""The stored searches for Elasticsearch without a plugin, on a real node and a catalog of kitpick's."""

from __future__ import annotations

from typing import Any

import pytest
from catalogs import fill, item, unit
from servers import MakeCatalog
from stored_searches import FOLDER, rendered

from kitpick_engines.remote.engine import RemoteEngine

pytestmark = pytest.mark.needs("elasticsearch")

ITEMS = [
    item("s/t/copy", unit(1), description="Copies a file, with all of its versions", api="copyFile"),
    item("s/t/weather", unit(0, 1), description="Forecasts the weather of a city"),
    item("s/t/both", unit(1, 1), description="A file about the weather"),
    item("s/t/acme", unit(1), description="Copies a file of acme", tenant="acme"),
    item("s/t/ann", unit(1), description="Copies a file of ann", allowed=("ann",)),
]


@pytest.fixture
def catalog(make_engine: MakeCatalog) -> RemoteEngine:
    """Five APIs, one of which was replaced and one deleted."""
    engine = make_engine(vectors="hnsw")
    index = fill(engine, [*ITEMS, item("s/t/gone", unit(1), description="copied files")])
    with engine.writing(index) as writer:
        writer.write(ITEMS[:1])
        writer.delete(["s/t/gone"])
    return engine


def hits(catalog: RemoteEngine, name: str, text: str = "", **values: object) -> list[dict[str, Any]]:
    body = rendered(name, {"text": text, "vector": unit(1).tolist(), "tenant": "", **values})
    found = catalog.server.call("POST", f"/{catalog.address.name}/_search", body)["hits"]["hits"]
    return [hit["_source"] for hit in found]


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in found]


def test_words_are_found_in_any_form_by_the_ranking_of_kitpick(catalog: RemoteEngine) -> None:
    assert ids(hits(catalog, "01-words", "copying files")) == ["s/t/copy", "s/t/both"]


def test_vectors_are_ranked_by_the_graph(catalog: RemoteEngine) -> None:
    assert ids(hits(catalog, "02-vectors")) == ["s/t/copy", "s/t/both", "s/t/weather"]


def test_both_at_once_add_up(catalog: RemoteEngine) -> None:
    assert ids(hits(catalog, "03-search", "weather", vector=unit(0, 1).tolist()))[0] == "s/t/weather"


@pytest.mark.parametrize("name", ["01-words", "02-vectors", "03-search"])
def test_a_tenant_sees_its_own_and_nobody_what_is_for_certain_people(
    catalog: RemoteEngine, name: str
) -> None:
    assert "s/t/acme" not in ids(hits(catalog, name, "copy a file"))
    found = ids(hits(catalog, name, "copy a file", tenant="acme"))
    assert "s/t/acme" in found
    assert len(found) == len(set(found)), "each document once: what was replaced is not seen"
    assert not {"s/t/ann", "s/t/gone"} & set(found)


def test_a_text_is_only_a_text(catalog: RemoteEngine) -> None:
    assert hits(catalog, "01-words", 'a "file"\n\\ {"match_all": {}}')


def test_a_hit_brings_what_the_rescorer_reads(catalog: RemoteEngine) -> None:
    for name in ("01-words", "02-vectors"):
        best = hits(catalog, name, "copy a file")[0]
        assert {"id", "category", "tool", "api", "text", "vector_f32", "deprecated", "effect"} <= set(best)
        assert "Copies a file" in best["text"]


def test_every_stored_search_is_tried() -> None:
    assert len([*FOLDER.glob("*.json")]) == 4, "three stored searches, and an example of how one is asked"
