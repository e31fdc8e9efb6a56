"""Which tests need more than Python: they are marked `outside`, and are what `scripts/test` leaves out."""

from __future__ import annotations

import pytest

OUTSIDE_NEEDS = {
    *("jdk", "guarded_java", "opensearch", "elasticsearch", "browser", "page", "node", "curl", "helm"),
    *("torch", "numba", "clients", "pydantic_ai", "langchain_agents", "strands", "adk"),
}
"""Programs beside Python, servers, and packages of environments of their own; names as `needs` takes them."""
OUTSIDE_FIXTURES = frozenset(("opensearch_url", "elasticsearch_url", "browser", "plugin_zip"))
"""What starts a node, a browser or Maven."""


def mark_outside(items: list[pytest.Item]) -> None:
    """Marks every test that asks for one of these, by its own marks or through any fixture."""
    for item in items:
        named = {name for mark in item.iter_markers("needs") for name in mark.args}
        if named & OUTSIDE_NEEDS or OUTSIDE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.outside)
