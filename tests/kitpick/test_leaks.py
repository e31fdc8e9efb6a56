"""What a caller is told must be what a catalog without the hidden APIs would tell, in every profile.

Hits, scores, texts, reasons, traces, counts and the kind of the request: those of profiles that ask for more
documents in a second round (`need`) as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from catalogs import is_visible
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import catalogs_on

from kitpick.catalog import Catalog
from kitpick.model_set import ModelSet
from kitpick.settings import Settings
from kitpick_engines.contract import Engine, Filter, IndexedDocument
from kitpick_engines.document import ApiDocument
from kitpick_engines.document_vectors import document_vectors
from kitpick_engines.sqlite import SqliteEngine
from kitpick_ingest.embedder import schema_of

pytestmark = [pytest.mark.needs("weights", "onnxruntime"), pytest.mark.slow]

MODELS = ModelSet(Settings())
PROFILES = ("kitpick", "toolrerank", "nnn")
"""The default; one that needs the APIs of the tools it found; one that needs neighbours."""
WORDS = ("weather", "forecast", "city", "flight", "airport", "ticket", "mail", "message")

documents = st.builds(
    lambda number, words, tool, tenant, allowed: ApiDocument(
        id=f"s/{tool}/api{number}",
        source="s",
        category="c",
        tool=tool,
        api=f"api{number}",
        description=" ".join(words),
        tenant=tenant,
        allowed=allowed,
    ),
    number=st.integers(0, 60),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    tool=st.sampled_from(["Weather", "Travel", "Mail"]),
    tenant=st.sampled_from(["", "acme"]),
    allowed=st.sampled_from([(), ("ann",), ("bob",), ("ann", "bob")]),
)
catalogs = st.lists(documents, min_size=4, max_size=24, unique_by=lambda each: each.id)
callers = st.builds(
    Filter,
    tenant=st.sampled_from(["", "acme", "globex"]),
    principals=st.frozensets(st.sampled_from(["ann", "eve"]), max_size=2),
)
requests = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
MakeEngine = Callable[[], Engine]


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("opensearch", marks=pytest.mark.needs("opensearch")),
        pytest.param("elasticsearch", marks=pytest.mark.needs("elasticsearch")),
    ]
)
def make_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeEngine]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            numbers = iter(range(10_000))
            yield lambda: stack.enter_context(closing(SqliteEngine(tmp_path / f"{next(numbers)}.db")))
        else:
            url = request.getfixturevalue(f"{request.param}_url")
            yield stack.enter_context(catalogs_on(url, request.param))


def stocked(engine: Engine, held: Sequence[ApiDocument]) -> Catalog:
    index = engine.ensure(schema_of(MODELS.encoder))
    if held:
        vectors = document_vectors(held, MODELS.encoder.encode)
        with engine.writing(index) as writer:
            writer.write([IndexedDocument(d, v) for d, v in zip(held, vectors, strict=True)])
    return Catalog(engine, Settings(), MODELS)


def told(catalog: Catalog, request: str, caller: Filter, profile: str) -> Any:
    """Everything of an answer but the time it took and its id, which the catalog's own secret salts.

    Numbers are as exact as float32 is.
    """
    answer = catalog.search(request, 4, filter=caller, profile=profile)
    answer = msgspec.structs.replace(answer, timings={}, id="")
    return rounded(msgspec.to_builtins(answer))


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items() if key != "milliseconds"}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(held=catalogs, caller=callers, request=requests)
def test_hidden_apis_change_nothing_that_is_told(make_engine, held, caller, request):
    whole = stocked(make_engine(), held)
    visible_only = stocked(make_engine(), [each for each in held if is_visible(each, caller)])
    for profile in PROFILES:
        told(visible_only, request, caller, profile)  # what it scores comes from the cache from now on
        first, second = told(whole, request, caller, profile), told(visible_only, request, caller, profile)
        assert first == second
