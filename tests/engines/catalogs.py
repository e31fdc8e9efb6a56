"""Small catalogs, and plain references of what an engine answers about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from kitpick_engines.contract import Engine, Filter, IndexedDocument, IndexSchema, Vector
from kitpick_engines.document import ApiDocument, Effect

DIMENSIONS = 4
SCHEMA = IndexSchema("test-encoder", DIMENSIONS, 1)
OTHER_SCHEMA = IndexSchema("test-encoder-2", DIMENSIONS, 1)

WORDS = ("weather", "city", "flight", "hotel", "music", "song")
TENANTS = ("", "acme", "globex")
PRINCIPALS = ("ann", "bob", "ops")
CATEGORIES = ("travel", "media")
TOOLS = ("alpha", "beta")


def document(id: str = "s/t/a", **fields: object) -> ApiDocument:  # noqa: A002
    names = {"source": "s", "category": "c", "tool": "t", "api": "doThing"}
    return ApiDocument(id=id, **{**names, **fields})


def unit(*values: float) -> Vector:
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def item(id: str = "s/t/a", vector: Vector | None = None, **fields: object) -> IndexedDocument:  # noqa: A002
    return IndexedDocument(document(id, **fields), unit(1) if vector is None else vector)


def fill(engine: Engine, items: Iterable[IndexedDocument], schema: IndexSchema = SCHEMA) -> str:
    index = engine.ensure(schema)
    with engine.writing(index) as writer:
        writer.write(list(items))
    return index


def is_visible(d: ApiDocument, wanted: Filter) -> bool:
    """The filter in plain words."""
    return (
        (not d.allowed or bool(wanted.principals & set(d.allowed)))
        and d.tenant in ("", wanted.tenant)
        and (not wanted.categories or d.category in wanted.categories)
        and (not wanted.tools or d.tool_key in wanted.tools)
        and (not wanted.effects or d.effect in wanted.effects)
        and (wanted.deprecated == "include" or d.deprecated == (wanted.deprecated == "only"))
    )


def nearest_ids(items: Sequence[IndexedDocument], query: Vector) -> list[str]:
    """All ids by inner product, equal ones by id."""
    scores = {each.document.id: float(each.vector.astype(np.float64) @ query) for each in items}
    return sorted(scores, key=lambda name: (-round(scores[name], 6), name))


vectors = st.sampled_from([unit(1), unit(0, 1), unit(1, 1), unit(1, 2, 3, 4), unit(-1, 0, 1)])
"""Few, so that equal scores are common."""

documents = st.builds(
    document,
    id=st.integers(0, 30).map("s/t/a{}".format),
    description=st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    category=st.sampled_from(CATEGORIES),
    tool=st.sampled_from(TOOLS),
    tenant=st.sampled_from(TENANTS),
    allowed=st.lists(st.sampled_from(PRINCIPALS), max_size=2).map(tuple),
    effect=st.sampled_from(Effect),
    deprecated=st.booleans(),
)
items = st.lists(
    st.builds(IndexedDocument, documents, vectors), max_size=20, unique_by=lambda each: each.document.id
)
filters = st.builds(
    Filter,
    tenant=st.sampled_from((*TENANTS, "nobody")),
    principals=st.frozensets(st.sampled_from((*PRINCIPALS, "eve", "", "a\0b", "\ud800")), max_size=2),
    categories=st.frozensets(st.sampled_from(CATEGORIES), max_size=1),
    tools=st.frozensets(st.sampled_from(("travel/alpha", "media/beta", "none/none")), max_size=2),
    effects=st.frozensets(st.sampled_from(Effect), max_size=2),
    deprecated=st.sampled_from(("include", "exclude", "only")),
)
