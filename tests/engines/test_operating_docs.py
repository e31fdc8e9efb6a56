"""Every request that docs/operating.md shows is made, on a catalog that holds what it asks for."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from catalogs import fill, item
from servers import catalogs_on

from kitpick_engines.document import Effect
from kitpick_engines.remote.address import RemoteSettings

DOCS = Path(__file__).resolve().parents[2] / "docs"
REQUESTS = re.findall(
    r"```http\n(GET|POST|PUT) (\S+)\n(.*?)```", (DOCS / "operating.md").read_text("utf-8"), re.S
)
SERVERS = [pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in ("opensearch", "elasticsearch")]


@pytest.fixture(params=SERVERS)
def engine(request: pytest.FixtureRequest):
    """A catalog after three sessions, with something for every question."""
    with catalogs_on(request.getfixturevalue(f"{request.param}_url"), request.param) as make:
        engine = make()
        weather = item("s/t/a", description="Current weather of a city")
        fill(engine, [weather, item("s/t/gone", api="old", deprecated=True)])
        fill(
            engine, [item("s/t/b", description="The weather of a city now", allowed=("ann",), tenant="acme")]
        )
        fill(engine, [item("s/t/gone", effect=Effect.DESTRUCTIVE), item("s/t/old", deprecated=True)])
        yield engine


@pytest.mark.slow
def test_every_saved_query_answers(engine):
    answers = []
    for method, path, body in REQUESTS:
        asked = msgspec.json.decode(body) if body.strip() else None
        answers.append(engine.server.call(method, path.replace("tools", engine.address.name, 1), asked))
    assert len(answers) == 9
    changed, replaced, state, allowed, public, deprecated, tools, similar, settings = answers
    assert settings == {"acknowledged": True}
    sessions = [bucket["key"] for bucket in changed["aggregations"]["sessions"]["buckets"]]
    assert sessions == [3, 2, 1]
    assert [hit["_source"]["died"] for hit in replaced["hits"]["hits"]] == [3]
    assert state["_source"]["state"]["writer"] == ""
    assert [bucket["key"] for bucket in allowed["aggregations"]["principals"]["buckets"]] == ["ann"]
    assert ids(public) == ["s/t/gone"]
    assert ids(deprecated) == ["s/t/old"]
    assert [bucket["doc_count"] for bucket in tools["aggregations"]["tools"]["buckets"]] == [4]
    assert "s/t/b" in ids(similar)


def test_every_option_of_a_url_is_documented():
    text = (DOCS / "engines.md").read_text("utf-8")
    for option in RemoteSettings.__struct_fields__:
        assert f"`{option}`" in text


def ids(answer) -> list[str]:
    return [hit["_source"]["id"] for hit in answer["hits"]["hits"]]
