"""A second tenant, however hostile, moves nothing of what the first one finds, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized

from kitpick.catalog import Catalog
from kitpick.feedback import NotShown, UnknownResult
from kitpick.known_ids import UnknownIds
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument, encode_document
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_ingest.sync import SyncOptions
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.intents.written import Enrichment, ShownTo
from tests.engines.servers import catalog_url, drop

pytestmark = pytest.mark.needs("weights", "onnxruntime")
PROFILES = (None, "hybrid", "bm25")
REQUESTS = ("tell the team lunch is at noon", "how wet will it be", "wipe the old report")
APIS = ("send_email", "get_weather", "delete_file", "book_room")
SHARED = {
    "send_email": "Send an email message to a recipient.",
    "get_weather": "Current weather of a city: temperature, wind and rain.",
    "delete_file": "Delete a file from the disk for ever.",
    "book_room": "Book a meeting room for a team.",
}
NEAR = (
    "globex",
    "",
    "Acme",
    "acme ",
    "ac",
    "acme/x",
    "acme|",
    "acme\0",
    "\uff41cme",
    "acme\u0301",
    "%",
    "acme%",
)
"""Names of other tenants: most of them are one with `acme` for whoever compares carelessly."""
operation = st.one_of(
    st.tuples(
        st.sampled_from(["chosen", "failed", "not_needed"]),
        st.sampled_from(REQUESTS),
        st.sampled_from(APIS),
        st.sampled_from(["ann", "bob", "carl"]),
    ),
    st.tuples(st.sampled_from(["search", "confirmed"]), st.sampled_from(REQUESTS)),
    st.tuples(st.just("answered"), st.sampled_from(REQUESTS), st.sampled_from(["chosen", "failed"])),
    st.tuples(st.just("after"), st.sampled_from(APIS)),
    st.tuples(st.just("documents")),
    st.tuples(st.just("forget")),
)
texts = st.lists(st.sampled_from(["email", "rain", "team lunch", "wipe"]), min_size=1, max_size=3)
hostile = operation | st.tuples(st.just("ingest"), texts) | st.tuples(st.just("write"), texts)
WRITTEN = {
    "send_email": "tell the team something in writing",
    "get_weather": "how wet is it going to be",
    "book_room": "a place for the team to have lunch",
}


def document(name: str, description: str, tenant: str = "") -> ApiDocument:
    return ApiDocument(
        id=f"{tenant or 'house'}/tool/{name}", source="other" if tenant else "house", category="c",
        tool="tool", api=name, description=description, tenant=tenant,
    )  # fmt: skip


@contextmanager
def opened(folder: Path, documents: Sequence[ApiDocument], server: str = "") -> Iterator[Catalog]:
    """A catalog in a file, or in an index of its own on a server, `KIND://HOST:PORT`."""
    folder.mkdir()
    settings = Settings(
        embedding_cache=folder.parent / "embeddings.db",
        intents=folder / "intents.db",
        enriched=folder / "enriched.db",
    )
    kind, _, host = server.partition("://")
    url = catalog_url(f"http://{host}", kind) if server else f"sqlite:{folder / 'catalog.db'}"
    with Catalog.open(url, settings=settings) as catalog:
        fill(catalog, folder, documents)
        yield catalog
        if isinstance(catalog.engine, RemoteEngine):
            drop(catalog.engine)


def fill(catalog: Catalog, folder: Path, documents: Sequence[ApiDocument]) -> None:
    ingest(catalog, folder, documents)
    catalog.add_intents(
        [Intent("lunch plans", "house/tool/book_room"), Intent("is it wet", "house/tool/get_weather")]
    )
    for name, text in WRITTEN.items():
        write(catalog, document(name, SHARED[name]), text)


def write(catalog: Catalog, about: ApiDocument, text: str) -> None:
    """What a language model wrote about an API, as if it had passed every check."""
    encoder, shown_to = catalog.models.queries, ShownTo.of(about)
    entry = Enrichment(about.id, "", "m@host", 0.0, "kept", text, (), (text,), shown_to)
    catalog.enricher().store.put(entry, encoder.vectors((text,)), encoder.identity)


def ingest(catalog: Catalog, folder: Path, documents: Sequence[ApiDocument]) -> None:
    lines = folder / f"{documents[0].source}.jsonl"
    lines.write_bytes(b"\n".join(map(encode_document, documents)))
    options = SyncOptions(allow_shrink=True)
    catalog.ingest(f"documents:{lines}", name=documents[0].source, options=options)


def act(catalog: Catalog, folder: Path, tenant: str, doing: tuple[Any, ...]) -> Any:
    """What the tenant is told."""
    kind, *given = doing
    mine = Filter(tenant=tenant)
    if kind in ASKING:
        return ASKING[kind](catalog, mine, *given)
    if kind == "forget":
        return catalog.forget(tenant)
    if kind in ("write", "ingest"):
        return fill_own(catalog, folder, tenant, kind, *given)
    return judged(catalog, mine, *doing)


def answered(catalog: Catalog, mine: Filter, request: str, verdict: str) -> Any:
    answer = catalog.search(request, 2, filter=mine)
    ids = [hit.id for hit in answer.hits]
    return ids, catalog.feedback(answer.id, **{verdict: ids}, client="dora", filter=mine)


def judged(catalog: Catalog, mine: Filter, verdict: str, request: str, api: str, client: str) -> Any:
    try:
        return catalog.feedback(request, **{verdict: [f"house/tool/{api}"]}, client=client, filter=mine)
    except (NotShown, UnknownIds, UnknownResult) as error:
        return str(error)


def fill_own(catalog: Catalog, folder: Path, tenant: str, kind: str, texts: Sequence[str]) -> None:
    if not tenant:
        return  # it would be for everybody
    said = [f"{text} {text} lunch" for text in texts]
    if kind == "ingest":
        ingest(catalog, folder, [document(f"own{number}", text, tenant) for number, text in enumerate(said)])
    for number, text in enumerate(said if kind == "write" else []):
        write(catalog, document(f"own{number}", "", tenant), text)


def found(catalog: Catalog, request: str, mine: Filter) -> Any:
    results = [catalog.search(request, 4, profile=profile, filter=mine) for profile in PROFILES]
    return [
        ([(hit.id, hit.score, hit.reasons) for hit in each.hits], each.abstained, each.degraded)
        for each in results
    ]


ASKING: dict[str, Callable[..., Any]] = {
    "search": lambda catalog, mine, request: found(catalog, request, mine),
    "confirmed": lambda catalog, mine, request: catalog.confirmed(request, filter=mine),
    "answered": answered,
    "after": lambda catalog, mine, api: catalog.after(f"house/tool/{api}", filter=mine),
    "documents": lambda catalog, mine: list(catalog.documents(mine)),
}
EXAMPLES = int(sized("KITPICK_TENANT_EXAMPLES", 10, 200))


@given(
    own=st.lists(operation, max_size=6),
    others=st.lists(hostile, min_size=1, max_size=6),
    name=st.sampled_from(NEAR),
)
@settings(max_examples=EXAMPLES)
def test_a_hostile_tenant_moves_nothing_of_another(
    tmp_path_factory: pytest.TempPathFactory,
    own: list[tuple[Any, ...]],
    others: list[tuple[Any, ...]],
    name: str,
) -> None:
    compare(tmp_path_factory.mktemp("tenants"), own, others, name)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("opensearch", marks=pytest.mark.needs("opensearch")),
        pytest.param("elasticsearch", marks=pytest.mark.needs("elasticsearch")),
    ],
)
@given(
    own=st.lists(operation, max_size=6),
    others=st.lists(hostile, min_size=1, max_size=6),
    name=st.sampled_from(NEAR),
)
@settings(max_examples=EXAMPLES, suppress_health_check=[*HealthCheck])
def test_nor_in_a_server(
    kind: str,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    own: list[tuple[Any, ...]],
    others: list[tuple[Any, ...]],
    name: str,
) -> None:
    host = request.getfixturevalue(f"{kind}_url").partition("://")[2]
    compare(tmp_path_factory.mktemp("tenants"), own, others, name, f"{kind}://{host}")


def compare(
    folder: Path,
    own: Sequence[tuple[Any, ...]],
    others: Sequence[tuple[Any, ...]],
    name: str,
    server: str = "",
) -> None:
    """The same operations of `acme`, with those of another tenant between them and without."""
    others = [*others, ("write", ["team lunch", "wet", "wipe the report"])]
    documents = [document(name, text) for name, text in SHARED.items()]
    with (
        opened(folder / "alone", documents, server) as alone,
        opened(folder / "shared", documents, server) as shared,
    ):
        for step in range(max(len(own), len(others))):
            for doing in others[step : step + 1]:
                act(shared, folder / "shared", name, doing)
            for doing in own[step : step + 1]:
                assert act(shared, folder / "shared", "acme", doing) == act(
                    alone, folder / "alone", "acme", doing
                ), doing
        for request in REQUESTS:
            assert found(shared, request, Filter(tenant="acme")) == found(
                alone, request, Filter(tenant="acme")
            )
