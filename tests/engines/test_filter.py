"""`Filter`: who asks is said in one way, and never read letter by letter."""

from __future__ import annotations

from typing import Any

import pytest

from kitpick_engines.contract import Filter
from kitpick_engines.document import Effect


def test_collections_of_names_are_sets() -> None:
    given: dict[str, Any] = {"principals": ["ann", "ops"], "tools": ("a/b",), "effects": {"read"}}
    assert Filter(**given) == Filter(
        principals=frozenset({"ann", "ops"}), tools=frozenset({"a/b"}), effects=frozenset({Effect.READ})
    )


@pytest.mark.parametrize("field", ["principals", "categories", "tools", "effects"])
@pytest.mark.parametrize("given", ["admin", b"admin", None, 7, ["ann", 7], {"ann": True}.values()])
def test_a_text_or_another_type_is_no_set_of_names(field: str, given: Any) -> None:
    with pytest.raises(TypeError, match=f"{field}: a set of names is wanted"):
        Filter(**{field: given})


@pytest.mark.parametrize("given", [None, 7, frozenset({"acme"})])
def test_a_tenant_is_a_text(given: Any) -> None:
    with pytest.raises(TypeError, match="tenant: a text is wanted"):
        Filter(tenant=given)


def test_effects_and_ways_that_there_are_not_are_refused() -> None:
    given: dict[str, Any] = {"effects": {"harmless"}}
    with pytest.raises(ValueError, match="one of unknown, read, write, destructive, not"):
        Filter(**given)
    given = {"deprecated": "maybe"}
    with pytest.raises(ValueError, match="include, exclude, only"):
        Filter(**given)
